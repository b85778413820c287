package jobs

import (
	"fmt"
	"slices"

	"pleat"
	"pleat/api"
	"pleat/internal/server/openapi"
	"pleat/internal/server/route"
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

// Routes returns the routes of fold jobs, their files and the models. Every path under /v1/jobs/{id} answers 404 for a
// job that the caller may not read, and for one that does not exist.
func (h *Handlers) Routes() []route.Route {
	return route.InSection("Fold jobs", []route.Route{
		{
			ID:      "createJob",
			Pattern: "POST /v1/jobs",
			Who:     route.User(pleat.ScopeSubmit).CheckedByStore(),
			Cost:    route.CostNewWork,
			Summary: "Create a job",
			Handler: route.JSONBody(route.Large, h.createJob),
			Errors:  []int{409},
			Query: []openapi.Param{{
				Name: "from", Kind: "uuid",
				Doc: "Library item to associate with the job. If it has alignments (.a3m), a model that uses " +
					"alignments uses them instead of a search; each is for the protein that is its first sequence.",
			}},
			Headers: []openapi.Param{route.IdempotencyHeader, route.CacheControlHeader},
		},
		{
			ID:      "getJobResults",
			Pattern: "GET /v1/jobs/{id}/results",
			Who:     route.Reader(),
			Cost:    route.CostPoll,
			Summary: "Read a job's results",
			Query:   runQuery,
			Handler: route.Answers(openapi.JSON[api.Results](), h.results),
		},
		{
			ID:      "listJobs",
			Pattern: "GET /v1/jobs",
			Who:     route.User(pleat.ScopeRead),
			Summary: "List your jobs, newest first",
			Handler: route.NoBody(h.listJobs),
			Query: append(append(route.PageParams(50), route.InProject...),
				openapi.Param{Name: "status", Kind: "JobStatus", Doc: "Only jobs in this state."}, route.ByCreator,
				openapi.Param{Name: "q", Kind: "string", Doc: "Only jobs whose name contains this text, in any case."}),
		},
		{
			ID:      "validateJob",
			Pattern: "POST /v1/jobs/validate",
			Who:     route.User(pleat.ScopeSubmit),
			Summary: "Check a job without creating it",
			Handler: route.FaultyBody(route.Large, h.validate),
		},
		{
			ID:      "importJobs",
			Pattern: "POST /v1/jobs/import",
			Who:     route.User(pleat.ScopeSubmit),
			Summary: "Read a job file of another program as jobs, without creating them",
			Handler: route.JSONBody(route.Large, h.importJobs),
		},
		{
			ID:      "exportJob",
			Pattern: "GET /v1/jobs/{id}/export",
			Who:     route.Reader(),
			Summary: "Write a job as a file for another program",
			Handler: route.Streams(openapi.ExportedFile, h.exportJob),
			Query: []openapi.Param{
				{Name: "format", Kind: "JobFileFormat", Doc: "Format of the file."},
				{Name: "as", Kind: "string", Doc: "json: an ExportedJob with notes on what the file cannot express. " +
					"Absent: the file itself, with the number of notes in X-Pleat-Notes."},
			},
		},
		{
			ID:      "getJob",
			Pattern: "GET /v1/jobs/{id}",
			Who:     route.Reader(),
			Cost:    route.CostPoll,
			Summary: "Read everything about a job",
			Query:   runQuery,
			Handler: route.NoBody(h.viewJob),
		},
		{
			ID:      "deleteJob",
			Pattern: "DELETE /v1/jobs/{id}",
			Who:     route.User(pleat.ScopeManage),
			Summary: "Delete a job and its files",
			Handler: route.NoBody(h.deleteJob),
		},
		{
			ID:      "streamJobEvents",
			Pattern: "GET /v1/jobs/{id}/events",
			Who:     route.Reader(),
			Summary: "Stream the events of a job's latest run",
			Handler: route.EventStream(openapi.RunEvents, h.jobEvents),
			Headers: []openapi.Param{route.LastEventHeader},
		},
		{
			ID:      "downloadJobArchive",
			Pattern: "GET /v1/jobs/{id}/archive.zip",
			Who:     route.Reader(),
			Summary: "Download all files of a run of a job",
			Query:   runQuery,
			Handler: route.Streams(openapi.Binary("application/zip", "A zip archive."), h.archive),
			Errors:  []int{409},
		},
		{
			ID:      "listJobContacts",
			Pattern: "GET /v1/jobs/{id}/contacts",
			Who:     route.Reader(),
			Summary: "List the contacts between the chains of a result",
			Query:   contactQuery,
			Handler: route.NoBody(h.contacts),
			Errors:  []int{409},
		},
		{
			ID:      "downloadJobContacts",
			Pattern: "GET /v1/jobs/{id}/contacts.csv",
			Who:     route.Reader(),
			Summary: "Download the contacts between the chains of a result as CSV",
			Query:   contactQuery,
			Handler: route.Answers(openapi.Text("text/csv", "The table."), h.contactsFile),
			Errors:  []int{409},
		},
		{
			ID:      "downloadChimeraXScript",
			Pattern: "GET /v1/jobs/{id}/view.cxc",
			Who:     route.Reader(),
			Summary: "Download a script that shows a result in ChimeraX",
			Query:   structureQuery,
			Handler: route.Answers(openapi.Text("text/plain", "The script."),
				h.viewFile("cxc", "text/plain; charset=utf-8")),
			Errors: []int{409},
		},
		{
			ID:      "downloadPyMOLScript",
			Pattern: "GET /v1/jobs/{id}/view.pml",
			Who:     route.Reader(),
			Summary: "Download a script that shows a result in PyMOL",
			Query:   structureQuery,
			Handler: route.Answers(openapi.Text("text/plain", "The script."),
				h.viewFile("pml", "text/plain; charset=utf-8")),
			Errors: []int{409},
		},
		{
			ID:      "downloadMolViewSpec",
			Pattern: "GET /v1/jobs/{id}/view.mvsj",
			Who:     route.Reader(),
			Summary: "Download a state that shows a result in Mol*",
			Query:   structureQuery,
			Handler: route.Answers(openapi.AnyObject, h.viewFile("mvsj", "application/json")),
			Errors:  []int{409},
		},
		{
			ID:      "setJobVisibility",
			Pattern: "PATCH /v1/jobs/{id}/public",
			Who:     route.User(pleat.ScopeManage),
			Summary: "Make a job public or private",
			Handler: route.JSONBody(route.Small, h.setPublic),
		},
		{
			ID:      "cancelJob",
			Pattern: "POST /v1/jobs/{id}/cancel",
			Who:     route.User(pleat.ScopeSubmit),
			Summary: "Cancel a job",
			Handler: route.NoBody(h.cancelJob),
			Errors:  []int{409},
		},
		{
			ID:      "rerunJob",
			Pattern: "POST /v1/jobs/{id}/runs",
			Who:     route.User(pleat.ScopeSubmit),
			Cost:    route.CostNewWork,
			Summary: "Run a job again",
			Handler: route.OptionalBody(route.Small, h.rerun),
			Errors:  []int{409},
			Headers: []openapi.Param{route.CacheControlHeader},
		},
		{
			Section: "Projects",
			ID:      "moveJob",
			Pattern: "POST /v1/jobs/{id}/move",
			Who:     route.User(pleat.ScopeManage),
			Summary: "Move a job to another project",
			Handler: route.JSONBody(route.Small, h.moveJob),
			Errors:  []int{409},
		},
		{
			ID:      "streamEvents",
			Pattern: "GET /v1/events",
			Who:     route.User(pleat.ScopeRead),
			Summary: "Stream the changes of all your jobs and workflows",
			Handler: route.EventStream(openapi.ChangeEvents, h.allEvents),
			Headers: []openapi.Param{route.LastEventHeader},
			Query:   route.InProject,
		},
		{
			ID:      "listModels",
			Pattern: "GET /v1/models",
			Who:     route.Anyone(),
			Summary: "List the models that run here",
			Handler: route.NoBody(h.listModels),
		},
		{
			ID:      "listClasses",
			Pattern: "GET /v1/classes",
			Who:     route.User(pleat.ScopeRead),
			Summary: "List the classes of workers",
			Handler: route.NoBody(h.listClasses),
		},
		{
			ID:      "downloadArtifact",
			Pattern: "GET /v1/artifacts/{id}/{name}",
			Who:     route.Open(),
			Cost:    route.CostOpen,
			Summary: "Download a file by its signed link",
			Handler: route.Streams(openapi.Binary("application/octet-stream", "The file, with its own media type."),
				h.artifact),
			Errors: []int{401},
			Query: route.SignatureParams(
				"When the link expires, in seconds since 1970; absent from links to public files."),
		},
	})
}
