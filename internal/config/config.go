// Package config holds every setting of the program: the keys, their defaults, the sources that they are read from and
// the checks that a value must pass.
//
// It owns the names of keys, environment variables and flags, and the text of docs/configuration.md. It must not open
// anything: internal/app builds the running program from a Config.
package config

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"pleat"
	"pleat/api"
	"pleat/internal/fleet"
	"pleat/internal/msa"
	"pleat/internal/sandbox"
)

// Config is everything that can be set. The method Settings documents each field and the values that it accepts. A zero
// field means what the zero value means there, not the default: start from Default or Load.
type Config struct {
	// The state of a node. An empty Database is SQLite in the folder Data, and empty Blobs are a folder in it.
	Data        string
	Database    string
	Direct      string // the database without a pooler between
	Blobs       string
	Connections int // to the database; 0: chosen by the machine

	// The HTTP server. With Work it runs jobs in its own process.
	Addr          string
	PublicURL     string
	Hosts         []string
	MCPOrigins    []string // whose pages may call /mcp
	Quota         int      // jobs per user and UTC day
	WorkflowQuota int      // workflows per user and UTC day
	BatchQuota    int      // rows of batches per user and UTC day
	MaxBody       Bytes
	Library       Bytes // of one user, as are LibraryItems and Drafts
	LibraryItems  int
	MinFreeDisk   Bytes // 0: no limit
	ResultsQuota  Bytes // of one user; 0: no limit
	KeepResults   int   // days; 0: for ever
	Drafts        int
	Rate          float64  // requests per second and user; 0: unlimited
	Proxies       []string // networks whose X-Forwarded-For is believed
	Work          bool
	Metrics       string

	// Sign-in by OpenID Connect; an empty OIDCIssuer: there is none. An empty audience or client of devices is that of
	// OIDCClientID.
	OIDCIssuer        string
	OIDCClientID      string
	OIDCSecret        string // empty: a public client, or OIDCSecretFile
	OIDCSecretFile    string
	OIDCDeviceClient  string
	OIDCScopes        []string
	OIDCAudience      string
	OIDCNameClaim     string
	OIDCGroupsClaim   string
	OIDCAllowedGroups []string // empty: everybody whom the issuer knows
	OIDCOperatorGroup string
	OIDCCA            string // PEM file of authorities for OIDCIssuer
	OIDCTitle         string // empty: the host of OIDCIssuer
	SessionHours      int    // of users who signed in by OIDCIssuer

	// The delivery of webhooks. The paths are of PEM files; Ingest is the secret of the endpoint that accepts events.
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

	// Mails to users, if MailURL is not empty: the address of the server, and who sends.
	MailURL          string
	MailFrom         string
	MailPassword     string // empty: in MailURL or MailPasswordFile, or there is none
	MailPasswordFile string
	MailCA           string // PEM file of authorities for the server
	MailPlain        bool   // the server may be on another machine without TLS

	// The worker and its engines. An empty path stands for a folder in Data, or for one of the default folders of
	// runners; the methods in paths.go return the paths that apply. Threads and Memory are 0 for all that there is.
	Engines    []string
	Slots      int
	Threads    int
	Memory     Bytes
	Runners    string
	EngineData string
	Weights    string
	Sandbox    string
	Devices    []string
	Checkpoint int    // seconds
	MaxSeconds int    // that one run may compute
	Classes    string // path of the file of classes; empty: the class default alone
	Class      string // of this process's worker; empty: pleat.DefaultClass

	WorkerServer string // URL from which a worker gets its tasks; empty: it uses the database
	TokenFile    string // of the worker's class
	ServerCA     string // PEM file of authorities for WorkerServer
	ServerPlain  bool   // WorkerServer may be http on another machine

	Scratch string // folder of the identity and the temporary files; empty: Data

	// The fleet, which starts workers. Empty paths are those of this process.
	FleetProgram  string
	FleetConfig   string
	FleetLogin    string // a command and its arguments, separated by spaces; empty: none
	FleetInterval int    // seconds
	FleetLimit    int    // unfinished jobs of all classes

	// Remote engines. An engine is used if its URL is set. NIMStatus has {id} for the request's identifier.
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

	// Sources of structures for workflows: URLs with {id} for the entry. Empty ones are not used.
	PDBURL     string
	UniProtURL string

	// MSA searches, by a server or by a command on this machine. No search is made if both are empty.
	MSAServer   string
	MSAKey      string
	MSAHeader   string
	MSACommand  string
	MSADatabase string
	MSAMode     string
	MSAPairing  string
	MSATimeout  int // seconds
	MSAKeep     int // days; 0: forever
	MSAShare    bool

	// SecretKey is one key, or two during a replacement, of which the first one signs and encrypts. Empty: the file
	// SecretFile holds the key, and without such a file one in Data.
	SecretKey  string
	SecretFile string
	Migrate    bool
	LogLevel   string
	LogFormat  string

	// MetricsListen is a further address, for health and metrics; empty: none.
	MetricsListen string

	// Traces: the receiver, empty: the one that OTEL_… names or none, and the share of requests that are traced.
	TracesEndpoint string
	TracesRatio    float64

	// The commands that call a server.
	URL           string
	Key           string
	Project       string
	WebhookSecret string
	WebhookToken  string

	// path is that of the file that was read; empty: none.
	path string

	// origin holds, for each key that was set, the flag, the variable or the key in a file that set it.
	origin map[string]string
}

