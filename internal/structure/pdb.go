package structure

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// PDBLimitError reports why a structure does not fit the PDB format.
type PDBLimitError struct{ Reason string }

// Error returns one sentence that ends with the advice to use mmCIF.
func (e *PDBLimitError) Error() string {
	return "the PDB format cannot hold this structure: " + e.Reason + "; use mmCIF"
}

// pdbLimit returns a PDBLimitError.
func pdbLimit(format string, args ...any) error { return &PDBLimitError{fmt.Sprintf(format, args...)} }

// WritePDB writes the structure in the PDB format: polymers, each closed by TER, then ligands, then waters. Where
// the structure does not fit the format's columns, the error is a [*PDBLimitError]; other errors are those of
// [WriteCIF]. In either case nothing was written. The same input gives the same bytes.
//
// Source: wwPDB Contents Guide 3.3.
func WritePDB(w io.Writer, s *Structure, m Meta) error {
	if err := checkAtoms(s); err != nil {
		return err
	}
	if err := m.check(s); err != nil {
		return err
	}
	p := &pdbWriter{s: s, m: &m}
	p.head()
	order := make([]int, len(s.Chains))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return s.Chains[a].Kind.rank() - s.Chains[b].Kind.rank() })
	for _, i := range order {
		p.seqres(&s.Chains[i])
	}
	for _, i := range order {
		if err := p.chain(i); err != nil {
			return err
		}
	}
	p.out.WriteString(pad("END"))
	_, err := w.Write(p.out.Bytes())
	return err
}

// pdbWriter writes the records of one file into a buffer, so that a failed write leaves no partial file.
type pdbWriter struct {
	out bytes.Buffer
	s   *Structure
	m   *Meta
	// serial is the last serial number written. Atoms and TER records share one sequence.
	serial int
	line   []byte
}

// pad returns a line of 80 columns with its line end.
func pad(line string) string { return fmt.Sprintf("%-80s\n", line) }

// ascii returns s with A in place of Å, which the format writes so, and '?' in place of other characters outside
// printable ASCII.
func ascii(s string) string {
	return strings.Map(func(r rune) rune {
		if r == 'Å' {
			return 'A'
		}
		if r < ' ' || r > '~' {
			return '?'
		}
		return r
	}, s)
}

// wrap breaks text at spaces into lines of at most width; longer words are cut.
func wrap(text string, width int) []string {
	var out []string
	line := ""
	for _, word := range strings.Fields(ascii(text)) {
		for len(word) > width {
			if line != "" {
				out, line = append(out, line), ""
			}
			out, word = append(out, word[:width]), word[width:]
		}
		switch {
		case word == "":
		case line == "":
			line = word
		case len(line)+1+len(word) <= width:
			line += " " + word
		default:
			out, line = append(out, line), word
		}
	}
	if line != "" {
		out = append(out, line)
	}
	return out
}

// head writes the date, the title, the method and the remarks.
func (p *pdbWriter) head() {
	if !p.m.Date.IsZero() {
		p.out.WriteString(
			pad(fmt.Sprintf("HEADER    %40s%9s", "", strings.ToUpper(p.m.Date.UTC().Format("02-Jan-06")))))
	}
	p.title()
	var remarks []string
	if !p.m.Experimental {
		p.out.WriteString(pad("EXPDTA    THEORETICAL MODEL"))
		remarks = append(remarks, strings.TrimSpace("Computed with "+p.m.software()+" "+oneLine(p.m.Version)))
		if model := oneLine(p.m.Model); model != "" {
			remarks = append(remarks, "Model: "+model)
		}
	}
	switch {
	case p.m.PLDDT != nil:
		remarks = append(remarks, "The B-factor column holds pLDDT, 0 to 100.")
	case p.m.PredictedRMSD != nil || p.s.PredictedRMSD() != nil:
		remarks = append(remarks, "The B-factor column holds the predicted RMSD in Angstrom.", "Lower is better.")
	}
	remarks = append(remarks, oneLine(p.m.Disclaimer))
	for _, text := range remarks {
		for _, line := range wrap(text, 68) {
			p.out.WriteString(pad("REMARK 999 " + line))
		}
	}
}

