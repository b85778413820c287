package format

import (
	"fmt"
	"strings"

	"pleat"
)

// record is one entry of a FASTA file.
type record struct {
	line   int    // of its header
	header string // without '>'
	// lines are the lines of the sequence with their numbers, for errors.
	lines []textLine

	// kind, chain and label come from the header, if it has them: Boltz writes CHAIN|TYPE|MSA, Chai writes
	// TYPE|name=NAME. kind is protein, rna, dna, smiles, ccd or glycan; it is empty where the header does not state it.
	kind  string
	chain string
	label string
	short string // the part of the header that names the record, see nameOf
	msa   string // the alignment that the header names; empty: none

	ligand string      // SMILES, CCD code or glycan, by kind
	chains []chainText // of a polymer, as ':' and '/' separate them
}

// textLine is a line of a sequence and its number.
type textLine struct {
	// number counts from 1.
	number int
	text   string
}

// place returns the record's position for messages.
func (r *record) place() string { return fmt.Sprintf("the record at line %d", r.line) }

// name returns what the record is called in messages about its residues.
func (r *record) name() string {
	if r.label == "" {
		return r.place()
	}
	return fmt.Sprintf("record %q", pleat.Clip(r.label))
}

// kinds maps the words for a kind in a header to the kind of the record.
var kinds = map[string]string{"protein": "protein", "rna": "rna", "dna": "dna", "smiles": "smiles", "ccd": "ccd",
	"ligand": "smiles", "glycan": "glycan"}

// readFASTA reads a file. All records become one job, unless sequences contain ':' between chains, as ColabFold
// writes complexes, or the caller wants rows; then each record becomes a job. Headers that say what kind of chain their
// record is are those of one job.
func readFASTA(text string, in *reading) error {
	most := pleat.MaxItems
	if in.opt.Rows {
		most = max(most, in.opt.Jobs)
	}
	records, err := in.readRecords(text, most)
	if err != nil {
		return err
	}
	complexes, designs, kinds := false, false, 0
	for i := range records {
		r := &records[i]
		complexes = complexes || len(r.chains) > 1
		designs = designs || r.kind == "" && isDesign(r.header)
		if r.kind != "" {
			kinds++
		}
	}
	switch {
	case len(records) == 1 || !complexes && !designs && !in.opt.Rows || in.opt.Rows && kinds == len(records):
		return foldTogether(records, in)
	case in.opt.Rows:
	case designs:
		in.addNote("The headers are those of ProteinMPNN, so each of the %d records became a job of its own",
			len(records))
	default:
		in.addNote("A sequence has ':' or '/' between its chains, as ColabFold and ProteinMPNN write complexes, so "+
			"each of the %d records became a job of its own", len(records))
	}
	for i := range records {
		if err := foldTogether(records[i:i+1], in); err != nil {
			return err
		}
	}
	return nil
}

// readRecords reads at most the given number of records.
func (in *reading) readRecords(text string, most int) ([]record, error) {
	records, err := splitFASTA(text, most)
	for i := 0; i < len(records) && err == nil; i++ {
		if err = records[i].readHeader(); err == nil {
			err = records[i].readLines(in)
		}
	}
	return records, err
}

// splitFASTA splits a file into at most the given number of records. Lines that start with ';' and empty lines are
// ignored.
func splitFASTA(text string, most int) ([]record, error) {
	var out []record
	n, records := 0, 0
	for l := range strings.Lines(text) {
		if n++; n > maxLines {
			return nil, pleat.Invalidf("the file has more than %d lines", maxLines)
		}
		l = strings.TrimSpace(l)
		switch {
		case l == "" || l[0] == ';':
		case l[0] == '>':
			if records++; records <= most {
				out = append(out, record{line: n, header: strings.TrimSpace(l[1:])})
			}
		case records > most: // they are counted for the message alone
		default:
			if len(out) == 0 {
				records++
				out = append(out, record{line: n}) // a sequence without a header
			}
			r := &out[len(out)-1]
			r.lines = append(r.lines, textLine{n, l})
		}
	}
	if len(out) == 0 {
		return nil, pleat.Invalidf(
			"the file has no sequence; a FASTA record is a header that starts with '>' and lines of letters")
	}
	if records > most {
		return nil, pleat.Invalidf("the file has %d records; at most %d are allowed", records, most)
	}
	return out, nil
}

