package flow

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pleat"
	"pleat/internal/design"
	"pleat/internal/structure"
)

// twoChains is a target: the authors number its first chain from 101.
func twoChains() *structure.Structure {
	s := &structure.Structure{}
	for k, name := range []string{"A", "B"} {
		c := structure.Chain{ID: name, Label: string(rune('C' + k)), Kind: structure.Protein}
		for i := 1; i <= 6; i++ {
			c.Residues = append(c.Residues, structure.Residue{Comp: "GLY", Seq: i, Auth: i + 100*(1-k)})
		}
		s.Chains = append(s.Chains, c)
	}
	return s
}

const structureTarget = `"target":{"libraryItemId":"01a201ab-35af-701a-8285-79d3e5419cee"}`

func TestCompileDesign(t *testing.T) {
	for _, c := range []struct {
		name, task, want string
		target           *structure.Structure
	}{
		{"residues by label", `{"target":{"libraryItemId":"01a201ab-35af-701a-8285-79d3e5419cee"},"epitope":[{"chain_id":"C",` +
			`"res_idx":[5,2,3]}],"avoid":[{"chainId":"C","resIdx":[6]}]}`, `entities:
  - protein:
      id: "A"
      sequence: "80..120"
  - file:
      path: "target.cif"
      include:
        - chain:
            id: "C"
        - chain:
            id: "D"
      binding_types:
        - chain:
            id: "C"
            binding: "2..3,5"
            not_binding: "6"
`, twoChains()},
		{"residues by author", `{"target":{"source_job_id":"01a201ab-35af-701a-8285-79d3e5419cee"},"numbering":"author",` +
			`"targetChains":["A"],"epitope":[{"chain_id":"A","res_idx":[102]}],"binder":{"kind":"peptide","cyclic":true}}`,
			`entities:
  - protein:
      id: "A"
      sequence: "10..20"
      cyclic: true
  - file:
      path: "target.cif"
      include:
        - chain:
            id: "C"
      binding_types:
        - chain:
            id: "C"
            binding: "2"
`, twoChains()},
		{"a sequence, and a disulfide", `{"target":{"sequence":"mkt gs"},"epitope":[{"chain_id":"A","res_idx":[1]}],` +
			`"binder":{"sequence":"3..5C6C3","disulfides":[[2,1]]}}`, `entities:
  - protein:
      id: "B"
      sequence: "3..5C6C3"
  - protein:
      id: "A"
      sequence: "MKTGS"
      binding_types:
        binding: "1"
constraints:
  - bond:
      atom1: ["B", 11, SG]
      atom2: ["B", 4, SG]
`, nil},
		{"a ligand", `{"target":{"ccd":"atp"},"binder":{"length":90}}`, `entities:
  - protein:
      id: "B"
      sequence: "90"
  - ligand:
      id: "A"
      ccd: "ATP"
`, nil},
		{"a backbone, with its ligand", `{"protocol":"sequence_only",` + structureTarget + `,"numbering":"author",` +
			`"redesign":[{"chain_id":"A","res_idx":[102,101,104]},{"chain_id":"B"}]}`, `entities:
  - file:
      path: "target.cif"
      design:
        - chain:
            id: "C"
            res_index: "1..2,4"
        - chain:
            id: "D"
`, twoChains()},
		{"one chain of a backbone", `{"protocolName":"sequence_only",` + structureTarget + `,"targetChains":["D"],` +
			`"redesign":[{"chain_id":"D","res_idx":[3]},{"chain_id":"D","res_idx":[3,2]}]}`, `entities:
  - file:
      path: "target.cif"
      include:
        - chain:
            id: "D"
      design:
        - chain:
            id: "D"
            res_index: "2..3"
`, twoChains()},
	} {
		p, err := Parse("design", json.RawMessage(c.task))
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		got, err := CompileDesign(p.Design.Task, c.target, "target.cif")
		if d := cmp.Diff(c.want, got); d != "" || err != nil {
			t.Errorf("%s: %v\n%s", c.name, err, d)
		}
	}
}

