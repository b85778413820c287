package design

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pleat"
)

// testChain is a protein of a test's structure: residues 2 to length-1 have an atom, as authors number them from 101.
type testChain struct {
	id     string
	length int
}

// cifOf returns a structure of proteins whose first and last residues are not resolved.
func cifOf(chains ...testChain) []byte {
	var b, asym, atoms strings.Builder
	b.WriteString("data_x\nloop_\n_entity.id\n_entity.type\n")
	for i := range chains {
		fmt.Fprintf(&b, "%d polymer\n", i+1)
	}
	b.WriteString("loop_\n_entity_poly.entity_id\n_entity_poly.type\n")
	for i := range chains {
		fmt.Fprintf(&b, "%d polypeptide(L)\n", i+1)
	}
	b.WriteString("loop_\n_entity_poly_seq.entity_id\n_entity_poly_seq.num\n_entity_poly_seq.mon_id\n")
	for i, c := range chains {
		fmt.Fprintf(&asym, "%s %d\n", c.id, i+1)
		for n := 1; n <= c.length; n++ {
			fmt.Fprintf(&b, "%d %d GLY\n", i+1, n)
			if n > 1 && n < c.length {
				fmt.Fprintf(&atoms, "ATOM C CA GLY %s H %d %d %d %d 0\n", c.id, n, n+100, 4*n, 10*i)
			}
		}
	}
	b.WriteString("loop_\n_struct_asym.id\n_struct_asym.entity_id\n" + asym.String() + "loop_\n")
	for _, item := range []string{"group_PDB", "type_symbol", "label_atom_id", "label_comp_id", "label_asym_id",
		"auth_asym_id", "label_seq_id", "auth_seq_id", "Cartn_x", "Cartn_y", "Cartn_z"} {
		b.WriteString("_atom_site." + item + "\n")
	}
	return []byte(b.String() + atoms.String())
}

// target is the structure of most tests.
var target = cifOf(testChain{"A", 596}, testChain{"B", 40})

// binder is the spec of most tests.
const binder = `entities:
  - protein:
      id: G
      sequence: 12..20
  - file:
      path: target.cif
      include:
        - chain:
            id: A
            res_index: 3..9
      binding_types:
        - chain:
            id: A
            binding: 5..7,9
`

// engine returns the texts for the engine, in one line each.
func engine(t *testing.T, s *Spec) []string {
	t.Helper()
	var out []string
	for _, f := range s.Engine() {
		var b bytes.Buffer
		if f.Kind == Structure {
			b.WriteString(f.Name)
		} else if err := json.Compact(&b, f.Text); err != nil {
			t.Fatal(err)
		}
		out = append(out, f.Path+": "+b.String())
	}
	return out
}

// scaffold is a nested spec.
const scaffold = `path: %s.cif
include: [{chain: {id: B}}]
design: [{chain: {id: B, res_index: "26..28,30.."}}]
exclude: [{chain: {id: B, res_index: 26..28}}]
structure_groups: [{group: {id: B, visibility: 2}}, {group: {id: B, visibility: 0, res_index: 26..28}}]
design_insertions: [{insertion: {id: B, res_index: 26, num_residues: 1..5}}]
reset_res_index: [{chain: {id: B}}]
`

