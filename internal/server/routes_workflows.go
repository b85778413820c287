package server

import (
	"net/http"
	"slices"
	"strings"

	"pleat"
	"pleat/api"
	"pleat/internal/server/openapi"
)

// ofSource are the query parameters that narrow a list of workflows to those about one fold.
var ofSource = []openapi.Param{
	{
		Name: "source_job_id", Kind: "uuid", Doc: "Only workflows about this job; sourceJobId is an alias.",
		Alias: "sourceJobId",
	},
	{Name: "source_job_run_id", Kind: "uuid", Doc: "Only workflows about this run.", Alias: "sourceJobRunId"},
	{Name: "source_sequence_id", Kind: "uuid", Doc: "Only workflows about this sequence.", Alias: "sourceSequenceId"},
}

// linkedQuery are the query parameters of the lists of questions about a fold.
var linkedQuery = slices.Concat([]openapi.Param{limitParam(50)}, ofSource, inProject)

// workflowRoutes are the routes of workflows. Their paths, also the inconsistent ones such as status/{id}, are fixed
// by the interface that this service implements.
var workflowRoutes = inSection("Workflows", []route{
	{
		id:      "createWorkflow",
		pattern: "POST /v1/workflows",
		access:  user,
		scope:   pleat.ScopeSubmit,
		grows:   true,
		summary: "Create a question, a simulation, a design, a comparison, or a draft of one",
		handler: jsonBody(large, (*Server).createWorkflow),
		errors:  []int{404, 409},
		headers: []openapi.Param{idempotencyHeader},
	},
	{
		id:      "listWorkflows",
		pattern: "GET /v1/workflows",
		access:  user,
		scope:   pleat.ScopeRead,
		summary: "List your workflows, newest first",
		handler: noBody((*Server).listWorkflows),
		query: slices.Concat(pageOf(50), inProject, []openapi.Param{
			{Name: "status", Kind: "WorkflowStatus", Doc: "Only workflows in this state."},
			byCreator,
			{Name: "workflow_type", Kind: "string", Doc: "Only this type, such as qna_v1, md or compare_v1."},
		}, ofSource),
	},
	{
		id:      "getWorkflow",
		pattern: "GET /v1/workflows/{id}",
		access:  reader,
		scope:   pleat.ScopeRead,
		counted: asPoll,
		summary: "Read a workflow with its task",
		handler: noBody((*Server).viewWorkflow),
	},
	{
		id:      "getPublicWorkflow",
		pattern: "GET /v1/workflows/public/{id}",
		shared:  fixedWord{first: "public"},
		access:  reader,
		scope:   pleat.ScopeRead,
		counted: asPoll,
		summary: "Read a public workflow",
		handler: noBody((*Server).viewWorkflow),
	},
	{
		id:      "getWorkflowStatus",
		pattern: "GET /v1/workflows/status/{id}",
		shared:  fixedWord{first: "status"},
		access:  reader,
		scope:   pleat.ScopeRead,
		counted: asPoll,
		summary: "Read a workflow's status",
		handler: noBody((*Server).flowStatus),
	},
	{
		id:      "getWorkflowResults",
		pattern: "GET /v1/workflows/task-results/{id}",
		shared:  fixedWord{first: "task-results"},
		access:  reader,
		scope:   pleat.ScopeRead,
		counted: asPoll,
		summary: "Read the result of a workflow's task",
		handler: noBody((*Server).taskResults),
	},
	{
		id:      "getWorkflowLog",
		pattern: "GET /v1/workflows/logs/{id}",
		shared:  fixedWord{first: "logs"},
		access:  user,
		scope:   pleat.ScopeRead,
		counted: asPoll,
		summary: "Read a workflow's log",
		handler: streams(openapi.Text("text/plain", "The log."), (*Server).flowLogs),
	},
	{
		id:      "streamWorkflowEvents",
		pattern: "GET /v1/workflows/{id}/events",
		shared:  fixedWord{second: "events"},
		access:  reader,
		scope:   pleat.ScopeRead,
		summary: "Stream the events of a workflow's task",
		handler: eventStream(openapi.RunEvents, (*Server).flowEvents),
		errors:  []int{409},
		headers: []openapi.Param{lastEventHeader},
	},
	{
		id:      "setWorkflowVisibility",
		pattern: "PATCH /v1/workflows/{id}/public",
		access:  user,
		scope:   pleat.ScopeManage,
		summary: "Make a workflow public or private",
		handler: jsonBody(small, (*Server).setWorkflowPublic),
	},
	{
		id:      "deleteWorkflow",
		pattern: "DELETE /v1/workflows/{id}",
		access:  user,
		scope:   pleat.ScopeManage,
		summary: "Delete a workflow with its files and the library items that it made",
		handler: noBody((*Server).deleteWorkflow),
	},
	{
		id:      "cancelWorkflow",
		pattern: "POST /v1/workflows/{id}/cancel",
		access:  user,
		scope:   pleat.ScopeSubmit,
		summary: "Cancel a workflow",
		handler: noBody((*Server).cancelWorkflow),
		errors:  []int{409},
	},
	{
		id:      "executeWorkflow",
		pattern: "POST /v1/workflows/execute",
		access:  user,
		scope:   pleat.ScopeSubmit,
		grows:   true,
		summary: "Execute a draft",
		handler: jsonBody(small, (*Server).executeWorkflow),
		errors:  []int{404, 409},
	},
	{
		id:      "addWorkflowGraph",
		pattern: "POST /v1/workflows/graph/add",
		access:  user,
		scope:   pleat.ScopeSubmit,
		grows:   true,
		summary: "Create a draft of a design with an empty graph",
		handler: jsonBody(small, (*Server).addGraph),
		errors:  []int{409},
	},
	{
		id:      "saveWorkflowGraph",
		pattern: "POST /v1/workflows/{id}/workflow.yml",
		access:  user,
		scope:   pleat.ScopeSubmit,
		grows:   true,
		summary: "Replace the graph of a draft of a design",
		handler: graphBody((*Server).saveGraph),
		errors:  []int{404, 409},
	},
	{
		id:      "getWorkflowGraphText",
		pattern: "GET /v1/workflows/{id}/workflow.yml",
		shared:  fixedWord{second: "workflow.yml"},
		access:  user,
		scope:   pleat.ScopeRead,
		summary: "Read the graph of a design as it was saved",
		handler: streams(openapi.Text("text/yaml", "The graph."), (*Server).graphText),
	},
	{
		id:      "getWorkflowGraph",
		pattern: "GET /v1/workflows/{id}/graph",
		shared:  fixedWord{second: "graph"},
		access:  user,
		scope:   pleat.ScopeRead,
		summary: "Read the nodes and edges of a design",
		handler: noBody((*Server).viewGraph),
	},
	{
		id:      "syncWorkflowGraph",
		pattern: "POST /v1/workflows/{id}/sync/workflow.yml",
		access:  user,
		scope:   pleat.ScopeSubmit,
		summary: "Read a design after its graph was saved",
		handler: noBody((*Server).syncGraph),
	},
	{
		id:      "foldDesigns",
		pattern: "POST /v1/workflows/design/{id}/fold",
		aliased: "design",
		access:  user,
		scope:   pleat.ScopeSubmit,
		grows:   true,
		summary: "Fold designs with another model",
		handler: jsonBody(small, (*Server).foldDesigns),
		headers: []openapi.Param{idempotencyHeader},
		errors:  []int{404, 409},
	},
	{
		id:      "listQuestions",
		pattern: "GET /v1/workflows/qna/linked-history",
		aliased: "qna",
		access:  user,
		scope:   pleat.ScopeRead,
		summary: "List your questions about a fold, newest first",
		handler: noBody((*Server).linkedHistory),
		query:   linkedQuery,
	},
	{
		id:      "listQuestionPreviews",
		pattern: "GET /v1/workflows/qna/linked-previews",
		aliased: "qna",
		access:  user,
		scope:   pleat.ScopeRead,
		summary: "List your questions about a fold, without the full texts",
		handler: noBody((*Server).linkedPreviews),
		query:   linkedQuery,
	},
	{
		id:      "setDraftQuestion",
		pattern: "PATCH /v1/workflows/qna/{id}/draft-question",
		aliased: "qna",
		access:  user,
		scope:   pleat.ScopeSubmit,
		summary: "Change the question of a draft",
		handler: jsonBody(large, (*Server).draftQuestion),
		errors:  []int{409},
	},
	{
		id:      "getOutputSchema",
		pattern: "POST /v1/workflows/node/output-schema",
		access:  user,
		scope:   pleat.ScopeRead,
		summary: "List the outputs of a task type",
		handler: jsonBody(large, (*Server).outputSchema),
	},
	{
		id:      "extractFrame",
		pattern: "POST /v1/workflows/md/{id}/extract-frame",
		aliased: "md",
		access:  user,
		scope:   pleat.ScopeSubmit,
		grows:   true,
		summary: "Extract one frame of a simulation as a structure",
		handler: jsonBody(small, (*Server).extractFrame),
		errors:  []int{409},
	},
})

