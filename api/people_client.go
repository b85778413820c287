package api

import (
	"context"
	"net/http"
	"net/url"
)

// Me returns who the key stands for, and the projects that it reaches.
func (c *Client) Me(ctx context.Context) (Me, error) {
	return do[Me](ctx, c, get("/v1/me", nil))
}

// Projects lists the projects in which the caller has a role.
func (c *Client) Projects(ctx context.Context) (List[ProjectRole], error) {
	return do[List[ProjectRole]](ctx, c, get("/v1/projects", nil))
}

// AllProjects lists all projects that are not users' own, to an operator.
func (c *Client) AllProjects(ctx context.Context) (List[ProjectRole], error) {
	return do[List[ProjectRole]](ctx, c, get("/v1/projects", url.Values{"all": {"true"}}))
}

// CreateProject creates a project, with a manager if the request names one, else the caller. It is for operators. 404:
// there is no such user; 409: there is a project of that name.
func (c *Client) CreateProject(ctx context.Context, in CreateProject) (ProjectRole, error) {
	return do[ProjectRole](ctx, c, post("/v1/projects", in))
}

// ChangeProject changes the name or the limits of a project. It is for managers; operators alone change its quota and
// its budget. 409: there is a project of that name, or it is a user's own.
func (c *Client) ChangeProject(ctx context.Context, project string, in ChangeProject) (ProjectRole, error) {
	return do[ProjectRole](ctx, c, request{method: http.MethodPatch, path: projectPath(project, ""), body: in})
}

// DeleteProject deletes a project that owns nothing, ends the roles in it and disables its service users. It is for
// managers. 409: it owns something, or is a user's own.
func (c *Client) DeleteProject(ctx context.Context, project string) (DeletedProject, error) {
	return do[DeletedProject](ctx, c, request{method: http.MethodDelete, path: projectPath(project, "")})
}

// Members lists the members of a project.
func (c *Client) Members(ctx context.Context, project string) (List[Member], error) {
	return do[List[Member]](ctx, c, get(projectPath(project, "/members"), nil))
}

// SetMember gives a user, by id or name, a role in a project: viewer, member or manager. It is for managers. 404: there
// is no such user; 409: the project would have no manager, or is a user's own.
func (c *Client) SetMember(ctx context.Context, project, user, role string) (Member, error) {
	return do[Member](ctx, c, request{method: http.MethodPut, path: memberPath(project, user),
		body: SetMember{Role: role}})
}

// RemoveMember ends the role of a user, by id or name, in a project. It is for managers, and for oneself by id.
func (c *Client) RemoveMember(ctx context.Context, project, user string) (RemovedMember, error) {
	return do[RemovedMember](ctx, c, request{method: http.MethodDelete, path: memberPath(project, user)})
}

// Invite makes a link by which somebody gets a role in a project, once. The service shows it only in this response. It
// is for managers.
func (c *Client) Invite(ctx context.Context, project string, in CreateInvitation) (NewInvitation, error) {
	return do[NewInvitation](ctx, c, post(projectPath(project, "/invitations"), in))
}

// AcceptInvitation gives the caller the role of an invitation or, without a key, creates a user with a key, which the
// service shows only in this response. 404: the invitation does not exist, was used, or has ended.
func (c *Client) AcceptInvitation(ctx context.Context, in AcceptInvitation) (Joined, error) {
	return do[Joined](ctx, c, post("/v1/invitations/accept", in))
}

// CreateServiceUser creates a user for a program of a project, with a key, which the service shows only in this
// response. It is for managers.
func (c *Client) CreateServiceUser(ctx context.Context, project string, in CreateServiceUser) (NewServiceUser, error) {
	return do[NewServiceUser](ctx, c, post(projectPath(project, "/service-users"), in))
}

// MoveJob moves a job that has ended to another project. 409: something of it has not ended, or it is of a batch.
func (c *Client) MoveJob(ctx context.Context, job, project string) (MovedJob, error) {
	return do[MovedJob](ctx, c, post(jobPath(job, "/move"), Move{ProjectID: project}))
}

// MoveWorkflow moves a workflow that has ended, or a draft, to another project.
func (c *Client) MoveWorkflow(ctx context.Context, workflow, project string) (MovedWorkflow, error) {
	return do[MovedWorkflow](ctx, c, post(workflowPath(workflow, "/move"), Move{ProjectID: project}))
}

// Opened is the kind of what a link opens.
type Opened string

// The kinds of what a link can open, by the word in their paths.
const (
	OpensJob      Opened = "jobs"
	OpensBatch    Opened = "batches"
	OpensWorkflow Opened = "workflows"
)

// CreateLink makes a link by which everyone who has it reads a job, batch or workflow. The service shows it only in
// this response. 404: the caller may not read that; 409: it has too many links.
func (c *Client) CreateLink(ctx context.Context, kind Opened, id string, in CreateLink) (NewLink, error) {
	return do[NewLink](ctx, c, post(linksPath(kind, id), in))
}

// Links lists the links to a job, batch or workflow.
func (c *Client) Links(ctx context.Context, kind Opened, id string) (List[Link], error) {
	return do[List[Link]](ctx, c, get(linksPath(kind, id), nil))
}

// DeleteLink ends a link with immediate effect.
func (c *Client) DeleteLink(ctx context.Context, kind Opened, id, link string) (DeletedLink, error) {
	return do[DeletedLink](ctx, c, request{method: http.MethodDelete,
		path: linksPath(kind, id) + "/" + url.PathEscape(link)})
}

func projectPath(id, rest string) string { return "/v1/projects/" + url.PathEscape(id) + rest }

func memberPath(project, user string) string {
	return projectPath(project, "/members/"+url.PathEscape(user))
}

func linksPath(kind Opened, id string) string {
	return "/v1/" + string(kind) + "/" + url.PathEscape(id) + "/links"
}
