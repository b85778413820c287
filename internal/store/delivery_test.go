package store_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"pleat"
	"pleat/internal/store"
	"pleat/internal/store/people"
	"pleat/internal/store/runs"
	"pleat/internal/store/storetest"
	"pleat/internal/store/tasks"
	"pleat/internal/store/webhooks"
)

// defaultEndpoint gives a user a default endpoint.
func defaultEndpoint(t *testing.T, s *store.Store, owner people.Reach, byDefault bool) webhooks.Endpoint {
	t.Helper()
	e, err := s.Webhooks.PutEndpoint(context.Background(), people.Actor{Reach: owner}, webhooks.EndpointSettings{
		Address:          new(storetest.Receiver("https://hooks.example.org/x")),
		Token:            new("s1.token"),
		Secret:           "s1.secret",
		EnabledByDefault: &byDefault,
	})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// toEndpoint is a subscription of a run to an endpoint.
func toEndpoint(e webhooks.Endpoint) pleat.Subscription {
	return pleat.Subscription{
		Destination: pleat.DestCustom,
		Alias:       "custom_http",
		TargetType:  "custom_http",
		Endpoint:    e.ID,
	}
}

// A subscription of the default endpoint is for the one that its owner has enabled by default when the run is stored,
// if there is one.
func TestDefaultEndpointOfARun(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store, _ *storetest.Clock) {
		ada, ben, eve := storetest.User(t, s, "ada"), storetest.User(t, s, "ben"), storetest.User(t, s, "eve")
		byDefault := pleat.Subscription{Destination: pleat.DestCustom, Alias: "custom_http", Default: true}
		on := defaultEndpoint(t, s, ada, true)
		defaultEndpoint(t, s, ben, false)
		for _, u := range []people.Reach{ada, ben, eve} {
			fold(t, s, u, pleat.StateCompleted, byDefault)
		}
		defaultEndpoint(t, s, ada, false)
		fold(t, s, ada, pleat.StateCompleted, byDefault)
		got := claimDeliveries(t, s, "c", 10)
		if len(got) != 1 || got[0].Event.Owner != ada.Project || got[0].Endpoint.ID != on.ID {
			t.Errorf("%d deliveries; one run has a default endpoint: %+v", len(got), got)
		}
	})
}

// fold makes a job with subscriptions and ends its run.
func fold(t *testing.T, s *store.Store, owner people.Reach, end pleat.State, subs ...pleat.Subscription) runs.Created {
	t.Helper()
	n := newJob(owner, "fold")
	n.Subs = subs
	c, err := s.Runs.CreateJob(context.Background(), n)
	if err != nil {
		t.Fatal(err)
	}
	got := claim(t, s, "w1", 1)
	if len(got) != 1 {
		t.Fatalf("claimed %d", len(got))
	}
	if err := finish(s, got[0], end); err != nil {
		t.Fatal(err)
	}
	return c
}

// limitN lets n deliveries per endpoint go at once.
func limitN(n int) webhooks.DeliveryLimits {
	decide := func(e webhooks.WaitingEndpoint, _ time.Time) webhooks.ClaimLimit {
		return webhooks.ClaimLimit{N: n, Window: n, Health: e.Health}
	}
	return webhooks.DeliveryLimits{Window: n, Owner: 1000, Decide: decide}
}

func claimDeliveries(t *testing.T, s *store.Store, w pleat.WorkerID, most int) []webhooks.ClaimedDelivery {
	t.Helper()
	got, err := s.Webhooks.ClaimDeliveries(context.Background(), w, "", most, limitN(1000))
	if err != nil {
		t.Fatal(err)
	}
	return got.List
}

func noUpdate(e webhooks.Endpoint, _ []webhooks.DeliveryOutcome, _ time.Time) webhooks.EndpointUpdate {
	return webhooks.EndpointUpdate{Health: e.Health, RetryAt: e.ResumeAt}
}

func finishDelivery(t *testing.T, s *store.Store, w pleat.WorkerID, d ...webhooks.DeliveryOutcome) {
	t.Helper()
	if err := s.Webhooks.FinishDeliveries(context.Background(), w, d, noUpdate); err != nil {
		t.Fatal(err)
	}
}

func deliveries(t *testing.T, s *store.Store, owner people.Reach, f webhooks.DeliveryFilter) []webhooks.Delivery {
	t.Helper()
	if f.Limit == 0 {
		f.Limit = 1000
	}
	out, err := s.Webhooks.Deliveries(context.Background(), owner, f)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestEventAndDeliveryAreWrittenWithTheEnd(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store, _ *storetest.Clock) {
		ctx := context.Background()
		u := storetest.User(t, s, "ada")
		e := defaultEndpoint(t, s, u, true)
		qna := pleat.Subscription{
			Destination: pleat.DestQnA,
			Alias:       "evolla",
			TargetType:  "evolla_v1",
			Settings:    json.RawMessage(`{"enabled":true}`),
		}
		c := fold(t, s, u, pleat.StateCompleted, toEndpoint(e), qna)
		list := deliveries(t, s, u, webhooks.DeliveryFilter{})
		if len(list) != 2 {
			t.Fatalf("%d deliveries", len(list))
		}
		for _, d := range list {
			if d.Status != "PENDING" || d.Source.Job != c.Job || d.Run != c.Run ||
				d.EventName != pleat.OnComplete || d.Attempts != 0 {
				t.Errorf("%+v", d)
			}
		}
		if n := storetest.Count(t, s, "event"); n != 1 {
			t.Errorf("%d events", n)
		}
		// A custom endpoint hears of every end, a follow-up starts on completion alone.
		fold(t, s, u, pleat.StateFailed, toEndpoint(e), qna)
		list = deliveries(t, s, u, webhooks.DeliveryFilter{})
		if len(list) != 3 || list[0].EventName != pleat.OnFailed || list[0].Destination != pleat.DestCustom {
			t.Errorf("%+v", list)
		}
		subs, err := s.Webhooks.Subscriptions(ctx, u, "", 200)
		if err != nil || len(subs) != 4 || subs[3].Source.Job != c.Job || subs[3].Run != c.Run {
			t.Errorf("%+v %v", subs, err)
		}
		// Nothing of this is anybody else's.
		bob := storetest.User(t, s, "bob")
		if got := deliveries(t, s, bob, webhooks.DeliveryFilter{}); len(got) != 0 {
			t.Errorf("bob sees %+v", got)
		}
		if _, _, err := s.Webhooks.Delivery(ctx, bob, list[0].ID); !errors.Is(err, webhooks.ErrNoDelivery) {
			t.Errorf("bob reads one: %v", err)
		}
		if err := s.Webhooks.Redeliver(ctx, bob, list[0].ID); !errors.Is(err, webhooks.ErrNoDelivery) {
			t.Errorf("bob redelivers one: %v", err)
		}
	})
}

