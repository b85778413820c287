package builtin

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"pleat"
	"pleat/internal/calvados"
	"pleat/internal/engine"
	"pleat/internal/engine/enginetest"
	"pleat/internal/flow"
)

// TestNew checks that every built-in engine has one model, with the name and the kind that the table gives.
func TestNew(t *testing.T) {
	t.Parallel()
	var got []pleat.BuiltInEngine
	for _, want := range pleat.BuiltInEngines {
		e := New(want.Name, Options{})
		if e == nil {
			t.Fatalf("there is no engine %q", want.Name)
		}
		for _, m := range e.Models() {
			got = append(got, pleat.BuiltInEngine{Name: m.Name, Kind: m.Kind, Default: want.Default})
		}
	}
	if diff := cmp.Diff(pleat.BuiltInEngines, got); diff != "" {
		t.Error(diff)
	}
}

func TestAnalystAnswers(t *testing.T) {
	t.Parallel()
	dir := enginetest.TrpCage(t)
	w := enginetest.Question(dir, "How many residues does the protein have?", Analyst{})
	out := enginetest.Registry(t, Analyst{}).Run(context.Background(), w, &enginetest.Sink{})
	r := enginetest.Row(t, out)
	if answer := r["answer"].(string); !strings.Contains(answer, "20") {
		t.Error(answer)
	}
	want := map[string]any{
		"question":      w.QnA.Question,
		"targetSource":  "pdb",
		"targetRef":     "pdb/2JOF",
		"fileName":      "2jof.pdb",
		"image":         "pleat analyst 3",
		"job_yaml_path": "task-1/job.yaml",
	}
	for k, v := range want {
		if r[k] != v {
			t.Errorf("%s is %v, not %v", k, r[k], v)
		}
	}
	if len(r) != 7 {
		t.Errorf("the row has %d fields: %v", len(r), r)
	}
	b, err := os.ReadFile(filepath.Join(filepath.Dir(dir), r["job_yaml_path"].(string)))
	if err != nil {
		t.Fatal(err)
	}
	var meta map[string]any
	if err := yaml.Unmarshal(b, &meta); err != nil || meta["engine"] != "analyst 3" ||
		meta["structure"].(map[string]any)["file"] != "2jof.pdb" {
		t.Errorf("%s %v", b, err)
	}
	var names []string
	for _, f := range out.Files {
		names = append(names, f.Name)
		if info, err := os.Stat(f.Path); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v", f.Name, err)
		}
	}
	if got := fmt.Sprint(names); got != "[answer.json facts.json job.yaml citations.bib]" {
		t.Error(got)
	}
}

