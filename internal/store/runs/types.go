package runs

import (
	"time"

	"pleat"
	"pleat/internal/store/people"
)

// NewJob is a validated job to create, as package submit makes it. The store does not check it again.
type NewJob struct {
	By     people.Credential // of the creator, which must be valid when the job is stored; zero: it is not checked
	Job    pleat.Job         // the store sets its IDs and times
	Run    RunSpec
	Key    string // Idempotency-Key; empty: none
	Digest string // of the request, which distinguishes a repetition from another request with the key
	Subs   []pleat.Subscription
	Row    RowRef // of which it is the job; zero: of none
}

// RowRef is a row of a batch.
type RowRef struct {
	Batch  pleat.BatchID
	Number int64
	Shared int64 // rows that share the job, itself included
}

// RunSpec is the part of a run that its job or workflow does not have: what was decided about its execution when it was
// created.
type RunSpec struct {
	Model     string
	WeightSet string
	Method    string
	Seed      string // a whole number in decimal; empty: the model has no seed
	Params    pleat.Params
	Queue     string         // of the task's first step
	Memory    int64          // bytes expected
	Expected  time.Duration  // of the computation, by the model's manifest; 0: unknown
	Tries     int            // attempts before a crashing run fails; 0: tasks.DefaultTries
	Kind      pleat.TaskKind // empty: fold
	Fresh     bool           // the owner does not accept a cached result
	Request   string         // id of the request that creates the run; empty: none does
	Trace     string         // in which the run is created, see package tracing; empty: none
	Files     []RunFile      // that the run reads, whatever happens to the library afterwards
}

// RunFile is a file that a run reads. Its row keeps the blob until the run is deleted.
type RunFile struct {
	Name   string // as the run knows it
	Main   bool   // it is what the run is about: the main spec of a design
	Key    string // of the blob
	SHA256 string // in hex
	Bytes  int64
	Fresh  bool // the blob was stored for this run: no other row refers to it yet
}

// kind is the kind of the run's task, which a RunSpec may leave out.
func (r RunSpec) kind() pleat.TaskKind {
	if r.Kind == "" {
		return pleat.TaskFold
	}
	return r.Kind
}

// state is the first state of a run.
func (r RunSpec) state() pleat.State {
	if r.kind() == pleat.TaskFold {
		return pleat.StateInitialized
	}
	return pleat.StateQueued
}

// Created is the result of [Store.CreateJob] and [Store.Rerun]. Under an Idempotency-Key it is stored as JSON, and
// returned to calls that repeat the request.
type Created struct {
	Job       pleat.JobID
	Run       pleat.RunID
	Name      string
	State     pleat.State
	Sequences []pleat.SequenceID
	Usage     people.Usage
	Replayed  bool // an earlier call with the same Idempotency-Key made it
}

// Head is the part of a job that every request on it checks first: who may read it, and whether the caller's copy is
// the newest. If that refuses the request, nothing else of the job is read. A Head may also be that of a workflow,
// whose files are protected in the same way.
type Head struct {
	Source  pleat.Source
	Owner   pleat.ProjectID
	Public  bool
	Version int64       // rises with every change that readers can see
	Epoch   int64       // part of what the signature of a link covers
	Run     pleat.RunID // the latest
	State   pleat.State
	Name    string // of the job or workflow; only Artifact reads it
	// Caller is the user whose key or session came with the request. It is empty if neither came, or if it is invalid.
	Caller pleat.UserID
	// Role is the caller's in the project that owns the job.
	Role pleat.Role
	// Scopes are what the caller's key may be used for.
	Scopes pleat.Scopes
	Batch  pleat.BatchID // to which the job belongs; only LockJob reads it
}

// View is a job with one of its runs and that run's artifacts, read in one snapshot. The artifacts are in the order in
// which they were stored.
type View struct {
	Job       pleat.Job
	Run       pleat.Run
	Artifacts []pleat.Artifact
	Expires   time.Time // when it may be deleted; zero: never, or the run has not ended
}

// JobRow is a job in a list, with the state and progress of its latest run. It has no sequences and no artifacts.
type JobRow struct {
	ID     pleat.JobID
	Owner  pleat.ProjectID
	Run    pleat.RunID
	Name   string
	Public bool
	Model  string
	State  pleat.State
	Stage  string
	Done   int // steps of the stage that are done
	Total  int // steps of the stage; 0: not known
	// MeanPLDDT is that of the first prediction, 0 to 100. It is nil before the run has completed, and if the engine
	// gives no confidence.
	MeanPLDDT     *float64
	PredictedRMSD *float64 // the same in Å, where the engine gives it in place of pLDDT
	Creator       pleat.UserID
	CreatorName   string         // empty: the user was deleted, or is the caller
	Failure       *pleat.Failure // nil unless the run failed or was stopped
	CreatedAt     time.Time
	UpdatedAt     time.Time
	Started       time.Time // zero until claimed
	Finished      time.Time // zero until ended
}

