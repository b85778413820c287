package server_test

import (
	"net/netip"
	"strings"
	"testing"

	"pleat/internal/server"
	"pleat/internal/store/storetest"
	"pleat/internal/store/tasks"
)

// logLine returns the line of the request with an id.
func (h *fixture) logLine(id string) string {
	h.t.Helper()
	var line string
	storetest.Eventually(h.t, "the line of the request "+id, func() bool {
		for l := range strings.Lines(h.log.String()) {
			if strings.Contains(l, "msg=request ") && strings.Contains(l, " request="+id+" ") {
				line = l
			}
		}
		return line != ""
	})
	return line
}

// The line of a request has its user, also where the route does not demand one, the address that the trusted proxy
// reports, and what it is about. The worker's claim has the id of the request.
func TestRequestsInTheLog(t *testing.T) {
	t.Parallel()
	h := newFixture(t, func(c *server.Config) {
		c.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}
	})
	h.register(testModel, analystModel) // before the server reads what there is
	ask := func(id, method, path, body string) string {
		h.t.Helper()
		var b any
		if body != "" {
			b = body
		}
		h.as(h.key, method, path, b, "X-Request-ID", id, "X-Forwarded-For", "198.51.100.7")
		return h.logLine(id)
	}
	want := func(line string, fields ...string) {
		t.Helper()
		for _, f := range append(fields, " user="+string(h.user), " from=198.51.100.7", " duration_ms=") {
			if !strings.Contains(line, f) {
				t.Errorf("no %q in %s", f, line)
			}
		}
	}
	created := ask("create", "POST", "/v1/jobs", trp)
	task := h.claim()
	if task.Task.Request != "create" {
		t.Errorf("the task has the request %q", task.Task.Request)
	}
	job, run := " job="+string(task.Fold.Job), " run="+string(task.Fold.Run)
	want(created, job, run)
	want(ask("read", "GET", "/v1/jobs/"+string(task.Fold.Job), ""), job)
	want(ask("list", "GET", "/v1/jobs", ""))
	h.finish(task)
	want(ask("again", "POST", "/v1/jobs/"+string(task.Fold.Job)+"/runs", ""), job, " run=")
	if again := h.claim(); again.Task.Request != "again" {
		t.Errorf("the task of the second run has the request %q", again.Task.Request)
	}
	item := h.item(h.key, "small", "a.pdb", smallPDB)
	workflow := ask("ask", "POST", "/v1/workflows", `{"workflow_name":"qna_v1","name":"q","workflow_input":{`+
		`"question":"How many residues?","targetSource":"library","libraryItemId":"`+item+`"}}`)
	want(workflow, " workflow=")
	got, err := h.store.Runs.Claim(t.Context(), "w1", tasks.ClaimFilter{Queues: []string{"qna/analyst"}, N: 1})
	if err != nil || len(got) != 1 || got[0].Task.Request != "ask" {
		t.Errorf("%+v, %v", got, err)
	}
}
