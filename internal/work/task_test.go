package work

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"pleat"
	"pleat/internal/engine"
	"pleat/internal/queue"
	"pleat/internal/store/runs"
	"pleat/internal/store/tasks"
)

// awayService is a service whose database is away for some calls.
type awayService struct {
	Service
	calls int
	took  []time.Duration // as each call of FinishRun had it
}

func (s *awayService) FinishRun(_ context.Context, _ tasks.Lease, f runs.RunFinished) error {
	if s.took = append(s.took, f.Took); len(s.took) <= s.calls {
		return pleat.Errorf(pleat.CodeUnavailable, "the database is away")
	}
	return nil
}

// A run whose end waits for the database has taken the time until it is stored, as the store's own clock says: a
// difference would look like a clock that was set.
func TestTookWhileTheDatabaseIsAway(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		log := slog.New(slog.DiscardHandler)
		task := pleat.Task{ID: "task", Attempt: 1}
		leases := queue.NewLeases(nil, "worker", time.Now, log)
		r := &runningTask{
			ClaimedTask: runs.ClaimedTask{Task: task},
			lease:       leases.Add(t.Context(), &task),
			claimed:     time.Now(),
		}
		r.ctx = r.lease.Context()
		s := &awayService{calls: 2}
		p := &Pool{cfg: Config{Log: log, Clock: time.Now}, service: s}
		p.persist(r, p.finish(r, runs.RunFinished{State: pleat.StateCompleted}))
		if d := cmp.Diff([]time.Duration{0, 100 * time.Millisecond, 300 * time.Millisecond}, s.took); d != "" {
			t.Error(d)
		}
	})
}

// TestPersist checks how long the end of an attempt is tried to be stored, and which answers end it at once.
func TestPersist(t *testing.T) {
	t.Parallel()
	away := pleat.Errorf(pleat.CodeUnavailable, "the database is away")
	type result struct {
		Writes int
		Took   time.Duration
	}
	for _, c := range []struct {
		name  string
		after []error       // what the writes return; then nil
		cause error         // cancels the lease; nil: nothing does
		at    time.Duration // when it does
		want  result
	}{
		{"until the database answers", []error{away, away, away}, nil, 0, result{4, 700 * time.Millisecond}},
		{"stopped by its owner", []error{away, away, away}, queue.ErrStopped, 50 * time.Millisecond,
			result{4, 700 * time.Millisecond}},
		{"one last try at shutdown", []error{away, away, away}, engine.ErrShutdown, 50 * time.Millisecond,
			result{2, 50 * time.Millisecond}},
		{"one last try after a loss", []error{away, pleat.ErrLost}, pleat.ErrLost, 50 * time.Millisecond,
			result{2, 50 * time.Millisecond}},
		{"another worker has the task", []error{pleat.ErrLost, nil}, nil, 0, result{1, 0}},
		{"refused", []error{errors.New("refused"), nil}, nil, 0, result{1, 0}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				log := slog.New(slog.DiscardHandler)
				task := pleat.Task{ID: "task", Attempt: 1}
				leases := queue.NewLeases(nil, "worker", time.Now, log)
				r := &runningTask{ClaimedTask: runs.ClaimedTask{Task: task}, lease: leases.Add(t.Context(), &task)}
				r.ctx = r.lease.Context()
				if c.cause != nil {
					time.AfterFunc(c.at, func() { leases.CancelAll(c.cause) })
				}
				start := time.Now()
				var got result
				p := &Pool{cfg: Config{Log: log}}
				p.persist(r, func(ctx context.Context) error {
					if ctx.Err() != nil {
						t.Error("the write is cancelled with the task")
					}
					if got.Writes++; got.Writes <= len(c.after) {
						return c.after[got.Writes-1]
					}
					return nil
				})
				got.Took = time.Since(start)
				if diff := cmp.Diff(c.want, got); diff != "" {
					t.Error(diff)
				}
			})
		})
	}
}
