package flow

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pleat"
	"pleat/internal/calvados"
)

const (
	job  = "0198c1d2-0000-7000-8000-000000000001"
	run  = "0198c1d2-0000-7000-8000-000000000002"
	seq  = "0198c1d2-0000-7000-8000-000000000003"
	item = "0198c1d2-0000-7000-8000-000000000004"
	pae  = "0198c1d2-0000-7000-8000-000000000005"
)

func TestParseQnA(t *testing.T) {
	for name, c := range map[string]struct {
		input string
		draft bool
		want  StructureSource
		ref   string
	}{
		"fold, snake": {`{"targetSource":"fold_job","source_job_id":"` + job + `","source_job_run_id":"` + run +
			`","source_sequence_id":"` + seq + `","question":"why?"}`, false,
			StructureSource{Kind: SourceFold, Fold: pleat.FoldRef{Job: job, Run: run, Sequence: seq}},
			"fold_job/" + job + "/" +
				run + "/" + seq},
		"fold, camel, spelled with a space": {`{"targetSource":"fold job","sourceJobId":"` + strings.ToUpper(job) +
			`","sourceJobRunId":null,"question":"why?"}`, false,
			StructureSource{Kind: SourceFold, Fold: pleat.FoldRef{Job: job}}, "fold_job/" + job},
		"inferred": {
			`{"pdb_id":"1ubq","question":"why?","mood":"kept"}`, false, StructureSource{Kind: SourcePDB, ID: "1UBQ"},
			"pdb/1UBQ",
		},
		"uniprot": {`{"targetSource":"uniprot","uniprotId":" p0cg47 ","question":"why?"}`, false,
			StructureSource{Kind: SourceUniProt, ID: "P0CG47"}, "uniprot/P0CG47"},
		"long pdb": {
			`{"pdbId":"pdb_00001ubq","question":"why?"}`, false, StructureSource{Kind: SourcePDB, ID: "PDB_00001UBQ"},
			"pdb/PDB_00001UBQ",
		},
		"library": {`{"targetSource":"library","libraryItemId":"` + item + `","question":"why?"}`, false,
			StructureSource{Kind: SourceLibrary, Structure: pleat.FileRef{Item: item}}, "library/" + item},
		"upload": {`{"targetSource":"upload","files":{"pdb":{"libraryItemId":"` + item +
			`","fileName":"a b.pdb"}},"question":"why?"}`, false,
			StructureSource{Kind: SourceUpload, Structure: pleat.FileRef{Item: item, Name: "a b.pdb"}},
			"upload/" + item + "/a b.pdb"},
		"draft, empty": {`{"pdbId":"1UBQ"}`, true, StructureSource{Kind: SourcePDB, ID: "1UBQ"}, "pdb/1UBQ"},
		"other ids ignored": {`{"targetSource":"pdb","pdbId":"1UBQ","source_job_id":"` + job + `","question":"q"}`,
			false, StructureSource{Kind: SourcePDB, ID: "1UBQ"}, "pdb/1UBQ"},
	} {
		t.Run(name, func(t *testing.T) {
			parse := Parse
			if c.draft {
				parse = ParseDraft
			}
			p, err := parse("evolla", json.RawMessage(c.input))
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(c.want, p.Source); d != "" {
				t.Error(d)
			}
			if p.Kind != pleat.TaskQnA || p.MD != nil || p.QnA.Reference != c.ref ||
				p.QnA.Source != string(c.want.Kind) {
				t.Errorf("%+v", p.QnA)
			}
		})
	}
}

