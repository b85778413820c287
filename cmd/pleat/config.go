package main

import (
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/dustin/go-humanize"
	"github.com/knadh/koanf/parsers/yaml"
	"github.com/knadh/koanf/providers/env/v2"
	"github.com/knadh/koanf/providers/file"
	"github.com/knadh/koanf/v2"
	"github.com/spf13/pflag"

	"pleat"
	"pleat/internal/msa"
	"pleat/internal/seal"
)

// Config is everything that can be set, each key in three places: a YAML file, a variable PLEAT_…, a flag; later ones win.
// The tags are the reference: docs/configuration.md is written from them. The groups say which commands take the flag:
// store (whatever opens the database), node (serve and worker), engine (these and pleat engines), server (serve alone), client
// (what speaks HTTP to a server).
type Config struct {
	Data     string `key:"data" group:"store" doc:"folder of the database, the artifacts and the node's identity, where nothing else is said"`
	Database string `key:"database" group:"store" doc:"sqlite:PATH or postgres://USER:PASSWORD@HOST/NAME; empty: SQLite in the data folder" secret:"url"`

	Addr      string   `key:"addr" group:"server" doc:"address to listen on; port 0 takes a free one and prints it"`
	PublicURL string   `key:"public-url" group:"server" doc:"what links begin with, as callers reach the server; empty: http:// and the address listened on"`
	Hosts     []string `key:"hosts" group:"server" doc:"further names, separated by commas, under which browsers may use their cookie; the public URL's and loopback always count"`
	Quota     int      `key:"quota" group:"server" doc:"job creations per user and UTC day, for users without a quota of their own"`
	MaxBody   Bytes    `key:"max-body" group:"server" doc:"largest body of a job's request"`
	Library   Bytes    `key:"library-quota" group:"server" doc:"bytes that the files of one user's library may have together"`
	Rate      float64  `key:"rate" group:"server" doc:"requests per second and caller; 0: unlimited"`
	Work      bool     `key:"work" group:"server" doc:"whether the server works on jobs in its own process; false leaves them to pleat worker"`
	Metrics   string   `key:"metrics-token" group:"server" doc:"bearer token that /metrics asks for; empty: none" secret:"yes"`

	Ingest         string   `key:"ingest-secret" group:"server" doc:"shared secret of POST /v1/webhooks/events/ingest; empty: the endpoint refuses everything" secret:"yes"`
	Deliver        bool     `key:"deliver" group:"server" doc:"whether the server delivers webhooks; of several servers on one database at least one must"`
	WebhookAllow   []string `key:"webhook-allow" group:"server" doc:"networks that webhooks may go to though they are not public, with http and any port, such as 10.1.0.0/16, separated by commas; answers from there are not kept"`
	WebhookPorts   []string `key:"webhook-ports" group:"server" doc:"ports of public https addresses that webhooks may go to, separated by commas"`
	WebhookTimeout int      `key:"webhook-timeout" group:"server" doc:"seconds that one delivery may take, from the look-up of the name to the end of the answer"`
	WebhookRate    float64  `key:"webhook-rate" group:"server" doc:"deliveries per second to one endpoint; 0: unlimited"`
	WebhookKeep    int      `key:"webhook-keep" group:"server" doc:"days that ended deliveries and their attempts are kept; 0: for ever"`
	WebhookProxy   string   `key:"webhook-proxy" group:"server" doc:"http or https proxy that every delivery goes through; it must refuse private addresses itself" secret:"url"`
	WebhookCA      string   `key:"webhook-ca" group:"server" doc:"PEM file of further authorities that may sign receivers' certificates"`
	WebhookCert    string   `key:"webhook-cert" group:"server" doc:"PEM file of a certificate to show to receivers that ask for one"`
	WebhookCertKey string   `key:"webhook-cert-key" group:"server" doc:"PEM file of that certificate's key"`

	Blobs       string   `key:"blobs" group:"node" doc:"where artifacts are kept: a folder, or s3://BUCKET/PREFIX?endpoint=URL with the credentials in AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY; empty: blobs in the data folder"`
	Engines     []string `key:"engines" group:"node" doc:"engines in this process, separated by commas: mini folds, calvados simulates, analyst answers questions; null predicts nothing and is for tests of the service; any other name is a folder of runners, an engine in processes of its own, see pleat engines. A chat endpoint answers and a Boltz-2 endpoint folds besides, see chat-url and nim-url"`
	Slots       int      `key:"slots" group:"node" doc:"jobs of one kind (folds, questions, simulations) worked on at once by this process"`
	Threads     int      `key:"threads" group:"engine" doc:"cores that one fold by mini, one simulation by calvados or one runner uses; 0: all"`
	Memory      Bytes    `key:"memory" group:"engine" doc:"memory that jobs in this process may be expected to use together; 0: four fifths of the machine's"`
	Runners     string   `key:"runners" group:"engine" doc:"folder of the runners, one folder each; empty: runners in the current folder, beside the program or in /usr/share/pleat"`
	EngineData  string   `key:"engine-data" group:"engine" doc:"folder of the runners' virtual environments and caches, as pleat engines install makes them; empty: engines in the data folder"`
	Weights     string   `key:"weights" group:"engine" doc:"folder of the models' weights, one folder per runner; empty: weights in the data folder"`
	Devices     []string `key:"devices" group:"engine" doc:"accelerators for runners: auto asks nvidia-smi, none takes the CPU, else a list of indices or UUIDs with their memory, such as 0=48GB,1=48GB"`
	Checkpoint  int      `key:"checkpoint-every" group:"node" doc:"seconds between the checkpoints of a simulation, from which another worker goes on"`
	ChatURL     string   `key:"chat-url" group:"node" doc:"address of an OpenAI-compatible chat endpoint that answers questions about structures, such as http://127.0.0.1:11434/v1; it gets computed facts and the question, never the structure's file; empty: none"`
	ChatModel   string   `key:"chat-model" group:"node" doc:"the model to ask there, as the endpoint calls it"`
	ChatKey     string   `key:"chat-key" group:"node" doc:"bearer token for the chat endpoint; empty: none" secret:"yes"`
	ChatTokens  int      `key:"chat-tokens" group:"node" doc:"tokens that one answer may have"`
	ChatTimeout int      `key:"chat-timeout" group:"node" doc:"seconds that one answer may take"`
	NIMURL      string   `key:"nim-url" group:"node" doc:"address of a Boltz-2 container's HTTP interface (NVIDIA NIM) that folds, such as http://127.0.0.1:8000 or https://health.api.nvidia.com/v1; sequences and ligands are sent there; empty: none"`
	NIMModel    string   `key:"nim-model" group:"node" doc:"name under which jobs ask for it; it must be another where the runner boltz is among the engines"`
	NIMKey      string   `key:"nim-key" group:"node" doc:"bearer token for that endpoint; empty: none" secret:"yes"`
	NIMTimeout  int      `key:"nim-timeout" group:"node" doc:"seconds that one fold there may take"`
	NIMStatus   string   `key:"nim-status-url" group:"node" doc:"where the answer to a call that the endpoint put off (202) is asked for, {id} standing for the call; empty: that of NVIDIA's hosted functions for addresses of nvidia.com, else none"`
	PDBURL      string   `key:"pdb-url" group:"node" doc:"where workflows fetch entries of the Protein Data Bank, {id} standing for the entry, such as https://files.rcsb.org/download/{id}.cif; empty: they may not"`
	UniProtURL  string   `key:"uniprot-url" group:"node" doc:"where workflows fetch predicted structures by UniProt accession, {id} standing for it, such as https://alphafold.ebi.ac.uk/files/AF-{id}-F1-model_v4.cif; empty: they may not"`
	MSAServer   string   `key:"msa-server" group:"node" doc:"address of a server with ColabFold's interface that aligns proteins, such as https://api.colabfold.com, with a user and a password where it asks for them; every protein sequence of a job for a model that takes alignments is sent there. Empty: none is sent anywhere" secret:"url"`
	MSAKey      string   `key:"msa-key" group:"node" doc:"key for that server, sent to it alone; empty: none" secret:"yes"`
	MSAHeader   string   `key:"msa-key-header" group:"node" doc:"header that the key goes in: as a bearer token in Authorization, as it is in any other"`
	MSACommand  string   `key:"msa-command" group:"node" doc:"path of colabfold_search or mmseqs, to align proteins on this machine instead; empty: neither"`
	MSADatabase string   `key:"msa-database" group:"node" doc:"what msa-command searches: the folder of databases of colabfold_search, or the database of mmseqs"`
	MSAMode     string   `key:"msa-mode" group:"node" doc:"env searches environmental sequences too, all does not; env-nofilter and nofilter keep rows that are much alike"`
	MSAPairing  string   `key:"msa-pairing" group:"node" doc:"how the rows of a complex's chains are matched by organism: greedy takes what chains one has, complete those that have all, none matches nothing"`
	MSATimeout  int      `key:"msa-timeout" group:"node" doc:"seconds that one search may take, with all waiting for the server"`
	MSAKeep     int      `key:"msa-keep" group:"node" doc:"days that alignments are kept for further jobs with the same sequences; 0: for ever"`
	SecretKey   string   `key:"secret-key" group:"node" doc:"what signatures and sealed secrets derive from: 32 bytes as 64 hexadecimal digits or in base64; several, separated by commas, when one replaces another, the current one first; empty: made once and kept in the data folder. Every node of one service needs the same" secret:"yes"`

	LogLevel  string `key:"log-level" group:"node" doc:"debug, info, warn or error"`
	LogFormat string `key:"log-format" group:"node" doc:"text or json"`

	URL string `key:"url" group:"client" doc:"address of the server to call"`
	Key string `key:"key" group:"client" doc:"API key to call it with" secret:"flag"`

	WebhookSecret string `key:"webhook-secret" group:"client" doc:"signing secret (whsec_…) or verification key (whpk_…) that pleat webhooks listen verifies with; during a rotation both, separated by a comma" secret:"yes"`
	WebhookToken  string `key:"webhook-token" group:"client" doc:"token that pleat webhooks listen expects in X-Webhook-Token; empty: any" secret:"yes"`

	// Where each key that is not at its default was set, for messages and doctor.
	origin map[string]string
}

