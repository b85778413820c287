package calvados

import (
	"fmt"
	"math"
	"strings"

	"pleat"
	"pleat/internal/structure"
	"pleat/internal/words"
)

// Molecule is what is simulated: chains of residues and, for [SingleGo], their positions and the confidence of the
// prediction. [FromSequence] and [FromStructure] create one.
type Molecule struct {
	Chains []Chain
	PAE    structure.Matrix // errors in Å over all sites in order; empty for SingleIDR
	Left   []string         // what of the source is not simulated (ligands, nucleic acids), in words
	Note   string           // what was assumed of the confidence, as a sentence; it may be empty
	placed bool
}

// Chain is one polypeptide.
type Chain struct {
	ID    string
	Sites []Site
}

// Site is one residue.
type Site struct {
	Letter byte          // one of the 20 letters
	Number int           // number shown in files
	Ins    string        // insertion code
	Pos    structure.Vec // mass-weighted centre of all its atoms in Å
	PLDDT  float64       // 0 to 100
}

// Len returns the number of residues of all chains.
func (m *Molecule) Len() int {
	n := 0
	for i := range m.Chains {
		n += len(m.Chains[i].Sites)
	}
	return n
}

// FromSequence returns a molecule of the single chain A from a sequence in one-letter code. It returns an error
// with the position of a letter other than the 20.
func FromSequence(sequence string) (*Molecule, error) {
	if len(sequence) < 2 {
		return nil, pleat.Invalidf("sequence has %s; dynamics takes at least 2",
			words.Quantity(len(sequence), "residue", "residues"))
	}
	if len(sequence) > MaxBeads {
		return nil, pleat.Invalidf("sequence has %d residues; dynamics takes at most %d", len(sequence), MaxBeads)
	}
	sites := make([]Site, len(sequence))
	for i := range len(sequence) {
		if byLetter[sequence[i]] < 0 {
			return nil, pleat.Invalidf("sequence: %q at position %d; the model knows ACDEFGHIKLMNPQRSTVWY", sequence[i],
				i+1)
		}
		sites[i] = Site{Letter: sequence[i], Number: i + 1}
	}
	return &Molecule{Chains: []Chain{{ID: "A", Sites: sites}}}, nil
}

// FromStructure returns the protein chains of a predicted structure, with the aligned errors of those chains' residues
// in the same order. Other chains are omitted and named in Left. The confidence is that of
// [structure.Structure.Confidence]. It returns an error for an unknown amino acid, a gap in a chain, an error matrix of
// another size, and a residue whose confidence is not known.
func FromStructure(s *structure.Structure, pae structure.Matrix) (*Molecule, error) {
	m := &Molecule{PAE: pae, placed: true}
	for i := range s.Chains {
		c := &s.Chains[i]
		if c.Kind != structure.Protein {
			if c.Kind != structure.Water {
				m.Left = append(m.Left, fmt.Sprintf("chain %s (%s)", c.ID, c.Kind))
			}
			continue
		}
		chain, err := chainOf(c)
		if err != nil {
			return nil, err
		}
		m.Chains = append(m.Chains, chain)
	}
	n := m.Len()
	if n < 2 {
		return nil, pleat.Invalidf("the structure has %s; dynamics takes at least 2",
			words.Quantity(n, "protein residue", "protein residues"))
	}
	if n > MaxBeads {
		return nil, pleat.Invalidf("the structure has %d protein residues; dynamics takes at most %d", n, MaxBeads)
	}
	if pae.N != n || len(pae.V) != n*n {
		return nil, pleat.Invalidf(
			"the PAE has %d × %d values for %d protein residues; preset %s needs one row and column per residue",
			pae.N, pae.N, n, SingleGo)
	}
	return m, m.setConfidence(s)
}

