package db

import (
	"database/sql"
	"path/filepath"
	"testing"
)

// Idle connections of SQLite close on request, and as many as before are kept when there is work again.
func TestIdleConnectionsClose(t *testing.T) {
	t.Parallel()
	s, err := Open(t.Context(), "sqlite:"+filepath.Join(t.TempDir(), "pleat.db"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	idle := func(want int, after string) {
		t.Helper()
		if got := s.db.Stats().Idle; got != want {
			t.Errorf("%d connections are idle after %s, want %d", got, after, want)
		}
	}
	for range 2 {
		var used []*sql.Conn
		for range 3 {
			c, err := s.db.Conn(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			used = append(used, c)
		}
		for _, c := range used {
			c.Close()
		}
		idle(3, "three were used at once")
		s.CloseIdle()
		idle(0, "CloseIdle")
		if _, err := s.Version(t.Context()); err != nil {
			t.Errorf("a read after CloseIdle: %v", err)
		}
	}
}
