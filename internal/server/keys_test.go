package server_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"pleat"
	"pleat/api"
	"pleat/internal/seal"
	"pleat/internal/server"
	"pleat/internal/store/people"
)

// scopedKey makes a key of ann's with scopes.
func (h *fixture) scopedKey(scopes ...pleat.Scope) string {
	h.t.Helper()
	key := seal.NewKey()
	_, err := h.store.People.CreateKey(h.t.Context(), people.Actor{Reach: people.Own(h.user)},
		people.NewKey{Prefix: seal.Prefix(key), Hash: seal.HashKey(key), Scopes: scopes})
	if err != nil {
		h.t.Fatal(err)
	}
	return key
}

// statusOf sends a request and returns its status without reading the response, which may be a stream.
func (h *fixture) statusOf(key, method, path string) int {
	h.t.Helper()
	req, err := http.NewRequestWithContext(h.t.Context(), method, h.http.URL+path, nil)
	if err != nil {
		h.t.Fatal(err)
	}
	req.Header.Set("X-API-Key", key)
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		h.t.Fatal(err)
	}
	res.Body.Close()
	return res.StatusCode
}

// scopedOperation is an operation of the document that needs a scope.
type scopedOperation struct {
	method, path string
	scope        pleat.Scope
}

// scopedOperations returns the operations of the document that need a scope, with the path of what ann has. Every
// operation that demands a credential must need one.
func (h *fixture) scopedOperations(job, workflow, batch string) []scopedOperation {
	h.t.Helper()
	var doc struct {
		Paths map[string]map[string]struct {
			Description string
			Security    []map[string]any
		}
	}
	if err := json.Unmarshal([]byte(h.ask("GET", "/openapi.json", nil).body), &doc); err != nil {
		h.t.Fatal(err)
	}
	needs := regexp.MustCompile(`Needs a key with the scope (\w+)\.`)
	var out []scopedOperation
	for path, methods := range doc.Paths {
		id := job
		switch {
		case strings.HasPrefix(path, "/v1/workflows"), strings.HasPrefix(path, "/v1/alignments"):
			id = workflow
		case strings.HasPrefix(path, "/v1/batches"):
			id = batch
		}
		for method, op := range methods {
			m := needs.FindStringSubmatch(op.Description)
			if m == nil {
				if len(op.Security) > 0 && path != "/v1/models" && !strings.HasPrefix(path, "/v1/invitations/") {
					h.t.Errorf("%s %s demands a credential and no scope", method, path)
				}
				continue
			}
			at := strings.NewReplacer("{id}", id, "{name}", "x").Replace(path)
			out = append(out, scopedOperation{strings.ToUpper(method), at, pleat.Scope(m[1])})
		}
	}
	return out
}

// Every route refuses a key without its scope, and admits one that has only this.
func TestScopes(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	job := h.completed(trp)
	created := h.as(h.key, "POST", "/v1/workflows",
		`{"workflow_name":"qna_v1","name":"q","workflow_input":{"source_job_id":"`+job.JobID+
			`","question":"Why?"},"create_mode":"draft"}`)
	workflow := read[api.Workflow](t, created)
	batch := read[api.CreatedBatch](t, h.as(h.key, "POST", "/v1/batches", trpBatch))
	list := h.scopedOperations(job.JobID, workflow.ID, batch.BatchID)
	if len(list) < 45 {
		t.Fatalf("%d operations need a scope", len(list))
	}
	without, only := map[pleat.Scope]string{}, map[pleat.Scope]string{}
	for _, scope := range pleat.AllScopes {
		var others pleat.Scopes
		for _, other := range pleat.AllScopes {
			if other != scope {
				others = append(others, other)
			}
		}
		without[scope], only[scope] = h.scopedKey(others...), h.scopedKey(scope)
	}
	for _, op := range list {
		r := h.ask(op.method, op.path, nil, "X-API-Key", without[op.scope])
		if want := fmt.Sprintf("it needs the scope %s", op.scope); r.status != 403 ||
			!strings.HasPrefix(r.message(t), "This key may not ") || !strings.HasSuffix(r.message(t), want) {
			t.Errorf("%s %s without %s: %d %s", op.method, op.path, op.scope, r.status, r.body)
		}
	}
	for _, op := range list {
		if strings.HasPrefix(op.path, "/v1/operator/") {
			continue // the user of the keys is no operator
		}
		if got := h.statusOf(only[op.scope], op.method, op.path); got == 401 || got == 403 {
			t.Errorf("%s %s with %s: %d", op.method, op.path, op.scope, got)
		}
	}
}

