package store_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pleat"
	"pleat/internal/store"
	"pleat/internal/store/people"
	"pleat/internal/store/runs"
	"pleat/internal/store/storetest"
	"pleat/internal/store/tasks"
	"pleat/internal/store/webhooks"
)

func newFlow(owner people.Reach, draft bool) runs.NewWorkflow {
	return runs.NewWorkflow{Draft: draft, Workflow: pleat.Workflow{
		Owner:  owner.Project,
		Kind:   pleat.TaskQnA,
		Alias:  "evolla",
		Type:   "evolla_v1",
		Name:   "q",
		Input:  json.RawMessage(`{"question":"why?"}`),
		Source: pleat.FoldRef{Job: "j1", Run: "r1", Sequence: "s1"},
	}, Run: runs.RunSpec{Queue: "qna/analyst", Model: "analyst"}}
}

func TestFlowLife(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store, _ *storetest.Clock) {
		ctx := context.Background()
		u := storetest.User(t, s, "ada")
		w, err := s.Runs.CreateWorkflow(ctx, newFlow(u, true))
		if err != nil || w.State != pleat.StateDraft || w.Run != "" || w.TaskType() != "inference_qna" {
			t.Fatalf("%+v %v", w, err)
		}
		_, err = s.Runs.EditDraft(ctx, storetest.User(t, s, "eve"), w.ID, nil)
		if !errors.Is(err, pleat.ErrWorkflowNotFound) {
			t.Errorf("a stranger edits: %v", err)
		}
		before := w
		w, err = s.Runs.EditDraft(ctx, u, w.ID, func(json.RawMessage) (json.RawMessage, error) {
			return json.RawMessage(`{"question":"how?"}`), nil
		})
		if err != nil {
			t.Fatal(err)
		}
		_, err = s.Runs.ExecuteWorkflow(ctx, people.InProject(before.Owner), &before, newFlow(u, false).Run)
		if pleat.CodeOf(err) != pleat.CodeConflict {
			t.Errorf("executed as it was before it was changed: %v", err)
		}
		w, err = s.Runs.ExecuteWorkflow(ctx, people.InProject(w.Owner), &w, newFlow(u, false).Run)
		if err != nil || w.State != pleat.StateQueued {
			t.Fatalf("%+v %v", w, err)
		}
		_, err = s.Runs.ExecuteWorkflow(ctx, people.InProject(w.Owner), &w, newFlow(u, false).Run)
		if pleat.CodeOf(err) != pleat.CodeConflict {
			t.Errorf("executed twice: %v", err)
		}
		got, err := s.Runs.Claim(ctx, "w", tasks.ClaimFilter{Queues: []string{"qna/analyst"}, N: 1})
		if err != nil || len(got) != 1 || got[0].Workflow == nil ||
			string(got[0].Workflow.Input) != `{"question":"how?"}` {
			t.Fatalf("%+v %v", got, err)
		}
		if v, _ := s.Runs.WorkflowView(ctx, w.ID); v.Workflow.State != pleat.StateRunning {
			t.Error(v.Workflow.State)
		}
		err = s.Runs.FinishRun(ctx, tasks.LeaseOf(&got[0].Task), runs.RunFinished{State: pleat.StateCompleted,
			Result:    &pleat.Result{Row: json.RawMessage(`{"answer":"so"}`)},
			Artifacts: []pleat.Artifact{{Name: "a.txt", Key: "runs/f/1/a.txt"}}})
		if err != nil {
			t.Fatal(err)
		}
		v, err := s.Runs.WorkflowView(ctx, w.ID)
		if err != nil || v.Workflow.State != pleat.StateCompleted || string(v.Run.Result.Row) != `{"answer":"so"}` ||
			len(v.Artifacts) != 1 {
			t.Fatalf("%+v %v", v, err)
		}
		if _, h, err := s.Runs.Artifact(ctx, v.Artifacts[0].ID); err != nil || h.Owner != u.Project || h.Public {
			t.Errorf("%+v %v", h, err)
		}
		if c, err := s.Runs.Changes(ctx, u, 0, 9); err != nil || len(c) != 1 || c[0].Kind != pleat.TaskQnA ||
			c[0].Source != (pleat.Source{Workflow: w.ID}) {
			t.Errorf("%+v %v", c, err)
		}
		list, err := s.Runs.Workflows(
			ctx,
			u,
			runs.WorkflowFilter{Limit: 5, Source: pleat.FoldRef{Job: "j1", Run: "r1"}},
		)
		if err != nil || len(list) != 1 || list[0].Result == nil {
			t.Errorf("%+v %v", list, err)
		}
		if n := storetest.Count(t, s, "event"); n != 1 {
			t.Errorf("%d events", n)
		}
	})
}

// foldWithFollowUp completes a fold that starts a workflow.
func foldWithFollowUp(
	t *testing.T, s *store.Store, owner people.Reach, to pleat.Destination, alias, targetType string,
) {
	t.Helper()
	fold(t, s, owner, pleat.StateCompleted, pleat.Subscription{
		Destination: to,
		Alias:       alias,
		TargetType:  targetType,
		Settings:    json.RawMessage(`{"enabled":true}`),
	})
}

