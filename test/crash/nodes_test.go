package crash

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

	"pleat/internal/testprogram"
)

func TestWorkersShareTheWork(t *testing.T) {
	c := testprogram.NewCluster(t)
	c.Worker()
	c.Worker()
	c.Serve()
	// More long jobs than one worker has slots: both work.
	var held []string
	for range 9 {
		held = append(held, c.Create(3_600_000))
	}
	testprogram.WaitUntil(t, time.Minute, "both workers work", func() bool {
		return testprogram.QueryInt(t, c.DB, "SELECT count(DISTINCT worker_id) FROM attempt") == 2
	})
	var jobs []string
	for range 20 {
		jobs = append(jobs, c.Create(200))
	}
	for _, j := range jobs {
		c.Await(j, "COMPLETED", 60*time.Second)
	}
	// Progress and cancel cross processes.
	long := held[8]
	c.Await(long, "RUNNING", 30*time.Second)
	testprogram.WaitUntil(t, 30*time.Second, "progress is seen", func() bool {
		p, _ := c.Call("GET", "/v1/jobs/"+long, "")["progress"].(map[string]any)
		done, _ := p["done"].(float64)
		return p["stage"] == "wait" && done > 0
	})
	asked := time.Now()
	c.Call("POST", "/v1/jobs/"+long+"/cancel", "")
	c.Await(long, "STOPPED", 30*time.Second) // it would have run for an hour
	t.Logf("the cancel took %v", time.Since(asked))
}

// TestKilledWorkerLosesNothing kills one of two workers in the middle of its jobs. All complete once, and the server
// hands out their files, which it reads from the artifact store that the workers wrote to.
func TestKilledWorkerLosesNothing(t *testing.T) {
	c := testprogram.NewCluster(t)
	killed := c.Worker()
	c.Worker()
	c.Serve()
	var jobs []string
	for i := range 20 {
		params := fmt.Sprintf(`"seed":"%d","samplingSteps":2000,"recyclingSteps":3`, i)
		out := c.Call("POST", "/v1/jobs", testprogram.NullJob(params))
		jobs = append(jobs, fmt.Sprint(out["jobId"]))
	}
	// Suspended, the worker cannot end its jobs before it is killed.
	testprogram.WaitUntil(t, time.Minute, "both workers work", func() bool {
		killed.Signal(syscall.SIGSTOP)
		if testprogram.QueryInt(t, c.DB, "SELECT count(DISTINCT worker_id) FROM attempt WHERE outcome = ''") == 2 {
			return true
		}
		killed.Signal(syscall.SIGCONT)
		return false
	})
	killed.Kill()
	for _, job := range jobs {
		c.Await(job, "COMPLETED", 2*time.Minute)
		wantFilesOf(c, job, 3)
	}
	testprogram.WantZero(t, c.DB, map[string]string{
		"completed twice": testprogram.CompletedTwice,
		"open tasks":      testprogram.OpenTasks,
		"miscounted µs":   testprogram.Miscounted,
	})
	if n := testprogram.QueryInt(t, c.DB, "SELECT count(*) FROM attempt WHERE outcome = 'lost'"); n == 0 {
		t.Error("no attempt was lost")
	}
}

// wantFilesOf downloads the files of a job by their links, which compares them with their sizes and hashes.
func wantFilesOf(c *testprogram.Cluster, job string, ofEngine int) {
	c.T.Helper()
	client := c.Server.Client()
	results, err := client.Results(c.T.Context(), job)
	if err != nil {
		c.T.Fatal(err)
	}
	found := 0
	for _, a := range results.Artifacts {
		if err := client.Download(c.T.Context(), a, io.Discard); err != nil {
			c.T.Error(err)
		}
		if strings.HasPrefix(a.Name, "null-") {
			found++
		}
	}
	if found != ofEngine {
		c.T.Errorf("%s has %d files of its engine; want %d", job, found, ofEngine)
	}
}

// suspendInRun suspends the only worker in the middle of a job of 3 s, which it returns. A job that ended before
// the worker was suspended does not count: then there is another.
func suspendInRun(c *testprogram.Cluster, worker *testprogram.Node) (job string) {
	c.T.Helper()
	for {
		job := c.Create(3000)
		testprogram.WaitUntil(c.T, time.Minute, job+" has begun", func() bool { return c.State(job) != "INITIALIZED" })
		worker.Signal(syscall.SIGSTOP)
		if c.State(job) == "RUNNING" {
			return job
		}
		worker.Signal(syscall.SIGCONT)
	}
}

func TestSleepingWorkerCannotFinish(t *testing.T) {
	c := testprogram.NewCluster(t)
	asleep := c.Worker()
	c.Serve()
	job := suspendInRun(c, asleep)
	c.Worker()
	c.Await(job, "COMPLETED", 2*time.Minute)
	before := testprogram.QueryInt(t, c.DB, "SELECT count(*) FROM run_event")
	asleep.Signal(syscall.SIGCONT)
	testprogram.WaitUntil(t, 30*time.Second, "the woken worker knows that its task was taken over", func() bool {
		return strings.Contains(asleep.Log.String(), "does not hold")
	})
	run := "(SELECT run_id FROM job WHERE id = '" + job + "')"
	attempts := "FROM attempt a WHERE a.run_id = " + run
	testprogram.WantZero(t, c.DB, map[string]string{
		"completed attempts beyond the first": "SELECT count(*) - 1 " + attempts + " AND a.outcome = 'done'",
		"lost attempts beyond the first":      "SELECT count(*) - 1 " + attempts + " AND a.outcome = 'lost' AND a.number = 1",
		"events beyond the first":             "SELECT count(*) - 1 FROM event WHERE run_id = " + run,
	})
	if after := testprogram.QueryInt(t, c.DB, "SELECT count(*) FROM run_event"); after != before {
		t.Errorf("the woken worker added %d events to a run that was not its own", after-before)
	}
}

