package analyst

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"pleat/internal/facts"
	"pleat/internal/structure"
)

// scanner turns the words of a sentence into items. It knows which chains, ligands and atoms the structure has.
type scanner struct {
	chains, ligands, atoms map[string]bool
	words                  []string // that are left
	last                   string   // the one before
	items                  []item
}

func newScanner(x *facts.Index) *scanner {
	s := &scanner{chains: map[string]bool{}, ligands: map[string]bool{}, atoms: map[string]bool{}}
	for _, site := range x.Sites {
		if site.Kind.Polymer() {
			s.chains[site.Ref.Chain] = true
		} else {
			s.ligands[site.Ref.Name] = true
		}
	}
	for _, a := range x.Atoms {
		s.atoms[a.Name] = true
	}
	return s
}

// scan is the first step from words to meaning: it knows names, and no grammar. At each word the first rule that fits
// wins, then the longest phrase of the vocabulary, then names that the structure has.
func (s *scanner) scan(words []string) []item {
	s.words, s.last, s.items = words, "", nil
	for len(s.words) > 0 {
		switch concept, n := vocabulary().lookup(s.words); {
		case s.rule():
		case n > 1:
			s.phrase(concept, n)
		case s.single():
		case n == 1:
			s.phrase(concept, 1)
		case s.words[0] == "-" || s.words[0] == ":":
			s.add(1)
		default:
			s.add(1, item{concept: "?"})
		}
	}
	return withChains(s.items)
}

// withChains adds to residues the chain that follows them: Lys6 of chain B; residues 5, 8 and 9 in chain A.
func withChains(items []item) (out []item) {
	for _, it := range items {
		k := len(out) - 1
		for k >= 0 && out[k].is("of in filler") {
			k--
		}
		if it.concept != "@chain" || k < 0 || out[k].concept != "@residue" || out[k].mention.chain != "" {
			out = append(out, it)
			continue
		}
		out = out[:k+1]
		for ; k >= 0 && out[k].is("@residue & or filler"); k-- {
			out[k].mention.chain = cmp.Or(out[k].mention.chain, it.names[0])
		}
	}
	return out
}

// rule applies the first rule that fits. A number with a unit after it is nothing that these read.
func (s *scanner) rule() bool {
	text := strings.Join(facts.Head(s.words, 10), " ") + " "
	for _, r := range vocabulary().rules {
		m := r.pattern.FindStringSubmatch(text)
		if m == nil || vocabulary().matches("isUnit", text[len(m[0]):]) {
			continue
		}
		if items := s.read(r.name, m); items != nil {
			s.add(wordsIn(m), items...)
			return true
		}
	}
	return false
}

// read makes the items of a rule from what its pattern matched. It returns nil where that means something else, and may
// shorten m[0], which is what the scanner passes over.
func (s *scanner) read(rule string, m []string) []item {
	switch rule {
	case "mutation":
		if letterNames(m[1]) == nil || letterNames(m[3]) == nil || isNumber(s.peek(wordsIn(m))) {
			return nil
		}
		return []item{{concept: "!mutation"}}
	case "chain end":
		return s.chainEnd(m)
	case "@ph", "@radius", "@limit": // one group is the number, and another may say that it is the least
		it := item{concept: rule}
		for _, group := range m[1:] {
			it.value = max(it.value, decimal(group))
			it.above = it.above || vocabulary().matches("isMore", group+" ")
		}
		return []item{it}
	case "band":
		if a, b := decimal(m[1]), decimal(m[2]); s.has("confidence") && !s.has("average") {
			return []item{{concept: "@limit", value: min(a, b), above: true}, {concept: "@limit", value: max(a, b)}}
		}
		return residueItem(nil, m[1], m[2])
	case "named residue":
		return s.namedResidue(m)
	case "numbers":
		return residueItem(nil, m[1], m[2])
	case "bare number":
		return s.bareNumber(m)
	}
	return s.announcedChain(m)
}

func wordsIn(m []string) int { return strings.Count(m[0], " ") }

func (s *scanner) add(n int, items ...item) {
	n = min(n, len(s.words))
	for _, it := range items {
		it.text = strings.Join(s.words[:n], " ")
		s.items = append(s.items, it)
	}
	s.last, s.words = s.words[n-1], s.words[n:]
}

// peek returns the word n places from here; empty after the sentence.
func (s *scanner) peek(n int) string {
	if n < len(s.words) {
		return s.words[n]
	}
	return ""
}

func (s *scanner) has(concept string) bool {
	return slices.ContainsFunc(s.items, func(it item) bool { return it.concept == concept })
}

// phrase adds a phrase of n words; names, classes, ligands and ends of chains in the vocabulary become entities.
func (s *scanner) phrase(concept string, n int) {
	kind, rest, _ := strings.Cut(concept, " ")
	it := item{concept: kind, names: strings.Fields(rest)}
	switch kind {
	case "@nth", "@limit", "@ph":
		it.value, it.above = decimal(it.names[0]), len(it.names) > 1
	case "@ligand":
		s.ligand(rest, n)
		return
	case "@residue":
		var ends []item
		for _, value := range it.names {
			ends = append(ends, item{concept: "&"}, item{concept: kind, mention: mention{first: int(decimal(value))}})
		}
		s.add(n, ends[1:]...)
		return
	}
	s.add(n, it)
}

