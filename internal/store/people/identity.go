package people

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"pleat"
	"pleat/internal/store/db"
)

// Claims are what an issuer of OpenID Connect says of a person at a time. The pair of Issuer and Subject identifies the
// person; everything else can be given to somebody else.
type Claims struct {
	Issuer, Subject string
	Name            string // for the account, if it is new
	Email           string // to read
	Groups          []string
	Operator        *bool // whether the person operates the service; nil: no group decides that
	At              time.Time
}

// LoginKind is what a [Login] is.
type LoginKind string

// The kinds of logins.
const (
	LoginSession LoginKind = "session" // of the page
	LoginBearer  LoginKind = "bearer"  // a token of the issuer that a program sends
	LoginGrant   LoginKind = "grant"   // by which a person's keys are checked; it is no credential
)

// Login is what an issuer has confirmed. It authenticates its user until it ends, and the caller asks the issuer
// again at CheckAt.
type Login struct {
	Hash      string // of the session's id or of the token; GrantOf for a grant
	Kind      LoginKind
	User      pleat.UserID
	Issuer    string // of the user
	Subject   string
	Tokens    string // of the issuer, sealed
	CheckAt   time.Time
	Refusals  int // in a row, whose meaning was not clear
	ExpiresAt time.Time
	lease     int64 // of LeaseLogin
}

// GrantOf is the Hash of a user's grant.
func GrantOf(user pleat.UserID) string { return "grant:" + string(user) }

const (
	// maxLoginSessions and maxBearers bound the logins of a user; the oldest ends when there would be one more.
	maxLoginSessions = 50
	maxBearers       = 1000
	// maxGroupRoles bounds the groups that have a role in a project.
	maxGroupRoles = 100
)

// unconfirmedUser is the condition on a key k that at the moment $1 the issuer does not confirm its user, who came by
// one. Without a grant, the last sign-in or check of a session counts for five minutes.
const unconfirmedUser = "EXISTS (SELECT 1 FROM account_identity v WHERE v.account_id = k.account_id AND " +
	"(v.suspended = 1 OR v.lasting = 0 AND v.checked_at <= $1 - 300000000))"

// errSignInAgain refuses a key whose user must sign in again.
var errSignInAgain = pleat.Errorf(pleat.CodeUnauthorized,
	"The sign-in of this key's user has ended; the key counts again once the user has signed in")

// whyInvalid returns the error for a credential that is not valid.
func (s *Store) whyInvalid(ctx context.Context, by Credential) error {
	if by.Session || by.Login {
		return pleat.ErrUnauthorized
	}
	var n int
	err := s.db.ReadRow(ctx, "SELECT count(*) FROM api_key k WHERE k.hash = $2 AND k.revoked_at = 0 AND "+
		"(k.expires_at = 0 OR k.expires_at > $1) AND "+enabledUser+" AND "+unconfirmedUser,
		[]any{s.db.Micros(), by.Hash}, &n)
	switch {
	case err != nil:
		return err
	case n == 1:
		return errSignInAgain
	}
	return pleat.ErrUnauthorized
}

// AccountForClaims records what an issuer says of a person, and returns the person's account, which it creates for one
// who is new. Stored data that is newer than the claims is kept. A suspended user is active again. CodeForbidden: the
// account is disabled. ErrUnauthorized: the person was suspended after the claims were made.
func (s *Store) AccountForClaims(ctx context.Context, c Claims) (pleat.UserID, error) {
	var user pleat.UserID
	err := s.db.Write(ctx, "record claims", func(t *db.Tx) (err error) {
		user, err = s.recordClaims(t, c)
		return err
	})
	return user, err
}

// recordClaims is AccountForClaims inside a transaction.
func (s *Store) recordClaims(t *db.Tx, c Claims) (pleat.UserID, error) {
	user, checked, suspended, err := identity(t, c)
	if errors.Is(err, sql.ErrNoRows) {
		if t.Postgres() { // else two first sign-ins of a person at once would make two accounts
			t.Send("SELECT pg_advisory_xact_lock(hashtext('pleat identities'))")
		}
		if user, checked, suspended, err = identity(t, c); errors.Is(err, sql.ErrNoRows) {
			user, err = insertIdentity(t, c)
		}
	}
	if err != nil {
		return "", err
	}
	var disabled int64
	if err := t.Row("SELECT disabled_at FROM account WHERE id = $1", []any{user}, &disabled); err != nil {
		return "", err
	}
	switch {
	case disabled != 0:
		return "", pleat.Errorf(pleat.CodeForbidden, "Your account on this service is disabled; ask its operator")
	case db.ToMicros(c.At) > checked:
	case suspended:
		return "", errLoginEnded
	default:
		return user, nil
	}
	t.Send("UPDATE account_identity SET email = $1, checked_at = $2, suspended = 0 WHERE account_id = $3", c.Email,
		db.ToMicros(c.At), user)
	if err := setGroups(t, user, c.Groups); err != nil {
		return "", err
	}
	if c.Operator == nil {
		return user, t.Wait()
	}
	by := Actor{Reach: Reach{User: user}, Address: c.Issuer}
	return user, s.changeOperator(t, by, user, *c.Operator, "", "by a group")
}

