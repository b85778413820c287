package analyst

import (
	"fmt"
	"slices"
	"strings"

	"pleat/internal/facts"
)

// talk answers one message of a user: its sentences, and the questions that each of them asks.
type talk struct {
	f       *facts.Facts
	x       *facts.Index
	scanner *scanner // of the names of the structure
	near    *int     // what is left of maxNear
	reply   Reply
	texts   []string
	lost    [][]item            // parts that were not understood, so that suggestions help
	outside map[string][]string // for each matter that no structure can tell, the words that were refused
	clauses int                 // questions read so far
	last    *query              // the question before, nil where it was not answered
}

// answer reads the sentences. One that asks nothing, such as "Look at chain B.", could narrow the others: with one of
// these nothing is answered.
func (t *talk) answer(question string) {
	var all [][]item
	for _, words := range t.scanner.sentences(question) {
		if items := t.scanner.scan(words); slices.ContainsFunc(items, item.isMeaningful) { // not hello, thanks
			all = append(all, items)
		}
	}
	if !t.scanner.look(0) {
		t.refuse("", tooMany)
		return
	}
	for _, items := range all {
		if len(all) > 1 && !slices.ContainsFunc(items, item.asks) {
			t.misunderstand(items, "This sentence asks nothing; please put it into the question that it belongs to.")
			return
		}
	}
	if len(all) > maxSentences {
		t.refuse("", fmt.Sprintf("I read the first %d sentences; please ask the others separately.", maxSentences))
	}
	for _, items := range facts.Head(all, maxSentences) {
		clauses := splitQuestions(items)
		if len(clauses) > maxParts {
			t.misunderstand(items, "This asks for too many things at once; please ask them one by one.")
			continue
		}
		for _, clause := range clauses {
			t.clause(clause)
		}
	}
}

// splitQuestions makes clauses, each of which is one question with one topic. It cuts a sentence where a connective is
// followed by a new question: "…, and how many …". Words before the first question belong to it: "Of the lysines,
// which …".
func splitQuestions(items []item) (out [][]item) {
	from := 0
	for i := 1; i < len(items); i++ {
		if items[i-1].is("& but or") && opensQuestion(items[i:]) && slices.ContainsFunc(items[from:i], item.asks) {
			out, from = append(out, items[from:i-1]), i
		}
	}
	return append(out, items[from:])
}

// opensQuestion reports whether items begin with a question word, with what no structure can tell, or with a verb and a
// subject: "is it" opens a question, "is exposed" goes on with the one before.
func opensQuestion(items []item) bool {
	verb := false
	for _, it := range items {
		low := strings.ToLower(it.text)
		subject := it.is("it them any all") || oneOf(low, "there anything something")
		switch {
		case it.isQuestionWord() || it.isOutside() || strings.HasPrefix(low, "how ") || strings.HasPrefix(low, "what "),
			verb && subject:
			return true
		case it.isVerb():
			verb = true
		case !it.is("& filler ask in"):
			return false
		}
	}
	return false
}

// bareParts cuts a list of topics, such as "salt bridges, clashes or disulfides", into questions; nil where a word of
// one could concern the others, too. A chain at the end belongs to all.
func bareParts(items []item) (out [][]item) {
	var chain, part []item
	if k := len(items) - 2; k > 0 && items[k].concept == "of" && items[k+1].concept == "@chain" {
		items, chain = items[:k], items[k:]
	}
	for k, it := range append(slices.Clone(items), item{concept: "&"}) {
		switch {
		case !it.is("& but or"):
			if !bare(items[k:]) {
				return nil
			}
			part = append(part, it)
		case slices.ContainsFunc(part, func(it item) bool { return !it.isSoft() }):
			out, part = append(out, append(part, chain...)), nil
		case slices.ContainsFunc(part, item.isMeaningful):
			return nil
		}
	}
	if len(out) < 2 {
		return nil
	}
	return out
}

// bare reports whether the first item is a topic, or says nothing that narrows one.
func bare(items []item) bool {
	it := items[0]
	if it.concept == "of" { // of it, of the protein
		next := slices.IndexFunc(items[1:], func(it item) bool { return it.concept != "filler" })
		return next >= 0 && items[1+next].is("it structure protein")
	}
	narrows := it.is("between not @radius contact around beside closest bind site more")
	return !it.isSoft() && !narrows || it.isQuestionWord() || it.is("filler ask it any all has structure protein")
}

