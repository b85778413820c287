package msa_test

import (
	"bytes"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pleat/internal/msa"
)

func TestRead(t *testing.T) {
	t.Parallel()
	a, err := msa.Read(
		strings.NewReader("#5\t1\n>101\r\nMKTA\nY\n\n>hit one\t77\t0.5\nM-TacA-\n>\x1b[31mred\n.....*KT.AY\n"), "MKTAY")
	if err != nil {
		t.Fatal(err)
	}
	want := []msa.Row{{"101", "MKTAY"}, {"hit one\t77\t0.5", "M-TacA-"}, {"[31mred", "XKTAY"}}
	if d := cmp.Diff(want, a.Rows); d != "" {
		t.Error(d)
	}
	if got := a.Rows[1].Aligned(); got != "M-TA-" {
		t.Errorf("aligned is %q", got)
	}
	for _, c := range []struct {
		row  int
		want float64
	}{{0, 1}, {1, 0.6}, {2, 0.8}} {
		if got := msa.Identity(a.Query(), a.Rows[c.row].Aligned()); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("row %d: identity %v, want %v", c.row, got, c.want)
		}
	}
	if msa.Identity("XX", "XX") != 0 {
		t.Error("an unknown residue counts as alike")
	}
	var out bytes.Buffer
	if n, err := a.WriteTo(&out); err != nil || n != int64(out.Len()) {
		t.Errorf("%d bytes, %v; wrote %d", n, err, out.Len())
	}
	again, err := msa.Read(&out, "")
	if d := cmp.Diff(a, again); d != "" || err != nil {
		t.Error(err, d)
	}
}

func TestReadRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, query, want string }{
		{"", "MK", "it has no sequence"},
		{"#1\t1\n", "MK", "it has no sequence"},
		{"\ufeff# STOCKHOLM 1.0\n\na MK\n", "MK", "it is in the format STOCKHOLM; convert it to A3M, for example with " +
			"reformat.pl of HH-suite"},
		{"MK\n", "MK", "line 1 comes before the first name, which begins with >"},
		{">a\n\n>b\nMK\n", "MK", "line 3 begins a row after a bad one: row 1 is empty; it must be the sequence itself"},
		{">a\nM-\n", "MK", `row 1 has '-' at position 2; it must be the sequence itself, in capitals without gaps`},
		{">a\nMk\n", "", `row 1 has 'k' at position 2; it must be the sequence itself, in capitals without gaps`},
		{">a\nMR\n", "MK",
			"row 1 is not the sequence itself; residue 2 is K in the sequence and R in the alignment"},
		{">a\nMKA\n", "MK", "row 1 is not the sequence itself; it has 3 residues, and the sequence 2"},
		{">a\nRKA\n", "MK", "row 1 is not the sequence itself; it has 3 residues, and the sequence 2; residue 1 is M in " +
			"the sequence and R in the alignment"},
		{">a\nMK\n>b\nM\u2013\n", "MK",
			"line 4 has '–' (U+2013, a dash that looks like -) at position 2; an alignment has letters, hyphens and dots"},
		{"#2,1\t1,1\n>101\t102\nMKG\n>b\nMK\n", "MK",
			"row 2 has 2 columns; by the first line, the chains of the complex have 3"},
		{"#2,1\t1,1\n>101\nMK-\n", "MK", "it has no row of chain 2"},
		{"#2,1\t1,1\n>101\nMK-\n>x\n--g\n", "MK", "row 2 has 2 columns; by the first line, the chains of the complex have 3"},
		{"#2,2\t1,1\n>101\nMK--\n>x\n--G-\n", "MK", "row 2 is the first of chain 2 and has '-' at its position 2; it must " +
			"be the chain itself, in capitals without gaps"},
		{"#2,1\t1,1\n>101\t102\nMKG\n", "MR", "is ColabFold's of a complex, whose chains have 2 and 1 residues; none of " +
			"them is the sequence; residue 2 is R in the sequence and K in the alignment"},
		{">a\nMK\n>b\nMKA\n", "MK", "row 2 has 3 columns; the sequence has 2 residues"},
		{">a\nMK\n>b\nM\n>c\nMK\n", "MK",
			"line 5 begins a row after a bad one: row 2 has 1 columns; the sequence has 2 residues"},
		{">a\nMK\n>b\nM1\n", "MK", `line 4 has '1' at position 2; an alignment has letters, hyphens and dots`},
		{">a\nMK\n>b\nM" + strings.Repeat("a", 1<<20) + "K\n", "MK", "line 4 is longer than 1048576 bytes"},
		{">a\nMK\n>b\nM\n" + strings.Repeat(strings.Repeat("a", 1<<19)+"\n", 2), "MK",
			"line 6 makes a row of more than 1048576 letters"},
	} {
		if _, err := msa.Read(strings.NewReader(c.text), c.query); err == nil || err.Error() != c.want {
			t.Errorf("%.40q: error is %v; want %s", c.text, err, c.want)
		}
		if err := msa.Check(strings.NewReader(c.text)); err == nil && c.query == "" {
			t.Errorf("%.40q passes the check", c.text)
		}
	}
}

