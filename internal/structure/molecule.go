package structure

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Molecule is the chemistry of one molecule: its atoms, in a conformation that has its stereochemistry, and its bonds.
type Molecule struct {
	Atoms []MoleculeAtom
	Bonds []MoleculeBond
	// Leaving reports whether the file says which atoms leave.
	Leaving bool
}

// MoleculeAtom is an atom of a molecule.
type MoleculeAtom struct {
	Name    string // unique; empty: the file names no atoms
	Element string // its symbol, such as C or Cl
	Charge  int
	Leaves  bool // it is absent from a residue within a chain
	Pos     Vec
}

// Dative is the order of a bond from a donor, A, to an acceptor, B, such as a metal. The dictionary of mmCIF has no
// such order; files of this service have it nevertheless.
const Dative = "DATI"

// MoleculeBond is a bond of the atoms with two indices. Its order is that of chem_comp_bond: SING, DOUB, TRIP or AROM;
// or Dative.
type MoleculeBond struct {
	A, B  int
	Order string
}

// Limits of a molecule.
const (
	maxMoleculeAtoms = 600
	maxMoleculeBonds = 1200
)

// symbolOf returns the symbol of an element that is written in any case, and false if there is none. Deuterium and
// tritium are hydrogen.
func symbolOf(s string) (string, bool) {
	up := strings.ToUpper(s)
	if up == "D" || up == "T" {
		up = "H"
	}
	if _, ok := masses[up]; !ok {
		return "", false
	}
	return up[:1] + strings.ToLower(up[1:]), true
}

// ReadComponentCIF reads the only component of a file as the Chemical Component Dictionary has it (chem_comp_atom,
// chem_comp_bond). Every atom must have coordinates: the ideal ones, or else those of the model. The error is a
// [*ParseError], or one from r.
func ReadComponentCIF(r io.Reader, lim Limits) (*Molecule, error) {
	in := newLines("mmCIF", r, lim.defaults())
	c := &componentReader{in: in, index: map[string]int{}}
	p := &cifParser{
		scan: cifScanner{in: in},
		block: func() (bool, error) {
			c.complete = len(c.m.Atoms) > 0
			return true, nil
		},
		tables: map[string]*cifTable{
			"chem_comp_atom": {items: []string{
				"atom_id", "type_symbol", "charge", "pdbx_leaving_atom_flag",
				"pdbx_model_cartn_x_ideal", "pdbx_model_cartn_y_ideal", "pdbx_model_cartn_z_ideal",
				"model_cartn_x", "model_cartn_y", "model_cartn_z", "comp_id",
			}, row: c.atom},
			"chem_comp_bond": {items: []string{"atom_id_1", "atom_id_2", "value_order"}, row: c.bond},
		},
	}
	if err := p.run(); err != nil {
		return nil, err
	}
	return c.molecule()
}

// componentReader collects the rows of a component.
type componentReader struct {
	in   *lines
	m    Molecule
	code string // comp_id; empty: the file has none
	// complete reports whether an earlier data block has atoms.
	complete bool
	index    map[string]int // of atoms, by name
	bonds    [][3]string
	// model has the model's coordinates; noIdeal and noModel count the atoms without coordinates of either kind.
	model            []Vec
	noIdeal, noModel int
}

// atom reads a row of chem_comp_atom.
func (c *componentReader) atom(v [][]byte) error {
	a := MoleculeAtom{Name: string(v[0]), Leaves: strings.EqualFold(string(v[3]), "Y")}
	symbol, ok := symbolOf(string(v[1]))
	if len(c.m.Atoms) == 0 {
		c.code = string(v[10])
	}
	switch _, twice := c.index[a.Name]; {
	case len(c.m.Atoms) == maxMoleculeAtoms:
		return c.in.limit("the molecule has more than the %d atoms allowed", maxMoleculeAtoms)
	case c.complete || string(v[10]) != c.code:
		return c.in.errorf("a second component begins here; a component is one molecule, in a file of its own")
	case a.Name == "":
		return c.in.errorf("an atom has no atom_id")
	case twice:
		return c.in.errorf("two atoms are called %s", excerpt(a.Name))
	case !ok:
		return c.in.errorf("the atom %s has the type_symbol %s, which is no element", excerpt(a.Name), excerpt(v[1]))
	}
	a.Element = symbol
	if v[2] != nil {
		charge, err := strconv.Atoi(string(v[2]))
		if err != nil || charge < -9 || charge > 9 {
			return c.in.errorf("the atom %s has the charge %s; it must be -9 to 9", excerpt(a.Name), excerpt(v[2]))
		}
		a.Charge = charge
	}
	ideal, err := c.point(v[4:7], &c.noIdeal)
	if err != nil {
		return err
	}
	model, err := c.point(v[7:10], &c.noModel)
	if err != nil {
		return err
	}
	a.Pos = ideal
	c.model = append(c.model, model)
	c.m.Leaving = c.m.Leaving || v[3] != nil
	c.index[a.Name] = len(c.m.Atoms)
	c.m.Atoms = append(c.m.Atoms, a)
	return nil
}

// point reads coordinates. Where there are none it counts the atom.
func (c *componentReader) point(v [][]byte, missing *int) (Vec, error) {
	var out Vec
	for i, text := range v {
		if text == nil {
			*missing++
			return Vec{}, nil
		}
		x, err := coordinate(string(text))
		if err != nil {
			return out, c.in.errorf("%s is no coordinate in Å", excerpt(text))
		}
		out[i] = x
	}
	return out, nil
}

