package store_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pleat"
	"pleat/internal/seal"
	"pleat/internal/store"
	"pleat/internal/store/db"
	"pleat/internal/store/people"
	"pleat/internal/store/runs"
	"pleat/internal/store/storetest"
	"pleat/internal/store/tasks"
)

// counted returns a function that fails the test unless the store has begun n transactions since. PostgreSQL's
// goroutines may have sent a wake-up meanwhile.
func counted(t *testing.T, s *store.Store) func(what string, n int64) {
	before := s.DB.Transactions()
	return func(what string, n int64) {
		t.Helper()
		got := s.DB.Transactions() - before
		if s.DB.Dialect() == "postgres" && got == n+1 {
			got = n
		}
		if got != n {
			t.Errorf("%s: %d transactions", what, got)
		}
	}
}

// poll polls and checks that it took one transaction.
func poll(t *testing.T, s *store.Store) runs.Polled {
	t.Helper()
	took := counted(t, s)
	p, err := s.Runs.Poll(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	took("a poll", 1)
	return p
}

// One query looks for the tasks of every queue that somebody of the process waits for, and for what the reaper does.
func TestPoll(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store, clock *storetest.Clock) {
		clock.Stop()
		if s.DB.Dialect() == "postgres" { // the listener wakes everybody when it begins
			storetest.Eventually(t, "the store listens", s.DB.Notified)
		}
		var quiet []<-chan struct{}
		for i := range 20 {
			news, end := s.DB.Subscribe(tasks.QueueTopic(fmt.Sprint("fold/other", i)))
			defer end()
			quiet = append(quiet, news)
		}
		deliveries, end := s.DB.Subscribe(tasks.DeliveryTopic)
		defer end()
		quiet = append(quiet, deliveries)
		idle := poll(t, s)
		if want := map[string]time.Duration{"sqlite": time.Second, "postgres": 5 * time.Second}[s.DB.Dialect()]; idle !=
			(runs.Polled{Next: want}) {
			t.Errorf("idle: %+v", idle)
		}
		owner := storetest.User(t, s, "ada")
		storetest.CreateJob(t, s, storetest.NewFold(owner, "fold"))
		news, end := s.DB.Subscribe(tasks.QueueTopic(storetest.FoldQueue)) // after the wake-up
		defer end()
		if p := poll(t, s); p.Reap || p.Next != time.Second || len(news) != 1 {
			t.Errorf("with a task: %+v, %d tokens", p, len(news))
		}
		for i, ch := range quiet {
			if len(ch) != 0 {
				t.Errorf("queue %d has no task, but got news", i)
			}
		}
		storetest.Claim(t, s, "w", storetest.FoldQueue)
		clock.Advance(pleat.LeaseDuration - 3*time.Second)
		if p := poll(t, s); p.Reap || p.Next > 3*time.Second+time.Millisecond {
			t.Errorf("before the lease ends: %+v", p)
		}
		clock.Advance(3 * time.Second)
		if p := poll(t, s); !p.Reap {
			t.Errorf("after the lease has ended: %+v", p)
		}
	})
}

// A task whose delay ends is looked at then.
func TestPollKnowsWhenAPauseEnds(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store, clock *storetest.Clock) {
		clock.Stop()
		owner := storetest.User(t, s, "ada")
		storetest.CreateJob(t, s, storetest.NewFold(owner, "fold"))
		c := storetest.Claim(t, s, "w", storetest.FoldQueue)
		if err := s.Runs.Release(t.Context(), tasks.LeaseOf(&c.Task), 2*time.Second, nil); err != nil {
			t.Fatal(err)
		}
		if p := poll(t, s); p.Reap || p.Next > 2*time.Second+time.Millisecond {
			t.Errorf("during the delay: %+v", p)
		}
		clock.Advance(2 * time.Second)
		p := poll(t, s)
		r, err := s.Runs.Reap(t.Context(), s.DB.Now())
		if !p.Reap || err != nil || r.Woken != 1 {
			t.Errorf("after the delay: %+v, %+v, %v", p, r, err)
		}
		if got := storetest.Claim(t, s, "w", storetest.FoldQueue); got.Task.Tries != 0 {
			t.Errorf("the release has spent %d tries", got.Task.Tries)
		}
	})
}

// A worker whose wake-up was lost hears of a cancelled task by polling, and so does no other worker.
func TestPollFindsCancelledTasks(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store, clock *storetest.Clock) {
		clock.Stop()
		if s.DB.Dialect() == "postgres" {
			storetest.Eventually(t, "the store listens", s.DB.Notified)
		}
		u := storetest.User(t, s, "ada")
		for range 2 {
			create(t, s, u, "fold")
		}
		got := claimFor(t, s, tasks.ClaimFilter{}, "a", "b")
		if _, err := s.Runs.Cancel(t.Context(), u, got[0].Fold.Job); err != nil {
			t.Fatal(err)
		}
		a, b := make(chan struct{}, 1), make(chan struct{}, 1)
		poll(t, s)
		s.DB.SubscribeTo(tasks.WorkerTopic("a"), a)
		s.DB.SubscribeTo(tasks.WorkerTopic("b"), b)
		if s.DB.Dialect() == "postgres" { // the wake-up of the cancel comes back from the database
			time.Sleep(200 * time.Millisecond)
			select {
			case <-a:
			default:
			}
		}
		if p := poll(t, s); p.Reap || len(a) != 1 || len(b) != 0 {
			t.Errorf("%+v, %d tokens, %d of another worker", p, len(a), len(b))
		}
	})
}

