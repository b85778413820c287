package server

import (
	"net/http"

	"pleat"
	"pleat/internal/server/openapi"
)

// loginRoutes are the routes by which people sign in by an issuer of OpenID Connect. They are open because they read or
// set cookies themselves.
var loginRoutes = inSection("Keys and sessions", []route{
	{
		id:      "getLogin",
		pattern: "GET /v1/login",
		access:  open,
		summary: "Read how people sign in by an issuer of OpenID Connect",
		handler: noBody((*Server).readLogin),
	},
	{
		id:      "startLogin",
		pattern: "GET /v1/login/start",
		access:  open,
		summary: "Send a browser to the issuer",
		handler: redirects(http.StatusFound, (*Server).startLogin),
		errors:  []int{404},
		query: []openapi.Param{
			{Name: "next", Kind: "string", Doc: "The path of the page after the sign-in; absent: /ui/."},
		},
	},
	{
		id:      "finishLogin",
		pattern: "GET " + callbackPath,
		access:  open,
		foreign: true,
		summary: "Begin the session of a browser that comes back from the issuer",
		handler: redirects(http.StatusSeeOther, (*Server).finishLogin),
		errors:  []int{404},
		query: []openapi.Param{
			{Name: "code", Kind: "string", Doc: "What the issuer gives for tokens."},
			{Name: "state", Kind: "string", Doc: "The attempt to sign in."},
			{Name: "iss", Kind: "string", Doc: "The issuer."},
			{Name: "error", Kind: "string", Doc: "Why there is no code."},
		},
	},
	{
		id:      "logout",
		pattern: "POST /v1/logout",
		access:  open,
		counted: byCredential,
		summary: "End the cookie's session, also at the issuer",
		handler: noBody((*Server).logout),
		errors:  []int{401},
	},
})

// groupRoutes are the routes of the roles that groups have in projects.
var groupRoutes = inSection("Projects", []route{
	{
		id:      "listGroups",
		pattern: "GET /v1/projects/{id}/groups",
		access:  user,
		scope:   pleat.ScopeRead,
		summary: "List the groups that have a role in a project",
		handler: noBody((*Server).listGroups),
	},
	{
		id:      "setGroup",
		pattern: "PUT /v1/projects/{id}/groups/{name}",
		access:  user,
		scope:   pleat.ScopeManage,
		summary: "Give a group a role in a project",
		handler: jsonBody(small, (*Server).setGroup),
		errors:  []int{409},
	},
	{
		id:      "removeGroup",
		pattern: "DELETE /v1/projects/{id}/groups/{name}",
		access:  user,
		scope:   pleat.ScopeManage,
		summary: "End the role of a group in a project",
		handler: noBody((*Server).removeGroup),
		errors:  []int{409},
	},
})
