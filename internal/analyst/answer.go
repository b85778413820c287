package analyst

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// Certainty says what an answer rests on.
type Certainty string

// Kinds of certainty, the surest first. A reply has the least sure of its parts.
const (
	Measured  Certainty = "measured"  // counted or measured in the coordinates
	Geometric Certainty = "geometric" // inferred from distances alone
	Estimated Certainty = "estimated" // a model's own estimate
	Nothing   Certainty = "none"      // the question was not answered
)

var certainties = []Certainty{Measured, Geometric, Estimated}

// Reply is the answer to one question.
type Reply struct {
	Text       string       `json:"text"`       // plain sentences; names the engine
	Topics     []string     `json:"topics"`     // the intents that answered
	Cited      []ResidueRef `json:"cited"`      // residues the text names, in order, without repeats
	Abstained  bool         `json:"abstained"`  // nothing of the question was answered
	Unanswered []string     `json:"unanswered"` // parts of the question that were not
	Confidence Certainty    `json:"confidence"`
}

const (
	maxQuestion  = 8 << 10 // bytes read of a question; the rest is refused
	maxSentences = 12
	maxParts     = 12
)

// part is the answer of one intent.
type part struct {
	text  string
	cited []ResidueRef
	sure  Certainty // Nothing: text says why there is no answer
}

func no(format string, a ...any) part { return part{text: fmt.Sprintf(format, a...), sure: Nothing} }

// query is one part of a question, taken apart.
type query struct {
	f        *Facts
	x        *index
	items    []item
	has      map[string]bool
	chains   []string
	residues []mention
	atoms    []string
	ligands  []string
	names    []string
	classes  []string
	radius   float64
	ph       *float64
	limit    *item // @threshold
	problem  string
}

// Answer answers a question about the facts, or abstains. It needs facts that Digest
// made in this process. A question longer than 8 KiB is refused. It never fails, takes
// time in proportion to the question's length, and the same question and facts give the
// same reply.
func Answer(f *Facts, question string) Reply {
	r := &Reply{}
	t := &talk{f: f, reply: r}
	switch {
	case f == nil || f.index == nil:
		t.refuse("", "These facts came without coordinates, so that no question can be answered from them.")
	case len(question) > maxQuestion:
		t.refuse("", fmt.Sprintf("The question has %d bytes; ask one of at most %d.", len(question), maxQuestion))
	case strings.TrimSpace(question) == "":
		t.refuse("", "There is no question.")
	default:
		t.read = newReader(f.index)
		all := sentences(strings.ToValidUTF8(question, " "))
		for i, s := range all {
			if i == maxSentences {
				t.refuse("", fmt.Sprintf("I read the first %d sentences; please ask the others apart.", maxSentences))
				break
			}
			t.sentence(t.read.read(s))
		}
		if len(t.texts) == 0 {
			t.refuse(question, "I found no question in this.")
		}
	}
	return t.close()
}

// talk collects the answers to one question.
type talk struct {
	f     *Facts
	reply *Reply
	read  *reader
	texts []string
	last  []item // entities of the part before
	lost  bool   // some part was not understood
	sure  []Certainty
	notes []string
}

// sentence answers one sentence: whole where one intent covers it, else in pieces cut at "and" and commas.
func (t *talk) sentence(items []item) {
	if !slices.ContainsFunc(items, func(it item) bool { return it.concept != "" && it.concept != "&" && it.concept != "ask" }) {
		return // thanks, hello
	}
	pieces := cut(items)
	if len(pieces) > maxParts {
		if t.try(items) {
			return
		}
		t.refuse(textOf(items), "This asks for too many things at once; please ask them one by one.")
		return
	}
	if groups := questions(pieces); len(groups) > 1 && t.apart(groups) {
		for _, g := range groups {
			t.try(g)
		}
		return
	}
	failed := false
	for len(pieces) > 0 {
		if failed && !asks(pieces[0]) { // the end of what was not understood
			pieces = pieces[1:]
			continue
		}
		n := len(pieces)
		for ; n > 0; n-- {
			if items := slices.Concat(pieces[:n]...); t.try(slices.Concat(items, ahead(items, pieces[n:]))) || t.try(items) {
				break
			}
		}
		if failed = n == 0; failed {
			t.giveUp(pieces)
			n = 1
		}
		pieces = pieces[n:]
	}
}

// ahead is what the end of a list points at, for a beginning that points at nothing: helicity and burial of residue 44.
func ahead(items []item, rest [][]item) []item {
	if len(entities(items)) > 0 {
		return nil
	}
	for _, p := range rest {
		if asks(p) {
			return nil
		}
		if e := entities(p); len(e) > 0 {
			return e
		}
	}
	return nil
}

