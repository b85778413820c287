package flows

import (
	"slices"

	"pleat"
	"pleat/api"
	"pleat/internal/server/openapi"
	"pleat/internal/server/route"
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
var linkedQuery = slices.Concat([]openapi.Param{route.LimitParam(50)}, ofSource, route.InProject)

// workflowRoutes are the routes of workflows. Their paths, also the inconsistent ones such as status/{id}, are fixed
// by the interface that this service implements.
func (h *Handlers) workflowRoutes() []route.Route {
	return route.InSection("Workflows", []route.Route{
		{
			ID:      "createWorkflow",
			Pattern: "POST /v1/workflows",
			Who:     route.User(pleat.ScopeSubmit),
			Cost:    route.CostNewWork,
			Summary: "Create a question, a simulation, a design, a comparison, or a draft of one",
			Handler: route.JSONBody(route.Large, h.createWorkflow),
			Errors:  []int{404, 409},
			Headers: []openapi.Param{route.IdempotencyHeader},
		},
		{
			ID:      "listWorkflows",
			Pattern: "GET /v1/workflows",
			Who:     route.User(pleat.ScopeRead),
			Summary: "List your workflows, newest first",
			Handler: route.NoBody(h.listWorkflows),
			Query: slices.Concat(route.PageParams(50), route.InProject, []openapi.Param{
				{Name: "status", Kind: "WorkflowStatus", Doc: "Only workflows in this state."},
				route.ByCreator,
				{Name: "workflow_type", Kind: "string", Doc: "Only this type, such as qna_v1, md or compare_v1."},
			}, ofSource),
		},
		{
			ID:      "getWorkflow",
			Pattern: "GET /v1/workflows/{id}",
			Who:     route.Reader(),
			Cost:    route.CostPoll,
			Summary: "Read a workflow with its task",
			Handler: route.NoBody(h.viewWorkflow),
		},
		{
			ID:      "getPublicWorkflow",
			Pattern: "GET /v1/workflows/public/{id}",
			Fixed:   route.FixedWord{First: "public"},
			Who:     route.Reader(),
			Cost:    route.CostPoll,
			Summary: "Read a public workflow",
			Handler: route.NoBody(h.viewWorkflow),
		},
		{
			ID:      "getWorkflowStatus",
			Pattern: "GET /v1/workflows/status/{id}",
			Fixed:   route.FixedWord{First: "status"},
			Who:     route.Reader(),
			Cost:    route.CostPoll,
			Summary: "Read a workflow's status",
			Handler: route.NoBody(h.flowStatus),
		},
		{
			ID:      "getWorkflowResults",
			Pattern: "GET /v1/workflows/task-results/{id}",
			Fixed:   route.FixedWord{First: "task-results"},
			Who:     route.Reader(),
			Cost:    route.CostPoll,
			Summary: "Read the result of a workflow's task",
			Handler: route.NoBody(h.taskResults),
		},
		{
			ID:      "getWorkflowLog",
			Pattern: "GET /v1/workflows/logs/{id}",
			Fixed:   route.FixedWord{First: "logs"},
			Who:     route.User(pleat.ScopeRead),
			Cost:    route.CostPoll,
			Summary: "Read a workflow's log",
			Handler: route.Streams(openapi.Text("text/plain", "The log."), h.flowLogs),
		},
		{
			ID:      "streamWorkflowEvents",
			Pattern: "GET /v1/workflows/{id}/events",
			Fixed:   route.FixedWord{Second: "events"},
			Who:     route.Reader(),
			Summary: "Stream the events of a workflow's task",
			Handler: route.EventStream(openapi.RunEvents, h.flowEvents),
			Errors:  []int{409},
			Headers: []openapi.Param{route.LastEventHeader},
		},
		{
			ID:      "setWorkflowVisibility",
			Pattern: "PATCH /v1/workflows/{id}/public",
			Who:     route.User(pleat.ScopeManage),
			Summary: "Make a workflow public or private",
			Handler: route.JSONBody(route.Small, h.setWorkflowPublic),
		},
		{
			ID:      "deleteWorkflow",
			Pattern: "DELETE /v1/workflows/{id}",
			Who:     route.User(pleat.ScopeManage),
			Summary: "Delete a workflow with its files and the library items that it made",
			Handler: route.NoBody(h.deleteWorkflow),
		},
		{
			ID:      "cancelWorkflow",
			Pattern: "POST /v1/workflows/{id}/cancel",
			Who:     route.User(pleat.ScopeSubmit),
			Summary: "Cancel a workflow",
			Handler: route.NoBody(h.cancelWorkflow),
			Errors:  []int{409},
		},
		{
			Section: "Projects",
			ID:      "moveWorkflow",
			Pattern: "POST /v1/workflows/{id}/move",
			Who:     route.User(pleat.ScopeManage),
			Summary: "Move a workflow to another project",
			Handler: route.JSONBody(route.Small, h.moveWorkflow),
			Errors:  []int{409},
		},
		{
			ID:      "executeWorkflow",
			Pattern: "POST /v1/workflows/execute",
			Who:     route.User(pleat.ScopeSubmit),
			Cost:    route.CostNewWork,
			Summary: "Execute a draft",
			Handler: route.JSONBody(route.Small, h.executeWorkflow),
			Errors:  []int{404, 409},
		},
		{
			ID:      "addWorkflowGraph",
			Pattern: "POST /v1/workflows/graph/add",
			Who:     route.User(pleat.ScopeSubmit),
			Cost:    route.CostNewWork,
			Summary: "Create a draft of a design with an empty graph",
			Handler: route.JSONBody(route.Small, h.addGraph),
			Errors:  []int{409},
		},
		{
			ID:      "saveWorkflowGraph",
			Pattern: "POST /v1/workflows/{id}/workflow.yml",
			Who:     route.User(pleat.ScopeSubmit),
			Cost:    route.CostNewWork,
			Summary: "Replace the graph of a draft of a design",
			Handler: graphBody(h.saveGraph),
			Errors:  []int{404, 409},
		},
		{
			ID:      "getWorkflowGraphText",
			Pattern: "GET /v1/workflows/{id}/workflow.yml",
			Fixed:   route.FixedWord{Second: "workflow.yml"},
			Who:     route.User(pleat.ScopeRead),
			Summary: "Read the graph of a design as it was saved",
			Handler: route.Streams(openapi.Text("text/yaml", "The graph."), h.graphText),
		},
		{
			ID:      "getWorkflowGraph",
			Pattern: "GET /v1/workflows/{id}/graph",
			Fixed:   route.FixedWord{Second: "graph"},
			Who:     route.User(pleat.ScopeRead),
			Summary: "Read the nodes and edges of a design",
			Handler: route.NoBody(h.viewGraph),
		},
		{
			ID:      "syncWorkflowGraph",
			Pattern: "POST /v1/workflows/{id}/sync/workflow.yml",
			Who:     route.User(pleat.ScopeSubmit),
			Summary: "Read a design after its graph was saved",
			Handler: route.NoBody(h.syncGraph),
		},
		{
			ID:      "foldDesigns",
			Pattern: "POST /v1/workflows/design/{id}/fold",
			Aliased: "design",
			Who:     route.User(pleat.ScopeSubmit),
			Cost:    route.CostNewWork,
			Summary: "Fold designs with another model",
			Handler: route.JSONBody(route.Small, h.foldDesigns),
			Headers: []openapi.Param{route.IdempotencyHeader},
			Errors:  []int{404, 409},
		},
		{
			ID:      "listQuestions",
			Pattern: "GET /v1/workflows/qna/linked-history",
			Aliased: "qna",
			Who:     route.User(pleat.ScopeRead),
			Summary: "List your questions about a fold, newest first",
			Handler: route.NoBody(h.linkedHistory),
			Query:   linkedQuery,
		},
		{
			ID:      "listQuestionPreviews",
			Pattern: "GET /v1/workflows/qna/linked-previews",
			Aliased: "qna",
			Who:     route.User(pleat.ScopeRead),
			Summary: "List your questions about a fold, without the full texts",
			Handler: route.NoBody(h.linkedPreviews),
			Query:   linkedQuery,
		},
		{
			ID:      "setDraftQuestion",
			Pattern: "PATCH /v1/workflows/qna/{id}/draft-question",
			Aliased: "qna",
			Who:     route.User(pleat.ScopeSubmit),
			Summary: "Change the question of a draft",
			Handler: route.JSONBody(route.Large, h.draftQuestion),
			Errors:  []int{409},
		},
		{
			ID:      "getOutputSchema",
			Pattern: "POST /v1/workflows/node/output-schema",
			Who:     route.User(pleat.ScopeRead),
			Summary: "List the outputs of a task type",
			Handler: route.JSONBody(route.Large, h.outputSchema),
		},
		{
			ID:      "extractFrame",
			Pattern: "POST /v1/workflows/md/{id}/extract-frame",
			Aliased: "md",
			Who:     route.User(pleat.ScopeSubmit),
			Cost:    route.CostNewWork,
			Summary: "Extract one frame of a simulation as a structure",
			Handler: route.JSONBody(route.Small, h.extractFrame),
			Errors:  []int{409},
		},
	})
}

// compareRoutes are the routes of comparisons.
func (h *Handlers) compareRoutes() []route.Route {
	return route.InSection("Comparison", []route.Route{
		{
			ID:      "getComparison",
			Pattern: "GET /v1/compare",
			Who:     route.Reader(),
			Summary: "Compare up to four structures",
			Handler: route.Answers(openapi.JSON[api.Comparison](), h.getComparison),
			Errors:  []int{401, 403, 404, 409},
			Query: []openapi.Param{
				{
					Name: "of", Kind: "string",
					Doc: "2 to 4 structures joined by commas, of 4,000 residues in all: job:ID, job:ID/SAMPLE, " +
						"library:ID, library:ID/FILE or pdb:ID.",
				},
				{
					Name: "reference", Kind: "integer",
					Doc: "Which of them is the reference, counted from 1; absent: none.",
				},
			},
		},
		{
			ID:      "downloadComparedEntry",
			Pattern: "GET /v1/compare/pdb/{entry}",
			Who:     route.User(pleat.ScopeRead),
			Summary: "Download an entry of the Protein Data Bank, where the operator allows that",
			Handler: route.Streams(openapi.Binary("chemical/x-mmcif", "The entry as mmCIF."), h.comparedEntry),
			Errors:  []int{404, 413, 503},
		},
		{
			ID:      "createComparison",
			Pattern: "POST /v1/compare",
			Who:     route.User(pleat.ScopeSubmit),
			Cost:    route.CostNewWork,
			Summary: "Compare up to twenty structures in a task",
			Handler: route.JSONBody(route.Small, h.createComparison),
			Errors:  []int{404, 409},
		},
	})
}
