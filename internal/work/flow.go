package work

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"pleat"
	"pleat/internal/blob"
	"pleat/internal/engine"
	"pleat/internal/flow"
	"pleat/internal/store"
)

// maxSource bounds a file that a workflow looks at.
const maxSource = 256 << 20

// inputDir is where the files that a workflow looks at lie, in the folder of its attempt.
const inputDir = "input"

// flow runs one attempt at a workflow's task.
func (p *Pool) flow(h *held, dir string) pleat.Output {
	w := pleat.Work{Kind: h.task.Kind, Task: h.task.ID, Attempt: h.task.Attempt, Model: p.models[h.task.Lane], Dir: dir, Computed: func() { p.computed(h) }}
	plan, err := flow.Parse(h.Flow.Word, h.Flow.Input, false)
	if err != nil {
		return pleat.Output{Failure: pleat.Failed(pleat.FailInvalidInput, err.Error())}
	}
	if w.QnA, w.MD = plan.QnA, plan.MD; w.MD != nil {
		if w.MD.Seed, err = strconv.ParseUint(h.Seed, 10, 64); err != nil {
			return pleat.Output{Failure: pleat.Failed(pleat.FailInvalidInput, fmt.Sprintf("seed %q is not a whole number", pleat.Clip(h.Seed)))}
		}
	}
	s := &sink{p: p, h: h, dir: dir}
	s.Progress("fetch", 0, 1)
	b := bringer{p: p, flow: h.Flow, work: &w}
	if f := b.bring(h.ctx, plan.Source); f != nil {
		if h.ctx.Err() != nil {
			f = engine.Interrupted(h.ctx)
		}
		return pleat.Output{Failure: f}
	}
	p.checkpoint(h, &w, s)
	out := p.engines.Run(h.ctx, w, s)
	if out.Result != nil {
		out.Result.Row = out.Row
		if out.Result.Timings != nil {
			out.Result.Timings["queue"] = h.waited().Seconds()
		}
	}
	return out
}

// checkpoint brings what the last attempt got to. Without it the work starts anew.
func (p *Pool) checkpoint(h *held, w *pleat.Work, s *sink) {
	c := h.task.Checkpoint
	if c.Key == "" {
		return
	}
	name := "resume" + path.Ext(c.Key)
	if err := p.fetchBlob(h.ctx, c.Key, filepath.Join(w.Dir, name)); err != nil {
		p.cfg.Log.Warn("a checkpoint cannot be read; the work starts anew", "task", h.task.ID, "error", err)
		s.Log("the last attempt's checkpoint cannot be read; starting anew")
		return
	}
	w.Resume, w.Step = filepath.Join(w.Dir, name), c.Step
}

// bringer puts the files of a source into the folder of an attempt.
type bringer struct {
	p    *Pool
	flow *pleat.Workflow
	work *pleat.Work
}

func (b *bringer) bring(ctx context.Context, s flow.Source) *pleat.Failure {
	if err := os.MkdirAll(filepath.Join(b.work.Dir, inputDir), 0o700); err != nil {
		return pleat.Failed(pleat.FailStorage, "the worker has no room to work in")
	}
	switch s.Kind {
	case flow.SourceFold:
		if b.flow.Source.Job != "" {
			s.Fold = b.flow.Source // as it was resolved when the workflow was created
		}
		return b.fold(ctx, s)
	case flow.SourceLibrary, flow.SourceUpload:
		return b.library(ctx, s)
	case flow.SourcePDB, flow.SourceUniProt:
		return b.fetch(ctx, s)
	}
	return nil
}

// structure and pae name the files for the engine.
func (b *bringer) structure(name string) {
	name = filepath.Join(inputDir, name)
	if b.work.QnA != nil {
		b.work.QnA.File = name
	} else {
		b.work.MD.File = name
	}
}

func (b *bringer) pae(name string) {
	name = filepath.Join(inputDir, name)
	if b.work.QnA != nil {
		b.work.QnA.PAE = name
	} else {
		b.work.MD.PAE = name
	}
}

