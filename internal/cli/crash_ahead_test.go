package cli

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pleat/api"
	"pleat/internal/store/storetest"
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
	const rounds, jobs = 3, 12
	n := newNode(t, database)
	runner, err := filepath.Abs("../../cmd/pleat-bench/runner")
	if err != nil {
		t.Fatal(err)
	}
	runners := filepath.Join(n.dir, "runners")
	if err := os.Mkdir(runners, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(runner, filepath.Join(runners, "bench")); err != nil {
		t.Fatal(err)
	}
	n.env = []string{"PLEAT_RUNNERS=" + runners, "PLEAT_ENGINES=bench", "PLEAT_DEVICES=0=8GB", "PLEAT_SLOTS=1"}
	n.createKey()
	n.serve()
	for range jobs {
		_, err := n.client().CreateJob(context.Background(), api.CreateJob{
			Name:      "helix",
			Sequences: []api.SequenceItem{{ProteinChain: &api.Polymer{Sequence: strings.Repeat("A", 300)}}},
			Params:    &api.Params{ModelName: "bench-helix"},
		}, api.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
	}
	db := n.open()
	for range rounds {
		waitUntil(t, time.Minute, "three jobs are claimed on one device", func() bool {
			return queryInt(t, db, "SELECT count(*) FROM task WHERE state = 'running'") >= 3
		})
		n.kill()
		n.serve()
	}
	waitUntil(t, time.Minute, "every job has ended", func() bool {
		return queryInt(t, db, "SELECT count(*) FROM job WHERE state NOT IN ('COMPLETED', 'FAILED', 'STOPPED')") == 0
	})
	n.stop()
	if k := queryInt(t, db, "SELECT count(*) FROM attempt"); k < jobs+2*rounds {
		t.Errorf("%d attempts at %d jobs; the kills hit too few of them to prove anything", k, jobs)
	}
	wantZero(t, db, map[string]string{
		"jobs that did not complete": "SELECT count(*) FROM job WHERE state <> 'COMPLETED'",
		"attempts completed twice":   completedTwice,
		"miscounted µs":              miscounted,
		"tasks left open":            openTasks,
		"runs without exactly one event": "SELECT count(*) FROM run r " +
			"WHERE (SELECT count(*) FROM event e WHERE e.run_id = r.id) <> 1",
		"runs without a structure": "SELECT count(*) FROM run r " +
			"WHERE (SELECT count(*) FROM artifact a WHERE a.run_id = r.id AND a.name = 'model.cif') <> 1",
	})
	n.wantNoOrphans(queryInt(t, db, "SELECT count(*) FROM artifact"))
}
