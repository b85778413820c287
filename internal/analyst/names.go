package analyst

import (
	"fmt"
	"slices"
	"strings"

	"pleat/internal/facts"
	"pleat/internal/structure"
	"pleat/internal/words"
)

// choose makes the item of the one reading of m[0] that the structure has, or of the first if it has none. Where it has
// several, the question is refused with two of them.
func (s *scanner) choose(m []string, readings ...mention) []item {
	var found []mention
	var meant [][]int
	for _, r := range readings {
		sites, problem := s.find(r)
		same := func(other []int) bool { return slices.Equal(sites, other) }
		if problem == "" && !slices.ContainsFunc(meant, same) {
			found, meant = append(found, r), append(meant, sites)
		}
	}
	switch len(found) {
	case 0:
		found = readings[:1]
	case 1:
	default:
		return unclear(m, found[0].String(), found[1].String())
	}
	return []item{{concept: "@residue", mention: found[0]}}
}

// unclear is an item that can mean two things, as the structure has both.
func unclear(m []string, one, other string) []item {
	return []item{{concept: "@residue", unclear: fmt.Sprintf("“%s” can mean %s or %s; please write it as one of these.",
		strings.TrimSpace(m[0]), one, other)}}
}

// String writes the residue or range so that it can be read in one way only.
func (m mention) String() string {
	text := named(m.names, m.lo)
	if m.lo != m.hi {
		text = fmt.Sprintf("residues %s to %s", numberText(m.lo), m.hi)
	}
	if m.chain != "" {
		text += " of chain " + m.chain
	}
	return text
}

// exists reports whether the structure has what a mention means.
func (s *scanner) exists(m mention) bool {
	_, problem := s.find(m)
	return problem == ""
}

// residue makes the mention of a number or a range of numbers.
func residue(from, to string) mention {
	m := mention{lo: parseNumber(from)}
	m.hi = m.lo
	if to != "" {
		m.hi = parseNumber(to)
	}
	return m
}

// numbers reads residues that a noun announces: residue 82A, residues 9-12, residue 82 A.
func (s *scanner) numbers(m []string) []item {
	joint, from := m[1], m[2]
	plural := strings.Contains(m[0][:strings.Index(m[0], from)], "s ")
	if m[3] == "to" && s.measures() && !plural {
		m = upToHere(m, from)
	}
	if of := vocabulary().find(s.last); listed(of, "counted") && vocabulary().matches("isNumber", m[0]) {
		why := fmt.Sprintf("“%s %s” names no residue; please count segments as in second helix, and call chains and "+
			"ligands by their names.", s.last, strings.TrimSpace(m[0]))
		return []item{{concept: "@residue", unclear: why}}
	}
	r := residue(from, m[5])
	if r.last = letterNames(m[4]); r.last == nil && m[4] != "" {
		return nil
	}
	code, isCode := strings.CutSuffix(from, "A")
	if isCode && plural && m[5] == "" && vocabulary().matches("isAway", s.peek(wordsIn(m))+" ") { // residues 5A from
		if !s.exists(residue(from, "")) {
			return nil
		}
		return unclear(m, "residue "+from, code+" Å")
	}
	if m[5] == "" && from[len(from)-1] <= '9' {
		if items := s.spacedCode(m, nil, from); items != nil {
			return items
		}
	}
	return s.choose(m, withSign(joint, r)...)
}

// isPhrase reports whether the number that a rule has matched begins a phrase that is longer: 3-10 helices.
func (s *scanner) isPhrase(m []string, number string) bool {
	before := strings.Count(m[0][:strings.Index(m[0], number)], " ")
	_, n := vocabulary().lookup(s.words[before:])
	return before+n > wordsIn(m)
}

// measures reports whether a distance is asked for, and none is given.
func (s *scanner) measures() bool { return s.has("distance") && !s.has("@radius") }

// withSign adds the reading in which a hyphen before the number is a minus sign: HIS-2.
func withSign(joint string, m mention) []mention {
	if !strings.Contains(joint, "-") {
		return []mention{m}
	}
	negative := m
	negative.lo.Value = -negative.lo.Value
	if m.lo == m.hi {
		negative.hi = negative.lo
	}
	return []mention{m, negative}
}

// upToHere cuts what a rule has matched behind a number, and so the end of a range.
func upToHere(m []string, number string) []string {
	m[0] = m[0][:strings.Index(m[0], number)+len(number)] + " "
	for k := range m[len(m)-3:] {
		m[len(m)-3+k] = ""
	}
	return m
}

