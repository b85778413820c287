// Package workerapi is the protocol by which workers call a server, under /worker/v1: the JSON documents, their
// conversion from and to the types of the domain, and the client. Package server/workers answers the calls, and
// docs/worker-protocol.md describes them.
//
// A worker that uses it knows a server and a token. It must not need the database, the artifact store's credentials or
// the secret key of the service.
package workerapi

import (
	"encoding/json"
	"math"
	"time"

	"pleat"
	"pleat/internal/flow"
)

// The versions of the protocol: the newest that this program speaks, and the oldest. Both sides ignore fields that they
// do not know.
const (
	Version = 1
	Oldest  = 1
)

// Path begins the paths of all calls.
const Path = "/worker/v1/"

// CodeHeader is the header of an error response with the code of the error, see pleat.Code. CodeLost is that of
// pleat.ErrLost, CodeSourceGone that of runs.ErrSourceGone, CodeDamaged that of blob.ErrDamaged, and CodeVersion that
// of a worker whose protocol is too old or too new.
const (
	CodeHeader                = "Pleat-Error"
	CodeLost       pleat.Code = "lost"
	CodeSourceGone pleat.Code = "source_gone"
	CodeDamaged    pleat.Code = "damaged"
	CodeVersion    pleat.Code = "version"
)

// Bounds of requests.
const (
	MaxSmall  = 64 << 10 // bytes of the body of a call that is not named below
	MaxLarge  = 32 << 20 // bytes of the body of register, heartbeat, finish, searched, release and yield
	MaxAsks   = 32       // of a claim
	MaxQueues = 1024     // of an ask
	MaxTasks  = 256      // of a heartbeat, and that an ask may be for
	MaxHeld   = 8192     // leases in the field held of a claim; a worker has fewer slots
	MaxWait   = 50 * time.Second
	MaxFile   = 64 << 30 // bytes of a file
	MaxFiles  = 8192     // of a call
)

// Seconds is a duration on the wire. Workers and servers tell each other durations, never times: their clocks may
// differ.
type Seconds float64

// Duration returns the duration, or the longest one there is, some 292 years, instead of a longer one.
func (s Seconds) Duration() time.Duration {
	const most = time.Duration(math.MaxInt64)
	switch {
	case float64(s) >= most.Seconds():
		return most
	case float64(s) <= -most.Seconds():
		return -most
	}
	return time.Duration(float64(s) * float64(time.Second))
}

// SecondsOf returns a duration for the wire.
func SecondsOf(d time.Duration) Seconds { return Seconds(d.Seconds()) }

// Class is the answer of GET class: what a worker must know of its class before it registers.
type Class struct {
	Class pleat.Class `json:"class"`
}

// Registration is the body of POST register, which carries a class token.
type Registration struct {
	Protocol   int            `json:"protocol"`        // the newest that the worker speaks
	Oldest     int            `json:"protocol_oldest"` // the oldest that it speaks; 0: Protocol
	Worker     pleat.WorkerID `json:"worker"`          // a UUID, the same after a restart on the same machine
	Version    string         `json:"version"`         // of the program
	Host       string         `json:"host"`
	ClusterJob string         `json:"cluster_job,omitempty"`
	Queues     []string       `json:"queues"`
	Models     []pleat.Model  `json:"models"`
	Devices    []pleat.Device `json:"devices"`
	Memory     int64          `json:"memory"` // bytes; 0: unknown
	Left       Seconds        `json:"left_s"` // until the worker must end; 0: unknown
}

// Registered is the answer of POST register. Session is the bearer token of all calls but those about one task.
type Registered struct {
	Protocol  int     `json:"protocol"`
	Session   string  `json:"session"`
	Lease     Seconds `json:"lease_s"`
	Heartbeat Seconds `json:"heartbeat_s"`
	Progress  Seconds `json:"progress_s"` // between two reports of progress
	Wait      Seconds `json:"wait_s"`     // how long calls that wait should ask to be held
}

// Lease names an attempt.
type Lease struct {
	Task    pleat.TaskID `json:"task"`
	Attempt int          `json:"attempt"`
}

