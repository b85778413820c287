package work

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"pleat"
	"pleat/internal/blob"
	"pleat/internal/clock"
	"pleat/internal/engine"
	"pleat/internal/msa"
	"pleat/internal/report"
	"pleat/internal/store/runs"
	"pleat/internal/tracing"
)

// makesSearches reports whether the worker makes MSA searches.
func (p *Pool) makesSearches() bool {
	return p.cfg.Aligner != nil && p.cfg.Alignments != pleat.AlignmentsNever
}

// offeredModels returns what the engines can run, and the model of alignments if the worker searches. Models that take
// alignments get the parameter msaAlgorithm with the values that this worker can serve.
func (p *Pool) offeredModels() []pleat.Model {
	all := p.engines.Models()
	for i := range all {
		all[i].OfferAlignments(p.makesSearches())
	}
	if p.makesSearches() {
		all = append(all, pleat.AlignmentModel())
	}
	return all
}

// joinAligner connects the aligner's cache to the blob store. Workers that share a blob store share the cache; users
// share its entries only if msa.Finder.Shared is set.
func (p *Pool) joinAligner() {
	a := p.cfg.Aligner
	if a == nil {
		return
	}
	a.Load = func(ctx context.Context, key string) (io.ReadCloser, error) {
		in, _, err := p.files.Open(ctx, key)
		if errors.Is(err, blob.ErrNotFound) {
			return nil, nil
		}
		return in, err
	}
	a.Save = func(ctx context.Context, key string, r io.Reader) error {
		_, err := p.files.Put(ctx, key, r)
		return err
	}
	a.Claims = searchClaims{p.service, p.cfg.ID}
	if s, ok := a.Searcher.(*msa.Server); ok {
		s.SharePause = p.sharePause
	}
}

// sharePause is msa.Server.SharePause. If the service cannot answer, or knows no pauses yet, the worker goes by those
// that it was asked for itself.
func (p *Pool) sharePause(ctx context.Context, host string, pause time.Duration) time.Duration {
	left, err := p.service.PauseSearches(ctx, host, pause)
	switch {
	case err == nil, pleat.CodeOf(err) == pleat.CodeNotFound:
		p.sharing.Over(p.cfg.Log)
	case ctx.Err() == nil:
		p.sharing.Warn(p.cfg.Log, err)
	}
	return left
}

// searchClaims are the claims of one worker for searches.
type searchClaims struct {
	service Inputs
	worker  pleat.WorkerID
}

// ClaimSearches implements msa.Claims.
func (c searchClaims) ClaimSearches(ctx context.Context, searches []msa.Search) ([]bool, error) {
	all := make([]runs.Search, len(searches))
	for i, s := range searches {
		all[i] = runs.Search(s)
	}
	return c.service.ClaimSearches(ctx, c.worker, all)
}

// EndSearches implements msa.Claims.
func (c searchClaims) EndSearches(ctx context.Context, keys []string, found bool) error {
	return c.service.EndSearches(ctx, c.worker, keys, found)
}

// awaitSearches returns when the aligner has stopped. Its searches end with the tasks that wait for them.
func (p *Pool) awaitSearches() {
	if p.cfg.Aligner != nil {
		p.cfg.Aligner.Wait()
	}
}

// alignmentStage makes the alignments of one attempt at a fold, or at the MSA search before it. Call run once, then
// read state.
type alignmentStage struct {
	p    *Pool
	t    *runningTask
	work *pleat.Work // its Fold gets the names of the alignments, its Model the citations of the search
	sink pleat.Sink

	// searchOnly: the attempt is at a search task, whose alignments a fold will use.
	searchOnly bool
	pairing    msa.Pairing // of the search; empty: as the operator has set it

	state pleat.State // of the alignment; PENDING if none was made

	// referenced are the alignments that the job names, by sequence. Their sequences are not searched for.
	referenced referencedAlignments

	depths map[string]depth // of the alignments that were written, by sequence
}

// depth is how many rows the alignment of a sequence has, the sequence included. Paired is 0 without paired rows.
type depth struct{ unpaired, paired int }

// run makes the alignments, and counts their time, with that of the search task if one ran first.
func (a *alignmentStage) run(ctx context.Context) *pleat.Failure {
	watch := clock.Start()
	f := a.provide(ctx)
	if a.state != pleat.StatePending {
		a.t.timings[pleat.StageMSA] = (a.t.SearchDuration + watch.Elapsed()).Seconds()
	}
	return f
}

