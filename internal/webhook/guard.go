package webhook

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"time"

	"code.dny.dev/ssrf"

	"pleat"
)

// ErrBlocked is the error of a dial that the guard refused.
var ErrBlocked = errors.New("the address is not permitted")

// resolveFor limits the DNS look-up when a target is saved, so that a slow name server does not delay the caller's
// request.
const resolveFor = 3 * time.Second

// extra is blocked in addition to IANA's special-purpose registries: the host agent of a cloud, on a public address.
var extra = netip.MustParsePrefix("168.63.129.16/32")

// Guard decides to which addresses deliveries may be sent. It permits https to public addresses on the listed ports,
// and http and https on any port to the networks that the operator allows. It is safe for concurrent use.
type Guard struct {
	allow    []netip.Prefix // the operator's networks
	ports    []uint16       // for https to public addresses
	resolver *net.Resolver
	public   *ssrf.Guardian // knows which addresses are public
}

// NewGuard returns a guard. Allow lists the networks for which http and any port are permitted. Ports are the permitted
// https ports of public addresses; none means 443. A nil resolver is the system's.
func NewGuard(allow []netip.Prefix, ports []uint16, resolver *net.Resolver) *Guard {
	if len(ports) == 0 {
		ports = []uint16{443}
	}
	if resolver == nil {
		resolver = net.DefaultResolver
	}
	return &Guard{
		allow: slices.Clone(allow), ports: slices.Clone(ports), resolver: resolver,
		public: ssrf.New(ssrf.WithAnyPort(), ssrf.WithDeniedV4Prefixes(extra)),
	}
}

// ParseAllow parses PLEAT_WEBHOOK_ALLOW: networks such as 10.1.0.0/16 or single addresses, separated by commas.
func ParseAllow(text string) ([]netip.Prefix, error) {
	var out []netip.Prefix
	for item := range strings.SplitSeq(text, ",") {
		item = strings.TrimSpace(item)
		if item == "" {
			continue
		}
		p, err := netip.ParsePrefix(item)
		if err != nil {
			a, err := netip.ParseAddr(item)
			if err != nil || a.Zone() != "" {
				return nil, pleat.Invalidf(
					"PLEAT_WEBHOOK_ALLOW has %q, which is neither a network such as 10.1.0.0/16 nor an address",
					pleat.Clip(item))
			}
			a = a.Unmap()
			p = netip.PrefixFrom(a, a.BitLen())
		}
		if p.Addr().Is4In6() {
			return nil, pleat.Invalidf("PLEAT_WEBHOOK_ALLOW has %q; write the IPv4 network itself", pleat.Clip(item))
		}
		out = append(out, p.Masked())
	}
	return out, nil
}

// Allowed reports whether the operator allows the address. Response bodies from such addresses are not stored.
func (g *Guard) Allowed(ip netip.Addr) bool {
	ip = ip.Unmap()
	return slices.ContainsFunc(g.allow, func(p netip.Prefix) bool { return p.Contains(ip) })
}

// CheckAddr returns nil if deliveries to the address are permitted, else an error that wraps ErrBlocked and describes
// the address.
func (g *Guard) CheckAddr(ip netip.Addr) error {
	if !ip.IsValid() {
		return fmt.Errorf("%w: no address", ErrBlocked)
	}
	ip = ip.Unmap()
	if g.Allowed(ip) {
		return nil
	}
	if ip.Zone() != "" {
		return fmt.Errorf("%w: it has a zone", ErrBlocked)
	}
	if err := g.public.SafeAddr(ip); err != nil {
		return fmt.Errorf("%w: it is %s", ErrBlocked, describe(ip))
	}
	if v4, ok := isatap(ip); ok && g.public.SafeAddr(v4) != nil {
		return fmt.Errorf("%w: it carries %s", ErrBlocked, describe(v4))
	}
	return nil
}

// isatap returns the IPv4 address that an interface identifier by RFC 5214, section 6.1, contains.
func isatap(ip netip.Addr) (netip.Addr, bool) {
	if !ip.Is6() {
		return netip.Addr{}, false
	}
	b := ip.As16()
	if b[8]&^2 != 0 || b[9] != 0 || b[10] != 0x5e || b[11] != 0xfe {
		return netip.Addr{}, false
	}
	return netip.AddrFrom4([4]byte(b[12:])), true
}

