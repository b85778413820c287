package analyst

import (
	"fmt"
	"slices"
	"strings"

	"pleat/internal/facts"
)

// talk answers one message of a user: its sentences, and the questions that each of them asks.
type talk struct {
	f         *facts.Facts
	x         *facts.Index
	scanner   *scanner // of the names of the structure
	near      *int     // what is left of maxNear
	reply     Reply
	texts     []string
	certainty []Certainty
	// lost are the parts that were not understood, so that suggestions help.
	lost [][]item
	// outside holds, for each matter that no structure can tell, the words that were refused.
	outside map[string][]string
	// clauses counts the questions read so far.
	clauses int
	// last is the question before, nil where it was not answered.
	last *query
}

// answer reads the sentences. One that asks nothing, such as "Look at chain B.", could narrow the others: with one of
// these nothing is answered.
func (t *talk) answer(question string) {
	var all [][]item
	for _, words := range sentences(question) {
		if items := t.scanner.scan(words); slices.ContainsFunc(items, isMeaningful) { // not hello, thanks
			all = append(all, items)
		}
	}
	for _, items := range all {
		if len(all) > 1 && !slices.ContainsFunc(items, asks) {
			t.misunderstand(items, "This sentence asks nothing; please put it into the question that it belongs to.")
			return
		}
	}
	if len(all) > maxSentences {
		t.refuse("", fmt.Sprintf("I read the first %d sentences; please ask the others separately.", maxSentences))
	}
	for _, items := range facts.Head(all, maxSentences) {
		t.sentence(items)
	}
}

// isMeaningful reports whether an item says more than please, and, or it.
func isMeaningful(it item) bool { return !oneOf(it.concept, "filler & ask in but it") }

// sentence answers the questions of a sentence, one after the other.
func (t *talk) sentence(items []item) {
	clauses := splitQuestions(items)
	if len(clauses) > maxParts {
		t.misunderstand(items, "This asks for too many things at once; please ask them one by one.")
		return
	}
	for _, clause := range clauses {
		t.clause(clause)
	}
}

// questionWords are the concepts that open a question.
const questionWords = "howmany which what where list howlong overview"

// splitQuestions makes clauses, each of which is one question with one topic. It cuts a sentence where a connective is
// followed by a new question: "…, and how many …". What stands before the first question belongs to it: "Of the
// lysines, which …".
func splitQuestions(items []item) (out [][]item) {
	from := 0
	for i := 1; i < len(items); i++ {
		if oneOf(items[i-1].concept, "& but or") && opensQuestion(items[i:]) &&
			slices.ContainsFunc(items[from:i], asks) {
			out = append(out, items[from:i-1])
			from = i
		}
	}
	return append(out, items[from:])
}

// asks reports whether an item makes what it stands in a question.
func asks(it item) bool {
	return oneOf(it.concept, questionWords+" ask") || isVerb(it) ||
		!soft(it.concept) && !oneOf(it.concept, "not interface @radius contact around")
}

// isVerb reports whether an item is a verb that opens a yes-or-no question.
func isVerb(it item) bool {
	return oneOf(strings.ToLower(it.text), "does do did is are was were can has have")
}

// isOutside reports whether an item is a matter that no structure can tell.
func isOutside(it item) bool { return strings.HasPrefix(it.concept, "!") }

// opensQuestion reports whether items begin with a question word, with what no structure can tell, or with a verb and a
// subject: "is it" opens a question, "is exposed" goes on with the one before.
func opensQuestion(items []item) bool {
	verb := false
	for _, it := range items {
		low := strings.ToLower(it.text)
		switch {
		case oneOf(it.concept, questionWords) || isOutside(it) || strings.HasPrefix(low, "how ") ||
			strings.HasPrefix(low, "what ") || verb && (oneOf(it.concept, "it them any all") ||
			oneOf(low, "there anything something")):
			return true
		case isVerb(it):
			verb = true
		case !oneOf(it.concept, "& filler ask in"):
			return false
		}
	}
	return false
}

// misunderstand refuses items that were not understood.
func (t *talk) misunderstand(items []item, why string) {
	t.lost, t.last = append(t.lost, items), nil
	t.refuse(textOf(trimmed(items)), why)
}

// trimmed leaves out the connective that a part begins with.
func trimmed(items []item) []item {
	for len(items) > 0 && oneOf(items[0].concept, "& or but") {
		items = items[1:]
	}
	return items
}

