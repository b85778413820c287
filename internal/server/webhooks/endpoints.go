package webhooks

import (
	"context"

	"pleat"
	"pleat/api"
	"pleat/internal/server/route"
	"pleat/internal/store/people"
	"pleat/internal/store/webhooks"
)

// namedEndpoint returns the endpoint that the path of a request names, and the caller as an actor within reach.
func namedEndpoint(c *route.Call) (people.Actor, pleat.EndpointID, error) {
	id, err := c.UUID("id", webhooks.ErrNoNamedEndpoint)
	return c.ActorInReach(), pleat.EndpointID(id), err
}

// endpointOut is what a manager sees of a named endpoint, with a secret that is shown this once.
func (h *Handlers) endpointOut(e *webhooks.Endpoint, secret string) (api.WebhookEndpoint, error) {
	out, err := h.endpointFor(pleat.Manager, e)
	out.SigningSecret = secret
	return out, err
}

// webhookEndpoints is GET /v1/webhooks/endpoints, for callers with a role in the project: its named endpoints, and
// whether it has a default one. A caller or a key that does not manage the project sees where events go, but no path of
// an address and nothing of a token.
func (h *Handlers) webhookEndpoints(ctx context.Context, c *route.Call) (api.WebhookEndpoints, error) {
	out := api.WebhookEndpoints{Data: []api.WebhookEndpoint{}}
	role, err := h.People.Role(ctx, c.In, c.In.Project)
	if err != nil {
		return out, err
	}
	role = readsAs(c, role)
	list, err := h.Webhooks.NamedEndpoints(ctx, c.In)
	if err != nil {
		return out, err
	}
	for i := range list {
		e, err := h.endpointFor(role, &list[i])
		if err != nil {
			return out, err
		}
		out.Data = append(out.Data, e)
	}
	e, _, err := h.Webhooks.Endpoint(ctx, c.In, webhooks.Default)
	if pleat.CodeOf(err) == pleat.CodeNotFound {
		return out, nil
	}
	if e.Address.Origin != "" {
		out.Default = h.defaultOut(role, &e)
	}
	return out, err
}

// defaultOut arranges what a caller with a role sees of the default endpoint in the list of endpoints.
func (h *Handlers) defaultOut(role pleat.Role, e *webhooks.Endpoint) *api.DefaultEndpoint {
	seen := h.endpointState(role, e)
	return &api.DefaultEndpoint{
		ID:               seen.ID,
		TargetURL:        seen.TargetURL,
		IsActive:         seen.IsActive,
		IsPaused:         seen.IsPaused,
		EnabledByDefault: e.EnabledByDefault,
		DisabledReason:   seen.DisabledReason,
		RestsUntil:       seen.RestsUntil,
	}
}

// createWebhookEndpoint is POST /v1/webhooks/endpoints, for managers: it adds a named endpoint. The response is the
// only one that shows the signing secret. 400: a field is wrong; 409: the name is taken, or there are 10.
func (h *Handlers) createWebhookEndpoint(
	ctx context.Context, c *route.Call, in *api.CreateEndpoint,
) (api.WebhookEndpoint, error) {
	set, secret, err := h.newEndpoint(ctx, c.In.Project, &api.ChangeEndpoint{
		Name:       &in.Name,
		TargetURL:  &in.TargetURL,
		TokenValue: &in.TokenValue,
		Format:     &in.Format,
		Events:     &in.Events,
	})
	if err != nil {
		return api.WebhookEndpoint{}, err
	}
	e, err := h.Webhooks.AddEndpoint(ctx, c.Actor().In(c.In.Project), set)
	if err != nil {
		return api.WebhookEndpoint{}, err
	}
	return h.endpointOut(&e, secret)
}

// webhookEndpoint is GET /v1/webhooks/endpoints/{id}, for callers with a role in its project.
func (h *Handlers) webhookEndpoint(ctx context.Context, c *route.Call) (api.WebhookEndpoint, error) {
	by, id, err := namedEndpoint(c)
	if err != nil {
		return api.WebhookEndpoint{}, err
	}
	e, role, err := h.Webhooks.Endpoint(ctx, by.Reach, id)
	if err != nil {
		return api.WebhookEndpoint{}, err
	}
	return h.endpointFor(readsAs(c, role), &e)
}

// changeWebhookEndpoint is PATCH /v1/webhooks/endpoints/{id}, for managers of its project. 400: a field is wrong, or
// the token is required again; 409: the name is taken.
func (h *Handlers) changeWebhookEndpoint(
	ctx context.Context, c *route.Call, in *api.ChangeEndpoint,
) (api.WebhookEndpoint, error) {
	var none api.WebhookEndpoint
	if *in == (api.ChangeEndpoint{}) {
		return none, pleat.Invalidf("the request changes nothing; set at least one of name, target_url, token_value, " +
			"format and events").At("name")
	}
	by, id, err := namedEndpoint(c)
	if err != nil {
		return none, err
	}
	before, role, err := h.Webhooks.Endpoint(ctx, by.Reach, id)
	if err == nil { // before faults of the body, which would tell what is allowed as an address
		err = role.Allow(pleat.Manager, webhooks.ErrNoNamedEndpoint)
	}
	if err != nil {
		return none, err
	}
	set, err := h.settings(ctx, before.Owner, in)
	if err != nil {
		return none, err
	}
	e, err := h.Webhooks.ChangeEndpoint(ctx, by, id, set)
	if err != nil {
		return none, err
	}
	return h.endpointOut(&e, "")
}

// deleteWebhookEndpoint is DELETE /v1/webhooks/endpoints/{id}, for managers of its project. Deliveries that wait for it
// fail, the first thousand before the response.
func (h *Handlers) deleteWebhookEndpoint(ctx context.Context, c *route.Call) (api.DeletedEndpoint, error) {
	by, id, err := namedEndpoint(c)
	if err == nil {
		err = h.Webhooks.DeleteEndpoint(ctx, by, id)
	}
	return api.DeletedEndpoint{ID: string(id), Deleted: true}, err
}
