package client

import (
	"encoding/json"
	"math"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pleat"
	"pleat/api"
	"pleat/internal/structure"
)

// trpCageStructure returns copies of Trp-cage, 30 Å apart, as chains of the given names, with a pLDDT of 80.
func trpCageStructure(t *testing.T, names ...string) *structure.Structure {
	t.Helper()
	out := &structure.Structure{}
	for i, name := range names {
		in, err := os.Open("../../structure/testdata/2jof.pdb")
		if err != nil {
			t.Fatal(err)
		}
		s, err := structure.ReadPDB(in, structure.Limits{})
		_ = in.Close()
		if err != nil {
			t.Fatal(err)
		}
		c := s.Chains[0]
		c.ID = name
		editAtoms(&c, func(a *structure.Atom) { a.Pos[0] += 30 * float64(i); a.B = 80 })
		out.Chains = append(out.Chains, c)
	}
	return out
}

// editAtoms calls do with each atom of a chain.
func editAtoms(c *structure.Chain, do func(a *structure.Atom)) {
	for i := range c.Residues {
		for j := range c.Residues[i].Atoms {
			do(&c.Residues[i].Atoms[j])
		}
	}
}

// move turns a chain by 90° about z and shifts it: the same structure elsewhere.
func move(c *structure.Chain) {
	editAtoms(c, func(a *structure.Atom) { a.Pos = structure.Vec{-a.Pos[1] + 5, a.Pos[0] - 7, a.Pos[2] + 1} })
}

// compareAs compares two structures as files of the same name with other bytes.
func compareAs(a, b *structure.Structure, tolerance float64) comparison {
	v := comparison{Tolerance: tolerance}
	v.compare(map[string]predicted{"model.cif": {a, "1"}}, map[string]predicted{"model.cif": {b, "2"}})
	return v
}

func TestVerdicts(t *testing.T) {
	a := trpCageStructure(t, "A")
	same := comparison{}
	same.compare(map[string]predicted{"model.cif": {a, "1"}}, map[string]predicted{"model.cif": {a, "1"}})
	if same.Verdict != verdictIdentical || !same.Files[0].Identical || *same.Files[0].RMSD != 0 {
		t.Errorf("%+v", same)
	}
	b := trpCageStructure(t, "A")
	move(&b.Chains[0])
	editAtoms(&b.Chains[0], func(a *structure.Atom) { a.B = 77 })
	b.Chains[0].Residues[4].Atoms[0].B = 77 // all of a residue's atoms count alike
	v := compareAs(a, b, 0.1)
	if f := v.Files[0]; v.Verdict != verdictReproduced || f.Identical || *f.RMSD > 1e-6 ||
		math.Abs(*f.PLDDT+3) > 1e-9 || math.Abs(*f.MaxPLDDT-3) > 1e-9 {
		t.Errorf("%s %+v", v.Verdict, f)
	}
	// Every second residue 1 Å up, every other 1 Å down: about 1 Å, whatever the superposition.
	for i := range b.Chains[0].Residues {
		up := 1.0
		if i%2 == 1 {
			up = -1
		}
		for j := range b.Chains[0].Residues[i].Atoms {
			b.Chains[0].Residues[i].Atoms[j].Pos[2] += up
		}
	}
	if v = compareAs(a, b, 0.1); v.Verdict != verdictDifferent || *v.Files[0].RMSD < 0.8 || *v.Files[0].RMSD > 1.05 {
		t.Errorf("%s %v", v.Verdict, *v.Files[0].RMSD)
	}
	if v = compareAs(a, b, 2); v.Verdict != verdictReproduced {
		t.Error(v.Verdict)
	}
}

// Chains that are the same but in another arrangement are another complex.
func TestVerdictOnComplexes(t *testing.T) {
	a, b := trpCageStructure(t, "A", "B"), trpCageStructure(t, "A", "B")
	if v := compareAs(a, b, 0.1); v.Verdict != verdictReproduced || len(v.Files) != 3 || v.Files[2].Chain != "" ||
		*v.Files[2].RMSD > 1e-6 || v.Files[2].Residues != 40 {
		t.Errorf("%+v", v)
	}
	move(&b.Chains[1])
	if v := compareAs(a, b, 0.1); v.Verdict != verdictDifferent || *v.Files[1].RMSD > 1e-6 || *v.Files[2].RMSD < 5 {
		t.Errorf("%+v", v)
	}
}

