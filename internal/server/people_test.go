package server_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pleat"
	"pleat/api"
	"pleat/internal/server"
	"pleat/internal/store/people"
	"pleat/internal/store/storetest"
)

// newProject makes a project that ann manages and returns its id.
func (h *fixture) newProject(name string) string {
	h.t.Helper()
	p, err := h.store.People.CreateProject(context.Background(), people.Actor{Database: true}, name, "ann")
	if err != nil {
		h.t.Fatal(err)
	}
	return string(p.ID)
}

// visitPeople tries every route of projects against the document.
func visitPeople(t *testing.T, h *fixture, visit func(route, schema string, r reply, want int)) {
	as := func(method, path string, body any, headers ...string) reply {
		return h.as(h.key, method, path, body, headers...)
	}
	visit("GET /v1/me", "Me", as("GET", "/v1/me", nil), 200)
	visit("GET /v1/me", "Error", h.ask("GET", "/v1/me", nil), 401)
	visit("POST /v1/projects", "Error", as("POST", "/v1/projects", `{"name":"x"}`), 403)
	if err := h.store.People.SetOperator(context.Background(), people.Actor{Database: true}, "ann", true); err != nil {
		t.Fatal(err)
	}
	created := as("POST", "/v1/projects", `{"name":"Documented"}`)
	visit("POST /v1/projects", "ProjectRole", created, 200)
	visit("POST /v1/projects", "Error", as("POST", "/v1/projects", `{"name":"Documented"}`), 409)
	visit("GET /v1/projects", "ListProjectRole", as("GET", "/v1/projects?all=true", nil), 200)
	id := read[api.ProjectRole](t, created).ID
	project := "/v1/projects/" + id
	visit("GET /v1/projects/{id}", "ProjectRole", as("GET", project, nil), 200)
	visit("PATCH /v1/projects/{id}", "ProjectRole", as("PATCH", project, `{"quota":5,"keepResultsDays":0}`), 200)
	visit("GET /v1/projects/{id}/audit", "ListAuditEntry", as("GET", project+"/audit", nil), 200)
	h.newUser("bea")
	visit("PUT /v1/projects/{id}/members/{user}", "Member", as("PUT", project+"/members/bea", `{"role":"viewer"}`), 200)
	visit("PUT /v1/projects/{id}/members/{user}", "Error", as("PUT", project+"/members/bea", `{"role":"x"}`), 400)
	visit("GET /v1/projects/{id}/members", "ListMember", as("GET", project+"/members", nil), 200)
	visit("DELETE /v1/projects/{id}/members/{user}", "RemovedMember", as("DELETE", project+"/members/bea", nil), 200)
	invitation := as("POST", project+"/invitations", `{"role":"member","label":"Grace"}`)
	visit("POST /v1/projects/{id}/invitations", "NewInvitation", invitation, 200)
	visit("GET /v1/projects/{id}/invitations", "ListInvitation", as("GET", project+"/invitations", nil), 200)
	invited := read[api.NewInvitation](t, invitation)
	token := `{"token":"` + invited.Token + `"`
	visit("POST /v1/invitations/read", "InvitedTo", h.ask("POST", "/v1/invitations/read", token+"}"), 200)
	accepted := h.ask("POST", "/v1/invitations/accept", token+`,"name":"grace"}`)
	visit("POST /v1/invitations/accept", "Joined", accepted, 200)
	visit("POST /v1/invitations/accept", "Error", as("POST", "/v1/invitations/accept", token+"}"), 404)
	revoked := read[api.NewInvitation](t, as("POST", project+"/invitations", `{"role":"member"}`)).ID
	visit("DELETE /v1/projects/{id}/invitations/{invitationId}", "RevokedInvitation",
		as("DELETE", project+"/invitations/"+revoked, nil), 200)
	service := as("POST", project+"/service-users", `{"name":"robot","role":"member"}`)
	visit("POST /v1/projects/{id}/service-users", "NewServiceUser", service, 200)
	keys := project + "/service-users/" + read[api.NewServiceUser](t, service).UserID + "/keys"
	further := as("POST", keys, nil)
	visit("POST /v1/projects/{id}/service-users/{user}/keys", "NewKey", further, 200)
	visit("GET /v1/projects/{id}/service-users/{user}/keys", "ListKey", as("GET", keys, nil), 200)
	visit("DELETE /v1/projects/{id}/service-users/{user}/keys/{keyId}", "RevokedKey",
		as("DELETE", keys+"/"+read[api.NewKey](t, further).ID, nil), 200)
	job := h.completed(trp).JobID
	workflow := h.flow(strings.Replace(ask(job, "Why?", ""), "{", `{"create_mode":"draft",`, 1)).ID
	batch := read[api.CreatedBatch](t, as("POST", "/v1/batches", trpBatch)).BatchID
	for _, of := range []string{"jobs/" + job, "batches/" + batch, "workflows/" + workflow} {
		kind, _, _ := strings.Cut(of, "/")
		links := "/v1/" + of + "/links"
		link := as("POST", links, nil)
		visit("POST /v1/"+kind+"/{id}/links", "NewLink", link, 200)
		visit("GET /v1/"+kind+"/{id}/links", "ListLink", as("GET", links, nil), 200)
		visit("GET /s/{token}", "", h.ask("GET", "/s/"+read[api.NewLink](t, link).Token, nil), 303)
		visit("DELETE /v1/"+kind+"/{id}/links/{linkId}", "DeletedLink",
			as("DELETE", links+"/"+read[api.NewLink](t, link).ID, nil), 200)
	}
	to := `{"projectId":"` + id + `"}`
	visit("POST /v1/workflows/{id}/move", "MovedWorkflow", as("POST", "/v1/workflows/"+workflow+"/move", to), 200)
	visit("POST /v1/jobs/{id}/move", "MovedJob", as("POST", "/v1/jobs/"+job+"/move", to), 200)
	visit("DELETE /v1/projects/{id}", "Error", as("DELETE", project, nil), 409)
	empty := read[api.ProjectRole](t, as("POST", "/v1/projects", `{"name":"Empty"}`)).ID
	visit("DELETE /v1/projects/{id}", "DeletedProject", as("DELETE", "/v1/projects/"+empty, nil), 200)
}

