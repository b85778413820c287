package batches

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"pleat"
	"pleat/internal/store/db"
	"pleat/internal/store/mails"
	"pleat/internal/store/people"
	"pleat/internal/store/runs"
	"pleat/internal/store/webhooks"
)

// jobsAtOnce is how many jobs of a batch are made, stopped or run again in one transaction.
const jobsAtOnce = 100

// IsLive is the condition that a job j of a batch has not ended, and toStop that its worker does not know yet that it
// is to stop.
const (
	IsLive = "j.state IN ('INITIALIZED', 'RUNNING')"
	toStop = IsLive + " AND EXISTS (SELECT 1 FROM task k WHERE k.run_id = j.run_id AND k.cancel = 0)"
)

// hasJobs returns the condition that the batch b has a job j that meets a condition.
func hasJobs(condition string) string {
	return "EXISTS (SELECT 1 FROM job j WHERE j.batch_id = b.id AND j.batch_id <> '' AND " + condition + ")"
}

// batchesToAdvance lists batches whose next step can be taken, by id from $2 on and not more than most: deleted ones
// with jobs to stop, and open ones. One that was created before $1 and is not open yet is abandoned. A cancelled batch
// whose jobs are all stopping has no step until they have ended.
func batchesToAdvance(most int) string {
	return `
	SELECT b.id FROM batch b
	WHERE b.deleted_at <> 0 AND b.id > $2 AND ` + hasJobs(toStop) + `
	UNION ALL
	SELECT b.id FROM batch b
	WHERE b.ended_at = 0 AND b.deleted_at = 0 AND b.id > $2 AND (
		b.opened_at = 0 AND b.created_at < $1
		OR b.opened_at <> 0 AND (
			b.cancelled = 0 AND (b.jobs_made < b.job_count OR b.retry_row > 0)
			OR b.cancelled = 1 AND ` + hasJobs(toStop) + `
			OR NOT ` + hasJobs(IsLive) + `))
	ORDER BY 1
	LIMIT ` + strconv.Itoa(most)
}

// openedBatch is what AdvanceBatches needs to know of a batch.
type openedBatch struct {
	pleat.Batch
	batchRow
	created, next, eachRow, retryRow, deleted, live int64
	request, trace                                  string
}

// AdvanceBatches takes one step of each open batch that has one: it makes jobs of rows, stops those of a cancelled
// batch, runs failed ones again, and ends a batch whose jobs have all ended. Each step is a transaction and bounded, so
// that no batch holds up another or the verbs of others. It returns whether one of the steps that were taken has a
// further one. The error is that of batches that could not be advanced, which do not hold up the others. Any node may
// call it, several at once too: a step begins with a lock of the batch.
func (s *Store) AdvanceBatches(ctx context.Context) (more bool, err error) {
	var faults []error
	for after := pleat.BatchID(""); ; {
		ids, err := db.ColumnOf[pleat.BatchID](s.db.Read(ctx, batchesToAdvance(s.open),
			s.db.Micros()-abandonedAfter.Microseconds(), after))
		if err != nil {
			return more, errors.Join(append(faults, db.Unavailable("list open batches", err))...)
		}
		for _, id := range ids {
			again := false
			err := s.db.Write(ctx, "advance batch", func(t *db.Tx) (err error) {
				again, err = s.advance(t, id)
				return err
			})
			if err != nil {
				faults = append(faults, fmt.Errorf("batch %s: %w", id, err))
				continue
			}
			more = more || again
		}
		if len(ids) < s.open {
			return more, errors.Join(faults...)
		}
		after = ids[len(ids)-1]
	}
}

// advance is the next step of a batch. It reports whether there is a further one at once.
func (s *Store) advance(t *db.Tx, id pleat.BatchID) (bool, error) {
	var locked pleat.BatchID
	err := t.Row("SELECT id FROM batch WHERE id = $1 AND ended_at = 0 FOR UPDATE SKIP LOCKED", []any{id}, &locked)
	if err != nil {
		return false, db.MapNoRows(err, nil)
	}
	// A statement that locks a batch sees the newest version of it, but the jobs as they were when the statement began:
	// another node may have made them meanwhile. So another statement reads the batch.
	var b openedBatch
	err = t.Row("SELECT "+batchColumns+`, b.jobs_made, b.next_row, b.each_row, b.retry_row, b.deleted_at,
			CASE WHEN `+hasJobs(IsLive)+` THEN 1 ELSE 0 END, b.request, b.trace
		FROM batch b WHERE b.id = $1`,
		[]any{id}, append(b.scanTargets(&b.Batch), &b.created, &b.next, &b.eachRow, &b.retryRow, &b.deleted, &b.live,
			&b.request, &b.trace)...)
	if err != nil {
		return false, err
	}
	if err := b.fill(&b.Batch); err != nil {
		return false, err
	}
	switch {
	case b.CreatedAt.IsZero():
		t.Send("UPDATE batch SET deleted_at = $1 WHERE id = $2", t.Now, id) // abandoned
		return false, nil
	case b.live == 1 && (b.Cancelled || b.deleted != 0):
		n, err := s.stopJobs(t, id)
		return n == jobsAtOnce, err
	case b.Cancelled || b.deleted != 0:
	case b.created < int64(b.Jobs):
		return true, makeJobs(t, &b)
	case b.retryRow > 0:
		return true, retryJobs(t, &b)
	}
	if b.live == 1 || b.deleted != 0 {
		return false, nil
	}
	return false, endBatch(t, &b)
}