// The seven kinds of spec.
func TestReadSpec(t *testing.T) {
	files := map[string][]byte{
		"target.cif": target, "one.cif": target, "two.cif": cifOf(testChain{"B", 50}), "unread.cif": nil,
		"one.yaml": fmt.Appendf(nil, scaffold, "../one"), "two.yaml": fmt.Appendf(nil, scaffold, "two"),
	}
	const file = `{"file":{"include":[{"chain":{"id":"A"}}],"path":"structure-1.cif"}}`
	for _, c := range []struct {
		name, text string
		engine     []string
		chains     []Chain
		tokens     int
	}{
		{"peptide to a site", binder, []string{
			`spec.yaml: {"entities":[{"protein":{"id":"G","sequence":"12..20"}},{"file":{"binding_types":[{"chain":` +
				`{"binding":"5..7,9","id":"A"}}],"include":[{"chain":{"id":"A","res_index":"3..9"}}],` +
				`"path":"structure-1.cif"}}]}`, "structure-1.cif: target.cif",
		}, []Chain{{"G", "protein", true, ""}, {"A", "protein", false, ""}}, 27},
		{"protein", "entities:\n- protein: {id: C, sequence: 80..140}\n- file: {path: x/target.cif, include: [{chain: " +
			"{id: A}}]}\n", []string{
			`spec.yaml: {"entities":[{"protein":{"id":"C","sequence":"80..140"}},` + file + `]}`,
			"structure-1.cif: target.cif",
		}, []Chain{{"C", "protein", true, ""}, {"A", "protein", false, ""}}, 736},
		{"disordered chain", "entities:\n- protein: {id: NO, sequence: 3E10}\n- protein: {id: B, sequence: mktn, " +
			"binding_types: {binding: all, not_binding: 2..}}\n", []string{`spec.yaml: {"entities":[{"protein":{"id":` +
			`"NO","sequence":"3E10"}},{"protein":{"binding_types":{"binding":"1..","not_binding":"2.."},"id":"B",` +
			`"sequence":"MKTN"}}]}`}, []Chain{{"NO", "protein", true, ""}, {"B", "protein", false, ""}}, 18},
		{"CCD ligand", "entities:\n- protein: {id: A, sequence: 140..180}\n- ligand: {id: [B, C], ccd: tsa}\n",
			[]string{`spec.yaml: {"entities":[{"protein":{"id":"A","sequence":"140..180"}},{"ligand":{"ccd":"TSA",` +
				`"id":["B","C"]}}]}`},
			[]Chain{{"A", "protein", true, ""}, {"B", "ligand", false, ""}, {"C", "ligand", false, ""}}, 212},
		{"covalent SMILES", "entities:\n- protein: {id: R, sequence: 3..5C6C3}\n- ligand: {id: Q, smiles: 'C=CC(=O)N'}\n" +
			"constraints:\n- bond: {atom1: [R, 4, SG], atom2: [Q, 1, C1]}\n- total_len: {min: 10, max: 20}\n" +
			"leaving_atoms: [{atom: [R, 11, HG]}]\n",
			[]string{`spec.yaml: {"constraints":[{"total_len":{"max":20,"min":10}},{"bond":{"atom1":["R",4,"SG"],` +
				`"atom2":["Q",1,"C1"]}}],"entities":[{"protein":{"id":"R","sequence":"3..5C6C3"}},{"ligand":{"id":"Q",` +
				`"smiles":"C=CC(=O)N"}}],"leaving_atoms":[{"atom":["R",11,"HG"]}]}`},
			[]Chain{{"R", "protein", true, ""}, {"Q", "ligand", false, "C=CC(=O)N"}}, 21},
		{"cyclic", "entities:\n- protein: {id: 3E10, sequence: '3C8,5, 1C', cyclic: yes, secondary_structure: {sheet: " +
			"'1, 3..5'}}\n", []string{`spec.yaml: {"entities":[{"protein":{"cyclic":true,"id":"3E10",` +
			`"secondary_structure":{"sheet":"1,3..5"},"sequence":"3C8,5,1C"}}]}`},
			[]Chain{{"3E10", "protein", true, ""}}, 19},
		{"nested scaffolds", "entities:\n- file: {path: target.cif, include: [{chain: {id: A}}]}\n- file:\n    path:\n" +
			"    - ../nanobody_scaffolds/one.yaml\n    - two.yaml\n", []string{
			`spec.yaml: {"entities":[` + file + `,{"file":{"path":["nested-1.yaml","nested-2.yaml"]}}]}`,
			"structure-1.cif: target.cif",
			"nested-1.yaml: " + fmt.Sprintf(nestedJSON, 2), "structure-2.cif: one.cif",
			"nested-2.yaml: " + fmt.Sprintf(nestedJSON, 3), "structure-3.cif: two.cif",
		}, []Chain{{"A", "protein", false, ""}, {"B", "protein", true, ""}}, 596 + 50 - 3 + 5},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, err := ReadSpec("binder_1.yaml", []byte(c.text), files)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(c.engine, engine(t, s)); d != "" {
				t.Errorf("engine (-want +got):\n%s", d)
			}
			if d := cmp.Diff(c.chains, s.Chains()); d != "" {
				t.Errorf("chains (-want +got):\n%s", d)
			}
			if s.Tokens() != c.tokens {
				t.Errorf("%d tokens, want %d", s.Tokens(), c.tokens)
			}
			if s.Stem() != "binder-1" {
				t.Errorf("stem %q", s.Stem())
			}
		})
	}
}

