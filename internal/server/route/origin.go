package route

import (
	"net/http"
	"strings"

	"pleat"
)

// AgentPath is where programs that speak the Model Context Protocol call the service, and MetadataPath where RFC 9728
// has the document about it.
const (
	AgentPath    = "/mcp"
	MetadataPath = "/.well-known/oauth-protected-resource"
)

// The methods and headers that pages of Config.AgentOrigins may send and read, as the transport of the protocol and its
// authorization use them.
const (
	pageMethods = "GET, POST"
	pageSends   = "Authorization, Content-Type, Accept, Mcp-Session-Id, MCP-Protocol-Version, Mcp-Method, Mcp-Name, " +
		"Last-Event-ID"
	pageReads = "Mcp-Session-Id, MCP-Protocol-Version, WWW-Authenticate, Retry-After, X-Request-ID"
)

// forPages lets a page of Config.AgentOrigins read the answer to a request for AgentPath or MetadataPath, refusals
// included. Access-Control-Allow-Credentials is never sent: a bearer token alone is a credential there.
func (s *Site) forPages(h http.Header, r *http.Request) {
	if len(s.agentOrigins) == 0 || r.URL.Path != AgentPath && r.URL.Path != AgentPath+"/" &&
		!strings.HasPrefix(r.URL.Path, MetadataPath) {
		return
	}
	h.Add("Vary", "Origin")
	if origin := r.Header.Get("Origin"); s.agentOrigins[origin] {
		h.Set("Access-Control-Allow-Origin", origin)
		h.Set("Access-Control-Expose-Headers", pageReads)
	}
}

// CheckAgentPage refuses a request of a page that is neither the service's nor of Config.AgentOrigins.
func (s *Site) CheckAgentPage(r *http.Request) error {
	origin := r.Header.Get("Origin")
	if origin == "" || s.agentOrigins[origin] || s.OwnOrigin(r) {
		return nil
	}
	return pleat.Errorf(pleat.CodeForbidden, "the Origin is %q; its pages may call this address only if the operator "+
		"of this service adds it to the setting mcp-origins", pleat.Clip(origin))
}

// Preflight answers a browser that asks whether a page may send a request (Fetch, section 3.3.5).
func (c *Call) Preflight() error {
	if err := c.Site().CheckAgentPage(c.R); err != nil {
		return err
	}
	h := c.W.Header()
	h.Set("Access-Control-Allow-Methods", pageMethods)
	h.Set("Access-Control-Allow-Headers", pageSends)
	h.Set("Access-Control-Max-Age", "7200") // seconds; more than Chromium keeps
	c.W.WriteHeader(http.StatusNoContent)
	return nil
}
