package store_test

import (
	"context"
	"encoding/json"
	"slices"
	"testing"

	"pleat"
	"pleat/internal/store"
	"pleat/internal/store/ops"
	"pleat/internal/store/people"
	"pleat/internal/store/runs"
	"pleat/internal/store/storetest"
	"pleat/internal/store/tasks"
)

// newDesign is an empty draft of a design.
func newDesign(t *testing.T, s *store.Store, u people.Reach) pleat.Workflow {
	t.Helper()
	n := newFlow(u, true)
	n.Workflow.Kind, n.Workflow.Alias, n.Workflow.Input = pleat.TaskDesign, pleat.AliasDesign, json.RawMessage("{}")
	n.Workflow.Source = pleat.FoldRef{}
	n.Design = &runs.NewDesign{}
	w, err := s.Runs.CreateWorkflow(context.Background(), n)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// A graph replaces the one before as a whole, and nobody else's. Once the draft has left DRAFT, it stays.
func TestSaveGraph(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store, _ *storetest.Clock) {
		ctx := context.Background()
		u := storetest.User(t, s, "ada")
		w := newDesign(t, s, u)
		d, err := s.Runs.Design(ctx, w.ID)
		if err != nil || d.Graph != "" {
			t.Fatalf("%+v %v", d, err)
		}
		if folder, err := s.Runs.Item(ctx, u, d.Workspace); err != nil || folder.Type != "folder" ||
			folder.Name != w.Name {
			t.Errorf("%+v %v", folder, err)
		}
		for _, text := range []string{"first", "second"} {
			sub := pleat.Subscription{Destination: pleat.DestCustom, Alias: "custom_http", TargetType: "custom_http",
				Custom: &pleat.CustomTarget{Address: storetest.Receiver("https://x.example"), Token: "s1.sealed"}}
			saved, err := s.Runs.SaveGraph(ctx, u, w.ID, runs.Graph{
				Text: text, Input: json.RawMessage(`{"budget":1}`), Public: true, Subs: []pleat.Subscription{sub},
			})
			if err != nil || !saved.Public || string(saved.Input) != `{"budget":1}` {
				t.Fatalf("%+v %v", saved, err)
			}
		}
		if d, err := s.Runs.Design(ctx, w.ID); err != nil || d.Graph != "second" {
			t.Errorf("%+v %v", d, err)
		}
		if n := len(storetest.Tables(t, s)["subscription"]); n != 1 {
			t.Errorf("%d subscriptions; want that of the last graph", n)
		}
		eve := storetest.User(t, s, "eve")
		if _, err := s.Runs.SaveGraph(ctx, eve, w.ID, runs.Graph{Text: "x"}); err != pleat.ErrWorkflowNotFound {
			t.Errorf("a stranger saves a graph: %v", err)
		}
		if _, err := s.Runs.CancelWorkflow(ctx, u, w.ID); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Runs.SaveGraph(ctx, u, w.ID, runs.Graph{Text: "x"}); pleat.CodeOf(err) != pleat.CodeConflict {
			t.Errorf("a graph of a stopped design was replaced: %v", err)
		}
	})
}

