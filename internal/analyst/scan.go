package analyst

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"pleat/internal/facts"
	"pleat/internal/structure"
)

// item is one thing in a question: a concept of the vocabulary, or an entity, whose concept starts with @.
type item struct {
	// concept is ? for a word that is not known.
	concept string
	// text is what the question has for it.
	text  string
	names []string
	// mention is set for @residue.
	mention mention
	// known is set where the structure has the chain or the ligand.
	known bool
	// value is a radius in Å, a pH, a bound of pLDDT, or an ordinal (-1: the last).
	value float64
	// high is the upper end of a band of pLDDT, where it is not 0.
	high float64
	// above is set where value is the least, not the most.
	above bool
}

// mention is a residue or a stretch of residues as a question names it.
type mention struct {
	// chain is empty where the question does not name one.
	chain string
	// lo and hi are numbers of residues, unless first or half is set.
	lo, hi int
	names  []string
	// first is so many residues from the beginning of the chain or, if negative, from its end.
	first int
	// half is 1 or 2 for the first or second half of the chain.
	half int
}

// isRange reports whether the mention is a range of two numbers.
func (m mention) isRange() bool { return m.first == 0 && m.half == 0 && m.lo != m.hi }

// single reports whether the mention means one residue.
func (m mention) single() bool {
	return m.half == 0 && (m.first == 0 && m.lo == m.hi || m.first == 1 || m.first == -1)
}

// scanner turns the words of a sentence into items. It knows which chains, ligands and atoms the structure has.
type scanner struct {
	x                      *facts.Index
	chains, ligands, atoms map[string]bool
	// lowest and highest are numbers of polymer residues.
	lowest, highest int
	// protein is set where some chain is one.
	protein bool
	words   []word
	at      int
	items   []item
}

// newScanner makes a scanner for the names of one structure.
func newScanner(x *facts.Index) *scanner {
	s := &scanner{x: x, chains: map[string]bool{}, ligands: map[string]bool{}, atoms: map[string]bool{}}
	for i := range x.Sites {
		site := &x.Sites[i]
		if !site.Kind.Polymer() {
			s.ligands[site.Ref.Name] = true
			continue
		}
		if len(s.chains) == 0 {
			s.lowest, s.highest = site.Ref.Number, site.Ref.Number
		}
		s.chains[site.Ref.Chain] = true
		s.protein = s.protein || site.Kind == structure.Protein
		s.lowest, s.highest = min(s.lowest, site.Ref.Number), max(s.highest, site.Ref.Number)
	}
	for _, a := range x.Atoms {
		s.atoms[a.Name] = true
	}
	return s
}

// Parts of the patterns of rules. Words are separated by one blank each, and every pattern ends at a blank. Name may be
// any word, which residueNames then has to know; digit is the number of a residue, and upTo the end of a range. Real is
// a number with or without a fraction, less and more are words of comparisons.
const (
	noun  = `(?:amino acid|residue|position|res|number|nucleotide|base|aa|site)s?`
	name  = `([A-Za-z]+(?: acid)?)`
	digit = `(\d{1,6})(?:st|nd|rd|th)?`
	upTo  = `(?: (?:-|to|through|until|till|:) (?:` + noun + ` )?(?:[A-Za-z]{1,3} ?)?` + digit + `)?`
	real  = `(\d{1,6}(?:\.\d+)?)`
	unit  = ` ?(Å|A|angstroms?|ångströms?|nm|nanomet(?:re|er)s?)`
	less  = `less|lower|fewer|smaller|worse|closer|nearer|below`
	more  = `greater|more|higher|larger|better|farther|further|above`
)

// rule reads an entity at the beginning of the remaining words. Read returns nil where the pattern fits, but what it
// found means something else; it may shorten m[0], which is what the scanner passes over.
type rule struct {
	pattern *regexp.Regexp
	read    func(s *scanner, m []string) []item
}