// The end sign of a sequence is dropped in every kind of input that has one, with a note; elsewhere, and twice, it is
// no letter.
func TestEndSign(t *testing.T) {
	for alias, c := range map[string]struct{ input, field string }{
		"md":     {`{"preset":"single_idr_fasta","sequence":"MKTGS%s"}`, "workflow_input.sequence"},
		"design": {`{"target":{"sequence":"MKTGS%s"}}`, "workflow_input.target.sequence"},
		"boltzgen": {`{"target":{"pdbId":"1ubq"},"binder":{"sequence":"MKTGS%s"}}`,
			"workflow_input.binder.sequence"},
		"alignment": {`{"sequences":["MKTGS%s"]}`, "workflow_input.sequences[0]"},
	} {
		p, err := Parse(alias, json.RawMessage(fmt.Sprintf(c.input, `*\n`)))
		if err != nil {
			t.Errorf("%s: %v", alias, err)
			continue
		}
		var sequence string
		switch {
		case p.MD != nil:
			sequence = p.MD.Sequence
		case p.Align != nil:
			sequence = p.Align.Sequences[0].Text
		default:
			sequence = p.Design.Task.Sequence + strings.TrimPrefix(p.Design.Task.Binder.Sequence, "80..120")
		}
		if sequence != "MKTGS" {
			t.Errorf("%s: the sequence is %q", alias, sequence)
		}
		if d := cmp.Diff([]string{c.field + ": the end sign * was dropped"}, p.Notes.Texts()); d != "" {
			t.Errorf("%s: %s", alias, d)
		}
		if alias == "boltzgen" { // the reader of the spec knows the letters
			continue
		}
		for _, end := range []string{"*K", "**"} {
			if _, err := Parse(alias, json.RawMessage(fmt.Sprintf(c.input, end))); err == nil {
				t.Errorf("%s: MKTGS%s was accepted", alias, end)
			}
		}
	}
}

func TestParseMD(t *testing.T) {
	p, err := Parse("openmm", json.RawMessage(`{"sourceType":"fold_job","sourceJobId":"`+job+
		`","preset":"single_af_go","residue_profile":"calvados3","temp":310,"ionic":0.1,"pH":7,
		"step_size_ns":0.001,"simLengthNs":0.05,"box_length":15,"config":{"box_eq":false,"pressure":[0,0,0]},"component_defaults":{"charge_termini":"N","restraint":true,"nmol":1},
		"topol":"center","isPublic":true,"note to self":"kept","seed":7,"webhooks":{"custom_http":{"enabled":false}}}`))
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(pleat.MDInput{
		Preset:   PresetGo,
		Profile:  "calvados3",
		Temp:     310,
		Ionic:    0.1,
		PH:       7,
		StepNs:   0.001,
		LengthNs: 0.05,
		BoxNm:    15,
		Termini:  "N",
		Seed:     7,
	}, mdInput(p)); d != "" {
		t.Error(d)
	}
	if p.Seed != "7" || !p.Public || p.Webhooks == nil {
		t.Errorf("%+v", p)
	}
	p, err = Parse("md", json.RawMessage(`{"sequence":"dsh akr\nHHGYKRKFHEKHHSHRGY"}`))
	if err != nil {
		t.Fatal(err)
	}
	defaults := pleat.MDInput{
		Preset:   PresetIDR,
		Profile:  "calvados2",
		Sequence: "DSHAKRHHGYKRKFHEKHHSHRGY",
		Temp:     293.15,
		Ionic:    0.15,
		PH:       7.5,
		StepNs:   0.01,
		LengthNs: 0.2,
		BoxNm:    20,
		Termini:  "both",
	}
	if d := cmp.Diff(defaults, mdInput(p)); d != "" || p.Source.Kind != SourceNone {
		t.Errorf("source %q; defaults:\n%s", p.Source.Kind, d)
	}
	p, err = Parse("md", json.RawMessage(`{"files":{"pdb":{"libraryItemId":"`+item+`"},"pae":{"library_item_id":"`+pae+
		`","file_name":"pae.json"}}}`))
	if err != nil || p.Source.Structure.Item != item || p.Source.PAE != (pleat.FileRef{Item: pae, Name: "pae.json"}) ||
		p.MD.Preset != PresetGo {
		t.Errorf("%+v %v", p.Source, err)
	}
	p, err = Parse("md", json.RawMessage(`{"preset":"all_atom","sourceJobId":"`+job+
		`","force_field_family":"amber","config":{"box_eq":false,"pressure":[0,0,0]}}`))
	if err != nil || p.MD.Preset != PresetAllAtom || p.MD.Parameters["force_field_family"] != "amber" {
		t.Errorf("%+v %v", p.MD, err)
	}
}

// mdInput returns the input of a simulation without the record of how each parameter was resolved.
func mdInput(p Plan) pleat.MDInput {
	in := *p.MD
	in.Parameters = nil
	return in
}

