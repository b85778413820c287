package submit

import (
	"context"
	"sync"
	"time"

	"pleat"
	"pleat/internal/store"
)

// modelCache holds the models of the workers: every creation needs them and they rarely change.
type modelCache struct {
	mu   sync.Mutex
	at   time.Time // when list was read
	list []pleat.Model
}

const (
	modelsMaxAge    = time.Second
	modelsRecentAge = 100 * time.Millisecond
)

// Models returns the models that run here, as the store listed them at most a second ago.
func (r *Resolver) Models(ctx context.Context) ([]pleat.Model, error) {
	return r.models.get(ctx, r.Store, modelsMaxAge)
}

// RecentModels returns the models that run here, as the store listed them at most 0.1 s ago. Ask it when Models does
// not have the model: a worker may have started since.
func (r *Resolver) RecentModels(ctx context.Context) ([]pleat.Model, error) {
	return r.models.get(ctx, r.Store, modelsRecentAge)
}

// get returns the models of the workers, from the cache if it was filled at most maxAge ago. An empty list is never
// cached.
func (m *modelCache) get(ctx context.Context, st *store.Store, maxAge time.Duration) ([]pleat.Model, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if age := time.Since(m.at); len(m.list) > 0 && age < maxAge {
		return m.list, nil
	}
	list, err := st.Models(ctx)
	if err != nil {
		return nil, err
	}
	m.list, m.at = list, time.Now()
	return list, nil
}