func TestReadQueries(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"# x\n>a\nMK\nTA\n>b\nragged":                             "MKTA",
		">a\nMKTA":                                                "MKTA",
		"\ufeff>a\rMKTA\r>b\rMK-A\r":                              "MKTA",
		"#4\t2\n>101\nMKTA\n>b\nM":                                "MKTA",
		"#4,2\t1,1\n>101\t102\nMKTAGG\n>b\nragged":                "MKTA GG",
		"\ufeff#4,2\t1,1\r\n>101\nMKTA--\n>b\n----G-\n>c\nragged": "! row 2 is",
		"#4,2\t1,1\n>101\nMKTA--\n>b\nM-----\n>102\n----GG\n>c\n": "MKTA GG",
	} {
		got, err := msa.ReadQueries(strings.NewReader(text))
		switch want, refused := strings.CutPrefix(want, "! "); {
		case refused && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%q: error is %v; want %s", text, err, want)
		case !refused && (err != nil || strings.Join(got, " ") != want):
			t.Errorf("%q: %v, %v; want %s", text, got, err, want)
		}
	}
	if _, err := msa.ReadQueries(strings.NewReader(">a\nM-TA\n>b\n")); err == nil {
		t.Error("a query with a gap")
	}
	if err := msa.Check(strings.NewReader(">a\nMK\n>b\nM-\n")); err != nil {
		t.Error(err)
	}
}

// endless is a reader of rows without end.
type endless struct{ n int64 }

func (e *endless) Read(p []byte) (int, error) {
	for i := range p {
		if p[i] = '#'; e.n%1000 == 999 {
			p[i] = '\n'
		}
		e.n++
	}
	return len(p), nil
}

func TestReadIsBounded(t *testing.T) {
	t.Parallel()
	e := &endless{}
	if _, err := msa.Read(e, "MK"); err == nil ||
		err.Error() != fmt.Sprintf("it has more than %d MiB", msa.MaxBytes>>20) {
		t.Errorf("error is %v", err)
	}
	if e.n > msa.MaxBytes+1<<20 {
		t.Errorf("%d bytes were read", e.n)
	}
}

// An alignment that Read takes can be written and read again, the same.
func FuzzRead(f *testing.F) {
	f.Add([]byte(">101\nMKTAY\n>x\nM-TacA-\n"), "MKTAY")
	f.Add([]byte("#3\t1\n>a\nM.K*\r\n>\n--aX\n"), "")
	f.Add([]byte(">a\nM\n>b\n-\n>c\n"), "M")
	f.Add([]byte(complexA3M), "GGE")
	f.Add([]byte("> \xc1\nA"), "A")
	f.Add([]byte("#0,2\t1,1\n>101\t102\nMK\n"), "MK")
	f.Fuzz(func(t *testing.T, data []byte, query string) {
		a, err := msa.Read(bytes.NewReader(data), query)
		if err != nil {
			if strings.ContainsAny(err.Error(), "\n\r") {
				t.Errorf("the error %q has several lines", err)
			}
			return
		}
		a.Unpair()
		for i, r := range a.Rows {
			if len(r.Aligned()) != len(a.Query()) {
				t.Errorf("row %d has %d columns", i, len(r.Aligned()))
			}
			if x := msa.Identity(a.Query(), r.Aligned()); !(x >= 0 && x <= 1) {
				t.Errorf("row %d has the identity %v", i, x)
			}
		}
		var out bytes.Buffer
		if _, err := a.WriteTo(&out); err != nil {
			t.Fatal(err)
		}
		again, err := msa.Read(&out, a.Query())
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(a, again); d != "" {
			t.Error(d)
		}
	})
}
