package runs

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"time"

	"pleat"
	"pleat/internal/store/db"
	"pleat/internal/store/people"
)

// NewWorkflow is a validated workflow to create, as package submit makes it.
type NewWorkflow struct {
	By       people.Reach   // who creates it; zero: the service itself, for a fold
	Workflow pleat.Workflow // ID, state and times are made by the store
	Draft    bool
	Job      pleat.JobID // of which it is a follow-up; empty: none
	Run      RunSpec     // of its task; Kind is the workflow's
	Subs     []pleat.Subscription
	Design   *NewDesign // of a design; nil for other kinds
	Key      string     // Idempotency-Key; empty: none
	Digest   string     // of the request, if there is a key
}

// WorkflowView is a workflow with the run of its task and the run's artifacts, in the order in which they were stored.
type WorkflowView struct {
	Workflow  pleat.Workflow
	Run       *pleat.Run // nil for a draft
	Artifacts []pleat.Artifact
	Items     []WorkflowItem // of its owner's library that its task created
	Expires   time.Time      // when it may be deleted; zero: never, or the run has not ended
}

// WorkflowItem is a file in a library that a workflow's task created.
type WorkflowItem struct {
	ID   pleat.ItemID
	File string // its name
}

// WorkflowRow is a workflow in a list, with the progress and the outcome of its run. A draft has neither.
type WorkflowRow struct {
	Workflow pleat.Workflow
	Stage    string
	Done     int            // steps of the stage that are done
	Total    int            // steps of the stage; 0: not known
	Result   *pleat.Result  // nil unless the run completed, and of comparisons, whose results are large
	Failure  *pleat.Failure // nil unless the run failed or was stopped
}

// workflowColumns are the columns that scanWorkflow reads, of the row w of workflow.
var workflowColumns = `w.id, w.project_id, w.created_by, ` + people.CreatorName(
	"w",
) + `, w.kind, w.alias, w.workflow_name,
	w.name, w.public, w.state, w.version, w.epoch, w.run_id, w.input, w.source_job, w.source_run, w.source_sequence,
	w.created_at, w.updated_at`

// scanWorkflow reads a workflow from workflowColumns, and more columns.
func scanWorkflow(scan func(...any) error, w *pleat.Workflow, more ...any) error {
	err := scan(append([]any{
		&w.ID, &w.Owner, &w.Creator, &w.CreatorName, &w.Kind, &w.Alias, &w.Type, &w.Name, db.ScanBool(&w.Public),
		&w.State, &w.Version, &w.Epoch, &w.Run, (*[]byte)(&w.Input), &w.Source.Job, &w.Source.Run, &w.Source.Sequence,
		db.ScanTime(&w.Created), db.ScanTime(&w.Updated),
	}, more...)...)
	w.CreatorName = people.DisplayName(w.CreatedBy(), w.CreatorName)
	return err
}

// CreateWorkflow stores a workflow with its subscriptions: a draft, or with the run and task that will execute it. It
// returns the workflow with its id, state and times. CodeLimited: the user's workflows of today are used up;
// CodeConflict or CodeTooLarge: a draft more, or its input, is more than Limits allows.
func (s *Store) CreateWorkflow(ctx context.Context, n NewWorkflow) (pleat.Workflow, error) {
	w, _, err := s.CreateWorkflowOnce(ctx, n)
	return w, err
}

// CreateWorkflowOnce is [Store.CreateWorkflow] for a call that may have an idempotency key, which works as in
// [Store.CreateJob]. For a workflow that an earlier call has created it returns the id alone. CodeConflict: the key
// came with another request.
func (s *Store) CreateWorkflowOnce(ctx context.Context, n NewWorkflow) (w pleat.Workflow, replayed bool, err error) {
	err = s.db.Write(ctx, "create workflow", func(t *db.Tx) error {
		w = pleat.Workflow{}
		call := NewKeyedCall(n.Workflow.Creator, n.Workflow.Owner, n.Key, n.Digest)
		if n.Key != "" {
			var earlier EarlierCall
			askReplay(t, call, &earlier)
			if err := t.Wait(); err != nil {
				return err
			}
			if !earlier.none {
				return earlier.Replay(call, &w.ID)
			}
		}
		if n.By.User != "" {
			if err := people.NeedRole(
				t, people.Reach{User: n.By.User, Project: n.Workflow.Owner}, pleat.Member,
			); err != nil {
				return err
			}
		}
		if err := s.countWorkflow(t, &n); err != nil {
			return err
		}
		if err := lockFiles(t, n.Run.Files); err != nil {
			return err
		}
		w = insertWorkflow(t, n)
		KeepAnswer(t, call, w.ID)
		if n.Design == nil {
			return nil
		}
		return s.insertDesign(t, &w, n.Design)
	})
	replayed, err = Replayed(err)
	return w, replayed, err
}

