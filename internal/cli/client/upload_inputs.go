package client

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"pleat"
	"pleat/api"
	"pleat/internal/format"
	"pleat/internal/words"
)

// uploadedInputs are files of this machine that an input names, in an item of the user's library.
type uploadedInputs struct {
	item    string // empty: there are none
	created bool   // the item was created now, not by an earlier command
	// files are the names in the item by the names in the input.
	files map[string]string
}

// uploadOrigin is the origin of the items that hold files of inputs.
const uploadOrigin = "pleat input files"

// maxItems bounds the search for an item of an earlier command, which reads the library in pages of itemPage.
const (
	maxItems = 5_000
	itemPage = 200
)

// upload uploads the alignments and structures that an input names to an item of the library, and FASTA files if the
// server is to read them. Equal files are in an item that an earlier command made, so that repeating a command makes
// the same request.
func (s *sources) upload(cmd *cobra.Command, c *api.Client, texts bool) (uploadedInputs, error) {
	out := uploadedInputs{files: map[string]string{}}
	byName := map[string]*sourceFile{} // by the name in the item
	for _, name := range s.order {
		if f := s.found[name]; f.kind != sourceText || texts {
			out.files[name] = storedName(f)
			byName[storedName(f)] = f
		}
	}
	if len(byName) == 0 {
		return out, nil
	}
	names := slices.Sorted(maps.Keys(byName))
	sum := sha256.New()
	for _, name := range names {
		fmt.Fprintf(sum, "%s %s\n", byName[name].sha256, name)
	}
	there, err := out.find(cmd.Context(), c, "input files "+hex.EncodeToString(sum.Sum(nil)[:8]))
	if err != nil {
		return out, explain(c, err)
	}
	for _, name := range names {
		if there[name] == byName[name].sha256 {
			continue
		}
		if err := upload(cmd.Context(), c, out.item, name, byName[name].open); err != nil {
			out.discard(cmd, c)
			return out, explain(c, err)
		}
	}
	return out, nil
}

// createItem creates a library item, fills it and returns its id. An item that cannot be filled is deleted.
func createItem(
	ctx context.Context, c *api.Client, in api.CreateItem, fill func(item string) error,
) (id string, err error) {
	item, err := c.CreateItem(ctx, in)
	if err != nil {
		return "", err
	}
	if err := fill(item.ID); err != nil {
		deleteItem(ctx, c, item.ID)
		return "", err
	}
	return item.ID, nil
}

// deleteItem deletes an item of this command that nothing needs any more, also after an interruption. The server keeps
// one that a workflow uses: its run has pinned it.
func deleteItem(ctx context.Context, c *api.Client, id string) {
	_, _ = c.DeleteItem(context.WithoutCancel(ctx), id)
}

// upload stores a file of this machine in a library item under a name. Open opens the file.
func upload(ctx context.Context, c *api.Client, item, name string, open func() (io.ReadCloser, error)) error {
	in, err := open()
	if err != nil {
		return err
	}
	defer in.Close()
	_, err = c.UploadFile(ctx, item, name, in)
	return err
}

// opener returns the function that opens the file of a path.
func opener(path string) func() (io.ReadCloser, error) {
	return func() (io.ReadCloser, error) { return os.Open(path) }
}

// storedName is the name of a file in the library: that of the file, made plain, with a part of its hash, since files
// of several folders may have one name.
func storedName(f *sourceFile) string {
	name := pleat.StoredName(filepath.Base(f.path))
	ext := filepath.Ext(name)
	base := strings.TrimSuffix(name, ext)
	return cmp.Or(words.Slug(base, 60), "file") + "-" + f.sha256[:8] + strings.ToLower(ext)
}

// find sets the item with a name that an earlier command made, or creates it. It returns the SHA-256 of its files by
// name.
func (b *uploadedInputs) find(ctx context.Context, c *api.Client, name string) (map[string]string, error) {
	seen := 0
	for row, err := range api.All(func(cursor string) (api.List[api.LibraryRow], error) {
		return c.Library(ctx, cursor, itemPage)
	}) {
		if err != nil {
			return nil, err
		}
		if row.Name == name && row.Origin == uploadOrigin && row.Type == "file" {
			b.item = row.ID
			return b.list(ctx, c)
		}
		if seen++; seen == maxItems {
			break
		}
	}
	created, err := c.CreateItem(ctx, api.CreateItem{Name: name, FileType: "a3m", Origin: uploadOrigin})
	b.item, b.created = created.ID, err == nil
	return nil, err
}

// list returns the SHA-256 of the files of the item.
func (b *uploadedInputs) list(ctx context.Context, c *api.Client) (map[string]string, error) {
	item, err := c.LibraryItem(ctx, b.item)
	if err != nil {
		return nil, err
	}
	var has struct {
		Files []api.LibraryFile `json:"files"`
	}
	if err := json.Unmarshal(item.Metadata, &has); err != nil {
		return nil, fmt.Errorf("read the library item %s: %w", b.item, err)
	}
	out := map[string]string{}
	for _, f := range has.Files {
		out[f.FileName] = f.SHA256
	}
	return out, nil
}

// discard deletes the item again, if this command made it.
func (b *uploadedInputs) discard(cmd *cobra.Command, c *api.Client) {
	if b.created {
		deleteItem(cmd.Context(), c, b.item)
		b.created = false
	}
}

// importFiles returns the files as a request names them.
func (b *uploadedInputs) importFiles() []api.ImportFile {
	var out []api.ImportFile
	for name, stored := range b.files {
		out = append(out, api.ImportFile{LibraryItemID: b.item, FileName: stored, Path: name})
	}
	slices.SortFunc(out, func(a, b api.ImportFile) int { return strings.Compare(a.Path, b.Path) })
	return out
}

// refer makes jobs refer to the library files that stand for the names of the input.
func (b *uploadedInputs) refer(files *format.Files) {
	files.Alignment, files.Structure, files.Components = b.file, b.file, b.components
}

// components returns those of the wanted components that were uploaded for a name of the input.
func (b *uploadedInputs) components(name string, wanted []string) (out []pleat.Component, err error) {
	for _, code := range wanted {
		if stored, ok := b.files[format.ComponentPath(name, code)]; ok {
			out = append(out, pleat.Component{Code: code, Item: pleat.ItemID(b.item), File: stored})
		}
	}
	return out, nil
}

// file returns the library file that stands for a name of the input.
func (b *uploadedInputs) file(name string) (pleat.FileRef, error) {
	stored, ok := b.files[name]
	if !ok {
		return pleat.FileRef{}, fmt.Errorf("%q was not uploaded", pleat.Clip(name))
	}
	return pleat.FileRef{Item: pleat.ItemID(b.item), Name: stored}, nil
}
