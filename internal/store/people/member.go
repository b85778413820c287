package people

import (
	"context"
	"time"

	"pleat"
	"pleat/internal/store/db"
)

// Membership is a user's role in a project.
type Membership struct {
	Project Project
	Role    pleat.Role
}

// ProjectMember is a user with a role in a project.
type ProjectMember struct {
	User    pleat.UserID
	Name    string
	Service bool // it is a program's user, which the project owns
	Role    pleat.Role
	AddedAt time.Time
}

// MaxMembers bounds the users who have a role in a project.
const MaxMembers = 1000

// setMember gives a user a role in a project, in place of an earlier one.
func setMember(t *db.Tx, project pleat.ProjectID, user pleat.UserID, role pleat.Role) {
	t.Send(`
		INSERT INTO project_member (project_id, account_id, role, added_at) VALUES ($1, $2, $3, $4)
		ON CONFLICT (project_id, account_id) DO UPDATE SET role = excluded.role`,
		project, user, role, t.Now)
}

// Members lists the users who have a role in the project of a reach, by name; none for callers without a role in it.
func (s *Store) Members(ctx context.Context, by Reach) ([]ProjectMember, error) {
	rows, err := s.db.Read(ctx, `
		SELECT a.id, a.name, a.kind, m.role, m.added_at
		FROM project_member m
		JOIN account a ON a.id = m.account_id
		WHERE m.project_id = $1 AND `+RoleSQL("m.project_id", "$2", "$1")+` >= 1
		ORDER BY a.name`,
		by.Project, by.User)
	out, err := db.ListOf(rows, err, func(scan func(...any) error) (m ProjectMember, err error) {
		var kind string
		err = scan(&m.User, &m.Name, &kind, &m.Role, db.ScanTime(&m.AddedAt))
		m.Service = kind == "service"
		return m, err
	})
	return out, db.Unavailable("list members", err)
}

// SetMember gives a user a role in the project of by, or takes it away with [pleat.NoRole], and records it. The caller
// must be a manager of the project or an operator; anybody may leave. CodeNotFound: there is no such user, or the user
// has no role to take away; the service users of other projects count as none. CodeConflict: the project would have no
// manager or too many members, or it is a user's own. CodeInvalid: a service user would be a manager.
func (s *Store) SetMember(ctx context.Context, by Actor, user string, role pleat.Role) (ProjectMember, error) {
	var m ProjectMember
	err := s.db.Write(ctx, "set member", func(t *db.Tx) error {
		needs := pleat.Manager
		if role == pleat.NoRole && user == string(by.User) {
			needs = pleat.Viewer
		}
		p, err := LockSharedProject(t, by, needs)
		if err != nil {
			return err
		}
		u, err := findUser(t, user)
		if err != nil {
			return err
		}
		if u.Service && u.Project != p.ID {
			return errNoUser(user) // the managers of a project do not learn what others have
		}
		c, err := CountMembers(t, p.ID, u.ID)
		if err != nil {
			return err
		}
		switch {
		case c.role == pleat.NoRole && role == pleat.NoRole:
			return pleat.Errorf(pleat.CodeNotFound, "%s has no role in the project", u.Name)
		case u.Service && role == pleat.Manager:
			return errServiceManager
		case c.OnlyManager && role != pleat.Manager:
			return pleat.Errorf(pleat.CodeConflict, "%s is the only manager of the project; make another one first",
				u.Name)
		case c.role == pleat.NoRole && c.members >= MaxMembers:
			return pleat.Errorf(pleat.CodeConflict, "the project has %d members, the maximum", c.members)
		}
		m = ProjectMember{User: u.ID, Name: u.Name, Service: u.Service, Role: role, AddedAt: db.FromMicros(t.Now)}
		if c.role == role {
			return nil
		}
		return s.changeMember(t, by, p.ID, &m)
	})
	return m, err
}

// changeMember stores a changed role and records it. A service user that has none any more is disabled.
func (s *Store) changeMember(t *db.Tx, by Actor, project pleat.ProjectID, m *ProjectMember) error {
	if m.Role != pleat.NoRole {
		setMember(t, project, m.User, m.Role)
	} else {
		t.Send("DELETE FROM project_member WHERE project_id = $1 AND account_id = $2", project, m.User)
		if m.Service {
			t.Send("UPDATE account SET disabled_at = $1 WHERE id = $2 AND disabled_at = 0", t.Now, m.User)
		}
	}
	if err := NotifyKeys(t, m.User); err != nil {
		return err
	}
	action, detail := AuditMemberSet, m.Role.String()
	if m.Role == pleat.NoRole {
		action, detail = AuditMemberRemoved, ""
	}
	return s.RecordAudit(t, by, action, m.Name, detail)
}

// MemberCount is the members of a project, and what one user is among them.
type MemberCount struct {
	members     int
	role        pleat.Role // of the user, other than by groups
	OnlyManager bool       // the user is the only manager who can act
}

// CountMembers counts the members of a locked project. Service users do not count as managers: nobody could sign in as
// one. Nor do groups, whose members somebody else decides.
func CountMembers(t *db.Tx, project pleat.ProjectID, user pleat.UserID) (c MemberCount, err error) {
	acts := "m.role = $3 AND a.kind = 'person' AND a.disabled_at = 0"
	var managers, manages int
	err = t.Row(`
		SELECT COALESCE(max(CASE WHEN a.id = $2 THEN m.role END), 0), count(*),
			count(CASE WHEN `+acts+` THEN 1 END), count(CASE WHEN a.id = $2 AND `+acts+` THEN 1 END)
		FROM project_member m
		JOIN account a ON a.id = m.account_id
		WHERE m.project_id = $1`,
		[]any{project, user, pleat.Manager}, &c.role, &c.members, &managers, &manages)
	c.OnlyManager = manages == 1 && managers == 1
	return c, err
}

// scanMembership reads a project from projectColumns, and the role in it from one more.
func scanMembership(scan func(...any) error) (m Membership, err error) {
	m.Project, err = scanProject(func(dst ...any) error { return scan(append(dst, &m.Role)...) })
	return m, err
}

// Memberships lists the projects in which a user has a role: the user's own first, the others by name.
func (s *Store) Memberships(ctx context.Context, by Reach) ([]Membership, error) {
	rows, err := s.db.Read(ctx, `
		SELECT `+projectColumns+`, `+MemberRole("p.id", "$1")+`
		FROM project p
		WHERE p.deleted_at = 0 AND ($2 = '' OR p.id = $2) AND p.id IN (
			SELECT project_id FROM project_member WHERE account_id = $1
			UNION SELECT g.project_id FROM account_group u JOIN project_group g ON g.name = u.name
			WHERE u.account_id = $1)
		ORDER BY p.own DESC, p.name`,
		by.User, by.Project)
	out, err := db.ListOf(rows, err, scanMembership)
	return out, db.Unavailable("list projects", err)
}
