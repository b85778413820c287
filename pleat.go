// Package pleat is the domain of the service: what a job, a run, a task and an event are, which states they
// pass through, what a valid request looks like and what a finished run sets off.
//
// It is pure: standard library only, no clock, no network, no disk. Every other room of the house imports it
// and, but for internal/words, which says things well, none is imported by it. Read it as the table of contents:
//
//	job.go         Job, Run, Sequence: what was asked and each go at it
//	parameter.go   Params: the folding parameters and which model honours which
//	constraint.go  pocket, bond and contact constraints
//	validate.go    Job.Validate: one clear sentence for every bad request
//	model.go       Model: what a model's manifest promises
//	state.go       State and the transition table
//	task.go        Task, Attempt: queued work and each try at it
//	work.go        Work, Output, Sink: the seam to whatever executes
//	event.go       Event, Subscription: what the end of a run sets off
//	failure.go     Failure: why a run failed, as data
//	error.go       Error: why a call failed, as a code and a sentence
package pleat

// Version of the service, stamped by the build.
var Version = "0.1.0-dev"

// Identifiers are UUIDs in their 36-letter form. They are made by the store (version 7, so that they sort by time).
type (
	UserID         string
	KeyID          string
	JobID          string
	RunID          string
	SequenceID     string
	TaskID         string
	ArtifactID     string
	EventID        string
	WorkflowID     string
	WorkerID       string
	SubscriptionID string
)

// IsUUID reports whether s has the 8-4-4-4-12 form of RFC 9562, in either case of letters.
func IsUUID(s string) bool {
	if len(s) != 36 {
		return false
	}
	for i := range len(s) {
		c := s[i]
		switch i {
		case 8, 13, 18, 23:
			if c != '-' {
				return false
			}
		default:
			if (c < '0' || c > '9') && (c < 'a' || c > 'f') && (c < 'A' || c > 'F') {
				return false
			}
		}
	}
	return true
}
