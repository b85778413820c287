package analyst

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"pleat/internal/facts"
	"pleat/internal/structure"
	"pleat/internal/words"
)

// quoted writes words of a question in quotes: “far” and “glorbs”.
func quoted(texts ...string) string {
	var list []string
	for _, w := range texts {
		list = append(list, "“"+facts.Clip(w, 40)+"”")
	}
	return words.Join(list, 8)
}

func notUnderstood(items []item, why string) string {
	return fmt.Sprintf("I did not understand “%s”%s.", facts.Clip(textOf(items), 160), why)
}

// misplaced says that words of the question have no place in it.
func (q *query) misplaced(words ...string) string {
	if len(words) == 0 {
		return notUnderstood(q.items, "")
	}
	return notUnderstood(q.items, ": I do not know how to take "+quoted(words...)+" here")
}

// notUnderstood names the words that have no place in any question that can be answered.
func (q *query) notUnderstood() string {
	return q.misplaced(texts(keep(q.items, func(it item) bool { return !it.isSoft() || it.concept == "@nth" }))...)
}

// refuses says why an understood query cannot be answered; empty where it can. The order is that of what a user can
// mend: what is not there, what has no place in the question, what is not known of the structure.
func (q *query) refuses() string {
	if in := q.topic; in.Geometry || q.relation != nil && in.Name != "distance" {
		if why := q.x.Lacks(facts.Space, q.x.Residues()).Refusal(); why != "" {
			return why // before a problem: what is not computed is not missing
		}
	}
	return cmp.Or(q.problem, q.refusesLigands(), q.refusesItems(), q.refusesRelation(), q.refusesFilter(),
		q.refusesAtoms())
}

// ligandTopics are those whose answers are about the ligands that a question names.
const ligandTopics = "ligands contacts distance pockets"

// refusesLigands refuses ligands that a question names where they are not there, or where its topic would pass them
// over. An affinity is of the one ligand of a prediction.
func (q *query) refusesLigands() string {
	for _, code := range q.ligands {
		there := func(l facts.Ligand) bool { return isOneOf(l.Ref, []string{code}) }
		others := slices.ContainsFunc(q.f.Ligands, func(l facts.Ligand) bool { return !there(l) })
		affinity := q.topic.Name == "model scores" && q.has["affinity"] && (q.f.Affinity == nil || !others)
		switch {
		case q.topic.Name == "ligands":
		case !slices.ContainsFunc(q.f.Ligands, there):
			return q.noLigand(code)
		case !affinity && !slices.Contains(strings.Fields(ligandTopics), q.topic.Name):
			return fmt.Sprintf("The topic “%s” is known of residues of chains, not of ligands such as %s; please ask "+
				"which ligands there are, what is near one, or for a distance to one.", q.topic.Name, code)
		}
	}
	return ""
}

const noUntouched = "I tell which chains touch each other, and not which do not; please ask for the interfaces."

// refusesItems refuses words that would be passed over: they matter to other topics, or limit what is asked.
func (q *query) refusesItems() string {
	missing := func(it item) bool {
		return it.concept == "gap" && !oneOf(strings.ToLower(it.text), "complete incomplete")
	}
	for _, it := range q.items {
		switch in := q.topic; {
		case it.concept == "@nth" && !q.counted, strings.EqualFold(it.text, "only"),
			it.concept == "@atom" && in.Name != "distance", it.concept == "@ph" && in.Name != "charge":
			return q.misplaced(it.text)
		case in.Name == "interface" && q.negated:
			return noUntouched
		case in.Name == "gaps" && q.has["residue"] && it.concept == "gap" && !slices.ContainsFunc(q.items, missing):
			return "I list missing residues, and not residues that lack atoms; please ask for gaps in the chains."
		case it.concept == "residue" && slices.Contains(it.names, "sidechain") &&
			oneOf(in.Name, "atoms weight surface size"):
			return q.misplaced(it.text) // whole residues are counted and measured
		}
	}
	return ""
}

// refusesRelation says why nearness is not computed, or has no place in the question.
func (q *query) refusesRelation() string {
	rel := q.relation
	switch {
	case rel == nil:
		return ""
	case rel.radius > maxRadius:
		return fmt.Sprintf("Distances between residues are compared up to %g Å; please ask within less.", maxRadius)
	}
	in := q.topic
	if in.Name == "interface" && rel.not {
		return noUntouched
	}
	measured := in.Name == "distance" && rel.radius == 0 || in.Name == "interface" && len(rel.chains) > 0
	if in.Filter != "anything" && (!measured || rel.not) {
		return q.misplaced(rel.text)
	}
	return ""
}

// refusesFilter refuses conditions that are not known of the structure or that the topic does not take.
func (q *query) refusesFilter() string {
	in := q.topic
	for _, c := range q.conds {
		if why := q.cannotTell(c); why != "" {
			return why
		}
		partOf := in.Name == "composition" && c.isNoun() && !c.class // is the core made of phenylalanines?
		taken := in.Filter == "anything" || !c.not && oneOf(string(c.property), in.Filter)
		if partOf || !taken || c.inside && in.Name == "interface" {
			return q.misplaced(c.text)
		}
	}
	positive := func(p property) int {
		return len(keep(q.conds, func(c *condition) bool { return c.property == p && !c.not && c.kind == "" }))
	}
	switch {
	case positive(ofSurface) > 1:
		return q.notUnderstood()
	case positive(ofChain) > 1 && in.Name != "interface" && in.Name != "distance":
		return "I cannot tell which chain is meant for what; please ask of one chain at a time."
	}
	return ""
}

// cannotTell says why a property is not known of the structure; empty where it is. Without it "no residue is buried"
// would be the answer of a structure whose surface was not computed.
func (q *query) cannotTell(c *condition) string {
	has := func(pass func(facts.Site) bool) bool { return slices.ContainsFunc(q.x.Sites, pass) }
	protein := has(func(s facts.Site) bool { return s.Kind == structure.Protein })
	scope := q.scope()
	defined := protein && (len(scope) == 0 || len(q.undefined(c.property, scope)) < len(scope))
	switch {
	case c.property == ofLimit && !q.x.HasConfidence:
		return q.noConfidence()
	case c.property == ofRMSD && !q.x.HasRMSD:
		return "No predicted RMSD is known for this structure."
	case c.property == ofState && protein && !defined:
		return "Secondary structure is known of protein residues, and none of these is one."
	case c.property == ofSurface && protein && q.x.HasSurface && !defined:
		return "Whether a residue is buried or exposed is known of protein residues, and none of these is one."
	case c.property == ofState && !protein:
		return "Secondary structure is assigned to protein residues, and there are none here."
	case c.property == ofSurface && (!protein || !q.x.HasSurface):
		return "Whether residues are buried or exposed is known of protein residues with a computed surface, and " +
			"there are none here."
	case c.class && !protein:
		return "These classes are of amino acids, and there are none here."
	}
	return ""
}
