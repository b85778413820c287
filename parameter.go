package pleat

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"pleat/internal/words"
)

// Params are the folding parameters of a job: the model, and the values given by name. A name that is absent takes the
// model's default. Values hold bool, int64, float64 or string, as the name's ParamType says.
type Params struct {
	Model  string         `json:"modelName"`
	Values map[string]any `json:"values,omitempty"`
}

// ParamType is the type of a parameter's value.
type ParamType string

const (
	ParamInt    ParamType = "integer"
	ParamFloat  ParamType = "number"
	ParamBool   ParamType = "boolean"
	ParamString ParamType = "string"
)

// ParamSpec is one parameter that a model takes.
type ParamSpec struct {
	Name    string    `json:"name"`
	Type    ParamType `json:"type"`
	Default any       `json:"default,omitempty"`
	Min     *float64  `json:"min,omitempty"`
	Max     *float64  `json:"max,omitempty"`
	Values  []string  `json:"values,omitempty"` // of a string: what it may be; empty: anything
	Doc     string    `json:"doc"`
}

// MaxSeed bounds seeds to what every engine takes (NumPy's and PyTorch's seeding functions take 32 bits).
const MaxSeed = math.MaxUint32

// Known parameters of the interface, in its order. A model's manifest picks from them.
var knownParams = []ParamSpec{
	{Name: "msaAlgorithm", Type: ParamString},
	{Name: "relaxPrediction", Type: ParamBool},
	{Name: "seed", Type: ParamString},
	{Name: "recyclingSteps", Type: ParamInt},
	{Name: "samplingSteps", Type: ParamInt},
	{Name: "diffusionSample", Type: ParamInt},
	{Name: "stepScale", Type: ParamFloat},
	{Name: "affinityMwCorrection", Type: ParamBool},
	{Name: "samplingStepsAffinity", Type: ParamInt},
	{Name: "diffusionSamplesAffinity", Type: ParamInt},
	{Name: "numModelSeeds", Type: ParamInt},
	{Name: "numDiffnSamples", Type: ParamInt},
	{Name: "numTrunkSamples", Type: ParamInt},
	{Name: "numTrunkRecycles", Type: ParamInt},
	{Name: "numDiffnTimesteps", Type: ParamInt},
}

// KnownParams lists the parameters of the interface, modelName apart.
func KnownParams() []ParamSpec { return slices.Clone(knownParams) }

// Seed is the seed given, and whether one was.
func (p Params) Seed() (string, bool) {
	s, ok := p.Values["seed"].(string)
	return s, ok
}

// With is p with one value set.
func (p Params) With(name string, value any) Params {
	v := maps.Clone(p.Values)
	if v == nil {
		v = map[string]any{}
	}
	v[name] = value
	return Params{Model: p.Model, Values: v}
}

// Effective is every parameter the model takes: the value given, else the default.
func (p Params) Effective(m Model) map[string]any {
	out := map[string]any{}
	for _, s := range m.Params {
		if s.Default != nil {
			out[s.Name] = s.Default
		}
		if v, ok := p.Values[s.Name]; ok {
			out[s.Name] = v
		}
	}
	return out
}

// asksNothing reports whether a value requests no work of the model, so that every model honours it.
func asksNothing(name string, v any) bool {
	return v == nil || v == false || v == "" || name == "msaAlgorithm" && v == MSANone
}

// What msaAlgorithm may be: no alignment, and the search that the operator has set up.
const (
	MSANone    = "none"
	MSAMMseqs2 = "mmseqs2"
)

// check refuses parameters that the model cannot honour, and drops those that ask for nothing of a model that lacks them.
func (p *Params) check(m Model) error {
	for _, name := range slices.Sorted(maps.Keys(p.Values)) {
		v := p.Values[name]
		spec, ok := m.param(name)
		if !ok {
			if asksNothing(name, v) {
				delete(p.Values, name)
				continue
			}
			return Invalidf("params.%s is not a parameter of the model %q; it takes %s", name, m.Name, m.paramNames())
		}
		if v == nil || name == "msaAlgorithm" && v == "" {
			delete(p.Values, name)
			continue
		}
		norm, err := spec.normalise(v)
		if err != nil {
			return err
		}
		p.Values[name] = norm
	}
	return nil
}

