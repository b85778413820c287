package fair

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"pleat"
)

// A flood of invented addresses neither makes a limiter grow nor gives anybody a new allowance.
func TestInventedAddresses(t *testing.T) {
	now := time.Now()
	const most = 1000
	l := NewLimiter(1, 3, most)
	for range 3 {
		l.Take("spent", now)
	}
	allowed := 0
	for i := range 5 * most {
		if l.Take(fmt.Sprint(i), now) == 0 {
			allowed++
		}
		if i%most == 0 {
			now = now.Add(100 * time.Millisecond)
			if l.Take("spent", now) == 0 {
				t.Fatalf("a new allowance after %d addresses", i)
			}
		}
	}
	if n := len(l.now) + len(l.old); n > most {
		t.Errorf("%d addresses are remembered", n)
	}
	if allowed > most+3 {
		t.Errorf("%d requests were allowed, at most %d", allowed, most+3)
	}
	now = now.Add(3 * time.Second)
	if l.Take("spent", now) != 0 || len(l.old) > most {
		t.Error("no allowance after the time in which a bucket fills")
	}
	now = now.Add(3 * time.Second)
	if l.Take("new", now); len(l.now)+len(l.old) > 2 {
		t.Errorf("%d addresses are remembered for longer than they need", len(l.now)+len(l.old))
	}
}

// Users take turns, in the order in which they came, whoever of them has more to do; none has two places.
func TestTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := NewTurns[pleat.UserID](2, 1)
		var served []pleat.UserID
		ask := func(user pleat.UserID) {
			go func() {
				if turns.Acquire(context.Background(), user) == nil {
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
			turns.Release(served[len(served)-2]) // the older of the two places
			synctest.Wait()
		}
		want := []pleat.UserID{"ann", "ben", "ann", "cem", "dan", "ann", "cem"}
		if !slices.Equal(served, want) {
			t.Errorf("%v, want %v", served, want)
		}
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		if err := turns.Acquire(ctx, "eve"); err == nil {
			t.Error("a place after the end of the context")
		}
		turns.Release(served[len(served)-2])
		turns.Release(served[len(served)-1])
		if turns.free != 2 || len(turns.busy)+len(turns.waiting)+len(turns.order) != 0 {
			t.Errorf("%+v is left", turns)
		}
	})
}