// provide puts the alignments of the sequences into the folder of the work, if the model takes them and the job asks
// for them. A search task makes them, unless it has no sequences to search for. The fold after it uses its files
// unchanged, and searches for nothing itself.
func (a *alignmentStage) provide(ctx context.Context) *pleat.Failure {
	a.state = pleat.StatePending
	use := a.work.Model.AlignmentUse(a.work.Fold.Params, a.work.Fold.Sequences)
	if use == pleat.NoAlignments {
		return nil
	}
	sequences := a.work.Fold.Sequences
	if !a.searchOnly && len(a.t.Alignments) > 0 {
		a.state = pleat.StateCompleted
		return a.useSearchResults(ctx)
	}
	if f := a.readReferenced(ctx); f != nil {
		return a.failed(ctx, f)
	}
	var search []string
	if use == pleat.SearchedAlignments {
		hasAlignment := func(s string) bool { return a.referenced.unpaired[s] != nil }
		search = slices.DeleteFunc(pleat.Proteins(sequences), hasAlignment)
	}
	switch {
	case a.searchOnly && len(search) == 0, len(search)+len(a.referenced.unpaired) == 0:
		return nil
	case !a.searchOnly && len(search) > 0: // the search had nothing to do
		return a.failed(ctx, pleat.Failed(pleat.FailInvalidInput,
			"the alignments that the job names have gone since it was queued; run the job again"))
	}
	ctx, span := a.traced(ctx, len(search))
	defer span.End()
	if f := a.search(ctx, search); f != nil {
		tracing.Fail(span, string(f.Kind))
		return a.failed(ctx, f)
	}
	a.state = pleat.StateCompleted
	a.reportState(ctx)
	return nil
}

// search searches for alignments of sequences and writes them, with those that the job names. A complex of several
// proteins gets paired alignments too, where the source can pair.
func (a *alignmentStage) search(ctx context.Context, search []string) *pleat.Failure {
	a.state = pleat.StateRunning
	total := len(search) + len(a.referenced.unpaired)
	a.sink.Progress("msa", 0, total)
	a.reportState(ctx)
	found := &msa.Found{}
	if len(search) > 0 {
		var err error
		find := a.p.cfg.Aligner.Find
		if a.work.Fold.Complex {
			find = a.p.cfg.Aligner.FindPaired
		}
		found, err = find(ctx, msa.Query{Owner: a.work.Fold.Owner, Sequences: search, Pairing: a.pairing}, a.sink.Log)
		if err != nil {
			return a.searchFailure(err)
		}
		a.work.Citations = searchCitations
	}
	if f := a.writeFiles(search, found); f != nil {
		return f
	}
	a.sink.Progress("msa", total, total)
	return nil
}

// The names of the alignments as artifacts, behind the prefix of their sequence.
const (
	msaFile    = "msa.a3m"
	pairedFile = "msa-paired.a3m"
)

// prefix is what the names of a sequence's artifacts begin with.
func (a *alignmentStage) prefix(s pleat.Sequence) string {
	return report.SequencePrefix(a.work.Fold, s)
}

// reportState stores the state of the alignment. An error does not stop the run, whose end stores the state again.
func (a *alignmentStage) reportState(ctx context.Context) {
	err := a.p.service.SetMSA(ctx, a.t.lease.Lease, a.state)
	if err != nil && ctx.Err() == nil {
		a.p.logOf(a.t).Warn("the state of an alignment cannot be stored", "error", err)
	}
}

// failed sets the state of the alignment to FAILED or, if the owner has cancelled the run, STOPPED. It returns the
// failure that the run ends with: that of the interruption, if there was one.
func (a *alignmentStage) failed(ctx context.Context, f *pleat.Failure) *pleat.Failure {
	a.state = pleat.StateFailed
	if ctx.Err() != nil {
		f = engine.Interrupted(ctx)
		if f.Kind == pleat.FailCancelled {
			a.state = pleat.StateStopped
		}
	}
	return f
}

