package route

import (
	"net/http"
	"net/netip"
	"testing"
)

// TestClientAddress believes X-Forwarded-For from trusted proxies alone.
func TestClientAddress(t *testing.T) {
	t.Parallel()
	trusted := proxies{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("fd00::/8")}
	for _, c := range []struct {
		remote    string
		forwarded []string
		want      string // the name under which the request is limited
	}{
		{"192.0.2.1:5", nil, "address 192.0.2.1"},
		{"192.0.2.1:5", []string{"198.51.100.1"}, "address 192.0.2.1"}, // not from a trusted proxy
		{"10.1.1.1:5", nil, "address 10.1.1.1"},
		{"10.1.1.1:5", []string{"198.51.100.1"}, "address 198.51.100.1"},
		{"[::ffff:10.1.1.1]:5", []string{"198.51.100.1"}, "address 198.51.100.1"},
		{"10.1.1.1:5", []string{"1.2.3.4, 198.51.100.1"}, "address 198.51.100.1"},
		{"10.1.1.1:5", []string{"1.2.3.4, 198.51.100.1,10.2.2.2"}, "address 198.51.100.1"},
		{"10.1.1.1:5", []string{"1.2.3.4", "198.51.100.1", "10.2.2.2"}, "address 198.51.100.1"}, // several lines
		{"10.1.1.1:5", []string{"10.3.3.3, 10.2.2.2"}, "address 10.3.3.3"},
		{"10.1.1.1:5", []string{"198.51.100.1, unknown"}, "address 10.1.1.1"}, // the proxy did not see an address
		{"10.1.1.1:5", []string{"198.51.100.1, , 10.2.2.2"}, "address 10.2.2.2"},
		{"10.1.1.1:5", []string{""}, "address 10.1.1.1"},
		{"10.1.1.1:5", []string{"198.51.100.1:4711"}, "address 198.51.100.1"},
		{"10.1.1.1:5", []string{"[2001:db8::1]:4711"}, "network 2001:db8::/64"},
		{"10.1.1.1:5", []string{"[2001:db8::1]"}, "network 2001:db8::/64"},
		{"[fd00::1]:5", []string{"2001:db8:0:1:2:3:4:5"}, "network 2001:db8:0:1::/64"},
		{"[2001:db8:0:1::1%eth0]:5", nil, "network 2001:db8:0:1::/64"},
		{"@", []string{"198.51.100.1"}, "address invalid IP"}, // a Unix socket
	} {
		r := &http.Request{RemoteAddr: c.remote, Header: http.Header{"X-Forwarded-For": c.forwarded}}
		if got := peer(trusted.client(r)); got != c.want {
			t.Errorf("%s, forwarded for %q: %s, want %s", c.remote, c.forwarded, got, c.want)
		}
	}
}