func TestDeliveryLife(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store, clock *storetest.Clock) {
		ctx := context.Background()
		u := storetest.User(t, s, "ada")
		e := defaultEndpoint(t, s, u, false)
		fold(t, s, u, pleat.StateCompleted, toEndpoint(e))
		got := claimDeliveries(t, s, "c1", 10)
		if len(got) != 1 {
			t.Fatalf("claimed %d deliveries", len(got))
		}
		id := got[0].Delivery.ID
		type claimed struct {
			Attempt, MaxTries int
			Address           pleat.Address
			End               pleat.State
		}
		first := got[0]
		if diff := cmp.Diff(
			claimed{Attempt: 1, MaxTries: webhooks.DeliveryTries, Address: e.Address, End: pleat.StateCompleted},
			claimed{first.Task.Attempt, first.Task.MaxTries, first.Endpoint.Address, first.Event.Status}); diff != "" {
			t.Error(diff)
		}
		if first.Event.At.IsZero() {
			t.Error("the event has no time")
		}
		if d, tries, err := s.Webhooks.Delivery(ctx, u, id); err != nil || d.Status != "RUNNING" || len(tries) != 1 ||
			!tries[0].EndedAt.IsZero() {
			t.Fatalf("%+v %+v %v", d, tries, err)
		}
		if n := len(deliveries(t, s, u, webhooks.DeliveryFilter{Status: "RUNNING"})); n != 1 {
			t.Errorf("%d are running", n)
		}
		if more := claimDeliveries(t, s, "c1", 10); len(more) != 0 {
			t.Fatalf("claimed twice: %+v", more)
		}
		// A failure waits, is woken, and keeps its id.
		finishDelivery(t, s, "c1", webhooks.DeliveryOutcome{
			Claimed: got[0],
			Status:  500,
			Detail:  `{"status":500}`,
			NextAt:  s.DB.Now().Add(5 * time.Second),
		})
		if d, _, err := s.Webhooks.Delivery(ctx, u, id); err != nil || d.Status != "PENDING" || d.Attempts != 1 ||
			d.ResponseStatus != 500 || d.NextAt.IsZero() {
			t.Fatalf("%+v %v", d, err)
		}
		if more := claimDeliveries(t, s, "c1", 10); len(more) != 0 {
			t.Fatal("claimed before its time")
		}
		clock.Advance(6 * time.Second)
		if _, err := s.Runs.Reap(ctx, s.DB.Now()); err != nil {
			t.Fatal(err)
		}
		got = claimDeliveries(t, s, "c2", 10)
		if len(got) != 1 || got[0].Delivery.ID != id || got[0].Task.Attempt != 2 || got[0].Task.Tries != 1 ||
			got[0].Delivery.Attempts != 1 {
			t.Fatalf("%+v", got)
		}
		// A worker that lost the lease changes nothing.
		finishDelivery(t, s, "c1", webhooks.DeliveryOutcome{Claimed: got[0], Status: 200, OK: true})
		if d, _, _ := s.Webhooks.Delivery(ctx, u, id); d.Status != "RUNNING" {
			t.Errorf("%+v", d)
		}
		finishDelivery(t, s, "c2", webhooks.DeliveryOutcome{
			Claimed: got[0],
			Status:  204,
			OK:      true,
			Detail:  `{"status":204}`,
		})
		d, tries, err := s.Webhooks.Delivery(ctx, u, id)
		if err != nil || d.Status != "SUCCEEDED" || d.Attempts != 2 || d.ResponseStatus != 204 || !d.NextAt.IsZero() {
			t.Fatalf("%+v %v", d, err)
		}
		if diff := cmp.Diff([]webhooks.DeliveryAttempt{
			{Number: 1, Outcome: "failed", Detail: `{"status":500}`},
			{Number: 2, Outcome: "done", Detail: `{"status":204}`},
		}, tries, cmpopts.IgnoreTypes(time.Time{})); diff != "" {
			t.Error(diff)
		}
		if tries[1].EndedAt.IsZero() {
			t.Error("the last attempt has no end")
		}
	})
}

