package webhooks

import (
	"cmp"
	"context"
	"time"

	"pleat"
	"pleat/api"
	"pleat/internal/server/route"
	"pleat/internal/server/wire"
	"pleat/internal/store/people"
	"pleat/internal/store/webhooks"
	"pleat/internal/webhook"
)

// actions are the handlers that do the same to the default endpoint and to a named one. Out is the document that shows
// the endpoint.
type actions[Out any] struct {
	*Handlers
	// endpoint returns which endpoint a request is about, and the caller as an actor in its project.
	endpoint func(c *route.Call) (people.Actor, pleat.EndpointID, error)
	// show returns the document, with a signing secret that no later response shows; empty: none.
	show func(e *webhooks.Endpoint, secret string) (Out, error)
}

// change returns the handler of an action on an endpoint: to pause or resume it, or to deactivate the default one.
// Deliveries that wait are kept. 404: there is no such endpoint.
func (a actions[Out]) change(action webhooks.EndpointAction) route.Getter[Out] {
	return func(ctx context.Context, c *route.Call) (out Out, err error) {
		by, id, err := a.endpoint(c)
		if err != nil {
			return out, err
		}
		e, err := a.Webhooks.SwitchEndpoint(ctx, by, id, action)
		if err != nil {
			return out, err
		}
		return a.show(&e, "")
	}
}

// rotationOverlap is how long deliveries carry the signature of the old secret, too, after a rotation: the time that an
// operator of a receiver has to install the new secret.
const rotationOverlap = 24 * time.Hour

// rotateSecret is POST …/rotate-secret: it replaces the signing secret of an endpoint. For rotationOverlap, deliveries
// carry both signatures. The response shows a v1 secret this once; for a v1a key pair it shows the public key. 404:
// there is no such endpoint.
func (a actions[Out]) rotateSecret(ctx context.Context, c *route.Call, in *api.RotateSecret) (out Out, err error) {
	key, err := newSigningKey(in.Scheme)
	if err != nil {
		return out, err
	}
	by, id, err := a.endpoint(c)
	if err != nil {
		return out, err
	}
	seal := func(owner pleat.ProjectID) string { return a.sealKey(owner, key) }
	e, err := a.Webhooks.RotateSecret(ctx, by, id, seal, a.DB.Now().Add(rotationOverlap))
	if err != nil {
		return out, err
	}
	secret := ""
	if key.Public() == "" {
		secret = key.Text()
	}
	return a.show(&e, secret)
}

// test queues a test event for an endpoint and returns its delivery, whose attempts show the outcome. 404: there is no
// such endpoint; 409: it is not active.
func (a actions[Out]) test(ctx context.Context, c *route.Call) (api.Delivery, error) {
	by, id, err := a.endpoint(c)
	if err != nil {
		return api.Delivery{}, err
	}
	delivery, err := a.Webhooks.PingEndpoint(ctx, by, id)
	if err != nil {
		return api.Delivery{}, err
	}
	d, _, err := a.Webhooks.Delivery(ctx, by.Reach, delivery)
	return wire.Delivery(&d), err
}

