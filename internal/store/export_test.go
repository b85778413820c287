package store

import "context"

// Settings returns a setting of the PostgreSQL sessions of each pool.
func (s *Store) Settings(ctx context.Context, name string) (main, nowait string, err error) {
	if err := s.db.QueryRowContext(ctx, "SELECT current_setting($1)", name).Scan(&main); err != nil {
		return "", "", err
	}
	err = s.asyncDB.QueryRowContext(ctx, "SELECT current_setting($1)", name).Scan(&nowait)
	return main, nowait, err
}