// DefaultConfig is what holds where nothing is set.
func DefaultConfig() Config {
	return Config{
		Data: "pleat-data", Addr: "127.0.0.1:8080", Quota: 30, MaxBody: 10 << 20, Library: 1 << 30, Work: true,
		Deliver: true, WebhookPorts: []string{"443"}, WebhookTimeout: 15, WebhookKeep: 90,
		Engines: []string{"mini", "calvados", "analyst"}, Devices: []string{"auto"}, ChatTokens: 1024, ChatTimeout: 120, NIMModel: "boltz-2", NIMTimeout: 1800, Checkpoint: 20, Slots: 1, MSAHeader: msa.DefaultKeyHeader, MSAMode: "env", MSAPairing: "greedy", MSATimeout: 1800, MSAKeep: 90, LogLevel: "info", LogFormat: "text", URL: "http://127.0.0.1:8080",
	}
}

// Bytes is a size, written with or without a unit: 512MiB, 16GB, 1048576.
type Bytes int64

func (b Bytes) String() string {
	if b == 0 {
		return "0"
	}
	return strings.ReplaceAll(humanize.IBytes(uint64(b)), " ", "")
}

// option is one field of Config with its tags.
type option struct {
	key, group, doc, secret string
	value                   reflect.Value
}

// options lists the fields of c in their order.
func (c *Config) options() []option {
	v := reflect.ValueOf(c).Elem()
	var out []option
	for i := range v.NumField() {
		f := v.Type().Field(i)
		if key := f.Tag.Get("key"); key != "" {
			out = append(out, option{key, f.Tag.Get("group"), f.Tag.Get("doc"), f.Tag.Get("secret"), v.Field(i)})
		}
	}
	return out
}

