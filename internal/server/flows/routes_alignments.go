package flows

import (
	"pleat"
	"pleat/internal/server/route"
)

// alignmentRoutes are the routes of alignments. The routes of workflows list, cancel, share and delete them.
func (h *Handlers) alignmentRoutes() []route.Route {
	return route.InSection("Alignments", []route.Route{
		{
			ID:      "createAlignment",
			Pattern: "POST /v1/alignments",
			Who:     route.User(pleat.ScopeSubmit),
			Cost:    route.CostNewWork,
			Summary: "Search for alignments of proteins",
			Handler: route.JSONBody(route.Large, h.createAlignment),
		},
		{
			ID:      "getAlignment",
			Pattern: "GET /v1/alignments/{id}",
			Who:     route.Reader(),
			Cost:    route.CostPoll,
			Summary: "Read an alignment with its files",
			Handler: route.NoBody(h.viewAlignment),
		},
	})
}
