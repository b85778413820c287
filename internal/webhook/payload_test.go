package webhook

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"pleat"
	"pleat/api"
)

var update = flag.Bool("update", false, "write the golden files anew")

const peptide = "MKTAYIAKQRQISFVKSHFSRQLEERLGLIEVQ"

func ptr(f float64) *float64 { return &f }

// foldDelivery is a completed fold of two chains with everything set that a body can carry, and much that it may not.
func foldDelivery() Delivery {
	at := time.Date(2026, 3, 1, 12, 30, 45, 123456000, time.UTC)
	job := pleat.Job{
		ID:      "018f0000-0000-7000-8000-00000000000a",
		Name:    "lysozyme & friends",
		Complex: false,
		Sequences: []pleat.Sequence{
			{ID: "018f0000-0000-7000-8000-0000000000c1", Kind: pleat.Protein, Text: peptide, Chains: []string{"A"},
				Count: 1},
			{ID: "018f0000-0000-7000-8000-0000000000c2", Kind: pleat.Ligand, Text: "CC(=O)OC1=CC=CC=C1C(=O)O",
				Chains: []string{"B"}, Count: 1},
		},
		Constraints: pleat.Constraints{
			Contact: []pleat.Contact{{ChainA: "A", ResidueA: 3, ChainB: "B", ResidueB: 1, Distance: 4}},
			Webhooks: json.RawMessage(
				`{"custom_http":{"enabled":true,"target_url":"https://h.example/?k=q9","token_value":"tok-3141","note":"kept"},
				"md":{"enabled":true,"pH":7,"preset":"single_af_go","sequence":"` + peptide + `","apiKey":"k-2718"},
				"qna":{"enabled":true,"initial_question":"What folds like ` + strings.ToLower(peptide[:20]+`\n`+peptide[20:]) + `?"}}`),
		},
	}
	run := pleat.Run{
		ID:        "018f0000-0000-7000-8000-00000000000b",
		Job:       job.ID,
		State:     pleat.StateCompleted,
		Model:     "mini-fold",
		WeightSet: "mini-1",
		Seed:      "7",
		Params: pleat.Params{
			Model: "mini-fold", Values: map[string]any{
				"recyclingSteps": int64(3), "stepScale": 1.5, "affinityMwCorrection": false,
			},
		},
		Result: &pleat.Result{Predictions: []pleat.Prediction{
			{Sequence: job.Sequences[0].ID, MeanPLDDT: ptr(81.25), PTM: ptr(0.5)},
			{Sequence: job.Sequences[1].ID, MeanPLDDT: ptr(math.NaN())},
		}},
	}
	artifact := func(kind pleat.ArtifactKind, seq pleat.SequenceID) pleat.Artifact {
		return pleat.Artifact{ID: pleat.ArtifactID("a-" + string(kind) + "-" + string(seq)), Kind: kind, Sequence: seq}
	}
	one := job.Sequences[0].ID
	return Delivery{
		Event: pleat.Event{
			ID: "018f0000-0000-7000-8000-00000000000e", Source: pleat.Source{Job: job.ID}, Run: run.ID,
			Name: pleat.OnComplete, Status: pleat.StateCompleted, At: at,
		},
		Fold: &FoldSource{Job: job, Run: run, Artifacts: []pleat.Artifact{
			artifact(pleat.ArtifactCIF, one), artifact(pleat.ArtifactPAEPlot, one), artifact(pleat.ArtifactCIF, one),
			artifact(pleat.ArtifactMetrics, ""), artifact(pleat.ArtifactOther, one),
		}, URL: func(a pleat.Artifact) string {
			return "https://fold.example/v1/artifacts/" + string(a.ID) + "?sig=x&exp=1"
		}},
		Base: "https://fold.example",
	}
}

