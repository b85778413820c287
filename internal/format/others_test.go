package format

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pleat"
)

const protenixFile = `[
  {"name": "glycoprotein", "modelSeeds": [],
   "sequences": [
     {"proteinChain": {"sequence": "PREACHINGS", "count": 2, "id": ["H", "L"],
       "modifications": [{"ptmType": "CCD_HY3", "ptmPosition": 1}]}},
     {"rnaSequence": {"sequence": "GUAC", "count": 1}},
     {"ligand": {"ligand": "CCD_NAG_BMA", "count": 2}},
     {"ligand": {"ligand": "CC(=O)Oc1ccccc1C(=O)O", "count": 1}},
     {"ion": {"ion": "MG", "count": 2}}],
   "covalent_bonds": [
     {"entity1": "1", "copy1": 1, "position1": "8", "atom1": "ND2", "entity2": "3", "copy2": 2, "position2": "1", "atom2": "C1"},
     {"left_entity": 3, "left_position": 1, "left_atom": "O4", "right_entity": 3, "right_position": 2, "right_atom": "C1"}],
   "constraint": {
     "contact": [{"entity1": 1, "copy1": 2, "position1": 3, "atom1": "CA", "entity2": 4, "copy2": 1, "position2": 1, "max_distance": 6, "min_distance": 2}],
     "pocket": {"binder_chain": {"entity": 4, "copy": 1}, "contact_residues": [{"entity": 1, "copy": 1, "position": 5}], "max_distance": 8}}},
  {"name": "plain", "modelSeeds": ["5"], "sequences": [{"dnaSequence": {"sequence": "GATTACA"}}], "covalent_bonds": []}
]`

func TestProtenix(t *testing.T) {
	check(t, []read{
		{
			name: "all of it",
			text: protenixFile,
			want: Protenix,
			jobs: [][]string{
				{"glycoprotein", "protein H PREACHINGS HY3@1", "protein L PREACHINGS HY3@1", "rna A GUAC",
					"ligand B NAG ccd", "ligand C BMA ccd", "ligand D NAG ccd", "ligand E BMA ccd",
					"ligand F CC(=O)Oc1ccccc1C(=O)O", "ligand G,I MG ccd",
					"pocket F H5", "bond H8ND2 D1C1", "bond B1O4 C1C1", "bond D1O4 E1C1", "contact L3 F1 6"},
				{"plain", "dna A GATTACA", "seed 5"},
			},
			notes: []string{"sequences[0].proteinChain: its 2 copies became items of their own",
				`[0].constraint.contact[0].atom1 "CA" was dropped`, "min_distance 2 was dropped",
				"[0].constraint.pocket.max_distance 8 was dropped",
				"[0].sequences[2].ligand.ligand: the 2 components of the ligand became ligands of their own with the " +
					"bonds between them: chains B and C",
				"chains D and E"},
		},
		{
			name:  "not a list",
			text:  `{"name": "", "sequences": [{"proteinChain": {"sequence": "MKT", "id": ["X"]}}]}`,
			want:  Protenix,
			jobs:  [][]string{{"given", "protein X MKT"}},
			notes: []string{"one job instead of a list"},
		},
	})
}

const openFoldText = `{"seeds": [42, 43], "queries": {
  "second": {"chains": [
    {"molecule_type": "protein", "chain_ids": ["A", "B"], "sequence": "PVLSCGEWQL", "non_canonical_residues": {"1": "HY3"}, "use_main_msas": true},
    {"molecule_type": "LIGAND", "chain_ids": "Z", "smiles": "CC(=O)OC1C[NH+]2CCC1CC2"},
    {"molecule_type": "ligand", "chain_ids": ["I"], "ccd_codes": ["NAG"]}]},
  "first": {"use_msas": false, "chains": [
    {"molecule_type": "dna", "chain_ids": "A", "sequence": "ATUCG", "non_canonical_residues": {"3": "PSU", "4": "5MC"}},
    {"molecule_type": "rna", "chain_ids": "E", "sequence": "AGCU", "use_paired_msas": false},
    {"molecule_type": "protein", "chain_ids": "P", "sequence": "MKT"}]}
}}`

func TestOpenFold3(t *testing.T) {
	check(t, []read{
		{
			name: "two queries in the order of the file",
			text: openFoldText,
			want: OpenFold3,
			jobs: [][]string{
				{"second", "protein A,B PVLSCGEWQL HY3@1", "ligand Z CC(=O)OC1C[NH+]2CCC1CC2", "ligand I NAG ccd",
					"seed 42"},
				{"first", "dna A ATNCG PSU@3 5MC@4", "rna E AGCU", "protein P MKT", "seed 42", "no alignments"},
			},
			notes: []string{"seeds has 2 seeds", "seeds has 2 seeds",
				`queries["first"].chains[0].sequence: the letter 'U' of residue 3 became N, since PSU replaces`,
				`queries["first"].chains[1].use_paired_msas false was dropped`},
		},
	})
}

