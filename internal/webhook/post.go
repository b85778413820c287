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
	"pleat/internal/clock"
	"pleat/internal/tracing"
)

// Limits of one delivery.
const (
	DefaultTimeout = 15 * time.Second
	readCap        = 16 << 10 // bytes that are read of a response body, and of a header
	answerCap      = 1 << 10  // bytes of a response that are stored
)

// Config configures a Sender. Only Guard is required.
type Config struct {
	Guard        *Guard
	Timeout      time.Duration     // for look-up, connect, TLS, request, header and body together; 0: DefaultTimeout
	Roots        *x509.CertPool    // certificate authorities of receivers; nil: the system's
	Certificates []tls.Certificate // client certificates (mTLS)
	// Proxy is an egress proxy for all deliveries. The proxy dials, so it must block private addresses itself; the
	// guard checks only what the name resolves to here.
	Proxy    *url.URL
	IdleEach int              // idle connections for each host; 0: 64
	Clock    func() time.Time // nil: the machine's
}

// Sender posts deliveries. It is safe for concurrent use. Its only state is idle connections; Close closes them.
type Sender struct {
	guard   *Guard
	timeout time.Duration
	clock   func() time.Time
	proxied bool
	secure  *http.Transport
	plain   *http.Transport // http, for allowed networks; it has another rule at dial
}

// NewSender returns a Sender.
func NewSender(c Config) *Sender {
	s := &Sender{guard: c.Guard, timeout: c.Timeout, clock: clock.Or(c.Clock), proxied: c.Proxy != nil}
	if s.timeout <= 0 {
		s.timeout = DefaultTimeout
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

// transport speaks HTTP/1.1 only: with one request at a time on a connection, a request that hangs blocks no other.
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

// Close closes the idle connections.
func (s *Sender) Close() {
	s.secure.CloseIdleConnections()
	s.plain.CloseIdleConnections()
}

// Request is one delivery to one endpoint.
type Request struct {
	URL         string // as CheckURL returned it
	ID          string // webhook-id: the same for all attempts and redeliveries
	Token       string // X-Webhook-Token; empty: none
	Keys        []Key  // each signs; during a rotation the new and the old one
	Body        []byte
	ContentType string // empty: application/json
	Trace       string // traceparent, as in W3C Trace Context; empty: none
}

// Timings are the durations of the phases of an attempt, in nanoseconds as JSON; 0 if a phase did not take place, such
// as the first three on a reused connection. Wait is from the end of the request to the end of the response's header.
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

// Attempt is the outcome of one POST in a form that can be stored and shown to the endpoint's owner. It contains no
// secrets.
type Attempt struct {
	At      time.Time         `json:"at"`
	Status  int               `json:"status,omitempty"`  // 0: no response
	Error   Class             `json:"error,omitempty"`   // empty: delivered
	Message string            `json:"message,omitempty"` // one sentence about Error
	Answer  string            `json:"answer,omitempty"`  // first bytes, printable; empty for allowed networks
	Headers map[string]string `json:"headers,omitempty"` // a few response headers
	Timings Timings           `json:"timings"`
	// Requests of the receiver.
	RetryAfter time.Duration `json:"retry_after,omitempty"`
	Throttled  bool          `json:"throttled,omitempty"` // 429, 502, 504: pause deliveries to the endpoint
	Disable    bool          `json:"disable,omitempty"`   // 410, or webhook-delivery: disable
	// webhook-delivery: abort-message: no further attempt of this delivery
	Abort bool `json:"abort,omitempty"`
}

// OK reports whether the receiver has accepted the delivery.
func (a Attempt) OK() bool { return a.Error == "" }

// Outcome returns the outcome for the circuit breaker.
func (a Attempt) Outcome(probe bool) Outcome {
	return Outcome{
		OK: a.OK(), Throttled: a.Throttled, Refusal: a.Status == http.StatusTooManyRequests,
		RetryAfter: a.RetryAfter, Probe: probe,
	}
}

// Post makes one attempt. It follows no redirect, reads at most 16 KiB and ends within the sender's timeout. It retries
// only on a reused connection that the receiver closed before it sent any byte of a response.
func (s *Sender) Post(parent context.Context, r Request) (a Attempt) {
	start := s.clock()
	a = Attempt{At: start}
	ctx, cancel := context.WithTimeout(parent, s.timeout)
	defer cancel()
	tr := newTrace()
	defer func() {
		a.Timings = tr.timings()
		if a.Error == ClassDNS {
			a.Timings = Timings{DNS: a.Timings.Total, Total: a.Timings.Total}
		}
	}()

	t, err := parseTarget("the target", r.URL)
	if err != nil {
		a.fail(ClassInvalid, "the stored target URL is no longer valid")
		return a
	}
	private, err := s.preflight(ctx, t)
	if err != nil {
		a.fail(ClassBlocked, err.Error())
		a.hideLookup(t)
		return a
	}
	resp, err := s.send(ctx, tr, t.url, r, start)
	if err != nil {
		a.Error, a.Message = classify(err, parent, ctx, tr.now())
		a.hideLookup(t)
		return a
	}
	defer resp.Body.Close()
	private = private || !s.proxied && s.guard.Allowed(tr.remote())
	a.readStatus(resp, s.clock())
	tr.done()
	if a.Status == http.StatusSwitchingProtocols {
		return a // its body is the bare connection, which no deadline ends
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, readCap))
	if err != nil && a.OK() {
		// A 2xx response whose body does not end is not an acknowledgement: the receiver may have died while it worked.
		a.Error, a.Message = classify(err, parent, ctx, phaseBody)
	}
	if !private {
		a.record(resp.Header, body, r)
	}
	return a
}

// preflight makes the checks that are possible here if a proxy dials.
func (s *Sender) preflight(ctx context.Context, t target) (private bool, err error) {
	if !s.proxied {
		return false, nil
	}
	addrs := s.guard.addresses(ctx, t)
	for _, a := range addrs {
		private = private || s.guard.Allowed(a)
	}
	return private, s.guard.check("the target", t, addrs)
}

// send signs the request and sends it. It returns when the response's header has arrived; the caller closes its body.
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
	if r.Trace != "" {
		h.Set(tracing.Header, r.Trace)
	}
	h.Set(HeaderID, r.ID)
	h.Set(HeaderTimestamp, strconv.FormatInt(at.Unix(), 10))
	if sig := Sign(r.ID, at, r.Body, r.Keys...); sig != "" {
		h.Set(HeaderSignature, sig)
	}
	// The empty list is not sent. It tells the transport that this POST may be repeated on a new connection if a reused
	// one turns out to be closed. That is true: receivers recognise repetitions by their webhook-id.
	h["Idempotency-Key"] = nil
	if u.Scheme == "http" {
		return s.plain.RoundTrip(req)
	}
	return s.secure.RoundTrip(req)
}

