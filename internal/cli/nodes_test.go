package cli

import (
	"database/sql"
	"fmt"
	"io"
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
	// More long jobs than one worker has slots: both work.
	var held []string
	for range 9 {
		held = append(held, c.create(3_600_000))
	}
	waitUntil(t, time.Minute, "both workers work", func() bool {
		return queryInt(t, c.db, "SELECT count(DISTINCT worker_id) FROM attempt") == 2
	})
	var jobs []string
	for range 20 {
		jobs = append(jobs, c.create(200))
	}
	for _, j := range jobs {
		c.await(j, "COMPLETED", 60*time.Second)
	}
	// Progress and cancel cross processes.
	long := held[8]
	c.await(long, "RUNNING", 30*time.Second)
	waitUntil(t, 30*time.Second, "progress is seen", func() bool {
		p, _ := c.call("GET", "/v1/jobs/"+long, "")["progress"].(map[string]any)
		done, _ := p["done"].(float64)
		return p["stage"] == "wait" && done > 0
	})
	asked := time.Now()
	c.call("POST", "/v1/jobs/"+long+"/cancel", "")
	c.await(long, "STOPPED", 30*time.Second) // it would have run for an hour
	t.Logf("the cancel took %v", time.Since(asked))
}

// TestKilledWorkerLosesNothing kills one of two workers in the middle of its jobs. All complete once, and the server
// hands out their files, which it reads from the artifact store that the workers wrote to.
func TestKilledWorkerLosesNothing(t *testing.T) {
	c := newCluster(t)
	killed := c.worker()
	c.worker()
	c.serve()
	var jobs []string
	for i := range 20 {
		params := fmt.Sprintf(`"seed":"%d","samplingSteps":2000,"recyclingSteps":3`, i)
		out := c.call("POST", "/v1/jobs", nullJob(params))
		jobs = append(jobs, fmt.Sprint(out["jobId"]))
	}
	// Suspended, the worker cannot end its jobs before it is killed.
	waitUntil(t, time.Minute, "both workers work", func() bool {
		killed.signal(syscall.SIGSTOP)
		if queryInt(t, c.db, "SELECT count(DISTINCT worker_id) FROM attempt WHERE outcome = ''") == 2 {
			return true
		}
		killed.signal(syscall.SIGCONT)
		return false
	})
	killed.kill()
	for _, job := range jobs {
		c.await(job, "COMPLETED", 2*time.Minute)
		c.wantFiles(job, 3)
	}
	wantZero(t, c.db, map[string]string{"completed twice": completedTwice, "open tasks": openTasks,
		"miscounted µs": miscounted})
	if n := queryInt(t, c.db, "SELECT count(*) FROM attempt WHERE outcome = 'lost'"); n == 0 {
		t.Error("no attempt was lost")
	}
}

// wantFiles downloads the files of a job by their links, which compares them with their sizes and hashes.
func (c *cluster) wantFiles(job string, ofEngine int) {
	c.t.Helper()
	client := c.server.client()
	results, err := client.Results(c.t.Context(), job)
	if err != nil {
		c.t.Fatal(err)
	}
	found := 0
	for _, a := range results.Artifacts {
		if err := client.Download(c.t.Context(), a, io.Discard); err != nil {
			c.t.Error(err)
		}
		if strings.HasPrefix(a.Name, "null-") {
			found++
		}
	}
	if found != ofEngine {
		c.t.Errorf("%s has %d files of its engine; want %d", job, found, ofEngine)
	}
}

// suspendInRun suspends the only worker in the middle of a job of 3 s, which it returns. A job that ended before
// the worker was suspended does not count: then there is another.
func (c *cluster) suspendInRun(worker *node) (job string) {
	c.t.Helper()
	for {
		job := c.create(3000)
		waitUntil(c.t, time.Minute, job+" has begun", func() bool { return c.state(job) != "INITIALIZED" })
		worker.signal(syscall.SIGSTOP)
		if c.state(job) == "RUNNING" {
			return job
		}
		worker.signal(syscall.SIGCONT)
	}
}

func (n *node) signal(s syscall.Signal) {
	n.t.Helper()
	if err := n.cmd.Process.Signal(s); err != nil {
		n.t.Fatal(err)
	}
}

