package pleat

import (
	"fmt"
	"slices"
	"strings"
)

// Feature is something a model may or may not be able to do.
type Feature string

const (
	FeatureAffinity      Feature = "affinity"
	FeatureMSA           Feature = "msa"
	FeatureTemplates     Feature = "templates"
	FeatureConstraints   Feature = "constraints"
	FeatureModifications Feature = "modifications"
	FeatureCyclic        Feature = "cyclic"
	FeatureComplex       Feature = "complex" // several chains in one structure
	FeatureUnknown       Feature = "unknown" // X and N residues
)

// Model is a model's manifest: what it takes, what it gives, what it costs and whom to cite. Validation, the list of
// models, suggestions and the page all read it.
type Model struct {
	Name       string       `json:"name"`
	Kind       TaskKind     `json:"kind"` // fold, qna or md
	Title      string       `json:"title"`
	Engine     string       `json:"engine"`
	Version    string       `json:"version"`
	WeightSet  string       `json:"weight_set"`
	Method     string       `json:"method"`
	Licence    string       `json:"licence"`
	Device     string       `json:"device"` // cpu, cuda or remote
	Entities   []EntityKind `json:"entities"`
	Features   []Feature    `json:"features"`
	Params     []ParamSpec  `json:"params"`
	MinTokens  int          `json:"min_tokens"` // per chain
	MaxTokens  int          `json:"max_tokens"` // per structure: a chain, or the whole where FeatureComplex is set
	Limits     Limits       `json:"limits,omitzero"`
	Memory     MemoryModel  `json:"memory"`
	Speed      SpeedModel   `json:"speed"`
	Room       int64        `json:"room"`       // bytes that one structure may take where the model runs; 0: not known
	Confidence string       `json:"confidence"` // what its pLDDT is, in words
	Notice     string       `json:"notice"`     // what a user should know before trusting it
	Citations  []Citation   `json:"citations"`
}

// MemoryModel predicts peak memory as base + linear·n + square·n² bytes for n tokens.
type MemoryModel struct {
	Base   float64 `json:"base"`
	Linear float64 `json:"linear"`
	Square float64 `json:"square"`
}

// SpeedModel predicts core-seconds likewise.
type SpeedModel struct {
	Base   float64 `json:"base"`
	Linear float64 `json:"linear"`
	Square float64 `json:"square"`
}

// Needs refuses a structure of n tokens that no device has room for.
func (m *Model) Needs(n int) error {
	need := m.Memory.Bytes(n)
	if m.Room == 0 || need <= m.Room {
		return nil
	}
	where := "the largest device"
	if m.Device == "cpu" {
		where = "the machine"
	}
	return Invalidf("sequences: %d tokens need about %s with the model %q; %s has %s", n, gigabytes(need), m.Name, where, gigabytes(m.Room))
}

func gigabytes(n int64) string {
	if n < 10e9 {
		return fmt.Sprintf("%.1f GB", float64(n)/1e9)
	}
	return fmt.Sprintf("%.0f GB", float64(n)/1e9)
}

// Bytes is the memory expected for n tokens.
func (m MemoryModel) Bytes(n int) int64 {
	f := float64(n)
	return int64(m.Base + m.Linear*f + m.Square*f*f)
}

// Seconds is the core time expected for n tokens.
func (m SpeedModel) Seconds(n int) float64 {
	f := float64(n)
	return m.Base + m.Linear*f + m.Square*f*f
}

// Citation is one BibTeX entry: a key, and the entry whole.
type Citation struct {
	Key    string `json:"key"`
	BibTeX string `json:"bibtex"`
}

// Seeded reports whether a run of the model is given a seed. What runs here always is.
func (m *Model) Seeded() bool { return m.TakesParam("seed") || m.Device != "remote" }

// TakesParam reports whether a job may set the parameter.
func (m *Model) TakesParam(name string) bool {
	_, ok := m.param(name)
	return ok
}

// Has reports whether the model has a feature.
func (m *Model) Has(f Feature) bool { return slices.Contains(m.Features, f) }

// Takes reports whether the model folds an entity of kind k.
func (m *Model) Takes(k EntityKind) bool { return slices.Contains(m.Entities, k) }

// knownModels are the names that clients in the wild send, each with what an operator installs to serve it.
var knownModels = map[string]string{
	"boltz-2": "boltz-2", "boltz": "boltz", "esm1b": "esm1b", "openfold3": "openfold3", "chai1": "chai1",
	"intellifold": "intellifold", "monomer": "colabfold", "multimer": "colabfold",
	"simplefold_100M": "simplefold", "simplefold_360M": "simplefold", "simplefold_700M": "simplefold",
	"simplefold_1.1B": "simplefold", "simplefold_1.6B": "simplefold", "simplefold_3B": "simplefold",
}

// FindModel picks the fold model named from those that this service can run. The refusal says what to install, or what there is.
func FindModel(models []Model, name string) (Model, error) {
	var names []string
	for _, m := range models {
		if m.Kind != TaskFold {
			continue
		}
		if m.Name == name {
			return m, nil
		}
		names = append(names, m.Name)
	}
	slices.Sort(names)
	if len(names) == 0 {
		return Model{}, Invalidf("params.modelName is %q, but no folding engine is running here; start one with pleat worker", Clip(name))
	}
	if engine, ok := knownModels[name]; ok {
		return Model{}, Invalidf("params.modelName %q has no engine here; the operator can add it with: pleat engines install %s. Models here: %s", name, engine, strings.Join(names, ", "))
	}
	hint := ""
	if n := Nearest(name, names); n != "" {
		hint = fmt.Sprintf("; did you mean %q?", n)
	}
	return Model{}, Invalidf("params.modelName %q is not a known model%s Models here: %s", Clip(name), orDot(hint), strings.Join(names, ", "))
}

func orDot(hint string) string {
	if hint == "" {
		return "."
	}
	return hint
}

// list writes names for a sentence, at most n of them.
func list(names []string, n int) string {
	if len(names) > n {
		return strings.Join(names[:n], ", ") + fmt.Sprintf(" and %d more", len(names)-n)
	}
	return strings.Join(names, ", ")
}
