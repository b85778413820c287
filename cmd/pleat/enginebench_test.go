package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"pleat/api"
)

// What make bench-engines asks for: jobs per hour beside the command line, and what the service adds to a warm job.
const (
	benchJobs     = 10
	wantRatio     = 3.0
	wantShare     = 0.05
	wantAdded     = 100 * time.Millisecond
	benchParams   = `"modelName":"boltz-2","seed":"1"` // the package's defaults: 3 recycles, 200 steps
	benchSequence = "NLYIQWLKDGGPSSGRPPPS"
)

// TestBenchEngines runs ten small jobs through the service and the same ten by boltz predict, in turns, on one core each.
func TestBenchEngines(t *testing.T) {
	if os.Getenv("PLEAT_TEST_BENCH") == "" {
		t.Skip("a measurement: make bench-engines")
	}
	l := newLab(t, "boltz")
	var service, cli, added, shares []float64
	loaded := 0.0
	for i := range benchJobs {
		sequence := benchSequence[i:] + benchSequence[:i] // ten sequences, so that nothing can be remembered
		began := time.Now()
		id, refusal := l.create(fmt.Sprintf(`{"proteinChain":{"sequence":%q}}`, sequence), benchParams, "")
		if id == "" {
			t.Fatal(refusal)
		}
		l.follow(id)
		took := time.Since(began).Seconds()
		v := l.view(id)
		if v.Run.Status != "COMPLETED" {
			t.Fatalf("%s %+v", v.Run.Status, v.Run.Failure)
		}
		service = append(service, took)
		own := 0.0
		for _, stage := range []string{"prepare", "trunk", "diffusion", "confidence"} {
			own += v.Run.Timings[stage]
		}
		if load := v.Run.Timings["load"]; load > 0 {
			loaded += load
		} else {
			added, shares = append(added, took-own), append(shares, (took-own)/own)
		}
		cli = append(cli, l.commandLine(t, i, sequence))
		t.Logf("job %d: service %.2f s (the package's own work %.2f s), boltz predict %.2f s; %v", i+1, took, own, cli[i], v.Run.Timings)
	}
	if len(added) < benchJobs-1 {
		t.Fatalf("only %d of %d jobs were warm", len(added), benchJobs)
	}
	rate := func(s []float64) float64 { return float64(len(s)) / total(s) * 3600 }
	ratio, warm := rate(service)/rate(cli), rate(service[1:])/rate(cli[1:])
	over, share := middle(added), middle(shares)
	fmt.Printf("\n| what | figure | beside | ratio | target |\n|---|---|---|---|---|\n")
	fmt.Printf("| jobs an hour, ten jobs, the first loads (%.1f s) | %.0f | boltz predict %.0f | %.1f | ≥ %g |\n", loaded, rate(service), rate(cli), ratio, wantRatio)
	fmt.Printf("| the same without the first | %.0f | boltz predict %.0f | %.1f | |\n", rate(service[1:]), rate(cli[1:]), warm)
	fmt.Printf("| added to a warm job, median | %.0f ms | the package's own work %.2f s | %.1f %% | ≤ %g %% or %v |\n\n",
		over*1000, middle(service[1:])-over, share*100, wantShare*100, wantAdded)
	if ratio < wantRatio {
		t.Errorf("%.1f times the jobs of the command line; the target is %g", ratio, wantRatio)
	}
	if over > wantAdded.Seconds() && share > wantShare {
		t.Errorf("the service adds %.0f ms, %.1f %%; the target is %v or %g %%", over*1000, share*100, wantAdded, wantShare*100)
	}
}

// follow waits for the end of a job on its stream of events, as a client does that does not want to disturb.
func (l *lab) follow(id string) {
	l.t.Helper()
	if err := l.api.Follow(context.Background(), id, 0, func(api.Event) error { return nil }); err != nil {
		l.t.Fatal(err)
	}
}

// commandLine folds a sequence by boltz predict and returns the seconds it took.
func (l *lab) commandLine(t *testing.T, i int, sequence string) float64 {
	t.Helper()
	dir := t.TempDir()
	input := filepath.Join(dir, fmt.Sprintf("job%d.yaml", i))
	document := fmt.Sprintf("version: 1\nsequences:\n  - protein: {id: A, sequence: %s, msa: empty}\n", sequence)
	if err := os.WriteFile(input, []byte(document), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(filepath.Join(os.Getenv("PLEAT_ENGINE_DATA"), "boltz", "venv", "bin", "boltz"), "predict", input, "--out_dir", dir,
		"--cache", filepath.Join(os.Getenv("PLEAT_WEIGHTS"), "boltz"), "--accelerator", "cpu", "--seed", "1")
	cmd.Env = append(os.Environ(), "OMP_NUM_THREADS=1")
	var log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &log, &log
	began := time.Now()
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s", err, log.Bytes())
	}
	took := time.Since(began).Seconds()
	if found, err := filepath.Glob(filepath.Join(dir, "*", "predictions", "*", "*_model_0.cif")); err != nil || len(found) != 1 {
		t.Fatalf("boltz predict wrote no structure\n%s", log.Bytes())
	}
	return took
}

func total(v []float64) float64 {
	sum := 0.0
	for _, x := range v {
		sum += x
	}
	return sum
}

func middle(v []float64) float64 {
	v = slices.Sorted(slices.Values(v))
	return v[len(v)/2]
}
