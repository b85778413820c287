package analyst

import (
	"fmt"
	"slices"
	"strings"

	"pleat/internal/facts"
)

// How a question of several parts is taken apart. The rule: nothing that is said may be dropped. A part is understood whole or
// it is not answered.

// talk collects the answers to one question.
type talk struct {
	f      *facts.Facts
	reply  *Reply
	read   *reader
	texts  []string
	last   []item // entities of the part before
	topic  []item // what the part before was about
	listed bool   // it was answered with a count and a list
	lost   bool   // some part was not understood
	sure   []Certainty
	notes  []string
}

// step is one part of a question, understood.
type step struct {
	q     *query
	in    *intent
	items []item
}

// joinSentences gives a sentence that asks nothing (Look at chain B.) to the next, and one that only narrows what was asked
// (Count those in helices only.) to the one before.
func joinSentences(all [][]item) [][]item {
	comma := item{concept: "&", text: ","}
	var out [][]item
	var ahead []item
	for k, s := range all {
		if len(ahead) > 0 {
			s, ahead = slices.Concat(ahead, []item{comma}, s), nil
		}
		switch {
		case len(out) > 0 && narrows(s):
			out[len(out)-1] = slices.Concat(out[len(out)-1], []item{comma}, s)
		case k+1 < len(all) && points(s):
			ahead = s
		default:
			out = append(out, s)
		}
	}
	return out
}

var narrowing = set("only just but not except excluding besides without ignore ignoring leave mean count")

func narrows(items []item) bool {
	if len(items) == 0 {
		return false
	}
	if first, _, _ := strings.Cut(strings.ToLower(items[0].text), " "); !narrowing[first] && items[0].concept != "not" {
		return false
	}
	return !asks(items) || slices.ContainsFunc(items, func(it item) bool { return it.concept == "them" })
}

// points says whether a sentence asks nothing and speaks of residues and chains alone.
func points(items []item) bool {
	some := false
	for _, it := range items {
		some = some || strings.HasPrefix(it.concept, "@")
		asking := it.concept == "which" || it.concept == "what" || it.concept == "howmany" || it.concept == "ask"
		if asking || !idle[it.concept] && kindOf[it.concept] == "" && it.concept != "@chain" && it.concept != "@ligand" {
			return false
		}
	}
	return some
}

// sentence answers one sentence: whole, or, where it asks several questions, each of these.
func (t *talk) sentence(items []item) {
	if !slices.ContainsFunc(items, func(it item) bool { return it.concept != "" && it.concept != "&" && it.concept != "ask" }) {
		return // thanks, hello
	}
	pieces := cut(items)
	whole := t.plan(items, t.last)
	if len(pieces) > maxParts {
		if whole != nil {
			t.say(whole)
		} else {
			t.refuse(textOf(items), "This asks for too many things at once; please ask them one by one.")
		}
		return
	}
	groups := questions(pieces)
	leaning := slices.ContainsFunc(groups[1:], leans)
	if len(groups) > 1 && !leaning && t.apart(groups) {
		return
	}
	if whole != nil && !leaning && (len(groups) < 2 || whole.in != chosenIntent || !whole.q.tangled(groups)) {
		t.say(whole)
		return
	}
	narrowed := false
	for k, g := range groups {
		if k > 0 && t.told(g) {
			continue
		}
		t.group(g, narrowed && !leans(g))
		narrowed = narrowed || slices.ContainsFunc(g, narrowsIt)
	}
}

// told says whether a question only asks for what was just said: how many are charged, and which?
func (t *talk) told(items []item) bool {
	return t.listed && !slices.ContainsFunc(items, func(it item) bool {
		return it.concept != "which" && it.concept != "howmany" && it.concept != "list" && !idle[it.concept]
	})
}

// tangled says whether a selection mixes the properties of two questions: lysines in helices and prolines in strands.
func (q *query) tangled(groups [][]item) bool {
	return slices.ContainsFunc(slices.Concat(groups[:len(groups)-1]...), narrowsIt) // the last one's may be meant of all
}