func TestColabFold(t *testing.T) {
	check(t, []read{
		{
			name: "complexes",
			text: "\ufeffid,sequence\r\n5AWL,YYDPETGTWY\r\n\"3G5O, both\",MRILPISTIK:GTWYgtwy\r\n",
			want: ColabFold,
			jobs: [][]string{{"5AWL", "protein A YYDPETGTWY"},
				{"3G5O, both", "protein A MRILPISTIK", "protein B GTWYGTWY"}},
		},
		{
			name:  "tabs, other columns and letters of DNA",
			text:  "Sequence\tid\tspecies\nGATTACAGATTACAGATTACA\tx\ty\n",
			want:  ColabFold,
			jobs:  [][]string{{"x", "protein A GATTACAGATTACAGATTACA"}},
			notes: []string{`The column "species" is not used`, "line 2, column sequence was taken as a protein"},
		},
		{
			name: "no alignment named",
			text: "id,sequence,a3mpath,templatepath\nx,MKT,,\n",
			want: ColabFold,
			jobs: [][]string{{"x", "protein A MKT"}},
		},
	})
}

// samples are the FASTA files of a samplesheet.
func samples(name string) (string, error) {
	switch name {
	case "T1024.fasta":
		return ">T1024|first\nMKT\n", nil
	case "pair.fa":
		return ">a\nMKT:GGG\n>R|rna\nGGCU\n", nil
	case "bad.fasta":
		return ">a\nM1T\n", nil
	case "empty.fasta":
		return "\n", nil
	case "large.fasta":
		return ">a\n" + strings.Repeat("A", MaxBytes), nil
	}
	return "", pleat.Invalidf("files has no file %q", name)
}

func TestProteinfold(t *testing.T) {
	for _, c := range []struct {
		text string
		want [][]string
		err  string
	}{
		{text: "id,fasta\nT1024,T1024.fasta\ntwo,pair.fa\n", want: [][]string{
			{"T1024", "protein A MKT (T1024|first)"},
			{"two", "protein A MKT (a)", "protein B GGG (a)", "rna R GGCU"},
		}},
		{text: "sequence,fasta\nold,T1024.fasta\n", want: [][]string{{"old", "protein A MKT (T1024|first)"}}},
		{text: "id,fasta\nx,none.fasta\n", err: `line 2, column fasta: files has no file "none.fasta"`},
		{text: "id,fasta\nx,bad.fasta\n", err: `line 2, column fasta names the file "bad.fasta", which cannot be read: ` +
			`record "a", residue 2: '1' is not an amino acid`},
		{text: "id,fasta\nx,empty.fasta\n", err: "the file has no sequence"},
		{text: "id,fasta\nx,large.fasta\n", err: "of 1048579 bytes; at most 1048576"},
		{text: "id,fasta\nx,T1024.yaml\n", err: "its name must end in .fa, .fasta, .faa"},
		{text: "id,fasta\nx,\n", err: "line 2, column fasta is empty"},
		{text: "id,fasta\n,T1024.fasta\n", err: "line 2, column sequence is required"},
		{text: "id,fasta\nx,T1024.fasta\n\nx,pair.fa\n", err: `line 4, column id is "x", which line 2 has already`},
	} {
		got, err := Import(c.text, "", Options{Files: Files{Text: samples}})
		if c.err != "" {
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%q: %v; want %q in it", c.text, err, c.err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%q: %v", c.text, err)
			continue
		}
		var jobs [][]string
		for i := range got.Jobs {
			jobs = append(jobs, describe(&got.Jobs[i]))
		}
		if diff := cmp.Diff(c.want, jobs); got.Format != Proteinfold || diff != "" {
			t.Errorf("%q, read as %s: %s", c.text, got.Format, diff)
		}
	}
}