func TestAbortedCountsNothing(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store, _ *storetest.Clock) {
		u := storetest.User(t, s, "ada")
		fold(t, s, u, pleat.StateCompleted, toEndpoint(defaultEndpoint(t, s, u, false)))
		got := claimDeliveries(t, s, "c1", 10)
		finishDelivery(t, s, "c1", webhooks.DeliveryOutcome{Claimed: got[0], Aborted: true})
		again := claimDeliveries(t, s, "c2", 10)
		if len(again) != 1 || again[0].Delivery.ID != got[0].Delivery.ID || again[0].Task.Tries != 0 ||
			again[0].Delivery.Attempts != 0 {
			t.Errorf("%+v", again)
		}
	})
}

// A worker that dies loses no delivery, and a delivery that kills workers ends.
func TestLostDeliveries(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store, clock *storetest.Clock) {
		ctx := context.Background()
		u := storetest.User(t, s, "ada")
		fold(t, s, u, pleat.StateCompleted, toEndpoint(defaultEndpoint(t, s, u, false)))
		var id pleat.DeliveryID
		for i := range webhooks.DeliveryTries {
			got := claimDeliveries(t, s, "c1", 10)
			if len(got) != 1 {
				t.Fatalf("round %d: %d claimed", i, len(got))
			}
			id = got[0].Delivery.ID
			if i%2 == 0 { // half are freed when the lease expires, half when the worker restarts
				clock.Advance(pleat.LeaseDuration + time.Second)
				if r, err := s.Runs.Reap(ctx, s.DB.Now()); err != nil || r.Requeued+r.Failed != 1 {
					t.Fatalf("round %d: %+v %v", i, r, err)
				}
			} else if r, err := s.Runs.FreeTasks(ctx, "c1"); err != nil || r.Requeued+r.Failed != 1 {
				t.Fatalf("round %d: %+v %v", i, r, err)
			}
		}
		d, tries, err := s.Webhooks.Delivery(ctx, u, id)
		if err != nil || d.Status != "FAILED" || d.Attempts != webhooks.DeliveryTries ||
			!strings.Contains(d.Reason, "died during every attempt") || len(tries) != webhooks.DeliveryTries {
			t.Fatalf("%+v, %d attempts, %v", d, len(tries), err)
		}
		if tries[0].Outcome != "lost" {
			t.Errorf("%+v", tries[0])
		}
		// A redelivery has all tries again.
		if err := s.Webhooks.Redeliver(ctx, u, id); err != nil {
			t.Fatal(err)
		}
		got := claimDeliveries(t, s, "c1", 10)
		if len(got) != 1 || got[0].Delivery.ID != id || got[0].Task.Tries != 0 ||
			got[0].Delivery.Attempts != webhooks.DeliveryTries {
			t.Errorf("%+v", got)
		}
	})
}

func TestRedeliver(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store, clock *storetest.Clock) {
		ctx := context.Background()
		u := storetest.User(t, s, "ada")
		e := defaultEndpoint(t, s, u, false)
		qna := pleat.Subscription{Destination: pleat.DestQnA, Alias: "qna", TargetType: "qna_v1"}
		for range 4 {
			fold(t, s, u, pleat.StateCompleted, toEndpoint(e), qna)
		}
		got := claimDeliveries(t, s, "c", 10)
		if len(got) != 4 {
			t.Fatal(len(got))
		}
		finishDelivery(t, s, "c", webhooks.DeliveryOutcome{Claimed: got[0], OK: true, Status: 200},
			webhooks.DeliveryOutcome{Claimed: got[1], Status: 500, Reason: "no"},
			webhooks.DeliveryOutcome{Claimed: got[2], Status: 404, Reason: "no"}, webhooks.DeliveryOutcome{
				Claimed: got[3], Status: 503, NextAt: s.DB.Now().Add(time.Hour),
			})
		again := func(id pleat.DeliveryID, f webhooks.DeliveryFilter) (int, error) {
			if id != "" {
				return 1, s.Webhooks.Redeliver(ctx, u, id)
			}
			f.Limit = 100
			return s.Webhooks.RedeliverAll(ctx, u, f)
		}
		if _, err := again(got[3].Delivery.ID, webhooks.DeliveryFilter{}); pleat.CodeOf(err) != pleat.CodeConflict {
			t.Errorf("one that is being tried: %v", err)
		}
		for _, d := range deliveries(t, s, u, webhooks.DeliveryFilter{}) {
			if d.Destination == pleat.DestQnA {
				if _, err := again(d.ID, webhooks.DeliveryFilter{}); pleat.CodeOf(err) != pleat.CodeConflict {
					t.Errorf("a follow-up: %v", err)
				}
			}
		}
		if _, err := again("01890a5d-ac96-774b-bcce-b302099a8057", webhooks.DeliveryFilter{}); !errors.Is(err,
			webhooks.ErrNoDelivery) {
			t.Errorf("none: %v", err)
		}
		if n, err := again("", webhooks.DeliveryFilter{
			SourceID: got[1].Delivery.Source.ID(), Status: "FAILED",
		}); err != nil || n != 1 {
			t.Errorf("by source: %d %v", n, err)
		}
		if n, err := again("", webhooks.DeliveryFilter{Since: s.DB.Now().Add(time.Hour)}); err != nil || n != 0 {
			t.Errorf("since later: %d %v", n, err)
		}
		if n, err := again("", webhooks.DeliveryFilter{Status: "FAILED"}); err != nil || n != 1 {
			t.Errorf("the other failed one: %d %v", n, err)
		}
		// Two at once send one task.
		clock.Advance(time.Second)
		var wg sync.WaitGroup
		var mu sync.Mutex
		total := 0
		for range 8 {
			wg.Go(func() {
				n, err := again("", webhooks.DeliveryFilter{Status: "SUCCEEDED"})
				mu.Lock()
				defer mu.Unlock()
				total += n
				if err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if total != 1 {
			t.Errorf("%d were sent", total)
		}
		ids := map[pleat.DeliveryID]bool{}
		for _, d := range claimDeliveries(t, s, "c", 100) {
			ids[d.Delivery.ID] = true
		}
		if len(ids) != 3 || !ids[got[0].Delivery.ID] || !ids[got[1].Delivery.ID] || !ids[got[2].Delivery.ID] {
			t.Errorf("%v", ids)
		}
	})
}

// Endpoints do not wait for one another, whatever the length of their queues and the size of a claim.
func TestEndpointsTakeTurns(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store, _ *storetest.Clock) {
		ctx := context.Background()
		var ends []webhooks.Endpoint
		for i := range 5 {
			u := storetest.User(t, s, fmt.Sprintf("u%d", i))
			ends = append(ends, defaultEndpoint(t, s, u, false))
			n := 2
			if i == 0 {
				n = 30
			}
			for range n {
				fold(t, s, u, pleat.StateCompleted, toEndpoint(ends[i]))
			}
		}
		// The first endpoint's places are taken; claims of one find everybody else's.
		if got, err := s.Webhooks.ClaimDeliveries(ctx, "c", "", 3, limitN(3)); err != nil || len(got.List) != 3 {
			t.Fatal(len(got.List), err)
		}
		seen := map[pleat.EndpointID]int{}
		cursor := ""
		for range 40 {
			got, err := s.Webhooks.ClaimDeliveries(ctx, "c", cursor, 1, limitN(3))
			if err != nil {
				t.Fatal(err)
			}
			cursor = got.Next
			for _, d := range got.List {
				seen[d.Endpoint.ID]++
			}
		}
		if len(seen) != 4 {
			t.Errorf("%v", seen)
		}
		for id, n := range seen {
			if n != 2 || id == ends[0].ID {
				t.Errorf("%s got %d", id, n)
			}
		}
	})
}

