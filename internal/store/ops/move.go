package ops

import (
	"context"
	"encoding/json"

	"pleat"
	"pleat/internal/store/db"
	"pleat/internal/store/people"
	"pleat/internal/store/runs"
)

// MoveJob gives a job whose run has ended, with the workflows that its runs have started, to another project, and
// records it in both. Its events and deliveries stay where they were, and its webhook settings end, as do its links:
// they were given out by the other project. The caller must be a member of both projects. ErrJobNotFound: the job does
// not exist or is out of reach; [pleat.ErrNoProject]: the other project is. CodeConflict: something of it has not
// ended, it belongs to a batch, or the other project's results or library hold as much as they may.
func (s *Store) MoveJob(ctx context.Context, by people.Actor, job pleat.JobID, to pleat.ProjectID) error {
	return s.db.Write(ctx, "move job", func(t *db.Tx) error {
		h, err := runs.LockJob(t, by.Reach, pleat.Member, job)
		if err != nil {
			return err
		}
		switch {
		case h.Batch != "":
			return pleat.Errorf(pleat.CodeConflict, "the job belongs to the batch %s, which cannot be moved", h.Batch)
		case !h.State.Terminal():
			return pleat.Errorf(pleat.CodeConflict, "the job is %s; it can be moved once it has ended", h.State)
		}
		if err := s.mayMove(t, by, h.Owner, to); err != nil || h.Owner == to {
			return err
		}
		var busy int
		if err := t.Row(`
			SELECT count(*) FROM workflow
			WHERE started_by = $1 AND started_by <> '' AND deleted_at = 0
				AND state NOT IN ('DRAFT', 'COMPLETED', 'FAILED', 'STOPPED')`,
			[]any{job}, &busy); err != nil {
			return err
		}
		if busy > 0 {
			return pleat.Errorf(pleat.CodeConflict, "%d workflows that the job has started have not ended", busy)
		}
		if err := forgetWebhooks(t, "job", "constraints", string(job)); err != nil {
			return err
		}
		const followUps = "SELECT id FROM workflow WHERE started_by = $1 AND started_by <> ''"
		moveRuns(t, "job_id = $1", job, to)
		moveRuns(t, "workflow_id IN ("+followUps+")", job, to)
		if err := s.moveItems(t, itemsOf(followUps), job, to); err != nil {
			return err
		}
		t.Send("UPDATE workflow SET "+movedColumns+" WHERE started_by = $1 AND started_by <> ''", job, to, t.Now)
		t.Send("UPDATE job SET library_item = '', "+movedColumns+" WHERE id = $1", job, to, t.Now)
		t.Notify(runs.Topic(h.Run))
		return s.moved(t, by, pleat.Source{Job: job}, h.Owner, to)
	})
}

// movedColumns gives a job or workflow to the project $2 at the moment $3. Without a creator, it was made by the user
// whose own project has it, which would not follow from the other project.
const movedColumns = `created_by = CASE created_by WHEN '' THEN project_id ELSE created_by END, project_id = $2,
	version = version + 1, epoch = epoch + 1, updated_at = $3`

// MoveWorkflow is [Store.MoveJob] for a workflow, which may be a draft. The items that it has in the library go with
// it. CodeConflict and CodeTooLarge, too: the other project has no room for the draft or the items.
func (s *Store) MoveWorkflow(ctx context.Context, by people.Actor, id pleat.WorkflowID, to pleat.ProjectID) error {
	return s.db.Write(ctx, "move workflow", func(t *db.Tx) error {
		var w pleat.Workflow
		if err := runs.LockWorkflow(t, by.Reach, pleat.Member, id, &w); err != nil {
			return err
		}
		if w.State != pleat.StateDraft && !w.State.Terminal() {
			return pleat.Errorf(pleat.CodeConflict, "the workflow is %s; it can be moved once it has ended", w.State)
		}
		if err := s.mayMove(t, by, w.Owner, to); err != nil || w.Owner == to {
			return err
		}
		if err := forgetWebhooks(t, "workflow", "input", string(id)); err != nil {
			return err
		}
		if w.Run == "" {
			if err := s.people.CountDraft(t, to, len(w.Input)); err != nil {
				return err
			}
		}
		moveRuns(t, "workflow_id = $1", id, to)
		if err := s.moveItems(t, itemsOf("CAST($1 AS text)"), id, to); err != nil {
			return err
		}
		t.Send("DELETE FROM subscription WHERE source_id = $1 AND run_id = ''", id) // of a draft
		t.Send("UPDATE workflow SET "+movedColumns+" WHERE id = $1", id, to, t.Now)
		t.Notify(runs.Topic(w.Run))
		return s.moved(t, by, pleat.Source{Workflow: id}, w.Owner, to)
	})
}

