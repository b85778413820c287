package runs

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"pleat"
	"pleat/internal/store/db"
	"pleat/internal/store/people"
	"pleat/internal/store/tasks"
)

// Claim leases queued tasks to a worker: from the first queue as many as there are, then from the next, and in each in
// fair order. Each task gets the next attempt number. The input of each task is read in the same transaction, and its
// run moves to RUNNING.
//
// Two workers never get the same task: PostgreSQL skips rows that another claim has locked, SQLite has one writer. A
// claim may be lost in a crash of the machine; the task is then queued again.
func (s *Store) Claim(
	ctx context.Context, worker pleat.WorkerID, filter tasks.ClaimFilter,
) ([]ClaimedTask, error) {
	return s.ClaimFor(ctx, slices.Repeat([]pleat.WorkerID{worker}, max(0, filter.N)), filter)
}

// ClaimFor is [Store.Claim] for several workers in one transaction: the i-th task that is claimed is leased to the i-th
// worker of the list, so at most as many are claimed as it has places. A worker may have several. It ignores filter.N.
func (s *Store) ClaimFor(
	ctx context.Context, workers []pleat.WorkerID, filter tasks.ClaimFilter,
) ([]ClaimedTask, error) {
	if len(workers) == 0 {
		return nil, nil
	}
	var c *runClaim
	err := s.db.WriteAsync(ctx, "claim", func(t *db.Tx) error {
		c = newRunClaim(t, filter.Lease)
		for _, queue := range filter.Queues {
			if slices.ContainsFunc(workers, func(w pleat.WorkerID) bool { return w != workers[0] }) {
				for first := 0; first < len(workers); first += db.MaxStatementRows {
					c.ForEach(workers[first:min(first+db.MaxStatementRows, len(workers))], first, queue, filter)
				}
			} else {
				c.ForOne(workers[0], queue, len(workers), filter)
			}
		}
		c.start()
		return nil
	})
	if err != nil {
		return nil, err
	}
	c.Sort(filter.Queues)
	list := c.complete(s.db.Logger())
	s.metrics.start(list, filter.Class)
	return list, nil
}

// runClaim is a claim of tasks of runs, which it moves to RUNNING and whose input it reads.
type runClaim struct {
	*tasks.Claim
	inputs map[pleat.RunID]*ClaimedTask
	// faults has why the input of a run cannot be read. A callback must not return it: it would strand the other tasks.
	faults map[pleat.RunID]error
}

func newRunClaim(t *db.Tx, lease time.Duration) *runClaim {
	return &runClaim{
		Claim:  tasks.NewClaim(t, lease),
		inputs: map[pleat.RunID]*ClaimedTask{},
		faults: map[pleat.RunID]error{},
	}
}

// input returns what the claim has read for a run.
func (c *runClaim) input(run pleat.RunID) *ClaimedTask {
	if c.inputs[run] == nil {
		c.inputs[run] = &ClaimedTask{}
	}
	return c.inputs[run]
}

// complete returns the tasks with their input, but not those whose input cannot be read, such as that of a later
// version: their leases expire.
func (c *runClaim) complete(log *slog.Logger) (out []ClaimedTask) {
	for _, k := range c.Tasks {
		in := c.input(k.Task.Run)
		if in.Fold == nil && in.Workflow == nil {
			log.Error("store: the input of a task cannot be read", "task", k.Task.ID, "run", k.Task.Run,
				"error", c.faults[k.Task.Run])
			continue
		}
		in.Task, in.Claimed = k.Task, k.Claimed
		out = append(out, *in)
	}
	return out
}

// NeedsFreshWorker reports whether a task waits that a worker with the filter own cannot claim, but that one with the
// filter fresh can. Both have the same queues.
func (s *Store) NeedsFreshWorker(ctx context.Context, current, fresh tasks.ClaimFilter) (bool, error) {
	queues := db.Args(fresh.Queues)
	if len(queues) == 0 {
		return false, nil
	}
	now := s.db.Micros()
	limits, args := fresh.Conditions(now, len(queues), queues)
	refused, args := current.Conditions(now, len(args), args)
	var needed bool
	err := s.db.ReadRow(ctx, `
		SELECT EXISTS (
			SELECT 1 FROM task
			WHERE state = 'queued' AND queue IN (`+db.Params(1, len(queues))+`)`+limits+`
				AND queue NOT IN (SELECT p.queue FROM paused_queue p)
				AND NOT (state = 'queued'`+refused+`))`,
		args, &needed)
	return needed, db.Unavailable("look for tasks", err)
}

// start records the attempts at the tasks, moves their runs to RUNNING and reads their input.
func (c *runClaim) start() {
	if !c.Postgres() && len(c.Tasks) == 0 {
		return // SQLite has run the statements already
	}
	c.RecordAttempts()
	c.setRunning()
	c.loadFolds()
	c.loadWorkflows()
	c.loadEarlierAttempts()
}

