package ops

import (
	"context"
	"time"

	"pleat"
	"pleat/internal/store/db"
	"pleat/internal/store/mails"
	"pleat/internal/store/people"
	"pleat/internal/store/webhooks"
)

// UserContent is something that a user has created.
type UserContent struct {
	Kind    string // job, workflow, batch, library_item, invitation, link, webhook or usage
	ID      string // of usage the model
	Project pleat.ProjectID
	// Name is the label of an invitation, the target of a link, scheme and host of a webhook, or the amount of usage.
	Name      string
	CreatedAt time.Time
}

// madeBy selects what the user $1 has created and everything in the user's personal project, except what was deleted.
// An object that is older than projects has no creator: it counts as created by the owner of its personal project.
const madeBy = `
	SELECT 'job', id, project_id, name, created_at FROM job
	WHERE deleted_at = 0 AND (created_by = $1 OR created_by = '' AND project_id = $1)
	UNION ALL
	SELECT 'workflow', id, project_id, name, created_at FROM workflow
	WHERE deleted_at = 0 AND (created_by = $1 OR created_by = '' AND project_id = $1)
	UNION ALL
	SELECT 'batch', id, project_id, name, created_at FROM batch
	WHERE deleted_at = 0 AND (created_by = $1 OR created_by = '' AND project_id = $1)
	UNION ALL
	SELECT 'library_item', id, project_id, name, created_at FROM library_item WHERE deleted_at = 0 AND project_id = $1
	UNION ALL
	SELECT 'invitation', id, project_id, label, created_at FROM invitation WHERE created_by = $1 OR used_by = $1
	UNION ALL
	SELECT 'link', id, project_id, source_kind || ' ' || source_id, created_at FROM share WHERE created_by = $1
	UNION ALL
	SELECT 'webhook', id, project_id, origin, created_at FROM endpoint
	WHERE run_source = '' AND project_id = $1 AND origin <> ''
	UNION ALL
	SELECT 'usage', model, project_id,
		CAST(sum(attempts) AS text) || ' attempts, ' || CAST(CAST(sum(wall) AS bigint) / 1000000 AS text) || ' seconds',
		CAST(min(day) * 86400000000 AS bigint)
	FROM usage_day
	WHERE account_id = $1
	GROUP BY project_id, model`

// UserContents lists what a user has created in every project, and everything in the user's personal project. It is for
// operators, and reads whole tables.
func (s *Store) UserContents(ctx context.Context, user pleat.UserID) ([]UserContent, error) {
	rows, err := s.db.Read(ctx, madeBy, user)
	out, err := db.ListOf(rows, err, func(scan func(...any) error) (m UserContent, err error) {
		err = scan(&m.Kind, &m.ID, &m.Project, &m.Name, db.ScanTime(&m.CreatedAt))
		return m, err
	})
	return out, db.Unavailable("list what a user has made", err)
}

// aboutUser is the condition that the subject of an entry of the audit log is the name of a user.
const aboutUser = "action LIKE 'member.%' OR action LIKE 'operator.%' OR action LIKE 'user.%'"

// AuditOf lists the entries of the audit log by a user and about the user, newest first. It is for operators.
func (s *Store) AuditOf(ctx context.Context, u people.User) ([]people.AuditEntry, error) {
	rows, err := s.db.Read(ctx, `
		SELECT `+people.AuditColumns+`
		FROM audit l
		LEFT JOIN account a ON a.id = l.account_id
		WHERE l.account_id = $1 OR l.subject = $2 AND (`+aboutUser+`) OR l.detail = 'manager ' || $2
		ORDER BY l.id DESC`,
		u.ID, u.Name)
	return people.ScanAudit(rows, err)
}

