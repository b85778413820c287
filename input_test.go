package pleat

import "testing"

// Every input changes the hash; the job's name, its ids and its webhooks do not, nor does the order of modifications.
func TestInputHash(t *testing.T) {
	fresh := func() *Work {
		return &Work{Task: "t1", Attempt: 1, Model: Model{Name: "boltz-2", Engine: "boltz", Version: "2.2",
			WeightSet: "w", Device: "cuda",
			Params: []ParamSpec{{Name: "seed", Type: ParamString}, {Name: "samplingSteps", Type: ParamInt,
				Default: int64(200)}}},
			Files: map[string]string{"input/msa-0.a3m": "aa"},
			Fold: &FoldInput{Job: "j1", Run: "r1", Name: "one", Seed: "7", Params: Params{Values: map[string]any{}},
				Sequences: []Sequence{
					{ID: "s1", Kind: Protein, Text: "ACD", Chains: []string{"A"}, Count: 1,
						Modifications: []Modification{{1, "SEP"}, {2, "CSO"}}}}}}
	}
	hash := func(w *Work) string {
		h, err := w.InputHash("f")
		if err != nil || len(h) != 64 {
			t.Fatal(h, err)
		}
		return h
	}
	want := hash(fresh())
	for what, change := range map[string]func(w *Work){
		"name": func(w *Work) {
			w.Fold.Name, w.Fold.Job, w.Fold.Run, w.Task, w.Attempt, w.Dir = "two", "j2", "r2", "t2", 2, "/x"
		},
		"ids":           func(w *Work) { w.Fold.Sequences[0].ID, w.Fold.Sequences[0].Source = "s2", "x" },
		"webhooks":      func(w *Work) { w.Fold.Constraints.Webhooks = []byte(`{}`) },
		"default given": func(w *Work) { w.Fold.Params.Values["samplingSteps"] = 200.0 },
		"seed given":    func(w *Work) { w.Fold.Params.Values["seed"] = "7" },
		"order":         func(w *Work) { m := w.Fold.Sequences[0].Modifications; m[0], m[1] = m[1], m[0] },
	} {
		w := fresh()
		if change(w); hash(w) != want {
			t.Errorf("%s changes the hash", what)
		}
	}
	seen := map[string]string{want: "nothing"}
	for what, change := range map[string]func(w *Work){
		"model":        func(w *Work) { w.Model.Name = "boltz" },
		"version":      func(w *Work) { w.Model.Version = "2.3" },
		"weights":      func(w *Work) { w.Model.WeightSet = "v" },
		"device":       func(w *Work) { w.Model.Device = "cpu" },
		"seed":         func(w *Work) { w.Fold.Seed = "8" },
		"parameter":    func(w *Work) { w.Fold.Params.Values["samplingSteps"] = 201.0 },
		"sequence":     func(w *Work) { w.Fold.Sequences[0].Text = "ACE" },
		"kind":         func(w *Work) { w.Fold.Sequences[0].Kind = RNA },
		"chain":        func(w *Work) { w.Fold.Sequences[0].Chains = []string{"B"} },
		"copies":       func(w *Work) { w.Fold.Sequences[0].Chains = []string{"A", "B"} },
		"label":        func(w *Work) { w.Fold.Sequences[0].Label = "x" },
		"property":     func(w *Work) { w.Fold.Sequences[0].PropertyType = "affinity" },
		"cyclic":       func(w *Work) { w.Fold.Sequences[0].Cyclic = true },
		"ccd":          func(w *Work) { w.Fold.Sequences[0].CCD = true },
		"modification": func(w *Work) { w.Fold.Sequences[0].Modifications[0].CCD = "TPO" },
		"together":     func(w *Work) { w.Fold.Complex = true },
		"pocket":       func(w *Work) { w.Fold.Constraints.Pocket = []Pocket{{Binder: ChainRef{"A"}}} },
		"bond":         func(w *Work) { w.Fold.Constraints.Bond = []Bond{{}} },
		"component":    func(w *Work) { w.Fold.Constraints.Components = []Component{{Code: "X", SMILES: "CCO"}} },
		"molecule":     func(w *Work) { w.Fold.Constraints.Components = []Component{{Code: "X", SMILES: "CCN"}} },
		"contact":      func(w *Work) { w.Fold.Constraints.Contact = []Contact{{}} },
		"alignment":    func(w *Work) { w.Files["input/msa-0.a3m"] = "bb" },
		"no alignment": func(w *Work) { delete(w.Files, "input/msa-0.a3m") },
	} {
		w := fresh()
		change(w)
		h := hash(w)
		if other, ok := seen[h]; ok {
			t.Errorf("%s and %s have one hash", what, other)
		}
		seen[h] = what
	}
	if h, _ := fresh().InputHash("g"); h == want {
		t.Error("the fingerprint changes nothing")
	}
}
