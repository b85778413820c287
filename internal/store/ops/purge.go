package ops

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"pleat"
	"pleat/internal/store/batches"
	"pleat/internal/store/db"
	"pleat/internal/store/people"
	"pleat/internal/store/runs"
	"pleat/internal/store/tasks"
)

const (
	// purgeRows is how many rows of one table a call of PurgeDeleted deletes at most.
	purgeRows = 500
	// purgeGrace is how long the rest of a deleted job or workflow is kept for what is under way: a worker that is
	// stopping, and the deliveries that wait. A delivery that waits longer, such as those of a paused endpoint, is
	// deleted with it.
	purgeGrace = time.Hour
	// deletedAtOnce is how many follow-ups are deleted in one transaction with their job.
	deletedAtOnce = 100
)

// Purged is what one call of [Store.PurgeDeleted] deleted.
type Purged struct {
	Rows  int      // 0: there is nothing more to delete now
	Blobs []string // to which the deleted rows referred; other runs may share them
}

// DeleteJob removes a job and the workflows that its runs have started from every reader's sight at once, and stops
// those that run. Everything that was stored for them is then deleted by [Store.PurgeDeleted]; until it is, a tombstone
// without name and sequences stays, so that the last events and deliveries have a source. ErrJobNotFound: the job does
// not exist, is out of reach, or was deleted before. CodeConflict: it belongs to a batch.
func (s *Store) DeleteJob(ctx context.Context, by people.Reach, job pleat.JobID) error {
	return s.db.Write(ctx, "delete job", func(t *db.Tx) error {
		h, err := runs.LockJob(t, by, pleat.Member, job)
		if err != nil {
			return err
		}
		if h.Batch != "" {
			return pleat.Errorf(pleat.CodeConflict, "the job belongs to the batch %s; delete the batch", h.Batch)
		}
		return s.deleteJob(t, h)
	})
}

// deleteJob is DeleteJob for a locked job.
func (s *Store) deleteJob(t *db.Tx, h runs.Head) error {
	if !h.State.Terminal() {
		if _, err := s.runs.CancelRun(t, h.Run); err != nil {
			return err
		}
	}
	t.Notify(runs.Topic(h.Run), runs.OwnerTopic(h.Owner))
	if _, err := t.Exec(`
		UPDATE job
		SET deleted_at = $1, version = version + 1, epoch = epoch + 1, name = '', sequences = '[]', constraints = ''
		WHERE id = $2`,
		t.Now, h.Source.Job); err != nil {
		return err
	}
	_, err := s.deleteFollowUps(t, h.Source.Job)
	return err
}

// deleteFollowUps deletes up to deletedAtOnce workflows that a job's runs have started, and returns how many.
func (s *Store) deleteFollowUps(t *db.Tx, job pleat.JobID) (int, error) {
	rows, err := t.Query(`
		SELECT id, project_id, run_id, state FROM workflow
		WHERE started_by = $1 AND started_by <> '' AND deleted_at = 0
		LIMIT `+strconv.Itoa(deletedAtOnce), job)
	list, err := db.ListOf(rows, err, func(scan func(...any) error) (w pleat.Workflow, err error) {
		err = scan(&w.ID, &w.Owner, &w.Run, &w.State)
		return w, err
	})
	for i := 0; i < len(list) && err == nil; i++ {
		err = s.deleteWorkflow(t, &list[i])
	}
	return len(list), err
}

// DeleteWorkflow is [Store.DeleteJob] for a workflow, in any state. The library items that its task made go with it.
// [pleat.ErrWorkflowNotFound]: it does not exist, is out of reach, or was deleted before.
func (s *Store) DeleteWorkflow(ctx context.Context, by people.Reach, id pleat.WorkflowID) error {
	return s.db.Write(ctx, "delete workflow", func(t *db.Tx) error {
		var w pleat.Workflow
		if err := runs.LockWorkflow(t, by, pleat.Member, id, &w); err != nil {
			return err
		}
		return s.deleteWorkflow(t, &w)
	})
}

