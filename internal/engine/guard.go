package engine

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"time"
)

// guardScript is the program of a guard: it reads until the service's end of its pipe is closed, lets what can end by itself
// do so, and kills its group. The service never writes to it.
const guardScript = `trap '' HUP INT TERM; while read -r _; do :; done; sleep "$1"; kill -KILL 0`

// guardPatience is how long a group outlives a service that was killed.
const guardPatience = 2 * time.Second

// guard is a shell in the group of a runner that kills the group once the service has gone, however it went. The end of its
// input does not reach a runner that sits in C code and holds Python's lock, and a signal on the death of the parent, which
// Linux alone has, would follow a thread of the service and leave the runner's own children alive.
//
// It needs nothing but a POSIX shell. As long as it lives, the group's number is no other's.
type guard struct {
	cmd   *exec.Cmd
	alive *os.File // nothing is written to it; its end is what the guard waits for
}

// protect puts a guard into a group.
func protect(group int) (*guard, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	g := &guard{exec.Command("/bin/sh", "-c", guardScript, "sh", strconv.Itoa(int(guardPatience.Seconds()))), w}
	g.cmd.Env, g.cmd.Dir, g.cmd.Stdin = []string{"PATH=/usr/bin:/bin"}, "/", r
	g.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pgid: group}
	if err := g.cmd.Start(); err != nil {
		w.Close()
		return nil, fmt.Errorf("a runner has no guard: %w", err)
	}
	return g, nil
}

// end ends the guard; nil has none.
func (g *guard) end() {
	if g == nil {
		return
	}
	_ = g.cmd.Process.Kill()
	_ = g.cmd.Wait()
	_ = g.alive.Close()
}