// pattern compiles what a rule matches at the beginning of the remaining words; capitals and small letters are the
// same.
func pattern(p string) *regexp.Regexp { return regexp.MustCompile(`^(?i:` + p + `) `) }

// endsInNoun tells the first ten residues from the first ten.
var endsInNoun = pattern(`.* ` + noun)

// rules are tried in this order at each word, so that the more special one of two comes first. Each line above a rule
// has examples of what it reads. None of them may match the empty string.
var rules = []rule{
	// K8A, Lys48Ala, Lys48 to Ala: mutations, which no structure can tell
	{pattern(`([a-z]{1,3})(\d{1,6})([a-z]{1,3})`), (*scanner).mutation},
	{pattern(`([a-z]{1,3}|[a-z]{6,13}) ?(\d{1,6}) (?:to |mutation )?([a-z]{3})`), (*scanner).mutation},
	// the first 20 residues, the last ten, the C-terminal 5 amino acids
	{pattern(`(first|initial|n terminal|amino terminal|last|final|c terminal|carboxy terminal) ([a-z]+|\d{1,6})(?: ` +
		noun + `)?`), (*scanner).chainEnd},
	// after residue 16, before K48, up to position 30, positions above 40
	{pattern(`(after|past|following|downstream of|beyond|above|over|before|preceding|upstream of|prior to|up to|` +
		`below|under) ((?:` + noun + ` )*)(?:` + name + ` ?)?` + digit), (*scanner).oneSide},
	// pH 7.4
	{pattern(`ph (?:of |value |is |equals )?` + real), (*scanner).givenPH},
	// within 5 Å of, at least 0.4 nm from, a 5 Å shell
	{pattern(`(?:(within|below|under|above|over|beyond|at most|at least|(?:` + less + `|` + more + `) than) )?` +
		`(?:(?:a|an|about|around|distance of) )*` + real + unit), (*scanner).radius},
	// a pLDDT between 50 and 70; else a range of residues
	{pattern(`between (?:` + noun + ` )*` + real + ` and ` + real), (*scanner).band},
	// 95 or more; below 70; at least 90
	{pattern(real + ` or (` + less + `|` + more + `)`), (*scanner).limit},
	{pattern(`(below|under|above|over|exceeding|at most|at least|(?:` + less + `|` + more + `) than) ` +
		`(?:(?:a|an|about|around|plddt|confidence|of) )*` + real), (*scanner).limit},
	// lysine 8, Lys8, K8, Lys8 to Lys12
	{pattern(name + ` (?:(?:residue|number|at|position|-) )*` + digit + upTo), (*scanner).namedResidue},
	{pattern(`([a-z]{1,3})` + digit + upTo), (*scanner).namedResidue},
	// LYS A 8, A:8, A:Lys8
	{pattern(name + ` ([a-z0-9]{1,2}) ` + digit), (*scanner).residueOfChain},
	{pattern(`([a-z0-9]{1,4}) : (?:` + name + ` ?)?` + digit), (*scanner).chainColon},
	// residue 8, residues 9-12; then 3 and 9 in a list
	{pattern(`(?:` + noun + ` )+(?:(?:numbers?|no|from|:) )*` + digit + upTo), (*scanner).numbers},
	{pattern(digit + upTo), (*scanner).bareNumber},
	// chain A, the B chain
	{pattern(`(?:chain|subunit|protomer)s? ([a-z0-9]{1,4})`), (*scanner).announcedChain},
	{pattern(`([A-Z0-9]{1,4}) (?:chain|subunit|protomer)`), (*scanner).chain},
}

