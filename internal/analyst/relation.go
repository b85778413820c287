package analyst

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"pleat/internal/facts"
)

const (
	maxRadius = 20.0       // Å, of a question
	maxNear   = 20_000_000 // atoms and cells that the relations of one message look at, see facts.Index.Around
)

// relation is nearness in space to something that a question names, its anchor: within 5 Å of Trp6, touching chain A,
// nearest to the zinc.
type relation struct {
	// words are the concepts that the relation was named with: contact, around, closest, bind, site, @radius.
	words  map[string]bool
	radius float64 // Å; 0 where the question names none
	not    bool
	text   string
	// sites and label are those of the anchor; the label is empty where none was named.
	sites []int
	label string
	// mentions, ligands and chains are what the anchor is made of.
	mentions        []mention
	ligands, chains []string
	// condition is what the relation asks of residues, computed when it is first needed.
	condition *condition
}

// cut returns the distance in Å within which something counts as near.
func (r *relation) cut() float64      { return cmp.Or(r.radius, facts.ContactDistance) }
func (r *relation) asksClosest() bool { return r.words["closest"] && r.radius == 0 }

// relationWord opens a relation, or adds a word to the open one.
func (r *reader) relationWord(it item) {
	switch {
	case r.relation == nil:
		r.relation = &relation{words: map[string]bool{}, not: r.not, text: it.text}
		r.open, r.not = true, false
	case !r.open:
		r.problem = "I understand one distance or contact at a time; please ask for them one by one."
		return
	}
	r.stale = false
	r.relation.words[it.concept] = true
	if it.concept == "@radius" {
		if r.relation.radius > 0 {
			r.problem = "I understand one distance at a time; please ask within how many Å."
		}
		r.relation.radius = it.value
		if it.above {
			r.problem = "I compare distances with the most that they may be; please ask within how many Å."
		}
	}
}

// anchor adds an entity to the open relation, or to the anchor just read; false where it belongs elsewhere.
func (r *reader) anchor(it item, c *condition) bool {
	rel := r.relation
	if rel == nil || !r.open && !r.joinsAnchor(it) {
		return false
	}
	if rel.words["beside"] && rel.radius == 0 && it.is("@name @class") {
		r.problem = fmt.Sprintf("“%s” can mean next to it in the chain or in space; please say within how many Å.",
			rel.text)
	}
	if it.concept == "@chain" && r.prep && !rel.words["@radius"] && len(r.mentions) > 0 {
		return false // what does residue 7 touch in chain A
	}
	if r.inside { // contacts within chain A
		r.problem = cmp.Or(r.problem, r.misplaced("within"))
	}
	r.joined, r.prep = false, false
	r.setAnchor(c)
	return true
}

// joinsAnchor reports whether an entity goes on with the anchor just read: near residue 5 or residue 9.
func (r *reader) joinsAnchor(it item) bool {
	rel := r.relation
	same := it.concept == "@residue" && len(rel.mentions) > 0 || it.concept == "@ligand" && len(rel.ligands) > 0
	return same && rel.label != "" && r.quiet == 0 && r.joined && !r.not
}

// setAnchor adds what a condition selects to the anchor of the relation. Where the structure does not have it, the
// question has a problem: nothing can be near what is not there.
func (r *reader) setAnchor(c *condition) {
	rel := r.relation
	sites := slices.Concat(c.sites...)
	slices.Sort(sites)
	label := c.label
	if c.problem == "" && label == "" {
		label = "a residue that is " + c.String()
	}
	r.problem = cmp.Or(c.problem, r.problem)
	if len(sites) == 0 && r.problem == "" {
		r.problem = "No residue is " + c.String() + ", so nothing can be near one."
	}
	rel.mentions = append(rel.mentions, c.mentions...)
	rel.ligands = append(rel.ligands, c.ligands...)
	rel.chains = append(rel.chains, c.chains...)
	if rel.label != "" {
		label = rel.label + " or " + label
	}
	rel.sites, rel.label = append(rel.sites, slices.Compact(sites)...), label
	r.open, r.quiet = false, 0
}

// lateAnchor makes what was named before a relation word its anchor: what does Tyr29 interact with? Two residues are
// not: do W6 and P19 touch?
func (r *reader) lateAnchor() {
	k := len(r.conds) - 1
	if len(r.mentions) == 1 {
		k = slices.IndexFunc(r.conds, func(c *condition) bool { return c.property == ofPlace && !c.not })
	}
	switch {
	case len(r.ligands) > 0:
		r.setAnchor(r.ligandCondition(item{names: r.ligands}))
		r.ligands = nil
		return
	case k < 0 || r.conds[k].not || len(r.mentions) > 1:
		return
	case len(r.mentions) == 1:
	case r.conds[k].property == ofState || r.conds[k].property == ofName && r.has["what"]:
		r.conds[k].label = strings.TrimPrefix(r.conds[k].String(), "in ")
	default:
		return
	}
	r.setAnchor(r.conds[k])
	r.conds, r.mentions = slices.Delete(r.conds, k, k+1), nil
}

// settleRelation is called once all items are read. It drops a relation that has no anchor; the words of one that has
// are no topics.
func (q *query) settleRelation() {
	rel := q.relation
	if rel.label == "" {
		q.relation, q.negated = nil, q.negated || rel.not
		if rel.radius > 0 {
			q.problem = cmp.Or(q.problem, "I understood a distance, but not from what it is measured; please name a "+
				"residue, a ligand or a chain.")
		}
		return
	}
	for _, word := range strings.Fields(vocabulary().lines["words relation"]) {
		delete(q.has, word)
	}
	switch {
	case rel.radius > 0:
		delete(q.has, "distance")
	case len(rel.chains) > 0 && q.conds.only(ofChain): // contacts between A and B
		delete(q.has, "between")
	}
}

func (q *query) distanceCondition(r *relation) *condition {
	near, next := q.nearby(r.sites, r.cut())
	wording := fmt.Sprintf("within %.1f Å of %s", r.cut(), r.label)
	if len(r.mentions) > 0 && len(next) > 0 {
		wording += " (its neighbours " + facts.ShortRefs(q.x.Refs(next), 4) + " not counted)"
	}
	sites := slices.Collect(maps.Keys(near))
	if r.not { // what is left out as near is not far either
		sites = slices.Concat(sites, next, keep(r.sites, func(i int) bool { return q.x.Sites[i].Kind.Polymer() }))
	}
	slices.Sort(sites)
	return &condition{
		property: ofDistance,
		not:      r.not,
		wording:  []string{wording},
		sites:    [][]int{slices.Compact(sites)},
	}
}

// nearby returns the residues within a distance of the anchors and, separately, their neighbours in the chain; see
// facts.Index.Near. Where too many atoms are near, q.problem says so.
func (q *query) nearby(anchors []int, cut float64) (near map[int]facts.AtomPair, next []int) {
	near, next, ok := q.x.Near(anchors, cut, q.near)
	if !ok {
		q.problem = cmp.Or(q.problem, "Too many atoms are so close together; please ask within a smaller distance, or "+
			"near fewer residues.")
	}
	return near, next
}