func TestFollowUpStartsOnce(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store, _ *storetest.Clock) {
		ctx := context.Background()
		u := storetest.User(t, s, "ada")
		foldWithFollowUp(t, s, u, pleat.DestQnA, "evolla", "evolla_v1")
		f, err := s.Runs.ClaimFollowUps(ctx, "w", 5)
		if err != nil || len(f) != 1 || f[0].Alias != "evolla" {
			t.Fatalf("%+v %v", f, err)
		}
		flow := newFlow(u, false)
		w, err := s.Runs.StartFollowUp(ctx, f[0], &flow, "")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Runs.StartFollowUp(ctx, f[0], &flow, ""); !errors.Is(err, pleat.ErrLost) {
			t.Errorf("started twice: %v", err)
		}
		d, err := s.Webhooks.Deliveries(ctx, u, webhooks.DeliveryFilter{Limit: 5})
		if err != nil || len(d) != 1 || d[0].Triggered != w.ID || d[0].Status != "SUCCEEDED" {
			t.Errorf("%+v %v", d, err)
		}
	})
}

// A follow-up that is refused, since its owner's results are full, costs none of today's workflows.
func TestRefusedFollowUpCostsNothing(t *testing.T) {
	t.Parallel()
	limits := people.Limits{ResultsBytes: 1}
	storetest.EachLimited(t, limits, func(t *testing.T, s *store.Store, _ *storetest.Clock) {
		ctx := context.Background()
		u := storetest.User(t, s, "ada")
		foldWithFollowUp(t, s, u, pleat.DestQnA, "evolla", "evolla_v1")
		f, err := s.Runs.ClaimFollowUps(ctx, "w", 5)
		if err != nil || len(f) != 1 {
			t.Fatalf("%+v %v", f, err)
		}
		flow := newFlow(u, false)
		if w, err := s.Runs.StartFollowUp(ctx, f[0], &flow, ""); err != nil || w.ID != "" {
			t.Fatalf("%+v %v", w, err)
		}
		if used, err := s.People.Usage(ctx, u); err != nil || used.Workflows.Used != 0 {
			t.Errorf("%+v %v", used, err)
		}
		d, err := s.Webhooks.Deliveries(ctx, u, webhooks.DeliveryFilter{Limit: 5})
		if err != nil || len(d) != 1 || d[0].Status != "FAILED" || !strings.Contains(d[0].Reason, "may hold 1") {
			t.Errorf("%+v %v", d, err)
		}
	})
}

func TestFollowUpThatKillsItsWorkersFails(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store, clock *storetest.Clock) {
		ctx := context.Background()
		u := storetest.User(t, s, "ada")
		foldWithFollowUp(t, s, u, pleat.DestMD, "md", "md")
		for range tasks.DefaultTries {
			if f, err := s.Runs.ClaimFollowUps(ctx, "w", 5); err != nil || len(f) != 1 {
				t.Fatalf("%+v %v", f, err)
			}
			clock.Advance(pleat.LeaseDuration + time.Second)
			if _, err := s.Runs.Reap(ctx, s.DB.Now()); err != nil {
				t.Fatal(err)
			}
		}
		d, err := s.Webhooks.Deliveries(ctx, u, webhooks.DeliveryFilter{Limit: 5})
		if err != nil || len(d) != 1 || d[0].Status != "FAILED" || d[0].Reason == "" {
			t.Errorf("%+v %v", d, err)
		}
	})
}

func TestLibrary(t *testing.T) {
	t.Parallel()
	storetest.EachLimited(t, people.Limits{LibraryBytes: 100}, func(t *testing.T, s *store.Store, _ *storetest.Clock) {
		ctx := context.Background()
		u := storetest.User(t, s, "ada")
		folder, err := s.Runs.CreateItem(ctx, u, runs.LibraryItem{
			Owner:    u.Project,
			Name:     "box",
			Type:     "folder",
			Metadata: json.RawMessage(`{}`),
		})
		if err != nil {
			t.Fatal(err)
		}
		item, err := s.Runs.CreateItem(ctx, u, runs.LibraryItem{
			Owner:    u.Project,
			Name:     "x",
			Type:     "file",
			Parent:   folder.ID,
			Metadata: json.RawMessage(`{}`),
		})
		if err != nil {
			t.Fatal(err)
		}
		f := runs.LibraryFile{Name: "a.pdb", Bytes: 60, Key: "library/a"}
		if _, err := s.Runs.AddFile(ctx, u, item.ID, f); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Runs.AddFile(ctx, u, item.ID, f); err != nil {
			t.Errorf("replacing a file counts it twice: %v", err)
		}
		f.Name = "b.pdb"
		if _, err := s.Runs.AddFile(ctx, u, item.ID, f); pleat.CodeOf(err) != pleat.CodeTooLarge {
			t.Errorf("over the quota: %v", err)
		}
		if _, err := s.Runs.AddFile(ctx, storetest.User(t, s, "eve"), item.ID, f); !errors.Is(err, runs.ErrNoItem) {
			t.Errorf("a stranger adds: %v", err)
		}
		got, err := s.Runs.Item(ctx, u, folder.ID)
		if err != nil || len(got.Children) != 1 || got.Children[0].ID != item.ID {
			t.Fatalf("%+v %v", got, err)
		}
		if dead, _ := s.Runs.UnreferencedBlobs(ctx, []string{"library/a"}); len(dead) != 0 {
			t.Error("a library file counts as an orphan")
		}
		if _, err := s.Runs.DeleteItem(ctx, u, folder.ID); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Runs.Item(ctx, u, item.ID); !errors.Is(err, runs.ErrNoItem) {
			t.Errorf("a child outlived its folder: %v", err)
		}
		if dead, _ := s.Runs.UnreferencedBlobs(ctx, []string{"library/a"}); len(dead) != 1 {
			t.Error("a deleted file is still named")
		}
	})
}