// makeJobs makes the jobs of the next rows.
func makeJobs(t *db.Tx, b *openedBatch) error {
	type job struct {
		row    int64
		shared int64 // rows with this job
		input  string
	}
	rows, err := t.Query(`
		SELECT r.number, r.input, 1 + (
			SELECT count(*) FROM batch_row o
			WHERE o.batch_id = r.batch_id AND o.same_as = r.number AND o.same_as <> o.number)
		FROM batch_row r
		WHERE r.batch_id = $1 AND r.number >= $2 AND r.same_as = r.number
		ORDER BY r.number
		LIMIT $3`,
		b.ID, b.next, jobsAtOnce)
	list, err := db.ListOf(rows, err, func(scan func(...any) error) (j job, err error) {
		err = scan(&j.row, &j.input, &j.shared)
		return j, err
	})
	if err != nil || len(list) == 0 {
		return err
	}
	var subs []pleat.Subscription
	if b.eachRow == 1 {
		webhooks.AskSubscriptions(t, "$1", "''", "", []any{b.ID}, &subs)
		if err := t.Wait(); err != nil {
			return err
		}
	}
	for _, j := range list {
		var in RowInput
		if err := db.DecodeJSON(j.input, &in); err != nil {
			return err
		}
		in.Run.Request, in.Run.Trace = b.request, b.trace
		n := runs.NewJob{
			Job: pleat.Job{
				Owner:       b.Owner,
				Creator:     b.Creator,
				Name:        in.Name,
				Public:      b.Public,
				Sequences:   in.Sequences,
				Constraints: in.Constraints,
				Complex:     in.Complex,
			},
			Run:  in.Run,
			Subs: subs,
			Row:  runs.RowRef{Batch: b.ID, Number: j.row, Shared: j.shared},
		}
		runs.InsertJob(t, &n, &runs.Created{})
	}
	t.Send("UPDATE batch SET jobs_made = jobs_made + $1, next_row = $2 WHERE id = $3", len(list),
		list[len(list)-1].row+1, b.ID)
	t.Notify(runs.BatchTopic(b.ID))
	return nil
}

// stopJobs stops the next jobs of a cancelled batch and returns how many. It does not count those whose worker is
// stopping them already.
func (s *Store) stopJobs(t *db.Tx, id pleat.BatchID) (int, error) {
	runs, err := jobRuns(t, jobsToStop, id)
	for i := 0; i < len(runs) && err == nil; i++ {
		if _, err = s.runs.CancelRun(t, runs[i].run); pleat.CodeOf(err) == pleat.CodeConflict {
			err = nil // it has just ended
		}
	}
	return len(runs), err
}

// jobRun is a job with its latest run.
type jobRun struct {
	job pleat.JobID
	run pleat.RunID
	row int64
}

// The jobs j of the batch $1 that stopJobs and retryJobs select. Neither reads more of them than it takes, however many
// there are: the jobs to stop come in no order, and those to run again, from the row $2 on, in that of the rows in each
// state, as an index has them.
var (
	jobsToStop  = jobsOf(toStop) + limitJobs
	jobsToRetry = `
		SELECT f.id, f.run_id, f.batch_row FROM (
			SELECT * FROM (` + inOrder("FAILED") + limitJobs + `) AS page_failed
			UNION ALL
			SELECT * FROM (` + inOrder("STOPPED") + limitJobs + `) AS page_stopped
		) AS f
		ORDER BY f.batch_row` + limitJobs
	limitJobs = " LIMIT " + strconv.Itoa(jobsAtOnce)
)

// jobsOf returns the query for the jobs of the batch $1 that meet a condition.
func jobsOf(condition string) string {
	return `
		SELECT j.id, j.run_id, j.batch_row FROM job j
		WHERE j.batch_id = $1 AND j.batch_id <> '' AND ` + condition
}