// countWorkflow counts a new workflow against the limits of its owner, or refuses it: a draft against those of drafts,
// any other against today's quota of workflows.
func (s *Store) countWorkflow(t *db.Tx, n *NewWorkflow) error {
	if n.Draft {
		return s.people.CountDraft(t, n.Workflow.Owner, len(n.Workflow.Input))
	}
	spec := n.Run
	spec.Kind = n.Workflow.Kind
	return s.people.ChargeWorkflow(t, n.Workflow.Owner, PlannedRun(spec))
}

// insertWorkflow is CreateWorkflow inside a transaction: a follow-up creates its workflow where it ends.
func insertWorkflow(t *db.Tx, n NewWorkflow) pleat.Workflow {
	w := n.Workflow
	w.ID, w.State, w.Version, w.Epoch = pleat.WorkflowID(db.NewID()), pleat.StateDraft, 1, 1
	w.Created, w.Updated = db.FromMicros(t.Now), db.FromMicros(t.Now)
	if !n.Draft {
		w.State, w.Run = pleat.StateQueued, pleat.RunID(db.NewID())
	}
	t.Send(`
		INSERT INTO workflow (
			id, project_id, kind, alias, workflow_name, name, public, state, version, epoch, run_id, input, source_job,
			source_run, source_sequence, created_at, updated_at, deleted_at, input_bytes, started_by, created_by)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 1, 1, $9, $10, $11, $12, $13, $14, $14, 0, $15, $16, $17)`,
		w.ID, w.Owner, w.Kind, w.Alias, w.Type, w.Name, db.BoolToInt(w.Public), w.State, w.Run, string(w.Input),
		w.Source.Job, w.Source.Run, w.Source.Sequence, t.Now, len(w.Input), n.Job, w.Creator)
	ref := Ref{
		Source: pleat.Source{Workflow: w.ID}, run: w.Run, Owner: w.Owner, Creator: w.Creator, bytes: len(w.Input),
	}
	InsertSubscriptions(t, ref, n.Subs)
	if !n.Draft {
		n.Run.Kind = w.Kind
		insertRun(t, ref, 1, n.Run)
	}
	return w
}

// ExecuteWorkflow gives a draft its run and task, and its subscriptions their run: the draft becomes QUEUED. The input
// stays as it is; the server has checked that of draft again, like that of a new workflow. [pleat.ErrWorkflowNotFound]:
// it does not exist or is out of reach. [pleat.ErrNotDraft]: it has been executed or cancelled, perhaps by a call at
// the same time. CodeConflict: its input is another one now. CodeLimited: the user's workflows of today are used up.
func (s *Store) ExecuteWorkflow(
	ctx context.Context, by people.Reach, draft *pleat.Workflow, spec RunSpec) (pleat.Workflow, error) {
	var w pleat.Workflow
	owner, id := draft.Owner, draft.ID
	err := s.db.Write(ctx, "execute workflow", func(t *db.Tx) error {
		if err := lockDraft(t, by, id, "executed", &w); err != nil {
			return err
		}
		if !bytes.Equal(w.Input, draft.Input) {
			return pleat.Errorf(pleat.CodeConflict, "the draft was changed at the same moment; execute it again")
		}
		spec.Kind = w.Kind
		if err := s.people.ChargeWorkflow(t, owner, PlannedRun(spec)); err != nil {
			return err
		}
		if err := lockFiles(t, spec.Files); err != nil {
			return err
		}
		w.Run, w.State = pleat.RunID(db.NewID()), pleat.StateQueued
		t.Send("UPDATE workflow SET run_id = $1, state = $2, version = version + 1, updated_at = $3 WHERE id = $4",
			w.Run, w.State, t.Now, id)
		t.Send("UPDATE subscription SET run_id = $1 WHERE source_id = $2", w.Run, id)
		ref := Ref{
			Source: pleat.Source{Workflow: id}, run: w.Run, Owner: owner, Creator: by.User, bytes: len(w.Input),
		}
		insertRun(t, ref, 1, spec)
		return nil
	})
	return w, err
}

