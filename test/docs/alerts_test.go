package docs

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"pleat"
	"pleat/internal/testprogram"
)

// ruleFile is what the tests read of a file of rules for Prometheus.
type ruleFile struct {
	Groups []struct {
		Rules []struct{ Alert, Record, Expr string }
	}
}

// ruleFiles are the files of rules in deploy.
var ruleFiles = []string{"alerts.yaml", "slo.yaml"}

// Every metric of the rules is one that a server shows, or that a rule records, and has the labels and the buckets by
// which the rules select it.
func TestAlertRules(t *testing.T) {
	c := newExpressions(t)
	n := 0
	for _, name := range ruleFiles {
		var file ruleFile
		readYAML(t, name, &file)
		for _, group := range file.Groups {
			for _, rule := range group.Rules {
				n += c.check(rule.Alert+rule.Record, rule.Expr)
			}
		}
	}
	if n < 30 {
		t.Errorf("the rules name %d metrics", n)
	}
}

// dashboardFile is what the tests read of the dashboard.
type dashboardFile struct {
	Panels []struct {
		Title      string
		Type       string
		Datasource struct{ UID string }
		Targets    []struct{ Expr, LegendFormat string }
		GridPos    struct{ X, Y, W, H int }
	}
}

func readDashboard(t *testing.T) dashboardFile {
	t.Helper()
	var file dashboardFile
	text, err := os.ReadFile("../../deploy/compose/dashboard.json")
	if err == nil {
		err = json.Unmarshal(text, &file)
	}
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// Every metric of the dashboard is one that a server shows or that a rule records, and has the labels of its curve.
// Panels do not overlap.
func TestDashboard(t *testing.T) {
	c := newExpressions(t)
	curve := regexp.MustCompile(`\{\{(\w+)\}\}`)
	n := 0
	taken := map[[2]int]string{}
	for _, p := range readDashboard(t).Panels {
		for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
			for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
				if other, ok := taken[[2]int{x, y}]; ok || x >= 24 {
					t.Fatalf("%s lies on %q, or beside the page", p.Title, other)
				}
				taken[[2]int{x, y}] = p.Title
			}
		}
		for _, target := range p.Targets {
			n += c.check(p.Title, target.Expr)
			for _, l := range curve.FindAllStringSubmatch(target.LegendFormat, -1) {
				if !slices.Contains(byLabels(target.Expr), l[1]) && !strings.Contains(target.Expr, "slo:") {
					t.Errorf("%s: the expression does not keep the label %s", p.Title, l[1])
				}
			}
		}
	}
	if n < 20 {
		t.Errorf("the dashboard names %d metrics", n)
	}
}

// The files that Grafana and Prometheus read in deploy/compose.yaml are mounted where their settings look for them, and
// the dashboard uses the source of data that is provisioned.
func TestProvisioning(t *testing.T) {
	var file composeFile
	readYAML(t, "compose.yaml", &file)
	mounted := map[string]map[string]string{} // by service: from the path in the container
	for name, s := range file.Services {
		mounted[name] = map[string]string{}
		for _, v := range s.Volumes {
			parts := strings.Split(v, ":")
			mounted[name][parts[1]] = parts[0]
		}
	}
	var prometheus struct {
		Files []string `yaml:"rule_files"`
	}
	readYAML(t, "compose/prometheus.yaml", &prometheus)
	var rules []string
	for _, path := range prometheus.Files {
		rules = append(rules, strings.TrimPrefix(mounted["prometheus"][path], "./"))
	}
	if !slices.Equal(rules, ruleFiles) {
		t.Errorf("Prometheus reads the rules %q, want %q", rules, ruleFiles)
	}
	var sources struct{ Datasources []struct{ UID, URL string } }
	readYAML(t, "compose/grafana-source.yaml", &sources)
	for _, p := range readDashboard(t).Panels {
		if p.Type != "row" && p.Datasource.UID != sources.Datasources[0].UID {
			t.Errorf("%s reads from %q, want %q", p.Title, p.Datasource.UID, sources.Datasources[0].UID)
		}
	}
	if sources.Datasources[0].URL != "http://prometheus:9090" || mounted["prometheus"] == nil {
		t.Errorf("the source of data is %s", sources.Datasources[0].URL)
	}
	var dashboards struct {
		Providers []struct{ Options struct{ Path string } }
	}
	readYAML(t, "compose/grafana-dashboards.yaml", &dashboards)
	path := dashboards.Providers[0].Options.Path + "/dashboard.json"
	if mounted["grafana"][path] != "./compose/dashboard.json" ||
		file.Services["grafana"].Environment["GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH"] != path {
		t.Errorf("Grafana has no dashboard at %s: %v", path, mounted["grafana"])
	}
	for path, from := range map[string]string{
		"/etc/grafana/provisioning/datasources/pleat.yaml": "./compose/grafana-source.yaml",
		"/etc/grafana/provisioning/dashboards/pleat.yaml":  "./compose/grafana-dashboards.yaml",
	} {
		if mounted["grafana"][path] != from {
			t.Errorf("Grafana does not read %s", from)
		}
	}
}

