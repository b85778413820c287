package service

import (
	"bytes"
	"context"
	"io"

	"pleat"
	"pleat/api"
	"pleat/internal/server/openapi"
	"pleat/internal/server/route"
)

// maxAgentBody bounds a message of the Model Context Protocol, in bytes.
const maxAgentBody = 1 << 20

// AgentRoutes are the routes of the Model Context Protocol that are not in the OpenAPI document, since its protocol is
// another. Both forms of an address are served: a redirect would lose the body of a message, and RFC 9728 makes the
// address of the metadata from that of the resource.
func (h *Handlers) AgentRoutes() []route.Route {
	resource := route.MetadataPath + route.AgentPath
	routes := []route.Route{
		h.agentRoute(route.AgentPath),
		h.agentRoute(route.AgentPath + "/{$}"),
		h.metadataRoute(resource),
		h.metadataRoute(resource + "/{$}"),
	}
	for _, path := range []string{
		route.AgentPath, route.AgentPath + "/{$}", route.MetadataPath, resource, resource + "/{$}",
	} {
		routes = append(routes, h.preflightRoute(path))
	}
	return routes
}

// agentRoute is POST /mcp. The tools behind it call the routes of this server with the caller's key; their scopes,
// limits and quotas apply there.
func (h *Handlers) agentRoute(path string) route.Route {
	return route.Route{
		ID:      "callAgent",
		Pattern: "POST " + path,
		Section: "Operation",
		Probed:  true,
		Who:     route.AnyBearer(route.MetadataPath + route.AgentPath),
		Summary: "Call the service by the Model Context Protocol",
		Handler: route.Answers(openapi.AnyObject, h.callAgent),
	}
}

// preflightRoute answers browsers before they send the requests of pages of other sites.
func (h *Handlers) preflightRoute(path string) route.Route {
	return route.Route{
		ID:      "askForAgent",
		Pattern: "OPTIONS " + path,
		Section: "Operation",
		Who:     route.Open(),
		Summary: "Ask whether a page may call the service by the Model Context Protocol",
		Handler: route.Answers(openapi.AnyObject, func(_ context.Context, c *route.Call) error {
			return c.Preflight()
		}),
	}
}

// metadataRoute is the document of RFC 9728 about /mcp.
func (h *Handlers) metadataRoute(path string) route.Route {
	return route.Route{
		ID:      "getResourceMetadata",
		Pattern: "GET " + path,
		Section: "Agents",
		Who:     route.Open(),
		Summary: "Read how clients of the Model Context Protocol identify themselves",
		Handler: route.NoBody(h.resourceMetadata),
	}
}

// callAgent is POST /mcp: it checks the caller and hands the message to Handlers.Agents. Any user, by a bearer token.
// 401: there is none, or it is not valid; 403: a page of a site that may not call sent the request; 404: this server
// does not have the protocol; 429: the caller has too many such calls under way.
func (h *Handlers) callAgent(ctx context.Context, c *route.Call) error {
	if h.Agents == nil {
		return pleat.Errorf(pleat.CodeNotFound, route.NotFoundMessage)
	}
	if c.Who.User == "" {
		return pleat.ErrUnauthorized
	}
	if err := c.Site().CheckAgentPage(c.R); err != nil {
		return err
	}
	body, done, err := c.RequiredBody(maxAgentBody)
	defer done()
	if err != nil {
		return err
	}
	release, err := c.Acquire(&h.AgentCalls)
	if err != nil {
		return err
	}
	defer release()
	r := c.R.WithContext(ctx)
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	c.NotStored()
	h.Agents.ServeHTTP(c.W, r)
	return nil
}

// resourceMetadata is GET /.well-known/oauth-protected-resource. Everyone.
func (h *Handlers) resourceMetadata(_ context.Context, c *route.Call) (api.ResourceMetadata, error) {
	out := api.ResourceMetadata{
		Resource:      c.Site().Base + route.AgentPath,
		Name:          "Pleat",
		BearerMethods: []string{"header"},
		Documentation: c.Site().Base + "/docs",
	}
	if h.Issuer != "" {
		out.Issuers = []string{h.Issuer}
	}
	return out, nil
}