func workflowDelivery() Delivery {
	return Delivery{
		Event: pleat.Event{
			ID:      "018f0000-0000-7000-8000-00000000001e",
			Source:  pleat.Source{Workflow: "018f0000-0000-7000-8000-00000000001a"},
			Name:    pleat.OnFailed,
			Status:  pleat.StateStopped,
			At:      time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC),
			Payload: json.RawMessage(`{"fromOutside":true,"secret":"s-1618"}`),
		},
		Workflow: &WorkflowSource{
			ID:     "018f0000-0000-7000-8000-00000000001a",
			Type:   "md",
			Status: pleat.StateStopped,
			Input: json.RawMessage(`{"preset":"single_idr_fasta","sequence":"` + peptide +
				`","sim_length_ns":0.2,"sourceJobId":"x","webhooks":{"custom_http":{"enabled":true,"token_value":"tok-3141"}}}`),
			Tasks: []api.NotifiedTask{
				{ID: "018f0000-0000-7000-8000-00000000001b", Type: "inference_md", Status: "COMPLETED"},
				{ID: "018f0000-0000-7000-8000-00000000001c", Type: "inference_qna", Status: "STOPPED"},
			},
			Metrics: json.RawMessage(`{"rmsd":{"mean":1.25},"radius_of_gyration":[1,2]}`),
			Plots:   []api.NotifiedPlot{{Name: "rmsd", URL: "https://fold.example/plots/rmsd"}},
		},
		Base: "https://fold.example",
	}
}

