package main

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"time"

	"pleat"
)

// serverProcess is pleat serve in a process of its own.
type serverProcess struct {
	cmd *exec.Cmd
	// addr is the host and port of the server, and log the path of its log.
	addr, log string
}

// newServer starts pleat serve on a free port, over a database that exists, with files in dir. It returns when the
// server listens. The key is one of a new user; it is created before the start.
func (b *bench) newServer(
	ctx context.Context, dir, database, engines string, args ...string,
) (s *serverProcess, key string, err error) {
	program, err := b.program(ctx)
	if err != nil {
		return nil, "", err
	}
	var secret [32]byte // which a server on PostgreSQL requires
	_, _ = rand.Read(secret[:])
	env := []string{
		"PATH=" + os.Getenv("PATH"),
		"PLEAT_DATA=" + dir,
		"PLEAT_DATABASE=" + database,
		"PLEAT_ENGINES=" + engines,
		"PLEAT_LOG_LEVEL=warn",
		"PLEAT_SECRET_KEY=" + hex.EncodeToString(secret[:]),
	}
	s = &serverProcess{log: filepath.Join(dir, "log")}
	log, err := os.Create(s.log)
	if err != nil {
		return nil, "", err
	}
	defer log.Close()
	keys := exec.CommandContext(ctx, program, "keys", "create", "--init", "--user", "bench")
	keys.Env, keys.Stderr = env, log
	text, err := keys.Output()
	if err != nil {
		return nil, "", errors.Join(err, s.complaints(b.progress))
	}
	s.cmd = exec.CommandContext(ctx, program, append([]string{"serve", "--addr", "127.0.0.1:0"}, args...)...)
	s.cmd.Env, s.cmd.Stderr = env, log
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, "", err
	}
	if err := s.cmd.Start(); err != nil {
		return nil, "", err
	}
	first, err := bufio.NewReader(out).ReadString('\n')
	addr, ok := strings.CutPrefix(strings.TrimSpace(first), "listening on http://")
	if err != nil || !ok {
		err := fmt.Errorf("the server's first line is %q", first)
		return nil, "", errors.Join(err, s.stop(), s.complaints(b.progress))
	}
	s.addr = addr
	return s, strings.TrimSpace(string(text)), nil
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
		return "", fmt.Errorf("build pleat: %w; or name the program with --pleat", err)
	}
	b.pleat = path
	return path, nil
}

// stop asks the server to end and waits until it has.
func (s *serverProcess) stop() error {
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	return s.cmd.Wait()
}

// complaints prints the warnings and errors of the log.
func (s *serverProcess) complaints(out io.Writer) error {
	text, err := os.ReadFile(s.log)
	for l := range strings.Lines(string(text)) {
		fmt.Fprint(out, "  server: "+l)
	}
	return err
}

// reportsProcesses reports whether the system shows the memory and the time of a process.
func reportsProcesses() bool {
	_, err := os.Stat("/proc/self/status")
	return err == nil
}

// resident returns the resident memory of the server in bytes.
func (s *serverProcess) resident() (int64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		var kib int64
		if n, _ := fmt.Sscanf(line, "VmRSS: %d kB", &kib); n == 1 {
			return kib << 10, nil
		}
	}
	return 0, errors.New("the system does not report the memory of the process")
}

// processorTime returns the processor time, user and system, that the server has used so far, in steps of 10 ms.
func (s *serverProcess) processorTime() (time.Duration, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", s.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	// After the name, which may hold spaces, the 12th and 13th fields are the times in hundredths of a second.
	_, rest, _ := strings.Cut(string(text), ") ")
	fields := strings.Fields(rest)
	if len(fields) < 13 {
		return 0, errors.New("the system does not report the time of the process")
	}
	var user, system int64
	if _, err := fmt.Sscan(fields[11]+" "+fields[12], &user, &system); err != nil {
		return 0, err
	}
	return time.Duration(user+system) * 10 * time.Millisecond, nil
}
