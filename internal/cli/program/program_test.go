package program

import (
	"bytes"
	"context"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pleat/internal/cli"
	"pleat/internal/store/storetest"
)

// runProgram runs the program in this process, with the environment of the test and env.
func runProgram(t *testing.T, env map[string]string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	for k, v := range env {
		t.Setenv(k, v)
	}
	var out, errs bytes.Buffer
	root := New(cli.Hooks{})
	root.SetArgs(args)
	root.SetIn(strings.NewReader(""))
	root.SetOut(&out)
	root.SetErr(&errs)
	code = execute(context.Background(), root)
	return code, out.String(), errs.String()
}

// The doctor distinguishes a new folder from a broken one, changes nothing and redacts secrets.
func TestDoctor(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	code, out, _ := runProgram(t, map[string]string{
		"PLEAT_DATA": dir, "PLEAT_SECRET_KEY": strings.Repeat("ab", 32), "PLEAT_DATABASE": "",
	}, "doctor")
	if code != cli.ExitOK || !strings.Contains(out, "does not exist yet") || strings.Contains(out, "abab") ||
		!strings.Contains(out, "secret-key = (set) (PLEAT_SECRET_KEY)") {
		t.Errorf("code %d:\n%s", code, out)
	}
	if _, err := os.Stat(dir); err == nil {
		t.Error("the doctor created the data folder")
	}

	db := filepath.Join(t.TempDir(), "junk.db")
	if err := os.WriteFile(db, bytes.Repeat([]byte("junk"), 2000), 0o600); err != nil {
		t.Fatal(err)
	}
	code, out, errs := runProgram(t, map[string]string{"PLEAT_DATABASE": "sqlite:" + db}, "doctor")
	if code != cli.ExitFailed || !strings.Contains(out, "FAILED database") ||
		!strings.Contains(errs, "1 of the checks failed") {
		t.Errorf("code %d:\n%s%s", code, out, errs)
	}

	for name, fresh := range storetest.Databases() {
		t.Run(name, func(t *testing.T) {
			address := fresh(t)
			env := map[string]string{"PLEAT_DATABASE": address, "PLEAT_DATA": t.TempDir()}
			if code, out, errs := runProgram(t, env, "migrate"); code != cli.ExitOK {
				t.Fatalf("migrate: %d %s%s", code, out, errs)
			}
			code, out, errs := runProgram(t, env, "doctor")
			if code != cli.ExitFailed || !strings.Contains(out, name+" at schema ") ||
				!strings.Contains(out, "FAILED workers        none is live, so jobs wait; start pleat worker") {
				t.Errorf("code %d:\n%s%s", code, out, errs)
			}
			if name != "postgres" {
				return
			}
			u, err := url.Parse(address)
			if err != nil {
				t.Fatal(err)
			}
			q := u.Query()
			q.Set("default_transaction_read_only", "on")
			u.RawQuery = q.Encode()
			env["PLEAT_DATABASE"] = u.String()
			if _, out, _ := runProgram(t, env, "doctor"); !strings.Contains(out, "can be read and not changed: the "+
				"database takes no changes now") {
				t.Errorf("a database that takes no changes:\n%s", out)
			}
		})
	}
}

// The doctor says where /metrics is closed, and where the address of a proxy stands for all callers.
func TestDoctorReportsTheServer(t *testing.T) {
	const metrics, proxy = "/metrics refuses every request", "trusted-proxies names it"
	for _, c := range []struct {
		args           []string
		metrics, proxy bool
	}{
		{nil, false, false},
		{[]string{"--addr", "0.0.0.0:8080"}, true, false},
		{[]string{"--public-url", "https://fold.example.org"}, false, true},
		{[]string{"--public-url", "https://fold.example.org", "--trusted-proxies", "127.0.0.1"}, true, false},
	} {
		env := map[string]string{"PLEAT_DATA": filepath.Join(t.TempDir(), "data")}
		_, out, _ := runProgram(t, env, append([]string{"doctor"}, c.args...)...)
		if strings.Contains(out, metrics) != c.metrics || strings.Contains(out, proxy) != c.proxy {
			t.Errorf("%v:\n%s", c.args, out)
		}
	}
}

