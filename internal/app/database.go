package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"pleat"
	"pleat/internal/config"
	"pleat/internal/seal"
	"pleat/internal/store"
	"pleat/internal/store/db"
	"pleat/internal/store/people"
	"pleat/internal/tracing"
)

// NewLog returns the process's log, with the level and format that are configured. Callers must not log secrets,
// tokens, sequences or signed links.
func NewLog(w io.Writer, c config.Config) *slog.Logger {
	var level slog.Level
	_ = level.UnmarshalText([]byte(c.LogLevel)) // checked with the configuration
	opt := &slog.HandlerOptions{Level: level, ReplaceAttr: replaceDuration}
	if c.LogFormat == "json" {
		return slog.New(tracing.Log(slog.NewJSONHandler(w, opt)))
	}
	return slog.New(tracing.Log(slog.NewTextHandler(w, opt)))
}

// replaceDuration writes durations as milliseconds. Their keys end with _ms, which it adds where it is missing: a
// number without its unit is read wrongly.
func replaceDuration(_ []string, a slog.Attr) slog.Attr {
	if a.Value.Kind() != slog.KindDuration {
		return a
	}
	if !strings.HasSuffix(a.Key, "_ms") {
		a.Key += "_ms"
	}
	return slog.Float64(a.Key, float64(a.Value.Duration().Microseconds())/1000)
}

// OpenStore creates the data folder and opens the database, which it creates if it is an SQLite database that does not
// exist. It does not migrate the schema. Close the store.
func OpenStore(ctx context.Context, c config.Config, log *slog.Logger) (*store.Store, error) {
	if err := makeDataDir(c); err != nil {
		return nil, err
	}
	return openStore(ctx, c, log)
}

// openStore is OpenStore without the data folder.
func openStore(ctx context.Context, c config.Config, log *slog.Logger) (*store.Store, error) {
	return store.Open(ctx, c.DatabaseURL(), store.Options{
		DB: db.Options{Log: log, Direct: c.Direct, Connections: c.Connections},
		People: people.Options{Limits: people.Limits{
			Jobs:         c.Quota,
			Workflows:    c.WorkflowQuota,
			BatchRows:    c.BatchQuota,
			Drafts:       c.Drafts,
			LibraryItems: c.LibraryItems,
			ResultsBytes: int64(c.ResultsQuota),
			KeepResults:  days(c.KeepResults),
			LibraryBytes: int64(c.Library),
		}},
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

// checkWritable refuses a file of an SQLite database that this process may not write: it never could, and is not to
// wait for that as for a full disk.
func checkWritable(c config.Config) error {
	path, ok := c.SQLitePath()
	if !ok {
		return nil
	}
	if err := unix.Access(path, unix.W_OK); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("the database %s cannot be written: %w", path, err)
	}
	return nil
}

// MissingDatabase returns the path of the database if it is an SQLite database that does not exist.
func MissingDatabase(c config.Config) (path string, missing bool) {
	path, ok := c.SQLitePath()
	if !ok {
		return "", false
	}
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		return "", false
	}
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	return path, true
}

// OpenMigrated opens the database for a command that runs next to a server, such as pleat keys. A database that does
// not exist or has no schema is an error, since a mistyped folder would get a database that no server knows. So is an
// older schema: a command must not change it under a running server. The server or pleat migrate does both. Close the
// store.
func OpenMigrated(ctx context.Context, c config.Config, log *slog.Logger) (*store.Store, error) {
	if path, missing := MissingDatabase(c); missing {
		const text = "there is no database %s; name the server's data folder with --data or its database with " +
			"--database; for a new service, start pleat serve first, or run: pleat keys create --init"
		return nil, fmt.Errorf(text, path)
	}
	s, err := openStore(ctx, c, log)
	if err != nil {
		return nil, err
	}
	version, err := s.DB.Version(ctx)
	switch latest := db.Latest(); {
	case err != nil:
	case version == 0:
		err = errors.New("the database has no tables yet; start pleat serve first, or run: pleat migrate")
	case version < latest:
		err = fmt.Errorf("the database is at schema %d, older than this pleat's %d; "+
			"restart the server with this pleat, or run: pleat migrate", version, latest)
	default:
		err = db.RefuseNewer(version)
	}
	if err != nil {
		_ = s.DB.Close() // the reason is err
		return nil, err
	}
	return s, nil
}

// InitDatabase creates and migrates the database if it does not exist or has no schema. It changes no other database.
func InitDatabase(ctx context.Context, c config.Config, log *slog.Logger) error {
	s, err := OpenStore(ctx, c, log)
	if err != nil {
		return err
	}
	version, err := s.DB.Version(ctx)
	if err == nil && version == 0 {
		_, _, err = s.DB.Migrate(ctx)
	}
	return errors.Join(err, s.DB.Close())
}

// CreateKey makes an API key for a user, creates the user if needed, and returns the key. Only its hash is stored, so
// the key can be shown this once. Prefix and Hash of n are set here.
func CreateKey(ctx context.Context, s *store.Store, user string, n people.NewKey) (string, error) {
	u, err := s.People.EnsureUser(ctx, user)
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
	_, err = s.People.CreateKey(ctx, people.Actor{Reach: people.Reach{User: u.ID}, Database: true}, n)
	return key, err
}
