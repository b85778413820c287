package design

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pleat"
)

// example is the graph that docs show.
const example = `version: 1
jobs:
  begin: {type: start}
  what:
    type: input
    subType: design_specification_yml
    inputPayload: {inputYML: binder.yaml, inputYMLLibraryItemId: 01a201ab-35af-701a-8285-79d3e5419cee,
                   files: [{libraryItemId: 01a201ab-3574-7c52-acd6-b786c377249b, fileName: target.cif}]}
  make: {type: pipeline, subType: design, inputPayload: {protocolName: peptide-anything, numDesigns: 40, budget: 4}}
  finish: {type: end}
workflows:
  main: {jobs: [begin, {what: {requires: [begin]}}, {make: {requires: [what]}}, {finish: {requires: [make]}}]}
`

const (
	itemA = "01a201ab-35af-701a-8285-79d3e5419cee"
	itemB = "01a201ab-3574-7c52-acd6-b786c377249b"
)

func TestReadGraph(t *testing.T) {
	g, err := ReadGraph([]byte(example))
	if err != nil {
		t.Fatal(err)
	}
	want := &Plan{
		Params:   Params{DesignParams: pleat.DesignParams{Protocol: "peptide-anything", Designs: 40, Budget: 4}},
		Pipeline: "make",
		Payload: map[string]any{"protocolName": "peptide-anything", "numDesigns": json.Number("40"),
			"budget": json.Number("4")},
		Main:  Reference{itemA, "binder.yaml", "jobs.what.inputPayload.inputYML"},
		Files: []Reference{{itemB, "target.cif", "jobs.what.inputPayload.files[0]"}},
	}
	if d := cmp.Diff(want, g.Plan()); d != "" {
		t.Errorf("plan (-want +got):\n%s", d)
	}
	got, err := json.Marshal(g)
	if err != nil {
		t.Fatal(err)
	}
	wantJSON := `{"nodes":[` +
		`{"data":{"description":null,"label":"begin","subType":null},"id":"begin","inputPayload":{},` +
		`"position":{"x":0,"y":0},"type":"start","workflowTaskTypeId":null},` +
		`{"data":{"description":null,"label":"what","subType":"design_specification_yml"},"id":"what",` +
		`"inputPayload":{"files":[{"fileName":"target.cif","libraryItemId":"` + itemB + `"}],` +
		`"inputYML":"binder.yaml","inputYMLLibraryItemId":"` + itemA + `"},` +
		`"position":{"x":0,"y":0},"type":"input","workflowTaskTypeId":"input_design_spec_v1"},` +
		`{"data":{"description":null,"label":"make","subType":"design"},"id":"make",` +
		`"inputPayload":{"budget":4,"numDesigns":40,"protocolName":"peptide-anything"},` +
		`"position":{"x":0,"y":0},"type":"pipeline","workflowTaskTypeId":"pipeline_run_design_v1"},` +
		`{"data":{"description":null,"label":"finish","subType":null},"id":"finish","inputPayload":{},` +
		`"position":{"x":0,"y":0},"type":"end","workflowTaskTypeId":null}],` +
		`"edges":[{"id":"begin:what","source":"begin","target":"what"},` +
		`{"id":"what:make","source":"what","target":"make"},{"id":"make:finish","source":"make","target":"finish"}]}`
	if d := cmp.Diff(wantJSON, string(got)); d != "" {
		t.Errorf("graph (-want +got):\n%s", d)
	}
}

// The files of all nodes that the spec sees are bounded together.
func TestFilesOfNodesAreBounded(t *testing.T) {
	var parts, names []string
	for i := range 3 {
		var files []string
		for k := range 22 {
			files = append(files, fmt.Sprintf("{libraryItemId: %s, fileName: f%d.cif}", itemB, 22*i+k))
		}
		name := fmt.Sprintf("part%d", i)
		names = append(names, name)
		parts = append(parts, fmt.Sprintf("  %s: {type: input, subType: design_specification_yml, inputPayload: "+
			"{inputYML: %s.yaml, inputYMLLibraryItemId: %s, files: [%s]}}\n", name, name, itemA, strings.Join(files, ", ")))
	}
	text := strings.Replace(example, "jobs:\n", "jobs:\n"+strings.Join(parts, ""), 1)
	text = strings.Replace(text, "[begin, {what: {requires: [begin]}}", "[begin, {part0: {requires: [begin]}}, "+
		"{part1: {requires: [begin]}}, {part2: {requires: [begin]}}, {what: {requires: ["+strings.Join(names, ", ")+"]}}", 1)
	_, err := ReadGraph([]byte(text))
	const want = "jobs.part2.inputPayload.files[16] is one file too many: the node what sees 70, with those of the " +
		"nodes before it; at most 64 are allowed"
	if err == nil || err.Error() != want {
		t.Errorf("%v\nwant %s", err, want)
	}
}