// deleteWorkflow is DeleteWorkflow for a locked workflow. A run that ends at the same moment needs no cancel.
func (s *Store) deleteWorkflow(t *db.Tx, w *pleat.Workflow) error {
	if w.Run != "" && !w.State.Terminal() {
		if _, err := s.runs.CancelRun(t, w.Run); err != nil && pleat.CodeOf(err) != pleat.CodeConflict {
			return err
		}
	}
	t.Notify(runs.Topic(w.Run), runs.OwnerTopic(w.Owner))
	_, err := t.Exec(`
		UPDATE workflow
		SET deleted_at = $1, version = version + 1, epoch = epoch + 1, name = '', input = '{}', input_bytes = 0
		WHERE id = $2`,
		t.Now, w.ID)
	return err
}

// tombstone is a table of jobs, workflows or batches with the SQL that finds deleted ones whose rows can be deleted.
type tombstone struct {
	table  string
	runs   string // the runs of the row $1
	due    string // the oldest row that is not under way, or was deleted before $1
	inputs bool   // what its user gave goes at once, whatever is under way; due has no parameter
}

// tombstones are the inputs of batches, which nothing that is under way needs, the workflows before the jobs, since a
// job goes after its follow-ups, and the batches, which have no runs, after their jobs.
var tombstones = []tombstone{
	{table: "batch", inputs: true, due: `
		SELECT h.id FROM batch h
		WHERE h.deleted_at <> 0 AND COALESCE(
			(SELECT 1 FROM batch_row r WHERE r.batch_id = h.id LIMIT 1),
			(SELECT 1 FROM batch_score s WHERE s.batch_id = h.id LIMIT 1)) = 1
		ORDER BY h.deleted_at
		LIMIT 1`},
	newTombstone("workflow", "SELECT run_id FROM workflow WHERE id = $1", "SELECT h.run_id", "", ""),
	newTombstone("job", "SELECT id FROM run WHERE job_id = $1", "SELECT r.id FROM run r WHERE r.job_id = h.id",
		"AND NOT EXISTS (SELECT 1 FROM workflow w WHERE "+startedBy+" AND w.deleted_at <> 0)", batchHasEnded+" AND"),
	newTombstone("batch", "SELECT id FROM run WHERE job_id = '' AND id = $1", "SELECT r.id FROM run r WHERE r.id = ''",
		"AND NOT EXISTS (SELECT 1 FROM job j WHERE j.batch_id = h.id AND j.batch_id <> '')", ""),
}

// batchHasEnded is the condition that the job h belongs to no batch of which another job has not ended: such a batch
// may have very many jobs, which are not looked through until all have ended.
const batchHasEnded = `NOT EXISTS (
	SELECT 1 FROM job j
	WHERE j.batch_id = h.batch_id AND j.batch_id <> '' AND ` + batches.IsLive + ")"

// newTombstone builds the SQL of a table. runsOf selects the runs of the row h, condition is one more condition, and
// quiet one that the row need not meet if it was deleted before $1.
func newTombstone(table, runs, runsOf, condition, quiet string) tombstone {
	return tombstone{table: table, runs: runs, due: `
		SELECT h.id FROM ` + table + ` h
		WHERE h.deleted_at <> 0 ` + condition + ` AND (h.deleted_at < $1 OR ` + quiet + ` NOT EXISTS (
			SELECT 1 FROM task k WHERE k.run_id IN (` + runsOf + `))
			AND NOT EXISTS (
				SELECT 1 FROM delivery d WHERE d.source_id = h.id AND d.status = 'PENDING'))
		ORDER BY h.deleted_at
		LIMIT 1`}
}

// purgeStep is a statement that deletes rows of a deleted job, workflow or batch $1, at most purgeRows of them;
// statement replaces the capital names. One with blobs returns their keys.
type purgeStep struct {
	text  string
	blobs bool
}

// inputSteps delete what the user gave in the rows of a batch, and their scores.
var inputSteps = []purgeStep{
	{text: `DELETE FROM batch_score WHERE (batch_id, number, name) IN (
		SELECT batch_id, number, name FROM batch_score WHERE batch_id = $1 LIMIT ROWS)`},
	{text: `DELETE FROM batch_row WHERE (batch_id, number) IN (
		SELECT batch_id, number FROM batch_row WHERE batch_id = $1 LIMIT ROWS)`},
}