const nestedJSON = `{"design":[{"chain":{"id":"B","res_index":"26..28,30.."}}],"design_insertions":[{"insertion":` +
	`{"id":"B","num_residues":"1..5","res_index":26}}],"exclude":[{"chain":{"id":"B","res_index":"26..28"}}],` +
	`"include":[{"chain":{"id":"B"}}],"path":"structure-%d.cif","reset_res_index":[{"chain":{"id":"B"}}],` +
	`"structure_groups":[{"group":{"id":"B","visibility":2}},{"group":{"id":"B","res_index":"26..28","visibility":0}}]}`

// Equal trees give equal bytes, whatever their style, comments, order of keys and names of files.
func TestEngineIsCanonical(t *testing.T) {
	one, err := ReadSpec("a.yaml", []byte(binder), map[string][]byte{"target.cif": target})
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{
		`{"entities": [{"protein": {"sequence": " 12..20 ", "id": "G"}}, {"file": {"binding_types": [{"chain":
  {"binding": "5..7, 9", "id": "A"}}], "include": [{"chain": {"res_index": "03..9", "id": "A"}}],
  "path": "../u/other.cif"}}]}`,
		"# a comment\n" + strings.ReplaceAll(strings.ReplaceAll(binder, "target", "other"), "3..9", "'3..9' # why"),
	} {
		other, err := ReadSpec("a.yaml", []byte(text), map[string][]byte{"other.cif": target})
		if err != nil {
			t.Fatal(err)
		}
		a, b := one.Engine(), other.Engine()
		for i := range a {
			if i > 0 {
				a[i].Name, b[i].Name = "", ""
			}
		}
		if d := cmp.Diff(a, b); d != "" {
			t.Errorf("%s\n%s", text, d)
		}
	}
}