// inOrder is jobsOf for the jobs in a state from the row $2 on, in the order of the rows.
func inOrder(state string) string {
	return jobsOf("j.state = '"+state+"' AND j.batch_row >= $2") + " ORDER BY j.batch_row"
}

// jobRuns reads the jobs that a query selects.
func jobRuns(t *db.Tx, query string, args ...any) ([]jobRun, error) {
	rows, err := t.Query(query, args...)
	return db.ListOf(rows, err, func(scan func(...any) error) (j jobRun, err error) {
		err = scan(&j.job, &j.run, &j.row)
		return j, err
	})
}

// retryJobs runs the next failed jobs of a batch again, with the seeds and parameters that they had. It takes them in
// the order of the rows, each once, so that it needs no clock to tell them from those that fail again.
func retryJobs(t *db.Tx, b *openedBatch) error {
	list, err := jobRuns(t, jobsToRetry, b.ID, b.retryRow)
	if err != nil {
		return err
	}
	for _, j := range list {
		var input string
		if err := t.Row("SELECT input FROM batch_row WHERE batch_id = $1 AND number = $2", []any{b.ID, j.row},
			&input); err != nil {
			return err
		}
		var in RowInput
		if err := db.DecodeJSON(input, &in); err != nil {
			return err
		}
		in.Run.Request, in.Run.Trace = b.request, b.trace
		if _, err := runs.RerunJob(t, runs.Ref{Owner: b.Owner, Creator: b.Creator}, j.job, in.Run); err != nil {
			return err
		}
	}
	next := int64(0)
	if len(list) == jobsAtOnce {
		next = list[len(list)-1].row + 1
	}
	t.Send("UPDATE batch SET retry_row = $1 WHERE id = $2", next, b.ID)
	return nil
}

// endBatch ends a batch all of whose jobs have ended, with its event and the deliveries of the event.
func endBatch(t *db.Tx, b *openedBatch) error {
	var err error
	if b.Counts, err = countRows(&b.Batch, t.Query); err != nil {
		return err
	}
	b.EndedAt = db.FromMicros(t.Now)
	t.Send("UPDATE batch SET ended_at = $1, counts = $2 WHERE id = $3", t.Now, db.EncodeJSON(b.Counts), b.ID)
	var subs []pleat.Subscription
	webhooks.AskSubscriptions(t, "$1", "''", "$2", []any{b.ID, b.Owner}, &subs)
	if err := t.Wait(); err != nil {
		return err
	}
	state := b.State()
	e := pleat.Event{
		ID:     pleat.EventID(db.NewID()),
		Owner:  b.Owner,
		Source: pleat.Source{Batch: b.ID},
		Name:   pleat.EventFor(state),
		Status: state,
	}
	webhooks.InsertEvent(t, e, "")
	webhooks.InsertDeliveries(t, e, subs)
	t.Notify(runs.BatchTopic(b.ID), runs.OwnerTopic(b.Owner))
	return mails.BatchEnded(t, &b.Batch)
}

// Lock locks a batch until the transaction ends, and reads it without counts, for a caller who needs a role in its
// project.
func Lock(t *db.Tx, by people.Reach, needs pleat.Role, id pleat.BatchID) (pleat.Batch, error) {
	var b pleat.Batch
	var r batchRow
	var role pleat.Role
	err := t.Row("SELECT "+batchColumns+", "+people.RoleSQL("b.project_id", "$2", "$3")+`
		FROM batch b
		WHERE b.id = $1 AND b.opened_at <> 0 AND b.deleted_at = 0 FOR UPDATE`,
		[]any{id, by.User, by.Project}, append(r.scanTargets(&b), &role)...)
	if err != nil {
		return b, db.MapNoRows(err, pleat.ErrBatchNotFound)
	}
	if err := role.Allow(needs, pleat.ErrBatchNotFound); err != nil {
		return b, err
	}
	err = r.fill(&b)
	return b, err
}

// CancelBatch stops the rows of a batch that have not ended: those that no worker has, at the next
// [Store.AdvanceBatches]; the others within two seconds of it. ErrBatchNotFound: it does not exist or is out of reach.
// CodeConflict: it has ended.
func (s *Store) CancelBatch(ctx context.Context, by people.Reach, id pleat.BatchID) error {
	return s.db.Write(ctx, "cancel batch", func(t *db.Tx) error {
		b, err := Lock(t, by, pleat.Member, id)
		if err != nil {
			return err
		}
		if !b.EndedAt.IsZero() {
			return pleat.Errorf(pleat.CodeConflict, "the batch has already ended: it is %s", b.State())
		}
		t.Send("UPDATE batch SET cancelled = 1, retry_row = 0 WHERE id = $1", id)
		t.Notify(runs.BatchesTopic, runs.BatchTopic(id))
		return nil
	})
}