// clause answers one question, or says why not. A list of topics that is no question by itself is answered topic by
// topic.
func (t *talk) clause(items []item) {
	q := t.query(items)
	outside := slices.IndexFunc(items, item.isOutside)
	unknown := keep(items, item.isUnknown)
	unclear := slices.IndexFunc(items, func(it item) bool { return it.unclear != "" })
	if parts := bareParts(items); parts != nil && (q.topic == nil || outside >= 0 || len(unknown) > 0) && unclear < 0 {
		for _, part := range parts {
			t.clause(part)
		}
		return
	}
	t.clauses++
	// the reasons stand in the order in which they help a user most
	switch {
	case outside >= 0:
		t.refuseOutside(items, items[outside])
		t.last = q // what is the function of Trp6, and is it buried?
	case len(unknown) > 0:
		t.misunderstand(items, notUnderstood(items, ": I do not know "+quoted(texts(unknown)...)))
	case unclear >= 0:
		t.misunderstand(items, items[unclear].unclear)
	case t.isElliptic(q):
		t.misunderstand(items, notUnderstood(items, ": it is not clear what it is about; please ask it by itself, "+
			"with its noun"))
	case q.topic == nil:
		t.misunderstand(items, q.notUnderstood())
	default:
		t.respond(q)
	}
}

// respond answers a question that is understood, unless this structure lacks what it is about.
func (t *talk) respond(q *query) {
	why := q.refuses()
	if !q.look(0) {
		q.problem, why = tooMany, tooMany
	}
	if why != "" {
		if q.problem == "" {
			t.lost = append(t.lost, q.items)
		}
		t.refuse(textOf(q.items), why)
		t.last = nil
		return
	}
	p := answers[q.topic.Name](q)
	if q.problem != "" { // found out only while it was computed
		p = refusal("%s", q.problem)
	}
	t.last = q
	if p.sure == Nothing {
		t.refuse(textOf(q.items), p.text)
		return
	}
	if p.cut {
		p.text += " To see the others, ask of fewer residues, such as one chain or residues 1 to 40."
	}
	q.addLacks(&p)
	if _, spatial := needs[q.topic.Name]; spatial || oneOf(q.topic.Name, "size distance") {
		if divided := q.f.Divided(); divided != "" {
			p.text += " " + divided
		}
	}
	t.texts = append(t.texts, p.text)
	t.reply.Topics = append(t.reply.Topics, q.topic.Name)
	t.reply.Cited = append(t.reply.Cited, p.cited...)
	t.reply.Confidence = leastSure(t.reply.Confidence, p.sure)
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
	case len(q.mentions) > 0, q.excludes(last), q.hasSubject(last):
		return false
	}
	return q.says("howmany which any")
}

// excludes reports whether a question has a filter that no residue of the one before it can pass, too: which are
// exposed, and which are buried?
func (q *query) excludes(last *query) bool {
	if last == nil || last.relation != nil || len(last.conds) != 1 || len(q.conds) == 0 {
		return false
	}
	p := last.conds[0].property
	return (p == ofSurface || p == ofState) && q.conds.only(p)
}

// hasSubject reports whether a question has a topic or a noun of its own, and that noun cannot be one of the question
// before.
func (q *query) hasSubject(last *query) bool {
	noun := q.conds.on(ofName) && (!q.conds.only(ofName) || last == nil || last.conds.only(ofName))
	topic := slices.ContainsFunc(q.topics(), func(c string) bool { return c != "not" })
	return topic || noun || q.countsSegments || q.says("residue list chain")
}

// misunderstand refuses items that were not understood, but for the connective that they begin with.
func (t *talk) misunderstand(items []item, why string) {
	t.lost, t.last = append(t.lost, items), nil
	for len(items) > 0 && items[0].is("& or but") {
		items = items[1:]
	}
	t.refuse(textOf(items), why)
}

// refuseOutside refuses what no structure can tell. Words with the same reason share one sentence.
func (t *talk) refuseOutside(items []item, it item) {
	said := func(words []string) string {
		return fmt.Sprintf("About %s: I cannot tell %s.", quoted(words...), vocabulary().lines["reason "+it.concept])
	}
	before := t.outside[it.concept]
	words := append(slices.Clone(before), it.text)
	if at := slices.Index(t.texts, said(before)); at >= 0 {
		t.texts[at] = said(words)
	}
	t.outside[it.concept] = words
	t.misunderstand(items, said(words))
}

// refuse records a part of the question that is not answered, and why. A reason is stated once.
func (t *talk) refuse(what, why string) {
	if !slices.Contains(t.texts, why) {
		t.texts = append(t.texts, why)
	}
	t.reply.Unanswered = append(t.reply.Unanswered, facts.Clip(what, 200))
}
