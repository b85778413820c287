package store_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pleat"
	"pleat/internal/store"
	"pleat/internal/store/people"
	"pleat/internal/store/runs"
	"pleat/internal/store/storetest"
	"pleat/internal/store/tasks"
)

// lab makes a project with a manager and a member, and returns their reaches in it.
func lab(t *testing.T, s *store.Store) (ada, bob people.Reach) {
	t.Helper()
	ctx := context.Background()
	a, b := storetest.User(t, s, "ada"), storetest.User(t, s, "bob")
	p, err := s.People.CreateProject(ctx, people.Actor{Database: true}, "lab", "ada")
	if err != nil {
		t.Fatal(err)
	}
	by := people.Actor{Reach: people.InProject(p.ID)}
	if _, err := s.People.SetMember(ctx, by, "bob", pleat.Member); err != nil {
		t.Fatal(err)
	}
	return people.Reach{User: a.User, Project: p.ID}, people.Reach{User: b.User, Project: p.ID}
}

// registerUses registers a worker that folds with «null» on an accelerator and four cores.
func registerUses(t *testing.T, s *store.Store, id pleat.WorkerID) {
	t.Helper()
	w := pleat.Worker{ID: id, Host: "test", Models: []pleat.Model{
		{Name: "null", Kind: pleat.TaskFold, Device: "cuda", Cores: 4, Features: []pleat.Feature{pleat.FeatureMSA}},
		{Name: "calvados", Kind: pleat.TaskMD, Device: "cpu", Cores: 2},
		{Name: "nim", Kind: pleat.TaskFold, Device: "remote"},
	}}
	if err := s.Workers.RegisterWorker(context.Background(), w); err != nil {
		t.Fatal(err)
	}
}

// The sums by project, user, model and day: from the attempts and runs themselves, and as they were counted.
const (
	spentAsRead = `
		SELECT r.project_id, COALESCE(NULLIF(r.created_by, ''), r.project_id), r.model, a.ended_at / 86400000000,
			count(*), sum(a.ended_at - a.started_at), sum((a.ended_at - a.started_at) * COALESCE(a.gpus, 0)),
			sum((a.ended_at - a.started_at) * COALESCE(a.cores, 0)),
			sum(CASE WHEN a.gpus IS NULL THEN a.ended_at - a.started_at ELSE 0 END),
			sum(CASE WHEN a.cores IS NULL THEN a.ended_at - a.started_at ELSE 0 END)
		FROM attempt a JOIN run r ON r.id = a.run_id
		WHERE a.ended_at > 0
		GROUP BY 1, 2, 3, 4
		ORDER BY 1, 2, 3, 4`
	spentAsCounted = `
		SELECT project_id, account_id, model, day,
			sum(attempts), sum(wall), sum(gpu), sum(cpu), sum(no_gpu), sum(no_cpu)
		FROM usage_day
		GROUP BY 1, 2, 3, 4
		HAVING sum(attempts) > 0
		ORDER BY 1, 2, 3, 4`
	endsAsRead = `
		SELECT r.project_id, COALESCE(NULLIF(r.created_by, ''), r.project_id), r.model, r.finished_at / 86400000000,
			sum(CASE WHEN r.state = 'COMPLETED' THEN 1 ELSE 0 END),
			sum(CASE WHEN r.state = 'COMPLETED' THEN r.tokens ELSE 0 END),
			sum((SELECT COALESCE(sum(f.bytes), 0) FROM artifact f WHERE f.run_id = r.id))
		FROM run r
		WHERE r.finished_at > 0
		GROUP BY 1, 2, 3, 4
		ORDER BY 1, 2, 3, 4`
	endsAsCounted = `
		SELECT project_id, account_id, model, day, sum(runs), sum(tokens), sum(bytes)
		FROM usage_day
		GROUP BY 1, 2, 3, 4
		ORDER BY 1, 2, 3, 4`
)

