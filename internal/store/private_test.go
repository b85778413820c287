package store_test

import (
	"context"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"pleat/internal/store"
	"pleat/internal/store/storetest"
)

// Other users of the machine cannot read the database, whatever the folder that it is in and the umask: not a new one,
// and not one that an earlier version has made readable.
//
//nolint:paralleltest // it sets the umask of the process
func TestDatabaseFilesArePrivate(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0o022))
	for name, old := range map[string]bool{"new": false, "readable before": true} {
		dir := t.TempDir()
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, "pleat.db")
		open := func() *store.Store {
			s, err := store.Open(context.Background(), "sqlite:"+path, store.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if _, _, err := s.DB.Migrate(context.Background()); err != nil {
				t.Fatal(err)
			}
			storetest.User(t, s, "ann")
			return s
		}
		if old {
			// A database that is in use, so that its log and its index are there too.
			defer open().DB.Close()
			for _, file := range []string{path, path + "-wal", path + "-shm"} {
				if err := os.Chmod(file, 0o644); err != nil {
					t.Fatal(err)
				}
			}
		}
		defer open().DB.Close()
		seen := 0
		files, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			info, err := f.Info()
			if err != nil {
				t.Fatal(err)
			}
			seen++
			if info.Mode().Perm() != 0o600 {
				t.Errorf("%s: %s has the mode %o", name, f.Name(), info.Mode().Perm())
			}
		}
		if seen != 3 {
			t.Errorf("%s: %d files; want the database, its log and its index", name, seen)
		}
	}
}
