package api

import (
	"bytes"
	"strconv"
	"strings"
	"unicode/utf8"

	"pleat/internal/words"
)

// badUTF8 returns the index of the first byte that is not UTF-8, and -1 if there is none.
func badUTF8(data []byte) int {
	if utf8.Valid(data) {
		return -1
	}
	for i := 0; i < len(data); {
		r, n := utf8.DecodeRune(data[i:])
		if r == utf8.RuneError && n == 1 {
			return i
		}
		i += n
	}
	return -1
}

// location is the position of a value in the document. It is converted to text only when an error needs it.
type location struct {
	up    *location // nil: the document as a whole, which name describes
	name  string    // key in an object
	index int       // index in an array, if name is empty
}

func (p *location) isRoot() bool { return p.up == nil }

// field returns the path of the value, and "" for the document as a whole.
func (p *location) field() string {
	if p == nil || p.isRoot() {
		return ""
	}
	return p.String()
}

// String returns the path of the value, and the name of the document for the document as a whole.
func (p *location) String() string {
	if p.isRoot() {
		return p.name
	}
	head := ""
	if !p.up.isRoot() {
		head = p.up.String()
	}
	switch {
	case p.name == "":
		return head + "[" + strconv.Itoa(p.index) + "]"
	case head == "":
		return words.Clip(p.name)
	}
	return head + "." + words.Clip(p.name)
}

// decoder reads one document from its start to its end, without going back. The cursor at is an index in data; messages
// have its line and column.
type decoder struct {
	root   *location // names the document
	data   []byte
	at     int
	values int // that were read in arrays and objects

	faults DecodeErrors // of the values that were read so far
}

// space moves the cursor past white space; RFC 8259, section 2.
func (d *decoder) space() {
	for d.at < len(d.data) {
		switch d.data[d.at] {
		case ' ', '\t', '\n', '\r':
			d.at++
		default:
			return
		}
	}
}

// peek returns the next byte after white space, and 0 at the end.
func (d *decoder) peek() byte {
	if d.space(); d.at == len(d.data) {
		return 0
	}
	return d.data[d.at]
}

// literal reads one of true, false and null.
func (d *decoder) literal(s string) error {
	rest := d.data[d.at:]
	switch {
	case bytes.HasPrefix(rest, []byte(s)):
		d.at += len(s)
		return nil
	case bytes.HasPrefix([]byte(s), rest):
		d.at = len(d.data) // it ends within the word
	}
	return d.broken()
}

// count counts a value in an array or an object.
func (d *decoder) count() error {
	if d.values++; d.values > MaxValues {
		return broken("%s has more than %d values in its arrays and objects", d.root, MaxValues)
	}
	return nil
}

// entries reads an object. It calls fn for every key, with the cursor before the value.
func (d *decoder) entries(p *location, depth int, fn func(key string) error) error {
	if depth >= MaxDepth {
		return broken("%s is nested more than %d levels deep", p, MaxDepth)
	}
	d.at++ // {
	if d.peek() == '}' {
		d.at++
		return nil
	}
	for {
		if d.peek() != '"' {
			return d.broken()
		}
		key, err := d.str()
		if err != nil {
			return err
		}
		if err := d.count(); err != nil {
			return err
		}
		if d.peek() != ':' {
			return d.broken()
		}
		d.at++
		if err := fn(key); err != nil {
			return err
		}
		switch d.peek() {
		case ',':
			d.at++
		case '}':
			d.at++
			return nil
		default:
			return d.separator()
		}
	}
}

// elements reads an array. It calls fn for every element, with the cursor before it.
func (d *decoder) elements(p *location, depth int, fn func(i int) error) error {
	if depth >= MaxDepth {
		return broken("%s is nested more than %d levels deep", p, MaxDepth)
	}
	d.at++ // [
	if d.peek() == ']' {
		d.at++
		return nil
	}
	for i := 0; ; i++ {
		if err := d.count(); err != nil {
			return err
		}
		if err := fn(i); err != nil {
			return err
		}
		switch d.peek() {
		case ',':
			d.at++
		case ']':
			d.at++
			return nil
		default:
			return d.separator()
		}
	}
}

