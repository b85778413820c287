package runner

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"time"
)

// guardScript is the program of a guard: it reads until the service's end of its pipe is closed, gives the group time
// to end by itself, and kills it. The service never writes to it.
const guardScript = `trap '' HUP INT TERM; while read -r _; do :; done; sleep "$1"; kill -KILL 0`

// guardGrace is how long a process group may outlive a service that was killed.
const guardGrace = 2 * time.Second

// guard is a shell in the process group of a runner. It kills the group once the service has ended for any reason,
// even by SIGKILL. Two simpler ways do not work: a runner that holds Python's lock in C code does not notice the end
// of its input, and a signal on the death of the parent (Linux only) depends on a thread of the service and spares
// the runner's children.
//
// A guard needs only a POSIX shell. While it is alive, the kernel does not reuse the id of the group.
type guard struct {
	cmd   *exec.Cmd
	alive *os.File // the service's end of the pipe; closed when the service ends
}

// startGuard starts a guard in a process group, whose leader must be alive. end must be called once the group has
// ended.
func startGuard(group int) (*guard, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	grace := strconv.Itoa(int(guardGrace.Seconds()))
	g := &guard{exec.Command("/bin/sh", "-c", guardScript, "sh", grace), w}
	g.cmd.Env, g.cmd.Dir, g.cmd.Stdin = []string{"PATH=/usr/bin:/bin"}, "/", r
	g.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pgid: group}
	if err := g.cmd.Start(); err != nil {
		w.Close()
		return nil, fmt.Errorf("a runner has no guard: %w", err)
	}
	return g, nil
}

// end ends the guard and waits for it. A nil guard is valid: the runner has none.
func (g *guard) end() {
	if g == nil {
		return
	}
	_ = g.cmd.Process.Kill()
	_ = g.cmd.Wait()
	_ = g.alive.Close()
}
