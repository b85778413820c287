package engines

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pleat/api"
)

// Sizes and targets of make bench-engines: jobs per hour compared with the command line, and what the service adds to a
// warm job.
const (
	benchJobs = 10
	wantRatio = 3.0
	wantShare = 0.05
	wantAdded = 100 * time.Millisecond
	// small: commandLine has the same
	benchParams = `"modelName":"boltz-2","seed":"1","recyclingSteps":1,"samplingSteps":20`
	// the package's defaults: 3 recycles, 200 steps
	benchWarm     = `"modelName":"boltz-2","seed":"1"`
	benchWarmJobs = 5
	benchSequence = "NLYIQWLKDGGPSSGRPPPS"
)

// TestBenchEngines runs ten small jobs through the service and the same ten by boltz predict, in alternation, on one
// core each.
func TestBenchEngines(t *testing.T) {
	if os.Getenv("PLEAT_TEST_BENCH") == "" {
		t.Skip("a measurement: make bench-engines")
	}
	l := startEngines(t, "boltz")
	var service, cli, added, shares, warmWork []float64
	spent := 0.0 // CPU seconds of the command line, which the machine's other work does not change much
	loaded := 0.0
	for i := range benchJobs {
		sequence := benchSequence[i:] + benchSequence[:i] // ten sequences, so that no result is cached
		took, v := l.timed(sequence, benchParams)
		loaded += v.Run.Timings["load"]
		service = append(service, took)
		wall, cpu := l.commandLine(t, i, sequence)
		cli, spent = append(cli, wall), spent+cpu
		t.Logf("job %d: service %.2f s, boltz predict %.2f s; %v", i+1, took, wall, v.Run.Timings)
	}
	own := l.cpuSeconds(l.runner())
	for i := range benchWarmJobs {
		took, v := l.timed(benchSequence[i:]+benchSequence[:i], benchWarm)
		if v.Run.Timings["load"] > 0 {
			t.Fatal("a warm job loaded")
		}
		work := 0.0
		for _, stage := range []string{"prepare", "trunk", "diffusion", "confidence"} {
			work += v.Run.Timings[stage]
		}
		added, shares, warmWork = append(added, took-work), append(shares, (took-work)/work), append(warmWork, work)
		t.Logf("warm job: %.2f s, the package's own work %.2f s; %v", took, work, v.Run.Timings)
	}
	queued := l.queued()
	rate := func(s []float64) float64 { return float64(len(s)) / total(s) * 3600 }
	ratio, warm := rate(service)/rate(cli), rate(service[1:])/rate(cli[1:])
	over, share := middle(added), middle(shares)
	fmt.Printf("\n| measured | figure | compared with | ratio | target |\n|---|---|---|---|---|\n")
	fmt.Printf("| jobs an hour, ten jobs, the first loads (%.1f s) | %.0f | boltz predict %.0f | %.1f | ≥ %g |\n",
		loaded, rate(service), rate(cli), ratio, wantRatio)
	fmt.Printf("| the same without the first | %.0f | boltz predict %.0f | %.1f | |\n", rate(service[1:]),
		rate(cli[1:]), warm)
	fmt.Printf("| ten jobs in the queue at once, two slots | %.0f | one after another %.0f | %.1f | |\n", queued,
		rate(service[1:]), queued/rate(service[1:]))
	fmt.Printf("| CPU seconds of the ten jobs, loading included | %.0f | boltz predict %.0f | %.1f | |\n", own, spent,
		spent/own)
	fmt.Printf("| added to a warm job of the package's defaults, median | %.0f ms | the package's own work %.2f s | "+
		"%.1f %% | ≤ %g %% or %v |\n\n",
		over*1000, middle(warmWork), share*100, wantShare*100, wantAdded)
	if ratio < wantRatio {
		t.Errorf("%.1f times the jobs of the command line; the target is %g", ratio, wantRatio)
	}
	if over > wantAdded.Seconds() && share > wantShare {
		t.Errorf("the service adds %.0f ms, %.1f %%; the target is %v or %g %%", over*1000, share*100, wantAdded,
			wantShare*100)
	}
}

// queued returns the jobs per hour of ten that are created at once and run in the two slots of the server, each with a
// process that has loaded the model.
func (l *engineServer) queued() float64 {
	l.T.Helper()
	var began time.Time
	for _, jobs := range []int{2, benchJobs} { // the first two load
		var ids []string
		began = time.Now()
		for i := range jobs {
			sequence := benchSequence[i:] + benchSequence[:i]
			id := l.mustCreate(fmt.Sprintf(`{"proteinChain":{"sequence":%q}}`, sequence), benchParams, "")
			ids = append(ids, id)
		}
		for _, id := range ids {
			l.follow(id)
			l.completed(id)
		}
	}
	return benchJobs / time.Since(began).Hours()
}

// timed runs a job and returns the seconds until its client knew of its end.
func (l *engineServer) timed(sequence, params string) (float64, api.JobView) {
	l.T.Helper()
	began := time.Now()
	id := l.mustCreate(fmt.Sprintf(`{"proteinChain":{"sequence":%q}}`, sequence), params, "")
	l.follow(id)
	took := time.Since(began).Seconds()
	return took, l.completed(id)
}

// follow waits for the end of a job on its event stream, which costs the server less than polling.
func (l *engineServer) follow(id string) {
	l.T.Helper()
	if err := l.api.Follow(context.Background(), id, 0, func(api.Event) error { return nil }); err != nil {
		l.T.Fatal(err)
	}
}

// cpuSeconds returns the CPU time that a process has used.
func (l *engineServer) cpuSeconds(pid int) float64 {
	l.T.Helper()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		l.T.Fatal(err)
	}
	_, after, _ := bytes.Cut(stat, []byte(") "))
	fields := strings.Fields(string(after)) // the third field of the line is the first here
	user, err := strconv.ParseFloat(fields[11], 64)
	if err != nil {
		l.T.Fatal(err)
	}
	system, err := strconv.ParseFloat(fields[12], 64)
	if err != nil {
		l.T.Fatal(err)
	}
	return (user + system) / 100 // ticks
}

// commandLine folds a sequence by boltz predict and returns the seconds it took, and those of CPU.
func (l *engineServer) commandLine(t *testing.T, i int, sequence string) (wall, cpu float64) {
	t.Helper()
	dir := t.TempDir()
	input := filepath.Join(dir, fmt.Sprintf("job%d.yaml", i))
	document := fmt.Sprintf("version: 1\nsequences:\n  - protein: {id: A, sequence: %s, msa: empty}\n", sequence)
	if err := os.WriteFile(input, []byte(document), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(filepath.Join(os.Getenv("PLEAT_ENGINE_DATA"), "boltz", "venv", "bin", "boltz"), "predict",
		input, "--out_dir", dir,
		"--cache", filepath.Join(os.Getenv("PLEAT_WEIGHTS"), "boltz"), "--accelerator", "cpu", "--seed", "1",
		"--recycling_steps", "1", "--sampling_steps", "20")
	cmd.Env = append(os.Environ(), "OMP_NUM_THREADS=1")
	var log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &log, &log
	began := time.Now()
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s", err, log.Bytes())
	}
	took := time.Since(began).Seconds()
	if found, err := filepath.Glob(filepath.Join(dir, "*", "predictions", "*", "*_model_0.cif")); err != nil ||
		len(found) != 1 {
		t.Fatalf("boltz predict wrote no structure\n%s", log.Bytes())
	}
	return took, (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds()
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
