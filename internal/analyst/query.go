package analyst

import (
	"fmt"
	"slices"
	"strings"

	"pleat/internal/facts"
	"pleat/internal/structure"
)

// query is one question with one topic: what it asks, and the filter on what it asks it of.
type query struct {
	f        *facts.Facts
	x        *facts.Index
	has      map[string]bool // concepts said, those of the filter included
	conds    []*condition    // the filter: all must hold
	relation *relation       // nearness to something, nil if none is said
	mentions []mention       // residues named outside the relation
	chains   []string        // chains named, each once, in order
	ligands  []string        // component codes of ligands named
	radius   float64         // Å, of a relation to other chains that the word interface stands for
	atoms    []string
	pH       *float64
	names    []*condition // single residue names, in order, for comparisons
	negated  bool         // a negation that concerns the topic and no condition
	every    bool         // all of the subject are asked about
	counted  bool         // segments of secondary structure are named by their position in the chain
	segments *condition   // helices or strands that are counted themselves: how many helices …
	problem  string       // why it cannot be answered: something is not there, or ambiguous
	absent   string       // why a place that it names has no residue
	items    []item
}

// relation is nearness in space to something that a question names: within 5 Å of Trp6, touching chain A, nearest to
// the zinc.
type relation struct {
	words      map[string]bool // contact, around, closest, bind, @radius
	radius     float64         // Å; 0: not said
	far        bool            // at least that far away
	not        bool
	inSequence bool // it can mean neighbours in the chain
	mutual     bool // each other
	sites      []int
	label      string
	chains     []string
	ligands    []string
	mentions   []mention
	beside     []int // neighbours of the anchor in the chain, which are not counted
	text       string
}

func (r *relation) cut() float64 {
	if r.radius > 0 {
		return r.radius
	}
	return facts.ContactDistance
}

// reader builds a query from items, from left to right.
type reader struct {
	q       *query
	items   []item
	not     bool       // a negation waits for its condition
	notKind property   // the property negated last, for "not in helices or strands"
	joined  bool       // "and" or "or" came after the last condition
	last    *condition // the condition read last
	prep    bool       // a preposition came after the last condition
	open    *relation  // a relation that waits for its anchor
	nth     []float64  // ordinals that wait for their helix or strand
	extreme string
	subject bool // a noun that stands for residues was said
	every   bool // "all" waits for its noun
	at      int  // of the item being read
	between bool // the word was said
	stale   bool // something came between a relation word and now, so that a name is no longer its anchor
	orJoin  bool // it was "or"
	quiet   int  // items with a meaning since the last anchor
}

// softConcepts only ask or point: every topic puts up with them.
func soft(concept string) bool {
	return oneOf(concept, "ask howmany which where what list structure residue protein or of has between it number "+
		"unit & all any "+
		"in but everything filler corrected chain them @nth @residue @name @class @chain @ligand @limit @ph @radius "+
		"helix alphahelix "+
		"threeten pihelix strand coil turn buried exposed rna dna nucleic nm @atom inchain")
}

// read builds the query of items. earlier is the query before it, to which "it" and "those" refer.
func (t *talk) query(items []item, earlier *query) *query {
	q := &query{f: t.f, x: t.x, has: map[string]bool{}, items: items}
	r := &reader{q: q, items: items}
	for _, it := range items {
		if it.concept == "@chain" && it.known && !slices.Contains(q.chains, it.names[0]) {
			q.chains = append(q.chains, it.names[0])
		}
	}
	for i := range items {
		r.item(i)
	}
	r.finish(earlier)
	return q
}

