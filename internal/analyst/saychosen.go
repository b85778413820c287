package analyst

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"pleat/internal/facts"
	"pleat/internal/structure"
)

// Answers about residues with properties.

const maxChosen = 60 // residues listed

func (q *query) residuesWith() part {
	s := q.chosen
	if s.problem != "" {
		return no("%s", s.problem)
	}
	if p, ok := q.unknowable(); !ok {
		return p
	}
	for _, c := range s.base {
		s.scope = slices.DeleteFunc(slices.Clone(s.scope), func(i int) bool { return !c.holds(i) })
	}
	var said []string
	var all []int
	for k := range max(1, len(s.each)) {
		text, hits := q.countOf(k)
		said = append(said, text)
		all = append(all, hits...)
	}
	if len(s.each) > 1 && s.compare {
		said = append(said, q.difference(s.each[0].said, s.each[1].said, q.hits(s.with(0)), q.hits(s.with(1))))
	}
	if next := q.besideToo(); len(next) > 0 {
		said = append(said, "Its neighbours in the chain are not counted: "+q.x.List(next, 2)+".")
	}
	slices.Sort(all)
	cited := q.x.Refs(facts.Head(slices.Compact(all), maxChosen))
	for _, r := range s.about {
		if !slices.Contains(cited, r) {
			cited = append(cited, r)
		}
	}
	return part{strings.Join(said, " "), cited, s.sure()}
}

// besideToo are the neighbours in the chain that would fit, were they counted.
func (q *query) besideToo() []int {
	if q.chosen.strict {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(q.chosen.beside), func(i int) bool {
		unfit := func(c *condition) bool { return c.kind != "near" && !c.holds(i) }
		return !slices.Contains(q.chosen.scope, i) || slices.ContainsFunc(q.chosen.conds, unfit)
	})
}

// sure says what a selection rests on.
func (s *selection) sure() Certainty {
	out := Measured
	for _, c := range s.conds {
		switch {
		case c.kind == "limit":
			return Estimated
		case c.kind == "state" || c.kind == "surface":
			out = Geometric
		}
	}
	if s.mean {
		return Estimated
	}
	return out
}

// unknowable says why a property cannot be told here.
func (q *query) unknowable() (part, bool) {
	s := q.chosen
	any := func(pass func(*facts.Site) bool) bool {
		return slices.ContainsFunc(s.scope, func(i int) bool { return pass(&q.x.Sites[i]) })
	}
	protein := any(func(t *facts.Site) bool { return t.Kind == structure.Protein })
	for _, c := range s.conds {
		switch {
		case c.kind == "limit" && !q.x.HasConfidence:
			return q.noConfidence(), false
		case c.kind == "state" && !any(func(t *facts.Site) bool { return t.State != 0 }):
			return no("Secondary structure is assigned to protein residues with a complete main chain, and there are none here."), false
		case c.kind == "surface" && !protein:
			return no("Buried and exposed are told of protein residues, and there are none here."), false
		case (c.kind == "name" || c.kind == "subject") && strings.Contains(c.said, "counted as such") && !protein:
			return no("These classes are of amino acids, and there are none here."), false
		}
	}
	if s.mean && !q.x.HasConfidence {
		return q.noConfidence(), false
	}
	return part{}, true
}

// with is the conditions of the k-th name told apart.
func (s *selection) with(k int) []*condition {
	if len(s.each) < 2 {
		return s.conds
	}
	out := []*condition{s.each[k]}
	for _, c := range s.conds {
		if c.kind != "name" || c.not {
			out = append(out, c)
		}
	}
	return out
}

// rank is the order in which properties are said.
func (c *condition) rank() int {
	n := slices.Index([]string{"subject", "name", "state", "surface", "limit", "near", "range"}, c.kind)
	if c.not {
		n += 10
	}
	return n
}

