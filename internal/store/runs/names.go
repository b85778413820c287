package runs

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"pleat/internal/store/db"
	"pleat/internal/store/people"
)

const (
	// searchedFirst is how many of a user's newest jobs a search on PostgreSQL reads before it uses the index of names.
	searchedFirst = 1000
	// mostNamed is how many jobs a search takes from the index of names, which does not know which are the newest. If
	// more jobs have a name, the newest are found sooner among all jobs of the user.
	mostNamed = 2000
)

// trigram is the least that a part of a name must have for the index to find it. PostgreSQL counts more letters as such
// in some locales, but these in all.
var trigram = regexp.MustCompile(`[0-9a-z]{3}`)

// searchJobs is ListJobs on PostgreSQL for the jobs whose names have a part. Its steps do not depend on estimates:
// PostgreSQL does not know which of the project's jobs have the name.
func (s *Store) searchJobs(ctx context.Context, by people.Reach, f Filter) ([]JobRow, error) {
	part := strings.ToLower(f.Query)
	newest := func(n int) ([]JobRow, error) {
		p := f.page(by)
		jobs := "(" + p.SQL("*", "job j", n) + ")"
		p.Contains("j.name", part)
		return s.listJobs(ctx, p, jobs, f.Limit)
	}
	if list, err := newest(searchedFirst); err != nil || len(list) == f.Limit {
		return list, err
	}
	indexed := false
	if trigram.MatchString(part) {
		var err error
		if indexed, err = s.hasNameIndex(ctx); err != nil {
			return nil, db.Unavailable("list jobs", err)
		}
	}
	if indexed {
		if list, few, err := s.indexedJobs(ctx, by, f, part); err != nil || few {
			return list, err
		}
	}
	return newest(math.MaxInt32)
}

// indexedJobs reads the page of the jobs whose names have a part by the index of names, if no more than mostNamed have
// it: few.
func (s *Store) indexedJobs(
	ctx context.Context, by people.Reach, f Filter, part string,
) (list []JobRow, few bool, err error) {
	found := &people.Page{Args: []any{by.Project, cmp.Or(f.Before, people.AfterAllIDs)}}
	// No other index has the expression.
	found.Where = "j.deleted_at = 0 AND j.batch_id = '' AND j.project_id || '' = $1 AND j.id < $2"
	found.Equal("j.state", string(f.State))
	found.CreatedBy("j", by, f.Creator)
	found.Contains("j.name", part)
	ids, err := db.IDsOf(s.db.Read(ctx,
		"SELECT j.id FROM job j WHERE "+found.Where+" LIMIT "+strconv.Itoa(mostNamed+1), found.Args...))
	if err != nil || len(ids) > mostNamed {
		return nil, false, db.Unavailable("list jobs", err)
	}
	slices.SortFunc(ids, func(a, b any) int { return cmp.Compare(b.(string), a.(string)) })
	if ids = ids[:min(len(ids), f.Limit)]; len(ids) == 0 {
		return []JobRow{}, true, nil
	}
	p := f.page(by)
	marks := make([]string, 0, len(ids))
	for _, id := range db.Pad(ids) {
		marks = append(marks, p.Param(id))
	}
	p.And("j.id IN (" + strings.Join(marks, ", ") + ")")
	list, err = s.listJobs(ctx, p, "job", f.Limit)
	return list, true, err
}

// nameIndexSteps make the index of the trigrams of names. It is not part of a migration, because its extensions may be
// missing, and an index that is made without locking the table cannot be made in a transaction. Its first column is an
// expression, so that PostgreSQL uses it for searches alone and not instead of an index that has an order. Its list of
// new entries is short, because every search reads that list too.
var nameIndexSteps = []string{
	"SET statement_timeout = 0", // an operator may bound statements, and with millions of jobs this takes minutes
	"SET lock_timeout = 0",
	"CREATE EXTENSION IF NOT EXISTS pg_trgm",
	"CREATE EXTENSION IF NOT EXISTS btree_gin",
	"DROP INDEX CONCURRENTLY IF EXISTS job_name", // of a node that was stopped while it made it
	`CREATE INDEX CONCURRENTLY job_name ON job USING gin ((project_id || ''), lower(name) gin_trgm_ops)
		WITH (gin_pending_list_limit = 256)
		WHERE deleted_at = 0`,
}

// hasNameIndex reports whether the database has a valid index of names.
func (s *Store) hasNameIndex(ctx context.Context) (bool, error) {
	var valid bool
	err := s.db.ReadRow(ctx, "SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass('job_name')", nil, &valid)
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return valid, err
}

// IndexNames makes the index of names unless the database has it. The table is not locked meanwhile. While another node
// makes it, IndexNames does nothing.
func (s *Store) IndexNames(ctx context.Context) error {
	if indexed, err := s.hasNameIndex(ctx); indexed || err != nil {
		return err
	}
	db := s.db.Direct() // the lock is one of a session, which a pooler does not keep
	defer db.Close()
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	var locked bool
	err = conn.QueryRowContext(ctx, "SELECT pg_try_advisory_lock(hashtext('pleat job_name'))").Scan(&locked)
	if err != nil || !locked {
		return err
	}
	defer func() { // the server notices only later that the session has ended
		_, _ = conn.ExecContext(context.WithoutCancel(ctx), "SELECT pg_advisory_unlock(hashtext('pleat job_name'))")
	}()
	if indexed, err := s.hasNameIndex(ctx); indexed || err != nil { // another node has just made it
		return err
	}
	for _, step := range nameIndexSteps {
		if _, err := conn.ExecContext(ctx, step); err != nil {
			return err
		}
	}
	return nil
}
