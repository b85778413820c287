package structure

import (
	"cmp"
	"errors"
	"io"
	"math"
	"strconv"
	"strings"
)

// ReadCIF reads the first model of the first data block of an mmCIF file that has atoms. It keeps one alternative
// location per residue, that of the highest occupancy. Chains are those of label_asym_id where the file describes them;
// otherwise polymers, ligands and waters are separated by their names and atoms. Missing occupancies are 1, missing
// B-factors 0, and a missing element follows from the atom's name. Residues without atoms are not listed. The error is
// a [*ParseError], or one from r.
func ReadCIF(r io.Reader, lim Limits) (*Structure, error) {
	s, _, err := readCIF(r, lim)
	return s, err
}

// readCIF is ReadCIF, and returns also the reader with what it knows of the file.
func readCIF(r io.Reader, lim Limits) (*Structure, *cifReader, error) {
	in := newLines("mmCIF", r, lim.defaults())
	c := &cifReader{build: newBuilder(in)}
	p := &cifParser{scan: cifScanner{in: in}, block: c.block, tables: map[string]*cifTable{
		"struct":      {items: []string{"title", "pdbx_structure_determination_methodology"}, row: c.title},
		"entity":      {items: []string{"id", "type", "pdbx_description"}, row: c.entity},
		"entity_poly": {items: []string{"entity_id", "type"}, row: c.polymer},
		"struct_asym": {items: []string{"id", "entity_id"}, row: c.asym},
		"atom_site":   {items: atomItems, row: c.atom},

		"entity_poly_seq": {items: []string{"entity_id", "num", "mon_id"}, row: c.monomer},

		"exptl":   {items: []string{"method"}, row: c.experiment},
		"ma_data": {row: c.computed},
		"cell": {items: []string{
			"length_a", "length_b", "length_c", "angle_alpha", "angle_beta", "angle_gamma",
		}, row: c.cell},
		"ma_model_list": {row: c.computed},
		"ma_qa_metric":  {items: []string{"id", "mode", "type", "name"}, row: c.metric},
		"ma_qa_metric_local": {
			items: []string{"model_id", "label_asym_id", "label_seq_id", "metric_id", "metric_value"},
			row:   c.localMetric,
		},
	}}
	c.clear()
	if err := p.run(); err != nil {
		return nil, nil, err
	}
	if err := c.build.flush(); err != nil {
		return nil, nil, err
	}
	c.assignMetrics()
	s, err := c.build.structure(c.entities)
	return s, c, err
}

// atomItems are the wanted items of _atom_site, in the order of the constants below.
var atomItems = []string{
	"group_pdb", "type_symbol", "label_atom_id", "auth_atom_id", "label_alt_id", "label_comp_id", "auth_comp_id",
	"label_asym_id", "auth_asym_id", "label_entity_id", "label_seq_id", "auth_seq_id", "pdbx_pdb_ins_code", "cartn_x",
	"cartn_y", "cartn_z", "occupancy", "b_iso_or_equiv", "pdbx_formal_charge", "pdbx_pdb_model_num",
}

// Indices of the values of an _atom_site row.
const (
	siteGroup = iota
	siteSymbol
	siteAtom
	siteAuthAtom
	siteAlt
	siteComp
	siteAuthComp
	siteAsym
	siteAuthAsym
	siteEntity
	siteSeq
	siteAuthSeq
	siteIns
	siteX
	siteY
	siteZ
	siteOccupancy
	siteB
	siteCharge
	siteModel
)

// cifReader collects the entities and atoms of a file from the rows that the parser passes on. Unknown categories are
// ignored.
type cifReader struct {
	build *builder
	// entities holds the entity tables of the current data block.
	entities entities
	// model is the number of the first model; atoms of others are skipped.
	model string
	// second is the number of the second model, which may be a copy of the first.
	second string
	// lengths are those of the whole sequences, by entity id, and monomers their components by position, empty where
	// none is given. All together have as many positions as Limits.Residues at most.
	lengths  map[string]int
	monomers map[string][]string
	listed   int
	// metrics are the local quality metrics of the file by id, and values those of residues in the first model of them.
	metrics     map[string]qaMetric
	values      map[qaKey]float64
	valuesModel string
}

