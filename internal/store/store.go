// Package store opens the database of a service and makes the packages of its verbs, of which each owns its tables:
// package people who may do what, tasks the queues, mails and webhooks what users are told, runs the work, batches many
// jobs at once, ops what concerns all of them. Package db is their kernel.
//
// Each verb is one transaction. It leaves the database consistent, or changes nothing; there is no Begin to call.
package store

import (
	"context"

	"pleat/internal/store/batches"
	"pleat/internal/store/db"
	"pleat/internal/store/mails"
	"pleat/internal/store/ops"
	"pleat/internal/store/people"
	"pleat/internal/store/runs"
	"pleat/internal/store/tasks"
	"pleat/internal/store/webhooks"
	"pleat/internal/store/workers"
)

// Options tune a [Store]. The zero value serves.
type Options struct {
	DB       db.Options
	People   people.Options
	Webhooks webhooks.Options
	Runs     runs.Options
	Batches  batches.Options
}

// Store is a database with the verbs of all packages. Make one with [Open] and end it by closing the DB.
type Store struct {
	DB       *db.DB
	People   *people.Store
	Tasks    *tasks.Store
	Mails    *mails.Store
	Webhooks *webhooks.Store
	Runs     *runs.Store
	Workers  *workers.Store
	Batches  *batches.Store
	Ops      *ops.Store
}

// Open opens the database at url, as [db.Open] does.
func Open(ctx context.Context, url string, opt Options) (*Store, error) {
	d, err := db.Open(ctx, url, opt.DB)
	if err != nil {
		return nil, err
	}
	s := &Store{DB: d, People: people.New(d, opt.People), Tasks: tasks.New(d)}
	s.Mails = mails.New(d, s.People)
	s.Webhooks = webhooks.New(d, s.People, opt.Webhooks)
	s.Runs = runs.New(d, s.People, opt.Runs)
	s.Workers = workers.New(d, s.People, s.Runs)
	s.Batches = batches.New(d, s.People, s.Runs, opt.Batches)
	s.Ops = ops.New(s.DB, ops.Stores{People: s.People, Tasks: s.Tasks, Runs: s.Runs, Batches: s.Batches})
	return s, nil
}