// More endpoints than one claim looks at, most of them asleep.
func TestClaimLooksAtAllEndpoints(t *testing.T) {
	t.Parallel()
	storetest.EachWith(
		t,
		store.Options{Webhooks: webhooks.Options{Endpoints: 25}},
		func(t *testing.T, s *store.Store, _ *storetest.Clock) {
			ctx := context.Background()
			const n = 30
			for i := range n {
				u := storetest.User(t, s, fmt.Sprintf("u%d", i))
				defaultEndpoint(t, s, u, false)
				if _, err := s.Webhooks.PingEndpoint(ctx, people.Actor{Reach: u}, webhooks.Default); err != nil {
					t.Fatal(err)
				}
				if i != n-1 {
					if _, err := s.Webhooks.SwitchEndpoint(
						ctx, people.Actor{Reach: u}, webhooks.Default, webhooks.EndpointPause,
					); err != nil {
						t.Fatal(err)
					}
				}
			}
			found, rounds := 0, 0
			for cursor := ""; ; {
				got, err := s.Webhooks.ClaimDeliveries(ctx, "c", cursor, 1, limitN(1))
				if err != nil {
					t.Fatal(err)
				}
				found += len(got.List)
				rounds++
				if cursor = got.Next; cursor == "" {
					break
				}
			}
			if found != 1 || rounds > 3 {
				t.Errorf("%d found in %d rounds", found, rounds)
			}
		},
	)
}

