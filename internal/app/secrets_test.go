package app

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"pleat/internal/config"
)

// The secret key comes from the setting, from the file that is set, or from the data folder, and no other file is
// generated.
func TestLoadKeys(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "credential")
	if err := os.WriteFile(file, []byte(strings.Repeat("ab", 32)+"\n"), 0o400); err != nil {
		t.Fatal(err)
	}
	sealed := map[string]string{}
	for name, c := range map[string]config.Config{
		"setting": {Data: dir, SecretKey: strings.Repeat("ab", 32)},
		"file":    {Data: dir, SecretFile: file},
	} {
		ring, err := LoadKeys(c)
		if err != nil {
			t.Fatal(name, err)
		}
		sealed[name] = ring.Seal("user", "column", []byte("token"))
	}
	ring, err := LoadKeys(config.Config{Data: dir, SecretFile: file})
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range sealed {
		if plain, err := ring.Open("user", "column", text); err != nil || string(plain) != "token" {
			t.Errorf("the key of the file does not open what that of the %s sealed: %v", name, err)
		}
	}
	missing := filepath.Join(dir, "missing")
	if _, err := LoadKeys(config.Config{Data: dir, SecretFile: missing}); err == nil {
		t.Error("a file that does not exist is no error")
	}
	if left, _ := os.ReadDir(dir); len(left) != 1 {
		t.Errorf("files %v; want the credential alone", left)
	}
	if _, err := LoadKeys(config.Config{Data: dir}); err != nil {
		t.Error(err)
	}
}

// A node of PostgreSQL without a secret key is refused before it connects: it would generate one of its own.
func TestSharedKeyIsRequired(t *testing.T) {
	c := nodeConfig(t, "postgres://u@127.0.0.1:1/none", t.TempDir())
	c.SecretKey = ""
	wantUsage(t, startNode(c, slog.New(slog.DiscardHandler)), "PLEAT_SECRET_KEY is not set", "openssl rand -hex 32")
}

// Every secret that the process has read leaves its environment, and nothing else does.
func TestHideSecrets(t *testing.T) {
	gone := []string{"PLEAT_SECRET_KEY", "PLEAT_NIM_KEY", "PLEAT_DATABASE", "AWS_SECRET_ACCESS_KEY", "PGPASSWORD"}
	for _, name := range append(gone, "PLEAT_ADDR", "AWS_REGION") {
		t.Setenv(name, "hush")
	}
	if err := HideSecrets(config.Default()); err != nil {
		if runtime.GOOS == "linux" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	for _, name := range gone {
		if _, ok := os.LookupEnv(name); ok {
			t.Errorf("%s is still in the environment", name)
		}
	}
	for _, name := range []string{"PLEAT_ADDR", "AWS_REGION"} {
		if os.Getenv(name) != "hush" {
			t.Errorf("%s is gone", name)
		}
	}
}

// A node whose first key the nodes before it do not have starts, but warns: they cannot read what it signs.
func TestFirstKeyIsNew(t *testing.T) {
	database, blobs := "sqlite:"+filepath.Join(t.TempDir(), "pleat.db"), t.TempDir()
	old, changed := strings.Repeat("ab", 32), strings.Repeat("cd", 32)
	for _, step := range []struct {
		keys string
		warn bool
	}{
		{old, false}, {changed + "," + old, true}, {old, false}, {old + "," + changed, false},
		{changed + "," + old, false}, {changed, false},
	} {
		c := nodeConfig(t, database, blobs)
		c.SecretKey = step.keys
		var log bytes.Buffer
		if err := startNode(c, slog.New(slog.NewTextHandler(&log, nil))); err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(log.String(), "the first secret key is new"); got != step.warn {
			t.Errorf("%s: %s", step.keys[:8], log.String())
		}
	}
}