// A graph of other clients has the other spelling, labels, places, fields that nobody knows, and parts upstream.
func TestReadGraphOfOthers(t *testing.T) {
	g, err := ReadGraph([]byte(`{"version": 1, "kind": "export", "jobs": {
 "s": {"type": "start"}, "e": {"type": "end", "color": "red"},
 "part": {"type": "input", "workflowTaskTypeId": "input_design_spec_boltzgen_v1", "inputPayload":
   {"inputYML": "part.yaml", "inputYMLLibraryItemId": "` + strings.ToUpper(itemB) + `", "files":
     [{"libraryItemId": "` + itemA + `", "fileName": "a.cif"}]}},
 "spec": {"type": "input", "workflowTaskTypeId": "input_design_spec_v1", "label": "The spec",
   "position": {"x": 1.5, "y": -20}, "inputPayload":
   {"inputYML": "main.yml", "inputYMLLibraryItemId": "` + itemA + `", "note": 1.50, "files":
     [{"libraryItemId": "` + itemA + `", "fileName": "a.cif"}]}},
 "run": {"type": "pipeline", "workflowTaskTypeId": "pipeline_run_boltzgen_v1", "inputPayload": {"numDesigns": 5,
   "budget": 5, "seed": "07", "alpha": 0.5, "refoldingRmsdThreshold": 2, "filterBiased": false,
   "inverseFoldAvoid": "mcc", "isPublic": true}}},
 "workflows": {"main": {"jobs": ["s", {"part": {"requires": ["s"]}}, {"spec": {"requires": ["part"]}},
   {"run": {"requires": ["spec"]}}, {"e": {"requires": ["run"]}}]}}}`))
	if err != nil {
		t.Fatal(err)
	}
	half, two, no := 0.5, 2.0, false
	p := g.Plan()
	if d := cmp.Diff(Params{
		DesignParams: pleat.DesignParams{Protocol: "protein-anything", Designs: 5, Budget: 5, Alpha: &half,
			RefoldingRMSD: &two, FilterBiased: &no, InverseFoldAvoid: "CM"},
		Seed: "7", IsPublic: json.RawMessage("true"),
	}, p.Params); d != "" {
		t.Errorf("params (-want +got):\n%s", d)
	}
	if d := cmp.Diff([]Reference{{itemA, "a.cif", "jobs.spec.inputPayload.files[0]"},
		{itemB, "part.yaml", "jobs.part.inputPayload.inputYML"}}, p.Files); d != "" {
		t.Errorf("files (-want +got):\n%s", d)
	}
	text, _ := json.Marshal(g.Nodes)
	for _, want := range []string{`"color":"red"`, `"note":1.50`, `"position":{"x":1.5,"y":-20}`, `"label":"The spec"`,
		`"workflowTaskTypeId":"input_design_spec_boltzgen_v1"`} {
		if !strings.Contains(string(text), want) {
			t.Errorf("the nodes lack %s:\n%s", want, text)
		}
	}
}

