package queue_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pleat"
	"pleat/internal/queue"
	"pleat/internal/store/runs"
	"pleat/internal/store/storetest"
	"pleat/internal/store/tasks"
)

// startPoll runs a Poller and returns how often it had leases renewed.
func (f *fixture) startPoll() *atomic.Int64 {
	renewals := &atomic.Int64{}
	log := slog.New(slog.DiscardHandler)
	p := queue.NewPoller(f.store.DB, f.store.Runs, f.clock.Now, log, func() { renewals.Add(1) })
	f.start(p.Run)
	return renewals
}

func TestReapRequeues(t *testing.T) {
	t.Parallel()
	inBubble(t, func(f *fixture) {
		f.create()
		f.hold()
		renewals := f.startPoll()
		time.Sleep(pleat.LeaseDuration - time.Second)
		if n := f.counts(); n[pleat.TaskRunning] != 1 {
			t.Errorf("before the lease expires: %v", n)
		}
		time.Sleep(3 * time.Second)
		if n := f.counts(); n[pleat.TaskQueued] != 1 || renewals.Load() != 0 {
			t.Errorf("after the lease has expired: %v, %d renewals", n, renewals.Load())
		}
	})
}

// After a jump of the clock, no lease expires that is renewed in time by the new clock, and those that nobody renews
// do.
func TestReapAfterAClockJump(t *testing.T) {
	t.Parallel()
	inBubble(t, func(f *fixture) {
		f.create()
		f.create()
		alive := storetest.Claim(t, f.store, "alive", storetest.FoldQueue).Task
		storetest.Claim(t, f.store, "dead", storetest.FoldQueue)
		renewals := f.startPoll()
		time.Sleep(2 * time.Second)
		f.clock.Advance(time.Hour)
		time.Sleep(pleat.RemoteHeartbeatInterval)
		if n := f.counts(); n[pleat.TaskRunning] != 2 || renewals.Load() != 1 {
			t.Errorf("after the jump: %v, %d renewals", n, renewals.Load())
		}
		beats := []runs.WorkerHeartbeat{{Worker: alive.Worker, Beats: []pleat.Heartbeat{{
			Task: alive.ID, Attempt: alive.Attempt,
		}}}}
		if _, err := f.store.Runs.Heartbeats(f.Context(), pleat.RemoteLeaseDuration, beats); err != nil {
			t.Fatal(err)
		}
		time.Sleep(pleat.RemoteHeartbeatInterval + 2*time.Second)
		if n := f.counts(); n[pleat.TaskRunning] != 1 || n[pleat.TaskQueued] != 1 || renewals.Load() != 1 {
			t.Errorf("after the pause: %v, %d renewals", n, renewals.Load())
		}
	})
}

// However many queues a process waits for, it looks at the database once a second while nothing happens, and a claim
// loop is woken only for a queue that has tasks.
func TestIdleProcessPollsOnce(t *testing.T) {
	t.Parallel()
	inBubble(t, func(f *fixture) {
		var claims atomic.Int64
		for i := range 10 {
			loop := f.loop(make(chan struct{}, 1), func(context.Context) error { claims.Add(1); return nil })
			loop.Topics = []string{tasks.QueueTopic(fmt.Sprint("fold/", i)), tasks.QueueTopic(fmt.Sprint("md/", i))}
			f.start(loop.Run)
		}
		f.startPoll()
		synctest.Wait()
		before := f.store.DB.Transactions()
		const polls = 60
		time.Sleep(polls*queue.PollInterval + queue.PollInterval/2)
		if n := f.store.DB.Transactions() - before; n != polls {
			t.Errorf("%d transactions in %d polls", n, polls)
		}
		if n := claims.Load(); n != 10 {
			t.Errorf("%d claims of ten loops, none of which has a task", n)
		}
	})
}

// A task whose wake-up was lost, as when its server died after the commit, is claimed after the next poll.
func TestPollFindsWhatNoWakeUpToldOf(t *testing.T) {
	t.Parallel()
	inBubble(t, func(f *fixture) {
		other := storetest.OpenAt(f.T, "sqlite:"+f.path, f.clock) // another process: its wake-ups do not come here
		claimed := make(chan pleat.TaskID, 1)
		f.start(f.loop(make(chan struct{}, 1), func(ctx context.Context) error {
			got, err := f.store.Runs.Claim(ctx, worker, tasks.ClaimFilter{Queues: []string{storetest.FoldQueue}, N: 1})
			for _, c := range got {
				claimed <- c.Task.ID
			}
			return err
		}).Run)
		f.startPoll()
		synctest.Wait()
		storetest.CreateJob(f.T, other, storetest.NewFold(f.owner, "fold"))
		began := time.Now()
		<-claimed
		if took := time.Since(began); took > queue.PollInterval {
			t.Errorf("claimed after %v of the bubble's time", took)
		}
	})
}

// While the database is away, a Poller logs that once, and once that it is back.
func TestPollLogsAFaultOnce(t *testing.T) {
	t.Parallel()
	inBubble(t, func(f *fixture) {
		log := &strings.Builder{}
		logger := slog.New(slog.NewTextHandler(log, nil))
		stop := f.start(queue.NewPoller(f.store.DB, f.store.Runs, f.clock.Now, logger, func() {}).Run)
		time.Sleep(5 * queue.PollInterval)
		if err := f.store.DB.Close(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		stop()
		if n := strings.Count(log.String(), "cannot look for tasks"); n != 1 {
			t.Errorf("%d lines:\n%s", n, log)
		}
	})
}
