package structure

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"pleat/internal/words"
)

// builder turns the atoms of a file, in the order of the file, into a Structure. ReadCIF and ReadPDB both feed it.
type builder struct {
	// in supplies line numbers for errors, and the limits.
	in    *lines
	title string
	// method is how the structure was determined, as the file says it, and computed that it says in another way that it
	// is a model. statesPLDDT is that it calls its B-factors pLDDT.
	method                string
	computed, statesPLDDT bool
	statesRMSD            bool // the file calls its B-factors predicted RMSD
	metrics               bool // the file lists pLDDT or predicted RMSD of residues
	cell                  Cell

	atoms int
	count int // residues
	// chains are in order of their first atom; byID finds them by name.
	chains []*rawChain
	byID   map[string]*rawChain
	// strings holds the interned strings, see intern.
	strings map[string]string
	// pending are the atoms of the residue being read, and labelled is that some have an alternative location.
	pending  []pendingAtom
	labelled bool
	// last and key identify the residue of the pending atoms.
	last *rawChain
	key  residueKey
	seen map[[3]string]bool // see repeated
	// joined is how many atoms were looked at again because others of their residues came later.
	joined int
	copies copies
}

// rawChain is a chain as a file names it. It may hold a polymer, its ligands and its waters together.
type rawChain struct {
	name      string // label, else id
	id, label string
	entity    string // the file's entity id; empty: none given
	residues  []Residue
	segment   []int        // per residue: how many TER records came before it
	rooted    map[int]bool // segments with an ATOM record of a polymer
	// ters counts the TER records of the chain so far.
	ters int
	// top is the highest key so far, and places the last residue of each key, from the first key on that is not higher
	// than all before.
	top    residueKey
	places map[residueKey]int
	// listed are the components of the whole sequence that the file has of the chain (SEQRES).
	listed map[string]bool
	// alternatives are all atoms of the residues with alternative locations.
	alternatives map[int][]pendingAtom
}

// residueKey identifies a residue within a chain by sequence position, author number and insertion code.
type residueKey struct {
	// seq is the position in the sequence, auth the author's number.
	seq, auth int
	ins       string
}

// pendingAtom is an atom of the residue being read, with its alternative location, component and HETATM flag.
type pendingAtom struct {
	Atom
	alt, comp string
	het       bool
}

// newBuilder returns an empty builder that reports errors and limits of in.
func newBuilder(in *lines) *builder {
	return &builder{in: in, byID: map[string]*rawChain{}, strings: map[string]string{}, seen: map[[3]string]bool{}}
}

// intern returns one shared copy of s, because atoms repeat few distinct strings.
func (b *builder) intern(s []byte) string {
	if v, ok := b.strings[string(s)]; ok {
		return v
	}
	v := string(s)
	b.strings[v] = v
	return v
}

// chain returns the chain that label, or else id, names, and creates it at first use. It fails beyond
// Limits.Chains.
func (b *builder) chain(id, label, entity string) (*rawChain, error) {
	name := cmp.Or(label, id)
	if b.last != nil && b.last.name == name {
		return b.last, nil
	}
	c := b.byID[name]
	if c == nil {
		if len(b.chains) == b.in.lim.Chains {
			return nil, b.in.limit("there are more than the %d chains allowed", b.in.lim.Chains)
		}
		c = &rawChain{name: name, id: id, label: label, entity: entity}
		b.byID[name] = c
		b.chains = append(b.chains, c)
	}
	return c, nil
}

// atom adds one atom to chain c. It closes the residue being read where the atom belongs to another one, and fails
// beyond Limits.Atoms.
func (b *builder) atom(c *rawChain, key residueKey, a pendingAtom) error {
	if b.atoms++; b.atoms > b.in.lim.Atoms {
		return b.in.limit("there are more than the %d atoms allowed", b.in.lim.Atoms)
	}
	same := c == b.last && key == b.key && len(b.pending) > 0
	if same {
		before := &b.pending[len(b.pending)-1]
		same = before.comp == a.comp || before.alt != "" && a.alt != ""
	}
	if !same || key.seq == 0 && b.pending[0].Name == a.Name && b.pending[0].alt == a.alt && b.repeats(&a) {
		if err := b.flush(); err != nil {
			return err
		}
	}
	b.last, b.key = c, key
	b.labelled = b.labelled || a.alt != ""
	b.pending = append(b.pending, a)
	return nil
}

