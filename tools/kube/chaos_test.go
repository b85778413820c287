package kube

import (
	"bytes"
	"database/sql"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	core "k8s.io/api/core/v1"
)

const (
	chaosNull   = 500 // jobs of the engine that computes nothing, in each round
	chaosFolds  = 10  // jobs of mini
	chaosFaults = 12
)

// Pods, workers and servers are killed at random while jobs run, PLEAT_TEST_CHAOS (1) times. In the end every job is in
// its final state, once, with the files that a single machine makes.
func TestClusterChaos(t *testing.T) {
	needCluster(t)
	rounds := 1
	if text := os.Getenv("PLEAT_TEST_CHAOS"); text != "" {
		var err error
		if rounds, err = strconv.Atoi(text); err != nil || rounds < 1 {
			t.Fatalf("PLEAT_TEST_CHAOS is %q; it must be a number of rounds", text)
		}
	}
	s := newSite(t, "callers")
	s.values["server"].(map[string]any)["config"].(map[string]any)["quota"] = 1000 * rounds
	s.values["workerDefaults"].(map[string]any)["slots"] = 4
	s.install()
	s.secret("pleat-workers", "quick", s.pleat("fleet", "token", "quick"))
	alone := s.alone()
	for round := 1; round <= rounds && !t.Failed(); round++ {
		s.chaos(round)
		alone.submit(round)
		alone.untilEnded(round * (chaosNull + chaosFolds))
		one, many := alone.files(), s.files()
		if len(one) < round*chaosNull || !maps.Equal(one, many) {
			t.Errorf("one machine made %d files and the cluster %d, or they differ", len(one), len(many))
		}
	}
}

// chaos creates the jobs of a round and does faults while they run.
func (s *site) chaos(round int) {
	s.Helper()
	before := (round - 1) * (chaosNull + chaosFolds)
	s.submit(round)
	for fault := range chaosFaults {
		// The faults are spread over the work: each waits for its share of the jobs.
		s.untilEnded(before + (fault+1)*(chaosNull+chaosFolds)/(chaosFaults+1))
		s.Logf("round %d: %s", round, s.injectFault())
	}
	s.untilEnded(round * (chaosNull + chaosFolds))
	for what, query := range map[string]string{
		"tasks are left": "SELECT count(*) FROM task",
		"tasks were completed twice": "SELECT count(*) FROM (" +
			"SELECT task_id FROM attempt WHERE outcome = 'done' GROUP BY task_id HAVING count(*) > 1) x",
		"runs do not have one event": "SELECT count(*) FROM run r " +
			"WHERE (SELECT count(*) FROM event e WHERE e.run_id = r.id) <> 1",
	} {
		if n := count(s.T, s.db, query); n != 0 {
			s.Errorf("%d %s", n, what)
		}
	}
	s.Logf("round %d: %d attempts were released and %d lost", round,
		count(s.T, s.db, "SELECT count(*) FROM attempt WHERE outcome = 'released'"),
		count(s.T, s.db, "SELECT count(*) FROM attempt WHERE outcome = 'lost'"))
}

// count returns the number that a query selects.
func count(t *testing.T, db *sql.DB, query string) (n int) {
	t.Helper()
	if err := db.QueryRowContext(t.Context(), query).Scan(&n); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return n
}

// submit creates the jobs of a round, in a random order. The inputs of all differ, so that none has the result of
// another.
func (s *site) submit(round int) {
	s.Helper()
	for _, i := range rand.Perm(chaosNull + chaosFolds) {
		name, params := fmt.Sprintf("%d-%d", round, i), fmt.Sprintf(`"modelName": "mini", "seed": "%d"`, round)
		if i < chaosNull {
			params = fmt.Sprintf(`"modelName": "null", "seed": "%d", "samplingSteps": 300, "recyclingSteps": 2`, round)
		}
		sequence := strings.NewReplacer("0", "G", "1", "A").Replace(fmt.Sprintf("%010b", i))
		s.create(name, sequence, params)
	}
}

// untilEnded waits until so many jobs have completed, as long as some do.
func (s *site) untilEnded(n int) {
	s.Helper()
	for before, now := -1, 0; now < n; before = now {
		s.until(fmt.Sprintf("more than %d of %d jobs have completed", before, n), func() bool {
			now = count(s.T, s.db, "SELECT count(*) FROM job WHERE state = 'COMPLETED'")
			return now > before
		})
	}
}

// injectFault does one fault at random and returns what it was.
func (s *site) injectFault() string {
	s.Helper()
	component := []string{"worker", "worker", "server"}[rand.IntN(3)]
	var running []core.Pod
	s.until("a "+component+" runs", func() bool {
		running = s.running(component)
		return len(running) > 0
	})
	pod := running[rand.IntN(len(running))].Name
	switch rand.IntN(3) {
	case 0:
		s.kubectl("delete", "pod", "--wait=false", "--ignore-not-found", pod)
		return "the pod " + pod + " is deleted"
	case 1:
		// The process goes on: nothing tells the node that its pod is gone.
		s.kubectl("delete", "pod", "--force", "--grace-period=0", "--ignore-not-found", pod)
		if component == "server" { // but another cannot have its port meanwhile
			killPod(s.T, pod)
		}
		return "the pod " + pod + " is forgotten"
	}
	killPod(s.T, pod)
	return "the process of " + pod + " is killed"
}

// killPod kills the process of a pod, if it has one.
func killPod(t *testing.T, pod string) {
	t.Helper()
	all, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range all {
		text, err := os.ReadFile(path)
		if err != nil || !bytes.Contains(text, []byte("\x00HOSTNAME="+pod+"\x00")) {
			continue // it has ended, or is not ours
		}
		if pid, err := strconv.Atoi(strings.Split(path, "/")[2]); err == nil {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

// alone is a single machine: a server that works itself.
func (s *site) alone() *site {
	s.Helper()
	database, port, dir := newDatabase(s.T, "alone"), freePort(s.T), s.TempDir()
	one := &site{T: s.T, program: s.program, url: fmt.Sprintf("http://127.0.0.1:%d", port), db: openDatabase(s.T, database)}
	one.env = append(os.Environ(), "PLEAT_DATABASE="+database, "PLEAT_SECRET_KEY="+strings.Repeat("6b", 32),
		"PLEAT_DATA="+dir, "PLEAT_ENGINES=mini,null", "PLEAT_SLOTS=16", "PLEAT_QUOTA=100000",
		fmt.Sprintf("PLEAT_ADDR=127.0.0.1:%d", port))
	cmd := exec.Command(s.program, "serve")
	cmd.Env = one.env
	if err := cmd.Start(); err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	one.untilReady()
	return one
}

// files returns the hashes of all files of jobs by the names of job and file, but of files that hold times.
func (s *site) files() map[string]string {
	s.Helper()
	rows, err := s.db.QueryContext(s.Context(), `SELECT j.name, a.name, a.sha256 FROM artifact a
		JOIN job j ON j.run_id = a.run_id WHERE a.name NOT IN ('metrics.json', 'results.zip')`)
	if err != nil {
		s.Fatal(err)
	}
	defer rows.Close()
	out := map[string]string{}
	for rows.Next() {
		var job, name, sum string
		if err := rows.Scan(&job, &name, &sum); err != nil {
			s.Fatal(err)
		}
		out[job+"/"+name] = sum
	}
	if err := rows.Err(); err != nil {
		s.Fatal(err)
	}
	return out
}
