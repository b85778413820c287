package format

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"pleat"
)

// Tables are CSV (RFC 4180), also with semicolons as Excel writes it in most of Europe, or TSV, with a line of column
// names. ColabFold reads id, sequence and a3mpath:
// https://github.com/sokrypton/ColabFold/blob/main/colabfold/input.py (get_queries). Samplesheets of
// nf-core/proteinfold have id, or sequence in its older versions, and fasta:
// https://github.com/nf-core/proteinfold/blob/master/assets/schema_input.json.

// tableRow is one row of a table.
type tableRow struct {
	line   int               // of its first field
	values map[string]string // by column, without white space around them
}

// place returns the place of a value for messages.
func (r *tableRow) place(column string) string {
	return fmt.Sprintf("line %d, column %s", r.line, column)
}

// readTable calls row for each row of a table until one fails. Column names do not depend on case. A table without the
// columns in need is an error; columns that are not in known are noted once.
func readTable(text string, in *reading, need, known []string, row func(r *tableRow) error) error {
	if err := checkColumns(text); err != nil {
		return err
	}
	separator, text := separatorOf(text)
	r := csv.NewReader(strings.NewReader(text))
	r.Comma = separator
	r.FieldsPerRecord = -1
	r.ReuseRecord = true
	fields, err := r.Read()
	if err != nil {
		return badTable(err)
	}
	columns, err := columnsOf(fields, in, need, known)
	if err != nil {
		return err
	}
	rows := 0
	for {
		fields, err := r.Read()
		switch {
		case errors.Is(err, io.EOF) && rows == 0:
			return pleat.Invalidf("the file has no row below the names of its columns")
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return badTable(err)
		}
		line, _ := r.FieldPos(0)
		if len(fields) != len(columns) {
			return pleat.Invalidf("line %d has %d columns; the first line has %d", line, len(fields), len(columns))
		}
		rows++
		parsed := &tableRow{line, map[string]string{}}
		for i, c := range columns {
			parsed.values[c] = strings.TrimSpace(fields[i])
		}
		if err := row(parsed); err != nil {
			return err
		}
	}
}

// separatorOf returns the character between the columns of a table: the one that its first line has most often. A line
// such as sep=; before them, which Excel understands, names it, and is empty in the text that is returned.
func separatorOf(text string) (rune, string) {
	table := strings.TrimLeft(text, "\n")
	head, rest, _ := strings.Cut(table, "\n")
	if named, ok := strings.CutPrefix(strings.TrimSpace(head), "sep="); ok && len(named) == 1 &&
		strings.Contains(separators, named) {
		return rune(named[0]), strings.TrimSuffix(text, table) + "\n" + rest
	}
	best := separators[0]
	for i := range len(separators) {
		if strings.Count(head, separators[i:i+1]) > strings.Count(head, string(best)) {
			best = separators[i]
		}
	}
	return rune(best), text
}

// separators stand between the columns of a table.
const separators = ",;\t"

// maxColumns bounds the columns of a table.
const maxColumns = 1000

// checkColumns refuses lines with too many columns before they are split.
func checkColumns(text string) error {
	n := 0
	for line := range strings.Lines(text) {
		if n++; strings.Count(line, ",")+strings.Count(line, ";")+strings.Count(line, "\t") > maxColumns {
			return pleat.Invalidf("line %d has more than %d columns", n, maxColumns)
		}
	}
	return nil
}

// badTable returns the error for text that is not a table. It has the line, which encoding/csv counts from 1.
func badTable(err error) error {
	var bad *csv.ParseError
	if errors.As(err, &bad) {
		return pleat.Invalidf("line %d, column %d of the file is not CSV: %s", bad.Line, bad.Column, bad.Err)
	}
	return pleat.Invalidf("the file is not CSV: %s", err)
}

// columnsOf returns the names of columns in lower case.
func columnsOf(fields []string, in *reading, need, known []string) ([]string, error) {
	var columns []string
	for _, f := range fields {
		columns = append(columns, strings.ToLower(strings.TrimSpace(f)))
	}
	for i, c := range columns {
		if c != "" && slices.Contains(columns[:i], c) {
			return nil, pleat.Invalidf("the file has the column %s twice", pleat.Clip(c))
		}
	}
	for _, c := range need {
		if !slices.Contains(columns, c) {
			what := "columns"
			if len(columns) == 1 {
				what = "one column"
			}
			return nil, pleat.Invalidf("the file has the %s %s; it must have %s", what,
				pleat.Clip(strings.Join(columns, ", ")), strings.Join(need, " and "))
		}
	}
	for _, c := range columns {
		if !slices.Contains(known, c) {
			in.addNote("The column %q is not used", pleat.Clip(c))
		}
	}
	return columns, nil
}

// tableIDs checks that the ids of a table are names and differ, since results are called by them.
type tableIDs map[string]int // id → line

