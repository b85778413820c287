package main

import (
	"bufio"
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
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

	"pleat/internal/blob"
	"pleat/internal/store"
	"pleat/internal/store/storetest"
	"pleat/internal/work"
)

// This file has what the tests of running programs share: node, one process with its data; cluster, a server and its
// workers; child, a process of a scenario.

// shipped builds the released program once. Crash tests use it, since the race detector would make them ten times as
// long; the scenarios run with the detector.
var shipped = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "pleat-plain-")
	if err != nil {
		return "", err
	}
	shippedDir = dir
	build := exec.Command("go", "build", "-o", dir, ".")
	build.Env = append(os.Environ(), "GOFLAGS=", "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the program: %w\n%s", err, out)
	}
	return filepath.Join(dir, "pleat"), nil
})

var shippedDir string // removed by TestMain

// itself returns the path of this test binary under the name that makes testscript run it as the program.
func itself(t *testing.T) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "pleat")
	if err := os.Symlink(self, name); err != nil {
		t.Fatal(err)
	}
	return name
}

// node is a process of this program with a data folder and a database.
type node struct {
	t        *testing.T
	dir      string
	program  string
	database string
	env      []string // in addition to what command sets
	cmd      *exec.Cmd
	log      *lockedBuffer
}

func newNode(t *testing.T, database string) *node {
	program, err := shipped()
	if err != nil {
		t.Fatal(err)
	}
	n := &node{t: t, dir: t.TempDir(), program: program, database: database, log: &lockedBuffer{}}
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

func (n *node) command(args ...string) *exec.Cmd {
	cmd := exec.Command(n.program, args...)
	cmd.Env = append(os.Environ(), "PLEAT_DATA="+filepath.Join(n.dir, "data"), "PLEAT_DATABASE="+n.database,
		"PLEAT_ENGINES=null",
		"PLEAT_LOG_LEVEL=warn", "PLEAT_QUOTA=10000000", "PLEAT_SLOTS=8", "PLEAT_SECRET_KEY="+strings.Repeat("ab", 32))
	cmd.Env = append(cmd.Env, n.env...)
	return cmd
}

func (n *node) output(args ...string) string {
	n.t.Helper()
	cmd := n.command(args...)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		n.t.Fatalf("pleat %v: %v\n%s", args, err, errs.String())
	}
	return string(out)
}

// start starts a command that does not end by itself. Of a server it returns the address that it prints.
func (n *node) start(args ...string) string {
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
	if args[0] != "serve" {
		return ""
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		n.t.Fatalf("the server did not start: %v\n%s", err, n.log.String())
	}
	return strings.TrimSpace(strings.TrimPrefix(line, "listening on "))
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

// noOrphans collects garbage as if all files were old, and compares the rest with the number of referenced files.
func (n *node) noOrphans(named int) {
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
	removed, err := work.CollectGarbage(ctx, s, blobs, time.Now().Add(time.Hour))
	if err != nil {
		n.t.Fatal(err)
	}
	n.t.Logf("garbage collection removed %d files that a killed server had left", removed)
	left := 0
	err = filepath.WalkDir(filepath.Join(n.dir, "data", "blobs"), func(path string, d os.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			left++
		}
		return err
	})
	if err != nil || left != named {
		n.t.Errorf("%d files are left after garbage collection, %d are referenced: %v", left, named, err)
	}
}

func count(t *testing.T, db *sql.DB, q string) int {
	t.Helper()
	var k int
	if err := db.QueryRow(q).Scan(&k); err != nil {
		t.Fatalf("%s: %v", q, err)
	}
	return k
}

func waitUntil(t *testing.T, limit time.Duration, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(limit); !ok(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within %v: %s", limit, what)
		}
	}
}

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
	out := f.call("POST", "/v1/jobs",
		fmt.Sprintf(`{"name":"x","sequences":[{"proteinChain":{"sequence":"GSGS"}}],"params":{"modelName":"null","seed":"%d","samplingSteps":%d}}`, f.made.Add(1), ms))
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

// child is the program in a process of its own, serving or working.
type child struct {
	cmd  *exec.Cmd
	url  string
	log  *lockedBuffer
	done chan error
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

func (s *child) kill() {
	_ = s.cmd.Process.Kill()
	<-s.done
}
