package store

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"strings"
	"time"

	"pleat"
)

const (
	// maxKeys bounds the valid keys of a user that are made with other keys. Operators are not bound.
	maxKeys = 100
	// maxNewKeys bounds the keys that a user makes within a day.
	maxNewKeys = 50
	// maxKeptKeys bounds the revoked and expired keys of a user that are kept for the list.
	maxKeptKeys = 100
)

// enabledUser is the condition on a credential k that its user is not disabled.
const enabledUser = "NOT EXISTS (SELECT 1 FROM account d WHERE d.id = k.account_id AND d.disabled_at <> 0)"

// validKey is the condition on a key k that it is valid at the moment $1.
const validKey = "k.revoked_at = 0 AND (k.expires_at = 0 OR k.expires_at > $1) AND " + enabledUser +
	" AND NOT " + unvouched

// CreateKey stores a new key of by.User and records it. A key that by.Key makes has at most the scopes of that key, and
// ends with it at the latest; if that reaches one project alone, so does the new one. Who works on the database is not
// bound. CodeInvalid: it would have more or end later, or its end is past; CodeConflict: the user has maxKeys valid
// keys; CodeLimited: the user made maxNewKeys within a day; CodeNotFound: there is no such user, or the user has no
// role in the project of the key; ErrUnauthorized: by.Key is not valid.
func (s *Store) CreateKey(ctx context.Context, by Actor, n NewKey) (Key, error) {
	var k Key
	err := s.write(ctx, "create key", func(t *tx) (err error) {
		k, err = t.createKey(by, n)
		return err
	})
	return k, err
}

// createKey is CreateKey inside a transaction. The key of a service user reaches its project alone.
func (t *tx) createKey(by Actor, n NewKey) (Key, error) {
	k := Key{
		ID:        pleat.KeyID(newID()),
		User:      by.User,
		Prefix:    n.Prefix,
		Label:     n.Label,
		Scopes:    n.Scopes,
		Project:   n.Project,
		ExpiresAt: n.ExpiresAt,
		CreatedAt: fromMicros(t.now),
	}
	if err := t.lockAccount(by.User); err != nil {
		return k, err
	}
	var disabled int64
	var only pleat.ProjectID
	if err := t.row("SELECT name, disabled_at, project_id FROM account WHERE id = $1", []any{by.User},
		&k.UserName, &disabled, &only); err != nil {
		return k, mapNoRows(err, pleat.Errorf(pleat.CodeNotFound, "there is no such user"))
	}
	switch {
	case disabled != 0:
		return k, pleat.Errorf(pleat.CodeConflict, "the user %s is disabled", k.UserName)
	case !k.ExpiresAt.IsZero() && toMicros(k.ExpiresAt) <= t.now:
		return k, pleat.InvalidField("expiresAt", " is in the past; it must be in the future")
	}
	k.Project = cmp.Or(only, k.Project)
	if !by.Database {
		if err := t.boundNewKey(by, &k); err != nil {
			return k, err
		}
	} else if len(k.Scopes) == 0 {
		k.Scopes = pleat.AllScopes
	}
	if k.Project != "" {
		if err := t.needRole(Reach{User: by.User, Project: k.Project}, pleat.Viewer); err != nil {
			return k, errorAt(err, "projectId")
		}
	}
	if _, err := t.exec(`
		INSERT INTO api_key
			(id, account_id, prefix, hash, label, scopes, created_at, last_used_at, expires_at, revoked_at, project_id)
		VALUES ($1, $2, $3, $4, $5, $6, $7, 0, $8, 0, $9)`,
		k.ID, by.User, n.Prefix, n.Hash, n.Label, k.Scopes.String(), t.now, toMicros(k.ExpiresAt),
		k.Project); err != nil {
		return k, err
	}
	return k, t.audit(by, AuditKeyCreated, k.Prefix, keyDetail(&k))
}

// keyDetail describes a new key for the audit log.
func keyDetail(k *Key) string {
	out := "scopes " + k.Scopes.String()
	if !k.ExpiresAt.IsZero() {
		out += ", expires " + k.ExpiresAt.UTC().Format(time.RFC3339)
	}
	if k.Project != "" {
		out += ", project " + string(k.Project)
	}
	if k.Label != "" {
		out += ", label " + k.Label
	}
	return out
}