// narrowsIt says whether an item leaves some residues out.
func narrowsIt(it item) bool { return kindOf[it.concept] != "" && kindOf[it.concept] != "what" }

// apart answers questions joined by "and" that are each understood without the others; false: they are not, or lean on each other.
func (t *talk) apart(groups [][]item) bool {
	var steps []*step
	kinds := map[*intent]bool{}
	last := t.last
	var chains []item
	for _, g := range groups {
		s := t.plan(withChains(g, chains), last)
		if s == nil {
			s = t.plan(g, last)
		}
		own := false
		for _, it := range g {
			c := it.concept
			own = own || c != "" && (!soft[c] && !weak[c] || c == "protein" || c == "structure")
		}
		if s == nil || !own {
			return false
		}
		if e := entities(g); len(e) > 0 {
			last = e
		}
		chains = append(chains, chainsOf(g)...)
		kinds[s.in] = true
		steps = append(steps, s)
	}
	if len(kinds) != len(groups) && !kinds[chosenIntent] || !unhooked(steps) {
		return false
	}
	for _, s := range steps {
		t.say(s)
	}
	return true
}

// unhooked says whether no selection leans on another for its properties: how many lysines are in helices, and how many arginines?
func unhooked(steps []*step) bool {
	rich := 0
	for _, s := range steps {
		if s.in != chosenIntent {
			continue
		}
		if s.q.rich() {
			rich++
		} else if rich > 0 {
			return false
		}
	}
	return rich == 0 || !slices.ContainsFunc(steps, func(s *step) bool { return s.in == chosenIntent && !s.q.rich() })
}

// rich says whether a selection has more properties than names.
func (q *query) rich() bool {
	if q.chosen.where != "" && len(q.residues) > 0 {
		return true
	}
	return slices.ContainsFunc(q.chosen.conds, func(c *condition) bool { return c.kind != "name" || c.not })
}

func chainsOf(items []item) []item {
	return slices.DeleteFunc(slices.Clone(items), func(it item) bool { return it.concept != "@chain" })
}

// withChains gives a question that names no chain, residue or ligand the chains named before it.
func withChains(items, chains []item) []item {
	if len(chains) == 0 || len(entities(items)) > 0 {
		return items
	}
	return slices.Concat(items, chains[len(chains)-1:])
}

// group answers one question: whole, or in pieces that are each understood (the charge and weight of chain B). Narrowed says
// that a question before it, joined by "and", was one of fewer residues than all.
func (t *talk) group(items []item, narrowed bool) {
	if s := t.plan(items, t.last); s != nil {
		if narrowed && s.in == chosenIntent && !s.q.rich() {
			what := facts.Clip(textOf(items), 80)
			t.refuse(what, "I cannot tell how much of what was said before belongs to “"+what+"” too; please ask it by itself.")
			return
		}
		t.say(s)
		return
	}
	var steps []*step
	pieces := cut(items)
	for k, p := range pieces {
		if k > 0 && qualifies(p) {
			t.giveUp(items)
			return
		}
		s := t.plan(slices.Concat(p, shared(pieces, k)), t.last)
		if s == nil {
			t.giveUp(items)
			return
		}
		steps = append(steps, s)
	}
	for _, s := range steps {
		t.say(s)
	}
}

// qualifies says whether a piece after a comma or "and" narrows the one before it, instead of asking for more.
func qualifies(items []item) bool {
	if items[0].concept == "" && !articles[strings.ToLower(items[0].text)] || items[0].concept == "of" || items[0].concept == "between" {
		return true
	}
	return slices.ContainsFunc(items, func(it item) bool {
		return it.concept == "not" || it.concept == "@radius" || it.concept == "@threshold" || it.concept == "more"
	})
}

