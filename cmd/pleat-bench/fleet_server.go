package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

// fleetServer is a pleat serve process that runs no jobs itself, and that can be killed and started again.
type fleetServer struct {
	program, dir, database string
	// addr is its host and port, the same after a restart; empty before the first start.
	addr string
	// key is the secret key, and cmd the process; nil: none was started.
	key string
	cmd *exec.Cmd
}

// pid is the process.
func (s *fleetServer) pid() int { return s.cmd.Process.Pid }

// start starts the process and returns when it listens. Its log goes to a file.
func (s *fleetServer) start(ctx context.Context) error {
	listen := s.addr
	if s.addr == "" {
		listen, s.key = "127.0.0.1:0", newSecretKey()
	}
	log, err := os.OpenFile(s.log(), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	c := exec.CommandContext(ctx, s.program, "serve", "--addr", listen, "--work=false")
	c.Env = []string{
		"PATH=" + os.Getenv("PATH"),
		"PLEAT_DATA=" + s.dir,
		"PLEAT_DATABASE=" + s.database,
		"PLEAT_LOG_LEVEL=warn",
		"PLEAT_SECRET_KEY=" + s.key,
	}
	c.Stderr = log
	out, err := c.StdoutPipe()
	if err != nil {
		return err
	}
	if err := c.Start(); err != nil {
		return err
	}
	s.cmd = c
	first, err := bufio.NewReader(out).ReadString('\n')
	addr, ok := strings.CutPrefix(strings.TrimSpace(first), "listening on http://")
	if err != nil || !ok {
		return errors.Join(fmt.Errorf("the server's first line is %q", first), s.stop())
	}
	s.addr = addr
	return nil
}

// kill ends the process at once.
func (s *fleetServer) kill() {
	_ = s.cmd.Process.Kill()
	_ = s.cmd.Wait() // its error says that it was killed
}

// stop asks the process to end and waits until it has.
func (s *fleetServer) stop() error {
	if s.cmd.ProcessState != nil {
		return nil // a restart failed
	}
	_ = s.cmd.Process.Signal(syscall.SIGTERM) // an error means that it has ended, which Wait reports
	return s.cmd.Wait()
}

// log is the path of the log.
func (s *fleetServer) log() string { return filepath.Join(s.dir, "log") }

// complaints prints the first warnings and errors of the log, and how many there are.
func (s *fleetServer) complaints(out io.Writer) error {
	if s == nil {
		return nil
	}
	text, err := os.ReadFile(s.log())
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	const most = 10
	n := 0
	for l := range strings.Lines(string(text)) {
		if n++; n <= most {
			fmt.Fprint(out, "  server: "+l)
		}
	}
	if n > most {
		fmt.Fprintf(out, "  server: %d lines in all\n", n)
	}
	return err
}