// normalise checks v against the specification and gives it its canonical type.
func (s ParamSpec) normalise(v any) (any, error) {
	switch s.Type {
	case ParamBool:
		if b, ok := v.(bool); ok {
			return b, nil
		}
	case ParamString:
		if t, ok := v.(string); ok {
			if s.Name == "seed" {
				return normaliseSeed(t)
			}
			if s.Name == "msaAlgorithm" && t == MSAMMseqs2 && slices.Equal(s.Values, []string{MSANone}) {
				return nil, Invalidf("params.msaAlgorithm is %q, but no alignments are made here: it must be %q or absent, unless the operator sets msa-server or msa-command", t, MSANone)
			}
			if len(s.Values) > 0 && !slices.Contains(s.Values, t) {
				return nil, Invalidf("params.%s is %q; it must be one of %s", s.Name, Clip(t), strings.Join(s.Values, ", "))
			}
			return t, nil
		}
	case ParamInt, ParamFloat:
		f, ok := number(v)
		if !ok || s.Type == ParamInt && f != math.Trunc(f) {
			break
		}
		lo, hi := 0.0, math.Inf(1)
		if s.Type == ParamInt {
			lo, hi = 1, math.MaxInt32
		}
		if s.Min != nil {
			lo = *s.Min
		}
		if s.Max != nil {
			hi = *s.Max
		}
		if f < lo || f > hi {
			return nil, Invalidf("params.%s is %s; it must be %s", s.Name, strconv.FormatFloat(f, 'g', -1, 64), bounds(lo, hi))
		}
		if s.Type == ParamInt {
			return int64(f), nil
		}
		return f, nil
	}
	article := "a"
	if s.Type == ParamInt {
		article = "an"
	}
	return nil, Invalidf("params.%s must be %s %s", s.Name, article, s.Type)
}

// CheckDefault refuses a default that the specification itself would refuse.
func (s ParamSpec) CheckDefault() error {
	if s.Default == nil {
		return nil
	}
	_, err := s.normalise(s.Default)
	return err
}

func bounds(lo, hi float64) string {
	if math.IsInf(hi, 1) || hi == math.MaxInt32 {
		return fmt.Sprintf("%g or more", lo)
	}
	return fmt.Sprintf("%g to %g", lo, hi)
}

// normaliseSeed takes a decimal integer of 0 to MaxSeed and writes it without leading zeros.
func normaliseSeed(s string) (any, error) {
	n, err := strconv.ParseUint(strings.TrimSpace(s), 10, 64)
	if err != nil || n > MaxSeed {
		return nil, Invalidf("params.seed is %q; it must be a whole number from 0 to %d, written as a string", Clip(s), uint64(MaxSeed))
	}
	return strconv.FormatUint(n, 10), nil
}

func number(v any) (float64, bool) {
	switch n := v.(type) {
	case int:
		return float64(n), true
	case int64:
		return float64(n), true
	case float64:
		return n, !math.IsNaN(n) && !math.IsInf(n, 0)
	case json.Number:
		f, err := n.Float64()
		return f, err == nil
	}
	return 0, false
}

func (m *Model) param(name string) (ParamSpec, bool) {
	i := slices.IndexFunc(m.Params, func(s ParamSpec) bool { return s.Name == name })
	if i < 0 {
		return ParamSpec{}, false
	}
	return m.Params[i], true
}

func (m *Model) paramNames() string {
	names := make([]string, len(m.Params))
	for i, s := range m.Params {
		names[i] = s.Name
	}
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

// Nearest is the name most like got, or "" where none is near enough to be worth suggesting.
func Nearest(got string, names []string) string { return words.Nearest(got, names) }

// Clip shortens a caller's text for a message and strips what would not print, so that it is safe in a sentence or a log line.
func Clip(s string) string { return words.Clip(s) }
