package config

import (
	"bufio"
	"fmt"
	"os"
	"strings"
)

// MachineMemory returns the bytes of memory of the machine, or the limit of its control group (cgroup v2) if that is
// smaller, as in a container; 0 where neither is known, as on systems other than Linux.
func MachineMemory() int64 {
	total := int64(0)
	if f, err := os.Open("/proc/meminfo"); err == nil {
		defer f.Close()
		for lines := bufio.NewScanner(f); lines.Scan(); {
			var kib int64
			if n, _ := fmt.Sscanf(lines.Text(), "MemTotal: %d kB", &kib); n == 1 {
				total = kib << 10
				break
			}
		}
	}
	if b, err := os.ReadFile("/sys/fs/cgroup/memory.max"); err == nil {
		var limit int64
		n, _ := fmt.Sscan(strings.TrimSpace(string(b)), &limit)
		if n == 1 && limit > 0 && (total == 0 || limit < total) {
			total = limit
		}
	}
	return total
}