// A project has its own lists, quota and webhook; what a user's own project has stays apart.
func TestProjectsAreApart(t *testing.T) {
	t.Parallel()
	h := newFixtureWith(t, forHooks)
	project := h.newProject("Lab")
	in := `{"projectId":"` + project + `",`
	h.as(h.key, "PUT", "/v1/webhooks/custom-http-config?projectId="+project, putHook)
	own := h.completed(trp).JobID
	shared := h.completed(strings.Replace(trp, "{", in, 1)).JobID
	list := func(query string) []string {
		var out []string
		for _, j := range read[api.List[api.JobRow]](t, h.as(h.key, "GET", "/v1/jobs"+query, nil)).Data {
			out = append(out, j.ID)
		}
		return out
	}
	if a, b := list(""), list("?projectId="+project); fmt.Sprint(a, b) != fmt.Sprint([]string{own}, []string{shared}) {
		t.Errorf("own %v, of the project %v", a, b)
	}
	view := read[api.JobView](t, h.as(h.key, "GET", "/v1/jobs/"+shared, nil))
	if view.Job.ProjectID == nil || *view.Job.ProjectID != project || view.Job.CreatedBy.ID != string(h.user) ||
		!view.Job.IsOwner || len(view.Deliveries) != 1 {
		t.Errorf("%+v", view.Job)
	}
	for query, want := range map[string]int{"": 1, "?projectId=" + project: 1} {
		if u := read[api.Usage](t, h.as(h.key, "GET", "/v1/usage"+query, nil)); u.Used != want {
			t.Errorf("%q has used %d, want %d", query, u.Used, want)
		}
	}
	// A run reads what belongs to its project alone.
	item := h.item(h.key, "x", "a.a3m", ">q\nDAYAQWLKDGGPSSGRPPPS\n")
	r := h.as(h.key, "POST", "/v1/jobs?from="+item, strings.Replace(trp, "{", in, 1))
	if r.status != 404 {
		t.Errorf("a job with an item of another project: %d %s", r.status, r.body)
	}
	// The same Idempotency-Key in two projects is no repetition.
	first := h.as(h.key, "POST", "/v1/jobs", trp, "Idempotency-Key", "k")
	other := h.as(h.key, "POST", "/v1/jobs", strings.Replace(trp, "{", in, 1), "Idempotency-Key", "k")
	if first.status != 200 || other.status != 409 {
		t.Errorf("%d, %d %s", first.status, other.status, other.body)
	}
}

// A refusal that names the field of one request changes nothing of the error that others share.
func TestRefusedProjectNamesItsField(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	_, eve := h.newUser("eve")
	if r := h.as(eve, "GET", "/v1/jobs?projectId="+h.newProject("Hidden"), nil); r.status != 404 {
		t.Errorf("%d %s", r.status, r.body)
	}
	if pleat.ErrNoProject.Field != "" {
		t.Errorf("the shared error is one of the field %q", pleat.ErrNoProject.Field)
	}
}

