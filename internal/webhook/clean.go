package webhook

import (
	"bytes"
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strings"
	"unicode"

	"pleat"
)

// Bounds on what of a caller's input is passed on.
const (
	maxDepth  = 24
	maxText   = 2_000 // bytes of one string
	minHidden = 10    // letters from which on a sequence is looked for inside other text
	removed   = "[sequence removed]"
)

// cleaner takes sequences and secrets out of a caller's input and gives every key its snake_case name.
type cleaner struct {
	texts []string // upper-case sequences that may not appear in any string
}

func newCleaner(seqs []pleat.Sequence) cleaner {
	var c cleaner
	for i := range seqs {
		if t := strings.ToUpper(seqs[i].Text); len(t) >= minHidden && !slices.Contains(c.texts, t) {
			c.texts = append(c.texts, t)
		}
	}
	return c
}

// object cleans a JSON object. What is absent or is no object becomes an empty one.
func (c cleaner) object(raw []byte) map[string]any {
	var v any
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if d.Decode(&v) != nil {
		return map[string]any{}
	}
	return c.tree(v)
}

func (c cleaner) tree(v any) map[string]any {
	if m, ok := c.value(v, 0).(map[string]any); ok && m != nil {
		return m
	}
	return map[string]any{}
}

func (c cleaner) value(v any, depth int) any {
	if depth > maxDepth {
		return nil
	}
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for _, key := range slices.Sorted(maps.Keys(v)) {
			name := snake(key)
			if hidden(name, v[key]) {
				continue
			}
			if _, taken := out[name]; !taken || name == key {
				out[c.text(name)] = c.value(v[key], depth+1)
			}
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = c.value(v[i], depth+1)
		}
		return out
	case string:
		return c.text(v)
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil
		}
	}
	return v
}

// text clips a string and takes the job's own sequences out of it, however they are broken into lines.
func (c cleaner) text(s string) string {
	if len(s) >= minHidden && len(c.texts) > 0 {
		packed := strings.ToUpper(strings.Join(strings.Fields(s), ""))
		for _, t := range c.texts {
			if strings.Contains(packed, t) {
				return removed
			}
		}
	}
	return clip(s, maxText)
}

func clip(s string, n int) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n-3], "") + "…"
}

// hidden reports whether a field may not be delivered, by its snake_case name. Numbers and booleans under such names
// say nothing secret («max_tokens», «has_token»).
func hidden(name string, v any) bool {
	words := strings.Split(name, "_")
	last := words[len(words)-1]
	switch v.(type) {
	case nil, bool, float64, json.Number, int, int64:
		return last == "sequence"
	}
	for i, w := range words {
		switch w {
		case "token", "tokens", "secret", "secrets", "password", "passwd", "authorization", "credential", "credentials",
			"apikey":
			return true
		case "key":
			if i > 0 && (words[i-1] == "api" || words[i-1] == "private" || words[i-1] == "access") {
				return true
			}
		case "sequence", "sequences", "fasta", "smiles":
			// Its identifiers and kind may go, its letters may not.
			if !slices.Contains([]string{"id", "ids", "type", "kind", "name", "label", "index"}, last) {
				return true
			}
		}
	}
	// A run's own endpoint is never echoed.
	return name == "target_url"
}

// snake writes a key in snake_case: modelName, pH and res_idxA become model_name, ph and res_idx_a.
func snake(key string) string {
	if key == "pH" {
		return "ph"
	}
	runes := []rune(clip(key, 128))
	var b strings.Builder
	for i, r := range runes {
		switch {
		case r == '-' || r == ' ' || r == '.':
			b.WriteByte('_')
			continue
		case unicode.IsUpper(r) && i > 0 && runes[i-1] != '_':
			before := runes[i-1]
			next := i+1 < len(runes) && unicode.IsLower(runes[i+1])
			if unicode.IsLower(before) || unicode.IsDigit(before) || unicode.IsUpper(before) && next {
				b.WriteByte('_')
			}
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}