func TestBuildGolden(t *testing.T) {
	fold := foldDelivery()
	failed := foldDelivery()
	failed.Event.Name, failed.Event.Status = pleat.OnFailed, pleat.StateFailed
	failed.Fold.Run.State, failed.Fold.Run.Result = pleat.StateFailed, nil
	failed.Fold.Run.Failure = pleat.Failed(pleat.FailOOM, "33 residues of "+peptide+" need 9 GB; 8 GB are free")
	complexFold := foldDelivery()
	complexFold.Fold.Job.Complex = true
	complexFold.Fold.Run.Result = &pleat.Result{
		Predictions: []pleat.Prediction{{MeanPLDDT: ptr(70), PTM: ptr(0.25), IPTM: ptr(0.125)}},
	}
	lost := Delivery{Event: fold.Event, Problem: "the job was deleted"}
	test := Delivery{Event: pleat.Event{
		ID:     "018f0000-0000-7000-8000-00000000002e",
		Name:   pleat.OnComplete,
		Status: pleat.StateCompleted,
		At:     fold.Event.At,
	}}
	events := foldDelivery()
	events.Format = FormatCloudEvents
	tests := []struct {
		file string
		d    Delivery
		kind string
	}{
		{"fold.json", fold, "application/json"},
		{"fold-failed.json", failed, "application/json"},
		{"fold-complex.json", complexFold, "application/json"},
		{"workflow.json", workflowDelivery(), "application/json"},
		{"no-source.json", lost, "application/json"},
		{"ping.json", test, "application/json"},
		{"cloudevents.json", events, "application/cloudevents+json; charset=utf-8"},
	}
	for _, tt := range tests {
		t.Run(tt.file, func(t *testing.T) {
			raw, kind, err := Build(tt.d)
			if err != nil || kind != tt.kind {
				t.Fatalf("%v, content type %q", err, kind)
			}
			noSecrets(t, raw)
			var got bytes.Buffer
			if err := json.Indent(&got, raw, "", "  "); err != nil {
				t.Fatal(err)
			}
			got.WriteByte('\n')
			path := "testdata/body/" + tt.file
			if *update {
				if err := os.WriteFile(path, got.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(string(want), got.String()); d != "" {
				t.Errorf("%s differs (-want +got):\n%s", path, d)
			}
		})
	}
}

// noSecrets looks for what must not be sent of foldDelivery and workflowDelivery.
func noSecrets(t interface{ Errorf(string, ...any) }, raw []byte) {
	s := strings.ToUpper(string(raw))
	for _, secret := range []string{peptide, peptide[20:], "CC(=O)OC1", "TOK-3141", "K-2718", "S-1618", "H.EXAMPLE",
		"Q9"} {
		if strings.Contains(s, strings.ToUpper(secret)) {
			t.Errorf("%q is in the body", secret)
		}
	}
}

// Any input, however large, gives a body under the bound that says what was cut.
func TestBuildFits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := foldDelivery()
		if rapid.Bool().Draw(t, "cloudevents") {
			d.Format = FormatCloudEvents
		}
		n := rapid.IntRange(0, 300).Draw(t, "predictions")
		d.Fold.Run.Result.Predictions = nil
		for i := range n {
			id := pleat.SequenceID(fmt.Sprintf("018f0000-0000-7000-8000-%012d", i))
			d.Fold.Run.Result.Predictions = append(d.Fold.Run.Result.Predictions,
				pleat.Prediction{Sequence: id, MeanPLDDT: ptr(float64(i))})
			if rapid.IntRange(0, 3).Draw(t, "links") > 0 {
				d.Fold.Artifacts = append(d.Fold.Artifacts, pleat.Artifact{Kind: pleat.ArtifactCIF, Sequence: id})
			}
		}
		for range rapid.IntRange(0, 900).Draw(t, "contacts") {
			d.Fold.Job.Constraints.Contact = append(d.Fold.Job.Constraints.Contact, pleat.Contact{
				ChainA:   "A",
				ResidueA: 1,
				ChainB:   "B",
				ResidueB: 1,
			})
		}
		d.Fold.Job.Name = strings.Repeat(rapid.SampledFrom([]string{"a", "é", "\x01", "\"", "🧬", "<"}).Draw(t,
			"letter"), 255)
		payload, _ := json.Marshal(map[string]any{
			"x":    strings.Repeat("y", rapid.IntRange(0, 50_000).Draw(t, "payload")),
			"list": make([]int, rapid.IntRange(0, 4_000).Draw(t, "list")),
		})
		d.Event.Payload = payload
		raw, _, err := Build(d)
		if err != nil {
			t.Fatal(err)
		}
		if len(raw) >= MaxBody {
			t.Fatalf("%d bytes", len(raw))
		}
		noSecrets(t, raw)
		var b struct {
			Truncated []string
			Source    struct{ Results []api.NotifiedResult }
		}
		if d.Format == FormatCloudEvents {
			var envelope struct{ Data json.RawMessage }
			if err := json.Unmarshal(raw, &envelope); err != nil {
				t.Fatal(err)
			}
			raw = envelope.Data
		}
		if err := json.Unmarshal(raw, &b); err != nil {
			t.Fatal(err)
		}
		if len(b.Source.Results) < n && len(b.Truncated) == 0 {
			t.Fatalf("%d of %d results without a word", len(b.Source.Results), n)
		}
	})
}

func TestBuildWorkflowFits(t *testing.T) {
	d := workflowDelivery()
	for i := range 500 {
		d.Workflow.Plots = append(d.Workflow.Plots, api.NotifiedPlot{
			Name: fmt.Sprint(i), URL: "https://fold.example/" + strings.Repeat("p", 100),
		})
		d.Workflow.Tasks = append(d.Workflow.Tasks, api.NotifiedTask{
			ID: fmt.Sprint(i), Type: "inference_md", Status: "COMPLETED",
		})
	}
	raw, _, err := Build(d)
	if err != nil || len(raw) >= MaxBody {
		t.Fatalf("%d bytes, %v", len(raw), err)
	}
	var b struct {
		Truncated []string
		Source    api.NotifiedWorkflow
	}
	if err := json.Unmarshal(raw, &b); err != nil {
		t.Fatal(err)
	}
	if b.Source.Workflow.TasksTotal != 502 || b.Source.Workflow.TasksCompleted != 501 || len(b.Source.Plots) == 0 {
		t.Errorf("%+v, %d plots", b.Source.Workflow, len(b.Source.Plots))
	}
	if d := cmp.Diff([]string{"event.payload", "source.input", "source.tasks", "source.metrics", "source.plots"},
		b.Truncated); d != "" {
		t.Error(d)
	}
}

