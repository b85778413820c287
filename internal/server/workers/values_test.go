package workers_test

import (
	"strings"
	"testing"
	"time"

	"pleat"
	"pleat/internal/store/storetest"
	"pleat/internal/workerapi"
)

// The data of one worker does not fail the transaction that it shares with others: PostgreSQL takes no NUL in a text,
// so it is refused or replaced before.
func TestOneWorkerDoesNotSpoilOthers(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, f *fixture) {
		job := f.create()
		bad, good := f.session("gpu", newID()), f.session("gpu", newID())
		f.post(400, "claim", bad, workerapi.Claim{Asks: []workerapi.Ask{{
			Queues: []string{storetest.FoldQueue}, N: 1, Owner: "a\x00b",
		}}}, nil)
		f.post(400, "heartbeat", bad, workerapi.Heartbeat{
			Tasks: []workerapi.TaskHeartbeat{{Lease: workerapi.Lease{Task: "a\x00b", Attempt: 1}}},
		}, nil)
		task := f.claim(good, storetest.FoldQueue)
		heartbeat := workerapi.TaskHeartbeat{Lease: workerapi.Lease{Task: task.ID, Attempt: 1}}
		heartbeat.Progress = []pleat.Progress{{Kind: pleat.ProgressStage, Stage: "a\x00b"}}
		f.post(200, "heartbeat", good, workerapi.Heartbeat{Tasks: []workerapi.TaskHeartbeat{heartbeat}}, nil)
		heartbeat.Progress = []pleat.Progress{{Kind: pleat.ProgressLog, Line: "a\x00b"}}
		f.post(200, "heartbeat", good, workerapi.Heartbeat{Tasks: []workerapi.TaskHeartbeat{heartbeat}}, nil)
		f.post(204, about(&task, "finish"), task.Token, workerapi.Finish{
			State:   pleat.StateFailed,
			Failure: &pleat.Failure{Kind: pleat.FailInternal, Message: "a\x00b\n" + strings.Repeat("é", 5000)},
		}, nil)
		if m := f.view(job).Run.Failure.Message; !strings.HasPrefix(m, "a\ufffdb\né") || len(m) > 4100 {
			t.Errorf("the failure has %d bytes and begins with %q", len(m), pleat.Clip(m))
		}
	})
}

// A worker that says that it has all the time of the world gets a session that is valid.
func TestEndlessWorker(t *testing.T) {
	t.Parallel()
	f := onSQLite(t)
	for _, left := range []workerapi.Seconds{1e300, 1e10, 9e9} {
		var out workerapi.Registered
		in := workerapi.Registration{Protocol: 1, Worker: newID(), Left: left}
		f.post(200, "register", f.tokens["gpu"], in, &out)
		f.post(200, "heartbeat", out.Session, workerapi.Heartbeat{}, nil)
		all, err := f.s.Workers.Workers(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range all {
			if w.ID == in.Worker && w.Ends.Before(f.s.DB.Now().Add(300*24*time.Hour)) {
				t.Errorf("%v s are left, and the worker ends at %v", float64(left), w.Ends)
			}
		}
	}
}

// The pause that a service asked a worker for arrives with the failure.
func TestRetryAfterArrives(t *testing.T) {
	t.Parallel()
	f := onSQLite(t)
	job := f.create(withTries(2))
	task := f.claim(f.session("gpu", newID()), storetest.FoldQueue)
	f.post(204, about(&task, "finish"), task.Token, workerapi.Finish{
		State:      pleat.StateFailed,
		Failure:    &pleat.Failure{Kind: pleat.FailLoad, Message: "busy", Retry: true},
		RetryAfter: 90,
	}, nil)
	storetest.AwaitLine(t, f.s, f.view(job).Run.ID, "trying again in 1m30s: busy")
}