// errLoginEnded refuses claims that were made before the issuer ended what it confirms.
var errLoginEnded = pleat.Errorf(pleat.CodeUnauthorized, "Your sign-in has ended; sign in again")

// identity reads and locks what is known of a person.
func identity(t *db.Tx, c Claims) (user pleat.UserID, checked int64, suspended bool, err error) {
	var n int
	err = t.Row(`SELECT account_id, checked_at, suspended FROM account_identity
		WHERE issuer = $1 AND subject = $2 FOR UPDATE`, []any{c.Issuer, c.Subject}, &user, &checked, &n)
	return user, checked, n == 1, err
}

// insertIdentity creates the account of a person. It never takes one that exists: names and addresses identify nobody.
func insertIdentity(t *db.Tx, c Claims) (pleat.UserID, error) {
	name := c.Name
	if pleat.CheckName("name", name) != nil {
		name = "user"
	}
	inserted, err := insertUser(t, name)
	for n := 2; err == nil && !inserted; n++ {
		runes := []rune(name)
		next := fmt.Sprintf("%s-%d", string(runes[:min(len(runes), pleat.MaxName-20)]), n)
		if n > 20 { // so many have that name that counting takes too long
			next = fmt.Sprintf("%s-%s", string(runes[:min(len(runes), pleat.MaxName-40)]), db.NewID())
		}
		if inserted, err = insertUser(t, next); inserted {
			name = next
		}
	}
	if err != nil {
		return "", err
	}
	u, err := UserNamed(t, name)
	if err != nil {
		return "", err
	}
	t.Send(`
		INSERT INTO account_identity (issuer, subject, account_id, email, checked_at, lasting, suspended)
		VALUES ($1, $2, $3, $4, 0, 0, 0)`, c.Issuer, c.Subject, u.ID, c.Email)
	return u.ID, t.Wait()
}

// setGroups replaces the groups of a user.
func setGroups(t *db.Tx, user pleat.UserID, groups []string) error {
	known, err := db.ColumnOf[string](t.Query("SELECT name FROM account_group WHERE account_id = $1", user))
	if err != nil {
		return err
	}
	changed := false
	for _, name := range known {
		if !slices.Contains(groups, name) {
			changed = true
			t.Send("DELETE FROM account_group WHERE account_id = $1 AND name = $2", user, name)
		}
	}
	for _, name := range groups {
		if !slices.Contains(known, name) {
			changed = true
			t.Send("INSERT INTO account_group (account_id, name) VALUES ($1, $2)", user, name)
		}
	}
	if !changed {
		return t.Wait()
	}
	return NotifyKeys(t, user)
}

// ClaimsOf returns what an issuer has said of a user last; an empty Issuer: the user came by none.
func (s *Store) ClaimsOf(ctx context.Context, user pleat.UserID) (Claims, error) {
	var c Claims
	err := s.db.ReadRow(ctx, "SELECT issuer, subject, email, checked_at FROM account_identity WHERE account_id = $1",
		[]any{user}, &c.Issuer, &c.Subject, &c.Email, db.ScanTime(&c.At))
	if errors.Is(err, sql.ErrNoRows) {
		return Claims{}, nil
	}
	if err == nil {
		c.Groups, err = db.ColumnOf[string](s.db.Read(ctx,
			"SELECT name FROM account_group WHERE account_id = $1 ORDER BY name", user))
	}
	return c, db.Unavailable("read claims", err)
}