// EraseUser deletes what the service stores about a person, and records it in the audit log. The account stays under
// another name, so that what the user created in shared projects keeps a creator. EraseUser returns it. It disables the
// account and ends its keys, sessions and roles. Then it deletes everything in the personal project, as
// [Store.DeleteJob] and similar verbs do. At last it replaces the name of the user wherever the service has stored it.
// After an error, a repeated call continues. It is for operators.
// CodeNotFound: there is no such user. CodeConflict: it is a service user, or the only manager of a project.
func (s *Store) EraseUser(ctx context.Context, by people.Actor, name string) (people.User, error) {
	var u people.User
	err := s.db.Write(ctx, "close account", func(t *db.Tx) (err error) {
		if err := people.NeedOperator(t, by, "delete a user"); err != nil {
			return err
		}
		if u, err = people.UserNamed(t, name); err != nil {
			return err
		}
		if u.Service {
			return pleat.Errorf(pleat.CodeConflict, "%s is a service user; remove it from its project instead", u.Name)
		}
		return closeAccount(t, u.ID)
	})
	if err != nil {
		return u, err
	}
	if err := s.emptyProject(ctx, u.ID.OwnProject()); err != nil {
		return u, err
	}
	err = s.db.Write(ctx, "erase user", func(t *db.Tx) error {
		alias := people.ErasedName(u.ID)
		if err := eraseTests(t, u.ID.OwnProject()); err != nil {
			return err
		}
		if err := eraseName(t, u, alias); err != nil {
			return err
		}
		u.Name = alias
		return s.people.RecordAudit(t, by.About(u.ID), people.AuditUserDeleted, alias, "")
	})
	return u, err
}

// closeAccount disables an account and ends its keys, its sessions and its roles in shared projects.
func closeAccount(t *db.Tx, user pleat.UserID) error {
	shared, err := db.ColumnOf[pleat.ProjectID](t.Query(`
		SELECT p.id FROM project p
		WHERE p.own = 0 AND p.id IN (SELECT project_id FROM project_member WHERE account_id = $1)
		ORDER BY p.id
		FOR UPDATE`, user))
	if err != nil {
		return err
	}
	for _, p := range shared {
		if err := leaveProject(t, p, user); err != nil {
			return err
		}
	}
	if err := people.NotifyKeys(t, user); err != nil {
		return err
	}
	t.Send("UPDATE account SET disabled_at = $1 WHERE id = $2 AND disabled_at = 0", t.Now, user)
	t.Send("DELETE FROM session WHERE key_id IN (SELECT id FROM api_key WHERE account_id = $1)", user)
	t.Send("UPDATE api_key SET revoked_at = $1 WHERE account_id = $2 AND revoked_at = 0", t.Now, user)
	t.Send("DELETE FROM idempotency WHERE account_id = $1", user)
	t.Send("UPDATE endpoint SET active = 0, enabled_by_default = 0, disabled_reason = $1 WHERE project_id = $2",
		webhooks.DeactivatedByOwner, user)
	webhooks.DeleteEndpoints(t, "project_id = $2", user)
	return t.Wait()
}

// leaveProject ends the role of a user in a locked project. CodeConflict: the project would have no manager.
func leaveProject(t *db.Tx, project pleat.ProjectID, user pleat.UserID) error {
	var name string
	if err := t.Row("SELECT name FROM project WHERE id = $1", []any{project}, &name); err != nil {
		return err
	}
	c, err := people.CountMembers(t, project, user)
	if err != nil {
		return err
	}
	if c.OnlyManager {
		return pleat.Errorf(pleat.CodeConflict,
			"the user is the only manager of the project %q; make another one first, or delete the project", name)
	}
	_, err = t.Exec("DELETE FROM project_member WHERE project_id = $1 AND account_id = $2", project, user)
	return err
}

// erasedAtOnce is how many rows of one table are listed for one pass of deletions.
const erasedAtOnce = 100

