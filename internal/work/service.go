package work

import (
	"context"
	"io"
	"time"

	"pleat"
	"pleat/internal/blob"
	"pleat/internal/flow"
	"pleat/internal/queue"
	"pleat/internal/store/db"
	"pleat/internal/store/people"
	"pleat/internal/store/runs"
	"pleat/internal/store/tasks"
	"pleat/internal/store/workers"
	"pleat/internal/submit"
)

// Service is the service as a worker sees it: Direct, on the database, or a workerapi.Client, which calls a server. One
// suite of tests covers both.
type Service interface {
	Members
	Claims
	Ends
	Outputs
	Inputs
	queue.News
	queue.Renewer
}

// Members knows the workers of the service.
type Members interface {
	// RegisterWorker makes a worker known, which then claims; see workers.Store.
	RegisterWorker(ctx context.Context, w pleat.Worker) (pleat.WorkerTerms, error)
	// WatchWorker waits for news about the worker, at most for about WorkerTerms.Heartbeat, and records that the worker
	// is alive. It may return the same orders again.
	WatchWorker(ctx context.Context, id pleat.WorkerID) (runs.WorkerOrders, error)
	// DrainWorker records that the worker claims nothing more, and StopWorker that it ends.
	DrainWorker(ctx context.Context, id pleat.WorkerID) error
	StopWorker(ctx context.Context, id pleat.WorkerID) error
}

// Claims hands out tasks.
type Claims interface {
	// Claim leases tasks that wait. It returns none where none can be had at once: what News tells of comes later.
	Claim(ctx context.Context, worker pleat.WorkerID, filter tasks.ClaimFilter) ([]runs.ClaimedTask, error)
	NeedsFreshWorker(ctx context.Context, current, fresh tasks.ClaimFilter) (bool, error)
	OthersWait(ctx context.Context, k *pleat.Task, slots runs.Slots) (bool, error)
}

// Ends ends attempts. Each verb is fenced: pleat.ErrLost if the lease is no longer held.
type Ends interface {
	FinishRun(ctx context.Context, l tasks.Lease, f runs.RunFinished) error
	FinishSearch(ctx context.Context, l tasks.Lease, f runs.SearchCompleted) error
	Release(ctx context.Context, l tasks.Lease, delay time.Duration, progress []pleat.Progress) error
	Yield(ctx context.Context, k *pleat.Task, slots runs.Slots, progress []pleat.Progress) (string, error)
}

// Outputs takes what an attempt has before it ends. Each verb is fenced.
type Outputs interface {
	SetMSA(ctx context.Context, l tasks.Lease, state pleat.State) error
	AddArtifact(ctx context.Context, l tasks.Lease, a pleat.Artifact) error
	SaveCheckpoint(ctx context.Context, l tasks.Lease, c pleat.Checkpoint) error
}

// Inputs tells what an attempt reads besides what its claim has. Files opens the files.
type Inputs interface {
	// CachedResult finds a result of the same input that the owner of a task may reuse; nil: there is none.
	CachedResult(ctx context.Context, k *pleat.Task, inputHash string) (*runs.CachedResult, error)
	// ReferencedAlignments lists the alignments that a fold names; see submit.References. runs.ErrNoItem: the library
	// item of its job is gone, and what is returned are the others. CodeInvalid: another one is gone.
	ReferencedAlignments(ctx context.Context, f *pleat.FoldInput) ([]runs.ReferencedAlignment, error)
	// ReferencedTemplates finds the templates that a fold names; see submit.References.
	ReferencedTemplates(ctx context.Context, f *pleat.FoldInput) ([]runs.ReferencedFile, error)
	// ReferencedComponents finds the files of the components that a fold names; see submit.References.
	ReferencedComponents(ctx context.Context, f *pleat.FoldInput) ([]runs.ReferencedFile, error)
	// DesignStructure finds the structure of the design that a fold folds; see submit.References.
	DesignStructure(ctx context.Context, f *pleat.FoldInput) (runs.DesignStructure, error)
	// ClaimSearches and EndSearches keep workers from searching for the same alignment at the same time; see
	// runs.Store.
	ClaimSearches(ctx context.Context, worker pleat.WorkerID, searches []runs.Search) ([]bool, error)
	EndSearches(ctx context.Context, worker pleat.WorkerID, keys []string, found bool) error
	// PauseSearches records that a server of alignments asked for a pause, and returns for how long all workers leave
	// it alone; see runs.Store.
	PauseSearches(ctx context.Context, server string, pause time.Duration) (time.Duration, error)
	// WorkflowSource finds what a workflow reads. An error with CodeNotFound, CodeInvalid or CodeConflict says why it
	// cannot be read.
	WorkflowSource(ctx context.Context, w *pleat.Workflow) (flow.SourceFiles, error)
}