// repeats reports whether an atom that is named as the first one of the residue being read begins another residue with
// the same number, as far as the author's numbers can tell. Atoms of ligands may share a name.
func (b *builder) repeats(a *pendingAtom) bool {
	return a.Name == a.comp || waters[a.comp] || polymerKind(a.comp) != "" && a.Pos != b.pending[0].Pos &&
		(a.Occupancy >= 1 || b.pending[0].Occupancy >= 1)
}

// flush closes the residue being read and adds it to its chain, or its atoms to the residue of the same key that came
// earlier. It fails beyond Limits.Residues, and where a residue of a polymer has an atom at two places.
func (b *builder) flush() error {
	if len(b.pending) == 0 {
		return nil
	}
	if err := b.settleRepeated(); err != nil {
		return err
	}
	c := b.last
	place, joined, err := b.join(c)
	if err != nil {
		return err
	}
	if !joined {
		if b.count++; b.count > b.in.lim.Residues {
			return b.in.limit("there are more than the %d residues allowed", b.in.lim.Residues)
		}
		c.residues = append(c.residues, Residue{})
		c.segment = append(c.segment, c.ters)
	}
	if b.labelled {
		if c.alternatives == nil {
			c.alternatives = map[int][]pendingAtom{}
		}
		c.alternatives[place] = slices.Clone(b.pending)
	}
	if len(b.pending) > 0 {
		c.residues[place] = b.resolve()
	}
	b.pending, b.labelled = b.pending[:0], false
	return nil
}

// resolve builds a residue from the pending atoms and chooses among alternative locations. It uses the alternative
// of the highest mean occupancy, the first of equals; atoms missing from it come from another alternative of the
// same component.
func (b *builder) resolve() Residue {
	first := &b.pending[0]
	r := Residue{
		Comp:  first.comp,
		Seq:   b.key.seq,
		Auth:  b.key.auth,
		Ins:   b.key.ins,
		Het:   first.het,
		Atoms: make([]Atom, 0, len(b.pending)),
	}
	if !b.labelled {
		for i := range b.pending {
			r.Atoms = append(r.Atoms, b.pending[i].Atom)
		}
		return r
	}
	b.labelFirst()
	chosen := b.chooseAlternative()
	named := map[string]int{} // place in r.Atoms of an atom from another alternative; -1: settled
	for i := range b.pending {
		if a := &b.pending[i]; a.alt == chosen {
			if _, ok := named[a.Name]; !ok && len(named) == 0 {
				r.Comp, r.Het = a.comp, a.het
			}
			named[a.Name] = -1
		}
	}
	for i := range b.pending {
		a := &b.pending[i]
		if a.comp != r.Comp {
			continue
		}
		if a.alt == "" || a.alt == chosen {
			r.Atoms = append(r.Atoms, a.Atom)
			continue
		}
		at, seen := named[a.Name]
		switch {
		case !seen:
			named[a.Name] = len(r.Atoms)
			r.Atoms = append(r.Atoms, a.Atom)
		case at >= 0 && a.Occupancy > r.Atoms[at].Occupancy:
			r.Atoms[at] = a.Atom
		}
	}
	return r
}

