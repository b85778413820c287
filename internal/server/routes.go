package server

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"pleat"
	"pleat/internal/store"
)

// route is one line of the interface.
type route struct {
	section string // of the interface or the contract that it comes from
	method  string
	path    string
	who     access
	summary string
	do      endpoint
	also    []int // statuses it may answer besides 200 and those that every route has
	query   []param
	header  []param
}

// param is a query parameter or request header, for the document.
type param struct{ name, kind, doc string }

var (
	lastEvent = []param{{"Last-Event-ID", "string", "Go on after this event."}}
	onJob     = []int{404}
	noCache   = param{"Cache-Control", "string", "no-cache: compute the run, even where an earlier one of the same input, parameters and seed could answer it."}
)

// routes is the whole interface of this service.
func (s *Server) routes() []route {
	const fold, hooks = "Fold jobs", "Webhooks"
	return append([]route{
		// interface.md 4.1; contract.md «Fold jobs», first paragraph
		{fold, "POST", "/v1/jobs", user, "Create a job", takes(large, (*Server).createJob), []int{409, 413, 415},
			[]param{{"from", "uuid", "Library item to associate with the job. Where it holds alignments (.a3m), they stand in for the search of the proteins that they begin with, for models that take alignments."}},
			[]param{{"Idempotency-Key", "string", "The same key and body within 24 hours give the first answer; another body is refused with 409."}, noCache}},
		// interface.md 4.2; contract.md «Fold jobs», second paragraph
		{fold, "GET", "/v1/jobs/{id}/results", reader, "Read a job's results", streams("application/json", (*Server).results), onJob, nil, nil},
		// contract.md «Fold jobs», «Lists answer … Also»
		{fold, "GET", "/v1/jobs", user, "List your jobs, newest first", gives((*Server).listJobs), nil,
			[]param{{"limit", "integer", "1 to 200; 50 by default."}, {"cursor", "string", "next_cursor of the page before."},
				{"status", "string", "Only jobs in this state."}, {"q", "string", "Only jobs whose name has this in it, in any case."}}, nil},
		{fold, "POST", "/v1/jobs/validate", user, "Check a job without creating it", takes(large, (*Server).validate), []int{413, 415}, nil, nil},
		{fold, "POST", "/v1/jobs/import", user, "Read a FASTA, AlphaFold Server, AlphaFold 3 or Boltz file as jobs, without creating them", takes(large, (*Server).importJobs), []int{413, 415}, nil, nil},
		{fold, "GET", "/v1/jobs/{id}/export", reader, "Write a job as a file for another program", streams("application/octet-stream", (*Server).exportJob), []int{404},
			[]param{{"format", "string", "fasta, alphafold-server, alphafold3 or boltz."}, {"as", "string", "json: an ExportedJob with the notes on what the file does not say; absent: the file itself, with the number of notes in X-Pleat-Notes."}}, nil},
		{fold, "GET", "/v1/jobs/{id}", reader, "Read all about a job", gives((*Server).viewJob), onJob, nil, nil},
		{fold, "DELETE", "/v1/jobs/{id}", user, "Delete a job and its files", gives((*Server).deleteJob), onJob, nil, nil},
		{fold, "GET", "/v1/jobs/{id}/events", reader, "Follow a job's latest run", streams("text/event-stream", (*Server).jobEvents), onJob, nil, lastEvent},
		{fold, "GET", "/v1/jobs/{id}/archive.zip", reader, "Download all files of a job's latest run", streams("application/zip", (*Server).archive), []int{404, 409}, nil, nil},
		{fold, "PATCH", "/v1/jobs/{id}/public", user, "Make a job public or private", takes(small, (*Server).setPublic), []int{404, 413, 415}, nil, nil},
		{fold, "POST", "/v1/jobs/{id}/cancel", user, "Stop a job", gives((*Server).cancelJob), []int{404, 409}, nil, nil},
		{fold, "POST", "/v1/jobs/{id}/runs", user, "Run a job again", mayTake(small, (*Server).rerun), []int{404, 409, 413, 415}, nil, []param{noCache}},
		{fold, "GET", "/v1/events", user, "Follow all your jobs", streams("text/event-stream", (*Server).allEvents), nil, nil, lastEvent},
		{fold, "GET", "/v1/models", anyone, "List the models that run here", gives((*Server).listModels), nil, nil, nil},
		{fold, "GET", "/v1/usage", user, "Read today's quota", gives((*Server).usage), nil, nil, nil},
		// contract.md «Fold jobs», paragraph on artifacts
		{fold, "GET", "/v1/artifacts/{id}/{name}", open, "Download a file by its signed link", streams("application/octet-stream", (*Server).artifact), onJob,
			[]param{{"e", "integer", "When the link ends, in seconds since 1970; absent from links to public files."}, {"s", "string", "The link's signature."}}, nil},

		// interface.md 4.9 and 4.10; contract.md «Webhooks»
		{hooks, "GET", "/v1/webhooks/custom-http-config", user, "Read your webhook configuration", gives((*Server).webhookConfig), nil, nil, nil},
		{hooks, "PUT", "/v1/webhooks/custom-http-config", user, "Configure your webhook; the signing secret is shown this once", takes(small, (*Server).putWebhookConfig), []int{413, 415}, nil, nil},
		{hooks, "DELETE", "/v1/webhooks/custom-http-config", user, "Deactivate your webhook", gives(changeWebhook(store.EndpointDelete)), onJob, nil, nil},
		{hooks, "POST", "/v1/webhooks/custom-http-config/rotate-secret", user, "Make a new signing secret; the old one signs beside it for a day", mayTake(small, (*Server).rotateSecret), []int{404, 413, 415}, nil, nil},
		{hooks, "POST", "/v1/webhooks/custom-http-config/pause", user, "Let deliveries wait", gives(changeWebhook(store.EndpointPause)), onJob, nil, nil},
		{hooks, "POST", "/v1/webhooks/custom-http-config/resume", user, "Let deliveries go again", gives(changeWebhook(store.EndpointResume)), onJob, nil, nil},
		{hooks, "GET", "/v1/webhooks/subscriptions", user, "List what your runs have subscribed to, newest first", gives((*Server).subscriptions), nil,
			[]param{{"limit", "integer", "1 to 200; 200 by default."}, {"cursor", "string", "next_cursor of the page before."}}, nil},
		{hooks, "GET", "/v1/webhooks/deliveries", user, "List your deliveries, newest first", gives((*Server).deliveries), nil,
			[]param{{"limit", "integer", "1 to 200; 50 by default."}, {"cursor", "string", "next_cursor of the page before."},
				{"status", "string", "Only those in this state: PENDING, RUNNING, SUCCEEDED or FAILED."}, {"source_id", "uuid", "Only those of this job or workflow."}}, nil},
		{hooks, "GET", "/v1/webhooks/deliveries/{id}", user, "Read a delivery with its attempts", gives((*Server).delivery), onJob, nil, nil},
		{hooks, "POST", "/v1/webhooks/deliveries/{id}/redeliver", user, "Send an ended delivery again, under the same webhook-id", gives((*Server).redeliverOne), []int{404, 409}, nil, nil},
		{hooks, "POST", "/v1/webhooks/deliveries/redeliver", user, "Send ended deliveries again", takes(small, (*Server).redeliver), []int{413, 415}, nil, nil},
		{hooks, "POST", "/v1/webhooks/test", user, "Send a test delivery", gives((*Server).testWebhook), []int{404, 409}, nil, nil},
		{hooks, "POST", "/v1/webhooks/events/ingest", open, "Tell of an event; for operators", ingests(), []int{401, 413, 415}, nil,
			[]param{{headerIngest, "string", "The operator's secret."}}},

		{"Keys and session", "GET", "/v1/keys", user, "List your keys", gives((*Server).listKeys), nil, nil, nil},
		{"Keys and session", "POST", "/v1/keys", user, "Make a key; it is shown this once", mayTake(small, (*Server).createKey), []int{409, 413, 415}, nil, nil},
		{"Keys and session", "DELETE", "/v1/keys/{id}", user, "Revoke a key", gives((*Server).revokeKey), onJob, nil, nil},
		{"Keys and session", "POST", "/v1/session", open, "Exchange a key for a browser's cookie", takes(small, (*Server).openSession), []int{401, 413, 415}, nil, nil},
		{"Keys and session", "GET", "/v1/session", open, "Read who the cookie stands for", gives((*Server).readSession), nil, nil, nil},
		{"Keys and session", "DELETE", "/v1/session", open, "End the cookie's session", gives((*Server).closeSession), nil, nil, nil},

		{"Operation", "GET", "/healthz", open, "Whether the process lives", gives((*Server).health), nil, nil, nil},
		{"Operation", "GET", "/readyz", open, "Whether it can serve", gives((*Server).ready), []int{503}, nil, nil},
		{"Operation", "GET", "/metrics", open, "Figures for Prometheus", streams("text/plain", (*Server).metrics), nil, nil, nil},
		{"Operation", "GET", "/openapi.json", open, "This document", streams("application/json", (*Server).openAPI), nil, nil, nil},
		{"Operation", "GET", "/docs", open, "This document, to read", streams("text/html", (*Server).readDocs), nil, nil, nil},
	}, flowRoutes()...)
}

