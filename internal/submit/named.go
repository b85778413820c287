package submit

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"pleat"
	"pleat/internal/batch"
	"pleat/internal/blob"
	"pleat/internal/component"
	"pleat/internal/format"
	"pleat/internal/store/runs"
)

// maxNamedText bounds the FASTA files together that one text names, in bytes.
const maxNamedText = 64 << 20

// LibraryFileAs is a file of the library that stands for a name in a text. Item need not be a UUID.
type LibraryFileAs struct {
	Item string
	Name string // of the file
	Path string // the name in the text; empty: every name that ends in that of the file
}

// namedFiles are the files of the caller's library that stand for the names in a text. Nothing else is ever read for a
// name: the machine of the server has no part in it.
type namedFiles struct {
	blobs blob.Store
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

// namedFiles looks up the files of a request. An error has CodeInvalid for a wrong field or an item without such a
// file, CodeForbidden if the key may not read, or CodeNotFound if the item is out of reach, unless it is the store's.
func (r *Resolver) namedFiles(ctx context.Context, by Caller, list []LibraryFileAs) (*namedFiles, error) {
	n := &namedFiles{blobs: r.Blobs, paths: map[string]int{}, names: map[string]int{}}
	if len(list) == 0 {
		return n, nil
	}
	if err := by.CheckReads("import a file with files of the library"); err != nil {
		return nil, err
	}
	items := map[string]runs.LibraryItem{}
	for i, f := range list {
		at := batch.At("files", i)
		if !pleat.IsUUID(f.Item) {
			return nil, pleat.InvalidField(at+".libraryItemId", " is %q; it must be a UUID", pleat.Clip(f.Item))
		}
		item, ok := items[f.Item]
		if !ok {
			var err error
			if item, err = r.Runs.Item(ctx, by.Reach, pleat.ItemID(f.Item)); err != nil {
				return nil, err
			}
			items[f.Item] = item
		}
		k := slices.IndexFunc(item.Files, func(file runs.LibraryFile) bool { return isNamed(file, f.Name) })
		if k < 0 {
			return nil, pleat.InvalidField(at+".fileName", " is %q; the library item has no file of this name",
				pleat.Clip(f.Name))
		}
		key, indices, field := f.Name, n.names, "fileName"
		if f.Path != "" {
			key, indices, field = f.Path, n.paths, "path"
		}
		if first, twice := indices[key]; twice {
			return nil, pleat.InvalidField(at+"."+field, " is %q like that of %s; the path of each must say which "+
				"name it stands for", pleat.Clip(key), batch.At("files", first))
		}
		indices[key] = len(n.list)
		n.list = append(n.list, namedFile{item: item.ID, file: item.Files[k]})
	}
	return n, nil
}

// find returns the file that stands for a name.
func (n *namedFiles) find(name string) (*namedFile, error) {
	i, ok := n.paths[name]
	if !ok {
		base := path.Base(strings.ReplaceAll(name, `\`, "/"))
		if i, ok = n.names[base]; !ok {
			i, ok = n.names[pleat.StoredName(base)]
		}
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
		Components: func(name string, wanted []string) ([]pleat.Component, error) {
			return n.components(ctx, name, wanted)
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

// components returns those of the wanted components that a file defines: by files that stand for one each, or by one
// file with one component.
func (n *namedFiles) components(ctx context.Context, name string, wanted []string) ([]pleat.Component, error) {
	var out []pleat.Component
	add := func(code string, f *namedFile) {
		out = append(out, pleat.Component{Code: code, Item: f.item, File: f.file.Name})
	}
	for _, code := range wanted {
		if i, ok := n.paths[format.ComponentPath(name, code)]; ok {
			n.list[i].used = true
			add(code, &n.list[i])
		}
	}
	if len(out) > 0 {
		return out, nil
	}
	f, err := n.find(name)
	if err != nil {
		return nil, err
	}
	content, err := n.text(ctx, f)
	if err != nil {
		return nil, err
	}
	blocks, err := component.Split(content)
	switch {
	case err != nil:
		return nil, pleat.Invalidf("the file %q %s", pleat.Clip(f.file.Name), err)
	case len(blocks) > 1:
		return nil, pleat.Invalidf("the file %q holds %d components; upload each as a file of its own, and name it in "+
			"files with the path %q", pleat.Clip(f.file.Name), len(blocks),
			pleat.Clip(format.ComponentPath(name, blocks[0].Code)))
	}
	if slices.Contains(wanted, blocks[0].Code) {
		add(blocks[0].Code, f)
	}
	return out, nil
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
	in, _, err := n.blobs.Open(ctx, f.file.Key)
	if errors.Is(err, blob.ErrNotFound) { // deleted a moment ago
		return "", pleat.Invalidf("the file %q is gone", pleat.Clip(f.file.Name))
	}
	if err != nil {
		return "", ReadError(err)
	}
	defer in.Close()
	b, err := io.ReadAll(io.LimitReader(in, format.MaxBytes+1))
	if err != nil {
		return "", ReadError(err)
	}
	text, err := format.Decode(b)
	if err != nil {
		return "", pleat.Invalidf("the file %q %s", pleat.Clip(f.file.Name), err)
	}
	return text, nil
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
