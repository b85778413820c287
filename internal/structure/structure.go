// Package structure owns three-dimensional structures as Pleat speaks of them:
// chains of residues of atoms in Å, the files they are read from and written to
// (mmCIF, PDB, FASTA), and the measures computed from their coordinates and
// from a model's error estimates (superposition, RMSD, TM-score, lDDT, DSSP,
// pTM, ipTM, ipSAE, pDockQ).
//
// It is pure: no file, clock, network or randomness of its own. It knows nothing
// of jobs, runs or the wire, it never folds or repairs a structure, and no reader
// of it panics or uses more than its Limits allow.
package structure

// Vec is a point or a vector in Å: x, y, z.
type Vec = [3]float64

// Kind is what a chain is made of.
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

// Polymer reports whether chains of this kind are built of linked residues.
func (k Kind) Polymer() bool { return k == Protein || k == RNA || k == DNA }

// rank orders the kinds in files: polymers, ligands and ions, waters.
func (k Kind) rank() int {
	switch {
	case k.Polymer():
		return 0
	case k == Water:
		return 2
	}
	return 1
}

// Structure is one model of one molecule or complex. The zero value is an empty
// structure.
type Structure struct {
	Title  string
	Chains []Chain
}

// Chain is one molecule: a polymer, a ligand, or the waters of a file together.
type Chain struct {
	ID       string // author chain id where a file gives one (PDB column 22, auth_asym_id)
	Label    string // label_asym_id of an mmCIF file; empty: the same as ID
	Kind     Kind
	Entity   int    // 1-based; chains of the same molecule share it; 0: not known
	Name     string // description of the molecule; may be empty
	Residues []Residue
}

// Residue is one monomer of a polymer, or one ligand, ion or water molecule.
type Residue struct {
	Comp  string // chemical component (CCD) code: ALA, MSE, DA, U, HEM
	Seq   int    // position in the polymer's sequence, 1-based (label_seq_id); 0 outside polymers
	Auth  int    // number given by the authors, any sign; what PDB files show. 0 all through a polymer: the same as Seq
	Ins   string // insertion code: one character or empty
	Het   bool   // the file lists its atoms as HETATM
	Atoms []Atom
}

// Atom is one atom. B is the isotropic B-factor of an experiment in Å², or, in a
// prediction, pLDDT from 0 to 100.
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

// Centre is the atom that stands for the residue in one-point-per-residue
// measures: CA in a protein, C1' in a nucleic acid. False where it is missing.
func (r *Residue) Centre() (Vec, bool) {
	for _, name := range [...]string{"CA", "C1'", "C1*"} {
		if a, ok := r.Atom(name); ok && (name != "CA" || a.Element != "CA") {
			return a.Pos, true
		}
	}
	return Vec{}, false
}

// Beta is the atom that contacts are counted from: CB, CA where there is none
// (glycine), and C3' in a nucleic acid as ipSAE takes it. False where all are missing.
func (r *Residue) Beta() (Vec, bool) {
	for _, name := range [...]string{"CB", "CA", "C3'", "C3*"} {
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

// Atoms is the number of atoms in the structure.
func (s *Structure) Atoms() int {
	n := 0
	for i := range s.Chains {
		for j := range s.Chains[i].Residues {
			n += len(s.Chains[i].Residues[j].Atoms)
		}
	}
	return n
}

// Centres lists one point per residue that has one (see Residue.Centre), in order.
func (c *Chain) Centres() []Vec {
	out := make([]Vec, 0, len(c.Residues))
	for i := range c.Residues {
		if v, ok := c.Residues[i].Centre(); ok {
			out = append(out, v)
		}
	}
	return out
}
