package store_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"pleat"
	"pleat/internal/store"
	"pleat/internal/store/ops"
	"pleat/internal/store/people"
	"pleat/internal/store/runs"
	"pleat/internal/store/storetest"
	"pleat/internal/store/tasks"
	"pleat/internal/store/workers"
)

const nullSearch = "search/null"

// inQueue creates a job that waits in a queue.
func inQueue(t *testing.T, s *store.Store, by people.Reach, queue, name string) runs.Created {
	t.Helper()
	n := storetest.NewFold(by, name)
	n.Run.Queue = queue
	return storetest.CreateJob(t, s, n)
}

// anOperator makes a user an operator and returns the user as an actor.
func anOperator(t *testing.T, s *store.Store, name string) people.Actor {
	t.Helper()
	u := storetest.User(t, s, name)
	if err := s.People.SetOperator(t.Context(), people.Actor{Database: true}, name, true); err != nil {
		t.Fatal(err)
	}
	return people.Actor{Reach: people.Reach{User: u.User}, Address: "192.0.2.1"}
}

// pause pauses a model.
func pause(t *testing.T, s *store.Store, by people.Actor, model, reason string) workers.ModelPause {
	t.Helper()
	p, err := s.Workers.PauseModel(t.Context(), by, model, reason)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// names are the names of claimed folds.
func names(list []runs.ClaimedTask) []string {
	out := []string{}
	for i := range list {
		out = append(out, list[i].Fold.Name)
	}
	return out
}

// The tasks of a paused model are not claimed by anyone, whatever the process; those of another model of the same
// worker are, in their fair order. Tasks that were claimed before go on.
func TestPausedModel(t *testing.T) {
	t.Parallel()
	eachAddress(t, func(t *testing.T, s *store.Store, address string) {
		ctx := t.Context()
		op := anOperator(t, s, "olga")
		ada, bob := storetest.User(t, s, "ada"), storetest.User(t, s, "bob")
		register(t, s, "w", "null", "other")
		const other = "fold/other"
		queues := []string{storetest.FoldQueue, nullSearch, other}
		inQueue(t, s, ada, storetest.FoldQueue, "running")
		running := claim(t, s, "w", 1)[0]
		inQueue(t, s, ada, nullSearch, "searches")
		inQueue(t, s, ada, storetest.FoldQueue, "waits")
		for i := range 2 {
			inQueue(t, s, ada, other, fmt.Sprint("ada", i))
		}
		inQueue(t, s, bob, other, "bob0")
		p := pause(t, s, op, "null", " the weights are wrong ")
		want := workers.ModelPause{Model: "null", Reason: "the weights are wrong", By: op.User, ByName: "olga"}
		if d := cmp.Diff(want, p, cmpopts.IgnoreFields(workers.ModelPause{}, "Since")); d != "" || p.Since.IsZero() {
			t.Error(p, d)
		}
		node := storetest.OpenAt(t, address, nil) // another process
		one, err := node.Runs.Claim(ctx, "w2", tasks.ClaimFilter{Queues: queues, N: 2})
		if err != nil {
			t.Fatal(err)
		}
		many, err := s.Runs.ClaimFor(ctx, []pleat.WorkerID{"a", "b", "c"}, tasks.ClaimFilter{Queues: queues})
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff([]string{"ada0", "bob0", "ada1"}, append(names(one), names(many)...)); d != "" {
			t.Error(d)
		}
		if err := finish(s, running, pleat.StateCompleted); err != nil {
			t.Error(err)
		}
		news, end := s.DB.Subscribe(tasks.QueueTopic(nullSearch))
		defer end()
		for range len(news) { // the listener wakes everybody when it begins
			<-news
		}
		if err := s.Workers.ResumeModel(ctx, op, "null"); err != nil {
			t.Fatal(err)
		}
		<-news
		many, err = node.Runs.ClaimFor(ctx, []pleat.WorkerID{"a", "b", "c"}, tasks.ClaimFilter{Queues: queues})
		if d := cmp.Diff([]string{"waits", "searches"}, names(many)); d != "" {
			t.Error(d, err)
		}
	})
}

// The second pause replaces the reason, and keeps since when. Each change is in the audit log, and what changes nothing
// is not.
func TestPauseTwice(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store, clock *storetest.Clock) {
		clock.Stop()
		ctx := t.Context()
		op, next := anOperator(t, s, "olga"), anOperator(t, s, "otto")
		register(t, s, "w", "null")
		first := pause(t, s, op, "null", "one")
		clock.Advance(time.Minute)
		second := pause(t, s, next, "null", "two")
		pause(t, s, op, "null", "two")
		if !second.Since.Equal(first.Since) || second.Reason != "two" || second.ByName != "otto" {
			t.Errorf("%+v after %+v", second, first)
		}
		for range 2 {
			if err := s.Workers.ResumeModel(ctx, op, "null"); err != nil {
				t.Fatal(err)
			}
		}
		if list, err := s.Workers.PausedModels(ctx); len(list) != 0 || err != nil {
			t.Errorf("%+v %v", list, err)
		}
		log, err := s.People.Audit(ctx, people.Reach{}, "", 10)
		if err != nil {
			t.Fatal(err)
		}
		got := []string{}
		for _, e := range log[:3] {
			got = append(got, fmt.Sprint(e.UserName, " ", e.Action, " ", e.Subject, " ", e.Detail))
		}
		want := []string{"olga model.resumed null ", "otto model.paused null two", "olga model.paused null one"}
		if d := cmp.Diff(want, got); d != "" || len(log) != 5 {
			t.Error(d, len(log))
		}
	})
}

