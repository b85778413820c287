package app

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"pleat"
	"pleat/api"
	"pleat/internal/config"
	"pleat/internal/sandbox"
	"pleat/internal/store/storetest"
)

// A runner of a server that was taken over cannot reach the secrets and the memory of the service, its artifacts, other
// jobs, other files and the network, and its weights stay as they are. It reports as the failure of its job what it
// could do, which without the sandbox is most of it.
//
//nolint:paralleltest // Serve takes secrets out of the environment
func TestHostileRunnerOfAServer(t *testing.T) {
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip(err)
	}
	for _, c := range []struct {
		mode sandbox.Mode
		done []string
	}{
		{sandbox.Required, []string{"done: nothing"}},
		{sandbox.None, []string{"key, blobs, jobs, weights, rename", "temporary, udp, signal"}}, // more as root
	} {
		t.Run(string(c.mode), func(t *testing.T) {
			if err := sandbox.Detect().Check(); c.mode == sandbox.Required && err != nil {
				if os.Getenv("CI") == "true" {
					t.Fatal(err)
				}
				t.Skip(err)
			}
			dir := t.TempDir()
			cfg := config.Default()
			cfg.Data, cfg.Addr, cfg.Slots, cfg.Deliver = filepath.Join(dir, "data"), "127.0.0.1:0", 1, false
			cfg.Engines, cfg.Sandbox = []string{"hostile"}, string(c.mode)
			cfg.Runners, cfg.Weights = filepath.Join(dir, "runners"), filepath.Join(dir, "weights")
			foldrun, err := filepath.Abs("../../runners/foldrun")
			if err != nil {
				t.Fatal(err)
			}
			weights := filepath.Join(cfg.Weights, "hostile")
			for _, err := range []error{
				os.CopyFS(filepath.Join(cfg.Runners, "hostile"), os.DirFS("testdata/hostile")),
				os.Symlink(foldrun, filepath.Join(cfg.Runners, "foldrun")),
				os.MkdirAll(weights, 0o700),
				os.WriteFile(filepath.Join(weights, "w.ckpt"), []byte("weights"), 0o600),
			} {
				if err != nil {
					t.Fatal(err)
				}
			}
			s := startService(t, cfg)
			created, err := s.user("ann").CreateJob(t.Context(), api.CreateJob{
				Name:      string(c.mode),
				Sequences: []api.SequenceItem{{ProteinChain: &api.Polymer{Sequence: "GG"}}},
				Params:    &api.Params{ModelName: "hostile"},
			}, api.CreateOptions{})
			if err != nil {
				t.Fatal(err)
			}
			v := storetest.AwaitJob(t, s.Store, pleat.JobID(created.JobID), pleat.StateFailed)
			for _, part := range c.done {
				if v.Run.Failure == nil || !strings.Contains(v.Run.Failure.Message, part) {
					t.Errorf("%v; want %s", v.Run.Failure, part)
				}
			}
			if now, err := os.ReadFile(filepath.Join(weights, "w.ckpt")); c.mode == sandbox.Required &&
				(err != nil || string(now) != "weights") {
				t.Errorf("the weights are %q %v", now, err)
			}
		})
	}
}
