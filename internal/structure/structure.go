// Package structure owns three-dimensional structures: chains of residues of atoms in Å, the files that they are
// read from and written to (mmCIF, PDB, FASTA), and the measures computed from their coordinates and from a model's
// error estimates.
//
// It is pure: it uses no file, clock, network or randomness. It must not know jobs, runs or wire types, and it
// never folds or repairs a structure. No reader panics or uses more memory than its Limits allow.
package structure

import "strings"

// Vec is a point or a vector in Å: x, y, z.
type Vec = [3]float64

// Kind is the type of molecule that a chain consists of.
type Kind string

// The kinds of chain.
const (
	Protein Kind = "protein"
	RNA     Kind = "rna"
	DNA     Kind = "dna"
	Ligand  Kind = "ligand" // any non-polymer or branched molecule that is neither ion nor water
	Ion     Kind = "ion"
	Water   Kind = "water"
)

// Polymer reports whether chains of this kind consist of linked residues.
func (k Kind) Polymer() bool { return k == Protein || k == RNA || k == DNA }

// rank returns the order of the kinds in files: polymers, then ligands and ions, then waters.
func (k Kind) rank() int {
	switch {
	case k.Polymer():
		return 0
	case k == Water:
		return 2
	}
	return 1
}

// Structure is one model of one molecule or complex. The zero value is an empty structure.
type Structure struct {
	// Title is one line of free text; it may be empty.
	Title  string
	Chains []Chain
	// Origin is what the file says of where the structure comes from, and Method the experiment by its name there.
	Origin Origin
	Method string
	// PLDDTInB reports that the file says that its B-factors are pLDDT.
	PLDDTInB bool
	// Cell is the unit cell or periodic box that a file states; zero: it states none. It is not written.
	Cell Cell
}

// Chain is one molecule: a polymer, a ligand, or all waters of a file.
type Chain struct {
	ID       string // author chain id where a file gives one (PDB column 22, auth_asym_id)
	Label    string // label_asym_id of an mmCIF file; empty: the same as ID
	Kind     Kind
	Entity   int    // 1-based; chains of the same molecule share it; 0: not known
	Name     string // description of the molecule; may be empty
	Residues []Residue
	// FileID is the author's id in the file, where several polymers have it and ID tells them apart; else it is empty.
	FileID string
	// Counted reports that Auth counts the residues, because the numbers in the file do not tell them apart.
	Counted bool
	// Whole reports that Residues are those of the whole sequence, each at its place, also those without atoms; see
	// ReadWhole. Read does not set it.
	Whole bool
}

// Residue is one monomer of a polymer, or one ligand, ion or water molecule.
type Residue struct {
	Comp  string // chemical component (CCD) code: ALA, MSE, DA, U, HEM
	Seq   int    // position in the polymer's sequence, 1-based (label_seq_id); 0 outside polymers
	Auth  int    // number given by the authors, any sign; what PDB files show. 0 all through a polymer: the same as Seq
	Ins   string // insertion code: one character or empty
	Het   bool   // the file lists its atoms as HETATM
	Atoms []Atom
	// PLDDT is the confidence from 0 to 100 that the file lists for the residue (_ma_qa_metric_local); nil: it lists
	// none.
	PLDDT *float64
	// PredictedRMSD is the error in Å that a model expects of the residue, as the file lists it or, in a PDB file that
	// says so, the mean of its B-factors; nil: the file has none. It is no pLDDT: lower is better.
	PredictedRMSD *float64
}

// Atom is one atom. Pos is in Å. B is the isotropic B-factor of an experiment in Å² or, in a prediction, pLDDT from
// 0 to 100 or the predicted RMSD in Å.
type Atom struct {
	Name      string // CA, O5', HG11
	Element   string // symbol in upper case: C, SE, ZN; empty: not known
	Pos       Vec
	B         float64
	Occupancy float64
	Charge    int
}

// Atom returns the named atom of the residue, and whether it is there.
func (r *Residue) Atom(name string) (*Atom, bool) {
	for i := range r.Atoms {
		if r.Atoms[i].Name == name {
			return &r.Atoms[i], true
		}
	}
	return nil, false
}

// Heavy reports whether the atom is neither hydrogen nor deuterium, by its element or, where that is missing, by its
// name: H, HB2 and 1HB are hydrogens.
func (a *Atom) Heavy() bool {
	if a.Element != "" {
		return a.Element != "H" && a.Element != "D"
	}
	name := strings.TrimLeft(a.Name, "0123456789")
	return !strings.HasPrefix(name, "H") && !strings.HasPrefix(name, "D")
}

// Centre returns the representative atom of one-point-per-residue measures: CA in a protein, C1' in a nucleic acid.
// It returns false where the atom is missing.
func (r *Residue) Centre() (Vec, bool) {
	return r.point("CA", "C1'", "C1*")
}

// Beta returns the atom from which contacts are counted: CB, CA where there is none (glycine), and C3' in a nucleic
// acid, as in ipSAE. It returns false where all are missing.
func (r *Residue) Beta() (Vec, bool) {
	return r.point("CB", "CA", "C3'", "C3*")
}

// point returns the position of the first of the named atoms that the residue has. A calcium is no CA.
func (r *Residue) point(names ...string) (Vec, bool) {
	for _, name := range names {
		if a, ok := r.Atom(name); ok && (name != "CA" || a.Element != "CA") {
			return a.Pos, true
		}
	}
	return Vec{}, false
}

// Chain returns the first chain whose ID is id, or nil.
func (s *Structure) Chain(id string) *Chain {
	for i := range s.Chains {
		if s.Chains[i].ID == id {
			return &s.Chains[i]
		}
	}
	return nil
}

// Atoms returns the number of atoms in the structure.
func (s *Structure) Atoms() int {
	n := 0
	for i := range s.Chains {
		for j := range s.Chains[i].Residues {
			n += len(s.Chains[i].Residues[j].Atoms)
		}
	}
	return n
}

// Centres returns one point in Å per residue that has one (see [Residue.Centre]), in order.
func (c *Chain) Centres() []Vec {
	out := make([]Vec, 0, len(c.Residues))
	for i := range c.Residues {
		if v, ok := c.Residues[i].Centre(); ok {
			out = append(out, v)
		}
	}
	return out
}
