package engines

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"pleat/api"
	"pleat/internal/flow"
	"pleat/internal/structure"
	"pleat/internal/testprogram"
)

// TestRealEnginesBoltzGen has BoltzGen, installed from PyPI, design binders of a fold over HTTP. Its weights are
// random: no design passes the filters.
func TestRealEnginesBoltzGen(t *testing.T) {
	l := startEngines(t, "boltzgen", "mini")
	l.run("the runner's own tests", func(t *testing.T) { runnerTests(t, "boltzgen") })
	fold := l.mustCreate(`{"proteinChain":{"sequence":"NLYIQWLKDGGPSSGRPPPS"}}`, `"modelName":"mini","seed":"1"`, "")
	l.completed(fold)
	var four designed
	l.run("four designs", func(t *testing.T) { four = l.fourDesigns(t, fold) })
	l.run("killed runner", func(t *testing.T) { l.killedDesign(t, fold, four) })
	l.run("one design", func(t *testing.T) { l.oneDesign(t, fold) })
	l.run("refused", func(t *testing.T) { l.refusedDesigns(t) })
	l.run("cancel", func(t *testing.T) { l.cancelledDesign(t, fold) })
}

// design starts the design of binders of 10 to 14 residues of a fold.
func (l *engineServer) design(fold string, designs, budget int) string {
	l.T.Helper()
	in := fmt.Sprintf(`{"target":{"sourceJobId":%q},"epitope":[{"chain_id":"A","res_idx":[3,4,5]}],
		"binder":{"length":"10..14"},"numDesigns":%d,"budget":%d,"seed":7}`, fold, designs, budget)
	w, err := l.api.CreateWorkflow(context.Background(), api.CreateWorkflow{WorkflowName: "design", Name: "binders",
		Input: json.RawMessage(in)})
	if err != nil {
		l.T.Fatal(err)
	}
	return w.ID
}

// designed is the result of a design.
type designed struct {
	flow.DesignResult
	structures [][]byte // of the final set
	table      []byte   // designs.jsonl
}

// designs waits until a design is completed, and returns its result.
func (l *engineServer) designs(id string) designed {
	l.T.Helper()
	w := l.endedAs(id, api.Completed)
	r, err := flow.ReadDesignResult(w.Tasks[0].Result)
	if err != nil {
		l.T.Fatal(err)
	}
	out := designed{DesignResult: *r, table: l.designFile(r, "designs.jsonl")}
	for _, d := range r.Designs {
		out.structures = append(out.structures,
			l.designFile(r, fmt.Sprintf("rank%d_%s.cif", d.Rank(), d.Text("id"))))
	}
	return out
}

// designFile returns an artifact of a design.
func (l *engineServer) designFile(r *flow.DesignResult, name string) []byte {
	l.T.Helper()
	i := slices.IndexFunc(r.Artifacts, func(f flow.RowFile) bool { return f.Path == name })
	if i < 0 || r.Artifacts[i].URL == nil {
		l.T.Fatalf("no artifact %s, or no link to it", name)
	}
	var b bytes.Buffer
	err := l.api.Download(context.Background(), api.Artifact{Name: name, URL: *r.Artifacts[i].URL,
		Bytes: r.Artifacts[i].SizeBytes}, &b)
	if err != nil {
		l.T.Fatal(err)
	}
	return b.Bytes()
}

