package server_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"pleat"
	"pleat/api"
	"pleat/internal/calvados"
	"pleat/internal/flow"
	"pleat/internal/server"
	"pleat/internal/store/people"
	"pleat/internal/store/runs"
	"pleat/internal/store/storetest"
	"pleat/internal/store/tasks"
	"pleat/internal/structure"
)

// The engines of workflows, as a worker registers them.
var (
	analystModel  = pleat.Model{Name: "analyst", Kind: pleat.TaskQnA, Engine: "analyst", Version: "1"}
	calvadosModel = pleat.Model{Name: "calvados", Kind: pleat.TaskMD, Engine: "calvados", Version: "1"}
	compareModel  = pleat.Model{Name: "compare", Kind: pleat.TaskCompare, Engine: "compare", Version: "1"}
)

// newWorkflowFixture is a fixture with engines for workflows.
func newWorkflowFixture(t testing.TB) *fixture {
	h := newFixture(t)
	h.register(testModel, bigModel, analystModel, calvadosModel)
	return h
}

// flow makes a workflow of ann's.
func (h *fixture) flow(body string) api.Workflow {
	h.t.Helper()
	r := h.as(h.key, "POST", "/v1/workflows", body)
	var out api.Workflow
	if r.status != 200 || json.Unmarshal([]byte(r.body), &out) != nil {
		h.t.Fatalf("create workflow: %d %s", r.status, r.body)
	}
	return out
}

func ask(job, question, rest string) string {
	return `{"workflow_name":"qna_v1","name":"A question","workflow_input":{"targetSource":"fold_job",` +
		`"source_job_id":"` + job + `","question":"` + question + `"` + rest + `}}`
}

// claimWorkflow claims the oldest task of a queue as the worker would.
func (h *fixture) claimWorkflow(queue string) runs.ClaimedTask {
	h.t.Helper()
	got, err := h.store.Runs.Claim(context.Background(), "w1", tasks.ClaimFilter{Queues: []string{queue}, N: 1})
	if err != nil || len(got) != 1 || got[0].Workflow == nil {
		h.t.Fatalf("claim %s: %v, %+v", queue, err, got)
	}
	return got[0]
}

func (h *fixture) finishWorkflow(c runs.ClaimedTask, row json.RawMessage, files ...pleat.Artifact) {
	h.t.Helper()
	err := h.store.Runs.FinishRun(context.Background(), tasks.LeaseOf(&c.Task), runs.RunFinished{
		State:     pleat.StateCompleted,
		Result:    &pleat.Result{Row: row},
		Artifacts: files,
		Engine:    "test 1",
	})
	if err != nil {
		h.t.Fatal(err)
	}
}

// answer completes the oldest question.
func (h *fixture) answer(text string) {
	h.t.Helper()
	c := h.claimWorkflow("qna/analyst")
	p, err := flow.Parse(c.Workflow.Alias, c.Workflow.Input)
	if err != nil {
		h.t.Fatal(err)
	}
	p.QnA.File = "structure.cif"
	row, err := flow.AnswerRow(p.QnA, text, "test 1", "job.yaml")
	if err != nil {
		h.t.Fatal(err)
	}
	h.finishWorkflow(c, row)
}

// ignoreTimes makes cmp.Diff ignore what differs from run to run.
var ignoreTimes = cmpopts.IgnoreTypes(api.Time{}, api.Moment{}, &api.Moment{})

func TestQuestion(t *testing.T) {
	t.Parallel()
	h := newWorkflowFixture(t)
	ctx, c := context.Background(), h.client(h.key)
	j := h.completed(trp)
	const question = "How many helices?"
	w := h.flow(ask(j.JobID, question, `,"webhooks":{"custom_http":{"enabled":false,"x":1}},"name":"kept"`))
	if len(w.Tasks) != 1 {
		t.Fatalf("%+v", w)
	}
	task := w.Tasks[0].ID
	want := api.Workflow{
		ID:     w.ID,
		Status: api.Queued,
		Type:   "qna_v1",
		Name:   "A question",
		Input: json.RawMessage(`{"isPublic":false,"name":"kept","question":"` + question + `","source_job_id":"` +
			j.JobID + `","targetSource":"fold_job","webhooks":{"custom_http":{"enabled":false,"x":1}}}`),
		Tasks: []api.WorkflowTask{{
			ID:     task,
			Type:   "inference_qna",
			Status: api.Queued,
			Result: json.RawMessage("null"),
			Parsed: []json.RawMessage{},
			Items:  []api.OutputItem{},
		}},
		IsOwner: true,
		Owned: api.Owned{
			ProjectID: new(string(h.user)),
			CreatedBy: &api.Creator{ID: string(h.user), Name: new("ann")},
		},
		Stage: "queued",
	}
	if d := cmp.Diff(want, w, ignoreTimes); d != "" {
		t.Error(d)
	}

	h.answer("One.")
	got, err := c.TaskResults(ctx, w.ID)
	if err != nil || len(got.TasksResults) != 1 {
		t.Fatalf("%+v %v", got, err)
	}
	row := got.TasksResults[0]
	var result api.QnAResult
	if err := json.Unmarshal(row.Result, &result); err != nil {
		t.Fatal(err)
	}
	wantResult := api.QnAResult{
		Question:     question,
		Answer:       "One.",
		TargetSource: "fold_job",
		TargetRef:    "fold_job/" + j.JobID,
		FileName:     result.FileName,
		Image:        "pleat test 1",
	}
	if d := cmp.Diff(wantResult, result); d != "" {
		t.Error(d)
	}
	wantRow := want.Tasks[0]
	wantRow.Status, wantRow.Result = api.Completed, row.Result
	if d := cmp.Diff(wantRow, row); d != "" {
		t.Error(d)
	}
	st, err := c.WorkflowStatus(ctx, w.ID)
	wantStatus := api.WorkflowStatusView{
		Status: api.Completed,
		Tasks:  []api.TaskStatusView{{ID: task, Type: "inference_qna", Status: api.Completed}},
	}
	if d := cmp.Diff(wantStatus, st); d != "" || err != nil {
		t.Error(d, err)
	}
	log, err := c.WorkflowLogs(ctx, w.ID)
	if err != nil || !strings.Contains(log, "state COMPLETED") || !strings.Contains(log, "state RUNNING") {
		t.Errorf("%q %v", log, err)
	}
	var last api.Event
	err = c.FollowWorkflow(ctx, w.ID, 0, func(e api.Event) error { last = e; return nil })
	wantLast := api.Event{Seq: last.Seq, Kind: "state", Workflow: w.ID, Task: task, State: api.Completed}
	wantLast.Stage, wantLast.Done, wantLast.Total = last.Stage, last.Done, last.Total
	if d := cmp.Diff(wantLast, last, ignoreTimes); d != "" || err != nil {
		t.Error(d, err)
	}
}

