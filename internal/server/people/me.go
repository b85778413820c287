package people

import (
	"context"
	"strings"

	"pleat/api"
	"pleat/internal/server/route"
	"pleat/internal/server/wire"
)

// me is GET /v1/me, for any user: who the credential stands for, and what it may do.
func (h *Handlers) me(ctx context.Context, c *route.Call) (api.Me, error) {
	u, err := h.People.User(ctx, c.Who.User)
	if err != nil {
		return api.Me{}, err
	}
	list, err := h.People.Memberships(ctx, c.Reach())
	out := api.Me{
		UserID:     string(u.ID),
		Name:       u.Name,
		IsService:  u.Service,
		IsOperator: c.Who.Operator,
		Scopes:     strings.Fields(c.Who.Scopes.String()),
		ProjectID:  string(c.In.Project),
		Projects:   []api.ProjectRole{},
	}
	for i := range list {
		out.Projects = append(out.Projects, wire.ProjectRole(&list[i]))
	}
	return out, err
}
