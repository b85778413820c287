package app

import (
	"maps"
	"net"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"pleat"
	"pleat/internal/config"
	"pleat/internal/fleet"
	"pleat/internal/store/storetest"
)

// figure is a metric as docs/operations.md documents it, or as the program has it.
type figure struct {
	Type   string
	Labels []string // sorted
	Help   string
}

// described returns the metrics of a registry by name, without their types. Nothing need have happened.
func described(t *testing.T, from prometheus.Gatherer) map[string]figure {
	t.Helper()
	ch := make(chan *prometheus.Desc)
	go func() {
		from.(*prometheus.Registry).Describe(ch)
		close(ch)
	}()
	out := map[string]figure{}
	form := regexp.MustCompile(`^Desc\{fqName: "(\w+)", help: ("(?:[^"\\]|\\.)*"),.* variableLabels: \{(.*)\}\}$`)
	for d := range ch {
		m := form.FindStringSubmatch(d.String())
		if m == nil {
			t.Errorf("cannot read %s", d)
			continue
		}
		if !strings.HasPrefix(m[1], "pleat_") {
			continue // of Go and of the process, which their library documents
		}
		help, err := strconv.Unquote(m[2])
		if err != nil {
			t.Error(err)
		}
		f := figure{Help: help, Labels: []string{}}
		if m[3] != "" {
			f.Labels = slices.Sorted(strings.SplitSeq(m[3], ","))
		}
		out[m[1]] = f
	}
	return out
}

// documented returns the tables of metrics in docs/operations.md by the first word of the paragraph before each.
func documented(t *testing.T) map[string]map[string]figure {
	t.Helper()
	page, err := os.ReadFile("../../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(page), "\n### Metrics\n")
	section, _, _ = strings.Cut(section, "\n## ")
	out := map[string]map[string]figure{}
	first, blank := "", true
	row := regexp.MustCompile("^\\| `(pleat_\\w+)` \\| (\\w+) \\| ([\\w ]*) \\| (.*?) \\| (.*) \\|$")
	for line := range strings.Lines(section) {
		line = strings.TrimSpace(line)
		if !strings.HasPrefix(line, "|") {
			if blank && line != "" {
				first, _, _ = strings.Cut(line, " ")
			}
			blank = line == ""
			continue
		}
		m := row.FindStringSubmatch(line)
		if m == nil {
			if strings.HasPrefix(line, "| `pleat_") {
				t.Errorf("cannot read %s", line)
			}
			continue
		}
		if out[first] == nil {
			out[first] = map[string]figure{}
		}
		for ending, unit := range map[string]string{"_seconds": "seconds", "_bytes": "bytes"} {
			if got := strings.HasSuffix(strings.TrimSuffix(m[1], "_total"), ending); got != (m[3] == unit) {
				t.Errorf("%s has the unit %s", m[1], m[3])
			}
		}
		f := figure{Type: m[2], Labels: []string{}, Help: m[5]}
		for _, l := range regexp.MustCompile("`(\\w+)`: ").FindAllStringSubmatch(m[4], -1) {
			f.Labels = append(f.Labels, l[1])
		}
		slices.Sort(f.Labels)
		out[first][m[1]] = f
	}
	return out
}

// typesOf reads the types of metrics in the text format.
func typesOf(body string) map[string]string {
	out := map[string]string{}
	for _, m := range regexp.MustCompile(`(?m)^# TYPE (pleat_\w+) (\w+)$`).FindAllStringSubmatch(body, -1) {
		out[m[1]] = m[2]
	}
	return out
}

// fleetTypes returns the types of a fleet's metrics.
func fleetTypes(t *testing.T, f *fleet.Fleet) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, c := range f.Collectors() {
		r := prometheus.NewRegistry()
		r.MustRegister(c)
		for name := range described(t, r) {
			switch c.(type) {
			case *prometheus.CounterVec:
				out[name] = "counter"
			case *prometheus.GaugeVec:
				out[name] = "gauge"
			}
		}
	}
	return out
}

