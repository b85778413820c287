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
	"strings"
	"syscall"
	"time"

	"pleat/api"
)

// restFor is how long a server is left alone before its memory counts, where a slice is a second.
const restFor = 8 * time.Second

// memory reads how much a server holds at rest: a real process with the engine mini, after requests of many clients,
// and again after a fold.
func (b *bench) memory(ctx context.Context, d database) (err error) {
	if _, err := os.Stat("/proc/self/status"); err != nil {
		l := line{what: "server memory at rest", database: d.name, unmeasured: "this system does not report it"}
		b.lines = append(b.lines, l)
		return nil
	}
	dir, err := os.MkdirTemp(b.dir, "memory-")
	if err != nil {
		return err
	}
	address, drop, err := d.create(ctx, dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, drop()) }()
	program := b.pleat
	if program == "" {
		program = filepath.Join(dir, "pleat")
		build := exec.CommandContext(ctx, "go", "build", "-o", program, "pleat/cmd/pleat")
		build.Stderr = b.say
		if err := build.Run(); err != nil {
			return fmt.Errorf("build pleat: %w; or name the program with --pleat", err)
		}
	}
	s, err := startServer(ctx, program, dir, address)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.stop()) }()
	return s.measure(ctx, b, d)
}

func (s *serverProcess) measure(ctx context.Context, b *bench, d database) error {
	wires, hang, err := dialWires(ctx, strings.TrimPrefix(s.url, "http://"))
	if err != nil {
		return err
	}
	defer hang()
	check := rawRequest("POST", "/v1/jobs/validate", s.key, strings.Replace(jobBody, `"null"`, `"mini"`, 1))
	list := rawRequest("GET", "/v1/jobs", s.key, "")
	n, err := drive(ctx, 2*b.seconds, func(i int) error {
		if err := wires[i].do(check, nil); err != nil {
			return err
		}
		return wires[i].do(list, nil)
	})
	if err != nil {
		return err
	}
	hang()
	const most = 60_000_000
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
			beside:   "after " + after,
			want:     "≤ 60 MB",
			met:      rss <= most,
		})
	}
	return nil
}

// serverProcess is pleat serve in a process of its own.
type serverProcess struct {
	cmd      *exec.Cmd
	url, key string
}

func startServer(ctx context.Context, program, dir, address string) (*serverProcess, error) {
	env := []string{
		"PATH=" + os.Getenv("PATH"),
		"PLEAT_DATA=" + dir,
		"PLEAT_DATABASE=" + address,
		"PLEAT_ENGINES=mini",
		"PLEAT_LOG_LEVEL=warn",
		"PLEAT_SECRET_KEY=" + newSecretKey(),
	}
	keys := exec.CommandContext(ctx, program, "keys", "create", "--user", "bench")
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

// newSecretKey is a fresh secret, which a server on PostgreSQL demands.
func newSecretKey() string {
	var b [32]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

func (s *serverProcess) stop() error {
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	return s.cmd.Wait()
}

// trpCage is the miniprotein TC10b, Protein Data Bank entry 2JOF (Barua et al., Protein Eng. Des. Sel. 21, 171, 2008).
const trpCage = "DAYAQWLKDGGPSSGRPPPS"

// fold folds a small protein.
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

// residentBytes is how much memory a process holds.
func residentBytes(pid int) (int64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		var kib int64
		if n, _ := fmt.Sscanf(line, "VmRSS: %d kB", &kib); n == 1 {
			return kib << 10, nil
		}
	}
	return 0, errors.New("the process does not say how much memory it holds")
}
