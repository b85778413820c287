package testprogram

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
	"syscall"
	"testing"
	"time"

	"pleat/api"
	"pleat/internal/blob"
	"pleat/internal/garbage"
	"pleat/internal/store"
	"pleat/internal/store/storetest"
)

// Node is a process of the program with a data folder and a database. It is killed when the test ends, and its log is
// shown if the test failed.
type Node struct {
	T        *testing.T
	Dir      string // has the data folder
	Program  string // the released program, unless the test sets another
	Database string
	Env      []string       // in addition to those that Command sets
	Cmd      *exec.Cmd      // the process that runs; nil if none does
	Log      *storetest.Log // of all its processes
	URL      string         // address of the server, after Serve
	Key      string         // API key, after CreateKey
}

// NewNode returns a node of the released program, of which no process runs yet, on a database; empty: the program makes
// one in the data folder.
func NewNode(t *testing.T, database string) *Node {
	program, err := Released()
	if err != nil {
		t.Fatal(err)
	}
	n := &Node{T: t, Dir: t.TempDir(), Program: program, Database: database, Log: &storetest.Log{}}
	t.Cleanup(func() {
		n.Kill()
		if t.Failed() {
			t.Log("the node's log ends with:\n", LastLines(n.Log.String(), 40))
		}
	})
	return n
}

// Command returns a command of the program, which has not been started.
func (n *Node) Command(args ...string) *exec.Cmd {
	cmd := exec.Command(n.Program, args...)
	database, direct := n.Database, ""
	if pooled := storetest.Pooled(n.T, database); pooled != "" {
		database, direct = pooled, database
	}
	cmd.Env = append(os.Environ(), "PLEAT_DATA="+filepath.Join(n.Dir, "data"), "PLEAT_DATABASE="+database,
		"PLEAT_DATABASE_DIRECT="+direct,
		"PLEAT_ENGINES=null", "PLEAT_LOG_LEVEL=warn", "PLEAT_QUOTA=10000000", "PLEAT_SLOTS=8",
		"PLEAT_WORKFLOW_QUOTA=10000000", "PLEAT_DRAFT_LIMIT=10000000",
		"PLEAT_SECRET_KEY="+strings.Repeat("ab", 32))
	cmd.Env = append(cmd.Env, n.Env...)
	return cmd
}

// CreateKey creates an API key for the user ada.
func (n *Node) CreateKey() {
	n.T.Helper()
	cmd := n.Command("keys", "create", "--user", "ada", "--init")
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		n.T.Fatalf("keys create: %v\n%s", err, errs.String())
	}
	n.Key = strings.TrimSpace(string(out))
}

// Start starts a command that does not end by itself, and returns its standard output.
func (n *Node) Start(args ...string) io.Reader {
	n.T.Helper()
	n.Cmd = n.Command(args...)
	n.Cmd.Stderr = n.Log
	out, err := n.Cmd.StdoutPipe()
	if err != nil {
		n.T.Fatal(err)
	}
	if err := n.Cmd.Start(); err != nil {
		n.T.Fatal(err)
	}
	return out
}

// Serve starts a server and waits until it listens.
func (n *Node) Serve(flags ...string) {
	n.T.Helper()
	out := n.Start(append([]string{"serve", "--addr", "127.0.0.1:0"}, flags...)...)
	line, err := bufio.NewReader(out).ReadString('\n')
	url, ok := strings.CutPrefix(strings.TrimSpace(line), "listening on ")
	if err != nil || !ok {
		n.T.Fatalf("the server's first line is %q, %v\n%s", line, err, n.Log.String())
	}
	n.URL = url
}

// Client returns a client of the server with the node's key.
func (n *Node) Client() *api.Client { return &api.Client{Base: n.URL, Key: n.Key} }

// Request sends a request with the node's key and returns the status and the body of the response.
func (n *Node) Request(method, path, body string, header ...string) (int, []byte) {
	n.T.Helper()
	req, err := http.NewRequest(method, n.URL+path, strings.NewReader(body))
	if err != nil {
		n.T.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+n.Key)
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		n.T.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		n.T.Fatal(err)
	}
	return res.StatusCode, b
}

// Kill ends the process with SIGKILL, if one runs.
func (n *Node) Kill() {
	if n.Cmd != nil && n.Cmd.Process != nil {
		_ = n.Cmd.Process.Kill()
		_ = n.Cmd.Wait()
		n.Cmd = nil
	}
}

// Stop asks the process to end, which it must do in order.
func (n *Node) Stop() {
	n.T.Helper()
	if err := n.Cmd.Process.Signal(syscall.SIGTERM); err != nil {
		n.T.Fatal(err)
	}
	if err := n.Cmd.Wait(); err != nil {
		n.T.Errorf("the server ended with %v", err)
	}
	n.Cmd = nil
}

