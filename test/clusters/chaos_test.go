package clusters

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

	"pleat/internal/testprogram"
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

// submitAll creates the jobs on a server.
func submitAll(n *testprogram.Node, inputs []chaosInput) {
	n.T.Helper()
	for _, in := range inputs {
		status, raw := n.Request("POST", "/v1/jobs", fmt.Sprintf(
			`{"name":%q,"sequences":[{"proteinChain":{"sequence":%q}}],"params":{"modelName":%q,"seed":"7"%s}}`,
			in.name, in.sequence, in.model, in.params))
		if status != 200 {
			n.T.Fatalf("%s: %d %s", in.name, status, raw)
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
	s.Server.CreateKey()
	s.Serve()
	if called {
		s.callServer()
	}
	settings, err := os.ReadFile(s.config)
	if err != nil {
		s.T.Fatal(err)
	}
	s.write("worker.yaml", string(settings)+"slots: 4\n")
	s.startFleet()
	inputs := chaosInputs()
	submitAll(s.Server, inputs)
	ended := func() int {
		return testprogram.QueryInt(s.T, s.DB, "SELECT count(*) FROM job WHERE state = 'COMPLETED'")
	}
	for fault := range chaosFaults {
		// The faults are spread over the work: each waits for its share of the jobs.
		share := (fault + 1) * len(inputs) / (chaosFaults + 1)
		testprogram.WaitUntil(s.T, 3*time.Minute, fmt.Sprintf("%d jobs have ended", share), func() bool {
			return ended() >= share
		})
		s.T.Logf("%d jobs have ended: %s", ended(), s.hurt())
	}
	testprogram.WaitUntil(s.T, 3*time.Minute, "all jobs have ended", func() bool { return ended() == len(inputs) })
	s.gone()
	testprogram.WantZero(s.T, s.DB, map[string]string{
		"tasks that were completed twice": testprogram.CompletedTwice,
		"miscounted µs":                   testprogram.Miscounted,
		"tasks that have not ended":       testprogram.OpenTasks,
		"runs without exactly one event": "SELECT count(*) FROM run r " +
			"WHERE (SELECT count(*) FROM event e WHERE e.run_id = r.id) <> 1",
	})
	s.T.Logf("%d workers, %d attempts were released and %d lost", len(s.submitted()), s.outcomes("released"),
		s.outcomes("lost"))

	alone := testprogram.NewNode(s.T, "sqlite:"+s.file("alone.db"))
	alone.Env = []string{"PLEAT_ENGINES=mini,null", "PLEAT_SLOTS=16", "PLEAT_BLOBS=" + s.file("alone")}
	alone.CreateKey()
	alone.Serve()
	submitAll(alone, inputs)
	one := &testprogram.Cluster{T: s.T, Server: alone, DB: alone.Open()}
	testprogram.WaitUntil(s.T, 3*time.Minute, "the single machine has run all", func() bool {
		return testprogram.QueryInt(s.T, one.DB, "SELECT count(*) FROM job WHERE state = 'COMPLETED'") == len(inputs)
	})
	want, got := files(one, "true"), files(s.Cluster, "true")
	if len(want) < chaosNull {
		s.T.Fatalf("the single machine made %d files", len(want))
	}
	if d := cmp.Diff(want, got); d != "" {
		s.T.Errorf("the files on one machine (-) and on Slurm (+):\n%s", d)
	}
	alone.Stop()
}

// hurt does one fault at random, and returns what it was. Workers and jobs may end by themselves before they are hurt;
// the server is killed then.
func (s *slurmSite) hurt() string {
	s.T.Helper()
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
		s.fleet.Kill()
		s.startFleet()
		return "the fleet is killed"
	case 4:
		node := []string{"n1", "n2"}[rand.IntN(2)]
		dir := os.Getenv("PLEAT_TEST_SLURM")
		killPID(s.T, filepath.Join(dir, "slurmd-"+node+".pid"))
		s.slurm(filepath.Join(dir, "start-slurmd"), node)
		return "the daemon of " + node + " is killed"
	}
	s.Server.Kill()
	s.Serve()
	return "the server is killed"
}
