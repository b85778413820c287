package mcp

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// How many characters of a text are shown.
const (
	maxName = 255   // of names, labels and fields
	maxText = 2_000 // of messages and notices
	maxLong = 8_000 // of answers
)

// visible returns a text as it may be shown to a model and to a person: at most a number of characters, and those
// that nobody would see, or that reorder what is around them, as <U+200B>. Line feeds and tabs stay.
func visible(s string, most int) string {
	var b strings.Builder
	n := 0
	for _, r := range s {
		if n++; n > most {
			b.WriteRune('…')
			break
		}
		switch {
		case r == '\n' || r == '\t' || r == utf8.RuneError:
			b.WriteRune(r)
		case unicode.Is(unicode.C, r) || unicode.In(r, unicode.Zl, unicode.Zp, unicode.Variation_Selector) ||
			unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r):
			fmt.Fprintf(&b, "<U+%04X>", r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// name is visible for a name, which has one line.
func name(s string) string {
	return visible(strings.NewReplacer("\n", "<U+000A>", "\t", "<U+0009>").Replace(s), maxName)
}

// text is visible for a text that may be null.
func text(s *string) *string {
	if s == nil {
		return nil
	}
	out := visible(*s, maxText)
	return &out
}

// names is name for each of a list, of which it keeps the first.
func names(list []string, most int) []string {
	out := make([]string, 0, min(len(list), most))
	for _, s := range list[:min(len(list), most)] {
		out = append(out, name(s))
	}
	return out
}

// For a JSON value that this package does not know, such as the metrics of a simulation, maxNumbers entries of a list
// of plain values are kept, maxEntries of any other list, and maxLevels levels.
const (
	maxNumbers = 24
	maxEntries = 20
	maxLevels  = 6
)

// small returns a JSON value without what is too large for a result. A text replaces each part that is left out, and
// says so.
func small(raw json.RawMessage) any {
	if len(raw) == 0 {
		return nil
	}
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		return nil
	}
	return smaller(v, maxLevels)
}

// smaller is small for a value of which a number of levels is kept.
func smaller(v any, levels int) any {
	switch v := v.(type) {
	case string:
		return visible(v, maxText)
	case []any:
		if levels == 0 {
			return fmt.Sprintf("%d values are left out", len(v))
		}
		most := maxEntries
		if !nested(v) {
			most = maxNumbers
		}
		if len(v) > most && !nested(v) {
			return fmt.Sprintf("%d values are left out", len(v))
		}
		out := []any{}
		for _, e := range v[:min(len(v), most)] {
			out = append(out, smaller(e, levels-1))
		}
		if len(v) > most {
			out = append(out, fmt.Sprintf("%d entries more are left out", len(v)-most))
		}
		return out
	case map[string]any:
		if levels == 0 {
			return fmt.Sprintf("%d fields are left out", len(v))
		}
		out := map[string]any{}
		for key, e := range v {
			if !isLink(e) && key != "artifacts" { // whose names are in the files of the work
				out[name(key)] = smaller(e, levels-1)
			}
		}
		return out
	}
	return v
}

// isLink reports whether a value is an address. The links of the service are permissions, which only get_file gives.
func isLink(v any) bool {
	s, ok := v.(string)
	return ok && (strings.HasPrefix(s, "http://") || strings.HasPrefix(s, "https://"))
}

// nested reports whether a list has lists or objects.
func nested(list []any) bool {
	return slices.ContainsFunc(list, func(v any) bool {
		switch v.(type) {
		case []any, map[string]any:
			return true
		}
		return false
	})
}
