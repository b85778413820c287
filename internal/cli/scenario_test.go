package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"pleat/internal/mail/mailtest"
	"pleat/internal/msa/msatest"
	"pleat/internal/sandbox"
	"pleat/internal/store/storetest"
)

// In the scenarios this test binary is the program.
func TestMain(m *testing.M) {
	sandbox.Main()
	testscript.Main(tests{m}, map[string]func(){"pleat": program})
}

// program is main with the faults of the crash tests.
func program() { os.Exit(Run(Hooks{DeliveryStep: crashStep()})) }

// tests removes at the end what the tests share.
type tests struct{ *testing.M }

func (t tests) Run() int {
	defer func() { _ = os.RemoveAll(releasedDir) }() // os.RemoveAll("") does nothing
	return t.M.Run()
}

// TestScenario runs every txtar file of testdata against a server of its own, HTTP in and HTTP out: on SQLite, and
// again on PostgreSQL where PLEAT_TEST_POSTGRES names one. The commands of scenarios are in the other files
// scenario_*_test.go.
func TestScenario(t *testing.T) {
	for name, fresh := range storetest.Databases() {
		t.Run(name, func(t *testing.T) { runScenarios(t, name, fresh) })
	}
}

func runScenarios(t *testing.T, dialect string, fresh func(testing.TB) string) {
	repository, err := filepath.Abs(filepath.Join("..", "..")) // the repository, for its runners
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Deadline:            deadline(t),
		Setup: func(e *testscript.Env) error {
			w := &scenario{keys: map[string]string{}}
			e.Values[scenarioKey{}] = w
			e.Setenv("PLEAT_DATABASE", fresh(t))
			e.Setenv("PLEAT_DATA", filepath.Join(e.WorkDir, "data"))
			e.Setenv("REPOSITORY", repository)
			e.Setenv("GORACE", os.Getenv("GORACE"))
			if dialect == "postgres" {
				e.Setenv("PLEAT_SECRET_KEY", strings.Repeat("ab", 32))
			}
			e.Defer(w.close)
			return nil
		},
		Cmds: scenarioCommands,
		Condition: func(name string) (bool, error) {
			switch name {
			case "sqlite", "postgres":
				return name == dialect, nil
			}
			return false, fmt.Errorf("unknown condition %q", name)
		},
	})
}

// No scenario ends before its last line: stop is a command of testscript that passes the test at once.
func TestScenariosHaveNoStop(t *testing.T) {
	if scenarioCommands["stop"] != nil {
		t.Error("testscript's own command stop hides that of the scenarios")
	}
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scenarios: %v", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		script, _, _ := strings.Cut(string(text), "\n-- ")
		for line := range strings.Lines(script) {
			if words := strings.Fields(line); len(words) > 0 && words[0] == "stop" {
				t.Errorf("%s: %s", file, line)
			}
		}
	}
}

// deadline leaves a scenario time to print its log.
func deadline(t *testing.T) time.Time {
	if d, ok := t.Deadline(); ok {
		return d.Add(-5 * time.Second)
	}
	return time.Time{}
}

// scenario is what one scenario has: its server, its keys and the last response.
type scenario struct {
	server    *process
	workers   []*process
	receivers map[string]*process // of deliveries, by name
	mailboxes map[string]*mailtest.Server
	msa       *msatest.Server
	keys      map[string]string // by user
	last      response
}

type scenarioKey struct{}

func scenarioOf(ts *testscript.TestScript) *scenario { return ts.Value(scenarioKey{}).(*scenario) }

func (w *scenario) close() {
	if w.server != nil {
		w.server.kill()
	}
	for _, s := range w.workers {
		s.kill()
	}
	for _, s := range w.receivers {
		s.kill()
	}
}