// letterNames returns the component codes of residues that a word names: a word of the vocabulary, a code of three
// letters or of a nucleotide, or the one-letter codes of proteins, RNA and DNA; nil where it names none.
func letterNames(word string) (codes []string) {
	up := strings.ToUpper(word)
	if names, ok := strings.CutPrefix(vocabulary().find(word), "@name "); ok {
		return strings.Fields(names)
	}
	for _, code := range [...]string{up, strings.TrimSuffix(up, "S")} {
		if len(code) == 3 && structure.Letter(structure.Protein, code) != structure.Unknown ||
			len(code) == 2 && structure.Letter(structure.DNA, code) != structure.Unknown {
			return []string{code}
		}
	}
	if len(up) != 1 {
		return nil
	}
	for _, k := range [...]structure.Kind{structure.Protein, structure.RNA, structure.DNA} {
		code, ok := structure.Component(k, up[0])
		if ok && (k == structure.RNA || !strings.ContainsAny(up, "BZXOU")) {
			codes = append(codes, code)
		}
	}
	return codes
}

func decimal(text string) float64 {
	v, _ := strconv.ParseFloat(text, 64) // 0 where it is none
	return v
}

func isNumber(word string) bool {
	_, err := strconv.Atoi(word)
	return err == nil
}

// residueItem returns a range of residues as an item; it ends where it begins if to is empty.
func residueItem(names []string, from, to string) []item {
	lo := int(decimal(from))
	m := mention{lo: lo, hi: lo, names: names}
	if to != "" {
		hi := int(decimal(to))
		m = mention{lo: min(lo, hi), hi: max(lo, hi)}
	}
	return []item{{concept: "@residue", mention: m}}
}

// chainEnd counts residues from an end of the chain, and not segments.
func (s *scanner) chainEnd(m []string) []item {
	n := int(decimal(m[2]))
	if i := slices.Index(strings.Fields(vocabulary().lines["words spoken"]), strings.ToLower(m[2])); i >= 0 {
		n = i + 1
	}
	next := s.peek(wordsIn(m))
	endsHere := next == "" || oneOf(vocabulary().find(next), "ask in of &")
	if n == 0 || !vocabulary().matches("endsInNoun", m[0]) && !endsHere {
		return nil // the first two helices
	}
	if strings.ContainsAny(m[1][:1], "lLcC") {
		n = -n
	}
	return []item{{concept: "@residue", mention: mention{first: n}}}
}

// namedResidue reads the ends of a distance as two residues, and not as a range.
func (s *scanner) namedResidue(m []string) []item {
	names := letterNames(m[1])
	fused := strings.HasPrefix(m[0], m[1]+m[2])
	if names == nil || len(m[1]) == 1 && !fused {
		return nil
	}
	if m[3] != "" && s.has("distance") {
		m[0], m[3] = m[0][:strings.Index(m[0], m[2])+len(m[2])]+" ", ""
	}
	return residueItem(names, m[2], m[3])
}

// bareNumber reads numbers that are residues by what stands next to them: 8-12, residue 3 and 9. Any other is unknown.
func (s *scanner) bareNumber(m []string) []item {
	k := len(s.items) - 1
	for k >= 0 && s.items[k].is("filler & or of in residue") {
		k--
	}
	if m[2] == "" && (k < 0 || s.items[k].concept != "@residue") {
		return nil
	}
	return residueItem(nil, m[1], m[2])
}

// announcedChain takes an unknown capital or number for a chain, too, so that a question about a chain that is not
// there is refused for that reason.
func (s *scanner) announcedChain(m []string) []item {
	id, up := m[1], strings.ToUpper(m[1])
	if !s.chains[id] && s.chains[up] {
		id = up
	}
	_, phrase := vocabulary().lookup(s.words[1:]) // the chain's N terminus
	if !s.chains[id] && (len(id) > 1 || id != up || phrase > 1) {
		return nil
	}
	return []item{{concept: "@chain", names: []string{id}}}
}

// single reads one word that names a chain, a residue, a ligand or an atom.
func (s *scanner) single() bool {
	w, next := s.peek(0), s.peek(1)
	up, low, after := strings.ToUpper(w), strings.ToLower(w), strings.ToLower(next)
	names := letterNames(w)
	isChain := s.chains[w] && (oneOf(after, "and - /") || s.last != "" && w != "I" &&
		(w != "A" || strings.ToLower(s.last) != "is"))
	code := s.ligandCode(w, next)
	switch {
	case isChain:
		s.add(1, item{concept: "@chain", names: []string{w}})
	case code != "":
		s.ligand(code, 1)
	case names != nil && w != "his" && len(w) > 1 && (len(w) > 2 || w == up):
		s.add(1, item{concept: "@name", names: names})
	case s.atoms[up] && (w == up || oneOf(low, "ca cb")) && (len(up) > 1 || after == "atom"):
		s.add(1, item{concept: "@atom", names: []string{up}})
	default:
		return false
	}
	return true
}

// ligandCode returns the code of a ligand of the structure that a word names: ZN, bnz, Zn202; empty where it names
// none.
func (s *scanner) ligandCode(w, next string) string {
	up, after := strings.ToUpper(w), strings.ToLower(next)
	code := strings.TrimRight(up, "0123456789")
	switch {
	case s.ligands[w] && (len(w) > 1 || after == "ion") && !(s.atoms[w] && after == "of"):
		return w
	case s.ligands[up] && len(up) >= 3 && vocabulary().find(w) == "":
		return up
	case len(code) >= 2 && code != up && s.ligands[code]:
		return code
	}
	return ""
}

// ligand adds a ligand of n words, with the number after it: ZN 202.
func (s *scanner) ligand(code string, n int) {
	if isNumber(s.peek(n)) {
		n++
	}
	s.add(n, item{concept: "@ligand", names: []string{code}})
}
