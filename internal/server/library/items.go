package library

import (
	"context"
	"encoding/json"
	"net/url"
	"strconv"
	"time"
	"unicode/utf8"

	"pleat"
	"pleat/api"
	"pleat/internal/seal"
	"pleat/internal/server/route"
	"pleat/internal/server/wire"
	"pleat/internal/store/runs"
)

// MaxMetadata bounds the metadata of a library item, in bytes: they are read with every item of a list.
const MaxMetadata = 32 << 10

// createItem is POST /v1/library/create, for any user: it creates an item without files, or a folder, and answers 201.
// 400: a field is wrong or the parent is not a folder; 404: the caller has no such parent.
func (h *Handlers) createItem(ctx context.Context, c *route.Call, in *api.CreateItem) (api.CreatedItem, error) {
	if err := c.EnterNamed(ctx, in.ProjectID); err != nil {
		return api.CreatedItem{}, err
	}
	i := runs.LibraryItem{
		Owner:    c.In.Project,
		Name:     in.Name,
		Type:     in.Type,
		FileType: in.FileType,
		Origin:   in.Origin,
		Parent:   pleat.ItemID(in.ParentID),
	}
	if i.Type == "" {
		i.Type = "file"
	}
	if err := pleat.CheckName("name", in.Name); err != nil {
		return api.CreatedItem{}, err
	}
	if i.Type != "file" && i.Type != "folder" {
		return api.CreatedItem{}, pleat.InvalidField("type", " is %q; it may be file or folder", pleat.Clip(i.Type))
	}
	for _, f := range []struct {
		name, value string
		most        int
	}{{"fileType", in.FileType, 64}, {"origin", in.Origin, 255}} {
		if n := utf8.RuneCountInString(f.value); n > f.most {
			return api.CreatedItem{}, pleat.InvalidField(f.name, " has %d characters; at most %d are allowed", n,
				f.most)
		}
		if err := pleat.CheckPrintable(f.name, f.value); err != nil {
			return api.CreatedItem{}, err
		}
	}
	if i.Parent != "" && !pleat.IsUUID(in.ParentID) {
		return api.CreatedItem{}, pleat.InvalidField("parent_id", " is %q; it must be a UUID", pleat.Clip(in.ParentID))
	}
	var err error
	if i.Metadata, err = checkMetadata(in.Metadata); err != nil {
		return api.CreatedItem{}, err
	}
	i, err = h.Runs.CreateItem(ctx, c.In, i)
	return api.CreatedItem{ID: string(i.ID)}, err
}