// RetryBatch runs the rows of an ended batch again that failed or were stopped, and makes the jobs that a cancelled
// batch lacks. It counts these rows against today's quota and returns how many they are. The batch ends once more, with
// another event. ErrBatchNotFound: it does not exist or is out of reach. CodeConflict: it has not ended, or no row is
// to be run again. CodeLimited: the quota is spent.
func (s *Store) RetryBatch(ctx context.Context, by people.Reach, id pleat.BatchID) (int, error) {
	n := 0
	err := s.db.Write(ctx, "retry batch", func(t *db.Tx) error {
		b, err := Lock(t, by, pleat.Member, id)
		if err != nil {
			return err
		}
		if b.EndedAt.IsZero() {
			return pleat.Errorf(pleat.CodeConflict, "the batch has not ended; its failed rows can be retried then")
		}
		if n = b.Counts[pleat.StateFailed] + b.Counts[pleat.StateStopped]; n == 0 {
			return pleat.Errorf(pleat.CodeConflict, "no row of the batch has failed or was stopped")
		}
		var spent people.Charge
		s.people.AskChargeRows(t, b.Owner, n, &spent)
		if err := t.Wait(); err != nil {
			return err
		}
		if _, err := s.people.RowUsage(t, &spent, n); err != nil {
			return err
		}
		add, err := plannedRetry(t, id, n)
		if err == nil {
			err = people.CheckBudget(t, b.Owner, spent.Budget, add)
		}
		if err != nil {
			return err
		}
		runs.ReopenBatch(t, id)
		t.Send("UPDATE batch SET cancelled = 0, retry_row = 1 WHERE id = $1", id)
		return nil
	})
	return n, err
}

// plannedRetry is the work of some rows of a batch, which are taken for average ones.
func plannedRetry(t *db.Tx, id pleat.BatchID, rows int) (people.PlannedWork, error) {
	var add people.PlannedWork
	var expected, jobs int64
	err := t.Row("SELECT queue, expected, job_count FROM batch WHERE id = $1", []any{id}, &add.Queue, &expected, &jobs)
	add.Expected = time.Duration(expected/max(1, jobs)*int64(rows)) * time.Microsecond
	return add, err
}

// SetBatchPublic makes a batch and its jobs public or private, as SetPublic does for a job. ErrBatchNotFound: it does
// not exist or is out of reach.
func (s *Store) SetBatchPublic(ctx context.Context, by people.Reach, id pleat.BatchID, public bool) error {
	return s.db.Write(ctx, "set batch public", func(t *db.Tx) error {
		b, err := Lock(t, by, pleat.Member, id)
		if err != nil || b.Public == public {
			return err
		}
		t.Send("UPDATE batch SET public = $1 WHERE id = $2", db.BoolToInt(public), id)
		t.Send(`
			UPDATE job SET public = $1, epoch = epoch + $2, version = version + 1, updated_at = $3
			WHERE batch_id = $4 AND batch_id <> '' AND public <> $1`,
			db.BoolToInt(public), db.BoolToInt(!public), t.Now, id)
		t.Notify(runs.BatchTopic(id), runs.OwnerTopic(b.Owner))
		return nil
	})
}

// DeleteBatch removes a batch and its jobs from every reader's sight at once, and stops those that run. Everything that
// was stored for them is then deleted by ops.Store.PurgeDeleted. ErrBatchNotFound: it does not exist, is out of reach,
// or was deleted before.
func (s *Store) DeleteBatch(ctx context.Context, by people.Reach, id pleat.BatchID) error {
	return s.db.Write(ctx, "delete batch", func(t *db.Tx) error {
		b, err := Lock(t, by, pleat.Member, id)
		if err != nil {
			return err
		}
		return Delete(t, b.Owner, id)
	})
}

// Delete is [Store.DeleteBatch] for a locked batch. [Store.AdvanceBatches] stops the jobs that have not ended, whose
// tasks need their input until then; runs.setState deletes it.
func Delete(t *db.Tx, owner pleat.ProjectID, id pleat.BatchID) error {
	t.Send("UPDATE batch SET deleted_at = $1, name = '' WHERE id = $2", t.Now, id)
	t.Send(`
		UPDATE job
		SET deleted_at = $1, version = version + 1, epoch = epoch + 1, name = '',
			sequences = CASE WHEN state IN ('INITIALIZED', 'RUNNING') THEN sequences ELSE '[]' END,
			constraints = CASE WHEN state IN ('INITIALIZED', 'RUNNING') THEN constraints ELSE '' END
		WHERE batch_id = $2 AND batch_id <> '' AND deleted_at = 0`,
		t.Now, id)
	t.Notify(runs.BatchTopic(id), runs.OwnerTopic(owner), runs.BatchesTopic)
	return nil
}
