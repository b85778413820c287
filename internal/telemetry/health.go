// Package telemetry tells operators how a process of the service is: its health, its metrics for Prometheus, and the
// traces of its work for a receiver of OpenTelemetry.
//
// It owns the names of the metrics that servers and workers share, and what /readyz of both answers. It must not decide
// anything: what it shows is measured by the packages that it asks.
package telemetry

import (
	"cmp"
	"context"
	"sync"
	"time"

	"pleat"
	"pleat/internal/blob"
	"pleat/internal/store/db"
	"pleat/internal/store/workers"
)

// Status is the response of /healthz and /readyz. It is not in package api, whose types are those of /v1.
type Status struct {
	Status    string `json:"status"`
	Version   string `json:"version" doc:"Version of the service."`
	Workers   string `json:"workers,omitempty" doc:"Only of /readyz: none, if no worker is live."`
	Artifacts string `json:"artifacts,omitempty" doc:"Only of /readyz: failing, if files cannot be stored."`
	Writes    string `json:"writes,omitempty" doc:"Only of /readyz: why the database takes no changes; ok, if it does."`
}

// Alive is the status of a process that runs.
func Alive() Status { return Status{Status: "ok", Version: pleat.Version} }

// Health checks what a process needs. Its fields must not change after the first call.
type Health struct {
	DB      *db.DB         // nil: the process is ready as soon as it runs
	Workers *workers.Store // knows the workers; nil only if DB is
	Blobs   *blob.Monitor  // nil: the process needs no artifacts

	mu     sync.Mutex
	probed time.Time     // when the last probe began
	probe  chan struct{} // closed when it has ended
}

const (
	probeEvery = 5 * time.Second  // between two probes: requests, which need no credential, must not wear out a disk
	probeLimit = 30 * time.Second // of one
	probeWait  = time.Second      // how long a check waits for one
)

// Ready reports whether the process can serve: the database answers and has this version's schema. A condition that
// makes jobs wait, but refuses none, is part of the status: a server that cannot store files or knows no live worker
// accepts jobs. So is a database that can only be read: its results are served. An error has CodeUnavailable.
func (h *Health) Ready(ctx context.Context) (Status, error) {
	if h.DB == nil {
		return Alive(), nil
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	const silent = "not ready: the database does not answer"
	v, err := h.DB.Version(ctx)
	if err != nil {
		return Status{}, &pleat.Error{Code: pleat.CodeUnavailable, Message: silent, Err: err}
	}
	if v != db.Latest() {
		return Status{}, pleat.Errorf(pleat.CodeUnavailable,
			"not ready: the database has schema %d and this version needs %d; run pleat migrate", v, db.Latest())
	}
	w, err := h.Workers.Working(ctx, "")
	if err != nil {
		return Status{}, &pleat.Error{Code: pleat.CodeUnavailable, Message: silent, Err: err}
	}
	fault, err := h.DB.WriteFault(ctx)
	if err != nil {
		return Status{}, &pleat.Error{Code: pleat.CodeUnavailable, Message: silent, Err: err}
	}
	out := Status{Status: "ready", Version: pleat.Version, Workers: "ok", Writes: cmp.Or(fault, "ok")}
	if w.Live == 0 {
		out.Workers = "none"
	}
	if h.Blobs == nil {
		return out, nil
	}
	out.Artifacts = "ok"
	if h.probeArtifacts(ctx); h.Blobs.Failing() {
		out.Artifacts = "failing"
	}
	return out, nil
}

// probeArtifacts probes the artifact store, unless it has done so within probeEvery or still does. It waits for the end
// of the probe, but for no more than probeWait: a store that hangs must not delay the answer.
func (h *Health) probeArtifacts(ctx context.Context) {
	h.mu.Lock()
	if h.probe == nil || time.Since(h.probed) >= probeEvery && closed(h.probe) {
		h.probed, h.probe = time.Now(), make(chan struct{})
		go func(done chan struct{}) { // probeLimit ends it
			defer close(done)
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), probeLimit)
			defer cancel()
			_ = h.Blobs.Probe(ctx) // the monitor keeps and logs the error
		}(h.probe)
	}
	probe := h.probe
	h.mu.Unlock()
	wait := time.NewTimer(probeWait)
	defer wait.Stop()
	select {
	case <-probe:
	case <-wait.C:
	case <-ctx.Done():
	}
}

// closed reports whether a channel is closed that nobody sends on.
func closed(ch chan struct{}) bool {
	select {
	case <-ch:
		return true
	default:
		return false
	}
}
