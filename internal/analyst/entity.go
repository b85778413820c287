package analyst

import (
	"slices"
	"strconv"
	"strings"

	"pleat/internal/facts"
	"pleat/internal/structure"
)

// item is one thing a question says: a concept, and for concepts that start with '@' what it names.
type item struct {
	concept string
	text    string
	mention mention // @residue
	name    string  // @chain, @atom, @ligand, @resname, @class
	known   bool    // @chain, @ligand: the structure has it
	value   float64 // @radius, @ph, @threshold, @nth (-1: the last)
	high    float64 // @band: from value to high
	above   bool    // @threshold
}

// mention is a residue or a range of residues as a question names it.
type mention struct {
	chain  string // empty: not said
	lo, hi int    // numbers
	names  []string
	first  int // so many residues from the chain's beginning, or, if negative, before its end; 0: numbered
	half   int // 1 or 2: the chain's first or second half; 0: none
}

func (m mention) single() bool {
	return m.half == 0 && (m.first == 0 && m.lo == m.hi || m.first == 1 || m.first == -1)
}

// reader turns words into items by looking at what the structure holds.
type reader struct {
	x       *facts.Index
	chains  map[string]bool
	ligands map[string]bool
	atoms   map[string]bool
	words   []word
	at      int
	items   []item
}

func newReader(x *facts.Index) *reader {
	r := &reader{x: x, chains: map[string]bool{}, ligands: map[string]bool{}, atoms: map[string]bool{}}
	for _, p := range x.Polymers {
		r.chains[x.Structure.Chains[p.Chain].ID] = true
	}
	for i := range x.Sites {
		if !x.Sites[i].Kind.Polymer() {
			r.ligands[x.Sites[i].Ref.Name] = true
		}
	}
	for _, a := range x.Atoms {
		r.atoms[a.Name] = true
	}
	return r
}

// read is the items of one sentence, in order.
func (r *reader) read(words []word) []item {
	r.words, r.at, r.items = words, 0, nil
	for r.at < len(r.words) {
		if low := r.words[r.at].low; r.stretch() || (residueWords[low] || low == "amino") && r.residue() {
			continue
		}
		if c, n := lexicon.look(r.words[r.at:], 2); n > 0 {
			r.add(item{concept: c}, n)
			continue
		}
		if r.number() || r.residue() || r.chain() || r.kindOfResidue() || r.ligand() || r.atom() {
			continue
		}
		w := r.words[r.at]
		if c, n := lexicon.look(r.words[r.at:], 1); n > 0 {
			r.add(item{concept: c}, n)
		} else if fixed := typo(w.low); fixed != "" {
			r.add(item{concept: lexicon.entry[fixed], name: fixed}, 1)
		} else if w.low == "-" || w.low == ":" {
			r.at++
		} else {
			r.add(item{concept: "?"}, 1)
		}
	}
	return r.items
}

func (r *reader) add(it item, n int) {
	parts := make([]string, n)
	for i := range parts {
		parts[i] = r.words[r.at+i].raw
	}
	it.text = strings.Join(parts, " ")
	r.items = append(r.items, it)
	r.at += n
}

func (r *reader) peek(n int) word {
	if i := r.at + n; i >= 0 && i < len(r.words) {
		return r.words[i]
	}
	return word{}
}

// aminoWords are names of residues as people write them, and the component codes they stand for.
var aminoWords = map[string]string{
	"alanine": "ALA", "arginine": "ARG", "asparagine": "ASN", "aspartate": "ASP", "cysteine": "CYS", "glutamine": "GLN",
	"glutamate": "GLU", "glycine": "GLY", "histidine": "HIS", "isoleucine": "ILE", "leucine": "LEU", "lysine": "LYS",
	"methionine": "MET", "phenylalanine": "PHE", "proline": "PRO", "serine": "SER", "threonine": "THR", "tryptophan": "TRP",
	"tyrosine": "TYR", "valine": "VAL", "adenine": "A", "adenosine": "A", "guanine": "G", "guanosine": "G", "cytosine": "C",
	"cytidine": "C", "uracil": "U", "uridine": "U", "thymine": "T", "thymidine": "T", "selenomethionine": "MSE",
}