func TestEndpointChanges(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store, clock *storetest.Clock) {
		ctx := context.Background()
		u := storetest.User(t, s, "ada")
		if _, _, err := s.Webhooks.Endpoint(ctx, u, webhooks.Default); !errors.Is(err, webhooks.ErrNoEndpoint) {
			t.Errorf("%v", err)
		}
		by := people.Actor{Reach: u}
		if _, err := s.Webhooks.SwitchEndpoint(ctx, by, webhooks.Default, webhooks.EndpointPause); !errors.Is(
			err,
			webhooks.ErrNoEndpoint,
		) {
			t.Errorf("%v", err)
		}
		if _, err := s.Webhooks.PingEndpoint(
			ctx, people.Actor{Reach: u}, webhooks.Default,
		); !errors.Is(err, webhooks.ErrNoEndpoint) {
			t.Errorf("%v", err)
		}
		e := defaultEndpoint(t, s, u, true)
		want := webhooks.Endpoint{
			ID:               e.ID,
			Owner:            u.Project,
			Address:          storetest.Receiver("https://hooks.example.org/x"),
			Token:            "s1.token",
			Secret:           "s1.secret",
			Active:           true,
			EnabledByDefault: true,
			RotatedAt:        e.UpdatedAt,
			CreatedAt:        e.UpdatedAt,
			UpdatedAt:        e.UpdatedAt,
		}
		if diff := cmp.Diff(want, e); diff != "" || e.UpdatedAt.IsZero() {
			t.Fatal("a new endpoint: ", diff)
		}
		e2, err := s.Webhooks.PutEndpoint(ctx, people.Actor{Reach: u}, webhooks.EndpointSettings{
			Address: new(storetest.Receiver("https://hooks.example.org:443/other")),
			Secret:  "s1.other",
			Format:  new("cloudevents"),
		})
		want.Address = storetest.Receiver("https://hooks.example.org:443/other")
		want.Format, want.UpdatedAt = "cloudevents", e2.UpdatedAt
		if diff := cmp.Diff(want, e2); diff != "" || err != nil {
			t.Fatal("configured again: ", diff, err)
		}
		// Paused: events wait, and go when it resumes.
		if _, err := s.Webhooks.SwitchEndpoint(
			ctx, people.Actor{Reach: u}, webhooks.Default, webhooks.EndpointPause,
		); err != nil {
			t.Fatal(err)
		}
		fold(t, s, u, pleat.StateCompleted, toEndpoint(e))
		if got := claimDeliveries(t, s, "c", 10); len(got) != 0 {
			t.Fatal("claimed while paused")
		}
		if _, err := s.Webhooks.SwitchEndpoint(
			ctx, people.Actor{Reach: u}, webhooks.Default, webhooks.EndpointDeactivate,
		); err != nil {
			t.Fatal(err)
		}
		if e, _, _ := s.Webhooks.Endpoint(ctx, u, webhooks.Default); e.Active || e.EnabledByDefault || e.DisabledReason == "" {
			t.Errorf("%+v", e)
		}
		if _, err := s.Webhooks.PingEndpoint(
			ctx, people.Actor{Reach: u}, webhooks.Default,
		); pleat.CodeOf(err) != pleat.CodeConflict {
			t.Errorf("%v", err)
		}
		if e, err := s.Webhooks.SwitchEndpoint(
			ctx, by, webhooks.Default, webhooks.EndpointResume,
		); err != nil || !e.Active || e.Paused ||
			e.DisabledReason != "" {
			t.Fatalf("%+v %v", e, err)
		}
		if got := claimDeliveries(t, s, "c", 10); len(got) != 1 {
			t.Fatalf("%d after resuming", len(got))
		}
		// Rotation keeps the old secret besides the new one.
		until := s.DB.Now().Add(24 * time.Hour)
		clock.Advance(time.Minute)
		e3, err := s.Webhooks.RotateSecret(ctx, people.Actor{Reach: u}, webhooks.Default,
			func(pleat.ProjectID) string { return "s1.new" }, until)
		if err != nil || e3.Secret != "s1.new" || e3.OldSecret != "s1.secret" ||
			e3.OldSecretUntil.Sub(until).Abs() > time.Millisecond || !e3.RotatedAt.After(e.RotatedAt) {
			t.Errorf("%+v %v", e3, err)
		}
		// Resealing passes the old secret as a secret.
		columns := map[string]string{}
		n, err := s.Webhooks.Reseal(ctx, func(owner pleat.ProjectID, column, sealed string) (string, bool, error) {
			if owner != u.Project {
				t.Errorf("owner %s", owner)
			}
			columns[sealed] = column
			return "s2" + sealed[2:], true, nil
		})
		if err != nil || n != 1 || columns["s1.token"] != "token" ||
			columns["s1.address of https://hooks.example.org:443/other"] != "address" ||
			columns["s1.new"] != "secret" ||
			columns["s1.secret"] != "secret" {
			t.Errorf("%d %v %v", n, columns, err)
		}
		if e, _, _ := s.Webhooks.Endpoint(ctx, u, webhooks.Default); e.Token != "s2.token" || e.Secret != "s2.new" ||
			e.OldSecret != "s2.secret" {
			t.Errorf("%+v", e)
		}
		if _, err := s.Webhooks.Reseal(ctx, func(pleat.ProjectID, string, string) (string, bool, error) {
			return "", false, errors.New("no key")
		}); err == nil {
			t.Error("a failed reseal is silent")
		}
		if e, _, _ := s.Webhooks.Endpoint(ctx, u, webhooks.Default); e.Token != "s2.token" {
			t.Errorf("a failed reseal changed %+v", e)
		}
	})
}

// The state of the breaker is stored with the attempt; an endpoint that is disabled keeps its deliveries.
func TestUpdateEndpoint(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store, clock *storetest.Clock) {
		ctx := context.Background()
		u := storetest.User(t, s, "ada")
		e := defaultEndpoint(t, s, u, true)
		for range 3 {
			fold(t, s, u, pleat.StateCompleted, toEndpoint(e))
		}
		got := claimDeliveries(t, s, "c", 2)
		resume := s.DB.Now().Add(30 * time.Second)
		err := s.Webhooks.FinishDeliveries(ctx, "c", []webhooks.DeliveryOutcome{
			{Claimed: got[0], Status: 500, NextAt: s.DB.Now().Add(time.Second)},
			{Claimed: got[1], Status: 500, NextAt: s.DB.Now().Add(time.Second)},
		},
			func(e webhooks.Endpoint, list []webhooks.DeliveryOutcome, _ time.Time) webhooks.EndpointUpdate {
				return webhooks.EndpointUpdate{Health: e.Health + strings.Repeat("x", len(list)), RetryAt: resume}
			})
		if err != nil {
			t.Fatal(err)
		}
		if e, _, _ := s.Webhooks.Endpoint(ctx, u, webhooks.Default); e.Health != "xx" ||
			e.ResumeAt.Sub(resume).Abs() > time.Millisecond {
			t.Errorf("%+v", e)
		}
		if more := claimDeliveries(t, s, "c", 10); len(more) != 0 {
			t.Error("claimed while the endpoint rests")
		}
		clock.Advance(31 * time.Second)
		_, _ = s.Runs.Reap(ctx, s.DB.Now())
		probe, err := s.Webhooks.ClaimDeliveries(ctx, "c", "", 1, webhooks.DeliveryLimits{Window: 4, Owner: 4,
			Decide: func(e webhooks.WaitingEndpoint, _ time.Time) webhooks.ClaimLimit {
				return webhooks.ClaimLimit{N: 1, Window: 1, Probe: true, Health: e.Health + "probe"}
			}})
		more := probe.List
		if err != nil || len(more) != 1 || !more[0].Probe || more[0].Endpoint.Health != "xxprobe" {
			t.Fatalf("%+v %v", more, err)
		}
		err = s.Webhooks.FinishDeliveries(
			ctx,
			"c",
			[]webhooks.DeliveryOutcome{{Claimed: more[0], Status: 410, Reason: "gone"}},
			func(e webhooks.Endpoint, _ []webhooks.DeliveryOutcome, _ time.Time) webhooks.EndpointUpdate {
				return webhooks.EndpointUpdate{Health: e.Health, Disable: "the receiver is gone"}
			},
		)
		if err != nil {
			t.Fatal(err)
		}
		if e, _, _ := s.Webhooks.Endpoint(ctx, u, webhooks.Default); e.Active ||
			e.DisabledReason != "the receiver is gone" ||
			!e.EnabledByDefault {
			t.Errorf("%+v", e)
		}
		fold(t, s, u, pleat.StateCompleted, toEndpoint(e)) // while it is disabled
		if more := claimDeliveries(t, s, "c", 10); len(more) != 0 {
			t.Error("claimed while it is disabled")
		}
		if n := len(deliveries(t, s, u, webhooks.DeliveryFilter{Status: "PENDING"})); n != 3 {
			t.Errorf("%d are kept", n)
		}
		if e := defaultEndpoint(t, s, u, true); !e.Active || e.Health != "" {
			t.Errorf("%+v", e)
		}
		if more := claimDeliveries(t, s, "c", 10); len(more) != 3 {
			t.Errorf("%d after it is configured again", len(more))
		}
	})
}

