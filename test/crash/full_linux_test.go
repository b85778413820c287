package crash

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"pleat/internal/testprogram"
)

// TestStartOnAFullDisk starts a server that can write no more than the index of SQLite's log, 32 KiB, into a file: it
// serves what it has, says what is wrong, and goes on by itself once there is room.
func TestStartOnAFullDisk(t *testing.T) {
	t.Parallel()
	n := testprogram.NewNode(t, "")
	n.Database = "sqlite:" + filepath.Join(n.Dir, "data", "pleat.db")
	c := &testprogram.Cluster{T: t, Server: n}
	n.CreateKey()
	n.Serve()
	c.Await(c.Create(1), "COMPLETED", time.Minute)
	n.Kill()
	limited := filepath.Join(n.Dir, "limited")
	script := "#!/bin/sh\nulimit -S -f 64\nexec " + n.Program + ` "$@"` + "\n"
	if err := os.WriteFile(limited, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	n.Program = limited
	n.Serve()
	if code := c.Call("GET", "/v1/jobs", "")["code"]; code != 200 {
		t.Errorf("reads answer %v", code)
	}
	if out := c.Call("POST", "/v1/jobs", testprogram.NullJob(`"recyclingSteps":1`)); out["code"] != 503 ||
		!strings.Contains(out["message"].(string), "the disk of the database") {
		t.Errorf("a creation answers %v", out)
	}
	if out := c.Call("GET", "/readyz", ""); out["code"] != 200 ||
		!strings.Contains(out["writes"].(string), "the disk of the database") {
		t.Errorf("readiness is %v", out)
	}
	most := unix.Rlimit{Cur: unix.RLIM_INFINITY, Max: unix.RLIM_INFINITY}
	if err := unix.Prlimit(n.Cmd.Process.Pid, unix.RLIMIT_FSIZE, &most, nil); err != nil {
		t.Fatal(err)
	}
	testprogram.WaitUntil(t, 30*time.Second, "the service works again", func() bool {
		out := c.Call("GET", "/readyz", "")
		return out["writes"] == "ok" && out["workers"] == "ok"
	})
	c.Await(c.Create(1), "COMPLETED", time.Minute)
	if lines := strings.Count(n.Log.String(), "the database takes no changes;"); lines != 1 {
		t.Errorf("the log tells of the fault %d times", lines)
	}
}
