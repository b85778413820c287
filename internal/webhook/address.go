package webhook

import (
	"fmt"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/idna"

	"pleat"
)

// MaxURL bounds the length of a target URL in bytes.
const MaxURL = 2048

// target is a URL whose host has a canonical form: a lower-case ASCII name, or an address as netip prints it.
type target struct {
	url  *url.URL
	host string     // host name; empty if addr is set
	addr netip.Addr // unmapped; valid if the host is an address in any notation
	port uint16
}

// parseTarget parses a URL and brings its host into canonical form, so that the checked host is the one that is
// dialled. It makes no DNS look-up.
func parseTarget(field, raw string) (target, error) {
	if raw == "" {
		return target{}, pleat.InvalidField(field, " is empty; it must be an https URL")
	}
	if len(raw) > MaxURL {
		return target{}, pleat.InvalidField(field, " has %d bytes; at most %d are allowed", len(raw), MaxURL)
	}
	if !utf8.ValidString(raw) {
		return target{}, pleat.InvalidField(field, " is not valid UTF-8")
	}
	for i, r := range raw {
		if r <= ' ' || r == 0x7f || r == '\\' {
			return target{},
				pleat.InvalidField(field, " has %q at position %d; "+
					"a URL holds no spaces, control characters or backslashes", r, i+1)
		}
	}
	u, err := url.Parse(raw)
	if err != nil {
		// The parser's error quotes the URL, whose query may contain a secret.
		return target{}, pleat.InvalidField(field, " is not a URL; it must look like https://host/path")
	}
	switch {
	case u.Scheme != "https" && u.Scheme != "http":
		return target{}, pleat.InvalidField(field, " has the scheme %q; it must be https", pleat.Clip(u.Scheme))
	case u.Opaque != "" || u.Host == "":
		return target{}, pleat.InvalidField(field, " names no host; it must look like https://host/path")
	case u.User != nil:
		return target{}, pleat.InvalidField(field, " holds a user name or password; "+
			"send credentials as the token instead")
	case strings.Contains(raw, "#"):
		return target{}, pleat.InvalidField(field, " has a fragment (#…), which is never sent; leave it out")
	}
	t := target{url: u}
	if t.port, err = portOf(field, u); err != nil {
		return target{}, err
	}
	if err := t.readHost(field, u); err != nil {
		return target{}, err
	}
	t.rewrite()
	if n := len(t.url.String()); n > MaxURL {
		return target{}, pleat.InvalidField(field, " has %d bytes once escaped; at most %d are allowed", n, MaxURL)
	}
	return t, nil
}

// portOf returns the explicit port of a URL, or the default of its scheme.
func portOf(field string, u *url.URL) (uint16, error) {
	text := u.Port()
	if text == "" {
		if u.Scheme == "http" {
			return 80, nil
		}
		return 443, nil
	}
	n, err := strconv.ParseUint(text, 10, 16)
	if err != nil || n == 0 {
		return 0, pleat.InvalidField(field, " has the port %q; it must be a number from 1 to 65535", pleat.Clip(text))
	}
	return uint16(n), nil
}

// readHost distinguishes names from addresses. It accepts the notations of inet_aton as addresses, because some
// resolvers do: one number, two or three parts, octal and hexadecimal.
func (t *target) readHost(field string, u *url.URL) error {
	host := u.Hostname()
	if strings.HasPrefix(u.Host, "[") {
		a, err := netip.ParseAddr(host)
		switch {
		case err != nil || a.Is4():
			return pleat.InvalidField(field, " has %q in brackets, which is no IPv6 address", pleat.Clip(host))
		case a.Zone() != "":
			return pleat.Invalidf(
				"%s has an IPv6 address with a zone; zones lead to this machine's own links and are not taken", field)
		}
		t.addr = a.Unmap()
		return nil
	}
	if strings.ContainsAny(host, ":%[]") {
		return pleat.Invalidf(
			"%s has %q as its host, which is neither a name nor an address; IPv6 addresses stand in brackets", field,
			pleat.Clip(host))
	}
	name := host
	if !ascii(name) {
		mapped, err := idna.Lookup.ToASCII(name)
		if err != nil {
			return pleat.Invalidf(
				"%s has %q as its host, which is not a valid international name; write it in its xn-- form", field,
				pleat.Clip(host))
		}
		name = mapped
	}
	name = strings.TrimSuffix(strings.ToLower(name), ".")
	if numeric(name) {
		a, ok := parseIPv4(name)
		if !ok {
			return pleat.InvalidField(field, " has %q as its host, which ends like an IPv4 address and is none",
				pleat.Clip(host))
		}
		t.addr = a
		return nil
	}
	if !hostName(name) {
		return pleat.InvalidField(field, " has %q as its host, which is not a host name: labels of 1 to 63 letters, "+
			"digits and hyphens, joined by dots", pleat.Clip(host))
	}
	t.host = name
	return nil
}

