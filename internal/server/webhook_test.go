package server_test

import (
	"context"
	"encoding/json"
	"net/netip"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pleat"
	"pleat/api"
	"pleat/internal/server"
	"pleat/internal/store/people"
	"pleat/internal/store/webhooks"
	"pleat/internal/webhook"
)

const ingestSecret = "an operator's secret"

// forHooks lets webhooks go to loopback, and events be ingested.
func forHooks(c *server.Config, d *server.Deps) {
	c.IngestSecret = ingestSecret
	d.Guard = webhook.NewGuard([]netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}, nil, nil)
}

const putHook = `{"target_url":"http://127.0.0.1:9/hook","token_value":"a-token-0123456789","enabled_by_default":true}`

// addHook is the body that adds a named endpoint for some events.
func addHook(name string, events ...string) string {
	b, _ := json.Marshal(api.CreateEndpoint{ // strings: cannot fail
		Name:       name,
		TargetURL:  "http://127.0.0.1:9/hook?of=" + url.QueryEscape(name),
		TokenValue: "a-token-0123456789",
		Events:     events,
	})
	return string(b)
}

// visitWebhooks tries every route of the webhooks against the document.
func visitWebhooks(h *fixture, visit func(route, schema string, r reply, want int)) {
	const base = "/v1/webhooks/custom-http-config"
	as := func(method, path string, body any, headers ...string) reply {
		return h.as(h.key, method, path, body, headers...)
	}
	visit("GET "+base, "WebhookConfig", as("GET", base, nil), 200)
	visit("POST "+base+"/pause", "Error", as("POST", base+"/pause", nil), 404)
	visit("PUT "+base, "Error", as("PUT", base, `{}`), 400)
	visit("PUT "+base, "WebhookConfig", as("PUT", base, putHook), 200)
	visit("GET "+base, "WebhookConfig", as("GET", base, nil), 200)
	visit("POST "+base+"/pause", "WebhookConfig", as("POST", base+"/pause", nil), 200)
	visit("POST "+base+"/resume", "WebhookConfig", as("POST", base+"/resume", nil), 200)
	visit("POST "+base+"/rotate-secret", "WebhookConfig", as("POST", base+"/rotate-secret", nil), 200)
	visit("POST "+base+"/rotate-secret", "WebhookConfig", as("POST", base+"/rotate-secret", `{"scheme":"v1a"}`), 200)
	j := h.completed(trp)
	visitEndpoints(as, visit)
	visit("GET /v1/webhooks/subscriptions", "ListSubscription", as("GET", "/v1/webhooks/subscriptions", nil), 200)
	list := as("GET", "/v1/webhooks/deliveries?source_id="+j.JobID, nil)
	visit("GET /v1/webhooks/deliveries", "ListDelivery", list, 200)
	id := regexp.MustCompile(`"id":"([^"]+)"`).FindStringSubmatch(list.body)[1]
	one := "/v1/webhooks/deliveries/" + id
	visit("GET /v1/webhooks/deliveries/{id}", "DeliveryDetail", as("GET", one, nil), 200)
	visit("POST /v1/webhooks/deliveries/{id}/redeliver", "Error", as("POST", one+"/redeliver", nil), 409)
	h.deliver(webhook.Attempt{
		Status:  500,
		Error:   webhook.ClassStatus,
		Message: "no",
		Answer:  "broken",
		Headers: map[string]string{"Server": "x"},
	}, time.Time{})
	visit("GET /v1/webhooks/deliveries/{id}", "DeliveryDetail", as("GET", one, nil), 200)
	visit("POST /v1/webhooks/deliveries/{id}/redeliver", "Delivery", as("POST", one+"/redeliver", nil), 200)
	visit("POST /v1/webhooks/deliveries/redeliver", "Redelivered",
		as("POST", "/v1/webhooks/deliveries/redeliver", `{"status":"FAILED"}`), 200)
	visit("POST /v1/webhooks/deliveries/redeliver", "Redelivered",
		as("POST", "/v1/webhooks/deliveries/redeliver", `{"status":"PENDING"}`), 200)
	visit("POST /v1/webhooks/test", "Delivery", as("POST", "/v1/webhooks/test", nil), 200)
	event := `{"source_kind":"fold_job","event_name":"on_complete","status":"COMPLETED","source_id":"` + j.JobID +
		`","payload":{"x":1}}`
	visit("POST /v1/webhooks/events/ingest", "Error", h.ask("POST", "/v1/webhooks/events/ingest", event), 401)
	visit("POST /v1/webhooks/events/ingest", "IngestedEvent",
		h.ask("POST", "/v1/webhooks/events/ingest", event, "X-Webhook-Ingest-Secret", ingestSecret), 200)
	visit("GET /v1/jobs/{id}", "JobView", as("GET", "/v1/jobs/"+j.JobID, nil), 200)
	visit("DELETE "+base, "WebhookConfig", as("DELETE", base, nil), 200)
}

