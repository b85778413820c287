package engines

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"pleat"
	"pleat/api"
	"pleat/internal/cli"
	"pleat/internal/design"
	"pleat/internal/flow"
	"pleat/internal/mini"
)

const (
	// checkPeptide is accepted by every model that folds proteins: the A chain of human insulin.
	checkPeptide = "GIVEQCCTSICSLYQLENYCN"
	// checkDomain is for models of variable domains of antibodies: the nanobody of PDB entry 9HZJ.
	checkDomain = "QVQLQESGGGLVQAGGSLRLSCAASGRTFSSYSMGWFRLVPGKEREFVARISSSGGNTYYADSVRGRFTISRDNAKNTVYLQMNSLKPEDTAVYYC" +
		"AADLLQFGRSSRAADYDYWGQGTQVTVSS"
	// checkHairpin is a peptide for the engines that look at a structure: chignolin.
	checkHairpin = "GYDPETGTWG"
	// checkQuestion is one that every engine for questions can answer.
	checkQuestion = "How many residues does this protein have?"
	// checkFile is the structure of checkHairpin in the folder of a task.
	checkFile = "input/chignolin.pdb"
	// checkUpload stands for any source of a structure: the file is there already.
	checkUpload = `"files":{"pdb":{"libraryItemId":"00000000-0000-7000-8000-000000000000"}}`
)

// hairpin is the structure of checkHairpin that mini 1.1.0 predicts:
//
//	pleat fold --sequence GYDPETGTWG --model mini --seed 1
//
//go:embed chignolin.pdb
var hairpin []byte

// kindCheck completes a task for a model of one kind, with its files in its folder, and returns a function that
// describes in a few words what the task gave.
type kindCheck func(w *pleat.Work) (outcome func(pleat.Output) string, err error)

// kindChecks are the kinds of models that can be checked.
var kindChecks = map[pleat.TaskKind]kindCheck{
	pleat.TaskFold:    checkFold,
	pleat.TaskQnA:     checkQnA,
	pleat.TaskMD:      checkMD,
	pleat.TaskDesign:  checkDesign,
	pleat.TaskCompare: checkComparison,
}

// checkFold folds checkPeptide, or checkDomain by a model of variable domains.
func checkFold(w *pleat.Work) (func(pleat.Output) string, error) {
	sequence := checkPeptide
	if w.Model.Limits.VariableDomains {
		sequence = checkDomain
	}
	var err error
	w.Fold, err = foldInput(w.Model, sequence, map[string]any{})
	return foldOutcome, err
}

// foldInput returns the fold of one protein chain by a model.
func foldInput(m pleat.Model, sequence string, values map[string]any) (*pleat.FoldInput, error) {
	j := pleat.Job{
		Name:      "check",
		Sequences: []pleat.Sequence{{Kind: pleat.Protein, Text: sequence}},
		Params:    pleat.Params{Model: m.Name, Values: values},
	}
	if err := j.Validate(m); err != nil {
		return nil, err
	}
	return &pleat.FoldInput{
		Name:      j.Name,
		Sequences: j.Sequences,
		Params:    j.Params,
		Seed:      "1",
		Complex:   j.Complex,
	}, nil
}

// foldOutcome is the score of a fold.
func foldOutcome(got pleat.Output) string {
	if v := meanPLDDT(got); v != nil {
		return fmt.Sprintf("mean pLDDT %.1f", *v)
	}
	if got.Result != nil && len(got.Result.Predictions) > 0 && got.Result.Predictions[0].PredictedRMSD != nil {
		return fmt.Sprintf("mean predicted RMSD %.2f Å", *got.Result.Predictions[0].PredictedRMSD)
	}
	return "no pLDDT"
}

// meanPLDDT returns the mean pLDDT of the first prediction; nil if it has none.
func meanPLDDT(got pleat.Output) *float64 {
	if got.Result == nil || len(got.Result.Predictions) == 0 {
		return nil
	}
	return got.Result.Predictions[0].MeanPLDDT
}

// checkQnA asks a question about the structure of checkHairpin.
func checkQnA(w *pleat.Work) (func(pleat.Output) string, error) {
	input := checkUpload + `,"targetSource":"upload","question":"` + checkQuestion + `"`
	p, err := flow.Parse("qna", json.RawMessage("{"+input+"}"))
	if err != nil {
		return nil, err
	}
	w.QnA = p.QnA
	w.QnA.File, w.QnA.Predicted, w.QnA.Model = checkFile, true, mini.Model
	return func(got pleat.Output) string {
		var row struct{ Answer string }
		if json.Unmarshal(got.Row, &row) != nil || row.Answer == "" {
			return "no answer"
		}
		return fmt.Sprintf("it answers %q", pleat.Clip(cli.PrintableLine(row.Answer)))
	}, writeHairpin(w)
}

