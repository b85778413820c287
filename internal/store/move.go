package store

import (
	"context"
	"encoding/json"
	"errors"

	"pleat"
)

// MoveJob gives a job whose run has ended, with the workflows that its runs have started, to another project, and
// records it in both. Its events and deliveries stay where they were, and its webhook settings end, as do its links:
// they were given out by the other project. The caller must be a member of both projects. ErrJobNotFound: the job does
// not exist or is out of reach; pleat.ErrNoProject: the other project is. CodeConflict: something of it has not ended,
// it belongs to a batch, or the other project's results hold as much as they may.
func (s *Store) MoveJob(ctx context.Context, by Actor, job pleat.JobID, to pleat.ProjectID) error {
	return s.write(ctx, "move job", func(t *tx) error {
		h, err := t.lockJob(by.Reach, pleat.Member, job)
		if err != nil {
			return err
		}
		switch {
		case h.batch != "":
			return pleat.Errorf(pleat.CodeConflict, "the job belongs to the batch %s, which cannot be moved", h.batch)
		case !h.State.Terminal():
			return pleat.Errorf(pleat.CodeConflict, "the job is %s; it can be moved once it has ended", h.State)
		}
		if err := t.mayMove(by, h.Owner, to); err != nil || h.Owner == to {
			return err
		}
		var busy int
		if err := t.row(`
			SELECT count(*) FROM workflow
			WHERE started_by = $1 AND started_by <> '' AND deleted_at = 0
				AND state NOT IN ('DRAFT', 'COMPLETED', 'FAILED', 'STOPPED')`,
			[]any{job}, &busy); err != nil {
			return err
		}
		if busy > 0 {
			return pleat.Errorf(pleat.CodeConflict, "%d workflows that the job has started have not ended", busy)
		}
		if err := t.forgetWebhooks("job", "constraints", string(job)); err != nil {
			return err
		}
		const followUps = "SELECT id FROM workflow WHERE started_by = $1 AND started_by <> ''"
		t.moveRuns("job_id = $1", job, to)
		t.moveRuns("workflow_id IN ("+followUps+")", job, to)
		t.send("UPDATE library_item SET project_id = $2 WHERE workflow_id IN ("+followUps+")", job, to)
		t.send(`
			UPDATE workflow SET project_id = $2, version = version + 1, epoch = epoch + 1, updated_at = $3
			WHERE started_by = $1 AND started_by <> ''`, job, to, t.now)
		t.send(`
			UPDATE job SET project_id = $2, library_item = '', version = version + 1, epoch = epoch + 1, updated_at = $3
			WHERE id = $1`, job, to, t.now)
		t.notify(RunTopic(h.Run))
		return t.moved(by, pleat.Source{Job: job}, h.Owner, to)
	})
}

// MoveWorkflow is MoveJob for a workflow, which may be a draft. The items that it has in the library go with it.
func (s *Store) MoveWorkflow(ctx context.Context, by Actor, id pleat.WorkflowID, to pleat.ProjectID) error {
	return s.write(ctx, "move workflow", func(t *tx) error {
		var w pleat.Workflow
		if err := t.lockWorkflow(by.Reach, pleat.Member, id, &w); err != nil {
			return err
		}
		if w.State != pleat.StateDraft && !w.State.Terminal() {
			return pleat.Errorf(pleat.CodeConflict, "the workflow is %s; it can be moved once it has ended", w.State)
		}
		if err := t.mayMove(by, w.Owner, to); err != nil || w.Owner == to {
			return err
		}
		if err := t.forgetWebhooks("workflow", "input", string(id)); err != nil {
			return err
		}
		const workspace = "SELECT workspace FROM design WHERE workflow_id = $1"
		t.moveRuns("workflow_id = $1", id, to)
		t.send("UPDATE library_item SET project_id = $2 WHERE workflow_id = $1", id, to)
		t.send("UPDATE library_item SET project_id = $2 WHERE id IN ("+workspace+") OR parent_id IN ("+workspace+
			") AND parent_id <> ''", id, to)
		t.send("DELETE FROM subscription WHERE source_id = $1 AND run_id = ''", id) // of a draft
		t.send(`
			UPDATE workflow SET project_id = $2, version = version + 1, epoch = epoch + 1, updated_at = $3
			WHERE id = $1`,
			id, to, t.now)
		t.notify(RunTopic(w.Run))
		return t.moved(by, pleat.Source{Workflow: id}, w.Owner, to)
	})
}

// mayMove checks that the actor may create work in a project, and that the project may hold more.
func (t *tx) mayMove(by Actor, from, to pleat.ProjectID) error {
	if by.Project != "" && by.Project != to && from != to {
		return pleat.ErrNoProject // the key reaches one project alone
	}
	if err := t.needRole(Reach{User: by.User, Project: to}, pleat.Member); err != nil || from == to {
		return errorAt(err, "projectId")
	}
	if err := t.lockProject(to); err != nil {
		return err
	}
	var held int64
	t.askResults(to, &held)
	if err := t.wait(); err != nil {
		return err
	}
	return t.checkResults(held)
}

// errorAt returns a refusal as one of a field.
func errorAt(err error, field string) error {
	var refusal *pleat.Error
	if !errors.As(err, &refusal) {
		return err
	}
	return refusal.At(field)
}

// moveRuns gives the runs that a condition with the parameter $1 selects to a project, with the bytes that they hold.
func (t *tx) moveRuns(where string, id any, to pleat.ProjectID) {
	t.send(countSQL("0", "-sum(bytes)", "run WHERE "+where), id)
	t.send("UPDATE run SET project_id = $2, changed_at = $3 WHERE "+where, id, to, t.now)
	t.send(countSQL("0", "sum(bytes)", "run WHERE "+where), id)
}

// forgetWebhooks removes the webhook settings from what was given of a job or workflow, which is in a column of its
// row. Its subscriptions stay with the project that made them: deliveries that wait need them.
func (t *tx) forgetWebhooks(table, column, id string) error {
	var text string
	if err := t.row("SELECT "+column+" FROM "+table+" WHERE id = $1", []any{id}, &text); err != nil {
		return err
	}
	var given map[string]json.RawMessage
	if err := decodeJSON(text, &given); err != nil {
		return err
	}
	if _, there := given["webhooks"]; there {
		delete(given, "webhooks")
		t.send("UPDATE "+table+" SET "+column+" = $2 WHERE id = $1", id, encodeJSON(given))
	}
	return nil
}

// moved ends the links to what was moved, and records the move in both projects.
func (t *tx) moved(by Actor, source pleat.Source, from, to pleat.ProjectID) error {
	t.send("DELETE FROM share WHERE source_id = $1", source.ID())
	t.notify(OwnerTopic(from), OwnerTopic(to))
	what := string(source.Kind()) + " " + source.ID()
	if err := t.audit(by.In(from), AuditMoved, what, "to "+string(to)); err != nil {
		return err
	}
	return t.audit(by.In(to), AuditMoved, what, "from "+string(from))
}
