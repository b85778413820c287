package people

import (
	"cmp"
	"context"
	"time"

	"pleat"
	"pleat/internal/store/db"
)

// Actor is who makes a change that the audit log records.
type Actor struct {
	Reach                // the user, and the project that the change concerns; without one it concerns the user alone
	Key      pleat.KeyID // with which the request came; empty: none
	Address  string      // from which the request came; empty: none
	Database bool        // somebody works on the database itself, and may do everything
}

// About returns the actor for a change that concerns a user: an operator who works on the database has no user.
func (a Actor) About(user pleat.UserID) Actor {
	if a.User == "" {
		a.User = user
	}
	return a
}

// In returns the actor for a change that concerns a project.
func (a Actor) In(project pleat.ProjectID) Actor {
	a.Project = project
	return a
}

// AuditAction is what an entry of the audit log records.
type AuditAction string

// The actions of the audit log.
const (
	AuditKeyCreated         AuditAction = "key.created"
	AuditKeyRevoked         AuditAction = "key.revoked"
	AuditSessionOpened      AuditAction = "session.opened"
	AuditWebhookSet         AuditAction = "webhook.set"
	AuditWebhookPaused      AuditAction = "webhook.paused"
	AuditWebhookResumed     AuditAction = "webhook.resumed"
	AuditWebhookDeactivated AuditAction = "webhook.deactivated"
	AuditWebhookRotated     AuditAction = "webhook.secret_rotated"
	AuditWebhookAdded       AuditAction = "webhook.added"
	AuditWebhookChanged     AuditAction = "webhook.changed"
	AuditWebhookDeleted     AuditAction = "webhook.deleted"
	AuditProjectCreated     AuditAction = "project.created"
	AuditProjectChanged     AuditAction = "project.changed"
	AuditProjectDeleted     AuditAction = "project.deleted"
	AuditMemberSet          AuditAction = "member.set"
	AuditMemberRemoved      AuditAction = "member.removed"
	AuditInvited            AuditAction = "invitation.created"
	AuditInvitationRevoked  AuditAction = "invitation.revoked"
	AuditInvitationAccepted AuditAction = "invitation.accepted"
	AuditServiceUserCreated AuditAction = "service_user.created"
	AuditMoved              AuditAction = "work.moved"
	AuditShared             AuditAction = "share.created"
	AuditUnshared           AuditAction = "share.revoked"
	AuditOperatorGranted    AuditAction = "operator.granted"
	AuditOperatorRevoked    AuditAction = "operator.revoked"
	AuditUserDisabled       AuditAction = "user.disabled"
	AuditUserEnabled        AuditAction = "user.enabled"
	AuditUserSuspended      AuditAction = "user.suspended"
	AuditSignedIn           AuditAction = "user.signed_in"
	AuditGroupSet           AuditAction = "group.set"
	AuditGroupRemoved       AuditAction = "group.removed"
	AuditUserDeleted        AuditAction = "user.deleted"
	AuditModelPaused        AuditAction = "model.paused"
	AuditModelResumed       AuditAction = "model.resumed"
	AuditWorkerDrained      AuditAction = "worker.drained"
	AuditMailSet            AuditAction = "notifications.set"
	AuditMailConfirmed      AuditAction = "notifications.confirmed"
)

// AuditEntry is one recorded change. It never has a secret.
type AuditEntry struct {
	ID        pleat.AuditID
	Actor     Actor
	UserName  string
	KeyPrefix string // of the actor's key
	Action    AuditAction
	Subject   string // what was changed: the prefix of a key, the origin of an endpoint, or a name
	Detail    string
	At        time.Time
}

// auditFor is how long entries of the audit log are kept, in µs.
const auditFor = 400 * db.MicrosPerDay

// RecordAudit records a change in its own transaction, and drops the user's entries of the action in the project that
// are too many.
func (s *Store) RecordAudit(t *db.Tx, by Actor, action AuditAction, subject, detail string) error {
	if _, err := t.Exec(`
		INSERT INTO audit (id, account_id, key_id, prefix, address, action, subject, detail, created_at, project_id)
		VALUES ($1, $2, $3, COALESCE((SELECT prefix FROM api_key WHERE id = $3), ''), $4, $5, $6, $7, $8, $9)`,
		db.NewID(), by.User, by.Key, by.Address, action, subject, detail, t.Now, by.Project); err != nil {
		return err
	}
	most := s.entries
	if by.Project != "" && by.Project != by.User.OwnProject() {
		most = s.shared
	}
	_, err := t.Exec(`
		DELETE FROM audit
		WHERE account_id = $1 AND action = $2 AND project_id = $4 AND id < (
			SELECT min(id)
			FROM (
				SELECT id FROM audit
				WHERE account_id = $1 AND action = $2 AND project_id = $4
				ORDER BY id DESC
				LIMIT $3
			) newest)`,
		by.User, action, most, by.Project)
	return err
}

