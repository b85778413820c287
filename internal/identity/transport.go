package identity

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"
)

const (
	requestTimeout = 10 * time.Second // of one request to the issuer, to the end of the answer
	maxAnswer      = 1 << 20          // bytes of one answer

	// A caller whose tokens name an unknown key makes the client ask for the issuer's keys. So many requests pass.
	keysEvery = 10 * time.Second
	keysBurst = 3
)

// transport makes the requests to the issuer. An issuer that does not answer, or says that it cannot, is an Error of
// the kind Unreachable.
type transport struct {
	issuer string
	base   *http.Transport
	keys   atomic.Pointer[string] // address of the issuer's keys
	limit  *rate.Limiter          // of the requests for them
	first  atomic.Bool            // the keys of what was published last have not been asked for, which no limit forbids
}

func newTransport(cfg Config) *transport {
	dialer := &net.Dialer{Timeout: requestTimeout}
	return &transport{
		issuer: cfg.Issuer,
		limit:  rate.NewLimiter(rate.Every(keysEvery), keysBurst),
		base: &http.Transport{
			Proxy:                  http.ProxyFromEnvironment,
			DialContext:            dialer.DialContext,
			TLSClientConfig:        &tls.Config{RootCAs: cfg.Roots, MinVersion: tls.VersionTLS12},
			TLSHandshakeTimeout:    requestTimeout,
			MaxResponseHeaderBytes: 64 << 10,
			MaxIdleConnsPerHost:    8,
			IdleConnTimeout:        time.Minute,
			ForceAttemptHTTP2:      true,
		},
	}
}

// errManyKeys is the failure where too many tokens name keys that the issuer does not have. It says nothing about the
// token at hand, which may be signed with a new key.
var errManyKeys = &Error{Kind: Unreachable, cause: errors.New("tokens name unknown keys"),
	Message: "The sign-in service's keys were asked for too often; try again later"}

// RoundTrip makes one request.
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	keys := t.keys.Load()
	forKeys := keys != nil && req.Method == http.MethodGet && req.URL.String() == *keys
	if forKeys && !t.first.CompareAndSwap(true, false) && !t.limit.Allow() {
		return nil, errManyKeys
	}
	resp, err := t.base.RoundTrip(req)
	if err != nil {
		return nil, t.unreachable(err)
	}
	public := req.Method == http.MethodGet && req.Header.Get("Authorization") == "" // its discovery and its keys
	if resp.StatusCode >= 500 || resp.StatusCode == http.StatusTooManyRequests ||
		public && resp.StatusCode != http.StatusOK {
		resp.Body.Close()
		return nil, t.unreachable(fmt.Errorf("%s answered %s", req.URL.Redacted(), resp.Status))
	}
	if !public && req.Method == http.MethodGet && resp.StatusCode != http.StatusOK { // user info
		resp.Body.Close()
		return nil, notConfirmed(resp)
	}
	resp.Body = &boundedBody{ReadCloser: resp.Body, left: maxAnswer}
	return resp, nil
}

// CloseIdleConnections ends the connections that are kept open; http.Client calls it.
func (t *transport) CloseIdleConnections() { t.base.CloseIdleConnections() }

// unreachable returns the failure of an issuer that does not answer.
func (t *transport) unreachable(cause error) error {
	return &Error{Kind: Unreachable, cause: cause, Message: "The sign-in service " + t.issuer +
		" does not answer; nobody new can sign in until it does, and whoever is signed in stays so"}
}

// notConfirmed returns the failure of a question about the holder of an access token.
func notConfirmed(resp *http.Response) error {
	cause := errors.New("user info answered " + resp.Status)
	switch resp.StatusCode {
	case http.StatusBadRequest, http.StatusUnauthorized, http.StatusForbidden:
		return &Error{Kind: Refused, Message: "The sign-in service does not confirm this token any more", cause: cause}
	}
	return &Error{Kind: Misconfigured, Message: "The sign-in service does not say who you are; ask the operator",
		cause: cause}
}

// boundedBody fails where an answer is longer than allowed.
type boundedBody struct {
	io.ReadCloser
	left int
}

func (b *boundedBody) Read(p []byte) (int, error) {
	if b.left < 0 {
		return 0, fmt.Errorf("the answer has more than %d bytes", maxAnswer)
	}
	n, err := b.ReadCloser.Read(p[:min(len(p), b.left+1)])
	if b.left -= n; b.left < 0 {
		return 0, fmt.Errorf("the answer has more than %d bytes", maxAnswer)
	}
	return n, err
}

// IsSafe reports whether secrets may be sent to a URL: it is https, or http to this machine. It has a host, no user and
// no fragment.
func IsSafe(text string) bool {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.User != nil || u.Fragment != "" {
		return false
	}
	ip, err := netip.ParseAddr(u.Hostname())
	loopback := u.Hostname() == "localhost" || err == nil && ip.IsLoopback()
	return u.Scheme == "https" || u.Scheme == "http" && loopback
}
