package store_test

import (
	"context"
	"sync"
	"testing"

	"pleat"
	"pleat/internal/store"
	"pleat/internal/store/people"
	"pleat/internal/store/runs"
	"pleat/internal/store/storetest"
)

// Calls at the same time cannot all use what a limit has left.
func TestLimitsHoldBetweenConcurrentCalls(t *testing.T) {
	t.Parallel()
	limits := people.Limits{LibraryItems: 5, Drafts: 3}
	storetest.EachLimited(t, limits, func(t *testing.T, s *store.Store, _ *storetest.Clock) {
		ctx := context.Background()
		u := storetest.User(t, s, "ada")
		start := make(chan struct{})
		var wg sync.WaitGroup
		for range 12 {
			wg.Go(func() {
				<-start
				_, item := s.Runs.CreateItem(ctx, u, runs.LibraryItem{Owner: u.Project, Name: "x", Type: "file"})
				_, draft := s.Runs.CreateWorkflow(ctx, newFlow(u, true))
				for _, err := range []error{item, draft} {
					if err != nil && pleat.CodeOf(err) != pleat.CodeConflict {
						t.Error(err)
					}
				}
			})
		}
		close(start)
		wg.Wait()
		if items, drafts := storetest.Count(t, s, "library_item"), storetest.Count(t, s, "workflow"); items != 5 ||
			drafts != 3 {
			t.Errorf("%d items and %d drafts; 5 and 3 are allowed", items, drafts)
		}
	})
}

// Bytes that an older program has not counted are counted again. The end of every test compares the counts with the
// runs.
func TestRecountResults(t *testing.T) {
	t.Parallel()
	for name, fresh := range storetest.Migrated() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			address := fresh(t)
			s := storetest.OpenAt(t, address, nil)
			u := storetest.User(t, s, "ada")
			create(t, s, u, "counted")
			storetest.Exec(t, address, "DELETE FROM result_use")
			create(t, s, u, "counted too")
			for range 2 {
				if err := s.People.RecountResults(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}
