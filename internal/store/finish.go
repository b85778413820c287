package store

import (
	"context"
	"time"

	"pleat"
)

// FinishRun ends an attempt at a run. Where it completed, failed for good or was stopped, one transaction writes the
// state, scores, artifacts, event and whatever the end sets off. A failure that may pass is tried again while tries are
// left, later each time. What its owner has cancelled ends STOPPED whatever the worker brought. ErrLost where another
// attempt has begun: nothing is changed then.
func (s *Store) FinishRun(ctx context.Context, f RunFinished) error {
	return s.write(ctx, "finish run", func(t *tx) error {
		subject, cancel, err := t.held(f.Task, f.Attempt, f.Worker)
		if err != nil {
			return err
		}
		run := pleat.RunID(subject)
		if len(f.Progress) > 0 {
			if err := t.progress(run, f.Progress); err != nil {
				return err
			}
		}
		e := ending{state: f.State, result: f.Result, failure: f.Failure, engine: f.Engine, msa: f.MSA, artifacts: f.Artifacts, attempt: f.Attempt}
		if cancel && e.state != pleat.StateStopped {
			e.state, e.result, e.artifacts, e.failure = pleat.StateStopped, nil, nil, pleat.Failed(pleat.FailCancelled, "stopped by its owner")
		}
		if e.state == pleat.StateFailed && e.failure != nil && e.failure.Retry {
			again, err := t.retry(endedAttempt{id: f.Task, attempt: f.Attempt, run: run}, e.failure)
			if again || err != nil {
				return err
			}
		}
		if e.state == pleat.StateCompleted {
			if e.input = f.InputHash; f.Source != "" {
				if err := t.lockSource(f.Source, run); err != nil {
					return err
				}
			}
		}
		if err := t.endTask(f.Task, f.Attempt, e.state, e.failure); err != nil {
			return err
		}
		return t.endRun(run, e)
	})
}

// ending is how a run ends.
type ending struct {
	state     pleat.State
	result    *pleat.Result
	failure   *pleat.Failure
	engine    string
	msa       pleat.State
	artifacts []pleat.Artifact
	attempt   int
	input     string
}

var taskStates = map[pleat.State]pleat.TaskState{
	pleat.StateCompleted: pleat.TaskDone, pleat.StateFailed: pleat.TaskFailed, pleat.StateStopped: pleat.TaskStopped,
}

func (t *tx) endTask(id pleat.TaskID, attempt int, state pleat.State, failure *pleat.Failure) error {
	if _, err := t.exec("UPDATE task SET state = $1, ended_at = $2, checkpoint = '' WHERE id = $3", taskStates[state], t.now, id); err != nil {
		return err
	}
	return t.endAttempt(id, attempt, string(taskStates[state]), failure.String())
}

func (t *tx) endAttempt(id pleat.TaskID, attempt int, outcome, detail string) error {
	_, err := t.exec("UPDATE attempt SET ended_at = $1, outcome = $2, detail = $3 WHERE task_id = $4 AND number = $5 AND ended_at = 0", t.now, outcome, detail, id, attempt)
	return err
}

// endRun moves a run and its job to a terminal state and writes the event that tells of it.
func (t *tx) endRun(run pleat.RunID, e ending) error {
	var job pleat.JobID // or the workflow
	var owner pleat.UserID
	var kind pleat.TaskKind
	// An alignment that nobody tells the end of ended as the run does, if it had not ended before.
	err := t.row(`UPDATE run SET state = $1, result = $2, failure = $3, engine = $4,
		msa = CASE WHEN $5 <> '' THEN $5 WHEN msa = 'RUNNING' THEN $1 ELSE msa END, finished_at = $6, changed_at = $6, input = $8
		WHERE id = $7 AND state NOT IN ('COMPLETED', 'FAILED', 'STOPPED') RETURNING job_id, account_id, kind`,
		[]any{e.state, encodeJSON(e.result), encodeJSON(e.failure), e.engine, e.msa, t.now, run, e.input}, &job, &owner, &kind)
	if err != nil {
		return mapNoRows(err, pleat.ErrLost)
	}
	if e.state == pleat.StateCompleted {
		if _, err := t.exec(`DELETE FROM artifact WHERE run_id = $1 AND attempt <> $2
			AND attempt NOT IN (SELECT o.number FROM attempt o JOIN task k ON k.id = o.task_id WHERE k.subject = $1 AND o.outcome = '`+outcomeSearched+`')`, run, e.attempt); err != nil {
			return err
		}
		for _, a := range e.artifacts {
			if err := t.insertArtifact(job, run, e.attempt, a); err != nil {
				return err
			}
		}
	}
	if err := t.setState(run, e.state); err != nil {
		return err
	}
	if kind == pleat.TaskMD && e.state == pleat.StateCompleted {
		if err := t.addToLibrary(pleat.WorkflowID(job), e.artifacts); err != nil {
			return err
		}
	}
	end := pleat.Progress{Kind: pleat.ProgressState, State: e.state}
	if e.failure != nil {
		end.Line = e.failure.Message
	}
	if err := t.progress(run, []pleat.Progress{end}); err != nil {
		return err
	}
	source := pleat.SourceFold
	if kind != pleat.TaskFold {
		source = pleat.SourceWorkflow
	}
	_, err = t.emit(pleat.Event{Owner: owner, Source: source, SourceID: string(job), Run: run, Name: pleat.EventFor(e.state), Status: e.state}, "")
	return err
}