// A file that cannot be compared is different, and says why.
func TestVerdictOnOthers(t *testing.T) {
	a := trpCageStructure(t, "A")
	short := trpCageStructure(t, "A")
	short.Chains[0].Residues = short.Chains[0].Residues[:10]
	bare := trpCageStructure(t, "A")
	bare.Chains[0].Residues[3].Atoms = nil
	for what, b := range map[string]*structure.Structure{"another chain": trpCageStructure(t, "B"),
		"fewer residues": short, "one more chain": trpCageStructure(t, "A", "B"), "no atoms": bare} {
		v := compareAs(a, b, 1000)
		last := v.Files[len(v.Files)-1]
		if v.Verdict != verdictDifferent || last.Why == "" {
			t.Errorf("%s: %+v", what, v)
		}
	}
	v := comparison{}
	v.compare(map[string]predicted{"model.cif": {a, "1"}}, map[string]predicted{"A-model.cif": {a, "1"}})
	if v.Verdict != verdictDifferent || len(v.Files) != 2 {
		t.Errorf("%+v", v)
	}
	editAtoms(&a.Chains[0], func(a *structure.Atom) { a.B = 0 })
	if c := structure.Compare(a, a)[0]; c.MeanPLDDT != nil || c.MaxPLDDT != nil {
		t.Errorf("structures without pLDDT differ by %v and %v", c.MeanPLDDT, c.MaxPLDDT)
	}
}

// A run is repeated with its request and its effective parameters, in a private job without webhooks.
func TestRequestOfARun(t *testing.T) {
	read := func(text string, kinds ...pleat.ArtifactKind) *completedRun {
		e := &completedRun{}
		if err := json.Unmarshal([]byte(text), &e.config); err != nil {
			t.Fatal(err)
		}
		for _, k := range kinds {
			e.Artifacts = append(e.Artifacts, api.Artifact{Kind: string(k)})
		}
		return e
	}
	seed, steps := "7", int64(200)
	want := func(msa *string) *api.CreateJob {
		return &api.CreateJob{
			Name:      "Verification of x",
			Sequences: []api.SequenceItem{{ProteinChain: &api.Polymer{Sequence: "GGG", ChainID: "Q"}}},
			Params:    &api.Params{ModelName: "m", Seed: &seed, SamplingSteps: &steps, MSAAlgorithm: msa},
			Constraints: &api.Constraints{
				Contact:  []api.Contact{{ChainA: "Q", ResIdxA: 1, ChainB: "Q", ResIdxB: 3}},
				Webhooks: json.RawMessage(`{"custom_http": {"enabled": false}}`),
			},
		}
	}
	const text = `{"seed": "7", "effective_params": {"seed": "7", "samplingSteps": 200, "msaAlgorithm": "mmseqs2"},
		"request": {"name": "x", "sequences": [{"proteinChain": {"sequence": "GGG", "chain_id": "Q"}}],
			"params": {"modelName": "m", "seed": "7"},
			"constraints": {"contact": [{"chainA": "Q", "res_idxA": 1, "chainB": "Q", "res_idxB": 3}]}}}`
	none := pleat.MSANone
	for what, c := range map[string]struct {
		e   *completedRun
		msa *string
	}{"searched": {read(text, pleat.ArtifactMSA), nil}, "without": {read(text), &none}} {
		r, err := c.e.request()
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want(c.msa), r); d != "" {
			t.Errorf("%s: %s", what, d)
		}
	}
	if _, err := read(`{}`).request(); err == nil {
		t.Error("a configuration without a request was accepted")
	}
}

func TestChangesBetweenConfigurations(t *testing.T) {
	a := runConfig{Engine: "m 1", Seed: "7", Input: "1", Files: map[string]string{"input/msa-0.a3m": "aa"}}
	b := a
	if got := a.changes(&b); len(got) != 0 {
		t.Errorf("%v", got)
	}
	b.Input = "2"
	if got := a.changes(&b); len(got) != 1 || got[0].Is != "2" {
		t.Errorf("%v", got)
	}
	b.Seed = "8"
	if got := a.changes(&b); len(got) != 0 {
		t.Errorf("a model that accepts no seed: %v", got)
	}
	b.Engine, b.Files = "m 2", map[string]string{"input/msa-1.a3m": "bb"}
	want := []change{{"engine", "m 1", "m 2"}, {"input/msa-0.a3m", "aa", ""}, {"input/msa-1.a3m", "", "bb"}}
	if d := cmp.Diff(want, a.changes(&b)); d != "" {
		t.Error(d)
	}
}
