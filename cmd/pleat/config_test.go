package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

//go:generate go test -run Documented . -update

var update = flag.Bool("update", false, "write the generated pages of docs/ instead of comparing them")

func allFlags(t *testing.T, args ...string) *pflag.FlagSet {
	t.Helper()
	f := pflag.NewFlagSet("test", pflag.ContinueOnError)
	addFlags(f, "store", "server", "node", "engine", "client")
	if err := f.Parse(args); err != nil {
		t.Fatal(err)
	}
	return f
}

// Flags win over the environment, the environment over the file, the file over the defaults.
func TestLayers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pleat.yaml")
	yaml := "quota: 5\nslots: 3\naddr: 127.0.0.1:1\nhosts: [a.example.org, b.example.org]\nmax-body: 2MiB\nwork: false\n"
	if err := os.WriteFile(path, []byte(yaml), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := loadConfig(allFlags(t, "--config", path, "--addr", "127.0.0.1:3", "--rate", "2.5"),
		[]string{"PLEAT_QUOTA=6", "PLEAT_ADDR=127.0.0.1:2", "PLEAT_SECRET_KEY=" + strings.Repeat("ab", 32), "HOME=/x", "PLEAT_SERVICE_HOST=10.0.0.1", "PLEAT_PORT_8080_TCP=x"})
	if err != nil {
		t.Fatal(err)
	}
	want := DefaultConfig()
	want.Quota, want.Slots, want.Addr, want.Work = 6, 3, "127.0.0.1:3", false
	want.Hosts, want.MaxBody, want.Rate = []string{"a.example.org", "b.example.org"}, 2<<20, 2.5
	want.SecretKey = strings.Repeat("ab", 32)
	if d := cmp.Diff(want, got, cmpopts.IgnoreUnexported(Config{})); d != "" {
		t.Error(d)
	}
	if got.origin["quota"] != "PLEAT_QUOTA" || got.origin["addr"] != "--addr" || got.origin["slots"] != "slots in "+path {
		t.Errorf("origins are %v", got.origin)
	}
}

