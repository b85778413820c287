package runs

import (
	"context"
	"fmt"
	"time"

	"pleat"
	"pleat/internal/store/db"
	"pleat/internal/store/mails"
	"pleat/internal/store/people"
	"pleat/internal/store/tasks"
	"pleat/internal/store/webhooks"
)

// FinishRun ends an attempt at a run. If the run completed, failed for good or was stopped, one transaction writes its
// state, result and artifacts, the event, and a task for each destination of the event. So nobody sees a completed run
// without its files, and no event is lost or written twice.
//
// A failure that may pass is tried again after a growing delay while tries are left; the run then stays RUNNING. A run
// that its owner has cancelled ends STOPPED, whatever f has. The blobs of the artifacts must be stored before.
// [pleat.ErrLost]: the lease is no longer held, and the worker must drop what it has. [ErrSourceGone]: f.Source cannot
// be read any more, and the worker releases the task, so that the result is computed.
func (s *Store) FinishRun(ctx context.Context, l tasks.Lease, f RunFinished) error {
	return s.db.Write(ctx, "finish run", func(t *db.Tx) error {
		var h tasks.HeldTask
		var r endingRun
		tasks.AskRenew(t, l, &h)
		askEnding(t, "id = (SELECT run_id FROM task WHERE id = $1)", l.Task, &r)
		shared := f.State != pleat.StateCompleted || f.Source == ""
		if !shared {
			askSource(t, f.Source, l.Task, &shared)
		}
		if err := t.Wait(); err != nil {
			return err
		}
		if err := h.Lost(); err != nil {
			return err
		}
		addProgress(t, h.Run, f.Progress)
		e := runEnd{
			state:     f.State,
			result:    f.Result,
			failure:   f.Failure,
			engine:    f.Engine,
			served:    f.Served,
			msa:       f.MSA,
			artifacts: f.Artifacts,
			attempt:   l.Attempt,
			took:      knownTook(f.Took),
			queue:     h.Queue,
		}
		if h.Cancel && e.state != pleat.StateStopped {
			e.state, e.artifacts, e.failure = pleat.StateStopped, nil, stoppedByOwner()
		}
		if e.state != pleat.StateCompleted {
			e.result = f.Result.TimingsOnly()
		}
		if e.state == pleat.StateFailed && e.failure != nil && e.failure.Retry {
			again, err := retry(t, l, h.Run, e.failure)
			if again || err != nil {
				return err
			}
		}
		if e.state == pleat.StateCompleted {
			if !shared {
				return ErrSourceGone
			}
			if e.inputHash, e.requestHash = f.InputHash, f.RequestHash; f.Source == "" {
				s.measure(t, l, h.Queue)
			}
			if f.BinderRMSD != nil {
				recordBinder(t, h.Run, *f.BinderRMSD)
			}
		}
		tasks.EndMeasured(t, l, e.state, e.failure, e.took)
		return s.endRun(t, r, e)
	})
}

// stoppedByOwner is the failure of a run that its owner has cancelled while it ran.
func stoppedByOwner() *pleat.Failure {
	return pleat.Failed(pleat.FailCancelled, "stopped by its owner")
}

// FinishSearch moves a task from its MSA search to the queue of its fold, behind its owner's tasks there, with all its
// tries. The files that the search published stay with the run. A task that its owner has cancelled ends STOPPED.
// [pleat.ErrLost]: the lease is no longer held.
func (s *Store) FinishSearch(ctx context.Context, l tasks.Lease, f SearchCompleted) error {
	return s.db.Write(ctx, "finish search", func(t *db.Tx) error {
		h, err := s.renewOrStop(t, l, f.Progress)
		if err != nil || h.Cancel {
			return err
		}
		s.measure(t, l, h.Queue)
		t.Send(`
			UPDATE task
			SET queue = $1, tries = 0, position = `+tasks.NextPositionSQL("$1", "task.tenant")+`
			WHERE id = $2`,
			f.FoldQueue, l.Task)
		tasks.Requeue(t, l, tasks.OutcomeSearched, 0)
		return nil
	})
}

