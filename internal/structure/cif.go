package structure

import (
	"errors"
	"io"
	"slices"
	"strings"
)

// cifKind is the kind of a CIF token.
type cifKind int

// The kinds of CIF tokens.
const (
	// cifEnd is the end of the file.
	cifEnd cifKind = iota
	cifData
	cifLoop
	cifTag
	cifValue
	cifOther // save_, stop_, global_
)

// cifScanner splits a CIF 1.1 file into tokens.
//
// Source: Hall, Allen and Brown, Acta Cryst. A47, 655 (1991); IUCr CIF 1.1 syntax.
type cifScanner struct {
	in   *lines
	rest []byte // of the current line
	text []byte // of the last multi-line value
	null bool   // the last value is an unquoted . or ?
}

// next returns the next token. Its bytes are valid until the next call.
func (s *cifScanner) next() (cifKind, []byte, error) {
	for {
		for len(s.rest) > 0 && blank(s.rest[0]) { // bytes.TrimLeft takes a fifth of the time of a file
			s.rest = s.rest[1:]
		}
		if len(s.rest) == 0 || s.rest[0] == '#' {
			line, err := s.in.next()
			if errors.Is(err, io.EOF) {
				return cifEnd, nil, nil
			}
			if err != nil {
				return cifEnd, nil, err
			}
			s.rest = line
			if len(line) > 0 && line[0] == ';' {
				return s.field(line[1:])
			}
			continue
		}
		if s.rest[0] == '\'' || s.rest[0] == '"' {
			return s.quoted()
		}
		return s.word()
	}
}

// field reads a text value of several lines, delimited by lines that start with ';'.
func (s *cifScanner) field(line []byte) (cifKind, []byte, error) {
	start := s.in.number
	s.null = false
	s.text = append(s.text[:0], line...)
	for {
		line, err := s.in.next()
		if errors.Is(err, io.EOF) {
			s.in.number = start
			return cifEnd, nil, s.in.errorf("the text that starts here with \";\" has no end")
		}
		if err != nil {
			return cifEnd, nil, err
		}
		if len(line) > 0 && line[0] == ';' {
			s.rest = line[1:]
			return cifValue, s.text, nil
		}
		if len(s.text)+len(line) >= s.in.lim.Line {
			return cifEnd, nil, s.in.limit("the text is longer than the %d bytes allowed", s.in.lim.Line)
		}
		s.text = append(append(s.text, '\n'), line...)
	}
}

// blank reports whether b is white space within a line.
func blank(b byte) bool { return b == ' ' || b == '\t' || b == '\v' || b == '\f' || b == '\r' }

// quoted reads a value in quotes. A quote closes the value only before white space, so that 'a dog's life' is one
// value.
func (s *cifScanner) quoted() (cifKind, []byte, error) {
	q := s.rest[0]
	for i := 1; i < len(s.rest); i++ {
		if s.rest[i] == q && (i+1 == len(s.rest) || blank(s.rest[i+1])) {
			v := s.rest[1:i]
			s.rest = s.rest[i+1:]
			s.null = false
			return cifValue, v, nil
		}
	}
	return cifEnd, nil, s.in.errorf("the quote before %s is not closed on its line", excerpt(s.rest[1:]))
}

// word reads an unquoted token: a tag, a keyword such as data_ or loop_, or a plain value.
func (s *cifScanner) word() (cifKind, []byte, error) {
	i := 0
	for i < len(s.rest) && !blank(s.rest[i]) {
		i++
	}
	w := s.rest[:i]
	s.rest = s.rest[i:]
	s.null = len(w) == 1 && (w[0] == '.' || w[0] == '?')
	switch w[0] {
	case '_':
		return cifTag, w, nil
	case 'd', 'D', 'l', 'L', 's', 'S', 'g', 'G':
		switch {
		case foldPrefix(w, "data_"):
			return cifData, w[5:], nil
		case len(w) == 5 && foldPrefix(w, "loop_"):
			return cifLoop, w, nil
		case foldPrefix(w, "save_"), len(w) == 5 && foldPrefix(w, "stop_"), len(w) == 7 && foldPrefix(w, "global_"):
			return cifOther, w, nil
		}
	}
	return cifValue, w, nil
}

// foldPrefix reports whether b starts with prefix, in upper or lower case.
func foldPrefix(b []byte, prefix string) bool {
	return len(b) >= len(prefix) && strings.EqualFold(string(b[:len(prefix)]), prefix)
}

// cifTable is a category that a reader wants: its item names without the category, and the function called with
// each row. A row has one value per item, in the order of items; a value is nil where the file has none, or only .
// or ?.
type cifTable struct {
	// items are the names of the wanted items, in lower case.
	items []string
	// row is called with each row. Its values are valid until it returns.
	row func(values [][]byte) error

	values  [][]byte
	buffers [][]byte // the buffers behind values
}

