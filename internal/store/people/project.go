package people

import (
	"context"
	"fmt"
	"time"

	"pleat"
	"pleat/internal/store/db"
)

// Project owns jobs, batches, workflows, a library and a webhook endpoint, and has a quota.
type Project struct {
	ID   pleat.ProjectID
	Name string
	Own  bool // of one user alone, whose id it has
	// Quota is how many jobs may be created in it per UTC day; negative: the service's default.
	Quota int
	// KeepResults is how long a job or workflow is kept after the end of its latest run; negative: as long as the
	// service's setting says; 0: until somebody deletes it.
	KeepResults time.Duration
	Budget      Budget
	Commercial  bool // its runs may use only models whose weights allow commercial use
	CreatedAt   time.Time
}

// ProjectChange is a change of a project. Fields that are nil stay.
type ProjectChange struct {
	Name        *string
	Quota       *int
	KeepResults *time.Duration
	Budget      *BudgetChange
	Commercial  *bool
}

// projectColumns are the columns that scanProject reads, of the row p of project.
const projectColumns = "p.id, p.name, p.own, p.quota, p.keep_results, p.budget_gpu, p.budget_cpu, " +
	"p.commercial, p.created_at"

// scanProject reads a project from projectColumns.
func scanProject(scan func(...any) error) (p Project, err error) {
	err = scan(&p.ID, &p.Name, db.ScanBool(&p.Own), &p.Quota, db.ScanDuration(&p.KeepResults), &p.Budget.GPU,
		&p.Budget.CPU, db.ScanBool(&p.Commercial), db.ScanTime(&p.CreatedAt))
	return p, err
}

// maxProjects bounds the projects that are not users' own.
const maxProjects = 10_000

// CreateProject makes a project whose manager is a user, and records it. Only operators may. CodeConflict: there is a
// project of that name. CodeNotFound: there is no such user. CodeForbidden: the caller is no operator.
func (s *Store) CreateProject(ctx context.Context, by Actor, name, manager string) (Project, error) {
	var p Project
	err := s.db.Write(ctx, "create project", func(t *db.Tx) error {
		if err := NeedOperator(t, by, "make a project"); err != nil {
			return err
		}
		u, err := findUser(t, manager)
		if err != nil {
			return err
		}
		if u.Service || !u.DisabledAt.IsZero() {
			return pleat.Errorf(pleat.CodeConflict, "%s cannot be the manager: it is a service user or disabled",
				u.Name)
		}
		var n int
		if err := t.Row("SELECT count(*) FROM project WHERE own = 0 AND deleted_at = 0", nil, &n); err != nil {
			return err
		}
		if n >= maxProjects {
			return pleat.Errorf(pleat.CodeConflict, "there are %d projects, the maximum", n)
		}
		p = Project{
			ID: pleat.ProjectID(db.NewID()), Name: name, Quota: -1, KeepResults: -time.Microsecond,
			Budget: NoBudget, CreatedAt: db.FromMicros(t.Now),
		}
		inserted, err := t.Exec(`
			INSERT INTO project (id, name, own, quota, keep_results, created_at, deleted_at)
			VALUES ($1, $2, 0, -1, -1, $3, 0)
			ON CONFLICT (name) WHERE own = 0 AND deleted_at = 0 DO NOTHING`,
			p.ID, name, t.Now)
		if err != nil {
			return err
		}
		if inserted == 0 {
			return errProjectName(name)
		}
		setMember(t, p.ID, u.ID, pleat.Manager)
		return s.RecordAudit(t, by.In(p.ID), AuditProjectCreated, name, "manager "+u.Name)
	})
	return p, err
}

// errProjectName refuses a name that another project has.
func errProjectName(name string) error {
	return pleat.Errorf(pleat.CodeConflict, "name: there is a project %q; choose another name", pleat.Clip(name)).
		At("name")
}

// NeedOperator refuses an actor who is no operator. A caller that works on the database itself is one.
func NeedOperator(t *db.Tx, by Actor, what string) error {
	operator, err := isOperator(t, by)
	if err == nil && !operator {
		err = pleat.Errorf(pleat.CodeForbidden, "Only an operator of this service may %s", what)
	}
	return err
}

// isOperator reports whether an actor is an operator. The keys of projects do not make one.
func isOperator(t *db.Tx, by Actor) (bool, error) {
	if by.Database {
		return true, nil
	}
	var n int
	err := t.Row(`
		SELECT count(*) FROM account a
		WHERE a.id = $1 AND a.operator = 1 AND a.disabled_at = 0 AND ($2 = '' OR EXISTS (
			SELECT 1 FROM api_key k WHERE k.id = $2 AND k.account_id = a.id AND k.project_id = ''))`,
		[]any{by.User, by.Key}, &n)
	return n == 1, err
}

// ErrOwnProject refuses what only a project for several users can have.
var ErrOwnProject = pleat.Errorf(pleat.CodeConflict, "the project is a user's own, whose name and only member are "+
	"that user; an operator can make a project for several")

// LockProjectOf locks the project of by until the transaction ends, reads it, and reports whether the actor is an
// operator. Verbs that change who has which role begin with it, so that of two managers who take each other's role only
// one succeeds. It refuses who is no operator and has not the role that it needs.
func LockProjectOf(t *db.Tx, by Actor, needs pleat.Role) (p Project, operator bool, err error) {
	rows, err := t.Query("SELECT "+projectColumns+" FROM project p WHERE p.id = $1 AND p.deleted_at = 0 FOR UPDATE",
		by.Project)
	if p, err = db.OneOf(rows, err, scanProject); err != nil {
		return p, false, db.MapNoRows(err, pleat.ErrNoProject)
	}
	if operator, err = isOperator(t, by); err != nil || operator {
		return p, operator, err
	}
	return p, false, NeedRole(t, by.Reach, needs)
}