func TestPauseRefusals(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store, _ *storetest.Clock) {
		ctx := t.Context()
		op := anOperator(t, s, "olga")
		nobody := people.Actor{Reach: people.Reach{User: storetest.User(t, s, "ada").User}}
		register(t, s, "w", "null")
		for _, c := range []struct {
			by            people.Actor
			model, reason string
			want          pleat.Code
		}{
			{op, "nul", "", pleat.CodeNotFound},
			{op, "null", strings.Repeat("é", workers.MaxPauseReason+1), pleat.CodeInvalid},
			{op, "null", "a\nb", pleat.CodeInvalid},
			{nobody, "null", "", pleat.CodeForbidden},
		} {
			if _, err := s.Workers.PauseModel(ctx, c.by, c.model, c.reason); pleat.CodeOf(err) != c.want {
				t.Errorf("%q %q: %v", c.model, c.reason, err)
			}
		}
		if err := s.Workers.ResumeModel(ctx, op, "nul"); pleat.CodeOf(err) != pleat.CodeNotFound {
			t.Error(err)
		}
		if err := s.Workers.ResumeModel(ctx, nobody, "null"); pleat.CodeOf(err) != pleat.CodeForbidden {
			t.Error(err)
		}
		pause(t, s, op, "null", strings.Repeat("é", workers.MaxPauseReason))
	})
}

// Nobody works for the tasks of a paused model: the fleet starts no workers, no worker ends to make room for them, no
// simulation yields to them, and no poll finds them. A caller that waits is notified.
func TestNobodyWorksForAPausedModel(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store, clock *storetest.Clock) {
		clock.Stop()
		ctx := t.Context()
		if s.DB.Dialect() == "postgres" {
			storetest.Eventually(t, "the store listens", s.DB.Notified)
		}
		op := anOperator(t, s, "olga")
		ada, bob := storetest.User(t, s, "ada"), storetest.User(t, s, "bob")
		setClasses(t, s, foldClass("gpu"))
		run := create(t, s, ada, "a").Run
		running := claim(t, s, "w", 1)[0]
		created := create(t, s, bob, "b")
		slots := runs.Slots{Queues: []string{storetest.FoldQueue}}
		own := tasks.ClaimFilter{Queues: slots.Queues, N: 1, Owner: ada.Project}
		fresh := tasks.ClaimFilter{Queues: slots.Queues, N: 1}
		news, end := s.DB.Subscribe(tasks.QueueTopic(storetest.FoldQueue))
		defer end()
		type seen struct{ wanted, fresh, yields, polled, told bool }
		look := func() seen {
			t.Helper()
			needs, err := s.Runs.NeedsFreshWorker(ctx, own, fresh)
			if err != nil {
				t.Fatal(err)
			}
			yields, err := s.Runs.OthersWait(ctx, &running.Task, slots)
			if err != nil {
				t.Fatal(err)
			}
			for range len(news) {
				<-news
			}
			poll(t, s)
			w, err := s.Runs.WaitingTask(ctx, created.Run)
			if err != nil {
				t.Fatal(err)
			}
			return seen{demand(t, s, "gpu").Wanted > 0, needs, yields, len(news) > 0, w.Paused != nil}
		}
		if got := look(); got != (seen{wanted: true, fresh: true, yields: true, polled: true}) {
			t.Errorf("before: %+v", got)
		}
		pause(t, s, op, "null", "")
		var got seen
		// On PostgreSQL the news of the jobs come back, once and late.
		storetest.Eventually(t, "nobody works for a paused model", func() bool {
			got = look()
			return !got.polled
		})
		if got != (seen{told: true}) {
			t.Errorf("paused: %+v", got)
		}
		if w, err := s.Runs.WaitingTask(ctx, run); w != nil || err != nil {
			t.Errorf("a run that runs: %+v %v", w, err)
		}
	})
}

