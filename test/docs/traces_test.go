package docs

import (
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"pleat/internal/msa/msatest"
	"pleat/internal/store/storetest"
	"pleat/internal/testprogram"
)

// traceReceiver is an OTLP receiver.
type traceReceiver struct {
	*httptest.Server

	mu        sync.Mutex
	refused   int // requests that were no export
	spans     map[string]*receivedSpan
	instances map[string]bool // of processes
}

// receivedSpan is a span with its ids in hexadecimal.
type receivedSpan struct {
	*tracepb.Span
	trace, id, parent string
}

func newTraceReceiver(t *testing.T) *traceReceiver {
	r := &traceReceiver{spans: map[string]*receivedSpan{}, instances: map[string]bool{}}
	r.Server = httptest.NewServer(r)
	t.Cleanup(r.Close)
	return r
}

func (r *traceReceiver) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	body, _ := io.ReadAll(q.Body)
	var data tracepb.TracesData
	r.mu.Lock()
	defer r.mu.Unlock()
	if q.URL.Path != "/v1/traces" || q.Header.Get("Content-Type") != "application/x-protobuf" ||
		proto.Unmarshal(body, &data) != nil {
		r.refused++
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	for _, from := range data.ResourceSpans {
		of := valuesOf(from.Resource.Attributes)
		if of["service.name"] == "pleat" {
			r.instances[of["service.instance.id"]] = true
		}
		for _, scope := range from.ScopeSpans {
			for _, s := range scope.Spans {
				id := hex.EncodeToString(s.SpanId)
				r.spans[id] = &receivedSpan{s, hex.EncodeToString(s.TraceId), id, hex.EncodeToString(s.ParentSpanId)}
			}
		}
	}
}

// all returns the spans that have come, by name.
func (r *traceReceiver) all() map[string][]*receivedSpan {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := map[string][]*receivedSpan{}
	for _, s := range r.spans {
		out[s.Name] = append(out[s.Name], s)
	}
	return out
}

func valuesOf(attrs []*commonpb.KeyValue) map[string]string {
	out := map[string]string{}
	for _, a := range attrs {
		out[a.Key] = a.Value.GetStringValue()
		if _, isText := a.Value.GetValue().(*commonpb.AnyValue_StringValue); !isText {
			out[a.Key] = fmt.Sprint(a.Value.GetIntValue())
		}
	}
	return out
}

// spanRow is a row of the table of spans in docs/operations.md.
type spanRow struct {
	name    string
	matches *regexp.Regexp
	kind    string
	inside  []string
	attrs   []string
	met     map[string]bool // attributes of spans that came
}

// spanRows reads the table of spans.
func spanRows(t *testing.T) []*spanRow {
	page, err := os.ReadFile("../../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(page), "\n### Spans\n")
	section, _, _ = strings.Cut(section, "\n## ")
	names := func(text string) (out []string) {
		for _, m := range regexp.MustCompile("`(.+?)`").FindAllStringSubmatch(text, -1) {
			out = append(out, m[1])
		}
		return out
	}
	_, of, _ := strings.Cut(section, "\nattributes of a task are ")
	of, _, _ = strings.Cut(of, ". Every")
	task := names(of)
	var out []*spanRow
	for line := range strings.Lines(section) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), " | ")
		if !strings.HasPrefix(line, "| `") || len(cells) != 4 {
			continue
		}
		row := &spanRow{name: names(cells[0])[0], kind: cells[1], inside: names(cells[2]), met: map[string]bool{}}
		pattern := regexp.MustCompile(`\\\{[a-z]+\\\}`).ReplaceAllString(regexp.QuoteMeta(row.name), ".+")
		row.matches = regexp.MustCompile("^" + pattern + "$")
		if row.attrs = names(cells[3]); strings.Contains(cells[3], "of a task") {
			row.attrs = append(row.attrs, task...)
		}
		out = append(out, row)
	}
	if len(out) < 10 || len(task) != 7 {
		t.Fatalf("the table of spans has %d rows, a task %d attributes", len(out), len(task))
	}
	return out
}

// rowOf returns the row of a span.
func rowOf(rows []*spanRow, s *receivedSpan) *spanRow {
	kind := strings.ToLower(strings.TrimPrefix(s.Kind.String(), "SPAN_KIND_"))
	for _, row := range rows {
		if row.kind == kind && row.matches.MatchString(s.Name) {
			return row
		}
	}
	return nil
}

