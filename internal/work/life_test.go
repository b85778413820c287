package work_test

import (
	"context"
	"log/slog"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"pleat"
	"pleat/internal/engine"
	"pleat/internal/engine/builtin"
	"pleat/internal/store/runs"
	"pleat/internal/store/storetest"
	"pleat/internal/work"
)

// startLife runs a worker whose life is bounded. The channel is closed when it has ended by itself.
func (f *fixture) startLife(id string, change func(*work.Config), e engine.Engine) <-chan struct{} {
	f.t.Helper()
	log := slog.New(slog.DiscardHandler)
	reg, err := engine.New(log, e)
	if err != nil {
		f.t.Fatal(err)
	}
	cfg := work.Config{
		ID:    pleat.WorkerID(id),
		Clock: f.clock.Now,
		Dir:   filepath.Join(f.dir, "scratch-"+id),
		Slots: 2,
		Log:   log,
	}
	change(&cfg)
	p := work.New(cfg, f.s, f.blobs, reg)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := p.Run(ctx); err != nil {
			f.t.Error(err)
		}
	}()
	f.t.Cleanup(func() { cancel(); <-ended })
	return ended
}

// worker returns what the database knows of a worker.
func (f *fixture) worker(id pleat.WorkerID) pleat.Worker {
	f.t.Helper()
	all, err := f.s.Workers.Workers(context.Background())
	if err != nil {
		f.t.Fatal(err)
	}
	for _, w := range all {
		if w.ID == id {
			return w
		}
	}
	f.t.Fatalf("there is no worker %s", id)
	return pleat.Worker{}
}

// state returns the state of a worker.
func (f *fixture) state(id pleat.WorkerID) pleat.WorkerState {
	f.t.Helper()
	w := f.worker(id)
	return w.State(f.s.DB.Now())
}

// blocking is an engine whose runs last until the channel is closed. It says when one begins.
func blocking(began chan<- pleat.RunID, end <-chan struct{}) engine.Engine {
	return scripted{func(ctx context.Context, w pleat.Work, _ pleat.Sink) pleat.Output {
		began <- w.Fold.Run
		select {
		case <-ctx.Done():
			return pleat.Output{Failure: engine.Interrupted(ctx)}
		case <-end:
			return pleat.Output{Result: &pleat.Result{}}
		}
	}}
}

func expected(d time.Duration) func(n *runs.NewJob) {
	return func(n *runs.NewJob) { n.Run.Expected = d }
}

// A worker that drains finishes what it runs, claims nothing more and ends. The service may ask it to.
func TestDrain(t *testing.T) {
	t.Parallel()
	onEachService(t, func(t *testing.T, f *fixture) {
		began, end := make(chan pleat.RunID, 9), make(chan struct{})
		drains := signal{slog.DiscardHandler, "the worker drains", make(chan struct{}, 9)}
		ended := f.startLife("w", func(c *work.Config) {
			c.Log = slog.New(drains)
			c.Slots = 1 // no claim is under way when it begins to drain
		}, blocking(began, end))
		first := f.create()
		<-began
		if n, err := f.s.Workers.DrainClass(t.Context(), pleat.DefaultClass); err != nil || n != 1 {
			t.Fatalf("%d workers were asked to drain, %v", n, err)
		}
		<-drains.seen
		if got := f.state("w"); got != pleat.WorkerDraining {
			t.Errorf("the worker is %s", got)
		}
		second := f.create()
		close(end)
		<-ended
		f.await(first.Job, pleat.StateCompleted)
		if v, err := f.s.Runs.View(t.Context(), second.Job); err != nil || v.Job.State != pleat.StateInitialized {
			t.Errorf("the job that came later is %s, %v", v.Job.State, err)
		}
		if got := f.state("w"); got != pleat.WorkerStopped {
			t.Errorf("the worker is %s", got)
		}
		if n := storetest.Count(t, f.s, "attempt"); n != 1 {
			t.Errorf("%d attempts", n)
		}
	})
}

