package analyst

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"pleat/internal/facts"
	"pleat/internal/structure"
	"pleat/internal/words"
)

// scanner turns the words of a sentence into items. It knows which chains, ligands and atoms the structure has.
type scanner struct {
	finder
	chains, ligands, atoms map[string]bool
	ions                   map[string][]string // by element: the codes of ligands of one atom
	described              map[string][]string // chains by the words of their descriptions
	names                  names               // of chains that would be several words
	shouted                bool                // the sentence is in capitals, so that they say nothing
	words                  []string            // that are left
	last                   string              // the one before
	items                  []item
}

func newScanner(x *facts.Index) *scanner {
	left := maxSites
	s := &scanner{
		finder:  finder{x, &left},
		chains:  map[string]bool{},
		ligands: map[string]bool{},
		ions:    map[string][]string{},
		atoms:   map[string]bool{},
		names:   names{},

		described: map[string][]string{},
	}
	for i := range x.Sites {
		if site := &x.Sites[i]; site.Kind.Polymer() {
			s.chains[site.Ref.Chain] = true
		} else {
			s.addLigand(site)
		}
	}
	for _, a := range x.Atoms {
		s.atoms[a.Name] = true
	}
	for _, p := range x.Polymers {
		c := x.Structure.Chains[p.Chain]
		for _, w := range strings.FieldsFunc(strings.ToLower(c.Name), func(r rune) bool { return !isWordRune(r) }) {
			if !slices.Contains(s.described[w], c.ID) {
				s.described[w] = append(s.described[w], c.ID)
			}
		}
	}
	for id := range s.chains {
		if plain := sentences(id, nil); len(plain) != 1 || len(plain[0]) != 1 || plain[0][0] != id {
			s.names[id] = true
		}
	}
	return s
}

// sentences are those of a text; names of chains stay whole.
func (s *scanner) sentences(text string) [][]string { return sentences(text, s.names) }

// scan is the first step from words to meaning: it knows names, and no grammar. At each word the first rule that fits
// wins, then the longest phrase of the vocabulary, then names that the structure has.
func (s *scanner) scan(words []string) []item {
	s.words, s.last, s.items = words, "", nil
	text := strings.Join(words, "")
	s.shouted = text == strings.ToUpper(text)
	for len(s.words) > 0 {
		switch concept, n := vocabulary().lookup(s.words); {
		case n == 3 && s.words[2] == "DA" && !s.shouted && len(s.polymersOf("dna")) > 0: // how many DA: no daltons
			s.phrase("howmany", 2)
		case s.rule():
		case n > 1:
			s.phrase(concept, n)
		case s.single():
		case n == 1:
			s.phrase(concept, 1)
		case oneOf(s.words[0], "- :") && !startsWithDigit(strings.TrimPrefix(s.peek(1), "-")):
			s.add(1) // punctuation
		default:
			s.add(1, item{concept: "?"})
		}
	}
	return withChains(withMutations(withSuperlatives(s.items)))
}

// withSuperlatives puts a superlative at the end in front of the segments that it is of: which helix is the longest.
func withSuperlatives(items []item) []item {
	last := len(items) - 1
	k := slices.IndexFunc(items, func(it item) bool { return vocabulary().states[it.concept].letters != "" })
	if k < 1 || !items[k-1].is("which what") || !items[last].is("longest shortest") ||
		slices.ContainsFunc(items[k+1:last], func(it item) bool { return !it.is("filler ask of in chain @chain") }) {
		return items
	}
	return slices.Concat(items[:k], items[last:], items[k:last])
}

// withMutations finds what residues would be mutated to, which selects none: what could I mutate to alanine.
func withMutations(items []item) []item {
	from := slices.IndexFunc(items, func(it item) bool { return it.concept == "mutable" })
	for to := from + 1; from >= 0 && to < len(items); to++ {
		if !oneOf(strings.ToLower(items[to].text), "to into") {
			continue
		}
		for k := to + 1; k < len(items) && items[k].is("filler any @name @class"); k++ {
			if items[k].is("@name @class") {
				items[k] = item{concept: "!mutation", text: textOf(items[to : k+1])}
			}
		}
	}
	return items
}