// refusedSpecs are changes of binder and the sentences that refuse them.
var refusedSpecs = []struct{ old, new, want string }{
	{"path: target.cif", "path: /etc/passwd", `entities[1].file.path in binder.yaml (line 6) is "/etc/passwd"; it must be ` +
		"the name of one of the node's files: bad.cif, nest.yaml, nested.yaml, passwd, passwd.yaml, target.cif"},
	{"path: target.cif", "path: passwd", `entities[1].file.path in binder.yaml (line 6) is "passwd"; it must be ` +
		"the name of a structure, which ends in .pdb, .ent, .cif or .mmcif, or of a nested spec, which ends in .yaml " +
		"or .yml"},
	{"id: A\n            res", "id: Q\n            res", `entities[1].file.include[0].chain.id in binder.yaml (line 9) is ` +
		`"Q"; target.cif has the chains A, B`},
	{"3..9", "3..990", "entities[1].file.include[0].chain.res_index in binder.yaml (line 10) names residue 990; chain A " +
		"has 1 to 596"},
	{"3..9", "0..9", "entities[1].file.include[0].chain.res_index in binder.yaml (line 10) names residue 0; chain A has 1 " +
		"to 596"},
	{"3..9", "9..3", "entities[1].file.include[0].chain.res_index in binder.yaml (line 10) has the range 9..3; it must " +
		"ascend, such as 3..9"},
	{"3..9", "-3..9", `entities[1].file.include[0].chain.res_index in binder.yaml (line 10) names "-3..9"; the engine ` +
		"counts the residues of a chain from 1 along its sequence (label_seq_id), without signs, letters and insertion codes"},
	{"3..9", "3,H52A..54", `entities[1].file.include[0].chain.res_index in binder.yaml (line 10) names "H52A..54"; the engine ` +
		"counts the residues of a chain from 1 along its sequence (label_seq_id), without signs, letters and insertion codes"},
	{"3..9", "3-9", `entities[1].file.include[0].chain.res_index in binder.yaml (line 10) is "3-9"; it must be residues ` +
		"such as 5, 3..9, ..9 or 5.., joined by commas, or all"},
	{"12..20", "MKT", "binder.yaml designs nothing; give a protein a sequence with a number, such as 80..120, or a file a " +
		"design"},
	{"12..20", "20..12", "entities[0].protein.sequence in binder.yaml (line 4) has the range 20..12; it must ascend, such " +
		"as 80..120"},
	{"12..20", "12..2001", "entities[0].protein.sequence in binder.yaml (line 4) designs more than 2000 residues in one " +
		"range; at most 2000 are allowed"},
	{"12..20", "12-20", `entities[0].protein.sequence in binder.yaml (line 4) is "12-20"; "-" cannot stand there: letters ` +
		"stay and numbers design, such as 3..5C6C3"},
	{"12..20", "12BC", "entities[0].protein.sequence in binder.yaml (line 4) has the letter B; protein has the letters " +
		"ACDEFGHIKLMNPQRSTVWYX"},
	{"protein:", "dna:", "entities[0].dna.sequence in binder.yaml (line 4) has the number 12..20; only a protein can be " +
		"designed, so give letters"},
	{"id: G", "id: G\n      msa: a.a3m", `entities[0].protein.msa in binder.yaml (line 4) is "a.a3m"; it must be empty, 0 ` +
		"or -1: specs name no alignment"},
	{"id: G", "id: G\n      modifications: [{position: 1, ccd: SEP}]", "entities[0].protein.modifications in binder.yaml " +
		"(line 4) is not taken: the engine refuses modifications here; leave it out"},
	{"path: target.cif", "path: target.cif\n      add_cyclization: [{chain: {id: A}}]", "entities[1].file.add_cyclization " +
		"in binder.yaml (line 7) is not taken: the engine refuses add_cyclization outside nested specs; leave it out"},
	{"id: G", "id: G\n      sequnce: 3", `unknown field "sequnce" (line 4 of binder.yaml) in entities[0].protein; did you ` +
		`mean "sequence"?`},
	{"id: G", "id: [G, G]", `entities[0].protein.id[1] in binder.yaml (line 3) is "G", which another chain of the spec is ` +
		"called; names must differ"},
	{"id: G", "id: G-1", `entities[0].protein.id in binder.yaml (line 3) is "G-1"; it must be the name of a chain, 1 to 4 ` +
		"letters and digits"},
	{"entities:", "entities: &a", "line 1 of binder.yaml has the anchor &a; anchors are not taken"},
	{"entities:", "constraints: [{total_len: {min: 500, max: 900}}]\nentities:", "constraints[0].total_len in binder.yaml " +
		"(line 1) is 500 to 900; the design has 17 to 27 residues, target and binder together"},
	{"  - file:", "  - ligand: {id: L, smiles: C1CC}\n  - file:", "entities[1].ligand.smiles in binder.yaml (line 5) " +
		"is no SMILES: at position 2: the ring is not closed"},
	{"  - file:", "  - ligand: {id: L, smiles: CC)}\n  - file:", "entities[1].ligand.smiles in binder.yaml (line 5) " +
		`is no SMILES: at position 3: ")" cannot stand here`},
	{"  - file:", "  - ligand: {id: L, smiles: 'C[Xx]'}\n  - file:", "entities[1].ligand.smiles in binder.yaml (line 5) " +
		`is no SMILES: at position 2: "[Xx]" is no atom`},
	{"  - file:", "  - ligand: {id: L, smiles: 'CC(=O)[O-].[Na+]'}\n  - file:", ""},
	{"12..20", "1..3C", ""},
	{"entities:", "constraints: [{bond: {atom1: [G, 13, SG], atom2: [A, 1, N]}}]\nentities:", "constraints[0].bond." +
		"atom1[1] in binder.yaml (line 1) is 13; chain G has 1 to 12, its ranges counted by their shortest length"},
	{"entities:", "constraints: [{bond: {atom1: [Z, 13, SG], atom2: [A, 1, N]}}]\nentities:", "constraints[0].bond." +
		`atom1[0] in binder.yaml (line 1) is "Z"; the spec has the chains G, A`},
	{"path: target.cif", "path: bad.cif", "entities[1].file.path in binder.yaml (line 6) names bad.cif, which cannot be " +
		"read: mmCIF file: there are no atoms"},
	{"path: target.cif", "path: nested.yaml", "entities[1].file.include in binder.yaml (line 8) stands beside a nested " +
		"spec, whose own fields the engine reads instead; move it there"},
	{binder[strings.Index(binder, "      path"):], "      path: nest.yaml\n", `path in nest.yaml (line 1) is "nested.yaml"; ` +
		"it must be the name of a structure: a nested spec names no further spec"},
	{binder[strings.Index(binder, "      path"):], "      path: passwd.yaml\n", `path in passwd.yaml (line 1) is ` +
		`"../../etc/passwd "; it must be the name of one of the node's files: bad.cif, nest.yaml, nested.yaml, passwd, ` +
		"passwd.yaml, target.cif"},
}