// reset empties the row.
func (t *cifTable) reset() {
	if t.values == nil {
		t.values, t.buffers = make([][]byte, len(t.items)), make([][]byte, len(t.items))
	}
	clear(t.values)
}

// set copies v into the row, because the scanner reuses its bytes.
func (t *cifTable) set(slot int, v []byte) {
	t.buffers[slot] = append(t.buffers[slot][:0], v...)
	t.values[slot] = t.buffers[slot]
}

// slot returns the index of an item, or −1 where the reader does not want it.
func (t *cifTable) slot(item string) int {
	return slices.Index(t.items, item)
}

// cifParser reads a file and passes the rows of wanted categories to their tables.
type cifParser struct {
	scan   cifScanner
	tables map[string]*cifTable // by category, lower case
	block  func() (bool, error) // called at each data_; false ends the reading

	open *cifTable // category of single items being gathered
	kind cifKind   // token looked at
	tok  []byte
}

// maxColumns is the most items that one loop may have.
const maxColumns = 1000

// advance reads the next token into kind and tok.
func (p *cifParser) advance() (err error) {
	p.kind, p.tok, err = p.scan.next()
	return err
}

// run parses the file up to its end, or until block stops it.
func (p *cifParser) run() error {
	if err := p.advance(); err != nil {
		return err
	}
	started := false
	for p.kind != cifEnd {
		var err error
		switch p.kind {
		case cifData:
			if err = p.close(); err != nil {
				return err
			}
			more, stop := p.block()
			if stop != nil || !more {
				return stop
			}
			started = true
			err = p.advance()
		case cifOther:
			err = p.advance()
		case cifLoop:
			err = p.loop()
		case cifTag:
			err = p.item()
		default:
			if !started {
				return p.scan.in.errorf("want \"data_\" at the start, not %s", excerpt(p.tok))
			}
			return p.scan.in.errorf("the value %s belongs to no item", excerpt(p.tok))
		}
		if err != nil {
			return err
		}
	}
	return p.close()
}

// close passes on the row of the category whose single items were being gathered.
func (p *cifParser) close() error {
	t := p.open
	p.open = nil
	if t == nil {
		return nil
	}
	return t.row(t.values)
}

// find returns the table of a tag and the index of its item, or nil and −1 where the tag is not wanted.
func (p *cifParser) find(tag []byte) (*cifTable, int) {
	if len(tag) > 80 {
		return nil, -1
	}
	name := strings.ToLower(string(tag[1:]))
	category, item, ok := strings.Cut(name, ".")
	t := p.tables[category]
	if !ok || t == nil {
		return nil, -1
	}
	return t, t.slot(item)
}

// item reads one tag and its value, outside loops: a category of one row.
func (p *cifParser) item() error {
	t, slot := p.find(p.tok)
	if t == nil || t != p.open {
		if err := p.close(); err != nil {
			return err
		}
		if t != nil {
			t.reset()
			p.open = t
		}
	}
	line := p.scan.in.number
	if err := p.advance(); err != nil {
		return err
	}
	if p.kind != cifValue {
		p.scan.in.number = line
		return p.scan.in.errorf("the item named here has no value")
	}
	if slot >= 0 && !p.scan.null {
		t.set(slot, p.tok)
	}
	return p.advance()
}

// loop reads the tags of a loop and then its rows, each of which is passed on as soon as it is complete.
func (p *cifParser) loop() error {
	if err := p.close(); err != nil {
		return err
	}
	if err := p.advance(); err != nil {
		return err
	}
	var table *cifTable
	var slots []int
	for p.kind == cifTag {
		t, slot := p.find(p.tok)
		if len(slots) == 0 {
			table = t
		} else if t != table {
			slot = -1
		}
		slots = append(slots, slot)
		if len(slots) > maxColumns {
			return p.scan.in.limit("the loop has more than the %d columns allowed", maxColumns)
		}
		if err := p.advance(); err != nil {
			return err
		}
	}
	if len(slots) == 0 {
		return p.scan.in.errorf("the loop names no items")
	}
	return p.rows(table, slots)
}

// rows reads the values of a loop. slots maps each column to an item of table, −1 where it is not wanted; a nil
// table skips the rows. A loop that ends within a row is an error.
func (p *cifParser) rows(table *cifTable, slots []int) error {
	col := 0
	for p.kind == cifValue {
		if table != nil {
			if col == 0 {
				table.reset()
			}
			if slots[col] >= 0 && !p.scan.null {
				table.set(slots[col], p.tok)
			}
		}
		if col++; col == len(slots) {
			col = 0
			if table != nil {
				if err := table.row(table.values); err != nil {
					return err
				}
			}
		}
		if err := p.advance(); err != nil {
			return err
		}
	}
	if col != 0 {
		return p.scan.in.errorf("the loop ends within a row: %d of %d values", col, len(slots))
	}
	return nil
}
