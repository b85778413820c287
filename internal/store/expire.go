package store

import (
	"context"
	"fmt"

	"pleat"
)

// expireAtOnce is how many jobs and workflows one call of ExpireResults deletes at most.
const expireAtOnce = 100

// expired finds the rows of job or workflow whose latest run ended before $1. Ids sort by the time they were made, so
// $2, an id of that time, leaves only what is old, and the primary key finds it. A job waits for the workflows that its
// runs have started, which ended later (drafts among them never end: they go with it), and for its owner's other
// workflows about it that wait or run. Those of others do not count, or they could keep a public job for ever.
func expired(table, further string) string {
	return fmt.Sprintf(`
		SELECT h.id, h.account_id
		FROM %s h
		JOIN run r ON r.id = h.run_id
		WHERE h.id < $2 AND h.deleted_at = 0 AND r.finished_at > 0 AND r.finished_at < $1 %s
		ORDER BY h.id
		LIMIT %d`, table, further, expireAtOnce)
}

// The conditions that the job h has started the workflow w, and that w is about h. The second part of each lets an
// index answer it.
const (
	startedBy = "w.started_by = h.id AND w.started_by <> ''"
	isAbout   = "w.source_job = h.id AND w.source_job <> ''"
)

var (
	expiredWorkflows = expired("workflow", "")
	expiredJobs      = expired("job", `
		AND h.batch_id = ''
		AND NOT EXISTS (SELECT 1 FROM workflow w WHERE `+startedBy+` AND w.deleted_at = 0 AND w.run_id <> '')
		AND NOT EXISTS (
			SELECT 1
			FROM workflow w
			JOIN run q ON q.id = w.run_id
			WHERE `+isAbout+` AND w.account_id = h.account_id AND w.deleted_at = 0 AND q.finished_at = 0
		)`)
	expiredBatches = fmt.Sprintf(`
		SELECT h.id, h.account_id FROM batch h
		WHERE h.id < $2 AND h.deleted_at = 0 AND h.ended_at > 0 AND h.ended_at < $1
		ORDER BY h.id
		LIMIT %d`, expireAtOnce)
)

// ExpireResults deletes jobs, workflows and batches that ended longer ago than Limits.KeepResults, as DeleteJob,
// DeleteWorkflow and DeleteBatch do, and returns how many. The jobs of a batch go with it. It deletes at most 100 of
// each, each in a transaction of its own, so that no transaction is long or locks many jobs; the next call continues.
// Drafts have no results and are kept, unless a job that goes has started them. Any node may call it.
func (s *Store) ExpireResults(ctx context.Context) (int, error) {
	if s.limits.KeepResults == 0 {
		return 0, nil
	}
	before := s.now() - s.limits.KeepResults.Microseconds()
	total := 0
	for _, kind := range []struct {
		query  string
		delete func(t *tx, owner pleat.UserID, id string) (bool, error)
	}{
		{expiredWorkflows, func(t *tx, owner pleat.UserID, id string) (bool, error) {
			var w pleat.Workflow
			if err := t.lockWorkflow(owner, pleat.WorkflowID(id), &w); err != nil {
				return false, err
			}
			return true, t.deleteWorkflow(&w)
		}},
		{expiredJobs, func(t *tx, owner pleat.UserID, id string) (bool, error) {
			h, err := t.lockJob(owner, pleat.JobID(id))
			if err != nil || !h.State.Terminal() { // it has just been run again
				return false, err
			}
			return true, t.deleteJob(h)
		}},
		{expiredBatches, func(t *tx, owner pleat.UserID, id string) (bool, error) {
			b, err := t.lockBatch(owner, pleat.BatchID(id))
			if err != nil || b.EndedAt.IsZero() { // it is being retried
				return false, err
			}
			return true, t.deleteBatch(owner, b.ID)
		}},
	} {
		type found struct {
			id    string
			owner pleat.UserID
		}
		var list []found
		rows, err := s.read(ctx, kind.query, before, idAt(before))
		err = forEachRow(rows, err, func(scan func(...any) error) error {
			var f found
			err := scan(&f.id, &f.owner)
			list = append(list, f)
			return err
		})
		if err != nil {
			return total, unavailable("expire results", err)
		}
		for _, f := range list {
			gone := false
			err := s.write(ctx, "expire results", func(t *tx) (err error) {
				gone, err = kind.delete(t, f.owner, f.id)
				return err
			})
			if err != nil && pleat.CodeOf(err) != pleat.CodeNotFound {
				return total, err
			}
			if gone && err == nil {
				total++
			}
		}
	}
	return total, nil
}