// OpenFiles returns the paths of what the process has open: files, and sockets and pipes by their kind and number.
func (n *Node) OpenFiles() (paths []string) {
	n.T.Helper()
	links, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", n.Cmd.Process.Pid))
	if err != nil || len(links) == 0 {
		n.T.Fatalf("the open files of the process are not known: %v", err)
	}
	for _, link := range links {
		if path, err := os.Readlink(link); err == nil { // it may be closed by now
			paths = append(paths, path)
		}
	}
	return paths
}

// SQLiteConnections returns how many connections to its SQLite database the process has: each has the write-ahead log
// open.
func (n *Node) SQLiteConnections() (connections int) {
	n.T.Helper()
	log := strings.TrimPrefix(n.Database, "sqlite:") + "-wal"
	for _, path := range n.OpenFiles() {
		if path == log {
			connections++
		}
	}
	return connections
}

// Open opens the node's database for reading.
func (n *Node) Open() *sql.DB {
	driver, address := "pgx", n.Database
	if path, ok := strings.CutPrefix(n.Database, "sqlite:"); ok {
		driver, address = "sqlite", "file:"+path+"?_pragma=busy_timeout(10000)&_pragma=query_only(1)"
	}
	db, err := sql.Open(driver, address)
	if err != nil {
		n.T.Fatal(err)
	}
	n.T.Cleanup(func() { _ = db.Close() })
	return db
}

// WantNoOrphans collects garbage as if all files were old, and compares the rest with the number of referenced files.
func (n *Node) WantNoOrphans(referenced int) {
	n.T.Helper()
	ctx := context.Background()
	s, err := store.Open(ctx, n.Database, store.Options{})
	if err != nil {
		n.T.Fatal(err)
	}
	defer s.DB.Close()
	blobs, err := blob.Open(ctx, "dir:"+filepath.Join(n.Dir, "data", "blobs"))
	if err != nil {
		n.T.Fatal(err)
	}
	removed, err := garbage.Collect(ctx, s.Ops, s.Runs, blobs, time.Now().Add(time.Hour))
	if err != nil {
		n.T.Fatal(err)
	}
	n.T.Logf("garbage collection removed %d files that a killed server had left", removed)
	left := 0
	err = filepath.WalkDir(filepath.Join(n.Dir, "data", "blobs"), func(path string, d os.DirEntry, err error) error {
		marker := filepath.Base(filepath.Dir(path)) == "store"
		if err == nil && d.Type().IsRegular() && !marker {
			left++
		}
		return err
	})
	if err != nil || left != referenced {
		n.T.Errorf("%d files are left after garbage collection, %d are referenced: %v", left, referenced, err)
	}
}

// CreateNull creates a job of the model null with further parameters, if any, and returns its id.
func (n *Node) CreateNull(params string) string {
	n.T.Helper()
	status, b := n.Request("POST", "/v1/jobs", NullJob(params))
	var created struct{ JobID string }
	if err := json.Unmarshal(b, &created); err != nil || status != 200 {
		n.T.Fatalf("create: %d %s", status, b)
	}
	return created.JobID
}

// Run runs a command of the node's program and returns its output and its exit code.
func (n *Node) Run(args ...string) (string, int) {
	n.T.Helper()
	cmd := n.Command(args...)
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		n.T.Fatal(err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

// Signal sends a signal to the process.
func (n *Node) Signal(s syscall.Signal) {
	n.T.Helper()
	if err := n.Cmd.Process.Signal(s); err != nil {
		n.T.Fatal(err)
	}
}

// CreateUntilKilled lets clients create things, kills the server at a random instant within a time of the first
// acknowledgement, and returns the identifiers that it acknowledged. Counting from the first acknowledgement proves as
// much on a slow machine as on a fast one; a server that acknowledges nothing for 5 s is killed as well.
func (n *Node) CreateUntilKilled(clients int, within time.Duration, create func() (string, error)) []string {
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
					n.T.Error(err)
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
	n.Kill()
	wg.Wait()
	return ids
}

// CreateThroughKills is CreateUntilKilled in rounds, with a restart after each. It returns what was acknowledged, at
// least one thing a round on average.
func (n *Node) CreateThroughKills(
	rounds, clients int, within time.Duration, restart func(), create func() (string, error),
) map[string]bool {
	n.T.Helper()
	acked := map[string]bool{}
	for round := range rounds {
		for _, id := range n.CreateUntilKilled(clients, within, create) {
			acked[id] = true
		}
		n.T.Logf("round %d: %d acknowledged", round, len(acked))
		restart()
	}
	if len(acked) < rounds {
		n.T.Fatalf("only %d were acknowledged; the test proves nothing", len(acked))
	}
	return acked
}

// LastLines returns the last k lines of a text.
func LastLines(s string, k int) string {
	lines := strings.Split(s, "\n")
	return strings.Join(lines[max(0, len(lines)-k):], "\n")
}