// A worker that is suspended in a transaction loses the locks on its tasks when their leases expire: another worker
// skips rows that are locked.
func TestSuspendedTransactionEnds(t *testing.T) {
	t.Parallel()
	s := storetest.OpenAt(t, storetest.MigratedPostgres(t), nil)
	setting := func(name string) (main, nowait string, err error) {
		read := func(dst *string) func(*db.Tx) error {
			return func(t *db.Tx) error { return t.Row("SELECT current_setting($1)", []any{name}, dst) }
		}
		if err := s.DB.Write(t.Context(), "read a setting", read(&main)); err != nil {
			return "", "", err
		}
		return main, nowait, s.DB.WriteAsync(t.Context(), "read a setting", read(&nowait))
	}
	main, nowait, err := setting("idle_in_transaction_session_timeout")
	if want := "15s"; main != want || nowait != want || err != nil {
		t.Errorf("%q and %q, %v; want %q", main, nowait, err, want)
	}
	main, nowait, err = setting("synchronous_commit")
	if main != "on" || nowait != "off" || err != nil {
		t.Errorf("synchronous_commit is %q and %q, %v", main, nowait, err)
	}
}

// A command that changes something and ends at once, as pleat keys revoke does, still tells the other processes.
func TestCloseSendsWakeUps(t *testing.T) {
	t.Parallel()
	address := storetest.MigratedPostgres(t)
	listening := storetest.OpenAt(t, address, nil)
	storetest.Eventually(t, "the store listens", listening.DB.Notified)
	owner := storetest.User(t, listening, "ada")
	for i := range 10 {
		key, err := listening.People.CreateKey(t.Context(), people.Actor{Reach: owner}, people.NewKey{
			Prefix: "p", Hash: seal.HashKey(fmt.Sprint(i)),
		})
		if err != nil {
			t.Fatal(err)
		}
		news, end := listening.DB.Subscribe(people.KeyTopic(key.ID))
		defer end()
		command, err := store.Open(context.Background(), address, store.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if err := command.People.RevokeKey(t.Context(), people.Actor{Reach: owner}, key.ID); err != nil {
			t.Fatal(err)
		}
		if err := command.DB.Close(); err != nil {
			t.Fatal(err)
		}
		select {
		case <-news:
		case <-time.After(time.Minute):
			t.Fatalf("the wake-up of revocation %d was lost", i)
		}
	}
}

// One query tells of many credentials which are valid.
func TestValidCredentials(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store, clock *storetest.Clock) {
		ctx := t.Context()
		owner := storetest.User(t, s, "ada")
		key := func(hash string, ends time.Time) people.Key {
			k, err := s.People.CreateKey(ctx, people.Actor{Reach: owner},
				people.NewKey{Prefix: "p", Hash: hash, ExpiresAt: ends})
			if err != nil {
				t.Fatal(err)
			}
			return k
		}
		session := func(k people.Key, hash string, ends time.Time) {
			if _, err := s.People.CreateSession(ctx, people.Actor{Reach: owner, Key: k.ID}, hash, ends); err != nil {
				t.Fatal(err)
			}
		}
		later := s.DB.Now().Add(24 * time.Hour)
		valid, revoked := key("valid", time.Time{}), key("revoked", time.Time{})
		key("expired", s.DB.Now().Add(time.Hour))
		session(valid, "session", later)
		session(valid, "short", s.DB.Now().Add(time.Hour))
		session(revoked, "of a revoked key", later)
		if err := s.People.RevokeKey(ctx, people.Actor{Reach: owner}, revoked.ID); err != nil {
			t.Fatal(err)
		}
		clock.Advance(2 * time.Hour)
		took := counted(t, s)
		got, err := s.People.ValidCredentials(ctx, []string{"valid", "revoked", "expired", "session", "invented"},
			[]string{"session", "short", "of a revoked key", "valid"}, nil)
		if err != nil {
			t.Fatal(err)
		}
		took("four keys and sessions", 2)
		if len(got) != 2 || !got["valid"] || !got["session"] {
			t.Errorf("%v", got)
		}
	})
}

// Ended runs are counted by state, engine and reason, in the process that ended them.
func TestEndedRunsAreCounted(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store, _ *storetest.Clock) {
		owner := storetest.User(t, s, "ada")
		storetest.CompleteFold(t, s, storetest.NewFold(owner, "one"))
		c := storetest.CreateJob(t, s, storetest.NewFold(owner, "two"))
		if _, err := s.Runs.Cancel(t.Context(), owner, c.Job); err != nil {
			t.Fatal(err)
		}
		want := map[string]float64{"stopped none cancelled": 1, "completed null ": 1}
		if d := cmp.Diff(want, storetest.RunsEnded(t, s)); d != "" {
			t.Errorf("(-want +got):\n%s", d)
		}
	})
}
