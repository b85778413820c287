package blob_test

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pleat"
	"pleat/internal/blob"
)

// A folder that cannot be measured counts as full. The log tells once when new work stops, and once when it starts.
func TestDisk(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	now := time.Unix(0, 0)
	folder := filepath.Join(t.TempDir(), "later")
	d := &blob.Disk{
		Folders: []string{t.TempDir(), folder},
		Least:   1,
		Clock:   func() time.Time { return now },
		Log:     slog.New(slog.NewTextHandler(&log, nil)),
	}
	for range 2 {
		if err := d.Check(); pleat.CodeOf(err) != pleat.CodeUnavailable {
			t.Errorf("a folder that does not exist: %v", err)
		}
		now = now.Add(time.Second)
	}
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := d.Check(); err != nil {
			t.Error(err)
		}
		now = now.Add(time.Second)
	}
	if free, err := d.Free(); free <= 0 || err != nil {
		t.Errorf("%d bytes, %v", free, err)
	}
	for _, line := range []string{"cannot be measured; no new work starts", "new work starts\" free"} {
		if n := strings.Count(log.String(), line); n != 1 {
			t.Errorf("%q is logged %d times in %s", line, n, &log)
		}
	}
	var none *blob.Disk
	if err := none.Check(); err != nil {
		t.Error("nil has a limit: ", err)
	}
}
