package flow

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestParseRequestRefusesUnknownFields checks that no option of a new workflow is ignored. What was accepted before is
// still read.
func TestParseRequestRefusesUnknownFields(t *testing.T) {
	t.Parallel()
	const (
		qna      = `"pdbId":"1UBQ","question":"why?"`
		md       = `"preset":"single_idr_fasta","sequence":"GSGSGS"`
		target   = `"target":{"sequence":"MKTGS"}`
		redesign = `"target":{"pdbId":"1UBQ"},"redesign":[{"chain_id":"A"}]`
	)
	for _, c := range []struct{ alias, input, want string }{
		{"qna", qna + `,"mood":1`, `unknown field "mood" in workflow_input; it may have isPublic, webhooks, question, `},
		{"qna", qna + `,"quesiton":"x"`, `unknown field "quesiton" in workflow_input; did you mean "question"?`},
		{"evolla", qna + `,"files":{"cif":{}}`, `unknown field "cif" in workflow_input.files; it may have pdb, pae`},
		{"qna", `"question":"why?","files":{"pdb":{"libraryItemId":"` + item + `","file":"x"}}`,
			`unknown field "file" in workflow_input.files.pdb; did you mean "fileName"?`},
		{"md", md + `,"length":1`, `unknown field "length" in workflow_input; did you mean "sim_length_ns"?`},
		{"md", md + `,"length_ns":1`, `unknown field "length_ns" in workflow_input; did you mean "sim_length_ns"?`},
		{"md", md + `,"simLenghtNs":1`, `unknown field "simLenghtNs" in workflow_input; did you mean "simLengthNs"?`},
		{"openmm", md + `,"pressure_bar":1`, `unknown field "pressure_bar" in workflow_input; it may have`},
		{"md", md + `,"config":{"steps":1}`, `workflow_input.config.steps would be ignored`},
		{"design", target + `,"numDesings":2`, `unknown field "numDesings" in workflow_input; did you mean "numDesigns"?`},
		{"design", target + `,"num_desings":2`, `unknown field "num_desings" in workflow_input; did you mean "num_designs"?`},
		{"design", `"target":{"sequence":"MKTGS","chain":"A"}`, `unknown field "chain" in workflow_input.target; it may have`},
		{"design", target + `,"binder":{"kind":"peptide","hydrophobic":true}`,
			`unknown field "hydrophobic" in workflow_input.binder; it may have kind, cyclic, sequence, length, disulfides`},
		{"design", target + `,"epitope":[{"chain_id":"A","res_idx":[1],"weight":2}]`,
			`unknown field "weight" in workflow_input.epitope[0]; it may have chain_id, res_idx`},
		{"design", target + `,"files":[{"libraryItemId":"x"}]`, `workflow_input.files are those that inputYML names`},
		{"design", target + `,"sequence":"MKT"`, `unknown field "sequence" in workflow_input; it may have`},
		{"design", redesign + `,"protocol":"sequence-only"`, `workflow_input.protocol is "sequence-only"; did you mean "sequence_only"?`},
		{"design", redesign + `,"protocolName":"sequenceOnly"`,
			`workflow_input.protocolName is "sequenceOnly"; did you mean "sequence_only"?`},
		{"design", redesign + `,"protocol":"inverse folding"`, `workflow_input.protocol is "inverse folding"; it must be protein-anything, `},
		{"design", redesign + `,"protocol":"peptide-anything"`,
			`workflow_input.redesign is taken with the protocol sequence_only alone, and the protocol is peptide-anything`},
		{"design", redesign, `workflow_input.redesign is taken with the protocol sequence_only alone, and the protocol is protein-anything`},
		{"design", redesign + `,"protocol":"sequence_only"`, ""},
		{"compare", `"of":["pdb:1UBQ","pdb:1UBI"],"align":true`, `unknown field "align" in workflow_input; it may have`},
		{"alignment", `"sequences":["MKTAYIAK"],"database":"x"`, `unknown field "database" in workflow_input; it may have`},

		{"qna", qna + `,"name":"n","sourceUserId":"` + item + `","sequence":"MKT","isPublic":false,"mood":null`, ""},
		{"md", md + `,"name":"n","sourceUserId":"` + item + `","topol":"center","config":{"box_eq":false},` +
			`"component_defaults":{"charge_termini":"both","nmol":1},"box_length":20,"pH":7.5,"temp":300`, ""},
		{"boltzgen", target + `,"name":"n","num_designs":2,"budget":1,"protocol":"peptide-anything"`, ""},
	} {
		input := json.RawMessage("{" + c.input + "}")
		_, err := ParseRequest(c.alias, false, input)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.HasPrefix(err.Error(), c.want)) {
			t.Errorf("%s %s: %v; want %s", c.alias, c.input, err, c.want)
		}
		if _, err := ParseRequest(c.alias, c.alias != "alignment", input); (err == nil) != (c.want == "") {
			t.Errorf("%s %s: as a draft %v", c.alias, c.input, err)
		}
	}
	if _, err := Parse("qna", json.RawMessage("{"+qna+`,"mood":1}`)); err != nil {
		t.Errorf("an input that was stored: %v", err)
	}
}
