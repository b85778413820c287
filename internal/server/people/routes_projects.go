package people

import (
	"pleat"
	"pleat/api"
	"pleat/internal/server/openapi"
	"pleat/internal/server/route"
)

// usageRoute is what a caller's runs have spent.
func (h *Handlers) usageRoute() route.Route {
	return route.Route{
		ID:      "getUsage",
		Section: "Fold jobs",
		Pattern: "GET /v1/usage",
		Who:     route.User(pleat.ScopeRead),
		Summary: "Read your quotas, how much of them is used today, and what your runs have spent",
		Handler: route.Answers(openapi.JSON[api.Usage](), h.usage),
		Query:   append(spentParams("model,day"), route.InProject...),
	}
}

// spentParams describe what a table of usage is asked for; by has the fields by which its sums are split if none is
// named. The document names JSON alone as the answer: with a second type, generated clients take every answer for
// either.
func spentParams(by string) []openapi.Param {
	return []openapi.Param{
		{Name: "from", Kind: "string", Doc: "The first day, UTC, such as 2027-01-31; absent: the first of the month " +
			"of to."},
		{Name: "to", Kind: "string", Doc: "The last day; absent: today. At most 400 days."},
		{Name: "by", Kind: "string", Doc: "The fields by which sums are split: some of user, project, model and day, " +
			"with commas; empty: nothing; absent: " + by + "."},
		{Name: "format", Kind: "string", Doc: "csv: the rows alone, as text/csv instead of JSON. A text that a " +
			"spreadsheet would take for a formula begins with an apostrophe."},
	}
}