func (r *reader) item(i int) {
	r.at = i
	it := r.items[i]
	q := r.q
	if it.concept != "filler" && it.concept != "corrected" {
		q.has[it.concept] = true
	}
	switch it.concept {
	case "which", "what", "where", "list":
		r.stale = true
	case "between":
		r.between = true
	case "filler", "corrected", "ask", "of", "has", "unit", "structure", "protein", "number":
		return
	case "&", "or":
		r.stale = true
		r.joined, r.orJoin = true, it.concept == "or"
	case "but":
		r.joined, r.not, r.notKind = true, false, ""
	case "in":
		r.prep = true
	case "not":
		r.not, r.notKind = true, ""
		if strings.HasPrefix(strings.ToLower(it.text), "but") {
			r.joined = false
		}
	case "all":
		r.every = true
	case "@nth":
		r.nth = append(r.nth, it.value)
	case "longest", "shortest":
		r.extreme = it.concept
	case "residue":
		r.noun()
		r.stale = true
	case "@ph":
		q.pH = &it.value
	case "@atom":
		q.atoms = append(q.atoms, it.names[0])
	case "contact", "around", "closest", "@radius", "bind", "site":
		r.relationWord(it)
	case "them", "otherchain":
		r.pronoun(it)
	default:
		r.entity(it)
	}
}

func (r *reader) noun() {
	r.subject = true
	if r.every {
		r.q.every, r.every = true, false
	}
}

// relationWord opens a relation, or adds a word to the open one.
func (r *reader) relationWord(it item) {
	q := r.q
	if it.concept == "@radius" && r.open == nil && q.relation != nil && q.relation.radius == 0 { // around Tyr44 (4 Å)
		q.relation.radius, q.relation.far = it.value, it.above
		return
	}
	if r.open == nil {
		if q.relation != nil {
			q.problem = "I understand one distance or contact at a time; please ask for them one by one."
			return
		}
		r.open = &relation{words: map[string]bool{}, not: r.not, text: it.text}
		q.relation = r.open
		r.not = false
	}
	r.stale = false
	r.open.words[it.concept] = true
	if it.concept == "@radius" {
		r.open.radius, r.open.far = it.value, it.above
	}
	if oneOf(strings.ToLower(it.text), "adjacent neighbour neighbor neighbours neighbors neighbouring neighboring "+
		"flank flanking") ||
		strings.EqualFold(it.text, "next to") {
		r.open.inSequence = true
	}
}

// pronoun reads each other, and the other chain.
func (r *reader) pronoun(it item) {
	low := strings.ToLower(it.text)
	switch {
	case it.concept == "otherchain" && r.open != nil && len(r.q.chains) == 1 && len(r.q.x.Polymers) > 1:
		r.otherChains()
	case it.concept == "otherchain":
		r.q.problem = "I cannot tell which chain is meant by “" + it.text + "”; please name it."
	case oneOf(low, "other") || strings.HasSuffix(low, " other") || low == "one another":
		if r.open != nil {
			r.open.mutual, r.open = true, nil
		}
	}
}

func (r *reader) otherChains() {
	q, rel := r.q, r.open
	for _, p := range q.x.Polymers {
		id := q.x.Structure.Chains[p.Chain].ID
		if id == q.chains[0] {
			continue
		}
		rel.chains = append(rel.chains, id)
		for i := p.Lo; i < p.Hi; i++ {
			rel.sites = append(rel.sites, i)
		}
	}
	rel.label = facts.Plural(len(rel.chains), "chain ", "chains ") + facts.Join(rel.chains, 6)
	r.open = nil
}

// entity reads what can be a condition or the anchor of a relation; all else is a topic and only recorded.
func (r *reader) entity(it item) {
	if r.moleculeAnchor(it.concept) {
		return
	}
	c := r.condition(it)
	if c == nil {
		if !soft(it.concept) {
			r.joined, r.prep, r.last = false, false, nil
		}
		return
	}
	if it.concept == "@ligand" || it.concept == "@residue" || it.concept == "@chain" || c.segments != nil ||
		r.open != nil && !r.subjectOf(it) {
		if r.anchor(it, c) {
			return
		}
	}
	if it.concept == "@ligand" {
		r.q.ligands = append(r.q.ligands, it.names[0])
		return
	}
	r.addCondition(it, c)
}

