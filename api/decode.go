package api

import (
	"bytes"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"sync"

	"pleat/internal/words"
)

// MaxDepth is how deep arrays and objects may be nested in a request.
const MaxDepth = 32

// MaxValues is how many values a request may have in all its arrays and objects: 30 for each row of the largest batch.
// A short value takes many times its size in memory.
const MaxValues = 3_000_000

// MaxBody is the size of the largest request body in bytes, unless an operator sets another or the endpoint has a limit
// of its own.
const MaxBody = 10_000_000

// DecodeError is a fault that [Decode] found in a document.
type DecodeError struct {
	Field   string // path of the value at fault, such as sequences[0].proteinChain; empty: the document as a whole
	Message string // one sentence for the caller

	// Unreadable says that the document cannot be read any further, because it is not JSON, is nested too deeply or
	// has too many values. The fault is in no field.
	Unreadable bool
}

// Error returns the message.
func (e *DecodeError) Error() string { return e.Message }

// DecodeErrors are the faults of a document, at most maxFaults. As an error it reads like its first fault; errors.As
// finds the first fault too.
type DecodeErrors []*DecodeError

// maxFaults is the most faults that [Decode] looks for.
const maxFaults = 100

// Error returns the message of the first fault.
func (e DecodeErrors) Error() string { return e[0].Message }

// Unwrap returns the faults.
func (e DecodeErrors) Unwrap() []error {
	all := make([]error, len(e))
	for i := range e {
		all[i] = e[i]
	}
	return all
}

// broken returns an error for a document that cannot be read.
func broken(format string, args ...any) error {
	return &DecodeError{Message: fmt.Sprintf(format, args...), Unreadable: true}
}

// refuse returns an error for the value at p; nil is the document as a whole.
func refuse(p *location, format string, args ...any) error {
	return &DecodeError{Field: p.field(), Message: fmt.Sprintf(format, args...)}
}

// Decode reads one JSON document into v, a pointer, and accepts nothing ambiguous: unknown fields, duplicate keys,
// numbers that do not fit, invalid UTF-8, text after the document, nesting deeper than [MaxDepth] and more than
// [MaxValues] values are faults, each with the path of the value. The error is of type [DecodeErrors]: all faults, or
// the one that makes the document unreadable. Keys are matched exactly. Null leaves a field unchanged. Fields of type
// json.RawMessage are copied as they are. The maxItems tag of a field limits its slice. A byte order mark at the start
// is skipped.
//
// encoding/json accepts all of these, and its errors name Go's fields and byte offsets.
func Decode(data []byte, v any) error { return DecodeAs("the request body", data, v) }

// DecodeAs is [Decode] for a document that is not a request. what names it in messages, such as "the file".
func DecodeAs(what string, data []byte, v any) error {
	d := &decoder{root: &location{name: what}, data: bytes.TrimPrefix(data, []byte("\ufeff"))}
	if err := d.note(d.document(what, v)); err != nil {
		var last *DecodeError
		if errors.As(err, &last); last.Unreadable { // what was read before may be part of something else
			d.faults = nil
		}
		d.faults = append(d.faults, last)
	}
	if len(d.faults) == 0 {
		return nil
	}
	return d.faults
}

// document reads the whole document into v.
func (d *decoder) document(what string, v any) error {
	if at := badUTF8(d.data); at >= 0 {
		return broken("%s is not valid UTF-8: %s", what, d.place(at))
	}
	if d.space(); d.at == len(d.data) {
		return broken("%s is empty; it must be %s", what, shape(v))
	}
	if err := d.note(d.value(reflect.ValueOf(v).Elem(), d.root, 0, 0)); err != nil {
		return err
	}
	if d.space(); d.at < len(d.data) {
		return broken("%s has data after its JSON document, at %s", what, d.place(d.at))
	}
	return nil
}

// note records the fault of a value that was read, so that the values after it are read too. It returns an error if
// the document is unreadable or has enough faults; nil for nil.
func (d *decoder) note(err error) error {
	var fault *DecodeError
	if !errors.As(err, &fault) || fault.Unreadable || len(d.faults) == maxFaults-1 {
		return err
	}
	d.faults = append(d.faults, fault)
	return nil
}

// shape returns what a document for v must be.
func shape(v any) string {
	if reflect.TypeOf(v).Elem().Kind() == reflect.Slice {
		return "a JSON array"
	}
	return "a JSON object"
}

// wrong returns the error for a value of another type than wanted, or the syntax error if the value is not JSON: that
// is the first fault then.
func (d *decoder) wrong(p *location, want string) error {
	if err := d.skip(p, 0); err != nil {
		return err
	}
	if p.isRoot() {
		return refuse(p, "%s must be a JSON %s", p, strings.TrimPrefix(strings.TrimPrefix(want, "an "), "a "))
	}
	return refuse(p, "%s must be %s", p, want)
}

