package structure

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// WriteCIF writes the structure as mmCIF with the ModelCIF extension, like the files of the AlphaFold database, so
// that viewers colour by pLDDT without configuration: the confidence is in both _ma_qa_metric_local and
// B_iso_or_equiv, and the methodology is computational. Coordinates have three decimals, pLDDT two. The same input
// gives the same bytes. Errors are w's, or name what in the input cannot be written; in the latter case nothing was
// written.
//
// Source: PDBx/mmCIF dictionary 5; ModelCIF dictionary 1.4.
func WriteCIF(w io.Writer, s *Structure, m Meta) error {
	if err := checkAtoms(s); err != nil {
		return err
	}
	if err := m.check(s); err != nil {
		return err
	}
	c := &cifWriter{w: bufio.NewWriterSize(w, 64<<10), s: s, m: &m, labels: s.labels(), entity: s.entities()}
	for i := range s.Chains {
		c.auth = append(c.auth, s.Chains[i].authNumbers())
	}
	c.head()
	c.molecules()
	c.components()
	if !m.Experimental {
		c.model()
	}
	c.secondary()
	c.scheme()
	c.sites()
	return c.w.Flush()
}

// cifWriter writes one file; labels, entity and auth are by chain.
type cifWriter struct {
	w *bufio.Writer
	s *Structure
	m *Meta
	// labels, entity and auth are the label_asym_id, the entity number and the author numbers of each chain.
	labels []string
	entity []int
	auth   [][]int
	// poly holds the sequences of the polymer entities, in order of appearance.
	poly []polySeq
	// line is a buffer for the row being written.
	line []byte
}

// polySeq is the sequence of one polymer entity, merged from the residues that its chains list.
type polySeq struct {
	entity int
	chain  int // first chain of the entity
	// seq are positions in the sequence in ascending order, comp the component at each of them.
	seq    []int
	comp   []string
	chains []int
}

// loop writes the head of a table.
func (c *cifWriter) loop(category string, items ...string) {
	c.w.WriteString("loop_\n")
	for _, item := range items {
		c.w.WriteString("_" + category + "." + item + "\n")
	}
}

// end closes a category.
func (c *cifWriter) end() { c.w.WriteString("#\n") }

// row writes one row of values and quotes them where necessary.
func (c *cifWriter) row(values ...string) {
	c.line = c.line[:0]
	for i, v := range values {
		v = cifQuote(v)
		if v[0] == ';' { // begins a line of its own
			c.line = append(append(c.line, '\n'), v...)
			c.line = append(c.line, '\n')
			continue
		}
		if i > 0 && c.line[len(c.line)-1] != '\n' {
			c.line = append(c.line, ' ')
		}
		c.line = append(c.line, v...)
	}
	if c.line[len(c.line)-1] != '\n' {
		c.line = append(c.line, '\n')
	}
	c.w.Write(c.line)
}

// items writes a category of one row: name, value, name, value …
func (c *cifWriter) items(category string, pairs ...string) {
	for i := 0; i < len(pairs); i += 2 {
		c.row("\x00_"+category+"."+pairs[i], pairs[i+1])
	}
	c.end()
}

// cifQuote returns any text as a CIF value; empty text is "?". A leading zero byte marks text that must not be
// quoted.
func cifQuote(v string) string {
	if v == "" {
		return "?"
	}
	if v[0] == 0 {
		return v[1:]
	}
	plain := strings.IndexByte("_#$'\"[];", v[0]) < 0
	for i := 0; plain && i < len(v); i++ {
		plain = v[i] > ' ' && v[i] != '\'' && v[i] != '"' && v[i] != 0x7f
	}
	if plain && v != "." && v != "?" {
		kind, _, _ := (&cifScanner{rest: []byte(v)}).word()
		if kind == cifValue {
			return v
		}
	}
	quotes := []string{"'", "\""}
	if strings.Contains(v, "'") && !strings.Contains(v, "\"") {
		quotes[0], quotes[1] = quotes[1], quotes[0] // some readers end a value at any quote
	}
	for _, q := range quotes {
		if !strings.Contains(v, q+" ") && !strings.Contains(v, q+"\t") && !strings.ContainsAny(v, "\n\r") {
			return q + v + q
		}
	}
	return ";" + strings.ReplaceAll(strings.ReplaceAll(v, "\r", " "), "\n;", "\n ;") + "\n;"
}

