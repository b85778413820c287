package webhooks

import (
	"context"
	"net/url"

	"pleat"
	"pleat/api"
	"pleat/internal/server/route"
	"pleat/internal/server/wire"
	"pleat/internal/store/webhooks"
	"pleat/internal/webhook"
)

// webhookEndpoints is GET /v1/webhooks/endpoints, for who has a role in the project: its named endpoints, and whether
// it has a default one. Who does not manage it, and a key that does not, sees where events go, but no path of an
// address and nothing of a token.
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
		e, err := h.endpointOut(&list[i], role)
		if err != nil {
			return out, err
		}
		out.Data = append(out.Data, e)
	}
	e, err := h.Webhooks.DefaultEndpoint(ctx, c.In)
	if pleat.CodeOf(err) == pleat.CodeNotFound {
		return out, nil
	}
	if e.URL != "" {
		out.Default = &api.DefaultEndpoint{
			ID:               string(e.ID),
			TargetURL:        addressFor(role, e.URL),
			IsActive:         e.Active,
			IsPaused:         e.Paused,
			EnabledByDefault: e.EnabledByDefault,
			DisabledReason:   wire.OptionalString(e.DisabledReason),
			RestsUntil:       h.restsUntil(&e),
		}
	}
	return out, err
}

// readsAs returns the role by which a caller of a role reads endpoints: a manager's key that may not read the
// configuration of the default endpoint sees no more of the others than members do.
func readsAs(c *route.Call, role pleat.Role) pleat.Role {
	if c.Who.Scopes.Has(pleat.ScopeManage) {
		return role
	}
	return min(role, pleat.Member)
}

// addressFor returns the address of an endpoint as who has a role may see it: the path may hold a secret.
func addressFor(role pleat.Role, address string) string {
	u, err := url.Parse(address)
	if role >= pleat.Manager || err != nil {
		return address
	}
	return (&url.URL{Scheme: u.Scheme, Host: u.Host}).String()
}

// restsUntil returns until when an endpoint gets nothing because it has failed; nil: it does not rest.
func (h *Handlers) restsUntil(e *webhooks.Endpoint) *api.Moment {
	if !h.DB.Now().Before(e.ResumeAt) {
		return nil
	}
	return api.MomentAt(e.ResumeAt)
}

// oldSecretUntil returns until when deliveries to an endpoint are signed with its old secret, too; nil: they are not.
func (h *Handlers) oldSecretUntil(e *webhooks.Endpoint) *api.Moment {
	if e.OldSecret == "" || !h.DB.Now().Before(e.OldSecretUntil) {
		return nil
	}
	return api.MomentAt(e.OldSecretUntil)
}

// endpointOut converts a named endpoint for a caller with a role in its project. An error is like that of configOut.
func (h *Handlers) endpointOut(e *webhooks.Endpoint, role pleat.Role) (api.WebhookEndpoint, error) {
	out := api.WebhookEndpoint{
		ID:              string(e.ID),
		ProjectID:       string(e.Owner),
		Name:            e.Name,
		TargetURL:       addressFor(role, e.URL),
		Format:          formatName(e.Format),
		Events:          e.Events.Names(),
		IsActive:        e.Active,
		IsPaused:        e.Paused,
		DisabledReason:  wire.OptionalString(e.DisabledReason),
		RestsUntil:      h.restsUntil(e),
		SignatureScheme: "v1",
		SecretRotatedAt: api.MomentAt(e.RotatedAt),
		OldSecretUntil:  h.oldSecretUntil(e),
		CreatedAt:       api.Moment{Time: e.CreatedAt},
		UpdatedAt:       api.Moment{Time: e.UpdatedAt},
	}
	public, err := h.verificationKey(e)
	if err != nil {
		return out, err
	}
	if public != "" {
		out.SignatureScheme, out.VerificationKey = "v1a", &public
	}
	if role >= pleat.Manager {
		has := e.Token != ""
		out.HasToken = &has
		out.TokenMasked, err = h.maskedToken(e)
	}
	return out, err
}

// createWebhookEndpoint is POST /v1/webhooks/endpoints, for managers: it adds a named endpoint. The response is the
// only one that shows the signing secret. 400: a field is wrong; 409: the name is taken, or there are 10.
func (h *Handlers) createWebhookEndpoint(
	ctx context.Context, c *route.Call, in *api.CreateEndpoint,
) (api.WebhookEndpoint, error) {
	var none api.WebhookEndpoint
	if in.TargetURL == "" {
		return none, pleat.InvalidField("target_url", " is required; it must be an https URL")
	}
	change, err := h.endpointChange(ctx, c.In.Project, &api.ChangeEndpoint{
		Name:       &in.Name,
		TargetURL:  &in.TargetURL,
		TokenValue: &in.TokenValue,
		Format:     &in.Format,
		Events:     &in.Events,
	})
	if err != nil {
		return none, err
	}
	secret := webhook.NewKey().Text()
	e, err := h.Webhooks.AddEndpoint(ctx, c.Actor().In(c.In.Project), webhooks.NewEndpoint{
		Name:   *change.Name,
		URL:    *change.URL,
		Token:  *change.Token,
		Secret: h.Ring.Seal(string(c.In.Project), "secret", []byte(secret)),
		Format: *change.Format,
		Events: *change.Events,
	})
	if err != nil {
		return none, err
	}
	out, err := h.endpointOut(&e, pleat.Manager)
	out.SigningSecret = secret
	return out, err
}

