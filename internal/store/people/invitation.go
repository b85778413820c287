package people

import (
	"context"
	"time"

	"pleat"
	"pleat/internal/store/db"
)

// Invitation gives one user a role in a project. Its token, which is in a link, is not stored.
type Invitation struct {
	ID        pleat.InvitationID
	Role      pleat.Role
	Label     string // for whom it is, as its maker wrote
	CreatedAt time.Time
	ExpiresAt time.Time
}

// maxInvitations bounds the invitations of a project that can be used.
const maxInvitations = 100

// openInvitation is the condition that an invitation can be used at the moment $1.
const openInvitation = "used_at = 0 AND expires_at > $1"

// errNoInvitation refuses a token by which nobody can be invited any more.
var errNoInvitation = pleat.Errorf(pleat.CodeNotFound, "The invitation does not exist, was used, or has expired")

// Invite stores an invitation to the project of by under the hash of its token, and records it. The caller must be a
// manager of the project or an operator. CodeConflict: the project is a user's own, or has too many open invitations.
func (s *Store) Invite(ctx context.Context, by Actor, i Invitation, hash string) (Invitation, error) {
	err := s.db.Write(ctx, "invite", func(t *db.Tx) error {
		p, err := LockSharedProject(t, by, pleat.Manager)
		if err != nil {
			return err
		}
		if db.ToMicros(i.ExpiresAt) <= t.Now {
			return pleat.InvalidField("expiresAt", " is in the past; it must be in the future")
		}
		t.Send("DELETE FROM invitation WHERE project_id = $2 AND used_at < $3 AND NOT ("+openInvitation+")",
			t.Now, p.ID, t.Now-db.MicrosPerDay) // those by which somebody has joined today are counted
		var n int
		if err := t.Row("SELECT count(*) FROM invitation WHERE "+openInvitation+" AND project_id = $2",
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
				(id, project_id, hash, role, label, created_by, created_at, expires_at, used_at, used_by)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 0, '')`,
			i.ID, p.ID, hash, i.Role, i.Label, by.User, t.Now, db.ToMicros(i.ExpiresAt))
		return s.RecordAudit(t, by, AuditInvited, i.Label, i.Role.String())
	})
	return i, err
}

// Invitations lists the open invitations of the project of a reach, newest first; none unless the caller manages it.
func (s *Store) Invitations(ctx context.Context, by Reach) ([]Invitation, error) {
	rows, err := s.db.Read(ctx, `
		SELECT id, role, label, created_at, expires_at FROM invitation
		WHERE `+openInvitation+` AND project_id = $2 AND `+RoleSQL("project_id", "$3", "$2")+` >= 3
		ORDER BY id DESC`,
		s.db.Micros(), by.Project, by.User)
	out, err := db.ListOf(rows, err, func(scan func(...any) error) (i Invitation, err error) {
		err = scan(&i.ID, &i.Role, &i.Label, db.ScanTime(&i.CreatedAt), db.ScanTime(&i.ExpiresAt))
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
		if err := t.Row("DELETE FROM invitation WHERE "+openInvitation+
			" AND id = $2 AND project_id = $3 RETURNING label",
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
		m, err = s.accept(t, by, hash)
		return err
	})
	return m, err
}

// JoinByInvitation creates a user of a name with a key that reaches the project of an invitation alone, and is
// [Store.AcceptInvitation] for that user. CodeConflict: there is a user of that name. CodeLimited: maxJoined have
// joined the project within a day.
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
		if m, err = s.accept(t, by, hash); err != nil {
			return err
		}
		if err := boundJoined(t, m.Project.ID); err != nil {
			return err
		}
		// It reaches the project alone: who can invite must not multiply the quotas that users have for themselves.
		n.Project = m.Project.ID
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

// accept uses an invitation for the user of by.
func (s *Store) accept(t *db.Tx, by Actor, hash string) (Membership, error) {
	var m Membership
	var label string
	// The project is locked first, as by all who change its members.
	err := t.Row(`
		SELECT p.id, p.name FROM project p
		WHERE p.deleted_at = 0 AND p.id = (SELECT project_id FROM invitation WHERE `+openInvitation+` AND hash = $2)
		FOR UPDATE`, []any{t.Now, hash}, &m.Project.ID, &m.Project.Name)
	if err != nil {
		return m, db.MapNoRows(err, errNoInvitation)
	}
	if err := t.Row("UPDATE invitation SET used_at = $1, used_by = $3 WHERE "+openInvitation+
		" AND hash = $2 RETURNING role, label", []any{t.Now, hash, by.User}, &m.Role, &label); err != nil {
		return m, db.MapNoRows(err, errNoInvitation)
	}
	var service int
	if err := t.Row("SELECT count(*) FROM account WHERE id = $1 AND kind = 'service'", []any{by.User},
		&service); err != nil {
		return m, err
	}
	if service > 0 {
		return m, pleat.Errorf(pleat.CodeConflict, "a service user cannot accept an invitation")
	}
	c, err := CountMembers(t, m.Project.ID, by.User)
	if err != nil {
		return m, err
	}
	if c.role == pleat.NoRole && c.members >= MaxMembers {
		return m, pleat.Errorf(pleat.CodeConflict, "the project has %d members, the maximum", c.members)
	}
	if m.Role = max(m.Role, c.role); c.role != m.Role {
		setMember(t, m.Project.ID, by.User, m.Role)
	}
	return m, s.RecordAudit(t, by.In(m.Project.ID), AuditInvitationAccepted, label, m.Role.String())
}
