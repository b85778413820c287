package api

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// CreateItem is the body of POST /v1/library/create ([Client.CreateItem]).
type CreateItem struct {
	Name      string          `json:"name" doc:"Name of the item." minLength:"1" maxLength:"255" example:"my-structure"`
	Type      string          `json:"type,omitempty" doc:"file: an item that can have files; folder: an item that can have children; absent: file." enum:"LibraryItemType"`
	FileType  string          `json:"fileType,omitempty" doc:"The intended type of its file, as free text." maxLength:"64" example:"pdb"`
	Origin    string          `json:"origin,omitempty" doc:"Where the item came from, as free text." maxLength:"255" example:"upload"`
	Metadata  json.RawMessage `json:"metadata,omitempty" doc:"An object, kept as given. Its key files is reserved for the service."`
	ParentID  string          `json:"parent_id,omitempty" doc:"The folder that the item is in; absent: none." format:"uuid"`
	ProjectID string          `json:"projectId,omitempty" doc:"The project that owns it; absent: that of the key, else your own." format:"uuid"`
}

// CreatedItem is the answer to [Client.CreateItem], with status 201.
type CreatedItem struct {
	ID string `json:"id" format:"uuid"`
}

// UploadedFiles is the response of POST /v1/library/{id}/upload-files.
type UploadedFiles struct {
	ID    string        `json:"id" format:"uuid"`
	Files []LibraryFile `json:"files" doc:"The files of this upload."`
}

// LibraryFile is a file of a library item.
type LibraryFile struct {
	FileName    string `json:"file_name" example:"structure.pdb"`
	ContentType string `json:"content_type" example:"chemical/x-pdb"`
	Bytes       int64  `json:"size_bytes"`
	SHA256      string `json:"sha256" doc:"SHA-256 of the file, in hexadecimal."`
	CreatedAt   Time   `json:"created_at"`
}

// LibraryRow is an item of the library in a list, or among a folder's children.
type LibraryRow struct {
	ID        string  `json:"id" format:"uuid"`
	ProjectID string  `json:"projectId" doc:"The project that owns it." format:"uuid"`
	Name      string  `json:"name"`
	Type      string  `json:"type" enum:"LibraryItemType"`
	FileType  string  `json:"fileType"`
	Origin    string  `json:"origin"`
	ParentID  *string `json:"parent_id"`
	CreatedAt Time    `json:"created_at"`
	UpdatedAt Time    `json:"updated_at"`
}

// LibraryItem is the response of GET /v1/library/{id}.
type LibraryItem struct {
	LibraryRow
	Metadata json.RawMessage `json:"metadata" doc:"As given, with files: an array of the uploaded files."`
	Children []LibraryRow    `json:"children" doc:"The items in a folder, at most 1000."`
}

// DeletedItem is the response of DELETE /v1/library/{id}.
type DeletedItem struct {
	ID      string `json:"id" format:"uuid"`
	Deleted bool   `json:"deleted"`
}

func libraryPath(id, rest string) string { return "/v1/library/" + url.PathEscape(id) + rest }

// CreateItem creates an item of the caller's library, without files, or a folder.
func (c *Client) CreateItem(ctx context.Context, i CreateItem) (CreatedItem, error) {
	i.ProjectID = c.in(i.ProjectID)
	return do[CreatedItem](ctx, c, post("/v1/library/create", i))
}

// UploadFile adds a file to an item of the caller, or replaces the one of the same name. The ending of the name decides
// its type, and the service checks that the content is of that type.
func (c *Client) UploadFile(ctx context.Context, item, name string, r io.Reader) (UploadedFiles, error) {
	var out UploadedFiles
	pr, pw := io.Pipe()
	form := multipart.NewWriter(pw)
	go func() { // ends when the request has read it all, or has closed its end
		part, err := form.CreateFormFile("files", name)
		if err == nil {
			_, err = io.Copy(part, r)
		}
		if err == nil {
			err = form.Close()
		}
		_ = pw.CloseWithError(err)
	}()
	defer pr.Close()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, strings.TrimRight(c.Base, "/")+libraryPath(item,
		"/upload-files"), pr)
	if err != nil {
		return out, fmt.Errorf("upload %s: %w", name, err)
	}
	req.Header.Set("Content-Type", form.FormDataContentType())
	if c.Key != "" {
		req.Header.Set("Authorization", "Bearer "+c.Key)
	}
	res, err := c.http().Do(req)
	if err != nil {
		return out, fmt.Errorf("upload %s: %w", name, err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return out, errorOf(res)
	}
	if err := json.NewDecoder(io.LimitReader(res.Body, maxAnswer)).Decode(&out); err != nil {
		return out, fmt.Errorf("upload %s: decode the response: %w", name, err)
	}
	return out, nil
}

// LibraryItem reads an item of the caller with its files and children.
func (c *Client) LibraryItem(ctx context.Context, id string) (LibraryItem, error) {
	return do[LibraryItem](ctx, c, get(libraryPath(id, ""), nil))
}

// LibraryFileURL returns an address under which a file of an item can be read without a key, for a day at most. It ends
// earlier if the file is replaced or deleted.
func (c *Client) LibraryFileURL(ctx context.Context, item, name string) (string, error) {
	return do[string](ctx, c, get(libraryPath("file", "/"+url.PathEscape(item)+"/"+url.PathEscape(name)), nil))
}

// Library lists the caller's items, newest first. limit 0 is 50; cursor is the NextCursor of the page before.
func (c *Client) Library(ctx context.Context, cursor string, limit int) (List[LibraryRow], error) {
	q := url.Values{}
	if cursor != "" {
		q.Set("cursor", cursor)
	}
	if limit != 0 {
		q.Set("limit", strconv.Itoa(limit))
	}
	return do[List[LibraryRow]](ctx, c, c.list("/v1/library", q))
}

// DeleteItem deletes an item with its files, or a folder with everything below it.
func (c *Client) DeleteItem(ctx context.Context, id string) (DeletedItem, error) {
	return do[DeletedItem](ctx, c, request{method: http.MethodDelete, path: libraryPath(id, "")})
}
