// Package operators has the routes of those who operate the service: its users, its workers and models, and its audit
// log.
//
// It must not do what an operator does without a server; the commands of package cli/admin do.
package operators

import (
	"time"

	"pleat/internal/blob"
	"pleat/internal/fair"
	"pleat/internal/server/route"
	"pleat/internal/store/db"
	"pleat/internal/store/ops"
	"pleat/internal/store/people"
	"pleat/internal/store/workers"
	"pleat/internal/submit"
)

// Handlers are the handlers of the routes of operators. All fields but Disk are required.
type Handlers struct {
	DB      *db.DB
	People  *people.Store
	Workers *workers.Store
	Ops     *ops.Store
	Submit  *submit.Resolver
	Disk    *blob.Disk    // nil: no limit
	Exports *fair.Streams // files that are being sent
	Began   time.Time     // when the server was started

	// snapshots holds what operators see: the open pages of several of them ask for it every few seconds.
	snapshots route.Cached[snapshot]
}