// counted says whether the item being read is what the question counts: how many helices, which strands, all helices.
func (r *reader) counted() bool {
	for _, next := range r.items[r.at+1:] {
		if next.concept == "residue" {
			return false // strand residues
		}
		if next.concept != "filler" && next.concept != "corrected" {
			break
		}
	}
	for i := r.at - 1; i >= 0; i-- {
		switch it := r.items[i]; {
		case oneOf(it.concept, "howmany which all list"):
			r.every = false
			return true
		case !oneOf(it.concept, "filler of corrected"):
			return false
		}
	}
	return false
}

// subjectOf says whether a name that follows a relation word is what is looked for, as in "the nearest lysine to
// Asp52".
func (r *reader) subjectOf(it item) bool {
	return r.stale || r.open.words["closest"] && !r.prep
}

func (r *reader) condition(it item) *condition {
	q := r.q
	var c *condition
	switch it.concept {
	case "@name":
		c = q.nameCondition(it)
	case "@class":
		c = q.classCondition(it)
	case "@residue":
		var problem string
		if c, problem = q.placeCondition(it.mention); problem != "" && q.absent == "" {
			q.absent = problem
		}
	case "@chain":
		c = q.chainCondition(it)
		if !it.known {
			q.problem = fmt.Sprintf("There is no chain %s. %s", it.names[0], q.chainNames())
		}
	case "rna", "dna", "nucleic":
		c = q.kindCondition(it.concept)
	case "helix", "alphahelix", "threeten", "pihelix", "strand", "coil", "turn":
		c = q.segmentsCondition(it.concept, r.nth, r.extreme)
		q.counted = q.counted || c.segments != nil || len(r.nth) > 0
		if r.counted() {
			q.segments = c
		}
		r.nth, r.extreme = nil, ""
	case "buried", "exposed", "surface":
		c = q.surfaceCondition(it.concept != "buried")
	case "@limit":
		c = q.limitCondition(it)
	case "nterm", "cterm", "terminus":
		if !r.not {
			return nil
		}
		c = q.endsCondition(it.concept)
		delete(q.has, it.concept)
	case "@ligand":
		c = &condition{}
	default:
		return nil
	}
	c.text = it.text
	return c
}

// anchor gives an entity to the open relation; false where none is open.
func (r *reader) anchor(it item, c *condition) bool {
	q, rel := r.q, r.open
	if rel == nil {
		rel = q.relation // a second anchor: in contact with Pro12 and Pro18; or the chain of the anchor
		if rel == nil || rel.label == "" || r.quiet > 0 {
			return false
		}
		same := len(rel.mentions) > 0 && it.concept == "@residue" || len(rel.ligands) > 0 && it.concept == "@ligand"
		switch {
		case it.concept == "@chain" && !r.joined && len(rel.mentions) > 0:
			return r.anchorChain(it)
		case !same || !r.joined || r.not:
			return false
		}
	}
	if rel.inSequence && rel.radius == 0 && (it.concept == "@name" || it.concept == "@class") {
		q.problem = fmt.Sprintf("“%s” can mean next to it in the chain or in space; please say within how many Å.",
			rel.text)
	}
	if it.concept == "@chain" && r.prep && !rel.words["@radius"] && len(q.mentions) > 0 {
		return false // what does residue 7 touch in chain A
	}
	r.open = nil
	r.setAnchor(rel, it, c)
	r.joined, r.prep = false, false
	return true
}

