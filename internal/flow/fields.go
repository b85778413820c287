package flow

import (
	"cmp"
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"pleat"
	"pleat/internal/words"
)

// fields reads a JSON object field by field. A field that cannot be read has the zero value or its default, and a fault
// is added to faults. Field names are those of the API; both spellings of each are read.
type fields struct {
	path   string                     // of the object, such as workflow_input.config
	raws   map[string]json.RawMessage // by name as given
	known  []string                   // the names that were read, in the spelling of the documentation
	spelt  map[string]bool            // every spelling of known
	nested []*fields                  // the objects in fields of this one that were read
	faults *pleat.Errors              // shared by nested objects
	notes  *pleat.Notes               // shared by nested objects
}

// open parses an object. If it is not one, that is the only fault, see refuse, and every field is absent.
func open(raw json.RawMessage, path string) *fields {
	f := &fields{path: path, faults: new(pleat.Errors), notes: new(pleat.Notes)}
	if err := json.Unmarshal(raw, &f.raws); err != nil || f.raws == nil {
		f.fail(cmp.Or(path, "the body"), " must be a JSON object")
	}
	return f
}

// fail refuses the value at the path field; see pleat.InvalidField.
func (f *fields) fail(field, format string, args ...any) {
	f.refuse(pleat.InvalidField(field, format, args...))
}

// refuse adds the faults of err, except those of a field that is known to be at fault, or lies in such a field: they
// follow from the first.
func (f *fields) refuse(err error) {
	for _, fault := range pleat.ErrorsOf(err) {
		follows := func(e *pleat.Error) bool { return within(fault.Field, e.Field) }
		if !slices.ContainsFunc(*f.faults, follows) {
			_ = f.faults.Add(fault)
		}
	}
}

// within reports whether path is the field at a path, or lies in it.
func within(path, field string) bool {
	return path == field || strings.HasPrefix(path, field+".")
}

// ok reports whether no fault was found in the fields of these names. Checks that depend on a field with a fault can be
// left out.
func (f *fields) ok(names ...string) bool {
	return !slices.ContainsFunc(names, func(name string) bool {
		return slices.ContainsFunc(*f.faults, func(e *pleat.Error) bool { return within(e.Field, f.pathOf(name)) })
	})
}

// raw returns a field's value under any spelling of any of its names; nil if it is absent or null.
func (f *fields) raw(names ...string) json.RawMessage {
	var found json.RawMessage
	under := ""
	for _, n := range names {
		f.know(n)
		for _, s := range spellings(n) {
			v, ok := f.raws[s]
			if !ok || string(v) == "null" {
				continue
			}
			if under != "" {
				f.refuse(pleat.Invalidf("%s names one field twice: %s and %s", f.path, under, s).At(f.pathOf(s)))
			}
			found, under = v, s
		}
	}
	return found
}

// know records that fields of these names exist.
func (f *fields) know(names ...string) {
	for _, n := range names {
		if slices.Contains(f.known, n) {
			continue
		}
		f.known = append(f.known, n)
		if f.spelt == nil {
			f.spelt = map[string]bool{}
		}
		for _, s := range spellings(n) {
			f.spelt[s] = true
		}
	}
}

// spellings returns a name in snake_case and in camelCase.
func spellings(name string) []string {
	if name == "pH" {
		return []string{name}
	}
	var snake, camel strings.Builder
	up := false
	for _, r := range name {
		switch {
		case r == '_':
			snake.WriteRune(r)
			up = true
			continue
		case unicode.IsUpper(r):
			snake.WriteByte('_')
			snake.WriteRune(unicode.ToLower(r))
		default:
			snake.WriteRune(r)
		}
		if up {
			r = unicode.ToUpper(r)
		}
		camel.WriteRune(r)
		up = false
	}
	if snake.String() == camel.String() {
		return []string{name}
	}
	return []string{snake.String(), camel.String()}
}

// pathOf returns the path of a field.
func (f *fields) pathOf(name string) string {
	if f.path == "" {
		return name
	}
	return f.path + "." + name
}

