package ops

import (
	"context"

	"pleat"
	"pleat/internal/store/db"
	"pleat/internal/store/people"
	"pleat/internal/store/webhooks"
)

// DeleteProject deletes a project that owns nothing any more, ends the roles in it, disables its service users, and
// records it. Its managers may, and operators. CodeConflict: it owns something, or is a user's own.
func (s *Store) DeleteProject(ctx context.Context, by people.Actor) error {
	return s.db.Write(ctx, "delete project", func(t *db.Tx) error {
		p, err := people.LockSharedProject(t, by, pleat.Manager)
		if err != nil {
			return err
		}
		// Calls that create work charge this row: those under way end first, and later ones find no project.
		if _, err := t.Exec("INSERT INTO quota_day (project_id, day, used) VALUES ($1, $2, 0) "+
			"ON CONFLICT (project_id, day) DO UPDATE SET used = quota_day.used", p.ID, t.Today()); err != nil {
			return err
		}
		var work, items int
		if err := t.Row(`
			SELECT (SELECT count(*) FROM job WHERE project_id = $1 AND deleted_at = 0)
				+ (SELECT count(*) FROM workflow WHERE project_id = $1 AND deleted_at = 0)
				+ (SELECT count(*) FROM batch WHERE project_id = $1 AND deleted_at = 0),
				(SELECT count(*) FROM library_item WHERE project_id = $1 AND deleted_at = 0)`,
			[]any{p.ID}, &work, &items); err != nil {
			return err
		}
		if work+items > 0 {
			return pleat.Errorf(pleat.CodeConflict, "the project has %d jobs, workflows and batches and %d library "+
				"items; delete them, or move them to another project, first", work, items)
		}
		members, err := db.ColumnOf[pleat.UserID](t.Query(`
			SELECT account_id FROM project_member WHERE project_id = $1
			UNION SELECT u.account_id FROM project_group g JOIN account_group u ON u.name = g.name
			WHERE g.project_id = $1`, p.ID))
		if err != nil {
			return err
		}
		t.Send("UPDATE account SET disabled_at = $1 WHERE project_id = $2 AND project_id <> '' AND disabled_at = 0",
			t.Now, p.ID)
		t.Send("DELETE FROM project_member WHERE project_id = $1", p.ID)
		t.Send("DELETE FROM project_group WHERE project_id = $1", p.ID)
		t.Send("DELETE FROM invitation WHERE project_id = $1", p.ID)
		t.Send("UPDATE endpoint SET active = 0, enabled_by_default = 0, disabled_reason = $1 WHERE project_id = $2",
			webhooks.DeactivatedByOwner, p.ID)
		webhooks.DeleteEndpoints(t, "project_id = $2", p.ID)
		t.Send("UPDATE project SET deleted_at = $1 WHERE id = $2", t.Now, p.ID)
		for _, u := range members {
			if err := people.NotifyKeys(t, u); err != nil {
				return err
			}
		}
		return s.people.RecordAudit(t, by, people.AuditProjectDeleted, p.Name, "")
	})
}