// setAnchor adds the sites of an entity to a relation.
func (r *reader) setAnchor(rel *relation, it item, c *condition) {
	q := r.q
	label := wordingOf([]*condition{c})
	switch it.concept {
	case "@residue":
		sites, problem := q.find(it.mention)
		if problem != "" {
			q.problem = problem
		}
		rel.mentions = append(rel.mentions, it.mention)
		rel.sites, label = append(rel.sites, sites...), q.spanOf(sites)
	case "@ligand":
		rel.ligands = append(rel.ligands, it.names[0])
		var refs []facts.ResidueRef
		for _, l := range q.f.Ligands {
			if l.Ref.Name == it.names[0] {
				rel.sites, refs = append(rel.sites, l.Site), append(refs, l.Ref)
			}
		}
		label = facts.RefList(refs, 6)
		if len(refs) == 0 {
			label = it.names[0]
			q.problem = fmt.Sprintf("There is no %s in this structure.", it.names[0])
		}
	case "@chain":
		rel.chains = append(rel.chains, it.names[0])
		rel.sites, label = append(rel.sites, q.sitesWhere([]*condition{c})...), "chain "+it.names[0]
	default:
		rel.sites = append(rel.sites, q.sitesWhere([]*condition{c})...)
		label = "a residue that is " + label
		if len(rel.sites) == 0 && q.problem == "" {
			q.problem = "No residue is " + strings.TrimPrefix(label, "a residue that is ") +
				", so nothing can be near one."
		}
	}
	if rel.label != "" {
		label = rel.label + " or " + label
	}
	rel.label, r.quiet = label, 0
}

// anchorChain narrows the anchor to a chain: Lys6 of chain B.
func (r *reader) anchorChain(it item) bool {
	q, rel := r.q, r.q.relation
	rel.sites = slices.DeleteFunc(rel.sites, func(i int) bool { return q.x.Sites[i].Ref.Chain != it.names[0] })
	if len(rel.sites) == 0 {
		q.problem = fmt.Sprintf("There is no such residue in chain %s.", it.names[0])
	}
	for i := range rel.mentions {
		rel.mentions[i].chain = it.names[0]
	}
	rel.label = q.spanOf(rel.sites)
	r.quiet++
	return true
}

// addCondition joins a condition to the filter: as an alternative to the last one on the same property where "and" or
// "or"
// stands between, else as one that must hold as well.
func (r *reader) addCondition(it item, c *condition) {
	q := r.q
	r.quiet++
	c.not = r.not || r.joined && r.notKind == c.property
	c.bare = r.isPredicate(c)
	if it.concept == "@residue" && c.not && q.relation != nil && q.relation.label != "" && r.quiet == 1 &&
		len(q.relation.mentions) > 0 {
		q.problem = "I cannot tell whether “not " + it.text + "” leaves that residue out or what is near it; please " +
			"ask it in two questions."
	}
	if c.property == ofName {
		r.noun()
		if !c.not {
			q.names = append(q.names, c)
		}
	}
	if it.concept == "@residue" && !c.not {
		q.mentions = append(q.mentions, it.mention)
	}
	switch previous := r.last; {
	case it.concept == "@chain" && previous != nil && previous.property == ofPlace && !r.joined:
		r.placeInChain(previous, it.names[0])
		r.reset(previous)
		return
	case previous != nil && previous.property == c.property && r.joined && previous.not == c.not && !(c.class != "" &&
		c.bare && !c.not && !r.orJoin):
		previous.add(c)
		r.reset(previous)
		return
	case previous != nil && c.property == ofName && previous.property == ofName && !r.joined &&
		previous.wording[0] == c.wording[0]:
		return
	}
	q.conds = append(q.conds, c)
	r.reset(c)
}

// isPredicate says whether a condition is said of a noun before it, without a preposition: exposed in "are all lysines
// exposed",
// and not in "all exposed lysines".
func (r *reader) isPredicate(c *condition) bool {
	if !r.subject || r.prep && c.property != ofSurface {
		return false
	}
	for _, next := range r.items[r.at+1:] {
		if next.concept != "filler" && next.concept != "corrected" {
			return !oneOf(next.concept, "residue @name @class")
		}
	}
	return true
}