// shared is what the other pieces point at, for a piece that points at nothing: helicity and burial of residue 44.
func shared(pieces [][]item, k int) []item {
	if len(entities(pieces[k])) > 0 {
		return nil
	}
	var out []item
	for _, p := range pieces {
		out = append(out, entities(p)...)
	}
	return out
}

func entities(items []item) []item {
	return slices.DeleteFunc(slices.Clone(items), func(it item) bool {
		return it.concept != "@residue" && it.concept != "@chain" && it.concept != "@ligand"
	})
}

// cut parts items at "and" and commas.
func cut(items []item) [][]item {
	var out [][]item
	from := 0
	for i, it := range items {
		if it.concept == "&" {
			if i > from {
				out = append(out, items[from:i])
			}
			from = i + 1
		}
	}
	if from < len(items) {
		out = append(out, items[from:])
	}
	return slices.DeleteFunc(out, func(p []item) bool {
		return !slices.ContainsFunc(p, func(it item) bool { return it.concept != "" })
	})
}

// asks says whether a piece has a question word of its own. A verb is one where a question begins with it: is it helical.
func asks(items []item) bool {
	for i, it := range items {
		switch it.concept {
		case "ask":
			if i == 0 || items[0].concept == "" && i == 1 {
				return true
			}
		case "howmany", "which", "where", "what", "howlong", "list", "distance":
			return true
		}
	}
	return false
}

// questions joins pieces so that each has a question word of its own; what stands before the first belongs to it.
func questions(pieces [][]item) [][]item {
	var out [][]item
	asked := false
	for _, p := range pieces {
		if len(out) > 0 && (!asks(p) || !asked || predicate(p)) {
			out[len(out)-1] = slices.Concat(out[len(out)-1], []item{{concept: "&", text: "and"}}, p)
		} else {
			out = append(out, p)
		}
		asked = asked || asks(p)
	}
	return out
}

// predicate says whether a piece is the verb of what stands before it: which lysines, apart from K48, are on the surface?
func predicate(items []item) bool {
	if items[0].concept != "ask" && items[0].concept != "has" || len(items) < 2 {
		return false
	}
	next := items[1]
	return kindOf[next.concept] != "" || next.concept == "not" || next.concept == "" && prepositions[strings.ToLower(next.text)]
}

var prepositions = set("in on at within inside near with by to from of")

// leans says whether a question takes its subject from the one before it: and how many are in helices; which of them are buried.
func leans(items []item) bool {
	for len(items) > 0 && items[0].concept == "" {
		items = items[1:]
	}
	if len(items) < 2 || len(entities(items)) > 0 {
		return false
	}
	them := slices.ContainsFunc(items[:min(4, len(items))], func(it item) bool { return it.concept == "them" })
	if items[0].concept == "ask" && them {
		return true
	}
	if items[0].concept != "howmany" && items[0].concept != "which" {
		return false
	}
	if slices.ContainsFunc(items, func(it item) bool { return it.concept == "it" }) {
		return false
	}
	next := items[1].concept
	return next == "ask" || next == "has" || next == "of" && them
}

// subject is what a question that follows may lean on.
func subject(items []item) []item {
	return slices.DeleteFunc(slices.Clone(items), func(it item) bool { return kindOf[it.concept] != "what" && it.concept != "@chain" })
}

// weak concepts lean on what was said before: how long is the longest one.
var weak = set("longest shortest average closest sure not nm them")

// plan understands items as one question; nil where no intent takes all of them. Last is what "it" may mean.
func (t *talk) plan(items, last []item) *step {
	if leans(items) && len(t.texts) > 0 {
		if len(t.topic) == 0 {
			return nil
		}
		items = slices.Concat(t.topic, []item{{concept: "ofthem"}}, items)
	}
	q := newQuery(t.f, items)
	in := q.understand()
	if q.has["it"] && len(q.residues)+len(q.chains)+len(q.ligands) == 0 && len(last) > 0 {
		with := newQuery(t.f, slices.Concat(items, last))
		if better := with.understand(); better != nil && (in == nil || better != in || len(with.residues) > 0) {
			q, in = with, better
		}
	}
	if in == nil {
		if q, in = t.only(items); in == nil {
			return nil
		}
	}
	return &step{q, in, items}
}