// head writes the data block's name, the title, the methodology and the disclaimer.
func (c *cifWriter) head() {
	id := c.m.id()
	fmt.Fprintf(c.w, "data_%s\n#\n", id)
	c.items("entry", "id", id)
	if !c.m.Experimental {
		c.items("audit_conform", "dict_name", "mmcif_ma.dic", "dict_version", "1.4.7",
			"dict_location", "https://raw.githubusercontent.com/ihmwg/ModelCIF/master/dist/mmcif_ma.dic")
	}
	method := "computational"
	if c.m.Experimental {
		method = "experimental"
	}
	c.items("struct", "entry_id", id, "title", c.m.title(c.s), "pdbx_structure_determination_methodology", method)
	if text := oneLine(c.m.Disclaimer); text != "" {
		c.items("pdbx_data_usage", "id", "1", "type", "disclaimer", "details", text)
	}
}

// molecules writes the entities and their sequences.
func (c *cifWriter) molecules() {
	c.gather()
	c.loop("entity", "id", "type", "src_method", "pdbx_description", "pdbx_number_of_molecules", "details")
	done := map[int]bool{}
	count := map[int]int{}
	for _, e := range c.entity {
		count[e]++
	}
	for i := range c.s.Chains {
		e, chain := c.entity[i], &c.s.Chains[i]
		if done[e] {
			continue
		}
		done[e] = true
		kind, n := "non-polymer", count[e]
		switch {
		case chain.Kind.Polymer():
			kind = "polymer"
		case chain.Kind == Water:
			kind = "water"
			n = len(chain.Residues)
		}
		c.row(strconv.Itoa(e), kind, "man", oneLine(chain.Name), strconv.Itoa(n), "")
	}
	c.end()
	if len(c.poly) > 0 {
		c.sequences()
	}
	c.ligands()
	c.loop("struct_asym", "id", "entity_id", "details")
	for i, l := range c.labels {
		c.row(l, strconv.Itoa(c.entity[i]), "")
	}
	c.end()
}

// ligands writes the component of each entity that is not a polymer.
func (c *cifWriter) ligands() {
	seen := map[int]bool{}
	for i := range c.s.Chains {
		chain, e := &c.s.Chains[i], c.entity[i]
		if chain.Kind.Polymer() || seen[e] || len(chain.Residues) == 0 {
			continue
		}
		if len(seen) == 0 {
			c.loop("pdbx_entity_nonpoly", "entity_id", "name", "comp_id", "ma_model_mode")
		}
		seen[e] = true
		c.row(strconv.Itoa(e), oneLine(chain.Name), chain.Residues[0].Comp, "explicit")
	}
	if len(seen) > 0 {
		c.end()
	}
}

// sequences writes the sequence of each polymer entity.
func (c *cifWriter) sequences() {
	c.loop("entity_poly", "entity_id", "type", "nstd_linkage", "nstd_monomer", "pdbx_seq_one_letter_code",
		"pdbx_seq_one_letter_code_can", "pdbx_strand_id")
	for _, p := range c.poly {
		chain := &c.s.Chains[p.chain]
		var strands []string
		for _, k := range p.chains {
			strands = append(strands, c.s.Chains[k].ID)
		}
		one, can, odd := p.letters(chain.Kind)
		kind := map[Kind]string{
			Protein: "polypeptide(L)", RNA: "polyribonucleotide", DNA: "polydeoxyribonucleotide",
		}[chain.Kind]
		c.row(strconv.Itoa(p.entity), kind, "no", odd, one, can, strings.Join(strands, ","))
	}
	c.end()
	c.loop("entity_poly_seq", "entity_id", "num", "mon_id", "hetero")
	for _, p := range c.poly {
		for k, seq := range p.seq {
			c.row(strconv.Itoa(p.entity), strconv.Itoa(seq), p.comp[k], "n")
		}
	}
	c.end()
}

// letters returns the sequence with non-standard residues in parentheses, the canonical sequence, and "yes" or "no"
// for whether there are any non-standard residues.
func (p *polySeq) letters(kind Kind) (one, can, odd string) {
	var a, b strings.Builder
	odd = "no"
	for _, comp := range p.comp {
		l := Letter(kind, comp)
		b.WriteByte(l)
		if std, ok := Component(kind, l); ok && std == comp && l != Unknown {
			a.WriteByte(l)
			continue
		}
		odd = "yes"
		a.WriteString("(" + comp + ")")
	}
	return a.String(), b.String(), odd
}

