package store_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pleat"
	"pleat/internal/store"
	"pleat/internal/store/runs"
	"pleat/internal/store/storetest"
	"pleat/internal/store/tasks"
)

// seriesOf returns the series of a store that are not 0 and whose names begin so.
func seriesOf(t *testing.T, s *store.Store, prefix string) map[string]float64 {
	t.Helper()
	out := storetest.Metrics(t, s.Runs.Collectors()...)
	for series := range out {
		if !strings.HasPrefix(series, prefix) {
			delete(out, series)
		}
	}
	return out
}

// The start of a run is measured once, when a worker first has it, under the class of that worker.
func TestStartDelay(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store, clock *storetest.Clock) {
		clock.Stop()
		storetest.CreateJob(t, s, storetest.NewFold(storetest.User(t, s, "ada"), "one"))
		clock.Advance(90 * time.Second)
		filter := tasks.ClaimFilter{Queues: []string{storetest.FoldQueue}, N: 2, Class: "gpu"}
		for range 2 {
			got, err := s.Runs.Claim(t.Context(), "w", filter)
			if err != nil || len(got) != 1 {
				t.Fatalf("%d tasks: %v", len(got), err)
			}
			if err := s.Runs.Release(t.Context(), tasks.LeaseOf(&got[0].Task), 0, nil); err != nil {
				t.Fatal(err)
			}
		}
		want := map[string]float64{
			`pleat_run_start_delay_seconds_count{class="gpu",queue="fold/null"}`: 1,
			`pleat_run_start_delay_seconds_sum{class="gpu",queue="fold/null"}`:   90,
		}
		if d := cmp.Diff(want, seriesOf(t, s, "pleat_run_start")); d != "" {
			t.Errorf("(-want +got):\n%s", d)
		}
	})
}

// The stages of completed runs are measured by model, those of the list alone, and not where a result was reused.
func TestStages(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store, _ *storetest.Clock) {
		owner := storetest.User(t, s, "ada")
		finish := func(change func(f *runs.RunFinished)) {
			t.Helper()
			storetest.CreateJob(t, s, storetest.NewFold(owner, "x"))
			task := storetest.Claim(t, s, "w", storetest.FoldQueue).Task
			f := storetest.Completed()
			change(&f)
			if err := s.Runs.FinishRun(t.Context(), tasks.LeaseOf(&task), f); err != nil {
				t.Fatal(err)
			}
		}
		finish(func(f *runs.RunFinished) {
			f.Result.Timings = map[string]float64{
				"queue":    1,
				"msa":      2,
				"load":     3,
				"infer":    4,
				"write":    5,
				"invented": 6,
			}
		})
		finish(func(f *runs.RunFinished) { f.Result.Timings = map[string]float64{"infer": -1} })
		finish(func(f *runs.RunFinished) { f.Result.AnsweredFrom = "r" })
		finish(func(f *runs.RunFinished) {
			f.State, f.Failure, f.Artifacts = pleat.StateFailed, pleat.Failed(pleat.FailOOM, "no memory"), nil
		})
		finish(func(f *runs.RunFinished) { // as a worker of another version may report
			f.State, f.Failure, f.Artifacts = pleat.StateFailed, pleat.Failed("new\nkind", "unknown"), nil
		})
		want := map[string]float64{}
		for i, stage := range []string{"queue", "msa", "load", "infer", "write"} {
			labels := `{model="null",stage="` + stage + `"}`
			want["pleat_run_stage_seconds_count"+labels] = 1
			want["pleat_run_stage_seconds_sum"+labels] = float64(i + 1)
		}
		if d := cmp.Diff(want, seriesOf(t, s, "pleat_run_stage")); d != "" {
			t.Errorf("(-want +got):\n%s", d)
		}
		ended := map[string]float64{"completed null ": 3, "failed null oom": 1, "failed null other": 1}
		if d := cmp.Diff(ended, storetest.RunsEnded(t, s)); d != "" {
			t.Errorf("(-want +got):\n%s", d)
		}
	})
}