// Keys that are bound to a project reach it alone, and so do the keys that they make.
func TestBoundKeys(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	project, another := h.newProject("Lab"), h.newProject("Another")
	own := h.completed(trp).JobID
	bound := read[api.NewKey](t, h.as(h.key, "POST", "/v1/keys", `{"projectId":"`+project+`"}`)).Secret
	job := read[api.CreatedJob](t, h.as(bound, "POST", "/v1/jobs", trp)).JobID
	h.finish(h.claim())
	me := read[api.Me](t, h.as(bound, "GET", "/v1/me", nil))
	if me.ProjectID != project || len(me.Projects) != 1 || me.IsOperator {
		t.Errorf("%+v", me)
	}
	for path, want := range map[string]int{
		"/v1/jobs/" + job: 200, "/v1/jobs/" + own: 404, "/v1/jobs?projectId=" + another: 404,
		"/v1/jobs?projectId=" + string(h.user): 404, "/v1/projects/" + another: 404, "/v1/projects/" + project: 200,
	} {
		if r := h.as(bound, "GET", path, nil); r.status != want {
			t.Errorf("%s: %d, want %d: %s", path, r.status, want, r.body)
		}
	}
	created := read[api.NewKey](t, h.as(bound, "POST", "/v1/keys", `{}`))
	if created.ProjectID == nil || *created.ProjectID != project {
		t.Errorf("a key of a bound key: %+v", created.Key)
	}
	h.newUser("vera")
	h.as(h.key, "PUT", "/v1/projects/"+project+"/members/vera", `{"role":"viewer"}`)
	_, vera := h.newUser("vera")
	viewer := read[api.NewKey](t, h.as(vera, "POST", "/v1/keys", `{"projectId":"`+project+`"}`))
	if r := h.as(viewer.Secret, "DELETE", "/v1/keys/"+viewer.ID, nil); r.status != 200 {
		t.Errorf("a viewer's bound key cannot end itself: %d %s", r.status, r.body)
	}
	if r := h.as(bound, "POST", "/v1/keys", `{"projectId":"`+another+`"}`); r.status != 400 {
		t.Errorf("a key for another project: %d %s", r.status, r.body)
	}
	if r := h.as(bound, "POST", "/v1/jobs/"+job+"/move", `{"projectId":"`+string(h.user)+`"}`); r.status != 404 {
		t.Errorf("a move out of the project: %d %s", r.status, r.body)
	}
}

// A role that ends takes effect with the next request and ends the streams at once, and a service user whose role ends
// is disabled.
func TestRolesEnd(t *testing.T) {
	t.Parallel()
	h := newFixture(t, func(c *server.Config) { c.StreamHeartbeat, c.StreamPoll = time.Hour, time.Hour })
	project := h.newProject("Lab")
	members := "/v1/projects/" + project + "/members/"
	_, bea := h.newUser("bea")
	h.as(h.key, "PUT", members+"bea", `{"role":"member"}`)
	created := strings.Replace(trp, "{", `{"projectId":"`+project+`",`, 1)
	job := read[api.CreatedJob](t, h.as(bea, "POST", "/v1/jobs", created)).JobID
	service := read[api.NewServiceUser](t, h.as(h.key, "POST", "/v1/projects/"+project+"/service-users",
		`{"name":"robot","role":"member"}`))
	if r := h.as(service.Key.Secret, "GET", "/v1/jobs/"+job, nil); r.status != 200 {
		t.Errorf("the service user: %d %s", r.status, r.body)
	}
	var streams []chan string
	for _, path := range []string{"/v1/events?projectId=" + project, "/v1/jobs/" + job + "/events"} {
		for _, key := range []string{bea, service.Key.Secret} {
			stream := readStream(t, h.http.URL+path, "X-API-Key", key)
			<-stream
			streams = append(streams, stream)
		}
	}
	for _, user := range []string{"bea", service.UserID} {
		if r := h.as(h.key, "DELETE", members+user, nil); r.status != 200 {
			t.Fatalf("%d %s", r.status, r.body)
		}
	}
	for _, stream := range streams {
		ends(t, stream, "the role ended")
	}
	if r := h.as(bea, "GET", "/v1/jobs/"+job, nil); r.status != 404 {
		t.Errorf("bea reads with %d", r.status)
	}
	if r := h.as(bea, "POST", "/v1/jobs", created); r.status != 404 {
		t.Errorf("bea creates with %d", r.status)
	}
	if r := h.as(service.Key.Secret, "GET", "/v1/jobs/"+job, nil); r.status != 401 {
		t.Errorf("the service user reads with %d", r.status)
	}
	if v := read[api.JobView](t, h.as(h.key, "GET", "/v1/jobs/"+job, nil)); v.Job.Status != "INITIALIZED" {
		t.Errorf("the job of who has left is %s", v.Job.Status)
	}
}

