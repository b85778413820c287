package main

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"time"

	"pleat/internal/store"
	"pleat/internal/store/storetest"
)

// fewRows is the number of jobs in the small database.
const fewRows = 1000

// manyRows measures requests in a database of --rows jobs, a million by default. The ceiling is the same request in a
// database of fewRows jobs: an index makes the time grow with the logarithm of the size, so that 1.5 times is allowed;
// a scan of the table would take hundreds of times as long. The requests alternate between the two databases, one
// after the other.
func (b *bench) manyRows(ctx context.Context, d database) (err error) {
	r := rowsBench{rows: [2]int{fewRows, b.rows}}
	for i := range r.rows {
		if r.sides[i], err = b.filledService(ctx, d, r.rows[i]); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, r.sides[i].close()) }()
	}
	for i, h := range r.sides {
		all, closeAll, err := dialAll(ctx, h.addr)
		if err != nil {
			return err
		}
		defer closeAll()
		r.conns[i] = all[0]
	}
	if err := errors.Join(r.sides[0].readIntoCache(), r.sides[1].readIntoCache()); err != nil {
		return err
	}
	r.random = rand.New(rand.NewPCG(3, 4)) //nolint:gosec // which jobs to read
	r.orders = [2][]int{r.random.Perm(r.rows[0] / 2), r.random.Perm(r.rows[1] / 2)}
	times := min(int(max(20, 400*b.seconds)), fewRows/2-warmUp)
	for _, m := range r.requests() {
		took, err := alternate(times, timed(func(side int) error { return r.conns[side].do(m.request(side), nil) }))
		if err != nil {
			return fmt.Errorf("%s: %w", m.what, err)
		}
		few, many := quantileTime(0.5, took[0]), quantileTime(0.5, took[1])
		b.atMost(line{
			what:     fmt.Sprintf("%s among %d", m.what, b.rows),
			database: d.name,
			figure:   short(many),
			ceiling:  fmt.Sprintf("among %d %s", fewRows, short(few)),
		}, float64(many)/float64(few), 1.5)
	}
	return nil
}

// filledService returns a service with n completed jobs, half of them of user 0. The caller closes it. It takes about a
// minute and a half for a million jobs.
func (b *bench) filledService(ctx context.Context, d database, n int) (*service, error) {
	h, err := b.newService(ctx, d, store.Options{})
	if err != nil {
		return nil, err
	}
	began := time.Now()
	if err := storetest.Fill(ctx, h.database, h.users[0].Project, n); err != nil {
		return nil, errors.Join(fmt.Errorf("fill: %w", err), h.close())
	}
	fmt.Fprintf(b.progress, "%d jobs were inserted in %s\n", n, short(time.Since(began)))
	return h, nil
}

// rowsBench compares two services: side 0 has few rows, side 1 many.
type rowsBench struct {
	// rows is the number of jobs on each side.
	rows   [2]int
	sides  [2]*service
	conns  [2]*connection
	random *rand.Rand
	// orders are the jobs of user 0 in random order, and read is how many of them were read. No job is read again
	// before all have been read: otherwise the result cache of the server would speed up the small side alone.
	orders [2][]int
	read   [2]int
}

// requestKind is a kind of request that is measured.
type requestKind struct {
	what    string
	request func(side int) []byte // the next request to a side
}

// requests returns the requests that a user with half of all jobs makes most: user 0 of either side.
func (r *rowsBench) requests() []requestKind {
	raw := func(side int, method, path, body string) []byte {
		return rawRequest(method, path, r.sides[side].keys[0], body)
	}
	return []requestKind{
		{"creating a job", func(i int) []byte { return raw(i, "POST", "/v1/jobs", jobBody) }},
		{"reading a job", func(i int) []byte { return raw(i, "GET", r.nextJob(i), "") }},
		{"reading results", func(i int) []byte { return raw(i, "GET", r.nextJob(i)+"/results", "") }},
		{"listing the newest page", func(i int) []byte { return raw(i, "GET", "/v1/jobs?limit=50", "") }},
		{"listing some page", func(i int) []byte {
			before := storetest.FilledJob(r.rows[i]/10 + r.random.IntN(r.rows[i]*9/10))
			cursor := base64.RawURLEncoding.EncodeToString([]byte(before))
			return raw(i, "GET", "/v1/jobs?limit=50&cursor="+cursor, "")
		}},
	}
}

// nextJob returns the path of the next job to read on a side.
func (r *rowsBench) nextJob(side int) string {
	r.read[side]++
	order := r.orders[side]
	return "/v1/jobs/" + string(storetest.FilledJob(2*order[r.read[side]%len(order)]))
}

// readIntoCache reads the file of SQLite once, so that the system has both databases in memory: the part measures the
// database and not the disk.
func (h *service) readIntoCache() error {
	path, ok := strings.CutPrefix(h.database, "sqlite:")
	if !ok {
		return nil
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	// last: closing it would drop the locks that SQLite has on the file
	h.closers = slices.Insert(h.closers, 0, f.Close)
	_, err = io.Copy(io.Discard, f)
	return err
}
