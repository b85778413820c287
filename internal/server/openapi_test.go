package server_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"pleat"
	"pleat/api"
	"pleat/internal/server"
	"pleat/internal/server/route"
	"pleat/internal/store/people"
)

// The document is OpenAPI 3.1, its schemas are sound, and real requests and answers hold to them.
func TestDocument(t *testing.T) {
	t.Parallel()
	h := newFixtureWith(t, func(c *server.Config, d *server.Deps) {
		forHooks(c, d)
		withMails(c)
	})
	h.register(testModel, bigModel, analystModel, calvadosModel, compareModel,
		pleat.AlignmentModel()) // before the server reads what there is
	raw := h.ask("GET", "/openapi.json", nil)
	if raw.status != 200 {
		t.Fatal(raw.status)
	}
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	parsed, err := jsonschema.UnmarshalJSON(strings.NewReader(raw.body))
	if err != nil {
		t.Fatal(err)
	}
	if err := compiler.AddResource("http://doc/openapi.json", parsed); err != nil {
		t.Fatal(err)
	}
	var doc struct {
		OpenAPI    string
		Paths      map[string]map[string]struct{ Responses map[string]any }
		Components struct{ Schemas map[string]any }
	}
	if err := json.Unmarshal([]byte(raw.body), &doc); err != nil {
		t.Fatal(err)
	}
	if doc.OpenAPI != "3.1.0" {
		t.Error(doc.OpenAPI)
	}
	schemas := map[string]*jsonschema.Schema{}
	for name := range doc.Components.Schemas {
		s, err := compiler.Compile("http://doc/openapi.json#/components/schemas/" + name)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		schemas[name] = s
	}
	for _, ref := range regexp.MustCompile(`"#/components/schemas/([^"]+)"`).FindAllStringSubmatch(raw.body, -1) {
		if schemas[ref[1]] == nil {
			t.Errorf("%s leads nowhere", ref[0])
		}
	}
	check := func(name, body string, good bool) {
		t.Helper()
		v, err := jsonschema.UnmarshalJSON(strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		if err := schemas[name].Validate(v); (err == nil) != good {
			t.Errorf("%s: valid %v, want %v: %v\n%s", name, err == nil, good, err, body)
		}
	}
	complexJob := `{"name":"x","isPublic":null,"chatId":null,"sequences":[{"proteinChain":{"sequence":"ACDEF",` +
		`"count":2,"modifications":null}},{"ligandSequence":{"sequence":"CCO"}}],"params":{"modelName":"big",` +
		`"seed":null},
		"constraints":{"contact":[{"chainA":"A","res_idxA":1,"chainB":"B","res_idxB":2}],` +
		`"webhooks":{"qna":{"enabled":true,"x":[1]}}}}`
	check("CreateJob", trp, true)
	check("CreateJob", complexJob, true)
	check("CreateJob", strings.Replace(trp, `"label"`, `"lable"`, 1), false)
	check("CreateJob", strings.Replace(trp, `"mini"`, `5`, 1), false)
	check("CreateJob",
		`{"name":"x","params":{"modelName":"mini"},"sequences":[{"proteinChain":{"sequence":"A"},`+
			`"ligandSequence":{"sequence":"C"}}]}`, false)
	check("CreateJob", `{"name":"x","params":{"modelName":"mini"},"sequences":[{}]}`, false)

	j := h.completed(trp)
	k := h.create(complexJob)
	visited := map[string]bool{}
	visit := func(route, schema string, r reply, want int) {
		t.Helper()
		visited[route] = true
		if r.status != want {
			t.Errorf("%s: %d %s", route, r.status, r.body)
			return
		}
		method, path, _ := strings.Cut(route, " ")
		op, ok := doc.Paths[path][strings.ToLower(method)]
		if !ok {
			t.Errorf("%s is not in the document", route)
		}
		if _, ok := op.Responses[strconvI(want)]; !ok {
			t.Errorf("%s: status %d is not in the document", route, want)
		}
		if schema != "" {
			check(schema, r.body, true)
		}
	}
	as := func(method, path string, body any, headers ...string) reply {
		return h.as(h.key, method, path, body, headers...)
	}
	a := h.results(h.key, j.JobID).Artifacts[0]
	job := "/v1/jobs/" + j.JobID
	visit("POST /v1/jobs", "CreatedJob", as("POST", "/v1/jobs", trp), 200)
	visit("POST /v1/jobs", "Error", as("POST", "/v1/jobs", "{}"), 400)
	visit("POST /v1/jobs", "Error", h.ask("POST", "/v1/jobs", "{}"), 401)
	visit("POST /v1/jobs/validate", "Validation", as("POST", "/v1/jobs/validate", trp), 200)
	imported := as("POST", "/v1/jobs/import", `{"content":">x\nDAYAQWLKDG"}`)
	visit("POST /v1/jobs/import", "ImportedJobs", imported, 200)
	visit("POST /v1/jobs/import", "Error", as("POST", "/v1/jobs/import", `{"content":"?"}`), 400)
	visit("GET /v1/jobs/{id}/export", "", as("GET", job+"/export?format=boltz", nil), 200)
	visit("GET /v1/jobs/{id}/export", "ExportedJob", as("GET", job+"/export?format=fasta&as=json", nil), 200)
	visit("GET /v1/jobs/{id}/export", "Error", as("GET", job+"/export", nil), 400)
	visit("GET /v1/jobs", "ListJobRow", as("GET", "/v1/jobs?limit=1", nil), 200)
	visit("GET /v1/jobs/{id}", "JobView", as("GET", job, nil), 200)
	visit("GET /v1/jobs/{id}", "JobView", as("GET", "/v1/jobs/"+k.JobID, nil), 200)
	visit("GET /v1/jobs/{id}", "Error", h.ask("GET", job, nil), 401)
	visit("GET /v1/jobs/{id}/results", "Results", as("GET", job+"/results", nil), 200)
	visit("GET /v1/jobs/{id}/results", "Results", as("GET", "/v1/jobs/"+k.JobID+"/results", nil), 200)
	visit("GET /v1/jobs/{id}/events", "", as("GET", job+"/events", nil), 200)
	visit("GET /v1/jobs/{id}/archive.zip", "", as("GET", job+"/archive.zip", nil), 200)
	visit("GET /v1/jobs/{id}/archive.zip", "Error", as("GET", "/v1/jobs/"+k.JobID+"/archive.zip", nil), 409)
	contacts := h.create(complexJob)
	for c := h.claim(); ; c = h.claim() {
		at := h.put(c.Fold.Run, pleat.Artifact{Kind: pleat.ArtifactPDB, Name: "a.pdb", ContentType: "chemical/x-pdb"},
			chainPDB(600))
		h.finish(c, at)
		if string(c.Fold.Job) == contacts.JobID {
			break
		}
	}
	measured := "/v1/jobs/" + contacts.JobID + "/contacts"
	visit("GET /v1/jobs/{id}/contacts", "Contacts", as("GET", measured+"?sample=a.pdb", nil), 200)
	visit("GET /v1/jobs/{id}/contacts", "Error", as("GET", measured, nil), 400)
	visit("GET /v1/jobs/{id}/contacts.csv", "", as("GET", measured+".csv?sample=a.pdb", nil), 200)
	for _, ending := range []string{"cxc", "pml", "mvsj"} {
		at := "/v1/jobs/" + contacts.JobID + "/view." + ending
		visit("GET /v1/jobs/{id}/view."+ending, "", as("GET", at+"?sample=a.pdb", nil), 200)
		visit("GET /v1/jobs/{id}/view."+ending, "Error", h.ask("GET", at, nil), 401)
	}
	visit("GET /v1/artifacts/{id}/{name}", "", h.ask("GET", a.URL, nil), 200)
	visit("PATCH /v1/jobs/{id}/public", "Visibility", as("PATCH", job+"/public", `{"isPublic":true}`), 200)
	visit("POST /v1/jobs/{id}/runs", "CreatedJob", as("POST", job+"/runs", `{"params":null}`), 200)
	visit("POST /v1/jobs/{id}/cancel", "CancelledJob", as("POST", job+"/cancel", nil), 200)
	visit("DELETE /v1/jobs/{id}", "DeletedJob", as("DELETE", job, nil), 200)
	visit("GET /v1/models", "ListModel", h.ask("GET", "/v1/models", nil), 200)
	of := "library:" + h.item(h.key, "s", "a.pdb", chainPDB(30))
	visit("GET /v1/compare", "Comparison", as("GET", "/v1/compare?of="+of+","+of+"&reference=1", nil), 200)
	visit("GET /v1/compare", "Error", as("GET", "/v1/compare", nil), 400)
	compared := `{"of":["` + of + `","` + of + `"],"reference":2}`
	visit("GET /v1/compare/pdb/{entry}", "Error", as("GET", "/v1/compare/pdb/1UBQ", nil), 400)
	check("CreateComparison", compared, true)
	visit("POST /v1/compare", "Workflow", as("POST", "/v1/compare", compared), 200)
	visit("POST /v1/compare", "Error", as("POST", "/v1/compare", "{}"), 400)
	visit("GET /v1/classes", "ListClass", as("GET", "/v1/classes", nil), 200)
	token := h.fleetToken()
	visit("GET /fleet/v1/classes/{class}", "ClassDemand", h.as(token, "GET", "/fleet/v1/classes/default", nil), 200)
	visit("GET /fleet/v1/classes/{class}", "Error", h.as(token, "GET", "/fleet/v1/classes/x", nil), 404)
	visit("GET /fleet/v1/classes/{class}", "Error", h.as(h.key, "GET", "/fleet/v1/classes/default", nil), 401)
	visit("GET /v1/usage", "Usage", as("GET", "/v1/usage", nil), 200)
	spent := "/v1/projects/" + string(h.user.OwnProject()) + "/usage"
	visit("GET /v1/projects/{id}/usage", "ProjectUsage", as("GET", spent, nil), 200)
	_, operator := h.newUser("operator")
	if err := h.store.People.SetOperator(t.Context(), people.Actor{Database: true}, "operator", true); err != nil {
		t.Fatal(err)
	}
	visit("GET /v1/operator/usage", "SpentTable", h.as(operator, "GET", "/v1/operator/usage", nil), 200)
	h.visitOperator(visit, operator)
	created := as("POST", "/v1/keys", nil)
	visit("POST /v1/keys", "NewKey", created, 200)
	visit("GET /v1/keys", "ListKey", as("GET", "/v1/keys", nil), 200)
	id := regexp.MustCompile(`"id":"([^"]+)"`).FindStringSubmatch(created.body)[1]
	visit("DELETE /v1/keys/{id}", "RevokedKey", as("DELETE", "/v1/keys/"+id, nil), 200)
	visit("GET /v1/audit", "ListAuditEntry", as("GET", "/v1/audit", nil), 200)
	visit("POST /v1/session", "Session", h.ask("POST", "/v1/session", `{"key":"`+h.key+`"}`), 200)
	visit("GET /v1/session", "SessionUser", h.ask("GET", "/v1/session", nil), 200)
	visit("DELETE /v1/session", "ClosedSession", h.ask("DELETE", "/v1/session", nil), 200)
	visit("GET /v1/login", "Login", h.ask("GET", "/v1/login", nil), 200)
	visit("GET /v1/login/start", "Error", h.ask("GET", "/v1/login/start", nil), 404)
	visit("GET /v1/login/callback", "Error", h.ask("GET", "/v1/login/callback?code=x&scope=y", nil), 404)
	visit("POST /v1/logout", "Logout", h.ask("POST", "/v1/logout", nil), 200)
	project, err := h.store.People.CreateProject(t.Context(), people.Actor{Database: true}, "cage", "ann")
	if err != nil {
		t.Fatal(err)
	}
	groups := "/v1/projects/" + string(project.ID) + "/groups"
	visit("PUT /v1/projects/{id}/groups/{name}", "GroupRole", as("PUT", groups+"/a%2Fb", `{"role":"viewer"}`), 200)
	visit("GET /v1/projects/{id}/groups", "ListGroupRole", as("GET", groups, nil), 200)
	visit("DELETE /v1/projects/{id}/groups/{name}", "RemovedGroup", as("DELETE", groups+"/a%2Fb", nil), 200)
	visit("DELETE /v1/projects/{id}/groups/{name}", "Error", as("DELETE", groups+"/x", nil), 404)
	visitWorkflows(t, h, visit)
	visitWebhooks(h, visit)
	visitBatches(t, h, visit)
	visitPeople(t, h, visit)
	visitNotifications(t, h, visit)
	created = as("POST", "/v1/alignments", `{"sequences":["ACDEF",{"proteinChain":{"sequence":"GHIKL"}}]}`)
	visit("POST /v1/alignments", "Alignment", created, 200)
	visit("POST /v1/alignments", "Error", as("POST", "/v1/alignments", `{"sequences":[{}]}`), 400)
	aligned := "/v1/alignments/" + read[api.Alignment](t, created).ID
	visit("GET /v1/alignments/{id}", "Alignment", as("GET", aligned, nil), 200)
	visit("GET /healthz", "Status", h.ask("GET", "/healthz", nil), 200)
	visit("GET /readyz", "Status", h.ask("GET", "/readyz", nil), 200)
	visit("GET /metrics", "", h.ask("GET", "/metrics", nil), 200)
	visit("GET /openapi.json", "", raw, 200)
	visit("GET /docs", "", h.ask("GET", "/docs", nil), 200)
	visit("GET /llms.txt", "", h.ask("GET", "/llms.txt", nil), 200)
	visit("GET /.well-known/oauth-protected-resource", "ResourceMetadata",
		h.ask("GET", "/.well-known/oauth-protected-resource", nil), 200)
	visited["GET /v1/events"] = true // never ends; the stream's tests visit it
	for path, ops := range doc.Paths {
		for method := range ops {
			if !visited[strings.ToUpper(method)+" "+path] {
				t.Errorf("%s %s is documented and not tried", strings.ToUpper(method), path)
			}
		}
	}
}

// TestDocumentShape checks what code generators need: unique operation ids, references that resolve, enumerations and
// objects by name, no defaults in requests, a schema for every response, and examples that are valid.
func TestDocumentShape(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	raw := h.ask("GET", "/openapi.json", nil).body
	var doc struct {
		Paths map[string]map[string]struct {
			OperationID string
			Summary     string
			Responses   map[string]struct {
				Content map[string]struct{ Schema map[string]any }
			}
		}
		Components struct {
			Schemas map[string]struct {
				Enum       []any
				Properties map[string]map[string]any
			}
		}
	}
	if err := json.Unmarshal([]byte(raw), &doc); err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	parsed, err := jsonschema.UnmarshalJSON(strings.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	if err := compiler.AddResource("http://doc/openapi.json", parsed); err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile(`^[a-z]+([A-Z][a-z]*|API)*$`)
	seen := map[string]string{}
	for path, ops := range doc.Paths {
		for method, op := range ops {
			where := method + " " + path
			if other := seen[op.OperationID]; other != "" || !named.MatchString(op.OperationID) {
				t.Errorf("%s: the operation id is %q; also of %q", where, op.OperationID, other)
			}
			seen[op.OperationID] = where
			if op.Summary == "" || strings.HasSuffix(op.Summary, ".") {
				t.Errorf("%s: the summary is %q", where, op.Summary)
			}
			for status, r := range op.Responses {
				for media, c := range r.Content {
					if len(c.Schema) == 0 {
						t.Errorf("%s: %s %s has no schema", where, status, media)
					}
				}
			}
		}
	}
	enums := map[string]string{}
	for name, s := range doc.Components.Schemas {
		if len(s.Enum) > 0 {
			values := fmt.Sprint(s.Enum)
			if other := enums[values]; other != "" {
				t.Errorf("%s and %s are one enumeration", name, other)
			}
			enums[values] = name
		}
		for field, p := range s.Properties {
			if p["enum"] != nil {
				t.Errorf("%s.%s is an enumeration without a name", name, field)
			}
			if p["default"] != nil {
				t.Errorf("%s.%s has a default: generators would make the field required", name, field)
			}
			examples, _ := p["examples"].([]any)
			if len(examples) == 0 {
				continue
			}
			compiled, err := compiler.Compile("http://doc/openapi.json#/components/schemas/" + name + "/properties/" +
				field)
			if err != nil {
				t.Errorf("%s.%s: %v", name, field, err)
				continue
			}
			for _, e := range examples {
				if err := compiled.Validate(e); err != nil {
					t.Errorf("%s.%s: the example %v: %v", name, field, e, err)
				}
			}
		}
	}
}

func strconvI(n int) string { b, _ := json.Marshal(n); return string(b) }

// The page can be read without scripts and asks nobody else for anything.
func TestDocs(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	r := h.ask("GET", "/docs", nil)
	if !strings.HasPrefix(r.header.Get("Content-Type"), "text/html") {
		t.Error(r.header)
	}
	for _, want := range []string{"/v1/jobs/{id}/results", `id="CreateJob"`, "Idempotency-Key", "modelName",
		"Needs no credential."} {
		if !strings.Contains(r.body, want) {
			t.Errorf("%q is not on the page", want)
		}
	}
	if m := regexp.MustCompile(`<script|<link|<img|@import|(?:src|href)="(?:https?:)?//`).FindString(r.body); m != "" {
		t.Errorf("the page holds %q", m)
	}
	for _, m := range regexp.MustCompile(`href="#([^"]+)"`).FindAllStringSubmatch(r.body, -1) {
		if !strings.Contains(r.body, `id="`+m[1]+`"`) {
			t.Errorf("the link to #%s leads nowhere", m[1])
		}
	}
	if r := h.ask("GET", "/", nil); r.status != 200 || !strings.Contains(r.body, "/docs") {
		t.Errorf("%d %s", r.status, r.body)
	}
}

func TestMetrics(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		open bool
		want int
	}{"on loopback": {true, 200}, "elsewhere": {false, 401}} {
		h := newFixture(t, func(cfg *server.Config) { cfg.OpenMetrics = c.open })
		if r := h.ask("GET", "/metrics", nil); r.status != c.want {
			t.Errorf("%s without a token: %d, want %d", name, r.status, c.want)
		}
	}
	h := newFixture(t, func(c *server.Config) { c.MetricsToken, c.OpenMetrics = "secret", true })
	if r := h.ask("GET", "/metrics", nil); r.status != 401 {
		t.Errorf("%d", r.status)
	}
	h.create(trp)
	for _, path := range []string{"/v1/a", "/v1/b?x=1", "/c"} {
		h.as(h.key, "GET", path, nil)
	}
	r := h.as("secret", "GET", "/metrics", nil)
	for _, want := range []string{
		`pleat_tasks{queue="fold/mini",state="queued"} 1`, `pleat_runs_created_total{model="mini"} 1`,
		`pleat_http_requests_total{route="POST /v1/jobs",status="200"} 1`,
		`pleat_http_requests_total{route="none",status="404"} 3`, `pleat_database_up 1`, "go_goroutines",
	} {
		if !strings.Contains(r.body, want) {
			t.Errorf("%s is not in\n%s", want, r.body)
		}
	}
}

// Serve stops when told, lets requests finish and ends streams.
func TestServe(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- h.srv.Serve(ctx, l) }()
	stream := readStream(t, "http://"+l.Addr().String()+"/v1/events", "X-API-Key", h.key)
	<-stream
	cancel()
	ends(t, stream, "the server stops")
	select {
	case err := <-done:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(12 * time.Second):
		t.Fatal("Serve goes on")
	}
	if _, err := http.Get("http://" + l.Addr().String() + "/healthz"); err == nil {
		t.Error("it still answers")
	}
	list, err := h.store.People.Keys(context.Background(), people.Reach{User: h.user})
	if err != nil || list[0].LastUsedAt.IsZero() {
		t.Error("the key's last use was not noted at the end")
	}
}

