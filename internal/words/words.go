// Package words makes sentences about what a caller wrote: which known name it resembles, and how to show it. It stands
// below the domain and the wire types, which may not import each other and both refuse requests in words.
package words

import "strings"

// Nearest is the name most like got, or "" where none is near enough to be worth suggesting. Of equally near ones it
// is the first by the alphabet.
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

// distance is Levenshtein's, on bytes; arguments past 64 bytes count as far apart.
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

// Clip shortens a caller's text for a message and strips what would not print, so that it is safe in a sentence or a
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