// chooseAlternative returns the alternative location of the highest mean occupancy, the first of equals.
func (b *builder) chooseAlternative() string {
	type tally struct {
		alt string
		sum float64
		n   int
	}
	var alts []tally
	at := map[string]int{}
	for i := range b.pending {
		a := &b.pending[i]
		if a.alt == "" {
			continue
		}
		k, ok := at[a.alt]
		if !ok {
			k = len(alts)
			at[a.alt] = k
			alts = append(alts, tally{alt: a.alt})
		}
		alts[k].sum += a.Occupancy
		alts[k].n++
	}
	best := tally{}
	for _, t := range alts {
		if best.n == 0 || t.sum/float64(t.n) > best.sum/float64(best.n)+1e-9 {
			best = t
		}
	}
	return best.alt
}

// entities holds what a file's entity tables say about its molecules. A nil map means that the table is missing.
type entities struct {
	kind map[string]Kind   // by entity id; Protein and so on, Ligand for any non-polymer
	name map[string]string // by entity id
	asym map[string]string // entity id by label_asym_id
}

// structure builds the Structure from everything read. It fails where the file has no atoms.
func (b *builder) structure(e entities) (*Structure, error) {
	if err := b.flush(); err != nil {
		return nil, err
	}
	switch {
	case b.atoms == 0:
		return nil, &ParseError{Format: b.in.format, Reason: "there are no atoms"}
	case b.copies.found():
		return nil, b.errCopy()
	}
	s := &Structure{Title: b.title, Cell: b.cell}
	s.Origin, s.Method = b.origin()
	s.PLDDTInB = b.statesPLDDT || titleOfPrediction(b.title)
	numbered := b.numbersPolymers()
	for _, raw := range b.chains {
		first, entity := len(s.Chains), raw.entity
		if entity == "" {
			entity = e.asym[raw.label]
		}
		kind, known := e.kind[entity]
		if known && raw.label != "" {
			s.Chains = append(s.Chains, raw.undivided(kind))
		} else {
			entity = ""
			s.Chains = append(s.Chains, raw.split(numbered)...)
		}
		for i := first; i < len(s.Chains); i++ {
			s.Chains[i].Name, s.Chains[i].Entity = e.name[entity], entityNumber(entity)
		}
		if len(s.Chains) > b.in.lim.Chains {
			return nil, &ParseError{
				Format: b.in.format, Reason: "there are more than the " + strconv.Itoa(b.in.lim.Chains) +
					" chains and ligands allowed", Limit: true,
			}
		}
	}
	for i := range s.Chains {
		s.Chains[i].tidy()
	}
	if b.statesRMSD {
		s.readRMSD()
	}
	if twice := s.twice(); twice != "" {
		reason := "chain " + twice + " is there twice in the same place; want it once"
		return nil, &ParseError{Format: b.in.format, Reason: reason}
	}
	s.distinguish()
	s.setLabels()
	for i, n := range s.entities() {
		s.Chains[i].Entity = n
	}
	return s, nil
}

// readRMSD gives the residues of polymers their B-factors as predicted RMSD.
func (s *Structure) readRMSD() {
	for i := range s.Chains {
		c := &s.Chains[i]
		for j := range c.Residues {
			if v := meanB(&c.Residues[j]); c.Kind.Polymer() && v >= 0 {
				c.Residues[j].PredictedRMSD = &v
			}
		}
	}
}

// undivided returns the chain undivided, with the kind that the file's entity tables give.
func (c *rawChain) undivided(kind Kind) Chain {
	out := Chain{ID: c.id, Label: c.label, Kind: kind, Residues: c.residues}
	switch {
	case kind == "polymer":
		out.Kind = out.guessPolymer()
	case kind == Ligand && len(c.residues) == 1 && c.residues[0].guessKind() == Ion:
		out.Kind = Ion
	}
	return out
}