// refusedGraphs are changes of example and the sentences that refuse them.
var refusedGraphs = []struct{ old, new, want string }{
	{"version: 1", "version: &a 1", "line 1 of workflow.yml has the anchor &a; anchors are not taken"},
	{"version: 1", "version: 2", `version in workflow.yml (line 1) is "2"; it must be 1`},
	{"version: 1", "other: 1", "version is required (line 1 of workflow.yml)"},
	{"what: {requires", "what: {reqires",
		`unknown field "reqires" (line 12 of workflow.yml) in workflows.main.jobs[1].what; did you mean "requires"?`},
	{"inputYML: binder", "input_yml: binder", `unknown field "input_yml" (line 7 of workflow.yml) in ` +
		`jobs.what.inputPayload; did you mean "inputYML"?`},
	{"numDesigns", "num_designs", `unknown field "num_designs" (line 9 of workflow.yml) in jobs.make.inputPayload; ` +
		`did you mean "numDesigns"?`},
	{"  finish:", "  again: {type: pipeline, subType: boltzgen}\n  finish:",
		"jobs has 2 pipeline nodes, make and again; it must have exactly one"},
	{"{type: start}", "{type: end}", "jobs has no start node; it must have exactly one"},
	{"{type: start}", "{type: begin}", `jobs.begin.type is "begin"; it must be start, end, input or pipeline`},
	{"subType: design,", "subType: desing,", `jobs.make.subType is "desing"; did you mean "design"?`},
	{"subType: design,", "", "jobs.make has neither subType nor workflowTaskTypeId; the type pipeline needs the " +
		"subType design or boltzgen, or the workflowTaskTypeId pipeline_run_design_v1 or pipeline_run_boltzgen_v1"},
	{"[begin, {what: {requires: [begin]}}", "[begin, {what: {requires: [begin, make]}}",
		"workflows.main.jobs: what requires make, which requires what; requirements must not form a circle"},
	{"requires: [begin]", "requires: [begin, what]",
		"workflows.main.jobs: what requires itself; requirements must not form a circle"},
	{"make: {requires: [what]}", "make: {requires: [wat]}",
		`workflows.main.jobs[2].make.requires[0] is "wat"; did you mean "what"?`},
	{"[begin, ", "[", "workflows.main.jobs does not name the node begin of jobs; it must name every node once"},
	{"[begin, ", "[begin, begin, ",
		"workflows.main.jobs[1] names the node begin again; it must name every node once"},
	{"make: {requires: [what]}", "make: {requires: [begin]}",
		"workflows.main.jobs: the node what leads to no end; something must require it"},
	{"{what: {requires: [begin]}}", "what",
		"workflows.main.jobs: no way leads from the start to the node what; it must require something"},
	{"protocolName: peptide-anything", "protocolName: protein-any",
		`jobs.make.inputPayload.protocolName is "protein-any"; did you mean "protein-anything"?`},
	{"numDesigns: 40, budget: 4", "numDesigns: 5, budget: 8",
		"jobs.make.inputPayload.budget is 8; it must be from 1 to numDesigns, which is 5"},
	{"numDesigns: 40, budget: 4", "numDesigns: 5000, budget: 501",
		"jobs.make.inputPayload.budget is 501; it must be from 1 to 500"},
	{"numDesigns: 40", "numDesigns: 10001", "jobs.make.inputPayload.numDesigns is 10001; it must be from 1 to 10000"},
	{"numDesigns: 40", `numDesigns: "40"`,
		`jobs.make.inputPayload.numDesigns is "40"; it must be a whole number from 1 to 10000`},
	{"numDesigns: 40", "numDesigns: 1e3",
		"jobs.make.inputPayload.numDesigns is 1e3; it must be a whole number from 1 to 10000"},
	{", budget: 4", "",
		"jobs.make.inputPayload.budget is required; it must be a whole number from 1 to numDesigns, which is 40"},
	{"budget: 4", "budget: 4, seed: 4294967296",
		"jobs.make.inputPayload.seed is 4294967296; it must be a whole number from 0 to 4294967295"},
	{"budget: 4", "budget: 4, alpha: 1.5", "jobs.make.inputPayload.alpha is 1.5; it must be from 0 to 1"},
	{"budget: 4", "budget: 4, refoldingRmsdThreshold: 0",
		"jobs.make.inputPayload.refoldingRmsdThreshold is 0; it must be a length in Å above 0 and up to 1000"},
	{"budget: 4", "budget: 4, filterBiased: no",
		`jobs.make.inputPayload.filterBiased is "no"; it must be true or false`},
	{"budget: 4", "budget: 4, inverseFoldAvoid: CZ", `jobs.make.inputPayload.inverseFoldAvoid is "CZ"; it must be ` +
		`letters of amino acids, such as C: ACDEFGHIKLMNPQRSTVWY`},
	{itemB, "__ID__", `jobs.what.inputPayload.files[0].libraryItemId is "__ID__"; it must be a UUID`},
	{itemA, "__ID__", `jobs.what.inputPayload.inputYMLLibraryItemId is "__ID__"; it must be a UUID`},
	{"fileName: target.cif", "fileName: a/b.cif", `jobs.what.inputPayload.files[0].fileName is "a/b.cif"; it must be ` +
		`the name of a file, without a folder`},
	{"inputYML: binder.yaml", `inputYML: "entities:\n"`, "jobs.what.inputPayload.inputYML holds the text of a spec; it " +
		"must be its name, such as binder.yaml, and the text belongs into the library item of inputYMLLibraryItemId"},
	{"inputYML: binder.yaml", "inputYML: binder.json", `jobs.what.inputPayload.inputYML is "binder.json"; it must be ` +
		"the name of a spec, which ends in .yaml or .yml"},
	{"target.cif}]", "target.cif}, {libraryItemId: " + itemA + ", fileName: target.cif}]",
		`the name "target.cif" stands for two library items, in jobs.what.inputPayload.files[0] and ` +
			`jobs.what.inputPayload.files[1]`},
	{"  begin:", "  a b:", `jobs has the node "a b" (line 3 of workflow.yml); a name has 1 to 64 letters, digits, ` +
		"underscores and hyphens"},
	{"main: {jobs", "main: {more: 1, jobs", `unknown field "more" (line 12 of workflow.yml) in workflows.main; it may ` +
		"have jobs"},
}