// A ligand of several components becomes bonded ligands.
func TestGlycan(t *testing.T) {
	const head, tail = `{"name": "x", "modelSeeds": [1], "dialect": "alphafold3", "version": 2, "sequences": [
		{"protein": {"id": "A", "sequence": "MNT"}}, {"ligand": {"id": ["J", "K"], "ccdCodes": ["NAG", "NAG", "BMA"]}}],
		"bondedAtomPairs": [`, `]}`
	const inJ = `[["J", 1, "O4"], ["J", 2, "C1"]], [["J", 2, "O4"], ["J", 3, "C1"]]`
	const all = inJ + `, [["A", 2, "ND2"], ["J", 1, "C1"]], [["K", 3, "C1"], ["K", 1, "O3"]], [["K", 2, "C1"], ["K", 1, "O4"]]`
	check(t, []read{{
		name: "two copies",
		text: head + all + tail,
		want: AlphaFold3,
		jobs: [][]string{{"x", "protein A MNT", "ligand B NAG ccd", "ligand C NAG ccd", "ligand D BMA ccd",
			"ligand E NAG ccd", "ligand F NAG ccd", "ligand G BMA ccd", "seed 1",
			"bond B1O4 C1C1", "bond C1O4 D1C1", "bond A2ND2 B1C1", "bond G1C1 E1O3", "bond F1C1 E1O4"}},
		notes: []string{"sequences[1].ligand.ccdCodes: the 3 components", "sequences[1].ligand.ccdCodes"},
	}})
	for bonds, want := range map[string]string{
		inJ:                                   "no bond of the file joins component 2 (NAG) of the ligand to component",
		`[["J", 4, "O4"], ["J", 2, "C1"]]`:    "bondedAtomPairs[0][0] names component 4; the ligand J has components 1 to 3",
		`[["J", 1, "toolong"], ["J", 2, ""]]`: "bondedAtomPairs[0][1] must be a list of chain, residue and atom",
	} {
		if _, err := Import(head+bonds+tail, "", Options{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want %q in it", bonds, err, want)
		}
	}
}

// Each of the other formats refuses what it cannot take, with one sentence that names the place.
func TestRefusalsOfOthers(t *testing.T) {
	protenix := func(sequences, more string) string {
		return `[{"name": "x", "sequences": [` + sequences + `], "covalent_bonds": []` + more + `}]`
	}
	query := func(chain string) string { return `{"queries": {"q": {"chains": [` + chain + `]}}}` }
	const chain, glycan = `{"proteinChain": {"sequence": "MKT", "count": 2}}`, `{"ligand": {"ligand": "CCD_NAG_NAG"}}`
	bond := func(text string) string {
		return `[{"name": "x", "sequences": [` + chain + `, ` + glycan + `, {"ligand": {"ligand": "CCO"}}], "covalent_bonds": [{` +
			text + `}]}]`
	}
	near := func(text string) string { return protenix(chain+","+glycan, `, "constraint": {`+text+`}`) }
	for _, c := range []struct{ text, want string }{
		{protenix(``, ``), "[0].sequences is empty"},
		{protenix(`{}`, ``), "[0].sequences[0] must have exactly one of proteinChain"},
		{protenix(`{"proteinChain": {"sequence": "MKT", "count": 2, "id": ["A"]}}`, ``),
			"[0].sequences[0].proteinChain.id has 1 names and count is 2"},
		{protenix(`{"proteinChain": {"sequence": "MKT", "id": [""]}}`, ``),
			"[0].sequences[0].proteinChain.id[0] must be the name of a chain"},
		{protenix(chain+`, {"proteinChain": {"sequence": "MKT", "id": ["A"]}}, {"ion": {"ion": "MG", "id": ["A"]}}`, ``),
			`[0].sequences[2].ion has the id "A", which [0].sequences[1].proteinChain has already`},
		{protenix(`{"proteinChain": {"sequence": "MKT", "unpairedMsaPath": "/etc/passwd"}}`, ``),
			`[0].sequences[0].proteinChain.unpairedMsaPath names the file "/etc/passwd"`},
		{protenix(`{"proteinChain": {"sequence": "MKT", "pairedMsaPath": "p.a3m"}}`, ``),
			`[0].sequences[0].proteinChain.pairedMsaPath names the file "p.a3m"`},
		{protenix(`{"proteinChain": {"sequence": "MKT", "msa": {"precomputed_msa_dir": "d", "pairing_db": "x"}}}`, ``),
			`[0].sequences[0].proteinChain.msa.precomputed_msa_dir names the file "d/non_pairing.a3m"`},
		{protenix(`{"proteinChain": {"sequence": "MKT", "templatesPath": "t.hhr"}}`, ``),
			`[0].sequences[0].proteinChain.templatesPath names the file "t.hhr"; jobs take structures as templates`},
		{protenix(`{"proteinChain": {"sequence": "MKT", "glycans": [{}]}}`, ``),
			"[0].sequences[0].proteinChain.glycans is not taken"},
		{protenix(`{"ligand": {"ligand": "FILE_atp.sdf"}}`, ``),
			`[0].sequences[0].ligand.ligand names the file "atp.sdf"`},
		{protenix(`{"ligand": {"ligand": "CCD_"}}`, ``), `[0].sequences[0].ligand.ligand is ""`},
		{protenix(`{"ligand": {"ligand": "CCD_NAG_?"}}`, ``), `[0].sequences[0].ligand.ligand[1] is "?"`},
		{protenix(glycan, ``), "no bond of the file joins component 2 (NAG)"},
		{protenix(chain, `, "constrain": {}`), `unknown field "constrain" in [0]; did you mean "constraint"?`},
		{bond(`"entity1": 4, "position1": 1, "atom1": "N", "entity2": 1, "position2": 1, "atom2": "N"`),
			`[0].covalent_bonds[0].entity1 is "4"; it must be the number of an entity of sequences, 1 to 3`},
		{bond(`"entity1": 1, "copy1": 3, "position1": 1, "atom1": "N", "entity2": 1, "copy2": 1, "position2": 1, "atom2": "N"`),
			`[0].covalent_bonds[0].copy1 is "3"; it must be the number of a copy of the entity, 1 to 2`},
		{bond(`"entity1": 1, "copy1": 1, "position1": 1, "atom1": "N", "entity2": 1, "position2": 1, "atom2": "N"`),
			"[0].covalent_bonds[0] must have both of copy1 and copy2, or neither"},
		{bond(`"entity1": 1, "position1": 4, "atom1": "N", "entity2": 1, "position2": 1, "atom2": "N"`),
			"[0].covalent_bonds[0].position1 is 4, a residue that entity 1.1 does not have"},
		{bond(`"entity1": 1, "position1": 1, "atom1": 7, "entity2": 1, "position2": 1, "atom2": "N"`),
			"[0].covalent_bonds[0].atom1 must be the name of an atom"},
		{bond(`"entity1": 1, "position1": 1, "atom1": "N", "entity2": 2, "position2": 1, "atom2": "C1"`),
			"[0].covalent_bonds[0] is between entities of 2 and 1 copies"},
		{bond(`"entity1": 1, "copy1": 1, "position1": 1, "atom1": "N", "entity2": 3, "copy2": 1, "position2": 1, "atom2": "C1"`),
			"[0].covalent_bonds[0].atom2 is an atom of a SMILES"},
		{near(`"contact": [{"entity1": 1, "position1": 1}]`), "[0].constraint.contact[0].copy1 is required"},
		{near(`"contact": [{"entity1": 1, "copy1": 1, "position1": 1, "entity2": 1, "copy2": 2, "position2": 1}]`),
			"[0].constraint.contact[0].max_distance must be a length"},
		{near(`"pocket": {}`), "[0].constraint.pocket must have binder_chain"},
		{near(`"pocket": {"binder_chain": {"entity": 2, "copy": 1}, "contact_residues": [{}]}`),
			"[0].constraint.pocket.binder_chain is a ligand of several components"},
		{near(`"pocket": {"binder_chain": {"entity": 1, "copy": 1, "position": 2}, "contact_residues": [{}]}`),
			"binder_chain.position is not taken"},
		{near(`"pocket": {"binder_chain": {"entity": 1, "copy": 1}, "contact_residues": [{"entity": 1, "copy": 1}]}`),
			"[0].constraint.pocket.contact_residues[0].position must be the number of a residue"},

		{`{"queries": {}}`, "queries is empty"},
		{`{"queries": []}`, "queries is required; it must be an object"},
		{`{"queries": {"q": {"chains": []}}}`, `queries["q"].chains is empty`},
		{`{"queries": {"q": {"chains": []}, "q": {"chains": []}}}`, `duplicate key "q" in queries`},
		{`{"queries": {"q": 7}}`, `queries["q"]: the query must be a JSON object`},
		{`{"queries": {"q": {"chains": [{"molecule": "dna"}]}}}`,
			`queries["q"]: unknown field "molecule" in chains[0]; did you mean "molecule_type"?`},
		{`{"queries": {"q": {"chains": []}}, "ccd_file_path": "x.cif"}`, `ccd_file_path names the file "x.cif"`},
		{`{"queries": {"q": {"query_name": "p", "chains": []}}}`, `queries["q"].query_name is "p"`},
		{`{"queries": {"q": {"chains": [{}], "covalent_bonds": [[["A", 1, 1], ["B", 1, 1]]]}}}`,
			`queries["q"].covalent_bonds is not taken: it gives atoms by number`},
		{query(`{"molecule_type": "protein", "sequence": "MKT"}`), `queries["q"].chains[0].chain_ids is required`},
		{query(`{"molecule_type": "protein", "chain_ids": [7], "sequence": "MKT"}`), `chain_ids[0] must be a text`},
		{query(`{"molecule_type": "peptide", "chain_ids": "A", "sequence": "MKT"}`),
			`molecule_type is "peptide"; it must be protein, rna, dna or ligand`},
		{query(`{"molecule_type": "protein", "chain_ids": "A", "sequence": "MKT", "ccd_codes": "ATP"}`),
			"has smiles, ccd_codes or sdf_file_path, which are fields of a ligand"},
		{query(`{"molecule_type": "protein", "chain_ids": "A", "sequence": "MKU"}`),
			`queries["q"].chains[0].sequence, residue 3: 'U' stands for selenocysteine`},
		{query(`{"molecule_type": "protein", "chain_ids": "A", "sequence": "MKT", "non_canonical_residues": {"4": "SEP"}}`),
			`non_canonical_residues["4"] is 4; the chain has residues 1 to 3`},
		{query(`{"molecule_type": "protein", "chain_ids": "A", "sequence": "MKT", "non_canonical_residues": {"x": "SEP"}}`),
			`non_canonical_residues is "x"; it must be the number of a residue`},
		{query(`{"molecule_type": "protein", "chain_ids": "A", "sequence": "MKT", "non_canonical_residues": {"1": "SEP", "01": "SEP"}}`),
			"names residue 1 twice"},
		{query(`{"molecule_type": "protein", "chain_ids": "A", "sequence": "MKT", "main_msa_file_paths": ["/a.a3m"]}`),
			`queries["q"].chains[0].main_msa_file_paths names the file "/a.a3m"`},
		{query(`{"molecule_type": "protein", "chain_ids": "A", "sequence": "MKT", "template_alignment_file_path": "t.a3m"}`),
			"template_alignment_file_path names the file"},
		{query(`{"molecule_type": "protein", "chain_ids": "A", "sequence": "MKT", "template_cif_paths": "t.cif"}`),
			`queries["q"].chains[0].template_cif_paths[0] names the file "t.cif"`},
		{query(`{"molecule_type": "rna", "chain_ids": "A", "sequence": "ACG", "template_cif_paths": ["t.cif"]}`),
			"template_cif_paths is on an RNA; jobs have templates of proteins alone"},
		{query(`{"molecule_type": "protein", "chain_ids": "A", "sequence": "MKT", "template_cif_paths": ["t.cif"], "template_cif_chain_ids": ["A", "B"]}`),
			"template_cif_chain_ids has 2 items and template_cif_paths 1"},
		{query(`{"molecule_type": "protein", "chain_ids": "A", "sequence": "MKT", "template_cif_paths": ["t.cif"], "template_cif_chain_ids": [7]}`),
			"template_cif_chain_ids[0] must be the name of a chain, or null"},
		{query(`{"molecule_type": "protein", "chain_ids": "A", "sequence": "MKT", "use_msas": false, "main_msa_file_paths": "a.a3m"}`),
			"use_msas is false and the chain names alignments"},
		{query(`{"molecule_type": "ligand", "chain_ids": "A", "sequence": "MKT"}`), "has fields of a polymer"},
		{query(`{"molecule_type": "ligand", "chain_ids": "A"}`), "must have exactly one of smiles and ccd_codes"},
		{query(`{"molecule_type": "ligand", "chain_ids": "A", "ccd_codes": ["NAG", "NAG"]}`), "ccd_codes holds 2 codes"},
		{query(`{"molecule_type": "ligand", "chain_ids": "A", "sdf_file_path": "x.sdf"}`),
			`sdf_file_path names the file "x.sdf"`},

		{"id,sequence\n", "the file has no row"},
		{"id,seq\nx,MKT\n", "the file has the columns id, seq; it must have id and sequence"},
		{"id,sequence,id\nx,MKT,y\n", "the file has the column id twice"},
		{"id,sequence\nx,MKT,\n", "line 2 has 3 columns; the first line has 2"},
		{"id,sequence\nx,\"MK\"T\n", "line 2, column 6 of the file is not CSV"},
		{"id,sequence\n\nx,MK1T\n", "line 3, column sequence, residue 3: '1' is not an amino acid"},
		{"id,sequence\nx,MKT::MKT\n", "line 2, column sequence, chain 2 is empty"},
		{"id,sequence\nx,MKT\nx,MKT\n", `line 3, column id is "x", which line 2 has already`},
		{"id,sequence\n,MKT\n", "line 2, column id is required"},
		{"id,sequence,a3mpath\nx,MKT,/etc/passwd\n", `line 2, column a3mpath names the file "/etc/passwd"`},
		{"id,sequence,templatepath\nx,MKT,t\n", `line 2, column templatepath names the file "t"`},
		{"id,sequence\nx," + strings.Repeat("M:", 300) + "M\n", "is one too many: a job has at most 256 items"},
		{"id,fasta\nx,https://example.org/T1024.fasta\n",
			`line 2, column fasta names the file "https://example.org/T1024.fasta"; a samplesheet must come with`},
	} {
		_, err := Import(c.text, "", Options{})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.120q: %v; want %q in it", c.text, err, c.want)
			continue
		}
		if len(err.Error()) > 400 || strings.ContainsAny(err.Error(), "\n\r\x00") {
			t.Errorf("%.80q: %q is not one short sentence", c.text, err)
		}
	}
}

