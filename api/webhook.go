package api

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"pleat/internal/words"
)

// Moment is a time in webhook documents: UTC, ISO 8601, milliseconds, Z. The zero value is written as null.
type Moment struct{ time.Time }

const momentForm = "2006-01-02T15:04:05.000Z"

// MomentAt is t as webhook documents show it; nil for the zero time.
func MomentAt(t time.Time) *Moment {
	if t.IsZero() {
		return nil
	}
	return &Moment{t.UTC()}
}

// MarshalText writes the moment; empty for the zero value.
func (m Moment) MarshalText() ([]byte, error) {
	if m.IsZero() {
		return nil, nil
	}
	return m.UTC().AppendFormat(nil, momentForm), nil
}

// MarshalJSON is MarshalText in quotes; null for the zero value.
func (m Moment) MarshalJSON() ([]byte, error) {
	if m.IsZero() {
		return []byte("null"), nil
	}
	return []byte(`"` + m.UTC().Format(momentForm) + `"`), nil
}

// UnmarshalText reads RFC 3339.
func (m *Moment) UnmarshalText(b []byte) error {
	at, err := time.Parse(time.RFC3339Nano, string(b))
	if err != nil {
		return fmt.Errorf("%q is not a time such as %q", words.Clip(string(b)), momentForm)
	}
	m.Time = at.UTC()
	return nil
}

// UnmarshalJSON reads what MarshalJSON writes.
func (m *Moment) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		*m = Moment{}
		return nil
	}
	var s string
	if err := json.Unmarshal(b, &s); err != nil {
		return fmt.Errorf("a time must be a string such as %q", momentForm)
	}
	return m.UnmarshalText([]byte(s))
}

// WebhookConfig is the caller's default endpoint: the answer to every call on /v1/webhooks/custom-http-config.
type WebhookConfig struct {
	UserID           string  `json:"user_id" format:"uuid"`
	IsActive         bool    `json:"is_active" doc:"Whether deliveries are sent; false after DELETE, or if the service has disabled the endpoint."`
	IsConfigured     bool    `json:"is_configured" doc:"Whether a target and a token are set."`
	IsPaused         bool    `json:"is_paused" doc:"Whether deliveries wait until resume is called."`
	EnabledByDefault bool    `json:"enabled_by_default" doc:"Whether runs without custom_http notify this endpoint."`
	TargetURL        *string `json:"target_url"`
	Format           string  `json:"format" enum:"PayloadFormat" doc:"Format of the bodies: plain, or CloudEvents."`
	TokenHeader      string  `json:"token_header" example:"X-Webhook-Token"`
	HTTPAuthMode     string  `json:"http_auth_mode" example:"x_webhook_token"`
	HasToken         bool    `json:"has_token"`
	TokenMasked      *string `json:"secret_token_masked" doc:"Dots, then the last four characters of a token of at least 16; null if there is no token."`
	SignatureScheme  string  `json:"signature_scheme" enum:"SignatureScheme" doc:"v1: a shared secret; v1a: an Ed25519 key."`
	VerificationKey  *string `json:"verification_key" doc:"The public key (whpk_…) for v1a; null for v1."`
	SecretRotatedAt  *Moment `json:"secret_rotated_at"`
	OldSecretUntil   *Moment `json:"old_secret_until" doc:"Until then deliveries are signed with the previous secret too."`
	UpdatedAt        *Moment `json:"updated_at"`
	DisabledReason   *string `json:"disabled_reason" doc:"Why the endpoint is not active."`
	RestsUntil       *Moment `json:"rests_until" doc:"Until then no deliveries are sent, because earlier ones failed; null if they are."`
	SigningSecret    string  `json:"signing_secret,omitempty" doc:"The secret (whsec_…) for v1. It is shown once, in the response that creates it."`
}

// PutWebhookConfig is the body of PUT /v1/webhooks/custom-http-config ([Client.PutWebhookConfig]).
type PutWebhookConfig struct {
	TargetURL        string `json:"target_url" doc:"URL to which events are posted: https, unless the operator allows its network." maxLength:"2048" example:"https://hooks.example.org/pleat"`
	TokenValue       string `json:"token_value,omitempty" doc:"Sent as X-Webhook-Token and never shown. Required the first time; absent later: unchanged." maxLength:"1024"`
	EnabledByDefault *bool  `json:"enabled_by_default,omitempty" doc:"Unchanged if absent; false at first."`
	Format           string `json:"format,omitempty" enum:"PayloadFormat" doc:"Format of the bodies; absent: plain."`
}

