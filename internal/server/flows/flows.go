// Package flows has the routes of workflows: questions, simulations, designs, comparisons and alignments.
//
// It must not decide what a workflow becomes: package submit does.
package flows

import (
	"slices"

	"pleat/internal/fair"
	"pleat/internal/garbage"
	"pleat/internal/server/library"
	"pleat/internal/server/progress"
	"pleat/internal/server/route"
	"pleat/internal/store/ops"
	"pleat/internal/store/people"
	"pleat/internal/store/runs"
	"pleat/internal/submit"
)

// Handlers are the handlers of the routes of workflows. Create them with New.
type Handlers struct {
	Config
	entries fair.Streams // entries of the Protein Data Bank that are being sent
}

// Config are the dependencies of Handlers. All are required.
type Config struct {
	Runs         *runs.Store
	Ops          *ops.Store
	Submit       *submit.Resolver
	Progress     *progress.Progress
	Files        *route.Files
	Library      *library.Writer // to which frames of simulations are added
	Computations *route.Computations
	Cleaner      *garbage.Cleaner
}

// New returns the handlers.
func New(c Config) *Handlers {
	return &Handlers{Config: c, entries: fair.Streams{Each: MaxEntries, Of: "entries of the Protein Data Bank"}}
}

// Routes returns the routes of workflows.
func (h *Handlers) Routes() []route.Route {
	return slices.Concat(h.alignmentRoutes(), h.workflowRoutes(), h.compareRoutes())
}

// workflowQuota chooses the quota of workflows.
func workflowQuota(u people.Usages) people.Usage { return u.Workflows }
