// Package workerapitest has a proxy between a worker and a server that loses, delays and repeats what goes through it.
// It must not be imported by anything but tests.
package workerapitest

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path"
	"sync"
	"testing"

	"pleat/internal/workerapi"
)

// Fault is what the Proxy does to a call.
type Fault int

// The faults.
const (
	None        Fault = iota
	DropRequest       // the connection breaks before the server has the request
	DropAnswer        // the connection breaks after the server has answered
	DelayAnswer       // the answer is held until the rule is released
	Twice             // the server gets the request twice; the answer is the second one
	HalfOpen          // the request is read and neither passed on nor answered; the connection stays open
)

// Rule is a fault of one call. Make one with Proxy.On.
type Rule struct {
	fault   Fault
	last    string // element of the path
	n       int
	reached chan struct{}
	release chan struct{}
	once    sync.Once
	answer  []byte
}

// Reached is closed when the fault has begun: for DropAnswer and DelayAnswer, when the server has answered.
func (r *Rule) Reached() <-chan struct{} { return r.reached }

// Release lets a delayed answer go.
func (r *Rule) Release() { r.once.Do(func() { close(r.release) }) }

// Answer is the body that the server has answered with. It may be called after Reached.
func (r *Rule) Answer() []byte { return r.answer }

// Proxy passes the calls of a worker on to a server, but for the faults of its rules. Make one with NewProxy.
type Proxy struct {
	URL string

	// Request and Answer change the JSON bodies that pass; nil: nothing is changed. Set them before the first call.
	Request, Answer func(body []byte) []byte

	http   *httptest.Server
	passes http.Client

	mu     sync.Mutex
	target string
	rules  []*Rule
	calls  map[string]int // by the last element of their paths
	open   []net.Conn
}

// NewProxy starts a proxy in front of a server at a URL; it ends with the test.
func NewProxy(t testing.TB, target string) *Proxy {
	t.Helper()
	p := &Proxy{target: target, calls: map[string]int{}}
	p.passes.Transport = &http.Transport{DisableKeepAlives: true}
	p.http = httptest.NewServer(p)
	p.URL = p.http.URL
	t.Cleanup(func() {
		p.mu.Lock()
		for _, r := range p.rules {
			r.Release()
		}
		for _, c := range p.open {
			c.Close()
		}
		p.mu.Unlock()
		p.http.CloseClientConnections()
		p.http.Close()
	})
	return p
}

// Target passes the calls on to another server from now on.
func (p *Proxy) Target(target string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.target = target
}

// On makes a rule for the n-th call from now, 1 for the next, whose path ends with an element, such as «finish».
func (p *Proxy) On(last string, n int, fault Fault) *Rule {
	p.mu.Lock()
	defer p.mu.Unlock()
	r := &Rule{
		fault:   fault,
		last:    last,
		n:       p.calls[last] + n,
		reached: make(chan struct{}),
		release: make(chan struct{}),
	}
	p.rules = append(p.rules, r)
	return r
}

// Calls is how many calls whose path ends with an element have come.
func (p *Proxy) Calls(last string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.calls[last]
}

// rule counts a call, and returns its rule and where it goes.
func (p *Proxy) rule(last string) (*Rule, string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.calls[last]++
	for _, r := range p.rules {
		if r.last == last && r.n == p.calls[last] {
			return r, p.target
		}
	}
	return nil, p.target
}

// ServeHTTP implements http.Handler.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	rule, target := p.rule(path.Base(r.URL.Path))
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	isJSON := r.Header.Get("Content-Type") == "application/json"
	if p.Request != nil && isJSON {
		body = p.Request(body)
	}
	if rule == nil {
		p.pass(w, r, target, body)
		return
	}
	switch rule.fault {
	case DropRequest:
		close(rule.reached)
		panic(http.ErrAbortHandler)
	case HalfOpen:
		c, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		p.mu.Lock()
		p.open = append(p.open, c)
		p.mu.Unlock()
		close(rule.reached)
		return
	}
	answer := httptest.NewRecorder()
	if p.pass(answer, r, target, body); rule.fault == Twice {
		answer = httptest.NewRecorder()
		p.pass(answer, r, target, body)
	}
	rule.answer = bytes.Clone(answer.Body.Bytes())
	close(rule.reached)
	switch rule.fault {
	case DropAnswer:
		panic(http.ErrAbortHandler)
	case DelayAnswer:
		select {
		case <-rule.release:
		case <-r.Context().Done():
		}
	}
	for name, values := range answer.Header() {
		w.Header()[name] = values
	}
	w.WriteHeader(answer.Code)
	_, _ = w.Write(answer.Body.Bytes())
}

// pass passes a request on to a server, and its answer back.
func (p *Proxy) pass(w http.ResponseWriter, r *http.Request, target string, body []byte) {
	to, err := url.Parse(target)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	length := int64(len(body))
	passed := &httputil.ReverseProxy{
		Transport: p.passes.Transport,
		Rewrite: func(x *httputil.ProxyRequest) {
			x.SetURL(to)
			x.Out.Body, x.Out.ContentLength = io.NopCloser(bytes.NewReader(body)), length
		},
		ModifyResponse: func(resp *http.Response) error {
			if p.Answer == nil || resp.Header.Get("Content-Type") != "application/json" {
				return nil
			}
			raw, err := io.ReadAll(resp.Body)
			if err != nil {
				return err
			}
			raw = p.Answer(raw)
			resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(raw)), int64(len(raw))
			resp.Header.Del("Content-Length")
			return nil
		},
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
	}
	passed.ServeHTTP(w, r)
}

// Path is the path of a call, for tests that send one by hand.
func Path(elements ...string) string { return workerapi.Path + path.Join(elements...) }
