package server

import (
	"context"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"pleat"
	"pleat/internal/store"
)

const (
	// countedEachTime is how many rows a batch may have whose rows are counted for every reader.
	countedEachTime = 2000
	// countsMaxAge is how old the counts of a larger batch may be.
	countsMaxAge = time.Second
	// countTime bounds a count that several requests wait for.
	countTime = 30 * time.Second
	// maxCounts bounds the batches whose counts are kept.
	maxCounts = 1000
)

// rowCounts keeps the counts of large batches for a second, since each reader and each stream asks for them, and
// anybody may read a public batch. The zero value is empty.
type rowCounts struct {
	mu     sync.Mutex
	kept   map[pleat.BatchID]countedRows
	flight singleflight.Group // counts a batch once for all who ask meanwhile
}

// countedRows are the counts of a batch, which were read at a time.
type countedRows struct {
	at     time.Time
	counts map[pleat.State]int
}

// read completes a batch with its counts. Of several callers at once, one counts and the others wait for it, each no
// longer than its own request.
func (k *rowCounts) read(ctx context.Context, st *store.Store, b *pleat.Batch) error {
	if b.Counts != nil || b.Rows <= countedEachTime {
		return st.Batches.CountRows(ctx, b)
	}
	if counts := k.recent(b.ID); counts != nil {
		b.Counts = counts
		return nil
	}
	counted := *b
	done := k.flight.DoChan(string(b.ID), func() (any, error) {
		// Not with the context of one caller: the others need the counts even if that one leaves.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), countTime)
		defer cancel()
		if err := st.Batches.CountRows(ctx, &counted); err != nil {
			return nil, err
		}
		k.keep(b.ID, counted.Counts)
		return counted.Counts, nil
	})
	select {
	case r := <-done:
		if r.Err != nil {
			return r.Err
		}
		b.Counts = r.Val.(map[pleat.State]int)
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// recent returns the counts of a batch if they were read a moment ago, else nil.
func (k *rowCounts) recent(id pleat.BatchID) map[pleat.State]int {
	k.mu.Lock()
	defer k.mu.Unlock()
	if c, ok := k.kept[id]; ok && time.Since(c.at) < countsMaxAge {
		return c.counts
	}
	return nil
}

// keep keeps the counts of a batch.
func (k *rowCounts) keep(id pleat.BatchID, counts map[pleat.State]int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.kept == nil || len(k.kept) >= maxCounts {
		k.kept = map[pleat.BatchID]countedRows{}
	}
	k.kept[id] = countedRows{time.Now(), counts}
}
