package design

import (
	"cmp"
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"pleat"
)

const (
	maxRMSD        = 1000 // of refoldingRmsdThreshold, in Å
	maxTemperature = 2    // at which sampling is close to chance
)

// defaultProtocol is the protocol of a pipeline that names none.
const defaultProtocol = "protein-anything"

// Protocols are the words of protocolName.
var Protocols = []string{"protein-anything", "peptide-anything", "protein-small_molecule", "nanobody-anything",
	"antibody-anything", "protein-redesign", pleat.SequenceOnly}

// ParamNames are the names of all parameters, with which callers compare the fields that they do not know.
var ParamNames = []string{"protocolName", "numDesigns", "budget", "seed", "alpha", "refoldingRmsdThreshold",
	"filterBiased", "inverseFoldAvoid", "temperature", "modelName", "isPublic", "webhooks"}

// Params are the parameters of a pipeline. Text is empty where the caller gave nothing.
type Params struct {
	pleat.DesignParams
	Seed string // decimal, 0 to 4294967295; empty: the service chooses one

	IsPublic json.RawMessage // as given, not checked
	Webhooks json.RawMessage // as given, not checked
}

// Door says what differs between the two forms in which parameters arrive. The zero value is that of a graph.
type Door struct {
	Snake      bool   // names may also be in snake_case
	Protocol   string // where none is given; empty: defaultProtocol
	NumDesigns int    // where none is given; 0: it is required
	Budget     int    // where none is given, at most NumDesigns; 0: it is required
}

// ReadParams reads the parameters among the fields of a JSON object. Path is that of the object, such as
// jobs.make.inputPayload; messages have it in front of the names. Fields that are no parameters are not looked at: see
// ParamNames. Null is absent. The error is a pleat.Error with CodeInvalid whose Field is the path of the value.
func ReadParams(values map[string]json.RawMessage, path string, door Door) (Params, error) {
	r := &paramReader{values: values, path: path, snake: door.Snake}
	p := Params{
		DesignParams: pleat.DesignParams{
			Protocol:         cmp.Or(r.word("protocolName", Protocols), door.Protocol, defaultProtocol),
			FilterBiased:     r.flag("filterBiased"),
			InverseFoldAvoid: r.letters("inverseFoldAvoid"),
		},
		Seed:     r.seed("seed"),
		IsPublic: r.raw("isPublic"),
		Webhooks: r.raw("webhooks"),
	}
	p.Alpha = r.number("alpha", "from 0 to 1", func(v float64) bool { return v >= 0 && v <= 1 })
	p.RefoldingRMSD = r.number("refoldingRmsdThreshold", "a length in Å above 0 and up to 1000",
		func(v float64) bool { return v > 0 && v <= maxRMSD })
	p.Temperature = r.number("temperature", "above 0 and up to 2",
		func(v float64) bool { return v > 0 && v <= maxTemperature })
	p.Model = r.name("modelName")
	r.fits(p.Protocol)
	p.Designs = r.integer("numDesigns", door.NumDesigns, pleat.MaxDesigns, "")
	most, why := pleat.MaxBudget, ""
	if p.Designs > 0 && p.Designs < most {
		most, why = p.Designs, "numDesigns, which is "
	}
	p.Budget = r.integer("budget", min(door.Budget, most), most, why)
	return p, r.err
}

// paramReader reads fields one by one and keeps the first error.
type paramReader struct {
	values map[string]json.RawMessage
	path   string
	snake  bool
	err    error
}

// pathOf returns the path of a field.
func (r *paramReader) pathOf(name string) string {
	if r.path == "" {
		return name
	}
	return r.path + "." + name
}

// fail keeps an error about a field, unless there is one already.
func (r *paramReader) fail(name, format string, args ...any) {
	if r.err == nil {
		r.err = pleat.InvalidField(r.pathOf(name), format, args...)
	}
}

// snakeCase returns a name in snake_case.
func snakeCase(name string) string {
	var b strings.Builder
	for _, c := range name {
		if unicode.IsUpper(c) {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(c))
	}
	return b.String()
}

// raw returns the value of a field; nil if it is absent or null.
func (r *paramReader) raw(name string) json.RawMessage {
	value := func(name string) json.RawMessage {
		v := r.values[name]
		if string(v) == "null" {
			return nil
		}
		return v
	}
	v := value(name)
	if other := snakeCase(name); r.snake && other != name && value(other) != nil {
		if v != nil {
			r.fail(name, " stands there twice: as %s and as %s", name, other)
		}
		v = value(other)
	}
	return v
}

