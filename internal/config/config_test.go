package config

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/spf13/pflag"
)

//go:generate go test -run Documented . -update

var update = flag.Bool("update", false, "write the generated pages of docs/ instead of comparing them")

func allFlags(t *testing.T, args ...string) *pflag.FlagSet {
	t.Helper()
	f := pflag.NewFlagSet("test", pflag.ContinueOnError)
	AddFlags(f, Store, Files, Server, Node, Worker, Engine, Log, Fleet, Client)
	if err := f.Parse(args); err != nil {
		t.Fatal(err)
	}
	return f
}

// Flags win over the environment, the environment over the file, the file over the defaults.
func TestLayers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pleat.yaml")
	yaml := "quota: 5\nslots: 3\naddr: 127.0.0.1:1\nhosts: [a.example.org, b.example.org]\n" +
		"max-body: 2MiB\nwork: false\n"
	if err := os.WriteFile(path, []byte(yaml), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := Load(allFlags(t, "--config", path, "--addr", "127.0.0.1:3", "--rate", "2.5"),
		[]string{"PLEAT_QUOTA=6", "PLEAT_ADDR=127.0.0.1:2", "PLEAT_SECRET_KEY=" + strings.Repeat("ab", 32), "HOME=/x",
			"PLEAT_SERVICE_HOST=10.0.0.1", "PLEAT_PORT_8080_TCP=x", "PLEAT_DB_SERVICE_HOST=10.0.0.2",
			"PLEAT_NAME=/web/pleat", "PLEAT_ENV_PATH=/bin", "PLEAT_SLOTS=", "PLEAT_WORK= ", "PLEAT_MIN_FREE_DISK=",
			"PLEAT_DB_SERVICE_PORT_PG=5432", "PLEAT_DB_PORT=tcp://10.0.0.2:5432", "PLEAT_DB_PORT_5432_TCP_ADDR=10.0.0.2"})
	if err != nil {
		t.Fatal(err)
	}
	want := Default()
	want.Quota, want.Slots, want.Addr, want.Work = 6, 3, "127.0.0.1:3", false
	want.Hosts, want.MaxBody, want.Rate = []string{"a.example.org", "b.example.org"}, 2<<20, 2.5
	want.SecretKey = strings.Repeat("ab", 32)
	if d := cmp.Diff(want, got, cmpopts.IgnoreUnexported(Config{})); d != "" {
		t.Error(d)
	}
	if got.Origin("quota") != "PLEAT_QUOTA" || got.Origin("addr") != "--addr" ||
		got.Origin("slots") != "slots in "+path {
		t.Errorf("origins are %v", got.origin)
	}
}