// Each alert has a unit test in which it fires and one in which it does not, and docs/deployment.md says what to do.
func TestAlertsHaveTests(t *testing.T) {
	var tests struct {
		Tests []struct {
			Alerts []struct {
				Name   string      `yaml:"alertname"`
				Expect []yaml.Node `yaml:"exp_alerts"`
			} `yaml:"alert_rule_test"`
		}
	}
	readYAML(t, "alerts_test.yaml", &tests)
	page, err := os.ReadFile("../../docs/deployment.md")
	if err != nil {
		t.Fatal(err)
	}
	fires, silent := map[string]bool{}, map[string]bool{}
	for _, test := range tests.Tests {
		for _, a := range test.Alerts {
			if len(a.Expect) > 0 {
				fires[a.Name] = true
			} else {
				silent[a.Name] = true
			}
		}
	}
	for _, name := range ruleFiles {
		var file ruleFile
		readYAML(t, name, &file)
		for _, group := range file.Groups {
			for _, rule := range group.Rules {
				if rule.Alert != "" && (!fires[rule.Alert] || !silent[rule.Alert]) {
					t.Errorf("%s fires in a test: %v, and does not in one: %v", rule.Alert, fires[rule.Alert],
						silent[rule.Alert])
				}
				if rule.Alert != "" && !bytes.Contains(page, []byte("`"+rule.Alert+"`")) {
					t.Errorf("docs/deployment.md does not say what to do about %s", rule.Alert)
				}
			}
		}
	}
}

// Prometheus accepts the rules, the configuration and the expressions of the dashboard, and the unit tests of the rules
// pass. PLEAT_TEST_PROMTOOL is the path of promtool; make test-alerts sets it.
func TestPromtool(t *testing.T) {
	promtool := os.Getenv("PLEAT_TEST_PROMTOOL")
	if promtool == "" {
		t.Skip("PLEAT_TEST_PROMTOOL is not set; make test-alerts sets it")
	}
	run := func(arg ...string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), promtool, arg...)
		cmd.Dir = "../../deploy"
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("promtool %s: %v\n%s", strings.Join(arg, " "), err, out)
		}
	}
	run(append([]string{"check", "rules"}, ruleFiles...)...)
	run("check", "config", "--syntax-only", "compose/prometheus.yaml")
	run("test", "rules", "alerts_test.yaml")

	type rule struct{ Record, Expr string }
	var rules []rule
	for _, p := range readDashboard(t).Panels {
		for _, target := range p.Targets {
			expr := strings.ReplaceAll(target.Expr, "$__rate_interval", "1m")
			rules = append(rules, rule{fmt.Sprintf("dashboard:%d", len(rules)), expr})
		}
	}
	text, err := yaml.Marshal(map[string]any{"groups": []any{map[string]any{"name": "dashboard", "rules": rules}}})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "dashboard.yaml")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	run("check", "rules", path)
}

// byLabels returns the labels that an expression of Prometheus keeps.
func byLabels(expr string) []string {
	var out []string
	for _, m := range regexp.MustCompile(`\bby \(([\w, ]+)\)`).FindAllStringSubmatch(expr, -1) {
		out = append(out, strings.Split(m[1], ", ")...)
	}
	return out
}

// expressions checks expressions of Prometheus against the metrics of a server and the records of the rules.
type expressions struct {
	t        *testing.T
	shown    map[string]map[string][]string // by name: the values of its labels
	recorded map[string]bool
}

func newExpressions(t *testing.T) *expressions {
	t.Helper()
	c := &expressions{t: t, shown: scrape(t), recorded: map[string]bool{}}
	maps.Copy(c.shown, metricsOfFleet(t))
	for _, name := range ruleFiles {
		var file ruleFile
		readYAML(t, name, &file)
		for _, group := range file.Groups {
			for _, rule := range group.Rules {
				c.recorded[rule.Record] = true
			}
		}
	}
	return c
}