// describe names the kind of a blocked address.
func describe(ip netip.Addr) string {
	switch {
	case ip.IsUnspecified():
		return "the unspecified address"
	case ip.IsLoopback():
		return "a loopback address"
	case ip.IsPrivate():
		return "a private address"
	case ip.IsLinkLocalUnicast():
		return "a link-local address"
	case ip.IsMulticast():
		return "a multicast address"
	}
	return "an address for special purposes"
}

// CheckURL checks a target when it is saved and returns it in canonical form. Field names the input in the error, which
// never quotes the path or query.
//
// The answer does not tell where a host name leads, or whether there is such a name: https to a permitted port is
// accepted for every name without a look-up, because every dial is checked. Only what the operator's networks alone may
// have, http and other ports, needs a look-up; all names that do not lead there are refused in the same sentence.
func (g *Guard) CheckURL(ctx context.Context, field, raw string) (*url.URL, error) {
	t, err := parseTarget(field, raw)
	if err != nil {
		return nil, err
	}
	var addrs []netip.Addr
	form := g.checkForm(field, t)
	if t.static() || form != nil && len(g.allow) > 0 {
		addrs = g.addresses(ctx, t)
	}
	if err = form; t.static() || slices.ContainsFunc(addrs, g.Allowed) {
		err = g.check(field, t, addrs)
	}
	if err != nil {
		return nil, err
	}
	return t.url, nil
}

// addresses resolves the host of a target; empty if that fails.
func (g *Guard) addresses(ctx context.Context, t target) []netip.Addr {
	if t.addr.IsValid() {
		return []netip.Addr{t.addr}
	}
	if t.local() {
		return []netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, 1}), netip.IPv6Loopback()}
	}
	ctx, cancel := context.WithTimeout(ctx, resolveFor)
	defer cancel()
	found, err := g.resolver.LookupNetIP(ctx, "ip", t.host)
	if err != nil {
		return nil
	}
	return found
}

// check applies the rules to a target and its addresses. One permitted address is enough for a name, because the dial
// uses permitted addresses only.
func (g *Guard) check(field string, t target, addrs []netip.Addr) error {
	if slices.ContainsFunc(addrs, g.Allowed) {
		return nil
	}
	for _, a := range addrs {
		err := g.CheckAddr(a)
		if err == nil {
			continue
		}
		what := strings.TrimPrefix(err.Error(), ErrBlocked.Error()+": it ")
		return pleat.InvalidField(field, " leads to %s, which %s; only public addresses are allowed, unless the "+
			"operator names the network in PLEAT_WEBHOOK_ALLOW", a.Unmap(), what)
	}
	return g.checkForm(field, t)
}

// checkForm checks the scheme and the port of a target outside the operator's networks.
func (g *Guard) checkForm(field string, t target) error {
	if t.url.Scheme != "https" {
		return pleat.InvalidField(field, " must be an https URL; "+
			"http is taken only for networks that the operator names in PLEAT_WEBHOOK_ALLOW")
	}
	if !slices.Contains(g.ports, t.port) {
		return pleat.InvalidField(field, " has the port %d; it must be %s", t.port, portList(g.ports))
	}
	return nil
}

// portList names ports in a sentence.
func portList(ports []uint16) string {
	words := make([]string, len(ports))
	for i, p := range ports {
		words[i] = fmt.Sprint(p)
	}
	return strings.Join(words, " or ")
}

// Control is the Control function of the net.Dialer for https. It sees the address that is dialled, after all look-ups.
func (g *Guard) Control(network, address string, _ syscall.RawConn) error {
	return g.checkDial("https", network, address)
}

// ControlPlain is Control for http, which is permitted for allowed networks only.
func (g *Guard) ControlPlain(network, address string, _ syscall.RawConn) error {
	return g.checkDial("http", network, address)
}

// checkDial returns an error that wraps ErrBlocked unless an address may be dialled for a scheme.
func (g *Guard) checkDial(scheme, network, address string) error {
	if network != "tcp4" && network != "tcp6" {
		return fmt.Errorf("%w: the network is %s", ErrBlocked, network)
	}
	ap, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("%w: no address", ErrBlocked)
	}
	if g.Allowed(ap.Addr()) {
		return nil
	}
	if err := g.CheckAddr(ap.Addr()); err != nil {
		return err
	}
	if scheme == "http" {
		return fmt.Errorf("%w: http is for allowed networks only", ErrBlocked)
	}
	if !slices.Contains(g.ports, ap.Port()) {
		return fmt.Errorf("%w: the port is %d", ErrBlocked, ap.Port())
	}
	return nil
}
