package ops

import (
	"context"
	"fmt"

	"pleat"
	"pleat/internal/store/batches"
	"pleat/internal/store/db"
	"pleat/internal/store/people"
	"pleat/internal/store/runs"
)

// expireAtOnce is how many jobs and workflows one call of ExpireResults deletes at most.
const expireAtOnce = 100

// expired finds the rows of job or workflow whose latest run ended before $1. Ids sort by the time they were made, so
// $2, an id of that time, leaves only what is old, and an index finds it: of all projects that follow the service's
// setting, or of the project $3 alone. A job waits for the workflows that its runs have started, which ended later
// (drafts among them never end: they go with it), and for its project's other workflows about it that wait or run.
// Those of others do not count, or they could keep a public job for ever.
func expired(table, condition string) expiry {
	return newExpiry(fmt.Sprintf(`
		SELECT h.id, h.project_id
		FROM %s h
		JOIN run r ON r.id = h.run_id
		WHERE h.id < $2 AND h.deleted_at = 0 AND r.finished_at > 0 AND r.finished_at < $1 %s`, table, condition))
}

// expiry are the queries for what has expired in all projects that follow the service's setting, and in one that has
// its own.
type expiry struct{ byService, byProject string }

func newExpiry(query string) expiry {
	end := fmt.Sprintf(" ORDER BY h.id LIMIT %d", expireAtOnce)
	return expiry{
		byService: query + " AND EXISTS (" +
			"SELECT 1 FROM project p WHERE p.id = h.project_id AND p.keep_results < 0)" + end,
		byProject: query + " AND h.project_id = $3" + end,
	}
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
			WHERE `+isAbout+` AND w.project_id = h.project_id AND w.deleted_at = 0 AND q.finished_at = 0
		)`)
	expiredBatches = newExpiry(`
		SELECT h.id, h.project_id FROM batch h
		WHERE h.id < $2 AND h.deleted_at = 0 AND h.opened_at <> 0 AND h.ended_at > 0 AND h.ended_at < $1`)
)

// ExpireResults deletes jobs, workflows and batches that ended longer ago than their project keeps results, as
// [Store.DeleteJob], [Store.DeleteWorkflow] and DeleteBatch do, and returns how many. The jobs of a batch go with it.
// It deletes at most 100 of each, and as many more in each project with a setting of its own, each in a transaction of
// its own, so that no transaction is long or locks many jobs; the next call continues. Drafts have no results and are
// kept, unless a job that goes has started them. Any node may call it.
func (s *Store) ExpireResults(ctx context.Context) (int, error) {
	total := 0
	if keep := s.people.Limits().KeepResults.Microseconds(); keep > 0 {
		n, err := s.expire(ctx, "", s.db.Micros()-keep)
		if total += n; err != nil {
			return total, err
		}
	}
	keeps, err := db.MapOf[pleat.ProjectID, int64](s.db.Read(ctx,
		"SELECT id, keep_results FROM project WHERE keep_results > 0 AND deleted_at = 0"))
	if err != nil {
		return total, db.Unavailable("expire results", err)
	}
	for id, keep := range keeps {
		n, err := s.expire(ctx, id, s.db.Micros()-keep)
		if total += n; err != nil {
			return total, err
		}
	}
	return total, nil
}

// expiring are the kinds of what expires, with the verb that deletes one; it returns false if that need not go any
// more.
var expiring = []struct {
	found  expiry
	delete func(s *Store, t *db.Tx, in people.Reach, id string) (bool, error)
}{
	{expiredWorkflows, func(s *Store, t *db.Tx, in people.Reach, id string) (bool, error) {
		var w pleat.Workflow
		if err := runs.LockWorkflow(t, in, pleat.Member, pleat.WorkflowID(id), &w); err != nil {
			return false, err
		}
		return true, s.deleteWorkflow(t, &w)
	}},
	{expiredJobs, func(s *Store, t *db.Tx, in people.Reach, id string) (bool, error) {
		h, err := runs.LockJob(t, in, pleat.Member, pleat.JobID(id))
		if err != nil || !h.State.Terminal() { // it has just been run again
			return false, err
		}
		return true, s.deleteJob(t, h)
	}},
	{expiredBatches, func(s *Store, t *db.Tx, in people.Reach, id string) (bool, error) {
		b, err := batches.Lock(t, in, pleat.Member, pleat.BatchID(id))
		if err != nil || b.EndedAt.IsZero() { // it is being retried
			return false, err
		}
		return true, batches.Delete(t, b.Owner, b.ID)
	}},
}

// expire deletes what ended before a moment in a project; empty: in all that follow the service's setting.
func (s *Store) expire(ctx context.Context, project pleat.ProjectID, before int64) (int, error) {
	total := 0
	for _, kind := range expiring {
		type found struct {
			id    string
			owner pleat.ProjectID
		}
		query, args := kind.found.byService, []any{before, db.IDAt(before)}
		if project != "" {
			query, args = kind.found.byProject, append(args, project)
		}
		rows, err := s.db.Read(ctx, query, args...)
		list, err := db.ListOf(rows, err, func(scan func(...any) error) (f found, err error) {
			err = scan(&f.id, &f.owner)
			return f, err
		})
		if err != nil {
			return total, db.Unavailable("expire results", err)
		}
		for _, f := range list {
			gone := false
			err := s.db.Write(ctx, "expire results", func(t *db.Tx) (err error) {
				gone, err = kind.delete(s, t, people.InProject(f.owner), f.id)
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
