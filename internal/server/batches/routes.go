package batches

import (
	"slices"

	"pleat"
	"pleat/internal/batch"
	"pleat/internal/server/openapi"
	"pleat/internal/server/route"
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

// Routes returns the routes of batches. Every path under /v1/batches/{id} answers 404 for a batch that the caller may
// not read, and for one that does not exist.
func (h *Handlers) Routes() []route.Route {
	return route.InSection("Batches", []route.Route{
		{
			ID:      "createBatch",
			Pattern: "POST /v1/batches",
			Who:     route.User(pleat.ScopeSubmit).CheckedByStore(),
			Cost:    route.CostNewWork,
			Summary: "Create a batch of jobs",
			Handler: batchBody(h.turns, h.newBody, h.createBatch),
			Errors:  []int{409},
			Headers: []openapi.Param{route.IdempotencyHeader, route.CacheControlHeader},
		},
		{
			ID:      "validateBatch",
			Pattern: "POST /v1/batches/validate",
			Who:     route.User(pleat.ScopeSubmit),
			Summary: "Check a batch without creating it",
			Handler: batchBody(h.turns, h.newBody, h.validateBatch),
		},
		{
			ID:      "listBatches",
			Pattern: "GET /v1/batches",
			Who:     route.User(pleat.ScopeRead),
			Summary: "List your batches, newest first",
			Handler: route.NoBody(h.listBatches),
			Query:   append(append(route.PageParams(50), route.InProject...), route.ByCreator),
		},
		{
			ID:      "getBatch",
			Pattern: "GET /v1/batches/{id}",
			Who:     route.Reader(),
			Cost:    route.CostPoll,
			Summary: "Read a batch with the states of its rows",
			Handler: route.NoBody(h.viewBatch),
		},
		{
			ID:      "listBatchRows",
			Pattern: "GET /v1/batches/{id}/rows",
			Who:     route.Reader(),
			Summary: "Read a page of a batch's table",
			Handler: route.NoBody(h.batchRows),
			Query: append(slices.Clip(tableParams),
				openapi.Param{Name: "limit", Kind: "integer", Doc: "1 to 1000; 100 by default."},
				openapi.Param{Name: "cursor", Kind: "string", Doc: "next_cursor of the previous page."}),
		},
		{
			ID:      "downloadBatchCSV",
			Pattern: "GET /v1/batches/{id}/table.csv",
			Who:     route.Reader(),
			Summary: "Download a batch's table as CSV",
			Handler: route.Streams(openapi.Text("text/csv", "The table. A text that a spreadsheet would take for a "+
				"formula begins with an apostrophe."), h.tableFile(".csv", "text/csv; charset=utf-8", batch.NewCSV)),
			Query: tableParams,
		},
		{
			ID:      "downloadBatchJSONL",
			Pattern: "GET /v1/batches/{id}/table.jsonl",
			Who:     route.Reader(),
			Summary: "Download a batch's table as JSON Lines",
			Handler: route.Streams(openapi.Text("application/jsonl", "One row in each line, like those of "+
				"GET /v1/batches/{id}/rows."), h.tableFile(".jsonl", "application/jsonl", batch.NewJSONL)),
			Query: tableParams,
		},
		{
			ID:      "downloadBatchParquet",
			Pattern: "GET /v1/batches/{id}/table.parquet",
			Who:     route.Reader(),
			Summary: "Download a batch's table as Parquet",
			Handler: route.Streams(openapi.Binary("application/vnd.apache.parquet", "The table."),
				h.tableFile(".parquet", "application/vnd.apache.parquet", batch.NewParquet)),
			Query: tableParams,
		},
		{
			ID:      "downloadBatchArchive",
			Pattern: "GET /v1/batches/{id}/archive.zip",
			Who:     route.Reader(),
			Summary: "Download the structures of a batch's completed rows",
			Handler: route.Streams(openapi.Binary("application/zip", "A zip archive."), h.batchArchive),
			Query:   tableParams,
		},
		{
			ID:      "streamBatchEvents",
			Pattern: "GET /v1/batches/{id}/events",
			Who:     route.Reader(),
			Summary: "Stream the counts of a batch",
			Handler: route.EventStream(openapi.BatchEvents, h.batchEventStream),
		},
		{
			ID:      "cancelBatch",
			Pattern: "POST /v1/batches/{id}/cancel",
			Who:     route.User(pleat.ScopeSubmit),
			Summary: "Stop the rows of a batch that have not ended",
			Handler: route.NoBody(h.cancelBatch),
			Errors:  []int{409},
		},
		{
			ID:      "retryBatch",
			Pattern: "POST /v1/batches/{id}/retry-failed",
			Who:     route.User(pleat.ScopeSubmit),
			Cost:    route.CostNewWork,
			Summary: "Run the failed rows of a batch again",
			Handler: route.NoBody(h.retryBatch),
			Errors:  []int{409},
		},
		{
			ID:      "rerunBatch",
			Pattern: "POST /v1/batches/{id}/rerun",
			Who:     route.User(pleat.ScopeSubmit),
			Cost:    route.CostNewWork,
			Summary: "Create a batch of the same rows with other parameters",
			Handler: batchBody(h.turns, h.rerunBody, h.rerunBatch),
			Errors:  []int{409},
			Headers: []openapi.Param{route.IdempotencyHeader},
		},
		{
			ID:      "setBatchPublic",
			Pattern: "PATCH /v1/batches/{id}/public",
			Who:     route.User(pleat.ScopeManage),
			Summary: "Make a batch public or private",
			Handler: route.JSONBody(route.Small, h.setBatchPublic),
		},
		{
			ID:      "deleteBatch",
			Pattern: "DELETE /v1/batches/{id}",
			Who:     route.User(pleat.ScopeManage),
			Summary: "Delete a batch with its jobs and files",
			Handler: route.NoBody(h.deleteBatch),
		},
	})
}
