// Package webhooks owns endpoints, events and their deliveries.
//
// It must not post a delivery, nor decide when one is tried again: see internal/deliver.
package webhooks

import (
	"cmp"

	"pleat/internal/store/db"
	"pleat/internal/store/people"
)

// Options are sizes of a Store that tests lower. The zero value serves.
type Options struct {
	Endpoints int // whose queues one claim looks at, which bounds how long its transaction is; 0: 256
	Tests     int // test deliveries of one user that are kept, or that wait; 0: 100
}

// Store has the verbs about endpoints and deliveries. Make one with New.
type Store struct {
	db        *db.DB
	people    *people.Store
	endpoints int // see Options
	tests     int
}

// New returns a store on a database.
func New(d *db.DB, p *people.Store, opt Options) *Store {
	return &Store{
		db:        d,
		people:    p,
		endpoints: cmp.Or(opt.Endpoints, 256),
		tests:     cmp.Or(opt.Tests, 100),
	}
}
