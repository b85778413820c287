package storetest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"pleat"
	"pleat/internal/store/webhooks"
)

// filledPrefix begins the ids that Fill makes: version 7, of a day before this service existed, so that every job made
// by CreateJob is newer. The number of the job follows in twelve decimal digits.
const filledPrefix = "01800000-0000-7000-8000-"

// FilledJob is the id of the i-th job that Fill makes, counted from 0. Its run, task and artifact have the same id.
func FilledJob(i int) pleat.JobID { return pleat.JobID(fmt.Sprintf("%s%012d", filledPrefix, i)) }

// Fill writes n completed jobs into the database at an address, as CreateJob, Claim and FinishRun leave them but
// without progress and events, which FillEvents adds. Every second job is the owner's; the others belong to 997 users
// without an account. Each statement makes up to 20,000 rows, so that tests and benchmarks get a full database quickly.
// The files that the rows name do not exist.
func Fill(ctx context.Context, address string, owner pleat.ProjectID, n int) error {
	return fillTables(ctx, address, owner, n, fills)
}

// FillEvents writes what Fill leaves out of its first n jobs: for each its progress, the event of its end and a
// delivery of the event that succeeded at its first attempt, to an endpoint that does not exist. It may run while Fill
// does.
func FillEvents(ctx context.Context, address string, owner pleat.ProjectID, n int) error {
	return fillTables(ctx, address, owner, n, eventFills)
}

