package store

import (
	"context"
	"time"

	"pleat"
)

// Actor is who makes a change that the audit log records.
type Actor struct {
	User    pleat.UserID // whose keys or endpoint are changed
	Key     pleat.KeyID  // with which the request came; empty: an operator works on the database
	Address string       // from which the request came; empty: none
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
)

// AuditEntry is one recorded change. It never has a secret.
type AuditEntry struct {
	ID        pleat.AuditID
	Actor     Actor
	UserName  string
	KeyPrefix string // of the actor's key
	Action    AuditAction
	Subject   string // the prefix of the key, or the scheme, host and port of the endpoint
	Detail    string
	At        time.Time
}

const (
	// maxAudit bounds the entries of each action that a user has: a flood of one kind displaces no other.
	maxAudit = 500
	// auditFor is how long entries are kept, in µs.
	auditFor = 400 * microsPerDay
)

// audit records a change in its own transaction, and drops the user's entries of the action that are too many.
func (t *tx) audit(by Actor, action AuditAction, subject, detail string) error {
	if _, err := t.exec(`
		INSERT INTO audit (id, account_id, key_id, prefix, address, action, subject, detail, created_at)
		VALUES ($1, $2, $3, COALESCE((SELECT prefix FROM api_key WHERE id = $3), ''), $4, $5, $6, $7, $8)`,
		newID(), by.User, by.Key, by.Address, action, subject, detail, t.now); err != nil {
		return err
	}
	_, err := t.exec(`
		DELETE FROM audit
		WHERE account_id = $1 AND action = $2 AND id < (
			SELECT min(id)
			FROM (SELECT id FROM audit WHERE account_id = $1 AND action = $2 ORDER BY id DESC LIMIT $3) newest)`,
		by.User, action, maxAudit)
	return err
}

// ExpireAudit deletes the entries of the audit log that are older than 400 days. Any node may call it.
func (s *Store) ExpireAudit(ctx context.Context) error {
	return s.write(ctx, "expire the audit log", func(t *tx) error {
		_, err := t.exec("DELETE FROM audit WHERE id < $1", idAt(t.now-auditFor))
		return err
	})
}

// Audit reads a page of a user's audit log, newest first, from the entry before an id on; of all users if user is
// empty.
func (s *Store) Audit(ctx context.Context, user pleat.UserID, before pleat.AuditID, limit int) ([]AuditEntry, error) {
	out := []AuditEntry{}
	rows, err := s.read(ctx, `
		SELECT l.id, l.account_id, a.name, l.key_id, l.prefix, l.address, l.action, l.subject, l.detail, l.created_at
		FROM audit l
		JOIN account a ON a.id = l.account_id
		WHERE ($1 = '' OR l.account_id = $1) AND ($2 = '' OR l.id < $2)
		ORDER BY l.id DESC
		LIMIT $3`,
		user, before, limit)
	err = forEachRow(rows, err, func(scan func(...any) error) error {
		var e AuditEntry
		var at int64
		if err := scan(&e.ID, &e.Actor.User, &e.UserName, &e.Actor.Key, &e.KeyPrefix, &e.Actor.Address, &e.Action,
			&e.Subject, &e.Detail, &at); err != nil {
			return err
		}
		e.At = fromMicros(at)
		out = append(out, e)
		return nil
	})
	return out, unavailable("read the audit log", err)
}