// title writes the title, on as many lines as it needs.
func (p *pdbWriter) title() {
	for i, line := range wrap(p.m.title(p.s), 69) {
		if i == 0 {
			p.out.WriteString(pad("TITLE     " + line))
		} else if i < 99 {
			p.out.WriteString(pad(fmt.Sprintf("TITLE   %2d %s", i+1, line)))
		}
	}
}

// seqres writes the sequence of a polymer, where its id and length fit the record.
func (p *pdbWriter) seqres(c *Chain) {
	if !c.Kind.Polymer() || len(c.ID) != 1 || len(c.Residues) > 9999 {
		return
	}
	const perLine = 13
	n := 0
	for residues := range slices.Chunk(c.Residues, perLine) {
		n++
		line := fmt.Sprintf("SEQRES %3d %s %4d ", n%1000, c.ID, len(c.Residues))
		for _, r := range residues {
			line += fmt.Sprintf(" %3s", r.Comp)
		}
		p.out.WriteString(pad(line))
	}
}

// chain writes the atoms of chain i, and TER after a polymer.
func (p *pdbWriter) chain(i int) error {
	c := &p.s.Chains[i]
	if len(c.ID) != 1 {
		return pdbLimit("chain %s has an id of more than one character", excerpt(c.ID))
	}
	auth := c.authNumbers()
	for j := range c.Residues {
		r := &c.Residues[j]
		if len(r.Comp) > 3 {
			return pdbLimit("component %s of chain %s has a code of more than three characters", r.Comp, c.ID)
		}
		if auth[j] < -999 || auth[j] > 9999 {
			return pdbLimit("chain %s has a residue numbered %d, outside −999 to 9999", c.ID, auth[j])
		}
		record := "ATOM  "
		if r.Het || !c.Kind.Polymer() {
			record = "HETATM"
		}
		for k := range r.Atoms {
			if err := p.atom(record, c, r, auth[j], &r.Atoms[k], p.m.b(i, j, &r.Atoms[k])); err != nil {
				return err
			}
		}
	}
	if c.Kind.Polymer() && len(c.Residues) > 0 {
		last := len(c.Residues) - 1
		r := &c.Residues[last]
		if err := p.count(); err != nil {
			return err
		}
		p.out.WriteString(pad(fmt.Sprintf("TER   %5d      %3s %s%4d%1s", p.serial, r.Comp, c.ID, auth[last], r.Ins)))
	}
	return nil
}

// count assigns the next serial number. The format ends at 99,999.
func (p *pdbWriter) count() error {
	if p.serial++; p.serial > 99999 {
		return pdbLimit("it has more than 99,999 atoms and chain ends")
	}
	return nil
}