// gather merges the sequences of the chains of each polymer entity.
func (c *cifWriter) gather() {
	at := map[int]int{}
	c.poly = c.poly[:0]
	comps := map[[2]int]string{}
	for i := range c.s.Chains {
		chain, e := &c.s.Chains[i], c.entity[i]
		if !chain.Kind.Polymer() {
			continue
		}
		k, ok := at[e]
		if !ok {
			k = len(c.poly)
			at[e] = k
			c.poly = append(c.poly, polySeq{entity: e, chain: i})
		}
		p := &c.poly[k]
		p.chains = append(p.chains, i)
		for j := range chain.Residues {
			r := &chain.Residues[j]
			if _, ok := comps[[2]int{e, r.Seq}]; !ok {
				comps[[2]int{e, r.Seq}] = r.Comp
				p.seq = append(p.seq, r.Seq)
			}
		}
	}
	for k := range c.poly {
		p := &c.poly[k]
		slices.Sort(p.seq)
		for _, seq := range p.seq {
			p.comp = append(p.comp, comps[[2]int{p.entity, seq}])
		}
	}
}

// components writes the chemical components that occur, sorted by code.
func (c *cifWriter) components() {
	kinds := map[string]Kind{}
	for i := range c.s.Chains {
		chain := &c.s.Chains[i]
		for j := range chain.Residues {
			if comp := chain.Residues[j].Comp; !kinds[comp].Polymer() {
				kinds[comp] = chain.Kind
			}
		}
	}
	c.loop("chem_comp", "id", "type", "mon_nstd_flag", "name")
	for _, code := range slices.Sorted(maps.Keys(kinds)) {
		kind := map[Kind]string{Protein: "L-peptide linking", RNA: "RNA linking", DNA: "DNA linking"}[kinds[code]]
		standard, name := "n", ""
		switch {
		case !kinds[code].Polymer():
			kind, standard = "non-polymer", "."
			if waters[code] {
				name = "WATER"
			}
		case code == "GLY":
			kind = "peptide linking"
		}
		if known, ok := compNames[code]; ok && kinds[code].Polymer() {
			name, standard = known, "y"
		}
		if standard == "." {
			standard = "\x00."
		}
		c.row(code, kind, standard, name)
	}
	c.end()
}

// model writes the categories that ModelCIF requires.
func (c *cifWriter) model() {
	date := ""
	if !c.m.Date.IsZero() {
		date = c.m.Date.UTC().Format("2006-01-02")
	}
	c.loop("software", "pdbx_ordinal", "name", "version", "type", "classification", "description", "date")
	c.row("1", c.m.software(), oneLine(c.m.Version), "program", "other", "Structure prediction", date)
	c.end()
	c.loop("ma_software_group", "ordinal_id", "group_id", "software_id")
	c.row("1", "1", "1")
	c.end()
	c.targets()
	name := oneLine(c.m.Model)
	if name == "" {
		name = c.m.software()
	}
	c.loop("ma_model_list", "ordinal_id", "model_id", "model_group_id", "model_name", "model_group_name", "data_id",
		"model_type")
	c.row("1", "1", "1", name, name, strconv.Itoa(c.targetCount()+1), "Ab initio model")
	c.end()
	c.loop("ma_protocol_step", "ordinal_id", "protocol_id", "step_id", "method_type", "step_name", "software_group_id",
		"input_data_group_id", "output_data_group_id")
	c.row("1", "1", "1", "modeling", "Structure prediction", "1", "1", "2")
	c.end()
	if c.m.PLDDT != nil {
		c.confidence()
	}
}

// targetCount returns the number of entities.
func (c *cifWriter) targetCount() int {
	n := map[int]bool{}
	for _, e := range c.entity {
		n[e] = true
	}
	return len(n)
}

// targets writes the modelled molecules and the data items: one for each molecule, one for the coordinates.
func (c *cifWriter) targets() {
	var order, first []int
	seen := map[int]bool{}
	for i, e := range c.entity {
		if !seen[e] {
			seen[e] = true
			order, first = append(order, e), append(first, i)
		}
	}
	c.loop("ma_data", "id", "name", "content_type", "content_type_other_details")
	for k, e := range order {
		name := oneLine(c.s.Chains[first[k]].Name)
		if name == "" {
			name = fmt.Sprintf("molecule %d", e)
		}
		c.row(strconv.Itoa(k+1), name, "target", "\x00.")
	}
	c.row(strconv.Itoa(len(order)+1), "model", "model coordinates", "\x00.")
	c.end()
	c.loop("ma_data_group", "ordinal_id", "group_id", "data_id")
	for k := range order {
		c.row(strconv.Itoa(k+1), "1", strconv.Itoa(k+1))
	}
	c.row(strconv.Itoa(len(order)+1), "2", strconv.Itoa(len(order)+1))
	c.end()
	c.loop("ma_target_entity", "entity_id", "data_id", "origin")
	for k, e := range order {
		c.row(strconv.Itoa(e), strconv.Itoa(k+1), "designed")
	}
	c.end()
	c.loop("ma_target_entity_instance", "asym_id", "entity_id", "details")
	for i, l := range c.labels {
		c.row(l, strconv.Itoa(c.entity[i]), "")
	}
	c.end()
}

