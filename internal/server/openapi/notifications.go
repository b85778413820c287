package openapi

import (
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"pleat/api"
)

// notificationHeaders are the headers of every delivery.
var notificationHeaders = []Param{
	{Name: "webhook-id", Kind: "uuid", Doc: "Id of the delivery: the same in every attempt and redelivery."},
	{Name: "webhook-timestamp", Kind: "integer", Doc: "Time of this attempt, in seconds since 1970."},
	{Name: "webhook-signature", Kind: "string",
		Doc: "Signatures by Standard Webhooks, separated by spaces; absent if the destination has no secret."},
	{Name: "X-Webhook-Token", Kind: "string", Doc: "The token that the user configured."},
	{Name: "traceparent", Kind: "string", Doc: "Trace of the run, if the operator has traces (W3C Trace Context)."},
}

// notifications describes what the service posts to webhooks: one entry for each kind of source.
func notifications(reg huma.Registry) map[string]*huma.PathItem {
	return map[string]*huma.PathItem{
		"foldEnded":     notification[api.NotifiedFold](reg, "foldEnded", "A run of a fold job has ended"),
		"workflowEnded": notification[api.NotifiedWorkflow](reg, "workflowEnded", "A workflow has ended"),
		"batchEnded":    notification[api.NotifiedBatch](reg, "batchEnded", "All rows of a batch have ended"),
	}
}

// paused says what statuses mean that stand for an endpoint that is too busy.
const paused = "The endpoint is paused, at least until Retry-After; then the delivery is tried again."

// notification describes the request of one kind of notification and the answers that the service understands. S is the
// source of its event.
func notification[S any](reg huma.Registry, id, summary string) *huma.PathItem {
	plain := schemaOf[api.Notification[S]](reg)
	orEmpty(reg.Map()[componentOf(plain)], "source")
	op := &huma.Operation{
		OperationID: id,
		Summary:     summary,
		Description: "Delivered at least once. Verify the signature, and answer 2xx within 15 seconds.",
		Tags:        []string{"Webhooks"},
		Security:    []map[string][]string{},
		RequestBody: &huma.RequestBody{Required: true, Content: map[string]*huma.MediaType{
			"application/json":             {Schema: plain},
			"application/cloudevents+json": {Schema: schemaOf[api.CloudEvent[api.Notification[S]]](reg)},
		}},
		Responses: map[string]*huma.Response{
			"2XX":     {Description: "Delivered."},
			"410":     {Description: "The endpoint is disabled: nothing more is sent to it."},
			"429":     {Description: paused},
			"502":     {Description: paused},
			"504":     {Description: paused},
			"default": {Description: "Any other answer, redirects too: the delivery is tried again."},
		},
	}
	for _, h := range notificationHeaders {
		required := slices.Contains([]string{"webhook-id", "webhook-timestamp"}, h.Name)
		op.Parameters = append(op.Parameters, &huma.Param{
			Name: h.Name, In: "header", Description: h.Doc, Schema: paramSchema(h), Required: required,
		})
	}
	return &huma.PathItem{Post: op}
}

// orEmpty lets a field that refers to a component be an object without fields.
func orEmpty(s *huma.Schema, field string) {
	p := s.Properties[field]
	none := 0
	s.Properties[field] = &huma.Schema{
		Description: p.Description,
		AnyOf:       []*huma.Schema{{Ref: p.Ref}, {Type: huma.TypeObject, MaxProperties: &none}},
	}
}
