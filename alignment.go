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