// clear forgets the entities of a previous data block, whose atoms are not read.
func (c *cifReader) clear() {
	c.entities = entities{kind: map[string]Kind{}, name: map[string]string{}, asym: map[string]string{}}
	c.lengths, c.monomers, c.listed = map[string]int{}, map[string][]string{}, 0
	c.metrics, c.values, c.valuesModel = map[string]qaMetric{}, map[qaKey]float64{}, ""
	c.build.method, c.build.computed, c.build.cell = "", false, Cell{}
}

// block starts a data block, and stops reading once a block with atoms is complete.
func (c *cifReader) block() (bool, error) {
	if c.build.atoms > 0 {
		return false, nil
	}
	c.clear()
	c.build.title = ""
	return true, nil
}

// title reads a row of _struct: the title.
func (c *cifReader) title(v [][]byte) error {
	if c.build.atoms == 0 || c.build.title == "" {
		c.build.title = oneLine(v[0])
	}
	c.build.computed = c.build.computed || strings.EqualFold(string(v[1]), "computational")
	return nil
}

// entity reads a row of _entity: whether a molecule is a polymer, and its description.
func (c *cifReader) entity(v [][]byte) error {
	if v[0] == nil {
		return nil
	}
	id := string(v[0])
	if err := c.room(id); err != nil {
		return err
	}
	if name := oneLine(v[2]); name != "" {
		c.entities.name[id] = name
	}
	switch strings.ToLower(string(v[1])) {
	case "polymer":
		if !c.entities.kind[id].Polymer() {
			c.entities.kind[id] = polymerOfUnknownKind
		}
	case "water":
		c.entities.kind[id] = Water
	case "non-polymer", "branched", "macrolide":
		c.entities.kind[id] = Ligand
	}
	return nil
}

// room returns an error for a new entity beyond Limits.Chains.
func (c *cifReader) room(id string) error {
	if _, known := c.entities.kind[id]; !known && len(c.entities.kind) >= c.build.in.lim.Chains {
		return c.build.in.limit("there are more than the %d entities allowed", c.build.in.lim.Chains)
	}
	return nil
}

// polymerOfUnknownKind marks a polymer whose kind follows from its residues.
const polymerOfUnknownKind Kind = "polymer"

// polymer reads a row of _entity_poly: the kind of a polymer.
func (c *cifReader) polymer(v [][]byte) error {
	if v[0] == nil {
		return nil
	}
	if err := c.room(string(v[0])); err != nil {
		return err
	}
	kind := polymerOfUnknownKind
	switch strings.ToLower(string(v[1])) {
	case "polypeptide(l)", "polypeptide(d)", "cyclic-pseudo-peptide":
		kind = Protein
	case "polyribonucleotide":
		kind = RNA
	case "polydeoxyribonucleotide":
		kind = DNA
	}
	c.entities.kind[string(v[0])] = kind
	return nil
}

// monomer reads a row of _entity_poly_seq: a residue of the whole sequence. One without a number is passed over.
func (c *cifReader) monomer(v [][]byte) error {
	n, err := strconv.Atoi(string(v[1]))
	if v[0] == nil || err != nil || n < 1 || n > c.build.in.lim.Residues {
		return nil
	}
	id := string(v[0])
	if _, known := c.lengths[id]; known || len(c.lengths) < c.build.in.lim.Chains {
		c.lengths[id] = max(c.lengths[id], n)
		c.list(id, n, v[2])
	}
	return nil
}

// cell reads the unit cell. One without six numbers is none.
func (c *cifReader) cell(v [][]byte) error {
	var edges [6]float64
	for k := range edges {
		edges[k], _ = parseFloat(v[k]) // 0 makes no cell
	}
	c.build.cell = newCell(edges)
	return nil
}

// list keeps the component of a position, the first where there are several.
func (c *cifReader) list(entity string, n int, comp []byte) {
	known := c.monomers[entity]
	more := max(0, n-len(known))
	if len(comp) == 0 || len(comp) > 32 || !printable(comp) || c.listed+more > c.build.in.lim.Residues {
		return
	}
	c.listed += more
	known = append(known, make([]string, more)...)
	if known[n-1] == "" {
		known[n-1] = standardCode(c.build.intern(comp))
	}
	c.monomers[entity] = known
}

