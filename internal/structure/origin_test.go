package structure

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"strings"
	"testing"
)

// residuesWithB is five residues of a PDB file with B-factors.
func residuesWithB(b ...float64) string {
	out := ""
	for i := range 5 {
		out += fmt.Sprintf("ATOM      1  CA  ALA A%4d    %8.3f   0.000   0.000  1.00%6.2f\n", i+1, 3.8*float64(i),
			b[i%len(b)])
	}
	return out
}

// modelled is two residues of an mmCIF file, in which the B-factors are 1 and 2, behind tables.
func modelled(tables string) string {
	return "data_x\n" + tables + strings.TrimPrefix(site, "data_x\n") + "CA ALA A 1 0 0 0\nCA GLY A 2 1 1 1\n"
}

// Where confidence comes from, or why none is known.
func TestConfidence(t *testing.T) {
	const (
		listed = "loop_\n_ma_qa_metric_local.model_id\n_ma_qa_metric_local.label_asym_id\n" +
			"_ma_qa_metric_local.label_seq_id\n_ma_qa_metric_local.metric_id\n_ma_qa_metric_local.metric_value\n"
		metric    = "loop_\n_ma_qa_metric.id\n_ma_qa_metric.mode\n_ma_qa_metric.type\n_ma_qa_metric.name\n"
		fractions = "Confidence values from 0 to 1 were read as pLDDT from 0 to 100."
		unstated  = "The file is of a prediction and does not say that its B-factors are pLDDT; no confidence is " +
			"reported."
		outside = "The structure is called a prediction, but its confidence values are not between 0 and 100; none " +
			"is reported."
	)
	for _, test := range []struct {
		name, text string
		predicted  bool
		origin     Origin
		first      float64 // pLDDT of the first residue; 0: none is known
		note       string
	}{
		{"nothing said", residuesWithB(70, 90), false, OriginUnknown, 0, ""},
		{"the caller knows", residuesWithB(70, 90), true, OriginUnknown, 70, ""},
		{"the caller knows, all equal", residuesWithB(50), true, OriginUnknown, 50, ""},
		{"an experiment whose title names AlphaFold",
			"TITLE     PHASED WITH AN ALPHAFOLD PREDICTION\nEXPDTA    X-RAY " +
				"DIFFRACTION\n" + residuesWithB(15, 16), false, Experiment, 0, "The structure is of an experiment (X-RAY " +
				"DIFFRACTION), so that its B-factors are no confidence of a model."},
		{"such a title alone", "TITLE     LYSOZYME PHASED WITH AN ALPHAFOLD PREDICTION FOR IT\n" + residuesWithB(15,
			16), false,
			OriginUnknown, 0, ""},
		{"the title of the AlphaFold database", "TITLE     ALPHAFOLD MONOMER V2.0 PREDICTION FOR X\n" +
			residuesWithB(70, 90),
			false, Prediction, 70, ""},
		{"ESMFold, from 0 to 1", "TITLE     ESMFOLD V1 PREDICTION FOR INPUT\n" + residuesWithB(0.7, 0.9), false,
			Prediction, 70,
			fractions},
		{"a theoretical model", "EXPDTA    THEORETICAL MODEL\n" + residuesWithB(70, 90), false, Prediction, 0,
			unstated},
		{"the caller knows, all 0", residuesWithB(0), true, OriginUnknown, 0, outside},
		{"the caller knows, above 100", residuesWithB(70, 120), true, OriginUnknown, 0, outside},
		{"what WritePDB says", "EXPDTA    THEORETICAL MODEL\nREMARK 999 The B-factor column holds pLDDT, 0 to 100.\n" +
			residuesWithB(50), false, Prediction, 50, ""},
		{"pLDDT behind the atoms", modelled("") + metric + "1 local pLDDT pLDDT\n" + listed +
			"1 A 1 1 67.25\n1 A 2 1 90\n", false,
			Prediction, 67.25, ""},
		{"pLDDT before the atoms", modelled(metric + "1 local pLDDT pLDDT\n" + listed +
			"1 A 1 1 67.25\n1 A 2 1 90\n"), false,
			Prediction, 67.25, ""},
		{"pLDDT from 0 to 1", modelled(metric + "1 local 'pLDDT in [0,1]' x\n" + listed +
			"1 A 1 1 0.5\n1 A 2 1 0.25\n"), false,
			Prediction, 50, ""},
		{"a predicted RMSD", modelled(metric + "1 local distance 'predicted RMSD'\n" + listed + "1 A 1 1 0.5\n1 A 2 1 1\n"),
			true, Prediction, 0, RMSDInstead},
		{"a predicted RMSD and pLDDT", modelled(metric + "1 local distance 'predicted RMSD'\n2 local pLDDT pLDDT\n" +
			listed + "1 A 1 1 0.5\n1 A 1 2 80\n"), true, Prediction, 80, ""},
		{"what WritePDB says of a predicted RMSD", "REMARK 999 The B-factor column holds the predicted RMSD in " +
			"Angstrom.\n" + residuesWithB(0.5), true, Prediction, 0, RMSDInstead},
		{"another distance", modelled(metric + "1 local distance 'to the template'\n" + listed +
			"1 A 1 1 0.5\n"), false, Prediction, 0, unstated},
		{"several metrics", modelled(metric +
			"1 global pLDDT pLDDT\n2 local 'pLDDT all-atom' x\n3 local other 'QMEAN'\n" +
			"4 local pLDDT y\n" + listed + "1 A 1 2 10\n1 A 1 3 20\n1 A 1 4 30\n"), false, Prediction, 30, ""},
		{"of the first model", modelled(metric + "1 local pLDDT pLDDT\n" + listed + "1 A 1 1 40\n2 A 1 1 60\n"),
			false, Prediction,
			40, ""},
		{"pLDDT of a file that names an experiment", modelled("_exptl.method 'X-RAY DIFFRACTION'\n" + metric +
			"1 local pLDDT pLDDT\n" + listed + "1 A 1 1 40\n"), false, Prediction, 40, ""},
		{"an mmCIF experiment",
			modelled("_exptl.method 'solution nmr'\n_struct.title 'AlphaFold prediction for x'\n"), false,
			Experiment, 0,
			"The structure is of an experiment (SOLUTION NMR), so that its B-factors are no confidence of a model."},
		{"a list of models", modelled("_ma_model_list.model_id 1\n"), false, Prediction, 0, unstated},
		{"a computational method", modelled("_struct.pdbx_structure_determination_methodology computational\n"),
			false, Prediction, 0, unstated},
	} {
		text := strings.ReplaceAll(test.text, "0 0 0\n", "0 0 0 1.5\n")
		text = strings.ReplaceAll(strings.ReplaceAll(text, "1 1 1\n", "1 1 1 2.5\n"), "_atom_site.Cartn_z\n",
			"_atom_site.Cartn_z\n_atom_site.B_iso_or_equiv\n")
		s, err := Read(strings.NewReader(text), Limits{})
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		c, first := s.Confidence(test.predicted), 0.0
		if c.PLDDT != nil {
			first = c.PLDDT[0][0]
		}
		if s.Origin != test.origin || math.Abs(first-test.first) > 1e-9 || c.Note != test.note {
			t.Errorf("%s: origin %q, pLDDT %v, note %q; want %q, %v, %q", test.name, s.Origin, first, c.Note,
				test.origin, test.first,
				test.note)
		}
	}
}

