package work_test

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"

	"pleat"
	"pleat/internal/engine"
	"pleat/internal/store/storetest"
	"pleat/internal/work"
)

// accelerator is the only device of an engine.Pool. A task that uses it while another does fails the test.
type accelerator struct {
	t        *testing.T
	mu       sync.Mutex
	busy     bool
	reserved map[pleat.TaskID]bool
	freed    chan struct{}
}

func (*accelerator) Accelerators() int { return 1 }

func (a *accelerator) Free() (slots int, memory int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.busy {
		return 0, 0
	}
	return max(1-len(a.reserved), 0), 0
}

func (a *accelerator) Freed() <-chan struct{} { return a.freed }

func (a *accelerator) Reserve(task pleat.TaskID) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.reserved[task] = true
}

func (a *accelerator) Unreserve(task pleat.TaskID) {
	a.mu.Lock()
	held := a.reserved[task]
	delete(a.reserved, task)
	a.mu.Unlock()
	if held {
		a.signal()
	}
}

func (a *accelerator) signal() {
	select {
	case a.freed <- struct{}{}:
	default:
	}
}

func (a *accelerator) acquire(task pleat.TaskID) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.busy || !a.reserved[task] {
		a.t.Errorf("task %s has the device without a reservation (%v), or a second time", task, a.reserved)
	}
	a.busy = true
	delete(a.reserved, task)
}

func (a *accelerator) release() {
	a.mu.Lock()
	a.busy = false
	a.mu.Unlock()
	a.signal()
}

// accelerated is an engine that computes on one device until it is told to end, and then writes until write is closed.
type accelerated struct {
	scripted
	device *accelerator
	began  chan pleat.JobID
	end    chan struct{} // ends one computation
	write  chan struct{}
}

func (accelerated) Models() []pleat.Model {
	all := scripted{}.Models()
	for i := range all {
		all[i].Device = "cuda"
	}
	return all
}

func (e accelerated) Pool() engine.Pool { return e.device }

func newAccelerated(t *testing.T) accelerated {
	e := accelerated{
		device: &accelerator{t: t, reserved: map[pleat.TaskID]bool{}, freed: make(chan struct{}, 1)},
		began:  make(chan pleat.JobID, 9),
		end:    make(chan struct{}),
		write:  make(chan struct{}),
	}
	interrupted := func(ctx context.Context) pleat.Output { return pleat.Output{Failure: engine.Interrupted(ctx)} }
	e.run = func(ctx context.Context, w pleat.Work, _ pleat.Sink) pleat.Output {
		e.device.acquire(w.Task)
		e.began <- w.Fold.Job
		select {
		case <-e.end:
		case <-ctx.Done():
			e.device.release()
			return interrupted(ctx)
		}
		e.device.release()
		w.Computed()
		select {
		case <-e.write:
		case <-ctx.Done():
			return interrupted(ctx)
		}
		return pleat.Output{
			Result: &pleat.Result{},
			Files:  []pleat.File{file(t, w, "out.txt", pleat.ArtifactOther, []byte(w.Fold.Job))},
		}
	}
	return e
}

// messages is a log that passes its messages, with any attributes, to a channel.
type messages chan string

func (messages) Enabled(context.Context, slog.Level) bool { return true }
func (m messages) WithAttrs([]slog.Attr) slog.Handler     { return m }
func (m messages) WithGroup(string) slog.Handler          { return m }

func (m messages) Handle(_ context.Context, r slog.Record) error {
	m <- r.Message
	return nil
}

// await waits for n messages of a text.
func (m messages) await(text string, n int) {
	for n > 0 {
		if <-m == text {
			n--
		}
	}
}

// aheadWorker runs a worker with n jobs that have waited for two seconds. It returns when the first result is being
// written, the second job computes, and the third, if there is one, was claimed ahead.
func (f *fixture) aheadWorker(
	e accelerated, n int, change func(*work.Config),
) (jobs []pleat.JobID, log messages, stop func()) {
	f.t.Helper()
	for range n {
		jobs = append(jobs, f.create().Job)
	}
	f.clock.Advance(2 * time.Second)
	log = make(messages, 1000)
	stop = f.startWith("w", func(c *work.Config) {
		c.Log = slog.New(log)
		change(c)
	}, e)
	f.computes(e, jobs[0])
	e.end <- struct{}{}
	f.computes(e, jobs[1])
	log.await("task claimed", min(n, 3))
	return jobs, log, stop
}

// computes waits until the next computation begins, which must be that of a job.
func (f *fixture) computes(e accelerated, want pleat.JobID) {
	f.t.Helper()
	if got := <-e.began; got != want {
		f.t.Fatalf("job %s computes, and not %s", got, want)
	}
}

// states returns the states of jobs.
func (f *fixture) states(jobs []pleat.JobID) (out []pleat.State) {
	f.t.Helper()
	for _, id := range jobs {
		v, err := f.s.Runs.View(context.Background(), id)
		if err != nil {
			f.t.Fatal(err)
		}
		out = append(out, v.Job.State)
	}
	return out
}