// The questions about a job are listed by any of its ids and under every alias of the workflow.
func TestLinkedQuestions(t *testing.T) {
	t.Parallel()
	h := newWorkflowFixture(t)
	ctx, c := context.Background(), h.client(h.key)
	j := h.completed(trp)
	first := h.flow(ask(j.JobID, "How many helices?", ""))
	h.answer("One.")
	second := h.flow(ask(j.JobID, "And strands?", ""))
	linked := func(w api.Workflow, question string) api.LinkedPreview {
		return api.LinkedPreview{
			WorkflowID:       w.ID,
			WorkflowStatus:   w.Status,
			WorkflowType:     "qna_v1",
			Name:             "A question",
			QuestionPreview:  question,
			SourceJobID:      &j.JobID,
			SourceJobRunID:   &j.JobRunID,
			SourceSequenceID: &j.SequencesIDs[0],
		}
	}
	first.Status = api.Completed
	questions, answer := []string{"How many helices?", "And strands?"}, "One."
	want := api.List[api.LinkedWorkflow]{Data: []api.LinkedWorkflow{
		{LinkedPreview: linked(second, questions[1]), LastQuestion: &questions[1]},
		{LinkedPreview: linked(first, questions[0]), LastQuestion: &questions[0], LastAnswer: &answer},
	}}
	byJob, byRun, bySequence := "source_job_id="+j.JobID, "source_job_run_id="+j.JobRunID,
		"source_sequence_id="+j.SequencesIDs[0]
	for _, q := range []string{
		byJob, byRun, "sourceJobId=" + j.JobID, "sourceSequenceId=" + j.SequencesIDs[0],
		byJob + "&" + byRun + "&" + bySequence,
	} {
		for _, alias := range []string{"qna", "evolla"} {
			r := h.as(h.key, "GET", "/v1/workflows/"+alias+"/linked-history?"+q, nil)
			var list api.List[api.LinkedWorkflow]
			if err := json.Unmarshal([]byte(r.body), &list); err != nil {
				t.Fatalf("%s?%s: %d %s", alias, q, r.status, r.body)
			}
			if d := cmp.Diff(want, list, ignoreTimes); d != "" {
				t.Errorf("%s?%s: %s", alias, q, d)
			}
		}
	}
	previews, err := c.LinkedPreviews(ctx, j.JobID, "", "", 1)
	wantPreviews := api.List[api.LinkedPreview]{Data: []api.LinkedPreview{linked(second, questions[1])}}
	if d := cmp.Diff(wantPreviews, previews, ignoreTimes); d != "" || err != nil {
		t.Error(d, err)
	}
	r := h.as(h.key, "GET", "/v1/workflows/qna/linked-previews?"+byJob, nil)
	if r.status != 200 || strings.Contains(r.body, "lastAnswer") || strings.Contains(r.body, "lastQuestion") {
		t.Errorf("previews with long texts: %d %s", r.status, r.body)
	}
	v, err := c.Job(ctx, j.JobID)
	wantLinks := []api.LinkedItem{
		{ID: second.ID, Type: "qna_v1", Status: api.Queued, Name: "A question"},
		{ID: first.ID, Type: "qna_v1", Status: api.Completed, Name: "A question"},
	}
	if d := cmp.Diff(wantLinks, v.Workflows); d != "" || err != nil {
		t.Error(d, err)
	}
}

// The permissions on a workflow and on the words of its paths.
func TestWorkflowVisibility(t *testing.T) {
	t.Parallel()
	h := newWorkflowFixture(t)
	ctx := context.Background()
	_, ben := h.newUser("ben")
	j := h.completed(trp)
	w := h.flow(ask(j.JobID, "Which?", `,"sourceUserId":"me","webhooks":{"custom_http":{"enabled":false}}`))
	h.answer("That.")
	reads := []string{"", "/events"}
	words := []string{"public", "status", "task-results"}
	paths := func() (out []string) {
		for _, p := range reads {
			out = append(out, "/v1/workflows/"+w.ID+p)
		}
		for _, p := range words {
			out = append(out, "/v1/workflows/"+p+"/"+w.ID)
		}
		return out
	}
	for _, p := range paths() {
		for _, c := range []struct {
			who    string
			header []string
			status int
		}{{"owner", []string{"X-API-Key", h.key}, 200}, {"stranger", []string{"X-API-Key", ben}, 404},
			{"anonymous", nil, 401}, {"bad key", []string{"X-API-Key", "x"}, 401}} {
			if r := h.ask("GET", p, nil, c.header...); r.status != c.status {
				t.Errorf("private: %s %s: %d, want %d: %s", c.who, p, r.status, c.status, r.body)
			}
		}
	}
	for _, c := range [][2]string{
		{"GET", "/v1/workflows/logs/" + w.ID}, {"POST", "/v1/workflows/" + w.ID + "/cancel"},
		{"DELETE", "/v1/workflows/" + w.ID},
	} {
		if r := h.as(ben, c[0], c[1], nil); r.status != 404 {
			t.Errorf("%s %s by a stranger: %d", c[0], c[1], r.status)
		}
	}
	if r := h.as(ben, "PATCH", "/v1/workflows/"+w.ID+"/public", `{"isPublic":true}`); r.status != 404 {
		t.Errorf("shown by a stranger: %d", r.status)
	}
	if vis, err := h.client(h.key).SetWorkflowPublic(ctx, w.ID, true); err != nil || !vis.IsPublic ||
		vis.WorkflowID != w.ID {
		t.Errorf("%+v %v", vis, err)
	}
	for _, p := range paths() {
		r := h.ask("GET", p, nil)
		if r.status != 200 || strings.Contains(r.body, "webhooks") || strings.Contains(r.body, "sourceUserId") {
			t.Errorf("public: %s: %d %s", p, r.status, r.body)
		}
	}
	if got, err := h.client("").PublicWorkflow(ctx, w.ID); err != nil ||
		!strings.Contains(string(got.Input), `"isPublic":true`) || got.IsOwner || !got.IsPublic {
		t.Errorf("%+v %v", got, err)
	}
	if r := h.ask("GET", "/v1/workflows/logs/"+w.ID, nil); r.status != 401 {
		t.Errorf("anonymous logs: %d", r.status)
	}
	// a public job shows others its public workflows alone
	if _, err := h.client(h.key).SetPublic(ctx, j.JobID, true); err != nil {
		t.Fatal(err)
	}
	h.flow(ask(j.JobID, "Secret?", ""))
	for key, want := range map[string]int{h.key: 2, ben: 1, "": 1} {
		v, err := h.client(key).Job(ctx, j.JobID)
		if err != nil || len(v.Workflows) != want {
			t.Errorf("%d linked workflows, want %d: %v", len(v.Workflows), want, err)
		}
	}
	// ben may ask about ann's public job, and ann does not see that he does
	if r := h.as(ben, "POST", "/v1/workflows", ask(j.JobID, "Mine?", "")); r.status != 200 {
		t.Errorf("a question about a public job: %d %s", r.status, r.body)
	}
	if list, err := h.client(h.key).LinkedHistory(ctx, j.JobID, "", "", 0); err != nil || len(list.Data) != 2 {
		t.Errorf("%+v %v", list, err)
	}
	// words that are no route of workflows
	for _, p := range []string{"/v1/workflows/x/y", "/v1/workflows/public/events", "/v1/workflows/" + w.ID + "/nothing",
		"/v1/workflows/md/linked-history"} {
		if r := h.as(h.key, "GET", p, nil); r.status != 404 {
			t.Errorf("%s: %d %s", p, r.status, r.body)
		}
	}
	if r := h.as(h.key, "GET", "/metrics", nil); !strings.Contains(r.body,
		`route="GET /v1/workflows/task-results/{id}"`) || strings.Contains(r.body, "{first}") &&
		strings.Contains(r.body, `{first}/{second}",status="200"`) {
		t.Error("the routes that share a pattern are not told apart in the figures")
	}
}

