package pleat

// State is where a job, run, prediction, workflow or task stands. The names are those of the wire.
type State string

const (
	StateDraft       State = "DRAFT"       // workflow made, not to be run yet
	StatePending     State = "PENDING"     // nothing has happened (an alignment that was never asked for)
	StateInitialized State = "INITIALIZED" // accepted and stored
	StateQueued      State = "QUEUED"      // workflow waiting for a worker
	StateRunning     State = "RUNNING"     // claimed by a worker at least once
	StateCompleted   State = "COMPLETED"   // every artifact, score and metric is readable
	StateFailed      State = "FAILED"      // ended without a result; the run's Failure says why
	StateStopped     State = "STOPPED"     // cancelled by its owner
)

// transitions lists every change of state the service makes, for runs and workflows alike. A job's state is that of its
// latest run. docs/states.md draws this table and a test compares the two.
var transitions = map[State][]State{
	StateDraft:       {StateQueued, StateStopped},
	StateInitialized: {StateRunning, StateFailed, StateStopped},
	StateQueued:      {StateRunning, StateFailed, StateStopped},
	StateRunning:     {StateCompleted, StateFailed, StateStopped},
}

// Terminal reports whether no transition leaves s.
func (s State) Terminal() bool {
	return s == StateCompleted || s == StateFailed || s == StateStopped
}

// Can reports whether the service may move something from s to next.
func (s State) Can(next State) bool {
	for _, t := range transitions[s] {
		if t == next {
			return true
		}
	}
	return false
}

// JobStates are the states a fold job can show, in the order of a job's life.
func JobStates() []State {
	return []State{StatePending, StateInitialized, StateRunning, StateCompleted, StateFailed, StateStopped}
}
