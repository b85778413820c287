package people

import (
	"context"
	"strings"
	"time"

	"pleat"
	"pleat/internal/store/db"
)

// User is who has keys and a role in projects: a person, or a program that works for a project.
type User struct {
	ID         pleat.UserID
	Name       string
	Service    bool            // it is a program's, and the project owns it
	Project    pleat.ProjectID // of a service user; empty: a person
	Operator   bool            // may see and change what concerns the whole service
	DisabledAt time.Time       // zero: the user may act
	CreatedAt  time.Time
}

// UserColumns are the columns that [ScanUser] reads, of the row a of account.
const UserColumns = "a.id, a.name, a.kind, a.project_id, a.operator, a.disabled_at, a.created_at"

// ScanUser reads a user from [UserColumns].
func ScanUser(scan func(...any) error) (User, error) {
	var u User
	var kind string
	err := scan(&u.ID, &u.Name, &kind, &u.Project, db.ScanBool(&u.Operator), db.ScanTime(&u.DisabledAt),
		db.ScanTime(&u.CreatedAt))
	u.Service = kind == "service"
	return u, err
}

// EnsureUser returns the user of that name, and creates one with a project of its own if there is none. CodeInvalid:
// the name is empty, too long or not printable.
func (s *Store) EnsureUser(ctx context.Context, name string) (User, error) {
	if err := pleat.CheckName("user", name); err != nil {
		return User{}, err
	}
	var u User
	err := s.db.Write(ctx, "ensure user", func(t *db.Tx) (err error) {
		if _, err := insertUser(t, name); err != nil {
			return err
		}
		u, err = UserNamed(t, name)
		return err
	})
	return u, err
}

// insertUser creates a user with a project of its own, unless there is one of that name, and reports whether it did.
func insertUser(t *db.Tx, name string) (bool, error) {
	id := db.NewID()
	n, err := t.Exec("INSERT INTO account (id, name, created_at) VALUES ($1, $2, $3) ON CONFLICT (name) DO NOTHING",
		id, name, t.Now)
	if err != nil || n == 0 {
		return false, err
	}
	t.Send(`
		INSERT INTO project (id, name, own, quota, keep_results, created_at, deleted_at)
		VALUES ($1, $2, 1, -1, -1, $3, 0)`, id, name, t.Now)
	setMember(t, pleat.ProjectID(id), pleat.UserID(id), pleat.Manager)
	return true, t.Wait()
}

// UserNamed reads the user of a name. CodeNotFound: there is none.
func UserNamed(t *db.Tx, name string) (User, error) {
	rows, err := t.Query("SELECT "+UserColumns+" FROM account a WHERE a.name = $1", name)
	return oneUser(rows, err, errNoUser(name))
}

// errNoUser refuses the name of a user that does not exist.
func errNoUser(name string) *pleat.Error {
	return pleat.Errorf(pleat.CodeNotFound, "there is no user %q", pleat.Clip(name))
}

// errUserName refuses a name that another user has.
func errUserName(name string) error {
	return pleat.Errorf(pleat.CodeConflict, "name: there is a user %q; choose another name", pleat.Clip(name)).
		At("name")
}

// oneUser reads the user from the rows of a query for UserColumns, and returns notFound if there is no row.
func oneUser(rows db.Rows, err error, notFound *pleat.Error) (User, error) {
	u, err := db.OneOf(rows, err, ScanUser)
	return u, db.MapNoRows(err, notFound)
}

// Users lists all users by name. It is for operators.
func (s *Store) Users(ctx context.Context) ([]User, error) {
	rows, err := s.db.Read(ctx, "SELECT "+UserColumns+" FROM account a ORDER BY a.name")
	out, err := db.ListOf(rows, err, ScanUser)
	return out, db.Unavailable("list users", err)
}

// User reads a user. CodeNotFound: there is none of that id.
func (s *Store) User(ctx context.Context, id pleat.UserID) (User, error) {
	rows, err := s.db.Read(ctx, "SELECT "+UserColumns+" FROM account a WHERE a.id = $1", id)
	u, err := oneUser(rows, err, pleat.Errorf(pleat.CodeNotFound, "User not found"))
	return u, db.Unavailable("read user", err)
}