func TestRefusals(t *testing.T) {
	fold := `"sourceJobId":"` + job + `",`
	idr := `"sequence":"DSHAKRHHGYKRKFHEKHHSHRGY",`
	for _, c := range []struct{ word, input, want string }{
		{"qna", `[]`, "workflow_input must be a JSON object"},
		{"qna", `null`, "workflow_input must be a JSON object"},
		{"dock", `{}`, "workflow_name is \"dock\""},
		{"qna", `{"question":"q"}`, "targetSource is required; it must be fold_job"},
		{"qna", `{"question":"q","targetSource":"librery"}`, `did you mean "library"?`},
		{"qna", `{"question":"q","targetSource":"http://x"}`, "it must be fold_job, library, upload, pdb, uniprot"},
		{"qna", `{"question":"q","targetSource":"fold_job"}`,
			"source_job_id is required where the source is \"fold_job\""},
		{"qna", `{"question":"q","targetSource":"fold_job","source_job_id":"7"}`,
			`source_job_id is "7"; it must be a UUID`},
		{"qna", `{"question":"q","targetSource":"pdb"}`, "pdbId is required"},
		{"qna", `{"question":"q","targetSource":"pdb","pdbId":"../x"}`, "must be a PDB id such as 1UBQ"},
		{"qna", `{"question":"q","targetSource":"uniprot","uniprotId":"P0CG4"}`, "must be a UniProt accession"},
		{"qna", `{"question":"q","targetSource":"library"}`, "libraryItemId is required"},
		{"qna", `{"question":"q","targetSource":"upload"}`, "files.pdb.libraryItemId is required"},
		{"qna", `{"question":"q","targetSource":"upload","files":{"pdb":{"libraryItemId":"` + item +
			`","fileName":"../a"}}}`, "must be the plain name of a file"},
		{"qna", `{"question":"q","pdbId":"1UBQ","pdb_id":"1UBI"}`, "names one field twice: pdb_id and pdbId"},
		{"qna", `{"question":"q","pdbId":"1UBQ","source_job_id":"` + job + `"}`,
			"targetSource is required where the ids of fold_job and pdb are given"},
		{"qna", `{"pdbId":"1UBQ"}`, "question is required and must not be empty"},
		{"qna", `{"pdbId":"1UBQ","question":"   "}`, "question is required"},
		{"qna", `{"pdbId":"1UBQ","question":7}`, "question is 7; it must be a string"},
		{"qna", `{"pdbId":"1UBQ","question":"` + strings.Repeat("why ", 2100) + `"}`,
			"question has 8400 bytes; at most 8192 are allowed"},
		{"qna", `{"pdbId":"1UBQ","question":"a\u0000b"}`, `holds '\x00' at byte 2`},
		{"qna", `{"pdbId":"1UBQ","question":"q","webhooks":{"qna":{"enabled":true}}}`,
			"workflow_input.webhooks; it may be custom_http"},
		{"qna", `{"pdbId":"1UBQ","question":"q","isPublic":"yes"}`, "isPublic is \"yes\"; it must be true or false"},
		{"md", `{}`, "sourceJobId is required for preset single_af_go"},
		{"md", `{` + fold + `"sim_lenght_ns":1}`,
			`unknown field "sim_lenght_ns" in workflow_input; did you mean "sim_length_ns"?`},
		{"md", `{` + fold + `"temperature":310}`, `did you mean "temp"?`},
		{"md", `{` + fold + `"PH":7}`, `did you mean "pH"?`},
		{"md", `{` + fold + `"config":{"box_eq":true}}`,
			"config.box_eq is true, but preset single_af_go keeps its box"},
		{"md", `{` + fold + `"preset":"all_atom","config":{"box_eq":true}}`,
			"config.box_eq is true, but preset all_atom has no box"},
		{"md", `{` + fold + `"preset":"all_atom","config":{"pressure":[1,1,1]}}`,
			"config.pressure would be ignored: preset all_atom"},
		{"md", `{` + fold + `"preset":"all_atom","component_defaults":{"charge_termini":"N"}}`,
			"charge_termini is \"N\", but preset all_atom charges both ends"},
		{"md", `{` + fold + `"config":{"pressure":[1,0,0]}}`, "config.pressure would be ignored"},
		{"md", `{` + fold + `"config":{"pressure":1}}`, "must be a list of three numbers"},
		{"md", `{` + fold + `"config":{"presure":[1,0,0]}}`,
			`unknown field "presure" in workflow_input.config; did you mean "pressure"?`},
		{"md", `{` + fold + `"config":{"slab_eq":true}}`, "config.slab_eq would be ignored"},
		{"md", `{` + fold + `"component_defaults":{"charge_termini":"all"}}`, "charge_termini is \"all\""},
		{"md", `{` + fold + `"component_defaults":{"nmol":5}}`, "component_defaults.nmol is 5"},
		{"md", `{` + fold + `"topol":"slab"}`, "topol is \"slab\""},
		{"md", `{` + fold + `"preset":"single_af"}`, `preset is "single_af"; did you mean "single_af_go"?`},
		{"md", `{` + fold + `"residue_profile":"calvados1"}`, "residue_profile is"},
		{"md", `{` + fold + `"force_field_family":"amber"}`, "but preset single_af_go uses calvados"},
		{"md", `{` + fold + `"temp":0}`, "temp is 0 K; it must be from 250 to 400 K"},
		{"md", `{` + fold + `"temp":"NaN"}`, `temp is "NaN"; it must be a number`},
		{"md", `{` + fold + `"temp":1e999}`, "temp is 1e999; it must be a number"},
		{"md", `{` + fold + `"ionic":-1}`, "ionic is -1 mol/L"},
		{"md", `{` + fold + `"pH":15}`, "pH is 15; it must be from 0 to 14"},
		{"md", `{` + fold + `"box_length":7.9}`, "box_length is 7.9 nm; it must be from 8"},
		{"md", `{` + fold + `"step_size_ns":-0.01}`,
			"step_size_ns is -0.01; the time between saved frames must be above 0"},
		{"md", `{` + fold + `"sim_length_ns":-1}`, "sim_length_ns is -1; the simulated time must be above 0"},
		{"md", `{` + fold + `"sim_length_ns":10000,"step_size_ns":1}`,
			"1e+09 steps of 10 fs; at most 100000000 steps (1000 ns)"},
		{"md", `{` + fold + `"sim_length_ns":100,"step_size_ns":0.0001}`, "makes 1000000 frames; at most 100000"},
		{"md", `{` + fold + `"step_size_ns":0.000015}`, "must be a whole number of steps"},
		{"md", `{` + fold + `"sim_length_ns":0.001}`, "shorter than step_size_ns"},
		{"md", `{"preset":"single_idr_fasta"}`, "sequence is required for preset single_idr_fasta"},
		{"md", `{` + idr + fold + `"preset":"single_idr_fasta"}`,
			"sequence would be ignored: the fold job has the sequence"},
		{"md", `{"sequence":"DSHB"}`, `sequence, residue 4: 'B' stands for D or N; dynamics knows`},
		{"md", `{"sequence":"D"}`, "sequence has 1 residue; dynamics takes 2 to 5000"},
		{"md", `{` + `"sequence":"` + strings.Repeat("A", 1500) + `","box_length":20}`,
			"smaller than the chain of 1500 residues"},
		{"md", `{` + idr + `"preset":"single_idr_fasta","files":{"pdb":{"libraryItemId":"` + item + `"}}}`,
			"files would be ignored"},
		{"md", `{"files":{"pdb":{"libraryItemId":"` + item + `"}}}`, "files.pae.libraryItemId is required"},
		{"md", `{"files":{"pdb":{}}}`, "files.pdb.libraryItemId is required; POST"},
		{"md", `{` + fold + `"files":{"pdb":{"libraryItemId":"` + item + `"}}}`, "names a fold job and files"},
		{"md", `{` + fold + `"seed":-1}`, "seed is -1; it must be a whole number"},
		{"md", `{` + fold + `"name":"` + strings.Repeat("x", maxInput) + `"}`, "at most 262144 are allowed"},
	} {
		_, err := Parse(c.word, json.RawMessage(c.input))
		var refusal *pleat.Error
		if !errors.As(err, &refusal) || refusal.Code != pleat.CodeInvalid || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %.200s:\n got %v\nwant … %s", c.word, c.input, err, c.want)
		}
	}
}