// spend lets attempts at runs of two users of a project end in every way, on three days. It returns the jobs.
func spend(t *testing.T, s *store.Store, clock *storetest.Clock, ada, bob people.Reach) []pleat.JobID {
	t.Helper()
	ctx := context.Background()
	registerUses(t, s, "w")
	ok := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	var jobs []pleat.JobID
	fold := func(by people.Reach, name string) runs.ClaimedTask {
		t.Helper()
		jobs = append(jobs, storetest.CreateJob(t, s, storetest.NewFold(by, name)).Job)
		return storetest.Claim(t, s, "w", storetest.FoldQueue)
	}
	step := 0
	work := func() { // never the same time twice, and no whole milliseconds
		step++
		clock.Advance(time.Duration(step)*time.Second + time.Duration(7*step)*time.Microsecond)
	}
	lease := func(c runs.ClaimedTask) tasks.Lease { return tasks.LeaseOf(&c.Task) }

	k := fold(ada, "completes after a failure, a lost lease and a release")
	work()
	ok(s.Runs.FinishRun(ctx, lease(k), runs.RunFinished{State: pleat.StateFailed,
		Failure: &pleat.Failure{Kind: pleat.FailCrashed, Message: "it broke", Retry: true}}))
	clock.Advance(time.Hour)
	_, err := s.Runs.Reap(ctx, s.DB.Now())
	ok(err)
	storetest.Claim(t, s, "w", storetest.FoldQueue)
	clock.Advance(time.Minute) // the worker is killed
	r, err := s.Runs.Reap(ctx, s.DB.Now())
	if err != nil || r.Requeued != 1 {
		t.Fatalf("%+v, %v", r, err)
	}
	k = storetest.Claim(t, s, "w", storetest.FoldQueue)
	work()
	ok(s.Runs.Release(ctx, lease(k), 0, nil))
	k = storetest.Claim(t, s, "stranger", storetest.FoldQueue) // of which nothing is known
	work()
	ok(s.Runs.FinishRun(ctx, lease(k), storetest.Completed()))

	clock.Advance(24 * time.Hour)
	k = fold(bob, "is stopped while it runs")
	_, err = s.Runs.Cancel(ctx, bob, jobs[len(jobs)-1])
	ok(err)
	work()
	ok(s.Runs.FinishRun(ctx, lease(k), storetest.Completed()))
	fold(bob, "is held by a worker that starts again")
	work()
	registerUses(t, s, "w")
	storetest.Claim(t, s, "w", storetest.FoldQueue)
	work()
	_, err = s.Runs.ReleaseAll(ctx, "w", nil)
	ok(err)
	storetest.Claim(t, s, "w", storetest.FoldQueue)
	work()
	_, err = s.Runs.Cancel(ctx, bob, jobs[len(jobs)-1])
	ok(err)
	clock.Advance(time.Minute)
	if r, err = s.Runs.Reap(ctx, s.DB.Now()); err != nil || r.Stopped != 1 {
		t.Fatalf("%+v, %v", r, err)
	}

	n := storetest.NewFold(ada, "is searched for")
	n.Run.Queue = pleat.SearchQueue("null")
	jobs = append(jobs, storetest.CreateJob(t, s, n).Job)
	k = storetest.Claim(t, s, "w", n.Run.Queue)
	ok(s.Runs.AddArtifact(ctx, lease(k), pleat.Artifact{Name: "a.a3m", Kind: pleat.ArtifactMSA, Bytes: 11, Key: "a3m"}))
	work()
	ok(s.Runs.FinishSearch(ctx, lease(k), runs.SearchCompleted{FoldQueue: storetest.FoldQueue}))
	k = storetest.Claim(t, s, "w", storetest.FoldQueue)
	clock.Advance(23 * time.Hour) // over a midnight
	ok(s.Runs.FinishRun(ctx, lease(k), storetest.Completed()))

	flow := newFlow(bob, false)
	flow.Workflow.Kind, flow.Workflow.Creator = pleat.TaskMD, bob.User
	flow.Run.Queue, flow.Run.Model = simulationQueue, "calvados"
	_, err = s.Runs.CreateWorkflow(ctx, flow)
	ok(err)
	k = storetest.Claim(t, s, "w", simulationQueue)
	work()
	_, err = s.Runs.Yield(ctx, &k.Task, simulations, nil)
	ok(err)
	k = storetest.Claim(t, s, "w", simulationQueue)
	work()
	ok(s.Runs.FinishRun(ctx, lease(k), storetest.Completed()))
	storetest.CreateJob(t, s, storetest.NewFold(ada, "is stopped while it waits"))
	return jobs
}

// The accounting agrees with the attempts' own times to the microsecond: retries, lost leases, releases, yields,
// searches and stopped runs included, by project, user, model and day. It stays when the jobs are deleted.
func TestSpentAgreesWithAttempts(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store, clock *storetest.Clock) {
		clock.Stop()
		ctx := context.Background()
		ada, bob := lab(t, s)
		jobs := spend(t, s, clock, ada, bob)
		read, counted := storetest.Query(t, s, spentAsRead), storetest.Query(t, s, spentAsCounted)
		if d := cmp.Diff(read, counted); d != "" {
			t.Error("attempts and what was counted:", d)
		}
		if n := len(read); n < 4 {
			t.Errorf("%d sums: %v", n, read)
		}
		if n := storetest.Count(t, s, "attempt WHERE ended_at > 0"); n != 12 {
			t.Errorf("%d attempts have ended", n)
		}
		ends := storetest.Query(t, s, endsAsCounted)
		if d := cmp.Diff(nonZero(storetest.Query(t, s, endsAsRead)), nonZero(ends)); d != "" {
			t.Error("runs and what was counted:", d)
		}

		for _, id := range jobs {
			if err := s.Ops.DeleteJob(ctx, ada, id); err != nil {
				t.Fatal(err)
			}
		}
		for {
			p, err := s.Ops.PurgeDeleted(ctx)
			if err != nil {
				t.Fatal(err)
			}
			if p.Rows == 0 {
				break
			}
		}
		if d := cmp.Diff(counted, storetest.Query(t, s, spentAsCounted)); d != "" {
			t.Error("after the jobs are deleted:", d)
		}
	})
}

// nonZero returns the rows of days on which a run has ended, given the rows of endsAsCounted.
func nonZero(rows [][]string) (out [][]string) {
	for _, r := range rows {
		if fmt.Sprint(r[4:]) != "[0 0 0]" {
			out = append(out, r)
		}
	}
	return out
}
