package pleat

import (
	"slices"
	"strings"
	"testing"
)

// A fault of what a model's engine would refuse names its field, and what would be right.
func TestLimitsRefuse(t *testing.T) {
	chain := Sequence{Kind: Protein, Text: "GCGYDPCTG", ChainID: "A"}
	smiles := func(text string) Sequence { return Sequence{Kind: Ligand, Text: text, ChainID: "L"} }
	code := func(text string) Sequence { return Sequence{Kind: Ligand, Text: text, CCD: true, ChainID: "L"} }
	bond := func(a, b AtomRef) Constraints { return Constraints{Bond: []Bond{{a, b}}} }
	sg := AtomRef{"A", 7, "SG"}
	for _, c := range []struct {
		limits      ModelLimits
		ligand      Sequence
		constraints Constraints
		want        string
	}{
		{ModelLimits{LigandForms: []string{FormSMILES}}, code("ATP"), Constraints{},
			`sequences[1].ligandSequence.sequence: the model "boltz-2" takes ligands as SMILES only, not as CCD codes`},
		{ModelLimits{Dictionary: "2024-01-01"}, code("QQQQQ"), Constraints{},
			`sequences[1].ligandSequence.sequence is QQQQQ, which is not in the Chemical Component Dictionary as the ` +
				`model "boltz-2" has it`},
		{ModelLimits{Dictionary: "2024-01-01"}, code("NAG"), Constraints{}, ""},
		{ModelLimits{}, code("QQQQQ"), Constraints{}, ""},
		{ModelLimits{}, smiles("C1CC"), Constraints{}, "Invalid sequence format: sequences[1].ligandSequence.sequence is " +
			"no SMILES: at position 2: the ring is not closed"},
		{ModelLimits{}, smiles("CCQ"), Constraints{}, `ligandSequence.sequence is no SMILES: at position 3: "Q" ` +
			"cannot stand here; if CCQ of the Chemical Component Dictionary is meant, give it as a CCD code, with is_ccd true"},
		{ModelLimits{}, smiles("CCD_Hem"), Constraints{}, "if HEM of the Chemical Component Dictionary is meant"},
		{ModelLimits{}, smiles("aspirin"), Constraints{}, `is no SMILES: at position 1: "a" cannot stand here`},
		{ModelLimits{}, smiles("InChI=1S/CH4/h1H4"), Constraints{}, "sequence is an InChI; it must be a SMILES"},
		{ModelLimits{}, smiles("VNWKTOKETHGBQD-UHFFFAOYSA-N"), Constraints{}, "sequence is an InChI; it must be a SMILES"},
		{ModelLimits{}, code("c1ccccc1"), Constraints{}, `sequence is "c1ccccc1", a SMILES and no known CCD code; give it ` +
			"with is_ccd false"},
		{ModelLimits{}, code("CCCCO"), Constraints{}, `sequence is "CCCCO", a SMILES and no known CCD code`},
		{ModelLimits{}, code("cco"), Constraints{}, ""}, // a code, too
		{ModelLimits{}, code("CCCCO"), Constraints{Components: []Component{{Code: "CCCCO", SMILES: "CO"}}}, ""},
		{ModelLimits{}, smiles("CCO"), bond(AtomRef{"A", 2, "SD"}, sg),
			`constraints.bond[0].atom1.atom_name is "SD"; residue 2 of chain A is CYS, which has the atoms N, CA, C, O, CB, SG`},
		{ModelLimits{}, smiles("CCO"), bond(AtomRef{"A", 2, "sg"}, sg), `is "sg"; did you mean "SG"? Residue 2 of chain A`},
		{ModelLimits{}, smiles("CCO"), bond(AtomRef{"L", 1, "C1"}, sg), "but chain L is a SMILES, whose atoms have no names"},
		{ModelLimits{}, smiles("CCO"), bond(sg, sg), "constraints.bond[0] names one atom twice"},
		{ModelLimits{}, code("NAG"), bond(AtomRef{"L", 1, "C1"}, sg), ""},
		{ModelLimits{}, code("NAG"), bond(AtomRef{"L", 1, "C9"}, sg), "residue 1 of chain L is NAG, which has the atoms C1,"},
		{ModelLimits{}, code("HEM"), bond(AtomRef{"L", 1, "FE"}, sg), ""},
		{ModelLimits{WithoutLeaving: true}, smiles("CCO"), bond(AtomRef{"A", 9, "OXT"}, sg), `is "OXT"; residue 9`},
		{ModelLimits{}, smiles("CCO"), bond(AtomRef{"A", 9, "OXT"}, sg), ""},
	} {
		model := full
		model.Limits, model.Features = c.limits, append(slices.Clone(full.Features), FeatureComponents)
		j := Job{Name: "x", Sequences: []Sequence{chain, c.ligand}, Constraints: c.constraints}
		checkRefused(t, j.Validate(model), c.want)
	}
}