// WebhookEndpoint is a named endpoint of a project, which gets the events of its filter.
type WebhookEndpoint struct {
	ID              string   `json:"id" format:"uuid"`
	ProjectID       string   `json:"project_id" format:"uuid"`
	Name            string   `json:"name"`
	TargetURL       string   `json:"target_url" doc:"Only the origin unless you manage the project."`
	Format          string   `json:"format" enum:"PayloadFormat" doc:"Format of the bodies: plain, or CloudEvents."`
	Events          []string `json:"events" doc:"The events that it gets, such as fold_job.on_failed; empty: all."`
	IsActive        bool     `json:"is_active" doc:"Whether deliveries are sent; false if the service has disabled the endpoint."`
	IsPaused        bool     `json:"is_paused" doc:"Whether deliveries wait until resume is called."`
	DisabledReason  *string  `json:"disabled_reason" doc:"Why the endpoint is not active."`
	RestsUntil      *Moment  `json:"rests_until" doc:"Until then no deliveries are sent, because earlier ones failed; null if they are."`
	HasToken        *bool    `json:"has_token" doc:"Null unless you manage the project."`
	TokenMasked     *string  `json:"secret_token_masked" doc:"As in WebhookConfig; null unless you manage the project."`
	SignatureScheme string   `json:"signature_scheme" enum:"SignatureScheme" doc:"v1: a shared secret; v1a: an Ed25519 key."`
	VerificationKey *string  `json:"verification_key" doc:"The public key (whpk_…) for v1a; null for v1."`
	SecretRotatedAt *Moment  `json:"secret_rotated_at"`
	OldSecretUntil  *Moment  `json:"old_secret_until" doc:"Until then deliveries are signed with the previous secret too."`
	CreatedAt       Moment   `json:"created_at"`
	UpdatedAt       Moment   `json:"updated_at"`
	SigningSecret   string   `json:"signing_secret,omitempty" doc:"The secret (whsec_…) for v1. It is shown once, in the response that creates it."`
}

// WebhookEndpoints is where the events of a project go.
type WebhookEndpoints struct {
	Data    []WebhookEndpoint `json:"data" doc:"The named endpoints, by name, at most 10."`
	Default *DefaultEndpoint  `json:"default_endpoint" doc:"The endpoint of /v1/webhooks/custom-http-config; null if nobody has configured it."`
}

// DefaultEndpoint is what every member of a project may know of the endpoint of [Client.WebhookConfig].
type DefaultEndpoint struct {
	ID               string  `json:"id" format:"uuid"`
	TargetURL        string  `json:"target_url" doc:"Only the origin unless you manage the project."`
	IsActive         bool    `json:"is_active"`
	IsPaused         bool    `json:"is_paused"`
	EnabledByDefault bool    `json:"enabled_by_default" doc:"Whether runs without custom_http notify it."`
	DisabledReason   *string `json:"disabled_reason"`
	RestsUntil       *Moment `json:"rests_until"`
}

// CreateEndpoint is the body of POST /v1/webhooks/endpoints.
type CreateEndpoint struct {
	Name       string   `json:"name" minLength:"1" maxLength:"60" doc:"No other endpoint of the project has it."`
	TargetURL  string   `json:"target_url" doc:"URL to which events are posted: https, unless the operator allows its network." maxLength:"2048" example:"https://hooks.example.org/pleat"`
	TokenValue string   `json:"token_value,omitempty" doc:"Sent as X-Webhook-Token and never shown; absent: none is sent." maxLength:"1024"`
	Format     string   `json:"format,omitempty" enum:"PayloadFormat" doc:"Format of the bodies; absent: plain."`
	Events     []string `json:"events,omitempty" maxItems:"6" doc:"The events that it gets: fold_job, workflow or batch, a dot, and on_complete or on_failed; absent or empty: all."`
}

// ChangeEndpoint is the body of PATCH /v1/webhooks/endpoints/{id}. An absent field keeps its value.
type ChangeEndpoint struct {
	Name       *string   `json:"name,omitempty" minLength:"1" maxLength:"60"`
	TargetURL  *string   `json:"target_url,omitempty" maxLength:"2048" doc:"Another scheme, host or port needs token_value too, if a token is stored."`
	TokenValue *string   `json:"token_value,omitempty" maxLength:"1024" doc:"Sent as X-Webhook-Token; empty: none from now on."`
	Format     *string   `json:"format,omitempty" enum:"PayloadFormat"`
	Events     *[]string `json:"events,omitempty" maxItems:"6" doc:"Instead of those that it had; empty: all."`
}

