package facts

import (
	"cmp"
	"fmt"
	"strings"
	"unicode"

	"pleat/internal/structure"
	"pleat/internal/words"
)

// How facts are written in sentences. Lengths are in Å, residues as in LYS 48 (chain A).

// Angstrom writes a length with two decimals and its unit.
func Angstrom(d float64) string { return fmt.Sprintf("%.2f Å", d) }

// Percent writes a share from 0 to 1 as a percentage with one decimal.
func Percent(share float64) string { return fmt.Sprintf("%.1f %%", 100*share) }

// RefList names at most n residues, each chain once: LYS 6, LYS 8 (chain A); GLU 2 (chain B).
func RefList(refs []ResidueRef, n int) string { return firstRefs(Head(refs, n), len(refs)) }

// firstRefs names the first residues of a list of n.
func firstRefs(refs []ResidueRef, n int) string {
	var groups []string
	for i := 0; i < len(refs); {
		j := i
		var names []string
		for j < len(refs) && refs[j].Chain == refs[i].Chain {
			names = append(names, refs[j].Short())
			j++
		}
		groups = append(groups, fmt.Sprintf("%s (chain %s)", strings.Join(names, ", "), refs[i].Chain))
		i = j
	}
	out := strings.Join(groups, "; ")
	if n > len(refs) {
		out += fmt.Sprintf(" and %d more", n-len(refs))
	}
	return out
}

// ShortRefs names at most n residues without their chain.
func ShortRefs(refs []ResidueRef, n int) string {
	var out []string
	for _, r := range refs {
		out = append(out, r.Short())
	}
	return words.Join(out, n)
}

// Span names a stretch of a chain by its first and last residue; one residue by its own name.
func Span(from, to ResidueRef) string {
	if from == to {
		return from.String()
	}
	return fmt.Sprintf("%s to %s", from.Short(), to)
}

// PairList names at most n pairs of atoms with their distances.
func PairList(list []AtomPair, n int) string {
	var names []string
	for _, p := range list {
		names = append(names, p.String())
	}
	if len(names) > n {
		return strings.Join(names[:n], "; ") + fmt.Sprintf("; and %d more", len(names)-n)
	}
	return strings.Join(names, "; ")
}

// PairRefs returns the residues at both ends of each pair.
func PairRefs(list []AtomPair) (out []ResidueRef) {
	for _, p := range list {
		out = append(out, p.A, p.B)
	}
	return out
}

// OrNone returns s, or the word none where s is empty.
func OrNone(s string) string {
	return cmp.Or(s, "none")
}

// KindName returns the word for a kind of polymer: protein, RNA, DNA.
func KindName(k structure.Kind) string {
	if k == structure.RNA || k == structure.DNA {
		return strings.ToUpper(string(k))
	}
	return string(k)
}

// Clip shortens text to n printable runes, for text of a file that sentences quote.
func Clip(text string, n int) string {
	out := make([]rune, 0, n)
	for _, c := range text {
		if !unicode.IsPrint(c) {
			c = ' '
		}
		if len(out) == n {
			return string(out) + "…"
		}
		out = append(out, c)
	}
	return strings.TrimSpace(string(out))
}

// Head returns the first n entries of a list, or all if there are fewer. The counts next to a list in Facts are
// complete.
func Head[T any](list []T, n int) []T { return list[:min(n, len(list))] }
