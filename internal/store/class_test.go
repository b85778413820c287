package store_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"pleat"
	"pleat/internal/store"
	"pleat/internal/store/people"
	"pleat/internal/store/runs"
	"pleat/internal/store/storetest"
	"pleat/internal/store/tasks"
	"pleat/internal/store/workers"
)

// foldClass is a class whose workers fold with the model null for at most two hours.
func foldClass(name string, change ...func(c *pleat.Class)) pleat.Class {
	c := pleat.Class{
		Name:       name,
		Engines:    []string{"null"},
		Models:     []pleat.Model{{Name: "null", Kind: pleat.TaskFold}},
		Alignments: pleat.AlignmentsAlso,
		Isolation:  pleat.IsolationShared,
		Walltime:   2 * time.Hour,
		TargetWait: 10 * time.Minute,
	}
	for _, fn := range change {
		fn(&c)
	}
	return c
}

func setClasses(t *testing.T, s *store.Store, classes ...pleat.Class) {
	t.Helper()
	if err := s.Workers.SetClasses(t.Context(), classes); err != nil {
		t.Fatal(err)
	}
}

// demand returns the demand for a class.
func demand(t *testing.T, s *store.Store, class string) workers.Demand {
	t.Helper()
	all, err := s.Workers.Demand(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range all {
		if d.Class.Name == class {
			return d
		}
	}
	t.Fatalf("there is no class %s", class)
	return workers.Demand{}
}

// waits queues folds that are expected to take a time each.
func waits(t *testing.T, s *store.Store, owner people.Reach, n int, expected time.Duration) {
	t.Helper()
	for range n {
		f := storetest.NewFold(owner, "j")
		f.Run.Expected = expected
		storetest.CreateJob(t, s, f)
	}
}

// Jobs of a class's models are accepted while none of its workers lives, and its demand tells how many are wanted.
func TestDemand(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store, clock *storetest.Clock) {
		ada := storetest.User(t, s, "ada")
		setClasses(t, s, foldClass("gpu"), foldClass("long", func(c *pleat.Class) { c.Walltime = 0 }))
		models, err := s.Workers.Models(t.Context())
		if m, ok := pleat.FindModel(models, "null"); err != nil || !ok || m.Workers != 0 {
			t.Errorf("the model of a class without workers: %+v, %v, %v", m, ok, err)
		}
		waits(t, s, ada, 30, 2*time.Minute)
		waits(t, s, ada, 1, 3*time.Hour) // too long for the first class
		d := demand(t, s, "gpu")
		if d.Queued != 30 || d.Backlog != time.Hour || d.Wanted != 6 || d.Busy != 0 || d.Oldest.IsZero() {
			t.Errorf("%+v", d)
		}
		if d := demand(t, s, "long"); d.Queued != 1 || d.Wanted != 1 {
			t.Errorf("%+v", d)
		}
		if err := s.Workers.RegisterWorker(t.Context(), pleat.Worker{ID: "w", Class: "gpu"}); err != nil {
			t.Fatal(err)
		}
		storetest.Claim(t, s, "w", storetest.FoldQueue)
		d = demand(t, s, "gpu")
		if d.Busy != 1 || d.Queued != 29 || d.Live(s.DB.Now()) != 1 || d.Wanted != 6 {
			t.Errorf("with a worker: %+v", d)
		}
		setClasses(t, s, foldClass("gpu", func(c *pleat.Class) { c.MaxWorkers = 2 }))
		if d := demand(t, s, "gpu"); d.Wanted != 2 || d.Needed != 6 {
			t.Errorf("%d workers are wanted of %d needed, want 2 of 6", d.Wanted, d.Needed)
		}
		setClasses(t, s)
		models, err = s.Workers.Models(t.Context())
		if _, ok := pleat.FindModel(models, "null"); err != nil || ok {
			t.Errorf("the model of a class that is gone is known: %v, %v", ok, err)
		}
	})
}

// A task that fits the workers of no class is shown as waiting, but no worker is started for it: it would wait too.
func TestDemandOfTasksThatFitNowhere(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store, _ *storetest.Clock) {
		setClasses(t, s, foldClass("gpu"))
		waits(t, s, people.Own(storetest.User(t, s, "ada").User), 1, 3*time.Hour)
		if d := demand(t, s, "gpu"); d.Queued != 1 || d.Wanted != 0 {
			t.Errorf("%+v", d)
		}
	})
}

