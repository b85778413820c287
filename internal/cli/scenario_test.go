package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
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

// program is main with the faults of the crash tests, and with the steps of mini that a scenario sets.
func program() {
	steps, _ := strconv.Atoi(os.Getenv("PLEAT_TEST_MINI_STEPS"))
	os.Exit(Run(Hooks{DeliveryStep: crashStep(), MiniSteps: steps}))
}

// tests removes at the end what the tests share.
type tests struct{ *testing.M }

func (t tests) Run() int {
	defer func() { _ = os.RemoveAll(releasedDir) }() // os.RemoveAll("") does nothing
	return t.M.Run()
}

// onPostgres are the scenarios that PostgreSQL runs for each change: those in which its SQL differs, or its
// notifications and locks matter. The others are the same program on the same rows. PLEAT_TEST_FULL=1 runs them all.
var onPostgres = []string{
	"batch", "cancel", "classes", "creators", "idempotency", "keys", "library", "list", "mail", "main", "msa-waits",
	"operators", "projects", "quota", "remote-worker", "restart", "secrets", "webhooks", "webhooks-endpoints",
	"webhooks-ingest", "webhooks-retry", "workflow", "workflow-follow",
}

// onEmpty are the scenarios whose first command makes the tables. All others start from a migrated database.
var onEmpty = []string{"keys", "node", "projects-cli"}

// withFullMini are the scenarios that need the structures of the released mini. The others need some structure, and its
// walk takes few of the steps.
var withFullMini = []string{"embedded", "main", "verify"}

// TestScenario runs the txtar files of testdata, each against a server of its own, HTTP in and HTTP out: all of them on
// SQLite, and onPostgres on PostgreSQL where PLEAT_TEST_POSTGRES names one. The commands of scenarios are in the other
// files scenario_*_test.go.
func TestScenario(t *testing.T) {
	for dialect := range storetest.Databases() {
		t.Run(dialect, func(t *testing.T) { runScenarios(t, dialect) })
	}
}

// The lists of scenarios name files.
func TestScenariosExist(t *testing.T) {
	for _, name := range slices.Concat(onPostgres, onEmpty, withFullMini) {
		if _, err := os.Stat(filepath.Join("testdata", name+".txtar")); err != nil {
			t.Error(err)
		}
	}
}

// scenarioFiles returns the scenarios that a database runs.
func scenarioFiles(t *testing.T, dialect string) (out []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", "*.txtar"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no scenarios: %v", err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".txtar")
		if dialect == "sqlite" || os.Getenv("PLEAT_TEST_FULL") == "1" || slices.Contains(onPostgres, name) {
			out = append(out, file)
		}
	}
	return out
}

func runScenarios(t *testing.T, dialect string) {
	repository, err := filepath.Abs(filepath.Join("..", "..")) // the repository, for its runners
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Files:               scenarioFiles(t, dialect),
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Deadline:            deadline(t),
		Setup: func(e *testscript.Env) error {
			w := &scenario{keys: map[string]string{}}
			e.Values[scenarioKey{}] = w
			name := strings.TrimPrefix(filepath.Base(e.WorkDir), "script-")
			fresh := storetest.Migrated()[dialect]
			if slices.Contains(onEmpty, name) {
				fresh = storetest.Databases()[dialect]
			}
			e.Setenv("PLEAT_DATABASE", fresh(t))
			if !slices.Contains(withFullMini, name) {
				e.Setenv("PLEAT_TEST_MINI_STEPS", "300")
			}
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
