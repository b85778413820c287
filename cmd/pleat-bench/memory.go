package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"pleat/api"
)

const (
	// restFor is how long a server rests before its memory is read, times --seconds up to 1. By then it has returned
	// the memory of its last requests to the system.
	restFor = 8 * time.Second
	// restBytes is how much memory it may take then: the service must fit on the smallest machines.
	restBytes = 60_000_000
	// trpCage is the miniprotein TC10b, entry 2JOF of the Protein Data Bank (Barua et al., Protein Eng. Des. Sel. 21,
	// 171, 2008).
	trpCage = "DAYAQWLKDGGPSSGRPPPS"
)

// memory measures the resident memory of pleat serve at rest: a real process with the engine mini, after requests of 64
// clients, and again after a fold. Systems without /proc are not measured.
func (b *bench) memory(ctx context.Context, d database) (err error) {
	if !reportsProcesses() {
		l := line{what: "memory of pleat serve at rest", database: d.name, unmeasured: "this system does not report it"}
		b.lines = append(b.lines, l)
		return nil
	}
	dir, err := os.MkdirTemp(b.dir, "server-")
	if err != nil {
		return err
	}
	address, drop, err := d.create(ctx, dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, drop()) }()
	s, key, err := b.newServer(ctx, dir, address, "mini")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.stop(), s.complaints(b.progress)) }()
	n, err := b.sendRequests(ctx, s.addr, key)
	if err == nil {
		err = b.measureMemory(s, d, fmt.Sprintf("%.0f requests of 64 clients", n))
	}
	if err == nil {
		err = foldTrpCage(ctx, &api.Client{Base: "http://" + s.addr, Key: key})
	}
	if err == nil {
		err = b.measureMemory(s, d, "a fold of Trp-cage too")
	}
	return err
}

// sendRequests sends requests for 2 times --seconds, and returns how many.
func (b *bench) sendRequests(ctx context.Context, addr, key string) (float64, error) {
	conns, closeAll, err := dialAll(ctx, addr)
	if err != nil {
		return 0, err
	}
	defer closeAll()
	check := rawRequest("POST", "/v1/jobs/validate", key, strings.Replace(jobBody, `"null"`, `"mini"`, 1))
	list := rawRequest("GET", "/v1/jobs", key, "")
	n, err := run(ctx, 2*b.seconds, func(i int) error {
		if err := conns[i].do(check, nil); err != nil {
			return err
		}
		return conns[i].do(list, nil)
	})
	return 4 * b.seconds * n.rate, err
}

// measureMemory adds a line for the memory of a server once it has rested.
func (b *bench) measureMemory(s *serverProcess, d database, after string) error {
	time.Sleep(time.Duration(min(1, b.seconds) * float64(restFor)))
	n, err := s.resident()
	b.lines = append(b.lines, line{
		what:     "memory of pleat serve at rest",
		database: d.name,
		figure:   fmt.Sprintf("%.1f MB", float64(n)/1e6),
		ceiling:  "after " + after,
		target:   fmt.Sprintf("≤ %d MB", restBytes/1_000_000),
		met:      n <= restBytes,
	})
	return err
}

// foldTrpCage folds a small protein and waits until the job has completed.
func foldTrpCage(ctx context.Context, c *api.Client) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	seed := "1"
	created, err := c.CreateJob(ctx, api.CreateJob{
		Name:      "Trp-cage",
		Sequences: []api.SequenceItem{{ProteinChain: &api.Polymer{Sequence: trpCage}}},
		Params:    &api.Params{ModelName: "mini", Seed: &seed},
	}, api.CreateOptions{NoCache: true})
	if err != nil {
		return err
	}
	r, err := c.Wait(ctx, created.JobID)
	if err == nil && r.Job.Status != "COMPLETED" {
		err = fmt.Errorf("the fold ended %s", r.Job.Status)
	}
	return err
}
