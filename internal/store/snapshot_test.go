package store_test

import (
	"context"
	"testing"
	"time"

	"pleat"
	"pleat/internal/store"
	"pleat/internal/store/db"
	"pleat/internal/store/storetest"
)

// TestSnapshotNeedsOneConnection holds that a snapshot never waits for a second connection: with one connection in all
// it would wait for itself, and with more, as many snapshots at once would wait for each other.
func TestSnapshotNeedsOneConnection(t *testing.T) {
	t.Parallel()
	for name, fresh := range storetest.Migrated() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := context.Background()
			s, err := store.Open(ctx, fresh(t), store.Options{DB: db.Options{Connections: db.MinConnections}})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = s.DB.Close() })
			created := storetest.CreateJob(t, s, storetest.NewFold(storetest.User(t, s, "u"), "one"))
			done := make(chan error, 1)
			go func() {
				_, err := s.Runs.RunViews(ctx, []pleat.RunID{created.Run})
				if err == nil {
					_, err = s.Runs.View(ctx, created.Job)
				}
				done <- err
			}()
			select {
			case err := <-done:
				if err != nil {
					t.Fatal(err)
				}
			case <-time.After(time.Minute):
				t.Fatal("a snapshot waits for a second connection")
			}
		})
	}
}