// LockSharedProject is [LockProjectOf] for what only a project of several users can have. [ErrOwnProject]: it is a
// user's own.
func LockSharedProject(t *db.Tx, by Actor, needs pleat.Role) (Project, error) {
	p, _, err := LockProjectOf(t, by, needs)
	if err == nil && p.Own {
		err = ErrOwnProject
	}
	return p, err
}

// Project reads the project of a reach with the caller's role. An operator may read every project.
// [pleat.ErrNoProject]: there is none, or the caller has no role in it.
func (s *Store) Project(ctx context.Context, by Reach, operator bool) (Membership, error) {
	rows, err := s.db.Read(ctx, "SELECT "+projectColumns+", "+MemberRole("p.id", "$2")+
		" FROM project p WHERE p.id = $1 AND p.deleted_at = 0", by.Project, by.User)
	m, err := db.OneOf(rows, err, scanMembership)
	if err == nil && m.Role < pleat.Viewer && !operator {
		err = pleat.ErrNoProject
	}
	return m, db.Unavailable("read project", db.MapNoRows(err, pleat.ErrNoProject))
}

// Projects lists the projects that are not users' own, by name. It is for operators.
func (s *Store) Projects(ctx context.Context) ([]Project, error) {
	rows, err := s.db.Read(ctx,
		"SELECT "+projectColumns+" FROM project p WHERE p.own = 0 AND p.deleted_at = 0 ORDER BY p.name")
	out, err := db.ListOf(rows, err, scanProject)
	return out, db.Unavailable("list projects", err)
}

// IsCommercial reports whether a project is marked commercial. [pleat.ErrNoProject]: there is none.
func (s *Store) IsCommercial(ctx context.Context, id pleat.ProjectID) (commercial bool, err error) {
	err = s.db.ReadRow(ctx, "SELECT commercial FROM project WHERE id = $1 AND deleted_at = 0", []any{id},
		db.ScanBool(&commercial))
	return commercial, db.Unavailable("read project", db.MapNoRows(err, pleat.ErrNoProject))
}

// ChangeProject changes the project of by, and records it. Its managers may change the name, how long results are kept
// within the setting of the service, and whether the project is commercial; operators may change everything.
// CodeConflict: there is a project of that name, or a user's own would get a name. CodeInvalid: a manager would keep
// results longer than the service does.
func (s *Store) ChangeProject(ctx context.Context, by Actor, change ProjectChange) error {
	return s.db.Write(ctx, "change project", func(t *db.Tx) error {
		p, operator, err := LockProjectOf(t, by, pleat.Manager)
		if err != nil {
			return err
		}
		if change.Name != nil && *change.Name != p.Name {
			if err := s.renameProject(t, by, &p, *change.Name); err != nil {
				return err
			}
		}
		if (change.Quota != nil || change.Budget != nil) && !operator {
			return pleat.Errorf(pleat.CodeForbidden,
				"Only an operator of this service may change the quota or the budget of a project")
		}
		if change.Quota != nil {
			t.Send("UPDATE project SET quota = $1 WHERE id = $2", max(*change.Quota, -1), p.ID)
			if err := s.RecordAudit(
				t, by, AuditProjectChanged, p.Name, fmt.Sprintf("quota %d", *change.Quota),
			); err != nil {
				return err
			}
		}
		if change.Budget != nil {
			if err := s.changeBudget(t, by, &p, *change.Budget); err != nil {
				return err
			}
		}
		if change.Commercial != nil {
			if err := s.markCommercial(t, by, &p, *change.Commercial); err != nil {
				return err
			}
		}
		if change.KeepResults == nil {
			return t.Wait()
		}
		return s.keepResults(t, by, &p, *change.KeepResults, operator)
	})
}

// renameProject gives a locked project a name that no other has.
func (s *Store) renameProject(t *db.Tx, by Actor, p *Project, name string) error {
	if p.Own {
		return ErrOwnProject
	}
	if t.Postgres() { // two projects could get the same name at the same time
		t.Send("SELECT pg_advisory_xact_lock(hashtext('pleat project names'))")
	}
	var taken int
	if err := t.Row("SELECT count(*) FROM project WHERE name = $1 AND own = 0 AND deleted_at = 0", []any{name},
		&taken); err != nil {
		return err
	}
	if taken > 0 {
		return errProjectName(name)
	}
	t.Send("UPDATE project SET name = $1 WHERE id = $2", name, p.ID)
	return s.RecordAudit(t, by, AuditProjectChanged, p.Name, "name "+name)
}

// markCommercial sets whether a locked project is commercial.
func (s *Store) markCommercial(t *db.Tx, by Actor, p *Project, commercial bool) error {
	t.Send("UPDATE project SET commercial = $1 WHERE id = $2", db.BoolToInt(commercial), p.ID)
	detail := "commercial"
	if !commercial {
		detail = "not commercial"
	}
	return s.RecordAudit(t, by, AuditProjectChanged, p.Name, detail)
}

// keepResults sets how long a locked project keeps results.
func (s *Store) keepResults(t *db.Tx, by Actor, p *Project, keep time.Duration, operator bool) error {
	if most := s.limits.KeepResults; most > 0 && !operator && (keep == 0 || keep > most) {
		return pleat.InvalidField("keepResultsDays", " must be at most %d, as long as this service keeps results",
			int(most/(24*time.Hour)))
	}
	t.Send("UPDATE project SET keep_results = $1 WHERE id = $2", keep.Microseconds(), p.ID)
	detail := "results as long as the service keeps them"
	if keep >= 0 {
		detail = "results for " + keep.String()
	}
	return s.RecordAudit(t, by, AuditProjectChanged, p.Name, detail)
}
