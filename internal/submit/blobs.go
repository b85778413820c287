package submit

import (
	"crypto/rand"
	"encoding/hex"
	"errors"

	"pleat"
	"pleat/internal/blob"
)

// NewLibraryKey returns the key of a blob for a new file of a library item.
func NewLibraryKey(item pleat.ItemID) string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return "library/" + string(item) + "/" + hex.EncodeToString(b[:])
}

// ReadError converts an error of reading the artifact store to one for the caller, with CodeUnavailable. That of a
// damaged file is one for the caller already.
func ReadError(err error) error {
	var e *pleat.Error
	if errors.Is(err, blob.ErrDamaged) && errors.As(err, &e) {
		return e
	}
	return &pleat.Error{Code: pleat.CodeUnavailable, Message: "the file cannot be read now; try again", Err: err}
}

// WriteError converts an error of writing to the artifact store to one for the caller, with CodeUnavailable unless it
// is a [pleat.Error].
func WriteError(err error) error {
	var e *pleat.Error
	switch {
	case errors.As(err, &e):
		return e
	case errors.Is(err, blob.ErrFull):
		const text = "the disk of the artifact store is full, and its operator must free space; try again later"
		return &pleat.Error{Code: pleat.CodeUnavailable, Message: text, Err: err}
	}
	return &pleat.Error{Code: pleat.CodeUnavailable, Message: "the file cannot be stored now; try again", Err: err}
}