// fillTables makes the rows of n jobs.
func fillTables(ctx context.Context, address string, owner pleat.ProjectID, n int, fills []fill) error {
	const most = 20_000 // per transaction
	db, err := openRaw(address)
	if err != nil {
		return err
	}
	defer db.Close()
	now := time.Now().UnixMicro()
	for from := 0; from < n; from += most {
		to := min(from+most, n) - 1
		err := db.write(ctx, func(exec func(text string, args ...any) error) error {
			for _, q := range fills {
				args := []any{from, to, now, owner}
				if err := exec(q.text, args[:q.params]...); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	if db.sqlite {
		return nil
	}
	for _, q := range fills {
		if _, err := db.ExecContext(ctx, "VACUUM (ANALYZE) "+q.table); err != nil { // as autovacuum does later
			return err
		}
	}
	return nil
}

// rawDB writes to the database of a store without the store's verbs, in the SQL that both databases understand.
type rawDB struct {
	*sql.DB
	sqlite bool
}

// openRaw opens the database at an address without a store.
func openRaw(address string) (*rawDB, error) {
	path, sqlite := strings.CutPrefix(address, "sqlite:")
	if !sqlite {
		db, err := sql.Open("pgx", address)
		return &rawDB{db, false}, err
	}
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=busy_timeout(10000)")
	return &rawDB{db, true}, err
}

// rawAt is openRaw for a test, which fails if it cannot.
func rawAt(t testing.TB, address string) *rawDB {
	t.Helper()
	db, err := openRaw(address)
	if err != nil {
		t.Fatal(err)
	}
	return db
}

// Exec runs a statement in the database at an address, behind the back of its stores.
func Exec(t testing.TB, address, text string) {
	t.Helper()
	db := rawAt(t, address)
	defer db.Close()
	if _, err := db.Exec(text); err != nil {
		t.Fatal(err)
	}
}

// write runs fn in a transaction. Parameters are written as $1 in the text. An error of fn rolls back all statements.
func (db *rawDB) write(ctx context.Context, fn func(exec func(text string, args ...any) error) error) error {
	t, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	err = fn(func(text string, args ...any) error {
		if db.sqlite {
			text = strings.ReplaceAll(text, "$", "?")
		}
		_, err := t.ExecContext(ctx, text, args...)
		return err
	})
	if err != nil {
		return errors.Join(err, t.Rollback())
	}
	return t.Commit()
}

// fill is a statement that makes a row for each job in a table. $1 and $2 are the numbers of the first job and the
// last, $3 is the present time in microseconds since 1970 UTC, $4 the owner.
type fill struct {
	table, text string
	params      int // that it has; PostgreSQL refuses further ones
}

// newFill returns the statement for the columns of a table and their values by the number i of a job. The recursive
// query makes the numbers, since SQLite has no generate_series.
func newFill(table, columns, values string) fill {
	const (
		id       = "'" + filledPrefix + "' || substr(CAST(1000000000000 + i AS text), 2)"
		at       = "CAST($3 AS bigint) - 1000000000000 + i * 100000"
		owner    = "CASE WHEN i % 2 = 0 THEN CAST($4 AS text) ELSE 'user-' || CAST(i % 997 AS text) END"
		sequence = "NLYIQWLKDGGPSSGRPPPS"
		sha256   = "5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f"
	)
	values = strings.NewReplacer("{id}", id, "{at}", at, "{owner}", owner, "{sequence}", sequence, "{sha256}",
		sha256).Replace(values)
	params := 2
	for params < 4 && strings.Contains(values, fmt.Sprintf("$%d", params+1)) {
		params++
	}
	return fill{table, `
		INSERT INTO ` + table + ` (` + columns + `)
		WITH RECURSIVE n (i) AS (
			SELECT CAST($1 AS bigint)
			UNION ALL
			SELECT i + 1 FROM n WHERE i < CAST($2 AS bigint)
		)
		SELECT ` + values + `
		FROM n`, params}
}

// fills are the statements of Fill.
var fills = []fill{
	newFill("job", `id, project_id, name, public, chat_id, library_item,
			sequences,
			constraints, complex, state, version, epoch, run_id, runs, created_at, updated_at, deleted_at`, `
			{id}, {owner}, 'fold ' || CAST(i AS text), 0, '', '',
			'[{"id":"' || {id} || '","kind":"protein","sequence":"{sequence}","chains":["A"],"count":1}]',
			'{}', 0, 'COMPLETED', 3, 1, {id}, 1, {at}, {at}, 0`),
	newFill("run", `id, job_id, project_id, number, kind, state, msa, model, weight_set, method, engine, seed, params,
			fresh, input_hash, result, failure, stage, done, total, event_seq, log_lines, created_at, started_at,
			finished_at, changed_at`, `
			{id}, {id}, {owner}, 1, 'fold', 'COMPLETED', 'PENDING', 'null', '', 'none', 'null 1', '2718281828',
			'{"modelName":"null"}', 0, '',
			'{"predictions":[{"sequence_id":"' || {id} || '","chains":["A"],"mean_plddt":71.53,' ||
				'"ptm":0.5471,"iptm":null,' ||
				'"max_pae":21.4}],"timings":{"infer":12.5,"queue":0.01,"write":0.2}}',
			'', 'write', 1, 1, 2, 0, {at}, {at}, {at}, {at}`),
	newFill("attempt", "task_id, number, worker_id, run_id, started_at, ended_at, outcome, detail",
		"{id}, 1, 'bench', {id}, {at}, {at}, 'done', ''"),
	newFill("artifact", `id, run_id, sequence_id, name, kind, content_type, bytes, sha256, blob_key, attempt,
			created_at`, `
			{id}, {id}, '', 'model.cif', 'cif', 'chemical/x-mmcif', 71012, '{sha256}',
			'runs/' || {id} || '/1/model.cif',
			1, {at}`),
}

// eventFills are the statements of FillEvents.
var eventFills = []fill{
	newFill("event", `id, project_id, source_kind, source_id, run_id, name, status, payload, occurred_at, ingest_id`,
		`{id}, {owner}, 'fold_job', {id}, {id}, 'on_complete', 'COMPLETED', '', {at}, ''`),
	newFill("run_event", "run_id, seq, body", progressOf(1, `"kind":"state","state":"RUNNING"`)),
	newFill("run_event", "run_id, seq, body", progressOf(2, `"kind":"state","state":"COMPLETED"`)),
	newFill("delivery", `id, project_id, event_id, subscription_id, endpoint_id, destination, source_kind, source_id,
			run_id, event_name, once, status, triggered, attempts, next_at, response_status, reason, created_at,
			updated_at`,
		deliveryID+`, {owner}, {id}, {id}, '01800000-0000-7000-8fff-ffffffffffff', 'custom_http', 'fold_job', {id},
			{id}, 'on_complete', 'event:' || {id} || ':custom_http', 'SUCCEEDED', '', 1, 0, 200, '', {at}, {at}`),
	newFill("attempt", "task_id, number, worker_id, delivery_id, started_at, ended_at, outcome, detail",
		deliveryID+", 1, 'bench', "+deliveryID+", {at}, {at}, 'done', ''"),
}

// deliveryID is the id of the delivery of a job, and of its task, in SQL.
const deliveryID = "'01800000-0000-7000-9000-' || substr(CAST(1000000000000 + i AS text), 2)"

// progressOf returns the values of a row of run_event.
func progressOf(seq int, body string) string {
	return fmt.Sprintf(`{id}, %d, '{%s,"at":"2026-07-01T12:00:00.123456Z"}'`, seq, body)
}

// FillDeliveries queues n deliveries to an endpoint, each of an event of its own of one run, as the ends of runs leave
// them. Their numbers start at from; no two calls for one endpoint may overlap. A worker that polls finds them: no
// topic has news.
func FillDeliveries(
	ctx context.Context, address string, e webhooks.Endpoint, job pleat.JobID, run pleat.RunID, from, n int,
) error {
	db, err := openRaw(address)
	if err != nil {
		return err
	}
	defer db.Close()
	args := []any{from, from + n, e.ID[:24], e.Owner, job, run, time.Now().UnixMicro(), e.ID}
	return db.write(ctx, func(exec func(text string, args ...any) error) error {
		for _, q := range deliveryFills {
			if err := exec(q, args...); err != nil {
				return err
			}
		}
		return nil
	})
}

// deliveryFills are the statements of FillDeliveries: an event, a delivery and a task for each number, with the same
// id. All take all parameters, since PostgreSQL refuses unused ones.
var deliveryFills = func() (out []string) {
	for _, q := range []string{
		`
		INSERT INTO event (
			id, project_id, source_kind, source_id, run_id, name, status, payload, occurred_at, ingest_id)
		SELECT {id}, owner, 'fold_job', job, run, 'on_complete', 'COMPLETED', '', at, ''`,
		`
		INSERT INTO delivery (
			id, project_id, event_id, subscription_id, endpoint_id, destination, source_kind, source_id, run_id,
			event_name, once, status, triggered, attempts, next_at, response_status, reason, created_at, updated_at)
		SELECT
			{id}, owner, {id}, '', endpoint, 'custom_http', 'fold_job', job, run,
			'on_complete', 'fill:' || {id}, 'PENDING', '', 0, at, 0, '', at, at`,
		`
		INSERT INTO task (
			id, kind, queue, project_id, tenant, position, delivery_id, state, attempt, tries, max_tries, memory,
			run_at, lease_until, worker_id, cancel, checkpoint, checkpoint_step, created_at)
		SELECT
			{id}, 'deliver', 'deliver/' || endpoint, owner, endpoint, i, {id}, 'queued', 0, 0, 10, 0, at,
			0, '', 0, '', 0, at`,
	} {
		out = append(out, `
			WITH RECURSIVE
			n (i) AS (
				SELECT CAST($1 AS bigint)
				UNION ALL
				SELECT i + 1 FROM n WHERE i < CAST($2 AS bigint) - 1
			),
			p (prefix, owner, job, run, at, endpoint) AS (
				SELECT CAST($3 AS text), CAST($4 AS text), CAST($5 AS text), CAST($6 AS text), CAST($7 AS bigint),
					CAST($8 AS text)
			)`+strings.ReplaceAll(q, "{id}", "prefix || substr(CAST(1000000000000 + i AS text), 2)")+`
			FROM n, p`)
	}
	return out
}()