// An input has all its faults, in the order of the checks, and none that only follows from another.
func TestEveryFault(t *testing.T) {
	many := `{"sourceJobId":"` + job + `","config":{`
	for i := range 150 {
		many += fmt.Sprintf(`"x%d":1,`, i)
	}
	for name, c := range map[string]struct {
		alias, input string
		want         []string // the fields
	}{
		"independent": {"md", `{"sourceJobId":"` + job + `","temp":0,"pH":"low","sim_length_ns":-1,"step_size_ns":0,
			"config":{"box_eq":true,"pressure":1},"component_defaults":{"nmol":2,"restraint":false},"isPublic":1,
			"webhooks":{"qna":{}},"seed":-1,"sim_lenght_ns":1}`, []string{
			"sim_lenght_ns", "isPublic", "pH", "seed", "config.box_eq", "config.pressure", "component_defaults.nmol",
			"component_defaults.restraint", "temp", "step_size_ns", "sim_length_ns",
			"webhooks.qna"}},
		"a preset decides what is read": {"md", `{"preset":"single_idr","topol":"slab","temp":0,"files":{"pdb":{}},
			"config":{"box_eq":true}}`, []string{"files.pdb.libraryItemId", "preset", "topol", "temp"}},
		"steps follow from a length": {"md", `{"sequence":"GSGB","sim_length_ns":"long","step_size_ns":1000}`,
			[]string{"sim_length_ns", "sequence"}},
		"a source that cannot be read": {"md", `{"sourceJobId":7,"files":[]}`, []string{"source_job_id", "files"}},
		"a question": {"qna", `{"question":7,"pdbId":true,"isPublic":"yes"}`,
			[]string{"isPublic", "question", "pdbId"}},
		"one fault of a field": {"qna", `{"question":"q","targetSource":"pdb","pdbId":"` + strings.Repeat("x", 65) +
			`"}`, []string{"pdbId"}},
		"not an object": {"md", `[]`, []string{""}},
		"a hundred":     {"md", many[:len(many)-1] + `}}`, slices.Repeat([]string{"config"}, pleat.MaxErrors)},
	} {
		_, err := Parse(c.alias, json.RawMessage(c.input))
		var fields []string
		for _, fault := range pleat.ErrorsOf(err) {
			field := strings.TrimPrefix(strings.TrimPrefix(fault.Field, "workflow_input"), ".")
			if name == "a hundred" {
				field, _, _ = strings.Cut(field, ".")
			}
			fields = append(fields, field)
		}
		if d := cmp.Diff(c.want, fields); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
	err := CheckSettings("md", json.RawMessage(`{"temp":0,"webhooks":{"custom_http":{"target_url":"https://x"}}}`), "s")
	if got := pleat.ErrorsOf(err); len(got) != 2 || got[0].Field != "s.webhooks.custom_http.target_url" ||
		got[1].Field != "s.temp" {
		t.Errorf("settings: %v", got)
	}
}

func TestFromFold(t *testing.T) {
	fold := Fold{Ref: pleat.FoldRef{Job: job, Run: run, Sequence: seq}, Name: "Trp-cage", User: "u"}
	f, err := FromFold("evolla", json.RawMessage(`{"enabled":true,"initial_question":"How many helices?"}`), fold)
	if err != nil || f.Plan.Draft || f.Name != "Question about Trp-cage" {
		t.Fatalf("%+v %v", f, err)
	}
	p, err := Parse("evolla", f.Input)
	if err != nil || p.QnA.Question != "How many helices?" || p.Source.Fold != fold.Ref {
		t.Fatalf("%+v %v", p, err)
	}
	for _, settings := range []string{``, `{}`, `{"enabled":true,"initial_question":""}`, `{"initialQuestion":null}`} {
		if f, err := FromFold("qna", json.RawMessage(settings), fold); err != nil || !f.Plan.Draft {
			t.Errorf("%s: %+v %v", settings, f, err)
		}
	}
	f, err = FromFold("md",
		json.RawMessage(
			`{"enabled":true,"residue_profile":"calvados3","temp":300,"sim_length_ns":0.1,"step_size_ns":0.001,"pH":6,"ionic":0.2,"source_job_id":"`+item+`","tint":"kept"}`), fold)
	if err != nil {
		t.Fatal(err)
	}
	p, err = Parse("md", f.Input)
	if err != nil || p.Source.Fold != fold.Ref {
		t.Fatalf("%+v %v", p.Source, err)
	}
	if d := cmp.Diff(pleat.MDInput{
		Preset:   PresetGo,
		Profile:  "calvados3",
		Temp:     300,
		Ionic:    0.2,
		PH:       6,
		StepNs:   0.001,
		LengthNs: 0.1,
		BoxNm:    20,
		Termini:  "both",
	}, mdInput(p)); d != "" {
		t.Error(d)
	}
	if in := string(f.Input); !strings.Contains(in, `"tint":"kept"`) || strings.Contains(in, "enabled") {
		t.Error(in)
	}
	f, err = FromFold("openmm", json.RawMessage(`{"preset":"single_idr_fasta"}`), fold)
	if err != nil || !strings.Contains(string(f.Input), "single_idr_fasta") {
		t.Errorf("%+v %v", f, err)
	}
	if err := CheckSettings("openmm", json.RawMessage(`{"temp":-5}`), "constraints.webhooks.openmm"); err == nil ||
		!strings.HasPrefix(err.Error(), "constraints.webhooks.openmm.temp is -5 K") {
		t.Error(err)
	}
	if err := CheckSettings("qna",
		json.RawMessage(`{"webhooks":{"custom_http":{"enabled":true,"target_url":"https://x","token_value":"t"}}}`),
		"constraints.webhooks.qna"); err == nil ||
		!strings.Contains(err.Error(), "webhooks.custom_http.target_url is not allowed here") {
		t.Error(err)
	}
	if err := CheckSettings("qna", json.RawMessage(`{"initial_question":"`+strings.Repeat("x", 9000)+`"}`),
		"constraints.webhooks.qna"); err == nil || !strings.Contains(err.Error(), "initial_question has 9000 bytes") {
		t.Error(err)
	}
}

func TestChoose(t *testing.T) {
	models := func(names ...string) (out []pleat.Model) {
		for _, n := range names {
			kind := pleat.TaskQnA
			if n == "calvados" || n == "openmm" {
				kind = pleat.TaskMD
			}
			out = append(out, pleat.Model{Name: n, Kind: kind, Memory: pleat.MemoryModel{Base: 5}})
		}
		return append(out, pleat.Model{Name: "mini", Kind: pleat.TaskFold})
	}
	large := pleat.Model{Name: "evolla", Kind: pleat.TaskQnA, Memory: pleat.MemoryModel{Base: 24e9}, Room: 16e9}
	q := &Plan{Kind: pleat.TaskQnA, QnA: &pleat.QnAInput{}}
	md := func(preset string) *Plan {
		return &Plan{Kind: pleat.TaskMD, MD: &pleat.MDInput{Preset: preset}, Seed: "3"}
	}
	for _, c := range []struct {
		p                  *Plan
		models             []pleat.Model
		queue, want, field string
	}{
		{q, models("analyst", "calvados"), "qna/analyst", "", ""},
		{q, models("analyst", "chat"), "qna/chat", "", ""},
		{q, models("analyst", "chat", "evolla"), "qna/evolla", "", ""},
		{q, append(models("analyst"), large), "qna/analyst", "", ""},
		{q, append(models(), large), "", "evolla needs about 24 GB of memory; where it runs there are 16 GB",
			"workflow_input"},
		{q, models("oracle"), "qna/oracle", "", ""},
		{q, models("calvados"), "", "no engine for qna is running here", "workflow_name"},
		{md(PresetGo), models("analyst", "calvados"), "md/calvados", "", ""},
		{md(PresetAllAtom), models("calvados"), "", "all_atom needs the engine openmm, which is not running here; " +
			"presets here: single_af_go, single_idr_fasta", "workflow_input.preset"},
		{md(PresetAllAtom), models("calvados", "openmm"), "md/openmm", "", ""},
		{md(PresetGo), models("analyst"), "", "no engine for md is running here", "workflow_name"},
	} {
		got, err := Choose(c.p, c.models)
		message := ""
		if err != nil {
			message = err.Error()
		}
		if got.Queue != c.queue || !strings.Contains(message, c.want) || (err == nil) != (c.want == "") {
			t.Errorf("%+v: %+v %v", c, got, err)
		}
		for _, fault := range pleat.ErrorsOf(err) {
			if fault.Field != c.field {
				t.Errorf("%q has the field %q, want %q", fault, fault.Field, c.field)
			}
		}
	}
	small, huge := *q, *q
	small.Size, huge.Size = SourceSize{Structure: 64_000}, SourceSize{Structure: 64 << 20, PAE: 64 << 20}
	analyst := pleat.Model{Name: "analyst", Kind: pleat.TaskQnA, Room: 1e9,
		Memory: pleat.MemoryModel{Base: 100e6, Linear: 10e3}}
	if got, err := Choose(&small, []pleat.Model{analyst}); err != nil || got.Memory != 101e6 {
		t.Errorf("a question on 64,000 bytes: %+v, %v", got, err)
	}
	if _, err := Choose(&huge, []pleat.Model{analyst}); err == nil ||
		err.Error() != "the engine analyst needs about 2 GB of memory; where it runs there are 1 GB" {
		t.Errorf("a question on 128 MiB: %v", err)
	}
	if got, _ := Choose(md(PresetIDR), models("calvados")); got.Seed != "3" || got.Memory != 5 {
		t.Errorf("%+v", got)
	}
}

// A model for designs runs the protocols that its features say, and the caller may choose among several.
func TestChooseDesigner(t *testing.T) {
	model := func(name string, features ...pleat.Feature) pleat.Model {
		return pleat.Model{Name: name, Kind: pleat.TaskDesign, Features: features}
	}
	both := []pleat.Model{model("another"), model("ligandmpnn", pleat.FeatureSequenceOnly), model("boltzgen"),
		model("proteinmpnn", pleat.FeatureSequenceOnly)}
	binder, backbone := `"target":{"sequence":"MKTGS"}`, `"protocol":"sequence_only",`+structureTarget+
		`,"redesign":[{"chain_id":"A"}]`
	for _, c := range []struct {
		input, want string
		models      []pleat.Model
	}{
		{binder, "boltzgen", both},
		{binder + `,"modelName":"another"`, "another", both},
		{binder + `,"modelName":"ligandmpnn"`, `workflow_input.modelName is "ligandmpnn"; for the protocol ` +
			`protein-anything these run here: boltzgen, another`, both},
		{binder, "no engine for design is running here; install one with pleat engines install boltzgen and name it in " +
			"--engines", both[1:2]},
		{backbone, "proteinmpnn", both},
		{backbone, "ligandmpnn", both[:3]},
		{backbone + `,"model_name":"ligandmpnn"`, "ligandmpnn", both},
		{backbone, "no engine for the protocol sequence_only is running here; install one with pleat engines install " +
			"proteinmpnn and name it in --engines", both[:1]},
	} {
		p, err := Parse("design", json.RawMessage("{"+c.input+"}"))
		if err != nil {
			t.Fatal(err)
		}
		task, err := Choose(&p, c.models)
		got := task.Model.Name
		if err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%s: %s; want %s", c.input, got, c.want)
		}
	}
}

