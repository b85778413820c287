// Package compare compares structures: which chains and residues correspond, how they are superposed, and the scores of
// their agreement.
//
// It owns the correspondence and the scores of every two structures (api.Comparison). It is pure: it uses no file,
// clock, network or randomness, and it must not know where structures come from or who may read them.
package compare

import (
	"cmp"
	"context"
	"fmt"
	"math"

	"pleat"
	"pleat/api"
	"pleat/internal/facts"
	"pleat/internal/structure"
)

// Limits of a comparison.
const (
	MaxChains   = 64    // polymers of one structure
	MaxResidues = 5000  // of the polymers of one structure
	maxTotal    = 20000 // of the polymers of all structures
)

// Input is one structure to compare.
type Input struct {
	Name      string // for messages
	Structure *structure.Structure
	Predicted bool // a model made it, so that its B-factors are pLDDT; see structure.Structure.Confidence
}

// Set is the structures of a comparison. It keeps the polymers of each alone, so that their residues bound what it
// keeps, however much else the files hold. The zero value is empty.
type Set struct {
	Most    int    // residues of all structures; 0: 20,000
	Instead string // what to do about more, for the message

	all   []subject
	total int // residues
	known names
}

// Add adds a structure, which must not change afterwards. An error has pleat.CodeInvalid and says that the structure is
// beyond the limits, or is that of ctx.
func (s *Set) Add(ctx context.Context, in Input) error {
	if s.known == nil {
		s.known = names{}
	}
	if len(s.all) == pleat.MaxCompared {
		return errCount(len(s.all) + 1)
	}
	polymers := *in.Structure
	polymers.Chains = nil
	for _, c := range in.Structure.Chains {
		if c.Kind.Polymer() {
			polymers.Chains = append(polymers.Chains, c)
		}
	}
	in.Structure = &polymers
	one := subject{Input: in, chains: polymersOf(&polymers, s.known)}
	for i := range one.chains {
		one.residues += len(one.chains[i].Residues)
	}
	field := fmt.Sprintf("of[%d]", len(s.all))
	switch {
	case len(one.chains) > MaxChains:
		return pleat.InvalidField(field, " (%s) has %d polymer chains; at most %d can be compared",
			pleat.Clip(one.Name), len(one.chains), MaxChains)
	case one.residues > MaxResidues:
		return pleat.InvalidField(field, " (%s) has %d residues; at most %d of one structure can be compared",
			pleat.Clip(one.Name), one.residues, MaxResidues)
	case s.total+one.residues > cmp.Or(s.Most, maxTotal):
		return pleat.InvalidField("of", " has more than %d residues in all; %s", cmp.Or(s.Most, maxTotal),
			cmp.Or(s.Instead, "compare fewer structures"))
	}
	one.plddt = one.Structure.Confidence(one.Predicted).PLDDT
	var err error
	if one.contacts, one.untold, err = facts.Contacts(ctx, one.Structure); err != nil {
		return err
	}
	s.all = append(s.all, one)
	s.total += one.residues
	return nil
}

// errCount refuses a number of structures.
func errCount(n int) error {
	return pleat.InvalidField("of", " names %d structures; it must name %d to %d", n, pleat.MinCompared,
		pleat.MaxCompared)
}

// Compare compares every two structures. reference is the position of the reference, counted from 1; 0: there is none.
// For each structure the result says what the coordinates show; the caller adds where it comes from. progress, if not
// nil, is called before each pair.
//
// An error has pleat.CodeInvalid: there are fewer than two; or is that of ctx, which ends a comparison within 200 ms.
func (s *Set) Compare(
	ctx context.Context, reference int, progress func(done, total int),
) (*api.Comparison, error) {
	all := s.all
	if len(all) < pleat.MinCompared {
		return nil, errCount(len(all))
	}
	on := max(reference, 1) - 1
	out := &api.Comparison{SuperposedOn: on + 1, Details: []api.ComparisonDetail{}}
	if reference > 0 {
		out.Reference = &reference
	}
	for i := range all {
		out.Structures = append(out.Structures, all[i].describe())
	}
	out.Structures[on].Transform = &api.Transform{Rotation: [3][3]float64{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}}
	total := len(all) * (len(all) - 1) / 2
	for i := range all {
		for j := i + 1; j < len(all); j++ {
			if progress != nil {
				progress(len(out.Pairs), total)
			}
			a, b := i, j
			if j == on && reference > 0 {
				a, b = j, i
			}
			p := pair{
				a: &all[a], b: &all[b], isReference: a == on && reference > 0,
				out: api.ComparedPair{A: a + 1, B: b + 1, Reasons: map[string]string{}},
			}
			if err := p.compare(ctx); err != nil {
				return nil, err
			}
			if a == on || b == on {
				if err := p.detail(ctx, on, out); err != nil {
					return nil, err
				}
			}
			out.Pairs = append(out.Pairs, p.out)
		}
	}
	return out, ctx.Err()
}

