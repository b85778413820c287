package store

import (
	"context"
	"slices"
	"strings"
	"time"

	"pleat"
)

// EnsureUser returns the user of that name, and creates one with the service's default quota if there is none.
// CodeInvalid: the name is empty, too long or not printable.
func (s *Store) EnsureUser(ctx context.Context, name string) (User, error) {
	if err := pleat.CheckName("user", name); err != nil {
		return User{}, err
	}
	var u User
	err := s.write(ctx, "ensure user", func(t *tx) error {
		if _, err := t.exec(`
			INSERT INTO account (id, name, quota, created_at) VALUES ($1, $2, -1, $3) ON CONFLICT (name) DO NOTHING`,
			newID(), name, t.now); err != nil {
			return err
		}
		var at int64
		err := t.row("SELECT id, name, quota, created_at FROM account WHERE name = $1", []any{name},
			&u.ID, &u.Name, &u.Quota, &at)
		u.CreatedAt = fromMicros(at)
		return err
	})
	return u, err
}

// SetQuota sets a user's daily quota, in calls; a negative one restores the service's default. It applies from the next
// call. CodeNotFound: there is no such user.
func (s *Store) SetQuota(ctx context.Context, name string, quota int) error {
	return s.write(ctx, "set quota", func(t *tx) error {
		n, err := t.exec("UPDATE account SET quota = $1 WHERE name = $2", max(quota, -1), name)
		if err == nil && n == 0 {
			err = pleat.Errorf(pleat.CodeNotFound, "there is no user %q", pleat.Clip(name))
		}
		return err
	})
}

const (
	// maxKeys bounds the valid keys of a user that are made with other keys. Operators are not bound.
	maxKeys = 100
	// maxNewKeys bounds the keys that a user makes within a day.
	maxNewKeys = 50
	// maxKeptKeys bounds the revoked and expired keys of a user that are kept for the list.
	maxKeptKeys = 100
)

// validKey is the condition on a key k that it is valid at the moment $1.
const validKey = "k.revoked_at = 0 AND (k.expires_at = 0 OR k.expires_at > $1)"

// CreateKey stores a new key of by.User and records it. A key that by.Key makes has at most the scopes of that key, and
// ends with it at the latest. CodeInvalid: it would have more or end later, or its end is past; CodeConflict: the user
// has maxKeys valid keys; CodeLimited: the user made maxNewKeys within a day; CodeNotFound: there is no such user;
// ErrUnauthorized: by.Key is not valid.
func (s *Store) CreateKey(ctx context.Context, by Actor, n NewKey) (Key, error) {
	var k Key
	err := s.write(ctx, "create key", func(t *tx) error {
		k = Key{
			ID:        pleat.KeyID(newID()),
			User:      by.User,
			Prefix:    n.Prefix,
			Label:     n.Label,
			Scopes:    n.Scopes,
			ExpiresAt: n.ExpiresAt,
			CreatedAt: fromMicros(t.now),
		}
		if err := t.lockAccount(by.User); err != nil {
			return err
		}
		if err := t.row("SELECT name FROM account WHERE id = $1", []any{by.User}, &k.UserName); err != nil {
			return mapNoRows(err, pleat.Errorf(pleat.CodeNotFound, "there is no such user"))
		}
		if !k.ExpiresAt.IsZero() && toMicros(k.ExpiresAt) <= t.now {
			return pleat.InvalidField("expiresAt", " is in the past; it must be in the future")
		}
		if by.Key != "" {
			if err := t.boundNewKey(by, &k); err != nil {
				return err
			}
		} else if len(k.Scopes) == 0 {
			k.Scopes = pleat.AllScopes
		}
		if _, err := t.exec(`
			INSERT INTO api_key
				(id, account_id, prefix, hash, label, scopes, created_at, last_used_at, expires_at, revoked_at)
			VALUES ($1, $2, $3, $4, $5, $6, $7, 0, $8, 0)`,
			k.ID, by.User, n.Prefix, n.Hash, n.Label, k.Scopes.String(), t.now, toMicros(k.ExpiresAt)); err != nil {
			return err
		}
		return t.audit(by, AuditKeyCreated, k.Prefix, keyDetail(&k))
	})
	return k, err
}

