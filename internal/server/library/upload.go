package library

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	"pleat"
	"pleat/api"
	"pleat/internal/blob"
	"pleat/internal/compressed"
	"pleat/internal/fair"
	"pleat/internal/garbage"
	"pleat/internal/server/route"
	"pleat/internal/server/wire"
	"pleat/internal/store/db"
	"pleat/internal/store/people"
	"pleat/internal/store/runs"
	"pleat/internal/submit"
	"pleat/internal/words"
)

// Limits of an upload. submit.MaxFile bounds each file.
const (
	// MaxUploadFiles is how many files one request may have.
	MaxUploadFiles = 16
	// uploadChecks is how many files are checked at the same time on this node. A check may need many times the memory
	// of its file, so two of the largest bound what uploads can use.
	uploadChecks = 2
	// longestUpload is how long the largest upload may take, until its files are checked.
	longestUpload = 15 * time.Minute
	// checkTime bounds one check. The largest structure takes a few seconds on an idle machine.
	checkTime = time.Minute
)

// uploadFiles is POST /v1/library/{id}/upload-files, for the owner of an item. It streams each file to the artifact
// store and then checks it. A file replaces one of the same name. If one is refused, those before it stay. 400: the
// form, a name or a file is wrong; 413: a file, the request or the library would be too large; 415: the body is not a
// form.
func (h *Handlers) uploadFiles(ctx context.Context, c *route.Call) error {
	i, err := h.ownItem(ctx, c)
	if err != nil {
		return err
	}
	if err := c.EnterOwner(ctx, i.Owner, runs.ErrNoItem); err != nil {
		return err
	}
	if i.Type != "file" {
		return pleat.Invalidf("the library item is a %s; only an item of type file can have files", i.Type)
	}
	if enc := c.R.Header.Get("Content-Encoding"); enc != "" && enc != "identity" {
		return pleat.Errorf(pleat.CodeNotJSON,
			"the Content-Encoding is %q; send the form uncompressed, and compress the files in it with gzip",
			pleat.Clip(enc))
	}
	kind := c.R.Header.Get("Content-Type")
	if media, _, err := mime.ParseMediaType(kind); err != nil || media != "multipart/form-data" {
		return pleat.Errorf(pleat.CodeNotJSON,
			"the Content-Type is %q; it must be multipart/form-data with the files in the field files",
			pleat.Clip(kind))
	}
	up, err := h.uploads.begin(c.In)
	if err != nil {
		return err
	}
	defer up.end()
	c.ReadDeadline(longestUpload)
	const most = submit.MaxFile + 1<<20
	if c.R.ContentLength > most*MaxUploadFiles {
		return route.TooLarge(most * MaxUploadFiles)
	}
	c.R.Body = http.MaxBytesReader(c.W, c.R.Body, most*MaxUploadFiles)
	parts, err := c.R.MultipartReader()
	if err != nil {
		return pleat.Invalidf("the request body is not multipart/form-data: its boundary is missing")
	}
	out, err := h.storeParts(ctx, up, &i, parts)
	if err != nil {
		return err
	}
	return c.JSON(out)
}