// endpointFor returns what a caller with a role in its project sees of an endpoint, the default one or a named one. It
// reveals the public key of v1a and, to managers, the last letters of the token, but never a secret. It fails if token
// or secret cannot be opened, which means that the operator has removed the master key under which they were sealed.
func (h *Handlers) endpointFor(role pleat.Role, e *webhooks.Endpoint) (api.WebhookEndpoint, error) {
	out := h.endpointState(role, e)
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

// endpointState is the part of endpointFor that cannot fail.
func (h *Handlers) endpointState(role pleat.Role, e *webhooks.Endpoint) api.WebhookEndpoint {
	out := api.WebhookEndpoint{
		ID:              string(e.ID),
		ProjectID:       string(e.Owner),
		Name:            e.Name,
		TargetURL:       h.addressFor(role, e),
		Format:          cmp.Or(e.Format, "plain"),
		Events:          e.Events.Names(),
		IsActive:        e.Active,
		IsPaused:        e.Paused,
		DisabledReason:  wire.OptionalString(e.DisabledReason),
		RestsUntil:      h.ifLater(e.ResumeAt),
		SignatureScheme: "v1",
		SecretRotatedAt: api.MomentAt(e.RotatedAt),
		CreatedAt:       api.Moment{Time: e.CreatedAt},
		UpdatedAt:       api.Moment{Time: e.UpdatedAt},
	}
	if e.OldSecret != "" {
		out.OldSecretUntil = h.ifLater(e.OldSecretUntil)
	}
	return out
}

// readsAs returns the role by which a caller of a role reads endpoints: a manager's key that may not read the
// configuration of the default endpoint sees no more of the others than members do.
func readsAs(c *route.Call, role pleat.Role) pleat.Role {
	if c.Who.Scopes.Has(pleat.ScopeManage) {
		return role
	}
	return min(role, pleat.Member)
}

// addressFor returns the address of an endpoint as a caller with a role may see it: the path may hold a secret. An
// address whose key is lost has only its origin for managers, too.
func (h *Handlers) addressFor(role pleat.Role, e *webhooks.Endpoint) string {
	if role < pleat.Manager || e.Address.Sealed == "" {
		return e.Address.Origin
	}
	address, err := h.Ring.Open(string(e.Owner), webhooks.AddressColumn, e.Address.Sealed)
	if err != nil {
		return e.Address.Origin
	}
	return string(address)
}

// ifLater returns a moment that is still to come; nil if it has passed.
func (h *Handlers) ifLater(at time.Time) *api.Moment {
	if !h.DB.Now().Before(at) {
		return nil
	}
	return api.MomentAt(at)
}

// maskedToken returns the token of an endpoint as its manager sees it; nil: there is none.
func (h *Handlers) maskedToken(e *webhooks.Endpoint) (*string, error) {
	if e.Token == "" {
		return nil, nil
	}
	token, err := h.Ring.Open(string(e.Owner), webhooks.TokenColumn, e.Token)
	if err != nil {
		return nil, err
	}
	masked := mask(string(token))
	return &masked, nil
}

// verificationKey returns the public key of an endpoint whose signatures are v1a; empty: they are v1.
func (h *Handlers) verificationKey(e *webhooks.Endpoint) (string, error) {
	if e.Secret == "" {
		return "", nil
	}
	plain, err := h.Ring.Open(string(e.Owner), webhooks.SecretColumn, e.Secret)
	if err != nil {
		return "", err
	}
	k, err := webhook.ParseKey(string(plain))
	if err != nil {
		return "", nil // nothing is shown of a secret of another form
	}
	return k.Public(), nil
}

// mask redacts a token except for its last four characters, by which a user recognises it. A token of fewer than 16 is
// redacted completely, because four would reveal too much of it.
func mask(token string) string {
	const dots = "••••••••"
	if len(token) < 16 {
		return dots
	}
	return dots + token[len(token)-4:]
}

// newEndpoint reads the settings of a new endpoint of a project, or of the default one, and adds a signing secret. It
// also returns the secret as the user gets it. 400: a field is wrong.
func (h *Handlers) newEndpoint(
	ctx context.Context, owner pleat.ProjectID, in *api.ChangeEndpoint,
) (set webhooks.EndpointSettings, secret string, err error) {
	if *in.TargetURL == "" {
		return set, "", pleat.InvalidField("target_url", " is required; it must be an https URL")
	}
	key := webhook.NewKey()
	set, err = h.settings(ctx, owner, in)
	set.Secret = h.sealKey(owner, key)
	return set, key.Text(), err
}

// settings reads the settings of an endpoint of a project. 400: a field is wrong.
func (h *Handlers) settings(
	ctx context.Context, owner pleat.ProjectID, in *api.ChangeEndpoint,
) (out webhooks.EndpointSettings, err error) {
	if out.Name = in.Name; in.Name != nil {
		if err := pleat.CheckEndpointName("name", *in.Name); err != nil {
			return out, err
		}
	}
	if out.Events, err = parsed(in.Events, parseEvents); err != nil {
		return out, err
	}
	if out.Format, err = parsed(in.Format, parseFormat); err != nil {
		return out, err
	}
	seal := func(token string) (string, error) { return h.sealToken(owner, token) }
	if out.Token, err = parsed(in.TokenValue, seal); err != nil {
		return out, err
	}
	out.Address, err = parsed(in.TargetURL, func(text string) (pleat.Address, error) {
		to, err := h.Guard.CheckURL(ctx, "target_url", text)
		if err != nil {
			return pleat.Address{}, err
		}
		return h.Ring.SealAddress(owner, webhooks.AddressColumn, to.String()), nil
	})
	return out, err
}

// parsed returns what parse returns for the field of a request; nil for a field that is absent.
func parsed[In, Out any](field *In, parse func(In) (Out, error)) (*Out, error) {
	if field == nil {
		return nil, nil
	}
	out, err := parse(*field)
	return &out, err
}

// parseEvents returns the events that a request names; none: all.
func parseEvents(names []string) (pleat.EventSet, error) { return pleat.ParseEvents("events", names) }

// parseFormat returns the format of bodies that a request names; empty: plain.
func parseFormat(text string) (string, error) {
	switch text {
	case "", "plain":
		return string(webhook.FormatPlain), nil
	case "cloudevents":
		return string(webhook.FormatCloudEvents), nil
	}
	return "", pleat.InvalidField("format", " is %q; it may be plain or cloudevents", pleat.Clip(text))
}

// sealToken checks the token_value of a request, and seals it; empty stays empty.
func (h *Handlers) sealToken(owner pleat.ProjectID, token string) (string, error) {
	if token == "" {
		return "", nil
	}
	if err := webhook.CheckToken("token_value", token); err != nil {
		return "", err
	}
	return h.Ring.Seal(string(owner), webhooks.TokenColumn, []byte(token)), nil
}

// sealKey seals a signing key for a project.
func (h *Handlers) sealKey(owner pleat.ProjectID, key webhook.Key) string {
	return h.Ring.Seal(string(owner), webhooks.SecretColumn, []byte(key.Text()))
}

// newSigningKey makes the key of a signature scheme; empty: v1.
func newSigningKey(scheme string) (webhook.Key, error) {
	switch scheme {
	case "", "v1":
		return webhook.NewKey(), nil
	case "v1a":
		return webhook.NewKeyPair(), nil
	}
	return webhook.Key{}, pleat.InvalidField("scheme", " is %q; it may be v1 or v1a", pleat.Clip(scheme))
}
