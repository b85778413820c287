package api

// Me is the response of GET /v1/me: who the credential stands for, and what it may do.
type Me struct {
	UserID     string        `json:"userId" format:"uuid"`
	Name       string        `json:"name" example:"ada"`
	IsService  bool          `json:"isService" doc:"Whether the user is that of a program, which a project owns."`
	IsOperator bool          `json:"isOperator" doc:"Whether the user may see and change what concerns the whole service."`
	Scopes     []string      `json:"scopes" doc:"Permitted uses of the key: read, submit, manage."`
	ProjectID  string        `json:"projectId" doc:"The project of a request that names none." format:"uuid"`
	Projects   []ProjectRole `json:"projects" doc:"The projects in which the user has a role and that the key reaches; the user's own first."`
}

// Project owns jobs, batches, workflows, a library and a webhook endpoint.
type Project struct {
	ID         string `json:"projectId" format:"uuid"`
	Name       string `json:"name" example:"Lab A"`
	IsOwn      bool   `json:"isOwn" doc:"Whether it is of one user alone, whose id it has."`
	Quota      *int   `json:"quota" doc:"Jobs per day; null: the default of the service."`
	KeepDays   *int   `json:"keepResultsDays" doc:"How many days results are kept; 0: until somebody deletes them; null: as the service does."`
	Budget     Budget `json:"budget"`
	Commercial bool   `json:"commercial" doc:"Whether it is marked commercial: its runs may use only models whose weightUse is commercial."`
	CreatedAt  Time   `json:"createdAt"`
}

// ProjectRole is a project with the caller's role in it.
type ProjectRole struct {
	Project
	Role *string `json:"role" doc:"The caller's role; null: none, which only an operator sees." enum:"ProjectRoleName"`
}

// CreateProject is the body of POST /v1/projects.
type CreateProject struct {
	Name    string `json:"name" doc:"Name of the project." minLength:"1" maxLength:"255" example:"Lab A"`
	Manager string `json:"manager,omitempty" doc:"Id or name of the user who manages it; absent: the caller."`
}

// ChangeProject is the body of PATCH /v1/projects/{id}. Absent fields stay.
type ChangeProject struct {
	Name       *string       `json:"name,omitempty" doc:"Name of the project." minLength:"1" maxLength:"255"`
	Quota      *int          `json:"quota,omitempty" doc:"Jobs per day; -1: the default of the service. Operators change it."`
	KeepDays   *int          `json:"keepResultsDays,omitempty" doc:"How many days results are kept; 0: until somebody deletes them; -1: as the service does." minimum:"-1" maximum:"36500"`
	Budget     *BudgetChange `json:"budget,omitempty" doc:"The most that the project may spend in a month. Operators change it."`
	Commercial *bool         `json:"commercial,omitempty" doc:"Whether the project is commercial: new runs may use only models whose weightUse is commercial."`
}

// DeletedProject is the response of DELETE /v1/projects/{id}.
type DeletedProject struct {
	ID      string `json:"projectId" format:"uuid"`
	Deleted bool   `json:"deleted"`
}

// Member is a user with a role in a project.
type Member struct {
	UserID    string `json:"userId" format:"uuid"`
	Name      string `json:"name" example:"ada"`
	Role      string `json:"role" doc:"viewer reads; member makes, changes, shares and deletes work, too; manager decides, too, who has which role." enum:"ProjectRoleName"`
	IsService bool   `json:"isService" doc:"Whether the user is that of a program, which the project owns."`
	AddedAt   Time   `json:"addedAt"`
}

// SetMember is the body of PUT /v1/projects/{id}/members/{user} ([Client.SetMember]).
type SetMember struct {
	Role string `json:"role" doc:"The role that the user gets." enum:"ProjectRoleName"`
}

// RemovedMember is the response of DELETE /v1/projects/{id}/members/{user}.
type RemovedMember struct {
	UserID  string `json:"userId" format:"uuid"`
	Removed bool   `json:"removed"`
}

// GroupRole is the role that everybody in a group of the issuer has in a project.
type GroupRole struct {
	Name    string `json:"name" doc:"As the issuer names it." example:"lab-a"`
	Role    string `json:"role" enum:"ProjectRoleName"`
	AddedAt Time   `json:"addedAt"`
}

// SetGroup is the body of PUT /v1/projects/{id}/groups/{name}.
type SetGroup struct {
	Role string `json:"role" doc:"The role that everybody in the group gets." enum:"ProjectRoleName"`
}

// RemovedGroup is the response of DELETE /v1/projects/{id}/groups/{name}.
type RemovedGroup struct {
	Name    string `json:"name"`
	Removed bool   `json:"removed"`
}

// Invitation gives one user a role in a project.
type Invitation struct {
	ID        string `json:"invitationId" format:"uuid"`
	Role      string `json:"role" enum:"ProjectRoleName"`
	Label     string `json:"label" doc:"For whom it is."`
	CreatedAt Time   `json:"createdAt"`
	ExpiresAt Time   `json:"expiresAt"`
	// A user who exists gets the role alone.
	KeyScopes    []string `json:"keyScopes" doc:"The scopes of the key that a new user gets: those of the key with which the invitation was made."`
	KeyExpiresAt *Time    `json:"keyExpiresAt" doc:"When that key ends; null: never."`
}

