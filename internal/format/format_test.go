package format

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pleat"
)

// describe renders a job for comparison: one line for each item, then its seed and constraints.
func describe(j *pleat.Job) []string {
	out := []string{j.Name}
	for i := range j.Sequences {
		q := &j.Sequences[i]
		s := string(q.Kind) + " " + strings.Join(q.Chains, ",") + " " + q.Text
		for _, m := range q.Modifications {
			s += " " + m.CCD + "@" + itoa(m.Residue)
		}
		for word, on := range map[string]bool{
			"ccd": q.CCD, "cyclic": q.Cyclic, "affinity": q.PropertyType == "affinity",
		} {
			if on {
				s += " " + word
			}
		}
		if q.Label != "" {
			s += " (" + q.Label + ")"
		}
		out = append(out, s)
	}
	if seed, ok := j.Params.Seed(); ok {
		out = append(out, "seed "+seed)
	}
	if none, _ := withoutAlignments(j); none {
		out = append(out, "no alignments")
	}
	for _, p := range j.Constraints.Pocket {
		s := "pocket " + p.Binder.Chain
		for _, r := range p.Contacts {
			s += " " + r.Chain + itoa(r.Residue)
		}
		out = append(out, s)
	}
	for _, b := range j.Constraints.Bond {
		out = append(out, "bond "+b.Atom1.Chain+itoa(b.Atom1.Residue)+b.Atom1.Atom+" "+b.Atom2.Chain+
			itoa(b.Atom2.Residue)+b.Atom2.Atom)
	}
	for _, c := range j.Constraints.Contact {
		out = append(out, "contact "+c.ChainA+itoa(c.ResidueA)+" "+c.ChainB+itoa(c.ResidueB)+" "+itoa(int(c.Distance)))
	}
	return out
}

func itoa(n int) string {
	if n < 10 {
		return string(rune('0' + n))
	}
	return itoa(n/10) + itoa(n%10)
}

// read is one line of a table: a file, what it says, and what its notes hold, in order.
type read struct {
	name  string
	text  string
	as    Name // empty: guessed
	want  Name
	jobs  [][]string
	notes []string
}

func check(t *testing.T, cases []read) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, err := Import(c.text, c.as, Options{Name: "given", Model: "m"})
			if err != nil {
				t.Fatal(err)
			}
			if got.Format != c.want {
				t.Errorf("read as %s; want %s", got.Format, c.want)
			}
			var jobs [][]string
			for i := range got.Jobs {
				if got.Jobs[i].Params.Model != "m" {
					t.Error("the model is lost")
				}
				jobs = append(jobs, describe(&got.Jobs[i]))
			}
			if diff := cmp.Diff(c.jobs, jobs); diff != "" {
				t.Error(diff)
			}
			if len(got.Notes) != len(c.notes) {
				t.Fatalf("%d notes; want %d: %q", len(got.Notes), len(c.notes), got.Notes)
			}
			for i, want := range c.notes {
				if !strings.Contains(got.Notes[i], want) {
					t.Errorf("note %d is %q; want %q in it", i, got.Notes[i], want)
				}
			}
		})
	}
}

