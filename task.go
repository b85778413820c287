package pleat

import (
	"strings"
	"time"
)

// TaskKind is what a task does. Folds, workflow tasks and deliveries share one queue and one history of attempts.
type TaskKind string

// The kinds of task.
const (
	TaskFold    TaskKind = "fold"
	TaskQnA     TaskKind = "qna"
	TaskMD      TaskKind = "md"
	TaskDesign  TaskKind = "design"  // design proteins, as binders of a target for instance
	TaskCompare TaskKind = "compare" // compare structures
	TaskAlign   TaskKind = "align"   // an MSA search whose alignments are the result
	TaskDeliver TaskKind = "deliver" // one POST to a custom endpoint
	TaskFollow  TaskKind = "follow"  // start a qna or md workflow after a fold
	TaskMail    TaskKind = "mail"    // one mail to a user
)

// TaskState is the state of queued work.
type TaskState string

// The states of a task. A task that has ended is deleted; its attempts stay.
const (
	TaskQueued  TaskState = "queued"  // ready to be claimed
	TaskWaiting TaskState = "waiting" // not before RunAt
	TaskRunning TaskState = "running" // leased by a worker
)

// Task is queued work. It works on a run, a delivery or a mail: Run or Delivery is set, or neither.
type Task struct {
	ID         TaskID
	Kind       TaskKind
	Queue      string // where it waits, and so what a worker must be able to do: «fold/mini»
	Owner      ProjectID
	Tenant     string     // who shares the queue fairly: owners of runs, endpoints of deliveries, users of mails
	Position   int64      // place in the fair order of the queue, lowest first
	Run        RunID      // of a fold or a workflow's task
	Delivery   DeliveryID // of a delivery or a follow-up
	State      TaskState
	Attempt    int // the fence: counts claims, 1 for the first
	Tries      int // how many of MaxTries are spent: by lost attempts, and failures that are tried again
	MaxTries   int
	Memory     int64         // bytes expected
	Expected   time.Duration // by the model's manifest; 0: unknown
	RunAt      time.Time     // when it was, or will be, ready to be claimed
	LeaseUntil time.Time     // zero in a task that no worker holds
	Worker     WorkerID
	Cancel     bool // the owner wants it stopped
	Created    time.Time
	Request    string     // id of the request that created the task; empty: unknown
	Checkpoint Checkpoint // of the last attempt; its Key is empty if there is none
}

// Checkpoint is a blob from which a later attempt can resume. Only the engine that wrote it reads it.
type Checkpoint struct {
	Key  string
	Step int64
}

// Queue names the queue of a kind and a model. A worker claims from the queues that it can serve.
func Queue(kind TaskKind, model string) string {
	if model == "" {
		return string(kind)
	}
	return string(kind) + "/" + model
}

// SearchQueue names the queue of folds by a model whose MSA search runs as a task of its own first.
func SearchQueue(model string) string { return searchQueuePrefix + model }

// searchQueuePrefix begins the names of the queues of MSA searches.
const searchQueuePrefix = "search/"

// IsWorkerQueue reports whether workers claim from a queue of this name: one of folds, questions, simulations,
// designs, comparisons, alignments or MSA searches. The service itself serves those of deliveries and follow-ups.
func IsWorkerQueue(name string) bool {
	kind, model, _ := strings.Cut(name, "/")
	switch TaskKind(kind) {
	case TaskFold, TaskQnA, TaskMD, TaskDesign, TaskAlign, TaskCompare:
		return true
	}
	return kind+"/" == searchQueuePrefix && model != ""
}

// ModelQueues names the queues in which tasks of a model wait, whatever they do.
func ModelQueues(model string) []string {
	out := []string{SearchQueue(model)}
	for _, kind := range []TaskKind{TaskFold, TaskQnA, TaskMD, TaskDesign, TaskAlign, TaskCompare} {
		out = append(out, Queue(kind, model))
	}
	return out
}

// NeedsSearch reports whether the task's next step is an MSA search, after which it moves to the queue of its fold.
func (t *Task) NeedsSearch() bool { return strings.HasPrefix(t.Queue, searchQueuePrefix) }