// A list of Protenix with nothing of its own is read as one of the AlphaFold Server, and means the same.
func TestGuessOfLists(t *testing.T) {
	const item = `{"proteinChain": {"sequence": "MKT", "count": 1}}, {"ligand": {"ligand": "CCD_ATP", "count": 1}}`
	for text, want := range map[string]Name{
		`[{"name": "x", "sequences": [` + item + `]}]`:                                         Server,
		`[{"name": "x", "sequences": [` + item + `], "dialect": "alphafoldserver"}]`:           Server,
		`[{"name": "x", "sequences": [` + item + `], "covalent_bonds": []}]`:                   Protenix,
		`[{"name": "x", "sequences": [` + item + `, {"ligand": {"ligand": "CCO"}}]}]`:          Protenix,
		`[{"name": "x", "sequences": [{"ion": {"ion": "MG", "id": ["M"]}}]}]`:                  Protenix,
		`[{"name": "x", "sequences": [` + item + `]}, {"sequences": [], "constraint": {}}]`:    Protenix,
		`[{"name": "x", "sequences": [{"proteinChain": {"sequence": "MKT", "glycans": []}}]}]`: Server,
	} {
		if got := guessList(text); got != want {
			t.Errorf("%s is %s; want %s", text, got, want)
		}
	}
	one, err := Import(`[{"name": "x", "sequences": [`+item+`]}]`, Server, Options{})
	two, err2 := Import(`[{"name": "x", "sequences": [`+item+`]}]`, Protenix, Options{})
	if err != nil || err2 != nil {
		t.Fatal(err, err2)
	}
	if diff := cmp.Diff(one.Jobs, two.Jobs); diff != "" {
		t.Error(diff)
	}
}