// readHeader reads the kind, the chain and the label from the header, in the forms of Boltz and Chai. Any other
// header is a label.
func (r *record) readHeader() error {
	first, rest, _ := strings.Cut(r.header, " ")
	fields := strings.Split(first, "|")
	switch {
	case len(fields) > 1 && kinds[strings.ToLower(fields[0])] != "": // Chai: the name may have spaces
		_, r.label, _ = strings.Cut(r.header, "|")
		r.label = strings.TrimPrefix(r.label, "name=")
		r.kind = kinds[strings.ToLower(fields[0])]
	case len(fields) > 1 && kinds[strings.ToLower(fields[1])] != "":
		r.chain, r.kind, r.label = fields[0], kinds[strings.ToLower(fields[1])], strings.TrimSpace(rest)
		if r.chain == "" {
			return pleat.Invalidf("%s: the header names no chain before its first '|'", r.place())
		}
		if len(fields) > 2 {
			r.msa = fields[2]
		}
	default:
		r.label = r.header
	}
	r.short = nameOf(r.label)
	return nil
}

// foldTogether makes one job from all records. Its name is that of the first record with the number of further records,
// or the caller's if the header states a kind.
func foldTogether(records []record, in *reading) error {
	d := in.draft("")
	if err := d.addRecords(records); err != nil {
		return err
	}
	first := &records[0]
	name := first.short
	if name != "" && len(records) > 1 {
		name = fmt.Sprintf("%s + %d more", name, len(records)-1)
	}
	if first.kind != "" && in.opt.Name != "" {
		name = in.opt.Name
	}
	return d.finish(name)
}

// addRecords adds the chains of all records and names them.
func (d *draft) addRecords(records []record) error {
	for i := range records {
		if err := d.addRecord(&records[i]); err != nil {
			return err
		}
	}
	if err := d.nameChains(); err != nil {
		return err
	}
	return d.bondGlycans()
}

// addRecord adds the molecules of one record: a ligand, or one chain or several.
func (d *draft) addRecord(r *record) error {
	label := d.label("the header of "+r.place(), r.label)
	if r.kind == "glycan" {
		return d.addGlycanRecord(r, label)
	}
	if r.isLigand() {
		read := smilesLigand
		if r.kind == "ccd" {
			read = ccdLigand
		}
		q, err := read(r.place(), r.ligand)
		if err != nil {
			return err
		}
		q.Label = label
		return d.add(entity{r.place(), q, []string{r.chain}})
	}
	if m := entryHeader.FindStringSubmatch(r.header); m != nil && strings.Contains(m[2], ",") {
		d.addNote("%s: the header names the chains %s, and the job has one of them; count makes copies", r.place(),
			pleat.Clip(m[2]))
	}
	for i := range r.chains {
		at, name := r.place(), r.name()
		if len(r.chains) > 1 {
			at, name = fmt.Sprintf("%s, chain %d", at, i+1), fmt.Sprintf("%s, chain %d", name, i+1)
		}
		q, err := d.chainOf(r, &r.chains[i], at, name)
		if err != nil {
			return err
		}
		q.Label = label
		if err := d.add(entity{at, q, []string{r.chain}}); err != nil {
			return err
		}
	}
	return nil
}

// chainOf returns a chain of a record with its alignment. at is its place, and name what messages about its residues
// call it.
func (d *draft) chainOf(r *record, c *chainText, at, name string) (pleat.Sequence, error) {
	kind := pleat.EntityKind(r.kind)
	if kind == "" {
		kind = d.guessKind(at, c.letters(""))
	}
	text, err := d.polymer(name, kind, c.letters(kind))
	if err != nil {
		return pleat.Sequence{}, err
	}
	q := pleat.Sequence{Kind: kind, Text: text}
	if err := d.modifyByCode(&q, c, name, r.kind != ""); err != nil {
		return q, err
	}
	if r.msa == noAlignment && kind == pleat.Protein {
		d.unpaired = append(d.unpaired, at)
	} else if r.msa != noAlignment {
		return q, d.align(&q, at, r.msa)
	}
	return q, nil
}

