package analyst

import (
	"cmp"
	"slices"
	"strings"

	"pleat/internal/facts"
)

// query is one question with one topic: what it asks, and the filter on what it asks it of.
type query struct {
	finder
	f     *facts.Facts
	near  *int // what is left of maxNear for this message
	items []item
	has   map[string]bool // the concepts of the question, those of the filter included
	topic *intent         // nil where the question is not understood
	// conds is the filter but for nearness, which is in relation; nil if the question has none.
	conds    filter
	relation *relation
	// mentions and ligands are the residues and the component codes of ligands that are named outside the relation;
	// chains are all chains named, each once, in order.
	mentions []mention
	ligands  []string
	chains   []string
	atoms    []string // names of atoms, which matter to distances
	pH       float64  // matters to the charge; 7 where the question names none
	states   string   // letters of DSSP of the states to list, where the question asks for them
	problem  string   // why there is no answer: something is ambiguous or not there

	negated        bool // the negation concerns the topic and no condition
	every          bool // all of the subject are asked about: is every lysine exposed?
	relationLast   bool // the relation came after all conditions
	counted        bool // segments of secondary structure are named by their position in the chain
	countsSegments bool // helices or strands are counted themselves, and not their residues
}

// says reports whether the question has one of some concepts, written as one string.
func (q *query) says(concepts string) bool {
	return slices.ContainsFunc(strings.Fields(concepts), func(c string) bool { return q.has[c] })
}

// readShare takes "share" for a verb behind what it is about: the bonds that chains A and B share are between them. At
// the beginning it asks for a list.
func (q *query) readShare() {
	named := false
	q.items = slices.Clone(q.items)
	for i := range q.items {
		if it := &q.items[i]; it.is("@chain @residue") {
			named = true
		} else if it.concept == "list" && named && strings.EqualFold(it.text, "share") {
			it.concept = "between"
		}
	}
}

// joinEnds makes one condition of two chains between which something is asked for: that connect chain B to chain D.
func (q *query) joinEnds() {
	chains, rest := q.conds.divide(func(c *condition) bool { return c.property == ofChain && !c.not })
	if q.has["between"] && len(chains) == 2 && len(chains[0].sites) == 1 && len(chains[1].sites) == 1 {
		chains[0].add(chains[1])
		q.conds = rest.and(chains[0])
	}
}

// reader builds a query from its items, from left to right. It remembers what a later item needs to find its place.
type reader struct {
	*query
	at      int        // position of the item being read
	last    *condition // the condition read last
	subject bool       // a noun that stands for residues came
	quiet   int        // conditions since the last anchor

	// These wait: a negation for its condition, ordinals and extremes for their helix or strand, an "all" for its noun,
	// and the relation, which is open, for its anchor.
	not   bool
	which []item
	all   bool
	open  bool
	// joined is set after "and" or "or", orJoin after "or", prep after a preposition: all until the next condition.
	joined, orJoin, prep bool
	inside               bool // the preposition is within or inside
	// notKind is the property negated last, for "not in helices or strands".
	notKind property
	// stale is set where something came between a relation word and now, so that a name is no longer its anchor.
	stale bool
}

// query builds the query of items. Every item must find its place: as a condition, as part of a relation, as an anchor,
// or as a topic, which choose and refuses then account for; nothing is passed over but fillers.
//
// For "charged residues of chain B in helices within 5 Å of the ligand" that is a filter of three conditions (charged,
// in chain B, in a helix) and a relation of 5 Å with the ligand as its anchor.
func (t *talk) query(items []item) *query {
	q := &query{finder: t.scanner.finder, f: t.f, near: t.near, items: items, has: map[string]bool{}, pH: 7}
	r := &reader{query: q}
	for _, it := range items {
		if it.concept == "@chain" && !slices.Contains(q.chains, it.names[0]) {
			q.chains = append(q.chains, it.names[0])
		}
	}
	q.readShare()
	for i := range items {
		r.item(i)
	}
	r.finish(t.last)
	q.topic = q.choose()
	return q
}

