package store_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"pleat"
	"pleat/internal/store"
	"pleat/internal/store/batches"
	"pleat/internal/store/db"
	"pleat/internal/store/people"
	"pleat/internal/store/runs"
	"pleat/internal/store/storetest"
	"pleat/internal/store/webhooks"
)

// schema is the version of the schema of this program.
var schema = db.Latest()

// later is what a program of a later version knows besides: a table with a row, and a column that it fills.
var later = map[string]string{
	laterFile("upgrades"): `-- +goose Up
CREATE TABLE upgrade (name text NOT NULL);
INSERT INTO upgrade (name) VALUES ('once');
ALTER TABLE job ADD COLUMN label text NOT NULL DEFAULT '';
UPDATE job SET label = 'was ' || name;
CREATE INDEX job_label ON job (label);`,
}

// laterFile is the file name of the first migration that this program does not know.
func laterFile(name string) string { return fmt.Sprintf("%05d_%s.sql", schema+1, name) }

// belongings are the names of what a user's own project has.
type belongings struct {
	Jobs, Batches, Workflows, Items []string
	Endpoint                        string
	Used, Quota                     int
}

func belongingsOf(t *testing.T, s *store.Store, by people.Reach) belongings {
	t.Helper()
	ctx := context.Background()
	var b belongings
	jobs, err := s.Runs.ListJobs(ctx, by, runs.Filter{Limit: 100})
	for _, j := range jobs {
		b.Jobs = append(b.Jobs, j.Name+" "+string(j.State))
	}
	if err != nil {
		t.Fatal(err)
	}
	batches, err := s.Batches.ListBatches(ctx, by, batches.Filter{Limit: 100})
	for _, x := range batches {
		b.Batches = append(b.Batches, x.Name)
	}
	if err != nil {
		t.Fatal(err)
	}
	flows, err := s.Runs.Workflows(ctx, by, runs.WorkflowFilter{Limit: 100})
	for _, w := range flows {
		b.Workflows = append(b.Workflows, w.Workflow.Name)
	}
	if err != nil {
		t.Fatal(err)
	}
	items, err := s.Runs.Items(ctx, by, "", 100)
	for _, i := range items {
		b.Items = append(b.Items, i.Name)
	}
	if err != nil {
		t.Fatal(err)
	}
	e, _, err := s.Webhooks.Endpoint(ctx, by, webhooks.Default)
	b.Endpoint = e.Address.Origin
	if err != nil {
		t.Fatal(err)
	}
	u, err := s.People.Usage(ctx, by)
	b.Used, b.Quota = u.Jobs.Used, u.Jobs.Limit
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// filledBaseline gives users rows of every kind in a database of the first version, among them a job that runs, one
// that waits and a delivery that is to be sent, and returns who has what.
func filledBaseline(t *testing.T, s *store.Store) (users map[string]people.Reach, want map[string]belongings) {
	t.Helper()
	ctx := context.Background()
	users, want = map[string]people.Reach{}, map[string]belongings{}
	names := []string{"ada", "bob"}
	for _, name := range names { // the claims find nothing else
		by := storetest.User(t, s, name)
		users[name] = by
		fold(t, s, by, pleat.StateCompleted, toEndpoint(defaultEndpoint(t, s, by, false)))
		create(t, s, by, name+"'s that runs")
		claim(t, s, "before", 1)
	}
	for i, name := range names {
		by := users[name]
		newKey(t, s, by, "key of "+name)
		create(t, s, by, name+"'s that waits")
		createBatch(t, s, newBatch(by, "batch of "+name, texts(2)...))
		if _, err := s.Runs.CreateWorkflow(ctx, newFlow(by, true)); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Runs.CreateItem(ctx, by, runs.LibraryItem{
			Owner: by.Project, Name: "item of " + name, Type: "file", Metadata: []byte("{}"),
		}); err != nil {
			t.Fatal(err)
		}
		if err := s.People.SetQuota(ctx, name, 10+i); err != nil {
			t.Fatal(err)
		}
		want[name] = belongingsOf(t, s, by)
	}
	return users, want
}

// withMigrations returns the migrations of this program and others, by the names of their files.
func withMigrations(t *testing.T, more map[string]string) fs.FS {
	t.Helper()
	all := fstest.MapFS{}
	names, err := filepath.Glob("db/migrations/*.sql")
	if err != nil || len(names) == 0 {
		t.Fatal(err)
	}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		all[filepath.Base(name)] = &fstest.MapFile{Data: text}
	}
	for name, text := range more {
		all[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return all
}

// migrateLater migrates the database of a store as a later program does, which knows more migrations.
func migrateLater(t *testing.T, s *store.Store, more map[string]string) (from, to int64, err error) {
	t.Helper()
	d, err := db.Open(t.Context(), storetest.Address(t, s), db.Options{Migrations: withMigrations(t, more)})
	if err != nil {
		return 0, 0, err
	}
	defer d.Close()
	return d.Migrate(t.Context())
}

// A later program brings a database of the first version with rows to its own: nothing is lost, every user keeps what
// the user has, and tasks and deliveries go on.
func TestUpgradeFromTheBaseline(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store, clock *storetest.Clock) {
		ctx := context.Background()
		users, want := filledBaseline(t, s)
		before := storetest.Tables(t, s)
		if from, to, err := migrateLater(t, s, later); from != schema || to != schema+1 || err != nil {
			t.Fatalf("from %d to %d, %v", from, to, err)
		}
		after := storetest.Tables(t, s)
		if got := after["upgrade"]; len(got) != 1 {
			t.Errorf("the new table has %q", got)
		}
		for i, row := range after["job"] { // the new column is the last one
			row, label, _ := strings.Cut(row, "|was ")
			if after["job"][i] = row; label == "" || !strings.Contains(row, label) {
				t.Errorf("%s: %q", row, label)
			}
		}
		delete(after, "upgrade")
		slices.Sort(before["job"]) // an update may move rows
		slices.Sort(after["job"])
		if d := gocmp.Diff(before, after); d != "" {
			t.Error(d)
		}
		for name, by := range users {
			if d := gocmp.Diff(want[name], belongingsOf(t, s, by)); d != "" {
				t.Errorf("%s: %s", name, d)
			}
			p, err := s.People.Identify(ctx, key("key of "+name))
			if err != nil || p.User != by.User || p.Project != "" || p.Operator {
				t.Errorf("%s: %+v %v", name, p, err)
			}
		}
		stranger := people.Reach{User: users["bob"].User, Project: users["ada"].Project}
		if list, err := s.Runs.ListJobs(ctx, stranger, runs.Filter{Limit: 100}); err != nil || len(list) != 0 {
			t.Errorf("bob lists %v of ada, %v", list, err)
		}
		if role, err := s.People.Role(ctx, stranger, users["ada"].Project); err != nil || role != pleat.NoRole {
			t.Errorf("bob's role is %s, %v", role, err)
		}
		workOff(t, s, clock)
	})
}

