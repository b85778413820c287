package server_test

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"pleat"
	"pleat/api"
	"pleat/internal/server"
	"pleat/internal/store/people"
	"pleat/internal/webhook"
)

// The ids that stand for what the examples of the document refer to.
const (
	exampleJob     = "01890a5d-ac96-774b-bcce-b302099a8001"
	exampleDraft   = "01890a5d-ac96-774b-bcce-b302099a8002"
	exampleItem    = "01890a5d-ac96-774b-bcce-b302099a8003"
	exampleProject = "01890a5d-ac96-774b-bcce-b302099a8005"
)

// exampleOperation is an operation of the document, as far as sending its examples needs it.
type exampleOperation struct {
	OperationID string
	RequestBody struct {
		Content map[string]struct {
			Examples map[string]struct{ Value json.RawMessage }
		}
	}
}

// Every operation with a JSON body has examples, and the service accepts each of them.
func TestExamplesAreAccepted(t *testing.T) {
	t.Parallel()
	h := newFixtureWith(t, func(c *server.Config, d *server.Deps) {
		forHooks(c, d)
		c.Mails = true
	})
	boltz := bigModel
	boltz.Name = "boltz-2"
	h.register(testModel, boltz, analystModel, calvadosModel, compareModel, pleat.AlignmentModel())
	h.as(h.key, "PUT", "/v1/webhooks/custom-http-config", putHook)
	job, again, moved := h.completed(trp).JobID, h.completed(trp).JobID, h.completed(trp).JobID
	draftOf := func(job, question string) string {
		return h.flow(strings.Replace(ask(job, question, ""), "{", `{"create_mode":"draft",`, 1)).ID
	}
	draft, other := draftOf(job, "Why?"), draftOf(job, "How?")
	simulation := h.flow(`{"workflow_name":"md","name":"sim","workflow_input":{"sequence":"GSGSGS"}}`).ID
	design := read[api.Workflow](t, h.as(h.key, "POST", "/v1/workflows/graph/add", `{"workflow_name":"design_v1"}`)).ID
	batch := read[api.CreatedBatch](t, h.as(h.key, "POST", "/v1/batches", trpBatch)).BatchID
	h.advanceBatches()
	project := h.newProject("Lab")
	if err := h.store.People.SetOperator(t.Context(), people.Actor{Database: true}, "ann", true); err != nil {
		t.Fatal(err)
	}
	h.newUser("ada")
	ofProject := "/v1/projects/" + project
	invite := func() string {
		return read[api.NewInvitation](t, h.as(h.key, "POST", ofProject+"/invitations", `{"role":"viewer"}`)).Token
	}
	invited := invite()
	service := read[api.NewServiceUser](t, h.as(h.key, "POST", ofProject+"/service-users",
		`{"name":"robot","role":"viewer"}`)).UserID
	named := read[api.WebhookEndpoint](t, h.as(h.key, "POST", "/v1/webhooks/endpoints", addHook("all"))).ID
	users := map[string]string{"setMember": "ada", "createServiceKey": service}
	ids := map[string]string{
		"setGroup":              project,
		"setJobVisibility":      job,
		"rerunJob":              again,
		"setBatchPublic":        batch,
		"rerunBatch":            batch,
		"setWorkflowVisibility": simulation,
		"setDraftQuestion":      other,
		"foldDesigns":           design,
		"extractFrame":          simulation,
		"changeProject":         project,
		"setMember":             project,
		"createInvitation":      project,
		"createServiceUser":     project,
		"createServiceKey":      project,
		"moveJob":               moved,
		"moveWorkflow":          draftOf(moved, "Where?"),
		"createJobLink":         job,
		"createBatchLink":       batch,
		"createWorkflowLink":    simulation,
		"changeWebhookEndpoint": named,
		"rotateEndpointSecret":  named,
	}
	replaced := strings.NewReplacer(exampleJob, job, exampleDraft, draft,
		exampleItem, h.item(h.key, "s", "a.pdb", chainPDB(30)), "plt_example", h.key,
		exampleProject, project, "pleatlink_example", invited)
	statuses := map[string]int{
		"createLibraryItem":    201,
		"confirmNotifications": 404, // the token is none
		"foldDesigns":          409, // the design has not run
		"extractFrame":         409, // the simulation has not run
	}

	var doc struct {
		Paths map[string]map[string]exampleOperation
	}
	if err := json.Unmarshal([]byte(h.ask("GET", "/openapi.json", nil).body), &doc); err != nil {
		t.Fatal(err)
	}
	for path, operations := range doc.Paths {
		for method, op := range operations {
			content, ok := op.RequestBody.Content["application/json"]
			if ok && len(content.Examples) == 0 {
				t.Errorf("%s has no example", op.OperationID)
			}
			for title, example := range content.Examples {
				headers := []string{"X-Webhook-Ingest-Secret", ingestSecret}
				if op.OperationID != "openSession" && op.OperationID != "acceptInvitation" {
					headers = append(headers, "Authorization", "Bearer "+h.key)
				}
				to := strings.NewReplacer("{id}", ids[op.OperationID], "{user}", users[op.OperationID],
					"{name}", "lab-a", "{model}", "boltz-2").Replace(path)
				body := replaced.Replace(string(example.Value))
				if op.OperationID == "acceptInvitation" { // the other is read
					body = strings.Replace(body, invited, invite(), 1)
				}
				r := h.ask(strings.ToUpper(method), to, body, headers...)
				want := statuses[op.OperationID]
				if want == 0 {
					want = 200
				}
				if r.status != want {
					t.Errorf("%s, %s: %d %s", op.OperationID, title, r.status, r.body)
				}
			}
		}
	}
}

