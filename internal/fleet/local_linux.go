package fleet

import (
	"fmt"
	"os"
	"strings"
)

// shellStart prints the start of the shell's own process, in clock ticks since the machine started: field 22 of
// proc(5). The name in field 2 is that of the shell and holds no space.
const shellStart = `cut -d " " -f 22 "/proc/$$/stat"`

// started returns the start of a process in the form of shellStart, or "" if it has ended.
func started(pid int) string {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return ""
	}
	// The name, in parentheses, may hold anything. The state is field 3.
	f := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	if len(f) < 20 || f[0] == "Z" || f[0] == "X" {
		return ""
	}
	return f[19]
}