// variable is the name of the environment variable of a key.
func variable(key string) string {
	return "PLEAT_" + strings.ToUpper(strings.ReplaceAll(key, "-", "_"))
}

// flagged reports whether the option has a flag: secrets have none, since other users of a machine can read its command lines.
func (o option) flagged() bool { return o.secret != "yes" }

// addFlags gives a command the flags of some groups, and --config.
func addFlags(flags *pflag.FlagSet, groups ...string) {
	c := DefaultConfig()
	flags.String("config", "", "YAML file of settings; PLEAT_CONFIG")
	for _, o := range c.options() {
		if o.flagged() && slices.Contains(groups, o.group) {
			flags.Var(&flagValue{text: show(o.value), kind: kindName(o.value)}, o.key, o.doc)
			if o.value.Kind() == reflect.Bool {
				flags.Lookup(o.key).NoOptDefVal = "true"
			}
		}
	}
}

// flagValue keeps a flag's text: the layers are parsed together in loadConfig.
type flagValue struct{ text, kind string }

func (f *flagValue) String() string     { return f.text }
func (f *flagValue) Set(s string) error { f.text = s; return nil }
func (f *flagValue) Type() string       { return f.kind }

func kindName(v reflect.Value) string {
	switch v.Interface().(type) {
	case Bytes:
		return "size"
	case []string:
		return "list"
	case int:
		return "int"
	case float64:
		return "number"
	case bool:
		return "bool"
	}
	return "string"
}

