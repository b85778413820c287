package report

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"pleat"
	"pleat/internal/structure"
)

// The RMSD to a template is that of the residues which both have; of fewer than three there is none.
func TestTemplateScores(t *testing.T) {
	chain := structure.Chain{ID: "B", Kind: structure.Protein}
	for i, x := range []float64{0, 3.8, 7.6, 11.4} {
		chain.Residues = append(chain.Residues, structure.Residue{Comp: "GLY", Seq: i + 1,
			Atoms: []structure.Atom{{Name: "CA", Element: "C", Pos: structure.Vec{x, float64(i % 2), 0}}}})
	}
	residue := func(position int, x, y, z float64) pleat.TemplateResidue {
		return pleat.TemplateResidue{Position: position, CA: [3]float64{x, y, z}}
	}
	// The first three residues turned by a quarter and moved, and a fourth that the structure lacks.
	same := []pleat.TemplateResidue{
		residue(1, 5, 1, 9), residue(2, 4, 4.8, 9), residue(3, 5, 8.6, 9), residue(9, 0, 0, 0),
	}
	fold := &pleat.FoldInput{Templates: []pleat.FoldTemplate{
		{Template: 0, Chain: "B", Residues: same},
		{Template: 1, Chain: "A", Residues: same},
		{Template: 1, Chain: "B", Residues: same[1:3]},
		{Template: 2, Chain: "B", Residues: []pleat.TemplateResidue{
			residue(1, 0, 0, 0), residue(2, 3.8, 1, 0), residue(3, 7.6, 0, 0), residue(4, 11.4, 1, 8)}},
	}}
	r := Report{Work: pleat.Work{Fold: fold}}
	got := r.templateScores(&Prediction{
		Chains:    []string{"B"},
		Structure: &structure.Structure{Chains: []structure.Chain{chain}},
	})
	zero := 0.0
	if len(got) != 3 || got[2].RMSD == nil || *got[2].RMSD < 1 || *got[2].RMSD > 8 {
		t.Fatalf("%+v", got)
	}
	want := []pleat.TemplateScore{
		{Template: 0, Chain: "B", Residues: 3, RMSD: &zero}, {Template: 1, Chain: "B", Residues: 2},
	}
	if d := cmp.Diff(want, got[:2]); d != "" {
		t.Error(d)
	}
}
