package analyst

import (
	"slices"
	"strings"
)

// letterNoun reads a one-letter code as the noun of a question: which K are buried, how many G. A and I are words.
func (s *scanner) letterNoun() bool {
	w := s.peek(0)
	if len(w.raw) != 1 || !strings.Contains("CDEFGHKLMNPQRSTVWY", w.raw) || s.at == 0 || len(s.items) == 0 ||
		!oneOf(s.items[len(s.items)-1].concept, "which howmany") {
		return false
	}
	s.add(item{concept: "@name", names: oneLetter(w.raw[0])}, 1)
	return true
}

// stretch reads what names a part of a chain without two numbers: the first 20 residues, the second half, after residue
// 16.
func (s *scanner) stretch() bool { return s.chainEnd() || s.oneSide() }

// chainEnd reads the first 20 residues, the last ten, the C-terminal 5 amino acids, the second half of the chain.
func (s *scanner) chainEnd() bool {
	w, next := s.peek(0).low, s.peek(1).low
	n, sign := 1, 0
	switch {
	case oneOf(w, "first initial opening leading"):
		sign = 1
	case oneOf(w, "last final closing trailing"):
		sign = -1
	case oneOf(w, "n amino") && oneOf(next, "terminal term"):
		n, sign = 2, 1
	case oneOf(w, "c carboxy carboxyl") && oneOf(next, "terminal term"):
		n, sign = 2, -1
	}
	if s.peek(n).low == "half" && (sign != 0 || w == "second") {
		half := 2
		if sign > 0 {
			half = 1
		}
		s.add(item{concept: "@residue", mention: mention{half: half}}, n+1)
		return true
	}
	k, ok := quantity(s.peek(n))
	if !ok || sign == 0 || k <= 0 {
		return false
	}
	after := s.peek(n + 1)
	noun := residueNoun(after, s.peek(n+2))
	if c, m := vocabulary().lookup(s.words[min(s.at+n+1, len(s.words)):], 1); noun == 0 && after.low != "" &&
		after.low != "," &&
		!(m > 0 && oneOf(c, "ask in of &")) {
		return false // the first two helices
	}
	s.add(item{concept: "@residue", mention: mention{first: sign * k}}, n+1+noun)
	return true
}

// oneSide reads after residue 16, before K48, up to position 30, positions above 40: all numbers on one side.
func (s *scanner) oneSide() bool {
	w, next := s.peek(0).low, s.peek(1).low
	after, before, upTo, n := oneOf(w, "after past following"), oneOf(w, "before preceding"), false, 1
	switch {
	case w == "downstream" && next == "of":
		after, n = true, 2
	case w == "upstream" && next == "of", w == "prior" && next == "to":
		before, n = true, 2
	case w == "up" && next == "to":
		upTo, n = true, 2
	}
	announced := false
	for residueNoun(s.peek(n), word{}) > 0 {
		announced, n = true, n+1
	}
	if oneOf(w, "beyond above over below under") { // positions above 40; beyond residue 40
		announced = announced || residueNoun(s.peek(-1), word{}) > 0
		after, before = announced && oneOf(w, "beyond above over"), announced && oneOf(w, "below under")
	}
	at, _, ok := s.numberOrName(n)
	if !ok || !after && !before && !upTo || s.unitAfter(n) {
		return false
	}
	m := mention{lo: min(s.lowest, at), hi: at}
	switch {
	case after:
		m = mention{lo: at + 1, hi: max(s.highest, at+1)}
	case before:
		m = mention{lo: min(s.lowest, at-1), hi: at - 1}
	}
	s.add(item{concept: "@residue", mention: m}, n+1)
	return true
}