// If two managers take each other's role at the same time, one succeeds.
func TestTwoManagersAtOnce(t *testing.T) {
	t.Parallel()
	for name, database := range storetest.Databases() {
		t.Run(name, func(t *testing.T) {
			h := newFixtureIn(t, database, people.Limits{}, func(*server.Config, *server.Deps) {})
			_, bea := h.newUser("bea")
			for round := range 20 {
				project := h.newProject(fmt.Sprint("Lab ", round))
				members := "/v1/projects/" + project + "/members/"
				if r := h.as(h.key, "PUT", members+"bea", `{"role":"manager"}`); r.status != 200 {
					t.Fatalf("%d %s", r.status, r.body)
				}
				var statuses [2]int
				var both sync.WaitGroup
				for i, by := range []struct{ key, other string }{{h.key, "bea"}, {bea, "ann"}} {
					both.Go(func() { statuses[i] = h.as(by.key, "PUT", members+by.other, `{"role":"viewer"}`).status })
				}
				both.Wait()
				if statuses != [2]int{200, 403} && statuses != [2]int{403, 200} {
					t.Errorf("%v", statuses)
				}
			}
		})
	}
}

// An object that is created in a project while it is deleted either keeps the project or is refused.
func TestDeletedWhileInUse(t *testing.T) {
	t.Parallel()
	create := map[string]struct{ path, body string }{
		"job":      {"/v1/jobs", trp},
		"workflow": {"/v1/workflows", `{"workflow_name":"md","name":"s","workflow_input":{"sequence":"GSGSGS"}}`},
		"item":     {"/v1/library/create", `{"type":"folder","name":"f"}`},
	}
	for name, database := range storetest.Databases() {
		t.Run(name, func(t *testing.T) {
			h := newFixtureIn(t, database, people.Limits{}, func(*server.Config, *server.Deps) {})
			h.register(testModel, calvadosModel)
			for what, c := range create {
				for round := range 10 {
					project := h.newProject(fmt.Sprint(what, round))
					body := strings.Replace(c.body, "{", `{"projectId":"`+project+`",`, 1)
					var created, deleted reply
					var both sync.WaitGroup
					both.Go(func() { created = h.as(h.key, "POST", c.path, body) })
					both.Go(func() { deleted = h.as(h.key, "DELETE", "/v1/projects/"+project, nil) })
					both.Wait()
					kept := created.status < 300 && deleted.status == 409
					gone := created.status == 404 && deleted.status == 200
					if kept == gone {
						t.Errorf("%s: %d %s; the project: %d %s", what, created.status, created.body, deleted.status,
							deleted.body)
					}
				}
			}
		})
	}
}

// An invitation can be used once, by one of those who try at the same time, until it ends.
func TestInvitations(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	project := h.newProject("Lab")
	invite := func(body string) api.NewInvitation {
		t.Helper()
		return read[api.NewInvitation](t, h.as(h.key, "POST", "/v1/projects/"+project+"/invitations", body))
	}
	accept := func(token, name string) reply {
		return h.ask("POST", "/v1/invitations/accept", `{"token":"`+token+`","name":"`+name+`"}`)
	}
	token := invite(`{"role":"member"}`).Token
	if r := accept(token, "ann"); r.status != 409 {
		t.Errorf("a name that is taken: %d %s", r.status, r.body)
	}
	if r := accept("pleatlink_invented", "ann"); r.status != 404 {
		t.Errorf("who is not invited learns that a name is taken: %d %s", r.status, r.body)
	}
	var joined [5]int
	var all sync.WaitGroup
	for i := range joined {
		all.Go(func() { joined[i] = accept(token, fmt.Sprint("guest ", i)).status })
	}
	all.Wait()
	count := map[int]int{}
	for _, status := range joined {
		count[status]++
	}
	if count[200] != 1 || count[404] != 4 {
		t.Errorf("%v", joined)
	}
	late := invite(`{"role":"viewer"}`)
	h.clock.Advance(8 * 24 * time.Hour)
	if r := accept(late.Token, "late"); r.status != 404 {
		t.Errorf("after its end: %d %s", r.status, r.body)
	}
	grace := read[api.Joined](t, accept(invite(`{"role":"viewer"}`).Token, "grace"))
	if grace.Key == nil || grace.Role != "viewer" {
		t.Fatalf("%+v", grace)
	}
	// A smaller role does not replace a larger one.
	h.as(h.key, "PUT", "/v1/projects/"+project+"/members/grace", `{"role":"manager"}`)
	if r := h.as(*grace.Key, "GET", "/v1/jobs?projectId="+grace.UserID, nil); r.status != 404 {
		t.Errorf("who was invited works in a project of her own: %d %s", r.status, r.body)
	}
	again := read[api.Joined](t, h.as(h.userKey("grace"), "POST", "/v1/invitations/accept",
		`{"token":"`+invite(`{"role":"member"}`).Token+`"}`))
	if again.Role != "manager" || again.Key != nil {
		t.Errorf("%+v", again)
	}
	for body, want := range map[string]string{
		`{"role":"owner"}`:                            "viewer, member or manager",
		`{"role":"member","expiresAt":"2020-01-01"}`:  "past",
		`{"role":"member","expiresAt":"2999-01-01"}`:  "90 days",
		`{"role":"member","label":"a\u0000b"}`:        "label",
		`{"role":"member","expiresAt":"next Monday"}`: "expiresAt",
	} {
		r := h.as(h.key, "POST", "/v1/projects/"+project+"/invitations", body)
		if r.status != 400 || !strings.Contains(r.body, want) {
			t.Errorf("%s: %d %s", body, r.status, r.body)
		}
	}
	if r := h.as(h.key, "POST", "/v1/projects/"+string(h.user)+"/invitations", `{"role":"viewer"}`); r.status != 409 {
		t.Errorf("an invitation to an own project: %d %s", r.status, r.body)
	}
}

