package format

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"pleat"
	"pleat/internal/chem"
	"pleat/internal/structure"
	"pleat/internal/words"
)

// isLigand reports whether the header says that the record is a ligand.
func (r *record) isLigand() bool { return r.kind == "smiles" || r.kind == "ccd" }

// readLines reads what stands below the header.
func (r *record) readLines(in *reading) error {
	if len(r.lines) == 0 {
		return pleat.Invalidf("%s: no sequence follows the header", r.place())
	}
	if r.isLigand() {
		return r.readLigand(in)
	}
	if r.kind == "glycan" {
		for _, l := range r.lines {
			r.ligand += l.text
		}
		return nil
	}
	return r.readChains(in)
}

// readLigand reads a SMILES or a CCD code, behind which a name may stand as in files of SMILES. A SMILES may be wrapped
// where its first lines are none without those that follow; two lines that are SMILES each are two molecules.
func (r *record) readLigand(in *reading) error {
	text, name := splitName(r.lines[0].text)
	var ends []int // of the lines before the last, in text
	for _, l := range r.lines[1:] {
		if r.kind == "ccd" || name != "" {
			return r.secondLine(l)
		}
		if ends = append(ends, len(text)); len(text) > pleat.MaxSMILES {
			break
		}
		var more string
		more, name = splitName(l.text)
		text += more
	}
	if i := chem.FirstWhole(text, ends); i >= 0 {
		return r.secondLine(r.lines[i+1])
	}
	if len(ends) > 0 && len(text) > pleat.MaxSMILES {
		return pleat.Invalidf("line %d: the SMILES of %s has more than %d letters", r.lines[len(ends)].number,
			r.place(), pleat.MaxSMILES)
	}
	r.ligand = text
	switch {
	case name == "":
	case strings.HasPrefix(name, "|"):
		return pleat.Invalidf("%s has the extension %q after its SMILES, which no ligand takes; leave it out, or give "+
			"the molecule as one of constraints.components", r.place(), pleat.Clip(name))
	case r.label == "":
		r.label, r.short = name, nameOf(name)
	default:
		in.addNote("%s: the name %q after the ligand is not used, since the header has one", r.place(),
			pleat.Clip(name))
	}
	return nil
}

// secondLine returns the error of a line behind a whole ligand.
func (r *record) secondLine(l textLine) error {
	return pleat.Invalidf("line %d: a second line follows the ligand of %s; each ligand needs a header of its own",
		l.number, r.place())
}

// splitName splits a line into what stands before its first white space and after it.
func splitName(line string) (text, name string) {
	line = strings.TrimSpace(line)
	at := strings.IndexFunc(line, unicode.IsSpace)
	if at < 0 {
		return line, ""
	}
	return line[:at], strings.TrimSpace(line[at:])
}

// chainText is a chain as a record has it. A modified residue has the code of its component in parentheses in the place
// of its letter, as Chai and the Protein Data Bank write it.
type chainText struct {
	text  []rune         // an opening parenthesis stands for each code
	codes map[int]string // by index in text
}

// letters returns the letters of the chain, with the parent of each component, or the unknown residue, in the place of
// its code. An empty kind is any.
func (c *chainText) letters(kind pleat.EntityKind) string {
	out := make([]rune, len(c.text))
	for i, l := range c.text {
		if code := c.codes[i]; code != "" {
			l = parentOf(kind, code)
		}
		out[i] = l
	}
	return string(out)
}

// structureKinds are the polymers in the terms of package structure.
var structureKinds = map[pleat.EntityKind]structure.Kind{
	pleat.Protein: structure.Protein, pleat.RNA: structure.RNA, pleat.DNA: structure.DNA,
}

// parentOf returns the letter of the residue that a component is a modification of, or the unknown residue. Without a
// kind, it is the letter in the first kind that has the component.
func parentOf(kind pleat.EntityKind, code string) rune {
	kinds := []pleat.EntityKind{kind}
	if kind == "" {
		kinds = []pleat.EntityKind{pleat.Protein, pleat.DNA, pleat.RNA}
	}
	for _, k := range kinds {
		parent := pleat.ParentLetter(k, code)
		if kind == "" && !chem.IsResidueCode(string(k), chem.Parent(code)) {
			parent = 0 // it is that of another kind
		}
		letter := cmp.Or(parent, structure.Letter(structureKinds[k], code))
		if known := pleat.KnownLetters(k); strings.IndexByte(known, letter) >= 0 {
			return rune(letter)
		}
	}
	all := cmp.Or(pleat.Letters(kind), pleat.Letters(pleat.Protein))
	return rune(all[len(all)-1])
}