// skip reads a value of any type, checks its syntax, its depth and that no key comes twice, and drops it.
func (d *decoder) skip(p *location, depth int) error {
	switch c := d.peek(); c {
	case '{':
		seen := map[string]bool{}
		return d.entries(p, depth, func(key string) error {
			at := &location{up: p, name: key}
			if seen[key] {
				return d.instead(at, depth, refuse(at, "duplicate key %q in %s", words.Clip(key), p))
			}
			seen[key] = true
			return d.skip(at, depth+1)
		})
	case '[':
		at := &location{up: p} // of one element after the other: faults keep its text
		return d.elements(p, depth, func(i int) error {
			at.index = i
			return d.skip(at, depth+1)
		})
	case '"':
		_, err := d.str()
		return err
	case 't':
		return d.literal("true")
	case 'f':
		return d.literal("false")
	case 'n':
		return d.literal("null")
	default:
		if c == '-' || c >= '0' && c <= '9' {
			_, err := d.number()
			return err
		}
		return d.broken()
	}
}

// number reads a number and returns its text, which the caller converts; RFC 8259, section 6.
func (d *decoder) number() (string, error) {
	start := d.at
	digits := func() bool {
		from := d.at
		for d.at < len(d.data) && d.data[d.at] >= '0' && d.data[d.at] <= '9' {
			d.at++
		}
		return d.at > from
	}
	is := func(set string) bool { return d.at < len(d.data) && strings.IndexByte(set, d.data[d.at]) >= 0 }
	if is("-") {
		d.at++
	}
	if is("0") {
		d.at++
	} else if !digits() {
		return "", d.broken()
	}
	if is(".") {
		if d.at++; !digits() {
			return "", d.broken()
		}
	}
	if is("eE") {
		if d.at++; is("+-") {
			d.at++
		}
		if !digits() {
			return "", d.broken()
		}
	}
	return string(d.data[start:d.at]), nil
}

// str reads a string; RFC 8259, section 7. The cursor is on its opening quote. A string without escapes, which most
// are, is copied once.
func (d *decoder) str() (string, error) {
	d.at++
	start := d.at
	for d.at < len(d.data) {
		switch c := d.data[d.at]; {
		case c == '"':
			s := string(d.data[start:d.at])
			d.at++
			return s, nil
		case c == '\\':
			return d.escaped(start)
		case c < ' ':
			return "", d.control()
		}
		d.at++
	}
	return "", d.broken()
}

// escaped reads the rest of a string from its first backslash.
func (d *decoder) escaped(start int) (string, error) {
	b := append([]byte(nil), d.data[start:d.at]...)
	for d.at < len(d.data) {
		c := d.data[d.at]
		switch {
		case c == '"':
			d.at++
			return string(b), nil
		case c < ' ':
			return "", d.control()
		case c != '\\':
			b = append(b, c)
			d.at++
			continue
		}
		backslash := d.at
		if d.at++; d.at >= len(d.data) {
			break
		}
		if d.data[d.at] == 'u' {
			r, err := d.unicode()
			if err != nil {
				return "", err
			}
			b = utf8.AppendRune(b, r)
			continue
		}
		i := strings.IndexByte(`"\/bfnrt`, d.data[d.at])
		if i < 0 {
			return "", d.badEscape(backslash)
		}
		b = append(b, "\"\\/\b\f\n\r\t"[i])
		d.at++
	}
	return "", d.broken()
}

// unicode reads the escape uXXXX, and a second one if the first is half of a surrogate pair.
func (d *decoder) unicode() (rune, error) {
	at := d.at
	high, err := d.hex4()
	if err != nil {
		return 0, err
	}
	if high < 0xd800 || high > 0xdfff {
		return high, nil
	}
	if high < 0xdc00 && d.at+1 < len(d.data) && d.data[d.at] == '\\' && d.data[d.at+1] == 'u' {
		d.at++
		low, err := d.hex4()
		if err != nil {
			return 0, err
		}
		if low >= 0xdc00 && low <= 0xdfff {
			return (high-0xd800)<<10 + (low - 0xdc00) + 0x10000, nil
		}
	}
	return 0, broken("%s has half of a surrogate pair at %s", d.root, d.place(at-1))
}

// hex4 reads the u of an escape and its four hexadecimal digits.
func (d *decoder) hex4() (rune, error) {
	backslash := d.at - 1
	d.at++ // u
	var r rune
	for range 4 {
		if d.at >= len(d.data) {
			return 0, d.broken()
		}
		c := d.data[d.at]
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c >= 'a' && c <= 'f':
			c -= 'a' - 10
		case c >= 'A' && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, d.badEscape(backslash)
		}
		r = r<<4 | rune(c)
		d.at++
	}
	return r, nil
}
