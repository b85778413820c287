package pleat

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var plain = Model{Name: "mini", Kind: TaskFold, Entities: []EntityKind{Protein}, MinTokens: 3, MaxTokens: 400,
	Params: []ParamSpec{{Name: "seed", Type: ParamString}}}

func f(v float64) *float64 { return &v }

var full = Model{Name: "boltz-2", Kind: TaskFold, Entities: []EntityKind{Protein, RNA, DNA, Ligand}, MaxTokens: 2000,
	Features: []Feature{FeatureAffinity, FeatureConstraints, FeatureModifications, FeatureCyclic, FeatureComplex,
		FeatureUnknown},
	Params: []ParamSpec{{Name: "seed", Type: ParamString}, {Name: "samplingSteps", Type: ParamInt, Max: f(1000)},
		{Name: "stepScale", Type: ParamFloat},
		{Name: "msaAlgorithm", Type: ParamString, Values: []string{"none", "mmseqs2"}}}}

func protein(text string) Sequence { return Sequence{Kind: Protein, Text: text} }

func TestValidateCleans(t *testing.T) {
	j := Job{Name: "x", Sequences: []Sequence{
		{Kind: Protein, Text: " dayaq\nwlkdg ", Count: 2},
		{Kind: RNA, Text: "acgu", ChainID: "B"},
		{Kind: Ligand, Text: "atp", CCD: true, PropertyType: "affinity"},
	}, Params: Params{Model: "boltz-2", Values: map[string]any{"seed": "007", "samplingSteps": 20.0,
		"relaxPrediction": false}}}
	if err := j.Validate(full); err != nil {
		t.Fatal(err)
	}
	var got []any
	for _, s := range j.Sequences {
		got = append(got, s.Text, s.Chains)
	}
	want := []any{"DAYAQWLKDG", []string{"A", "C"}, "ACGU", []string{"B"}, "ATP", []string{"D"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[string]any{"seed": "7", "samplingSteps": int64(20)}, j.Params.Values); diff != "" {
		t.Error(diff)
	}
	if !j.Complex {
		t.Error("four chains in one structure are a complex")
	}
}

func TestValidateRefuses(t *testing.T) {
	long := strings.Repeat("A", 401)
	for _, c := range []struct {
		want  string
		model Model
		job   Job
	}{
		{"name is required", plain, Job{Name: " ", Sequences: []Sequence{protein("AAAA")}}},
		{"name has 256 characters", plain, Job{Name: strings.Repeat("n", 256), Sequences: []Sequence{protein("AAAA")}}},
		{"control character at position 2", plain, Job{Name: "a\x00", Sequences: []Sequence{protein("AAAA")}}},
		{"chatId is \"x\"; it must be a UUID", plain, Job{
			Name:      "x",
			ChatID:    "x",
			Sequences: []Sequence{protein("AAAA")},
		}},
		{"must hold at least 1 item", plain, Job{Name: "x"}},
		{"has 10000 items", plain, Job{Name: "x", Sequences: make([]Sequence, 10000)}},
		{"Invalid sequence format: sequences[0].proteinChain.sequence is empty", plain, Job{
			Name:      "x",
			Sequences: []Sequence{protein(" \n")},
		}},
		{"Invalid sequence format: sequences[1].proteinChain.sequence, residue 3: 'J' stands for I or L", plain, Job{
			Name:      "x",
			Sequences: []Sequence{protein("AAAA"), protein("A AJA")},
		}},
		{", residue 4: 'X' stands for an unknown residue; the model \"mini\" accepts the letters ACDEFGHIKLMNPQRSTVWY", plain,
			Job{Name: "x", Sequences: []Sequence{protein("AAAX")}}},
		{", residue 2: 'é' is not an amino acid", plain, Job{Name: "x", Sequences: []Sequence{protein("Aé")}}},
		{"count is 2, but the model \"mini\" folds each chain alone and would fold one copy", plain, Job{
			Name:      "x",
			Sequences: []Sequence{{Kind: Protein, Text: "AAAA", Count: 2}},
		}},
		{"at most 400", plain, Job{Name: "x", Sequences: []Sequence{protein(long)}}},
		{"folds 3 or more", plain, Job{Name: "x", Sequences: []Sequence{protein("AA")}}},
		{"more than 20000 residues", plain, Job{
			Name:      "x",
			Sequences: []Sequence{protein(strings.Repeat("A", 100_000))},
		}},
		{"folds protein only", plain, Job{Name: "x", Sequences: []Sequence{{Kind: Ligand, Text: "C"}}}},
		{"folds no cyclic chains", plain, Job{
			Name:      "x",
			Sequences: []Sequence{{Kind: Protein, Text: "AAAA", Cyclic: true}},
		}},
		{"accepts no modified residues", plain, Job{
			Name:      "x",
			Sequences: []Sequence{{Kind: Protein, Text: "AAAA", Modifications: []Modification{{1, "SEP"}}}},
		}},
		{"accepts no pocket, bond or contact", plain, Job{
			Name:        "x",
			Sequences:   []Sequence{protein("AAAA")},
			Constraints: Constraints{Contact: []Contact{{}}},
		}},
		{"params.samplingSteps is not a parameter of the model \"mini\"; it accepts seed", plain, Job{
			Name:      "x",
			Sequences: []Sequence{protein("AAAA")},
			Params:    Params{Values: map[string]any{"samplingSteps": 3.0}},
		}},
		{"params.seed is \"x\"; it must be a whole number from 0 to 4294967295", plain, Job{
			Name:      "x",
			Sequences: []Sequence{protein("AAAA")},
			Params:    Params{Values: map[string]any{"seed": "x"}},
		}},
		{"params.samplingSteps is 0; it must be 1 to 1000", full, Job{
			Name:      "x",
			Sequences: []Sequence{protein("A")},
			Params:    Params{Values: map[string]any{"samplingSteps": 0.0}},
		}},
		{"params.samplingSteps must be an integer", full, Job{
			Name:      "x",
			Sequences: []Sequence{protein("A")},
			Params:    Params{Values: map[string]any{"samplingSteps": 1.5}},
		}},
		{"params.stepScale is -1; it must be 0 or more", full, Job{
			Name:      "x",
			Sequences: []Sequence{protein("A")},
			Params:    Params{Values: map[string]any{"stepScale": -1.0}},
		}},
		{"must be one of none, mmseqs2", full, Job{
			Name:      "x",
			Sequences: []Sequence{protein("A")},
			Params:    Params{Values: map[string]any{"msaAlgorithm": "y"}},
		}},
		{"chain_id \"A\" is already used by sequences[0]", full, Job{
			Name:      "x",
			Sequences: []Sequence{{Kind: Protein, Text: "A", ChainID: "A"}, {Kind: Protein, Text: "A", ChainID: "A"}},
		}},
		{"chain_id is \"a b\"", full, Job{
			Name:      "x",
			Sequences: []Sequence{{Kind: Protein, Text: "A", ChainID: "a b"}},
		}},
		{"sequence has codes of three letters; a residue is one letter", full, Job{
			Name:      "x",
			Sequences: []Sequence{{Kind: Protein, Text: "Ala-Gly-Mse"}},
		}},
		{"count is -1", full, Job{Name: "x", Sequences: []Sequence{{Kind: Protein, Text: "A", Count: -1}}}},
		{"more than 512 chains", full, Job{
			Name:      "x",
			Sequences: []Sequence{{Kind: Protein, Text: "A", Count: 300}, {Kind: Protein, Text: "A", Count: 300}},
		}},
		{"may be \"affinity\"", full, Job{
			Name:      "x",
			Sequences: []Sequence{{Kind: Ligand, Text: "C", PropertyType: "colour"}},
		}},
		{"not for a protein", full, Job{
			Name:      "x",
			Sequences: []Sequence{{Kind: Protein, Text: "A", PropertyType: "affinity"}},
		}},
		{"a CCD code has 1 to 5", full, Job{Name: "x", Sequences: []Sequence{{Kind: Ligand, Text: "A-B", CCD: true}}}},
		{"at position 2; a SMILES has printable ASCII only", full, Job{
			Name:      "x",
			Sequences: []Sequence{{Kind: Ligand, Text: "C C"}},
		}},
		{"modifications[0].res_idx is 2; the chain has residues 1 to 1", full, Job{
			Name:      "x",
			Sequences: []Sequence{{Kind: Protein, Text: "S", Modifications: []Modification{{2, "SEP"}}}},
		}},
		{"modified twice", full, Job{
			Name:      "x",
			Sequences: []Sequence{{Kind: Protein, Text: "S", Modifications: []Modification{{1, "SEP"}, {1, "SEP"}}}},
		}},
		{"constraints.contact[0].chainB is \"Z\"; the job has the chains A, B", full, Job{Name: "x",
			Sequences:   []Sequence{protein("A"), protein("A")},
			Constraints: Constraints{Contact: []Contact{{ChainA: "A", ResidueA: 1, ChainB: "Z", ResidueB: 1}}}}},
		{"constraints.pocket[0].contacts[0].res_idx is 9; chain A has residues 1 to 1", full, Job{Name: "x",
			Sequences:   []Sequence{protein("A")},
			Constraints: Constraints{Pocket: []Pocket{{Binder: ChainRef{"A"}, Contacts: []ResidueRef{{"A", 9}}}}}}},
		{"atom2.atom_name is \"\"", full, Job{Name: "x", Sequences: []Sequence{protein("A")},
			Constraints: Constraints{Bond: []Bond{{AtomRef{"A", 1, "CA"}, AtomRef{"A", 1, ""}}}}}},
	} {
		err := c.job.Validate(c.model)
		if err == nil {
			t.Errorf("no refusal; want %q", c.want)
			continue
		}
		if !strings.Contains(err.Error(), c.want) {
			t.Errorf("got  %s\nwant %s", err, c.want)
		}
		if CodeOf(err) != CodeInvalid || len(err.Error()) > 400 {
			t.Errorf("%s: code %s, %d bytes", err, CodeOf(err), len(err.Error()))
		}
	}
}

// Validate finds every fault of a job, in the order of its checks, and the first is its message.
// One end sign is dropped from the end of a sequence, with a note; elsewhere, and twice, it is no letter.
func TestEndSign(t *testing.T) {
	mini := Model{Name: "mini", Entities: []EntityKind{Protein}}
	for text, want := range map[string]string{"MKT*": "MKT", "mk t * \n": "MKT", "Met-Lys*": "", "MKT**": "", "M*KT": "", "*": ""} {
		j := Job{Name: "x", Sequences: []Sequence{{Kind: Protein, Text: text}}, Params: Params{Model: "mini"}}
		err := j.Validate(mini)
		if want == "" {
			if err == nil {
				t.Errorf("%q is accepted as %q", text, j.Sequences[0].Text)
			}
			continue
		}
		note := []string{"sequences[0].proteinChain.sequence: the end sign * was dropped"}
		if err != nil || j.Sequences[0].Text != want || !slices.Equal(j.Notes.Texts(), note) {
			t.Errorf("%q: %q, %q, %v", text, j.Sequences[0].Text, j.Notes.Texts(), err)
		}
	}
	j := Job{Name: "x", Sequences: []Sequence{{Kind: Protein, Text: "M*KT"}}, Params: Params{Model: "mini"}}
	const inside = "residue 2: '*' stands for the end of a sequence"
	if err := j.Validate(mini); err == nil || !strings.Contains(err.Error(), inside) {
		t.Errorf("a sign inside: %v", err)
	}
}

func TestValidateCollects(t *testing.T) {
	type fault struct{ Field, Message string }
	limited := full
	limited.Limits = ModelLimits{Polymers: 2, Constraints: []string{"bond"}}
	for _, c := range []struct {
		name  string
		model Model
		job   Job
		want  []fault
	}{
		{"each part of the job", plain,
			Job{
				Name:   " ",
				ChatID: "x",
				Sequences: []Sequence{
					{Kind: Protein, Text: "AAB", Count: -1, Source: "y"},
					protein("AAAA"),
					{Kind: Ligand, Text: "C"},
					protein("AA"),
				},
				Params: Params{Values: map[string]any{"seed": "z", "steps": 1}},
			},
			[]fault{
				{"name", "name is required and must not be empty"},
				{"chatId", `chatId is "x"; it must be a UUID`},
				{"sequences[0].proteinChain.count", "sequences[0].proteinChain.count is -1; it must be 1 to 512"},
				{"sequences[0].sourceSequenceId", `sequences[0].sourceSequenceId is "y"; it must be a UUID`},
				{"sequences[0].proteinChain.sequence", "Invalid sequence format: sequences[0].proteinChain.sequence, " +
					`residue 3: 'B' stands for D or N; the model "mini" accepts the letters ACDEFGHIKLMNPQRSTVWY`},
				{"sequences[2].ligandSequence", `sequences[2].ligandSequence: the model "mini" folds protein only`},
				{"sequences[3].proteinChain.sequence", "Invalid sequence format: sequences[3].proteinChain.sequence " +
					"has 2 " +
					`residues; the model "mini" folds 3 or more`},
				{"params.seed",
					`params.seed is "z"; it must be a whole number from 0 to 4294967295, written as a string`},
				{"params.steps", `params.steps is not a parameter of the model "mini"; it accepts seed`},
			}},
		{"no sequences, and constraints that the model does not take", plain,
			Job{Name: "x", Constraints: Constraints{Bond: []Bond{{}}}},
			[]fault{
				{"sequences", "sequences is empty; it must hold at least 1 item"},
				{"constraints", `constraints: the model "mini" accepts no pocket, bond or contact constraints`},
			}},
		{"chain names", full,
			Job{Name: "x", Sequences: []Sequence{
				{Kind: Protein, Text: "A", ChainID: "a b"},
				{Kind: Protein, Text: "A", ChainID: "A"},
				{Kind: Protein, Text: "A", ChainID: "A"},
			}},
			[]fault{
				{"sequences[0].proteinChain.chain_id", `sequences[0].proteinChain.chain_id is "a b"; ` +
					"a chain name has 1 to 4 letters and digits"},
				{"sequences[2].proteinChain.chain_id",
					`sequences[2].proteinChain.chain_id "A" is already used by sequences[1]`},
			}},
		{"constraints of a valid and of a faulty sequence, and limits", limited,
			Job{
				Name:      "x",
				Sequences: []Sequence{protein("A"), protein("1"), protein("A")},
				Constraints: Constraints{
					Pocket: []Pocket{{Binder: ChainRef{"Z"}, Contacts: []ResidueRef{{"A", 2}, {"B", 9}, {"C", 1}}}},
					Bond:   []Bond{{AtomRef{"A", 0, "CA"}, AtomRef{"A", 1, "-"}}},
				},
			},
			[]fault{
				{"sequences[1].proteinChain.sequence", "Invalid sequence format: sequences[1].proteinChain.sequence, " +
					`residue 1: '1' is not an amino acid; the model "boltz-2" accepts the letters ACDEFGHIKLMNPQRSTVWYX`},
				{"constraints.pocket[0].binder.chain_id", `constraints.pocket[0].binder.chain_id is "Z"; ` +
					"the job has the chains A, B, C"},
				{"constraints.pocket[0].contacts[0].res_idx", "constraints.pocket[0].contacts[0].res_idx is 2; " +
					"chain A has residues 1 to 1"},
				{"constraints.bond[0].atom1.res_idx", "constraints.bond[0].atom1.res_idx is 0; chain A has residues " +
					"1 to 1"},
				{"constraints.bond[0].atom2.atom_name", `constraints.bond[0].atom2.atom_name is "-"; ` +
					"it must be an atom name of 1 to 4 letters and digits"},
				{"sequences", `sequences: the job has 3 chains of residues, copies counted; the model "boltz-2" takes at most 2`},
				{"constraints.pocket",
					`constraints.pocket: the model "boltz-2" accepts no pocket constraints; it accepts bond`},
			}},
	} {
		err := c.job.Validate(c.model)
		var got []fault
		for _, e := range ErrorsOf(err) {
			got = append(got, fault{e.Field, e.Message})
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s:\n%s", c.name, diff)
		} else if err.Error() != c.want[0].Message {
			t.Errorf("%s: the message is %q", c.name, err)
		}
	}
}

// However much is wrong, the list and the work are bounded.
func TestValidateIsBounded(t *testing.T) {
	j := Job{Name: "x", Params: Params{Values: map[string]any{"seed": "z"}}}
	for range MaxItems {
		j.Sequences = append(j.Sequences, Sequence{Kind: Protein, Text: "A", Modifications: make([]Modification,
			20_000)})
	}
	for range 1000 {
		j.Constraints.Pocket = append(j.Constraints.Pocket, Pocket{Contacts: make([]ResidueRef, 1000)})
	}
	if n := len(ErrorsOf(j.Validate(full))); n != MaxErrors {
		t.Errorf("%d faults", n)
	}
}

func TestErrors(t *testing.T) {
	var faults Errors
	if faults.Err() != nil || faults.Add(nil) != nil || faults.Add(Invalidf("a")) != nil || len(faults) != 1 {
		t.Errorf("%v", faults)
	}
	if err := faults.Add(fmt.Errorf("verb: %w", Errors{InvalidField("b", " is bad"), Invalidf("c")})); err != nil ||
		len(faults) != 3 {
		t.Errorf("%v %v", faults, err)
	}
	if err := faults.Add(ErrJobNotFound); err != ErrJobNotFound || len(faults) != 3 {
		t.Errorf("another code: %v %v", faults, err)
	}
	err := fmt.Errorf("verb: %w", faults.Err())
	var first *Error
	if !errors.As(err, &first) || first.Message != "a" || CodeOf(err) != CodeInvalid || !errors.Is(err, faults[2]) {
		t.Errorf("%v", err)
	}
}

func TestFindModel(t *testing.T) {
	models := []Model{{Name: "mini", Kind: TaskQnA}, plain}
	if m, ok := FindModel(models, "mini"); !ok || m.Kind != TaskFold {
		t.Errorf("%+v %t", m, ok)
	}
	if m, ok := FindModel(models, "miny"); ok {
		t.Errorf("%+v", m)
	}
}

func TestParseWebhooks(t *testing.T) {
	got, err := ParseWebhooks(
		[]byte(`{"evolla":{"enabled":true,"initial_question":"?"},"openmm":null,"custom_http":{"x":1}}`),
		"constraints.webhooks")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]DestinationSetting{
		{Destination: DestCustom, Alias: "custom_http", TargetType: "custom_http", Raw: []byte(`{"x":1}`)},
		{Destination: DestQnA, Alias: "evolla", TargetType: "evolla_v1", Enabled: true,
			Raw: []byte(`{"enabled":true,"initial_question":"?"}`)},
	}, got); diff != "" {
		t.Error(diff)
	}
	for raw, want := range map[string]string{
		`[]`:                        "must be an object",
		`{"slack":{}}`:              "unknown destination \"slack\" in constraints.webhooks",
		`{"custom-http":{}}`:        "did you mean \"custom_http\"?",
		`{"qna":{},"evolla":{}}`:    "names one destination twice",
		`{"qna":{"enabled":"yes"}}`: "whose enabled is true or false",
	} {
		if _, err := ParseWebhooks([]byte(raw), "constraints.webhooks"); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want %q", raw, err, want)
		}
	}
}