// DeletedEndpoint is the response of DELETE /v1/webhooks/endpoints/{id}.
type DeletedEndpoint struct {
	ID      string `json:"id" format:"uuid"`
	Deleted bool   `json:"deleted"`
}

// RotateSecret is the body of POST /v1/webhooks/custom-http-config/rotate-secret, and of the same of a named endpoint;
// it may be left out.
type RotateSecret struct {
	Scheme string `json:"scheme,omitempty" enum:"SignatureScheme" doc:"v1: a shared secret (default); v1a: an Ed25519 key."`
}

// Subscription is one destination that a run resolved when it was created.
type Subscription struct {
	ID           string              `json:"id" format:"uuid"`
	Name         string              `json:"name" example:"fold:01890a5d-ac96-774b-bcce-b302099a8057:custom_http"`
	TargetType   string              `json:"target_type" example:"custom_http"`
	InputMapping SubscriptionMapping `json:"input_mapping"`
	CreatedAt    Moment              `json:"created_at"`
}

// SubscriptionMapping names what a subscription listens to.
type SubscriptionMapping struct {
	SourceJobID      string `json:"sourceJobId,omitempty"`
	SourceJobRunID   string `json:"sourceJobRunId,omitempty"`
	SourceWorkflowID string `json:"sourceWorkflowId,omitempty"`
	SourceBatchID    string `json:"sourceBatchId,omitempty"`
}

// Delivery is the delivery of an event to one destination.
type Delivery struct {
	ID              string  `json:"id" format:"uuid" doc:"Every attempt sends it as webhook-id."`
	EventID         string  `json:"event_id" format:"uuid"`
	SubscriptionID  *string `json:"subscription_id" doc:"Null for a test delivery, and for one to a named endpoint."`
	EndpointID      *string `json:"endpoint_id" doc:"To which it goes; null for a follow-up."`
	EndpointName    *string `json:"endpoint_name" doc:"Name of a named endpoint; null for the default one, for that of a run, and for a follow-up."`
	Destination     string  `json:"destination" enum:"DestinationType"`
	Status          string  `json:"status" enum:"DeliveryStatus"`
	TriggeredTarget *string `json:"triggered_target_id" doc:"The workflow that this delivery started, if it is a follow-up."`
	SourceKind      string  `json:"source_kind" enum:"DeliverySource"`
	SourceID        string  `json:"source_id"`
	EventName       string  `json:"event_name" enum:"EventName"`
	EventStatus     string  `json:"event_status" enum:"FinalStatus" doc:"How the run ended."`
	Attempts        int     `json:"attempts" doc:"Number of attempts."`
	NextAttemptAt   *Moment `json:"next_attempt_at" doc:"Null if no attempt is due."`
	ResponseStatus  *int    `json:"response_status" doc:"Status of the last response; null if there was none."`
	Reason          *string `json:"reason" doc:"Why the delivery is FAILED."`
	CreatedAt       Moment  `json:"created_at"`
}

// DeliveryDetail is a delivery with its attempts.
type DeliveryDetail struct {
	Delivery
	AttemptLog []DeliveryAttempt `json:"attempt_log" doc:"Every attempt, oldest first, at most 500."`
}

// DeliveryAttempt is one try at a delivery.
type DeliveryAttempt struct {
	Number         int               `json:"number"`
	StartedAt      Moment            `json:"started_at"`
	EndedAt        *Moment           `json:"ended_at"`
	Outcome        string            `json:"outcome" enum:"AttemptOutcome" doc:"released: the service stopped during the attempt; lost: its process died."`
	ResponseStatus *int              `json:"response_status"`
	Error          *string           `json:"error" doc:"The class of the failure, such as timeout_wait."`
	Message        *string           `json:"message"`
	Answer         *string           `json:"answer" doc:"Start of the response body; not stored if only the operator's setting allows its network."`
	Headers        map[string]string `json:"headers" doc:"Some headers of the response."`
	Timings        DeliveryTimings   `json:"timings"`
}

// DeliveryTimings is how long each phase of an attempt took, in milliseconds; 0 where it did not happen.
type DeliveryTimings struct {
	DNS     float64 `json:"dns_ms"`
	Connect float64 `json:"connect_ms"`
	TLS     float64 `json:"tls_ms"`
	Send    float64 `json:"send_ms"`
	Wait    float64 `json:"wait_ms"`
	Body    float64 `json:"body_ms"`
	Total   float64 `json:"total_ms"`
	Reused  bool    `json:"connection_reused"`
}