// workOff claims and finishes what was queued, running or to be sent before an upgrade.
func workOff(t *testing.T, s *store.Store, clock *storetest.Clock) {
	t.Helper()
	clock.Advance(time.Hour) // every lease has expired
	if r, err := s.Runs.Reap(context.Background(), s.DB.Now()); err != nil || r.Requeued != 2 {
		t.Fatalf("%+v %v", r, err)
	}
	var names []string
	for _, c := range claim(t, s, "after", 100) {
		names = append(names, c.Fold.Name)
		if err := finish(s, c, pleat.StateCompleted); err != nil {
			t.Error(err)
		}
	}
	for _, name := range []string{"ada's that runs", "ada's that waits", "bob's that runs", "bob's that waits"} {
		if !slices.Contains(names, name) {
			t.Errorf("%q is not claimed, but %q", name, names)
		}
	}
	sent := 0
	for got := claimDeliveries(t, s, "d", 100); len(got) > 0; got = claimDeliveries(t, s, "d", 100) {
		sent += len(got) // a claim may not reach every endpoint
		for _, d := range got {
			finishDelivery(t, s, "d", webhooks.DeliveryOutcome{Claimed: d, OK: true, Status: 200})
		}
	}
	if sent != 2 {
		t.Errorf("%d deliveries are claimed", sent)
	}
}

