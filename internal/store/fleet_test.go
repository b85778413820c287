package store_test

import (
	"fmt"
	"testing"

	"pleat"
	"pleat/internal/store"
	"pleat/internal/store/storetest"
)

// Tokens of the fleet are bounded, have a kind, and end together.
func TestFleetTokens(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store, _ *storetest.Clock) {
		ctx := t.Context()
		has := func(kind store.FleetTokenKind, hash string) bool {
			t.Helper()
			ok, err := s.HasFleetToken(ctx, kind, hash)
			if err != nil {
				t.Fatal(err)
			}
			return ok
		}
		made := 0
		for ; made < 1000; made++ {
			if err := s.CreateFleetToken(ctx, store.TokenDemand, fmt.Sprint("hash", made)); err != nil {
				if pleat.CodeOf(err) != pleat.CodeConflict {
					t.Fatal(err)
				}
				break
			}
		}
		if made != 100 || !has(store.TokenDemand, "hash0") || !has(store.TokenDemand, "hash99") {
			t.Errorf("%d tokens", made)
		}
		if has(store.TokenDemand, "other") || has("class", "hash0") {
			t.Error("a token is valid that was not made")
		}
		if n, err := s.RevokeFleetTokens(ctx, store.TokenDemand); n != made || err != nil {
			t.Errorf("%d revoked, %v", n, err)
		}
		if has(store.TokenDemand, "hash0") {
			t.Error("a revoked token is valid")
		}
	})
}
