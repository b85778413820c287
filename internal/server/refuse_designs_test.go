package server_test

import (
	"encoding/json"
	"strings"
	"testing"

	"pleat/api"
	"pleat/internal/store/storetest"
)

// Every refusal of designs, by the plain body and by the graph: its status and its whole sentence stand in
// testdata/designrefusals.txt.
func TestDesignRefusals(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	good, other := []string{"Authorization", "Bearer " + h.key}, []string{"Authorization", "Bearer " + h.userKey("ben")}
	yaml := func(headers []string) []string { return append(headers[:2:2], "Content-Type", "text/yaml") }
	form := append(good[:2:2], "Content-Type", "multipart/form-data; boundary=x")
	const flows, none = "/v1/workflows", "01234567-89ab-7def-8123-456789abcdef"
	job, item := h.completed(trp).JobID, h.item(h.key, "target", "t.pdb", chainPDB(20))
	target := `"target":{"libraryItemId":"` + item + `"}`
	design := func(rest string) string {
		return `{"workflow_name":"design_v1","name":"x","workflow_input":{` + rest + `}}`
	}
	drafted := func(rest string) string { return strings.Replace(design(rest), "{", `{"create_mode":"draft",`, 1) }
	draft := h.flow(drafted(target + `,"binder":{"sequence":"3..5C6C3","disulfides":[[1,2]]}`))
	var graph api.Workflow
	r := h.as(h.key, "POST", flows+"/graph/add", `{"workflow_name":"design_v1"}`)
	if json.Unmarshal([]byte(r.body), &graph) != nil || draft.Status != api.Draft {
		t.Fatalf("%d %s, %+v", r.status, r.body, draft)
	}
	upload := func(name, text string) string {
		return "--x\r\nContent-Disposition: form-data; name=\"files\"; filename=\"" + name + "\"\r\n\r\n" + text +
			"\r\n--x--\r\n"
	}
	spec := h.item(h.key, "binder.yaml", "binder.yaml",
		"entities:\n  - protein:\n      id: B\n      sequence: 6..8\n  - file:\n      path: /etc/passwd\n")
	saved := flows + "/" + graph.ID + "/workflow.yml"
	text := func(old, new string) string {
		const nodes = `version: 1
jobs:
  begin: {type: start}
  what: {type: input, subType: design_specification_yml, inputPayload: {inputYML: binder.yaml, ` +
			`inputYMLLibraryItemId: SPEC}}
  make: {type: pipeline, subType: design, inputPayload: {numDesigns: 3, budget: 1}}
  finish: {type: end}
workflows:
  main:
    jobs: [begin, {what: {requires: [begin]}}, {make: {requires: [what]}}, {finish: {requires: [make]}}]
`
		if !strings.Contains(nodes, old) {
			t.Fatalf("the graph has no %q", old)
		}
		return strings.ReplaceAll(strings.Replace(nodes, old, new, 1), "SPEC", spec)
	}
	before := storetest.Count(t, h.store, "workflow")
	h.refusals("designrefusals.txt", map[string]string{
		job: "JOB", item: "ITEM", spec: "SPEC", graph.ID: "GRAPH",
	}, []refusal{
		{"no engine", "POST", flows, design(target), good},
		{"no engine for a draft", "POST", flows + "/execute", `{"workflowId":"` + draft.ID + `"}`, good},
		{"two targets", "POST", flows, design(`"target":{"sourceJobId":"` + job + `","ccd":"ATP"}`), good},
		{"length that descends", "POST", flows, design(target + `,"binder":{"length":"120..80"}`), good},
		{"residue past the end", "POST", flows,
			design(target + `,"epitope":[{"chain_id":"A","res_idx":[1,2,400]}]`), good},
		{"chain that is not there", "POST", flows,
			design(target + `,"epitope":[{"chain_id":"Q","res_idx":[1]}]`), good},
		{"cysteine that is not there", "POST", flows,
			design(target + `,"binder":{"sequence":"3..5C6C3","disulfides":[[1,3]]}`), good},
		{"disulfide of three", "POST", flows,
			design(target + `,"binder":{"sequence":"3..5C6C3","disulfides":[[1,2,7]]}`), good},
		{"misspelt field", "POST", flows, design(target + `,"epitop":[]`), good},
		{"ring that is not closed", "POST", flows, design(`"target":{"smiles":"CC(=O)C1CCC"}`), good},
		{"another ring that is not closed", "POST", flows, drafted(`"target":{"smiles":"C1CC"}`), good},
		{"symbol of no element", "POST", flows, drafted(`"target":{"smiles":"CCQ"}`), good},
		{"letter that is no residue", "POST", flows, design(target + `,"binder":{"sequence":"80..120B1"}`), good},
		{"nothing to design", "POST", flows, design(target + `,"binder":{"sequence":"MKTGS"}`), good},
		{"nothing to design in a draft", "POST", flows, drafted(target + `,"binder":{"sequence":"MKTA"}`), good},
		{"range that descends", "POST", flows, drafted(target + `,"binder":{"sequence":"9..3"}`), good},
		{"unknown protocol", "POST", flows, design(target + `,"protocolName":"protein-any"`), good},
		{"budget above the designs", "POST", flows, design(target + `,"numDesigns":5,"budget":8`), good},
		{"somebody else's job", "POST", flows, drafted(`"target":{"sourceJobId":"` + job + `"}`), other},
		{"PDB entry, not allowed", "POST", flows, design(`"target":{"pdbId":"1ubq"}`), good},
		{"item that is not there", "POST", flows, design(`"target":{"libraryItemId":"` + none + `"}`), good},
		{"file in a folder", "POST", flows, design(`"inputYML":"binder.yaml","inputYMLLibraryItemId":"` + spec +
			`","files":[{"libraryItemId":"` + spec + `","fileName":"../t.cif"}]`), good},
		{"graph of a simulation", "POST", flows + "/graph/add", `{"workflow_name":"md"}`, good},
		{"graph labelled JSON", "POST", saved, text("", ""), good},
		{"empty graph", "POST", saved, "\n", yaml(good)},
		{"graph with an anchor", "POST", saved, "version: &a 1\n", yaml(good)},
		{"graph with two pipelines", "POST", saved,
			text("  finish:", "  again: {type: pipeline, subType: design}\n  finish:"), yaml(good)},
		{"graph with a misspelt field", "POST", saved, text("make: {requires", "make: {reqires"), yaml(good)},
		{"graph with a file that is not there", "POST", saved, text("inputYMLLibraryItemId: SPEC}",
			"inputYMLLibraryItemId: SPEC, files: [{libraryItemId: "+none+", fileName: target.cif}]}"), yaml(good)},
		{"graph with a spec that is not there", "POST", saved, text("SPEC", none), yaml(good)},
		{"graph with a secret", "POST", saved, text("budget: 1}", `budget: 1, webhooks: {custom_http: {enabled: true, `+
			`target_url: "https://x.example", token_value: "secret-token-value"}}}`), yaml(good)},
		{"spec with a path", "POST", saved, text("", ""), yaml(good)},
		{"graph of 300 kB", "POST", saved, strings.Repeat("x", 300_000), yaml(good)},
		{"somebody else's graph, to save", "POST", saved, text("", ""), yaml(other)},
		{"no graph was saved", "GET", saved, nil, good},
		{"somebody else's graph", "GET", flows + "/" + graph.ID + "/graph", nil, other},
		{"designs of a draft", "POST", flows + "/design/" + graph.ID + "/fold",
			`{"top":1,"params":{"modelName":"mini"}}`, good},
		{"spec with an anchor", "POST", "/v1/library/" + spec + "/upload-files", upload("more.yml", "a: &b 1"), form},
	})
	if n := storetest.Count(t, h.store, "workflow"); n != before {
		t.Errorf("%d workflows, of which %d were before the refused requests", n, before)
	}
	if got := h.flowOf(draft.ID); got.Status != api.Draft {
		t.Errorf("the draft is %s", got.Status)
	}
}