// Claim is the body of POST claim, which waits until a task can be had.
type Claim struct {
	Asks []Ask   `json:"asks"`
	Wait Seconds `json:"wait_s"`
	Idle bool    `json:"idle"` // the worker had nothing to do before
	// Repeat: the answer to an earlier claim may be lost. The server first returns to their queues the tasks that the
	// worker holds, but for those in Held.
	Repeat bool    `json:"repeat,omitempty"`
	Held   []Lease `json:"held,omitempty"`
}

// Ask is room for tasks of queues that share slots.
type Ask struct {
	Queues []string        `json:"queues"`
	N      int             `json:"n"`                  // tasks at most
	Memory int64           `json:"memory,omitempty"`   // bytes that each may expect to use; 0: unlimited
	Left   Seconds         `json:"left_s,omitempty"`   // how long they may be expected to run; 0: for ever
	Owner  pleat.ProjectID `json:"owner,omitempty"`    // of the tasks; empty: any
	Waited Seconds         `json:"waited_s,omitempty"` // how long they must have been in their queue; 0: any time
}

// Claimed is the answer of POST claim: tasks of one ask, or none after the wait.
type Claimed struct {
	Tasks []Task `json:"tasks"`
}

// Task is a claimed task with its input. Token is the bearer token of all calls about it.
type Task struct {
	Token      string          `json:"token"`
	ID         pleat.TaskID    `json:"id"`
	Attempt    int             `json:"attempt"`
	Kind       pleat.TaskKind  `json:"kind"`
	Queue      string          `json:"queue"`
	Owner      pleat.ProjectID `json:"owner"`
	Run        pleat.RunID     `json:"run"`
	Request    string          `json:"request,omitempty"`
	Trace      string          `json:"traceparent,omitempty"` // of the run, as in W3C Trace Context
	Memory     int64           `json:"memory"`
	Expected   Seconds         `json:"expected_s"`
	Seed       string          `json:"seed"`
	Fresh      bool            `json:"fresh"`
	Waited     Seconds         `json:"waited_s"`          // from the creation of the run to the claim
	Ready      Seconds         `json:"ready_s,omitempty"` // from when the task could be claimed to the claim
	Searched   Seconds         `json:"searched_s,omitempty"`
	Worked     Seconds         `json:"worked_s,omitempty"`
	Earlier    Seconds         `json:"earlier_s,omitempty"` // that all earlier attempts ran
	Checkpoint *Checkpoint     `json:"checkpoint,omitempty"`
	Fold       *Fold           `json:"fold,omitempty"`
	Workflow   *Workflow       `json:"workflow,omitempty"`
	Alignments []File          `json:"alignments,omitzero"` // of the MSA search before a fold; absent: there was none
	// Design is the workflow whose design the fold folds.
	Design pleat.WorkflowID `json:"design,omitempty"`
	Links  map[string]Link  `json:"links,omitempty"` // of the files above, by key
}

// Checkpoint is that of the last attempt.
type Checkpoint struct {
	Key  string `json:"key"`
	Step int64  `json:"step"`
}

// Fold is the input of a fold.
type Fold struct {
	Job         pleat.JobID       `json:"job"`
	LibraryItem pleat.ItemID      `json:"library_item,omitempty"`
	Name        string            `json:"name"`
	Sequences   []pleat.Sequence  `json:"sequences"`
	Params      pleat.Params      `json:"params"`
	Constraints pleat.Constraints `json:"constraints"`
	Complex     bool              `json:"complex"`
}

// Workflow is the input of a question or a simulation.
type Workflow struct {
	ID    pleat.WorkflowID `json:"id"`
	Kind  pleat.TaskKind   `json:"kind"`
	Alias string           `json:"alias"`
	Type  string           `json:"type"`
	Name  string           `json:"name"`
	Input json.RawMessage  `json:"input"`
}

// Link is how a file is read: GET of the URL with the header. A URL without a host is one of the server, and gets the
// session's token. The worker compares what it reads with the SHA-256, in hexadecimal, if the file has one.
type Link struct {
	URL    string            `json:"url"`
	Header map[string]string `json:"header,omitempty"`
	Name   string            `json:"name,omitempty"`
	SHA256 string            `json:"sha256,omitempty"`
}

