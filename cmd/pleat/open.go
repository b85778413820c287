package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"

	"pleat/internal/store"
)

// newLog is the process's log. It holds no secret: what is logged of a configuration is its safe form.
func newLog(w io.Writer, c Config) *slog.Logger {
	var level slog.Level
	_ = level.UnmarshalText([]byte(c.LogLevel)) // checked with the configuration
	opt := &slog.HandlerOptions{Level: level}
	if c.LogFormat == "json" {
		return slog.New(slog.NewJSONHandler(w, opt))
	}
	return slog.New(slog.NewTextHandler(w, opt))
}

// openStore makes the data folder and opens the database, without migrating it.
func openStore(ctx context.Context, c Config, log *slog.Logger) (*store.Store, error) {
	if err := os.MkdirAll(c.Data, 0o700); err != nil {
		return nil, fmt.Errorf("make the data folder: %w", err)
	}
	return store.Open(ctx, c.databaseURL(), store.Options{Log: log})
}

// migrate brings the schema to this program's version. A newer one is left alone: this program does not know it.
func migrate(ctx context.Context, s *store.Store) (from, to int64, err error) {
	if from, err = s.Version(ctx); err != nil {
		return 0, 0, err
	}
	if latest := store.Latest(); from > latest {
		return from, from, fmt.Errorf("the database is at schema %d and this pleat knows %d; run a newer pleat", from, latest)
	}
	return s.Migrate(ctx)
}

// openMigrated opens the database for a command that works beside a server: a new database is made ready, an older one is
// left to the server or pleat migrate.
func openMigrated(ctx context.Context, c Config, log *slog.Logger) (*store.Store, error) {
	s, err := openStore(ctx, c, log)
	if err != nil {
		return nil, err
	}
	version, err := s.Version(ctx)
	switch latest := store.Latest(); {
	case err != nil:
	case version == 0 || version > latest:
		_, _, err = migrate(ctx, s)
	case version < latest:
		err = fmt.Errorf("the database is at schema %d, older than this pleat's %d; restart the server with this pleat, or run: pleat migrate", version, latest)
	}
	if err != nil {
		_ = s.Close() // the reason is err
		return nil, err
	}
	return s, nil
}