// asym reads a row of _struct_asym: the entity of a chain.
func (c *cifReader) asym(v [][]byte) error {
	if v[0] == nil || v[1] == nil {
		return nil
	}
	if len(c.entities.asym) >= c.build.in.lim.Chains {
		return c.build.in.limit("there are more than the %d chains allowed", c.build.in.lim.Chains)
	}
	c.entities.asym[string(v[0])] = string(v[1])
	return nil
}

// atom reads a row of _atom_site. It skips the rows of later models, but looks for a copy in the second one.
func (c *cifReader) atom(v [][]byte) error {
	if model := v[siteModel]; c.build.atoms == 0 {
		c.model = string(model)
	} else if string(model) != c.model {
		c.laterModel(v)
		return nil
	}
	a, err := c.described(v)
	if err != nil {
		return err
	}
	id, label, key, err := c.residue(v)
	if err != nil {
		return err
	}
	chain, err := c.build.chain(id, label, string(v[siteEntity]))
	if err != nil {
		return err
	}
	return c.build.atom(chain, key, a)
}

// laterModel looks for a copy of the first model in the second one.
func (c *cifReader) laterModel(v [][]byte) {
	if c.second == "" {
		c.second = string(v[siteModel])
	}
	if string(v[siteModel]) != c.second {
		return
	}
	id, label, key, err := c.residue(v)
	name := cmp.Or(string(v[siteAtom]), string(v[siteAuthAtom]))
	if err == nil {
		c.build.pair(atomKey{cmp.Or(label, id), key, name}, func() (Vec, error) { return c.position(v) })
	}
}

// residue reads the items that identify the residue of an atom: its chain, as the authors and as the file call it, and
// its place there.
func (c *cifReader) residue(v [][]byte) (id, label string, key residueKey, err error) {
	if v[siteSeq] != nil {
		if key.seq, err = c.number("label_seq_id", v[siteSeq]); err != nil {
			return "", "", key, err
		}
		key.auth = key.seq
	}
	if v[siteAuthSeq] != nil {
		if key.auth, err = c.number("auth_seq_id", v[siteAuthSeq]); err != nil {
			return "", "", key, err
		}
	}
	if key.ins, err = c.name("pdbx_PDB_ins_code", 1, v[siteIns]); err != nil {
		return "", "", key, err
	}
	if label, err = c.name("label_asym_id", 64, v[siteAsym]); err != nil {
		return "", "", key, err
	}
	if id, err = c.name("auth_asym_id", 64, v[siteAuthAsym], v[siteAsym]); err == nil && id == "" {
		err = c.build.in.errorf("the atom has neither label_asym_id nor auth_asym_id")
	}
	return id, label, key, err
}

// position reads the coordinates of an atom.
func (c *cifReader) position(v [][]byte) (pos Vec, err error) {
	for k := range pos {
		item := [...]string{"Cartn_x", "Cartn_y", "Cartn_z"}[k]
		if v[siteX+k] == nil {
			return pos, c.build.in.errorf("the atom has no %s", item)
		}
		if pos[k], err = c.float(item, v[siteX+k]); err != nil {
			return pos, err
		}
	}
	return pos, nil
}

// described reads the items that describe the atom alone.
func (c *cifReader) described(v [][]byte) (a pendingAtom, err error) {
	a.het = string(v[siteGroup]) == "HETATM"
	if a.Name, err = c.name("label_atom_id", 32, v[siteAtom], v[siteAuthAtom]); err != nil {
		return a, err
	}
	if a.comp, err = c.name("label_comp_id", 32, v[siteComp], v[siteAuthComp]); err != nil {
		return a, err
	}
	a.upperCase()
	if a.alt, err = c.name("label_alt_id", 32, v[siteAlt]); err != nil {
		return a, err
	}
	if a.Name == "" || a.comp == "" {
		return a, c.build.in.errorf("the atom has no name or no component (label_atom_id, label_comp_id)")
	}
	if a.Pos, err = c.position(v); err != nil {
		return a, err
	}
	a.Occupancy = 1
	if v[siteOccupancy] != nil {
		if a.Occupancy, err = c.float("occupancy", v[siteOccupancy]); err != nil {
			return a, err
		}
	}
	if v[siteB] != nil {
		if a.B, err = c.float("B_iso_or_equiv", v[siteB]); err != nil {
			return a, err
		}
	}
	if v[siteCharge] != nil {
		if a.Charge, err = c.number("pdbx_formal_charge", v[siteCharge]); err != nil {
			return a, err
		}
	}
	a.Element = c.build.intern([]byte(elementOf(string(v[siteSymbol]), a.Name, a.comp)))
	return a, nil
}

