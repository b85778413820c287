package submit

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"time"

	"pleat"
	"pleat/internal/blob"
	"pleat/internal/garbage"
)

// NewLibraryKey returns the key of a blob for a new file of a library item.
func NewLibraryKey(item pleat.ItemID) string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return "library/" + string(item) + "/" + hex.EncodeToString(b[:])
}

// RemoveBlobs deletes blobs whose rows are gone, unless a run or a library file still refers to them. It takes at most
// 10 s, also if ctx has ended: garbage collection finds what is left.
func (r *Resolver) RemoveBlobs(ctx context.Context, keys ...string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	if _, err := garbage.RemoveBlobs(ctx, r.Runs, r.Blobs, keys); err != nil {
		r.Log.Warn("files were not removed; garbage collection will", "error", err)
	}
}

// StorageError converts an error of the artifact store to one for the caller, with CodeUnavailable unless it is a
// pleat.Error.
func StorageError(err error) error {
	var e *pleat.Error
	switch {
	case errors.As(err, &e):
		return e
	case errors.Is(err, blob.ErrFull):
		return &pleat.Error{Code: pleat.CodeUnavailable, Message: "there is no space for the file now; try again later",
			Err: err}
	}
	return &pleat.Error{Code: pleat.CodeUnavailable, Message: "the file cannot be stored now; try again", Err: err}
}
