package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"pleat"
	"pleat/api"
	"pleat/internal/store/storetest"
)

// crashStep returns a function that kills this process, which is the test binary, at a step of a delivery: if
// PLEAT_TEST_FAULT is STEP:N, when a delivery reaches the step for the N-th time. The released program has none.
func crashStep() func(name string) {
	step, text, ok := strings.Cut(os.Getenv("PLEAT_TEST_FAULT"), ":")
	at, err := strconv.ParseInt(text, 10, 64)
	if !ok || err != nil {
		return nil
	}
	var n atomic.Int64
	return func(name string) {
		if name == step && n.Add(1) == at {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
	}
}

// recorder is a receiver that records all deliveries.
type recorder struct {
	*httptest.Server
	mu     sync.Mutex
	posts  int
	ids    map[string]map[string]bool // webhook-ids by event
	killAt int                        // at which post to call kill before answering; 0: never
	kill   func()
}

func newRecorder(t *testing.T) *recorder {
	w := &recorder{ids: map[string]map[string]bool{}}
	w.Server = httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		var body struct {
			Event struct {
				ID string `json:"id"`
			} `json:"event"`
		}
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil || body.Event.ID == "" {
			rw.WriteHeader(http.StatusBadRequest)
			return
		}
		w.mu.Lock()
		w.posts++
		if w.ids[body.Event.ID] == nil {
			w.ids[body.Event.ID] = map[string]bool{}
		}
		w.ids[body.Event.ID][r.Header.Get("webhook-id")] = true
		kill := w.kill
		if w.posts != w.killAt {
			kill = nil
		}
		w.mu.Unlock()
		if kill != nil {
			kill()
			<-r.Context().Done()
		}
	}))
	t.Cleanup(w.CloseClientConnections)
	t.Cleanup(w.Close)
	return w
}

// counts returns the number of posts, and how many of them repeated an event.
func (w *recorder) counts() (posts, repeats int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.posts, w.posts - len(w.ids)
}

// publishRate is how many events per second are published while the server is killed.
const publishRate = 100

// TestKilledDeliveryWorkerLosesNothing kills the server with SIGKILL at every step of a delivery, and at
// random, while events are published at 100 a second. Afterwards every acknowledged event must have been delivered to
// the default endpoint, and those that failed, and no others, to a named one. Every repeat must carry the webhook-id of
// the first, and no kill may have caused five repeats.
func TestKilledDeliveryWorkerLosesNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a minute")
	}
	for name, fresh := range storetest.Migrated() {
		t.Run(name, func(t *testing.T) { killWhileDelivering(t, fresh(t)) })
	}
}

