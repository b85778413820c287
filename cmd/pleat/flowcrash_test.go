package main

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"pleat/api"
	"pleat/internal/store/storetest"
)

// flowRounds is how often the server is killed in the middle of questions and follow-ups, on each database.
const flowRounds = 6

// TestKilledServerLosesNoWorkflow kills the server with SIGKILL in the middle of each workflow: simulations go on from
// their checkpoints, every acknowledged question is answered once, and every completed fold starts its follow-ups once.
func TestKilledServerLosesNoWorkflow(t *testing.T) {
	if testing.Short() {
		t.Skip("takes minutes")
	}
	for name, fresh := range storetest.Databases() {
		t.Run(name, func(t *testing.T) {
			t.Run("dynamics", func(t *testing.T) { killDynamics(t, fresh(t)) })
			t.Run("questions", func(t *testing.T) { killQuestions(t, fresh(t)) })
			t.Run("follow-ups", func(t *testing.T) { killFollowUps(t, fresh(t)) })
		})
	}
}

// flowNode is a node with engines for workflows, and a client of it.
type flowNode struct {
	*node
	key string
	api *api.Client
	db  *sql.DB
}

func newFlowNode(t *testing.T, database string) *flowNode {
	n := &flowNode{node: newNode(t, database)}
	n.key = strings.TrimSpace(n.output("keys", "create", "--user", "ada"))
	n.serve()
	n.db = n.open()
	return n
}

func (n *flowNode) serve() {
	url := n.start("serve", "--addr", "127.0.0.1:0", "--engines", "null,calvados,analyst", "--threads", "1",
		"--checkpoint-every", "1")
	n.api = &api.Client{Base: url, Key: n.key}
}

// once checks what holds whatever was killed: one event for each ended run, no attempt done twice, nothing left open.
func (n *flowNode) once() {
	n.t.Helper()
	for what, q := range map[string]string{
		"attempts completed twice": "SELECT count(*) FROM (SELECT task_id FROM attempt WHERE outcome = " +
			"'done' GROUP BY task_id HAVING count(*) > 1) x",
		"runs with another number of events": "SELECT count(*) FROM run r WHERE (SELECT count(*) FROM event e WHERE " +
			"e.run_id = r.id OR r.kind <> 'fold' AND e.source_id = r.job_id) <> 1",
		"tasks left open":             "SELECT count(*) FROM task WHERE state IN ('queued', 'waiting', 'running')",
		"workflows unlike their runs": "SELECT count(*) FROM workflow w JOIN run r ON r.id = w.run_id WHERE r.state <> w.state",
	} {
		if k := count(n.t, n.db, q); k != 0 {
			n.t.Errorf("%s: %d", what, k)
		}
	}
	n.stop()
	n.noOrphans(count(n.t, n.db, "SELECT count(*) FROM (SELECT blob_key FROM artifact UNION SELECT blob_key FROM "+
		"library_file UNION SELECT checkpoint FROM task WHERE checkpoint <> '') x"))
}

const openFlows = "SELECT count(*) FROM workflow WHERE state NOT IN ('DRAFT', 'COMPLETED', 'FAILED', 'STOPPED')"

// killDynamics kills the server in the middle of a simulation, once a checkpoint is kept: that takes a second.
func killDynamics(t *testing.T, database string) {
	n := newFlowNode(t, database)
	ctx := context.Background()
	in := fmt.Sprintf(`{"sequence":%q,"sim_length_ns":4,"step_size_ns":0.01,"seed":1}`,
		strings.Repeat("GSEKFAYRDP", 12))
	w, err := n.api.CreateWorkflow(ctx, api.CreateWorkflow{
		WorkflowName: "md", Name: "crash", Input: json.RawMessage(in),
	})
	if err != nil {
		t.Fatal(err)
	}
	var seen int64
	waitUntil(t, 10*time.Minute, "a checkpoint is kept", func() bool {
		_ = n.db.QueryRow("SELECT checkpoint_step FROM task WHERE state = 'running'").Scan(&seen)
		return seen > 0
	})
	n.kill()
	if state := text1(t, n.db, "SELECT state FROM workflow"); state != "RUNNING" {
		t.Fatalf("the simulation was %s when the server was killed; the test proves nothing", state)
	}
	n.serve()
	waitUntil(t, 5*time.Minute, "the simulation has ended", func() bool { return count(t, n.db, openFlows) == 0 })
	got, err := n.api.TaskResults(ctx, w.ID)
	if err != nil || got.TasksResults[0].Status != api.Completed {
		t.Fatalf("%+v %v", got, err)
	}
	var res api.MDResult
	var m struct {
		Frames, Steps int64
		Resumed       int64 `json:"resumed_from_step"`
	}
	if err := json.Unmarshal(got.TasksResults[0].Result, &res); err != nil || json.Unmarshal(res.Metrics, &m) != nil {
		t.Fatalf("%s %v", got.TasksResults[0].Result, err)
	}
	if m.Resumed < seen || m.Frames != 400 || m.Steps != 400_000 {
		t.Errorf("it went on from step %d, the last checkpoint seen being of %d: %s", m.Resumed, seen, res.Metrics)
	}
	for _, a := range res.Artifacts {
		var b bytes.Buffer
		if err := n.api.Download(ctx, api.Artifact{Name: a.Path, URL: a.URL, Bytes: a.SizeBytes}, &b); err != nil {
			t.Error(err)
		}
	}
	if k := count(t, n.db, "SELECT count(*) FROM attempt"); k != 2 {
		t.Errorf("%d attempts, want 2", k)
	}
	n.once()
}