// A run keeps the files that it has pinned: their blobs stay when the library deletes them. A file that was deleted
// before cannot be pinned.
func TestPinnedFiles(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store, _ *storetest.Clock) {
		ctx := context.Background()
		u := storetest.User(t, s, "ada")
		item, err := s.Runs.CreateItem(ctx, u, runs.LibraryItem{
			Owner: u.Project, Name: "a", Type: "file", Metadata: json.RawMessage("{}"),
		})
		if err != nil {
			t.Fatal(err)
		}
		file := runs.LibraryFile{Name: "a.yaml", Key: "library/a", SHA256: "ab", Bytes: 4}
		if _, err := s.Runs.AddFile(ctx, u, item.ID, file); err != nil {
			t.Fatal(err)
		}
		spec := runs.RunSpec{Queue: "design/x", Model: "x", Files: []runs.RunFile{
			{Name: "a.yaml", Main: true, Key: file.Key, SHA256: "ab", Bytes: 4},
		}}
		draft, late := newDesign(t, s, u), newDesign(t, s, u)
		w, err := s.Runs.ExecuteWorkflow(ctx, people.InProject(draft.Owner), &draft, spec)
		if err != nil {
			t.Fatal(err)
		}
		blobs, err := s.Runs.DeleteItem(ctx, u, item.ID)
		if err != nil || !slices.Equal(blobs, []string{file.Key}) {
			t.Fatalf("%v %v", blobs, err)
		}
		if free, err := s.Runs.UnreferencedBlobs(ctx, blobs); err != nil || len(free) > 0 {
			t.Errorf("the blob of a pinned file is garbage: %v %v", free, err)
		}
		refs, err := s.Ops.BlobRefs(ctx, "", 10)
		if err != nil || !slices.Contains(refs, ops.BlobRef{Key: file.Key, Bytes: 4, SHA256: "ab"}) {
			t.Errorf("%v %v", refs, err)
		}
		got, err := s.Runs.RunFiles(ctx, w.Run)
		if err != nil || !slices.Equal(got, spec.Files) {
			t.Errorf("%+v %v", got, err)
		}
		if _, err := s.Runs.ExecuteWorkflow(ctx, people.InProject(late.Owner), &late, spec); err != nil {
			// The blob is still there, but no library file or artifact refers to it.
			if pleat.CodeOf(err) != pleat.CodeConflict {
				t.Error(err)
			}
		} else {
			t.Error("a file was pinned that had been deleted")
		}
		if v, err := s.Runs.WorkflowView(ctx, late.ID); err != nil || v.Workflow.State != pleat.StateDraft {
			t.Errorf("%+v %v", v.Workflow, err)
		}
	})
}

// The files that a run has pinned count with its results, since it keeps them.
func TestPinnedFilesCount(t *testing.T) {
	t.Parallel()
	limits := people.Limits{ResultsBytes: 1000}
	storetest.EachLimited(t, limits, func(t *testing.T, s *store.Store, _ *storetest.Clock) {
		ctx := context.Background()
		u := storetest.User(t, s, "ada")
		draft, late := newDesign(t, s, u), newDesign(t, s, u)
		spec := runs.RunSpec{Queue: "design/x", Model: "x", Files: []runs.RunFile{
			{Name: "a.yaml", Main: true, Key: "library/a", SHA256: "ab", Bytes: 2000, Fresh: true},
		}}
		w, err := s.Runs.ExecuteWorkflow(ctx, people.InProject(draft.Owner), &draft, spec)
		if err != nil {
			t.Fatal(err)
		}
		_, err = s.Runs.ExecuteWorkflow(ctx, people.InProject(late.Owner), &late, spec)
		if pleat.CodeOf(err) != pleat.CodeConflict {
			t.Errorf("a run that pins 2000 bytes leaves room below 1000: %v", err)
		}
		if _, err := s.Runs.CancelWorkflow(ctx, u, w.ID); err != nil {
			t.Fatal(err)
		}
		if err := s.Ops.DeleteWorkflow(ctx, u, w.ID); err != nil {
			t.Fatal(err)
		}
		purge(t, s)
		if _, err := s.Runs.ExecuteWorkflow(ctx, people.InProject(late.Owner), &late, spec); err != nil {
			t.Error(err)
		}
	})
}

// If there are many folds, the newest are shown, in the order in which they were created.
func TestManyDesignFolds(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store, _ *storetest.Clock) {
		ctx := context.Background()
		u := storetest.User(t, s, "ada")
		if err := s.People.SetQuota(ctx, "ada", 1000); err != nil {
			t.Fatal(err)
		}
		w := newDesign(t, s, u)
		for call := range 11 {
			n := runs.DesignFolds{Creator: u.User, Owner: u.Project, Workflow: w.ID}
			for i := range 20 {
				n.Jobs = append(n.Jobs, runs.DesignJob{Design: "x", Rank: 20*call + i, Job: newJob(u, "fold")})
			}
			if _, _, err := s.Runs.FoldDesigns(ctx, n); err != nil {
				t.Fatal(err)
			}
		}
		list, err := s.Runs.DesignFolds(ctx, w.ID)
		if err != nil || len(list) != 200 || list[0].Rank != 20 || list[199].Rank != 219 {
			t.Errorf("%d folds, %v; want 200, the last of 220", len(list), err)
		}
	})
}

