package store_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pleat"
	"pleat/internal/store"
	"pleat/internal/store/people"
	"pleat/internal/store/runs"
	"pleat/internal/store/storetest"
	"pleat/internal/store/tasks"
	"pleat/internal/store/webhooks"
)

// ofSources says of every table whether a job or workflow has rows in it. A new table fails TestDeletionLeavesNothing
// until it stands here, and purgeSteps delete its rows if they belong to a job or workflow.
var ofSources = map[string]bool{
	"job":              true,
	"run":              true,
	"run_event":        true,
	"artifact":         true,
	"task":             true,
	"attempt":          true,
	"subscription":     true,
	"event":            true,
	"endpoint":         true,
	"delivery":         true,
	"workflow":         true,
	"library_item":     true,
	"library_file":     true,
	"idempotency":      true,
	"design":           true,
	"design_fold":      true,
	"run_file":         true,
	"batch":            false, // see TestBatchDeletion
	"batch_row":        false,
	"batch_score":      false,
	"msa_search":       false, // deleted by age, with the cached alignments
	"msa_pause":        false, // of servers
	"account":          false,
	"api_key":          false,
	"session":          false,
	"quota_day":        false, // how many, not which
	"result_use":       false, // how many bytes
	"usage_day":        false, // what was spent
	"audit":            false, // of keys, sessions and settings
	"worker":           false,
	"worker_use":       false,
	"service":          false, // its artifact store and secret keys
	"class":            false, // of workers, and how fast they are
	"fleet_token":      false,
	"speed":            false,
	"leader":           false,
	"project":          false, // and who is in it
	"project_member":   false,
	"invitation":       false,
	"share":            true,
	"account_identity": false,
	"account_group":    false,
	"login":            false,
	"login_attempt":    false,
	"paused_model":     false,
	"paused_queue":     false,
	"project_group":    false,
	"mail":             false, // deleted by age; it names what it is about by its id alone
	"mail_asked":       false, // of addresses, for a day
	"mail_setting":     false, // of users
}

// attached makes a job and a workflow with a row in every table that ofSources names, and returns the keys of their
// blobs.
func attached(t *testing.T, s *store.Store, u people.Reach) (runs.Created, pleat.Workflow, []string) {
	t.Helper()
	ctx := context.Background()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	own := pleat.Subscription{
		Destination: pleat.DestCustom,
		Alias:       "custom_http",
		TargetType:  "custom_http",
		Settings:    json.RawMessage(`{"target_url":"https://secret.example"}`),
		Custom:      &pleat.CustomTarget{Address: storetest.Receiver("https://secret.example/x"), Token: "s1.sealed"},
	}
	md := pleat.Subscription{Destination: pleat.DestMD, Alias: "md", TargetType: "md"}
	n := newJob(u, "deleted")
	n.Key, n.Digest, n.Subs = "idempotent", "digest", []pleat.Subscription{own, md}
	job, err := s.Runs.CreateJob(ctx, n)
	must(err)
	c := claim(t, s, "w", 1)[0]
	must(s.Runs.SaveCheckpoint(ctx, tasks.LeaseOf(&c.Task), pleat.Checkpoint{Key: "runs/x/checkpoint", Step: 1}))
	must(finish(s, c, pleat.StateCompleted))

	f, err := s.Runs.ClaimFollowUps(ctx, "w", 5)
	if err != nil || len(f) != 1 {
		t.Fatalf("%+v %v", f, err)
	}
	flow := newFlow(u, false)
	flow.Workflow.Kind, flow.Run.Queue = pleat.TaskMD, "md/test"
	follow, err := s.Runs.StartFollowUp(ctx, f[0], &flow, "")
	must(err)
	flow.Subs = []pleat.Subscription{own}
	other, err := s.Runs.CreateWorkflow(ctx, flow)
	must(err)
	keys := []string{"runs/x/1/model.cif"}
	for _, w := range []pleat.Workflow{follow, other} {
		task := storetest.Claim(t, s, "w", "md/test").Task
		key := "runs/" + string(w.ID) + "/topology.pdb"
		must(s.Runs.FinishRun(ctx, tasks.LeaseOf(&task), runs.RunFinished{
			State:  pleat.StateCompleted,
			Result: &pleat.Result{},
			Artifacts: []pleat.Artifact{{
				Name: "topology.pdb", Kind: pleat.ArtifactTopology, Bytes: 3, Key: key,
			}},
		}))
		keys = append(keys, key, key)
	}
	design, more := attachedDesign(t, s, u)
	must(s.Ops.DeleteWorkflow(ctx, u, design))
	keys = append(keys, more...)
	for _, source := range []pleat.Source{{Job: job.Job}, {Workflow: other.ID}} {
		_, err := s.People.CreateShare(
			ctx,
			people.Actor{Reach: u},
			source,
			"share "+source.ID(),
			s.DB.Now().Add(time.Hour),
		)
		must(err)
	}
	for range 2 { // endpoints
		for _, d := range claimDeliveries(t, s, "c", 10) {
			finishDelivery(t, s, "c", webhooks.DeliveryOutcome{Claimed: d, OK: true, Status: 200})
		}
	}
	return job, other, keys
}