// trouble is the failure of a read: what the owner did wrong, or what may be well the next time.
func (b *bringer) trouble(err error, missing string) *pleat.Failure {
	switch {
	case pleat.CodeOf(err) == pleat.CodeNotFound, errors.Is(err, blob.ErrNotFound):
		return pleat.Failed(pleat.FailInvalidInput, missing)
	case errors.Is(err, errTooLarge):
		return pleat.Failed(pleat.FailTooLarge, fmt.Sprintf("the file to look at has more than %d MiB", maxSource>>20))
	}
	b.p.cfg.Log.Warn("a workflow's source cannot be read", "workflow", b.flow.ID, "error", err)
	return pleat.Failed(pleat.FailStorage, "what the workflow looks at could not be read")
}

// view reads the run of a fold that the workflow's owner may see.
func (b *bringer) view(ctx context.Context, ref pleat.FoldRef) (*store.View, *pleat.Failure) {
	missing := fmt.Sprintf("the fold job %s is gone, or is not the caller's", ref.Job)
	v, err := b.p.store.View(ctx, ref.Job)
	if err != nil {
		return nil, b.trouble(err, missing)
	}
	if v.Job.Owner != b.flow.Owner && !v.Job.Public {
		return nil, pleat.Failed(pleat.FailInvalidInput, missing)
	}
	if ref.Run != "" && ref.Run != v.Run.ID {
		all, err := b.p.store.RunViews(ctx, []pleat.RunID{ref.Run})
		if err != nil {
			return nil, b.trouble(err, missing)
		}
		other := all[ref.Run]
		if other == nil || other.Job.ID != ref.Job {
			return nil, pleat.Failed(pleat.FailInvalidInput, fmt.Sprintf("the run %s is no run of the fold job %s", ref.Run, ref.Job))
		}
		v = *other
	}
	if v.Run.State != pleat.StateCompleted {
		return nil, pleat.Failed(pleat.FailInvalidInput, fmt.Sprintf("the fold is %s; it has a structure once it is COMPLETED", v.Run.State))
	}
	return &v, nil
}

// fold brings the structure that a fold predicted for a sequence, or for the complex that holds it, and what the model says
// of its own errors.
func (b *bringer) fold(ctx context.Context, s flow.Source) *pleat.Failure {
	v, f := b.view(ctx, s.Fold)
	if f != nil {
		return f
	}
	seq, ok := sequenceOf(v, s.Fold.Sequence)
	if !ok {
		return pleat.Failed(pleat.FailInvalidInput, fmt.Sprintf("the fold job %s has no such protein sequence", s.Fold.Job))
	}
	s.Fold.Run, s.Fold.Sequence = v.Run.ID, seq.ID
	if m := b.work.MD; m != nil {
		m.Parameters["source"] = s.Reference()
		if m.Preset == flow.PresetIDR {
			m.Sequence = seq.Text
			return nil
		}
	}
	found := artifactOf(v, pleat.ArtifactCIF, seq.ID)
	if found == nil {
		found = artifactOf(v, pleat.ArtifactPDB, seq.ID)
	}
	if found == nil {
		return pleat.Failed(pleat.FailInvalidInput, "the fold has no structure of this sequence; the model it ran with predicts none")
	}
	if f := b.artifact(ctx, found); f != nil {
		return f
	}
	b.structure(found.Name)
	if a := artifactOf(v, pleat.ArtifactPAE, seq.ID); a != nil {
		if f := b.artifact(ctx, a); f != nil {
			return f
		}
		b.pae(a.Name)
	}
	if q := b.work.QnA; q != nil {
		q.Reference, q.Predicted, q.Model, q.Name = s.Reference(), true, v.Run.Model, v.Job.Name
		if p := predictionOf(v, seq.ID); p != nil {
			q.PTM, q.IPTM, q.Affinity, q.Confidence = p.PTM, p.IPTM, p.Affinity, p.Confidence
		}
	}
	return nil
}