// coordinate reads a coordinate in Å.
func coordinate(s string) (float64, error) {
	x, err := strconv.ParseFloat(s, 64)
	if err == nil && !(math.Abs(x) < 10_000) {
		err = strconv.ErrRange
	}
	return x, err
}

// bond keeps a row of chem_comp_bond until all atoms are known.
func (c *componentReader) bond(v [][]byte) error {
	if len(c.bonds) == maxMoleculeBonds {
		return c.in.limit("the molecule has more than the %d bonds allowed", maxMoleculeBonds)
	}
	c.bonds = append(c.bonds, [3]string{string(v[0]), string(v[1]), strings.ToUpper(string(v[2]))})
	return nil
}

// molecule returns what the rows are.
func (c *componentReader) molecule() (*Molecule, error) {
	c.in.number = 0 // the file as a whole
	if len(c.m.Atoms) == 0 {
		return nil, c.in.errorf("it has no chem_comp_atom, as a file of a chemical component must have")
	}
	switch {
	case c.noIdeal == 0:
	case c.noModel == 0:
		for i := range c.m.Atoms {
			c.m.Atoms[i].Pos = c.model[i]
		}
	default:
		return nil, c.in.errorf("it has no coordinates of every atom, which give the stereochemistry")
	}
	for _, b := range c.bonds {
		i, ok1 := c.index[b[0]]
		j, ok2 := c.index[b[1]]
		if !ok1 || !ok2 {
			return nil, c.in.errorf("it has a bond of the atoms %s and %s, which are not both there", excerpt(b[0]),
				excerpt(b[1]))
		}
		switch b[2] {
		case "SING", "DOUB", "TRIP", "AROM", Dative:
		default:
			return nil, c.in.errorf("it has a bond of the order %s; orders are SING, DOUB, TRIP and AROM",
				excerpt(b[2]))
		}
		c.m.Bonds = append(c.m.Bonds, MoleculeBond{i, j, b[2]})
	}
	return &c.m, c.m.check(c.in)
}

// groups are disjoint sets of the numbers from 0: each names another of its set, or itself.
type groups []int

// newGroups returns n sets of one number each.
func newGroups(n int) groups {
	g := make(groups, n)
	for i := range g {
		g[i] = i
	}
	return g
}

// find returns the number that stands for the set of i.
func (g groups) find(i int) int {
	for g[i] != i {
		g[i] = g[g[i]]
		i = g[i]
	}
	return i
}

// join joins the sets of two numbers, and reports whether they were two.
func (g groups) join(i, j int) bool {
	i, j = g.find(i), g.find(j)
	g[i] = j
	return i != j
}

// check checks that the bonds make one molecule of the atoms, each of two atoms and only once, and that the atoms have
// places.
func (m *Molecule) check(in *lines) error {
	seen := map[[2]int]bool{}
	joined := newGroups(len(m.Atoms))
	parts := len(m.Atoms)
	for _, b := range m.Bonds {
		pair := [2]int{min(b.A, b.B), max(b.A, b.B)}
		if b.A == b.B || seen[pair] {
			return in.errorf("its bond of the atoms %d and %d is there twice, or joins an atom with itself", b.A+1,
				b.B+1)
		}
		seen[pair] = true
		if joined.join(b.A, b.B) {
			parts--
		}
	}
	if parts > 1 {
		return in.errorf("its bonds leave %d molecules apart; a component is one molecule", parts)
	}
	if len(m.Atoms) > 1 && m.unplaced() {
		return in.errorf("its atoms are all at one place; give three-dimensional coordinates, which say the " +
			"stereochemistry")
	}
	return nil
}

// unplaced reports whether the atoms are all at one place, to the precision with which they are written.
func (m *Molecule) unplaced() bool {
	written := func(p Vec) Vec {
		return Vec{math.Round(p[0] * 1e4), math.Round(p[1] * 1e4), math.Round(p[2] * 1e4)}
	}
	first := written(m.Atoms[0].Pos)
	return !slices.ContainsFunc(m.Atoms, func(a MoleculeAtom) bool { return written(a.Pos) != first })
}

// WriteComponentCIF writes a molecule with a code as a file that [ReadComponentCIF] reads. All atoms must have names.
func (m *Molecule) WriteComponentCIF(w io.Writer, code string) error {
	b := bufio.NewWriter(w)
	id := cifQuote(code)
	fmt.Fprintf(b, "data_%s\n_chem_comp.id %s\nloop_\n", code, id)
	for _, item := range []string{"comp_id", "atom_id", "type_symbol", "charge", "pdbx_leaving_atom_flag",
		"pdbx_model_Cartn_x_ideal", "pdbx_model_Cartn_y_ideal", "pdbx_model_Cartn_z_ideal"} {
		fmt.Fprintf(b, "_chem_comp_atom.%s\n", item)
	}
	for i := range m.Atoms {
		a := &m.Atoms[i]
		leaves := "N"
		if a.Leaves {
			leaves = "Y"
		}
		fmt.Fprintf(b, "%s %s %s %d %s %.4f %.4f %.4f\n", id, cifQuote(a.Name), a.Element, a.Charge, leaves, a.Pos[0],
			a.Pos[1], a.Pos[2])
	}
	if len(m.Bonds) > 0 {
		fmt.Fprint(b, "loop_\n_chem_comp_bond.comp_id\n_chem_comp_bond.atom_id_1\n_chem_comp_bond.atom_id_2\n"+
			"_chem_comp_bond.value_order\n")
	}
	for _, o := range m.Bonds {
		fmt.Fprintf(b, "%s %s %s %s\n", id, cifQuote(m.Atoms[o.A].Name), cifQuote(m.Atoms[o.B].Name), o.Order)
	}
	return b.Flush()
}
