package runner

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"pleat/internal/sandbox"
)

// probeTime is how long a Python interpreter may take to say where it is installed.
const probeTime = 30 * time.Second

// inherited are the variables of the service's own environment that a process gets. None of them is a secret.
var inherited = []string{
	"PATH", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "LD_LIBRARY_PATH", "CUDA_HOME", "CUDA_PATH", "SSL_CERT_FILE",
	"SSL_CERT_DIR",
}

// accelerators are the devices of graphics processors, of all of which CUDA_VISIBLE_DEVICES selects one.
var accelerators = []string{"/dev/nvidia*", "/dev/nvidia-caps", "/dev/dri", "/dev/kfd"}

// interpreter is the Python of an engine, found when it is first needed.
type interpreter struct {
	once    sync.Once
	program string // its path
	folder  string // of the installation that it belongs to; empty: not known
}

// find asks a Python where it is: python3 of the PATH may be a script of a version manager, which does not run in the
// sandbox, and a virtual environment uses the library of another installation. A Python that does not answer is left
// as it is; the start of the process then fails.
func (i *interpreter) find(python string) {
	i.once.Do(func() {
		i.program = python
		ctx, done := context.WithTimeout(context.Background(), probeTime)
		defer done()
		const ask = "import sys; print(sys.executable); print(sys.base_prefix)"
		cmd := exec.CommandContext(ctx, python, "-I", "-S", "-c", ask)
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME")}
		out, err := cmd.Output()
		program, folder, ok := strings.Cut(strings.TrimSpace(string(out)), "\n")
		if err == nil && ok && filepath.IsAbs(program) {
			i.program, i.folder = program, folder
		}
	})
}

// launchSpec returns how the engine's process is started, except for the device. Its scratch folder becomes a folder of
// the given one.
func (r *Runner) launchSpec(scratch string) launchSpec {
	if slices.ContainsFunc(r.Manifest.Argv, func(a string) bool { return strings.Contains(a, "{python}") }) {
		r.interpreter.find(cmp.Or(r.Python, "python3"))
	}
	placeholders := strings.NewReplacer(
		"{python}", r.interpreter.program,
		"{weights}", r.Weights,
		"{cache}", r.Cache,
		"{threads}", strconv.Itoa(max(r.Threads, 1)),
	)
	l := launchSpec{
		manifest: r.Manifest,
		weights:  r.Weights,
		threads:  r.Threads,
		scratch:  scratch,
		policy:   r.policy(),
		links:    []string{r.library(), r.Weights},
		private:  r.Private,
		hidden:   append([]string{r.Manifest.Dir, r.Weights, r.Cache}, r.Hidden...),
		grease:   r.grease,
		log:      r.Log,
		stderr:   r.Stderr,
	}
	for _, a := range r.Manifest.Argv {
		l.argv = append(l.argv, placeholders.Replace(a))
	}
	env := r.environment()
	for name, v := range r.Manifest.Env {
		env[name] = placeholders.Replace(v)
	}
	for _, name := range slices.Sorted(maps.Keys(env)) {
		l.env = append(l.env, name+"="+env[name])
	}
	_ = os.MkdirAll(env["HOME"], 0o700) // the process reports that it cannot write
	return l
}

// library returns the folder that contains foldrun.
func (r *Runner) library() string { return cmp.Or(r.Library, filepath.Dir(r.Manifest.Dir)) }

// policy returns what every process of the engine may reach: its program, packages and weights to read, its cache to
// write. Its scratch folder and its device are added for each process.
func (r *Runner) policy() sandbox.Policy {
	p := sandbox.Policy{
		Mode:  cmp.Or(r.Sandbox, sandbox.None),
		Read:  []string{r.Manifest.Dir, r.library(), r.Weights, r.interpreter.folder},
		Write: []string{r.Cache},
	}
	if r.Manifest.Venv != "" {
		p.Read = append(p.Read, filepath.Dir(filepath.Dir(r.Python)))
	}
	for _, name := range []string{"CUDA_HOME", "CUDA_PATH", "SSL_CERT_FILE", "SSL_CERT_DIR"} {
		p.Read = append(p.Read, os.Getenv(name))
	}
	p.Read = append(p.Read, filepath.SplitList(os.Getenv("LD_LIBRARY_PATH"))...)
	p.Read = slices.DeleteFunc(p.Read, func(path string) bool { return !filepath.IsAbs(path) })
	return p
}

// linked returns what the links directly inside a folder of weights or runners point to.
func linked(dir string) []string {
	var out []string
	entries, _ := os.ReadDir(dir) // without the folder there is nothing to link
	for _, e := range entries {
		if e.Type()&os.ModeSymlink == 0 {
			continue
		}
		if to, err := filepath.EvalSymlinks(filepath.Join(dir, e.Name())); err == nil {
			out = append(out, to)
		}
	}
	return out
}

// confine completes the policy of a process with its scratch folder and the devices of an accelerator, if it has one.
// An error: a sandbox is required, and a private path is inside a folder that the process may read.
func (l *launchSpec) confine(scratch string) error {
	l.policy.Write = append(slices.Clone(l.policy.Write), scratch)
	for _, dir := range l.links {
		l.policy.Read = append(l.policy.Read, linked(dir)...)
	}
	if l.device != "cpu" {
		l.policy.Write = append(l.policy.Write, "/dev/shm")
		for _, pattern := range accelerators {
			found, _ := filepath.Glob(pattern) // the patterns are well formed
			l.policy.Devices = append(l.policy.Devices, found...)
		}
	}
	if l.policy.Mode == sandbox.None {
		return nil
	}
	for _, path := range l.private {
		through, ok := l.policy.Reaches(path)
		if !ok {
			continue
		}
		if l.policy.Mode == sandbox.Required {
			const text = "the sandbox cannot hide %s, because it is inside %s, which engines may read"
			return fmt.Errorf(text, path, through)
		}
		l.log.Warn("the sandbox does not hide a folder that engines must not read", "path", path, "inside", through)
	}
	return nil
}

// environment returns the variables of every process: its folders, Python's settings, and those of the service that are
// in inherited. The service's secrets are never among them. The scratch folder's are added for each process.
func (r *Runner) environment() map[string]string {
	home := filepath.Join(r.Cache, "home")
	env := map[string]string{
		"HOME":             home,
		"XDG_CACHE_HOME":   filepath.Join(home, ".cache"),
		"PYTHONPATH":       r.library(),
		"PYTHONNOUSERSITE": "1",
		"PYTHONUNBUFFERED": "1",
		// In the sandbox it could not write next to the modules; without one, it must not change the embedded runners.
		"PYTHONDONTWRITEBYTECODE": "1",
	}
	for _, name := range inherited {
		if v, ok := os.LookupEnv(name); ok {
			env[name] = v
		}
	}
	if r.Threads > 0 {
		env["OMP_NUM_THREADS"] = strconv.Itoa(r.Threads)
	}
	return env
}
