package workers

import (
	"cmp"
	"context"
	"errors"
	"regexp"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"pleat"
	"pleat/internal/blob"
	"pleat/internal/store/runs"
	"pleat/internal/store/tasks"
	"pleat/internal/tracing"
	"pleat/internal/workerapi"
)

// checkEnded reports whether an attempt has ended as a call asks for, if the error of the call is that the lease is
// lost: the call is repeated then, since its first answer was lost. Else it returns the error.
func (g *Gateway) checkEnded(ctx context.Context, c *caller, err error, outcomes ...string) error {
	if !errors.Is(err, pleat.ErrLost) {
		return err
	}
	outcome, found := g.store.Runs.AttemptOutcome(ctx, c.lease())
	if found != nil {
		return found
	}
	if slices.Contains(outcomes, outcome) {
		return nil
	}
	return err
}

// finish is POST tasks/{id}/finish: the run has ended. The files must be stored before; if one is not as it was said,
// the attempt has failed and is tried again.
func (g *Gateway) finish(ctx context.Context, c *caller, in *workerapi.Finish) (none, error) {
	if err := checkFinish(in); err != nil {
		return none{}, err
	}
	progress, err := g.progress("progress", &in.Report)
	if err != nil {
		return none{}, err
	}
	files, err := g.artifacts(ctx, c, in)
	var wrong *wrongFile
	switch {
	case errors.As(err, &wrong):
		tracing.LogWith(ctx, g.cfg.Log).Warn("a file of a worker is not as it says", "worker", c.Worker,
			"task", c.Task.ID, "run", c.Task.Run, "error", err)
		in.State, in.Result, in.Source = pleat.StateFailed, in.Result.TimingsOnly(), ""
		in.Failure = &pleat.Failure{Kind: pleat.FailOutputInvalid, Message: wrong.Error(), Retry: true}
	case err != nil:
		return none{}, err
	}
	end := in.Finished(files)
	end.Progress = progress
	if end.Served, err = g.engine(ctx, c, in.Served); err != nil {
		return none{}, err
	}
	outcomes := map[pleat.State][]string{
		pleat.StateCompleted: {tasks.OutcomeDone, tasks.OutcomeStopped},
		pleat.StateFailed:    {tasks.OutcomeFailed, tasks.OutcomeStopped},
		pleat.StateStopped:   {tasks.OutcomeStopped},
	}
	err = g.writes(ctx, func() error { return g.store.Runs.FinishRun(ctx, c.lease(), end) })
	return none{}, g.checkEnded(ctx, c, err, outcomes[in.State]...)
}

// checkFinish refuses an outcome that does not say how the attempt ended.
func checkFinish(in *workerapi.Finish) error {
	switch in.State {
	case pleat.StateCompleted:
		if in.Result == nil {
			return pleat.InvalidField("result", " is missing in a run that completed")
		}
	case pleat.StateFailed, pleat.StateStopped:
		if in.Failure == nil {
			return pleat.InvalidField("failure", " is missing in a run that did not complete")
		}
		in.Result, in.Artifacts, in.Shared, in.Source = in.Result.TimingsOnly(), nil, nil, ""
		in.BinderRMSD = nil
	default:
		return pleat.InvalidField("state", " is %q; it must be COMPLETED, FAILED or STOPPED",
			pleat.Clip(string(in.State)))
	}
	err := cmp.Or(
		checkCount("artifacts", len(in.Artifacts), workerapi.MaxFiles),
		checkCount("shared", len(in.Shared), workerapi.MaxFiles),
	)
	if err == nil && in.MSA != "" {
		err = checkMSA("msa", in.MSA)
	}
	if err == nil && in.Source != "" {
		err = checkID("source", string(in.Source))
	}
	if err != nil {
		return err
	}
	if in.BinderRMSD != nil && *in.BinderRMSD < 0 {
		return pleat.InvalidField("binder_rmsd", " is %g; it must not be negative", *in.BinderRMSD)
	}
	if f := in.Failure; f != nil {
		if err := checkName("failure.kind", string(f.Kind), maxHost); err != nil {
			return err
		}
		f.Message = storable(f.Message)
	}
	return cmp.Or(
		checkName("engine", in.Engine, maxHost),
		checkName("request_hash", in.RequestHash, maxHost),
		checkName("input_hash", in.InputHash, maxHost),
	)
}

