package server_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"pleat"
	"pleat/internal/flow"
	"pleat/internal/server"
	"pleat/internal/store/runs"
	"pleat/internal/store/tasks"
)

// publicAnswers are all answers about an object that anybody may read, by path.
func (h *fixture) publicAnswers(paths ...string) map[string]string {
	h.t.Helper()
	_, ben := h.newUser("ben")
	out := map[string]string{}
	for _, p := range paths {
		for who, key := range map[string]string{"anonymous": "", "ben": ben} {
			var headers []string
			if key != "" {
				headers = []string{"X-API-Key", key}
			}
			r := h.ask("GET", p, nil, headers...)
			if r.status != 200 {
				h.t.Errorf("%s as %s: %d %s", p, who, r.status, r.body)
			}
			out[who+" "+p] = r.body
		}
	}
	return out
}

// refuseWords reports every answer that holds one of the words.
func refuseWords(t *testing.T, answers map[string]string, words ...string) {
	t.Helper()
	for path, body := range answers {
		for _, w := range words {
			if w == "" || strings.Contains(body, w) {
				t.Errorf("%s shows %q: %s", path, w, body)
			}
		}
	}
}

// A public workflow shows others nothing that names a private fold, library item or file; a public fold is named.
func TestPublicWorkflowNamesNothingPrivate(t *testing.T) {
	t.Parallel()
	h := newWorkflowFixture(t)
	j := h.completed(trp)
	item := h.item(h.key, "structures", "my-secret-name.pdb", smallPDB)
	pae := h.item(h.key, "errors", "my-secret-name.json", `[{"predicted_aligned_error":[[0,1],[1,0]]}]`)
	sequence := j.SequencesIDs[0]
	fold := `"source_job_id":"` + j.JobID + `","sourceJobRunId":"` + j.JobRunID +
		`","source_sequence_id":"` + sequence + `"`
	file := `"files":{"pdb":{"libraryItemId":"` + item + `","fileName":"my-secret-name.pdb"}}`
	files := strings.TrimSuffix(file, "}") + `,"pae":{"libraryItemId":"` + pae + `"}}`
	private := []string{j.JobID, j.JobRunID, sequence, item, pae, "my-secret-name"}
	for _, input := range []string{
		`{"workflow_name":"qna_v1","name":"x","workflow_input":{"question":"How many helices?",` + fold + `}}`,
		`{"workflow_name":"qna_v1","name":"x","workflow_input":{"question":"How many helices?",` + file + `}}`,
		`{"workflow_name":"qna_v1","name":"x","workflow_input":{"question":"How many?","libraryItemId":"` + item + `"}}`,
		`{"workflow_name":"md","name":"x","workflow_input":{` + fold + `}}`,
		`{"workflow_name":"md","name":"x","workflow_input":{` + files + `}}`,
	} {
		w := h.flow(input)
		kind := "qna/analyst"
		if strings.Contains(input, `"md"`) {
			kind = "md/calvados"
		}
		c := h.claimWorkflow(kind)
		p, err := flow.Parse(c.Workflow.Alias, c.Workflow.Input)
		if err != nil {
			t.Fatal(err)
		}
		row := json.RawMessage(`{"artifacts":[],"metrics":{},"metricsJson":null}`)
		if p.QnA != nil {
			p.QnA.File = "input/pdb.pdb"
			if row, err = flow.AnswerRow(p.QnA, "One.", "test 1", "job.yaml"); err != nil {
				t.Fatal(err)
			}
		}
		h.finishWorkflow(c, row)
		if _, err := h.client(h.key).SetWorkflowPublic(context.Background(), w.ID, true); err != nil {
			t.Fatal(err)
		}
		paths := []string{"/v1/workflows/" + w.ID, "/v1/workflows/public/" + w.ID, "/v1/workflows/status/" + w.ID,
			"/v1/workflows/task-results/" + w.ID, "/v1/workflows/" + w.ID + "/events"}
		refuseWords(t, h.publicAnswers(paths...), private...)
		mine := h.as(h.key, "GET", paths[0], nil)
		if !strings.Contains(mine.body, j.JobID) && !strings.Contains(mine.body, item) {
			t.Errorf("the owner does not see the source: %s", mine.body)
		}
		if !strings.Contains(input, j.JobID) {
			continue
		}
		for _, public := range []bool{true, false} {
			if _, err := h.client(h.key).SetPublic(context.Background(), j.JobID, public); err != nil {
				t.Fatal(err)
			}
			got := h.ask("GET", paths[0], nil).body
			if strings.Contains(got, `"source_job_id":"`+j.JobID) != public {
				t.Errorf("the fold is public: %t, but a public workflow shows of it: %s", public, got)
			}
		}
	}
}