// split separates the polymers, ligands, ions and waters that a file lists in one chain. It returns polymers first,
// then each ligand, then all waters as one chain.
func (c *rawChain) split(numbered bool) []Chain {
	var polymers, ligands []Chain
	water := Chain{ID: c.id, Kind: Water}
	c.placeCaps()
	kinds := make([]Kind, len(c.residues))
	for i := range c.residues {
		kinds[i] = c.residues[i].guessKind()
	}
	member := c.members(kinds, numbered)
	open := -1 // segment of the last residue of a polymer, which is before
	var before *Residue
	for i := range c.residues {
		r, kind := &c.residues[i], kinds[i]
		switch {
		case member[i]:
			if len(polymers) == 0 || !continues(before, r, open != c.segment[i]) {
				polymers = append(polymers, Chain{ID: c.id})
			}
			open, before = c.segment[i], r
			p := &polymers[len(polymers)-1]
			p.Residues = append(p.Residues, *r)
		case kind == Water:
			water.Residues = append(water.Residues, *r)
		default:
			if kind.Polymer() {
				kind = Ligand
			}
			ligands = append(ligands, Chain{ID: c.id, Kind: kind, Residues: []Residue{*r}})
		}
	}
	for i := range polymers {
		polymers[i].Kind = polymers[i].guessPolymer()
	}
	out := append(polymers, ligands...)
	if len(water.Residues) > 0 {
		out = append(out, water)
	}
	if len(out) > 0 {
		out[0].Label = c.label
	}
	return out
}

// tidy corrects Seq and Auth so that they hold what Residue promises.
func (c *Chain) tidy() {
	before, ordered := 0, true
	for i := range c.Residues {
		ordered = ordered && c.Residues[i].Seq > before
		before = c.Residues[i].Seq
	}
	for i := range c.Residues {
		r := &c.Residues[i]
		switch {
		case !c.Kind.Polymer():
			r.Seq, r.Het = 0, true
		case !ordered:
			r.Seq = i + 1
		}
	}
	for i, n := range c.authNumbers() {
		c.Counted = c.Counted || c.Residues[i].Auth != n
		c.Residues[i].Auth = n
	}
}

// authNumbers returns the author numbers of the residues where these are unique. Otherwise it returns positions in
// the sequence or, outside polymers, numbers counted from 1.
func (c *Chain) authNumbers() []int {
	out := make([]int, len(c.Residues))
	zero, unique := true, true
	for i := range c.Residues {
		r := &c.Residues[i]
		out[i] = r.Auth
		zero = zero && r.Auth == 0 && r.Ins == ""
		if i > 0 {
			b := &c.Residues[i-1]
			unique = unique && (r.Auth != b.Auth || r.Ins != b.Ins || r.Comp != b.Comp)
		}
	}
	if zero && (len(out) > 1 || c.Kind.Polymer()) || !unique {
		for i := range out {
			if out[i] = i + 1; c.Kind.Polymer() && c.Residues[i].Seq > 0 {
				out[i] = c.Residues[i].Seq
			}
		}
	}
	return out
}

// twice returns the id of a chain whose polymer is there a second time in the same place, as in a file that was
// appended to itself; empty: there is none.
func (s *Structure) twice() string {
	type place struct {
		id  string
		pos Vec // of the first atom
	}
	seen := map[place]*Chain{}
	for i := range s.Chains {
		c := &s.Chains[i]
		if !c.Kind.Polymer() || len(c.Residues[0].Atoms) == 0 {
			continue
		}
		at := place{c.ID, c.Residues[0].Atoms[0].Pos}
		if seen[at] != nil && slices.EqualFunc(seen[at].Residues, c.Residues, samePlace) {
			return c.ID
		}
		seen[at] = c
	}
	return ""
}

func samePlace(a, b Residue) bool {
	return a.Comp == b.Comp && slices.EqualFunc(a.Atoms, b.Atoms, func(a, b Atom) bool {
		return a.Name == b.Name && a.Pos == b.Pos
	})
}

// distinguish gives polymers that have the id of a polymer before them another one: A-2 for the second A. FileID has
// their id in the file.
func (s *Structure) distinguish() {
	const longest = 56 // so that the id is one that can be written
	used, count := map[string]bool{}, map[string]int{}
	for i := range s.Chains {
		used[s.Chains[i].ID] = true
	}
	for i := range s.Chains {
		c := &s.Chains[i]
		if !c.Kind.Polymer() {
			continue
		}
		id := c.ID
		count[id]++
		for n := count[id]; n > 1 && used[c.ID]; n++ {
			c.ID, c.FileID = id[:min(len(id), longest)]+"-"+strconv.Itoa(n), id
		}
		used[c.ID] = true
	}
}

