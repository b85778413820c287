package wire

import (
	"encoding/json"
	"time"

	"pleat"
	"pleat/api"
	"pleat/internal/store/webhooks"
	"pleat/internal/webhook"
)

// Delivery returns a delivery in a list, without its body, its attempts and the address that it goes to.
func Delivery(d *webhooks.Delivery) api.Delivery {
	return api.Delivery{
		ID:              string(d.ID),
		EventID:         string(d.Event),
		SubscriptionID:  OptionalString(string(d.Subscription)),
		EndpointID:      OptionalString(string(d.Endpoint)),
		EndpointName:    OptionalString(d.EndpointName),
		Destination:     string(d.Destination),
		Status:          string(d.Status),
		TriggeredTarget: OptionalString(d.Triggered),
		SourceKind:      string(d.Source.Kind()),
		SourceID:        d.Source.ID(),
		EventName:       string(d.EventName),
		EventStatus:     string(d.EventStatus),
		Attempts:        d.Attempts,
		NextAttemptAt:   api.MomentAt(d.NextAt),
		ResponseStatus:  optionalStatus(d.ResponseStatus),
		Reason:          OptionalString(d.Reason),
		CreatedAt:       api.Moment{Time: d.CreatedAt},
	}
}

// LinkedDelivery returns a delivery in the view of its job: destination, status and event.
func LinkedDelivery(d *webhooks.Delivery) api.LinkedItem {
	return api.LinkedItem{
		ID:     string(d.ID),
		Type:   string(d.Destination),
		Status: string(d.Status),
		Name:   string(d.EventName),
	}
}

// Subscription returns a destination of a run. Its name joins the kind of the source, the source's id and the word
// under which the request named the destination.
func Subscription(r *webhooks.SubscriptionRow) api.Subscription {
	out := api.Subscription{
		ID:         string(r.ID),
		Name:       "fold:" + r.Source.ID() + ":" + r.Alias,
		TargetType: r.TargetType,
		CreatedAt:  api.Moment{Time: r.CreatedAt},
	}
	switch r.Source.Kind() {
	case pleat.SourceWorkflow:
		out.Name = "workflow:" + r.Source.ID() + ":" + r.Alias
		out.InputMapping.SourceWorkflowID = r.Source.ID()
	case pleat.SourceBatch:
		out.Name = "batch:" + r.Source.ID() + ":" + r.Alias
		out.InputMapping.SourceBatchID = r.Source.ID()
	default:
		out.InputMapping.SourceJobID, out.InputMapping.SourceJobRunID = r.Source.ID(), string(r.Run)
	}
	return out
}

// DeliveryAttempt returns one attempt of a delivery. One that has not ended is running; one whose process died has no
// details: neither a response nor timings. Timings are converted to milliseconds.
func DeliveryAttempt(t *webhooks.DeliveryAttempt) api.DeliveryAttempt {
	out := api.DeliveryAttempt{
		Number:    t.Number,
		StartedAt: api.Moment{Time: t.StartedAt},
		EndedAt:   api.MomentAt(t.EndedAt),
		Outcome:   t.Outcome,
		Headers:   map[string]string{},
	}
	if t.EndedAt.IsZero() {
		out.Outcome = "running"
	}
	var a webhook.Attempt
	if json.Unmarshal([]byte(t.Detail), &a) != nil {
		return out // its process died: there are no details
	}
	out.ResponseStatus, out.Error, out.Message, out.Answer = optionalStatus(a.Status), OptionalString(string(a.Error)),
		OptionalString(a.Message),
		OptionalString(a.Answer)
	if a.Headers != nil {
		out.Headers = a.Headers
	}
	ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
	t2 := a.Timings
	out.Timings = api.DeliveryTimings{
		DNS:     ms(t2.DNS),
		Connect: ms(t2.Connect),
		TLS:     ms(t2.TLS),
		Send:    ms(t2.Send),
		Wait:    ms(t2.Wait),
		Body:    ms(t2.Body),
		Total:   ms(t2.Total),
		Reused:  t2.Reused,
	}
	return out
}

// optionalStatus returns an HTTP status; nil for 0, which means that there was no response, for example because the
// connection failed.
func optionalStatus(code int) *int {
	if code == 0 {
		return nil
	}
	return &code
}
