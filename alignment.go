package pleat

import (
	"path"
	"slices"
	"strings"
)

// AlignmentUse is how far a fold uses multiple sequence alignments. A higher value includes the lower.
type AlignmentUse int

const (
	NoAlignments         AlignmentUse = iota // the model accepts none, the job refuses them, or it has nothing to align
	ReferencedAlignments                     // those that the job names, if it names any
	SearchedAlignments                       // a search makes those that the job does not name
)

// AlignmentUse returns how a fold of sequences by the model uses alignments. The parameter msaAlgorithm decides:
// MSANone in the request refuses them all, as the model's default only the search. Any other value than MSAMMseqs2 is
// one of the engine's own, for which the service searches for nothing.
func (m Model) AlignmentUse(p Params, sequences []Sequence) AlignmentUse {
	how, _ := p.Effective(m)["msaAlgorithm"].(string)
	switch {
	case !m.Has(FeatureMSA) || p.Values["msaAlgorithm"] == MSANone || len(Aligned(sequences)) == 0:
		return NoAlignments
	case how != MSAMMseqs2 || len(Proteins(sequences)) == 0:
		return ReferencedAlignments
	}
	return SearchedAlignments
}

// NamesAlignments reports whether a fold of sequences names alignments, by its parameters or its proteins.
func NamesAlignments(p Params, sequences []Sequence) bool {
	return p.Alignment() != "" || slices.ContainsFunc(sequences, func(s Sequence) bool { return s.MSA != FileRef{} })
}

// NamesFiles reports whether the job names files of the library or results of other jobs.
func (j *Job) NamesFiles() bool {
	stored := func(c Component) bool { return c.Item != "" }
	return NamesAlignments(j.Params, j.Sequences) || len(j.Constraints.Templates) > 0 ||
		slices.ContainsFunc(j.Constraints.Components, stored)
}

// IsA3M reports whether a file name has the ending of an alignment in the only form that jobs take, also compressed.
func IsA3M(name string) bool { return strings.EqualFold(path.Ext(StoredName(name)), ".a3m") }

const (
	// algorithmParam is the parameter that says how alignments are made, see Model.AlignmentUse.
	algorithmParam = "msaAlgorithm"
	// alignmentParam is the parameter that names an alignment made before, see Params.Alignment.
	alignmentParam = "alignmentId"
)

// Alignment returns the workflow whose alignments a fold uses; empty: none.
func (p Params) Alignment() WorkflowID {
	id, _ := p.Values[alignmentParam].(string)
	return WorkflowID(id)
}

// msa checks the alignment that the request gives for a sequence.
func (v *validation) msa(i int, field string) {
	s, m := &v.job.Sequences[i], v.model
	switch {
	case s.MSA == FileRef{}:
		return
	case s.Kind != Protein && s.Kind != RNA:
		v.fault(field, ": alignments are used for proteins and RNA only; remove it from this %s", s.Kind)
	case s.Kind == RNA && m.Has(FeatureMSA) && !m.Has(FeatureRNAMSA):
		v.fault(field, ": the model %q uses alignments of proteins only; remove it from this rna", m.Name)
	case !m.Has(FeatureMSA):
		v.fault(field, ": the model %q uses no alignments", m.Name)
	case v.job.Params.Values["msaAlgorithm"] == MSANone:
		v.fault(field, ": params.msaAlgorithm is %q, so that no alignment is used; leave out one of the two", MSANone)
	case !IsUUID(string(s.MSA.Item)):
		v.fault(field+".libraryItemId", " is %q; it must be the UUID of a library item", Clip(string(s.MSA.Item)))
	case s.MSA.Name != "" && (!IsA3M(s.MSA.Name) || path.Base(s.MSA.Name) != s.MSA.Name):
		v.fault(field+".fileName", " is %q; it must be the plain name of a file that ends in .a3m", Clip(s.MSA.Name))
	}
	s.MSA.Item = ItemID(strings.ToLower(string(s.MSA.Item)))
	same := func(o Sequence) bool {
		return o.Kind == s.Kind && o.Text == s.Text && o.MSA != s.MSA && o.MSA != FileRef{}
	}
	if k := slices.IndexFunc(v.job.Sequences[:i], same); k >= 0 {
		v.fault(field, ": %s has the same sequence and another alignment; give both the same", itemPath(k))
	}
	// The alignments of a job are distinguished by the letters of their sequences.
	other := func(o Sequence) bool {
		return s.Kind == RNA && o.Text == s.Text && (o.Kind == Protein || o.Kind == RNA && o.MSA == FileRef{})
	}
	if k := slices.IndexFunc(v.job.Sequences, other); k >= 0 {
		v.fault(field, ": %s is %s with the same letters and without this alignment; give all RNA of the same letters "+
			"the same one, or leave it out", itemPath(k), v.job.Sequences[k].Kind)
	}
}

