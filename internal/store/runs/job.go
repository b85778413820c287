package runs

import (
	"cmp"
	"context"
	"errors"

	"pleat"
	"pleat/internal/store/db"
	"pleat/internal/store/people"
	"pleat/internal/store/tasks"
	"pleat/internal/store/webhooks"
)

// CreateJob stores a validated job, its first run with the task that will execute it, and the subscriptions of its
// events, and counts it against the project's quota, all in one transaction. It gives n.Job and its sequences their
// ids.
//
// With an idempotency key it answers a repeated request as the first one for a day: two calls at the same time create
// one job, and the second waits for the first. A repetition is not charged. ErrUnauthorized: the credential is not the
// creator's or not valid. CodeForbidden: the creator is only a viewer of the project; ErrNoProject: not even that.
// CodeConflict: the key came with another request. CodeLimited: the quota is spent.
func (s *Store) CreateJob(ctx context.Context, n NewJob) (Created, error) {
	var c Created
	err := s.db.Write(ctx, "create job", func(t *db.Tx) error {
		c = Created{}
		call := NewKeyedCall(n.Job.Creator, n.Job.Owner, n.Key, n.Digest)
		var spent people.Charge
		if err := call.Admit(t, n.By, &c, func() { s.people.AskCharge(t, n.Job.Owner, &spent) }); err != nil {
			return err
		}
		usage, err := s.people.JobUsage(t, &spent)
		if err != nil {
			return err
		}
		if err := people.CheckBudget(t, n.Job.Owner, spent.Budget, PlannedRun(n.Run)); err != nil {
			return err
		}
		InsertJob(t, &n, &c)
		c.Usage = usage
		KeepAnswer(t, call, c)
		return nil
	})
	c.Replayed, err = Replayed(err)
	return c, err
}

// InsertJob stores the job, its run and its subscriptions, and fills in c.
func InsertJob(t *db.Tx, n *NewJob, c *Created) {
	j := &n.Job
	c.Job, c.Run = pleat.JobID(db.NewID()), pleat.RunID(db.NewID())
	c.Name, c.State = j.Name, pleat.StateInitialized
	for i := range j.Sequences {
		j.Sequences[i].ID = pleat.SequenceID(db.NewID())
		c.Sequences = append(c.Sequences, j.Sequences[i].ID)
	}
	sequences, constraints := db.EncodeJSON(j.Sequences), db.EncodeJSON(j.Constraints)
	t.Send(`
		INSERT INTO job (
			id, project_id, name, public, chat_id, library_item, sequences, constraints, complex, state, version, epoch,
			run_id, runs, created_at, updated_at, deleted_at, batch_id, batch_row, batch_rows, created_by)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, 1, 1, $11, 1, $12, $12, 0, $13, $14, $15, $16)`,
		c.Job, j.Owner, j.Name, db.BoolToInt(j.Public), j.ChatID, j.LibraryItem, sequences,
		constraints, db.BoolToInt(j.Complex), c.State, c.Run, t.Now, n.Row.Batch, n.Row.Number, n.Row.Shared, j.Creator)
	ref := Ref{
		Source:  pleat.Source{Job: c.Job},
		run:     c.Run,
		Owner:   j.Owner,
		Creator: j.Creator,
		batch:   n.Row.Batch,
		bytes:   len(sequences) + len(constraints),
		tokens:  j.Tokens(pleat.ModelLimits{}),
	}
	insertRun(t, ref, 1, n.Run)
	InsertSubscriptions(t, ref, n.Subs)
}

// Ref identifies a run with what it belongs to and who owns it. The run is empty while a workflow is a draft.
type Ref struct {
	Source pleat.Source
	run    pleat.RunID
	Owner  pleat.ProjectID
	// creator made the run; empty: the user whose own project the owner is.
	Creator pleat.UserID
	batch   pleat.BatchID // of whose jobs it is a run; empty: of none
	bytes   int           // of the input, which counts with the run's files against Limits.ResultsBytes
	tokens  int           // of the input of a fold
}

// tenant is the fair-queueing key of the run's task. Each user has turns of their own in each project. The batches of a
// user have further ones, which they share: the user's other jobs need not wait for all of them, and nobody gets more
// turns by more batches.
func (r *Ref) tenant() string {
	tenant := string(r.Owner)
	if r.Creator != "" && r.Creator.OwnProject() != r.Owner {
		tenant += "/" + string(r.Creator)
	}
	if r.batch != "" {
		tenant += "/batch"
	}
	return tenant
}

