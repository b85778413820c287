package remote

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pleat"
	"pleat/internal/engine"
	"pleat/internal/engine/enginetest"
	"pleat/internal/report"
	"pleat/internal/structure"
)

const trpCageText = enginetest.TrpCageSequence

// nimServer implements the documented interface. Its answers are made of the coordinates of the Trp-cage.
type nimServer struct {
	*httptest.Server
	handle   func(w http.ResponseWriter, r *http.Request, in nimRequest)
	status   func(w http.ResponseWriter, r *http.Request)
	ready    atomic.Int64 // status of /v1/health/ready
	requests chan nimRequest
}

func newNIMServer(t *testing.T, prefix string) *nimServer {
	t.Helper()
	s := &nimServer{requests: make(chan nimRequest, 10)}
	s.ready.Store(200)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/health/ready",
		func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(int(s.ready.Load())) })
	mux.HandleFunc("GET /status/{id}", func(w http.ResponseWriter, r *http.Request) { s.status(w, r) })
	mux.HandleFunc("POST "+prefix+"/biology/mit/boltz2/predict", func(w http.ResponseWriter, r *http.Request) {
		var in nimRequest
		dec := json.NewDecoder(r.Body)
		dec.DisallowUnknownFields()
		if err := dec.Decode(&in); err != nil {
			w.WriteHeader(422)
			fmt.Fprintf(w, `{"detail":%q}`, err)
			return
		}
		s.requests <- in
		s.handle(w, r, in)
	})
	s.Server = httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s
}

