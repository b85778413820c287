package batches

import (
	"context"
	"errors"
	"net/http/httptest"
	"testing"

	"pleat/internal/fair"
	"pleat/internal/server/route"
)

// A rerun of a batch takes its turn among the batches of all users before it reads anything of the store.
func TestRerunTakesATurn(t *testing.T) {
	t.Parallel()
	read := func(*route.Call) ([]byte, func(), error) { return []byte(`{"params":{}}`), func() {}, nil }
	serve := inTurn(fair.NewTurns(0), read, new(Handlers).rerunBatch) // without a store
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	c := &route.Call{
		W: &route.Answer{ResponseWriter: httptest.NewRecorder()}, R: httptest.NewRequest("POST", "/", nil),
	}
	if err := serve(ctx, c); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
