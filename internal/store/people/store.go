// Package people owns who may do what: accounts, keys, sessions and logins, projects with their members, invitations,
// links to one job, the audit log, quotas, budgets and limits.
//
// Verbs of the packages above charge, check and record in their transactions by its functions whose first parameter is
// a transaction. It reads what runs and tasks take, for budgets and accounts; it must not create, change or end one.
package people

import (
	"cmp"

	"pleat/internal/store/db"
)

// Options are what a [Store] needs besides its database. The zero value serves.
type Options struct {
	// Limits are what one project may have. Workers need them too, since follow-ups count.
	Limits Limits
	// AuditEntries are kept of each action that a user has, so that a flood of one displaces no other; 0: 500.
	AuditEntries int
	// ProjectAuditEntries is AuditEntries in a project of several users; 0: 10,000.
	ProjectAuditEntries int
}

// Store has the verbs about people and projects. Make one with [New].
type Store struct {
	db      *db.DB
	limits  Limits
	entries int // of the audit log, see Options
	shared  int
}

// New returns a store on a database.
func New(d *db.DB, opt Options) *Store {
	return &Store{
		db:      d,
		limits:  opt.Limits,
		entries: cmp.Or(opt.AuditEntries, 500),
		shared:  cmp.Or(opt.ProjectAuditEntries, 10_000),
	}
}
