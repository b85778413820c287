package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"unicode/utf8"

	"pleat/internal/words"
)

// CheckSyntax returns an error with line, column and the likely cause if a text of any size is not one JSON document.
// what names it in the message. Unlike [Decode] it accepts whatever encoding/json does.
func CheckSyntax(what string, data []byte) error {
	if json.Valid(data) {
		return nil
	}
	d := &decoder{root: &location{name: what}, data: data, values: math.MinInt} // there is no limit of values
	if d.peek() == 0 && d.at == len(data) {
		return broken("%s is empty; it must be a JSON document", what)
	}
	if err := d.skip(d.root, 0); err != nil {
		return err
	}
	if d.space(); d.at < len(data) {
		return broken("%s has data after its JSON document, at %s", what, d.place(d.at))
	}
	return broken("%s is not JSON", what)
}

// place returns the position of a byte of the document for a message.
func (d *decoder) place(at int) string {
	line, column := words.LineAndColumn(d.data, at)
	return fmt.Sprintf("line %d, column %d", line, column)
}

// broken returns the error for text that is not JSON at the cursor, with its likely cause.
func (d *decoder) broken() error {
	if d.at >= len(d.data) {
		return broken("%s is not JSON: it ends too early, at %s", d.root, d.place(len(d.data)))
	}
	return d.because(d.at, d.cause())
}

// because returns the error for text that is not JSON at a byte, for a cause.
func (d *decoder) because(at int, cause string) error {
	return broken("%s is not JSON: %s: %s", d.root, d.place(at), cause)
}

// strayWords are words of other languages in the place of a value, and what JSON has instead.
var strayWords = map[string]string{
	"True": "true", "TRUE": "true", "False": "false", "FALSE": "false", "None": "null", "undefined": "null",
	"nil": "null", "NULL": "null", "NaN": "null", "nan": "null", "Infinity": "null", "inf": "null", "Inf": "null",
}

// cause says what is wrong at the cursor, which is outside of strings.
func (d *decoder) cause() string {
	rest := d.data[d.at:]
	r, _ := utf8.DecodeRune(rest)
	before := bytes.TrimRight(d.data[:d.at], " \t\r\n")
	last := byte(0)
	if len(before) > 0 {
		last = before[len(before)-1]
	}
	word := leadingWord(rest)
	switch {
	case r == '\'':
		return "text in JSON stands in double quotes, not in single ones"
	case strings.ContainsRune("‘’“”", r):
		return words.Character(r) + "; text in JSON stands in straight double quotes"
	case (r == ']' || r == '}') && last == ',':
		return fmt.Sprintf("unexpected %q: no comma may stand before it", r)
	case bytes.HasPrefix(rest, []byte("//")), bytes.HasPrefix(rest, []byte("/*")), r == '#':
		return "JSON has no comments"
	case strayWords[word] != "":
		return fmt.Sprintf("%s is no value of JSON; it has %s", word, strayWords[word])
	case word != "" && last != 0 && isKey(rest[len(word):]):
		return fmt.Sprintf("the name of a field stands in double quotes: %q", words.Clip(word))
	case r == '+', r == '.':
		return fmt.Sprintf("unexpected %q: a number in JSON begins with a digit or a minus sign", r)
	}
	return "unexpected " + words.Character(r)
}

// separator returns the error for what stands at the cursor in the place of a comma or the end of an array or object.
func (d *decoder) separator() error {
	if d.at < len(d.data) && strings.IndexByte(`"{[-0123456789`, d.data[d.at]) >= 0 &&
		(d.data[d.at-1] < '0' || d.data[d.at-1] > '9') {
		return d.because(d.at, fmt.Sprintf("unexpected %q: a comma is missing before it", d.data[d.at]))
	}
	return d.broken()
}

// leadingWord returns the letters, digits and underscores that begin a text, at most a few; empty: it begins with a
// digit or with none of them.
func leadingWord(text []byte) string {
	const longest = 64
	n := 0
	for n < len(text) && n < longest && (text[n] == '_' || text[n]|' ' >= 'a' && text[n]|' ' <= 'z' ||
		n > 0 && text[n] >= '0' && text[n] <= '9') {
		n++
	}
	return string(text[:n])
}

// isKey reports whether what follows a word makes it the name of a field.
func isKey(after []byte) bool {
	after = bytes.TrimLeft(after, " \t")
	return len(after) > 0 && after[0] == ':'
}

// control returns the error for a control character in a string, at the cursor.
func (d *decoder) control() error {
	switch c := d.data[d.at]; c {
	case '\n', '\r':
		return d.because(d.at, `the line ends inside of text; a double quote is missing, or the end of a line is `+
			`written \n`)
	case '\t':
		return d.because(d.at, `a tab inside of text is written \t`)
	default:
		return d.because(d.at, fmt.Sprintf("unexpected %q inside of text", c))
	}
}

// badEscape returns the error for an escape that does not exist; the cursor is behind its backslash, which stands at a
// byte.
func (d *decoder) badEscape(backslash int) error {
	if d.at >= len(d.data) {
		return d.broken()
	}
	return d.because(backslash, "a backslash in JSON text is written twice")
}
