package store

import (
	"time"

	"pleat"
)

// User is somebody who owns jobs.
type User struct {
	ID        pleat.UserID
	Name      string
	Quota     int // calls per day; negative: the service's default
	CreatedAt time.Time
}

// Key is an API key without its secret.
type Key struct {
	ID         pleat.KeyID
	User       pleat.UserID
	UserName   string
	Prefix     string // the first letters of the plain key, to tell keys apart
	Label      string
	CreatedAt  time.Time
	LastUsedAt time.Time // zero: never
	RevokedAt  time.Time // zero: valid
}

// Principal is who a credential stands for.
type Principal struct {
	User  pleat.UserID
	Name  string
	Key   pleat.KeyID
	Quota int // negative: the service's default
}

// Usage is how much of today's quota a user has spent. The day is UTC.
type Usage struct {
	Limit int
	Used  int
	Reset time.Time // the next UTC midnight
}

// NewJob is a validated job to create.
type NewJob struct {
	Job    pleat.Job // IDs and times are made by the store
	Run    RunSpec
	Quota  int    // the service's default, used where the user has none of their own
	Key    string // Idempotency-Key; empty: none
	Digest string // of the request, to tell a repeat from another request under the same key
	Subs   []pleat.Subscription
}

// RunSpec is what a run of a job needs besides the job.
type RunSpec struct {
	Model     string
	WeightSet string
	Method    string
	Seed      string
	Params    pleat.Params
	Queue     string
	Memory    int64          // bytes expected
	Tries     int            // attempts before a crashing run fails; 0: DefaultTries
	Kind      pleat.TaskKind // empty: fold
	Fresh     bool           // no earlier run's results will do
}

func (r RunSpec) kind() pleat.TaskKind {
	if r.Kind == "" {
		return pleat.TaskFold
	}
	return r.Kind
}

// state is the first state of a run: a workflow's task says that it is queued.
func (r RunSpec) state() pleat.State {
	if r.kind() == pleat.TaskFold {
		return pleat.StateInitialized
	}
	return pleat.StateQueued
}

// DefaultTries is how many attempts a run has when its worker dies under it: enough for an operator's bad day, and an end
// for a run that kills whatever takes it.
const DefaultTries = 10

// Created is the answer to CreateJob and Rerun.
type Created struct {
	Job       pleat.JobID
	Run       pleat.RunID
	Name      string
	State     pleat.State
	Sequences []pleat.SequenceID
	Usage     Usage
	Replayed  bool // an earlier call with the same Idempotency-Key made it
}

// Head is what every request on a job checks first.
type Head struct {
	Job     pleat.JobID
	Owner   pleat.UserID
	Public  bool
	Version int64
	Epoch   int64
	Run     pleat.RunID
	State   pleat.State
	Caller  pleat.UserID // whose key came with the request; empty: none, or a bad one
}

// View is a job whole: its latest run, sequences and artifacts, read in one snapshot.
type View struct {
	Job       pleat.Job
	Run       pleat.Run
	Artifacts []pleat.Artifact
}

// JobRow is a job in a list.
type JobRow struct {
	ID        pleat.JobID
	Run       pleat.RunID
	Name      string
	Public    bool
	Model     string
	State     pleat.State
	Stage     string
	Done      int
	Total     int
	MeanPLDDT *float64
	Failure   *pleat.Failure
	CreatedAt time.Time
	UpdatedAt time.Time
	Started   time.Time
	Finished  time.Time
}

// Filter narrows a list. Before is the ID after which, newest first, the list goes on.
type Filter struct {
	Limit  int
	Before string
	State  pleat.State
	Query  string // part of the name, any case
}

// Change is one job's news on the stream of all of a user's runs.
type Change struct {
	At      int64 // the cursor: microseconds
	Kind    pleat.TaskKind
	Job     pleat.JobID // or the workflow
	Run     pleat.RunID
	Version int64
	Name    string
	State   pleat.State
	Stage   string
	Done    int
	Total   int
	Seq     int64 // the run's last progress
}

// Claimed is a task with what it works on, read in the transaction that claimed it.
type ClaimedTask struct {
	Task     pleat.Task
	Fold     *pleat.FoldInput // of a fold
	Workflow *pleat.Workflow  // of a workflow's task
	Run      pleat.RunID      // of either
	Seed     string
	Queued   time.Time // when the run was created
	Fresh    bool      // no earlier run's results will do
	// Aligned are the files that a fold's search for alignments has published, and Searched how long it took. None: there was no
	// search, or nothing to search for.
	Alignments     []pleat.Artifact
	SearchDuration time.Duration
}

// Searched is how a search for alignments ended well.
type SearchCompleted struct {
	Task      pleat.TaskID
	Attempt   int
	Worker    pleat.WorkerID
	FoldQueue string           // of the fold
	Progress  []pleat.Progress // what was not told yet
}

// Finished is how an attempt at a run ended. Exactly one of Result and Failure is set.
type RunFinished struct {
	Task      pleat.TaskID
	Attempt   int
	Worker    pleat.WorkerID
	State     pleat.State // COMPLETED, FAILED or STOPPED
	Result    *pleat.Result
	Failure   *pleat.Failure
	Artifacts []pleat.Artifact
	Engine    string
	MSA       pleat.State
	Progress  []pleat.Progress // what was not told yet
	InputHash string           // hash under which later runs may have the results; empty: none may
	Source    pleat.RunID      // the run whose files some Artifacts share; empty: none. It must still be readable, else ErrSourceGone
}

// Reaped counts what one pass of the reaper did.
type Reaped struct {
	Woken    int // waiting tasks whose time had come
	Requeued int // tasks taken from a dead worker
	Failed   int // of those, tasks that had no tries left
	Stopped  int // of those, tasks whose owner had cancelled them
	Expired  int // idempotency keys and other rows past their time
}

// Counts is the size of the queue, for metrics.
type QueueCount struct {
	Queue  string
	State  pleat.TaskState
	N      int
	Oldest time.Time
}