// emptyProject deletes everything that a project owns. Garbage collection deletes the blobs of library files.
func (s *Store) emptyProject(ctx context.Context, project pleat.ProjectID) error {
	by := people.InProject(project)
	for _, kind := range []struct {
		list string
		drop func(id string) error
	}{
		{"batch WHERE deleted_at = 0", func(id string) error {
			return s.batches.DeleteBatch(ctx, by, pleat.BatchID(id))
		}},
		{"job WHERE deleted_at = 0 AND batch_id = ''",
			func(id string) error { return s.DeleteJob(ctx, by, pleat.JobID(id)) }},
		{"workflow WHERE deleted_at = 0",
			func(id string) error { return s.DeleteWorkflow(ctx, by, pleat.WorkflowID(id)) }},
		{"library_item WHERE deleted_at = 0", func(id string) error {
			_, err := s.runs.DeleteItem(ctx, by, pleat.ItemID(id))
			return err
		}},
	} {
		for {
			ids, err := s.idsOf(ctx, kind.list, project)
			if err != nil {
				return err
			}
			if len(ids) == 0 {
				break
			}
			for _, id := range ids {
				// An object that was deleted in between, such as the item of a folder, is not found.
				if err := kind.drop(id); err != nil && pleat.CodeOf(err) != pleat.CodeNotFound {
					return err
				}
			}
		}
	}
	return nil
}

// idsOf lists some rows of a table that a project owns.
func (s *Store) idsOf(ctx context.Context, from string, project pleat.ProjectID) ([]string, error) {
	out, err := db.ColumnOf[string](s.db.Read(ctx,
		"SELECT id FROM "+from+" AND project_id = $1 ORDER BY id LIMIT $2", project, erasedAtOnce))
	return out, db.Unavailable("list what a project owns", err)
}

// eraseTests deletes the test deliveries of a project, because their attempts may name its endpoint. The deliveries of
// runs are deleted with their runs.
func eraseTests(t *db.Tx, project pleat.ProjectID) error {
	ids, err := db.IDsOf(t.Query("SELECT id FROM delivery WHERE project_id = $1 AND source_id = ''", project))
	if err != nil {
		return err
	}
	t.Send(`
		DELETE FROM task WHERE delivery_id IN (
			SELECT id FROM delivery WHERE project_id = $1 AND source_id = '')`, project)
	return webhooks.DeleteDeliveries(t, ids)
}

// eraseName replaces the name of a user. It also deletes texts about the person that the user and others wrote: labels
// of keys and invitations, network addresses, and the addresses and names of the personal project's webhooks.
func eraseName(t *db.Tx, u people.User, alias string) error {
	for _, q := range []string{
		"UPDATE account SET name = $2, operator = 0 WHERE id = $1 AND $3 <> ''",
		"UPDATE project SET name = $2 WHERE id = $1 AND own = 1 AND $3 <> ''",
		"UPDATE audit SET subject = $2 WHERE subject = $3 AND $1 <> '' AND (" + aboutUser + ")",
		"UPDATE audit SET detail = 'manager ' || $2 WHERE detail = 'manager ' || $3 AND $1 <> ''",
	} {
		t.Send(q, u.ID, alias, u.Name)
	}
	for _, q := range []string{
		`UPDATE audit SET subject = ''
		WHERE subject <> '' AND action = '` + string(people.AuditInvited) + `' AND EXISTS (
			SELECT 1 FROM invitation i
			WHERE i.used_by = $1 AND i.project_id = audit.project_id AND i.label = audit.subject)`,
		"UPDATE invitation SET label = '' WHERE used_by = $1",
		"UPDATE audit SET address = '' WHERE account_id = $1",
		`UPDATE audit SET detail = '' WHERE account_id = $1 AND action = '` + string(people.AuditKeyCreated) + `'`,
		`UPDATE audit SET subject = '' WHERE account_id = $1 AND (action = '` + string(people.AuditInvitationAccepted) +
			`' OR action LIKE 'webhook.%' AND project_id IN ('', $1))`,
		"DELETE FROM api_key WHERE account_id = $1",
		"DELETE FROM login WHERE account_id = $1",
		"DELETE FROM account_group WHERE account_id = $1",
		"DELETE FROM account_identity WHERE account_id = $1",
		"UPDATE audit SET detail = '' WHERE account_id = $1 AND action LIKE 'webhook.%' AND project_id IN ('', $1)",
		`UPDATE endpoint SET origin = '', address = '', token = '', secret = '', old_secret = '',
			name = CASE name WHEN '' THEN '' ELSE id END
		WHERE project_id = $1`,
	} {
		t.Send(q, u.ID)
	}
	mails.EraseUser(t, u.ID)
	return t.Wait()
}