// InsertSubscriptions stores the destinations of a run's event. It also stores the endpoint that a subscription brings,
// which serves this source alone. A subscription by default is left out where no endpoint is enabled by default; a
// later change of the default does not concern runs that exist. The execution of a draft gives its subscriptions their
// run.
func InsertSubscriptions(t *db.Tx, ref Ref, subs []pleat.Subscription) {
	for _, sub := range subs {
		if sub.Custom != nil {
			sub.Endpoint = pleat.EndpointID(db.NewID())
			t.Send(`
				INSERT INTO endpoint (
					id, project_id, run_source, origin, address, token, secret, old_secret, old_secret_until, format,
					active, paused, enabled_by_default, disabled_reason, health, resume_at, rotated_at,
					created_at, updated_at)
				VALUES ($1, $2, $3, $4, $5, $6, '', '', 0, '', 1, 0, 0, '', '', 0, 0, $7, $7)`,
				sub.Endpoint, ref.Owner, ref.Source.ID(), sub.Custom.Address.Origin, sub.Custom.Address.Sealed,
				sub.Custom.Token, t.Now)
		}
		q, args := "VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, CAST($10 AS bigint), $11)", []any{
			db.NewID(), ref.Owner, ref.Source.Kind(), ref.Source.ID(), ref.run, sub.Destination, sub.Alias,
			sub.TargetType, string(sub.Settings), t.Now}
		if sub.Default {
			q = "SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9, CAST($10 AS bigint), e.id FROM " + webhooks.EnabledEndpoint
		} else {
			args = append(args, sub.Endpoint)
		}
		t.Send(`
			INSERT INTO subscription (
				id, project_id, source_kind, source_id, run_id, destination, alias, target_type, settings, created_at,
				endpoint_id)
			`+q, args...)
	}
}

// insertRun stores a run and its task. The number counts the runs of a job from 1; a workflow has one run. The files
// that it reads count as its input: it keeps them when the library deletes them.
func insertRun(t *db.Tx, ref Ref, number int, spec RunSpec) {
	bytes := int64(ref.bytes)
	for _, f := range spec.Files {
		bytes += f.Bytes
	}
	t.Send(`
		INSERT INTO run (
			id, job_id, workflow_id, project_id, number, kind, state, msa, model, weight_set, method, engine, seed,
			params, fresh, input_hash, result, failure, stage, done, total, event_seq, log_lines, created_at,
			started_at, finished_at, changed_at, bytes, trace, created_by, tokens)
		VALUES ($1, NULLIF($2, ''), NULLIF($3, ''), $4, $5, $6, $7, $8, $9, $10, $11, '', $12, $13, $14, '', '', '', '',
			0, 0, 0, 0, $15, 0, 0, $15, $16, $17, $18, $19)`,
		ref.run, ref.Source.Job, ref.Source.Workflow, ref.Owner, number, spec.kind(), spec.state(), pleat.StatePending,
		spec.Model, spec.WeightSet, spec.Method, spec.Seed, db.EncodeJSON(spec.Params), db.BoolToInt(spec.Fresh), t.Now,
		bytes, spec.Trace, cmp.Or(ref.Creator, pleat.UserID(ref.Owner)), ref.tokens)
	for _, f := range spec.Files {
		t.Send(`
			INSERT INTO run_file (run_id, name, main, blob_key, sha256, bytes) VALUES ($1, $2, $3, $4, $5, $6)`,
			ref.run, f.Name, db.BoolToInt(f.Main), f.Key, f.SHA256, f.Bytes)
	}
	people.CountResultBytes(t, "sum(bytes)", "run WHERE id = $1", ref.run)
	t.Notify(OwnerTopic(ref.Owner))
	tasks.Insert(t, pleat.Task{
		Kind:     spec.kind(),
		Queue:    spec.Queue,
		Owner:    ref.Owner,
		Tenant:   ref.tenant(),
		Run:      ref.run,
		Memory:   spec.Memory,
		Expected: spec.Expected,
		MaxTries: spec.Tries,
		Request:  spec.Request,
	})
}