func TestNewRefusesBadAddress(t *testing.T) {
	t.Parallel()
	for _, url := range []string{"", "fold.example.org", "ftp://x", "http://", "https://u:p@x", "https://x?y=1"} {
		if _, err := server.New(server.Config{Config: route.Config{PublicURL: url}}, server.Deps{}); err == nil {
			t.Errorf("%q was taken", url)
		}
	}
}

// visitBatches tries the routes of batches.
func visitBatches(t *testing.T, h *fixture, visit func(route, schema string, r reply, want int)) {
	t.Helper()
	as := func(method, path string, body any) reply { return h.as(h.key, method, path, body) }
	created := as("POST", "/v1/batches", trpBatch)
	visit("POST /v1/batches", "CreatedBatch", created, 200)
	visit("POST /v1/batches/validate", "BatchValidation", as("POST", "/v1/batches/validate", trpBatch), 200)
	batch := "/v1/batches/" + read[api.CreatedBatch](t, created).BatchID
	visit("POST /v1/batches/{id}/cancel", "Batch", as("POST", batch+"/cancel", nil), 200)
	h.advanceBatches()
	visit("GET /v1/batches", "ListBatch", as("GET", "/v1/batches", nil), 200)
	visit("GET /v1/batches/{id}", "Batch", as("GET", batch, nil), 200)
	visit("GET /v1/batches/{id}/rows", "BatchRows", as("GET", batch+"/rows", nil), 200)
	for _, file := range []string{"table.csv", "table.jsonl", "table.parquet", "archive.zip", "events"} {
		visit("GET /v1/batches/{id}/"+file, "", as("GET", batch+"/"+file, nil), 200)
	}
	visit("PATCH /v1/batches/{id}/public", "BatchVisibility", as("PATCH", batch+"/public", `{"isPublic":true}`), 200)
	visit("POST /v1/batches/{id}/retry-failed", "RetriedBatch", as("POST", batch+"/retry-failed", nil), 200)
	again := as("POST", batch+"/rerun", `{"params":{"modelName":"mini","seed":"3"}}`)
	visit("POST /v1/batches/{id}/rerun", "CreatedBatch", again, 200)
	visit("DELETE /v1/batches/{id}", "DeletedBatch", as("DELETE", batch, nil), 200)
}