// A predicted RMSD is read back from both formats, by residue and in Å, and never as pLDDT.
func TestPredictedRMSDIsReadBack(t *testing.T) {
	s := load(t, "2jof")
	rmsd := s.byResidue(func(r *Residue) float64 { return float64(r.Seq) / 4 })
	for _, format := range []func(io.Writer, *Structure, Meta) error{WriteCIF, WritePDB} {
		text := write(t, format, s, Meta{PredictedRMSD: rmsd})
		read, err := Read(bytes.NewReader(text), Limits{})
		if err != nil {
			t.Fatal(err)
		}
		got := read.PredictedRMSD()
		if got == nil || math.Abs(got[0][2]-0.75) > 1e-9 || read.Chains[0].Residues[2].Atoms[0].B != 0.75 {
			t.Errorf("predicted RMSD %v, want 0.75 for the third residue, also as its B-factor", got)
		}
		if c := read.Confidence(true); c.PLDDT != nil || c.Note != RMSDInstead || read.Origin != Prediction {
			t.Errorf("%+v of origin %q is taken for pLDDT", c, read.Origin)
		}
		if c := Compare(read, read)[0]; c.MeanPLDDT != nil {
			t.Error("a change of pLDDT is told")
		}
	}
	again := write(t, WritePDB, s, Meta{PredictedRMSD: rmsd})
	read, err := Read(bytes.NewReader(again), Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if text := string(write(t, WritePDB, read, Meta{})); !strings.Contains(text, "predicted RMSD in Angstrom") {
		t.Error("written again, the file does not say what its B-factors are")
	}
}

// The confidence that a file lists is kept when the structure is written again, also where it is not that of the
// B-factors.
func TestListedConfidenceIsKept(t *testing.T) {
	s := load(t, "2jof")
	plddt := s.byResidue(meanB)
	for i := range plddt[0] {
		plddt[0][i] = 50 + float64(i)
	}
	first := write(t, WriteCIF, s, Meta{PLDDT: plddt})
	read, err := ReadCIF(bytes.NewReader(first), Limits{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range read.Chains[0].Residues {
		for k := range read.Chains[0].Residues[i].Atoms {
			read.Chains[0].Residues[i].Atoms[k].B = 7
		}
	}
	again, err := ReadCIF(bytes.NewReader(write(t, WriteCIF, read, Meta{})), Limits{})
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range again.Confidence(false).PLDDT[0] {
		near(t, "pLDDT", v, plddt[0][i], 1e-9)
	}
}
