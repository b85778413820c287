// Package words helps to write messages: the nearest known name to a caller's input, and text and addresses that are
// safe to print or to store in a table.
// It is below the domain and the wire types, which both need it and must not import each other.
package words

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Nearest returns the name of which got is a misspelling, see Misspells, or that begins or ends with it; "" if there is
// none. If there are several, it returns the one with the fewest edits, and among those the shortest, and the first in
// alphabetical order.
func Nearest(got string, names []string) string {
	// shortest is the fewest letters of a name that stand for the whole: two letters begin too many names.
	const shortest = 3
	low := strings.ToLower(got)
	best, fewest := "", maxEdits+1
	for _, n := range names {
		d := edits(bare(got), bare(n))
		name := strings.ToLower(n)
		if len(got) >= shortest && (strings.HasPrefix(name, low) || strings.HasSuffix(name, low)) {
			d = min(d, maxEdits)
		}
		nearer := cmp.Or(cmp.Compare(d, fewest), cmp.Compare(len(n), len(best)), cmp.Compare(n, best))
		if d <= maxEdits && (best == "" || nearer < 0) {
			best, fewest = n, d
		}
	}
	return best
}

// Misspells reports whether got is name in another case, without its separators or with others, or with few wrong
// letters: one in a name of up to 7 letters, two in a longer one, none in one of up to 2.
func Misspells(got, name string) bool { return edits(bare(got), bare(name)) <= maxEdits }

// maxEdits is the most edits by which a misspelling differs from a name.
const maxEdits = 2

// separators are removed from names that are compared. Making the replacer takes longer than using it.
var separators = strings.NewReplacer("_", "", "-", "")

// bare returns a name in lower case without underscores and hyphens.
func bare(name string) string { return strings.ToLower(separators.Replace(name)) }

// edits returns the edit distance of two bare names if one is a misspelling of the other, else maxEdits+1.
func edits(a, b string) int {
	longer, most := max(len(a), len(b)), maxEdits
	if longer < 8 {
		most = 1
	}
	if longer < 3 {
		most = 0
	}
	if longer-min(len(a), len(b)) > most { // known without a comparison, which takes most of the time
		return maxEdits + 1
	}
	if d := Distance(a, b); d <= most {
		return d
	}
	return maxEdits + 1
}

// Distance returns the edit distance of two texts in bytes, in which two swapped neighbours count once (optimal string
// alignment). Texts longer than 64 bytes count as different.
func Distance(a, b string) int {
	const longest = 64
	if len(a) > longest || len(b) > longest {
		return longest
	}
	// Three rows of the table are enough; they are no slices, since a caller may compare thousands of names.
	var before, last, row [longest + 1]int
	for j := range len(b) + 1 {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last = last, row
	}
	return last[len(b)]
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

// Address returns a URL for a message or a log: the scheme, the host, the path and the names of the parameters, which
// have … for their values. A user, a password and a fragment are left out. Text that cannot be read as a URL is
// «(not shown)»: any part of it may be a secret.
func Address(text string) string {
	const hidden = "(not shown)"
	u, err := url.Parse(text)
	if err != nil && !strings.Contains(text, "/") {
		u, err = url.Parse("//" + text) // such as 127.0.0.1:8000, without a scheme
	}
	// An @ in a path can be that of a password with a slash, and what follows an unknown scheme a password too.
	if err != nil || strings.Contains(u.Path, "@") || u.Opaque != "" && u.Scheme != "sqlite" && u.Scheme != "dir" {
		return hidden
	}
	out, rest := u.Host+u.Opaque+u.Path, text
	if u.Scheme != "" {
		rest = text[len(u.Scheme)+1:]
	}
	if strings.HasPrefix(rest, "//") {
		out = "//" + out
	}
	if u.Scheme != "" {
		out = u.Scheme + ":" + out
	}
	mark := "?"
	for pair := range strings.SplitSeq(u.RawQuery, "&") {
		name, _, named := strings.Cut(pair, "=")
		switch {
		case pair == "":
			continue
		case named:
			out += mark + name + "=…"
		default:
			out += mark + "…"
		}
		mark = "&"
	}
	return out
}

// WithoutAddress returns the cause of an error of net/http or net/url, whose text quotes the address; other errors
// unchanged.
func WithoutAddress(err error) error {
	var e *url.Error
	if errors.As(err, &e) {
		return e.Err
	}
	return err
}

// Slug returns a name for a file or folder that is valid on every system: at most that many letters, digits, hyphens
// and underscores of s, with a hyphen for each run of others. It is empty if none remain.
func Slug(s string, most int) string {
	out := []byte{}
	for i := range len(s) {
		c := s[i]
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '_':
			out = append(out, c)
		case len(out) > 0 && out[len(out)-1] != '-':
			out = append(out, '-')
		}
	}
	return strings.Trim(string(out[:min(len(out), most)]), "-")
}

