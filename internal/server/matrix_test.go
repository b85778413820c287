package server_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"pleat"
	"pleat/api"
	"pleat/internal/identity"
	"pleat/internal/identity/identitytest"
	"pleat/internal/seal"
	"pleat/internal/server"
	"pleat/internal/server/openapi"
	"pleat/internal/server/route"
	"pleat/internal/store/people"
	"pleat/internal/store/storetest"
)

// The actors of the matrix. The stranger has a key and no role; the operator has a key and no role either; the holder
// has a link to the job, the batch and the workflow, and no key. The guest has no key either, but a token of the
// issuer, and the role of a member by a group.
var actors = []string{"anonymous", "stranger", "operator", "holder", "viewer", "member", "manager", "guest"}

// lab is a service with a project that has somebody in each role, and one thing of each kind.
type lab struct {
	*fixture
	test     *testing.T
	project  string
	projects int
	keys     map[string]string // by actor
	users    map[string]pleat.UserID
	ids      map[string]string // what stands for {id}, by the beginning of the path
	names    map[string]string // what stands for other placeholders
	tokens   map[string]string // of the links, by the beginning of the path
	links    map[string]string // their ids
	invited  string            // the token of an invitation
}

// newLab makes the service and the actors.
func newLab(t *testing.T, database func(testing.TB) string) *lab {
	l := &lab{test: t, keys: map[string]string{}, users: map[string]pleat.UserID{}}
	issuer := identitytest.New(t)
	l.fixture = newFixtureIn(t, database, people.Limits{Jobs: 1 << 20}, func(cfg *server.Config, d *server.Deps) {
		forHooks(cfg, d)
		d.Issuer = identity.New(identity.Config{Issuer: issuer.URL, ClientID: identitytest.Client,
			Audience: identitytest.Audience, Now: d.Clock})
		t.Cleanup(d.Issuer.Close)
	})
	issuer.SetClock(l.clock.Now)
	issuer.SetUser(identitytest.User{Subject: "s", Name: "guest", Groups: []string{"guests"}})
	boltz := bigModel
	boltz.Name = "boltz-2"
	l.register(testModel, bigModel, boltz, analystModel, calvadosModel, compareModel, pleat.AlignmentModel())
	for _, actor := range actors {
		if actor != "anonymous" && actor != "holder" && actor != "guest" {
			l.users[actor], l.keys[actor] = l.newUser(actor)
		}
	}
	ctx := context.Background()
	if err := l.store.People.SetOperator(ctx, people.Actor{Database: true}, "operator", true); err != nil {
		t.Fatal(err)
	}
	l.keys["guest"] = issuer.AccessToken("guest", map[string]any{"exp": l.clock.Now().Add(time.Hour).Unix()})
	me := read[api.Me](t, l.as(l.keys["guest"], "GET", "/v1/me", nil))
	l.users["guest"] = pleat.UserID(me.UserID)
	return l
}

// found makes another project with somebody in each role.
func (l *lab) found() {
	l.t.Helper()
	l.projects++
	ctx, by := context.Background(), people.Actor{Database: true}
	p, err := l.store.People.CreateProject(ctx, by, fmt.Sprint("Lab ", l.projects), "manager")
	for name, role := range roles {
		switch {
		case err != nil || role == pleat.Manager:
		case name == "guest":
			_, err = l.store.People.SetGroup(ctx, by.In(p.ID), "guests", role)
		default:
			_, err = l.store.People.SetMember(ctx, by.In(p.ID), name, role)
		}
	}
	if err != nil {
		l.t.Fatal(err)
	}
	l.project = string(p.ID)
}

