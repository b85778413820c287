package analyst

import (
	"slices"
	"strconv"
	"strings"

	"pleat/internal/facts"
	"pleat/internal/structure"
)

// item is one thing that a question says: a concept of the vocabulary, or an entity, whose concept starts with @.
type item struct {
	concept string // ? for a word that is not known
	text    string // as written
	names   []string
	mention mention // @residue
	known   bool    // @chain, @ligand: the structure has it
	value   float64 // @radius, @ph, @limit, @nth (-1: the last)
	high    float64 // @limit: from value to high, where it is not 0
	above   bool    // @limit, @radius
}

// mention is a residue or a stretch of residues as a question names it.
type mention struct {
	chain  string // empty: not said
	lo, hi int    // numbers, unless first or half is set
	names  []string
	first  int // so many residues from the beginning of the chain or, if negative, from its end
	half   int // the first or second half of the chain
}

// isRange reports whether the mention is a range of two numbers.
func (m mention) isRange() bool { return m.first == 0 && m.half == 0 && m.lo != m.hi }

// single says whether the mention means one residue.
func (m mention) single() bool {
	return m.half == 0 && (m.first == 0 && m.lo == m.hi || m.first == 1 || m.first == -1)
}

// scanner turns the words of a sentence into items. It knows which chains, ligands and atoms the structure has.
type scanner struct {
	x                      *facts.Index
	chains, ligands, atoms map[string]bool
	lowest, highest        int  // numbers of polymer residues
	protein                bool // some chain is one
	words                  []word
	at                     int
	items                  []item
}

// newScanner makes a scanner for the names of one structure.
func newScanner(x *facts.Index) *scanner {
	s := &scanner{x: x, chains: map[string]bool{}, ligands: map[string]bool{}, atoms: map[string]bool{}}
	for k, p := range x.Polymers {
		s.chains[x.Structure.Chains[p.Chain].ID] = true
		for i := p.Lo; i < p.Hi; i++ {
			n := x.Sites[i].Ref.Number
			s.protein = s.protein || x.Sites[i].Kind == structure.Protein
			if k == 0 && i == p.Lo {
				s.lowest, s.highest = n, n
			}
			s.lowest, s.highest = min(s.lowest, n), max(s.highest, n)
		}
	}
	for i := range x.Sites {
		if !x.Sites[i].Kind.Polymer() {
			s.ligands[x.Sites[i].Ref.Name] = true
		}
	}
	for _, a := range x.Atoms {
		s.atoms[a.Name] = true
	}
	return s
}

// scan returns the items of one sentence, in order. At each word the longest reading wins: an entity with its numbers,
// then a phrase of the vocabulary, then a single word.
func (s *scanner) scan(words []word) []item {
	s.words, s.at, s.items = words, 0, nil
	for s.at < len(s.words) {
		if s.stretch() || s.confidenceBand() || residueNoun(s.peek(0), s.peek(1)) > 0 && s.residue() {
			continue
		}
		if c, n := vocabulary().lookup(s.words[s.at:], 2); n > 0 && !s.numbered(n) {
			s.concept(c, n)
			continue
		}
		if s.number() || s.residue() || s.chain() || s.letterNoun() || s.ligand() || s.atom() {
			continue
		}
		s.plain()
	}
	return s.items
}

// plain reads one word of the vocabulary, if need be with a typing error corrected.
func (s *scanner) plain() {
	v := vocabulary()
	w := s.peek(0)
	if c, n := v.lookup(s.words[s.at:], 1); n > 0 {
		s.concept(c, n)
	} else if fixed := v.correct(w.low); fixed != "" {
		s.concept(v.concept[fixed], 1)
		s.items = append(s.items, item{concept: "corrected", text: w.raw, names: []string{fixed}})
	} else if w.low == "," {
		s.add(item{concept: "&"}, 1)
	} else if w.low == "/" {
		s.add(item{concept: "or"}, 1)
	} else if w.low == "-" || w.low == ":" {
		s.at++
	} else {
		s.add(item{concept: "?"}, 1)
	}
}

// numbered says whether a name of n words is followed by a number, so that it names one residue.
func (s *scanner) numbered(n int) bool {
	_, ok := figure(s.peek(n))
	_, name := s.residueName(0)
	return ok && name == n
}