// number reads what is not a residue: a radius (within 5 Å), a pH, a limit (below 70, between 50 and 70, 95 or more).
func (s *scanner) number() bool {
	w := s.peek(0)
	if oneOf(w.low, "neutral physiological") && s.peek(1).low == "ph" {
		s.add(item{concept: "@ph", value: map[string]float64{"neutral": 7, "physiological": 7.4}[w.low]}, 2)
		return true
	}
	if w.low == "ph" {
		n := 1
		if oneOf(s.peek(1).low, "of value is equals") {
			n = 2
		}
		v, ok := decimal(s.peek(n))
		if ok {
			s.add(item{concept: "@ph", value: v}, n+1)
		}
		return ok
	}
	if n, above := s.comparator(); n > 0 {
		if v, ok := decimal(s.peek(n)); ok {
			s.bound(v, n, above)
			return true
		}
	}
	v, ok := decimal(w)
	if !ok {
		return false
	}
	if s.peek(1).low == "or" && oneOf(s.peek(2).low, "more above higher greater better less below lower worse fewer") {
		s.add(item{concept: "@limit", value: v, above: !oneOf(s.peek(2).low, "less below lower worse fewer")}, 3)
		return true
	}
	if scale := unitScale(s.peek(1)); scale > 0 { // a 5 Å shell
		s.add(item{concept: "@radius", value: v * scale}, 2)
		return true
	}
	if strings.HasSuffix(w.raw, "Å") {
		s.add(item{concept: "@radius", value: v}, 1)
		return true
	}
	return false
}

// confidenceBand reads low confidence, very low pLDDT and very high confidence, by the bands of pLDDT.
func (s *scanner) confidenceBand() bool {
	n, value, above := 1, 70.0, false
	switch w, next := s.peek(0).low, s.peek(1).low; {
	case w == "very" && next == "low":
		n, value = 2, 50
	case w == "very" && next == "high":
		n, value, above = 2, 90, true
	case w != "low":
		return false
	}
	if !oneOf(s.peek(n).low, "confidence plddt") || oneOf(s.peek(n+1).low, "score scores below under") {
		return false
	}
	s.add(item{concept: "@limit", value: value, above: above}, n+1)
	return true
}

// comparator reads within, below, more than, at least and the like: how many words, and whether it means more.
func (s *scanner) comparator() (n int, above bool) {
	w, next := s.peek(0).low, s.peek(1).low
	switch {
	case oneOf(w, "within below under beneath"):
		n = 1
	case oneOf(w, "above over exceeding beyond"):
		n, above = 1, true
	case next == "than" && oneOf(w, "less lower fewer smaller worse closer nearer"):
		n = 2
	case next == "than" && oneOf(w, "greater more higher larger better farther further"):
		n, above = 2, true
	case w == "at" && oneOf(next, "most least"):
		n, above = 2, next == "least"
	}
	for n > 0 && oneOf(s.peek(n).low, "a an about around plddt confidence of") {
		n++
	}
	return n, above
}

// bound adds a radius where the number has a unit of length, else a limit. After "within" a number needs its unit.
func (s *scanner) bound(v float64, n int, above bool) {
	scale, raw := unitScale(s.peek(n+1)), s.peek(n).raw
	within := s.peek(0).low == "within"
	switch {
	case scale > 0:
		s.add(item{concept: "@radius", value: v * scale, above: above}, n+2)
	case strings.HasSuffix(raw, "Å"), within && strings.HasSuffix(raw, "A"):
		s.add(item{concept: "@radius", value: v, above: above}, n+1)
	case within || s.peek(n+1).low == "percent":
		s.add(item{concept: "?"}, n+1)
	default:
		s.add(item{concept: "@limit", value: v, above: above}, n+1)
	}
}

// chain reads chain A, chains A, B and C, the B chain, and a bare A where only a chain can be meant.
func (s *scanner) chain() bool {
	w := s.peek(0)
	if !chainNoun(w) {
		return s.bareChain()
	}
	id := s.chainName(s.peek(1), true)
	if id == "" {
		return false
	}
	if _, n := vocabulary().lookup(s.words[s.at+1:], 2); n > 0 && !s.chains[id] {
		return false // the chain's N terminus
	}
	s.at++
	for {
		id := s.chainName(s.peek(0), true)
		s.add(item{concept: "@chain", names: []string{id}, known: s.chains[id]}, 1)
		n := 0
		for n < 2 && oneOf(s.peek(n).low, ", and - / or to with") {
			n++
		}
		if n == 0 || s.chainName(s.peek(n), false) == "" || s.peek(n).raw == "A" && s.peek(n+1).low != "" && n == 1 &&
			s.peek(0).low == "with" {
			return true
		}
		if oneOf(s.peek(0).low, "and or ,") {
			s.items = append(s.items, item{concept: "&"})
		}
		s.at += n
	}
}

