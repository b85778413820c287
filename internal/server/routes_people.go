package server

import (
	"pleat"
	"pleat/api"
	"pleat/internal/server/openapi"
)

// spentParams describe what a table of usage is asked for; by is what its sums are told apart by if nothing is named.
// The document names JSON alone as the answer: with a second type, generated clients take every answer for either.
func spentParams(by string) []openapi.Param {
	return []openapi.Param{
		{Name: "from", Kind: "string", Doc: "The first day, UTC, such as 2027-01-31; absent: the first of the month " +
			"of to."},
		{Name: "to", Kind: "string", Doc: "The last day; absent: today. At most 400 days."},
		{Name: "by", Kind: "string", Doc: "What sums are told apart by: some of user, project, model and day, with " +
			"commas; empty: nothing; absent: " + by + "."},
		{Name: "format", Kind: "string", Doc: "csv: the rows alone, as text/csv instead of JSON. A text that a " +
			"spreadsheet would take for a formula begins with an apostrophe."},
	}
}

// projectRoutes are the routes of projects and of who works in them. Every path under /v1/projects/{id} answers 404 for
// a project in which the caller has no role, and for one that does not exist.
var projectRoutes = inSection("Projects", []route{
	{
		id:      "getMe",
		pattern: "GET /v1/me",
		access:  user,
		scope:   pleat.ScopeRead,
		summary: "Read who you are and what you may do",
		handler: noBody((*Server).me),
	},
	{
		id:      "getNotifications",
		pattern: "GET /v1/me/notifications",
		access:  user,
		scope:   pleat.ScopeManage,
		role:    pleat.Viewer,
		summary: "Read which mails you get",
		handler: noBody((*Server).notifications),
	},
	{
		id:      "setNotifications",
		pattern: "PUT /v1/me/notifications",
		access:  user,
		scope:   pleat.ScopeManage,
		role:    pleat.Viewer,
		summary: "Set your address and which mails you get; another address is to be confirmed",
		handler: jsonBody(small, (*Server).setNotifications),
		errors:  []int{409, 429},
	},
	{
		id:      "askNotifications",
		pattern: "POST /v1/me/notifications/link",
		access:  user,
		scope:   pleat.ScopeManage,
		role:    pleat.Viewer,
		summary: "Get another mail with a link that confirms your address",
		handler: noBody((*Server).askNotifications),
		errors:  []int{409, 429},
	},
	{
		id:      "confirmNotifications",
		pattern: "POST /v1/me/notifications/confirm",
		access:  user,
		scope:   pleat.ScopeManage,
		role:    pleat.Viewer,
		summary: "Confirm your address by the link in a mail, once",
		handler: jsonBody(small, (*Server).confirmNotifications),
		errors:  []int{404, 409},
	},
	{
		id:      "listProjects",
		pattern: "GET /v1/projects",
		access:  user,
		scope:   pleat.ScopeRead,
		summary: "List the projects in which you have a role",
		handler: noBody((*Server).listProjects),
		query: []openapi.Param{{
			Name: "all", Kind: "string", Doc: "true: all projects that are not users' own, for operators.",
		}},
	},
	{
		id:      "createProject",
		pattern: "POST /v1/projects",
		access:  user,
		scope:   pleat.ScopeManage,
		summary: "Create a project, as an operator",
		handler: jsonBody(small, (*Server).createProject),
		errors:  []int{404, 409},
	},
	{
		id:      "getProject",
		pattern: "GET /v1/projects/{id}",
		access:  user,
		scope:   pleat.ScopeRead,
		summary: "Read a project",
		handler: noBody((*Server).viewProject),
	},
	{
		id:      "changeProject",
		pattern: "PATCH /v1/projects/{id}",
		access:  user,
		scope:   pleat.ScopeManage,
		summary: "Change the name or the limits of a project",
		handler: jsonBody(small, (*Server).changeProject),
		errors:  []int{409},
	},
	{
		id:      "deleteProject",
		pattern: "DELETE /v1/projects/{id}",
		access:  user,
		scope:   pleat.ScopeManage,
		summary: "Delete a project that owns nothing",
		handler: noBody((*Server).deleteProject),
		errors:  []int{409},
	},
	{
		id:      "listMembers",
		pattern: "GET /v1/projects/{id}/members",
		access:  user,
		scope:   pleat.ScopeRead,
		summary: "List the members of a project",
		handler: noBody((*Server).listMembers),
	},
	{
		id:      "setMember",
		pattern: "PUT /v1/projects/{id}/members/{user}",
		access:  user,
		scope:   pleat.ScopeManage,
		summary: "Give a user a role in a project",
		handler: jsonBody(small, (*Server).setMember),
		errors:  []int{409},
	},
	{
		id:      "removeMember",
		pattern: "DELETE /v1/projects/{id}/members/{user}",
		access:  user,
		scope:   pleat.ScopeManage,
		role:    pleat.Viewer, // to leave; the store asks for a manager to remove others
		summary: "End the role of a user in a project",
		handler: noBody((*Server).removeMember),
		errors:  []int{409},
	},
	{
		id:      "getProjectUsage",
		pattern: "GET /v1/projects/{id}/usage",
		access:  user,
		scope:   pleat.ScopeRead,
		summary: "Read what the runs of a project have spent, and its budget",
		handler: answers(openapi.JSON[api.ProjectUsage](), (*Server).projectUsage),
		query:   spentParams("model,day"),
	},
	{
		id:       "getAllUsage",
		pattern:  "GET /v1/operator/usage",
		access:   user,
		scope:    pleat.ScopeRead,
		operator: "read what all projects have spent",
		summary:  "Read what the runs of all projects have spent, as an operator",
		handler:  answers(openapi.JSON[api.SpentTable](), (*Server).allUsage),
		query:    spentParams("project,model"),
	},
	{
		id:      "listProjectAudit",
		pattern: "GET /v1/projects/{id}/audit",
		access:  user,
		scope:   pleat.ScopeManage,
		summary: "List the changes that concern a project, newest first",
		handler: noBody((*Server).projectAudit),
		query:   pageOf(50),
	},
	{
		id:      "listInvitations",
		pattern: "GET /v1/projects/{id}/invitations",
		access:  user,
		scope:   pleat.ScopeManage,
		summary: "List the open invitations to a project",
		handler: noBody((*Server).listInvitations),
	},
	{
		id:      "createInvitation",
		pattern: "POST /v1/projects/{id}/invitations",
		access:  user,
		scope:   pleat.ScopeManage,
		summary: "Invite somebody to a project; the link is shown only once",
		handler: jsonBody(small, (*Server).createInvitation),
		errors:  []int{409},
	},
	{
		id:      "revokeInvitation",
		pattern: "DELETE /v1/projects/{id}/invitations/{invitationId}",
		access:  user,
		scope:   pleat.ScopeManage,
		summary: "Revoke an invitation",
		handler: noBody((*Server).revokeInvitation),
	},
	{
		id:      "readInvitation",
		pattern: "POST /v1/invitations/read",
		access:  anyone,
		summary: "Read to what a token invites",
		handler: jsonBody(small, (*Server).readInvitation),
		errors:  []int{404},
	},
	{
		id:      "acceptInvitation",
		pattern: "POST /v1/invitations/accept",
		access:  anyone,
		summary: "Accept an invitation; without a credential, as a new user whose key is shown only once",
		handler: jsonBody(small, (*Server).acceptInvitation),
		errors:  []int{403, 404, 409},
	},
	{
		id:      "createServiceUser",
		pattern: "POST /v1/projects/{id}/service-users",
		access:  user,
		scope:   pleat.ScopeManage,
		keyOnly: true,
		summary: "Create a user for a program of a project; its key is shown only once",
		handler: jsonBody(small, (*Server).createServiceUser),
		errors:  []int{409},
	},
	{
		id:      "listServiceKeys",
		pattern: "GET /v1/projects/{id}/service-users/{user}/keys",
		access:  user,
		scope:   pleat.ScopeManage,
		summary: "List the keys of a service user",
		handler: noBody((*Server).listServiceKeys),
	},
	{
		id:      "createServiceKey",
		pattern: "POST /v1/projects/{id}/service-users/{user}/keys",
		access:  user,
		scope:   pleat.ScopeManage,
		keyOnly: true,
		summary: "Create a key of a service user; it is shown only once",
		handler: optionalBody(small, (*Server).createServiceKey),
		errors:  []int{409},
	},
	{
		id:      "revokeServiceKey",
		pattern: "DELETE /v1/projects/{id}/service-users/{user}/keys/{keyId}",
		access:  user,
		scope:   pleat.ScopeManage,
		summary: "Revoke a key of a service user",
		handler: noBody((*Server).revokeServiceKey),
	},
	{
		id:      "moveJob",
		pattern: "POST /v1/jobs/{id}/move",
		access:  user,
		scope:   pleat.ScopeManage,
		summary: "Move a job to another project",
		handler: jsonBody(small, (*Server).moveJob),
		errors:  []int{409},
	},
	{
		id:      "moveWorkflow",
		pattern: "POST /v1/workflows/{id}/move",
		access:  user,
		scope:   pleat.ScopeManage,
		summary: "Move a workflow to another project",
		handler: jsonBody(small, (*Server).moveWorkflow),
		errors:  []int{409},
	},
	{
		id:      "openLink",
		pattern: "GET " + sharePath + "{token}",
		access:  open,
		counted: byCredential,
		summary: "Open the page of what a link shares",
		handler: streams(openapi.Text("text/html", "A redirect to the page, with a cookie."), (*Server).openShare),
		errors:  []int{303, 404},
	},
	linkRoute("createJobLink", "POST /v1/jobs/{id}/links", "Share a job by a link; it is shown only once",
		jsonLink(pleat.SourceFold)),
	linkRoute("listJobLinks", "GET /v1/jobs/{id}/links", "List the links to a job",
		noBody(listLinks(pleat.SourceFold))),
	linkRoute("deleteJobLink", "DELETE /v1/jobs/{id}/links/{linkId}", "End a link to a job",
		noBody(deleteLink(pleat.SourceFold))),
	linkRoute("createBatchLink", "POST /v1/batches/{id}/links", "Share a batch by a link; it is shown only once",
		jsonLink(pleat.SourceBatch)),
	linkRoute("listBatchLinks", "GET /v1/batches/{id}/links", "List the links to a batch",
		noBody(listLinks(pleat.SourceBatch))),
	linkRoute("deleteBatchLink", "DELETE /v1/batches/{id}/links/{linkId}", "End a link to a batch",
		noBody(deleteLink(pleat.SourceBatch))),
	linkRoute("createWorkflowLink", "POST /v1/workflows/{id}/links",
		"Share a workflow by a link; it is shown only once",
		jsonLink(pleat.SourceWorkflow)),
	linkRoute("deleteWorkflowLink", "DELETE /v1/workflows/{id}/links/{linkId}", "End a link to a workflow",
		noBody(deleteLink(pleat.SourceWorkflow))),
	listWorkflowLinks,
})

// linkRoute is a route of the links to a job, batch or workflow.
func linkRoute(id, pattern, summary string, handler endpoint) route {
	return route{
		id: id, pattern: pattern, access: user, scope: pleat.ScopeManage, summary: summary, handler: handler,
		errors: []int{409},
	}
}

// jsonLink is the endpoint that creates a link.
func jsonLink(kind pleat.SourceKind) endpoint { return optionalBody(small, createLink(kind)) }

// listWorkflowLinks lists the links to a workflow, under the pattern that several routes of workflows share.
var listWorkflowLinks = func() route {
	rt := linkRoute("listWorkflowLinks", "GET /v1/workflows/{id}/links", "List the links to a workflow",
		noBody(listLinks(pleat.SourceWorkflow)))
	rt.shared = fixedWord{second: "links"}
	return rt
}()