// The caller's limits hold, and ids of rows differ.
func TestRows(t *testing.T) {
	got, err := Import(">a first\nMKT\n>a second\nMKT:GGG\n>b\nGGCU\n", FASTA, Options{Rows: true, Jobs: 3})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"a", "a-2", "b"}, got.IDs); diff != "" {
		t.Error(diff)
	}
	if got.Jobs[2].Sequences[0].Kind != pleat.RNA {
		t.Error("the RNA is none")
	}
	got, err = Import(">A|protein\nMKT\n>B|rna\nGGCU\n", FASTA, Options{Rows: true})
	if err != nil || len(got.Jobs) != 1 {
		t.Errorf("records of one complex became %d jobs, %v", len(got.Jobs), err)
	}
	for text, want := range map[string]string{
		strings.Repeat(">a\nMKT\n", 400): "the file has 400 records; at most 256",
		"id,sequence\n" + rows(4):        "the file holds more than 3 jobs",
	} {
		if _, err := Import(text, "", Options{Rows: true, Jobs: 3}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: %v; want %q", text, err, want)
		}
	}
	if _, err := Import("id,sequence\n"+rows(50), "", Options{Bytes: 100}); pleat.CodeOf(err) != pleat.CodeTooLarge {
		t.Errorf("a file over the limit: %v", err)
	}
	if got, err := Import("id,sequence\n"+rows(2000), "", Options{Jobs: 2000}); err != nil || len(got.Jobs) != 2000 {
		t.Errorf("2000 rows: %d, %v", len(got.Jobs), err)
	}
}