func TestConfigFromVariable(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pleat.yaml")
	if err := os.WriteFile(path, []byte("quota: 5\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := loadConfig(allFlags(t), []string{"PLEAT_CONFIG=" + path})
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
		{env: []string{"PLEAT_QOUTA=5"}, want: `unknown variable "PLEAT_QOUTA" in the environment; did you mean "PLEAT_QUOTA"?`},
		{env: []string{"PLEAT_QUOTA=x"}, want: `PLEAT_QUOTA is "x"; it must be a whole number`},
		{env: []string{"PLEAT_WORK=maybe"}, want: `PLEAT_WORK is "maybe"; it must be true or false`},
		{env: []string{"PLEAT_SECRET_KEY=short"}, want: "PLEAT_SECRET_KEY cannot be used: a secret key is 32 bytes"},
		{args: []string{"--addr", "8080"}, want: `--addr is "8080"; it must be HOST:PORT`},
		{args: []string{"--max-body", "huge"}, want: `--max-body is "huge"; it must be a size such as 16MiB`},
		{args: []string{"--max-body", "1"}, want: "--max-body is 1B; it must be 1KiB to 1GiB"},
		{args: []string{"--rate", "fast"}, want: `--rate is "fast"; it must be a number from 0`},
		{args: []string{"--engines", "mini,Boltz!"}, want: `--engines names "Boltz!"; there are mini, calvados, analyst, null, and the folders of runners`},
		{args: []string{"--devices", "0=plenty"}, want: `--devices cannot be used: "plenty" is no size such as 48GB`},
		{args: []string{"--devices", "$(rm)=1GB"}, want: `is no device; write its index or UUID and its memory`},
		{args: []string{"--threads", "-1"}, want: "--threads is -1; it must be 0 to 1024"},
		{args: []string{"--database", "mysql://u:hush@h/d"}, want: "--database must be sqlite:PATH or postgres://USER:PASSWORD@HOST/NAME"},
		{args: []string{"--public-url", "fold.example.org"}, want: `--public-url is "fold.example.org"; it must be an address such as https://fold.example.org`},
		{args: []string{"--log-level", "loud"}, want: `--log-level is "loud"; it must be debug, info, warn or error`},
		{args: []string{"--log-format", "xml"}, want: `--log-format is "xml"; it must be text or json`},
		{args: []string{"--slots", "0"}, want: "--slots is 0; it must be 1 to 1024"},
		{args: []string{"--chat-url", "ftp://x", "--chat-model", "m"}, want: `--chat-url is "ftp://x"; it must be an address`},
		{args: []string{"--chat-url", "http://127.0.0.1/v1"}, want: "chat-model is empty; chat-url needs the name of a model"},
		{args: []string{"--chat-model", "m"}, want: "--chat-model is set without chat-url"},
		{env: []string{"PLEAT_CHAT_KEY=hush"}, want: "PLEAT_CHAT_KEY is set without chat-url"},
		{args: []string{"--chat-tokens", "0"}, want: "--chat-tokens is 0; it must be 16 to 32768"},
		{args: []string{"--checkpoint-every", "0"}, want: "--checkpoint-every is 0; it must be 1 to 3600 seconds"},
		{args: []string{"--chat-timeout", "0"}, want: "--chat-timeout is 0; it must be 1 to 3600 seconds"},
		{args: []string{"--nim-url", "127.0.0.1:8000"}, want: `--nim-url is "127.0.0.1:8000"; it must be an address`},
		{args: []string{"--nim-url", "http://u:hush@127.0.0.1"}, want: "--nim-url is"},
		{args: []string{"--nim-url", "http://127.0.0.1", "--nim-model", "a b"}, want: `--nim-model is "a b"; it must be a name`},
		{args: []string{"--nim-url", "http://127.0.0.1", "--nim-status-url", "http://127.0.0.1/status"}, want: "it must be an address that holds {id}"},
		{args: []string{"--nim-timeout", "0"}, want: "--nim-timeout is 0; it must be 1 to 86400 seconds"},
		{env: []string{"PLEAT_NIM_KEY=hush"}, want: "PLEAT_NIM_KEY is set without nim-url"},
		{args: []string{"--pdb-url", "https://files.example.org/1ABC.cif"}, want: "it must be an address that holds {id}"},
		{args: []string{"--uniprot-url", "file:///etc/{id}"}, want: "--uniprot-url is \"file:///etc/{id}\"; it must be an address that holds {id}"},
		{args: []string{"--msa-server", "ftp://ada:hush@x"}, want: "--msa-server must be an address such as https://api.colabfold.com"},
		{args: []string{"--msa-server", "http://x", "--msa-command", "/usr/bin/mmseqs"}, want: "--msa-command is set beside msa-server"},
		{args: []string{"--msa-command", "/usr/bin/mmseqs"}, want: "msa-database is empty; msa-command needs something to search"},
		{args: []string{"--msa-database", "/db"}, want: "--msa-database is set without msa-command"},
		{args: []string{"--msa-command", "mmseqs", "--msa-database", "/db"}, want: `--msa-command is "mmseqs"; it must be an absolute path`},
		{args: []string{"--msa-command", "/usr/bin/mmseqs", "--msa-database", "db"}, want: `--msa-database is "db"; it must be an absolute path`},
		{args: []string{"--msa-command", "/bin/sh", "--msa-database", "/db"}, want: `--msa-command is "/bin/sh"; it must name colabfold_search or mmseqs`},
		{args: []string{"--msa-mode", "deep"}, want: `--msa-mode is "deep"; it must be one of env, all, env-nofilter, nofilter`},
		{args: []string{"--msa-pairing", "lazy"}, want: `--msa-pairing is "lazy"; it must be one of greedy, complete, none`},
		{args: []string{"--msa-timeout", "0"}, want: "--msa-timeout is 0; it must be 1 to 86400 seconds"},
		{args: []string{"--msa-keep", "-1"}, want: "--msa-keep is -1; it must be 0 to 36500 days"},
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
		_, err := loadConfig(allFlags(t, args...), c.env)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v %v %v: error is %v; want %q", c.yaml, c.env, c.args, err, c.want)
		}
		if err != nil && strings.Contains(err.Error(), "hush") {
			t.Errorf("%v shows the password", err)
		}
	}
}

// What is shown of a configuration holds none of its secrets.
func TestSecretsAreNotShown(t *testing.T) {
	c := DefaultConfig()
	for _, o := range c.options() {
		if o.secret != "" {
			o.value.SetString("postgres://u:hushhush@h/d")
		}
	}
	secrets := 0
	for _, o := range c.options() {
		if strings.Contains(o.safe(), "hushhush") {
			t.Errorf("%s is shown as %s", o.key, o.safe())
		}
		if o.secret != "" {
			secrets++
		}
	}
	if secrets < 4 {
		t.Errorf("%d settings are secret; want the database, the secret, the token and the key", secrets)
	}
}

func TestEveryFieldCanBeSet(t *testing.T) {
	c := DefaultConfig()
	for _, o := range c.options() {
		if err := set(o.value, show(o.value)); err != nil {
			t.Errorf("%s: its default does not read back: %v", o.key, err)
		}
	}
	if d := cmp.Diff(DefaultConfig(), c, cmpopts.IgnoreUnexported(Config{}), cmpopts.EquateEmpty()); d != "" {
		t.Errorf("defaults change when they are read back:\n%s", d)
	}
}

