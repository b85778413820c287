package mini

import (
	"context"
	"errors"
	"math"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pleat/internal/mini/local"
	"pleat/internal/structure"
)

const (
	chignolin = "YYDPETGTWY"           // CLN025
	trpCage   = "DAYAQWLKDGGPSSGRPPPS" // TC10b
	everyone  = "ACDEFGHIKLMNPQRSTVWYWVTSRQPNMLKIHGFEDCA"
)

// brief folds with trajectories cut short, for what does not depend on their quality.
func brief(t *testing.T, seq string, opt Options, steps int) *Result {
	t.Helper()
	aa, ok := local.Index(seq)
	if !ok {
		t.Fatalf("sequence %q", seq)
	}
	f := &fold{t: loaded(), aa: aa, opt: opt, progress: func(string, int, int) {}, steps: steps, tries: 1}
	return f.run()
}

func TestCheckSaysWhatAndWhere(t *testing.T) {
	for _, c := range []struct{ seq, want string }{
		{"", "mini needs at least 3 residues; this chain has 0"},
		{"AC", "mini needs at least 3 residues; this chain has 2"},
		{strings.Repeat("A", 401), "mini folds at most 400 residues; this chain has 401"},
		{"ACDX", "mini folds the twenty standard amino acids (ACDEFGHIKLMNPQRSTVWY); 'X' at position 4 is none of them"},
		{"aCD", "mini folds the twenty standard amino acids (ACDEFGHIKLMNPQRSTVWY); 'a' at position 1 is none of them"},
		{"AC é", "mini folds the twenty standard amino acids (ACDEFGHIKLMNPQRSTVWY); ' ' at position 3 is none of them"},
		{"ACé", "mini folds the twenty standard amino acids, one upper-case letter each; 'é' at position 3 is none " +
			"of them"},
		{"ACD", ""},
		{strings.Repeat("A", 400), ""},
	} {
		got := ""
		if err := Check(c.seq); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("Check(%.10q): %q, want %q", c.seq, got, c.want)
		}
	}
	if _, err := Fold(t.Context(), "ACDEF", Options{Decoys: -1}, nil); err == nil ||
		!strings.Contains(err.Error(), "decoys is -1") {
		t.Errorf("negative decoys: %v", err)
	}
}

// A fold has as many steps as it is asked for, and without a number as many as the accuracy needs.
func TestStepsOfAFold(t *testing.T) {
	fold := func(steps int) *Result {
		t.Helper()
		r, err := Fold(t.Context(), "GAG", Options{Seed: 1, Decoys: 1, Workers: 1, Steps: steps}, nil)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	full := fold(0)
	if d := cmp.Diff(full, fold(fullSteps)); d != "" {
		t.Errorf("no number of steps (-) and all of them (+):\n%s", d)
	}
	if few := fold(10); few.Energy == full.Energy {
		t.Errorf("10 steps end with the energy of all: %v", few.Energy)
	}
	for _, steps := range []int{-10, 15} {
		if _, err := Fold(t.Context(), "GAG", Options{Steps: steps}, nil); err == nil ||
			!strings.Contains(err.Error(), "it may be a multiple of ten") {
			t.Errorf("%d steps: %v", steps, err)
		}
	}
}

func TestSameSeedSameBytes(t *testing.T) {
	one := brief(t, trpCage, Options{Seed: 7, Decoys: fewDecoys, Workers: 1}, 300)
	many := brief(t, trpCage, Options{Seed: 7, Decoys: fewDecoys, Workers: 3}, 300)
	if d := cmp.Diff(one, many); d != "" {
		t.Errorf("the number of workers shows in the result:\n%s", d)
	}
	if other := brief(t, trpCage, Options{Seed: 8, Decoys: fewDecoys, Workers: 3}, 300); cmp.Equal(one, other) {
		t.Error("another seed gave the same result")
	}
}

func TestResultIsWhole(t *testing.T) {
	r := brief(t, everyone, Options{Seed: 1, Decoys: 5, Workers: 2}, 500)
	n := len(everyone)
	if len(r.Chain.Residues) != n || len(r.PLDDT) != n || r.PAE.N != n || len(r.PAE.V) != n*n {
		t.Fatalf("sizes %d %d %d %d for %d residues", len(r.Chain.Residues), len(r.PLDDT), r.PAE.N, len(r.PAE.V), n)
	}
	for i, v := range r.PLDDT {
		if v < 0 || v > 100 || math.IsNaN(v) {
			t.Errorf("pLDDT %g of residue %d", v, i+1)
		}
		for _, a := range r.Chain.Residues[i].Atoms {
			if a.B != v || a.Occupancy != 1 {
				t.Fatalf("atom %s of residue %d has B %g and occupancy %g, pLDDT is %g", a.Name, i+1, a.B, a.Occupancy,
					v)
			}
		}
	}
	for k, v := range r.PAE.V {
		if v < 0 || float64(v) > r.MaxPAE || (k/n == k%n) != (v == 0) {
			t.Fatalf("PAE %g at %d,%d", v, k/n, k%n)
		}
	}
	if r.PTM <= 0 || r.PTM > 1 {
		t.Errorf("pTM %g", r.PTM)
	}
	if r.Decoys != 5 {
		t.Errorf("decoys %d", r.Decoys)
	}
}

func TestShortestChainsAndOneDecoy(t *testing.T) {
	for _, c := range []struct {
		seq    string
		decoys int
	}{{"AGP", 3}, {"PPP", 1}, {"GGGG", 2}, {"WWW", 1}} {
		r := brief(t, c.seq, Options{Seed: 1, Decoys: c.decoys, Workers: 2}, 100)
		for i, v := range append(r.PLDDT, r.PTM) {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				t.Errorf("%s with %d decoys: confidence %d is %g", c.seq, c.decoys, i, v)
			}
		}
	}
}

