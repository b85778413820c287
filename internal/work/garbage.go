package work

import (
	"context"
	"time"

	"pleat/internal/garbage"
	"pleat/internal/queue"
)

const (
	garbageInterval = 10 * time.Minute
	// deletedInterval is the time between looks for deleted jobs and workflows of which something is left: the server
	// removes what it can when they are deleted.
	deletedInterval = 10 * time.Second
)

// collectGarbage deletes, from time to time, files that nothing refers to, and old entries of the audit log.
func (p *Pool) collectGarbage(ctx context.Context) {
	for queue.Sleep(ctx, garbageInterval) {
		if err := p.store.ExpireAudit(ctx); err != nil && ctx.Err() == nil {
			p.cfg.Log.Warn("old entries of the audit log could not be deleted", "error", err)
		}
		n, err := garbage.Collect(ctx, p.store, p.blobs, p.cfg.Clock().Add(-garbage.Age))
		if err != nil && ctx.Err() == nil {
			p.cfg.Log.Warn("garbage collection stopped", "error", err)
		}
		if n > 0 {
			p.cfg.Log.Info("orphan files removed", "files", n)
		}
	}
}

// removeDeleted deletes jobs and workflows that are kept no longer, and what deleted ones have left once nothing is
// under way for them.
func (p *Pool) removeDeleted(ctx context.Context) {
	for queue.Sleep(ctx, deletedInterval) {
		expired, err := p.store.ExpireResults(ctx)
		if expired > 0 {
			p.cfg.Log.Info("old jobs and workflows deleted", "number", expired)
		}
		if err == nil {
			_, err = garbage.RemoveDeleted(ctx, p.store, p.blobs)
		}
		if err != nil && ctx.Err() == nil {
			p.cfg.Log.Warn("deleted or old jobs could not be removed", "error", err)
		}
	}
}
