package main

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"pleat/internal/store"
)

const (
	// judgedMinutes is how long the steady work must last for its second half to say something.
	judgedMinutes = 10
	// deadFloor and sizeFloor are dead rows and bytes below which a table counts as this many: small tables grow by a
	// page that way or another.
	deadFloor, sizeFloor = 10_000, 8 << 20
	// deadBound and sizeBound are how much more a table may have in the second half than in the first.
	deadBound, sizeBound = 1.5, 1.1
)

// queueTables are the tables whose rows do not grow with the history.
var queueTables = []string{"task", "endpoint", "quota_day", "result_use", "worker", "speed"}

// report prints the sizes of the tables and their indexes after the filling.
func (g *growthBench) report(ctx context.Context) error {
	rows, err := g.dbs[1].QueryContext(ctx, `
		SELECT t.relname, t.n_live_tup, pg_relation_size(t.relid),
			COALESCE((
				SELECT string_agg(
					i.indexrelname || ' ' || pg_size_pretty(pg_relation_size(i.indexrelid)), ', '
					ORDER BY pg_relation_size(i.indexrelid) DESC)
				FROM pg_stat_user_indexes i
				WHERE i.relid = t.relid
			), '')
		FROM pg_stat_user_tables t
		WHERE t.n_live_tup > 1000
		ORDER BY pg_total_relation_size(t.relid) DESC`)
	if err != nil {
		return err
	}
	defer rows.Close()
	fmt.Fprintln(&g.notes, "\nThe large database after its filling:")
	fmt.Fprintln(&g.notes, "\n| Table | Rows | Size | Indexes |\n|---|---|---|---|")
	for rows.Next() {
		var name, indexes string
		var live, size int64
		if err := rows.Scan(&name, &live, &size, &indexes); err != nil {
			return err
		}
		fmt.Fprintf(&g.notes, "| %s | %d | %.0f MB | %s |\n", name, live, float64(size)/1e6, indexes)
	}
	if err := rows.Err(); err != nil {
		return err
	}
	size, wal, err := g.disk(ctx)
	if err != nil {
		return err
	}
	perTask := float64(size) / float64(g.sizes.ended+g.sizes.waiting)
	g.lines = append(g.lines, line{
		what:     fmt.Sprintf("database of %d ended and %d waiting tasks", g.sizes.ended, g.sizes.waiting),
		database: g.database.name,
		figure:   fmt.Sprintf("%.2f GB", float64(size)/1e9),
		ceiling:  fmt.Sprintf("%.0f bytes for each task; write-ahead log %s", perTask, wal),
	})
	return nil
}

// disk returns the size of the large database, and that of the write-ahead log of the server as text: only some users
// may read it.
func (g *growthBench) disk(ctx context.Context) (size int64, wal string, err error) {
	if err := g.dbs[1].QueryRowContext(ctx, "SELECT pg_database_size(current_database())").Scan(&size); err != nil {
		return 0, "", err
	}
	var log int64
	if g.dbs[1].QueryRowContext(ctx, "SELECT sum(size)::bigint FROM pg_ls_waldir()").Scan(&log) != nil {
		return size, "unknown", nil
	}
	return size, fmt.Sprintf("%.2f GB", float64(log)/1e9), nil
}

// tableSample is a table at a moment.
type tableSample struct {
	live, dead, vacuums int64
	heap, indexes       int64 // bytes
}

// growthSamples watches the tables of the large database.
type growthSamples struct {
	g    *growthBench
	work *steadyWork
	// inspects says that the extension pgstattuple is there.
	inspects bool
	began    time.Time
	// list has a sample of each table by its name.
	list []map[string]tableSample
}

