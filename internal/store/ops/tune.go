package ops

import (
	"context"
	"fmt"

	"pleat/internal/store/db"
)

// Tune gives the tables of PostgreSQL the settings and the index that they need besides the schema: see tuned and
// runs.nameIndexSteps. It may take minutes, during which everything else works. The service works without them, only
// slower, for instance where Pleat's role does not own the tables. On SQLite there is nothing to do.
func (s *Store) Tune(ctx context.Context) error {
	if !s.db.Postgres() {
		return nil
	}
	if err := s.tuneTables(ctx); err != nil {
		return fmt.Errorf("set the storage parameters of tables: %w", err)
	}
	if err := s.runs.IndexNames(ctx); err != nil {
		const text = "make the index for searches by name, which needs the extensions pg_trgm and btree_gin: %w"
		return fmt.Errorf(text, err)
	}
	return nil
}

// tuned are storage parameters of PostgreSQL's tables. Where rows are replaced often, each page is filled to fill
// percent and keeps the rest for that. A table is vacuumed when the share dead of its rows is dead, and its statistics
// are renewed when as many have changed; by default it is a fifth and a tenth, which in a table of ten million rows
// takes days to come together and then long to clean. A claim reads past every dead row of its queue.
var tuned = []struct {
	table string
	fill  int // 0: PostgreSQL's default
	dead  float64
}{
	{"task", 70, 0.01},
	{"attempt", 80, 0.02},
	{"job", 90, 0.02},
	{"run", 80, 0.02},
	{"delivery", 80, 0.02},
	{"run_event", 0, 0.02},
	{"artifact", 0, 0.02},
	{"event", 0, 0.02},
	{"subscription", 0, 0.02},
	{"endpoint", 80, 0.02},
	{"quota_day", 70, 0.02},
	{"result_use", 50, 0.02},
	{"worker", 70, 0.02},
}

// tuneTables sets the parameters of tuned that nobody has set: an operator may have chosen others.
func (s *Store) tuneTables(ctx context.Context) error {
	var args []any
	for _, t := range tuned {
		args = append(args, t.table, "autovacuum_vacuum_scale_factor", fmt.Sprint(t.dead),
			t.table, "autovacuum_analyze_scale_factor", fmt.Sprint(t.dead))
		if t.fill > 0 {
			args = append(args, t.table, "fillfactor", fmt.Sprint(t.fill))
		}
	}
	steps, err := db.ColumnOf[string](s.db.Read(ctx, `
		SELECT 'ALTER TABLE ' || v.column1 || ' SET (' || v.column2 || ' = ' || v.column3 || ')'
		FROM (`+db.Values(1, len(args)/3, "text", "text", "text")+`) AS v
		JOIN pg_class c ON c.oid = to_regclass(v.column1)
		WHERE NOT EXISTS (SELECT 1 FROM unnest(c.reloptions) AS o WHERE split_part(o, '=', 1) = v.column2)`,
		args...))
	for _, step := range steps {
		if err == nil {
			err = s.db.Configure(ctx, step)
		}
	}
	return err
}
