package people

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"pleat"
	"pleat/internal/store/db"
)

// Reach is who asks, and in which project: a verb returns and changes only what is in reach. A list, and everything
// that is made, is of one project, so that their Reach names one.
type Reach struct {
	User    pleat.UserID    // empty: nobody, who has no role anywhere
	Project pleat.ProjectID // the only one in reach; empty: every one in which the user has a role
}

// ofProject stands for a project itself in place of a user. No user has such an id.
const ofProject pleat.UserID = "project"

// InProject is the reach of a project itself, for what its runs read.
func InProject(p pleat.ProjectID) Reach { return Reach{User: ofProject, Project: p} }

// Own is the reach of a user in the user's own project.
func Own(user pleat.UserID) Reach { return Reach{User: user, Project: user.OwnProject()} }

// MemberRole is the role, as a number, that an account has in a project, both in SQL; 0: none. It is the larger of what
// the user has and what the user's groups have. Its rows have long names, so that those of the caller are not hidden.
func MemberRole(project, account string) string {
	return fmt.Sprintf(`COALESCE((SELECT max(of_role.role) FROM (
		SELECT of_member.role FROM project_member of_member
		WHERE of_member.project_id = %[1]s AND of_member.account_id = %[2]s
		UNION ALL
		SELECT of_group.role FROM account_group of_user
		JOIN project_group of_group ON of_group.name = of_user.name AND of_group.project_id = %[1]s
		WHERE of_user.account_id = %[2]s) of_role), 0)`, project, account)
}

// RoleSQL is the role, as a number, that a [Reach] gives in a project, in SQL. User and project are the parameters of
// the Reach.
func RoleSQL(target, user, project string) string {
	return fmt.Sprintf(`CASE
		WHEN %[2]s = '%[6]s' THEN CASE WHEN %[1]s = %[3]s THEN %[4]d ELSE 0 END
		WHEN %[3]s NOT IN ('', %[1]s) THEN 0
		ELSE %[5]s END`, target, user, project, pleat.Manager, MemberRole(target, user),
		ofProject)
}

// roleQuery reads the role that the Reach ($2, $3) gives in the project $1, if that exists.
var roleQuery = "SELECT " + RoleSQL("p.id", "$2", "$3") + " FROM project p WHERE p.id = $1 AND p.deleted_at = 0"

// Role returns the role that a reach gives in a project; [pleat.NoRole] if the project was deleted.
func (s *Store) Role(ctx context.Context, by Reach, project pleat.ProjectID) (pleat.Role, error) {
	var role pleat.Role
	err := s.db.ReadRow(ctx, roleQuery, []any{project, by.User, by.Project}, &role)
	if errors.Is(err, sql.ErrNoRows) {
		return pleat.NoRole, nil
	}
	return role, db.Unavailable("read role", err)
}

// NeedRole refuses a verb whose caller lacks a role in the project of the reach. [pleat.ErrNoProject]: the caller may
// not read the project, or it was deleted.
func NeedRole(t *db.Tx, by Reach, needs pleat.Role) error {
	var role pleat.Role
	if err := t.Row(roleQuery, []any{by.Project, by.User, by.Project}, &role); err != nil {
		return db.MapNoRows(err, pleat.ErrNoProject)
	}
	return role.Allow(needs, pleat.ErrNoProject)
}

// Access is what a credential allows in a project.
type Access struct {
	valid bool       // the credential is valid and its user is the one given
	role  pleat.Role // of the user in the project
}

// AskAccess reads whether a credential is valid, and which role it gives its user in a project. The zero credential is
// not checked: the service itself calls.
func AskAccess(t *db.Tx, by Credential, creator pleat.UserID, owner pleat.ProjectID, a *Access) {
	if by == (Credential{}) {
		*a = Access{true, pleat.Member}
		return
	}
	t.Ask(`
		SELECT CASE WHEN k.project_id NOT IN ('', $4) THEN 0 ELSE `+MemberRole("$4", "k.account_id")+` END
		FROM `+by.Keys("$2")+` AND k.account_id = $3`,
		[]any{t.Now, by.Hash, creator, owner},
		func(scan func(...any) error) error {
			a.valid = true
			return scan(&a.role)
		})
}

// Err refuses who may not create work. ErrUnauthorized: the credential is not valid.
func (a *Access) Err() error {
	if !a.valid {
		return pleat.ErrUnauthorized
	}
	return a.role.Allow(pleat.Member, pleat.ErrNoProject)
}