// A pause costs a claim no round trip.
func TestPauseCostsNoRoundTrip(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store, _ *storetest.Clock) {
		op := anOperator(t, s, "olga")
		register(t, s, "w", "null")
		pause(t, s, op, "null", "")
		before := s.DB.RoundTrips()
		_, err := s.Runs.Claim(
			t.Context(),
			"w",
			tasks.ClaimFilter{Queues: []string{storetest.FoldQueue, "other"}, N: 8},
		)
		if n := s.DB.RoundTrips() - before; n > 1 || err != nil {
			t.Errorf("%d round trips, %v", n, err)
		}
	})
}

// An operator asks a worker to drain once. One that has ended, and one that is not known, are refused.
func TestOrderDrain(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store, _ *storetest.Clock) {
		ctx := t.Context()
		op := anOperator(t, s, "olga")
		nobody := people.Actor{Reach: people.Reach{User: storetest.User(t, s, "ada").User}}
		register(t, s, "w", "null")
		register(t, s, "ended", "null")
		if err := s.Workers.StopWorker(ctx, "ended"); err != nil {
			t.Fatal(err)
		}
		if err := s.Workers.OrderDrain(ctx, nobody, "w"); pleat.CodeOf(err) != pleat.CodeForbidden {
			t.Error(err)
		}
		if err := s.Workers.OrderDrain(ctx, op, "x"); pleat.CodeOf(err) != pleat.CodeNotFound {
			t.Error(err)
		}
		if err := s.Workers.OrderDrain(ctx, op, "ended"); pleat.CodeOf(err) != pleat.CodeConflict {
			t.Error(err)
		}
		news, end := s.DB.Subscribe(tasks.WorkerTopic("w"))
		defer end()
		for range 2 {
			if err := s.Workers.OrderDrain(ctx, op, "w"); err != nil {
				t.Fatal(err)
			}
		}
		<-news
		if drain, err := s.Workers.TouchWorker(ctx, "w"); !drain || err != nil {
			t.Error(drain, err)
		}
		log, err := s.People.Audit(ctx, people.Reach{User: op.User}, "", 10)
		n := 0
		for _, e := range log {
			if e.Action == people.AuditWorkerDrained && e.Subject == "w" && e.Detail == "test" {
				n++
			}
		}
		if n != 1 || err != nil {
			t.Errorf("%+v %v", log, err)
		}
	})
}

// The overview names the runs that take longest compared with what was expected, and counts by model.
func TestOverview(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store, clock *storetest.Clock) {
		clock.Stop()
		ctx := t.Context()
		u := storetest.User(t, s, "ada")
		if _, err := s.People.CreateProject(ctx, people.Actor{Database: true}, "Lab", "ada"); err != nil {
			t.Fatal(err)
		}
		register(t, s, "w", "null")
		for _, expected := range []time.Duration{time.Hour, time.Second, 0} {
			n := storetest.NewFold(u, fmt.Sprint(expected))
			n.Run.Expected = expected
			storetest.CreateJob(t, s, n)
		}
		tasks := claim(t, s, "w", 3)
		inQueue(t, s, u, nullSearch, "searches")
		oldest := s.DB.Now()
		clock.Advance(time.Minute)
		inQueue(t, s, u, storetest.FoldQueue, "waits")
		got, err := s.Ops.Overview(ctx)
		if err != nil {
			t.Fatal(err)
		}
		want := []ops.ModelQueue{{Model: "null", Waiting: 2, Running: 3, Oldest: oldest}}
		if d := cmp.Diff(want, got.Models); d != "" || got.Users != 1 || got.Projects != 1 {
			t.Error(d, got.Users, got.Projects)
		}
		type slow struct {
			Run      pleat.RunID
			Expected time.Duration
		}
		var slowest []slow
		for i := range got.Slowest {
			r := &got.Slowest[i]
			slowest = append(slowest, slow{r.Run, r.Expected})
			if r.Worker != "w" || r.Class != pleat.DefaultClass || r.Project != u.Project || r.Owner != "ada" {
				t.Errorf("%+v", r)
			}
		}
		byName := map[string]pleat.RunID{}
		for i := range tasks {
			byName[tasks[i].Fold.Name] = tasks[i].Task.Run
		}
		order := []slow{{byName["1s"], time.Second}, {byName["0s"], 0}, {byName["1h0m0s"], time.Hour}}
		if d := cmp.Diff(order, slowest); d != "" {
			t.Error(d)
		}
		held, err := s.Workers.TasksHeld(ctx)
		if d := cmp.Diff(map[pleat.WorkerID]int{"w": 3}, held); d != "" || err != nil {
			t.Error(d, err)
		}
	})
}

