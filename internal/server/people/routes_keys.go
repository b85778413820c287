package people

import (
	"pleat"
	"pleat/internal/server/route"
)

// accountRoutes are the routes of API keys and browser sessions. The session routes are open because they read or set
// the cookie themselves.
func (h *Handlers) accountRoutes() []route.Route {
	return route.InSection("Keys and sessions", []route.Route{
		{
			ID:      "listKeys",
			Pattern: "GET /v1/keys",
			Who:     route.User(pleat.ScopeManage).As(pleat.Viewer),
			Summary: "List your keys",
			Handler: route.NoBody(h.listKeys),
		},
		{
			ID:      "createKey",
			Pattern: "POST /v1/keys",
			Who:     route.User(pleat.ScopeManage).As(pleat.Viewer).WithKeyItself(),
			Summary: "Create a key; it is shown only once",
			Handler: route.OptionalBody(route.Small, h.createKey),
			Errors:  []int{409, 429},
		},
		{
			ID:      "revokeKey",
			Pattern: "DELETE /v1/keys/{id}",
			Who:     route.User(pleat.ScopeManage).As(pleat.Viewer).WithKeyItself(),
			Summary: "Revoke a key",
			Handler: route.NoBody(h.revokeKey),
		},
		{
			ID:      "listAudit",
			Pattern: "GET /v1/audit",
			Who:     route.User(pleat.ScopeManage).As(pleat.Viewer),
			Summary: "List the changes of your keys, sessions and webhook settings, newest first",
			Handler: route.NoBody(h.audit),
			Query:   route.PageParams(50),
		},
		{
			ID:      "openSession",
			Pattern: "POST /v1/session",
			Who:     route.Open(),
			Cost:    route.CostGuess,
			Summary: "Exchange a key for a browser's session cookie",
			Handler: route.JSONBody(route.Small, h.openSession),
			Errors:  []int{401},
		},
		{
			ID:      "getSession",
			Pattern: "GET /v1/session",
			Who:     route.Open(),
			Cost:    route.CostOpen,
			Summary: "Read which user the cookie belongs to",
			Handler: route.NoBody(h.readSession),
			Errors:  []int{401},
		},
		{
			ID:      "closeSession",
			Pattern: "DELETE /v1/session",
			Who:     route.Open(),
			Cost:    route.CostOpen,
			Summary: "End the cookie's session",
			Handler: route.NoBody(h.closeSession),
			Errors:  []int{401},
		},
	})
}
