package design

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"pleat"
)

// ReadReferences reads a list of files that the spec main may name, each with libraryItemId and fileName; nil if it is
// absent. One that is named twice is returned once, and the spec itself is left out. Path names the list in messages.
func ReadReferences(raw json.RawMessage, path string, main Reference) ([]Reference, error) {
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
	if len(list) > maxFiles {
		return nil, pleat.InvalidField(path, " has %d files; at most %d are allowed", len(list), maxFiles)
	}
	out := []Reference{main}
	for i, f := range list {
		at := fmt.Sprintf("%s[%d]", path, i)
		if !pleat.IsUUID(f.Item) {
			return nil, pleat.InvalidField(at+".libraryItemId", " is %q; it must be a UUID", pleat.Clip(f.Item))
		}
		if f.Name == "" {
			return nil, pleat.InvalidField(at+".fileName", " is required; it is the file's name in the spec")
		}
		if err := checkFileName(f.Name, at+".fileName"); err != nil {
			return nil, err
		}
		out = append(out, Reference{Item: pleat.ItemID(strings.ToLower(f.Item)), Name: f.Name, Field: at})
	}
	out, err := distinct(out)
	if err != nil || len(out) == 1 {
		return nil, err
	}
	return out[1:], nil
}

// WriteGraph writes the workflow.yml of a design that was given without one: one spec, and one pipeline. Alias is the
// word for the workflow, design or boltzgen.
func WriteGraph(alias string, p *Params, main Reference, files []Reference) (string, error) {
	var b strings.Builder
	quote := func(v any) string {
		text, _ := json.Marshal(v) // cannot fail for texts and numbers
		return string(text)
	}
	b.WriteString("version: 1\njobs:\n  start:\n    type: start\n  spec:\n    type: input\n" +
		"    subType: design_specification_yml\n    inputPayload:\n")
	fmt.Fprintf(&b, "      inputYML: %s\n      inputYMLLibraryItemId: %s\n", quote(main.Name), main.Item)
	if len(files) > 0 {
		b.WriteString("      files:\n")
	}
	for _, f := range files {
		fmt.Fprintf(&b, "        - libraryItemId: %s\n          fileName: %s\n", f.Item, quote(f.Name))
	}
	fmt.Fprintf(&b, "  design:\n    type: pipeline\n    subType: %s\n    inputPayload:\n", alias)
	payload := p.Map()
	if p.Seed != "" {
		payload["seed"] = json.RawMessage(p.Seed)
	}
	for _, name := range slices.Sorted(maps.Keys(payload)) {
		fmt.Fprintf(&b, "      %s: %s\n", name, quote(payload[name]))
	}
	b.WriteString("  end:\n    type: end\nworkflows:\n  main:\n    jobs:\n      - start\n" +
		"      - spec: {requires: [start]}\n      - design: {requires: [spec]}\n      - end: {requires: [design]}\n")
	_, err := ReadGraph([]byte(b.String()))
	return b.String(), err
}
