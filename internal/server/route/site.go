package route

import (
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Site is under which names the service answers, and which cookies it sets.
type Site struct {
	// Base is the public address without a slash at its end. Every link begins with it.
	Base string

	public *url.URL
	hosts  map[string]bool // in small letters
	// agentOrigins are the origins whose pages may call AgentPath, as browsers send them.
	agentOrigins map[string]bool
	cookie       string // name of the cookie that holds a browser's session
	shareCookie  string // name of the cookie that holds the token of a link
	secure       bool
}

// NewSite returns the site of a configuration. It fails if its PublicURL is not an http or https URL without a path.
func NewSite(cfg *Config) (*Site, error) {
	publicURL := cfg.PublicURL
	u, err := url.Parse(publicURL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || strings.Trim(u.Path, "/") != "" ||
		u.RawQuery != "" || u.Fragment != "" || u.User != nil {
		return nil, fmt.Errorf("the public address is %q; it must look like https://fold.example.org", publicURL)
	}
	s := &Site{
		Base:   strings.TrimRight(publicURL, "/"),
		public: u,
		hosts: map[string]bool{
			"localhost": true, "127.0.0.1": true, "::1": true, withoutDot(u.Hostname()): true,
		},
		agentOrigins: map[string]bool{},
		secure:       u.Scheme == "https",
	}
	for _, name := range cfg.Hosts {
		s.hosts[withoutDot(name)] = true
	}
	for _, origin := range cfg.AgentOrigins {
		s.agentOrigins[origin] = true
	}
	s.cookie, s.shareCookie = cookieName(u.String(), "pleat_session"), cookieName(u.String(), "pleat_share")
	return s, nil
}

// cookieName returns the name of a cookie. Over https it has the prefix with which browsers accept it from this host
// alone, so that no other service under the same domain can set it (RFC 6265bis, section 4.1.3.2).
func cookieName(publicURL, name string) string {
	if strings.HasPrefix(publicURL, "https:") {
		return "__Host-" + name
	}
	return name
}

// SessionCookie returns the cookie of a session with a value and an age in seconds; a negative age deletes it.
func (s *Site) SessionCookie(value string, age int) *http.Cookie {
	return &http.Cookie{
		Name:     s.cookie,
		Value:    value,
		Path:     "/",
		MaxAge:   age,
		HttpOnly: true,
		Secure:   s.secure,
		SameSite: http.SameSiteStrictMode,
	}
}

// ShareCookie returns the cookie by which a browser reads what a link opens, until the link ends.
func (s *Site) ShareCookie(token string, until time.Time) *http.Cookie {
	return &http.Cookie{
		Name:     s.shareCookie,
		Value:    token,
		Path:     "/",
		Expires:  until,
		HttpOnly: true,
		Secure:   s.secure,
		SameSite: http.SameSiteLaxMode,
	}
}

// SessionCookies returns the session cookies of a request. More than one: somebody else has set one of them.
func (s *Site) SessionCookies(r *http.Request) []*http.Cookie { return r.CookiesNamed(s.cookie) }

// MayUseCookie reports whether the cookie of a request counts. It does so only under the service's own host names,
// against DNS rebinding, and for writes only if the service's own pages sent the request, against cross-site request
// forgery.
func (s *Site) MayUseCookie(r *http.Request) bool {
	if !s.KnownHost(r.Host) {
		return false
	}
	return r.Method == http.MethodGet || r.Method == http.MethodHead || s.OwnOrigin(r)
}

// KnownHost reports whether a host, with or without port, is a name of this service.
func (s *Site) KnownHost(hostport string) bool {
	host, port, err := net.SplitHostPort(hostport)
	if err != nil {
		host = strings.Trim(hostport, "[]")
	}
	if strings.Trim(port, "0123456789") != "" { // such as localhost:80.example.org
		return false
	}
	return s.hosts[withoutDot(host)]
}

// withoutDot returns the name of a host in small letters, without the dot that may end it: it is the same host (RFC
// 1034, section 3.1).
func withoutDot(host string) string { return strings.TrimSuffix(strings.ToLower(host), ".") }

// plainHost returns a host without the port that its scheme has anyway, as browsers send it in Origin, and as proxies
// and settings may not.
func plainHost(scheme, hostport string) string {
	port := map[string]string{"http": ":80", "https": ":443"}[scheme]
	host := strings.TrimSuffix(hostport, port)
	if name, number, err := net.SplitHostPort(host); err == nil {
		return net.JoinHostPort(withoutDot(name), number)
	}
	return withoutDot(host)
}

// OwnOrigin reports whether a page of this service sent the request.
func (s *Site) OwnOrigin(r *http.Request) bool {
	u, err := url.Parse(r.Header.Get("Origin"))
	if err != nil || u.Host == "" {
		return false
	}
	origin := plainHost(u.Scheme, u.Host)
	if origin == plainHost(s.public.Scheme, s.public.Host) {
		return u.Scheme == s.public.Scheme
	}
	return origin == plainHost(u.Scheme, r.Host) && s.KnownHost(r.Host)
}
