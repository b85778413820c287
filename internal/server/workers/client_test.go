package workers_test

import (
	"context"
	"errors"
	"testing"

	"pleat"
	"pleat/internal/store"
	"pleat/internal/store/storetest"
)

// revoke ends the tokens of a class.
func (f *fixture) revoke(class string) {
	f.t.Helper()
	if n, err := f.s.RevokeFleetTokens(f.t.Context(), store.TokenWorker, class); err != nil || n == 0 {
		f.t.Fatalf("%d tokens revoked: %v", n, err)
	}
}

// A worker whose token is revoked drains, whichever of its calls is the first that is refused, and says why.
func TestRevokedWorkerDrains(t *testing.T) {
	f := onSQLite(t)
	c := f.worker(f.url)
	news := make(chan struct{}, 1)
	c.SubscribeTo(store.QueueTopic(storetest.FoldQueue), news)
	defer c.Unsubscribe(store.QueueTopic(storetest.FoldQueue), news)
	f.revoke("gpu")
	storetest.Eventually(t, "a heartbeat is refused", func() bool {
		l, err := c.Heartbeat(t.Context(), "", []pleat.Heartbeat{{Task: "x"}})
		return err == nil && l[0].Lost && c.Refused() != nil
	})
	if orders, err := c.WatchWorker(t.Context(), ""); err != nil || !orders.Drain {
		t.Errorf("the first watch after the refusal: %+v %v, want that the worker drains", orders, err)
	}
	want := "the server has ended the worker's session: its class token was revoked"
	if err := c.Refused(); err == nil || err.Error() != want {
		t.Errorf("refused: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if orders, err := c.WatchWorker(ctx, ""); !errors.Is(err, context.Canceled) || orders.Drain {
		t.Errorf("the second watch: %+v %v, want that it waits until its caller ends it", orders, err)
	}
}