// compare fails the test if a span is not as the table says. The span that the caller of the test sent is no parent.
func (r *traceReceiver) compare(t *testing.T, rows []*spanRow) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range r.spans {
		row := rowOf(rows, s)
		if row == nil {
			t.Errorf("docs/operations.md lists no span %q (%v)", s.Name, s.Kind)
			continue
		}
		for name := range valuesOf(s.Attributes) {
			if row.met[name] = true; !slices.Contains(row.attrs, name) && name != "error.type" {
				t.Errorf("docs/operations.md does not list the attribute %s of %s", name, s.Name)
			}
		}
		parent := r.spans[s.parent]
		switch {
		case s.parent == "" && len(row.inside) == 0:
		case parent == nil:
			t.Errorf("the span around %s has not come", s.Name)
		case !slices.Contains(row.inside, rowOf(rows, parent).name) && !slices.Contains(row.inside, parent.Name):
			t.Errorf("%s is inside %s; docs/operations.md says inside %v", s.Name, parent.Name, row.inside)
		case s.trace != parent.trace:
			t.Errorf("%s is in another trace than %s", s.Name, parent.Name)
		}
		if s.EndTimeUnixNano < s.StartTimeUnixNano {
			t.Errorf("%s ends before it begins", s.Name)
		}
	}
}