// Processes that migrate one database at once agree: each version is applied once, and all find the newest.
func TestProcessesMigrateAtOnce(t *testing.T) {
	t.Parallel()
	for name, fresh := range storetest.Databases() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, address := context.Background(), fresh(t)
			var stores []*db.DB
			for range 4 {
				s, err := db.Open(ctx, address, db.Options{Migrations: withMigrations(t, later)})
				if err != nil {
					t.Fatal(err)
				}
				defer s.Close()
				stores = append(stores, s)
			}
			var wg sync.WaitGroup
			for _, s := range stores {
				wg.Go(func() {
					if _, to, err := s.Migrate(ctx); to != schema+1 || err != nil {
						t.Errorf("to %d, %v", to, err)
					}
				})
			}
			wg.Wait()
			applied := storetest.QueryAt(t, address, "SELECT version_id FROM "+db.VersionTable+" ORDER BY id")
			var want [][]string
			for v := range schema + 2 {
				want = append(want, []string{strconv.FormatInt(v, 10)})
			}
			if d := gocmp.Diff(want, applied); d != "" {
				t.Error(d)
			}
			if rows := storetest.QueryAt(t, address, "SELECT name FROM upgrade"); len(rows) != 1 {
				t.Errorf("%q", rows)
			}
		})
	}
}

// A migration that fails leaves the database as the last one that did not left it.
func TestMigrationFails(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store, _ *storetest.Clock) {
		ctx := context.Background()
		create(t, s, storetest.User(t, s, "ada"), "kept")
		before := storetest.Tables(t, s)
		from, to, err := migrateLater(t, s, map[string]string{
			laterFile("fails"): "-- +goose Up\nCREATE TABLE half (name text);\nDELETE FROM job;\nDROP TABLE none;",
		})
		if from != schema || to != schema || err == nil || !strings.Contains(err.Error(), "none") {
			t.Errorf("from %d to %d, %v", from, to, err)
		}
		if v, err := s.DB.Version(ctx); v != schema || err != nil {
			t.Errorf("version %d, %v", v, err)
		}
		if d := gocmp.Diff(before, storetest.Tables(t, s)); d != "" {
			t.Error(d)
		}
	})
}

// No program changes a database that a later version has migrated, or one of an unreleased build.
func TestUnknownSchemasAreRefused(t *testing.T) {
	t.Parallel()
	const unreleased = "the database was made by an unreleased build of pleat and cannot be migrated; save its jobs " +
		"and files with that build (pleat jobs export, pleat jobs results), then start with a new database"
	newer := fmt.Sprintf("the database is at schema %d and this pleat knows %d; run a newer pleat", schema+1, schema)
	for name, migrated := range storetest.Migrated() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, address := context.Background(), migrated(t)
			s := storetest.OpenAt(t, address, nil)
			create(t, s, storetest.User(t, s, "ada"), "kept")
			refused := func(text string) error {
				t.Helper()
				before := storetest.Tables(t, s)
				from, to, err := s.DB.Migrate(ctx)
				if from != to || err == nil || err.Error() != text {
					t.Errorf("from %d to %d, %v", from, to, err)
				}
				if d := gocmp.Diff(before, storetest.Tables(t, s)); d != "" {
					t.Error(d)
				}
				return err
			}
			if _, _, err := migrateLater(t, s, later); err != nil {
				t.Fatal(err)
			}
			refused(newer)
			// The version table of the builds before the first release, which counted to 30.
			storetest.Exec(t, address, "ALTER TABLE schema_version RENAME TO goose_db_version")
			for _, version := range []string{"30", "29", "6"} {
				storetest.Exec(t, address, "UPDATE goose_db_version SET version_id = "+version+" WHERE version_id = 5")
				if err := refused(unreleased); !errors.Is(err, db.ErrUnreleased) {
					t.Errorf("version %s: %v", version, err)
				}
				storetest.Exec(t, address, "UPDATE goose_db_version SET version_id = 5 WHERE version_id = "+version)
			}
		})
	}
	if err := db.RefuseNewer(schema + 1); err == nil || err.Error() != newer {
		t.Errorf("%v", err)
	}
	if err := db.RefuseNewer(schema); err != nil {
		t.Error(err)
	}
}

// The databases that tests start from have the schema of this program, so that nothing is left to migrate, and no rows.
func TestMigratedDatabasesAreEmpty(t *testing.T) {
	t.Parallel()
	for name, migrated := range storetest.Migrated() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, address := context.Background(), migrated(t)
			s, err := store.Open(ctx, address, store.Options{})
			if err != nil {
				t.Fatal(err)
			}
			v, err := s.DB.Version(ctx)
			if err := cmp.Or(err, s.DB.Close()); err != nil || v != db.Latest() {
				t.Errorf("version %d, %v", v, err)
			}
			for table, rows := range storetest.Tables(t, storetest.OpenAt(t, address, nil)) {
				if len(rows) != 0 {
					t.Errorf("%s: %q", table, rows)
				}
			}
		})
	}
}
