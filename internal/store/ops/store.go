// Package ops owns what concerns all tables: what operators see, the deletion of jobs, projects and people, moves
// between projects, and what all processes of a service agree on.
package ops

import (
	"pleat/internal/store/batches"
	"pleat/internal/store/db"
	"pleat/internal/store/people"
	"pleat/internal/store/runs"
	"pleat/internal/store/tasks"
)

// Stores are those whose verbs and functions package ops combines.
type Stores struct {
	People  *people.Store
	Tasks   *tasks.Store
	Runs    *runs.Store
	Batches *batches.Store
}

// Store has the verbs of operators, and those that delete and move. Make one with [New].
type Store struct {
	db      *db.DB
	people  *people.Store
	tasks   *tasks.Store
	runs    *runs.Store
	batches *batches.Store
}

// New returns a store on a database.
func New(d *db.DB, s Stores) *Store {
	return &Store{db: d, people: s.People, tasks: s.Tasks, runs: s.Runs, batches: s.Batches}
}
