package server

import (
	"bufio"
	"context"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"time"

	"pleat"
	"pleat/api"
	"pleat/internal/blob"
	"pleat/internal/server/wire"
	"pleat/internal/store/people"
	"pleat/internal/store/runs"
	"pleat/internal/submit"
	"pleat/internal/words"
)

// Limits of an upload. submit.MaxFile bounds each file.
const (
	// maxUploadFiles is how many files one request may have.
	maxUploadFiles = 16
	// uploadChecks is how many files are checked at the same time on this node. A check may need many times the memory
	// of its file, so two of the largest bound what uploads can use.
	uploadChecks = 2
	// checkTime bounds one check. The largest structure takes a few seconds on an idle machine.
	checkTime = time.Minute
)

// uploadFiles is POST /v1/library/{id}/upload-files, for the owner of an item. It streams each file to the artifact
// store and then checks it. A file replaces one of the same name. If one is refused, those before it stay. 400: the
// form, a name or a file is wrong; 413: a file, the request or the library would be too large; 415: the body is not a
// form.
func (s *Server) uploadFiles(ctx context.Context, c *call) error {
	i, err := s.ownItem(ctx, c)
	if err != nil {
		return err
	}
	if err := s.enterOwner(ctx, c, i.Owner, runs.ErrNoItem); err != nil {
		return err
	}
	if i.Type != "file" {
		return pleat.Invalidf("the library item is a %s; only an item of type file can have files", i.Type)
	}
	kind := c.r.Header.Get("Content-Type")
	if media, _, err := mime.ParseMediaType(kind); err != nil || media != "multipart/form-data" {
		return pleat.Errorf(pleat.CodeNotJSON,
			"the Content-Type is %q; it must be multipart/form-data with the files in the field files",
			pleat.Clip(kind))
	}
	up, err := s.uploads.begin(c.in)
	if err != nil {
		c.drain(c.r.Body)
		return err
	}
	defer up.end()
	c.allowLongUpload()
	const most = submit.MaxFile + 1<<20
	if c.r.ContentLength > most*maxUploadFiles {
		c.drain(c.r.Body)
		return tooLarge(most * maxUploadFiles)
	}
	c.r.Body = http.MaxBytesReader(c.w, c.r.Body, most*maxUploadFiles)
	parts, err := c.r.MultipartReader()
	if err != nil {
		return pleat.Invalidf("the request body is not multipart/form-data: its boundary is missing")
	}
	out, err := s.storeParts(ctx, up, &i, parts)
	if err != nil {
		c.drain(c.r.Body)
		return err
	}
	return c.json(out)
}

// storeParts stores the files of a form, until one is refused.
func (s *Server) storeParts(ctx context.Context, up *upload, i *runs.LibraryItem,
	parts *multipart.Reader) (api.UploadedFiles, error) {
	out := api.UploadedFiles{ID: string(i.ID), Files: []api.LibraryFile{}}
	for {
		p, err := parts.NextPart()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return out, pleat.Invalidf("the request body is incomplete: the form ends early, after %d files",
				len(out.Files)).At("files")
		}
		if len(out.Files) == maxUploadFiles {
			return out, pleat.InvalidField("files", " has more than %d files", maxUploadFiles)
		}
		f, err := s.storePart(ctx, up, i, p)
		if err != nil {
			return out, err
		}
		out.Files = append(out.Files, wire.LibraryFile(&f))
	}
	if len(out.Files) == 0 {
		return out, pleat.InvalidField("files", " is empty; it must hold at least 1 file")
	}
	return out, nil
}

// allowLongUpload sets the connection's deadlines for the largest upload: 15 minutes for the files, and one more for
// the response after the last check.
func (c *call) allowLongUpload() {
	const longest = 15 * time.Minute
	rc := http.NewResponseController(c.w)
	_ = rc.SetReadDeadline(time.Now().Add(longest))
	_ = rc.SetWriteDeadline(time.Now().Add(longest + time.Minute))
}

