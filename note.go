package pleat

import (
	"strings"
	"unicode"
)

// Note says what was dropped from a value of a request that is accepted.
type Note struct{ Field, Message string }

// Notes are notes on a request, in its order.
type Notes []Note

// Texts returns the notes as sentences that begin with the path of the value.
func (n Notes) Texts() []string {
	out := []string{}
	for _, note := range n {
		out = append(out, note.Field+": "+note.Message)
	}
	return out
}

// EndDropped is the note on a sequence that [CutEnd] has changed.
const EndDropped = "the end sign * was dropped"

// CutEnd returns the text of a polymer without the sign * that ends it, the stop codon of a translation, and reports
// whether it had one. A sign elsewhere, and a second one, are no letters of a polymer.
func CutEnd(text string) (string, bool) {
	text = strings.TrimRightFunc(text, unicode.IsSpace)
	return strings.CutSuffix(text, "*")
}