// modifyByCode sets the modified residues of a chain. name is what messages call it, and stated whether the header says
// what kind of chain it is.
func (d *draft) modifyByCode(q *pleat.Sequence, c *chainText, name string, stated bool) error {
	var list []string
	for i := range c.text {
		code := c.codes[i]
		if code == "" {
			continue
		}
		if standard, ok := structure.Component(structureKinds[q.Kind], q.Text[i]); ok && standard == code {
			continue
		}
		unknown := q.Text[i] == pleat.Letters(q.Kind)[len(pleat.Letters(q.Kind))-1]
		if unknown && (!stated || len(code) < 3) { // it may be a SMILES
			return pleat.Invalidf("%s, residue %d: the letter of which (%s) is a modification is not known here; a "+
				"header such as >A|protein says that it is a residue, >A|smiles that the text is a SMILES", name, i+1,
				code)
		}
		q.Modifications = append(q.Modifications, pleat.Modification{Residue: i + 1, CCD: code})
		list = append(list, fmt.Sprintf("%d %s (%c)", i+1, code, q.Text[i]))
	}
	if list != nil {
		d.addNote("%s: codes in parentheses became modified residues: %s", name, words.Join(list, 10))
	}
	return nil
}

// chainEnds are the characters that separate the chains of a record whose header names no kind.
const chainEnds = ":/"

// chainReader reads the lines of a polymer.
type chainReader struct {
	r       *record
	chains  []chainText
	notes   []string // what was dropped, each once
	noted   map[string]bool
	line    textLine
	columns []rune // of the line
}

// readChains reads the chains of a polymer, without white space, numbers of lines and signs of the end. An error names
// the line and the column.
func (r *record) readChains(in *reading) error {
	p := chainReader{r: r, noted: map[string]bool{}, chains: []chainText{{}}}
	if err := checkCodes(r.place(), pleat.EntityKind(r.kind), r.text()); err != nil {
		return err
	}
	for _, l := range r.lines {
		if err := p.readLine(l); err != nil {
			return err
		}
	}
	for i := range p.chains {
		if err := p.dropEnd(&p.chains[i]); err != nil {
			return err
		}
	}
	for _, n := range p.notes {
		in.addNote("%s: %s", r.place(), n)
	}
	r.chains = p.chains
	if len(r.chains) == 1 && len(r.chains[0].text) == 0 {
		return pleat.Invalidf("%s: no sequence follows the header", r.place())
	}
	return nil
}

// text returns the lines of a record.
func (r *record) text() string {
	var b strings.Builder
	for _, l := range r.lines {
		b.WriteString(l.text + "\n")
	}
	return b.String()
}

// note records what was dropped.
func (p *chainReader) note(text string) {
	if !p.noted[text] {
		p.noted[text] = true
		p.notes = append(p.notes, text)
	}
}

// dropEnd drops the asterisk that ends a chain.
func (p *chainReader) dropEnd(c *chainText) error {
	if cut, ended := pleat.CutEnd(string(c.text)); ended {
		c.text = []rune(cut)
		p.note(pleat.EndDropped)
	}
	for i, l := range c.text {
		if l == '*' {
			return pleat.Invalidf("%s has '*' at position %d; it may only end a sequence", p.r.place(), i+1)
		}
	}
	return nil
}

// readLine reads a line.
func (p *chainReader) readLine(l textLine) error {
	p.line, p.columns = l, []rune(l.text)
	p.dropNumbers()
	if err := p.checkBlocks(); err != nil {
		return err
	}
	for i := 0; i < len(p.columns); i++ {
		c := &p.chains[len(p.chains)-1]
		switch l := p.columns[i]; {
		case unicode.IsSpace(l):
		case l >= 'A' && l <= 'Z' || l >= 'a' && l <= 'z' || l == '*':
			c.text = append(c.text, l)
		case strings.ContainsRune(chainEnds, l) && p.r.kind == "":
			p.chains = append(p.chains, chainText{})
		case l == '(':
			end, err := p.readCode(i)
			if err != nil {
				return err
			}
			i = end
		default:
			return p.fault(i)
		}
	}
	return nil
}