// spacedCode reads one capital behind a number as its insertion code or as its chain; nil where it is neither.
func (s *scanner) spacedCode(m []string, names []string, number string) []item {
	letter := s.peek(wordsIn(m))
	if len(letter) != 1 || letter < "A" || letter > "Z" || s.shouted {
		return nil
	}
	coded, onChain := residue(number+letter, ""), residue(number, "")
	coded.names, onChain.names, onChain.chain = names, names, letter
	if letter != "A" && !s.exists(coded) && !s.exists(onChain) {
		return nil
	}
	m[0] += letter + " "
	return s.choose(m, coded, onChain)
}

// namedResidue reads a residue by its name, or by the letter of its chain in front of it: Lys8, HIS-2, H52A. The ends
// of a distance are two residues, and not a range.
func (s *scanner) namedResidue(m []string) []item {
	names, fused := letterNames(m[1]), strings.HasPrefix(m[0], m[1]+m[3])
	if !fused && (len(m[1]) == 1 || s.isPhrase(m, m[3])) {
		return nil
	}
	if m[4] != "" && s.measures() {
		m = upToHere(m, m[3])
	}
	var readings []mention
	if names != nil {
		if m[6] == "" && !fused && m[3][len(m[3])-1] <= '9' {
			if items := s.spacedCode(m, names, m[3]); items != nil {
				return items
			}
		}
		if last := letterNames(m[5]); last != nil || m[5] == "" {
			r := residue(m[3], m[6])
			r.names, r.last = names, last
			readings = append(readings, withSign(m[2], r)...)
		}
	}
	if id := s.chainOf(m[1]); id != "" && fused && (m[5] == "" || s.chainOf(m[5]) == id) {
		r := residue(m[3], m[6])
		r.chain = id
		readings = append(readings, r)
	}
	if len(readings) == 0 {
		return nil
	}
	if s.ligands[strings.ToUpper(m[1])] && m[4] == "" && !s.exists(readings[0]) {
		return nil // a free amino acid
	}
	if s.chains[s.words[0]] { // a chain named A1
		if k := slices.IndexFunc(readings, s.exists); k >= 0 {
			return unclear(m, readings[k].String(), "chain "+s.words[0])
		}
		return nil
	}
	return s.choose(m, readings...)
}

// chainOf returns the chain that a word names, in either case; empty where it names none.
func (s *scanner) chainOf(word string) string {
	switch up := strings.ToUpper(word); {
	case s.chains[word]:
		return word
	case s.chains[up]:
		return up
	}
	return ""
}

// residueOfChain reads A:8, A:-2 and A:52A-54.
func (s *scanner) residueOfChain(m []string) []item {
	if m[3] == "to" && s.measures() {
		m = upToHere(m, m[2])
	}
	if !s.chains[m[1]] || m[4] != "" && m[4] != m[1] {
		return nil
	}
	r := residue(m[2], m[5])
	r.chain = m[1]
	return s.choose(m, r)
}

// limit reads a bound of pLDDT, unless a noun in front and no word for confidence make it one of their numbers, too.
func (s *scanner) limit(m []string) []item {
	it := valueItem("@limit", m[1:])
	noun := vocabulary().matches("isNoun", s.last+" ") || len(s.last) > 2 && letterNames(s.last) != nil
	if noun && !vocabulary().matches("isConfidence", m[0]+s.peek(wordsIn(m))+" ") {
		it.unclear = fmt.Sprintf("“%s %s” can mean their numbers or their pLDDT; please name the first and the last "+
			"number, or write pLDDT.", s.last, strings.TrimSpace(m[0]))
	}
	return []item{it}
}

// spokenNumber refuses residue one, because the word is a pronoun, too, and with it the other numbers.
func (s *scanner) spokenNumber(m []string) []item {
	isNoun := letterNames(m[1]) != nil || vocabulary().matches("isNoun", m[1]+" ")
	if !isNoun || len(m[1]) == 1 || s.peek(wordsIn(m)) == "letter" { // one letter codes
		return nil
	}
	why := fmt.Sprintf("“%s” may be a number; please write the numbers of residues in digits.", strings.TrimSpace(m[0]))
	return []item{{concept: "@residue", unclear: why}}
}