// noAlignment is what Boltz writes in the place of an alignment's name to ask for none.
const noAlignment = "empty"

// likelyDNA is the length from which a sequence of only A, C, G and T is assumed to be DNA.
//
// A protein of 20 residues with only these four letters is rare, and a note reports the assumption.
const likelyDNA = 20

// guessKind derives the kind of a polymer from its letters, and reports in a note why.
func (d *draft) guessKind(at, text string) pleat.EntityKind {
	text = strings.ToUpper(text)
	only := func(letters string) bool { return strings.Trim(text, letters) == "" }
	const hint = "a header such as >A|protein, >A|rna or >A|dna says it outright"
	switch {
	case only("ACGUN") && strings.Contains(text, "U"):
		d.addNote("%s was taken as RNA, since it has U and no letter outside A, C, G, U, N; %s", at, hint)
		return pleat.RNA
	case only("ACGTN") && strings.Contains(text, "T") && len(text) >= likelyDNA:
		d.addNote("%s was taken as DNA, since it has no letter outside A, C, G, T, N; %s", at, hint)
		return pleat.DNA
	case only("ACGTN"):
		d.addNote("%s was taken as a protein, though its letters are those of DNA too; %s", at, hint)
	}
	return pleat.Protein
}

// width is the number of letters per line of a written file.
const width = 80

// residueTexts returns the text of each residue of polymer i: its letter or, as Chai writes it, the code of the
// modified residue in parentheses. A code is noted that would be read at another letter.
func residueTexts(q *pleat.Sequence, i int, out *writing) []string {
	texts := strings.Split(q.Text, "")
	for k, m := range q.Modifications {
		letter := parentOf(q.Kind, m.CCD)
		if byte(letter) != q.Text[m.Residue-1] {
			out.addNote("%s.modifications[%d] is not in the file: its code %s would be read there at the letter %c, "+
				"not %c", q.Path(i), k, m.CCD, letter, q.Text[m.Residue-1])
			continue
		}
		texts[m.Residue-1] = "(" + m.CCD + ")"
	}
	return texts
}

// wrap joins the texts of residues in lines of at most so many letters, unless a text alone has more.
func wrap(texts []string, width int) string {
	var b strings.Builder
	column := 0
	for _, text := range texts {
		if column > 0 && column+len(text) > width {
			b.WriteByte('\n')
			column = 0
		}
		b.WriteString(text)
		column += len(text)
	}
	return b.String()
}

// writeFASTA writes one record for each chain, with headers in the form of Boltz and modified residues in that of Chai.
func writeFASTA(j *pleat.Job, out *writing) ([]byte, error) {
	var b strings.Builder
	out.addNote("name %q is not in the file: the format has no place for it, so the file is named after it",
		pleat.Clip(j.Name))
	for i := range j.Sequences {
		q := &j.Sequences[i]
		kind := string(q.Kind)
		switch {
		case q.Kind == pleat.Ligand && q.CCD:
			kind = "ccd"
		case q.Kind == pleat.Ligand:
			kind = "smiles"
		}
		label := line(q.Label, pleat.MaxName)
		if label != q.Label {
			out.addNote("%s.label was written on one line", q.Path(i))
		}
		text := q.Text
		if q.Polymer() {
			text = wrap(residueTexts(q, i, out), width)
		}
		for _, chain := range q.Chains {
			b.WriteString(strings.TrimSpace(">"+chain+"|"+kind+" "+label) + "\n" + text + "\n")
		}
		out.properties(q, i, "cyclic", "property_type")
	}
	out.constraints(&j.Constraints)
	out.params(j, nil)
	return []byte(b.String()), nil
}
