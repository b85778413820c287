package fleet

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

const (
	// callTime is how long one call of Slurm's programs may take. They wait long for a controller that does not answer.
	callTime = 30 * time.Second
	// maxOutput bounds what is read of a call, in bytes: some 100,000 jobs.
	maxOutput = 16 << 20
	// maxSentence is the length of the longest error text that is kept.
	maxSentence = 300
)

// call is one call of a program of Slurm.
type call struct {
	argv  []string
	stdin string
}

// run calls a program of Slurm, on the login host if there is one, and returns what it prints. The error holds Slurm's
// own sentence; it is an *exitError if the program ran and said no.
func (s *Slurm) run(ctx context.Context, c call) (string, error) {
	ctx, done := context.WithTimeout(ctx, callTime)
	defer done()
	argv := c.argv
	if len(s.Login) > 0 {
		argv = append(append([]string{}, s.Login...), remote(c.argv))
	}
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Env = environment(os.Environ())
	cmd.Stdin = strings.NewReader(c.stdin)
	var stdout, stderr limited
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	// A program that leaves another behind, as ssh may, must not hold the pipes for ever.
	cmd.WaitDelay = time.Second
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	err := cmd.Run()
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return "", fmt.Errorf("%s: no answer within %s", c.argv[0], callTime)
	case stdout.cut:
		return "", fmt.Errorf("%s: printed more than %d MB", c.argv[0], maxOutput>>20)
	case errors.As(err, &exit):
		return "", &exitError{program: c.argv[0], sentence: sentence(stderr.String()), code: exit.ExitCode()}
	case err != nil:
		return "", fmt.Errorf("%s: %w", c.argv[0], err)
	}
	return stdout.String(), nil
}

// exitError is the failure that a program of Slurm reported.
type exitError struct {
	program  string
	sentence string // of Slurm
	code     int
}

func (e *exitError) Error() string {
	if e.sentence == "" {
		return fmt.Sprintf("%s ended with status %d and no message", e.program, e.code)
	}
	return e.program + ": " + e.sentence
}

// environment returns the environment of Slurm's programs: the service's own without its settings and secrets, and
// without the variables by which users change what these programs do and print.
func environment(inherited []string) []string {
	out := []string{"SLURM_TIME_FORMAT=%s", "LC_ALL=C"}
	for _, v := range inherited {
		switch name, _, _ := strings.Cut(v, "="); name {
		case "PATH", "HOME", "USER", "LOGNAME", "LD_LIBRARY_PATH", "SLURM_CONF", "SLURM_JWT", "SSH_AUTH_SOCK", "TMPDIR":
			out = append(out, v)
		}
	}
	return out
}

// remote returns a line for the shell of a login host, whatever shell that is, that runs a program there. The variables
// of its login scripts that change what Slurm's programs do are unset first.
func remote(argv []string) string {
	script := `for v in $(env | sed -n "s/^\(SQUEUE_[A-Za-z0-9_]*\)=.*/\1/p; s/^\(SBATCH_[A-Za-z0-9_]*\)=.*/\1/p; ` +
		`s/^\(SCANCEL_[A-Za-z0-9_]*\)=.*/\1/p"); do unset "$v"; done; SLURM_TIME_FORMAT=%s LC_ALL=C exec "$@"`
	line := []string{"sh", "-c", quote(script), "sh"}
	for _, a := range argv {
		line = append(line, quote(a))
	}
	return strings.Join(line, " ")
}

// quote returns a text as one word of a shell.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// sentence returns the last error that a program of Slurm printed, in one line and without its prefixes.
func sentence(stderr string) string {
	found := ""
	for line := range strings.Lines(stderr) {
		line = oneLine(line)
		_, said, isError := strings.Cut(line, "error: ")
		switch {
		case isError:
			found = said
		case found == "":
			found = line
		}
	}
	return strings.TrimPrefix(found, "Batch job submission failed: ")
}

// oneLine returns a text without control characters and of bounded length.
func oneLine(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "?"))
	s = strings.TrimSpace(s)
	if len(s) > maxSentence {
		s = strings.ToValidUTF8(s[:maxSentence], "") + "…"
	}
	return s
}

// limited keeps the first maxOutput bytes.
type limited struct {
	bytes.Buffer
	cut bool
}

func (l *limited) Write(p []byte) (int, error) {
	if room := maxOutput - l.Len(); len(p) > room {
		l.cut = true
		l.Buffer.Write(p[:room])
		return len(p), nil
	}
	return l.Buffer.Write(p)
}
