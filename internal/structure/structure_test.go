package structure

import (
	"bytes"
	"math"
	"os"
	"testing"
)

// load reads a structure of testdata: PDB entries 1crn, 1ubi and 2jof.
func load(tb testing.TB, name string) *Structure {
	tb.Helper()
	b, err := os.ReadFile("testdata/" + name + ".pdb")
	if err != nil {
		tb.Fatal(err)
	}
	s, err := Read(bytes.NewReader(b), Limits{})
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

func near(tb testing.TB, what string, got, want, tolerance float64) {
	tb.Helper()
	if !(math.Abs(got-want) <= tolerance) {
		tb.Errorf("%s is %.7f, want %.7f ± %g", what, got, want, tolerance)
	}
}

// bent is a model of a native: waves along the chain, and a hinge after residue 50.
func bent(native []Vec) []Vec {
	out := make([]Vec, len(native))
	for i, v := range native {
		f := float64(i)
		m := Vec{v[0] + 1.5*math.Sin(0.7*f), v[1] + 2*math.Cos(0.3*f), v[2]}
		if i >= 50 {
			m = Vec{m[0] + 0.2*(f-50), -m[2], m[1]}
		}
		for k := range m {
			m[k] = math.Round(m[k]*1000) / 1000
		}
		out[i] = m
	}
	return out
}
