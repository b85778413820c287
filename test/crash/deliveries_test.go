package crash

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pleat"
	"pleat/api"
	"pleat/internal/store/storetest"
	"pleat/internal/testprogram"
)

// publishRate is how many events per second are published while the server is killed.
const publishRate = 100

// TestKilledDeliveryWorkerLosesNothing kills the server with SIGKILL at every step of a delivery, and at
// random, while events are published at 100 a second. Afterwards every acknowledged event must have been delivered to
// the default endpoint, and those that failed, and no others, to a named one. Every repeat must carry the webhook-id of
// the first, and a kill repeats only deliveries that were under way, of which a busy machine has many.
func TestKilledDeliveryWorkerLosesNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a minute")
	}
	for name, fresh := range storetest.Migrated() {
		t.Run(name, func(t *testing.T) { killWhileDelivering(t, fresh(t)) })
	}
}

func killWhileDelivering(t *testing.T, database string) {
	n := testprogram.NewNode(t, database)
	n.Program = testprogram.LinkTestBinary(t, t.TempDir()) // the released program has no crashStep
	n.Env = []string{"PLEAT_WEBHOOK_ALLOW=127.0.0.1", "PLEAT_INGEST_SECRET=secret-of-the-test"}
	w, named := testprogram.NewRecorder(t), testprogram.NewRecorder(t)
	n.CreateKey()
	n.Serve()
	if _, err := n.Client().CreateWebhookEndpoint(t.Context(), api.CreateEndpoint{
		Name: "named", TargetURL: named.URL, Events: []string{"fold_job.on_failed"},
	}); err != nil {
		t.Fatal(err)
	}
	job := testprogram.ConfigureRecorder(t, n.Client(), w.URL)
	n.Stop()
	acked := map[string]bool{} // whether it failed
	steps := []string{"claim:40", "claimed:25", "post:40", "during", "posted:40", "finish:25", "finishing:40",
		"finished:25"}
	for range testprogram.Rounds(t, 3) {
		steps = append(steps, "random")
	}
	for _, step := range steps {
		for left := 4; ; left-- { // an attempt that fails on a busy machine is repeated too
			_, before := named.Counts()
			ids, repeats, held := killAt(t, n, w, job, step)
			_, after := named.Counts()
			repeats = max(repeats, after-before)
			for id, failed := range ids {
				acked[id] = failed
			}
			t.Logf("%s: %d events acknowledged, %d deliveries held, %d repeated", step, len(ids), held, repeats)
			if repeats <= held && len(ids) >= 10 {
				break
			}
			if left == 0 {
				t.Errorf("%s: %d events, of which %d were repeated, in the last of five tries; want at least 10, and "+
					"at most the %d repeats that were under way", step, len(ids), repeats, held)
				break
			}
		}
	}
	w.Mu.Lock()
	defer w.Mu.Unlock()
	named.Mu.Lock()
	defer named.Mu.Unlock()
	failures := 0
	for id, failed := range acked {
		if w.IDs[id] == nil {
			t.Errorf("event %s was acknowledged and never delivered", id)
		}
		if failed {
			failures++
		}
		if (named.IDs[id] != nil) != failed {
			t.Errorf("event %s, whose run failed: %v, was delivered to the named endpoint: %v", id, failed, !failed)
		}
	}
	for name, r := range map[string]*testprogram.Recorder{"default": w, "named": named} {
		for event, ids := range r.IDs {
			if len(ids) != 1 {
				t.Errorf("event %s was delivered to the %s endpoint with %d webhook-ids", event, name, len(ids))
			}
		}
	}
	t.Logf("%d events acknowledged, %d delivered, %d posts; %d failed, %d delivered, %d posts", len(acked), len(w.IDs),
		w.Posts, failures, len(named.IDs), named.Posts)
}

// killAt kills the server at a step while events are published, and starts another, which delivers the rest. It returns
// the events that were acknowledged, as publishUntilKilled does, how many posts repeated an event, and how many
// deliveries were under way at the kill.
func killAt(
	t *testing.T, n *testprogram.Node, w *testprogram.Recorder, job, step string,
) (ids map[string]bool, repeats, held int) {
	t.Helper()
	_, before := w.Counts()
	env := n.Env
	if strings.Contains(step, ":") {
		n.Env = append(slices.Clone(env), "PLEAT_TEST_FAULT="+step)
	}
	n.Serve()
	n.Env = env
	process := n.Cmd.Process
	tenth := func() {}
	switch step {
	case "during":
		w.Mu.Lock()
		w.KillAt, w.Kill = w.Posts+40, func() { _ = process.Kill() }
		w.Mu.Unlock()
	case "random":
		tenth = func() { time.AfterFunc(rand.N(700*time.Millisecond), func() { _ = process.Kill() }) }
	}
	ids = publishUntilKilled(t, n.URL, job, tenth)
	_ = n.Cmd.Wait()
	n.Cmd = nil
	db := n.Open()
	held = testprogram.QueryInt(t, db, "SELECT count(*) FROM task WHERE kind = 'deliver' AND state = 'running'")
	n.Serve()
	// An attempt that a busy machine fails is repeated after minutes.
	testprogram.WaitUntil(t, 10*time.Minute, "every delivery has ended after "+step, func() bool {
		return testprogram.QueryInt(t, db, "SELECT count(*) FROM delivery WHERE status <> 'SUCCEEDED'") == 0
	})
	n.Stop()
	_ = db.Close()
	_, after := w.Counts()
	return ids, after - before, held
}

// publishUntilKilled publishes events until the server is gone, every fifth of which is a failure. It returns those
// that the server acknowledged, and whether each is one. It calls tenth at the tenth.
func publishUntilKilled(t *testing.T, url, job string, tenth func()) map[string]bool {
	t.Helper()
	var mu sync.Mutex
	ids := map[string]bool{}
	var wg sync.WaitGroup
	gone := make(chan struct{})
	var once sync.Once
	client := &http.Client{Timeout: time.Minute, Transport: &http.Transport{MaxIdleConnsPerHost: 64}}
	defer client.CloseIdleConnections()
	const event = `{"source_kind":"fold_job","event_name":%q,"status":%q,"source_id":%q}`
	tick := time.NewTicker(time.Second / publishRate)
	defer tick.Stop()
	limit := time.After(time.Minute)
	for n := 1; ; n++ {
		select {
		case <-gone:
			wg.Wait()
			return ids
		case <-limit:
			t.Fatal("the server was not killed within a minute")
		case <-tick.C:
		}
		body, failed := fmt.Sprintf(event, pleat.OnComplete, pleat.StateCompleted, job), n%5 == 0
		if failed {
			body = fmt.Sprintf(event, pleat.OnFailed, pleat.StateFailed, job)
		}
		wg.Go(func() {
			req, _ := http.NewRequest(http.MethodPost, url+"/v1/webhooks/events/ingest", strings.NewReader(body))
			req.Header.Set("Content-Type", "application/json")
			req.Header.Set("X-Webhook-Ingest-Secret", "secret-of-the-test")
			res, err := client.Do(req)
			if err != nil {
				once.Do(func() { close(gone) })
				return
			}
			answer, err := io.ReadAll(res.Body)
			_ = res.Body.Close()
			var created api.IngestedEvent
			if err != nil {
				return
			}
			if res.StatusCode != http.StatusOK || json.Unmarshal(answer, &created) != nil {
				t.Errorf("%d %s", res.StatusCode, answer)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			if ids[created.EventID] = failed; len(ids) == 10 {
				tenth()
			}
		})
	}
}