func TestQuestionsThatFail(t *testing.T) {
	t.Parallel()
	dir := enginetest.TrpCage(t)
	if err := os.WriteFile(filepath.Join(dir, "input", "bad.pdb"), []byte("no structure at all\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]pleat.FailureKind{
		"input/bad.pdb":          pleat.FailInvalidInput,
		"input/none.pdb":         pleat.FailStorage,
		"../../../../etc/passwd": pleat.FailStorage,
	} {
		w := enginetest.Question(dir, "q", Analyst{})
		w.QnA.File = file
		out := enginetest.Registry(t, Analyst{}).Run(context.Background(), w, &enginetest.Sink{})
		if out.Failure == nil || out.Failure.Kind != want || strings.Contains(out.Failure.Message, dir) {
			t.Errorf("%s: %v", file, out.Failure)
		}
	}
}

// A question with an invalid PAE is answered without it.
func TestQuestionWithBadPAE(t *testing.T) {
	t.Parallel()
	dir := enginetest.TrpCage(t)
	if err := os.WriteFile(filepath.Join(dir, "input", "pae.json"), []byte(`{"predicted_aligned_error":[[1,2],[3]]}`),
		0o600); err != nil {
		t.Fatal(err)
	}
	w := enginetest.Question(dir, "How many chains are there?", Analyst{})
	w.QnA.PAE = "input/pae.json"
	out := enginetest.Registry(t, Analyst{}).Run(context.Background(), w, &enginetest.Sink{})
	enginetest.Row(t, out)
	if len(out.Result.Notes) != 1 || !strings.Contains(out.Result.Notes[0], "row 2 of the PAE has 1 values") {
		t.Error(out.Result.Notes)
	}
}

// histatin returns the simulation of a disordered chain of 24 residues.
func histatin(t *testing.T, dir string, lengthNs float64) pleat.Work {
	t.Helper()
	p, err := flow.Parse("md", fmt.Appendf(nil,
		`{"sequence":"DSHAKRHHGYKRKFHEKHHSHRGY","step_size_ns":0.0005,"sim_length_ns":%v,"seed":11}`, lengthNs))
	if err != nil {
		t.Fatal(err)
	}
	return pleat.Work{Kind: pleat.TaskMD, Task: "task", Attempt: 1, Model: Calvados{}.Models()[0], Dir: dir, MD: p.MD}
}

func TestDynamics(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	w := histatin(t, dir, 0.01) // 1,000 steps, 20 frames
	sink := &enginetest.Sink{}
	out := enginetest.Registry(t, Calvados{Workers: 1}).Run(context.Background(), w, sink)
	r := enginetest.Row(t, out)
	if sink.Stages["simulate"] != 1000 {
		t.Error(sink.Stages)
	}
	metrics := r["metrics"].(map[string]any)
	if metrics["frames"] != 20.0 || metrics["steps"] != 1000.0 || metrics["residues"] != 24.0 ||
		metrics["restraints"] != 0.0 {
		t.Error(metrics)
	}
	if rg := metrics["radius_of_gyration"].(map[string]any)["mean"].(float64); rg < 0.8 || rg > 2.5 {
		t.Errorf("a chain of 24 residues with a radius of gyration of %v nm", rg)
	}
	if temp := metrics["mean_temperature"].(float64); temp < 100 ||
		temp > 400 { // ten picoseconds of a friction time of a hundred
		t.Errorf("%v K", temp)
	}
	files := map[string]int64{}
	for _, f := range out.Files {
		info, err := os.Stat(f.Path)
		if err != nil || info.Size() == 0 {
			t.Fatalf("%s: %v", f.Name, err)
		}
		files[f.Name] = info.Size()
	}
	for _, a := range r["artifacts"].([]any) {
		one := a.(map[string]any)
		if size, ok := files[one["path"].(string)]; !ok || float64(size) != one["sizeBytes"] {
			t.Errorf("%v is not the file of %d bytes", one, size)
		}
	}
	if len(r["artifacts"].([]any)) != len(files) {
		t.Errorf("%d rows for %d files", len(r["artifacts"].([]any)), len(files))
	}
	for _, name := range append([]string{
		"rmsd.svg", "rmsd.png", "rmsf.svg", "radius_of_gyration.png", "free_energy.svg", "free_energy.png",
		"free_energy_pca.png", "citations.bib",
	}, flow.DynamicsFiles...) {
		if files[name] == 0 {
			t.Errorf("there is no %s", name)
		}
	}
	outputs, err := flow.Catalogue("inference_md", nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range outputs {
		if err := missing(r, files, f); err != "" {
			t.Errorf("%s (%s): %s", f.Name, f.Type, err)
		}
	}
}

// missing returns why a row lacks an output of the catalogue; empty: it has it.
func missing(row map[string]any, files map[string]int64, f flow.Field) string {
	if name, ok := strings.CutPrefix(f.Name, "artifacts["); ok {
		if files[strings.TrimSuffix(name, "]")] == 0 {
			return "no such file"
		}
		return ""
	}
	var v any = row
	for _, part := range strings.Split(f.Name, ".") {
		m, ok := v.(map[string]any)
		if !ok {
			return "not there"
		}
		if v, ok = m[part]; !ok {
			return "not there"
		}
	}
	switch v := v.(type) {
	case float64:
		if f.Type == "key/float" || f.Type == "key/integer" {
			return ""
		}
	case string:
		if f.Type == "key/file" && files[v] > 0 || f.Type == "key/string" {
			return ""
		}
	case nil:
		if f.Type == "key/float" || f.Name == "metricsJson" {
			return "" // an error that is not known; a link that is made per read
		}
	}
	return fmt.Sprintf("is %v", v)
}

// A run that a shutdown interrupts resumes from its last checkpoint elsewhere, with the same bytes at the end.
func TestDynamicsResume(t *testing.T) {
	t.Parallel()
	whole := t.TempDir()
	reg := enginetest.Registry(t, Calvados{Workers: 1, CheckpointInterval: -1})
	const length = 0.5 // 50,000 steps
	enginetest.Row(t, reg.Run(context.Background(), histatin(t, whole, length), &enginetest.Sink{}))

	first := t.TempDir()
	kept := filepath.Join(t.TempDir(), "kept.tar")
	var step int64
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	out := reg.Run(ctx, histatin(t, first, length), &enginetest.Sink{OnCheckpoint: func(path string, at int64) error {
		b, err := os.ReadFile(path)
		if err == nil {
			err = os.WriteFile(kept, b, 0o600)
		}
		step = at
		if at >= 10_000 {
			cancel(engine.ErrShutdown)
		}
		return err
	}})
	if out.Failure == nil || out.Failure.Kind != pleat.FailCrashed || step < 10_000 || step >= 50_000 {
		t.Fatalf("%v at step %d", out.Failure, step)
	}

	second := t.TempDir()
	w := histatin(t, second, length)
	w.Attempt, w.Resume, w.Step = 2, kept, step
	r := enginetest.Row(t, reg.Run(context.Background(), w, &enginetest.Sink{}))
	if got := r["metrics"].(map[string]any)["resumed_from_step"]; got != float64(step) {
		t.Errorf("resumed from %v, not %d", got, step)
	}
	for _, name := range []string{calvados.TrajectoryFile, calvados.EnergyFile} {
		a, errA := os.ReadFile(filepath.Join(whole, name))
		b, errB := os.ReadFile(filepath.Join(second, name))
		if errA != nil || errB != nil || !bytes.Equal(a, b) {
			t.Errorf("%s differs after a resume (%d and %d bytes; %v, %v)", name, len(a), len(b), errA, errB)
		}
	}

	third := t.TempDir()
	w = histatin(t, third, 0.01)
	w.MD.Temp, w.Resume = 300, kept // of another simulation
	sink := &enginetest.Sink{}
	enginetest.Row(t, reg.Run(context.Background(), w, sink))
	if !strings.Contains(fmt.Sprint(sink.Lines), "starting from the beginning") {
		t.Error(sink.Lines)
	}
}

// Restraints keep a predicted fold. The test uses the Trp-cage with the confidence of a good prediction.
func TestDynamicsOfAFold(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cif, pae := enginetest.PredictedTrpCage(t)
	enginetest.WriteFile(t, filepath.Join(dir, "input", "model.cif"), cif)
	enginetest.WriteFile(t, filepath.Join(dir, "input", "pae.json"), pae)
	small := []byte(`[{"predicted_aligned_error":[[0,1],[1,0]]}]`)
	enginetest.WriteFile(t, filepath.Join(dir, "input", "small.json"), small)
	w := histatin(t, dir, 0.02)
	w.MD.Preset, w.MD.Sequence, w.MD.File, w.MD.PAE = flow.PresetGo, "", "input/model.cif", "input/pae.json"
	reg := enginetest.Registry(t, Calvados{Workers: 1})
	metrics := enginetest.Row(t, reg.Run(context.Background(), w, &enginetest.Sink{}))["metrics"].(map[string]any)
	if metrics["residues"] != float64(len(enginetest.TrpCageSequence)) || metrics["restraints"].(float64) < 20 {
		t.Errorf("%v", metrics)
	}
	if rmsd := metrics["rmsd"].(map[string]any)["max"].(float64); rmsd > 0.5 {
		t.Errorf("the held fold moved %v nm", rmsd)
	}
	for name, c := range map[string]struct {
		change func(in *pleat.MDInput)
		want   string
	}{
		"no PAE":    {func(in *pleat.MDInput) { in.PAE = "" }, "needs the predicted aligned errors"},
		"all atoms": {func(in *pleat.MDInput) { in.Preset = flow.PresetAllAtom }, "needs the OpenMM engine"},
		"other PAE": {
			func(in *pleat.MDInput) { in.PAE = "input/small.json" },
			"the PAE has 2 rows; the structure has 20 protein residues",
		},
		"small box": {func(in *pleat.MDInput) {
			in.Preset, in.Sequence, in.BoxNm = flow.PresetIDR, strings.Repeat("G", 900), 12
		}, "smaller than the chain"},
	} {
		in := *w.MD
		c.change(&in)
		bad := w
		bad.MD, bad.Dir = &in, dir
		if out := reg.Run(context.Background(), bad, &enginetest.Sink{}); out.Failure == nil || out.Failure.Retry ||
			!strings.Contains(out.Failure.Message, c.want) {
			t.Errorf("%s: %v", name, out.Failure)
		}
	}
}

// TestFlowKnowsTheEngine checks that the engine can build every sequence that flow accepts.
func TestFlowKnowsTheEngine(t *testing.T) {
	t.Parallel()
	for _, n := range []int{2, 10, 100, 700, 1500} {
		for box := 8.0; box <= 60; box++ {
			input := fmt.Sprintf(`{"sequence":%q,"box_length":%v}`, strings.Repeat("GS", n)[:n], box)
			p, err := flow.Parse("md", json.RawMessage(input))
			if err != nil {
				continue
			}
			m, err := calvados.FromSequence(p.MD.Sequence)
			if err != nil {
				t.Fatal(err)
			}
			params := calvados.Defaults()
			params.Box = p.MD.BoxNm
			if _, err := calvados.NewSystem(params, m); err != nil {
				t.Errorf("%d residues in a box of %v nm: %v", n, box, err)
			}
			break
		}
	}
}

// A prediction of Mini is the input of Analyst and Calvados.
func TestFoldAskMove(t *testing.T) {
	t.Parallel()
	reg := enginetest.Registry(t, Mini{Workers: 1}, Analyst{}, Calvados{Workers: 1})
	dir := t.TempDir()
	fold := pleat.Work{
		Kind:    pleat.TaskFold,
		Task:    "f",
		Attempt: 1,
		Model:   Mini{}.Models()[0],
		Dir:     dir,
		Fold: &pleat.FoldInput{Name: "a start of chignolin", Seed: "1",
			Params: pleat.Params{Model: "mini", Values: map[string]any{}}, Sequences: []pleat.Sequence{
				{ID: "s", Kind: pleat.Protein, Text: "GYDPE", Chains: []string{"A"}, Count: 1},
			}},
	}
	out := reg.Run(context.Background(), fold, &enginetest.Sink{})
	if out.Failure != nil {
		t.Fatal(out.Failure)
	}
	ask := enginetest.Question(dir, "How confident is the prediction overall?", Analyst{})
	ask.QnA.File, ask.QnA.PAE, ask.QnA.Predicted, ask.QnA.Model = "model.cif", "pae.json", true, "mini"
	ask.QnA.Scores = &out.Result.Predictions[0]
	r := enginetest.Row(t, reg.Run(context.Background(), ask, &enginetest.Sink{}))
	says := fmt.Sprintf("Mean pLDDT %.1f of 100: ", *ask.QnA.Scores.MeanPLDDT)
	if answer := r["answer"].(string); !strings.Contains(answer, says) {
		t.Errorf("want %q; the answer is %s", says, answer)
	}
	move := histatin(t, dir, 0.005)
	move.MD.Preset, move.MD.Sequence, move.MD.File, move.MD.PAE = flow.PresetGo, "", "model.cif", "pae.json"
	out = reg.Run(context.Background(), move, &enginetest.Sink{})
	metrics := enginetest.Row(t, out)["metrics"].(map[string]any)
	if metrics["residues"] != 5.0 {
		t.Error(metrics)
	}
	if noted := strings.Contains(fmt.Sprint(out.Result.Notes),
		"nothing holds the fold"); noted != (metrics["restraints"] == 0.0) {
		t.Errorf("%v restraints, and the notes say %v", metrics["restraints"], out.Result.Notes)
	}
}
