package api

import "strings"

// The three functions below have twins in the root package, which this one may not import.

// nearest is the name most like got, or "" where none is near enough to be worth suggesting.
func nearest(got string, names []string) string {
	got = strings.ToLower(got)
	best, at := "", max(3, len(got)/2+1)
	for _, n := range names {
		low := strings.ToLower(n)
		dist := distance(got, low)
		if got != "" && (strings.HasPrefix(low, got) || strings.HasSuffix(low, got)) {
			dist = min(dist, 2)
		}
		if dist < at {
			best, at = n, dist
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

// clip makes a caller's text short and printable, for a sentence or a log line.
func clip(s string) string {
	const most = 60
	var out []rune
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

// and joins words for a sentence.
func and(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " and " + words[last]
}