func TestDraft(t *testing.T) {
	t.Parallel()
	h := newWorkflowFixture(t)
	ctx, c := context.Background(), h.client(h.key)
	j := h.create(trp) // not completed: a draft may wait for it
	draft := strings.Replace(ask(j.JobID, "", ""), `{"workflow_name"`, `{"create_mode":"draft","workflow_name"`, 1)
	w := h.flow(draft)
	if w.Status != api.Draft || len(w.Tasks) != 0 {
		t.Fatalf("%+v", w)
	}
	run := `{"workflowId":"` + w.ID + `"}`
	if r := h.as(h.key, "POST", "/v1/workflows/execute", run); r.status != 400 ||
		!strings.Contains(r.message(t), "question is required") {
		t.Errorf("executed without a question: %d %s", r.status, r.body)
	}
	if got, err := c.SetDraftQuestion(ctx, w.ID, "Why?"); err != nil ||
		!strings.Contains(string(got.Input), `"question":"Why?"`) {
		t.Errorf("%+v %v", got, err)
	}
	if r := h.as(h.key, "POST", "/v1/workflows/execute", run); r.status != 409 {
		t.Errorf("executed before the fold has ended: %d %s", r.status, r.body)
	}
	h.finish(h.claim())
	got, err := c.ExecuteWorkflow(ctx, w.ID)
	if err != nil || got.Status != api.Queued || len(got.Tasks) != 1 {
		t.Fatalf("%+v %v", got, err)
	}
	for method, path := range map[string]string{
		"POST": "/v1/workflows/execute", "PATCH": "/v1/workflows/evolla/" + w.ID + "/draft-question",
	} {
		body := map[string]string{"POST": run, "PATCH": `{"question":"x"}`}[method]
		if r := h.as(h.key, method, path, body); r.status != 409 || !strings.Contains(r.message(t), "only a DRAFT") {
			t.Errorf("%s after it was executed: %d %s", path, r.status, r.body)
		}
	}
	h.answer("Because.")
	if list, err := c.LinkedHistory(ctx, "", j.JobRunID, "", 0); err != nil || len(list.Data) != 1 ||
		*list.Data[0].LastAnswer != "Because." {
		t.Errorf("%+v %v", list, err)
	}
	// a draft that is cancelled has no events and cannot run
	d := h.flow(draft)
	if r := h.as(h.key, "GET", "/v1/workflows/"+d.ID+"/events", nil); r.status != 409 {
		t.Errorf("events of a draft: %d", r.status)
	}
	if r, err := c.CancelWorkflow(ctx, d.ID); err != nil || r.Status != api.Stopped {
		t.Errorf("%+v %v", r, err)
	}
	if r := h.as(h.key, "GET", "/v1/workflows/"+d.ID+"/events", nil); r.status != 204 {
		t.Errorf("events of a stopped draft: %d", r.status)
	}
	if r := h.as(h.key, "POST", "/v1/workflows/"+d.ID+"/cancel", nil); r.status != 409 {
		t.Errorf("cancelled twice: %d", r.status)
	}
}

// The streams of other readers end as soon as a workflow is private, not at their next heartbeat.
func TestHiddenWorkflowEndsStreams(t *testing.T) {
	t.Parallel()
	h := newFixture(t, func(c *server.Config) { c.StreamHeartbeat, c.StreamPoll = time.Hour, time.Hour })
	h.register(testModel, calvadosModel)
	w := h.flow(`{"workflow_name":"md","name":"sim","workflow_input":{"sequence":"GSGSGS",` +
		`"preset":"single_idr_fasta","isPublic":true}}`)
	anonymous := readStream(t, h.http.URL+"/v1/workflows/"+w.ID+"/events")
	if r := h.as(h.key, "PATCH", "/v1/workflows/"+w.ID+"/public", `{"isPublic":false}`); r.status != 200 {
		t.Fatal(r.body)
	}
	ends(t, anonymous, "the workflow was hidden")
}

func TestListWorkflows(t *testing.T) {
	t.Parallel()
	h := newWorkflowFixture(t)
	ctx, c := context.Background(), h.client(h.key)
	j := h.completed(trp)
	var ids []string
	for i := range 3 {
		ids = append(ids, h.flow(ask(j.JobID, fmt.Sprintf("Question %d?", i), "")).ID)
	}
	md := h.flow(`{"workflow_name":"calvados_openmm_v1","name":"sim","workflow_input":{"sequence":"GSGSGS",` +
		`"preset":"single_idr_fasta","isPublic":true}}`)
	if md.Type != "calvados_openmm_v1" || md.Tasks[0].Type != "inference_calvados_openmm" || !md.IsPublic {
		t.Errorf("%+v", md)
	}
	page, err := c.Workflows(ctx, api.WorkflowsFilter{Limit: 2})
	if err != nil || len(page.Data) != 2 || page.Data[0].ID != md.ID || page.Data[1].ID != ids[2] ||
		page.NextCursor == nil {
		t.Fatalf("%+v %v", page, err)
	}
	page, err = c.Workflows(ctx, api.WorkflowsFilter{Limit: 2, Cursor: *page.NextCursor})
	if err != nil || len(page.Data) != 2 || page.Data[1].ID != ids[0] || page.NextCursor != nil ||
		*page.Data[1].SourceJobID != j.JobID {
		t.Errorf("%+v %v", page, err)
	}
	for f, want := range map[api.WorkflowsFilter]int{{Type: "md"}: 1, {Type: "evolla_v1"}: 3, {SourceJob: j.JobID}: 3,
		{Status: api.Completed}: 0, {Status: api.Queued}: 4} {
		if got, err := c.Workflows(ctx, f); err != nil || len(got.Data) != want {
			t.Errorf("%+v: %d, want %d: %v", f, len(got.Data), want, err)
		}
	}
	h.claimWorkflow("md/calvados")
	if got, err := c.CancelWorkflow(ctx, md.ID); err != nil || got.Status != api.Running {
		t.Errorf("cancel what runs: %+v %v", got, err)
	}
	// all news in one stream
	stop := context.Canceled
	var news []api.Change
	err = c.Watch(ctx, 1, func(n api.Change) error {
		if n.Workflow != "" {
			if news = append(news, n); len(news) == 4 {
				return stop
			}
		}
		return nil
	})
	if err != stop || news[3].Name == "" || news[3].JobID != "" {
		t.Errorf("%+v %v", news, err)
	}
}

