package route

import (
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// proxies are the networks of the proxies that the operator trusts to say where a request comes from.
type proxies []netip.Prefix

// trusts reports whether an address is that of a trusted proxy.
func (p proxies) trusts(a netip.Addr) bool {
	return slices.ContainsFunc(p, func(net netip.Prefix) bool { return net.Contains(a) })
}

// client returns the address of the client of a request: that of the connection or, if a trusted proxy opened it, the
// last address in X-Forwarded-For that is not a trusted proxy's. Only the entries to the right of it were written by
// trusted proxies; a client can send the others itself. An entry that is not an address ends the search at the proxy
// that wrote it. The address is invalid if the connection has none.
func (p proxies) client(r *http.Request) netip.Addr {
	at := addressOf(r.RemoteAddr)
	if !p.trusts(at) {
		return at
	}
	for _, line := range slices.Backward(r.Header.Values("X-Forwarded-For")) {
		for _, entry := range slices.Backward(strings.Split(line, ",")) {
			hop := addressOf(strings.TrimSpace(entry))
			if !hop.IsValid() {
				return at
			}
			if at = hop; !p.trusts(at) {
				return at
			}
		}
	}
	return at
}

// addressOf reads an address with or without a port. IPv4 addresses in IPv6 form become IPv4; zones are dropped.
func addressOf(text string) netip.Addr {
	a, err := netip.ParseAddr(strings.Trim(text, "[]"))
	if err != nil {
		withPort, err := netip.ParseAddrPort(text)
		if err != nil {
			return netip.Addr{}
		}
		a = withPort.Addr()
	}
	return a.Unmap().WithZone("")
}

// peer returns the name under which an address is limited. IPv6 counts by /64, the smallest network that a client gets
// for itself.
func peer(a netip.Addr) string {
	if !a.Is6() {
		return "address " + a.String()
	}
	net, _ := a.Prefix(64) // it fails only for more bits than an address has
	return "network " + net.String()
}

// Address returns the client's address for logs.
func (c *Call) Address() string {
	if !c.from.IsValid() {
		return c.R.RemoteAddr
	}
	return c.from.String()
}