// An invitation gives no more than its author can give, neither when it is made nor when it is accepted.
func TestInvitationsWithinTheirAuthors(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	project := h.newProject("Lab")
	path := "/v1/projects/" + project + "/invitations"
	accept := func(token, name string) reply {
		return h.ask("POST", "/v1/invitations/accept", `{"token":"`+token+`","name":"`+name+`"}`)
	}
	invite := func(key, body string) string {
		t.Helper()
		return read[api.NewInvitation](t, h.as(key, "POST", path, body)).Token
	}
	cookie := []string{"Cookie", h.signIn(h.key), "Origin", h.http.URL}
	for body, want := range map[string]int{
		`{"role":"manager"}`: 403,
		`{"role":"member","expiresAt":"` + h.clock.Now().Add(8*24*time.Hour).Format(time.RFC3339) + `"}`: 400,
		`{"role":"member"}`: 200,
	} {
		if r := h.ask("POST", path, body, cookie...); r.status != want {
			t.Errorf("a session asks %s: %d %s", body, r.status, r.body)
		}
	}
	// A key that ends, with one scope.
	end := h.clock.Now().Add(24 * time.Hour).UTC().Truncate(time.Second)
	limited := read[api.NewKey](t, h.as(h.key, "POST", "/v1/keys",
		`{"scopes":["manage"],"expiresAt":"`+end.Format(time.RFC3339)+`"}`))
	if r := h.as(limited.Secret, "POST", path, `{"role":"member","expiresAt":"`+
		end.Add(time.Hour).Format(time.RFC3339)+`"}`); r.status != 400 || !strings.Contains(r.body, "the key") {
		t.Errorf("an invitation that outlives its key: %d %s", r.status, r.body)
	}
	made := read[api.NewInvitation](t, h.as(limited.Secret, "POST", path, `{"role":"manager"}`))
	listed := read[api.List[api.Invitation]](t, h.as(h.key, "GET", path, nil)).Data
	for _, i := range []api.Invitation{made.Invitation, listed[0]} {
		if i.ExpiresAt != api.At(end) || i.KeyExpiresAt == nil || *i.KeyExpiresAt != api.At(end) ||
			!slices.Equal(i.KeyScopes, []string{"manage"}) {
			t.Errorf("it does not end at %v, or gives another key than that of its author: %+v", end, i)
		}
	}
	if i := listed[1]; i.KeyExpiresAt != nil || len(i.KeyScopes) != 3 {
		t.Errorf("an invitation of a key with all scopes: %+v", i)
	}
	eve := *read[api.Joined](t, accept(made.Token, "eve")).Key
	list := read[api.List[api.Key]](t, h.as(eve, "GET", "/v1/keys", nil)).Data
	if len(list) != 1 || len(list[0].Scopes) != 1 || list[0].Scopes[0] != "manage" || list[0].ExpiresAt == nil ||
		*list[0].ExpiresAt != api.At(end) {
		t.Errorf("eve's key: %+v", list)
	}
	if r := h.as(eve, "GET", "/v1/jobs?projectId="+project, nil); r.status != 403 {
		t.Errorf("eve reads jobs: %d %s", r.status, r.body)
	}
	// Whoever may no longer invite has no open invitations.
	_, bob := h.newUser("bob")
	h.as(h.key, "PUT", "/v1/projects/"+project+"/members/bob", `{"role":"manager"}`)
	byKey := invite(limited.Secret, `{"role":"member"}`)
	byBob, byRemoved := invite(bob, `{"role":"manager"}`), invite(eve, `{"role":"member"}`)
	h.as(h.key, "DELETE", "/v1/keys/"+limited.ID, nil)
	h.as(h.key, "PUT", "/v1/projects/"+project+"/members/bob", `{"role":"member"}`)
	h.as(h.key, "DELETE", "/v1/projects/"+project+"/members/eve", nil)
	for author, token := range map[string]string{
		"a revoked key": byKey, "who is no manager any more": byBob, "a removed member": byRemoved,
	} {
		if r := accept(token, "mallory"); r.status != 404 {
			t.Errorf("an invitation of %s: %d %s", author, r.status, r.body)
		}
		if r := h.ask("POST", "/v1/invitations/read", `{"token":"`+token+`"}`); r.status != 404 {
			t.Errorf("an invitation of %s is read: %d %s", author, r.status, r.body)
		}
	}
	open := read[api.List[api.Invitation]](t, h.as(h.key, "GET", path, nil)).Data
	if len(open) != 1 {
		t.Errorf("open: %+v", open)
	}
}