// Files stores and opens files by their keys, as blob.Store does.
type Files interface {
	Put(ctx context.Context, key string, r io.Reader) (blob.Info, error)
	Open(ctx context.Context, key string) (io.ReadCloser, blob.Info, error)
	// Failing reports whether the last attempt to read or write failed through the fault of the artifact store, and
	// Probe tries again.
	Failing() bool
	Probe(ctx context.Context) error
}

// DirectFiles are the Files of a worker that reaches the artifact store itself.
type DirectFiles struct{ *blob.Monitor }

// Open implements Files.
func (f DirectFiles) Open(ctx context.Context, key string) (io.ReadCloser, blob.Info, error) {
	return f.Monitor.Open(ctx, key)
}

// Direct is the Service of one worker that reaches the database itself.
type Direct struct {
	*runs.Store
	*submit.References
	workers *workers.Store
	db      *db.DB
	news    chan struct{} // of the worker's topic
}

// NewDirect returns a Direct for one worker.
func NewDirect(d *db.DB, p *people.Store, r *runs.Store, w *workers.Store) *Direct {
	return &Direct{
		Store:      r,
		References: &submit.References{People: p, Runs: r, FetchPDB: true},
		workers:    w,
		db:         d,
		news:       make(chan struct{}, 1),
	}
}

// SubscribeTo implements queue.News.
func (d *Direct) SubscribeTo(topic string, ch chan struct{}) { d.db.SubscribeTo(topic, ch) }

// Unsubscribe implements queue.News.
func (d *Direct) Unsubscribe(topic string, ch chan struct{}) { d.db.Unsubscribe(topic, ch) }

// RegisterWorker implements Members.
func (d *Direct) RegisterWorker(ctx context.Context, w pleat.Worker) (pleat.WorkerTerms, error) {
	d.db.SubscribeTo(tasks.WorkerTopic(w.ID), d.news)
	return queue.DirectTerms, d.workers.RegisterWorker(ctx, w)
}

// DrainWorker implements Members.
func (d *Direct) DrainWorker(ctx context.Context, id pleat.WorkerID) error {
	return d.workers.DrainWorker(ctx, id)
}

// StopWorker implements Members.
func (d *Direct) StopWorker(ctx context.Context, id pleat.WorkerID) error {
	d.db.Unsubscribe(tasks.WorkerTopic(id), d.news)
	return d.workers.StopWorker(ctx, id)
}

// WatchWorker implements Members.
func (d *Direct) WatchWorker(ctx context.Context, id pleat.WorkerID) (out runs.WorkerOrders, err error) {
	wait := time.NewTimer(pleat.HeartbeatInterval)
	defer wait.Stop()
	select {
	case <-ctx.Done():
		return out, ctx.Err()
	case <-wait.C:
	case <-d.news:
		if out.Cancel, err = d.Store.CancelledTasks(ctx, id); err != nil {
			queue.Wake(d.news)
			return out, err
		}
	}
	out.Drain, err = d.workers.TouchWorker(ctx, id)
	return out, err
}

// CachedResult implements Inputs.
func (d *Direct) CachedResult(ctx context.Context, k *pleat.Task, inputHash string) (*runs.CachedResult, error) {
	return d.Store.CachedResult(ctx, k.Owner, inputHash)
}

// WorkflowSource implements Inputs.
func (d *Direct) WorkflowSource(ctx context.Context, w *pleat.Workflow) (flow.SourceFiles, error) {
	return d.SourceFiles(ctx, w)
}