func killWhileDelivering(t *testing.T, database string) {
	n := newNode(t, database)
	n.program = linkTestBinary(t, t.TempDir()) // the released program has no crashStep
	n.env = []string{"PLEAT_WEBHOOK_ALLOW=127.0.0.1", "PLEAT_INGEST_SECRET=secret-of-the-test"}
	w, named := newRecorder(t), newRecorder(t)
	n.createKey()
	n.serve()
	if _, err := n.client().CreateWebhookEndpoint(t.Context(), api.CreateEndpoint{
		Name: "named", TargetURL: named.URL, Events: []string{"fold_job.on_failed"},
	}); err != nil {
		t.Fatal(err)
	}
	job := configureRecorder(t, n.client(), w.URL)
	n.stop()
	acked := map[string]bool{} // whether it failed
	for _, step := range []string{"claim:40", "claimed:25", "post:40", "during", "posted:40", "finish:25",
		"finishing:40", "finished:25", "random", "random", "random"} {
		for left := 2; ; left-- { // a busy machine has more deliveries in flight than 100 events per second cause
			_, before := named.counts()
			ids, repeats := killAt(t, n, w, job, step)
			_, after := named.counts()
			repeats = max(repeats, after-before)
			for id, failed := range ids {
				acked[id] = failed
			}
			t.Logf("%s: %d events acknowledged, %d repeated", step, len(ids), repeats)
			if repeats < 5 && len(ids) >= 10 {
				break
			}
			if left == 0 {
				t.Errorf("%s: %d events, of which %d were repeated, in the last of three tries; "+
					"want at least 10, and fewer than 5 repeats", step, len(ids), repeats)
				break
			}
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	named.mu.Lock()
	defer named.mu.Unlock()
	failures := 0
	for id, failed := range acked {
		if w.ids[id] == nil {
			t.Errorf("event %s was acknowledged and never delivered", id)
		}
		if failed {
			failures++
		}
		if (named.ids[id] != nil) != failed {
			t.Errorf("event %s, whose run failed: %v, was delivered to the named endpoint: %v", id, failed, !failed)
		}
	}
	for name, r := range map[string]*recorder{"default": w, "named": named} {
		for event, ids := range r.ids {
			if len(ids) != 1 {
				t.Errorf("event %s was delivered to the %s endpoint with %d webhook-ids", event, name, len(ids))
			}
		}
	}
	t.Logf("%d events acknowledged, %d delivered, %d posts; %d failed, %d delivered, %d posts", len(acked), len(w.ids),
		w.posts, failures, len(named.ids), named.posts)
}

// killAt kills the server at a step while events are published, and starts another, which delivers the rest. It returns
// the events that were acknowledged, as publishUntilKilled does, and how many posts repeated an event.
func killAt(t *testing.T, n *node, w *recorder, job, step string) (ids map[string]bool, repeats int) {
	t.Helper()
	_, before := w.counts()
	env := n.env
	if strings.Contains(step, ":") {
		n.env = append(slices.Clone(env), "PLEAT_TEST_FAULT="+step)
	}
	n.serve()
	n.env = env
	process := n.cmd.Process
	tenth := func() {}
	switch step {
	case "during":
		w.mu.Lock()
		w.killAt, w.kill = w.posts+40, func() { _ = process.Kill() }
		w.mu.Unlock()
	case "random":
		tenth = func() { time.AfterFunc(rand.N(700*time.Millisecond), func() { _ = process.Kill() }) }
	}
	ids = publishUntilKilled(t, n.url, job, tenth)
	_ = n.cmd.Wait()
	n.cmd = nil
	n.serve()
	db := n.open()
	// An attempt that a busy machine fails is repeated after minutes.
	waitUntil(t, 10*time.Minute, "every delivery has ended after "+step, func() bool {
		return queryInt(t, db, "SELECT count(*) FROM delivery WHERE status <> 'SUCCEEDED'") == 0
	})
	n.stop()
	_ = db.Close()
	_, after := w.counts()
	return ids, after - before
}

// configureRecorder makes the recorder the endpoint of a user, and creates the job whose events are published.
func configureRecorder(t *testing.T, c *api.Client, to string) (job string) {
	t.Helper()
	ctx := context.Background()
	yes := true
	if _, err := c.PutWebhookConfig(ctx, api.PutWebhookConfig{
		TargetURL: to, TokenValue: "token", EnabledByDefault: &yes,
	}); err != nil {
		t.Fatal(err)
	}
	made, err := c.CreateJob(ctx, api.CreateJob{
		Name: "job", Sequences: []api.SequenceItem{{ProteinChain: &api.Polymer{Sequence: "GSGS"}}},
		Params: &api.Params{ModelName: "null"},
	}, api.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	waitUntil(t, time.Minute, "the first delivery", func() bool {
		list, err := c.Deliveries(ctx, api.DeliveriesFilter{Status: string(pleat.DeliverySucceeded)})
		return err == nil && len(list.Data) >= 1
	})
	return made.JobID
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
			var made api.IngestedEvent
			if err != nil {
				return
			}
			if res.StatusCode != http.StatusOK || json.Unmarshal(answer, &made) != nil {
				t.Errorf("%d %s", res.StatusCode, answer)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			if ids[made.EventID] = failed; len(ids) == 10 {
				tenth()
			}
		})
	}
}
