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

// Params are the folding parameters of a job: the model, and values by name. An absent name stands for the model's
// default. After validation each value is a bool, int64, float64 or string, as its ParamSpec determines.
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

// ParamSpec specifies one parameter of a model.
type ParamSpec struct {
	Name    string    `json:"name"`
	Type    ParamType `json:"type"`
	Default any       `json:"default,omitempty"` // nil: the engine chooses
	Min     *float64  `json:"min,omitempty"`     // nil: 1 for an integer, 0 for a number
	Max     *float64  `json:"max,omitempty"`     // nil: no limit
	Values  []string  `json:"values,omitempty"`  // the allowed strings; empty: any
	Doc     string    `json:"doc"`
}

// MaxSeed is the largest seed: the seeding functions of NumPy take 32 bits.
const MaxSeed = math.MaxUint32

// knownParams are the parameters of the interface, in its order. The manifest of a model names those that it takes.
var knownParams = []ParamSpec{
	{Name: "msaAlgorithm", Type: ParamString},
	{Name: alignmentParam, Type: ParamString},
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

// KnownParams returns the parameters of the interface, without modelName.
func KnownParams() []ParamSpec { return slices.Clone(knownParams) }

// Seed returns the seed and whether the request gave one.
func (p Params) Seed() (string, bool) {
	s, ok := p.Values["seed"].(string)
	return s, ok
}

// With returns a copy of p with one value set.
func (p Params) With(name string, value any) Params {
	v := maps.Clone(p.Values)
	if v == nil {
		v = map[string]any{}
	}
	v[name] = value
	return Params{Model: p.Model, Values: v}
}

// Effective returns every parameter of the model with its value: the one given, else the default. Parameters without
// either are absent.
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

// asksNothing reports whether a value asks for no work, so that models without the parameter satisfy it too.
func asksNothing(name string, v any) bool {
	return v == nil || v == false || v == "" || name == "msaAlgorithm" && v == MSANone
}

// Values of msaAlgorithm: no alignment, or the MSA search that the operator configured.
const (
	MSANone    = "none"
	MSAMMseqs2 = "mmseqs2"
)

// check checks every parameter against the model and gives it its canonical type. Values that ask nothing of a model
// without the parameter are dropped. It returns nil or Errors.
func (p *Params) check(m Model) error {
	var faults Errors
	for _, name := range slices.Sorted(maps.Keys(p.Values)) {
		if faults.full() {
			break
		}
		v := p.Values[name]
		spec, ok := m.param(name)
		if !ok {
			if !asksNothing(name, v) {
				faults = append(faults,
					InvalidField("params."+name, " is not a parameter of the model %q; it accepts %s",
						m.Name, m.paramNames()))
			}
			delete(p.Values, name)
			continue
		}
		if v == nil || v == "" && (name == "msaAlgorithm" || name == alignmentParam) {
			delete(p.Values, name)
			continue
		}
		canonical, err := spec.normalise(v)
		if err != nil {
			faults = append(faults, err)
			continue
		}
		p.Values[name] = canonical
	}
	if p.Alignment() != "" && p.Values["msaAlgorithm"] == MSANone {
		faults = append(faults, InvalidField("params."+alignmentParam, ": params.msaAlgorithm is %q, so that no "+
			"alignment is used; leave out one of the two", MSANone))
	}
	return faults.Err()
}

// normalise checks v against the specification and converts it to its canonical type.
func (s ParamSpec) normalise(v any) (any, *Error) {
	switch s.Type {
	case ParamBool:
		if b, ok := v.(bool); ok {
			return b, nil
		}
	case ParamString:
		if text, ok := v.(string); ok {
			return s.normaliseString(text)
		}
	case ParamInt, ParamFloat:
		if f, ok := number(v); ok && (s.Type == ParamFloat || f == math.Trunc(f)) {
			return s.normaliseNumber(f)
		}
	}
	article := "a"
	if s.Type == ParamInt {
		article = "an"
	}
	return nil, InvalidField(s.field(), " must be %s %s", article, s.Type)
}

// field is the path of the parameter in a request.
func (s ParamSpec) field() string { return "params." + s.Name }

// normaliseString checks a text against the allowed values. The seed has rules of its own, and the message about an MSA
// search that nobody configured names the settings.
func (s ParamSpec) normaliseString(text string) (any, *Error) {
	if s.Name == "seed" {
		return normaliseSeed(text)
	}
	if s.Name == alignmentParam && !IsUUID(text) {
		return nil, InvalidField(s.field(), " is %q; it must be the alignmentId of POST /v1/alignments", Clip(text))
	}
	if s.Name == alignmentParam {
		return strings.ToLower(text), nil
	}
	if s.Name == "msaAlgorithm" && text == MSAMMseqs2 && slices.Equal(s.Values, []string{MSANone}) {
		return nil, InvalidField(s.field(), " is %q, but no alignments are made here: it must be %q or absent, "+
			"unless the operator sets msa-server or msa-command", text, MSANone)
	}
	if len(s.Values) > 0 && !slices.Contains(s.Values, text) {
		return nil, InvalidField(s.field(), " is %q; it must be one of %s", Clip(text), strings.Join(s.Values, ", "))
	}
	return text, nil
}

// normaliseNumber checks a number against the bounds, which are 1 to 2^31-1 for an integer and 0 or more for a number
// where the specification has none.
func (s ParamSpec) normaliseNumber(f float64) (any, *Error) {
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
		return nil, InvalidField(s.field(), " is %s; it must be %s", strconv.FormatFloat(f, 'g', -1, 64),
			bounds(lo, hi))
	}
	if s.Type == ParamInt {
		return int64(f), nil
	}
	return f, nil
}

// CheckDefault returns an error if the specification does not allow its own default.
func (s ParamSpec) CheckDefault() error {
	if s.Default == nil {
		return nil
	}
	if _, err := s.normalise(s.Default); err != nil {
		return err
	}
	return nil
}

// bounds writes the bounds of a number for a message.
func bounds(lo, hi float64) string {
	if math.IsInf(hi, 1) || hi == math.MaxInt32 {
		return fmt.Sprintf("%g or more", lo)
	}
	return fmt.Sprintf("%g to %g", lo, hi)
}

// normaliseSeed reads a decimal integer from 0 to MaxSeed and writes it without leading zeros.
func normaliseSeed(s string) (any, *Error) {
	n, err := strconv.ParseUint(strings.TrimSpace(s), 10, 64)
	if err != nil || n > MaxSeed {
		return nil, InvalidField("params.seed", " is %q; it must be a whole number from 0 to %d, written as a string",
			Clip(s), uint64(MaxSeed))
	}
	return strconv.FormatUint(n, 10), nil
}

// number converts a number of any of the types that JSON and YAML decoders produce. NaN and infinities are no numbers.
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

// Nearest returns the name that is most like got, and "" if none is similar enough to suggest.
func Nearest(got string, names []string) string { return words.Nearest(got, names) }

// Clip shortens a caller's text for a message and removes unprintable characters, so that the text is safe in an error
// and in a log line.
func Clip(s string) string { return words.Clip(s) }
