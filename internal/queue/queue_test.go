package queue_test

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"pleat"
	"pleat/internal/queue"
	"pleat/internal/store/storetest"
	"pleat/internal/store/tasks"
)

var errAway = errors.New("the database is away")

// loop is a claim loop for folds that calls claim.
func (f *fixture) loop(wake chan struct{}, claim func(ctx context.Context) error) queue.ClaimLoop {
	return queue.ClaimLoop{
		News:   f.store.DB,
		Topics: []string{tasks.QueueTopic(storetest.FoldQueue)},
		Wake:   wake,
		Log:    slog.New(slog.DiscardHandler),
		Claim:  claim,
	}
}

// counts are the tasks of the folds' queue by their state.
func (f *fixture) counts() map[pleat.TaskState]int {
	f.Helper()
	all, err := f.store.Tasks.QueueCounts(f.Context())
	if err != nil {
		f.Fatal(err)
	}
	out := map[pleat.TaskState]int{}
	for _, c := range all {
		if c.Queue == storetest.FoldQueue {
			out[c.State] += c.N
		}
	}
	return out
}

// The loop claims at once and after each wake-up, and looks at nothing in between.
func TestClaimLoopWakes(t *testing.T) {
	t.Parallel()
	inBubble(t, func(f *fixture) {
		wake, freed := make(chan struct{}, 1), make(chan struct{})
		var claims atomic.Int64
		loop := f.loop(wake, func(context.Context) error { claims.Add(1); return nil })
		loop.Freed = freed
		start := time.Now()
		stop := f.start(loop.Run)
		for i, event := range []func(){
			func() {}, func() { f.create() }, func() { queue.Wake(wake) }, func() { freed <- struct{}{} },
		} {
			event()
			synctest.Wait()
			if n := claims.Load(); n != int64(i+1) || time.Since(start) != 0 {
				t.Errorf("%d claims after %d events and %v", n, i, time.Since(start))
			}
		}
		time.Sleep(time.Hour)
		if n := claims.Load(); n != 4 {
			t.Errorf("%d claims after an hour without an event", n)
		}
		stop()
		f.create()
		synctest.Wait()
		if n := claims.Load(); n != 4 || len(wake) != 0 {
			t.Errorf("%d claims, and the channel still gets %d tokens, after the end", n, len(wake))
		}
	})
}

// After an error the loop pauses, twice as long each time, although it is woken.
func TestClaimLoopBacksOff(t *testing.T) {
	t.Parallel()
	inBubble(t, func(f *fixture) {
		wake := make(chan struct{}, 1)
		var pauses []time.Duration
		last := time.Now()
		stop := f.start(f.loop(wake, func(context.Context) error {
			pauses = append(pauses, time.Since(last))
			last = time.Now()
			queue.Wake(wake)
			if len(pauses) == 9 {
				return nil // and begins anew
			}
			return errAway
		}).Run)
		time.Sleep(23 * time.Second)
		stop()
		const ms = time.Millisecond
		want := []time.Duration{0, 100 * ms, 200 * ms, 400 * ms, 800 * ms, 1600 * ms, 3200 * ms, 5000 * ms, 5000 * ms,
			0, 100 * ms, 200 * ms, 400 * ms, 800 * ms, 1600 * ms, 3200 * ms}
		if d := cmp.Diff(want, pauses); d != "" {
			t.Error(d)
		}
	})
}

// Whatever moment the loop is stopped in, the owner knows of each task that was claimed.
func TestClaimLoopStopsWithoutLoss(t *testing.T) {
	t.Parallel()
	inBubble(t, func(f *fixture) {
		const jobs, enough = 40, 20
		for range jobs {
			f.create()
		}
		held := map[pleat.TaskID]bool{}
		reached, once := make(chan struct{}), sync.Once{}
		stop := f.start(f.loop(make(chan struct{}, 1), func(ctx context.Context) error {
			for ctx.Err() == nil {
				got, err := f.store.Runs.Claim(
					ctx,
					worker,
					tasks.ClaimFilter{Queues: []string{storetest.FoldQueue}, N: 3},
				)
				if err != nil || len(got) == 0 {
					return err
				}
				for _, c := range got {
					held[c.Task.ID] = true
				}
				if len(held) >= enough {
					once.Do(func() { close(reached) })
				}
			}
			return nil
		}).Run)
		<-reached
		stop()
		n := f.counts()
		if n[pleat.TaskRunning] != len(held) || n[pleat.TaskRunning]+n[pleat.TaskQueued] != jobs {
			t.Errorf("the owner knows of %d claimed tasks, the store has %v", len(held), n)
		}
	})
}

func TestRetry(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		start, left := time.Now(), 3
		ok := queue.Retry(t.Context(), slog.New(slog.DiscardHandler), "try", func() error {
			if left--; left >= 0 {
				return errAway
			}
			return nil
		})
		if took := time.Since(start); !ok || took != 700*time.Millisecond {
			t.Errorf("%v after %v", ok, took)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		start = time.Now()
		ok = queue.Retry(ctx, slog.New(slog.DiscardHandler), "try", func() error { return errAway })
		if took := time.Since(start); ok || took != time.Minute {
			t.Errorf("%v after %v of the minute that it had", ok, took)
		}
	})
}