func TestRows(t *testing.T) {
	row, err := AnswerRow(&pleat.QnAInput{
		Question:  "a<b?",
		Source:    "pdb",
		Reference: "pdb/1UBQ",
		File:      "input/1ubq.cif",
	}, "yes", "analyst 1", "t-1/job.yaml")
	if err != nil {
		t.Fatal(err)
	}
	want := `{"question":"a<b?","answer":"yes","targetSource":"pdb","targetRef":"pdb/1UBQ","fileName":"1ubq.cif","image":"pleat analyst 1","job_yaml_path":"t-1/job.yaml"}`
	if string(row) != want {
		t.Error(string(row))
	}
	if same, err := WithURLs(row, func(string) string { return "x" }); err != nil || string(same) != want {
		t.Error(string(same), err)
	}
	row, err = DynamicsRow([]RowFile{{Path: "trajectory.dcd", SizeBytes: 9}, {Path: MetricsFile, SizeBytes: 3}},
		Metrics{Frames: 20})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(string(row), `{"artifacts":[{"path":"trajectory.dcd","sizeBytes":9,"url":null}`) ||
		!strings.HasSuffix(string(row), `"metricsJson":null}`) {
		t.Error(string(row))
	}
	linked, err := WithURLs(row, func(name string) string { return "http://h/" + name + "?a=1&b=2" })
	if err != nil || !strings.Contains(string(linked), `"url":"http://h/trajectory.dcd?a=1&b=2"`) ||
		!strings.Contains(string(linked), `"metricsJson":"http://h/metrics.json?a=1&b=2"`) ||
		!strings.Contains(string(linked), `"frames":20`) {
		t.Error(string(linked), err)
	}
}

