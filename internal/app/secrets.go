package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"pleat/internal/config"
	"pleat/internal/sandbox"
	"pleat/internal/seal"
	"pleat/internal/store"
	"pleat/internal/store/ops"
)

// LoadKeys returns the secret keys of the configuration: those of secret-key, those of secret-key-file, or the one in
// the data folder, which it generates where there is none. A file that is set is never generated, because other nodes
// would have another.
func LoadKeys(c config.Config) (*seal.Ring, error) {
	if c.SecretFile == "" {
		return seal.Load(c.SecretKey, c.GeneratedKeyFile())
	}
	text, err := os.ReadFile(c.SecretFile)
	if err != nil {
		return nil, fmt.Errorf("read the secret key of secret-key-file: %w", err)
	}
	ring, err := seal.Parse(string(text))
	if err != nil {
		return nil, fmt.Errorf("the file %s of secret-key-file: %w", c.SecretFile, err)
	}
	return ring, nil
}

// loadKeys is LoadKeys for a node of a service. It does not generate a key for a database that was used with another.
func loadKeys(c config.Config, known ops.Service) (*seal.Ring, error) {
	if len(known.Secrets) > 0 && c.SecretKey == "" && c.SecretFile == "" {
		if _, err := os.Stat(c.GeneratedKeyFile()); errors.Is(err, os.ErrNotExist) {
			const text = "the secret key of the database is missing: %s does not exist, and neither secret-key " +
				"(PLEAT_SECRET_KEY) nor secret-key-file is set; restore the one with which the database was used; " +
				"if it is lost, make one with openssl rand -hex 32, set it and run: pleat secrets adopt"
			return nil, UsageError{fmt.Errorf(text, c.GeneratedKeyFile())}
		}
	}
	return LoadKeys(c)
}

// keySource names where LoadKeys finds the secret keys.
func keySource(c config.Config) string {
	switch {
	case c.SecretKey != "":
		return "secret-key (PLEAT_SECRET_KEY)"
	case c.SecretFile != "":
		return "the file " + c.SecretFile + " of secret-key-file"
	}
	return "the file " + c.GeneratedKeyFile()
}

// checkKeys refuses secret keys that are not those of the service, with a UsageError: none of them is one of the node
// that started last, or a stored secret needs one that is missing.
func checkKeys(
	ctx context.Context, c config.Config, s *store.Store, known ops.Service, ring *seal.Ring,
) error {
	fingerprints := ring.Fingerprints()
	switch {
	case len(known.Secrets) == 0:
		return nil
	case !ops.Overlap(known.Secrets, fingerprints):
		const text = "%s has another secret key than the nodes of this database, which could not read its links and " +
			"webhook secrets; set the same key on every node; to replace a key, follow the steps in " +
			"docs/operations.md; if the old key is lost, run: pleat secrets adopt"
		return UsageError{fmt.Errorf(text, keySource(c))}
	case !slices.ContainsFunc(known.Secrets, func(f string) bool { return !slices.Contains(fingerprints, f) }):
		return nil // no key was removed
	}
	n, err := s.Ops.CountSealed(ctx, ring.Opens)
	if err == nil && n > 0 {
		const text = "%s lacks a key with which secrets of %d webhook endpoints are encrypted; add it again and run: " +
			"pleat secrets rotate; if the key is lost, run: pleat secrets adopt"
		err = UsageError{fmt.Errorf(text, keySource(c), n)}
	}
	return err
}

// CheckSecrets refuses a configuration whose secret keys are not those of the database, with a UsageError. A database
// that no node has used yet may get any. It generates no key and writes nothing.
func CheckSecrets(ctx context.Context, c config.Config, s *store.Store) error {
	known, err := s.Ops.Service(ctx)
	if err != nil || len(known.Secrets) == 0 {
		return err
	}
	ring, err := loadKeys(c, known)
	if err != nil {
		return err
	}
	return checkKeys(ctx, c, s, known, ring)
}

// AdoptSecrets makes the secret keys of the configuration those of the database, whichever it was used with. It returns
// how many webhook endpoints have secrets that these keys cannot open.
func AdoptSecrets(ctx context.Context, c config.Config, s *store.Store) (lost int, err error) {
	ring, err := LoadKeys(c)
	if err != nil {
		return 0, err
	}
	if err := s.Ops.ReplaceSecrets(ctx, ring.Fingerprints()); err != nil {
		return 0, err
	}
	return s.Ops.CountSealed(ctx, ring.Opens)
}

// foreignSecrets are the variables of other programs that hold secrets which the process reads at its start: those of
// S3, of PostgreSQL and of the receiver of traces.
var foreignSecrets = []string{
	"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "PGPASSWORD", "PGPASSFILE", "PGSSLPASSWORD",
	"OTEL_EXPORTER_OTLP_HEADERS", "OTEL_EXPORTER_OTLP_TRACES_HEADERS",
}

// HideSecrets removes the secrets from the environment of this process, which must have read them, and makes its memory
// and the environment that it was started with unreadable for other processes of its user. The second is an error where
// the system cannot do it. The kernel then writes no core file of the process.
func HideSecrets(c config.Config) error {
	for _, name := range append(c.SecretVariables(), foreignSecrets...) {
		if err := os.Unsetenv(name); err != nil {
			return err
		}
	}
	return sandbox.HideMemory()
}