func entities(items []item) []item {
	return slices.DeleteFunc(slices.Clone(items), func(it item) bool {
		return it.concept != "@residue" && it.concept != "@chain" && it.concept != "@ligand"
	})
}

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

// asks says whether a piece has a question word of its own.
func asks(items []item) bool {
	return slices.ContainsFunc(items, func(it item) bool {
		switch it.concept {
		case "ask", "howmany", "which", "where", "what", "howlong", "list", "distance":
			return true
		}
		return false
	})
}

// questions joins pieces so that each has a question word of its own.
func questions(pieces [][]item) [][]item {
	var out [][]item
	for _, p := range pieces {
		if len(out) > 0 && !asks(p) {
			out[len(out)-1] = slices.Concat(out[len(out)-1], p)
		} else {
			out = append(out, p)
		}
	}
	return out
}

// weak concepts lean on what was said before: how long is the longest one.
var weak = set("longest shortest average closest sure not nm")

// apart says whether questions joined by "and" are of different kinds, each understood without the others.
func (t *talk) apart(groups [][]item) bool {
	kinds := map[*intent]bool{}
	for _, g := range groups {
		q := newQuery(t.f, g)
		in := match(q.has)
		own := false
		for c := range q.has {
			own = own || !soft[c] && !weak[c] || c == "protein" || c == "structure"
		}
		if in == nil || !own {
			return false
		}
		kinds[in] = true
	}
	return len(kinds) == len(groups)
}

// try answers the items as one question; false where no intent covers them.
func (t *talk) try(items []item) bool {
	q := newQuery(t.f, items)
	in := match(q.has)
	if q.has["it"] && len(q.residues)+len(q.chains)+len(q.ligands) == 0 && len(t.last) > 0 {
		with := newQuery(t.f, slices.Concat(items, t.last))
		if better := match(with.has); better != nil && (in == nil || better != in || len(with.residues) > 0) {
			q, in = with, better
		}
	}
	if in == nil {
		if q, in = t.only(items); in == nil {
			return false
		}
	}
	if e := entities(items); len(e) > 0 {
		t.last = e
	}
	for _, it := range items {
		if it.name != "" && it.concept != "" && !strings.HasPrefix(it.concept, "@") && it.name != it.text {
			t.notes = append(t.notes, fmt.Sprintf("I read “%s” as “%s”.", clip(it.text, 30), it.name))
		}
	}
	p := part{}
	if q.problem != "" && !in.loose {
		p = no("%s", q.problem)
	} else {
		p = in.reply(q)
	}
	if p.sure == Nothing {
		t.refuse(textOf(items), p.text)
		return true
	}
	t.texts = append(t.texts, p.text)
	t.sure = append(t.sure, p.sure)
	t.reply.Topics = append(t.reply.Topics, in.name)
	for _, c := range p.cited {
		if !slices.Contains(t.reply.Cited, c) {
			t.reply.Cited = append(t.reply.Cited, c)
		}
	}
	return true
}

// only reads a residue's name as that residue, where the structure has one of it alone: what does the tryptophan touch.
func (t *talk) only(items []item) (*query, *intent) {
	items = slices.Clone(items)
	for i, it := range items {
		if it.concept != "@resname" {
			continue
		}
		m := mention{}
		for j := range t.f.index.sites {
			s := &t.f.index.sites[j]
			if !s.kind.Polymer() || !s.is([]string{it.name}) {
				continue
			}
			if m.names != nil {
				return nil, nil
			}
			m = mention{chain: s.ref.Chain, lo: s.ref.Number, hi: s.ref.Number, names: []string{it.name}}
		}
		if m.names == nil {
			return nil, nil
		}
		items[i] = item{concept: "@residue", text: it.text, mention: m}
	}
	q := newQuery(t.f, items)
	return q, match(q.has)
}

// giveUp says why a piece was not answered: it asks what no structure tells, or has words that are not known.
func (t *talk) giveUp(pieces [][]item) {
	items := pieces[0]
	for _, next := range pieces[1:] { // what belongs to it
		if asks(next) {
			break
		}
		items = slices.Concat(items, next)
	}
	var unknown []string
	for _, it := range items {
		if why, ok := outside[it.concept]; ok {
			t.refuse(textOf(items), "I cannot tell "+why+".")
			return
		}
		if it.concept == "?" && len(unknown) < 5 && !slices.Contains(unknown, "“"+clip(it.text, 30)+"”") {
			unknown = append(unknown, "“"+clip(it.text, 30)+"”")
		}
	}
	t.lost = true
	text := "I did not understand “" + clip(textOf(items), 120) + "”"
	if len(unknown) > 0 {
		text += ": I do not know " + strings.Join(unknown, ", ")
	}
	t.refuse(textOf(items), text+". I would rather not guess.")
}