func TestConfigFromVariable(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pleat.yaml")
	if err := os.WriteFile(path, []byte("quota: 5\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := Load(allFlags(t), []string{"PLEAT_CONFIG=" + path})
	if err != nil || got.Quota != 5 {
		t.Errorf("quota is %d, %v; want 5", got.Quota, err)
	}
}

// Each wrong setting is refused by a sentence that names it as it was set.
func TestBadSettings(t *testing.T) {
	dir := t.TempDir()
	for i, c := range []struct {
		yaml string
		env  []string
		args []string
		want string
	}{
		{yaml: "qouta: 5", want: `unknown key "qouta" in FILE; did you mean "quota"?`},
		{yaml: "worker:\n  slots: 5", want: `unknown key "worker.slots" in FILE`},
		{yaml: "quota: many", want: `quota in FILE is "many"; it must be a whole number`},
		{yaml: "quota: [", want: "the configuration file FILE cannot be read"},
		{yaml: "quota: -1", want: "quota in FILE is -1; it must be 1 or more"},
		{env: []string{"PLEAT_QOUTA=5"},
			want: `unknown variable "PLEAT_QOUTA" in the environment; did you mean "PLEAT_QUOTA"?`},
		{env: []string{"PLEAT_FOO=5"}, // the prefix makes it like no other
			want: `unknown variable "PLEAT_FOO" in the environment; docs/configuration.md lists them`},
		{env: []string{"PLEAT_PORT=9000"}, // Kubernetes sets it to the address of a service
			want: `unknown variable "PLEAT_PORT" in the environment`},
		{env: []string{"PLEAT_QUOTA=x"}, want: `PLEAT_QUOTA is "x"; it must be a whole number`},
		{env: []string{`PLEAT_QUOTA="5"`}, want: "PLEAT_QUOTA has quotation marks around its value"},
		{env: []string{"PLEAT_PUBLIC_URL='https://x.org'"}, want: "PLEAT_PUBLIC_URL has quotation marks around its value"},
		{env: []string{"PLEAT_PUBLIC_URL=https://u:p@x.org"}, want: "PLEAT_PUBLIC_URL is "},
		{env: []string{"PLEAT_NAME=ann"}, want: `unknown variable "PLEAT_NAME" in the environment`},
		{env: []string{"PLEAT_WORK=maybe"}, want: `PLEAT_WORK is "maybe"; it must be true or false`},
		{env: []string{"PLEAT_SECRET_KEY=short"}, want: "PLEAT_SECRET_KEY cannot be used: a secret key is 32 bytes"},
		{env: []string{"PLEAT_INGEST_SECRET=ä secret of 15"},
			want: "PLEAT_INGEST_SECRET has 14 characters; it must have at least 16"},
		{env: []string{"PLEAT_METRICS_TOKEN=a"}, want: "PLEAT_METRICS_TOKEN has 1 characters; it must have at least 16"},
		{args: []string{"--trusted-proxies", "0.0.0.0/0"}, want: "--trusted-proxies has 0.0.0.0/0, which is every address"},
		{args: []string{"--trusted-proxies", "::ffff:10.0.0.0/90"}, want: "holds every IPv4 address"},
		{args: []string{"--trusted-proxies", "10.0.0.1,proxy"},
			want: `--trusted-proxies has "proxy"; it must be an address or a network, such as 10.1.0.0/16`},
		{args: []string{"--addr", "8080"}, want: `--addr is "8080"; it must be HOST:PORT`},
		{args: []string{"--max-body", "huge"}, want: `--max-body is "huge"; it must be a size such as 16MiB`},
		{args: []string{"--max-body", "1"}, want: "--max-body is 1B; it must be 1KiB to 1GiB"},
		{args: []string{"--rate", "fast"}, want: `--rate is "fast"; it must be a number from 0`},
		{args: []string{"--engines", "mini,Boltz!"},
			want: `--engines names "Boltz!"; there are mini, calvados, analyst, compare, null, and the folders of runners`},
		{args: []string{"--devices", "0=plenty"},
			want: `--devices cannot be used: "plenty" is not a size such as 48GB`},
		{args: []string{"--devices", "$(rm)=1GB"}, want: `is no device; write its index or UUID and its memory`},
		{args: []string{"--threads", "-1"}, want: "--threads is -1; it must be 0 to 1024"},
		{args: []string{"--database", "mysql://u:hush@h/d"},
			want: "--database must be sqlite:PATH or postgres://USER:PASSWORD@HOST/NAME"},
		{args: []string{"--database", "postgres://u@h/d", "--database-direct", "u:hush@h/d"},
			want: "--database-direct must be postgres://USER:PASSWORD@HOST/NAME"},
		{args: []string{"--database-direct", "postgres://u:hush@h/d"},
			want: "--database-direct is for a pooler before PostgreSQL; set database to the pooler's address"},
		{args: []string{"--public-url", "fold.example.org"},
			want: `--public-url is "fold.example.org"; it must be an address such as https://fold.example.org`},
		{args: []string{"--mcp-origins", "https://a.example,https://b.example/"},
			want: `--mcp-origins has "https://b.example/"; it must be an origin as browsers send it`},
		{args: []string{"--mcp-origins", "null"}, want: `--mcp-origins has "null"; it must be an origin`},
		{args: []string{"--mcp-origins", "*"}, want: `--mcp-origins has "*"; it must be an origin`},
		{args: []string{"--mcp-origins", "https://*.example"}, want: `it must be an origin`},
		{args: []string{"--mcp-origins", "https://A.example"}, want: `it must be an origin`},
		{args: []string{"--mcp-origins", "https://a.example:443"}, want: `it must be an origin`},
		{args: []string{"--public-url", "https://lab.example.org/pleat/"},
			want: `--public-url is "https://lab.example.org/pleat"; it must have no path`},
		{args: []string{"--oidc-issuer", "http://hush:hush@id.example.org/?hush"},
			want: `--oidc-issuer is "http://id.example.org/?…"; it must be an https address`},
		{args: []string{"--oidc-issuer", "http://id.example.org"}, want: "it must be an https address such as"},
		{args: []string{"--oidc-issuer", "https://id.example.org"},
			want: "oidc-client-id is empty; oidc-issuer needs the identifier under which it knows this server"},
		{args: []string{"--oidc-client-id", "pleat"}, want: "--oidc-client-id is set without oidc-issuer"},
		{args: []string{"--oidc-issuer", "https://id.example.org", "--oidc-client-id", "p", "--public-url", "http://f.example"},
			want: `--public-url is "http://f.example"; with oidc-issuer it must be https`},
		{args: []string{"--oidc-issuer", "https://id.example.org", "--oidc-client-id", "p", "--addr", ":80"},
			want: "public-url is empty; with oidc-issuer it must be the address to which browsers come back"},
		{args: []string{"--oidc-issuer", "https://id.example.org", "--oidc-client-id", "my client"},
			want: `--oidc-client-id is "my client"; it must be 1 to 255 printable ASCII characters without spaces`},
		{args: []string{"--oidc-issuer", "https://id.example.org", "--oidc-client-id", "p", "--oidc-client-secret-file", "x"},
			env:  []string{"PLEAT_OIDC_CLIENT_SECRET=hush"},
			want: "--oidc-client-secret-file is set, and so is oidc-client-secret"},
		{args: []string{"--oidc-scopes", "openid profile"}, want: `--oidc-scopes has "openid profile"; a scope is a word`},
		{args: []string{"--oidc-groups-claim", ""}, want: `--oidc-groups-claim is ""; it must be the name of a claim`},
		{yaml: "oidc-allowed-groups: [a, ' ']\noidc-issuer: https://id.example.org\noidc-client-id: p\n" +
			"oidc-operator-group: " + strings.Repeat("x", 201), want: "the name of a group has 1 to 200 bytes"},
		{args: []string{"--log-level", "loud"}, want: `--log-level is "loud"; it must be debug, info, warn or error`},
		{args: []string{"--traces-endpoint", "127.0.0.1:4318"},
			want: `--traces-endpoint is "127.0.0.1:4318"; it must be an address such as http://127.0.0.1:4318`},
		{args: []string{"--traces-ratio", "50"}, want: "--traces-ratio is 50; it must be a number from 0 to 1"},
		{args: []string{"--log-format", "xml"}, want: `--log-format is "xml"; it must be text or json`},
		{args: []string{"--slots", "0"}, want: "--slots is 0; it must be 1 to 1024"},
		{args: []string{"--chat-url", "ftp://x", "--chat-model", "m"},
			want: `--chat-url is "ftp://x"; it must be an address`},
		{args: []string{"--chat-url", "http://127.0.0.1/v1"},
			want: "chat-model is empty; chat-url needs the name of a model"},
		{args: []string{"--chat-model", "m"}, want: "--chat-model is set without chat-url"},
		{env: []string{"PLEAT_CHAT_KEY=hush"}, want: "PLEAT_CHAT_KEY is set without chat-url"},
		{args: []string{"--chat-tokens", "0"}, want: "--chat-tokens is 0; it must be 16 to 32768"},
		{args: []string{"--checkpoint-every", "0"}, want: "--checkpoint-every is 0; it must be 1 to 3600 seconds"},
		{args: []string{"--chat-timeout", "0"}, want: "--chat-timeout is 0; it must be 1 to 3600 seconds"},
		{args: []string{"--nim-url", "127.0.0.1:8000"}, want: `--nim-url is "127.0.0.1:8000"; it must be an address`},
		{args: []string{"--nim-url", "http://u:hush@127.0.0.1"}, want: "--nim-url is"},
		{args: []string{"--nim-url", "http://127.0.0.1", "--nim-model", "a b"},
			want: `--nim-model is "a b"; it must be a name`},
		{args: []string{"--nim-url", "http://127.0.0.1", "--nim-status-url", "http://127.0.0.1/status"},
			want: "it must be an address that holds {id}"},
		{args: []string{"--nim-timeout", "0"}, want: "--nim-timeout is 0; it must be 1 to 86400 seconds"},
		{env: []string{"PLEAT_NIM_KEY=hush"}, want: "PLEAT_NIM_KEY is set without nim-url"},
		{args: []string{"--pdb-url", "https://files.example.org/1ABC.cif"},
			want: "it must be an address that holds {id}"},
		{args: []string{"--uniprot-url", "file:///etc/{id}"},
			want: "--uniprot-url is \"file:///etc/{id}\"; it must be an address that holds {id}"},
		{args: []string{"--server", "127.0.0.1:8090", "--token-file", "t"},
			want: "--server must begin with http:// or https://, such as https://fold.example.org"},
		{args: []string{"--server", "ada:hush@fold.example.org", "--token-file", "t"},
			want: "--server must begin with http:// or https://"},
		{args: []string{"--server", "ftp://fold.example.org", "--token-file", "t"},
			want: "--server must begin with http:// or https://"},
		{args: []string{"--server", "https://ada:hush@x", "--token-file", "t"},
			want: "--server must be the address of a server, such as https://fold.example.org"},
		{args: []string{"--msa-server", "ftp://ada:hush@x"},
			want: "--msa-server must be an address such as https://api.colabfold.com"},
		{args: []string{"--msa-server", "http://x", "--msa-command", "/usr/bin/mmseqs"},
			want: "--msa-command is set, and so is msa-server"},
		{args: []string{"--msa-command", "/usr/bin/mmseqs"},
			want: "msa-database is empty; msa-command needs something to search"},
		{args: []string{"--msa-database", "/db"}, want: "--msa-database is set without msa-command"},
		{args: []string{"--msa-command", "mmseqs", "--msa-database", "/db"},
			want: `--msa-command is "mmseqs"; it must be an absolute path`},
		{args: []string{"--msa-command", "/usr/bin/mmseqs", "--msa-database", "db"},
			want: `--msa-database is "db"; it must be an absolute path`},
		{args: []string{"--msa-command", "/bin/sh", "--msa-database", "/db"},
			want: `--msa-command is "/bin/sh"; it must name colabfold_search or mmseqs`},
		{args: []string{"--msa-mode", "deep"},
			want: `--msa-mode is "deep"; it must be one of env, all, env-nofilter, nofilter`},
		{args: []string{"--msa-pairing", "lazy"},
			want: `--msa-pairing is "lazy"; it must be one of greedy, complete, none`},
		{args: []string{"--msa-timeout", "0"}, want: "--msa-timeout is 0; it must be 1 to 86400 seconds"},
		{args: []string{"--msa-keep", "-1"}, want: "--msa-keep is -1; it must be 0 to 36500 days"},
		{args: []string{"--fleet-program", "bin/pleat"},
			want: `--fleet-program is "bin/pleat"; it must be an absolute path`},
		{args: []string{"--fleet-config", "pleat.yaml"}, want: `--fleet-config is "pleat.yaml"; it must be an absolute`},
		{args: []string{"--fleet-interval", "0"}, want: "--fleet-interval is 0; it must be 1 to 3600 seconds"},
		{args: []string{"--webhook-allow", "10.0.0.0/99"}, want: "--webhook-allow cannot be used: "},
		{args: []string{"--webhook-timeout", "0"}, want: "--webhook-timeout is 0; it must be 1 to 120"},
		{args: []string{"--webhook-ports", "https"}, want: `--webhook-ports has "https"; a port is 1 to 65535`},
		{args: []string{"--webhook-proxy", "ftp://u:hush@h"}, want: "--webhook-proxy must be an address such as"},
		{env: []string{"PLEAT_WEBHOOK_SECRET=whsec_hush"},
			want: "PLEAT_WEBHOOK_SECRET cannot be used: it must be whsec_… or whpk_…, as the service shows it"},
		{args: []string{"--data", ""}, want: "--data is empty; it must name a folder"},
		{args: []string{"--config", filepath.Join(dir, "none.yaml")}, want: "does not exist"},
	} {
		args := c.args
		if c.yaml != "" {
			path := filepath.Join(dir, fmt.Sprintf("%d.yaml", i))
			if err := os.WriteFile(path, []byte(c.yaml), 0o600); err != nil {
				t.Fatal(err)
			}
			c.want = strings.ReplaceAll(c.want, "FILE", path)
			args = []string{"--config", path}
		}
		_, err := Load(allFlags(t, args...), c.env)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v %v %v: error is %v; want %q", c.yaml, c.env, c.args, err, c.want)
		}
		if err != nil && strings.Contains(err.Error(), "hush") {
			t.Errorf("%v shows the password", err)
		}
	}
}

// The shown part of a configuration holds none of its secrets: no secret setting, and for a URL neither the user, nor
// the password, nor the value of a parameter.
func TestSecretsAreNotShown(t *testing.T) {
	c := Default()
	const secret = "https://hushuser:hushpass@h.example:8/p/{id}?key=hush1&hush2#hush3"
	holdsURL := regexp.MustCompile(`url|server$|proxy|database$|^blobs$`)
	urls, secrets := 0, 0
	for _, o := range c.Settings() {
		if holdsURL.MatchString(o.Key) && o.Key != "msa-database" && o.secrecy != secretInURL {
			t.Errorf("%s may hold a URL, but is shown whole", o.Key)
		}
		if o.secrecy == public {
			continue
		}
		if err := o.Set(secret); err != nil {
			t.Fatal(err)
		}
		want := "(set)"
		if o.secrecy == secretInURL {
			urls++
			want = "https://h.example:8/p/{id}?key=…&…"
		} else {
			secrets++
		}
		if got := o.Redacted(); got != want {
			t.Errorf("%s is shown as %s; want %s", o.Key, got, want)
		}
	}
	if urls < 11 || secrets < 8 {
		t.Errorf("%d settings with URLs, %d secrets", urls, secrets)
	}
}

// An error about a URL shows none of its secrets, however malformed it is.
func TestErrorsShowNoSecretOfAURL(t *testing.T) {
	refused := 0
	for _, o := range (&Config{}).Settings() {
		if o.secrecy != secretInURL {
			continue
		}
		for _, value := range []string{
			"ftp://hush:hush@h.example/p?key=hush&hush#hush",
			"https://hush:hu/sh@h.example/hush",
			"https://u:hush sh@h.example",
			"https://:hush@/x?key=hush",
			"u:hush@h.example/x",
			"?key=hush&hush",
			"https://h.example\x7f/?key=hush",
		} {
			_, err := Load(allFlags(t), []string{o.Variable() + "=" + value})
			if err == nil {
				continue
			}
			refused++
			if strings.Contains(err.Error(), "hush") {
				t.Errorf("%s: %v", o.Key, err)
			}
		}
	}
	if refused < 30 {
		t.Errorf("only %d of the values were refused", refused)
	}
}

func TestEveryFieldCanBeSet(t *testing.T) {
	c := Default()
	for _, o := range c.Settings() {
		if err := o.Set(o.String()); err != nil {
			t.Errorf("%s: its default does not read back: %v", o.Key, err)
		}
	}
	if d := cmp.Diff(Default(), c, cmpopts.IgnoreUnexported(Config{}), cmpopts.EquateEmpty()); d != "" {
		t.Errorf("defaults change when they are read back:\n%s", d)
	}
}

const page = "../../docs/configuration.md"

func TestConfigurationIsDocumented(t *testing.T) {
	var b strings.Builder
	b.WriteString(`# Configuration

<!-- Written from internal/config by make docs; a test compares the two. -->

Each setting has a key in a YAML file, an environment variable and a flag. A flag overrides the environment, and the
environment overrides the file. ` + "`--config` or `PLEAT_CONFIG`" + ` names the file. An unknown key is an error that
names the nearest known one, and so is an unknown variable that begins with ` + "`PLEAT_`" + `. Variables that Kubernetes
and Docker set for services whose names begin with pleat (` + "`PLEAT_DB_SERVICE_HOST`, `PLEAT_PORT=tcp://…`" + `) are
ignored, and so is an empty variable of a setting that cannot be empty. Secrets are never logged, and ` + "`pleat doctor`" + ` does not show them. The secrets of a server have no flag, because other
users of a machine can read its command lines.

`)
	c := Default()
	for _, g := range []struct {
		group       Group
		title, text string
	}{
		{Store, "Data", "Read by every command that opens the database: debug bundle, doctor, fleet, fsck, keys,\n" +
			"migrate, secrets, serve, users grant, worker. `pleat engines` reads `data`."},
		{Files, "Artifacts", "Read by `pleat serve`, `pleat worker`, `pleat doctor`, `pleat fsck` and " +
			"`pleat debug bundle`."},
		{Node, "Node", "Read by `pleat serve`, `pleat worker`, `pleat doctor` and `pleat debug bundle`."},
		{Engine, "Engines", "Read by `pleat serve`, `pleat worker`, `pleat engines`, `pleat doctor` and " +
			"`pleat debug bundle`."},
		{Server, "Server", "Read by `pleat serve`, `pleat doctor`, `pleat mail test` and `pleat debug bundle`."},
		{Worker, "Worker", "Read by `pleat worker`."},
		{Log, "Log and metrics", "Read by `pleat serve`, `pleat worker`, `pleat fleet`, `pleat doctor` and " +
			"`pleat debug bundle`."},
		{Fleet, "Fleet", "Read by `pleat fleet`."},
		{Client, "Client", "Read by the commands that call a server: align, ask, batch, compare, design, fold, jobs, " +
			"login, logout, mcp, md,\nmodels, notifications, projects (add, invite, join, members, remove, service-user), " +
			"share, usage, verify, webhooks,\nwhoami, workers, workflows."},
		{Project, "Project", "Read by those of them that create or list."},
	} {
		fmt.Fprintf(&b, "## %s\n\n%s\n\n| Key | Default | Variable | Flag | Meaning |\n|---|---|---|---|---|\n",
			g.title, g.text)
		for _, o := range c.Settings() {
			if o.Group != g.group {
				continue
			}
			def, flag := "", "none"
			if v := o.String(); v != "" {
				def = "`" + v + "`"
			}
			if o.hasFlag() {
				flag = "`--" + o.Key + "`"
			}
			fmt.Fprintf(&b, "| `%s` | %s | `%s` | %s | %s |\n", o.Key, def, o.Variable(), flag, o.Doc)
		}
		b.WriteString("\n")
	}
	b.WriteString("## Example\n\n```yaml\naddr: 0.0.0.0:8080\npublic-url: https://fold.example.org\n" +
		"data: /var/lib/pleat\ndatabase: postgres://pleat@db.example.org/pleat\nquota: 100\nslots: 2\n```\n")
	if *update {
		if err := os.WriteFile(page, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	got, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(b.String(), string(got)); d != "" {
		t.Errorf("docs/configuration.md differs from the code; write it with: make docs\n%s", d)
	}
}

// The example in the reference must be one that the program takes.
func TestConfigurationExample(t *testing.T) {
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "```yaml\n")
	yaml, _, ok := strings.Cut(rest, "```")
	path := filepath.Join(t.TempDir(), "pleat.yaml")
	if err := os.WriteFile(path, []byte(yaml), 0o600); err != nil || !ok {
		t.Fatal(err, ok)
	}
	if c, err := Load(allFlags(t, "--config", path), nil); err != nil || c.Quota != 100 {
		t.Errorf("quota %d, %v", c.Quota, err)
	}
}

// Every setting is documented, in one sentence that begins small, and belongs to a group.
func TestOptionsHaveDocs(t *testing.T) {
	c := Default()
	for _, o := range c.Settings() {
		if o.Doc == "" || strings.HasSuffix(o.Doc, ".") {
			t.Errorf("%s: its doc must be a sentence without its full stop, not %q", o.Key, o.Doc)
		}
		if o.Group == "" {
			t.Errorf("%s belongs to no group", o.Key)
		}
	}
}

// A size is shown in the units that state it exactly.
func TestBytesString(t *testing.T) {
	for n, want := range map[Bytes]string{0: "0", 16 << 20: "16MiB", 10_000_000: "10MB", 48e9: "48GB", 1: "1B",
		10_000_001: "9.5MiB"} {
		if got := n.String(); got != want {
			t.Errorf("%d bytes are %s, want %s", int64(n), got, want)
		}
	}
}

// Trusted proxies may be written as addresses, networks and IPv4-mapped networks, and are compared as IPv4 or IPv6.
func TestTrustedProxies(t *testing.T) {
	c := Config{Proxies: []string{"10.1.2.3", "10.2.3.4/16", "::ffff:10.3.0.0/112", "2001:db8::1"}}
	got, err := c.TrustedProxies()
	if want := "[10.1.2.3/32 10.2.0.0/16 10.3.0.0/16 2001:db8::1/128]"; fmt.Sprint(got) != want || err != nil {
		t.Errorf("%v, %v; want %s", got, err, want)
	}
}

// The setting that asks for a log in JSON is found also where the settings cannot be read.
func TestLogsJSON(t *testing.T) {
	file := filepath.Join(t.TempDir(), "pleat.yaml")
	if err := os.WriteFile(file, []byte("log-format: json\nunknown: 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args, env string
		want      bool
	}{
		{"serve", "", false},
		{"serve --log-format json", "", true},
		{"serve --unknown --log-format=json --slots x", "", true},
		{"serve", "PLEAT_LOG_FORMAT=json", true},
		{"serve --log-format text", "PLEAT_LOG_FORMAT=json", false},
		{"serve --config " + file, "", true},
		{"serve", "PLEAT_CONFIG=" + file, true},
		{"serve --log-format text", "PLEAT_CONFIG=" + file, false},
		{"serve --config missing", "", false},
	} {
		if got := LogsJSON(strings.Fields(c.args), []string{c.env}); got != c.want {
			t.Errorf("%s with %q: %v", c.args, c.env, got)
		}
	}
}
