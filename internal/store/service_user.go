package store

import (
	"context"

	"pleat"
)

// maxServiceUsers bounds the service users that a project has had.
const maxServiceUsers = 100

// CreateServiceUser creates a user for a program that works for the project of by, with a role in it and a key that
// reaches it alone, and records it. The caller must be a manager of the project or an operator. CodeConflict: there is
// a user of that name, the project is a user's own, or it has maxServiceUsers.
func (s *Store) CreateServiceUser(
	ctx context.Context, by Actor, name string, role pleat.Role, n NewKey,
) (u User, k Key, err error) {
	err = s.write(ctx, "create service user", func(t *tx) error {
		p, _, err := t.lockProjectOf(by, pleat.Manager)
		if err == nil && p.Own {
			err = errOwnProject
		}
		if err != nil {
			return err
		}
		var had int
		if err := t.row("SELECT count(*) FROM account WHERE project_id = $1 AND project_id <> ''", []any{p.ID},
			&had); err != nil {
			return err
		}
		if had >= maxServiceUsers {
			return pleat.Errorf(pleat.CodeConflict, "the project has had %d service users, the maximum", had)
		}
		made, err := t.exec(`
			INSERT INTO account (id, name, created_at, kind, project_id) VALUES ($1, $2, $3, 'service', $4)
			ON CONFLICT (name) DO NOTHING`, newID(), name, t.now, p.ID)
		if err != nil {
			return err
		}
		if made == 0 {
			return pleat.Errorf(pleat.CodeConflict, "name: there is a user %q; choose another name", pleat.Clip(name)).
				At("name")
		}
		if u, err = t.userNamed(name); err != nil {
			return err
		}
		t.setMember(p.ID, u.ID, role)
		if err := t.audit(by, AuditServiceUserCreated, name, role.String()); err != nil {
			return err
		}
		n.Project = p.ID
		k, err = t.createKey(Actor{Reach: Reach{User: u.ID}, Address: by.Address}, n)
		return err
	})
	return u, k, err
}

// CreateServiceKey creates a further key of a service user of the project of by. CodeNotFound: the project has no such
// service user.
func (s *Store) CreateServiceKey(ctx context.Context, by Actor, user pleat.UserID, n NewKey) (Key, error) {
	var k Key
	err := s.write(ctx, "create key of service user", func(t *tx) error {
		if err := t.lockServiceUser(by, user); err != nil {
			return err
		}
		var valid int
		if err := t.row("SELECT count(*) FROM api_key k WHERE "+validKey+" AND k.account_id = $2", []any{t.now, user},
			&valid); err != nil {
			return err
		}
		if valid >= maxKeys {
			return errTooManyKeys(valid)
		}
		n.Project = by.Project
		var err error
		k, err = t.createKey(Actor{Reach: Reach{User: user}, Address: by.Address}, n)
		return err
	})
	return k, err
}

// RevokeServiceKey revokes a key of a service user of the project of by. CodeNotFound: there is no such key.
func (s *Store) RevokeServiceKey(ctx context.Context, by Actor, user pleat.UserID, key pleat.KeyID) error {
	return s.write(ctx, "revoke key of service user", func(t *tx) error {
		if err := t.lockServiceUser(by, user); err != nil {
			return err
		}
		return t.revokeKey(Actor{Reach: Reach{User: user}, Key: by.Key, Address: by.Address}, key)
	})
}

// ServiceKeys lists the keys of a service user of the project of a reach, newest first. CodeNotFound: the project has
// no such service user, or the caller does not manage it.
func (s *Store) ServiceKeys(ctx context.Context, by Reach, user pleat.UserID) ([]Key, error) {
	var n int
	err := s.readRow(ctx, "SELECT count(*) FROM account WHERE id = $1 AND project_id = $2 AND "+
		roleSQL("project_id", "$3", "$2")+" >= 3", []any{user, by.Project, by.User}, &n)
	if err == nil && n == 0 {
		err = errNoServiceUser
	}
	if err != nil {
		return nil, unavailable("list keys", err)
	}
	return s.Keys(ctx, user)
}

// errNoServiceUser refuses a call on a service user that a project does not have.
var errNoServiceUser = pleat.Errorf(pleat.CodeNotFound, "Service user not found")

// lockServiceUser locks the project of by and checks that it has a service user, for a manager or an operator.
func (t *tx) lockServiceUser(by Actor, user pleat.UserID) error {
	p, _, err := t.lockProjectOf(by, pleat.Manager)
	if err != nil {
		return err
	}
	var n int
	if err := t.row("SELECT count(*) FROM account WHERE id = $1 AND project_id = $2 AND disabled_at = 0",
		[]any{user, p.ID}, &n); err != nil {
		return err
	}
	if n == 0 {
		return errNoServiceUser
	}
	return nil
}
