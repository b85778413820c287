package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"pleat/internal/store/storetest"
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
		if err := db.QueryRow("SELECT state FROM job WHERE id = $1", id).Scan(&state); err != nil ||
			state != "COMPLETED" {
			t.Errorf("acknowledged job %s: %s %v", id, state, err)
		}
	}
	for what, q := range map[string]string{
		"attempts completed twice": "SELECT count(*) FROM (SELECT task_id FROM attempt WHERE outcome = " +
			"'done' GROUP BY task_id HAVING count(*) > 1) x",
		"runs with another number of events": "SELECT count(*) FROM run r WHERE (SELECT count(*) FROM event e WHERE e.run_id = r.id) <> 1",
		"tasks left open":                    "SELECT count(*) FROM task WHERE state IN ('queued', 'waiting', 'running')",
		"jobs beyond the quota":              "SELECT abs((SELECT sum(used) FROM quota_day) - (SELECT count(*) FROM job))",
		"runs without their artifacts": "SELECT count(*) FROM run r WHERE r.state = 'COMPLETED' AND (SELECT " +
			"count(*) FROM artifact a WHERE a.run_id = r.id) <> 1",
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
				body := fmt.Sprintf(
					`{"name":"crash","sequences":[{"proteinChain":{"sequence":"GSGS"}}],"params":{"modelName":"null","samplingSteps":%d,"recyclingSteps":1}}`, 1+rand.IntN(30))
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
