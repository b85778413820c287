package webhook

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/netip"
	"net/url"
	"strconv"
	"sync"
	"time"

	"pleat"
)

// Bounds on one delivery.
const (
	DefaultTimeout = 15 * time.Second
	readCap        = 16 << 10 // bytes of an answer's body that are read, and of its header
	answerCap      = 1 << 10  // bytes of an answer that are kept
)

// Config of a Sender. Only Guard is required.
type Config struct {
	Guard        *Guard
	Timeout      time.Duration     // over look-up, connect, TLS, request, header and body together; 0: DefaultTimeout
	Roots        *x509.CertPool    // who may sign a receiver's certificate; nil: the system's
	Certificates []tls.Certificate // shown to receivers that ask (mTLS)
	// Proxy is an egress proxy that every delivery goes through. It does the dialling, so it must refuse private
	// addresses itself; the guard can only check what the name leads to from here.
	Proxy    *url.URL
	IdleEach int              // idle connections kept per host; 0: 64
	Clock    func() time.Time // nil: time.Now
}

// Sender posts deliveries. It is safe for concurrent use and keeps nothing but idle connections; Close lets them go.
type Sender struct {
	guard   *Guard
	timeout time.Duration
	clock   func() time.Time
	proxied bool
	secure  *http.Transport
	plain   *http.Transport // http, for allowed networks; the guard's rule differs at dial
}

// NewSender makes a Sender.
func NewSender(c Config) *Sender {
	s := &Sender{guard: c.Guard, timeout: c.Timeout, clock: c.Clock, proxied: c.Proxy != nil}
	if s.timeout <= 0 {
		s.timeout = DefaultTimeout
	}
	if s.clock == nil {
		s.clock = time.Now
	}
	s.secure = transport(c, s.timeout)
	s.plain = transport(c, s.timeout)
	if c.Proxy == nil {
		secure := &net.Dialer{Timeout: s.timeout, Resolver: c.Guard.resolver, Control: c.Guard.Control}
		plain := &net.Dialer{Timeout: s.timeout, Resolver: c.Guard.resolver, Control: c.Guard.ControlPlain}
		s.secure.DialContext, s.plain.DialContext = secure.DialContext, plain.DialContext
	}
	return s
}

// transport speaks HTTP/1.1 only: one request per connection at a time, so that one that hangs takes no other with it.
func transport(c Config, timeout time.Duration) *http.Transport {
	each := c.IdleEach
	if each <= 0 {
		each = 64
	}
	t := &http.Transport{
		TLSClientConfig: &tls.Config{
			MinVersion: tls.VersionTLS12, RootCAs: c.Roots, Certificates: c.Certificates,
			ClientSessionCache: tls.NewLRUClientSessionCache(256),
		},
		Protocols:              new(http.Protocols),
		TLSHandshakeTimeout:    timeout,
		DisableCompression:     true,
		MaxResponseHeaderBytes: readCap,
		MaxIdleConns:           1024,
		MaxIdleConnsPerHost:    each,
		IdleConnTimeout:        30 * time.Second,
		ExpectContinueTimeout:  time.Second,
	}
	t.Protocols.SetHTTP1(true)
	if c.Proxy != nil {
		t.Proxy = http.ProxyURL(c.Proxy)
	}
	return t
}

// Close lets the idle connections go.
func (s *Sender) Close() {
	s.secure.CloseIdleConnections()
	s.plain.CloseIdleConnections()
}

// Request is one delivery to one endpoint.
type Request struct {
	URL         string // as CheckURL returned it
	ID          string // webhook-id: the same for every attempt and replay
	Token       string // X-Webhook-Token; empty: none
	Keys        []Key  // each signs; during a rotation the new one and the old
	Body        []byte
	ContentType string // empty: application/json
}

// Timings is how long each phase of an attempt took; 0 where it did not happen, as on a connection that was kept.
type Timings struct {
	DNS     time.Duration `json:"dns"`
	Connect time.Duration `json:"connect"`
	TLS     time.Duration `json:"tls"`
	Send    time.Duration `json:"send"`
	Wait    time.Duration `json:"wait"`
	Body    time.Duration `json:"body"`
	Total   time.Duration `json:"total"`
	Reused  bool          `json:"reused,omitempty"`
}

