package store_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"pleat"
	"pleat/internal/store"
	"pleat/internal/store/people"
	"pleat/internal/store/storetest"
	"pleat/internal/store/webhooks"
)

// queueDeliveries queues n deliveries to each of some endpoints, one a user.
func queueDeliveries(t *testing.T, s *store.Store, endpoints, n int) (out []webhooks.Endpoint) {
	t.Helper()
	for i := range endpoints {
		u := storetest.User(t, s, fmt.Sprintf("u%d", i))
		out = append(out, defaultEndpoint(t, s, u, false))
		for range n {
			if _, err := s.Webhooks.PingEndpoint(
				context.Background(), people.Actor{Reach: u}, webhooks.Default,
			); err != nil {
				t.Fatal(err)
			}
		}
	}
	return out
}

// fail ends a delivery with an error, after which its endpoint has a health.
func fail(t *testing.T, s *store.Store, d webhooks.ClaimedDelivery, health string) {
	t.Helper()
	out := webhooks.DeliveryOutcome{Claimed: d, Status: 500, NextAt: s.DB.Now().Add(time.Hour)}
	err := s.Webhooks.FinishDeliveries(context.Background(), d.Task.Worker, []webhooks.DeliveryOutcome{out},
		func(webhooks.Endpoint, []webhooks.DeliveryOutcome, time.Time) webhooks.EndpointUpdate {
			return webhooks.EndpointUpdate{Health: health}
		})
	if err != nil {
		t.Fatal(err)
	}
}

// On PostgreSQL a claim is one round trip, and so is the storing of its outcomes. An endpoint with a health costs a
// second one.
func TestRoundTripsOfDeliveries(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store, _ *storetest.Clock) {
		if s.DB.Dialect() != "postgres" {
			t.Skip("SQLite has none")
		}
		queueDeliveries(t, s, 8, 20)
		trips := func(want int64, verb string, fn func()) {
			t.Helper()
			before := s.DB.RoundTrips()
			fn()
			if got := s.DB.RoundTrips() - before; got != want {
				t.Errorf("%s: %d round trips; want %d", verb, got, want)
			}
		}
		var got []webhooks.ClaimedDelivery
		claim := func() {
			t.Helper()
			claims, err := s.Webhooks.ClaimDeliveries(context.Background(), "c", "", 256, limitN(8))
			if got = claims.List; err != nil || len(got) != 64 {
				t.Fatal(len(got), err)
			}
		}
		trips(1, "claim", claim)
		var list []webhooks.DeliveryOutcome
		for i, d := range got {
			o := webhooks.DeliveryOutcome{Claimed: d, OK: true, Status: 200}
			if i%8 == 1 {
				o = webhooks.DeliveryOutcome{Claimed: d, Status: 500, NextAt: s.DB.Now().Add(time.Second)}
			}
			list = append(list, o)
		}
		trips(1, "outcomes", func() {
			err := s.Webhooks.FinishDeliveries(context.Background(), "c", list,
				func(_ webhooks.Endpoint, list []webhooks.DeliveryOutcome, _ time.Time) webhooks.EndpointUpdate {
					return webhooks.EndpointUpdate{Health: fmt.Sprint("after ", len(list))}
				})
			if err != nil {
				t.Fatal(err)
			}
		})
		trips(2, "claim for endpoints with a health", claim)
		trips(1, "outcomes for an endpoint with a health", func() { finishDelivery(t, s, "c", failed(s, got...)...) })
	})
}

// failed are outcomes of deliveries that are tried again.
func failed(s *store.Store, list ...webhooks.ClaimedDelivery) (out []webhooks.DeliveryOutcome) {
	for _, d := range list {
		out = append(out, webhooks.DeliveryOutcome{Claimed: d, Status: 500, NextAt: s.DB.Now().Add(time.Hour)})
	}
	return out
}

