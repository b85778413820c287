package deliver_test

import (
	"context"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"pleat"
	"pleat/internal/deliver"
	"pleat/internal/store/people"
	"pleat/internal/store/storetest"
	"pleat/internal/store/webhooks"
)

// The delay of a first attempt counts as the service's while the receiver was ready, and as the receiver's where it had
// failed or was paused. Deliveries that are sent again on request count in neither.
func TestDelays(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(t *testing.T, f *fixture) {
		var refusals atomic.Int64
		good := newReceiver(t, nil)
		bad := newReceiver(t, func(w http.ResponseWriter, _ *http.Request) {
			if refusals.Add(1) == 1 {
				w.WriteHeader(http.StatusBadRequest)
			}
		})
		pool := deliver.New(deliver.Config{
			ID:       "deliverer",
			DB:       f.s.DB,
			Webhooks: f.s.Webhooks,
			Runs:     f.s.Runs,
			Batches:  f.s.Batches,
		}, f.ring, f.sender)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		ada, toGood := f.user("ada", good.URL)
		ben, toBad := f.user("ben", bad.URL)
		f.fold(ada, toGlobal(toGood))
		f.clock.Advance(20 * time.Second)
		go func() { ended <- pool.Run(ctx) }()
		sent := f.await(ada, pleat.DeliverySucceeded, 1)[0]

		change := func(c webhooks.EndpointAction) {
			t.Helper()
			if _, err := f.s.Webhooks.SwitchEndpoint(
				t.Context(), people.Actor{Reach: ada}, webhooks.Default, c,
			); err != nil {
				t.Fatal(err)
			}
		}
		change(webhooks.EndpointPause)
		f.fold(ada, toGlobal(toGood))
		f.clock.Advance(time.Minute)
		change(webhooks.EndpointResume)
		f.await(ada, pleat.DeliverySucceeded, 2)

		f.fold(ben, toGlobal(toBad))
		f.awaitAttempts(ben, 1)
		f.clock.Advance(time.Hour)
		f.wake(1)
		f.await(ben, pleat.DeliverySucceeded, 1)
		if err := f.s.Webhooks.Redeliver(t.Context(), ada, sent.ID); err != nil {
			t.Fatal(err)
		}
		f.awaitRequests(good, 3)
		f.await(ada, pleat.DeliverySucceeded, 2)
		cancel()
		if err := <-ended; err != nil {
			t.Fatal(err)
		}

		got := storetest.Metrics(t, pool.Collectors()...)
		const ready, busy = `{destination="custom_http",receiver="ready"}`, `{destination="custom_http",receiver="busy"}`
		for series, want := range map[string]float64{
			"pleat_delivery_first_attempt_delay_seconds_count" + ready: 2, // ada's and ben's first
			"pleat_delivery_first_attempt_delay_seconds_count" + busy:  1, // the paused one
			"pleat_delivery_success_delay_seconds_count" + ready:       1,
			"pleat_delivery_success_delay_seconds_count" + busy:        2,
		} {
			if got[series] != want {
				t.Errorf("%s is %v, want %v", series, got[series], want)
			}
		}
		for series, least := range map[string]float64{
			"pleat_delivery_first_attempt_delay_seconds_sum" + ready: 20,
			"pleat_delivery_first_attempt_delay_seconds_sum" + busy:  60,
			"pleat_delivery_success_delay_seconds_sum" + ready:       20,
			"pleat_delivery_success_delay_seconds_sum" + busy:        3660,
		} {
			if sum := got[series]; sum < least || sum > least+1000 {
				t.Errorf("%s is %v, want %v and what the test takes", series, sum, least)
			}
		}
	})
}
