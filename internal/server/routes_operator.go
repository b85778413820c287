package server

import (
	"pleat"
	"pleat/api"
	"pleat/internal/server/openapi"
)

// operatorRoutes are the routes of those who operate the service. Others are refused with 403.
var operatorRoutes = inSection("Operators", []route{
	{
		id:      "getOverview",
		pattern: "GET /v1/operator/overview",
		access:  user,
		scope:   pleat.ScopeRead,
		summary: "Read what the service does, as an operator",
		handler: noBody(asOperator("read what the service does", (*Server).overview)),
	},
	{
		id:      "listWorkers",
		pattern: "GET /v1/operator/workers",
		access:  user,
		scope:   pleat.ScopeRead,
		summary: "List the workers, as an operator",
		handler: noBody(asOperator("list the workers", (*Server).operatorWorkers)),
	},
	{
		id:      "drainWorker",
		pattern: "POST /v1/operator/workers/{worker}/drain",
		access:  user,
		scope:   pleat.ScopeManage,
		role:    pleat.Viewer, // of whatever project: being an operator decides
		summary: "Let a worker claim nothing more and end when its tasks have ended, as an operator",
		handler: noBody(asOperator("drain a worker", (*Server).drainWorker)),
		errors:  []int{409},
	},
	{
		id:      "pauseModel",
		pattern: "POST /v1/operator/models/{model}/pause",
		access:  user,
		scope:   pleat.ScopeManage,
		role:    pleat.Viewer, // of whatever project: being an operator decides
		summary: "Let the jobs of a model wait, as an operator",
		handler: optionalBody(small, (*Server).pauseModel),
	},
	{
		id:      "resumeModel",
		pattern: "POST /v1/operator/models/{model}/resume",
		access:  user,
		scope:   pleat.ScopeManage,
		role:    pleat.Viewer, // of whatever project: being an operator decides
		summary: "Let the jobs of a paused model start again, as an operator",
		handler: noBody(asOperator("resume a model", (*Server).resumeModel)),
	},
	{
		id:      "listUsers",
		pattern: "GET /v1/operator/users",
		access:  user,
		scope:   pleat.ScopeRead,
		summary: "List all users, as an operator, the newest first",
		handler: noBody(asOperator("list all users", (*Server).operatorUsers)),
		query:   pageOf(100),
	},
	{
		id:      "disableUser",
		pattern: "POST /v1/operator/users/{user}/disable",
		access:  user,
		scope:   pleat.ScopeManage,
		role:    pleat.Viewer, // of whatever project: being an operator decides
		summary: "Refuse all keys and sessions of a user, as an operator",
		handler: noBody(asOperator("disable a user", disableUser(true))),
		errors:  []int{409},
	},
	{
		id:      "enableUser",
		pattern: "POST /v1/operator/users/{user}/enable",
		access:  user,
		scope:   pleat.ScopeManage,
		role:    pleat.Viewer, // of whatever project: being an operator decides
		summary: "Accept the keys of a disabled user again, as an operator",
		handler: noBody(asOperator("enable a user", disableUser(false))),
		errors:  []int{409},
	},
	{
		id:      "listAllAudit",
		pattern: "GET /v1/operator/audit",
		access:  user,
		scope:   pleat.ScopeManage,
		role:    pleat.Viewer, // of whatever project: being an operator decides
		summary: "List the audit log of all users, as an operator, newest first",
		handler: streams(openapi.JSON[api.List[api.AuditEntry]](), (*Server).operatorAudit),
		errors:  []int{429},
		query: append(pageOf(50),
			openapi.Param{Name: "from", Kind: "string", Doc: "The first day, UTC, such as 2027-01-31."},
			openapi.Param{Name: "to", Kind: "string", Doc: "The last day."},
			openapi.Param{Name: "format", Kind: "string", Doc: "csv or jsonl: all entries of these days as a file, " +
				"at most 100,000. A text that a spreadsheet would take for a formula begins with an apostrophe in " +
				"CSV."}),
	},
})