// word reads one of several words; empty if it is absent.
func (r *paramReader) word(name string, known []string) string {
	v := r.raw(name)
	if v == nil {
		return ""
	}
	var s string
	if json.Unmarshal(v, &s) != nil {
		r.fail(name, " is %s; it must be %s", pleat.Clip(string(v)), alternatives(known))
		return ""
	}
	if !slices.Contains(known, s) && r.err == nil {
		r.err = notOneOf(r.pathOf(name), s, known)
	}
	return s
}

// name reads the name of a model; empty if it is absent.
func (r *paramReader) name(name string) string {
	v := r.raw(name)
	if v == nil {
		return ""
	}
	var s string
	if json.Unmarshal(v, &s) != nil || s == "" || len(s) > pleat.MaxName {
		r.fail(name, " is %s; it must be the name of a model, as GET /v1/models has it", pleat.Clip(string(v)))
	}
	return s
}

// fits refuses the parameters that a protocol has no use for.
func (r *paramReader) fits(protocol string) {
	without := []string{"temperature"}
	if protocol == pleat.SequenceOnly {
		without = []string{"alpha", "refoldingRmsdThreshold", "filterBiased"}
	}
	for _, name := range without {
		if r.raw(name) != nil {
			r.fail(name, " is not taken with the protocol %s, which has no use for it", protocol)
		}
	}
}

// integer reads a whole number from 1 to most; def if it is absent, and an error if def is 0. Why explains most in the
// message.
func (r *paramReader) integer(name string, def, most int, why string) int {
	v := r.raw(name)
	switch {
	case v == nil && def == 0:
		r.fail(name, " is required; it must be a whole number from 1 to %s%d", why, most)
	case v == nil:
		return def
	}
	n, err := strconv.Atoi(string(v))
	switch {
	case err != nil && !isNumber(v):
		r.fail(name, " is %s; it must be a whole number from 1 to %s%d", pleat.Clip(string(v)), why, most)
	case err != nil || n < 1 || n > most:
		r.fail(name, " is %s; it must be from 1 to %s%d", pleat.Clip(string(v)), why, most)
	}
	return n
}

// isNumber reports whether a value is a whole number, of any size.
func isNumber(v json.RawMessage) bool {
	return strings.Trim(strings.TrimPrefix(string(v), "-"), "0123456789") == ""
}

// seed reads a seed: a number or its text.
func (r *paramReader) seed(name string) string {
	v := r.raw(name)
	if v == nil {
		return ""
	}
	text := string(v)
	var s string
	if json.Unmarshal(v, &s) == nil {
		text = strings.TrimSpace(s)
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil || n > pleat.MaxSeed {
		r.fail(name, " is %s; it must be a whole number from 0 to %d", pleat.Clip(string(v)), uint64(pleat.MaxSeed))
		return ""
	}
	return strconv.FormatUint(n, 10)
}

// number reads a number for which ok holds; nil if it is absent. Want describes it.
func (r *paramReader) number(name, want string, ok func(float64) bool) *float64 {
	v := r.raw(name)
	if v == nil {
		return nil
	}
	var f float64
	if json.Unmarshal(v, &f) != nil || math.IsNaN(f) || !ok(f) {
		r.fail(name, " is %s; it must be %s", pleat.Clip(string(v)), want)
	}
	return &f
}

// flag reads true or false; nil if it is absent.
func (r *paramReader) flag(name string) *bool {
	v := r.raw(name)
	if v == nil {
		return nil
	}
	var b bool
	if json.Unmarshal(v, &b) != nil {
		r.fail(name, " is %s; it must be true or false", pleat.Clip(string(v)))
	}
	return &b
}

// letters reads letters of amino acids in any case, in alphabetical order and each once.
func (r *paramReader) letters(name string) string {
	v := r.raw(name)
	if v == nil {
		return ""
	}
	var s string
	err := json.Unmarshal(v, &s)
	known := pleat.KnownLetters(pleat.Protein)
	s = strings.ToUpper(s)
	if err != nil || s == "" || strings.Trim(s, known) != "" {
		r.fail(name, " is %s; it must be letters of amino acids, such as C: %s", pleat.Clip(string(v)), known)
		return ""
	}
	out := []byte(s)
	slices.Sort(out)
	return string(slices.Compact(out))
}
