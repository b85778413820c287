package app

import (
	"fmt"
	"os"

	"pleat/internal/config"
	"pleat/internal/sandbox"
	"pleat/internal/seal"
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

// foreignSecrets are the variables of other programs that hold secrets which the process reads at its start: those of
// S3 and of PostgreSQL.
var foreignSecrets = []string{
	"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "PGPASSWORD", "PGPASSFILE", "PGSSLPASSWORD",
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
