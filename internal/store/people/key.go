package people

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"strings"
	"time"

	"pleat"
	"pleat/internal/store/db"
)

// Key is an API key without its secret, of which the database holds only the SHA-256.
type Key struct {
	ID         pleat.KeyID
	User       pleat.UserID
	UserName   string
	Project    pleat.ProjectID // the only one that the key reaches; empty: all of the user
	Prefix     string          // the first letters of the plain key, shown in lists
	Label      string
	Scopes     pleat.Scopes
	CreatedAt  time.Time
	LastUsedAt time.Time // zero: never
	ExpiresAt  time.Time // zero: never
	RevokedAt  time.Time // zero: valid
}

// NewKey is a key to store.
type NewKey struct {
	Prefix    string // the part of the key that lists show
	Hash      string // that seal.HashKey makes of the key, which is never stored itself
	Label     string
	Project   pleat.ProjectID // the only one that the key reaches; empty: that of the key that makes it, or all
	Scopes    pleat.Scopes    // empty: those of the key that makes it, or all if an operator does
	ExpiresAt time.Time       // zero: when the key that makes it does, or never
}

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
	" AND NOT " + unconfirmedUser

// CreateKey stores a new key of by.User and records it. A key that by.Key makes has at most the scopes of that key, and
// ends with it at the latest; if that reaches one project alone, so does the new one. A caller that works on the
// database is not bound. CodeInvalid: it would have more or end later, or its end is past; CodeConflict: the user has
// maxKeys valid keys; CodeLimited: the user made maxNewKeys within a day; CodeNotFound: there is no such user, or the
// user has no role in the project of the key; ErrUnauthorized: by.Key is not valid.
func (s *Store) CreateKey(ctx context.Context, by Actor, n NewKey) (Key, error) {
	var k Key
	err := s.db.Write(ctx, "create key", func(t *db.Tx) (err error) {
		k, err = s.createKey(t, by, n)
		return err
	})
	return k, err
}

// ReachesMore reports whether a user can come with anything but keys that reach one project alone: another key, or a
// sign-in by an issuer.
func (s *Store) ReachesMore(ctx context.Context, user pleat.UserID, project pleat.ProjectID) (bool, error) {
	var n int
	err := s.db.ReadRow(ctx, `
		SELECT (SELECT count(*) FROM api_key k WHERE k.account_id = $2 AND k.project_id <> $3 AND `+validKey+`)
			+ (SELECT count(*) FROM account_identity WHERE account_id = $2)`,
		[]any{s.db.Micros(), user, project}, &n)
	return n > 0, db.Unavailable("read keys", err)
}

// createKey is CreateKey inside a transaction.
func (s *Store) createKey(t *db.Tx, by Actor, n NewKey) (Key, error) {
	k, err := newKey(t, by.User, n)
	if err != nil {
		return k, err
	}
	if err := boundKey(t, by, &k); err != nil {
		return k, err
	}
	if !by.Database {
		if err := boundKeys(t, by.User); err != nil {
			return k, err
		}
	}
	if k.Project != "" {
		if err := NeedRole(t, Reach{User: by.User, Project: k.Project}, pleat.Viewer); err != nil {
			return k, pleat.ErrorAt(err, "projectId")
		}
	}
	return k, s.insertKey(t, by, &k, n.Hash)
}

// newKey returns a new key of a user, whose account it locks. The key of a service user reaches its project alone.
func newKey(t *db.Tx, user pleat.UserID, n NewKey) (Key, error) {
	k := Key{
		ID:        pleat.KeyID(db.NewID()),
		User:      user,
		Prefix:    n.Prefix,
		Label:     n.Label,
		Scopes:    n.Scopes,
		Project:   n.Project,
		ExpiresAt: n.ExpiresAt,
		CreatedAt: db.FromMicros(t.Now),
	}
	if err := lockAccount(t, user); err != nil {
		return k, err
	}
	var disabled int64
	var only pleat.ProjectID
	if err := t.Row("SELECT name, disabled_at, project_id FROM account WHERE id = $1", []any{user},
		&k.UserName, &disabled, &only); err != nil {
		return k, db.MapNoRows(err, pleat.Errorf(pleat.CodeNotFound, "there is no such user"))
	}
	switch {
	case disabled != 0:
		return k, pleat.Errorf(pleat.CodeConflict, "the user %s is disabled", k.UserName)
	case !k.ExpiresAt.IsZero() && db.ToMicros(k.ExpiresAt) <= t.Now:
		return k, pleat.InvalidField("expiresAt", " is in the past; it must be in the future")
	}
	k.Project = cmp.Or(only, k.Project)
	return k, nil
}

