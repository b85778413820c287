package crash

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
	"testing"
	"time"

	"pleat/api"
	"pleat/internal/store/storetest"
	"pleat/internal/store/tasks"
	"pleat/internal/testprogram"
)

// TestKilledServerLosesNoWorkflow kills the server with SIGKILL in the middle of each workflow: simulations resume from
// their checkpoints, every acknowledged question is answered once, and every completed fold starts its follow-ups once.
func TestKilledServerLosesNoWorkflow(t *testing.T) {
	if testing.Short() {
		t.Skip("takes minutes")
	}
	for name, fresh := range storetest.Migrated() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			t.Run("dynamics", func(t *testing.T) { killDynamics(t, fresh(t)) })
			t.Run("questions", func(t *testing.T) { killQuestions(t, fresh(t)) })
			t.Run("follow-ups", func(t *testing.T) { killFollowUps(t, fresh(t)) })
		})
	}
}

// workflowNode is a node with engines for workflows.
type workflowNode struct {
	*testprogram.Node
	api *api.Client // of the server that runs now
	db  *sql.DB
}

func newWorkflowNode(t *testing.T, database string) *workflowNode {
	n := &workflowNode{Node: testprogram.NewNode(t, database)}
	n.CreateKey()
	n.restart()
	n.db = n.Open()
	return n
}

// restart starts the server, after the first time or a kill.
func (n *workflowNode) restart() {
	n.Serve("--engines", "null,calvados,analyst", "--threads", "1", "--checkpoint-every", "1")
	n.api = n.Client()
}

// wantConsistent stops the server and checks what must be true whatever was killed: one event for each ended run, no
// attempt completed twice, nothing left open, no file without a reference.
func (n *workflowNode) wantConsistent() {
	n.T.Helper()
	testprogram.WantZero(n.T, n.db, map[string]string{
		"attempts completed twice": testprogram.CompletedTwice,
		"miscounted µs":            testprogram.Miscounted,
		"tasks left open":          testprogram.OpenTasks,
		"runs without exactly one event": "SELECT count(*) FROM run r WHERE (SELECT count(*) FROM event e " +
			"WHERE e.run_id = r.id OR r.kind <> 'fold' AND e.source_id = r.job_id) <> 1",
		"workflows in another state than their runs": "SELECT count(*) FROM workflow w JOIN run r ON r.id = w.run_id " +
			"WHERE r.state <> w.state",
	})
	n.Stop()
	n.WantNoOrphans(testprogram.QueryInt(n.T, n.db, referencedFiles))
}

// referencedFiles counts the files that some row refers to.
const referencedFiles = "SELECT count(*) FROM (SELECT blob_key FROM artifact " +
	"UNION SELECT blob_key FROM library_file UNION SELECT checkpoint FROM task WHERE checkpoint <> '') x"

// openWorkflows counts the workflows that have not ended.
const openWorkflows = "SELECT count(*) FROM workflow WHERE state NOT IN ('DRAFT', 'COMPLETED', 'FAILED', 'STOPPED')"

// killDynamics kills the server in the middle of a simulation, once it has a checkpoint, which takes a second.
func killDynamics(t *testing.T, database string) {
	n := newWorkflowNode(t, database)
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
	testprogram.WaitUntil(t, 10*time.Minute, "there is a checkpoint", func() bool {
		_ = n.db.QueryRow("SELECT checkpoint_step FROM task WHERE state = 'running'").Scan(&seen)
		return seen > 0
	})
	n.Kill()
	if testprogram.QueryInt(t, n.db, "SELECT count(*) FROM workflow WHERE state = 'RUNNING'") != 1 {
		t.Fatal("the simulation was not running when the server was killed; the test proves nothing")
	}
	n.restart()
	testprogram.WaitUntil(t, 5*time.Minute, "the simulation has ended", func() bool {
		return testprogram.QueryInt(t, n.db, openWorkflows) == 0
	})
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
		t.Errorf("it resumed from step %d, after a checkpoint at step %d: %s", m.Resumed, seen, res.Metrics)
	}
	for _, a := range res.Artifacts {
		var b bytes.Buffer
		if err := n.api.Download(ctx, api.Artifact{Name: a.Path, URL: a.URL, Bytes: a.SizeBytes}, &b); err != nil {
			t.Error(err)
		}
	}
	if k := testprogram.QueryInt(t, n.db, "SELECT count(*) FROM attempt"); k != 2 {
		t.Errorf("%d attempts, want 2", k)
	}
	n.wantConsistent()
}