// LockWorkflow is what [LockJob] is to jobs; it reads the whole workflow.
func LockWorkflow(t *db.Tx, by people.Reach, needs pleat.Role, id pleat.WorkflowID, w *pleat.Workflow) error {
	var role pleat.Role
	err := scanWorkflow(func(dst ...any) error {
		return t.Row("SELECT "+workflowColumns+", "+people.RoleSQL("w.project_id", "$2", "$3")+`
		FROM workflow w WHERE w.id = $1 AND w.deleted_at = 0 FOR UPDATE`, []any{id, by.User, by.Project}, dst...)
	}, w, &role)
	if err != nil {
		return db.MapNoRows(err, pleat.ErrWorkflowNotFound)
	}
	return role.Allow(needs, pleat.ErrWorkflowNotFound)
}

// lockDraft is [LockWorkflow] for a member who changes or executes a draft. [pleat.ErrNotDraft]: it has left DRAFT and
// can no longer be, say, executed.
func lockDraft(t *db.Tx, by people.Reach, id pleat.WorkflowID, executed string, w *pleat.Workflow) error {
	err := LockWorkflow(t, by, pleat.Member, id, w)
	if err == nil && w.State != pleat.StateDraft {
		err = pleat.ErrNotDraft(w.State, executed)
	}
	return err
}

// EditDraft replaces the input of a draft by what edit makes of it. Edit runs in the transaction, possibly more than
// once, so that two edits of different fields cannot undo each other; its error is returned.
// [pleat.ErrWorkflowNotFound]: the workflow does not exist or is out of reach. [pleat.ErrNotDraft]: it has left DRAFT.
func (s *Store) EditDraft(
	ctx context.Context, by people.Reach, id pleat.WorkflowID,
	edit func(input json.RawMessage) (json.RawMessage, error),
) (pleat.Workflow, error) {
	var w pleat.Workflow
	err := s.db.Write(ctx, "edit draft", func(t *db.Tx) error {
		if err := lockDraft(t, by, id, "changed", &w); err != nil {
			return err
		}
		before := len(w.Input)
		var err error
		if w.Input, err = edit(w.Input); err != nil {
			return err
		}
		if err := people.LockProject(t, w.Owner); err != nil {
			return err
		}
		if err := s.people.GrowLibrary(
			t, w.Owner, people.LibraryUse{Bytes: int64(len(w.Input) - before)}, "the change",
		); err != nil {
			return err
		}
		w.Version++
		_, err = t.Exec(`
			UPDATE workflow SET input = $1, input_bytes = $2, version = version + 1, updated_at = $3 WHERE id = $4`,
			string(w.Input), len(w.Input), t.Now, id)
		return err
	})
	return w, err
}

// SetWorkflowPublic makes a workflow public or private. Making it private raises the epoch, which invalidates the links
// that were given out. [pleat.ErrWorkflowNotFound]: it does not exist or is out of reach.
func (s *Store) SetWorkflowPublic(
	ctx context.Context, by people.Reach, id pleat.WorkflowID, public bool,
) error {
	return s.db.Write(ctx, "set workflow public", func(t *db.Tx) error {
		var w pleat.Workflow
		if err := LockWorkflow(t, by, pleat.Member, id, &w); err != nil || w.Public == public {
			return err
		}
		t.Notify(Topic(w.Run), OwnerTopic(w.Owner))
		_, err := t.Exec(`
			UPDATE workflow SET public = $1, epoch = epoch + $2, version = version + 1, updated_at = $3 WHERE id = $4`,
			db.BoolToInt(public), db.BoolToInt(!public), t.Now, id)
		return err
	})
}

// CancelWorkflow stops a workflow: at once if it is a draft or waits, within two seconds if it runs. It returns the
// state that the workflow has now, as Cancel does. A draft ends without an event, since it has no run.
// [pleat.ErrWorkflowNotFound]: it does not exist or is out of reach. CodeConflict: it has ended.
func (s *Store) CancelWorkflow(ctx context.Context, by people.Reach, id pleat.WorkflowID) (pleat.State, error) {
	var state pleat.State
	err := s.db.Write(ctx, "cancel workflow", func(t *db.Tx) error {
		var w pleat.Workflow
		if err := LockWorkflow(t, by, pleat.Member, id, &w); err != nil {
			return err
		}
		switch {
		case w.State.Terminal():
			return pleat.Errorf(pleat.CodeConflict, "the workflow has already ended: it is %s", w.State)
		case w.State == pleat.StateDraft:
			state = pleat.StateStopped
			_, err := t.Exec("UPDATE workflow SET state = $1, version = version + 1, updated_at = $2 WHERE id = $3",
				state, t.Now, id)
			return err
		}
		var err error
		state, err = s.CancelRun(t, w.Run)
		return err
	})
	return state, err
}