// scan is the first step from words to meaning: it knows names, and no grammar. It returns the items of one sentence,
// in order. At each word the first rule that fits wins, then the longest phrase of the vocabulary, then names that the
// structure has.
func (s *scanner) scan(words []word) []item {
	s.words, s.at, s.items = words, 0, nil
	for s.at < len(s.words) {
		if c, n := vocabulary().lookup(s.words[s.at:], 2); s.rule() {
			continue
		} else if n > 0 {
			s.concept(c, n)
			continue
		}
		low := s.words[s.at].low
		switch c, n := vocabulary().lookup(s.words[s.at:], 1); {
		case s.single():
		case n > 0:
			s.concept(c, n)
		case low == ",":
			s.add(1, item{concept: "&"})
		case low == "/":
			s.add(1, item{concept: "or"})
		case low == "-" || low == ":":
			s.at++
		default:
			s.add(1, item{concept: "?"})
		}
	}
	return withChains(s.items)
}

// withChains gives residues the chain that follows them: Lys6 of chain B; residues 5, 8 and 9 in chain A.
func withChains(items []item) (out []item) {
	for _, it := range items {
		k := len(out) - 1
		for k >= 0 && oneOf(out[k].concept, "of in filler") {
			k--
		}
		if it.concept != "@chain" || k < 0 || out[k].concept != "@residue" || out[k].mention.chain != "" {
			out = append(out, it)
			continue
		}
		out = out[:k+1]
		for ; k >= 0 && oneOf(out[k].concept, "@residue & or filler"); k-- {
			out[k].mention.chain = cmp.Or(out[k].mention.chain, it.names[0])
		}
	}
	return out
}

// rule applies the first rule that fits.
func (s *scanner) rule() bool {
	var b strings.Builder
	for _, w := range facts.Head(s.words[s.at:], 10) {
		b.WriteString(w.raw + " ")
	}
	for _, r := range rules {
		m := r.pattern.FindStringSubmatch(b.String())
		if m == nil {
			continue
		}
		if items := r.read(s, m); items != nil {
			s.add(strings.Count(m[0], " "), items...)
			return true
		}
	}
	return false
}

// add appends items that n words stand for, and moves on.
func (s *scanner) add(n int, items ...item) {
	var parts []string
	for _, w := range s.words[s.at:min(len(s.words), s.at+n)] {
		parts = append(parts, w.raw)
	}
	for k := range items {
		items[k].text = strings.Join(parts, " ")
	}
	s.items = append(s.items, items...)
	s.at += n
}

// peek returns the word n places from here; empty outside the sentence.
func (s *scanner) peek(n int) word {
	if i := s.at + n; i >= 0 && i < len(s.words) {
		return s.words[i]
	}
	return word{}
}

// has reports whether a concept was read before.
func (s *scanner) has(concept string) bool {
	return slices.ContainsFunc(s.items, func(it item) bool { return it.concept == concept })
}

// concept adds a phrase of n words; names, classes, ligands and ends of chains in the vocabulary become entities.
func (s *scanner) concept(c string, n int) {
	kind, rest, _ := strings.Cut(c, " ")
	it := item{concept: kind, names: strings.Fields(rest)}
	switch kind {
	case "@half":
		it = item{concept: "@residue", mention: mention{half: atoi(rest)}}
	case "@nth", "@limit", "@ph":
		it.value, _ = strconv.ParseFloat(it.names[0], 64)
		it.above = len(it.names) > 1
	case "strand":
		if !s.protein { // of nucleic acid
			it.concept = "chain"
		}
	case "@ligand":
		s.ligand(rest, n)
		return
	case "@residue":
		var ends []item
		for _, value := range it.names {
			first, _ := strconv.Atoi(value)
			ends = append(ends, item{concept: "&"}, item{concept: kind, mention: mention{first: first}})
		}
		s.add(n, ends[1:]...)
		return
	}
	s.add(n, it)
}