func (t *talk) refuse(what, why string) {
	t.texts = append(t.texts, why)
	t.reply.Unanswered = append(t.reply.Unanswered, clip(what, 200))
}

// close puts the reply together.
func (t *talk) close() Reply {
	r := t.reply
	r.Abstained = len(r.Topics) == 0
	r.Confidence = Nothing
	for _, c := range certainties {
		if slices.Contains(t.sure, c) {
			r.Confidence = c
		}
	}
	r.Topics = slices.Compact(r.Topics)
	texts := slices.Concat(head(t.notes, 5), t.texts)
	if t.lost || r.Abstained {
		texts = append(texts, "I can answer about: "+topics()+".")
	}
	r.Text = strings.Join(texts, "\n") + "\n— " + Name + "."
	return *r
}

func topics() string {
	var out []string
	for _, in := range intents {
		if in.name != "capability" {
			out = append(out, in.name)
		}
	}
	return strings.Join(out, ", ")
}

func textOf(items []item) string {
	var out []string
	for _, it := range items {
		if it.text != "" {
			out = append(out, it.text)
		}
	}
	return strings.Join(out, " ")
}

// clip shortens text to n runes that can be printed.
func clip(text string, n int) string {
	out := make([]rune, 0, n)
	for _, c := range text {
		if !unicode.IsPrint(c) {
			c = ' '
		}
		if len(out) == n {
			return string(out) + "…"
		}
		out = append(out, c)
	}
	return strings.TrimSpace(string(out))
}

func distinct(list []string, name string) []string {
	if slices.Contains(list, name) {
		return list
	}
	return append(list, name)
}

// newQuery sorts items into what the intents look at.
func newQuery(f *Facts, items []item) *query {
	q := &query{f: f, x: f.index, items: items, has: map[string]bool{}}
	for _, it := range items {
		if it.concept != "" {
			q.has[it.concept] = true
		}
		switch it.concept {
		case "@chain":
			q.chains = distinct(q.chains, it.name)
			if !it.known && q.problem == "" {
				q.problem = fmt.Sprintf("There is no chain %s. %s", clip(it.name, 8), f.chainNames())
			}
		case "@residue":
			q.residues = append(q.residues, it.mention)
		case "@atom":
			q.atoms = append(q.atoms, it.name)
		case "@ligand":
			q.ligands = distinct(q.ligands, it.name)
		case "@resname":
			q.names = distinct(q.names, it.name)
		case "@class":
			q.classes = distinct(q.classes, it.name)
		case "@radius":
			q.radius = it.value
		case "@ph":
			q.ph = &it.value
		case "@threshold":
			q.limit = &it
		}
	}
	if len(q.chains) > 1 {
		q.has["@chain2"] = true
	}
	if len(q.residues) > 1 {
		q.has["@residue2"] = true
	}
	if len(q.ligands) > 1 && q.has["distance"] {
		q.has["@ligand2"] = true
	}
	if q.has["overview"] { // describe the interface: a request, not a topic
		for c := range q.has {
			if c != "overview" && c != "@residue" && !soft[c] && !strings.Contains(" "+where+"oligomer average ", " "+c+" ") && c != "@chain2" {
				delete(q.has, "overview")
				break
			}
		}
	}
	q.bindChains()
	if q.problem == "" {
		for _, m := range q.residues {
			if _, problem := q.find(m); problem != "" {
				q.problem = problem
				break
			}
		}
	}
	return q
}

// bindChains gives residues the chain that was named beside them: residue 3 of chain A and residue 9 of chain B.
func (q *query) bindChains() {
	if len(q.chains) == 1 {
		for i := range q.residues {
			if q.residues[i].chain == "" {
				q.residues[i].chain = q.chains[0]
			}
		}
		return
	}
	k := 0
	before, unbound := "", -1
	for _, it := range q.items {
		switch it.concept {
		case "@chain":
			if unbound >= 0 {
				q.residues[unbound].chain, unbound = it.name, -1
			} else {
				before = it.name
			}
		case "@residue":
			if q.residues[k].chain == "" {
				if before != "" {
					q.residues[k].chain, before = before, ""
				} else {
					unbound = k
				}
			}
			k++
		}
	}
}
