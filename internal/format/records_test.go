package format

import (
	"slices"
	"strings"
	"testing"

	"pleat"
)

// TestNameOf checks the names of records with headers as programs write them.
func TestNameOf(t *testing.T) {
	for label, want := range map[string]string{
		// ProteinMPNN: the sequence of the input, and the designs.
		"3HTN, score=1.1705, global_score=1.2045, fixed_chains=['B'], designed_chains=['A', 'C'], " +
			"model_name=v_48_020, git_hash=015ff820b9b5741ead6ba6795258f35a9c15e94b, seed=37": "3HTN",
		"T=0.1, sample=1, score=0.7291, global_score=0.9330, seq_recovery=0.5736": "sample=1",
		// LigandMPNN.
		"1BC8, T=0.1, seed=111, num_res=93, num_ligand_res=93, use_ligand_context=True, ligand_cutoff_distance=8.0, " +
			"batch_size=1, number_of_batches=1": "1BC8",
		"1BC8, id=1, T=0.1, seed=111, overall_confidence=0.4, ligand_confidence=0.4, seq_rec=0.5": "1BC8 id=1",
		"design:0 n:1|mpnn:1.031|plddt:0.82|ptm:0.7":                                              "design:0 n:1",

		"1ABC_1|Chains A, B[auth H]|HEMOGLOBIN|Homo sapiens (9606)": "1ABC_1",
		"sp|P01308|INS_HUMAN Insulin OS=Homo sapiens":               "sp|P01308|INS_HUMAN",
		"UniRef90_P01308 Cluster: Insulin n=1":                      "UniRef90_P01308",
		"lcl|mine;":                                                 "lcl|mine",
		"id=5":                                                      "id=5",
		"a, b":                                                      "a",
		"":                                                          "",
	} {
		if got := nameOf(label); got != want {
			t.Errorf("%q: %q; want %q", label, got, want)
		}
	}
}

// TestRecords checks what records become: what they are called, and what belongs to a sequence.
func TestRecords(t *testing.T) {
	check(t, []read{
		{
			name: "designs",
			text: ">native, score=1.1, global_score=1.2, designed_chains=['A', 'B'], seed=37\nMKT/GGE\n" +
				">T=0.1, sample=1, score=0.8, seq_recovery=0.5\nMKV/GGE\n>T=0.2, sample=1, score=0.9, seq_recovery=0.4\nMRT/GGE\n",
			want: FASTA,
			jobs: [][]string{
				{"native", "protein A MKT (native, score=1.1, global_score=1.2, designed_chains=['A', 'B'], seed=37)",
					"protein B GGE (native, score=1.1, global_score=1.2, designed_chains=['A', 'B'], seed=37)"},
				{"sample=1", "protein A MKV (T=0.1, sample=1, score=0.8, seq_recovery=0.5)",
					"protein B GGE (T=0.1, sample=1, score=0.8, seq_recovery=0.5)"},
				{"sample=1-2", "protein A MRT (T=0.2, sample=1, score=0.9, seq_recovery=0.4)",
					"protein B GGE (T=0.2, sample=1, score=0.9, seq_recovery=0.4)"},
			},
			notes: []string{
				"The headers are those of ProteinMPNN, so each of the 3 records became a job of its own",
				`Another job of the file is named "sample=1", so this one was named "sample=1-2"`,
			},
		},
		{
			name: "modified residues",
			text: ">protein|name=a\nRKDES(MSE)EES(SEP)GG\n>rna|name=r\nGG(PSU)CU\n>dna|name=d\n(DG)AT(5CM)T\n" +
				">protein|name=p\nA(0AF)(ALA)G(CRO)\n",
			want: FASTA,
			jobs: [][]string{{"given", "protein A RKDESMEESSGG MSE@6 SEP@10 (a)", "rna B GGUCU PSU@3 (r)", "dna C GATCT 5CM@4 (d)",
				"protein D AWAGX 0AF@2 CRO@5 (p)"}},
			notes: []string{
				`record "a": codes in parentheses became modified residues: 6 MSE (M) and 10 SEP (S)`,
				`record "r": codes in parentheses became modified residues: 3 PSU (U)`,
				`record "d": codes in parentheses became modified residues: 4 5CM (C)`,
				`record "p": codes in parentheses became modified residues: 2 0AF (W) and 5 CRO (X)`,
			},
		},
		{
			name: "copies",
			text: ">1ABC_1|Chains A, B|X|Y\n(MSE)KTAYIAK\n",
			want: FASTA,
			jobs: [][]string{{"1ABC_1", "protein A MKTAYIAK MSE@1 (1ABC_1|Chains A, B|X|Y)"}},
			notes: []string{
				"the record at line 1: the header names the chains A, B, and the job has one of them; count makes copies",
				`record "1ABC_1|Chains A, B|X|Y": codes in parentheses became modified residues: 1 MSE (M)`,
			},
		},
		{
			name: "ligands",
			text: ">A|protein\nMKT\n>B|smiles\nCC(=O)O acetic acid\n>C|smiles x\nCCO\tethanol\n" +
				">D|ccd\natp the cofactor\n>E|smiles\nCC(\n=O)O\n",
			want: FASTA,
			jobs: [][]string{{"given", "protein A MKT", "ligand B CC(=O)O (acetic acid)", "ligand C CCO (x)",
				"ligand D ATP ccd (the cofactor)", "ligand E CC(=O)O"}},
			notes: []string{
				`the record at line 5: the name "ethanol" after the ligand is not used, since the header has one`,
			},
		},
		{ // GenBank, EMBL and UniProt number residues
			name: "numbered",
			text: ">g\n        1 mkvlaaglla llaqvssgah\n       21 ggg\n" +
				">u\n        10         20\nMKVLAAGLLA LLAQVSSGAH\n\n>e\n     MKVLAAGLLA LLAQVSSGAH        20\n     GGG        23\n",
			want: FASTA,
			jobs: [][]string{{"g + 2 more", "protein A MKVLAAGLLALLAQVSSGAHGGG (g)",
				"protein B MKVLAAGLLALLAQVSSGAH (u)", "protein C MKVLAAGLLALLAQVSSGAHGGG (e)"}},
			notes: []string{
				"the record at line 1: numbers of residues were dropped",
				"the record at line 1: the spaces between blocks of letters were dropped",
				"the record at line 4: numbers of residues were dropped",
				"the record at line 4: the spaces between blocks of letters were dropped",
				"the record at line 8: numbers of residues were dropped",
				"the record at line 8: the spaces between blocks of letters were dropped",
			},
		},
		{ // ends of lines of old Macs, and a byte order mark inside of joined files
			name: "line ends",
			text: "\ufeff>a\rMKT\r\ufeff>b\rGGE\r",
			want: FASTA,
			jobs: [][]string{{"a + 1 more", "protein A MKT (a)", "protein B GGE (b)"}},
		},
	})
}

