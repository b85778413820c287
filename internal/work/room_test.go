package work_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"pleat"
	"pleat/internal/engine/builtin"
	"pleat/internal/store"
	"pleat/internal/store/storetest"
	"pleat/internal/work"
)

// A simulation that takes long keeps no question waiting.
func TestKindsDoNotWaitForEachOther(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store, clock *storetest.Clock) {
		b := newBench(t, s, clock)
		running, end := make(chan struct{}), make(chan struct{})
		long := simulator{func(pleat.Work) pleat.Output {
			close(running)
			<-end
			return pleat.Output{Failure: pleat.Failed(pleat.FailInternal, "enough")}
		}}
		b.pool("w", func(c *work.Config) { c.Slots = 1 }, folder(t), builtin.Analyst{}, long)
		c := b.fold("good", false)
		b.await(c.Job, pleat.StateCompleted)
		md := b.ask(b.owner, pleat.TaskMD, `{"sequence":"GSGSGS"}`)
		<-running
		b.ended(b.ask(b.owner, pleat.TaskQnA, `{"source_job_id":"`+string(c.Job)+
			`","question":"How many residues does it have?"}`), pleat.StateCompleted)
		b.await(b.fold("good", false).Job, pleat.StateCompleted)
		close(end)
		b.ended(md, pleat.StateFailed)
	})
}

// Tasks that would together expect more memory than there is run one after the other, however many slots are free.
func TestMemoryIsShared(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store, clock *storetest.Clock) {
		b := newBench(t, s, clock)
		var now, most atomic.Int64
		slow := scripted{func(context.Context, pleat.Work, pleat.Sink) pleat.Output {
			for n := now.Add(1); ; {
				if old := most.Load(); n <= old || most.CompareAndSwap(old, n) {
					break
				}
			}
			time.Sleep(50 * time.Millisecond)
			now.Add(-1)
			return pleat.Output{Result: &pleat.Result{Timings: map[string]float64{}}}
		}}
		var jobs []pleat.JobID
		for range 6 {
			c, err := s.CreateJob(context.Background(), store.NewJob{Quota: 1000,
				Job: pleat.Job{Owner: b.owner, Name: "j", Sequences: []pleat.Sequence{{
					Kind:   pleat.Protein,
					Text:   "GSGS",
					Chains: []string{"A"},
					Count:  1,
				}}},
				Run: store.RunSpec{
					Model:  "null",
					Seed:   "1",
					Queue:  "fold/null",
					Memory: 40,
					Params: pleat.Params{Model: "null"},
				}})
			if err != nil {
				t.Fatal(err)
			}
			jobs = append(jobs, c.Job)
		}
		b.pool("w", func(c *work.Config) { c.Slots, c.Memory = 4, 100 }, slow)
		for _, j := range jobs {
			b.await(j, pleat.StateCompleted)
		}
		if most.Load() != 2 {
			t.Errorf("%d tasks of 40 bytes ran at once where there are 100", most.Load())
		}
	})
}
