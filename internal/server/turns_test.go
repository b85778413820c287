package server

import (
	"context"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"pleat"
	"pleat/internal/store"
)

// Users take turns, in the order in which they came, whoever of them has more to do; none has two places.
func TestTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := newTurns(2)
		var served []pleat.UserID
		ask := func(user pleat.UserID) {
			go func() {
				if turns.acquire(context.Background(), user) == nil {
					served = append(served, user)
				}
			}()
			synctest.Wait()
		}
		for range 3 {
			ask("ann")
		}
		for _, user := range []pleat.UserID{"ben", "cem", "cem", "dan"} {
			ask(user)
		}
		if want := []pleat.UserID{"ann", "ben"}; !slices.Equal(served, want) {
			t.Fatalf("at first %v are served, want %v", served, want)
		}
		for range 5 {
			turns.release(served[len(served)-2]) // the older of the two places
			synctest.Wait()
		}
		want := []pleat.UserID{"ann", "ben", "ann", "cem", "dan", "ann", "cem"}
		if !slices.Equal(served, want) {
			t.Errorf("%v, want %v", served, want)
		}
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		if err := turns.acquire(ctx, "eve"); err == nil {
			t.Error("a place after the end of the context")
		}
		turns.release(served[len(served)-2])
		turns.release(served[len(served)-1])
		if turns.free != 2 || len(turns.busy)+len(turns.waiting)+len(turns.order) != 0 {
			t.Errorf("%+v is left", turns)
		}
	})
}

// Whose file finds no place before its time ends is told to try again; that is no fault of the service.
func TestNoPlaceInTime(t *testing.T) {
	s := &Server{checks: newTurns(0)}
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	err := s.checkFile(ctx, newFile{owner: "ann", name: "x.pdb"}, &store.LibraryFile{Bytes: 1})
	if status, message := refusal(err); status != http.StatusServiceUnavailable {
		t.Errorf("%d %s", status, message)
	}
}