// fault returns the error for the character in a column of the line, counted from 0.
func (p *chainReader) fault(i int) error {
	l := p.columns[i]
	at := fmt.Sprintf("line %d, column %d", p.line.number, i+1)
	switch l {
	case '-', '.':
		if c := capAt(p.columns, i); c != "" {
			return pleat.Invalidf("%s: %q is a cap and no residue; caps of peptides are not supported, so give the "+
				"letters alone", at, c)
		}
		return pleat.Invalidf("%s: %q is a gap; give the sequence alone, and an alignment as its msa, which is "+
			"--alignment of pleat fold", at, l)
	case '[', '{', ')':
		return pleat.Invalidf("%s: %q cannot stand here; a modified residue is written as the code of its component "+
			"in parentheses in the place of its letter, such as (SEP)", at, l)
	}
	kind := cmp.Or(pleat.EntityKind(p.r.kind), pleat.Protein)
	return pleat.Invalidf("%s, residue %d: %s (%s)", p.r.name(), len(p.chains[len(p.chains)-1].text)+1,
		pleat.NotALetter(kind, l), at)
}

// caps are the groups that close the ends of peptides, as their sequences are written: Ac-GYDPETGTWG-NH2. A
// group that an aligned sequence could be, such as H-, is not among them.
var caps = []string{"Ac-", "Ace-", "For-", "Boc-", "Fmoc-", "H2N-", "NH2-", "-NH2", "-NMe", "-NHMe", "-OH", "-OMe",
	"-COOH"}

// capAt returns the cap of a line whose hyphen stands in a column; empty: there is none.
func capAt(line []rune, hyphen int) string {
	text := strings.TrimSpace(string(line))
	indent := strings.Index(string(line), text)
	for _, c := range caps {
		first := strings.HasSuffix(c, "-") && strings.HasPrefix(text, c)
		last := strings.HasPrefix(c, "-") && strings.HasSuffix(text, c)
		if first && hyphen == indent+len(c)-1 || last && hyphen == indent+len(text)-len(c) {
			return c
		}
	}
	return ""
}

// readCode reads the code of a modified residue, whose opening parenthesis stands in a column. It returns the column of
// the closing one.
func (p *chainReader) readCode(from int) (end int, err error) {
	for end = from + 1; end < len(p.columns) && p.columns[end] != ')'; end++ {
	}
	code := string(p.columns[from+1 : end])
	if end == len(p.columns) || !pleat.IsCCD(code) {
		return 0, pleat.Invalidf("line %d, column %d: after '(' must stand the code of a modified residue in capitals "+
			"and ')', such as (SEP)", p.line.number, from+1)
	}
	c := &p.chains[len(p.chains)-1]
	if c.codes == nil {
		c.codes = map[int]string{}
	}
	c.codes[len(c.text)] = code
	c.text = append(c.text, '(')
	return end, nil
}

// token is a run of characters without white space, by its first column and the one behind it.
type token struct{ from, to int }

// tokensOf returns the tokens of a line.
func tokensOf(line []rune) []token {
	var out []token
	for i, l := range line {
		switch {
		case unicode.IsSpace(l):
		case i > 0 && !unicode.IsSpace(line[i-1]):
			out[len(out)-1].to = i + 1
		default:
			out = append(out, token{i, i + 1})
		}
	}
	return out
}

// is reports whether all characters of a token are of a kind.
func (p *chainReader) is(t token, kind func(rune) bool) bool {
	for _, l := range p.columns[t.from:t.to] {
		if !kind(l) {
			return false
		}
	}
	return true
}