// setLabels gives every chain a unique label: the file's own, else its ID, else the next free one of A … Z, AA, AB
// …
func (s *Structure) setLabels() {
	labelled := true
	for i := range s.Chains {
		labelled = labelled && s.Chains[i].Label != ""
	}
	if !labelled {
		slices.SortStableFunc(s.Chains, func(a, b Chain) int { return cmp.Compare(a.Kind.rank(), b.Kind.rank()) })
	}
	for i, l := range s.labels() {
		s.Chains[i].Label = l
		if l == s.Chains[i].ID {
			s.Chains[i].Label = ""
		}
	}
}

// labels returns one unique label_asym_id per chain: Label where it is set and free, else ID, else the next free
// one.
func (s *Structure) labels() []string {
	out := make([]string, len(s.Chains))
	used := map[string]bool{"": true}
	take := func(i int, l string) {
		if out[i] == "" && !used[l] {
			out[i], used[l] = l, true
		}
	}
	for i := range s.Chains {
		take(i, s.Chains[i].Label)
	}
	for i := range s.Chains {
		if s.Chains[i].Label == "" {
			take(i, s.Chains[i].ID)
		}
	}
	next := 0
	for i := range out {
		for out[i] == "" {
			take(i, words.LetterName(next))
			next++
		}
	}
	return out
}

// entityNumber returns the number that an entity id spells, or 0 where the id is not a plain positive number.
func entityNumber(id string) int {
	if n, err := strconv.Atoi(id); err == nil && n > 0 && strconv.Itoa(n) == id {
		return n
	}
	return 0
}

// entities returns one entity number per chain: the chains' own where entitiesHold, else numbers in order of
// appearance.
func (s *Structure) entities() []int {
	out := make([]int, len(s.Chains))
	if s.entitiesHold() {
		for i := range s.Chains {
			out[i] = s.Chains[i].Entity
		}
		return out
	}
	number := map[string]int{}
	var key strings.Builder
	for i := range s.Chains {
		c := &s.Chains[i]
		key.Reset()
		key.WriteString(string(c.Kind))
		if c.Kind != Water {
			for j := range c.Residues {
				key.WriteByte(' ')
				if c.Kind.Polymer() {
					key.WriteString(strconv.Itoa(c.Residues[j].Seq))
					key.WriteByte(':')
				}
				key.WriteString(c.Residues[j].Comp)
			}
		}
		k := key.String()
		if number[k] == 0 {
			number[k] = len(number) + 1
		}
		out[i] = number[k]
	}
	return out
}

// entitiesHold reports whether every chain has an entity number and chains that share one are of the same molecule:
// the same kind, and the same component at each position.
func (s *Structure) entitiesHold() bool {
	type place struct{ entity, seq int }
	kind, comp, size := map[int]Kind{}, map[place]string{}, map[int]int{}
	for i := range s.Chains {
		c := &s.Chains[i]
		if c.Entity <= 0 {
			return false
		}
		if k, ok := kind[c.Entity]; ok &&
			(k != c.Kind || !k.Polymer() && k != Water && size[c.Entity] != len(c.Residues)) {
			return false
		}
		kind[c.Entity], size[c.Entity] = c.Kind, len(c.Residues)
		if c.Kind == Water {
			continue
		}
		for j := range c.Residues {
			at := place{c.Entity, c.Residues[j].Seq}
			if !c.Kind.Polymer() {
				at.seq = -1 - j
			}
			if was, ok := comp[at]; ok && was != c.Residues[j].Comp {
				return false
			}
			comp[at] = c.Residues[j].Comp
		}
	}
	return true
}
