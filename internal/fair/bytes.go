package fair

import (
	"sync"

	"pleat"
)

// Bytes bounds the bytes that requests hold at once, for each user and in all. A body that finds no room is refused,
// not kept waiting: its client would hold a connection. The zero value has no room; Share, Most and First are set
// before its first use.
type Bytes struct {
	Share int64 // the most for one user
	Most  int64 // the most for all
	First int64 // what users who hold nothing may use above it, so that a few users cannot keep out the next

	mu    sync.Mutex
	users map[pleat.UserID]int64
	held  int64
}

// Reserve holds n bytes for a user until Release. CodeLimited: the user's requests hold too much; CodeUnavailable: all
// together do.
func (b *Bytes) Reserve(user pleat.UserID, n int64) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	most := b.Most
	if b.users[user] == 0 {
		most += b.First
	}
	switch {
	case b.users[user]+n > b.Share:
		return pleat.Errorf(pleat.CodeLimited,
			"your requests under way have %d bytes and may have %d; try again when one has ended",
			b.users[user], b.Share)
	case b.held+n > most:
		return pleat.Errorf(pleat.CodeUnavailable, "too many large requests are under way; try again")
	}
	if b.users == nil {
		b.users = map[pleat.UserID]int64{}
	}
	b.users[user] += n
	b.held += n
	return nil
}

// Release frees what Reserve held.
func (b *Bytes) Release(user pleat.UserID, n int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.held -= n
	if b.users[user] -= n; b.users[user] == 0 {
		delete(b.users, user)
	}
}