// PutLogin stores a login, in place of one of the same hash. A new session is recorded with the address it came from.
func (s *Store) PutLogin(ctx context.Context, l Login, address string) error {
	return s.db.Write(ctx, "store login", func(t *db.Tx) error {
		if err := lockIdentity(t, l.User); err != nil {
			return err
		}
		most := maxLoginSessions
		if l.Kind == LoginBearer {
			most = maxBearers
		}
		if _, err := t.Exec(`
			DELETE FROM login
			WHERE account_id = $1 AND kind = $2 AND hash NOT IN (
				SELECT hash FROM login WHERE account_id = $1 AND kind = $2 ORDER BY created_at DESC, hash LIMIT $3)`,
			l.User, l.Kind, most-1); err != nil {
			return err
		}
		if _, err := t.Exec(`
			INSERT INTO login
				(hash, kind, account_id, tokens, check_at, checking_until, refusals, expires_at, created_at)
			VALUES ($1, $2, $3, $4, $5, 0, 0, $6, $7)
			ON CONFLICT (hash) DO UPDATE SET tokens = excluded.tokens, check_at = excluded.check_at,
				checking_until = 0, refusals = 0, expires_at = excluded.expires_at`,
			l.Hash, l.Kind, l.User, l.Tokens, db.ToMicros(l.CheckAt), db.ToMicros(l.ExpiresAt), t.Now); err != nil {
			return err
		}
		switch l.Kind {
		case LoginGrant:
			_, err := t.Exec("UPDATE account_identity SET lasting = 1 WHERE account_id = $1", l.User)
			return err
		case LoginSession:
			return s.RecordAudit(t, Actor{Reach: Reach{User: l.User}, Address: address}, AuditSignedIn, "", "")
		}
		return nil
	})
}

// loginColumns are the columns that scanLogin reads, of the rows l of login and i of account_identity.
const loginColumns = "l.hash, l.kind, l.account_id, i.issuer, i.subject, l.tokens, l.check_at, l.refusals, l.expires_at"

// scanLogin reads a login from loginColumns.
func scanLogin(scan func(...any) error) (Login, error) {
	var l Login
	err := scan(&l.Hash, &l.Kind, &l.User, &l.Issuer, &l.Subject, &l.Tokens, db.ScanTime(&l.CheckAt), &l.Refusals,
		db.ScanTime(&l.ExpiresAt))
	return l, err
}

// Login reads a login that has not ended. ErrUnauthorized: there is none.
func (s *Store) Login(ctx context.Context, hash string) (Login, error) {
	rows, err := s.db.Read(ctx, "SELECT "+loginColumns+`
		FROM login l JOIN account_identity i ON i.account_id = l.account_id
		WHERE l.hash = $1 AND l.expires_at > $2`, hash, s.db.Micros())
	l, err := db.OneOf(rows, err, scanLogin)
	return l, db.Unavailable("read login", db.MapNoRows(err, pleat.ErrUnauthorized))
}

// GrantsToCheck lists the grants of an issuer that are to be checked now and by which keys count, those first that have
// waited longest. Nobody else checks them at the moment.
func (s *Store) GrantsToCheck(ctx context.Context, issuer string, limit int) ([]Login, error) {
	rows, err := s.db.Read(ctx, "SELECT "+loginColumns+`
		FROM login l JOIN account_identity i ON i.account_id = l.account_id
		WHERE l.kind = 'grant' AND i.issuer = $1 AND l.check_at <= $2 AND l.checking_until <= $2 AND EXISTS (
			SELECT 1 FROM api_key k
			WHERE k.account_id = l.account_id AND k.revoked_at = 0 AND (k.expires_at = 0 OR k.expires_at > $2)
				AND `+enabledUser+`)
		ORDER BY l.check_at
		LIMIT $3`, issuer, s.db.Micros(), limit)
	out, err := db.ListOf(rows, err, scanLogin)
	return out, db.Unavailable("list grants", err)
}

// LeaseLogin lets the caller alone ask the issuer about a login until a time, and reports whether it may: others do so
// at the moment, or have done so since the login was read. [Store.KeepLogin] and [Store.RefuseLogin] do nothing once
// the lease was lost, so that an answer about what a new sign-in has replaced changes nothing.
func (s *Store) LeaseLogin(ctx context.Context, l *Login, until time.Time) (bool, error) {
	l.lease = db.ToMicros(until)
	var n int64
	err := s.db.Write(ctx, "lease login", func(t *db.Tx) (err error) {
		n, err = t.Exec(`
			UPDATE login SET checking_until = $1
			WHERE hash = $2 AND check_at = $3 AND checking_until <= $4`,
			l.lease, l.Hash, db.ToMicros(l.CheckAt), t.Now)
		return err
	})
	return n == 1, err
}

