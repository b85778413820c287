package queue_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"pleat"
	"pleat/internal/queue"
	"pleat/internal/store"
	"pleat/internal/store/people"
	"pleat/internal/store/runs"
	"pleat/internal/store/storetest"
)

const worker = pleat.WorkerID("w")

// fixture is a store on SQLite in a synctest bubble, and what one worker holds. Time passes only while every goroutine
// waits: minutes of leases cost nothing, and nothing depends on how fast the machine is.
type fixture struct {
	*testing.T
	store  *store.Store
	path   string // of the database
	clock  *storetest.Clock
	owner  people.Reach
	leases *queue.Leases
}

// inBubble runs fn with a fixture.
func inBubble(t *testing.T, fn func(f *fixture)) {
	path := filepath.Join(t.TempDir(), "pleat.db")
	synctest.Test(t, func(t *testing.T) {
		f := &fixture{T: t, path: path, clock: &storetest.Clock{}}
		f.store = storetest.OpenAt(t, "sqlite:"+path, f.clock)
		f.owner = storetest.User(t, f.store, "ada")
		f.leases = queue.NewLeases(f.store.Runs, worker, f.clock.Now, slog.New(slog.DiscardHandler))
		fn(f)
	})
}

// create queues a fold.
func (f *fixture) create() runs.Created {
	f.Helper()
	return storetest.CreateJob(f.T, f.store, storetest.NewFold(f.owner, "fold"))
}

// hold claims the fold that waits and holds it.
func (f *fixture) hold() *queue.Held {
	f.Helper()
	c := storetest.Claim(f.T, f.store, worker, storetest.FoldQueue)
	return f.leases.Add(f.Context(), &c.Task)
}

// start runs fn until the test, or the function returned, ends it.
func (f *fixture) start(fn func(ctx context.Context)) (stop func()) {
	ctx, cancel := context.WithCancel(f.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		fn(ctx)
	}()
	stop = func() { cancel(); <-done }
	f.Cleanup(stop)
	return stop
}

// reap runs the reaper once and returns how many leases had expired.
func (f *fixture) reap() int {
	f.Helper()
	r, err := f.store.Runs.Reap(f.Context(), f.store.DB.Now())
	if err != nil {
		f.Fatal(err)
	}
	return r.Requeued
}

// progress is what the store has of a run's progress of a kind.
func (f *fixture) progress(run pleat.RunID, kind pleat.ProgressKind) []pleat.Progress {
	f.Helper()
	all, err := f.store.Runs.Progress(f.Context(), run, 0, 10_000)
	if err != nil {
		f.Fatal(err)
	}
	return slices.DeleteFunc(all, func(p pleat.Progress) bool { return p.Kind != kind })
}

// exec changes the database without the store.
func (f *fixture) exec(statement string) {
	f.Helper()
	db, err := sql.Open("sqlite", "file:"+f.path)
	if err != nil {
		f.Fatal(err)
	}
	defer db.Close()
	if _, err := db.ExecContext(f.Context(), statement); err != nil {
		f.Fatal(err)
	}
}

// wantCause fails the test unless a task's context has ended with a cause.
func (f *fixture) wantCause(h *queue.Held, want error) {
	f.Helper()
	if got := context.Cause(h.Context()); !errors.Is(got, want) || h.Context().Err() == nil {
		f.Errorf("the context ended with %v, not %v", got, want)
	}
}

func TestHeartbeatsRenewLeases(t *testing.T) {
	t.Parallel()
	inBubble(t, func(f *fixture) {
		f.create()
		h := f.hold()
		stop := f.start(f.leases.Run)
		for range 20 {
			time.Sleep(pleat.LeaseDuration / 2)
			if n := f.reap(); n != 0 || h.Context().Err() != nil {
				t.Fatalf("%d leases have expired, the task's context ended with %v", n, context.Cause(h.Context()))
			}
		}
		stop()
		time.Sleep(pleat.LeaseDuration + time.Second)
		if n := f.reap(); n != 1 {
			t.Errorf("%d leases have expired after the heartbeats ended", n)
		}
	})
}