// A run's own endpoint that is disabled fails what waits for it, and one redelivery by name wakes it.
func TestOwnEndpoint(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store, _ *storetest.Clock) {
		ctx := context.Background()
		u := storetest.User(t, s, "ada")
		own := pleat.Subscription{
			Destination: pleat.DestCustom,
			Alias:       "custom_http",
			TargetType:  "custom_http",
			Custom:      &pleat.CustomTarget{Address: storetest.Receiver("https://own.example.org"), Token: "s1.own"},
		}
		c := fold(t, s, u, pleat.StateCompleted, own)
		if _, _, err := s.Webhooks.Ingest(ctx, "again", pleat.Event{
			Source: pleat.Source{Job: c.Job},
			Name:   pleat.OnComplete,
			Status: pleat.StateCompleted,
		}); err != nil {
			t.Fatal(err)
		}
		if _, _, err := s.Webhooks.Endpoint(ctx, u, webhooks.Default); !errors.Is(err, webhooks.ErrNoEndpoint) {
			t.Errorf("a run's own endpoint became the default one: %v", err)
		}
		got := claimDeliveries(t, s, "c", 1)
		if len(got) != 1 || got[0].Endpoint.Address != storetest.Receiver("https://own.example.org") ||
			got[0].Endpoint.Token != "s1.own" ||
			!got[0].Endpoint.SingleRun {
			t.Fatalf("%+v", got)
		}
		err := s.Webhooks.FinishDeliveries(
			ctx,
			"c",
			[]webhooks.DeliveryOutcome{{Claimed: got[0], Status: 410, Reason: "gone"}},
			func(e webhooks.Endpoint, _ []webhooks.DeliveryOutcome, _ time.Time) webhooks.EndpointUpdate {
				return webhooks.EndpointUpdate{Health: e.Health, Disable: "gone"}
			},
		)
		if err != nil {
			t.Fatal(err)
		}
		if n := len(deliveries(t, s, u, webhooks.DeliveryFilter{Status: "FAILED"})); n != 2 {
			t.Fatalf("%d failed", n)
		}
		if err := s.Webhooks.Redeliver(ctx, u, got[0].Delivery.ID); err != nil {
			t.Fatal(err)
		}
		if again := claimDeliveries(t, s, "c", 5); len(again) != 1 || again[0].Delivery.ID != got[0].Delivery.ID {
			t.Errorf("%+v", again)
		}
	})
}

