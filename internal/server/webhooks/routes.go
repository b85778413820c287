package webhooks

import (
	"pleat"
	"pleat/api"
	"pleat/internal/server/openapi"
	"pleat/internal/server/route"
	"pleat/internal/store/webhooks"
)

// Routes returns the routes of webhook configuration and deliveries. A project has one default endpoint, so its
// paths have no id, and named ones, whose paths have.
func (h *Handlers) Routes() []route.Route {
	onDefault := actions[api.WebhookConfig]{h, defaultEndpoint, h.configOut}
	onNamed := actions[api.WebhookEndpoint]{h, namedEndpoint, h.endpointOut}
	return route.InSection("Webhooks", []route.Route{
		{
			ID:      "getWebhookConfig",
			Pattern: "GET /v1/webhooks/custom-http-config",
			Query:   route.InProject,
			Who:     route.User(pleat.ScopeManage).As(pleat.Manager),
			Summary: "Read your webhook configuration",
			Handler: route.NoBody(h.webhookConfig),
		},
		{
			ID:      "setWebhookConfig",
			Pattern: "PUT /v1/webhooks/custom-http-config",
			Query:   route.InProject,
			Who:     route.User(pleat.ScopeManage).As(pleat.Manager),
			Summary: "Configure your webhook; the signing secret is shown only once",
			Handler: route.JSONBody(route.Small, h.putWebhookConfig),
		},
		{
			ID:      "deactivateWebhook",
			Pattern: "DELETE /v1/webhooks/custom-http-config",
			Query:   route.InProject,
			Who:     route.User(pleat.ScopeManage).As(pleat.Manager),
			Summary: "Deactivate your webhook",
			Handler: route.NoBody(onDefault.change(webhooks.EndpointDeactivate)),
			Errors:  []int{404},
		},
		{
			ID:      "rotateWebhookSecret",
			Pattern: "POST /v1/webhooks/custom-http-config/rotate-secret",
			Query:   route.InProject,
			Who:     route.User(pleat.ScopeManage).As(pleat.Manager),
			Summary: "Create a new signing secret; the old one stays valid for a day",
			Handler: route.OptionalBody(route.Small, onDefault.rotateSecret),
			Errors:  []int{404},
		},
		{
			ID:      "pauseWebhook",
			Pattern: "POST /v1/webhooks/custom-http-config/pause",
			Query:   route.InProject,
			Who:     route.User(pleat.ScopeManage).As(pleat.Manager),
			Summary: "Pause deliveries",
			Handler: route.NoBody(onDefault.change(webhooks.EndpointPause)),
			Errors:  []int{404},
		},
		{
			ID:      "resumeWebhook",
			Pattern: "POST /v1/webhooks/custom-http-config/resume",
			Query:   route.InProject,
			Who:     route.User(pleat.ScopeManage).As(pleat.Manager),
			Summary: "Resume deliveries",
			Handler: route.NoBody(onDefault.change(webhooks.EndpointResume)),
			Errors:  []int{404},
		},
		{
			ID:      "listWebhookEndpoints",
			Pattern: "GET /v1/webhooks/endpoints",
			Query:   route.InProject,
			Who:     route.User(pleat.ScopeRead),
			Summary: "List the endpoints of a project",
			Handler: route.NoBody(h.webhookEndpoints),
		},
		{
			ID:      "createWebhookEndpoint",
			Pattern: "POST /v1/webhooks/endpoints",
			Query:   route.InProject,
			Who:     route.User(pleat.ScopeManage).As(pleat.Manager),
			Summary: "Add an endpoint to a project; its signing secret is shown only once",
			Handler: route.JSONBody(route.Small, h.createWebhookEndpoint),
			Errors:  []int{409},
		},
		{
			ID:      "getWebhookEndpoint",
			Pattern: "GET /v1/webhooks/endpoints/{id}",
			Who:     route.User(pleat.ScopeRead),
			Summary: "Read an endpoint",
			Handler: route.NoBody(h.webhookEndpoint),
		},
		{
			ID:      "changeWebhookEndpoint",
			Pattern: "PATCH /v1/webhooks/endpoints/{id}",
			Who:     route.User(pleat.ScopeManage).As(pleat.Manager),
			Summary: "Change the name, the address, the token, the format or the events of an endpoint",
			Handler: route.JSONBody(route.Small, h.changeWebhookEndpoint),
			Errors:  []int{409},
		},
		{
			ID:      "deleteWebhookEndpoint",
			Pattern: "DELETE /v1/webhooks/endpoints/{id}",
			Who:     route.User(pleat.ScopeManage).As(pleat.Manager),
			Summary: "Delete an endpoint; what waits for it fails",
			Handler: route.NoBody(h.deleteWebhookEndpoint),
		},
		{
			ID:      "pauseWebhookEndpoint",
			Pattern: "POST /v1/webhooks/endpoints/{id}/pause",
			Who:     route.User(pleat.ScopeManage).As(pleat.Manager),
			Summary: "Pause the deliveries to an endpoint",
			Handler: route.NoBody(onNamed.change(webhooks.EndpointPause)),
		},
		{
			ID:      "resumeWebhookEndpoint",
			Pattern: "POST /v1/webhooks/endpoints/{id}/resume",
			Who:     route.User(pleat.ScopeManage).As(pleat.Manager),
			Summary: "Resume the deliveries to an endpoint",
			Handler: route.NoBody(onNamed.change(webhooks.EndpointResume)),
		},
		{
			ID:      "rotateEndpointSecret",
			Pattern: "POST /v1/webhooks/endpoints/{id}/rotate-secret",
			Who:     route.User(pleat.ScopeManage).As(pleat.Manager),
			Summary: "Create a new signing secret of an endpoint; the old one stays valid for a day",
			Handler: route.OptionalBody(route.Small, onNamed.rotateSecret),
		},
		{
			ID:      "testWebhookEndpoint",
			Pattern: "POST /v1/webhooks/endpoints/{id}/test",
			Who:     route.User(pleat.ScopeManage).As(pleat.Manager),
			Summary: "Send a test delivery to an endpoint",
			Handler: route.NoBody(onNamed.test),
			Errors:  []int{409},
		},
		{
			ID:      "listSubscriptions",
			Pattern: "GET /v1/webhooks/subscriptions",
			Who:     route.User(pleat.ScopeRead),
			Summary: "List the subscriptions of your runs, newest first",
			Handler: route.NoBody(h.subscriptions),
			Query:   append(route.PageParams(200), route.InProject...),
		},
		{
			ID:      "listDeliveries",
			Pattern: "GET /v1/webhooks/deliveries",
			Who:     route.User(pleat.ScopeRead),
			Summary: "List your deliveries, newest first",
			Handler: route.NoBody(h.deliveries),
			Query: append(append(route.PageParams(50), route.InProject...),
				openapi.Param{Name: "status", Kind: "DeliveryStatus", Doc: "Only deliveries in this state."},
				openapi.Param{Name: "source_id", Kind: "uuid", Doc: "Only deliveries of this job or workflow."},
				openapi.Param{Name: "endpoint_id", Kind: "uuid", Doc: "Only deliveries to this endpoint."}),
		},
		{
			ID:      "getDelivery",
			Pattern: "GET /v1/webhooks/deliveries/{id}",
			Who:     route.User(pleat.ScopeRead),
			Summary: "Read a delivery with its attempts",
			Handler: route.NoBody(h.delivery),
		},
		{
			ID:      "redeliver",
			Pattern: "POST /v1/webhooks/deliveries/{id}/redeliver",
			Who:     route.User(pleat.ScopeSubmit),
			Summary: "Send a finished delivery again, with the same webhook-id",
			Handler: route.NoBody(h.redeliverOne),
			Errors:  []int{409},
		},
		{
			ID:      "redeliverMany",
			Pattern: "POST /v1/webhooks/deliveries/redeliver",
			Query:   route.InProject,
			Who:     route.User(pleat.ScopeSubmit),
			Summary: "Send deliveries again",
			Handler: route.JSONBody(route.Small, h.redeliver),
		},
		{
			ID:      "sendTestDelivery",
			Pattern: "POST /v1/webhooks/test",
			Query:   route.InProject,
			Who:     route.User(pleat.ScopeManage).As(pleat.Manager),
			Summary: "Send a test delivery",
			Handler: route.NoBody(onDefault.test),
			Errors:  []int{404, 409},
		},
		{
			ID:      "ingestEvent",
			Pattern: "POST /v1/webhooks/events/ingest",
			Who:     route.Open(),
			Cost:    route.CostGuess,
			Summary: "Report an event from another system; for operators",
			Handler: h.ingests(),
			Errors:  []int{401},
			Headers: []openapi.Param{{Name: headerIngest, Kind: "string", Doc: "The operator's secret."}},
		},
	})
}
