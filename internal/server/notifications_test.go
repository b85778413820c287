package server_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"pleat"
	"pleat/api"
	"pleat/internal/server"
)

const notifications = "/v1/me/notifications"

func withMails(c *server.Config) { c.Mails = true }

// visitNotifications calls the routes of notifications.
func visitNotifications(t *testing.T, h *fixture, visit func(route, schema string, r reply, want int)) {
	as := func(method, path, body string) reply { return h.as(h.key, method, notifications+path, body) }
	visit("GET "+notifications, "Notifications", h.as(h.key, "GET", notifications, nil), 200)
	visit("PUT "+notifications, "Notifications", as("PUT", "", `{"mail":"ann@lab.test","events":["run_failed"]}`), 200)
	visit("PUT "+notifications, "Error", as("PUT", "", `{"mail":"ann","events":[]}`), 400)
	visit("POST "+notifications+"/link", "Notifications", as("POST", "/link", ""), 200)
	id := h.notificationsOf(h.key).Recent[0].ID
	token := newRing(t).MailToken(pleat.MailID(id))
	visit("POST "+notifications+"/confirm", "Error", as("POST", "/confirm", `{"token":"x"}`), 404)
	visit("POST "+notifications+"/confirm", "Notifications", as("POST", "/confirm", `{"token":"`+token+`"}`), 200)
	visit("POST "+notifications+"/link", "Error", as("POST", "/link", ""), 409)
}

// notificationsOf reads a user's settings.
func (h *fixture) notificationsOf(key string) (n api.Notifications) {
	h.t.Helper()
	h.read(h.as(key, "GET", notifications, nil), &n)
	return n
}

// read decodes an answer.
func (h *fixture) read(r reply, out any) {
	h.t.Helper()
	if err := json.Unmarshal([]byte(r.body), out); err != nil || r.status != 200 {
		h.t.Fatalf("%d %s: %v", r.status, r.body, err)
	}
}

