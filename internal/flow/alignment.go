package flow

import (
	"encoding/json"
	"strings"

	"pleat"
	"pleat/internal/msa"
)

// AlignmentInput is the input of an alignment workflow.
type AlignmentInput struct {
	Sequences []string        `json:"sequences"`
	Pairing   string          `json:"pairing,omitempty"`
	Webhooks  json.RawMessage `json:"webhooks,omitempty"`
}

// ParseAlignment is [Parse] for an [AlignmentInput] that is the request itself: its faults and notes name sequences,
// not workflow_input.sequences.
func ParseAlignment(input json.RawMessage) (Plan, error) {
	return parse(Plan{Alias: pleat.AliasAlignment}, input, "")
}

// readAlignment reads the proteins to align and how their rows are paired.
func readAlignment(f *fields, p *Plan) {
	p.Source.Kind = SourceNone
	pairings := make([]string, len(msa.Pairings))
	for i, name := range msa.Pairings {
		pairings[i] = string(name)
	}
	p.Align = &pleat.AlignInput{Pairing: f.enum("pairing", "", pairings)}
	field := f.pathOf("sequences")
	var texts []string
	if raw := f.raw("sequences"); raw != nil && json.Unmarshal(raw, &texts) != nil {
		f.fail(field, " must be an array of strings, one for each protein")
		return
	}
	switch n := len(texts); {
	case n == 0:
		f.fail(field, " is required; it must hold at least one protein")
		return
	case n > pleat.MaxAlignedSequences:
		f.fail(field, " has %d entries; at most %d are allowed", n, pleat.MaxAlignedSequences)
		return
	}
	job := pleat.Job{Name: pleat.AliasAlignment, Params: pleat.Params{Model: pleat.MSAMMseqs2}}
	for _, text := range texts {
		job.Sequences = append(job.Sequences, pleat.Sequence{Kind: pleat.Protein, Text: text})
	}
	err := job.Validate(pleat.AlignmentModel())
	pathOf := func(field string) string { // a protein here is its text
		return strings.TrimSuffix(f.pathOf(field), ".proteinChain.sequence")
	}
	for _, fault := range pleat.ErrorsOf(err) {
		path := pathOf(fault.Field)
		f.refuse(&pleat.Error{
			Code:    fault.Code,
			Field:   path,
			Message: strings.Replace(fault.Message, fault.Field, path, 1),
		})
	}
	for _, note := range job.Notes {
		*f.notes = append(*f.notes, pleat.Note{Field: pathOf(note.Field), Message: note.Message})
	}
	p.Align.Sequences = job.Sequences
}

// AlignedProtein is a protein in the row of an alignment. Depth and Paired count rows, the protein included.
type AlignedProtein struct {
	Chain    string `json:"chain"`
	Residues int    `json:"residues"`
	Depth    int    `json:"depth"`
	File     string `json:"file"`        // path of the A3M file among the artifacts
	Paired   int    `json:"pairedDepth"` // 0: it has no paired rows
	PairFile string `json:"pairedFile,omitempty"`
}

// alignmentRow is the row of an alignment.
type alignmentRow struct {
	Proteins  []AlignedProtein `json:"proteins"` // in the order of the input
	Artifacts []RowFile        `json:"artifacts"`
}

// AlignmentRow returns the row of an alignment with its files.
func AlignmentRow(proteins []AlignedProtein, files []RowFile) (json.RawMessage, error) {
	return encode(alignmentRow{Proteins: proteins, Artifacts: files})
}

// AlignedProteins reads the proteins of an alignment's row.
func AlignedProteins(row json.RawMessage) ([]AlignedProtein, error) {
	var r alignmentRow
	err := json.Unmarshal(row, &r)
	return r.Proteins, err
}