// residueName reads a residue's name; n is how many words it takes, 0: none.
func residueName(w, next word) (names []string, n int) {
	low := strings.TrimSuffix(w.low, "s")
	for _, l := range [...]string{w.low, low} {
		if code, ok := aminoWords[l]; ok {
			if len(code) == 1 {
				return []string{code, "D" + code}, 1
			}
			return []string{code}, 1
		}
	}
	if (w.low == "aspartic" || w.low == "glutamic") && strings.TrimSuffix(next.low, "s") == "acid" {
		return []string{map[string]string{"aspartic": "ASP", "glutamic": "GLU"}[w.low]}, 2
	}
	for _, l := range [...]string{w.low, low} {
		if up := strings.ToUpper(l); len(l) == 3 && structure.Letter(structure.Protein, up) != structure.Unknown {
			if _, numbered := figure(next); (l == "his" || l == "met" || l == "pro" || l == "ser" || l == "val") && w.raw == w.low && !numbered && next.low != "-" {
				return nil, 0 // an English word, more likely
			}
			return []string{up}, 1
		}
	}
	if w.raw == strings.ToUpper(w.raw) && len(w.raw) == 2 && structure.Letter(structure.DNA, w.raw) != structure.Unknown {
		return []string{w.raw}, 1
	}
	return nil, 0
}

var residueWords = set("residue residues position positions res number site sites nucleotide nucleotides base bases aa resid resi")

// residue reads mentions of residues: K8, Lys8, lysine 8, LYS A 8, residue 8, residues 3, 5 and 9-12, A:8, the first 10 residues, 8-12.
func (r *reader) residue() bool {
	w := r.peek(0)
	if names, n := residueName(w, r.peek(1)); n > 0 {
		return r.named(names, n)
	}
	if names, number, rest := fused(w.raw); names != nil {
		return r.fusedResidue(names, number, rest)
	}
	if r.chains[w.raw] && r.peek(1).low == ":" {
		if n, names, ok := r.numberOrName(2); ok {
			r.add(item{concept: "@residue", mention: mention{chain: w.raw, lo: n, hi: n, names: names}}, 3)
			return true
		}
	}
	at := 0
	switch {
	case residueWords[w.low]:
		at = 1
	case w.low == "amino" && strings.HasPrefix(r.peek(1).low, "acid"):
		at = 2
	}
	for at > 0 && (r.peek(at).low == "number" || r.peek(at).low == "numbers" || r.peek(at).low == "no" || r.peek(at).low == ":") {
		at++
	}
	if at > 0 {
		if _, ok := figure(r.peek(at)); ok {
			return r.numbers(at)
		}
		return false
	}
	return r.bare()
}

// bare reads a figure that only its company makes a residue: 8-12, between 19 and 26, residue 3 and 9.
func (r *reader) bare() bool {
	w := r.peek(0)
	_, ok := figure(w)
	if _, word := spoken[w.low]; !ok || word {
		return false
	}
	if hi, ok := figure(r.peek(2)); ok && hi > 0 && r.peek(-1).low == "between" && r.peek(1).low == "and" { // between 19 and 26
		lo, _ := figure(w)
		if r.said("confidence") && !r.said("average") {
			r.add(item{concept: "@band", value: float64(min(lo, hi)), high: float64(max(lo, hi))}, 3)
			return true
		}
		r.add(item{concept: "@residue", mention: mention{lo: min(lo, hi), hi: max(lo, hi)}}, 3)
		return true
	}
	if hi, n := r.rangeEnd(1); n > 0 && hi > 0 { // 8-12 or from 8 to 12
		return r.numbers(0)
	}
	if k := len(r.items) - 1; k >= 0 && slices.ContainsFunc(r.items, func(it item) bool { return it.concept == "@residue" }) {
		for ; k >= 0 && (soft[r.items[k].concept] || r.items[k].concept == ""); k-- {
			continue
		}
		if k >= 0 && r.items[k].concept == "@residue" { // residue 3 and 9
			return r.numbers(0)
		}
	}
	return false
}

