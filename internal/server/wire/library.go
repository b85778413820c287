package wire

import (
	"pleat/api"
	"pleat/internal/store/runs"
)

// LibraryRow returns an item of a library in a list, without its files and metadata.
func LibraryRow(i *runs.LibraryItem) api.LibraryRow {
	return api.LibraryRow{
		ID:        string(i.ID),
		ProjectID: string(i.Owner),
		Name:      i.Name,
		Type:      i.Type,
		FileType:  i.FileType,
		Origin:    i.Origin,
		ParentID:  OptionalString(i.Parent),
		CreatedAt: api.At(i.Created),
		UpdatedAt: api.At(i.Updated),
	}
}

// LibraryFile returns a file of a library item, without its key in the artifact store.
func LibraryFile(f *runs.LibraryFile) api.LibraryFile {
	return api.LibraryFile{
		FileName:    f.Name,
		ContentType: f.ContentType,
		Bytes:       f.Bytes,
		SHA256:      f.SHA256,
		CreatedAt:   api.At(f.Created),
	}
}
