package analyst

import (
	"cmp"
	"slices"
	"strings"

	"pleat/internal/facts"
)

// query is one question with one topic: what it asks, and the filter on what it asks it of.
type query struct {
	f *facts.Facts
	x *facts.Index
	// has holds the concepts of the question, those of the filter included.
	has map[string]bool
	// conds is the filter: all conditions must hold. Nearness is in relation, nil if the question has none.
	conds    []*condition
	relation *relation
	// mentions and ligands are the residues and the component codes of ligands that are named outside the relation;
	// chains are all chains named, each once, in order.
	mentions []mention
	ligands  []string
	chains   []string
	// atoms are names of atoms, which matter to distances; pH matters to the charge.
	atoms []string
	pH    *float64
	// negated is a negation that concerns the topic and no condition.
	negated bool
	// every is set where all of the subject are asked about: is every lysine exposed?
	every bool
	// counted is set where segments of secondary structure are named by their position in the chain.
	counted bool
	// states are the DSSP letters of the states to list, where the question asks for them.
	states string
	// segments are helices or strands that are counted themselves: how many helices contain a lysine?
	segments *condition
	// problem and absent say why there is no answer: something is ambiguous or not there, or a place has no residue.
	problem string
	absent  string
	items   []item
}

// reader builds a query from items, from left to right. It remembers what a later item needs to find its place.
type reader struct {
	q     *query
	items []item
	// at is the position of the item being read.
	at int
	// not is a negation that waits for its condition; notKind is the property negated last, for "not in helices or
	// strands".
	not     bool
	notKind property
	// joined is set after "and" or "or", orJoin after "or", prep after a preposition: all until the next condition.
	joined bool
	orJoin bool
	prep   bool
	// last is the condition read last.
	last *condition
	// open is a relation that waits for its anchor, which are ordinals and extremes that wait for their helix or
	// strand, and every is an "all" that waits for its noun.
	open  *relation
	which []item
	every bool
	// subject is set once a noun that stands for residues came, between once that word came.
	subject bool
	between bool
	// stale is set where something came between a relation word and now, so that a name is no longer its anchor.
	stale bool
	// quiet counts the conditions since the last anchor.
	quiet int
}

// soft reports whether a concept only asks or points, so that every topic accepts it: question words, entities, what
// the conditions of a filter are made of. All other concepts name what is asked, and the intent must provide for them.
func soft(concept string) bool {
	return oneOf(concept,
		"ask howmany which what where list structure residue protein or of has between it number unit & "+
			"all any in but everything filler chain them @nth @residue @name @class @chain @ligand @limit @ph "+
			"@radius helix "+
			"alphahelix threeten pihelix strand coil turn buried exposed rna dna nucleic nm @atom inchain")
}

// query builds the query of items. Every item must find its place: as a condition, as part of a relation, as an anchor,
// or as a topic, which choose and refuses then account for; nothing is passed over but fillers.
//
// For "charged residues of chain B in helices within 5 Å of the ligand" that is a filter of three conditions (charged,
// in chain B, in a helix) and a relation of 5 Å with the ligand as its anchor.
//
//	Earlier is the query before it, to which "it" and "them" refer.
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
	it, q := r.items[i], r.q
	r.at = i
	if it.concept == "filler" {
		return
	}
	q.has[it.concept] = true
	switch it.concept {
	case "of", "has", "unit", "structure", "protein", "number":
	case "which", "what", "where", "list":
		r.stale = true
	case "between":
		r.between = true
	case "ask":
		r.joined, r.notKind = false, "" // except alanines, are …
	case "&", "or":
		r.stale, r.joined, r.orJoin = true, true, it.concept == "or"
	case "but":
		r.joined, r.not, r.notKind = true, false, ""
	case "in":
		r.prep = true
	case "not":
		r.not, r.notKind = true, ""
		r.joined = r.joined && !strings.HasPrefix(strings.ToLower(it.text), "but")
	case "all":
		r.every = true
	case "@nth", "longest", "shortest":
		r.which = append(r.which, it)
	case "residue":
		r.noun()
		r.stale = true
	case "@ph":
		q.pH = &it.value
	case "@atom":
		q.atoms = append(q.atoms, it.names[0])
	case "contact", "around", "closest", "@radius", "bind", "site":
		r.relationWord(it)
	case "them":
		if low := strings.ToLower(it.text); r.open != nil && (strings.HasSuffix(low, "other") || low == "one another") {
			r.open.mutual, r.open = true, nil
		}
	default:
		r.entity(it)
	}
}

// noun records that residues were named; a waiting "all" belongs to them.
func (r *reader) noun() {
	r.subject = true
	r.q.every, r.every = r.q.every || r.every, false
}