func text1(t *testing.T, db *sql.DB, q string) string {
	t.Helper()
	var s string
	if err := db.QueryRow(q).Scan(&s); err != nil {
		t.Fatalf("%s: %v", q, err)
	}
	return s
}

// killQuestions kills the server at random instants while many clients ask about a structure of the library.
func killQuestions(t *testing.T, database string) {
	n := newFlowNode(t, database)
	ctx := context.Background()
	item, err := n.api.CreateItem(ctx, api.CreateItem{Name: "ubiquitin"})
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(filepath.Join("..", "..", "internal", "structure", "testdata", "1ubi.pdb"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := n.api.UploadFile(ctx, item.ID, "1ubi.pdb", f); err != nil {
		t.Fatal(err)
	}
	in, err := json.Marshal(map[string]any{
		"targetSource": "library", "libraryItemId": item.ID, "question": "How many residues does it have?",
	})
	if err != nil {
		t.Fatal(err)
	}
	acked := map[string]bool{}
	for round := range flowRounds {
		for _, id := range untilKilled(n, 8, func(c *api.Client) (string, error) {
			w, err := c.CreateWorkflow(ctx, api.CreateWorkflow{WorkflowName: "qna_v1", Name: "crash", Input: in})
			return w.ID, err
		}) {
			acked[id] = true
		}
		t.Logf("round %d: %d questions acknowledged", round, len(acked))
		n.serve()
	}
	if len(acked) < flowRounds {
		t.Fatalf("only %d questions were acknowledged; the test proves nothing", len(acked))
	}
	waitUntil(t, 5*time.Minute, "every question has ended", func() bool { return count(t, n.db, openFlows) == 0 })
	if k := count(t, n.db, "SELECT count(*) FROM workflow WHERE state = 'COMPLETED'"); k < len(acked) {
		t.Errorf("%d of %d questions were answered", k, len(acked))
	}
	for id := range acked {
		var state, result string
		err := n.db.QueryRow("SELECT r.state, r.result FROM workflow w JOIN run r ON r.id = w.run_id WHERE w.id = $1",
			id).Scan(&state, &result)
		if err != nil || state != "COMPLETED" || !strings.Contains(result, "76") {
			t.Errorf("acknowledged question %s: %s %v %s", id, state, err, result)
		}
	}
	n.once()
}

// untilKilled lets clients make things, kills the server after a while and returns what it had acknowledged.
func untilKilled(n *flowNode, clients int, make1 func(*api.Client) (string, error)) []string {
	var mu sync.Mutex
	var ids []string
	var wg sync.WaitGroup
	c := n.api
	for range clients {
		wg.Go(func() {
			for {
				id, err := make1(c)
				if err != nil {
					return // the server is gone
				}
				mu.Lock()
				ids = append(ids, id)
				mu.Unlock()
			}
		})
	}
	time.Sleep(time.Duration(100+rand.IntN(700)) * time.Millisecond)
	n.kill()
	wg.Wait()
	return ids
}

// killFollowUps kills the server at random instants while folds end that start a question and a simulation each.
func killFollowUps(t *testing.T, database string) {
	n := newFlowNode(t, database)
	ctx := context.Background()
	steps := int64(1)
	job := api.CreateJob{
		Name:      "crash",
		Sequences: []api.SequenceItem{{ProteinChain: &api.Polymer{Sequence: "GSGSGSGS"}}},
		Params:    &api.Params{ModelName: "null", RecyclingSteps: &steps},
		Constraints: &api.Constraints{
			Webhooks: json.RawMessage(
				`{"qna":{"enabled":true},"openmm":{"enabled":true,"preset":"single_idr_fasta","sim_length_ns":0.001,"step_size_ns":0.001}}`),
		},
	}
	acked := map[string]bool{}
	for round := range flowRounds {
		for _, id := range untilKilled(n, 4, func(c *api.Client) (string, error) {
			made, err := c.CreateJob(ctx, job, api.CreateOptions{})
			return made.JobID, err
		}) {
			acked[id] = true
		}
		t.Logf("round %d: %d folds acknowledged", round, len(acked))
		n.serve()
	}
	if len(acked) < flowRounds {
		t.Fatalf("only %d folds were acknowledged; the test proves nothing", len(acked))
	}
	waitUntil(t, 10*time.Minute, "every fold and follow-up has ended", func() bool {
		return count(t, n.db, "SELECT count(*) FROM job WHERE state <> 'COMPLETED'") == 0 &&
			count(t, n.db, "SELECT count(*) FROM delivery WHERE status = 'PENDING'") == 0 &&
			count(t, n.db, openFlows) == 0
	})
	jobs := count(t, n.db, "SELECT count(*) FROM job")
	for what, q := range map[string]string{
		"questions":               "SELECT count(*) FROM workflow WHERE kind = 'qna' AND state = 'DRAFT'",
		"simulations":             "SELECT count(*) FROM workflow WHERE kind = 'md' AND state = 'COMPLETED'",
		"folds with a question":   "SELECT count(DISTINCT source_job) FROM workflow WHERE kind = 'qna'",
		"folds with a simulation": "SELECT count(DISTINCT source_job) FROM workflow WHERE kind = 'md'",
		"deliveries that name one": "SELECT count(*) / 2 FROM delivery d JOIN workflow w ON w.id = d.triggered " +
			"WHERE d.status = 'SUCCEEDED' AND w.source_run = d.run_id",
		"names of the word that was": "SELECT count(*) FROM workflow WHERE workflow_name = 'calvados_openmm_v1'",
	} {
		if k := count(t, n.db, q); k != jobs {
			t.Errorf("%s: %d, of %d folds", what, k, jobs)
		}
	}
	n.once()
}