// Follow-ups count against their owner's limits: drafts against those of drafts, others against the quota of workflows.
// Above it a follow-up does not start, and says why; the fold is not touched.
func TestFollowUpAboveTheQuota(t *testing.T) {
	t.Parallel()
	limits := people.Limits{Workflows: 1, Drafts: 1}
	storetest.EachLimited(t, limits, func(t *testing.T, s *store.Store, _ *storetest.Clock) {
		ctx := context.Background()
		u := storetest.User(t, s, "ada")
		for why, draft := range map[string]bool{
			"Daily workflow quota exceeded. Limit: 1 workflows per day. Current: 1 workflows.": false,
			"the project has 1 drafts and may have 1":                                          true,
		} {
			n := newJob(u, "fold")
			for _, d := range []pleat.Destination{pleat.DestQnA, pleat.DestMD} {
				sub := pleat.Subscription{Destination: d, Settings: json.RawMessage(`{"enabled":true}`)}
				n.Subs = append(n.Subs, sub)
			}
			c := storetest.CreateJob(t, s, n)
			if err := finish(s, claim(t, s, "w", 1)[0], pleat.StateCompleted); err != nil {
				t.Fatal(err)
			}
			all, err := s.Runs.ClaimFollowUps(ctx, "w", 5)
			if err != nil || len(all) != 2 {
				t.Fatalf("%d follow-ups, %v", len(all), err)
			}
			for _, f := range all {
				flow := newFlow(u, draft)
				if _, err := s.Runs.StartFollowUp(ctx, f, &flow, ""); err != nil {
					t.Fatal(err)
				}
			}
			failed, err := s.Webhooks.Deliveries(ctx, u,
				webhooks.DeliveryFilter{Limit: 5, Status: pleat.DeliveryFailed, SourceID: string(c.Job)})
			if err != nil || len(failed) != 1 || !strings.HasPrefix(failed[0].Reason, why) ||
				failed[0].Triggered != "" {
				t.Errorf("%+v %v", failed, err)
			}
			storetest.AwaitJob(t, s, c.Job, pleat.StateCompleted)
		}
		if n := storetest.Count(t, s, "workflow"); n != 2 {
			t.Errorf("%d workflows, want one and a draft", n)
		}
		if used, err := s.People.Usage(ctx, u); err != nil || used.Workflows.Used != 1 || used.Workflows.Limit != 1 {
			t.Errorf("%+v %v", used, err)
		}
	})
}

// Calls with one idempotency key create one workflow, which counts once against the quota.
func TestWorkflowIdempotency(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store, clock *storetest.Clock) {
		ctx := t.Context()
		u := storetest.User(t, s, "ada")
		n := newFlow(u, false)
		n.Key, n.Digest = "k", "d"
		var wg sync.WaitGroup
		var first atomic.Int32
		ids := make([]pleat.WorkflowID, 8)
		for i := range ids {
			wg.Go(func() {
				w, replayed, err := s.Runs.CreateWorkflowOnce(ctx, n)
				if err != nil {
					t.Error(err)
				}
				if ids[i] = w.ID; !replayed {
					first.Add(1)
				}
			})
		}
		wg.Wait()
		for _, id := range ids {
			if id != ids[0] || id == "" {
				t.Fatalf("answers differ: %v", ids)
			}
		}
		usage, err := s.People.Usage(ctx, u)
		if got := storetest.Count(t, s, "workflow"); got != 1 || first.Load() != 1 || err != nil ||
			usage.Workflows.Used != 1 {
			t.Errorf("%d workflows, %d of them new; %+v, %v", got, first.Load(), usage.Workflows, err)
		}
		n.Digest = "other"
		if _, _, err := s.Runs.CreateWorkflowOnce(ctx, n); pleat.CodeOf(err) != pleat.CodeConflict {
			t.Errorf("another body: %v", err)
		}
		clock.Advance(25 * time.Hour)
		if w, replayed, err := s.Runs.CreateWorkflowOnce(ctx, n); err != nil || w.ID == ids[0] || replayed {
			t.Errorf("a day later: %+v %v %v", w, replayed, err)
		}
	})
}