// states are those of an alignment.
var states = []pleat.State{
	pleat.StatePending, pleat.StateInitialized, pleat.StateRunning, pleat.StateCompleted, pleat.StateFailed,
	pleat.StateStopped,
}

// checkMSA refuses what is no state of an alignment.
func checkMSA(field string, state pleat.State) error {
	if slices.Contains(states, state) {
		return nil
	}
	var names []string
	for _, s := range states {
		names = append(names, string(s))
	}
	return pleat.InvalidField(field, " is %q; it must be one of %s", pleat.Clip(string(state)),
		strings.Join(names, ", "))
}

var engineForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// engine returns the name of an engine under which an end is counted: empty unless the class has the engine, so that a
// worker makes no metrics of its own.
func (g *Gateway) engine(ctx context.Context, c *caller, name string) (string, error) {
	k, _, err := g.findClass(ctx, c.Class)
	ok := engineForm.MatchString(name) &&
		slices.ContainsFunc(k.Models, func(m pleat.Model) bool { return m.Engine == name })
	if err != nil || !ok {
		return "", err
	}
	return name, nil
}

// wrongFile is the error for a file that is not stored as the worker says.
type wrongFile struct{ name string }

func (e *wrongFile) Error() string {
	return "the file " + pleat.Clip(e.name) + " was not stored as the worker has sent it"
}