// concept adds a phrase of n words; names, classes and ligands of the vocabulary become entities.
func (s *scanner) concept(c string, n int) {
	kind, rest, entity := strings.Cut(c, " ")
	if kind == "strand" && n == 1 && strings.HasPrefix(s.peek(0).low, "strand") && !s.protein {
		kind = "chain" // of nucleic acid
	}
	it := item{concept: kind, names: strings.Fields(rest)}
	if entity && kind == "@nth" {
		v, _ := strconv.Atoi(rest)
		it.value = float64(v)
	}
	if kind == "@ligand" {
		s.ligandItem(rest, n)
		return
	}
	if kind == "@residue" { // the ends of a chain
		for k, value := range it.names {
			first, _ := strconv.Atoi(value)
			if k > 0 {
				s.items = append(s.items, item{concept: "&"})
			}
			s.add(item{concept: kind, mention: mention{first: first}}, n*(1-min(k, 1)))
		}
		return
	}
	if kind == "@limit" {
		v, _ := strconv.ParseFloat(it.names[0], 64)
		it.value, it.above = v, len(it.names) > 1
	}
	s.add(it, n)
}

// add appends an item of n words and moves on.
func (s *scanner) add(it item, n int) {
	n = min(n, len(s.words)-s.at)
	parts := make([]string, n)
	for i := range parts {
		parts[i] = s.words[s.at+i].raw
	}
	it.text = strings.Join(parts, " ")
	s.items = append(s.items, it)
	s.at += n
}

// peek returns the word n places from here; empty outside the sentence.
func (s *scanner) peek(n int) word {
	if i := s.at + n; i >= 0 && i < len(s.words) {
		return s.words[i]
	}
	return word{}
}

// before is the concept of the last item that carries a meaning.
func (s *scanner) before() string {
	for i := len(s.items) - 1; i >= 0; i-- {
		if c := s.items[i].concept; c != "filler" && c != "corrected" {
			return c
		}
	}
	return ""
}

// said says whether a concept was read before.
func (s *scanner) said(concept string) bool {
	return slices.ContainsFunc(s.items, func(it item) bool { return it.concept == concept })
}

// residueName reads the name of a residue at n words from here; count is its words, 0: none.
func (s *scanner) residueName(n int) (names []string, count int) {
	if s.at+n >= len(s.words) {
		return nil, 0
	}
	w, next := s.peek(n), s.peek(n+1)
	if c, count := vocabulary().lookup(s.words[s.at+n:min(s.at+n+2, len(s.words))], 1); count > 0 {
		if kind, codes, _ := strings.Cut(c, " "); kind == "@name" {
			return strings.Fields(codes), count
		}
	}
	if code := threeLetters(w, next); code != "" {
		return []string{code}, 1
	}
	if w.raw == strings.ToUpper(w.raw) && len(w.raw) == 2 && structure.Letter(structure.DNA,
		w.raw) != structure.Unknown {
		return []string{w.raw}, 1
	}
	return nil, 0
}

// threeLetters reads a three-letter code, with a plural s or without. Codes that are English words as well count only
// with a number or a capital.
func threeLetters(w, next word) string {
	for _, low := range [...]string{w.low, strings.TrimSuffix(w.low, "s")} {
		up := strings.ToUpper(low)
		if len(low) != 3 || structure.Letter(structure.Protein, up) == structure.Unknown {
			continue
		}
		_, numbered := figure(next)
		if oneOf(low, "his met pro ser val") && w.raw == w.low && !numbered && next.low != "-" {
			return ""
		}
		return up
	}
	return ""
}

// residueNoun returns how many words a noun such as residue, position or amino acid number has here.
func residueNoun(w, next word) int {
	switch {
	case oneOf(w.low, "residue residues position positions res number site sites nucleotide nucleotides base bases "+
		"aa resid resi"):
		return 1
	case w.low == "amino" && strings.HasPrefix(next.low, "acid"):
		return 2
	}
	return 0
}

