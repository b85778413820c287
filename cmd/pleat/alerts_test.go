package main

import (
	"bytes"
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
	selector := regexp.MustCompile(`\b(pleat_\w+)(?:\{([^}]*)\})?`)
	label := regexp.MustCompile(`(\w+)\s*[!=]`)
	n := 0
	for _, group := range file.Groups {
		for _, rule := range group.Rules {
			for _, m := range selector.FindAllStringSubmatch(rule.Expr, -1) {
				n++
				labels, ok := shown[m[1]]
				if !ok {
					t.Errorf("%s: /metrics has no %s", rule.Alert, m[1])
					continue
				}
				for _, l := range label.FindAllStringSubmatch(m[2], -1) {
					if !slices.Contains(labels, l[1]) {
						t.Errorf("%s: %s has the labels %q, and not %s", rule.Alert, m[1], labels, l[1])
					}
				}
			}
		}
	}
	if n < 10 {
		t.Errorf("the rules name %d metrics", n)
	}
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
