package main

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"pleat/internal/store/storetest"
)

// cluster is a server that does not run jobs, and workers, on one PostgreSQL database and one folder of artifacts.
type cluster struct {
	t   *testing.T
	url string
	key string
	api *node
	db  *sql.DB

	made atomic.Int64 // jobs; each has a seed of its own, or the result of one would be that of the next
}

func newCluster(t *testing.T) *cluster {
	if testing.Short() {
		t.Skip("takes a minute")
	}
	f := &cluster{t: t}
	t.Setenv("PLEAT_BLOBS", filepath.Join(t.TempDir(), "blobs"))
	f.api = newNode(t, storetest.Postgres(t))
	f.key = strings.TrimSpace(f.api.output("keys", "create", "--user", "ada"))
	return f
}

// serve starts the server; the workers must have made their models known by then.
func (f *cluster) serve() {
	f.url = f.api.start("serve", "--addr", "127.0.0.1:0", "--work=false")
	f.db = f.api.open()
}

// worker starts a worker with a data folder of its own.
func (f *cluster) worker() *node {
	n := newNode(f.t, f.api.database)
	db := n.open()
	known := func() (workers int) { // 0 until there are tables
		_ = db.QueryRow("SELECT count(*) FROM worker").Scan(&workers)
		return workers
	}
	before := known()
	n.start("worker")
	waitUntil(f.t, 30*time.Second, "the worker is known", func() bool { return known() > before })
	return n
}

func (f *cluster) call(method, path, body string) map[string]any {
	f.t.Helper()
	req, err := http.NewRequest(method, f.url+path, strings.NewReader(body))
	if err != nil {
		f.t.Fatal(err)
	}
	req.Header.Set("X-API-Key", f.key)
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		f.t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	var out map[string]any
	if err != nil || json.Unmarshal(b, &out) != nil {
		f.t.Fatalf("%s %s: %d %s %v", method, path, res.StatusCode, b, err)
	}
	out["code"] = res.StatusCode
	return out
}

func (f *cluster) create(ms int) string {
	f.t.Helper()
	out := f.call("POST", "/v1/jobs", fmt.Sprintf(`{"name":"x","sequences":[{"proteinChain":{"sequence":"GSGS"}}],"params":{"modelName":"null","seed":"%d","samplingSteps":%d}}`, f.made.Add(1), ms))
	id, _ := out["jobId"].(string)
	if id == "" {
		f.t.Fatal(out)
	}
	return id
}

func (f *cluster) state(job string) string {
	out := f.call("GET", "/v1/jobs/"+job, "")
	j, _ := out["job"].(map[string]any)
	s, _ := j["status"].(string)
	return s
}

func (f *cluster) await(job, state string, limit time.Duration) {
	f.t.Helper()
	waitUntil(f.t, limit, job+" is "+state, func() bool { return f.state(job) == state })
}

func TestWorkersShareTheWork(t *testing.T) {
	f := newCluster(t)
	f.worker()
	f.worker()
	f.serve()
	var jobs []string
	for range 20 {
		jobs = append(jobs, f.create(200))
	}
	for _, j := range jobs {
		f.await(j, "COMPLETED", 60*time.Second)
	}
	if n := count(t, f.db, "SELECT count(DISTINCT worker_id) FROM attempt"); n != 2 {
		t.Errorf("%d workers did all the work", n)
	}
	// Progress and cancel cross processes.
	long := f.create(60_000)
	f.await(long, "RUNNING", 30*time.Second)
	waitUntil(t, 30*time.Second, "progress is seen", func() bool {
		p, _ := f.call("GET", "/v1/jobs/"+long, "")["progress"].(map[string]any)
		done, _ := p["done"].(float64)
		return p["stage"] == "wait" && done > 0
	})
	asked := time.Now()
	f.call("POST", "/v1/jobs/"+long+"/cancel", "")
	f.await(long, "STOPPED", 30*time.Second) // it would have run for a minute
	t.Logf("the cancel took %v", time.Since(asked))
}