// show writes a value as a person would.
func show(v reflect.Value) string {
	switch x := v.Interface().(type) {
	case []string:
		return strings.Join(x, ",")
	default:
		return fmt.Sprint(x)
	}
}

// layer is one source of settings.
type layer struct {
	name   func(key string) string // how a message names the setting
	values map[string]any
}

// loadConfig reads the file named by --config or PLEAT_CONFIG, then the environment, then the flags that were given.
func loadConfig(flags *pflag.FlagSet, environ []string) (Config, error) {
	c := DefaultConfig()
	c.origin = map[string]string{}
	vars, path, err := environment(environ)
	if err != nil {
		return c, err
	}
	if f := flags.Lookup("config"); f != nil && f.Changed {
		path = f.Value.String()
	}
	var layers []layer
	if path != "" {
		l, err := configFile(path)
		if err != nil {
			return c, err
		}
		layers = append(layers, l)
	}
	given := map[string]any{}
	flags.Visit(func(f *pflag.Flag) {
		if v, ok := f.Value.(*flagValue); ok {
			given[f.Name] = v.text
		}
	})
	layers = append(layers, vars, layer{func(key string) string { return "--" + key }, given})
	known := map[string]option{}
	for _, o := range c.options() {
		known[o.key] = o
	}
	for _, l := range layers {
		for key, value := range l.values {
			if err := set(known[key].value, value); err != nil {
				return c, fmt.Errorf("%s %w", l.name(key), err)
			}
			c.origin[key] = l.name(key)
		}
	}
	return c, c.check()
}

// keys lists every key.
func (c *Config) keys() []string {
	var out []string
	for _, o := range c.options() {
		out = append(out, o.key)
	}
	return out
}

func configFile(path string) (layer, error) {
	k := koanf.New(".")
	if err := k.Load(file.Provider(path), yaml.Parser()); err != nil {
		if os.IsNotExist(err) {
			return layer{}, fmt.Errorf("the configuration file %s does not exist", path)
		}
		return layer{}, fmt.Errorf("the configuration file %s cannot be read: %w", path, err)
	}
	c := DefaultConfig()
	for _, key := range k.Keys() {
		if err := unknown("key", key, c.keys(), path); err != nil {
			return layer{}, err
		}
	}
	return layer{func(key string) string { return key + " in " + path }, k.All()}, nil
}

