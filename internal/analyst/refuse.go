package analyst

import (
	"fmt"
	"slices"
	"strings"

	"pleat/internal/facts"
)

// notUnderstood names the words that have no place in any question that can be answered.
func (q *query) notUnderstood() string {
	var words []string
	for _, it := range q.items {
		if !soft(it.concept) || it.concept == "@nth" {
			words = append(words, "“"+facts.Clip(it.text, 30)+"”")
		}
	}
	text := fmt.Sprintf("I did not understand “%s”", facts.Clip(textOf(q.items), 160))
	if len(words) > 0 {
		text += ": I do not know how to take " + facts.Join(words, 6) + " here"
	}
	return text + ". I would rather not guess."
}

// refuses says why an understood query cannot be answered; empty where it can. The order is that of what a user can
// mend: what is not there, what has no place in the question, what is not known of the structure.
func (q *query) refuses(in *intent) string {
	if q.problem != "" {
		return q.problem
	}
	if q.absent != "" && in.name != "gaps" {
		return q.absent
	}
	for _, check := range [...]func(*intent) string{q.misplacedWord, q.impossibleRelation, q.unknownProperty,
		q.outOfScope} {
		if why := check(in); why != "" {
			return why
		}
	}
	return ""
}

// cannotTake says that a word of the question has no place in it.
func (q *query) cannotTake(word string) string {
	return fmt.Sprintf("I did not understand “%s”: I do not know how to take “%s” here. I would rather not guess.",
		facts.Clip(textOf(q.items), 160), facts.Clip(word, 40))
}

// misplacedWord finds an ordinal, an atom or a pH that the answer would not use.
func (q *query) misplacedWord(in *intent) string {
	for _, it := range q.items {
		if it.concept == "@nth" && !q.counted || strings.EqualFold(it.text, "only") {
			return q.cannotTake(it.text)
		}
	}
	if len(q.atoms) > 0 && in.name != "distance" {
		return "Atoms by name matter to distances alone; I do not know how to take “" + q.atoms[0] + "” here."
	}
	if q.pH != nil && in.name != "charge" {
		return "A pH matters to the net charge alone; I do not know how to take it here."
	}
	return ""
}

// impossibleRelation finds a distance that is not computed, or "each other" where there are no two.
func (q *query) impossibleRelation(in *intent) string {
	rel := q.relation
	if rel == nil {
		return ""
	}
	pairs := slices.Contains([]string{"interface", "distance", "contacts"}, in.name)
	switch {
	case rel.mutual && !pairs && !(in.name == "size" && rel.radius == 0):
		return q.cannotTake("each other")
	case rel.words["closest"] && rel.radius == 0 && q.segments != nil:
		return "Which helix or strand is closest I cannot say; ask which residue is, or give a distance in Å."
	case rel.radius > maxRadius:
		return fmt.Sprintf("Distances between residues are compared up to %g Å; please ask within less.", maxRadius)
	case q.x.Crowded:
		return "Atoms of this structure lie on one another, so distances between its residues are not computed."
	}
	return ""
}

// unknownProperty finds a condition on what is not known of this structure, or on two chains at once.
func (q *query) unknownProperty(in *intent) string {
	pairs := slices.Contains([]string{"interface", "distance"}, in.name)
	for _, c := range q.conds {
		if why := q.cannotTell(c); why != "" {
			return why
		}
		if c.property == ofChain && len(c.chains) > 0 && !pairs && q.chainsConflict() {
			return "I cannot tell which chain is meant for what; please ask of one chain at a time."
		}
	}
	return ""
}

// chainsConflict says whether two chains are named that are not alternatives.
func (q *query) chainsConflict() bool {
	n := 0
	for _, c := range q.conds {
		if c.property == ofChain && len(c.chains) > 0 && !c.not {
			n++
		}
	}
	return n > 1
}

// allows says whether a topic of this scope can be asked under a condition.
func (s scope) allows(c *condition) bool {
	switch s {
	case ofAnything:
		return true
	case ofEnds:
		return c.property == ofChain || !c.not && (c.property == ofPlace || c.property == ofState &&
			len(c.segments) > 0)
	case ofPlaces:
		return !c.not && (c.property == ofChain || c.property == ofPlace)
	case ofNumbers:
		return c.property == ofChain || !c.not && (c.property == ofPlace || c.property == ofName)
	case ofChains:
		return c.property == ofChain && !c.not
	}
	return false
}

// measures says whether a topic of this scope takes the relation for what it measures, and not for a filter.
func (s scope) measures(r *relation) bool {
	if r.not || r.far {
		return false
	}
	return s == ofEnds && r.radius == 0 || s == ofChains && (len(r.chains) > 0 || r.mutual)
}

// outOfScope names a filter that an intent cannot be asked of.
func (q *query) outOfScope(in *intent) string {
	for _, c := range q.conds {
		if in.scope.allows(c) && !(in.scope == ofEnds && c.property == ofState && len(q.mentions)+len(q.ligands) > 1) {
			continue
		}
		return q.cannotTake(c.text)
	}
	if in.scope != ofAnything && q.relation != nil && !in.scope.measures(q.relation) {
		return q.cannotTake(q.relation.text)
	}
	return ""
}

// outsideReasons says what no structure can tell, by concept.
func outsideReasons() map[string]string {
	return map[string]string{
		"!function": "what the molecule does. Function is not in the coordinates; it takes experiments, or " +
			"annotation by related proteins",
		"!catalysis": "catalysis or mechanism. An active site is known from experiments, not from coordinates",
		"!safety":    "toxicity, allergenicity or immune responses. These take experiments",
		"!partner":   "partners or recognition by molecules that are not in this structure",
		"!mutation": "what a mutation would do. The facts are of this one structure; effects of mutations take " +
			"experiments or other models",
		"!stability":  "stability, melting or folding energies. A single structure does not hold them",
		"!lab":        "behaviour in the laboratory, such as solubility, expression or aggregation",
		"!origin":     "organism, gene, family or evolution. The coordinates do not say where the molecule comes from",
		"!medicine":   "medical matters. Nothing of them is in a structure",
		"!cell":       "where in a cell or body the molecule is",
		"!motion":     "motion or flexibility. This is one still structure; a dynamics run could tell more",
		"!literature": "who made, published or deposited it, or what has been written of it",
		"!design":     "recommendations or designs. I report what is computed, and do not advise",
		"!compare":    "other structures. I see this one alone",
		"!symmetry":   "this geometric or crystallographic property. It is not among the facts computed here",
	}
}
