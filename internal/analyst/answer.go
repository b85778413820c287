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
	t := &talk{f: f, near: &near}
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

// refuse records a part of the question that is not answered, and why.
func (t *talk) refuse(what, why string) {
	t.texts = append(t.texts, why)
	t.reply.Unanswered = append(t.reply.Unanswered, facts.Clip(what, 200))
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
	if t.x != nil && (t.lost || len(t.reply.Topics) == 0) {
		t.suggest()
	}
	r := t.reply
	r.Abstained = len(r.Topics) == 0
	r.Confidence = leastSure(t.certainty...)
	r.Topics = slices.Compact(r.Topics)
	r.Text = strings.Join(t.texts, "\n") + "\n— " + Name + "."
	return r
}

// suggestions are questions of which a reply shows the first three that this very structure answers.
var suggestions = [...]string{
	"Which residues are within 5 Å of the ligand?",
	"Which residues have a pLDDT below 70?",
	"Which residues form the interface between chain A and chain B?",
	"Which charged residues are in helices or strands?",
	"What is the sequence?",
	"How many residues does each chain have?",
	"What is the radius of gyration?",
}

// suggest adds questions that can be asked of the structure. None of them leads to suggestions in its turn.
func (t *talk) suggest() {
	var list []string
	for _, question := range suggestions {
		try := &talk{f: t.f, x: t.x, scanner: t.scanner, near: t.near}
		if try.answer(question); len(try.reply.Topics) > 0 {
			list = append(list, "“"+question+"”")
		}
		if len(list) == 3 {
			break
		}
	}
	if len(list) > 0 {
		t.texts = append(t.texts, "Of this structure I can answer, for example: "+strings.Join(list, " "))
	}
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
