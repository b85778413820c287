package server_test

import (
	"fmt"
	"strings"
	"testing"

	"pleat/api"
)

// refusal is a request that is refused.
type refusal struct {
	name, method, path string
	body               any
	headers            []string
}

// refusals sends requests that must be refused and compares their answers with a golden file, in which names stand for
// ids.
func (h *fixture) refusals(file string, ids map[string]string, list []refusal) {
	t := h.t.(*testing.T)
	t.Helper()
	var out strings.Builder
	for _, c := range list {
		r := h.ask(c.method, c.path, c.body, c.headers...)
		if r.status < 400 || r.status == 422 {
			t.Errorf("%s: %d %s", c.name, r.status, r.body)
			continue
		}
		message := r.message(t)
		for id, name := range ids {
			message = strings.ReplaceAll(message, id, name)
		}
		fmt.Fprintf(&out, "%-40s %d %s\n", c.name, r.status, message)
	}
	golden(t, file, out.String())
}

// Every refusal of the routes of webhooks, and of a job's own endpoint: its status and its whole sentence stand in
// testdata/hookrefusals.txt.
func TestWebhookRefusals(t *testing.T) {
	t.Parallel()
	h := newFixtureWith(t, forHooks)
	good := []string{"Authorization", "Bearer " + h.key}
	const settings, deliveries = "/v1/webhooks/custom-http-config", "/v1/webhooks/deliveries"
	const none = "01234567-89ab-7def-8123-456789abcdef"
	own := func(webhooks string) string {
		return strings.Replace(trp, `"params"`, `"constraints":{"webhooks":{`+webhooks+`}},"params"`, 1)
	}
	h.refusals("hookrefusals.txt", nil, []refusal{
		{"nothing", "PUT", settings, `{}`, good},
		{"no body", "PUT", settings, nil, good},
		{"no token the first time", "PUT", settings, `{"target_url":"http://127.0.0.1:9/hook"}`, good},
		{"token of two lines", "PUT", settings, `{"target_url":"http://127.0.0.1:9/hook","token_value":"a\nb"}`, good},
		{"unknown field", "PUT", settings, `{"target":"http://127.0.0.1:9/hook"}`, good},
		{"private address", "PUT", settings, `{"target_url":"https://10.0.0.1/hook","token_value":"t"}`, good},
		{"metadata of a cloud", "PUT", settings, `{"target_url":"https://169.254.169.254/latest","token_value":"t"}`,
			good},
		{"port of another service", "PUT", settings, `{"target_url":"https://192.88.98.1:22/hook","token_value":"t"}`,
			good},
		{"no https", "PUT", settings, `{"target_url":"http://192.88.98.1/hook","token_value":"t"}`, good},
		{"user and password", "PUT", settings, `{"target_url":"https://user:hush@192.88.98.1/hook","token_value":"t"}`,
			good},
		{"unknown format", "PUT", settings,
			`{"target_url":"http://127.0.0.1:9/hook","token_value":"t","format":"xml"}`, good},
		{"wrong method", "POST", settings, `{}`, good},
		{"pause of nothing", "POST", settings + "/pause", nil, good},
		{"rotation of nothing", "POST", settings + "/rotate-secret", nil, good},
		{"end of nothing", "DELETE", settings, nil, good},
		{"own endpoint without a token", "POST", "/v1/jobs",
			own(`"custom_http":{"enabled":true,"target_url":"http://127.0.0.1:9"}`), good},
		{"own endpoint at a private address", "POST", "/v1/jobs",
			own(`"custom_http":{"enabled":true,"target_url":"https://192.168.1.1","token_value":"t"}`), good},
		{"own endpoint without a word", "POST", "/v1/jobs",
			own(`"custom_http":{"target_url":"http://127.0.0.1:9","token_value":"t"}`), good},
		{"own endpoint that is a number", "POST", "/v1/jobs",
			own(`"custom_http":{"enabled":true,"target_url":7,"token_value":"t"}`), good},
		{"misspelt destination", "POST", "/v1/jobs", own(`"custom_htp":{"enabled":true}`), good},
		{"limit is 0", "GET", deliveries + "?limit=0", nil, good},
		{"bad status", "GET", deliveries + "?status=DONE", nil, good},
		{"bad cursor", "GET", deliveries + "?cursor=x", nil, good},
		{"source is no UUID", "GET", deliveries + "?source_id=x", nil, good},
		{"bad cursor of subscriptions", "GET", "/v1/webhooks/subscriptions?cursor=x", nil, good},
		{"id is no UUID", "GET", deliveries + "/x", nil, good},
		{"no such delivery", "GET", deliveries + "/" + none, nil, good},
		{"everything again", "POST", deliveries + "/redeliver", `{}`, good},
		{"again since no time", "POST", deliveries + "/redeliver", `{"since":"yesterday"}`, good},
		{"again what runs", "POST", deliveries + "/redeliver", `{"status":"RUNNING"}`, good},
	})
	if u, err := h.client(h.key).Usage(t.Context()); err != nil || u.Used != 0 {
		t.Errorf("used %d, want none: %v", u.Used, err)
	}
	if c := read[api.WebhookConfig](t, h.as(h.key, "GET", settings, nil)); c.IsConfigured {
		t.Errorf("a refused request has set up %+v", c)
	}
}
