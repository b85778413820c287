package work_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pleat"
	"pleat/internal/engine"
	"pleat/internal/engine/builtin"
	"pleat/internal/garbage"
	"pleat/internal/store/runs"
	"pleat/internal/store/storetest"
	"pleat/internal/work"
)

// writeResult is an engine that writes one file.
func writeResult(t *testing.T) engine.Engine {
	return scripted{func(_ context.Context, w pleat.Work, sink pleat.Sink) pleat.Output {
		sink.Progress("fold", 1, 2)
		sink.Log("hello\x1b world")
		return pleat.Output{
			Engine: "scripted",
			Result: &pleat.Result{Timings: map[string]float64{}},
			Files:  []pleat.File{file(t, w, "out.txt", pleat.ArtifactOther, []byte("result"))},
		}
	}}
}

func TestRunsAndStoresFiles(t *testing.T) {
	t.Parallel()
	onEachService(t, func(t *testing.T, f *fixture) {
		f.start("w", writeResult(t))
		c := f.create()
		v := f.await(c.Job, pleat.StateCompleted)
		if got := f.content(v.Artifacts, "out.txt"); string(got) != "result" || v.Run.Engine != "scripted" {
			t.Errorf("%q by the engine %q", got, v.Run.Engine)
		}
		if _, ok := v.Run.Result.Timings["queue"]; !ok {
			t.Error("no time in the queue")
		}
		news, err := f.s.Runs.Progress(context.Background(), c.Run, 0, 50)
		if err != nil {
			t.Fatal(err)
		}
		if text := fmt.Sprint(news); !strings.Contains(text, "hello  world") || !strings.Contains(text, "fold 1 2") {
			t.Error(text)
		}
	})
}

func TestCancelReachesTheEngine(t *testing.T) {
	t.Parallel()
	onEachService(t, func(t *testing.T, f *fixture) { cancelRunning(t, f) })
}

// The engine is cancelled at once, not with the next heartbeat or poll: in a synctest bubble time passes only while
// every goroutine waits.
func TestCancelIsNotPolled(t *testing.T) {
	t.Parallel()
	address := storetest.Databases()["sqlite"](t)
	synctest.Test(t, func(t *testing.T) {
		clock := &storetest.Clock{}
		f := newFixture(t, storetest.OpenAt(t, address, clock), clock)
		for range 3 {
			if took := cancelRunning(t, f); took != 0 {
				t.Errorf("the engine was cancelled after %v", took)
			}
		}
	})
}

// cancelRunning cancels a job while it runs, and returns how long the engine took to notice.
func cancelRunning(t *testing.T, f *fixture) (took time.Duration) {
	began, ended := make(chan struct{}), make(chan time.Time, 1)
	stop := f.start("w", scripted{func(ctx context.Context, _ pleat.Work, _ pleat.Sink) pleat.Output {
		close(began)
		<-ctx.Done()
		ended <- time.Now()
		return pleat.Output{Failure: engine.Interrupted(ctx)}
	}})
	defer stop()
	c := f.create()
	<-began
	asked := time.Now()
	if _, err := f.s.Runs.Cancel(context.Background(), f.owner, c.Job); err != nil {
		t.Fatal(err)
	}
	took = (<-ended).Sub(asked)
	if v := f.await(c.Job, pleat.StateStopped); v.Run.Failure.Kind != pleat.FailCancelled {
		t.Errorf("%+v", v.Run.Failure)
	}
	return took
}

func TestShutdownReleasesTasks(t *testing.T) {
	t.Parallel()
	onEachService(t, func(t *testing.T, f *fixture) {
		began := make(chan struct{})
		stop := f.start("w1", scripted{func(ctx context.Context, _ pleat.Work, sink pleat.Sink) pleat.Output {
			close(began)
			<-ctx.Done()
			sink.Log("interrupted")
			return pleat.Output{Failure: engine.Interrupted(ctx)}
		}})
		c := f.create()
		<-began
		stop()
		storetest.AwaitLine(t, f.s, c.Run, "interrupted")
		f.start("w2", builtin.Null{})
		f.await(c.Job, pleat.StateCompleted)
		o := outcomes(t, f)
		if o["done"] != 1 || o["released"] < 1 || len(o) != 2 || !f.called && o["released"] != 1 {
			t.Errorf("the attempts ended as %v", o)
		}
	})
}

func TestFailuresAreData(t *testing.T) {
	t.Parallel()
	onEachService(t, func(t *testing.T, f *fixture) {
		f.start("w", scripted{func(_ context.Context, w pleat.Work, _ pleat.Sink) pleat.Output {
			switch w.Fold.Name {
			case "panic":
				panic("boom")
			case "refuse":
				return pleat.Output{Failure: pleat.Failed(pleat.FailUnsupported, "cannot")}
			case "escape":
				return pleat.Output{
					Result: &pleat.Result{}, Files: []pleat.File{{Name: "passwd", Path: "/etc/hostname"}},
				}
			}
			return pleat.Output{}
		}})
		for name, want := range map[string]pleat.FailureKind{
			"panic": pleat.FailInternal, "refuse": pleat.FailUnsupported, "nothing": pleat.FailOutputInvalid,
		} {
			v := f.await(f.create(named(name)).Job, pleat.StateFailed)
			if v.Run.Failure.Kind != want {
				t.Errorf("%s: %+v", name, v.Run.Failure)
			}
		}
		// A file from elsewhere counts as a failure to store, which is tried again; it must never become an artifact.
		c := f.create(named("escape"))
		storetest.AwaitLine(t, f.s, c.Run, "trying again: the results could not be stored")
		if v, err := f.s.Runs.View(context.Background(), c.Job); err != nil || v.Job.State.Terminal() ||
			len(v.Artifacts) != 0 {
			t.Errorf("the job is %s with the files %+v; %v", v.Job.State, v.Artifacts, err)
		}
	})
}

