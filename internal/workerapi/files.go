package workerapi

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"pleat"
	"pleat/internal/blob"
	"pleat/internal/msa"
	"pleat/internal/store/runs"
	"pleat/internal/store/tasks"
	"pleat/internal/tracing"
)

// DigestHeader is the header of an upload with the SHA-256 of its body, as RFC 9530 says: sha-256=:BASE64:.
const DigestHeader = "Content-Digest"

// DigestOf returns the value of DigestHeader for a SHA-256 in hexadecimal.
func DigestOf(sha string) string {
	raw, _ := hex.DecodeString(sha)
	return "sha-256=:" + base64.StdEncoding.EncodeToString(raw) + ":"
}

// ParseDigest returns the SHA-256, in hexadecimal, of a DigestHeader; false if it is none.
func ParseDigest(header string) (string, bool) {
	text, ok := strings.CutPrefix(header, "sha-256=:")
	text, end := strings.CutSuffix(text, ":")
	raw, err := base64.StdEncoding.DecodeString(text)
	return hex.EncodeToString(raw), ok && end && err == nil && len(raw) == sha256.Size
}

// stall is how long a transfer may stand still before it counts as broken.
const stall = time.Minute

// maxBuffered bounds a file that is no io.ReadSeeker, in bytes. Only cached alignments are none.
const maxBuffered = 512 << 20

// Put stores a file of an attempt, whose key is one of runs.ArtifactKey, or a cached alignment.
func (c *Client) Put(ctx context.Context, key string, r io.Reader) (blob.Info, error) {
	info, err := c.put(ctx, key, r)
	return info, c.transferred(ctx, err)
}

func (c *Client) put(ctx context.Context, key string, r io.Reader) (blob.Info, error) {
	content, ok := r.(io.ReadSeeker)
	if !ok {
		raw, err := io.ReadAll(io.LimitReader(r, maxBuffered+1))
		if err == nil && len(raw) > maxBuffered {
			err = fmt.Errorf("the file has more than %d MiB", maxBuffered>>20)
		}
		if err != nil {
			return blob.Info{}, err
		}
		content = bytes.NewReader(raw)
	}
	sum := sha256.New()
	n, err := io.Copy(sum, blob.ContextReader(ctx, content))
	if err == nil {
		_, err = content.Seek(0, io.SeekStart)
	}
	if err != nil {
		return blob.Info{}, err
	}
	info := blob.Info{Key: key, Bytes: n, SHA256: hex.EncodeToString(sum.Sum(nil))}
	if name, ok := strings.CutPrefix(key, msa.Prefix); ok {
		link := Link{URL: Path + "alignments/" + name, Header: map[string]string{DigestHeader: DigestOf(info.SHA256)}}
		return info, c.upload(ctx, link, "", content, n)
	}
	l, name, err := c.ownFile(key)
	if err != nil {
		return blob.Info{}, err
	}
	var link Link
	in := Upload{name, info.Bytes, info.SHA256}
	if err := c.about(ctx, l, request{path: "files", in: in, out: &link}); err != nil {
		return blob.Info{}, err
	}
	a := c.attemptOf(l)
	if a == nil {
		return blob.Info{}, pleat.ErrLost
	}
	return info, c.upload(ctx, link, a.token, content, n)
}

// ownFile returns the lease and the name of a file by its key. pleat.ErrLost: the worker does not hold the task.
func (c *Client) ownFile(key string) (tasks.Lease, string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for id, a := range c.attempts {
		prefix := runs.ArtifactKey(&pleat.Task{Run: a.run, Attempt: a.number}, "")
		if name, ok := strings.CutPrefix(key, prefix); ok {
			return tasks.Lease{Task: id, Attempt: a.number, Worker: c.worker}, name, nil
		}
	}
	return tasks.Lease{}, "", pleat.ErrLost
}

// upload sends n bytes to a link. Token is for a link of the server; empty: the session's.
func (c *Client) upload(ctx context.Context, link Link, token string, content io.Reader, n int64) error {
	ctx, moved, done := untilStalled(ctx)
	defer done()
	if n == 0 {
		content = http.NoBody
	} else {
		content = &movingReader{content, moved}
	}
	resp, err := c.transfer(ctx, http.MethodPut, link, token, content, n)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, io.LimitReader(resp.Body, maxError))
	return errors.Join(err, resp.Body.Close())
}