func TestDesignDefaults(t *testing.T) {
	for task, want := range map[string]string{
		`{"target":{"sequence":"MKTGS"}}`:                                                    "protein-anything 50 5",
		`{"target":{"sequence":"MKTGS"},"numDesigns":3}`:                                     "protein-anything 3 3",
		`{"target":{"smiles":"CCO"}}`:                                                        "protein-small_molecule 50 5",
		`{"target":{"sequence":"MKTGS"},"binder":{"kind":"nanobody","sequence":"QVQ3..5A"}}`: "nanobody-anything 50 5",
		`{"target":{"sequence":"MKTGS"},"protocol":"antibody-anything","budget":7}`:          "antibody-anything 50 7",
	} {
		p, err := Parse("design", json.RawMessage(task))
		if err != nil {
			t.Errorf("%s: %v", task, err)
			continue
		}
		b, _ := json.Marshal([]any{p.Design.Params.Protocol, p.Design.Params.Designs, p.Design.Params.Budget})
		if got := strings.NewReplacer(`"`, "", "[", "", "]", "", ",", " ").Replace(string(b)); got != want {
			t.Errorf("%s: %s; want %s", task, got, want)
		}
	}
}

// Redesigns are refused by the field that is wrong, also where only the structure tells.
func TestRedesignRefusals(t *testing.T) {
	rna := twoChains()
	rna.Chains[1].Kind = structure.RNA
	for redesign, want := range map[string]string{
		`[{"chain_id":"Q"}]`: `workflow_input.redesign[0].chain_id is "Q"; the target has the chains C, D`,
		`[{"chain_id":"C","res_idx":[7]}]`: "workflow_input.redesign[0].res_idx[0] is 7; chain C of the target has " +
			"residues 1 to 6",
		`[{"chain_id":"D"}]`: `workflow_input.redesign[0].chain_id is "D", which is rna; only proteins are redesigned`,
		`[{"chain_id":"C"},{"chain_id":"C"}]`: `workflow_input.redesign[1].chain_id is "C", which is named before; ` +
			`name its residues in one place`,
		`[{"chain_id":"C","res_idx":[]}]`: "workflow_input.redesign[0].res_idx must be a list of whole numbers, the " +
			"positions of residues",
		`[{},` + strings.Repeat(`{"x":1},`, 5000) + `{}]`: "workflow_input.redesign has 5002 items; at most 5000 are allowed",
		`[]`: "workflow_input.redesign is required with the protocol sequence_only; it must be a list of objects with " +
			"chain_id, and res_idx unless the whole chain is redesigned",
		`[{"chain_id":"C","res_idx":[` + strings.Repeat("1,", 5000) + `1]}]`: "workflow_input.redesign names 5001 " +
			"residues; at most 5000 are allowed",
	} {
		p, err := Parse("design", json.RawMessage(`{"protocol":"sequence_only",`+structureTarget+`,"redesign":`+redesign+`}`))
		if err == nil {
			_, err = CompileDesign(p.Design.Task, rna, "target.cif")
		}
		if err == nil || err.Error() != want {
			t.Errorf("%.40s: %v; want %s", redesign, err, want)
		}
	}
}

