package people

import (
	"context"
	"slices"
	"time"

	"pleat"
	"pleat/internal/store/db"
)

// maxSessions bounds the sessions of a key; the oldest ends when there would be one more.
const maxSessions = 50

// TimesAhead selects the sessions, logins and links that began after late; see runs.Store.SettleTimes. They last as
// long as if they had begun now. A login that would be checked later than any is checked now.
func TimesAhead(late int64) []db.Ahead {
	began := func(table string) db.Ahead {
		return db.Ahead{
			Table:  table,
			Where:  "created_at > $1",
			Latest: late,
			Set:    "expires_at = $2 + expires_at - created_at, created_at = $2",
		}
	}
	return []db.Ahead{
		began("session"), began("login"), began("invitation"), began("share"),
		{
			Table:  "login",
			Where:  "check_at > $1 OR checking_until > $1",
			Latest: late + latestCheck.Microseconds(),
			Set:    "check_at = $2, checking_until = 0",
		},
	}
}

// latestCheck is longer than until the next check of any login.
const latestCheck = time.Hour

// CreateSession stores a session of the page for by.Key by the hash of its id, records it, and returns when it ends: at
// until, or with its key. It ends earlier by [Store.DeleteSession], when its key is revoked, or when the key has
// maxSessions newer ones. Reap deletes expired sessions. ErrUnauthorized: the key is not valid.
func (s *Store) CreateSession(ctx context.Context, by Actor, hash string, until time.Time) (time.Time, error) {
	err := s.db.Write(ctx, "create session", func(t *db.Tx) error {
		var prefix string
		var expires int64
		// The update locks the row, so that concurrent calls count each other's sessions.
		if err := t.Row(`
			UPDATE api_key AS k SET scopes = scopes
			WHERE `+validKey+` AND id = $2
			RETURNING prefix, expires_at`,
			[]any{t.Now, by.Key}, &prefix, &expires); err != nil {
			return db.MapNoRows(err, pleat.ErrUnauthorized)
		}
		if expires != 0 && expires < db.ToMicros(until) {
			until = db.FromMicros(expires)
		}
		if _, err := t.Exec(`
			DELETE FROM session
			WHERE key_id = $1 AND (expires_at <= $2 OR hash NOT IN (
				SELECT hash FROM session
				WHERE key_id = $1 AND expires_at > $2
				ORDER BY created_at DESC, hash
				LIMIT $3))`,
			by.Key, t.Now, maxSessions-1); err != nil {
			return err
		}
		if _, err := t.Exec("INSERT INTO session (hash, key_id, expires_at, created_at) VALUES ($1, $2, $3, $4)",
			hash, by.Key, db.ToMicros(until), t.Now); err != nil {
			return err
		}
		return s.RecordAudit(t, by, AuditSessionOpened, prefix, "")
	})
	return until, err
}

// ValidCredentials returns which of the credentials, named by their hashes, are valid now. One query answers for up to
// 128 of a kind.
func (s *Store) ValidCredentials(ctx context.Context, keys, sessions, logins []string) (map[string]bool, error) {
	out := map[string]bool{}
	addValid := func(query string, hashes []string) error {
		for part := range slices.Chunk(db.Args(hashes), db.MaxStatementRows) {
			args := append([]any{s.db.Micros()}, db.Pad(part)...)
			valid, err := db.ColumnOf[string](s.db.Read(ctx, query+"("+db.Params(2, len(args)-1)+")", args...))
			if err != nil {
				return db.Unavailable("check credentials", err)
			}
			for _, hash := range valid {
				out[hash] = true
			}
		}
		return nil
	}
	err := addValid("SELECT k.hash FROM api_key k WHERE "+validKey+" AND k.hash IN ", keys)
	if err == nil {
		err = addValid(`
		SELECT s.hash FROM session s JOIN api_key k ON k.id = s.key_id
		WHERE `+validKey+" AND s.expires_at > $1 AND s.hash IN ", sessions)
	}
	if err == nil {
		err = addValid("SELECT k.hash FROM login k WHERE k.kind <> 'grant' AND k.expires_at > $1 AND "+enabledUser+
			" AND k.hash IN ", logins)
	}
	return out, err
}

// DeleteSession ends a session; streams that it opened get news on [KeyTopic]. Ending one that does not exist is no
// error.
func (s *Store) DeleteSession(ctx context.Context, hash string) error {
	return s.db.Write(ctx, "delete session", func(t *db.Tx) error {
		var key pleat.KeyID
		err := t.Row("DELETE FROM session WHERE hash = $1 RETURNING key_id", []any{hash}, &key)
		if err == nil {
			t.Notify(KeyTopic(key))
		}
		return db.MapNoRows(err, nil)
	})
}

// KeyTopic has news when a key is revoked, or one of its sessions ends on request.
func KeyTopic(key pleat.KeyID) string { return "key:" + string(key) }

// loginTopic is KeyTopic for the logins of a user.
func loginTopic(user pleat.UserID) string { return "login:" + string(user) }