// A key that may only submit cannot learn what the user has by work about it, whose result could be public or sent
// elsewhere.
func TestSubmitAloneReadsNothing(t *testing.T) {
	t.Parallel()
	h := newWorkflowFixture(t)
	submit := h.scopedKey(pleat.ScopeSubmit)
	job := h.completed(trp)
	flowOf := func(source string) string {
		return `{"workflow_name":"md","name":"m","create_mode":"draft",` +
			`"workflow_input":{"isPublic":true,` + source + `}}`
	}
	sequence := flowOf(`"preset":"single_idr_fasta","sequence":"DAYAQWLKDGGPSSGRPPPS"`)
	draft := h.flow(strings.Replace(ask(job.JobID, "Why?", ""), "{", `{"create_mode":"draft",`, 1))
	simulation := h.flow(sequence)
	const file = `"preset":"all_atom","libraryItemId":"00000000-0000-7000-8000-000000000000"`
	for _, try := range []struct{ name, method, path, body string }{
		{"a simulation of a fold", "POST", "/v1/workflows", flowOf(`"source_job_id":"` + job.JobID + `"`)},
		{"a simulation of a file", "POST", "/v1/workflows", flowOf(file)},
		{"another question", "PATCH", "/v1/workflows/qna/" + draft.ID + "/draft-question", `{"question":"How?"}`},
		{"a draft about a fold", "POST", "/v1/workflows/execute", `{"workflowId":"` + draft.ID + `"}`},
		{"a frame", "POST", "/v1/workflows/md/" + simulation.ID + "/extract-frame", `{"timeNs":0.002}`},
		{"alignments", "POST", "/v1/jobs?from=" + h.item(h.key, "alignments", ""), trp},
	} {
		r := h.as(submit, try.method, try.path, try.body)
		if r.status != 403 || !strings.HasSuffix(r.message(t), "it needs the scope read too") {
			t.Errorf("%s: %d %s", try.name, r.status, r.body)
		}
		if r := h.as(h.key, try.method, try.path, try.body); r.status == 403 {
			t.Errorf("%s with every scope: %d %s", try.name, r.status, r.body)
		}
	}
	if r := h.as(submit, "POST", "/v1/workflows", sequence); r.status != 200 {
		t.Errorf("a simulation of a sequence: %d %s", r.status, r.body)
	}
}

// A key without the scope read sees of a public job what everyone sees, and learns nothing of what others have.
func TestScopesAndVisibility(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	submit := h.scopedKey(pleat.ScopeSubmit)
	public := h.completed(strings.Replace(trp, `"params"`, `"isPublic":true,"params"`, 1))
	if r := h.as(submit, "GET", "/v1/jobs/"+public.JobID, nil); r.status != 200 ||
		!strings.Contains(r.body, `"isOwner":false`) {
		t.Errorf("a public job: %d %s", r.status, r.body)
	}
	_, ben := h.newUser("ben")
	theirs := read[api.CreatedJob](t, h.as(ben, "POST", "/v1/jobs", trp))
	if r := h.as(submit, "GET", "/v1/jobs/"+theirs.JobID, nil); r.status != 404 {
		t.Errorf("somebody else's job: %d", r.status)
	}
	cookie := h.signIn(submit)
	if r := h.ask("GET", "/v1/jobs", nil, "Cookie", cookie); r.status != 403 {
		t.Errorf("a session has more scopes than its key: %d", r.status)
	}
}