// KeepLogin stores the tokens of a login and when to ask the issuer again, and ends the lease. Confirmed says what the
// issuer answered; nil: nothing that is clear, which Refusals of l counts.
func (s *Store) KeepLogin(ctx context.Context, l Login, confirmed *Claims) error {
	return s.db.Write(ctx, "keep login", func(t *db.Tx) error {
		if confirmed != nil {
			l.Refusals = 0
			if _, err := s.recordClaims(t, *confirmed); err != nil {
				return err
			}
		}
		_, err := t.Exec(`
			UPDATE login SET tokens = $1, check_at = $2, checking_until = 0, refusals = $3
			WHERE hash = $4 AND checking_until = $5`,
			l.Tokens, db.ToMicros(l.CheckAt), l.Refusals, l.Hash, l.lease)
		return err
	})
}

// EndLogin ends a login; streams that it opened get news. Ending one that does not exist is no error.
func (s *Store) EndLogin(ctx context.Context, hash string) error {
	return s.db.Write(ctx, "end login", func(t *db.Tx) error {
		var user pleat.UserID
		err := t.Row("DELETE FROM login WHERE hash = $1 RETURNING account_id", []any{hash}, &user)
		if err == nil {
			t.Notify(loginTopic(user))
		}
		return db.MapNoRows(err, nil)
	})
}

// EndGrant ends the grant of a user who needs it no more, with neither a session nor a valid key, and returns its
// tokens; empty: it is still needed, or there is none.
func (s *Store) EndGrant(ctx context.Context, user pleat.UserID) (tokens string, err error) {
	err = s.db.Write(ctx, "end grant", func(t *db.Tx) error {
		err := t.Row(`
			DELETE FROM login
			WHERE hash = $2
				AND NOT EXISTS (
					SELECT 1 FROM login s WHERE s.account_id = $3 AND s.kind = 'session' AND s.expires_at > $1)
				AND NOT EXISTS (SELECT 1 FROM api_key k WHERE `+validKey+` AND k.account_id = $3)
			RETURNING tokens`, []any{t.Now, GrantOf(user), user}, &tokens)
		if err != nil {
			return db.MapNoRows(err, nil)
		}
		_, err = t.Exec("UPDATE account_identity SET lasting = 0 WHERE account_id = $1", user)
		return err
	})
	return tokens, err
}

// RefuseLogin ends a login that the issuer has ended, and whose lease the caller has. With suspend it ends all that the
// issuer confirmed of the user, and records why: all logins end, the groups are gone, and the keys are refused until
// the next sign-in. Runs and deliveries go on.
func (s *Store) RefuseLogin(ctx context.Context, l Login, suspend bool, why string) error {
	return s.db.Write(ctx, "refuse login", func(t *db.Tx) error {
		if err := lockIdentity(t, l.User); err != nil {
			return err
		}
		n, err := t.Exec("DELETE FROM login WHERE hash = $1 AND checking_until = $2", l.Hash, l.lease)
		if err != nil || n == 0 {
			return err
		}
		if !suspend {
			t.Notify(loginTopic(l.User))
			return nil
		}
		t.Send("UPDATE account_identity SET suspended = 1, lasting = 0, checked_at = $1 WHERE account_id = $2", t.Now,
			l.User)
		t.Send("DELETE FROM login WHERE account_id = $1", l.User)
		t.Send("DELETE FROM account_group WHERE account_id = $1", l.User)
		if err := NotifyKeys(t, l.User); err != nil {
			return err
		}
		return s.RecordAudit(t, Actor{Reach: Reach{User: l.User}, Address: l.Issuer}, AuditUserSuspended, "", why)
	})
}

// lockIdentity locks what is known of a person, as recordClaims does, until the transaction ends.
func lockIdentity(t *db.Tx, user pleat.UserID) error {
	if !t.Postgres() {
		return nil
	}
	_, err := t.Exec("SELECT 1 FROM account_identity WHERE account_id = $1 FOR UPDATE", user)
	return err
}

// UseAttempt reports whether an attempt to sign in, by the hash of its state, has not come back before. It remembers it
// until a time, after which the attempt is too old anyway.
func (s *Store) UseAttempt(ctx context.Context, hash string, until time.Time) (bool, error) {
	var n int64
	err := s.db.Write(ctx, "use attempt", func(t *db.Tx) (err error) {
		n, err = t.Exec(`
			INSERT INTO login_attempt (hash, expires_at) VALUES ($1, $2)
			ON CONFLICT (hash) DO NOTHING`, hash, db.ToMicros(until))
		return err
	})
	return n == 1, err
}