// upTo reads the residues from the beginning of each chain; behind anything but a noun, it could mean something else.
func (s *scanner) upTo(m []string) []item {
	if !vocabulary().matches("isNoun", s.last+" ") && !oneOf(vocabulary().find(s.last), "chain sequence") {
		return nil
	}
	to := parseNumber(m[1])
	return []item{{concept: "@residue", mention: mention{lo: structure.ResidueNumber{Value: beginning}, hi: to}}}
}

// openEnd refuses a range without its last residue.
func (s *scanner) openEnd(m []string) []item {
	why := fmt.Sprintf("“%s” does not name the last residue; please name both ends, such as residues %s to %d.",
		strings.TrimSpace(m[0]), m[1], parseNumber(m[1]).Value+9)
	return []item{{concept: "@residue", unclear: why}}
}

// mutation reads K8A and Lys48 to Ala, unless it is a residue with an insertion code that the structure has: H82A.
func (s *scanner) mutation(m []string) []item {
	change := []item{{concept: "!mutation"}}
	if letterNames(m[1]) == nil || letterNames(m[3]) == nil || isNumber(s.peek(wordsIn(m))) {
		return nil
	}
	if len(m[3]) > 1 {
		return change
	}
	before, coded := residue(m[2], ""), residue(m[2]+m[3], "")
	before.names, coded.names = letterNames(m[1]), letterNames(m[1])
	onChain := coded
	onChain.chain, onChain.names = s.chainOf(m[1]), nil
	var readings []mention
	for _, r := range []mention{coded, onChain} {
		if s.exists(r) && (r.names != nil || r.chain != "") {
			readings = append(readings, r)
		}
	}
	switch {
	case len(readings) == 0:
		return change
	case oneOf(s.peek(wordsIn(m)), "- to through until") && strings.ContainsAny(s.peek(wordsIn(m)+1), "0123456789"):
		return nil // the first of a range: H82A-H84
	case s.exists(before):
		return unclear(m, readings[0].String(), "a mutation of "+before.String())
	}
	return s.choose(m, readings...)
}

// radius reads a distance. A number with a capital A and no word of distance in front is a residue where the structure
// has one with that insertion code.
func (s *scanner) radius(m []string) []item {
	distance := []item{valueItem("@radius", m[1:])}
	next := s.peek(wordsIn(m))
	away := vocabulary().matches("isAway", next+" ")
	code := residue(m[2]+"A", "")
	switch isCode := strings.HasPrefix(m[0], m[2]+"A "); {
	case !isCode || strings.Contains(m[2], "."):
		return distance
	case away && s.exists(code) && decimal(m[2]) <= maxRadius && !s.has("distance"):
		return unclear(m, code.String(), m[2]+" Å")
	case !s.exists(code) && (away || decimal(m[2]) <= maxRadius && !s.isRange(wordsIn(m))):
		return distance
	}
	return nil
}

// isRange reports whether the word n places from here goes on with a range of numbers.
func (s *scanner) isRange(n int) bool {
	return oneOf(s.peek(n), "- to through until") && startsWithDigit(s.peek(n+1))
}

// betweenNumbers reads a range of residues: between 5 and -2. The ends of a contact are two residues, and so are those
// of a distance if an insertion code shows that they are no distances.
func (s *scanner) betweenNumbers(m []string) []item {
	r := residue(m[1], m[2])
	coded := r.lo.Ins != "" || r.hi.Ins != ""
	announced := vocabulary().matches("isAnnounced", m[0])
	value := (s.has("charge") || s.has("pi")) && !s.has("residue") // is the charge between -2 and 3?
	if s.measures() && coded && (max(r.lo.Value, r.hi.Value) > maxRadius || s.exists(r)) {
		return slices.Concat(s.choose(m, residue(m[1], "")), []item{{concept: "&"}}, s.choose(m, residue(m[2], "")))
	}
	ends := s.measures() || vocabulary().find(s.last) == "contact"
	if ends || !announced && (coded && !s.exists(r) || value) {
		return nil
	}
	return s.choose(m, r)
}

// bareNumber reads numbers that are residues by what stands next to them: 8-12, residue 3 and 9. Any other is unknown,
// unless the structure has a residue with its insertion code.
func (s *scanner) bareNumber(m []string) []item {
	last := len(s.items) - 1
	k := last
	for k >= 0 && s.items[k].is("filler & or of in residue") {
		k--
	}
	r := residue(m[1], m[4])
	coded := r.lo.Ins != "" || r.hi.Ins != ""
	listed := k >= 0 && k < last && s.items[k].concept == "@residue"
	if s.isPhrase(m, m[1]) {
		return nil
	}
	if m[3] != "" || !listed && (coded && !s.exists(r) || !coded && m[4] == "") {
		return nil
	}
	return s.choose(m, r)
}

