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
		{"MK\n", "MK", "line 1 comes before the first name, which begins with >"},
		{">a\n\n>b\nMK\n", "MK", "line 3 begins a row after a bad one: row 1 is empty; it must be the sequence itself"},
		{">a\nM-\n", "MK", `row 1 has '-' at position 2; it must be the sequence itself, in capitals without gaps`},
		{">a\nMk\n", "", `row 1 has 'k' at position 2; it must be the sequence itself, in capitals without gaps`},
		{">a\nMR\n", "MK",
			"row 1 is not the sequence itself: it has 2 residues, the sequence 2, and they differ at residue 2"},
		{">a\nMKA\n", "MK", "row 1 is not the sequence itself: it has 3 residues, the sequence 2"},
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

func TestReadQuery(t *testing.T) {
	t.Parallel()
	if q, err := msa.ReadQuery(strings.NewReader("# x\n>a\nMK\nTA\n>b\nragged")); q != "MKTA" || err != nil {
		t.Errorf("%q, %v", q, err)
	}
	if q, err := msa.ReadQuery(strings.NewReader(">a\nMKTA")); q != "MKTA" || err != nil {
		t.Errorf("%q, %v", q, err)
	}
	if _, err := msa.ReadQuery(strings.NewReader(">a\nM-TA\n>b\n")); err == nil {
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
	f.Fuzz(func(t *testing.T, data []byte, query string) {
		a, err := msa.Read(bytes.NewReader(data), query)
		if err != nil {
			if strings.ContainsAny(err.Error(), "\n\r") {
				t.Errorf("the error %q has several lines", err)
			}
			return
		}
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