// environment reads the variables PLEAT_…, and the path of the configuration file among them. Kubernetes sets variables of
// its own for a service named pleat; those and the tests' are none of ours.
func environment(environ []string) (layer, string, error) {
	c := DefaultConfig()
	byVar, names := map[string]string{}, []string{"PLEAT_CONFIG"}
	for _, key := range c.keys() {
		byVar[variable(key)] = key
		names = append(names, variable(key))
	}
	var path string
	var wrong error
	k := koanf.New("\x00") // no key holds the delimiter, so nothing nests
	err := k.Load(env.Provider("\x00", env.Opt{
		Prefix:      "PLEAT_",
		EnvironFunc: func() []string { return environ },
		TransformFunc: func(name, value string) (string, any) {
			switch {
			case name == "PLEAT_CONFIG":
				path = value
				return "", nil
			case strings.HasPrefix(name, "PLEAT_TEST_"), strings.HasPrefix(name, "PLEAT_PG_"),
				strings.HasPrefix(name, "PLEAT_SERVICE_"), strings.HasPrefix(name, "PLEAT_PORT"):
				return "", nil
			case byVar[name] == "":
				wrong = unknown("variable", name, names, "the environment")
				return "", nil
			}
			return byVar[name], value
		},
	}), nil)
	if err == nil {
		err = wrong
	}
	return layer{variable, k.All()}, path, err
}

func unknown(what, got string, names []string, where string) error {
	if slices.Contains(names, got) {
		return nil
	}
	if n := pleat.Nearest(got, names); n != "" {
		return fmt.Errorf("unknown %s %q in %s; did you mean %q?", what, pleat.Clip(got), where, n)
	}
	return fmt.Errorf("unknown %s %q in %s; docs/configuration.md lists them", what, pleat.Clip(got), where)
}

// set puts a value from YAML, or text from elsewhere, into a field. The error continues the setting's name.
func set(field reflect.Value, value any) error {
	if list, ok := value.([]any); ok && field.Kind() == reflect.Slice {
		var out []string
		for _, e := range list {
			out = append(out, fmt.Sprint(e))
		}
		field.Set(reflect.ValueOf(out))
		return nil
	}
	if value == nil {
		return nil
	}
	text := strings.TrimSpace(fmt.Sprint(value))
	switch field.Interface().(type) {
	case string:
		field.SetString(text)
	case bool:
		b, err := strconv.ParseBool(text)
		if err != nil {
			return fmt.Errorf("is %q; it must be true or false", pleat.Clip(text))
		}
		field.SetBool(b)
	case int:
		n, err := strconv.Atoi(text)
		if err != nil {
			return fmt.Errorf("is %q; it must be a whole number", pleat.Clip(text))
		}
		field.SetInt(int64(n))
	case Bytes:
		n, err := humanize.ParseBytes(text)
		if err != nil || n > 1<<60 {
			return fmt.Errorf("is %q; it must be a size such as 16MiB", pleat.Clip(text))
		}
		field.SetInt(int64(n))
	case float64:
		f, err := strconv.ParseFloat(text, 64)
		if err != nil || !(f >= 0 && f <= 1e9) {
			return fmt.Errorf("is %q; it must be a number from 0", pleat.Clip(text))
		}
		field.SetFloat(f)
	case []string:
		var out []string
		for e := range strings.SplitSeq(text, ",") {
			if e = strings.TrimSpace(e); e != "" {
				out = append(out, e)
			}
		}
		field.Set(reflect.ValueOf(out))
	default:
		return fmt.Errorf("cannot be set: its type %s has no text form", field.Type())
	}
	return nil
}

