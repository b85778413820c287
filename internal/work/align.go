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
	"pleat/internal/engine"
	"pleat/internal/msa"
	"pleat/internal/report"
	"pleat/internal/store"
	"pleat/internal/tracing"
)

// offeredModels returns what the engines can run. Models that take alignments get the parameter msaAlgorithm with the
// values that the service can serve.
func (p *Pool) offeredModels() []pleat.Model {
	all := p.engines.Models()
	for i := range all {
		all[i].OfferAlignments(p.cfg.Aligner != nil || p.cfg.SearchedElsewhere)
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
	sink *sink

	// searchOnly: the attempt is at a search task, whose alignments a fold will use.
	searchOnly bool

	state pleat.State // of the alignment; PENDING if none was made

	// fromLibrary are the alignments of the job's library item, by sequence. Their sequences are not searched for.
	fromLibrary map[string]*msa.Alignment
}

// run makes the alignments, and counts their time, with that of the search task if one ran first.
func (a *alignmentStage) run(ctx context.Context) *pleat.Failure {
	began := time.Now()
	f := a.provide(ctx)
	if a.state != pleat.StatePending {
		a.t.timings[pleat.StageMSA] = (a.t.SearchDuration + time.Since(began)).Seconds()
	}
	return f
}

// provide puts an alignment of each protein into the folder of the work, if the model takes them and the job asks for
// them.
// If an MSA search task ran first, its files are used unchanged. Otherwise the fold searches itself: it was queued by a
// version without search tasks, or by a worker that makes no alignments. A search task without sequences to search does
// nothing.
func (a *alignmentStage) provide(ctx context.Context) *pleat.Failure {
	a.state = pleat.StatePending
	use := a.work.Model.AlignmentUse(a.work.Fold.Params, a.work.Fold.Sequences)
	if use == pleat.NoAlignments {
		return nil
	}
	proteins := pleat.Proteins(a.work.Fold.Sequences)
	if !a.searchOnly && len(a.t.Alignments) > 0 {
		a.state = pleat.StateCompleted
		return a.useSearchResults(ctx)
	}
	if f := a.readLibrary(ctx, proteins); f != nil {
		return a.failed(ctx, f)
	}
	search := slices.DeleteFunc(slices.Clone(proteins), func(s string) bool { return a.fromLibrary[s] != nil })
	switch {
	case use == pleat.LibraryAlignments:
		search = nil
	case a.p.cfg.Aligner == nil && len(search) > 0:
		if _, asked := a.work.Fold.Params.Values["msaAlgorithm"]; asked {
			return a.failed(ctx, pleat.Failed(pleat.FailMSAUnavailable, "this worker makes no alignments"))
		}
		search = nil
	}
	if len(search)+len(a.fromLibrary) == 0 || a.searchOnly && len(search) == 0 {
		return nil
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

// search searches for alignments of sequences and writes them, with those of the library. A complex of several proteins
// gets paired alignments too, where the source can pair.
func (a *alignmentStage) search(ctx context.Context, search []string) *pleat.Failure {
	a.state = pleat.StateRunning
	a.sink.Progress("msa", 0, len(search)+len(a.fromLibrary))
	a.reportState(ctx)
	found := &msa.Found{}
	if len(search) > 0 {
		var err error
		find := a.p.cfg.Aligner.Find
		if a.work.Fold.Complex {
			find = a.p.cfg.Aligner.FindPaired
		}
		found, err = find(ctx, msa.Query{User: a.work.Fold.Owner, Sequences: search}, a.sink.Log)
		if err != nil {
			return a.searchFailure(err)
		}
		a.cite()
	}
	if f := a.writeFiles(search, found); f != nil {
		return f
	}
	a.sink.Progress("msa", len(search)+len(a.fromLibrary), len(search)+len(a.fromLibrary))
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
	return &pleat.Failure{Kind: pleat.FailMSAUnavailable, Retry: e.Retry,
		Message: e.Message + `; run the job again later, or with params.msaAlgorithm "none"`}
}

// writeFiles writes the alignments for the engine, publishes them for the owner, and draws their coverage.
func (a *alignmentStage) writeFiles(search []string, found *msa.Found) *pleat.Failure {
	trouble := func(err error) *pleat.Failure {
		a.p.logOf(a.t).Error("an alignment could not be stored", "error", err)
		return pleat.Failed(pleat.FailStorage, "the alignment could not be stored")
	}
	all, paired := maps.Clone(a.fromLibrary), map[string]*msa.Alignment{}
	if all == nil {
		all = map[string]*msa.Alignment{}
	}
	for i, s := range search {
		all[s] = found.Unpaired[i]
		if found.Paired != nil {
			paired[s] = found.Paired[i]
		}
	}
	if err := os.MkdirAll(filepath.Join(a.work.Dir, inputDir), 0o700); err != nil {
		return trouble(err)
	}
	a.work.Fold.Alignments = nil
	for i, s := range a.work.Fold.Sequences {
		if s.Kind != pleat.Protein || all[s.Text] == nil {
			continue
		}
		entry := pleat.Alignment{Sequence: i, File: filepath.Join(inputDir, fmt.Sprintf("msa-%d.a3m", i))}
		a.sink.Log(fmt.Sprintf("chain %s: an alignment of %d sequences", s.Chains[0], len(all[s.Text].Rows)))
		if err := a.publishAlignment(all[s.Text], entry.File, a.prefix(s)+msaFile, s.ID); err != nil {
			return trouble(err)
		}
		if pair := paired[s.Text]; pair != nil {
			entry.Paired = filepath.Join(inputDir, fmt.Sprintf("msa-paired-%d.a3m", i))
			if err := a.publishAlignment(pair, entry.Paired, a.prefix(s)+pairedFile, s.ID); err != nil {
				return trouble(err)
			}
		}
		a.work.Fold.Alignments = append(a.work.Fold.Alignments, entry)
	}
	c := report.Coverage{Work: *a.work, Unpaired: all, Paired: paired}
	if err := c.Publish(a.sink); err != nil {
		return trouble(err)
	}
	return nil
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

// readLibrary reads the alignments of the library item that the job was made from. Each belongs to the sequence in its
// first row.
func (a *alignmentStage) readLibrary(ctx context.Context, proteins []string) *pleat.Failure {
	id := a.work.Fold.LibraryItem
	if id == "" {
		return nil
	}
	files, err := a.p.service.LibraryFiles(ctx, a.work.Fold)
	switch {
	case pleat.CodeOf(err) == pleat.CodeNotFound:
		a.sink.Log("the library item that the job was made from is gone; its alignments, if it had any, are not used")
		return nil
	case err != nil:
		a.p.logOf(a.t).Warn("a library item cannot be read", "item", id, "error", err)
		return pleat.Failed(pleat.FailStorage, "the library item that the job was made from could not be read")
	}
	return a.readLibraryFiles(ctx, files, proteins)
}

// readLibraryFiles reads the alignments among the files of the library item. An alignment that does not belong to
// exactly one of the job's proteins fails the run, since its owner expects it to be used.
func (a *alignmentStage) readLibraryFiles(
	ctx context.Context, files []store.LibraryFile, proteins []string,
) *pleat.Failure {
	names := make([]string, len(files))
	for i, f := range files {
		names[i] = f.Name
	}
	a.fromLibrary = map[string]*msa.Alignment{}
	var failure *pleat.Failure
	err := msa.Match(names, proteins, func(i int) (string, error) {
		var m *msa.Alignment
		if m, failure = a.readLibraryFile(ctx, files[i]); failure != nil {
			return "", errors.New(failure.Message)
		}
		a.fromLibrary[m.Query()] = m
		return m.Query(), nil
	})
	var unfit *msa.UnfitError
	if !errors.As(err, &unfit) {
		return failure
	}
	if unfit.Same != "" {
		return invalidAlignment(unfit.File, "is the second of its sequence")
	}
	return invalidAlignment(unfit.File, "begins with none of the job's proteins")
}

// readLibraryFile reads one alignment of the library item.
func (a *alignmentStage) readLibraryFile(ctx context.Context, f store.LibraryFile) (*msa.Alignment, *pleat.Failure) {
	in, _, err := a.p.files.Open(ctx, f.Key)
	if err != nil {
		a.p.logOf(a.t).Warn("an alignment of the library cannot be read", "key", f.Key, "error", err)
		return nil, pleat.Failed(pleat.FailStorage,
			fmt.Sprintf("the alignment %s of the library could not be read", pleat.Clip(f.Name)))
	}
	defer in.Close()
	m, err := msa.Read(in, "")
	if err != nil {
		return nil, invalidAlignment(f.Name, "cannot be used: "+err.Error())
	}
	return m, nil
}

// invalidAlignment is the failure of a run whose library item has an alignment that it cannot use.
func invalidAlignment(file, why string) *pleat.Failure {
	return pleat.Failed(pleat.FailInvalidInput,
		fmt.Sprintf("the alignment %s of the library %s", pleat.Clip(file), why))
}

// cite adds the papers of the search programs to those that the results cite.
func (a *alignmentStage) cite() {
	m := &a.work.Model
	m.Citations = slices.Clone(m.Citations)
	for _, c := range searchCitations {
		if !slices.ContainsFunc(m.Citations, func(o pleat.Citation) bool { return o.Key == c.Key }) {
			m.Citations = append(m.Citations, c)
		}
	}
}

// searchCitations are the papers of ColabFold's search and of MMseqs2.
var searchCitations = report.Cite("mirdita2022colabfold", "steinegger2017mmseqs2")