// emit writes an event and what it sets off. An ingested one whose id came before writes nothing and has no ID.
func (t *tx) emit(e pleat.Event, ingestID string) (pleat.EventID, error) {
	e.ID = pleat.EventID(newID())
	n, err := t.exec("INSERT INTO event (id, account_id, source_kind, source_id, run_id, name, status, payload, occurred_at, ingest_id) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) ON CONFLICT (ingest_id) WHERE ingest_id <> '' DO NOTHING",
		e.ID, e.Owner, e.Source, e.SourceID, e.Run, e.Name, e.Status, string(e.Payload), t.now, ingestID)
	if err != nil || n == 0 {
		return "", err
	}
	return e.ID, t.insertDeliveries(e)
}

// lostTask is a task that ended an attempt without a result.
type endedAttempt struct {
	id      pleat.TaskID
	attempt int
	kind    pleat.TaskKind
	run     pleat.RunID
	cancel  bool
}

// spendTry counts one more try of a task, of those it has.
func (t *tx) spendTry(id pleat.TaskID) (tries, most int, err error) {
	err = t.row("UPDATE task SET tries = tries + 1 WHERE id = $1 RETURNING tries, max_tries", []any{id}, &tries, &most)
	return tries, most, err
}

// retry spends one try of a task and queues it again, at once or after a pause that doubles with each; false where no try
// is left.
func (t *tx) retry(l endedAttempt, why *pleat.Failure) (bool, error) {
	tries, most, err := t.spendTry(l.id)
	if err != nil {
		return false, err
	}
	if tries >= most {
		return false, nil
	}
	if err := t.requeue(l, "failed", time.Second<<min(tries-1, 8)); err != nil {
		return false, err
	}
	return true, t.progress(l.run, []pleat.Progress{{Kind: pleat.ProgressLog, Line: "trying again: " + why.Message}})
}

// requeue puts a running task back into the queue at its turn.
func (t *tx) requeue(l endedAttempt, outcome string, pause time.Duration) error {
	state := pleat.TaskQueued
	if pause > 0 {
		state = pleat.TaskWaiting
	}
	var lane string
	if err := t.row("UPDATE task SET state = $1, run_at = $2, lease_until = 0, worker_id = '' WHERE id = $3 RETURNING lane",
		[]any{state, t.now + pause.Microseconds(), l.id}, &lane); err != nil {
		return err
	}
	t.notify(QueueTopic(lane))
	return t.endAttempt(l.id, l.attempt, outcome, "")
}

// lose ends an attempt whose worker is gone: the task is tried again, or ends where it has no tries left or its owner
// has cancelled it.
func (t *tx) onLeaseExpired(l endedAttempt, r *Reaped) error {
	if l.cancel {
		r.Stopped++
		if err := t.endTask(l.id, l.attempt, pleat.StateStopped, nil); err != nil {
			return err
		}
		return t.endSubject(l, ending{state: pleat.StateStopped, failure: pleat.Failed(pleat.FailCancelled, "stopped by its owner")})
	}
	tries, most, err := t.spendTry(l.id)
	if err != nil {
		return err
	}
	if l.kind == pleat.TaskDeliver {
		if err := t.onDeliveryLeaseExpired(string(l.run), tries < most); err != nil {
			return err
		}
	}
	if tries < most {
		r.Requeued++
		// Whatever killed the worker may have been this task: the owner's others go first.
		if _, err := t.exec(`UPDATE task SET turn = COALESCE((SELECT max(o.turn) + 1 FROM task o WHERE o.state = 'queued' AND o.lane = task.lane AND o.share = task.share), turn)
			WHERE id = $1`, l.id); err != nil {
			return err
		}
		return t.requeue(l, "lost", 0)
	}
	r.Failed++
	f := pleat.Failed(pleat.FailCrashed, "the worker died under it each time it was tried")
	if err := t.endTask(l.id, l.attempt, pleat.StateFailed, f); err != nil {
		return err
	}
	return t.endSubject(l, ending{state: pleat.StateFailed, failure: f})
}