// tracedRunner writes a runner that takes alignments and tells its owner the trace that it got.
func tracedRunner(t *testing.T) (runners string) {
	dir := t.TempDir()
	example := filepath.Join("..", "..", "runners", "example")
	for name, change := range map[string][2]string{
		"manifest.json": {`"features": [],`, `"features": ["msa"],`},
		"runner.py": {`        rows = []`, `        import os
        job.log("trace " + (job.traceparent or "none") + " " + os.environ.get("TRACEPARENT", "none"))
        rows = []`},
	} {
		text, err := os.ReadFile(filepath.Join(example, name))
		if err != nil || !strings.Contains(string(text), change[0]) {
			t.Fatal(name, err)
		}
		to := filepath.Join(dir, "traced", name)
		_ = os.MkdirAll(filepath.Dir(to), 0o755)
		changed := strings.Replace(string(text), change[0], change[1], 1)
		changed = strings.ReplaceAll(changed, `"engine": "example"`, `"engine": "traced"`)
		changed = strings.ReplaceAll(changed, `engine = "example"`, `engine = "traced"`)
		changed = strings.ReplaceAll(changed, "example-helix", "traced-helix")
		if err := os.WriteFile(to, []byte(changed), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// tracedService is a server and a worker in processes of their own, and the receiver of a webhook.
type tracedService struct {
	*testprogram.Cluster
	worker *testprogram.Node
	hooks  chan http.Header
	hook   string // URL of the receiver
}

// newTracedService starts a server, and a worker that reaches the database, or calls the server.
func newTracedService(t *testing.T, database string, throughServer bool, env ...string) *tracedService {
	s := &tracedService{hooks: make(chan http.Header, 16)}
	hear := func(_ http.ResponseWriter, r *http.Request) { s.hooks <- r.Header }
	receiver := httptest.NewServer(http.HandlerFunc(hear))
	t.Cleanup(receiver.Close)
	s.hook = receiver.URL
	aligner := msatest.New(t)
	aligner.Known = true
	dir := t.TempDir()
	classes := filepath.Join(dir, "classes.yaml")
	text := "classes:\n  - {name: far, engines: [traced, analyst]}\n"
	if err := os.WriteFile(classes, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	env = append(env, "PLEAT_WEBHOOK_ALLOW=127.0.0.1", "PLEAT_BLOBS="+filepath.Join(dir, "blobs"),
		"PLEAT_ENGINES=traced,analyst", "PLEAT_RUNNERS="+tracedRunner(t), "PLEAT_DEVICES=none",
		"PLEAT_MSA_SERVER="+aligner.URL, "PLEAT_LOG_LEVEL=info", "PLEAT_CLASSES="+classes)
	server, worker := testprogram.NewNode(t, database), testprogram.NewNode(t, database)
	server.Env, worker.Env = env, env
	s.Cluster = &testprogram.Cluster{T: t, Server: server}
	server.CreateKey()
	if !throughServer {
		s.Serve()
		worker.Start("worker")
	} else {
		s.Serve()
		token := filepath.Join(dir, "far.token")
		out, code := server.Run("fleet", "token", "far")
		if code != 0 {
			t.Fatal(out)
		}
		if err := os.WriteFile(token, []byte(out), 0o600); err != nil {
			t.Fatal(err)
		}
		worker.Database = "sqlite:" + filepath.Join(dir, "none.db")
		worker.Start("worker", "--server", server.URL, "--token-file", token)
	}
	s.worker = worker
	testprogram.WaitUntil(t, 30*time.Second, "the worker is known", func() bool {
		_, models := server.Request("GET", "/v1/models", "")
		return strings.Contains(string(models), "traced-helix")
	})
	s.Call("PUT", "/v1/webhooks/custom-http-config",
		`{"target_url":"`+s.hook+`/secret-path","token_value":"a-token","enabled_by_default":true}`)
	return s
}

const callersTrace = "0af7651916cd43dd8448eb211c80319c"

// run creates a job and a question about it, with the header of a caller that wants it traced, and waits until both
// have completed and were delivered.
func (s *tracedService) run() (job string, hooks []http.Header) {
	s.T.Helper()
	_, raw := s.Server.Request("POST", "/v1/jobs", `{"name":"x","sequences":[{"proteinChain":{"sequence":"GYDAETGTWG"}}],
		"params":{"modelName":"traced-helix"},"constraints":{"webhooks":{
			"qna":{"enabled":true,"initial_question":"How many residues are there?"}}}}`,
		"Traceparent", "00-"+callersTrace+"-b7ad6b7169203331-01")
	m := regexp.MustCompile(`"jobId":"([^"]+)"`).FindSubmatch(raw)
	if m == nil {
		s.T.Fatalf("%s", raw)
	}
	job = string(m[1])
	s.Await(job, "COMPLETED", time.Minute)
	for len(hooks) < 2 {
		select {
		case h := <-s.hooks:
			hooks = append(hooks, h)
		case <-time.After(time.Minute):
			s.T.Fatalf("%d of 2 events were delivered", len(hooks))
		}
	}
	return job, hooks
}

// One trace goes from the request through both processes, the search, the runner and the follow-up to the delivery, as
// docs/operations.md lists it.
func TestTraces(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some seconds")
	}
	rows := spanRows(t)
	for name, fresh := range storetest.Migrated() {
		for _, way := range []string{"direct", "through a server"} {
			t.Run(name+", "+way, func(t *testing.T) {
				r := newTraceReceiver(t)
				s := newTracedService(t, fresh(t), way != "direct", "PLEAT_TRACES_ENDPOINT="+r.URL,
					"OTEL_BSP_SCHEDULE_DELAY=50")
				job, hooks := s.run()
				s.checkTrace(r, job, hooks)
				s.worker.Stop()
				s.Server.Stop()
				r.compare(t, rows)
				if r.refused != 0 || len(r.instances) != 2 {
					t.Errorf("%d exports were refused, from %d processes", r.refused, len(r.instances))
				}
			})
		}
	}
	if t.Failed() {
		return
	}
	for _, row := range rows {
		for _, name := range row.attrs {
			if !row.met[name] {
				t.Errorf("no span %s had %s, which docs/operations.md lists", row.name, name)
			}
		}
	}
}

// checkTrace checks the trace of a job, and what left the service: to the runner, the log and the webhook.
func (s *tracedService) checkTrace(r *traceReceiver, job string, hooks []http.Header) {
	t := s.T
	t.Helper()
	want := []string{"POST /v1/jobs", "wait search/traced-helix", "claim search/traced-helix",
		"process search/traced-helix", "align", "finish search/traced-helix", "wait fold/traced-helix",
		"claim fold/traced-helix", "process fold/traced-helix", "predict traced-helix", "put files",
		"finish fold/traced-helix", "wait deliver", "POST webhook", "wait follow", "process follow", "wait qna/analyst",
		"claim qna/analyst", "process qna/analyst", "finish qna/analyst"}
	testprogram.WaitUntil(t, time.Minute, "all spans have come", func() bool {
		all := r.all()
		missing := func(name string) bool { return all[name] == nil }
		return len(all["POST webhook"]) == 2 && !slices.ContainsFunc(want, missing)
	})
	all := r.all()
	root := all["POST /v1/jobs"][0]
	for _, name := range want {
		for _, span := range all[name] {
			if span.trace != root.trace {
				t.Errorf("%s is in another trace", name)
			}
		}
	}
	if len(root.Links) != 1 || hex.EncodeToString(root.Links[0].TraceId) != callersTrace || root.trace == callersTrace {
		t.Errorf("the trace %s of the request has the links %v", root.trace, root.Links)
	}
	if got := valuesOf(root.Attributes); got["pleat.job.id"] != job || got["http.response.status_code"] != "200" {
		t.Errorf("the request has %v", got)
	}
	got, posts := map[string]bool{}, map[string]bool{}
	for i, post := range all["POST webhook"] {
		got[hooks[i].Get("Traceparent")] = true
		posts["00-"+root.trace+"-"+post.id+"-01"] = true
		if text := fmt.Sprint(post.Attributes); strings.Contains(text, "secret-path") {
			t.Errorf("the span of the delivery shows the path: %s", text)
		}
	}
	if d := cmp.Diff(posts, got); d != "" {
		t.Errorf("the spans of the deliveries (-), and what the receiver got (+):\n%s", d)
	}
	predict := all["predict traced-helix"][0]
	text := "00-" + root.trace + "-" + predict.id + "-01"
	if _, events := s.Server.Request("GET", "/v1/jobs/"+job+"/events", ""); !strings.Contains(string(events),
		"trace "+text+" "+text) {
		t.Errorf("the runner did not get %s: %s", text, events)
	}
	run := valuesOf(all["process fold/traced-helix"][0].Attributes)["pleat.run.id"]
	for node, line := range map[*testprogram.Node]string{s.worker: "task ended", s.Server: "msg=request "} {
		if !regexp.MustCompile("(?m)^.*" + line + ".*run=" + run + ".*trace_id=" + root.trace + ".*$").
			MatchString(node.Log.String()) {
			t.Errorf("no line %q has the run and the trace:\n%s", line, testprogram.LastLines(node.Log.String(), 20))
		}
	}
}

// Without traces nothing of them leaves a process, and none is stored.
func TestNoTraces(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some seconds")
	}
	for name, fresh := range storetest.Migrated() {
		t.Run(name, func(t *testing.T) {
			r := newTraceReceiver(t)
			s := newTracedService(t, fresh(t), true, "OTEL_EXPORTER_OTLP_ENDPOINT="+r.URL, "OTEL_SDK_DISABLED=true")
			job, hooks := s.run()
			if got, sent := hooks[0]["Traceparent"]; sent {
				t.Errorf("the webhook got the trace %q", got)
			}
			if _, events := s.Server.Request("GET", "/v1/jobs/"+job+"/events", ""); !strings.Contains(string(events),
				"trace none none") {
				t.Errorf("the runner got a trace: %s", events)
			}
			if n := testprogram.QueryInt(t, s.DB, "SELECT count(*) FROM run WHERE trace <> ''"); n != 0 {
				t.Errorf("%d runs have a trace", n)
			}
			s.worker.Stop()
			s.Server.Stop()
			if len(r.spans)+r.refused != 0 || strings.Contains(s.Server.Log.String(), "trace") {
				t.Errorf("%d spans and %d other requests were sent; the log:\n%s", len(r.spans), r.refused,
					s.Server.Log)
			}
		})
	}
}

// A receiver that does not answer costs nothing but two lines of the log and 5 seconds at the end.
func TestTraceReceiverIsAway(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some seconds")
	}
	away := make(chan struct{})
	hangs := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-away }))
	t.Cleanup(hangs.Close)
	t.Cleanup(func() { close(away) })
	s := newTracedService(t, testprogram.SQLite(t), false,
		"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT="+hangs.URL, "OTEL_BSP_SCHEDULE_DELAY=50", "OTEL_EXPORTER_OTLP_TIMEOUT=300")
	s.run()
	s.run()
	s.worker.Stop()
	s.Server.Stop()
	for _, n := range []*testprogram.Node{s.worker, s.Server} {
		if got := strings.Count(n.Log.String(), "traces cannot be sent"); got != 1 {
			t.Errorf("the log has %d lines about the receiver:\n%s", got, n.Log)
		}
	}
}