func TestDesignRefusals(t *testing.T) {
	const target = `"target":{"sequence":"MKTGS"}`
	const own = `{"inputYMLLibraryItemId":"01a201ab-35af-701a-8285-79d3e5419cee","inputYML":`
	for input, want := range map[string]string{
		`{}`: "workflow_input.target is required",
		`{"target":{}}`: "workflow_input.target names none of them; it must name exactly one of sourceJobId, libraryItemId, " +
			"pdbId, sequence, ccd, smiles",
		`{"target":{"pdbId":"x"}}`:                                               `workflow_input.target.pdbId is "X"; it must be an id`,
		`{"target":{"sequence":"MK1"}}`:                                          "workflow_input.target.sequence, residue 3",
		`{"target":{"sequense":"MK"}}`:                                           `unknown field "sequense" in workflow_input.target; did you mean "sequence"?`,
		`{"target":{"sequence":"MK"},"binder":{"sequence":"GG5 10GG"}}`:          `workflow_input.binder.sequence has "5 1", a number with`,
		`{"target":{"sequence":"ALA GLY"}}`:                                      "workflow_input.target.sequence has codes of three letters; a residue is one letter",
		`{"target":{"sequence":"M\u0131"}}`:                                      "workflow_input.target.sequence, residue 2: 'ı' is not an amino acid",
		`{"target":{"smiles":""}}`:                                               "workflow_input.target.smiles is empty",
		`{"target":{"smiles":"CCCC1"}}`:                                          `workflow_input.target.smiles is no SMILES: at position 5: the ring is not closed`,
		`{"target":{"smiles":"C(C"}}`:                                            `workflow_input.target.smiles is no SMILES: at position 2: the branch is not closed`,
		`{"target":{"smiles":"C[Xx]"}}`:                                          `workflow_input.target.smiles is no SMILES: at position 2: "[Xx]" is no atom`,
		`{"target":{"smiles":"C C"}}`:                                            `workflow_input.target.smiles has ' ' at position 2; a SMILES has printable ASCII only`,
		`{"target":{"ccd":"A-P"}}`:                                               `workflow_input.target.ccd is "A-P"`,
		`{` + target + `,"targetChains":["A"]}`:                                  "workflow_input.targetChains is taken for structures alone",
		`{` + target + `,"epitope":[{"res_idx":[1]}]}`:                           "workflow_input.epitope[0].chain_id is required",
		`{` + target + `,"epitope":[{"chain_id":"A"}]}`:                          "workflow_input.epitope[0].res_idx must be a list",
		`{` + target + `,"numbering":"pdb"}`:                                     `workflow_input.numbering is "pdb"; it must be label, author`,
		`{` + target + `,"binder":{"kind":"nanobody"}}`:                          "workflow_input.binder.sequence is required for a nanobody",
		`{` + target + `,"binder":{"length":3}}`:                                 "workflow_input.binder.length is 3; a binder has at least 4 residues",
		`{` + target + `,"binder":{"length":"5..3"}}`:                            "workflow_input.binder.length is \"5..3\"; a range must ascend, such as 80..120",
		`{` + target + `,"binder":{"length":"9..2001"}}`:                         "workflow_input.binder.length is \"9..2001\"; a binder has at most 2000 residues",
		`{` + target + `,"binder":{"length":9,"sequence":"9"}}`:                  "workflow_input.binder.length is not taken beside sequence",
		`{` + target + `,"binder":{"sequence":"CC","disulfides":[[1,2],[1,2]]}}`: "cysteine 1 has a partner already",
		`{` + target + `,"seed":-1}`:                                             "workflow_input.seed is",
		`{` + target + `,"num_designs":0}`:                                       "workflow_input.numDesigns is 0; it must be from 1 to 10000",
		own + `"a/b.yaml"}`:                                                      `workflow_input.inputYML is "a/b.yaml"; it must be the name of a file, without a folder`,
		own + `"a.cif"}`:                                                         `workflow_input.inputYML is "a.cif"; it must be the name of a spec, which ends in .yaml or .yml`,
		own + `"a:\n- b\n"}`:                                                     "workflow_input.inputYML holds the text of a spec; it must be its name",
		own + `"a.yaml","files":[{"libraryItemId":"01a201ab-3574-7c52-acd6-b786c377249b","fileName":"../t.cif"}]}`: "workflow_input." +
			`files[0].fileName is "../t.cif"; it must be the name of a file, without a folder`,
		`{` + target + `,"inputYML":"a.yaml"}`: "workflow_input.inputYMLLibraryItemId is required beside inputYML",
	} {
		if _, err := Parse("design", json.RawMessage(input)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want %q", input, err, want)
		}
	}
}

// Messages about a spec that was compiled name what the caller has written.
func TestCompiledFault(t *testing.T) {
	const target = `{"target":{"sequence":"MKTGS"},"binder":{"sequence":"`
	for task, want := range map[string]string{
		target + `80..120B"}}`: "workflow_input.binder.sequence has the letter B; protein has the letters " +
			"ACDEFGHIKLMNPQRSTVWYX",
		target + `80..120-1"}}`: `workflow_input.binder.sequence is "80..120-1"; "-" cannot stand there: letters stay and ` +
			"numbers design, such as 3..5C6C3",
		target + `9..3"}}`: "workflow_input.binder.sequence has the range 9..3; it must ascend, such as 80..120",
		target + `MKT"}}`: "workflow_input.binder.sequence designs nothing; it must have a number, such as 80..120 or " +
			"3..5C6C3",
		target + `5C"}}`: "",
	} {
		p, err := Parse("design", json.RawMessage(task))
		if err != nil {
			t.Fatal(err)
		}
		text, err := CompileDesign(p.Design.Task, nil, "")
		if err != nil {
			t.Fatal(err)
		}
		_, err = design.ReadSpec(CompiledSpec, []byte(text), nil)
		if want == "" {
			if err != nil {
				t.Errorf("%s: %v", task, err)
			}
			continue
		}
		err = CompiledFault(err)
		var fault *pleat.Error
		if !errors.As(err, &fault) || fault.Message != want || fault.Field != "workflow_input.binder.sequence" {
			t.Errorf("%s:\n got %v\nwant %s", task, err, want)
		}
	}
	// The caller has written no place for the target.
	fault := pleat.InvalidField("entities[1].file.path", " in design.yaml (line 6) names target.cif, which is bad")
	want := "workflow_input.target names target.cif, which is bad"
	if err := CompiledFault(fault); err.Error() != want {
		t.Errorf("%v; want %s", err, want)
	}
	other := pleat.Invalidf("the target is gone")
	if err := CompiledFault(other); err != error(other) {
		t.Errorf("another fault becomes %v", err)
	}
}

