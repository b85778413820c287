package workers

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"pleat"
	"pleat/internal/blob"
	"pleat/internal/clock"
	"pleat/internal/msa"
	"pleat/internal/workerapi"
)

const (
	// linkLife is how long a link to a file is valid, for reading and writing.
	linkLife = time.Hour
	// blobLabel is that of the key that signs links to files that this server sends.
	blobLabel = "worker blob"
	// maxAlignment bounds a cached alignment, in bytes.
	maxAlignment = 512 << 20
	// moveTimeout is how long a transfer may stand still.
	moveTimeout = time.Minute
)

// blobRef is a file that a worker may read.
type blobRef struct {
	Key     string         `json:"k"`
	Worker  pleat.WorkerID `json:"w"`
	Expires int64          `json:"e"` // seconds since 1970 UTC
}

// artifactKeys returns the keys of artifacts.
func artifactKeys(list []pleat.Artifact) (out []string) {
	for _, a := range list {
		out = append(out, a.Key)
	}
	return out
}

// links returns how a worker reads files: from the artifact store itself where it signs links, else from this server.
// An empty key is that of no file.
func (g *Gateway) links(ctx context.Context, c *caller, keys []string) (map[string]workerapi.Link, error) {
	out := map[string]workerapi.Link{}
	signer, signs := g.blobs.Presigner()
	for _, key := range keys {
		if key == "" {
			continue
		}
		want, err := g.blobs.Expect(ctx, key)
		if err != nil {
			return nil, err
		}
		if !signs {
			raw, _ := json.Marshal(blobRef{key, c.Worker, g.store.DB.Now().Add(linkLife).Unix()})
			text := base64.RawURLEncoding.EncodeToString(raw)
			out[key] = expecting(workerapi.Link{
				URL: workerapi.Path + "blobs/" + text + "." + g.cfg.Ring.Sign(blobLabel, text),
			}, want)
			continue
		}
		t, err := signer.PresignGet(ctx, key, linkLife)
		if err != nil {
			return nil, artifactsUnavailable(err)
		}
		out[key] = expecting(linkOf(t), want)
	}
	return out, nil
}

// expecting adds to a link what the worker has to compare.
func expecting(l workerapi.Link, want blob.Expected) workerapi.Link {
	l.Name, l.SHA256 = want.Name, want.SHA256
	return l
}

func linkOf(t blob.Transfer) workerapi.Link {
	out := workerapi.Link{URL: t.URL, Header: map[string]string{}}
	for name := range t.Header {
		out.Header[name] = t.Header.Get(name)
	}
	return out
}

// announce is POST tasks/{id}/files: how the worker stores a file of the attempt.
func (g *Gateway) announce(ctx context.Context, c *caller, in *workerapi.Upload) (workerapi.Link, error) {
	key, err := keyOf(c, "name", in.Name)
	sum, bad := hex.DecodeString(in.SHA256)
	switch {
	case err != nil:
		return workerapi.Link{}, err
	case in.Bytes < 0 || in.Bytes > workerapi.MaxFile:
		return workerapi.Link{}, pleat.InvalidField("bytes", " is %d; it must be from 0 to %d", in.Bytes,
			int64(workerapi.MaxFile))
	case bad != nil || len(sum) != sha256.Size:
		return workerapi.Link{}, pleat.InvalidField("sha256", " must be 64 hexadecimal digits")
	}
	signer, signs := g.blobs.Presigner()
	if !signs || in.Bytes > blob.MaxUpload {
		return workerapi.Link{
			URL:    workerapi.Path + "tasks/" + string(c.Task.ID) + "/files/" + in.Name,
			Header: map[string]string{workerapi.DigestHeader: workerapi.DigestOf(in.SHA256)},
		}, nil
	}
	content := blob.Upload{Bytes: in.Bytes, SHA256: strings.ToLower(in.SHA256), Valid: linkLife}
	t, err := signer.PresignPut(ctx, key, content)
	if err != nil {
		return workerapi.Link{}, artifactsUnavailable(err)
	}
	return linkOf(t), nil
}

// upload is PUT tasks/{id}/files/{name}: the content of a file of the attempt, whose SHA-256 is in the header.
func (g *Gateway) upload(w http.ResponseWriter, r *http.Request) error {
	c, err := g.callerOfHeld(r)
	if err != nil {
		return err
	}
	key, err := keyOf(c, "name", r.PathValue("name"))
	if err != nil {
		return err
	}
	return g.receive(w, r, key, workerapi.MaxFile)
}