// generated compares a page of docs/ with what the code says, or writes it.
func generated(t *testing.T, page, want string) {
	t.Helper()
	path := filepath.Join("..", "..", "docs", page)
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, string(got)); d != "" {
		t.Errorf("docs/%s is not what the code says; write it with: make docs\n%s", page, d)
	}
}

func TestConfigurationIsDocumented(t *testing.T) {
	var b strings.Builder
	b.WriteString(`# Configuration

<!-- Written from cmd/pleat/config.go by make docs; a test compares the two. -->

Each setting has a key in a YAML file, a variable and a flag; a flag wins over the environment, the environment over the file. The
file is named by ` + "`--config`" + ` or ` + "`PLEAT_CONFIG`" + `. Unknown keys and unknown variables that begin with ` + "`PLEAT_`" + ` are refused, with the
nearest known name; variables that Kubernetes sets for a service named pleat (` + "`PLEAT_SERVICE_…`, `PLEAT_PORT…`" + `) are ignored.
Secrets are never logged nor shown by ` + "`pleat doctor`" + `; those without a flag are set in the environment or the file, since other
users of a machine can read its command lines.

`)
	c := DefaultConfig()
	for _, g := range []struct{ group, title, text string }{
		{"store", "Data", "Read by every command that opens the database: serve, worker, keys, doctor, migrate."},
		{"node", "Node", "Read by `pleat serve` and `pleat worker`."},
		{"engine", "Engines", "Read by `pleat serve`, `pleat worker` and `pleat engines`."},
		{"server", "Server", "Read by `pleat serve`."},
		{"client", "Client", "Read by the commands that call a server: fold, jobs, models."},
	} {
		fmt.Fprintf(&b, "## %s\n\n%s\n\n| Key | Default | Variable | Flag | Meaning |\n|---|---|---|---|---|\n", g.title, g.text)
		for _, o := range c.options() {
			if o.group != g.group {
				continue
			}
			def, flag := "", "none"
			if v := show(o.value); v != "" {
				def = "`" + v + "`"
			}
			if o.flagged() {
				flag = "`--" + o.key + "`"
			}
			fmt.Fprintf(&b, "| `%s` | %s | `%s` | %s | %s |\n", o.key, def, variable(o.key), flag, o.doc)
		}
		b.WriteString("\n")
	}
	b.WriteString("## Example\n\n```yaml\naddr: 0.0.0.0:8080\npublic-url: https://fold.example.org\ndata: /var/lib/pleat\ndatabase: postgres://pleat@db.example.org/pleat\nquota: 100\nslots: 2\n```\n")
	generated(t, "configuration.md", b.String())
}

// The example in the reference must be one that the program takes.
func TestConfigurationExample(t *testing.T) {
	page, err := os.ReadFile("../../docs/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(page), "```yaml\n")
	yaml, _, ok := strings.Cut(rest, "```")
	path := filepath.Join(t.TempDir(), "pleat.yaml")
	if err := os.WriteFile(path, []byte(yaml), 0o600); err != nil || !ok {
		t.Fatal(err, ok)
	}
	if c, err := loadConfig(allFlags(t, "--config", path), nil); err != nil || c.Quota != 100 {
		t.Errorf("quota %d, %v", c.Quota, err)
	}
}

func TestCommandsAreDocumented(t *testing.T) {
	var b strings.Builder
	b.WriteString("# Commands\n\n<!-- Written from the commands by make docs; a test compares the two. -->\n\n" +
		"What a command reads besides its flags stands in [configuration.md](configuration.md).\n\n" +
		"Exit codes: 0 done, 1 failed (one sentence on standard error says why), 2 wrong usage or configuration, 3 the job ended without\n" +
		"a result, 4 a run that pleat verify repeated differs, 130 interrupted.\n\n")
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		if c.Runnable() && !c.HasSubCommands() {
			text := c.Long
			if text == "" {
				text = c.Short + "."
			}
			fmt.Fprintf(&b, "## %s\n\n%s\n\n```\n%s\n```\n\n", c.CommandPath(), text, strings.TrimSpace(c.UsageString()))
		}
		for _, sub := range c.Commands() {
			if !sub.Hidden && sub.Name() != "help" {
				walk(sub)
			}
		}
	}
	walk(newRoot())
	generated(t, "commands.md", strings.TrimRight(b.String(), "\n")+"\n")
}

// Every setting is documented, in one sentence that begins small, and belongs to a group.
func TestOptionsHaveDocs(t *testing.T) {
	c := DefaultConfig()
	for _, o := range c.options() {
		if o.doc == "" || strings.HasSuffix(o.doc, ".") {
			t.Errorf("%s: its doc must be a sentence without its full stop, not %q", o.key, o.doc)
		}
		if reflect.ValueOf(o.group).IsZero() {
			t.Errorf("%s belongs to no group", o.key)
		}
	}
}