// FileName is Slug with the letters and digits of every script, for a file that a person saves: at most that many
// characters, of at most 200 bytes in all.
func FileName(s string, most int) string {
	const mostBytes = 200
	var out strings.Builder
	n, gap := 0, false
	for _, c := range s {
		if c == utf8.RuneError || c != '_' && !unicode.In(c, unicode.L, unicode.M, unicode.N) {
			gap = n > 0
			continue
		}
		if gap {
			n++
		}
		if n++; n > most || out.Len()+utf8.RuneLen(c)+1 > mostBytes {
			break
		}
		if gap {
			out.WriteByte('-')
		}
		out.WriteRune(c)
		gap = false
	}
	return out.String()
}

// Cell returns a text as a cell of a CSV file. An apostrophe stands before what a spreadsheet would take for a formula
// (OWASP, «CSV Injection»): at the start, and behind what it may take for the end of a cell, such as the semicolon in
// much of Europe, whatever quotes there are: one behind the end of a cell opens the next, which then begins behind it.
func Cell(text string) string {
	const begins, ends = "=+-@\t\r\n", ";\t\r\n"
	if !strings.ContainsAny(text, begins) {
		return text
	}
	var out strings.Builder
	atStart := true
	for i := range len(text) {
		if atStart && strings.IndexByte(begins, text[i]) >= 0 {
			out.WriteByte('\'')
		}
		out.WriteByte(text[i])
		atStart = strings.IndexByte(ends, text[i]) >= 0 || atStart && text[i] == '"'
	}
	return out.String()
}

// Unique makes names differ from one another. The zero value is of no use; make it with Unique{}.
type Unique map[string]int // name → how often it was asked for

// Name returns a name that was not returned before: s, shortened to most characters, or with a number behind it.
func (u Unique) Name(s string, most int) string {
	s = Shorten(s, most)
	for {
		u[s]++
		if u[s] == 1 {
			return s
		}
		suffix := "-" + strconv.Itoa(u[s])
		if name := Shorten(s, most-len(suffix)) + suffix; u[name] == 0 {
			u[name] = 1
			return name
		}
	}
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

// Join lists names in a sentence: A, B and C. It shows at most n and says how many more there are.
func Join(names []string, n int) string {
	if len(names) > n {
		return strings.Join(names[:n], ", ") + fmt.Sprintf(" and %d more", len(names)-n)
	}
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
}

// Plural returns the noun for a number of things.
func Plural(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

// Quantity writes a number and its noun: 1 chain, 3 chains.
func Quantity(n int, one, many string) string { return fmt.Sprintf("%d %s", n, Plural(n, one, many)) }

// LetterName returns name n, from 0, of the series A to Z, AA, AB and so on.
func LetterName(n int) string {
	s := ""
	for n++; n > 0; n = (n - 1) / 26 {
		s = string(rune('A'+(n-1)%26)) + s
	}
	return s
}