// A simulation's files have links, and any of its moments can be taken.
func TestFrames(t *testing.T) {
	t.Parallel()
	h := newWorkflowFixture(t)
	ctx, c := context.Background(), h.client(h.key)
	dir, frames := simulate(t)
	w := h.flow(`{"workflow_name":"md","name":"sim","workflow_input":{"sequence":"GSKEFAWRDG",` +
		`"preset":"single_idr_fasta","sim_length_ns":0.02,"step_size_ns":0.002}}`)
	frame := api.ExtractFrame{TimeNs: f(0.0081)}
	if _, err := c.ExtractFrame(ctx, w.ID, frame); err == nil || !strings.Contains(err.Error(), "QUEUED") {
		t.Errorf("a frame of what waits: %v", err)
	}
	run := h.claimWorkflow("md/calvados")
	var files []pleat.Artifact
	var rows []flow.RowFile
	for _, name := range []string{calvados.TopologyFile, calvados.TrajectoryFile} {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, h.put(run.Task.Run, pleat.Artifact{
			Kind: pleat.ArtifactOther, Name: name, ContentType: "application/octet-stream",
		}, string(b)))
		rows = append(rows, flow.RowFile{Path: name, SizeBytes: int64(len(b))})
	}
	row, err := flow.DynamicsRow(rows, flow.Metrics{Frames: frames})
	if err != nil {
		t.Fatal(err)
	}
	h.finishWorkflow(run, row, files...)
	got, err := c.TaskResults(ctx, w.ID)
	if err != nil {
		t.Fatal(err)
	}
	var res api.MDResult
	if err := json.Unmarshal(got.TasksResults[0].Result, &res); err != nil || len(res.Artifacts) != 2 {
		t.Fatalf("%s %v", got.TasksResults[0].Result, err)
	}
	if r := h.ask("GET", res.Artifacts[1].URL, nil); r.status != 200 ||
		int64(len(r.body)) != res.Artifacts[1].SizeBytes {
		t.Errorf("the trajectory's link: %d", r.status)
	}

	frame.Selection, frame.OutputFilename = "resid 2:4 and name CA", "part.pdb"
	one, err := c.ExtractFrame(ctx, w.ID, frame)
	wantFrame := api.ExtractedFrame{
		WorkflowID:      w.ID,
		TaskID:          w.Tasks[0].ID,
		PDBURL:          one.PDBURL,
		Path:            "part.pdb",
		LibraryItemID:   one.LibraryItemID,
		FrameIndex:      3,
		RequestedTimeNs: 0.0081,
		ActualTimeNs:    0.008,
		AtomCount:       3,
	}
	if d := cmp.Diff(wantFrame, one, cmpopts.EquateApprox(0, 1e-5)); d != "" || err != nil {
		t.Fatalf("%v\n%s", err, d)
	}
	r := h.ask("GET", one.PDBURL, nil)
	pdb, err := structure.ReadPDB(strings.NewReader(r.body), structure.Limits{})
	if err != nil || r.status != 200 || len(pdb.Chains) != 1 || len(pdb.Chains[0].Residues) != 3 {
		t.Errorf("%d %v\n%s", r.status, err, r.body)
	}
	item, err := c.LibraryItem(ctx, one.LibraryItemID)
	if err != nil || item.Origin != "extract-frame" ||
		!strings.Contains(string(item.Metadata), `"file_name":"part.pdb"`) ||
		!strings.Contains(string(item.Metadata), w.ID) {
		t.Errorf("%s %v", item.Metadata, err)
	}
	// the alias, and all atoms; a public workflow's links need no end, and die when it is hidden again
	if r := h.as(h.key, "POST", "/v1/workflows/openmm/"+w.ID+"/extract-frame",
		`{"timeNs":0.002,"dtInPs":null}`); r.status != 200 || !strings.Contains(r.body, `"atomCount":10`) {
		t.Errorf("%d %s", r.status, r.body)
	}
	for body, want := range map[string]string{
		`{"timeNs":0.002,"selection":"resid 2:4 and nmae CA"}`:   "selection, character 15",
		`{"timeNs":0.002,"selection":"resname TRP and resid 1"}`: "selection",
		`{"timeNs":99}`:                "timeNs",
		`{"timeNs":-1}`:                "timeNs is -1",
		`{}`:                           "timeNs is required",
		`{"timeNs":0.002,"dtInPs":-1}`: "dtInPs is -1",
		`{"timeNs":0.002,"outputFilename":"../x.pdb"}`:                     "outputFilename",
		`{"timeNs":0.002,"outputFilename":"x.cif"}`:                        "outputFilename",
		`{"timeNs":0.002,"selection":"` + strings.Repeat("(", 1000) + `"}`: "selection",
	} {
		if r := h.as(h.key, "POST", "/v1/workflows/md/"+w.ID+"/extract-frame", body); r.status != 400 ||
			!strings.Contains(r.message(t), want) {
			t.Errorf("%s: %d %s; want %q", pleat.Clip(body), r.status, r.body, want)
		}
	}
	if r := h.as(h.key, "PATCH", "/v1/workflows/"+w.ID+"/public", `{"isPublic":true}`); r.status != 200 {
		t.Fatal(r.body)
	}
	open := h.ask("GET", "/v1/workflows/task-results/"+w.ID, nil)
	if err := json.Unmarshal([]byte(open.body), &got); err != nil ||
		json.Unmarshal(got.TasksResults[0].Result, &res) != nil {
		t.Fatal(open.body)
	}
	link := res.Artifacts[0].URL
	if r := h.ask("GET", link, nil); r.status != 200 || strings.Contains(link, "e=") {
		t.Errorf("public link %s: %d", link, r.status)
	}
	h.as(h.key, "PATCH", "/v1/workflows/"+w.ID+"/public", `{"isPublic":false}`)
	if r := h.ask("GET", link, nil); r.status != 401 {
		t.Errorf("the public link after it was hidden: %d", r.status)
	}
}