// bareParts cuts a list of topics, such as "salt bridges, clashes or disulfides", into questions; nil where a word of
// one could concern the others, too. A chain at the end belongs to all.
func bareParts(items []item) (out [][]item) {
	var chain []item
	if k := len(items) - 2; k > 0 && items[k].concept == "of" && items[k+1].concept == "@chain" {
		items, chain = items[:k], items[k:]
	}
	var part []item
	for k, it := range append(slices.Clone(items), item{concept: "&"}) {
		switch {
		case !oneOf(it.concept, "& or but"):
			if !bare(items[k:]) {
				return nil
			}
			part = append(part, it)
		case slices.ContainsFunc(part, isTopic):
			out, part = append(out, append(part, chain...)), nil
		case slices.ContainsFunc(part, isMeaningful):
			return nil
		}
	}
	if len(out) < 2 {
		return nil
	}
	return out
}

// isTopic reports whether an item names what is asked, or could.
func isTopic(it item) bool { return it.concept == "?" || !soft(it.concept) }

// bare reports whether the first item is a topic, or says nothing that narrows one.
func bare(items []item) bool {
	it := items[0]
	if it.concept == "of" { // of it, of the protein
		next := slices.IndexFunc(items[1:], func(it item) bool { return it.concept != "filler" })
		return next >= 0 && oneOf(items[1+next].concept, "it structure protein")
	}
	narrows := "between not @radius contact around beside closest bind site more"
	return isTopic(it) && !oneOf(it.concept, narrows) ||
		oneOf(it.concept, "filler ask it any all has structure protein "+questionWords)
}

// clause answers one question, or says why not. A list of topics that is no question by itself is answered topic by
// topic. Reasons are tried in the order in which they help a user most: words
// that are not known, matters that no structure can tell, a question without its noun, a combination of topics that
// no intent answers, and last what this structure lacks.
func (t *talk) clause(items []item) {
	outside, unknown := slices.IndexFunc(items, isOutside), unknownWords(items)
	q := t.query(items, t.last)
	if parts := bareParts(items); parts != nil && (outside >= 0 || unknown != "" || q.choose() == nil) {
		for _, part := range parts {
			t.clause(part)
		}
		return
	}
	t.clauses++
	if unknown != "" && outside < 0 {
		t.misunderstand(items, unknown)
		return
	}
	if outside >= 0 {
		t.refuseOutside(items, items[outside])
		t.last = q // what is the function of Trp6, and is it buried?
		return
	}
	if t.isElliptic(q) {
		t.misunderstand(items,
			fmt.Sprintf("I did not understand “%s”: it is not clear what it is about; please ask it by "+
				"itself, with its noun.", facts.Clip(textOf(items), 160)))
		return
	}
	in := q.choose()
	if in == nil {
		t.misunderstand(items, q.notUnderstood())
		return
	}
	if why := q.refuses(in); why != "" {
		if q.problem == "" {
			t.lost = append(t.lost, items)
		}
		t.refuse(textOf(items), why)
		t.last = nil
		return
	}
	answer := q.answer(in)
	if q.problem != "" { // found out only while it was computed
		answer = refusal("%s", q.problem)
	}
	t.accept(in, q, answer)
	t.last = q
}

// isElliptic reports whether a question after another leaves out what it is about, or could share the filter of the
// one before: "… and how many are in helices?", "… and how many arginines?", "… and is it buried?". Only "them" refers
// back.
func (t *talk) isElliptic(q *query) bool {
	last := t.last
	switch {
	case t.clauses == 1, last != nil && len(last.conds) == 0 && last.relation == nil && len(last.ligands) == 0:
		return false // “it” is the whole structure
	case q.has["them"]:
		return last == nil
	case q.has["it"]:
		return true
	case len(q.mentions) > 0:
		return false
	}
	// which are exposed, and which are buried: no residue is both
	for _, p := range [...]property{ofSurface, ofState} {
		excluded := last != nil && last.relation == nil && len(last.conds) == 1 && last.conditionOn(p)
		if excluded && q.conditionOn(p) && q.only(p) {
			return false
		}
	}
	// it has a topic or a noun of its own, and that noun cannot be one of the question before
	topic := slices.ContainsFunc(q.topics(), func(c string) bool { return c != "not" })
	own := topic || q.countsSegments || q.has["residue"] || q.has["list"] || q.has["chain"] ||
		q.conditionOn(ofName) && (!q.only(ofName) || last == nil || last.only(ofName))
	return !own && (q.has["howmany"] || q.has["which"] || q.has["any"])
}
