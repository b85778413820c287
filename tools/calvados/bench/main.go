// Bench measures the steps per second of the dynamics engine on one and two cores
// and, where the Python named by PLEAT_PYTHON (python3) has OpenMM, of the same
// systems in OpenMM's CPU platform. It prints a Markdown table and fails where
// OpenMM was there and a target was missed: 10 times OpenMM up to 150 beads, 4 times
// above, the better of one and two cores on either side. A measurement is cut into
// slices of 10 ms of which the fastest counts, on either side: what else the machine
// does slows both, but seldom the same slice.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"pleat/internal/calvados"
)

const slice = 0.01 // s

func main() {
	seconds := flag.Float64("seconds", 3, "measure each system for so long")
	script := flag.String("openmm", "internal/calvados/testdata/openmm_system.py",
		"script that builds the system in OpenMM")
	flag.Parse()
	if err := run(os.Stdout, *seconds, *script); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(w io.Writer, seconds float64, script string) error {
	python, openmm := findOpenMM()
	fmt.Fprintf(w, "%s/%s, %d cores, %s; OpenMM: %s\n\n", runtime.GOOS, runtime.GOARCH, runtime.NumCPU(),
		runtime.Version(), openmm)
	fmt.Fprintln(w, "| beads | cores | steps/s | ns/day | OpenMM CPU steps/s | ratio | target |")
	fmt.Fprintln(w, "|---|---|---|---|---|---|---|")
	var missed []string
	for _, n := range []int{50, 150, 450, 500} {
		system, err := system(n, 1)
		if err != nil {
			return err
		}
		target := 10.0
		if n > 150 {
			target = 4
		}
		var ours, theirs [2]float64
		for k, cores := range []int{1, 2} {
			var where [][3]float64
			if ours[k], where, err = measure(n, cores, seconds); err != nil {
				return err
			}
			other, ratio := "—", "—"
			if python != "" {
				if theirs[k], err = measureOpenMM(python, script, system, where, cores, seconds); err != nil {
					return err
				}
				other, ratio = fmt.Sprintf("%.0f", theirs[k]), fmt.Sprintf("%.1f", ours[k]/theirs[k])
			}
			fmt.Fprintf(w, "| %d | %d | %.0f | %.0f | %s | %s | %.0f |\n", n, cores, ours[k], ours[k]*0.01/1000*86400,
				other, ratio, target)
		}
		if python != "" {
			if r := max(ours[0], ours[1]) / max(theirs[0], theirs[1]); r < target {
				missed = append(missed, fmt.Sprintf("%d beads: %.1f times OpenMM, target %.0f", n, r, target))
			}
		}
	}
	if missed != nil {
		return errors.New(strings.Join(missed, "; "))
	}
	return nil
}

// system is a disordered chain of n residues in a box of 40 nm.
func system(n, cores int) (*calvados.System, error) {
	p := calvados.Defaults()
	p.Box, p.Workers, p.Seed = 40, cores, 1
	m, err := calvados.FromSequence(sequence(n))
	if err != nil {
		return nil, err
	}
	return calvados.NewSystem(p, m)
}

// sequence repeats a stretch with the composition of disordered regions: polar,
// charged, few aromatics.
func sequence(n int) string {
	const stretch = "MSKGEELFTGSVPQDNSEERQKASPGSTKDLEAGYSPTNQRESHPAVKDG"
	return strings.Repeat(stretch, n/len(stretch)+1)[:n]
}

func measure(n, cores int, seconds float64) (float64, [][3]float64, error) {
	s, err := system(n, cores)
	if err != nil {
		return 0, nil, err
	}
	d := calvados.NewDynamics(s)
	defer d.Close()
	if err := d.Minimise(context.Background()); err != nil {
		return 0, nil, err
	}
	d.Heat()
	d.Advance(50_000) // out of the flat spiral
	where := append([][3]float64(nil), d.Positions()...)
	best := 0.0
	for begun := time.Now(); time.Since(begun).Seconds() < seconds; {
		done, start, spent := 0, time.Now(), 0.0
		for spent < slice {
			d.Advance(10)
			done += 10
			spent = time.Since(start).Seconds()
		}
		best = max(best, float64(done)/spent)
	}
	return best, where, nil
}

// findOpenMM names a Python that has OpenMM, empty where there is none, and the version in words.
func findOpenMM() (python, version string) {
	python = os.Getenv("PLEAT_PYTHON")
	if python == "" {
		python = "python3"
	}
	out, err := exec.Command(python, "-c", "import openmm; print(openmm.version.version)").Output()
	if err != nil {
		return "", "none (" + python + " has no module openmm)"
	}
	return python, strings.TrimSpace(string(out))
}

func measureOpenMM(python, script string, s *calvados.System, where [][3]float64, cores int, seconds float64) (float64,
	error) {
	dir, err := os.MkdirTemp("", "pleat-bench")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	d := s.Describe()
	d.PositionsNm = where
	raw, err := json.Marshal(d)
	if err != nil {
		return 0, err
	}
	file := filepath.Join(dir, "system.json")
	if err := os.WriteFile(file, raw, 0o600); err != nil {
		return 0, err
	}
	cmd := exec.Command(python, script, "speed", file, strconv.Itoa(cores), fmt.Sprint(seconds))
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return 0, fmt.Errorf("run %s: %w", script, err)
	}
	return strconv.ParseFloat(strings.TrimSpace(string(out)), 64)
}