// purgeSteps delete the rows of a deleted job, workflow or batch in an order in which no row loses what it is found by.
var purgeSteps = []purgeStep{
	{text: `DELETE FROM run_event WHERE (run_id, seq) IN (
		SELECT run_id, seq FROM run_event WHERE run_id IN (RUNS) LIMIT ROWS)`},
	{blobs: true, text: `DELETE FROM artifact WHERE id IN (
		SELECT id FROM artifact WHERE run_id IN (RUNS) LIMIT ROWS) RETURNING blob_key`},
	{blobs: true, text: `DELETE FROM run_file WHERE (run_id, name) IN (
		SELECT run_id, name FROM run_file WHERE run_id IN (RUNS) LIMIT ROWS) RETURNING blob_key`},
	// By run and by delivery apart: for a condition with OR, PostgreSQL reads the whole table.
	{text: `DELETE FROM attempt WHERE (task_id, number) IN (
		SELECT task_id, number FROM attempt WHERE run_id IN (RUNS) LIMIT ROWS)`},
	{text: `DELETE FROM attempt WHERE (task_id, number) IN (
		SELECT task_id, number FROM attempt WHERE delivery_id IN (DELIVERIES) LIMIT ROWS)`},
	{blobs: true, text: `DELETE FROM task WHERE id IN (
		SELECT id FROM task WHERE run_id IN (RUNS) LIMIT ROWS) RETURNING checkpoint`},
	{text: `DELETE FROM task WHERE id IN (
		SELECT id FROM task WHERE delivery_id IN (DELIVERIES) LIMIT ROWS)`},
	{text: `DELETE FROM delivery WHERE id IN (SELECT id FROM delivery WHERE source_id = $1 LIMIT ROWS)`},
	{text: `DELETE FROM event WHERE id IN (SELECT id FROM event WHERE source_id = $1 LIMIT ROWS)`},
	{text: `DELETE FROM subscription WHERE id IN (SELECT id FROM subscription WHERE source_id = $1 LIMIT ROWS)`},
	{text: `DELETE FROM endpoint WHERE id IN (
		SELECT id FROM endpoint WHERE run_source = $1 AND run_source <> '' LIMIT ROWS)`},
	{blobs: true, text: `DELETE FROM library_file WHERE (item_id, name) IN (
		SELECT f.item_id, f.name FROM library_file f JOIN library_item i ON i.id = f.item_id
		WHERE i.workflow_id = $1 AND i.workflow_id <> '' AND i.deleted_at = 0 LIMIT ROWS) RETURNING blob_key`},
	{text: `DELETE FROM library_item WHERE id IN (
		SELECT id FROM library_item WHERE workflow_id = $1 AND workflow_id <> '' AND deleted_at = 0 LIMIT ROWS)`},
	{blobs: true, text: `DELETE FROM library_file WHERE (item_id, name) IN (
		SELECT f.item_id, f.name FROM library_file f JOIN library_item i ON i.id = f.item_id
		WHERE i.parent_id = (WORKSPACE) AND i.parent_id <> '' AND i.deleted_at = 0
			AND i.origin = '` + runs.OriginCompiled + `' LIMIT ROWS) RETURNING blob_key`},
	{text: `DELETE FROM library_item WHERE id IN (
		SELECT id FROM library_item WHERE parent_id = (WORKSPACE) AND parent_id <> '' AND deleted_at = 0
			AND origin = '` + runs.OriginCompiled + `' LIMIT ROWS)`},
	// A workspace with files of its owner stays.
	{text: `DELETE FROM library_item WHERE id = (WORKSPACE) AND NOT EXISTS (
		SELECT 1 FROM library_item i
		WHERE i.parent_id = (WORKSPACE) AND i.parent_id <> '' AND i.deleted_at = 0)`},
	{text: `DELETE FROM share WHERE source_id = $1`},
	{text: `DELETE FROM design_fold WHERE job_id IN (
		SELECT job_id FROM design_fold WHERE workflow_id = $1 OR job_id = $1 LIMIT ROWS)`},
	{text: `DELETE FROM design WHERE workflow_id = $1`},
	{text: `DELETE FROM idempotency WHERE account_id = (
			SELECT CASE created_by WHEN '' THEN project_id ELSE created_by END FROM SOURCE WHERE id = $1)
		AND answer LIKE '%' || $1 || '%'`},
	{text: people.ResultUseSQL("0", "-sum(bytes)", "run WHERE "+purgedRuns)},
	{text: `DELETE FROM run WHERE ` + purgedRuns},
	{text: `DELETE FROM SOURCE WHERE id = $1`},
}