func (r *reader) reset(c *condition) {
	r.last, r.joined, r.prep = c, false, false
	if c.not {
		r.notKind = c.property
	}
	r.not = false
}

// placeInChain narrows residues named just before to a chain.
func (r *reader) placeInChain(c *condition, chain string) {
	q := r.q
	fresh := &condition{property: ofPlace, not: c.not, text: c.text}
	q.absent = ""
	for _, m := range c.mentions {
		for i := range q.mentions {
			if p := &q.mentions[i]; p.chain == "" && p.lo == m.lo && p.hi == m.hi && p.first == m.first &&
				p.half == m.half {
				p.chain = chain
			}
		}
		if m.chain == "" {
			m.chain = chain
		}
		d, problem := q.placeCondition(m)
		if problem != "" {
			q.absent = problem
		}
		fresh.add(d)
	}
	*c = *fresh
}

// moleculeAnchor makes "the ligand" or "the metal" the anchor of the open relation; false where none is open or there
// is none.
func (r *reader) moleculeAnchor(concept string) bool {
	rel := r.open
	if rel == nil || !oneOf(concept, "ligand ion") {
		return false
	}
	q := r.q
	molecules := slices.ContainsFunc(q.f.Ligands, func(l facts.Ligand) bool { return l.Kind != structure.Ion })
	for _, l := range q.f.Ligands {
		if (l.Kind == structure.Ion) != (concept == "ion" || !molecules) {
			continue
		}
		if !slices.Contains(rel.ligands, l.Ref.Name) {
			r.setAnchor(rel, item{concept: "@ligand", names: []string{l.Ref.Name}}, &condition{property: ofName,
				wording: []string{l.Ref.Name}})
		}
	}
	if len(rel.sites) == 0 {
		q.problem = "There is no ligand in this structure, so nothing can be near one. Pockets found by geometry " +
			"can be asked for."
	}
	r.open = nil
	delete(q.has, concept)
	return true
}

// finish settles what only the whole question tells: the anchor of a relation at its end, and what pronouns mean.
func (r *reader) finish(earlier *query) {
	q := r.q
	q.negated = r.not && !q.has["inchain"]
	if earlier != nil && (q.has["them"] && (q.relation == nil || !q.relation.mutual) ||
		q.has["it"] && len(q.conds) == 0 && (q.relation == nil || q.relation.label == "") && earlier.isSingular()) {
		q.inherit(earlier)
	}
	q.joinEnds()
	q.nameEnds()
	if r.between && !q.has["distance"] && q.conditionOn(ofState) && len(q.mentions) == 0 {
		q.problem = "What lies between segments of secondary structure I understand by residue numbers only; please " +
			"name them."
	}
	if r.open != nil && !r.open.mutual && !q.has["interface"] {
		r.lateAnchor()
	}
	if rel := q.relation; rel != nil && rel.label == "" && !rel.mutual {
		q.radius = rel.radius
		if rel.radius > 0 && !q.has["interface"] {
			q.problem = "I understood a distance, but not from what it is measured; please name a residue, a ligand " +
				"or a chain."
		}
		q.relation = nil
	} else if rel != nil {
		for _, word := range [...]string{"contact", "around", "closest", "@radius", "bind", "site", "atom", "heavy",
			"has"} {
			delete(q.has, word)
		}
		if rel.radius > 0 {
			delete(q.has, "distance")
		}
		if rel.far {
			delete(q.has, "closest")
		}
	}
}

// nameEnds makes the ends of a chain a place, where something is asked of them: is the C-terminal residue exposed?
func (q *query) nameEnds() {
	for _, concept := range [...]string{"nterm", "cterm", "terminus"} {
		asked := q.conditionOn(ofState, ofSurface, ofName, ofLimit) || q.has["exposure"] || q.has["confidence"] ||
			q.has["charge"]
		if !q.has[concept] || !asked || q.relation != nil {
			continue
		}
		q.conds = append(q.conds, q.endsCondition(concept))
		if concept != "terminus" {
			q.mentions = append(q.mentions, mention{first: map[string]int{"nterm": 1, "cterm": -1}[concept]})
		}
		delete(q.has, concept)
	}
}