// simulate runs ten residues for ten frames and says where the files are.
func simulate(t *testing.T) (dir string, frames int64) {
	t.Helper()
	dir = t.TempDir()
	m, err := calvados.FromSequence("GSKEFAWRDG")
	if err != nil {
		t.Fatal(err)
	}
	p := calvados.Defaults()
	p.Preset, p.LengthNs, p.SaveNs, p.Seed, p.Workers = calvados.SingleIDR, 0.02, 0.002, 1, 1
	sys, err := calvados.NewSystem(p, m)
	if err != nil {
		t.Fatal(err)
	}
	res, err := calvados.Run(context.Background(), sys, dir, calvados.Hooks{})
	if err != nil || res.Frames != 10 {
		t.Fatalf("%+v %v", res, err)
	}
	return dir, res.Frames
}

// Every refusal of the workflows' and the library's routes: its status and its whole sentence stand in
// testdata/flowrefusals.txt.
func TestWorkflowRefusals(t *testing.T) {
	t.Parallel()
	h := newWorkflowFixture(t)
	benID, ben := h.newUser("ben")
	_ = benID
	good := []string{"Authorization", "Bearer " + h.key}
	job, other := h.completed(trp), h.completed(trp)
	waiting := h.create(trp)
	r := h.as(ben, "POST", "/v1/jobs", trp)
	var bens api.CreatedJob
	if json.Unmarshal([]byte(r.body), &bens) != nil {
		t.Fatal(r.body)
	}
	bensItem := h.item(ben, "x", "a.pdb", smallPDB)
	empty, pdb := h.item(h.key, "x", ""), h.item(h.key, "x", "a.pdb", smallPDB)
	none := "01234567-89ab-7def-8123-456789abcdef"
	qna := func(in string) string { return `{"workflow_name":"qna_v1","name":"x","workflow_input":` + in + `}` }
	about := func(id, rest string) string {
		return qna(`{"targetSource":"fold_job","source_job_id":"` + id + `","question":"Why?"` + rest + `}`)
	}
	md := func(rest string) string {
		return `{"workflow_name":"md","name":"x","workflow_input":{"preset":"single_idr_fasta",` +
			`"sequence":"GSGSGSGSGS"` + rest + `}}`
	}
	after := func(webhooks string) string {
		return strings.Replace(trp, `"params"`, `"constraints":{"webhooks":{`+webhooks+`}},"params"`, 1)
	}
	const flows = "/v1/workflows"
	var out strings.Builder
	for _, c := range []struct {
		name, method, path string
		body               any
		headers            []string
	}{
		{"no key", "POST", flows, about(job.JobID, ""), nil},
		{"no workflow", "POST", flows, `{"name":"x","workflow_input":{}}`, good},
		{"unknown workflow", "POST", flows, `{"workflow_name":"qna_v2","name":"x","workflow_input":{}}`, good},
		{"workflow of another world", "POST", flows, `{"workflow_name":"docking","name":"x","workflow_input":{}}`,
			good},
		{"unknown field", "POST", flows, `{"workflowName":"qna_v1"}`, good},
		{"blank name", "POST", flows, `{"workflow_name":"qna_v1","name":" ","workflow_input":{}}`, good},
		{"no input", "POST", flows, `{"workflow_name":"qna_v1","name":"x"}`, good},
		{"input is an array", "POST", flows, qna(`[]`), good},
		{"unknown mode", "POST", flows,
			`{"workflow_name":"qna_v1","name":"x","create_mode":"later","workflow_input":{}}`, good},
		{"no source", "POST", flows, qna(`{"question":"Why?"}`), good},
		{"unknown source", "POST", flows, qna(`{"targetSource":"foldjob","question":"Why?"}`), good},
		{"no question", "POST", flows, qna(`{"targetSource":"fold_job","source_job_id":"` + job.JobID + `"}`), good},
		{"blank question", "POST", flows,
			qna(`{"targetSource":"fold_job","source_job_id":"` + job.JobID + `","question":" "}`), good},
		{"question of 100 kB", "POST", flows,
			qna(`{"targetSource":"fold_job","source_job_id":"` + job.JobID + `","question":"` +
				strings.Repeat("why ", 25_000) + `"}`), good},
		{"no such job", "POST", flows, about(none, ""), good},
		{"somebody else's job", "POST", flows, about(bens.JobID, ""), good},
		{"job is no UUID", "POST", flows, about("x", ""), good},
		{"run of another job", "POST", flows, about(job.JobID, `,"source_job_run_id":"`+other.JobRunID+`"`), good},
		{"sequence of another job", "POST", flows,
			about(job.JobID, `,"source_sequence_id":"`+other.SequencesIDs[0]+`"`), good},
		{"one id in two spellings", "POST", flows, about(job.JobID, `,"sourceJobId":"`+job.JobID+`"`), good},
		{"a fold that waits", "POST", flows, about(waiting.JobID, ""), good},
		{"somebody else's item", "POST", flows,
			qna(`{"targetSource":"library","libraryItemId":"` + bensItem + `","question":"Why?"}`), good},
		{"an item without files", "POST", flows,
			qna(`{"targetSource":"library","libraryItemId":"` + empty + `","question":"Why?"}`), good},
		{"a file that is not there", "POST", flows,
			qna(`{"targetSource":"upload","files":{"pdb":{"libraryItemId":"` + pdb +
				`","fileName":"b.pdb"}},"question":"Why?"}`), good},
		{"an upload without a file", "POST", flows, qna(`{"targetSource":"upload","question":"Why?"}`), good},
		{"a PDB id, not allowed", "POST", flows, qna(`{"targetSource":"pdb","pdbId":"1UBQ","question":"Why?"}`), good},
		{"a PDB id that is none", "POST", flows, qna(`{"targetSource":"pdb","pdbId":"ubiquitin","question":"Why?"}`),
			good},
		{"a UniProt accession, not allowed", "POST", flows,
			qna(`{"targetSource":"uniprot","uniprotId":"P0CG47","question":"Why?"}`), good},
		{"a follow-up of a workflow", "POST", flows, about(job.JobID, `,"webhooks":{"md":{"enabled":true}}`), good},
		{"no endpoint is set up", "POST", flows, about(job.JobID, `,"webhooks":{"custom_http":{"enabled":true}}`),
			good},
		{"dynamics without a source", "POST", flows, `{"workflow_name":"md","name":"x","workflow_input":{}}`, good},
		{"dynamics of somebody else's job", "POST", flows,
			`{"workflow_name":"md","name":"x","workflow_input":{"sourceType":"fold_job","sourceJobId":"` + bens.JobID +
				`"}}`, good},
		{"dynamics without PAE", "POST", flows,
			`{"workflow_name":"md","name":"x","workflow_input":{"files":{"pdb":{"libraryItemId":"` + pdb + `"}}}}`,
			good},
		{"all atoms without an engine", "POST", flows,
			`{"workflow_name":"md","name":"x","workflow_input":{"preset":"all_atom","sourceType":"fold_job",` +
				`"sourceJobId":"` + job.JobID + `"}}`, good},
		{"field that is none", "POST", flows, strings.Replace(md(""), `"preset"`, `"solvent":"tip3p","preset"`, 1), good},
		{"field of a question that is none", "POST", flows, qna(`{"pdbId":"1UBQ","question":"Why?","modle":"x"}`), good},
		{"unknown preset", "POST", flows, strings.Replace(md(""), "single_idr_fasta", "single_idr", 1), good},
		{"letter that is no residue", "POST", flows, strings.Replace(md(""), "GSGS", "GSGB", 1), good},
		{"temperature of 0", "POST", flows, md(`,"temp":0`), good},
		{"negative length", "POST", flows, md(`,"sim_length_ns":-1`), good},
		{"negative step", "POST", flows, md(`,"step_size_ns":-0.01`), good},
		{"10^9 steps", "POST", flows, md(`,"sim_length_ns":10000`), good},
		{"box smaller than the chain", "POST", flows,
			strings.Replace(md(`,"box_length":10`), "GSGSGSGSGS", strings.Repeat("GS", 200), 1), good},
		{"box of nothing", "POST", flows, md(`,"box_length":0`), good},
		{"misspelt field", "POST", flows, md(`,"sim_lenght_ns":1`), good},
		{"physics that would be ignored", "POST", flows, md(`,"config":{"box_eq":true}`), good},
		{"temperature is text", "POST", flows, md(`,"temp":"warm"`), good},
		{"dynamics after a fold, at a temperature of 0", "POST", "/v1/jobs",
			after(`"md":{"enabled":true,"temp":0}`), good},
		{"question after a fold that is a number", "POST", "/v1/jobs",
			after(`"qna":{"enabled":true,"initial_question":7}`), good},
		{"no such workflow", "GET", flows + "/" + none, nil, good},
		{"no such workflow, anonymous", "GET", flows + "/public/" + none, nil, nil},
		{"id is no UUID", "GET", flows + "/1", nil, good},
		{"id is no UUID, to cancel", "POST", flows + "/1/cancel", nil, good},
		{"execute nothing", "POST", flows + "/execute", `{}`, good},
		{"execute what is not there", "POST", flows + "/execute", `{"workflowId":"` + none + `"}`, good},
		{"isPublic is missing", "PATCH", flows + "/" + none + "/public", `{}`, good},
		{"question of a draft is missing", "PATCH", flows + "/qna/" + none + "/draft-question", `{}`, good},
		{"linked to nothing", "GET", flows + "/qna/linked-history", nil, good},
		{"linked to what is no UUID", "GET", flows + "/qna/linked-previews?source_job_id=1", nil, good},
		{"limit is 201", "GET", flows + "/qna/linked-history?limit=201&source_job_id=" + job.JobID, nil, good},
		{"bad status", "GET", flows + "?status=INITIALIZED", nil, good},
		{"bad type", "GET", flows + "?workflow_type=fold", nil, good},
		{"bad cursor", "GET", flows + "?cursor=!!", nil, good},
		{"schema of a question", "POST", flows + "/node/output-schema", `{"workflowTaskTypeId":"inference_qna"}`, good},
		{"schema of nothing", "POST", flows + "/node/output-schema", `{}`, good},
		{"schema of something unknown", "POST", flows + "/node/output-schema", `{"workflowTaskTypeId":"inference_dm"}`,
			good},
		{"schema of no designs", "POST", flows + "/node/output-schema",
			`{"workflowTaskTypeId":"pipeline_run_design_v1","inputPayload":{}}`, good},
		{"schema of a million designs", "POST", flows + "/node/output-schema",
			`{"workflowTaskTypeId":"pipeline_run_design_v1","inputPayload":{"budget":1000000}}`, good},
		{"frame of nothing", "POST", flows + "/md/" + none + "/extract-frame", `{"timeNs":1}`, good},
		{"item without a name", "POST", "/v1/library/create", `{}`, good},
		{"item of an unknown type", "POST", "/v1/library/create", `{"name":"x","type":"link"}`, good},
		{"item with metadata that is text", "POST", "/v1/library/create", `{"name":"x","metadata":"y"}`, good},
		{"item in a file", "POST", "/v1/library/create", `{"name":"x","parent_id":"` + pdb + `"}`, good},
		{"item in nothing", "POST", "/v1/library/create", `{"name":"x","parent_id":"` + none + `"}`, good},
		{"no such item", "GET", "/v1/library/" + none, nil, good},
		{"no such file", "GET", "/v1/library/file/" + pdb + "/b.pdb", nil, good},
		{"files without a form", "POST", "/v1/library/" + pdb + "/upload-files", `{}`, good},
		{"library, anonymous", "GET", "/v1/library", nil, nil},
	} {
		r := h.ask(c.method, c.path, c.body, c.headers...)
		if r.status < 400 || r.status == 422 {
			t.Errorf("%s: %d %s", c.name, r.status, r.body)
			continue
		}
		message := r.message(t)
		for id, name := range map[string]string{job.JobID: "JOB", job.JobRunID: "RUN", other.JobRunID: "OTHER-RUN",
			other.SequencesIDs[0]: "OTHER-SEQUENCE", empty: "EMPTY", pdb: "PDB"} {
			message = strings.ReplaceAll(message, id, name)
		}
		fmt.Fprintf(&out, "%-40s %d %s\n", c.name, r.status, message)
	}
	golden(t, "flowrefusals.txt", out.String())
	if n := storetest.Count(t, h.store, "workflow"); n != 0 {
		t.Errorf("refused requests made %d workflows", n)
	}
}

