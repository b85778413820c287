package store

import (
	"context"
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

// CreateKey stores a new key by the hash that seal.HashKey makes of it. Prefix is the part of the key that lists show.
// The key itself is never stored, so it cannot be shown again. CodeNotFound: there is no such user.
func (s *Store) CreateKey(ctx context.Context, user pleat.UserID, prefix, hash, label string) (Key, error) {
	k := Key{ID: pleat.KeyID(newID()), User: user, Prefix: prefix, Label: label}
	err := s.write(ctx, "create key", func(t *tx) error {
		k.CreatedAt = fromMicros(t.now)
		if err := t.row("SELECT name FROM account WHERE id = $1", []any{user}, &k.UserName); err != nil {
			return mapNoRows(err, pleat.Errorf(pleat.CodeNotFound, "there is no such user"))
		}
		_, err := t.exec(`
			INSERT INTO api_key (id, account_id, prefix, hash, label, created_at, last_used_at, revoked_at)
			VALUES ($1, $2, $3, $4, $5, $6, 0, 0)`,
			k.ID, user, prefix, hash, label, t.now)
		return err
	})
	return k, err
}

// Keys lists a user's keys, newest first, with the revoked ones; those of all users if user is empty.
func (s *Store) Keys(ctx context.Context, user pleat.UserID) ([]Key, error) {
	out := []Key{}
	rows, err := s.read(ctx, `
		SELECT k.id, k.account_id, a.name, k.prefix, k.label, k.created_at, k.last_used_at, k.revoked_at
		FROM api_key k
		JOIN account a ON a.id = k.account_id
		WHERE $1 = '' OR k.account_id = $1
		ORDER BY k.id DESC`,
		user)
	err = forEachRow(rows, err, func(scan func(...any) error) error {
		var k Key
		var created, used, revoked int64
		if err := scan(&k.ID, &k.User, &k.UserName, &k.Prefix, &k.Label, &created, &used, &revoked); err != nil {
			return err
		}
		k.CreatedAt, k.LastUsedAt, k.RevokedAt = fromMicros(created), fromMicros(used), fromMicros(revoked)
		out = append(out, k)
		return nil
	})
	return out, unavailable("list keys", err)
}

// RevokeKey revokes a key of a user and ends its sessions; of any user if user is empty. The key is refused from the
// next request on. Revoking twice is no error. CodeNotFound: the key does not exist or is another user's.
func (s *Store) RevokeKey(ctx context.Context, user pleat.UserID, key pleat.KeyID) error {
	return s.write(ctx, "revoke key", func(t *tx) error {
		n, err := t.exec(`
			UPDATE api_key SET revoked_at = CASE WHEN revoked_at = 0 THEN $1 ELSE revoked_at END
			WHERE id = $2 AND ($3 = '' OR account_id = $3)`,
			t.now, key, user)
		if err != nil {
			return err
		}
		if n == 0 {
			return pleat.Errorf(pleat.CodeNotFound, "Key not found")
		}
		_, err = t.exec("DELETE FROM session WHERE key_id = $1", key)
		return err
	})
}

// KeyByHash returns the user that a key authenticates; ErrUnauthorized if the key is unknown or revoked. The hash is
// that of seal.HashKey. One query answers it from a unique index.
func (s *Store) KeyByHash(ctx context.Context, hash string) (Principal, error) {
	var p Principal
	err := s.readRow(ctx, `
		SELECT a.id, a.name, k.id, a.quota
		FROM api_key k
		JOIN account a ON a.id = k.account_id
		WHERE k.hash = $1 AND k.revoked_at = 0`,
		[]any{hash}, &p.User, &p.Name, &p.Key, &p.Quota)
	return p, unavailable("find key", mapNoRows(err, pleat.ErrUnauthorized))
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

// CreateSession stores a session of the page by the hash of its id. It ends at until, by DeleteSession, or when its key
// is revoked. Reap deletes expired sessions.
func (s *Store) CreateSession(ctx context.Context, hash string, key pleat.KeyID, until time.Time) error {
	return s.write(ctx, "create session", func(t *tx) error {
		_, err := t.exec("INSERT INTO session (hash, key_id, expires_at) VALUES ($1, $2, $3)",
			hash, key, toMicros(until))
		return err
	})
}

// SessionByHash returns the user that a session authenticates, under the key with which the session began;
// ErrUnauthorized if it has ended.
func (s *Store) SessionByHash(ctx context.Context, hash string) (Principal, error) {
	var p Principal
	err := s.readRow(ctx, `
		SELECT a.id, a.name, k.id, a.quota
		FROM session s
		JOIN api_key k ON k.id = s.key_id
		JOIN account a ON a.id = k.account_id
		WHERE s.hash = $1 AND s.expires_at > $2 AND k.revoked_at = 0`,
		[]any{hash, s.now()}, &p.User, &p.Name, &p.Key, &p.Quota)
	return p, unavailable("find session", mapNoRows(err, pleat.ErrUnauthorized))
}

// DeleteSession ends a session. Ending one that does not exist is no error.
func (s *Store) DeleteSession(ctx context.Context, hash string) error {
	return s.write(ctx, "delete session", func(t *tx) error {
		_, err := t.exec("DELETE FROM session WHERE hash = $1", hash)
		return err
	})
}

// microsPerDay is a day of UTC, which has no leap seconds here. Quotas and idempotency keys last one.
const microsPerDay = 24 * 60 * 60 * 1_000_000

// Usage returns how much of today's quotas of jobs and of workflows a user has spent, without spending any.
func (s *Store) Usage(ctx context.Context, user pleat.UserID) (jobs, workflows Usage, err error) {
	now := s.now()
	var own int
	err = s.readRow(ctx, `
		SELECT a.quota, COALESCE(q.used, 0), COALESCE(q.workflows, 0)
		FROM account a
		LEFT JOIN quota_day q ON q.account_id = a.id AND q.day = $2
		WHERE a.id = $1`,
		[]any{user, now / microsPerDay}, &own, &jobs.Used, &workflows.Used)
	jobs.Limit, workflows.Limit = s.limits.jobsOf(own), s.limits.workflows()
	jobs.Reset = fromMicros((now/microsPerDay + 1) * microsPerDay)
	workflows.Reset = jobs.Reset
	return jobs, workflows, unavailable("read usage", mapNoRows(err, pleat.ErrUnauthorized))
}

// chargeQuota counts one call against today's quota, or refuses it. The row's lock makes it exact between concurrent
// calls: on PostgreSQL the second waits for the first to commit. A call that fails later in its transaction costs
// nothing.
func (t *tx) chargeQuota(user pleat.UserID) (Usage, error) {
	u := Usage{Reset: fromMicros((t.now/microsPerDay + 1) * microsPerDay)}
	var own int
	if err := t.row("SELECT quota FROM account WHERE id = $1", []any{user}, &own); err != nil {
		return u, mapNoRows(err, pleat.ErrUnauthorized)
	}
	u.Limit = t.s.limits.jobsOf(own)
	err := t.row(`
		INSERT INTO quota_day (account_id, day, used) VALUES ($1, $2, 1)
		ON CONFLICT (account_id, day) DO UPDATE SET used = quota_day.used + 1
		RETURNING used`,
		[]any{user, t.now / microsPerDay}, &u.Used)
	if err == nil && u.Used > u.Limit {
		return u, pleat.ErrQuota(u.Limit, u.Used-1)
	}
	return u, err
}

// chargeWorkflow counts one workflow against today's quota, or refuses it and counts nothing.
func (t *tx) chargeWorkflow(user pleat.UserID) error {
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