// atom writes one record. It fails where a value does not fit its columns.
func (p *pdbWriter) atom(record string, c *Chain, r *Residue, auth int, a *Atom, bfactor float64) error {
	if err := p.count(); err != nil {
		return err
	}
	if len(a.Name) > 4 {
		return pdbLimit("atom %s of residue %d of chain %s has a name of more than four characters", a.Name, auth, c.ID)
	}
	element := elementOf(a.Element, a.Name, r.Comp)
	name := a.Name
	if len(name) < 4 && !(len(element) == 2 && strings.HasPrefix(strings.ToUpper(name), element)) {
		name = " " + name
	}
	b := fmt.Appendf(p.line[:0], "%s%5d %-4s %3s %s%4d%1s   ", record, p.serial, name, r.Comp, c.ID, auth, r.Ins)
	for k, x := range a.Pos {
		start := len(b)
		if b = appendFixed(b, x, 3); len(b)-start > 8 {
			const format = "atom %s of residue %d of chain %s has the %c coordinate %.3f, outside −999.999 to 9999.999"
			return pdbLimit(format, a.Name, auth, c.ID, 'x'+k, x)
		}
		b = flushRight(b, start, 8)
	}
	for _, v := range [...]struct {
		name  string
		value float64
	}{{"occupancy", a.Occupancy}, {"B-factor", bfactor}} {
		start := len(b)
		if b = appendFixed(b, v.value, 2); len(b)-start > 6 {
			return pdbLimit("atom %s of residue %d of chain %s has the %s %.2f, outside −99.99 to 999.99", a.Name, auth,
				c.ID, v.name, v.value)
		}
		b = flushRight(b, start, 6)
	}
	charge := "  "
	switch {
	case a.Charge < -9 || a.Charge > 9:
		return pdbLimit("atom %s of residue %d of chain %s has the charge %d, outside −9 to 9", a.Name, auth, c.ID,
			a.Charge)
	case a.Charge > 0:
		charge = strconv.Itoa(a.Charge) + "+"
	case a.Charge < 0:
		charge = strconv.Itoa(-a.Charge) + "-"
	}
	b = fmt.Appendf(b, "          %2s%s\n", element, charge)
	p.line = b
	p.out.Write(b)
	return nil
}

// flushRight right-aligns the bytes appended since start in a field of the given width.
func flushRight(b []byte, start, width int) []byte {
	for n := width - (len(b) - start); n > 0; n-- {
		b = slices.Insert(b, start, ' ')
	}
	return b
}

// Read reads a structure file and recognises mmCIF or PDB from its first 32 KiB.
func Read(r io.Reader, lim Limits) (*Structure, error) {
	in, pdb, err := Recognise(r)
	switch {
	case err != nil:
		return nil, err
	case pdb:
		return ReadPDB(in, lim)
	}
	return ReadCIF(in, lim)
}

// Recognise tells a PDB file from an mmCIF file by its first 32 KiB, and returns its content. The error of a file that
// is neither, or is compressed, is a [*ParseError].
func Recognise(r io.Reader) (content io.Reader, pdb bool, err error) {
	in := bufio.NewReaderSize(r, 64<<10)
	head, err := in.Peek(32 << 10)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, false, fmt.Errorf("read structure file: %w", err)
	}
	head = bytes.TrimPrefix(head, []byte("\xef\xbb\xbf"))
	if bytes.HasPrefix(head, []byte("\x1f\x8b")) {
		return nil, false, &ParseError{Reason: "it is compressed with gzip; decompress it first"}
	}
	for line := range bytes.FieldsFuncSeq(head, func(r rune) bool { return r == '\n' || r == '\r' }) {
		line = bytes.TrimSpace(line)
		switch {
		case len(line) == 0 || line[0] == '#':
			continue
		case foldPrefix(line, "data_"):
			return in, false, nil
		case line[0] == '>':
			const reason = "it is a FASTA file of sequences; want a structure in mmCIF or PDB format"
			return nil, false, &ParseError{Reason: reason}
		}
		for _, record := range pdbRecords {
			if foldPrefix(line, record) {
				return in, true, nil
			}
		}
		return nil, false, &ParseError{Reason: "it is neither mmCIF nor PDB: it starts with " + excerpt(line)}
	}
	return nil, false, &ParseError{Reason: "it is empty"}
}

// pdbRecords are the record names with which a PDB file may begin.
var pdbRecords = []string{
	"ATOM", "HETATM", "HEADER", "OBSLTE", "TITLE", "SPLIT", "CAVEAT", "COMPND", "SOURCE", "KEYWDS", "EXPDTA", "NUMMDL",
	"MDLTYP", "AUTHOR", "REVDAT", "SPRSDE", "JRNL", "REMARK", "DBREF", "SEQADV", "SEQRES", "MODRES", "HET", "FORMUL",
	"HELIX", "SHEET", "TURN", "SSBOND", "LINK", "CISPEP", "SITE", "CRYST1", "ORIGX", "SCALE", "MTRIX", "MODEL", "TER",
	"PARENT", "USER", "PFRMAT", "TARGET",
}
