package runner

import (
	"encoding/json"
	"os"
	"slices"
	"testing"

	"pleat"
)

// question is a job of vectors/jobs.json, about which the tests of each runner ask its own code too.
type question struct {
	Name string `json:"name"`
	Job  struct {
		Sequences   []pleat.Sequence  `json:"sequences"`
		Constraints pleat.Constraints `json:"constraints"`
	} `json:"job"`
	Takes    []string `json:"takes"`
	Refuses  []string `json:"refuses"`
	Packages bool     `json:"packages"`
}

// job returns the job as a request has it.
func (q *question) job() pleat.Job {
	j := pleat.Job{Name: "x", Sequences: q.Job.Sequences, Constraints: q.Job.Constraints}
	for i := range j.Sequences {
		s := &j.Sequences[i]
		s.Count = len(s.Chains)
		if s.Count < 50 {
			s.ChainID = s.Chains[0]
		}
	}
	return j.Clone()
}

// The service refuses a job at once where the runner would refuse it after the wait, and no other: both get the same
// questions. A model that a question does not list lacks a feature, so that the service refuses the job for it.
func TestManifestsSayWhatRunnersRefuse(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("../../../runners/vectors/jobs.json")
	if err != nil {
		t.Fatal(err)
	}
	var questions []question
	if err := json.Unmarshal(raw, &questions); err != nil {
		t.Fatal(err)
	}
	manifests, invalid := Manifests("../../../runners")
	if len(invalid) > 0 {
		t.Fatal(invalid)
	}
	named := map[string]bool{}
	for _, m := range manifests {
		for _, model := range m.models("cuda", 0) {
			if model.Kind != pleat.TaskFold || model.Name == "example-helix" {
				continue
			}
			for i := range questions {
				q := &questions[i]
				j := q.job()
				err := j.Validate(model)
				takes := slices.Contains(q.Takes, model.Name)
				named[model.Name] = named[model.Name] || takes
				if takes && err != nil {
					t.Errorf("%s: %s refuses it: %v", q.Name, model.Name, err)
				}
				if !takes && err == nil && (slices.Contains(q.Refuses, model.Name) || model.Has(pleat.FeatureComplex)) {
					t.Errorf("%s: %s takes it", q.Name, model.Name)
				}
			}
		}
	}
	for _, name := range []string{"boltz-2", "boltz", "chai1", "multimer", "esmfold2", "openfold3", "intellifold",
		"protenix", "protenix-v2", "esm1b", "monomer", "simplefold_100M", "igfold"} {
		if !named[name] {
			t.Errorf("no question about %s", name)
		}
	}
}
