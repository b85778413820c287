package runner

import (
	"fmt"
	"os"

	"pleat"
	"pleat/internal/chem"
)

// predictRequest is one message predict and its result. A fold by a model for single chains has one per sequence.
type predictRequest struct {
	input     any              // foldInput, qnaInput or mdInput
	sequences []pleat.Sequence // of a fold
	files     []inputFile
	dir       string   // folder of the request, except while the process works in it
	workdir   string   // where it is then, in the scratch folder of the process
	folder    *os.Root // the folder itself, wherever it is
	result    *wireResult
}

// inputFile is a file that the process reads.
type inputFile struct {
	kind     string
	path     string // below the folder of the work
	sequence *int   // index of the sequence that it belongs to; nil: none
	// For a template: the chain of the job, and whether the chain is held within a distance in Å of it.
	chain    string
	force    bool
	distance float64
	code     string // of a component
}

// foldInput is the input of a fold. It and the types below are sent as they are; docs/runner-protocol.md describes the
// fields.
type foldInput struct {
	Name        string             `json:"name"`
	Complex     bool               `json:"complex"` // fold all chains together
	Sequences   []sequenceInput    `json:"sequences"`
	Constraints *pleat.Constraints `json:"constraints,omitempty"`
	Components  []componentInput   `json:"components,omitempty"`
}

// componentInput is a molecule of the job's own by its SMILES, which stands for an entry of the Chemical Component
// Dictionary.
type componentInput struct {
	Code   string   `json:"code"`
	SMILES string   `json:"smiles"` // without the names of the atoms
	Atoms  []string `json:"atoms"`  // their names, in the order of the SMILES
	// Leaving are the names of the atoms that are absent from a residue within a chain.
	Leaving []string `json:"leaving,omitempty"`
}

// sequenceInput is one sequence of a fold, with the names of its chains.
type sequenceInput struct {
	Kind          pleat.EntityKind     `json:"kind"`
	Text          string               `json:"sequence"` // residues, CCD code or SMILES
	Chains        []string             `json:"chains"`
	Label         string               `json:"label,omitempty"`
	PropertyType  string               `json:"property_type,omitempty"` // affinity, or empty
	Cyclic        bool                 `json:"cyclic,omitempty"`
	CCD           bool                 `json:"is_ccd,omitempty"`
	Modifications []pleat.Modification `json:"modifications,omitempty"`
}

// qnaInput is a question about the structure among the files.
type qnaInput struct {
	Question  string   `json:"question"`
	Predicted bool     `json:"predicted"`       // a model predicted the structure
	Model     string   `json:"model,omitempty"` // that predicted it
	PTM       *float64 `json:"ptm,omitempty"`
	IPTM      *float64 `json:"iptm,omitempty"`
}

// mdInput is a simulation of the structure among the files, or of a sequence.
type mdInput struct {
	Preset   string  `json:"preset"`
	Profile  string  `json:"profile,omitempty"`
	Sequence string  `json:"sequence,omitempty"`
	Temp     float64 `json:"temp"`  // K
	Ionic    float64 `json:"ionic"` // mol/l
	PH       float64 `json:"ph"`
	StepNs   float64 `json:"step_ns"`   // between two frames
	LengthNs float64 `json:"length_ns"` // of the simulation
	BoxNm    float64 `json:"box_nm"`    // edge of the cubic box
	Termini  string  `json:"termini,omitempty"`
}

// requests returns the requests that the work needs: one, or one per sequence if the model folds each on its own. The
// failure says that the engine does not do this kind of work.
func (a *runnerAttempt) requests() ([]*predictRequest, *pleat.Failure) {
	switch {
	case a.work.Fold != nil:
		return a.foldRequests(), nil
	case a.work.QnA != nil:
		q := a.work.QnA
		in := qnaInput{
			Question:  q.Question,
			Predicted: q.Predicted,
			Model:     q.Model,
		}
		if s := q.Scores; s != nil {
			in.PTM, in.IPTM = s.PTM, s.IPTM
		}
		return []*predictRequest{{input: in, files: structureFiles(q.File, q.PAE)}}, nil
	case a.work.MD != nil:
		m := a.work.MD
		in := mdInput{
			Preset:   m.Preset,
			Profile:  m.Profile,
			Sequence: m.Sequence,
			Temp:     m.Temp,
			Ionic:    m.Ionic,
			PH:       m.PH,
			StepNs:   m.StepNs,
			LengthNs: m.LengthNs,
			BoxNm:    m.BoxNm,
			Termini:  m.Termini,
		}
		return []*predictRequest{{input: in, files: structureFiles(m.File, m.PAE)}}, nil
	}
	if a.work.Design != nil {
		return []*predictRequest{designRequest(a.work.Design)}, nil
	}
	message := fmt.Sprintf("the engine %s does not do this kind of work", a.Manifest.Engine)
	return nil, pleat.Failed(pleat.FailUnsupported, message)
}

