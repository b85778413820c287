package store_test

import (
	"cmp"
	"context"
	"database/sql"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"pleat"
	"pleat/internal/store"
	"pleat/internal/store/storetest"
)

// version1 loads the database that testdata/v1/make.go filled with version 1 of the schema, and returns its address.
func version1(t *testing.T, database string) string {
	t.Helper()
	if database == "sqlite" {
		raw, err := os.ReadFile("testdata/v1/pleat.db")
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), "pleat.db")
		if err := os.WriteFile(path, raw, 0o600); err != nil {
			t.Fatal(err)
		}
		return "sqlite:" + path
	}
	raw, err := os.ReadFile("testdata/v1/pleat.sql")
	if err != nil {
		t.Fatal(err)
	}
	address := storetest.Postgres(t)
	db, err := sql.Open("pgx", address)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec(string(raw)); err != nil {
		t.Fatal(err)
	}
	return address
}

// A database of version 1 migrates and serves its jobs: results, lists, deliveries, usage, and the tasks that were
// queued or running.
func TestDatabaseOfVersion1(t *testing.T) {
	for name := range storetest.Databases() {
		t.Run(name, func(t *testing.T) {
			clock := &storetest.Clock{}
			v := upgraded{t: t, s: storetest.OpenAt(t, version1(t, name), clock), clock: clock}
			v.owner = v.user("ada")
			t.Run("results", v.results)
			t.Run("lists", v.lists)
			t.Run("deliveries", v.deliveries)
			t.Run("tasks", v.tasks)
		})
	}
}

// upgraded is a database of version 1 after its migration.
type upgraded struct {
	t     *testing.T
	s     *store.Store
	clock *storetest.Clock
	owner store.Reach
}

func (v *upgraded) user(name string) store.Reach {
	keys, err := v.s.Keys(context.Background(), store.Reach{})
	if err != nil {
		v.t.Fatal(err)
	}
	i := slices.IndexFunc(keys, func(k store.Key) bool { return k.UserName == name })
	if i < 0 {
		v.t.Fatalf("no key of %s in %+v", name, keys)
	}
	return store.Own(keys[i].User)
}

func (v *upgraded) jobs(t *testing.T) map[string]store.JobRow {
	t.Helper()
	rows, err := v.s.ListJobs(context.Background(), store.Own(v.owner.User), store.Filter{Limit: 100})
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]store.JobRow{}
	for _, r := range rows {
		out[r.Name] = r
	}
	return out
}

func (v *upgraded) results(t *testing.T) {
	ctx := context.Background()
	job := v.jobs(t)["Trp-cage dimer"]
	view, err := v.s.View(ctx, job.ID)
	if err != nil {
		t.Fatal(err)
	}
	if !view.Job.Public || view.Run.Job != job.ID || len(view.Run.Result.Predictions) == 0 || len(view.Artifacts) < 5 {
		t.Errorf("%+v", view)
	}
	ended, err := v.s.EndedView(ctx, job.ID)
	if diff := gocmp.Diff(view, ended); diff != "" || err != nil {
		t.Error(diff, err)
	}
	for _, a := range view.Artifacts {
		got, head, err := v.s.Artifact(ctx, a.ID)
		if err != nil || got != a || head.Source != (pleat.Source{Job: job.ID}) || head.Owner != v.owner.Project {
			t.Errorf("artifact %+v of %+v: %v", got, head, err)
		}
	}
	events, err := v.s.Progress(ctx, view.Run.ID, 0, 1000)
	if err != nil || len(events) < 3 || events[len(events)-1].State != pleat.StateCompleted {
		t.Errorf("%d events, %v", len(events), err)
	}
	then := time.Until(time.Unix(20779*24*60*60, 0)) // the day of the database's quota_day
	v.clock.Advance(then)
	if u, err := v.s.Usage(ctx, store.Own(v.owner.User)); err != nil || u.Jobs.Used == 0 {
		t.Errorf("%+v %v", u, err)
	}
	v.clock.Advance(-then)
	read, counted := storetest.Query(t, v.s, spentAsRead), storetest.Query(t, v.s, spentAsCounted)
	if d := gocmp.Diff(read, counted); d != "" || len(read) == 0 {
		t.Errorf("the attempts of before and what is counted of them: %v %s", read, d)
	}
	if n := storetest.Count(t, v.s, "quota_day"); n != 2 {
		t.Errorf("usage of %d users and days", n)
	}
}

