package engine

import (
	"fmt"

	"pleat"
)

// The inputs of docs/runner-protocol.md.

type foldInput struct {
	Name        string             `json:"name"`
	Complex     bool               `json:"complex"`
	Sequences   []sequenceInput    `json:"sequences"`
	Constraints *pleat.Constraints `json:"constraints,omitempty"`
}

type sequenceInput struct {
	Kind          pleat.EntityKind     `json:"kind"`
	Text          string               `json:"sequence"`
	Chains        []string             `json:"chains"`
	Label         string               `json:"label,omitempty"`
	PropertyType  string               `json:"property_type,omitempty"`
	Cyclic        bool                 `json:"cyclic,omitempty"`
	CCD           bool                 `json:"is_ccd,omitempty"`
	Modifications []pleat.Modification `json:"modifications,omitempty"`
}

type qnaInput struct {
	Question  string   `json:"question"`
	Predicted bool     `json:"predicted"`
	Model     string   `json:"model,omitempty"`
	PTM       *float64 `json:"ptm,omitempty"`
	IPTM      *float64 `json:"iptm,omitempty"`
}

type mdInput struct {
	Preset   string  `json:"preset"`
	Profile  string  `json:"profile,omitempty"`
	Sequence string  `json:"sequence,omitempty"`
	Temp     float64 `json:"temp"`
	Ionic    float64 `json:"ionic"`
	PH       float64 `json:"ph"`
	StepNs   float64 `json:"step_ns"`
	LengthNs float64 `json:"length_ns"`
	BoxNm    float64 `json:"box_nm"`
	Termini  string  `json:"termini,omitempty"`
}

// pieces are the predictions that the work needs: one, or one per sequence where the model folds each on its own.
func (t *turn) pieces() ([]*piece, *pleat.Failure) {
	switch {
	case t.work.Fold != nil:
		return t.folds(), nil
	case t.work.QnA != nil:
		q := t.work.QnA
		return []*piece{{input: qnaInput{q.Question, q.Predicted, q.Model, q.PTM, q.IPTM}, files: structureFiles(q.File, q.PAE)}}, nil
	case t.work.MD != nil:
		m := t.work.MD
		return []*piece{{input: mdInput{m.Preset, m.Profile, m.Sequence, m.Temp, m.Ionic, m.PH, m.StepNs, m.LengthNs, m.BoxNm, m.Termini},
			files: structureFiles(m.File, m.PAE)}}, nil
	}
	return nil, pleat.Failed(pleat.FailUnsupported, fmt.Sprintf("the engine %s does not do this kind of work", t.Manifest.Engine))
}

func structureFiles(file, pae string) []inputFile {
	var out []inputFile
	if file != "" {
		out = append(out, inputFile{kind: "structure", path: file})
	}
	if pae != "" {
		out = append(out, inputFile{kind: "pae", path: pae})
	}
	return out
}

func (t *turn) folds() []*piece {
	f := t.work.Fold
	in := func(all []pleat.Sequence, together bool) *piece {
		v := foldInput{Name: f.Name, Complex: together}
		for _, s := range all {
			v.Sequences = append(v.Sequences, sequenceInput{s.Kind, s.Text, s.Chains, s.Label, s.PropertyType, s.Cyclic, s.CCD, s.Modifications})
		}
		if !f.Constraints.Empty() {
			v.Constraints = &pleat.Constraints{Pocket: f.Constraints.Pocket, Bond: f.Constraints.Bond, Contact: f.Constraints.Contact}
		}
		return &piece{input: v, sequences: all}
	}
	if t.work.Model.Has(pleat.FeatureComplex) {
		whole := in(f.Sequences, f.Complex)
		for _, a := range f.Alignments {
			whole.files = append(whole.files, alignmentFiles(a, a.Sequence)...)
		}
		return []*piece{whole}
	}
	var out []*piece
	for i, s := range f.Sequences {
		s.Chains = s.Chains[:1]
		alone := in([]pleat.Sequence{s}, false)
		for _, a := range f.Alignments {
			if a.Sequence == i {
				a.Paired = "" // with whom
				alone.files = append(alone.files, alignmentFiles(a, 0)...)
			}
		}
		out = append(out, alone)
	}
	return out
}

func alignmentFiles(a pleat.Alignment, sequence int) []inputFile {
	var out []inputFile
	if a.File != "" {
		out = append(out, inputFile{kind: "msa", path: a.File, sequence: &sequence})
	}
	if a.Paired != "" {
		out = append(out, inputFile{kind: "msa_paired", path: a.Paired, sequence: &sequence})
	}
	return out
}
