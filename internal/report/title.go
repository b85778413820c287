package report

import (
	"cmp"
	"slices"
	"strings"

	"pleat"
	"pleat/internal/words"
)

// titleOf returns the entry id and the title of a structure file: they name the job, and the record if the job has
// several structures. sequence is the one that the structure shows; empty: all of them.
func titleOf(w *pleat.Work, sequence pleat.SequenceID) (id, title string) {
	var chains []string
	name := w.Fold.Name
	for i := range w.Fold.Sequences {
		q := &w.Fold.Sequences[i]
		if sequence == "" || sequence == q.ID {
			chains = append(chains, q.Chains...)
		}
		if sequence == q.ID && len(w.Fold.Sequences) > 1 {
			name += ", " + cmp.Or(q.Label, "chain "+q.Chains[0])
		}
	}
	return words.Slug(name, 64), name + ": predicted structure of " + chainNames(chains) + ", by " + w.Model.Title
}

// chainNames lists chains for a title, at most 12.
func chainNames(chains []string) string {
	if len(chains) == 1 {
		return "chain " + chains[0]
	}
	if len(chains) > 12 {
		chains = append(slices.Clone(chains[:12]), "…")
	}
	return "chains " + strings.Join(chains, ", ")
}
