// Package wire converts between the types of api, which clients see, and those of the domain and the store.
//
// It is pure: no request, no store, no clock. Fields that a reader may not see are left out here; whether a caller may
// read at all is decided before. Every function returns what clients see; its comment says what it leaves out. Lists
// and maps of responses are never nil, so that they are [] and {} on the wire, and values that may be absent are
// pointers.
package wire

import (
	"time"

	"pleat"
	"pleat/api"
)

// Audience says for whom a response is written.
type Audience int

const (
	// ForOthers is for everyone who may read a public job or workflow, but nothing private that it came from. It is the
	// zero value, so that a forgotten audience reveals nothing.
	ForOthers Audience = iota
	// ForOwner is for the owner, who sees everything.
	ForOwner
)

// Stage returns what a run is doing: its stage, or queued if it waits. Engines name the stages; clients show the text.
func Stage(state pleat.State, stage string) string {
	if stage == "" && (state == pleat.StateInitialized || state == pleat.StateQueued) {
		return "queued"
	}
	return stage
}

// HiddenFailure stands for the message of a failure in what others read: the message is written for the owner, and may
// name a private fold or file.
const HiddenFailure = "the run did not complete; its owner can read why"

// FailureMessage returns the message of a failure; nil if there is none. Others than the owner get HiddenFailure.
func FailureMessage(f *pleat.Failure, to Audience) *string {
	if f == nil {
		return nil
	}
	message := HiddenFailure
	if to == ForOwner {
		message = f.Message
	}
	return &message
}

// OptionalTime returns nil for the zero time, which the domain uses for a moment that has not come.
func OptionalTime(t time.Time) *api.Time {
	if t.IsZero() {
		return nil
	}
	at := api.At(t)
	return &at
}

// OptionalString returns nil for the empty string, which the domain uses for an absent value.
func OptionalString[S ~string](text S) *string {
	s := string(text)
	if s == "" {
		return nil
	}
	return &s
}
