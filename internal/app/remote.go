package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"pleat"
	"pleat/internal/config"
	"pleat/internal/queue"
	"pleat/internal/seal"
	"pleat/internal/telemetry"
	"pleat/internal/work"
	"pleat/internal/workerapi"
)

// closeTimeout is how long a worker that ends may take to tell its server.
const closeTimeout = 5 * time.Second

// workRemotely is Work for a worker that calls a server. A UsageError: it has no token that the server takes, or its
// class is not the one of the configuration.
func workRemotely(ctx context.Context, a *App, metrics metricsListener, drain <-chan os.Signal) error {
	defer a.close()
	if err := a.openTraces(ctx); err != nil {
		return err
	}
	client, err := newWorkerClient(a)
	if err != nil {
		return err
	}
	defer func() {
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
		defer cancel()
		client.Close(last)
	}()
	if err := a.askClass(ctx, client); err != nil || ctx.Err() != nil {
		return err
	}
	if err := makeDataDir(a.cfg); err != nil {
		return err
	}
	if err := HideSecrets(a.cfg); err != nil {
		a.log.Warn("the memory of this process can be read by other processes of its user", "error", err)
	}
	if err := a.makeEngines(); err != nil {
		return err
	}
	a.boundLife()
	cfg, err := a.workConfig()
	if err != nil {
		return err
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(telemetry.Program()...)
	endpoint := &telemetry.Endpoint{
		Health:  &telemetry.Health{},
		Metrics: registry,
		Token:   a.cfg.Metrics,
		Log:     a.log,
		Recent:  a.recent,
	}
	a.log.Info("working", "version", pleat.Version, "server", hostOf(a.cfg.WorkerServer), "class", a.class.Name,
		"slots", a.cfg.Slots)
	err = a.work(ctx, work.NewRemote(cfg, client, client, a.engines), metrics, endpoint, drain)
	return logEnd(a.log, errors.Join(err, client.Refused()))
}

// newWorkerClient returns the client of the server that the configuration names.
func newWorkerClient(a *App) (*workerapi.Client, error) {
	token, err := readToken(a.cfg)
	if err != nil {
		return nil, err
	}
	o := workerapi.Options{Server: a.cfg.WorkerServer, Token: token, Log: a.log}
	if a.cfg.ServerCA != "" {
		if o.Roots, err = withAuthorities(a.cfg, "server-ca", a.cfg.ServerCA); err != nil {
			return nil, UsageError{err}
		}
	}
	if strings.HasPrefix(a.cfg.WorkerServer, "http:") && a.cfg.ServerPlain {
		a.log.Warn("the server is called over http: everyone on the way can read and change what this worker sends, " +
			"its token included")
	}
	return workerapi.NewClient(o), nil
}

// maxToken bounds the file of a token, in bytes.
const maxToken = 4096

// readToken reads the token of the worker's class.
func readToken(c config.Config) (string, error) {
	text, err := os.ReadFile(strings.ReplaceAll(c.TokenFile, "{class}", c.Class))
	if err != nil {
		return "", UsageError{c.Errorf("token-file", "is a file that cannot be read: %w", err)}
	}
	token := strings.TrimSpace(string(text))
	if !strings.HasPrefix(token, seal.FleetTokenPrefix) || len(token) > maxToken ||
		strings.ContainsAny(token, " \t\r\n") {
		return "", UsageError{c.Errorf("token-file", "names a file that does not hold one token of a class, which "+
			"begins with %s; pleat fleet token CLASS prints one", seal.FleetTokenPrefix)}
	}
	return token, nil
}

// askClass reads the class of the worker's token from the server, trying until it answers, and makes it the class of
// this process.
func (a *App) askClass(ctx context.Context, client *workerapi.Client) error {
	var class pleat.Class
	var refusal error
	queue.Retry(ctx, a.log, "the server cannot be asked for the worker's class", func() error {
		answer, err := client.Class(ctx)
		switch pleat.CodeOf(err) {
		case pleat.CodeUnavailable:
			return err
		case pleat.CodeUnauthorized:
			err = a.cfg.Errorf("token-file", "holds no token of a class that the server knows: it may be revoked, "+
				"or one of --demand")
		}
		class, refusal = answer.Class, err
		return nil
	})
	switch {
	case refusal != nil:
		return UsageError{fmt.Errorf("the server refuses this worker: %w", refusal)}
	case ctx.Err() != nil:
		return nil
	case a.cfg.Class != "" && a.cfg.Class != class.Name:
		return UsageError{a.cfg.Errorf("class", "is %q, but the token is one of the class %s", pleat.Clip(a.cfg.Class),
			class.Name)}
	case class.Name != pleat.DefaultClass:
		a.cfg.Class = class.Name
	}
	a.adoptClass(class)
	return nil
}
