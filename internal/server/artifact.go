package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"

	"pleat"
	"pleat/api"
	"pleat/internal/store/runs"
	"pleat/internal/words"
)

// artifact is GET /v1/artifacts/{id}/{name}, for everyone who has the signed link; credentials are not read. Every
// request asks the database, so that a link to a job that was deleted or made private ends at once. Ranges and
// conditional requests are supported. 401: the signature is wrong or the link has expired; 404: the file is gone or
// has another name.
func (s *Server) artifact(ctx context.Context, c *call) error {
	missing := pleat.Errorf(pleat.CodeNotFound, "Artifact not found")
	id, err := c.uuid("id", missing)
	if err != nil {
		return err
	}
	a, head, err := s.store.Runs.Artifact(ctx, pleat.ArtifactID(id))
	if err != nil {
		return err
	}
	if c.r.PathValue("name") != a.Name {
		return missing
	}
	if err := s.checkLink(c.r, &a, head); err != nil {
		return err
	}
	h := c.w.Header()
	if head.Public {
		h.Set("Cache-Control", "public, max-age=300, must-revalidate")
		allowAll(h)
	} else {
		h.Set("Cache-Control", "private, max-age=300, must-revalidate")
	}
	return s.file(ctx, c, &a, downloadName(head.Name, a.Name))
}

// checkLink checks the signature, the expiry and the epoch of a link. The epoch is a counter of the job that making it
// private increments; it is signed with the link, so links of an earlier epoch are invalid. A link without an expiry is
// valid only while the job is public.
func (s *Server) checkLink(r *http.Request, a *pleat.Artifact, head runs.Head) error {
	q := r.URL.Query()
	until := q.Get("e")
	if !s.links.Verify(a.ID, head.Epoch, until, q.Get("s")) {
		return pleat.ErrUnauthorized
	}
	if until == "" {
		if !head.Public {
			return pleat.ErrUnauthorized
		}
		return nil
	}
	end, err := strconv.ParseInt(until, 10, 64)
	if err != nil || s.clock().Unix() >= end {
		return pleat.Errorf(pleat.CodeUnauthorized, "This link has expired; the job's results have a new one")
	}
	return nil
}

// downloadName returns the name under which a file of a job or workflow is saved: it begins with the name of the job.
func downloadName(job, file string) string {
	name := words.Slug(job, 80)
	if name == "" || strings.HasPrefix(file, name+"-") || strings.HasPrefix(file, name+".") {
		return file
	}
	return name + "-" + file
}

// archive is GET /v1/jobs/{id}/archive.zip, for readers of the job: the archive that a run made of its files.
// 404: an engine of an earlier version made none; 409: the run has not completed.
func (s *Server) archive(ctx context.Context, c *call) error {
	head, err := s.readableRun(ctx, c)
	if err != nil {
		return err
	}
	v, err := s.viewFor(ctx, head)
	if err != nil {
		return err
	}
	for i := range v.Artifacts {
		if a := &v.Artifacts[i]; a.Kind == pleat.ArtifactArchive {
			c.w.Header().Set("Cache-Control", "no-store")
			return s.file(ctx, c, a, cmp.Or(words.Slug(v.Job.Name, 80), string(v.Job.ID))+".zip")
		}
	}
	if v.Run.State == pleat.StateCompleted {
		return pleat.Errorf(pleat.CodeNotFound, "this run has no archive")
	}
	return pleat.Errorf(pleat.CodeConflict, "the job is %s; it has an archive once it is COMPLETED", v.Run.State)
}

// file sends a blob, or the range of it that the request names; large text with gzip if the client accepts it. Its
// content comes from models and users, so a browser must neither guess its type nor run it as a page of this service:
// it is an attachment in a sandbox without any origin. A file whose length differs from its row is damaged and is
// answered with 503, like one that cannot be read.
func (s *Server) file(ctx context.Context, c *call, a *pleat.Artifact, name string) error {
	f, info, err := s.blobs.Open(ctx, a.Key)
	if err == nil && info.Bytes != a.Bytes {
		err = errors.Join(fmt.Errorf("the file has %d bytes and its row says %d", info.Bytes, a.Bytes), f.Close())
	}
	if err != nil {
		return unreadable(a, err)
	}
	defer func() { _ = f.Close() }()
	h := c.w.Header()
	h.Set("Content-Type", a.ContentType)
	h.Set("Content-Security-Policy", "sandbox; default-src 'none'")
	h.Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": name}))
	h.Set("ETag", `"`+a.SHA256+`"`)
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	const slowest = 64 << 10 // bytes per second that a client must read
	c.deadline(time.Minute + time.Duration(a.Bytes/slowest)*time.Second)
	serve := func(w http.ResponseWriter) { http.ServeContent(w, c.r, "", a.CreatedAt, f) }
	if compressible(a) {
		h.Set("Vary", "Accept-Encoding")
		if s.compressor.acquire(c) {
			defer s.compressor.release(c)
			h.Set("Content-Encoding", "gzip")
			h.Set("ETag", `"`+a.SHA256+api.GzipSuffix+`"`)
			s.compressor.send(c, a.Bytes, serve)
			return nil
		}
	}
	serve(&jsonErrors{answer: c.w})
	return nil
}

// unreadable is the error for a file that the artifact store cannot give now.
func unreadable(a *pleat.Artifact, err error) error {
	return &pleat.Error{Code: pleat.CodeUnavailable, Message: "the file cannot be read now; try again",
		Err: fmt.Errorf("open artifact %s: %w", a.ID, err)}
}

// deadline replaces the server's write deadline for the connection and lifts its read deadline. A file gets a minute
// and the time that it takes at the slowest rate that is allowed, so that a client that stops reading is disconnected.
func (c *call) deadline(d time.Duration) {
	rc := http.NewResponseController(c.w)
	_ = rc.SetWriteDeadline(time.Now().Add(d))
	_ = rc.SetReadDeadline(time.Time{})
}

// jsonErrors replaces the plain-text errors of http.ServeContent with the service's own.
type jsonErrors struct {
	*answer
	refused bool
}

// WriteHeader passes a success on and writes the body of an error itself.
func (a *jsonErrors) WriteHeader(status int) {
	if status < 400 {
		a.answer.WriteHeader(status)
		return
	}
	a.refused = true
	message := "the request cannot be served: " + strings.ToLower(http.StatusText(status))
	if status == http.StatusRequestedRangeNotSatisfiable {
		message = "the Range is outside the file"
	}
	if status == http.StatusPreconditionFailed {
		message = "the file is not the one that If-Match names"
	}
	writeError(a.answer, status, message)
}

// Write drops the plain text that follows the status of an error.
func (a *jsonErrors) Write(b []byte) (int, error) {
	if a.refused {
		return len(b), nil
	}
	return a.answer.Write(b)
}