func (r *reader) item(i int) {
	it := r.items[i]
	r.at = i
	r.has[it.concept] = true
	switch it.concept {
	case "filler", "of", "has", "unit", "structure", "number", "them":
	case "protein", "rna", "dna", "nucleic":
		r.ofKind(it)
	case "which", "what", "where", "list":
		r.stale = true
	case "ask":
		r.joined, r.notKind = false, "" // except alanines, are …
	case "&", "or":
		r.stale, r.joined, r.orJoin = true, true, it.concept == "or"
	case "but":
		r.joined, r.not, r.notKind = true, false, ""
	case "in":
		r.prep, r.inside = true, oneOf(strings.ToLower(it.text), "within inside") && r.followsBond()
	case "not":
		r.not, r.notKind = true, ""
		r.joined = r.joined && !strings.HasPrefix(strings.ToLower(it.text), "but")
	case "all":
		r.all = true
	case "@nth", "longest", "shortest":
		r.which = append(r.which, it)
	case "residue":
		if k := len(r.which) - 1; k >= 0 && r.which[k].concept == "@nth" { // the second residue of the helix
			r.problem = cmp.Or(r.problem, r.misplaced(r.which[k].text))
		}
		r.noun()
		r.ofKind(it)
		r.stale = true
	case "@ph":
		r.pH = it.value
	case "@atom":
		r.atoms = append(r.atoms, it.names[0])
	case "contact", "around", "beside", "closest", "@radius", "bind", "site":
		r.relationWord(it)
	default:
		r.entity(it)
	}
}

// ofKind reads what means a kind of polymer. Behind what has just become an anchor, it is a noun that goes with it:
// near exposed nucleotides. Two kinds side by side are what something is between: protein-DNA contacts.
func (r *reader) ofKind(it item) {
	c := r.kindCondition(it)
	switch rel := r.relation; {
	case c == nil:
		return
	case r.at > 0 && it.concept == "residue" && rel != nil && !r.open && rel.label != "" && r.quiet == 0 &&
		r.items[r.at-1].is("@name @class @chain rna dna nucleic protein modified buried exposed surface"):
		if slices.ContainsFunc(rel.sites, func(i int) bool { return !c.holds(i) }) {
			r.problem = cmp.Or(r.problem, r.misplaced(it.text))
		}
		return
	case r.at > 0 && it.concept != "residue" && r.items[r.at-1].kind() != "":
		r.joined, r.has["between"] = true, true
	}
	r.entity(it)
}

// followsBond reports whether the item being read is about bonds: disulfides within chain A, not cysteines within it.
func (r *reader) followsBond() bool {
	k := r.at - 1
	for k >= 0 && r.items[k].is("filler ask of has any") {
		k--
	}
	return k < 0 || r.items[k].is("disulfide bridge hbond contact interface pair")
}

// noun records that residues were named; a waiting "all" belongs to them.
func (r *reader) noun() {
	r.subject = true
	r.every, r.all = r.every || r.all, false
}

// entity reads what can be a condition or the anchor of a relation; all else is a topic and only recorded.
func (r *reader) entity(it item) {
	if it.is("ligand ion") && r.neighbour(1) == "@ligand" {
		delete(r.has, it.concept) // the inhibitor BNZ
		return
	}
	if it.is("ligand ion") && r.open {
		r.setAnchor(r.ligandCondition(it))
		delete(r.has, it.concept)
		return
	}
	c := r.condition(it)
	if c == nil {
		if !it.isSoft() {
			r.joined, r.prep, r.last = false, false, nil
		}
		return
	}
	c.text = it.text
	wanted := r.open && (r.stale || r.relation.words["closest"] && !r.prep) // the nearest lysine to Asp52
	certain := it.is("@ligand @residue @chain") || c.counted
	switch {
	case (certain || r.open && !wanted) && r.anchor(it, c):
	case it.concept == "@ligand":
		r.ligands = append(r.ligands, it.names[0])
	default:
		r.addCondition(it, c)
	}
}