// setConfidence sets the pLDDT of the sites, which are those of the protein chains of s. A structure that comes with a
// PAE is a prediction, unless it says that it is none.
func (m *Molecule) setConfidence(s *structure.Structure) error {
	known := s.Confidence(s.Origin != structure.Experiment)
	if m.Note = known.Note; known.PLDDT == nil {
		return pleat.Invalidf("preset %s needs the pLDDT of the structure, and none is known. %s", SingleGo, known.Note)
	}
	k := 0
	for i := range s.Chains {
		if s.Chains[i].Kind != structure.Protein {
			continue
		}
		for j, v := range known.PLDDT[i] {
			if math.IsNaN(v) {
				r := &s.Chains[i].Residues[j]
				return pleat.Invalidf("residue %s %d of chain %s has no pLDDT; preset %s needs that of every residue",
					r.Comp, r.Auth, s.Chains[i].ID, SingleGo)
			}
			m.Chains[k].Sites[j].PLDDT = v
		}
		k++
	}
	return nil
}

// chainOf converts one protein chain, whose residues must be complete and standard.
func chainOf(c *structure.Chain) (Chain, error) {
	out := Chain{ID: c.ID, Sites: make([]Site, 0, len(c.Residues))}
	for i := range c.Residues {
		r := &c.Residues[i]
		letter, ok := byName[strings.ToUpper(r.Comp)]
		if !ok {
			return out, pleat.Invalidf("residue %d of chain %s is %q; the model knows the 20 standard amino acids",
				r.Auth, c.ID, pleat.Clip(r.Comp))
		}
		if len(r.Atoms) == 0 {
			return out, pleat.Invalidf("residue %s %d of chain %s has no atoms; dynamics needs every residue", r.Comp,
				r.Auth, c.ID)
		}
		if i > 0 {
			if p := &c.Residues[i-1]; missing(p, r) {
				return out, pleat.Invalidf("chain %s jumps from residue %d to %d; dynamics needs every residue between",
					c.ID, p.Auth, r.Auth)
			}
		}
		site := Site{
			Letter: letter,
			Number: r.Auth,
			Ins:    r.Ins,
			Pos:    structure.CentreOfMass(r.Atoms),
		}
		if !(math.Abs(site.Pos[0])+math.Abs(site.Pos[1])+math.Abs(site.Pos[2]) < 1e6) {
			return out, pleat.Invalidf("residue %s %d of chain %s has no finite position", r.Comp, r.Auth, c.ID)
		}
		out.Sites = append(out.Sites, site)
	}
	if len(out.Sites) < 2 {
		return out, pleat.Invalidf("chain %s has %s; dynamics takes at least 2 in each protein chain", c.ID,
			words.Quantity(len(out.Sites), "residue", "residues"))
	}
	return out, nil
}

// missing reports whether residues are missing between two that follow each other: by their positions or, where these
// do not count them, by their numbers and a link that is broken.
func missing(a, b *structure.Residue) bool {
	if b.Auth > a.Auth+1 {
		if state, _ := structure.Link(structure.Protein, a, b); state == structure.LinkBroken {
			return true
		}
	}
	return a.Seq > 0 && b.Seq > 0 && b.Seq != a.Seq+1
}

// spiral returns n positions bondLength apart along a flat Archimedean spiral whose turns are 0.7 nm apart, wider
// than any bead: compact and without overlaps.
func spiral(n int) []vec {
	const turn = 0.7 / (2 * math.Pi)
	out := make([]vec, n)
	at := func(t float64) vec { return vec{turn * t * math.Cos(t), turn * t * math.Sin(t), 0} }
	t := 2 * math.Pi
	out[0] = at(t)
	for i := 1; i < n; i++ {
		lo, hi := t, t+bondLength/(turn*t)*1.5
		for range 60 {
			mid := (lo + hi) / 2
			if p := at(mid); math.Hypot(p[0]-out[i-1][0], p[1]-out[i-1][1]) < bondLength {
				lo = mid
			} else {
				hi = mid
			}
		}
		t = (lo + hi) / 2
		out[i] = at(t)
	}
	return out
}
