package app

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"pleat/internal/config"
	"pleat/internal/store/storetest"
	"pleat/internal/work"
)

// startWorker runs a worker with an address for health and metrics, and returns its URL.
func startWorker(t *testing.T, c config.Config) string {
	t.Helper()
	log := &storetest.Log{}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- Work(ctx, c, NewLog(log, c), work.Life{}, nil, Options{}) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	address := regexp.MustCompile(`"health and metrics are served" address=(\S+)`)
	storetest.Eventually(t, "the worker listens", func() bool { return address.MatchString(log.String()) })
	return "http://" + address.FindStringSubmatch(log.String())[1]
}

// get reads a path, with a bearer token unless that is empty.
func get(t *testing.T, url, token string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), "GET", url, nil)
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(body)
}

// A worker shows its health and its metrics on an address of their own; the token is required there too.
//
//nolint:paralleltest // Work takes secrets out of the environment
func TestWorkerShowsHealthAndMetrics(t *testing.T) {
	c := config.Default()
	c.Data, c.Engines, c.MetricsListen, c.Metrics = t.TempDir(), []string{"null"}, "127.0.0.1:0", strings.Repeat("t", 16)
	url := startWorker(t, c)
	if code, body := get(t, url+"/healthz", ""); code != 200 || !strings.Contains(body, `"status":"ok"`) {
		t.Errorf("%d %s", code, body)
	}
	storetest.Eventually(t, "the worker is live", func() bool {
		code, body := get(t, url+"/readyz", "")
		return code == 200 && strings.Contains(body, `"workers":"ok","artifacts":"ok"`)
	})
	for _, token := range []string{"", "wrong"} {
		if code, _ := get(t, url+"/metrics", token); code != 401 {
			t.Errorf("with the token %q: %d", token, code)
		}
	}
	code, body := get(t, url+"/metrics", c.Metrics)
	for _, want := range []string{"pleat_clock_ahead_seconds 0\n", "pleat_artifacts_failing 0\n",
		`pleat_artifact_errors_total{operation="write"} 0`, `pleat_database_connections{pool="main",state="idle"} `,
		"pleat_database_transactions_total ", "pleat_build_schema_version ", "go_goroutines "} {
		if !strings.Contains(body, want) {
			t.Errorf("status %d: no %s", code, want)
		}
	}
	if strings.Contains(body, "pleat_tasks") {
		t.Error("a worker shows the figures of the whole service, which every server shows already")
	}
}

// A server shows the workers and what they ended.
//
//nolint:paralleltest // Serve takes secrets out of the environment
func TestServerShowsWorkers(t *testing.T) {
	s := newService(t)
	_, body := get(t, s.url+"/metrics", "")
	for _, want := range []string{`pleat_workers{class="default",state="live"} 1`,
		`pleat_workers{class="default",state="silent"} 0`, `pleat_workers_wanted{class="default"} 0`,
		`pleat_tasks{queue="qna/analyst",state="queued"} 0`, `pleat_tasks{queue="deliver",state="running"} 0`,
		`pleat_task_oldest_seconds{queue="qna/analyst",state="queued"} 0`, "pleat_database_up 1", "pleat_database_schema_version "} {
		if !strings.Contains(body, want) {
			t.Errorf("no %s", want)
		}
	}
	ann := s.user("ann")
	crambin, err := os.ReadFile("../structure/testdata/1crn.pdb")
	if err != nil {
		t.Fatal(err)
	}
	id := s.ask(ann, s.upload(ann, "crambin.pdb", crambin), "How many residues are there?")
	storetest.AwaitWorkflow(t, s.Store, id, "COMPLETED")
	storetest.Eventually(t, "the end is counted", func() bool {
		_, body := get(t, s.url+"/metrics", "")
		return strings.Contains(body, `pleat_runs_ended_total{engine="analyst",reason="",state="completed"} 1`)
	})
}

// Durations in the log are milliseconds, and their names say so.
func TestDurationsInTheLog(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	log := NewLog(&out, config.Config{LogFormat: "json"})
	log.Info("x", "duration_ms", 1500*time.Microsecond, slog.Duration("wait", time.Second))
	var line map[string]any
	if err := json.Unmarshal(out.Bytes(), &line); err != nil {
		t.Fatal(err)
	}
	if line["duration_ms"] != 1.5 || line["wait_ms"] != 1000.0 || line["wait"] != nil {
		t.Errorf("%v", line)
	}
}