// residue reads K8, Lys8, lysine 8, LYS A 8, residue 8, residues 3, 5 and 9-12, A:8, 8-12, and names without a number.
func (s *scanner) residue() bool {
	w := s.peek(0)
	if names, n := s.residueName(0); n > 0 {
		return s.named(names, n)
	}
	if names, number, rest := fused(w.raw); names != nil {
		return s.fusedResidue(names, number, rest)
	}
	if s.chains[w.raw] && s.peek(1).low == ":" {
		if n, names, ok := s.numberOrName(2); ok {
			s.add(item{concept: "@residue", mention: mention{chain: w.raw, lo: n, hi: n, names: names}}, 3)
			return true
		}
	}
	at := residueNoun(w, s.peek(1))
	for at > 0 && oneOf(s.peek(at).low, "number numbers no from between :") {
		at++
	}
	if at == 0 {
		return s.bareNumber()
	}
	if _, ok := figure(s.peek(at)); ok {
		return s.numbers(at)
	}
	return false
}

// bareNumber reads numbers that are residues only by what stands next to them: 8-12, between 19 and 26, residue 3 and
// 9.
func (s *scanner) bareNumber() bool {
	lo, ok := figure(s.peek(0))
	if !ok || s.unitAfter(0) {
		return false
	}
	if hi, ok := figure(s.peek(2)); ok && s.peek(-1).low == "between" && s.peek(1).low == "and" && !s.unitAfter(2) {
		if s.said("confidence") && !s.said("average") {
			s.add(item{concept: "@limit", value: float64(min(lo, hi)), high: float64(max(lo, hi))}, 3)
			return true
		}
		s.add(item{concept: "@residue", mention: mention{lo: min(lo, hi), hi: max(lo, hi)}}, 3)
		return true
	}
	if hi, n := s.rangeEnd(1); n > 0 && hi > 0 || s.peek(-1).low == "at" && s.said("what") {
		return s.numbers(0)
	}
	for i := len(s.items) - 1; i >= 0; i-- {
		switch s.items[i].concept {
		case "filler", "&", "or", "of", "between", "in", "residue":
			continue
		case "@residue":
			return s.numbers(0)
		}
		break
	}
	return false
}

// unitAfter says whether the word after position n is a unit, so that the number is no residue.
func (s *scanner) unitAfter(n int) bool {
	return unitScale(s.peek(n+1)) > 0 || s.peek(n+1).low == "percent"
}

// rangeEnd reads "- 12", "to 12" or "through 12" at n words from here: the number, and how many words.
func (s *scanner) rangeEnd(n int) (hi, words int) {
	if !oneOf(s.peek(n).low, "- to through thru until till :") {
		return 0, 0
	}
	at := n + 1
	at += residueNoun(s.peek(at), s.peek(at+1))
	if v, _, ok := s.numberOrName(at); ok {
		return v, at + 1 - n
	}
	return 0, 0
}

// numbers reads a list of numbers and ranges that starts at n words from here.
func (s *scanner) numbers(n int) bool {
	for {
		lo, ok := figure(s.peek(n))
		if !ok {
			return true
		}
		m := mention{lo: lo, hi: lo}
		n++
		if hi, words := s.rangeEnd(n); words > 0 {
			m.hi, n = hi, n+words
		} else if s.peek(n).low == "and" && (s.peek(n-2).low == "between" || s.peek(-1).low == "between") {
			if hi, ok := figure(s.peek(n + 1)); ok {
				m.hi, n = hi, n+2
			}
		}
		m.lo, m.hi = min(m.lo, m.hi), max(m.lo, m.hi)
		if next := s.peek(n).low; next == "onward" || next == "onwards" {
			m.hi, n = max(s.highest, m.lo+1), n+1
		}
		s.add(item{concept: "@residue", mention: m}, n)
		skip := 0
		for skip < 2 && oneOf(s.peek(skip).low, ", and or") {
			skip++
		}
		if _, ok := figure(s.peek(skip)); !ok || skip == 0 || s.unitAfter(skip) {
			return true
		}
		s.items = append(s.items, item{concept: "&"})
		n = skip
	}
}

// numberOrName reads 8, K8 or LYS8 at n words from here.
func (s *scanner) numberOrName(n int) (number int, names []string, ok bool) {
	if v, ok := figure(s.peek(n)); ok {
		return v, nil, true
	}
	names, number, rest := fused(s.peek(n).raw)
	return number, names, names != nil && rest == ""
}

