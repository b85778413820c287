package analyst

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"pleat/internal/facts"
	"pleat/internal/words"
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

// Reply is the answer to one question.
type Reply struct {
	// Text is the answer in plain sentences; its last line names the engine.
	Text string `json:"text"`
	// Topics are the names of the intents that answered, in order.
	Topics []string `json:"topics"`
	// Cited are residues that the text names, in order, without repeats.
	Cited []facts.ResidueRef `json:"cited"`
	// Abstained is set where nothing of the question was answered.
	Abstained bool `json:"abstained"`
	// Unanswered are the parts of the question that were not answered, at most 200 runes each.
	Unanswered []string  `json:"unanswered"`
	Confidence Certainty `json:"confidence"`
}

// Bounds of a question.
const (
	maxQuestion  = 8 << 10 // bytes; a longer one is refused
	maxSentences = 12
	maxParts     = 12 // questions in one sentence
)

// Answer answers a question about the facts, or abstains. It needs facts that facts.Digest made in this process. A
// question longer than 8 KiB is refused, and so is one that compares more than maxSites residues or looks at more than
// maxNear of their surroundings. It never fails, and the same question and facts give the same reply.
func Answer(f *facts.Facts, question string) Reply {
	near := maxNear
	t := &talk{f: f, near: &near, outside: map[string][]string{}}
	switch {
	case f == nil || f.Index() == nil:
		t.refuse("", "These facts came without coordinates, so that no question can be answered from them.")
	case len(question) > maxQuestion:
		t.refuse("", fmt.Sprintf("The question has %d bytes; ask one of at most %d.", len(question), maxQuestion))
	case strings.TrimSpace(question) == "":
		t.refuse("", "There is no question.")
	default:
		t.x, t.scanner = f.Index(), newScanner(f.Index())
		t.answer(strings.ToValidUTF8(question, " "))
		if len(t.texts) == 0 {
			t.refuse(question, "I found no question in this.")
		}
	}
	return t.close()
}

// close puts the reply together. Where a part was not understood, it suggests questions that this structure can answer.
func (t *talk) close() Reply {
	if t.x != nil && (len(t.lost) > 0 || len(t.reply.Topics) == 0) {
		t.suggest()
	}
	r := t.reply
	r.Abstained = len(r.Topics) == 0
	r.Confidence = leastSure(r.Confidence)
	r.Topics = slices.Compact(r.Topics)
	cited := map[facts.ResidueRef]bool{}
	r.Cited = keep(r.Cited, func(ref facts.ResidueRef) bool {
		again := cited[ref]
		cited[ref] = true
		return !again
	})
	r.Text = strings.Join(t.texts, "\n") + "\n— " + Name + "."
	return r
}

// suggest adds questions that can be asked of the structure: those near what was refused, or else the first three.
// None of them leads to suggestions in its turn.
func (t *talk) suggest() {
	lead, list := "The nearest that I can answer: ", []string(nil)
	for _, items := range facts.Head(t.lost, 3) {
		for _, question := range t.answered(facts.Head(t.nearest(items), 5), 1) {
			if !slices.Contains(list, question) {
				list = append(list, question)
			}
		}
	}
	if len(list) == 0 {
		lead, list = "Of this structure I can answer, for example: ", t.answered(vocabulary().suggestions, 3)
	}
	if len(list) > 0 {
		t.texts = append(t.texts, lead+strings.Join(list, " "))
	}
}

// answered returns the first n questions that this structure answers, in quotes.
func (t *talk) answered(questions []string, n int) (out []string) {
	for _, question := range questions {
		try := &talk{f: t.f, x: t.x, scanner: t.scanner, near: t.near, outside: map[string][]string{}}
		if try.answer(question); len(try.reply.Topics) > 0 {
			out = append(out, "“"+question+"”")
		}
		if len(out) == n {
			break
		}
	}
	return out
}

// shared is how much a common noun or condition weighs against a question word that two questions share.
const shared = 10

