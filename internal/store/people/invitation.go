package people

import (
	"context"
	"time"

	"pleat"
	"pleat/internal/store/db"
)

// Invitation gives one user a role in a project. Its token, which is in a link, is not stored. It gives at most what
// its author can give, both when it is made and when it is accepted.
type Invitation struct {
	ID        pleat.InvitationID
	Role      pleat.Role
	Label     string // for whom it is, as its author wrote
	CreatedAt time.Time
	ExpiresAt time.Time
	// KeyScopes and KeyExpiresAt are those of the key with which it was made, and of that which a new user gets by it.
	KeyScopes    pleat.Scopes
	KeyExpiresAt time.Time // zero: never
}

// invitationFor is how long an invitation lasts that names no end.
const invitationFor = 7 * 24 * time.Hour

// maxInvitations bounds the invitations of a project that can be used.
const maxInvitations = 100

// openInvitation is the condition that an invitation i can be used at the moment $1: its author, unless somebody made
// it on the database, may still invite, and the key with which it was made is valid.
var openInvitation = `i.used_at = 0 AND i.expires_at > $1 AND (i.created_by = '' OR EXISTS (
	SELECT 1 FROM account author
	WHERE author.id = i.created_by AND author.disabled_at = 0
		AND NOT EXISTS (SELECT 1 FROM account_identity v WHERE v.account_id = author.id AND v.suspended = 1)
		AND (author.operator = 1 OR ` + MemberRole("i.project_id", "author.id") + ` >= 3)))
	AND (i.key_id = '' OR EXISTS (SELECT 1 FROM api_key k WHERE k.id = i.key_id AND ` + validKey + `))`

// errNoInvitation refuses a token by which nobody can be invited any more.
var errNoInvitation = pleat.Errorf(pleat.CodeNotFound, "The invitation does not exist, was used, or has expired")

// Invite stores an invitation to the project of by under the hash of its token, and records it. Without an end it lasts
// for a week; it ends with by.Key at the latest. The caller must be a manager of the project or an operator.
// CodeInvalid: its end is past, or later than that of by.Key. CodeConflict: the project is a user's own, or has too
// many open invitations. ErrUnauthorized: by.Key is not valid.
func (s *Store) Invite(ctx context.Context, by Actor, i Invitation, hash string) (Invitation, error) {
	err := s.db.Write(ctx, "invite", func(t *db.Tx) error {
		p, err := LockSharedProject(t, by, pleat.Manager)
		if err != nil {
			return err
		}
		if err := boundInvitation(t, by, &i); err != nil {
			return err
		}
		t.Send("DELETE FROM invitation AS i WHERE i.project_id = $2 AND i.used_at < $3 AND NOT ("+openInvitation+")",
			t.Now, p.ID, t.Now-db.MicrosPerDay) // those by which somebody has joined today are counted
		var n int
		if err := t.Row("SELECT count(*) FROM invitation i WHERE "+openInvitation+" AND i.project_id = $2",
			[]any{t.Now, p.ID}, &n); err != nil {
			return err
		}
		if n >= maxInvitations {
			return pleat.Errorf(pleat.CodeConflict, "the project has %d open invitations, the maximum; "+
				"revoke one first", n)
		}
		i.ID, i.CreatedAt = pleat.InvitationID(db.NewID()), db.FromMicros(t.Now)
		t.Send(`
			INSERT INTO invitation
				(id, project_id, hash, role, label, created_by, key_id, created_at, expires_at, used_at, used_by)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, 0, '')`,
			i.ID, p.ID, hash, i.Role, i.Label, by.User, by.Key, t.Now, db.ToMicros(i.ExpiresAt))
		return s.RecordAudit(t, by, AuditInvited, i.Label, i.Role.String())
	})
	return i, err
}