func TestFASTA(t *testing.T) {
	check(t, []read{
		{
			name: "one record",
			text: ">sp|P01308|INS_HUMAN Insulin OS=Homo sapiens\r\nMALWMRLLPL\r\nlalwgpdpaa*\r\n",
			want: FASTA,
			jobs: [][]string{
				{"sp|P01308|INS_HUMAN", "protein A MALWMRLLPLLALWGPDPAA (sp|P01308|INS_HUMAN Insulin OS=Homo sapiens)"},
			},
			notes: []string{"the record at line 1: the end sign * was dropped"},
		},
		{
			name: "no header",
			text: "\n  DAYAQWLKDG\nGPSSGRPPPS \n",
			want: FASTA,
			jobs: [][]string{{"given", "protein A DAYAQWLKDGGPSSGRPPPS"}},
		},
		{
			name: "several records are one job",
			text: "; of two chains\n>heavy\nEVQLVESGG\n\n>light\nDIQMTQSPS\n",
			want: FASTA,
			jobs: [][]string{{"heavy + 1 more", "protein A EVQLVESGG (heavy)", "protein B DIQMTQSPS (light)"}},
		},
		{
			name: "Boltz headers",
			text: ">H|protein the heavy " +
				"chain\nEVQLVESGG\n>R|rna\nGGCC\n>D|DNA|\nGATTACA\n>L|smiles\nN[C@@H](Cc1ccc(O)cc1)C(=O)O\n>Z|ccd\nsah\n",
			want: FASTA,
			jobs: [][]string{
				{"given", "protein H EVQLVESGG (the heavy chain)", "rna R GGCC", "dna D GATTACA",
					"ligand L N[C@@H](Cc1ccc(O)cc1)C(=O)O", "ligand Z SAH ccd"},
			},
		},
		{
			name: "Boltz without an alignment",
			text: ">A|protein|empty\nMVTPEGNVSL\n",
			want: FASTA,
			jobs: [][]string{{"given", "protein A MVTPEGNVSL", "no alignments"}},
		},
		{
			name:  "Boltz without one of two alignments",
			text:  ">A|protein|empty\nMVTPEGNVSL\n>B|protein\nMKT\n",
			want:  FASTA,
			jobs:  [][]string{{"given", "protein A MVTPEGNVSL", "protein B MKT"}},
			notes: []string{"the record at line 1 asks for no alignment of this protein"},
		},
		{
			name: "Chai headers",
			text: ">protein|name=example of a peptide\nGAAL\n>ligand|name=ethanol\nCCO\n>rna|name=short\nACUG\n",
			want: FASTA,
			jobs: [][]string{
				{"given", "protein A GAAL (example of a peptide)", "ligand B CCO (ethanol)", "rna C ACUG (short)"},
			},
		},
		{
			name: "ColabFold complex",
			text: ">1BJP homotrimer\nPIAQIHILEG:PIAQIHILEG:PIAQIHILEG\n",
			want: FASTA,
			jobs: [][]string{
				{"1BJP", "protein A PIAQIHILEG (1BJP homotrimer)", "protein B PIAQIHILEG (1BJP homotrimer)",
					"protein C PIAQIHILEG (1BJP homotrimer)"},
			},
		},
		{
			name: "ColabFold batch",
			text: ">one\nPIAQIHILEG:MKTAYIAKQR\n>two\nMKTAYIAKQR\n",
			want: FASTA,
			jobs: [][]string{{"one", "protein A PIAQIHILEG (one)", "protein B MKTAYIAKQR (one)"},
				{"two", "protein A MKTAYIAKQR (two)"}},
			notes: []string{"each of the 2 records became a job"},
		},
		{
			name: "letters of nucleic acids",
			text: ">r\nGGCUAUN\n>d\nGATTACAGATTACAGATTACA\n>p\nGATTACA\n>g\nGGG\n",
			want: FASTA,
			jobs: [][]string{
				{"r + 3 more", "rna A GGCUAUN (r)", "dna B GATTACAGATTACAGATTACA (d)", "protein C GATTACA (p)",
					"protein D GGG (g)"},
			},
			notes: []string{"line 1 was taken as RNA", "line 3 was taken as DNA",
				"line 5 was taken as a protein, though its letters are those of DNA",
				"line 7 was taken as a protein, though its letters are those of DNA"},
		},
		{
			name:  "a long header",
			text:  ">x " + strings.Repeat("y", 300) + "\nMKT\n",
			want:  FASTA,
			jobs:  [][]string{{"x", "protein A MKT (x " + strings.Repeat("y", 253) + ")"}},
			notes: []string{"the header of the record at line 1 was shortened"},
		},
		{
			name:  "a chain name that is too long",
			text:  ">heavy|protein\nEVQLVESGG\n>A|protein\nMKT\n",
			want:  FASTA,
			jobs:  [][]string{{"given", "protein B EVQLVESGG", "protein A MKT"}},
			notes: []string{`the id "heavy" became "B"`},
		},
		{name: "a byte order mark", text: "\ufeff>x\nMKT\n", want: FASTA, jobs: [][]string{{"x", "protein A MKT (x)"}}},
	})
}

