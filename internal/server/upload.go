package server

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"path"
	"strings"
	"time"
	"unicode/utf8"

	"pleat"
	"pleat/api"
	"pleat/internal/blob"
	"pleat/internal/msa"
	"pleat/internal/store"
	"pleat/internal/structure"
)

// Bounds of an upload.
const (
	maxFile        = 64 << 20 // bytes of one file
	maxUploadFiles = 16       // files of one request
	maxFileName    = 128      // characters of a file's name
	uploadChecks   = 2        // files whose contents are looked at together, on this node
)

// fileKind is a kind of file that the library takes: how its names end, and what its contents must be.
type fileKind struct {
	content string
	check   func(r io.Reader) error
}

// fileLimits bound a structure that a stranger sends.
var fileLimits = structure.Limits{Bytes: maxFile, Atoms: 500_000, Residues: 200_000}

var fileKinds = map[string]fileKind{
	".pdb":   {"chemical/x-pdb", isPDB},
	".ent":   {"chemical/x-pdb", isPDB},
	".cif":   {"chemical/x-mmcif", isCIF},
	".mmcif": {"chemical/x-mmcif", isCIF},
	".json":  {"application/json", isJSON},
	".fasta": {"text/x-fasta", isFASTA},
	".fa":    {"text/x-fasta", isFASTA},
	".faa":   {"text/x-fasta", isFASTA},
	".a3m":   {"text/x-a3m", msa.Check},
}

const fileEndings = ".pdb, .ent, .cif, .mmcif, .json, .fasta, .fa, .faa and .a3m"

func isPDB(r io.Reader) error {
	_, err := structure.ReadPDB(r, fileLimits)
	return err
}

func isCIF(r io.Reader) error {
	_, err := structure.ReadCIF(r, fileLimits)
	return err
}

func isFASTA(r io.Reader) error {
	_, err := structure.ReadFASTA(r, fileLimits)
	return err
}

// isJSON reads to the end of one document, and to the end of the file.
func isJSON(r io.Reader) error {
	d := json.NewDecoder(r)
	for depth := 0; ; {
		t, err := d.Token()
		if err != nil {
			return notJSON(d, err)
		}
		if _, nested := t.(json.Delim); depth == 0 && !nested {
			return errors.New("it holds neither an object nor an array")
		}
		switch t {
		case json.Delim('{'), json.Delim('['):
			if depth++; depth > api.MaxDepth {
				return fmt.Errorf("it is nested more than %d levels deep", api.MaxDepth)
			}
		case json.Delim('}'), json.Delim(']'):
			depth--
		}
		if depth == 0 {
			break
		}
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return fmt.Errorf("it goes on after its JSON document, at byte %d", d.InputOffset())
	}
	return nil
}

func notJSON(d *json.Decoder, err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("it is not JSON: it ends too early, after byte %d", d.InputOffset())
	}
	return fmt.Errorf("it is not JSON, at byte %d", d.InputOffset())
}

// fileName checks the name of an uploaded file and finds its kind.
func fileName(name string) (fileKind, error) {
	switch n := utf8.RuneCountInString(name); {
	case name == "":
		return fileKind{}, pleat.Invalidf("files: a file has no name; send it with a filename that ends in one of %s", fileEndings)
	case !utf8.ValidString(name) || n > maxFileName:
		return fileKind{}, pleat.Invalidf("files: a file's name has %d characters; at most %d are taken", n, maxFileName)
	case name[0] == '.' || strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f || r == '/' || r == '\\' || r == utf8.RuneError }):
		return fileKind{}, pleat.Invalidf("files: the name %q is not a plain file name", pleat.Clip(name))
	}
	kind, ok := fileKinds[strings.ToLower(path.Ext(name))]
	if !ok {
		return fileKind{}, pleat.Invalidf("files: %q is of no known type; names may end in %s", pleat.Clip(name), fileEndings)
	}
	return kind, nil
}