// keyDetail describes a new key for the audit log.
func keyDetail(k *Key) string {
	out := "scopes " + k.Scopes.String()
	if !k.ExpiresAt.IsZero() {
		out += ", expires " + k.ExpiresAt.UTC().Format(time.RFC3339)
	}
	if k.Label != "" {
		out += ", label " + k.Label
	}
	return out
}

// boundNewKey checks a new key against the key that makes it and against what its user may have, and completes it. It
// deletes the oldest of the user's keys that are no longer valid, above maxKeptKeys.
func (t *tx) boundNewKey(by Actor, k *Key) error {
	var names string
	var ends int64
	if err := t.row(`
		SELECT k.scopes, k.expires_at FROM api_key k WHERE `+validKey+` AND k.id = $2 AND k.account_id = $3`,
		[]any{t.now, by.Key, by.User}, &names, &ends); err != nil {
		return mapNoRows(err, pleat.ErrUnauthorized)
	}
	own := scopesOf(names)
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
	case ends == 0:
	case k.ExpiresAt.IsZero():
		k.ExpiresAt = fromMicros(ends)
	case toMicros(k.ExpiresAt) > ends:
		return pleat.InvalidField("expiresAt", " must not be later than %s, when the key of this request expires",
			fromMicros(ends).UTC().Format(time.RFC3339))
	}
	var valid, made int
	if err := t.row(`
		SELECT count(CASE WHEN `+validKey+` THEN 1 END), count(CASE WHEN k.created_at > $2 THEN 1 END)
		FROM api_key k
		WHERE k.account_id = $3`,
		[]any{t.now, t.now - microsPerDay, by.User}, &valid, &made); err != nil {
		return err
	}
	if valid >= maxKeys {
		return pleat.Errorf(pleat.CodeConflict, "the user has %d valid keys, the maximum; revoke one first", valid)
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
			k.revoked_at
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
			&revoked); err != nil {
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
	return s.write(ctx, "revoke key", func(t *tx) error {
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
	})
}

// keys returns the rows k of valid keys that a credential with a hash stands for, one or none, as SQL with the moment
// as $1. A session stands for the key with which it began.
func (c Credential) keys(hash string) string {
	if c.Session {
		return "session e JOIN api_key k ON k.id = e.key_id WHERE " + validKey +
			" AND e.expires_at > $1 AND e.hash = " + hash
	}
	return "api_key k WHERE " + validKey + " AND k.hash = " + hash
}

// Identify returns the user that a credential authenticates. ErrUnauthorized: it is unknown, expired or revoked, or its
// key is. One query answers it from unique indexes.
func (s *Store) Identify(ctx context.Context, by Credential) (Principal, error) {
	var p Principal
	var scopes string
	err := s.readRow(ctx, `
		SELECT a.id, a.name, c.id, c.scopes, a.quota
		FROM (SELECT k.id, k.account_id, k.scopes FROM `+by.keys("$2")+`) c
		JOIN account a ON a.id = c.account_id`,
		[]any{s.now(), by.Hash}, &p.User, &p.Name, &p.Key, &scopes, &p.Quota)
	p.Scopes = scopesOf(scopes)
	return p, unavailable("identify", mapNoRows(err, pleat.ErrUnauthorized))
}

