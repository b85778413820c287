// Package tasks owns the queues: tasks, the claims that lease them to workers, and the ends of attempts, whatever a
// task is for.
//
// The packages above insert tasks and end them in their transactions. Package tasks must not change or end what a task
// is for: a run, a delivery or a mail.
package tasks

import "pleat/internal/store/db"

// Store has the verbs about queues. Make one with [New].
type Store struct{ db *db.DB }

// New returns a store on a database.
func New(d *db.DB) *Store { return &Store{d} }
