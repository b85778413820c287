package wire

import (
	"strings"
	"time"

	"pleat"
	"pleat/api"
	"pleat/internal/store/people"
)

// day is the unit of keepResultsDays.
const day = 24 * time.Hour

// Project returns a project.
func Project(p *people.Project) api.Project {
	out := api.Project{
		ID:         string(p.ID),
		Name:       p.Name,
		IsOwn:      p.Own,
		Budget:     Budget(p.Budget),
		Commercial: p.Commercial,
		CreatedAt:  api.At(p.CreatedAt),
	}
	if p.Quota >= 0 {
		out.Quota = &p.Quota
	}
	if p.KeepResults >= 0 {
		days := int(p.KeepResults / day)
		out.KeepDays = &days
	}
	return out
}

// ProjectRole returns a project with the caller's role in it.
func ProjectRole(m *people.Membership) api.ProjectRole {
	out := api.ProjectRole{Project: Project(&m.Project)}
	if m.Role != pleat.NoRole {
		role := m.Role.String()
		out.Role = &role
	}
	return out
}

// ToProjectChange returns the change of a project that a request asks for.
func ToProjectChange(in *api.ChangeProject) (people.ProjectChange, error) {
	out := people.ProjectChange{Name: in.Name, Quota: in.Quota, Commercial: in.Commercial}
	var err error
	out.Budget, err = ToBudgetChange(in.Budget)
	if in.KeepDays != nil {
		keep := time.Duration(*in.KeepDays) * day
		if keep < 0 {
			keep = -time.Microsecond
		}
		out.KeepResults = &keep
	}
	return out, err
}

// GroupRole returns the role of a group in a project.
func GroupRole(g *people.GroupRole) api.GroupRole {
	return api.GroupRole{Name: g.Name, Role: g.Role.String(), AddedAt: api.At(g.AddedAt)}
}

// Owned says to whom something belongs, for those who have a role in the project.
func Owned(owner pleat.ProjectID, creator pleat.UserID, name string, to Audience) api.Owned {
	if to == ForOthers {
		return api.Owned{}
	}
	by := api.Creator{ID: string(creator), Name: OptionalString(name)}
	return api.Owned{ProjectID: OptionalString(owner), CreatedBy: &by}
}

// Member returns a member of a project.
func Member(m *people.ProjectMember) api.Member {
	return api.Member{
		UserID:    string(m.User),
		Name:      m.Name,
		Role:      m.Role.String(),
		IsService: m.Service,
		AddedAt:   api.At(m.AddedAt),
	}
}

// Invitation returns an invitation.
func Invitation(i *people.Invitation) api.Invitation {
	return api.Invitation{
		ID:           string(i.ID),
		Role:         i.Role.String(),
		Label:        i.Label,
		CreatedAt:    api.At(i.CreatedAt),
		ExpiresAt:    api.At(i.ExpiresAt),
		KeyScopes:    strings.Fields(i.KeyScopes.String()),
		KeyExpiresAt: OptionalTime(i.KeyExpiresAt),
	}
}

// Link returns a link to a job, batch or workflow.
func Link(h *people.Share) api.Link {
	return api.Link{
		ID:        string(h.ID),
		CreatedBy: h.CreatedBy,
		CreatedAt: api.At(h.CreatedAt),
		ExpiresAt: api.At(h.ExpiresAt),
	}
}