// take returns the id of a row.
func (ids tableIDs) take(r *tableRow, column string) (string, error) {
	id := r.values[column]
	if err := pleat.CheckName(r.place(column), id); err != nil {
		return "", err
	}
	if first, twice := ids[id]; twice {
		return "", pleat.Invalidf("%s is %q, which line %d has already", r.place(column), pleat.Clip(id), first)
	}
	ids[id] = r.line
	return id, nil
}

// readColabFold reads a job from each row: proteins, which colons separate. Templates are an error, since they name
// files.
func readColabFold(text string, in *reading) error {
	ids := tableIDs{}
	return readTable(text, in, []string{"id", "sequence"}, []string{"id", "sequence", "a3mpath", "templatepath"},
		func(r *tableRow) error {
			id, err := ids.take(r, "id")
			if err != nil {
				return err
			}
			if t := r.values["templatepath"]; t != "" {
				return pleat.Invalidf("%s names the file %q; jobs from a table take no templates: leave it out",
					r.place("templatepath"), pleat.Clip(t))
			}
			d := in.draft(fmt.Sprintf("line %d, column ", r.line))
			if err := d.addColons(r, r.values["sequence"], r.values["a3mpath"]); err != nil {
				return err
			}
			return d.finish(id)
		})
}

// addColons adds the proteins of a row of ColabFold, which colons separate. The alignment is that of the only protein,
// or ColabFold's of the complex, which has all chains in one row and is split when it is read.
func (d *draft) addColons(r *tableRow, sequence, alignment string) error {
	at := r.place("sequence")
	chains := strings.Split(sequence, ":")
	var all []pleat.Sequence
	for i, text := range chains {
		where := at
		if len(chains) > 1 {
			where = fmt.Sprintf("%s, chain %d", at, i+1)
		}
		clean, err := d.polymer(where, pleat.Protein, text)
		if err != nil {
			return err
		}
		all = append(all, pleat.Sequence{Kind: pleat.Protein, Text: clean})
		if len(clean) >= likelyDNA && strings.Trim(clean, "ACGTN") == "" {
			d.addNote("%s was taken as a protein, as ColabFold does, though its letters are those of DNA", where)
		}
	}
	for i := range all {
		if err := d.align(&all[i], r.place("a3mpath"), alignment); err != nil {
			return err
		}
		if err := d.add(entity{at, all[i], []string{""}}); err != nil {
			return err
		}
	}
	return d.nameChains()
}

// fastaEndings are the endings of the FASTA files that a samplesheet may name.
var fastaEndings = []string{".fa", ".fasta", ".faa"}

// readProteinfold reads a job from each row of a samplesheet: all chains of the FASTA file that the row names.
func readProteinfold(text string, in *reading) error {
	ids := tableIDs{}
	return readTable(text, in, []string{"fasta"}, []string{"id", "sequence", "fasta"}, func(r *tableRow) error {
		column := "id" // as in the pipeline, the older sequence is the name where id is absent
		if r.values[column] == "" {
			column = "sequence"
		}
		id, err := ids.take(r, column)
		if err != nil {
			return err
		}
		content, err := in.sampleText(r)
		if err != nil {
			return err
		}
		d := in.draft(fmt.Sprintf("line %d, column ", r.line))
		records, err := in.readRecords(content, pleat.MaxItems)
		if err == nil {
			err = d.addRecords(records)
		}
		if err != nil {
			return pleat.Invalidf("%s names the file %q, which cannot be read: %s", r.place("fasta"),
				pleat.Clip(r.values["fasta"]), err)
		}
		return d.finish(id)
	})
}

// sampleText returns the content of the FASTA file that a row of a samplesheet names.
func (in *reading) sampleText(r *tableRow) (string, error) {
	at, name := r.place("fasta"), r.values["fasta"]
	hasEnding := func(ending string) bool { return strings.HasSuffix(strings.ToLower(name), ending) }
	switch {
	case name == "":
		return "", pleat.Invalidf("%s is empty; it must be the name of a FASTA file", at)
	case in.opt.Files.Text == nil:
		return "", pleat.Invalidf("%s names the file %q; a samplesheet must come with the files that it names", at,
			pleat.Clip(name))
	case !slices.ContainsFunc(fastaEndings, hasEnding):
		return "", pleat.Invalidf("%s names the file %q; its name must end in %s", at, pleat.Clip(name),
			strings.Join(fastaEndings, ", "))
	}
	content, err := in.opt.Files.Text(name)
	if err != nil {
		return "", placed(at, err)
	}
	if len(content) > MaxBytes {
		return "", pleat.Invalidf("%s names the file %q of %d bytes; at most %d are allowed", at, pleat.Clip(name),
			len(content), MaxBytes)
	}
	return content, nil
}
