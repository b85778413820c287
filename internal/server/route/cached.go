package route

import (
	"context"
	"sync"
	"time"

	"pleat/internal/clock"
)

// cachedFor is how long a Cached value may be used.
const cachedFor = time.Second

// Cached is a value that is costly to read and that many callers ask for: it may be a second old. Callers at once wait
// for one that reads it. The zero value was never read.
type Cached[V any] struct {
	mu    sync.Mutex
	age   clock.Stopwatch // of value
	value V
}

// Get returns the value, and calls read if it is too old. The call of read has the time of one response, and does not
// end with the request that happens to ask first.
func (k *Cached[V]) Get(ctx context.Context, read func(context.Context) (V, error)) (V, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.age.Elapsed() < cachedFor {
		return k.value, nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), responseTimeout)
	defer cancel()
	value, err := read(ctx)
	if err == nil {
		k.value, k.age = value, clock.Start()
	}
	return value, err
}
