package server

import (
	"pleat"
	"pleat/internal/server/openapi"
	"pleat/internal/store"
)

// webhookRoutes are the routes of webhook configuration and deliveries. A user has one global endpoint, so its paths
// have no id.
var webhookRoutes = inSection("Webhooks", []route{
	{
		id:      "getWebhookConfig",
		pattern: "GET /v1/webhooks/custom-http-config",
		access:  user,
		scope:   pleat.ScopeManage,
		summary: "Read your webhook configuration",
		handler: noBody((*Server).webhookConfig),
	},
	{
		id:      "setWebhookConfig",
		pattern: "PUT /v1/webhooks/custom-http-config",
		access:  user,
		scope:   pleat.ScopeManage,
		summary: "Configure your webhook; the signing secret is shown only once",
		handler: jsonBody(small, (*Server).putWebhookConfig),
	},
	{
		id:      "deactivateWebhook",
		pattern: "DELETE /v1/webhooks/custom-http-config",
		access:  user,
		scope:   pleat.ScopeManage,
		summary: "Deactivate your webhook",
		handler: noBody(changeWebhook(store.EndpointDelete)),
		errors:  []int{404},
	},
	{
		id:      "rotateWebhookSecret",
		pattern: "POST /v1/webhooks/custom-http-config/rotate-secret",
		access:  user,
		scope:   pleat.ScopeManage,
		summary: "Create a new signing secret; the old one stays valid for a day",
		handler: optionalBody(small, (*Server).rotateSecret),
		errors:  []int{404},
	},
	{
		id:      "pauseWebhook",
		pattern: "POST /v1/webhooks/custom-http-config/pause",
		access:  user,
		scope:   pleat.ScopeManage,
		summary: "Pause deliveries",
		handler: noBody(changeWebhook(store.EndpointPause)),
		errors:  []int{404},
	},
	{
		id:      "resumeWebhook",
		pattern: "POST /v1/webhooks/custom-http-config/resume",
		access:  user,
		scope:   pleat.ScopeManage,
		summary: "Resume deliveries",
		handler: noBody(changeWebhook(store.EndpointResume)),
		errors:  []int{404},
	},
	{
		id:      "listSubscriptions",
		pattern: "GET /v1/webhooks/subscriptions",
		access:  user,
		scope:   pleat.ScopeRead,
		summary: "List the subscriptions of your runs, newest first",
		handler: noBody((*Server).subscriptions),
		query:   pageOf(200),
	},
	{
		id:      "listDeliveries",
		pattern: "GET /v1/webhooks/deliveries",
		access:  user,
		scope:   pleat.ScopeRead,
		summary: "List your deliveries, newest first",
		handler: noBody((*Server).deliveries),
		query: append(pageOf(50),
			openapi.Param{Name: "status", Kind: "DeliveryStatus", Doc: "Only deliveries in this state."},
			openapi.Param{Name: "source_id", Kind: "uuid", Doc: "Only deliveries of this job or workflow."}),
	},
	{
		id:      "getDelivery",
		pattern: "GET /v1/webhooks/deliveries/{id}",
		access:  user,
		scope:   pleat.ScopeRead,
		summary: "Read a delivery with its attempts",
		handler: noBody((*Server).delivery),
	},
	{
		id:      "redeliver",
		pattern: "POST /v1/webhooks/deliveries/{id}/redeliver",
		access:  user,
		scope:   pleat.ScopeSubmit,
		summary: "Send a finished delivery again, with the same webhook-id",
		handler: noBody((*Server).redeliverOne),
		errors:  []int{409},
	},
	{
		id:      "redeliverMany",
		pattern: "POST /v1/webhooks/deliveries/redeliver",
		access:  user,
		scope:   pleat.ScopeSubmit,
		summary: "Send deliveries again",
		handler: jsonBody(small, (*Server).redeliver),
	},
	{
		id:      "sendTestDelivery",
		pattern: "POST /v1/webhooks/test",
		access:  user,
		scope:   pleat.ScopeManage,
		summary: "Send a test delivery",
		handler: noBody((*Server).testWebhook),
		errors:  []int{404, 409},
	},
	{
		id:      "ingestEvent",
		pattern: "POST /v1/webhooks/events/ingest",
		access:  open,
		counted: byHandler,
		summary: "Report an event from another system; for operators",
		handler: ingests(),
		errors:  []int{401},
		headers: []openapi.Param{{Name: headerIngest, Kind: "string", Doc: "The operator's secret."}},
	},
})
