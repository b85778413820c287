package cli

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const (
	chaosNull   = 500 // jobs of the engine that computes nothing, in each round
	chaosFolds  = 10  // jobs of mini
	chaosFaults = 12
)

// chaosRounds is how often slurmChaos runs: PLEAT_TEST_CHAOS, or once.
func chaosRounds(t *testing.T) int {
	text := os.Getenv("PLEAT_TEST_CHAOS")
	if text == "" {
		return 1
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("PLEAT_TEST_CHAOS is %q; it must be a number of rounds", text)
	}
	return n
}

// chaosInput is a job that both the site and a single machine run.
type chaosInput struct{ name, model, sequence, params string }

// chaosInputs returns jobs whose inputs all differ, so that none has the result of another.
func chaosInputs() []chaosInput {
	var out []chaosInput
	for i := range chaosNull {
		sequence := strings.NewReplacer("0", "G", "1", "A").Replace(fmt.Sprintf("%010b", i))
		out = append(out, chaosInput{fmt.Sprint("null-", i), "null", sequence, `,"samplingSteps":300,"recyclingSteps":2`})
	}
	for i := range chaosFolds {
		out = append(out, chaosInput{fmt.Sprint("mini-", i), "mini", strings.Repeat("GSA", 2) + "AGSTVLIKEF"[i:i+1], ""})
	}
	rand.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out
}

// submit creates the jobs on a server.
func (n *node) submit(inputs []chaosInput) {
	n.t.Helper()
	for _, in := range inputs {
		status, raw := n.request("POST", "/v1/jobs", fmt.Sprintf(
			`{"name":%q,"sequences":[{"proteinChain":{"sequence":%q}}],"params":{"modelName":%q,"seed":"7"%s}}`,
			in.name, in.sequence, in.model, in.params))
		if status != 200 {
			n.t.Fatalf("%s: %d %s", in.name, status, raw)
		}
	}
}

// slurmChaos kills what takes part in a service at random, while its jobs run: workers, their jobs of Slurm, the fleet,
// the server and a node's daemon. In the end every job is in its final state, once, with the files that a single
// machine makes. The workers reach the database, or call the server.
func slurmChaos(s *slurmSite, called bool) {
	s.write("classes.yaml", fmt.Sprintf("classes:\n  - name: %s\n    engines: [mini, \"null\"]\n    driver: slurm\n"+
		"    target-wait: 1s\n    max-workers: 6\n    idle-exit: 3s\n    options:\n      output: %s\n",
		s.class, s.file("worker-%j.log")))
	s.server.createKey()
	s.serve()
	if called {
		s.callServer()
	}
	settings, err := os.ReadFile(s.config)
	if err != nil {
		s.t.Fatal(err)
	}
	s.write("worker.yaml", string(settings)+"slots: 4\n")
	s.startFleet()
	inputs := chaosInputs()
	s.server.submit(inputs)
	ended := func() int { return queryInt(s.t, s.db, "SELECT count(*) FROM job WHERE state = 'COMPLETED'") }
	for fault := range chaosFaults {
		// The faults are spread over the work: each waits for its share of the jobs.
		share := (fault + 1) * len(inputs) / (chaosFaults + 1)
		waitUntil(s.t, 3*time.Minute, fmt.Sprintf("%d jobs have ended", share), func() bool { return ended() >= share })
		s.t.Logf("%d jobs have ended: %s", ended(), s.hurt())
	}
	waitUntil(s.t, 3*time.Minute, "all jobs have ended", func() bool { return ended() == len(inputs) })
	s.gone()
	wantZero(s.t, s.db, map[string]string{
		"tasks that were completed twice": completedTwice,
		"miscounted µs":                   miscounted,
		"tasks that have not ended":       openTasks,
		"runs without exactly one event": "SELECT count(*) FROM run r " +
			"WHERE (SELECT count(*) FROM event e WHERE e.run_id = r.id) <> 1",
	})
	s.t.Logf("%d workers, %d attempts were released and %d lost", len(s.submitted()), s.outcomes("released"),
		s.outcomes("lost"))

	alone := newNode(s.t, "sqlite:"+s.file("alone.db"))
	alone.env = []string{"PLEAT_ENGINES=mini,null", "PLEAT_SLOTS=16", "PLEAT_BLOBS=" + s.file("alone")}
	alone.createKey()
	alone.serve()
	alone.submit(inputs)
	one := &cluster{t: s.t, server: alone, db: alone.open()}
	waitUntil(s.t, 3*time.Minute, "the single machine has run all", func() bool {
		return queryInt(s.t, one.db, "SELECT count(*) FROM job WHERE state = 'COMPLETED'") == len(inputs)
	})
	want, got := one.files("true"), s.files("true")
	if len(want) < chaosNull {
		s.t.Fatalf("the single machine made %d files", len(want))
	}
	if d := cmp.Diff(want, got); d != "" {
		s.t.Errorf("the files on one machine (-) and on Slurm (+):\n%s", d)
	}
	alone.stop()
}

// hurt does one fault at random, and returns what it was. Workers and jobs may end by themselves before they are hurt;
// the server is killed then.
func (s *slurmSite) hurt() string {
	s.t.Helper()
	running := ids(s.jobs("RUNNING"))
	switch rand.IntN(6) {
	case 0:
		workers := s.workers()
		if len(workers) > 0 && syscall.Kill(workers[rand.IntN(len(workers))], syscall.SIGKILL) == nil {
			return "a worker is killed"
		}
	case 1:
		if len(running) > 0 {
			if _, err := trySlurm("scancel", "--quiet", running[rand.IntN(len(running))]); err == nil {
				return "a job of Slurm is cancelled"
			}
		}
	case 2:
		if len(running) > 0 {
			if _, err := trySlurm("scontrol", "requeue", running[rand.IntN(len(running))]); err == nil {
				return "a job of Slurm is requeued"
			}
		}
	case 3:
		s.fleet.kill()
		s.startFleet()
		return "the fleet is killed"
	case 4:
		node := []string{"n1", "n2"}[rand.IntN(2)]
		dir := os.Getenv("PLEAT_TEST_SLURM")
		killPID(s.t, filepath.Join(dir, "slurmd-"+node+".pid"))
		s.slurm(filepath.Join(dir, "start-slurmd"), node)
		return "the daemon of " + node + " is killed"
	}
	s.server.kill()
	s.serve()
	return "the server is killed"
}
