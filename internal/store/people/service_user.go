package people

import (
	"context"

	"pleat"
	"pleat/internal/store/db"
)

// maxServiceUsers bounds the service users that a project has had.
const maxServiceUsers = 100

// CreateServiceUser creates a user for a program that works for the project of by, with a role in it and a key that
// reaches it alone, and records it. The caller must be a manager of the project or an operator. CodeConflict: there is
// a user of that name, the project is a user's own, or it has maxServiceUsers.
func (s *Store) CreateServiceUser(
	ctx context.Context, by Actor, name string, role pleat.Role, n NewKey,
) (u User, k Key, err error) {
	err = s.db.Write(ctx, "create service user", func(t *db.Tx) error {
		p, err := LockSharedProject(t, by, pleat.Manager)
		if err == nil && role == pleat.Manager {
			err = errServiceManager
		}
		if err != nil {
			return err
		}
		var created int
		if err := t.Row("SELECT count(*) FROM account WHERE project_id = $1 AND project_id <> ''", []any{p.ID},
			&created); err != nil {
			return err
		}
		if created >= maxServiceUsers {
			return pleat.Errorf(pleat.CodeConflict, "the project has had %d service users, the maximum", created)
		}
		inserted, err := t.Exec(`
			INSERT INTO account (id, name, created_at, kind, project_id) VALUES ($1, $2, $3, 'service', $4)
			ON CONFLICT (name) DO NOTHING`, db.NewID(), name, t.Now, p.ID)
		if err != nil {
			return err
		}
		if inserted == 0 {
			return errUserName(name)
		}
		if u, err = UserNamed(t, name); err != nil {
			return err
		}
		setMember(t, p.ID, u.ID, role)
		if err := s.RecordAudit(t, by, AuditServiceUserCreated, name, role.String()); err != nil {
			return err
		}
		k, err = s.createServiceKey(t, by, &u, n)
		return err
	})
	return u, k, err
}

// CreateServiceKey creates a further key of a service user of the project of by, within the bounds of
// [Store.CreateKey]. CodeNotFound: the project has no such service user.
func (s *Store) CreateServiceKey(ctx context.Context, by Actor, user pleat.UserID, n NewKey) (Key, error) {
	var k Key
	err := s.db.Write(ctx, "create key of service user", func(t *db.Tx) error {
		u, err := lockServiceUser(t, by, user)
		if err == nil {
			k, err = s.createServiceKey(t, by, &u, n)
		}
		return err
	})
	return k, err
}

// createServiceKey creates a key of a service user for a manager of its project or an operator. Like every key that a
// key makes, it has at most the scopes and the lifetime of that key.
func (s *Store) createServiceKey(t *db.Tx, by Actor, u *User, n NewKey) (Key, error) {
	n.Project = u.Project
	k, err := newKey(t, u.ID, n)
	if err != nil {
		return k, err
	}
	if err := boundKey(t, by, &k); err != nil {
		return k, err
	}
	if err := boundKeys(t, u.ID); err != nil {
		return k, err
	}
	return k, s.insertKey(t, by, &k, n.Hash)
}

// RevokeServiceKey revokes a key of a service user of the project of by. CodeNotFound: there is no such key.
func (s *Store) RevokeServiceKey(ctx context.Context, by Actor, user pleat.UserID, key pleat.KeyID) error {
	return s.db.Write(ctx, "revoke key of service user", func(t *db.Tx) error {
		if _, err := lockServiceUser(t, by, user); err != nil {
			return err
		}
		return s.revokeKey(t, by, user, key)
	})
}

// ServiceKeys lists the keys of a service user of the project of a reach, newest first. CodeNotFound: the project has
// no such service user, or the caller does not manage it.
func (s *Store) ServiceKeys(ctx context.Context, by Reach, user pleat.UserID) ([]Key, error) {
	var n int
	err := s.db.ReadRow(ctx, "SELECT count(*) FROM account WHERE id = $1 AND project_id = $2 AND "+
		RoleSQL("project_id", "$3", "$2")+" >= 3", []any{user, by.Project, by.User}, &n)
	if err == nil && n == 0 {
		err = errNoServiceUser
	}
	if err != nil {
		return nil, db.Unavailable("list keys", err)
	}
	return s.Keys(ctx, Reach{User: user, Project: by.Project})
}

// errServiceManager refuses to make a service user a manager: nobody could answer for who gets a role.
var errServiceManager = pleat.InvalidField("role", " is manager; a service user may be viewer or member")

// errNoServiceUser refuses a call on a service user that a project does not have.
var errNoServiceUser = pleat.Errorf(pleat.CodeNotFound, "Service user not found")

// lockServiceUser locks the project of by and reads a service user of it, for a manager or an operator.
func lockServiceUser(t *db.Tx, by Actor, user pleat.UserID) (User, error) {
	p, _, err := LockProjectOf(t, by, pleat.Manager)
	if err != nil {
		return User{}, err
	}
	rows, err := t.Query("SELECT "+UserColumns+
		" FROM account a WHERE a.id = $1 AND a.project_id = $2 AND a.disabled_at = 0", user, p.ID)
	return oneUser(rows, err, errNoServiceUser)
}
