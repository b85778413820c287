package cli

import (
	"bufio"
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"pleat/api"
	"pleat/internal/blob"
	"pleat/internal/blob/blobtest"
	"pleat/internal/garbage"
	"pleat/internal/store"
	"pleat/internal/store/storetest"
)

// This file starts real processes for the tests: node, one process with its data; cluster, a server and its workers on
// PostgreSQL. The processes of scenarios are in scenario_process_test.go.

// releasedProgram builds the released program once and returns its path. Crash tests use it, since the race detector
// would make them ten times as long; the scenarios run with the detector.
var releasedProgram = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "pleat-plain-")
	if err != nil {
		return "", err
	}
	releasedDir = dir
	build := exec.Command("go", "build", "-o", dir, "pleat/cmd/pleat")
	build.Env = append(os.Environ(), "GOFLAGS=", "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the program: %w\n%s", err, out)
	}
	return filepath.Join(dir, "pleat"), nil
})

var releasedDir string // removed by TestMain

// linkTestBinary links this test binary into a folder, which it creates, under the name pleat, by which testscript
// runs it as the program, and returns the path.
func linkTestBinary(t *testing.T, dir string) string {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(dir, "pleat")
	if err := os.Symlink(self, name); err != nil {
		t.Fatal(err)
	}
	return name
}

// node is a process of the program with a data folder and a database. It is killed when the test ends, and its log is
// shown if the test failed.
type node struct {
	t        *testing.T
	dir      string // has the data folder
	program  string // the released program, unless the test sets another
	database string
	env      []string // in addition to those that command sets
	cmd      *exec.Cmd
	log      *storetest.Log
	url      string // address of the server, after serve
	key      string // API key, after createKey
}

func newNode(t *testing.T, database string) *node {
	program, err := releasedProgram()
	if err != nil {
		t.Fatal(err)
	}
	n := &node{t: t, dir: t.TempDir(), program: program, database: database, log: &storetest.Log{}}
	t.Cleanup(func() {
		n.kill()
		if t.Failed() {
			t.Log("the node's log ends with:\n", lastLines(n.log.String(), 40))
		}
	})
	return n
}

func lastLines(s string, k int) string {
	lines := strings.Split(s, "\n")
	return strings.Join(lines[max(0, len(lines)-k):], "\n")
}

// command returns a command of the program, which has not been started.
func (n *node) command(args ...string) *exec.Cmd {
	cmd := exec.Command(n.program, args...)
	database, direct := n.database, ""
	if pooled := storetest.Pooled(n.t, database); pooled != "" {
		database, direct = pooled, database
	}
	cmd.Env = append(os.Environ(), "PLEAT_DATA="+filepath.Join(n.dir, "data"), "PLEAT_DATABASE="+database,
		"PLEAT_DATABASE_DIRECT="+direct,
		"PLEAT_ENGINES=null", "PLEAT_LOG_LEVEL=warn", "PLEAT_QUOTA=10000000", "PLEAT_SLOTS=8",
		"PLEAT_WORKFLOW_QUOTA=10000000", "PLEAT_DRAFT_LIMIT=10000000",
		"PLEAT_SECRET_KEY="+strings.Repeat("ab", 32))
	cmd.Env = append(cmd.Env, n.env...)
	return cmd
}

// createKey creates an API key for the user ada.
func (n *node) createKey() {
	n.t.Helper()
	cmd := n.command("keys", "create", "--user", "ada", "--init")
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		n.t.Fatalf("keys create: %v\n%s", err, errs.String())
	}
	n.key = strings.TrimSpace(string(out))
}

// start starts a command that does not end by itself, and returns its standard output.
func (n *node) start(args ...string) io.Reader {
	n.t.Helper()
	n.cmd = n.command(args...)
	n.cmd.Stderr = n.log
	out, err := n.cmd.StdoutPipe()
	if err != nil {
		n.t.Fatal(err)
	}
	if err := n.cmd.Start(); err != nil {
		n.t.Fatal(err)
	}
	return out
}

// serve starts a server and waits until it listens.
func (n *node) serve(flags ...string) {
	n.t.Helper()
	out := n.start(append([]string{"serve", "--addr", "127.0.0.1:0"}, flags...)...)
	line, err := bufio.NewReader(out).ReadString('\n')
	url, ok := strings.CutPrefix(strings.TrimSpace(line), "listening on ")
	if err != nil || !ok {
		n.t.Fatalf("the server's first line is %q, %v\n%s", line, err, n.log.String())
	}
	n.url = url
}