// Open opens a file that a task may read, by the link that came with its name, or a cached alignment.
func (c *Client) Open(ctx context.Context, key string) (io.ReadCloser, blob.Info, error) {
	link, ok := c.linkOf(key)
	if !ok {
		return nil, blob.Info{}, fmt.Errorf("%s: %w", key, blob.ErrNotFound)
	}
	inner, moved, done := untilStalled(ctx)
	resp, err := c.transfer(inner, http.MethodGet, link, "", nil, 0) //nolint:bodyclose // download closes it
	if err != nil {
		done()
		return nil, blob.Info{}, c.transferred(ctx, err)
	}
	_ = c.transferred(ctx, nil)
	info := blob.Info{Key: key, Bytes: max(resp.ContentLength, 0)}
	out := &download{movingReader{resp.Body, moved}, resp.Body, done}
	if link.SHA256 == "" {
		return out, info, nil
	}
	return blob.Compare(out, resp.ContentLength, link.SHA256, blob.DamagedError(key, link.Name)), info, nil
}

// linkOf returns the link to a file.
func (c *Client) linkOf(key string) (Link, bool) {
	if name, ok := strings.CutPrefix(key, msa.Prefix); ok {
		return Link{URL: Path + "alignments/" + name}, true
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, a := range c.attempts {
		if link, ok := a.links[key]; ok {
			return link, true
		}
	}
	return Link{}, false
}

// transfer sends the request of a link: to the server with a token, or to the address of the artifact store without.
func (c *Client) transfer(
	ctx context.Context, method string, link Link, token string, body io.Reader, n int64,
) (*http.Response, error) {
	address, sameServer := link.URL, strings.HasPrefix(link.URL, Path)
	if sameServer {
		address = c.base + address
	}
	req, err := http.NewRequestWithContext(ctx, method, address, body)
	if err != nil {
		return nil, errors.New("the address of the file cannot be used")
	}
	req.ContentLength = n
	for name, value := range link.Header {
		if !strings.EqualFold(name, "Content-Length") {
			req.Header.Set(name, value)
		}
	}
	if sameServer {
		req.Header.Set("Authorization", "Bearer "+cmp.Or(token, c.sessionToken()))
		tracing.Carry(ctx, req.Header)
	}
	resp, err := c.http.Do(req)
	switch {
	case err != nil:
		return nil, unavailable(ctx, err)
	case resp.StatusCode < 300:
		return resp, nil
	}
	defer resp.Body.Close()
	if sameServer {
		err = c.refusal(ctx, resp)
		if pleat.CodeOf(err) == pleat.CodeNotFound {
			err = blob.ErrNotFound
		}
		return nil, err
	}
	text, _ := io.ReadAll(io.LimitReader(resp.Body, maxError))
	if resp.StatusCode == http.StatusNotFound && bytes.Contains(text, []byte("<Code>NoSuchKey</Code>")) {
		return nil, blob.ErrNotFound
	}
	return nil, pleat.Errorf(pleat.CodeUnavailable, "the artifact store answered %d", resp.StatusCode)
}

// transferred records whether files can be transferred, and returns the error of a transfer: as a fault if it is not
// the caller's.
func (c *Client) transferred(ctx context.Context, err error) error {
	if errors.Is(ctx.Err(), context.Canceled) {
		return err
	}
	fault := err != nil && pleat.CodeOf(err) == pleat.CodeUnavailable && !errors.Is(err, blob.ErrDamaged)
	c.mu.Lock()
	changed := c.failing != fault
	c.failing = fault
	c.mu.Unlock()
	switch {
	case fault && changed:
		c.log.Error("the artifact store fails", "error", err)
	case changed:
		c.log.Info("the artifact store works again")
	}
	if changed {
		c.claims.signal()
	}
	if fault {
		return blob.Fault(err)
	}
	return err
}

// Failing reports whether the last transfer of a file failed through the fault of the service.
func (c *Client) Failing() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.failing
}

// Probe asks the server whether files can be transferred.
func (c *Client) Probe(ctx context.Context) error {
	return c.transferred(ctx, c.call(ctx, request{method: http.MethodGet, path: "files"}))
}

var errStalled = errors.New("the transfer stands still")

// untilStalled returns a context that ends when moved was not called for a while. Call done in the end.
func untilStalled(ctx context.Context) (_ context.Context, moved, done func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	watch := time.AfterFunc(stall, func() { cancel(errStalled) })
	return ctx, func() { watch.Reset(stall) }, func() {
		watch.Stop()
		cancel(nil)
	}
}

// movingReader tells when bytes move.
type movingReader struct {
	io.Reader
	moved func()
}

func (r *movingReader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	r.moved()
	return n, err
}

// download is the body of a response.
type download struct {
	movingReader
	body io.Closer
	done func()
}

func (d *download) Close() error {
	defer d.done()
	return d.body.Close()
}