func TestOutputSchema(t *testing.T) {
	t.Parallel()
	h := newWorkflowFixture(t)
	c := h.client(h.key)
	got, err := c.OutputSchema(context.Background(), "pipeline_run_design_v1", json.RawMessage(`{"budget":2}`))
	third := func(f api.OutputField) bool { return strings.HasPrefix(f.Name, "designs[2]") }
	if err != nil || !slices.Contains(got.Available, api.OutputField{Name: "designs[1].ptm", Type: "key/float"}) ||
		slices.ContainsFunc(got.Available, third) {
		t.Errorf("%+v %v", got, err)
	}
	got, err = c.OutputSchema(context.Background(), "inference_md", nil)
	if err != nil || len(got.Available) == 0 {
		t.Errorf("%+v %v", got, err)
	}
}

// visitDesigns tries every route of designs, for the test of the document.
func visitDesigns(t *testing.T, h *fixture, visit func(route, schema string, r reply, want int)) {
	t.Helper()
	const flows = "/v1/workflows"
	as := func(method, path string, body any) reply { return h.as(h.key, method, path, body) }
	created := as("POST", flows+"/graph/add", `{"workflow_name":"design_v1"}`)
	visit("POST "+flows+"/graph/add", "Workflow", created, 200)
	var w api.Workflow
	if err := json.Unmarshal([]byte(created.body), &w); err != nil {
		t.Fatal(err)
	}
	own := flows + "/" + w.ID
	visit("GET "+flows+"/{id}/workflow.yml", "Error", as("GET", own+"/workflow.yml", nil), 404)
	visit("POST "+flows+"/{id}/workflow.yml", "Error",
		h.as(h.key, "POST", own+"/workflow.yml", "version: 2", "Content-Type", "text/yaml"), 400)
	visit("GET "+flows+"/{id}/graph", "GraphView", as("GET", own+"/graph", nil), 200)
	visit("POST "+flows+"/{id}/sync/workflow.yml", "Workflow", as("POST", own+"/sync/workflow.yml", nil), 200)
	visit("POST "+flows+"/design/{id}/fold", "Error",
		as("POST", flows+"/design/"+w.ID+"/fold", `{"top":1,"params":{"modelName":"mini"}}`), 409)
}

