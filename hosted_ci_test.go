package pleat_test

import (
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// hostedCI is what TestHostedCI reads of a workflow. Its keys are checked: a misspelt one would be ignored by the host.
type hostedCI struct {
	Name        string
	On          map[string]any
	Permissions map[string]string
	Concurrency struct {
		Group  string
		Cancel string `yaml:"cancel-in-progress"`
	}
	Env  map[string]string
	Jobs map[string]struct {
		Needs    string
		If       string
		RunsOn   string `yaml:"runs-on"`
		Timeout  int    `yaml:"timeout-minutes"`
		Strategy struct {
			FailFast *bool `yaml:"fail-fast"`
			Matrix   map[string][]string
		}
		Steps []hostedStep
	}
}

type hostedStep struct {
	Uses, Run, Shell string
	With, Env        map[string]string
}

func readHosted(t *testing.T, name string, target any) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	d := yaml.NewDecoder(strings.NewReader(string(text)))
	d.KnownFields(true)
	if err := d.Decode(target); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return string(text)
}

// The hosted CI calls .ci/run for the gate, for lanes that exist and for everything, and may write nothing.
func TestHostedCI(t *testing.T) {
	var w hostedCI
	text := readHosted(t, ".github/workflows/ci.yml", &w)
	var setup struct {
		Name, Description string
		Runs              struct {
			Using string
			Steps []hostedStep
		}
	}
	text += readHosted(t, ".github/actions/setup/action.yml", &setup)
	if strings.Contains(text, "secrets.") || strings.Contains(text, "github.token") {
		t.Error("the workflow uses a secret")
	}
	if len(w.Permissions) != 1 || w.Permissions["contents"] != "read" {
		t.Errorf("the permissions are %v; want contents: read alone", w.Permissions)
	}
	if w.Concurrency.Group == "" || w.On["schedule"] == nil || w.On["push"] == nil {
		t.Error("the workflow lacks concurrency, the schedule or the pushes")
	}
	pinned := regexp.MustCompile(`^actions/[a-z-]+@v[0-9]+$`)
	steps := setup.Runs.Steps
	calls := map[string]string{} // CI_LANES by job
	for name, job := range w.Jobs {
		if job.Timeout == 0 || job.RunsOn == "" {
			t.Errorf("the job %s has no timeout-minutes or no machine", name)
		}
		for _, s := range job.Steps {
			if s.Run == ".ci/run" {
				calls[name] = s.Env["CI_LANES"]
			}
		}
		if calls[name] == "" {
			t.Errorf("the job %s does not call .ci/run with CI_LANES", name)
		}
		steps = append(steps, job.Steps...)
	}
	for _, s := range steps {
		if s.Uses != "" && s.Uses != "./.github/actions/setup" && !pinned.MatchString(s.Uses) {
			t.Errorf("%s is not pinned to a major version", s.Uses)
		}
	}
	if calls["gate"] != "gate" || calls["lane"] != "${{ matrix.lane }}" || calls["nightly"] != "all" {
		t.Errorf("the jobs call .ci/run with %v", calls)
	}
	checkLanesOf(t, w.Jobs["lane"].Strategy.Matrix["lane"])
	if v := w.Jobs["gate"].Strategy.Matrix["postgres"]; !slices.Equal(v, []string{"14", "17"}) ||
		!strings.Contains(text, "PLEAT_PG_VERSION: ${{ matrix.postgres }}\n") {
		t.Errorf("the gate runs on PostgreSQL %v; want 14 and 17", v)
	}
}

// checkLanesOf compares the lanes of the workflow with those of .ci/lanes: all but the gate, which is a job of its own,
// and the engines, which need more disk than a hosted machine has before others are removed.
func checkLanesOf(t *testing.T, named []string) {
	t.Helper()
	var want []string
	for _, l := range lanes(t) {
		if l.name != "gate" && l.name != "engines" {
			want = append(want, l.name)
		}
	}
	if !slices.Equal(named, want) {
		t.Errorf("the workflow has the lanes %v; .ci/lanes has %v", named, want)
	}
}

// Versions of PostgreSQL that are not fetched are refused.
func TestPostgresVersions(t *testing.T) {
	c := exec.Command("scripts/postgres-bin")
	c.Env = append(os.Environ(), "PLEAT_PG_VERSION=13")
	out, err := c.CombinedOutput()
	if want := "PLEAT_PG_VERSION is 13; it must be 14 or 17\n"; err == nil || string(out) != want {
		t.Errorf("%q, %v; want %q", out, err, want)
	}
}
