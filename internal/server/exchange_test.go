package server_test

import (
	"context"
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pleat"
	"pleat/api"
)

// seeded is big with a seed, for files that bring one.
var seeded = func() pleat.Model {
	m := bigModel
	m.Name, m.Params = "seeded", []pleat.ParamSpec{{Name: "seed", Type: pleat.ParamString}}
	return m
}()

const (
	fastaComplex = ">A|protein heavy\nEVQLVESGGG\n>L|smiles\nN[C@@H](Cc1ccc(O)cc1)C(=O)O\n>Z|ccd\nSAH\n"
	serverBatch  = `[{"name": "one", "modelSeeds": ["5"], "sequences": [{"proteinChain": {"sequence": "PREACHINGS",` +
		` "count": 2, "modifications": [{"ptmType": "CCD_HY3", "ptmPosition": 1}]}}, {"ion": {"ion": "MG",` +
		` "count": 2}}]},
		{"name": "two", "modelSeeds": [], "sequences": [{"dnaSequence": {"sequence": "GATTACA", "count": 1}}],` +
		` "dialect": "alphafoldserver", "version": 1}]`
	af3Covalent = `{"name": "three", "modelSeeds": [9], "dialect": "alphafold3", "version": 4,` +
		` "sequences": [{"protein": {"id": ["A", "X"], "sequence": "PVLSCGEWQL", "description": "target"}},` +
		` {"ligand": {"id": "L", "ccdCodes": ["ATP"]}}],
		"bondedAtomPairs": [[["A", 5, "SG"], ["L", 1, "C04"]]]}`
	boltzAffinity = "version: 1\nsequences:\n- protein: {id: NO, sequence: MVTPEGNVSL, cyclic: true}\n- ligand: {id: " +
		"B, ccd: SAH}\nconstraints:\n- contact: {token1: [NO, 1], token2: [B, 1], max_distance: 6.5}\nproperties:\n- " +
		"affinity: {binder: B}\n"
)