// entity reads what can be a condition or the anchor of a relation; all else is a topic and only recorded.
func (r *reader) entity(it item) {
	q := r.q
	if oneOf(it.concept, "ligand ion") && r.open != nil {
		r.setAnchor(r.open, it, &condition{wording: []string{""}})
		r.open = nil
		delete(q.has, it.concept)
		return
	}
	c := r.condition(it)
	if c == nil {
		if !soft(it.concept) {
			r.joined, r.prep, r.last = false, false, nil
		}
		return
	}
	c.text = it.text
	wanted := r.open != nil && (r.stale || r.open.words["closest"] && !r.prep) // the nearest lysine to Asp52
	certain := oneOf(it.concept, "@ligand @residue @chain") || c.segments != nil
	switch {
	case (certain || r.open != nil && !wanted) && r.anchor(it, c):
	case it.concept == "@ligand":
		q.ligands = append(q.ligands, it.names[0])
	default:
		r.addCondition(it, c)
	}
}

// condition makes the condition that an item stands for; nil where it stands for none.
func (r *reader) condition(it item) *condition {
	st, isState := states[it.concept]
	switch {
	case it.concept == "@residue":
		return r.q.placeCondition(it.mention)
	case it.concept == "@ligand":
		return &condition{wording: it.names}
	case !isState:
		return r.q.entityCondition(it)
	}
	which := append(slices.Clone(r.which), item{})
	c := r.q.stateCondition(st, which[0])
	for _, more := range r.which[min(1, len(r.which)):] {
		c.add(r.q.stateCondition(st, more))
	}
	r.q.counted = r.q.counted || len(r.which) > 0
	if r.isCounted() {
		r.q.segments = c
	}
	r.which = nil
	return c
}

// isCounted tells "how many helices contain a lysine" from "how many residues are in helices". It reports whether the
// item being read is what the question counts: how many helices, which strands, all helices; and not: which strand
// residues.
func (r *reader) isCounted() bool {
	if r.next() == "residue" {
		return false
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

// next is the concept of the next item with a meaning.
func (r *reader) next() string {
	for _, it := range r.items[r.at+1:] {
		if it.concept != "filler" {
			return it.concept
		}
	}
	return ""
}

// addCondition joins a condition to the filter: as an alternative to the last one on the same property where "and" or
// "or" stands between, else as one that must hold as well.
func (r *reader) addCondition(it item, c *condition) {
	q := r.q
	r.quiet++
	c.not = r.not || r.joined && r.notKind == c.property
	c.bare = r.subject && (!r.prep || c.property == ofSurface) && !oneOf(r.next(), "residue @name @class")
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
	if r.last != nil && r.merge(r.last, it, c) {
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

// merge joins a condition to the one before it: "prolines and glycines" is one condition with two alternatives, and so
// is "helices or strands". It joins: as an alternative, or as the chain of residues named; false where it
// stands on its own. "Charged and aromatic", which follow their noun, are two conditions.
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

// reset makes c the last condition, and clears pending negations and connectives.
func (r *reader) reset(c *condition) {
	if c.not {
		r.notKind = c.property
	}
	r.last, r.joined, r.prep, r.not = c, false, false, false
}

// placeInChain narrows residues named just before to a chain.
func (r *reader) placeInChain(c *condition, chain string) {
	q := r.q
	q.absent = ""
	fresh := &condition{property: ofPlace, not: c.not, text: c.text}
	for _, m := range c.mentions {
		narrow := m
		narrow.chain = cmp.Or(m.chain, chain)
		for i, p := range q.mentions {
			if p.chain == "" && p.lo == m.lo && p.hi == m.hi && p.first == m.first && p.half == m.half {
				q.mentions[i] = narrow
			}
		}
		fresh.add(q.placeCondition(narrow))
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
	if r.between && len(q.mentions) == 2 && q.pointMentions() && len(q.atoms) == 0 && q.relation == nil &&
		!r.asksOf("distance disulfide hbond bridge contact") {
		q.problem = "I cannot tell whether you mean the two residues or what lies between them; please write a range " +
			"as residues 48 to 63."
	}
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

// asksOf reports whether the question has one of some concepts.
func (r *reader) asksOf(concepts string) bool {
	return slices.ContainsFunc(r.items, func(it item) bool { return oneOf(it.concept, concepts) })
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
	predicates := q.only(ofState, ofSurface, ofLimit, ofName) && (!q.conditionOn(ofName) || q.opensWithVerb()) &&
		!q.counted && (q.relation == nil || q.relation.label == "")
	switch {
	case c == nil || !q.has["it"]:
	case r.open != nil && r.open.label == "" && len(q.conds) > 0 && len(c.mentions) > 0:
		r.setAnchor(r.open, item{concept: "@residue", mention: c.mentions[0]}, c)
		r.open = nil
	case q.segments != nil || q.has["residue"]:
	case predicates:
		q.conds, q.mentions = append([]*condition{c}, q.conds...), slices.Clone(c.mentions)
	case q.opensWithVerb() && len(q.conds) > 0:
		q.problem = "It is not clear what “it” means here; please name it."
	}
}

// subject returns the condition that names one residue or segment where all others are about it; nil where there is
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

// chainIDs returns the identifiers of chains.
func chainIDs(list []facts.Chain) (ids []string) {
	for _, c := range list {
		ids = append(ids, c.ID)
	}
	return ids
}