// Aligned reports whether a sequence may have an alignment: a protein, for which one is searched, or RNA that names
// one.
func (s *Sequence) Aligned() bool { return s.Kind == Protein || s.Kind == RNA && s.MSA != FileRef{} }

// Aligned returns the texts of the sequences that may have an alignment, in their order, each once: those of Proteins,
// and of RNA that names one. No RNA that names one has the letters of a protein.
func Aligned(sequences []Sequence) []string { return textsOf(sequences, (*Sequence).Aligned) }

// Proteins returns the texts of the proteins among sequences in their order, each once.
func Proteins(sequences []Sequence) []string {
	return textsOf(sequences, func(s *Sequence) bool { return s.Kind == Protein })
}

// textsOf returns the texts of the sequences for which is holds, in their order, each once.
func textsOf(sequences []Sequence, is func(*Sequence) bool) []string {
	var out []string
	for i := range sequences {
		if s := &sequences[i]; is(s) && !slices.Contains(out, s.Text) {
			out = append(out, s.Text)
		}
	}
	return out
}

// FirstQueue returns the queue in which a fold by a model starts: that of MSA searches if the fold needs one, else that
// of folds.
func (j *Job) FirstQueue(m Model) string {
	if m.AlignmentUse(j.Params, j.Sequences) == SearchedAlignments {
		return SearchQueue(m.Name)
	}
	return Queue(TaskFold, m.Name)
}

// AlignmentModel is the model of a worker that makes MSA searches, in the queue of alignments that are results.
func AlignmentModel() Model {
	return Model{
		Name:      MSAMMseqs2,
		Kind:      TaskAlign,
		Title:     "MSA search",
		Engine:    MSAMMseqs2,
		Licence:   "MIT",
		WeightUse: CommercialUse,
		Device:    "cpu",
		Entities:  []EntityKind{Protein},
		Features:  []Feature{FeatureMSA, FeatureComplex, FeatureUnknown},
		MinTokens: 1,
		MaxTokens: MaxAligned,
	}
}

// Limits of an alignment.
const (
	MaxAlignedSequences = 32     // in one request
	MaxAligned          = 20_000 // their letters together
)

// OfferAlignments adds the parameters msaAlgorithm and alignmentId to a model that takes alignments, unless its engine
// defines msaAlgorithm. Searched: the service searches for alignments.
func (m *Model) OfferAlignments(searched bool) {
	if m.Kind != TaskFold || !m.Has(FeatureMSA) || m.TakesParam(algorithmParam) {
		return
	}
	s := ParamSpec{
		Name:    algorithmParam,
		Type:    ParamString,
		Default: MSANone,
		Values:  []string{MSANone},
		Doc:     "How alignments of proteins are made. This service makes none; a job may name some.",
	}
	if searched {
		s.Default, s.Values = MSAMMseqs2, []string{MSAMMseqs2, MSANone}
		s.Doc = "How alignments of proteins are made: mmseqs2 searches with the server or the program that the " +
			"operator has set up, none folds from the sequences alone."
	}
	parameter := ParamSpec{
		Name: alignmentParam,
		Type: ParamString,
		Doc: "The alignmentId of POST /v1/alignments, whose alignments are used; " +
			"proteins that it lacks are searched for.",
	}
	m.Params = append([]ParamSpec{s, parameter}, m.Params...)
}

// AlignmentsSearched reports whether the service searches for alignments for the model, as its parameter msaAlgorithm
// offers it.
func (m *Model) AlignmentsSearched() bool {
	s, ok := m.param(algorithmParam)
	return ok && slices.Contains(s.Values, MSAMMseqs2)
}

// TakeAlgorithm gives the model the parameter msaAlgorithm of another. The list of its parameters is copied.
func (m *Model) TakeAlgorithm(from *Model) {
	s, ok := from.param(algorithmParam)
	i := slices.IndexFunc(m.Params, func(p ParamSpec) bool { return p.Name == algorithmParam })
	if ok && i >= 0 {
		m.Params = slices.Clone(m.Params)
		m.Params[i] = s
	}
}

// DecideSearch makes a search, or none, the default of the model's parameter msaAlgorithm, for a run that was accepted
// so: where it runs, the default may be another. The list of parameters is copied. A default that the engine defines
// stays.
func (m *Model) DecideSearch(searched bool) {
	i := slices.IndexFunc(m.Params, func(p ParamSpec) bool { return p.Name == algorithmParam })
	if i < 0 || m.Params[i].Default != MSANone && m.Params[i].Default != MSAMMseqs2 {
		return
	}
	m.Params = slices.Clone(m.Params)
	if m.Params[i].Default = MSANone; searched {
		m.Params[i].Default = MSAMMseqs2
	}
}