func refusedFiles() map[string][]byte {
	return map[string][]byte{
		"target.cif": target, "bad.cif": []byte("data_x\n"), "passwd": nil, "nest.yaml": []byte("path: nested.yaml\n"),
		"nested.yaml": []byte("path: target.cif\n"), "passwd.yaml": []byte("path: '../../etc/passwd '\n"),
	}
}

func TestReadSpecRefuses(t *testing.T) {
	for _, c := range refusedSpecs {
		text := strings.Replace(binder, c.old, c.new, 1)
		if text == binder {
			t.Fatalf("the spec has no %q", c.old)
		}
		_, err := ReadSpec("binder.yaml", []byte(text), refusedFiles())
		if c.want == "" {
			if err != nil {
				t.Errorf("%s → %s: %v", c.old, c.new, err)
			}
			continue
		}
		if err == nil || err.Error() != c.want || pleat.CodeOf(err) != pleat.CodeInvalid {
			t.Errorf("%s → %s:\n got %v\nwant %s", c.old, c.new, err, c.want)
		}
	}
	for _, path := range []string{"~/target.cif", "C:target.cif", `x\target.cif`, "file://target.cif", "target.cif/",
		"target.cif/..", ".", "..", "", "a/\x01/target.cif", "//target.cif", "other.cif"} {
		text := strings.Replace(binder, "path: target.cif", fmt.Sprintf("path: %q", path), 1)
		if _, err := ReadSpec("binder.yaml", []byte(text), refusedFiles()); err == nil ||
			!strings.Contains(err.Error(), "it must be the name of one of the node's files: bad.cif") {
			t.Errorf("path %q: %v", path, err)
		}
	}
}

