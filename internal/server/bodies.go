package server

import (
	"errors"
	"io"
	"net/http"
	"sync"

	"pleat"
)

// freeBody is the size up to which bodies are not counted, in bytes.
const freeBody = 256 << 10

// Of the largest body that a server accepts, bodyShare may be held at once for one user, and bodyTotal for all. Bodies
// of users who hold no other may use bodyFirst more, so that a few users cannot keep out the next.
const (
	bodyShare = 4
	bodyTotal = 8
	bodyFirst = 8
)

// bodies bounds the bytes of large request bodies that are held at once on this node, for each user and in all. A
// request that finds no room is refused, not kept waiting: its client would hold a connection, and its body is on the
// way. Make one with newBodies.
type bodies struct {
	mu    sync.Mutex
	users map[pleat.UserID]int64
	held  int64
	share int64 // the most for one user
	most  int64 // the most for all
	first int64 // what first bodies may use above it
}

// newBodies returns bodies for a server that accepts at most largest bytes in one.
func newBodies(largest int64) *bodies {
	return &bodies{users: map[pleat.UserID]int64{}, share: bodyShare * largest, most: bodyTotal * largest,
		first: bodyFirst * largest}
}

// reserve holds n bytes for a user until release. CodeLimited: the user's requests hold too much; CodeUnavailable: all
// together do.
func (b *bodies) reserve(user pleat.UserID, n int64) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	most := b.most
	if b.users[user] == 0 {
		most += b.first
	}
	switch {
	case b.users[user]+n > b.share:
		return pleat.Errorf(pleat.CodeLimited,
			"your requests under way have %d bytes and may have %d; try again when one has ended",
			b.users[user], b.share)
	case b.held+n > most:
		return pleat.Errorf(pleat.CodeUnavailable, "too many large requests are under way; try again")
	}
	b.users[user] += n
	b.held += n
	return nil
}

// release frees what reserve held.
func (b *bodies) release(user pleat.UserID, n int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.held -= n
	if b.users[user] -= n; b.users[user] == 0 {
		delete(b.users, user)
	}
}

// readBody reads the JSON of a request, at most limit bytes, and returns a function that the caller must call when it
// no longer holds them; it is never nil. 429 and 503: too much is held for this user, or in all.
func (s *Server) readBody(c *call, limit int64) (b []byte, done func(), err error) {
	done = func() {}
	if err := c.checkBody(limit); err != nil {
		return nil, done, err
	}
	hold := func(n int64) error {
		if err := s.bodies.reserve(c.who.User, n); err != nil {
			c.drain(c.r.Body)
			return err
		}
		done = func() { s.bodies.release(c.who.User, n) }
		return nil
	}
	body := http.MaxBytesReader(c.w, c.r.Body, limit)
	size := c.r.ContentLength
	if size > freeBody {
		if err := hold(size); err != nil {
			return nil, done, err
		}
		b = make([]byte, size)
		_, err = io.ReadFull(body, b)
	} else {
		b, err = io.ReadAll(io.LimitReader(body, freeBody))
		if err == nil && size < 0 && len(b) == freeBody { // of unknown length, and perhaps large
			if err := hold(limit); err != nil {
				return nil, done, err
			}
			var rest []byte
			rest, err = io.ReadAll(body)
			b = append(b, rest...)
		}
	}
	var over *http.MaxBytesError
	switch {
	case errors.As(err, &over):
		c.drain(c.r.Body)
		err = tooLarge(limit)
	case err != nil:
		err = pleat.Invalidf("the request body is incomplete")
	}
	return b, done, err
}
