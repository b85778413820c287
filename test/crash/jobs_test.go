package crash

import (
	"context"
	"math/rand/v2"
	"testing"
	"time"

	"pleat/api"
	"pleat/internal/store/storetest"
	"pleat/internal/testprogram"
)

// crashRounds is how often the server is killed, on each database, unless PLEAT_TEST_ROUNDS sets another number.
const crashRounds = 6

// openJobs counts the jobs that have not ended.
const openJobs = "SELECT count(*) FROM job WHERE state NOT IN ('COMPLETED', 'FAILED', 'STOPPED')"

// TestKilledServerLosesNothing kills the server with SIGKILL at random instants while 64 clients create jobs and its
// worker runs them. Afterwards every acknowledged job must have ended, none may have completed twice, the quota must
// equal the rows, and garbage collection must leave only files that are referenced.
func TestKilledServerLosesNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a minute")
	}
	for name, fresh := range storetest.Migrated() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			killRounds(t, fresh(t))
		})
	}
}

func killRounds(t *testing.T, database string) {
	n := testprogram.NewNode(t, database)
	n.CreateKey()
	var c *api.Client // of the server that runs now
	restart := func() {
		n.Serve()
		c = n.Client()
	}
	restart()
	rounds := testprogram.Rounds(t, crashRounds)
	acked := n.CreateThroughKills(rounds, 64, 400*time.Millisecond, restart, func() (string, error) {
		time.Sleep(rand.N(200 * time.Millisecond)) // every job must have run in the end
		return createNullJob(c)
	})
	db := n.Open()
	testprogram.WaitUntil(t, 10*time.Minute, "every job has ended", func() bool {
		return testprogram.QueryInt(t, db, openJobs) == 0
	})
	n.Stop()
	for id := range acked {
		var state string
		err := db.QueryRow("SELECT state FROM job WHERE id = $1", id).Scan(&state)
		if err != nil || state != "COMPLETED" {
			t.Errorf("acknowledged job %s: %s %v", id, state, err)
		}
	}
	testprogram.WantZero(t, db, map[string]string{
		"attempts completed twice": testprogram.CompletedTwice,
		"miscounted µs":            testprogram.Miscounted,
		"tasks left open":          testprogram.OpenTasks,
		"runs without exactly one event": "SELECT count(*) FROM run r " +
			"WHERE (SELECT count(*) FROM event e WHERE e.run_id = r.id) <> 1",
		"jobs beyond the quota": "SELECT abs((SELECT sum(used) FROM quota_day) - (SELECT count(*) FROM job))",
		"runs without their artifacts": "SELECT count(*) FROM run r WHERE r.state = 'COMPLETED' " +
			"AND (SELECT count(*) FROM artifact a WHERE a.run_id = r.id) <> 1",
	})
	n.WantNoOrphans(testprogram.QueryInt(t, db, "SELECT count(*) FROM artifact"))
}

// createNullJob creates a job whose run takes up to 30 ms.
func createNullJob(c *api.Client) (string, error) {
	steps, recycles := int64(1+rand.IntN(30)), int64(1)
	created, err := c.CreateJob(context.Background(), api.CreateJob{
		Name:      "crash",
		Sequences: []api.SequenceItem{{ProteinChain: &api.Polymer{Sequence: "GSGS"}}},
		Params:    &api.Params{ModelName: "null", SamplingSteps: &steps, RecyclingSteps: &recycles},
	}, api.CreateOptions{})
	return created.JobID, err
}
