package bcif

import (
	"bytes"
	"strconv"
	"strings"
	"unicode/utf8"

	"pleat"
)

// units is a text by the units in which offsets count: those of UTF-16, as in JavaScript, where writers come from.
type units struct {
	text []byte
	at   []int // byte of each unit, and the end; nil: each unit is a byte
}

// unitsOf returns the units of a text.
func unitsOf(text []byte) units {
	u := units{text: text}
	if bytes.IndexFunc(text, func(r rune) bool { return r >= utf8.RuneSelf }) < 0 {
		return u
	}
	for i, r := range string(text) {
		u.at = append(u.at, i)
		if r > 0xffff {
			u.at = append(u.at, i) // its second half
		}
	}
	u.at = append(u.at, len(text))
	return u
}

// len returns the number of units.
func (u units) len() int {
	if u.at == nil {
		return len(u.text)
	}
	return len(u.at) - 1
}

// cut returns the text from one unit to another.
func (u units) cut(from, to int) []byte {
	if u.at != nil {
		from, to = u.at[from], u.at[to]
	}
	return u.text[from:to]
}

// value writes the value of a row, after a space or at the start of a line.
func (w *writer) value(c *column, row int) error {
	var b []byte
	switch {
	case c.mask != nil && c.mask[row] == 1:
		b = append(b, '.')
	case c.mask != nil && c.mask[row] != 0:
		b = append(b, '?')
	case c.values.ints != nil:
		b = strconv.AppendInt(b, c.values.ints[row], 10)
	case c.values.floats != nil:
		b = strconv.AppendFloat(b, c.values.floats[row], 'f', -1, c.values.bits)
	default:
		var text []byte
		if k := c.values.strings[row]; k >= 0 {
			text = c.values.table[k]
		}
		return w.text(text)
	}
	w.out.Write(b)
	w.out.WriteByte(' ')
	return nil
}

// text writes a text so that it reads back as it is.
func (w *writer) text(v []byte) error {
	s := string(v)
	switch {
	case plain(s):
		w.out.WriteString(s)
	case !strings.ContainsAny(s, "\n\r") && !closes(s, '\''):
		w.out.WriteString("'" + s + "'")
	case !strings.ContainsAny(s, "\n\r") && !closes(s, '"'):
		w.out.WriteString(`"` + s + `"`)
	case strings.Contains(s, "\n;"):
		return pleat.Invalidf("the text has a line that begins with a semicolon, which CIF cannot have")
	default:
		w.out.WriteString("\n;" + s + "\n;\n")
		return nil
	}
	w.out.WriteByte(' ')
	return nil
}

// closes reports whether a quote in s would end the value before its end: one before white space.
func closes(s string, quote byte) bool {
	for i := range len(s) - 1 {
		if s[i] == quote && strings.IndexByte(" \t\v\f", s[i+1]) >= 0 {
			return true
		}
	}
	return false
}

// plain reports whether a value needs no quotes.
func plain(s string) bool {
	if s == "" || s == "." || s == "?" || strings.IndexByte("_#$'\"[];", s[0]) >= 0 {
		return false
	}
	for i := range len(s) {
		if s[i] <= ' ' || s[i] > '~' {
			return false
		}
	}
	lower := strings.ToLower(s[:min(len(s), 7)])
	for _, word := range []string{"data_", "loop_", "save_", "stop_", "global_"} {
		if strings.HasPrefix(lower, word) {
			return false
		}
	}
	return true
}