// File is a stored file of a run. A worker that publishes one sends no key.
type File struct {
	Key         string             `json:"key,omitempty"`
	Name        string             `json:"name"`
	Kind        pleat.ArtifactKind `json:"kind"`
	ContentType string             `json:"content_type"`
	Sequence    pleat.SequenceID   `json:"sequence,omitempty"`
	Bytes       int64              `json:"bytes"`
	SHA256      string             `json:"sha256"`
}

// Report is progress with the time at which the worker sends it, by the worker's clock, to which its times are
// relative.
type Report struct {
	Now      time.Time        `json:"now,omitzero"`
	Progress []pleat.Progress `json:"progress,omitempty"`
}

// Heartbeat is the body of POST heartbeat.
type Heartbeat struct {
	Tasks []TaskHeartbeat `json:"tasks"`
}

// TaskHeartbeat renews the lease of one task.
type TaskHeartbeat struct {
	Lease
	Report
}

// HeartbeatReply is the answer of POST heartbeat, in the order of its tasks.
type HeartbeatReply struct {
	Tasks []TaskReply `json:"tasks"`
}

// TaskReply answers a TaskHeartbeat.
type TaskReply struct {
	Task     pleat.TaskID `json:"task"`
	Cancel   bool         `json:"cancel,omitempty"`
	Lost     bool         `json:"lost,omitempty"`
	Progress Seconds      `json:"progress_s,omitempty"` // to wait before the next progress
}

// Watch is the body of POST watch, which waits for orders that the worker does not know.
type Watch struct {
	Wait      Seconds        `json:"wait_s"`
	Cancelled []pleat.TaskID `json:"cancelled,omitempty"` // known
	Draining  bool           `json:"draining,omitempty"`  // known
}

// Orders is the answer of POST watch.
type Orders struct {
	Cancel []pleat.TaskID `json:"cancel,omitempty"`
	Drain  bool           `json:"drain,omitempty"`
	// Session replaces the session's token, if not empty: the old one is about to expire.
	Session string `json:"session,omitempty"`
}

// Fresh is the body of POST fresh: does a task wait that a new worker could claim, but not this one?
type Fresh struct {
	Own   Ask `json:"own"`
	Fresh Ask `json:"fresh"`
}

// Answer is the answer of calls that ask one question.
type Answer struct {
	Yes bool `json:"yes"`
}

// Slots are what another task could use if a task made room: the body of POST tasks/{id}/others-wait.
type Slots struct {
	Queues []string `json:"queues"`
	Memory int64    `json:"memory,omitempty"`
}

// Yield is the body of POST tasks/{id}/yield.
type Yield struct {
	Slots
	Report
}

// Yielded is the answer of POST tasks/{id}/yield.
type Yielded struct {
	Queue string `json:"queue"` // to claim from first; empty: none
}

// Finish is the body of POST tasks/{id}/finish. Artifacts are the files that were stored under the attempt; Shared are
// the names of those of Source, whose result this is.
type Finish struct {
	State       pleat.State    `json:"state"`
	Result      *pleat.Result  `json:"result,omitempty"`
	Failure     *pleat.Failure `json:"failure,omitempty"`
	RetryAfter  Seconds        `json:"retry_after_s,omitempty"` // that of Failure
	Artifacts   []File         `json:"artifacts,omitempty"`
	Source      pleat.RunID    `json:"source,omitempty"`
	Shared      []string       `json:"shared,omitempty"`
	Engine      string         `json:"engine"`
	Served      string         `json:"served"`
	Took        Seconds        `json:"took_s,omitempty"`
	MSA         pleat.State    `json:"msa"`
	RequestHash string         `json:"request_hash,omitempty"`
	InputHash   string         `json:"input_hash,omitempty"`
	BinderRMSD  *float64       `json:"binder_rmsd,omitempty"` // of a fold of a design, in Å
	Report
}

// Searched is the body of POST tasks/{id}/searched: the MSA search before a fold has ended.
type Searched struct {
	FoldQueue string `json:"fold_queue"`
	Report
}

// Release is the body of POST tasks/{id}/release.
type Release struct {
	Pause Seconds `json:"pause_s,omitempty"`
	Report
}

// MSA is the body of POST tasks/{id}/msa.
type MSA struct {
	State pleat.State `json:"state"`
}

