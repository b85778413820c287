package route

import (
	"context"
	"time"

	"pleat"
	"pleat/internal/fair"
	"pleat/internal/submit"
	"pleat/internal/tracing"
)

const (
	// computePlaces is how many structures a node compares or measures at a time, one request of each user and one of
	// all callers without a valid credential; each takes some seconds of a core at most.
	computePlaces = 2
	// MaxComputations is how many of these requests of a caller may wait or compute on a node; StrangerComputations
	// those of all callers without a valid credential.
	MaxComputations, StrangerComputations = 4, 8
	// computeRetry is when a caller with too many of them may try again.
	computeRetry = 5 * time.Second
)

// Computations are the requests of a node that compute with structures. Create them with [NewComputations].
type Computations struct {
	requests fair.Streams              // that compare or measure structures, and wait or compute
	turns    *fair.Turns[pleat.UserID] // of those that compute, and of templates that are checked
}

// NewComputations returns computations of which none is under way.
func NewComputations() *Computations {
	return &Computations{
		requests: fair.Streams{Each: MaxComputations, Strangers: StrangerComputations, Of: "computations"},
		turns:    fair.NewTurns[pleat.UserID](computePlaces, 1),
	}
}

// Begin waits for the turn of a caller to compute with structures, and returns what ends it. user is empty for callers
// without a valid credential. 429: the caller has too many requests that wait.
func (k *Computations) Begin(ctx context.Context, c *Call, user pleat.UserID) (release func(), err error) {
	who, stranger, turn := c.CountedFor, user == "", user // the empty user stands for all strangers
	if err := k.requests.Acquire(who, stranger); err != nil {
		c.retryAfter(computeRetry)
		return nil, err
	}
	if err := k.turns.Acquire(ctx, turn); err != nil {
		k.requests.Release(who, stranger)
		return nil, &pleat.Error{Code: pleat.CodeUnavailable, Message: "too many structures are being compared or " +
			"measured; try again", Err: err}
	}
	return func() {
		k.turns.Release(turn)
		k.requests.Release(who, stranger)
	}, nil
}

// Caller returns the caller as one who asks for work in the project that the call has entered.
func (k *Computations) Caller(ctx context.Context, c *Call) submit.Caller {
	return submit.Caller{
		In:         c.In,
		Reach:      c.Reach(),
		Scopes:     c.Who.Scopes,
		Credential: c.Cred.Credential,
		Request:    c.ID,
		Trace:      tracing.Text(ctx),
		Turn: func(ctx context.Context) (func(), error) {
			return k.Begin(ctx, c, c.Who.User)
		},
	}
}
