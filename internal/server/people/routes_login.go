package people

import (
	"net/http"

	"pleat"
	"pleat/internal/server/openapi"
	"pleat/internal/server/route"
)

// loginRoutes are the routes by which people sign in by an issuer of OpenID Connect. They are open because they read or
// set cookies themselves.
func (h *Handlers) loginRoutes() []route.Route {
	return route.InSection("Keys and sessions", []route.Route{
		{
			ID:      "getLogin",
			Pattern: "GET /v1/login",
			Who:     route.Open(),
			Summary: "Read how people sign in by an issuer of OpenID Connect",
			Handler: route.NoBody(h.readLogin),
		},
		{
			ID:      "startLogin",
			Pattern: "GET /v1/login/start",
			Who:     route.Open(),
			Summary: "Send a browser to the issuer",
			Handler: route.Redirects(http.StatusFound, h.startLogin),
			Errors:  []int{404},
			Query: []openapi.Param{
				{Name: "next", Kind: "string", Doc: "The path of the page after the sign-in; absent: /ui/."},
			},
		},
		{
			ID:       "finishLogin",
			Pattern:  "GET " + callbackPath,
			Who:      route.Open(),
			AnyQuery: true,
			Summary:  "Begin the session of a browser that comes back from the issuer",
			Handler:  route.Redirects(http.StatusSeeOther, h.finishLogin),
			Errors:   []int{404},
			Query: []openapi.Param{
				{Name: "code", Kind: "string", Doc: "The code that the issuer exchanges for tokens."},
				{Name: "state", Kind: "string", Doc: "The attempt to sign in."},
				{Name: "iss", Kind: "string", Doc: "The issuer."},
				{Name: "error", Kind: "string", Doc: "Why there is no code."},
			},
		},
		{
			ID:      "logout",
			Pattern: "POST /v1/logout",
			Who:     route.Open(),
			Cost:    route.CostOpen,
			Summary: "End the cookie's session, also at the issuer",
			Handler: route.NoBody(h.logout),
			Errors:  []int{401},
		},
	})
}

// groupRoutes are the routes of the roles that groups have in projects.
func (h *Handlers) groupRoutes() []route.Route {
	return route.InSection("Projects", []route.Route{
		{
			ID:      "listGroups",
			Pattern: "GET /v1/projects/{id}/groups",
			Who:     route.User(pleat.ScopeRead),
			Summary: "List the groups that have a role in a project",
			Handler: route.NoBody(h.listGroups),
		},
		{
			ID:      "setGroup",
			Pattern: "PUT /v1/projects/{id}/groups/{name}",
			Who:     route.User(pleat.ScopeManage),
			Summary: "Give a group a role in a project",
			Handler: route.JSONBody(route.Small, h.setGroup),
			Errors:  []int{409},
		},
		{
			ID:      "removeGroup",
			Pattern: "DELETE /v1/projects/{id}/groups/{name}",
			Who:     route.User(pleat.ScopeManage),
			Summary: "End the role of a group in a project",
			Handler: route.NoBody(h.removeGroup),
			Errors:  []int{409},
		},
	})
}
