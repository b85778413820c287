package crash

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"time"

	"pleat/api"
	"pleat/internal/store/storetest"
	"pleat/internal/testprogram"
)

const (
	// crashRows is how many rows the batch of the crash test has, and crashJobs how many of them differ.
	crashRows, crashJobs = 10_000, 200
)

// TestKilledServerKeepsBatches kills the server with SIGKILL at random instants while a client creates one batch, under
// one Idempotency-Key until it is acknowledged, and while its rows run. There is one batch in the end, with all its
// rows, and each of its jobs has ended once.
func TestKilledServerKeepsBatches(t *testing.T) {
	if testing.Short() {
		t.Skip("takes half a minute")
	}
	for name, fresh := range storetest.Migrated() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			killBatches(t, fresh(t))
		})
	}
}

func killBatches(t *testing.T, database string) {
	n := testprogram.NewNode(t, database)
	n.Env = append(n.Env, "PLEAT_BATCH_QUOTA=1000000")
	n.CreateKey()
	n.Serve()
	db := n.Open()
	body, longest := crashBatch(), 200*time.Millisecond
	batch, rounds := "", testprogram.Rounds(t, crashRounds)
	for round := range rounds {
		answered := make(chan string, 1)
		if round == rounds/2 { // the other kills are of a server that runs the rows
			for batch == "" {
				batch = postBatch(n.URL, n.Key, body)
			}
		}
		if batch == "" {
			began := time.Now()
			go func() { answered <- postBatch(n.URL, n.Key, body) }()
			select {
			case batch = <-answered:
			case <-time.After(rand.N(longest)):
			}
			longest = max(longest, 2*time.Since(began)) // so that some round is long enough for an answer
		} else {
			time.Sleep(rand.N(300 * time.Millisecond))
		}
		n.Kill()
		if testprogram.QueryInt(t, db, "SELECT count(*) FROM job j WHERE NOT EXISTS (SELECT 1 FROM batch b "+
			"WHERE b.id = j.batch_id AND b.opened_at <> 0 AND b.row_count = "+fmt.Sprint(crashRows)+")") != 0 {
			t.Errorf("round %d: there are jobs of a batch that is not whole", round)
		}
		n.Serve()
	}
	testprogram.WaitUntil(t, 10*time.Minute, "the batch has ended", func() bool {
		return testprogram.QueryInt(t, db, "SELECT count(*) FROM batch WHERE opened_at <> 0 AND ended_at = 0") == 0
	})
	if status, b := n.Request("GET", "/v1/batches/"+batch, ""); status != http.StatusOK ||
		!strings.Contains(string(b), fmt.Sprintf(`"counts":{"COMPLETED":%d}`, crashRows)) {
		t.Errorf("%d %s", status, b)
	}
	n.Stop()
	left := func(rows int, table string) string {
		return fmt.Sprintf("SELECT %d - count(*) FROM %s WHERE batch_id = '%s'", rows, table, batch)
	}
	testprogram.WantZero(t, db, map[string]string{
		"batches besides the one":     "SELECT count(*) - 1 FROM batch WHERE opened_at <> 0",
		"rows missing":                left(crashRows, "batch_row"),
		"jobs missing":                left(crashJobs, "job"),
		"attempts completed twice":    testprogram.CompletedTwice,
		"miscounted µs":               testprogram.Miscounted,
		"tasks left open":             testprogram.OpenTasks,
		"batches without their event": "SELECT 1 - count(*) FROM event WHERE source_kind = 'batch'",
		"rows charged more than once": fmt.Sprintf("SELECT sum(batch_rows) - %d FROM quota_day", crashRows),
	})
}

// crashBatch is a batch of crashRows rows.
func crashBatch() string {
	const letters = "ACDEFGHIKLMNPQRSTVWY"
	in := api.CreateBatch{Name: "crash", Kind: "list", Params: &api.Params{ModelName: "null"}}
	for i := range crashRows {
		k := i % crashJobs
		text := "GSGS" + letters[k/20:k/20+1] + letters[k%20:k%20+1]
		in.Jobs = append(in.Jobs, api.BatchJob{
			Sequences: []api.SequenceItem{{ProteinChain: &api.Polymer{Sequence: text}}},
		})
	}
	b, err := json.Marshal(in)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// postBatch posts a batch and returns its id; empty if the server did not answer, or with an error of its own.
func postBatch(url, key, body string) string {
	req, err := http.NewRequest("POST", url+"/v1/batches", strings.NewReader(body))
	if err != nil {
		panic(err)
	}
	req.Header.Set("Authorization", "Bearer "+key)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Idempotency-Key", "crash")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return ""
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	var created api.CreatedBatch
	if err != nil || res.StatusCode != http.StatusOK || json.Unmarshal(b, &created) != nil {
		return ""
	}
	return created.BatchID
}