// newGrowthSamples prepares the samples.
func newGrowthSamples(ctx context.Context, g *growthBench, work *steadyWork) (*growthSamples, error) {
	_, err := g.dbs[1].ExecContext(ctx, "CREATE EXTENSION IF NOT EXISTS pgstattuple")
	s := &growthSamples{g: g, work: work, inspects: err == nil, began: time.Now()}
	var naptime, scale string
	err = g.dbs[1].QueryRowContext(ctx, `
		SELECT current_setting('autovacuum_naptime'), current_setting('autovacuum_vacuum_scale_factor')`).
		Scan(&naptime, &scale)
	fmt.Fprintf(&g.notes, "\nSteady work, with autovacuum_naptime %s and autovacuum_vacuum_scale_factor %s:\n\n",
		naptime, scale)
	fmt.Fprintln(&g.notes, "| Minute | Jobs | Tasks | Dead tasks | Vacuums | Task, MB | Its indexes, MB | Density of "+
		"task_ready | Most dead rows | Deliveries that wait | Database, GB | Log |")
	fmt.Fprintln(&g.notes, "|"+strings.Repeat("---|", 12))
	return s, err
}

// run takes a sample at the start, then each minute, or twelve in all if the work is shorter than that. It fails if the
// disk is nearly full.
func (s *growthSamples) run(ctx context.Context, took time.Duration) error {
	every := min(time.Minute, took/12)
	for at := time.Duration(0); at <= took; at += every {
		if err := pauseFor(ctx, time.Until(s.began.Add(at))); err != nil {
			return err
		}
		if err := s.take(ctx, at); err != nil {
			return err
		}
		if free, ok := s.g.freeBytes(ctx); ok && free < spareBytes/2 {
			return fmt.Errorf("only %.1f GB are free on the disk of PostgreSQL", float64(free)/1e9)
		}
	}
	return nil
}

// take takes one sample and notes it.
func (s *growthSamples) take(ctx context.Context, at time.Duration) error {
	rows, err := s.g.dbs[1].QueryContext(ctx, `
		SELECT relname, n_live_tup, n_dead_tup, autovacuum_count, pg_table_size(relid), pg_indexes_size(relid)
		FROM pg_stat_user_tables`)
	if err != nil {
		return err
	}
	defer rows.Close()
	all := map[string]tableSample{}
	most := "none"
	for rows.Next() {
		var name string
		var t tableSample
		if err := rows.Scan(&name, &t.live, &t.dead, &t.vacuums, &t.heap, &t.indexes); err != nil {
			return err
		}
		all[name] = t
		if name != "task" && t.dead > all[most].dead {
			most = name
		}
	}
	if err := rows.Err(); err != nil {
		return err
	}
	s.list = append(s.list, all)
	density := "unknown"
	if s.inspects {
		var leaves float64
		if err := s.g.dbs[1].QueryRowContext(ctx, "SELECT avg_leaf_density FROM pgstatindex('task_ready')").
			Scan(&leaves); err != nil {
			return err
		}
		density = fmt.Sprintf("%.0f %%", leaves)
	}
	var pending int
	if err := s.g.dbs[1].QueryRowContext(ctx, deliveriesWaiting).Scan(&pending); err != nil {
		return err
	}
	size, wal, err := s.g.disk(ctx)
	if err != nil {
		return err
	}
	task := all["task"]
	row := fmt.Sprintf("| %.1f | %d | %d | %d | %d | %.1f | %.1f | %s | %s %d | %d | %.2f | %s |", at.Minutes(),
		s.work.taken.Load(), task.live, task.dead, task.vacuums, float64(task.heap)/1e6, float64(task.indexes)/1e6,
		density, most, all[most].dead, pending, float64(size)/1e9, wal)
	fmt.Fprintln(&s.g.notes, row)
	s.g.say("%s", row)
	return nil
}

// deliveriesWaiting counts the deliveries that have not ended.
const deliveriesWaiting = "SELECT count(*) FROM task WHERE kind = 'deliver'"