// DeliveriesFilter narrows GET /v1/webhooks/deliveries. The zero value lists the newest 50.
type DeliveriesFilter struct {
	Limit    int // 1 to 200; 0: 50
	Cursor   string
	Status   string
	SourceID string
	Endpoint string
}

// Redeliver is the body of POST /v1/webhooks/deliveries/redeliver ([Client.Redeliver]): it selects the deliveries to
// send again, which are finished, or with the status PENDING wait for their next attempt. At least one field is
// required.
type Redeliver struct {
	Status   string `json:"status,omitempty" enum:"RedeliveredStatus" doc:"PENDING sends now what waits for its next attempt."`
	Since    string `json:"since,omitempty" format:"date-time" doc:"Only deliveries of events since this time."`
	SourceID string `json:"source_id,omitempty" format:"uuid" doc:"Only deliveries of this job or workflow."`
	Endpoint string `json:"endpoint_id,omitempty" format:"uuid" doc:"Only deliveries to this endpoint."`
}

// Redelivered is the answer to [Client.Redeliver].
type Redelivered struct {
	Redelivered int  `json:"redelivered" doc:"Number of deliveries that are sent again."`
	More        bool `json:"more" doc:"Whether the call reached its limit of 1000 deliveries; call again."`
}

// IngestEvent is the body of POST /v1/webhooks/events/ingest.
type IngestEvent struct {
	ID         string          `json:"id,omitempty" doc:"Makes the call idempotent: the same id changes nothing again." maxLength:"200"`
	SourceKind string          `json:"source_kind" enum:"EventSource"`
	EventName  string          `json:"event_name" enum:"EventName"`
	Status     string          `json:"status" enum:"FinalStatus"`
	SourceID   string          `json:"source_id" format:"uuid" doc:"A job or workflow of this service."`
	Payload    json.RawMessage `json:"payload,omitempty" doc:"An object to deliver with the event."`
}

// IngestedEvent is the answer to [IngestEvent].
type IngestedEvent struct {
	EventID  string `json:"event_id" format:"uuid"`
	Repeated bool   `json:"repeated" doc:"Whether an earlier call had the same id; this one changed nothing then."`
}

const webhookConfig = "/v1/webhooks/custom-http-config"

// WebhookConfig reads the caller's default endpoint.
func (c *Client) WebhookConfig(ctx context.Context) (WebhookConfig, error) {
	return do[WebhookConfig](ctx, c, c.list(webhookConfig, nil))
}

// PutWebhookConfig sets the caller's default endpoint.
func (c *Client) PutWebhookConfig(ctx context.Context, in PutWebhookConfig) (WebhookConfig, error) {
	return do[WebhookConfig](ctx, c, c.inProject(request{method: http.MethodPut, path: webhookConfig, body: in}))
}

// DeleteWebhookConfig deactivates the caller's default endpoint.
func (c *Client) DeleteWebhookConfig(ctx context.Context) (WebhookConfig, error) {
	return do[WebhookConfig](ctx, c, c.inProject(request{method: http.MethodDelete, path: webhookConfig}))
}

// RotateWebhookSecret makes a new signing secret. For a day, deliveries are signed with the old one too.
func (c *Client) RotateWebhookSecret(ctx context.Context, in RotateSecret) (WebhookConfig, error) {
	return do[WebhookConfig](ctx, c, c.inProject(post(webhookConfig+"/rotate-secret", in)))
}

// PauseWebhook holds deliveries back until [Client.ResumeWebhook] is called.
func (c *Client) PauseWebhook(ctx context.Context) (WebhookConfig, error) {
	return do[WebhookConfig](ctx, c, c.inProject(post(webhookConfig+"/pause", nil)))
}

// ResumeWebhook sends the deliveries that wait and those that follow.
func (c *Client) ResumeWebhook(ctx context.Context) (WebhookConfig, error) {
	return do[WebhookConfig](ctx, c, c.inProject(post(webhookConfig+"/resume", nil)))
}

// TestWebhook sends a test delivery to the caller's default endpoint.
func (c *Client) TestWebhook(ctx context.Context) (Delivery, error) {
	return do[Delivery](ctx, c, c.inProject(post("/v1/webhooks/test", nil)))
}

const webhookEndpoints = "/v1/webhooks/endpoints"