// subject is a structure with what every comparison needs of it.
type subject struct {
	Input
	chains   []chain
	residues int
	plddt    [][]float64 // 0 to 100, by chain and residue, NaN: not known; nil: there is none
	contacts []facts.Contact
	untold   string // why its contacts and what else needs all atoms cannot be told; empty: they can
}

// describe returns what the coordinates of a structure show.
func (s *subject) describe() api.ComparedStructure {
	out := api.ComparedStructure{Name: s.Name, Residues: s.residues, Chains: []api.ComparedChain{}}
	for i := range s.chains {
		c := &s.chains[i]
		out.Chains = append(out.Chains, api.ComparedChain{Chain: c.ID, Kind: string(c.Kind), Residues: len(c.Residues)})
	}
	return out
}

// pair is the comparison of two structures.
type pair struct {
	a, b        *subject
	isReference bool // a is the reference
	matches     []match
	// pointsA and pointsB are the centres of the aligned residues, in the order of matches.
	pointsA, pointsB []structure.Vec

	out api.ComparedPair
}

// compare computes all scores of the pair.
func (p *pair) compare(ctx context.Context) error {
	var err error
	if p.matches, err = matchChains(ctx, p.a.chains, p.b.chains); err != nil {
		return err
	}
	p.out.Chains, p.out.Interfaces = []api.MatchedChains{}, []api.InterfaceScore{}
	same := 0
	for i := range p.matches {
		m := &p.matches[i]
		p.pointsA, p.pointsB = append(p.pointsA, m.pointsA...), append(p.pointsB, m.pointsB...)
		same += m.same
		p.out.Chains = append(p.out.Chains, api.MatchedChains{
			A: p.a.chains[m.a].ID, B: p.b.chains[m.b].ID, AlignedResidues: len(m.pairs),
			SequenceIdentity: float64(m.same) / float64(len(m.pairs)),
		})
	}
	p.out.AlignedResidues = len(p.pointsA)
	if len(p.matches) == 0 {
		for _, name := range []string{"sequenceIdentity", "rmsd", "tmScoreA", "tmScoreB", "lddtCA", "lddtAllAtom",
			"plddtChange", "dockq", "contacts"} {
			p.out.Reasons[name] = "no chain of one structure has a sequence like that of a chain of the other"
		}
		return nil
	}
	p.out.SequenceIdentity = new(float64(same) / float64(len(p.pointsA)))
	p.out.RMSD = new(structure.RMSD(p.pointsB, p.pointsA))
	for _, n := range []struct {
		to     **float64
		length int
	}{{&p.out.TMScoreA, p.a.residues}, {&p.out.TMScoreB, p.b.residues}} {
		score, err := structure.AlignedTMScore(ctx, p.pointsB, p.pointsA, n.length)
		if err != nil {
			return err
		}
		*n.to = &score
	}
	if err := p.lddt(ctx); err != nil {
		return err
	}
	p.changeOfPLDDT()
	return p.dockq(ctx)
}

// changeOfPLDDT computes the mean change of pLDDT.
func (p *pair) changeOfPLDDT() {
	if p.a.plddt == nil || p.b.plddt == nil {
		p.out.Reasons["plddtChange"] = "not both structures are predictions with pLDDT"
		return
	}
	sum, n := 0.0, 0
	for i := range p.matches {
		for _, d := range p.plddtChanges(&p.matches[i]) {
			if d != nil {
				sum, n = sum+*d, n+1
			}
		}
	}
	if n == 0 {
		p.out.Reasons["plddtChange"] = "no residues correspond whose pLDDT is known in both structures"
		return
	}
	p.out.PLDDTChange = new(sum / float64(n))
}

// plddtChanges returns the change of pLDDT of the aligned residues of two chains, nil for a residue where it is not
// known. Both structures must have pLDDT.
func (p *pair) plddtChanges(m *match) []*float64 {
	a, b := p.a.plddt[p.a.chains[m.a].at], p.b.plddt[p.b.chains[m.b].at]
	out := make([]*float64, len(m.pairs))
	for i, r := range m.pairs {
		if d := b[r[1]] - a[r[0]]; !math.IsNaN(d) {
			out[i] = &d
		}
	}
	return out
}

// untold returns why what needs all atoms cannot be told of one of the structures; empty: it can.
func (p *pair) untold() string {
	if p.a.untold != "" {
		return fmt.Sprintf("structure %d: %s", p.out.A, p.a.untold)
	}
	if p.b.untold != "" {
		return fmt.Sprintf("structure %d: %s", p.out.B, p.b.untold)
	}
	return ""
}