func TestSleepingWorkerCannotFinish(t *testing.T) {
	f := newCluster(t)
	asleep := f.worker()
	f.serve()
	job := f.create(3000)
	f.await(job, "RUNNING", 30*time.Second)
	if err := asleep.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	f.worker()
	f.await(job, "COMPLETED", 60*time.Second)
	before := count(t, f.db, "SELECT count(*) FROM run_event")
	if err := asleep.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	waitUntil(t, 30*time.Second, "the woken worker knows that its task was taken over", func() bool {
		return strings.Contains(asleep.log.String(), "another worker has the task") ||
			strings.Contains(asleep.log.String(), "lost to another worker")
	})
	for what, q := range map[string]string{
		"attempts that are done":      "SELECT count(*) - 1 FROM attempt WHERE outcome = 'done'",
		"attempts that were not lost": "SELECT count(*) - 1 FROM attempt WHERE outcome = 'lost' AND number = 1",
		"events":                      "SELECT count(*) - 1 FROM event",
	} {
		if n := count(t, f.db, q); n != 0 {
			t.Errorf("%s: one expected, %d more", what, n)
		}
	}
	if after := count(t, f.db, "SELECT count(*) FROM run_event"); after != before {
		t.Errorf("the woken worker added %d events to a run that was not its own", after-before)
	}
}

// storeFailure matches the log line of a worker that cannot store a result and will try again.
var storeFailure = regexp.MustCompile(`msg="[^"]*(ended|finished|stored)[^"]*again" task=`)

// The result of a run that ends while the database is away is not lost.
func TestDatabaseGoneAndBack(t *testing.T) {
	f := newCluster(t)
	worker := f.worker()
	f.serve()
	done, running := f.create(1), f.create(4000)
	f.await(done, "COMPLETED", 20*time.Second)
	f.await(running, "RUNNING", 20*time.Second)
	admin, err := sql.Open("pgx", os.Getenv("PLEAT_TEST_POSTGRES"))
	if err != nil {
		t.Fatal(err)
	}
	defer admin.Close()
	address, err := url.Parse(f.api.database)
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
	out := f.call("POST", "/v1/jobs", `{"name":"x","sequences":[{"proteinChain":{"sequence":"GSGS"}}],"params":{"modelName":"null"}}`)
	if out["code"] != 503 || !strings.Contains(fmt.Sprint(out["message"]), "try again") {
		t.Errorf("without a database: %v", out)
	}
	if out := f.call("GET", "/readyz", ""); out["code"] != 503 {
		t.Errorf("ready without a database: %v", out)
	}
	waitUntil(t, 60*time.Second, "the worker fails to store the result", func() bool {
		return storeFailure.MatchString(worker.log.String())
	})
	do("ALTER DATABASE " + name + " ALLOW_CONNECTIONS true")
	waitUntil(t, 30*time.Second, "the service is ready again", func() bool { return f.call("GET", "/readyz", "")["code"] == 200 })
	f.await(running, "COMPLETED", 60*time.Second)
	f.await(f.create(1), "COMPLETED", 30*time.Second)
}

// TestDiskFull fills the disk under the data folder: creating must say so and change nothing, and go on once there is
// room.
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
	f := &cluster{t: t, api: n}
	f.key = strings.TrimSpace(n.output("keys", "create", "--user", "ada"))
	f.url = n.start("serve", "--addr", "127.0.0.1:0")
	f.await(f.create(1), "COMPLETED", 20*time.Second)
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
		out := f.call("POST", "/v1/jobs", `{"name":"x","sequences":[{"proteinChain":{"sequence":"GSGS"}}],"params":{"modelName":"null","recyclingSteps":1}}`)
		if out["code"] == 503 {
			refused = true
			break
		}
		acked = append(acked, fmt.Sprint(out["jobId"]))
	}
	if !refused {
		t.Error("200 jobs were taken on a full disk")
	}
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	for _, j := range append(acked, f.create(1)) {
		f.await(j, "COMPLETED", 60*time.Second)
	}
}
