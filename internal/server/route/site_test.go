package route

import (
	"net/http/httptest"
	"testing"
)

// Names of the service are compared as browsers and proxies write them: with the port of their scheme or without it,
// with a dot at their end, in any letters.
func TestOwnOrigin(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		public, host, origin string
		known, own           bool
	}{
		{"https://fold.example.org:443", "127.0.0.1:8080", "https://fold.example.org", true, true},
		{"https://fold.example.org", "pleat:8080", "https://fold.example.org:443", false, true},
		{"http://fold.example.org:80/", "fold.example.org", "http://fold.example.org", true, true},
		{"https://fold.example.org", "FOLD.example.org.", "https://fold.example.org.", true, true},
		{"https://fold.example.org.", "fold.example.org", "https://fold.example.org", true, true},
		{"HTTPS://Fold.Example.org", "fold.example.org:443", "https://fold.example.org", true, true},
		{"https://[2001:db8::1]:8443", "[2001:db8::1]:8443", "https://[2001:db8::1]:8443", true, true},
		{"https://[2001:db8::1]", "[2001:db8::1]", "https://[2001:db8::1]", true, true},
		{"https://fold.example.org", "fold.example.org", "http://fold.example.org", true, false},
		{"https://fold.example.org", "fold.example.org:8443", "https://fold.example.org:9443", true, false},
		{"https://fold.example.org", "fold.example.org", "https://evil.example.org", true, false},
		{"https://fold.example.org", "fold.example.org", "null", true, false},
		{"https://fold.example.org", "evil.org", "https://evil.org", false, false},
		{"https://fold.example.org", "fold.example.org..", "https://fold.example.org..", false, false},
	} {
		s, err := NewSite(&Config{PublicURL: c.public})
		if err != nil {
			t.Fatal(err)
		}
		r := httptest.NewRequest("POST", "/v1/session", nil)
		r.Host = c.host
		r.Header.Set("Origin", c.origin)
		if known, own := s.KnownHost(c.host), s.OwnOrigin(r); known != c.known || own != c.own {
			t.Errorf("%+v: known %v, own %v", c, known, own)
		}
		if secure := c.public[4] == 's' || c.public[4] == 'S'; (s.cookie == "__Host-pleat_session") != secure {
			t.Errorf("%s: the cookie is %s", c.public, s.cookie)
		}
	}
}
