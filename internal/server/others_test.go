package server_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"pleat"
	"pleat/api"
	"pleat/internal/flow"
	"pleat/internal/webhook"
)

// JSON may be labelled with its only encoding, and a refused method is answered with those that there are.
func TestLabelsAndMethods(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	if r := h.as(h.key, "POST", "/v1/jobs", trp, "Content-Type", "application/json; charset=utf-8"); r.status != 200 {
		t.Errorf("with a charset: %d %s", r.status, r.body)
	}
	if r := h.as(h.key, "PUT", "/v1/jobs", trp); r.status != 405 || r.header.Get("Allow") != "GET, HEAD, POST" {
		t.Errorf("%d, Allow %q", r.status, r.header.Get("Allow"))
	}
}

// A job that its owner shows says so to those who read it, and is theirs alone again once it is hidden.
func TestShownJobSaysSo(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	path := "/v1/jobs/" + h.completed(trp).JobID
	for _, public := range []bool{true, false} {
		body := map[bool]string{true: `{"isPublic":true}`, false: `{"isPublic":false}`}[public]
		set := read[api.Visibility](t, h.as(h.key, "PATCH", path+"/public", body))
		if set.IsPublic != public || "/v1/jobs/"+set.JobID != path {
			t.Errorf("shown %t: %+v", public, set)
		}
		r := h.ask("GET", path+"/results", nil)
		if public && !read[api.Results](t, r).Job.IsPublic || !public && r.status != 401 {
			t.Errorf("shown %t: %d %s", public, r.status, r.body)
		}
	}
}

// A user's settings and deliveries of webhooks are nobody else's, also where the job is public.
func TestWebhooksOfOthers(t *testing.T) {
	t.Parallel()
	h := newFixtureWith(t, forHooks)
	ben := h.userKey("ben")
	const settings, deliveries = "/v1/webhooks/custom-http-config", "/v1/webhooks/deliveries"
	read[api.WebhookConfig](t, h.as(h.key, "PUT", settings, putHook))
	told := strings.Replace(trp, `"params"`, `"constraints":{"webhooks":{"custom_http":{"enabled":true}}},"params"`, 1)
	job := h.completed(told).JobID
	h.deliver(webhook.Attempt{Status: 200}, time.Time{})
	mine := read[api.List[api.Delivery]](t, h.as(h.key, "GET", deliveries, nil)).Data
	if len(mine) != 1 || mine[0].Status != "SUCCEEDED" {
		t.Fatalf("%+v", mine)
	}
	r := h.as(ben, "GET", settings, nil)
	if read[api.WebhookConfig](t, r).IsConfigured || strings.Contains(r.body, "127.0.0.1") {
		t.Errorf("another user's settings: %s", r.body)
	}
	for _, path := range []string{deliveries, deliveries + "?source_id=" + job} {
		if list := read[api.List[api.Delivery]](t, h.as(ben, "GET", path, nil)).Data; len(list) != 0 {
			t.Errorf("%s shows another user %+v", path, list)
		}
	}
	const subscriptions = "/v1/webhooks/subscriptions"
	if list := read[api.List[api.Subscription]](t, h.as(h.key, "GET", subscriptions, nil)).Data; len(list) != 1 {
		t.Errorf("the owner's subscriptions: %+v", list)
	}
	if list := read[api.List[api.Subscription]](t, h.as(ben, "GET", subscriptions, nil)).Data; len(list) != 0 {
		t.Errorf("another user's subscriptions: %+v", list)
	}
	for _, c := range [][2]string{{"GET", deliveries + "/" + mine[0].ID},
		{"POST", deliveries + "/" + mine[0].ID + "/redeliver"}} {
		if r := h.as(ben, c[0], c[1], nil); r.status != 404 || r.message(t) != "Delivery not found" {
			t.Errorf("%s %s: %d %s", c[0], c[1], r.status, r.body)
		}
	}
	again := h.as(ben, "POST", deliveries+"/redeliver", `{"source_id":"`+job+`"}`)
	if n := read[api.Redelivered](t, again).Redelivered; n != 0 {
		t.Errorf("another user has sent %d deliveries again", n)
	}
	for _, action := range []string{"/pause", "/resume", "/rotate-secret"} {
		if r := h.as(ben, "POST", settings+action, nil); r.status != 404 {
			t.Errorf("%s: %d %s", action, r.status, r.body)
		}
	}
	if r := h.as(ben, "POST", "/v1/jobs", told); r.status != 400 ||
		!strings.Contains(r.message(t), "no endpoint is set up") {
		t.Errorf("another user's job with the endpoint: %d %s", r.status, r.body)
	}
	after := read[api.List[api.Delivery]](t, h.as(h.key, "GET", deliveries, nil)).Data
	if len(after) != 1 || after[0].Status != "SUCCEEDED" || after[0].Attempts != 1 {
		t.Errorf("the delivery has changed: %+v", after)
	}
	read[api.Visibility](t, h.as(h.key, "PATCH", "/v1/jobs/"+job+"/public", `{"isPublic":true}`))
	for key, want := range map[string]int{h.key: 1, ben: 0, "": 0} {
		var headers []string
		if key != "" {
			headers = []string{"X-API-Key", key}
		}
		r := h.ask("GET", "/v1/jobs/"+job, nil, headers...)
		n := len(read[api.JobView](t, r).Deliveries)
		if n != want || want == 0 && strings.Contains(r.body, "custom_http") {
			t.Errorf("a reader sees %d deliveries, want %d: %s", n, want, r.body)
		}
	}
}