// A link opens one thing for reading, without a credential, until it ends or is deleted.
func TestLinks(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	job, other := h.completed(trp).JobID, h.completed(trp).JobID
	link := read[api.NewLink](t, h.as(h.key, "POST", "/v1/jobs/"+job+"/links", `{}`))
	results := "/v1/jobs/" + job + "/results"
	with := []string{"X-Share-Token", link.Token}
	seen := read[api.Results](t, h.ask("GET", results, nil, with...))
	if len(seen.Artifacts) == 0 {
		t.Fatal("no files")
	}
	file := seen.Artifacts[0].URL
	if r := h.ask("GET", file, nil); r.status != 200 {
		t.Errorf("a file: %d", r.status)
	}
	view := read[api.JobView](t, h.ask("GET", "/v1/jobs/"+job, nil, with...))
	if view.Job.IsOwner || view.Job.ProjectID != nil || view.Job.CreatedBy != nil {
		t.Errorf("%+v", view.Job)
	}
	for path, want := range map[string]int{"/v1/jobs/" + other + "/results": 401, "/v1/jobs": 401} {
		if r := h.ask("GET", path, nil, with...); r.status != want {
			t.Errorf("%s: %d, want %d", path, r.status, want)
		}
	}
	if r := h.ask("DELETE", "/v1/jobs/"+job, nil, with...); r.status != 401 {
		t.Errorf("a link deletes: %d", r.status)
	}
	if r := h.ask("GET", results, nil); r.status != 401 {
		t.Errorf("without a link: %d", r.status)
	}
	// A browser gets a cookie.
	opened := h.ask("GET", "/s/"+link.Token, nil)
	if opened.status != http.StatusSeeOther || opened.header.Get("Location") != "/ui/jobs/"+job {
		t.Errorf("%d to %s", opened.status, opened.header.Get("Location"))
	}
	cookie, _, _ := strings.Cut(opened.header.Get("Set-Cookie"), ";")
	if r := h.ask("GET", results, nil, "Cookie", cookie); r.status != 200 {
		t.Errorf("with the cookie: %d", r.status)
	}
	if r := h.as(h.key, "DELETE", "/v1/jobs/"+job+"/links/"+link.ID, nil); r.status != 200 {
		t.Fatalf("%d %s", r.status, r.body)
	}
	for path, headers := range map[string][]string{results: with, file: nil, "/s/" + link.Token: nil} {
		if r := h.ask("GET", path, nil, headers...); r.status != 401 && r.status != 404 {
			t.Errorf("after the link was deleted, %s: %d", path, r.status)
		}
	}
	if r := h.ask("GET", "/s/"+link.Token, nil, "Accept", "text/html"); r.status != 404 ||
		!strings.Contains(r.body, "<h1>This link opens nothing</h1>") {
		t.Errorf("a browser gets %d %s", r.status, r.body)
	}
	late := read[api.NewLink](t, h.as(h.key, "POST", "/v1/jobs/"+job+"/links", `{}`))
	h.clock.Advance(31 * 24 * time.Hour)
	if r := h.ask("GET", results, nil, "X-Share-Token", late.Token); r.status != 401 {
		t.Errorf("after the link has expired: %d", r.status)
	}
	if strings.Contains(h.log.String(), link.Token) || strings.Contains(h.log.String(), late.Token) {
		t.Error("a token is in the log")
	}
}