// The times that tasks took on the workers of a class correct those that their manifest expects.
func TestMeasuredSpeed(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store, clock *storetest.Clock) {
		ada := storetest.User(t, s, "ada")
		setClasses(t, s, foldClass("gpu", func(c *pleat.Class) { c.Walltime = 0 }))
		if err := s.Workers.RegisterWorker(t.Context(), pleat.Worker{ID: "w", Class: "gpu"}); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			waits(t, s, ada, 1, time.Minute)
			task := storetest.Claim(t, s, "w", storetest.FoldQueue).Task
			clock.Advance(10 * time.Second) // within the lease
			if err := s.Runs.FinishRun(t.Context(), tasks.LeaseOf(&task), storetest.Completed()); err != nil {
				t.Fatal(err)
			}
		}
		waits(t, s, ada, 6, time.Hour)
		if d := demand(t, s, "gpu"); d.Backlog < 59*time.Minute || d.Backlog > 62*time.Minute {
			t.Errorf("six hours by the manifest, six times as fast: %v", d.Backlog)
		}
		filter := tasks.ClaimFilter{Queues: []string{storetest.FoldQueue}, N: 9, Class: "gpu", Left: 5 * time.Minute}
		if got, err := s.Runs.Claim(t.Context(), "w", filter); err != nil || len(got) != 0 {
			t.Errorf("%d tasks of ten minutes claimed with five left, %v", len(got), err)
		}
		filter.Left = 15 * time.Minute
		if got, err := s.Runs.Claim(t.Context(), "w", filter); err != nil || len(got) != 6 {
			t.Errorf("%d tasks of ten minutes claimed with fifteen left, %v", len(got), err)
		}
	})
}

// The class that is asked to run a task is one whose workers can claim it at the speed that was measured on them.
func TestDemandByMeasuredSpeed(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store, clock *storetest.Clock) {
		ada := storetest.User(t, s, "ada")
		setClasses(t, s, foldClass("short"), foldClass("fast", func(c *pleat.Class) { c.Walltime = 0 }))
		if err := s.Workers.RegisterWorker(t.Context(), pleat.Worker{ID: "w", Class: "fast"}); err != nil {
			t.Fatal(err)
		}
		waits(t, s, ada, 1, time.Minute)
		task := storetest.Claim(t, s, "w", storetest.FoldQueue).Task
		clock.Advance(6 * time.Second)
		if err := s.Runs.FinishRun(t.Context(), tasks.LeaseOf(&task), storetest.Completed()); err != nil {
			t.Fatal(err)
		}
		const hours = 3 // too long for the first class; the other is ten times as fast
		waits(t, s, ada, 1, hours*time.Hour)
		if d := demand(t, s, "short"); d.Queued != 0 || d.Wanted != 0 {
			t.Errorf("the class whose workers cannot claim it: %+v", d)
		}
		if d := demand(t, s, "fast"); d.Queued != 1 || d.Wanted != 1 {
			t.Errorf("the class whose workers can: %+v", d)
		}
		all, err := s.Workers.Demand(t.Context())
		if d, ok := workers.DemandOf(all, storetest.FoldQueue, 0, hours*time.Hour); err != nil || !ok ||
			d.Class.Name != "fast" {
			t.Errorf("it waits for %+v, %v", d, err)
		}
	})
}

// Many long tasks have a backlog that is longer than a Duration.
func TestDemandOfLongTasks(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store, _ *storetest.Clock) {
		setClasses(t, s, foldClass("gpu", func(c *pleat.Class) { c.Walltime = 0 }))
		waits(t, s, people.Own(storetest.User(t, s, "ada").User), 300, pleat.Seconds(1e12))
		if d := demand(t, s, "gpu"); d.Wanted != 300 {
			t.Errorf("%d workers are wanted, with a backlog of %v", d.Wanted, d.Backlog)
		}
	})
}

// A simulation needs no more time than its turn, however slow the workers are: another worker continues it.
func TestClaimSimulation(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store, clock *storetest.Clock) {
		ada := storetest.User(t, s, "ada")
		if err := s.Workers.RegisterWorker(t.Context(), pleat.Worker{ID: "w", Class: "gpu"}); err != nil {
			t.Fatal(err)
		}
		simulate := func(expected time.Duration) {
			t.Helper()
			w := newFlow(ada, false)
			w.Workflow.Kind = pleat.TaskMD
			w.Run = runs.RunSpec{Queue: "md/calvados", Model: "calvados", Expected: expected}
			if _, err := s.Runs.CreateWorkflow(t.Context(), w); err != nil {
				t.Fatal(err)
			}
		}
		simulate(time.Second)
		task := storetest.Claim(t, s, "w", "md/calvados").Task
		clock.Advance(10 * time.Second)
		if err := s.Runs.FinishRun(t.Context(), tasks.LeaseOf(&task), storetest.Completed()); err != nil {
			t.Fatal(err)
		}
		simulate(5 * time.Minute) // fifty, as measured
		filter := tasks.ClaimFilter{Queues: []string{"md/calvados"}, N: 1, Class: "gpu"}
		filter.Left = pleat.SimulationTurn - 1
		if got, err := s.Runs.Claim(t.Context(), "w", filter); err != nil || len(got) != 0 {
			t.Errorf("%d simulations claimed without time for a turn, %v", len(got), err)
		}
		filter.Left = pleat.SimulationTurn
		if got, err := s.Runs.Claim(t.Context(), "w", filter); err != nil || len(got) != 1 {
			t.Errorf("%d simulations claimed with time for a turn, %v", len(got), err)
		}
	})
}

