package pleat

import "time"

// FailureKind classifies why a run failed. A failed model is data, not an error value.
type FailureKind string

// The kinds of failure. Retryable tells which of them may pass when the work is tried again.
const (
	FailInvalidInput   FailureKind = "invalid_input"   // the engine refused the input
	FailUnsupported    FailureKind = "unsupported"     // the engine cannot do what was asked
	FailTooLarge       FailureKind = "too_large"       // more tokens than the engine or device holds
	FailMSAUnavailable FailureKind = "msa_unavailable" // the alignment service did not answer
	FailWeightsMissing FailureKind = "weights_missing" // the model's weights are not installed
	FailLoad           FailureKind = "load_failed"     // the model did not load
	FailOOM            FailureKind = "oom"             // out of device or host memory
	FailDeviceLost     FailureKind = "device_lost"     // the accelerator went away
	FailTimeout        FailureKind = "timeout"         // a stage took longer than allowed
	FailCancelled      FailureKind = "cancelled"       // stopped by its owner
	FailCrashed        FailureKind = "runner_crashed"  // the process or worker died
	FailOutputInvalid  FailureKind = "output_invalid"  // the engine's files are missing or do not parse
	FailStorage        FailureKind = "storage"         // artifacts could not be stored
	FailInternal       FailureKind = "internal"        // a fault of the service
)

// FailureKinds lists the kinds of failure.
var FailureKinds = []FailureKind{
	FailInvalidInput, FailUnsupported, FailTooLarge, FailMSAUnavailable, FailWeightsMissing, FailLoad, FailOOM,
	FailDeviceLost, FailTimeout, FailCancelled, FailCrashed, FailOutputInvalid, FailStorage, FailInternal,
}

// Failure is why a run failed, in one sentence for the owner. Retry means the same work may succeed when tried again.
// The message must not show paths, addresses or secrets of the service.
type Failure struct {
	Kind    FailureKind `json:"kind"`
	Message string      `json:"message"`
	Retry   bool        `json:"retry,omitempty"`

	// RetryAfter is how long a service on which the work depends asked to be left alone before the next try; 0: it did
	// not. At most MaxRetryAfter counts.
	RetryAfter time.Duration `json:"-"`
}

// MaxRetryAfter bounds how long a try waits because a service asked for that: a run shall not seem to hang for a day.
const MaxRetryAfter = time.Hour

// Retryable is the default of Failure.Retry for a kind: true where the cause is the place, not the work.
func (k FailureKind) Retryable() bool {
	switch k {
	case FailMSAUnavailable, FailDeviceLost, FailCrashed, FailStorage:
		return true
	}
	return false
}

// Failed makes a Failure of a kind with its default of Retry.
func Failed(kind FailureKind, message string) *Failure {
	return &Failure{Kind: kind, Message: message, Retry: kind.Retryable()}
}

// String returns the kind and the message, for logs and the history of attempts, and "" for nil.
func (f *Failure) String() string {
	if f == nil {
		return ""
	}
	return string(f.Kind) + ": " + f.Message
}
