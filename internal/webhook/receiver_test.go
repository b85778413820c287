package webhook

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"code.dny.dev/ssrf"
)

// receiver is a TCP listener on loopback that treats every connection as its function says.
type receiver struct {
	addr  string
	conns atomic.Int64 // accepted
}

// listen starts a receiver. Connections are closed when the function returns and when the test ends.
func listen(t testing.TB, config *tls.Config, handle func(net.Conn)) *receiver {
	t.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &receiver{addr: l.Addr().String()}
	var wg sync.WaitGroup
	var mu sync.Mutex
	open := map[net.Conn]bool{}
	wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			r.conns.Add(1)
			mu.Lock()
			open[c] = true
			mu.Unlock()
			wg.Go(func() {
				defer c.Close()
				if config != nil {
					c = tls.Server(c, config)
				}
				handle(c)
			})
		}
	})
	t.Cleanup(func() {
		l.Close()
		mu.Lock()
		for c := range open {
			c.Close()
		}
		mu.Unlock()
		wg.Wait()
	})
	return r
}

// answering reads one request after another and gives each the same raw answer.
func answering(raw string) func(net.Conn) {
	return func(c net.Conn) {
		r := bufio.NewReader(c)
		for {
			req, err := http.ReadRequest(r)
			if err != nil {
				return
			}
			_, _ = io.Copy(io.Discard, req.Body)
			if _, err := io.WriteString(c, raw); err != nil {
				return
			}
		}
	}
}

// hang reads until the other side goes away.
func hang(c net.Conn) { _, _ = io.Copy(io.Discard, c) }

// authority makes certificates.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pool *x509.CertPool
}

func newAuthority(t testing.TB) *authority {
	t.Helper()
	a := &authority{pool: x509.NewCertPool()}
	der := a.issue(t, &x509.Certificate{
		SerialNumber:          big.NewInt(1),
		Subject:               pkix.Name{CommonName: "test authority"},
		IsCA:                  true,
		BasicConstraintsValid: true,
		KeyUsage:              x509.KeyUsageCertSign,
		NotBefore:             time.Now().Add(-time.Hour),
		NotAfter:              time.Now().Add(time.Hour),
	})
	a.cert, a.key = der.Leaf, der.PrivateKey.(*ecdsa.PrivateKey)
	a.pool.AddCert(a.cert)
	return a
}

// issue signs a certificate: by the authority, or, before it has one of its own, by itself.
func (a *authority) issue(t testing.TB, template *x509.Certificate) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	parent, signer := a.cert, a.key
	if parent == nil {
		parent, signer = template, key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), signer)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}
}

// server is the TLS configuration of a receiver for the names and addresses given.
func (a *authority) server(t testing.TB, until time.Time, hosts ...string) *tls.Config {
	template := &x509.Certificate{
		SerialNumber: big.NewInt(2),
		Subject:      pkix.Name{CommonName: "receiver"},
		NotBefore:    until.Add(-2 * time.Hour),
		NotAfter:     until,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	for _, h := range hosts {
		if ip := net.ParseIP(h); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, h)
		}
	}
	return &tls.Config{Certificates: []tls.Certificate{a.issue(t, template)}}
}

// loopback is a guard whose operator allows 127.0.0.0/8.
func loopback(r *net.Resolver) *Guard {
	return NewGuard([]netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, nil, r)
}

// asPublic is a guard for which 127.0.0.0/8 is a public network, so that a test can see what is stored of public
// answers.
func asPublic(port uint16) *Guard {
	return &Guard{ports: []uint16{port}, resolver: net.DefaultResolver,
		public: ssrf.New(ssrf.WithAnyPort(), ssrf.WithAllowedV4Prefixes(netip.MustParsePrefix("127.0.0.0/8")))}
}

func newSender(t testing.TB, c Config) *Sender {
	t.Helper()
	s := NewSender(c)
	t.Cleanup(s.Close)
	return s
}
