// Package mini owns the embedded folding engine: all-atom models of short protein chains from sequence alone, in
// pure Go, with nothing to download.
//
// It assembles low-resolution models as Simons et al. do (J. Mol. Biol. 268, 209, 1997; Proteins 34, 82, 1999):
// many annealed trajectories over backbone torsions, with knowledge-based terms and windows of torsions drawn from
// a small network (package local); a selection from the low-energy ensemble; side chains from rotamers; and
// confidence from the agreement of that ensemble. docs/mini.md describes what to expect.
//
// It must not know jobs, files or the network, and reads no clock: the same sequence, options and version give the
// same bytes on any number of workers.
package mini

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"pleat/internal/mini/local"
	"pleat/internal/structure"
)

// Model and Version name the engine; Version changes whenever results may.
const (
	Model   = "mini"
	Version = "1.1.0"
)

// The lengths of chains that the engine accepts, in residues.
const (
	MinLength = 3
	MaxLength = 400
)

// Confidence describes how PLDDT, PAE and PTM are computed.
const Confidence = "ensemble agreement, calibrated"

// drawnChains is the number of torsion chains drawn from the local model; trajectories use windows of them.
const drawnChains = 300

// Options are the options of a fold. The zero value is a good choice.
type Options struct {
	Seed    uint64
	Decoys  int // trajectories; 0 chooses by length; at most 2000
	Workers int // goroutines; 0 is one for each processor; at most 64
	// Steps is the length of a trajectory, a multiple of ten. 0 is the length that the accuracy and the estimates of
	// this package are for; fewer steps give a structure of the same form, for tests that need no accuracy.
	Steps int
}

// Result is the selected model and its estimated error.
type Result struct {
	Chain  structure.Chain  // all heavy atoms, with OXT; B is PLDDT of the residue
	PLDDT  []float64        // 0 to 100, expected lDDT-CA of each residue
	PAE    structure.Matrix // Å; row = aligned residue
	MaxPAE float64          // Å, the largest value PAE can take
	PTM    float64          // 0 to 1
	Energy float64          // of the picked trajectory, in units of its temperature
	// Decoys is the number of trajectories that were run.
	Decoys int
}

// Progress receives the stage (local, sample, select, sidechains, score) and how much of it is done. Several
// goroutines may call it, one at a time.
type Progress func(stage string, done, total int)

// Check returns an error for a sequence that the engine cannot fold: one sentence that states what is wrong and
// where.
func Check(seq string) error {
	if len(seq) > MaxLength {
		return fmt.Errorf("%s folds at most %d residues; this chain has %d", Model, MaxLength, len(seq))
	}
	for i, r := range seq {
		if r >= 128 {
			return fmt.Errorf("%s folds the twenty standard amino acids, one upper-case letter each; %q at position "+
				"%d is none of them", Model, r, i+1)
		}
		if _, ok := local.Index(seq[i : i+1]); !ok {
			return fmt.Errorf("%s folds the twenty standard amino acids (%s); %q at position %d is none of them", Model,
				local.Letters, r, i+1)
		}
	}
	if len(seq) < MinLength {
		return fmt.Errorf("%s needs at least %d residues; this chain has %d", Model, MinLength, len(seq))
	}
	return nil
}

// decoysFor returns the number of trajectories for a chain of n residues: fewer where each costs more.
func decoysFor(n int) int {
	switch {
	case n <= 50:
		return 100
	case n <= 90:
		return 60
	case n <= 160:
		return 30
	}
	return 8
}

// Estimate returns what a chain of n residues costs with the default options: seconds of one processor of about 2.5
// GHz, and bytes of memory.
func Estimate(n int) (cpuSeconds float64, bytes int64) {
	l := float64(n)
	decoy := 0.01 + 0.0045*l + 0.0000375*l*l
	finish := 0.0035*l + 0.00007*l*l
	walks := int64(min(runtime.GOMAXPROCS(0), MaxWorkers))
	return float64(decoysFor(n))*decoy + finish, 40<<20 + 20*int64(n)*int64(n)*walks + 60_000*int64(n)
}

// MaxWorkers bounds the goroutines of one fold. It keeps the longest chain under 300 MB on machines with many
// processors.
const MaxWorkers = 64

// Fold predicts the structure of seq. It returns ctx's error within a tenth of a second after ctx ends.
func Fold(ctx context.Context, seq string, opt Options, p Progress) (*Result, error) {
	if err := Check(seq); err != nil {
		return nil, err
	}
	if opt.Decoys < 0 || opt.Decoys > 2000 {
		return nil, fmt.Errorf("decoys is %d; it may be 1 to 2000, or 0 to choose by length", opt.Decoys)
	}
	if opt.Decoys == 0 {
		opt.Decoys = decoysFor(len(seq))
	}
	if opt.Steps < 0 || opt.Steps%10 != 0 {
		return nil, fmt.Errorf("steps is %d; it may be a multiple of ten, or 0 for as many as an accurate fold needs",
			opt.Steps)
	}
	if opt.Workers <= 0 {
		opt.Workers = runtime.GOMAXPROCS(0)
	}
	opt.Workers = min(opt.Workers, MaxWorkers)
	if p == nil {
		p = func(string, int, int) {}
	}
	aa, _ := local.Index(seq)
	f := &fold{t: loaded(), aa: aa, opt: opt, progress: p, steps: cmp.Or(opt.Steps, fullSteps), tries: 6}
	if len(aa) > 120 {
		f.tries = 2
	}
	release := context.AfterFunc(ctx, func() { f.stopped.Store(true) })
	defer release()
	r := f.run()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return r, nil
}