// ResealLogins is the part of Reseal for the tokens of logins.
func ResealLogins(t *db.Tx,
	fn func(owner pleat.ProjectID, column, sealed string) (string, bool, error),
) (changed int, err error) {
	rows, err := t.Query("SELECT hash, account_id, tokens FROM login WHERE tokens <> ''")
	all, err := db.ListOf(rows, err, func(scan func(...any) error) (l Login, err error) {
		err = scan(&l.Hash, &l.User, &l.Tokens)
		return l, err
	})
	if err != nil {
		return 0, err
	}
	for _, l := range all {
		sealed, differs, err := fn(l.User.OwnProject(), LoginColumn, l.Tokens)
		if err != nil {
			return changed, err
		}
		if !differs {
			continue
		}
		changed++
		if _, err := t.Exec("UPDATE login SET tokens = $1 WHERE hash = $2", sealed, l.Hash); err != nil {
			return changed, err
		}
	}
	return changed, nil
}

// LoginColumn is the column for which the tokens of a login are sealed, with its user.
const LoginColumn = "login"

// GroupRole is the role that a group of the issuer has in a project.
type GroupRole struct {
	Name    string
	Role    pleat.Role
	AddedAt time.Time
}

// Groups lists the groups that have a role in the project of the reach, by name. [pleat.ErrNoProject]: the caller has
// none.
func (s *Store) Groups(ctx context.Context, by Reach) ([]GroupRole, error) {
	role, err := s.Role(ctx, by, by.Project)
	if err == nil && role < pleat.Viewer {
		err = pleat.ErrNoProject
	}
	if err != nil {
		return nil, err
	}
	rows, err := s.db.Read(ctx, "SELECT name, role, added_at FROM project_group WHERE project_id = $1 ORDER BY name",
		by.Project)
	out, err := db.ListOf(rows, err, func(scan func(...any) error) (g GroupRole, err error) {
		err = scan(&g.Name, &g.Role, db.ScanTime(&g.AddedAt))
		return g, err
	})
	return out, db.Unavailable("list groups", err)
}

// SetGroup gives a group a role in the project of by, or takes it away with [pleat.NoRole], and records it. The caller
// must be a manager of the project or an operator. The group need not be known: its members may still come.
// CodeConflict: the project is a user's own, or has maxGroupRoles. CodeNotFound: the group has no role to take away.
func (s *Store) SetGroup(ctx context.Context, by Actor, name string, role pleat.Role) (GroupRole, error) {
	var g GroupRole
	err := s.db.Write(ctx, "set group", func(t *db.Tx) error {
		p, err := LockSharedProject(t, by, pleat.Manager)
		if err != nil {
			return err
		}
		if role == pleat.NoRole {
			return s.removeGroup(t, by, p.ID, name)
		}
		var others int
		if err := t.Row("SELECT count(*) FROM project_group WHERE project_id = $1 AND name <> $2", []any{p.ID, name},
			&others); err != nil {
			return err
		}
		if others >= maxGroupRoles {
			return pleat.Errorf(pleat.CodeConflict, "%d groups have a role in the project, the maximum", others)
		}
		var at int64
		if err := t.Row(`
			INSERT INTO project_group (project_id, name, role, added_at) VALUES ($1, $2, $3, $4)
			ON CONFLICT (project_id, name) DO UPDATE SET role = excluded.role
			RETURNING added_at`, []any{p.ID, name, role, t.Now}, &at); err != nil {
			return err
		}
		g = GroupRole{Name: name, Role: role, AddedAt: db.FromMicros(at)}
		if err := notifyGroup(t, name); err != nil {
			return err
		}
		return s.RecordAudit(t, by, AuditGroupSet, name, role.String())
	})
	return g, err
}

// removeGroup takes the role of a group in a locked project away.
func (s *Store) removeGroup(t *db.Tx, by Actor, project pleat.ProjectID, name string) error {
	n, err := t.Exec("DELETE FROM project_group WHERE project_id = $1 AND name = $2", project, name)
	if err == nil && n == 0 {
		err = pleat.Errorf(pleat.CodeNotFound, "The group %q has no role in the project", pleat.Clip(name))
	}
	if err == nil {
		err = notifyGroup(t, name)
	}
	if err != nil {
		return err
	}
	return s.RecordAudit(t, by, AuditGroupRemoved, name, "")
}

// notifyGroup is NotifyKeys for the members of a group.
func notifyGroup(t *db.Tx, name string) error {
	members, err := db.ColumnOf[pleat.UserID](t.Query("SELECT account_id FROM account_group WHERE name = $1", name))
	for _, user := range members {
		if err == nil {
			err = NotifyKeys(t, user)
		}
	}
	return err
}
