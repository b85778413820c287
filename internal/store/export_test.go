package store

import (
	"context"
	"io/fs"
	"testing/fstest"
	"time"

	"pleat"
)

// Settings returns a setting of PostgreSQL in the transactions that wait for the disk and in those that do not.
func (s *Store) Settings(ctx context.Context, name string) (main, nowait string, err error) {
	read := func(dst *string) func(*tx) error {
		return func(t *tx) error { return t.row("SELECT current_setting($1)", []any{name}, dst) }
	}
	if err := s.write(ctx, "read a setting", read(&main)); err != nil {
		return "", "", err
	}
	err = s.writeAsync(ctx, "read a setting", read(&nowait))
	return main, nowait, err
}

// PurgeStatements are the statements that delete the rows of a deleted job or workflow, which is their parameter.
func PurgeStatements() (out []string) {
	for _, kind := range tombstones {
		for _, step := range kind.steps() {
			out = append(out, kind.statement(step.text))
		}
	}
	return out
}

// GlanceStatements are the statements of Glance and RecentTimings on a database, with their parameters.
func GlanceStatements(dialect string) map[string][]any {
	return map[string][]any{
		glanceQueued:                 nil,
		unqueuedTasks(GlanceCounted): nil,
		glanceRunningTasks:           nil,
		glanceEnded:                  {idAt(time.Now().UnixMicro()), time.Now().UnixMicro()},
		glanceTimings(dialect):       nil,
		countPeople:                  nil,
		tasksHeld:                    nil,
		usersPage:                    {afterAllIDs, 100},
		auditBetween:                 {"0", "g", 100},
		auditCount:                   {"0", "g", 100},
	}
}

// WalkedTable is BatchTable in the order of the table, however few rows a condition selects.
func (s *Store) WalkedTable(ctx context.Context, b *pleat.Batch, q TableQuery) ([]TableRow, *RowPosition, error) {
	list, err := s.walkedRows(ctx, b, &q)
	list, next := q.cut(list)
	return list, next, err
}

// Rows returns the numbers of the rows of a whole table that a query selects, in its order.
func (q *TableQuery) Rows(all []TableRow) []int {
	var out []int
	for _, r := range q.rows(all) {
		out = append(out, r.Number)
	}
	return out
}

// BeginBatch stores a batch with its rows, and does not open it.
func (s *Store) BeginBatch(ctx context.Context, n *NewBatch) error {
	n.Batch.ID = pleat.BatchID(newID())
	if _, err := s.beginBatch(ctx, n); err != nil {
		return err
	}
	return s.storeRows(ctx, n)
}

// MigrateLater is Migrate for a later program, which knows migrations in addition to this one's, by name.
func (s *Store) MigrateLater(ctx context.Context, more map[string]string) (from, to int64, err error) {
	all := fstest.MapFS{}
	names, err := fs.Glob(migrations, "*.sql")
	for _, name := range names {
		var text []byte
		if err == nil {
			text, err = fs.ReadFile(migrations, name)
		}
		all[name] = &fstest.MapFile{Data: text}
	}
	if err != nil {
		return 0, 0, err
	}
	for name, text := range more {
		all[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return s.migrate(ctx, all)
}

// Bounds are the bounds that hold in a store.
func (s *Store) Bounds() Bounds { return s.bounds }

// NotPaused is the condition by which a claim leaves paused models out.
func NotPaused(queue string) string { return notPaused(queue) }
