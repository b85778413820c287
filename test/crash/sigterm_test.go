package crash

import (
	"syscall"
	"testing"
	"time"

	"pleat/internal/testprogram"
)

// Clusters send SIGTERM to a worker more than once: its jobs return to the queue all the same.
func TestSecondSIGTERM(t *testing.T) {
	n := testprogram.NewNode(t, testprogram.SQLite(t))
	n.CreateKey()
	n.Serve()
	n.CreateNull(`"samplingSteps":600000`)
	db := n.Open()
	testprogram.WaitUntil(t, time.Minute, "the job runs", func() bool {
		return testprogram.QueryInt(t, db, "SELECT count(*) FROM task WHERE state = 'running'") == 1
	})
	n.Signal(syscall.SIGTERM)
	n.Signal(syscall.SIGTERM)
	if err := n.Cmd.Wait(); err != nil {
		t.Errorf("the process ended with %v", err)
	}
	n.Cmd = nil
	testprogram.WantZero(t, db, map[string]string{
		"tasks that are not back in their queue": "SELECT count(*) FROM task WHERE state <> 'queued' OR tries > 0",
		"attempts that were not released":        "SELECT count(*) FROM attempt WHERE outcome <> 'released'",
	})
}
