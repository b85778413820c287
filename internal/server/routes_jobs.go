package server

import (
	"fmt"
	"slices"

	"pleat"
	"pleat/api"
	"pleat/internal/server/openapi"
)

// runQuery names a run of a job.
var runQuery = []openapi.Param{{
	Name: "jobRunId", Kind: "uuid",
	Doc: "The run to read; absent: the latest. Only the owner may read an earlier one.",
}}

// structureQuery names a structure of a run.
var structureQuery = append(slices.Clone(runQuery), openapi.Param{
	Name: "sample", Kind: "string",
	Doc: "The number of a further sample, or the name of a structure among the files of the run; absent: the first.",
})

// contactQuery names the contacts of a structure.
var contactQuery = append(slices.Clone(structureQuery), openapi.Param{
	Name: "chains", Kind: "string",
	Doc: "Only contacts between two chains, such as A-B; absent: between all.",
}, openapi.Param{
	Name: "limit", Kind: "integer",
	Doc: fmt.Sprintf("The most contacts to return, 1 to %d; absent: all of these.", maxContacts),
})

// jobRoutes are the routes of fold jobs, their files and the models. Every path under /v1/jobs/{id} answers 404 for a
// job that the caller may not read, and for one that does not exist.
var jobRoutes = inSection("Fold jobs", []route{
	{
		id:       "createJob",
		pattern:  "POST /v1/jobs",
		access:   user,
		verified: true,
		scope:    pleat.ScopeSubmit,
		grows:    true,
		summary:  "Create a job",
		handler:  jsonBody(large, (*Server).createJob),
		errors:   []int{409},
		query: []openapi.Param{{
			Name: "from", Kind: "uuid",
			Doc: "Library item to associate with the job. If it has alignments (.a3m), a model that uses alignments " +
				"uses them instead of a search; each is for the protein that is its first sequence.",
		}},
		headers: []openapi.Param{idempotencyHeader, cacheControlHeader},
	},
	{
		id:      "getJobResults",
		pattern: "GET /v1/jobs/{id}/results",
		access:  reader,
		scope:   pleat.ScopeRead,
		counted: asPoll,
		summary: "Read a job's results",
		query:   runQuery,
		handler: answers(openapi.JSON[api.Results](), (*Server).results),
	},
	{
		id:      "listJobs",
		pattern: "GET /v1/jobs",
		access:  user,
		scope:   pleat.ScopeRead,
		summary: "List your jobs, newest first",
		handler: noBody((*Server).listJobs),
		query: append(append(pageOf(50), inProject...),
			openapi.Param{Name: "status", Kind: "JobStatus", Doc: "Only jobs in this state."}, byCreator,
			openapi.Param{Name: "q", Kind: "string", Doc: "Only jobs whose name contains this text, in any case."}),
	},
	{
		id:      "validateJob",
		pattern: "POST /v1/jobs/validate",
		access:  user,
		scope:   pleat.ScopeSubmit,
		summary: "Check a job without creating it",
		handler: faultyBody(large, (*Server).validate),
	},
	{
		id:      "importJobs",
		pattern: "POST /v1/jobs/import",
		access:  user,
		scope:   pleat.ScopeSubmit,
		summary: "Read a job file of another program as jobs, without creating them",
		handler: jsonBody(large, (*Server).importJobs),
	},
	{
		id:      "exportJob",
		pattern: "GET /v1/jobs/{id}/export",
		access:  reader,
		scope:   pleat.ScopeRead,
		summary: "Write a job as a file for another program",
		handler: streams(openapi.ExportedFile, (*Server).exportJob),
		query: []openapi.Param{
			{Name: "format", Kind: "JobFileFormat", Doc: "Format of the file."},
			{Name: "as", Kind: "string", Doc: "json: an ExportedJob with notes on what the file cannot express. " +
				"Absent: the file itself, with the number of notes in X-Pleat-Notes."},
		},
	},
	{
		id:      "getJob",
		pattern: "GET /v1/jobs/{id}",
		access:  reader,
		scope:   pleat.ScopeRead,
		counted: asPoll,
		summary: "Read everything about a job",
		query:   runQuery,
		handler: noBody((*Server).viewJob),
	},
	{
		id:      "deleteJob",
		pattern: "DELETE /v1/jobs/{id}",
		access:  user,
		scope:   pleat.ScopeManage,
		summary: "Delete a job and its files",
		handler: noBody((*Server).deleteJob),
	},
	{
		id:      "streamJobEvents",
		pattern: "GET /v1/jobs/{id}/events",
		access:  reader,
		scope:   pleat.ScopeRead,
		summary: "Stream the events of a job's latest run",
		handler: eventStream(openapi.RunEvents, (*Server).jobEvents),
		headers: []openapi.Param{lastEventHeader},
	},
	{
		id:      "downloadJobArchive",
		pattern: "GET /v1/jobs/{id}/archive.zip",
		access:  reader,
		scope:   pleat.ScopeRead,
		summary: "Download all files of a run of a job",
		query:   runQuery,
		handler: streams(openapi.Binary("application/zip", "A zip archive."), (*Server).archive),
		errors:  []int{409},
	},
	{
		id:      "listJobContacts",
		pattern: "GET /v1/jobs/{id}/contacts",
		access:  reader,
		scope:   pleat.ScopeRead,
		summary: "List the contacts between the chains of a result",
		query:   contactQuery,
		handler: noBody((*Server).contacts),
		errors:  []int{409},
	},
	{
		id:      "downloadJobContacts",
		pattern: "GET /v1/jobs/{id}/contacts.csv",
		access:  reader,
		scope:   pleat.ScopeRead,
		summary: "Download the contacts between the chains of a result as CSV",
		query:   contactQuery,
		handler: answers(openapi.Text("text/csv", "The table."), (*Server).contactsFile),
		errors:  []int{409},
	},
	{
		id:      "downloadChimeraXScript",
		pattern: "GET /v1/jobs/{id}/view.cxc",
		access:  reader,
		scope:   pleat.ScopeRead,
		summary: "Download a script that shows a result in ChimeraX",
		query:   structureQuery,
		handler: answers(openapi.Text("text/plain", "The script."), viewFile("cxc", "text/plain; charset=utf-8")),
		errors:  []int{409},
	},
	{
		id:      "downloadPyMOLScript",
		pattern: "GET /v1/jobs/{id}/view.pml",
		access:  reader,
		scope:   pleat.ScopeRead,
		summary: "Download a script that shows a result in PyMOL",
		query:   structureQuery,
		handler: answers(openapi.Text("text/plain", "The script."), viewFile("pml", "text/plain; charset=utf-8")),
		errors:  []int{409},
	},
	{
		id:      "downloadMolViewSpec",
		pattern: "GET /v1/jobs/{id}/view.mvsj",
		access:  reader,
		scope:   pleat.ScopeRead,
		summary: "Download a state that shows a result in Mol*",
		query:   structureQuery,
		handler: answers(openapi.AnyObject, viewFile("mvsj", "application/json")),
		errors:  []int{409},
	},
	{
		id:      "setJobVisibility",
		pattern: "PATCH /v1/jobs/{id}/public",
		access:  user,
		scope:   pleat.ScopeManage,
		summary: "Make a job public or private",
		handler: jsonBody(small, (*Server).setPublic),
	},
	{
		id:      "cancelJob",
		pattern: "POST /v1/jobs/{id}/cancel",
		access:  user,
		scope:   pleat.ScopeSubmit,
		summary: "Cancel a job",
		handler: noBody((*Server).cancelJob),
		errors:  []int{409},
	},
	{
		id:      "rerunJob",
		pattern: "POST /v1/jobs/{id}/runs",
		access:  user,
		scope:   pleat.ScopeSubmit,
		grows:   true,
		summary: "Run a job again",
		handler: optionalBody(small, (*Server).rerun),
		errors:  []int{409},
		headers: []openapi.Param{cacheControlHeader},
	},
	{
		id:      "streamEvents",
		pattern: "GET /v1/events",
		access:  user,
		scope:   pleat.ScopeRead,
		summary: "Stream the changes of all your jobs and workflows",
		handler: eventStream(openapi.ChangeEvents, (*Server).allEvents),
		headers: []openapi.Param{lastEventHeader},
		query:   inProject,
	},
	{
		id:      "listModels",
		pattern: "GET /v1/models",
		access:  anyone,
		summary: "List the models that run here",
		handler: noBody((*Server).listModels),
	},
	{
		id:      "listClasses",
		pattern: "GET /v1/classes",
		access:  user,
		scope:   pleat.ScopeRead,
		summary: "List the classes of workers",
		handler: noBody((*Server).listClasses),
	},
	{
		id:      "getUsage",
		pattern: "GET /v1/usage",
		access:  user,
		scope:   pleat.ScopeRead,
		summary: "Read your quotas, how much of them is used today, and what your runs have spent",
		handler: answers(openapi.JSON[api.Usage](), (*Server).usage),
		query:   append(spentParams("model,day"), inProject...),
	},
	{
		id:      "downloadArtifact",
		pattern: "GET /v1/artifacts/{id}/{name}",
		access:  open,
		counted: byCredential,
		summary: "Download a file by its signed link",
		handler: streams(openapi.Binary("application/octet-stream", "The file, with its own media type."),
			(*Server).artifact),
		errors: []int{401},
		query:  signature("When the link expires, in seconds since 1970; absent from links to public files."),
	},
})