// askValid reads whether a credential is valid and its user is the one given. The zero credential is not checked.
func (t *tx) askValid(by Credential, user pleat.UserID, valid *bool) {
	if by == (Credential{}) {
		*valid = true
		return
	}
	t.ask("SELECT k.id FROM "+by.keys("$2")+" AND k.account_id = $3", []any{t.now, by.Hash, user},
		func(scan func(...any) error) error {
			*valid = true
			return scan(new(string))
		})
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

// maxSessions bounds the sessions of a key; the oldest ends when there would be one more.
const maxSessions = 50

// CreateSession stores a session of the page for by.Key by the hash of its id, records it, and returns when it ends: at
// until, or with its key. It ends earlier by DeleteSession, when its key is revoked, or when the key has maxSessions
// newer ones. Reap deletes expired sessions. ErrUnauthorized: the key is not valid.
func (s *Store) CreateSession(ctx context.Context, by Actor, hash string, until time.Time) (time.Time, error) {
	err := s.write(ctx, "create session", func(t *tx) error {
		var prefix string
		var ends int64
		// The update locks the row, so that concurrent calls count each other's sessions.
		if err := t.row(`
			UPDATE api_key AS k SET scopes = scopes
			WHERE `+validKey+` AND id = $2
			RETURNING prefix, expires_at`,
			[]any{t.now, by.Key}, &prefix, &ends); err != nil {
			return mapNoRows(err, pleat.ErrUnauthorized)
		}
		if ends != 0 && ends < toMicros(until) {
			until = fromMicros(ends)
		}
		if _, err := t.exec(`
			DELETE FROM session
			WHERE key_id = $1 AND (expires_at <= $2 OR hash NOT IN (
				SELECT hash FROM session
				WHERE key_id = $1 AND expires_at > $2
				ORDER BY created_at DESC, hash
				LIMIT $3))`,
			by.Key, t.now, maxSessions-1); err != nil {
			return err
		}
		if _, err := t.exec("INSERT INTO session (hash, key_id, expires_at, created_at) VALUES ($1, $2, $3, $4)",
			hash, by.Key, toMicros(until), t.now); err != nil {
			return err
		}
		return t.audit(by, AuditSessionOpened, prefix, "")
	})
	return until, err
}

// ValidCredentials returns which of the credentials, named by their hashes, are valid now. One query answers for up to
// 128 of a kind.
func (s *Store) ValidCredentials(ctx context.Context, keys, sessions []string) (map[string]bool, error) {
	out := map[string]bool{}
	ask := func(query string, hashes []string) error {
		var ids []any
		for _, h := range hashes {
			ids = append(ids, h)
		}
		for part := range slices.Chunk(ids, maxStatementRows) {
			args := append([]any{s.now()}, pad(part)...)
			rows, err := s.read(ctx, query+"("+params(2, len(args)-1)+")", args...)
			err = forEachRow(rows, err, func(scan func(...any) error) error {
				var hash string
				err := scan(&hash)
				out[hash] = true
				return err
			})
			if err != nil {
				return unavailable("check credentials", err)
			}
		}
		return nil
	}
	err := ask("SELECT k.hash FROM api_key k WHERE "+validKey+" AND k.hash IN ", keys)
	if err == nil {
		err = ask(`
		SELECT s.hash FROM session s JOIN api_key k ON k.id = s.key_id
		WHERE `+validKey+" AND s.expires_at > $1 AND s.hash IN ", sessions)
	}
	return out, err
}

// DeleteSession ends a session; streams that it opened get news on KeyTopic. Ending one that does not exist is no
// error.
func (s *Store) DeleteSession(ctx context.Context, hash string) error {
	return s.write(ctx, "delete session", func(t *tx) error {
		var key pleat.KeyID
		err := t.row("DELETE FROM session WHERE hash = $1 RETURNING key_id", []any{hash}, &key)
		if err == nil {
			t.notify(KeyTopic(key))
		}
		return mapNoRows(err, nil)
	})
}

// microsPerDay is a day of UTC, which has no leap seconds here. Quotas and idempotency keys last one.
const microsPerDay = 24 * 60 * 60 * 1_000_000

// Usages are what a user has spent of each of today's quotas.
type Usages struct{ Jobs, Workflows, BatchRows Usage }

// Usage returns how much of today's quotas a user has spent, without spending any.
func (s *Store) Usage(ctx context.Context, user pleat.UserID) (Usages, error) {
	var u Usages
	now := s.now()
	var own int
	err := s.readRow(ctx, `
		SELECT a.quota, COALESCE(q.used, 0), COALESCE(q.workflows, 0), COALESCE(q.batch_rows, 0)
		FROM account a
		LEFT JOIN quota_day q ON q.account_id = a.id AND q.day = $2
		WHERE a.id = $1`,
		[]any{user, now / microsPerDay}, &own, &u.Jobs.Used, &u.Workflows.Used, &u.BatchRows.Used)
	u.Jobs.Limit, u.Workflows.Limit = s.limits.jobsOf(own), s.limits.workflows()
	u.BatchRows.Limit = s.limits.batchRows()
	u.Jobs.Reset = fromMicros((now/microsPerDay + 1) * microsPerDay)
	u.Workflows.Reset, u.BatchRows.Reset = u.Jobs.Reset, u.Jobs.Reset
	return u, unavailable("read usage", mapNoRows(err, pleat.ErrUnauthorized))
}

// charge is what a user has spent with one more call.
type charge struct {
	known bool // the user exists
	own   int  // the user's quota of jobs; negative: the service's default
	used  int  // calls of today, this one included
	bytes int64
}

// askCharge counts one call against today's quota of jobs, and reads what usage needs to refuse it. The row's lock
// makes the count exact between concurrent calls: on PostgreSQL the second waits for the first to commit. A call that
// fails later in its transaction costs nothing.
func (t *tx) askCharge(user pleat.UserID, c *charge) {
	t.askResults(user, &c.bytes)
	t.ask("SELECT quota FROM account WHERE id = $1", []any{user}, func(scan func(...any) error) error {
		c.known = true
		return scan(&c.own)
	})
	t.ask(`
		INSERT INTO quota_day (account_id, day, used) VALUES ($1, $2, 1)
		ON CONFLICT (account_id, day) DO UPDATE SET used = quota_day.used + 1
		RETURNING used`,
		[]any{user, t.now / microsPerDay},
		func(scan func(...any) error) error { return scan(&c.used) })
}

// usage returns what a user has spent after askCharge. CodeConflict: the user's runs hold as much as they may;
// CodeLimited: the quota is spent. ErrUnauthorized: there is no such user.
func (t *tx) usage(c *charge) (Usage, error) {
	if err := t.checkResults(c.bytes); err != nil {
		return Usage{}, err
	}
	if !c.known {
		return Usage{}, pleat.ErrUnauthorized
	}
	u := Usage{
		Limit: t.s.limits.jobsOf(c.own),
		Used:  c.used,
		Reset: t.nextDay(),
	}
	if u.Used > u.Limit {
		return u, pleat.ErrQuota(u.Limit, u.Used-1)
	}
	return u, nil
}

// askChargeRows counts rows of a batch against today's quota, and reads what rowUsage needs to refuse them.
func (t *tx) askChargeRows(user pleat.UserID, rows int, c *charge) {
	t.askResults(user, &c.bytes)
	t.ask(`
		INSERT INTO quota_day (account_id, day, used, batch_rows) VALUES ($1, $2, 0, $3)
		ON CONFLICT (account_id, day) DO UPDATE SET batch_rows = quota_day.batch_rows + excluded.batch_rows
		RETURNING batch_rows`,
		[]any{user, t.now / microsPerDay, rows},
		func(scan func(...any) error) error { return scan(&c.used) })
}

// askSpentRows is askChargeRows without a charge.
func (t *tx) askSpentRows(user pleat.UserID, c *charge) {
	t.askResults(user, &c.bytes)
	t.ask("SELECT batch_rows FROM quota_day WHERE account_id = $1 AND day = $2", []any{user, t.now / microsPerDay},
		func(scan func(...any) error) error { return scan(&c.used) })
}

// rowUsage is usage after askChargeRows.
func (t *tx) rowUsage(c *charge, rows int) (Usage, error) {
	if err := t.checkResults(c.bytes); err != nil {
		return Usage{}, err
	}
	u := Usage{Limit: t.s.limits.batchRows(), Used: c.used, Reset: t.nextDay()}
	if u.Used > u.Limit {
		return u, pleat.ErrBatchQuota(u.Limit, u.Used-rows, rows)
	}
	return u, nil
}

// nextDay is the next UTC midnight.
func (t *tx) nextDay() time.Time { return fromMicros((t.now/microsPerDay + 1) * microsPerDay) }

// chargeWorkflow counts one workflow against today's quota, or refuses it and counts nothing. It also refuses it if the
// user's runs hold as much as they may.
func (t *tx) chargeWorkflow(user pleat.UserID) error {
	if t.s.limits.ResultsBytes > 0 {
		var bytes int64
		t.askResults(user, &bytes)
		if err := t.wait(); err != nil {
			return err
		}
		if err := t.checkResults(bytes); err != nil {
			return err
		}
	}
	limit := t.s.limits.workflows()
	var used int
	err := t.row(`
		INSERT INTO quota_day (account_id, day, used, workflows) VALUES ($1, $2, 0, 1)
		ON CONFLICT (account_id, day) DO UPDATE SET workflows = quota_day.workflows + 1
		WHERE quota_day.workflows < $3
		RETURNING workflows`,
		[]any{user, t.now / microsPerDay, limit}, &used)
	return mapNoRows(err, pleat.ErrWorkflowQuota(limit))
}