// attachedDesign makes a design with a compiled spec, a result and a fold of it, and returns the keys of its blobs.
func attachedDesign(t *testing.T, s *store.Store, u people.Reach) (pleat.WorkflowID, []string) {
	t.Helper()
	ctx := context.Background()
	n := newFlow(u, false)
	n.Workflow.Kind, n.Run.Queue, n.Workflow.Alias = pleat.TaskDesign, "design/test", pleat.AliasDesign
	file := runs.LibraryFile{Name: "design.yaml", Bytes: 4, SHA256: "ab", Key: "library/spec"}
	n.Design = &runs.NewDesign{
		Graph: "version: 1",
		Items: []runs.LibraryItem{{ID: runs.NewItemID(), Name: "design.yaml", Files: []runs.LibraryFile{file}}},
		Fresh: []string{file.Key},
	}
	n.Run.Files = []runs.RunFile{{Name: file.Name, Main: true, Key: file.Key, SHA256: "ab", Bytes: 4, Fresh: true}}
	w, err := s.Runs.CreateWorkflow(ctx, n)
	if err != nil {
		t.Fatal(err)
	}
	task := storetest.Claim(t, s, "w", "design/test").Task
	err = s.Runs.FinishRun(ctx, tasks.LeaseOf(&task), runs.RunFinished{
		State:  pleat.StateCompleted,
		Result: &pleat.Result{},
		Artifacts: []pleat.Artifact{{
			Name: "rank1_x_1.cif", Kind: pleat.ArtifactDesign, Bytes: 3, Key: "runs/design/rank1",
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	folds, _, err := s.Runs.FoldDesigns(ctx, runs.DesignFolds{
		Owner: u.Project, Workflow: w.ID, Jobs: []runs.DesignJob{{Design: "x_1", Rank: 1, Job: newJob(u, "folded")}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Ops.DeleteJob(ctx, u, folds[0].Job); err != nil {
		t.Fatal(err)
	}
	return w.ID, []string{file.Key, file.Key, "runs/design/rank1", "runs/design/rank1"}
}

// purge deletes until there is nothing more to delete, and returns the keys of the blobs.
func purge(t *testing.T, s *store.Store) (calls int, keys []string) {
	t.Helper()
	for {
		p, err := s.Ops.PurgeDeleted(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		if p.Rows == 0 {
			return calls, keys
		}
		calls++
		keys = append(keys, p.Blobs...)
	}
}

// A deleted job or workflow leaves no row in any table: neither its own nor one of what came of it.
func TestDeletionLeavesNothing(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store, _ *storetest.Clock) {
		ctx := context.Background()
		u := storetest.User(t, s, "ada")
		defaultEndpoint(t, s, u, false) // stays
		before := storetest.Tables(t, s)
		if diff := cmp.Diff(slices.Sorted(maps.Keys(ofSources)), slices.Sorted(maps.Keys(before))); diff != "" {
			t.Fatal("tables to consider:", diff)
		}
		job, w, want := attached(t, s, u)
		kept := create(t, s, u, "kept")
		for table, rows := range storetest.Tables(t, s) {
			if ofSources[table] && len(rows) <= len(before[table]) {
				t.Errorf("the test has nothing in %s", table)
			}
		}
		if err := s.Ops.DeleteWorkflow(ctx, storetest.User(t, s, "eve"), w.ID); err != pleat.ErrWorkflowNotFound {
			t.Errorf("a stranger deletes a workflow: %v", err)
		}
		if err := s.Ops.DeleteJob(ctx, u, job.Job); err != nil {
			t.Fatal(err)
		}
		if err := s.Ops.DeleteWorkflow(ctx, u, w.ID); err != nil {
			t.Fatal(err)
		}
		if err := s.Ops.DeleteWorkflow(ctx, u, w.ID); err != pleat.ErrWorkflowNotFound {
			t.Errorf("deleted twice: %v", err)
		}
		_, got := purge(t, s)
		slices.Sort(got)
		slices.Sort(want)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error("blobs:", diff)
		}
		for table, rows := range storetest.Tables(t, s) {
			if !ofSources[table] {
				continue
			}
			left := slices.DeleteFunc(rows, func(row string) bool {
				return strings.Contains(row, string(kept.Job)) || strings.Contains(row, string(kept.Run)) ||
					slices.Contains(before[table], row)
			})
			if len(left) > 0 {
				t.Errorf("%s has %d rows: %q", table, len(left), left)
			}
		}
		if v, err := s.Runs.View(ctx, kept.Job); err != nil || v.Job.Name != "kept" {
			t.Errorf("another job: %v", err)
		}
	})
}

// Work that is under way when a job is deleted ends first: the worker's attempt and the deliveries, for an hour at
// most.
func TestDeletionWaitsForWhatIsUnderWay(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store, clock *storetest.Clock) {
		ctx := context.Background()
		u := storetest.User(t, s, "ada")
		e := defaultEndpoint(t, s, u, false)
		n := newJob(u, "runs")
		n.Subs = []pleat.Subscription{toEndpoint(e)}
		job, err := s.Runs.CreateJob(ctx, n)
		if err != nil {
			t.Fatal(err)
		}
		c := claim(t, s, "w", 1)[0]
		if err := s.Ops.DeleteJob(ctx, u, job.Job); err != nil {
			t.Fatal(err)
		}
		if calls, _ := purge(t, s); calls != 0 {
			t.Error("the job went while its worker is stopping")
		}
		if err := finish(s, c, pleat.StateStopped); err != nil {
			t.Fatal(err)
		}
		if calls, _ := purge(t, s); calls != 0 {
			t.Error("the job went before its last event")
		}
		for _, d := range claimDeliveries(t, s, "c", 10) {
			finishDelivery(t, s, "c", webhooks.DeliveryOutcome{Claimed: d, OK: true, Status: 200})
		}
		if calls, _ := purge(t, s); calls != 1 || storetest.Count(t, s, "job") != 0 {
			t.Errorf("%d calls, %d jobs", calls, storetest.Count(t, s, "job"))
		}
		fold(t, s, u, pleat.StateCompleted, toEndpoint(e)) // its delivery waits
		rows, err := s.Runs.ListJobs(ctx, u, runs.Filter{Limit: 1})
		if err != nil || s.Ops.DeleteJob(ctx, u, rows[0].ID) != nil {
			t.Fatal(err)
		}
		clock.Advance(59 * time.Minute)
		if calls, _ := purge(t, s); calls != 0 {
			t.Error("a delivery that waits went too early")
		}
		clock.Advance(2 * time.Minute)
		purge(t, s)
		for _, table := range []string{"job", "delivery", "task"} {
			if n := storetest.Count(t, s, table); n != 0 {
				t.Errorf("%s has %d rows: a delivery waits for ever", table, n)
			}
		}
	})
}

// No transaction of a large deletion is long.
func TestLargeDeletionIsInParts(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store, _ *storetest.Clock) {
		ctx := context.Background()
		u := storetest.User(t, s, "ada")
		job := create(t, s, u, "large")
		c := claim(t, s, "w", 1)[0]
		for part := range 12 {
			var lines []pleat.Progress
			for i := range 100 {
				lines = append(lines, pleat.Progress{Kind: pleat.ProgressLog, Line: fmt.Sprint(part, i)})
			}
			heartbeat := pleat.Heartbeat{Task: c.Task.ID, Attempt: c.Task.Attempt, Run: job.Run, Progress: lines}
			if _, err := s.Runs.Heartbeat(ctx, "w", []pleat.Heartbeat{heartbeat}); err != nil {
				t.Fatal(err)
			}
		}
		if err := finish(s, c, pleat.StateCompleted); err != nil {
			t.Fatal(err)
		}
		n := storetest.Count(t, s, "run_event")
		if err := s.Ops.DeleteJob(ctx, u, job.Job); err != nil {
			t.Fatal(err)
		}
		if calls, _ := purge(t, s); n < 1000 || calls != n/500+1 || storetest.Count(t, s, "run_event") != 0 {
			t.Errorf("%d rows in %d calls", n, calls)
		}
	})
}
