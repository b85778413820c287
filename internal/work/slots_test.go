package work_test

import (
	"context"
	"sync/atomic"
	"testing"

	"pleat"
	"pleat/internal/engine/builtin"
	"pleat/internal/store/runs"
	"pleat/internal/work"
)

// gauge counts what goes on at a time, and remembers the most.
type gauge struct{ now, most atomic.Int64 }

func (g *gauge) enter() {
	n := g.now.Add(1)
	for old := g.most.Load(); n > old && !g.most.CompareAndSwap(old, n); {
		old = g.most.Load()
	}
}

func (g *gauge) leave() { g.now.Add(-1) }

// A simulation that takes long keeps no question waiting.
func TestKindsDoNotWaitForEachOther(t *testing.T) {
	t.Parallel()
	onEachService(t, func(t *testing.T, f *fixture) {
		running, end := make(chan struct{}), make(chan struct{})
		long := simulator{func(pleat.Work) pleat.Output {
			close(running)
			<-end
			return pleat.Output{Failure: pleat.Failed(pleat.FailInternal, "enough")}
		}}
		f.startWith("w", func(c *work.Config) { c.Slots = 1 }, trpCage(t), builtin.Analyst{}, long)
		c := f.create()
		f.await(c.Job, pleat.StateCompleted)
		md := f.createWorkflow(f.owner, pleat.TaskMD, `{"sequence":"GSGSGS"}`)
		<-running
		question := f.createWorkflow(f.owner, pleat.TaskQnA, `{"source_job_id":"`+string(c.Job)+
			`","question":"How many residues does it have?"}`)
		f.awaitWorkflow(question, pleat.StateCompleted)
		f.await(f.create().Job, pleat.StateCompleted)
		close(end)
		f.awaitWorkflow(md, pleat.StateFailed)
	})
}

// Tasks that would together expect more memory than there is run one after the other, however many slots are free. A
// task that is queued after them and fits does not wait for them.
func TestMemoryIsShared(t *testing.T) {
	t.Parallel()
	onEachService(t, func(t *testing.T, f *fixture) {
		var large gauge
		began, end := make(chan string), make(chan struct{})
		e := scripted{func(_ context.Context, w pleat.Work, _ pleat.Sink) pleat.Output {
			if w.Fold.Name == "large" {
				large.enter()
				defer large.leave()
			}
			began <- w.Fold.Name
			<-end
			return pleat.Output{Result: &pleat.Result{}}
		}}
		var jobs []runs.Created
		for range 6 {
			jobs = append(jobs, f.create(named("large"), memory(40)))
		}
		f.startWith("w", func(c *work.Config) { c.Slots, c.Memory = 4, 100 }, e)
		for _, want := range []string{"large", "large", "small"} {
			if want == "small" { // claimed after the large ones that wait were passed over
				jobs = append(jobs, f.create(named("small"), memory(20)))
			}
			if got := <-began; got != want {
				t.Fatalf("a %s task runs where a %s one has room", got, want)
			}
		}
		close(end)
		for range 4 {
			<-began
		}
		for _, j := range jobs {
			f.await(j.Job, pleat.StateCompleted)
		}
		if n := large.most.Load(); n != 2 {
			t.Errorf("%d tasks of 40 bytes ran at once where there are 100", n)
		}
	})
}

// computing is an engine that reports when it has computed, and then writes until write is closed.
type computing struct {
	scripted
	computed  chan pleat.JobID // gets each job whose computation ends, and holds it up until it is received
	write     chan struct{}
	computes  gauge
	unwritten gauge // computed or computing
}

func newComputing(t *testing.T) *computing {
	c := &computing{computed: make(chan pleat.JobID), write: make(chan struct{})}
	c.run = func(ctx context.Context, w pleat.Work, _ pleat.Sink) pleat.Output {
		c.unwritten.enter()
		defer c.unwritten.leave()
		c.computes.enter()
		select {
		case c.computed <- w.Fold.Job:
		case <-ctx.Done():
		}
		c.computes.leave()
		w.Computed()
		select {
		case <-c.write:
		case <-ctx.Done():
			return pleat.Output{Failure: pleat.Failed(pleat.FailCancelled, "stopped")}
		}
		return pleat.Output{
			Result: &pleat.Result{},
			Files:  []pleat.File{file(t, w, "out.txt", pleat.ArtifactOther, []byte(w.Fold.Job))},
		}
	}
	return c
}

// The next task begins while the last one's result is written, in one slot and in the memory of one; so many results
// at once, and no more. A result that is being written can still be cancelled, and each result is its own task's.
func TestWritingFreesTheSlot(t *testing.T) {
	t.Parallel()
	onEachService(t, func(t *testing.T, f *fixture) {
		e := newComputing(t)
		var jobs []runs.Created
		for range 6 {
			jobs = append(jobs, f.create(memory(60<<10)))
		}
		f.startWith("w", func(c *work.Config) { c.Slots, c.Memory = 1, 100<<10 }, e)
		first := <-e.computed
		for range 3 {
			<-e.computed // four are being written, none has ended
		}
		if _, err := f.s.Runs.Cancel(context.Background(), f.owner, first); err != nil {
			t.Fatal(err)
		}
		f.await(first, pleat.StateStopped)
		<-e.computed // the fifth, which waited until the first had ended
		close(e.write)
		<-e.computed
		for _, j := range jobs {
			if j.Job == first {
				continue
			}
			v := f.await(j.Job, pleat.StateCompleted)
			if got := f.content(v.Artifacts, "out.txt"); string(got) != string(j.Job) {
				t.Errorf("the job %s has the result of %s", j.Job, got)
			}
		}
		if n := e.computes.most.Load(); n != 1 {
			t.Errorf("%d tasks computed at once in one slot", n)
		}
		if n := e.unwritten.most.Load(); n != 4 {
			t.Errorf("%d tasks had no result yet at once, where four results are written", n)
		}
	})
}