func TestIngest(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store, _ *storetest.Clock) {
		ctx := context.Background()
		u := storetest.User(t, s, "ada")
		e := defaultEndpoint(t, s, u, false)
		qna := pleat.Subscription{Destination: pleat.DestQnA, Alias: "qna", TargetType: "qna_v1"}
		c := fold(t, s, u, pleat.StateCompleted, toEndpoint(e), qna)
		event := pleat.Event{
			Source:  pleat.Source{Job: c.Job},
			Name:    pleat.OnComplete,
			Status:  pleat.StateCompleted,
			Payload: json.RawMessage(`{"a":1}`),
		}
		first, repeated, err := s.Webhooks.Ingest(ctx, "id-1", event)
		if err != nil || repeated || first == "" {
			t.Fatal(first, repeated, err)
		}
		// The same id at once from several: one event.
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				id, repeated, err := s.Webhooks.Ingest(ctx, "id-1", event)
				if err != nil || !repeated || id != first {
					t.Errorf("%s %v %v", id, repeated, err)
				}
			})
		}
		wg.Wait()
		var mu sync.Mutex
		fresh := map[pleat.EventID]int{}
		for range 8 {
			wg.Go(func() {
				id, repeated, err := s.Webhooks.Ingest(ctx, "id-2", event)
				mu.Lock()
				defer mu.Unlock()
				if err != nil {
					t.Error(err)
				}
				if !repeated {
					fresh[id]++
				}
			})
		}
		wg.Wait()
		if len(fresh) != 1 {
			t.Errorf("%v", fresh)
		}
		// custom_http is keyed by event, a follow-up by run.
		custom, follow := 0, 0
		for _, d := range deliveries(t, s, u, webhooks.DeliveryFilter{}) {
			if d.Destination == pleat.DestCustom {
				custom++
			} else {
				follow++
			}
		}
		if custom != 3 || follow != 1 {
			t.Errorf("%d custom deliveries and %d follow-ups", custom, follow)
		}
		// Without an id each is its own.
		a, _, errA := s.Webhooks.Ingest(ctx, "", event)
		b, _, errB := s.Webhooks.Ingest(ctx, "", event)
		if errA != nil || errB != nil || a == b {
			t.Error(a, b, errA, errB)
		}
		for _, bad := range []pleat.Event{
			{
				Source: pleat.Source{Job: "01890a5d-ac96-774b-bcce-b302099a8057"},
				Name:   pleat.OnComplete,
				Status: pleat.StateCompleted,
			},
			{
				Source: pleat.Source{Workflow: pleat.WorkflowID(c.Job)},
				Name:   pleat.OnComplete,
				Status: pleat.StateCompleted,
			},
		} {
			if _, _, err := s.Webhooks.Ingest(ctx, "", bad); pleat.CodeOf(err) != pleat.CodeInvalid {
				t.Errorf("%+v: %v", bad, err)
			}
		}
		n := newFlow(u, false)
		n.Subs = []pleat.Subscription{toEndpoint(e)}
		w, err := s.Runs.CreateWorkflow(ctx, n)
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := s.Webhooks.Ingest(ctx, "flow", pleat.Event{
			Source: pleat.Source{Workflow: w.ID},
			Name:   pleat.OnFailed,
			Status: pleat.StateFailed,
		}); err != nil {
			t.Fatal(err)
		}
		if list := deliveries(t, s, u, webhooks.DeliveryFilter{SourceID: string(w.ID)}); len(list) != 1 ||
			list[0].Source.Workflow != w.ID || list[0].EventName != pleat.OnFailed {
			t.Errorf("of a workflow: %+v", list)
		}
		if err := s.Ops.DeleteJob(ctx, u, c.Job); err != nil {
			t.Fatal(err)
		}
		if _, _, err := s.Webhooks.Ingest(ctx, "late", event); pleat.CodeOf(err) != pleat.CodeInvalid {
			t.Errorf("of a deleted job: %v", err)
		}
	})
}

func TestPing(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store, _ *storetest.Clock) {
		ctx := context.Background()
		u := storetest.User(t, s, "ada")
		defaultEndpoint(t, s, u, false)
		id, err := s.Webhooks.PingEndpoint(ctx, people.Actor{Reach: u}, webhooks.Default)
		if err != nil {
			t.Fatal(err)
		}
		got := claimDeliveries(t, s, "c", 10)
		if len(got) != 1 || got[0].Delivery.ID != id || got[0].Event.Source != (pleat.Source{}) {
			t.Errorf("%+v", got)
		}
	})
}

// However often a user tests the endpoint or sends a delivery again, the rows of it stay few.
func TestTestsAndSendsAreBounded(t *testing.T) {
	t.Parallel()
	storetest.EachWith(
		t,
		store.Options{Webhooks: webhooks.Options{Tests: 10}},
		func(t *testing.T, s *store.Store, _ *storetest.Clock) {
			ctx := context.Background()
			u := storetest.User(t, s, "ada")
			defaultEndpoint(t, s, u, true)
			rows := func() map[string]int {
				out := map[string]int{}
				for _, table := range []string{"event", "delivery", "task", "attempt"} {
					out[table] = storetest.Count(t, s, table)
				}
				return out
			}
			send := func() {
				for _, d := range claimDeliveries(t, s, "w", 1000) {
					finishDelivery(t, s, "w", webhooks.DeliveryOutcome{Claimed: d, OK: true})
				}
			}
			for range 15 {
				if _, err := s.Webhooks.PingEndpoint(ctx, people.Actor{Reach: u}, webhooks.Default); err != nil {
					t.Fatal(err)
				}
				send()
			}
			want := map[string]int{"event": 10, "delivery": 10, "task": 0, "attempt": 10}
			if d := cmp.Diff(want, rows()); d != "" {
				t.Errorf("after many tests: -want +got\n%s", d)
			}
			list, err := s.Webhooks.Deliveries(ctx, u, webhooks.DeliveryFilter{Limit: 1})
			if err != nil {
				t.Fatal(err)
			}
			for range 12 {
				if err := s.Webhooks.Redeliver(ctx, u, list[0].ID); err != nil {
					t.Fatal(err)
				}
				send()
			}
			want["attempt"] = 19
			if d := cmp.Diff(want, rows()); d != "" {
				t.Errorf("after many sends: -want +got\n%s", d)
			}
			for range 12 {
				f := webhooks.DeliveryFilter{Limit: 1000, Status: pleat.DeliverySucceeded}
				if _, err := s.Webhooks.RedeliverAll(ctx, u, f); err != nil {
					t.Fatal(err)
				}
				send()
			}
			want["attempt"] = 100
			if d := cmp.Diff(want, rows()); d != "" {
				t.Errorf("after many sends of all: -want +got\n%s", d)
			}
			d, tries, err := s.Webhooks.Delivery(ctx, u, list[0].ID)
			if err != nil || d.Status != pleat.DeliverySucceeded || len(tries) != 10 || d.Attempts != 25 {
				t.Errorf("%+v %d %v", d, len(tries), err)
			}
			if _, err := s.Webhooks.SwitchEndpoint(
				ctx, people.Actor{Reach: u}, webhooks.Default, webhooks.EndpointPause,
			); err != nil {
				t.Fatal(err)
			}
			for range 10 {
				if _, err := s.Webhooks.PingEndpoint(ctx, people.Actor{Reach: u}, webhooks.Default); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := s.Webhooks.PingEndpoint(
				ctx, people.Actor{Reach: u}, webhooks.Default,
			); pleat.CodeOf(err) != pleat.CodeConflict {
				t.Errorf("one more that would wait: %v", err)
			}
			if n := storetest.Count(t, s, "delivery"); n != 10 {
				t.Errorf("%d deliveries", n)
			}
		},
	)
}

// Another run of a job notifies the subscribers of the first, with an event of its own.
func TestRerunNotifies(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store, _ *storetest.Clock) {
		ctx := context.Background()
		u := storetest.User(t, s, "ada")
		c := fold(t, s, u, pleat.StateCompleted, toEndpoint(defaultEndpoint(t, s, u, false)))
		again, err := s.Runs.Rerun(ctx, u, c.Job, newJob(u, "").Run)
		if err != nil {
			t.Fatal(err)
		}
		if err := finish(s, claim(t, s, "w1", 1)[0], pleat.StateCompleted); err != nil {
			t.Fatal(err)
		}
		list := deliveries(t, s, u, webhooks.DeliveryFilter{SourceID: string(c.Job)})
		if len(list) != 2 || list[0].Run != again.Run || list[1].Run != c.Run {
			t.Fatalf("%+v", list)
		}
		views, err := s.Runs.RunViews(ctx, []pleat.RunID{c.Run, again.Run, c.Run, "none"})
		if err != nil || len(views) != 2 || views[c.Run].Run.Number != 1 || views[again.Run].Run.Number != 2 ||
			len(views[c.Run].Artifacts) != 1 {
			t.Errorf("%+v %v", views, err)
		}
		if err := s.Ops.DeleteJob(ctx, u, c.Job); err != nil {
			t.Fatal(err)
		}
		if views, err := s.Runs.RunViews(ctx, []pleat.RunID{c.Run}); err != nil || len(views) != 0 {
			t.Errorf("of a deleted job: %+v %v", views, err)
		}
	})
}

