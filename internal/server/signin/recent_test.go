package signin

import (
	"fmt"
	"testing"
)

// When the memory of credentials is full, it forgets those that were not used for longest, not all.
func TestKnownKeysAreBounded(t *testing.T) {
	t.Parallel()
	r := NewRecent[int](10)
	for i := range 1000 {
		r.Put(fmt.Sprint(i), 0)
		if _, ok := r.Get("0"); !ok {
			t.Fatalf("after %d credentials one in use is forgotten", i)
		}
		if n := len(r.now) + len(r.old); n > 20 {
			t.Fatalf("%d credentials are remembered", n)
		}
	}
	r.Remove("0")
	if _, ok := r.Get("0"); ok {
		t.Error("a credential is there after its removal")
	}
	if _, ok := r.Get("998"); !ok {
		t.Error("a recent credential is forgotten")
	}
}
