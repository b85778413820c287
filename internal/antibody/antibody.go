// Package antibody finds the variable domains of antibodies and T-cell receptors in an amino-acid sequence, says of
// which kind each is, and numbers its residues. It compares the sequence with a profile of each kind and needs nothing
// else: no network, no other program. It must not know of files, structures or jobs.
package antibody

import (
	"fmt"
	"strings"
)

// Kind is the chain that a variable domain belongs to.
type Kind string

// The kinds of variable domains. The last four are of T-cell receptors.
const (
	Heavy  Kind = "heavy" // also the domain of camelid antibodies without light chains
	Kappa  Kind = "kappa"
	Lambda Kind = "lambda"
	Alpha  Kind = "alpha"
	Beta   Kind = "beta"
	Gamma  Kind = "gamma"
	Delta  Kind = "delta"
)

// Antibody reports whether domains of the kind are of antibodies; the others are of T-cell receptors.
func (k Kind) Antibody() bool { return k == Heavy || k.Light() }

// Light reports whether domains of the kind are of the light chains of antibodies.
func (k Kind) Light() bool { return k == Kappa || k == Lambda }

// CDR returns what the field calls a CDR of the kind, such as CDR-H3 and CDR-L1; for other regions, the region.
func (k Kind) CDR(r Region) string {
	number, isCDR := strings.CutPrefix(string(r), "CDR")
	switch {
	case !isCDR || k == "":
		return string(r)
	case k.Light():
		return "CDR-L" + number
	case k.Antibody():
		return "CDR-H" + number
	}
	return "CDR-" + strings.ToUpper(string(k[:1])) + number
}

// Domain is a variable domain in a sequence.
type Domain struct {
	Kind Kind
	// Start and End are the range of its residues in the sequence: from 0, without the last.
	Start, End int
	// Score is the natural logarithm of how much better the profile of the kind explains the residues than the
	// frequencies of amino acids in proteins at large do. A whole domain has 50 to 260.
	Score float64

	positions []position // of each residue, in the IMGT scheme
}

// position is a number of a scheme: 52 with the insertion 1 is 52A. The zero position is none.
type position struct{ number, insertion int }

// String returns the position as the field writes it. Insertions after the 26th have two letters.
func (p position) String() string {
	if p.number == 0 {
		return ""
	}
	letters := ""
	for k := p.insertion; k > 0; k = (k - 1) / 26 {
		letters = string(rune('A'+(k-1)%26)) + letters
	}
	return fmt.Sprintf("%d%s", p.number, letters)
}

// Find returns the variable domains of a sequence in its order; none overlap. Letters may be small. A letter that
// stands for no single amino acid matches all; anything else matches none, so that it ends a domain. Constant domains,
// linkers and tags are in no domain. A domain may be truncated: see Lacks.
func Find(sequence string) []Domain {
	residues := encode(sequence)
	hits := search(residues)
	out := make([]Domain, 0, len(hits))
	for i := len(hits) - 1; i >= 0; i-- {
		h := &hits[i]
		at, added := h.align(residues)
		out = append(out, Domain{
			Kind:      h.profile.kind,
			Start:     h.start,
			End:       h.end,
			Score:     float64(h.score) / scale,
			positions: imgtPositions(at, added),
		})
	}
	return out
}

// imgtPositions returns the IMGT positions of residues from their columns. In a CDR, an alignment says only which
// residues belong to it; the scheme says where its gaps and its additional residues are.
func imgtPositions(at []int, added []bool) []position {
	out := make([]position, len(at))
	for i, c := range at {
		out[i].number = c
		if added[i] {
			out[i].insertion = 1
			if i > 0 && added[i-1] && at[i-1] == c {
				out[i].insertion += out[i-1].insertion
			}
		}
	}
	for k := range loops {
		l := &loops[k]
		from, to := 0, len(at)
		for from < to && at[from] < l.first {
			from++
		}
		for to > from && at[to-1] > l.last {
			to--
		}
		// A domain that begins or ends within the CDR has its own columns: its length is unknown.
		if from < to && from > 0 && to < len(at) {
			placeLoop(out[from:to], l.first, l.last, l.middle)
		}
	}
	return out
}

// placeLoop numbers the residues of a CDR from both ends: the first half, which is the longer one, from the first
// position up, the other from the last one down. Additional residues are between the two in the middle, those of the
// second half with letters that run backwards: 111, 111A, 112B, 112A, 112.
func placeLoop(out []position, first, last, middle int) {
	size := last - first + 1
	half := (len(out) + 1) / 2
	if len(out) > size {
		half = middle - first + 1 + (len(out)-size)/2
	}
	for i := range out {
		if i < half {
			out[i] = position{min(first+i, middle), max(0, first+i-middle)}
			continue
		}
		fromEnd := len(out) - 1 - i
		out[i] = position{max(last-fromEnd, middle+1), max(0, middle+1-last+fromEnd)}
	}
}

// Cut returns the residues of the domain, and what a person should know of it: «residues 1 to 119 of 221», or nothing
// when the domain is the whole sequence.
func (d *Domain) Cut(sequence string) (residues, note string) {
	if d.Start > 0 || d.End < len(sequence) {
		note = fmt.Sprintf("residues %d to %d of %d", d.Start+1, d.End, len(sequence))
	}
	return sequence[d.Start:d.End], note
}

// Reason says why Find finds nothing in a sequence. It is empty where Find finds a domain.
func Reason(sequence string) string {
	residues := encode(sequence)
	if len(search(residues)) > 0 {
		return ""
	}
	kind, score := closest(residues)
	if kind == "" {
		return "the sequence has no residues"
	}
	return fmt.Sprintf("no part of the sequence resembles a variable domain of an antibody or T-cell receptor: "+
		"the best score is %.0f, with %s chains, and %d is needed", float64(score)/scale, kind, threshold/scale)
}

// Part returns the residues of a region of the domain.
func (d *Domain) Part(sequence string, r Region, def Scheme) string {
	var out strings.Builder
	for i := d.Start; i < d.End; i++ {
		if d.Region(i-d.Start, def) == r {
			out.WriteByte(sequence[i])
		}
	}
	return out.String()
}

// Lacks returns the regions of the IMGT scheme of which the domain has less than half, in their order. It is empty for
// a domain that is whole.
func (d *Domain) Lacks() (out []Region) {
	first, last := d.positions[0].number, d.positions[len(d.positions)-1].number
	from := 1
	for k, r := range Regions {
		to := imgtEnds[k]
		if middle := (from + to) / 2; first > middle || last < middle {
			out = append(out, r)
		}
		from = to + 1
	}
	return out
}
