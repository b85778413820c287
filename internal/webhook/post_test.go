package webhook

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"pleat"
)

// The standard library's look-ups go on for some seconds after their caller has left; they are the only ones that may.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("net.dnsPacketRoundTrip"),
		goleak.IgnoreAnyFunction("net.(*Resolver).goLookupIPCNAMEOrder"),
		goleak.IgnoreAnyFunction("net.(*Resolver).lookupIPAddr.func2"))
}

const (
	patient = 20 * time.Second // no receiver of these tests needs it
	hasty   = 400 * time.Millisecond
	token   = "tok-3141-secret"
)

// request is a delivery whose every secret must stay out of the attempt.
func request(target string) Request {
	return Request{
		URL:   target,
		ID:    "018f0000-0000-7000-8000-00000000000e",
		Token: token,
		Keys:  []Key{NewKey(), NewKeyPair()},
		Body:  []byte(`{"a":1}`),
	}
}

// holdsNoSecret checks everything that would be stored or logged of an attempt.
func holdsNoSecret(t *testing.T, a Attempt, r Request) {
	t.Helper()
	raw, err := json.Marshal(a)
	if err != nil {
		t.Fatal(err)
	}
	all := string(raw) + fmt.Sprintf("%v %+v", a, a)
	secrets := []string{r.Token, "q-2718"}
	for _, k := range r.Keys {
		_, bare, _ := strings.Cut(k.Text(), "_")
		secrets = append(secrets, bare)
	}
	for _, h := range secrets {
		if h != "" && strings.Contains(all, h) {
			t.Errorf("%q is in the attempt: %s", h, all)
		}
	}
}

func TestPostSends(t *testing.T) {
	got := make(chan *http.Request, 2)
	bodies := make(chan []byte, 2)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		got <- r
		bodies <- b
		w.WriteHeader(http.StatusNoContent)
	}))
	defer srv.Close()
	at := time.Unix(1_760_000_000, 0)
	s := newSender(t, Config{Guard: loopback(nil), Timeout: patient, Clock: func() time.Time { return at }})
	r := request(srv.URL + "/hook?k=q-2718")
	for n := range 2 {
		a := s.Post(t.Context(), r)
		if !a.OK() || a.Status != 204 || !a.At.Equal(at) || a.Timings.Reused != (n == 1) || a.Timings.Total <= 0 {
			t.Fatalf("%+v", a)
		}
		holdsNoSecret(t, a, r)
		req, body := <-got, <-bodies
		if err := Verify(req.Header, body, at, 0, r.Keys[0]); err != nil {
			t.Error(err)
		}
		if err := Verify(req.Header, body, at, 0, mustKey(t, r.Keys[1].Public())); err != nil {
			t.Error(err)
		}
		h := req.Header
		h.Del(HeaderSignature)
		want := http.Header{
			"Content-Type": {"application/json"}, "Content-Length": {"7"}, "Accept": {"*/*"},
			"X-Webhook-Token": {token}, "Webhook-Id": {r.ID},
			"Webhook-Timestamp": {"1760000000"}, "User-Agent": {"Pleat-Webhooks/" + pleat.Version},
		}
		if d := cmp.Diff(want, h); d != "" {
			t.Error(d)
		}
		if req.Method != "POST" || req.RequestURI != "/hook?k=q-2718" || string(body) != `{"a":1}` {
			t.Errorf("%s %s %s", req.Method, req.RequestURI, body)
		}
	}
}

