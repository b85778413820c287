package flow

import (
	"encoding/json"
	"fmt"
	"strings"

	"pleat"
	"pleat/api"
)

// Comparison is the input of a comparison.
type Comparison struct {
	Of        []StructureSource
	Reference int    // position of the reference, counted from 1; 0: none
	Field     string // path of Of in the request, for messages
}

// ParseComparison is [Parse] for the input of a comparison whose fields are those of the request itself.
func ParseComparison(input json.RawMessage) (Plan, error) {
	return parse(Plan{Alias: pleat.AliasCompare}, input, "")
}

// readComparison reads a comparison into p.
func readComparison(f *fields, p *Plan) {
	c := &Comparison{Field: f.pathOf("of")}
	p.Compare = c
	if f.raws == nil {
		return // it is no object, which is the only fault
	}
	var entries []string
	if raw := f.raw("of"); raw == nil {
		f.fail(f.pathOf("of"), " is required; it must be a list such as [\"job:ID\", \"library:ID\"]")
	} else if json.Unmarshal(raw, &entries) != nil {
		f.fail(f.pathOf("of"), " must be a list of strings such as job:ID")
	}
	reference := f.number("reference", 0)
	hasReference := f.raw("reference") != nil
	if !f.ok("of", "reference") {
		return
	}
	var err error
	if c.Of, err = ParseCompared(entries, f.pathOf("of")); err != nil {
		f.refuse(err)
		return
	}
	c.Reference = int(reference)
	if hasReference && (reference != float64(c.Reference) || c.Reference < 1 || c.Reference > len(entries)) {
		f.fail(f.pathOf("reference"), " is %v; it must be a whole number from 1 to %d, the position of a structure",
			reference, len(entries))
	}
}

// ParseCompared reads what a comparison names, in a field. An error is a [pleat.Errors] with CodeInvalid, one for each
// entry that is wrong.
func ParseCompared(entries []string, field string) ([]StructureSource, error) {
	if len(entries) < pleat.MinCompared || len(entries) > pleat.MaxCompared {
		return nil, pleat.InvalidField(field, " names %d structures; it must name %d to %d", len(entries),
			pleat.MinCompared, pleat.MaxCompared)
	}
	var out []StructureSource
	var faults pleat.Errors
	for i, text := range entries {
		s, err := parseOneCompared(text, fmt.Sprintf("%s[%d]", field, i))
		if err := faults.Add(err); err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	return out, faults.Err()
}

// maxCompared bounds one entry of a comparison, in bytes.
const maxCompared = 512

// parseOneCompared reads one entry of a comparison.
func parseOneCompared(text, field string) (StructureSource, error) {
	kind, rest, _ := strings.Cut(text, ":")
	id, part, hasPart := strings.Cut(rest, "/")
	var s StructureSource
	switch {
	case len(text) > maxCompared:
		return s, pleat.InvalidField(field, " has %d bytes; at most %d are allowed", len(text), maxCompared)
	case kind != "job" && kind != "library" && kind != "pdb":
		return s, pleat.InvalidField(field, " is %q; it must be job:ID, job:ID/SAMPLE, library:ID, library:ID/FILE or "+
			"pdb:ID", pleat.Clip(text))
	case kind == "pdb":
		s.Kind, s.ID = SourcePDB, strings.ToUpper(rest)
		if !pleat.IsPDBID(s.ID) {
			return s, pleat.InvalidField(field, " is %q; after pdb: it must have a PDB id such as 1UBQ",
				pleat.Clip(text))
		}
		return s, nil
	case !pleat.IsUUID(id):
		return s, pleat.InvalidField(field, " is %q; after %s: it must have a UUID", pleat.Clip(text), kind)
	case hasPart && (part == "" || !safeName(part)):
		return s, pleat.InvalidField(field, " is %q; after / it must have the plain name of a file", pleat.Clip(text))
	}
	id = strings.ToLower(id)
	if kind == "job" {
		s.Kind, s.Fold.Job, s.Sample = SourceFold, pleat.JobID(id), part
	} else {
		s.Kind, s.Structure = SourceLibrary, pleat.FileRef{Item: pleat.ItemID(id), Name: part}
	}
	return s, nil
}

// Compared returns the entry of a comparison that a source was read from, and its kind: job, library or pdb.
func (s StructureSource) Compared() (entry, kind string) {
	switch s.Kind {
	case SourceFold:
		entry, kind = "job:"+string(s.Fold.Job), "job"
		if s.Sample != "" {
			entry += "/" + s.Sample
		}
	case SourceLibrary:
		entry, kind = "library:"+string(s.Structure.Item), "library"
		if s.Structure.Name != "" {
			entry += "/" + s.Structure.Name
		}
	default:
		entry, kind = "pdb:"+s.ID, "pdb"
	}
	return entry, kind
}

// publicCompared returns what anybody may know of an entry of a comparison: its kind, and the id of an entry of the
// Protein Data Bank.
func publicCompared(entry string) string {
	kind, _, _ := strings.Cut(entry, ":")
	if kind == "pdb" {
		return entry
	}
	return kind
}

// RemoveCompared replaces what a comparison names, in an input given by its fields, by what anybody may know of it.
func RemoveCompared(input map[string]json.RawMessage) error {
	var entries []string
	if input["of"] == nil || json.Unmarshal(input["of"], &entries) != nil {
		delete(input, "of")
		return nil
	}
	for i := range entries {
		entries[i] = publicCompared(entries[i])
	}
	var err error
	input["of"], err = encode(entries)
	return err
}

// publicComparison returns the row of a comparison without the ids, names and files of what is not public.
func publicComparison(row json.RawMessage) (json.RawMessage, error) {
	var c api.Comparison
	if err := json.Unmarshal(row, &c); err != nil {
		return nil, fmt.Errorf("read row: %w", err)
	}
	for i := range c.Structures {
		s := &c.Structures[i]
		if s.Of = publicCompared(s.Of); s.Kind == "pdb" {
			continue
		}
		s.Name = fmt.Sprintf("Structure %d", i+1)
		s.File, s.JobID, s.JobRunID, s.LibraryItemID = nil, nil, nil, nil
	}
	return encode(c)
}