func TestTwoPoolsShare(t *testing.T) {
	t.Parallel()
	onEachService(t, func(t *testing.T, f *fixture) {
		var mu sync.Mutex
		ran := map[pleat.RunID]int{}
		e := scripted{func(_ context.Context, w pleat.Work, _ pleat.Sink) pleat.Output {
			mu.Lock()
			ran[w.Fold.Run]++
			mu.Unlock()
			return pleat.Output{Result: &pleat.Result{}}
		}}
		f.start("w1", e)
		f.start("w2", e)
		var jobs []pleat.JobID
		for range 40 {
			jobs = append(jobs, f.create().Job)
		}
		for _, j := range jobs {
			f.await(j, pleat.StateCompleted)
		}
		mu.Lock()
		defer mu.Unlock()
		for run, n := range ran {
			if n != 1 {
				t.Errorf("%s ran %d times", run, n)
			}
		}
		if len(ran) != 40 {
			t.Errorf("%d runs", len(ran))
		}
	})
}

func TestGarbageIsWhatNothingRefersTo(t *testing.T) {
	t.Parallel()
	onEachService(t, func(t *testing.T, f *fixture) {
		ctx := context.Background()
		stop := f.start("w", writeResult(t))
		v := f.await(f.create().Job, pleat.StateCompleted)
		stop() // it removes deleted jobs, too
		if _, err := f.blobs.Put(ctx, "runs/orphan/1/x", strings.NewReader("x")); err != nil {
			t.Fatal(err)
		}
		n, err := garbage.Collect(ctx, f.s.Ops, f.s.Runs, f.blobs, time.Now().Add(time.Minute))
		if err != nil || n != 1 {
			t.Fatalf("%d files deleted, %v", n, err)
		}
		f.content(v.Artifacts, "out.txt")
		if err := f.s.Ops.DeleteJob(ctx, f.owner, v.Job.ID); err != nil {
			t.Fatal(err)
		}
		n, err = garbage.Collect(ctx, f.s.Ops, f.s.Runs, f.blobs, time.Now().Add(time.Minute))
		if err != nil || n != 1 {
			t.Errorf("%d files deleted after the job was, %v", n, err)
		}
	})
}

// signal is a log that passes the messages that begin with a text to a channel.
type signal struct {
	slog.Handler
	begin string
	seen  chan struct{}
}

func (s signal) Enabled(context.Context, slog.Level) bool { return true }

func (s signal) Handle(_ context.Context, r slog.Record) error {
	if strings.HasPrefix(r.Message, s.begin) {
		s.seen <- struct{}{}
	}
	return nil
}

// The lease of a running task outlives a jump of the clock: the worker notices the jump before it takes the lease for
// expired, and renews it.
func TestClockJumpLosesNoLease(t *testing.T) {
	t.Parallel()
	onEachService(t, func(t *testing.T, f *fixture) {
		jumped := signal{slog.DiscardHandler, "the clock jumped", make(chan struct{}, 9)}
		began, report, end := make(chan struct{}), make(chan struct{}), make(chan struct{})
		e := scripted{func(ctx context.Context, _ pleat.Work, sink pleat.Sink) pleat.Output {
			close(began)
			<-report
			sink.Log("after the jump")
			select {
			case <-ctx.Done():
				return pleat.Output{Failure: engine.Interrupted(ctx)}
			case <-end:
				return pleat.Output{Result: &pleat.Result{}}
			}
		}}
		f.serverLog = slog.New(jumped)
		f.startWith("w", func(c *work.Config) { c.Log = f.serverLog }, e)
		c := f.create()
		<-began
		f.clock.Advance(2 * time.Hour)
		<-jumped.seen
		// On PostgreSQL the worker takes the jump back. The times of this test must not come from both sides of that.
		if err := f.s.DB.SyncClock(t.Context()); err != nil {
			t.Fatal(err)
		}
		close(report)
		storetest.AwaitLine(t, f.s, c.Run, "after the jump") // it came with a heartbeat, which renews the lease
		if r, err := f.s.Runs.Reap(context.Background(), f.s.DB.Now()); err != nil || r != (runs.Reaped{}) {
			t.Errorf("reaped %+v, %v", r, err)
		}
		close(end)
		f.await(c.Job, pleat.StateCompleted)
		if n := attempts(t, f); n != 1 {
			t.Errorf("%d attempts: the jump cost a lease", n)
		}
	})
}