// receive stores the body of a request under a key, and answers if it could. Nothing is stored unless it comes whole
// and has the SHA-256 of the header.
func (g *Gateway) receive(w http.ResponseWriter, r *http.Request, key string, most int64) error {
	want, ok := workerapi.ParseDigest(r.Header.Get(workerapi.DigestHeader))
	switch {
	case !ok:
		return pleat.InvalidField(workerapi.DigestHeader, " must be sha-256=:BASE64:, the SHA-256 of the body")
	case r.ContentLength < 0 || r.ContentLength > most:
		return pleat.Errorf(pleat.CodeTooLarge, "the file must have a Content-Length of at most %d bytes", most)
	}
	body := &checkedReader{
		Reader:     r.Body,
		controller: http.NewResponseController(w),
		sum:        sha256.New(),
		want:       want,
	}
	_, err := g.blobs.Put(r.Context(), key, body)
	switch {
	case errors.Is(err, errDigest):
		return pleat.Errorf(pleat.CodeInvalid, "the body does not have the SHA-256 of the header %s",
			workerapi.DigestHeader)
	case err != nil && body.broken:
		return pleat.Invalidf("the request body cannot be read to its end")
	case err != nil:
		return artifactsUnavailable(err)
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

var errDigest = errors.New("the content has another SHA-256")

// checkedReader fails at the end unless what was read has a SHA-256. While bytes come, the connection may be read and
// written.
type checkedReader struct {
	io.Reader
	controller *http.ResponseController
	sum        hash.Hash
	want       string
	broken     bool // the reader has failed
	extended   clock.Stopwatch
}

func (c *checkedReader) Read(p []byte) (int, error) {
	extend(c.controller, &c.extended)
	n, err := c.Reader.Read(p)
	c.sum.Write(p[:n])
	switch {
	case err == nil:
	case !errors.Is(err, io.EOF):
		c.broken = true
	case hex.EncodeToString(c.sum.Sum(nil)) != c.want:
		return n, errDigest
	}
	return n, err
}

// extend moves the deadlines of a connection, at most once a second.
func extend(c *http.ResponseController, last *clock.Stopwatch) {
	if last.Elapsed() > time.Second {
		*last = clock.Start()
		_ = c.SetReadDeadline(clock.Deadline(moveTimeout)) // a test's connection may have none
		_ = c.SetWriteDeadline(clock.Deadline(moveTimeout))
	}
}

// download is GET blobs/{ref}: a file that a worker was given a link to.
func (g *Gateway) download(w http.ResponseWriter, r *http.Request) error {
	c, err := g.callerOfSession(r)
	if err != nil {
		return err
	}
	var ref blobRef
	text, signature, _ := strings.Cut(r.PathValue("ref"), ".")
	raw, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || !g.cfg.Ring.Verify(blobLabel, signature, text) || json.Unmarshal(raw, &ref) != nil ||
		ref.Worker != c.Worker || ref.Expires < g.store.DB.Now().Unix() {
		return pleat.Errorf(pleat.CodeForbidden, "the link to the file is not valid, or not any more")
	}
	return g.send(w, r, ref.Key)
}

// send sends a file. An error means that nothing was sent.
func (g *Gateway) send(w http.ResponseWriter, r *http.Request, key string) error {
	want, err := g.blobs.Expect(r.Context(), key)
	if err != nil {
		return err
	}
	in, info, err := g.blobs.OpenExpected(r.Context(), key, want, blob.FirstSent)
	switch {
	case errors.Is(err, blob.ErrDamaged):
		return err
	case errors.Is(err, blob.ErrNotFound):
		return pleat.Errorf(pleat.CodeNotFound, "there is no such file")
	case err != nil:
		return artifactsUnavailable(err)
	}
	defer in.Close()
	h := w.Header()
	h.Set("Content-Type", "application/octet-stream")
	h.Set("Content-Length", strconv.FormatInt(info.Bytes, 10))
	h.Set("Cache-Control", "no-store")
	out := &movingWriter{ResponseWriter: w, controller: http.NewResponseController(w)}
	if _, err := io.Copy(out, in); err != nil {
		panic(http.ErrAbortHandler) // so that the worker does not take a part for the whole
	}
	return nil
}

// movingWriter lets a response take as long as bytes go.
type movingWriter struct {
	http.ResponseWriter
	controller *http.ResponseController
	extended   clock.Stopwatch
}

func (m *movingWriter) Write(p []byte) (int, error) {
	extend(m.controller, &m.extended)
	return m.ResponseWriter.Write(p)
}

// alignmentKey returns the key of a cached alignment, whose name is the hash of what was searched for. Only workers of
// classes that search may read and write them.
func (g *Gateway) alignmentKey(r *http.Request) (string, error) {
	c, err := g.callerOfSession(r)
	if err != nil {
		return "", err
	}
	if err := g.checkSearches(r.Context(), c, 0); err != nil {
		return "", err
	}
	key := msa.Prefix + r.PathValue("group") + "/" + r.PathValue("name")
	if blob.CheckKey(key) != nil {
		return "", pleat.Errorf(pleat.CodeNotFound, "there is no such alignment")
	}
	return key, nil
}

// readAlignment is GET alignments/{group}/{name}: an alignment that was searched for before.
func (g *Gateway) readAlignment(w http.ResponseWriter, r *http.Request) error {
	key, err := g.alignmentKey(r)
	if err != nil {
		return err
	}
	return g.send(w, r, key)
}

// writeAlignment is PUT alignments/{group}/{name}: an alignment for later searches.
func (g *Gateway) writeAlignment(w http.ResponseWriter, r *http.Request) error {
	key, err := g.alignmentKey(r)
	if err != nil {
		return err
	}
	return g.receive(w, r, key, maxAlignment)
}

// probe is GET files: whether the artifact store works, for workers whose transfers have failed. While it fails, one
// call at a time tries it.
func (g *Gateway) probe(ctx context.Context, _ *caller, _ *none) (none, error) {
	if !g.blobs.Failing() {
		return none{}, nil
	}
	if !g.probing.TryLock() {
		return none{}, artifactsUnavailable(fmt.Errorf("it is being tried"))
	}
	defer g.probing.Unlock()
	if err := g.blobs.Probe(ctx); err != nil {
		return none{}, artifactsUnavailable(err)
	}
	return none{}, nil
}
