package ops

import (
	"context"
	"fmt"
)

// Tune gives the tables of PostgreSQL the settings and the index that they need besides the schema: see tuned and
// runs.nameIndexSteps. It may take minutes, during which everything else works. The service works without them, only
// slower, for instance where Pleat's role does not own the tables. On SQLite there is nothing to do.
func (s *Store) Tune(ctx context.Context) error {
	if !s.db.Postgres() {
		return nil
	}
	if err := s.db.TuneTables(ctx); err != nil {
		return fmt.Errorf("set the storage parameters of tables: %w", err)
	}
	if err := s.runs.IndexNames(ctx); err != nil {
		const text = "make the index for searches by name, which needs the extensions pg_trgm and btree_gin: %w"
		return fmt.Errorf(text, err)
	}
	return nil
}