// Rerun starts another run of a job whose latest has ended, and counts it against the quota. The job shows the new run
// from then on; the runs before it keep their results. Subscriptions move to the new run. ErrJobNotFound: the job does
// not exist or is out of reach. CodeConflict: its latest run has not ended, or it belongs to a batch that was
// cancelled. CodeLimited: the quota is spent.
func (s *Store) Rerun(ctx context.Context, by people.Reach, job pleat.JobID, spec RunSpec) (Created, error) {
	var c Created
	err := s.db.Write(ctx, "rerun", func(t *db.Tx) error {
		h, err := LockJob(t, by, pleat.Member, job)
		if err != nil {
			return err
		}
		if !h.State.Terminal() {
			return pleat.Errorf(pleat.CodeConflict, "the job is %s; it can be run again once it has ended", h.State)
		}
		c = Created{}
		var spent people.Charge
		s.people.AskCharge(t, h.Owner, &spent)
		cancelled := int64(0)
		t.Ask("SELECT cancelled FROM batch WHERE id = $1", []any{h.Batch}, func(scan func(...any) error) error {
			return scan(&cancelled)
		})
		if err := t.Wait(); err != nil {
			return err
		}
		if cancelled == 1 { // the run would be stopped at once
			return pleat.Errorf(pleat.CodeConflict,
				"the job belongs to the batch %s, which was cancelled; use retry-failed of the batch", h.Batch)
		}
		if c.Usage, err = s.people.JobUsage(t, &spent); err != nil {
			return err
		}
		if err := people.CheckBudget(t, h.Owner, spent.Budget, PlannedRun(spec)); err != nil {
			return err
		}
		usage := c.Usage
		c, err = RerunJob(t, Ref{Owner: h.Owner, Creator: by.User}, job, spec)
		c.Usage = usage
		return err
	})
	return c, err
}

// RerunJob is [Store.Rerun] for a locked job whose latest run has ended, without a charge. The run has the owner and
// creator of ref. The batch that the job belongs to ends once more.
func RerunJob(t *db.Tx, ref Ref, job pleat.JobID, spec RunSpec) (Created, error) {
	c := Created{Job: job, Run: pleat.RunID(db.NewID()), State: pleat.StateInitialized}
	ref.Source, ref.run = pleat.Source{Job: job}, c.Run
	var runs int
	var seqs, constraints string
	if err := t.Row(`
		UPDATE job SET run_id = $1, runs = runs + 1, state = $2, version = version + 1, updated_at = $3
		WHERE id = $4
		RETURNING name, runs, sequences, constraints, batch_id`,
		[]any{c.Run, c.State, t.Now, job}, &c.Name, &runs, &seqs, &constraints, &ref.batch); err != nil {
		return c, err
	}
	var j pleat.Job
	if err := errors.Join(db.DecodeJSON(seqs, &j.Sequences), db.DecodeJSON(constraints, &j.Constraints)); err != nil {
		return c, err
	}
	ref.tokens = j.Tokens(pleat.ModelLimits{})
	for _, q := range j.Sequences {
		c.Sequences = append(c.Sequences, q.ID)
	}
	// The new run has the destinations of the one before, unless another project has chosen them.
	t.Send("UPDATE subscription SET run_id = $1 WHERE source_id = $2 AND project_id = $3", c.Run, job, ref.Owner)
	insertRun(t, ref, runs, spec)
	if ref.batch != "" {
		forgetScores(t, job)
		ReopenBatch(t, ref.batch)
	}
	return c, nil
}

// LockJob locks a job until the transaction ends, and reads its head, for a caller who needs a role in its project. The
// verbs that change a job begin with it, so that they take their locks in one order: the job, then its run and task.
// Claims and ends begin with the task; where the two meet, PostgreSQL rolls one of them back and db.pgCommit repeats
// it.
func LockJob(t *db.Tx, by people.Reach, needs pleat.Role, job pleat.JobID) (Head, error) {
	h := Head{Source: pleat.Source{Job: job}, Caller: by.User}
	var public int64
	err := t.Row(`
		SELECT project_id, public, version, epoch, run_id, state, batch_id,
			`+people.RoleSQL("job.project_id", "$2", "$3")+`
		FROM job
		WHERE id = $1 AND deleted_at = 0
		FOR UPDATE`,
		[]any{job, by.User, by.Project},
		&h.Owner, &public, &h.Version, &h.Epoch, &h.Run, &h.State, &h.Batch, &h.Role)
	if err != nil {
		return h, db.MapNoRows(err, pleat.ErrJobNotFound)
	}
	h.Public = public == 1
	return h, h.Role.Allow(needs, pleat.ErrJobNotFound)
}

