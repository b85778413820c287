package server

import (
	"context"
	"fmt"
	"io"
	"path"
	"strings"
	"unicode/utf8"

	"pleat"
	"pleat/api"
	"pleat/internal/batch"
	"pleat/internal/format"
	"pleat/internal/store/runs"
)

// maxNamedText bounds the FASTA files together that one text names, in bytes.
const maxNamedText = 64 << 20

// namedFiles are the files of the caller's library that stand for the names in a text. Nothing else is ever read for a
// name: the machine of the server has no part in it.
type namedFiles struct {
	s     *Server
	list  []namedFile
	paths map[string]int // name as the text has it → index in list
	names map[string]int // last part of such a name → index in list
	bytes int64          // of the texts that were read
}

// namedFile is one of them.
type namedFile struct {
	item pleat.ItemID
	file runs.LibraryFile
	used bool
}

// namedFiles looks up the files of a request. 400: a field is wrong, or the item has no such file; 403: the key may not
// read; 404: the caller has no such item.
func (s *Server) namedFiles(ctx context.Context, c *call, list []api.ImportFile) (*namedFiles, error) {
	n := &namedFiles{s: s, paths: map[string]int{}, names: map[string]int{}}
	if len(list) == 0 {
		return n, nil
	}
	if err := c.checkReads("import a file with files of the library"); err != nil {
		return nil, err
	}
	items := map[string]runs.LibraryItem{}
	for i, f := range list {
		at := batch.At("files", i)
		if !pleat.IsUUID(f.LibraryItemID) {
			return nil, pleat.InvalidField(at+".libraryItemId", " is %q; it must be a UUID",
				pleat.Clip(f.LibraryItemID))
		}
		item, ok := items[f.LibraryItemID]
		if !ok {
			var err error
			if item, err = s.store.Runs.Item(ctx, c.reach(), pleat.ItemID(f.LibraryItemID)); err != nil {
				return nil, err
			}
			items[f.LibraryItemID] = item
		}
		file, err := fileNamed(&item, f.FileName)
		if err != nil {
			return nil, pleat.InvalidField(at+".fileName", " is %q; the library item has no file of this name",
				pleat.Clip(f.FileName))
		}
		key, of, field := f.FileName, n.names, "fileName"
		if f.Path != "" {
			key, of, field = f.Path, n.paths, "path"
		}
		if first, twice := of[key]; twice {
			return nil, pleat.InvalidField(at+"."+field, " is %q like that of %s; the path of each must say which "+
				"name it stands for", pleat.Clip(key), batch.At("files", first))
		}
		of[key] = len(n.list)
		n.list = append(n.list, namedFile{item: item.ID, file: *file})
	}
	return n, nil
}

// find returns the file that stands for a name.
func (n *namedFiles) find(name string) (*namedFile, error) {
	i, ok := n.paths[name]
	if !ok {
		i, ok = n.names[path.Base(strings.ReplaceAll(name, `\`, "/"))]
	}
	if !ok {
		return nil, pleat.Invalidf("files has none that stands for %q; add its libraryItemId and fileName",
			pleat.Clip(name))
	}
	n.list[i].used = true
	return &n.list[i], nil
}

// files returns the files as a reader asks for them. Without any, the reader refuses every name.
func (n *namedFiles) files(ctx context.Context) format.Files {
	if len(n.list) == 0 {
		return format.Files{}
	}
	return format.Files{
		Alignment: func(name string) (pleat.FileRef, error) {
			f, err := n.find(name)
			if err != nil {
				return pleat.FileRef{}, err
			}
			return pleat.FileRef{Item: f.item, Name: f.file.Name}, nil
		},
		Structure: func(name string) (pleat.FileRef, error) {
			f, err := n.find(name)
			if err != nil {
				return pleat.FileRef{}, err
			}
			if !pleat.IsStructureFile(f.file.Name) {
				return pleat.FileRef{}, pleat.Invalidf("%q stands for the file %s, which is no structure",
					pleat.Clip(name), pleat.Clip(f.file.Name))
			}
			return pleat.FileRef{Item: f.item, Name: f.file.Name}, nil
		},
		Text: func(name string) (string, error) {
			f, err := n.find(name)
			if err != nil {
				return "", err
			}
			return n.text(ctx, f)
		},
	}
}

// text reads a file that is text.
func (n *namedFiles) text(ctx context.Context, f *namedFile) (string, error) {
	if f.file.Bytes > format.MaxBytes {
		return "", pleat.Invalidf("the file %q has %d bytes; at most %d are allowed",
			pleat.Clip(f.file.Name), f.file.Bytes, format.MaxBytes)
	}
	if n.bytes += f.file.Bytes; n.bytes > maxNamedText {
		return "", pleat.Invalidf("the files up to %q have more than %d bytes together", pleat.Clip(f.file.Name),
			maxNamedText)
	}
	in, _, err := n.s.blobs.Open(ctx, f.file.Key)
	if err != nil {
		return "", storageError(err)
	}
	defer in.Close()
	b, err := io.ReadAll(io.LimitReader(in, format.MaxBytes+1))
	if err != nil {
		return "", storageError(err)
	}
	if !utf8.Valid(b) {
		return "", pleat.Invalidf("the file %q is not text in UTF-8", pleat.Clip(f.file.Name))
	}
	return string(b), nil
}

// unused returns a note for each file that the text does not name.
func (n *namedFiles) unused() []string {
	var out []string
	for i, f := range n.list {
		if !f.used {
			out = append(out, fmt.Sprintf("%s %q is not used: the text does not name it", batch.At("files", i),
				pleat.Clip(f.file.Name)))
		}
	}
	return out
}

// readContent reads the rows of a batch from the file of another program that the request has instead of jobs.
func (s *Server) readContent(ctx context.Context, c *call, in *api.CreateBatch, p *preparedBatch) error {
	switch {
	case in.Content == "" && in.Format != "":
		return pleat.InvalidField("format", " is the format of content, which is absent")
	case in.Content == "" && in.Files != nil:
		return pleat.InvalidField("files", " are those that content names, which is absent")
	case in.Content == "":
		return nil
	case p.spec.Kind != pleat.BatchList:
		return pleat.InvalidField("content", " is a field of the kind list; the kind of this batch is %s",
			pleat.Clip(in.Kind))
	case in.Jobs != nil:
		return pleat.InvalidField("content", " and jobs are given; a batch has one of them")
	}
	named, err := s.namedFiles(ctx, c, in.Files)
	if err != nil {
		return err
	}
	got, err := format.Import(in.Content, format.Name(in.Format), format.Options{
		Name:  in.Name,
		Files: named.files(ctx),
		Rows:  true,
		Bytes: maxBatchBody,
		Jobs:  pleat.MaxBatchRows,
		Stop:  ctx.Err,
	})
	if err != nil {
		return inContent(err)
	}
	p.notes = append(got.Notes, named.unused()...)
	for i := range got.Jobs {
		p.spec.Jobs = append(p.spec.Jobs, importedRow(&got.Jobs[i], got.IDs[i], p.spec.Params))
	}
	return nil
}

// importedRow returns a job of a file as a row of a batch. What the file says of parameters and constraints stands
// before those of the batch.
func importedRow(j *pleat.Job, id string, of pleat.Params) batch.Entry {
	e := batch.Entry{CustomID: id, Sequences: j.Sequences}
	if len(j.Params.Values) > 0 {
		for name, v := range j.Params.Values {
			of = of.With(name, v)
		}
		e.Params = &of
	}
	if !j.Constraints.Empty() {
		e.Constraints = &j.Constraints
	}
	return e
}
