// Package bcif turns BinaryCIF files into the CIF text that they stand for, with all of their categories.
//
// It owns the encodings of BinaryCIF. It is pure, and must not know what the categories mean.
//
// Source: Sehnal et al., PLOS Comput. Biol. 16, e1008247 (2020); the specification 0.3.0 of molstar/BinaryCIF.
package bcif

import (
	"bytes"
	"fmt"

	"github.com/tinylib/msgp/msgp"

	"pleat"
)

// Bounds of a column.
const (
	maxEncodings = 10
	maxName      = 80 // letters, also of a category
)

// Is reports whether a file with this beginning is BinaryCIF: MessagePack of a map, with which no text begins.
func Is(head []byte) bool {
	return len(head) > 0 && (head[0]>>4 == 0x8 || head[0] == 0xde || head[0] == 0xdf)
}

// Text returns the CIF text of a BinaryCIF file, of at most so many bytes. Numbers are written in full: they read back
// as the file has them. An error has CodeInvalid.
func Text(raw []byte, most int) ([]byte, error) {
	w := &writer{most: most, mostValues: min(most/bytesPerValue, maxValues)}
	blocks := 0
	rest, err := eachField(raw, func(name string, b []byte) ([]byte, error) {
		if name != "dataBlocks" {
			return msgp.Skip(b)
		}
		return eachItem(b, func(b []byte) ([]byte, error) {
			blocks++
			return w.block(b)
		})
	})
	switch {
	case err != nil && pleat.CodeOf(err) != pleat.CodeInvalid: // one of msgp
		return nil, pleat.Invalidf("it is no complete BinaryCIF file: %s", pleat.Clip(err.Error()))
	case err != nil:
		return nil, err
	case blocks == 0 || len(rest) > 0:
		return nil, pleat.Invalidf("it is no complete BinaryCIF file: it has %d dataBlocks, and %d bytes behind them",
			blocks, len(rest))
	}
	return w.out.Bytes(), nil
}

// eachField calls field with each name of a map in MessagePack and what follows it. Field returns what follows the
// value.
func eachField(b []byte, field func(name string, b []byte) ([]byte, error)) ([]byte, error) {
	n, b, err := msgp.ReadMapHeaderBytes(b)
	for ; n > 0 && err == nil; n-- {
		var name []byte
		if name, b, err = msgp.ReadStringZC(b); err == nil {
			b, err = field(string(name), b)
		}
	}
	return b, err
}

// eachItem calls item with what each item of a list in MessagePack begins with. Item returns what follows the item.
func eachItem(b []byte, item func(b []byte) ([]byte, error)) ([]byte, error) {
	n, b, err := msgp.ReadArrayHeaderBytes(b)
	for ; n > 0 && err == nil; n-- {
		b, err = item(b)
	}
	return b, err
}

// Bounds of a category, which is held in memory: its rows by its columns. Each value is at least a letter and a space.
const (
	maxValues     = 16 << 20
	bytesPerValue = 2
)

// writer writes CIF.
type writer struct {
	out        bytes.Buffer
	most       int // bytes
	mostValues int // of a category
}

// block writes a data block.
func (w *writer) block(b []byte) ([]byte, error) {
	var header, categories []byte
	b, err := eachField(b, func(name string, b []byte) (rest []byte, err error) {
		switch name {
		case "header":
			header, rest, err = msgp.ReadStringZC(b)
			return rest, err
		case "categories":
			categories = b
		}
		return msgp.Skip(b)
	})
	if err != nil {
		return b, err
	}
	if len(header) == 0 {
		header = []byte("unknown")
	}
	if !printable(header) {
		return b, pleat.Invalidf("it has a data block called %q; a name is printable ASCII without spaces",
			pleat.Clip(string(header)))
	}
	fmt.Fprintf(&w.out, "data_%s\n#\n", header)
	if categories != nil {
		_, err = eachItem(categories, w.category)
	}
	return b, err
}

// printable reports whether b is a word of printable ASCII.
func printable(b []byte) bool {
	for _, c := range b {
		if c <= ' ' || c > '~' {
			return false
		}
	}
	return len(b) > 0 && len(b) <= maxName
}

