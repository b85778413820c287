package server_test

import (
	"context"
	"encoding/csv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pleat"
	"pleat/api"
	"pleat/internal/store/db"
	"pleat/internal/store/people"
)

// visitOperator calls the routes of operators, whose answers the document describes.
func (h *fixture) visitOperator(visit func(route, schema string, r reply, status int), key string) {
	at := func(method, path string) reply { return h.as(key, method, "/v1/operator/"+path, nil) }
	visit("GET /v1/operator/overview", "Overview", at("GET", "overview"), 200)
	visit("GET /v1/operator/workers", "ListOperatorWorker", at("GET", "workers"), 200)
	visit("POST /v1/operator/workers/{worker}/drain", "Error", at("POST", "workers/none/drain"), 404)
	visit("POST /v1/operator/models/{model}/pause", "PausedModel", at("POST", "models/mini/pause"), 200)
	visit("GET /v1/models", "ListModel", h.ask("GET", "/v1/models", nil), 200)
	visit("POST /v1/operator/models/{model}/resume", "PausedModel", at("POST", "models/mini/resume"), 200)
	user, _ := h.newUser("disabled")
	visit("POST /v1/operator/users/{user}/disable", "DisabledUser", at("POST", "users/"+string(user)+"/disable"), 200)
	visit("POST /v1/operator/users/{user}/enable", "DisabledUser", at("POST", "users/"+string(user)+"/enable"), 200)
	visit("GET /v1/operator/users", "ListOperatorUser", at("GET", "users"), 200)
	visit("GET /v1/operator/audit", "ListAuditEntry", at("GET", "audit"), 200)
}

// operator makes an operator and returns the key.
func (h *fixture) operator(name string) (pleat.UserID, string) {
	h.t.Helper()
	id, key := h.newUser(name)
	if err := h.store.People.SetOperator(context.Background(), people.Actor{Database: true}, name, true); err != nil {
		h.t.Fatal(err)
	}
	return id, key
}

