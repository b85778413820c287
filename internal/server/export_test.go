package server

import (
	"pleat/internal/server/batches"
	"pleat/internal/server/flows"
	"pleat/internal/server/jobs"
	"pleat/internal/server/library"
	"pleat/internal/server/operators"
	"pleat/internal/server/people"
	"pleat/internal/server/route"
	"pleat/internal/server/service"
	"pleat/internal/server/webhooks"
)

// AllRoutes returns all routes, with handlers that must not be called.
func AllRoutes() []route.Route {
	return (&resources{
		jobs:      new(jobs.Handlers),
		batches:   new(batches.Handlers),
		flows:     new(flows.Handlers),
		library:   new(library.Handlers),
		webhooks:  new(webhooks.Handlers),
		people:    new(people.Handlers),
		service:   new(service.Handlers),
		operators: new(operators.Handlers),
	}).routes()
}