// rangeEnd reads "- 12", "to 12", "through 12" at n words from here: the number and how many words.
func (r *reader) rangeEnd(n int) (hi, words int) {
	switch r.peek(n).low {
	case "-", "to", "through", "thru", "until", "till", "until residue", ":":
		at := n + 1
		for residueWords[r.peek(at).low] {
			at++
		}
		if v, ok := figure(r.peek(at)); ok {
			return v, at + 1 - n
		}
	}
	return 0, 0
}

// numbers reads a list of numbers and ranges that starts at n words from here.
func (r *reader) numbers(n int) bool {
	for {
		lo, ok := figure(r.peek(n))
		if !ok {
			return true
		}
		m := mention{lo: lo, hi: lo}
		n++
		if hi, words := r.rangeEnd(n); words > 0 {
			m.hi, n = hi, n+words
		}
		if m.lo > m.hi {
			m.lo, m.hi = m.hi, m.lo
		}
		if next := r.peek(n).low; next == "onward" || next == "onwards" || next == "on" && r.peek(-1).low == "from" {
			_, m.hi = r.pairRefs()
			m.hi, n = max(m.hi, m.lo+1), n+1
		}
		r.add(item{concept: "@residue", mention: m}, n)
		next := 0
		for next < 2 && (r.peek(next).low == "," || r.peek(next).low == "and" || r.peek(next).low == "or") {
			next++
		}
		if _, ok := figure(r.peek(next)); !ok || next == 0 {
			return true
		}
		if _, isWord := spoken[r.peek(next).low]; isWord {
			return true
		}
		n = next
	}
}

// numberOrName reads 8, K8 or LYS8 at n words from here.
func (r *reader) numberOrName(n int) (number int, names []string, ok bool) {
	if v, ok := figure(r.peek(n)); ok {
		return v, nil, true
	}
	names, number, rest := fused(r.peek(n).raw)
	return number, names, names != nil && rest == ""
}

// named reads what follows a residue's name: its number, or nothing.
func (r *reader) named(names []string, n int) bool {
	chain := ""
	at := n
	switch next := r.peek(at); {
	case r.chains[next.raw] && len(next.raw) <= 2: // LYS A 8
		if _, ok := figure(r.peek(at + 1)); ok {
			chain, at = next.raw, at+1
		}
	case next.low == "residue" || next.low == "number" || next.low == "-":
		if _, ok := figure(r.peek(at + 1)); ok {
			at++
		}
	}
	number, ok := figure(r.peek(at))
	if _, isWord := spoken[r.peek(at).low]; !ok || isWord {
		for i, name := range names {
			if i == 0 {
				r.add(item{concept: "@resname", name: name}, n)
			} else {
				r.items = append(r.items, item{concept: "@resname", name: name})
			}
		}
		return true
	}
	if names2, n2 := residueName(r.peek(at+1), word{}); n2 > 0 && r.peek(at+1).low != "" && len(names2) > 0 && r.peek(at+1).raw != r.peek(at+1).low {
		r.add(item{concept: "!mutation"}, at+1+n2) // Lys 8 Ala
		return true
	}
	r.drop(names)
	r.add(item{concept: "@residue", mention: mention{chain: chain, lo: number, hi: number, names: names}}, at+1)
	if hi, words := r.rangeEnd(0); words > 0 && r.peek(0).low == "-" && hi > number { // Lys 8 - 12
		r.items[len(r.items)-1].mention = mention{chain: chain, lo: number, hi: hi}
		r.at += words
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
		for _, k := range [...]structure.Kind{structure.Protein, structure.RNA, structure.DNA} {
			if name, ok := structure.Component(k, up[0]); ok && up != "B" && up != "Z" && up != "X" && up != "O" && up != "U" || ok && k == structure.RNA {
				names = append(names, name)
			}
		}
	} else if full, n := residueName(word{up, strings.ToLower(up)}, word{"1", "1"}); n == 1 {
		names = full
	}
	return names, number, raw[j:]
}