// withChains adds to residues the chain that follows them: Lys6 of chain B; residues 5, 8 and 9 in chain A. A ligand
// can only be of a chain: the zinc of chain B.
func withChains(items []item) (out []item) {
	for _, it := range items {
		n, k := len(out), len(out)-1
		for k >= 0 && out[k].is("of in filler") {
			k--
		}
		isChain := it.concept == "@chain" && it.unclear == ""
		isKind := it.is("rna dna nucleic protein") && it.kind() != ""
		afterResidues := k >= 0 && out[k].concept == "@residue"
		switch {
		case isChain && n > 1 && out[n-1].concept == "of" && out[n-2].concept == "@ligand":
			out[n-2].names = []string{out[n-2].names[0] + " of chain " + it.names[0]}
		case isChain && afterResidues && out[k].mention.chain == "":
			out = out[:k+1]
			describeLast(out, func(m *mention) { m.chain = cmp.Or(m.chain, it.names[0]) })
		case isKind && afterResidues && k < n-1:
			out = out[:k+1]
			describeLast(out, func(m *mention) { m.kind = cmp.Or(m.kind, it.kind()) })
		case it.concept == "@residue" && n > 0 && out[n-1].kind() != "":
			it.mention.kind = cmp.Or(it.mention.kind, out[n-1].kind())
			out = append(out[:n-1], it)
		default:
			out = append(out, it)
		}
	}
	return out
}

// describeLast adds to each of the residues at the end of a list.
func describeLast(items []item, add func(*mention)) {
	for k := len(items) - 1; k >= 0 && items[k].is("@residue & or filler @atom of"); k-- {
		add(&items[k].mention)
	}
}

// rule applies the first rule that fits. A number with a unit after it is nothing that these read, but for a residue
// whose insertion code or chain stands behind its number, such as 82 A.
func (s *scanner) rule() bool {
	text := strings.Join(facts.Head(s.words, 12), " ") + " "
	numbered := strings.ContainsAny(text, "0123456789")
	for _, r := range vocabulary().rules {
		if r.digits && !numbered {
			continue
		}
		m := r.pattern.FindStringSubmatch(text)
		if m == nil || s.names[s.words[0]] && r.name != "of chain" {
			continue
		}
		rest := text[len(m[0]):]
		code := oneOf(r.name, "numbers named") && strings.HasPrefix(rest, "A ") && !s.shouted
		if vocabulary().matches("isUnit", rest) && !code {
			continue
		}
		if items := s.read(r.name, m); items != nil {
			s.addKind(m[0], items)
			s.add(wordsIn(m), items...)
			return true
		}
	}
	return false
}

// addKind gives residues the kind of polymer of a noun among the words that a rule has read: the last ten nucleotides.
// In a list, that of the first goes on: nucleotides 5 and 8.
func (s *scanner) addKind(text string, items []item) {
	kind := ""
	if fields := strings.Fields(text); len(fields) > 0 {
		for k := range fields {
			concept, _ := vocabulary().lookup(fields[k:])
			if of, which, ok := strings.Cut(concept, " "); ok && of == "residue" {
				kind = cmp.Or(kind, which)
			}
		}
	}
	k := len(s.items) - 1
	for k >= 0 && s.items[k].is("& or") {
		k--
	}
	if k >= 0 && k < len(s.items)-1 && kind == "" && !vocabulary().isResidue(strings.Fields(text + " .")[0]) {
		kind = s.items[k].mention.kind
	}
	for i := range items {
		if items[i].concept == "@residue" {
			items[i].mention.kind = kind
		}
	}
}

