package store_test

import (
	"context"
	"testing"
	"time"

	"pleat"
	"pleat/internal/store"
	"pleat/internal/store/people"
	"pleat/internal/store/storetest"
	"pleat/internal/store/tasks"
)

// A user whose runs hold as much as is allowed gets no new work, but what runs ends well; deleting makes room.
func TestResultsQuota(t *testing.T) {
	t.Parallel()
	limits := people.Limits{ResultsBytes: 1000}
	storetest.EachLimited(t, limits, func(t *testing.T, s *store.Store, _ *storetest.Clock) {
		ctx := context.Background()
		u, eve := storetest.User(t, s, "ada"), storetest.User(t, s, "eve")
		first, second := create(t, s, u, "first"), create(t, s, u, "second")
		draft, err := s.Runs.CreateWorkflow(ctx, newFlow(u, true))
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range claim(t, s, "w", 2) {
			end := outcome(pleat.StateCompleted)
			end.Artifacts[0].Bytes = 1000
			if err := s.Runs.FinishRun(ctx, tasks.LeaseOf(&c.Task), end); err != nil {
				t.Fatal(err)
			}
		}
		_, create1 := s.Runs.CreateJob(ctx, newJob(u, "third"))
		_, rerun := s.Runs.Rerun(ctx, u, first.Job, newJob(u, "").Run)
		_, flow := s.Runs.CreateWorkflow(ctx, newFlow(u, false))
		_, execute := s.Runs.ExecuteWorkflow(ctx, people.InProject(draft.Owner), &draft, newFlow(u, false).Run)
		for what, err := range map[string]error{"job": create1, "run": rerun, "workflow": flow, "draft": execute} {
			if pleat.CodeOf(err) != pleat.CodeConflict {
				t.Errorf("a new %s: %v", what, err)
			}
		}
		if usage, err := s.People.Usage(ctx, u); err != nil || usage.Jobs.Used != 2 {
			t.Errorf("refused work is charged: %+v %v", usage, err)
		}
		create(t, s, eve, "another user's")
		for _, job := range []pleat.JobID{first.Job, second.Job} {
			if err := s.Ops.DeleteJob(ctx, u, job); err != nil {
				t.Fatal(err)
			}
		}
		purge(t, s)
		create(t, s, u, "fourth")
	})
}

// Jobs and workflows go when their latest run ended long enough ago; a follow-up is not older than its job.
func TestResultsExpire(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	limits := people.Limits{KeepResults: 30 * day}
	storetest.EachLimited(t, limits, func(t *testing.T, s *store.Store, clock *storetest.Clock) {
		ctx := context.Background()
		u := storetest.User(t, s, "ada")
		expire := func(want int) {
			t.Helper()
			if n, err := s.Ops.ExpireResults(ctx); n != want || err != nil {
				t.Errorf("%d expired, want %d: %v", n, want, err)
			}
			purge(t, s)
		}
		clock.Advance(-100 * day) // ids are of the real time
		old := fold(t, s, u, pleat.StateCompleted)
		again := fold(t, s, u, pleat.StateFailed)
		if _, err := s.Runs.CreateWorkflow(ctx, newFlow(u, true)); err != nil {
			t.Fatal(err)
		}
		followUp := newFlow(u, true) // a draft never ends, and does not keep its job
		followUp.Job = old.Job
		if _, err := s.Runs.CreateWorkflow(ctx, followUp); err != nil {
			t.Fatal(err)
		}
		v, err := s.Runs.View(ctx, old.Job)
		keep, kept := s.People.Retention(ctx, u.Project)
		if err != nil || kept != nil || !people.Expiry(v.Run.FinishedAt, keep).Equal(v.Run.FinishedAt.Add(30*day)) {
			t.Errorf("kept %v from %v, %v, %v", keep, v.Run.FinishedAt, err, kept)
		}
		if !people.Expiry(time.Time{}, keep).IsZero() {
			t.Error("what has not ended expires")
		}
		asked := fold(t, s, u, pleat.StateCompleted)
		public := fold(t, s, u, pleat.StateCompleted)
		about := newFlow(u, false)
		about.Workflow.Source = pleat.FoldRef{Job: asked.Job, Run: asked.Run}
		waiting, err := s.Runs.CreateWorkflow(ctx, about)
		if err != nil {
			t.Fatal(err)
		}
		others := newFlow(people.Own(storetest.User(t, s, "eve").User), false)
		others.Workflow.Source = pleat.FoldRef{Job: public.Job, Run: public.Run}
		if _, err := s.Runs.CreateWorkflow(ctx, others); err != nil {
			t.Fatal(err)
		}
		clock.Advance(29 * day)
		expire(0)
		if _, err := s.Runs.Rerun(ctx, u, again.Job, newJob(u, "").Run); err != nil {
			t.Fatal(err)
		}
		clock.Advance(200 * day)
		expire(2)
		if _, err := s.Runs.View(ctx, old.Job); err == nil {
			t.Error("the old job is still there")
		}
		if _, err := s.Runs.View(ctx, public.Job); err == nil {
			t.Error("another user's workflow keeps a job")
		}
		if _, err := s.Runs.View(ctx, again.Job); err != nil {
			t.Errorf("the job that waits to run again: %v", err)
		}
		if _, err := s.Runs.View(ctx, asked.Job); err != nil {
			t.Errorf("the job that a queued workflow is about: %v", err)
		}
		if n := storetest.Count(t, s, "workflow"); n != 3 {
			t.Errorf("%d workflows", n)
		}
		if _, err := s.Runs.CancelWorkflow(ctx, u, waiting.ID); err != nil {
			t.Fatal(err)
		}
		expire(1)
		if _, err := s.Runs.View(ctx, asked.Job); err == nil {
			t.Error("the job is still there after the workflow about it has ended")
		}
	})
}