// artifacts returns the files of a run that has completed: those of the attempt, which it looks at, and those that the
// run shares with the run of its source.
func (g *Gateway) artifacts(ctx context.Context, c *caller, in *workerapi.Finish) ([]pleat.Artifact, error) {
	out := make([]pleat.Artifact, len(in.Artifacts))
	for i := range in.Artifacts {
		var err error
		if out[i], err = fileOf(c, indexed("artifacts", i)+".", &in.Artifacts[i]); err != nil {
			return nil, err
		}
	}
	group, inner := errgroup.WithContext(ctx)
	group.SetLimit(8)
	for i := range out {
		group.Go(func() error { return g.checkStored(inner, &out[i]) })
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	if in.Source == "" {
		return out, nil
	}
	shared, err := g.shared(ctx, in)
	return append(out, shared...), err
}

// shared returns the files of a source that a run shares. FinishRun checks that its owner may.
func (g *Gateway) shared(ctx context.Context, in *workerapi.Finish) ([]pleat.Artifact, error) {
	v, err := g.runView(ctx, in.Source)
	if err != nil {
		return nil, err
	}
	if v == nil {
		return nil, runs.ErrSourceGone
	}
	var out []pleat.Artifact
	for _, name := range in.Shared {
		a := pleat.ArtifactNamed(v.Artifacts, name)
		if a == nil {
			return nil, runs.ErrSourceGone
		}
		out = append(out, *a)
	}
	return out, nil
}

// runView returns a run of a job; nil: there is none.
func (g *Gateway) runView(ctx context.Context, run pleat.RunID) (*runs.View, error) {
	views, err := g.store.Runs.RunViews(ctx, []pleat.RunID{run})
	return views[run], err
}

// fileOf returns the artifact that a file of an attempt is. Its fields are named with a prefix.
func fileOf(c *caller, prefix string, f *workerapi.File) (pleat.Artifact, error) {
	key, err := keyOf(c, prefix+"name", f.Name)
	err = cmp.Or(err,
		checkName(prefix+"content_type", f.ContentType, maxHost),
		checkName(prefix+"kind", string(f.Kind), maxHost))
	switch {
	case err != nil:
	case !slices.Contains(pleat.ArtifactKinds, f.Kind):
		err = pleat.InvalidField(prefix+"kind", " is %q, which is none of the kinds in docs/worker-protocol.md",
			pleat.Clip(string(f.Kind)))
	case f.Sequence != "" && !pleat.IsUUID(string(f.Sequence)):
		err = pleat.InvalidField(prefix+"sequence", " must be a UUID")
	case !digestForm.MatchString(f.SHA256):
		err = pleat.InvalidField(prefix+"sha256", " must be 64 hexadecimal digits, in small letters")
	}
	return f.Artifact(key), err
}

// digestForm is how a SHA-256 is stored.
var digestForm = regexp.MustCompile(`^[0-9a-f]{64}$`)

// keyOf returns the key of a file of an attempt.
func keyOf(c *caller, field, name string) (string, error) {
	key := runs.ArtifactKey(c.task(), name)
	if name == "" || slices.Contains([]byte(name), '/') || blob.CheckKey(key) != nil {
		return "", pleat.InvalidField(field, " is %q; it must be a plain name of letters, digits, '.', '_' and '-'",
			pleat.Clip(name))
	}
	return key, nil
}

// checkStored looks whether a file is stored with the size and, where the artifact store knows it, the SHA-256 that the
// worker says.
func (g *Gateway) checkStored(ctx context.Context, a *pleat.Artifact) error {
	info, err := g.blobs.Stat(ctx, a.Key)
	switch {
	case errors.Is(err, blob.ErrNotFound):
		return &wrongFile{a.Name}
	case err != nil:
		return artifactsUnavailable(err)
	case info.Bytes != a.Bytes || info.SHA256 != "" && info.SHA256 != a.SHA256:
		return &wrongFile{a.Name}
	}
	return nil
}

// artifactsUnavailable is the error for an artifact store that cannot serve now.
func artifactsUnavailable(err error) error {
	return &pleat.Error{
		Code:    pleat.CodeUnavailable,
		Message: "the artifact store cannot serve this now; try again",
		Err:     err,
	}
}

// searched is POST tasks/{id}/searched: the MSA search before a fold has ended well.
func (g *Gateway) searched(ctx context.Context, c *caller, in *workerapi.Searched) (none, error) {
	progress, err := g.progress("progress", &in.Report)
	if err == nil {
		err = checkFoldQueue(c, in.FoldQueue)
	}
	if err != nil {
		return none{}, err
	}
	end := runs.SearchCompleted{FoldQueue: in.FoldQueue, Progress: progress}
	err = g.writes(ctx, func() error { return g.store.Runs.FinishSearch(ctx, c.lease(), end) })
	return none{}, g.checkEnded(ctx, c, err, tasks.OutcomeSearched, tasks.OutcomeStopped)
}

// checkFoldQueue refuses a queue other than that of the fold whose search the task is.
func checkFoldQueue(c *caller, name string) error {
	k := c.task()
	if !k.NeedsSearch() {
		return pleat.Errorf(pleat.CodeConflict, "the task is no MSA search")
	}
	model := k.Queue[len(pleat.SearchQueue("")):]
	if want := pleat.Queue(pleat.TaskFold, model); name != want {
		return pleat.InvalidField("fold_queue", " is %q; it must be %q", pleat.Clip(name), want)
	}
	return nil
}

// maxDelay bounds how long a task waits that a worker returns.
const maxDelay = time.Hour

// release is POST tasks/{id}/release: the task returns to its queue, and no try is spent.
func (g *Gateway) release(ctx context.Context, c *caller, in *workerapi.Release) (none, error) {
	progress, err := g.progress("progress", &in.Report)
	if err != nil {
		return none{}, err
	}
	delay := min(max(in.Pause.Duration(), 0), maxDelay)
	err = g.writes(ctx, func() error { return g.store.Runs.Release(ctx, c.lease(), delay, progress) })
	return none{}, g.checkEnded(ctx, c, err, tasks.OutcomeReleased, tasks.OutcomeStopped)
}

// yield is POST tasks/{id}/yield: the task makes room for another user's.
func (g *Gateway) yield(ctx context.Context, c *caller, in *workerapi.Yield) (workerapi.Yielded, error) {
	var out workerapi.Yielded
	progress, err := g.progress("progress", &in.Report)
	if err == nil {
		err = g.checkSlots(ctx, c, &in.Slots)
	}
	if err != nil {
		return out, err
	}
	err = g.writes(ctx, func() (err error) {
		out.Queue, err = g.store.Runs.Yield(ctx, c.task(), runs.Slots(in.Slots), progress)
		return err
	})
	return out, g.checkEnded(ctx, c, err, tasks.OutcomeYielded, tasks.OutcomeStopped)
}

// checkSlots refuses slots that the workers of a class do not have.
func (g *Gateway) checkSlots(ctx context.Context, c *caller, s *workerapi.Slots) error {
	if err := checkNotNegative("memory", s.Memory); err != nil {
		return err
	}
	if len(s.Queues) == 0 {
		return pleat.InvalidField("queues", " is empty; it must name the queues of the slots")
	}
	return g.checkQueues(ctx, c.Class, "queues", s.Queues)
}

// othersWait is POST tasks/{id}/others-wait: whether the task is to make room for another user's.
func (g *Gateway) othersWait(ctx context.Context, c *caller, in *workerapi.Slots) (workerapi.Answer, error) {
	if err := g.checkSlots(ctx, c, in); err != nil {
		return workerapi.Answer{}, err
	}
	yes, err := g.store.Runs.OthersWait(ctx, c.task(), runs.Slots(*in))
	return workerapi.Answer{Yes: yes}, err
}

// setMSA is POST tasks/{id}/msa: the state of the alignment.
func (g *Gateway) setMSA(ctx context.Context, c *caller, in *workerapi.MSA) (none, error) {
	if err := checkMSA("state", in.State); err != nil {
		return none{}, err
	}
	return none{}, g.writes(ctx, func() error { return g.store.Runs.SetMSA(ctx, c.lease(), in.State) })
}

// publish is POST tasks/{id}/publish: a stored file becomes readable before the run ends.
func (g *Gateway) publish(ctx context.Context, c *caller, in *workerapi.File) (none, error) {
	a, err := fileOf(c, "", in)
	if err == nil {
		err = g.checkStored(ctx, &a)
	}
	var wrong *wrongFile
	if errors.As(err, &wrong) {
		err = pleat.Errorf(pleat.CodeConflict, "%s", wrong.Error())
	}
	if err != nil {
		return none{}, err
	}
	published, err := g.published(ctx, c, &a)
	if err != nil || published {
		return none{}, err
	}
	return none{}, g.writes(ctx, func() error { return g.store.Runs.AddArtifact(ctx, c.lease(), a) })
}

// published reports whether a file of the attempt is readable already: the call is repeated then, and must not give the
// file a new id, which would end the links to it. pleat.ErrLost: the attempt has ended.
func (g *Gateway) published(ctx context.Context, c *caller, a *pleat.Artifact) (bool, error) {
	v, err := g.runView(ctx, c.Task.Run)
	if err != nil || v == nil {
		return false, err
	}
	same := slices.ContainsFunc(v.Artifacts, func(b pleat.Artifact) bool {
		return b.Key == a.Key && b.SHA256 == a.SHA256 && b.Kind == a.Kind && b.ContentType == a.ContentType &&
			b.Sequence == a.Sequence
	})
	if !same {
		return false, nil
	}
	return true, g.checkHeld(ctx, c)
}

// checkpoint is POST tasks/{id}/checkpoint: the next attempt may resume from a stored file.
func (g *Gateway) checkpoint(ctx context.Context, c *caller, in *workerapi.SaveCheckpoint) (none, error) {
	key, err := keyOf(c, "name", in.Name)
	if err == nil {
		err = checkNotNegative("step", in.Step)
	}
	if err == nil {
		_, err = g.blobs.Stat(ctx, key)
		if errors.Is(err, blob.ErrNotFound) {
			err = pleat.Errorf(pleat.CodeConflict, "the file %s is not stored", pleat.Clip(in.Name))
		} else if err != nil {
			err = artifactsUnavailable(err)
		}
	}
	if err != nil {
		return none{}, err
	}
	saved := pleat.Checkpoint{Key: key, Step: in.Step}
	return none{}, g.writes(ctx, func() error { return g.store.Runs.SaveCheckpoint(ctx, c.lease(), saved) })
}

// cachedResult is POST tasks/{id}/cached-result: a result of the same input that the owner of the task may reuse.
func (g *Gateway) cachedResult(
	ctx context.Context, c *caller, in *workerapi.HashOfInput,
) (workerapi.CachedResult, error) {
	if err := checkName("input_hash", in.InputHash, maxHost); err != nil {
		return workerapi.CachedResult{}, err
	}
	r, err := g.store.Runs.CachedResult(ctx, c.Task.Owner, in.InputHash)
	if err != nil || r == nil {
		return workerapi.CachedResult{}, err
	}
	out := workerapi.CachedResultOf(r)
	out.Links, err = g.links(ctx, c, artifactKeys(r.Artifacts))
	return out, err
}

// foldOf returns what the files that a fold names depend on.
func (g *Gateway) foldOf(ctx context.Context, c *caller) (*pleat.FoldInput, error) {
	v, err := g.runView(ctx, c.Task.Run)
	if err != nil {
		return nil, err
	}
	if v == nil {
		return nil, pleat.Errorf(pleat.CodeConflict, "the task is not one of a fold")
	}
	return &pleat.FoldInput{
		Job:         v.Job.ID,
		Owner:       v.Job.Owner,
		LibraryItem: v.Job.LibraryItem,
		Sequences:   v.Job.Sequences,
		Params:      v.Run.Params,
		Constraints: v.Job.Constraints,
	}, nil
}

// templates is GET tasks/{id}/templates: the templates that the fold names.
func (g *Gateway) templates(ctx context.Context, c *caller, _ *none) (workerapi.ReferencedFiles, error) {
	return g.referencedFiles(ctx, c, g.inputs.ReferencedTemplates)
}

// components is GET tasks/{id}/components: the files of the components that the fold names.
func (g *Gateway) components(ctx context.Context, c *caller, _ *none) (workerapi.ReferencedFiles, error) {
	return g.referencedFiles(ctx, c, g.inputs.ReferencedComponents)
}

// design is GET tasks/{id}/design: the structure of the design that the fold folds.
func (g *Gateway) design(ctx context.Context, c *caller, _ *none) (workerapi.DesignStructure, error) {
	fold, err := g.foldOf(ctx, c)
	if err != nil {
		return workerapi.DesignStructure{}, err
	}
	d, err := g.inputs.DesignStructure(ctx, fold)
	if err != nil {
		return workerapi.DesignStructure{}, err
	}
	out := workerapi.DesignStructure{File: workerapi.ReferencedFile(d.ReferencedFile), Designed: d.Designed}
	out.Links, err = g.links(ctx, c, []string{d.Key})
	return out, err
}

// referencedFiles answers with the files of one kind that the fold names, which find finds.
func (g *Gateway) referencedFiles(
	ctx context.Context, c *caller, find func(context.Context, *pleat.FoldInput) ([]runs.ReferencedFile, error),
) (workerapi.ReferencedFiles, error) {
	out := workerapi.ReferencedFiles{Files: []workerapi.ReferencedFile{}}
	fold, err := g.foldOf(ctx, c)
	if err != nil {
		return out, err
	}
	files, err := find(ctx, fold)
	if err != nil {
		return out, err
	}
	var keys []string
	for _, f := range files {
		out.Files = append(out.Files, workerapi.ReferencedFile(f))
		keys = append(keys, f.Key)
	}
	out.Links, err = g.links(ctx, c, keys)
	return out, err
}

// alignments is GET tasks/{id}/alignments: the alignments that the fold names.
func (g *Gateway) alignments(ctx context.Context, c *caller, _ *none) (workerapi.Alignments, error) {
	out := workerapi.Alignments{Files: []workerapi.ReferencedAlignment{}}
	fold, err := g.foldOf(ctx, c)
	if err != nil {
		return out, err
	}
	files, err := g.inputs.ReferencedAlignments(ctx, fold)
	if out.LibraryGone = errors.Is(err, runs.ErrNoItem); err != nil && !out.LibraryGone {
		return out, err
	}
	var keys []string
	for _, f := range files {
		out.Files = append(out.Files, workerapi.ReferencedAlignment(f))
		keys = append(keys, f.Key)
	}
	out.Links, err = g.links(ctx, c, keys)
	return out, err
}

// source is GET tasks/{id}/source: what the workflow of the task reads.
func (g *Gateway) source(ctx context.Context, c *caller, _ *none) (workerapi.Source, error) {
	if c.Task.Workflow == "" {
		return workerapi.Source{}, pleat.Errorf(pleat.CodeConflict, "the task is not one of a workflow")
	}
	v, err := g.store.Runs.WorkflowView(ctx, c.Task.Workflow)
	if err != nil {
		return workerapi.Source{}, err
	}
	files, err := g.inputs.SourceFiles(ctx, &v.Workflow)
	if err != nil {
		return workerapi.Source{}, err
	}
	out := workerapi.Source{SourceFiles: files}
	keys := []string{out.Structure.Key, out.PAE.Key}
	for i := range out.Compared {
		keys = append(keys, out.Compared[i].Key)
	}
	for i := range out.Design {
		keys = append(keys, out.Design[i].Key)
	}
	out.Links, err = g.links(ctx, c, keys)
	return out, err
}
