// Package batches owns batches: many jobs that end together, and the table of their scores.
//
// It must not end a run: a batch advances by what package runs has ended.
package batches

import (
	"cmp"

	"pleat/internal/store/db"
	"pleat/internal/store/people"
	"pleat/internal/store/runs"
)

// Options are sizes of a [Store] that tests lower. The zero value serves.
type Options struct {
	Open      int // batches that AdvanceBatches reads at once; 0: 100
	InputRows int // of a batch that BatchInputs reads at once; 0: 500
	// Driving is the largest number of rows that a condition on a table may select for its index to drive a query; 0:
	// 2000, negative: none. With more rows, a page is found sooner in the order of the table.
	Driving int
}

// Store has the verbs about batches. Make one with [New].
type Store struct {
	db        *db.DB
	people    *people.Store
	runs      *runs.Store
	open      int // see Options
	inputRows int
	driving   int
}

// New returns a store on a database.
func New(d *db.DB, p *people.Store, r *runs.Store, opt Options) *Store {
	return &Store{
		db:        d,
		people:    p,
		runs:      r,
		open:      cmp.Or(opt.Open, 100),
		inputRows: cmp.Or(opt.InputRows, 500),
		driving:   cmp.Or(opt.Driving, 2000),
	}
}