// mayMove checks that the actor may create work in a project, and that the project may hold more.
func (s *Store) mayMove(t *db.Tx, by people.Actor, from, to pleat.ProjectID) error {
	if by.Project != "" && by.Project != to && from != to {
		return pleat.ErrNoProject // the key reaches one project alone
	}
	if err := people.LockProject(t, to); err != nil { // so that it is not deleted meanwhile
		return err
	}
	if err := people.NeedRole(t, people.Reach{User: by.User, Project: to}, pleat.Member); err != nil || from == to {
		return pleat.ErrorAt(err, "projectId")
	}
	var held int64
	s.people.AskResults(t, to, &held)
	if err := t.Wait(); err != nil {
		return err
	}
	return s.people.CheckResults(t, held)
}

// moveRuns gives the runs that a condition with the parameter $1 selects to a project, with the bytes that they hold.
func moveRuns(t *db.Tx, where string, id any, to pleat.ProjectID) {
	t.Send(people.ResultUseSQL("0", "-sum(bytes)", "run WHERE "+where), id)
	t.Send("UPDATE run SET project_id = $2, changed_at = $3 WHERE "+where, id, to, t.Now)
	t.Send(people.ResultUseSQL("0", "sum(bytes)", "run WHERE "+where), id)
}

// itemsOf selects the library items that workflows have made, and the workspaces of designs.
func itemsOf(workflows string) string {
	return "SELECT id FROM library_item WHERE workflow_id IN (" + workflows + ") AND workflow_id <> '' " +
		"UNION SELECT workspace FROM design WHERE workflow_id IN (" + workflows + ")"
}

// moveItems gives the library items that a query with the parameter $1 selects, and all below them, to a project that
// has room for them. The caller holds people.LockProject.
func (s *Store) moveItems(t *db.Tx, query string, id any, to pleat.ProjectID) error {
	below := `
		WITH RECURSIVE below (id) AS (
			SELECT id FROM (` + query + `) AS moved
			UNION
			SELECT i.id FROM library_item i JOIN below b ON i.parent_id = b.id
			WHERE i.parent_id <> '' AND i.deleted_at = 0
		)
		`
	var add people.LibraryUse
	if err := t.Row(below+`
		SELECT CAST(COALESCE(sum(entries), 0) AS bigint), CAST(COALESCE(sum(bytes), 0) AS bigint)
		FROM library_item WHERE id IN (SELECT id FROM below)`, []any{id}, &add.Items, &add.Bytes); err != nil {
		return err
	}
	if err := s.people.GrowLibrary(t, to, add, "what is moved"); err != nil {
		return err
	}
	t.Send(below+"UPDATE library_item SET project_id = $2 WHERE id IN (SELECT id FROM below)", id, to)
	return nil
}

// forgetWebhooks removes the webhook settings from what was given of a job or workflow, which is in a column of its
// row. Its subscriptions stay with the project that made them: deliveries that wait need them.
func forgetWebhooks(t *db.Tx, table, column, id string) error {
	var text string
	if err := t.Row("SELECT "+column+" FROM "+table+" WHERE id = $1", []any{id}, &text); err != nil {
		return err
	}
	var fields map[string]json.RawMessage
	if err := db.DecodeJSON(text, &fields); err != nil {
		return err
	}
	if _, there := fields["webhooks"]; there {
		delete(fields, "webhooks")
		t.Send("UPDATE "+table+" SET "+column+" = $2 WHERE id = $1", id, db.EncodeJSON(fields))
	}
	return nil
}

// moved ends the links to what was moved, and records the move in both projects.
func (s *Store) moved(t *db.Tx, by people.Actor, source pleat.Source, from, to pleat.ProjectID) error {
	t.Send("DELETE FROM share WHERE source_id = $1", source.ID())
	t.Notify(runs.OwnerTopic(from), runs.OwnerTopic(to))
	what := string(source.Kind()) + " " + source.ID()
	if err := s.people.RecordAudit(t, by.In(from), people.AuditMoved, what, "to "+string(to)); err != nil {
		return err
	}
	return s.people.RecordAudit(t, by.In(to), people.AuditMoved, what, "from "+string(from))
}
