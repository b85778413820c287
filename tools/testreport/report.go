package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// event is what go test -json writes, one a line; see go doc test2json.
type event struct {
	Action, Package, Test, Output string
	ImportPath                    string // of a package that is built
	Elapsed                       float64
}

// maxKept is the number of lines of a test's output, the last ones, that are kept in case it fails.
const maxKept = 2000

// report follows the events of go test.
type report struct {
	out      io.Writer
	module   string
	packages int // that will be tested; 0: unknown
	recorded shares
	now      func() time.Time
	began    time.Time

	done                    int
	doneShare               float64             // of the recorded shares, in percent
	passed, failed, skipped int                 // tests, without subtests
	broken                  bool                // something failed that is no test, such as a build
	output                  map[string][]string // of the tests that have failed or not ended, by package and test
	wall                    map[string]float64

	mu  sync.Mutex
	cpu map[string]float64 // seconds by package, relative to the module; the watcher writes it
}

func newReport(out io.Writer, module string, packages int, recorded shares, now func() time.Time) *report {
	return &report{
		out:      out,
		module:   module,
		packages: packages,
		recorded: recorded,
		now:      now,
		began:    now(),
		output:   map[string][]string{},
		wall:     map[string]float64{},
		cpu:      map[string]float64{},
	}
}

// measured stores the processor time that a package has used so far.
func (r *report) measured(name string, seconds float64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cpu[name] = max(r.cpu[name], seconds)
}

// read reads events until they end. A line that is no event is passed on.
func (r *report) read(from io.Reader) error {
	lines := bufio.NewScanner(from)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var e event
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil || e.Action == "" {
			fmt.Fprintln(r.out, lines.Text())
			continue
		}
		r.add(e)
	}
	return lines.Err()
}

func (r *report) add(e event) {
	switch e.Action {
	case "build-output":
		fmt.Fprint(r.out, e.Output)
	case "build-fail":
		r.broken = true
	case "output":
		key := e.Package + " " + e.Test
		kept := append(r.output[key], e.Output)
		r.output[key] = kept[max(0, len(kept)-maxKept):]
	case "pass", "fail", "skip":
		if e.Test == "" {
			r.endPackage(e)
		} else {
			r.endTest(e)
		}
	}
}

func (r *report) endTest(e event) {
	if e.Action != "fail" {
		delete(r.output, e.Package+" "+e.Test)
	}
	if strings.Contains(e.Test, "/") {
		return
	}
	switch e.Action {
	case "pass":
		r.passed++
	case "fail":
		r.failed++
	case "skip":
		r.skipped++
	}
}

// endPackage prints the line of a package as go test does, with the progress; and what failed in it.
func (r *report) endPackage(e event) {
	name := r.local(e.Package)
	r.done++
	r.doneShare += r.recorded[name]
	r.wall[name] = e.Elapsed
	output := r.output[e.Package+" "]
	word := map[string]string{"pass": "ok  ", "fail": "FAIL", "skip": "?   "}[e.Action]
	took := fmt.Sprintf("%.1fs", e.Elapsed)
	if slices.ContainsFunc(output, func(line string) bool { return strings.Contains(line, "(cached)") }) {
		took = "(cached)"
	}
	if e.Action == "fail" {
		r.printFailure(e.Package)
		if r.failed == 0 {
			r.broken = true
		}
	}
	fmt.Fprintf(r.out, "%s\t%s\t%s\t%s\n", word, e.Package, took, r.progress())
	for key := range r.output {
		if strings.HasPrefix(key, e.Package+" ") {
			delete(r.output, key)
		}
	}
}

// printFailure prints the output of the tests of a package that failed, and of those that did not end.
func (r *report) printFailure(pkg string) {
	for _, key := range slices.Sorted(maps.Keys(r.output)) {
		if strings.HasPrefix(key, pkg+" ") {
			fmt.Fprint(r.out, strings.Join(r.output[key], ""))
		}
	}
}

// progress says how many packages are done, and how long the rest takes by their recorded shares.
func (r *report) progress() string {
	if r.packages == 0 {
		return fmt.Sprintf("[%d]", r.done)
	}
	text := fmt.Sprintf("[%d of %d", r.done, r.packages)
	if left := 100 - r.doneShare; r.doneShare > 5 && left > 0 {
		rest := time.Duration(float64(r.now().Sub(r.began)) * left / r.doneShare)
		text += ", about " + rest.Round(10*time.Second).String() + " left"
	}
	return text + "]"
}

// close prints the five slowest packages and the numbers of tests.
func (r *report) close() {
	slowest := slices.SortedFunc(maps.Keys(r.wall), func(a, b string) int { return cmp.Compare(r.wall[b], r.wall[a]) })
	var total float64
	for _, s := range r.cpu {
		total += s
	}
	fmt.Fprintf(r.out, "the slowest packages of %d, of %.0f s of processor time in all:\n", len(r.wall), total)
	for _, name := range slowest[:min(5, len(slowest))] {
		fmt.Fprintf(r.out, "  %6.1f s, processor %6.1f s  %s\n", r.wall[name], r.cpu[name], cmp.Or(name, "."))
	}
	fmt.Fprintf(r.out, "%d passed, %d failed, %d skipped\n", r.passed, r.failed, r.skipped)
}

// local returns the path of a package relative to the module; "" is its root.
func (r *report) local(pkg string) string {
	return strings.TrimPrefix(strings.TrimPrefix(pkg, r.module), "/")
}