// errRequest replaces the error for a URL that makes no request, since that error quotes the URL.
var errRequest = errors.New("the request cannot be written")

// phase is the phase of an attempt, which a timeout names.
type phase string

const (
	phaseDNS     phase = "dns"
	phaseConnect phase = "connect"
	phaseTLS     phase = "tls"
	phaseSend    phase = "send"
	phaseWait    phase = "wait"
	phaseBody    phase = "body"
)

// trace measures the phases. A dial that continues after the end of the attempt may still call its hooks.
type trace struct {
	mu    sync.Mutex
	watch clock.Stopwatch
	since time.Duration // when the current phase began, by watch
	at    phase         // the current phase
	spent map[phase]time.Duration
	reuse bool       // the connection was open already
	over  bool       // timings was called: nothing is measured any more
	addr  netip.Addr // of the receiver, or of the proxy; the zero value before there is a connection
}

// newTrace starts a trace.
func newTrace() *trace {
	return &trace{watch: clock.Start(), at: phaseConnect, spent: map[phase]time.Duration{}}
}

// enter ends the current phase and starts the next one.
func (t *trace) enter(p phase) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.over {
		return
	}
	now := t.watch.Elapsed()
	t.spent[t.at] += now - t.since
	t.at, t.since = p, now
}

// hooks returns the functions by which the transport reports the phases.
func (t *trace) hooks() *httptrace.ClientTrace {
	return &httptrace.ClientTrace{
		// An attempt that fails in a phase ends in that phase.
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
			if i.Err == nil && t.now() == phaseSend { // a response may arrive before the request is complete
				t.enter(phaseWait)
			}
		},
		GotFirstResponseByte: func() { t.enter(phaseWait) },
	}
}

// now returns the current phase.
func (t *trace) now() phase {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.at
}

// remote returns the address that was connected to.
func (t *trace) remote() netip.Addr {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.addr
}

// done ends the wait for the header.
func (t *trace) done() { t.enter(phaseBody) }

// timings ends the trace and returns what was measured.
func (t *trace) timings() Timings {
	t.enter(t.now())
	t.mu.Lock()
	defer t.mu.Unlock()
	t.over = true
	return Timings{
		DNS: t.spent[phaseDNS], Connect: t.spent[phaseConnect], TLS: t.spent[phaseTLS], Send: t.spent[phaseSend],
		Wait: t.spent[phaseWait], Body: t.spent[phaseBody], Total: t.watch.Elapsed(), Reused: t.reuse,
	}
}