func TestClaimForOneUser(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store, _ *storetest.Clock) {
		ada, bob := storetest.User(t, s, "ada"), storetest.User(t, s, "bob")
		waits(t, s, ada, 2, 0)
		waits(t, s, bob, 2, 0)
		mine := tasks.ClaimFilter{Queues: []string{storetest.FoldQueue}, N: 9, Owner: bob.Project}
		got, err := s.Runs.Claim(t.Context(), "w", mine)
		if err != nil || len(got) != 2 || got[0].Task.Owner != bob.Project || got[1].Task.Owner != bob.Project {
			t.Errorf("%d tasks, %v", len(got), err)
		}
		any := mine
		any.Owner = ""
		if needed, err := s.Runs.NeedsFreshWorker(t.Context(), mine, any); err != nil || !needed {
			t.Errorf("ada's tasks need a new worker: %v, %v", needed, err)
		}
		mine.Owner = ada.Project
		if needed, err := s.Runs.NeedsFreshWorker(t.Context(), mine, any); err != nil || needed {
			t.Errorf("ada's own worker needs a new one: %v, %v", needed, err)
		}
	})
}

// One process leads; another takes over when it resigns, or does not renew its leadership in time.
func TestLead(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store, clock *storetest.Clock) {
		lead := func(holder string, want bool) {
			t.Helper()
			if got, err := s.Workers.TryLead(context.Background(), "fleet", holder, time.Minute); err != nil ||
				got != want {
				t.Errorf("%s leads: %v, %v", holder, got, err)
			}
		}
		lead("a", true)
		lead("b", false)
		clock.Advance(50 * time.Second)
		lead("a", true)
		clock.Advance(50 * time.Second)
		lead("b", false)
		clock.Advance(11 * time.Second)
		lead("b", true)
		lead("a", false)
		if err := s.Workers.StopLeading(t.Context(), "fleet", "a"); err != nil { // it does not lead
			t.Fatal(err)
		}
		lead("a", false)
		if err := s.Workers.StopLeading(t.Context(), "fleet", "b"); err != nil {
			t.Fatal(err)
		}
		lead("a", true)
	})
}

func TestDrainClass(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store, _ *storetest.Clock) {
		if s.DB.Postgres() { // the listener wakes everybody when it begins
			storetest.Eventually(t, "the store listens", s.DB.Notified)
		}
		setClasses(t, s, foldClass("gpu"))
		for id, class := range map[pleat.WorkerID]string{"a": "gpu", "b": "gpu", "c": ""} {
			if err := s.Workers.RegisterWorker(t.Context(), pleat.Worker{ID: id, Class: class}); err != nil {
				t.Fatal(err)
			}
		}
		news, quiet := make(chan struct{}, 1), make(chan struct{}, 1)
		s.DB.SubscribeTo(tasks.WorkerTopic("a"), news)
		s.DB.SubscribeTo(tasks.WorkerTopic("c"), quiet)
		if n, err := s.Workers.DrainClass(t.Context(), "gpu"); err != nil || n != 2 {
			t.Errorf("%d workers, %v", n, err)
		}
		if len(news) != 1 || len(quiet) != 0 {
			t.Errorf("%d tokens, %d for a worker of another class", len(news), len(quiet))
		}
		for id, want := range map[pleat.WorkerID]bool{"a": true, "b": true, "c": false} {
			if drain, err := s.Workers.TouchWorker(t.Context(), id); err != nil || drain != want {
				t.Errorf("%s drains: %v, %v", id, drain, err)
			}
		}
		if n, err := s.Workers.DrainClass(t.Context(), "gpu"); err != nil || n != 0 {
			t.Errorf("again: %d workers, %v", n, err)
		}
		if _, err := s.Workers.DrainClass(t.Context(), "cpu"); !errors.Is(err, workers.ErrClassNotFound) {
			t.Errorf("no such class: %v", err)
		}
	})
}

// The fleet's report of a class is kept when the classes are set again.
func TestReportFleet(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store, _ *storetest.Clock) {
		setClasses(t, s, foldClass("gpu"))
		want := pleat.FleetReport{At: s.DB.Now(), Pending: 2, Reason: "Slurm says Resources", Since: s.DB.Now()}
		if err := s.Workers.ReportFleet(t.Context(), "gpu", want); err != nil {
			t.Fatal(err)
		}
		setClasses(t, s, foldClass("gpu", func(c *pleat.Class) { c.MaxWorkers = 3 }))
		if d := demand(t, s, "gpu"); d.Fleet.Reason != want.Reason || d.Fleet.Pending != 2 || d.Class.MaxWorkers != 3 {
			t.Errorf("%+v", d)
		}
	})
}