// read makes the items of a rule from what its pattern matched. It returns nil where that means something else, and may
// change m[0], which is what the scanner passes over.
func (s *scanner) read(rule string, m []string) []item {
	switch rule {
	case "mutation":
		return s.mutation(m)
	case "chain end":
		return s.chainEnd(m)
	case "@radius":
		return s.radius(m)
	case "@ph", "@rmsd":
		return []item{valueItem(rule, m[1:])}
	case "@limit":
		return s.limit(m)
	case "spoken":
		return s.spokenNumber(m)
	case "up to":
		return s.upTo(m)
	case "band":
		if a, b := decimal(m[1]), decimal(m[2]); s.has("confidence") && !s.has("average") {
			return []item{{concept: "@limit", value: min(a, b), above: true}, {concept: "@limit", value: max(a, b)}}
		}
		return nil
	case "between":
		return s.betweenNumbers(m)
	case "named":
		return s.namedResidue(m)
	case "numbers":
		return s.numbers(m)
	case "bare number":
		return s.bareNumber(m)
	case "of chain":
		return s.residueOfChain(m)
	case "open end":
		return s.openEnd(m)
	}
	return s.announcedChain(m)
}

// valueItem is a number with its unit: one of some groups is the number, and another may say that it is the least.
func valueItem(concept string, groups []string) item {
	it := item{concept: concept}
	for _, group := range groups {
		it.value = max(it.value, decimal(group))
		it.above = it.above || vocabulary().matches("isMore", group+" ")
	}
	return it
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
	case "bothchains":
		if it.concept = "chain"; len(s.x.Polymers) != 2 {
			it.unclear = fmt.Sprintf("The structure has %s, so “%s” does not say which are meant.",
				words.Quantity(len(s.x.Polymers), "chain", "chains"), strings.Join(s.words[:n], " "))
		}
	case "buried":
		if n > 1 && strings.EqualFold(s.words[n-1], "inside") && vocabulary().matches("isWhole", s.peek(n)+" ") {
			s.add(1, item{concept: "ask"}) // salt bridges are inside chain B
			return
		}
	case "sidechain":
		it.concept, it.names = "residue", []string{kind}
	case "@nth", "@limit", "@ph":
		it.value, it.above = decimal(it.names[0]), len(it.names) > 1
	case "@ligand":
		s.ligandPhrase(rest, n)
		return
	case "@role":
		s.roles(it.names, n)
		return
	case "@residue":
		if s.vaguePart(n) {
			return
		}
		var ends []item
		for _, value := range it.names {
			ends = append(ends, item{concept: "&"}, item{concept: kind, mention: mention{first: int(decimal(value))}})
		}
		s.add(n, ends[1:]...)
		return
	}
	if kind == "@name" {
		it = s.residueOrLigand(it.names, n)
	}
	s.add(n, it)
}

// residueOrLigand is the item of n words that name residues, unless the structure has a free molecule of that name: a
// number behind it or a word for residues says which is meant.
func (s *scanner) residueOrLigand(names []string, n int) item {
	it := item{concept: "@name", names: names}
	isFree := slices.ContainsFunc(names, func(code string) bool { return s.ligands[code] })
	if isFree && !vocabulary().isResidue(s.peek(n)) {
		it.unclear = fmt.Sprintf("“%s” can mean residues of a chain or a ligand of this structure; please write %s "+
			"residues, or %s and the number of the ligand.", strings.Join(s.words[:n], " "), names[0], names[0])
	}
	return it
}

