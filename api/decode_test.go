package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const good = `{"name":"x","isPublic":true,"sequences":[
 {"proteinChain":{"sequence":"ACD","count":2.0,"modifications":[{"res_idx":1,"ccd":"SEP"}]},"sourceSequenceId":null},
 {"ligandSequence":{"sequence":"ATP","is_ccd":true},"proteinChain":null}],
 "params":{"modelName":"mini","seed":"7","stepScale":1.5e0,"recyclingSteps":3},
 "constraints":{"webhooks":{"qna":{"enabled":true,"x":[1,{"y":null}]}}},"chatId":null}`

func TestDecode(t *testing.T) {
	t.Parallel()
	var got CreateJob
	if err := Decode([]byte(good), &got); err != nil {
		t.Fatal(err)
	}
	two, seed, scale, recycles := 2, "7", 1.5, int64(3)
	want := CreateJob{
		Name: "x", IsPublic: true,
		Sequences: []SequenceItem{
			{ProteinChain: &Polymer{Sequence: "ACD", Count: &two, Modifications: []Modification{{1, "SEP"}}}},
			{LigandSequence: &LigandSequence{Sequence: "ATP", IsCCD: true}},
		},
		Params:      &Params{ModelName: "mini", Seed: &seed, StepScale: &scale, RecyclingSteps: &recycles},
		Constraints: &Constraints{Webhooks: json.RawMessage(`{"qna":{"enabled":true,"x":[1,{"y":null}]}}`)},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(map[string]any{"seed": "7", "stepScale": 1.5, "recyclingSteps": int64(3)},
		got.Params.Values()); d != "" {
		t.Error(d)
	}
}

// A document of many short values is refused after MaxValues of them: each takes many times its size in memory.
func TestDecodeRefusesManyValues(t *testing.T) {
	t.Parallel()
	const want = "the request body has more than 3000000 values in its arrays and objects"
	var in struct {
		Webhooks json.RawMessage `json:"webhooks"`
	}
	for _, more := range []int{0, 1} {
		err := Decode([]byte(`{"webhooks":[`+strings.Repeat("0,", MaxValues-2+more)+`0]}`), &in)
		var all DecodeErrors
		if refused := errors.As(err, &all); refused != (more > 0) ||
			refused && (len(all) != 1 || !all[0].Unreadable || err.Error() != want) {
			t.Errorf("%d more: %v", more, err)
		}
	}
	for body, v := range map[string]any{
		`[1,2]`: new([]int), `{"a":{},"b":1}`: new(map[string]any), `[{"a":1}]`: new([]any),
	} {
		d := decoder{root: &location{name: "the request body"}, data: []byte(body), values: MaxValues - 1}
		if err := d.document("the request body", v); err == nil || err.Error() != want {
			t.Errorf("%s: %v", body, err)
		}
	}
}

// Every way to get a request wrong has its sentence.
func TestDecodeRefuses(t *testing.T) {
	t.Parallel()
	deep := func(n int) string { return strings.Repeat(`[`, n) + strings.Repeat(`]`, n) }
	for _, c := range []struct{ name, body, want string }{
		{"nothing", ``, `the request body is empty; it must be a JSON object`},
		{"spaces", " \n", `the request body is empty; it must be a JSON object`},
		{"null", `null`, `the request body is null; it must be a JSON object`},
		{"not JSON", `name=x`, `the request body is not JSON: line 1, column 1: unexpected 'n'`},
		{"yaml", `hello: x`, `the request body is not JSON: line 1, column 1: unexpected 'h'`},
		{"array", `[]`, `the request body must be a JSON object`},
		{"string", `"x"`, `the request body must be a JSON object`},
		{"cut off", `{"name":"x"`, `the request body is not JSON: it ends too early, at line 1, column 12`},
		{"cut off in a string", `{"name":"x`, `the request body is not JSON: it ends too early, at line 1, column 11`},
		{"cut off in an escape", `{"name":"x\`, `the request body is not JSON: it ends too early, at line 1, column 12`},
		{"trailing comma", `{"name":"x",}`, `the request body is not JSON: line 1, column 13: unexpected '}': no comma may stand before it`},
		{"trailing", `{} {}`, `the request body has data after its JSON document, at line 1, column 4`},
		{"leading zero", `{"params":{"recyclingSteps":01}}`, `the request body is not JSON: line 1, column 30: unexpected '1'`},
		{"bare minus", `{"params":{"recyclingSteps":-}}`, `the request body is not JSON: line 1, column 30: unexpected '}'`},
		{"single quotes", `{'name':1}`, `the request body is not JSON: line 1, column 2: text in JSON stands in double quotes, not in single ones`},
		{"control in string", "{\"name\":\"a\nb\"}", `the request body is not JSON: line 1, column 11: the line ends inside of text; a double quote is missing, or the end of a line is written \n`},
		{"bad escape", `{"name":"\x"}`, `the request body is not JSON: line 1, column 10: a backslash in JSON text is written twice`},
		{"half a pair", `{"name":"\ud800"}`, `the request body has half of a surrogate pair at line 1, column 10`},
		{"invalid UTF-8", "{\"name\":\"\xff\"}", `the request body is not valid UTF-8: line 1, column 10`},
		{"name is a number", `{"name":5}`, `name must be a string`},
		{"isPublic is a string", `{"isPublic":"true"}`, `isPublic must be true or false`},
		{"sequences is an object", `{"sequences":{}}`, `sequences must be an array`},
		{"item is a string", `{"sequences":["ACD"]}`, `sequences[0] must be an object`},
		{"item is null", `{"sequences":[null]}`, `sequences[0] is null; it must have a value`},
		{"count is text",
			`{"sequences":[{"proteinChain":{"sequence":"A"}},{"dnaSequence":{}},{"proteinChain":{"count":"2"}}]}`,
			`sequences[2].proteinChain.count must be an integer`},
		{"count is 1.5", `{"sequences":[{"proteinChain":{"count":1.5}}]}`,
			`sequences[0].proteinChain.count must be an integer`},
		{"count is huge", `{"sequences":[{"proteinChain":{"count":99999999999999999999}}]}`,
			`sequences[0].proteinChain.count is 99999999999999999999; it must be an integer of at most 9007199254740992`},
		{"count is 1e400", `{"sequences":[{"proteinChain":{"count":1e400}}]}`,
			`sequences[0].proteinChain.count is 1e400; it must be an integer of at most 9007199254740992`},
		{"scale is 1e999", `{"params":{"stepScale":1e999}}`,
			`params.stepScale is 1e999; it must be a number of at most 1.8e308`},
		{"scale is NaN", `{"params":{"stepScale":NaN}}`, `the request body is not JSON: line 1, column 24: NaN is no value of JSON; it has null`},
		{"seed is a number", `{"params":{"seed":7}}`, `params.seed must be a string`},
		{"model", `{"params":{"model":"mini"}}`, `unknown field "model" in params; did you mean "modelName"?`},
		{"case", `{"params":{"modelname":"mini"}}`, `unknown field "modelname" in params; did you mean "modelName"?`},
		{"top level", `{"sequence":[]}`, `unknown field "sequence" in the request body; did you mean "sequences"?`},
		{"nothing near", `{"favourite_colour":1}`,
			`unknown field "favourite_colour" in the request body; it may have name, isPublic, sequences, params, constraints, chatId, projectId`},
		{"unprintable key", "{\"\\u0007\":1}",
			`unknown field "�" in the request body; it may have name, isPublic, sequences, params, constraints, chatId, projectId`},
		{"protein", `{"sequences":[{"protein":{}}]}`,
			`unknown field "protein" in sequences[0]; did you mean "proteinChain"?`},
		{"twice", `{"name":"a","name":"b"}`, `duplicate key "name" in the request body`},
		{"twice inside", `{"sequences":[{"proteinChain":{"sequence":"A","sequence":"B"}}]}`,
			`duplicate key "sequence" in sequences[0].proteinChain`},
		{"twice in webhooks", `{"constraints":{"webhooks":{"qna":{"a":1,"a":2}}}}`,
			`duplicate key "a" in constraints.webhooks.qna`},
		{"two kinds", `{"sequences":[{"proteinChain":{"sequence":"A"},"ligandSequence":{"sequence":"C"}}]}`,
			`sequences[0] must have exactly one of proteinChain, rnaSequence, dnaSequence, ligandSequence; it has proteinChain and ligandSequence`},
		{"no kind", `{"sequences":[{}]}`,
			`sequences[0] must have exactly one of proteinChain, rnaSequence, dnaSequence, ligandSequence; it has none of them`},
		{"null kind", `{"sequences":[{"proteinChain":null}]}`,
			`sequences[0] must have exactly one of proteinChain, rnaSequence, dnaSequence, ligandSequence; it has none of them`},
		{"10,000 items", `{"sequences":[` + strings.Repeat(`{"proteinChain":{"sequence":"A"}},`, 9999) +
			`{"proteinChain":{"sequence":"A"}}]}`, `sequences has 10000 items; at most 256 are allowed`},
		{"deep", `{"constraints":{"webhooks":{"qna":` + deep(40) + `}}}`, `constraints.webhooks.qna` +
			strings.Repeat(`[0]`, 29) + ` is nested more than 32 levels deep`},
		{"deep at the top", deep(100000), strings.Repeat(`[0]`, 32) + ` is nested more than 32 levels deep`},
	} {
		t.Run(c.name, func(t *testing.T) {
			var v CreateJob
			err := Decode([]byte(c.body), &v)
			var r *DecodeError
			if !errors.As(err, &r) {
				t.Fatalf("got %v, want a DecodeError", err)
			}
			if r.Message != c.want {
				t.Errorf("\ngot  %s\nwant %s", r.Message, c.want)
			}
		})
	}
}

// Every error has the path of the value at fault, and none for the document as a whole.
func TestDecodeField(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		``:                           "",
		`[]`:                         "",
		`{"name"`:                    "",
		`{} {}`:                      "",
		`{"name":5}`:                 "name",
		`{"name":"a","name":"b"}`:    "name",
		`{"title":"x"}`:              "title",
		`{"params":{"model":"x"}}`:   "params.model",
		`{"sequences":[{}]}`:         "sequences[0]",
		`{"sequences":[null]}`:       "sequences[0]",
		`{"params":{"seed":1}}`:      "params.seed",
		`{"constraints":{"bond":5}}`: "constraints.bond",
		`{"sequences":[{"proteinChain":{"sequence":"A"}},{"proteinChain":{"sequence":5}}]}`: "sequences[1].proteinChain.sequence",
		`{"constraints":{"webhooks":{"a":[{"b":1,"b":2}]}}}`:                                "constraints.webhooks.a[0].b",
	} {
		err := Decode([]byte(body), new(CreateJob))
		var fault *DecodeError
		if !errors.As(err, &fault) || fault.Field != want {
			t.Errorf("%s: %v with the field %q, want %q", body, err, fault.Field, want)
		}
	}
}

func TestDecodeAtTheLimit(t *testing.T) {
	t.Parallel()
	in := `{"constraints":{"webhooks":{"qna":` + strings.Repeat(`[`, 29) + strings.Repeat(`]`, 29) + `}}}`
	if err := Decode([]byte(in), new(CreateJob)); err != nil {
		t.Error(err)
	}
	in = `{"name":"\ud83d\ude00\u00e9\\\/\"\b"}`
	var v CreateJob
	if err := Decode([]byte(in), &v); err != nil || v.Name != "😀é\\/\"\b" {
		t.Errorf("%q %v", v.Name, err)
	}
}

// Input that Decode takes, encoding/json takes and reads alike; input that encoding/json refuses, Decode refuses.
func FuzzDecode(f *testing.F) {
	f.Add([]byte(good))
	f.Add([]byte(`{"name":"\ud83d\ude00","params":{"stepScale":-0.5E-3}}`))
	f.Add([]byte(`{"sequences":[{"rnaSequence":{"sequence":"ACGU","count":1e0}}]}`))
	f.Add([]byte(`{"constraints":{"contact":[{"chainA":"A","res_idxA":1,"chainB":"B","res_idxB":2,"distance":8}]}}`))
	f.Add([]byte("\ufeff{'name': None,\n\"x\": C:\\users, // a\n}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		var got CreateJob
		err := Decode(data, &got)
		data = bytes.TrimPrefix(data, []byte("\ufeff"))
		if err != nil {
			var r *DecodeError
			if !errors.As(err, &r) || r.Message == "" || len(r.Message) > 4000 {
				t.Fatalf("not one sentence: %v", err)
			}
			return
		}
		if !json.Valid(data) {
			t.Fatalf("took what is not JSON: %q", data)
		}
		var want CreateJob
		if err := json.Unmarshal(data, &want); err != nil {
			if strings.Contains(err.Error(), "number") { // 3.0 and 3e0 are integers here
				return
			}
			t.Fatalf("took what encoding/json refuses: %v", err)
		}
		a, _ := json.Marshal(got)
		b, _ := json.Marshal(want)
		if string(a) != string(b) {
			t.Fatalf("read otherwise than encoding/json:\n%s\n%s", a, b)
		}
	})
}

// A text that encoding/json refuses is refused with its place, whatever its size.
func TestCheckSyntax(t *testing.T) {
	t.Parallel()
	many := "[" + strings.Repeat("0,", MaxValues) + "0"
	for text, want := range map[string]string{
		`{"a":[1,2]}`:             "",
		`{"a":1,"a":2}`:           "", // encoding/json takes the last one
		many + "]":                "",
		"":                        "it is empty; it must be a JSON document",
		" \n":                     "it is empty; it must be a JSON document",
		"{\"a\":\n[1,]}":          `it is not JSON: line 2, column 4: unexpected ']': no comma may stand before it`,
		`{"a":NaN}`:               "it is not JSON: line 1, column 6: NaN is no value of JSON; it has null",
		`{} {}`:                   "it has data after its JSON document, at line 1, column 4",
		`{"a":`:                   "it is not JSON: it ends too early, at line 1, column 6",
		"\ufeff{}":                "it is not JSON: line 1, column 1: unexpected U+FEFF (a byte order mark)",
		"\x00":                    `it is not JSON: line 1, column 1: unexpected '\x00'`,
		many + "x":                fmt.Sprintf(`it is not JSON: line 1, column %d: unexpected 'x'`, len(many)+1),
		strings.Repeat("[", 1000): strings.Repeat("[0]", 32) + " is nested more than 32 levels deep",
	} {
		if err := CheckSyntax("it", []byte(text)); err == nil && want != "" || err != nil && err.Error() != want {
			t.Errorf("%.20q: %v; want %s", text, err, want)
		}
	}
}
