package analyst

import (
	"fmt"
	"slices"
	"strings"

	"pleat/internal/facts"
)

// talk answers one message of a user: its sentences, and the questions that each of them asks.
type talk struct {
	f     *facts.Facts
	x     *facts.Index
	reply Reply
	texts []string
	cited map[facts.ResidueRef]bool
	sure  []Certainty
	lost  bool // a part was not understood
	last  *query
}

// answer reads the sentences. One that asks nothing, such as "Look at chain B.", narrows the next one.
func (t *talk) answer(question string) {
	t.cited = map[facts.ResidueRef]bool{}
	s := newScanner(t.x)
	all := sentences(question)
	if len(all) > maxSentences {
		t.refuse("", fmt.Sprintf("I read the first %d sentences; please ask the others separately.", maxSentences))
	}
	var context []item
	for _, words := range facts.Head(all, maxSentences) {
		items := s.scan(words)
		switch {
		case isContext(items):
			context = append(context, items...)
			continue
		case !slices.ContainsFunc(items, isMeaningful):
			continue // hello, thanks
		}
		t.sentence(slices.Concat(context, items))
		context = nil
	}
	if len(context) > 0 {
		t.sentence(context)
	}
}

func isMeaningful(it item) bool { return !oneOf(it.concept, "filler & ask in but it") }

// isContext says whether a sentence names residues or chains and asks nothing of them.
func isContext(items []item) bool {
	entity := false
	for _, it := range items {
		switch {
		case oneOf(it.concept, "@residue @chain helix strand @nth rna dna"):
			entity = true
		case !oneOf(it.concept, "filler & of in structure residue protein chain between"):
			return false
		}
	}
	return entity
}

// sentence answers the questions of a sentence, one after the other.
func (t *talk) sentence(items []item) {
	clauses := splitQuestions(items)
	if len(clauses) > maxParts {
		t.lost = true
		t.refuse(textOf(items), "This asks for too many things at once; please ask them one by one.")
		return
	}
	first := true
	for _, clause := range clauses {
		if !slices.ContainsFunc(clause, func(it item) bool { return isMeaningful(it) && it.concept != "which" }) &&
			!first {
			continue // if so, which?
		}
		t.clause(clause, first)
		first = false
	}
}

// splitQuestions cuts a sentence where a connective is followed by a new question: "…, and how many …". What stands
// before the first question belongs to it: "Of the lysines, which …".
func splitQuestions(items []item) (out [][]item) {
	from := 0
	for i := 1; i < len(items); i++ {
		if !oneOf(items[i-1].concept, "& but or") || !opensQuestion(items, i) || !slices.ContainsFunc(items[from:i],
			isAsking) {
			continue
		}
		if oneOf(items[i].concept, "which what") && items[i-1].concept == "or" || items[i-1].text == "," &&
			isVerb(items[i]) {
			continue // the lysines, K48 excepted, are …
		}
		if continuesPredicate(items[i:]) {
			continue
		}
		out = append(out, items[from:i-1])
		from = i
	}
	return append(out, items[from:])
}

// isAsking says whether an item makes what it stands in a question.
func isAsking(it item) bool {
	return oneOf(it.concept, "howmany which what where list ask howlong capability overview") ||
		it.concept == "filler" && isVerb(it) ||
		!soft(it.concept) && !oneOf(it.concept, "not interface @radius contact around")
}

// isVerb says whether an item is a verb that opens a yes-or-no question.
func isVerb(it item) bool {
	return oneOf(strings.ToLower(it.text), "does do did is are was were can has have")
}

// continuesPredicate says whether a verb at the beginning has no subject of its own, so that it belongs to the noun
// before it: the lysines that are in the helix "are exposed".
func continuesPredicate(items []item) bool {
	if !oneOf(strings.ToLower(items[0].text), "is are have has") {
		return false
	}
	for i, it := range items[1:] {
		switch {
		case oneOf(it.concept, "not in"):
			return true
		case oneOf(it.concept, "buried exposed surface @limit @radius contact around @class helix strand coil"):
			rest := items[i+2:]
			return !slices.ContainsFunc(facts.Head(rest, 1), func(next item) bool {
				return oneOf(next.concept, "residue @name @class")
			})
		case it.concept != "filler" || strings.EqualFold(it.text, "there"):
			return false
		}
	}
	return false
}

// opensQuestion says whether a question word stands at i, possibly after another connective and fillers.
func opensQuestion(items []item, i int) bool {
	for ; i < len(items); i++ {
		it := items[i]
		switch {
		case oneOf(it.concept, "howmany which what where list ask howlong"), it.concept == "has" &&
			isVerb(it), it.concept == "filler" && isVerb(it),
			strings.HasPrefix(strings.ToLower(it.text), "how "), strings.HasPrefix(strings.ToLower(it.text), "what "):
			return true
		case it.concept != "&" && it.concept != "filler":
			return false
		}
	}
	return false
}

// clause answers one question, which may name several topics or several nouns with filters of their own.
func (t *talk) clause(items []item, first bool) {
	if len(items) > 200 {
		t.lost = true
		t.refuse(textOf(items), "This question is too long to be understood whole; please ask for less at once.")
		return
	}
	if why := t.unknown(items); why != "" {
		t.lost = true
		t.refuse(textOf(items), why)
		return
	}
	if pieces, problem := splitNouns(items); problem != "" {
		t.lost = true
		t.refuse(textOf(items), problem)
		return
	} else if len(pieces) > 1 {
		for _, piece := range pieces {
			t.single(piece, first)
		}
		return
	}
	if pieces := splitTopics(items); len(pieces) > 1 {
		if q := t.query(items, t.last); slices.ContainsFunc(items, isOutside) || q.choose() == nil {
			for _, piece := range pieces {
				t.single(piece, first)
			}
			return
		}
	}
	t.single(items, first)
}

