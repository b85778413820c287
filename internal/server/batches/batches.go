// Package batches has the routes of batches of fold jobs.
//
// It must not decide what a row becomes: package submit does.
package batches

import (
	"pleat"
	"pleat/internal/fair"
	"pleat/internal/garbage"
	"pleat/internal/server/route"
	"pleat/internal/store/batches"
	"pleat/internal/store/db"
	"pleat/internal/store/people"
	"pleat/internal/store/runs"
	"pleat/internal/submit"
)

// Handlers are the handlers of the routes of batches. Create them with New.
type Handlers struct {
	Config
	turns  *fair.Turns[pleat.UserID] // of batches that are checked and stored
	bodies fair.Bytes
	counts rowCounts
}

// Config are the dependencies of Handlers. All are required.
type Config struct {
	DB           *db.DB
	People       *people.Store
	Runs         *runs.Store
	Batches      *batches.Store
	Submit       *submit.Resolver
	Files        *route.Files
	Computations *route.Computations
	Cleaner      *garbage.Cleaner
	Exports      *fair.Streams // files that are being sent
}

// New returns the handlers.
func New(c Config) *Handlers {
	return &Handlers{
		Config: c,
		turns:  fair.NewTurns[pleat.UserID](1, 1),
		bodies: fair.Bytes{Share: maxBatchBody, Most: 2 * maxBatchBody, First: maxBatchBody},
	}
}

// rowQuota chooses the quota of rows.
func rowQuota(u people.Usages) people.Usage { return u.BatchRows }