// sequenceOf is the named sequence of a job, or its first protein.
func sequenceOf(v *store.View, id pleat.SequenceID) (pleat.Sequence, bool) {
	if id == "" {
		return flow.FirstProtein(v.Job.Sequences)
	}
	i := slices.IndexFunc(v.Job.Sequences, func(s pleat.Sequence) bool { return s.ID == id && s.Kind == pleat.Protein })
	if i < 0 {
		return pleat.Sequence{}, false
	}
	return v.Job.Sequences[i], true
}

// artifactOf is the first file of a kind that belongs to a sequence, or to the whole run.
func artifactOf(v *store.View, kind pleat.ArtifactKind, seq pleat.SequenceID) *pleat.Artifact {
	for _, owner := range []pleat.SequenceID{seq, ""} {
		for i := range v.Artifacts {
			if a := &v.Artifacts[i]; a.Kind == kind && a.Sequence == owner {
				return a
			}
		}
	}
	return nil
}

func predictionOf(v *store.View, seq pleat.SequenceID) *pleat.Prediction {
	if v.Run.Result == nil {
		return nil
	}
	all := v.Run.Result.Predictions
	for _, owner := range []pleat.SequenceID{seq, ""} {
		for i := range all {
			if all[i].Sequence == owner {
				return &all[i]
			}
		}
	}
	return nil
}

func (b *bringer) artifact(ctx context.Context, a *pleat.Artifact) *pleat.Failure {
	if err := b.p.fetchBlob(ctx, a.Key, filepath.Join(b.work.Dir, inputDir, a.Name)); err != nil {
		return b.trouble(err, fmt.Sprintf("the fold's file %s is gone", a.Name))
	}
	return nil
}

// library brings files of the owner's library.
func (b *bringer) library(ctx context.Context, s flow.Source) *pleat.Failure {
	name, f := b.item(ctx, s.Structure, "structure", ".cif", ".mmcif", ".pdb", ".ent")
	if f != nil {
		return f
	}
	b.structure(name)
	if s.PAE.Item == "" {
		return nil
	}
	if name, f = b.item(ctx, s.PAE, "PAE", ".json"); f == nil {
		b.pae(name)
	}
	return f
}

// item brings the named file of a library item, or its first of a fitting kind.
func (b *bringer) item(ctx context.Context, ref flow.FileRef, what string, endings ...string) (string, *pleat.Failure) {
	i, err := b.p.store.Item(ctx, b.flow.Owner, ref.Item)
	if err != nil {
		return "", b.trouble(err, fmt.Sprintf("the library item %s is gone, or is not the caller's", ref.Item))
	}
	at := slices.IndexFunc(i.Files, func(f store.LibraryFile) bool {
		return (ref.Name == "" || f.Name == ref.Name) && slices.Contains(endings, strings.ToLower(path.Ext(f.Name)))
	})
	if at < 0 {
		return "", pleat.Failed(pleat.FailInvalidInput, fmt.Sprintf("the library item %s has no %s file %s; names end in %s", ref.Item, what, pleat.Clip(ref.Name), strings.Join(endings, ", ")))
	}
	// The caller chose the name: on the disk it is ours.
	name := strings.ToLower(what) + strings.ToLower(path.Ext(i.Files[at].Name))
	if err := b.p.fetchBlob(ctx, i.Files[at].Key, filepath.Join(b.work.Dir, inputDir, name)); err != nil {
		return "", b.trouble(err, fmt.Sprintf("the file of the library item %s is gone", ref.Item))
	}
	return name, nil
}

var errTooLarge = errors.New("larger than a source may be")

// fetchBlob copies an object of the blob store into a file.
func (p *Pool) fetchBlob(ctx context.Context, key, to string) error {
	in, info, err := p.blobs.Open(ctx, key)
	if err != nil {
		return err
	}
	defer in.Close()
	if info.Bytes > maxSource && !strings.HasSuffix(to, ".tar") { // checkpoints are bounded by what made them
		return errTooLarge
	}
	return writeFile(to, in)
}

func writeFile(to string, in io.Reader) error {
	out, err := os.OpenFile(to, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}