// check returns how many metrics an expression names. Prometheus itself adds the label instance.
func (c *expressions) check(where, expr string) int {
	c.t.Helper()
	kept := map[string]bool{"instance": true}
	found := regexp.MustCompile(`(?:^|[^\w:"])((?:\w+:)?pleat_[\w:]+)(?:\{([^}]*)\})?`).FindAllStringSubmatch(expr, -1)
	for _, m := range found {
		if strings.Contains(m[1], ":") {
			if !c.recorded[m[1]] {
				c.t.Errorf("%s: no rule records %s", where, m[1])
			}
			kept["slo"], kept["class"], kept["engine"], kept["destination"] = true, true, true, true
			continue
		}
		labels, ok := c.shown[m[1]]
		if !ok {
			c.t.Errorf("%s: /metrics has no %s", where, m[1])
			continue
		}
		for label := range labels {
			kept[label] = true
		}
		c.selectors(where, m[1], m[2])
	}
	for _, l := range byLabels(expr) {
		if !kept[l] {
			c.t.Errorf("%s: no metric of the expression has the label %s", where, l)
		}
	}
	return len(found)
}

// selectors checks the labels by which series of a metric are selected, the bounds of buckets, and the reasons of
// failures.
func (c *expressions) selectors(where, name, text string) {
	c.t.Helper()
	for _, m := range regexp.MustCompile(`(\w+)\s*[!=]=?~?"([^"]*)"`).FindAllStringSubmatch(text, -1) {
		label, value := m[1], m[2]
		values, ok := c.shown[name][label]
		if !ok && label != "instance" {
			c.t.Errorf("%s: %s has no label %s", where, name, label)
		}
		switch label {
		case "le": // 600 was 600.0 for newer versions of Prometheus
			if bound, _, _ := strings.Cut(value, "("); !slices.Contains(values, bound) || value != bound+"([.]0)?" {
				c.t.Errorf("%s: le is %q; %s has the buckets %v", where, value, name, values)
			}
		case "reason":
			for kind := range strings.SplitSeq(value, "|") {
				if !slices.Contains(pleat.FailureKinds, pleat.FailureKind(kind)) {
					c.t.Errorf("%s: %q is no reason", where, kind)
				}
			}
		}
	}
}

// metricsOfFleet returns the labels of the metrics of a fleet, which submits workers to a cluster, as
// docs/operations.md lists them; a test of internal/app holds the list against the fleet.
func metricsOfFleet(t *testing.T) map[string]map[string][]string {
	t.Helper()
	text, err := os.ReadFile("../../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]map[string][]string{}
	rows := regexp.MustCompile("(?m)^\\| `(pleat_fleet_\\w+)` (.*)$").FindAllStringSubmatch(string(text), -1)
	for _, row := range rows {
		out[row[1]] = map[string][]string{}
		for _, l := range regexp.MustCompile("`(\\w+)`:").FindAllStringSubmatch(row[2], -1) {
			out[row[1]][l[1]] = nil
		}
	}
	if len(out) == 0 {
		t.Fatal("docs/operations.md has no metrics of a fleet")
	}
	return out
}

// scrape returns the metrics of a server that has run a job and delivered an event, with the values of their labels.
// Metrics whose labels have had no value yet are not shown, so the server must have done everything that they count.
func scrape(t *testing.T) map[string]map[string][]string {
	t.Helper()
	n := testprogram.NewNode(t, testprogram.SQLite(t))
	n.Env = []string{"PLEAT_WEBHOOK_ALLOW=127.0.0.1"}
	n.CreateKey()
	n.Serve()
	testprogram.ConfigureRecorder(t, n.Client(), testprogram.NewRecorder(t).URL)
	n.CreateNull(`"samplingSteps":60000`) // has a task until the server is killed
	var body []byte
	// The end of the run is counted after its commit, and the figures of a database that answers late are absent.
	testprogram.WaitUntil(t, time.Minute, "every figure is shown", func() bool {
		_, body = n.Request("GET", "/metrics", "")
		return bytes.Contains(body, []byte("\npleat_database_up 1\n")) &&
			bytes.Contains(body, []byte("\npleat_run_stage_seconds_count{"))
	})
	sample := regexp.MustCompile(`^(\w+)(?:\{(.*)\})? `)
	label := regexp.MustCompile(`(\w+)="([^"]*)"`)
	out := map[string]map[string][]string{"up": {"job": {"pleat"}}}
	for line := range strings.Lines(string(body)) {
		if m := sample.FindStringSubmatch(line); m != nil {
			if out[m[1]] == nil {
				out[m[1]] = map[string][]string{}
			}
			for _, l := range label.FindAllStringSubmatch(m[2], -1) {
				out[m[1]][l[1]] = append(out[m[1]][l[1]], l[2])
			}
		}
	}
	return out
}
