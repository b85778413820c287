package garbage

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"time"

	"golang.org/x/sync/errgroup"

	"pleat/internal/blob"
	"pleat/internal/store/ops"
	"pleat/internal/store/runs"
)

// checkPage is how many files Check reads from the database at a time, and checkOpen how many it opens at once.
const (
	checkPage = 500
	checkOpen = 8
)

// Fault is a file of which something is wrong.
type Fault struct {
	Key string
	// Kind is Missing, Damaged or Orphan.
	Kind FaultKind
	// Detail says what is wrong, in words that continue a line with the key.
	Detail string
}

// FaultKind is what is wrong with a file.
type FaultKind string

// The kinds of faults.
const (
	Missing FaultKind = "missing" // a row refers to it, and it does not exist
	Damaged FaultKind = "damaged" // it is not what its row says
	Orphan  FaultKind = "orphan"  // no row refers to it; garbage collection deletes it
)

// Checked counts what Check has seen.
type Checked struct {
	Files       int // to which rows refer
	Missing     int
	Damaged     int
	Orphans     int
	OrphanBytes int64
}

// Check compares the rows with the blobs: every blob to which a row refers must exist, and if it was stored before a
// moment, have the length of its row, and with deep its hash. It also finds the blobs stored before that moment without
// a row, which Collect would delete. It reports each fault as it finds it, keeps a page in memory, and is safe while
// servers and workers run if the moment is Age ago: what is deleted or stored in the meantime is no fault.
func Check(
	ctx context.Context, o *ops.Store, r *runs.Store, b blob.Store, deep bool, before time.Time,
	report func(Fault) error,
) (Checked, error) {
	var c Checked
	for after := ""; ; {
		page, err := o.BlobRefs(ctx, after, checkPage)
		if err != nil {
			return c, err
		}
		if len(page) == 0 {
			break
		}
		after = page[len(page)-1].Key
		c.Files += len(page)
		faults, err := checkRefs(ctx, r, b, deep, before, page)
		if err != nil {
			return c, err
		}
		for _, f := range faults {
			if f.Kind == Missing {
				c.Missing++
			} else {
				c.Damaged++
			}
			if err := report(f); err != nil {
				return c, err
			}
		}
	}
	for _, prefix := range prefixes {
		err := blob.Orphans(ctx, b, prefix, before, r.UnreferencedBlobs, func(i blob.Info) error {
			c.Orphans++
			c.OrphanBytes += i.Bytes
			return report(Fault{Key: i.Key, Kind: Orphan, Detail: fmt.Sprintf("%d bytes", i.Bytes)})
		})
		if err != nil {
			return c, err
		}
	}
	return c, nil
}

// checkRefs returns the faults of a page, in its order.
func checkRefs(
	ctx context.Context, r *runs.Store, b blob.Store, deep bool, before time.Time,
	page []ops.BlobRef,
) ([]Fault, error) {
	found := make([]*Fault, len(page))
	group, within := errgroup.WithContext(ctx)
	group.SetLimit(checkOpen)
	for i, ref := range page {
		group.Go(func() (err error) {
			found[i], err = checkRef(within, b, deep, before, ref)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	var out []Fault
	for _, f := range found {
		if f == nil {
			continue
		}
		// The row may have been deleted or replaced after it was read, and its file with it.
		gone, err := r.UnreferencedBlobs(ctx, []string{f.Key})
		if err != nil {
			return nil, err
		}
		if len(gone) == 0 {
			out = append(out, *f)
		}
	}
	return out, nil
}

// checkRef returns the fault of a file; nil if there is none.
func checkRef(ctx context.Context, b blob.Store, deep bool, before time.Time, r ops.BlobRef) (*Fault, error) {
	f, info, err := b.Open(ctx, r.Key)
	if errors.Is(err, blob.ErrNotFound) {
		return &Fault{Key: r.Key, Kind: Missing, Detail: "a row refers to it"}, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	switch {
	case info.ModTime.After(before):
		return nil, nil // it may be replaced just now, and its row after it
	case r.Bytes >= 0 && info.Bytes != r.Bytes:
		detail := fmt.Sprintf("it has %d bytes, its row says %d", info.Bytes, r.Bytes)
		return &Fault{Key: r.Key, Kind: Damaged, Detail: detail}, nil
	case !deep || r.SHA256 == "":
		return nil, nil
	}
	sum := sha256.New()
	if _, err := io.Copy(sum, blob.ContextReader(ctx, f)); err != nil {
		return nil, fmt.Errorf("read %s: %w", r.Key, err)
	}
	if got := hex.EncodeToString(sum.Sum(nil)); got != r.SHA256 {
		detail := fmt.Sprintf("its SHA-256 is %s, its row says %s", got, r.SHA256)
		return &Fault{Key: r.Key, Kind: Damaged, Detail: detail}, nil
	}
	return nil, nil
}