// However many workers claim at once, no more deliveries are in flight than one endpoint and one user may have.
func TestClaimsTogetherKeepTheLimits(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store, _ *storetest.Clock) {
		ctx := context.Background()
		own := queueDeliveries(t, s, 2, 30)
		limits := webhooks.DeliveryLimits{Window: 5, Owner: 10, Windows: map[pleat.EndpointID]int{own[1].ID: 20}}
		var wg sync.WaitGroup
		for i := range 8 {
			wg.Go(func() {
				for range 10 {
					if _, err := s.Webhooks.ClaimDeliveries(
						ctx, pleat.WorkerID(fmt.Sprint("w", i)), "", 3, limits,
					); err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		for i, want := range []int{5, 20} {
			running := webhooks.DeliveryFilter{Status: pleat.DeliveryRunning}
			n := len(deliveries(t, s, people.InProject(own[i].Owner), running))
			if n != want {
				t.Errorf("%d in flight to endpoint %d; want %d", n, i, want)
			}
		}
		got, err := s.Webhooks.ClaimDeliveries(ctx, "w", "", 100, limits)
		if err != nil || len(got.List) != 0 || len(got.Full) != 2 || got.Next != "" {
			t.Errorf("%+v %v", got, err)
		}
	})
}

// The endpoints of one user share its bound, which gives way to the window of one of them.
func TestBoundOfAnOwner(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store, _ *storetest.Clock) {
		u := storetest.User(t, s, "ada")
		for i := range 3 {
			own := pleat.Subscription{
				Destination: pleat.DestCustom,
				Alias:       "custom_http",
				TargetType:  "custom_http",
				Custom: &pleat.CustomTarget{
					Address: storetest.Receiver(fmt.Sprintf("https://own%d.example.org", i)), Token: "s1.own",
				},
			}
			c := fold(t, s, u, pleat.StateCompleted, own)
			for k := range 9 {
				if _, _, err := s.Webhooks.Ingest(context.Background(), fmt.Sprint(i, "-", k), pleat.Event{
					Source: pleat.Source{Job: c.Job},
					Name:   pleat.OnComplete,
					Status: pleat.StateCompleted,
				}); err != nil {
					t.Fatal(err)
				}
			}
		}
		claim := func(l webhooks.DeliveryLimits) (n int, of pleat.EndpointID) {
			t.Helper()
			got, err := s.Webhooks.ClaimDeliveries(context.Background(), "c", "", 100, l)
			if err != nil {
				t.Fatal(err)
			}
			if len(got.List) > 0 {
				of = got.List[0].Endpoint.ID
			}
			return len(got.List), of
		}
		n, first := claim(webhooks.DeliveryLimits{Window: 4, Owner: 6})
		if n != 6 {
			t.Errorf("%d are in flight; want 6", n)
		}
		n, of := claim(webhooks.DeliveryLimits{Window: 4, Owner: 6, Windows: map[pleat.EndpointID]int{first: 8}})
		if n != 2 || of != first {
			t.Errorf("%d more are in flight to %s; want 2 to %s", n, of, first)
		}
	})
}

// An endpoint with a health has its turn next to others, even for a worker with a single place.
func TestEndpointsWithAHealthTakeTurns(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store, _ *storetest.Clock) {
		ends := queueDeliveries(t, s, 3, 6)
		for _, d := range claimDeliveries(t, s, "c", 100) {
			if d.Endpoint.ID == ends[1].ID {
				fail(t, s, d, "ill")
			} else {
				finishDelivery(t, s, "c", webhooks.DeliveryOutcome{Claimed: d, Aborted: true})
			}
		}
		for range 6 {
			if _, err := s.Webhooks.PingEndpoint(
				context.Background(), people.Actor{Reach: people.Own(pleat.UserID(ends[1].Owner))}, webhooks.Default,
			); err != nil {
				t.Fatal(err)
			}
		}
		seen := map[pleat.EndpointID]int{}
		cursor := ""
		for range 12 {
			got, err := s.Webhooks.ClaimDeliveries(context.Background(), "c", cursor, 1, limitN(100))
			if err != nil {
				t.Fatal(err)
			}
			cursor = got.Next
			for _, d := range got.List {
				seen[d.Endpoint.ID]++
			}
		}
		for _, e := range ends {
			if seen[e.ID] < 3 {
				t.Errorf("one endpoint got %d of 12: %v", seen[e.ID], seen)
			}
		}
	})
}

// A decision about a health that another node has since changed is void.
func TestDecisionAboutAnOldHealth(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store, _ *storetest.Clock) {
		e := queueDeliveries(t, s, 1, 5)[0]
		got := claimDeliveries(t, s, "c", 2)
		fail(t, s, got[0], "ill")
		limits := limitN(100)
		limits.Decide = func(e webhooks.WaitingEndpoint, _ time.Time) webhooks.ClaimLimit {
			if e.Health != "ill" || e.InFlight != 1 {
				t.Errorf("%+v", e)
			}
			fail(t, s, got[1], "worse")
			return webhooks.ClaimLimit{N: 3, Window: 100, Health: "probing"}
		}
		more, err := s.Webhooks.ClaimDeliveries(context.Background(), "c", "", 10, limits)
		if err != nil || len(more.List) != 0 {
			t.Errorf("%d were claimed, %v", len(more.List), err)
		}
		in := people.InProject(e.Owner)
		if e, _, _ := s.Webhooks.Endpoint(context.Background(), in, webhooks.Default); e.Health != "worse" {
			t.Errorf("the health is %q", e.Health)
		}
	})
}

