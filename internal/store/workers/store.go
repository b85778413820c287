// Package workers owns the workers that execute tasks, their classes, the tokens of programs that start them, and the
// models that operators have paused.
//
// It must not claim or end a task but through package runs.
package workers

import (
	"pleat/internal/store/db"
	"pleat/internal/store/people"
	"pleat/internal/store/runs"
)

// Store has the verbs about workers. Make one with [New].
type Store struct {
	db     *db.DB
	people *people.Store
	runs   *runs.Store
}

// New returns a store on a database.
func New(d *db.DB, p *people.Store, r *runs.Store) *Store { return &Store{d, p, r} }