// checkMD simulates 2 ps of all atoms of checkHairpin. The built-in engine, which has one bead for each residue,
// simulates 1 ns of checkPeptide.
func checkMD(w *pleat.Work) (func(pleat.Output) string, error) {
	input := checkUpload + `,"preset":"` + flow.PresetAllAtom + `","sim_length_ns":0.002,` +
		`"step_size_ns":0.001,"seed":"1"`
	if pleat.IsBuiltIn(w.Model.Name) {
		input = `"sequence":"` + checkPeptide + `","preset":"` + flow.PresetIDR + `","sim_length_ns":1,` +
			`"step_size_ns":0.1,"seed":"1"`
	}
	p, err := flow.Parse("md", json.RawMessage("{"+input+"}"))
	if err != nil {
		return nil, err
	}
	w.MD = p.MD
	if p.MD.Preset == flow.PresetAllAtom {
		w.MD.File, err = checkFile, writeHairpin(w)
	}
	return func(got pleat.Output) string {
		var row struct{ Metrics flow.Metrics }
		if json.Unmarshal(got.Row, &row) != nil || row.Metrics.Frames == 0 {
			return "no frames"
		}
		m := row.Metrics
		return fmt.Sprintf("%d frames, mean temperature %.0f K, mean RMSD %.2f %s",
			m.Frames, m.Temperature, m.RMSD.Mean, m.RMSD.Unit)
	}, err
}

// checkDesign designs binders of checkHairpin with 8 residues: two, of which the better one is returned. A model for
// sequences alone gets the structure of checkHairpin, which it gives other ones.
func checkDesign(w *pleat.Work) (func(pleat.Output) string, error) {
	text := "entities:\n- protein: {id: A, sequence: 8..8}\n- protein: {id: B, sequence: " + checkHairpin + "}\n"
	protocol, files := "peptide-anything", map[string][]byte{}
	if w.Model.Has(pleat.FeatureSequenceOnly) {
		text = "entities:\n- file: {path: chignolin.pdb, design: [{chain: {id: A}}]}\n"
		protocol = pleat.SequenceOnly
		files["chignolin.pdb"] = hairpin
	}
	spec, err := design.ReadSpec("check.yaml", []byte(text), files)
	if err != nil {
		return nil, err
	}
	in := &pleat.DesignInput{
		Name:   "check",
		Stem:   spec.Stem(),
		Params: pleat.DesignParams{Protocol: protocol, Designs: 2, Budget: 1},
		Seed:   1,
		Sent:   pleat.DesignSource{Spec: text},
	}
	for _, c := range spec.Chains() {
		in.Chains = append(in.Chains, pleat.DesignChain{Name: c.Name, Designed: c.Designed, SMILES: c.SMILES})
	}
	written, err := spec.EngineFiles(protocol, files)
	if err != nil {
		return nil, err
	}
	for _, f := range written {
		path := "input/" + f.Path
		if f.Kind == design.MainSpec {
			in.Spec = path
		}
		in.Files = append(in.Files, pleat.DesignFile{Kind: f.Kind, Path: path})
		if err := writeInput(w, path, f.Text); err != nil {
			return nil, err
		}
	}
	w.Design = in
	return func(got pleat.Output) string {
		var r flow.DesignResult
		if json.Unmarshal(got.Row, &r) != nil {
			return "no designs"
		}
		return fmt.Sprintf("%d of %d designs returned", r.Metrics.Returned, r.Metrics.Considered)
	}, nil
}

// checkComparison compares the structure of checkHairpin with itself.
func checkComparison(w *pleat.Work) (func(pleat.Output) string, error) {
	compared := pleat.ComparedStructure{Kind: "library", Name: "chignolin", File: checkFile, Predicted: true}
	w.Compare = &pleat.CompareInput{Structures: []pleat.ComparedStructure{compared, compared}}
	return func(got pleat.Output) string {
		var c api.Comparison
		if json.Unmarshal(got.Row, &c) != nil || len(c.Pairs) == 0 {
			return "no scores"
		}
		return "TM-score " + cli.FormatScore(c.Pairs[0].TMScoreA, "%.3f")
	}, writeHairpin(w)
}

// writeHairpin writes the structure of checkHairpin into the folder of a task.
func writeHairpin(w *pleat.Work) error { return writeInput(w, checkFile, hairpin) }

// writeInput writes a file of a task's input.
func writeInput(w *pleat.Work, name string, text []byte) error {
	path := filepath.Join(w.Dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return os.WriteFile(path, text, 0o600)
}
