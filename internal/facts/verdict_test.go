package facts

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pleat"
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
			Chains    []string
			MeanPLLDT *float64
			PTM       *float64 `json:"ptm_score"`
			IPTM      *float64 `json:"iptm_score"`
			Pairs     []struct {
				A    string `json:"chainA"`
				B    string `json:"chainB"`
				IPTM *float64
			}
		}
		PLDDT   []float64
		Verdict Verdict
	}
	if err := json.Unmarshal(raw, &cases); err != nil || len(cases) == 0 {
		t.Fatal(len(cases), err)
	}
	for _, c := range cases {
		s := &pleat.Prediction{
			Chains:    c.Scores.Chains,
			MeanPLDDT: c.Scores.MeanPLLDT,
			PTM:       c.Scores.PTM,
			IPTM:      c.Scores.IPTM,
		}
		for _, p := range c.Scores.Pairs {
			s.Pairs = append(s.Pairs, pleat.PairScore{A: p.A, B: p.B, IPTM: p.IPTM})
		}
		if diff := cmp.Diff(&c.Verdict, Judge(s, c.PLDDT)); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", c.Name, diff)
		}
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