const serverFile = `[
  {"name": "Test Fold Job Number One", "modelSeeds": ["1593933729", "4273"],
   "sequences": [
     {"proteinChain": {"sequence": "PREACHINGS", "count": 2, "maxTemplateDate": "2018-01-20",
       "modifications": [{"ptmType": "CCD_HY3", "ptmPosition": 1}, {"ptmType": "CCD_P1L", "ptmPosition": 5}]}},
     {"proteinChain": {"sequence": "REACHER", "count": 1, "useStructureTemplate": false}},
     {"dnaSequence": {"sequence": "GATTACA", "count": 1, "modifications": [{"modificationType": "CCD_6OG", "basePosition": 1}]}},
     {"rnaSequence": {"sequence": "GUAC", "modifications": [{"modificationType": "CCD_2MG", "basePosition": 1}]}},
     {"ligand": {"ligand": "CCD_ATP", "count": 1}}, {"ion": {"ion": "MG", "count": 2}}],
   "dialect": "alphafoldserver", "version": 1},
  {"name": "Test Fold Job Number Two", "modelSeeds": [],
   "sequences": [{"proteinChain": {"sequence": "TEACHINGS", "count": 1, "glycans": []}}, {"dnaSequence": {"sequence": "TAGCTA", "count": 2}}]}
]`

func TestServer(t *testing.T) {
	check(t, []read{
		{
			name: "two jobs",
			text: serverFile,
			want: Server,
			jobs: [][]string{
				{"Test Fold Job Number One", "protein A,B PREACHINGS HY3@1 P1L@5", "protein C REACHER",
					"dna D GATTACA 6OG@1", "rna E GUAC 2MG@1", "ligand F ATP ccd", "ligand G,H MG ccd",
					"seed 1593933729"},
				{"Test Fold Job Number Two", "protein A TEACHINGS", "dna B,C TAGCTA"}},
			notes: []string{"[0].modelSeeds has 2 seeds", "[0].sequences[0].proteinChain.maxTemplateDate",
				"[0].sequences[1].proteinChain.useStructureTemplate false was dropped"},
		},
		{
			name:  "not a list",
			text:  `{"name": "", "modelSeeds": [7], "sequences": [{"proteinChain": {"sequence": "MKT"}}]}`,
			want:  Server,
			jobs:  [][]string{{"given", "protein A MKT", "seed 7"}},
			notes: []string{"one job instead of a list"},
		},
	})
}

const af3File = `{
  "name": "Covalent", "modelSeeds": [10, 42], "dialect": "alphafold3", "version": 4,
  "sequences": [
    {"protein": {"id": ["A", "B"], "sequence": "PVLSCGEWQL", "description": "the target", "modifications": [{"ptmType": "HY3", "ptmPosition": 1}],
      "unpairedMsa": ">query\nPVLSCGEWQL\n>hit\nPVLS-GEWQL\n", "pairedMsa": "", "templates": [{"mmcif": "data_x", "queryIndices": [0], "templateIndices": [0]}]}},
    {"rna": {"id": "R", "sequence": "AGCU", "unpairedMsa": "", "modifications": [{"modificationType": "5MC", "basePosition": 4}]}},
    {"dna": {"id": "D", "sequence": "GACCTCT"}},
    {"ligand": {"id": ["G", "H"], "ccdCodes": ["ATP"]}},
    {"ligand": {"id": "L", "smiles": "CCC[C@@H](O)CC\\C=C\\C=C"}}],
  "bondedAtomPairs": [[["A", 5, "SG"], ["G", 1, "C04"]]], "userCCD": null
}`

func TestAlphaFold3(t *testing.T) {
	check(t, []read{
		{
			name: "all of it",
			text: af3File,
			want: AlphaFold3,
			jobs: [][]string{{"Covalent", "protein A,B PVLSCGEWQL HY3@1 (the target)", "rna R AGCU 5MC@4",
				"dna D GACCTCT", "ligand G ATP ccd", "ligand H ATP ccd",
				`ligand L CCC[C@@H](O)CC\C=C\C=C`, "seed 10", "bond A5SG G1C04"}},
			notes: []string{"modelSeeds has 2 seeds",
				"sequences[0].protein.unpairedMsa, an alignment of 2 sequences inside the file, was dropped",
				"sequences[0].protein.templates",
				"sequences[3].ligand: its 2 copies became items of their own"},
		},
		{
			name: "not indented",
			text: "{\n\"dialect\": \"alphafold3\", \"version\": 3, \"name\": \"x\",\n\"sequences\": [{\"dna\": " +
				"{\"id\": \"A\", \"sequence\": \"GAT\"}}]}",
			want: AlphaFold3,
			jobs: [][]string{{"x", "dna A GAT"}},
		},
		{
			name: "an end sign",
			text: `{"name": "x", "modelSeeds": [1], "dialect": "alphafold3", "version": 1, "sequences": [{"protein": ` +
				`{"id": "A", "sequence": "MKT*"}}]}`,
			want:  AlphaFold3,
			jobs:  [][]string{{"x", "protein A MKT", "seed 1"}},
			notes: []string{"sequences[0].protein.sequence: the end sign * was dropped"},
		},
		{
			name: "version 1",
			text: `{"name": "x", "modelSeeds": [1], "dialect": "alphafold3", "version": 1, "sequences": [{"protein": {"id": "A", "sequence": "MKT", "unpairedMsa": null, "templates": []}}]}`,
			want: AlphaFold3,
			jobs: [][]string{{"x", "protein A MKT", "seed 1"}},
		},
	})
}

