package design

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"pleat"
	"pleat/internal/yamltree"
)

// residues is a selection of residues of one chain, which count from 1.
type residues struct {
	text  string // canonical: all, or numbers and ranges joined by commas
	spans spans
	all   bool
}

// maxSpans is the most parts of a selection.
const maxSpans = 2000

// span matches a number, or a range of which an end may be open.
var span = regexp.MustCompile(`^(?:([0-9]{1,9})|([0-9]{0,9})\.\.([0-9]{0,9}))$`)

// authorSpan matches residues that are named as the authors of a structure do: 52A, H52A, -3..5.
var authorSpan = regexp.MustCompile(`^(?:[A-Za-z]{0,4}-?[0-9]{1,6}[A-Za-z]?(?:\.\.|$)){1,2}$`)

func isAuthorNumber(text string) bool { return authorSpan.MatchString(text) && !span.MatchString(text) }

// byPosition returns the error for a residue that goes by the number of the authors.
func byPosition(n yamltree.Node, residue string) error {
	return n.Fault(" names %q; the engine counts the residues of a chain from 1 along its sequence (label_seq_id), "+
		"without signs, letters and insertion codes", pleat.Clip(residue))
}

// readResidues reads a selection: all, or 5, 3..9, ..9 and 5.., joined by commas. The argument what names the chain,
// which has that many residues. The engine ignores parts with a space in front, so the canonical text has none.
func readResidues(n yamltree.Node, what string, length int) (residues, error) {
	text, err := n.Text()
	if err != nil {
		return residues{}, err
	}
	text = strings.TrimSpace(text)
	if text == "all" {
		return residues{text: text, all: true, spans: spans{{1, length}}}, nil
	}
	parts := strings.Split(text, ",")
	if len(parts) > maxSpans {
		return residues{}, n.Fault(" has %d parts; at most %d are allowed", len(parts), maxSpans)
	}
	var out residues
	var texts []string
	for _, part := range parts {
		m := span.FindStringSubmatch(strings.TrimSpace(part))
		if m == nil && isAuthorNumber(strings.TrimSpace(part)) {
			return out, byPosition(n, strings.TrimSpace(part))
		}
		if m == nil || m[1] == "" && m[2] == "" && m[3] == "" {
			return out, n.Wrong("residues such as 5, 3..9, ..9 or 5.., joined by commas, or all")
		}
		from, to, canonical := matchedSpan(m, length)
		switch {
		case from < 1 || from > length:
			return out, outside(n, what, from, length)
		case m[3] != "" && from > to:
			return out, n.Fault(" has the range %d..%d; it must ascend, such as 3..9", from, to)
		case to < 1 || to > length:
			return out, outside(n, what, to, length)
		}
		out.spans = append(out.spans, [2]int{from, to})
		texts = append(texts, canonical)
	}
	out.text = strings.Join(texts, ",")
	return out, nil
}

// matchedSpan returns the first and the last residue of a part that span has matched, and its canonical text.
func matchedSpan(m []string, length int) (from, to int, canonical string) {
	if m[1] != "" {
		from, _ = strconv.Atoi(m[1]) // at most nine digits
		return from, from, strconv.Itoa(from)
	}
	from, to = 1, length
	if m[2] != "" {
		from, _ = strconv.Atoi(m[2])
	}
	canonical = strconv.Itoa(from) + ".."
	if m[3] != "" {
		to, _ = strconv.Atoi(m[3])
		canonical += strconv.Itoa(to)
	}
	return from, to, canonical
}

// outside returns the error for a residue that a chain does not have.
func outside(n yamltree.Node, what string, residue, length int) error {
	return n.Fault(" names residue %d; %s has 1 to %d", residue, pleat.Clip(what), length)
}

// value returns the selection as JSON: a number if it is one.
func (r residues) value() any {
	if n, err := strconv.Atoi(r.text); err == nil {
		return n
	}
	return r.text
}

// spans are residues of a chain: pairs of the first and the last one.
type spans [][2]int

// merged returns the same residues as spans in order that neither overlap nor touch.
func (s spans) merged() spans {
	sorted := slices.SortedFunc(slices.Values(s), func(a, b [2]int) int { return cmp.Compare(a[0], b[0]) })
	var out spans
	for _, v := range sorted {
		if k := len(out) - 1; k >= 0 && v[0] <= out[k][1]+1 {
			out[k][1] = max(out[k][1], v[1])
		} else {
			out = append(out, v)
		}
	}
	return out
}

// without returns the residues of s that o lacks, merged.
func (s spans) without(o spans) spans {
	var out spans
	cuts := o.merged()
	for _, v := range s.merged() {
		for len(cuts) > 0 && cuts[0][1] < v[0] {
			cuts = cuts[1:]
		}
		from := v[0]
		for _, c := range cuts {
			if c[0] > v[1] {
				break
			}
			if c[0] > from {
				out = append(out, [2]int{from, c[0] - 1})
			}
			from = max(from, c[1]+1)
		}
		if from <= v[1] {
			out = append(out, [2]int{from, v[1]})
		}
	}
	return out
}

// size returns the number of residues of merged spans.
func (s spans) size() int {
	n := 0
	for _, v := range s {
		n += v[1] - v[0] + 1
	}
	return n
}
