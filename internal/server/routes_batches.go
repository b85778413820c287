package server

import (
	"slices"

	"pleat"
	"pleat/internal/batch"
	"pleat/internal/server/openapi"
)

// tableParams are the parameters of the table of a batch.
var tableParams = []openapi.Param{
	{Name: "sort", Kind: "string", Doc: "Name of a score, with :asc or :desc; without them the better values come " +
		"first. Rows that lack the score come last. Absent: the order in which the rows were given."},
	{Name: "filter", Kind: "string", Doc: "Conditions that are joined by commas, such as " +
		"meanPLDDT>=80,status=COMPLETED. The operators are >=, <=, >, <, = and !=. customId=TEXT selects the row of " +
		"that id, customId~TEXT those whose id has the text, in capitals or not."},
	{Name: "rows", Kind: "string", Doc: "Numbers of rows that are joined by commas, at most 100. Absent: all rows."},
}

// batchRoutes are the routes of batches. Every path under /v1/batches/{id} answers 404 for a batch that the caller may
// not read, and for one that does not exist.
var batchRoutes = inSection("Batches", []route{
	{
		id:       "createBatch",
		pattern:  "POST /v1/batches",
		access:   user,
		verified: true,
		scope:    pleat.ScopeSubmit,
		grows:    true,
		summary:  "Create a batch of jobs",
		handler:  batchBody(newBatchBody, (*Server).createBatch),
		errors:   []int{409},
		headers:  []openapi.Param{idempotencyHeader, cacheControlHeader},
	},
	{
		id:      "validateBatch",
		pattern: "POST /v1/batches/validate",
		access:  user,
		scope:   pleat.ScopeSubmit,
		summary: "Check a batch without creating it",
		handler: batchBody(newBatchBody, (*Server).validateBatch),
	},
	{
		id:      "listBatches",
		pattern: "GET /v1/batches",
		access:  user,
		scope:   pleat.ScopeRead,
		summary: "List your batches, newest first",
		handler: noBody((*Server).listBatches),
		query:   append(append(pageOf(50), inProject...), byCreator),
	},
	{
		id:      "getBatch",
		pattern: "GET /v1/batches/{id}",
		access:  reader,
		scope:   pleat.ScopeRead,
		counted: asPoll,
		summary: "Read a batch with the states of its rows",
		handler: noBody((*Server).viewBatch),
	},
	{
		id:      "listBatchRows",
		pattern: "GET /v1/batches/{id}/rows",
		access:  reader,
		scope:   pleat.ScopeRead,
		summary: "Read a page of a batch's table",
		handler: noBody((*Server).batchRows),
		query: append(slices.Clip(tableParams),
			openapi.Param{Name: "limit", Kind: "integer", Doc: "1 to 1000; 100 by default."},
			openapi.Param{Name: "cursor", Kind: "string", Doc: "next_cursor of the previous page."}),
	},
	{
		id:      "downloadBatchCSV",
		pattern: "GET /v1/batches/{id}/table.csv",
		access:  reader,
		scope:   pleat.ScopeRead,
		summary: "Download a batch's table as CSV",
		handler: streams(openapi.Text("text/csv", "The table. A text that a spreadsheet would take for a formula "+
			"begins with an apostrophe."), tableFile(".csv", "text/csv; charset=utf-8", batch.NewCSV)),
		query: tableParams,
	},
	{
		id:      "downloadBatchJSONL",
		pattern: "GET /v1/batches/{id}/table.jsonl",
		access:  reader,
		scope:   pleat.ScopeRead,
		summary: "Download a batch's table as JSON Lines",
		handler: streams(openapi.Text("application/jsonl", "One row in each line, like those of "+
			"GET /v1/batches/{id}/rows."), tableFile(".jsonl", "application/jsonl", batch.NewJSONL)),
		query: tableParams,
	},
	{
		id:      "downloadBatchParquet",
		pattern: "GET /v1/batches/{id}/table.parquet",
		access:  reader,
		scope:   pleat.ScopeRead,
		summary: "Download a batch's table as Parquet",
		handler: streams(openapi.Binary("application/vnd.apache.parquet", "The table."),
			tableFile(".parquet", "application/vnd.apache.parquet", batch.NewParquet)),
		query: tableParams,
	},
	{
		id:      "downloadBatchArchive",
		pattern: "GET /v1/batches/{id}/archive.zip",
		access:  reader,
		scope:   pleat.ScopeRead,
		summary: "Download the structures of a batch's completed rows",
		handler: streams(openapi.Binary("application/zip", "A zip archive."), (*Server).batchArchive),
		query:   tableParams,
	},
	{
		id:      "streamBatchEvents",
		pattern: "GET /v1/batches/{id}/events",
		access:  reader,
		scope:   pleat.ScopeRead,
		summary: "Stream the counts of a batch",
		handler: eventStream(openapi.BatchEvents, (*Server).batchEventStream),
	},
	{
		id:      "cancelBatch",
		pattern: "POST /v1/batches/{id}/cancel",
		access:  user,
		scope:   pleat.ScopeSubmit,
		summary: "Stop the rows of a batch that have not ended",
		handler: noBody((*Server).cancelBatch),
		errors:  []int{409},
	},
	{
		id:      "retryBatch",
		pattern: "POST /v1/batches/{id}/retry-failed",
		access:  user,
		scope:   pleat.ScopeSubmit,
		grows:   true,
		summary: "Run the failed rows of a batch again",
		handler: noBody((*Server).retryBatch),
		errors:  []int{409},
	},
	{
		id:      "rerunBatch",
		pattern: "POST /v1/batches/{id}/rerun",
		access:  user,
		scope:   pleat.ScopeSubmit,
		grows:   true,
		summary: "Create a batch of the same rows with other parameters",
		handler: batchBody(rerunBody, (*Server).rerunBatch),
		errors:  []int{409},
		headers: []openapi.Param{idempotencyHeader},
	},
	{
		id:      "setBatchPublic",
		pattern: "PATCH /v1/batches/{id}/public",
		access:  user,
		scope:   pleat.ScopeManage,
		summary: "Make a batch public or private",
		handler: jsonBody(small, (*Server).setBatchPublic),
	},
	{
		id:      "deleteBatch",
		pattern: "DELETE /v1/batches/{id}",
		access:  user,
		scope:   pleat.ScopeManage,
		summary: "Delete a batch with its jobs and files",
		handler: noBody((*Server).deleteBatch),
	},
})
