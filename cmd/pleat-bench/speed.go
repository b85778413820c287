package main

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"pleat"
	"pleat/internal/store"
	"pleat/internal/store/db"
	"pleat/internal/store/runs"
	"pleat/internal/store/tasks"
)

// create measures jobs created per second by 64 clients over HTTP; a job is durable when it is acknowledged. The store
// alone, without HTTP, shows what the server costs: at least 0.6 of it must remain. On SQLite, a server whose store
// commits each request by itself shows what group commit brings: at least 3 times as many, where an fsync takes so long
// that it matters.
func (b *bench) create(ctx context.Context, d database) (err error) {
	h, err := b.newService(ctx, d, store.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, h.close()) }()
	overHTTP, closeAll, err := h.creator(ctx)
	if err != nil {
		return err
	}
	defer closeAll()
	loads := []load{closedLoop(overHTTP), closedLoop(func(i int) error {
		_, err := h.store.Runs.CreateJob(ctx, newJob(h.users[i]))
		return err
	})}
	if d.server == "" {
		alone, err := b.newService(ctx, d, store.Options{DB: db.Options{CommitGroup: 1}})
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, alone.close()) }()
		each, closeAll, err := alone.creator(ctx)
		if err != nil {
			return err
		}
		defer closeAll()
		loads = append(loads, closedLoop(each))
	}
	rates, err := b.inRounds(ctx, loads...)
	if err != nil {
		return err
	}
	for i, ceiling := range []struct {
		name  string
		bound float64
	}{{"store alone", 0.6}, {"a transaction each", 3}}[:len(loads)-1] {
		b.atLeast(line{
			what:     "durable creations over HTTP, 64 clients",
			database: d.name,
			figure:   medianPace(rates[0]),
			ceiling:  ceiling.name + " " + medianPace(rates[i+1]),
		}, medianRatio(rates[0], rates[i+1]), ceiling.bound)
		if last := &b.lines[len(b.lines)-1]; i == 1 && !last.met && d.sync < 500*time.Microsecond {
			last.unmeasured = "holds where an fsync takes 0.5 ms"
		}
	}
	return nil
}

// creator opens a connection per client and returns a load that creates jobs over HTTP. Each client has a user of its
// own, so that no quota or lock is shared. closeAll closes the connections.
func (h *service) creator(ctx context.Context) (create func(client int) error, closeAll func(), err error) {
	conns, closeAll, err := dialAll(ctx, h.addr)
	if err != nil {
		return nil, nil, err
	}
	var requests [clients][]byte
	for i := range requests {
		requests[i] = rawRequest("POST", "/v1/jobs", h.keys[i], jobBody)
	}
	return func(i int) error { return conns[i].do(requests[i], nil) }, closeAll, nil
}

// read measures results read per second by 64 clients, each of whom reads a completed private job of its own. The
// ceiling is a handler of net/http that writes the same bytes: at least 0.3 of it on SQLite. On PostgreSQL a question
// takes most of the time, so that the ceiling there is that handler with the question SELECT 1.
func (b *bench) read(ctx context.Context, d database) (err error) {
	h, err := b.newService(ctx, d, store.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, h.close()) }()
	jobs, err := h.finished(ctx)
	if err != nil {
		return err
	}
	conns, closeAll, err := dialAll(ctx, h.addr)
	if err != nil {
		return err
	}
	defer closeAll()
	var requests [clients][]byte
	var body bytes.Buffer
	for i, job := range jobs {
		requests[i] = rawRequest("GET", "/v1/jobs/"+string(job)+"/results", h.keys[i], "")
		body.Reset()
		if err := conns[i].do(requests[i], &body); err != nil {
			return err
		}
	}
	bare, name, stop, err := h.bareResults(ctx, d, body.Bytes())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
	ceiling, closeCeiling, err := dialAll(ctx, bare)
	if err != nil {
		return err
	}
	defer closeCeiling()
	rates, err := b.inRounds(ctx,
		closedLoop(func(i int) error { return conns[i].do(requests[i], nil) }),
		closedLoop(func(i int) error { return ceiling[i].do(requests[i], nil) }))
	if err != nil {
		return err
	}
	b.atLeast(line{
		what:     fmt.Sprintf("reading private results of %d bytes, 64 clients", body.Len()),
		database: d.name,
		figure:   medianPace(rates[0]),
		ceiling:  name + " " + medianPace(rates[1]),
	}, medianRatio(rates[0], rates[1]), 0.3)
	return nil
}

