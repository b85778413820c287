package api

import (
	"strings"
	"testing"
)

// Text that is not JSON is refused with the line, the column and the likely cause.
func TestSyntaxCauses(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		"{\"a\":\n\"C/C=C\\C\"}":       `line 2, column 7: a backslash in JSON text is written twice`,
		`{"a": "C:\users"}`:            `line 1, column 10: a backslash in JSON text is written twice`,
		"[\n1,\n]":                     `line 3, column 1: unexpected ']': no comma may stand before it`,
		`{"é": 1,}`:                    `line 1, column 9: unexpected '}': no comma may stand before it`,
		`{"a": 1 "b": 2}`:              `line 1, column 9: unexpected '"': a comma is missing before it`,
		`[{} {}]`:                      `line 1, column 5: unexpected '{': a comma is missing before it`,
		`{'a': None}`:                  `line 1, column 2: text in JSON stands in double quotes, not in single ones`,
		`{"a": None}`:                  `line 1, column 7: None is no value of JSON; it has null`,
		`{"a": True}`:                  `line 1, column 7: True is no value of JSON; it has true`,
		`{"a": -Infinity}`:             `line 1, column 8: Infinity is no value of JSON; it has null`,
		`{"a": +1}`:                    `line 1, column 7: unexpected '+': a number in JSON begins with a digit or a minus sign`,
		`{a: 1}`:                       `line 1, column 2: the name of a field stands in double quotes: "a"`,
		"{\"a\": 1, // one\n\"b\": 2}": `line 1, column 10: JSON has no comments`,
		"{\"a\": 1,\n# one\n}":         `line 2, column 1: JSON has no comments`,
		`{“a”: 1}`: `line 1, column 2: '“' (U+201C, a quotation mark that looks like "); text in JSON stands in ` +
			`straight double quotes`,
		"{\"a\":\u00a01}":      `line 1, column 6: unexpected U+00A0 (a no-break space)`,
		"{\"a\": \"x\n\"}":     `line 1, column 9: the line ends inside of text; a double quote is missing, or`,
		"{\"a\": \"x\ty\"}":    `line 1, column 9: a tab inside of text is written \t`,
		"{\"a\": \"x\x01y\"}":  `line 1, column 9: unexpected '\x01' inside of text`,
		`{"a": tru}`:           `line 1, column 7: unexpected 't'`,
		"{\"a\": [1,\n {\"b\"": `it ends too early, at line 2, column 6`,
		`{"a": nul`:            `it ends too early, at line 1, column 10`,
	} {
		var v struct {
			A any `json:"a"`
		}
		want = "the file is not JSON: " + want
		if err := DecodeAs("the file", []byte(body), &v); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q\n got  %v\n want %s", body, err, want)
		}
	}
	var v CreateKey
	if err := Decode([]byte("\ufeff{}"), &v); err != nil {
		t.Errorf("byte order mark: %v", err)
	}
}
