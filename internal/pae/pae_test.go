package pae

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pleat"
)

// Each program's file is read as its numbers are: see testdata/write.py.
func TestFiles(t *testing.T) {
	files, err := filepath.Glob("testdata/*.*")
	if err != nil {
		t.Fatal(err)
	}
	read := 0
	for _, name := range files {
		if filepath.Ext(name) == ".py" {
			continue
		}
		in, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		got, err := Read(in)
		if err = errors.Join(err, in.Close()); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		read++
		for i := range got.N {
			for j := range got.N {
				if want := float64(2*i+j) + 0.5; got.N != 3 || got.At(i, j) != want {
					t.Errorf("%s: %d rows, at %d, %d %v; want %v", name, got.N, i, j, got.At(i, j), want)
				}
			}
		}
	}
	if read != 10 {
		t.Errorf("%d files were read", read)
	}
}

// The rows of AlphaFold 3 have names.
func TestTokens(t *testing.T) {
	in, err := os.Open("testdata/alphafold3.json")
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	got, err := Read(in)
	if want := []Token{{"A", 1}, {"A", 2}, {"B", 1}}; err != nil || !slices.Equal(got.Tokens, want) {
		t.Errorf("%v, %v", got.Tokens, err)
	}
}

// A value that is not there is an error, never 0 Å.
func TestRefusals(t *testing.T) {
	const tokens = `,"token_chain_ids":["A","A"],"token_res_ids":`
	for _, c := range []struct{ text, want string }{
		{`{"pae":[[0,1],[1,null]]}`, "the PAE has null in row 2, column 2; it must be a number of Å from 0 to 1000"},
		{`{"pae":[[0, "1"],[1,0]]}`, `the PAE has "1" in row 1, column 2; it must be a number of Å from 0 to 1000`},
		{`{"pae":[[0,-0.1],[1,0]]}`, "the PAE has -0.1 in row 1, column 2; it must be a number of Å from 0 to 1000"},
		{`{"pae":[[0,1e9],[1,0]]}`, "the PAE has 1e9 in row 1, column 2; it must be a number of Å from 0 to 1000"},
		{`{"pae":[[0,1e99],[1,0]]}`, "the PAE has 1e99 in row 1, column 2; it must be a number of Å from 0 to 1000"},
		{`{"pae":[[0,true],[1,0]]}`, "the PAE has true in row 1, column 2; it must be a number of Å from 0 to 1000"},
		{`{"pae":[[0,[1]],[1,0]]}`, "the PAE has [1 in row 1, column 2; it must be a number of Å from 0 to 1000"},
		{`{"pae":[[0,{}],[1,0]]}`, "the PAE has {} in row 1, column 2; it must be a number of Å from 0 to 1000"},
		{`{"pae":[[0,1],null]}`, "the PAE has no list as row 2"},
		{`{"pae":[[0,1],[1]]}`, "row 2 of the PAE has 1 values; it must have 2"},
		{`{"pae":[[0,1]]}`, "the PAE has 1 rows of 2 values; it must have as many rows as columns"},
		{`{"pae":[[0],[1]]}`, "the PAE has more than the 1 rows that its columns need"},
		{`{"pae":[[]]}`, "the PAE has 0 rows; 1 to 10000 are allowed"},
		{`{"pae":[[0]],"pae":[[1]]}`, "the PAE has the same name twice; it must have one PAE"},
		{`{"pae":[[0]],"token_pair_pae":[[1]]}`, "the PAE file has both pae and token_pair_pae; it must have one PAE"},
		{`[{"pae":[[0]]},{"pae":[[1]]}]`, "the PAE file is a list of several predictions; it must have one"},
		{`{"pae":[[NaN]]}`, "the PAE file is not JSON: line 1, column 10: NaN is no value of JSON; it has null"},
		{`{"pae":[[0,1],[1,0]]` + tokens + `[1]}`,
			"the PAE file has 2 rows, but 2 token_chain_ids and 1 token_res_ids"},
		{`{"pae":[[0,1],[1,0]]` + tokens + `[1,null]}`, "the PAE file has null for the token of row 2"},
		{`{"pae":[[0,1],[1,0]]` + tokens + `[1,"2"]}`,
			"the PAE file has token_res_ids that are no list of one name or number for each row"},
		{`[{"residue1":[1],"residue2":[1],"distance":[null]}]`,
			"the PAE has null in number 1 of distance; it must be a number of Å from 0 to 1000"},
		{`[{"residue1":[1,1],"residue2":[1,2],"distance":[0,1]}]`, "the PAE file has 2 residue1, 2 residue2 and 2 " +
			"distance; it must have the square of the number of residues of each"},
		{`[{"residue1":[1,1,2,1],"residue2":[1,2,1,2],"distance":[0,1,1,0]}]`, "the PAE file has the residues 1 and 2 " +
			"as pair 4; each pair of the residues 1 to 2 must be there once"},
		{`[{"residue1":[0,0,1,1],"residue2":[0,1,0,1],"distance":[0,1,1,0]}]`,
			"the PAE has 0 in number 1 of residue1; it must be a residue from 1 to 10000"},
		{`[{"residue1":[1.5],"residue2":[1],"distance":[0]}]`,
			"the PAE has 1.5 in number 1 of residue1; it must be a residue from 1 to 10000"},
		{"\x80\x04\x95", "the PAE file is a pickle of Python, which is a program and is not read; write its " +
			"predicted_aligned_error as JSON, or with numpy.savez"},
		{`{"pae":0.5}`, ErrNone.Error()},
		{`[1,2]`, ErrNone.Error()},
		{`[]`, ErrNone.Error()},
		{`7`, ErrNone.Error()},
		{array("<f4", "(2, 1)", 8), "the PAE file has an array of the shape (2, 1); it must be a square"},
		{array("<i8", "(1, 1)", 8), "the PAE file has numbers of the type <i8; it must have floating-point numbers of " +
			"2, 4 or 8 bytes (<f2, <f4, <f8)"},
		{array("<f4", "(2, 2)", 15), errArray.Error()},
		{array("<f4", "(2, 2)", 17), errArray.Error()},
		{array("<f4", "(9999, 9999)", 17), "the PAE file has an array of 9999 rows; 1 to 6000 are allowed in an archive"},
		{array("<f2", "(1, 1)", 2, 0, 0x7e), "the PAE has NaN in row 1, column 1; it must be a number of Å from " +
			"0 to 1000"},
		{"PK", "the PAE file is no archive of NumPy: zip: not a valid zip file"},
	} {
		_, err := Read(strings.NewReader(c.text))
		if pleat.CodeOf(err) != pleat.CodeInvalid || err.Error() != c.want {
			t.Errorf("%.60q\n got %v\nwant %s", c.text, err, c.want)
		}
	}
}