// The answers a receiver may give, each as it stands on the wire.
func TestPostAnswers(t *testing.T) {
	elsewhere := listen(t, nil, answering("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"))
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	status := func(code int, headers ...string) string {
		return fmt.Sprintf("HTTP/1.1 %d X\r\nContent-Length: 0\r\n%s\r\n", code,
			strings.Join(append(headers, ""), "\r\n"))
	}
	type want struct {
		class                     Class
		throttled, disable, abort bool
		after                     time.Duration
	}
	tests := []struct {
		raw  string
		want want
	}{
		{status(200), want{}},
		{status(201), want{}},
		{status(202), want{}},
		{"HTTP/1.1 204 No Content\r\n\r\n", want{}},
		{status(299), want{}},
		{"HTTP/1.1 100 Continue\r\n\r\n" + status(200), want{}},
		{"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" + status(200), want{}},
		{status(200, "webhook-delivery: disable"), want{disable: true}},
		{status(200, "webhook-delivery: abort-message"), want{}},
		{status(300, "Location: http://"+elsewhere.addr+"/"), want{class: ClassRedirect}},
		{status(301, "Location: http://"+elsewhere.addr+"/"), want{class: ClassRedirect}},
		{status(302, "Location: http://"+elsewhere.addr+"/"), want{class: ClassRedirect}},
		{status(303, "Location: http://"+elsewhere.addr+"/"), want{class: ClassRedirect}},
		{"HTTP/1.1 304 Not Modified\r\n\r\n", want{class: ClassStatus}},
		{status(305, "Location: http://"+elsewhere.addr+"/"), want{class: ClassRedirect}},
		{status(307, "Location: http://"+elsewhere.addr+"/"), want{class: ClassRedirect}},
		{status(308, "Location: http://"+elsewhere.addr+"/"), want{class: ClassRedirect}},
		{status(400), want{class: ClassStatus}},
		{status(401), want{class: ClassStatus}},
		{status(404), want{class: ClassStatus}},
		{status(408), want{class: ClassStatus}},
		{status(410), want{class: ClassStatus, disable: true}},
		{status(422, "webhook-delivery: Abort-Message"), want{class: ClassStatus, abort: true}},
		{status(429), want{class: ClassStatus, throttled: true}},
		{status(429, "Retry-After: 120"), want{class: ClassStatus, throttled: true, after: 2 * time.Minute}},
		{status(429, "Retry-After: Sun, 01 Mar 2026 12:10:00 GMT"),
			want{class: ClassStatus, throttled: true, after: 10 * time.Minute}},
		{status(429, "Retry-After: soon"), want{class: ClassStatus, throttled: true}},
		{status(500), want{class: ClassStatus}},
		{status(500, "webhook-delivery: disable"), want{class: ClassStatus, disable: true}},
		{status(502), want{class: ClassStatus, throttled: true}},
		{status(503, "Retry-After: 99999999999999999999"), want{class: ClassStatus, after: 24 * time.Hour}},
		{status(504, "Retry-After: -5"), want{class: ClassStatus, throttled: true}},
		{status(599), want{class: ClassStatus}},
		{status(999), want{class: ClassStatus}},
		{"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n", want{class: ClassStatus}},
		{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n", want{}},
		{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", want{class: ClassProtocol}},
		{"SSH-2.0-OpenSSH_9.6\r\n", want{class: ClassProtocol}},
		{"HTTP/1.1 2x0 OK\r\n\r\n", want{class: ClassProtocol}},
		{"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", want{class: ClassProtocol}},
		{"HTTP/1.1 200 OK\r\nX: " + strings.Repeat("y", 20<<10) + "\r\n\r\n", want{class: ClassProtocol}},
		{strings.Repeat("HTTP/1.1 103 Early Hints\r\nLink: </a>; rel=x\r\n\r\n", 2000) + status(200),
			want{class: ClassProtocol}},
	}
	s := newSender(t, Config{Guard: loopback(nil), Timeout: patient, Clock: func() time.Time { return at }})
	for _, tt := range tests {
		name, _, _ := strings.Cut(tt.raw, "\r\n")
		t.Run(name, func(t *testing.T) {
			r := request("http://" + listen(t, nil, answering(tt.raw)).addr + "/?k=q-2718")
			a := s.Post(t.Context(), r)
			if got := (want{a.Error, a.Throttled, a.Disable, a.Abort, a.RetryAfter}); got != tt.want {
				t.Errorf("got %+v, want %+v: %s", got, tt.want, a.Message)
			}
			if (a.Message == "") != a.OK() || a.Answer != "" || len(a.Headers) != 0 {
				t.Errorf("%+v", a)
			}
			holdsNoSecret(t, a, r)
		})
	}
	if n := elsewhere.conns.Load(); n != 0 {
		t.Errorf("%d redirects were followed", n)
	}
}

// The faults on the way, phase by phase.
func TestPostFaults(t *testing.T) {
	ca := newAuthority(t)
	far := time.Now().Add(time.Hour)
	good := ca.server(t, far, "127.0.0.1")
	strict := good.Clone()
	strict.ClientAuth, strict.ClientCAs = tls.RequireAndVerifyClientCert, ca.pool
	old := good.Clone()
	old.MinVersion, old.MaxVersion = tls.VersionTLS10, tls.VersionTLS11
	ok := answering("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
	dns := newNames(t, map[string]string{"silent.example": "", "here.example": "127.0.0.1"})
	head := func(rest string) func(net.Conn) {
		return func(c net.Conn) {
			if req, err := http.ReadRequest(bufio.NewReader(c)); err == nil {
				_, _ = io.Copy(io.Discard, req.Body)
				_, _ = io.WriteString(c, rest)
			}
		}
	}
	then := func(first, second func(net.Conn)) func(net.Conn) { return func(c net.Conn) { first(c); second(c) } }
	at := func(scheme string, r *receiver) string { return scheme + "://" + r.addr + "/?k=q-2718" }
	over := make(chan struct{})
	tests := []struct {
		name    string
		target  string
		timeout time.Duration
		size    int // of the body
		want    Class
	}{
		{"refuses", "http://" + closedPort(t) + "/?k=q-2718", patient, 0, ClassRefused},
		{"unknown name", "http://nowhere.example/?k=q-2718", patient, 0, ClassDNS},
		{"silent name server", "http://silent.example/", hasty, 0, ClassTimeoutDNS},
		{"known name", "http://here.example:" + port(listen(t, nil, ok)), patient, 0, ""},
		{"hangs in connect", "http://" + fullBacklog(t) + "/", hasty, 0, ClassTimeoutConnect},
		{"hangs in TLS", at("https", listen(t, nil, hang)), hasty, 0, ClassTimeoutTLS},
		{"ends in TLS", at("https", listen(t, nil, func(net.Conn) {})), patient, 0, ClassReset},
		{"resets in TLS", at("https", listen(t, nil, reset)), patient, 0, ClassReset},
		{"speaks HTTP where TLS is due", at("https", listen(t, nil, func(c net.Conn) {
			_, _ = c.Read(make([]byte, 1))
			_, _ = io.WriteString(c, "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
			hang(c)
		})), patient, 0, ClassTLS},
		{"speaks something else where TLS is due", at("https", listen(t, nil, func(c net.Conn) {
			_, _ = io.WriteString(c, "220 mail.example ESMTP ready, and waiting\r\n")
			hang(c)
		})), patient, 0, ClassTLS},
		{"good certificate", at("https", listen(t, good, ok)), patient, 0, ""},
		{"certificate of an unknown authority", at("https", listen(t, newAuthority(t).server(t, far, "127.0.0.1"), ok)),
			patient, 0, ClassTLS},
		{"certificate for another name", at("https", listen(t, ca.server(t, far, "other.example"), ok)), patient, 0,
			ClassTLS},
		{"expired certificate", at("https", listen(t, ca.server(t, time.Now().Add(-time.Minute), "127.0.0.1"), ok)),
			patient, 0, ClassTLS},
		{"TLS 1.1", at("https", listen(t, old, ok)), patient, 0, ClassTLS},
		{"asks for a certificate that we lack", at("https", listen(t, strict, ok)), patient, 0, ClassTLS},
		{"takes the body slowly", at("http", listen(t, nil, func(c net.Conn) { _, _ = c.Read(make([]byte, 1)); <-over })),
			hasty, 32 << 20, ClassTimeoutSend},
		{"resets before the answer", at("http", listen(t, nil, then(head(""), reset))), patient, 0, ClassReset},
		{"closes before the answer", at("http", listen(t, nil, head(""))), patient, 0, ClassReset},
		{"hangs before the answer", at("http", listen(t, nil, hang)), hasty, 0, ClassTimeoutWait},
		{"hangs in the header", at("http", listen(t, nil, then(head("HTTP/1.1 200 OK\r\nX-Slow:"), hang))), hasty, 0,
			ClassTimeoutWait},
		{"closes in the header", at("http", listen(t, nil, head("HTTP/1.1 200 OK\r\nX-Slow:"))), patient, 0,
			ClassReset},
		{"hangs in the body",
			at("http", listen(t, nil, then(head("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf"), hang))), hasty, 0,
			ClassTimeoutBody},
		{"closes in the body", at("http", listen(t, nil, head("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf"))),
			patient, 0, ClassReset},
		{"drips the header", at("http", listen(t, nil, then(head("HTTP/1.1 200 OK\r\n"), drip("X: y\r\n")))), hasty, 0,
			ClassTimeoutWait},
		{"drips the body",
			at("http", listen(t, nil, then(head("HTTP/1.1 200 OK\r\nContent-Length: 9999\r\n\r\n"), drip("z")))), hasty,
			0, ClassTimeoutBody},
		{"drips an error",
			at("http", listen(t, nil, then(head("HTTP/1.1 500 No\r\nContent-Length: 9999\r\n\r\n"), drip("z")))), hasty,
			0, ClassStatus},
		{"ends the body by closing", at("http", listen(t, nil, head("HTTP/1.0 200 OK\r\n\r\nfine"))), patient, 0, ""},
		{"a target that is none", "https://user:q-2718@[::1/", patient, 0, ClassInvalid},
		{"a target by another scheme", "ftp://q-2718.example/", patient, 0, ClassInvalid},
		{"http to an address that is not allowed", "http://[::1]:9/?k=q-2718", patient, 0, ClassBlocked},
		{"https to an address that is not allowed", "https://10.0.0.1/?k=q-2718", patient, 0, ClassBlocked},
		{"http to a public address", "http://8.8.8.8/?k=q-2718", patient, 0, ClassBlocked},
		{"https to a public address on another port", "https://8.8.8.8:8443/?k=q-2718", patient, 0, ClassBlocked},
	}
	t.Cleanup(func() { close(over) }) // before the receivers' own, which wait for all that they do
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := request(tt.target)
			if tt.size > 0 {
				r.Body, r.Keys = make([]byte, tt.size), nil // signing so much would be what is slow
			}
			post := func(timeout time.Duration) (Attempt, time.Duration) {
				s := newSender(t, Config{Guard: loopback(dns.resolver()), Timeout: timeout, Roots: ca.pool})
				start := time.Now()
				a := s.Post(t.Context(), r)
				return a, time.Since(start)
			}
			timeout := tt.timeout
			a, spent := post(timeout)
			// On a busy machine an earlier phase may take all of a short time.
			for a.Error != tt.want && strings.HasPrefix(string(a.Error), "timeout_") && timeout < patient {
				timeout *= 4
				a, spent = post(timeout)
			}
			if a.Error != tt.want || (a.Message == "") != a.OK() {
				t.Errorf("got %q (%s), want %q", a.Error, a.Message, tt.want)
			}
			if tt.timeout == hasty && (spent < timeout || spent > timeout+30*time.Second) {
				t.Errorf("took %s of %s", spent, timeout)
			}
			holdsNoSecret(t, a, r)
		})
	}
}

func port(r *receiver) string { return r.addr[strings.LastIndexByte(r.addr, ':')+1:] }

// reset ends a connection with RST.
func reset(c net.Conn) {
	if t, ok := c.(*net.TCPConn); ok {
		_ = t.SetLinger(0)
	}
}

// drip sends a few bytes forever.
func drip(text string) func(net.Conn) {
	return func(c net.Conn) {
		for {
			if _, err := io.WriteString(c, text); err != nil {
				return
			}
			time.Sleep(20 * time.Millisecond)
		}
	}
}

// closedPort is an address on which nothing listens. It is bound, so that no other socket gets it.
func closedPort(t *testing.T) string {
	_, addr := bound(t)
	return addr
}

// bound is a socket with an address of its own. It is closed with the test.
func bound(t *testing.T) (fd int, addr string) {
	t.Helper()
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Close(fd) })
	if err := syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		t.Fatal(err)
	}
	name, err := syscall.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	return fd, fmt.Sprintf("127.0.0.1:%d", name.(*syscall.SockaddrInet4).Port)
}