// The list of deliveries has pages, newest first.
func TestDeliveriesInPages(t *testing.T) {
	t.Parallel()
	h := newFixtureWith(t, forHooks)
	read[api.WebhookConfig](t, h.as(h.key, "PUT", "/v1/webhooks/custom-http-config", putHook))
	var ids []string
	for range 3 {
		ids = append(ids, read[api.Delivery](t, h.as(h.key, "POST", "/v1/webhooks/test", nil)).ID)
	}
	c := h.client(h.key)
	page, err := c.Deliveries(t.Context(), api.DeliveriesFilter{Limit: 2})
	if err != nil || len(page.Data) != 2 || page.Data[0].ID != ids[2] || page.Data[1].ID != ids[1] ||
		page.NextCursor == nil {
		t.Fatalf("%+v %v", page, err)
	}
	page, err = c.Deliveries(t.Context(), api.DeliveriesFilter{Limit: 2, Cursor: *page.NextCursor})
	if err != nil || len(page.Data) != 1 || page.Data[0].ID != ids[0] || page.NextCursor != nil {
		t.Errorf("%+v %v", page, err)
	}
}

// A workflow's files and events are its owner's, everybody's while it is public, and its owner's alone again after.
// Its log and its frames are never anybody else's.
func TestWorkflowOfOthers(t *testing.T) {
	t.Parallel()
	h := newWorkflowFixture(t)
	ben := h.userKey("ben")
	w := h.flow(`{"workflow_name":"md","name":"x","workflow_input":{"sequence":"GSKEFAWRDG",` +
		`"webhooks":{"custom_http":{"enabled":false}}}}`)
	path := "/v1/workflows/" + w.ID
	run := h.claimWorkflow("md/calvados")
	if _, err := h.store.Runs.Heartbeat(t.Context(), "w1", []pleat.Heartbeat{{
		Task:     run.Task.ID,
		Attempt:  run.Task.Attempt,
		Run:      run.Task.Run,
		Progress: []pleat.Progress{{Kind: pleat.ProgressLog, Line: "a line of the log"}},
	}}); err != nil {
		t.Fatal(err)
	}
	file := h.put(run.Task.Run, pleat.Artifact{
		Kind:        pleat.ArtifactOther,
		Name:        "top.pdb",
		ContentType: "chemical/x-pdb",
	}, smallPDB)
	row, err := flow.DynamicsRow([]flow.RowFile{{Path: file.Name, SizeBytes: file.Bytes}}, flow.Metrics{})
	if err != nil {
		t.Fatal(err)
	}
	h.finishWorkflow(run, row, file)
	link := func(key string) string {
		t.Helper()
		var result api.MDResult
		got, err := h.client(key).Workflow(context.Background(), w.ID)
		if err != nil || json.Unmarshal(got.Tasks[0].Result, &result) != nil || len(result.Artifacts) != 1 {
			t.Fatalf("%+v %v", got, err)
		}
		return result.Artifacts[0].URL
	}
	wantStatus := func(want int, url string) {
		t.Helper()
		if r := h.ask("GET", url, nil); r.status != want {
			t.Errorf("%s: %d, want %d", url, r.status, want)
		}
	}
	show := func(public string) {
		t.Helper()
		set := read[api.WorkflowVisibility](t, h.as(h.key, "PATCH", path+"/public", `{"isPublic":`+public+`}`))
		if set.WorkflowID != w.ID {
			t.Errorf("%+v", set)
		}
	}
	notBens := func() {
		t.Helper()
		if list, err := h.client(ben).Workflows(t.Context(), api.WorkflowsFilter{}); err != nil || len(list.Data) != 0 {
			t.Errorf("another user's list: %+v %v", list, err)
		}
		frame := "/v1/workflows/md/" + w.ID + "/extract-frame"
		if r := h.as(ben, "POST", frame, `{"timeNs":0.001}`); r.status != 404 || r.message(t) != "Workflow not found" {
			t.Errorf("another user's frame: %d %s", r.status, r.body)
		}
	}
	private := link(h.key)
	wantStatus(200, private)
	notBens()
	if r := h.as(h.key, "GET", path+"/events", nil); !strings.Contains(r.body, "event: log") {
		t.Errorf("the owner's events have no log: %s", r.body)
	}
	show("true")
	public := link("")
	wantStatus(200, public)
	notBens()
	if r := h.ask("GET", path+"/events", nil); r.status != 200 || strings.Contains(r.body, "event: log") {
		t.Errorf("others' events: %d %s", r.status, r.body)
	}
	wantStatus(401, "/v1/workflows/logs/"+w.ID)
	show("false")
	for _, dead := range []string{private, public, "/v1/workflows/public/" + w.ID} {
		wantStatus(401, dead)
	}
	if got := h.flowOf(w.ID); !strings.Contains(string(got.Input), `"isPublic":false`) {
		t.Errorf("%s", got.Input)
	}
	wantStatus(200, link(h.key))
}

// flowOf reads a workflow of ann's.
func (h *fixture) flowOf(id string) api.Workflow {
	h.t.Helper()
	w, err := h.client(h.key).Workflow(context.Background(), id)
	if err != nil {
		h.t.Fatal(err)
	}
	return w
}