// libraryQuestion puts a structure into the library and returns the input of a question about it, whose answer is 76.
func (n *workflowNode) libraryQuestion() json.RawMessage {
	n.T.Helper()
	ctx := context.Background()
	item, err := n.api.CreateItem(ctx, api.CreateItem{Name: "ubiquitin"})
	if err != nil {
		n.T.Fatal(err)
	}
	f, err := os.Open(filepath.Join("..", "..", "internal", "structure", "testdata", "1ubi.pdb"))
	if err != nil {
		n.T.Fatal(err)
	}
	defer f.Close()
	if _, err := n.api.UploadFile(ctx, item.ID, "1ubi.pdb", f); err != nil {
		n.T.Fatal(err)
	}
	in, err := json.Marshal(map[string]any{
		"targetSource": "library", "libraryItemId": item.ID, "question": "How many residues does it have?",
	})
	if err != nil {
		n.T.Fatal(err)
	}
	return in
}

// killQuestions kills the server at random instants while many clients ask about a structure of the library.
func killQuestions(t *testing.T, database string) {
	n := newWorkflowNode(t, database)
	in := n.libraryQuestion()
	rounds := testprogram.Rounds(t, crashRounds)
	acked := n.CreateThroughKills(rounds, 8, 700*time.Millisecond, n.restart, func() (string, error) {
		time.Sleep(rand.N(300 * time.Millisecond)) // every question must be answered in the end
		return n.ask(in)
	})
	testprogram.WaitUntil(t, 5*time.Minute, "every question has ended", func() bool {
		return testprogram.QueryInt(t, n.db, openWorkflows) == 0
	})
	spent := n.spentTasks(rounds)
	k := testprogram.QueryInt(t, n.db, "SELECT count(*) FROM workflow WHERE state = 'COMPLETED'")
	if k+spent < len(acked) {
		t.Errorf("%d of %d questions were answered; %d have spent their tries", k, len(acked), spent)
	}
	for id := range acked {
		var state, result string
		err := n.db.QueryRow("SELECT r.state, r.result FROM workflow w JOIN run r ON r.id = w.run_id WHERE w.id = $1",
			id).Scan(&state, &result)
		switch {
		case err == nil && state == "COMPLETED" && strings.Contains(result, "76"):
		case err == nil && state == "FAILED" && spent > 0:
			spent--
		default:
			t.Errorf("acknowledged question %s: %s %v %s", id, state, err, result)
		}
	}
	n.wantConsistent()
}

// ask creates a question.
func (n *workflowNode) ask(in json.RawMessage) (string, error) {
	w, err := n.api.CreateWorkflow(context.Background(), api.CreateWorkflow{
		WorkflowName: "qna_v1", Name: "crash", Input: in,
	})
	return w.ID, err
}

// foldWithFollowUps creates a fold that starts a question and a simulation.
func (n *workflowNode) foldWithFollowUps() (string, error) {
	steps := int64(1)
	created, err := n.api.CreateJob(context.Background(), api.CreateJob{
		Name:      "follow",
		Sequences: []api.SequenceItem{{ProteinChain: &api.Polymer{Sequence: "GSGSGSGS"}}},
		Params:    &api.Params{ModelName: "null", RecyclingSteps: &steps},
		Constraints: &api.Constraints{
			Webhooks: json.RawMessage(`{"qna":{"enabled":true},"openmm":{"enabled":true,
				"preset":"single_idr_fasta","sim_length_ns":0.001,"step_size_ns":0.001}}`),
		},
	}, api.CreateOptions{})
	return created.JobID, err
}

