package fair

import (
	"context"
	"slices"
	"sync"
)

// Turns shares a few places between users: a user has at most some of them at a time, and of those that wait, users
// take turns, regardless of which has more to do. Make one with NewTurns.
type Turns[User comparable] struct {
	mu      sync.Mutex
	free    int
	each    int // places that a user has at most
	busy    map[User]int
	waiting map[User][]chan struct{} // closed when its place is free
	order   []User                   // of those that wait; the first has the next turn
}

// NewTurns returns turns with n places, of which each user has at most some.
func NewTurns[User comparable](n, each int) *Turns[User] {
	return &Turns[User]{free: n, each: each, busy: map[User]int{}, waiting: map[User][]chan struct{}{}}
}

// Acquire waits for a place, which Release frees, or for the end of ctx, whose error it returns.
func (t *Turns[User]) Acquire(ctx context.Context, user User) error {
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
func (t *Turns[User]) Release(user User) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.releaseLocked(user)
}

// releaseLocked is Release for a caller that holds mu, as callers of assign and dequeue do.
func (t *Turns[User]) releaseLocked(user User) {
	t.free++
	if t.busy[user]--; t.busy[user] == 0 {
		delete(t.busy, user)
	}
	t.assign()
}

// assign gives the free places to those whose turn it is.
func (t *Turns[User]) assign() {
	for t.free > 0 {
		i := slices.IndexFunc(t.order, func(u User) bool { return t.busy[u] < t.each })
		if i < 0 {
			return
		}
		user := t.order[i]
		t.order = append(slices.Delete(t.order, i, i+1), user) // its next turn comes after those of the others
		t.free--
		t.busy[user]++
		close(t.waiting[user][0])
		t.dequeue(user, 0)
	}
}

// dequeue removes the i-th of those that wait for a user.
func (t *Turns[User]) dequeue(user User, i int) {
	t.waiting[user] = slices.Delete(t.waiting[user], i, i+1)
	if len(t.waiting[user]) == 0 {
		delete(t.waiting, user)
		t.order = slices.DeleteFunc(t.order, func(u User) bool { return u == user })
	}
}