// string reads a string of at most most bytes under any of its names; empty if it is absent.
func (f *fields) string(name string, most int, others ...string) string {
	raw := f.raw(append([]string{name}, others...)...)
	if raw == nil {
		return ""
	}
	var s string
	if json.Unmarshal(raw, &s) != nil {
		f.fail(f.pathOf(name), " is %s; it must be a string", clip(raw))
		return ""
	}
	if len(s) > most {
		f.fail(f.pathOf(name), " has %d bytes; at most %d are allowed", len(s), most)
		return ""
	}
	if !utf8.ValidString(s) {
		f.fail(f.pathOf(name), " is not valid UTF-8")
	}
	return s
}

// polymer reads a string as [fields.string] does, without the sign of its end, which is noted.
func (f *fields) polymer(name string, most int) string {
	s := f.string(name, most)
	if cut, ended := pleat.CutEnd(s); ended {
		s = cut
		*f.notes = append(*f.notes, pleat.Note{Field: f.pathOf(name), Message: pleat.EndDropped})
	}
	return s
}

// protein returns a sequence of amino acids in capitals without spaces. has says who has which letters, for messages.
func (f *fields) protein(name string, most int, has string) string {
	written := f.polymer(name, most)
	if pleat.HasThreeLetterCodes(written) {
		f.fail(f.pathOf(name), " has codes of three letters; a residue is one letter")
		return ""
	}
	s := strings.Join(strings.Fields(written), "")
	for i, r := range []rune(s) {
		if r > unicode.MaxASCII || !strings.ContainsRune(aminoAcids, unicode.ToUpper(r)) {
			f.fail(f.pathOf(name), ", residue %d: %s; %s the letters %s", i+1, pleat.NotALetter(pleat.Protein, r), has,
				aminoAcids)
			break
		}
	}
	return strings.ToUpper(s)
}

// enum reads one of several words; def if it is absent.
func (f *fields) enum(name, def string, words []string, others ...string) string {
	s := f.string(name, 64, others...)
	switch {
	case s == "":
		return def
	case slices.Contains(words, s):
		return s
	}
	f.failWord(name, s, words)
	return def
}

// failWord refuses a word that is none of those that a field takes.
func (f *fields) failWord(name, got string, words []string) {
	if n := pleat.Nearest(got, words); n != "" {
		f.fail(f.pathOf(name), " is %q; did you mean %q?", pleat.Clip(got), n)
	} else {
		f.fail(f.pathOf(name), " is %q; it must be %s", pleat.Clip(got), strings.Join(words, ", "))
	}
}

// uuid reads a UUID in lower case; empty if it is absent.
func (f *fields) uuid(name string, others ...string) string {
	s := f.string(name, 64, others...)
	if s != "" && !pleat.IsUUID(s) {
		f.fail(f.pathOf(name), " is %q; it must be a UUID", pleat.Clip(s))
	}
	return strings.ToLower(s)
}

// number reads a finite number; def if it is absent.
func (f *fields) number(name string, def float64) float64 {
	raw := f.raw(name)
	if raw == nil {
		return def
	}
	var v float64
	if json.Unmarshal(raw, &v) != nil || math.IsNaN(v) || math.IsInf(v, 0) {
		f.fail(f.pathOf(name), " is %s; it must be a number", clip(raw))
		return def
	}
	return v
}

// flag reads true or false; false if it is absent.
func (f *fields) flag(name string) bool {
	raw := f.raw(name)
	if raw == nil {
		return false
	}
	var v bool
	if json.Unmarshal(raw, &v) != nil {
		f.fail(f.pathOf(name), " is %s; it must be true or false", clip(raw))
	}
	return v
}

// object returns a nested object; nil if it is absent. Its faults are added to those of f. A nil f has no objects.
func (f *fields) object(name string) *fields {
	if f == nil {
		return nil
	}
	raw := f.raw(name)
	if raw == nil {
		return nil
	}
	in := f.within(f.pathOf(name))
	if json.Unmarshal(raw, &in.raws) != nil || in.raws == nil {
		f.fail(in.path, " is %s; it must be an object", clip(raw))
	}
	return in
}