// The users are listed in pages, with when each was seen last.
func TestUsersPage(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store, clock *storetest.Clock) {
		ctx := t.Context()
		for _, name := range []string{"ada", "bob", "cleo"} {
			storetest.User(t, s, name)
			clock.Advance(time.Millisecond)
		}
		u := storetest.User(t, s, "ada")
		newKey(t, s, u, "k")
		first, err := s.Ops.UsersPage(ctx, "", 2)
		if err != nil || len(first) != 2 || first[0].Name != "cleo" || !first[0].SeenAt.IsZero() {
			t.Fatalf("%+v %v", first, err)
		}
		rest, err := s.Ops.UsersPage(ctx, first[1].ID, 2)
		if err != nil || len(rest) != 1 || rest[0].Name != "ada" {
			t.Fatalf("%+v %v", rest, err)
		}
	})
}

// Only operators say who is one, and disable and delete users; and nobody disables themselves.
func TestOperatorsAlone(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store, _ *storetest.Clock) {
		ctx := t.Context()
		op := anOperator(t, s, "olga")
		ada := storetest.User(t, s, "ada")
		nobody := people.Actor{Reach: ada}
		for what, err := range map[string]error{
			"operator": s.People.SetOperator(ctx, nobody, "ada", true),
			"disable":  second(s.People.SetDisabled(ctx, nobody, "olga", true)),
			"delete":   second(s.Ops.EraseUser(ctx, nobody, "olga")),
			"zero":     s.People.SetOperator(ctx, people.Actor{}, "ada", true),
		} {
			if pleat.CodeOf(err) != pleat.CodeForbidden {
				t.Errorf("%s: %v", what, err)
			}
		}
		if _, err := s.People.SetDisabled(ctx, op, string(op.User), true); pleat.CodeOf(err) != pleat.CodeConflict {
			t.Error(err)
		}
		u, err := s.People.SetDisabled(ctx, op, string(ada.User), true)
		if err != nil || u.Name != "ada" || u.DisabledAt.IsZero() {
			t.Errorf("%+v %v", u, err)
		}
		if u, err = s.People.SetDisabled(ctx, op, "ada", false); err != nil || !u.DisabledAt.IsZero() {
			t.Errorf("%+v %v", u, err)
		}
	})
}

func second[T any](_ T, err error) error { return err }

// An export has what was recorded between two times, in pages.
func TestAuditBetween(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store, _ *storetest.Clock) {
		ctx := t.Context()
		op := anOperator(t, s, "olga")
		register(t, s, "w", "null")
		var times []time.Time
		for i := range 4 {
			for began := time.Now().UnixMilli(); time.Now().UnixMilli() == began; { // ids have milliseconds
			}
			times = append(times, time.Now())
			pause(t, s, op, "null", fmt.Sprint(i))
		}
		page, err := s.People.AuditBetween(ctx, times[1], times[3], "", 1)
		if err != nil || len(page) != 1 || page[0].Detail != "2" {
			t.Fatalf("%+v %v", page, err)
		}
		page, err = s.People.AuditBetween(ctx, times[1], times[3], page[0].ID, 9)
		if err != nil || len(page) != 1 || page[0].Detail != "1" {
			t.Fatalf("%+v %v", page, err)
		}
		if fits, err := s.People.AuditFits(ctx, times[0], times[3]); !fits || err != nil {
			t.Error(fits, err)
		}
	})
}

// A claim beside a paused model finds its tasks by the index of the queue, as before.
func TestClaimReadsPausesByIndex(t *testing.T) {
	t.Parallel()
	db := storetest.OpenForPlans(t)
	storetest.CheckPostgresPlan(t, db, `
		SELECT id FROM task
		WHERE state = 'queued' AND queue = $1 AND `+tasks.NotPaused("$1")+`
		ORDER BY position, id
		LIMIT 8
		FOR UPDATE SKIP LOCKED`, storetest.FoldQueue)
}
