package work_test

import (
	"context"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"pleat"
	"pleat/internal/store"
	"pleat/internal/store/storetest"
	"pleat/internal/work"
)

// computing is an engine that says when it has computed, and then writes until it is told to end.
type computing struct {
	scripted
	begun    chan pleat.JobID // it computes until somebody takes it
	write    chan struct{}
	at, most atomic.Int64 // of those that compute
}

func newComputing() *computing {
	c := &computing{begun: make(chan pleat.JobID), write: make(chan struct{})}
	c.run = func(ctx context.Context, w pleat.Work, _ pleat.Sink) pleat.Output {
		c.most.Store(max(c.most.Load(), c.at.Add(1)))
		select {
		case c.begun <- w.Fold.Job:
		case <-ctx.Done():
		}
		c.at.Add(-1)
		w.Computed()
		select {
		case <-c.write:
		case <-ctx.Done():
			return pleat.Output{Failure: pleat.Failed(pleat.FailCancelled, "stopped")}
		}
		path := filepath.Join(w.Dir, "out.txt")
		if err := os.WriteFile(path, []byte(w.Fold.Job), 0o600); err != nil {
			return pleat.Output{Failure: pleat.Failed(pleat.FailStorage, err.Error())}
		}
		return pleat.Output{Result: &pleat.Result{Timings: map[string]float64{}},
			Files: []pleat.File{{Name: "out.txt", Path: path, Kind: pleat.ArtifactOther}}}
	}
	return c
}

// The next task begins while the last one's result is written, in one slot and in the memory of one; so many results
// at once, and no more. What is being written can still be cancelled, and each result is its own task's.
func TestComputedGivesItsPlaceAway(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store, clock *storetest.Clock) {
		b := newBench(t, s, clock)
		e := newComputing()
		var jobs []store.Created
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
					Memory: 60,
					Params: pleat.Params{Model: "null"},
				}})
			if err != nil {
				t.Fatal(err)
			}
			jobs = append(jobs, c)
		}
		b.pool("w", func(c *work.Config) { c.Slots, c.Memory = 1, 100 }, e)
		first := <-e.begun
		for range 3 {
			<-e.begun // four are being written, none has ended
		}
		select {
		case <-e.begun:
			t.Error("a fifth result waits to be written beside four")
		default:
		}
		if _, err := s.Cancel(context.Background(), b.owner, first); err != nil {
			t.Fatal(err)
		}
		b.await(first, pleat.StateStopped)
		<-e.begun // there is room to write again
		close(e.write)
		<-e.begun
		for _, j := range jobs {
			if j.Job == first {
				continue
			}
			if v := b.await(j.Job, pleat.StateCompleted); len(v.Artifacts) != 1 ||
				v.Artifacts[0].Bytes != int64(len(v.Job.ID)) {
				t.Errorf("%+v", v)
			}
		}
		if e.most.Load() != 1 {
			t.Errorf("%d tasks computed at once in one slot", e.most.Load())
		}
	})
}