// announcedChain takes an unknown name that looks like one for a chain, too, so that a question about a chain that is
// not there is refused for that reason.
func (s *scanner) announcedChain(m []string) []item {
	id, up := m[1], strings.ToUpper(m[1])
	word := len(id) > 1 && vocabulary().find(id) != ""
	_, phrase := vocabulary().lookup(s.words[1:])
	end := oneOf(up, "N C") && phrase > 1 // the chain's N terminus
	switch {
	case s.chains[id] && (end || word && id == strings.ToLower(id)):
		why := fmt.Sprintf("“%s” can mean the chain %s or the word; please ask in other words.",
			strings.TrimSpace(m[0]), id)
		return []item{{concept: "@chain", names: []string{id}, unclear: why}}
	case s.chains[id]:
	case s.chains[up] && !word && !end:
		id = up
	case id != up || end || word || !vocabulary().matches("isChainName", id+" "):
		return nil
	}
	return []item{{concept: "@chain", names: []string{id}}}
}

// bareChain returns the chain that a word names although no rule announces it: between A and B; empty where it names
// none. A word of the language, a number and small letters do so only in a list (chains 1 and 2), behind the word
// chain, or where no article can stand.
func (s *scanner) bareChain(w string) string {
	k := len(s.items) - 1
	for k >= 0 && s.items[k].is("& or") {
		k--
	}
	joined := oneOf(strings.ToLower(s.peek(1)), "and - /")
	listed := k >= 0 && k < len(s.items)-1 && s.items[k].concept == "@chain"
	announced := listed || vocabulary().matches("isChains", s.last+" ") // the protein chain b
	letter := len(w) == 1 && !startsWithDigit(w)
	noArticle := letter && (joined || s.last != "" && s.peek(1) == "")
	isWord := w == strings.ToLower(w) || w == "I" || vocabulary().find(w) != "" && (s.shouted || len(w) > 1)
	switch {
	case announced && letter:
		return s.chainOf(w)
	case !s.chains[w]:
		// In the midst of a sentence a capital A is no article: 82-A, between A and B.
		if w == "A" && !s.shouted && s.last != "" && (joined || oneOf(strings.ToLower(s.last), "between - : /")) {
			return w
		}
		return ""
	case announced, noArticle, !isWord && (joined || s.last != "" && (w != "A" || strings.ToLower(s.last) != "is")):
		return w
	}
	return ""
}

// roles adds the chains that go by words such as heavy and light.
func (s *scanner) roles(roles []string, n int) {
	var items []item
	for _, role := range roles {
		ids := s.inRole(role)
		if len(ids) == 0 {
			none := item{concept: "@chain", names: []string{role}, unclear: s.noRole(role)}
			items = append(items, item{concept: "&"}, none)
		}
		for _, id := range ids {
			items = append(items, item{concept: "&"}, item{concept: "@chain", names: []string{id}})
		}
	}
	s.add(n, items[1:]...)
}

// inRole returns the chains that go by a word: the heavy chain of an antibody is the one whose description says heavy
// or, where no description does, the one named H next to one named L.
func (s *scanner) inRole(role string) (ids []string) {
	ids = s.described[role]
	letter := map[string]string{"heavy": "H", "light": "L"}[role]
	if len(ids) == 0 && letter != "" && s.chains["H"] && s.chains["L"] {
		return []string{letter}
	}
	return ids
}

// noRole says that no chain is called by a role, and how chains are named.
func (s *scanner) noRole(role string) string {
	list := make([]string, len(s.x.Polymers))
	for k, p := range facts.Head(s.x.Polymers, maxChains) {
		c := s.x.Structure.Chains[p.Chain]
		list[k] = c.ID
		if c.Name != "" {
			list[k] += " (" + facts.Clip(c.Name, 40) + ")"
		}
	}
	return fmt.Sprintf("No chain of this structure is described as %s; please name the chain by its letter. The "+
		"structure has %s %s.", role, words.Plural(len(list), "chain", "chains"),
		facts.OrNone(words.Join(list, maxChains)))
}
