package signin

import "sync"

// maxKnown is how many logins a node remembers for certain.
const maxKnown = 10_000

// Recent remembers something of credentials by their hash: of at least the most that were used last, and of at most
// twice as many.
type Recent[V any] struct {
	mu       sync.Mutex
	most     int
	now, old map[string]V
}

// NewRecent returns a memory of at least most credentials.
func NewRecent[V any](most int) *Recent[V] { return &Recent[V]{most: most, now: map[string]V{}} }

// Put remembers a credential.
func (r *Recent[V]) Put(hash string, k V) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.putLocked(hash, k)
}

// putLocked is Put for a caller that holds mu.
func (r *Recent[V]) putLocked(hash string, k V) {
	if _, there := r.now[hash]; !there && len(r.now) >= r.most {
		r.now, r.old = map[string]V{}, r.now
	}
	r.now[hash] = k
}

// Get returns a credential and counts it as used; false if it is not remembered.
func (r *Recent[V]) Get(hash string) (V, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	k, ok := r.now[hash]
	if !ok {
		if k, ok = r.old[hash]; ok {
			r.putLocked(hash, k)
		}
	}
	return k, ok
}

// Remove forgets a credential.
func (r *Recent[V]) Remove(hash string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.now, hash)
	delete(r.old, hash)
}
