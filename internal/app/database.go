package app

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"

	"pleat"
	"pleat/internal/config"
	"pleat/internal/seal"
	"pleat/internal/store"
)

// NewLog returns the process's log, with the level and format that are configured. Callers must not log secrets,
// tokens, sequences or signed links.
func NewLog(w io.Writer, c config.Config) *slog.Logger {
	var level slog.Level
	_ = level.UnmarshalText([]byte(c.LogLevel)) // checked with the configuration
	opt := &slog.HandlerOptions{Level: level}
	if c.LogFormat == "json" {
		return slog.New(slog.NewJSONHandler(w, opt))
	}
	return slog.New(slog.NewTextHandler(w, opt))
}

// OpenStore creates the data folder and opens the database. It does not migrate the schema. Close the store.
func OpenStore(ctx context.Context, c config.Config, log *slog.Logger) (*store.Store, error) {
	if err := makeDataDir(c); err != nil {
		return nil, err
	}
	return store.Open(ctx, c.DatabaseURL(), store.Options{
		Log: log,
		Limits: store.Limits{
			Jobs:         c.Quota,
			Workflows:    c.WorkflowQuota,
			Drafts:       c.Drafts,
			LibraryItems: c.LibraryItems,
			ResultsBytes: int64(c.ResultsQuota),
			KeepResults:  days(c.KeepResults),
			LibraryBytes: int64(c.Library),
		},
	})
}

// makeDataDir creates the data folder, which only its owner can read: it may hold the secret key, the database and the
// artifacts.
func makeDataDir(c config.Config) error {
	if err := os.MkdirAll(c.Data, 0o700); err != nil {
		return fmt.Errorf("create the data folder: %w", err)
	}
	return nil
}

// Migrate brings the schema to this program's version and returns the versions before and after. It refuses a database
// with a newer schema than this program knows: an older program would write rows that the newer one does not expect.
func Migrate(ctx context.Context, s *store.Store) (from, to int64, err error) {
	if from, err = s.Version(ctx); err != nil {
		return 0, 0, err
	}
	if latest := store.Latest(); from > latest {
		const text = "the database is at schema %d and this pleat knows %d; run a newer pleat"
		return from, from, fmt.Errorf(text, from, latest)
	}
	return s.Migrate(ctx)
}

// OpenMigrated opens the database for a command that runs next to a server, such as pleat keys. It migrates a new
// database. An older schema is an error: a command must not change the schema under a running server, so the server or
// pleat migrate does it. Close the store.
func OpenMigrated(ctx context.Context, c config.Config, log *slog.Logger) (*store.Store, error) {
	s, err := OpenStore(ctx, c, log)
	if err != nil {
		return nil, err
	}
	version, err := s.Version(ctx)
	switch latest := store.Latest(); {
	case err != nil:
	case version == 0 || version > latest:
		_, _, err = Migrate(ctx, s)
	case version < latest:
		err = fmt.Errorf("the database is at schema %d, older than this pleat's %d; "+
			"restart the server with this pleat, or run: pleat migrate", version, latest)
	}
	if err != nil {
		_ = s.Close() // the reason is err
		return nil, err
	}
	return s, nil
}

// CreateKey makes an API key for a user, creates the user if needed, and returns the key. Only its hash is stored, so
// the key can be shown this once. Prefix and Hash of n are set here.
func CreateKey(ctx context.Context, s *store.Store, user string, n store.NewKey) (string, error) {
	u, err := s.EnsureUser(ctx, user)
	if err != nil {
		return "", err
	}
	if n.Label != "" {
		if err := pleat.CheckName("label", n.Label); err != nil {
			return "", err
		}
	}
	key := seal.NewKey()
	n.Prefix, n.Hash = seal.Prefix(key), seal.HashKey(key)
	_, err = s.CreateKey(ctx, store.Actor{User: u.ID}, n)
	return key, err
}
