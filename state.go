package pleat

// State is the state of a run. A job and a workflow have that of their latest run, and an MSA search has one of its
// own. The values are those of the wire.
//
// A run of a job starts as INITIALIZED, one of a workflow as QUEUED. Its first claim moves it to RUNNING, where it
// stays while attempts are repeated, and from each of these states it can end. A workflow may be a DRAFT first, which
// can be executed or cancelled. The statements of package store make these transitions; docs/states.md draws them.
type State string

// The states. COMPLETED, FAILED and STOPPED are terminal.
const (
	StateDraft       State = "DRAFT"       // a workflow that is not to be run yet
	StatePending     State = "PENDING"     // nothing has happened, as for an alignment that nobody asked for
	StateInitialized State = "INITIALIZED" // accepted and stored
	StateQueued      State = "QUEUED"      // a workflow that waits for a worker
	StateRunning     State = "RUNNING"     // claimed by a worker at least once
	StateCompleted   State = "COMPLETED"   // every artifact, score and metric is readable
	StateFailed      State = "FAILED"      // ended without a result; the run's Failure is the reason
	StateStopped     State = "STOPPED"     // cancelled by its owner
)

// Terminal reports whether a run in the state has ended: no transition leaves it.
func (s State) Terminal() bool {
	return s == StateCompleted || s == StateFailed || s == StateStopped
}

// JobStates are the states a fold job can show, in the order of a job's life.
func JobStates() []State {
	return []State{StatePending, StateInitialized, StateRunning, StateCompleted, StateFailed, StateStopped}
}