// name returns the first value that is present. It fails unless that is printable ASCII of at most longest bytes.
func (c *cifReader) name(item string, longest int, values ...[]byte) (string, error) {
	for _, v := range values {
		if len(v) == 0 {
			continue
		}
		if len(v) > longest || !printable(v) {
			return "", c.build.in.errorf("%s is %s, want 1 to %d printable ASCII characters without spaces", item,
				excerpt(v), longest)
		}
		return c.build.intern(v), nil
	}
	return "", nil
}

// printable reports whether v is printable ASCII without spaces.
func printable(v []byte) bool {
	for _, b := range v {
		if b <= ' ' || b > '~' {
			return false
		}
	}
	return true
}

// number reads a whole number of at most nine digits.
func (c *cifReader) number(item string, v []byte) (int, error) {
	n, err := strconv.Atoi(string(v))
	if err != nil || n > 1e8 || n < -1e8 {
		return 0, c.build.in.errorf("%s is %s, want a whole number", item, excerpt(v))
	}
	return n, nil
}

// float reads a number and drops its standard uncertainty.
func (c *cifReader) float(item string, v []byte) (float64, error) {
	number := v
	if i := len(v) - 1; i > 0 && v[i] == ')' { // a standard uncertainty: 1.234(5)
		for i > 0 && v[i] != '(' {
			i--
		}
		number = v[:i]
	}
	f, err := parseFloat(number)
	if err != nil {
		return 0, c.build.in.errorf("%s is %s, want a number between −1,000,000 and 1,000,000", item, excerpt(v))
	}
	return f, nil
}

// errNumber is replaced by the callers' errors, which name the field.
var errNumber = errors.New("not a number in range")

// parseFloat reads a decimal number between −1,000,000 and 1,000,000, and turns negative zero into zero.
func parseFloat(b []byte) (float64, error) {
	f, err := strconv.ParseFloat(string(b), 64)
	if err != nil || math.IsNaN(f) || f > 1e6 || f < -1e6 {
		return 0, errNumber
	}
	if f == 0 {
		f = 0 // no negative zero
	}
	return f, nil
}

// oneLine returns v in one line: without control characters and repeated spaces.
func oneLine[T string | []byte](v T) string {
	s := strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(string(v), "?"))
	return strings.Join(strings.Fields(s), " ")
}

// elementOf returns the symbol of an atom's element in upper case: symbol where it is valid, else the one that the
// atom's name implies, X where the name has no letter.
func elementOf(symbol, name, comp string) string {
	symbol = strings.ToUpper(symbol)
	if _, ok := masses[symbol]; ok || symbol == "X" {
		return symbol
	}
	if symbol = ionElement(comp, name); symbol != "" {
		return symbol
	}
	bare := strings.ToUpper(strings.Trim(name, "0123456789'\"*+-"))
	if _, ok := masses[bare]; ok && (bare == strings.ToUpper(comp) || strings.Trim(comp, "0123456789") == bare) {
		return bare // an ion: its atom is named as its component
	}
	if polymerKind(comp) == "" && len(bare) >= 2 {
		switch bare[:2] {
		case "CL", "BR", "FE", "ZN", "MG", "MN", "CU", "SE", "NI":
			return bare[:2]
		}
	}
	if comp == "MSE" && bare == "SE" {
		return "SE"
	}
	for i := range len(bare) {
		if _, ok := masses[bare[i:i+1]]; ok {
			return bare[i : i+1]
		}
	}
	return "X"
}
