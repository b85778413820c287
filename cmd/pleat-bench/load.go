package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
	"gonum.org/v1/gonum/stat"
)

// clients is the number of clients that send requests at once, each one request at a time.
const clients = 64

// connection is an HTTP client of one persistent connection. It does little more than copy bytes: clients and server
// share the processor, and the time of an ordinary client would count as time of the service.
type connection struct {
	conn net.Conn
	r    *bufio.Reader
}

// dialAll opens one connection per client. closeAll closes them; it can be called again.
func dialAll(ctx context.Context, addr string) (all []*connection, closeAll func(), err error) {
	closeAll = func() {
		for _, c := range all {
			_ = c.conn.Close()
		}
	}
	for range clients {
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", addr)
		if err != nil {
			closeAll()
			return nil, nil, err
		}
		all = append(all, &connection{conn, bufio.NewReaderSize(conn, 16<<10)})
	}
	return all, closeAll, nil
}

// serveLoopback serves a handler on loopback. stop ends that, and is called once.
func serveLoopback(ctx context.Context, h http.Handler) (addr string, stop func() error, err error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	srv := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second}
	ended := make(chan error, 1)
	go func() { ended <- srv.Serve(l) }()
	return l.Addr().String(), func() error {
		err := srv.Close()
		if end := <-ended; !errors.Is(end, http.ErrServerClosed) {
			err = errors.Join(err, end)
		}
		return err
	}, nil
}

// do sends a request of rawRequest and reads the response, which must have a Content-Length. A response other than 200
// is an error. The body is appended to body; nil: it is discarded.
func (c *connection) do(request []byte, body *bytes.Buffer) error {
	if _, err := c.conn.Write(request); err != nil {
		return err
	}
	status, err := c.r.ReadSlice('\n')
	if err != nil {
		return err
	}
	ok := bytes.HasPrefix(status, []byte("HTTP/1.1 200"))
	first := string(bytes.TrimSpace(status))
	length := -1
	for {
		line, err := c.r.ReadSlice('\n')
		if err != nil {
			return err
		}
		line = bytes.TrimSpace(line)
		if len(line) == 0 {
			break
		}
		if v, found := bytes.CutPrefix(line, []byte("Content-Length: ")); found {
			if length, err = strconv.Atoi(string(v)); err != nil {
				return err
			}
		}
	}
	switch {
	case length < 0:
		return fmt.Errorf("%s: the response has no Content-Length", first)
	case !ok:
		text := make([]byte, min(length, 500))
		_, _ = io.ReadFull(c.r, text)
		return fmt.Errorf("%s: %s", first, text)
	case body != nil:
		_, err = io.CopyN(body, c.r, int64(length))
	default:
		_, err = c.r.Discard(length)
	}
	return err
}

// rawRequest returns the bytes of an HTTP request, so that a client encodes each request once.
func rawRequest(method, path, key, body string) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s %s HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer %s\r\n", method, path, key)
	if body != "" {
		fmt.Fprintf(&b, "Content-Type: application/json\r\nContent-Length: %d\r\n", len(body))
	}
	b.WriteString("\r\n" + body)
	return b.Bytes()
}

// pace is the speed of a load.
type pace struct {
	// rate is in calls per second.
	rate float64
	// cpu is the processor time of this process per call, in seconds: that of the clients, of the server and, on
	// SQLite, of the database.
	cpu float64
}

// run calls do in every client for some seconds: a closed loop, in which a client makes its next call when the one
// before has returned. Each client makes at least one call, however late it starts, so that every rate is above 0. A
// client stops at its first error, and all errors are returned.
func run(ctx context.Context, seconds float64, do func(client int) error) (pace, error) {
	var done atomic.Int64
	spent := processorTime()
	var wg sync.WaitGroup
	errs := make([]error, clients)
	began := time.Now()
	end := began.Add(time.Duration(seconds * float64(time.Second)))
	for i := range clients {
		wg.Go(func() {
			n := int64(0)
			for ctx.Err() == nil && (n == 0 || time.Now().Before(end)) {
				if errs[i] = do(i); errs[i] != nil {
					break
				}
				n++
			}
			done.Add(n)
		})
	}
	wg.Wait()
	n := float64(done.Load())
	return pace{n / time.Since(began).Seconds(), (processorTime() - spent).Seconds() / max(n, 1)},
		errors.Join(append(errs, ctx.Err())...)
}

