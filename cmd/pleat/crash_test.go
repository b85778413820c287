package main

import (
	"bufio"
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
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

	"pleat/internal/blob"
	"pleat/internal/store"
	"pleat/internal/store/storetest"
	"pleat/internal/work"
)

// crashRounds is how often the server is killed, on each database.
const crashRounds = 20

// TestKilledServerLosesNothing kills the server with SIGKILL at random instants while 64 clients create jobs and its
// worker runs them. Afterwards every acknowledged job must have ended, none may have completed twice, the quota must
// equal the rows, and the sweep must leave no file that nothing names.
func TestKilledServerLosesNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a minute")
	}
	for name, fresh := range storetest.Databases() {
		t.Run(name, func(t *testing.T) { killRounds(t, fresh(t)) })
	}
}

func killRounds(t *testing.T, database string) {
	n := newNode(t, database)
	key := strings.TrimSpace(n.output("keys", "create", "--user", "ada"))
	acked := map[string]bool{}
	for round := range crashRounds {
		url := n.start("serve", "--addr", "127.0.0.1:0")
		for _, id := range createUntilKilled(t, url, key, time.Duration(rand.IntN(400))*time.Millisecond, n.kill) {
			acked[id] = true
		}
		t.Logf("round %d: %d jobs acknowledged", round, len(acked))
	}
	if len(acked) < crashRounds {
		t.Fatalf("only %d jobs were acknowledged; the test proves nothing", len(acked))
	}
	n.start("serve", "--addr", "127.0.0.1:0")
	db := n.open()
	waitUntil(t, 10*time.Minute, "every job has ended", func() bool {
		return count(t, db, "SELECT count(*) FROM job WHERE state NOT IN ('COMPLETED', 'FAILED', 'STOPPED')") == 0
	})
	n.stop()
	for id := range acked {
		var state string
		if err := db.QueryRow("SELECT state FROM job WHERE id = $1", id).Scan(&state); err != nil || state != "COMPLETED" {
			t.Errorf("acknowledged job %s: %s %v", id, state, err)
		}
	}
	for what, q := range map[string]string{
		"attempts completed twice":           "SELECT count(*) FROM (SELECT task_id FROM attempt WHERE outcome = 'done' GROUP BY task_id HAVING count(*) > 1) x",
		"runs with another number of events": "SELECT count(*) FROM run r WHERE (SELECT count(*) FROM event e WHERE e.run_id = r.id) <> 1",
		"tasks left open":                    "SELECT count(*) FROM task WHERE state IN ('queued', 'waiting', 'running')",
		"jobs beyond the quota":              "SELECT abs((SELECT sum(used) FROM quota_day) - (SELECT count(*) FROM job))",
		"runs without their artifacts":       "SELECT count(*) FROM run r WHERE r.state = 'COMPLETED' AND (SELECT count(*) FROM artifact a WHERE a.run_id = r.id) <> 1",
	} {
		if k := count(t, db, q); k != 0 {
			t.Errorf("%s: %d", what, k)
		}
	}
	n.noOrphans(count(t, db, "SELECT count(*) FROM artifact"))
}

// createUntilKilled lets 64 clients create jobs, kills the server after a while and returns the jobs it had
// acknowledged.
func createUntilKilled(t *testing.T, url, key string, after time.Duration, kill func()) []string {
	var mu sync.Mutex
	var ids []string
	var wg sync.WaitGroup
	stop := make(chan struct{})
	client := &http.Client{Timeout: 20 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: 64}}
	defer client.CloseIdleConnections()
	for range 64 {
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				body := fmt.Sprintf(`{"name":"crash","sequences":[{"proteinChain":{"sequence":"GSGS"}}],"params":{"modelName":"null","samplingSteps":%d,"recyclingSteps":1}}`, 1+rand.IntN(30))
				req, _ := http.NewRequest(http.MethodPost, url+"/v1/jobs", strings.NewReader(body))
				req.Header.Set("Authorization", "Bearer "+key)
				req.Header.Set("Content-Type", "application/json")
				res, err := client.Do(req)
				if err != nil {
					return // the server is gone
				}
				answer, err := io.ReadAll(res.Body)
				_ = res.Body.Close()
				var created struct {
					JobID string `json:"jobId"`
				}
				if err != nil {
					return
				}
				if res.StatusCode != http.StatusOK || json.Unmarshal(answer, &created) != nil || created.JobID == "" {
					t.Errorf("%d %s", res.StatusCode, answer)
					return
				}
				mu.Lock()
				ids = append(ids, created.JobID)
				mu.Unlock()
				time.Sleep(rand.N(200 * time.Millisecond)) // all of them have to be run in the end
			}
		})
	}
	// The instant is random from the first acknowledgement on, so that a slow machine proves as much as a fast one; a
	// server that has acknowledged nothing after a while is killed as well.
	for end := time.Now().Add(5 * time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
		mu.Lock()
		n := len(ids)
		mu.Unlock()
		if n > 0 {
			break
		}
	}
	time.Sleep(after)
	kill()
	close(stop)
	wg.Wait()
	return ids
}

// shipped builds the program as it is shipped, once: what kills processes measures minutes of work, which the race
// detector would make tens of minutes. The scenarios run with the detector.
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

var shippedDir string // what TestMain removes in the end

// itself is this test binary where testscript runs it as the program.
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
	env      []string // beside what command sets
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
	cmd.Env = append(os.Environ(), "PLEAT_DATA="+filepath.Join(n.dir, "data"), "PLEAT_DATABASE="+n.database, "PLEAT_ENGINES=null",
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

// start runs a command that stays, and returns the address that it prints, if it is a server.
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

// open reads the node's database beside it.
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

// noOrphans sweeps as if all files were old and compares what is left with what is named.
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
	n.t.Logf("the sweep removed %d files that a killed server had left", removed)
	left := 0
	err = filepath.WalkDir(filepath.Join(n.dir, "data", "blobs"), func(path string, d os.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			left++
		}
		return err
	})
	if err != nil || left != named {
		n.t.Errorf("%d files are left after the sweep, %d are named: %v", left, named, err)
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