// Jobs for a paused model are accepted and wait, and everywhere where a user looks it says why.
func TestPausedModelSaysWhy(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	h.register(testModel, analystModel)
	ctx := t.Context()
	_, olga := h.operator("olga")
	const reason = "its weights are wrong"
	p, err := h.client(olga).PauseModel(ctx, testModel.Name, reason)
	if err != nil || p.Paused == nil || p.Paused.Reason != reason || p.Paused.By != "olga" || p.Paused.Since.IsZero() {
		t.Fatalf("%+v %v", p, err)
	}
	v := read[api.Validation](t, h.as(h.key, "POST", "/v1/jobs/validate", trp))
	if !v.Valid || !v.Paused || v.PausedReason == nil || *v.PausedReason != reason {
		t.Errorf("validation: %+v", v)
	}
	job := h.create(trp)
	seen, err := h.client(h.key).Job(ctx, job.JobID)
	if err != nil || seen.Waiting == nil || !strings.Contains(seen.Waiting.Reason, "paused mini") ||
		!strings.HasSuffix(seen.Waiting.Reason, ": "+reason) || seen.Progress.QueuePosition != nil {
		t.Errorf("%+v %v", seen.Waiting, err)
	}
	models, err := h.client("").Models(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range models.Data {
		if m.Paused != (m.Name == testModel.Name) || m.Paused != (m.PausedReason != nil) {
			t.Errorf("%+v", m)
		}
	}
	o, err := h.client(olga).Overview(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range o.Models {
		isPaused := q.Model == testModel.Name
		if isPaused && (q.Paused == nil || q.Waiting != 1 || q.WaitingSince == nil || q.Workers != 1) ||
			!isPaused && (q.Paused != nil || q.Waiting != 0) {
			t.Errorf("%+v", q)
		}
	}
	if o.Waiting != 1 || o.Users != 2 || o.Version != pleat.Version || o.SchemaVersion != db.Latest() ||
		o.StartedAt.IsZero() || o.Database != "sqlite" {
		t.Errorf("%+v", o)
	}
	if r, err := h.client(olga).ResumeModel(ctx, testModel.Name); err != nil || r.Paused != nil {
		t.Errorf("%+v %v", r, err)
	}
	h.claim()
}

// The reason is bounded, and a model is one that runs here.
func TestOperatorRefusals(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	h.register(testModel)
	id, olga := h.operator("olga")
	for _, c := range []struct {
		path, body string
		status     int
		text       string
	}{
		{"models/mini/pause", `{"reason":"` + strings.Repeat("x", 201) + `"}`, 400, "reason has 201 characters"},
		{"models/mini/pause", `{"reason":"a\u0007b"}`, 400, "reason has a control character at position 2"},
		{"models/mini/pause", `{"why":"x"}`, 400, "why"},
		{"models/minu/pause", `{}`, 404, `there is no model "minu"`},
		{"models/minu/resume", ``, 404, `there is no model "minu"`},
		{"workers/none/drain", ``, 404, "Worker not found"},
		{"users/" + string(id) + "/disable", ``, 409, "you cannot disable yourself"},
		{"users/ada/disable", ``, 404, "User not found"},
	} {
		var body any
		if c.body != "" {
			body = c.body
		}
		r := h.as(olga, "POST", "/v1/operator/"+c.path, body)
		if r.status != c.status || !strings.Contains(r.body, strings.ReplaceAll(c.text, `"`, `\"`)) {
			t.Errorf("%s %s: %d %s", c.path, c.body, r.status, r.body)
		}
	}
	for query, text := range map[string]string{
		"format=xml":                    "it may be json, csv or jsonl",
		"from=2027-02-01&to=2027-01-01": "after to",
		"from=x":                        "it must be a day",
		"cursor=x":                      "next_cursor",
		"since=x":                       "unknown query parameter",
	} {
		r := h.as(olga, "GET", "/v1/operator/audit?"+query, nil)
		if r.status != 400 || !strings.Contains(r.body, text) {
			t.Errorf("%s: %d %s", query, r.status, r.body)
		}
	}
}

// An operator lists the workers and lets one drain; it is asked once.
func TestDrainWorker(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	h.register(testModel)
	h.create(trp)
	h.claim()
	_, olga := h.operator("olga")
	ctx, c := t.Context(), h.client(olga)
	list, err := c.Workers(ctx)
	if err != nil || len(list.Data) != 1 {
		t.Fatalf("%+v %v", list, err)
	}
	if w := list.Data[0]; w.ID != "w1" || w.State != "live" || w.Host != "test" ||
		!cmp.Equal(w.Models, []string{"mini"}) || w.Class != pleat.DefaultClass {
		t.Errorf("%+v", w)
	}
	for range 2 {
		if d, err := c.DrainWorker(ctx, "w1"); err != nil || d != (api.DrainedWorker{ID: "w1", Draining: true}) {
			t.Fatalf("%+v %v", d, err)
		}
	}
	if list, err = c.Workers(ctx); err != nil || list.Data[0].State != "draining" {
		t.Errorf("%+v %v", list, err)
	}
}

// A user who is disabled is refused with the next request, and accepted again when enabled.
func TestDisableUserByAPI(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	id, bob := h.newUser("bob")
	_, olga := h.operator("olga")
	act := func(what string) api.DisabledUser {
		t.Helper()
		return read[api.DisabledUser](t, h.as(olga, "POST", "/v1/operator/users/"+string(id)+"/"+what, nil))
	}
	if u := act("disable"); u.Name != "bob" || u.DisabledAt == nil {
		t.Errorf("%+v", u)
	}
	if r := h.as(bob, "GET", "/v1/me", nil); r.status != 401 {
		t.Errorf("%d %s", r.status, r.body)
	}
	if u := act("enable"); u.DisabledAt != nil {
		t.Errorf("%+v", u)
	}
	if r := h.as(bob, "GET", "/v1/me", nil); r.status != 200 {
		t.Errorf("%d %s", r.status, r.body)
	}
	first := read[api.List[api.OperatorUser]](t, h.as(olga, "GET", "/v1/operator/users?limit=2", nil))
	if len(first.Data) != 2 || first.Data[0].Name != "olga" || !first.Data[0].IsOperator ||
		first.Data[1].SeenAt == nil || first.NextCursor == nil {
		t.Fatalf("%+v", first)
	}
	rest := read[api.List[api.OperatorUser]](t,
		h.as(olga, "GET", "/v1/operator/users?limit=2&cursor="+*first.NextCursor, nil))
	if len(rest.Data) != 1 || rest.NextCursor != nil {
		t.Errorf("%+v", rest)
	}
}

// The audit log of all users can be read in pages and exported; a text that a spreadsheet would compute is none in CSV.
func TestAuditExport(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	h.register(testModel)
	_, olga := h.operator("olga")
	const formula = `=HYPERLINK("https://example.org")`
	if _, err := h.client(olga).PauseModel(t.Context(), "mini", formula); err != nil {
		t.Fatal(err)
	}
	page := read[api.List[api.AuditEntry]](t, h.as(olga, "GET", "/v1/operator/audit?limit=1", nil))
	if len(page.Data) != 1 || page.Data[0].Action != "model.paused" || page.Data[0].UserName != "olga" ||
		page.Data[0].Subject != "mini" || page.Data[0].Detail != formula || page.NextCursor == nil {
		t.Fatalf("%+v", page)
	}
	r := h.as(olga, "GET", "/v1/operator/audit?format=csv", nil)
	rows, err := csv.NewReader(strings.NewReader(r.body)).ReadAll()
	if err != nil || r.header.Get("Content-Type") != "text/csv; charset=utf-8" ||
		!strings.Contains(r.header.Get("Content-Disposition"), "audit.csv") {
		t.Fatalf("%v %v", r.header, err)
	}
	if rows[0][4] != "detail" || rows[1][4] != "'"+formula || len(rows) < 3 {
		t.Errorf("%q", rows)
	}
	lines := strings.Split(strings.TrimSpace(h.as(olga, "GET", "/v1/operator/audit?format=jsonl", nil).body), "\n")
	if len(lines) != len(rows)-1 || !strings.Contains(lines[0], `"action":"model.paused"`) {
		t.Errorf("%q", lines)
	}
	day := time.Now().UTC().AddDate(0, 0, -2).Format(time.DateOnly)
	r = h.as(olga, "GET", "/v1/operator/audit?format=csv&from="+day+"&to="+day, nil)
	if r.status != 200 || strings.Count(r.body, "\n") != 1 {
		t.Errorf("a day without entries: %d %q", r.status, r.body)
	}
}
