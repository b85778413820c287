package analyst

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"pleat/internal/facts"
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
	negated  bool       // a negation that concerns the topic and no condition
	every    bool       // all of the subject are asked about
	states   string     // DSSP letters of the states to list, where they are asked for
	counted  bool       // segments of secondary structure are named by their position in the chain
	segments *condition // helices or strands that are counted themselves: how many helices …
	problem  string     // why it cannot be answered: something is not there, or ambiguous
	absent   string     // why a place that it names has no residue
	items    []item
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

// soft reports whether a concept only asks or points, so that every topic accepts it.
func soft(concept string) bool {
	return oneOf(concept, "ask howmany which where what list structure residue protein or of has between it number "+
		"unit & all any "+
		"in but everything filler chain them @nth @residue @name @class @chain @ligand @limit @ph @radius "+
		"helix alphahelix "+
		"threeten pihelix strand coil turn buried exposed rna dna nucleic nm @atom inchain")
}

// query builds the query of items. Earlier is the query before it, to which "it" and "those" refer.
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

// item reads the item at position i.
func (r *reader) item(i int) {
	r.at = i
	it := r.items[i]
	q := r.q
	if it.concept != "filler" {
		q.has[it.concept] = true
	}
	switch it.concept {
	case "which", "what", "where", "list":
		r.stale = true
	case "between":
		r.between = true
	case "ask":
		r.joined, r.notKind = false, "" // except alanines, are …
	case "filler", "of", "has", "unit", "structure", "protein", "number":
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

// noun records that residues were named; a waiting "all" belongs to them.
func (r *reader) noun() {
	r.subject = true
	if r.every {
		r.q.every, r.every = true, false
	}
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
		if next.concept != "filler" {
			break
		}
	}
	for i := r.at - 1; i >= 0; i-- {
		switch it := r.items[i]; {
		case oneOf(it.concept, "howmany which all list"):
			r.every = false
			return true
		case !oneOf(it.concept, "filler of"):
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

// condition makes the condition that an item stands for; nil where it stands for none.
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
	case "@ligand":
		c = &condition{}
	default:
		return nil
	}
	c.text = it.text
	return c
}

// addCondition joins a condition to the filter: as an alternative to the last one on the same property where "and" or
// "or" stands between, else as one that must hold as well.
func (r *reader) addCondition(it item, c *condition) {
	q := r.q
	r.quiet++
	c.not = r.not || r.joined && r.notKind == c.property
	c.bare = r.isPredicate(c)
	rel := q.relation
	if it.concept == "@residue" && c.not && rel != nil && len(rel.mentions) > 0 && r.quiet == 1 {
		q.problem = "I cannot tell whether “not " + it.text + "” leaves that residue out or what is near it; " +
			"please ask it in two questions."
	}
	switch {
	case c.property == ofName:
		r.noun()
	case it.concept == "@residue" && !c.not:
		q.mentions = append(q.mentions, it.mention)
	}
	if last := r.last; last != nil && r.merge(last, it, c) {
		return
	}
	if r.joined && c.property == ofName && !c.bare && !c.not && q.conditionOn(ofName) {
		q.problem = "It is not clear whether “" + it.text +
			"” is about the same residues as what stands before it; please " +
			"ask it in two questions."
	}
	q.conds = append(q.conds, c)
	r.reset(c)
}

// merge joins a condition to the one before it: as an alternative, or as the chain of residues named; false where it
// stands on its own. "Charged and aromatic", said of a noun before it, are two conditions.
func (r *reader) merge(last *condition, it item, c *condition) bool {
	same := last.property == c.property
	both := c.class != "" && c.bare && !c.not && !r.orJoin
	switch {
	case it.concept == "@chain" && last.property == ofPlace && !r.joined:
		r.placeInChain(last, it.names[0])
	case same && r.joined && last.not == c.not && !both:
		last.add(c)
	case same && !r.joined && c.property != ofPlace && it.concept != "surface" && last.String() == c.String():
		return true // cysteine residues … cysteines
	default:
		return false
	}
	r.reset(last)
	return true
}

// isPredicate says whether a condition is said of a noun before it and without a preposition: exposed in "are all
// lysines exposed", and not in "all exposed lysines".
func (r *reader) isPredicate(c *condition) bool {
	if !r.subject || r.prep && c.property != ofSurface {
		return false
	}
	for _, next := range r.items[r.at+1:] {
		if next.concept != "filler" {
			return !oneOf(next.concept, "residue @name @class")
		}
	}
	return true
}

// reset makes c the last condition, and clears pending negations and connectives.
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

// finish settles what only the whole question tells: the anchor of a relation at its end, and what pronouns mean.
func (r *reader) finish(earlier *query) {
	q := r.q
	q.negated = r.not && !q.has["inchain"]
	if earlier != nil {
		r.refer(earlier)
	}
	q.joinEnds()
	if r.between && !q.has["distance"] && q.conditionOn(ofState) && len(q.mentions) == 0 {
		q.problem = "What lies between segments of secondary structure I understand by residue numbers only; " +
			"please name them."
	}
	if r.open != nil && !r.open.mutual && !q.has["interface"] {
		r.lateAnchor()
	}
	if q.relation != nil {
		q.settleRelation()
	}
}

// refer gives the query the filter of the one before it: all of it to "them", the one residue or segment that it was
// about to "it". Elsewhere "it" is the structure.
func (r *reader) refer(earlier *query) {
	q := r.q
	if q.has["them"] && !(q.relation != nil && q.relation.mutual) {
		q.conds = slices.Concat(earlier.conds, q.conds)
		q.mentions = slices.Concat(earlier.mentions, q.mentions)
		if q.relation == nil {
			q.relation = earlier.relation
		}
		q.problem = cmp.Or(q.problem, earlier.problem)
		return
	}
	c := earlier.subject()
	switch {
	case c == nil || !q.has["it"]:
	case r.open != nil && r.open.label == "" && len(q.conds) > 0 && len(c.mentions) > 0:
		r.setAnchor(r.open, item{concept: "@residue", mention: c.mentions[0]}, c)
		r.open = nil
	case q.only(ofState, ofSurface, ofLimit, ofName) && (!q.conditionOn(ofName) || q.opensWithVerb()) &&
		q.segments == nil && !q.counted && !q.has["residue"] && (q.relation == nil || q.relation.label == ""):
		q.conds, q.mentions = append([]*condition{c}, q.conds...), slices.Clone(c.mentions)
	case q.opensWithVerb() && len(q.conds) > 0 && !q.has["residue"] && q.segments == nil:
		q.problem = "It is not clear what “it” means here; please name it."
	}
}

// subject returns the condition that names one residue or segment where all others are said of it; nil where there is
// none.
func (q *query) subject() (subject *condition) {
	for _, c := range q.conds {
		switch {
		case len(c.segments) > 0 && len(q.conds) == 1,
			c.property == ofPlace && !c.not && subject == nil && len(c.mentions) == 1 && c.mentions[0].single():
			subject = c
		case c.property != ofState && c.property != ofSurface && c.property != ofName:
			return nil
		}
	}
	return subject
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
		c.not, c.text = q.conds[k].not, q.conds[k].text
		q.conds[k], q.mentions = c, []mention{whole}
	}
}

// chainNames says which chains the structure has.
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