// storePart stores one part of an upload. The kind of a file follows from the ending of its name; the Content-Type of
// the part is not read, since clients differ in what they send. The file is refused as soon as the library would hold
// more than it may with what other uploads to it have received.
func (s *Server) storePart(ctx context.Context, up *upload, i *runs.LibraryItem,
	p *multipart.Part) (runs.LibraryFile, error) {
	if p.FormName() != "files" {
		return runs.LibraryFile{}, pleat.Invalidf("unknown field %q in the form; the files must be in the field files",
			pleat.Clip(p.FormName())).At("files")
	}
	name := p.FileName()
	kind, err := submit.KindOfFile(name)
	if err != nil {
		return runs.LibraryFile{}, err
	}
	use, err := s.store.People.LibraryUse(ctx, up.owner)
	if err != nil {
		return runs.LibraryFile{}, err
	}
	replaced := int64(0)
	if old, err := fileNamed(i, name); err == nil {
		replaced = old.Bytes
	}
	in := up.receive(p, libraryFile{i.ID, name}, use, replaced, s.store.People.Limits().LibraryBytes)
	defer in.done()
	return s.storeFile(ctx, newFile{people.Reach{User: up.user, Project: i.Owner}, i.ID, name, kind}, in)
}

// newFile describes a file to add to a library.
type newFile struct {
	by   people.Reach
	item pleat.ItemID
	name string
	kind submit.FileKind
}

// storeFile streams a file to the artifact store, checks it and adds it to its library item. A file that is refused is
// removed, and so is one that it replaces; garbage collection removes what a crash leaves behind.
func (s *Server) storeFile(ctx context.Context, n newFile, r io.Reader) (runs.LibraryFile, error) {
	f := runs.LibraryFile{Name: n.name, ContentType: n.kind.ContentType, Key: submit.NewLibraryKey(n.item)}
	info, err := s.blobs.Put(ctx, f.Key, io.LimitReader(r, submit.MaxFile+1))
	if err == nil {
		f.Bytes, f.SHA256, f.Created = info.Bytes, info.SHA256, s.store.DB.Now()
		err = s.checkFile(ctx, n, &f)
	} else {
		err = storageError(err)
	}
	unused := f.Key
	if err == nil {
		var replaced string
		if replaced, err = s.store.Runs.AddFile(ctx, n.by, n.item, f); err == nil {
			unused = replaced
		}
	}
	if unused != "" {
		s.resolver.RemoveBlobs(ctx, unused)
	}
	return f, err
}

// storageError converts an error of the artifact store, or of the body that it read, to one for the caller: 413 or 400
// where the body is at fault, else 503.
func storageError(err error) error {
	var over *http.MaxBytesError
	var e *pleat.Error
	switch {
	case errors.As(err, &e):
	case errors.As(err, &over):
		return tooLarge(over.Limit)
	case errors.Is(err, io.ErrUnexpectedEOF):
		return pleat.Invalidf("the request body ended in the middle of a file")
	}
	return submit.StorageError(err)
}

// checkFile checks the size of a stored file, and that its content has the format that its name implies, so that
// workflows and alignments read only files that parse. At most uploadChecks files are checked at a time, one of each
// user; the users that wait take turns.
func (s *Server) checkFile(ctx context.Context, n newFile, f *runs.LibraryFile) error {
	switch {
	case f.Bytes > submit.MaxFile:
		return pleat.Errorf(pleat.CodeTooLarge, "files: %q is larger than %d bytes", pleat.Clip(f.Name),
			submit.MaxFile).At("files")
	case f.Bytes == 0:
		return pleat.InvalidField("files", ": %q is empty", pleat.Clip(f.Name))
	}
	if err := s.checks.Acquire(ctx, n.by.User); err != nil {
		return &pleat.Error{Code: pleat.CodeUnavailable, Message: "too many files are being checked; try again",
			Err: err}
	}
	defer s.checks.Release(n.by.User)
	ctx, cancel := context.WithTimeout(ctx, checkTime)
	defer cancel()
	in, _, err := s.blobs.Open(ctx, f.Key)
	if err != nil {
		return storageError(err)
	}
	defer in.Close()
	err = n.kind.Check(bufio.NewReaderSize(blob.ContextReader(ctx, in), 64<<10))
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return pleat.InvalidField("files", ": %q takes longer than %s to check; it may be too large",
			pleat.Clip(f.Name), checkTime)
	}
	if err != nil {
		return pleat.InvalidField("files", ": %q is not what its name says: %s", pleat.Clip(f.Name),
			words.Shorten(err.Error(), 200))
	}
	return nil
}