func TestReadGraphRefuses(t *testing.T) {
	for _, c := range refusedGraphs {
		text := strings.Replace(example, c.old, c.new, 1)
		if text == example {
			t.Fatalf("the example has no %q", c.old)
		}
		_, err := ReadGraph([]byte(text))
		if err == nil || err.Error() != c.want || pleat.CodeOf(err) != pleat.CodeInvalid {
			t.Errorf("%s → %s:\n got %v\nwant %s", c.old, c.new, err, c.want)
		}
	}
	_, err := ReadGraph([]byte("# nothing"))
	if want := "workflow.yml is empty; it must hold version, jobs and workflows"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	if _, err = ReadGraph(make([]byte, 1<<20)); pleat.CodeOf(err) != pleat.CodeTooLarge {
		t.Errorf("got %v for a text that is too large", err)
	}
}

// The plain body reads the same parameters, in both spellings and with defaults.
func TestReadParams(t *testing.T) {
	plain := Door{Snake: true, Protocol: "nanobody-anything", NumDesigns: 50, Budget: 5}
	read := func(body string) (Params, error) {
		var values map[string]json.RawMessage
		if err := json.Unmarshal([]byte(body), &values); err != nil {
			t.Fatal(err)
		}
		return ReadParams(values, "workflow_input", plain)
	}
	p, err := read(`{"num_designs": 3, "seed": null}`)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(Params{DesignParams: pleat.DesignParams{Protocol: "nanobody-anything", Designs: 3, Budget: 3}}, p); d != "" {
		t.Errorf("params (-want +got):\n%s", d)
	}
	if p, err = read(`{}`); err != nil || p.Designs != 50 || p.Budget != 5 {
		t.Errorf("defaults: %+v, %v", p, err)
	}
	_, err = read(`{"num_designs": 3, "numDesigns": 4}`)
	want := "workflow_input.numDesigns stands there twice: as numDesigns and as num_designs"
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func FuzzReadGraph(f *testing.F) {
	f.Add([]byte(example))
	for _, c := range refusedGraphs {
		f.Add([]byte(strings.Replace(example, c.old, c.new, 1)))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		g, err := ReadGraph(text)
		if err != nil {
			if pleat.CodeOf(err) == pleat.CodeInternal || strings.ContainsAny(err.Error(), "\n\r\x00") {
				t.Fatalf("%q", err)
			}
			return
		}
		if _, err := json.Marshal(g); err != nil {
			t.Fatal(err)
		}
		if p := g.Plan(); p.Main.Name == "" || p.Params.Designs < p.Params.Budget || p.Params.Budget < 1 {
			t.Fatalf("%+v", p)
		}
	})
}