func (v *upgraded) lists(t *testing.T) {
	ctx := context.Background()
	states := map[string]pleat.State{}
	for name, j := range v.jobs(t) {
		states[name] = j.State
	}
	want := map[string]pleat.State{
		"Trp-cage dimer":             pleat.StateCompleted,
		"keeps the next one waiting": pleat.StateCompleted,
		"fails":                      pleat.StateFailed,
		"run twice":                  pleat.StateCompleted,
		"refused by its receiver":    pleat.StateCompleted,
		"receiver is busy":           pleat.StateCompleted,
		"running":                    pleat.StateRunning,
		"stopped":                    pleat.StateStopped,
		"queued":                     pleat.StateInitialized,
	}
	if diff := gocmp.Diff(want, states); diff != "" {
		t.Error(diff)
	}
	flows, err := v.s.Workflows(ctx, store.Own(v.owner.User), store.WorkflowFilter{Limit: 100})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]pleat.State{}
	for _, f := range flows {
		got[string(f.Workflow.Kind)+" "+f.Workflow.Name] = f.Workflow.State
		if f.Workflow.State != pleat.StateCompleted {
			continue
		}
		view, err := v.s.WorkflowView(ctx, f.Workflow.ID)
		if err != nil || len(view.Run.Result.Row) == 0 || view.Run.Job != "" {
			t.Errorf("%+v %v", view, err)
		}
		for _, a := range view.Artifacts {
			_, head, err := v.s.Artifact(ctx, a.ID)
			if err != nil || head.Source != (pleat.Source{Workflow: f.Workflow.ID}) {
				t.Errorf("%+v %v", head, err)
			}
		}
	}
	if diff := gocmp.Diff(map[string]pleat.State{
		"md Dynamics of Trp-cage dimer":     pleat.StateCompleted,
		"qna Question about Trp-cage dimer": pleat.StateCompleted,
		"qna later":                         pleat.StateDraft,
		"qna no such entry":                 pleat.StateFailed,
		"md queued":                         pleat.StateQueued,
	}, got); diff != "" {
		t.Error(diff)
	}
	items, err := v.s.Items(ctx, store.Own(v.owner.User), "", 100)
	if err != nil || len(items) != 3 {
		t.Errorf("library: %+v %v", items, err)
	}
	changes, err := v.s.Changes(ctx, store.Own(v.owner.User), 0, 100)
	if err != nil || len(changes) != len(states)+len(got)-1 { // the draft has no run
		t.Errorf("%d changes, %v", len(changes), err)
	}
	for _, c := range changes {
		if (c.Source.Job == "") == (c.Source.Workflow == "") || (c.Kind == pleat.TaskFold) != (c.Source.Job != "") {
			t.Errorf("%+v", c)
		}
	}
}

func (v *upgraded) deliveries(t *testing.T) {
	ctx := context.Background()
	list, err := v.s.Deliveries(ctx, store.Own(v.owner.User), store.DeliveryFilter{Limit: 100})
	if err != nil {
		t.Fatal(err)
	}
	count := map[pleat.DeliveryStatus]int{}
	for _, d := range list {
		count[d.Status]++
		_, attempts, err := v.s.Delivery(ctx, store.Own(v.owner.User), d.ID)
		if d.Status == pleat.DeliveryRunning {
			d.Attempts++ // it is counted when it ends
		}
		if err != nil || len(attempts) != d.Attempts {
			t.Errorf("%+v: %+v %v", d, attempts, err)
		}
	}
	// The last delivery may have been in flight when the program was killed.
	count[pleat.DeliverySucceeded] += count[pleat.DeliveryRunning]
	delete(count, pleat.DeliveryRunning)
	if diff := gocmp.Diff(map[pleat.DeliveryStatus]int{
		pleat.DeliverySucceeded: 10,
		pleat.DeliveryFailed:    1,
		pleat.DeliveryPending:   1,
	}, count); diff != "" {
		t.Error(diff)
	}
}

// tasks claims and finishes what was queued or running when version 1 ended.
func (v *upgraded) tasks(t *testing.T) {
	ctx := context.Background()
	v.clock.Advance(14 * 24 * time.Hour) // every lease has expired, every delay is over
	if r, err := v.s.Reap(ctx, v.s.Now()); err != nil || r.Requeued < 1 || r.Woken != 1 {
		t.Fatalf("%+v %v", r, err)
	}
	folds := claim(t, v.s, "w", 10)
	slices.SortFunc(folds, func(a, b store.ClaimedTask) int { return cmp.Compare(a.Fold.Name, b.Fold.Name) })
	var names []string
	for _, c := range folds {
		names = append(names, c.Fold.Name)
		if err := finish(v.s, c, pleat.StateCompleted); err != nil {
			t.Error(err)
		}
	}
	if diff := gocmp.Diff([]string{"queued", "queued too", "running"}, names); diff != "" {
		t.Error(diff)
	}
	md, err := v.s.Claim(ctx, "w", store.ClaimFilter{Queues: []string{"md/calvados"}, N: 10})
	if err != nil || len(md) != 1 || md[0].Workflow.Name != "queued" {
		t.Fatalf("%+v %v", md, err)
	}
	if err := finish(v.s, md[0], pleat.StateCompleted); err != nil {
		t.Error(err)
	}
	var sent []store.ClaimedDelivery
	for { // a claim may not reach every endpoint
		got := claimDeliveries(t, v.s, "d", 100)
		if len(got) == 0 {
			break
		}
		sent = append(sent, got...)
	}
	triedBefore := func(d store.ClaimedDelivery) bool { return d.Delivery.Attempts == 1 && d.Task.Attempt == 2 }
	if !slices.ContainsFunc(sent, triedBefore) {
		t.Errorf("the delivery to the busy receiver is not among %d", len(sent))
	}
	for _, d := range sent {
		finishDelivery(t, v.s, "d", store.DeliveryOutcome{Claimed: d, OK: true, Status: 200})
	}
	left, err := v.s.QueueCounts(ctx)
	if err != nil || len(left) != 0 {
		t.Errorf("%+v %v", left, err)
	}
}

// The databases that tests start from have the schema of this program, so that nothing is left to migrate, and no rows.
func TestMigratedDatabasesAreEmpty(t *testing.T) {
	for name, migrated := range storetest.Migrated() {
		t.Run(name, func(t *testing.T) {
			ctx, address := context.Background(), migrated(t)
			s, err := store.Open(ctx, address, store.Options{})
			if err != nil {
				t.Fatal(err)
			}
			v, err := s.Version(ctx)
			if err := cmp.Or(err, s.Close()); err != nil || v != store.Latest() {
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
