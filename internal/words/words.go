// Package words helps to write messages about a caller's input: the nearest known name, and text that is safe to print.
// It is below the domain and the wire types, which both need it and must not import each other.
package words

import "strings"

// Nearest returns the name most similar to got, or "" if none is similar enough to suggest. Of equally similar names it
// returns the first one in alphabetical order.
func Nearest(got string, names []string) string {
	got = strings.ToLower(got)
	best, at := "", max(3, len(got)/2+1)
	for _, n := range names {
		low := strings.ToLower(n)
		d := distance(got, low)
		if strings.HasSuffix(low, got) || strings.HasPrefix(low, got) {
			d = min(d, 2)
		}
		if d < at || d == at && best != "" && n < best {
			best, at = n, d
		}
	}
	return best
}

// distance is the Levenshtein distance in bytes; arguments longer than 64 bytes count as different.
func distance(a, b string) int {
	if len(a) > 64 || len(b) > 64 {
		return 64
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		prev := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := prev
			if a[i] != b[j] {
				cost++
			}
			prev, row[j+1] = row[j+1], min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

// Clip shortens a caller's text for a message and replaces control characters, so that it is safe in a sentence or a
// log line.
func Clip(s string) string {
	const most = 60
	out := []rune{}
	for _, r := range s {
		if len(out) == most {
			return string(out) + "…"
		}
		if r < ' ' || r == 0x7f || r == '\u2028' || r == '\u2029' {
			r = '\ufffd'
		}
		out = append(out, r)
	}
	return string(out)
}

// Shorten returns s, or its first n-1 characters followed by … if it has more than n. Unlike Clip it changes no
// character, so it is for text that is shown as it is, such as the preview of a question.
func Shorten(s string, n int) string {
	seen, cut := 0, 0
	for i := range s {
		switch seen {
		case n - 1:
			cut = i
		case n:
			return s[:cut] + "…"
		}
		seen++
	}
	return s
}