func TestSleepingWorkerCannotFinish(t *testing.T) {
	c := newCluster(t)
	asleep := c.worker()
	c.serve()
	job := c.suspendInRun(asleep)
	c.worker()
	c.await(job, "COMPLETED", 2*time.Minute)
	before := queryInt(t, c.db, "SELECT count(*) FROM run_event")
	asleep.signal(syscall.SIGCONT)
	waitUntil(t, 30*time.Second, "the woken worker knows that its task was taken over", func() bool {
		return strings.Contains(asleep.log.String(), "does not hold")
	})
	run := "(SELECT run_id FROM job WHERE id = '" + job + "')"
	attempts := "FROM attempt a WHERE a.run_id = " + run
	wantZero(t, c.db, map[string]string{
		"completed attempts beyond the first": "SELECT count(*) - 1 " + attempts + " AND a.outcome = 'done'",
		"lost attempts beyond the first":      "SELECT count(*) - 1 " + attempts + " AND a.outcome = 'lost' AND a.number = 1",
		"events beyond the first":             "SELECT count(*) - 1 FROM event WHERE run_id = " + run,
	})
	if after := queryInt(t, c.db, "SELECT count(*) FROM run_event"); after != before {
		t.Errorf("the woken worker added %d events to a run that was not its own", after-before)
	}
}

// All servers were away for longer than a lease. The workers that call them go on with their jobs, and the server that
// starts lets them renew their leases before these count as expired.
func TestServersAwayForLongerThanALease(t *testing.T) {
	c := newCluster(t)
	c.serve()
	c.addr = strings.TrimPrefix(c.server.url, "http://")
	token, err := c.server.command("fleet", "token", "default").Output()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, token, 0o600); err != nil {
		t.Fatal(err)
	}
	worker := newNode(t, "sqlite:none")
	worker.env = []string{"PLEAT_LOG_LEVEL=info"}
	worker.start("worker", "--server", c.server.url, "--token-file", file)
	job := c.create(8000)
	waitUntil(t, time.Minute, "the worker has the job", func() bool {
		return strings.Contains(worker.log.String(), "task claimed")
	})
	worker.signal(syscall.SIGSTOP)
	c.server.kill()
	for _, q := range []string{"UPDATE task SET lease_until = 1 WHERE state = 'running'", "UPDATE worker SET seen_at = 1"} {
		if _, err := c.db.Exec(q); err != nil {
			t.Fatal(err)
		}
	}
	c.serve()
	const held = "SELECT count(*) FROM task WHERE lease_until > (extract(epoch FROM now()) * 1000000)::bigint"
	if n := queryInt(t, c.db, held); n != 1 {
		t.Errorf("the server extended %d leases", n)
	}
	worker.signal(syscall.SIGCONT)
	c.await(job, "COMPLETED", time.Minute)
	if n := queryInt(t, c.db, "SELECT count(*) FROM attempt"); n != 1 {
		t.Errorf("the job took %d attempts", n)
	}
}

// storeFailure matches the log line of a worker that cannot store a result and will try again.
var storeFailure = regexp.MustCompile(`msg="[^"]*(ended|finished|stored)[^"]*again" worker=\S+ task=`)

// The result of a run that ends while the database is unavailable is not lost.
func TestDatabaseGoneAndBack(t *testing.T) {
	c := newCluster(t)
	worker := c.worker()
	c.serve()
	c.await(c.create(1), "COMPLETED", time.Minute)
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
	running := c.suspendInRun(worker) // until the database is away
	do("ALTER DATABASE " + name + " ALLOW_CONNECTIONS false")
	do("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '" + name + "'")
	out := c.call("POST", "/v1/jobs", nullJob(""))
	if out["code"] != 503 || !strings.Contains(fmt.Sprint(out["message"]), "try again") {
		t.Errorf("without a database: %v", out)
	}
	if out := c.call("GET", "/readyz", ""); out["code"] != 503 {
		t.Errorf("ready without a database: %v", out)
	}
	worker.signal(syscall.SIGCONT)
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
	c.await(c.create(1), "COMPLETED", time.Minute)
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
