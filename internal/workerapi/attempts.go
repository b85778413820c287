package workerapi

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"strings"
	"time"

	"pleat"
	"pleat/internal/flow"
	"pleat/internal/store/runs"
	"pleat/internal/store/tasks"
)

// attempt is a task that the worker holds.
type attempt struct {
	number int
	run    pleat.RunID
	token  string
	links  map[string]Link // of the files that it may read, by key
}

// attemptOf returns the attempt that a lease names; nil if the worker does not hold it.
func (c *Client) attemptOf(l tasks.Lease) *attempt {
	c.mu.Lock()
	defer c.mu.Unlock()
	if a := c.attempts[l.Task]; a != nil && a.number == l.Attempt {
		return a
	}
	return nil
}

// about calls the server about a task. pleat.ErrLost: the worker does not hold it any more.
func (c *Client) about(ctx context.Context, l tasks.Lease, r request) error {
	a := c.attemptOf(l)
	if a == nil {
		return pleat.ErrLost
	}
	r.token = a.token
	r.route = "tasks/{id}/" + r.path
	r.path = "tasks/" + string(l.Task) + "/" + r.path
	return c.call(ctx, r)
}

// conclude is about for a call that ends the attempt.
func (c *Client) conclude(ctx context.Context, l tasks.Lease, r request) error {
	err := c.about(ctx, l, r)
	if err == nil || errors.Is(err, pleat.ErrLost) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.forget(l.Task, l.Attempt)
	}
	return err
}

// forget forgets an attempt that the worker does not hold any more. The caller holds mu.
func (c *Client) forget(id pleat.TaskID, number int) {
	if a := c.attempts[id]; a != nil && a.number == number {
		delete(c.attempts, id)
	}
}

// FinishRun ends a run.
func (c *Client) FinishRun(ctx context.Context, l tasks.Lease, f runs.RunFinished) error {
	a := c.attemptOf(l)
	if a == nil {
		return pleat.ErrLost
	}
	prefix := runs.ArtifactKey(&pleat.Task{Run: a.run, Attempt: a.number}, "")
	in := finishOf(&f, func(key string) bool { return strings.HasPrefix(key, prefix) })
	in.Report = c.report(f.Progress)
	return c.conclude(ctx, l, request{path: "finish", in: in})
}

// FinishSearch moves a task from its MSA search to its fold.
func (c *Client) FinishSearch(ctx context.Context, l tasks.Lease, f runs.SearchCompleted) error {
	return c.conclude(ctx, l, request{path: "searched", in: Searched{f.FoldQueue, c.report(f.Progress)}})
}

// Release returns a task to its queue.
func (c *Client) Release(ctx context.Context, l tasks.Lease, wait time.Duration, progress []pleat.Progress) error {
	return c.conclude(ctx, l, request{path: "release", in: Release{SecondsOf(wait), c.report(progress)}})
}

// OthersWait reports whether a task is to make room for another user's.
func (c *Client) OthersWait(ctx context.Context, k *pleat.Task, slots runs.Slots) (bool, error) {
	var out Answer
	err := c.about(ctx, tasks.LeaseOf(k), request{path: "others-wait", in: Slots(slots), out: &out})
	return out.Yes, err
}

// Yield returns a task to its queue to make room for another user's.
func (c *Client) Yield(
	ctx context.Context, k *pleat.Task, slots runs.Slots, progress []pleat.Progress,
) (string, error) {
	var out Yielded
	in := Yield{Slots(slots), c.report(progress)}
	err := c.conclude(ctx, tasks.LeaseOf(k), request{path: "yield", in: in, out: &out})
	return out.Queue, err
}

// SetMSA stores the state of an alignment.
func (c *Client) SetMSA(ctx context.Context, l tasks.Lease, state pleat.State) error {
	return c.about(ctx, l, request{path: "msa", in: MSA{state}})
}

// AddArtifact publishes a file that is stored.
func (c *Client) AddArtifact(ctx context.Context, l tasks.Lease, a pleat.Artifact) error {
	return c.about(ctx, l, request{path: "publish", in: filesOf([]pleat.Artifact{a})[0]})
}

// SaveCheckpoint names a stored file as the checkpoint of a task.
func (c *Client) SaveCheckpoint(ctx context.Context, l tasks.Lease, k pleat.Checkpoint) error {
	name := k.Key[strings.LastIndexByte(k.Key, '/')+1:]
	return c.about(ctx, l, request{path: "checkpoint", in: SaveCheckpoint{name, k.Step}})
}

// CachedResult finds a result of the same input; nil: there is none.
func (c *Client) CachedResult(ctx context.Context, k *pleat.Task, inputHash string) (*runs.CachedResult, error) {
	var out CachedResult
	err := c.about(ctx, tasks.LeaseOf(k), request{path: "cached-result", in: HashOfInput{inputHash}, out: &out})
	c.addLinks(k.ID, out.Links)
	return out.result(), err
}

