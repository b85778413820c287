package jobs

import (
	"fmt"
	"testing"

	"pleat"
)

// The cache holds what it may and no more, and lets go of what was not read for longest.
func TestCacheIsBounded(t *testing.T) {
	t.Parallel()
	const most = 16 * (1000 + cachedOverhead)
	c := NewCache(most)
	key := func(i int) cacheKey { return cacheKey{run: pleat.RunID(fmt.Sprint(i))} }
	for i := range 100 {
		c.put(key(i), make([]byte, 1000))
		c.put(key(i), make([]byte, 1000))
		c.get(key(0))
		if c.size > most || c.order.Len() != len(c.at) {
			t.Fatalf("%d bytes after %d", c.size, i)
		}
	}
	if len(c.at) != 16 || c.get(key(0)) == nil || c.get(key(99)) == nil || c.get(key(50)) != nil {
		t.Errorf("%d entries", len(c.at))
	}
	c.put(key(200), make([]byte, most))
	if c.get(key(200)) != nil || len(c.at) != 16 {
		t.Error("one entry threw out the others")
	}
	var none *Cache
	none.put(key(1), []byte("x"))
	if none.get(key(1)) != nil {
		t.Error("a cache of nothing holds something")
	}
}
