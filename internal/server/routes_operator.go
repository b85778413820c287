package server

import (
	"pleat"
	"pleat/api"
	"pleat/internal/server/openapi"
)

// operatorRoutes are the routes of those who operate the service. Others are refused with 403.
var operatorRoutes = inSection("Operators", []route{
	{
		id:       "getOverview",
		pattern:  "GET /v1/operator/overview",
		access:   user,
		scope:    pleat.ScopeRead,
		operator: "read what the service does",
		summary:  "Read what the service does, as an operator",
		handler:  noBody((*Server).overview),
	},
	{
		id:       "listWorkers",
		pattern:  "GET /v1/operator/workers",
		access:   user,
		scope:    pleat.ScopeRead,
		operator: "list the workers",
		summary:  "List the workers, as an operator",
		handler:  noBody((*Server).operatorWorkers),
	},
	{
		id:       "drainWorker",
		pattern:  "POST /v1/operator/workers/{worker}/drain",
		access:   user,
		scope:    pleat.ScopeManage,
		operator: "drain a worker",
		summary:  "Let a worker claim nothing more and end when its tasks have ended, as an operator",
		handler:  noBody((*Server).drainWorker),
		errors:   []int{409},
	},
	{
		id:       "pauseModel",
		pattern:  "POST /v1/operator/models/{model}/pause",
		access:   user,
		scope:    pleat.ScopeManage,
		operator: "pause a model",
		summary:  "Pause a model, as an operator",
		handler:  optionalBody(small, (*Server).pauseModel),
	},
	{
		id:       "resumeModel",
		pattern:  "POST /v1/operator/models/{model}/resume",
		access:   user,
		scope:    pleat.ScopeManage,
		operator: "resume a model",
		summary:  "Resume a paused model, as an operator",
		handler:  noBody((*Server).resumeModel),
	},
	{
		id:       "listUsers",
		pattern:  "GET /v1/operator/users",
		access:   user,
		scope:    pleat.ScopeRead,
		operator: "list all users",
		summary:  "List all users, as an operator, the newest first",
		handler:  noBody((*Server).operatorUsers),
		query:    pageOf(100),
	},
	{
		id:       "disableUser",
		pattern:  "POST /v1/operator/users/{user}/disable",
		access:   user,
		scope:    pleat.ScopeManage,
		operator: "disable a user",
		summary:  "Refuse all keys and sessions of a user, as an operator",
		handler:  noBody(disableUser(true)),
		errors:   []int{409},
	},
	{
		id:       "enableUser",
		pattern:  "POST /v1/operator/users/{user}/enable",
		access:   user,
		scope:    pleat.ScopeManage,
		operator: "enable a user",
		summary:  "Accept the keys of a disabled user again, as an operator",
		handler:  noBody(disableUser(false)),
		errors:   []int{409},
	},
	{
		id:       "listAllAudit",
		pattern:  "GET /v1/operator/audit",
		access:   user,
		scope:    pleat.ScopeManage,
		operator: "read the audit log of all users",
		summary:  "List the audit log of all users, as an operator, newest first",
		handler:  streams(openapi.JSON[api.List[api.AuditEntry]](), (*Server).operatorAudit),
		errors:   []int{429},
		query: append(pageOf(50),
			openapi.Param{Name: "from", Kind: "string", Doc: "The first day, UTC, such as 2027-01-31."},
			openapi.Param{Name: "to", Kind: "string", Doc: "The last day."},
			openapi.Param{Name: "format", Kind: "string", Doc: "csv or jsonl: all entries of these days as a file, " +
				"at most 100,000. A text that a spreadsheet would take for a formula begins with an apostrophe in " +
				"CSV."}),
	},
})
