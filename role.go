package pleat

import "slices"

// Role is what a user may do in a project. A larger one includes the smaller ones.
type Role int

// The roles. Their numbers are stored.
const (
	NoRole  Role = 0
	Viewer  Role = 1 // reads
	Member  Role = 2 // creates, changes, shares and deletes work, too
	Manager Role = 3 // decides, too, who has which role, and about service users, webhooks and the limits
)

// roleNames are the roles from Viewer on, as the interface names them.
var roleNames = []string{"viewer", "member", "manager"}

// String returns the name of a role; "none" of NoRole.
func (r Role) String() string {
	if r < Viewer || r > Manager {
		return "none"
	}
	return roleNames[r-Viewer]
}

// ParseRole reads the name of a role. CodeInvalid, at field: there is no such role.
func ParseRole(field, name string) (Role, error) {
	at := slices.Index(roleNames, name)
	if at < 0 {
		return NoRole, InvalidField(field, " is %q; it must be viewer, member or manager", Clip(name))
	}
	return Viewer + Role(at), nil
}

// Role is the least role that a use of a kind needs. A key of that scope may otherwise do the same as any other in a
// project: its members create, change and delete each other's work.
func (x Scope) Role() Role {
	if x == ScopeRead {
		return Viewer
	}
	return Member
}

// OwnProject is the project of a user alone, to which everything belongs that the user creates without naming another.
// It has the id of the user.
func (u UserID) OwnProject() ProjectID { return ProjectID(u) }

// creator is the user who created what a project owns. Where none was stored, the project is the user's own.
func creator(stored UserID, owner ProjectID) UserID {
	if stored == "" {
		return UserID(owner)
	}
	return stored
}

// ErrRole refuses what the caller's role does not allow in a project that the caller may read.
func ErrRole(has, needs Role) *Error {
	return Errorf(CodeForbidden, "Your role in this project is %s; this needs the role %s", has, needs)
}

// Allow refuses a call that needs a role: with notFound where the caller may not even read what it concerns.
func (r Role) Allow(needs Role, notFound error) error {
	switch {
	case r < Viewer:
		return notFound
	case r < needs:
		return ErrRole(r, needs)
	}
	return nil
}

// ErrNoProject refuses a project that does not exist, or in which the caller has no role.
var ErrNoProject = Errorf(CodeNotFound, "Project not found")
