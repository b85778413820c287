package webhooks

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"pleat"
	"pleat/api"
	"pleat/internal/server/route"
	"pleat/internal/server/wire"
	"pleat/internal/store/webhooks"
)

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
	f, err := redeliveryFilter(in)
	if err != nil {
		return api.Redelivered{}, err
	}
	n, err := h.Webhooks.RedeliverAll(ctx, c.In, f)
	return api.Redelivered{Redelivered: n, More: n == maxRedeliver}, err
}

// redeliveryFilter reads the filter of deliveries to send again.
func redeliveryFilter(in *api.Redeliver) (f webhooks.DeliveryFilter, err error) {
	f = webhooks.DeliveryFilter{
		Limit:    maxRedeliver,
		Status:   pleat.DeliveryStatus(in.Status),
		SourceID: strings.ToLower(in.SourceID),
		Endpoint: pleat.EndpointID(strings.ToLower(in.Endpoint)),
	}
	switch f.Status {
	case "", pleat.DeliverySucceeded, pleat.DeliveryFailed, pleat.DeliveryPending:
	default:
		return f, pleat.InvalidField("status", " is %q; it must be SUCCEEDED, FAILED or PENDING", pleat.Clip(in.Status))
	}
	switch {
	case *in == (api.Redeliver{}):
		return f, pleat.Invalidf("the request selects no deliveries; set at least one of status, since, source_id " +
			"and endpoint_id").At("status")
	case in.SourceID != "" && !pleat.IsUUID(in.SourceID):
		return f, pleat.InvalidField("source_id", " is %q; it must be a UUID", pleat.Clip(in.SourceID))
	case in.Endpoint != "" && !pleat.IsUUID(in.Endpoint):
		return f, pleat.InvalidField("endpoint_id", " is %q; it must be a UUID", pleat.Clip(in.Endpoint))
	case in.Since != "":
		if f.Since, err = time.Parse(time.RFC3339Nano, in.Since); err != nil {
			return f, pleat.InvalidField("since", " is %q; it must be a time such as 2026-01-02T15:04:05Z",
				pleat.Clip(in.Since))
		}
	}
	return f, nil
}

// headerIngest is the header that carries the operator's secret.
const headerIngest = "X-Webhook-Ingest-Secret"

// ingests is the endpoint of POST /v1/webhooks/events/ingest, for the operator's other systems. It checks the secret
// before it reads the body, and refuses every request while the configuration has no secret.
func (h *Handlers) ingests() route.Endpoint {
	return route.JSONBody(route.Small, h.ingest).Before(func(_ context.Context, c *route.Call) error {
		return c.CheckSecret(c.R.Header.Get(headerIngest), h.IngestSecret)
	})
}

// ingest records the end of a run that another system of the operator executed, and starts the deliveries that the job
// or workflow has subscribed to. A request with the id of an earlier one changes nothing.
func (h *Handlers) ingest(ctx context.Context, _ *route.Call, in *api.IngestEvent) (api.IngestedEvent, error) {
	e, err := ingestedEvent(in)
	if err != nil {
		return api.IngestedEvent{}, err
	}
	id, repeated, err := h.Webhooks.Ingest(ctx, in.ID, e)
	return api.IngestedEvent{EventID: string(id), Repeated: repeated}, err
}

// ingestedEvent reads the event of a request.
func ingestedEvent(in *api.IngestEvent) (pleat.Event, error) {
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
		return e, pleat.InvalidField("source_kind", " is %q; it may be fold_job or workflow", pleat.Clip(in.SourceKind))
	case e.Name != pleat.OnComplete && e.Name != pleat.OnFailed:
		return e, pleat.InvalidField("event_name", " is %q; it may be on_complete or on_failed",
			pleat.Clip(in.EventName))
	case !e.Status.Terminal():
		return e, pleat.InvalidField("status", " is %q; it may be COMPLETED, FAILED or STOPPED", pleat.Clip(in.Status))
	case pleat.EventFor(e.Status) != e.Name:
		return e, pleat.InvalidField("event_name", " is %s and status is %s; the event of a run that is %s is %s",
			e.Name, e.Status, e.Status, pleat.EventFor(e.Status))
	case !pleat.IsUUID(in.SourceID):
		return e, pleat.InvalidField("source_id", " is %q; it must be the id of a job or workflow",
			pleat.Clip(in.SourceID))
	case len(in.ID) > 200:
		return e, pleat.InvalidField("id", " has %d characters; at most 200 are allowed", len(in.ID))
	case len(e.Payload) > 0 && json.Unmarshal(e.Payload, &object) != nil:
		return e, pleat.InvalidField("payload", " must be an object")
	}
	return e, nil
}