// nimChain returns the Trp-cage under another name. Its B-factors are a pLDDT that falls along the chain.
func nimChain(t *testing.T, name string, shift float64) structure.Chain {
	t.Helper()
	in, err := os.Open("../../structure/testdata/2jof.pdb")
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	s, err := structure.ReadPDB(in, structure.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	c := s.Chains[0]
	c.ID, c.Label = name, name
	for i := range c.Residues {
		for j := range c.Residues[i].Atoms {
			c.Residues[i].Atoms[j].B = 90 - float64(i)
			c.Residues[i].Atoms[j].Pos[0] += shift
		}
	}
	return c
}

func nimLigandChain(name string) structure.Chain {
	return structure.Chain{
		ID:     name,
		Label:  name,
		Kind:   structure.Ligand,
		Entity: 9,
		Residues: []structure.Residue{{Comp: "LIG1", Auth: 1, Het: true, Atoms: []structure.Atom{
			{
				Name:      "C1",
				Element:   "C",
				Pos:       structure.Vec{1, 2, 3},
				B:         60,
				Occupancy: 1,
			}, {Name: "C2", Element: "C", Pos: structure.Vec{2.5, 2, 3}, B: 50, Occupancy: 1},
			{Name: "O1", Element: "O", Pos: structure.Vec{3, 3.2, 3}, B: 40, Occupancy: 1}}}},
	}
}

func nimCIF(t *testing.T, chains ...structure.Chain) string {
	t.Helper()
	var b bytes.Buffer
	if err := structure.WriteCIF(&b, &structure.Structure{Title: "model_0", Chains: chains},
		structure.Meta{ID: "model_0"}); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// nimPAE returns a matrix in which every entry encodes its row and column.
func nimPAE(n int) [][]float64 {
	m := make([][]float64, n)
	for i := range m {
		m[i] = make([]float64, n)
		for j := range m[i] {
			m[i][j] = float64(i) + float64(j)/100
		}
	}
	return m
}

func nimWork(t *testing.T, n NIM, fold pleat.FoldInput) pleat.Work {
	t.Helper()
	return pleat.Work{
		Kind:    pleat.TaskFold,
		Task:    "task",
		Attempt: 1,
		Model:   n.Models()[0],
		Fold:    &fold,
		Dir:     t.TempDir(),
	}
}

func foldOne() pleat.FoldInput {
	return pleat.FoldInput{Name: "Trp-cage", Sequences: []pleat.Sequence{
		{ID: "s1", Kind: pleat.Protein, Text: trpCageText, Chains: []string{"A"}, Count: 1},
	},
		Params: pleat.Params{Model: "boltz-2", Values: map[string]any{}}}
}

func runNIM(
	t *testing.T, ctx context.Context, n NIM, fold pleat.FoldInput,
) (pleat.Output, *enginetest.Sink, pleat.Work) {
	t.Helper()
	sink := &enginetest.Sink{}
	w := nimWork(t, n, fold)
	return enginetest.Registry(t, n).Run(ctx, w, sink), sink, w
}

func answerWith(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v)
}

func TestNIMFolds(t *testing.T) {
	t.Parallel()
	s := newNIMServer(t, "")
	s.handle = func(w http.ResponseWriter, _ *http.Request, _ nimRequest) {
		answerWith(w, map[string]any{
			"structures": []any{
				map[string]any{"format": "mmcif", "structure": nimCIF(t, nimChain(t, "A", 0))},
			},
			"confidence_scores":    []float64{0.83},
			"ptm_scores":           []float64{0.71},
			"iptm_scores":          []float64{0},
			"complex_plddt_scores": []float64{0.805},
			"pae":                  [][][]float64{nimPAE(20)},
		})
	}
	n := NIM{URL: s.URL}
	out, _, w := runNIM(t, context.Background(), n, foldOne())
	if out.Failure != nil {
		t.Fatal(out.Failure)
	}
	p := out.Result.Predictions[0]
	if *p.MeanPLDDT != 80.5 || *p.PTM != 0.71 || p.IPTM != nil || *p.MaxPAE != 19.19 || p.Affinity != nil {
		t.Errorf("prediction %+v", p)
	}
	var metrics struct {
		Predictions []struct {
			PLDDT map[string][]float64 `json:"plddt"`
			Extra map[string]float64   `json:"engine_metrics"`
		}
	}
	readJSON(t, filepath.Join(w.Dir, "metrics.json"), &metrics)
	if got := metrics.Predictions[0].PLDDT["A"]; len(got) != 20 || got[0] != 90 || got[19] != 71 {
		t.Errorf("pLDDT is %v", got)
	}
	if metrics.Predictions[0].Extra["confidence_score"] != 0.83 {
		t.Errorf("metrics %+v", metrics)
	}
	for _, name := range []string{
		"model.cif", "model.pdb", "pae.json", "pae.svg", "plddt.svg", "config.json", "results.zip",
	} {
		if info, err := os.Stat(filepath.Join(w.Dir, name)); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
	in := <-s.requests
	want := nimRequest{Polymers: []nimPolymer{
		{ID: "A", Type: "protein", Sequence: trpCageText},
	}, RecyclingSteps: 3.0, SamplingSteps: 50.0, DiffusionSamples: 1.0,
		StepScale: 1.638, OutputFormat: "mmcif", WriteFullPAE: true}
	if diff := cmp.Diff(want, in); diff != "" {
		t.Error(diff)
	}
}

func readJSON(t *testing.T, path string, target any) {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(raw, target)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// complexFold is a complex with all features.
var complexFold = pleat.FoldInput{
	Name:    "complex",
	Complex: true,
	Sequences: []pleat.Sequence{
		{
			ID:            "s1",
			Kind:          pleat.Protein,
			Text:          trpCageText,
			Chains:        []string{"H1", "L1"},
			Count:         2,
			Cyclic:        true,
			Modifications: []pleat.Modification{{Residue: 3, CCD: "PTR"}},
		},
		{
			ID:           "s2",
			Kind:         pleat.Ligand,
			Text:         "CCO",
			Chains:       []string{"X9"},
			Count:        1,
			PropertyType: "affinity",
		},
	},
	Params: pleat.Params{
		Model:  "boltz-2",
		Values: map[string]any{"diffusionSample": 2.0, "samplingSteps": 10.0, "affinityMwCorrection": true},
	},
	Constraints: pleat.Constraints{
		Pocket: []pleat.Pocket{{
			Binder:   pleat.ChainRef{Chain: "X9"},
			Contacts: []pleat.ResidueRef{{Chain: "L1", Residue: 6}},
		}},
		Bond: []pleat.Bond{{
			Atom1: pleat.AtomRef{Chain: "H1", Residue: 2, Atom: "CB"},
			Atom2: pleat.AtomRef{Chain: "X9", Residue: 1, Atom: "C1"},
		}},
	},
}

// complexRequest is the request for complexFold.
var complexRequest = nimRequest{
	Polymers: []nimPolymer{{
		ID:            "A",
		Type:          "protein",
		Sequence:      trpCageText,
		Cyclic:        true,
		Modifications: []nimModification{{"PTR", 3}},
	},
		{
			ID:            "B",
			Type:          "protein",
			Sequence:      trpCageText,
			Cyclic:        true,
			Modifications: []nimModification{{"PTR", 3}},
		}},
	Ligands: []nimLigand{{ID: "C", SMILES: "CCO", Affinity: true}},
	Constraints: []nimConstraint{{Type: "pocket", Binder: "C", Contacts: []nimAtom{{ID: "B", Residue: 6}}},
		{Type: "bond", Atoms: []nimAtom{{"A", 2, "CB"}, {"C", 1, "C1"}}}},
	RecyclingSteps:     3.0,
	SamplingSteps:      10.0,
	DiffusionSamples:   2.0,
	StepScale:          1.638,
	AffinitySteps:      200.0,
	AffinitySamples:    5.0,
	AffinityCorrection: true,
	OutputFormat:       "mmcif",
	WriteFullPAE:       true,
}

// complexAnswer returns the answer for complexFold: the chains have another order, and the second sample is the best.
func complexAnswer(t *testing.T) map[string]any {
	worse := nimCIF(t, nimChain(t, "A", 5), nimChain(t, "B", 40), nimLigandChain("C"))
	better := nimCIF(t, nimLigandChain("C"), nimChain(t, "B", 40), nimChain(t, "A", 0))
	return map[string]any{
		"structures": []any{
			map[string]any{"format": "mmcif", "structure": worse},
			map[string]any{"format": "mmcif", "structure": better},
		},
		"confidence_scores":    []any{0.4, 0.6},
		"ptm_scores":           []any{0.1, 0.5},
		"iptm_scores":          []any{0.2, 0.3},
		"complex_plddt_scores": []any{nil, nil},
		"pae":                  [][][]float64{nil, nimPAE(43)},
		"affinities": map[string]any{
			"C": map[string]any{
				"affinity_pred_value":         []float64{-0.5},
				"affinity_probability_binary": []float64{0.25},
				"affinity_pic50":              []float64{6.5},
			},
		},
	}
}

// A complex with all features: the answer has another chain order, the best sample is the second, and the PAE has a row
// per token.
func TestNIMComplex(t *testing.T) {
	t.Parallel()
	s := newNIMServer(t, "")
	s.handle = func(w http.ResponseWriter, _ *http.Request, _ nimRequest) {
		answerWith(w, complexAnswer(t))
	}
	n := NIM{URL: s.URL}
	out, _, w := runNIM(t, context.Background(), n, complexFold)
	if out.Failure != nil {
		t.Fatal(out.Failure)
	}
	p := out.Result.Predictions[0]
	if *p.PTM != 0.5 || *p.IPTM != 0.3 || p.Affinity == nil ||
		*p.Affinity != (pleat.Affinity{Value: -0.5, Probability: 0.25}) {
		t.Errorf("prediction %+v", p)
	}
	// 40 residues of 90 … 71 and three atoms of 60, 50 and 40.
	if want := (2*(90+71)*10 + 150) / 43.0; math.Abs(*p.MeanPLDDT-want) > 0.01 {
		t.Errorf("mean pLDDT %v; want %v", *p.MeanPLDDT, want)
	}
	if diff := cmp.Diff([]string{"H1", "L1", "X9"}, p.Chains); diff != "" {
		t.Error(diff)
	}
	cif, err := os.Open(filepath.Join(w.Dir, "model.cif"))
	if err != nil {
		t.Fatal(err)
	}
	defer cif.Close()
	got, err := structure.ReadCIF(cif, structure.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if got.Chains[0].ID != "H1" || got.Chains[1].ID != "L1" || got.Chains[2].ID != "X9" ||
		got.Chains[2].Residues[0].Atoms[1].B != 50 {
		t.Errorf("chains %s %s %s", got.Chains[0].ID, got.Chains[1].ID, got.Chains[2].ID)
	}
	pae, err := report.ReadPAE(t.Context(), filepath.Join(w.Dir, "pae.json"))
	if err != nil {
		t.Fatal(err)
	}
	// The answer's order is ligand (3 tokens), B (20), A (20); ours A, B, ligand. The first residue of A was token 23.
	if pae.N != 43 || math.Abs(pae.At(0, 20)-23.03) > 0.001 || math.Abs(pae.At(40, 1)-0.24) > 0.001 {
		t.Errorf("PAE %d: %v %v", pae.N, pae.At(0, 20), pae.At(40, 1))
	}
	if _, err := os.Stat(filepath.Join(w.Dir, "sample-1.cif")); err != nil {
		t.Error(err)
	}
	in := <-s.requests
	if diff := cmp.Diff(complexRequest, in); diff != "" {
		t.Error(diff)
	}
}

// The hosted endpoint postpones the call; the client polls with its id until it ends.
func TestNIMPostponed(t *testing.T) {
	t.Parallel()
	const key = "nvapi-hush"
	s := newNIMServer(t, "/v1")
	s.ready.Store(404)
	asked := atomic.Int64{}
	s.handle = func(w http.ResponseWriter, r *http.Request, _ nimRequest) {
		if r.Header.Get("Authorization") != "Bearer "+key || r.Header.Get("NVCF-POLL-SECONDS") == "" {
			w.WriteHeader(401)
			return
		}
		w.Header().Set("nvcf-reqid", "b2f0c3e4-0000-4000-8000-1234567890ab")
		w.WriteHeader(202)
	}
	s.status = func(w http.ResponseWriter, r *http.Request) {
		if r.PathValue("id") != "b2f0c3e4-0000-4000-8000-1234567890ab" ||
			r.Header.Get("Authorization") != "Bearer "+key {
			w.WriteHeader(404)
			return
		}
		if asked.Add(1) < 3 {
			w.WriteHeader(202)
			return
		}
		answerWith(w, map[string]any{
			"structures": []any{map[string]any{"format": "mmcif", "structure": nimCIF(t, nimChain(t, "A", 0))}},
		})
	}
	n := NIM{URL: s.URL + "/v1", Key: key, Status: s.URL + "/status/{id}", pollInterval: time.Millisecond}
	out, sink, w := runNIM(t, context.Background(), n, foldOne())
	if out.Failure != nil || asked.Load() != 3 {
		t.Fatal(out.Failure, asked.Load())
	}
	if sink.Stages["infer"] != 0 {
		t.Errorf("progress was made up: %v", sink.Stages)
	}
	files, _ := filepath.Glob(filepath.Join(w.Dir, "*"))
	for _, f := range files {
		if raw, _ := os.ReadFile(f); bytes.Contains(raw, []byte(key)) {
			t.Errorf("%s holds the key", f)
		}
	}
	for want, n := range map[string]NIM{
		"without an id":               {URL: s.URL + "/v1", Key: key, Status: s.URL + "/status/{id}"},
		"nim-status-url does not say": {URL: s.URL + "/v1", Key: key},
	} {
		if strings.HasPrefix(want, "without") {
			s.handle = func(w http.ResponseWriter, _ *http.Request, _ nimRequest) {
				w.Header().Set("nvcf-reqid", "../../x")
				w.WriteHeader(202)
			}
		} else {
			s.handle = func(w http.ResponseWriter, _ *http.Request, _ nimRequest) {
				w.Header().Set("nvcf-reqid", "abc")
				w.WriteHeader(202)
			}
		}
		if out, _, _ := runNIM(t, context.Background(), n, foldOne()); out.Failure == nil ||
			!strings.Contains(out.Failure.Message, want) {
			t.Errorf("%v; want %q", out.Failure, want)
		}
	}
}

func TestNIMStatusAddress(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"https://health.api.nvidia.com/v1": nimHosted,
		"https://nvidia.com.example.org":   "",
		"http://127.0.0.1:8000":            "",
		"https://evilnvidia.com":           "",
	} {
		if got := (&nimCall{NIM: NIM{URL: address}}).statusAddress(); got != want {
			t.Errorf("%s: %q; want %q", address, got, want)
		}
	}
}

func TestNIMRefused(t *testing.T) {
	t.Parallel()
	const key = "nvapi-hush"
	for _, c := range []struct {
		status int
		body   string
		kind   pleat.FailureKind
		retry  bool
		want   string
	}{
		{
			422, `{"detail":[{"loc":["body","ligands",0,"smiles"],"msg":"Invalid SMILES","type":"value_error"}]}`,
			pleat.FailInvalidInput, false, "refused the input: ligands.0.smiles: Invalid SMILES",
		},
		{422, `{"detail":"Unknown CCD code QQQ"}`, pleat.FailInvalidInput, false, "Unknown CCD code QQQ"},
		{400, `{"error":"bad\n\u0000thing"}`, pleat.FailInvalidInput, false, "bad thing"},
		{422, `oops ` + strings.Repeat("x", 100_000), pleat.FailInvalidInput, false, "it gave no reason"},
		{422, `{"detail":"key ` + key + ` is wrong"}`, pleat.FailInvalidInput, false, "key … is wrong"},
		{413, ``, pleat.FailTooLarge, false, "larger than"},
		{401, `{"detail":"secret internals"}`, pleat.FailLoad, false, "check its key"},
		{404, ``, pleat.FailLoad, false, "check its address"},
		{302, ``, pleat.FailLoad, false, "answered 302"},
		{429, ``, pleat.FailLoad, true, "answered 429"},
		{503, ``, pleat.FailLoad, true, "answered 503"},
		{500, `{"detail":"secret internals"}`, pleat.FailCrashed, true, "answered 500"},
		{504, ``, pleat.FailTimeout, true, "answered 504"},
		{200, `{}`, pleat.FailOutputInvalid, false, "it has no structure"},
		{200, `[1]`, pleat.FailOutputInvalid, false, "not a prediction"},
		{200, `{"structures":[{"format":"pdb","structure":"ATOM"}]}`, pleat.FailOutputInvalid, false, `format "pdb"`},
		{
			200, `{"structures":[{"format":"mmcif","structure":"data_x"}]}`, pleat.FailOutputInvalid, false,
			"structure 1 cannot be read",
		},
	} {
		s := newNIMServer(t, "")
		s.handle = func(w http.ResponseWriter, _ *http.Request, _ nimRequest) {
			w.Header().Set("Location", "http://127.0.0.1:1/elsewhere")
			w.WriteHeader(c.status)
			_, _ = io.WriteString(w, c.body)
		}
		out, _, _ := runNIM(t, context.Background(), NIM{URL: s.URL, Key: key}, foldOne())
		f := out.Failure
		if f == nil || f.Kind != c.kind || f.Retry != c.retry || !strings.Contains(f.Message, c.want) {
			t.Errorf("%d %.60s: %+v; want %s %v %q", c.status, c.body, f, c.kind, c.retry, c.want)
		}
		if f != nil && (strings.Contains(f.Message, key) || strings.Contains(f.Message, "internals") ||
			len(f.Message) > 700) {
			t.Errorf("%d: the message reveals too much: %s", c.status, f.Message)
		}
	}
}

// A cancel closes the connection at once; so does the timeout.
func TestNIMInterrupted(t *testing.T) {
	t.Parallel()
	s := newNIMServer(t, "")
	dropped := make(chan struct{}, 10)
	s.handle = func(_ http.ResponseWriter, r *http.Request, _ nimRequest) {
		<-r.Context().Done()
		dropped <- struct{}{}
	}
	ctx, cancel := context.WithCancel(context.Background())
	go func() { <-s.requests; cancel() }()
	began := time.Now()
	out, _, _ := runNIM(t, ctx, NIM{URL: s.URL}, foldOne())
	if out.Failure == nil || out.Failure.Kind != pleat.FailCancelled || time.Since(began) > 30*time.Second {
		t.Errorf("%v after %s", out.Failure, time.Since(began))
	}
	for timeout := time.Second; len(s.requests) == 0; timeout *= 4 { // it may end before the request is sent
		out, _, _ = runNIM(t, context.Background(), NIM{URL: s.URL, Timeout: timeout}, foldOne())
		if out.Failure == nil || out.Failure.Kind != pleat.FailTimeout || !out.Failure.Retry ||
			!strings.Contains(out.Failure.Message, "within "+timeout.String()) {
			t.Fatal(out.Failure)
		}
	}
	for range 2 {
		select {
		case <-dropped:
		case <-time.After(30 * time.Second):
			t.Fatal("the connection was kept")
		}
	}
}

func TestNIMNotReady(t *testing.T) {
	t.Parallel()
	s := newNIMServer(t, "")
	s.ready.Store(503)
	s.handle = func(http.ResponseWriter, *http.Request, nimRequest) { t.Error("it was called") }
	out, _, _ := runNIM(t, context.Background(), NIM{URL: s.URL}, foldOne())
	if out.Failure == nil || !out.Failure.Retry || !strings.Contains(out.Failure.Message, "is not ready") {
		t.Error(out.Failure)
	}
	s.Close()
	if out, _, _ = runNIM(t, context.Background(), NIM{URL: s.URL}, foldOne()); out.Failure == nil ||
		!out.Failure.Retry || !strings.Contains(out.Failure.Message, "cannot be reached") {
		t.Error(out.Failure)
	}
}

// An answer above the limit is aborted.
func TestNIMFlood(t *testing.T) {
	t.Parallel()
	s := newNIMServer(t, "")
	sent := atomic.Int64{}
	s.handle = func(w http.ResponseWriter, r *http.Request, _ nimRequest) {
		_, _ = io.WriteString(w, `{"structures":[{"structure":"`)
		for chunk := bytes.Repeat([]byte("x"), 1<<16); r.Context().Err() == nil; sent.Add(1 << 16) {
			if _, err := w.Write(chunk); err != nil {
				return
			}
		}
	}
	out, _, _ := runNIM(t, context.Background(), NIM{URL: s.URL, maxAnswer: 2 << 20}, foldOne())
	if out.Failure == nil || !strings.Contains(out.Failure.Message, "more than 2 MiB") {
		t.Error(out.Failure)
	}
	s.CloseClientConnections()
	if n := sent.Load(); n > 64<<20 {
		t.Errorf("%d bytes were taken", n)
	}
}

func TestNIMTwice(t *testing.T) {
	t.Parallel()
	if _, err := engine.New(slog.New(slog.DiscardHandler), NIM{URL: "http://a"}, NIM{URL: "http://b"}); err == nil {
		t.Error("two engines serve one model")
	}
	if _, err := engine.New(slog.New(slog.DiscardHandler), NIM{URL: "http://a"},
		NIM{URL: "http://b", Model: "boltz-2-far"}); err != nil {
		t.Error(err)
	}
}
