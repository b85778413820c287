package main

import (
	"database/sql"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestWorkersShareTheWork(t *testing.T) {
	c := newCluster(t)
	c.worker()
	c.worker()
	c.serve()
	var jobs []string
	for range 20 {
		jobs = append(jobs, c.create(200))
	}
	for _, j := range jobs {
		c.await(j, "COMPLETED", 60*time.Second)
	}
	if n := queryInt(t, c.db, "SELECT count(DISTINCT worker_id) FROM attempt"); n != 2 {
		t.Errorf("%d workers did all the work", n)
	}
	// Progress and cancel cross processes.
	long := c.create(60_000)
	c.await(long, "RUNNING", 30*time.Second)
	waitUntil(t, 30*time.Second, "progress is seen", func() bool {
		p, _ := c.call("GET", "/v1/jobs/"+long, "")["progress"].(map[string]any)
		done, _ := p["done"].(float64)
		return p["stage"] == "wait" && done > 0
	})
	asked := time.Now()
	c.call("POST", "/v1/jobs/"+long+"/cancel", "")
	c.await(long, "STOPPED", 30*time.Second) // it would have run for a minute
	t.Logf("the cancel took %v", time.Since(asked))
}

func TestSleepingWorkerCannotFinish(t *testing.T) {
	c := newCluster(t)
	asleep := c.worker()
	c.serve()
	job := c.create(3000)
	c.await(job, "RUNNING", 30*time.Second)
	if err := asleep.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	c.worker()
	c.await(job, "COMPLETED", 60*time.Second)
	before := queryInt(t, c.db, "SELECT count(*) FROM run_event")
	if err := asleep.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	waitUntil(t, 30*time.Second, "the woken worker knows that its task was taken over", func() bool {
		return strings.Contains(asleep.log.String(), "another worker has the task") ||
			strings.Contains(asleep.log.String(), "lost to another worker")
	})
	wantZero(t, c.db, map[string]string{
		"completed attempts beyond the first": "SELECT count(*) - 1 FROM attempt WHERE outcome = 'done'",
		"lost attempts beyond the first":      "SELECT count(*) - 1 FROM attempt WHERE outcome = 'lost' AND number = 1",
		"events beyond the first":             "SELECT count(*) - 1 FROM event",
	})
	if after := queryInt(t, c.db, "SELECT count(*) FROM run_event"); after != before {
		t.Errorf("the woken worker added %d events to a run that was not its own", after-before)
	}
}

// storeFailure matches the log line of a worker that cannot store a result and will try again.
var storeFailure = regexp.MustCompile(`msg="[^"]*(ended|finished|stored)[^"]*again" task=`)

// The result of a run that ends while the database is unavailable is not lost.
func TestDatabaseGoneAndBack(t *testing.T) {
	c := newCluster(t)
	worker := c.worker()
	c.serve()
	done, running := c.create(1), c.create(4000)
	c.await(done, "COMPLETED", 20*time.Second)
	c.await(running, "RUNNING", 20*time.Second)
	admin, err := sql.Open("pgx", os.Getenv("PLEAT_TEST_POSTGRES"))
	if err != nil {
		t.Fatal(err)
	}
	defer admin.Close()
	address, err := url.Parse(c.server.database)
	if err != nil {
		t.Fatal(err)
	}
	name := strings.TrimPrefix(address.Path, "/")
	do := func(q string) {
		t.Helper()
		if _, err := admin.Exec(q); err != nil {
			t.Fatal(err)
		}
	}
	do("ALTER DATABASE " + name + " ALLOW_CONNECTIONS false")
	do("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '" + name + "'")
	out := c.call("POST", "/v1/jobs", nullJob(""))
	if out["code"] != 503 || !strings.Contains(fmt.Sprint(out["message"]), "try again") {
		t.Errorf("without a database: %v", out)
	}
	if out := c.call("GET", "/readyz", ""); out["code"] != 503 {
		t.Errorf("ready without a database: %v", out)
	}
	waitUntil(t, 60*time.Second, "the worker fails to store the result", func() bool {
		return storeFailure.MatchString(worker.log.String())
	})
	do("ALTER DATABASE " + name + " ALLOW_CONNECTIONS true")
	waitUntil(t, 30*time.Second, "the service is ready again", func() bool {
		return c.call("GET", "/readyz", "")["code"] == 200
	})
	c.await(running, "COMPLETED", 60*time.Second)
	c.await(c.create(1), "COMPLETED", 30*time.Second)
}

// TestDiskFull fills the disk under the data folder: the server must refuse jobs without losing any, and
// accept them once there is room.
func TestDiskFull(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root, to mount a small file system")
	}
	n := newNode(t, "")
	data := filepath.Join(n.dir, "data")
	if err := os.Mkdir(data, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("tmpfs", data, "tmpfs", 0, "size=16m"); err != nil {
		t.Skip("cannot mount here: ", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(data, syscall.MNT_DETACH) })
	n.database = "sqlite:" + filepath.Join(data, "pleat.db")
	n.env = append(n.env, "PLEAT_MIN_FREE_DISK=0") // the disk is smaller than what must be free by default
	c := &cluster{t: t, server: n}
	n.createKey()
	n.serve()
	c.await(c.create(1), "COMPLETED", 20*time.Second)
	filler := filepath.Join(data, "filler")
	file, err := os.Create(filler)
	if err != nil {
		t.Fatal(err)
	}
	for err == nil {
		_, err = file.Write(make([]byte, 4096))
	}
	_ = file.Close()
	refused := false
	acked := []string{}
	for range 200 {
		out := c.call("POST", "/v1/jobs", nullJob(`"recyclingSteps":1`))
		if out["code"] == 503 {
			refused = true
			break
		}
		acked = append(acked, fmt.Sprint(out["jobId"]))
	}
	if !refused {
		t.Error("200 jobs were accepted on a full disk")
	}
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	for _, j := range append(acked, c.create(1)) {
		c.await(j, "COMPLETED", 60*time.Second)
	}
}