// Chains of a PDB file go by its letters, residues by their place in its sequence, and a name that is taken changes.
func TestReadSpecOfPDB(t *testing.T) {
	text, err := os.ReadFile("../structure/testdata/1crn.pdb")
	if err != nil {
		t.Fatal(err)
	}
	s, err := ReadSpec("x.yaml", []byte("entities:\n- protein: {id: A, sequence: 5}\n- file: {path: 1crn.pdb, design: "+
		"[{chain: {id: all}}], not_design: [{chain: {id: A, res_index: ..40}}]}\n"), map[string][]byte{"1crn.pdb": text})
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]Chain{{"A", "protein", true, ""}, {"B", "protein", true, ""}}, s.Chains()); d != "" {
		t.Error(d)
	}
	if s.Tokens() != 51 || s.Engine()[1].Path != "structure-1.pdb" {
		t.Errorf("%d tokens, %+v", s.Tokens(), s.Engine()[1])
	}
}

// A stem has letters, digits and hyphens alone, so that it cannot end as the engine refuses.
func TestCheckBackbone(t *testing.T) {
	const file = "entities:\n  - file:\n      path: target.cif\n"
	const chain = file + "      design: [{chain: {id: A}}]\n"
	for text, want := range map[string]string{
		chain: "",
		file + "      design: [{chain: {id: A, res_index: 3..9}}]\n": "",
		chain + "      include: [{chain: {id: A}}]\n":                "",
		chain + "  - protein: {id: G, sequence: MKT}\n":              "more than one entity",
		chain + "constraints:\n  - total_len: {min: 1, max: 700}\n":  "or fields beside entities",
		"entities:\n  - protein: {id: G, sequence: 12..20}\n":        "entities[0] in spec.yaml names no structure",
		file + "      design: [{chain: {id: all}}]\n":                "has the id all",
		chain + "      include: [{chain: {id: A, res_index: 1..5}}]\n": "entities[0].file.include in spec.yaml names " +
			"residues",
		chain + "      not_design: [{chain: {id: A, res_index: 1..5}}]\n": "entities[0].file.not_design in spec.yaml " +
			"is not taken",
	} {
		s, err := ReadSpec("spec.yaml", []byte(text), map[string][]byte{"target.cif": target})
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		err = s.CheckBackbone()
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want %q", text, err, want)
		}
	}
}

func TestStem(t *testing.T) {
	for name, want := range map[string]string{
		"binder.yaml": "binder", "my binder_2.yml": "my-binder-2", "x_native.yaml": "x-native", "ä.yaml": "design",
		".yaml": "design",
	} {
		if got := (&Spec{name: name}).Stem(); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}

// Copies of chains in an assembly have names of their own.
func TestReadSpecOfAssembly(t *testing.T) {
	s, err := ReadSpec("x.yaml", []byte("entities:\n- protein: {id: C, sequence: 8}\n- file: {path: target.cif, "+
		"use_assembly: true, include: [{chain: {id: B1}}, {chain: {id: B2}}], structure_groups: [{group: {id: B2, "+
		"visibility: 1}}]}\n"), map[string][]byte{"target.cif": target})
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]Chain{{"C", "protein", true, ""}, {"B1", "protein", false, ""}, {"B2", "protein", false, ""}},
		s.Chains()); d != "" || s.Tokens() != 88 {
		t.Errorf("%d tokens\n%s", s.Tokens(), d)
	}
}