// A matrix without a value above 1 is one of fractions, unless it is tiny or the file says that it is in Å.
func TestUnit(t *testing.T) {
	square := func(n int, value string) string {
		row := "[" + strings.Repeat(","+value, n)[1:] + "]"
		return "[" + strings.Repeat(","+row, n)[1:] + "]"
	}
	const fractions = "the PAE has no value above 1 in its 5 rows, so that it seems to hold fractions; it must have " +
		"errors in Å, or, in JSON, a max_predicted_aligned_error above 1 if these are in Å"
	for text, want := range map[string]string{
		`{"pae":` + square(5, "0.9") + `}`:                                                fractions,
		`{"pae":` + square(5, "0") + `}`:                                                  fractions,
		`{"token_pair_pae":` + square(5, "1") + `}`:                                       fractions,
		`{"pae":` + square(5, "0.9") + `,"max_predicted_aligned_error":0.9}`:              fractions,
		`{"pae":` + square(5, "0.9") + `,"max_predicted_aligned_error":"31.75"}`:          fractions,
		array("<f4", "(5, 5)", 100):                                                       fractions,
		`{"pae":` + square(5, "0.9") + `,"max_predicted_aligned_error":31.75}`:            "",
		`[{"predicted_aligned_error":` + square(5, "1.01") + `}]`:                         "",
		`{"pae":` + square(4, "0.9") + `}`:                                                "",
		`[{"max_predicted_aligned_error":1.5,"predicted_aligned_error":[[0.2,0],[0,0]]}]`: "",
	} {
		if _, err := Read(strings.NewReader(text)); err == nil && want != "" || err != nil && err.Error() != want {
			t.Errorf("%.80q\n got %v\nwant %s", text, err, want)
		}
	}
}

// The pairs of version 1 of the AlphaFold database name residues beyond the largest error.
func TestManyResidues(t *testing.T) {
	const n = 1001
	var first, second, errs strings.Builder
	for i := range n * n {
		fmt.Fprintf(&first, ",%d", i/n+1)
		fmt.Fprintf(&second, ",%d", i%n+1)
		fmt.Fprintf(&errs, ",%d", i%30)
	}
	got, err := Read(strings.NewReader(`[{"residue1":[` + first.String()[1:] + `],"residue2":[` + second.String()[1:] +
		`],"distance":[` + errs.String()[1:] + `]}]`))
	if err != nil || got.N != n || got.At(1000, 1) != (1000*n+1)%30 {
		t.Errorf("%d rows: %v", got.N, err)
	}
}

// array returns an archive with an array: of a type, a shape and so many bytes, the first of which are given.
func array(descr, shape string, length int, content ...byte) string {
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	f, err := w.Create("pae.npy")
	header := "{'descr': '" + descr + "', 'fortran_order': False, 'shape': " + shape + ", }\n"
	if err == nil {
		_, err = f.Write(append([]byte("\x93NUMPY\x01\x00"+string(rune(len(header)))+"\x00"+header),
			append(content, make([]byte, length-len(content))...)...))
	}
	if err = errors.Join(err, w.Close()); err != nil {
		panic(err)
	}
	return out.String()
}

// Whatever a file holds, it is read as a square of errors or refused with a sentence.
func FuzzRead(f *testing.F) {
	for _, text := range []string{
		`[{"predicted_aligned_error":[[0,1],[1.5,0]]}]`,
		`{"pae":[[0]],"token_chain_ids":["A"],"token_res_ids":[1]}`,
		`{"residue1":[1],"residue2":[1],"distance":[0.5]}`,
		array("<f2", "(1, 2, 2)", 8, 1, 2, 3, 4),
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		got, err := Read(bytes.NewReader(raw))
		if err != nil {
			if pleat.CodeOf(err) != pleat.CodeInvalid || err.Error() == "" {
				t.Errorf("%v", err)
			}
			return
		}
		if got.N < 1 || len(got.V) != got.N*got.N || got.Tokens != nil && len(got.Tokens) != got.N {
			t.Errorf("%d rows, %d values, %d tokens", got.N, len(got.V), len(got.Tokens))
		}
		for _, v := range got.V {
			if !inAngstrom.valid(v) {
				t.Errorf("%v Å", v)
			}
		}
	})
}
