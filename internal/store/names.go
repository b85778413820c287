package store

import (
	"context"
	"database/sql"
	"errors"
	"regexp"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/stdlib"

	"pleat"
)

// searchedFirst is how many of a user's newest jobs a search on PostgreSQL reads before it asks the index of names. A
// name that many jobs have is found among them, for which the index would return them all.
const searchedFirst = 1000

// trigram is the least that a part of a name must have for the index to find it. PostgreSQL counts more letters as such
// in some locales, but these in all.
var trigram = regexp.MustCompile(`[0-9a-z]{3}`)

// likeEscape makes a caller's text literal inside a LIKE pattern whose escape character is a backslash.
var likeEscape = strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`)

// searchJobs is ListJobs for the jobs whose names have a part.
func (s *Store) searchJobs(ctx context.Context, owner pleat.UserID, f Filter) ([]JobRow, error) {
	name := strings.ToLower(f.Query)
	named := func(p *page, table string) string {
		return "lower(" + table + ".name) LIKE " + p.param("%"+likeEscape.Replace(name)+"%") + ` ESCAPE '\'`
	}
	if s.dialect == "postgres" {
		p := f.page(owner)
		newest := p.sql("*", "job j", searchedFirst)
		p.and(named(p, "j"))
		if list, err := s.listJobs(ctx, p, "("+newest+")", f.Limit); err != nil || len(list) == f.Limit {
			return list, err
		}
	}
	p, jobs := f.page(owner), "job"
	match := named(p, "j")
	if trigram.MatchString(name) {
		indexed, err := s.hasNameIndex(ctx)
		if err != nil {
			return nil, unavailable("list jobs", err)
		}
		if indexed {
			jobs = f.jobsByName(match)
		}
	}
	p.and(match)
	return s.listJobs(ctx, p, jobs, f.Limit)
}

// jobsByName returns SQL for the jobs of the page that the index of names finds: with an expression that no other index
// has. Match is the condition on the name; the other parameters are those of Filter.page.
func (f *Filter) jobsByName(match string) string {
	if f.State != "" {
		match += " AND j.state = $3"
	}
	return `(
		WITH found AS MATERIALIZED (
			SELECT j.id FROM job j
			WHERE j.deleted_at = 0 AND j.account_id || '' = $1 AND j.id < $2 AND ` + match + `)
		SELECT job.*
		FROM (SELECT id FROM found ORDER BY id DESC LIMIT ` + strconv.Itoa(f.Limit) + `) AS newest
		JOIN job ON job.id = newest.id)`
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
	`CREATE INDEX CONCURRENTLY job_name ON job USING gin ((account_id || ''), lower(name) gin_trgm_ops)
		WITH (gin_pending_list_limit = 256)
		WHERE deleted_at = 0`,
}

// hasNameIndex reports whether the database has a valid index of names.
func (s *Store) hasNameIndex(ctx context.Context) (bool, error) {
	if s.dialect != "postgres" {
		return false, nil
	}
	var valid bool
	err := s.readRow(ctx, "SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass('job_name')", nil, &valid)
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return valid, err
}

// indexNames makes the index of names unless the database has it. The table is not locked meanwhile. While another node
// makes it, indexNames does nothing.
func (s *Store) indexNames(ctx context.Context) error {
	if indexed, err := s.hasNameIndex(ctx); indexed || err != nil {
		return err
	}
	db := stdlib.OpenDB(*s.notify.cfg) // the lock is one of a session, which a pooler does not keep
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