// SetOperator makes a user an operator, or ends that, and records it. It is for operators. CodeNotFound: there is no
// such user. CodeConflict: it is a service user.
func (s *Store) SetOperator(ctx context.Context, by Actor, name string, operator bool) error {
	return s.db.Write(ctx, "set operator", func(t *db.Tx) error {
		if err := NeedOperator(t, by, "decide who is one"); err != nil {
			return err
		}
		u, err := UserNamed(t, name)
		if err != nil || u.Operator == operator {
			return err
		}
		if u.Service {
			return pleat.Errorf(pleat.CodeConflict, "%s is a service user, which cannot be an operator", u.Name)
		}
		return s.changeOperator(t, by.About(u.ID), u.ID, operator, u.Name, "")
	})
}

// changeOperator makes a user an operator, or ends that, and records it. It does nothing if it is so already.
func (s *Store) changeOperator(
	t *db.Tx, by Actor, user pleat.UserID, operator bool, subject, detail string,
) error {
	n, err := t.Exec("UPDATE account SET operator = $1 WHERE id = $2 AND operator <> $1", db.BoolToInt(operator), user)
	if err != nil || n == 0 {
		return err
	}
	action := AuditOperatorGranted
	if !operator {
		action = AuditOperatorRevoked
	}
	return s.RecordAudit(t, by, action, subject, detail)
}

// SetDisabled ends what a user, by id or name, may do, or allows it again, and records it. The keys and sessions of a
// disabled user are refused from the next request on; runs and deliveries go on. Nothing changes if it is so already.
// It is for operators. CodeNotFound: there is no such user. CodeConflict: operators would disable themselves, or enable
// a user who was deleted.
func (s *Store) SetDisabled(ctx context.Context, by Actor, user string, disabled bool) (User, error) {
	var u User
	err := s.db.Write(ctx, "set disabled", func(t *db.Tx) (err error) {
		if err := NeedOperator(t, by, "disable or enable a user"); err != nil {
			return err
		}
		if u, err = findUser(t, user); err != nil || u.DisabledAt.IsZero() != disabled {
			return err
		}
		if u.ID == by.User {
			return pleat.Errorf(pleat.CodeConflict, "you cannot disable yourself; another operator can")
		}
		if isErased(u.ID, u.Name) {
			return pleat.Errorf(pleat.CodeConflict, "%s was deleted and cannot be enabled", u.Name)
		}
		at, action := int64(0), AuditUserEnabled
		if disabled {
			at, action = t.Now, AuditUserDisabled
		}
		if _, err := t.Exec("UPDATE account SET disabled_at = $1 WHERE id = $2", at, u.ID); err != nil {
			return err
		}
		if err := NotifyKeys(t, u.ID); err != nil {
			return err
		}
		u.DisabledAt = db.FromMicros(at)
		return s.RecordAudit(t, by.About(u.ID), action, u.Name, "")
	})
	return u, err
}

// NotifyKeys lets the streams that the valid keys and the logins of a user have opened check them again.
func NotifyKeys(t *db.Tx, user pleat.UserID) error {
	t.Notify(loginTopic(user))
	keys, err := db.ColumnOf[pleat.KeyID](t.Query(
		"SELECT id FROM api_key WHERE account_id = $1 AND revoked_at = 0", user))
	for _, key := range keys {
		t.Notify(KeyTopic(key))
	}
	return err
}

// SetQuota sets the daily quota of jobs of a user's own project; a negative one restores the service's default. It
// applies from the next call. CodeNotFound: there is no such user.
func (s *Store) SetQuota(ctx context.Context, name string, quota int) error {
	return s.db.Write(ctx, "set quota", func(t *db.Tx) error {
		n, err := t.Exec("UPDATE project SET quota = $1 WHERE id = (SELECT id FROM account WHERE name = $2)",
			max(quota, -1), name)
		if err == nil && n == 0 {
			err = errNoUser(name)
		}
		return err
	})
}

// findUser returns the user that a text names by id or by name. CodeNotFound: there is none.
func findUser(t *db.Tx, text string) (User, error) {
	column := "a.name"
	if pleat.IsUUID(text) {
		column, text = "a.id", strings.ToLower(text)
	}
	rows, err := t.Query("SELECT "+UserColumns+" FROM account a WHERE "+column+" = $1", text)
	return oneUser(rows, err, errNoUser(text))
}

// ErasedName is the name of the account of a user who was deleted.
func ErasedName(user pleat.UserID) string { return "deleted-" + string(user[max(0, len(user)-12):]) }

// isErased reports whether a user was deleted. Nobody else has the name: it has a part of an id that the service chose.
func isErased(user pleat.UserID, name string) bool { return name == ErasedName(user) }