// endpointChange reads a change of a named endpoint of a project. 400: a field is wrong.
func (h *Handlers) endpointChange(
	ctx context.Context, owner pleat.ProjectID, in *api.ChangeEndpoint,
) (out webhooks.NamedEndpointChange, err error) {
	if out.Name = in.Name; in.Name != nil {
		if err := pleat.CheckEndpointName("name", *in.Name); err != nil {
			return out, err
		}
	}
	if in.Events != nil {
		set, err := pleat.ParseEvents("events", *in.Events)
		if err != nil {
			return out, err
		}
		out.Events = &set
	}
	if in.Format != nil {
		format, err := parseFormat(*in.Format)
		if err != nil {
			return out, err
		}
		out.Format = &format
	}
	if in.TokenValue != nil {
		token, err := h.sealToken(owner, *in.TokenValue)
		if err != nil {
			return out, err
		}
		out.Token = &token
	}
	if in.TargetURL != nil {
		to, err := h.Guard.CheckURL(ctx, "target_url", *in.TargetURL)
		if err != nil {
			return out, err
		}
		address := to.String()
		out.URL = &address
	}
	return out, nil
}

// endpointID returns the id of the path.
func endpointID(c *route.Call) (pleat.EndpointID, error) {
	id, err := c.UUID("id", webhooks.ErrNoNamedEndpoint)
	return pleat.EndpointID(id), err
}

// webhookEndpoint is GET /v1/webhooks/endpoints/{id}, for who has a role in its project.
func (h *Handlers) webhookEndpoint(ctx context.Context, c *route.Call) (api.WebhookEndpoint, error) {
	id, err := endpointID(c)
	if err != nil {
		return api.WebhookEndpoint{}, err
	}
	e, role, err := h.Webhooks.NamedEndpoint(ctx, c.Reach(), id)
	if err != nil {
		return api.WebhookEndpoint{}, err
	}
	return h.endpointOut(&e, readsAs(c, role))
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
	id, err := endpointID(c)
	if err != nil {
		return none, err
	}
	before, role, err := h.Webhooks.NamedEndpoint(ctx, c.Reach(), id)
	if err == nil { // before faults of the body, which would tell what is allowed as an address
		err = role.Allow(pleat.Manager, webhooks.ErrNoNamedEndpoint)
	}
	if err != nil {
		return none, err
	}
	change, err := h.endpointChange(ctx, before.Owner, in)
	if err != nil {
		return none, err
	}
	e, err := h.Webhooks.ChangeNamedEndpoint(ctx, c.ActorInReach(), id, change)
	if err != nil {
		return none, err
	}
	return h.endpointOut(&e, pleat.Manager)
}

// switchWebhookEndpoint returns the handler of POST /v1/webhooks/endpoints/{id}/pause and …/resume.
func (h *Handlers) switchWebhookEndpoint(
	change webhooks.EndpointChange,
) func(context.Context, *route.Call) (api.WebhookEndpoint, error) {
	return func(ctx context.Context, c *route.Call) (api.WebhookEndpoint, error) {
		id, err := endpointID(c)
		if err != nil {
			return api.WebhookEndpoint{}, err
		}
		e, err := h.Webhooks.SwitchEndpoint(ctx, c.ActorInReach(), id, change)
		if err != nil {
			return api.WebhookEndpoint{}, err
		}
		return h.endpointOut(&e, pleat.Manager)
	}
}

// deleteWebhookEndpoint is DELETE /v1/webhooks/endpoints/{id}, for managers of its project. Deliveries that wait for it
// fail, the first thousand before the response.
func (h *Handlers) deleteWebhookEndpoint(ctx context.Context, c *route.Call) (api.DeletedEndpoint, error) {
	id, err := endpointID(c)
	if err == nil {
		_, err = h.Webhooks.DeleteEndpoint(ctx, c.ActorInReach(), id)
	}
	return api.DeletedEndpoint{ID: string(id), Deleted: true}, err
}

// rotateEndpointSecret is POST /v1/webhooks/endpoints/{id}/rotate-secret, for managers of its project: rotateSecret for
// a named endpoint.
func (h *Handlers) rotateEndpointSecret(
	ctx context.Context, c *route.Call, in *api.RotateSecret,
) (api.WebhookEndpoint, error) {
	key, err := newSigningKey(in.Scheme)
	if err != nil {
		return api.WebhookEndpoint{}, err
	}
	id, err := endpointID(c)
	if err != nil {
		return api.WebhookEndpoint{}, err
	}
	e, err := h.Webhooks.RotateSecret(ctx, c.ActorInReach(), id, h.sealed(key), h.DB.Now().Add(rotationOverlap))
	if err != nil {
		return api.WebhookEndpoint{}, err
	}
	out, err := h.endpointOut(&e, pleat.Manager)
	if key.Public() == "" {
		out.SigningSecret = key.Text()
	}
	return out, err
}

// testWebhookEndpoint is POST /v1/webhooks/endpoints/{id}/test, for managers of its project: testWebhook for a named
// endpoint.
func (h *Handlers) testWebhookEndpoint(ctx context.Context, c *route.Call) (api.Delivery, error) {
	id, err := endpointID(c)
	if err != nil {
		return api.Delivery{}, err
	}
	delivery, err := h.Webhooks.PingEndpoint(ctx, c.ActorInReach(), id)
	if err != nil {
		return api.Delivery{}, err
	}
	d, _, err := h.Webhooks.Delivery(ctx, c.Reach(), delivery)
	return wire.Delivery(&d), err
}