// uploadFiles is POST /v1/library/{id}/upload-files. Files are streamed to the artifact store, then looked at; those before
// one that is refused stay.
func (s *Server) uploadFiles(ctx context.Context, c *call) error {
	i, err := s.item(ctx, c)
	if err != nil {
		return err
	}
	if i.Type != "file" {
		return pleat.Invalidf("the library item is a %s; only a file holds files", i.Type)
	}
	kind := c.r.Header.Get("Content-Type")
	if media, _, err := mime.ParseMediaType(kind); err != nil || media != "multipart/form-data" {
		return pleat.Errorf(pleat.CodeNotJSON, "the Content-Type is %q; it must be multipart/form-data with the files in the field files", pleat.Clip(kind))
	}
	c.uploading()
	const most = maxFile + 1<<20
	if c.r.ContentLength > most*maxUploadFiles {
		c.drain(c.r.Body)
		return tooLarge(most * maxUploadFiles)
	}
	c.r.Body = http.MaxBytesReader(c.w, c.r.Body, most*maxUploadFiles)
	parts, err := c.r.MultipartReader()
	if err != nil {
		return pleat.Invalidf("the request body is not multipart/form-data: its boundary is missing")
	}
	out := api.UploadedFiles{ID: i.ID, Files: []api.LibraryFile{}}
	for {
		p, err := parts.NextPart()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return pleat.Invalidf("the request body is not whole multipart/form-data: it breaks after %d files", len(out.Files))
		}
		if len(out.Files) == maxUploadFiles {
			return pleat.Invalidf("files has more than %d files", maxUploadFiles)
		}
		f, err := s.takeFile(ctx, c.who.User, i.ID, p)
		if err != nil {
			c.drain(c.r.Body)
			return err
		}
		out.Files = append(out.Files, libraryFile(&f))
	}
	if len(out.Files) == 0 {
		return pleat.Invalidf("files is empty; it must hold at least 1 file")
	}
	return c.json(out)
}

// uploading gives a connection the time that the largest upload may take.
func (c *call) uploading() {
	const longest = 15 * time.Minute
	rc := http.NewResponseController(c.w)
	_ = rc.SetReadDeadline(time.Now().Add(longest))
	_ = rc.SetWriteDeadline(time.Now().Add(longest + time.Minute))
}

// takeFile stores one part of an upload.
func (s *Server) takeFile(ctx context.Context, owner pleat.UserID, item string, p *multipart.Part) (store.LibraryFile, error) {
	if p.FormName() != "files" {
		return store.LibraryFile{}, pleat.Invalidf("unknown field %q in the form; the files are in the field files", pleat.Clip(p.FormName()))
	}
	name := p.FileName()
	kind, err := fileName(name)
	if err != nil {
		return store.LibraryFile{}, err
	}
	return s.storeFile(ctx, owner, item, name, kind, p)
}

// storeFile streams a file into the artifact store, looks at it, and names it in the library. What is refused is removed
// again; what a crash leaves behind goes with the sweep.
func (s *Server) storeFile(ctx context.Context, owner pleat.UserID, item, name string, kind fileKind, r io.Reader) (store.LibraryFile, error) {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	f := store.LibraryFile{Name: name, ContentType: kind.content, Key: "library/" + item + "/" + hex.EncodeToString(b[:])}
	info, err := s.blobs.Put(ctx, f.Key, io.LimitReader(r, maxFile+1))
	if err == nil {
		f.Bytes, f.SHA256, f.Created = info.Bytes, info.SHA256, s.store.Now()
		err = s.checkFile(ctx, &f, kind)
	} else {
		err = putRefusal(err)
	}
	if err == nil {
		err = s.store.AddFile(ctx, owner, item, f, s.cfg.LibraryQuota)
	}
	if err != nil {
		_ = s.blobs.Delete(context.WithoutCancel(ctx), f.Key) // the sweep would find it too
	}
	return f, err
}

// putRefusal says why a file could not be stored.
func putRefusal(err error) error {
	var over *http.MaxBytesError
	switch {
	case errors.As(err, &over):
		return tooLarge(over.Limit)
	case errors.Is(err, io.ErrUnexpectedEOF):
		return pleat.Invalidf("the request body ended in the middle of a file")
	case errors.Is(err, blob.ErrFull):
		return &pleat.Error{Code: pleat.CodeUnavailable, Message: "there is no room for the file now; try again later", Err: err}
	}
	return &pleat.Error{Code: pleat.CodeUnavailable, Message: "the file cannot be stored now; try again", Err: err}
}

// checkFile reads a stored file as what its name says it is.
func (s *Server) checkFile(ctx context.Context, f *store.LibraryFile, kind fileKind) error {
	switch {
	case f.Bytes > maxFile:
		return pleat.Errorf(pleat.CodeTooLarge, "files: %q is larger than %d bytes", pleat.Clip(f.Name), maxFile)
	case f.Bytes == 0:
		return pleat.Invalidf("files: %q is empty", pleat.Clip(f.Name))
	}
	if kind.check == nil {
		return nil
	}
	select { // each may take many times its size of memory
	case s.checks <- struct{}{}:
		defer func() { <-s.checks }()
	case <-ctx.Done():
		return ctx.Err()
	}
	in, _, err := s.blobs.Open(ctx, f.Key)
	if err != nil {
		return putRefusal(err)
	}
	defer in.Close()
	if err := kind.check(bufio.NewReaderSize(in, 64<<10)); err != nil {
		return pleat.Invalidf("files: %q is not what its name says: %s", pleat.Clip(f.Name), clipReason(err))
	}
	return nil
}

// clipReason is a reader's reason, short enough for a sentence.
func clipReason(err error) string {
	r := []rune(err.Error())
	if len(r) > 200 {
		return string(r[:200]) + "…"
	}
	return string(r)
}