// visitEndpoints tries every route of named endpoints.
func visitEndpoints(
	as func(method, path string, body any, headers ...string) reply,
	visit func(route, schema string, r reply, want int),
) {
	const base = "/v1/webhooks/endpoints"
	created := as("POST", base, addHook("ci", "fold_job.on_failed"))
	visit("POST "+base, "WebhookEndpoint", created, 200)
	visit("POST "+base, "Error", as("POST", base, addHook("ci")), 409)
	visit("POST "+base, "Error", as("POST", base, addHook("x", "fold_job.on_end")), 400)
	visit("GET "+base, "WebhookEndpoints", as("GET", base, nil), 200)
	one := base + "/" + regexp.MustCompile(`"id":"([^"]+)"`).FindStringSubmatch(created.body)[1]
	visit("GET "+base+"/{id}", "WebhookEndpoint", as("GET", one, nil), 200)
	visit("PATCH "+base+"/{id}", "WebhookEndpoint", as("PATCH", one, `{"events":[]}`), 200)
	visit("PATCH "+base+"/{id}", "Error", as("PATCH", one, `{}`), 400)
	for _, action := range []string{"pause", "resume", "rotate-secret"} {
		visit("POST "+base+"/{id}/"+action, "WebhookEndpoint", as("POST", one+"/"+action, nil), 200)
	}
	visit("POST "+base+"/{id}/test", "Delivery", as("POST", one+"/test", nil), 200)
	visit("DELETE "+base+"/{id}", "DeletedEndpoint", as("DELETE", one, nil), 200)
	visit("DELETE "+base+"/{id}", "Error", as("DELETE", one, nil), 404)
}

// deliver ends every delivery that is due, as a delivery worker would.
func (h *fixture) deliver(a webhook.Attempt, next time.Time) {
	h.t.Helper()
	ctx := context.Background()
	got, err := h.store.Webhooks.ClaimDeliveries(
		ctx,
		"deliverer",
		"",
		100,
		webhooks.DeliveryLimits{Window: 100, Owner: 100},
	)
	if err != nil {
		h.t.Fatal(err)
	}
	detail, err := json.Marshal(a)
	if err != nil {
		h.t.Fatal(err)
	}
	var list []webhooks.DeliveryOutcome
	for _, d := range got.List {
		list = append(list, webhooks.DeliveryOutcome{
			Claimed: d,
			OK:      a.OK(),
			Status:  a.Status,
			Detail:  string(detail),
			NextAt:  next,
			Reason:  "it failed",
		})
	}
	err = h.store.Webhooks.FinishDeliveries(ctx, "deliverer", list,
		func(e webhooks.Endpoint, _ []webhooks.DeliveryOutcome, _ time.Time) webhooks.EndpointUpdate {
			return webhooks.EndpointUpdate{Health: e.Health}
		})
	if err != nil {
		h.t.Fatal(err)
	}
}

