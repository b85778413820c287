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

// Limits of the caller's input that a body includes.
const (
	maxDepth    = 24
	maxText     = 2_000 // bytes of one string
	minSequence = 10    // letters from which a sequence is searched inside other text
	removed     = "[sequence removed]"
)

// cleaner removes sequences and secrets from a caller's input and converts keys to snake_case.
type cleaner struct {
	texts []string // upper-case sequences that must not appear in any string
}

// newCleaner returns a cleaner for a job's sequences. Short ones are left out: they could be any word.
func newCleaner(seqs []pleat.Sequence) cleaner {
	var c cleaner
	for i := range seqs {
		if t := strings.ToUpper(seqs[i].Text); len(t) >= minSequence && !slices.Contains(c.texts, t) {
			c.texts = append(c.texts, t)
		}
	}
	return c
}

// object cleans a JSON object. It returns an empty object if raw is absent or not an object.
func (c cleaner) object(raw []byte) map[string]any {
	var v any
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if d.Decode(&v) != nil {
		return map[string]any{}
	}
	return c.tree(v)
}

// tree cleans a value that should be an object.
func (c cleaner) tree(v any) map[string]any {
	if m, ok := c.value(v, 0).(map[string]any); ok && m != nil {
		return m
	}
	return map[string]any{}
}

// value cleans any JSON value; what is nested deeper than the limit is dropped.
func (c cleaner) value(v any, depth int) any {
	if depth > maxDepth {
		return nil
	}
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for _, key := range slices.Sorted(maps.Keys(v)) {
			name := snake(key)
			if redacted(name, v[key]) {
				continue
			}
			if _, taken := out[name]; !taken || name == key {
				out[c.clean(name)] = c.value(v[key], depth+1)
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
		return c.clean(v)
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil
		}
	}
	return v
}

// clean clips a string and removes the job's sequences from it, even if they are broken into lines.
func (c cleaner) clean(s string) string {
	if len(s) >= minSequence && len(c.texts) > 0 {
		packed := strings.ToUpper(strings.Join(strings.Fields(s), ""))
		for _, t := range c.texts {
			if strings.Contains(packed, t) {
				return removed
			}
		}
	}
	return clip(s, maxText)
}

// clip returns at most n bytes of valid UTF-8, with an ellipsis if it cut something off.
func clip(s string, n int) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n-3], "") + "…"
}

// redacted reports whether a field must not be delivered, by its snake_case name. Numbers and booleans with such names
// contain no secrets («max_tokens», «has_token»).
func redacted(name string, v any) bool {
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
			// Identifiers and kinds of sequences may be delivered, letters must not.
			if !slices.Contains([]string{"id", "ids", "type", "kind", "name", "label", "index"}, last) {
				return true
			}
		}
	}
	// The address of a run's own endpoint is never delivered.
	return name == "target_url"
}

// snake converts a key to snake_case: modelName, pH and res_idxA become model_name, ph and res_idx_a.
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
