package facts

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"pleat/internal/structure"
)

// Chain holds the facts of one polymer. Only residues with coordinates count. Lengths are in Å, masses in Da,
// charges in e.
type Chain struct {
	ID          string         `json:"id"`
	Kind        structure.Kind `json:"kind"`
	Name        string         `json:"name,omitempty"`
	Length      int            `json:"length"` // residues with coordinates
	First       ResidueRef     `json:"first"`
	Last        ResidueRef     `json:"last"`
	Sequence    string         `json:"sequence"`
	Composition []Count        `json:"composition"`
	// Modified are the residues whose component is not standard.
	Modified []ResidueRef `json:"modified,omitempty"`
	// Charge is the net charge in e at pH 7 with free ends, and Isoelectric the pH at which the net charge is 0.
	Charge      float64 `json:"charge_pH7"`        // proteins only
	Isoelectric float64 `json:"isoelectric_point"` // proteins only
	// Mass is the average mass of the free chain; Unweighed counts the residues that it omits.
	Mass       float64     `json:"mass_Da"`
	Unweighed  int         `json:"residues_without_mass,omitempty"`
	Secondary  *Secondary  `json:"secondary_structure,omitempty"`
	Confidence *Confidence `json:"confidence,omitempty"`
	// Gaps are the interruptions of the chain, at most maxList.
	Gaps     []Gap   `json:"gaps,omitempty"`
	Gyration float64 `json:"radius_of_gyration_A"`
	EndToEnd float64 `json:"end_to_end_A"` // between the centres of the first and last residue

	Polymer Polymer `json:"-"` // its residues in Index.Sites
}

// Count is how often a component occurs.
type Count struct {
	Name string `json:"name"`
	N    int    `json:"n"`
}

// Gap is an interruption of a chain: residues between two of its neighbours that the file does not have, or a distance
// that no bond spans.
type Gap struct {
	After   ResidueRef `json:"after"`
	Before  ResidueRef `json:"before"`
	Missing int        `json:"missing"` // by the numbers; 0: a break without a jump of the numbers
	// Distance is between the linking atoms or, where they are missing, between the centres of the residues.
	Distance float64 `json:"distance_A"`
}

// chainFacts computes the facts of one polymer: its composition, mass, charge and gaps among them.
func (x *Index) chainFacts(r Polymer) Chain {
	ch := &x.Structure.Chains[r.Chain]
	sites := x.Sites[r.Lo:r.Hi]
	seq := ch.Sequence()
	c := Chain{
		ID: ch.ID, Kind: ch.Kind, Name: ch.Name, Length: len(sites), First: sites[0].Ref, Last: sites[len(sites)-1].Ref,
		Sequence: seq, Composition: Composition(ch.Kind, seq), Polymer: r,
	}
	for i := range sites {
		if std, ok := structure.Component(ch.Kind, sites[i].Letter); (!ok || std != sites[i].Ref.Name) &&
			len(c.Modified) < maxList {
			c.Modified = append(c.Modified, sites[i].Ref)
		}
	}
	c.Mass, c.Unweighed = polymerMass(ch.Kind, seq)
	if ch.Kind == structure.Protein {
		c.Charge = Round(ChargeAt(seq, x.BondedIn(r), 7), 2)
		c.Isoelectric = Round(isoelectric(seq, x.BondedIn(r)), 2)
		c.Secondary = x.secondary(r)
	}
	c.Confidence = x.confidence(r.Lo, r.Hi)
	c.Gaps = Head(x.gaps(r), maxList)
	c.Gyration = Round(x.gyration(sites[0].Lo, sites[len(sites)-1].Hi), 2)
	a, okA := sites[0].Residue.Centre()
	b, okB := sites[len(sites)-1].Residue.Centre()
	if okA && okB {
		c.EndToEnd = Round(structure.Distance(a, b), 2)
	}
	return c
}

// Composition returns how often each component occurs in a sequence of one-letter codes, the most frequent first.
// Unknown letters count as UNK.
func Composition(kind structure.Kind, seq string) []Count {
	n := map[string]int{}
	for i := range len(seq) {
		name, ok := structure.Component(kind, seq[i])
		if !ok {
			name = "UNK"
		}
		n[name]++
	}
	out := make([]Count, 0, len(n))
	for name, k := range n {
		out = append(out, Count{name, k})
	}
	slices.SortFunc(out, func(a, b Count) int {
		return cmp.Or(cmp.Compare(b.N, a.N), strings.Compare(a.Name, b.Name))
	})
	return out
}

// BondedIn returns the number of cysteines of a chain that are in disulfides.
func (x *Index) BondedIn(r Polymer) int {
	n := 0
	for i := r.Lo; i < r.Hi; i++ {
		if x.Sites[i].Bonded {
			n++
		}
	}
	return n
}

// formulas are the atoms of residues within a chain, in the order C, H, N, O, S, P. A free molecule has one more
// water.
var formulas = map[structure.Kind]map[byte][6]int{
	structure.Protein: {
		'A': {3, 5, 1, 1}, 'R': {6, 12, 4, 1}, 'N': {4, 6, 2, 2}, 'D': {4, 5, 1, 3}, 'C': {3, 5, 1, 1, 1}, 'Q': {5, 8,
			2, 2},
		'E': {5, 7, 1, 3}, 'G': {2, 3, 1, 1}, 'H': {6, 7, 3, 1}, 'I': {6, 11, 1, 1}, 'L': {6, 11, 1, 1}, 'K': {6, 12,
			2, 1},
		'M': {5, 9, 1, 1, 1}, 'F': {9, 9, 1, 1}, 'P': {5, 7, 1, 1}, 'S': {3, 5, 1, 2}, 'T': {4, 7, 1, 2}, 'W': {11, 10,
			2, 1},
		'Y': {9, 9, 1, 2}, 'V': {5, 9, 1, 1},
	},
	structure.RNA: {'A': {10, 12, 5, 6, 0, 1}, 'C': {9, 12, 3, 7, 0, 1}, 'G': {10, 12, 5, 7, 0, 1}, 'U': {9, 11, 2, 8,
		0, 1}},
	structure.DNA: {'A': {10, 12, 5, 5, 0, 1}, 'C': {9, 12, 3, 6, 0, 1}, 'G': {10, 12, 5, 6, 0, 1}, 'T': {10, 13, 2, 7,
		0, 1}},
}