// A job moves with what its runs hold; its webhook settings do not come along.
func TestMove(t *testing.T) {
	t.Parallel()
	for name, database := range storetest.Databases() {
		t.Run(name, func(t *testing.T) {
			h := newFixtureIn(t, database, people.Limits{ResultsBytes: 1 << 40}, forHooks)
			project := h.newProject("Lab")
			hooked := strings.Replace(trp, `"params"`, `"constraints":{"webhooks":{"custom_http":{"enabled":true,`+
				`"target_url":"http://127.0.0.1:9/x","token_value":"secret-0123456789"}}},"params"`, 1)
			job := h.completed(hooked).JobID
			to := `{"projectId":"` + project + `"}`
			running := h.create(trp).JobID
			if r := h.as(h.key, "POST", "/v1/jobs/"+running+"/move", to); r.status != 409 {
				t.Errorf("a job that has not ended: %d %s", r.status, r.body)
			}
			link := read[api.NewLink](t, h.as(h.key, "POST", "/v1/jobs/"+job+"/links", `{}`))
			if r := h.as(h.key, "POST", "/v1/jobs/"+job+"/move", to); r.status != 200 {
				t.Fatalf("%d %s", r.status, r.body)
			}
			view := h.as(h.key, "GET", "/v1/jobs/"+job, nil)
			if v := read[api.JobView](t, view); *v.Job.ProjectID != project || len(v.Deliveries) != 0 ||
				strings.Contains(view.body, "127.0.0.1:9") {
				t.Errorf("%s", view.body)
			}
			if r := h.ask("GET", "/v1/jobs/"+job, nil, "X-Share-Token", link.Token); r.status != 401 {
				t.Errorf("a link of before: %d", r.status)
			}
			own := read[api.List[api.Delivery]](t, h.as(h.key, "GET", "/v1/webhooks/deliveries?source_id="+job, nil))
			if len(own.Data) != 1 {
				t.Errorf("%d deliveries stay", len(own.Data))
			}
			if r := h.as(h.key, "POST", "/v1/jobs/"+job+"/runs", nil); r.status != 200 {
				t.Errorf("run again: %d %s", r.status, r.body)
			}
			for { // the job that was running, and the new run of the other
				c := h.claim()
				h.finish(c)
				if string(c.Fold.Job) == job {
					break
				}
			}
			moved := read[api.List[api.Delivery]](t,
				h.as(h.key, "GET", "/v1/webhooks/deliveries?projectId="+project, nil))
			if len(moved.Data) != 0 {
				t.Errorf("%d deliveries after the move", len(moved.Data))
			}
		})
	}
}

// A project with a setting of its own keeps results so long, whatever the service does.
func TestProjectRetention(t *testing.T) {
	t.Parallel()
	h := newLimitedFixture(t, people.Limits{KeepResults: 30 * 24 * time.Hour})
	short, ever := h.newProject("Short"), h.newProject("Ever")
	if r := h.as(h.key, "PATCH", "/v1/projects/"+short, `{"keepResultsDays":2}`); r.status != 200 {
		t.Fatalf("%d %s", r.status, r.body)
	}
	if r := h.as(h.key, "PATCH", "/v1/projects/"+ever, `{"keepResultsDays":0}`); r.status != 400 {
		t.Errorf("a manager keeps results for ever: %d %s", r.status, r.body)
	}
	keep := time.Duration(0)
	if err := h.store.People.ChangeProject(context.Background(), people.Actor{Database: true}.In(pleat.ProjectID(ever)),
		people.ProjectChange{KeepResults: &keep}); err != nil {
		t.Fatal(err)
	}
	jobs := map[string]string{"own": h.completed(trp).JobID}
	for name, id := range map[string]string{"short": short, "ever": ever} {
		jobs[name] = h.completed(strings.Replace(trp, "{", `{"projectId":"`+id+`",`, 1)).JobID
	}
	for _, after := range []struct {
		days int
		left string
	}{{1, "[ever own short]"}, {3, "[ever own]"}, {31, "[ever]"}} {
		h.clock.Advance(time.Duration(after.days) * 24 * time.Hour)
		if _, err := h.store.Ops.ExpireResults(context.Background()); err != nil {
			t.Fatal(err)
		}
		var left []string
		for _, name := range []string{"ever", "own", "short"} {
			if h.as(h.key, "GET", "/v1/jobs/"+jobs[name], nil).status == 200 {
				left = append(left, name)
			}
		}
		if fmt.Sprint(left) != after.left {
			t.Errorf("after %d more days %v are left, want %s", after.days, left, after.left)
		}
	}
}

// A key that reaches one project alone neither sees nor revokes the user's other keys, and gives the user no role.
func TestBoundKeysStayInTheirProject(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	project, another := h.newProject("Lab"), h.newProject("Another")
	bound := read[api.NewKey](t, h.as(h.key, "POST", "/v1/keys", `{"projectId":"`+project+`"}`))
	free := read[api.NewKey](t, h.as(h.key, "POST", "/v1/keys", `{}`))
	reads := read[api.NewKey](t, h.as(h.key, "POST", "/v1/keys", `{"scopes":["read"]}`))
	list := read[api.List[api.Key]](t, h.as(bound.Secret, "GET", "/v1/keys", nil))
	if len(list.Data) != 1 || list.Data[0].ID != bound.ID {
		t.Errorf("%+v", list.Data)
	}
	for _, e := range read[api.List[api.AuditEntry]](t, h.as(bound.Secret, "GET", "/v1/audit", nil)).Data {
		if e.ProjectID == nil || *e.ProjectID != project {
			t.Errorf("an entry of another project: %+v", e)
		}
	}
	if r := h.as(bound.Secret, "DELETE", "/v1/keys/"+free.ID, nil); r.status != 404 {
		t.Errorf("a bound key revokes another: %d %s", r.status, r.body)
	}
	token := read[api.NewInvitation](t,
		h.as(h.key, "POST", "/v1/projects/"+another+"/invitations", `{"role":"member"}`)).Token
	for _, key := range []string{bound.Secret, reads.Secret} {
		if r := h.as(key, "POST", "/v1/invitations/accept", `{"token":"`+token+`"}`); r.status != 403 {
			t.Errorf("an invitation: %d %s", r.status, r.body)
		}
	}
	if r := h.as(bound.Secret, "DELETE", "/v1/keys/"+bound.ID, nil); r.status != 200 {
		t.Errorf("a bound key revokes itself: %d %s", r.status, r.body)
	}
}