const boltzFile = `# An example with everything
version: 1
sequences:
  - protein:
      id: [A, B]
      sequence: MSTPEGNVSLVDESLLVGVTDEDRAVRSAHQ
      msa: empty
      modifications:
        - position: 2
          ccd: SEP
      cyclic: True
  - protein:
      id: NO
      sequence: >-
        MKTAYIAKQR
        QISFVKSHFS
  - ligand:
      id: C
      ccd: 0E5
  - ligand:
      id: "1"
      smiles: 'N[C@@H](Cc1ccc(O)cc1)C(=O)O'
  - rna: {id: LONGNAME, sequence: ggcu}
constraints:
  - bond: {atom1: [A, 1, N], atom2: [C, 1, C1]}
  - pocket:
      binder: C
      contacts: [[A, 3], [B, 4], [1, C7]]
      max_distance: 8
      force: false
  - contact: {token1: [A, 1], token2: [NO, 20], max_distance: 7.0, force: yes}
properties:
  - affinity:
      binder: 1
templates:
`

func TestBoltz(t *testing.T) {
	check(t, []read{
		{
			name: "all of it",
			text: boltzFile,
			want: Boltz,
			jobs: [][]string{{"given", "protein A,B MSTPEGNVSLVDESLLVGVTDEDRAVRSAHQ SEP@2 cyclic",
				"protein NO MKTAYIAKQRQISFVKSHFS", "ligand C 0E5 ccd",
				"ligand 1 N[C@@H](Cc1ccc(O)cc1)C(=O)O affinity", "rna D GGCU", "pocket C A3 B4 11", "bond A1N C1C1",
				"contact A1 NO20 7"}},
			notes: []string{"sequences[1].protein.id is NO without quotes",
				`"LONGNAME" became "D"`,
				"constraints[1].pocket.contacts[2] names the atom C7",
				"constraints[1].pocket.max_distance 8 was dropped",
				"constraints[2].contact.token2[0] is NO without quotes",
				"constraints[2].contact.force true was dropped",
				"sequences[0].protein.msa asks for no alignment of this protein"},
		},
		{
			name: "JSON is YAML",
			as:   Boltz,
			text: `{"sequences": [{"protein": {"id": "A", "sequence": "MKT"}}]}`,
			want: Boltz,
			jobs: [][]string{{"given", "protein A MKT"}},
		},
	})
}