// bareResults serves a body without the service: no handler of net/http can be faster. On PostgreSQL it asks SELECT 1
// first, by as many connections as the store has on two cores. It returns what it does.
func (h *service) bareResults(
	ctx context.Context, d database, body []byte,
) (addr, name string, stop func() error, err error) {
	name, ask := "the bytes alone", func(context.Context) error { return nil }
	if d.server != "" {
		db, err := sql.Open("pgx", h.database)
		if err != nil {
			return "", "", nil, err
		}
		h.later(db.Close)
		db.SetMaxOpenConns(16)
		db.SetMaxIdleConns(16)
		name = "the bytes and SELECT 1"
		ask = func(ctx context.Context) error { return db.QueryRowContext(ctx, "SELECT 1").Scan(new(int)) }
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/jobs/{id}/results", func(w http.ResponseWriter, r *http.Request) {
		if ask(r.Context()) != nil {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
		_, _ = w.Write(body)
	})
	addr, stop, err = serveLoopback(ctx, mux)
	return addr, name, stop, err
}

// finished creates one private, completed job per user, in the order of the users, with the files that a fold by mini
// has.
func (h *service) finished(ctx context.Context) ([]pleat.JobID, error) {
	jobs, at := make([]pleat.JobID, len(h.users)), map[pleat.RunID]int{}
	for i, u := range h.users {
		created, err := h.store.Runs.CreateJob(ctx, newJob(u))
		if err != nil {
			return nil, err
		}
		jobs[i], at[created.Run] = created.Job, i
	}
	claimed, err := h.store.Runs.Claim(ctx, "bench", tasks.ClaimFilter{Queues: []string{nullQueue}, N: len(jobs)})
	if err != nil {
		return nil, err
	}
	for i := range claimed {
		c := &claimed[i]
		if err := h.store.Runs.FinishRun(ctx, tasks.LeaseOf(&c.Task), resultOf(c)); err != nil {
			return nil, err
		}
		delete(at, c.Fold.Run)
	}
	if len(at) > 0 {
		return nil, fmt.Errorf("%d of the jobs were not claimed", len(at))
	}
	return jobs, nil
}

// resultOf is how a fold by mini ends.
func resultOf(c *runs.ClaimedTask) runs.RunFinished {
	plddt, ptm, pae := 71.53, 0.5471, 21.4
	f := runs.RunFinished{
		State:  pleat.StateCompleted,
		Engine: "null 1",
		MSA:    pleat.StatePending,
		Result: &pleat.Result{
			Timings: map[string]float64{"queue": 0.01, "infer": 12.5, "write": 0.2},
			Predictions: []pleat.Prediction{{
				Sequence:  c.Fold.Sequences[0].ID,
				Chains:    []string{"A"},
				MeanPLDDT: &plddt,
				PTM:       &ptm,
				MaxPAE:    &pae,
			}},
		},
	}
	for _, a := range resultFiles {
		a.Key = runs.ArtifactKey(&c.Task, a.Name)
		a.SHA256 = strings.Repeat("5f", 32)
		f.Artifacts = append(f.Artifacts, a)
	}
	return f
}

// resultFiles are the artifacts of a fold by mini, with typical sizes in bytes. Their contents do not exist.
var resultFiles = []pleat.Artifact{
	{Name: "model.cif", Kind: pleat.ArtifactCIF, ContentType: "chemical/x-mmcif", Bytes: 71_012},
	{Name: "model.pdb", Kind: pleat.ArtifactPDB, ContentType: "chemical/x-pdb", Bytes: 48_924},
	{Name: "pae.json", Kind: pleat.ArtifactPAE, ContentType: "application/json", Bytes: 29_310},
	{Name: "pae.svg", Kind: pleat.ArtifactPAEPlot, ContentType: "image/svg+xml", Bytes: 24_801},
	{Name: "pae.png", Kind: pleat.ArtifactPAEPlot, ContentType: "image/png", Bytes: 61_240},
	{Name: "plddt.svg", Kind: pleat.ArtifactPLDDTPlot, ContentType: "image/svg+xml", Bytes: 12_480},
	{Name: "plddt.png", Kind: pleat.ArtifactPLDDTPlot, ContentType: "image/png", Bytes: 33_111},
	{Name: "metrics.json", Kind: pleat.ArtifactMetrics, ContentType: "application/json", Bytes: 3_120},
	{Name: "config.json", Kind: pleat.ArtifactConfig, ContentType: "application/json", Bytes: 911},
	{Name: "citations.bib", Kind: pleat.ArtifactCitations, ContentType: "application/x-bibtex", Bytes: 1_402},
}