// say answers a part.
func (t *talk) say(s *step) {
	if e := entities(s.items); len(e) > 0 {
		t.last = e
	}
	for _, it := range s.items {
		if it.name != "" && it.concept != "" && !strings.HasPrefix(it.concept, "@") && it.name != it.text {
			t.notes = append(t.notes, fmt.Sprintf("I read “%s” as “%s”.", facts.Clip(it.text, 30), it.name))
		}
	}
	p := part{}
	if s.q.problem != "" && !s.in.loose {
		p = no("%s", s.q.problem)
	} else {
		p = s.in.reply(s.q)
	}
	if p.sure == Nothing {
		t.refuse(textOf(s.items), p.text)
		return
	}
	t.topic, t.listed = nil, s.in == chosenIntent
	if t.listed && !s.q.rich() {
		t.topic = subject(s.items)
	}
	t.texts = append(t.texts, p.text)
	t.sure = append(t.sure, p.sure)
	t.reply.Topics = append(t.reply.Topics, s.in.name)
	for _, c := range p.cited {
		if !slices.Contains(t.reply.Cited, c) {
			t.reply.Cited = append(t.reply.Cited, c)
		}
	}
}

// only reads a residue's name as that residue, where the structure has one of it alone: what does the tryptophan touch.
func (t *talk) only(items []item) (*query, *intent) {
	items = slices.Clone(items)
	for i, it := range items {
		if it.concept != "@resname" {
			continue
		}
		m := mention{}
		for j := range t.f.Index().Sites {
			s := &t.f.Index().Sites[j]
			if !s.Kind.Polymer() || !s.Is([]string{it.name}) {
				continue
			}
			if m.names != nil {
				return nil, nil
			}
			m = mention{chain: s.Ref.Chain, lo: s.Ref.Number, hi: s.Ref.Number, names: []string{it.name}}
		}
		if m.names == nil {
			return nil, nil
		}
		items[i] = item{concept: "@residue", text: it.text, mention: m}
	}
	q := newQuery(t.f, items)
	return q, q.understand()
}

// giveUp says why a question was not answered: it asks what no structure tells, or has a word that is not known or has no place.
func (t *talk) giveUp(items []item) {
	var unknown []string
	for _, it := range items {
		if why, ok := outside[it.concept]; ok {
			t.refuse(textOf(items), "I cannot tell "+why+".")
			return
		}
		if name := "“" + facts.Clip(it.text, 30) + "”"; it.concept == "?" && len(unknown) < 5 && !slices.Contains(unknown, name) {
			unknown = append(unknown, name)
		}
	}
	t.lost = true
	text := "I did not understand “" + facts.Clip(textOf(items), 120) + "”"
	if len(unknown) > 0 {
		text += ": I do not know " + strings.Join(unknown, ", ")
	} else if word := t.misplaced(items); word != "" {
		text += ": I do not know how to take “" + facts.Clip(word, 30) + "” here"
	}
	t.refuse(textOf(items), text+". I would rather not guess.")
}

// misplaced is the word without which the question would have been understood; empty: no single one.
func (t *talk) misplaced(items []item) string {
	tried := map[string]bool{}
	for k := len(items) - 1; k >= 0 && len(tried) < 8; k-- { // what narrows a question stands at its end, mostly
		c := items[k].concept
		if c == "" || soft[c] && c != "of" && c != "between" && c != "it" || tried[c] || items[k].text == "" {
			continue
		}
		tried[c] = true
		rest := slices.DeleteFunc(slices.Clone(items), func(it item) bool { return it.concept == c })
		if len(rest) > 0 && t.plan(rest, t.last) != nil {
			return items[k].text
		}
	}
	return ""
}