// hits are the residues that fit.
func (q *query) hits(conds []*condition) []int {
	out := slices.DeleteFunc(slices.Clone(q.chosen.scope), func(i int) bool {
		return slices.ContainsFunc(conds, func(c *condition) bool { return !c.holds(i) })
	})
	if q.chosen.nearest == nil {
		return out
	}
	best, at := math.Inf(1), -1
	for _, i := range out {
		for _, a := range q.chosen.nearest {
			if p, ok := q.x.Closest(i, a); ok && p.Distance < best {
				best, at = p.Distance, i
			}
		}
	}
	if at < 0 {
		return nil
	}
	return []int{at}
}

// countOf tells how many residues fit the k-th name, and which.
func (q *query) countOf(k int) (string, []int) {
	s := q.chosen
	conds := s.with(k)
	hits := q.hits(conds)
	var names, base []string
	slices.SortStableFunc(conds, func(a, b *condition) int { return cmp.Compare(a.rank(), b.rank()) })
	for _, c := range conds {
		if slices.Contains(s.base, c) {
			base = append(base, c.String())
		} else {
			names = append(names, c.String())
		}
	}
	where := s.where
	if len(base) > 0 {
		where += "of those that are " + strings.Join(base, " and ") + ", "
	}
	where = capital(where)
	label := strings.Join(names, " and ")
	if s.mean {
		return q.meanOf(where, label, hits), hits
	}
	if s.nearest != nil {
		return q.nearestOf(where, label, hits), hits
	}
	share := facts.Percent(float64(len(hits)) / float64(max(1, len(s.scope))))
	text := where + fmt.Sprintf("%d of %d residues (%s) are %s", len(hits), len(s.scope), share, label)
	if len(hits) > 0 {
		text += ": " + q.x.List(hits, maxChosen)
	}
	return text + "." + q.byChain(hits), hits
}

// byChain tells the counts apart, where chains are compared or several are looked at.
func (q *query) byChain(hits []int) string {
	var ids []string
	in, of := map[string]int{}, map[string]int{}
	for _, i := range q.chosen.scope {
		id := q.x.Sites[i].Ref.Chain
		if of[id]++; of[id] == 1 {
			ids = append(ids, id)
		}
	}
	if len(ids) < 2 {
		return ""
	}
	for _, i := range hits {
		in[q.x.Sites[i].Ref.Chain]++
	}
	var said []string
	for _, id := range ids {
		said = append(said, fmt.Sprintf("chain %s has %d", id, in[id]))
	}
	text := " By chain: " + facts.Join(said, 20) + "."
	if q.chosen.chains && len(ids) == 2 {
		a, b := in[ids[0]], in[ids[1]]
		text = fmt.Sprintf(" By chain: %s, a difference of %d.", facts.Join(said, 2), max(a, b)-min(a, b))
	}
	return text
}

func (q *query) difference(a, b string, first, second []int) string {
	switch d := len(first) - len(second); {
	case d > 0:
		return fmt.Sprintf("That is %d more %s than %s.", d, a, b)
	case d < 0:
		return fmt.Sprintf("That is %d fewer %s than %s.", -d, a, b)
	}
	return fmt.Sprintf("That is as many %s as %s.", a, b)
}

func (q *query) meanOf(where, label string, hits []int) string {
	if len(hits) == 0 {
		return where + "no residue is " + label + ", so there is no mean."
	}
	sum := 0.0
	for _, i := range hits {
		sum += q.x.Sites[i].PLDDT
	}
	n := facts.Quantity(len(hits), "residue is", "residues are")
	return where + fmt.Sprintf("%s %s: mean pLDDT %.1f (%s).", n, label, sum/float64(len(hits)), q.x.List(hits, maxChosen))
}

func (q *query) nearestOf(where, label string, hits []int) string {
	if len(hits) == 0 {
		return where + "no residue is there that could be " + label + "."
	}
	var best facts.AtomPair
	for k, a := range q.chosen.nearest {
		if p, ok := q.x.Closest(hits[0], a); ok && (k == 0 || p.Distance < best.Distance) {
			best = p
		}
	}
	text := fmt.Sprintf("the residue that is %s is %s: its %s is %s from %s of %s.",
		label, best.A, best.AtomA, facts.Angstrom(best.Distance), best.AtomB, best.B)
	return capital(where + text)
}
