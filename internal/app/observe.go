package app

import (
	"context"
	"log/slog"
	"net"

	"github.com/prometheus/client_golang/prometheus"

	"pleat/internal/config"
	"pleat/internal/queue"
	"pleat/internal/telemetry"
)

// metricsListener listens on the address for health and metrics; the zero value listens on none.
type metricsListener struct{ net.Listener }

// listenMetrics opens the address for health and metrics, if one is set. The caller closes it.
func listenMetrics(ctx context.Context, c config.Config, log *slog.Logger) (metricsListener, error) {
	if c.MetricsListen == "" {
		return metricsListener{}, nil
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", c.MetricsListen)
	if err != nil {
		return metricsListener{}, listenError("--metrics-listen", c.MetricsListen, err)
	}
	log.Info("health and metrics are served", "address", l.Addr().String())
	return metricsListener{l}, nil
}

// close closes the listener, if there is one.
func (l metricsListener) close() {
	if l.Listener != nil {
		_ = l.Close()
	}
}

// serve serves an endpoint until ctx ends, if there is a listener.
func (l metricsListener) serve(ctx context.Context, e *telemetry.Endpoint) error {
	if l.Listener == nil {
		return nil
	}
	return e.Serve(ctx, l.Listener)
}

// openTraces begins to make the traces of this process, if they are configured. A fault of their receiver has one line
// in the log when it begins and one when it is over.
func (a *App) openTraces(ctx context.Context) (err error) {
	o := telemetry.TraceOptions{Endpoint: a.cfg.TracesEndpoint, Ratio: a.cfg.TracesRatio}
	if a.cfg.Origin("traces-ratio") == "" {
		o.Ratio = -1
	}
	fault := queue.Fault{What: "traces cannot be sent"}
	o.Report = func(err error) {
		if err != nil {
			fault.Warn(a.log, err)
		} else {
			fault.Over(a.log)
		}
	}
	if a.traces, err = telemetry.OpenTraces(ctx, o); err != nil {
		return UsageError{err}
	}
	if a.traces != nil {
		a.log.Info("traces are sent", "host", a.traces.Host, "ratio", a.traces.Ratio)
	}
	return nil
}

// workerEndpoint returns what serves health and metrics of a process without an HTTP server.
func (a *App) workerEndpoint() *telemetry.Endpoint {
	registry := prometheus.NewRegistry()
	registry.MustRegister(telemetry.Process(a.Store.DB, a.Store.Runs, a.blobs)...)
	return &telemetry.Endpoint{
		Health:  &telemetry.Health{DB: a.Store.DB, Workers: a.Store.Workers, Blobs: a.blobs},
		Metrics: registry,
		Token:   a.cfg.Metrics,
		Log:     a.log,
		Recent:  a.recent,
	}
}