func TestNotifications(t *testing.T) {
	t.Parallel()
	h := newFixture(t, withMails)
	n := h.notificationsOf(h.key)
	if !n.Available || n.Mail != nil || n.Confirmed || len(n.Events)+len(n.Recent) != 0 {
		t.Errorf("%+v", n)
	}
	for _, c := range []struct{ body, want string }{
		{`{"mail": "ann", "events": []}`, `mail is "ann"; it must be an address such as ada@example.org`},
		{`{"mail": "a@b\r\nBcc: x@y.z", "events": []}`, "mail is "},
		{`{"mail": "a@b, c@d", "events": []}`, "mail is "},
		{`{"mail": "` + strings.Repeat("a", 60) + "@" + strings.Repeat("b.", 99) + `bb", "events": []}`, "mail is "},
		{`{"mail": null, "events": ["all"]}`, `events has "all"; there are run_completed`},
		{`{"mail": 7, "events": []}`, "mail"},
		{`{"address": "a@b", "events": []}`, "address"},
	} {
		if r := h.as(h.key, "PUT", notifications, c.body); r.status != 400 || !strings.Contains(r.message(t), c.want) {
			t.Errorf("%s: %d %s", c.body, r.status, r.body)
		}
	}
	r := h.as(h.key, "PUT", notifications, `{"mail": "ann@lab.test", "events": ["run_failed", "batch_ended", "run_failed"]}`)
	h.read(r, &n)
	if n.Confirmed || n.LinkUntil == nil || len(n.Events) != 2 || len(n.Recent) != 1 ||
		n.Recent[0].Event != "confirm" || n.Recent[0].Status != "PENDING" {
		t.Fatalf("%d %s", r.status, r.body)
	}
	token := newRing(t).MailToken(pleat.MailID(n.Recent[0].ID))
	confirm := func(key, token string) int {
		return h.as(key, "POST", notifications+"/confirm", `{"token": "`+token+`"}`).status
	}
	_, other := h.newUser("eve")
	if s := confirm(other, token); s != 404 {
		t.Errorf("another user confirms with %d", s)
	}
	if s := confirm(h.key, token[:len(token)-1]); s != 404 {
		t.Errorf("a wrong token confirms with %d", s)
	}
	if s := confirm(h.key, token); s != 200 || !h.notificationsOf(h.key).Confirmed {
		t.Errorf("confirmed with %d", s)
	}
	if s := confirm(h.key, token); s != 404 {
		t.Errorf("a link counts twice: %d", s)
	}
	if r := h.as(h.key, "POST", notifications+"/link", nil); r.status != 409 {
		t.Errorf("%d %s", r.status, r.body)
	}
	// Each new address needs a link of its own; there are five a day.
	for i := range 4 {
		body := `{"mail": "ann` + string(rune('a'+i)) + `@lab.test", "events": []}`
		if r := h.as(h.key, "PUT", notifications, body); r.status != 200 {
			t.Fatalf("%d %s", r.status, r.body)
		}
	}
	if n := h.notificationsOf(h.key); n.Confirmed || n.LinkUntil == nil {
		t.Errorf("%+v", n)
	}
	for _, r := range []reply{
		h.as(h.key, "PUT", notifications, `{"mail": "annz@lab.test", "events": []}`),
		h.as(h.key, "POST", notifications+"/link", nil),
	} {
		if r.status != 429 || !strings.Contains(r.message(t), "5 mails") {
			t.Errorf("%d %s", r.status, r.body)
		}
	}
	if m := *h.notificationsOf(h.key).Mail; m != "annd@lab.test" {
		t.Errorf("after a refusal the address is %s", m)
	}
	token = newRing(t).MailToken(pleat.MailID(h.notificationsOf(h.key).Recent[0].ID))
	h.clock.Advance(24 * time.Hour)
	if s := confirm(h.key, token); s != 404 {
		t.Errorf("a day later the link confirms with %d", s)
	}
	if r := h.as(h.key, "PUT", notifications, `{"mail": null, "events": []}`); r.status != 200 {
		t.Errorf("%d %s", r.status, r.body)
	}
	if n := h.notificationsOf(h.key); n.Mail != nil || n.LinkUntil != nil {
		t.Errorf("%+v", n)
	}
}

// Without mails nothing can be set. A key that reaches one project alone neither sets nor reads what is the person's,
// but for who was invited with it and has no other.
func TestNotificationsAreRefused(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	if n := h.notificationsOf(h.key); n.Available {
		t.Errorf("%+v", n)
	}
	r := h.as(h.key, "PUT", notifications, `{"mail": "ann@lab.test", "events": []}`)
	if r.status != http.StatusConflict || !strings.Contains(r.message(t), "sends no mails") {
		t.Errorf("%d %s", r.status, r.body)
	}
	h = newFixture(t, withMails)
	lab := h.newProject("Lab")
	bound := read[api.NewKey](t, h.as(h.key, "POST", "/v1/keys", `{"projectId":"`+lab+`"}`)).Secret
	for method, body := range map[string]any{"GET": nil, "PUT": `{"mail": "ann@lab.test", "events": []}`} {
		r = h.as(bound, method, notifications, body)
		if r.status != 403 || !strings.Contains(r.message(t), "reaches one project alone") {
			t.Errorf("%s: %d %s", method, r.status, r.body)
		}
	}
	token := read[api.NewInvitation](t,
		h.as(h.key, "POST", "/v1/projects/"+lab+"/invitations", `{"role":"viewer"}`)).Token
	joined := read[api.Joined](t,
		h.ask("POST", "/v1/invitations/accept", `{"token":"`+token+`","name":"vera"}`))
	if r := h.as(*joined.Key, "PUT", notifications, `{"mail": "vera@lab.test", "events": []}`); r.status != 200 {
		t.Errorf("%d %s", r.status, r.body)
	}
	if r := h.as(h.scopedKey(pleat.ScopeRead), "GET", notifications, nil); r.status != 403 {
		t.Errorf("%d %s", r.status, r.body)
	}
}
