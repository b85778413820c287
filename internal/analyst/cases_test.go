package analyst

import (
	"os"
	"strings"
	"testing"
)

// askedCase is one case of testdata/cases.txt or testdata/strangers.txt; cases.txt describes the format.
type askedCase struct {
	structure, question string
	kind                string     // refuse, partly, open, or empty: must be answered
	must                [][]string // alternatives
	mustNot             []string
}

func readCases(t testing.TB, path string) (out []askedCase) {
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(raw)) {
		line = strings.TrimSpace(line)
		mark, rest, _ := strings.Cut(line, " ")
		if line == "" || mark == "#" || line[0] == '#' {
			continue
		}
		if mark == "Q" {
			name, question, ok := strings.Cut(rest, ": ")
			if !ok {
				t.Fatalf("%s: no structure: %s", path, line)
			}
			out = append(out, askedCase{structure: name, question: question})
			continue
		}
		if len(out) == 0 {
			t.Fatalf("%s: a line before the first question: %s", path, line)
		}
		c := &out[len(out)-1]
		switch mark {
		case "+":
			c.must = append(c.must, strings.Split(rest, " || "))
		case "-":
			c.mustNot = append(c.mustNot, rest)
		case "refuse", "partly", "open":
			c.kind = mark
		default:
			t.Fatalf("%s: unknown line: %s", path, line)
		}
	}
	return out
}

// faults lists what is wrong with a reply.
func (c askedCase) faults(r Reply) (out []string) {
	text := strings.ToLower(strings.TrimSuffix(r.Text, "\n— "+Name+"."))
	answer, _, _ := strings.Cut(text, "of this structure i can answer, for example")
	answer, _, _ = strings.Cut(answer, "the nearest that i can answer")
	switch {
	case c.kind == "refuse" && !r.Abstained:
		out = append(out, "is answered")
	case c.kind == "partly" && (r.Abstained || len(r.Unanswered) == 0):
		out = append(out, "is not answered in part")
	case c.kind == "" && (r.Abstained || len(r.Unanswered) > 0):
		out = append(out, "is not answered")
	case c.kind == "open" && r.Abstained:
		return nil
	}
	for _, alternatives := range c.must {
		ok := false
		for _, a := range alternatives {
			ok = ok || strings.Contains(text, strings.ToLower(strings.TrimSpace(a)))
		}
		if !ok {
			out = append(out, "does not say "+strings.Join(alternatives, " or "))
		}
	}
	for _, a := range c.mustNot {
		if strings.Contains(answer, strings.ToLower(strings.TrimSpace(a))) {
			out = append(out, "says "+a)
		}
	}
	return out
}

// caseTables are tables of questions with what a reply must say.
var caseTables = []string{"testdata/cases.txt", "testdata/strangers.txt", "testdata/first.txt",
	"testdata/atoms.txt", "testdata/named.txt"}

// Questions are answered with the facts, in the scope asked for, or refused.
func TestCases(t *testing.T) {
	total := 0
	for _, path := range caseTables {
		for _, c := range readCases(t, path) {
			total++
			r := Answer(digest(t, c.structure), c.question)
			if faults := c.faults(r); len(faults) > 0 {
				t.Errorf("%s: %q %s:\n%v %s", c.structure, c.question, strings.Join(faults, ", "), r.Topics, r.Text)
			}
		}
	}
	t.Logf("%d cases", total)
}

// The questions that a refusal suggests are answered of the same structure.
func TestSuggestions(t *testing.T) {
	for _, name := range []string{"1crn", "1ubi", "2jof", "dimer", "gapped", "ligand", "nucleic", "predicted"} {
		_, list, ok := strings.Cut(Answer(digest(t, name), "Which glorbs are there?").Text, "for example: ")
		questions := strings.Split(list, "“")[1:]
		if !ok || len(questions) != 3 {
			t.Errorf("%s: %d suggestions in %q", name, len(questions), list)
		}
		for _, q := range questions {
			question, _, _ := strings.Cut(q, "”")
			if r := Answer(digest(t, name), question); r.Abstained || len(r.Unanswered) > 0 {
				t.Errorf("%s: the suggestion %q is not answered: %s", name, question, r.Text)
			}
		}
	}
}
