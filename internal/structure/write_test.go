package structure

import (
	"bytes"
	"errors"
	"io"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func write(tb testing.TB, f func(io.Writer, *Structure, Meta) error, s *Structure, m Meta) []byte {
	tb.Helper()
	var b bytes.Buffer
	if err := f(&b, s, m); err != nil {
		tb.Fatal(err)
	}
	return b.Bytes()
}

func TestRoundTrip(t *testing.T) {
	s, err := ReadCIF(strings.NewReader(odd), Limits{})
	if err != nil {
		t.Fatal(err)
	}
	for name, s := range map[string]*Structure{
		"1ubi": load(t, "1ubi"), "1crn": load(t, "1crn"), "2jof": load(t, "2jof"), "odd": s,
	} {
		s.Origin, s.Method = Prediction, "" // what is written without Meta.Experimental
		first := write(t, WriteCIF, s, Meta{})
		got, err := ReadCIF(bytes.NewReader(first), Limits{})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if diff := cmp.Diff(s, got); diff != "" {
			t.Errorf("%s as mmCIF: %s", name, diff)
		}
		if again := write(t, WriteCIF, got, Meta{}); !bytes.Equal(first, again) {
			t.Errorf("%s: the same structure gives other bytes", name)
		}
		first = write(t, WritePDB, s, Meta{})
		for _, line := range strings.Split(strings.TrimSuffix(string(first), "\n"), "\n") {
			if len(line) != 80 {
				t.Errorf("%s: a line of %d columns: %s", name, len(line), line)
			}
		}
		got, err = ReadPDB(bytes.NewReader(first), Limits{})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if name == "odd" { // PDB has no names of molecules, nor places in a sequence
			for i := range s.Chains {
				s.Chains[i].Name = ""
				for j := range s.Chains[i].Residues {
					if s.Chains[i].Kind.Polymer() {
						s.Chains[i].Residues[j].Seq = j + 1
					}
				}
			}
			s.Chains[0].Label, s.Chains[1].Label, s.Chains[2].Label = "", "A", "B"
		}
		if diff := cmp.Diff(s, got); diff != "" {
			t.Errorf("%s as PDB: %s", name, diff)
		}
	}
}

// predicted returns a protein, a nucleotide and a ligand in the form that an engine returns.
func predicted() (*Structure, Meta) {
	s := &Structure{Chains: []Chain{
		{ID: "A", Kind: Protein, Name: "it's a toxin", Residues: []Residue{
			{Comp: "ALA", Seq: 1, Atoms: []Atom{{Name: "CA", Pos: Vec{-0.0001, 1, 2}, Occupancy: 1}}},
			{Comp: "SEP", Seq: 2, Atoms: []Atom{{Name: "CA", Pos: Vec{3.8, 1, 2}, Occupancy: 1}}},
		}},
		{ID: "B", Kind: Protein, Residues: []Residue{
			{Comp: "ALA", Seq: 1, Atoms: []Atom{{Name: "CA", Pos: Vec{0, 5, 2}, Occupancy: 1}}},
			{Comp: "SEP", Seq: 2, Atoms: []Atom{{Name: "CA", Pos: Vec{3.8, 5, 2}, Occupancy: 1}}},
		}},
		{ID: "C", Kind: RNA, Residues: []Residue{
			{Comp: "U", Seq: 1, Atoms: []Atom{{Name: "O5'", Pos: Vec{9, 9, 9}, Occupancy: 1}}},
		}},
		{ID: "L", Kind: Ligand, Residues: []Residue{{Comp: "LIG", Atoms: []Atom{{
			Name:      "CL1",
			Element:   "CL",
			Pos:       Vec{1, 1, 1},
			B:         33,
			Occupancy: 1,
			Charge:    -1,
		}}}}},
	}}
	ptm := 0.5
	return s, Meta{
		PTM:      &ptm,
		PairIPTM: []PairIPTM{{A: 0, B: 1, IPTM: 0.8123}, {A: 1, B: 3, IPTM: 0.4}},
		PAEFile:  "pae.json",
		Citations: []Citation{{
			Title:   "A paper",
			Journal: "Nature",
			Year:    "2021",
			DOI:     "10.1/x",
			Authors: []string{"Jumper, John", "Evans, R."},
		}},
		ID:         "job 1",
		Title:      "Toxin",
		Software:   "pleat",
		Version:    "0.1",
		Model:      "mini",
		Disclaimer: "Computed; not an experiment.",
		Date:       time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC),
		PLDDT:      [][]float64{{91.25, 50}, {90, 40}, {30}, nil},
	}
}