// storeParts stores the files of a form, until one is refused.
func (h *Handlers) storeParts(ctx context.Context, up *upload, i *runs.LibraryItem,
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
		if len(out.Files) == MaxUploadFiles {
			return out, pleat.InvalidField("files", " has more than %d files", MaxUploadFiles)
		}
		f, err := h.storePart(ctx, up, i, p)
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

// storePart stores one part of an upload. The kind of a file follows from the ending of its name; the Content-Type of
// the part is not read, since clients differ in what they send. The file is refused as soon as the library would hold
// more than it may with what other uploads to it have received.
func (h *Handlers) storePart(ctx context.Context, up *upload, i *runs.LibraryItem,
	p *multipart.Part) (runs.LibraryFile, error) {
	if p.FormName() != "files" {
		return runs.LibraryFile{}, pleat.Invalidf("unknown field %q in the form; the files must be in the field files",
			pleat.Clip(p.FormName())).At("files")
	}
	if enc := p.Header.Get("Content-Transfer-Encoding"); strings.EqualFold(enc, "base64") { // RFC 7578, section 4.7
		return runs.LibraryFile{}, pleat.InvalidField("files", ": a file is sent in base64; send its bytes as they are")
	}
	name := strings.TrimSpace(p.FileName())
	if !utf8.ValidString(name) {
		return runs.LibraryFile{}, pleat.InvalidField("files", ": the name %q is not in UTF-8", pleat.Clip(name))
	}
	kind, err := submit.KindOfFile(name)
	if err != nil {
		return runs.LibraryFile{}, err
	}
	if up.named[kind.Name] {
		return runs.LibraryFile{}, pleat.InvalidField("files", ": two files of the form are stored as %q; rename one",
			pleat.Clip(kind.Name))
	}
	up.named[kind.Name] = true
	use, err := h.People.LibraryUse(ctx, up.owner)
	if err != nil {
		return runs.LibraryFile{}, err
	}
	replaced := int64(0)
	if old, err := fileNamed(i, kind.Name); err == nil {
		replaced = old.Bytes
	}
	plain, err := compressed.Reader(name, p)
	if err != nil {
		return runs.LibraryFile{}, storageError(err)
	}
	in := up.receive(plain, libraryFile{i.ID, kind.Name}, use, replaced, h.People.Limits().LibraryBytes)
	defer in.done()
	return h.Writer.Add(ctx, NewFile{
		By: people.Reach{User: up.user, Project: i.Owner}, Item: i.ID, Kind: kind,
	}, in)
}

// NewFile describes a file to add to a library.
type NewFile struct {
	By   people.Reach
	Item pleat.ItemID
	Kind submit.FileKind
}

// Writer adds files to libraries. Create it with NewWriter.
type Writer struct {
	cfg    WriterConfig
	checks *fair.Turns[pleat.UserID] // of files
}

// WriterConfig are the dependencies of a Writer. All are required.
type WriterConfig struct {
	DB      *db.DB
	Runs    *runs.Store
	Blobs   *blob.Monitor
	Cleaner *garbage.Cleaner
}

// NewWriter returns a Writer.
func NewWriter(c WriterConfig) *Writer {
	return &Writer{c, fair.NewTurns[pleat.UserID](uploadChecks, 1)}
}

// Add streams a file to the artifact store, checks it and adds it to its library item. A file that is refused is
// removed, and so is one that it replaces; garbage collection removes what a crash leaves behind.
func (w *Writer) Add(ctx context.Context, n NewFile, r io.Reader) (runs.LibraryFile, error) {
	f := runs.LibraryFile{Name: n.Kind.Name, ContentType: n.Kind.ContentType, Key: submit.NewLibraryKey(n.Item)}
	info, err := w.cfg.Blobs.Put(ctx, f.Key, io.LimitReader(r, submit.MaxFile+1))
	if err == nil {
		f.Bytes, f.SHA256, f.Created = info.Bytes, info.SHA256, w.cfg.DB.Now()
		err = w.check(ctx, n, &f)
	} else {
		err = storageError(err)
	}
	unused := f.Key
	if err == nil {
		var replaced string
		if replaced, err = w.cfg.Runs.AddFile(ctx, n.By, n.Item, f); err == nil {
			unused = replaced
		}
	}
	if unused != "" {
		w.cfg.Cleaner.Unused(ctx, unused)
	}
	return f, err
}

// storageError converts an error of the artifact store, or of the body that it read, to one for the caller: 413 or 400
// where the body is at fault, else 503.
func storageError(err error) error {
	var over *http.MaxBytesError
	switch {
	case errors.As(err, &over):
		return route.TooLarge(over.Limit)
	case errors.Is(err, io.ErrUnexpectedEOF):
		return pleat.Invalidf("the request body ended in the middle of a file")
	}
	return submit.WriteError(err)
}

// check checks the size of a stored file, and that its content has the format that its name implies, so that
// workflows and alignments read only files that parse. At most uploadChecks files are checked at a time, one of each
// user; the users that wait take turns.
func (w *Writer) check(ctx context.Context, n NewFile, f *runs.LibraryFile) error {
	switch {
	case f.Bytes > submit.MaxFile:
		return pleat.Errorf(pleat.CodeTooLarge, "files: %q is larger than %d bytes", pleat.Clip(f.Name),
			submit.MaxFile).At("files")
	case f.Bytes == 0:
		return pleat.InvalidField("files", ": %q is empty", pleat.Clip(f.Name))
	}
	if err := w.checks.Acquire(ctx, n.By.User); err != nil {
		return &pleat.Error{Code: pleat.CodeUnavailable, Message: "too many files are being checked; try again",
			Err: err}
	}
	defer w.checks.Release(n.By.User)
	ctx, cancel := context.WithTimeout(ctx, checkTime)
	defer cancel()
	in, _, err := w.cfg.Blobs.Open(ctx, f.Key)
	if err != nil {
		return storageError(err)
	}
	defer in.Close()
	content := bufio.NewReaderSize(blob.ContextReader(ctx, in), 64<<10)
	head, _ := content.Peek(4) // content meets an error again
	err = w.checkContent(ctx, n, f, content)
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return pleat.InvalidField("files", ": %q takes longer than %s to check; it may be too large",
			pleat.Clip(f.Name), checkTime)
	}
	if pleat.CodeOf(err) == pleat.CodeUnavailable {
		return err
	}
	if err != nil {
		reason := cmp.Or(otherForm(head), words.Shorten(err.Error(), 200))
		return pleat.InvalidField("files", ": %q is not what its name says: %s", pleat.Clip(f.Name), reason)
	}
	return nil
}

// otherForm says in which form a file is that could not be read as what its name says, by its first bytes; empty: in
// none that it knows.
func otherForm(head []byte) string {
	for mark, form := range map[string]string{
		"PK\x03\x04":       "it is a zip archive; upload the files in it",
		"BZh":              "it is compressed with bzip2; decompress it, or use gzip",
		"\xfd7zX":          "it is compressed with xz; decompress it, or use gzip",
		"\x28\xb5\x2f\xfd": "it is compressed with zstd; decompress it, or use gzip",
		"\xff\xfe":         "its text is UTF-16; save it as UTF-8",
		"\xfe\xff":         "its text is UTF-16; save it as UTF-8",
	} {
		if bytes.HasPrefix(head, []byte(mark)) {
			return form
		}
	}
	return ""
}

// checkContent checks the content of a stored file. A binary file is replaced by the text as which it is stored.
func (w *Writer) checkContent(ctx context.Context, n NewFile, f *runs.LibraryFile, in io.Reader) error {
	text, rest, err := n.Kind.Convert(in)
	switch {
	case err != nil:
		return err
	case text == nil:
		return n.Kind.Check(rest)
	}
	if err := n.Kind.Check(bytes.NewReader(text)); err != nil {
		return err
	}
	w.cfg.Cleaner.Unused(ctx, f.Key)
	f.Key = submit.NewLibraryKey(n.Item)
	info, err := w.cfg.Blobs.Put(ctx, f.Key, bytes.NewReader(text))
	f.Bytes, f.SHA256 = info.Bytes, info.SHA256
	if err != nil {
		return storageError(err)
	}
	return nil
}