// fold is the state of one call of Fold.
type fold struct {
	t        *tables
	aa       []int
	opt      Options
	progress Progress
	steps    int // of a trajectory
	tries    int // at relaxing the pick
	stopped  atomic.Bool
}

// stop reports whether the context has ended.
func (f *fold) stop() bool { return f.stopped.Load() }

// run executes the stages and returns the result, or nil once stopped.
func (f *fold) run() *Result {
	l := f.read()
	if f.stop() {
		return nil
	}
	first, all := f.sample(l)
	if f.stop() {
		return nil
	}
	f.progress("select", 0, 1)
	e, ok := choose(first, all, f.stop)
	if !ok {
		return nil
	}
	f.progress("select", 1, 1)
	r := &Result{Energy: e.pick.energy, Decoys: f.opt.Decoys, MaxPAE: maxPAE}
	if e.pick, r.Chain = f.finish(l, e.pick); f.stop() {
		return nil
	}
	f.progress("score", 0, 1)
	if !e.score(r, f.stop) {
		return nil
	}
	f.progress("score", 1, 1)
	return r
}

// Streams of the random number generator, in addition to those of the decoys, which use their own numbers.
const (
	localStream = 1 << 32
	relaxStream = 1 << 33
)

// forEachParallel calls do for from..to-1 of total on the workers, with the number of the worker. The result of do must
// depend on its index alone.
func (f *fold) forEachParallel(stage string, from, to, total int, do func(worker, i int)) {
	var next atomic.Int64
	var wait sync.WaitGroup
	var mu sync.Mutex
	done := from
	f.progress(stage, done, total)
	for k := range min(f.opt.Workers, to-from) {
		wait.Go(func() {
			for {
				i := from + int(next.Add(1)) - 1
				if i >= to || f.stop() {
					return
				}
				do(k, i)
				mu.Lock()
				done++
				f.progress(stage, done, total)
				mu.Unlock()
			}
		})
	}
	wait.Wait()
}

// read draws the chains of torsions from the local model.
func (f *fold) read() *locals {
	m := f.t.local
	chains := make([]local.Chain, drawnChains)
	readers := make([]*local.Reader, f.opt.Workers)
	f.forEachParallel("local", 0, drawnChains, drawnChains, func(worker, i int) {
		if readers[worker] == nil {
			readers[worker] = m.Read(f.aa)
		}
		chains[i] = readers[worker].Draw(rand.New(rand.NewPCG(f.opt.Seed, localStream+uint64(i))), 1)
	})
	if f.stop() {
		return nil
	}
	return newLocals(m, chains)
}

// fewDecoys is the smallest number of decoys with a second round. With fewer, the first round would be so small
// that the second repeats it and agrees with it by construction.
const fewDecoys = 24

// sample runs the trajectories in two rounds. The second draws half its windows from the low-energy decoys of the
// first, so that successful torsions are recombined.
func (f *fold) sample(l *locals) (first, second []decoy) {
	decoys := make([]decoy, f.opt.Decoys)
	walks := make([]*walk, f.opt.Workers)
	round := func(l *locals, from, to int) {
		clear(walks)
		f.forEachParallel("sample", from, to, len(decoys), func(worker, i int) {
			if walks[worker] == nil {
				walks[worker] = newWalk(f.t, l, f.aa)
				walks[worker].steps = f.steps
			}
			decoys[i], _ = walks[worker].run(rand.New(rand.NewPCG(f.opt.Seed, uint64(i))), f.stop)
		})
	}
	cut := len(decoys)
	if cut >= fewDecoys {
		cut = cut * 2 / 5
	}
	round(l, 0, cut)
	if f.stop() {
		return nil, nil
	}
	if cut == len(decoys) {
		return decoys, decoys
	}
	best := lowest(decoys[:cut])
	richer := &locals{energy: l.energy, drawn: slices.Clone(l.drawn)}
	for i := range l.drawn {
		richer.drawn = append(richer.drawn, best[i%len(best)].torsions)
	}
	round(richer, cut, len(decoys))
	return decoys[:cut], decoys
}

// finish relaxes the selected decoy several times, builds side chains on each and returns the one with the least
// overlap.
func (f *fold) finish(l *locals, pick decoy) (decoy, structure.Chain) {
	tries := f.tries
	relaxed := make([]decoy, tries)
	chains := make([]structure.Chain, tries)
	overlap := make([]float64, tries)
	f.forEachParallel("sidechains", 0, tries, tries, func(_, i int) {
		w := newWalk(f.t, l, f.aa)
		if w.relax(&pick, rand.New(rand.NewPCG(f.opt.Seed, relaxStream+uint64(i))), f.stop) {
			w.snapshot(&relaxed[i])
			chains[i], overlap[i], _ = dressUp(w, f.stop)
		}
	})
	best := 0
	for i := range overlap {
		if overlap[i] < overlap[best] {
			best = i
		}
	}
	return relaxed[best], chains[best]
}

// relax moves a decoy out of clashes: small moves at a low temperature under a clash term several times as strong,
// so that the fold does not change. It returns false once stopped.
func (w *walk) relax(d *decoy, rng *rand.Rand, stop func() bool) bool {
	total := 2000 + 20*w.n
	w.rng = rng
	w.copyRange(&d.torsions, 0, w.n)
	w.stage(1)
	w.radiusScale = 0 // room is what is wanted
	for k := range total {
		if stop() {
			return false
		}
		if k == 0 || k == total/3 {
			w.clashScale *= 3
			w.rebuild()
			w.recompute()
		}
		size := math.Sqrt(40 / float64(40+w.n))
		w.nudge(1.5*size, 6*size, 0.05)
	}
	w.rebuild()
	return true
}
