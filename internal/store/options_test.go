package store_test

import (
	"fmt"
	"testing"

	"pleat"
	"pleat/internal/store"
	"pleat/internal/store/db"
	"pleat/internal/store/people"
	"pleat/internal/store/storetest"
	"pleat/internal/store/webhooks"
)

// numberedIDs begins a statement with n, the table of so many ids from a number on, which sort before all others.
func numberedIDs(from, count int) string {
	return fmt.Sprintf(`
		WITH RECURSIVE numbers(i) AS (SELECT %d UNION ALL SELECT i + 1 FROM numbers WHERE i + 1 < %d),
		n AS (SELECT '00000000-0000-7000-8000-' || CAST(100000000000 + i AS text) AS id FROM numbers)`, from, from+count)
}

// Without options, 100 test deliveries of a project may wait.
func TestDefaultTestDeliveries(t *testing.T) {
	t.Parallel()
	storetest.EachWith(t, store.Options{}, func(t *testing.T, s *store.Store, _ *storetest.Clock) {
		const most = 100
		u := storetest.User(t, s, "ada")
		defaultEndpoint(t, s, u, true)
		ping := func() error {
			_, err := s.Webhooks.PingEndpoint(t.Context(), people.Actor{Reach: u}, webhooks.Default)
			return err
		}
		for n := range most {
			if err := ping(); err != nil {
				t.Fatalf("test delivery %d: %v", n+1, err)
			}
		}
		if err := ping(); pleat.CodeOf(err) != pleat.CodeConflict {
			t.Errorf("one more: %v", err)
		}
	})
}

// Without options, 500 entries of an action of a user are kept, and 10,000 in a project of several users.
func TestDefaultAuditEntries(t *testing.T) {
	t.Parallel()
	storetest.EachWith(t, store.Options{}, func(t *testing.T, s *store.Store, _ *storetest.Clock) {
		u := storetest.User(t, s, "ada")
		for project, most := range map[pleat.ProjectID]int{u.Project: 500, newProject(t, s, "lab", u): 10_000} {
			by := people.Actor{Reach: people.Reach{User: u.User, Project: project}}
			// The ranges of the two projects do not overlap.
			storetest.Exec(t, storetest.Address(t, s), numberedIDs(most, most)+fmt.Sprintf(`
				INSERT INTO audit (
					id, account_id, key_id, prefix, address, action, subject, detail, created_at, project_id)
				SELECT n.id, '%s', '', '', '', '%s', '', '', 0, '%s' FROM n`,
				u.User, people.AuditWebhookPaused, project))
			if err := s.DB.Write(t.Context(), "record", func(tx *db.Tx) error {
				return s.People.RecordAudit(tx, by, people.AuditWebhookPaused, "", "")
			}); err != nil {
				t.Fatal(err)
			}
			list, err := s.People.Audit(t.Context(), by.Reach, "", 20_000)
			if err != nil {
				t.Fatal(err)
			}
			kept := 0
			for _, e := range list {
				if e.Action == people.AuditWebhookPaused {
					kept++
				}
			}
			if kept != most {
				t.Errorf("%d entries are kept, want %d", kept, most)
			}
		}
	})
}

// Without options, one statement selects 1000 running tasks.
func TestDefaultHeldTasks(t *testing.T) {
	t.Parallel()
	storetest.EachWith(t, store.Options{}, func(t *testing.T, s *store.Store, _ *storetest.Clock) {
		const most = 1000
		storetest.Exec(t, storetest.Address(t, s), numberedIDs(0, most+1)+`
			INSERT INTO task (
				id, kind, queue, project_id, tenant, position, state, attempt, tries, max_tries, memory, expected,
				run_at, lease_until, worker_id, cancel, checkpoint, checkpoint_step, created_at, request)
			SELECT n.id, 'mail', 'mail', '', '', 0, 'running', 1, 1, 10, 0, 0, 0, 0, 'w', 0, '', 0, 0, '' FROM n`)
		if err := s.DB.Write(t.Context(), "select", func(tx *db.Tx) error {
			held, err := s.Runs.SelectHeld(tx, "FOR UPDATE", "worker_id = $1", "w")
			if len(held) != most {
				t.Errorf("%d tasks, want %d", len(held), most)
			}
			return err
		}); err != nil {
			t.Fatal(err)
		}
	})
}
