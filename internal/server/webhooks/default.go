package webhooks

import (
	"cmp"
	"context"
	"encoding/json"
	"strings"
	"time"

	"pleat"
	"pleat/api"
	"pleat/internal/server/route"
	"pleat/internal/server/wire"
	"pleat/internal/store/webhooks"
	"pleat/internal/webhook"
)

// rotationOverlap is how long deliveries carry the signature of the old secret, too, after a rotation: the time that an
// operator of a receiver has to install the new secret.
const rotationOverlap = 24 * time.Hour

// webhookConfig is GET /v1/webhooks/custom-http-config, for any user: the caller's default endpoint, which all runs
// notify that name no other. A caller without one gets an empty configuration.
func (h *Handlers) webhookConfig(ctx context.Context, c *route.Call) (api.WebhookConfig, error) {
	e, err := h.Webhooks.DefaultEndpoint(ctx, c.In)
	if err != nil && pleat.CodeOf(err) != pleat.CodeNotFound {
		return api.WebhookConfig{}, err
	}
	e.Owner = c.In.Project
	return h.configOut(&e)
}

// putWebhookConfig is PUT /v1/webhooks/custom-http-config, for any user: it sets the default endpoint and activates it.
// The first request creates the signing secret, and its response is the only one that shows it. Later ones keep the
// secret, and the token if they have none and target_url has the same scheme, host and port. 400: the URL is not one
// that the service may send to, the token is missing, or a field is wrong.
func (h *Handlers) putWebhookConfig(
	ctx context.Context, c *route.Call, in *api.PutWebhookConfig,
) (api.WebhookConfig, error) {
	var none api.WebhookConfig
	if in.TargetURL == "" {
		return none, pleat.InvalidField("target_url", " is required; it must be an https URL")
	}
	format, err := parseFormat(in.Format)
	if err != nil {
		return none, err
	}
	owner := string(c.In.Project)
	token, err := h.sealToken(c.In.Project, in.TokenValue)
	if err != nil {
		return none, err
	}
	to, err := h.Guard.CheckURL(ctx, "target_url", in.TargetURL)
	if err != nil {
		return none, err
	}
	secret := webhook.NewKey().Text()
	sealed := h.Ring.Seal(owner, "secret", []byte(secret))
	e, err := h.Webhooks.PutEndpoint(ctx, c.Actor().In(c.In.Project), webhooks.EndpointConfig{
		URL:              to.String(),
		Token:            token,
		Secret:           sealed,
		Format:           format,
		EnabledByDefault: in.EnabledByDefault,
	})
	if err != nil {
		return none, err
	}
	out, err := h.configOut(&e)
	if e.Secret == sealed { // created by this request
		out.SigningSecret = secret
	}
	return out, err
}

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

// formatName is parseFormat the other way.
func formatName(stored string) string { return cmp.Or(stored, "plain") }

// sealToken checks the token_value of a request, and seals it; empty stays empty.
func (h *Handlers) sealToken(owner pleat.ProjectID, token string) (string, error) {
	if token == "" {
		return "", nil
	}
	if err := webhook.CheckToken("token_value", token); err != nil {
		return "", err
	}
	return h.Ring.Seal(string(owner), "token", []byte(token)), nil
}

// configOut converts an endpoint to the caller's webhook configuration. It reveals the last letters of the token and
// the public key of v1a, never a secret. It fails if token or secret cannot be opened, which means that the operator
// has removed the master key under which they were sealed.
func (h *Handlers) configOut(e *webhooks.Endpoint) (api.WebhookConfig, error) {
	out := api.WebhookConfig{
		UserID:           string(e.Owner),
		IsActive:         e.Active,
		IsConfigured:     e.URL != "" && e.Token != "",
		IsPaused:         e.Paused,
		EnabledByDefault: e.EnabledByDefault,
		TargetURL:        wire.OptionalString(e.URL),
		Format:           formatName(e.Format),
		TokenHeader:      webhook.HeaderToken,
		HTTPAuthMode:     "x_webhook_token",
		HasToken:         e.Token != "",
		SignatureScheme:  "v1",
		SecretRotatedAt:  api.MomentAt(e.RotatedAt),
		UpdatedAt:        api.MomentAt(e.UpdatedAt),
		OldSecretUntil:   h.oldSecretUntil(e),
		DisabledReason:   wire.OptionalString(e.DisabledReason),
		RestsUntil:       h.restsUntil(e),
	}
	var err error
	if out.TokenMasked, err = h.maskedToken(e); err != nil {
		return out, err
	}
	public, err := h.verificationKey(e)
	if public != "" {
		out.SignatureScheme, out.VerificationKey = "v1a", &public
	}
	return out, err
}

