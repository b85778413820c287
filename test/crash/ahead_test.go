package crash

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pleat/api"
	"pleat/internal/store/storetest"
	"pleat/internal/testprogram"
)

// TestKilledWhileOneIsWritten kills the server with SIGKILL while one job is written, the next is folded and a third
// was claimed ahead. Every job must complete once, with its files.
func TestKilledWhileOneIsWritten(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a minute")
	}
	for name, fresh := range storetest.Migrated() {
		t.Run(name, func(t *testing.T) { killWhileWriting(t, fresh(t)) })
	}
}

func killWhileWriting(t *testing.T, database string) {
	rounds := testprogram.Rounds(t, 3)
	jobs := 4 * rounds
	n := testprogram.NewNode(t, database)
	runner, err := filepath.Abs("../../cmd/pleat-bench/runner")
	if err != nil {
		t.Fatal(err)
	}
	runners := filepath.Join(n.Dir, "runners")
	if err := os.Mkdir(runners, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(runner, filepath.Join(runners, "bench")); err != nil {
		t.Fatal(err)
	}
	n.Env = []string{"PLEAT_RUNNERS=" + runners, "PLEAT_ENGINES=bench", "PLEAT_DEVICES=0=8GB", "PLEAT_SLOTS=1"}
	n.CreateKey()
	n.Serve()
	for range jobs {
		_, err := n.Client().CreateJob(context.Background(), api.CreateJob{
			Name:      "helix",
			Sequences: []api.SequenceItem{{ProteinChain: &api.Polymer{Sequence: strings.Repeat("A", 300)}}},
			Params:    &api.Params{ModelName: "bench-helix"},
		}, api.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
	}
	db := n.Open()
	for range rounds {
		testprogram.WaitUntil(t, time.Minute, "three jobs are claimed on one device", func() bool {
			return testprogram.QueryInt(t, db, "SELECT count(*) FROM task WHERE state = 'running'") >= 3
		})
		n.Kill()
		n.Serve()
	}
	limit := time.Minute + time.Duration(jobs)*time.Second // each takes half a second on the one device
	testprogram.WaitUntil(t, limit, "every job has ended", func() bool {
		return testprogram.QueryInt(t, db, openJobs) == 0
	})
	n.Stop()
	if k := testprogram.QueryInt(t, db, "SELECT count(*) FROM attempt"); k < jobs+2*rounds {
		t.Errorf("%d attempts at %d jobs; the kills hit too few of them to prove anything", k, jobs)
	}
	testprogram.WantZero(t, db, map[string]string{
		"jobs that did not complete": "SELECT count(*) FROM job WHERE state <> 'COMPLETED'",
		"attempts completed twice":   testprogram.CompletedTwice,
		"miscounted µs":              testprogram.Miscounted,
		"tasks left open":            testprogram.OpenTasks,
		"runs without exactly one event": "SELECT count(*) FROM run r " +
			"WHERE (SELECT count(*) FROM event e WHERE e.run_id = r.id) <> 1",
		"runs without a structure": "SELECT count(*) FROM run r " +
			"WHERE (SELECT count(*) FROM artifact a WHERE a.run_id = r.id AND a.name = 'model.cif') <> 1",
	})
	n.WantNoOrphans(testprogram.QueryInt(t, db, "SELECT count(*) FROM artifact"))
}