// rawType is the type of the fields that [Decode] copies as they are.
var rawType = reflect.TypeFor[json.RawMessage]()

// value reads the next value into v, which it chooses by the type of v, never by the value: an unexpected type is an
// error. depth is the number of arrays and objects around the value. A slice may have at most most items; 0: no limit.
//
// Null leaves v unchanged, so that it means absent; of the document as a whole it is an error. A type that implements
// encoding.TextUnmarshaler is read from a string.
func (d *decoder) value(v reflect.Value, p *location, depth, most int) error {
	c := d.peek()
	if c == 'n' {
		if err := d.literal("null"); err != nil || !p.isRoot() {
			return err
		}
		return refuse(p, "%s is null; it must be %s", p, shape(v.Addr().Interface()))
	}
	if v.Type() == rawType {
		start := d.at
		if err := d.skip(p, depth); err != nil {
			return err
		}
		v.SetBytes(bytes.Clone(d.data[start:d.at]))
		return nil
	}
	if v.Kind() == reflect.Pointer {
		n := reflect.New(v.Type().Elem())
		if err := d.value(n.Elem(), p, depth, most); err != nil {
			return err
		}
		v.Set(n)
		return nil
	}
	if u, ok := v.Addr().Interface().(encoding.TextUnmarshaler); ok {
		return d.text(u, p, c)
	}
	switch v.Kind() {
	case reflect.Struct:
		if c != '{' {
			return d.wrong(p, "an object")
		}
		return d.object(v, p, depth)
	case reflect.Slice:
		if c != '[' {
			return d.wrong(p, "an array")
		}
		return d.array(v, p, depth, most)
	case reflect.Map:
		if c != '{' {
			return d.wrong(p, "an object")
		}
		return d.mapping(v, p, depth)
	case reflect.Interface:
		return d.free(v, p, depth)
	}
	return d.scalar(v, p, c)
}

// scalar reads a string, a boolean or a number. It panics for a kind of v that no request type has.
func (d *decoder) scalar(v reflect.Value, p *location, c byte) error {
	switch v.Kind() {
	case reflect.String:
		if c != '"' {
			return d.wrong(p, "a string")
		}
		s, err := d.str()
		v.SetString(s)
		return err
	case reflect.Bool:
		switch c {
		case 't':
			v.SetBool(true)
			return d.literal("true")
		case 'f':
			v.SetBool(false)
			return d.literal("false")
		}
		return d.wrong(p, "true or false")
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return d.integer(v, p, c)
	case reflect.Float64:
		if c != '-' && (c < '0' || c > '9') {
			return d.wrong(p, "a number")
		}
		t, err := d.number()
		if err != nil {
			return err
		}
		f, err := strconv.ParseFloat(t, 64)
		if err != nil {
			return refuse(p, "%s is %s; it must be a number of at most 1.8e308", p, words.Clip(t))
		}
		v.SetFloat(f)
		return nil
	}
	panic("api: Decode into " + v.Type().String())
}

// integer reads an integer, which may be written as 3, 3.0 or 3e0. It accepts no number that would lose digits.
func (d *decoder) integer(v reflect.Value, p *location, c byte) error {
	if c != '-' && (c < '0' || c > '9') {
		return d.wrong(p, "an integer")
	}
	t, err := d.number()
	if err != nil {
		return err
	}
	n, err := strconv.ParseInt(t, 10, 64)
	if err != nil {
		const exact = 1 << 53
		f, ferr := strconv.ParseFloat(t, 64)
		switch {
		case !strings.ContainsAny(t, ".eE") || ferr != nil || f > exact || f < -exact:
			return refuse(p, "%s is %s; it must be an integer of at most 9007199254740992", p, words.Clip(t))
		case f != float64(int64(f)):
			return refuse(p, "%s must be an integer", p)
		}
		n = int64(f)
	}
	if v.OverflowInt(n) {
		return refuse(p, "%s is %s; it is out of range", p, words.Clip(t))
	}
	v.SetInt(n)
	return nil
}

// text reads a string into a type that converts and checks it, such as Time.
func (d *decoder) text(u encoding.TextUnmarshaler, p *location, c byte) error {
	if c != '"' {
		return d.wrong(p, "a string")
	}
	s, err := d.str()
	if err != nil {
		return err
	}
	if err := u.UnmarshalText([]byte(s)); err != nil {
		return refuse(p, "%s: %v", p, err)
	}
	return nil
}

// free reads a value of any type: map[string]any, []any, string, json.Number, bool or nil. skip has checked its syntax
// and its depth before encoding/json reads it.
func (d *decoder) free(v reflect.Value, p *location, depth int) error {
	start := d.at
	if err := d.skip(p, depth); err != nil {
		return err
	}
	dec := json.NewDecoder(bytes.NewReader(d.data[start:d.at]))
	dec.UseNumber()
	var a any
	if err := dec.Decode(&a); err != nil {
		return refuse(p, "%s: %v", p, err)
	}
	v.Set(reflect.ValueOf(&a).Elem())
	return nil
}