// check refuses values that could not work, and completes those that depend on others.
func (c *Config) check() error {
	if c.Data == "" {
		return c.bad("data", "is empty; it must name a folder")
	}
	if _, _, err := net.SplitHostPort(c.Addr); err != nil {
		return c.bad("addr", "is %q; it must be HOST:PORT", pleat.Clip(c.Addr))
	}
	for _, u := range []struct{ key, value string }{{"public-url", c.PublicURL}, {"url", c.URL}} {
		p, err := url.Parse(u.value)
		if u.value != "" && (err != nil || p.Scheme != "http" && p.Scheme != "https" || p.Host == "" || p.RawQuery != "" || p.Fragment != "") {
			return c.bad(u.key, "is %q; it must be an address such as https://fold.example.org", pleat.Clip(u.value))
		}
	}
	c.PublicURL, c.URL = strings.TrimRight(c.PublicURL, "/"), strings.TrimRight(c.URL, "/")
	switch scheme, rest, _ := strings.Cut(c.Database, ":"); {
	case c.Database == "":
	case scheme == "sqlite" && rest != "":
	case (scheme == "postgres" || scheme == "postgresql") && strings.HasPrefix(rest, "//"):
	default:
		return c.bad("database", "must be sqlite:PATH or postgres://USER:PASSWORD@HOST/NAME") // the value may hold a password
	}
	if c.Quota < 1 {
		return c.bad("quota", "is %d; it must be 1 or more", c.Quota)
	}
	for _, e := range c.Engines {
		if !slices.Contains(engineNames, e) && !runnerName.MatchString(e) {
			return c.bad("engines", "names %q; there are %s, and the folders of runners", pleat.Clip(e), strings.Join(engineNames, ", "))
		}
	}
	if _, err := c.devices(nil); err != nil {
		return err
	}
	if err := c.checkSources(); err != nil {
		return err
	}
	if err := c.checkAlignments(); err != nil {
		return err
	}
	if c.Threads < 0 || c.Threads > 1024 {
		return c.bad("threads", "is %d; it must be 0 to 1024", c.Threads)
	}
	if c.Slots < 1 || c.Slots > 1024 {
		return c.bad("slots", "is %d; it must be 1 to 1024", c.Slots)
	}
	if c.MaxBody < 1<<10 || c.MaxBody > 1<<30 {
		return c.bad("max-body", "is %s; it must be 1KiB to 1GiB", c.MaxBody)
	}
	if err := c.checkWebhooks(); err != nil {
		return err
	}
	if c.Library < 1<<20 || c.Library > 1<<50 {
		return c.bad("library-quota", "is %s; it must be 1MiB to 1PiB", c.Library)
	}
	if c.SecretKey != "" {
		if _, err := seal.Parse(c.SecretKey); err != nil {
			return c.bad("secret-key", "cannot be used: %w; make one with: openssl rand -hex 32", err)
		}
	}
	var level slog.Level
	if err := level.UnmarshalText([]byte(c.LogLevel)); err != nil {
		return c.bad("log-level", "is %q; it must be debug, info, warn or error", pleat.Clip(c.LogLevel))
	}
	if c.LogFormat != "text" && c.LogFormat != "json" {
		return c.bad("log-format", "is %q; it must be text or json", pleat.Clip(c.LogFormat))
	}
	return nil
}

