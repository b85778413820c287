package main

import (
	"bufio"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// machineMemory is how many bytes of memory the machine has, or the control group allows; 0 where neither says.
func machineMemory() int64 {
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
		if n, _ := fmt.Sscan(strings.TrimSpace(string(b)), &limit); n == 1 && limit > 0 && (total == 0 || limit < total) {
			total = limit
		}
	}
	return total
}

// diskFree is how many bytes an ordinary user may still write under a path.
func diskFree(path string) (int64, error) {
	var s unix.Statfs_t
	if err := unix.Statfs(path, &s); err != nil {
		return 0, err
	}
	return int64(s.Bavail) * int64(s.Bsize), nil //nolint:unconvert // their types differ between systems
}
