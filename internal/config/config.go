// Package config holds every setting of the program: the keys, their defaults, the sources that they are read from and
// the checks that a value must pass.
//
// It owns the names of keys, environment variables and flags, and the text of docs/configuration.md. It must not open
// anything: internal/app builds the running program from a Config.
//
//   - config.go: Config and its defaults.
//   - setting.go: Setting, its forms as text, and the flags.
//   - settings.go: the table of all settings.
//   - load.go: the configuration file, the environment and the flags.
//   - check.go: the checks.
//   - paths.go: values that depend on others, such as the database in the data folder.
//   - machine.go: the memory of the machine.
package config

import (
	"fmt"
	"strings"

	"github.com/dustin/go-humanize"

	"pleat/internal/msa"
)

// Config is everything that can be set. The method Settings says what each field means and which values it accepts.
type Config struct {
	Data     string
	Database string

	// The HTTP server.
	Addr      string
	PublicURL string
	Hosts     []string
	Quota     int // jobs per user and UTC day
	MaxBody   Bytes
	Library   Bytes
	Rate      float64 // requests per second and caller; 0: unlimited
	Work      bool
	Metrics   string

	// The delivery of webhooks.
	Ingest         string
	Deliver        bool
	WebhookAllow   []string
	WebhookPorts   []string
	WebhookTimeout int     // seconds
	WebhookRate    float64 // deliveries per second and endpoint; 0: unlimited
	WebhookKeep    int     // days; 0: forever
	WebhookProxy   string
	WebhookCA      string
	WebhookCert    string
	WebhookCertKey string

	// The worker and its engines.
	Blobs      string
	Engines    []string
	Slots      int
	Threads    int
	Memory     Bytes
	Runners    string
	EngineData string
	Weights    string
	Devices    []string
	Checkpoint int // seconds

	// Remote engines.
	ChatURL     string
	ChatModel   string
	ChatKey     string
	ChatTokens  int
	ChatTimeout int // seconds
	NIMURL      string
	NIMModel    string
	NIMKey      string
	NIMTimeout  int // seconds
	NIMStatus   string

	// Sources of structures for workflows.
	PDBURL     string
	UniProtURL string

	// MSA searches.
	MSAServer   string
	MSAKey      string
	MSAHeader   string
	MSACommand  string
	MSADatabase string
	MSAMode     string
	MSAPairing  string
	MSATimeout  int // seconds
	MSAKeep     int // days; 0: forever

	SecretKey string
	LogLevel  string
	LogFormat string

	// The commands that call a server.
	URL           string
	Key           string
	WebhookSecret string
	WebhookToken  string

	// origin says where each key that was set was set: a flag, a variable, or a key in a file.
	origin map[string]string
}

// Default returns the configuration that applies where nothing is set.
func Default() Config {
	return Config{
		Data: "pleat-data",

		Addr:    "127.0.0.1:8080",
		Quota:   30,
		MaxBody: 10 << 20,
		Library: 1 << 30,
		Work:    true,

		Deliver:        true,
		WebhookPorts:   []string{"443"},
		WebhookTimeout: 15,
		WebhookKeep:    90,

		Engines:    []string{"mini", "calvados", "analyst"},
		Devices:    []string{"auto"},
		Slots:      1,
		Checkpoint: 20,

		ChatTokens:  1024,
		ChatTimeout: 120,
		NIMModel:    "boltz-2",
		NIMTimeout:  1800,

		MSAHeader:  msa.DefaultKeyHeader,
		MSAMode:    "env",
		MSAPairing: "greedy",
		MSATimeout: 1800,
		MSAKeep:    90,

		LogLevel:  "info",
		LogFormat: "text",
		URL:       "http://127.0.0.1:8080",
	}
}

// Origin returns where a key was set, as messages name it: "--addr", "PLEAT_ADDR" or "addr in pleat.yaml". It is empty
// where the default applies.
func (c *Config) Origin(key string) string { return c.origin[key] }

// Errorf returns an error about a setting. It names the setting as the place that set it does, and continues with the
// formatted text.
func (c *Config) Errorf(key, format string, args ...any) error {
	name := c.origin[key]
	if name == "" {
		name = key
	}
	return fmt.Errorf(name+" "+format, args...)
}

// Bytes is a size. Its text form has a binary or decimal unit or none: 512MiB, 16GB, 1048576.
type Bytes int64

func (b Bytes) String() string {
	if b == 0 {
		return "0"
	}
	return strings.NewReplacer(" ", "", ".0", "").Replace(humanize.IBytes(uint64(b)))
}

// ParseBytes reads the text form of a size.
func ParseBytes(text string) (Bytes, error) {
	n, err := humanize.ParseBytes(text)
	if err != nil || n > 1<<60 {
		return 0, fmt.Errorf("%q is no size such as 48GB", text)
	}
	return Bytes(n), nil
}