// A graph and a plain body with the same spec have the same plan, whichever door they took.
func TestGraphAndBodyAgree(t *testing.T) {
	const item, file = "01a201ab-35af-701a-8285-79d3e5419cee", "01a201ab-3574-7c52-acd6-b786c377249b"
	body := `{"inputYML":"a.yaml","inputYMLLibraryItemId":"` + item + `","files":[{"libraryItemId":"` + file +
		`","fileName":"t.cif"}],"protocolName":"peptide-anything","numDesigns":4,"budget":2,"seed":7}`
	plain, err := Parse("design", json.RawMessage(body))
	if err != nil {
		t.Fatal(err)
	}
	text, err := design.WriteGraph("design", &plain.Design.Params, plain.Design.Spec, plain.Design.Files)
	if err != nil {
		t.Fatal(err)
	}
	g, err := design.ReadGraph([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	graph, err := ParseGraph("design", g.Plan())
	if err != nil {
		t.Fatal(err)
	}
	for i := range graph.Design.Files {
		graph.Design.Files[i].Field = plain.Design.Files[i].Field
	}
	graph.Design.Spec.Field, graph.Draft = plain.Design.Spec.Field, false
	if d := cmp.Diff(plain.Design, graph.Design); d != "" || graph.Seed != plain.Seed {
		t.Error(d)
	}
}

func FuzzReadDesignRow(f *testing.F) {
	f.Add([]byte(`{"id":"x_1","final_rank":1,"iptm":0.5,"failed_filters":["a"],"affinity_probability_binary1":0.5}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		row, err := ReadDesignRow(line)
		if err != nil {
			return
		}
		again, err := json.Marshal(row)
		if err != nil {
			t.Fatal(err)
		}
		same, err := ReadDesignRow(again)
		if err != nil {
			t.Fatalf("%s: %v", again, err)
		}
		if d := cmp.Diff(row, same); d != "" {
			t.Error(d)
		}
	})
}

// kabat is residues 78 to 86 of chain B of 1IGY, whose numbers have insertion codes, behind three of a tag.
func kabat() *structure.Structure {
	c := structure.Chain{ID: "H", Label: "B", Kind: structure.Protein}
	for _, text := range strings.Fields("-1 0 1 78 79 80 81 82 82A 82B 82C 83 84 85 86") {
		n, _ := structure.ParseResidueNumber(text)
		c.Residues = append(c.Residues, structure.Residue{
			Comp: "SER",
			Seq:  len(c.Residues) + 1,
			Auth: n.Value,
			Ins:  n.Ins,
		})
	}
	return &structure.Structure{Chains: []structure.Chain{c}}
}

// Residues by the numbers of the authors become positions, by which the engines count: BoltzGen 0.3.2 (parse_pdb) and
// the runner of ProteinMPNN take the residues of a PDB file in their order.
func TestAuthorNumbers(t *testing.T) {
	const none = "workflow_input.epitope[0].res_idx[0] is "
	for residues, want := range map[string]string{
		`["82A"]`:            `binding: "9"`,
		`[82]`:               `binding: "8"`,
		`["82A..84"]`:        `binding: "9..13"`,
		`["81..83"]`:         `binding: "7..12"`,
		`[-1,"0..1"]`:        `binding: "1..3"`,
		`["-1"]`:             `binding: "1"`,
		`["82A","82C",86]`:   `binding: "9,11,15"`,
		`["82D"]`:            none + "82D; chain H of the target has no residue that its authors give this number; it has 82, 82A, 82B, 82C",
		`[77]`:               none + "77; chain H of the target has no residue that its authors give this number",
		`["84..82A"]`:        none + "84..82A; 84 stands behind 82A in chain H, and a range must ascend",
		`["H82A"]`:           none + `"H82A"; it must be a whole number, or a text such as "52A" or "82A..84"`,
		`[1.5]`:              none + `1.5; it must be a whole number, or a text such as "52A" or "82A..84"`,
		`[null]`:             none + `null; it must be a whole number, or a text such as "52A" or "82A..84"`,
		`["1..9999999999"]`:  none + `"1..9999999999"; it must be a whole number, or a text such as "52A" or "82A..84"`,
		`["82A","78..86",7]`: "workflow_input.epitope[0].res_idx[2] is 7; chain H of the target has no residue that its authors give this number",
	} {
		got := compiled(`"numbering":"author","epitope":[{"chain_id":"H","res_idx":`+residues+`}]`, kabat())
		if !strings.Contains(got, want) {
			t.Errorf("%s: %s; want %s", residues, got, want)
		}
	}
	for residues, want := range map[string]string{
		`["3..5",9]`: `binding: "3..5,9"`,
		`["82A"]`: none + `82A; positions count from 1 and have no insertion codes; with "numbering": "author" a structure's ` +
			`residues go by the numbers of its authors`,
		`[-1]`:     none + "-1; chain B of the target has residues 1 to 15",
		`["5..3"]`: none + "5..3; a range must ascend",
	} {
		if got := compiled(`"epitope":[{"chain_id":"B","res_idx":`+residues+`}]`, kabat()); !strings.Contains(got, want) {
			t.Errorf("%s by position: %s; want %s", residues, got, want)
		}
	}
	two := twoChains()
	two.Chains[1].ID = "A"
	if got := compiled(`"numbering":"author","epitope":[{"chain_id":"A","res_idx":[101]}]`, two); !strings.Contains(got,
		`chain_id is "A", which the authors call 2 chains of the target`) {
		t.Error(got)
	}
	ligand := structure.Residue{Comp: "ATP", Auth: 101}
	two.Chains[1] = structure.Chain{ID: "A", Label: "E", Kind: structure.Ligand, Residues: []structure.Residue{ligand}}
	const redesign = `"protocol":"sequence_only","numbering":"author","redesign":[{"chain_id":"A","res_idx":[102]}]`
	if got := compiled(redesign, two); !strings.Contains(got, `res_index: "2"`) {
		t.Error(got) // the ligand of chain A has its name
	}
	slices.Reverse(two.Chains)
	if got := compiled(redesign, two); !strings.Contains(got, `res_index: "2"`) {
		t.Error(got)
	}
	last := []structure.Residue{{Comp: "GLY", Seq: 1e8, Auth: 600}}
	long := &structure.Structure{Chains: []structure.Chain{{ID: "A", Kind: structure.Protein, Residues: last}}}
	if got := compiled(`"epitope":[{"chain_id":"A","res_idx":["1..100000000"]}]`, long); !strings.Contains(got, "at most 500") {
		t.Error(got)
	}
}

// The numbers of authors mean the residues that the engine finds at their positions, and a letter of a PDB file its
// ligands too.
func TestRedesignOfPDB(t *testing.T) {
	text, err := os.ReadFile("../design/testdata/gaps.pdb")
	if err != nil {
		t.Fatal(err)
	}
	target, err := structure.ReadWhole(bytes.NewReader(text), structure.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	p, err := Parse("design", json.RawMessage(`{"protocol":"sequence_only",`+structureTarget+`,"numbering":"author",
		"targetChains":["A"],"redesign":[{"chain_id":"A","res_idx":["2A",5]}]}`))
	if err != nil {
		t.Fatal(err)
	}
	written, err := CompileDesign(p.Design.Task, target, "target.pdb")
	if err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{"target.pdb": text}
	spec, err := design.ReadSpec(CompiledSpec, []byte(written), files)
	if err != nil {
		t.Fatal(err)
	}
	got, err := spec.EngineFiles(pleat.SequenceOnly, files)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(got[0].Text), `"res_index": "3,5"`) {
		t.Errorf("%s", got[0].Text)
	}
	for _, atom := range []string{" CA . ILE A 1 3 ", " CA . VAL A 1 5 ", " C1 . GOL D ", " ZN . ZN E "} {
		if !strings.Contains(string(got[1].Text), atom) {
			t.Errorf("the structure has no%s", atom)
		}
	}
	if strings.Contains(string(got[1].Text), " ALA ") {
		t.Error("the structure has the chain C")
	}
}

// compiled is the spec of a design for a structure, or the error.
func compiled(fields string, target *structure.Structure) string {
	p, err := Parse("design", json.RawMessage(`{`+structureTarget+`,`+fields+`}`))
	if err != nil {
		return err.Error()
	}
	text, err := CompileDesign(p.Design.Task, target, "target.cif")
	if err != nil {
		return err.Error()
	}
	return text
}