// A modified residue is a form of the residue at its position, and a ligand is known.
func TestModifiedResidueFitsItsLetter(t *testing.T) {
	path := func(k EntityKind) string { return (&Sequence{Kind: k}).Path(0) + ".modifications[0].ccd" }
	for _, c := range []struct {
		kind EntityKind
		text string
		m    Modification
		want string
	}{
		{Protein, "GCSYHX", Modification{3, "SEP"}, ""},
		{Protein, "GCSYHX", Modification{5, "SEP"}, path(Protein) + " is SEP, a form of SER (S), but residue 5 is H; residues count from 1, and the letter must be S or X"},
		{Protein, "GCSYHX", Modification{6, "SEP"}, ""},
		{Protein, "GCSYHX", Modification{1, "ALA"}, path(Protein) + " is ALA, a standard residue, but residue 1 is G; change the letter"},
		{Protein, "GCSYHX", Modification{1, "GLY"}, ""},
		{Protein, "GCSYHX", Modification{1, "CRO"}, ""}, // of three residues
		{Protein, "GCSYHX", Modification{1, "5MC"}, path(Protein) + " is 5MC, a form of C, but the chain is protein"},
		{RNA, "AGCU", Modification{1, "SEP"}, "is SEP, a form of SER, but the chain is rna"},
		{Protein, "GCSYEX", Modification{5, "PCA"}, ""},
		{Protein, "GCSYEX", Modification{1, "PCA"}, "residue 1 is G; residues count from 1, and the letter must be " +
			"Q, E or X"},
		{Protein, "GCSYHX", Modification{2, "FGL"}, ""},
		{RNA, "AGCU", Modification{2, "2MG"}, ""},
		{RNA, "AGCU", Modification{1, "2MG"}, ""},
		{RNA, "AGCU", Modification{4, "5MC"}, ""},
		{RNA, "AGNU", Modification{3, "5MC"}, ""},
		{RNA, "AGCU", Modification{4, "PSU"}, ""},
		{RNA, "AGCU", Modification{3, "5CM"}, ""}, // of DNA, with the same base
		{RNA, "AGCU", Modification{4, "DT"}, ""},
		{RNA, "AGCU", Modification{1, "G"}, "is G, a standard residue, but residue 1 is A"},
		{DNA, "AGCT", Modification{3, "OMC"}, ""},
		{DNA, "AGCT", Modification{4, "U"}, ""},
		{DNA, "AGCT", Modification{4, "5MU"}, ""},
		{DNA, "AGCT", Modification{2, "8OG"}, ""},
		{DNA, "AGCT", Modification{1, "SEP"}, path(DNA) + " is SEP, a form of SER, but the chain is dna"},
		{DNA, "AGCT", Modification{1, "3DR"}, ""}, // without a parent
	} {
		j := Job{Name: "x", Sequences: []Sequence{{Kind: c.kind, Text: c.text, Modifications: []Modification{c.m}}}}
		checkRefused(t, j.Validate(full), c.want)
	}
	for code, want := range map[string]string{
		"hoh": "ligandSequence.sequence is HOH, water, which no model folds; leave it out",
		"UNL": "ligandSequence.sequence is UNL, which stands for an unknown ligand; leave it out",
		"GLY": "",
	} {
		j := Job{Name: "x", Sequences: []Sequence{{Kind: Ligand, Text: code, CCD: true}}}
		checkRefused(t, j.Validate(full), want)
	}
}