// compareRoutes are the routes of comparisons.
var compareRoutes = inSection("Comparison", []route{
	{
		id:      "getComparison",
		pattern: "GET /v1/compare",
		access:  reader,
		scope:   pleat.ScopeRead,
		summary: "Compare up to four structures",
		handler: answers(openapi.JSON[api.Comparison](), (*Server).getComparison),
		errors:  []int{401, 403, 404, 409},
		query: []openapi.Param{
			{
				Name: "of", Kind: "string",
				Doc: "2 to 4 structures joined by commas, of 4,000 residues in all: job:ID, job:ID/SAMPLE, " +
					"library:ID, library:ID/FILE or pdb:ID.",
			},
			{Name: "reference", Kind: "integer", Doc: "Which of them is the reference, counted from 1; absent: none."},
		},
	},
	{
		id:      "downloadComparedEntry",
		pattern: "GET /v1/compare/pdb/{entry}",
		access:  user,
		scope:   pleat.ScopeRead,
		summary: "Download an entry of the Protein Data Bank, where the operator allows that",
		handler: streams(openapi.Binary("chemical/x-mmcif", "The entry as mmCIF."), (*Server).comparedEntry),
		errors:  []int{404, 413, 503},
	},
	{
		id:      "createComparison",
		pattern: "POST /v1/compare",
		access:  user,
		scope:   pleat.ScopeSubmit,
		grows:   true,
		summary: "Compare up to twenty structures in a task",
		handler: jsonBody(small, (*Server).createComparison),
		errors:  []int{404, 409},
	},
})