// SetPublic makes a job public or private. Making it private raises the epoch, which invalidates the links that were
// given out. Nothing changes if it is so already. ErrJobNotFound: the job does not exist or is out of reach.
// CodeConflict: it belongs to a batch, whose rows are all public or all private.
func (s *Store) SetPublic(ctx context.Context, by people.Reach, job pleat.JobID, public bool) error {
	return s.db.Write(ctx, "set public", func(t *db.Tx) error {
		h, err := LockJob(t, by, pleat.Member, job)
		if err != nil || h.Public == public {
			return err
		}
		if h.Batch != "" {
			return pleat.Errorf(pleat.CodeConflict,
				"the job belongs to the batch %s; change the visibility of the batch", h.Batch)
		}
		t.Notify(Topic(h.Run), OwnerTopic(h.Owner))
		_, err = t.Exec(`
			UPDATE job SET public = $1, epoch = epoch + $2, version = version + 1, updated_at = $3 WHERE id = $4`,
			db.BoolToInt(public), db.BoolToInt(!public), t.Now, job)
		return err
	})
}

// Cancel stops a job: at once if it waits, within two seconds if it runs, as its worker must notice. It returns the
// state that the job has now, which is still RUNNING in the second case; the worker then ends the run as STOPPED.
// ErrJobNotFound: the job does not exist or is out of reach. CodeConflict: it has ended.
func (s *Store) Cancel(ctx context.Context, by people.Reach, job pleat.JobID) (pleat.State, error) {
	var state pleat.State
	err := s.db.Write(ctx, "cancel", func(t *db.Tx) error {
		h, err := LockJob(t, by, pleat.Member, job)
		if err != nil {
			return err
		}
		if h.State.Terminal() {
			return pleat.Errorf(pleat.CodeConflict, "the job has already ended: it is %s", h.State)
		}
		state, err = s.CancelRun(t, h.Run)
		return err
	})
	return state, err
}

// CancelRun flags the task of a run for the worker that holds it, and ends the run itself if no worker does. It returns
// the state that the run has now.
func (s *Store) CancelRun(t *db.Tx, run pleat.RunID) (pleat.State, error) {
	var id pleat.TaskID
	var state pleat.TaskState
	var worker pleat.WorkerID
	err := t.Row(`
		UPDATE task SET cancel = 1
		WHERE run_id = $1
		RETURNING id, state, worker_id`,
		[]any{run}, &id, &state, &worker)
	if err != nil {
		return "", db.MapNoRows(err, pleat.Errorf(pleat.CodeConflict, "the job has already ended"))
	}
	if state == pleat.TaskRunning {
		t.Notify(tasks.WorkerTopic(worker))
		return pleat.StateRunning, nil
	}
	t.Send("DELETE FROM task WHERE id = $1", id)
	return pleat.StateStopped, s.end(t, run, runEnd{state: pleat.StateStopped, failure: StoppedEarly})
}

// StoppedEarly is why a run has no result that was stopped before a worker had it, or its batch before it was made.
var StoppedEarly = pleat.Failed(pleat.FailCancelled, "stopped by its owner before it started")

// Topic has news when a run changes its state, reports progress or gets a file.
func Topic(run pleat.RunID) string { return "run:" + string(run) }

// OwnerTopic has news when one of a project's runs changes or is created. Changes reads which.
func OwnerTopic(owner pleat.ProjectID) string { return "owner:" + string(owner) }

// PlannedRun is the work of one run.
func PlannedRun(spec RunSpec) people.PlannedWork {
	return people.PlannedWork{Queue: pleat.Queue(spec.kind(), spec.Model), Expected: spec.Expected}
}

// CheckBudget refuses a run in the project of a reach that would pass its budget, as the creation of it would, and
// changes nothing. CodeLimited.
func (s *Store) CheckBudget(ctx context.Context, by people.Reach, run RunSpec) error {
	return s.db.WriteAsync(ctx, "check budget", func(t *db.Tx) error {
		var c people.Charge
		s.people.AskLimits(t, by.Project, &c)
		if err := t.Wait(); err != nil {
			return err
		}
		return people.CheckBudget(t, by.Project, c.Budget, PlannedRun(run))
	})
}
