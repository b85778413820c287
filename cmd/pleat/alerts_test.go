package main

import (
	"bytes"
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"pleat/internal/store/storetest"
)

// Every metric of the alert rules is one that a server shows, and has the labels by which the rules select it.
func TestAlertRules(t *testing.T) {
	text, err := os.ReadFile("../../deploy/alerts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Groups []struct {
			Rules []struct{ Alert, Expr string }
		}
	}
	if err := yaml.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	shown := scrape(t)
	n := 0
	for _, group := range file.Groups {
		for _, rule := range group.Rules {
			n += checkMetrics(t, shown, rule.Alert, rule.Expr)
		}
	}
	if n < 10 {
		t.Errorf("the rules name %d metrics", n)
	}
}

// Every metric of the dashboard is one that a server shows, and has the labels of its curve.
func TestDashboard(t *testing.T) {
	text, err := os.ReadFile("../../deploy/compose/dashboard.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr, LegendFormat string }
		}
	}
	if err := json.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	shown := scrape(t)
	by := regexp.MustCompile(`\bby \(([\w, ]+)\)`)
	curve := regexp.MustCompile(`\{\{(\w+)\}\}`)
	n := 0
	for _, p := range file.Panels {
		for _, target := range p.Targets {
			n += checkMetrics(t, shown, p.Title, target.Expr)
			for _, l := range curve.FindAllStringSubmatch(target.LegendFormat, -1) {
				m := by.FindStringSubmatch(target.Expr)
				if m == nil || !slices.Contains(strings.Split(m[1], ", "), l[1]) {
					t.Errorf("%s: the expression does not keep the label %s", p.Title, l[1])
				}
			}
		}
	}
	if n < 10 {
		t.Errorf("the dashboard names %d metrics", n)
	}
}

// checkMetrics compares an expression of Prometheus with the metrics of a server and their labels, and returns how many
// metrics it names. Prometheus itself adds the label instance.
func checkMetrics(t *testing.T, shown map[string][]string, where, expr string) int {
	t.Helper()
	selector := regexp.MustCompile(`\b(pleat_\w+)(?:\{([^}]*)\})?`)
	label := regexp.MustCompile(`(\w+)\s*[!=]`)
	by := regexp.MustCompile(`\bby \(([\w, ]+)\)`)
	found := selector.FindAllStringSubmatch(expr, -1)
	for _, m := range found {
		labels, ok := shown[m[1]]
		if !ok {
			t.Errorf("%s: /metrics has no %s", where, m[1])
			continue
		}
		var used []string
		for _, l := range label.FindAllStringSubmatch(m[2], -1) {
			used = append(used, l[1])
		}
		for _, l := range by.FindAllStringSubmatch(expr, -1) {
			used = append(used, strings.Split(l[1], ", ")...)
		}
		for _, l := range used {
			if l != "instance" && !slices.Contains(labels, l) {
				t.Errorf("%s: %s has the labels %q, and not %s", where, m[1], labels, l)
			}
		}
	}
	return len(found)
}

// scrape returns the metrics of a server that has run a job and delivered an event, with the names of their labels.
// Metrics whose labels have had no value yet are not shown, so the server must have done everything that they count.
func scrape(t *testing.T) map[string][]string {
	t.Helper()
	n := newNode(t, storetest.Databases()["sqlite"](t))
	n.env = []string{"PLEAT_WEBHOOK_ALLOW=127.0.0.1"}
	n.createKey()
	n.serve()
	configureRecorder(t, n.client(), newRecorder(t).URL)
	n.createNull(`"samplingSteps":60000`) // has a task until the server is killed
	var body []byte
	// The end of the run is counted after its commit, and the figures of a database that answers late are absent.
	waitUntil(t, time.Minute, "every figure is shown", func() bool {
		_, body = n.request("GET", "/metrics", "")
		return bytes.Contains(body, []byte("\npleat_database_up 1\n")) &&
			bytes.Contains(body, []byte("\npleat_runs_ended_total{"))
	})
	sample := regexp.MustCompile(`^(\w+)(?:\{(.*)\})? `)
	label := regexp.MustCompile(`(\w+)="`)
	out := map[string][]string{}
	for line := range strings.Lines(string(body)) {
		if m := sample.FindStringSubmatch(line); m != nil {
			out[m[1]] = []string{}
			for _, l := range label.FindAllStringSubmatch(m[2], -1) {
				out[m[1]] = append(out[m[1]], l[1])
			}
		}
	}
	return out
}