// visitWorkflows tries every route of workflows and of the library, for the test of the document.
func visitWorkflows(t *testing.T, h *fixture, visit func(route, schema string, r reply, want int)) {
	t.Helper()
	as := func(method, path string, body any) reply { return h.as(h.key, method, path, body) }
	j := h.completed(trp)
	const flows = "/v1/workflows"
	created := as("POST", flows, ask(j.JobID, "Why?", `,"webhooks":null`))
	visit("POST "+flows, "Workflow", created, 200)
	visit("POST "+flows, "Error", as("POST", flows, "{}"), 400)
	visit("POST "+flows, "Error", as("POST", flows, ask("01234567-89ab-7def-8123-456789abcdef", "Why?", "")), 404)
	var w api.Workflow
	if err := json.Unmarshal([]byte(created.body), &w); err != nil {
		t.Fatal(err)
	}
	h.answer("So.")
	draft := h.flow(strings.Replace(ask(j.JobID, "", ""), "{", `{"create_mode":"draft",`, 1))
	md := h.flow(`{"workflow_name":"md","name":"sim","workflow_input":{"sequence":"GSGSGS"}}`)
	visit("GET "+flows, "ListWorkflowRow", as("GET", flows+"?limit=2", nil), 200)
	visit("GET "+flows+"/{id}", "Workflow", as("GET", flows+"/"+w.ID, nil), 200)
	visit("GET "+flows+"/{id}", "Workflow", as("GET", flows+"/"+draft.ID, nil), 200)
	visit("GET "+flows+"/{id}", "Error", h.ask("GET", flows+"/"+w.ID, nil), 401)
	visit("GET "+flows+"/status/{id}", "WorkflowStatusView", as("GET", flows+"/status/"+w.ID, nil), 200)
	visit("GET "+flows+"/task-results/{id}", "TasksResults", as("GET", flows+"/task-results/"+w.ID, nil), 200)
	visit("GET "+flows+"/logs/{id}", "", as("GET", flows+"/logs/"+w.ID, nil), 200)
	visit("GET "+flows+"/{id}/events", "", as("GET", flows+"/"+w.ID+"/events", nil), 200)
	visit("PATCH "+flows+"/{id}/public", "WorkflowVisibility",
		as("PATCH", flows+"/"+w.ID+"/public", `{"isPublic":true}`), 200)
	visit("GET "+flows+"/public/{id}", "Workflow", h.ask("GET", flows+"/public/"+w.ID, nil), 200)
	visit("GET "+flows+"/qna/linked-history", "ListLinkedWorkflow",
		as("GET", flows+"/qna/linked-history?source_job_id="+j.JobID, nil), 200)
	visit("GET "+flows+"/qna/linked-previews", "ListLinkedPreview",
		as("GET", flows+"/qna/linked-previews?source_job_id="+j.JobID, nil), 200)
	visit("PATCH "+flows+"/qna/{id}/draft-question", "Workflow",
		as("PATCH", flows+"/qna/"+draft.ID+"/draft-question", `{"question":"What?"}`), 200)
	visit("POST "+flows+"/execute", "Workflow", as("POST", flows+"/execute", `{"workflowId":"`+draft.ID+`"}`), 200)
	visit("POST "+flows+"/{id}/cancel", "CancelledWorkflow", as("POST", flows+"/"+draft.ID+"/cancel", nil), 200)
	visit("DELETE "+flows+"/{id}", "DeletedWorkflow", as("DELETE", flows+"/"+draft.ID, nil), 200)
	visit("POST "+flows+"/node/output-schema", "OutputSchema",
		as("POST", flows+"/node/output-schema", `{"workflowTaskTypeId":"inference_md","inputPayload":null}`), 200)
	visit("POST "+flows+"/md/{id}/extract-frame", "Error",
		as("POST", flows+"/md/"+md.ID+"/extract-frame", `{"timeNs":1}`), 409)
	visitDesigns(t, h, visit)
	item := as("POST", "/v1/library/create", `{"name":"x","type":"file","metadata":null}`)
	visit("POST /v1/library/create", "CreatedItem", item, 201)
	var i api.CreatedItem
	if err := json.Unmarshal([]byte(item.body), &i); err != nil {
		t.Fatal(err)
	}
	visit("POST /v1/library/{id}/upload-files", "UploadedFiles", h.upload(i.ID, [3]string{"files", "a.pdb", smallPDB}),
		200)
	visit("GET /v1/library", "ListLibraryRow", as("GET", "/v1/library", nil), 200)
	visit("GET /v1/library/{id}", "LibraryItem", as("GET", "/v1/library/"+i.ID, nil), 200)
	link := as("GET", "/v1/library/file/"+i.ID+"/a.pdb", nil)
	visit("GET /v1/library/file/{id}/{name}", "", link, 200)
	var to string
	if err := json.Unmarshal([]byte(link.body), &to); err != nil {
		t.Fatal(err)
	}
	visit("GET /v1/files/{id}/{name}", "", h.ask("GET", to, nil), 200)
	visit("DELETE /v1/library/{id}", "DeletedItem", as("DELETE", "/v1/library/"+i.ID, nil), 200)
}