// libraryRoutes are the routes of the callers' libraries of files. Nobody reads the library of another user, except a
// file by its signed link.
var libraryRoutes = inSection("Library", []route{
	{
		id:      "createLibraryItem",
		pattern: "POST /v1/library/create",
		access:  user,
		scope:   pleat.ScopeSubmit,
		grows:   true,
		summary: "Create an item in your library",
		handler: jsonBody(small, (*Server).createItem).created(),
		errors:  []int{404, 409},
	},
	{
		id:      "listLibraryItems",
		pattern: "GET /v1/library",
		access:  user,
		scope:   pleat.ScopeRead,
		summary: "List your library, newest first",
		handler: noBody((*Server).listLibrary),
		query:   append(pageOf(50), inProject...),
	},
	{
		id:      "getLibraryItem",
		pattern: "GET /v1/library/{id}",
		access:  user,
		scope:   pleat.ScopeRead,
		summary: "Read an item",
		handler: noBody((*Server).viewItem),
	},
	{
		id:      "deleteLibraryItem",
		pattern: "DELETE /v1/library/{id}",
		access:  user,
		scope:   pleat.ScopeManage,
		summary: "Delete an item with its files",
		handler: noBody((*Server).deleteItem),
	},
	{
		id:      "uploadLibraryFiles",
		pattern: "POST /v1/library/{id}/upload-files",
		access:  user,
		scope:   pleat.ScopeSubmit,
		grows:   true,
		summary: "Upload files into an item, as multipart/form-data in the field files",
		handler: uploads[api.UploadedFiles]((*Server).uploadFiles),
		errors:  []int{409},
	},
	{
		id:      "getLibraryFileLink",
		pattern: "GET /v1/library/file/{id}/{name}",
		access:  user,
		scope:   pleat.ScopeRead,
		summary: "Get a download link for a file, valid for a day at most",
		handler: noBody((*Server).libraryFileURL),
	},
	{
		id:      "downloadLibraryFile",
		pattern: "GET /v1/files/{id}/{name}",
		access:  open,
		counted: byCredential,
		summary: "Download a library file by its signed link",
		handler: streams(openapi.Binary("application/octet-stream", "The file."), (*Server).libraryFileGet),
		errors:  []int{401},
		query:   signature("When the link expires, in seconds since 1970."),
	},
})

// patterns returns the patterns under which the mux serves a route: that of the document and, if it has an aliased
// segment, one for each alias.
func (rt route) patterns() []string {
	if rt.aliased == "" {
		return []string{rt.pattern}
	}
	var out []string
	for _, alias := range pleat.AliasesOf(rt.aliased) {
		out = append(out, strings.Replace(rt.pattern, "/"+rt.aliased+"/", "/"+alias+"/", 1))
	}
	return out
}

// sharedPattern is one pattern for all routes such as …/public/{id} and …/{id}/events: the mux refuses two patterns of
// which neither is more specific than the other.
const sharedPattern = "GET /v1/workflows/{first}/{second}"

// fixedWord identifies a route of sharedPattern: the one segment that is fixed. The other segment is the id. The zero
// value is that of a route that the mux serves under its own pattern.
type fixedWord struct{ first, second string }

// sharedHandler serves the routes of sharedPattern by their fixed words. If both segments are fixed words, the first
// one decides.
func (s *Server) sharedHandler(routes []route) http.Handler {
	type choice struct {
		pattern string
		handler http.Handler
	}
	choices := map[fixedWord]choice{}
	for _, rt := range routes {
		choices[rt.shared] = choice{rt.pattern, s.serve(rt)}
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		first, second := r.PathValue("first"), r.PathValue("second")
		chosen, ok := choices[fixedWord{first: first}]
		id := second
		if !ok {
			chosen, ok = choices[fixedWord{second: second}]
			id = first
		}
		c := callOf(r)
		if !ok {
			writeError(c.w, http.StatusNotFound, notFoundMessage)
			return
		}
		c.pattern = chosen.pattern
		r.SetPathValue("id", id)
		chosen.handler.ServeHTTP(w, r)
	})
}

// notFoundMessage is the message of every path that no route has.
const notFoundMessage = "There is nothing at this path; /docs lists every path"
