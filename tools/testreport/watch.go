package main

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"
)

// ticks is how many clock ticks /proc counts in a second: on Linux always 100 for programs.
const ticks = 100

// watch reports the processor time of each package that tests below a process use, until stop is called. It looks only
// twice a second, because each look reads the state of every process: up to half a second of a package is missed. Where
// there is no /proc it reports nothing.
func watch(root int, report func(name string, seconds float64)) (stop func()) {
	end := make(chan struct{})
	var watcher sync.WaitGroup
	watcher.Go(func() {
		every := time.NewTicker(500 * time.Millisecond)
		defer every.Stop()
		folder, err := os.Getwd()
		names := map[int]string{} // a test may change the folder of its process later
		for err == nil {
			running := map[int]string{}
			for _, p := range testProcesses(root) {
				name, known := names[p.pid]
				if !known {
					name, _ = filepath.Rel(folder, p.folder)
					name = strings.TrimPrefix(filepath.ToSlash(name), ".")
				}
				running[p.pid] = name
				report(name, p.seconds)
			}
			names = running // the system may use the number of a process that has ended again
			select {
			case <-end:
				return
			case <-every.C:
			}
		}
	})
	return func() { close(end); watcher.Wait() }
}

// testProcess is a process of a test binary that go test started.
type testProcess struct {
	pid     int
	folder  string  // in which it runs: that of its package, unless a test changes it
	seconds float64 // of processor time, with that of its children that have ended
}

// testProcesses returns the test binaries that run below a process. Those that test binaries start themselves are not
// among them.
func testProcesses(root int) (out []testProcess) {
	parents, running := map[int]int{}, map[int]testProcess{}
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return nil
	}
	for _, file := range stats {
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		text, err := os.ReadFile(file)
		if err != nil {
			continue // it has ended
		}
		parent, seconds, ok := parseStat(string(text))
		if !ok {
			continue
		}
		parents[pid] = parent
		if program, err := os.Readlink("/proc/" + strconv.Itoa(pid) + "/exe"); err != nil ||
			!strings.HasSuffix(program, ".test") {
			continue
		}
		if folder, err := os.Readlink("/proc/" + strconv.Itoa(pid) + "/cwd"); err == nil {
			running[pid] = testProcess{pid, folder, seconds}
		}
	}
	for pid, p := range running {
		nested := false
		above := parents[pid]
		for above > 1 && above != root {
			_, test := running[above]
			nested = nested || test
			above = parents[above]
		}
		if above == root && !nested {
			out = append(out, p)
		}
	}
	return out
}

// parseStat reads the parent and the processor time of a process and its ended children from /proc/PID/stat; see
// proc(5). The second field, the name in brackets, may have spaces.
func parseStat(text string) (parent int, seconds float64, ok bool) {
	_, rest, found := strings.Cut(text[strings.LastIndexByte(text, ')')+1:], " ")
	fields := strings.Fields(rest)
	if !found || len(fields) < 15 {
		return 0, 0, false
	}
	parent, err := strconv.Atoi(fields[1])
	sum := 0
	for _, f := range fields[11:15] { // utime, stime, cutime, cstime
		n, e := strconv.Atoi(f)
		if e != nil {
			err = e
		}
		sum += n
	}
	return parent, float64(sum) / ticks, err == nil
}