// polymerMass returns the average mass in Da of the free chain (a protein with all cysteines reduced, a nucleic
// acid with a 5' phosphate; a modified residue counts as its parent) and the number of residues whose mass is
// unknown.
func polymerMass(kind structure.Kind, seq string) (mass float64, unknown int) {
	var weight [6]float64
	for i, e := range [...]string{"C", "H", "N", "O", "S", "P"} {
		weight[i] = structure.Mass(e)
	}
	for i := range len(seq) {
		f, ok := formulas[kind][seq[i]]
		if !ok {
			unknown++
			continue
		}
		for k, n := range f {
			mass += float64(n) * weight[k]
		}
	}
	if mass > 0 {
		mass += 2*weight[1] + weight[3]
	}
	return Round(mass, 1), unknown
}

// Dissociation constants: Bjellqvist et al., Electrophoresis 14, 1023 (1993) and 15, 529 (1994), as ProtParam uses
// them. firsts and lasts are those of chain ends by residue.
var (
	acids  = map[byte]float64{'D': 4.05, 'E': 4.45, 'C': 9.0, 'Y': 10.0}
	bases  = map[byte]float64{'K': 10.0, 'R': 12.0, 'H': 5.98}
	firsts = map[byte]float64{'A': 7.59, 'M': 7.0, 'S': 6.93, 'P': 8.36, 'T': 6.82, 'V': 7.44, 'E': 7.7}
	lasts  = map[byte]float64{'D': 4.55, 'E': 4.75}
)

// firstPK and lastPK are the dissociation constants of chain ends at other residues.
const firstPK, lastPK = 7.5, 3.55

// ChargeAt returns the net charge of a protein with free ends in e, by Henderson–Hasselbalch. seq has one-letter codes;
// bonded is the number of cysteines in disulfides, which carry no charge.
func ChargeAt(seq string, bonded int, pH float64) float64 {
	if seq == "" {
		return 0
	}
	negative := func(pk float64) float64 { return -1 / (1 + math.Pow(10, pk-pH)) }
	positive := func(pk float64) float64 { return 1 / (1 + math.Pow(10, pH-pk)) }
	or := func(m map[byte]float64, k byte, rest float64) float64 {
		if v, ok := m[k]; ok {
			return v
		}
		return rest
	}
	q := positive(or(firsts, seq[0], firstPK)) + negative(or(lasts, seq[len(seq)-1], lastPK))
	q -= float64(bonded) * negative(acids['C'])
	var count [256]float64
	for i := range len(seq) {
		count[seq[i]]++
	}
	for _, k := range []byte("DECYKRH") { // in a fixed order, so that the sum is always the same
		if pk, ok := acids[k]; ok {
			q += count[k] * negative(pk)
		} else {
			q += count[k] * positive(bases[k])
		}
	}
	return q
}

// isoelectric returns the pH at which the net charge is zero. The charge falls with pH, so bisection finds it.
func isoelectric(seq string, bonded int) float64 {
	lo, hi := 0.0, 14.0
	for range 40 {
		if mid := (lo + hi) / 2; ChargeAt(seq, bonded, mid) > 0 {
			lo = mid
		} else {
			hi = mid
		}
	}
	return (lo + hi) / 2
}

// gaps returns the interruptions of a chain: links longer than 2.5 Å and, where the linking atoms are missing,
// jumps of the residue numbers.
func (x *Index) gaps(r Polymer) []Gap {
	from, to, limit := "C", "N", 2.5
	if x.Structure.Chains[r.Chain].Kind != structure.Protein {
		from, to = "O3'", "P"
	}
	var out []Gap
	for i := r.Lo + 1; i < r.Hi; i++ {
		a, b := x.Sites[i-1].Residue, x.Sites[i].Residue
		missing := max(b.Auth-a.Auth, b.Seq-a.Seq) - 1
		p, okA := a.Atom(from)
		q, okB := b.Atom(to)
		if okA && okB {
			d := structure.Distance(p.Pos, q.Pos)
			if d > limit {
				out = append(out, Gap{x.Sites[i-1].Ref, x.Sites[i].Ref, max(missing, 0), Round(d, 2)})
			}
			continue
		}
		u, okA := a.Centre()
		v, okB := b.Centre()
		if missing > 0 && okA && okB { // without the linking atoms only the numbers can tell
			out = append(out, Gap{x.Sites[i-1].Ref, x.Sites[i].Ref, missing, Round(structure.Distance(u, v), 2)})
		}
	}
	return out
}

// residueMass returns the average mass in Da of a residue within a chain, or 0 where it is unknown.
func residueMass(kind structure.Kind, letter byte) float64 {
	mass := 0.0
	for i, e := range [...]string{"C", "H", "N", "O", "S", "P"} {
		mass += structure.Mass(e) * float64(formulas[kind][letter][i])
	}
	return mass
}