func TestWriteCIF(t *testing.T) {
	s, m := predicted()
	text := string(write(t, WriteCIF, s, m))
	for _, want := range []string{
		"data_job1\n",
		"_audit_conform.dict_name mmcif_ma.dic\n",
		"_struct.pdbx_structure_determination_methodology computational\n",
		"\n1 polymer man \"it's a toxin\" 2 ?\n",
		"\n1 polypeptide(L) no yes A(SEP) AS A,B\n",
		"\n1 2 SEP n\n",
		"\nB 1 ?\n",
		"_ma_qa_metric.type\n",
		"\n2 global pTM 1 pTM ",
		"\n3 local pLDDT 1 pLDDT ",
		"_ma_qa_metric_global.metric_value\n1 1 1 60.25\n2 1 2 0.5000\n",
		"_ma_qa_metric_local.metric_value\n1 1 A 1 ALA 3 91.25\n2 1 A 2 SEP 3 50.00\n3 1 B 1 ALA 3 90.00\n4 1 B 2 " +
			"SEP 3 40.00\n5 1 C 1 U 3 30.00\n#\n",
		"\n4 per-feature-pair ipTM 1 ipTM ",
		"_ma_feature_list.entity_type\n1 'entity instance' polymer\n2 'entity instance' polymer\n" +
			"3 'entity instance' non-polymer\n#\n",
		"_ma_entity_instance_feature.label_asym_id\n1 1 A\n2 2 B\n3 3 L\n#\n",
		"_ma_qa_metric_feature_pairwise.metric_value\n1 1 1 2 4 0.8123\n2 1 2 3 4 0.4000\n#\n",
		"_ma_entry_associated_files.entry_id job1\n",
		"_ma_entry_associated_files.file_url pae.json\n",
		"_citation.pdbx_database_id_DOI\n1 'A paper' Nature ? ? ? 2021 10.1/x\n",
		"_citation_author.ordinal\n1 'Jumper, John' 1\n1 'Evans, R.' 2\n",
		"_pdbx_nonpoly_scheme.pdb_ins_code\nL 3 LIG 1 0 0 LIG LIG L .\n",
		"\nATOM 1 C CA . ALA A 1 1 ? 0.000 1.000 2.000 1.00 91.25 ? 1 ALA A CA 1\n",
		"\nATOM 5 O \"O5'\" . U C 2 1 ? 9.000 9.000 9.000 1.00 30.00 ? 1 U C \"O5'\" 1\n",
		"\nHETATM 6 CL CL1 . LIG L 3 . ? 1.000 1.000 1.000 1.00 33.00 -1 0 LIG L CL1 1\n",
		"\n1 pleat 0.1 program other 'Structure prediction' 2026-03-01 1\n",
		"_pdbx_data_usage.details 'Computed; not an experiment.'\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("lacks %q", want)
		}
	}
	m.PredictedRMSD = [][]float64{{0.25, 1.5}, {0.5, 2}, {1}, nil}
	text = string(write(t, WriteCIF, s, m))
	for _, want := range []string{
		"\n2 global 'predicted RMSD' 1 distance 'Predicted RMSD in Angstrom, lower is better, mean over polymer " +
			"residues'\n",
		"\n5 local 'predicted RMSD' 1 distance 'Predicted RMSD in Angstrom, lower is better, per residue'\n",
		"\n6 per-feature-pair ipTM", "\n1 1 1 60.25\n2 1 2 1.05\n", "\n6 1 A 1 ALA 5 0.25\n7 1 A 2 SEP 5 1.50\n",
		"1.00 91.25 ? 1 ALA", // pLDDT stays in the B-factors
	} {
		if !strings.Contains(text, want) {
			t.Errorf("with both measures: lacks %q", want)
		}
	}
	m.Experimental, m.PLDDT, m.PredictedRMSD = true, nil, nil
	text = string(write(t, WriteCIF, s, m))
	if strings.Contains(text, "_ma_") || !strings.Contains(text, "methodology experimental") {
		t.Error("an experimental structure is described as a model")
	}
}

