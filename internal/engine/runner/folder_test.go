package runner

import (
	"os"
	"path/filepath"
	"testing"
)

// A process cannot fill the disk with the copy of a checkpoint that has a size but no content.
func TestCopyOutIsBounded(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	folder, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer folder.Close()
	q := &predictRequest{folder: folder}
	to := filepath.Join(t.TempDir(), "copy")
	for size, fits := range map[int64]bool{1 << 20: true, maxResultFile + 1: false} {
		if err := os.WriteFile(filepath.Join(dir, "sparse"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(filepath.Join(dir, "sparse"), size); err != nil {
			t.Fatal(err)
		}
		_ = os.Remove(to)
		err := q.copyOut("sparse", to)
		if info, statErr := os.Stat(to); fits && (err != nil || statErr != nil || info.Size() != size) ||
			!fits && (err == nil || statErr == nil) {
			t.Errorf("%d bytes: %v, %v", size, err, statErr)
		}
	}
}
