package people

import (
	"cmp"
	"context"
	"math"
	"strconv"
	"time"

	"pleat"
	"pleat/internal/store/db"
)

// Limits are what one project may have. The zero value of a field: no limit. The verbs that add a row check them in the
// transaction that adds it, so that they hold between concurrent calls. All nodes of a service need the same.
type Limits struct {
	Jobs         int   // jobs and runs created per UTC day, for projects without a quota of their own
	Workflows    int   // workflows started per UTC day
	BatchRows    int   // rows of batches created per UTC day
	Drafts       int   // workflows that have no run: drafts, and those that were cancelled
	LibraryItems int   // items of the library and the files in them
	LibraryBytes int64 // of the files and metadata of the library and the input of drafts
	ResultsBytes int64 // of the input and the files of all runs; checked when work is added, so that no run fails by it
	// KeepResults is how long a job or workflow is kept after the end of its latest run.
	KeepResults time.Duration
}

// LibraryUse is what a project has of what Limits.LibraryItems and Limits.LibraryBytes bound. The files that a
// simulation adds to the library are not counted: it shares the files of its run.
type LibraryUse struct {
	Items int
	Bytes int64
}

// libraryUseSQL reads the LibraryUse of the project $1 from an index.
const libraryUseSQL = `
	SELECT CAST(COALESCE(sum(entries), 0) AS bigint),
		CAST(COALESCE(sum(bytes), 0) + (
			SELECT COALESCE(sum(w.input_bytes), 0) FROM workflow w
			WHERE w.project_id = $1 AND w.run_id = '' AND w.deleted_at = 0) AS bigint)
	FROM library_item
	WHERE project_id = $1`

// LibraryUse reads what the library of a project holds.
func (s *Store) LibraryUse(ctx context.Context, owner pleat.ProjectID) (LibraryUse, error) {
	var u LibraryUse
	err := s.db.ReadRow(ctx, libraryUseSQL, []any{owner}, &u.Items, &u.Bytes)
	return u, db.Unavailable("read the use of the library", err)
}

// Limits returns what one project of this store may have.
func (s *Store) Limits() Limits { return s.limits }

// LockProject makes verbs that change what a project has wait for each other, so that two of them cannot both use what
// is left.
func LockProject(t *db.Tx, owner pleat.ProjectID) error {
	if !t.Postgres() {
		return nil // SQLite has one writer
	}
	n, err := t.Exec("SELECT 1 FROM project WHERE id = $1 AND deleted_at = 0 FOR UPDATE", owner)
	if err == nil && n == 0 {
		err = pleat.ErrNoProject // ops.Store.DeleteProject came first
	}
	return err
}

// lockAccount is LockProject for what a user has apart from projects.
func lockAccount(t *db.Tx, user pleat.UserID) error {
	if !t.Postgres() {
		return nil
	}
	_, err := t.Exec("SELECT 1 FROM account WHERE id = $1 FOR UPDATE", user)
	return err
}

// GrowLibrary refuses to add entries and bytes to a project's library if it would then hold more than it may. The
// caller holds [LockProject]. CodeConflict: too many items; CodeTooLarge: too many bytes, of the thing that what names.
func (s *Store) GrowLibrary(t *db.Tx, owner pleat.ProjectID, add LibraryUse, what string) error {
	limits := s.limits
	if limits.LibraryItems == 0 && limits.LibraryBytes == 0 {
		return nil
	}
	var u LibraryUse
	if err := t.Row(libraryUseSQL, []any{owner}, &u.Items, &u.Bytes); err != nil {
		return err
	}
	if most := limits.LibraryItems; most > 0 && add.Items > 0 && u.Items+add.Items > most {
		return pleat.Errorf(pleat.CodeConflict, "the library may hold %d items and files and it holds %d; "+
			"delete some of them first", most, u.Items)
	}
	if most := limits.LibraryBytes; most > 0 && add.Bytes > 0 && u.Bytes+add.Bytes > most {
		return ErrLibraryFull(most, u.Bytes, add.Bytes, what)
	}
	return nil
}

// ErrLibraryFull refuses to add bytes to a library that holds used of most bytes. The argument what names the thing
// that has them, such as «this file».
func ErrLibraryFull(most, used, add int64, what string) *pleat.Error {
	return pleat.Errorf(pleat.CodeTooLarge,
		"the library may hold %d bytes; it holds %d and %s has %d: delete files that you no longer need",
		most, used, what, add)
}

// CountDraft refuses another draft of a project that has as many as Limits.Drafts allows, or whose library would hold
// too much with the draft's input.
func (s *Store) CountDraft(t *db.Tx, owner pleat.ProjectID, bytes int) error {
	if err := LockProject(t, owner); err != nil {
		return err
	}
	if most := s.limits.Drafts; most > 0 {
		var n int
		if err := t.Row("SELECT count(*) FROM workflow WHERE project_id = $1 AND run_id = '' AND deleted_at = 0",
			[]any{owner}, &n); err != nil {
			return err
		}
		if n >= most {
			return pleat.Errorf(pleat.CodeConflict, "the project has %d drafts and may have %d; "+
				"delete or execute some of them, cancelled ones count too", n, most)
		}
	}
	return s.GrowLibrary(t, owner, LibraryUse{Bytes: int64(bytes)}, "this draft")
}

