package webhooks

import (
	"context"

	"pleat"
	"pleat/api"
	"pleat/internal/server/route"
	"pleat/internal/server/wire"
	"pleat/internal/store/people"
	"pleat/internal/store/webhooks"
	"pleat/internal/webhook"
)

// defaultEndpoint returns the default endpoint of the project that a request names, and the caller as an actor there.
func defaultEndpoint(c *route.Call) (people.Actor, pleat.EndpointID, error) {
	return c.Actor().In(c.In.Project), webhooks.Default, nil
}

// webhookConfig is GET /v1/webhooks/custom-http-config, for any user: the caller's default endpoint, which all runs
// notify that name no other. A caller without one gets an empty configuration.
func (h *Handlers) webhookConfig(ctx context.Context, c *route.Call) (api.WebhookConfig, error) {
	e, _, err := h.Webhooks.Endpoint(ctx, c.In, webhooks.Default)
	if err != nil && pleat.CodeOf(err) != pleat.CodeNotFound {
		return api.WebhookConfig{}, err
	}
	e.Owner = c.In.Project
	return h.configOut(&e, "")
}

// putWebhookConfig is PUT /v1/webhooks/custom-http-config, for any user: it sets the default endpoint and activates it.
// The first request creates the signing secret, and its response is the only one that shows it. Later ones keep the
// secret, and the token if they have none and target_url has the same scheme, host and port. 400: the URL is not one
// that the service may send to, the token is missing, or a field is wrong.
func (h *Handlers) putWebhookConfig(
	ctx context.Context, c *route.Call, in *api.PutWebhookConfig,
) (api.WebhookConfig, error) {
	set, secret, err := h.newEndpoint(ctx, c.In.Project, &api.ChangeEndpoint{
		TargetURL:  &in.TargetURL,
		TokenValue: &in.TokenValue,
		Format:     &in.Format,
	})
	if err != nil {
		return api.WebhookConfig{}, err
	}
	set.EnabledByDefault = in.EnabledByDefault
	e, err := h.Webhooks.PutEndpoint(ctx, c.Actor().In(c.In.Project), set)
	if err != nil {
		return api.WebhookConfig{}, err
	}
	if e.Secret != set.Secret { // an earlier request created it
		secret = ""
	}
	return h.configOut(&e, secret)
}

// configOut arranges what a manager sees of the default endpoint as the webhook configuration, with a secret that is
// shown this once. An error is like that of endpointFor.
func (h *Handlers) configOut(e *webhooks.Endpoint, secret string) (api.WebhookConfig, error) {
	seen, err := h.endpointFor(pleat.Manager, e)
	return api.WebhookConfig{
		UserID:           seen.ProjectID,
		IsActive:         seen.IsActive,
		IsConfigured:     e.Address.Origin != "" && e.Token != "",
		IsPaused:         seen.IsPaused,
		EnabledByDefault: e.EnabledByDefault,
		TargetURL:        wire.OptionalString(seen.TargetURL),
		Format:           seen.Format,
		TokenHeader:      webhook.HeaderToken,
		HTTPAuthMode:     "x_webhook_token",
		HasToken:         e.Token != "",
		TokenMasked:      seen.TokenMasked,
		SignatureScheme:  seen.SignatureScheme,
		VerificationKey:  seen.VerificationKey,
		SecretRotatedAt:  seen.SecretRotatedAt,
		OldSecretUntil:   seen.OldSecretUntil,
		UpdatedAt:        api.MomentAt(e.UpdatedAt),
		DisabledReason:   seen.DisabledReason,
		RestsUntil:       seen.RestsUntil,
		SigningSecret:    secret,
	}, err
}
