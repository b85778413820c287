package pleat

import (
	"slices"
	"strings"
	"time"
)

// TaskKind is what a task does. Folds, workflow tasks and deliveries share one table and one attempt history.
type TaskKind string

const (
	TaskFold    TaskKind = "fold"
	TaskQnA     TaskKind = "qna"
	TaskMD      TaskKind = "md"
	TaskDeliver TaskKind = "deliver" // one POST to a custom endpoint
	TaskFollow  TaskKind = "follow"  // start a qna or md workflow after a fold
)

// TaskState is where queued work stands.
type TaskState string

const (
	TaskQueued  TaskState = "queued"  // ready to be claimed
	TaskWaiting TaskState = "waiting" // not before RunAt
	TaskRunning TaskState = "running" // leased by a worker
	TaskDone    TaskState = "done"
	TaskFailed  TaskState = "failed"
	TaskStopped TaskState = "stopped"
)

// Task is queued work. Lane is what a worker must be able to do («fold/mini»); Turn is its place in the fair order.
type Task struct {
	ID         TaskID
	Kind       TaskKind
	Queue      string
	Owner      UserID
	Tenant     string // whose turn it takes: the owner for folds, the endpoint for deliveries
	Position   int64
	Subject    string // the run, workflow task or delivery it works on
	State      TaskState
	Attempt    int // fence: counts claims, 1 for the first
	Tries      int // how many of MaxTries are spent
	MaxTries   int
	Memory     int64 // bytes expected
	RunAt      time.Time
	LeaseUntil time.Time
	Worker     WorkerID
	Cancel     bool
	Created    time.Time
	// Checkpoint is where the last attempt got to; Key is empty where there is none.
	Checkpoint Checkpoint
}

// Checkpoint is a blob from which a later attempt can go on.
type Checkpoint struct {
	Key  string
	Step int64
}

// Lane names the queue of a kind and model: a worker claims from the lanes it can serve.
func Queue(kind TaskKind, model string) string {
	if model == "" {
		return string(kind)
	}
	return string(kind) + "/" + model
}

// SearchLane names the queue of folds by a model that have their alignments searched for first.
func SearchQueue(model string) string { return searchQueuePrefix + model }

const searchQueuePrefix = "search/"

// Searches reports whether the task's next step is a search for alignments, after which it goes into the lane of its
// fold.
func (t *Task) NeedsSearch() bool { return strings.HasPrefix(t.Queue, searchQueuePrefix) }

// FirstLane is where a fold by a model begins: where searches wait, if the alignment of a protein is to be searched
// for.
func (j *Job) FirstQueue(m Model) string {
	how, _ := j.Params.Effective(m)["msaAlgorithm"].(string)
	protein := func(s Sequence) bool { return s.Kind == Protein }
	if m.Has(FeatureMSA) && how != "" && how != MSANone && slices.ContainsFunc(j.Sequences, protein) {
		return SearchQueue(m.Name)
	}
	return Queue(TaskFold, m.Name)
}

// Lease and heartbeat of a claimed task, and how long a lost one is left before another try.
const (
	LeaseDuration     = 15 * time.Second
	HeartbeatInterval = 5 * time.Second
)

// Beat is what a worker tells about one task it holds.
type Heartbeat struct {
	Task     TaskID
	Attempt  int
	Run      RunID // whose progress it is; empty: none
	Progress []Progress
}

// Pulse is the answer to a Beat: whether the owner wants the task to stop, or another worker has it.
type HeartbeatReply struct {
	Task   TaskID
	Cancel bool
	Lost   bool
}

// Worker is a process that claims tasks: what it can run and when it was last heard of.
type Worker struct {
	ID      WorkerID
	Host    string
	Queues  []string
	Models  []Model
	Devices []Device
	Memory  int64 // bytes it may use at once; 0: unknown
	SeenAt  time.Time
	Started time.Time
}

// Device is something a model runs on.
type Device struct {
	ID     string `json:"id"`
	Name   string `json:"name"`
	Memory int64  `json:"memory"` // bytes
}
