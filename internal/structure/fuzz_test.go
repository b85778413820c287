package structure

import (
	"bytes"
	"errors"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var fuzzLimits = Limits{Bytes: 1 << 20, Line: 1 << 14, Atoms: 5000, Residues: 2000, Chains: 300}

// roundTrip holds what is written once to be read back identically, and written
// again to the same bytes.
func roundTrip(t *testing.T, s *Structure, write func(io.Writer, *Structure, Meta) error,
	read func(io.Reader, Limits) (*Structure, error)) {
	var first, again bytes.Buffer
	err := write(&first, s, Meta{})
	var limit *PDBLimitError
	if errors.As(err, &limit) {
		return
	}
	if err != nil {
		t.Fatalf("what was read cannot be written: %v", err)
	}
	one, err := read(bytes.NewReader(first.Bytes()), Limits{})
	if err != nil {
		t.Fatalf("what was written cannot be read: %v\n%s", err, first.Bytes())
	}
	if one.Atoms() != s.Atoms() {
		t.Fatalf("%d atoms become %d\n%s", s.Atoms(), one.Atoms(), first.Bytes())
	}
	first.Reset()
	if err := write(&first, one, Meta{}); err != nil {
		t.Fatal(err)
	}
	two, err := read(bytes.NewReader(first.Bytes()), Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(one, two); diff != "" {
		t.Fatalf("%s\n%s", diff, first.Bytes())
	}
	if err := write(&again, two, Meta{}); err != nil || !bytes.Equal(first.Bytes(), again.Bytes()) {
		t.Fatalf("written again, the bytes differ (%v)", err)
	}
}

func FuzzReadCIF(f *testing.F) {
	f.Add([]byte(odd))
	f.Add([]byte(site + "CA ALA A 1 0 0 0\nCA GLY A 2 1 1 1\nZN ZN B . 2 2 2\n"))
	f.Add([]byte("data_x\n_struct.title\n;a\nb\n;\n_a.b 'c d' # e\n"))
	f.Add([]byte(modelled("loop_\n_ma_qa_metric.id\n_ma_qa_metric.mode\n_ma_qa_metric.type\n" +
		"1 local 'pLDDT in [0,1]'\nloop_\n_ma_qa_metric_local.label_asym_id\n_ma_qa_metric_local.label_seq_id\n_ma_qa_metric_local.metric_id\n" +
		"_ma_qa_metric_local.metric_value\nA 1 1 0.5\nA 2 1 0.25\n")))
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := ReadCIF(bytes.NewReader(b), fuzzLimits)
		if err != nil {
			checkError(t, err)
			return
		}
		if _, err := s.SecondaryStructure(t.Context()); err != nil {
			t.Fatal(err)
		}
		roundTrip(t, s, WriteCIF, ReadCIF)
	})
}

func FuzzReadPDB(f *testing.F) {
	b, err := os.ReadFile("testdata/2jof.pdb")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b[:81*40])
	f.Add([]byte("TITLE     X\nATOM      1  CA AALA A  -1A      1.000   2.000   3.000  0.30 10.00           " +
		"C1+\nTER\nHETATM    2 ZN    ZN A   2       1.000   2.000   3.000\n"))
	f.Add([]byte(strings.ReplaceAll(peptide, "\n", "\r")))
	f.Add([]byte(strings.ReplaceAll(peptide, "ATOM  00000 ", "ATOM  100000 ")))
	f.Add([]byte(record(" CA  LYSAB   1", 0) + record(" OH2 TIP3W   1", 9) + "TER\n" + record(" CA  GLYAB   1", 0) +
		"END\n" +
		record(" CA  LYSAB   1", 0) + record(" HA  LYSAB   1", 1)))
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := ReadPDB(bytes.NewReader(b), fuzzLimits)
		if err != nil {
			checkError(t, err)
			return
		}
		if _, err := s.SecondaryStructure(t.Context()); err != nil {
			t.Fatal(err)
		}
		roundTrip(t, s, WritePDB, ReadPDB)
		roundTrip(t, s, WriteCIF, ReadCIF)
	})
}

func FuzzFASTA(f *testing.F) {
	f.Add([]byte(">a b\nMKV\nLL*\n>c\nacgu\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		records, err := ReadFASTA(bytes.NewReader(b), fuzzLimits)
		if err != nil {
			checkError(t, err)
			return
		}
		var out strings.Builder
		for _, r := range records {
			if r.Sequence == "" || strings.Trim(r.Sequence, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") != "" {
				t.Fatalf("sequence %q", r.Sequence)
			}
			out.WriteString(">" + r.Name + "\n" + r.Sequence + "\n")
		}
		again, err := ReadFASTA(strings.NewReader(out.String()), Limits{})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(records, again); diff != "" {
			t.Fatal(diff)
		}
	})
}

// checkError holds errors to one sentence of reasonable length.
func checkError(t *testing.T, err error) {
	var parse *ParseError
	if !errors.As(err, &parse) {
		t.Fatalf("not a ParseError: %v", err)
	}
	if text := err.Error(); len(text) > 400 || strings.ContainsAny(text, "\n\r") {
		t.Fatalf("error text: %q", text)
	}
}
