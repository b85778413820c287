package service

import (
	"pleat/internal/server/openapi"
	"pleat/internal/server/route"
)

// Routes returns the routes that operators and tools read. They are outside of /v1, where such tools expect them.
func (h *Handlers) Routes() []route.Route {
	probed := route.InSection("Operation", []route.Route{
		{
			ID:      "getHealth",
			Pattern: "GET /healthz",
			Who:     route.Open(),
			Summary: "Check whether the process is alive",
			Handler: route.NoBody(h.health),
		},
		{
			ID:      "getReadiness",
			Pattern: "GET /readyz",
			Who:     route.Open(),
			Summary: "Check whether the service is ready",
			Handler: route.NoBody(h.ready),
			Errors:  []int{503},
		},
		{
			ID:      "getMetrics",
			Pattern: "GET /metrics",
			Who:     route.Open(),
			Cost:    route.CostGuess,
			Summary: "Read metrics for Prometheus",
			Handler: route.Streams(openapi.Text("text/plain", "In the format of Prometheus."), h.metrics),
			Errors:  []int{401},
		},
		{
			ID:      "getClassDemand",
			Pattern: "GET /fleet/v1/classes/{class}",
			Who:     route.Open(),
			Cost:    route.CostGuess,
			Summary: "Read how many workers of a class are wanted",
			Handler: route.NoBody(h.classDemand),
			Errors:  []int{401, 404},
		},
		{
			ID:      "getOpenAPI",
			Pattern: "GET /openapi.json",
			Who:     route.Open(),
			Summary: "Read this document",
			Handler: route.Answers(openapi.AnyObject, h.openAPI),
		},
		{
			ID:      "getDocs",
			Pattern: "GET /docs",
			Who:     route.Open(),
			Summary: "Read this document as a page",
			Handler: route.Streams(openapi.Text("text/html", "The page."), h.readDocs),
		},
		{
			ID:      "getLLMs",
			Pattern: "GET /llms.txt",
			Who:     route.Open(),
			Summary: "Read how an agent uses this server",
			Handler: route.Streams(openapi.Text("text/plain", ""), h.readLLMs),
		},
	})
	for i := range probed {
		probed[i].Probed = true
	}
	return append(probed, h.metadataRoute(route.MetadataPath))
}