// suggested has the items of the questions to suggest. No name of a structure is in them.
var suggested = sync.OnceValue(func() map[string][]item {
	s, out := newScanner(&facts.Index{}), map[string][]item{}
	for _, question := range vocabulary().suggestions {
		out[question] = s.scan(s.sentences(question)[0])
	}
	return out
})

// nearest returns the questions that share something with what was refused, those that share most first.
func (t *talk) nearest(items []item) (list []string) {
	words, named := map[string]bool{}, "lysines"
	for _, it := range items {
		words[it.concept] = true
		if it.concept == "@name" {
			named = it.names[0]
		}
		if question := vocabulary().lines["instead "+it.concept]; question != "" {
			list = append(list, question)
		}
	}
	score := map[string]int{}
	for question, items := range suggested() {
		for _, it := range items {
			switch {
			case !words[it.concept] || it.is("filler ask & or in of has it any residue chain structure protein"):
			case it.isQuestionWord():
				score[question]++
			case it.isSoft():
				score[question] += shared
			default:
				score[question] += 3 * shared
			}
		}
	}
	near := keep(vocabulary().suggestions, func(q string) bool { return score[q] >= shared })
	slices.SortStableFunc(near, func(a, b string) int { return score[b] - score[a] })
	for _, question := range near {
		list = append(list, strings.Replace(question, "lysines", named, 1))
	}
	return list
}

// part is the answer of one intent.
type part struct {
	text  string
	cited []facts.ResidueRef
	sure  Certainty // Nothing where text says why there is no answer
	cut   bool      // a list of it is not complete
}

// refusal is a part that says why there is no answer.
func refusal(format string, a ...any) part {
	return part{text: fmt.Sprintf(format, a...), sure: Nothing}
}

// maxListed is how many residues, pairs or ranges one list of an answer names.
const maxListed = 60

// add appends formatted text. It cites the residues among the arguments, and writes lists of residues and of pairs of
// atoms out; they are formatted as %s.
func (p *part) add(format string, a ...any) {
	for k, arg := range a {
		switch v := arg.(type) {
		case facts.ResidueRef:
			p.cited = append(p.cited, v)
		case []facts.ResidueRef:
			a[k] = facts.OrNone(facts.RefList(v, maxListed))
			p.cut = p.cut || len(v) > maxListed
			p.cited = append(p.cited, facts.Head(v, maxListed)...)
		case facts.AtomPair:
			p.cited = append(p.cited, v.A, v.B)
		case []facts.AtomPair:
			a[k] = facts.OrNone(facts.PairList(v, maxListed))
			p.cut = p.cut || len(v) > maxListed
			p.cited = append(p.cited, facts.PairRefs(facts.Head(v, maxListed))...)
		}
	}
	p.text += fmt.Sprintf(format, a...)
}

func capital(s string) string {
	if s == "" || s[0] >= 0x80 {
		return s // α-helix
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// number writes how many there are; none is no salt bridges.
func number(n int, one, many string) string {
	if n == 0 {
		return "no " + many
	}
	return words.Quantity(n, one, many)
}

func residues(n int) string { return words.Quantity(n, "residue", "residues") }

// ranges names sites as ranges without a gap, which shortens long lists of residues. It cites the ends of each range.
func (q *query) ranges(p *part, sites []int) string {
	var names []string
	for _, run := range facts.Head(q.x.Runs(sites), maxListed) {
		names = append(names, q.x.Span(run))
		p.cited = append(p.cited, q.x.Sites[run[0]].Ref, q.x.Sites[run[len(run)-1]].Ref)
	}
	p.cut = p.cut || len(q.x.Runs(sites)) > maxListed
	return facts.OrNone(words.Join(names, maxListed))
}

// withResidue names the filter at the beginning of an answer.
func (q *query) withResidue() string {
	if len(q.filter()) == 0 {
		return ""
	}
	return "With a residue that is " + q.filter().String() + ": "
}