// confidence writes pLDDT from 0 to 100: the mean over all polymer residues, and one value per residue.
func (c *cifWriter) confidence() {
	c.loop("ma_qa_metric", "id", "mode", "name", "software_group_id", "type", "description")
	c.row("1", "global", "pLDDT", "1", "pLDDT", "Predicted lDDT, 0 to 100, mean over polymer residues")
	c.row("2", "local", "pLDDT", "1", "pLDDT", "Predicted lDDT, 0 to 100, per residue")
	c.end()
	sum, n := 0.0, 0
	for i, chain := range c.m.PLDDT {
		if c.s.Chains[i].Kind.Polymer() {
			for _, v := range chain {
				sum += v
				n++
			}
		}
	}
	if n == 0 {
		return
	}
	c.loop("ma_qa_metric_global", "ordinal_id", "model_id", "metric_id", "metric_value")
	c.row("1", "1", "1", strconv.FormatFloat(sum/float64(n), 'f', 2, 64))
	c.end()
	c.loop("ma_qa_metric_local", "ordinal_id", "model_id", "label_asym_id", "label_seq_id", "label_comp_id",
		"metric_id", "metric_value")
	ordinal := 0
	for i := range c.s.Chains {
		chain := &c.s.Chains[i]
		if !chain.Kind.Polymer() {
			continue
		}
		for j := range chain.Residues {
			ordinal++
			r := &chain.Residues[j]
			c.row(strconv.Itoa(ordinal), "1", c.labels[i], strconv.Itoa(r.Seq), r.Comp, "2",
				strconv.FormatFloat(c.m.PLDDT[i][j], 'f', 2, 64))
		}
	}
	c.end()
}

// scheme maps the numbering of sequences to that of the authors.
func (c *cifWriter) scheme() {
	if len(c.poly) == 0 {
		return
	}
	c.loop("pdbx_poly_seq_scheme", "asym_id", "entity_id", "seq_id", "mon_id", "ndb_seq_num", "pdb_seq_num",
		"auth_seq_num",
		"pdb_mon_id", "auth_mon_id", "pdb_strand_id", "pdb_ins_code", "hetero")
	for i := range c.s.Chains {
		chain := &c.s.Chains[i]
		if !chain.Kind.Polymer() {
			continue
		}
		for j, auth := range c.auth[i] {
			r := &chain.Residues[j]
			seq, number := strconv.Itoa(r.Seq), strconv.Itoa(auth)
			c.row(c.labels[i], strconv.Itoa(c.entity[i]), seq, r.Comp, seq, number, number, r.Comp, r.Comp, chain.ID,
				dotted(r.Ins), "n")
		}
	}
	c.end()
}

// dotted returns v, or the CIF value "." (not applicable) where it is empty.
func dotted(v string) string {
	if v == "" {
		return "\x00."
	}
	return v
}

// elements writes the elements that occur.
func (c *cifWriter) elements() {
	used := map[string]bool{}
	for i := range c.s.Chains {
		for j := range c.s.Chains[i].Residues {
			r := &c.s.Chains[i].Residues[j]
			for k := range r.Atoms {
				used[elementOf(r.Atoms[k].Element, r.Atoms[k].Name, r.Comp)] = true
			}
		}
	}
	c.loop("atom_type", "symbol")
	for _, symbol := range slices.Sorted(maps.Keys(used)) {
		c.row(symbol)
	}
	c.end()
}

