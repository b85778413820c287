package api

import (
	"bytes"
	"encoding/json"
)

// Encode returns v as JSON on one line, which ends with a line feed. Unlike json.Marshal it writes <, > and & as they
// are.
func Encode(v any) ([]byte, error) { return encode(v, "") }

// EncodeIndent is Encode for readers: two spaces for each level.
func EncodeIndent(v any) ([]byte, error) { return encode(v, "  ") }

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