// How long a claim lasts without a heartbeat, and how often a worker sends one.
const (
	LeaseDuration     = 15 * time.Second
	HeartbeatInterval = 5 * time.Second
)

// The same for a worker that calls a server: its lease outlives the restart of the server, and a slow network.
const (
	RemoteLeaseDuration     = 45 * time.Second
	RemoteHeartbeatInterval = 15 * time.Second
)

// SearchLease is how long a worker may search for an alignment, alone among all workers, before it must claim the
// search again.
const SearchLease = 30 * time.Second

// MaxSearchPause bounds for how long a server of alignments is left alone because it asked for that.
const MaxSearchPause = 24 * time.Hour

// MaxDeliveryPause bounds for how long an endpoint gets no deliveries because it failed, or asked for that.
const MaxDeliveryPause = time.Hour

// MaxRunTime is how long a run may compute, unless the operator sets max-seconds.
const MaxRunTime = 24 * time.Hour

// MaxRunLimit bounds what operators may set.
const MaxRunLimit = 100 * 24 * time.Hour

// Heartbeat renews a worker's lease on one task and carries what the task has reported since the last one.
type Heartbeat struct {
	Task     TaskID
	Attempt  int
	Run      RunID // of the progress; empty if there is none
	Progress []Progress
}

// HeartbeatReply answers a Heartbeat.
type HeartbeatReply struct {
	Task   TaskID
	Run    RunID // of the task; empty if it has none or is lost
	Cancel bool  // the owner wants the task stopped
	Lost   bool  // the lease has expired and another attempt has begun, or the task has ended
	// ProgressAfter is how long the worker waits before it sends further progress of the task; 0: it need not wait.
	ProgressAfter time.Duration
}

// WorkerTerms are how a service and a worker keep in touch.
type WorkerTerms struct {
	Lease     time.Duration // how long a claim or a heartbeat lasts
	Heartbeat time.Duration // between two heartbeats
	// Progress is the time between two reports of a task's progress, until a HeartbeatReply says another; 0: none.
	Progress time.Duration
}

// Worker is a process that claims tasks, as it registers itself. Its identity survives restarts.
type Worker struct {
	ID      WorkerID
	Class   string // empty: DefaultClass
	Host    string
	Queues  []string // that it serves
	Models  []Model
	Devices []Device
	Memory  int64 // bytes it may use at once; 0: unknown
	SeenAt  time.Time
	Started time.Time
	Stopped time.Time // when it ended in order; zero: it has not
	Ends    time.Time // when it must end at the latest; zero: unknown
	// Draining is when it was asked, or decided, to claim nothing more; zero: it claims.
	Draining time.Time
	// ClusterJob is the job of a cluster that the process is, such as slurm/4711/0: the cluster, the job's id there,
	// and how often that was restarted; empty: none.
	ClusterJob string
	Token      string // hash of the class token with which it registered; empty: it has the database's address
}

// WorkerSilence is how long a worker may be silent before it counts as silent, not as live.
const WorkerSilence = 30 * time.Second

// WorkerState says whether a worker works.
type WorkerState string

// The states of a worker.
const (
	WorkerLive     WorkerState = "live"     // seen within WorkerSilence
	WorkerSilent   WorkerState = "silent"   // not seen since: it was killed, or cannot reach the database
	WorkerStopped  WorkerState = "stopped"  // it has said that it ends
	WorkerDraining WorkerState = "draining" // it ends when its tasks have ended
)

// State is the state of a worker at a time.
func (w *Worker) State(now time.Time) WorkerState {
	switch {
	case !w.Stopped.IsZero():
		return WorkerStopped
	case now.Sub(w.SeenAt) > WorkerSilence:
		return WorkerSilent
	case !w.Draining.IsZero():
		return WorkerDraining
	}
	return WorkerLive
}

// IsAlive reports whether a worker claims or runs tasks.
func (w *Worker) IsAlive(now time.Time) bool {
	state := w.State(now)
	return state == WorkerLive || state == WorkerDraining
}

// Device is an accelerator, or the CPU.
type Device struct {
	ID     string `json:"id"`
	Name   string `json:"name"`
	Memory int64  `json:"memory"` // bytes
}