// openLoop calls do n times, at random moments with a mean rate per second (a Poisson process), without waiting for
// earlier calls: a slow service does not slow its users down.
func openLoop(ctx context.Context, n int, rate float64, do func(i int) error) error {
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // arrivals, not secrets
	errs := make([]error, n)
	var wg sync.WaitGroup
	next := time.Now()
	for i := range n {
		next = next.Add(time.Duration(random.ExpFloat64() / rate * float64(time.Second)))
		time.Sleep(time.Until(next))
		if ctx.Err() != nil {
			break
		}
		wg.Go(func() { errs[i] = do(i) })
	}
	wg.Wait()
	return errors.Join(append(errs, ctx.Err())...)
}

// inParallel calls fn for 0 to n-1, 16 calls at once. After an error a goroutine makes no further calls.
func inParallel(n int, fn func(i int) error) error {
	var next atomic.Int64
	errs := make([]error, 16)
	var wg sync.WaitGroup
	for w := range errs {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < n && errs[w] == nil; i = int(next.Add(1)) - 1 {
				errs[w] = fn(i)
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// processorTime returns the processor time, user and system, that this process has used so far. Children do not count,
// so that PostgreSQL is never part of it.
func processorTime() time.Duration {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// load is a load that is measured for some seconds.
type load func(ctx context.Context, seconds float64) (pace, error)

// closedLoop returns the load of clients that call do; see run.
func closedLoop(do func(client int) error) load {
	return func(ctx context.Context, seconds float64) (pace, error) { return run(ctx, seconds, do) }
}

// inRounds measures several loads in alternation: in each round, each load once. It returns the pace of each load in
// each round. A round of half the length comes first and does not count: it fills caches and connections.
func (b *bench) inRounds(ctx context.Context, loads ...load) ([][]pace, error) {
	rates := make([][]pace, len(loads))
	for round := range b.rounds + 1 {
		for i, do := range loads {
			seconds := b.seconds
			if round == 0 {
				seconds /= 2
			}
			rate, err := do(ctx, seconds)
			if err != nil {
				return nil, err
			}
			if round > 0 {
				rates[i] = append(rates[i], rate)
			}
		}
	}
	return rates, nil
}

// warmUp is the number of calls to each side of alternate that do not count.
const warmUp = 10

// alternate calls do for two sides in alternation and returns the times that each call took, by side. The side that
// begins alternates too.
func alternate(times int, do func(side int) error) (took [2][]time.Duration, err error) {
	for n := range times + warmUp {
		for k := range 2 {
			side := (n + k) % 2
			began := time.Now()
			if err := do(side); err != nil {
				return took, err
			}
			if n >= warmUp {
				took[side] = append(took[side], time.Since(began))
			}
		}
	}
	return took, nil
}

// medianRatio returns the median of the ratios of a's rate to b's, round by round: what slows the machine for some
// rounds slows both.
func medianRatio(a, b []pace) float64 {
	var r []float64
	for i := range a {
		r = append(r, a[i].rate/b[i].rate)
	}
	return quantile(0.5, r)
}

// medianPace returns the median rate and the median processor time of a load as text.
func medianPace(all []pace) string {
	var rate, cpu []float64
	for _, p := range all {
		rate, cpu = append(rate, p.rate), append(cpu, p.cpu)
	}
	return fmt.Sprintf("%.0f/s (%s of CPU)", quantile(0.5, rate), short(time.Duration(quantile(0.5, cpu)*1e9)))
}

// quantile returns the p-quantile of values in any order, p from 0 to 1.
func quantile(p float64, x []float64) float64 {
	s := slices.Clone(x)
	slices.Sort(s)
	return stat.Quantile(p, stat.Empirical, s, nil)
}

// quantileTime is quantile for times.
func quantileTime(p float64, x []time.Duration) time.Duration {
	f := make([]float64, len(x))
	for i, d := range x {
		f[i] = float64(d)
	}
	return time.Duration(quantile(p, f))
}

// fsyncTime appends to a file in dir and returns how long the disk takes to make 4 KiB durable: the median of 200
// appends. It is printed with the table, because it bounds every durable write.
func fsyncTime(dir string) (time.Duration, error) {
	f, err := os.Create(filepath.Join(dir, "fsync"))
	if err != nil {
		return 0, err
	}
	defer f.Close()
	page := make([]byte, 4096)
	var took []time.Duration
	for range 200 {
		began := time.Now()
		if _, err := f.Write(page); err != nil {
			return 0, err
		}
		if err := unix.Fdatasync(int(f.Fd())); err != nil {
			return 0, err
		}
		took = append(took, time.Since(began))
	}
	return quantileTime(0.5, took), nil
}