// category writes a category as a loop. One without rows is left out.
func (w *writer) category(b []byte) ([]byte, error) {
	c := category{mostValues: w.mostValues}
	var columns []byte
	b, err := eachField(b, func(field string, b []byte) (rest []byte, err error) {
		switch field {
		case "name":
			c.name, rest, err = msgp.ReadStringBytes(b)
			return rest, err
		case "rowCount":
			c.rows, rest, err = msgp.ReadIntBytes(b)
			return rest, err
		case "columns":
			columns = b
		}
		return msgp.Skip(b)
	})
	switch {
	case err != nil:
		return b, err
	case !printable([]byte(c.name)) || c.name[0] != '_':
		return b, pleat.Invalidf("it has a category called %q; a name begins with _ and has printable ASCII only",
			pleat.Clip(c.name))
	case c.rows < 0 || c.rows > c.mostValues:
		return b, pleat.Invalidf("the category %s has %d rows; at most %d are allowed", c.name, c.rows, c.mostValues)
	case c.rows == 0 || columns == nil:
		return b, nil
	}
	if _, err = eachItem(columns, c.column); err == nil && len(c.columns) > 0 {
		err = w.loop(&c)
	}
	return b, err
}

// category is a category as it is read.
type category struct {
	name       string
	rows       int
	columns    []column
	mostValues int
}

// column is a column of a category. Mask has what stands in the place of each value, . or ?, and 0 for the value
// itself; nil: all values are there.
type column struct {
	name   string
	values values
	mask   []byte
}

// column reads a column.
func (c *category) column(b []byte) ([]byte, error) {
	if (len(c.columns)+1)*c.rows > c.mostValues {
		return b, pleat.Invalidf("the category %s has more than the %d values allowed", c.name, c.mostValues)
	}
	var col column
	var data, mask []byte
	b, err := eachField(b, func(field string, b []byte) (rest []byte, err error) {
		switch field {
		case "name":
			col.name, rest, err = msgp.ReadStringBytes(b)
			return rest, err
		case "data":
			data = b
		case "mask":
			mask = b
		}
		return msgp.Skip(b)
	})
	if err != nil {
		return b, err
	}
	if !printable([]byte(col.name)) {
		return b, pleat.Invalidf("the category %s has a column called %q; a name has printable ASCII only", c.name,
			pleat.Clip(col.name))
	}
	if col.values, err = c.decode(data); err == nil && mask != nil && !msgp.IsNil(mask) {
		col.mask, err = c.readMask(mask)
	}
	if err != nil {
		return b, pleat.Invalidf("the column %s.%s cannot be read: %s", c.name, col.name, pleat.Clip(err.Error()))
	}
	c.columns = append(c.columns, col)
	return b, nil
}

// readMask reads a mask, in which 0 stands for the value, 1 for . and 2 for ?.
func (c *category) readMask(b []byte) ([]byte, error) {
	m, err := c.decode(b)
	if err == nil && m.ints == nil {
		err = pleat.Invalidf("has a mask that is no list of whole numbers")
	}
	out := make([]byte, len(m.ints))
	for i, n := range m.ints {
		switch n {
		case 0:
		case 1:
			out[i] = '.'
		default:
			out[i] = '?'
		}
	}
	return out, err
}

// decode decodes as many values as the category has rows.
func (c *category) decode(b []byte) (values, error) {
	data, encodings, err := encoded(b)
	if err != nil {
		return values{}, err
	}
	v, err := decode(data, encodings, c.rows)
	if err == nil && v.len() != c.rows {
		err = pleat.Invalidf("it has %d values for %d rows", v.len(), c.rows)
	}
	return v, err
}

// encoded reads data and their encodings.
func encoded(b []byte) (data []byte, encodings []encoding, err error) {
	_, err = eachField(b, func(field string, b []byte) (rest []byte, err error) {
		switch field {
		case "data":
			data, rest, err = msgp.ReadBytesZC(b)
			return rest, err
		case "encoding":
			encodings, rest, err = readEncodings(b)
			return rest, err
		}
		return msgp.Skip(b)
	})
	return data, encodings, err
}

// loop writes the rows of a category.
func (w *writer) loop(c *category) error {
	w.out.WriteString("loop_\n")
	for i := range c.columns {
		fmt.Fprintf(&w.out, "%s.%s\n", c.name, c.columns[i].name)
	}
	for row := range c.rows {
		for i := range c.columns {
			if err := w.value(&c.columns[i], row); err != nil {
				return pleat.Invalidf("%s.%s, row %d: %s", c.name, c.columns[i].name, row+1, err)
			}
			if w.out.Len() > w.most {
				return pleat.Invalidf("as CIF text it has more than the %d bytes allowed", w.most)
			}
		}
		w.out.WriteByte('\n')
	}
	w.out.WriteString("#\n")
	return nil
}
