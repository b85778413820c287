// Command bench folds the tuning targets with the embedded engine and prints a Markdown table of the accuracy of the
// models and of the confidence that the engine states. It exits with 1 if a target is missed: over the seven
// structures, a mean lDDT-CA of at least 0.55, and a mean error of the stated confidence of at most 0.06.
//
//	go run ./tools/mini/bench
//
// With -peptides it prints instead the table of docs/mini.md that says for which peptides the engine finds the known
// secondary structure.
package main

import (
	"context"
	_ "embed"
	"flag"
	"fmt"
	"math"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"strings"
	"time"

	"pleat/internal/mini"
	"pleat/internal/structure"
)

// targetsText has the structures on which the engine was tuned, in the format that parse reads.
//
//go:embed testdata/targets.txt
var targetsText string

// The targets, over the mean of all structures. Both are on the scale of lDDT, 0 to 1.
const (
	minLDDT  = 0.55
	maxError = 0.06 // of the stated confidence
)

// target is a known structure.
type target struct {
	name, seq string
	ca        []structure.Vec // positions of the CA atoms in Å, one per residue
}

func main() {
	seed := flag.Uint64("seed", 1, "seed of the folds")
	decoys := flag.Int("decoys", 0, "trajectories per target; 0 chooses by length")
	workers := flag.Int("workers", 0, "goroutines; 0 means one per processor")
	onlyPeptides := flag.Bool("peptides", false, "print the table of peptides, at seeds 1 to 3, instead")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	opt := mini.Options{Seed: *seed, Decoys: *decoys, Workers: *workers}
	ok, err := true, error(nil)
	if *onlyPeptides {
		err = runPeptides(ctx, opt.Workers)
	} else {
		ok, err = run(ctx, opt)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
	}
	if err != nil || !ok {
		os.Exit(1)
	}
}

// run folds the targets one after the other, prints a row for each and their mean, and reports whether the mean meets
// the targets. The same seed gives the same table, but for the times.
func run(ctx context.Context, opt mini.Options) (bool, error) {
	targets, err := parse(targetsText)
	if err != nil {
		return false, err
	}
	fmt.Printf("Engine %s %s, seed %d, %d processors, %s/%s.\n\n", mini.Model, mini.Version, opt.Seed,
		runtime.GOMAXPROCS(0), runtime.GOOS, runtime.GOARCH)
	fmt.Println("| target | residues | decoys | RMSD Å | TM | lDDT-CA | stated | error | pTM | s |")
	fmt.Println("|---|---|---|---|---|---|---|---|---|---|")
	var mean scores
	for _, t := range targets {
		began := time.Now()
		r, err := mini.Fold(ctx, t.seq, opt, nil)
		if err != nil {
			return false, fmt.Errorf("fold %s: %w", t.name, err)
		}
		row := score(t, r)
		row.seconds = time.Since(began).Seconds()
		fmt.Printf("| %s | %d | %d | %s |\n", t.name, len(t.seq), r.Decoys, row)
		mean.add(row, 1/float64(len(targets)))
	}
	fmt.Printf("| mean | | | %s |\n\n", mean)
	ok := mean.lddt >= minLDDT && mean.err <= maxError
	verdict := "met"
	if !ok {
		verdict = "missed"
	}
	fmt.Printf("Targets %s: mean lDDT-CA %.3f (at least %.2f), mean error of the stated confidence %.3f "+
		"(at most %.2f).\n", verdict, mean.lddt, minLDDT, mean.err, maxError)
	return ok, nil
}

// scores compare a model with the known structure.
type scores struct {
	rmsd    float64 // Å, of the CA atoms after superposition
	tm      float64 // TM-score, 0 to 1
	lddt    float64 // lDDT of the CA atoms, 0 to 1
	stated  float64 // mean pLDDT that the engine states, 0 to 1
	err     float64 // absolute difference of the two
	ptm     float64 // pTM that the engine states, 0 to 1
	seconds float64 // duration of the fold
}

// String returns the cells of a Markdown row.
func (s scores) String() string {
	return fmt.Sprintf("%.2f | %.2f | %.3f | %.3f | %.3f | %.2f | %.1f",
		s.rmsd, s.tm, s.lddt, s.stated, s.err, s.ptm, s.seconds)
}

// add adds the scores of o, each multiplied by a weight.
func (s *scores) add(o scores, weight float64) {
	s.rmsd += o.rmsd * weight
	s.tm += o.tm * weight
	s.lddt += o.lddt * weight
	s.stated += o.stated * weight
	s.err += o.err * weight
	s.ptm += o.ptm * weight
	s.seconds += o.seconds * weight
}

// score compares the result of a fold with the target. It leaves the duration at zero.
func score(t target, r *mini.Result) scores {
	model := make([]structure.Vec, 0, len(t.ca))
	for _, res := range r.Chain.Residues {
		for _, a := range res.Atoms {
			if a.Name == "CA" {
				model = append(model, a.Pos)
			}
		}
	}
	var out scores
	_, _, out.rmsd = structure.Superpose(model, t.ca)
	out.tm = structure.TMScore(model, t.ca)
	out.lddt, _ = structure.LDDT(model, t.ca)
	for _, v := range r.PLDDT {
		out.stated += v / 100 / float64(len(r.PLDDT))
	}
	out.err = math.Abs(out.stated - out.lddt)
	out.ptm = r.PTM
	return out
}

// parse reads targets: a line ">name source", the sequence, and a line with the x, y and z of each CA atom in Å. Empty
// lines and those that begin with # are skipped.
func parse(text string) ([]target, error) {
	var out []target
	for n, line := range strings.Split(text, "\n") {
		f := strings.Fields(line)
		switch {
		case len(f) == 0 || f[0] == "#":
		case strings.HasPrefix(line, ">"):
			out = append(out, target{name: f[0][1:]})
		case len(f) == 1:
			out[len(out)-1].seq = f[0]
		default:
			var p structure.Vec
			for i := range p {
				v, err := strconv.ParseFloat(f[i], 64)
				if err != nil {
					return nil, fmt.Errorf("targets, line %d: %w", n+1, err)
				}
				p[i] = v
			}
			t := &out[len(out)-1]
			t.ca = append(t.ca, p)
		}
	}
	for _, t := range out {
		if len(t.ca) != len(t.seq) {
			return nil, fmt.Errorf("targets: %s has %d letters and %d positions", t.name, len(t.seq), len(t.ca))
		}
	}
	return out, nil
}