// modelName is what a model of an endpoint may be called.
var modelName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,59}$`)

// checkSources refuses addresses of endpoints and structures that could not be called.
func (c *Config) checkSources() error {
	address := func(text string) bool {
		u, err := url.Parse(text)
		return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" && u.User == nil
	}
	switch {
	case c.ChatURL != "" && !address(c.ChatURL):
		return c.bad("chat-url", "is %q; it must be an address such as http://127.0.0.1:11434/v1", redacted(c.ChatURL))
	case c.ChatURL != "" && c.ChatModel == "":
		return c.bad("chat-model", "is empty; chat-url needs the name of a model")
	case c.ChatURL == "" && c.ChatModel != "":
		return c.bad("chat-model", "is set without chat-url, and would have no effect")
	case c.ChatURL == "" && c.ChatKey != "":
		return c.bad("chat-key", "is set without chat-url, and would have no effect")
	case c.ChatTokens < 16 || c.ChatTokens > 32768:
		return c.bad("chat-tokens", "is %d; it must be 16 to 32768", c.ChatTokens)
	case c.Checkpoint < 1 || c.Checkpoint > 3600:
		return c.bad("checkpoint-every", "is %d; it must be 1 to 3600 seconds", c.Checkpoint)
	case c.ChatTimeout < 1 || c.ChatTimeout > 3600:
		return c.bad("chat-timeout", "is %d; it must be 1 to 3600 seconds", c.ChatTimeout)
	case c.NIMURL != "" && !address(c.NIMURL):
		return c.bad("nim-url", "is %q; it must be an address such as http://127.0.0.1:8000, without a user", redacted(c.NIMURL))
	case !modelName.MatchString(c.NIMModel):
		return c.bad("nim-model", "is %q; it must be a name of 1 to 60 letters, digits, dots, dashes and underscores", pleat.Clip(c.NIMModel))
	case c.NIMURL == "" && c.NIMKey != "":
		return c.bad("nim-key", "is set without nim-url, and would have no effect")
	case c.NIMURL == "" && c.NIMStatus != "":
		return c.bad("nim-status-url", "is set without nim-url, and would have no effect")
	case c.NIMTimeout < 1 || c.NIMTimeout > 86400:
		return c.bad("nim-timeout", "is %d; it must be 1 to 86400 seconds", c.NIMTimeout)
	}
	for _, u := range []struct{ key, value string }{{"pdb-url", c.PDBURL}, {"uniprot-url", c.UniProtURL}, {"nim-status-url", c.NIMStatus}} {
		if u.value != "" && (!strings.Contains(u.value, "{id}") || !address(strings.ReplaceAll(u.value, "{id}", "1ABC"))) {
			return c.bad(u.key, "is %q; it must be an address that holds {id}", redacted(u.value))
		}
	}
	return nil
}

// redacted is an address fit for a message: without what stands before an @, a password perhaps.
func redacted(text string) string {
	if at := strings.LastIndexByte(text, '@'); at >= 0 {
		text = "…" + text[at:]
	}
	return pleat.Clip(text)
}

// bad names the setting as the place that set it does.
func (c *Config) bad(key, format string, args ...any) error {
	name := c.origin[key]
	if name == "" {
		name = key
	}
	return fmt.Errorf(name+" "+format, args...)
}

// databaseURL is the database, the default made explicit.
func (c *Config) databaseURL() string {
	if c.Database == "" {
		return "sqlite:" + filepath.Join(c.Data, "pleat.db")
	}
	return c.Database
}

// blobAddress is where artifacts are kept, the default made explicit.
func (c *Config) blobAddress() string {
	switch {
	case c.Blobs == "":
		return "dir:" + filepath.Join(c.Data, "blobs")
	case strings.Contains(c.Blobs, "://"), strings.HasPrefix(c.Blobs, "dir:"):
		return c.Blobs
	}
	return "dir:" + c.Blobs
}

// memory is what jobs may use together, the default made explicit; 0 where the machine does not say.
func (c *Config) memory() int64 {
	if c.Memory > 0 || runtime.GOOS != "linux" {
		return int64(c.Memory)
	}
	return machineMemory() / 5 * 4
}

// safe is the value of an option fit to be shown: secrets are only said to be set.
func (o option) safe() string {
	text := show(o.value)
	switch {
	case text == "":
		return ""
	case o.secret == "url":
		if u, err := url.Parse(text); err == nil {
			return u.Redacted()
		}
		return "(set)"
	case o.secret != "":
		return "(set)"
	}
	return text
}