func (r *reader) fusedResidue(names []string, number int, rest string) bool {
	if rest != "" {
		other, _, _ := fused(rest + "1")
		if other == nil {
			return false
		}
		r.add(item{concept: "!mutation"}, 1)
		return true
	}
	w := r.peek(0)
	if (r.atoms[w.raw] || strings.HasSuffix(w.raw, "'")) && !r.exists(names, number) {
		return false // an atom's name: C8
	}
	if next := r.peek(1); next.low == "mutation" || next.low == "to" && len(r.peek(2).raw) == 3 {
		if _, n := residueName(r.peek(2), word{}); n > 0 {
			r.add(item{concept: "!mutation"}, 3)
			return true
		}
	}
	m := mention{lo: number, hi: number, names: names}
	n := 1
	if r.peek(1).low == "-" || r.peek(1).low == "to" || r.peek(1).low == "through" {
		if hi, _, ok := r.numberOrName(2); ok && hi > number {
			m, n = mention{lo: number, hi: hi}, 3
		}
	}
	r.drop(names)
	r.add(item{concept: "@residue", mention: m}, n)
	return true
}

// drop forgets the same name said just before: the methionine M1.
func (r *reader) drop(names []string) {
	k := len(r.items) - 1
	for k >= 0 && (r.items[k].concept == "&" || r.items[k].concept == "") && k > len(r.items)-3 {
		k--
	}
	if k >= 0 && r.items[k].concept == "@resname" && slices.Contains(names, r.items[k].name) {
		r.items = r.items[:k]
	}
}

func (r *reader) exists(names []string, number int) bool {
	for i := range r.x.Sites {
		if s := &r.x.Sites[i]; s.Kind.Polymer() && s.Ref.Number == number && slices.Contains(names, s.Ref.Name) {
			return true
		}
	}
	return false
}

var (
	chainWords = set("chain chains subunit subunits protomer protomers")
	chainAfter = set("between and of in on from to with for - / , by against or chain chains does is do than has")
)

// chain reads chain A, chains A, B and C, and a bare A where only a chain can be meant.
func (r *reader) chain() bool {
	w := r.peek(0)
	if chainWords[w.low] {
		id := r.chainName(r.peek(1), true)
		if id == "" {
			return false
		}
		if _, n := lexicon.look(r.words[r.at+1:], 2); n > 0 && !r.chains[id] { // the chain's N terminus
			return false
		}
		r.at++
		for {
			id := r.chainName(r.peek(0), true)
			r.add(item{concept: "@chain", name: id, known: r.chains[id]}, 1)
			n := 0
			for n < 2 && (r.peek(n).low == "," || r.peek(n).low == "and" || r.peek(n).low == "-" || r.peek(n).low == "/" || r.peek(n).low == "or" || r.peek(n).low == "to" || r.peek(n).low == "with") {
				n++
			}
			if n == 0 || r.chainName(r.peek(n), false) == "" {
				return true
			}
			r.at += n
		}
	}
	id := r.chainName(w, false)
	if id == "" {
		return false
	}
	before, after := r.peek(-1).low, r.peek(1).low
	if r.at == 0 && !(after == "and" || after == "-" || after == "/" || chainWords[after]) {
		return false
	}
	residueBefore := len(r.items) > 0 && r.items[len(r.items)-1].concept == "@residue"
	if chainAfter[before] || residueBefore || chainWords[after] || len(id) == 1 && id != "I" && before != "" {
		r.add(item{concept: "@chain", name: id, known: true}, 1)
		if chainWords[r.peek(0).low] {
			r.at++
		}
		return true
	}
	return false
}

// chainName is the chain a word names, as the structure writes it; empty: none. After the word "chain" an unknown name is one too.
func (r *reader) chainName(w word, announced bool) string {
	if r.chains[w.raw] {
		return w.raw
	}
	if !announced {
		return ""
	}
	if up := strings.ToUpper(w.raw); r.chains[up] && len(w.raw) == 1 {
		return up
	}
	_, isWord := lexicon.entry[w.low]
	_, isNumber := figure(w)
	if (len(w.raw) == 1 && w.raw[0] >= 'A' || len(w.raw) <= 4 && w.raw == strings.ToUpper(w.raw) && !isNumber) && len(w.raw) > 0 && w.raw[0] > '/' && w.raw[0] != ':' && (!isWord || w.raw != w.low) {
		return w.raw
	}
	return ""
}