// neighbour is the concept of the next item with a meaning, forwards (1) or backwards (-1).
func (r *reader) neighbour(step int) string {
	for i := r.at + step; i >= 0 && i < len(r.items); i += step {
		if c := r.items[i].concept; c != "filler" && (c != "of" || step > 0) {
			return c
		}
	}
	return ""
}

// addCondition joins a condition to the filter: as an alternative to the last one on the same property where "and" or
// "or" stands between, else as one that must hold as well.
func (r *reader) addCondition(it item, c *condition) {
	r.quiet++
	c.inside = r.inside && r.prep
	c.not = r.not || r.joined && r.notKind == c.property
	follows := r.subject && !r.prep && !oneOf(r.neighbour(1), "residue @name @class")
	// A class that follows its noun must hold as well: residues that are charged and aromatic.
	apart := c.class && follows && !c.not && !r.orJoin
	r.problem = cmp.Or(r.unclearNot(it, c), r.problem, c.problem)
	if c.property == ofName {
		r.noun()
	}
	if !c.not {
		r.mentions = append(r.mentions, c.mentions...)
	}
	if r.merge(it, c, apart) {
		return
	}
	if r.joined && (c.isNoun() && !follows || it.concept == "residue") && r.conds.on(ofName) {
		r.problem = "It is not clear whether “" + it.text + "” is about the same residues as what stands before it; " +
			"please ask it in two questions."
	}
	r.conds = append(r.conds, c)
	r.look(len(r.x.Sites)) // all are compared with it
	r.settle(c)
}

// unclearNot says why it is not clear what the negation of a condition means; empty where it is.
func (r *reader) unclearNot(it item, c *condition) string {
	rel := r.relation
	switch {
	case !c.not:
	case it.concept == "@residue" && rel != nil && len(rel.mentions) > 0:
		return "I cannot tell whether “not " + it.text + "” leaves that residue out or what is near it; " +
			"please ask it in two questions."
	case c.property == ofName && r.at > 0 && strings.EqualFold(r.items[r.at-1].text, "no"):
		return "“no " + it.text + "” can be read in two ways; please ask whether any are so, or whether all are."
	}
	return ""
}

// merge joins a condition to the one before it: "prolines and glycines" is one condition with two alternatives, and so
// is "helices or strands". It returns false where the condition stands on its own.
func (r *reader) merge(it item, c *condition, apart bool) bool {
	last := r.last
	if last == nil || last.property != c.property {
		return false
	}
	repeats := c.property != ofPlace && it.concept != "surface" && last.String() == c.String()
	if r.joined && last.not == c.not && !apart {
		last.add(c)
		r.settle(last)
		return true
	}
	return !r.joined && repeats // cysteine residues … cysteines
}

// settle makes c the last condition, and clears pending negations and connectives.
func (r *reader) settle(c *condition) {
	if c.not {
		r.notKind = c.property
	}
	r.last, r.joined, r.prep, r.inside, r.not = c, false, false, false, false
}

// finish settles what only the whole question tells: the anchor of a relation at its end, and what "them" means, which
// refers to the query before.
func (r *reader) finish(earlier *query) {
	r.relationLast = r.quiet == 0
	r.negated = r.not && !r.has["inchain"]
	r.joinEnds()
	if earlier != nil && r.has["them"] {
		r.conds = slices.Concat(earlier.conds, r.conds)
		r.mentions = slices.Concat(earlier.mentions, r.mentions)
		r.problem = cmp.Or(r.problem, earlier.problem)
		r.relation = cmp.Or(r.relation, earlier.relation)
	}
	if r.open && !r.has["interface"] {
		r.lateAnchor()
	}
	if r.relation != nil {
		r.settleRelation()
	}
}