// client returns a client of the server with the node's key.
func (n *node) client() *api.Client { return &api.Client{Base: n.url, Key: n.key} }

// request sends a request with the node's key and returns the status and the body of the response.
func (n *node) request(method, path, body string, header ...string) (int, []byte) {
	n.t.Helper()
	req, err := http.NewRequest(method, n.url+path, strings.NewReader(body))
	if err != nil {
		n.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+n.key)
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		n.t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		n.t.Fatal(err)
	}
	return res.StatusCode, b
}

func (n *node) kill() {
	if n.cmd != nil && n.cmd.Process != nil {
		_ = n.cmd.Process.Kill()
		_ = n.cmd.Wait()
		n.cmd = nil
	}
}

func (n *node) stop() {
	n.t.Helper()
	if err := n.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		n.t.Fatal(err)
	}
	if err := n.cmd.Wait(); err != nil {
		n.t.Errorf("the server ended with %v", err)
	}
	n.cmd = nil
}

// open opens the node's database for reading.
func (n *node) open() *sql.DB {
	driver, address := "pgx", n.database
	if path, ok := strings.CutPrefix(n.database, "sqlite:"); ok {
		driver, address = "sqlite", "file:"+path+"?_pragma=busy_timeout(10000)&_pragma=query_only(1)"
	}
	db, err := sql.Open(driver, address)
	if err != nil {
		n.t.Fatal(err)
	}
	n.t.Cleanup(func() { _ = db.Close() })
	return db
}

// wantNoOrphans collects garbage as if all files were old, and compares the rest with the number of referenced files.
func (n *node) wantNoOrphans(referenced int) {
	n.t.Helper()
	ctx := context.Background()
	s, err := store.Open(ctx, n.database, store.Options{})
	if err != nil {
		n.t.Fatal(err)
	}
	defer s.Close()
	blobs, err := blob.Open(ctx, "dir:"+filepath.Join(n.dir, "data", "blobs"))
	if err != nil {
		n.t.Fatal(err)
	}
	removed, err := garbage.Collect(ctx, s, blobs, time.Now().Add(time.Hour))
	if err != nil {
		n.t.Fatal(err)
	}
	n.t.Logf("garbage collection removed %d files that a killed server had left", removed)
	left := 0
	err = filepath.WalkDir(filepath.Join(n.dir, "data", "blobs"), func(path string, d os.DirEntry, err error) error {
		marker := filepath.Base(filepath.Dir(path)) == "store"
		if err == nil && d.Type().IsRegular() && !marker {
			left++
		}
		return err
	})
	if err != nil || left != referenced {
		n.t.Errorf("%d files are left after garbage collection, %d are referenced: %v", left, referenced, err)
	}
}

// queryInt returns the only value of a query.
func queryInt(t *testing.T, db *sql.DB, q string) int {
	t.Helper()
	var k int
	if err := db.QueryRow(q).Scan(&k); err != nil {
		t.Fatalf("%s: %v", q, err)
	}
	return k
}

// Queries that must count 0 whatever was killed.
const (
	completedTwice = "SELECT count(*) FROM (SELECT task_id FROM attempt WHERE outcome = 'done' " +
		"GROUP BY task_id HAVING count(*) > 1) x"
	openTasks = "SELECT count(*) FROM task"
	// Where no job was deleted, what is counted is the time of the attempts at runs that have ended.
	miscounted = "SELECT CAST((SELECT COALESCE(sum(wall), 0) FROM usage_day) - (" +
		"SELECT COALESCE(sum(CASE WHEN ended_at > started_at THEN ended_at - started_at ELSE 0 END), 0) " +
		"FROM attempt WHERE ended_at > 0 AND run_id IS NOT NULL) AS bigint)"
)

// wantZero checks that each query counts 0; its key says what it counts.
func wantZero(t *testing.T, db *sql.DB, queries map[string]string) {
	t.Helper()
	for what, q := range queries {
		if k := queryInt(t, db, q); k != 0 {
			t.Errorf("%s: %d", what, k)
		}
	}
}

func waitUntil(t *testing.T, limit time.Duration, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(limit); !ok(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within %v: %s", limit, what)
		}
	}
}