// isOutside says whether an item is a matter that no structure can tell.
func isOutside(it item) bool { return strings.HasPrefix(it.concept, "!") }

// unknown says which words are not understood; empty where all are.
func (t *talk) unknown(items []item) string {
	var words []string
	for _, it := range items {
		if it.concept == "?" && len(words) < 8 {
			words = append(words, "“"+facts.Clip(it.text, 30)+"”")
		}
		if isOutside(it) {
			return "" // that is the better reason
		}
	}
	if len(words) == 0 {
		return ""
	}
	return fmt.Sprintf("I did not understand “%s”: I do not know %s. I would rather not guess.",
		facts.Clip(textOf(items), 160), facts.Join(words, 8))
}

// single answers a question with one topic, or says why not.
func (t *talk) single(items []item, first bool) {
	for _, it := range items {
		if isOutside(it) {
			t.lost = true
			t.refuse(textOf(items), fmt.Sprintf("About “%s”: I cannot tell %s.", facts.Clip(it.text, 40),
				outsideReasons()[it.concept]))
			if q := t.query(items, t.last); q.problem == "" && q.subject() != nil {
				t.last = q // what is the function of Trp6, and is it buried?
			}
			return
		}
	}
	q := t.query(items, t.last)
	if !first && t.last.saysDistance(q) {
		return // which is closest, and how far away is it?
	}
	if !first {
		q.resume(t.last)
	}
	in := q.choose()
	if first && t.elliptic(q) {
		in = nil // of what was asked before, or of the whole?
	} else if t.elliptic(q) {
		if why := q.continueFrom(t.last); why != "" {
			t.lost = true
			t.refuse(textOf(items), why)
			return
		}
		in = q.choose()
	}
	if in == nil {
		t.lost = true
		t.refuse(textOf(items), q.notUnderstood())
		return
	}
	if why := q.refuses(in); why != "" {
		t.refuse(textOf(items), why)
		t.lost = t.lost || q.problem == "" && q.absent == ""
		return
	}
	p := q.answer(in.name)
	t.accept(in, q, p)
	t.last = q
}

// elliptic says whether a question leaves out what it is about: "… and how many are in helices?"
func (t *talk) elliptic(q *query) bool {
	if t.last == nil || q.segments != nil || q.has["them"] || q.has["it"] || !q.onlyTopics("not") ||
		len(t.last.conds) == 0 {
		return false
	}
	return !q.has["residue"] && !q.has["list"] && !q.has["chain"] && len(q.mentions) == 0 && (q.has["howmany"] ||
		q.has["which"] || q.has["any"])
}

// continueFrom gives the query the subject of the one before; why says that this would be a guess.
func (q *query) continueFrom(earlier *query) (why string) {
	if q.negated && len(q.conds) == 0 {
		return q.negate(earlier)
	}
	if q.conditionOn(ofName) {
		if !q.only(ofName) || earlier.only(ofName) {
			return ""
		}
		return "It is not clear whether this is also about what came before it; please ask it by itself."
	}
	q.inherit(earlier)
	return ""
}

// negate asks for those of which the last condition of the query before does not hold: how many are helical and how
// many are not? why says that it is not clear which condition that is.
func (q *query) negate(earlier *query) (why string) {
	at := earlier.predicateAt(earlier.conds)
	if at < 0 || earlier.relation != nil {
		return "It is not clear what “not” refers to; please ask it by itself."
	}
	other := *earlier.conds[at]
	other.not = !other.not
	q.conds, q.mentions, q.negated = slices.Clone(earlier.conds), earlier.mentions, false
	q.conds[at] = &other
	delete(q.has, "not")
	return ""
}

// saysDistance says whether the answer to a query already has the distance that the next one asks for.
func (q *query) saysDistance(next *query) bool {
	return q != nil && q.relation != nil && q.relation.words["closest"] && q.relation.radius == 0 &&
		(next.has["it"] || next.has["them"]) && next.has["distance"] && next.onlyTopics("distance") &&
		!slices.ContainsFunc(next.items, isEntity)
}

// resume completes a query that names nothing by the one before it: which one is the longest, what percent is that?
func (q *query) resume(earlier *query) {
	if earlier == nil || slices.ContainsFunc(q.items, isEntity) {
		return
	}
	topics := q.topics()
	if len(topics) != 1 {
		return
	}
	switch topic := topics[0]; {
	case topic == "percent" && len(q.conds) == 0:
		q.inherit(earlier)
	case oneOf(topic, "longest shortest") && earlier.segments != nil && earlier.relation == nil:
		k := slices.IndexFunc(earlier.items, func(it item) bool { return statesNamed(it.concept) })
		if k < 0 || !earlier.only(ofState, ofChain) {
			return
		}
		q.chains = earlier.chains
		q.conds = slices.DeleteFunc(slices.Clone(earlier.conds), func(c *condition) bool {
			return c.property == ofState
		})
		q.conds = append(q.conds, q.segmentsCondition(earlier.items[k].concept, nil, topic))
		q.counted = true
	}
}

// statesNamed says whether a concept names segments of secondary structure.
func statesNamed(concept string) bool {
	return oneOf(concept, "helix alphahelix threeten pihelix strand")
}