// rows returns n rows of a table with id and sequence.
func rows(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "r%d,MKT\n", i)
	}
	return b.String()
}

// item is the library item of the alignments of tests.
const item = "01890a5d-ac96-774b-bcce-b302099a8057"

// aligned are the files of tests: every name but one stands for the file with its last part.
var aligned = Files{
	Alignment: func(name string) (pleat.FileRef, error) {
		if strings.Contains(name, "none") {
			return pleat.FileRef{}, pleat.Invalidf("files has none that stands for %q", name)
		}
		return pleat.FileRef{Item: item, Name: name[strings.LastIndex(name, "/")+1:]}, nil
	},
	Components: defined,
	Text:       samples,
}

// The alignments that files name become those of the proteins. Parts of them that a job cannot have are refused or
// noted.
func TestAlignments(t *testing.T) {
	af3 := func(chain string) string {
		return `{"name": "x", "modelSeeds": [1], "dialect": "alphafold3", "version": 2, "sequences": [` + chain + `]}`
	}
	protenix := func(chain string) string {
		return `[{"name": "x", "sequences": [` + chain + `], "covalent_bonds": []}]`
	}
	fold := func(chain string) string { return `{"queries": {"q": {"chains": [` + chain + `]}}}` }
	for _, c := range []struct {
		text  string
		want  string // the names of the alignments of the sequences, or what the error has
		notes string // what the only note has
	}{
		{text: ">A|protein|./msa/a.a3m\nMKT\n>B|protein\nMKTA\n", want: "a.a3m,"},
		{text: "sequences:\n- protein: {id: [A, B], sequence: MKT, msa: msa/a.A3M}\n", want: "a.A3M"},
		{
			text: "sequences:\n- protein: {id: A, sequence: MKT, msa: a.a3m}\n" +
				"- protein: {id: B, sequence: MK, msa: empty}\n",
			want:  "a.a3m,",
			notes: "sequences[1].protein.msa asks for no alignment of this protein",
		},
		{text: "sequences:\n- protein: {id: A, sequence: MKT, msa: a.csv}\n",
			want: `sequences[0].protein.msa names the file "a.csv"; an alignment must be A3M and its name end in .a3m`},
		{text: "sequences:\n- protein: {id: A, sequence: MKT, msa: none.a3m}\n",
			want: `sequences[0].protein.msa: files has none that stands for "none.a3m"`},
		{text: "sequences:\n- rna: {id: A, sequence: ACG, msa: a.a3m}\n", want: "a.a3m"},
		{text: protenix(`{"rnaSequence": {"sequence": "ACG", "count": 1, "unpairedMsaPath": "a.a3m"}}`), want: "a.a3m"},
		{text: "sequences:\n- dna: {id: A, sequence: ACG, msa: a.a3m}\n",
			want: `sequences[0].dna.msa names the file "a.a3m", an alignment of a dna`},
		{text: "sequences:\n- protein: {id: A, sequence: MKT, msa: a.a3m}\n- protein: {id: B, sequence: MKT, msa: b.a3m}\n",
			want: "has the same sequence and another alignment"},
		{text: af3(`{"protein": {"id": "A", "sequence": "MKT", "unpairedMsaPath": "a.a3m", "pairedMsaPath": "p.a3m"}}`),
			want: "a.a3m", notes: `pairedMsaPath "p.a3m" was dropped`},
		{text: af3(`{"protein": {"id": "A", "sequence": "MKT", "pairedMsaPath": "p.a3m"}}`),
			want: `pairedMsaPath names the file "p.a3m", an alignment with paired rows, and the chain has no other`},
		{text: af3(`{"protein": {"id": "A", "sequence": "MKT", "unpairedMsaPath": "a.a3m.gz"}}`), want: "a.a3m.gz"},
		{text: af3(`{"protein": {"id": "A", "sequence": "MKT", "unpairedMsa": "", "pairedMsaPath": "p.a3m"}}`),
			want: "and the chain has no other"},
		{text: protenix(`{"proteinChain": {"sequence": "MKT", "count": 2, "unpairedMsaPath": "/x/a.a3m"}}`), want: "a.a3m"},
		{text: protenix(`{"proteinChain": {"sequence": "MKT", "msa": {"precomputed_msa_dir": "msa/1/", "pairing_db": "u"}}}`),
			want: "non_pairing.a3m", notes: `the alignment is non_pairing.a3m of "msa/1/"; pairing.a3m is not used`},
		{text: protenix(`{"proteinChain": {"sequence": "MKT", "unpairedMsaPath": "a.a3m", "msa": {"precomputed_msa_dir": "m"}}}`),
			want: "has both unpairedMsaPath and msa.precomputed_msa_dir"},
		{text: fold(`{"molecule_type": "protein", "chain_ids": "A", "sequence": "MKT", "main_msa_file_paths": ["m/a.a3m"], ` +
			`"paired_msa_file_paths": "m/p.a3m"}`), want: "a.a3m", notes: "paired_msa_file_paths"},
		{text: fold(`{"molecule_type": "protein", "chain_ids": "A", "sequence": "MKT", "main_msa_file_paths": ["a.a3m", "b.a3m"]}`),
			want: "main_msa_file_paths names 2 files"},
		{text: fold(`{"molecule_type": "protein", "chain_ids": "A", "sequence": "MKT", "main_msa_file_paths": "msas"}`),
			want: `main_msa_file_paths names the file "msas"; an alignment must be A3M`},
		{text: "id,sequence,a3mpath\nx,MKT,m/a.a3m\n", want: "a.a3m"},
		{text: "id,sequence,a3mpath\nx,MKT:GGG,m/a.a3m\n", want: "a.a3m,a.a3m"}, // of the complex
	} {
		got, err := Import(c.text, "", Options{Files: aligned})
		if err != nil {
			if !strings.Contains(err.Error(), c.want) {
				t.Errorf("%q: %v; want %q", c.text, err, c.want)
			}
			continue
		}
		var names []string
		for _, q := range got.Jobs[0].Sequences {
			names = append(names, q.MSA.Name)
		}
		if s := strings.Join(names, ","); s != c.want {
			t.Errorf("%q: the alignments are %q; want %q", c.text, s, c.want)
		}
		if notes := strings.Join(got.Notes, "\n"); (c.notes == "") != (notes == "") || !strings.Contains(notes, c.notes) {
			t.Errorf("%q: the notes are %q; want %q", c.text, notes, c.notes)
		}
	}
}

