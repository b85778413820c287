package app

import (
	"cmp"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"pleat/internal/config"
	"pleat/internal/fleet"
	"pleat/internal/sandbox"
)

// clusterJob is the job of a cluster that a worker is. The zero value is a process that is none.
type clusterJob struct {
	name    string // see pleat.Worker
	scratch string // folder that clean removes; empty: none
}

// enterClusterJob recognises a job of Slurm and a pod of Kubernetes by their environment. Such a worker gets a scratch
// folder of its own below TMPDIR, unless the configuration has one: its data folder may be shared by many nodes on a
// file system whose locks hold on one node alone, and two workers would then take one identity. A job that the cluster
// has restarted is another worker, since the process before may still run on a node that is cut off.
func enterClusterJob(c *config.Config) (clusterJob, error) {
	job := clusterJob{name: clusterJobName(os.Getenv)}
	// A worker of the driver local shares this machine's data folder with others, as any two processes here do.
	if job.name == "" || c.Scratch != "" || os.Getenv("SLURM_JOB_ID") == "" && os.Getenv(fleet.LocalJob) != "" {
		return job, nil
	}
	dir := filepath.Join(os.TempDir(), "pleat-"+strings.ReplaceAll(job.name, "/", "-"))
	if err := os.Mkdir(dir, 0o700); err != nil {
		info, statErr := os.Lstat(dir)
		if statErr != nil {
			return job, fmt.Errorf("create the scratch folder of the worker: %w; choose another with --scratch", err)
		}
		if !private(info) {
			return job, fmt.Errorf("the scratch folder %s belongs to another user; choose another with --scratch", dir)
		}
	}
	c.Scratch, job.scratch = dir, dir
	return job, nil
}

// clusterJobName returns the name of the job that an environment describes; empty: none.
func clusterJobName(env func(string) string) string {
	if id := env("SLURM_JOB_ID"); id != "" {
		return "slurm/" + pathSafe(id) + "/" + pathSafe(cmp.Or(env("SLURM_RESTART_COUNT"), "0"))
	}
	if ref := env(fleet.LocalJob); ref != "" {
		return fleet.DriverLocal + "/" + pathSafe(ref) + "/0"
	}
	if env("KUBERNETES_SERVICE_HOST") != "" {
		return "kubernetes/" + pathSafe(cmp.Or(env("POD_NAME"), env("HOSTNAME"), "unknown"))
	}
	return ""
}

// pathSafe replaces what does not belong into the name of a file.
func pathSafe(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' {
			return r
		}
		return '_'
	}, s)
}

// private reports whether a file is a folder of this process's user that no other user can enter.
func private(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && info.IsDir() && info.Mode().Perm()&0o077 == 0 && int(stat.Uid) == os.Geteuid()
}

// clean removes the scratch folder of a job that ends in order.
func (j clusterJob) clean(log *slog.Logger) {
	if j.scratch == "" {
		return
	}
	if err := sandbox.RemoveAll(j.scratch); err != nil {
		log.Warn("the scratch folder of the worker cannot be removed", "folder", j.scratch, "error", err)
	}
}
