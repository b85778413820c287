package facts

import (
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSitesOfAChain(t *testing.T) {
	f := digestOf(t, load(t, "1ubi"), Extra{})
	x := f.Index()
	all := x.Select(func(int) bool { return true })
	if got := x.Letters(all); got != f.Chains[0].Sequence {
		t.Errorf("letters %s, want the sequence of the chain", got)
	}
	if got, n := x.Mass(all); n > 0 || math.Abs(got+18.015-*f.Chains[0].Mass) > 0.05 { // rounded to 0.1
		t.Errorf("the residues weigh %.3f Da without %d, the chain %.3f", got, n, *f.Chains[0].Mass)
	}
	if got := x.Area(all[5:6]) + x.Area(all[6:9]); math.Abs(got-x.Area(all[5:9])) > 1e-9 {
		t.Errorf("areas do not add up: %v", got)
	}
	some := []int{0, 1, 2, 5, 6, 9}
	if diff := cmp.Diff([][]int{{0, 1, 2}, {5, 6}, {9}}, x.Runs(some)); diff != "" {
		t.Error("runs:", diff)
	}
	if runs := x.Runs(nil); runs != nil {
		t.Errorf("no sites have the runs %v", runs)
	}
	for _, run := range x.Segments(all) {
		for _, i := range run {
			if x.Sites[i].State != x.Sites[run[0]].State {
				t.Errorf("a segment has two states: %v", x.Refs(run))
			}
		}
	}
	for want, sites := range map[string][]int{
		"":                         nil,
		"MET 1 (chain A)":          {0},
		"MET 1 to ILE 3 (chain A)": {0, 1, 2},
		"MET 1, ILE 3 (chain A)":   {0, 2},
	} {
		if got := x.Span(sites); got != want {
			t.Errorf("the span of %v is %q, want %q", sites, got, want)
		}
	}
}

func TestNearSites(t *testing.T) {
	x := digestOf(t, load(t, "1ubi"), Extra{}).Index()
	const anchor, radius = 26, 4.5
	left := 1_000_000
	near, next, ok := x.Near([]int{anchor}, radius, &left)
	if !ok || !slices.Equal(next, []int{anchor - 1, anchor + 1}) {
		t.Errorf("next to the anchor are %v, %v", next, ok)
	}
	for i := range x.Sites {
		pair, found := near[i]
		closest, _ := x.Closest(i, anchor)
		isNear := x.Sites[i].Kind.Polymer() && i != anchor && !slices.Contains(next, i) && closest.Distance <= radius
		if found != isNear || found && pair != closest {
			t.Errorf("%v: near %v, want %v: %v", x.Sites[i].Ref, found, isNear, pair)
		}
	}
	left = 10
	if _, _, ok := x.Near([]int{anchor}, radius, &left); ok {
		t.Error("looks at more than it may")
	}
	if _, ok := x.ClosestAtoms(nil, x.AtomsOf([]int{anchor}, "")); ok {
		t.Error("no atoms have a closest pair")
	}
	if atoms := x.AtomsOf([]int{anchor, anchor + 1}, "CA"); len(atoms) != 2 {
		t.Errorf("two residues have %d CA", len(atoms))
	}
	if d, ok := x.CentreDistance(anchor, anchor+1); !ok || math.Abs(d-3.8) > 0.1 {
		t.Errorf("centres of neighbours are %.2f Å apart, %v", d, ok)
	}
}
