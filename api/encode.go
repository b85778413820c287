package api

import (
	"bytes"
	"encoding/json"
)

// Encode returns v as one line of JSON, with a line feed at its end. Unlike json.Marshal it does not escape <, > and &.
func Encode(v any) ([]byte, error) { return encode(v, "") }

// EncodeIndent is [Encode] for readers: two spaces for each level.
func EncodeIndent(v any) ([]byte, error) { return encode(v, "  ") }

// encode writes v with a line feed at its end, indented if indent is not empty.
func encode(v any, indent string) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", indent)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}
