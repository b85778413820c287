// Package testprogram runs the program pleat in tests of the whole: as a server, as workers, and in clusters of both.
// Two programs are at hand. The released one (Released) is built as users build it, without the race detector. The
// other is the test binary itself (Main, LinkTestBinary), with the detector if the test has it, and with the faults and
// shortcuts of cli.Hooks.
//
// It imports package program, so that Go runs the tests that use it again when the program has changed. It must not be
// imported by anything but tests.
package testprogram

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"pleat/internal/cli"
	"pleat/internal/cli/program"
	"pleat/internal/engine/apart"
	"pleat/internal/sandbox"
)

// Main runs the tests of a package in which the test binary is the program too. Its TestMain calls it.
func Main(m *testing.M) {
	sandbox.Main()
	apart.Main()
	testscript.Main(tests{m}, map[string]func(){"pleat": runProgram})
}

// runProgram is main of cmd/pleat with the hooks of tests.
func runProgram() { os.Exit(program.Run(cli.Hooks{DeliveryStep: crashStep(), MiniSteps: miniSteps()})) }

// tests removes at the end what the tests share.
type tests struct{ *testing.M }

// Run implements testscript.TestingM.
func (t tests) Run() int {
	defer func() { _ = os.RemoveAll(releasedDir) }() // os.RemoveAll("") does nothing
	return t.M.Run()
}

// Rounds returns how often a test kills what it tests: PLEAT_TEST_ROUNDS, which make soak sets, or else few.
func Rounds(t *testing.T, few int) int {
	t.Helper()
	text := os.Getenv("PLEAT_TEST_ROUNDS")
	if text == "" {
		return few
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("PLEAT_TEST_ROUNDS is %q; it must be a number of rounds", text)
	}
	return n
}

// Released builds the released program, at most once in a process, and returns its path. Crash tests use it, since the
// race detector would make them ten times as long; the scenarios run with the detector.
//
// The program is linked once for all packages of tests: go build leaves a file as it is that has the same content. Each
// process has a copy, since the next change of the program may replace that file while the tests run.
var Released = sync.OnceValues(func() (string, error) {
	shared, err := sharedFolder()
	if err != nil {
		return "", err
	}
	if releasedDir, err = os.MkdirTemp("", "pleat-released-"); err != nil {
		return "", err
	}
	lock, err := os.OpenFile(filepath.Join(shared, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return "", err
	}
	defer lock.Close()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return "", fmt.Errorf("lock %s: %w", lock.Name(), err)
	}
	built := filepath.Join(shared, "pleat")
	build := exec.Command("go", "build", "-trimpath", "-o", built, "pleat/cmd/pleat")
	build.Env = append(os.Environ(), "GOFLAGS=", "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the program: %w\n%s", err, out)
	}
	released := filepath.Join(releasedDir, "pleat")
	content, err := os.ReadFile(built)
	if err != nil {
		return "", err
	}
	return released, os.WriteFile(released, content, 0o700) //nolint:gosec // it is a program
})

var releasedDir string // has the copy of this process; Main removes it

// sharedFolder is where the tests of this checkout build the released program.
func sharedFolder() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	module, err := exec.Command("go", "env", "GOMOD").Output()
	if err != nil {
		return "", fmt.Errorf("find the module: %w", err)
	}
	checkout := fmt.Sprintf("%x", sha256.Sum256(bytes.TrimSpace(module)))[:16]
	dir := filepath.Join(cache, "pleat", "test-program", checkout)
	return dir, os.MkdirAll(dir, 0o700)
}

// LinkTestBinary links this test binary into a folder, which it creates, under the name pleat, by which Main runs it as
// the program, and returns the path.
func LinkTestBinary(t *testing.T, dir string) string {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(dir, "pleat")
	if err := os.Symlink(self, name); err != nil {
		t.Fatal(err)
	}
	return name
}

// crashStep returns a function that kills this process, which is the test binary, at a step of a delivery: if
// PLEAT_TEST_FAULT is STEP:N, when a delivery reaches the step for the N-th time. The released program has none.
func crashStep() func(name string) {
	step, text, ok := strings.Cut(os.Getenv("PLEAT_TEST_FAULT"), ":")
	at, err := strconv.ParseInt(text, 10, 64)
	if !ok || err != nil {
		return nil
	}
	var n atomic.Int64
	return func(name string) {
		if name == step && n.Add(1) == at {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
	}
}

// miniSteps returns PLEAT_TEST_MINI_STEPS, the length of the trajectories of the engine mini; 0: the whole length.
func miniSteps() int {
	text := os.Getenv("PLEAT_TEST_MINI_STEPS")
	if text == "" {
		return 0
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		panic("PLEAT_TEST_MINI_STEPS is not a number: " + text)
	}
	return n
}