// awaitEnd waits until every fold, batch, workflow and delivery has ended.
func (n *workflowNode) awaitEnd() {
	n.T.Helper()
	// One statement sees one moment: a fold that ends starts workflows, and a workflow that ends makes deliveries.
	open := "SELECT (" + openJobs + ") + (" + openWorkflows + ") + " +
		"(SELECT count(*) FROM batch WHERE opened_at <> 0 AND ended_at = 0) + " +
		"(SELECT count(*) FROM delivery WHERE status NOT IN ('SUCCEEDED', 'FAILED'))"
	testprogram.WaitUntil(n.T, 10*time.Minute, "every fold, batch, follow-up and delivery has ended", func() bool {
		return testprogram.QueryInt(n.T, n.db, open) == 0
	})
}

// spentTasks returns how many tasks have failed because the server was killed during each of their tries: none, if it
// was killed fewer times.
func (n *workflowNode) spentTasks(rounds int) int {
	n.T.Helper()
	spent := testprogram.QueryInt(n.T, n.db,
		"SELECT count(*) FROM attempt WHERE detail LIKE '%died during every attempt'")
	if rounds < tasks.DefaultTries && spent > 0 {
		n.T.Errorf("%d tasks have spent %d tries in %d kills", spent, tasks.DefaultTries, rounds)
	}
	return spent
}

// wantFollowUps checks that every fold with follow-ups has started each of them once, and that it has completed. Where
// the server was killed as often as a task is tried, those whose tries are spent have failed instead.
func (n *workflowNode) wantFollowUps(rounds int) {
	n.T.Helper()
	folds := testprogram.QueryInt(n.T, n.db, "SELECT count(*) FROM job WHERE name = 'follow'")
	spent := n.spentTasks(rounds)
	for what, q := range map[string]string{
		"completed folds":         "SELECT count(*) FROM job WHERE name = 'follow' AND state = 'COMPLETED'",
		"questions":               "SELECT count(*) FROM workflow WHERE kind = 'qna' AND state = 'DRAFT'",
		"simulations":             "SELECT count(*) FROM workflow WHERE kind = 'md' AND state = 'COMPLETED'",
		"folds with a question":   "SELECT count(DISTINCT source_job) FROM workflow WHERE kind = 'qna' AND source_job <> ''",
		"folds with a simulation": "SELECT count(DISTINCT source_job) FROM workflow WHERE kind = 'md'",
		"deliveries with a workflow": "SELECT count(*) / 2 FROM delivery d " +
			"JOIN workflow w ON w.id = d.triggered WHERE d.status = 'SUCCEEDED' AND w.source_run = d.run_id",
		"follow-ups with the name of their alias": "SELECT count(*) FROM workflow " +
			"WHERE workflow_name = 'calvados_openmm_v1'",
	} {
		if k := testprogram.QueryInt(n.T, n.db, q); k > folds || k+spent < folds {
			n.T.Errorf("%s: %d, of %d folds; %d tasks have spent their tries", what, k, folds, spent)
		}
	}
}

// killFollowUps kills the server at random instants while folds end that start a question and a simulation each.
func killFollowUps(t *testing.T, database string) {
	n := newWorkflowNode(t, database)
	rounds := testprogram.Rounds(t, crashRounds)
	n.CreateThroughKills(rounds, 4, 250*time.Millisecond, n.restart, func() (string, error) {
		time.Sleep(rand.N(150 * time.Millisecond)) // every simulation must run in the end
		return n.foldWithFollowUps()
	})
	n.awaitEnd()
	n.wantFollowUps(rounds)
	n.wantConsistent()
}
