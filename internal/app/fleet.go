package app

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/pflag"
	"golang.org/x/sync/errgroup"

	"pleat"
	"pleat/internal/config"
	"pleat/internal/fleet"
	"pleat/internal/store"
	"pleat/internal/telemetry"
)

// Fleet starts the workers that are wanted until ctx ends; with once it looks a single time. It needs the database
// alone, neither artifacts nor secret keys. A UsageError: workers could not be started, or would not find the database.
func Fleet(ctx context.Context, c config.Config, log *slog.Logger, once bool) error {
	worker, err := workerOf(c)
	if err != nil {
		return err
	}
	metrics, err := listenMetrics(ctx, c, log)
	if err != nil {
		return err
	}
	defer metrics.close()
	s, err := OpenMigrated(ctx, c, log)
	if err != nil {
		return err
	}
	defer s.DB.Close()
	if err := HideSecrets(c); err != nil {
		log.Warn("the memory of this process can be read by other processes of its user", "error", err)
	}
	clusters, err := clustersOf(ctx, c, s)
	if err != nil {
		return err
	}
	f := fleet.New(fleet.Config{
		Store:    s.Workers,
		Clusters: clusters,
		Holder:   uuid.NewString(),
		Worker:   worker,
		Interval: seconds(c.FleetInterval),
		Limit:    c.FleetLimit,
		Clock:    s.DB.Now,
		Log:      log,
	})
	if once {
		leads, err := f.Once(ctx)
		if err == nil && !leads {
			log.Info("another process leads the fleet; nothing is done here")
		}
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return f.Run(ctx) })
	group.Go(func() error { return metrics.serve(ctx, fleetEndpoint(c, s, f, log)) })
	group.Go(func() error {
		returnMemory(ctx, s, log)
		return nil
	})
	log.Info("the fleet runs", "version", pleat.Version, "database", s.DB.Dialect())
	return logEnd(log, group.Wait())
}

// fleetEndpoint returns what serves health and metrics of a fleet.
func fleetEndpoint(c config.Config, s *store.Store, f *fleet.Fleet, log *slog.Logger) *telemetry.Endpoint {
	registry := prometheus.NewRegistry()
	registry.MustRegister(telemetry.Process(s.DB, s.Runs, nil)...)
	registry.MustRegister(f.Collectors()...)
	return &telemetry.Endpoint{
		Health:  &telemetry.Health{DB: s.DB, Workers: s.Workers},
		Metrics: registry,
		Token:   c.Metrics,
		Log:     log,
	}
}

// clustersOf returns the clusters on which the fleet of a service starts workers, by driver. The id of the service,
// which names its jobs, derives from the name of its database: every process of the service finds the same jobs.
func clustersOf(ctx context.Context, c config.Config, s *store.Store) (map[string]fleet.Cluster, error) {
	name, err := s.Ops.NameDatabase(ctx)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256([]byte(name))
	data, err := filepath.Abs(c.Data)
	if err != nil {
		return nil, fmt.Errorf("find the data folder: %w", err)
	}
	return map[string]fleet.Cluster{
		fleet.DriverSlurm: &fleet.Slurm{Service: hex.EncodeToString(sum[:5]), Login: strings.Fields(c.FleetLogin)},
		fleet.DriverLocal: &fleet.Local{Dir: filepath.Join(data, "fleet"), Clock: time.Now},
	}, nil
}

// workerOf returns how workers are started.
func workerOf(c config.Config) (fleet.Worker, error) {
	w := fleet.Worker{Program: c.FleetProgram, Config: c.FleetConfig}
	var err error
	if w.Program == "" {
		if w.Program, err = os.Executable(); err != nil {
			return w, fmt.Errorf("find this program; set fleet-program: %w", err)
		}
	}
	if w.Config == "" && c.Path() != "" {
		if w.Config, err = filepath.Abs(c.Path()); err != nil {
			return w, fmt.Errorf("find the file of settings; set fleet-config: %w", err)
		}
	}
	if w.Config == "" {
		return w, UsageError{errors.New("fleet-config is empty; workers get no settings by environment: " +
			"name the file from which they read them with --config or --fleet-config")}
	}
	return w, checkWorkerFile(c, w.Config)
}

// checkWorkerFile refuses a file of settings by which workers would not find the database of this process. A file that
// only the workers' machines have is not checked.
func checkWorkerFile(c config.Config, path string) error {
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	config.AddFlags(flags)
	if err := flags.Set("config", path); err != nil {
		return err
	}
	w, err := config.Load(flags, nil)
	if err != nil {
		return UsageError{fmt.Errorf("the workers cannot use their settings: %w", err)}
	}
	if w.WorkerServer != "" { // they need no database
		return nil
	}
	workersFile, sqlite := w.SQLitePath()
	file, ownSQLite := c.SQLitePath()
	switch {
	case sqlite != ownSQLite || sqlite && file != workersFile:
		return UsageError{fmt.Errorf("the workers read their settings from %s, which names another database than this "+
			"process uses; set database and data there", path)}
	case sqlite && (!filepath.IsAbs(workersFile) || !filepath.IsAbs(w.Data)):
		return UsageError{fmt.Errorf("the workers read their settings from %s, where data or database is a relative "+
			"path; it must be absolute, since they do not start in this folder", path)}
	}
	return nil
}
