package batches

import (
	"context"
	"errors"
	"net/http/httptest"
	"testing"

	"pleat"
	"pleat/internal/fair"
	"pleat/internal/server/route"
	"pleat/internal/store/storetest"
)

// A rerun of a batch takes its turn among the batches of all users before it reads anything of the store.
func TestRerunTakesATurn(t *testing.T) {
	t.Parallel()
	read := func(*route.Call) ([]byte, func(), error) { return []byte(`{"params":{}}`), func() {}, nil }
	serve := inTurn(fair.NewTurns[pleat.UserID](0, 1), read, new(Handlers).rerunBatch) // without a store
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	c := &route.Call{
		W: &route.Answer{ResponseWriter: httptest.NewRecorder()}, R: httptest.NewRequest("POST", "/", nil),
	}
	if err := serve(ctx, c); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// The counts of a large batch are read once in a moment, and those of each batch for itself.
func TestLargeBatchesAreCountedTogether(t *testing.T) {
	t.Parallel()
	st := storetest.OpenAt(t, storetest.Databases()["sqlite"](t), nil)
	h := New(Config{Batches: st.Batches})
	before := st.DB.Transactions()
	for _, id := range []pleat.BatchID{"one", "one", "other", "one"} {
		b := &pleat.Batch{ID: id, Rows: countedEachTime + 1}
		if err := h.countRows(t.Context(), b); err != nil || b.Counts[pleat.StateInitialized] != b.Rows {
			t.Error(err, b.Counts)
		}
	}
	if n := st.DB.Transactions() - before; n != 2 {
		t.Errorf("%d transactions for the counts of 2 batches", n)
	}
}