func TestWriteRefuses(t *testing.T) {
	for _, test := range []struct {
		name   string
		change func(*Structure, *Meta)
		want   string
	}{
		{"chains", func(_ *Structure, m *Meta) {
			m.PLDDT = m.PLDDT[:1]
		}, "write structure: pLDDT for 1 chains, want 4"},
		{"residues", func(_ *Structure, m *Meta) {
			m.PLDDT[1] = nil
		}, "write structure: pLDDT for 0 residues of chain B, want 2"},
		{"range", func(_ *Structure, m *Meta) {
			m.PLDDT[1][1] = 100.5
		}, "write structure: pLDDT of residue 2 of chain B is 100.5, want 0 to 100"},
		{"a predicted RMSD too high for a PDB file",
			func(_ *Structure, m *Meta) { m.PredictedRMSD = [][]float64{{1, 1000}, {1, 1}, {1}, nil} },
			"write structure: predicted RMSD of residue 2 of chain A is 1000, want 0 to 999"},
		{"fractions", func(_ *Structure, m *Meta) { m.PLDDT = [][]float64{{0.9, 0.8}, {0.7, 1}, {0.5}, nil} },
			"write structure: pLDDT is nowhere above 1; it looks like fractions, want 0 to 100"},
		{"coordinate", func(s *Structure, _ *Meta) { s.Chains[0].Residues[1].Atoms[0].Pos[1] = math.NaN() },
			"write structure: atom CA of residue 2 of chain A has the value NaN, want numbers between −1,000,000 and " +
				"1,000,000"},
		{"order", func(s *Structure, _ *Meta) { s.Chains[0].Residues[1].Seq = 1 },
			"write structure: residue 2 of chain A has position 1 in the sequence, want more than 1"},
		{"name", func(s *Structure, _ *Meta) { s.Chains[0].Residues[1].Atoms[0].Name = "C A" },
			`write structure: atom 1 of residue 2 of chain A is named "C A", want printable ASCII without spaces`},
		{"component", func(s *Structure, _ *Meta) { s.Chains[0].Residues[1].Comp = "" },
			`write structure: residue 2 of chain A has the component "" and insertion code "", want printable ASCII without spaces`},
		{"chain", func(s *Structure, _ *Meta) {
			s.Chains[0].ID = ""
		}, `write structure: chain 1 has the id "", want printable ASCII without spaces`},
		{"nothing", func(s *Structure, m *Meta) {
			*s, m.PLDDT = Structure{}, nil
		}, "write structure: there are no atoms"},
	} {
		for _, f := range []func(io.Writer, *Structure, Meta) error{WriteCIF, WritePDB} {
			s, m := predicted()
			test.change(s, &m)
			var b bytes.Buffer
			if err := f(&b, s, m); err == nil || err.Error() != test.want || b.Len() > 0 {
				t.Errorf("%s:\n got %v\nwant %s", test.name, err, test.want)
			}
		}
	}
}