// object reads an object into a struct. Afterwards it calls the method check of the struct, if it has one, for rules
// that types cannot express.
func (d *decoder) object(v reflect.Value, p *location, depth int) error {
	fields := fieldsOf(v.Type())
	seen := make([]bool, len(fields.all))
	before := len(d.faults)
	err := d.entries(p, depth, func(key string) error {
		i, ok := fields.at[key]
		at := &location{up: p, name: key}
		switch {
		case !ok:
			return d.instead(at, depth, unknown(key, p, fields))
		case seen[i]:
			return d.instead(at, depth, refuse(at, "duplicate key %q in %s", words.Clip(key), p))
		}
		seen[i] = true
		f := fields.all[i]
		return d.note(d.value(v.FieldByIndex(f.index), at, depth+1, f.most))
	})
	if err != nil || len(d.faults) > before { // what a field lacks may be in the one with the fault
		return err
	}
	if c, ok := v.Addr().Interface().(interface{ check(p *location) error }); ok {
		return c.check(p)
	}
	return nil
}

// instead reads over a value that has no place, and records its fault.
func (d *decoder) instead(p *location, depth int, fault error) error {
	if err := d.skip(p, depth+1); err != nil {
		return err
	}
	return d.note(fault)
}

// unknown returns the error for a key that the object must not have. It suggests the nearest field, or lists all of
// them if none is near.
func unknown(key string, p *location, fields *fieldTable) error {
	names := make([]string, len(fields.all))
	for i, f := range fields.all {
		names[i] = f.name
	}
	if near := words.Nearest(key, names); near != "" {
		return refuse(&location{up: p, name: key}, "unknown field %q in %s; did you mean %q?", words.Clip(key), p, near)
	}
	return refuse(&location{up: p, name: key}, "unknown field %q in %s; it may have %s",
		words.Clip(key), p, strings.Join(names, ", "))
}

// mapping reads an object into a map, whose keys are free.
func (d *decoder) mapping(v reflect.Value, p *location, depth int) error {
	m := reflect.MakeMap(v.Type())
	err := d.entries(p, depth, func(key string) error {
		k := reflect.ValueOf(key).Convert(v.Type().Key())
		at := &location{up: p, name: key}
		if m.MapIndex(k).IsValid() {
			return d.instead(at, depth, refuse(at, "duplicate key %q in %s", words.Clip(key), p))
		}
		e := reflect.New(v.Type().Elem()).Elem()
		if err := d.value(e, at, depth+1, 0); err != nil {
			return d.note(err)
		}
		m.SetMapIndex(k, e)
		return nil
	})
	v.Set(m)
	return err
}

// array reads an array into a slice. A null element is an error, since a slice has no absent elements.
func (d *decoder) array(v reflect.Value, p *location, depth, most int) error {
	out, n := reflect.MakeSlice(v.Type(), 0, 0), 0
	at := &location{up: p} // of one element after the other: faults keep its text
	err := d.elements(p, depth, func(i int) error {
		at.index = i
		if n = i + 1; most > 0 && n > most { // items beyond the limit are only counted, for the message
			return d.skip(at, depth+1)
		}
		if d.peek() == 'n' {
			if err := d.literal("null"); err != nil {
				return err
			}
			return d.note(refuse(at, "%s is null; it must have a value", at))
		}
		e := reflect.New(v.Type().Elem()).Elem()
		if err := d.note(d.value(e, at, depth+1, 0)); err != nil {
			return err
		}
		out = reflect.Append(out, e)
		return nil
	})
	if err == nil && most > 0 && n > most {
		return refuse(p, "%s has %d items; at most %d are allowed", p, n, most)
	}
	v.Set(out)
	return err
}

// field is a field of a struct as JSON has it.
type field struct {
	name  string // key in the object
	index []int  // for reflect.Value.FieldByIndex, through embedded structs
	most  int    // its maxItems tag; 0: no limit
}

// fieldTable lists the fields of a struct type.
type fieldTable struct {
	all []field
	at  map[string]int // index in all, by name
}

// tables caches the table of each struct type: reflect.Type → *fieldTable.
var tables sync.Map

// fieldsOf returns the fields of a struct type, with those of embedded structs, as encoding/json would write them.
func fieldsOf(t reflect.Type) *fieldTable {
	if got, ok := tables.Load(t); ok {
		return got.(*fieldTable)
	}
	out := &fieldTable{at: map[string]int{}}
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if !f.IsExported() || f.Anonymous || name == "-" || name == "" {
			continue
		}
		most, _ := strconv.Atoi(f.Tag.Get("maxItems"))
		out.at[name] = len(out.all)
		out.all = append(out.all, field{name, f.Index, most})
	}
	tables.Store(t, out)
	return out
}