// At the end of its time a worker returns what still runs to its queue, and no try is spent.
func TestWorkerEnds(t *testing.T) {
	t.Parallel()
	onEachService(t, func(t *testing.T, f *fixture) {
		began := make(chan pleat.RunID, 9)
		ends := f.clock.Now().Add(time.Hour)
		ended := f.startLife("w", func(c *work.Config) { c.Life.Ends = ends }, blocking(began, nil))
		c := f.create()
		<-began
		if got := f.worker("w").Ends; !got.Equal(ends.Truncate(time.Microsecond)) {
			t.Errorf("the worker ends at %v, not %v", got, ends)
		}
		f.clock.Advance(time.Hour)
		<-ended
		f.start("next", builtin.Null{})
		f.await(c.Job, pleat.StateCompleted)
		if n := storetest.Count(t, f.s, "attempt"); n != 2 {
			t.Errorf("%d attempts", n)
		}
	})
}

// A worker claims only what is expected to end in its time. When the rest needs a new worker, it makes room for one.
func TestClaimsWhatFitsItsTime(t *testing.T) {
	t.Parallel()
	onEachService(t, func(t *testing.T, f *fixture) {
		began, end := make(chan pleat.RunID, 9), make(chan struct{})
		close(end)
		ends := func(c *work.Config) { c.Life.Ends = f.clock.Now().Add(time.Hour) }
		var read atomic.Int64
		aged := func(c *work.Config) { // the worker has lived for 20 minutes when it claims first
			ends(c)
			c.Clock = func() time.Time {
				if read.Add(1) == 1 {
					return f.clock.Now()
				}
				return f.clock.Now().Add(20 * time.Minute)
			}
		}
		never := f.create(expected(2 * time.Hour)) // for no worker of such a life
		late := f.create(expected(50 * time.Minute))
		ended := f.startLife("w", aged, blocking(began, end))
		<-ended
		f.startLife("next", ends, blocking(began, end))
		if run := <-began; run != late.Run { // once it is measured, the other is expected to be short as well
			t.Errorf("the run %s began first, not %s; %s is too long", run, late.Run, never.Run)
		}
		f.await(late.Job, pleat.StateCompleted)
	})
}

func TestIdleExit(t *testing.T) {
	t.Parallel()
	onEachService(t, func(t *testing.T, f *fixture) {
		began, end := make(chan pleat.RunID, 9), make(chan struct{})
		ended := f.startLife("w", func(c *work.Config) { c.Life.IdleExit = time.Hour }, blocking(began, end))
		c := f.create()
		<-began
		f.clock.Advance(2 * time.Hour) // a worker that runs something is not idle
		close(end)
		f.await(c.Job, pleat.StateCompleted)
		storetest.Eventually(t, "the worker ends", func() bool {
			f.clock.Advance(2 * time.Hour) // it becomes idle some time after the job has ended
			select {
			case <-ended:
				return true
			default:
				return false
			}
		})
	})
}

func TestMaxTasks(t *testing.T) {
	t.Parallel()
	onEachService(t, func(t *testing.T, f *fixture) {
		for range 5 {
			f.create()
		}
		ended := f.startLife("w", func(c *work.Config) { c.Life.MaxTasks = 3 }, builtin.Null{})
		<-ended
		if n := storetest.Count(t, f.s, "attempt"); n != 3 {
			t.Errorf("%d attempts", n)
		}
	})
}

// A worker for one user serves the first whose task it claims, and makes room for a worker of another user.
func TestOneUser(t *testing.T) {
	t.Parallel()
	onEachService(t, func(t *testing.T, f *fixture) {
		began, end := make(chan pleat.RunID, 9), make(chan struct{})
		one := func(c *work.Config) { c.Life.OneUser = true }
		first := f.create()
		ended := f.startLife("w", one, blocking(began, end))
		<-began
		bob := storetest.User(t, f.s, "bob")
		his := f.create(func(n *runs.NewJob) { n.Job.Owner = bob.Project })
		hers := f.create()
		if run := <-began; run != hers.Run {
			t.Error("the worker serves a second user")
		}
		close(end)
		f.await(first.Job, pleat.StateCompleted)
		f.await(hers.Job, pleat.StateCompleted)
		f.clock.Advance(time.Minute)
		<-ended
		f.startLife("next", one, blocking(began, end))
		f.await(his.Job, pleat.StateCompleted)
	})
}
