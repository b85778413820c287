package store_test

import (
	"context"
	"testing"

	"pleat"
	"pleat/internal/store"
	"pleat/internal/store/people"
	"pleat/internal/store/runs"
	"pleat/internal/store/storetest"
	"pleat/internal/store/webhooks"
)

// newProject makes a project that a user manages.
func newProject(t *testing.T, s *store.Store, name string, manager people.Reach) pleat.ProjectID {
	t.Helper()
	p, err := s.People.CreateProject(context.Background(), people.Actor{Database: true}, name, string(manager.User))
	if err != nil {
		t.Fatal(err)
	}
	return p.ID
}

// A workflow without a stored creator, as before projects, keeps the user whose own project had it.
func TestMoveKeepsTheCreator(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store, _ *storetest.Clock) {
		ctx := context.Background()
		u := storetest.User(t, s, "ada")
		to := newProject(t, s, "Lab", u)
		n := newFlow(u, true)
		n.Workflow.Creator = ""
		w, err := s.Runs.CreateWorkflow(ctx, n)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Ops.MoveWorkflow(ctx, people.Actor{Reach: people.Reach{User: u.User}}, w.ID, to); err != nil {
			t.Fatal(err)
		}
		v, err := s.Runs.WorkflowView(ctx, w.ID)
		if err != nil || v.Workflow.Owner != to || v.Workflow.CreatedBy() != u.User {
			t.Errorf("%+v %v", v.Workflow, err)
		}
	})
}

// A move takes along all that is below the workspace of a design, and no project gets more drafts or items than it may
// have.
func TestMoveIsBounded(t *testing.T) {
	t.Parallel()
	limits := people.Limits{Drafts: 2, LibraryItems: 4}
	storetest.EachLimited(t, limits, func(t *testing.T, s *store.Store, _ *storetest.Clock) {
		ctx := context.Background()
		u := storetest.User(t, s, "ada")
		by := people.Actor{Reach: people.Reach{User: u.User}}
		lab := newProject(t, s, "Lab", u)
		folder := func(owner pleat.ProjectID, parent pleat.ItemID) pleat.ItemID {
			t.Helper()
			i, err := s.Runs.CreateItem(ctx, u, runs.LibraryItem{
				Owner: owner, Parent: parent, Name: "x", Type: "folder", Metadata: []byte("{}"),
			})
			if err != nil {
				t.Fatal(err)
			}
			return i.ID
		}
		design := newDesign(t, s, u)
		v, err := s.Runs.Design(ctx, design.ID)
		if err != nil {
			t.Fatal(err)
		}
		deepest := folder(u.Project, folder(u.Project, v.Workspace))
		taken := folder(lab, "")
		folder(lab, taken)
		if err := s.Ops.MoveWorkflow(ctx, by, design.ID, lab); pleat.CodeOf(err) != pleat.CodeConflict {
			t.Errorf("more items than a library may hold: %v", err)
		}
		if _, err := s.Runs.DeleteItem(ctx, people.InProject(lab), taken); err != nil {
			t.Fatal(err)
		}
		if err := s.Ops.MoveWorkflow(ctx, by, design.ID, lab); err != nil {
			t.Fatal(err)
		}
		if i, err := s.Runs.Item(ctx, u, deepest); pleat.CodeOf(err) != pleat.CodeNotFound {
			t.Errorf("an item below the workspace stays: %+v %v", i, err)
		}
		for i := range 2 {
			w, err := s.Runs.CreateWorkflow(ctx, newFlow(u, true))
			if err != nil {
				t.Fatal(err)
			}
			err = s.Ops.MoveWorkflow(ctx, by, w.ID, lab)
			if full := pleat.CodeOf(err) == pleat.CodeConflict; full != (i == 1) || err != nil && !full {
				t.Errorf("draft %d: %v", i+2, err)
			}
		}
	})
}

// A design that was moved does not show the folds that stay in the other project.
func TestMovedDesignLeavesItsFolds(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store, _ *storetest.Clock) {
		ctx := context.Background()
		u := storetest.User(t, s, "ada")
		w, _ := attachedDesign(t, s, u)
		if _, _, err := s.Runs.FoldDesigns(ctx, runs.DesignFolds{
			Owner: u.Project, Workflow: w, Jobs: []runs.DesignJob{{Design: "x_2", Rank: 2, Job: newJob(u, "folded")}},
		}); err != nil {
			t.Fatal(err)
		}
		if list, err := s.Runs.DesignFolds(ctx, w); err != nil || len(list) != 1 {
			t.Fatalf("%d folds, %v", len(list), err)
		}
		to := newProject(t, s, "Lab", u)
		if err := s.Ops.MoveWorkflow(ctx, people.Actor{Reach: people.Reach{User: u.User}}, w, to); err != nil {
			t.Fatal(err)
		}
		if list, err := s.Runs.DesignFolds(ctx, w); err != nil || len(list) != 0 {
			t.Errorf("%d folds after the move, %v", len(list), err)
		}
	})
}

// A flood of changes in one project displaces no entry of another.
func TestAuditIsBoundedByProject(t *testing.T) {
	t.Parallel()
	opt := store.Options{People: people.Options{AuditEntries: 20, ProjectAuditEntries: 30}}
	storetest.EachWith(t, opt, func(t *testing.T, s *store.Store, _ *storetest.Clock) {
		ctx := context.Background()
		u := storetest.User(t, s, "ada")
		by := newKey(t, s, u, "k")
		lab := newProject(t, s, "Lab", u)
		for _, in := range []pleat.ProjectID{lab, u.Project} {
			if _, err := s.Webhooks.PutEndpoint(ctx, by.In(in), webhooks.EndpointSettings{
				Address: new(storetest.Receiver("https://x.example")), Token: new("s1.t"), Secret: "s1.s",
			}); err != nil {
				t.Fatal(err)
			}
		}
		for range 35 {
			for _, in := range []pleat.ProjectID{lab, u.Project} {
				if _, err := s.Webhooks.SwitchEndpoint(
					ctx, by.In(in), webhooks.Default, webhooks.EndpointPause,
				); err != nil {
					t.Fatal(err)
				}
			}
		}
		for project, want := range map[pleat.ProjectID]int{lab: 30, u.Project: 20} {
			list, err := s.People.ProjectAudit(ctx, people.Reach{User: u.User, Project: project}, "", 10_000)
			n := 0
			for _, e := range list {
				if e.Action == people.AuditWebhookPaused {
					n++
				}
			}
			if err != nil || n != want {
				t.Errorf("%d entries, want %d: %v", n, want, err)
			}
		}
	})
}