// No body makes the server answer anything but a workflow or one sentence about the request.
func FuzzCreateWorkflow(fz *testing.F) {
	h := newWorkflowFixture(fz)
	j := h.completed(trp)
	fz.Add([]byte(ask(j.JobID, "Why?", `,"webhooks":{"custom_http":{"enabled":false,"target_url":"x"}}`)))
	fz.Add([]byte(`{"create_mode":"draft","workflow_name":"evolla_v1","name":"x",` +
		`"workflow_input":{"targetSource":"library","libraryItemId":"` + j.JobID + `"}}`))
	fz.Add([]byte(`{"workflow_name":"calvados_openmm_v1","name":"x","workflow_input":{"sequence":"GSGS",` +
		`"config":{"box_eq":false,"pressure":[0,0,0]},"component_defaults":{"charge_termini":"N"},"isPublic":true}}`))
	fz.Fuzz(func(t *testing.T, body []byte) {
		r := httptest.NewRequest("POST", "/v1/workflows", bytes.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("X-API-Key", h.key)
		w := httptest.NewRecorder()
		h.srv.Handler().ServeHTTP(w, r)
		switch w.Code {
		case 200:
			var created api.Workflow
			if err := json.Unmarshal(w.Body.Bytes(), &created); err != nil || created.ID == "" {
				t.Fatalf("%v %s", err, w.Body)
			}
		case 400, 404, 409:
		default:
			t.Fatalf("%d %s", w.Code, w.Body)
		}
	})
}

// Thousands of unknown fields in a simulation are refused in a sentence.
func TestUnknownFieldsOfASimulationAreBounded(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	var input strings.Builder
	input.WriteString(`{"sequence":"ACDEF","preset":"single_idr_fasta"`)
	for i := range 3000 {
		fmt.Fprintf(&input, `,"%s%04d":1`, strings.Repeat("sim_length_", 6), i)
	}
	r := h.as(h.key, "POST", "/v1/workflows", `{"workflow_name":"md","name":"w","workflow_input":`+input.String()+"}}")
	if want := "workflow_input has 3000 unknown fields; at most 200 are allowed"; r.status != 400 ||
		r.message(t) != want {
		t.Errorf("%d %s; want %q", r.status, r.body, want)
	}
}

// Workflows have a daily quota of their own, exact between concurrent calls: drafts count when they are executed,
// refused calls cost nothing, and the quota of jobs is not touched.
func TestWorkflowQuota(t *testing.T) {
	t.Parallel()
	h := newLimitedFixture(t, people.Limits{Jobs: 1000, Workflows: 3})
	h.register(testModel, analystModel, calvadosModel)
	const run = `{"workflow_name":"md","name":"m","workflow_input":{"sequence":"GSGS"}}`
	draft := h.flow(strings.Replace(run, `{`, `{"create_mode":"draft",`, 1))
	for _, bad := range []string{`"GS1S"`, `"GSGS","temp":1`} {
		if r := h.as(h.key, "POST", "/v1/workflows", strings.Replace(run, `"GSGS"`, bad, 1)); r.status != 400 {
			t.Errorf("%s: %d", bad, r.status)
		}
	}
	var wg sync.WaitGroup
	answers := make(chan int, 8)
	for range 8 {
		wg.Go(func() { answers <- h.as(h.key, "POST", "/v1/workflows", run).status })
	}
	wg.Wait()
	close(answers)
	count := map[int]int{}
	for status := range answers {
		count[status]++
	}
	if d := cmp.Diff(map[int]int{200: 3, 429: 5}, count); d != "" {
		t.Error(d)
	}
	if n := storetest.Count(t, h.store, "workflow"); n != 4 {
		t.Errorf("%d workflows are stored", n)
	}
	execute := func(id string) reply {
		return h.as(h.key, "POST", "/v1/workflows/execute", `{"workflowId":"`+id+`"}`)
	}
	r := execute(draft.ID)
	wait, _ := strconv.Atoi(r.header.Get("Retry-After"))
	const want = "Daily workflow quota exceeded. Limit: 3 workflows per day. Current: 3 workflows."
	if r.status != 429 || r.message(t) != want || wait < 1 || wait > 86400 {
		t.Errorf("%d %s, Retry-After %d", r.status, r.body, wait)
	}
	u, err := h.client(h.key).Usage(context.Background())
	reset := u.ResetAt
	if d := cmp.Diff(api.Usage{Limit: 1000, Remaining: 1000, ResetAt: reset,
		Workflows: api.Quota{Limit: 3, Used: 3, ResetAt: reset}, BatchRows: u.BatchRows, SpentTable: u.SpentTable}, u); d != "" || err != nil {
		t.Error(d, err)
	}
	h.completed(trp)
	if _, ben := h.newUser("ben"); h.as(ben, "POST", "/v1/workflows", run).status != 200 {
		t.Error("another user is refused")
	}
	h.clock.Advance(24 * time.Hour)
	if r := execute(draft.ID); r.status != 200 {
		t.Errorf("the next day: %d %s", r.status, r.body)
	}
}

// With an Idempotency-Key a repeated request answers the first workflow, however its fields are ordered.
func TestWorkflowIdempotency(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	job := h.completed(trp)
	send := func(body string) reply { return h.as(h.key, "POST", "/v1/workflows", body, "Idempotency-Key", "k") }
	first := read[api.Workflow](t, send(`{"workflow_name":"qna_v1","name":"q","create_mode":"draft","workflow_input":`+
		`{"source_job_id":"`+job.JobID+`","question":"Why?"}}`))
	again := read[api.Workflow](t, send(`{"name":"q","workflow_name":"qna_v1","workflow_input":`+
		`{"question": "Why?", "source_job_id": "`+job.JobID+`"},"create_mode":"draft"}`))
	if first.ID == "" || again.ID != first.ID {
		t.Errorf("the same request made %s and %s", first.ID, again.ID)
	}
	if r := send(`{"workflow_name":"qna_v1","name":"q","create_mode":"draft","workflow_input":{"source_job_id":"` +
		job.JobID + `","question":"How?"}}`); r.status != 409 {
		t.Errorf("another question under the key is answered by %d %s", r.status, r.body)
	}
}
