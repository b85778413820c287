package db

import (
	"errors"
	"path/filepath"
	"testing"
)

// SQLite overwrites what is deleted in Overwriting, each time, and not afterwards.
func TestOverwriting(t *testing.T) {
	t.Parallel()
	s, err := Open(t.Context(), "sqlite:"+filepath.Join(t.TempDir(), "pleat.db"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	setting := func(t *Tx) (on int, err error) {
		return on, t.conn.QueryRowContext(t.ctx, "PRAGMA secure_delete").Scan(&on)
	}
	failed := errors.New("failed")
	for _, want := range []error{nil, failed, nil} {
		during := 0
		err := s.Write(t.Context(), "try", func(t *Tx) error {
			return t.Overwriting(func() (err error) {
				during, err = setting(t)
				return errors.Join(err, want)
			})
		})
		if !errors.Is(err, want) || during != 1 {
			t.Errorf("error %v, setting %d; want %v, 1", err, during, want)
		}
		after := -1
		err = s.Write(t.Context(), "read", func(t *Tx) (err error) {
			after, err = setting(t)
			return err
		})
		if err != nil || after != 0 {
			t.Errorf("error %v, setting %d afterwards; want 0", err, after)
		}
	}
}