// structureFiles returns a structure and its PAE as input files. Either may be empty.
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

// foldRequests returns one request if the model folds complexes, else one per sequence with a single chain.
func (a *runnerAttempt) foldRequests() []*predictRequest {
	f := a.work.Fold
	if a.work.Model.Limits.VariableDomains {
		folded, heavyFirst, notes := pleat.VariableDomains(f.Sequences)
		a.notes = append(a.notes, notes.Texts()...)
		request := foldRequest(f, heavyFirst)
		request.sequences = folded
		return []*predictRequest{request}
	}
	if a.work.Model.Has(pleat.FeatureComplex) {
		request := foldRequest(f, f.Sequences)
		for _, al := range f.Alignments {
			request.files = append(request.files, alignmentFiles(al, al.Sequence)...)
		}
		for i := range f.Templates {
			request.files = append(request.files, templateFile(f, &f.Templates[i], f.Templates[i].Sequence))
		}
		return []*predictRequest{request}
	}
	var out []*predictRequest
	for i, s := range f.Sequences {
		s.Chains = s.Chains[:1]
		alone := *f
		alone.Complex = false
		q := foldRequest(&alone, []pleat.Sequence{s})
		for _, al := range f.Alignments {
			if al.Sequence == i {
				al.Paired = "" // there is no other sequence in the request
				q.files = append(q.files, alignmentFiles(al, 0)...)
			}
		}
		for k := range f.Templates {
			if f.Templates[k].Sequence == i {
				q.files = append(q.files, templateFile(f, &f.Templates[k], 0))
			}
		}
		out = append(out, q)
	}
	return out
}

// foldRequest returns the request to fold some sequences of a job, without alignments and templates.
func foldRequest(f *pleat.FoldInput, sequences []pleat.Sequence) *predictRequest {
	in := foldInput{Name: f.Name, Complex: f.Complex}
	for _, s := range sequences {
		in.Sequences = append(in.Sequences, sequenceInput{
			Kind:          s.Kind,
			Text:          s.Text,
			Chains:        s.Chains,
			Label:         s.Label,
			PropertyType:  s.PropertyType,
			Cyclic:        s.Cyclic,
			CCD:           s.CCD,
			Modifications: s.Modifications,
		})
	}
	if c := f.Constraints.Structural(); !c.Empty() {
		in.Constraints = &c
	}
	for i := range f.Constraints.Components {
		if c := &f.Constraints.Components[i]; c.SMILES != "" {
			in.Components = append(in.Components, componentOf(c))
		}
	}
	out := &predictRequest{input: in, sequences: sequences}
	for _, c := range f.Components {
		out.files = append(out.files, inputFile{kind: "component", path: c.File, code: c.Code})
	}
	return out
}

// componentOf returns a component of a SMILES as a runner gets it.
func componentOf(c *pleat.Component) componentInput {
	out := componentInput{Code: c.Code}
	var atoms []chem.Atom
	out.SMILES, atoms = c.Molecule()
	for i := range atoms {
		out.Atoms = append(out.Atoms, atoms[i].Name)
		if atoms[i].Leaving {
			out.Leaving = append(out.Leaving, atoms[i].Name)
		}
	}
	return out
}

// templateFile returns the file of a template for the sequence with an index in the request.
func templateFile(f *pleat.FoldInput, t *pleat.FoldTemplate, sequence int) inputFile {
	template := &f.Constraints.Templates[t.Template]
	return inputFile{
		kind:     "template",
		path:     t.File,
		sequence: &sequence,
		chain:    t.Chain,
		force:    template.Force,
		distance: template.MaxDistance,
	}
}

// alignmentFiles returns the files of an alignment (a3m) for the sequence with an index in the request: the rows of its
// own search, and those that are paired with other sequences.
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
