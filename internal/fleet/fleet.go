// Package fleet starts workers where the machines are: by Slurm, or as processes of this machine. The scheduler of the
// cluster places them; the queue only says how many are wanted.
//
// The cluster is the memory of the fleet: which workers there are is asked of it each time, so that a fleet that was
// killed knows its workers again. A worker that has started is never ended by the fleet; it ends by itself.
package fleet

import (
	"context"
	"fmt"
	"regexp"
	"time"
)

// Cluster starts workers somewhere. Its methods are safe for concurrent use.
type Cluster interface {
	// Submit asks for one worker. It returns a *RefusedError where the cluster said no. After any other error, it is
	// unknown whether the worker was submitted; List tells.
	Submit(ctx context.Context, w WorkerSpec) (Ref, error)
	// List returns all unfinished jobs of this service, those of all classes. A job that it does not return has ended.
	// After an error, nothing is known.
	List(ctx context.Context) ([]Job, error)
	// Cancel takes back jobs that have not started. It leaves a job that has started or ended as it is.
	Cancel(ctx context.Context, refs []Ref) error
}

// Ref is the name that a cluster gave to a job.
type Ref string

// WorkerSpec is a worker to start. It holds no secrets: other users of a cluster can read it.
type WorkerSpec struct {
	Class   string   // its class; a name that CheckClass accepts
	Program string   // absolute path of pleat where the worker runs
	Args    []string // arguments of the program

	Walltime time.Duration // after which the cluster ends it; 0: the cluster's default
	Cores    int           // 0: the cluster's default
	Memory   int64         // in bytes; 0: the cluster's default
	Devices  int           // GPUs; 0: none

	Options map[string]string // of the driver; they pass CheckOptions
}

// Job is a worker as its cluster knows it.
type Job struct {
	Ref           Ref
	Class         string
	State         JobState
	Reason        string    // why it waits, in the cluster's word; empty: unknown
	Submitted     time.Time // zero: unknown
	Started       time.Time // zero: not started, or unknown
	ExpectedStart time.Time // of a job that waits, as the cluster expects it; zero: unknown
}

// JobState is the state of an unfinished job.
type JobState string

// The states of an unfinished job.
const (
	JobPending JobState = "pending" // it has not started
	JobRunning JobState = "running" // its worker runs
	JobEnding  JobState = "ending"  // its worker has ended, or is being ended; some end for hours, for want of a node
	JobOther   JobState = "other"   // it is suspended, or in a state that only the cluster knows
)

// RefusedError is a worker that the cluster does not accept. Message is the cluster's own sentence.
type RefusedError struct{ Message string }

// Error returns the cluster's sentence.
func (e *RefusedError) Error() string { return e.Message }

var classForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$`)

// CheckClass returns an error if a class name cannot be written into the comment of a job.
func CheckClass(name string) error {
	if !classForm.MatchString(name) {
		return fmt.Errorf("the class name %.80q must be 1 to 63 letters, digits, '.', '_' or '-', and begin with a "+
			"letter or digit", name)
	}
	return nil
}