// Every refusal is one sentence that names the place.
func TestRefusals(t *testing.T) {
	af3 := func(sequences, more string) string {
		return `{"name": "x", "modelSeeds": [1], "dialect": "alphafold3", "version": 2, "sequences": [` + sequences +
			`]` + more + `}`
	}
	server := func(sequences string) string {
		return `[{"name": "x", "modelSeeds": [], "sequences": [` + sequences + `]}]`
	}
	const chain, boltz = `{"protein": {"id": "A", "sequence": "MKT"}}`,
		"sequences:\n- protein: {id: A, sequence: MKT}\n"
	for _, c := range []struct {
		text string
		as   Name
		want string
	}{
		{" \n", "", "the file is empty"},
		{"?", "", "no format that is known here; name it in format: fasta, alphafold-server, alphafold3, boltz, protenix, " +
			"openfold3, colabfold, proteinfold"},
		{"x", "pdb", `format is "pdb"; it may be fasta`},
		{`{"name": "x", "sequences": [{"proteinChain": {"sequence": "M"}}], "params": {"modelName": "mini"}}`, "",
			"a job of this service already"},
		{">x\n", "", "the record at line 1: no sequence follows the header"},
		{">x\n>y\nMKT", "", "the record at line 1: no sequence"},
		{">x\nMK?T", "", `record "x", residue 3: '?' is not an amino acid (line 2, column 3)`},
		{">my villin HP35\nMKT\nMK1T", "", `record "my villin HP35", residue 6: '1' is not an amino acid (line 3, column 3)`},
		{">A|rna\nAC5", "", "the record at line 1, residue 3: '5' is not a nucleotide of RNA"},
		{">x\nMKU", "", `record "x", residue 3: 'U' stands for selenocysteine (C is nearest); the letters are ACDEF`},
		{">x\nMK-T", "", "line 2, column 3: '-' is a gap"},
		{">x\nAC-T", "", "line 2, column 3: '-' is a gap"},
		{">x\nAc-GYDPETGTWG-NH2", "", "line 2, column 3: \"Ac-\" is a cap and no residue; caps of peptides are not supported"},
		{">x\nGYDPETGTWG-NH2", "", "line 2, column 11: \"-NH2\" is a cap and no residue"},
		{">x\nALA GLY\nSER\n", "", "the record at line 1 has codes of three letters; a residue is one letter"},
		{"sequences: [{protein: {id: A, sequence: ALA GLY}}]", "", "sequences[0].protein.sequence has codes of three letters"},
		{"id,sequence\na,Ala-Gly\n", "", "has codes of three letters; a residue is one letter"},
		{"Ala-Gly-Ser\n", "", "the record at line 1 has codes of three letters"},
		{">x\nMK*T", "", "'*' at position 3"},
		{">x\nMKJT", "", "record \"x\", residue 3: 'J' stands for I or L; the letters are ACDEF"},
		{">x\nMKT::MKT", "", `record "x", chain 2 is empty`},
		{">A|protein|../../etc/passwd\nMKT", "",
			`the record at line 1 names the file "../../etc/passwd", which did not come with it`},
		{">A|rna\nACGT", "", "residue 4: 'T' is not a nucleotide of RNA; the letters are ACGUN"},
		{">A|protein\nM\n>A|protein\nM", "",
			`the record at line 3 has the id "A", which the record at line 1 has already`},
		{">|protein\nM", "", "names no chain"},
		{strings.Repeat(">x\nM\n", 300), "", "the file has 300 records; at most 256"},
		{"[]", "", "the file is an empty list"},
		{"[null]", "", "[0] is null"},
		{`[{"name": "x"`, "", "the file is not JSON: it ends too early"},
		{strings.Repeat("[", 100_000), "", "nested more than 32 levels"},
		{server(`{"proteinChain": {"sequence": "MKT", "count": 0}}`), "",
			"[0].sequences[0].proteinChain.count is 0; it must be 1 to 512"},
		{server(`{"proteinChain": {"sequence": "MKT", "count": 300}}, {"ion": {"ion": "MG", "count": 300}}`), "",
			"[0].sequences[1].ion: the job has more than 512 chains"},
		{server(`{"proteinChain": {"sequence": "MKT"}, "ion": {"ion": "MG"}}`), "", "[0].sequences[0] must have " +
			"exactly one of proteinChain, rnaSequence, dnaSequence, ligand, ion; it has proteinChain and ion"},
		{server(`{}`), "", "it has none of them"},
		{server(``), "", "[0].sequences is empty"},
		{server(`{"proteinChain": {"sequence": "MKT", "sequense": 1}}`), "",
			`unknown field "sequense" in [0].sequences[0].proteinChain; did you mean "sequence"?`},
		{server(`{"proteinChain": {"sequence": "MKT", "modifications": [{"modificationType": "CCD_SEP", "basePosition": 1}]}}`), "", "modifications[0] must have ptmType and ptmPosition alone"},
		{server(`{"ligand": {"ligand": "CCD_not a code"}}`), "", `[0].sequences[0].ligand.ligand is "not a code"`},
		{`[{"name": "x", "modelSeeds": [-1], "sequences": []}]`, "",
			`[0].modelSeeds[0] is "-1"; it must be a whole number from 0 to 4294967295`},
		{`[{"name": "x", "dialect": "alphafold3", "sequences": []}]`, "", `[0].dialect is "alphafold3"`},
		{af3(``, ``), "", "sequences is empty"},
		{af3(chain+","+chain, ``), "", `sequences[1].protein has the id "A", which sequences[0].protein has already`},
		{af3(`{"protein": {"id": 7, "sequence": "MKT"}}`, ``), "",
			"sequences[0].protein.id must be the name of a chain"},
		{af3(`{"protein": {"id": ["A", null], "sequence": "MKT"}}`, ``), "",
			"sequences[0].protein.id[1] must be the name of a chain"},
		{af3(`{"protein": {"id": [], "sequence": "MKT"}}`, ``), "", "sequences[0].protein.id is empty"},
		{af3(`{"protein": {"sequence": "MKT"}}`, ``), "", "sequences[0].protein.id must be"},
		{af3(`{"protein": {"id": "A", "sequence": "MKT", "unpairedMsaPath": "/etc/passwd"}}`, ``), "",
			`sequences[0].protein.unpairedMsaPath names the file "/etc/passwd"`},
		{af3(`{"protein": {"id": "A", "sequence": "MKT", "templates": [{"mmcifPath": "gs://b/x.cif"}]}}`, ``), "",
			`templates[0].mmcifPath names the file "gs://b/x.cif"`},
		{af3(chain, `, "userCCDPath": "x.cif"`), "", "userCCDPath names the file"},
		{af3(chain, `, "userCCD": "data_LIG", "userCCDPath": "x.cif"`), "", "are both there"},
		{af3(chain, `, "userCCD": "data_LIG"`), "", "userCCD defines components inside the file"},
		{af3(chain, `, "name": "y"`), "", `duplicate key "name" in the file`},
		{af3(chain, `, "bondedAtomPairs": [[["A", 4, "SG"], ["A", 1, "CA"]]]`), "",
			"bondedAtomPairs[0][0] names residue 4; chain A has residues 1 to 3"},
		{af3(chain, `, "bondedAtomPairs": [[["Z", 4, "SG"], ["A", 1, "CA"]]]`), "",
			`bondedAtomPairs[0][0] names the chain "Z", which the file does not have`},
		{af3(chain, `, "bondedAtomPairs": [[["A", 1, "SG"]]]`), "", "bondedAtomPairs[0] must be two atoms"},
		{af3(chain, `, "bondedAtomPairs": [[["A", "1", "SG"], ["A", 1, "CA"]]]`), "",
			"bondedAtomPairs[0][0] must be a list of chain, residue and atom"},
		{af3(`{"ligand": {"id": "L", "ccdCodes": ["NAG", "NAG"]}}`, ``), "",
			"sequences[0].ligand.ccdCodes: no bond of the file joins component 2 (NAG)"},
		{af3(`{"ligand": {"id": "L", "ccdCodes": ["NAG"], "smiles": "C"}}`, ``), "",
			"sequences[0].ligand must have exactly one of ccdCodes and smiles"},
		{af3(`{"ligand": {"id": "L", "smiles": "C C"}}`, ``), "", "sequences[0].ligand.smiles has ' ' at position 2"},
		{af3(`{"rna": {"id": "R", "sequence": "ACG", "modifications": [{"modificationType": "5MC", "basePosition": 4}]}}`, ``), "", "sequences[0].rna.modifications[0].basePosition is 4; the chain has residues 1 to 3"},
		{`{"name": "x", "modelSeeds": [1], "dialect": "alphafold3", "sequences": []}`, "", "version must be 1 to 4"},
		{`{"name": "x", "modelSeeds": [1], "dialect": "alphafold3", "version": 5, "sequences": []}`, "",
			"version must be 1 to 4"},
		{`{"name": "x", "modelSeeds": [1.5], "dialect": "alphafold3", "version": 1, "sequences": []}`, "",
			`modelSeeds[0] is "1.5"`},
		{`{"name": "x", "version": 1, "sequences": [{"protein": {"id": "A", "sequence": "M"}}]}`, "",
			`dialect is ""; it must be "alphafold3"`},
		{"sequences: [", "", "the file is not YAML: line 1"},
		{"sequences:\n", "", "sequences is required"},
		{"sequences: []\n", "", "sequences is empty"},
		{"sequences: {}\n", "", "sequences (line 1) must be a list"},
		{boltz + "---\n" + boltz, "", "has data after its first YAML document"},
		{"x: &a 1\n" + boltz, "", "line 1 has the anchor &a"},
		{"sequences:\n- *a\n", "", "unknown anchor"},
		{"a: &x {id: A}\nsequences:\n- protein: *x\n", "", "line 1 has the anchor &x"},
		{"sequences:\n- protein: {<<: {id: A}, sequence: MKT}\n", "", "line 2 merges keys with <<"},
		{"sequences: !!python/object x\n", "", "line 1 has the tag !!python/object"},
		{"sequences:\n- protein: {id: A, sequence: !!binary TUtU}\n", "", "line 2 has the tag !!binary"},
		{"sequences:\n- protein: {id: A, id: B, sequence: MKT}\n", "",
			`duplicate key "id" (line 2) in sequences[0].protein`},
		{"sequences: " + strings.Repeat("[", 40) + strings.Repeat("]", 40), "", "line 1 is nested more than 32 levels"},
		{"version: 2\n" + boltz, "", `version is "2" (line 1); it must be 1`},
		{boltz + "templates:\n- cif: a.cif\n", "", `templates[0].cif names the file "a.cif"`},
		{boltz + "template: x\n", "", `unknown field "template" (line 3) in the file; did you mean "templates"?`},
		{"sequences:\n- protein: {id: A, sequence: MKT, msa: http://x/a.a3m}\n", "",
			`sequences[0].protein.msa names the file "http://x/a.a3m"`},
		{"sequences:\n- protein: {sequence: MKT}\n", "", "sequences[0].protein.id (line 2) is required"},
		{"sequences:\n- protein: {id: [], sequence: MKT}\n", "",
			"sequences[0].protein.id (line 2) must be the name of a chain"},
		{"sequences:\n- protein: {id: A}\n", "", "sequences[0].protein.sequence is empty"},
		{"sequences:\n- protein: {id: A, sequence: MKT, cyclic: 1}\n", "",
			`sequences[0].protein.cyclic is "1" (line 2); it must be true or false`},
		{"sequences:\n- protein: {id: A, sequence: MKT, modifications: [{position: 010, ccd: SEP}]}\n", "",
			`modifications[0].position is "010" (line 2); it must be a whole number`},
		{"sequences:\n- protein: {id: A, sequence: MKT, modifications: [{position: 1}]}\n", "",
			"modifications[0] (line 2) must have position and ccd"},
		{"sequences:\n- ligand: {id: A, ccd: ATP, smiles: C}\n", "",
			"sequences[0].ligand (line 2) must have exactly one of smiles and ccd"},
		{boltz + "constraints:\n- bond: {atom1: [A, 1, N]}\n", "", "constraints[0].bond.atom2 (line 4) is required"},
		{boltz + "constraints:\n- pocket: {binder: B, contacts: [[A, 1]]}\n", "",
			`constraints[0].pocket.binder names the chain "B"`},
		{boltz + "constraints:\n- contact: {token1: [A, 1], token2: [A, CA]}\n", "",
			`constraints[0].contact.token2[1] is "CA" (line 4); it must be a residue's number`},
		{boltz + "constraints:\n- contact: {token1: [A, 1], token2: [A, 9]}\n", "",
			"constraints[0].contact.token2 names residue 9; chain A has residues 1 to 3"},
		{boltz + "constraints:\n- contact: {token1: [A, 1], token2: [A, 2], max_distance: .inf}\n", "", "max_distance"},
		{boltz + "properties:\n- affinity: {binder: A}\n", "", "properties[0].affinity.binder names A, a protein"},
		{boltz + "properties:\n- solubility: {}\n", "", `unknown field "solubility"`},
	} {
		_, err := Import(c.text, c.as, Options{})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.80q: %v; want %q in it", c.text, err, c.want)
			continue
		}
		if len(err.Error()) > 400 || strings.ContainsAny(err.Error(), "\n\r") {
			t.Errorf("%.80q: %q is not one short sentence", c.text, err)
		}
	}
	_, err := Import(">x\n"+strings.Repeat("M", MaxBytes), "", Options{})
	if pleat.CodeOf(err) != pleat.CodeTooLarge {
		t.Errorf("a file of more than 1 MiB: %v", err)
	}
}

