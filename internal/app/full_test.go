package app

import (
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pleat/internal/config"
	"pleat/internal/store/storetest"
)

// TestServesWhatCannotBeChanged starts a server of a database that takes no changes, as that of a full disk or a
// standby. It serves, says so, logs it once, and works once the database takes changes.
func TestServesWhatCannotBeChanged(t *testing.T) {
	t.Parallel()
	c := config.Default()
	c.Data, c.Addr, c.Engines, c.Deliver = t.TempDir(), "127.0.0.1:0", []string{"null"}, false
	c.Database, c.SecretKey, c.Blobs = storetest.Postgres(t), testKey, t.TempDir()
	if err := startNode(c, quiet); err != nil {
		t.Fatal(err)
	}
	d, err := openStore(t.Context(), c, quiet)
	if err != nil {
		t.Fatal(err)
	}
	defer d.DB.Close()
	set := func(text string) {
		t.Helper()
		q := "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I " + text + "', current_database()); END $$"
		raw := d.DB.Direct()
		defer raw.Close()
		for _, q := range []string{"SET default_transaction_read_only = off", q} {
			if _, err := raw.ExecContext(t.Context(), q); err != nil {
				t.Fatal(err)
			}
		}
	}
	set("SET default_transaction_read_only = on")
	var log storetest.Log
	s := startServiceWith(t, c, slog.New(slog.NewTextHandler(&log, nil)))
	if status, body := get(t, s.url+"/readyz", ""); status != http.StatusOK ||
		!strings.Contains(body, `"writes":"the database takes no changes now`) {
		t.Errorf("%d %s", status, body)
	}
	set("RESET default_transaction_read_only")
	storetest.Eventually(t, "the worker is known", func() bool {
		_, body := get(t, s.url+"/readyz", "")
		return strings.Contains(body, `"workers":"ok"`) && strings.Contains(body, `"writes":"ok"`)
	})
	for text, want := range map[string]int{
		"the database takes no changes; what it has is served": 1, "the database takes changes again": 1,
	} {
		if n := strings.Count(log.String(), text); n != want {
			t.Errorf("the log has %q %d times:\n%s", text, n, log.String())
		}
	}
}

// A database that this process may never write ends the start, with the reason.
func TestDatabaseThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	if os.Geteuid() == 0 {
		t.Skip("root may write every file")
	}
	c := nodeConfig(t, "", "")
	if err := startNode(c, quiet); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(c.Data, "pleat.db")
	if err := os.Chmod(path, 0o400); err != nil {
		t.Fatal(err)
	}
	if err := startNode(c, quiet); err == nil || !strings.Contains(err.Error(), path+" cannot be written") {
		t.Errorf("%v", err)
	}
}