// Default returns the configuration that applies where nothing is set.
func Default() Config {
	return Config{
		Data:    "pleat-data",
		Migrate: true,

		Addr:          "127.0.0.1:8080",
		Quota:         30,
		WorkflowQuota: 300,
		BatchQuota:    10_000,
		MaxBody:       api.MaxBody,
		Library:       1 << 30,
		LibraryItems:  10_000,
		MinFreeDisk:   1 << 30,
		Drafts:        500,
		Work:          true,

		OIDCScopes:      []string{"openid", "profile", "email"},
		OIDCNameClaim:   "preferred_username",
		OIDCGroupsClaim: "groups",
		SessionHours:    12,

		Deliver:        true,
		WebhookPorts:   []string{"443"},
		WebhookTimeout: 15,
		WebhookKeep:    90,

		Engines:    pleat.DefaultEngines(),
		Devices:    []string{"auto"},
		Sandbox:    string(sandbox.Auto),
		Slots:      1,
		Checkpoint: 20,
		MaxSeconds: int(pleat.MaxRunTime / time.Second),

		FleetInterval: int(fleet.DefaultInterval / time.Second),
		FleetLimit:    fleet.DefaultLimit,

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

		TracesRatio: 1,

		URL: "http://127.0.0.1:8080",
	}
}

// Path returns the path of the file of settings that was read; empty: none was.
func (c *Config) Path() string { return c.path }

// Origin returns where a key was set, as messages name it: "--addr", "PLEAT_ADDR" or "addr in pleat.yaml". It is empty
// where the default applies.
func (c *Config) Origin(key string) string { return c.origin[key] }

// Errorf returns an error about a setting. It names the setting as the place that set it does, such as PLEAT_ADDR, and
// continues with the formatted text. The text must not show a secret.
func (c *Config) Errorf(key, format string, args ...any) error {
	return fmt.Errorf(cmp.Or(c.origin[key], key)+" "+format, args...)
}

// Bytes is a size. Its text form has a binary or decimal unit or none: 512MiB, 16GB, 1048576.
type Bytes int64

// String returns the size in binary units, such as 16MiB, rounded to about two digits; in decimal units, such as 10MB,
// if only they are exact. ParseBytes reads it.
func (b Bytes) String() string {
	if b == 0 {
		return "0"
	}
	short := strings.NewReplacer(" ", "", ".0", "")
	binary, decimal := short.Replace(humanize.IBytes(uint64(b))), short.Replace(humanize.Bytes(uint64(b)))
	if n, err := ParseBytes(decimal); err == nil && n == b {
		if n, err = ParseBytes(binary); err != nil || n != b {
			return decimal
		}
	}
	return binary
}

// ParseBytes reads the text form of a size, at most 2^60 bytes. KB, MB and GB are powers of 1000, KiB, MiB and GiB of
// 1024.
func ParseBytes(text string) (Bytes, error) {
	n, err := humanize.ParseBytes(text)
	if err != nil || n > 1<<60 {
		return 0, fmt.Errorf("%q is not a size such as 48GB", text)
	}
	return Bytes(n), nil
}
