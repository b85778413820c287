// Command bench folds the tuning targets with the embedded engine and prints a Markdown table of how near
// the models come and what the engine said of them. It exits with 1 where the floor is missed: over the
// seven targets a mean lDDT-CA of 0.55 or more, and a mean error of the stated confidence of 0.06 or less.
//
//	go run ./tools/mini/bench
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

//go:embed testdata/targets.txt
var targetsText string

const (
	leastLDDT = 0.55
	mostError = 0.06
)

type target struct {
	name, seq string
	ca        []structure.Vec
}

func main() {
	seed := flag.Uint64("seed", 1, "seed of the folds")
	decoys := flag.Int("decoys", 0, "trajectories a target; 0 chooses by length")
	workers := flag.Int("workers", 0, "goroutines; 0 is one for each processor")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	ok, err := run(ctx, mini.Options{Seed: *seed, Decoys: *decoys, Workers: *workers})
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
	}
	if err != nil || !ok {
		os.Exit(1)
	}
}

func run(ctx context.Context, opt mini.Options) (bool, error) {
	targets, err := parse(targetsText)
	if err != nil {
		return false, err
	}
	fmt.Printf("Engine %s %s, seed %d, %d processors, %s/%s.\n\n", mini.Model, mini.Version, opt.Seed,
		runtime.GOMAXPROCS(0), runtime.GOOS, runtime.GOARCH)
	fmt.Println("| target | residues | decoys | RMSD Å | TM | lDDT-CA | stated | error | pTM | s |")
	fmt.Println("|---|---|---|---|---|---|---|---|---|---|")
	var sum [7]float64
	for _, t := range targets {
		began := time.Now()
		r, err := mini.Fold(ctx, t.seq, opt, nil)
		if err != nil {
			return false, fmt.Errorf("fold %s: %w", t.name, err)
		}
		row := judge(t, r)
		row[6] = time.Since(began).Seconds()
		fmt.Printf("| %s | %d | %d | %.2f | %.2f | %.3f | %.3f | %.3f | %.2f | %.1f |\n", t.name, len(t.seq), r.Decoys,
			row[0], row[1], row[2], row[3], row[4], row[5], row[6])
		for i := range sum {
			sum[i] += row[i] / float64(len(targets))
		}
	}
	fmt.Printf("| mean | | | %.2f | %.2f | %.3f | %.3f | %.3f | %.2f | %.1f |\n\n", sum[0], sum[1], sum[2], sum[3],
		sum[4], sum[5], sum[6])
	ok := sum[2] >= leastLDDT && sum[4] <= mostError
	verdict := "held"
	if !ok {
		verdict = "missed"
	}
	fmt.Printf("Floor %s: mean lDDT-CA %.3f (at least %.2f), mean error of the stated confidence %.3f "+
		"(at most %.2f).\n", verdict, sum[2], leastLDDT, sum[4], mostError)
	return ok, nil
}

// judge gives RMSD, TM-score, lDDT, stated confidence, its error and pTM.
func judge(t target, r *mini.Result) (row [7]float64) {
	model := make([]structure.Vec, 0, len(t.ca))
	for _, res := range r.Chain.Residues {
		for _, a := range res.Atoms {
			if a.Name == "CA" {
				model = append(model, a.Pos)
			}
		}
	}
	_, _, row[0] = structure.Superpose(model, t.ca)
	row[1] = structure.TMScore(model, t.ca)
	row[2], _ = structure.LDDT(model, t.ca)
	for _, v := range r.PLDDT {
		row[3] += v / 100 / float64(len(r.PLDDT))
	}
	row[4] = math.Abs(row[3] - row[2])
	row[5] = r.PTM
	return row
}

// parse reads targets: ">name source", the sequence, and a line of x y z for each CA.
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