func TestWritePDB(t *testing.T) {
	s, m := predicted()
	m.Title = "A title that is longer than the seventy columns that the format gives to one line of it: ünïcode, 3 Å"
	got := strings.Split(string(write(t, WritePDB, s, m)), "\n")
	for i := range got {
		got[i] = strings.TrimRight(got[i], " ")
	}
	want := []string{
		"HEADER                                            01-MAR-26",
		"TITLE     A title that is longer than the seventy columns that the format gives",
		"TITLE    2 to one line of it: ?n?code, 3 A",
		"EXPDTA    THEORETICAL MODEL",
		"REMARK 999 Computed with pleat 0.1",
		"REMARK 999 Model: mini",
		"REMARK 999 The B-factor column holds pLDDT, 0 to 100.",
		"REMARK 999 Computed; not an experiment.",
		"SEQRES   1 A    2  ALA SEP",
		"SEQRES   1 B    2  ALA SEP",
		"SEQRES   1 C    1    U",
		"ATOM      1  CA  ALA A   1       0.000   1.000   2.000  1.00 91.25           C",
		"ATOM      2  CA  SEP A   2       3.800   1.000   2.000  1.00 50.00           C",
		"TER       3      SEP A   2",
		"ATOM      4  CA  ALA B   1       0.000   5.000   2.000  1.00 90.00           C",
		"ATOM      5  CA  SEP B   2       3.800   5.000   2.000  1.00 40.00           C",
		"TER       6      SEP B   2",
		"ATOM      7  O5'   U C   1       9.000   9.000   9.000  1.00 30.00           O",
		"TER       8        U C   1",
		"HETATM    9 CL1  LIG L   0       1.000   1.000   1.000  1.00 33.00          CL1-",
		"END", "",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestWritePDBLimits(t *testing.T) {
	for _, test := range []struct {
		name   string
		change func(*Structure)
		want   string
	}{
		{"chain id", func(s *Structure) { s.Chains[0].ID = "AA" }, `chain "AA" has an id of more than one character`},
		{"component", func(s *Structure) {
			s.Chains[3].Residues[0].Comp = "A1ABC"
		}, "component A1ABC of chain L has a code of more than three characters"},
		{"atom name", func(s *Structure) {
			s.Chains[3].Residues[0].Atoms[0].Name = "CL100"
		}, "atom CL100 of residue 0 of chain L has a name of more than four characters"},
		{"number", func(s *Structure) {
			s.Chains[0].Residues[1].Auth = 10000
		}, "chain A has a residue numbered 10000, outside −999 to 9999"},
		{"coordinate", func(s *Structure) { s.Chains[0].Residues[0].Atoms[0].Pos[2] = -1000 },
			"atom CA of residue 0 of chain A has the z coordinate -1000.000, outside −999.999 to 9999.999"},
		{"occupancy", func(s *Structure) { s.Chains[0].Residues[0].Atoms[0].Occupancy = 1000 },
			"atom CA of residue 0 of chain A has the occupancy 1000.00, outside −99.99 to 999.99"},
		{"charge", func(s *Structure) { s.Chains[0].Residues[0].Atoms[0].Charge = 10 },
			"atom CA of residue 0 of chain A has the charge 10, outside −9 to 9"},
		{"atoms", func(s *Structure) {
			r := &s.Chains[0].Residues[0]
			for len(r.Atoms) < 100_000 {
				r.Atoms = append(r.Atoms, r.Atoms[0])
			}
		}, "it has more than 99,999 atoms and chain ends"},
	} {
		s, _ := predicted()
		s.Chains[0].Residues[0].Auth, s.Chains[0].Residues[1].Auth = 0, 5
		test.change(s)
		var b bytes.Buffer
		err := WritePDB(&b, s, Meta{})
		var limit *PDBLimitError
		if !errors.As(err, &limit) || limit.Reason != test.want || b.Len() > 0 {
			t.Errorf("%s:\n got %v\nwant %s", test.name, err, test.want)
		}
		if err := WriteCIF(io.Discard, s, Meta{}); err != nil {
			t.Errorf("%s does not go into mmCIF: %v", test.name, err)
		}
	}
}

func TestCIFQuote(t *testing.T) {
	type token struct {
		kind cifKind
		text string
		null bool
	}
	for _, text := range []string{"a", "", ".", "?", "a b", "it's", `say "x"`, `it's a "x" y' "z" `, "_a", "#a", "$a",
		"'", `"`, ";a", "[a]", "data_x",
		"LOOP_", "save_", "stop_", "global_", "a#b", "line\nline", "line\n;line", "é", "loop_1", "a' b\" c"} {
		scan := &cifScanner{in: newLines("mmCIF", strings.NewReader(cifLine(text)+"\nend"), Limits{}.defaults())}
		kind, value, err := scan.next()
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		want := token{kind: cifValue, text: text}
		switch text {
		case "":
			want = token{kind: cifValue, text: "?", null: true}
		case "line\n;line":
			want.text = "line\n ;line" // a text cannot hold this; a space is added
		}
		if got := (token{kind, string(value), scan.null}); got != want {
			t.Errorf("%q is read back as %+v, want %+v", text, got, want)
		}
	}
}

// cifLine is a value as it stands in a row.
func cifLine(text string) string {
	if q := cifQuote(text); q[0] != ';' {
		return q
	}
	return "\n" + cifQuote(text)
}

func BenchmarkWriteCIF(b *testing.B) {
	s := load(b, "1ubi")
	b.ReportAllocs()
	for b.Loop() {
		if err := WriteCIF(io.Discard, s, Meta{PLDDT: s.byResidue(meanB)}); err != nil {
			b.Fatal(err)
		}
	}
}

func TestRetitle(t *testing.T) {
	for _, name := range []string{"1ubi", "2jof"} {
		s := load(t, name)
		meta := func(title string) Meta {
			return Meta{ID: title, Title: title, Software: "mini", Disclaimer: "Not for use"}
		}
		for _, c := range []struct {
			name  string
			write func(io.Writer, *Structure, Meta) error
			again func(io.Writer, io.Reader, Meta) error
		}{{"mmCIF", WriteCIF, RetitleCIF}, {"PDB", WritePDB, RetitlePDB}} {
			for _, was := range []string{"x", `it's a "b" c' d`, strings.Repeat("long ", 40), ""} {
				for _, is := range []string{"second", `his 'n "hers" too`, strings.Repeat("title ", 30)} {
					var got bytes.Buffer
					if err := c.again(&got, bytes.NewReader(write(t, c.write, s, meta(was))), meta(is)); err != nil {
						t.Fatal(err)
					}
					if d := cmp.Diff(string(write(t, c.write, s, meta(is))), got.String()); d != "" {
						t.Errorf("%s as %s, from %q to %q: %s", name, c.name, was, is, d)
					}
				}
			}
		}
	}
	for _, text := range []string{"", "data_7", "loop_\n", "data_x\n" + strings.Repeat("_a.b c\n", 20_000)} {
		var got bytes.Buffer
		if err := RetitleCIF(&got, strings.NewReader(text), Meta{}); !errors.Is(err, ErrNotWritten) || got.Len() > 0 {
			t.Errorf("%.20q: %v, and %d bytes were written", text, err, got.Len())
		}
	}
}
