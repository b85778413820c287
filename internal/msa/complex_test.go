package msa_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pleat/internal/msa"
)

// complexA3M is what msa_to_str of ColabFold 1.5.5 writes of two chains, the second of which occurs twice: the paired
// rows, then those of each chain.
const complexA3M = "#4,3\t1,2\n" +
	">101\t102\nMKTAGGE\n" +
	">UniRef100_A\t0.5\tUniRef100_B\nMKaT-G-E\n" +
	">UniRef100_C\n---AGGD\n" +
	">101\nMKTA---\n>UniRef100_D\nM-TaaA---\n" +
	">102\n----GGE\n>UniRef100_F\n----GcG-\n"

// A complex is split into the alignments of its chains as unserialize_msa of ColabFold splits it.
func TestReadComplex(t *testing.T) {
	t.Parallel()
	for query, want := range map[string]msa.Alignment{
		"MKTA": {
			Rows: []msa.Row{{"101", "MKTA"}, {"UniRef100_D", "M-TaaA"}},
			Pairs: &msa.Alignment{Rows: []msa.Row{
				{"101", "MKTA"}, {"UniRef100_A\t0.5\tUniRef100_B", "MKaT-"}, {"UniRef100_C", "---A"},
			}},
		},
		"GGE": {
			Rows:  []msa.Row{{"102", "GGE"}, {"UniRef100_F", "GcG-"}},
			Pairs: &msa.Alignment{Rows: []msa.Row{{"102", "GGE"}, {"UniRef100_A\t0.5\tUniRef100_B", "G-E"}, {"UniRef100_C", "GGD"}}},
		},
	} {
		got, err := msa.Read(strings.NewReader(complexA3M), query)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(&want, got); diff != "" {
			t.Errorf("%s: %s", query, diff)
		}
	}
	a, err := msa.Read(strings.NewReader(complexA3M), "MKTA")
	if err != nil {
		t.Fatal(err)
	}
	a.Unpair()
	want := msa.Alignment{Rows: []msa.Row{
		{"101", "MKTA"}, {"UniRef100_A\t0.5\tUniRef100_B", "MKaT-"}, {"UniRef100_C", "---A"}, {"UniRef100_D", "M-TaaA"},
	}}
	if diff := cmp.Diff(&want, a); diff != "" {
		t.Error(diff)
	}
}

// Rows with one index belong together, whatever the names of the rows say and however few chains the first one aligns.
func TestPairsBelongTogether(t *testing.T) {
	t.Parallel()
	const text = "#2,2,2\t1,1,1\n>101\t102\nMKGG--\n>101\nMKAA--\n>103\n----CC\n>pair\nMRGACD\n"
	for query, want := range map[string][]string{
		"MK": {"MK", "MK", "MR"},
		"GG": {"GG", "AA", "GA"},
		"CC": {"CC", "--", "CD"},
	} {
		a, err := msa.Read(strings.NewReader(text), query)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, row := range a.Pairs.Rows {
			got = append(got, row.Text)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", query, diff)
		}
	}
}