// Attempt is how one POST ended, in a form that may be stored and shown to the endpoint's owner. It holds no secret.
type Attempt struct {
	At      time.Time         `json:"at"`
	Status  int               `json:"status,omitempty"`  // 0: no answer
	Error   Class             `json:"error,omitempty"`   // empty: delivered
	Message string            `json:"message,omitempty"` // one sentence to Error
	Answer  string            `json:"answer,omitempty"`  // first bytes, printable; empty for allowed networks
	Headers map[string]string `json:"headers,omitempty"` // a few of the answer's
	Timings Timings           `json:"timings"`
	// What the answer asks for.
	RetryAfter time.Duration `json:"retry_after,omitempty"`
	Throttled  bool          `json:"throttled,omitempty"` // 429, 502, 504: leave the endpoint alone for a while
	Disable    bool          `json:"disable,omitempty"`   // 410, or webhook-delivery: disable
	// webhook-delivery: abort-message: no further attempt of this one
	Abort bool `json:"abort,omitempty"`
}

// OK reports whether the receiver has the delivery.
func (a Attempt) OK() bool { return a.Error == "" }

// Outcome is the attempt as the breaker sees it.
func (a Attempt) Outcome(probe bool) Outcome {
	return Outcome{
		OK: a.OK(), Throttled: a.Throttled, Refusal: a.Status == http.StatusTooManyRequests,
		RetryAfter: a.RetryAfter, Probe: probe,
	}
}

// Post makes one attempt. It never follows a redirect, reads at most 16 KiB and ends within the sender's timeout. The
// only retry inside is that of a kept connection which the receiver had closed before any byte of an answer.
func (s *Sender) Post(parent context.Context, r Request) (a Attempt) {
	start := s.clock()
	a = Attempt{At: start}
	ctx, cancel := context.WithTimeout(parent, s.timeout)
	defer cancel()
	tr := newTrace()
	defer func() { a.Timings = tr.timings() }()

	t, err := parseTarget("the target", r.URL)
	if err != nil {
		a.fail(ClassInvalid, "the stored target URL is no longer valid")
		return a
	}
	private, err := s.preflight(ctx, t)
	if err != nil {
		a.fail(ClassBlocked, err.Error())
		return a
	}
	resp, err := s.send(ctx, tr, t.url, r, start)
	if err != nil {
		a.Error, a.Message = classify(err, parent, ctx, tr.now())
		return a
	}
	defer resp.Body.Close()
	private = private || !s.proxied && s.guard.Allowed(tr.remote())
	a.judge(resp, s.clock())
	tr.done()
	if a.Status == http.StatusSwitchingProtocols {
		return a // its body is the bare connection, which no deadline ends
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, readCap))
	if err != nil && a.OK() {
		// A 2xx whose body does not end is no acknowledgement: the receiver may have died in the middle of its work.
		a.Error, a.Message = classify(err, parent, ctx, phaseBody)
	}
	if !private {
		a.keep(resp.Header, body, r)
	}
	return a
}

// preflight checks, where a proxy will dial, what can be checked from here.
func (s *Sender) preflight(ctx context.Context, t target) (private bool, err error) {
	if !s.proxied {
		return false, nil
	}
	addrs := s.guard.addresses(ctx, t)
	for _, a := range addrs {
		private = private || s.guard.Allowed(a)
	}
	return private, s.guard.judge("the target", t, addrs)
}

