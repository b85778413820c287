package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
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

// clients is how many clients work at once.
const clients = 64

// wire is a client of one kept connection that costs next to nothing: on a small machine it takes its time from the
// server's, and would make every ceiling lower.
type wire struct {
	conn net.Conn
	r    *bufio.Reader
}

func dialWires(ctx context.Context, addr string) ([]*wire, func(), error) {
	var all []*wire
	end := func() {
		for _, w := range all {
			_ = w.conn.Close()
		}
	}
	for range clients {
		c, err := (&net.Dialer{}).DialContext(ctx, "tcp", addr)
		if err != nil {
			end()
			return nil, nil, err
		}
		all = append(all, &wire{c, bufio.NewReaderSize(c, 16<<10)})
	}
	return all, end, nil
}

// do sends a request that is written out and reads the answer, whose body must have a Content-Length. An answer other
// than 200 is an error. The body is kept only where keep is set.
func (w *wire) do(request []byte, keep *bytes.Buffer) error {
	if _, err := w.conn.Write(request); err != nil {
		return err
	}
	status, err := w.r.ReadSlice('\n')
	if err != nil {
		return err
	}
	ok := bytes.HasPrefix(status, []byte("HTTP/1.1 200"))
	first := string(bytes.TrimSpace(status))
	length := -1
	for {
		line, err := w.r.ReadSlice('\n')
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
		return fmt.Errorf("%s: the answer has no Content-Length", first)
	case !ok:
		body := make([]byte, min(length, 500))
		_, _ = io.ReadFull(w.r, body)
		return fmt.Errorf("%s: %s", first, body)
	case keep != nil:
		_, err = io.CopyN(keep, w.r, int64(length))
	default:
		_, err = w.r.Discard(length)
	}
	return err
}

// rawRequest writes out an HTTP request.
func rawRequest(method, path, key, body string) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s %s HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer %s\r\n", method, path, key)
	if body != "" {
		fmt.Fprintf(&b, "Content-Type: application/json\r\nContent-Length: %d\r\n", len(body))
	}
	b.WriteString("\r\n" + body)
	return b.Bytes()
}

// pace is how fast a load went: calls per second, and the processor's time that this process spent on each.
type pace struct{ rate, cpu float64 }

// drive lets every client call do again and again for a while.
func drive(ctx context.Context, seconds float64, do func(client int) error) (pace, error) {
	var done atomic.Int64
	spent := processorTime()
	var wg sync.WaitGroup
	errs := make([]error, clients)
	began := time.Now()
	end := began.Add(time.Duration(seconds * float64(time.Second)))
	for i := range clients {
		wg.Go(func() {
			n := int64(0)
			for errs[i] == nil && ctx.Err() == nil && time.Now().Before(end) {
				if errs[i] = do(i); errs[i] == nil {
					n++
				}
			}
			done.Add(n)
		})
	}
	wg.Wait()
	n := float64(done.Load())
	return pace{n / time.Since(began).Seconds(), (processorTime() - spent).Seconds() / max(n, 1)},
		errors.Join(append(errs, ctx.Err())...)
}

// processorTime is what this process has used so far.
func processorTime() time.Duration {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// turns measures several loads in turns, after a warm-up of each, and gives the paces of each in order of the rounds.
func (b *bench) turns(ctx context.Context, loads ...func(client int) error) ([][]pace, error) {
	rates := make([][]pace, len(loads))
	for round := range b.rounds + 1 {
		for i, do := range loads {
			seconds := b.seconds
			if round == 0 {
				seconds /= 2
			}
			rate, err := drive(ctx, seconds, do)
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

// medianRatio is the median of the ratios of a's rates to b's, round by round.
func medianRatio(a, b []pace) float64 {
	var r []float64
	for i := range a {
		r = append(r, a[i].rate/b[i].rate)
	}
	return quantile(0.5, r)
}

// medianPace writes the medians of a load.
func medianPace(all []pace) string {
	var rate, cpu []float64
	for _, p := range all {
		rate, cpu = append(rate, p.rate), append(cpu, p.cpu)
	}
	return fmt.Sprintf("%.0f/s (%s of CPU)", quantile(0.5, rate), short(time.Duration(quantile(0.5, cpu)*1e9)))
}

func quantile(p float64, x []float64) float64 {
	s := slices.Clone(x)
	slices.Sort(s)
	return stat.Quantile(p, stat.Empirical, s, nil)
}

func quantileTime(p float64, x []time.Duration) time.Duration {
	f := make([]float64, len(x))
	for i, d := range x {
		f[i] = float64(d)
	}
	return time.Duration(quantile(p, f))
}

// fsyncTime is how long the disk takes to make 4 KiB durable: the median of a few hundred appends.
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
