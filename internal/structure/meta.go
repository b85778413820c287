package structure

import (
	"cmp"
	"fmt"
	"math"
	"time"
)

// Meta is what a written file says in addition to the coordinates. The zero value describes a computed model
// without confidence, title or date.
type Meta struct {
	ID         string // entry id; empty: "pleat". Only letters, digits, '-', '_' and '.' are kept
	Title      string // empty: the structure's own
	Software   string // program that computed it; empty: "pleat"
	Version    string // of the program
	Model      string // name of the model or weights
	Date       time.Time
	Disclaimer string // free text a reader should see
	// PLDDT is the confidence from 0 to 100, by chain and residue. It goes into the
	// B-factors and, for polymers, into the quality metrics. nil: there is none, and
	// the atoms' own B is written. A chain's entry may be nil too, for ligands whose
	// atoms carry pLDDT as their B.
	PLDDT [][]float64
	// PredictedRMSD is in Å, at most MaxPredictedRMSD, and as PLDDT by chain and residue. It goes into the quality
	// metrics and, where PLDDT is nil, into the B-factors.
	PredictedRMSD [][]float64
	// PTM and IPTM are the model's own scores of the whole structure, 0 to 1; nil: it gives none.
	PTM, IPTM *float64
	// PairIPTM are the ipTM of pairs of chains, 0 to 1.
	PairIPTM []PairIPTM
	// PAEFile is the name of the file beside this one with the predicted aligned errors; empty: there is none.
	PAEFile string
	// Components are the names of components that are no entries of the Chemical Component Dictionary, by code.
	Components map[string]string
	// SMILES are those of Components that have one, by code, without names of atoms.
	SMILES map[string]string
	// Citations are of the program, most important first.
	Citations []Citation
	// Experimental marks a structure that was not computed.
	Experimental bool
}

// PairIPTM is the ipTM of two chains, by their indices in Structure.Chains.
type PairIPTM struct {
	A, B int
	IPTM float64
}

// Citation is a paper, in plain ASCII. Fields that are not known are empty.
type Citation struct {
	Title, Journal, Volume, Year, DOI string
	FirstPage, LastPage               string
	Authors                           []string // «Family, Given»
}

// MaxPredictedRMSD is the largest predicted RMSD in Å that files can hold: the B-factor of a PDB file has six columns.
const MaxPredictedRMSD = 999.0

// check returns an error where the confidence does not fit the structure or its scale. pLDDT of which none is above 1
// is taken for fractions, a common mistake.
func (m *Meta) check(s *Structure) error {
	if m.PredictedRMSD != nil {
		if _, _, err := checkValues(s, "predicted RMSD", m.PredictedRMSD, MaxPredictedRMSD); err != nil {
			return err
		}
	}
	if m.PLDDT == nil {
		return nil
	}
	highest, n, err := checkValues(s, "pLDDT", m.PLDDT, 100)
	if err == nil && n > 4 && highest > 0 && highest <= 1 {
		err = fmt.Errorf("write structure: pLDDT is nowhere above %v; it looks like fractions, want 0 to 100", highest)
	}
	return err
}

// checkValues returns the highest value by chain and residue and their number, or an error where they do not fit the
// structure or are not from 0 to a limit.
func checkValues(s *Structure, name string, values [][]float64, limit float64) (highest float64, n int, err error) {
	if len(values) != len(s.Chains) {
		return 0, 0, fmt.Errorf("write structure: %s for %d chains, want %d", name, len(values), len(s.Chains))
	}
	for i, chain := range values {
		c := &s.Chains[i]
		if chain == nil && !c.Kind.Polymer() {
			continue
		}
		if len(chain) != len(c.Residues) {
			return 0, 0, fmt.Errorf("write structure: %s for %d residues of chain %s, want %d", name, len(chain), c.ID,
				len(c.Residues))
		}
		for j, v := range chain {
			if !(v >= 0 && v <= limit) {
				return 0, 0, fmt.Errorf("write structure: %s of residue %d of chain %s is %v, want 0 to %g", name, j+1,
					c.ID, v, limit)
			}
			highest = max(highest, v)
			n++
		}
	}
	return highest, n, nil
}

