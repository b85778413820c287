// Package submit makes the decisions that a request and a worker share: which model, seed, queue and memory a run gets,
// which run and sequence of a fold a workflow works on, which library files fit, and who is notified when a run ends.
//
// It reads the store and changes no row; of files it stores those of a new design's workspace alone. It must not know
// HTTP or execute anything.
package submit

import (
	"time"

	"pleat/internal/archive"
	"pleat/internal/blob"
	"pleat/internal/garbage"
	"pleat/internal/seal"
	"pleat/internal/store/batches"
	"pleat/internal/store/people"
	"pleat/internal/store/runs"
	"pleat/internal/store/webhooks"
	"pleat/internal/store/workers"
	"pleat/internal/webhook"
)

// Resolver makes decisions for new runs. People, Runs and Workers must be set before the first use. It is safe for many
// goroutines and must not be copied.
type Resolver struct {
	People   *people.Store
	Runs     *runs.Store
	Workers  *workers.Store  // whose models there are
	Batches  *batches.Store  // nil: no job may be run again
	Webhooks *webhooks.Store // nil: no method that decides who is notified may be called

	// Cleaner removes the files of a design that could not be created; nil: Workflow must not be called.
	Cleaner *garbage.Cleaner

	Blobs blob.Store     // the files of libraries; nil: CheckAlignments and CheckTemplates must not be called
	Guard *webhook.Guard // checks the addresses that runs bring for their webhooks; nil: they are refused
	Ring  *seal.Ring     // seals the tokens of those addresses; nil only if Guard is

	// FetchPDB is whether workflows and templates may name an entry of the Protein Data Bank. For workers it is set:
	// whoever fetches knows whether it may.
	FetchPDB     bool
	Archive      archive.URLs // of the Protein Data Bank, for the targets of designs
	FetchUniProt bool         // whether workflows may name a UniProt accession

	// Installable are the names of the runners that an operator can install, by their fold models.
	Installable map[string]string

	MaxTime time.Duration // that a run of a workflow may be expected to take; 0: no limit

	models modelCache
}