// A worker that stood still, and whose task another worker has now, stops computing it with its first heartbeat.
func TestLostLeaseCancelsTheTask(t *testing.T) {
	t.Parallel()
	inBubble(t, func(f *fixture) {
		f.create()
		h := f.hold()
		time.Sleep(pleat.LeaseDuration + time.Second)
		if n := f.reap(); n != 1 {
			t.Fatalf("%d leases have expired", n)
		}
		if c := storetest.Claim(t, f.store, "another", storetest.FoldQueue); c.Task.ID != h.Task {
			t.Fatalf("claimed %s", c.Task.ID)
		}
		f.start(f.leases.Run)
		time.Sleep(time.Second)
		f.wantCause(h, pleat.ErrLost)
	})
}

func TestHeartbeatStopsACancelledTask(t *testing.T) {
	t.Parallel()
	inBubble(t, func(f *fixture) {
		c := f.create()
		h := f.hold()
		f.start(f.leases.Run)
		if _, err := f.store.Runs.Cancel(f.Context(), f.owner, c.Job); err != nil {
			t.Fatal(err)
		}
		time.Sleep(pleat.HeartbeatInterval + time.Second)
		f.wantCause(h, queue.ErrStopped)
	})
}

func TestCancel(t *testing.T) {
	t.Parallel()
	inBubble(t, func(f *fixture) {
		f.create()
		f.create()
		first, second := f.hold(), f.hold()
		f.leases.Cancel("01800000-0000-7000-8000-000000000000", queue.ErrStopped)
		f.leases.Cancel(first.Task, queue.ErrStopped)
		f.wantCause(first, queue.ErrStopped)
		if second.Context().Err() != nil {
			t.Error("another task was cancelled with it")
		}
		shutdown := errors.New("shutdown")
		f.leases.CancelAll(shutdown)
		f.wantCause(first, queue.ErrStopped)
		f.wantCause(second, shutdown)
	})
}

// A call that removes an attempt does not remove the later attempt of this worker at the same task.
func TestRemove(t *testing.T) {
	t.Parallel()
	inBubble(t, func(f *fixture) {
		f.create()
		first := f.hold()
		time.Sleep(pleat.LeaseDuration + time.Second)
		f.reap()
		second := f.hold()
		f.leases.Remove(first)
		if n := f.leases.Len(); n != 1 || first.Context().Err() == nil || second.Context().Err() != nil {
			t.Errorf("%d are held, the first with %v, the second with %v", n, first.Context().Err(),
				second.Context().Err())
		}
		f.leases.Remove(second)
		f.start(f.leases.Run)
		time.Sleep(pleat.LeaseDuration + time.Second)
		if n := f.reap(); n != 1 || f.leases.Len() != 0 {
			t.Errorf("%d leases have expired, %d tasks are held", n, f.leases.Len())
		}
	})
}

// RenewNow renews leases before they are due: they last from that moment on.
func TestRenewNow(t *testing.T) {
	t.Parallel()
	inBubble(t, func(f *fixture) {
		f.create()
		f.hold()
		stop := f.start(f.leases.Run)
		time.Sleep(pleat.HeartbeatInterval - time.Second)
		f.leases.RenewNow()
		synctest.Wait()
		stop()
		time.Sleep(pleat.LeaseDuration - time.Second)
		if n := f.reap(); n != 0 {
			t.Errorf("%d leases have expired", n)
		}
	})
}

