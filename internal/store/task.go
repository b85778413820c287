package store

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"pleat"
)

const leaseMicros = int64(pleat.LeaseDuration / 1000)

// Claim takes up to n queued tasks from the lanes, in fair order, for a worker: each gets the next attempt number and a
// lease. Tasks that expect more than memory bytes are left; 0 takes any. What a task works on is read in the same
// transaction. The claim itself need not survive a crash of the machine: the task would be queued again, as it should.
func (s *Store) Claim(ctx context.Context, worker pleat.WorkerID, lanes []string, n int, memory int64) ([]ClaimedTask, error) {
	var out []ClaimedTask
	err := s.writeAsync(ctx, "claim", func(t *tx) error {
		out = nil
		for _, lane := range lanes {
			if len(out) >= n {
				break
			}
			got, err := t.claim(worker, lane, n-len(out), memory)
			if err != nil {
				return err
			}
			out = append(out, got...)
		}
		for i := range out {
			if err := t.start(&out[i]); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

func (t *tx) claim(worker pleat.WorkerID, lane string, n int, memory int64) ([]ClaimedTask, error) {
	return t.claimWhere("SELECT id FROM task WHERE state = 'queued' AND lane = $3 AND (CAST($4 AS bigint) = 0 OR memory <= CAST($4 AS bigint)) ORDER BY turn, id LIMIT $5 FOR UPDATE SKIP LOCKED",
		worker, lane, memory, n)
}

// claimWhere claims the tasks whose ids a query gives. Its parameters begin at $3.
func (t *tx) claimWhere(ids string, worker pleat.WorkerID, args ...any) ([]ClaimedTask, error) {
	var out []ClaimedTask
	rows, err := t.query("UPDATE task SET state = 'running', attempt = attempt + 1, worker_id = $1, lease_until = $2 WHERE id IN ("+ids+`)
		RETURNING id, kind, lane, account_id, share, turn, subject, attempt, tries, max_tries, memory, cancel, checkpoint, checkpoint_step, created_at`,
		append([]any{worker, t.now + leaseMicros}, args...)...)
	err = forEachRow(rows, err, func(scan func(...any) error) error {
		c := ClaimedTask{Task: pleat.Task{State: pleat.TaskRunning, Worker: worker, LeaseUntil: fromMicros(t.now + leaseMicros)}}
		k := &c.Task
		var cancel, made int64
		if err := scan(&k.ID, &k.Kind, &k.Queue, &k.Owner, &k.Tenant, &k.Position, &k.Subject, &k.Attempt, &k.Tries, &k.MaxTries, &k.Memory,
			&cancel, &k.Checkpoint.Key, &k.Checkpoint.Step, &made); err != nil {
			return err
		}
		k.Cancel, k.Created = cancel == 1, fromMicros(made)
		out = append(out, c)
		return nil
	})
	return out, err
}

// start notes the attempt and moves what the task works on to RUNNING.
func (t *tx) start(c *ClaimedTask) error {
	if _, err := t.exec("INSERT INTO attempt (task_id, number, worker_id, started_at, ended_at, outcome, detail) VALUES ($1, $2, $3, $4, 0, '', '')",
		c.Task.ID, c.Task.Attempt, c.Task.Worker, t.now); err != nil {
		return err
	}
	switch c.Task.Kind {
	case pleat.TaskFold:
		return t.startFold(c)
	case pleat.TaskQnA, pleat.TaskMD:
		return t.startWorkflow(c)
	}
	return nil
}

func (t *tx) startFold(c *ClaimedTask) error {
	var j pleat.Job
	var u pleat.Run
	var jr jobRow
	var rr runRow
	var fresh int64
	if err := t.row("SELECT "+jobColumns+", "+runColumns+", r.fresh FROM run r JOIN job j ON j.id = r.job_id WHERE r.id = $1", []any{c.Task.Subject},
		append(append(jr.into(&j), rr.into(&u)...), &fresh)...); err != nil {
		return err
	}
	if err := errors.Join(jr.fill(&j), rr.fill(&u)); err != nil {
		return err
	}
	c.Fold = &pleat.FoldInput{Job: j.ID, Run: u.ID, Owner: j.Owner, LibraryItem: j.LibraryItem, Name: j.Name, Sequences: j.Sequences, Params: u.Params, Seed: u.Seed,
		Constraints: j.Constraints, Complex: j.Complex}
	c.Queued, c.Run, c.Seed, c.Fresh = u.CreatedAt, u.ID, u.Seed, fresh == 1
	if err := t.loadAlignments(c); err != nil {
		return err
	}
	return t.setRunning(u)
}

// searched is the outcome of an attempt whose files belong to the run, whichever attempt ends it.
const outcomeSearched = "searched"

// aligned reads what an earlier attempt has searched for.
func (t *tx) loadAlignments(c *ClaimedTask) error {
	if c.Task.Attempt == 1 {
		return nil
	}
	var number int
	var began, ended int64
	err := t.row("SELECT number, started_at, ended_at FROM attempt WHERE task_id = $1 AND outcome = '"+outcomeSearched+"' ORDER BY number DESC LIMIT 1",
		[]any{c.Task.ID}, &number, &began, &ended)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err != nil {
		return err
	}
	c.SearchDuration = time.Duration(ended-began) * time.Microsecond
	rows, err := t.query("SELECT "+artifactColumns+" FROM artifact a WHERE a.run_id = $1 AND a.attempt = $2 ORDER BY a.id", c.Task.Subject, number)
	c.Alignments, err = scanArtifacts(rows, err)
	return err
}

// running moves a run and what it belongs to to RUNNING, the first time it is claimed.
func (t *tx) setRunning(u pleat.Run) error {
	if u.State == pleat.StateRunning {
		return nil
	}
	if _, err := t.exec("UPDATE run SET state = $1, started_at = $2, changed_at = $2 WHERE id = $3", pleat.StateRunning, t.now, u.ID); err != nil {
		return err
	}
	if err := t.setState(u.ID, pleat.StateRunning); err != nil {
		return err
	}
	return t.progress(u.ID, []pleat.Progress{{Kind: pleat.ProgressState, State: pleat.StateRunning}})
}

// setState shows a run's state on the job or workflow whose latest run it is.
func (t *tx) setState(run pleat.RunID, state pleat.State) error {
	for _, table := range []string{"job", "workflow"} {
		n, err := t.exec("UPDATE "+table+" SET state = $1, version = version + 1, updated_at = $2 WHERE id = (SELECT job_id FROM run WHERE id = $3) AND run_id = $3", state, t.now, run)
		if err != nil || n > 0 {
			return err
		}
	}
	return nil
}

// held locks a task that the worker still holds; ErrLost where another attempt has begun or the task has ended.
func (t *tx) held(id pleat.TaskID, attempt int, worker pleat.WorkerID) (subject string, cancel bool, err error) {
	var c int64
	err = t.row("UPDATE task SET lease_until = $1 WHERE id = $2 AND attempt = $3 AND worker_id = $4 AND state = 'running' RETURNING subject, cancel",
		[]any{t.now + leaseMicros, id, attempt, worker}, &subject, &c)
	return subject, c == 1, mapNoRows(err, pleat.ErrLost)
}

// Beat renews the leases of tasks, stores their progress and brings back which are cancelled or lost.
func (s *Store) Heartbeat(ctx context.Context, worker pleat.WorkerID, beats []pleat.Heartbeat) ([]pleat.HeartbeatReply, error) {
	var out []pleat.HeartbeatReply
	err := s.writeAsync(ctx, "beat", func(t *tx) error {
		out = nil
		for _, b := range beats {
			p := pleat.HeartbeatReply{Task: b.Task}
			_, cancel, err := t.held(b.Task, b.Attempt, worker)
			switch {
			case errors.Is(err, pleat.ErrLost):
				p.Lost = true
			case err != nil:
				return err
			default:
				p.Cancel = cancel
				if b.Run != "" && len(b.Progress) > 0 {
					if err := t.progress(b.Run, b.Progress); err != nil {
						return err
					}
				}
			}
			out = append(out, p)
		}
		_, err := t.exec("UPDATE worker SET seen_at = $1 WHERE id = $2", t.now, worker)
		return err
	})
	return out, err
}

// MaxLogLines bounds the log lines kept of one run.
const MaxLogLines = 2000

// progress appends to a run's events and keeps its newest stage on the run.
func (t *tx) progress(run pleat.RunID, list []pleat.Progress) error {
	var seq, lines int64
	var owner pleat.UserID
	var stage string
	var done, total int
	err := t.row("UPDATE run SET event_seq = event_seq + $1, changed_at = $2 WHERE id = $3 RETURNING event_seq, log_lines, account_id, stage, done, total",
		[]any{len(list), t.now, run}, &seq, &lines, &owner, &stage, &done, &total)
	if err != nil {
		return err
	}
	seq -= int64(len(list))
	oldStage, oldDone, oldTotal, oldLines := stage, done, total, lines
	for _, p := range list {
		seq++
		if p.At.IsZero() {
			p.At = fromMicros(t.now)
		}
		switch p.Kind {
		case pleat.ProgressLog:
			if lines++; lines > MaxLogLines {
				continue
			} else if lines == MaxLogLines {
				p.Line = "further lines are not kept"
			}
		case pleat.ProgressStage:
			stage, done, total = p.Stage, p.Done, p.Total
		}
		p.Seq = 0
		if _, err := t.exec("INSERT INTO run_event (run_id, seq, body) VALUES ($1, $2, $3)", run, seq, encodeJSON(p)); err != nil {
			return err
		}
	}
	t.notify(RunTopic(run), OwnerTopic(owner))
	if stage == oldStage && done == oldDone && total == oldTotal && lines == oldLines {
		return nil
	}
	_, err = t.exec("UPDATE run SET stage = $1, done = $2, total = $3, log_lines = $4 WHERE id = $5", stage, done, total, lines, run)
	return err
}

// Cancels lists the tasks that a worker holds and whose owner wants them stopped.
func (s *Store) CancelledTasks(ctx context.Context, worker pleat.WorkerID) ([]pleat.TaskID, error) {
	var out []pleat.TaskID
	rows, err := s.read(ctx, "SELECT id FROM task WHERE state = 'running' AND worker_id = $1 AND cancel = 1", worker)
	err = forEachRow(rows, err, func(scan func(...any) error) error {
		var id pleat.TaskID
		if err := scan(&id); err != nil {
			return err
		}
		out = append(out, id)
		return nil
	})
	return out, unavailable("read cancels", err)
}

// Release gives a task back unfinished, as a worker does that shuts down in order: another worker goes on at once, and no
// try is spent.
func (s *Store) Release(ctx context.Context, task pleat.TaskID, attempt int, worker pleat.WorkerID) error {
	return s.write(ctx, "release", func(t *tx) error {
		if _, _, err := t.held(task, attempt, worker); err != nil {
			return err
		}
		return t.requeue(endedAttempt{id: task, attempt: attempt}, "released", 0)
	})
}

// EndSearch sends a task on from its search to its fold, at the end of its owner's queue there and with all its tries. What the search
// published stays with the run. A task that its owner has cancelled ends STOPPED. ErrLost where another attempt has begun.
func (s *Store) FinishSearch(ctx context.Context, f SearchCompleted) error {
	return s.write(ctx, "end search", func(t *tx) error {
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
		if cancel {
			why := pleat.Failed(pleat.FailCancelled, "stopped by its owner")
			if err := t.endTask(f.Task, f.Attempt, pleat.StateStopped, why); err != nil {
				return err
			}
			return t.endRun(run, ending{state: pleat.StateStopped, failure: why})
		}
		if _, err := t.exec(`UPDATE task SET lane = $1, tries = 0, turn = (SELECT CASE WHEN own >= served THEN own + 1 ELSE served END FROM `+fairOrderSQL("$1", "task.share")+`)
			WHERE id = $2`, f.FoldQueue, f.Task); err != nil {
			return err
		}
		return t.requeue(endedAttempt{id: f.Task, attempt: f.Attempt}, outcomeSearched, 0)
	})
}

// SetMSA says what becomes of the alignment of a run that has not ended.
func (s *Store) SetMSA(ctx context.Context, task pleat.TaskID, attempt int, worker pleat.WorkerID, msa pleat.State) error {
	return s.write(ctx, "set alignment state", func(t *tx) error {
		subject, _, err := t.held(task, attempt, worker)
		if err != nil {
			return err
		}
		var state pleat.State
		if err := t.row("UPDATE run SET msa = $1, changed_at = $2 WHERE id = $3 RETURNING state", []any{msa, t.now, subject}, &state); err != nil {
			return mapNoRows(err, pleat.ErrLost)
		}
		return t.setState(pleat.RunID(subject), state) // its readers see a new version
	})
}

// AddArtifact makes one file readable before its run ends.
func (s *Store) AddArtifact(ctx context.Context, task pleat.TaskID, attempt int, worker pleat.WorkerID, a pleat.Artifact) error {
	return s.write(ctx, "add artifact", func(t *tx) error {
		subject, _, err := t.held(task, attempt, worker)
		if err != nil {
			return err
		}
		run := pleat.RunID(subject)
		var job pleat.JobID
		var state pleat.State
		if err := t.row("SELECT job_id, state FROM run WHERE id = $1", []any{run}, &job, &state); err != nil {
			return mapNoRows(err, pleat.ErrLost)
		}
		if err := t.setState(run, state); err != nil {
			return err
		}
		if err := t.insertArtifact(job, run, attempt, a); err != nil {
			return err
		}
		return t.progress(run, []pleat.Progress{{Kind: pleat.ProgressArtifact, Line: a.Name}})
	})
}

func (t *tx) insertArtifact(job pleat.JobID, run pleat.RunID, attempt int, a pleat.Artifact) error {
	if _, err := t.exec("DELETE FROM artifact WHERE run_id = $1 AND name = $2", run, a.Name); err != nil {
		return err
	}
	_, err := t.exec(`INSERT INTO artifact (id, run_id, job_id, sequence_id, name, kind, content_type, bytes, sha256, blob_key, attempt, created_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)`,
		newID(), run, job, a.Sequence, a.Name, a.Kind, a.ContentType, a.Bytes, a.SHA256, a.Key, attempt, t.now)
	return err
}

// SaveCheckpoint notes the blob from which the next attempt may go on.
func (s *Store) SaveCheckpoint(ctx context.Context, task pleat.TaskID, attempt int, worker pleat.WorkerID, c pleat.Checkpoint) error {
	return s.write(ctx, "save checkpoint", func(t *tx) error {
		if _, _, err := t.held(task, attempt, worker); err != nil {
			return err
		}
		_, err := t.exec("UPDATE task SET checkpoint = $1, checkpoint_step = $2 WHERE id = $3", c.Key, c.Step, task)
		return err
	})
}

// Unnamed tells which of the blob keys no artifact and no checkpoint refers to.
func (s *Store) UnreferencedBlobs(ctx context.Context, keys []string) ([]string, error) {
	var out []string
	for _, k := range keys {
		var one int
		err := s.readRow(ctx, "SELECT 1 FROM artifact WHERE blob_key = $1 UNION ALL SELECT 1 FROM task WHERE checkpoint = $1 AND checkpoint <> '' UNION ALL SELECT 1 FROM library_file WHERE blob_key = $1 LIMIT 1", []any{k}, &one)
		switch {
		case errors.Is(err, sql.ErrNoRows):
			out = append(out, k)
		case err != nil:
			return nil, unavailable("read blobs", err)
		}
	}
	return out, nil
}

// Counts is the size of the queue by lane and state; ended tasks are not counted. All deliveries count as one lane, since
// there are as many of theirs as endpoints.
func (s *Store) QueueCounts(ctx context.Context) ([]QueueCount, error) {
	out := []QueueCount{}
	const (
		lane  = "CASE WHEN kind = 'deliver' THEN 'deliver' ELSE lane END"
		each1 = "SELECT " + lane + ", state, count(*), min(created_at) FROM task WHERE state = "
		by    = " GROUP BY " + lane + ", state"
	)
	rows, err := s.read(ctx, each1+"'queued'"+by+" UNION ALL "+each1+"'waiting'"+by+" UNION ALL "+each1+"'running'"+by)
	err = forEachRow(rows, err, func(scan func(...any) error) error {
		var c QueueCount
		var at int64
		if err := scan(&c.Queue, &c.State, &c.N, &at); err != nil {
			return err
		}
		c.Oldest = fromMicros(at)
		out = append(out, c)
		return nil
	})
	return out, unavailable("count tasks", err)
}
