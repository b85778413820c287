package work_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"pleat"
	"pleat/internal/blob"
	"pleat/internal/blob/blobtest"
	"pleat/internal/engine/builtin"
	"pleat/internal/garbage"
	"pleat/internal/store/storetest"
	"pleat/internal/work"
)

// onFaultyS3 replaces the files of a fixture by a bucket behind a proxy that can refuse requests.
func onFaultyS3(t *testing.T, f *fixture) *blobtest.Faulty {
	t.Helper()
	bucket, proxy := blobtest.Bucket(t), blobtest.NewFaulty(t)
	t.Cleanup(http.DefaultTransport.(*http.Transport).CloseIdleConnections)
	var err error
	if f.blobs, err = blob.Open(t.Context(), blobtest.AddressAt(proxy.URL, bucket, "")); err != nil {
		t.Fatal(err)
	}
	return proxy
}

// attempts counts the attempts at all tasks, except those that a remote worker returned before they began, because it
// had changed its request when the answer came.
func attempts(t *testing.T, f *fixture) int {
	t.Helper()
	n := storetest.Count(t, f.s, "attempt")
	if f.called {
		n -= outcomes(t, f)["released"]
	}
	return n
}

// outcomes counts the attempts at all tasks by how they ended.
func outcomes(t *testing.T, f *fixture) map[string]int {
	t.Helper()
	out := map[string]int{}
	for _, row := range storetest.Tables(t, f.s)["attempt"] {
		columns := strings.Split(row, "|") // task, number, worker, start, end, outcome, detail
		out[columns[5]]++
	}
	return out
}

// A result waits while the artifact store is full or refuses access: the run stays RUNNING, spends no try, and
// completes when the store works again, in the same attempt. Jobs that are created meanwhile wait in their queue. The
// log has one line when the fault begins and one when it ends.
func TestResultsWaitForArtifacts(t *testing.T) {
	t.Parallel()
	for name, fail := range map[string]func(*blobtest.Faulty){
		"full":    (*blobtest.Faulty).Fill,
		"refused": func(s3 *blobtest.Faulty) { s3.Refuse(http.StatusForbidden, "InvalidAccessKeyId") },
	} {
		t.Run(name, func(t *testing.T) {
			onEachService(t, func(t *testing.T, f *fixture) { resultsWait(t, f, fail) })
		})
	}
}

// resultsWait is TestResultsWaitForArtifacts for one fault.
func resultsWait(t *testing.T, f *fixture, fail func(*blobtest.Faulty)) {
	t.Helper()
	s3 := onFaultyS3(t, f)
	log := &storetest.Log{}
	f.startWith("w", func(c *work.Config) { c.Log = slog.New(slog.NewTextHandler(log, nil)) }, writeResult(t))
	fail(s3)
	first := f.create()
	storetest.AwaitLine(t, f.s, first.Run, "the results cannot be stored at the moment")
	second := f.create()
	tried := s3.Refused.Load()
	storetest.Eventually(t, "another try", func() bool { return s3.Refused.Load() > tried })
	if n := attempts(t, f); n != 1 {
		t.Errorf("%d attempts while the store fails", n)
	}
	if v, err := f.s.Runs.View(t.Context(), first.Job); err != nil || v.Job.State != pleat.StateRunning {
		t.Errorf("the job is %s, %v", v.Job.State, err)
	}
	s3.Recover()
	for _, c := range []pleat.JobID{first.Job, second.Job} {
		v := f.await(c, pleat.StateCompleted)
		if got := f.content(v.Artifacts, "out.txt"); string(got) != "result" {
			t.Errorf("%q", got)
		}
	}
	if n := attempts(t, f); n != 2 {
		t.Errorf("%d attempts at two jobs", n)
	}
	if a, b := strings.Count(log.String(), "the artifact store fails"),
		strings.Count(log.String(), "the artifact store works again"); a != 1 || b != 1 {
		t.Errorf("%d lines of the begin and %d of the end:\n%s", a, b, log)
	}
}

// The owner can stop a run whose result waits, and a worker that stops returns it to its queue.
func TestWaitingResultsCanBeStopped(t *testing.T) {
	t.Parallel()
	onEachService(t, func(t *testing.T, f *fixture) {
		s3 := onFaultyS3(t, f)
		stop := f.start("w", writeResult(t))
		s3.Fill()
		a, b := f.create(), f.create()
		storetest.AwaitLine(t, f.s, a.Run, "the results cannot be stored at the moment")
		if _, err := f.s.Runs.Cancel(t.Context(), f.owner, a.Job); err != nil {
			t.Fatal(err)
		}
		f.await(a.Job, pleat.StateStopped)
		stop()
		s3.Recover()
		f.start("v", writeResult(t))
		f.await(b.Job, pleat.StateCompleted)
	})
}

// partlyFull is a store that has no room for one file until it gets some.
type partlyFull struct {
	blob.Store
	name string
	room atomic.Bool
}

func (b *partlyFull) Put(ctx context.Context, key string, r io.Reader) (blob.Info, error) {
	if strings.HasSuffix(key, b.name) && !b.room.Load() {
		return blob.Info{}, blob.ErrFull
	}
	return b.Store.Put(ctx, key, r)
}