func TestCatalogue(t *testing.T) {
	md, err := Catalogue("inference_md", nil)
	if err != nil {
		t.Fatal(err)
	}
	alias, err := Catalogue("inference_calvados_openmm", json.RawMessage(`{}`))
	if d := cmp.Diff(md, alias); d != "" || err != nil {
		t.Error(d, err)
	}
	each := 41
	got, err := Catalogue("pipeline_run_design_v1", json.RawMessage(`{"budget":2}`))
	if err != nil || len(got) != 2*each || got[0] != (Field{"designs[0].id", "key/string"}) ||
		!slices.Contains(got, Field{"designs[1].min_interaction_pae", "key/float"}) {
		t.Errorf("%v %v", got, err)
	}
	if got, err := Catalogue("pipeline_run_boltzgen_v1", json.RawMessage(`{"num_designs":3}`)); err != nil ||
		len(got) != 3*each {
		t.Errorf("%d %v", len(got), err)
	}
	for _, c := range []struct{ task, payload, want string }{
		{"inference_qna", `{}`, "has no catalogue"},
		{"", `{}`, "workflowTaskTypeId is required"},
		{"inference_mb", `{}`, `did you mean "inference_md"?`},
		{"pipeline_run_design_v1", ``, "budget or inputPayload.numDesigns is required"},
		{"pipeline_run_design_v1", `[]`, "inputPayload must be a JSON object"},
		{"pipeline_run_design_v1", `{"budget":0}`, "budget is 0; it must be a whole number from 1 to 1000"},
		{"pipeline_run_design_v1", `{"budget":1.5}`, "budget is 1.5"},
		{"pipeline_run_design_v1", `{"numDesigns":1e300}`, "numDesigns is 1e+300"},
		{"pipeline_run_design_v1", `{"budget":"3"}`, "it must be a number"},
	} {
		if _, err := Catalogue(c.task, json.RawMessage(c.payload)); err == nil ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %s: %v", c.task, c.payload, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("md", `{"sourceJobId":"`+job+`","temp":300}`)
	f.Add("qna", `{"question":"q","pdbId":"1UBQ","files":{"pdb":null}}`)
	f.Add("openmm", `{"sequence":"AAA","config":{"pressure":[0,0,0]},"component_defaults":{"nmol":1}}`)
	f.Fuzz(func(t *testing.T, word, input string) {
		p, err := Parse(word, json.RawMessage(input))
		if err != nil {
			if pleat.CodeOf(err) != pleat.CodeInvalid || len(err.Error()) > 1200 {
				t.Errorf("%d letters: %v", len(err.Error()), err)
			}
			return
		}
		if (p.QnA == nil) == (p.MD == nil) {
			t.Errorf("%+v", p)
		}
		if p.MD != nil && !(p.MD.Temp >= calvados.MinTemp && p.MD.LengthNs > 0 &&
			p.MD.LengthNs*1000/calvados.DefaultStep <= calvados.MaxSteps+0.5) {
			t.Errorf("%+v", p.MD)
		}
		_ = fmt.Sprint(p.Source.Reference())
	})
}

// Thousands of unknown fields are one fault, without a comparison.
func TestUnknownFieldsAreBounded(t *testing.T) {
	var b strings.Builder
	b.WriteString(`{"sequence":"ACDEF","preset":"single_idr_fasta"`)
	for i := range 3000 {
		fmt.Fprintf(&b, `,"%s%04d":1`, strings.Repeat("sim_length_", 6), i)
	}
	_, err := Parse("md", json.RawMessage(b.String()+"}"))
	if err == nil || err.Error() != "workflow_input has 3000 unknown fields; at most 200 are allowed" {
		t.Errorf("%v", err)
	}
	f := &fields{known: []string{"sim_length_ns", "temp", "box_length", "pH"}}
	for name, want := range map[string]string{
		"simlenghtns": "sim_length_ns", "box_lenght": "box_length", "tmep": "temp", "PH": "pH", "tem": "temp",
		strings.Repeat("x", 60): "", "p": "",
	} {
		if got := f.misspells(name); got != want {
			t.Errorf("%q misspells %q; want %q", name, got, want)
		}
	}
}

// A misspelt field explains why another is missing.
func TestMisspeltFieldsComeFirst(t *testing.T) {
	_, err := ParseRequest("md", false, json.RawMessage(`{"preset":"single_idr_fasta","sequnce":"DSHG"}`))
	all := pleat.ErrorsOf(err)
	if len(all) != 2 || !strings.Contains(all[0].Message, `unknown field "sequnce"`) ||
		!strings.Contains(all[1].Message, "sequence is required") {
		t.Errorf("%v", all)
	}
}
