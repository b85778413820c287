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
		d := Distance(got, low)
		if strings.HasSuffix(low, got) || strings.HasPrefix(low, got) {
			d = min(d, 2)
		}
		if d < at || d == at && best != "" && n < best {
			best, at = n, d
		}
	}
	return best
}

// Distance returns the edit distance of two texts in bytes, in which two swapped neighbours count once (optimal string
// alignment). Texts longer than 64 bytes count as different.
func Distance(a, b string) int {
	const longest = 64
	if len(a) > longest || len(b) > longest {
		return longest
	}
	d := make([][]int, len(a)+1)
	for i := range d {
		d[i] = make([]int, len(b)+1)
		d[i][0] = i
	}
	for j := range d[0] {
		d[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			d[i][j] = min(d[i-1][j]+1, d[i][j-1]+1, d[i-1][j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				d[i][j] = min(d[i][j], d[i-2][j-2]+1)
			}
		}
	}
	return d[len(a)][len(b)]
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
