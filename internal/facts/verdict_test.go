package facts

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pleat"
	"pleat/internal/structure"
)

// The analyst and the page rate a prediction in the same words: the tests of the page read the same cases.
func TestVerdictIsThatOfThePage(t *testing.T) {
	raw, err := os.ReadFile("../../web/src/result/verdict.test.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		Name   string
		Scores struct {
			Chains        []string
			MeanPLLDT     *float64
			PredictedRMSD *float64
			PTM           *float64 `json:"ptm_score"`
			IPTM          *float64 `json:"iptm_score"`
			Pairs         []struct {
				A    string `json:"chainA"`
				B    string `json:"chainB"`
				IPTM *float64
			}
		}
		PLDDT   []float64
		RMSD    []float64
		Verdict Verdict
	}
	if err := json.Unmarshal(raw, &cases); err != nil || len(cases) == 0 {
		t.Fatal(len(cases), err)
	}
	for _, c := range cases {
		s := &pleat.Prediction{
			Chains:        c.Scores.Chains,
			MeanPLDDT:     c.Scores.MeanPLLDT,
			PredictedRMSD: c.Scores.PredictedRMSD,
			PTM:           c.Scores.PTM,
			IPTM:          c.Scores.IPTM,
		}
		for _, p := range c.Scores.Pairs {
			s.Pairs = append(s.Pairs, pleat.PairScore{A: p.A, B: p.B, IPTM: p.IPTM})
		}
		if diff := cmp.Diff(&c.Verdict, Judge(s, c.PLDDT, c.RMSD)); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", c.Name, diff)
		}
	}
}

// A structure with a predicted RMSD is digested in Å, and none of it is called pLDDT.
func TestPredictedRMSDFacts(t *testing.T) {
	s := load(t, "1ubi")
	for i := range s.Chains[0].Residues {
		v := 0.5
		if i >= 70 {
			v = 2
		}
		s.Chains[0].Residues[i].PredictedRMSD = &v
		for k := range s.Chains[0].Residues[i].Atoms {
			s.Chains[0].Residues[i].Atoms[k].B = v
		}
	}
	f := digestOf(t, s, Extra{Predicted: true})
	got := f.PredictedRMSD
	if f.Confidence != nil || got == nil || got.Mean != 0.62 || got.Max != 2 || len(got.Uncertain) != 1 ||
		got.Uncertain[0].From.Number != 71 || got.Uncertain[0].Length != 6 || got.Uncertain[0].Mean != 2 {
		t.Fatalf("confidence %+v, predicted RMSD %+v", f.Confidence, got)
	}
	want := &Verdict{"fair", "Low predicted error, uncertain parts", []string{
		"Mean predicted RMSD 0.62 Å, of which low values are good; this model gives it in place of pLDDT.",
		"6 of 76 residues are above 1.5 Å.",
		"It is optimistic: true errors, measured on antibodies, are 1.5 to 2 times as large, so above 1.5 Å expect 3 Å " +
			"or more."}}
	if diff := cmp.Diff(want, f.Verdict); diff != "" {
		t.Error(diff)
	}
	text := f.Text(20000)
	for _, want := range []string{
		"; mean predicted RMSD 0.62 Å (low is good), highest 2.00 Å", structure.RMSDInstead,
		"Predicted RMSD above 1.5 Å in chain A: 71–76 (mean 2.0).",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the digest lacks %q:\n%s", want, text)
		}
	}
	if strings.Contains(text, "mean pLDDT") {
		t.Error("the digest has a pLDDT")
	}
}

// A prediction whose engine's scores are not known is rated by those of the file; an experiment is not rated.
func TestVerdictWithoutScores(t *testing.T) {
	if v := digest(t, "1ubi").Verdict; v != nil {
		t.Errorf("an experiment is rated: %+v", v)
	}
	want := &Verdict{"good", "Confident fold", []string{
		"Mean pLDDT 87.1 of 100: the main chain is usually reliable, the side chains less so.",
		"11 of 76 residues are at 70 or below."}}
	if diff := cmp.Diff(want, digest(t, "predicted").Verdict); diff != "" {
		t.Error(diff)
	}
	unscored := digestOf(t, load(t, "dimer"), Extra{Scores: &pleat.Prediction{Chains: []string{"A", "B"}}})
	want = &Verdict{"unknown", "No confidence given", []string{
		"This engine gives no pLDDT, so the reliability of its parts is not known.",
		"This engine does not rate the arrangement of the chains."}}
	if diff := cmp.Diff(want, unscored.Verdict); diff != "" {
		t.Error(diff)
	}
}