func (s *Sender) send(ctx context.Context, tr *trace, u *url.URL, r Request, at time.Time) (*http.Response, error) {
	req, err := http.NewRequestWithContext(httptrace.WithClientTrace(ctx, tr.hooks()), http.MethodPost, u.String(),
		bytes.NewReader(r.Body))
	if err != nil {
		return nil, errRequest
	}
	h := req.Header
	h.Set("Content-Type", "application/json")
	if r.ContentType != "" {
		h.Set("Content-Type", r.ContentType)
	}
	h.Set("User-Agent", "Pleat-Webhooks/"+pleat.Version)
	h.Set("Accept", "*/*")
	if r.Token != "" {
		h.Set(HeaderToken, r.Token)
	}
	h.Set(HeaderID, r.ID)
	h.Set(HeaderTimestamp, strconv.FormatInt(at.Unix(), 10))
	if sig := Sign(r.ID, at, r.Body, r.Keys...); sig != "" {
		h.Set(HeaderSignature, sig)
	}
	// An empty list is not sent; it tells the transport that this POST may be repeated on a fresh connection when a
	// kept one turns out closed, which is true: receivers know repeats by their webhook-id.
	h["Idempotency-Key"] = nil
	if u.Scheme == "http" {
		return s.plain.RoundTrip(req)
	}
	return s.secure.RoundTrip(req)
}

var errRequest = errors.New("the request cannot be written")

// phase is where an attempt stands, so that a timeout can say what took too long.
type phase string

const (
	phaseDNS     phase = "dns"
	phaseConnect phase = "connect"
	phaseTLS     phase = "tls"
	phaseSend    phase = "send"
	phaseWait    phase = "wait"
	phaseBody    phase = "body"
)

// trace times the phases. Its hooks may still be called by a dial that goes on after the attempt has ended.
type trace struct {
	mu    sync.Mutex
	start time.Time
	since time.Time // start of the present phase
	at    phase
	spent map[phase]time.Duration
	reuse bool
	end   time.Time
	addr  netip.Addr
}

// newTrace reads the machine's clock: durations need the monotonic one.
func newTrace() *trace {
	now := time.Now()
	return &trace{start: now, since: now, at: phaseConnect, spent: map[phase]time.Duration{}}
}

// enter ends the present phase and starts the next.
func (t *trace) enter(p phase) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.end.IsZero() {
		return
	}
	now := time.Now()
	t.spent[t.at] += now.Sub(t.since)
	t.at, t.since = p, now
}

func (t *trace) hooks() *httptrace.ClientTrace {
	return &httptrace.ClientTrace{
		// A phase that failed is the one the attempt ended in.
		DNSStart: func(httptrace.DNSStartInfo) { t.enter(phaseDNS) },
		DNSDone: func(i httptrace.DNSDoneInfo) {
			if i.Err == nil {
				t.enter(phaseConnect)
			}
		},
		TLSHandshakeStart: func() { t.enter(phaseTLS) },
		TLSHandshakeDone: func(_ tls.ConnectionState, err error) {
			if err == nil {
				t.enter(phaseSend)
			}
		},
		GotConn: func(i httptrace.GotConnInfo) {
			t.enter(phaseSend)
			t.mu.Lock()
			defer t.mu.Unlock()
			t.reuse = i.Reused
			if ap, err := netip.ParseAddrPort(i.Conn.RemoteAddr().String()); err == nil {
				t.addr = ap.Addr().Unmap()
			}
		},
		WroteRequest: func(i httptrace.WroteRequestInfo) {
			if i.Err == nil && t.now() == phaseSend { // an answer may come before the request is out
				t.enter(phaseWait)
			}
		},
		GotFirstResponseByte: func() { t.enter(phaseWait) },
	}
}

func (t *trace) now() phase {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.at
}

func (t *trace) remote() netip.Addr {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.addr
}

func (t *trace) done() { t.enter(phaseBody) }

// timings closes the trace.
func (t *trace) timings() Timings {
	t.enter(t.now())
	t.mu.Lock()
	defer t.mu.Unlock()
	t.end = time.Now()
	return Timings{
		DNS: t.spent[phaseDNS], Connect: t.spent[phaseConnect], TLS: t.spent[phaseTLS], Send: t.spent[phaseSend],
		Wait: t.spent[phaseWait], Body: t.spent[phaseBody], Total: t.end.Sub(t.start), Reused: t.reuse,
	}
}
