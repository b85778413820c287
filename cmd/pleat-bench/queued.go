package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// queuedJobs are jobs that wait in the queue of the null engine, of several users in turn.
type queuedJobs struct {
	n     int
	users []string
}

// queuedPrefix begins the ids of queuedJobs. The number of the job follows in twelve decimal digits.
const queuedPrefix = "01900000-0000-7000-8000-"

// fill queues the jobs as CreateJob leaves them, in the fair order of the queue. Each transaction makes up to 50,000.
func (q *queuedJobs) fill(ctx context.Context, db *sql.DB) error {
	const most = 50_000
	var err error
	for from := 0; from < q.n && err == nil; from += most {
		err = q.fillPart(ctx, db, from, min(from+most, q.n)-1)
	}
	if err == nil {
		_, err = db.ExecContext(ctx, "VACUUM (ANALYZE) job, run, task") // as autovacuum does later
	}
	return err
}

// fillPart queues the jobs of some numbers.
func (q *queuedJobs) fillPart(ctx context.Context, db *sql.DB, from, to int) error {
	t, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	for _, text := range queuedFills {
		if _, err := t.ExecContext(ctx, text, from, to, q.users); err != nil {
			return errors.Join(err, t.Rollback())
		}
	}
	return t.Commit()
}

// queuedFills are the statements of fillPart, one for each table. A job, its run and its task have the same id.
var queuedFills = func() (out []string) {
	for _, q := range []string{
		`
		INSERT INTO job (
			id, project_id, name, public, chat_id, library_item, sequences, constraints, complex, state, version, epoch,
			run_id, runs, created_at, updated_at, deleted_at)
		SELECT
			id, owner, 'ubiquitin', 0, '', '',
			'[{"id":"' || id || '","kind":"protein","sequence":"` + ubiquitin + `","chains":["A"],"count":1}]',
			'{}', 0, 'INITIALIZED', 1, 1, id, 1, at, at, 0`,
		`
		INSERT INTO run (
			id, job_id, project_id, number, kind, state, msa, model, weight_set, method, engine, seed, params, fresh,
			input_hash, result, failure, stage, done, total, event_seq, log_lines, created_at, started_at, finished_at,
			changed_at, bytes)
		SELECT
			id, id, owner, 1, 'fold', 'INITIALIZED', 'PENDING', 'null', '', 'none', '', '2718281828',
			'{"modelName":"null"}', 0, '', '', '', '', 0, 0, 0, 0, at, 0, 0, at, 200`,
		`
		INSERT INTO task (
			id, kind, queue, project_id, tenant, position, run_id, state, attempt, tries, max_tries, memory, expected,
			run_at, lease_until, worker_id, cancel, checkpoint, checkpoint_step, created_at, request)
		SELECT
			id, 'fold', 'fold/null', owner, owner, i / users, id, 'queued', 0, 0, 10, 0, 0,
			at, 0, '', 0, '', 0, at, ''`,
	} {
		out = append(out, q+fmt.Sprintf(`
		FROM (
			SELECT
				i,
				'%s' || lpad(i::text, 12, '0') AS id,
				cardinality($3::text[]) AS users,
				($3::text[])[1 + i %% cardinality($3::text[])] AS owner,
				(extract(epoch FROM now()) * 1000000)::bigint AS at
			FROM generate_series($1::bigint, $2::bigint) i
		) AS n`, queuedPrefix))
	}
	return out
}()