// ExpireAudit deletes the entries of the audit log that are older than 400 days. Any node may call it.
func (s *Store) ExpireAudit(ctx context.Context) error {
	return s.db.Write(ctx, "expire the audit log", func(t *db.Tx) error {
		_, err := t.Exec("DELETE FROM audit WHERE id < $1", db.IDAt(t.Now-auditFor))
		return err
	})
}

// Audit reads a page of the audit log of the user of a reach, newest first, from the entry before an id on: of all
// users if it names none, and of the changes alone that concern its project if it names one.
func (s *Store) Audit(ctx context.Context, by Reach, before pleat.AuditID, limit int) ([]AuditEntry, error) {
	rows, err := s.db.Read(ctx, `
		SELECT `+AuditColumns+`
		FROM audit l
		LEFT JOIN account a ON a.id = l.account_id
		WHERE ($1 = '' OR l.account_id = $1) AND ($2 = '' OR l.id < $2) AND ($4 = '' OR l.project_id = $4)
		ORDER BY l.id DESC
		LIMIT $3`,
		by.User, before, limit, by.Project)
	return ScanAudit(rows, err)
}

// MaxAuditExport is how many entries one export of the audit log has at most.
const MaxAuditExport = 100_000

// AuditBetween reads a page of the audit log of all users, newest first: what was recorded at or after a time and
// before another, from the entry before an id on. It is for operators.
func (s *Store) AuditBetween(
	ctx context.Context, from, to time.Time, before pleat.AuditID, limit int,
) ([]AuditEntry, error) {
	end := min(db.IDAt(db.ToMicros(to)), cmp.Or(string(before), AfterAllIDs))
	rows, err := s.db.Read(ctx, auditBetween, db.IDAt(db.ToMicros(from)), end, limit)
	return ScanAudit(rows, err)
}

const auditBetween = `
	SELECT ` + AuditColumns + `
	FROM audit l
	LEFT JOIN account a ON a.id = l.account_id
	WHERE l.id >= $1 AND l.id < $2
	ORDER BY l.id DESC
	LIMIT $3`

// AuditFits reports whether an export of the time would have at most [MaxAuditExport] entries.
func (s *Store) AuditFits(ctx context.Context, from, to time.Time) (bool, error) {
	var n int
	err := s.db.ReadRow(ctx, auditCount,
		[]any{db.IDAt(db.ToMicros(from)), db.IDAt(db.ToMicros(to)), MaxAuditExport + 1}, &n)
	return n <= MaxAuditExport, db.Unavailable("count the audit log", err)
}

const auditCount = `
	SELECT count(*)
	FROM (SELECT 1 FROM audit WHERE id >= $1 AND id < $2 ORDER BY id LIMIT $3) AS page_counted`

// ProjectAudit is [Store.Audit] for the changes that concern the project of a reach; none unless the caller manages it.
func (s *Store) ProjectAudit(ctx context.Context, by Reach, before pleat.AuditID, limit int) ([]AuditEntry, error) {
	rows, err := s.db.Read(ctx, `
		SELECT `+AuditColumns+`
		FROM audit l
		LEFT JOIN account a ON a.id = l.account_id
		WHERE l.project_id = $1 AND l.project_id <> '' AND ($2 = '' OR l.id < $2)
			AND `+RoleSQL("l.project_id", "$4", "$1")+` >= 3
		ORDER BY l.id DESC
		LIMIT $3`,
		by.Project, before, limit, by.User)
	return ScanAudit(rows, err)
}

// AuditColumns are the columns that [ScanAudit] reads, of the rows l of audit and a of account.
const AuditColumns = `l.id, l.account_id, COALESCE(a.name, ''), l.key_id, l.prefix, l.address, l.action, l.subject,
	l.detail, l.created_at, l.project_id`

// ScanAudit reads entries from the rows of a query for [AuditColumns].
func ScanAudit(rows db.Rows, err error) ([]AuditEntry, error) {
	out, err := db.ListOf(rows, err, func(scan func(...any) error) (e AuditEntry, err error) {
		err = scan(&e.ID, &e.Actor.User, &e.UserName, &e.Actor.Key, &e.KeyPrefix, &e.Actor.Address, &e.Action,
			&e.Subject, &e.Detail, db.ScanTime(&e.At), &e.Actor.Project)
		return e, err
	})
	return out, db.Unavailable("read the audit log", err)
}
