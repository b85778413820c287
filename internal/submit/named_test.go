package submit

import (
	"errors"
	"testing"

	"pleat"
	"pleat/internal/blob"
	"pleat/internal/store/runs"
)

// TestNamedFileUnreadable says what a user sees if the artifact store does not give a file that a text names: a file
// that was deleted a moment ago is a fault of the request; the store may give any other one later.
func TestNamedFileUnreadable(t *testing.T) {
	blobs, err := blob.OpenDir(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	n := &namedFiles{blobs: blobs}
	fails := func(code pleat.Code, message string) {
		t.Helper()
		_, err := n.text(t.Context(), &namedFile{file: runs.LibraryFile{Name: "a.fasta", Key: "library/gone"}})
		var got *pleat.Error
		if !errors.As(err, &got) || got.Message != message || got.Code != code {
			t.Errorf("%v, code %s; want %q, code %s", err, pleat.CodeOf(err), message, code)
		}
	}
	fails(pleat.CodeInvalid, `the file "a.fasta" is gone`)
	if err := blobs.Close(); err != nil {
		t.Fatal(err)
	}
	fails(pleat.CodeUnavailable, "the file cannot be read now; try again")
}