// residueNames knows what can name a residue without its number. It returns the component codes that a name means: a
// word of the vocabulary, a code of one or three letters, or of a nucleotide; nil where it is none.
func residueNames(word string) []string {
	up := strings.ToUpper(word)
	if c, ok := vocabulary().find(strings.ToLower(word)); ok && strings.HasPrefix(c, "@name ") {
		return strings.Fields(c)[1:]
	}
	for _, code := range []string{up, strings.TrimSuffix(up, "S")} {
		if len(code) == 3 && structure.Letter(structure.Protein, code) != structure.Unknown ||
			len(code) == 2 && structure.Letter(structure.DNA, code) != structure.Unknown {
			return []string{code}
		}
	}
	return nil
}

// letterNames returns the component codes that a one-letter code can mean in proteins, RNA and DNA.
func letterNames(word string) (codes []string) {
	if len(word) != 1 {
		return residueNames(word)
	}
	letter := word[0] &^ 0x20
	for _, k := range [...]structure.Kind{structure.Protein, structure.RNA, structure.DNA} {
		code, ok := structure.Component(k, letter)
		if ok && (k == structure.RNA || !strings.ContainsRune("BZXOU", rune(letter))) {
			codes = append(codes, code)
		}
	}
	return codes
}

// atoi reads digits that a pattern has matched.
func atoi(digits string) int {
	n, _ := strconv.Atoi(digits)
	return n
}

// residueItem returns a stretch of residues as an item; it ends where it begins if to is empty.
func residueItem(chain string, names []string, from, to string) []item {
	m := mention{chain: chain, lo: atoi(from), hi: atoi(from), names: names}
	if to != "" {
		m = mention{chain: chain, lo: min(m.lo, atoi(to)), hi: max(m.lo, atoi(to))}
	}
	return []item{{concept: "@residue", mention: m}}
}

// isUnit reports whether the word after a match is a unit, so that its number is no residue.
func (s *scanner) isUnit(m []string) bool {
	next := s.peek(strings.Count(m[0], " "))
	return unitScale(next) > 0 || next.low == "percent"
}

// mutation needs two names of residues around a number, or else C8A could be an atom. It reads K8A, Lys48 to Ala.
func (s *scanner) mutation(m []string) []item {
	_, digits := strconv.Atoi(s.peek(strings.Count(m[0], " ")).low)
	if letterNames(m[1]) == nil || letterNames(m[3]) == nil || digits == nil {
		return nil
	}
	return []item{{concept: "!mutation"}}
}

// chainEnd counts residues from an end of the chain, and not segments: it reads the first 20 residues, the last ten,
// the C-terminal 5 amino acids.
func (s *scanner) chainEnd(m []string) []item {
	n, ok := quantity(m[2])
	next := s.peek(strings.Count(m[0], " "))
	c, _ := vocabulary().find(next.low)
	hasNoun := endsInNoun.MatchString(m[0])
	if !ok || n == 0 || !hasNoun && next.low != "" && next.low != "," && !oneOf(c, "ask in of &") {
		return nil // the first two helices
	}
	if strings.ContainsAny(m[1][:1], "lLcC") || strings.EqualFold(m[1], "final") {
		n = -n
	}
	return []item{{concept: "@residue", mention: mention{first: n}}}
}

// oneSide makes ranges that end where the numbers of the structure end. It reads after residue 16, before K48, up to
// position 30, positions above 40: all numbers on one side.
func (s *scanner) oneSide(m []string) []item {
	announced := m[2] != "" || oneOf(strings.TrimSuffix(s.peek(-1).low, "s"), "residue position")
	word, n := strings.ToLower(m[1]), atoi(m[4])
	if s.isUnit(m) || m[3] != "" && letterNames(m[3]) == nil ||
		oneOf(word, "beyond above over below under") && !announced {
		return nil
	}
	r := mention{lo: min(s.lowest, n-1), hi: n - 1}
	switch {
	case oneOf(word, "after past following beyond above over") || word == "downstream of":
		r = mention{lo: n + 1, hi: max(s.highest, n+1)}
	case word == "up to":
		r = mention{lo: min(s.lowest, n), hi: n}
	}
	return []item{{concept: "@residue", mention: r}}
}