// Progress is stored with the next heartbeat. For a stage, only the last report before the heartbeat is.
func TestProgress(t *testing.T) {
	t.Parallel()
	inBubble(t, func(f *fixture) {
		c := f.create()
		h := f.hold()
		f.start(f.leases.Run)
		stage := func(name string, done int) pleat.Progress {
			return pleat.Progress{Kind: pleat.ProgressStage, Stage: name, Done: done, Total: 9}
		}
		for _, p := range []pleat.Progress{
			stage("msa", 1), stage("msa", 2), {Kind: pleat.ProgressLog, Line: "between"}, stage("msa", 3),
			stage("fold", 1), stage("fold", 2),
		} {
			h.Report(p)
		}
		time.Sleep(time.Second)
		want := []pleat.Progress{stage("msa", 3), stage("fold", 2)}
		if d := cmp.Diff(want, f.progress(c.Run, pleat.ProgressStage),
			cmpopts.IgnoreFields(pleat.Progress{}, "At", "Seq")); d != "" {
			t.Error(d)
		}
		h.Report(stage("fold", 3))
		if d := cmp.Diff([]pleat.Progress{stage("fold", 3)}, h.DrainProgress(f.Context())); d != "" {
			t.Error(d)
		}
		time.Sleep(time.Second)
		if n := len(f.progress(c.Run, pleat.ProgressStage)); n != 2 {
			t.Errorf("%d reports are stored: what was drained is stored by its caller", n)
		}
	})
}

// heldHeartbeats is a store whose heartbeats wait until the test lets them through.
type heldHeartbeats struct {
	queue.Renewer
	began, pass chan struct{}
}

func (h heldHeartbeats) Heartbeat(
	ctx context.Context, worker pleat.WorkerID, beats []pleat.Heartbeat,
) ([]pleat.HeartbeatReply, error) {
	h.began <- struct{}{}
	<-h.pass
	return h.Renewer.Heartbeat(ctx, worker, beats)
}

// A task that ends while a heartbeat with its progress is under way ends after it: the store drops the progress of
// tasks that have ended.
func TestDrainProgressWaitsForTheHeartbeat(t *testing.T) {
	t.Parallel()
	inBubble(t, func(f *fixture) {
		beats := heldHeartbeats{f.store.Runs, make(chan struct{}), make(chan struct{})}
		f.leases = queue.NewLeases(beats, worker, f.clock.Now, slog.New(slog.DiscardHandler))
		c := f.create()
		h := f.hold()
		f.start(f.leases.Run)
		h.Report(pleat.Progress{Kind: pleat.ProgressLog, Line: "the last"})
		<-beats.began
		drained := make(chan []pleat.Progress)
		go func() { drained <- h.DrainProgress(f.Context()) }()
		synctest.Wait()
		select {
		case p := <-drained:
			t.Fatalf("drained %v before the heartbeat was stored", p)
		default:
		}
		close(beats.pass)
		if p := <-drained; len(p) != 0 || len(f.progress(c.Run, pleat.ProgressLog)) != 1 {
			t.Errorf("drained %v, stored %v", p, f.progress(c.Run, pleat.ProgressLog))
		}
	})
}

// While the database is away, progress waits for it: the first MaxPending reports, in their order.
func TestProgressOutlivesAnOutage(t *testing.T) {
	t.Parallel()
	inBubble(t, func(f *fixture) {
		c := f.create()
		h := f.hold()
		f.start(f.leases.Run)
		report := func(from, to int) {
			for i := from; i < to; i++ {
				h.Report(pleat.Progress{Kind: pleat.ProgressLog, Line: fmt.Sprint(i)})
			}
		}
		f.exec("ALTER TABLE run RENAME TO away")
		time.Sleep(time.Second / 4) // between two heartbeats
		report(0, 400)
		time.Sleep(time.Second)
		report(400, 400+queue.MaxPending)
		time.Sleep(time.Second)
		f.exec("ALTER TABLE away RENAME TO run")
		time.Sleep(time.Second)
		report(9000, 9001)
		time.Sleep(time.Second)
		var got, want []string
		for _, p := range f.progress(c.Run, pleat.ProgressLog) {
			got = append(got, p.Line)
		}
		for i := range queue.MaxPending {
			want = append(want, fmt.Sprint(i))
		}
		want = append(want, "9000")
		if d := cmp.Diff(want, got); d != "" {
			t.Error(d)
		}
	})
}