// awaitDelivered returns when no delivery waits.
func awaitDelivered(ctx context.Context, db *sql.DB) error {
	for {
		var n int
		err := db.QueryRowContext(ctx, deliveriesWaiting).Scan(&n)
		if err != nil || n == 0 {
			return err
		}
		if err := pauseFor(ctx, 20*time.Millisecond); err != nil {
			return err
		}
	}
}

// most returns the largest value of a table in each half of the samples, at least floor.
func (s *growthSamples) most(table string, floor int64, of func(tableSample) int64) (first, second float64) {
	half := len(s.list) / 2
	largest := func(list []map[string]tableSample) float64 {
		n := floor
		for _, all := range list {
			n = max(n, of(all[table]))
		}
		return float64(n)
	}
	return largest(s.list[:half]), largest(s.list[half:])
}

// judge adds the lines: dead rows stop growing in every table, the queue's tables stop growing, and the bytes of a
// history's row do. It notes the figures of each table.
func (s *growthSamples) judge() {
	last := s.list[len(s.list)-1]
	start, middle := s.list[0], s.list[len(s.list)/2]
	fmt.Fprintln(&s.g.notes, "\nDead rows and sizes at most in the first half, and in the second; bytes for each "+
		"row at the start, in the middle and at the end:")
	fmt.Fprintln(&s.g.notes, "\n| Table | Rows at the end | Dead rows | Size with indexes, MB | Bytes for each row | "+
		"Vacuums |\n|---|---|---|---|---|---|")
	worst := map[string]judgement{}
	for _, name := range slices.Sorted(maps.Keys(last)) {
		if t := last[name]; t.live == 0 && t.dead == 0 || name == store.VersionTable {
			continue
		}
		size := func(t tableSample) int64 { return t.heap + t.indexes }
		perRow := func(t tableSample) float64 { return float64(size(t)) / float64(max(t.live, 1)) }
		d1, d2 := s.most(name, 0, func(t tableSample) int64 { return t.dead })
		z1, z2 := s.most(name, 0, size)
		fmt.Fprintf(&s.g.notes, "| %s | %d | %.0f, %.0f | %.1f, %.1f | %.0f, %.0f, %.0f | %d |\n",
			name, last[name].live, d1, d2, z1/1e6, z2/1e6,
			perRow(start[name]), perRow(middle[name]), perRow(last[name]),
			last[name].vacuums-start[name].vacuums)
		record := func(what string, first, second float64) {
			if j := (judgement{name, first, second}); j.ratio() > worst[what].ratio() {
				worst[what] = j
			}
		}
		d1, d2 = s.most(name, deadFloor, func(t tableSample) int64 { return t.dead })
		record("dead rows", d1, d2)
		if z1, z2 = s.most(name, sizeFloor, size); slices.Contains(queueTables, name) {
			record("bytes of a table of the queue", z1, z2)
		} else if size(last[name]) > sizeFloor {
			record("bytes for each row of the history", perRow(middle[name]), perRow(last[name]))
		}
	}
	for _, what := range slices.Sorted(maps.Keys(worst)) {
		bound := sizeBound
		if what == "dead rows" {
			bound = deadBound
		}
		s.g.atMost(worst[what].line(what, s.g.database), worst[what].ratio(), bound)
		if s.g.sizes.minutes < judgedMinutes {
			s.g.lines[len(s.g.lines)-1].unmeasured = fmt.Sprintf("needs %d minutes", judgedMinutes)
		}
	}
}

// judgement compares a figure of a table in the second half with that in the first.
type judgement struct {
	table         string
	first, second float64
}

// ratio is the growth; 0 for the zero judgement.
func (j judgement) ratio() float64 {
	if j.first == 0 {
		return 0
	}
	return j.second / j.first
}

// line describes the table that grew most.
func (j judgement) line(what string, d database) line {
	return line{
		what:     what + " in the second half of the steady work, worst table",
		database: d.name,
		figure:   fmt.Sprintf("%s %.0f", j.table, j.second),
		ceiling:  fmt.Sprintf("first half %.0f", j.first),
	}
}