// searchFailure returns the failure of a search. The fold does not continue without an alignment: its result would be
// worse, with only a state to say so.
func (a *alignmentStage) searchFailure(err error) *pleat.Failure {
	a.p.logOf(a.t).Warn("no alignment was made", "error", err)
	var e *msa.Error
	if !errors.As(err, &e) {
		why := "the search for related sequences failed"
		return &pleat.Failure{Kind: pleat.FailMSAUnavailable, Message: why, Retry: true}
	}
	return &pleat.Failure{
		Kind:       pleat.FailMSAUnavailable,
		Message:    e.Message + `; run the job again later, or with params.msaAlgorithm "none"`,
		Retry:      e.Retry,
		RetryAfter: min(e.RetryAfter, pleat.MaxRetryAfter),
	}
}

// writeFiles writes the alignments for the engine, publishes them for the owner, and draws their coverage.
func (a *alignmentStage) writeFiles(search []string, found *msa.Found) *pleat.Failure {
	trouble := func(err error) *pleat.Failure {
		a.p.logOf(a.t).Error("an alignment could not be stored", "error", err)
		return pleat.Failed(pleat.FailStorage, "the alignment could not be stored")
	}
	all, paired := map[string]*msa.Alignment{}, map[string]*msa.Alignment{}
	maps.Copy(all, a.referenced.unpaired)
	maps.Copy(paired, a.referenced.paired)
	for i, s := range search {
		all[s] = found.Unpaired[i]
		if found.Paired != nil {
			paired[s] = found.Paired[i]
		}
	}
	if err := os.MkdirAll(filepath.Join(a.work.Dir, inputDir), 0o700); err != nil {
		return trouble(err)
	}
	a.depths = map[string]depth{}
	a.work.Fold.Alignments = nil
	for i, s := range a.work.Fold.Sequences {
		if !s.Aligned() || all[s.Text] == nil {
			continue
		}
		entry := pleat.Alignment{Sequence: i, File: filepath.Join(inputDir, fmt.Sprintf("msa-%d.a3m", i))}
		a.sink.Log(a.describe(&s, all[s.Text], paired[s.Text]))
		if err := a.publishAlignment(all[s.Text], entry.File, a.prefix(s)+msaFile, s.ID); err != nil {
			return trouble(err)
		}
		pairedRows := 0
		if pair := paired[s.Text]; pair != nil {
			pairedRows = len(pair.Rows)
			entry.Paired = filepath.Join(inputDir, fmt.Sprintf("msa-paired-%d.a3m", i))
			if err := a.publishAlignment(pair, entry.Paired, a.prefix(s)+pairedFile, s.ID); err != nil {
				return trouble(err)
			}
		}
		a.work.Fold.Alignments = append(a.work.Fold.Alignments, entry)
		a.depths[s.Text] = depth{len(all[s.Text].Rows), pairedRows}
	}
	c := report.Coverage{Work: *a.work, Unpaired: all, Paired: paired}
	if err := c.Publish(a.sink); err != nil {
		return trouble(err)
	}
	return nil
}

// describe says what the alignment of a sequence has, and what it lacks: related sequences, or pairs in a complex.
func (a *alignmentStage) describe(s *pleat.Sequence, m, paired *msa.Alignment) string {
	text := fmt.Sprintf("chain %s: an alignment of %d sequences", s.Chains[0], len(m.Rows))
	if len(m.Rows) == 1 {
		text = fmt.Sprintf("chain %s: an alignment without related sequences", s.Chains[0])
	}
	several := len(pleat.Aligned(a.work.Fold.Sequences)) > 1
	if a.work.Fold.Complex && several && (paired == nil || len(paired.Rows) == 1) {
		text += ", not paired with those of other chains"
	}
	return text
}

// publishAlignment writes an alignment into the folder of the work and publishes it.
func (a *alignmentStage) publishAlignment(m *msa.Alignment, to, name string, owner pleat.SequenceID) error {
	full := filepath.Join(a.work.Dir, to)
	err := report.WriteFile(full, func(out io.Writer) error {
		_, err := m.WriteTo(out)
		return err
	})
	if err != nil {
		return err
	}
	return a.sink.Publish(pleat.File{
		Kind:        pleat.ArtifactMSA,
		Name:        name,
		Path:        full,
		ContentType: "text/x-a3m",
		Sequence:    owner,
	})
}

// searchCitations are the papers of ColabFold's search and of MMseqs2.
var searchCitations = report.Cite("mirdita2022colabfold", "steinegger2017mmseqs2")
