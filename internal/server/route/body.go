package route

import (
	"errors"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"

	"pleat"
	"pleat/internal/clock"
	"pleat/internal/fair"
)

// FreeBody is the size up to which bodies are not counted, in bytes.
const FreeBody = 256 << 10

// BodyShare and BodyTotal are multiples of the largest body that a server accepts: as much may be held at once for one
// user, and for all. Bodies of users who hold no other may use BodyFirst more, so that a few users cannot keep out the
// next.
const (
	BodyShare = 4
	BodyTotal = 8
	BodyFirst = 8
)

// RequiredBody reads the JSON of a request, which must not be empty, at most limit bytes, and returns a function that
// the caller must call when it no longer holds them; it is never nil. 429 and 503: too much is held for this user, or
// in all.
func (c *Call) RequiredBody(limit int64) (body []byte, done func(), err error) {
	return c.RequiredBodyOf(limit, &c.core.bodies)
}

// RequiredBodyOf is [Call.RequiredBody] with the bytes that such bodies may hold together.
func (c *Call) RequiredBodyOf(limit int64, held *fair.Bytes) (body []byte, done func(), err error) {
	if c.R.ContentLength == 0 {
		return nil, func() {}, errEmptyBody
	}
	return c.readBodyOf(limit, held)
}

// readBody is RequiredBody for a body that may be empty.
func (c *Call) readBody(limit int64) (body []byte, done func(), err error) {
	return c.readBodyOf(limit, &c.core.bodies)
}

// readBodyOf is readBody with the bytes that such bodies may hold together.
func (c *Call) readBodyOf(limit int64, held *fair.Bytes) (b []byte, done func(), err error) {
	done = func() {}
	if err := c.checkBody(limit); err != nil {
		return nil, done, err
	}
	hold := func(n int64) error {
		if err := held.Reserve(c.Who.User, n); err != nil {
			return err
		}
		done = func() { held.Release(c.Who.User, n) }
		return nil
	}
	body := http.MaxBytesReader(c.W, c.R.Body, limit)
	size := c.R.ContentLength
	if size > FreeBody {
		if err := hold(size); err != nil {
			return nil, done, err
		}
		b = make([]byte, size)
		_, err = io.ReadFull(body, b)
	} else {
		b, err = io.ReadAll(io.LimitReader(body, FreeBody))
		if err == nil && size < 0 && len(b) == FreeBody { // of unknown length, and perhaps large
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
		err = TooLarge(limit)
	case err != nil:
		err = pleat.Invalidf("the request body is incomplete")
	}
	return b, done, err
}

// sentBody is the body of a request as it is sent.
type sentBody struct {
	io.ReadCloser
	waits bool // the client sends the body only once it is read, as Expect: 100-continue says
}

// Read reads the body.
func (b *sentBody) Read(p []byte) (int, error) {
	b.waits = false
	return b.ReadCloser.Read(p)
}

// drain reads the rest of a body that was refused, for at most 30 s and 64 MiB: if the server closed the connection
// while its client was still sending, the client would see a reset instead of the response.
func (c *Call) drain() {
	if c.body == nil || c.body.waits {
		return
	}
	_ = http.NewResponseController(c.W).SetReadDeadline(clock.Deadline(30 * time.Second))
	_, _ = io.CopyN(io.Discard, c.body, 64<<20)
}

// checkBody refuses a body that is not JSON or is known to be larger than limit bytes. Compressed bodies are refused: a
// small one could expand to any size.
func (c *Call) checkBody(limit int64) error {
	r := c.R
	if enc := r.Header.Get("Content-Encoding"); enc != "" && enc != "identity" {
		return pleat.Errorf(pleat.CodeNotJSON, "the Content-Encoding is %q; send the JSON uncompressed",
			pleat.Clip(enc))
	}
	kind := r.Header.Get("Content-Type")
	media, params, err := mime.ParseMediaType(kind)
	charset := params["charset"]
	if err != nil || media != "application/json" || charset != "" && !strings.EqualFold(charset, "utf-8") {
		return pleat.Errorf(pleat.CodeNotJSON, "the Content-Type is %q; it must be application/json",
			pleat.Clip(kind))
	}
	if r.ContentLength > limit {
		return TooLarge(limit)
	}
	return nil
}

// TooLarge returns the error for a body of more than limit bytes.
func TooLarge(limit int64) error {
	return pleat.Errorf(pleat.CodeTooLarge, "the request body is larger than %d bytes", limit)
}