// Detach names the structures inside an AlphaFold 3 file, and changes nothing else of what Import reads.
func TestDetach(t *testing.T) {
	files := Files{Structure: func(name string) (pleat.FileRef, error) {
		return pleat.FileRef{Item: item, Name: name}, nil
	}}
	large := "data_x # " + strings.Repeat("x", 2*MaxBytes)
	one := `{"mmcif": "` + large + `", "queryIndices": [0], "templateIndices": [0]}`
	af3 := strings.Replace(af3File, `{"mmcif": "data_x", "queryIndices": [0], "templateIndices": [0]}`, one+", "+one, 1)
	text, inside, err := Detach(af3, "")
	if err != nil || len(inside) != 1 {
		t.Fatalf("%d structures inside, %v; want the one that is there twice", len(inside), err)
	}
	got, err := Import(text, "", Options{Files: files})
	if err != nil {
		t.Fatal(err)
	}
	templates := got.Jobs[0].Constraints.Templates
	for name, held := range inside {
		if held != large || len(templates) != 4 || templates[0].File != name || templates[3].File != name {
			t.Errorf("%q is inside; the templates are %v", name, templates)
		}
	}
	plain, err := Import(af3File, "", Options{})
	if err != nil {
		t.Fatal(err)
	}
	got.Jobs[0].Constraints.Templates = nil
	if d := cmp.Diff(plain.Jobs, got.Jobs); d != "" {
		t.Error(d)
	}
	for _, same := range []string{boltzFile, `{"sequences": [{"mmcif": 1}], "params": {}}`, `["mmcif"]`, ` "mmcif"`} {
		if text, inside, err := Detach(same, ""); text != same || len(inside) > 0 || err != nil {
			t.Errorf("Detach(%q) = %q, %v, %v; want it as it is", same, text, inside, err)
		}
	}
	for _, bad := range []string{`{"dialect": "alphafold3", "mmcif"`, `{"dialect": "alphafold3", "mmcif": 1}`} {
		if _, _, err := Detach(bad, ""); err == nil {
			t.Errorf("Detach(%q) gave no error", bad)
		}
	}
}