// fill makes a new project with one thing of each kind.
func (l *lab) fill() {
	l.t.Helper()
	l.found()
	manager := l.keys["manager"]
	in := func(body string) string { return strings.Replace(body, "{", `{"projectId":"`+l.project+`",`, 1) }
	must := func(r reply) reply {
		l.t.Helper()
		if r.status > 201 {
			l.t.Fatalf("%d %s", r.status, r.body)
		}
		return r
	}
	post := func(path, body string) reply { return must(l.as(manager, "POST", path, body)) }
	must(l.as(manager, "PUT", "/v1/webhooks/custom-http-config?projectId="+l.project, putHook))
	job := read[api.CreatedJob](l.test, post("/v1/jobs", in(trp))).JobID
	for done := false; !done; {
		c := l.claim()
		l.finish(c)
		done = string(c.Fold.Job) == job
	}
	question := strings.Replace(ask(job, "Why?", ""), "{", `{"create_mode":"draft",`, 1)
	workflow := read[api.Workflow](l.test, post("/v1/workflows", in(question))).ID
	design := read[api.Workflow](l.test, post("/v1/workflows/graph/add", in(`{"workflow_name":"design_v1"}`))).ID
	batch := read[api.CreatedBatch](l.test, post("/v1/batches", in(trpBatch))).BatchID
	alignment := read[api.Alignment](l.test, post("/v1/alignments", in(`{"sequences":["ACDEF"]}`))).ID
	simulation := read[api.Workflow](l.test, post("/v1/workflows",
		in(`{"workflow_name":"md","name":"s","workflow_input":{"sequence":"GSGSGS"}}`))).ID
	ctx := context.Background()
	created, err := l.client(manager).CreateItem(ctx, api.CreateItem{Name: "x", Type: "file", ProjectID: l.project})
	if err == nil {
		_, err = l.client(manager).UploadFile(ctx, created.ID, "a.pdb", strings.NewReader(chainPDB(30)))
	}
	if err != nil {
		l.t.Fatal(err)
	}
	item := created.ID
	deliveries := read[api.List[api.Delivery]](l.test,
		l.as(manager, "GET", "/v1/webhooks/deliveries?projectId="+l.project, nil)).Data
	named := read[api.WebhookEndpoint](l.test,
		post("/v1/webhooks/endpoints?projectId="+l.project, addHook("all"))).ID
	l.ids = map[string]string{
		"/v1/jobs": job, "/v1/batches": batch, "/v1/workflows": workflow, "/v1/workflows/design": design,
		"/v1/alignments": alignment, "/v1/workflows/md": simulation, "/v1/library": item, "/v1/projects": l.project,
		"/v1/webhooks/deliveries": deliveries[0].ID, "/v1/webhooks/endpoints": named, "/v1/keys": string(l.newKeyID("manager")), "design": design,
	}
	l.tokens, l.links = map[string]string{}, map[string]string{}
	l.names = map[string]string{"{name}": "a.pdb", "{entry}": "1UBQ", "{class}": "default",
		"{worker}": "w1", "{model}": "mini"}
	for _, of := range []string{"/v1/jobs", "/v1/batches", "/v1/workflows"} {
		created := read[api.NewLink](l.test, post(of+"/"+l.ids[of]+"/links", ""))
		l.tokens[of], l.links[of] = created.Token, created.ID
	}
	project := "/v1/projects/" + l.project
	invited := read[api.NewInvitation](l.test, post(project+"/invitations", `{"role":"viewer"}`))
	l.invited, l.names["{invitationId}"] = invited.Token, invited.ID
	name := "service-" + invited.ID
	service := read[api.NewServiceUser](l.test, post(project+"/service-users", `{"role":"viewer","name":"`+name+`"}`))
	l.names["{user}"], l.names["{keyId}"] = service.UserID, service.Key.ID
}

// newKeyID makes a key of an actor and returns its id.
func (l *lab) newKeyID(actor string) pleat.KeyID {
	l.t.Helper()
	by := people.Actor{Reach: people.Reach{User: l.users[actor]}, Database: true}
	k, err := l.store.People.CreateKey(context.Background(), by, people.NewKey{Hash: seal.HashKey(seal.NewKey())})
	if err != nil {
		l.t.Fatal(err)
	}
	return k.ID
}

// prefix returns the longest beginning of a path that ids has.
func (l *lab) prefix(path string) string {
	best := ""
	for p := range l.ids {
		if strings.HasPrefix(path, p+"/") && len(p) > len(best) {
			best = p
		}
	}
	return best
}

// matrixRoute is what the matrix needs to know of a route.
type matrixRoute struct {
	ID, Method, Path string
	Access           string // open, anyone, reader or user
	Needs            pleat.Role
	InProject        bool // it takes the query projectId
	Stream           bool // it answers with an event stream
}

// matrixRoutes returns all routes.
func matrixRoutes() (out []matrixRoute) {
	for _, rt := range server.AllRoutes() {
		r := matrixRoute{
			ID:     rt.ID,
			Method: rt.Method(),
			Path:   rt.Path(),
			Access: "user",
			Needs:  rt.Who.Needs(),
			Stream: rt.Handler.SendsEvents(),
		}
		switch {
		case rt.Who.Access() == openapi.NoCredential:
			r.Access = "open"
		case rt.Who.Access() == openapi.OptionalCredential && rt.Who.Scope() == "":
			r.Access = "anyone"
		case rt.Who.Access() == openapi.OptionalCredential:
			r.Access = "reader"
		}
		for _, p := range rt.Query {
			r.InProject = r.InProject || p.Name == route.ProjectParam
		}
		out = append(out, r)
	}
	return out
}

