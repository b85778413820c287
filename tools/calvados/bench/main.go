// Command bench measures the steps per second of the dynamics engine on one and two cores and, if the Python of
// PLEAT_PYTHON (default python3) has OpenMM, those of OpenMM's CPU platform on the same systems. It prints a table in
// Markdown. It exits with 1 if OpenMM was present and a target was missed: 10 times the speed of OpenMM up to 150
// beads, 4 times above, each with the better of one and two cores.
//
// The speeds are compared as a ratio because both depend on the machine. A measurement is divided into slices of 10 ms,
// of which the fastest counts: other work on the machine slows both programs, but seldom every slice.
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

// slice is the length of a part of a measurement in seconds.
const slice = 0.01

// timeStep is the simulated time of a step in ps.
const timeStep = 0.01

func main() {
	seconds := flag.Float64("seconds", 3, "length of a measurement")
	script := flag.String("openmm", "../../../internal/calvados/testdata/openmm_system.py",
		"script that builds the system in OpenMM")
	flag.Parse()
	if err := run(os.Stdout, *seconds, *script); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// run measures chains of 50 to 500 beads and prints the table. A missed target is an error, which is returned after the
// last row.
func run(w io.Writer, seconds float64, script string) error {
	other := findOpenMM(script)
	fmt.Fprintf(w, "%s/%s, %d cores, %s; OpenMM: %s\n\n", runtime.GOOS, runtime.GOARCH, runtime.NumCPU(),
		runtime.Version(), other.version)
	fmt.Fprintln(w, "| beads | cores | steps/s | ns/day | OpenMM CPU steps/s | ratio | target |")
	fmt.Fprintln(w, "|---|---|---|---|---|---|---|")
	var missed []string
	for _, n := range []int{50, 150, 450, 500} {
		target := 10.0
		if n > 150 {
			target = 4
		}
		ratio, err := compare(w, n, target, seconds, other)
		if err != nil {
			return err
		}
		if other.python != "" && ratio < target {
			missed = append(missed, fmt.Sprintf("%d beads: %.1f times OpenMM, target %.0f", n, ratio, target))
		}
	}
	if missed != nil {
		return errors.New(strings.Join(missed, "; "))
	}
	return nil
}

// compare measures a chain of n beads on one and two cores, prints a row for each, and returns the ratio of the better
// speeds. Both programs start from the same positions. Without OpenMM the ratio has no meaning.
func compare(w io.Writer, n int, target, seconds float64, other openMM) (ratio float64, err error) {
	system, err := system(n, 1)
	if err != nil {
		return 0, err
	}
	var ours, theirs float64 // the better of one and two cores
	for _, cores := range []int{1, 2} {
		speed, positions, err := measure(n, cores, seconds)
		if err != nil {
			return 0, err
		}
		ours = max(ours, speed)
		otherSpeed, ratio := "—", "—"
		if other.python != "" {
			v, err := other.measure(system, positions, cores, seconds)
			if err != nil {
				return 0, err
			}
			theirs = max(theirs, v)
			otherSpeed, ratio = fmt.Sprintf("%.0f", v), fmt.Sprintf("%.1f", speed/v)
		}
		fmt.Fprintf(w, "| %d | %d | %.0f | %.0f | %s | %s | %.0f |\n", n, cores, speed, speed*timeStep/1000*86400,
			otherSpeed, ratio, target)
	}
	return ours / theirs, nil
}

// system returns a disordered chain of n residues in a box of 40 nm, simulated on a number of cores.
func system(n, cores int) (*calvados.System, error) {
	p := calvados.Defaults()
	p.Box, p.Workers, p.Seed = 40, cores, 1
	m, err := calvados.FromSequence(sequence(n))
	if err != nil {
		return nil, err
	}
	return calvados.NewSystem(p, m)
}

// sequence returns n residues with the composition of disordered regions: polar and charged, few aromatic ones.
func sequence(n int) string {
	const stretch = "MSKGEELFTGSVPQDNSEERQKASPGSTKDLEAGYSPTNQRESHPAVKDG"
	return strings.Repeat(stretch, n/len(stretch)+1)[:n]
}

// measure returns the steps per second of this engine, and the positions in nm from which it measured. The chain is
// minimised and simulated for 50,000 steps first: the flat spiral in which it is built has few contacts.
func measure(n, cores int, seconds float64) (speed float64, positions [][3]float64, err error) {
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
	d.Advance(50_000)
	positions = append(positions, d.Positions()...)
	for began := time.Now(); time.Since(began).Seconds() < seconds; {
		steps, start, spent := 0, time.Now(), 0.0
		for spent < slice {
			d.Advance(10)
			steps += 10
			spent = time.Since(start).Seconds()
		}
		speed = max(speed, float64(steps)/spent)
	}
	return speed, positions, nil
}

// openMM is the program that this engine is compared with.
type openMM struct {
	python  string // the interpreter; empty if it has no OpenMM
	version string // or why there is none
	script  string // builds a system in OpenMM and measures it
}

// findOpenMM looks for OpenMM in the Python of PLEAT_PYTHON.
func findOpenMM(script string) openMM {
	python := os.Getenv("PLEAT_PYTHON")
	if python == "" {
		python = "python3"
	}
	out, err := exec.Command(python, "-c", "import openmm; print(openmm.version.version)").Output()
	if err != nil {
		return openMM{version: "none (" + python + " has no module openmm)"}
	}
	return openMM{python: python, version: strings.TrimSpace(string(out)), script: script}
}

// measure returns the steps per second of OpenMM on a system at the given positions.
func (o openMM) measure(s *calvados.System, positions [][3]float64, cores int, seconds float64) (float64, error) {
	dir, err := os.MkdirTemp("", "pleat-bench")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	d := s.Describe()
	d.PositionsNm = positions
	raw, err := json.Marshal(d)
	if err != nil {
		return 0, err
	}
	file := filepath.Join(dir, "system.json")
	if err := os.WriteFile(file, raw, 0o600); err != nil {
		return 0, err
	}
	cmd := exec.Command(o.python, o.script, "speed", file, strconv.Itoa(cores), fmt.Sprint(seconds))
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return 0, fmt.Errorf("run %s: %w", o.script, err)
	}
	return strconv.ParseFloat(strings.TrimSpace(string(out)), 64)
}
