// Package runs owns jobs, workflows, designs and their runs: how they are created, claimed, renewed and ended, their
// files, and the library.
//
// A run ends in one transaction, with its event, the deliveries of the event, the mails and the accounting. Package
// runs must not execute a task, nor read or write a blob.
package runs

import (
	"cmp"
	"sync"

	"pleat/internal/store/db"
	"pleat/internal/store/people"
)

// Options are sizes of a [Store] that tests lower. The zero value serves.
type Options struct {
	HeldTasks int // running tasks that one statement selects; 0: 1000
}

// Store has the verbs about jobs, workflows and runs. Make one with [New].
type Store struct {
	db        *db.DB
	people    *people.Store
	heldTasks int // see Options
	metrics   *metrics

	measuredMu sync.Mutex
	measured   map[string]int // tasks that ended here, by queue
}

// New returns a store on a database.
func New(d *db.DB, p *people.Store, opt Options) *Store {
	return &Store{db: d, people: p, heldTasks: cmp.Or(opt.HeldTasks, 1000), metrics: newMetrics()}
}