// fullBacklog is a listener that accepts nothing and whose queue is full, so that a connect gets no answer at all.
func fullBacklog(t *testing.T) string {
	fd, addr := bound(t)
	if err := syscall.Listen(fd, 0); err != nil {
		t.Fatal(err)
	}
	for range 64 {
		c, err := net.DialTimeout("tcp4", addr, 200*time.Millisecond)
		if err != nil {
			return addr
		}
		t.Cleanup(func() { c.Close() })
	}
	t.Skip("this system's listeners have no full backlog")
	return ""
}

// The name leads to a public address when it is saved and to this machine when it is dialled.
func TestPostRebinding(t *testing.T) {
	inside := listen(t, nil, hang)
	dns := newNames(t, map[string]string{"rebind.example": "8.8.8.8"})
	p := netip.MustParseAddrPort(inside.addr).Port()
	g := NewGuard(nil, []uint16{443, p}, dns.resolver())
	u, err := g.CheckURL(t.Context(), "target_url", fmt.Sprintf("https://rebind.example:%d/", p))
	if err != nil {
		t.Fatal(err)
	}
	dns.set("rebind.example", "127.0.0.1")
	a := newSender(t, Config{Guard: g, Timeout: patient}).Post(t.Context(), request(u.String()))
	// It reads as an attempt at a name that there is not.
	gone := newSender(t, Config{Guard: g, Timeout: patient}).Post(t.Context(),
		request(strings.Replace(u.String(), "rebind", "nowhere", 1)))
	for _, one := range []*Attempt{&a, &gone} {
		if one.Timings.DNS == 0 || one.Timings.DNS != one.Timings.Total || one.Timings.Connect != 0 {
			t.Errorf("timings %+v", one.Timings)
		}
		one.At, one.Timings = time.Time{}, Timings{}
	}
	if d := cmp.Diff(gone, a); d != "" || a.Error != ClassDNS {
		t.Errorf("%+v; %s", a, d)
	}
	if strings.Contains(a.Message, "127.0.0.1") {
		t.Errorf("%+v", a)
	}
	if n := inside.conns.Load(); n != 0 {
		t.Errorf("%d connections came in", n)
	}
	// Both at once: only the permitted address may be reached.
	dns.set("both.example", "10.255.255.1 127.0.0.1")
	ok := listen(t, nil, answering("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"))
	a = newSender(t, Config{Guard: loopback(dns.resolver()), Timeout: patient}).Post(t.Context(),
		request("http://both.example:"+port(ok)+"/"))
	if !a.OK() {
		t.Errorf("%+v", a)
	}
}