// boundInvitation checks the end of a new invitation against now and the key that makes it, and sets it if there is
// none. It sets what the invitation gives, which is what that key has.
func boundInvitation(t *db.Tx, by Actor, i *Invitation) error {
	m, err := makerOf(t, by)
	if err != nil {
		return err
	}
	i.KeyScopes = m.scopes
	ends := db.FromMicros(m.expires)
	if m.expires != 0 {
		i.KeyExpiresAt = ends
	}
	switch {
	case i.ExpiresAt.IsZero():
		i.ExpiresAt = db.FromMicros(t.Now).Add(invitationFor)
		if m.expires != 0 && ends.Before(i.ExpiresAt) {
			i.ExpiresAt = ends
		}
	case db.ToMicros(i.ExpiresAt) <= t.Now:
		return pleat.InvalidField("expiresAt", " is in the past; it must be in the future")
	case m.expires != 0 && i.ExpiresAt.After(ends):
		return errAfterMaker(m.expires)
	}
	return nil
}

// Invitations lists the open invitations of the project of a reach, newest first; none unless the caller manages it.
func (s *Store) Invitations(ctx context.Context, by Reach) ([]Invitation, error) {
	rows, err := s.db.Read(ctx, `
		SELECT i.id, i.role, i.label, i.created_at, i.expires_at,
			COALESCE(made.scopes, $4), COALESCE(made.expires_at, 0)
		FROM invitation i
		LEFT JOIN api_key made ON made.id = i.key_id
		WHERE `+openInvitation+` AND i.project_id = $2 AND `+RoleSQL("i.project_id", "$3", "$2")+` >= 3
		ORDER BY i.id DESC`,
		s.db.Micros(), by.Project, by.User, pleat.AllScopes.String())
	out, err := db.ListOf(rows, err, func(scan func(...any) error) (i Invitation, err error) {
		var scopes string
		err = scan(&i.ID, &i.Role, &i.Label, db.ScanTime(&i.CreatedAt), db.ScanTime(&i.ExpiresAt), &scopes,
			db.ScanTime(&i.KeyExpiresAt))
		i.KeyScopes = ScopesOf(scopes)
		return i, err
	})
	return out, db.Unavailable("list invitations", err)
}

// RevokeInvitation ends an open invitation to the project of by, and records it. CodeNotFound: there is none.
func (s *Store) RevokeInvitation(ctx context.Context, by Actor, id pleat.InvitationID) error {
	return s.db.Write(ctx, "revoke invitation", func(t *db.Tx) error {
		p, _, err := LockProjectOf(t, by, pleat.Manager)
		if err != nil {
			return err
		}
		var label string
		if err := t.Row("DELETE FROM invitation AS i WHERE "+openInvitation+
			" AND i.id = $2 AND i.project_id = $3 RETURNING label",
			[]any{t.Now, id, p.ID}, &label); err != nil {
			return db.MapNoRows(err, pleat.Errorf(pleat.CodeNotFound, "Invitation not found"))
		}
		return s.RecordAudit(t, by, AuditInvitationRevoked, label, "")
	})
}

// Invited reads to what a token invites. CodeNotFound: to nothing.
func (s *Store) Invited(ctx context.Context, hash string) (Membership, time.Time, error) {
	var m Membership
	var at int64
	err := s.db.ReadRow(ctx, `
		SELECT p.id, p.name, i.role, i.expires_at
		FROM invitation i
		JOIN project p ON p.id = i.project_id
		WHERE `+openInvitation+` AND i.hash = $2 AND p.deleted_at = 0`,
		[]any{s.db.Micros(), hash}, &m.Project.ID, &m.Project.Name, &m.Role, &at)
	return m, db.FromMicros(at), db.Unavailable("read invitation", db.MapNoRows(err, errNoInvitation))
}

// AcceptInvitation gives the user of by the role of an invitation, unless the user has a larger one, and records it.
// The invitation cannot be used again. CodeNotFound: it does not exist, was used, or has expired.
func (s *Store) AcceptInvitation(ctx context.Context, by Actor, hash string) (Membership, error) {
	var m Membership
	err := s.db.Write(ctx, "accept invitation", func(t *db.Tx) (err error) {
		m, _, err = s.accept(t, by, hash)
		return err
	})
	return m, err
}