// dropNumbers replaces the numbers at the ends of a line, and lines of numbers, with spaces: GenBank, EMBL and UniProt
// number residues so.
func (p *chainReader) dropNumbers() {
	isDigit := func(l rune) bool { return l >= '0' && l <= '9' }
	all := tokensOf(p.columns)
	letters := 0
	for _, t := range all {
		if !p.is(t, isDigit) {
			letters++
		}
	}
	for i, t := range all {
		if p.is(t, isDigit) && (i == 0 || i == len(all)-1 || letters == 0) {
			for k := t.from; k < t.to; k++ {
				p.columns[k] = ' '
			}
			p.note("numbers of residues were dropped")
		}
	}
}

// checkBlocks refuses white space in a line unless it separates blocks of letters.
func (p *chainReader) checkBlocks() error {
	all := tokensOf(p.columns)
	if len(all) < 2 {
		return nil
	}
	if stray := strayToken(p.columns, all, longestBlock); stray != nil {
		return pleat.Invalidf("line %d, column %d: %s", p.line.number, stray.from+1, notABlock(p.columns, stray))
	}
	p.note("the spaces between blocks of letters were dropped")
	return nil
}

// Widths of blocks of letters: sequences are printed in blocks of ten, and YAML replaces the ends of lines with spaces.
const (
	longestBlock = 10 // of two in a line, unless it is
	shortestLine = 50
)

// strayToken returns the first token that is no block of a sequence, and seems to be a name behind it; nil: there is
// none. Blocks have one length, but for the last one, which may be shorter, and one case. If there are two of different
// lengths, the first has at most longest letters.
func strayToken(line []rune, all []token, longest int) *token {
	first := line[all[0].from:all[0].to]
	for i := range all[1:] {
		t := &all[i+1]
		n, last := t.to-t.from, i == len(all)-2
		fits := n == len(first) || last && n < len(first) && (len(first) <= longest || len(all) > 2)
		if !fits || !sameCase(first, line[t.from:t.to]) {
			return t
		}
	}
	return nil
}

// sameCase reports whether two blocks are in capitals both, or in small letters both.
func sameCase(a, b []rune) bool {
	both := func(kind func(rune) bool) bool { return !slices.ContainsFunc(a, kind) && !slices.ContainsFunc(b, kind) }
	return both(unicode.IsLower) || both(unicode.IsUpper)
}

// notABlock is the message about a token that is no block.
func notABlock(line []rune, t *token) string {
	return fmt.Sprintf("%q after a space is not a block of the sequence; if it is a name, it belongs elsewhere, else "+
		"remove the space", pleat.Clip(string(line[t.from:t.to])))
}

// Headers of programs whose first word is not a name.
var (
	// designHeader matches the headers of ProteinMPNN and LigandMPNN: fields of a key and a value, after the name of
	// the input where it has one.
	designHeader = regexp.MustCompile(`^(?:([^,=]+), )?(?:T|id|score)=[^,]*, .*(?:score|seed)=`)
	// numbered matches the field of such a header that numbers the designs.
	numbered = regexp.MustCompile(`(?:^|, )((?:id|sample)=[0-9]{1,9})(?:,|$)`)
	// entryHeader matches the headers of the Protein Data Bank: 1ABC_1|Chains A, B|NAME|SPECIES.
	entryHeader = regexp.MustCompile(`^([0-9A-Za-z]+_[0-9]+)\|Chains? ([^|]*)`)
	// colabDesignHeader matches the headers of ColabDesign: design:0 n:1|mpnn:0.9|plddt:0.8.
	colabDesignHeader = regexp.MustCompile(`^(design:[0-9]+ n:[0-9]+)\|`)
)

// isDesign reports whether a header is one of ProteinMPNN or LigandMPNN.
func isDesign(header string) bool { return designHeader.MatchString(header) }

// nameOf returns the part of a label that names its record: what stands in the header of the program that wrote it, or
// the first word.
func nameOf(label string) string {
	if m := designHeader.FindStringSubmatch(label); m != nil {
		if number := numbered.FindStringSubmatch(label); number != nil {
			return strings.TrimSpace(m[1] + " " + number[1])
		}
		return m[1]
	}
	for _, form := range []*regexp.Regexp{entryHeader, colabDesignHeader} {
		if m := form.FindStringSubmatch(label); m != nil {
			return m[1]
		}
	}
	name, _ := splitName(label)
	return strings.TrimRight(name, ",;|")
}
