package library

import (
	"pleat"
	"pleat/api"
	"pleat/internal/server/openapi"
	"pleat/internal/server/route"
)

// Routes returns the routes of the callers' libraries of files. Nobody reads the library of another user, except a
// file by its signed link.
func (h *Handlers) Routes() []route.Route {
	return route.InSection("Library", []route.Route{
		{
			ID:      "createLibraryItem",
			Pattern: "POST /v1/library/create",
			Who:     route.User(pleat.ScopeSubmit),
			Cost:    route.CostNewWork,
			Summary: "Create an item in your library",
			Handler: route.JSONBody(route.Small, h.createItem).Created(),
			Errors:  []int{404, 409},
		},
		{
			ID:      "listLibraryItems",
			Pattern: "GET /v1/library",
			Who:     route.User(pleat.ScopeRead),
			Summary: "List your library, newest first",
			Handler: route.NoBody(h.listLibrary),
			Query:   append(route.PageParams(50), route.InProject...),
		},
		{
			ID:      "getLibraryItem",
			Pattern: "GET /v1/library/{id}",
			Who:     route.User(pleat.ScopeRead),
			Summary: "Read an item",
			Handler: route.NoBody(h.viewItem),
		},
		{
			ID:      "deleteLibraryItem",
			Pattern: "DELETE /v1/library/{id}",
			Who:     route.User(pleat.ScopeManage),
			Summary: "Delete an item with its files",
			Handler: route.NoBody(h.deleteItem),
		},
		{
			ID:      "uploadLibraryFiles",
			Pattern: "POST /v1/library/{id}/upload-files",
			Who:     route.User(pleat.ScopeSubmit),
			Cost:    route.CostNewWork,
			Summary: "Upload files into an item, as multipart/form-data in the field files",
			Handler: route.Uploads[api.UploadedFiles](h.uploadFiles),
			Errors:  []int{409},
		},
		{
			ID:      "getLibraryFileLink",
			Pattern: "GET /v1/library/file/{id}/{name}",
			Who:     route.User(pleat.ScopeRead),
			Summary: "Get a download link for a file, valid for a day at most",
			Handler: route.NoBody(h.libraryFileURL),
		},
		{
			ID:      "downloadLibraryFile",
			Pattern: "GET /v1/files/{id}/{name}",
			Who:     route.Open(),
			Cost:    route.CostOpen,
			Summary: "Download a library file by its signed link",
			Handler: route.Streams(openapi.Binary("application/octet-stream", "The file."), h.libraryFileGet),
			Errors:  []int{401},
			Query:   route.SignatureParams("When the link expires, in seconds since 1970."),
		},
	})
}
