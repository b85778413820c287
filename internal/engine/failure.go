package engine

import (
	"context"
	"errors"
	"os"
	"strings"
	"time"

	"pleat"
)

// ErrShutdown is the cause of a context that ends because the worker shuts down. The task goes to another worker.
var ErrShutdown = errors.New("the worker shuts down")

// CheckpointTime is how long a checkpoint may take to be stored outside this machine, even while the worker shuts down.
const CheckpointTime = time.Minute

// ErrYield is the cause of a context that ends because a task of another tenant waits. The task is queued again, and a
// later attempt continues from its checkpoint.
var ErrYield = errors.New("it is another user's turn")

// Interrupted returns the failure of a run whose context has ended: it was stopped by its owner, ran out of time, or
// has to move to another worker.
func Interrupted(ctx context.Context) *pleat.Failure {
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, context.DeadlineExceeded):
		return pleat.Failed(pleat.FailTimeout, "the run took longer than allowed")
	case errors.Is(cause, ErrShutdown):
		return pleat.Failed(pleat.FailCrashed, "the worker shut down")
	case errors.Is(cause, ErrYield):
		return pleat.Failed(pleat.FailCrashed, ErrYield.Error())
	}
	return pleat.Failed(pleat.FailCancelled, "stopped by its owner")
}

// InvalidOutput returns the failure of a model whose result does not pass the checks.
func InvalidOutput(err error) *pleat.Failure {
	return pleat.Failed(pleat.FailOutputInvalid, "the engine's result cannot be used: "+PublicMessage(err))
}

// PublicMessage returns the message of err without the paths of this machine, which an owner must not read.
func PublicMessage(err error) string {
	var pe *os.PathError
	if errors.As(err, &pe) {
		return pe.Err.Error()
	}
	return err.Error()
}

// OneLine makes text from an engine fit to be shown: one line of printable UTF-8 of at most max bytes and an ellipsis.
func OneLine(s string, max int) string {
	s = strings.Join(strings.FieldsFunc(strings.ToValidUTF8(s, "\ufffd"), func(r rune) bool {
		return r < ' ' || r == 0x7f || r == '\u2028' || r == '\u2029'
	}), " ")
	if len(s) <= max {
		return s
	}
	return strings.ToValidUTF8(s[:max], "") + "…"
}