// endSubject ends what a task worked on when no worker can.
func (t *tx) endSubject(l endedAttempt, e ending) error {
	switch l.kind {
	case pleat.TaskFold, pleat.TaskQnA, pleat.TaskMD:
		return t.endRun(l.run, e)
	case pleat.TaskFollow:
		_, err := t.exec("UPDATE delivery SET status = 'FAILED', reason = $1, next_at = 0, updated_at = $2 WHERE id = $3", e.failure.String(), t.now, l.run)
		return err
	}
	return nil
}

// Reap does what time demands, on whichever node calls it: wakes tasks whose time has come, takes tasks from workers whose
// lease ran out, forgets what has expired.
func (s *Store) Reap(ctx context.Context) (Reaped, error) {
	var r Reaped
	due, err := s.due(ctx)
	if err != nil || !due {
		return r, err
	}
	err = s.write(ctx, "reap", func(t *tx) error {
		r = Reaped{}
		rows, err := t.query("UPDATE task SET state = 'queued' WHERE id IN (SELECT id FROM task WHERE state = 'waiting' AND run_at <= $1 ORDER BY run_at LIMIT 1000 FOR UPDATE SKIP LOCKED) RETURNING lane", t.now)
		err = forEachRow(rows, err, func(scan func(...any) error) error {
			var lane string
			r.Woken++
			if err := scan(&lane); err != nil {
				return err
			}
			t.notify(QueueTopic(lane))
			return nil
		})
		if err != nil {
			return err
		}
		lost, err := t.selectExpired("lease_until < $1", t.now)
		if err != nil {
			return err
		}
		for _, l := range lost {
			if err := t.onLeaseExpired(l, &r); err != nil {
				return err
			}
		}
		a, err := t.exec("DELETE FROM session WHERE expires_at < $1", t.now)
		if err != nil {
			return err
		}
		b, err := t.exec("DELETE FROM idempotency WHERE created_at < $1", t.now-microsPerDay)
		r.Expired = int(a + b)
		return err
	})
	return r, err
}

// due looks, without writing, whether the reaper has anything to do.
func (s *Store) due(ctx context.Context) (bool, error) {
	var n int
	now := s.now()
	err := s.readRow(ctx, `SELECT (SELECT count(*) FROM (SELECT 1 FROM task WHERE state = 'waiting' AND run_at <= $1 LIMIT 1) w)
		+ (SELECT count(*) FROM (SELECT 1 FROM task WHERE state = 'running' AND lease_until < $1 LIMIT 1) l)
		+ (SELECT count(*) FROM (SELECT 1 FROM session WHERE expires_at < $1 LIMIT 1) e)
		+ (SELECT count(*) FROM (SELECT 1 FROM idempotency WHERE created_at < $2 LIMIT 1) i)`, []any{now, now - microsPerDay}, &n)
	return n > 0, unavailable("reap", err)
}

// leased locks running tasks by a condition on one parameter.
func (t *tx) selectExpired(where string, arg any) ([]endedAttempt, error) {
	var out []endedAttempt
	rows, err := t.query("SELECT id, attempt, kind, subject, cancel FROM task WHERE state = 'running' AND "+where+" ORDER BY id LIMIT 1000 FOR UPDATE SKIP LOCKED", arg)
	err = forEachRow(rows, err, func(scan func(...any) error) error {
		var l endedAttempt
		var cancel int64
		if err := scan(&l.id, &l.attempt, &l.kind, &l.run, &cancel); err != nil {
			return err
		}
		l.cancel = cancel == 1
		out = append(out, l)
		return nil
	})
	return out, err
}

// CountRows counts a table's rows, for doctor and tests. The name must be one of the schema's.
func (s *Store) CountRows(ctx context.Context, table string) (int, error) {
	for _, c := range table {
		if (c < 'a' || c > 'z') && c != '_' {
			return 0, pleat.Invalidf("%q is not a table", pleat.Clip(table))
		}
	}
	var n int
	err := s.readRow(ctx, "SELECT count(*) FROM "+table, nil, &n)
	return n, unavailable("count", err)
}