// insertKey stores a key under the hash of its secret, and records it.
func (s *Store) insertKey(t *db.Tx, by Actor, k *Key, hash string) error {
	if _, err := t.Exec(`
		INSERT INTO api_key
			(id, account_id, prefix, hash, label, scopes, created_at, last_used_at, expires_at, revoked_at, project_id)
		VALUES ($1, $2, $3, $4, $5, $6, $7, 0, $8, 0, $9)`,
		k.ID, k.User, k.Prefix, hash, k.Label, k.Scopes.String(), t.Now, db.ToMicros(k.ExpiresAt),
		k.Project); err != nil {
		return err
	}
	return s.RecordAudit(t, by, AuditKeyCreated, k.Prefix, keyDetail(by, k))
}

// keyDetail describes a new key for the audit log.
func keyDetail(by Actor, k *Key) string {
	out := "scopes " + k.Scopes.String()
	if k.User != by.User {
		out += ", user " + k.UserName
	}
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

// boundKey checks a new key against the key that makes it, if one does, and completes it.
func boundKey(t *db.Tx, by Actor, k *Key) error {
	if by.Database {
		if len(k.Scopes) == 0 {
			k.Scopes = pleat.AllScopes
		}
		return nil
	}
	m, err := makerOf(t, by)
	if err != nil {
		return err
	}
	return m.bound(k)
}

// maker is what bounds whatever a key makes.
type maker struct {
	scopes  pleat.Scopes
	expires int64           // 0: never
	project pleat.ProjectID // the only one that it reaches; empty: all of its user
}

// makerOf returns the bounds of what an actor makes. One who comes without a key has all scopes. ErrUnauthorized: the
// key is not valid.
func makerOf(t *db.Tx, by Actor) (maker, error) {
	m := maker{scopes: pleat.AllScopes}
	if by.Key == "" {
		return m, nil
	}
	var names string
	err := t.Row(`
		SELECT k.scopes, k.expires_at, k.project_id FROM api_key k
		WHERE `+validKey+` AND k.id = $2 AND k.account_id = $3`,
		[]any{t.Now, by.Key, by.User}, &names, &m.expires, &m.project)
	m.scopes = ScopesOf(names)
	return m, db.MapNoRows(err, pleat.ErrUnauthorized)
}

// bound checks a new key against the key that makes it, and completes it.
func (m *maker) bound(k *Key) error {
	if len(k.Scopes) == 0 {
		k.Scopes = m.scopes
	}
	for _, x := range k.Scopes {
		if !m.scopes.Has(x) {
			return pleat.InvalidField("scopes", " has %s, which the key of this request lacks; it may have %s", x,
				strings.Join(strings.Fields(m.scopes.String()), " and "))
		}
	}
	switch {
	case m.project == "" || k.Project == m.project:
	case k.Project == "":
		k.Project = m.project
	default:
		return pleat.InvalidField("projectId", " names another project than that of the key of this request")
	}
	switch {
	case m.expires == 0:
	case k.ExpiresAt.IsZero():
		k.ExpiresAt = db.FromMicros(m.expires)
	case db.ToMicros(k.ExpiresAt) > m.expires:
		return errAfterMaker(m.expires)
	}
	return nil
}

// errAfterMaker refuses what would end later than the key that makes it.
func errAfterMaker(expires int64) error {
	return pleat.InvalidField("expiresAt", " must not be later than %s, when the key of this request expires",
		db.FromMicros(expires).UTC().Format(time.RFC3339))
}

// boundKeys refuses a further key of a user who has or made as many as a user may. It deletes the oldest of the user's
// keys that are no longer valid, above maxKeptKeys.
func boundKeys(t *db.Tx, user pleat.UserID) error {
	var valid, recent int
	if err := t.Row(`
		SELECT count(CASE WHEN `+validKey+` THEN 1 END), count(CASE WHEN k.created_at > $2 THEN 1 END)
		FROM api_key k
		WHERE k.account_id = $3`,
		[]any{t.Now, t.Now - db.MicrosPerDay, user}, &valid, &recent); err != nil {
		return err
	}
	if valid >= maxKeys {
		return pleat.Errorf(pleat.CodeConflict, "the user has %d valid keys, the maximum; revoke one first", valid)
	}
	if recent >= maxNewKeys {
		return pleat.Errorf(pleat.CodeLimited, "Too many new keys; a user may make %d within 24 hours", maxNewKeys)
	}
	_, err := t.Exec(`
		DELETE FROM api_key
		WHERE account_id = $2 AND id IN (
			SELECT k.id FROM api_key k
			WHERE k.account_id = $2 AND NOT (`+validKey+`)
				AND NOT EXISTS (SELECT 1 FROM session e WHERE e.key_id = k.id)
			ORDER BY k.id DESC
			LIMIT 1000000 OFFSET $3)`,
		t.Now, user, maxKeptKeys)
	return err
}

// ScopesOf reads the column scopes.
func ScopesOf(column string) pleat.Scopes {
	var out pleat.Scopes
	for _, name := range strings.Fields(column) {
		out = append(out, pleat.Scope(name))
	}
	return out
}

// Keys lists the keys of the user of a reach, newest first, with the revoked and expired ones; those of all users if it
// names none, and those alone that are bound to its project if it names one.
func (s *Store) Keys(ctx context.Context, by Reach) ([]Key, error) {
	rows, err := s.db.Read(ctx, `
		SELECT k.id, k.account_id, a.name, k.prefix, k.label, k.scopes, k.created_at, k.last_used_at, k.expires_at,
			k.revoked_at, k.project_id
		FROM api_key k
		JOIN account a ON a.id = k.account_id
		WHERE ($1 = '' OR k.account_id = $1) AND ($2 = '' OR k.project_id = $2)
		ORDER BY k.id DESC`,
		by.User, by.Project)
	out, err := db.ListOf(rows, err, func(scan func(...any) error) (k Key, err error) {
		var scopes string
		err = scan(&k.ID, &k.User, &k.UserName, &k.Prefix, &k.Label, &scopes, db.ScanTime(&k.CreatedAt),
			db.ScanTime(&k.LastUsedAt), db.ScanTime(&k.ExpiresAt), db.ScanTime(&k.RevokedAt),
			&k.Project)
		k.Scopes = ScopesOf(scopes)
		return k, err
	})
	return out, db.Unavailable("list keys", err)
}

// RevokeKey revokes a key of by.User, ends its sessions, and records it. The key is refused from the next request on;
// streams that it opened get news on [KeyTopic]. Revoking twice is no error and is recorded once. A by.Key that is
// bound to a project revokes only keys that are, too. CodeNotFound: the key does not exist or is out of reach.
func (s *Store) RevokeKey(ctx context.Context, by Actor, key pleat.KeyID) error {
	return s.db.Write(ctx, "revoke key", func(t *db.Tx) error { return s.revokeKey(t, by, by.User, key) })
}

// revokeKey is RevokeKey inside a transaction, of a key of a user.
func (s *Store) revokeKey(t *db.Tx, by Actor, user pleat.UserID, key pleat.KeyID) error {
	var prefix string
	var revoked int64
	if err := t.Row(`
		UPDATE api_key SET revoked_at = CASE WHEN revoked_at = 0 THEN $1 ELSE revoked_at END
		WHERE id = $2 AND account_id = $3
			AND COALESCE((SELECT k.project_id FROM api_key k WHERE k.id = $4), '') IN ('', project_id)
		RETURNING prefix, revoked_at`,
		[]any{t.Now, key, user, by.Key}, &prefix, &revoked); err != nil {
		return db.MapNoRows(err, pleat.Errorf(pleat.CodeNotFound, "Key not found"))
	}
	t.Notify(KeyTopic(key))
	if _, err := t.Exec("DELETE FROM session WHERE key_id = $1", key); err != nil || revoked != t.Now {
		return err
	}
	return s.RecordAudit(t, by, AuditKeyRevoked, prefix, "")
}

// Keys returns the rows k of valid keys that a credential with a hash stands for, one or none, as SQL with the moment
// as $1. A session stands for the key with which it began, and a login for a key with all scopes that has no id.
func (c Credential) Keys(hash string) string {
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
	err := s.db.ReadRow(ctx, `
		SELECT a.id, a.name, c.id, c.scopes, c.project_id, a.operator
		FROM (SELECT k.id, k.account_id, k.scopes, k.project_id FROM `+by.Keys("$2")+`) c
		JOIN account a ON a.id = c.account_id`,
		[]any{s.db.Micros(), by.Hash}, &p.User, &p.Name, &p.Key, &scopes, &p.Project, &operator)
	p.Scopes, p.Operator = ScopesOf(scopes), operator == 1 && p.Project == ""
	if errors.Is(err, sql.ErrNoRows) {
		err = s.whyInvalid(ctx, by)
	}
	return p, db.Unavailable("identify", err)
}

// TouchKeys stores when keys were last used. The server collects the uses and stores them together from time to time,
// so that a request does not wait for a write; the last of them may be lost in a crash.
func (s *Store) TouchKeys(ctx context.Context, used map[pleat.KeyID]time.Time) error {
	if len(used) == 0 {
		return nil
	}
	return s.db.WriteAsync(ctx, "touch keys", func(t *db.Tx) error {
		for k, at := range used {
			if _, err := t.Exec("UPDATE api_key SET last_used_at = $1 WHERE id = $2 AND last_used_at < $1",
				db.ToMicros(at), k); err != nil {
				return err
			}
		}
		return nil
	})
}