// CreateInvitation is the body of POST /v1/projects/{id}/invitations.
type CreateInvitation struct {
	Role      string  `json:"role" doc:"The role of who accepts it." enum:"ProjectRoleName"`
	Label     string  `json:"label,omitempty" doc:"For whom it is, as free text." maxLength:"255" example:"Grace"`
	ExpiresAt *string `json:"expiresAt,omitempty" doc:"When it ends: a time or a date, its last day, at most 90 days from now; absent: in 7 days."`
}

// NewInvitation is the answer to [Client.Invite]: the one time that the link is shown.
type NewInvitation struct {
	Invitation
	Token string `json:"token" doc:"For POST /v1/invitations/accept. It is shown this once."`
	URL   string `json:"url" doc:"A link to a page where it is accepted."`
}

// RevokedInvitation is the response of DELETE /v1/projects/{id}/invitations/{invitationId}.
type RevokedInvitation struct {
	ID      string `json:"invitationId" format:"uuid"`
	Revoked bool   `json:"revoked"`
}

// ReadInvitation is the body of POST /v1/invitations/read.
type ReadInvitation struct {
	Token string `json:"token" doc:"The token of the invitation."`
}

// InvitedTo is the response of POST /v1/invitations/read.
type InvitedTo struct {
	ProjectID   string `json:"projectId" format:"uuid"`
	ProjectName string `json:"projectName"`
	Role        string `json:"role" enum:"ProjectRoleName"`
	ExpiresAt   Time   `json:"expiresAt"`
}

// AcceptInvitation is the body of POST /v1/invitations/accept ([Client.AcceptInvitation]).
type AcceptInvitation struct {
	Token string `json:"token" doc:"The token of the invitation."`
	Name  string `json:"name,omitempty" doc:"Without a credential: the name of the user to create." maxLength:"255" example:"grace"`
}

// Joined is the response of POST /v1/invitations/accept.
type Joined struct {
	UserID      string  `json:"userId" format:"uuid"`
	Name        string  `json:"name"`
	ProjectID   string  `json:"projectId" format:"uuid"`
	ProjectName string  `json:"projectName"`
	Role        string  `json:"role" enum:"ProjectRoleName"`
	Key         *string `json:"key" doc:"The API key of a user who was created. It is shown this once; null: the user existed."`
}

// CreateServiceUser is the body of POST /v1/projects/{id}/service-users ([Client.CreateServiceUser]).
type CreateServiceUser struct {
	Name      string   `json:"name" doc:"Name of the user." minLength:"1" maxLength:"255" example:"lab-a-pipeline"`
	Role      string   `json:"role" doc:"Its role in the project." enum:"ServiceRole"`
	Label     string   `json:"label,omitempty" doc:"Purpose of its key, as free text." maxLength:"255"`
	Scopes    []string `json:"scopes,omitempty" doc:"Some of read, submit and manage; absent: those of the key of the request."`
	ExpiresAt *string  `json:"expiresAt,omitempty" doc:"When its key ends: a time or a date, its last day; absent: when the key of the request does."`
}

// NewServiceUser is the answer to [Client.CreateServiceUser]: the one time that the key is shown.
type NewServiceUser struct {
	Member
	Key NewKey `json:"key"`
}

// Owned says to whom something belongs.
type Owned struct {
	ProjectID *string  `json:"projectId" doc:"The project that owns it; null: the caller has no role in it." format:"uuid"`
	CreatedBy *Creator `json:"createdBy" doc:"The user who created it; null: the caller has no role in the project."`
}

// Creator is the user who created something.
type Creator struct {
	ID   string  `json:"id" format:"uuid"`
	Name *string `json:"name" doc:"Null: the user was deleted." example:"ada"`
}

// Move is the body of POST /v1/jobs/{id}/move and POST /v1/workflows/{id}/move.
type Move struct {
	ProjectID string `json:"projectId" doc:"The project that owns it from then on." format:"uuid"`
}

// MovedJob is the response of POST /v1/jobs/{id}/move.
type MovedJob struct {
	JobID     string `json:"jobId" format:"uuid"`
	ProjectID string `json:"projectId" format:"uuid"`
}

// MovedWorkflow is the response of POST /v1/workflows/{id}/move.
type MovedWorkflow struct {
	WorkflowID string `json:"workflowId" format:"uuid"`
	ProjectID  string `json:"projectId" format:"uuid"`
}

// Link opens one job, batch or workflow to anybody who has it, for reading.
type Link struct {
	ID        string `json:"linkId" format:"uuid"`
	CreatedBy string `json:"createdBy" doc:"Name of the user who made it."`
	CreatedAt Time   `json:"createdAt"`
	ExpiresAt Time   `json:"expiresAt"`
}

// CreateLink is the body of POST /v1/jobs/{id}/links ([Client.CreateLink]).
type CreateLink struct {
	ExpiresAt *string `json:"expiresAt,omitempty" doc:"When it ends: a time or a date, its last day, at most 366 days from now; absent: in 30 days."`
}

// NewLink is the answer to [Client.CreateLink]: the one time that the link is shown.
type NewLink struct {
	Link
	Token string `json:"token" doc:"For the header X-Share-Token. It is shown this once."`
	URL   string `json:"url" doc:"The link, which opens the page."`
}

// DeletedLink is the response of DELETE /v1/jobs/{id}/links/{linkId}.
type DeletedLink struct {
	ID      string `json:"linkId" format:"uuid"`
	Deleted bool   `json:"deleted"`
}