// A key makes no key that may more than itself, or for longer.
func TestKeyMakesNoStrongerKey(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	make := func(by, body string) (api.NewKey, reply) {
		r := h.as(by, "POST", "/v1/keys", body)
		var k api.NewKey
		_ = json.Unmarshal([]byte(r.body), &k)
		return k, r
	}
	at := func(d time.Duration) string { return h.clock.Now().Add(d).UTC().Format(time.RFC3339) }
	limited, r := make(h.key, `{"scopes":["manage","submit"],"expiresAt":"`+at(time.Hour)+`"}`)
	if r.status != 200 || strings.Join(limited.Scopes, " ") != "submit manage" || limited.ExpiresAt == nil {
		t.Fatalf("%d %s", r.status, r.body)
	}
	if child, r := make(limited.Secret, "{}"); r.status != 200 || strings.Join(child.Scopes, " ") != "submit manage" ||
		child.ExpiresAt == nil || !child.ExpiresAt.Equal(limited.ExpiresAt.Time) {
		t.Errorf("a key without a choice: %d %s", r.status, r.body)
	}
	for body, field := range map[string]string{
		`{"scopes":["read"]}`:               "scopes has read, which the key of this request lacks",
		`{"expiresAt":"` + at(48*time.Hour): "expiresAt must not be later than ",
		`{"expiresAt":"` + at(-time.Hour):   "expiresAt is in the past",
		`{"expiresAt":"tomorrow`:            `expiresAt is "tomorrow"; it must be a date`,
		`{"expiresAt":""}`:                  `expiresAt is ""; it must be a date`,
		`{"scopes":["admin"]}`:              `scopes has "admin"; the scopes are read, submit and manage`,
		`{"scopes":[]}`:                     "scopes is empty",
	} {
		if !strings.HasSuffix(body, "}") {
			body += `"}`
		}
		if _, r := make(limited.Secret, body); r.status != 400 || !strings.HasPrefix(r.message(t), field) {
			t.Errorf("%s: %d %s", body, r.status, r.body)
		}
	}
	keys, err := h.client(h.key).Keys(t.Context())
	if err != nil || len(keys.Data) != 3 {
		t.Errorf("%d keys: %v", len(keys.Data), err)
	}
}

// A key that was pasted with white space or invisible characters around it signs in.
func TestPastedKey(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	for _, around := range []string{`%s`, ` %s\n`, `\u00a0%s\u200b`, `\ufeff%s\r\n`} {
		body := `{"key":"` + strings.Replace(around, "%s", h.key, 1) + `"}`
		if r := h.ask("POST", "/v1/session", body); r.status != 200 {
			t.Errorf("%s: the answer is %d %s", around, r.status, r.body)
		}
	}
	if r := h.ask("GET", "/v1/usage", nil, "Authorization", "Bearer   "+h.key+" "); r.status != 200 {
		t.Errorf("white space around the key in the header: the answer is %d %s", r.status, r.body)
	}
}

// An expired key is refused from that moment on, and so is what it opened.
func TestExpiredKey(t *testing.T) {
	t.Parallel()
	h := newFixture(t, func(c *server.Config) { c.StreamHeartbeat, c.StreamPoll = 5*time.Millisecond, time.Hour })
	end := h.clock.Now().Add(time.Hour).UTC().Format(time.RFC3339Nano)
	k := read[api.NewKey](t, h.as(h.key, "POST", "/v1/keys", `{"expiresAt":"`+end+`"}`))
	job := h.create(trp)
	r := h.ask("POST", "/v1/session", `{"key":"`+k.Secret+`"}`)
	cookie, _, _ := strings.Cut(r.header.Get("Set-Cookie"), ";")
	if r.status != 200 || !strings.Contains(r.header.Get("Set-Cookie"), "Max-Age=3") { // 3599 or 3600 s
		t.Errorf("%d %s", r.status, r.header.Get("Set-Cookie"))
	}
	all := readStream(t, h.http.URL+"/v1/events", "Cookie", cookie)
	one := readStream(t, h.http.URL+"/v1/jobs/"+job.JobID+"/events", "X-API-Key", k.Secret)
	h.clock.Advance(time.Hour)
	for _, path := range []string{"/v1/usage", "/v1/jobs/" + job.JobID, "/v1/jobs/" + job.JobID + "/results"} {
		if r := h.as(k.Secret, "GET", path, nil); r.status != 401 {
			t.Errorf("%s: %d", path, r.status)
		}
		if r := h.ask("GET", path, nil, "Cookie", cookie); r.status != 401 {
			t.Errorf("%s in its session: %d", path, r.status)
		}
	}
	ends(t, all, "the key has expired")
	ends(t, one, "the key has expired")
	if h.signIn(k.Secret) != "" {
		t.Error("it opens a session")
	}
}