// b returns the value of an atom's B column: the residue's pLDDT, else its predicted RMSD, or the atom's own B where
// there is no confidence.
func (m *Meta) b(chain, residue int, a *Atom) float64 {
	values := m.PLDDT
	if values == nil {
		values = m.PredictedRMSD
	}
	if values == nil || values[chain] == nil {
		return a.B
	}
	return values[chain][residue]
}

// id returns the entry id reduced to safe characters, at most 64, or "pleat" where none remain.
func (m *Meta) id() string {
	out := make([]byte, 0, len(m.ID))
	for i := range len(m.ID) {
		switch b := m.ID[i]; {
		case b >= 'a' && b <= 'z', b >= 'A' && b <= 'Z', b >= '0' && b <= '9', b == '-', b == '_', b == '.' &&
			len(out) > 0:
			out = append(out, b)
		}
	}
	if len(out) == 0 {
		return "pleat"
	}
	return string(out[:min(len(out), 64)])
}

// title returns the title in one line, or else the structure's own.
func (m *Meta) title(s *Structure) string {
	return cmp.Or(oneLine(m.Title), oneLine(s.Title))
}

// software returns the program's name in one line, "pleat" by default.
func (m *Meta) software() string {
	return cmp.Or(oneLine(m.Software), "pleat")
}

// checkAtoms returns an error for ids, names and numbers that no format can hold, and for a structure without atoms.
func checkAtoms(s *Structure) error {
	n := 0
	for i := range s.Chains {
		c := &s.Chains[i]
		if len(c.ID) > 64 || !printable([]byte(c.ID)) || c.ID == "" || len(c.Label) > 64 ||
			!printable([]byte(c.Label)) {
			return fmt.Errorf("write structure: chain %d has the id %s, want printable ASCII without spaces", i+1,
				excerpt(c.ID+c.Label))
		}
		before := 0
		for j := range c.Residues {
			r := &c.Residues[j]
			if c.Kind.Polymer() && r.Seq <= before {
				return fmt.Errorf(
					"write structure: residue %d of chain %s has position %d in the sequence, want more than %d", j+1,
					c.ID, r.Seq, before)
			}
			before = r.Seq
			n += len(r.Atoms)
			if err := checkResidue(c, j); err != nil {
				return err
			}
		}
	}
	if n == 0 {
		return fmt.Errorf("write structure: there are no atoms")
	}
	return nil
}

// checkResidue returns an error for names and numbers of residue j of a chain that no format can hold.
func checkResidue(c *Chain, j int) error {
	r := &c.Residues[j]
	if !printable([]byte(r.Comp)) || r.Comp == "" || len(r.Comp) > 32 || !printable([]byte(r.Ins)) || len(r.Ins) > 1 {
		return fmt.Errorf("write structure: residue %d of chain %s has the component %s and insertion code %s, "+
			"want printable ASCII without spaces", j+1, c.ID, excerpt(r.Comp), excerpt(r.Ins))
	}
	for k := range r.Atoms {
		a := &r.Atoms[k]
		if !printable([]byte(a.Name)) || a.Name == "" || len(a.Name) > 32 {
			return fmt.Errorf("write structure: atom %d of residue %d of chain %s is named %s, "+
				"want printable ASCII without spaces", k+1, j+1, c.ID, excerpt(a.Name))
		}
		for _, v := range [...]float64{a.Pos[0], a.Pos[1], a.Pos[2], a.B, a.Occupancy} {
			if math.IsNaN(v) || math.Abs(v) > 1e6 {
				return fmt.Errorf("write structure: atom %s of residue %d of chain %s has the value %v, "+
					"want numbers between −1,000,000 and 1,000,000", a.Name, j+1, c.ID, v)
			}
		}
	}
	return nil
}
