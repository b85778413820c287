// Command testreport runs commands of go test and tells how far they are: a line for each package with the packages
// done and the time left, the output of what failed, and the five slowest packages at the end.
//
//	testreport [-packages N] [-shares FILE [-record]] -- go test -json PACKAGE... [-- go test -json PACKAGE...]
//
// FILE has the share of each package in the processor time of all tests, in percent, as -record writes it. A package
// that takes a third more than its share fails the run. Shares are compared, not times, so that a slow machine passes.
// A cached package has no time: if much is cached, shares are not judged. testreport measures on Linux alone.
//
// The flag -exec of go test would be the other way to measure, but Go caches no result of a test with it.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"time"
)

func main() {
	packages := flag.Int("packages", 0, "number of packages that will be tested, for the progress")
	file := flag.String("shares", "", "file with the share of each package in the processor time")
	record := flag.Bool("record", false, "write the shares of this run to the file instead of judging them")
	flag.Parse()
	code, err := run(os.Stdout, commandsOf(flag.Args()), *packages, *file, *record)
	if err != nil {
		fmt.Fprintln(os.Stderr, "testreport:", err)
	}
	os.Exit(code)
}

// commandsOf splits the arguments at "--" into commands.
func commandsOf(args []string) (out [][]string) {
	for len(args) > 0 {
		end := slices.Index(args, "--")
		if end < 0 {
			end = len(args)
		}
		if end > 0 {
			out = append(out, args[:end])
		}
		args = args[min(end+1, len(args)):]
	}
	return out
}

// run runs the commands one after the other, all of them also after a failure, and returns the exit code.
func run(out io.Writer, commands [][]string, packages int, file string, record bool) (int, error) {
	if len(commands) == 0 {
		return 2, errors.New("no command was named; usage: testreport [FLAG...] -- go test -json PACKAGE...")
	}
	module, err := modulePath()
	if err != nil {
		return 1, err
	}
	recorded := shares{}
	if file != "" && !record {
		if recorded, err = readShares(file); err != nil {
			return 1, err
		}
	}
	r := newReport(out, module, packages, recorded, time.Now)
	for _, command := range commands {
		if err := r.runCommand(command); err != nil {
			return 1, err
		}
	}
	if packages > 0 && r.done != packages {
		fmt.Fprintf(out, "%d of %d packages were tested\n", r.done, packages)
		r.broken = true
	}
	r.close()
	switch {
	case r.failed > 0 || r.broken:
		return 1, nil
	case file != "" && record:
		if err := writeShares(file, r.cpu); err != nil {
			return 1, err
		}
	case file != "":
		if found := compareShares(recorded, r.cpu); len(found) > 0 {
			for _, sentence := range found {
				fmt.Fprintln(out, sentence)
			}
			return 1, nil
		}
	}
	return 0, nil
}

// runCommand runs one command and reads its events. A command that fails without a failed package breaks the run.
func (r *report) runCommand(command []string) error {
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Stderr = r.out
	events, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	stop := watch(cmd.Process.Pid, r.measured)
	failed := r.failed
	if err = r.read(events); err != nil {
		_ = cmd.Process.Kill() // it may wait for a reader
	}
	if waited := cmd.Wait(); waited != nil && r.failed == failed {
		fmt.Fprintf(r.out, "%v: %v\n", command[:min(2, len(command))], waited)
		r.broken = true
	}
	stop()
	return err
}

// modulePath returns the path of the module in whose root the program runs.
func modulePath() (string, error) {
	out, err := exec.Command("go", "list", "-m").Output()
	if err != nil {
		return "", fmt.Errorf("go list -m: %w", err)
	}
	return string(out[:max(0, len(out)-1)]), nil
}
