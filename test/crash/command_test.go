package crash

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"testing"

	"pleat/internal/testprogram"
)

// The exit codes of the program, which docs/commands.md lists.
const (
	exitOK     = 0
	exitFailed = 1
	exitUsage  = 2
)

// runProgram runs a command of the released program, with the environment of the test and env.
func runProgram(t *testing.T, env map[string]string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	program, err := testprogram.Released()
	if err != nil {
		t.Fatal(err)
	}
	var out, errs bytes.Buffer
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Env = os.Environ()
	for k, v := range env {
		cmd.Env = append(cmd.Env, k+"="+v)
	}
	cmd.Stdout, cmd.Stderr = &out, &errs
	var ended *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &ended) {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), out.String(), errs.String()
}
