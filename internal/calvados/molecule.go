package calvados

import (
	"fmt"
	"math"
	"strings"

	"pleat"
	"pleat/internal/structure"
)

// Molecule is what is simulated: chains of residues and, for [SingleGo], their positions and the confidence of the
// prediction. [FromSequence] and [FromStructure] create one.
type Molecule struct {
	Chains []Chain
	PAE    structure.Matrix // errors in Å over all sites in order; empty for SingleIDR
	Left   []string         // what of the source is not simulated (ligands, nucleic acids), in words
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
	PLDDT  float64       // mean over its atoms, 0 to 100
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
		return nil, pleat.Invalidf("sequence has %d residues; dynamics takes at least 2", len(sequence))
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

// FromStructure returns the protein chains of a predicted structure whose B-factors are pLDDT, with the aligned
// errors of those chains' residues in the same order. Other chains are omitted and named in Left. It returns an
// error for an unknown amino acid, a gap in a chain, an error matrix of another size, and B-factors that are not
// pLDDT.
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
		return nil, pleat.Invalidf("the structure has %d protein residues; dynamics takes at least 2", n)
	}
	if n > MaxBeads {
		return nil, pleat.Invalidf("the structure has %d protein residues; dynamics takes at most %d", n, MaxBeads)
	}
	return m, m.checkConfidence()
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
			if p := &c.Residues[i-1]; p.Seq > 0 && r.Seq > 0 && r.Seq != p.Seq+1 {
				return out, pleat.Invalidf("chain %s jumps from residue %d to %d; dynamics needs every residue between",
					c.ID, p.Auth, r.Auth)
			}
		}
		site := Site{Letter: letter, Number: r.Auth, Ins: r.Ins, Pos: structure.CentreOfMass(r.Atoms)}
		for j := range r.Atoms {
			site.PLDDT += r.Atoms[j].B / float64(len(r.Atoms))
		}
		if !(math.Abs(site.Pos[0])+math.Abs(site.Pos[1])+math.Abs(site.Pos[2]) < 1e6) {
			return out, pleat.Invalidf("residue %s %d of chain %s has no finite position", r.Comp, r.Auth, c.ID)
		}
		out.Sites = append(out.Sites, site)
	}
	if len(out.Sites) < 2 {
		return out, pleat.Invalidf("chain %s has %d residues; dynamics takes at least 2 in each protein chain", c.ID,
			len(out.Sites))
	}
	return out, nil
}

// checkConfidence checks that pLDDT lies between 0 and 100 and that the PAE has one row and column per residue.
func (m *Molecule) checkConfidence() error {
	n, highest := m.Len(), 0.0
	for c := range m.Chains {
		for i := range m.Chains[c].Sites {
			s := &m.Chains[c].Sites[i]
			if !(s.PLDDT >= 0 && s.PLDDT <= 100.5) {
				return pleat.Invalidf(
					"residue %d of chain %s has a mean B-factor of %v; preset %s reads it as pLDDT, from 0 to 100",
					s.Number, m.Chains[c].ID, s.PLDDT, SingleGo)
			}
			highest = max(highest, s.PLDDT)
		}
	}
	if highest <= 1 {
		return pleat.Invalidf("no residue has a mean B-factor above 1; preset %s reads it as pLDDT, from 0 to 100",
			SingleGo)
	}
	if m.PAE.N != n || len(m.PAE.V) != n*n {
		return pleat.Invalidf(
			"the PAE has %d × %d values for %d protein residues; preset %s needs one row and column per residue",
			m.PAE.N, m.PAE.N, n, SingleGo)
	}
	for k, v := range m.PAE.V {
		if !(v >= 0 && v < 1000) {
			return pleat.Invalidf("the PAE of residues %d and %d is %v; it must be 0 Å or more", k/n+1, k%n+1, v)
		}
	}
	return nil
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
