package design

import (
	"encoding/json"
	"fmt"
	"strings"

	"pleat"
)

// MaxFiles is how many files a spec may see by one node.
const MaxFiles = 64

// ReadReferences reads a list of files, each with libraryItemId and fileName; nil if it is absent. Path names the list
// in messages.
func ReadReferences(raw json.RawMessage, path string) ([]Reference, error) {
	if len(raw) == 0 || string(raw) == "null" {
		return nil, nil
	}
	var list []struct {
		Item string `json:"libraryItemId"`
		Name string `json:"fileName"`
	}
	if json.Unmarshal(raw, &list) != nil {
		return nil, pleat.InvalidField(path, " must be a list of objects with libraryItemId and fileName")
	}
	if len(list) > MaxFiles {
		return nil, pleat.InvalidField(path, " has %d files; at most %d are allowed", len(list), MaxFiles)
	}
	var out []Reference
	for i, f := range list {
		at := fmt.Sprintf("%s[%d]", path, i)
		if !pleat.IsUUID(f.Item) {
			return nil, pleat.InvalidField(at+".libraryItemId", " is %q; it must be a UUID", pleat.Clip(f.Item))
		}
		if f.Name == "" || len(f.Name) > 255 {
			return nil, pleat.InvalidField(at+".fileName", " is required; it is the name by which the spec knows the file")
		}
		out = append(out, Reference{Item: pleat.ItemID(strings.ToLower(f.Item)), Name: f.Name, Field: at})
	}
	return out, nil
}