// jobsOf returns the daily quota of a project whose own quota is given; a negative one is the service's default.
func (l Limits) jobsOf(quota int) int {
	if quota >= 0 {
		return quota
	}
	return cmp.Or(l.Jobs, math.MaxInt32)
}

// workflows returns the daily quota of workflows.
func (l Limits) workflows() int { return cmp.Or(l.Workflows, math.MaxInt32) }

// batchRows returns the daily quota of rows of batches.
func (l Limits) batchRows() int { return cmp.Or(l.BatchRows, math.MaxInt32) }

// AskResults reads how many bytes a project's runs hold, if that is bounded.
func (s *Store) AskResults(t *db.Tx, owner pleat.ProjectID, used *int64) {
	if s.limits.ResultsBytes > 0 {
		t.Ask("SELECT CAST(COALESCE(sum(bytes), 0) AS bigint) FROM result_use WHERE project_id = $1", []any{owner},
			func(scan func(...any) error) error { return scan(used) })
	}
}

// resultParts is the number of rows of result_use for a project on PostgreSQL. SQLite has one writer and uses one.
const resultParts = 8

// CountResultBytes counts bytes for the projects of runs. Bytes is an SQL expression, from is what follows FROM, and
// args are the parameters of both. The sum over the rows of result_use is what a project's runs hold, so every
// statement that changes run.bytes needs a call, before it or after it. PostgreSQL runs it last in a transaction: runs
// of one project that end at the same time wait for one another only if they have drawn the same part, and then for a
// commit.
func CountResultBytes(t *db.Tx, bytes, from string, args ...any) {
	q := ResultUseSQL("CAST($"+strconv.Itoa(len(args)+1)+" AS bigint)", bytes, from)
	t.SendLast(q, append(args, spendingIn(t).part)...)
}

// ResultUseSQL adds to a part of result_use.
func ResultUseSQL(part, bytes, from string) string {
	return `
		INSERT INTO result_use (project_id, part, bytes)
		SELECT project_id, ` + part + `, CAST(` + bytes + ` AS bigint) FROM ` + from + `
		GROUP BY project_id
		HAVING ` + bytes + ` <> 0
		ON CONFLICT (project_id, part) DO UPDATE SET bytes = result_use.bytes + excluded.bytes`
}

// RecountResults corrects the counts of result_use, which are wrong after an older program has changed runs, as during
// an upgrade. It reads all runs. One statement sees the runs and the counts of one moment, and adds the differences,
// so that nothing else has to wait.
func (s *Store) RecountResults(ctx context.Context) error {
	return s.db.Write(ctx, "recount results", func(t *db.Tx) error {
		if t.Postgres() {
			t.Send("SET LOCAL enable_seqscan = on")
			t.Send("SELECT pg_advisory_xact_lock(hashtext('pleat result_use'))") // of two nodes the second sees the sum
			if err := t.Wait(); err != nil {
				return err
			}
		}
		t.Send(ResultUseSQL("0", "sum(bytes)",
			"(SELECT project_id, bytes FROM run UNION ALL SELECT project_id, -bytes FROM result_use) AS held"))
		return nil
	})
}

// CheckResults refuses new work of a project whose runs hold as many bytes as Limits.ResultsBytes allows. Files that
// runs share count for each of them. CodeConflict.
func (s *Store) CheckResults(t *db.Tx, used int64) error {
	if most := s.limits.ResultsBytes; most > 0 && used >= most {
		return pleat.Errorf(pleat.CodeConflict, "the jobs and workflows of the project hold %d bytes and may hold %d; "+
			"delete those that are no longer needed", used, most)
	}
	return nil
}

// Retention is how long a project keeps jobs, workflows and batches that have ended; 0: for ever.
func (s *Store) Retention(ctx context.Context, owner pleat.ProjectID) (time.Duration, error) {
	var keep int64
	if err := s.db.ReadRow(ctx, "SELECT keep_results FROM project WHERE id = $1", []any{owner}, &keep); err != nil {
		return 0, db.Unavailable("read project", db.MapNoRows(err, pleat.ErrNoProject))
	}
	return s.RetentionOrDefault(keep), nil
}

// RetentionOrDefault is how long a project keeps what has ended, from its column in microseconds; 0: for ever.
func (s *Store) RetentionOrDefault(keep int64) time.Duration {
	if keep >= 0 {
		return time.Duration(keep) * time.Microsecond
	}
	return s.limits.KeepResults
}

// RetentionSQL is that column of the project that owns a row of a table, in SQL.
func RetentionSQL(table string) string {
	return "COALESCE((SELECT p.keep_results FROM project p WHERE p.id = " + table + ".project_id), -1)"
}

// Expiry is when something that ended at a time and is kept so long may be deleted; the zero time: never, or it has not
// ended.
func Expiry(ended time.Time, keep time.Duration) time.Time {
	if ended.IsZero() || keep == 0 {
		return time.Time{}
	}
	return ended.Add(keep)
}