func TestProgress(t *testing.T) {
	var mu sync.Mutex
	last := map[string]int{}
	_, err := Fold(t.Context(), "GSWTWENGKW", Options{Seed: 1, Decoys: 2}, func(stage string, done, total int) {
		mu.Lock()
		defer mu.Unlock()
		if done < last[stage] || done > total {
			t.Errorf("%s went from %d to %d of %d", stage, last[stage], done, total)
		}
		last[stage] = done
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []string{"local", "sample", "select", "sidechains", "score"} {
		if last[s] == 0 {
			t.Errorf("stage %s has no progress", s)
		}
	}
}

func TestCancelIsQuick(t *testing.T) {
	quickest := time.Hour
	tries := 5
	if raceDetector {
		tries = 1
	}
	for range tries { // other work on the machine can delay the engine
		quickest = min(quickest, cancelled(t))
		if quickest < 100*time.Millisecond {
			break
		}
	}
	if quickest >= 100*time.Millisecond && !raceDetector {
		t.Errorf("stopped %v after the cancel at best", quickest)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Fold(ctx, chignolin, Options{}, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("a fold under an ended context gave %v", err)
	}
}

// cancelled returns the time from a cancel to Fold's return. It cancels when the first trajectory has ended: the next
// ones, of about a second each, are then under way.
func cancelled(t *testing.T) time.Duration {
	t.Helper()
	chain := strings.Repeat(everyone, 3)
	if raceDetector {
		chain = everyone // trajectories are ten times as slow
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	sampling := make(chan struct{})
	done := make(chan error, 1)
	go func() {
		_, err := Fold(ctx, chain, Options{Workers: 2}, func(stage string, n, _ int) {
			if stage == "sample" && n == 1 {
				close(sampling)
			}
		})
		done <- err
	}()
	<-sampling
	at := time.Now()
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	return time.Since(at)
}

func TestMemoryAtTheGreatestLength(t *testing.T) {
	if testing.Short() || raceDetector {
		t.Skip("seconds of work, a minute under the race detector")
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	brief(t, strings.Repeat(everyone, 10), Options{Seed: 1, Decoys: 8, Workers: 8}, 50)
	runtime.ReadMemStats(&after)
	if got := int64(after.Sys); got > 300<<20 {
		t.Errorf("the process took %d MB at %d residues with 8 workers", got>>20, MaxLength)
	}
	if _, b := Estimate(MaxLength); b > 300<<20 {
		t.Errorf("the estimate is %d MB", b>>20)
	}
}

func TestHairpinFolds(t *testing.T) {
	if testing.Short() || raceDetector {
		t.Skip("seconds of work, a minute under the race detector")
	}
	r, err := Fold(t.Context(), chignolin, Options{Seed: 1, Decoys: 12}, nil)
	if err != nil {
		t.Fatal(err)
	}
	model := make([]structure.Vec, 0, len(chignolinCA))
	for _, res := range r.Chain.Residues {
		model = append(model, res.Atoms[1].Pos)
	}
	if l, _ := structure.LDDT(model, chignolinCA); l < 0.6 {
		t.Errorf("lDDT-CA of the hairpin is %.2f", l)
	}
}

// chignolinCA are the CA of CLN025, Å; the same as in the bench's targets.
var chignolinCA = []structure.Vec{
	{24.935, 20.652, 10.774},
	{21.801, 19.381, 9.017},
	{18.477, 20.539, 10.432},
	{16.223, 17.660, 11.537},
	{13.040, 19.289, 10.212},
	{14.200, 20.806, 6.941},
	{17.256, 18.676, 6.039},
	{19.242, 21.760, 5.125},
	{22.762, 22.680, 6.241},
	{23.135, 25.467, 8.794},
}
