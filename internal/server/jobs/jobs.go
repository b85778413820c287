// Package jobs has the routes of fold jobs: creation, results, files, contacts, exchange with other programs, events,
// and the models that fold.
//
// It must not decide what a run becomes: package submit does.
package jobs

import (
	"pleat/internal/garbage"
	"pleat/internal/server/progress"
	"pleat/internal/server/route"
	"pleat/internal/store/ops"
	"pleat/internal/store/runs"
	"pleat/internal/store/webhooks"
	"pleat/internal/store/workers"
	"pleat/internal/submit"
)

// Handlers are the handlers of the routes of fold jobs. All fields but Cache are required.
type Handlers struct {
	Runs         *runs.Store
	Webhooks     *webhooks.Store
	Workers      *workers.Store
	Ops          *ops.Store
	Submit       *submit.Resolver
	Progress     *progress.Progress
	Files        *route.Files
	Computations *route.Computations
	Cleaner      *garbage.Cleaner
	Cache        *Cache // nil: results are not cached
}