// JoinByInvitation creates a user of a name with a key that reaches the project of an invitation alone, has the scopes
// of the key with which that was made, and ends with it. It is [Store.AcceptInvitation] for that user. CodeConflict:
// there is a user of that name. CodeLimited: maxJoined have joined the project within a day.
func (s *Store) JoinByInvitation(
	ctx context.Context, name, address, hash string, n NewKey,
) (m Membership, user User, err error) {
	// Before the name: only who is invited may learn which names are taken.
	if _, _, err := s.Invited(ctx, hash); err != nil {
		return m, user, err
	}
	err = s.db.Write(ctx, "join by invitation", func(t *db.Tx) error {
		inserted, err := insertUser(t, name)
		if err != nil {
			return err
		}
		if !inserted {
			return errUserName(name)
		}
		if user, err = UserNamed(t, name); err != nil {
			return err
		}
		by := Actor{Reach: Reach{User: user.ID}, Address: address}
		var from maker
		if m, from, err = s.accept(t, by, hash); err != nil {
			return err
		}
		if err := boundJoined(t, m.Project.ID); err != nil {
			return err
		}
		// It reaches the project alone: who can invite must not multiply the quotas that users have for themselves.
		n.Project, n.Scopes = m.Project.ID, from.scopes
		if from.expires != 0 {
			n.ExpiresAt = db.FromMicros(from.expires)
		}
		_, err = s.createKey(t, by, n)
		return err
	})
	return m, user, err
}

// maxJoined bounds the invitations to a project that are used within a day by who had no user.
const maxJoined = 100

// boundJoined refuses another user of a locked project if maxJoined invitations were used within a day.
func boundJoined(t *db.Tx, project pleat.ProjectID) error {
	var n int
	err := t.Row("SELECT count(*) FROM invitation WHERE project_id = $1 AND used_at > $2",
		[]any{project, t.Now - db.MicrosPerDay}, &n)
	if err == nil && n > maxJoined {
		err = pleat.Errorf(pleat.CodeLimited, "%d users have joined the project within 24 hours, the maximum",
			maxJoined)
	}
	return err
}

// accept uses an invitation for the user of by. It returns what the key was with which the invitation was made.
func (s *Store) accept(t *db.Tx, by Actor, hash string) (m Membership, from maker, err error) {
	var label string
	// The project is locked first, as by all who change its members.
	err = t.Row(`
		SELECT p.id, p.name FROM project p
		WHERE p.deleted_at = 0
			AND p.id = (SELECT i.project_id FROM invitation i WHERE `+openInvitation+` AND i.hash = $2)
		FOR UPDATE`, []any{t.Now, hash}, &m.Project.ID, &m.Project.Name)
	if err != nil {
		return m, from, db.MapNoRows(err, errNoInvitation)
	}
	var author Actor
	if err := t.Row("UPDATE invitation AS i SET used_at = $1, used_by = $3 WHERE "+openInvitation+
		" AND i.hash = $2 RETURNING role, label, created_by, key_id", []any{t.Now, hash, by.User},
		&m.Role, &label, &author.User, &author.Key); err != nil {
		return m, from, db.MapNoRows(err, errNoInvitation)
	}
	if from, err = makerOf(t, author); err != nil {
		return m, from, err
	}
	var service int
	if err := t.Row("SELECT count(*) FROM account WHERE id = $1 AND kind = 'service'", []any{by.User},
		&service); err != nil {
		return m, from, err
	}
	if service > 0 {
		return m, from, pleat.Errorf(pleat.CodeConflict, "a service user cannot accept an invitation")
	}
	c, err := CountMembers(t, m.Project.ID, by.User)
	if err != nil {
		return m, from, err
	}
	if c.role == pleat.NoRole && c.members >= MaxMembers {
		return m, from, pleat.Errorf(pleat.CodeConflict, "the project has %d members, the maximum", c.members)
	}
	if m.Role = max(m.Role, c.role); c.role != m.Role {
		setMember(t, m.Project.ID, by.User, m.Role)
	}
	return m, from, s.RecordAudit(t, by.In(m.Project.ID), AuditInvitationAccepted, label, m.Role.String())
}