// However long a result waits for room, garbage collection keeps the files of it that are stored already.
func TestGarbageCollectionKeepsWaitingResults(t *testing.T) {
	t.Parallel()
	onEachService(t, func(t *testing.T, f *fixture) {
		full := &partlyFull{Store: f.blobs, name: "large.txt"}
		f.blobs = full
		f.start("w", scripted{func(_ context.Context, w pleat.Work, _ pleat.Sink) pleat.Output {
			return pleat.Output{Result: &pleat.Result{}, Files: []pleat.File{
				file(t, w, "small.txt", pleat.ArtifactOther, []byte("small")),
				file(t, w, "large.txt", pleat.ArtifactOther, []byte("large")),
			}}
		}})
		c := f.create()
		storetest.AwaitLine(t, f.s, c.Run, "the results cannot be stored at the moment")
		storetest.Eventually(t, "the small file is stored", func() bool {
			attempt := storetest.Count(t, f.s, "attempt") // there is another if the worker gave the task back first
			r, _, err := f.blobs.Open(t.Context(), fmt.Sprintf("runs/%s/%d/small.txt", c.Run, attempt))
			return err == nil && r.Close() == nil
		})
		n, err := garbage.Collect(t.Context(), f.s.Ops, f.s.Runs, f.blobs, time.Now().Add(time.Hour))
		if n != 0 || err != nil {
			t.Errorf("%d files collected, %v", n, err)
		}
		full.room.Store(true)
		v := f.await(c.Job, pleat.StateCompleted)
		for _, name := range []string{"small", "large"} {
			if got := f.content(v.Artifacts, name+".txt"); string(got) != name {
				t.Errorf("%s.txt: %q", name, got)
			}
		}
	})
}

// A question whose structure cannot be read, since the bucket is gone, returns to its queue without spending a try.
func TestUnreadableInputsSpendNoTry(t *testing.T) {
	t.Parallel()
	onEachService(t, func(t *testing.T, f *fixture) {
		s3 := onFaultyS3(t, f)
		stop := f.start("folder", trpCage(t))
		job := f.create()
		f.await(job.Job, pleat.StateCompleted)
		stop()
		s3.Refuse(http.StatusNotFound, "NoSuchBucket")
		id := f.createWorkflow(f.owner, pleat.TaskQnA,
			`{"question":"How many residues?","source_job_id":"`+string(job.Job)+`"}`)
		f.start("w", builtin.Analyst{})
		released := func() bool { return outcomes(t, f)["released"] > 0 }
		storetest.Eventually(t, "the task is back in its queue", released)
		s3.Recover()
		f.awaitWorkflow(id, pleat.StateCompleted)
		if n := outcomes(t, f); n["done"] != 2 || n["failed"] != 0 {
			t.Errorf("the attempts ended as %v", n)
		}
	})
}

// A worker that stops says so before it ends.
func TestStoppedWorkerSaysSo(t *testing.T) {
	t.Parallel()
	onEachService(t, func(t *testing.T, f *fixture) {
		stop := f.start("w", writeResult(t))
		f.await(f.create().Job, pleat.StateCompleted)
		live, err := f.s.Workers.Working(t.Context(), storetest.FoldQueue)
		if err != nil || live.Live != 1 {
			t.Errorf("%+v, %v", live, err)
		}
		stop()
		all, err := f.s.Workers.Workers(t.Context())
		if err != nil || len(all) != 1 || all[0].State(f.s.DB.Now()) != pleat.WorkerStopped {
			t.Errorf("%+v, %v", all, err)
		}
	})
}

// The worker's log has each attempt, with the request that created the run.
func TestAttemptsInTheLog(t *testing.T) {
	t.Parallel()
	clock := &storetest.Clock{}
	f := newFixture(t, storetest.OpenAt(t, storetest.Databases()["sqlite"](t), clock), clock)
	log := &storetest.Log{}
	f.startWith("w", func(c *work.Config) { c.Log = slog.New(slog.NewTextHandler(log, nil)) }, writeResult(t))
	n := storetest.NewFold(f.owner, "j")
	n.Run.Request = "req-1"
	c := storetest.CreateJob(t, f.s, n)
	f.await(c.Job, pleat.StateCompleted)
	storetest.Eventually(t, "the line of the end", func() bool { return strings.Contains(log.String(), "task ended") })
	for line := range strings.Lines(log.String()) {
		if !strings.Contains(line, `msg="task `) {
			continue
		}
		for _, want := range []string{" request=req-1", " job=" + string(c.Job), " run=" + string(c.Run), " worker=w",
			" kind=fold", " attempt=1"} {
			if !strings.Contains(line, want) {
				t.Errorf("no %q in %s", want, line)
			}
		}
	}
	for _, want := range []string{`msg="task claimed"`, `msg="task ended"`, "outcome=completed", "duration_ms="} {
		if strings.Count(log.String(), want) != 1 {
			t.Errorf("%d times %q in\n%s", strings.Count(log.String(), want), want, log)
		}
	}
	if _, err := os.Stat(filepath.Join(f.dir, "scratch-w")); err != nil {
		t.Error(err)
	}
}
