package storetest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"pleat/internal/store"
)

// Metrics returns the series of collectors that are not 0, as Prometheus writes them: name{label="value"}. A histogram
// gives name_count and name_sum.
func Metrics(t testing.TB, from ...prometheus.Collector) map[string]float64 {
	t.Helper()
	r := prometheus.NewRegistry()
	r.MustRegister(from...)
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]float64{}
	for _, f := range families {
		for _, m := range f.Metric {
			var pairs []string
			for _, l := range m.Label {
				pairs = append(pairs, fmt.Sprintf("%s=%q", l.GetName(), l.GetValue()))
			}
			labels := "{" + strings.Join(pairs, ",") + "}"
			out[f.GetName()+labels] = m.GetCounter().GetValue() + m.GetGauge().GetValue()
			if h := m.GetHistogram(); h != nil {
				out[f.GetName()+"_count"+labels] = float64(h.GetSampleCount())
				out[f.GetName()+"_sum"+labels] = h.GetSampleSum()
			}
		}
	}
	for series, v := range out {
		if v == 0 {
			delete(out, series)
		}
	}
	return out
}

// RunsEnded returns how many runs a store has ended, by state, engine and reason: "failed mini oom".
func RunsEnded(t testing.TB, s *store.Store) map[string]float64 {
	t.Helper()
	out := map[string]float64{}
	for series, n := range Metrics(t, s.Runs.Collectors()...) {
		name, labels, _ := strings.Cut(series, "{")
		if v := strings.Split(labels, `"`); name == "pleat_runs_ended_total" {
			out[v[5]+" "+v[1]+" "+v[3]] = n
		}
	}
	return out
}
