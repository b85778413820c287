package main

import (
	"context"
	"errors"
	"io"
	"net"
	"net/url"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"golang.org/x/sys/unix"
)

const (
	// proxyChunk is how many bytes the proxy reads at once, and proxyQueue how many reads each direction of a
	// connection holds at most. What is under way for a millisecond is far less, so the queue does not limit the rate.
	proxyChunk = 64 << 10
	proxyQueue = 512
)

// proxy is a network between the service and PostgreSQL: it listens on loopback and passes each byte on after a delay,
// in its order. The delay does not limit the throughput, since every read has the time of its own arrival, and Go sends
// each write at once (TCP_NODELAY).
//
// It counts round trips without knowing the protocol: the client sent something, and then got something. Statements
// that are sent together are one round trip. The count does not rely on that of the store.
type proxy struct {
	delay time.Duration
	// network and server are where PostgreSQL listens: a TCP address or the path of a socket.
	network, server string
	listener        net.Listener
	trips           atomic.Int64

	mu     sync.Mutex
	conns  map[net.Conn]bool
	closed bool
	wg     sync.WaitGroup
}

// newProxy starts a proxy for the server of a postgres:// address.
func newProxy(ctx context.Context, server string, delay time.Duration) (*proxy, error) {
	c, err := pgx.ParseConfig(server)
	if err != nil {
		return nil, errors.New("PLEAT_TEST_POSTGRES cannot be read") // pgx's message may hold the password
	}
	p := &proxy{delay: delay, conns: map[net.Conn]bool{}}
	p.network, p.server = pgconn.NetworkAddress(c.Host, c.Port)
	if p.listener, err = (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0"); err != nil {
		return nil, err
	}
	p.wg.Go(p.accept)
	return p, nil
}

// close ends all connections.
func (p *proxy) close() error {
	p.mu.Lock()
	p.closed = true
	for c := range p.conns {
		_ = c.Close()
	}
	p.mu.Unlock()
	err := p.listener.Close()
	p.wg.Wait()
	return err
}

// through returns the address of a database with the proxy in place of its server.
func (p *proxy) through(database *url.URL) string {
	u := *database
	u.Host = p.listener.Addr().String()
	q := u.Query()
	q.Del("host") // the folder of a socket
	q.Del("port")
	u.RawQuery = q.Encode()
	return u.String()
}

// accept serves connections until the listener is closed.
func (p *proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.wg.Go(func() { p.serve(client) })
	}
}

// keep registers a connection, for close. It closes the connection and returns false if the proxy is closed already.
func (p *proxy) keep(c net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		_ = c.Close()
		return false
	}
	p.conns[c] = true
	return true
}

// serve connects a client to the server until one of them ends.
func (p *proxy) serve(client net.Conn) {
	if !p.keep(client) {
		return
	}
	defer p.drop(client)
	server, err := net.Dial(p.network, p.server)
	if err != nil || !p.keep(server) {
		return // the client sees that the connection ends
	}
	defer p.drop(server)
	var asked atomic.Bool // the client has sent something since it last got something
	var both sync.WaitGroup
	both.Go(func() {
		p.pass(server, client, func() { asked.Store(true) }, func() {})
	})
	both.Go(func() {
		p.pass(client, server, func() {}, func() {
			if asked.Swap(false) {
				p.trips.Add(1)
			}
		})
	})
	both.Wait()
}

// deliver writes each chunk when it is due, until the queue is closed. It calls wrote before each write.
func (p *proxy) deliver(to io.Writer, queue <-chan chunk, wrote func()) error {
	due, err := newAlarm()
	if err != nil {
		return err
	}
	defer due.close()
	for c := range queue {
		if err := due.await(c.due); err != nil {
			return err
		}
		wrote()
		if _, err := to.Write(c.data); err != nil {
			return err
		}
	}
	return nil
}

// drop closes a connection of serve.
func (p *proxy) drop(c net.Conn) {
	_ = c.Close()
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.conns, c)
}

// chunk is what one read returned, and when it is due on the other side.
type chunk struct {
	due  time.Time
	data []byte
}

// pass copies one direction until a side ends, then closes both. It calls read after each read and wrote before each
// write: both are seen from the client, in the order in which the client sees them.
func (p *proxy) pass(to, from net.Conn, read, wrote func()) {
	queue := make(chan chunk, proxyQueue)
	var reader sync.WaitGroup
	reader.Go(func() {
		defer close(queue)
		buffer := make([]byte, proxyChunk)
		for {
			n, err := from.Read(buffer)
			if n > 0 {
				read()
				queue <- chunk{time.Now().Add(p.delay), append([]byte(nil), buffer[:n]...)}
			}
			if err != nil {
				return
			}
		}
	})
	if err := p.deliver(to, queue, wrote); err != nil {
		_ = from.Close() // ends the reader
		for range queue {
			continue
		}
	}
	reader.Wait()
	// PostgreSQL does not use connections of which one direction has ended.
	_ = to.Close()
	_ = from.Close()
}

// alarm wakes a goroutine at a time, to some 50 µs. A timer of Go comes up to a millisecond late where nothing else
// runs, since it waits in steps of a millisecond.
type alarm struct {
	fd   int
	file *os.File
}

// newAlarm returns an alarm, which the caller closes.
func newAlarm() (*alarm, error) {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return nil, err
	}
	return &alarm{fd, os.NewFile(uintptr(fd), "timer")}, nil
}

// await returns at a time.
func (a *alarm) await(at time.Time) error {
	d := time.Until(at)
	if d <= 0 {
		return nil
	}
	spec := unix.ItimerSpec{Value: unix.NsecToTimespec(d.Nanoseconds())}
	if err := unix.TimerfdSettime(a.fd, 0, &spec, nil); err != nil {
		return err
	}
	var expirations [8]byte
	_, err := a.file.Read(expirations[:])
	return err
}

// close frees the timer.
func (a *alarm) close() { _ = a.file.Close() }
