package apart_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"pleat"
	"pleat/internal/engine/enginetest"
)

// A task whose process dies has crashed. The store says whether it is tried again.
func TestKilled(t *testing.T) {
	t.Parallel()
	memory := int64(1<<40 + os.Getpid()) // by which its process is found
	e := newEngine("null", memory)
	kill := sync.OnceFunc(func() {
		for _, path := range commandLines(t) {
			text, _ := os.ReadFile(path) // one that has ended has none
			if !strings.HasSuffix(string(text), fmt.Sprintf("\x00%d\x00", memory)) {
				continue
			}
			pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
			if err != nil {
				t.Error(err)
				continue
			}
			if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
				t.Error(err)
			}
		}
	})
	sink := &enginetest.Sink{OnProgress: func(string) { kill() }}
	f := e.Run(t.Context(), folded(t, e, map[string]any{"samplingSteps": 600_000.0}), sink).Failure
	if f == nil || f.Kind != pleat.FailCrashed || !f.Retry {
		t.Errorf("%v", f)
	}
}

// commandLines are the files with the command lines of all processes.
func commandLines(t *testing.T) []string {
	t.Helper()
	paths, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil || len(paths) == 0 {
		t.Fatal(paths, err)
	}
	return paths
}