// Outcomes of two nodes, each of which began with the same breaker, both count, and so do all that are not aborted of
// one group. One whose lease is lost changes no delivery.
func TestBreakerOfTwoNodes(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store, clock *storetest.Clock) {
		clock.Stop()
		e := queueDeliveries(t, s, 1, 6)[0]
		count := func(e webhooks.Endpoint, list []webhooks.DeliveryOutcome, _ time.Time) webhooks.EndpointUpdate {
			return webhooks.EndpointUpdate{Health: e.Health + strings.Repeat("x", len(list))}
		}
		a, b := claimDeliveries(t, s, "a", 2), claimDeliveries(t, s, "b", 4)
		if err := s.Webhooks.FinishDeliveries(context.Background(), "a", failed(s, a...), count); err != nil {
			t.Fatal(err)
		}
		list := append(failed(s, b[:3]...), webhooks.DeliveryOutcome{Claimed: b[3], Aborted: true})
		list[0].Claimed.Task.Attempt++ // another lease
		if err := s.Webhooks.FinishDeliveries(context.Background(), "b", list, count); err != nil {
			t.Fatal(err)
		}
		in := people.InProject(e.Owner)
		if e, _, _ := s.Webhooks.Endpoint(context.Background(), in, webhooks.Default); e.Health != "xxxx" {
			t.Errorf("the health is %q", e.Health)
		}
		counts := map[pleat.DeliveryStatus]int{}
		tried := 0
		for _, d := range deliveries(t, s, people.InProject(e.Owner), webhooks.DeliveryFilter{}) {
			counts[d.Status]++
			tried += d.Attempts
		}
		if counts[pleat.DeliveryRunning] != 1 || counts[pleat.DeliveryPending] != 5 || tried != 4 {
			t.Errorf("%v, %d attempts have ended", counts, tried)
		}
	})
}

// An outcome that comes after its lease was lost decides nothing about the endpoint: another worker has made the
// delivery meanwhile.
func TestLateOutcomeChangesNoEndpoint(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store, clock *storetest.Clock) {
		ctx := context.Background()
		u := storetest.User(t, s, "ada")
		fold(t, s, u, pleat.StateCompleted, toEndpoint(defaultEndpoint(t, s, u, true)))
		late := claimDeliveries(t, s, "a", 1)
		clock.Advance(2 * pleat.LeaseDuration)
		if r, err := s.Runs.Reap(ctx, s.DB.Now()); err != nil || r.Requeued != 1 {
			t.Fatalf("%+v, %v", r, err)
		}
		for _, d := range claimDeliveries(t, s, "b", 1) {
			finishDelivery(t, s, "b", webhooks.DeliveryOutcome{Claimed: d, OK: true, Status: 200})
		}
		gone := func(webhooks.Endpoint, []webhooks.DeliveryOutcome, time.Time) webhooks.EndpointUpdate {
			return webhooks.EndpointUpdate{Disable: "the receiver answered 410: it is gone"}
		}
		outcome := webhooks.DeliveryOutcome{Claimed: late[0], Status: 410, Reason: "gone"}
		if err := s.Webhooks.FinishDeliveries(ctx, "a", []webhooks.DeliveryOutcome{outcome}, gone); err != nil {
			t.Fatal(err)
		}
		if e, _, err := s.Webhooks.Endpoint(ctx, u, webhooks.Default); err != nil || !e.Active {
			t.Errorf("a late outcome has disabled the endpoint: %+v, %v", e, err)
		}
		if d := deliveries(t, s, u, webhooks.DeliveryFilter{})[0]; d.Status != pleat.DeliverySucceeded {
			t.Errorf("%+v", d)
		}
	})
}

// The deliveries to an endpoint are claimed in the order of their queue, in which one that was lost is the last.
func TestDeliveriesToAnEndpointKeepTheirOrder(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store, clock *storetest.Clock) {
		queueDeliveries(t, s, 1, 3)
		lost := claimDeliveries(t, s, "a", 1)[0].Delivery.ID
		clock.Advance(2 * pleat.LeaseDuration)
		if r, err := s.Runs.Reap(context.Background(), s.DB.Now()); err != nil || r.Requeued != 1 {
			t.Fatalf("%+v, %v", r, err)
		}
		var got []pleat.DeliveryID
		for _, d := range claimDeliveries(t, s, "b", 3) {
			got = append(got, d.Delivery.ID)
		}
		if len(got) != 3 || got[0] == lost || got[0] >= got[1] || got[2] != lost {
			t.Errorf("%v are claimed; %s was lost", got, lost)
		}
	})
}
