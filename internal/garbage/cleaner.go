package garbage

import (
	"context"
	"log/slog"
	"time"

	"pleat/internal/blob"
	"pleat/internal/store/ops"
	"pleat/internal/store/runs"
)

const (
	// deletedTime and blobsTime bound what a request waits for; the upkeep does the rest.
	deletedTime = 2 * time.Second
	blobsTime   = 10 * time.Second
)

// Cleaner removes what a request leaves behind, within the time of the request. Workers remove the rest. All fields are
// required.
type Cleaner struct {
	Ops   *ops.Store
	Runs  *runs.Store
	Blobs blob.Store
	Log   *slog.Logger
}

// Deleted removes the rows and the blobs of deleted jobs and workflows.
func (c *Cleaner) Deleted(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, deletedTime)
	defer cancel()
	if _, err := RemoveDeleted(ctx, c.Ops, c.Runs, c.Blobs); err != nil && ctx.Err() == nil {
		c.Log.Warn("a deleted job was not removed completely; a worker will", "error", err)
	}
}

// Unused removes blobs whose rows are gone, unless a run or a library file still refers to them. It does so even if the
// request has ended.
func (c *Cleaner) Unused(ctx context.Context, keys ...string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), blobsTime)
	defer cancel()
	if _, err := RemoveBlobs(ctx, c.Runs, c.Blobs, keys); err != nil {
		c.Log.Warn("files were not removed; garbage collection will", "error", err)
	}
}
