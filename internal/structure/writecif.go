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
	seen := map[int]bool{}
	for i, e := range c.entity {
		if !seen[e] {
			seen[e] = true
			c.first = append(c.first, i)
		}
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
	c.ligandScheme()
	c.sites()
	return c.w.Flush()
}

// cifWriter writes one file, category by category. Errors of the buffered writer are sticky; Flush returns them.
type cifWriter struct {
	w *bufio.Writer
	s *Structure
	m *Meta
	// labels, entity and auth are the label_asym_id, the entity number and the author numbers of each chain.
	labels []string
	entity []int
	auth   [][]int
	first  []int // first chain of each entity, in order of appearance
	// poly holds the sequences of the polymer entities, in order of appearance.
	poly []polySeq
	// line is a buffer for the row being written.
	line []byte
}

// loop writes the head of a table: loop_ and the names of its items. Rows follow by row, and end closes it.
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
	c.pairs(category, pairs...)
	c.end()
}

// pairs writes items without the end of their category.
func (c *cifWriter) pairs(category string, pairs ...string) {
	for i := 0; i < len(pairs); i += 2 {
		c.row("\x00_"+category+"."+pairs[i], pairs[i+1])
	}
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

// head writes the entry and the disclaimer.
func (c *cifWriter) head() {
	c.entry()
	c.end()
	if text := oneLine(c.m.Disclaimer); text != "" {
		c.items("pdbx_data_usage", "id", "1", "type", "disclaimer", "details", text)
	}
}

// paeFileItem is the item of ma_entry_associated_files that names the file.
const paeFileItem = "file_url"

// entry writes the data block's name, the entry id, the title and the methodology, but not the end of their category.
func (c *cifWriter) entry() {
	id := c.m.id()
	fmt.Fprintf(c.w, "data_%s\n#\n", id)
	c.items("entry", "id", id)
	if !c.m.Experimental {
		c.items("audit_conform", "dict_name", "mmcif_ma.dic", "dict_version", "1.4.9",
			"dict_location", "https://raw.githubusercontent.com/ihmwg/ModelCIF/fece26d/dist/mmcif_ma.dic")
	}
	if c.m.PAEFile != "" && !c.m.Experimental {
		c.items("ma_entry_associated_files", "entry_id", id, "id", "1", paeFileItem, oneLine(c.m.PAEFile),
			"file_type", "file", "file_format", "json", "file_content", "local pairwise QA scores",
			"details", "Predicted aligned errors in the format of the AlphaFold database")
	}
	method := "computational"
	if c.m.Experimental {
		method = "experimental"
	}
	c.pairs("struct", "entry_id", id, "title", c.m.title(c.s))
	c.row("\x00"+strings.TrimSpace(methodologyItem), method)
}

// dotted returns v, or the CIF value "." (not applicable) where it is empty.
func dotted(v string) string {
	return cmp.Or(v, "\x00.")
}

// elements writes the elements that occur (atom_type), sorted by symbol.
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

// sites writes the atoms (atom_site), one a line. It makes most of a file, so the values are appended to one buffer.
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

// appendFixed appends a number with the given decimals, never a negative zero, so that equal structures have equal
// bytes.
func appendFixed(b []byte, v float64, decimals int) []byte {
	start := len(b)
	b = strconv.AppendFloat(b, v, 'f', decimals, 64)
	if b[start] == '-' && strings.Trim(string(b[start+1:]), "0.") == "" {
		b = append(b[:start], b[start+1:]...)
	}
	return b
}