func TestSetOff(t *testing.T) {
	subs := []Subscription{{Destination: DestQnA}, {Destination: DestMD}, {Destination: DestCustom}}
	if n := len(SubscriptionsFor(Event{Name: OnComplete}, subs)); n != 3 {
		t.Errorf("completion sets off %d", n)
	}
	if got := SubscriptionsFor(Event{Name: OnFailed}, subs); len(got) != 1 || got[0].Destination != DestCustom {
		t.Errorf("failure sets off %+v", got)
	}
}

func TestClip(t *testing.T) {
	if got := Clip("a\nb\x1b[31m" + strings.Repeat("z", 100)); strings.ContainsAny(got, "\n\x1b") ||
		len([]rune(got)) != 61 {
		t.Errorf("%q", got)
	}
}

// A job is refused before it starts where no device has room for it.
func TestValidateMemory(t *testing.T) {
	m := full
	m.Memory, m.Device = MemoryModel{Base: 1e9, Square: 60_000}, "cuda"
	job := func() *Job { return &Job{Name: "x", Sequences: []Sequence{protein(strings.Repeat("A", 1000))}} }
	for _, c := range []struct {
		room   int64
		device string
		want   string
	}{
		{0, "cuda", ""},
		{61e9, "cuda", ""},
		{48e9, "cuda", `sequences: 1000 residues need about 61 GB with the model "boltz-2"; the largest device has 48 GB`},
		{7.5e9, "cpu", `sequences: 1000 residues need about 61 GB with the model "boltz-2"; the machine has 7.5 GB`},
	} {
		m.Room, m.Device = c.room, c.device
		err := job().Validate(m)
		if c.want == "" && err != nil || c.want != "" && (err == nil || err.Error() != c.want) {
			t.Errorf("with %d bytes on %s: %v; want %q", c.room, c.device, err, c.want)
		}
	}
}

