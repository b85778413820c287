package wire

import (
	"pleat/api"
	"pleat/internal/submit"
)

// ToContent converts the text of a file of another program, with the files of the library that stand for the names in
// it.
func ToContent(text, format string, files []api.ImportFile) submit.Content {
	out := submit.Content{Text: text, Format: format}
	if files != nil {
		out.Files = make([]submit.LibraryFileAs, 0, len(files)) // an empty list is not an absent one
	}
	for _, f := range files {
		out.Files = append(out.Files, submit.LibraryFileAs{Item: f.LibraryItemID, Name: f.FileName, Path: f.Path})
	}
	return out
}