// rewrite puts the canonical host into the URL.
func (t *target) rewrite() {
	host := t.host
	if t.addr.IsValid() {
		host = t.addr.String()
		if t.addr.Is6() {
			host = "[" + host + "]"
		}
	}
	if t.url.Scheme == "http" && t.port != 80 || t.url.Scheme == "https" && t.port != 443 {
		host = fmt.Sprintf("%s:%d", host, t.port)
	}
	t.url.Host = host
}

// local reports whether a name always means this machine, whatever a resolver answers (RFC 6761, section 6.3).
func (t *target) local() bool {
	return t.host == "localhost" || strings.HasSuffix(t.host, ".localhost")
}

// static reports whether the addresses of the target are known without a look-up.
func (t *target) static() bool { return t.addr.IsValid() || t.local() }

// ascii reports whether a string has ASCII characters only.
func ascii(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}

// numeric implements the «ends in a number» check of the URL standard (url.spec.whatwg.org, section 3.5): such a host
// must be an IPv4 address.
func numeric(host string) bool {
	last := host[strings.LastIndexByte(host, '.')+1:]
	if last == "" {
		return false
	}
	if strings.Trim(last, "0123456789") == "" {
		return true
	}
	hex, ok := strings.CutPrefix(last, "0x")
	return ok && strings.Trim(hex, "0123456789abcdef") == ""
}

// part parses one number of an IPv4 address: decimal, octal with 0, hexadecimal with 0x.
func part(s string) (uint64, bool) {
	base := 10
	switch {
	case s == "":
		return 0, false
	case strings.HasPrefix(s, "0x"):
		s, base = s[2:], 16
	case len(s) > 1 && s[0] == '0':
		s, base = s[1:], 8
	}
	if s == "" {
		return 0, true
	}
	if s[0] == '+' || s[0] == '-' || strings.Contains(s, "_") {
		return 0, false
	}
	n, err := strconv.ParseUint(s, base, 64)
	return n, err == nil
}

// parseIPv4 parses one to four numbers; the last one fills the remaining bytes (URL standard, section 3.5).
func parseIPv4(host string) (netip.Addr, bool) {
	parts := strings.Split(host, ".")
	if len(parts) > 4 {
		return netip.Addr{}, false
	}
	var value uint64
	for i, p := range parts {
		n, ok := part(p)
		if !ok {
			return netip.Addr{}, false
		}
		if i < len(parts)-1 {
			if n > 255 {
				return netip.Addr{}, false
			}
			value |= n << (8 * (3 - i))
			continue
		}
		if n >= 1<<(8*(5-len(parts))) {
			return netip.Addr{}, false
		}
		value |= n
	}
	return netip.AddrFrom4([4]byte{byte(value >> 24), byte(value >> 16), byte(value >> 8), byte(value)}), true
}

// hostName reports whether s is a name by RFC 1123. Underscores are allowed because container networks use them.
func hostName(s string) bool {
	if s == "" || len(s) > 253 {
		return false
	}
	for label := range strings.SplitSeq(s, ".") {
		if label == "" || len(label) > 63 || label[0] == '-' || label[len(label)-1] == '-' {
			return false
		}
		for i := range len(label) {
			c := label[i]
			if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' && c != '_' {
				return false
			}
		}
	}
	return true
}