// createUntilKilled lets clients create things, kills the server at a random instant within a time of the first
// acknowledgement, and returns the identifiers that it acknowledged. Counting from the first acknowledgement proves as
// much on a slow machine as on a fast one; a server that acknowledges nothing for 5 s is killed as well.
func (n *node) createUntilKilled(clients int, within time.Duration, create func() (string, error)) []string {
	var mu sync.Mutex
	var ids []string
	var wg sync.WaitGroup
	first := make(chan struct{})
	for range clients {
		wg.Go(func() {
			for {
				id, err := create()
				var refused *api.Error
				if errors.As(err, &refused) && refused.Status != 0 {
					n.t.Error(err)
				}
				if err != nil {
					return // the server is gone
				}
				mu.Lock()
				if ids = append(ids, id); len(ids) == 1 {
					close(first)
				}
				mu.Unlock()
			}
		})
	}
	select {
	case <-first:
	case <-time.After(5 * time.Second):
	}
	time.Sleep(rand.N(within))
	n.kill()
	wg.Wait()
	return ids
}

// createThroughKills is createUntilKilled in rounds, with a restart after each. It returns what was acknowledged, at
// least one thing a round on average.
func (n *node) createThroughKills(
	rounds, clients int, within time.Duration, restart func(), create func() (string, error),
) map[string]bool {
	n.t.Helper()
	acked := map[string]bool{}
	for round := range rounds {
		for _, id := range n.createUntilKilled(clients, within, create) {
			acked[id] = true
		}
		n.t.Logf("round %d: %d acknowledged", round, len(acked))
		restart()
	}
	if len(acked) < rounds {
		n.t.Fatalf("only %d were acknowledged; the test proves nothing", len(acked))
	}
	return acked
}

// cluster is a server that does not run jobs, and workers, on one PostgreSQL database and one bucket for artifacts, or
// one folder where there is no S3 server.
type cluster struct {
	t      *testing.T
	server *node
	addr   string // at which the server listens; empty: any
	db     *sql.DB

	made atomic.Int64 // jobs; each has a seed of its own, or the result cache would complete it
}

func newCluster(t *testing.T) *cluster {
	if testing.Short() {
		t.Skip("takes a minute")
	}
	c := &cluster{t: t}
	if blobtest.Available() {
		t.Setenv("PLEAT_BLOBS", blobtest.Address(t, blobtest.Bucket(t), "fleet"))
	} else {
		t.Setenv("PLEAT_BLOBS", filepath.Join(t.TempDir(), "blobs"))
	}
	c.server = newNode(t, storetest.MigratedPostgres(t))
	c.server.createKey()
	return c
}

// serve starts the server. Its workers must have registered by then: it refuses jobs for models that no worker has.
func (c *cluster) serve() {
	flags := []string{"--work=false"}
	if c.addr != "" {
		flags = append(flags, "--addr", c.addr)
	}
	c.server.serve(flags...)
	c.db = c.server.open()
}

// worker starts a worker with a data folder of its own and waits until it has registered.
func (c *cluster) worker() *node {
	n := newNode(c.t, c.server.database)
	db := n.open()
	known := func() (workers int) { // 0 until there are tables
		_ = db.QueryRow("SELECT count(*) FROM worker").Scan(&workers)
		return workers
	}
	before := known()
	n.start("worker")
	waitUntil(c.t, 30*time.Second, "the worker is known", func() bool { return known() > before })
	return n
}

// call sends a request to the server and returns the response, with its status under "code".
func (c *cluster) call(method, path, body string) map[string]any {
	c.t.Helper()
	status, raw := c.server.request(method, path, body)
	var out map[string]any
	if err := json.Unmarshal(raw, &out); err != nil {
		c.t.Fatalf("%s %s: %d %s %v", method, path, status, raw, err)
	}
	out["code"] = status
	return out
}

// create creates a job whose run takes some milliseconds.
func (c *cluster) create(ms int) string {
	c.t.Helper()
	out := c.call("POST", "/v1/jobs", nullJob(fmt.Sprintf(`"seed":"%d","samplingSteps":%d`, c.made.Add(1), ms)))
	id, _ := out["jobId"].(string)
	if id == "" {
		c.t.Fatal(out)
	}
	return id
}

// nullJob returns the body of a request that creates a job of the model null with further parameters, if any.
func nullJob(params string) string {
	if params != "" {
		params = "," + params
	}
	return `{"name":"x","sequences":[{"proteinChain":{"sequence":"GSGS"}}],"params":{"modelName":"null"` + params + `}}`
}

func (c *cluster) state(job string) string {
	out := c.call("GET", "/v1/jobs/"+job, "")
	j, _ := out["job"].(map[string]any)
	s, _ := j["status"].(string)
	return s
}

func (c *cluster) await(job, state string, limit time.Duration) {
	c.t.Helper()
	waitUntil(c.t, limit, job+" is "+state, func() bool { return c.state(job) == state })
}
