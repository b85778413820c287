package operators

import (
	"pleat"
	"pleat/api"
	"pleat/internal/server/openapi"
	"pleat/internal/server/route"
)

// Routes returns the routes of those who operate the service. Others are refused with 403.
func (h *Handlers) Routes() []route.Route {
	return route.InSection("Operators", []route.Route{
		{
			ID:      "getOverview",
			Pattern: "GET /v1/operator/overview",
			Who:     route.Operator(pleat.ScopeRead, "read what the service does"),
			Summary: "Read what the service does, as an operator",
			Handler: route.NoBody(h.overview),
		},
		{
			ID:      "listWorkers",
			Pattern: "GET /v1/operator/workers",
			Who:     route.Operator(pleat.ScopeRead, "list the workers"),
			Summary: "List the workers, as an operator",
			Handler: route.NoBody(h.operatorWorkers),
		},
		{
			ID:      "drainWorker",
			Pattern: "POST /v1/operator/workers/{worker}/drain",
			Who:     route.Operator(pleat.ScopeManage, "drain a worker"),
			Summary: "Let a worker claim nothing more and end when its tasks have ended, as an operator",
			Handler: route.NoBody(h.drainWorker),
			Errors:  []int{409},
		},
		{
			ID:      "pauseModel",
			Pattern: "POST /v1/operator/models/{model}/pause",
			Who:     route.Operator(pleat.ScopeManage, "pause a model"),
			Summary: "Pause a model, as an operator",
			Handler: route.OptionalBody(route.Small, h.pauseModel),
		},
		{
			ID:      "resumeModel",
			Pattern: "POST /v1/operator/models/{model}/resume",
			Who:     route.Operator(pleat.ScopeManage, "resume a model"),
			Summary: "Resume a paused model, as an operator",
			Handler: route.NoBody(h.resumeModel),
		},
		{
			ID:      "listUsers",
			Pattern: "GET /v1/operator/users",
			Who:     route.Operator(pleat.ScopeRead, "list all users"),
			Summary: "List all users, as an operator, the newest first",
			Handler: route.NoBody(h.operatorUsers),
			Query:   route.PageParams(100),
		},
		{
			ID:      "disableUser",
			Pattern: "POST /v1/operator/users/{user}/disable",
			Who:     route.Operator(pleat.ScopeManage, "disable a user"),
			Summary: "Refuse all keys and sessions of a user, as an operator",
			Handler: route.NoBody(h.disableUser(true)),
			Errors:  []int{409},
		},
		{
			ID:      "enableUser",
			Pattern: "POST /v1/operator/users/{user}/enable",
			Who:     route.Operator(pleat.ScopeManage, "enable a user"),
			Summary: "Accept the keys of a disabled user again, as an operator",
			Handler: route.NoBody(h.disableUser(false)),
			Errors:  []int{409},
		},
		{
			ID:      "listAllAudit",
			Pattern: "GET /v1/operator/audit",
			Who:     route.Operator(pleat.ScopeManage, "read the audit log of all users"),
			Summary: "List the audit log of all users, as an operator, newest first",
			Handler: route.Streams(openapi.JSON[api.List[api.AuditEntry]](), h.operatorAudit),
			Errors:  []int{429},
			Query: append(route.PageParams(50),
				openapi.Param{Name: "from", Kind: "string", Doc: "The first day, UTC, such as 2027-01-31."},
				openapi.Param{Name: "to", Kind: "string", Doc: "The last day."},
				openapi.Param{Name: "format", Kind: "string", Doc: "csv or jsonl: all entries of these days as a " +
					"file, at most 100,000. A text that a spreadsheet would take for a formula begins with an " +
					"apostrophe in CSV."}),
		},
	})
}