// boundNewKey checks a new key against the key that makes it, if one does, and against what its user may have, and
// completes it. It deletes the oldest of the user's keys that are no longer valid, above maxKeptKeys.
func (t *tx) boundNewKey(by Actor, k *Key) error {
	names := pleat.AllScopes.String()
	var ends int64
	var project pleat.ProjectID
	if by.Key != "" {
		if err := t.row(`
			SELECT k.scopes, k.expires_at, k.project_id FROM api_key k
			WHERE `+validKey+` AND k.id = $2 AND k.account_id = $3`,
			[]any{t.now, by.Key, by.User}, &names, &ends, &project); err != nil {
			return mapNoRows(err, pleat.ErrUnauthorized)
		}
	}
	if err := t.boundByMaker(k, scopesOf(names), ends, project); err != nil {
		return err
	}
	return t.boundByUser(by, k)
}

// boundByMaker checks a new key against the scopes, the end and the project of the key that makes it, and completes it.
func (t *tx) boundByMaker(k *Key, own pleat.Scopes, ends int64, project pleat.ProjectID) error {
	if len(k.Scopes) == 0 {
		k.Scopes = own
	}
	for _, x := range k.Scopes {
		if !own.Has(x) {
			return pleat.InvalidField("scopes", " has %s, which the key of this request lacks; it may have %s", x,
				strings.Join(strings.Fields(own.String()), " and "))
		}
	}
	switch {
	case project == "" || k.Project == project:
	case k.Project == "":
		k.Project = project
	default:
		return pleat.InvalidField("projectId", " names another project than that of the key of this request")
	}
	switch {
	case ends == 0:
	case k.ExpiresAt.IsZero():
		k.ExpiresAt = fromMicros(ends)
	case toMicros(k.ExpiresAt) > ends:
		return pleat.InvalidField("expiresAt", " must not be later than %s, when the key of this request expires",
			fromMicros(ends).UTC().Format(time.RFC3339))
	}
	return nil
}

// boundByUser checks a new key against what its user may have, and deletes the oldest of the keys that are no longer
// valid, above maxKeptKeys.
func (t *tx) boundByUser(by Actor, k *Key) error {
	var valid, made int
	if err := t.row(`
		SELECT count(CASE WHEN `+validKey+` THEN 1 END), count(CASE WHEN k.created_at > $2 THEN 1 END)
		FROM api_key k
		WHERE k.account_id = $3`,
		[]any{t.now, t.now - microsPerDay, by.User}, &valid, &made); err != nil {
		return err
	}
	if valid >= maxKeys {
		return errTooManyKeys(valid)
	}
	if made >= maxNewKeys {
		return pleat.Errorf(pleat.CodeLimited, "Too many new keys; a user may make %d within 24 hours", maxNewKeys)
	}
	_, err := t.exec(`
		DELETE FROM api_key
		WHERE account_id = $2 AND id IN (
			SELECT k.id FROM api_key k
			WHERE k.account_id = $2 AND NOT (`+validKey+`)
				AND NOT EXISTS (SELECT 1 FROM session e WHERE e.key_id = k.id)
			ORDER BY k.id DESC
			LIMIT 1000000 OFFSET $3)`,
		t.now, by.User, maxKeptKeys)
	return err
}

// errTooManyKeys refuses another key.
func errTooManyKeys(valid int) error {
	return pleat.Errorf(pleat.CodeConflict, "the user has %d valid keys, the maximum; revoke one first", valid)
}

// scopesOf reads the column scopes.
func scopesOf(column string) pleat.Scopes {
	var out pleat.Scopes
	for _, name := range strings.Fields(column) {
		out = append(out, pleat.Scope(name))
	}
	return out
}

// Keys lists a user's keys, newest first, with the revoked and expired ones; those of all users if user is empty.
func (s *Store) Keys(ctx context.Context, user pleat.UserID) ([]Key, error) {
	out := []Key{}
	rows, err := s.read(ctx, `
		SELECT k.id, k.account_id, a.name, k.prefix, k.label, k.scopes, k.created_at, k.last_used_at, k.expires_at,
			k.revoked_at, k.project_id
		FROM api_key k
		JOIN account a ON a.id = k.account_id
		WHERE $1 = '' OR k.account_id = $1
		ORDER BY k.id DESC`,
		user)
	err = forEachRow(rows, err, func(scan func(...any) error) error {
		var k Key
		var scopes string
		var created, used, expires, revoked int64
		if err := scan(&k.ID, &k.User, &k.UserName, &k.Prefix, &k.Label, &scopes, &created, &used, &expires,
			&revoked, &k.Project); err != nil {
			return err
		}
		k.Scopes = scopesOf(scopes)
		k.CreatedAt, k.LastUsedAt = fromMicros(created), fromMicros(used)
		k.ExpiresAt, k.RevokedAt = fromMicros(expires), fromMicros(revoked)
		out = append(out, k)
		return nil
	})
	return out, unavailable("list keys", err)
}