func TestSnake(t *testing.T) {
	for in, want := range map[string]string{
		"modelName": "model_name", "pH": "ph", "res_idxA": "res_idx_a", "chainA": "chain_a",
		"affinityMwCorrection": "affinity_mw_correction",
		"meanPLDDT":            "mean_plddt", "sourceJobId": "source_job_id", "already_snake": "already_snake",
		"HTTPServer":   "http_server",
		"step-size ns": "step_size_ns", "": "", "X": "x", "sim2D": "sim2_d",
	} {
		if got := snake(in); got != want {
			t.Errorf("snake(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestHidden(t *testing.T) {
	c := newCleaner([]pleat.Sequence{{Text: peptide}})
	deep := strings.Repeat(`{"a":`, 200) + "1" + strings.Repeat("}", 200)
	got := c.object([]byte(`{
		"sequence":"X","proteinSequence":"X","sequences":[{"text":"X"}],"fasta":"X","source_sequence_id":"kept","sequenceType":"kept","sequenceCount":2,
		"token":"X","accessToken":"X","tokens":["X"],"max_tokens":5,"hasToken":true,"client_secret":"X","authorization":{"a":"X"},"api_key":"X","monkey":"kept",
		"target_url":"X","deep":{"er":[{"password":"X","kept":1}]},"` + peptide + `":1,
		"a_b":"snake wins","aB":"X","text":"see ` + peptide + ` there"}`))
	want := map[string]any{
		"source_sequence_id": "kept", "sequence_type": "kept", "sequence_count": json.Number("2"),
		"max_tokens": json.Number("5"), "has_token": true,
		"monkey": "kept", "deep": map[string]any{"er": []any{map[string]any{"kept": json.Number("1")}}},
		"a_b": "snake wins", "text": removed,
	}
	for k := range got { // the sequence as a key
		if v, ok := got[k].(json.Number); ok && v == "1" {
			delete(got, k)
			if strings.Contains(strings.ToUpper(k), peptide) {
				t.Errorf("a sequence stays as the key %q", k)
			}
		}
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if raw, err := json.Marshal(c.object([]byte(`{"x":` + deep + `}`))); err != nil || len(raw) > 400 {
		t.Errorf("depth: %d bytes, %v", len(raw), err)
	}
	for _, odd := range []string{"", "null", "[]", "3", `"x"`, "{", `{"a":1e999}`} {
		if _, err := json.Marshal(c.object([]byte(odd))); err != nil {
			t.Errorf("%s: %v", odd, err)
		}
	}
}

func FuzzBuild(f *testing.F) {
	f.Add([]byte(`{"webhooks":{"custom_http":{"token_value":"tok-3141"}}}`), "name")
	f.Add([]byte(`{"a":{"b":[1,2,{"sequence":"x"}]}}`), peptide)
	f.Fuzz(func(t *testing.T, input []byte, name string) {
		d := workflowDelivery()
		d.Workflow.Input, d.Workflow.Metrics, d.Event.Payload = input, input, input
		if raw, _, err := Build(d); err != nil || len(raw) >= MaxBody || !json.Valid(raw) {
			t.Fatalf("%d bytes, %v", len(raw), err)
		}
		d = foldDelivery()
		d.Fold.Job.Name, d.Fold.Job.Constraints.Webhooks = name[:min(len(name), 1000)], input
		if raw, _, err := Build(d); err != nil || len(raw) >= MaxBody ||
			bytes.Contains(bytes.ToUpper(raw), []byte(peptide)) {
			t.Fatalf("%d bytes, %v: %s", len(raw), err, raw)
		}
	})
}