// endpointPath is the path of a named endpoint, or of an action on it.
func endpointPath(id, action string) string {
	return webhookEndpoints + "/" + url.PathEscape(id) + action
}

// WebhookEndpoints lists the named endpoints of the project, and says whether it has a default one.
func (c *Client) WebhookEndpoints(ctx context.Context) (WebhookEndpoints, error) {
	return do[WebhookEndpoints](ctx, c, c.list(webhookEndpoints, nil))
}

// WebhookEndpoint reads a named endpoint.
func (c *Client) WebhookEndpoint(ctx context.Context, id string) (WebhookEndpoint, error) {
	return do[WebhookEndpoint](ctx, c, get(endpointPath(id, ""), nil))
}

// CreateWebhookEndpoint adds a named endpoint to the project. Only this response has its signing secret.
func (c *Client) CreateWebhookEndpoint(ctx context.Context, in CreateEndpoint) (WebhookEndpoint, error) {
	return do[WebhookEndpoint](ctx, c, c.inProject(post(webhookEndpoints, in)))
}

// ChangeWebhookEndpoint changes a named endpoint.
func (c *Client) ChangeWebhookEndpoint(ctx context.Context, id string, in ChangeEndpoint) (WebhookEndpoint, error) {
	return do[WebhookEndpoint](ctx, c, request{method: http.MethodPatch, path: endpointPath(id, ""), body: in})
}

// DeleteWebhookEndpoint deletes a named endpoint. Deliveries that wait for it fail.
func (c *Client) DeleteWebhookEndpoint(ctx context.Context, id string) (DeletedEndpoint, error) {
	return do[DeletedEndpoint](ctx, c, request{method: http.MethodDelete, path: endpointPath(id, "")})
}

// PauseWebhookEndpoint holds the deliveries of a named endpoint back until [Client.ResumeWebhookEndpoint] is called.
func (c *Client) PauseWebhookEndpoint(ctx context.Context, id string) (WebhookEndpoint, error) {
	return do[WebhookEndpoint](ctx, c, post(endpointPath(id, "/pause"), nil))
}

// ResumeWebhookEndpoint sends the deliveries that wait for a named endpoint and those that follow.
func (c *Client) ResumeWebhookEndpoint(ctx context.Context, id string) (WebhookEndpoint, error) {
	return do[WebhookEndpoint](ctx, c, post(endpointPath(id, "/resume"), nil))
}

// RotateEndpointSecret is [Client.RotateWebhookSecret] for a named endpoint.
func (c *Client) RotateEndpointSecret(ctx context.Context, id string, in RotateSecret) (WebhookEndpoint, error) {
	return do[WebhookEndpoint](ctx, c, post(endpointPath(id, "/rotate-secret"), in))
}

// TestWebhookEndpoint sends a test delivery to a named endpoint.
func (c *Client) TestWebhookEndpoint(ctx context.Context, id string) (Delivery, error) {
	return do[Delivery](ctx, c, post(endpointPath(id, "/test"), nil))
}

// Deliveries lists the caller's deliveries, newest first.
func (c *Client) Deliveries(ctx context.Context, f DeliveriesFilter) (List[Delivery], error) {
	q := url.Values{}
	for name, v := range map[string]string{
		"cursor": f.Cursor, "status": f.Status, "source_id": f.SourceID, "endpoint_id": f.Endpoint,
	} {
		if v != "" {
			q.Set(name, v)
		}
	}
	if f.Limit != 0 {
		q.Set("limit", strconv.Itoa(f.Limit))
	}
	return do[List[Delivery]](ctx, c, c.list("/v1/webhooks/deliveries", q))
}

// Delivery reads a delivery with its attempts.
func (c *Client) Delivery(ctx context.Context, id string) (DeliveryDetail, error) {
	return do[DeliveryDetail](ctx, c, get("/v1/webhooks/deliveries/"+url.PathEscape(id), nil))
}

// RedeliverOne sends an ended delivery again, under the same webhook-id.
func (c *Client) RedeliverOne(ctx context.Context, id string) (Delivery, error) {
	return do[Delivery](ctx, c, post("/v1/webhooks/deliveries/"+url.PathEscape(id)+"/redeliver", nil))
}

// Redeliver sends the deliveries of a filter again, up to a thousand: ended ones, or with the status PENDING those that
// wait for their next attempt.
func (c *Client) Redeliver(ctx context.Context, in Redeliver) (Redelivered, error) {
	return do[Redelivered](ctx, c, c.inProject(post("/v1/webhooks/deliveries/redeliver", in)))
}