// givenPH reads the pH at which a charge is asked for.
func (s *scanner) givenPH(m []string) []item { return []item{{concept: "@ph", value: decimal(m[1])}} }

// radius reads within 5 Å, at least 0.4 nm from, a 5 Å shell.
func (s *scanner) radius(m []string) []item {
	return []item{{concept: "@radius", value: decimal(m[2]) * unitScale(word{m[3], strings.ToLower(m[3])}),
		above: isMore(m[1])}}
}

// isMore reports whether a comparison means more than a bound.
func isMore(comparison string) bool {
	low := strings.ToLower(comparison)
	first, _, _ := strings.Cut(low, " ")
	return low == "at least" || oneOf(first, "above over beyond exceeding "+strings.ReplaceAll(more, "|", " "))
}

// band reads a pLDDT between 50 and 70, and a stretch between 10 and 40.
func (s *scanner) band(m []string) []item {
	switch {
	case s.isUnit(m):
		return nil
	case s.has("confidence") && !s.has("average"):
		return []item{{
			concept: "@limit", value: min(decimal(m[1]), decimal(m[2])), high: max(decimal(m[1]), decimal(m[2])),
		}}
	}
	return residueItem("", nil, m[1], m[2])
}

// limit reads a bound of pLDDT: below 70, 95 or more.
func (s *scanner) limit(m []string) []item {
	word, value := m[1], m[2]
	if _, err := strconv.ParseFloat(m[1], 64); err == nil {
		word, value = m[2], m[1]
	}
	if s.isUnit(m) {
		return nil
	}
	return []item{{concept: "@limit", value: decimal(value), above: isMore(word)}}
}

// namedResidue reads K8, Lys8, lysine 8, Lys8 to Lys12.
func (s *scanner) namedResidue(m []string) []item {
	names, raw := letterNames(m[1]), s.peek(0).raw
	fused := strings.HasPrefix(m[0], m[1]+m[2])
	switch {
	case s.isUnit(m) || names == nil || len(m[1]) == 1 && !fused:
		return nil
	case s.atoms[raw] && !s.exists(names, atoi(m[2])):
		return nil // the name of an atom: C8
	}
	if k := len(s.items) - 1; k >= 0 && s.items[k].concept == "@name" && slices.Contains(names, s.items[k].names[0]) {
		s.items = s.items[:k] // the methionine M1
	}
	if m[3] != "" && s.has("distance") { // these are the ends of a distance, not a range
		m[0], m[3] = m[0][:strings.Index(m[0], m[2])+len(m[2])]+" ", ""
	}
	return residueItem("", names, m[2], m[3])
}

// exists reports whether a polymer has a residue of this name and number.
func (s *scanner) exists(names []string, number int) bool {
	return slices.ContainsFunc(s.x.Sites, func(r facts.Site) bool {
		return r.Kind.Polymer() && r.Ref.Number == number && slices.Contains(names, r.Ref.Name)
	})
}

// residueOfChain reads LYS A 8.
func (s *scanner) residueOfChain(m []string) []item {
	if names := residueNames(m[1]); names != nil && s.chains[m[2]] && !s.isUnit(m) {
		return residueItem(m[2], names, m[3], "")
	}
	return nil
}

// chainColon reads A:8 and A:Lys8.
func (s *scanner) chainColon(m []string) []item {
	if !s.chains[m[1]] || m[2] != "" && letterNames(m[2]) == nil {
		return nil
	}
	return residueItem(m[1], letterNames(m[2]), m[3], "")
}

// numbers reads residue 8, residues 9-12.
func (s *scanner) numbers(m []string) []item {
	items := residueItem("", nil, m[1], m[2])
	if next := s.peek(strings.Count(m[0], " ")).low; oneOf(next, "onward onwards") {
		items[0].mention.hi = max(s.highest, items[0].mention.lo+1)
	}
	return items
}