// SaveCheckpoint is the body of POST tasks/{id}/checkpoint. The file was stored under its name before.
type SaveCheckpoint struct {
	Name string `json:"name"`
	Step int64  `json:"step"`
}

// Upload is the body of POST tasks/{id}/files: a file that the worker will store.
type Upload struct {
	Name   string `json:"name"`
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
}

// HashOfInput is the body of POST tasks/{id}/cached-result.
type HashOfInput struct {
	InputHash string `json:"input_hash"`
}

// CachedResult is the answer of POST tasks/{id}/cached-result; a Run that is empty means that there is none.
type CachedResult struct {
	Job       pleat.JobID        `json:"job,omitempty"`
	Run       pleat.RunID        `json:"run,omitempty"`
	Sequences []pleat.SequenceID `json:"sequences,omitempty"`
	Result    *pleat.Result      `json:"result,omitempty"`
	Engine    string             `json:"engine,omitempty"`
	MSA       pleat.State        `json:"msa,omitempty"`
	Finished  time.Time          `json:"finished,omitzero"`
	Artifacts []File             `json:"artifacts,omitempty"`
	Links     map[string]Link    `json:"links,omitempty"`
}

// Alignments is the answer of GET tasks/{id}/alignments: the alignments that the fold names.
type Alignments struct {
	Files []ReferencedAlignment `json:"files"`
	// LibraryGone: the library item of the job is gone, and its alignments with it.
	LibraryGone bool            `json:"library_gone,omitempty"`
	Links       map[string]Link `json:"links,omitempty"`
}

// ReferencedAlignment is a file with an alignment; see runs.ReferencedAlignment.
type ReferencedAlignment struct {
	Name     string `json:"name"`
	Key      string `json:"key"`
	Sequence string `json:"sequence,omitempty"`
	Paired   bool   `json:"paired,omitempty"`
}

// ReferencedFiles is the answer of GET tasks/{id}/templates and GET tasks/{id}/components: the templates that the fold
// names, or the components that it names as files, in their order.
type ReferencedFiles struct {
	Files []ReferencedFile `json:"files"`
	Links map[string]Link  `json:"links,omitempty"`
}

// DesignStructure is the answer of GET tasks/{id}/design: the structure of the design that the fold folds.
type DesignStructure struct {
	File     ReferencedFile  `json:"file"`
	Designed []string        `json:"designed"` // chains
	Links    map[string]Link `json:"links,omitempty"`
}

// ReferencedFile is the file of a template, a component or a design; see runs.ReferencedFile.
type ReferencedFile struct {
	Name  string `json:"name"`
	Key   string `json:"key,omitempty"`
	Bytes int64  `json:"bytes,omitempty"`
}

// ClaimSearches is the body of POST searches: the searches for alignments that the worker wants to make.
type ClaimSearches struct {
	Searches []Search `json:"searches"`
}

// Search is a search for an alignment; see runs.Search.
type Search struct {
	Key     string          `json:"key"`
	Owner   pleat.ProjectID `json:"user,omitempty"`
	Protein string          `json:"protein,omitempty"`
}

// ClaimedSearches is the answer: whether each search is the worker's, in their order.
type ClaimedSearches struct {
	Granted []bool `json:"granted"`
}

// EndSearches is the body of POST searches/end: the searches have ended.
type EndSearches struct {
	Keys  []string `json:"keys"`
	Found bool     `json:"found"` // the alignments are in the cache
}

// MaxSearches bounds the searches of one call.
const MaxSearches = 600

// PauseSearches is the body of POST searches/pause: a server of alignments asked to be left alone.
type PauseSearches struct {
	Server string  `json:"server"`            // host, and port if any
	Pause  Seconds `json:"pause_s,omitempty"` // 0: it did not, and the worker asks whether another was asked to
}

// PausedSearches is the answer: for how long the server is still to be left alone by all workers; 0: it is not.
type PausedSearches struct {
	Left Seconds `json:"left_s"`
}

// MaxServerName bounds the name of a server of alignments, in bytes.
const MaxServerName = 300

// Source is the answer of GET tasks/{id}/source: what a workflow reads.
type Source struct {
	flow.SourceFiles
	Links map[string]Link `json:"links,omitempty"`
}

// Error is the body of every error response.
type Error struct {
	Message string `json:"message"`
}