// named reads what follows the name of a residue: its number, or nothing.
func (s *scanner) named(names []string, n int) bool {
	chain, at := "", n
	switch next := s.peek(at); {
	case s.chains[next.raw] && len(next.raw) <= 2: // LYS A 8
		if _, ok := figure(s.peek(at + 1)); ok {
			chain, at = next.raw, at+1
		}
	case oneOf(next.low, "residue number -"), next.low == "at" && s.peek(at+1).low != "least":
		for oneOf(s.peek(at).low, "residue number - at position") {
			at++
		}
	}
	number, ok := figure(s.peek(at))
	if !ok || s.unitAfter(at) {
		s.add(item{concept: "@name", names: names}, n)
		return true
	}
	if _, count := s.residueName(at + 1); count > 0 && s.peek(at+1).raw != s.peek(at+1).low {
		s.add(item{concept: "!mutation"}, at+1+count) // Lys 8 Ala
		return true
	}
	s.dropName(names)
	s.add(item{concept: "@residue", mention: mention{chain: chain, lo: number, hi: number, names: names}}, at+1)
	if hi, words := s.rangeEnd(0); words > 0 && hi > number && (s.peek(0).low != "to" || !s.said("distance")) {
		s.items[len(s.items)-1].mention = mention{chain: chain, lo: number, hi: hi}
		s.at += words
	}
	return true
}

// fused splits K8, Lys8, DG3 and K8A into names, number and what follows.
func fused(raw string) (names []string, number int, rest string) {
	i := 0
	for i < len(raw) && (raw[i]|32) >= 'a' && (raw[i]|32) <= 'z' {
		i++
	}
	j := i
	for j < len(raw) && raw[j] >= '0' && raw[j] <= '9' {
		j++
	}
	if i == 0 || j == i || j-i > 6 {
		return nil, 0, ""
	}
	number, err := strconv.Atoi(raw[i:j])
	if err != nil {
		return nil, 0, ""
	}
	up := strings.ToUpper(raw[:i])
	if i == 1 {
		return oneLetter(up[0]), number, raw[j:]
	}
	s := scanner{words: []word{{up, strings.ToLower(up)}, {"1", "1"}}}
	if full, n := s.residueName(0); n == 1 {
		return full, number, raw[j:]
	}
	return nil, number, raw[j:]
}

// oneLetter returns the component codes that a one-letter code can mean in proteins, RNA and DNA.
func oneLetter(letter byte) (names []string) {
	for _, k := range [...]structure.Kind{structure.Protein, structure.RNA, structure.DNA} {
		name, ok := structure.Component(k, letter)
		if ok && (k == structure.RNA || !strings.ContainsRune("BZXOU", rune(letter))) {
			names = append(names, name)
		}
	}
	return names
}

// fusedResidue reads a name and number in one word; what follows the number can make it a mutation.
func (s *scanner) fusedResidue(names []string, number int, rest string) bool {
	if rest != "" {
		if other, _, _ := fused(rest + "1"); other == nil {
			return false
		}
		s.add(item{concept: "!mutation"}, 1)
		return true
	}
	w := s.peek(0)
	if (s.atoms[w.raw] || strings.HasSuffix(w.raw, "'")) && !s.exists(names, number) {
		return false // the name of an atom: C8
	}
	if s.peek(1).low == "mutation" || s.peek(1).low == "to" && len(s.peek(2).raw) == 3 {
		if _, n := s.residueName(2); n > 0 {
			s.add(item{concept: "!mutation"}, 3)
			return true
		}
	}
	m, n := mention{lo: number, hi: number, names: names}, 1
	if oneOf(s.peek(1).low, "- to through") && !(s.peek(1).low == "to" && s.said("distance")) {
		if hi, _, ok := s.numberOrName(2); ok && hi > number {
			m, n = mention{lo: number, hi: hi}, 3
		}
	}
	s.dropName(names)
	s.add(item{concept: "@residue", mention: m}, n)
	return true
}

// dropName removes the same name said just before: the methionine M1.
func (s *scanner) dropName(names []string) {
	k := len(s.items) - 1
	if k >= 0 && s.items[k].concept == "@name" && slices.Contains(names, s.items[k].names[0]) {
		s.items = s.items[:k]
	}
}

// exists says whether a polymer has a residue of this name and number.
func (s *scanner) exists(names []string, number int) bool {
	return slices.ContainsFunc(s.x.Sites, func(r facts.Site) bool {
		return r.Kind.Polymer() && r.Ref.Number == number && slices.Contains(names, r.Ref.Name)
	})
}
