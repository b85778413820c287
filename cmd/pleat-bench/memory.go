package main

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"time"

	"pleat"
	"pleat/api"
)

// restFor is how long a server rests before its memory is read, times --seconds up to 1. By then it has returned the
// memory of its last requests to the system.
const restFor = 8 * time.Second

// memory measures the resident memory of pleat serve at rest: a real process with the engine mini, after requests of 64
// clients, and again after a fold. The target is a size, 55 MB: the service must fit on the smallest machines. Systems
// without /proc are not measured.
func (b *bench) memory(ctx context.Context, d database) (err error) {
	if !reportsProcesses() {
		l := line{what: "server memory at rest", database: d.name, unmeasured: "this system does not report it"}
		b.lines = append(b.lines, l)
		return nil
	}
	return b.withServer(ctx, d, "mini", func(s *serverProcess) error { return s.measure(ctx, b, d) })
}

// reportsProcesses reports whether the system shows the memory and the time of a process.
func reportsProcesses() bool {
	_, err := os.Stat("/proc/self/status")
	return err == nil
}

// withServer calls fn with a server process over a fresh database, with one engine, and ends it.
func (b *bench) withServer(ctx context.Context, d database, engine string, fn func(*serverProcess) error) (err error) {
	program, err := b.program(ctx)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp(b.dir, "server-")
	if err != nil {
		return err
	}
	address, drop, err := d.create(ctx, dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, drop()) }()
	env := []string{
		"PATH=" + os.Getenv("PATH"),
		"PLEAT_DATA=" + dir,
		"PLEAT_DATABASE=" + address,
		"PLEAT_ENGINES=" + engine,
		"PLEAT_LOG_LEVEL=warn",
		"PLEAT_SECRET_KEY=" + newSecretKey(),
	}
	s, err := startServer(ctx, program, env)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.stop()) }()
	return fn(s)
}

// program returns the path of pleat, which it builds if no flag named it.
func (b *bench) program(ctx context.Context) (string, error) {
	if b.pleat != "" {
		return b.pleat, nil
	}
	path := filepath.Join(b.dir, "pleat")
	build := exec.CommandContext(ctx, "go", "build", "-o", path, reflect.TypeFor[pleat.Job]().PkgPath()+"/cmd/pleat")
	build.Stderr = b.progress
	if err := build.Run(); err != nil {
		return "", fmt.Errorf("build pleat: %w; or give the program with --pleat", err)
	}
	b.pleat = path
	return path, nil
}

// measure adds a line for the memory after the requests and one for that after a fold.
func (s *serverProcess) measure(ctx context.Context, b *bench, d database) error {
	conns, closeAll, err := dialAll(ctx, strings.TrimPrefix(s.url, "http://"))
	if err != nil {
		return err
	}
	defer closeAll()
	check := rawRequest("POST", "/v1/jobs/validate", s.key, strings.Replace(jobBody, `"null"`, `"mini"`, 1))
	list := rawRequest("GET", "/v1/jobs", s.key, "")
	n, err := run(ctx, 2*b.seconds, func(i int) error {
		if err := conns[i].do(check, nil); err != nil {
			return err
		}
		return conns[i].do(list, nil)
	})
	if err != nil {
		return err
	}
	closeAll()
	const maxBytes = 55_000_000
	requests := fmt.Sprintf("%.0f requests of 64 clients", 4*b.seconds*n.rate)
	for _, after := range []string{requests, "a fold of Trp-cage too"} {
		if strings.HasPrefix(after, "a fold") {
			if err := s.fold(ctx); err != nil {
				return err
			}
		}
		time.Sleep(time.Duration(min(1, b.seconds) * float64(restFor)))
		rss, err := residentBytes(s.cmd.Process.Pid)
		if err != nil {
			return err
		}
		b.lines = append(b.lines, line{
			what:     "memory of pleat serve at rest",
			database: d.name,
			figure:   fmt.Sprintf("%.1f MB", float64(rss)/1e6),
			ceiling:  "after " + after,
			target:   "≤ 55 MB",
			met:      rss <= maxBytes,
		})
	}
	return nil
}

// serverProcess is pleat serve in a process of its own.
type serverProcess struct {
	cmd *exec.Cmd
	// url is the address of the server, and key an API key of its only user.
	url, key string
}

// startServer creates an API key and starts pleat serve on a free port. It returns when the server listens.
func startServer(ctx context.Context, program string, env []string) (*serverProcess, error) {
	keys := exec.CommandContext(ctx, program, "keys", "create", "--init", "--user", "bench")
	keys.Env, keys.Stderr = env, os.Stderr
	key, err := keys.Output()
	if err != nil {
		return nil, err
	}
	s := &serverProcess{key: strings.TrimSpace(string(key))}
	s.cmd = exec.CommandContext(ctx, program, "serve", "--addr", "127.0.0.1:0")
	s.cmd.Env, s.cmd.Stderr = env, os.Stderr
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	addr, ok := strings.CutPrefix(strings.TrimSpace(line), "listening on ")
	if err != nil || !ok {
		return nil, errors.Join(fmt.Errorf("the server's first line is %q", line), s.stop())
	}
	s.url = addr
	return s, nil
}

// newSecretKey returns a random secret key, which a server on PostgreSQL requires.
func newSecretKey() string {
	var b [32]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// stop asks the server to end and waits until it has.
func (s *serverProcess) stop() error {
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	return s.cmd.Wait()
}

// trpCage is the miniprotein TC10b, Protein Data Bank entry 2JOF (Barua et al., Protein Eng. Des. Sel. 21, 171, 2008).
const trpCage = "DAYAQWLKDGGPSSGRPPPS"

// fold folds a small protein and waits until the job has completed.
func (s *serverProcess) fold(ctx context.Context) error {
	c := &api.Client{Base: s.url, Key: s.key}
	seed := "1"
	made, err := c.CreateJob(ctx, api.CreateJob{
		Name:      "Trp-cage",
		Sequences: []api.SequenceItem{{ProteinChain: &api.Polymer{Sequence: trpCage}}},
		Params:    &api.Params{ModelName: "mini", Seed: &seed},
	}, api.CreateOptions{NoCache: true})
	if err != nil {
		return err
	}
	for range 600 {
		r, err := c.Results(ctx, made.JobID)
		switch {
		case err != nil:
			return err
		case r.Job.Status == "COMPLETED":
			return nil
		case r.Job.Status == "FAILED" || r.Job.Status == "STOPPED":
			return fmt.Errorf("the fold ended %s", r.Job.Status)
		}
		time.Sleep(200 * time.Millisecond)
	}
	return errors.New("the fold did not end within two minutes")
}

// residentBytes returns the resident memory of a process.
func residentBytes(pid int) (int64, error) { return processBytes(pid, "VmRSS") }

// processBytes returns a size that the system reports of a process: VmRSS, its memory now, or VmHWM, its largest so
// far.
func processBytes(pid int, field string) (int64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		var kib int64
		if n, _ := fmt.Sscanf(line, field+": %d kB", &kib); n == 1 {
			return kib << 10, nil
		}
	}
	return 0, errors.New("the system does not report the memory of the process")
}