func chainNoun(w word) bool { return oneOf(w.low, "chain chains subunit subunits protomer protomers") }

// bareChain reads the name of a chain without the word chain.
func (s *scanner) bareChain() bool {
	id := s.chainName(s.peek(0), false)
	if id == "" {
		return false
	}
	before, after := s.peek(-1).low, s.peek(1)
	if s.at == 0 && !oneOf(after.low, "and - /") && !chainNoun(after) {
		return false
	}
	bare := len(id) == 1 && id != "I" && before != "" && (id != "A" || before != "is")
	if bare || chainNoun(after) || s.before() == "@residue" {
		s.add(item{concept: "@chain", names: []string{id}, known: true}, 1)
		if chainNoun(s.peek(0)) {
			s.at++
		}
		return true
	}
	return false
}

// chainName is the chain that a word names, as the structure writes it; empty: none. After the word chain an unknown
// name is one, too.
func (s *scanner) chainName(w word, announced bool) string {
	if s.chains[w.raw] {
		return w.raw
	}
	if !announced || w.raw == "" {
		return ""
	}
	up := strings.ToUpper(w.raw)
	if s.chains[up] && len(w.raw) == 1 {
		return up
	}
	_, known := vocabulary().concept[w.low]
	_, number := figure(w)
	letter := w.raw[0] >= 'A' && w.raw[0] <= 'Z' || w.raw[0] >= 'a' && w.raw[0] <= 'z'
	if letter && (len(w.raw) == 1 || len(w.raw) <= 4 && w.raw == up && !number) && (!known || w.raw == up &&
		up != "A") {
		return up
	}
	return ""
}

// ligand reads the code of a ligand of the structure, with its number where one follows.
func (s *scanner) ligand() bool {
	w := s.peek(0)
	up := strings.ToUpper(w.raw)
	_, known := vocabulary().concept[w.low]
	code := ""
	switch {
	case s.ligands[w.raw] && (len(w.raw) > 1 || s.peek(1).low == "ion"):
		code = w.raw
	case s.ligands[up] && len(up) >= 3 && !known:
		code = up
	default: // Zn202
		i := strings.IndexAny(up, "0123456789")
		if i < 2 || !s.ligands[up[:i]] || s.ligands[up] {
			return false
		}
		s.ligandItem(up[:i], 1)
		return true
	}
	if s.atoms[w.raw] && (s.peek(1).low == "of" || strings.HasPrefix(s.peek(1).low, "atom")) {
		return false // CA of residue 3
	}
	s.ligandItem(code, 1)
	return true
}

// ligandItem adds a ligand of n words, with the chain and number after it.
func (s *scanner) ligandItem(code string, n int) {
	if code == "FE" && !s.ligands["FE"] && s.ligands["FE2"] {
		code = "FE2"
	}
	at := n
	if s.chains[s.peek(at).raw] {
		at++
	}
	if _, ok := figure(s.peek(at)); ok && !s.unitAfter(at) {
		n = at + 1
	}
	s.add(item{concept: "@ligand", names: []string{code}, known: s.ligands[code]}, n)
}

// atom reads the name of an atom, which is in capitals and longer than one letter unless the word atom follows.
func (s *scanner) atom() bool {
	w := s.peek(0)
	pair := w.low + " " + strings.TrimSuffix(s.peek(1).low, "s")
	for i, greek := range [...]string{"alpha", "beta"} {
		if slices.Contains([]string{greek + " carbon", "c " + greek}, pair) {
			s.add(item{concept: "@atom", names: []string{[...]string{"CA", "CB"}[i]}}, 2)
			return true
		}
	}
	up := strings.ToUpper(w.raw)
	if oneOf(w.low, "ca cas calpha calphas") {
		up = "CA"
	}
	if !s.atoms[up] || w.raw == w.low && up != "CA" && up != "CB" || len(up) == 1 && s.peek(1).low != "atom" {
		return false
	}
	s.add(item{concept: "@atom", names: []string{up}}, 1)
	return true
}
