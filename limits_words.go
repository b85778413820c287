package pleat

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Words returns the limits as phrases for readers.
func (l *ModelLimits) Words() []string {
	out := []string{}
	say := func(stated bool, format string, args ...any) {
		if stated {
			out = append(out, fmt.Sprintf(format, args...))
		}
	}
	say(l.Chains > 0, "at most %d chains, ligands and copies counted", l.Chains)
	say(l.Polymers > 0, "at most %d chains of residues, copies counted", l.Polymers)
	say(l.Ligands > 0, "at most %d ligands, copies counted", l.Ligands)
	say(l.Residues > 0, "at most %d residues in a chain", l.Residues)
	say(l.MinChains > 0, "at least %d chain of residues", l.MinChains)
	say(l.MinTokens > 0, "at least %d tokens in a structure", l.MinTokens)
	say(l.MinAtoms > 0, "at least %d atoms besides hydrogen in a structure", l.MinAtoms)
	say(l.VariableDomains, "variable domains of antibodies only, one or a heavy and a light one")
	say(slices.Equal(l.LigandForms, []string{FormSMILES}), "ligands as SMILES only")
	say(slices.Equal(l.LigandForms, []string{FormCCD}), "ligands as CCD codes only")
	say(l.SMILES > 0, "at most %d ligands of a SMILES, copies not counted", l.SMILES)
	say(l.Dictionary != "", "components of the dictionary of %s or earlier", l.Dictionary)
	say(l.Affinities > 0, "the affinity of at most %d ligands, copies counted", l.Affinities)
	say(l.AffinityAtoms > 0, "the affinity of ligands of at most %d atoms besides hydrogen", l.AffinityAtoms)
	for _, code := range slices.Sorted(maps.Keys(l.AsParents)) {
		say(true, "%s is folded as %s", code, l.AsParents[code])
	}
	for _, kind := range slices.Sorted(maps.Keys(l.Backbone)) {
		say(true, "modified residues of %s have the atoms %s", kind, ListNames(l.Backbone[kind], 10))
	}
	for _, what := range l.Confuses {
		say(true, "no two sequences that differ in %s alone", what)
	}
	return append(out, l.constraintWords()...)
}

// constraintWords is Words of the constraints.
func (l *ModelLimits) constraintWords() (out []string) {
	say := func(stated bool, format string, args ...any) {
		if stated {
			out = append(out, fmt.Sprintf(format, args...))
		}
	}
	say(len(l.Constraints) > 0, "constraints of the kinds %s only", strings.Join(l.Constraints, ", "))
	say(l.Pockets > 0, "at most %d pocket", l.Pockets)
	say(len(l.PocketBinders) > 0, "pockets of %s only", entityNames(l.PocketBinders))
	residues := "residues"
	if l.Unmodified {
		residues = "unmodified residues"
	}
	say(len(l.PocketResidues) > 0, "pockets and contacts of %s of %s only", residues, entityNames(l.PocketResidues))
	say(l.MaxDistance > 0, "contacts of %g to %g Å", l.MinDistance, l.MaxDistance)
	return out
}