func TestFirstQueue(t *testing.T) {
	with := func(def string) Model {
		return Model{Name: "m", Features: []Feature{FeatureMSA}, Params: []ParamSpec{{Name: "msaAlgorithm",
			Type: ParamString, Default: def}}}
	}
	protein, dna := []Sequence{{Kind: DNA}, {Kind: Protein}}, []Sequence{{Kind: DNA}}
	for _, c := range []struct {
		model Model
		seqs  []Sequence
		asked any
		want  string
		use   AlignmentUse
	}{
		{with(MSAMMseqs2), protein, nil, "search/m", SearchedAlignments},
		{with(MSAMMseqs2), protein, MSANone, "fold/m", NoAlignments},
		{with(MSAMMseqs2), dna, nil, "fold/m", NoAlignments},
		{with(MSANone), protein, nil, "fold/m", ReferencedAlignments},
		{with(MSANone), protein, MSAMMseqs2, "search/m", SearchedAlignments},
		{with("thorough"), protein, nil, "fold/m", ReferencedAlignments},
		{Model{Name: "m"}, protein, nil, "fold/m", NoAlignments},
	} {
		j := Job{Sequences: c.seqs}
		if c.asked != nil {
			j.Params = j.Params.With("msaAlgorithm", c.asked)
		}
		if got, use := j.FirstQueue(c.model), c.model.AlignmentUse(j.Params, c.seqs); got != c.want || use != c.use {
			t.Errorf("%v, %v: %s, %d", c.model.Params, c.asked, got, use)
		}
	}
}

func TestHasThreeLetterCodes(t *testing.T) {
	for text, want := range map[string]bool{
		"ALA GLY SER": true, "AlaGlySer": true, "ala-gly": true, " Ala Gly\n": true, "SER\nSEP\n": true,
		"ALA": false, "Ala": false, "ALAGLYSER": false, "ACG TTA": false, "MKV LAT": false, "CGA AGT": false,
		"AlaGlyXxx": false, "": false, "ALA GLY SE": false,
	} {
		if got := HasThreeLetterCodes(text); got != want {
			t.Errorf("%q: %t", text, got)
		}
	}
}
