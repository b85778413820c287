package store_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pleat"
	"pleat/internal/store"
	"pleat/internal/store/storetest"
)

// belongings are the names of what a user's own project has.
type belongings struct {
	Jobs, Batches, Workflows, Items []string
	Endpoint                        string
	Used, Quota                     int
}

func belongingsOf(t *testing.T, s *store.Store, by store.Reach) belongings {
	t.Helper()
	ctx := context.Background()
	var b belongings
	jobs, err := s.ListJobs(ctx, by, store.Filter{Limit: 100})
	for _, j := range jobs {
		b.Jobs = append(b.Jobs, j.Name)
	}
	if err != nil {
		t.Fatal(err)
	}
	batches, err := s.ListBatches(ctx, by, store.BatchFilter{Limit: 100})
	for _, x := range batches {
		b.Batches = append(b.Batches, x.Name)
	}
	if err != nil {
		t.Fatal(err)
	}
	flows, err := s.Workflows(ctx, by, store.WorkflowFilter{Limit: 100})
	for _, w := range flows {
		b.Workflows = append(b.Workflows, w.Workflow.Name)
	}
	if err != nil {
		t.Fatal(err)
	}
	items, err := s.Items(ctx, by, "", 100)
	for _, i := range items {
		b.Items = append(b.Items, i.Name)
	}
	if err != nil {
		t.Fatal(err)
	}
	e, err := s.DefaultEndpoint(ctx, by)
	b.Endpoint = e.URL
	if err != nil {
		t.Fatal(err)
	}
	u, err := s.Usage(ctx, by)
	b.Used, b.Quota = u.Jobs.Used, u.Jobs.Limit
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// In a database of before projects, everything of every user stays that user's, with the quota and the keys.
func TestMigrationToProjects(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store, _ *storetest.Clock) {
		ctx := context.Background()
		users := map[string]store.Reach{}
		want := map[string]belongings{}
		for i, name := range []string{"ada", "bob"} {
			by := storetest.User(t, s, name)
			users[name] = by
			newKey(t, s, by, "key of "+name)
			create(t, s, by, "job of "+name)
			createBatch(t, s, newBatch(by, "batch of "+name, texts(2)...))
			if _, err := s.CreateWorkflow(ctx, newFlow(by, true)); err != nil {
				t.Fatal(err)
			}
			if _, err := s.CreateItem(ctx, by, store.LibraryItem{
				Owner: by.Project, Name: "item of " + name, Type: "file", Metadata: []byte("{}"),
			}); err != nil {
				t.Fatal(err)
			}
			defaultEndpoint(t, s, by, false)
			if err := s.SetQuota(ctx, name, 10+i); err != nil {
				t.Fatal(err)
			}
			want[name] = belongingsOf(t, s, by)
		}
		for _, version := range []int64{23, store.Latest()} {
			if err := s.MigrateTo(ctx, version); err != nil {
				t.Fatal(err)
			}
		}
		for name, by := range users {
			if d := cmp.Diff(want[name], belongingsOf(t, s, by)); d != "" {
				t.Errorf("%s: %s", name, d)
			}
			p, err := s.Identify(ctx, key("key of "+name))
			if err != nil || p.User != by.User || p.Project != "" || p.Operator {
				t.Errorf("%s: %+v %v", name, p, err)
			}
		}
		// What belongs to one is out of the other's reach.
		stranger := store.Reach{User: users["bob"].User, Project: users["ada"].Project}
		if list, err := s.ListJobs(ctx, stranger, store.Filter{Limit: 100}); err != nil || len(list) != 0 {
			t.Errorf("bob lists %v of ada, %v", list, err)
		}
		if role, err := s.Role(ctx, stranger, users["ada"].Project); err != nil || role != pleat.NoRole {
			t.Errorf("bob's role is %s, %v", role, err)
		}
	})
}
