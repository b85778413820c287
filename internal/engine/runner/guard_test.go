package runner

import (
	"bufio"
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"pleat"
	"pleat/internal/engine/enginetest"
	"pleat/internal/sandbox"
)

// stuckRunner holds Python's lock in a C function, so that none of its threads notices the end of its input.
const stuckRunner = `
import ctypes, os, signal, subprocess
import foldrun

class Stuck(foldrun.Runner):
    engine = "fake"
    def load(self, request):
        return foldrun.Ready(engine_version="1")
    def predict(self, job):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        lifeline = open(os.environ["PLEAT_TEST_LIFELINE"], "w")
        child = subprocess.Popen(["sleep", "600"], pass_fds=[lifeline.fileno()])
        job.log(f"stuck {os.getpid()} {child.pid}")
        ctypes.PyDLL(None).sleep(600)

foldrun.serve(Stuck())
`

// service is a worker that a test kills: it runs the job "stuck" in the engine of a folder and prints the job's log.
func service(dir string) {
	m, err := ReadManifest(dir)
	if err != nil {
		fmt.Println(err)
		os.Exit(2)
	}
	log := slog.New(slog.NewTextHandler(os.Stdout, nil))
	r := &Runner{
		Manifest:  m,
		Cache:     filepath.Join(dir, "cache"),
		Library:   os.Getenv("PLEAT_TEST_LIBRARY"),
		Processes: NewProcessPool(nil, 1, 0, log),
		Sandbox:   sandbox.Auto,
		Log:       log,
	}
	w := pleat.Work{
		Kind:    pleat.TaskFold,
		Task:    "task",
		Attempt: 1,
		Model:   r.Models()[0],
		Dir:     dir,
		Fold: &pleat.FoldInput{Name: "stuck", Seed: "1",
			Sequences: []pleat.Sequence{
				{ID: "s", Kind: pleat.Protein, Text: "AGCKS", Chains: []string{"A"}, Count: 1},
			}},
	}
	fmt.Println("ended:", r.Run(context.Background(), w, printed{&enginetest.Sink{}}).Failure)
}

// printed is a sink that prints.
type printed struct{ *enginetest.Sink }

func (printed) Progress(string, int, int) {}
func (printed) Log(line string)           { fmt.Println(line) }

// If the service is killed, its runners and their children end too, even those that ignore their input.
func TestServiceKilled(t *testing.T) {
	t.Parallel()
	needPython(t)
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	library, err := filepath.Abs("../../../runners")
	if err != nil {
		t.Fatal(err)
	}
	for name, argv := range map[string]string{"deaf": exe, "python": "{python}\", \"runner.py"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			alive := newLifeline(t, filepath.Join(dir, "cache"))
			manifest := fmt.Sprintf(`{
				"engine": "fake", "version": "1", "protocol": 1, "argv": ["%s"],
				"env": {"PLEAT_TEST_RUNNER": "yes", "PLEAT_TEST_LIFELINE": %q},
				"device": "cpu", "entities": ["protein"],
				"models": [{"name": "fake", "title": "Fake", "licence": "none"}]}`, argv, alive.path)
			for file, text := range map[string]string{ManifestFile: manifest, "runner.py": stuckRunner} {
				if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			cmd := exec.Command(exe)
			cmd.Env = append(os.Environ(), "PLEAT_TEST_SERVICE="+dir, "PLEAT_TEST_LIBRARY="+library)
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			runner := 0
			var said strings.Builder
			for lines := bufio.NewScanner(out); runner == 0 && lines.Scan(); {
				fmt.Fprintln(&said, lines.Text())
				_, _ = fmt.Sscanf(lines.Text(), "stuck %d", &runner)
			}
			if err := cmd.Process.Signal(syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			_ = cmd.Wait()
			if runner == 0 {
				t.Fatalf("the runner did not begin: %s", &said)
			}
			t.Cleanup(func() { _ = syscall.Kill(-runner, syscall.SIGKILL) }) // if it lives on
			alive.awaitEnd(t)
		})
	}
}
