// Package garbage compares the blobs with the rows that refer to them. It deletes what nothing refers to any more: the
// rows and blobs of deleted jobs and workflows, and blobs without a row. The server does so when a user deletes
// something, workers from time to time. Check finds rows whose blobs are missing, and deletes nothing.
//
// It must not decide what is deleted: the verbs of the store do.
package garbage

import (
	"context"
	"time"

	"pleat/internal/blob"
	"pleat/internal/store/ops"
	"pleat/internal/store/runs"
)

// Age is how old a blob without a row must be to be garbage. A blob is stored before the database refers to it; that
// takes much less than this, except for the files of an attempt under way, which are no garbage.
const Age = time.Hour

// prefixes are those of the keys to which rows refer.
var prefixes = []string{"runs/", "library/"}

// RemoveDeleted deletes the rows and the blobs of deleted jobs and workflows until none is due or ctx ends. It returns
// how many blobs it deleted. Collect deletes the blobs that a crash leaves behind.
func RemoveDeleted(ctx context.Context, o *ops.Store, r *runs.Store, b blob.Store) (int, error) {
	total := 0
	for {
		p, err := o.PurgeDeleted(ctx)
		if err != nil || p.Rows == 0 {
			return total, err
		}
		n, err := RemoveBlobs(ctx, r, b, p.Blobs)
		total += n
		if err != nil {
			return total, err
		}
	}
}

// RemoveBlobs deletes those of the blobs to which no run and no library file refers, and returns how many. A row to
// which they belonged must be gone, so that nothing can refer to them again.
func RemoveBlobs(ctx context.Context, r *runs.Store, b blob.Store, keys []string) (int, error) {
	dead, err := r.UnreferencedBlobs(ctx, keys)
	if err != nil {
		return 0, err
	}
	for i, key := range dead {
		if err := b.Delete(ctx, key); err != nil {
			return i, err
		}
	}
	return len(dead), nil
}

// Collect deletes what deleted jobs and workflows have left, and the files stored before a moment that no
// artifact, checkpoint or library item refers to, among them what a killed process left unfinished. It returns how many
// files it deleted.
func Collect(
	ctx context.Context, o *ops.Store, r *runs.Store, b blob.Store, before time.Time,
) (int, error) {
	n, err := RemoveDeleted(ctx, o, r, b)
	if err != nil {
		return n, err
	}
	for _, prefix := range prefixes {
		deleted, err := blob.CollectGarbage(ctx, b, prefix, before, r.UnreferencedBlobs)
		n += deleted.Objects + deleted.Temps
		if err != nil {
			return n, err
		}
	}
	return n, nil
}