// All servers were away for longer than a lease. The workers that call them go on with their jobs, and the server that
// starts lets them renew their leases before these count as expired.
func TestServersAwayForLongerThanALease(t *testing.T) {
	c := testprogram.NewCluster(t)
	c.Serve()
	c.Addr = strings.TrimPrefix(c.Server.URL, "http://")
	token, err := c.Server.Command("fleet", "token", "default").Output()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, token, 0o600); err != nil {
		t.Fatal(err)
	}
	worker := testprogram.NewNode(t, "sqlite:none")
	worker.Env = []string{"PLEAT_LOG_LEVEL=info"}
	worker.Start("worker", "--server", c.Server.URL, "--token-file", file)
	job := c.Create(8000)
	testprogram.WaitUntil(t, time.Minute, "the worker has the job", func() bool {
		return strings.Contains(worker.Log.String(), "task claimed")
	})
	worker.Signal(syscall.SIGSTOP)
	c.Server.Kill()
	for _, q := range []string{"UPDATE task SET lease_until = 1 WHERE state = 'running'", "UPDATE worker SET seen_at = 1"} {
		if _, err := c.DB.Exec(q); err != nil {
			t.Fatal(err)
		}
	}
	c.Serve()
	const held = "SELECT count(*) FROM task WHERE lease_until > (extract(epoch FROM now()) * 1000000)::bigint"
	if n := testprogram.QueryInt(t, c.DB, held); n != 1 {
		t.Errorf("the server extended %d leases", n)
	}
	worker.Signal(syscall.SIGCONT)
	c.Await(job, "COMPLETED", time.Minute)
	if n := testprogram.QueryInt(t, c.DB, "SELECT count(*) FROM attempt"); n != 1 {
		t.Errorf("the job took %d attempts", n)
	}
}

// storeFailure matches the log line of a worker that cannot store a result and will try again.
var storeFailure = regexp.MustCompile(`msg="[^"]*(ended|finished|stored)[^"]*again" worker=\S+ task=`)

// The result of a run that ends while the database is unavailable is not lost.
func TestDatabaseGoneAndBack(t *testing.T) {
	c := testprogram.NewCluster(t)
	worker := c.Worker()
	c.Serve()
	c.Await(c.Create(1), "COMPLETED", time.Minute)
	admin, err := sql.Open("pgx", os.Getenv("PLEAT_TEST_POSTGRES"))
	if err != nil {
		t.Fatal(err)
	}
	defer admin.Close()
	address, err := url.Parse(c.Server.Database)
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
	running := suspendInRun(c, worker) // until the database is away
	do("ALTER DATABASE " + name + " ALLOW_CONNECTIONS false")
	do("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '" + name + "'")
	out := c.Call("POST", "/v1/jobs", testprogram.NullJob(""))
	if out["code"] != 503 || !strings.Contains(fmt.Sprint(out["message"]), "try again") {
		t.Errorf("without a database: %v", out)
	}
	if out := c.Call("GET", "/readyz", ""); out["code"] != 503 {
		t.Errorf("ready without a database: %v", out)
	}
	worker.Signal(syscall.SIGCONT)
	testprogram.WaitUntil(t, 60*time.Second, "the worker fails to store the result", func() bool {
		return storeFailure.MatchString(worker.Log.String())
	})
	do("ALTER DATABASE " + name + " ALLOW_CONNECTIONS true")
	testprogram.WaitUntil(t, 30*time.Second, "the service is ready again", func() bool {
		return c.Call("GET", "/readyz", "")["code"] == 200
	})
	c.Await(running, "COMPLETED", 60*time.Second)
	c.Await(c.Create(1), "COMPLETED", 30*time.Second)
}

// TestDiskFull fills the disk under the data folder: the server must refuse jobs without losing any, and
// accept them once there is room.
func TestDiskFull(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root, to mount a small file system")
	}
	n := testprogram.NewNode(t, "")
	data := filepath.Join(n.Dir, "data")
	if err := os.Mkdir(data, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("tmpfs", data, "tmpfs", 0, "size=16m"); err != nil {
		t.Skip("cannot mount here: ", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(data, syscall.MNT_DETACH) })
	n.Database = "sqlite:" + filepath.Join(data, "pleat.db")
	n.Env = append(n.Env, "PLEAT_MIN_FREE_DISK=0") // the disk is smaller than what must be free by default
	c := &testprogram.Cluster{T: t, Server: n}
	n.CreateKey()
	n.Serve()
	c.Await(c.Create(1), "COMPLETED", time.Minute)
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
		out := c.Call("POST", "/v1/jobs", testprogram.NullJob(`"recyclingSteps":1`))
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
	for _, j := range append(acked, c.Create(1)) {
		c.Await(j, "COMPLETED", 60*time.Second)
	}
}
