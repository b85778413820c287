// Package people has the routes of users, keys, sessions, sign-in, projects with their members, links and usage.
//
// It must not decide who may call a route: package route does.
package people

import (
	"slices"

	"pleat/internal/seal"
	"pleat/internal/server/route"
	"pleat/internal/server/signin"
	"pleat/internal/store/db"
	"pleat/internal/store/mails"
	"pleat/internal/store/ops"
	"pleat/internal/store/people"
)

// Handlers are the handlers of the routes of people. All fields are required.
type Handlers struct {
	DB     *db.DB
	People *people.Store
	Mails  *mails.Store
	Ops    *ops.Store
	Ring   *seal.Ring // seals what a browser keeps of a sign-in
	Logins *signin.Logins
	// SendsMail says that the service sends mails to users.
	SendsMail bool
	// FetchPDB says that requests may name entries of the Protein Data Bank; the page asks.
	FetchPDB bool
}

// Routes returns the routes of people.
func (h *Handlers) Routes() []route.Route {
	return slices.Concat(h.projectRoutes(), h.groupRoutes(), h.accountRoutes(), h.loginRoutes(),
		[]route.Route{h.usageRoute()})
}