// path fills in the placeholders of a route.
func (l *lab) path(rt matrixRoute) string {
	prefix := l.prefix(rt.Path)
	id := l.ids[prefix]
	if strings.HasSuffix(rt.Path, "workflow.yml") || strings.HasSuffix(rt.Path, "/graph") {
		id = l.ids["design"]
	}
	out := strings.NewReplacer("{id}", id, "{linkId}", l.links[prefix]).Replace(rt.Path)
	for name, value := range l.names {
		out = strings.ReplaceAll(out, name, value)
	}
	switch {
	case rt.InProject:
		out += "?projectId=" + l.project
	case rt.ID == "getComparison":
		of := "job:" + l.ids["/v1/jobs"]
		out += "?of=" + of + "," + of
	}
	return out
}

// body returns a body that a route accepts, of the examples of the document.
func (l *lab) body(examples map[string]map[string]json.RawMessage, rt matrixRoute) string {
	for _, example := range examples[rt.ID] {
		text := strings.NewReplacer(exampleJob, l.ids["/v1/jobs"], exampleDraft, l.ids["/v1/workflows"],
			exampleItem, l.ids["/v1/library"], exampleProject, l.project, "pleatlink_example", l.invited,
			"lab-a-pipeline", "s-"+l.names["{keyId}"], `"grace"`, `"g-`+l.names["{keyId}"]+`"`,
			`"Lab A"`, `"L `+l.names["{keyId}"]+`"`, `"Lab B"`, `"B `+l.names["{keyId}"]+`"`, `"ada"`, `"manager"`,
			"boltz-2", "mini").Replace(string(example))
		if creates[rt.ID] {
			text = strings.Replace(text, "{", `{"projectId":"`+l.project+`",`, 1)
		}
		return text
	}
	return ""
}

// creates are the routes whose body names a project.
var creates = map[string]bool{
	"createJob": true, "validateJob": true, "createBatch": true, "validateBatch": true, "createAlignment": true,
	"createWorkflow": true, "addWorkflowGraph": true, "createComparison": true, "createLibraryItem": true,
}

// consumes are the routes without an id in their path after which a thing of the project is not as it was.
var consumes = map[string]bool{"acceptInvitation": true, "executeWorkflow": true}

// kinds says of the routes whose authorisation does not follow from their access, scope and path what it is:
//
//	own      every user may call it, about what is the user's own
//	all      everybody may call it
//	operator operators alone
//	admin    managers of the project, and operators
//	visible  those who have a role in the project, and operators
//	checked  it checks a secret or signature of its own
var kinds = map[string]string{
	"getMe": "own", "listProjects": "own", "listKeys": "own", "createKey": "own", "revokeKey": "own",
	"listAudit": "own", "listClasses": "own", "importJobs": "own", "getOutputSchema": "own",
	"downloadComparedEntry": "own", "acceptInvitation": "own", // there is an issuer
	"getNotifications": "own", "setNotifications": "own", "askNotifications": "own", "confirmNotifications": "own",
	"createProject": "operator", "getAllUsage": "operator", "getOverview": "operator", "listWorkers": "operator",
	"drainWorker": "operator", "pauseModel": "operator", "resumeModel": "operator", "listUsers": "operator",
	"disableUser": "operator", "enableUser": "operator", "listAllAudit": "operator",
	"getProject": "visible", "listMembers": "visible", "getProjectUsage": "visible",
	"listGroups": "visible",
	"setGroup":   "admin", "removeGroup": "admin",
	"changeProject": "admin", "deleteProject": "admin", "setMember": "admin", "removeMember": "admin",
	"listProjectAudit": "admin", "listInvitations": "admin", "createInvitation": "admin", "revokeInvitation": "admin",
	"createServiceUser": "admin", "listServiceKeys": "admin", "createServiceKey": "admin", "revokeServiceKey": "admin",
	"listModels": "all", "readInvitation": "all", "getHealth": "all", "getReadiness": "all",
	"getMetrics": "all", "getOpenAPI": "all", "getDocs": "all", "getLLMs": "all", "getResourceMetadata": "all",
	"getSession": "all", "closeSession": "all", "getLogin": "all", "startLogin": "all", "finishLogin": "all",
	"logout":      "all",
	"openSession": "checked", "ingestEvent": "checked", "getClassDemand": "checked", "downloadArtifact": "checked",
	"downloadLibraryFile": "checked", "openLink": "checked",
}

// roles are those of the actors in the project.
var roles = map[string]pleat.Role{
	"viewer": pleat.Viewer, "member": pleat.Member, "manager": pleat.Manager, "guest": pleat.Member,
}