// joinEnds reads "between Lys48 and Lys63" as a range, where no distance is asked for.
func (q *query) joinEnds() {
	m := q.mentions
	if !q.has["between"] || len(m) != 2 || !q.pointMentions() || q.has["distance"] || len(q.atoms) > 0 ||
		q.relation != nil ||
		m[0].chain != m[1].chain || m[0].first != 0 || m[1].first != 0 || q.has["disulfide"] || q.has["hbond"] ||
		q.has["bridge"] {
		return
	}
	k := slices.IndexFunc(q.conds, func(c *condition) bool { return len(c.mentions) == 2 })
	if k < 0 {
		return
	}
	whole := mention{chain: m[0].chain, lo: min(m[0].lo, m[1].lo), hi: max(m[0].hi, m[1].hi)}
	if c, problem := q.placeCondition(whole); problem == "" {
		c.not, q.conds[k], q.mentions = q.conds[k].not, c, []mention{whole}
	}
}

// inherit adds the filter of the question before.
func (q *query) inherit(earlier *query) {
	q.conds = slices.Concat(earlier.conds, q.conds)
	q.mentions = slices.Concat(earlier.mentions, q.mentions)
	if q.relation == nil {
		q.relation = earlier.relation
	}
	if q.problem == "" {
		q.problem = earlier.problem
	}
}

// isSingular says whether "it" can mean what the question was about: one residue, or one segment of secondary
// structure.
func (q *query) isSingular() bool {
	if len(q.conds) != 1 {
		return false
	}
	c := q.conds[0]
	return len(c.mentions) == 1 && c.mentions[0].single() || len(c.segments) > 0
}

// lateAnchor takes what was named before a relation word as its anchor: what does Tyr29 interact with?
func (r *reader) lateAnchor() {
	q, rel := r.q, r.open
	for k := len(q.conds) - 1; k >= 0 && rel.label == "" && len(q.ligands) == 0; k-- {
		c := q.conds[k]
		if c.not || c.property != ofPlace && c.property != ofState && !(c.property == ofName && !r.subjectFirst(c)) {
			continue
		}
		q.conds = slices.Delete(q.conds, k, k+1)
		if c.property == ofPlace {
			for _, m := range c.mentions {
				r.setAnchor(rel, item{concept: "@residue", mention: m}, c)
			}
			q.mentions = nil
			break
		}
		if k > 0 && q.conds[k-1].property == ofChain && c.property == ofName {
			c.accepts = []func(int) bool{c.accepts[0]}
		}
		r.setAnchor(rel, item{}, c)
		rel.label = strings.TrimPrefix(strings.TrimPrefix(rel.label, "a residue that is "), "in ")
	}
	if rel.label == "" {
		for _, code := range q.ligands {
			r.setAnchor(rel, item{concept: "@ligand", names: []string{code}}, &condition{property: ofName,
				wording: []string{code}})
		}
		q.ligands = nil
	}
	if rel.label == "" && len(q.chains) == 2 {
		rel.mutual = true
	}
}

// subjectFirst says whether a name is what is looked for and not what it is near to.
func (r *reader) subjectFirst(c *condition) bool {
	return r.q.has["which"] && c.property == ofName || r.q.has["howmany"]
}

func (q *query) chainNames() string {
	ids := chainIDs(q.f.Chains)
	if len(ids) == 0 {
		return "The structure has no polymer chain."
	}
	return fmt.Sprintf("The structure has %s %s.", facts.Plural(len(ids), "chain", "chains"), facts.Join(ids, 20))
}

func chainIDs(list []facts.Chain) (ids []string) {
	for _, c := range list {
		ids = append(ids, c.ID)
	}
	return ids
}
