package server

import (
	"net/http"
	"strings"

	"pleat"
)

// flowRoutes are the routes of workflows and of the library.
func flowRoutes() []route {
	const flows, library = "Workflows", "Library"
	source := []param{{"source_job_id", "uuid", "Only those about this job; sourceJobId is the same."}, {"source_job_run_id", "uuid", "Only those about this run."},
		{"source_sequence_id", "uuid", "Only those about this sequence."}}
	linked := append([]param{{"limit", "integer", "1 to 200; 50 by default."}}, source...)
	paged := []param{{"limit", "integer", "1 to 200; 50 by default."}, {"cursor", "string", "next_cursor of the page before."}}
	return []route{
		// interface.md 4.3; contract.md «Workflows», first paragraph
		{flows, "POST", "/v1/workflows", user, "Ask a question, start a simulation, or make a draft", takes(large, (*Server).createWorkflow), []int{404, 409, 413, 415}, nil, nil},
		{flows, "GET", "/v1/workflows", user, "List your workflows, newest first", gives((*Server).listFlows), nil,
			append(append([]param{}, paged...), append([]param{{"status", "string", "Only workflows in this state."}, {"workflow_type", "string", "Only this kind, such as qna_v1 or md."}}, source...)...), nil},
		{flows, "GET", "/v1/workflows/{id}", reader, "Read a workflow with its task", gives((*Server).viewFlow), onJob, nil, nil},
		{flows, "GET", "/v1/workflows/public/{id}", reader, "Read a public workflow", gives((*Server).viewFlow), onJob, nil, nil},
		{flows, "GET", "/v1/workflows/status/{id}", reader, "Read where a workflow stands", gives((*Server).flowStatus), onJob, nil, nil},
		// interface.md 4.4
		{flows, "GET", "/v1/workflows/task-results/{id}", reader, "Read what came of a workflow's task", gives((*Server).taskResults), onJob, nil, nil},
		{flows, "GET", "/v1/workflows/logs/{id}", user, "Read a workflow's log", streams("text/plain", (*Server).flowLogs), onJob, nil, nil},
		{flows, "GET", "/v1/workflows/{id}/events", reader, "Follow a workflow's task", streams("text/event-stream", (*Server).flowEvents), []int{404, 409}, nil, lastEvent},
		{flows, "PATCH", "/v1/workflows/{id}/public", user, "Make a workflow public or private", takes(small, (*Server).setFlowPublic), []int{404, 413, 415}, nil, nil},
		{flows, "POST", "/v1/workflows/{id}/cancel", user, "Stop a workflow", gives((*Server).cancelWorkflow), []int{404, 409}, nil, nil},
		{flows, "POST", "/v1/workflows/execute", user, "Run a draft", takes(small, (*Server).executeWorkflow), []int{404, 409, 413, 415}, nil, nil},
		// interface.md 4.5 to 4.8
		{flows, "GET", "/v1/workflows/qna/linked-history", user, "List your questions about a fold, newest first", gives((*Server).linkedHistory), nil, linked, nil},
		{flows, "GET", "/v1/workflows/qna/linked-previews", user, "List your questions about a fold without their texts", gives((*Server).linkedPreviews), nil, linked, nil},
		{flows, "PATCH", "/v1/workflows/qna/{id}/draft-question", user, "Change the question of a draft", takes(large, (*Server).draftQuestion), []int{404, 409, 413, 415}, nil, nil},
		{flows, "POST", "/v1/workflows/node/output-schema", user, "Say what a task will give", takes(large, (*Server).outputSchema), []int{413, 415}, nil, nil},
		{flows, "POST", "/v1/workflows/md/{id}/extract-frame", user, "Take one moment of a simulation as a structure", takes(small, (*Server).extractFrame), []int{404, 409, 413, 415}, nil, nil},

		// contract.md «Workflows», last paragraph
		{library, "POST", "/v1/library/create", user, "Make an item of your library", takes(small, (*Server).createItem).created(), []int{404, 413, 415}, nil, nil},
		{library, "GET", "/v1/library", user, "List your library, newest first", gives((*Server).listLibrary), nil, paged, nil},
		{library, "GET", "/v1/library/{id}", user, "Read an item", gives((*Server).viewItem), onJob, nil, nil},
		{library, "DELETE", "/v1/library/{id}", user, "Delete an item with its files", gives((*Server).deleteItem), onJob, nil, nil},
		{library, "POST", "/v1/library/{id}/upload-files", user, "Put files into an item, as multipart/form-data in the field files", uploads((*Server).uploadFiles), []int{404, 413, 415}, nil, nil},
		{library, "GET", "/v1/library/file/{id}/{name}", user, "Make a link to a file, good for a day at most", gives((*Server).libraryFileURL), onJob, nil, nil},
		{library, "GET", "/v1/files/{id}/{name}", open, "Download a library file by its signed link", streams("application/octet-stream", (*Server).libraryFileGet), []int{401, 404},
			[]param{{"e", "integer", "When the link ends, in seconds since 1970."}, {"s", "string", "The link's signature."}}, nil},
	}
}

// spellings are a route's paths: workflows may be named by the words that engines in the wild lend them.
func spellings(path string) []string {
	out := []string{path}
	for _, word := range []string{"qna", "md"} {
		head := "/v1/workflows/" + word + "/"
		rest, ok := strings.CutPrefix(path, head)
		if !ok {
			continue
		}
		for _, other := range pleat.Spellings(word) {
			if other != word {
				out = append(out, "/v1/workflows/"+other+"/"+rest)
			}
		}
	}
	return out
}

// The mux takes no two patterns of which neither is the more specific, such as …/public/{id} and …/{id}/events. Those routes
// share one pattern, and words decides between them.
const sharedPattern = "GET /v1/workflows/{first}/{second}"

// shared reports whether a route is one of those.
func shared(rt route) bool {
	parts := strings.Split(rt.path, "/")
	return rt.method == http.MethodGet && len(parts) == 5 && strings.HasPrefix(rt.path, "/v1/workflows/") && strings.Contains(rt.path, "{")
}

// byWords serves the routes that share a pattern.
func (s *Server) byWords(routes []route) http.Handler {
	type choice struct {
		rt      route
		handler http.Handler
	}
	first, second := map[string]choice{}, map[string]choice{}
	for _, rt := range routes {
		parts := strings.Split(rt.path, "/")
		c := choice{rt, s.serve(rt)}
		if parts[4] == "{id}" {
			first[parts[3]] = c
		} else {
			second[parts[4]] = c
		}
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a, b := r.PathValue("first"), r.PathValue("second")
		c, ok := first[a]
		id := b
		if !ok {
			c, ok = second[b]
			id = a
		}
		if !ok {
			writeError(w, http.StatusNotFound, nothingHere)
			return
		}
		callOf(w, r).pattern = c.rt.method + " " + c.rt.path
		r.SetPathValue("id", id)
		c.handler.ServeHTTP(w, r)
	})
}

const nothingHere = "There is nothing at this path; /docs says what there is"