// The doctor shows of every URL where it leads, and no secret that it holds.
func TestDoctorShowsNoSecretOfAURL(t *testing.T) {
	const at = "http://hush:hush@127.0.0.1:1/"
	env := map[string]string{
		"PLEAT_DATA":           t.TempDir(),
		"PLEAT_DATABASE":       "postgres://u@127.0.0.1:1/none?password=hush&application_name=hush",
		"PLEAT_BLOBS":          "s3://bucket/results?endpoint=http%3A%2F%2F127.0.0.1%3A1%2Fhush",
		"PLEAT_PDB_URL":        "http://127.0.0.1:1/pdb/{id}?key=hush",
		"PLEAT_UNIPROT_URL":    "http://127.0.0.1:1/uniprot/{id}?hush",
		"PLEAT_NIM_URL":        "http://127.0.0.1:1/nim?key=hush",
		"PLEAT_NIM_STATUS_URL": "http://127.0.0.1:1/nim/{id}?key=hush",
		"PLEAT_CHAT_URL":       "http://127.0.0.1:1/chat?key=hush",
		"PLEAT_CHAT_MODEL":     "m",
		"PLEAT_WEBHOOK_PROXY":  at + "proxy?key=hush",
		"PLEAT_MSA_SERVER":     at + "msa",
		"PLEAT_PUBLIC_URL":     "https://fold.example",
		"PLEAT_URL":            at + "client",
		"PLEAT_SECRET_KEY":     strings.Repeat("ab", 32),
	}
	_, out, errs := runProgram(t, env, "doctor")
	if strings.Contains(out+errs, "hush") {
		t.Errorf("a secret is shown:\n%s%s", out, errs)
	}
	for name, value := range env {
		key := strings.ToLower(strings.ReplaceAll(strings.TrimPrefix(name, "PLEAT_"), "_", "-"))
		if strings.Contains(value, "hush") && !strings.Contains(out, key+" = ") {
			t.Errorf("%s is not shown:\n%s", key, out)
		}
	}
}

// A database that does not respond is reported in one sentence without its password.
func TestDatabaseGone(t *testing.T) {
	env := map[string]string{
		"PLEAT_DATABASE": "postgres://u:hushhush@127.0.0.1:1/none", "PLEAT_DATA": t.TempDir(),
		"PLEAT_SECRET_KEY": strings.Repeat("ab", 32),
	}
	for _, args := range [][]string{{"doctor"}, {"migrate"}, {"keys", "list"}, {"serve", "--addr", "127.0.0.1:0"},
		{"worker"}} {
		code, out, errs := runProgram(t, env, args...)
		if code != cli.ExitFailed || strings.Count(errs, "\n") != 1 || !strings.HasPrefix(errs, "pleat: ") {
			t.Errorf("%v: code %d: %q", args, code, errs)
		}
		if strings.Contains(out+errs, "hushhush") {
			t.Errorf("%v shows the password: %s%s", args, out, errs)
		}
	}
}

// A folder that cannot be written and an address that is in use are reported in one sentence.
func TestServeRefuses(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"serve", "--data", filepath.Join(file, "x"), "--addr", "127.0.0.1:0"}, "data folder"},
		{[]string{"serve", "--data", t.TempDir(), "--addr", "192.0.2.1:1"}, "cannot listen on 192.0.2.1:1"},
		{[]string{"worker", "--data", t.TempDir(), "--blobs", "ftp://x"}, "ftp"},
	} {
		code, _, errs := runProgram(t, map[string]string{"PLEAT_DATABASE": "", "PLEAT_LOG_LEVEL": "error"}, c.args...)
		if code != cli.ExitFailed || !strings.Contains(errs, c.want) || strings.Count(errs, "\n") != 1 {
			t.Errorf("%v: code %d: %q; want %q", c.args, code, errs, c.want)
		}
	}
}