// A key of a service user has at most the scopes and the lifetime of the key that makes it, and the project's log says
// who made it.
func TestServiceKeysAreBounded(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	project := "/v1/projects/" + h.newProject("Lab")
	until := h.clock.Now().Add(time.Hour).UTC().Format(time.RFC3339)
	manages := read[api.NewKey](
		t,
		h.as(h.key, "POST", "/v1/keys", `{"scopes":["manage"],"expiresAt":"`+until+`"}`),
	).Secret
	for _, more := range []string{`"scopes":["read"]`, `"expiresAt":"2999-01-01"`} {
		r := h.as(manages, "POST", project+"/service-users", `{"name":"robot","role":"member",`+more+`}`)
		if r.status != 400 {
			t.Errorf("%s: %d %s", more, r.status, r.body)
		}
	}
	created := read[api.NewServiceUser](
		t,
		h.as(manages, "POST", project+"/service-users", `{"name":"robot","role":"member"}`),
	)
	if fmt.Sprint(created.Key.Scopes) != "[manage]" || created.Key.ExpiresAt == nil {
		t.Errorf("%+v", created.Key.Key)
	}
	log := read[api.List[api.AuditEntry]](t, h.as(h.key, "GET", project+"/audit", nil)).Data
	if len(log) == 0 || log[0].Action != "key.created" || log[0].UserName != "ann" ||
		!strings.Contains(log[0].Detail, "user robot") {
		t.Errorf("%+v", log)
	}
	r := h.as(h.key, "PUT", project+"/members/robot", `{"role":"manager"}`)
	if r.status != 400 || !strings.Contains(r.body, "service user") {
		t.Errorf("a service user becomes a manager: %d %s", r.status, r.body)
	}
	other := "/v1/projects/" + h.newProject("Other")
	for _, method := range []string{"PUT", "DELETE"} {
		robot := h.as(h.key, method, other+"/members/robot", `{"role":"viewer"}`)
		nobody := h.as(h.key, method, other+"/members/nobody", `{"role":"viewer"}`)
		if robot.status != 404 || robot.body != strings.Replace(nobody.body, "nobody", "robot", 1) {
			t.Errorf("%s of another project's service user: %d %s", method, robot.status, robot.body)
		}
	}
	r = h.as(h.key, "POST", project+"/service-users", `{"name":"boss","role":"manager"}`)
	if r.status != 400 {
		t.Errorf("a service user is made a manager: %d %s", r.status, r.body)
	}
	keys := project + "/service-users/" + created.UserID + "/keys"
	status := 0
	for range 60 { // made and revoked, so that few are valid
		r := h.as(h.key, "POST", keys, nil)
		if status = r.status; status != 200 {
			break
		}
		h.as(h.key, "DELETE", keys+"/"+read[api.NewKey](t, r).ID, nil)
	}
	if status != 429 {
		t.Errorf("the last of 60 keys: %d", status)
	}
}

// A repeated request shows nothing of a workflow that was moved to where the caller has no role.
func TestReplayAfterMove(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	project, hidden := h.newProject("Lab"), h.newProject("Hidden")
	_, bea := h.newUser("bea")
	if r := h.as(h.key, "PUT", "/v1/projects/"+project+"/members/bea", `{"role":"member"}`); r.status != 200 {
		t.Fatalf("%d %s", r.status, r.body)
	}
	job := h.completed(strings.Replace(trp, "{", `{"projectId":"`+project+`",`, 1)).JobID
	question := strings.Replace(ask(job, "Why?", ""), "{", `{"create_mode":"draft","projectId":"`+project+`",`, 1)
	again := func() reply { return h.as(bea, "POST", "/v1/workflows", question, "Idempotency-Key", "k") }
	id := read[api.Workflow](t, again()).ID
	if r := again(); r.status != 200 || read[api.Workflow](t, r).ID != id {
		t.Fatalf("%d %s", r.status, r.body)
	}
	if r := h.as(h.key, "POST", "/v1/workflows/"+id+"/move", `{"projectId":"`+hidden+`"}`); r.status != 200 {
		t.Fatalf("%d %s", r.status, r.body)
	}
	if r := again(); r.status != 404 {
		t.Errorf("%d %s", r.status, r.body)
	}
}