// A delivery has the form that the document promises, and nothing that it does not name.
func TestNotificationsAreDocumented(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	parsed, err := jsonschema.UnmarshalJSON(strings.NewReader(h.ask("GET", "/openapi.json", nil).body))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	if err := compiler.AddResource("http://doc/openapi.json", parsed); err != nil {
		t.Fatal(err)
	}
	value := 81.5
	event := func(s pleat.Source) pleat.Event {
		return pleat.Event{ID: "01890a5d-ac96-774b-bcce-b302099a8004", Source: s, Name: "on_failed",
			Status: pleat.StateFailed, At: h.clock.Now()}
	}
	fold := webhook.Delivery{Event: event(pleat.Source{Job: exampleJob}), Fold: &webhook.FoldSource{
		Job: pleat.Job{ID: exampleJob, Name: "x"},
		Run: pleat.Run{ID: exampleDraft, Model: "mini", State: pleat.StateFailed,
			Failure: &pleat.Failure{Kind: "model", Message: "no"},
			Result:  &pleat.Result{Predictions: []pleat.Prediction{{MeanPLDDT: &value}}}},
	}}
	flow := webhook.Delivery{Event: event(pleat.Source{Workflow: exampleJob}), Workflow: &webhook.WorkflowSource{
		ID: exampleJob, Type: "md", Status: pleat.StateFailed,
		Tasks: []api.NotifiedTask{{ID: exampleDraft, Type: "inference_md", Status: "FAILED"}},
		Plots: []api.NotifiedPlot{{Name: "rmsd", URL: "https://x.example/"}},
	}}
	batch := webhook.Delivery{Event: event(pleat.Source{Batch: exampleJob}),
		Batch: &pleat.Batch{ID: exampleJob, Name: "b", Counts: map[pleat.State]int{pleat.StateFailed: 2}}}
	gone := webhook.Delivery{Event: fold.Event, Problem: "the job was deleted"}
	for _, c := range []struct {
		name, want string
		of         webhook.Delivery
	}{{"foldEnded", "NotifiedFold", fold}, {"foldEnded", "NotifiedFold", gone},
		{"workflowEnded", "NotifiedWorkflow", flow}, {"batchEnded", "NotifiedBatch", batch}} {
		for media, format := range map[string]webhook.Format{
			"application/json": webhook.FormatPlain, "application/cloudevents+json": webhook.FormatCloudEvents,
		} {
			c.of.Format = format
			body, _, err := webhook.Build(c.of)
			if err != nil {
				t.Fatal(err)
			}
			schema, err := compiler.Compile("http://doc/openapi.json#/webhooks/" + c.name +
				"/post/requestBody/content/" + strings.ReplaceAll(media, "/", "~1") + "/schema")
			if err != nil {
				t.Fatal(err)
			}
			v, err := jsonschema.UnmarshalJSON(strings.NewReader(string(body)))
			if err != nil {
				t.Fatal(err)
			}
			if err := schema.Validate(v); err != nil {
				t.Errorf("%s as %s: %v\n%s", c.name, media, err, body)
			}
		}
	}
}

// The version of the document is a semantic version.
func TestDocumentVersion(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	var doc struct{ Info struct{ Version string } }
	if err := json.Unmarshal([]byte(h.ask("GET", "/openapi.json", nil).body), &doc); err != nil {
		t.Fatal(err)
	}
	if !semantic.MatchString(doc.Info.Version) {
		t.Errorf("%q is not a semantic version", doc.Info.Version)
	}
}

// semantic matches a version of Semantic Versioning 2.0.0, item 9 and 10 simplified.
var semantic = regexp.MustCompile(`^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?$`)
