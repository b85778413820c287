// Package scenario runs the whole program as its users do: each file of testdata is a script, HTTP in and HTTP out.
package scenario

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"pleat/internal/mail/mailtest"
	"pleat/internal/msa/msatest"
	"pleat/internal/store/storetest"
	"pleat/internal/testprogram"
)

// In the scenarios this test binary is the program.
func TestMain(m *testing.M) { testprogram.Main(m) }

// onPostgres are the scenarios in which the SQL of the two databases differs, or what it does: locks, claims and their
// order, quotas, lists and searches, cascades, and what survives the end of a process. The others would test the
// program above the store a second time; they run on PostgreSQL with PLEAT_TEST_FULL=1.
var onPostgres = []string{
	"batch", "cancel", "classes", "creators", "idempotency", "keys", "library", "list", "mail", "main", "msa-waits",
	"operators", "projects", "quota", "remote-worker", "restart", "webhooks", "webhooks-endpoints",
	"webhooks-ingest", "webhooks-retry", "workflow", "workflow-follow",
}

// onEmpty are the scenarios that begin without a database, or with one without tables: they are about its creation. The
// others begin with a copy of a migrated one.
var onEmpty = []string{"keys", "node", "projects-cli"}

// accurate are the scenarios that need what the engine mini really computes: its accuracy, or the result of the
// released program. In the others its trajectories are short (fewSteps), since they need any structure.
var accurate = []string{"embedded", "main"}

const fewSteps = "500"

// TestScenario runs every txtar file of testdata against a server of its own, HTTP in and HTTP out: on SQLite, and
// those of onPostgres again on PostgreSQL where PLEAT_TEST_POSTGRES names one. The commands of scenarios are in the
// other files of this package.
func TestScenario(t *testing.T) {
	empty, migrated := storetest.Databases(), storetest.Migrated()
	for dialect := range empty {
		t.Run(dialect, func(t *testing.T) {
			for _, name := range scenarios(t) {
				if dialect == "postgres" && os.Getenv("PLEAT_TEST_FULL") == "" && !slices.Contains(onPostgres, name) {
					continue
				}
				fresh := migrated[dialect]
				if slices.Contains(onEmpty, name) {
					fresh = empty[dialect]
				}
				runScenario(t, name, dialect, fresh)
			}
		})
	}
}

// scenarios returns the names of the files of testdata.
func scenarios(t *testing.T) (names []string) {
	t.Helper()
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scenarios: %v", err)
	}
	for _, file := range files {
		names = append(names, strings.TrimSuffix(filepath.Base(file), ".txtar"))
	}
	return names
}

// Every scenario that a list names is there.
func TestListedScenariosExist(t *testing.T) {
	all := scenarios(t)
	for list, names := range map[string][]string{
		"onPostgres": onPostgres, "onEmpty": onEmpty, "accurate": accurate,
	} {
		for i, name := range names {
			if !slices.Contains(all, name) || slices.Contains(names[:i], name) {
				t.Errorf("%s names %s, which is no scenario or there twice", list, name)
			}
		}
	}
}

// runScenario starts a scenario, which runs beside the others.
func runScenario(t *testing.T, name, dialect string, fresh func(testing.TB) string) {
	repository, err := filepath.Abs(filepath.Join("..", "..")) // the repository, for its runners
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Files:               []string{filepath.Join("testdata", name+".txtar")},
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
			if !slices.Contains(accurate, name) {
				e.Setenv("PLEAT_TEST_MINI_STEPS", fewSteps)
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
	for _, name := range scenarios(t) {
		file := filepath.Join("testdata", name+".txtar")
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