// maskedToken returns the token of an endpoint as its manager sees it; nil: there is none.
func (h *Handlers) maskedToken(e *webhooks.Endpoint) (*string, error) {
	if e.Token == "" {
		return nil, nil
	}
	token, err := h.Ring.Open(string(e.Owner), "token", e.Token)
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
	plain, err := h.Ring.Open(string(e.Owner), "secret", e.Secret)
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

// changeWebhook returns the handler of DELETE /v1/webhooks/custom-http-config and of …/pause and …/resume, which make
// one change to the caller's default endpoint. Deliveries that wait are kept. 404: the caller has no endpoint.
func (h *Handlers) changeWebhook(
	change webhooks.EndpointChange) func(context.Context, *route.Call,
) (api.WebhookConfig, error) {
	return func(ctx context.Context, c *route.Call) (api.WebhookConfig, error) {
		e, err := h.Webhooks.SwitchEndpoint(ctx, c.Actor().In(c.In.Project), webhooks.Default, change)
		if err != nil {
			return api.WebhookConfig{}, err
		}
		return h.configOut(&e)
	}
}

// rotateSecret is POST /v1/webhooks/custom-http-config/rotate-secret, for any user: it replaces the signing secret.
// For rotationOverlap, deliveries carry both signatures. The response shows a v1 secret this once; of a v1a key pair
// it shows the public key. 404: the caller has no endpoint.
func (h *Handlers) rotateSecret(ctx context.Context, c *route.Call, in *api.RotateSecret) (api.WebhookConfig, error) {
	key, err := newSigningKey(in.Scheme)
	if err != nil {
		return api.WebhookConfig{}, err
	}
	e, err := h.Webhooks.RotateSecret(ctx, c.Actor().In(c.In.Project), webhooks.Default, h.sealed(key),
		h.DB.Now().Add(rotationOverlap))
	if err != nil {
		return api.WebhookConfig{}, err
	}
	out, err := h.configOut(&e)
	if key.Public() == "" {
		out.SigningSecret = key.Text()
	}
	return out, err
}

// sealed returns a function that seals a signing key for a project.
func (h *Handlers) sealed(key webhook.Key) func(pleat.ProjectID) string {
	return func(owner pleat.ProjectID) string { return h.Ring.Seal(string(owner), "secret", []byte(key.Text())) }
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

// subscriptions is GET /v1/webhooks/subscriptions, for any user: the destinations that the caller's runs resolved when
// they were created, newest first, in pages.
func (h *Handlers) subscriptions(ctx context.Context, c *route.Call) (api.List[api.Subscription], error) {
	p, err := c.PageQuery(route.MaxPage)
	if err != nil {
		return api.List[api.Subscription]{}, err
	}
	rows, err := h.Webhooks.Subscriptions(ctx, c.In, p.Before, p.Limit+1)
	if err != nil {
		return api.List[api.Subscription]{}, err
	}
	return route.List(p, rows, func(r *webhooks.SubscriptionRow) string { return string(r.ID) }, wire.Subscription), nil
}

// deliveryStatuses are the states that a list of deliveries may be filtered by.
var deliveryStatuses = []pleat.DeliveryStatus{
	pleat.DeliveryPending, pleat.DeliveryRunning, pleat.DeliverySucceeded, pleat.DeliveryFailed,
}

// deliveries is GET /v1/webhooks/deliveries, for any user: the caller's deliveries, newest first, in pages. They can be
// narrowed by status, by endpoint, and by the job or workflow that they are about.
func (h *Handlers) deliveries(ctx context.Context, c *route.Call) (api.List[api.Delivery], error) {
	p, err := c.PageQuery(50)
	if err != nil {
		return api.List[api.Delivery]{}, err
	}
	f := webhooks.DeliveryFilter{Limit: p.Limit + 1, Before: p.Before}
	if f.Status, err = route.StatusQuery(c, deliveryStatuses); err != nil {
		return api.List[api.Delivery]{}, err
	}
	if f.SourceID, err = c.UUIDQuery("source_id"); err != nil {
		return api.List[api.Delivery]{}, err
	}
	f.SourceID = strings.ToLower(f.SourceID)
	endpoint, err := c.UUIDQuery("endpoint_id")
	if err != nil {
		return api.List[api.Delivery]{}, err
	}
	f.Endpoint = pleat.EndpointID(strings.ToLower(endpoint))
	rows, err := h.Webhooks.Deliveries(ctx, c.In, f)
	if err != nil {
		return api.List[api.Delivery]{}, err
	}
	return route.List(p, rows, func(d *webhooks.Delivery) string { return string(d.ID) }, wire.Delivery), nil
}

// delivery is GET /v1/webhooks/deliveries/{id}, for its owner: a delivery with the log of its attempts, oldest first.
func (h *Handlers) delivery(ctx context.Context, c *route.Call) (api.DeliveryDetail, error) {
	id, err := c.UUID("id", webhooks.ErrNoDelivery)
	if err != nil {
		return api.DeliveryDetail{}, err
	}
	d, tries, err := h.Webhooks.Delivery(ctx, c.Reach(), pleat.DeliveryID(id))
	if err != nil {
		return api.DeliveryDetail{}, err
	}
	out := api.DeliveryDetail{Delivery: wire.Delivery(&d), AttemptLog: []api.DeliveryAttempt{}}
	for i := range tries {
		out.AttemptLog = append(out.AttemptLog, wire.DeliveryAttempt(&tries[i]))
	}
	return out, nil
}

// redeliverOne is POST /v1/webhooks/deliveries/{id}/redeliver, for its owner. The receiver gets the same webhook-id
// again, by which it can recognise what it has processed. 409: the delivery has not finished, or it is a follow-up.
func (h *Handlers) redeliverOne(ctx context.Context, c *route.Call) (api.Delivery, error) {
	id, err := c.UUID("id", webhooks.ErrNoDelivery)
	if err != nil {
		return api.Delivery{}, err
	}
	if err := h.Webhooks.Redeliver(ctx, c.Reach(), pleat.DeliveryID(id)); err != nil {
		return api.Delivery{}, err
	}
	d, _, err := h.Webhooks.Delivery(ctx, c.Reach(), pleat.DeliveryID(id))
	return wire.Delivery(&d), err
}

// maxRedeliver is how many deliveries one call sends again: one transaction that holds the database only briefly.
const maxRedeliver = 1000

// redeliver is POST /v1/webhooks/deliveries/redeliver, for any user: it sends the caller's finished deliveries of a
// filter again, or with the status PENDING sends now what waits for its next attempt, the oldest first, at most
// maxRedeliver of them. If more is true in the response, the caller calls again. 400: the filter is empty, since that
// would send everything again.
func (h *Handlers) redeliver(ctx context.Context, c *route.Call, in *api.Redeliver) (api.Redelivered, error) {
	f := webhooks.DeliveryFilter{
		Limit:    maxRedeliver,
		Status:   pleat.DeliveryStatus(in.Status),
		SourceID: strings.ToLower(in.SourceID),
		Endpoint: pleat.EndpointID(strings.ToLower(in.Endpoint)),
	}
	if *in == (api.Redeliver{}) {
		return api.Redelivered{},
			pleat.Invalidf("the request selects no deliveries; set at least one of status, since, source_id " +
				"and endpoint_id").
				At("status")
	}
	switch f.Status {
	case "", pleat.DeliverySucceeded, pleat.DeliveryFailed, pleat.DeliveryPending:
	default:
		return api.Redelivered{}, pleat.InvalidField("status",
			" is %q; it must be SUCCEEDED, FAILED or PENDING", pleat.Clip(in.Status))
	}
	if in.SourceID != "" && !pleat.IsUUID(in.SourceID) {
		return api.Redelivered{}, pleat.InvalidField("source_id", " is %q; it must be a UUID", pleat.Clip(in.SourceID))
	}
	if in.Endpoint != "" && !pleat.IsUUID(in.Endpoint) {
		return api.Redelivered{},
			pleat.InvalidField("endpoint_id", " is %q; it must be a UUID", pleat.Clip(in.Endpoint))
	}
	if in.Since != "" {
		at, err := time.Parse(time.RFC3339Nano, in.Since)
		if err != nil {
			return api.Redelivered{},
				pleat.InvalidField("since", " is %q; it must be a time such as 2026-01-02T15:04:05Z",
					pleat.Clip(in.Since))
		}
		f.Since = at
	}
	n, err := h.Webhooks.RedeliverAll(ctx, c.In, f)
	return api.Redelivered{Redelivered: n, More: n == maxRedeliver}, err
}

// testWebhook is POST /v1/webhooks/test, for any user: it queues a test event for the caller's default endpoint and
// answers with its delivery, whose attempts show the outcome. 404: the caller has no endpoint; 409: it is not active.
func (h *Handlers) testWebhook(ctx context.Context, c *route.Call) (api.Delivery, error) {
	id, err := h.Webhooks.PingEndpoint(ctx, c.Actor().In(c.In.Project), webhooks.Default)
	if err != nil {
		return api.Delivery{}, err
	}
	d, _, err := h.Webhooks.Delivery(ctx, c.In, id)
	return wire.Delivery(&d), err
}

// headerIngest is the header that carries the operator's secret.
const headerIngest = "X-Webhook-Ingest-Secret"

// ingests is the endpoint of POST /v1/webhooks/events/ingest, for the operator's own systems. It checks the secret
// before it reads the body, and refuses every request while the configuration has no secret.
func (h *Handlers) ingests() route.Endpoint {
	return route.JSONBody(route.Small, h.ingest).Before(func(_ context.Context, c *route.Call) error {
		return c.CheckSecret(c.R.Header.Get(headerIngest), h.IngestSecret)
	})
}

// ingest records the end of a run that another system of the operator executed, and starts the deliveries that the job
// or workflow has subscribed to. A request with the id of an earlier one changes nothing.
func (h *Handlers) ingest(ctx context.Context, _ *route.Call, in *api.IngestEvent) (api.IngestedEvent, error) {
	kind := pleat.SourceKind(in.SourceKind)
	e := pleat.Event{
		Source:  pleat.SourceOf(kind, strings.ToLower(in.SourceID)),
		Name:    pleat.EventName(in.EventName),
		Status:  pleat.State(in.Status),
		Payload: in.Payload,
	}
	if string(in.Payload) == "null" {
		e.Payload = nil
	}
	var object map[string]json.RawMessage
	switch {
	case kind != pleat.SourceFold && kind != pleat.SourceWorkflow:
		return api.IngestedEvent{}, pleat.InvalidField("source_kind", " is %q; it may be fold_job or workflow",
			pleat.Clip(in.SourceKind))
	case e.Name != pleat.OnComplete && e.Name != pleat.OnFailed:
		return api.IngestedEvent{}, pleat.InvalidField("event_name", " is %q; it may be on_complete or on_failed",
			pleat.Clip(in.EventName))
	case !e.Status.Terminal():
		return api.IngestedEvent{}, pleat.InvalidField("status", " is %q; it may be COMPLETED, FAILED or STOPPED",
			pleat.Clip(in.Status))
	case pleat.EventFor(e.Status) != e.Name:
		return api.IngestedEvent{},
			pleat.InvalidField("event_name", " is %s and status is %s; the event of a run that is %s is %s", e.Name,
				e.Status, e.Status, pleat.EventFor(e.Status))
	case !pleat.IsUUID(in.SourceID):
		return api.IngestedEvent{}, pleat.InvalidField("source_id", " is %q; it must be the id of a job or workflow",
			pleat.Clip(in.SourceID))
	case len(in.ID) > 200:
		return api.IngestedEvent{}, pleat.InvalidField("id", " has %d characters; at most 200 are allowed", len(in.ID))
	case len(e.Payload) > 0 && json.Unmarshal(e.Payload, &object) != nil:
		return api.IngestedEvent{}, pleat.InvalidField("payload", " must be an object")
	}
	id, repeated, err := h.Webhooks.Ingest(ctx, in.ID, e)
	return api.IngestedEvent{EventID: string(id), Repeated: repeated}, err
}
