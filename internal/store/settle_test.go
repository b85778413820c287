package store_test

import (
	"context"
	"math"
	"slices"
	"strconv"
	"testing"
	"time"

	"pleat"
	"pleat/internal/store"
	"pleat/internal/store/db"
	"pleat/internal/store/people"
	"pleat/internal/store/storetest"
	"pleat/internal/store/tasks"
	"pleat/internal/store/webhooks"
)

// aheadBy is how far the clock was ahead before it was set back.
const aheadBy = 10 * 365 * 24 * time.Hour

// A delivery that failed while the clock was years ahead is tried again after its delay, and its endpoint, which was
// paused then, is asked about.
func TestDeliveryOfAClockAhead(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store, clock *storetest.Clock) {
		ctx := context.Background()
		clock.Stop()
		clock.Advance(aheadBy)
		owner := storetest.User(t, s, "u0")
		pauseEndpoint(t, s)
		clock.Advance(-aheadBy)
		for range 2 { // the second time there is nothing to bring back
			if err := s.Runs.SettleTimes(ctx); err != nil {
				t.Fatal(err)
			}
			clock.Advance(31 * time.Second)
		}
		if got := deliveries(t, s, owner, webhooks.DeliveryFilter{})[0]; got.NextAt.After(s.DB.Now()) {
			t.Errorf("the next attempt is at %v, now it is %v", got.NextAt, s.DB.Now())
		}
		if _, err := s.Runs.Reap(ctx, time.Time{}); err != nil {
			t.Fatal(err)
		}
		asked := false
		limits := limitN(1)
		limits.Decide = func(webhooks.WaitingEndpoint, time.Time) webhooks.ClaimLimit {
			asked = true
			return webhooks.ClaimLimit{N: 1, Window: 1, Health: "rests"}
		}
		if got, err := s.Webhooks.ClaimDeliveries(ctx, "w", "", 1, limits); err != nil || len(got.List) != 1 || !asked {
			t.Errorf("%d deliveries are claimed, %v", len(got.List), err)
		}
	})
}

// pauseEndpoint makes a delivery to a new endpoint fail, which pauses the endpoint for as long as one can be paused.
func pauseEndpoint(t *testing.T, s *store.Store) {
	t.Helper()
	queueDeliveries(t, s, 1, 1)
	d := claimDeliveries(t, s, "w", 1)[0]
	failed := webhooks.DeliveryOutcome{Claimed: d, Status: 500, NextAt: s.DB.Now().Add(time.Minute)}
	err := s.Webhooks.FinishDeliveries(t.Context(), "w", []webhooks.DeliveryOutcome{failed},
		func(_ webhooks.Endpoint, _ []webhooks.DeliveryOutcome, now time.Time) webhooks.EndpointUpdate {
			return webhooks.EndpointUpdate{Health: "rests", RetryAt: now.Add(pleat.MaxDeliveryPause)}
		})
	if err != nil {
		t.Fatal(err)
	}
}

// Where the clock was not ahead, nothing is written: the pause of an endpoint that was paused just now is left alone,
// as are a delivery, a run and a session. Of an endpoint that was paused by a clock ahead it is over.
func TestPausesWithoutAClockAhead(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store, clock *storetest.Clock) {
		ctx := context.Background()
		clock.Stop()
		u := storetest.User(t, s, "u0")
		pauseEndpoint(t, s)
		create(t, s, u, "runs")
		claim(t, s, "w", 1)
		until := s.DB.Now().Add(pleat.MaxDeliveryPause)
		for _, c := range []struct {
			back         time.Duration
			want         time.Time
			transactions int64 // of which the first one reads
		}{{0, until, 1}, {aheadBy, until.Add(-aheadBy).Add(-pleat.MaxDeliveryPause), 2}} {
			clock.Advance(-c.back)
			before := s.DB.Transactions()
			if err := s.Runs.SettleTimes(ctx); err != nil {
				t.Fatal(err)
			}
			n := s.DB.Transactions() - before
			if !s.DB.Postgres() && n != c.transactions { // others of PostgreSQL read its clock, and notify
				t.Errorf("set back by %v: %d transactions", c.back, n)
			}
			got := storetest.Query(t, s, "SELECT resume_at FROM endpoint")
			want := [][]string{{strconv.FormatInt(c.want.UnixMicro(), 10)}}
			if !slices.EqualFunc(got, want, slices.Equal) {
				t.Errorf("set back by %v: the pause ends at %v, not at %v", c.back, got, want)
			}
		}
	})
}

