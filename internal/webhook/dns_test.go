package webhook

import (
	"context"
	"net"
	"net/netip"
	"strings"
	"sync"
	"testing"

	"golang.org/x/net/dns/dnsmessage"
)

// names is a name server on loopback whose answers a test may change. A name without an entry does not exist; one whose
// entry is empty is never answered.
type names struct {
	mu    sync.Mutex
	hosts map[string][]netip.Addr
	asked map[string]int
	addr  string
}

// newNames starts the server; it ends with the test.
func newNames(t testing.TB, hosts map[string]string) *names {
	t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	n := &names{hosts: map[string][]netip.Addr{}, asked: map[string]int{}, addr: conn.LocalAddr().String()}
	for h, a := range hosts {
		n.set(h, a)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		n.serve(conn)
	}()
	t.Cleanup(func() { conn.Close(); <-done })
	return n
}

func (n *names) set(host, addrs string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.hosts[host] = nil
	for _, a := range strings.Fields(addrs) {
		n.hosts[host] = append(n.hosts[host], netip.MustParseAddr(a))
	}
}

// lookups returns how many queries the server has got.
func (n *names) lookups() (all int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, k := range n.asked {
		all += k
	}
	return all
}

// resolver asks this server and nobody else.
func (n *names) resolver() *net.Resolver {
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "udp", n.addr)
	}}
}

func (n *names) serve(conn net.PacketConn) {
	buf := make([]byte, 1500)
	for {
		size, from, err := conn.ReadFrom(buf)
		if err != nil {
			return
		}
		if out := n.answer(buf[:size]); out != nil {
			_, _ = conn.WriteTo(out, from)
		}
	}
}

func (n *names) answer(query []byte) []byte {
	var m dnsmessage.Message
	if m.Unpack(query) != nil || len(m.Questions) != 1 {
		return nil
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	q := m.Questions[0]
	host := strings.TrimSuffix(q.Name.String(), ".")
	n.asked[host]++
	m.Response, m.Authoritative, m.Additionals = true, true, nil
	addrs, ok := n.hosts[host]
	if ok && len(addrs) == 0 {
		return nil
	}
	if !ok {
		m.RCode = dnsmessage.RCodeNameError
	}
	for _, a := range addrs {
		head := dnsmessage.ResourceHeader{Name: q.Name, Class: dnsmessage.ClassINET, TTL: 0}
		switch {
		case a.Is4() && q.Type == dnsmessage.TypeA:
			m.Answers = append(m.Answers, dnsmessage.Resource{Header: head, Body: &dnsmessage.AResource{A: a.As4()}})
		case a.Is6() && q.Type == dnsmessage.TypeAAAA:
			m.Answers = append(m.Answers, dnsmessage.Resource{
				Header: head, Body: &dnsmessage.AAAAResource{AAAA: a.As16()},
			})
		}
	}
	out, err := m.Pack()
	if err != nil {
		return nil
	}
	return out
}