func FuzzReadSpec(f *testing.F) {
	f.Add([]byte(binder))
	f.Add(fmt.Appendf(nil, scaffold, "target"))
	for _, c := range refusedSpecs {
		f.Add([]byte(strings.Replace(binder, c.old, c.new, 1)))
	}
	small := cifOf(testChain{"A", 12}, testChain{"B", 40})
	f.Fuzz(func(t *testing.T, text []byte) {
		// The text is the main spec, and the nested one too.
		files := refusedFiles()
		files["target.cif"], files["nested.yaml"] = small, text
		s, err := ReadSpec("binder.yaml", text, files)
		if err != nil {
			if pleat.CodeOf(err) == pleat.CodeInternal || strings.ContainsAny(err.Error(), "\n\r\x00") {
				t.Fatalf("%q", err)
			}
			return
		}
		names := map[string]bool{}
		for _, c := range s.Chains() {
			if names[c.Name] {
				t.Fatalf("two chains are called %q", c.Name)
			}
			names[c.Name] = true
		}
		main := s.Engine()[0].Text
		again, err := ReadSpec("binder.yaml", main, oursFiles(s, files))
		if err != nil {
			t.Fatalf("what was written cannot be read: %v\n%s", err, main)
		}
		if d := cmp.Diff(string(main), string(again.Engine()[0].Text)); d != "" {
			t.Fatalf("what was written is read as another spec:\n%s", d)
		}
	})
}

// oursFiles returns the files of a spec by the paths that the engine sees.
func oursFiles(s *Spec, files map[string][]byte) map[string][]byte {
	out := map[string][]byte{}
	for _, f := range s.Engine()[1:] {
		if out[f.Path] = f.Text; f.Kind == Structure {
			out[f.Path] = files[f.Name]
		}
	}
	return out
}

// A file that is named twice is one; a name that stands for two is refused.
func TestReadReferences(t *testing.T) {
	const one, two = "01a201ab-35af-701a-8285-79d3e5419cee", "01a201ab-3574-7c52-acd6-b786c377249b"
	main := Reference{Item: two, Name: "s.yaml", Field: "inputYML"}
	file := func(id string) string { return `{"libraryItemId": "` + id + `", "fileName": "a.cif"}` }
	got, err := ReadReferences([]byte("["+file(one)+","+file(strings.ToUpper(one))+"]"), "files", main)
	if err != nil || len(got) != 1 || got[0].Item != one || got[0].Field != "files[0]" {
		t.Errorf("%+v %v", got, err)
	}
	_, err = ReadReferences([]byte("["+file(one)+","+file(two)+"]"), "files", main)
	const want = `the name "a.cif" stands for two library items, in files[0] and files[1]`
	if err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	named := func(id, name string) []byte {
		return fmt.Appendf(nil, `[{"libraryItemId": %q, "fileName": %q}]`, id, name)
	}
	if got, err := ReadReferences(named(two, "s.yaml"), "files", main); err != nil || len(got) != 0 {
		t.Errorf("the spec itself: %+v %v", got, err)
	}
	for name, want := range map[string]string{
		"s.yaml":                 `the name "s.yaml" stands for two library items, in inputYML and files[0]`,
		"a/b":                    `files[0].fileName is "a/b"; it must be the name of a file, without a folder`,
		"a\n":                    "files[0].fileName is \"a\ufffd\"; it must be the name of a file, without a folder",
		"":                       "files[0].fileName is required; it is the file's name in the spec",
		strings.Repeat("a", 256): "files[0].fileName has 256 characters; at most 255 are allowed",
	} {
		if _, err := ReadReferences(named(one, name), "files", main); err == nil || err.Error() != want {
			t.Errorf("%q: %v, want %s", name, err, want)
		}
	}
}

// A spec brings a bounded number of chains, under names that are found at once.
func TestChainsAreBounded(t *testing.T) {
	var many []testChain
	for i := range pleat.MaxChains {
		many = append(many, testChain{fmt.Sprintf("X%d", i), 3})
	}
	text := "entities:\n- protein: {id: A, sequence: 9}\n- file: {path: a.cif}\n- file: {path: a.cif}\n"
	_, err := ReadSpec("s.yaml", []byte(text), map[string][]byte{"a.cif": cifOf(many...)})
	const want = "entities[1] in s.yaml (line 3) brings the design to 513 chains; at most 512 are allowed"
	if err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}