// A run that failed while the clock was ahead is tried again after its delay, and a lease of then ends soon.
func TestTasksOfAClockAhead(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store, clock *storetest.Clock) {
		ctx := context.Background()
		clock.Stop()
		clock.Advance(aheadBy)
		u := storetest.User(t, s, "ada")
		create(t, s, u, "fails")
		create(t, s, u, "runs")
		got := claim(t, s, "w", 2)
		f := outcome(pleat.StateFailed)
		f.Failure = &pleat.Failure{Kind: pleat.FailStorage, Message: "full", Retry: true}
		if err := s.Runs.FinishRun(ctx, tasks.LeaseOf(&got[0].Task), f); err != nil {
			t.Fatal(err)
		}
		clock.Advance(-aheadBy)
		if err := s.Runs.SettleTimes(ctx); err != nil {
			t.Fatal(err)
		}
		clock.Advance(time.Minute)
		r, err := s.Runs.Reap(ctx, s.DB.Now())
		if err != nil || r.Woken != 1 || r.Requeued != 1 {
			t.Errorf("%+v, %v", r, err)
		}
	})
}

// A run during which the clock was set has taken what its worker measured, for its owner and for the accounting, and
// never less than nothing.
func TestRunsWhileTheClockIsSet(t *testing.T) {
	t.Parallel()
	for _, jump := range []time.Duration{-time.Hour, 24 * time.Hour} {
		storetest.Each(t, func(t *testing.T, s *store.Store, clock *storetest.Clock) {
			ctx := context.Background()
			clock.Stop()
			ada, _ := lab(t, s)
			for _, took := range []time.Duration{0, 18 * time.Second} {
				c := create(t, s, ada, "fold")
				got := claim(t, s, "w", 1)[0]
				clock.Advance(18*time.Second + jump)
				f := outcome(pleat.StateCompleted)
				f.Took = took
				if err := s.Runs.FinishRun(ctx, tasks.LeaseOf(&got.Task), f); err != nil {
					t.Fatal(err)
				}
				v := storetest.AwaitJob(t, s, c.Job, pleat.StateCompleted)
				want := took.Seconds()
				if took == 0 {
					want = max(0, (18*time.Second + jump).Seconds())
				}
				if sec := v.Run.Seconds(); math.Abs(sec-want) > 1e-3 {
					t.Errorf("jump %v, measured %v: %v s; want %v s", jump, took, sec, want)
				}
			}
		})
	}
}

// Links and logins of a clock that was years ahead end as soon as others, and the issuer is asked about the logins.
func TestLinksOfAClockAhead(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store, clock *storetest.Clock) {
		ctx := context.Background()
		clock.Stop()
		u := storetest.User(t, s, "ada")
		clock.Advance(aheadBy)
		job := create(t, s, u, "shared")
		by := people.Actor{Reach: people.Reach{User: u.User, Project: u.Project}}
		day := s.DB.Now().Add(24 * time.Hour)
		if _, err := s.People.CreateShare(ctx, by, pleat.Source{Job: job.Job}, "hash", day); err != nil {
			t.Fatal(err)
		}
		err := s.DB.Write(ctx, "sign in", func(t *db.Tx) error {
			_, err := t.Exec(`
				INSERT INTO login
					(hash, kind, account_id, tokens, check_at, checking_until, refusals, expires_at, created_at)
				VALUES ('h', 'session', $1, '', $2, 0, 0, $2, $3)`, u.User, db.ToMicros(day), t.Now)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		clock.Advance(-aheadBy)
		for range 2 {
			if err := s.Runs.SettleTimes(ctx); err != nil {
				t.Fatal(err)
			}
		}
		day = day.Add(-aheadBy)
		want := [][]string{{micros(day)}}
		for _, table := range []string{"share", "login"} {
			got := storetest.Query(t, s, "SELECT expires_at FROM "+table)
			if !slices.EqualFunc(got, want, slices.Equal) {
				t.Errorf("the %s ends at %v, not at %v", table, got, want)
			}
		}
		now := [][]string{{micros(s.DB.Now())}}
		if got := storetest.Query(t, s, "SELECT check_at FROM login"); !slices.EqualFunc(got, now, slices.Equal) {
			t.Errorf("the login is checked at %v, not at %v", got, now)
		}
	})
}

func micros(t time.Time) string { return strconv.FormatInt(t.UnixMicro(), 10) }