func importBody(t *testing.T, in api.ImportJobs) string {
	t.Helper()
	b, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// An imported job can be posted unchanged, and the created job can be exported and imported as the same again.
// Importing itself creates nothing and costs nothing.
func TestImportedJobsCanBePosted(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	h.register(testModel, bigModel, seeded)
	ctx, c := context.Background(), h.client(h.key)
	for _, f := range []struct {
		format, text string
		jobs         int
	}{{"fasta", fastaComplex, 1}, {"alphafold-server", serverBatch, 2}, {"alphafold3", af3Covalent, 1},
		{"boltz", boltzAffinity, 1}} {
		before, _ := c.Usage(ctx)
		r := h.as(h.key, "POST", "/v1/jobs/import", importBody(t, api.ImportJobs{Content: f.text, Name: "given"}))
		var raw struct {
			Format string
			Jobs   []json.RawMessage
			Notes  []string
		}
		if err := json.Unmarshal([]byte(r.body), &raw); r.status != 200 || err != nil {
			t.Fatalf("%s: %d %s", f.format, r.status, r.body)
		}
		if raw.Format != f.format || len(raw.Jobs) != f.jobs {
			t.Fatalf("%s: read as %s, %d jobs", f.format, raw.Format, len(raw.Jobs))
		}
		if after, _ := c.Usage(ctx); after.Used != before.Used {
			t.Errorf("%s: importing cost %d calls", f.format, after.Used-before.Used)
		}
		if !slices.ContainsFunc(raw.Notes, func(n string) bool {
			return strings.HasPrefix(n, "jobs[0].params.modelName: the file names no model")
		}) {
			t.Errorf("%s: no note on the model: %q", f.format, raw.Notes)
		}
		for _, body := range raw.Jobs {
			created := h.create(string(body)) // as it is
			out, err := c.Export(ctx, created.JobID, f.format)
			if err != nil {
				t.Fatalf("%s: %v", f.format, err)
			}
			again, err := c.Import(ctx, api.ImportJobs{Content: out.Content, ModelName: "m", Name: "given"})
			if err != nil {
				t.Fatalf("%s: %v\n%s", f.format, err, out.Content)
			}
			var first api.CreateJob
			if err := json.Unmarshal(body, &first); err != nil {
				t.Fatal(err)
			}
			second := again.Jobs[0]
			if first.Params.Seed == nil { // the run was given one
				second.Params.Seed = nil
			}
			first.Params.ModelName = "m"
			for _, j := range []*api.CreateJob{&first, &second} { // a file of AlphaFold or Boltz names every chain
				for _, s := range j.Sequences {
					if s.ProteinChain != nil && f.format == "fasta" {
						s.ProteinChain.ChainID = ""
					}
				}
			}
			if diff := cmp.Diff(first, second); diff != "" {
				t.Errorf("%s: %s\n%s", f.format, diff, out.Content)
			}
		}
	}
}

// A job's own model is kept; without one, the first that accepts the job is chosen. Where none does, a note says why.
func TestImportChoosesAModel(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	c := h.client(h.key)
	for _, f := range []struct{ text, model, want, note string }{
		{">x\nDAYAQWLKDG\n", "", "big", `"big" was chosen`},
		{">x\nDAYAQWLKDG\n", "anything", "anything", ""},
		{`[{"name": "x", "modelSeeds": [3], "sequences": [{"proteinChain": {"sequence": "DAYAQWLKDG"}}]}]`, "", "mini",
			`"mini" was chosen`},
		{`[{"name": "x", "modelSeeds": [3], "sequences": [{"ion": {"ion": "MG"}}]}]`, "", "big",
			`no model here accepts the job; "big" refuses it: params.seed is not a parameter`},
	} {
		got, err := c.Import(context.Background(), api.ImportJobs{Content: f.text, ModelName: f.model})
		if err != nil {
			t.Fatal(err)
		}
		if got.Jobs[0].Params.ModelName != f.want || !strings.Contains(strings.Join(got.Notes, "\n"), f.note) ||
			f.note == "" && len(got.Notes) > 0 {
			t.Errorf("%q: %s, %q; want %s, %q", f.text, got.Jobs[0].Params.ModelName, got.Notes, f.want, f.note)
		}
	}
}

func TestImportRefusals(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	for _, c := range []struct {
		body   string
		status int
		want   string
	}{
		{`{}`, 400, "content is required"},
		{`{"content": ">x\nM", "fromat": "fasta"}`, 400, `did you mean "format"?`},
		{`{"content": ">x\nM", "format": "pdb"}`, 400,
			`format is "pdb"; it may be fasta, alphafold-server, alphafold3, boltz`},
		{`{"content": ">x\nM?"}`, 400, "line 2, column 2"},
		{`{"content": "a: &a [*a]", "format": "boltz"}`, 400, "anchor &a"},
		{`{"content": ">x\nM", "name": "a\u0000b"}`, 400, "control character"},
		{`{"content": ">x\n` + strings.Repeat("M", 1<<20) + `"}`, 413, "at most 1048576"},
		{importBody(t, api.ImportJobs{Content: strings.Repeat("[", 1000)}), 400, "nested more than 32 levels"},
	} {
		r := h.as(h.key, "POST", "/v1/jobs/import", c.body)
		if m := r.message(t); r.status != c.status || !strings.Contains(m, c.want) {
			t.Errorf("%.60s: %d %s; want %d %s", c.body, r.status, m, c.status, c.want)
		}
	}
	if r := h.ask("POST", "/v1/jobs/import", `{"content": ">x\nM"}`); r.status != 401 {
		t.Errorf("without a key: %d", r.status)
	}
}

func TestExport(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	id := h.create(
		strings.Replace(trp, `"params"`,
			`"isPublic":true,"constraints":{"webhooks":{"qna":{"enabled":false}}},"params"`, 1)).JobID
	path := "/v1/jobs/" + id + "/export?format="
	r := h.as(h.key, "GET", path+"boltz", nil)
	if r.status != 200 || r.header.Get("Content-Type") != "application/yaml" ||
		r.header.Get("Content-Disposition") != "attachment; filename=Trp-cage.yaml" ||
		r.header.Get("X-Pleat-Notes") != "5" {
		t.Errorf("%d %v", r.status, r.header)
	}
	want := "version: 1\nsequences:\n  - protein:\n      id: \"A\"\n      sequence: \"DAYAQWLKDGGPSSGRPPPS\"\n"
	if r.body != want {
		t.Errorf("got %q; want %q", r.body, want)
	}
	for format, media := range map[string]string{"fasta": "text/plain; charset=utf-8", "alphafold3": "application/json",
		"alphafold-server": "application/json"} {
		if r := h.ask("GET", path+format, nil); r.status != 200 || r.header.Get("Content-Type") != media ||
			!strings.Contains(r.body, "DAYAQWLKDGGPSSGRPPPS") {
			t.Errorf("%s: %d %v %s", format, r.status, r.header, r.body)
		}
	}
	for query, want := range map[string]string{
		"": "format is required", "pdb": `format is "pdb"`, "boltz&as=xml": `as is "xml"`,
	} {
		if r := h.as(h.key, "GET", path+query, nil); r.status != 400 || !strings.Contains(r.message(t), want) {
			t.Errorf("%s: %d %s", query, r.status, r.body)
		}
	}
	mine, err := h.client(h.key).Export(context.Background(), id, "alphafold3")
	if err != nil || !strings.Contains(strings.Join(mine.Notes, "\n"), "webhooks") {
		t.Errorf("%v %q", err, mine.Notes)
	}
	theirs, err := h.client("").Export(context.Background(), id, "alphafold3")
	if err != nil || strings.Contains(strings.Join(theirs.Notes, "\n"), "webhooks") {
		t.Errorf("the anonymous hear of webhooks: %v %q", err, theirs.Notes)
	}
	// A molecule that the format has no word for is refused, since the file would be of another job.
	ligand := h.create(
		`{"name":"x","sequences":[{"ligandSequence":{"sequence":"CCO"}}],"params":{"modelName":"big"}}`).JobID
	if r := h.as(h.key, "GET", "/v1/jobs/"+ligand+"/export?format="+url.QueryEscape("alphafold-server"),
		nil); r.status != 400 || !strings.Contains(r.message(t), "sequences[0].ligandSequence is a SMILES") {
		t.Errorf("%d %s", r.status, r.body)
	}
}
