package analyst

import (
	"strconv"
	"strings"
)

// Figures in a question that are not residues.

var spoken = map[string]int{
	"one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10, "eleven": 11,
	"twelve": 12, "fifteen": 15, "twenty": 20, "thirty": 30, "fifty": 50, "hundred": 100,
}

// figure reads a whole number, in figures or (small ones) in words.
func figure(w word) (int, bool) {
	if n, ok := spoken[w.low]; ok {
		return n, true
	}
	if len(w.low) > 7 {
		return 0, false
	}
	n, err := strconv.Atoi(strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(w.low, "th"), "st"), "nd"), "rd"))
	return n, err == nil && w.low != "" && w.low[0] >= '0' && w.low[0] <= '9'
}

func decimalOf(w word) (float64, bool) {
	if w.low == "" || len(w.low) > 12 || w.low[0] < '0' || w.low[0] > '9' {
		return 0, false
	}
	v, err := strconv.ParseFloat(strings.TrimSuffix(strings.TrimSuffix(w.raw, "Å"), "A"), 64)
	return v, err == nil
}

var (
	belowWords = set("below under beneath")
	aboveWords = set("above over exceeding beyond")
	lessWords  = set("less lower fewer smaller worse closer nearer")
	moreWords  = set("greater more higher larger better least")
	upWords    = set("more above higher greater better")
	downWords  = set("less below lower worse")
)

// number reads figures that are not residues: a radius (within 5 Å), a pH, a threshold (below 70).
func (r *reader) number() bool {
	w := r.peek(0)
	if v, ok := map[string]float64{"neutral": 7, "physiological": 7.4}[w.low]; ok && r.peek(1).low == "ph" {
		r.add(item{concept: "@ph", value: v}, 2)
		return true
	}
	if w.low == "ph" {
		for n := 1; n <= 2; n++ {
			if v, ok := decimalOf(r.peek(n)); ok && (n == 1 || r.peek(1).low == "of" || r.peek(1).low == "value") {
				r.add(item{concept: "@ph", value: v}, n+1)
				return true
			}
		}
		return false
	}
	n, above := 0, false
	switch {
	case w.low == "within" || belowWords[w.low]:
		n = 1
	case aboveWords[w.low]:
		n, above = 1, true
	case (lessWords[w.low] || moreWords[w.low]) && r.peek(1).low == "than", w.low == "at" && (r.peek(1).low == "most" || r.peek(1).low == "least"):
		n, above = 2, moreWords[w.low] || r.peek(1).low == "least"
	}
	if n > 0 && r.peek(n).low == "a" {
		n++
	}
	if n > 0 {
		if v, ok := decimalOf(r.peek(n)); ok {
			r.bound(v, n, above, w.low == "within")
			return true
		}
	}
	if v, ok := decimalOf(w); ok && r.peek(1).low == "or" && r.said("confidence") { // 95 or more
		if up, down := upWords[r.peek(2).low], downWords[r.peek(2).low]; up || down {
			r.add(item{concept: "@threshold", value: v, above: up}, 3)
			return true
		}
	}
	if v, ok := decimalOf(w); ok { // a 5 Å shell, 4 angstrom radius
		if scale := unitScale(r.peek(1)); scale > 0 {
			r.add(item{concept: "@radius", value: v * scale}, 2)
			return true
		}
	}
	return false
}

// bound adds a radius where the figure has a unit of length, else a threshold.
func (r *reader) bound(v float64, n int, above, within bool) {
	scale := unitScale(r.peek(n + 1))
	raw := r.peek(n).raw
	switch {
	case scale > 0 && !above:
		r.add(item{concept: "@radius", value: v * scale}, n+2)
	case !above && strings.HasSuffix(raw, "Å") || within && strings.HasSuffix(raw, "A"):
		r.add(item{concept: "@radius", value: v}, n+1)
	case scale > 0 || within:
		r.add(item{concept: "?"}, n+1)
	default:
		r.add(item{concept: "@threshold", value: v, above: above}, n+1)
	}
}

// unitScale is Å per unit; 0: not a length.
func unitScale(w word) float64 {
	switch w.low {
	case "å", "angstrom", "angstroms", "ångström", "ångströms", "ångstroms", "ang":
		return 1
	case "nm", "nanometre", "nanometres", "nanometer", "nanometers":
		return 10
	}
	if w.raw == "A" {
		return 1
	}
	return 0
}