// Filter narrows a list of jobs. Empty fields do not narrow it; Limit must be set.
type Filter struct {
	Limit   int
	Before  string // an ID: the list starts with the next older one; empty: with the newest
	State   pleat.State
	Creator pleat.UserID
	Query   string // part of the name, any case
}

// Change is the newest state of one run, for the stream of all of a user's runs. Version is that of the job or
// workflow, so that a reader knows whether its copy is old.
type Change struct {
	At      int64 // when it changed: microseconds since 1970 UTC
	Kind    pleat.TaskKind
	Source  pleat.Source
	Run     pleat.RunID
	Version int64
	Name    string
	State   pleat.State
	Stage   string
	Done    int
	Total   int
	Seq     int64 // the run's last progress
}

// ClaimedTask is a task of a run with its input, read in the transaction that claimed it: what a worker needs to begin.
// Exactly one of Fold and Workflow is set.
type ClaimedTask struct {
	Task     pleat.Task
	Claimed  time.Time        // when it was claimed, by the store's clock
	Fold     *pleat.FoldInput // of a fold
	Workflow *pleat.Workflow  // of a workflow's task
	Seed     string
	Queued   time.Time // when the run was created
	Fresh    bool      // its owner does not accept a cached result
	Trace    string    // in which the run was created; empty: none
	// Design is the workflow whose design the fold folds; empty: it folds none.
	Design pleat.WorkflowID
	// Alignments are the files that the MSA search before a fold has published, and SearchDuration is how long it took.
	// Alignments is nil if there was no search, and empty if the search had no sequence to search for.
	Alignments     []pleat.Artifact
	SearchDuration time.Duration
	// Worked is how long the earlier attempts ran that yielded, and that this one continues.
	Worked time.Duration
	// Earlier is how long all earlier attempts ran, with those of SearchDuration and Worked.
	Earlier time.Duration
}

// SearchCompleted is the outcome of a successful MSA search. Its files are stored before, by [Store.AddArtifact].
type SearchCompleted struct {
	FoldQueue string
	Progress  []pleat.Progress // not stored yet
}

// RunFinished is the outcome of an attempt at a run, as package work reports it. A completed run has a Result and no
// Failure; of the Result of any other, only the timings are stored. A STOPPED run has a Failure too.
type RunFinished struct {
	State     pleat.State // COMPLETED, FAILED or STOPPED
	Result    *pleat.Result
	Failure   *pleat.Failure
	Artifacts []pleat.Artifact
	Engine    string
	Served    string // the engine's name without version, under which the end is counted
	// Took is how long the attempt has taken until this call, by the worker's monotonic clock; 0: it is not known. It
	// stands for the times of the database if its clock was set meanwhile.
	Took        time.Duration
	MSA         pleat.State
	Progress    []pleat.Progress // not stored yet
	RequestHash string           // under which EarlierRun finds the run; empty: it does not
	InputHash   string           // under which later runs may reuse the result; empty: none may
	// BinderRMSD of a completed fold of a design, see DesignFold; nil: it was not measured.
	BinderRMSD *float64
	// Source is the run whose files some of Artifacts share; empty: none. If it cannot be read any more, FinishRun
	// returns ErrSourceGone.
	Source pleat.RunID
}

// WorkerOrders are what a worker is to do besides its tasks.
type WorkerOrders struct {
	Cancel []pleat.TaskID // that it holds and whose owners want them stopped
	Drain  bool           // it is to finish what it runs, claim nothing more and end
}

// ReferencedFile is the file of a template or of a component that a job names.
type ReferencedFile struct {
	Name  string // of the file, or of a template's entry of the Protein Data Bank
	Key   string // of the blob; empty: the worker fetches the entry
	Bytes int64  // of the file; 0: not known
}

// DesignStructure is the structure of a design that a job folds.
type DesignStructure struct {
	ReferencedFile
	Designed []string // the names of the chains that are designed
}

// ReferencedAlignment is a file with an alignment that a job names, so that its sequence is not searched for.
type ReferencedAlignment struct {
	Name     string // of the file, for messages
	Key      string // of the blob
	Sequence string // its first row; empty: not known, since it is a file of the library item of the job
	Paired   bool   // its rows belong, by their order, to those of the other paired files
}