// A public job shows others nothing that names the library item and the sequence that it was made from, or the private
// run whose result it shares. Its owner sees them.
func TestPublicJobNamesNothingPrivate(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	ctx := context.Background()
	first := h.completed(trp)
	item := h.item(h.key, "alignments", "", "")
	body := strings.Replace(trp, `{"proteinChain"`, `{"sourceSequenceId":"`+first.SequencesIDs[0]+`","proteinChain"`, 1)
	r := h.as(h.key, "POST", "/v1/jobs?from="+item, body)
	var created struct{ JobID string }
	if r.status != 200 || json.Unmarshal([]byte(r.body), &created) != nil {
		t.Fatalf("%d %s", r.status, r.body)
	}
	c := h.claim()
	err := h.store.Runs.FinishRun(ctx, tasks.LeaseOf(&c.Task), runs.RunFinished{
		State: pleat.StateCompleted,
		Result: &pleat.Result{
			Notes:        []string{"A note.", "Result cached from run " + first.JobRunID + " of today"},
			AnsweredFrom: pleat.RunID(first.JobRunID),
		},
		Source: pleat.RunID(first.JobRunID),
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.client(h.key).SetPublic(ctx, created.JobID, true); err != nil {
		t.Fatal(err)
	}
	p := "/v1/jobs/" + created.JobID
	got := h.publicAnswers(p, p+"/results", p+"/events", p+"/export?format=boltz")
	refuseWords(t, got, first.JobID, first.JobRunID, first.SequencesIDs[0], item)
	b := got["anonymous "+p]
	if !strings.Contains(b, "A note.") || !strings.Contains(b, "Result cached from an earlier run of") {
		t.Errorf("the notes: %s", b)
	}
	mine := h.as(h.key, "GET", p, nil).body
	if !strings.Contains(mine, "Result cached from run "+first.JobRunID+" of") {
		t.Errorf("the owner does not see where the result came from: %s", mine)
	}
}

// The reason of a run's failure is written for its owner, and may name private things: others only see that it failed.
func TestReasonOfAFailureIsForTheOwner(t *testing.T) {
	t.Parallel()
	h := newWorkflowFixture(t)
	ctx := context.Background()
	const reason = "the library item 0195 has no structure file named my-secret-name.pdb"
	failed := runs.RunFinished{State: pleat.StateFailed, Failure: pleat.Failed(pleat.FailInvalidInput, reason)}
	fold := h.completed(trp)
	j := h.create(trp)
	c := h.claim()
	if err := h.store.Runs.FinishRun(ctx, tasks.LeaseOf(&c.Task), failed); err != nil {
		t.Fatal(err)
	}
	w := h.flow(ask(fold.JobID, "Which?", ""))
	c = h.claimWorkflow("qna/analyst")
	if err := h.store.Runs.FinishRun(ctx, tasks.LeaseOf(&c.Task), failed); err != nil {
		t.Fatal(err)
	}
	if _, err := h.client(h.key).SetPublic(ctx, j.JobID, true); err != nil {
		t.Fatal(err)
	}
	if _, err := h.client(h.key).SetWorkflowPublic(ctx, w.ID, true); err != nil {
		t.Fatal(err)
	}
	job, flow := "/v1/jobs/"+j.JobID, "/v1/workflows/"+w.ID
	paths := []string{job, job + "/results", job + "/events", flow, flow + "/events",
		"/v1/workflows/task-results/" + w.ID}
	got := h.publicAnswers(paths...)
	refuseWords(t, got, reason)
	for _, p := range paths {
		if !strings.Contains(got["anonymous "+p], "its owner can read why") {
			t.Errorf("%s: %s", p, got["anonymous "+p])
		}
		if mine := h.as(h.key, "GET", p, nil).body; !strings.Contains(mine, reason) {
			t.Errorf("the owner does not read the reason in %s: %s", p, mine)
		}
	}
}

// A browser that has reached the service over https stays with https; one that reached it over http is not told so.
func TestStrictTransportSecurity(t *testing.T) {
	t.Parallel()
	plain := newFixture(t)
	secure := newFixture(t, func(c *server.Config) { c.PublicURL = "https://fold.example" })
	for h, want := range map[*fixture]string{plain: "", secure: "max-age=31536000"} {
		for _, p := range []string{"/healthz", "/v1/nothing"} {
			if got := h.ask("GET", p, nil).header.Get("Strict-Transport-Security"); got != want {
				t.Errorf("%s of %s: %q; want %q", p, h.http.URL, got, want)
			}
		}
	}
}

// The names of library files, which users choose, are not in the log of requests.
func TestFileNamesAreNotLogged(t *testing.T) {
	t.Parallel()
	h := newWorkflowFixture(t)
	const name = "my-secret-name.pdb"
	item := h.item(h.key, "structures", name, smallPDB)
	r := h.as(h.key, "GET", "/v1/library/file/"+item+"/"+name, nil)
	var link string
	if r.status != 200 || json.Unmarshal([]byte(r.body), &link) != nil {
		t.Fatalf("%d %s", r.status, r.body)
	}
	if got := h.ask("GET", link, nil); got.status != 200 {
		t.Fatalf("%d %s", got.status, got.body)
	}
	log := h.log.String()
	if strings.Contains(log, "secret") || !strings.Contains(log, "path=/v1/library/file/"+item+"/{name}") {
		t.Errorf("the log: %s", log)
	}
}