// bareNumber reads numbers that are residues by what stands next to them: 8-12, residue 3 and 9. Any other number
// without a unit is unknown, and makes the question refused.
func (s *scanner) bareNumber(m []string) []item {
	if s.isUnit(m) {
		return nil
	}
	listed := m[2] != "" || s.peek(-1).low == "at" && s.has("what")
	for i := len(s.items) - 1; i >= 0 && !listed; i-- {
		if c := s.items[i].concept; c == "@residue" {
			listed = true
		} else if !oneOf(c, "filler & or of in residue") {
			break
		}
	}
	if !listed {
		return nil
	}
	return residueItem("", nil, m[1], m[2])
}

// announcedChain lets a question about a chain that is not there be refused for that reason. It reads chain A. After
// the word chain an unknown name is one, too.
func (s *scanner) announcedChain(m []string) []item {
	id, up := m[1], strings.ToUpper(m[1])
	if !s.chains[id] && len(id) == 1 && s.chains[up] {
		id = up
	}
	_, known := vocabulary().find(strings.ToLower(id))
	if _, n := vocabulary().lookup(s.words[s.at+1:], 2); !s.chains[id] &&
		(n > 0 || len(id) > 1 && (id != up || known)) {
		return nil // the chain's N terminus
	}
	if !s.chains[id] {
		id = up
	}
	return []item{{concept: "@chain", names: []string{id}, known: s.chains[id]}}
}

// chain reads the B chain.
func (s *scanner) chain(m []string) []item {
	if !s.chains[m[1]] {
		return nil
	}
	return []item{{concept: "@chain", names: []string{m[1]}, known: true}}
}

// single reads one word that names a chain, a residue, a ligand or an atom.
func (s *scanner) single() bool {
	w, next := s.peek(0), s.peek(1)
	up := strings.ToUpper(w.raw)
	names := residueNames(w.raw)
	english := oneOf(w.low, "his met pro ser val") && w.raw == w.low
	isChain := s.chains[w.raw] && (oneOf(next.low, "and - /") || s.at > 0 && w.raw != "I" &&
		(w.raw != "A" || s.peek(-1).low != "is"))
	code := s.ligandCode(w, next)
	switch {
	case isChain:
		s.add(1, item{concept: "@chain", names: []string{w.raw}, known: true})
	case code != "":
		s.ligand(code, 1)
	case names != nil && !english && (len(w.raw) > 2 || w.raw == up):
		s.add(1, item{concept: "@name", names: names})
	case s.atoms[up] && (w.raw == up || oneOf(w.low, "ca cb")) && (len(up) > 1 || next.low == "atom"):
		s.add(1, item{concept: "@atom", names: []string{up}})
	default:
		return false
	}
	return true
}

// ligandCode returns the code of a ligand of the structure that a word names: ZN, bnz, Zn202; empty where it is none.
func (s *scanner) ligandCode(w, next word) string {
	up := strings.ToUpper(w.raw)
	code := strings.TrimRight(up, "0123456789")
	_, known := vocabulary().find(w.low)
	switch {
	case s.ligands[w.raw] && (len(w.raw) > 1 || next.low == "ion") && !(s.atoms[w.raw] && next.low == "of"):
		return w.raw
	case s.ligands[up] && len(up) >= 3 && !known:
		return up
	case len(code) >= 2 && code != up && s.ligands[code]:
		return code
	}
	return ""
}

// ligand reads ZN 202 and ZN A 202 as one. It adds a ligand of n words, with the chain and number after it.
func (s *scanner) ligand(code string, n int) {
	if code == "FE" && !s.ligands["FE"] && s.ligands["FE2"] {
		code = "FE2"
	}
	at := n
	if s.chains[s.peek(at).raw] {
		at++
	}
	if _, err := strconv.Atoi(s.peek(at).low); err == nil && unitScale(s.peek(at+1)) == 0 {
		n = at + 1
	}
	s.add(n, item{concept: "@ligand", names: []string{code}, known: s.ligands[code]})
}