func read[T any](t *testing.T, r reply) T {
	t.Helper()
	var v T
	if r.status != 200 {
		t.Fatalf("%d %s", r.status, r.body)
	}
	if err := json.Unmarshal([]byte(r.body), &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// Tokens and secrets are sealed where they are stored, and shown to nobody but at their making.
func TestSecretsAreSealed(t *testing.T) {
	t.Parallel()
	h := newFixtureWith(t, forHooks)
	const base = "/v1/webhooks/custom-http-config"
	first := read[api.WebhookConfig](t, h.as(h.key, "PUT", base, putHook))
	if !strings.HasPrefix(first.SigningSecret, "whsec_") || first.TokenMasked == nil ||
		*first.TokenMasked != "••••••••6789" {
		t.Fatalf("%+v", first)
	}
	e, _, err := h.store.Webhooks.Endpoint(context.Background(), people.Own(h.user), webhooks.Default)
	if err != nil {
		t.Fatal(err)
	}
	ring := newRing(t)
	if token, err := ring.Open(string(h.user), "token", e.Token); err != nil || string(token) != "a-token-0123456789" {
		t.Errorf("%q %v", token, err)
	}
	if secret, err := ring.Open(string(h.user), "secret", e.Secret); err != nil ||
		string(secret) != first.SigningSecret {
		t.Errorf("%q %v", secret, err)
	}
	if strings.Contains(e.Token+e.Secret, "a-token") || strings.Contains(e.Secret, first.SigningSecret) {
		t.Error("stored in the clear")
	}
	short := read[api.WebhookConfig](t,
		h.as(h.key, "PUT", base, `{"target_url":"http://127.0.0.1:9/hook","token_value":"short"}`))
	if *short.TokenMasked != "••••••••" || short.SigningSecret != "" || !short.EnabledByDefault {
		t.Errorf("%+v", short)
	}
	rotated := read[api.WebhookConfig](t, h.as(h.key, "POST", base+"/rotate-secret", nil))
	if rotated.SigningSecret == first.SigningSecret || rotated.OldSecretUntil == nil {
		t.Errorf("%+v", rotated)
	}
	e, _, _ = h.store.Webhooks.Endpoint(context.Background(), people.Own(h.user), webhooks.Default)
	if old, err := ring.Open(string(h.user), "secret", e.OldSecret); err != nil || string(old) != first.SigningSecret {
		t.Errorf("the old secret: %q %v", old, err)
	}
	h.clock.Advance(25 * time.Hour)
	if later := read[api.WebhookConfig](t, h.as(h.key, "GET", base, nil)); later.OldSecretUntil != nil {
		t.Errorf("a day later the old secret still signs: %+v", later)
	}
	for _, hush := range []string{"a-token-0123456789", first.SigningSecret, rotated.SigningSecret} {
		if strings.Contains(h.log.String(), hush) {
			t.Errorf("the log has %s", hush)
		}
	}
}

// The default holds while its endpoint rests or was disabled by the service, and ends with DELETE.
func TestDefaultIsResolvedAtCreation(t *testing.T) {
	t.Parallel()
	h := newFixtureWith(t, forHooks)
	const base = "/v1/webhooks/custom-http-config"
	told := func(job string) int {
		t.Helper()
		return len(read[api.List[api.Delivery]](t,
			h.as(h.key, "GET", "/v1/webhooks/deliveries?source_id="+job, nil)).Data)
	}
	if n := told(h.completed(trp).JobID); n != 0 {
		t.Errorf("%d before a configuration", n)
	}
	read[api.WebhookConfig](t, h.as(h.key, "PUT", base, putHook))
	early := h.create(trp)
	read[api.WebhookConfig](t, h.as(h.key, "DELETE", base, nil))
	late := h.create(trp)
	h.finish(h.claim())
	h.finish(h.claim())
	if a, b := told(early.JobID), told(late.JobID); a != 1 || b != 0 {
		t.Errorf("created before DELETE %d, after it %d deliveries; want 1 and 0", a, b)
	}
	validation := read[api.Validation](t, h.as(h.key, "POST", "/v1/jobs/validate",
		strings.Replace(trp, `"name"`, `"constraints":{"webhooks":{"custom_http":{"enabled":true}}},"name"`, 1)))
	if validation.Valid || !strings.Contains(validation.Errors[0].Message, "not active") ||
		validation.Errors[0].Field != "constraints.webhooks.custom_http" {
		t.Errorf("%+v", validation)
	}
}

// An attempt's answer, headers and timings can be read; an attempt that says nothing does not break the page.
func TestAttemptsAreShown(t *testing.T) {
	t.Parallel()
	h := newFixtureWith(t, forHooks)
	read[api.WebhookConfig](t, h.as(h.key, "PUT", "/v1/webhooks/custom-http-config", putHook))
	j := h.completed(trp)
	list := read[api.List[api.Delivery]](t, h.as(h.key, "GET", "/v1/webhooks/deliveries", nil))
	id := list.Data[0].ID
	h.deliver(webhook.Attempt{
		Status:  503,
		Error:   webhook.ClassStatus,
		Message: "the receiver answered 503",
		Answer:  "later",
		Headers: map[string]string{"Retry-After": "7"},
		Timings: webhook.Timings{Wait: 1500 * time.Microsecond, Total: 2 * time.Millisecond, Reused: true},
	}, h.clock.Now().Add(time.Second))
	h.clock.Advance(2 * time.Second)
	if _, err := h.store.Runs.Reap(context.Background(), h.store.DB.Now()); err != nil {
		t.Fatal(err)
	}
	got, err := h.store.Webhooks.ClaimDeliveries(
		context.Background(),
		"dies",
		"",
		1,
		webhooks.DeliveryLimits{Window: 1, Owner: 1},
	)
	if err != nil || len(got.List) != 1 {
		t.Fatal(len(got.List), err)
	}
	running := read[api.DeliveryDetail](t, h.as(h.key, "GET", "/v1/webhooks/deliveries/"+id, nil))
	if running.Status != "RUNNING" || len(running.AttemptLog) != 2 || running.AttemptLog[1].Outcome != "running" ||
		running.AttemptLog[1].EndedAt != nil {
		t.Errorf("%+v", running)
	}
	if _, err := h.store.Runs.FreeTasks(context.Background(), "dies"); err != nil {
		t.Fatal(err)
	}
	d := read[api.DeliveryDetail](t, h.as(h.key, "GET", "/v1/webhooks/deliveries/"+id, nil))
	if d.SourceID != j.JobID || d.Attempts != 2 || d.Status != "PENDING" || len(d.AttemptLog) != 2 ||
		d.AttemptLog[1].Outcome != "lost" {
		t.Fatalf("%+v", d)
	}
	status, class, message, answer := 503, "status", "the receiver answered 503", "later"
	want := api.DeliveryAttempt{
		Number:         1,
		Outcome:        "failed",
		ResponseStatus: &status,
		Error:          &class,
		Message:        &message,
		Answer:         &answer,
		Headers:        map[string]string{"Retry-After": "7"},
		Timings:        api.DeliveryTimings{Wait: 1.5, Total: 2, Reused: true},
	}
	if diff := cmp.Diff(want, d.AttemptLog[0], ignoreTimes); diff != "" {
		t.Error(diff)
	}
}

// The secret of ingest is asked for before the body is read, and an empty one opens nothing.
func TestIngestSecret(t *testing.T) {
	t.Parallel()
	for name, secret := range map[string]string{"none": "", "set": ingestSecret} {
		t.Run(name, func(t *testing.T) {
			h := newFixtureWith(t, func(c *server.Config, _ *server.Deps) { c.IngestSecret = secret })
			for _, given := range []string{
				"", "x", ingestSecret[:5], ingestSecret + "x", strings.ToUpper(ingestSecret),
			} {
				r := h.ask("POST", "/v1/webhooks/events/ingest", `{`, "X-Webhook-Ingest-Secret", given)
				if r.status != 401 || r.message(t) != pleat.ErrUnauthorized.Message {
					t.Errorf("%q: %d %s", given, r.status, r.body)
				}
			}
			r := h.ask("POST", "/v1/webhooks/events/ingest", `{`, "X-Webhook-Ingest-Secret", ingestSecret)
			if want := map[bool]int{true: 401, false: 400}[secret == ""]; r.status != want {
				t.Errorf("the right one: %d; want %d", r.status, want)
			}
		})
	}
}

// Bad input for a named endpoint is refused with a sentence that names the field, and changes nothing.
func TestEndpointInput(t *testing.T) {
	t.Parallel()
	h := newFixtureWith(t, forHooks)
	const base = "/v1/webhooks/endpoints"
	created := read[api.WebhookEndpoint](t, h.as(h.key, "POST", base, addHook("ci")))
	one := base + "/" + created.ID
	full := strings.Replace(addHook("x"), "}", `,%s}`, 1)
	for _, c := range []struct{ method, path, body, field, says string }{
		{"POST", base, `{"target_url":"http://127.0.0.1/"}`, "name", "is required"},
		{"POST", base, addHook(strings.Repeat("é", 61)), "name", "has 61 characters; at most 60"},
		{"POST", base, addHook("a\nb"), "name", "has a control character at position 2"},
		{"POST", base, `{"name":"x"}`, "target_url", "is required"},
		{"POST", base, `{"name":"x","target_url":"http://10.1.2.3/"}`, "target_url", ""},
		{"POST", base, `{"name":"x","target_url":"ftp://127.0.0.1/"}`, "target_url", ""},
		{"POST", base, addHook("x", "fold_job.on_failed", "fold_job.on_fail"), "events[1]",
			`is "fold_job.on_fail"; did you mean "fold_job.on_failed"?`},
		{"POST", base, addHook("x", "*"), "events[0]", "it may be fold_job.on_complete, fold_job.on_failed, workflow"},
		{"POST", base, strings.Replace(full, "%s", `"format":"xml"`, 1), "format", "it may be plain or cloudevents"},
		{"POST", base, strings.Replace(full, "%s", `"filter":[]`, 1), "filter", ""},
		{"POST", base, `{"name":"x","target_url":"http://127.0.0.1/","token_value":"a\nb"}`, "token_value", ""},
		{"PATCH", one, `{}`, "target_url", "changes nothing"},
		{"PATCH", one, `{"target_url":"http://127.0.0.1:10/"}`, "token_value", "is required again"},
		{"PATCH", one, `{"name":""}`, "name", "is required"},
		{"PATCH", one, `{"events":["batch.on_stop"]}`, "events[0]", ""},
		{"GET", "/v1/webhooks/deliveries?endpoint_id=x", "", "endpoint_id", "UUID"},
		{"POST", "/v1/webhooks/deliveries/redeliver", `{"endpoint_id":"x"}`, "endpoint_id", "must be a UUID"},
	} {
		r := h.as(h.key, c.method, c.path, c.body)
		var e api.Error
		_ = json.Unmarshal([]byte(r.body), &e)
		if r.status != 400 || !strings.Contains(e.Message, c.field) || !strings.Contains(e.Message, c.says) {
			t.Errorf("%s %s %s: %d %s", c.method, c.path, c.body, r.status, r.body)
		}
	}
	list := read[api.WebhookEndpoints](t, h.as(h.key, "GET", base, nil))
	created.SigningSecret = ""
	if d := cmp.Diff([]api.WebhookEndpoint{created}, list.Data); d != "" {
		t.Error(d)
	}
}

// A user who does not manage a project, or whose key may only read, sees where its events go, and neither a path nor
// anything of a token.
func TestEndpointsForMembers(t *testing.T) {
	t.Parallel()
	h := newFixtureWith(t, forHooks)
	project := h.newProject("Lab")
	in := "?projectId=" + project
	h.as(h.key, "PUT", "/v1/webhooks/custom-http-config"+in, putHook)
	created := read[api.WebhookEndpoint](t, h.as(h.key, "POST", "/v1/webhooks/endpoints"+in, addHook("secret path")))
	_, key := h.newUser("vera")
	h.as(h.key, "PUT", "/v1/projects/"+project+"/members/vera", `{"role":"viewer"}`)
	r := h.as(key, "GET", "/v1/webhooks/endpoints"+in, nil)
	list := read[api.WebhookEndpoints](t, r)
	const origin = "http://127.0.0.1:9"
	if len(list.Data) != 1 || list.Data[0].TargetURL != origin || list.Data[0].HasToken != nil ||
		list.Data[0].TokenMasked != nil || list.Default == nil || list.Default.TargetURL != origin ||
		!list.Default.EnabledByDefault || strings.Contains(r.body, "hook") || strings.Contains(r.body, "6789") {
		t.Error(r.body)
	}
	one := read[api.WebhookEndpoint](t, h.as(key, "GET", "/v1/webhooks/endpoints/"+created.ID, nil))
	if d := cmp.Diff(list.Data[0], one); d != "" {
		t.Error(d)
	}
	reader := h.scopedKey(pleat.ScopeRead)
	for _, path := range []string{"/v1/webhooks/endpoints" + in, "/v1/webhooks/endpoints/" + created.ID} {
		if r := h.as(reader, "GET", path, nil); r.status != 200 || strings.Contains(r.body, "hook?") ||
			strings.Contains(r.body, "6789") || !strings.Contains(r.body, origin) {
			t.Errorf("a manager's key that may only read sees %d %s", r.status, r.body)
		}
	}
	if created.TargetURL != origin+"/hook?of=secret+path" || created.HasToken == nil || !*created.HasToken ||
		created.TokenMasked == nil || created.SigningSecret == "" {
		t.Errorf("its manager sees %+v", created)
	}
	empty := read[api.WebhookEndpoints](t, h.as(key, "GET", "/v1/webhooks/endpoints", nil))
	if len(empty.Data) != 0 || empty.Default != nil {
		t.Errorf("of another project: %+v", empty)
	}
}