func checkRefused(t *testing.T, err error, want string) {
	t.Helper()
	if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}

// What a manifest misspells states no limit, so that it is refused.
func TestLimitsCheck(t *testing.T) {
	for want, l := range map[string]ModelLimits{
		`limits.ligand_forms has "sdf"; it may have smiles, ccd`:      {LigandForms: []string{"sdf"}},
		`limits names the kind "proteins"; it must be protein`:        {PocketResidues: []EntityKind{Protein, "proteins"}},
		`limits names the kind "aa"; it must be protein`:              {Backbone: map[EntityKind][]string{"aa": {"N"}}},
		`limits.as_parents folds MSE as M, which is no standard`:      {AsParents: map[string]string{"MSE": "M"}},
		`limits.dictionary is "2026"; it must be a date`:              {Dictionary: "2026"},
		`limits has -1; a limit is 0 or more`:                         {Chains: -1},
		`limits has distances from 4 to 3 Å; they must ascend from 0`: {MinDistance: 4, MaxDistance: 3},
	} {
		if err := l.Check(); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
}

// A table of thousands of chains counts the tokens of each several times.
func TestTokensOfChainAllocateNothing(t *testing.T) {
	j := Job{Sequences: []Sequence{{Kind: Protein, Text: strings.Repeat("GCGYDPCTGX", 100), Count: 1}}}
	if n := testing.AllocsPerRun(10, func() { j.Tokens(ModelLimits{}) }); n > 0 {
		t.Errorf("%g allocations", n)
	}
}

// The numbers are those of the packages: OpenFold3 0.5.0 for residues within and at the ends of chains, and RDKit for
// SMILES.
func TestTokens(t *testing.T) {
	modified := func(text string, at int, code string) Sequence {
		return Sequence{Kind: Protein, Text: text, Modifications: []Modification{{at, code}}}
	}
	without := ModelLimits{WithoutLeaving: true}
	for _, c := range []struct {
		sequence Sequence
		limits   ModelLimits
		want     int
	}{
		{Sequence{Kind: Ligand, Text: "ZN", CCD: true}, ModelLimits{}, 1},
		{Sequence{Kind: Ligand, Text: "FAD", CCD: true}, ModelLimits{}, 53},
		{Sequence{Kind: Ligand, Text: "NAG", CCD: true}, ModelLimits{}, 15},
		{Sequence{Kind: Ligand, Text: "QQQQQ", CCD: true}, ModelLimits{}, 200},
		{Sequence{Kind: Ligand, Text: "[H]OC([2H])C"}, ModelLimits{}, 3},
		{modified("GCGYD", 3, "SEP"), without, 14},
		{modified("GCGYD", 5, "SEP"), without, 14},
		{modified("GCGYD", 5, "SEP"), ModelLimits{}, 15},
		{modified("GCGYD", 3, "PHE"), without, 5},
		{modified("GCGYD", 3, "MSE"), without, 12},
		{modified("GCGYD", 3, "MSE"), ModelLimits{AsParents: map[string]string{"MSE": "MET"}}, 5},
		{Sequence{Kind: RNA, Text: "GACU", Modifications: []Modification{{2, "5MC"}}}, without, 24},
	} {
		if got := new(Job).TokensOf(&c.sequence, c.limits); got != c.want {
			t.Errorf("%s %v has %d tokens; want %d", c.sequence.Text, c.sequence.Modifications, got, c.want)
		}
	}
}
