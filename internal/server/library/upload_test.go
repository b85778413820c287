package library

import (
	"context"
	"net/http"
	"testing"
	"time"

	"pleat"
	"pleat/internal/fair"
	"pleat/internal/server/route"
	"pleat/internal/store/people"
	"pleat/internal/store/runs"
	"pleat/internal/submit"
)

// A client whose file finds no place before its time ends is told to try again; that is no fault of the service.
func TestNoPlaceInTime(t *testing.T) {
	t.Parallel()
	w := &Writer{checks: fair.NewTurns[pleat.UserID](0, 1)}
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	file := NewFile{By: people.Reach{User: "ann"}, Kind: submit.FramePDB("x.pdb")}
	err := w.check(ctx, file, &runs.LibraryFile{Bytes: 1})
	if status, message := route.Refusal(err); status != http.StatusServiceUnavailable {
		t.Errorf("%d %s", status, message)
	}
}