// sites writes the atoms.
func (c *cifWriter) sites() {
	c.elements()
	c.loop("atom_site", "group_PDB", "id", "type_symbol", "label_atom_id", "label_alt_id", "label_comp_id",
		"label_asym_id", "label_entity_id",
		"label_seq_id", "pdbx_PDB_ins_code", "Cartn_x", "Cartn_y", "Cartn_z", "occupancy", "B_iso_or_equiv",
		"pdbx_formal_charge",
		"auth_seq_id", "auth_comp_id", "auth_asym_id", "auth_atom_id", "pdbx_PDB_model_num")
	serial := 0
	b := c.line
	for i := range c.s.Chains {
		chain := &c.s.Chains[i]
		label, id, entity := cifQuote(c.labels[i]), cifQuote(chain.ID), strconv.Itoa(c.entity[i])
		for j, auth := range c.auth[i] {
			r := &chain.Residues[j]
			group, seq, comp := "ATOM", strconv.Itoa(r.Seq), cifQuote(r.Comp)
			if r.Het || !chain.Kind.Polymer() {
				group = "HETATM"
			}
			if !chain.Kind.Polymer() {
				seq = "."
			}
			for k := range r.Atoms {
				serial++
				a := &r.Atoms[k]
				name := cifQuote(a.Name)
				b = append(append(b[:0], group...), ' ')
				b = strconv.AppendInt(b, int64(serial), 10)
				b = appendFields(b, elementOf(a.Element, a.Name, r.Comp), name, ".", comp, label, entity, seq,
					cifQuote(r.Ins))
				for _, x := range a.Pos {
					b = appendFixed(append(b, ' '), x, 3)
				}
				b = appendFixed(append(b, ' '), a.Occupancy, 2)
				b = appendFixed(append(b, ' '), c.m.b(i, j, a), 2)
				b = append(b, ' ')
				if a.Charge == 0 {
					b = append(b, '?')
				} else {
					b = strconv.AppendInt(b, int64(a.Charge), 10)
				}
				b = strconv.AppendInt(append(b, ' '), int64(auth), 10)
				b = appendFields(b, comp, id, name, "1")
				c.w.Write(append(b, '\n'))
			}
		}
	}
	c.line = b
	c.end()
}

// appendFields appends fields, each after a space.
func appendFields(b []byte, fields ...string) []byte {
	for _, f := range fields {
		b = append(append(b, ' '), f...)
	}
	return b
}

// appendFixed appends a number with the given decimals, never a negative zero.
func appendFixed(b []byte, v float64, decimals int) []byte {
	start := len(b)
	b = strconv.AppendFloat(b, v, 'f', decimals, 64)
	if b[start] == '-' && strings.Trim(string(b[start+1:]), "0.") == "" {
		b = append(b[:start], b[start+1:]...)
	}
	return b
}

// secondary writes the helices and strands that DSSP finds.
func (c *cifWriter) secondary() {
	helices, strands := c.s.secondaryRuns()
	if len(helices) > 0 {
		c.loop("struct_conf_type", "id", "criteria", "reference")
		c.row("HELX_P", "DSSP", "")
		c.end()
		c.loop("struct_conf",
			append([]string{"conf_type_id", "id", "pdbx_PDB_helix_id", "pdbx_PDB_helix_class", "pdbx_PDB_helix_length"},
				rangeItems...)...)
		class := map[byte]string{AlphaHelix: "1", PiHelix: "3", Helix310: "5"}
		for k, r := range helices {
			n := strconv.Itoa(k + 1)
			c.row(append([]string{"HELX_P", "HELX_P" + n, n, class[r.state], strconv.Itoa(r.to - r.from + 1)},
				c.ends(r)...)...)
		}
		c.end()
	}
	if len(strands) == 0 {
		return
	}
	slices.SortStableFunc(strands, func(a, b run) int { return cmp.Compare(a.sheet, b.sheet) })
	count := map[int]int{}
	for _, r := range strands {
		count[r.sheet]++
	}
	c.loop("struct_sheet", "id", "number_strands")
	for k := range len(count) {
		c.row(letterName(k), strconv.Itoa(count[k]))
	}
	c.end()
	c.loop("struct_sheet_range", append([]string{"sheet_id", "id"}, rangeItems...)...)
	clear(count)
	for _, r := range strands {
		count[r.sheet]++
		c.row(append([]string{letterName(r.sheet), strconv.Itoa(count[r.sheet])}, c.ends(r)...)...)
	}
	c.end()
}

// rangeItems are the items by which a helix or strand names its first and last residue; ends returns their values.
var rangeItems = []string{"beg_label_comp_id", "beg_label_asym_id", "beg_label_seq_id", "pdbx_beg_PDB_ins_code",
	"end_label_comp_id",
	"end_label_asym_id", "end_label_seq_id", "pdbx_end_PDB_ins_code", "beg_auth_comp_id", "beg_auth_asym_id",
	"beg_auth_seq_id",
	"end_auth_comp_id", "end_auth_asym_id", "end_auth_seq_id"}

// ends returns the values of rangeItems for a helix or strand.
func (c *cifWriter) ends(r run) []string {
	chain := &c.s.Chains[r.chain]
	a, b := &chain.Residues[r.from], &chain.Residues[r.to]
	auth, label := c.auth[r.chain], c.labels[r.chain]
	return []string{a.Comp, label, strconv.Itoa(a.Seq), a.Ins, b.Comp, label, strconv.Itoa(b.Seq), b.Ins,
		a.Comp, chain.ID, strconv.Itoa(auth[r.from]), b.Comp, chain.ID, strconv.Itoa(auth[r.to])}
}
