//go:build !linux

package fleet

import (
	"os/exec"
	"strconv"
	"strings"
)

// shellStart prints the start of the shell's own process.
const shellStart = `LC_ALL=C ps -o lstart= -p $$`

// started returns the start of a process in the form of shellStart, or "" if it has ended.
func started(pid int) string {
	cmd := exec.Command("ps", "-o", "stat=,lstart=", "-p", strconv.Itoa(pid))
	cmd.Env = []string{"LC_ALL=C", "PATH=/usr/bin:/bin"}
	out, err := cmd.Output()
	f := strings.Fields(string(out))
	if err != nil || len(f) < 2 || strings.HasPrefix(f[0], "Z") {
		return ""
	}
	return strings.Join(f[1:], " ")
}