// within returns an object in a field of f, which has no fields yet.
func (f *fields) within(path string) *fields {
	in := &fields{path: path, faults: f.faults, notes: f.notes}
	f.nested = append(f.nested, in)
	return in
}

// require refuses an empty value of a field that the source of the structure needs.
func require[T ~string](f *fields, value T, name string) {
	if value == "" {
		f.fail(f.pathOf(name), " is required where the source is %s", f.sourceName())
	}
}

// sourceName returns the kind of source in the caller's spelling, for messages.
func (f *fields) sourceName() string {
	for _, n := range []string{"targetSource", "target_source", "sourceType", "source_type"} {
		if v := f.raws[n]; v != nil {
			return clip(v)
		}
	}
	return "given so"
}

// maxUnknown is how many unknown fields an object may have where they are compared with the known ones.
const maxUnknown = 200

// unknown returns the fields that no call has read and that are not null, in order. More than maxUnknown are a fault,
// and none is returned.
func (f *fields) unknown() []string {
	var out []string
	for _, k := range slices.Sorted(maps.Keys(f.raws)) {
		if !f.spelt[k] && string(f.raws[k]) != "null" {
			out = append(out, k)
		}
	}
	if len(out) > maxUnknown {
		f.fail(f.path, " has %d unknown fields; at most %d are allowed", len(out), maxUnknown)
		return nil
	}
	return out
}

// inside returns a fault of one of the object's fields with its whole path. The message of fault starts with its Field.
func (f *fields) inside(fault *pleat.Error) error {
	return &pleat.Error{Code: fault.Code, Field: f.pathOf(fault.Field), Message: f.pathOf(fault.Message)}
}

// failUnknown refuses a field that does not exist, with the name that was probably meant.
func (f *fields) failUnknown(name, hint string) {
	f.refuse(pleat.Invalidf("unknown field %q in %s; did you mean %q?", pleat.Clip(name), f.path, hint).
		At(f.pathOf(name)))
}

// clip shortens a value for a message.
func clip(raw json.RawMessage) string { return pleat.Clip(string(raw)) }

// misspells returns the name that was read so far of which a name is a misspelling, in the spelling of the request; ""
// if there is none.
func (f *fields) misspells(name string) string {
	for _, known := range f.known {
		if words.Misspells(name, known) {
			return f.spell(name, known)
		}
	}
	return ""
}

// spell returns the name of a field in the spelling of the request: that of the name which is there instead, else that
// of its other fields, else that of the documentation.
func (f *fields) spell(got, name string) string {
	both := spellings(name)
	if len(both) == 1 || strings.Contains(name, ".") {
		return name
	}
	isCamel := func(s string) bool { return strings.ContainsFunc(s, unicode.IsUpper) }
	isSnake := func(s string) bool { return strings.Contains(s, "_") }
	keys := slices.Sorted(maps.Keys(f.raws))
	switch {
	case isSnake(got):
		return both[0]
	case isCamel(got):
		return both[1]
	case slices.ContainsFunc(keys, isCamel) && !slices.ContainsFunc(keys, isSnake):
		return both[1]
	case slices.ContainsFunc(keys, isSnake) && !slices.ContainsFunc(keys, isCamel):
		return both[0]
	}
	return name
}

// failMisspelt refuses unknown fields that misspell one that was read, and reports whether there are any.
func (f *fields) failMisspelt() (found bool) {
	for _, name := range f.unknown() {
		if hint := f.misspells(name); hint != "" {
			f.failUnknown(name, hint)
			found = true
		}
	}
	return found
}

// refuseUnknown refuses every field that no call has read, here and in nested objects.
func (f *fields) refuseUnknown() {
	for _, name := range f.unknown() {
		if near := words.Nearest(name, f.known); near != "" {
			f.failUnknown(name, f.spell(name, near))
			continue
		}
		f.refuse(pleat.Invalidf("unknown field %q in %s; it may have %s", pleat.Clip(name), f.path,
			strings.Join(f.known, ", ")).At(f.pathOf(pleat.Clip(name))))
	}
	for _, in := range f.nested {
		in.refuseUnknown()
	}
}