// expected returns the status with which a route refuses an actor; 0: it does not.
func expected(rt matrixRoute, actor string) int {
	known := actor != "anonymous" && actor != "holder"
	allowed := func(ok bool, refusal int) int {
		switch {
		case ok:
			return 0
		case !known:
			return 401
		}
		return refusal
	}
	role := roles[actor]
	hidden := func(needs pleat.Role) int {
		if role == pleat.NoRole {
			return allowed(false, 404)
		}
		return allowed(role >= needs, 403)
	}
	switch kinds[rt.ID] {
	case "own":
		return allowed(known, 0)
	case "all":
		return 0
	case "operator":
		return allowed(actor == "operator", 403)
	case "admin", "visible":
		if actor == "operator" {
			return 0
		}
		needs := pleat.Manager
		if kinds[rt.ID] == "visible" {
			needs = pleat.Viewer
		}
		return hidden(needs)
	}
	linked := strings.HasPrefix(rt.Path, "/v1/jobs/{id}") || strings.HasPrefix(rt.Path, "/v1/batches/{id}") ||
		strings.HasPrefix(rt.Path, "/v1/workflows/")
	if actor == "holder" && rt.Access == "reader" && linked {
		return 0
	}
	return hidden(rt.Needs)
}

// TestAuthorisationMatrix calls every route as every actor. A route that the matrix does not know fails it.
func TestAuthorisationMatrix(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("openapi/examples.json")
	if err != nil {
		t.Fatal(err)
	}
	var examples map[string]map[string]json.RawMessage
	if err := json.Unmarshal(raw, &examples); err != nil {
		t.Fatal(err)
	}
	for name, database := range storetest.Databases() {
		t.Run(name, func(t *testing.T) {
			l := newLab(t, database)
			calls, used := 0, true
			for _, rt := range matrixRoutes() {
				if kinds[rt.ID] == "checked" {
					continue
				}
				if rt.Access == "open" && kinds[rt.ID] == "" {
					t.Errorf("%s %s is open; say in kinds what it checks", rt.Method, rt.Path)
				}
				for _, actor := range actors {
					if used {
						l.fill()
					}
					r := l.try(rt, actor, l.body(examples, rt))
					calls++
					used = r.status < 300 && rt.Method != "GET" &&
						(strings.Contains(rt.Path, "{id}") || consumes[rt.ID])
					l.check(rt, actor, r)
				}
			}
			if calls < 100*len(actors) {
				t.Errorf("%d calls", calls)
			}
		})
	}
}

// try calls a route as an actor.
func (l *lab) try(rt matrixRoute, actor, body string) reply {
	l.t.Helper()
	var headers []string
	switch key := l.keys[actor]; {
	case key != "":
		headers = []string{"Authorization", "Bearer " + key}
	case actor == "holder":
		of := l.prefix(rt.Path)
		if strings.HasPrefix(of, "/v1/workflows") || strings.HasPrefix(of, "/v1/alignments") {
			of = "/v1/workflows"
		}
		headers = []string{"X-Share-Token", l.tokens[of]}
	}
	if rt.ID == "revokeKey" && l.users[actor] != "" {
		l.ids["/v1/keys"] = string(l.newKeyID(actor))
	}
	path := l.path(rt)
	switch {
	case rt.ID == "uploadLibraryFiles":
		headers = append(headers, "Content-Type", "multipart/form-data; boundary=x")
		body = "--x\r\nContent-Disposition: form-data; name=\"files\"; filename=\"b.pdb\"\r\n\r\n" + chainPDB(30) +
			"\r\n--x--\r\n"
	case rt.ID == "saveGraph" || strings.HasSuffix(rt.Path, "workflow.yml"):
		headers = append(headers, "Content-Type", "text/yaml")
	}
	if rt.Stream {
		return l.open(path, headers)
	}
	return l.ask(rt.Method, path, body, headers...)
}

// open returns the status of an event stream, which it leaves.
func (l *lab) open(path string, headers []string) reply {
	l.t.Helper()
	req, err := http.NewRequestWithContext(l.t.Context(), "GET", l.http.URL+path, nil)
	if err != nil {
		l.t.Fatal(err)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		l.t.Fatal(err)
	}
	defer res.Body.Close()
	return reply{status: res.StatusCode}
}

// check compares an answer with the matrix. A call that is not refused may fail for another reason, such as a state.
func (l *lab) check(rt matrixRoute, actor string, r reply) {
	l.t.Helper()
	want := expected(rt, actor)
	refused := slices.Contains([]int{401, 403, 404}, r.status)
	missing := r.status == 404 && absent.MatchString(r.body)
	switch {
	case r.status >= 500:
		l.t.Errorf("%s %s as %s: %d %s", rt.Method, rt.Path, actor, r.status, r.body)
	case want == 0 && refused && !missing, want != 0 && r.status != want:
		l.t.Errorf("%s %s as %s: %d, want %s: %s", rt.Method, rt.Path, actor, r.status, wanted(want), r.body)
	}
}

// absent matches answers about something that the project of the matrix does not have.
var absent = regexp.MustCompile(
	`has no graph|has no role in the project|no file with this name|No webhook is configured`)

func wanted(status int) string {
	if status == 0 {
		return "no refusal"
	}
	return fmt.Sprint(status)
}
