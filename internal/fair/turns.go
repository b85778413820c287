package fair

import (
	"context"
	"slices"
	"sync"

	"pleat"
)

// Turns shares a few places between users: a user has at most one place at a time, and of those that wait, users take
// turns, regardless of which has more to do. Make one with NewTurns.
type Turns struct {
	mu      sync.Mutex
	free    int
	busy    map[pleat.UserID]bool
	waiting map[pleat.UserID][]chan struct{} // closed when its place is free
	order   []pleat.UserID                   // of those that wait; the first has the next turn
}

// NewTurns returns turns with n places.
func NewTurns(n int) *Turns {
	return &Turns{free: n, busy: map[pleat.UserID]bool{}, waiting: map[pleat.UserID][]chan struct{}{}}
}

// Acquire waits for a place, which Release frees, or for the end of ctx, whose error it returns.
func (t *Turns) Acquire(ctx context.Context, user pleat.UserID) error {
	place := make(chan struct{})
	t.mu.Lock()
	if t.waiting[user] == nil {
		t.order = append(t.order, user)
	}
	t.waiting[user] = append(t.waiting[user], place)
	t.assign()
	t.mu.Unlock()
	select {
	case <-place:
		return nil
	case <-ctx.Done():
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if i := slices.Index(t.waiting[user], place); i >= 0 {
		t.dequeue(user, i)
	} else { // the place came at the same moment
		t.releaseLocked(user)
	}
	return ctx.Err()
}

// Release frees a user's place.
func (t *Turns) Release(user pleat.UserID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.releaseLocked(user)
}

// releaseLocked is Release for a caller that holds mu, as callers of assign and dequeue do.
func (t *Turns) releaseLocked(user pleat.UserID) {
	t.free++
	delete(t.busy, user)
	t.assign()
}

// assign gives the free places to those whose turn it is.
func (t *Turns) assign() {
	for t.free > 0 {
		i := slices.IndexFunc(t.order, func(u pleat.UserID) bool { return !t.busy[u] })
		if i < 0 {
			return
		}
		user := t.order[i]
		t.order = append(slices.Delete(t.order, i, i+1), user) // its next turn comes after those of the others
		t.free--
		t.busy[user] = true
		close(t.waiting[user][0])
		t.dequeue(user, 0)
	}
}

// dequeue removes the i-th of those that wait for a user.
func (t *Turns) dequeue(user pleat.UserID, i int) {
	t.waiting[user] = slices.Delete(t.waiting[user], i, i+1)
	if len(t.waiting[user]) == 0 {
		delete(t.waiting, user)
		t.order = slices.DeleteFunc(t.order, func(u pleat.UserID) bool { return u == user })
	}
}
