package analyst

import (
	"fmt"
	"strings"

	"pleat/internal/facts"
)

// notUnderstood refuses a question because of some of its words.
func notUnderstood(items []item, why string, words []string) string {
	for i, w := range words {
		words[i] = "“" + facts.Clip(w, 40) + "”"
	}
	text := fmt.Sprintf("I did not understand “%s”", facts.Clip(textOf(items), 160))
	if len(words) > 0 {
		text += ": " + fmt.Sprintf(why, facts.Join(words, 8))
	}
	return text + "."
}

// unknownWords refuses a question for the words that are not known; empty where all are.
func unknownWords(items []item) string {
	var words []string
	for _, it := range items {
		if it.concept == "?" {
			words = append(words, it.text)
		}
	}
	if len(words) == 0 {
		return ""
	}
	return notUnderstood(items, "I do not know %s", words)
}

// misplaced says that words of the question have no place in it.
func (q *query) misplaced(words ...string) string {
	return notUnderstood(q.items, "I do not know how to take %s here", words)
}

// notUnderstood names the words that have no place in any question that can be answered.
func (q *query) notUnderstood() string {
	var words []string
	for _, it := range q.items {
		if !soft(it.concept) || it.concept == "@nth" {
			words = append(words, it.text)
		}
	}
	return q.misplaced(words...)
}

// refuses says why an understood query cannot be answered; empty where it can. The order is that of what a user can
// mend: what is not there, what has no place in the question, what is not known of the structure.
func (q *query) refuses(in *intent) string {
	if why := q.x.Unmeasured; why != "" && (in.Geometry || q.relation != nil && in.Name != "distance") {
		return why // before a problem: what is not computed is not missing
	}
	if q.problem != "" {
		return q.problem
	}
	for _, it := range q.items {
		switch {
		case it.concept == "@nth" && !q.counted, strings.EqualFold(it.text, "only"),
			it.concept == "@atom" && in.Name != "distance", it.concept == "@ph" && in.Name != "charge":
			return q.misplaced(it.text)
		}
	}
	if q.relation != nil {
		if why := q.refusesRelation(in); why != "" {
			return why
		}
	}
	chains, surfaces := 0, 0
	for _, c := range q.conds {
		if why := q.cannotTell(c); why != "" {
			return why
		}
		if c.isWhere() && c.property == ofChain {
			chains++
		}
		if c.property == ofSurface && !c.not {
			surfaces++
		}
		if in.Name == "composition" && c.property == ofName && !c.class && !c.not {
			return q.misplaced(c.text) // is the core made of phenylalanines?
		}
		if in.Filter != "anything" && (c.not || !oneOf(string(c.property), in.Filter)) {
			return q.misplaced(c.text)
		}
	}
	if surfaces > 1 {
		return q.notUnderstood()
	}
	if chains > 1 && in.Name != "interface" && in.Name != "distance" {
		return "I cannot tell which chain is meant for what; please ask of one chain at a time."
	}
	return ""
}

// refusesRelation checks the nearness of a query. It says why nearness is not computed, or has no place in the
// question.
func (q *query) refusesRelation(in *intent) string {
	rel := q.relation
	switch {
	case rel.radius > maxRadius:
		return fmt.Sprintf("Distances between residues are compared up to %g Å; please ask within less.", maxRadius)
	}
	measured := in.Name == "distance" && rel.radius == 0 || in.Name == "interface" &&
		len(rel.chains) > 0
	if in.Filter != "anything" && (!measured || rel.not) {
		return q.misplaced(rel.text)
	}
	return ""
}
