// Package submit owns the way from a request for work to checked work that the store accepts, and the decisions that
// requests and workers share: which model, seed, queue and memory a run gets, which run and sequence of a fold a
// workflow works on, which files of the library fit, and who is notified when a run ends.
//
// It reads the store and the artifact store. It writes no rows, and no blobs but those of a new design; its callers
// store what it returns. It must not know HTTP or execute anything.
package submit

import (
	"time"

	"pleat/internal/archive"
	"pleat/internal/blob"
	"pleat/internal/garbage"
	"pleat/internal/seal"
	"pleat/internal/store/batches"
	"pleat/internal/store/webhooks"
	"pleat/internal/store/workers"
	"pleat/internal/webhook"
)

// Resolver makes decisions for new runs. People, Runs and Workers must be set before the first use. It is safe for many
// goroutines and must not be copied.
type Resolver struct {
	References
	Workers  *workers.Store  // whose models there are
	Batches  *batches.Store  // nil: no job may be run again
	Webhooks *webhooks.Store // nil: no method that decides who is notified may be called

	// Cleaner removes the files of a design that could not be created; nil: Workflow must not be called.
	Cleaner *garbage.Cleaner

	Blobs blob.Store     // the files of libraries; nil: no file may be checked
	Guard *webhook.Guard // checks the addresses that runs bring for their webhooks; nil: they are refused
	Ring  *seal.Ring     // seals the tokens of those addresses; nil only if Guard is

	// Archive is where requests fetch the targets of designs. Without an address for UniProt, workflows may name no
	// accession.
	Archive archive.URLs

	// Installable are the names of the runners that an operator can install, by their fold models.
	Installable map[string]string

	MaxTime time.Duration // that a run of a workflow may be expected to take; 0: no limit

	models modelCache
}
