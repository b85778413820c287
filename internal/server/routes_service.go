package server

import (
	"pleat"
	"pleat/internal/server/openapi"
)

// accountRoutes are the routes of API keys and browser sessions. The session routes are open because they read or set
// the cookie themselves.
var accountRoutes = inSection("Keys and sessions", []route{
	{
		id:      "listKeys",
		pattern: "GET /v1/keys",
		access:  user,
		scope:   pleat.ScopeManage,
		role:    pleat.Viewer,
		summary: "List your keys",
		handler: noBody((*Server).listKeys),
	},
	{
		id:      "createKey",
		pattern: "POST /v1/keys",
		access:  user,
		scope:   pleat.ScopeManage,
		keyOnly: true,
		role:    pleat.Viewer,
		summary: "Create a key; it is shown only once",
		handler: optionalBody(small, (*Server).createKey),
		errors:  []int{409, 429},
	},
	{
		id:      "revokeKey",
		pattern: "DELETE /v1/keys/{id}",
		access:  user,
		scope:   pleat.ScopeManage,
		keyOnly: true,
		role:    pleat.Viewer,
		summary: "Revoke a key",
		handler: noBody((*Server).revokeKey),
	},
	{
		id:      "listAudit",
		pattern: "GET /v1/audit",
		access:  user,
		scope:   pleat.ScopeManage,
		role:    pleat.Viewer,
		summary: "List the changes of your keys, sessions and webhook settings, newest first",
		handler: noBody((*Server).audit),
		query:   pageOf(50),
	},
	{
		id:      "openSession",
		pattern: "POST /v1/session",
		access:  open,
		counted: byHandler,
		summary: "Exchange a key for a browser's session cookie",
		handler: jsonBody(small, (*Server).openSession),
		errors:  []int{401},
	},
	{
		id:      "getSession",
		pattern: "GET /v1/session",
		access:  open,
		counted: byCredential,
		summary: "Read which user the cookie belongs to",
		handler: noBody((*Server).readSession),
		errors:  []int{401},
	},
	{
		id:      "closeSession",
		pattern: "DELETE /v1/session",
		access:  open,
		counted: byCredential,
		summary: "End the cookie's session",
		handler: noBody((*Server).closeSession),
		errors:  []int{401},
	},
})

// operationRoutes are the routes that operators and tools read. They are outside of /v1, where such tools expect them.
var operationRoutes = inSection("Operation", []route{
	{
		id:      "getHealth",
		pattern: "GET /healthz",
		access:  open,
		summary: "Check whether the process is alive",
		handler: noBody((*Server).health),
	},
	{
		id:      "getReadiness",
		pattern: "GET /readyz",
		access:  open,
		summary: "Check whether the service is ready",
		handler: noBody((*Server).ready),
		errors:  []int{503},
	},
	{
		id:      "getMetrics",
		pattern: "GET /metrics",
		access:  open,
		counted: byHandler,
		summary: "Read metrics for Prometheus",
		handler: streams(openapi.Text("text/plain", "In the format of Prometheus."), (*Server).metrics),
		errors:  []int{401},
	},
	{
		id:      "getClassDemand",
		pattern: "GET /fleet/v1/classes/{class}",
		access:  open,
		counted: byHandler,
		summary: "Read how many workers of a class are wanted",
		handler: noBody((*Server).classDemand),
		errors:  []int{401, 404},
	},
	{
		id:      "getOpenAPI",
		pattern: "GET /openapi.json",
		access:  open,
		summary: "Read this document",
		handler: answers(openapi.AnyObject, (*Server).openAPI),
	},
	{
		id:      "getDocs",
		pattern: "GET /docs",
		access:  open,
		summary: "Read this document as a page",
		handler: streams(openapi.Text("text/html", "The page."), (*Server).readDocs),
	},
	{
		id:      "getLLMs",
		pattern: "GET /llms.txt",
		access:  open,
		summary: "Read how an agent uses this server",
		handler: streams(openapi.Text("text/plain", ""), (*Server).readLLMs),
	},
})
