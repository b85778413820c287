package analyst

import (
	"fmt"
	"slices"
	"strings"

	"pleat/internal/facts"
	"pleat/internal/structure"
)

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

// cut returns the distance in Å within which something counts as near.
func (r *relation) cut() float64 {
	if r.radius > 0 {
		return r.radius
	}
	return facts.ContactDistance
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

// otherChains makes all chains but the one named the anchor.
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

// anchor gives an entity to the open relation; false where none is open.
func (r *reader) anchor(it item, c *condition) bool {
	q, rel := r.q, r.open
	if rel == nil {
		rel = q.relation
		switch {
		case rel == nil || rel.label == "" || r.quiet > 0:
			return false
		case it.concept == "@chain" && !r.joined && len(rel.mentions) > 0:
			return r.anchorChain(it)
		case !rel.more(it) || !r.joined || r.not:
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

// more says whether an entity can be a further anchor: in contact with Pro12 and Pro18.
func (r *relation) more(it item) bool {
	return len(r.mentions) > 0 && it.concept == "@residue" || len(r.ligands) > 0 && it.concept == "@ligand"
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

// settleRelation drops a relation that has no anchor; the words of one that has are no topics.
func (q *query) settleRelation() {
	rel := q.relation
	if rel.label == "" && !rel.mutual {
		q.relation, q.radius = nil, rel.radius
		if rel.radius > 0 && !q.has["interface"] {
			q.problem = "I understood a distance, but not from what it is measured; please name a residue, a ligand " +
				"or a chain."
		}
		return
	}
	words := []string{"contact", "around", "closest", "@radius", "bind", "site", "atom", "heavy", "has"}
	if rel.radius > 0 {
		words = append(words, "distance")
	}
	for _, word := range words {
		delete(q.has, word)
	}
}

// lateAnchor takes what was named before a relation word as its anchor: what does Tyr29 interact with?
func (r *reader) lateAnchor() {
	q, rel := r.q, r.open
	for k := len(q.conds) - 1; k >= 0 && rel.label == "" && len(q.ligands) == 0; k-- {
		c := q.conds[k]
		if c.not || c.property != ofPlace && c.property != ofState && !(c.property == ofName && !r.subjectFirst(c)) {
			continue
		}
		if len(c.mentions) == 2 && q.opensWithVerb() { // do W6 and P19 touch?
			rel.mutual = true
			return
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