// An answer of 100 MB costs 16 KiB here and little there.
func TestPostHugeAnswer(t *testing.T) {
	var sent atomic.Int64
	r := listen(t, nil, func(c net.Conn) {
		if _, err := http.ReadRequest(bufio.NewReader(c)); err != nil {
			return
		}
		_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 104857600\r\n\r\n")
		chunk := bytes.Repeat([]byte("x"), 64<<10)
		for range 1600 {
			n, err := c.Write(chunk)
			sent.Add(int64(n))
			if err != nil {
				return
			}
		}
	})
	a := newSender(t, Config{Guard: loopback(nil), Timeout: patient}).Post(t.Context(), request("http://"+r.addr))
	if !a.OK() || a.Timings.Total > patient/2 {
		t.Errorf("%+v", a)
	}
	if n := sent.Load(); n > 32<<20 {
		t.Errorf("%d bytes were taken", n)
	}
}

// The kept part of a public receiver's answer.
func TestPostKeepsAnswer(t *testing.T) {
	var bomb bytes.Buffer
	z, _ := gzip.NewWriterLevel(&bomb, gzip.BestSpeed)
	_, _ = z.Write(make([]byte, 8<<20))
	z.Close()
	ca := newAuthority(t)
	config := ca.server(t, time.Now().Add(time.Hour), "127.0.0.1")
	post := func(t *testing.T, write func(w http.ResponseWriter, r *http.Request)) (Attempt, Request) {
		srv := httptest.NewUnstartedServer(http.HandlerFunc(write))
		srv.TLS = config.Clone()
		srv.StartTLS()
		defer srv.Close()
		p := srv.Listener.Addr().(*net.TCPAddr).Port
		s := newSender(t, Config{Guard: asPublic(uint16(p)), Timeout: patient, Roots: ca.pool})
		r := request(srv.URL + "/?k=q-2718")
		a := s.Post(t.Context(), r)
		holdsNoSecret(t, a, r)
		return a, r
	}
	t.Run("text", func(t *testing.T) {
		a, _ := post(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Server", "sink/1")
			w.Header().Set("Set-Cookie", "session=1")
			http.Error(w, "no such hook \x1b[31m\u202e", 404)
		})
		want := map[string]string{"content-type": "text/plain; charset=utf-8", "server": "sink/1"}
		if a.Answer != `no such hook \x1b[31m\u{202e}`+"\n" || cmp.Diff(want, a.Headers) != "" {
			t.Errorf("%q %v", a.Answer, a.Headers)
		}
	})
	t.Run("echo", func(t *testing.T) {
		a, r := post(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Server", r.Header.Get(HeaderToken))
			fmt.Fprintf(w, "you sent %s", r.Header.Get(HeaderToken))
		})
		if a.Answer != "you sent [redacted]" || a.Headers["server"] != "[redacted]" || r.Token == "" {
			t.Errorf("%q %v", a.Answer, a.Headers)
		}
	})
	t.Run("long", func(t *testing.T) {
		a, _ := post(t, func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, strings.Repeat("é", 40<<10))
		})
		if len(a.Answer) != answerCap || !a.OK() {
			t.Errorf("%d bytes, %s", len(a.Answer), a.Error)
		}
	})
	t.Run("gzip bomb", func(t *testing.T) {
		a, _ := post(t, func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Accept-Encoding") != "" {
				t.Error("compression is asked for")
			}
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = w.Write(bomb.Bytes())
		})
		if a.Answer != "" || !a.OK() {
			t.Errorf("%q %s", a.Answer, a.Error)
		}
	})
	t.Run("binary", func(t *testing.T) {
		a, _ := post(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("a\xff\x00b\x7f\u0085")) })
		if a.Answer != "a\uFFFD\\x00b\\x7f\\u{85}" {
			t.Errorf("%q", a.Answer)
		}
	})
}