// mux joins the routes with the page, which is handed in.
func (s *Server) mux(routes []route, page http.Handler) http.Handler {
	m := http.NewServeMux()
	var sharing []route
	for _, rt := range routes {
		if shared(rt) {
			sharing = append(sharing, rt)
			continue
		}
		for _, path := range spellings(rt.path) {
			m.Handle(rt.method+" "+path, s.serve(rt))
		}
	}
	m.Handle(sharedPattern, s.byWords(sharing))
	if page == nil {
		page = http.HandlerFunc(frontDoor)
	} else {
		m.Handle("GET /ui/", page)
	}
	m.Handle("GET /{$}", page)
	return s.outermost(m)
}

// serve makes a handler of a route.
func (s *Server) serve(rt route) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c := callOf(w, r)
		if rt.who != open {
			c.cred = s.credentialOf(r)
		}
		ctx := r.Context()
		if !rt.do.slow && (rt.do.media == "" || rt.do.media == "application/json") { // what streams ends otherwise
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, answerWithin)
			defer cancel()
		}
		err := s.limits.allow(c, s.caller(c), s.clock())
		if err == nil {
			err = s.admit(ctx, c, rt.who)
		}
		if err == nil {
			err = checkQuery(r)
		}
		if err == nil && r.Method == http.MethodHead && rt.do.media == "text/event-stream" {
			c.w.Header().Set("Content-Type", rt.do.media)
			return
		}
		if err == nil {
			err = rt.do.serve(s, ctx, c)
		}
		if err != nil {
			s.fail(c, err)
		}
	})
}

// checkQuery refuses a query that cannot be read whole. Without it, what is malformed would be as if it were not there.
func checkQuery(r *http.Request) error {
	if _, err := url.ParseQuery(r.URL.RawQuery); err != nil {
		return pleat.Invalidf("the query of the address cannot be read: %s; a %% must be followed by two hexadecimal digits, and parameters are parted by &", pleat.Clip(err.Error()))
	}
	return nil
}

// answerWithin bounds what the database may take for one answer.
const answerWithin = 30 * time.Second

// frontDoor stands where the page would.
func frontDoor(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write([]byte(`<!doctype html><html lang="en"><meta charset="utf-8"><title>Pleat</title><p>This is Pleat, a service that folds proteins. <a href="/docs">Its interface</a> is at /docs.</p></html>` + "\n"))
}