// TestSeparators checks tables as spreadsheets of different countries write them.
func TestSeparators(t *testing.T) {
	for name, text := range map[string]string{
		"semicolons":    "\ufeffid;sequence\r\nchig;GYDPETGTWG\r\n",
		"tabs":          "sequence\tid\nGYDPETGTWG\tchig\n",
		"quotation":     "\"id\";\"sequence\"\n\"chig\";\"GYDPE\nTGTWG\"\n",
		"named":         "sep=;\nid;sequence\nchig;GYDPETGTWG\n",
		"old Mac":       "id,sequence\rchig,GYDPETGTWG\r",
		"empty column":  "id;;sequence\nchig;;GYDPETGTWG\n",
		"spaces around": " id , sequence \n chig , GYDPE TGTWG \n",
	} {
		got, err := Import(text, "", Options{})
		if err != nil || got.Format != ColabFold || len(got.Jobs) != 1 || got.IDs[0] != "chig" ||
			got.Jobs[0].Sequences[0].Text != "GYDPETGTWG" {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	const bad = "\nsep=;\nid;sequence\n\nchig;GYDPETG1WG\n"
	if _, err := Import(bad, "", Options{}); err == nil || !strings.HasPrefix(err.Error(), "line 5, column sequence") {
		t.Error(err)
	}
}

// TestRecordFaults checks that what may be a name or another molecule is never taken for a part of the sequence.
func TestRecordFaults(t *testing.T) {
	for text, want := range map[string]string{
		">B|smiles\nCCO\nCCN\n":                       "line 3: a second line follows the ligand of the record at line 1",
		">B|smiles\nCCO |$C1;C2;O1$|\n":               `the extension "|$C1;C2;O1$|" after its SMILES`,
		">B|smiles\nCC\u2013O\n":                      "has '–' (U+2013, a dash that looks like -) at position 3",
		">B|smiles\n" + strings.Repeat("C(\n", 1_001): "line 1002: the SMILES of the record at line 1 has more than 2000",
		// Wrapped after each letter: the time must not grow with the square of the lines.
		strings.Repeat(">B|smiles\nC1"+strings.Repeat("C\n", 1_900)+"C1\n", 50): `has the id "B"`,
		">B|ccd\nSO4\nATP\n":                           "line 3: a second line follows the ligand",
		">a\nMKTAYIAKQR villin\n":                      `line 2, column 12: "villin" after a space is not a block`,
		">a\nNLYIQWLKDGGPSSGRPPPS TRPCAGE\n":           `line 2, column 22: "TRPCAGE" after a space is not a block`,
		"CCN amine\nCCC\n":                             `line 1, column 5: "amine" after a space is not a block`,
		"id,sequence\nx,MKTAYIAKQR villin\n":           `line 2, column sequence: "villin" after a space is not a block`,
		"id;sequence\nx;MKT\ny;MKT,\n":                 "line 3, column sequence, residue 4: ',' is not an amino acid",
		">a\nD\u0410YAQ\n":                             "residue 2: 'А' (U+0410, a Cyrillic letter that looks like A) is not an amino",
		">a\nDA\u200bYAQ\n":                            "residue 3: U+200B (a zero-width space) is not an amino acid (line 2, column 3)",
		">a\nMKT\u0131\n":                              "residue 4: 'ı' is not an amino acid",
		">a\nS[SEP]G\n":                                "line 2, column 2: '[' cannot stand here; a modified residue is written as",
		">a\nS(ph)G\n":                                 "line 2, column 2: after '(' must stand the code of a modified residue",
		">a\nS(SEP\n":                                  "after '(' must stand the code",
		">a\nCC(C)C\n":                                 "residue 3: the letter of which (C) is a modification is not known",
		">a\nCC(CRO)C\n":                               "residue 3: the letter of which (CRO) is a modification is not known",
		"PK\x03\x04\x14":                               "the file is a ZIP archive, such as an .xlsx workbook",
		"\ufffd\ufffdi\x00d\x00":                       "the file is UTF-16 text",
		"i\x00d\x00":                                   "the file is UTF-16 text without a byte order mark",
		"<!DOCTYPE html><html>":                        "the file is a page in HTML",
		">x\n" + strings.Repeat("(MSE)", 30_000) + "G": "has more than 20000 residues",
	} {
		if _, err := Import(text, "", Options{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: %v; want %s", text, err, want)
		}
	}
}

// TestDecode checks the encodings of text files.
func TestDecode(t *testing.T) {
	for data, want := range map[string]string{
		"\xff\xfei\x00d\x00\n\x00": "id\n",
		"\xfe\xff\x00i\x00d":       "id",
		"\ufeffid":                 "\ufeffid",
		"\xff\xfei":                "! is UTF-16 text that ends in half a character; save it as UTF-8",
		"a\nbc\xe9d":               "! is not text in UTF-8 (line 2, column 3); save it as UTF-8",
		"PK\x03\x04":               "! is a ZIP archive",
		"\x1f\x8b\x08":             "! is compressed with gzip; unpack it",
	} {
		got, err := Decode([]byte(data))
		if err != nil {
			got = "! " + err.Error()
		}
		if got != want && (err == nil || !strings.HasPrefix(got, want)) {
			t.Errorf("%q: %q; want %q", data, got, want)
		}
	}
}

// A modified residue is written as it is read, if its letter can be told from its code.
func TestFASTAOfModifiedResidues(t *testing.T) {
	j := pleat.Job{Name: "x", Sequences: []pleat.Sequence{{
		Kind:  pleat.Protein,
		Text:  strings.Repeat("A", 78) + "MSK",
		Count: 2,
		Modifications: []pleat.Modification{
			{Residue: 79, CCD: "MSE"}, {Residue: 80, CCD: "SEP"}, {Residue: 81, CCD: "XYZ"},
		},
	}}}
	if err := j.Validate(everything); err != nil {
		t.Fatal(err)
	}
	f, err := Export(&j, FASTA)
	const chain = "\n(MSE)(SEP)K\n"
	if err != nil || strings.Count(string(f.Text), strings.Repeat("A", 78)+chain) != 2 {
		t.Errorf("%v\n%s", err, f.Text)
	}
	const lost = "sequences[0].proteinChain.modifications[2] is not in the file: its code XYZ would be read there at " +
		"the letter X, not K"
	if !slices.Contains(f.Notes, lost) {
		t.Errorf("notes %q", f.Notes)
	}
}