// checkMetadata returns the metadata of a new item as they are stored: an object of at most MaxMetadata bytes.
func checkMetadata(raw json.RawMessage) (json.RawMessage, error) {
	if len(raw) == 0 || string(raw) == "null" {
		return json.RawMessage("{}"), nil
	}
	if len(raw) > MaxMetadata {
		return nil, pleat.InvalidField("metadata", " has %d bytes; at most %d are allowed", len(raw), MaxMetadata)
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal(raw, &all); err != nil {
		return nil, pleat.InvalidField("metadata", " must be an object")
	}
	return raw, nil
}

// listLibrary is GET /v1/library, for any user: the caller's items of all folders, newest first, in pages.
func (h *Handlers) listLibrary(ctx context.Context, c *route.Call) (api.List[api.LibraryRow], error) {
	p, err := c.PageQuery(50)
	if err != nil {
		return api.List[api.LibraryRow]{}, err
	}
	rows, err := h.Runs.Items(ctx, c.In, p.Before, p.Limit+1)
	if err != nil {
		return api.List[api.LibraryRow]{}, err
	}
	return route.List(p, rows, func(i *runs.LibraryItem) string { return string(i.ID) }, wire.LibraryRow), nil
}

// ownItem reads the library item in the path, if it is of a project in which the caller has a role.
func (h *Handlers) ownItem(ctx context.Context, c *route.Call) (runs.LibraryItem, error) {
	id, err := c.UUID("id", runs.ErrNoItem)
	if err != nil {
		return runs.LibraryItem{}, err
	}
	return h.Runs.Item(ctx, c.Reach(), pleat.ItemID(id))
}

// viewItem is GET /v1/library/{id}, for its owner: an item with its children. The metadata are those of the request
// that created it, except for the key files, which lists the uploaded files.
func (h *Handlers) viewItem(ctx context.Context, c *route.Call) (api.LibraryItem, error) {
	i, err := h.ownItem(ctx, c)
	if err != nil {
		return api.LibraryItem{}, err
	}
	out := api.LibraryItem{LibraryRow: wire.LibraryRow(&i), Children: []api.LibraryRow{}}
	for k := range i.Children {
		out.Children = append(out.Children, wire.LibraryRow(&i.Children[k]))
	}
	all := map[string]any{}
	if err := json.Unmarshal(i.Metadata, &all); err != nil {
		return out, err
	}
	files := []api.LibraryFile{}
	for k := range i.Files {
		files = append(files, wire.LibraryFile(&i.Files[k]))
	}
	all["files"] = files
	out.Metadata, err = api.Encode(all)
	return out, err
}

// deleteItem is DELETE /v1/library/{id}, for its owner: it deletes an item, or a folder with everything below it, and
// their files. Links to the files end at once.
func (h *Handlers) deleteItem(ctx context.Context, c *route.Call) (api.DeletedItem, error) {
	id, err := c.UUID("id", runs.ErrNoItem)
	if err != nil {
		return api.DeletedItem{}, err
	}
	blobs, err := h.Runs.DeleteItem(ctx, c.Reach(), pleat.ItemID(id))
	if err != nil {
		return api.DeletedItem{}, err
	}
	h.Cleaner.Unused(ctx, blobs...)
	return api.DeletedItem{ID: id, Deleted: true}, nil
}

// fileLabel is the label from which the signing key of links to library files is derived. Another key signs links to
// artifacts, so a signature of one kind is not valid for the other.
const fileLabel = "library file"

// FileURL returns a URL that reads a library file without a credential, for links.For from now on. The signature covers
// the file's hash, so the link ends when the file is deleted or replaced.
func FileURL(links seal.Links, now time.Time, item pleat.ItemID, f *runs.LibraryFile) string {
	until := strconv.FormatInt(now.Add(links.For).Unix(), 10)
	return links.Base + "/v1/files/" + string(item) + "/" + url.PathEscape(f.Name) + "?e=" + until + "&s=" +
		links.Ring.Sign(fileLabel, string(item), f.Name, f.SHA256, until)
}

// libraryFileURL is GET /v1/library/file/{id}/{name}, for the owner of the item: a signed link to a file, as a JSON
// string.
func (h *Handlers) libraryFileURL(ctx context.Context, c *route.Call) (string, error) {
	i, err := h.ownItem(ctx, c)
	if err != nil {
		return "", err
	}
	f, err := fileNamed(&i, c.R.PathValue("name"))
	if err != nil {
		return "", err
	}
	return FileURL(h.Files.Links, c.Now(), i.ID, f), nil
}

// fileNamed returns the file of an item by its name.
func fileNamed(i *runs.LibraryItem, name string) (*runs.LibraryFile, error) {
	for k := range i.Files {
		if i.Files[k].Name == name {
			return &i.Files[k], nil
		}
	}
	return nil, pleat.Errorf(pleat.CodeNotFound, "the library item has no file with this name")
}

// libraryFileGet is GET /v1/files/{id}/{name}, for everyone who has the signed link: a library file. 401: the
// signature is wrong or the link has expired; 404: the item or the file is gone.
func (h *Handlers) libraryFileGet(ctx context.Context, c *route.Call) error {
	id, err := c.UUID("id", runs.ErrNoItem)
	if err != nil {
		return err
	}
	q, name := c.R.URL.Query(), c.R.PathValue("name")
	until := q.Get("e")
	end, err := strconv.ParseInt(until, 10, 64)
	if err != nil {
		return pleat.ErrUnauthorized
	}
	i, err := h.Runs.SignedItem(ctx, pleat.ItemID(id))
	if err != nil {
		return err
	}
	f, err := fileNamed(&i, name)
	if err != nil {
		return err
	}
	if !h.Files.Links.Ring.Verify(fileLabel, q.Get("s"), id, f.Name, f.SHA256, until) {
		return pleat.ErrUnauthorized
	}
	if c.Now().Unix() >= end {
		return pleat.Errorf(pleat.CodeUnauthorized,
			"This link has expired; GET /v1/library/file/%s/… returns a new one",
			id)
	}
	c.W.Header().Set("Cache-Control", "private, max-age=300, must-revalidate")
	return h.Files.Send(ctx, c, &pleat.Artifact{
		ID:          pleat.ArtifactID(i.ID),
		ContentType: f.ContentType,
		Bytes:       f.Bytes,
		SHA256:      f.SHA256,
		Key:         f.Key,
		CreatedAt:   f.Created,
	}, f.Name)
}