// While one result is written and the next job computes, the third is claimed, and no more. It begins as soon as the
// device is free, before any run is COMPLETED.
func TestNextIsClaimedAhead(t *testing.T) {
	t.Parallel()
	onEachService(t, func(t *testing.T, f *fixture) {
		e := newAccelerated(t)
		jobs, log, _ := f.aheadWorker(e, 4, func(*work.Config) {})
		if got := f.states(jobs); got[3] != pleat.StateInitialized || got[2] != pleat.StateRunning {
			t.Errorf("the jobs are %v while the second computes", got)
		}
		e.end <- struct{}{}
		f.computes(e, jobs[2])
		log.await("task claimed", 1)
		for i, s := range f.states(jobs) {
			if s != pleat.StateRunning {
				t.Errorf("job %d is %s while the first results are written", i, s)
			}
		}
		e.end <- struct{}{}
		f.computes(e, jobs[3])
		e.end <- struct{}{}
		close(e.write)
		for _, id := range jobs {
			v := f.await(id, pleat.StateCompleted)
			if got := f.content(v.Artifacts, "out.txt"); string(got) != string(id) {
				t.Errorf("the job %s has the result of %s", id, got)
			}
		}
		if n := attempts(t, f); n != len(jobs) {
			t.Errorf("%d attempts at %d tasks", n, len(jobs))
		}
	})
}

// A task is not claimed ahead before another worker had time to claim it.
func TestIdleWorkerGoesFirst(t *testing.T) {
	t.Parallel()
	onEachService(t, func(t *testing.T, f *fixture) {
		e, idle := newAccelerated(t), newAccelerated(t)
		f.aheadWorker(e, 2, func(*work.Config) {})
		fresh := f.create().Job
		f.startWith("idle", func(*work.Config) {}, idle)
		f.computes(idle, fresh)
		close(idle.write)
		idle.end <- struct{}{}
		f.await(fresh, pleat.StateCompleted)
	})
}

// A task that was claimed ahead returns to its queue if the present one takes longer than expected, for another worker.
// None is claimed behind the same task again.
func TestClaimedAheadIsReturned(t *testing.T) {
	t.Parallel()
	onEachService(t, func(t *testing.T, f *fixture) {
		e, other := newAccelerated(t), newAccelerated(t)
		// Long enough for the second job, which is claimed ahead first, to get the accelerator on a busy machine.
		jobs, log, _ := f.aheadWorker(e, 3, func(c *work.Config) { c.Ahead = time.Second })
		log.await("task ended", 1)
		f.startWith("other", func(*work.Config) {}, other)
		f.computes(other, jobs[2])
		close(other.write)
		other.end <- struct{}{}
		f.await(jobs[2], pleat.StateCompleted)
		close(e.write)
		e.end <- struct{}{}
		f.await(jobs[1], pleat.StateCompleted)
		n, returned := storetest.Count(t, f.s, "attempt"), outcomes(t, f)["released"]
		if n-returned != len(jobs) || returned < 1 || !f.called && returned != 1 {
			t.Errorf("%d attempts at %d tasks; %d were returned, not one", n, len(jobs), returned)
		}
	})
}

// A task that was claimed ahead can be cancelled. At a shutdown it returns to its queue with what is written and what
// computes.
func TestClaimedAheadEnds(t *testing.T) {
	t.Parallel()
	onEachService(t, func(t *testing.T, f *fixture) {
		e := newAccelerated(t)
		jobs, log, stop := f.aheadWorker(e, 4, func(*work.Config) {})
		if _, err := f.s.Runs.Cancel(context.Background(), f.owner, jobs[2]); err != nil {
			t.Fatal(err)
		}
		f.await(jobs[2], pleat.StateStopped)
		log.await("task claimed", 1) // the fourth, in its place
		stop()
		next := newAccelerated(t)
		close(next.write)
		f.startWith("next", func(*work.Config) {}, next)
		for range 3 {
			<-next.began
			next.end <- struct{}{}
		}
		for _, i := range []int{0, 1, 3} {
			f.await(jobs[i], pleat.StateCompleted)
		}
	})
}

// A worker that drains finishes what it writes, computes and has claimed ahead.
func TestDrainEndsClaimedAhead(t *testing.T) {
	t.Parallel()
	onEachService(t, func(t *testing.T, f *fixture) {
		e := newAccelerated(t)
		jobs, log, _ := f.aheadWorker(e, 4, func(*work.Config) {})
		if _, err := f.s.Workers.DrainClass(t.Context(), pleat.DefaultClass); err != nil {
			t.Fatal(err)
		}
		log.await("the worker drains: it claims nothing more and ends when its tasks have ended", 1)
		e.end <- struct{}{}
		f.computes(e, jobs[2])
		e.end <- struct{}{}
		close(e.write)
		for _, id := range jobs[:3] {
			f.await(id, pleat.StateCompleted)
		}
		if got := f.states(jobs[3:])[0]; got != pleat.StateInitialized {
			t.Errorf("the last job is %s; the worker was to claim nothing more", got)
		}
	})
}