// All folds of designs are created, or none; a repeated call gets the same jobs.
func TestFoldDesigns(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store, _ *storetest.Clock) {
		ctx := context.Background()
		u := storetest.User(t, s, "ada")
		w := newDesign(t, s, u)
		n := runs.DesignFolds{Creator: u.User, Owner: u.Project, Workflow: w.ID, Key: "once", Digest: "d"}
		n.Jobs = []runs.DesignJob{
			{Design: "x_1", Rank: 1, Job: newJob(u, "first")}, {Design: "x_2", Rank: 3, Job: newJob(u, "second")},
		}
		created, replayed, err := s.Runs.FoldDesigns(ctx, n)
		if err != nil || replayed || len(created) != 2 {
			t.Fatalf("%+v %v %v", created, replayed, err)
		}
		again, replayed, err := s.Runs.FoldDesigns(ctx, n)
		if err != nil || !replayed || again[1].Job != created[1].Job {
			t.Errorf("%+v %v %v", again, replayed, err)
		}
		read, err := s.Runs.ReplayedFolds(ctx, u, "once", "d")
		if err != nil || len(read) != 2 || read[1].Job != created[1].Job {
			t.Errorf("%+v %v", read, err)
		}
		if read, err := s.Runs.ReplayedFolds(ctx, u, "another", "d"); err != nil || read != nil {
			t.Errorf("%+v %v", read, err)
		}
		if _, err := s.Runs.ReplayedFolds(ctx, u, "once", "e"); pleat.CodeOf(err) != pleat.CodeConflict {
			t.Errorf("another request with the key: %v", err)
		}
		list, err := s.Runs.DesignFolds(ctx, w.ID)
		if err != nil || len(list) != 2 || list[0].Design != "x_1" || list[1].Rank != 3 || list[0].BinderRMSD != nil {
			t.Fatalf("%+v %v", list, err)
		}
		rmsd, end := 1.5, storetest.Completed()
		end.BinderRMSD = &rmsd
		for range created {
			k := storetest.Claim(t, s, "w", storetest.FoldQueue)
			if k.Design != w.ID {
				t.Errorf("the claim names the design %q; want %s", k.Design, w.ID)
			}
			if err := s.Runs.FinishRun(ctx, tasks.LeaseOf(&k.Task), end); err != nil {
				t.Fatal(err)
			}
			end.BinderRMSD = nil
		}
		one, ok, err := s.Runs.FoldedDesign(ctx, created[0].Job)
		if err != nil || !ok || one.BinderRMSD == nil || *one.BinderRMSD != rmsd || one.Workflow != w.ID {
			t.Errorf("%+v %v %v", one, ok, err)
		}
		one, _, err = s.Runs.FoldedDesign(ctx, created[1].Job)
		if err != nil || one.State != pleat.StateCompleted || one.BinderRMSD != nil {
			t.Errorf("a fold that was not measured: %+v %v", one, err)
		}
		if err := s.People.SetQuota(ctx, "ada", 3); err != nil {
			t.Fatal(err)
		}
		n.Key = ""
		if _, _, err := s.Runs.FoldDesigns(ctx, n); pleat.CodeOf(err) != pleat.CodeLimited {
			t.Errorf("two folds beyond the quota: %v", err)
		}
		if list, err := s.Runs.DesignFolds(ctx, w.ID); err != nil || len(list) != 2 {
			t.Errorf("%d folds, %v; want those before", len(list), err)
		}
		n.Owner = storetest.User(t, s, "eve").Project
		if _, _, err := s.Runs.FoldDesigns(ctx, n); err != pleat.ErrWorkflowNotFound {
			t.Errorf("a stranger folds designs: %v", err)
		}
	})
}