// vaguePart refuses the N-terminal helix, half or region: where these begin and end is not certain. It returns false
// where n words name something else.
func (s *scanner) vaguePart(n int) bool {
	adjective := vocabulary().matches("isAdjective", strings.Join(s.words[:n], " ")+" ")
	if !adjective || !vocabulary().matches("isPart", s.peek(n)+" ") {
		return false
	}
	why := fmt.Sprintf("“%s” has no certain first and last residue; please name them by their numbers, or ask of the "+
		"first or the last helix, strand or so many residues.", strings.Join(s.words[:n+1], " "))
	s.add(n+1, item{concept: "@residue", unclear: why})
	return true
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

// decimal reads a number in digits or one that vocabulary.txt spells out; 0 where it is none.
func decimal(text string) float64 {
	if i := slices.Index(strings.Fields(vocabulary().lines["words spoken"]), strings.ToLower(text)); i >= 0 {
		return float64(i + 1)
	}
	v, _ := strconv.ParseFloat(text, 64)
	return v
}

func isNumber(word string) bool {
	_, err := strconv.Atoi(word)
	return err == nil
}

// chainEnd counts residues from an end of the chain, and not segments.
func (s *scanner) chainEnd(m []string) []item {
	n := int(decimal(m[2]))
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

// single reads one word that names a chain, a residue, a ligand or an atom.
func (s *scanner) single() bool {
	w, next := s.peek(0), s.peek(1)
	up, low, after := strings.ToUpper(w), strings.ToLower(w), strings.ToLower(next)
	names := letterNames(w)
	isAtom := s.atoms[w] && oneOf(after, "of atom") // and of no chain: the N of residue 5
	code := s.ligandCode(w, next)
	id := s.bareChain(w)
	switch {
	case s.countsLetter(w, next):
		s.add(1, s.base(w[0]))
	case s.isLettered(w), id == "" && w == "a" && s.last != "" && (next == "" || oneOf(after, "and or - /")):
		s.add(1, item{concept: "?"})
	case id != "" && !isAtom:
		s.add(1, item{concept: "@chain", names: []string{id}})
	case code != "" && (names == nil || isNumber(next)):
		s.ligand(code, 1)
	case names != nil && w != "his" && len(w) > 1 && (len(w) > 2 || w == up):
		s.add(1, s.residueOrLigand(names, 1))
	case isAtom, s.atoms[up] && (w == up || oneOf(low, "ca cb")) && len(up) > 1, s.atoms[up] && after == "atom":
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
		return code + " " + up[len(code):]
	}
	return ""
}

// addLigand enters a molecule or ion of the structure, by its code and, for one of a single atom, by its element.
func (s *scanner) addLigand(site *facts.Site) {
	code := site.Ref.Name
	if atoms := site.Residue.Atoms; !s.ligands[code] && len(atoms) == 1 {
		s.ions[atoms[0].Element] = append(s.ions[atoms[0].Element], code)
	}
	s.ligands[code] = true
}

// maxIonCodes is the most codes that one element may have for its name to stand for all of them.
const maxIonCodes = 8

// ligandPhrase adds a ligand that n words of the vocabulary name by its code, or by its element if it is one: “iron” is
// FE and FE2, and CHARMM calls chloride CLA.
func (s *scanner) ligandPhrase(code string, n int) {
	codes := s.ions[code]
	if len(codes) > maxIonCodes {
		s.add(n, item{concept: "@ligand", names: []string{code}, unclear: fmt.Sprintf("The structure has %s under %d "+
			"codes; please name one by its code.", strings.Join(s.words[:n], " "), len(codes))})
		return
	}
	s.ligand(cmp.Or(strings.Join(codes, "/"), code), n)
}

// ligand adds a ligand of n words, with the number after it: ZN 202.
func (s *scanner) ligand(code string, n int) {
	if isNumber(s.peek(n)) && !vocabulary().matches("isUnit", s.peek(n+1)+" ") {
		code += " " + s.peek(n)
		n++
	}
	s.add(n, item{concept: "@ligand", names: []string{code}})
}

// isLettered reports whether a letter counts what stands before it, such as helix A and strand I.
func (s *scanner) isLettered(w string) bool {
	return len(w) == 1 && w != strings.ToLower(w) && !s.shouted && vocabulary().matches("isSegment", s.last+" ")
}

// countsLetter reports whether a question asks how many there are of a letter.
func (s *scanner) countsLetter(w, next string) bool {
	goesOn := next != "" && !listed(strings.ToLower(next), "verb") && !oneOf(vocabulary().find(next), "ask in of")
	return strings.EqualFold(s.last, "many") && len(w) == 1 && strings.Contains("ACGTU", w) && !goesOn
}

// base is the item of a nucleotide by its letter, which is unknown where there is no nucleic acid.
func (s *scanner) base(letter byte) item {
	if len(s.polymersOf("nucleic")) == 0 {
		return item{concept: "?"}
	}
	it := item{concept: "@name"}
	for _, k := range kinds["nucleic"].of {
		if code, ok := structure.Component(k, letter); ok {
			it.names = append(it.names, code)
		}
	}
	return it
}

func startsWithDigit(word string) bool { return word != "" && word[0] >= '0' && word[0] <= '9' }
