package pleat

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Feature is an optional capability of a model.
type Feature string

// The features that a model may have. A job that needs one that its model does not have is invalid.
const (
	FeatureAffinity      Feature = "affinity"
	FeatureMSA           Feature = "msa"
	FeatureRNAMSA        Feature = "rna_msa" // besides FeatureMSA: alignments of RNA that the job names
	FeatureTemplates     Feature = "templates"
	FeatureConstraints   Feature = "constraints"
	FeatureModifications Feature = "modifications"
	FeatureCyclic        Feature = "cyclic"
	FeatureComplex       Feature = "complex"    // several chains in one structure
	FeatureUnknown       Feature = "unknown"    // X and N residues
	FeatureComponents    Feature = "components" // molecules of one's own in place of dictionary entries

	// FeatureTemplateForce: a template may hold its chain, besides being an example.
	FeatureTemplateForce Feature = "template_force"

	// FeatureSequenceOnly: a model for designs runs the protocol SequenceOnly, and no other. One without it runs all
	// others.
	FeatureSequenceOnly Feature = "sequence_only"
)

// Model is the manifest of a model: its input, limits, cost, licence and citations. Validation, the list of models and
// the page read it.
type Model struct {
	Name       string       `json:"name"`
	Kind       TaskKind     `json:"kind"` // fold, qna, md, design or compare
	Title      string       `json:"title"`
	Engine     string       `json:"engine"`
	Version    string       `json:"version"`
	WeightSet  string       `json:"weight_set"`
	Method     string       `json:"method"`
	Licence    string       `json:"licence"`
	WeightUse  WeightUse    `json:"weight_use"` // absent: a worker of an earlier version
	Device     string       `json:"device"`     // cpu, cuda or remote
	Entities   []EntityKind `json:"entities"`
	Features   []Feature    `json:"features"`
	Params     []ParamSpec  `json:"params"`
	MinTokens  int          `json:"min_tokens"` // per chain
	MaxTokens  int          `json:"max_tokens"` // per structure: a chain, or the whole where FeatureComplex is set
	Limits     ModelLimits  `json:"limits,omitzero"`
	Memory     MemoryModel  `json:"memory"`
	Speed      SpeedModel   `json:"speed"`
	Room       int64        `json:"room"`       // bytes of memory where the model runs, for one structure; 0: unknown
	Confidence string       `json:"confidence"` // what its pLDDT means, in words
	Notice     string       `json:"notice"`     // what users should know before they rely on it
	Citations  []Citation   `json:"citations"`
	Cores      int          `json:"cores,omitempty"` // that one task is given where the model runs; 0: unknown
	Workers    int          `json:"-"`               // live ones that run it, where the store lists the model
}

// BuiltInEngine is an engine that is part of the program. It has one model, which has the engine's name.
type BuiltInEngine struct {
	Name    string
	Kind    TaskKind // of the tasks that it executes
	Default bool     // every worker has it unless its operator chooses the engines
}

// BuiltInEngines lists the engines that are part of the program. Package internal/engine/builtin implements them.
var BuiltInEngines = []BuiltInEngine{
	{Name: "mini", Kind: TaskFold, Default: true},
	{Name: "calvados", Kind: TaskMD, Default: true},
	{Name: "analyst", Kind: TaskQnA, Default: true},
	{Name: "compare", Kind: TaskCompare, Default: true},
	{Name: "null", Kind: TaskFold}, // for tests and measurements
}

// IsBuiltIn reports whether an engine with this name is part of the program.
func IsBuiltIn(name string) bool { return slices.Contains(BuiltInNames(), name) }

// BuiltInNames returns the names of BuiltInEngines, in that order.
func BuiltInNames() []string {
	var names []string
	for _, e := range BuiltInEngines {
		names = append(names, e.Name)
	}
	return names
}

// DefaultEngines returns the names of the engines that a worker has unless its operator chooses them.
func DefaultEngines() []string {
	var names []string
	for _, e := range BuiltInEngines {
		if e.Default {
			names = append(names, e.Name)
		}
	}
	return names
}

// MemoryModel predicts the peak memory in bytes for n tokens: Base + Linear·n + Square·n². The square is that of the
// pair representation, which holds a value for every two tokens.
type MemoryModel struct {
	Base   float64 `json:"base"`
	Linear float64 `json:"linear"`
	Square float64 `json:"square"`
}

// SpeedModel predicts the core-seconds for n tokens: Base + Linear·n + Square·n²; of dynamics, those for a simulated
// nanosecond. The zero value: not known.
type SpeedModel struct {
	Base   float64 `json:"base"`
	Linear float64 `json:"linear"`
	Square float64 `json:"square"`
}

// CheckMemory returns an error if a structure of n tokens needs more memory than the largest device has. Unit is the
// word for the tokens.
func (m *Model) CheckMemory(n int, unit string) error {
	need := m.Memory.Bytes(n)
	if m.Room == 0 || need <= m.Room {
		return nil
	}
	where := "the largest device"
	if m.Device == "cpu" {
		where = "the machine"
	}
	return InvalidField("sequences", ": %d %s need about %s with the model %q; %s has %s",
		n, unit, gigabytes(need), m.Name, where, gigabytes(m.Room))
}

// gigabytes writes a number of bytes for a message, in units of 10^9 bytes.
func gigabytes(n int64) string {
	if n < 10e9 {
		return fmt.Sprintf("%.1f GB", float64(n)/1e9)
	}
	return fmt.Sprintf("%.0f GB", float64(n)/1e9)
}

// Bytes returns the memory expected for n tokens.
func (m MemoryModel) Bytes(n int) int64 {
	f := float64(n)
	return int64(m.Base + m.Linear*f + m.Square*f*f)
}

// Seconds returns the core-seconds expected for n tokens.
func (m SpeedModel) Seconds(n int) float64 {
	f := float64(n)
	return m.Base + m.Linear*f + m.Square*f*f
}

// Seconds is a time given in seconds, such as SpeedModel.Seconds returns, at most a year.
func Seconds(s float64) time.Duration {
	const year = 365 * 24 * 3600
	return time.Duration(min(max(s, 0), year) * float64(time.Second))
}

// Citation is one BibTeX entry with its key.
type Citation struct {
	Key    string `json:"key"`
	BibTeX string `json:"bibtex"`
}

// Seeded reports whether runs of the model get a seed. All get one except for remote models without the parameter.
func (m *Model) Seeded() bool { return m.TakesParam("seed") || m.Device != "remote" }

// TakesParam reports whether the model has the parameter.
func (m *Model) TakesParam(name string) bool {
	_, ok := m.param(name)
	return ok
}

// Has reports whether the model has a feature.
func (m *Model) Has(f Feature) bool { return slices.Contains(m.Features, f) }

// Takes reports whether the model folds an entity of kind k.
func (m *Model) Takes(k EntityKind) bool { return slices.Contains(m.Entities, k) }

// FindModel returns the fold model with the given name.
func FindModel(models []Model, name string) (Model, bool) {
	i := slices.IndexFunc(models, func(m Model) bool { return m.Kind == TaskFold && m.Name == name })
	if i < 0 {
		return Model{}, false
	}
	return models[i], true
}

// ListNames writes names for a sentence, at most n of them.
func ListNames(names []string, n int) string {
	if len(names) > n {
		return strings.Join(names[:n], ", ") + fmt.Sprintf(" and %d more", len(names)-n)
	}
	return strings.Join(names, ", ")
}