// WorkflowView reads a workflow with its run and files, in several queries: the state may be older than the files. It
// does not check who asks. [pleat.ErrWorkflowNotFound]: it does not exist or was deleted.
func (s *Store) WorkflowView(ctx context.Context, id pleat.WorkflowID) (WorkflowView, error) {
	var v WorkflowView
	var keep int64
	err := scanWorkflow(func(dst ...any) error {
		return s.db.ReadRow(ctx, "SELECT "+workflowColumns+", "+people.RetentionSQL("w")+`
		FROM workflow w WHERE w.id = $1 AND w.deleted_at = 0`, []any{id}, dst...)
	}, &v.Workflow, &keep)
	if err != nil {
		return v, db.Unavailable("read workflow", db.MapNoRows(err, pleat.ErrWorkflowNotFound))
	}
	if v.Workflow.Run == "" {
		return v, nil
	}
	var u pleat.Run
	var rr runRow
	if err := s.db.ReadRow(ctx, "SELECT "+runColumns+" FROM run r WHERE r.id = $1",
		[]any{v.Workflow.Run}, rr.scanTargets(&u)...); err != nil {
		return v, db.Unavailable("read workflow", err)
	}
	if err := rr.fill(&u); err != nil {
		return v, err
	}
	v.Run = &u
	v.Expires = people.Expiry(u.FinishedAt, s.people.RetentionOrDefault(keep))
	if v.Artifacts, err = s.artifacts(ctx, u.ID); err != nil {
		return v, db.Unavailable("read workflow", err)
	}
	rows, err := s.db.Read(ctx, `
		SELECT i.id, f.name FROM library_item i JOIN library_file f ON f.item_id = i.id
		WHERE i.workflow_id = $1 AND i.deleted_at = 0
		ORDER BY i.id, f.created_at, f.name`, id)
	v.Items, err = db.ListOf(rows, err, func(scan func(...any) error) (item WorkflowItem, err error) {
		err = scan(&item.ID, &item.File)
		return item, err
	})
	return v, db.Unavailable("read workflow", err)
}

// WorkflowFilter narrows a list of workflows. Empty fields do not narrow it; Limit must be set.
type WorkflowFilter struct {
	Limit   int
	Before  string // an ID: the list starts with the next older one; empty: with the newest
	State   pleat.State
	Kind    pleat.TaskKind
	Creator pleat.UserID
	Source  pleat.FoldRef // the parts that are not empty
}

// page returns the page of the project's workflows w that the filter selects.
func (f *WorkflowFilter) page(in people.Reach) *people.Page {
	p := people.CreatorPage("w", in, f.Before, f.Creator)
	p.And("w.deleted_at = 0")
	p.Equal("w.state", string(f.State))
	p.Equal("w.kind", string(f.Kind))
	p.Equal("w.source_job", string(f.Source.Job))
	p.Equal("w.source_run", string(f.Source.Run))
	p.Equal("w.source_sequence", string(f.Source.Sequence))
	return p
}

// Workflows reads a page of a project's workflows, newest first.
func (s *Store) Workflows(ctx context.Context, by people.Reach, f WorkflowFilter) ([]WorkflowRow, error) {
	p := f.page(by)
	rows, err := s.db.Read(ctx, p.SQL(workflowColumns+`,
		CASE WHEN w.kind = 'compare' THEN '' ELSE COALESCE(r.result, '') END, COALESCE(r.failure, ''),
		COALESCE(r.stage, ''), COALESCE(r.done, 0),
		COALESCE(r.total, 0)`, "workflow w LEFT JOIN run r ON r.id = w.run_id", f.Limit), p.Args...)
	out, err := db.ListOf(rows, err, func(scan func(...any) error) (row WorkflowRow, err error) {
		var result, failure string
		if err := scanWorkflow(scan, &row.Workflow, &result, &failure, &row.Stage, &row.Done, &row.Total); err != nil {
			return row, err
		}
		err = errors.Join(db.DecodeJSON(result, &row.Result), db.DecodeJSON(failure, &row.Failure))
		return row, err
	})
	return out, db.Unavailable("list workflows", err)
}
