package analyst

import (
	"fmt"
	"slices"
	"strings"

	"pleat/internal/facts"
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

// part is the answer of one intent.
type part struct {
	text  string
	cited []facts.ResidueRef
	// certainty is Nothing where text says why there is no answer.
	sure Certainty
}

// maxListed is how many residues, pairs or stretches one list of an answer names.
const maxListed = 60

// stretch is a run of residues, which an answer names by its ends.
type stretch struct{ from, to facts.ResidueRef }

// String returns the ends of the stretch.
func (s stretch) String() string { return facts.Span(s.from, s.to) }

// add appends formatted text. It cites the residues among the arguments, and writes lists of residues, of pairs of
// atoms and of stretches out; they are formatted as %s.
func (p *part) add(format string, a ...any) {
	for k, arg := range a {
		switch v := arg.(type) {
		case facts.ResidueRef:
			p.cited = append(p.cited, v)
		case []facts.ResidueRef:
			a[k] = facts.OrNone(facts.RefList(v, maxListed))
			p.cited = append(p.cited, facts.Head(v, maxListed)...)
		case facts.AtomPair:
			p.cited = append(p.cited, v.A, v.B)
		case []facts.AtomPair:
			a[k] = facts.OrNone(facts.PairList(v, maxListed))
			p.cited = append(p.cited, facts.PairRefs(facts.Head(v, maxListed))...)
		case []stretch:
			var names []string
			for _, s := range facts.Head(v, maxListed) {
				names = append(names, s.String())
				p.cited = append(p.cited, s.from, s.to)
			}
			a[k] = facts.OrNone(facts.Join(names, maxListed))
		}
	}
	p.text += fmt.Sprintf(format, a...)
}

// refusal is a part that says why there is no answer.
func refusal(format string, a ...any) part {
	return part{text: fmt.Sprintf(format, a...), sure: Nothing}
}

// Answer answers a question about the facts, or abstains. It needs facts that facts.Digest made in this process. A
// question longer than 8 KiB is refused. It never fails, takes time in proportion to the question's length, and the
// same question and facts give the same reply.
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

// refuse records a part of the question that is not answered, and why. A reason is given once.
func (t *talk) refuse(what, why string) {
	if !slices.Contains(t.texts, why) {
		t.texts = append(t.texts, why)
	}
	t.reply.Unanswered = append(t.reply.Unanswered, facts.Clip(what, 200))
}

// refuseOutside refuses what no structure can tell. Words with the same reason share one sentence.
func (t *talk) refuseOutside(items []item, it item) {
	words := append(t.outside[it.concept], "“"+facts.Clip(it.text, 40)+"”")
	said := func(words []string) string {
		return fmt.Sprintf("About %s: I cannot tell %s.", facts.Join(words, 8), vocabulary().reasons[it.concept])
	}
	if at := slices.Index(t.texts, said(words[:len(words)-1])); at >= 0 {
		t.texts[at] = said(words)
	}
	t.outside[it.concept] = words
	t.misunderstand(items, said(words))
}

// accept collects what one question contributes to the reply. It adds the answer of an intent.
func (t *talk) accept(in *intent, q *query, p part) {
	if p.sure == Nothing {
		t.refuse(textOf(q.items), p.text)
		return
	}
	t.texts = append(t.texts, p.text)
	t.reply.Topics = append(t.reply.Topics, in.Name)
	for _, r := range p.cited {
		if !slices.Contains(t.reply.Cited, r) {
			t.reply.Cited = append(t.reply.Cited, r)
		}
	}
	t.certainty = append(t.certainty, p.sure)
}

// close puts the reply together. Where a part was not understood, it suggests questions that this structure can answer.
func (t *talk) close() Reply {
	if t.x != nil && (len(t.lost) > 0 || len(t.reply.Topics) == 0) {
		t.suggest()
	}
	r := t.reply
	r.Abstained = len(r.Topics) == 0
	r.Confidence = leastSure(t.certainty...)
	r.Topics = slices.Compact(r.Topics)
	r.Text = strings.Join(t.texts, "\n") + "\n— " + Name + "."
	return r
}

// suggestions are questions that a reply offers, if this very structure answers them: those near what was refused, or
// else the first three.
var suggestions = [...]string{
	"Which residues are within 5 Å of the ligand?",
	"Which residues have a pLDDT below 70?",
	"Which residues form the interface between chain A and chain B?",
	"Which charged residues are in helices or strands?",
	"What is the sequence?",
	"How many residues does each chain have?",
	"What is the radius of gyration?",
	"Where are the helices and strands?",
	"How many helices are there?",
	"Which residues are exposed?",
	"Which residues are buried?",
	"How many lysines are there?",
	"What is the composition?",
	"What is the net charge?",
	"Are there salt bridges?",
	"Which hydrogen bonds are there?",
	"Are there disulfides?",
	"Are there any pockets?",
	"Which ligands are bound?",
	"What is the accessible surface?",
	"What is the molecular weight?",
	"What could I mutate?",
	"Are there gaps in the chain?",
	"Is this prediction any good?",
	"Give me a summary.",
}

// suggest adds questions that can be asked of the structure. None of them leads to suggestions in its turn.
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
		lead, list = "Of this structure I can answer, for example: ", t.answered(suggestions[:], 3)
	}
	if len(list) > 0 {
		t.texts = append(t.texts, lead+strings.Join(list, " "))
	}
}

// answered returns the first n questions that this structure answers, in quotes.
func (t *talk) answered(questions []string, n int) (out []string) {
	for _, question := range questions {
		try := &talk{f: t.f, x: t.x, scanner: t.scanner, near: t.near, outside: map[string][]string{}}
		if len(out) < n {
			try.answer(question)
		}
		if len(try.reply.Topics) > 0 {
			out = append(out, "“"+question+"”")
		}
	}
	return out
}

// shared is how much a common noun or condition weighs against a question word that two questions share.
const shared = 10

// nearest returns the questions that share something with what was refused, those that share most first.
func (t *talk) nearest(items []item) (list []string) {
	words, named := map[string]bool{}, "lysines"
	for _, it := range items {
		words[it.concept] = true
		if it.concept == "@name" {
			named = it.names[0]
		}
		if question := vocabulary().instead[it.concept]; question != "" {
			list = append(list, question)
		}
	}
	score := map[string]int{}
	for _, question := range suggestions {
		for _, it := range t.scanner.scan(sentences(question)[0]) {
			switch c := it.concept; {
			case !words[c] || oneOf(c, "filler ask & or in of has it any residue chain structure protein"):
			case oneOf(c, questionWords):
				score[question]++
			case soft(c):
				score[question] += shared
			default:
				score[question] += 3 * shared
			}
		}
	}
	by := slices.DeleteFunc(slices.Clone(suggestions[:]), func(q string) bool { return score[q] < shared })
	slices.SortStableFunc(by, func(a, b string) int { return score[b] - score[a] })
	for _, question := range by {
		list = append(list, strings.Replace(question, "lysines", named, 1))
	}
	return list
}

// textOf quotes a part of the question. It returns the words of items as the question has them.
func textOf(items []item) string {
	var out []string
	for _, it := range items {
		if it.text != "" {
			out = append(out, it.text)
		}
	}
	return strings.Join(out, " ")
}