// A fact that a format cannot express becomes a note, or a refusal where a molecule would be left out.
func TestExportNotes(t *testing.T) {
	j := pleat.Job{
		Name: "Ünder / test",
		Params: pleat.Params{
			Model: "boltz-2", Values: map[string]any{"seed": "7", "recyclingSteps": int64(3), "relaxPrediction": false},
		},
		Sequences: []pleat.Sequence{
			{Kind: pleat.Protein, Text: "MKTAYX", ChainID: "h1", Count: 1, Label: "heavy", Cyclic: true,
				Modifications: []pleat.Modification{{Residue: 2, CCD: "XYZ"}},
				Source:        "01890a5d-ac96-774b-bcce-b302099a8057"},
			{Kind: pleat.Ligand, Text: "SAH", CCD: true, Count: 1, PropertyType: "affinity"},
		},
		Constraints: pleat.Constraints{
			Pocket: []pleat.Pocket{
				{Binder: pleat.ChainRef{Chain: "A"}, Contacts: []pleat.ResidueRef{{Chain: "h1", Residue: 1}}},
			},
			Bond: []pleat.Bond{
				{Atom1: pleat.AtomRef{Chain: "h1", Residue: 1, Atom: "N"}, Atom2: pleat.AtomRef{
					Chain: "A", Residue: 1, Atom: "C1",
				}},
			},
			Contact:  []pleat.Contact{{ChainA: "h1", ResidueA: 1, ChainB: "h1", ResidueB: 2, Distance: 30}},
			Webhooks: []byte(`{"qna":{"enabled":true}}`),
		},
	}
	if err := j.Validate(everything); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		as    Name
		file  string
		holds []string
		notes []string
	}{
		{FASTA, "Ünder-test.fasta", []string{">h1|protein heavy\nMKTAYX\n>A|ccd\nSAH\n"},
			[]string{"name", "sequences[0].proteinChain.modifications", "sequences[0].proteinChain.cyclic",
				"sequences[1].ligandSequence.property_type", "constraints.pocket[0]", "constraints.bond[0]",
				"constraints.contact[0]", "params.recyclingSteps 3", "params.seed 7", "sequences[0].sourceSequenceId",
				"constraints.webhooks", "params.modelName"}},
		{Server, "Ünder-test.json", []string{`"modelSeeds": [`, `"7"`, `"CCD_SAH"`, `"CCD_XYZ"`},
			[]string{"cyclic", "modifications[0].ccd XYZ", "unknown residue X", "property_type", "SAH is not among",
				"label", "sequences[0].proteinChain.chain_id", "sequences[1].ligandSequence.chain_id", "pocket", "bond",
				"contact",
				"recyclingSteps", "sourceSequenceId", "webhooks", "modelName"}},
		{AlphaFold3, "Ünder-test.json", []string{
			`"version": 4`, `"description": "heavy"`, `"id": "B"`, `"bondedAtomPairs"`,
		},
			[]string{"The chain h1 is called B", "cyclic", "property_type", "pocket", "contact", "recyclingSteps",
				"sourceSequenceId", "webhooks", "modelName"}},
		{Boltz, "Ünder-test.yaml", []string{
			"max_distance: 30.0", `binder: "A"`, `atom1: ["h1", 1, "N"]`, "cyclic: true",
		},
			[]string{"name", "label",
				"params.recyclingSteps 3 is not in the file: give the program --recycling_steps 3", "--seed 7",
				"30 is outside the 4 to 20 Å", "sourceSequenceId", "webhooks", "modelName"}},
	} {
		f, err := Export(&j, c.as)
		if err != nil {
			t.Fatal(err)
		}
		if f.Name != c.file {
			t.Errorf("%s: named %s; want %s", c.as, f.Name, c.file)
		}
		for _, want := range c.holds {
			if !strings.Contains(string(f.Text), want) {
				t.Errorf("%s: %q is not in\n%s", c.as, want, f.Text)
			}
		}
		if len(f.Notes) != len(c.notes) {
			t.Errorf("%s: %d notes; want %d: %q", c.as, len(f.Notes), len(c.notes), f.Notes)
		}
		for _, want := range c.notes {
			if !slices.ContainsFunc(f.Notes, func(n string) bool { return strings.Contains(n, want) }) {
				t.Errorf("%s: no note has %q: %q", c.as, want, f.Notes)
			}
		}
	}
	j.Sequences[1].CCD, j.Sequences[1].Text = false, "CCO"
	if _, err := Export(&j, Server); err == nil ||
		!strings.Contains(err.Error(), "sequences[1].ligandSequence is a SMILES") {
		t.Error(err)
	}
	if _, err := Export(&j, "pdb"); err == nil {
		t.Error("an unknown format was written")
	}
}
