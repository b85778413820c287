package bcif

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"pleat"
)

// inBytes turns offsets in a text, which ascend and count the units of UTF-16 as in JavaScript, where writers come
// from, into offsets in bytes.
func inBytes(offsets []int64, text []byte) error {
	at, units := 0, int64(0)
	for i, offset := range offsets {
		for units < offset && at < len(text) {
			r, size := utf8.DecodeRune(text[at:])
			at += size
			if units++; r > 0xffff {
				units++ // its second half
			}
		}
		if units != offset {
			return pleat.Invalidf("its strings have an offset of %d; offsets ascend and lie in the text", offset)
		}
		offsets[i] = int64(at)
	}
	return nil
}

// value writes the value of a row, after a space or at the start of a line.
func (w *writer) value(c *column, row int) error {
	var b []byte
	switch {
	case c.mask != nil && c.mask[row] != 0:
		b = append(b, c.mask[row])
	case c.values.ints != nil:
		b = strconv.AppendInt(b, c.values.ints[row], 10)
	case c.values.floats != nil:
		b = strconv.AppendFloat(b, c.values.floats[row], 'f', -1, c.values.bits)
	default:
		var text []byte
		if k := c.values.strings[row]; k >= 0 {
			text = c.values.text[c.values.ends[k]:c.values.ends[k+1]]
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
	case strings.Contains(s, "\n;"), strings.Contains(s, "\r;"):
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