// The structures that files of Boltz, AlphaFold 3 and OpenFold3 name become templates of chains.
func TestTemplates(t *testing.T) {
	files := Files{Structure: func(name string) (pleat.FileRef, error) {
		return pleat.FileRef{Item: item, Name: name}, nil
	}}
	boltz := "sequences:\n- protein: {id: [X, B], sequence: MKT}\n- protein: {id: C, sequence: MKTA}\n"
	af3 := `{"name": "x", "modelSeeds": [1], "dialect": "alphafold3", "version": 2, "sequences": [
		{"protein": {"id": ["A", "B"], "sequence": "MKT", "templates": [{"mmcifPath": "t.cif", "queryIndices": [0], "templateIndices": [4]}]}}]}`
	open3 := func(kind, fields string) string {
		return `{"queries": {"q": {"chains": [{"molecule_type": "` + kind + `", "chain_ids": ["A", "B"], "sequence": "ACG", ` +
			fields + `}]}}}`
	}
	of := func(file, chain, templateChain string) pleat.Template {
		return pleat.Template{Item: item, File: file, Chain: chain, TemplateChain: templateChain}
	}
	forced := of("a.cif", "C", "A1")
	forced.Force, forced.MaxDistance = true, 2.5
	for _, c := range []struct {
		text  string
		want  []pleat.Template
		fault string
		notes string
	}{
		{text: boltz + "templates:\n- cif: a.cif\n  chain_id: C\n", want: []pleat.Template{of("a.cif", "C", "")}},
		{
			text:  boltz + "templates:\n- pdb: a.pdb\n  chain_id: [X, C]\n  template_id: [H, L]\n",
			want:  []pleat.Template{of("a.pdb", "X", "H"), of("a.pdb", "C", "L")},
			notes: "is one template of 2 chains",
		},
		{
			text: boltz + "templates:\n- {cif: a.cif, chain_id: C, template_id: A1, force: true, threshold: 2.5}\n",
			want: []pleat.Template{forced},
		},
		{text: "sequences:\n- protein: {id: A, sequence: MKT}\ntemplates:\n- cif: a.cif\n",
			want: []pleat.Template{of("a.cif", "", "")}},
		{text: boltz + "templates:\n- cif: a.cif\n", fault: "constraints.templates[0].chain is required"},
		{text: boltz + "templates:\n- {cif: a.cif, chain_id: Q}\n",
			fault: `names the chain "Q", which the file does not have`},
		{text: boltz + "templates:\n- {cif: a.txt, chain_id: C}\n",
			fault: `templates[0].cif names the file "a.txt"; a template must be a structure`},
		{text: boltz + "templates:\n- {cif: a.cif, pdb: a.pdb, chain_id: C}\n", fault: "one of cif and pdb"},
		{text: boltz + "templates:\n- {cif: a.cif, chain_id: C, force: true}\n", fault: "threshold"},
		{text: boltz + "templates:\n- {cif: a.cif, chain_id: [X, C], template_id: [A, B, C]}\n", fault: "template_id"},
		{text: af3, want: []pleat.Template{of("t.cif", "A", ""), of("t.cif", "B", "")},
			notes: "queryIndices and templateIndices"},
		{
			text: open3("protein", `"template_cif_paths": "t.cif", "template_cif_chain_ids": "H"`),
			want: []pleat.Template{of("t.cif", "A", "H"), of("t.cif", "B", "H")},
		},
		{
			text: open3("protein", `"template_cif_paths": ["t.cif", "u.cif"], "template_cif_chain_ids": [null, "L"]`),
			want: []pleat.Template{of("t.cif", "A", ""), of("t.cif", "B", ""), of("u.cif", "A", "L"), of("u.cif", "B", "L")},
		},
		{text: open3("rna", `"template_cif_paths": "t.cif", "template_cif_chain_ids": "H"`),
			fault: "template_cif_paths is on an RNA; jobs have templates of proteins alone"},
	} {
		got, err := Import(c.text, "", Options{Files: files})
		if c.fault != "" {
			if err == nil || !strings.Contains(err.Error(), c.fault) || pleat.CodeOf(err) != pleat.CodeInvalid {
				t.Errorf("%q: got %v; want %q", c.text, err, c.fault)
			}
			continue
		}
		if err != nil {
			t.Errorf("%q: %v", c.text, err)
			continue
		}
		if d := cmp.Diff(c.want, got.Jobs[0].Constraints.Templates); d != "" {
			t.Errorf("%q: %s", c.text, d)
		}
		if notes := strings.Join(got.Notes, "\n"); c.notes != "" && !strings.Contains(notes, c.notes) {
			t.Errorf("%q: the notes are %q; want %q", c.text, notes, c.notes)
		}
	}
	_, err := Import(af3, "", Options{})
	if err == nil || !strings.Contains(err.Error(), `mmcifPath names the file "t.cif"`) {
		t.Errorf("without files: %v", err)
	}
}