// purgedRuns are the runs that a call deletes.
const purgedRuns = "id IN (SELECT id FROM run WHERE id IN (RUNS) ORDER BY id LIMIT ROWS)"

// steps are the statements that delete the rows.
func (k tombstone) steps() []purgeStep {
	if k.inputs {
		return inputSteps
	}
	return purgeSteps
}

// statement returns the SQL of one of the steps for the table.
func (k tombstone) statement(text string) string {
	return strings.NewReplacer("RUNS", k.runs, "WORKSPACE", "SELECT workspace FROM design WHERE workflow_id = $1",
		"DELIVERIES", "SELECT id FROM delivery WHERE source_id = $1",
		"SOURCE", k.table, "ROWS", strconv.Itoa(purgeRows)).Replace(text)
}

// PurgeDeleted deletes rows of one deleted job, workflow or batch: the oldest for which nothing is under way. No call
// deletes more than purgeRows of a table, so that no transaction is long; a caller repeats it until it deletes nothing,
// and then deletes the blobs that nothing else refers to. It writes nothing if nothing is due. Any node may call it,
// several at once too. Work that is under way after an hour, such as a delivery to a paused endpoint, is deleted all
// the same. The rows of a batch go before anything that is under way has ended.
func (s *Store) PurgeDeleted(ctx context.Context) (Purged, error) {
	for _, kind := range tombstones {
		var id string
		args := []any{s.db.Micros() - purgeGrace.Microseconds()}
		if kind.inputs {
			args = nil
		}
		err := s.db.ReadRow(ctx, kind.due, args, &id)
		if errors.Is(err, sql.ErrNoRows) {
			continue
		}
		if err != nil {
			return Purged{}, db.Unavailable("purge", err)
		}
		var p Purged
		err = s.db.Write(ctx, "purge", func(t *db.Tx) (err error) {
			p, err = s.purge(t, kind, id)
			return err
		})
		if err != nil || p.Rows > 0 {
			return p, err
		}
	}
	return Purged{}, nil
}

// endPurged ends the attempts that are still under way at the runs of what is purged, so that their time is counted,
// and returns how many they are. The next transaction deletes them.
func (s *Store) endPurged(t *db.Tx, kind tombstone, id string) (int, error) {
	if kind.inputs {
		return 0, nil
	}
	held, err := s.runs.SelectHeld(t, "FOR UPDATE", kind.statement(`run_id IN (RUNS) AND EXISTS (
		SELECT 1 FROM attempt a WHERE a.task_id = task.id AND a.number = task.attempt AND a.ended_at = 0)`), id)
	for _, l := range held {
		tasks.EndAttempt(t, l.Lease, tasks.OutcomeStopped, "")
	}
	return len(held), err
}

// purge takes the next steps at the deletion of one job, workflow or batch. Only one node does it at a time.
func (s *Store) purge(t *db.Tx, kind tombstone, id string) (Purged, error) {
	var p Purged
	var is string
	err := t.Row("SELECT id FROM "+kind.table+" WHERE id = $1 AND deleted_at <> 0 FOR UPDATE SKIP LOCKED",
		[]any{id}, &is)
	if err != nil {
		return p, db.MapNoRows(err, nil)
	}
	if kind.table == "job" {
		if p.Rows, err = s.deleteFollowUps(t, pleat.JobID(id)); err != nil || p.Rows > 0 {
			return p, err
		}
	}
	if p.Rows, err = s.endPurged(t, kind, id); err != nil || p.Rows > 0 {
		return p, err
	}
	for _, step := range kind.steps() {
		var n int
		if text := kind.statement(step.text); step.blobs {
			var keys []string
			keys, err = runs.DeleteBlobRows(t, text, id)
			n = len(keys)
			p.Blobs = append(p.Blobs, slices.DeleteFunc(keys, func(key string) bool { return key == "" })...)
		} else {
			var deleted int64
			deleted, err = t.Exec(text, id)
			n = int(deleted)
		}
		if p.Rows += n; err != nil || n >= purgeRows {
			return p, err
		}
	}
	return p, nil
}
