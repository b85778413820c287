package server

import (
	"errors"
	"io"
	"net/http"

	"pleat"
	"pleat/internal/fair"
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

// readBody reads the JSON of a request, at most limit bytes, and returns a function that the caller must call when it
// no longer holds them; it is never nil. 429 and 503: too much is held for this user, or in all.
func (s *Server) readBody(c *call, limit int64) (b []byte, done func(), err error) {
	return readBodyOf(c, limit, &s.bodies)
}

// readBodyOf is readBody with the bytes that such bodies may hold together.
func readBodyOf(c *call, limit int64, held *fair.Bytes) (b []byte, done func(), err error) {
	done = func() {}
	if err := c.checkBody(limit); err != nil {
		return nil, done, err
	}
	hold := func(n int64) error {
		if err := held.Reserve(c.who.User, n); err != nil {
			c.drain(c.r.Body)
			return err
		}
		done = func() { held.Release(c.who.User, n) }
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