// renewOrStop is [tasks.Renew] for the task of a run, whose progress it stores. It ends the task and the run if the
// owner has cancelled them: the verb has nothing else to do.
func (s *Store) renewOrStop(t *db.Tx, l tasks.Lease, progress []pleat.Progress) (tasks.HeldTask, error) {
	h, err := tasks.Renew(t, l)
	if err != nil {
		return h, err
	}
	addProgress(t, h.Run, progress)
	if !h.Cancel {
		return h, nil
	}
	why := stoppedByOwner()
	tasks.End(t, l, pleat.StateStopped, why)
	return h, s.end(t, h.Run, runEnd{state: pleat.StateStopped, failure: why})
}

// runEnd is how a run ends.
type runEnd struct {
	state       pleat.State
	result      *pleat.Result
	failure     *pleat.Failure
	engine      string
	served      string      // the engine's name, for the metrics; empty: the run ended without one
	msa         pleat.State // empty: not reported
	artifacts   []pleat.Artifact
	attempt     int
	took        time.Duration // by the worker's clock; 0: not known
	queue       string        // of its task, for the metrics; empty: the run ended without a worker
	inputHash   string
	requestHash string
}

// bytes is the size of the files that the attempt publishes with the end.
func (e *runEnd) bytes() int64 {
	n := int64(0)
	for i := range e.artifacts {
		n += e.artifacts[i].Bytes
	}
	return n
}

// endingRun is what the end of a run needs to know of it.
type endingRun struct {
	run    pleat.RunID // empty: it has ended already, or does not exist
	source pleat.Source
	name   string // of its workflow
	owner  pleat.ProjectID
	kind   pleat.TaskKind
	batch  pleat.BatchID // to which its job belongs; empty: to none
	subs   []pleat.Subscription
	mail   mails.Recipient
}

// askEnding reads and locks the run that a condition on one parameter selects, if it has not ended.
func askEnding(t *db.Tx, where string, arg any, r *endingRun) {
	t.Ask(`
		SELECT id, COALESCE(job_id, ''), COALESCE(workflow_id, ''), project_id, kind,
			COALESCE((SELECT w.name FROM workflow w WHERE w.id = run.workflow_id), ''),
			COALESCE((SELECT j.batch_id FROM job j WHERE j.id = run.job_id), '')
		FROM run
		WHERE `+where+` AND state NOT IN ('COMPLETED', 'FAILED', 'STOPPED')
		FOR UPDATE`,
		[]any{arg},
		func(scan func(...any) error) error {
			return scan(&r.run, &r.source.Job, &r.source.Workflow, &r.owner, &r.kind, &r.name, &r.batch)
		})
	source := "(SELECT COALESCE(job_id, workflow_id) FROM run WHERE " + where + ")"
	webhooks.AskSubscriptions(t, source, "(SELECT id FROM run WHERE "+where+")",
		"(SELECT project_id FROM run WHERE "+where+")", []any{arg}, &r.subs)
	mails.AskRecipient(t, where, arg, &r.mail)
}

// end ends a run for which the verb has nothing else to ask. pleat.ErrLost: it has ended already.
func (s *Store) end(t *db.Tx, run pleat.RunID, e runEnd) error {
	var r endingRun
	askEnding(t, "id = $1", run, &r)
	if err := t.Wait(); err != nil {
		return err
	}
	return s.endRun(t, r, e)
}