// projectRoutes are the routes of projects and of their members. Every path under /v1/projects/{id} answers 404 for
// a project in which the caller has no role, and for one that does not exist.
func (h *Handlers) projectRoutes() []route.Route {
	return route.InSection("Projects", []route.Route{
		{
			ID:      "getMe",
			Pattern: "GET /v1/me",
			Who:     route.User(pleat.ScopeRead),
			Summary: "Read who you are and what you may do",
			Handler: route.NoBody(h.me),
		},
		{
			ID:      "getNotifications",
			Pattern: "GET /v1/me/notifications",
			Who:     route.User(pleat.ScopeManage).As(pleat.Viewer),
			Summary: "Read which mails you get",
			Handler: route.NoBody(h.notifications),
		},
		{
			ID:      "setNotifications",
			Pattern: "PUT /v1/me/notifications",
			Who:     route.User(pleat.ScopeManage).As(pleat.Viewer),
			Summary: "Set your address and which mails you get; another address is to be confirmed",
			Handler: route.JSONBody(route.Small, h.setNotifications),
			Errors:  []int{409, 429},
		},
		{
			ID:      "askNotifications",
			Pattern: "POST /v1/me/notifications/link",
			Who:     route.User(pleat.ScopeManage).As(pleat.Viewer),
			Summary: "Get another mail with a link that confirms your address",
			Handler: route.NoBody(h.askNotifications),
			Errors:  []int{409, 429},
		},
		{
			ID:      "confirmNotifications",
			Pattern: "POST /v1/me/notifications/confirm",
			Who:     route.User(pleat.ScopeManage).As(pleat.Viewer),
			Summary: "Confirm your address by the link in a mail, once",
			Handler: route.JSONBody(route.Small, h.confirmNotifications),
			Errors:  []int{404, 409},
		},
		{
			ID:      "listProjects",
			Pattern: "GET /v1/projects",
			Who:     route.User(pleat.ScopeRead),
			Summary: "List the projects in which you have a role",
			Handler: route.NoBody(h.listProjects),
			Query: []openapi.Param{{
				Name: "all", Kind: "string", Doc: "true: all projects that are not users' own, for operators.",
			}},
		},
		{
			ID:      "createProject",
			Pattern: "POST /v1/projects",
			Who:     route.User(pleat.ScopeManage),
			Summary: "Create a project, as an operator",
			Handler: route.JSONBody(route.Small, h.createProject),
			Errors:  []int{404, 409},
		},
		{
			ID:      "getProject",
			Pattern: "GET /v1/projects/{id}",
			Who:     route.User(pleat.ScopeRead),
			Summary: "Read a project",
			Handler: route.NoBody(h.viewProject),
		},
		{
			ID:      "changeProject",
			Pattern: "PATCH /v1/projects/{id}",
			Who:     route.User(pleat.ScopeManage),
			Summary: "Change the name or the limits of a project",
			Handler: route.JSONBody(route.Small, h.changeProject),
			Errors:  []int{409},
		},
		{
			ID:      "deleteProject",
			Pattern: "DELETE /v1/projects/{id}",
			Who:     route.User(pleat.ScopeManage),
			Summary: "Delete a project that owns nothing",
			Handler: route.NoBody(h.deleteProject),
			Errors:  []int{409},
		},
		{
			ID:      "listMembers",
			Pattern: "GET /v1/projects/{id}/members",
			Who:     route.User(pleat.ScopeRead),
			Summary: "List the members of a project",
			Handler: route.NoBody(h.listMembers),
		},
		{
			ID:      "setMember",
			Pattern: "PUT /v1/projects/{id}/members/{user}",
			Who:     route.User(pleat.ScopeManage),
			Summary: "Give a user a role in a project",
			Handler: route.JSONBody(route.Small, h.setMember),
			Errors:  []int{409},
		},
		{
			// Viewers may leave; the store asks for a manager to remove others.
			ID:      "removeMember",
			Pattern: "DELETE /v1/projects/{id}/members/{user}",
			Who:     route.User(pleat.ScopeManage).As(pleat.Viewer),
			Summary: "End the role of a user in a project",
			Handler: route.NoBody(h.removeMember),
			Errors:  []int{409},
		},
		{
			ID:      "getProjectUsage",
			Pattern: "GET /v1/projects/{id}/usage",
			Who:     route.User(pleat.ScopeRead),
			Summary: "Read what the runs of a project have spent, and its budget",
			Handler: route.Answers(openapi.JSON[api.ProjectUsage](), h.projectUsage),
			Query:   spentParams("model,day"),
		},
		{
			ID:      "getAllUsage",
			Pattern: "GET /v1/operator/usage",
			Who:     route.Operator(pleat.ScopeRead, "read what all projects have spent"),
			Summary: "Read what the runs of all projects have spent, as an operator",
			Handler: route.Answers(openapi.JSON[api.SpentTable](), h.allUsage),
			Query:   spentParams("project,model"),
		},
		{
			ID:      "listProjectAudit",
			Pattern: "GET /v1/projects/{id}/audit",
			Who:     route.User(pleat.ScopeManage),
			Summary: "List the changes that concern a project, newest first",
			Handler: route.NoBody(h.projectAudit),
			Query:   route.PageParams(50),
		},
		{
			ID:      "listInvitations",
			Pattern: "GET /v1/projects/{id}/invitations",
			Who:     route.User(pleat.ScopeManage),
			Summary: "List the open invitations to a project",
			Handler: route.NoBody(h.listInvitations),
		},
		{
			ID:      "createInvitation",
			Pattern: "POST /v1/projects/{id}/invitations",
			Who:     route.User(pleat.ScopeManage),
			Summary: "Invite somebody to a project; the link is shown only once",
			Handler: route.JSONBody(route.Small, h.createInvitation),
			Errors:  []int{409},
		},
		{
			ID:      "revokeInvitation",
			Pattern: "DELETE /v1/projects/{id}/invitations/{invitationId}",
			Who:     route.User(pleat.ScopeManage),
			Summary: "Revoke an invitation",
			Handler: route.NoBody(h.revokeInvitation),
		},
		{
			ID:      "readInvitation",
			Pattern: "POST /v1/invitations/read",
			Who:     route.Anyone(),
			Summary: "Read to what a token invites",
			Handler: route.JSONBody(route.Small, h.readInvitation),
			Errors:  []int{404},
		},
		{
			ID:      "acceptInvitation",
			Pattern: "POST /v1/invitations/accept",
			Who:     route.Anyone(),
			Summary: "Accept an invitation; without a credential, as a new user whose key is shown only once",
			Handler: route.JSONBody(route.Small, h.acceptInvitation),
			Errors:  []int{403, 404, 409},
		},
		{
			ID:      "createServiceUser",
			Pattern: "POST /v1/projects/{id}/service-users",
			Who:     route.User(pleat.ScopeManage).WithKeyItself(),
			Summary: "Create a user for a program of a project; its key is shown only once",
			Handler: route.JSONBody(route.Small, h.createServiceUser),
			Errors:  []int{409},
		},
		{
			ID:      "listServiceKeys",
			Pattern: "GET /v1/projects/{id}/service-users/{user}/keys",
			Who:     route.User(pleat.ScopeManage),
			Summary: "List the keys of a service user",
			Handler: route.NoBody(h.listServiceKeys),
		},
		{
			ID:      "createServiceKey",
			Pattern: "POST /v1/projects/{id}/service-users/{user}/keys",
			Who:     route.User(pleat.ScopeManage).WithKeyItself(),
			Summary: "Create a key of a service user; it is shown only once",
			Handler: route.OptionalBody(route.Small, h.createServiceKey),
			Errors:  []int{409},
		},
		{
			ID:      "revokeServiceKey",
			Pattern: "DELETE /v1/projects/{id}/service-users/{user}/keys/{keyId}",
			Who:     route.User(pleat.ScopeManage),
			Summary: "Revoke a key of a service user",
			Handler: route.NoBody(h.revokeServiceKey),
		},
		{
			ID:      "openLink",
			Pattern: "GET " + route.SharePath + "{token}",
			Who:     route.Open(),
			Cost:    route.CostOpen,
			Summary: "Open the page of what a link shares",
			Handler: route.Streams(openapi.Text("text/html", "A redirect to the page, with a cookie."), h.openShare),
			Errors:  []int{303, 404},
		},
		linkRoute("createJobLink", "POST /v1/jobs/{id}/links", "Share a job by a link; it is shown only once",
			h.jsonLink(pleat.SourceFold)),
		linkRoute("listJobLinks", "GET /v1/jobs/{id}/links", "List the links to a job",
			route.NoBody(h.listLinks(pleat.SourceFold))),
		linkRoute("deleteJobLink", "DELETE /v1/jobs/{id}/links/{linkId}", "End a link to a job",
			route.NoBody(h.deleteLink(pleat.SourceFold))),
		linkRoute("createBatchLink", "POST /v1/batches/{id}/links", "Share a batch by a link; it is shown only once",
			h.jsonLink(pleat.SourceBatch)),
		linkRoute("listBatchLinks", "GET /v1/batches/{id}/links", "List the links to a batch",
			route.NoBody(h.listLinks(pleat.SourceBatch))),
		linkRoute("deleteBatchLink", "DELETE /v1/batches/{id}/links/{linkId}", "End a link to a batch",
			route.NoBody(h.deleteLink(pleat.SourceBatch))),
		linkRoute("createWorkflowLink", "POST /v1/workflows/{id}/links",
			"Share a workflow by a link; it is shown only once",
			h.jsonLink(pleat.SourceWorkflow)),
		linkRoute("deleteWorkflowLink", "DELETE /v1/workflows/{id}/links/{linkId}", "End a link to a workflow",
			route.NoBody(h.deleteLink(pleat.SourceWorkflow))),
		h.listWorkflowLinks(),
	})
}

// linkRoute is a route of the links to a job, batch or workflow.
func linkRoute(id, pattern, summary string, handler route.Endpoint) route.Route {
	return route.Route{
		ID:      id,
		Pattern: pattern,
		Who:     route.User(pleat.ScopeManage),
		Summary: summary,
		Handler: handler,
		Errors:  []int{409},
	}
}

// jsonLink is the endpoint that creates a link.
func (h *Handlers) jsonLink(kind pleat.SourceKind) route.Endpoint {
	return route.OptionalBody(route.Small, h.createLink(kind))
}

// listWorkflowLinks lists the links to a workflow, under the pattern that several routes of workflows share.
func (h *Handlers) listWorkflowLinks() route.Route {
	rt := linkRoute("listWorkflowLinks", "GET /v1/workflows/{id}/links", "List the links to a workflow",
		route.NoBody(h.listLinks(pleat.SourceWorkflow)))
	rt.Fixed = route.FixedWord{Second: "links"}
	return rt
}
