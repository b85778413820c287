package analyst

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"math"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"pleat"
	"pleat/internal/facts"
	"pleat/internal/structure"
)

// check is what another program computed: see testdata/expected.py.
type check struct {
	N     []float64
	Tol   float64
	R     []string
	Exact bool
	T     []string
}

func load(t testing.TB, name string) *structure.Structure {
	t.Helper()
	f, err := os.Open("testdata/" + name + ".pdb")
	if errors.Is(err, fs.ErrNotExist) {
		f, err = os.Open("../structure/testdata/" + name + ".pdb")
	}
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	s, err := structure.ReadWhole(f, structure.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

var digests sync.Map // by structure; answering changes no facts

func digest(t testing.TB, name string) *facts.Facts {
	if f, ok := digests.Load(name); ok {
		return f.(*facts.Facts)
	}
	f := mustDigest(t, load(t, name), facts.Extra{Source: name + ".pdb"})
	digests.Store(name, f)
	return f
}

type asked struct{ structure, question, key string }

// tables of questions with their answers; each says when it was written.
var tables = []string{"testdata/questions.txt", "testdata/heldout.txt", "testdata/qualified.txt",
	"testdata/heldout2.txt", "testdata/heldout3.txt"}

func questionsOf(t testing.TB, path string) []asked {
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var out []asked
	for sc := bufio.NewScanner(f); sc.Scan(); {
		if line := sc.Text(); line != "" && line[0] != '#' {
			cols := strings.Split(line, " | ")
			if len(cols) != 3 {
				t.Fatalf("%s: a line has %d columns: %s", path, len(cols), line)
			}
			out = append(out, asked{cols[0], cols[1], cols[2]})
		}
	}
	return out
}

func expectations(t testing.TB) map[string]map[string]check {
	out := map[string]map[string]check{}
	for _, path := range []string{"testdata/expected.json", "testdata/qualified.json"} {
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var some map[string]map[string]check
		if err := json.Unmarshal(raw, &some); err != nil {
			t.Fatal(err)
		}
		for name, checks := range some {
			if out[name] == nil {
				out[name] = map[string]check{}
			}
			maps.Copy(out[name], checks)
		}
	}
	return out
}

var figures = regexp.MustCompile(`[-+]?\d+(\.\d+)?`)

// fault says what is wrong with a reply; empty: nothing.
func fault(r Reply, want check) string {
	if r.Abstained {
		return "abstained"
	}
	var said []float64
	for _, m := range figures.FindAllString(r.Text, -1) {
		v, _ := strconv.ParseFloat(m, 64)
		said = append(said, v)
	}
	for _, n := range want.N {
		if !slices.ContainsFunc(said, func(v float64) bool { return math.Abs(v-n) <= want.Tol+1e-9 }) {
			return "does not say " + strconv.FormatFloat(n, 'g', 6, 64)
		}
	}
	for _, text := range want.T {
		if !strings.Contains(r.Text, text) {
			return "does not say " + text
		}
	}
	var cited []string
	for _, c := range r.Cited {
		cited = append(cited, c.Chain+":"+c.Name+":"+strconv.Itoa(c.Number))
	}
	for _, ref := range want.R {
		if !slices.Contains(cited, ref) {
			return "does not cite " + ref
		}
	}
	if want.Exact {
		for _, c := range cited {
			if !slices.Contains(want.R, c) {
				return "cites " + c
			}
		}
	}
	return ""
}

// Answers agree with what other programs computed, and what cannot be known is not answered.
func TestQuestions(t *testing.T) {
	want := expectations(t)
	facts := map[string]*facts.Facts{}
	answered, abstained := 0, 0
	for _, path := range tables {
		for _, q := range questionsOf(t, path) {
			if facts[q.structure] == nil {
				facts[q.structure] = digest(t, q.structure)
			}
			r := Answer(facts[q.structure], q.question)
			if !strings.Contains(r.Text, Name) {
				t.Errorf("%q: the reply does not name the engine", q.question)
			}
			if q.key == "abstain" || q.key == "refused" { // it cannot be known, or it is not understood
				abstained++
				if !r.Abstained {
					t.Errorf("%s: %q was answered:\n%s", q.structure, q.question, r.Text)
				}
				continue
			}
			key, open := strings.CutPrefix(q.key, "~") // may be abstained from, but never answered otherwise
			c, ok := want[q.structure][key]
			if !ok || len(c.N)+len(c.R)+len(c.T) == 0 {
				t.Errorf("%s: nothing is expected of %q", q.structure, q.key)
			}
			if open && r.Abstained {
				continue
			}
			answered++
			if why := fault(r, c); why != "" {
				t.Errorf("%s: %q %s:\n%v %s", q.structure, q.question, why, r.Topics, r.Text)
			}
		}
	}
	if answered < 80 || abstained < 20 || len(facts) < 10 {
		t.Errorf("%d questions to answer and %d to abstain from over %d structures; want at least 80, 20 and 10",
			answered, abstained, len(facts))
	}
}

func mustDigest(t testing.TB, s *structure.Structure, extra facts.Extra) *facts.Facts {
	t.Helper()
	f, err := facts.Digest(context.Background(), s, extra)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// A prediction is rated as its page rates it; what its engine does not give is said to be missing.
func TestPredictionIsRated(t *testing.T) {
	mean, iptm := 91.2, 0.5
	plddt := [][]float64{slices.Repeat([]float64{95}, 76), slices.Repeat([]float64{70}, 28)}
	chains := []string{"A", "B"}
	rated := mustDigest(t, load(t, "dimer"), facts.Extra{PLDDT: plddt, Scores: &pleat.Prediction{
		Chains:     chains,
		MeanPLDDT:  &mean,
		IPTM:       &iptm,
		Pairs:      []pleat.PairScore{{A: "A", B: "B", IPTM: &iptm}},
		Confidence: "ensemble agreement",
	}})
	unrated := mustDigest(t, load(t, "dimer"), facts.Extra{Predicted: true, Scores: &pleat.Prediction{Chains: chains}})
	for _, question := range []string{"Is this prediction any good?", "any good?", "Can I trust it?", "quality?"} {
		r := Answer(rated, question)
		for _, says := range []string{
			"Very confident fold, uncertain interface. Mean pLDDT 91.2 of 100: ",
			"28 of 104 residues are at 70 or below.",
			"Interface A–B not reliable: ipTM 0.50.", "28 of 28 are at 70 or below: GLU 1 to ARG 28 (chain B)",
			"In the words of its engine, this confidence is “ensemble agreement”.",
		} {
			if r.Abstained || !strings.Contains(r.Text, says) {
				t.Errorf("%q does not say %q:\n%s", question, says, r.Text)
			}
		}
		r = Answer(unrated, question)
		want := "No confidence given. This engine gives no pLDDT, so the reliability of its parts is not known. This " +
			"engine does not rate the arrangement of the chains."
		if first, _, _ := strings.Cut(r.Text, "\n"); !r.Abstained || first != want {
			t.Errorf("%q of a prediction without scores:\n%s", question, r.Text)
		}
	}
	if r := Answer(rated, "How reliable is the interface?"); !strings.Contains(r.Text, "ipTM of 0.50") {
		t.Errorf("the interface is not rated:\n%s", r.Text)
	}
}

// A model's predicted RMSD answers the questions about confidence, in Å, low values being good. It is no pLDDT.
func TestPredictedRMSDIsTold(t *testing.T) {
	s := load(t, "1ubi")
	for i := range s.Chains[0].Residues {
		v := 0.25
		if i >= 70 {
			v = 2
		}
		s.Chains[0].Residues[i].PredictedRMSD = &v
	}
	f := mustDigest(t, s, facts.Extra{Predicted: true})
	for question, says := range map[string][]string{
		"How confident is the model?": {
			"Low predicted error, uncertain parts. Mean predicted RMSD 0.39 Å", "expect 3 Å or more",
			"6 of 76 are above 1.5 Å: LEU 71 to GLY 76",
		},
		"Which residues are uncertain?":                     {"6 of 76 are above 1.5 Å: LEU 71 to GLY 76"},
		"Which residues are most reliable?":                 {"70 of 76 are at 0.5 Å or below: MET 1 to VAL 70"},
		"How confident is residue 75?":                      {"has a mean predicted RMSD of 2.00 Å", structure.RMSDInstead},
		"What is the mean pLDDT?":                           {"gives it in place of pLDDT", "gives no pLDDT but"},
		"What is the predicted RMSD of residues 1 to 5?":    {"has a mean predicted RMSD of 0.25 Å"},
		"Which residues have a predicted RMSD above 1.5 Å?": {"6 of 76", "LEU 71"},
		"Which lysines have a predicted RMSD below 1.5?":    {"7 of 76", "LYS 6"},
		"Is residue 3 buried?":                              {"predicted RMSD 0.25 Å"},
		"Which residues could I mutate?":                    {"have a predicted RMSD above 1.5 Å, where their place is not sure"},
		"Give me a summary.":                                {"mean predicted RMSD 0.39 Å (low is good)"},
	} {
		r := Answer(f, question)
		for _, text := range says {
			if r.Abstained || !strings.Contains(r.Text, text) {
				t.Errorf("%q: no %q in\n%s", question, text, r.Text)
			}
		}
		if strings.Contains(r.Text, "has a mean pLDDT") || strings.Contains(r.Text, "pLDDT 0.") {
			t.Errorf("%q is answered by pLDDT:\n%s", question, r.Text)
		}
	}
	if r := Answer(f, "Which residues have a pLDDT below 70?"); !r.Abstained ||
		!strings.Contains(r.Text, structure.RMSDInstead) {
		t.Errorf("a bound of pLDDT is applied to predicted RMSD:\n%s", r.Text)
	}
	plain := mustDigest(t, load(t, "1ubi"), facts.Extra{})
	if r := Answer(plain, "Which residues have a predicted RMSD above 1.5 Å?"); !r.Abstained {
		t.Errorf("a structure without predicted RMSD is asked for it:\n%s", r.Text)
	}
}

// Sulfurs that are close without a bond are named where they are what the question asks about.
func TestCloseSulfursOfTheQuestion(t *testing.T) {
	s := load(t, "1crn")
	sulfur := func(i int) *structure.Atom {
		r := &s.Chains[0].Residues[i-1]
		return &r.Atoms[slices.IndexFunc(r.Atoms, func(a structure.Atom) bool { return a.Name == "SG" })]
	}
	sulfur(16).Pos = sulfur(26).Pos
	sulfur(16).Pos[0] += 2.75
	f := mustDigest(t, s, facts.Extra{})
	pair := "Close, but longer than a bond: CYS 16 (chain A) SG – CYS 26 (chain A) SG 2.75 Å."
	for question, want := range map[string]string{
		"Is CYS 3 of chain A in a disulfide?":  "Close, but longer than a bond: none.",
		"Is CYS 16 of chain A in a disulfide?": pair,
		"Which disulfides are there?":          pair,
	} {
		if got := Answer(f, question).Text; !strings.Contains(got, want) {
			t.Errorf("%s\n%s\nwant %s", question, got, want)
		}
	}
}
