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

// fewRows is the size of the database that the large one is compared with.
const fewRows = 1000

// manyRows compares what requests cost one after the other in a large database and in a small one.
func (b *bench) manyRows(ctx context.Context, d database) (err error) {
	var sides [2]*service
	var wires [2]*wire
	for i, rows := range []int{fewRows, b.rows} {
		h, err := b.newService(ctx, d, store.Options{})
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, h.close()) }()
		began := time.Now()
		if err := storetest.Fill(ctx, h.database, h.users[0], rows); err != nil {
			return fmt.Errorf("fill: %w", err)
		}
		fmt.Fprintf(b.say, "%d jobs were filled in within %s\n", rows, short(time.Since(began)))
		sides[i] = h
	}
	for i, h := range sides {
		all, hang, err := dialWires(ctx, h.addr)
		if err != nil {
			return err
		}
		defer hang()
		wires[i] = all[0]
	}
	if err := errors.Join(sides[0].readIntoCache(), sides[1].readIntoCache()); err != nil {
		return err
	}
	sizes := [2]int{fewRows, b.rows}
	random := rand.New(rand.NewPCG(3, 4)) //nolint:gosec // which jobs to read
	// No job comes again before all have come: else answers kept by the server would count on the small side alone.
	orders := [2][]int{random.Perm(sizes[0] / 2), random.Perm(sizes[1] / 2)}
	var asked [2]int
	job := func(i int) string {
		asked[i]++
		return "/v1/jobs/" + string(storetest.FilledJob(2*orders[i][asked[i]%len(orders[i])]))
	}
	times := min(int(max(20, 400*b.seconds)), fewRows/2-rowsWarmUp)
	for _, m := range []struct {
		what    string
		request func(side int) []byte
	}{
		{"creating a job", func(i int) []byte { return rawRequest("POST", "/v1/jobs", sides[i].keys[0], jobBody) }},
		{"reading a job", func(i int) []byte { return rawRequest("GET", job(i), sides[i].keys[0], "") }},
		{"reading results", func(i int) []byte { return rawRequest("GET", job(i)+"/results", sides[i].keys[0], "") }},
		{"listing the newest page", func(i int) []byte {
			return rawRequest("GET", "/v1/jobs?limit=50", sides[i].keys[0], "")
		}},
		{"listing some page", func(i int) []byte {
			before := storetest.FilledJob(sizes[i]/10 + random.IntN(sizes[i]*9/10))
			cursor := base64.RawURLEncoding.EncodeToString([]byte(before))
			return rawRequest("GET", "/v1/jobs?limit=50&cursor="+cursor, sides[i].keys[0], "")
		}},
	} {
		few, many, err := alternate(wires, m.request, times)
		if err != nil {
			return fmt.Errorf("%s: %w", m.what, err)
		}
		b.atMost(line{
			what:     fmt.Sprintf("%s among %d", m.what, b.rows),
			database: d.name,
			figure:   short(many),
			beside:   fmt.Sprintf("among %d %s", fewRows, short(few)),
		}, float64(many)/float64(few), 1.5)
	}
	return nil
}

// readIntoCache reads SQLite's file once, so that the system holds it in memory on either side: what a disk adds is
// another measurement.
func (h *service) readIntoCache() error {
	path, ok := strings.CutPrefix(h.database, "sqlite:")
	if !ok {
		return nil
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	h.ends = slices.Insert(h.ends, 0, f.Close) // after the database, whose locks on the file it would drop
	_, err = io.Copy(io.Discard, f)
	return err
}

// rowsWarmUp is how many requests to either side do not count.
const rowsWarmUp = 10

// alternate sends requests to either side in turns and gives the medians of both.
func alternate(wires [2]*wire, request func(side int) []byte, times int) (a, b time.Duration, err error) {
	var took [2][]time.Duration
	for n := range times + rowsWarmUp {
		for k := range 2 {
			side := (n + k) % 2
			r := request(side)
			began := time.Now()
			if err := wires[side].do(r, nil); err != nil {
				return 0, 0, err
			}
			if n >= rowsWarmUp {
				took[side] = append(took[side], time.Since(began))
			}
		}
	}
	return quantileTime(0.5, took[0]), quantileTime(0.5, took[1]), nil
}