// fourDesigns draws four designs and keeps two.
func (l *engineServer) fourDesigns(t *testing.T, fold string) designed {
	r := l.designs(l.design(fold, 4, 2))
	m := r.Metrics
	if m.Generated == nil || m.Duplicates == nil {
		t.Fatalf("%+v", m)
	}
	if m.Requested != 4 || *m.Generated != 4 || m.Returned != 2 || m.Considered+*m.Duplicates != 4 || *m.Passed != 0 {
		t.Errorf("%+v", m)
	}
	if p := r.Parameters; p.Alpha == nil || *p.Alpha != 0.001 || p.RefoldingRMSD == nil || *p.RefoldingRMSD != 2.5 ||
		p.FilterBiased == nil || !*p.FilterBiased || p.InverseFoldAvoid != "" {
		t.Errorf("its parameters are %+v", p)
	}
	if notes := strings.Join(r.Notes, "\n"); !strings.Contains(notes, "random") ||
		!strings.Contains(notes, "No design passes every filter") {
		t.Errorf("its notes are %q", notes)
	}
	for i, d := range r.Designs {
		passed, known := d["pass_filters"].(bool)
		failed, _ := d["failed_filters"].([]any)
		sequence := d.Text("designed_chain_sequence")
		if passed || !known || len(failed) == 0 || len(sequence) < 10 || len(sequence) > 14 ||
			d.Text("designed_sequence") != sequence {
			t.Errorf("%+v", d)
		}
		for _, name := range []string{"ptm", "iptm", "design_to_target_iptm", "min_design_to_target_pae", "plddt",
			"filter_rmsd", "designfolding_filter_rmsd", "delta_sasa_refolded", "bindsite_under_9rmsd"} {
			if d.Number(name) == nil {
				t.Errorf("%s has no %s", d.Text("id"), name)
			}
		}
		if d["ligand_iptm"] != nil {
			t.Errorf("%s has the ligand_iptm %v without a ligand", d.Text("id"), d["ligand_iptm"])
		}
		s, err := structure.ReadCIF(bytes.NewReader(r.structures[i]), structure.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		var chains []string
		for j := range s.Chains {
			chains = append(chains, structure.Letters(&s.Chains[j]))
		}
		if !slices.Equal(chains, []string{sequence, "NLYIQWLKDGGPSSGRPPPS"}) {
			t.Errorf("%s has the chains %q", d.Text("id"), chains)
		}
		if !bytes.Contains(r.structures[i], []byte("_ma_qa_metric_local")) {
			t.Errorf("%s has no pLDDT", d.Text("id"))
		}
	}
	for _, name := range []string{"all_designs_metrics.csv", "final_designs_metrics_2.csv", "results_overview.pdf"} {
		if file := l.designFile(&r.DesignResult, name); len(file) < 1000 || bytes.Contains(file, []byte(l.Dir)) {
			t.Errorf("%s has %d bytes, or a path of the server", name, len(file))
		}
	}
	return r
}

// refusedDesigns checks that ligands which the package does not know, or cannot read, fail in one sentence.
func (l *engineServer) refusedDesigns(t *testing.T) {
	for target, want := range map[string]string{
		`{"ccd":"Q9Q"}`:                "BoltzGen does not know the component Q9Q of the Chemical Component Dictionary",
		`{"smiles":"C[Ge](C)(C)(C)C"}`: "the SMILES of the ligand A is not a molecule that RDKit can read: C[Ge](C)(C)(C)C",
	} {
		w, err := l.api.CreateWorkflow(context.Background(), api.CreateWorkflow{WorkflowName: "design", Name: "refused",
			Input: json.RawMessage(`{"target":` + target + `,"binder":{"length":12},"numDesigns":1,"seed":7}`)})
		if err != nil {
			t.Fatal(err)
		}
		got := deref(l.endedAs(w.ID, api.Failed).Tasks[0].Error)
		if !strings.HasPrefix(got, want) {
			t.Errorf("%s: %s; want %s", target, got, want)
		}
	}
}

// killedDesign kills the runner after a checkpoint: the next attempt resumes from it, in another process, and gives
// what a run that was not killed gives.
func (l *engineServer) killedDesign(t *testing.T, fold string, want designed) {
	id := l.design(fold, 4, 2)
	db := l.Open()
	testprogram.WaitUntil(t, 5*time.Minute, "there is a checkpoint", func() bool {
		if w := l.workflow(id); api.Terminal(w.Status) {
			t.Fatalf("it ended first: %s", w.Status)
		}
		var step int64
		_ = db.QueryRow("SELECT coalesce(max(checkpoint_step), 0) FROM task WHERE state = 'running'").Scan(&step)
		return step > 0
	})
	before := l.runner()
	if err := syscall.Kill(before, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	r := l.designs(id)
	if l.runner() == before {
		t.Error("it completed in the process that was killed")
	}
	log, err := l.workflowLog(id)
	if err != nil || !strings.Contains(log, "continued after the step") {
		t.Errorf("it did not resume from its checkpoint: %v\n%s", err, log)
	}
	if !bytes.Equal(r.table, want.table) {
		t.Errorf("the same seed gives other designs:\n%s\n%s", r.table, want.table)
	}
	for i := range r.structures {
		if !slices.Equal(atoms(r.structures[i]), atoms(want.structures[i])) {
			t.Errorf("the same seed gives other atoms of design %d", i)
		}
	}
}

// workflowLog returns the log of a workflow.
func (l *engineServer) workflowLog(id string) (string, error) {
	status, raw := l.Request("GET", "/v1/workflows/logs/"+id, "")
	if status != 200 {
		return "", fmt.Errorf("%d %s", status, raw)
	}
	return string(raw), nil
}

// atoms returns the lines of the atoms of an mmCIF file.
func atoms(cif []byte) []string {
	var out []string
	for line := range strings.Lines(string(cif)) {
		if strings.HasPrefix(line, "ATOM") || strings.HasPrefix(line, "HETATM") {
			out = append(out, line)
		}
	}
	return out
}

// oneDesign draws a single design, which has no place among others.
func (l *engineServer) oneDesign(t *testing.T, fold string) {
	r := l.designs(l.design(fold, 1, 1))
	if len(r.Designs) != 1 || r.Designs[0].Rank() != 1 || r.Designs[0]["quality_score"] != nil {
		t.Errorf("%+v", r.Designs)
	}
}

// cancelledDesign cancels within a step: the process stays and runs the next design.
func (l *engineServer) cancelledDesign(t *testing.T, fold string) {
	before := l.cancelDrawing(t, l.design(fold, 50, 5))
	l.designs(l.design(fold, 1, 1))
	if l.runner() != before {
		t.Error("the cancel cost the process")
	}
}

// cancelDrawing cancels a workflow while it draws designs, and returns the process that did.
func (l *engineServer) cancelDrawing(t *testing.T, id string) int {
	testprogram.WaitUntil(t, 5*time.Minute, "a design is drawn", func() bool {
		w := l.workflow(id)
		if api.Terminal(w.Status) {
			t.Fatalf("it ended first: %s", w.Status)
		}
		return w.Stage == "design" && w.Done > 0
	})
	process := l.runner()
	if _, err := l.api.CancelWorkflow(context.Background(), id); err != nil {
		t.Fatal(err)
	}
	l.endedAs(id, api.Stopped)
	return process
}