// A person who has a session for a moment cannot keep access: keys are created and revoked with a key alone.
func TestSessionMakesNoKeys(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	cookie := h.signIn(h.key)
	keys, err := h.client(h.key).Keys(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range []reply{
		h.ask("POST", "/v1/keys", "{}", "Cookie", cookie, "Origin", h.http.URL),
		h.ask("DELETE", "/v1/keys/"+keys.Data[0].ID, nil, "Cookie", cookie, "Origin", h.http.URL),
	} {
		if r.status != 403 || !strings.HasSuffix(r.message(t), "; send the API key itself in Authorization") {
			t.Errorf("%d %s", r.status, r.body)
		}
	}
	if r := h.as(h.key, "POST", "/v1/keys", "{}", "Cookie", cookie, "Origin", h.http.URL); r.status != 200 {
		t.Errorf("with the key: %d %s", r.status, r.body)
	}
}

// The audit log says who changed what, when and from where, and shows it to its user alone.
func TestAudit(t *testing.T) {
	t.Parallel()
	h := newFixtureWith(t, forHooks)
	k := read[api.NewKey](t, h.as(h.key, "POST", "/v1/keys", `{"label":"laptop","scopes":["read"]}`))
	h.signIn(h.key)
	h.as(h.key, "PUT", "/v1/webhooks/custom-http-config", putHook)
	for range 2 {
		h.as(h.key, "DELETE", "/v1/keys/"+k.ID, nil)
	}
	list := read[api.List[api.AuditEntry]](t, h.as(h.key, "GET", "/v1/audit", nil)).Data
	want := []struct{ action, subject, detail string }{
		{"key.revoked", k.Prefix, ""},
		{"webhook.set", "http://127.0.0.1:9", ""},
		{"session.opened", h.key[:len(k.Prefix)], ""},
		{"key.created", k.Prefix, "scopes read, label laptop"},
		{"key.created", h.key[:len(k.Prefix)], "scopes read submit manage, label test"},
	}
	if len(list) != len(want) {
		t.Fatalf("%d entries: %+v", len(list), list)
	}
	for i, w := range want {
		e := list[i]
		byOperator := i == len(want)-1
		if e.Action != w.action || e.Subject != w.subject || e.Detail != w.detail || e.UserID != string(h.user) ||
			e.At.IsZero() || (e.KeyID == nil) != byOperator || !byOperator && e.Address != "127.0.0.1" {
			t.Errorf("entry %d: %+v, want %+v", i, e, w)
		}
	}
	first := read[api.List[api.AuditEntry]](t, h.as(h.key, "GET", "/v1/audit?limit=2", nil))
	next := read[api.List[api.AuditEntry]](t, h.as(h.key, "GET", "/v1/audit?limit=2&cursor="+*first.NextCursor, nil))
	if len(first.Data) != 2 || next.Data[0].ID != list[2].ID {
		t.Errorf("the second page begins with %+v", next.Data[0])
	}
	_, ben := h.newUser("ben")
	if theirs := read[api.List[api.AuditEntry]](t, h.as(ben, "GET", "/v1/audit", nil)); len(theirs.Data) != 1 {
		t.Errorf("ben sees %+v", theirs.Data)
	}
	if body := h.as(h.key, "GET", "/v1/audit", nil).body; strings.Contains(body, k.Secret) ||
		strings.Contains(body, "a-token-0123456789") || strings.Contains(body, "/hook") {
		t.Error("the log holds a secret")
	}
}

// Revoking a key ends the streams that it and its sessions opened, and signing out those of the session, at once.
func TestStreamsEndWithTheirCredential(t *testing.T) {
	t.Parallel()
	h := newFixture(t, func(c *server.Config) { c.StreamHeartbeat, c.StreamPoll = time.Hour, time.Hour })
	job := h.create(strings.Replace(trp, `"params"`, `"isPublic":true,"params"`, 1))
	key := h.newKey("ann")
	cookie, other := h.signIn(key), h.signIn(h.key)
	events, all := h.http.URL+"/v1/jobs/"+job.JobID+"/events", h.http.URL+"/v1/events"
	revoked := []chan string{
		readStream(t, events, "X-API-Key", key),
		readStream(t, all, "X-API-Key", key),
		readStream(t, events, "Cookie", cookie),
		readStream(t, all, "Cookie", cookie),
	}
	signedOut, stays := readStream(t, all, "Cookie", other), readStream(t, all, "X-API-Key", h.key)
	for _, stream := range append(revoked, signedOut, stays) {
		<-stream
	}
	keys, err := h.client(h.key).Keys(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.client(h.key).RevokeKey(t.Context(), keys.Data[0].ID); err != nil {
		t.Fatal(err)
	}
	for _, stream := range revoked {
		ends(t, stream, "the key was revoked")
	}
	if r := h.ask("DELETE", "/v1/session", nil, "Cookie", other, "Origin", h.http.URL); r.status != 200 {
		t.Fatal(r.body)
	}
	ends(t, signedOut, "its session ended")
	h.create(trp)
	for line := range stays {
		if strings.HasPrefix(line, "data:") {
			return
		}
	}
	t.Error("the stream of another key ended")
}

// A second cookie of the name, as a neighbour under the same domain could set one, signs nobody in.
func TestTwoCookies(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	_, eve := h.newUser("eve")
	mine, theirs := h.signIn(h.key), h.signIn(eve)
	for _, cookies := range []string{theirs + "; " + mine, mine + "; " + theirs} {
		if r := h.ask("GET", "/v1/jobs", nil, "Cookie", cookies); r.status != 401 {
			t.Errorf("%d", r.status)
		}
		if r := h.ask("DELETE", "/v1/session", nil, "Cookie", cookies, "Origin", h.http.URL); r.status != 401 {
			t.Errorf("sign out: %d", r.status)
		}
	}
	if !strings.HasPrefix(mine, "pleat_session=") {
		t.Errorf("over http: %s", mine)
	}
	h = newFixture(t, func(c *server.Config) { c.PublicURL = "https://fold.example.org" })
	cookie := h.signIn(h.key, "Host", "fold.example.org", "Origin", "https://fold.example.org")
	if !strings.HasPrefix(cookie, "__Host-pleat_session=") {
		t.Errorf("over https: %s", cookie)
	}
	for name, want := range map[string]int{cookie: 200, strings.TrimPrefix(cookie, "__Host-"): 401} {
		if r := h.ask("GET", "/v1/jobs", nil, "Cookie", name, "Host", "fold.example.org"); r.status != want {
			t.Errorf("%.10s…: %d, want %d", name, r.status, want)
		}
	}
}

// A stored token cannot be read out by sending it to another address.
func TestTokenIsNotSentElsewhere(t *testing.T) {
	t.Parallel()
	h := newFixtureWith(t, forHooks)
	const path = "/v1/webhooks/custom-http-config"
	if r := h.as(h.key, "PUT", path, putHook); r.status != 200 {
		t.Fatal(r.body)
	}
	r := h.as(h.key, "PUT", path, `{"target_url":"http://127.0.0.1:10/hook"}`)
	if r.status != 400 || !strings.HasPrefix(r.message(t), "token_value is required again, because target_url has ") {
		t.Errorf("another port: %d %s", r.status, r.body)
	}
	config := read[api.WebhookConfig](t, h.as(h.key, "GET", path, nil))
	if *config.TargetURL != "http://127.0.0.1:9/hook" {
		t.Errorf("the refused request changed the address to %s", *config.TargetURL)
	}
	if r := h.as(h.key, "PUT", path, `{"target_url":"http://127.0.0.1:9/other"}`); r.status != 200 {
		t.Errorf("another path: %d %s", r.status, r.body)
	}
}
