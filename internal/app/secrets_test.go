package app

import (
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
