package pleat

import "slices"

// AlignmentUse is how far a fold uses multiple sequence alignments of its proteins. A higher value includes the lower.
type AlignmentUse int

const (
	NoAlignments       AlignmentUse = iota // the model accepts none, the job refuses them, or it has no protein
	LibraryAlignments                      // those of the job's library item, if it has any
	SearchedAlignments                     // a search makes those that the library item does not have
)

// AlignmentUse returns how a fold of sequences by the model uses alignments. The parameter msaAlgorithm decides:
// MSANone in the request refuses them all, as the model's default only the search.
func (m Model) AlignmentUse(p Params, sequences []Sequence) AlignmentUse {
	how, _ := p.Effective(m)["msaAlgorithm"].(string)
	switch {
	case !m.Has(FeatureMSA) || p.Values["msaAlgorithm"] == MSANone || len(Proteins(sequences)) == 0:
		return NoAlignments
	case how == "" || how == MSANone:
		return LibraryAlignments
	}
	return SearchedAlignments
}

// Proteins returns the texts of the proteins among sequences in their order, each once.
func Proteins(sequences []Sequence) []string {
	var out []string
	for _, s := range sequences {
		if s.Kind == Protein && !slices.Contains(out, s.Text) {
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

// OfferAlignments adds the parameter msaAlgorithm to a model that takes alignments, unless its engine defines it.
// Searched: the service searches for alignments.
func (m *Model) OfferAlignments(searched bool) {
	own := func(s ParamSpec) bool { return s.Name == "msaAlgorithm" }
	if m.Kind != TaskFold || !m.Has(FeatureMSA) || slices.ContainsFunc(m.Params, own) {
		return
	}
	s := ParamSpec{
		Name:    "msaAlgorithm",
		Type:    ParamString,
		Default: MSANone,
		Values:  []string{MSANone},
		Doc: "How alignments of proteins are made. " +
			"This service makes none; a library item of the job may contain some.",
	}
	if searched {
		s.Default, s.Values = MSAMMseqs2, []string{MSAMMseqs2, MSANone}
		s.Doc = "How alignments of proteins are made: mmseqs2 searches with the server or the program that the " +
			"operator has set up, none folds from the sequences alone."
	}
	m.Params = append([]ParamSpec{s}, m.Params...)
}

// AlignmentsSearched reports whether the service searches for alignments for the model, as its parameter msaAlgorithm
// offers it.
func (m *Model) AlignmentsSearched() bool {
	i := slices.IndexFunc(m.Params, func(s ParamSpec) bool { return s.Name == "msaAlgorithm" })
	return i >= 0 && slices.Contains(m.Params[i].Values, MSAMMseqs2)
}
