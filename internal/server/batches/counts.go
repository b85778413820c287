package batches

import (
	"context"
	"sync"

	"pleat"
	"pleat/internal/server/route"
)

const (
	// countedEachTime is how many rows a batch may have whose rows are counted for every reader. Counting the largest
	// batch takes a tenth of a second of the database, each reader and each stream asks for it every second, and
	// anybody may read a public batch.
	countedEachTime = 2000
	// maxCounts bounds the batches whose counts are kept.
	maxCounts = 1000
)

// rowCounts keeps the counts of large batches for a second. The zero value is empty.
type rowCounts struct {
	mu     sync.Mutex
	cached map[pleat.BatchID]*route.Cached[map[pleat.State]int]
}

// get returns the counts of a batch. Readers of one batch do not wait for those of another.
func (k *rowCounts) get(id pleat.BatchID) *route.Cached[map[pleat.State]int] {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.cached[id] == nil {
		if k.cached == nil || len(k.cached) >= maxCounts {
			k.cached = map[pleat.BatchID]*route.Cached[map[pleat.State]int]{}
		}
		k.cached[id] = new(route.Cached[map[pleat.State]int])
	}
	return k.cached[id]
}

// countRows completes a batch with its counts, which may be a second old for a large one.
func (h *Handlers) countRows(ctx context.Context, b *pleat.Batch) (err error) {
	if b.Counts != nil || b.Rows <= countedEachTime {
		return h.Batches.CountRows(ctx, b)
	}
	b.Counts, err = h.counts.get(b.ID).Get(ctx, func(ctx context.Context) (map[pleat.State]int, error) {
		counted := *b
		err := h.Batches.CountRows(ctx, &counted)
		return counted.Counts, err
	})
	return err
}