func TestForgetDeliveries(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store, clock *storetest.Clock) {
		ctx := context.Background()
		u := storetest.User(t, s, "ada")
		e := defaultEndpoint(t, s, u, false)
		qna := pleat.Subscription{Destination: pleat.DestQnA, Alias: "qna", TargetType: "qna_v1"}
		for range 5 {
			fold(t, s, u, pleat.StateCompleted, toEndpoint(e), qna)
		}
		for _, d := range claimDeliveries(t, s, "c", 3) {
			finishDelivery(t, s, "c", webhooks.DeliveryOutcome{Claimed: d, OK: true, Status: 200})
		}
		attempts := storetest.Count(t, s, "attempt")
		if n, err := s.Webhooks.ForgetDeliveries(ctx, s.DB.Now().Add(-time.Hour), 100); err != nil || n != 0 {
			t.Fatal(err)
		}
		clock.Advance(2 * time.Hour)
		if n, err := s.Webhooks.ForgetDeliveries(ctx, s.DB.Now().Add(-time.Hour), 2); err != nil || n != 2 {
			t.Fatal(err)
		}
		if n, err := s.Webhooks.ForgetDeliveries(ctx, s.DB.Now().Add(-time.Hour), 100); err != nil || n != 1 {
			t.Fatal(err)
		}
		if n := len(deliveries(t, s, u, webhooks.DeliveryFilter{})); n != 7 {
			t.Errorf("%d are left; want the two that wait and five follow-ups", n)
		}
		if n := storetest.Count(t, s, "attempt"); n != attempts-3 {
			t.Errorf("%d attempts of %d are left", n, attempts)
		}
	})
}

// All deliveries count as one queue: there may be as many of theirs as users.
func TestCountsJoinDeliveries(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store, _ *storetest.Clock) {
		for i := range 3 {
			u := storetest.User(t, s, fmt.Sprint("u", i))
			fold(t, s, u, pleat.StateCompleted, toEndpoint(defaultEndpoint(t, s, u, false)))
		}
		counts, err := s.Tasks.QueueCounts(context.Background())
		if err != nil || len(counts) != 1 || counts[0].Queue != "deliver" || counts[0].N != 3 {
			t.Errorf("%+v %v", counts, err)
		}
	})
}

// Deliveries are published under one topic, whatever the endpoint.
func TestDeliverTopic(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store, clock *storetest.Clock) {
		ctx := context.Background()
		u := storetest.User(t, s, "ada")
		news, end := s.DB.Subscribe(tasks.DeliveryTopic)
		defer end()
		await := func(what string) {
			t.Helper()
			select {
			case <-news:
			case <-time.After(time.Minute):
				t.Fatal("no news of ", what)
			}
			for len(news) > 0 {
				<-news
			}
		}
		e := defaultEndpoint(t, s, u, false)
		await("a configuration")
		fold(t, s, u, pleat.StateCompleted, toEndpoint(e))
		await("an event")
		got := claimDeliveries(t, s, "c", 1)
		finishDelivery(t, s, "c", webhooks.DeliveryOutcome{Claimed: got[0], NextAt: s.DB.Now().Add(time.Second)})
		clock.Advance(2 * time.Second)
		if _, err := s.Runs.Reap(ctx, s.DB.Now()); err != nil {
			t.Fatal(err)
		}
		// On PostgreSQL this may be the echo of the event. SQLite has no echoes: there the reaper's news is proven.
		await("a delivery whose time has come")
	})
}
