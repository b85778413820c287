package submit

import (
	"context"

	"pleat/internal/blob"
	"pleat/internal/store"
)

// RemoveDeleted deletes the rows and the blobs of deleted jobs and workflows until none is due or ctx ends. It returns
// how many blobs it deleted. Garbage collection deletes the blobs that a crash leaves behind.
func RemoveDeleted(ctx context.Context, s *store.Store, b blob.Store) (int, error) {
	total := 0
	for {
		p, err := s.PurgeDeleted(ctx)
		if err != nil || p.Rows == 0 {
			return total, err
		}
		n, err := RemoveBlobs(ctx, s, b, p.Blobs)
		total += n
		if err != nil {
			return total, err
		}
	}
}

// RemoveBlobs deletes those of the blobs to which no run and no library file refers, and returns how many. A row to
// which they belonged must be gone, so that nothing can refer to them again.
func RemoveBlobs(ctx context.Context, s *store.Store, b blob.Store, keys []string) (int, error) {
	dead, err := s.UnreferencedBlobs(ctx, keys)
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