// RevokeKey revokes a key of by.User, ends its sessions, and records it. The key is refused from the next request on;
// streams that it opened get news on KeyTopic. Revoking twice is no error and is recorded once. CodeNotFound: the key
// does not exist or is another user's.
func (s *Store) RevokeKey(ctx context.Context, by Actor, key pleat.KeyID) error {
	return s.write(ctx, "revoke key", func(t *tx) error { return t.revokeKey(by, key) })
}

// revokeKey is RevokeKey inside a transaction.
func (t *tx) revokeKey(by Actor, key pleat.KeyID) error {
	var prefix string
	var revoked int64
	if err := t.row(`
		UPDATE api_key SET revoked_at = CASE WHEN revoked_at = 0 THEN $1 ELSE revoked_at END
		WHERE id = $2 AND account_id = $3
		RETURNING prefix, revoked_at`,
		[]any{t.now, key, by.User}, &prefix, &revoked); err != nil {
		return mapNoRows(err, pleat.Errorf(pleat.CodeNotFound, "Key not found"))
	}
	t.notify(KeyTopic(key))
	if _, err := t.exec("DELETE FROM session WHERE key_id = $1", key); err != nil || revoked != t.now {
		return err
	}
	return t.audit(by, AuditKeyRevoked, prefix, "")
}

// keys returns the rows k of valid keys that a credential with a hash stands for, one or none, as SQL with the moment
// as $1. A session stands for the key with which it began, and a login for a key with all scopes that has no id.
func (c Credential) keys(hash string) string {
	if c.Login {
		return "(SELECT '' AS id, account_id, '" + pleat.AllScopes.String() + "' AS scopes, '' AS project_id, hash, " +
			"expires_at FROM login WHERE kind <> 'grant') k WHERE k.expires_at > $1 AND " + enabledUser +
			" AND k.hash = " + hash
	}
	if c.Session {
		return "session e JOIN api_key k ON k.id = e.key_id WHERE " + validKey +
			" AND e.expires_at > $1 AND e.hash = " + hash
	}
	return "api_key k WHERE " + validKey + " AND k.hash = " + hash
}

// Identify returns the user that a credential authenticates. ErrUnauthorized: it is unknown, expired or revoked, or its
// key is; the message says so where a key only rests until its user signs in again. One query answers it from unique
// indexes.
func (s *Store) Identify(ctx context.Context, by Credential) (Principal, error) {
	var p Principal
	var scopes string
	var operator int64
	err := s.readRow(ctx, `
		SELECT a.id, a.name, c.id, c.scopes, c.project_id, a.operator
		FROM (SELECT k.id, k.account_id, k.scopes, k.project_id FROM `+by.keys("$2")+`) c
		JOIN account a ON a.id = c.account_id`,
		[]any{s.now(), by.Hash}, &p.User, &p.Name, &p.Key, &scopes, &p.Project, &operator)
	p.Scopes, p.Operator = scopesOf(scopes), operator == 1 && p.Project == ""
	if errors.Is(err, sql.ErrNoRows) {
		err = s.whyInvalid(ctx, by)
	}
	return p, unavailable("identify", err)
}

// TouchKeys stores when keys were last used. The server collects the uses and stores them together from time to time,
// so that a request does not wait for a write; the last of them may be lost in a crash.
func (s *Store) TouchKeys(ctx context.Context, used map[pleat.KeyID]time.Time) error {
	if len(used) == 0 {
		return nil
	}
	return s.writeAsync(ctx, "touch keys", func(t *tx) error {
		for k, at := range used {
			if _, err := t.exec("UPDATE api_key SET last_used_at = $1 WHERE id = $2 AND last_used_at < $1",
				toMicros(at), k); err != nil {
				return err
			}
		}
		return nil
	})
}