// checkBuckets compares the buckets that the meaning of a metric lists, if it lists any, with those in the text format.
func checkBuckets(t *testing.T, name, meaning, body string) {
	t.Helper()
	_, list, ok := strings.Cut(meaning, "Buckets: ")
	if !ok {
		return
	}
	var want []float64
	for text := range strings.SplitSeq(list, ", ") {
		bound, err := strconv.ParseFloat(text, 64)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		want = append(want, bound)
	}
	var got []float64
	for _, m := range regexp.MustCompile(`(?m)^`+name+`_bucket\{.*le="([\d.e+]+)"\}`).FindAllStringSubmatch(body, -1) {
		bound, err := strconv.ParseFloat(m[1], 64)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		got = append(got, bound)
	}
	slices.Sort(got)
	if d := cmp.Diff(want, slices.Compact(got)); d != "" {
		t.Errorf("the buckets of %s in docs/operations.md (-) and in the code (+) differ:\n%s", name, d)
	}
}

// docs/operations.md says of every metric of servers, workers and fleets its type, its unit, its labels and, first in
// its meaning, the help that Prometheus shows.
//
//nolint:paralleltest // Serve takes secrets out of the environment
func TestMetricsAreDocumented(t *testing.T) {
	s := newService(t)
	crambin, err := os.ReadFile("../structure/testdata/1crn.pdb")
	if err != nil {
		t.Fatal(err)
	}
	ann := s.user("ann")
	id := s.ask(ann, s.upload(ann, "crambin.pdb", crambin), "How many residues are there?")
	storetest.AwaitWorkflow(t, s.Store, id, "COMPLETED")
	var types map[string]string
	var body string
	storetest.Eventually(t, "the run is measured", func() bool {
		_, body = get(t, s.url+"/metrics", "")
		types = typesOf(body)
		return types["pleat_run_stage_seconds"] != "" && types["pleat_database_schema_version"] != ""
	})

	guard, err := s.cfg.WebhookGuard()
	if err != nil {
		t.Fatal(err)
	}
	deliverer, sender, err := s.newDeliverer(guard, s.url, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer sender.Close()
	server, err := s.newServer(&net.TCPAddr{}, s.url, guard, deliverer)
	if err != nil {
		t.Fatal(err)
	}
	f := fleet.New(fleet.Config{Store: s.Store.Workers, Clock: s.Store.DB.Now, Log: s.log})
	maps.Copy(types, fleetTypes(t, f))

	worker := described(t, s.workerEndpoint().Metrics)
	ofServer := described(t, server.Endpoint().Metrics)
	ofFleet := described(t, fleetEndpoint(config.Default(), s.Store, f, s.log).Metrics)
	for name := range worker {
		if _, ok := ofServer[name]; !ok {
			t.Errorf("a server does not have %s of a worker", name)
		}
		delete(ofServer, name)
		delete(ofFleet, name)
	}
	if len(worker) < 10 || len(ofServer) < 15 || len(ofFleet) < 3 {
		t.Fatalf("%d, %d and %d metrics", len(worker), len(ofServer), len(ofFleet))
	}
	pages := documented(t)
	for _, kind := range pleat.FailureKinds {
		if !strings.Contains(pages["Every"]["pleat_runs_ended_total"].Help, "`"+string(kind)+"`") {
			t.Errorf("docs/operations.md does not name the reason %s", kind)
		}
	}
	for first, code := range map[string]map[string]figure{"Every": worker, "Servers": ofServer, "A": ofFleet} {
		page := pages[first]
		for name, f := range code {
			f.Type = types[name]
			code[name] = f
			checkBuckets(t, name, page[name].Help, body)
			if p, ok := page[name]; ok && (p.Help == f.Help || strings.HasPrefix(p.Help, f.Help+" ")) {
				p.Help = f.Help
				page[name] = p
			}
		}
		if d := cmp.Diff(page, code); d != "" {
			t.Errorf("the table «%s …» of docs/operations.md (-) and the code (+) differ:\n%s", first, d)
		}
	}
}

// The names of metrics follow the conventions of Prometheus.
//
//nolint:paralleltest // Serve takes secrets out of the environment
func TestNamesOfMetrics(t *testing.T) {
	s := newService(t)
	get(t, s.url+"/metrics", "")
	_, body := get(t, s.url+"/metrics", "") // has the first request
	problems, err := promlint.New(strings.NewReader(body)).Lint()
	if err != nil || len(problems) > 0 || len(typesOf(body)) < 20 {
		t.Errorf("%v, %v of %d metrics", problems, err, len(typesOf(body)))
	}
}
