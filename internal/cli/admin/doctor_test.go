package admin

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pleat/internal/config"
	"pleat/internal/store/db"
)

// A database that other users can read, and that pleat could not make private, fails the check.
func TestDoctorRefusesAReadableDatabase(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pleat.db")
	for _, name := range db.SQLiteFiles(path) {
		if err := os.WriteFile(name, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var out bytes.Buffer
	c := config.Default()
	c.Database = "sqlite:" + path
	d := &doctor{out: &out, cfg: c}
	if d.privacy(); d.failed != 0 {
		t.Errorf("private: %s", out.String())
	}
	for _, name := range db.SQLiteFiles(path) {
		if err := os.Chmod(name, 0o640); err != nil {
			t.Fatal(err)
		}
	}
	if d.privacy(); d.failed != 3 || !strings.Contains(out.String(), "chmod 600 "+path+"-wal") {
		t.Errorf("readable: %d failures: %s", d.failed, out.String())
	}
}