// setRunning moves the runs of the tasks, with their jobs and workflows, to RUNNING, the first time each is claimed. A
// job or workflow that has a later run keeps its state.
func (c *runClaim) setRunning() {
	c.Ask(`
		UPDATE run SET state = $2, started_at = $3, changed_at = $3, event_seq = event_seq + 1
		WHERE state <> $2 AND id IN (SELECT k.run_id FROM `+tasks.ClaimedTasks+`)
		RETURNING id, project_id`,
		[]any{c.ID, pleat.StateRunning, c.Now},
		func(scan func(...any) error) error { return notifyRun(c.Tx, scan) })
	for _, table := range []string{"job", "workflow"} {
		c.Send(`
			UPDATE `+table+` SET state = $2, version = version + 1, updated_at = $3
			WHERE state <> $2
				AND id IN (SELECT r.`+table+`_id FROM `+tasks.ClaimedTasks+` JOIN run r ON r.id = k.run_id)
				AND run_id IN (SELECT k.run_id FROM `+tasks.ClaimedTasks+`)`,
			c.ID, pleat.StateRunning, c.Now)
	}
	// A run that was RUNNING before has an event of this number already.
	c.Send(`
		INSERT INTO run_event (run_id, seq, body)
		SELECT r.id, r.event_seq, $2
		FROM `+tasks.ClaimedTasks+`
		JOIN run r ON r.id = k.run_id
		WHERE r.started_at = $3
		ON CONFLICT DO NOTHING`,
		c.ID, db.EncodeJSON(pleat.Progress{
			Kind: pleat.ProgressState, State: pleat.StateRunning, At: db.FromMicros(c.Now),
		}), c.Now)
}

// loadFolds reads the input of the folds.
func (c *runClaim) loadFolds() {
	c.Ask(`
		SELECT `+jobColumns+", "+runColumns+`, r.fresh, r.trace,
			COALESCE((SELECT d.workflow_id FROM design_fold d WHERE d.job_id = j.id), '')
		FROM `+tasks.ClaimedTasks+`
		JOIN run r ON r.id = k.run_id
		JOIN job j ON j.id = r.job_id
		WHERE k.kind = 'fold'`,
		[]any{c.ID}, c.scanFold)
}

// scanFold reads the input of a fold into the claim of its run.
func (c *runClaim) scanFold(scan func(...any) error) error {
	var j pleat.Job
	var u pleat.Run
	var jr jobRow
	var rr runRow
	var fresh bool
	var trace string
	var design pleat.WorkflowID
	targets := append(append(jr.scanTargets(&j), rr.scanTargets(&u)...), db.ScanBool(&fresh), &trace, &design)
	if err := scan(targets...); err != nil {
		return err
	}
	if err := errors.Join(jr.fill(&j), rr.fill(&u)); err != nil {
		c.faults[u.ID] = err
		return nil
	}
	k := c.input(u.ID)
	k.Fold = &pleat.FoldInput{
		Job:         j.ID,
		Run:         u.ID,
		Owner:       j.Owner,
		LibraryItem: j.LibraryItem,
		Name:        j.Name,
		Sequences:   j.Sequences,
		Params:      u.Params,
		Seed:        u.Seed,
		Constraints: j.Constraints,
		Complex:     j.Complex,
	}
	k.Queued, k.Seed, k.Fresh, k.Trace, k.Design = u.CreatedAt, u.Seed, fresh, trace, design
	return nil
}

// loadWorkflows reads the workflows that the tasks execute.
func (c *runClaim) loadWorkflows() {
	c.Ask(`
		SELECT `+workflowColumns+", "+runColumns+`, r.trace
		FROM `+tasks.ClaimedTasks+`
		JOIN run r ON r.id = k.run_id
		JOIN workflow w ON w.id = r.workflow_id`,
		[]any{c.ID},
		func(scan func(...any) error) error {
			var w pleat.Workflow
			var u pleat.Run
			var rr runRow
			var trace string
			if err := scanWorkflow(scan, &w, append(rr.scanTargets(&u), &trace)...); err != nil {
				return err
			}
			if err := rr.fill(&u); err != nil {
				c.faults[u.ID] = err
				return nil
			}
			k := c.input(u.ID)
			k.Workflow, k.Queued, k.Seed, k.Trace = &w, u.CreatedAt, u.Seed, trace
			return nil
		})
}

// loadEarlierAttempts reads how long earlier attempts at the tasks ran, and those of them that yielded, and what the
// MSA search before a fold has published: the files of the last attempt that ended as searched.
func (c *runClaim) loadEarlierAttempts() {
	const searched = "'" + tasks.OutcomeSearched + "'"
	c.Ask(`
		SELECT k.run_id, o.outcome, `+people.WallSQL+`
		FROM `+tasks.ClaimedTasks+`
		JOIN attempt o ON o.task_id = k.id
		WHERE k.attempt > 1 AND o.ended_at > 0
		ORDER BY o.number`,
		[]any{c.ID},
		func(scan func(...any) error) error {
			var run pleat.RunID
			var outcome string
			var micros int64
			if err := scan(&run, &outcome, &micros); err != nil {
				return err
			}
			k, took := c.input(run), time.Duration(micros)*time.Microsecond
			k.Earlier += took
			switch outcome {
			case tasks.OutcomeSearched:
				k.SearchDuration, k.Alignments = took, []pleat.Artifact{}
			case tasks.OutcomeYielded:
				k.Worked += took
			}
			return nil
		})
	c.Ask(`
		SELECT `+artifactColumns+`
		FROM `+tasks.ClaimedTasks+`
		JOIN attempt o ON o.task_id = k.id AND o.outcome = `+searched+`
		JOIN artifact a ON a.run_id = k.run_id AND a.attempt = o.number
		WHERE k.attempt > 1 AND k.kind = 'fold' AND NOT EXISTS (
			SELECT 1 FROM attempt p WHERE p.task_id = o.task_id AND p.outcome = `+searched+` AND p.number > o.number)
		ORDER BY a.id`,
		[]any{c.ID},
		func(scan func(...any) error) error {
			a, err := scanArtifact(scan)
			k := c.input(a.Run)
			k.Alignments = append(k.Alignments, a)
			return err
		})
}
