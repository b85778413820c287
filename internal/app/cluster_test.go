package app

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"pleat/internal/config"
)

func TestClusterJobName(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		env  map[string]string
		want string
	}{
		{nil, ""},
		{map[string]string{"HOSTNAME": "n1"}, ""},
		{map[string]string{"SLURM_JOB_ID": "42"}, "slurm/42/0"},
		{map[string]string{"SLURM_JOB_ID": "42", "SLURM_RESTART_COUNT": "3"}, "slurm/42/3"},
		{map[string]string{"SLURM_JOB_ID": "../42"}, "slurm/___42/0"},
		{map[string]string{"PLEAT_LOCAL_JOB": "0197-a"}, "local/0197-a/0"},
		{map[string]string{"PLEAT_LOCAL_JOB": "0197-a", "SLURM_JOB_ID": "42"}, "slurm/42/0"},
		{map[string]string{"KUBERNETES_SERVICE_HOST": "10.0.0.1", "POD_NAME": "gpu-x", "HOSTNAME": "n1"}, "kubernetes/gpu-x"},
		{map[string]string{"KUBERNETES_SERVICE_HOST": "10.0.0.1", "HOSTNAME": "gpu-y"}, "kubernetes/gpu-y"},
	} {
		if got := clusterJobName(func(name string) string { return c.env[name] }); got != c.want {
			t.Errorf("%v: %q, want %q", c.env, got, c.want)
		}
	}
}

// A job of a cluster has a scratch folder of its own, that no other user can enter and that its end removes.
func TestClusterJobScratch(t *testing.T) {
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	t.Setenv("SLURM_JOB_ID", "42")
	t.Setenv("SLURM_RESTART_COUNT", "1")
	want := filepath.Join(tmp, "pleat-slurm-42-1")
	for range 2 { // the second time it is there, as after a kill
		c := config.Config{}
		if _, err := enterClusterJob(&c); err != nil || c.Scratch != want {
			t.Fatalf("the folder is %q, %v; want %q", c.Scratch, err, want)
		}
	}
	info, err := os.Stat(want)
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Fatalf("%v, %v", info.Mode(), err)
	}

	c := config.Config{Scratch: "elsewhere"}
	if job, err := enterClusterJob(&c); err != nil || c.Scratch != "elsewhere" || job.name != "slurm/42/1" {
		t.Errorf("%+v, %q, %v", job, c.Scratch, err)
	}
	c = config.Config{}
	job, err := enterClusterJob(&c)
	if err != nil {
		t.Fatal(err)
	}
	job.clean(slog.New(slog.DiscardHandler))
	if _, err := os.Stat(want); !os.IsNotExist(err) {
		t.Errorf("the folder is left: %v", err)
	}
}

// A folder of that name that others can enter, or that is a link, is not used.
func TestClusterJobForeignScratch(t *testing.T) {
	t.Setenv("SLURM_JOB_ID", "42")
	for name, make := range map[string]func(path string) error{
		"open": func(path string) error { return os.Mkdir(path, 0o755) },
		"link": func(path string) error { return os.Symlink(t.TempDir(), path) },
		"file": func(path string) error { return os.WriteFile(path, nil, 0o600) },
	} {
		tmp := t.TempDir()
		t.Setenv("TMPDIR", tmp)
		if err := make(filepath.Join(tmp, "pleat-slurm-42-0")); err != nil {
			t.Fatal(err)
		}
		var c config.Config
		if _, err := enterClusterJob(&c); err == nil || c.Scratch != "" {
			t.Errorf("%s: %q, %v", name, c.Scratch, err)
		}
	}
}
