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

var certainties = []Certainty{Measured, Geometric, Estimated}

// Reply is the answer to one question.
type Reply struct {
	Text       string             `json:"text"`       // plain sentences; names the engine
	Topics     []string           `json:"topics"`     // the intents that answered
	Cited      []facts.ResidueRef `json:"cited"`      // residues the text names, in order, without repeats
	Abstained  bool               `json:"abstained"`  // nothing of the question was answered
	Unanswered []string           `json:"unanswered"` // parts of the question that were not
	Confidence Certainty          `json:"confidence"`
}

const (
	maxQuestion  = 8 << 10 // bytes read of a question; the rest is refused
	maxSentences = 12
	maxParts     = 12
)

// part is the answer of one intent.
type part struct {
	text  string
	cited []facts.ResidueRef
	sure  Certainty // Nothing: text says why there is no answer
}

func no(format string, a ...any) part { return part{text: fmt.Sprintf(format, a...), sure: Nothing} }

// Answer answers a question about the facts, or abstains. It needs facts that Digest
// made in this process. A question longer than 8 KiB is refused. It never fails, takes
// time in proportion to the question's length, and the same question and facts give the
// same reply.
func Answer(f *facts.Facts, question string) Reply {
	r := &Reply{}
	t := &talk{f: f, reply: r}
	switch {
	case f == nil || f.Index() == nil:
		t.refuse("", "These facts came without coordinates, so that no question can be answered from them.")
	case len(question) > maxQuestion:
		t.refuse("", fmt.Sprintf("The question has %d bytes; ask one of at most %d.", len(question), maxQuestion))
	case strings.TrimSpace(question) == "":
		t.refuse("", "There is no question.")
	default:
		t.read = newReader(f.Index())
		all := sentences(strings.ToValidUTF8(question, " "))
		if len(all) > maxSentences {
			t.refuse("", fmt.Sprintf("I read the first %d sentences; please ask the others apart.", maxSentences))
		}
		var read [][]item
		for _, s := range facts.Head(all, maxSentences) {
			read = append(read, t.read.read(s))
		}
		for _, s := range joinSentences(read) {
			t.sentence(s)
		}
		if len(t.texts) == 0 {
			t.refuse(question, "I found no question in this.")
		}
	}
	return t.close()
}

func (t *talk) refuse(what, why string) {
	t.texts = append(t.texts, why)
	t.reply.Unanswered = append(t.reply.Unanswered, facts.Clip(what, 200))
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
	texts := slices.Concat(facts.Head(t.notes, 5), t.texts)
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

func distinct(list []string, name string) []string {
	if slices.Contains(list, name) {
		return list
	}
	return append(list, name)
}