func TestPostMutualTLS(t *testing.T) {
	ca := newAuthority(t)
	config := ca.server(t, time.Now().Add(time.Hour), "127.0.0.1")
	config.ClientAuth, config.ClientCAs = tls.RequireAndVerifyClientCert, ca.pool
	r := listen(t, config, answering("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"))
	s := newSender(t, Config{
		Guard:        loopback(nil),
		Timeout:      patient,
		Roots:        ca.pool,
		Certificates: ca.server(t, time.Now().Add(time.Hour), "sender").Certificates,
	})
	if a := s.Post(t.Context(), request("https://"+r.addr)); !a.OK() {
		t.Errorf("%+v", a)
	}
}

// A kept connection that the receiver has closed meanwhile costs no attempt.
func TestPostStaleConnection(t *testing.T) {
	var served atomic.Int64
	r := listen(t, nil, func(c net.Conn) {
		if req, err := http.ReadRequest(bufio.NewReader(c)); err == nil {
			_, _ = io.Copy(io.Discard, req.Body)
			served.Add(1)
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
		}
	})
	s := newSender(t, Config{Guard: loopback(nil), Timeout: patient})
	for range 50 {
		if a := s.Post(t.Context(), request("http://"+r.addr)); !a.OK() {
			t.Fatalf("%+v", a)
		}
	}
	if served.Load() != 50 {
		t.Errorf("%d served", served.Load())
	}
}