// endRun moves a run and its job or workflow to a terminal state, stores its result and files, and writes the event
// with its deliveries. It is the only place that ends a run. pleat.ErrLost: the run has ended already.
func (s *Store) endRun(t *db.Tx, r endingRun, e runEnd) error {
	if r.run == "" {
		return pleat.ErrLost
	}
	if e.state == pleat.StateCompleted {
		replaceArtifacts(t, r.run, e)
	}
	took := e.took
	if e.attempt > 1 { // the run began with an earlier one
		took = 0
	}
	// An alignment whose end was not reported ended as the run did, unless it had ended before.
	t.Send(`
		UPDATE run
		SET state = $1, result = $2, failure = $3, engine = $4,
			msa = CASE WHEN $5 <> '' THEN $5 WHEN msa = 'RUNNING' THEN $1 ELSE msa END,
			finished_at = $6, changed_at = $6, input_hash = $8, request_hash = $11,
			started_at = `+tasks.StartSQL("$6", "$12")+`,
			bytes = bytes + `+filesSQL("$7", "$9", "$10")+`
		WHERE id = $7`,
		e.state, db.EncodeJSON(e.result), db.EncodeJSON(e.failure), e.engine, e.msa, t.Now, r.run, e.inputHash,
		e.bytes(), e.attempt, e.requestHash, took.Microseconds())
	people.CountResultBytes(t, filesSQL("$1", "$2", "$3"), "run WHERE id = $1", r.run, e.bytes(), e.attempt)
	t.AfterCommit(func() { s.metrics.end(&e) })
	people.CountRun(t, r.run)
	setState(t, r.source, r.run, e.state)
	if r.kind == pleat.TaskMD && e.state == pleat.StateCompleted {
		addToLibrary(t, r, e.artifacts)
	}
	if r.kind == pleat.TaskDesign && e.state == pleat.StateCompleted {
		if err := addDesigns(t, r, e.artifacts); err != nil {
			return err
		}
	}
	end := pleat.Progress{Kind: pleat.ProgressState, State: e.state}
	if e.failure != nil {
		end.Line = e.failure.Message
	}
	addProgress(t, r.run, []pleat.Progress{end})
	v := pleat.Event{
		ID:     pleat.EventID(db.NewID()),
		Owner:  r.owner,
		Source: r.source,
		Run:    r.run,
		Name:   pleat.EventFor(e.state),
		Status: e.state,
		Row:    r.batch != "",
	}
	webhooks.InsertEvent(t, v, "")
	webhooks.InsertDeliveries(t, v, r.subs)
	if r.batch == "" {
		mails.RunEnded(t, r.mail, mails.EndedRun{Run: r.run, Source: r.source, Owner: r.owner}, e.state)
	} else {
		scoreJob(t, r.source.Job, r.run, e.result)
		t.Notify(BatchesTopic, BatchTopic(r.batch))
	}
	return nil
}

// filesSQL returns the size of the files of a run that ends: what its last attempt publishes, and the files of searches
// by earlier ones.
func filesSQL(run, bytes, attempt string) string {
	return "CAST(" + bytes + ` AS bigint) + (
		SELECT COALESCE(sum(a.bytes), 0) FROM artifact a WHERE a.run_id = ` + run + " AND a.attempt <> " + attempt + ")"
}

// replaceArtifacts stores the artifacts of the attempt that completed a run. Those of earlier attempts go, except the
// files of MSA searches.
func replaceArtifacts(t *db.Tx, run pleat.RunID, e runEnd) {
	if e.attempt > 1 {
		t.Send(`
			DELETE FROM artifact
			WHERE run_id = $1 AND attempt <> $2 AND attempt NOT IN (
				SELECT o.number FROM attempt o WHERE o.run_id = $1 AND o.outcome = '`+tasks.OutcomeSearched+`')`,
			run, e.attempt)
	}
	for _, a := range e.artifacts {
		insertArtifact(t, run, e.attempt, a)
	}
}

// knownTook returns how long an attempt took, as its worker says, or 0 for a time that no attempt can take.
func knownTook(d time.Duration) time.Duration {
	if d < 0 || d > pleat.MaxRunLimit {
		return 0
	}
	return d
}

// retry spends one try of a run's task and queues it again, after a delay that doubles with each try from 1 s to 256 s,
// or that for which a service asked if it is longer. It returns false if no try is left, or if the process of an
// earlier attempt has died while its worker lived, as this one did: the work is the cause.
func retry(t *db.Tx, l tasks.Lease, run pleat.RunID, why *pleat.Failure) (bool, error) {
	tries, limit, err := tasks.SpendTry(t, l.Task)
	if err != nil {
		return false, err
	}
	if tries >= limit {
		return false, nil
	}
	if why.Kind == pleat.FailCrashed {
		var died int
		err := t.Row("SELECT count(*) FROM attempt WHERE task_id = $1 AND outcome = $2 AND detail LIKE $3",
			[]any{l.Task, tasks.OutcomeFailed, string(pleat.FailCrashed) + ":%"}, &died)
		if err != nil || died > 0 {
			return false, err
		}
	}
	delay, line := time.Second<<min(tries-1, 8), "trying again: "
	if pause := min(why.RetryAfter, pleat.MaxRetryAfter); pause > delay {
		delay, line = pause, fmt.Sprintf("trying again in %s: ", pause.Round(time.Second))
	}
	tasks.Retry(t, l, why, delay)
	addProgress(t, run, []pleat.Progress{{Kind: pleat.ProgressLog, Line: line + why.Message}})
	return true, nil
}
