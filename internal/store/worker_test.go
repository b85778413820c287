package store_test

import (
	"context"
	"testing"
	"time"

	"pleat"
	"pleat/internal/store"
	"pleat/internal/store/people"
	"pleat/internal/store/storetest"
	"pleat/internal/store/tasks"
	"pleat/internal/store/workers"
)

// register registers a worker that runs the model null.
func register(t *testing.T, s *store.Store, id pleat.WorkerID, models ...string) {
	t.Helper()
	w := pleat.Worker{ID: id, Host: "test"}
	for _, name := range models {
		w.Models = append(w.Models, pleat.Model{Name: name, Kind: pleat.TaskFold})
		w.Queues = append(w.Queues, pleat.Queue(pleat.TaskFold, name))
	}
	if err := s.Workers.RegisterWorker(context.Background(), w); err != nil {
		t.Fatal(err)
	}
}

// working returns how many live workers run a model, and fails the test if GET /v1/models would tell another number.
func working(t *testing.T, s *store.Store, model string) workers.Working {
	t.Helper()
	w, err := s.Workers.Working(t.Context(), pleat.Queue(pleat.TaskFold, model))
	if err != nil {
		t.Fatal(err)
	}
	models, err := s.Workers.Models(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	m, ok := pleat.FindModel(models, model)
	if !ok || m.Workers != w.Live {
		t.Errorf("the model %s is known: %v, with %d workers of %d", model, ok, m.Workers, w.Live)
	}
	return w
}

// A worker that stops is not live from that moment, one that is silent not after 30 s. Their models stay known, so that
// jobs for them are accepted.
func TestWorkersThatAreAway(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store, clock *storetest.Clock) {
		register(t, s, "a", "shared", "own")
		register(t, s, "b", "shared")
		if n := working(t, s, "shared").Live; n != 2 {
			t.Errorf("%d workers", n)
		}
		if err := s.Workers.StopWorker(t.Context(), "a"); err != nil {
			t.Fatal(err)
		}
		if n := working(t, s, "shared").Live; n != 1 {
			t.Errorf("%d workers after one has stopped", n)
		}
		own := working(t, s, "own")
		if own.Live != 0 || own.Since.IsZero() {
			t.Errorf("the model of a stopped worker: %+v", own)
		}
		clock.Advance(pleat.WorkerSilence + time.Second)
		if any, err := s.Workers.Working(t.Context(), ""); err != nil || any.Live != 0 {
			t.Errorf("after the silence: %+v, %v", any, err)
		}
		states := map[pleat.WorkerState]int{}
		all, err := s.Workers.Workers(t.Context())
		for i := range all {
			states[all[i].State(s.DB.Now())]++
		}
		if err != nil || states[pleat.WorkerStopped] != 1 || states[pleat.WorkerSilent] != 1 {
			t.Errorf("%v, %v", states, err)
		}
		if _, err := s.Workers.TouchWorker(t.Context(), "b"); err != nil {
			t.Fatal(err)
		}
		if n := working(t, s, "shared").Live; n != 1 {
			t.Errorf("%d workers after one was heard again", n)
		}
		register(t, s, "a", "shared", "own")
		if n := working(t, s, "own").Live; n != 1 {
			t.Errorf("%d workers after the stopped one has started again", n)
		}
	})
}

// However long nobody has worked, the models of the last workers stay known. A model that others have outlived by a
// week is forgotten.
func TestModelsStayKnownWhileNobodyWorks(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store, clock *storetest.Clock) {
		register(t, s, "a", "old")
		clock.Advance(30 * 24 * time.Hour)
		if n := working(t, s, "old").Live; n != 0 {
			t.Errorf("%d workers after a month", n)
		}
		register(t, s, "b", "new")
		models, err := s.Workers.Models(t.Context())
		if err != nil || len(models) != 1 || models[0].Name != "new" {
			t.Errorf("%+v, %v", models, err)
		}
	})
}

// Workers that get a new identity with each start, as in containers, leave one row for what they ran, not one each. A
// worker that has said that it stops is known until it has returned its tasks.
func TestStoppedWorkersLeaveOneRow(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store, clock *storetest.Clock) {
		start := func(id pleat.WorkerID) {
			t.Helper()
			clock.Advance(2 * time.Minute)
			register(t, s, id, "null")
		}
		stop := func(id pleat.WorkerID) {
			t.Helper()
			if err := s.Workers.StopWorker(t.Context(), id); err != nil {
				t.Fatal(err)
			}
		}
		for _, id := range []pleat.WorkerID{"1", "2", "3"} {
			start(id)
			stop(id)
		}
		if n := storetest.Count(t, s, "worker"); n != 1 {
			t.Errorf("%d rows", n)
		}
		create(t, s, people.Own(storetest.User(t, s, "ada").User), "fold")
		got := claim(t, s, "3", 1)
		start("4")
		if n := storetest.Count(t, s, "worker"); n != 2 {
			t.Errorf("%d rows, while one of them holds a task", n)
		}
		if err := s.Runs.Release(t.Context(), tasks.LeaseOf(&got[0].Task), 0, nil); err != nil {
			t.Fatal(err)
		}
		stop("4")
		register(t, s, "5", "null")
		if n := storetest.Count(t, s, "worker"); n != 2 {
			t.Errorf("%d rows, while one of them has just stopped", n)
		}
	})
}

// The service searches for alignments if one of its workers or classes does, whichever of them was seen last. A worker
// that has stopped does so no more.
func TestSearchOfSomeWorkers(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store, clock *storetest.Clock) {
		model := func(searched bool) []pleat.Model {
			m := pleat.Model{Name: "m", Kind: pleat.TaskFold, Features: []pleat.Feature{pleat.FeatureMSA}}
			m.OfferAlignments(searched)
			return []pleat.Model{m}
		}
		start := func(id pleat.WorkerID, searched bool) {
			t.Helper()
			clock.Advance(time.Second)
			w := pleat.Worker{ID: id, Models: model(searched), Queues: []string{pleat.Queue(pleat.TaskFold, "m")}}
			if err := s.Workers.RegisterWorker(t.Context(), w); err != nil {
				t.Fatal(err)
			}
		}
		check := func(when string, want any) {
			t.Helper()
			models, err := s.Workers.Models(t.Context())
			if err != nil || len(models) != 1 || models[0].Params[0].Default != want {
				t.Errorf("%s: %+v, %v", when, models, err)
			}
		}
		start("search", true)
		start("bare", false)
		check("the other worker was seen last", pleat.MSAMMseqs2)
		clock.Advance(pleat.WorkerSilence + time.Second)
		start("bare", false)
		check("the worker that searches is silent", pleat.MSAMMseqs2)
		if err := s.Workers.StopWorker(t.Context(), "search"); err != nil {
			t.Fatal(err)
		}
		start("bare", false)
		check("it has stopped", pleat.MSANone)
		class := pleat.Class{Name: pleat.DefaultClass, Models: model(true), Alignments: pleat.AlignmentsAlso}
		if err := s.Workers.SetDefaultClass(t.Context(), class); err != nil {
			t.Fatal(err)
		}
		check("a class searches", pleat.MSAMMseqs2)
	})
}