func TestPostCancelled(t *testing.T) {
	r := listen(t, nil, hang)
	s := newSender(t, Config{Guard: loopback(nil), Timeout: patient})
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(100*time.Millisecond, cancel)
	if a := s.Post(ctx, request("http://"+r.addr)); a.Error != ClassCancelled {
		t.Errorf("%+v", a)
	}
}

// An endpoint that hangs uses the connection of no other.
func TestPostHangingNeighbour(t *testing.T) {
	hanging := listen(t, nil, hang)
	healthy := listen(t, nil, answering("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"))
	s := newSender(t, Config{Guard: loopback(nil), Timeout: patient})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan Attempt)
	for range 100 {
		go func() { done <- s.Post(ctx, request("http://"+hanging.addr)) }()
	}
	for range 100 {
		if a := s.Post(t.Context(), request("http://"+healthy.addr)); !a.OK() {
			t.Fatalf("%+v", a)
		}
	}
	cancel()
	for range 100 {
		if a := <-done; a.Error != ClassCancelled {
			t.Errorf("%+v", a)
		}
	}
}

func TestPostThroughProxy(t *testing.T) {
	ca := newAuthority(t)
	sink := listen(t, ca.server(t, time.Now().Add(time.Hour), "hooks.example", "inside.example"),
		answering("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"))
	dns := newNames(t, map[string]string{"hooks.example": "8.8.8.8", "inside.example": "10.0.0.1"})
	asked := make(chan string, 9)
	proxy := listen(t, nil, func(c net.Conn) {
		req, err := http.ReadRequest(bufio.NewReader(c))
		if err != nil {
			return
		}
		asked <- req.Method + " " + req.Host
		out, err := net.Dial("tcp4", sink.addr)
		if err != nil {
			return
		}
		defer out.Close()
		_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\n\r\n")
		go func() { defer out.Close(); _, _ = io.Copy(out, c) }()
		_, _ = io.Copy(c, out)
	})
	s := newSender(t, Config{
		Guard:   NewGuard(nil, nil, dns.resolver()),
		Timeout: patient,
		Roots:   ca.pool,
		Proxy:   &url.URL{Scheme: "http", Host: proxy.addr},
	})
	a := s.Post(t.Context(), request("https://hooks.example/"))
	if !a.OK() || a.Answer != "ok" || <-asked != "CONNECT hooks.example:443" {
		t.Errorf("%+v", a)
	}
	for target, want := range map[string]Class{
		"https://inside.example/": ClassDNS, "https://127.0.0.1/": ClassBlocked, "http://hooks.example/": ClassDNS,
	} {
		if a := s.Post(t.Context(), request(target)); a.Error != want {
			t.Errorf("%s: %+v", target, a)
		}
	}
	if len(asked) != 0 {
		t.Errorf("the proxy was asked for %s", <-asked)
	}
}

// The environment's proxy is not ours.
func TestPostIgnoresEnvironment(t *testing.T) {
	t.Setenv("HTTP_PROXY", "http://127.0.0.1:9")
	t.Setenv("HTTPS_PROXY", "http://127.0.0.1:9")
	r := listen(t, nil, answering("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"))
	if a := newSender(t, Config{Guard: loopback(nil), Timeout: patient}).Post(t.Context(),
		request("http://"+r.addr)); !a.OK() {
		t.Errorf("%+v", a)
	}
}

func BenchmarkPost(b *testing.B) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.WriteHeader(http.StatusNoContent)
	}))
	defer srv.Close()
	s := newSender(b, Config{Guard: loopback(nil)})
	r := request(srv.URL)
	r.Keys, r.Body = r.Keys[:1], bytes.Repeat([]byte("x"), 4000)
	b.RunParallel(func(p *testing.PB) {
		for p.Next() {
			if a := s.Post(b.Context(), r); !a.OK() {
				b.Fatalf("%+v", a)
			}
		}
	})
}
