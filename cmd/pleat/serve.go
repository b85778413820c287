package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"pleat"
	"pleat/internal/server"
	"pleat/internal/ui"
)

func serveCmd() *cobra.Command {
	c := &cobra.Command{
		Use:   "serve",
		Short: "Serve the API, and work on jobs in the same process",
		Long: `Serves the API and works on jobs in the same process, until it is interrupted or asked to stop; running jobs then go back to
the queue. Once it listens, it prints one line on standard output: listening on http://HOST:PORT.`,
		Example: `  pleat serve --addr 127.0.0.1:8080 --data pleat-data
  pleat serve --database postgres://pleat@db.example.org/pleat --public-url https://fold.example.org`,
		Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := configure(cmd)
			if err != nil {
				return err
			}
			log := newLog(cmd.ErrOrStderr(), c)
			return serve(cmd.Context(), c, log, func(_ *process, url string) {
				fmt.Fprintln(cmd.OutOrStdout(), "listening on "+url)
			})
		},
	}
	addFlags(c.Flags(), "store", "server", "node", "engine")
	return c
}

// serve runs a server until ctx ends. It calls ready, with the address that it can be reached at, once it listens.
func serve(ctx context.Context, c Config, log *slog.Logger, ready func(p *process, url string)) error {
	p, err := openProcess(ctx, c, log, true)
	if err != nil {
		return err
	}
	defer p.close()
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", c.Addr)
	if err != nil {
		return listenError(c, err)
	}
	defer l.Close()
	local := reachable(l.Addr())
	public := c.PublicURL
	if public == "" {
		public = local
	}
	guard, err := c.webhookGuard()
	if err != nil {
		return err
	}
	courier, sender, err := p.courier(guard, public)
	if err != nil {
		return err
	}
	defer sender.Close()
	s, err := server.New(server.Config{
		PublicURL: public, Hosts: c.Hosts, Quota: c.Quota, MaxBody: int64(c.MaxBody), LibraryQuota: int64(c.Library), Rate: c.Rate, MetricsToken: c.Metrics, IngestSecret: c.Ingest,
		FetchPDB: c.PDBURL != "", FetchUniProt: c.UniProtURL != "",
	}, server.Deps{Store: p.store, Blobs: p.blobs, Ring: p.ring, Log: log, UI: ui.Handler(), Guard: guard, Figures: courier.Collectors()})
	if err != nil {
		return err
	}
	// Whichever ends first takes the other with it.
	group, ctx := errgroup.WithContext(ctx)
	if c.Work {
		pool, err := p.pool()
		if err != nil {
			return err
		}
		group.Go(func() error { return pool.Run(ctx) })
		select { // a server that says it listens takes jobs for its models
		case <-pool.Ready():
		case <-ctx.Done():
			return group.Wait()
		}
	}
	if c.Deliver {
		group.Go(func() error { return courier.Run(ctx) })
	}
	group.Go(func() error { return s.Serve(ctx, l) })
	log.Info("serving", "version", pleat.Version, "address", l.Addr().String(), "public", public, "database", p.store.Dialect(), "work", c.Work)
	ready(p, local)
	return group.Wait()
}

func listenError(c Config, err error) error {
	var op *net.OpError
	if errors.As(err, &op) {
		err = op.Err
	}
	return fmt.Errorf("cannot listen on %s: %w; choose another with --addr", c.Addr, err)
}

// reachable is the URL of a listener for callers on this machine: one that listens everywhere is reached by loopback.
func reachable(a net.Addr) string {
	host, port, err := net.SplitHostPort(a.String())
	if err != nil {
		return "http://" + a.String()
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return "http://" + net.JoinHostPort(strings.ToLower(host), port)
}