// ReferencedAlignments lists the alignments that a fold names.
func (c *Client) ReferencedAlignments(ctx context.Context, f *pleat.FoldInput) ([]runs.ReferencedAlignment, error) {
	var out Alignments
	if err := c.input(ctx, f.Run, "alignments", &out, &out.Links); err != nil {
		return nil, err
	}
	var files []runs.ReferencedAlignment
	for _, f := range out.Files {
		files = append(files, runs.ReferencedAlignment(f))
	}
	if out.LibraryGone {
		return files, runs.ErrNoItem
	}
	return files, nil
}

// ReferencedTemplates finds the templates that a fold names.
func (c *Client) ReferencedTemplates(ctx context.Context, f *pleat.FoldInput) ([]runs.ReferencedFile, error) {
	return c.referencedFiles(ctx, f, "templates")
}

// ReferencedComponents finds the files of the components that a fold names.
func (c *Client) ReferencedComponents(ctx context.Context, f *pleat.FoldInput) ([]runs.ReferencedFile, error) {
	return c.referencedFiles(ctx, f, "components")
}

// DesignStructure finds the structure of the design that a fold folds.
func (c *Client) DesignStructure(ctx context.Context, f *pleat.FoldInput) (runs.DesignStructure, error) {
	var out DesignStructure
	err := c.input(ctx, f.Run, "design", &out, &out.Links)
	return runs.DesignStructure{ReferencedFile: runs.ReferencedFile(out.File), Designed: out.Designed}, err
}

// referencedFiles asks for the files of one kind that a fold names.
func (c *Client) referencedFiles(ctx context.Context, f *pleat.FoldInput, path string) ([]runs.ReferencedFile, error) {
	var out ReferencedFiles
	if err := c.input(ctx, f.Run, path, &out, &out.Links); err != nil {
		return nil, err
	}
	var files []runs.ReferencedFile
	for _, f := range out.Files {
		files = append(files, runs.ReferencedFile(f))
	}
	return files, nil
}

// ClaimSearches implements work.Inputs.
func (c *Client) ClaimSearches(ctx context.Context, _ pleat.WorkerID, searches []runs.Search) ([]bool, error) {
	in := ClaimSearches{Searches: make([]Search, len(searches))}
	for i, s := range searches {
		in.Searches[i] = Search(s)
	}
	var out ClaimedSearches
	err := c.call(ctx, request{path: "searches", route: "searches", in: in, out: &out})
	return out.Granted, err
}

// EndSearches implements work.Inputs.
func (c *Client) EndSearches(ctx context.Context, _ pleat.WorkerID, keys []string, found bool) error {
	const path = "searches/end"
	return c.call(ctx, request{path: path, route: path, in: EndSearches{keys, found}})
}

// PauseSearches implements work.Inputs.
func (c *Client) PauseSearches(ctx context.Context, server string, pause time.Duration) (time.Duration, error) {
	const path = "searches/pause"
	var out PausedSearches
	err := c.call(ctx, request{path: path, route: path, in: PauseSearches{server, SecondsOf(pause)}, out: &out})
	return out.Left.Duration(), err
}

// WorkflowSource finds what a workflow reads.
func (c *Client) WorkflowSource(ctx context.Context, w *pleat.Workflow) (flow.SourceFiles, error) {
	var out Source
	err := c.input(ctx, w.Run, "source", &out, &out.Links)
	return out.SourceFiles, err
}

// input asks for what the task of a run reads. It keeps the links to the files, which out has after the answer.
func (c *Client) input(ctx context.Context, run pleat.RunID, path string, out any, links *map[string]Link) error {
	l := c.leaseOf(run)
	err := c.about(ctx, l, request{method: http.MethodGet, path: path, out: out})
	if err == nil {
		c.addLinks(l.Task, *links)
	}
	return err
}

// leaseOf returns the lease of the task that works on a run; the zero value if the worker holds none.
func (c *Client) leaseOf(run pleat.RunID) tasks.Lease {
	c.mu.Lock()
	defer c.mu.Unlock()
	for id, a := range c.attempts {
		if a.run == run {
			return tasks.Lease{Task: id, Attempt: a.number, Worker: c.worker}
		}
	}
	return tasks.Lease{}
}

// addLinks keeps links to files that a task may read.
func (c *Client) addLinks(task pleat.TaskID, links map[string]Link) {
	c.mu.Lock()
	defer c.mu.Unlock()
	a := c.attempts[task]
	if a == nil {
		return
	}
	if a.links == nil {
		a.links = map[string]Link{}
	}
	maps.Copy(a.links, links)
}
