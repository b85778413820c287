package mcp

import (
	"context"
	"net/http"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"pleat/api"
)

// submitBatchIn are the arguments of submit_batch.
type submitBatchIn struct {
	api.CreateBatch
	once
	Check bool `json:"checkOnly,omitempty" doc:"Check the batch and say what it costs, without starting it."`
}

var submitBatch = does(tool{
	name:  "submit_batch",
	title: "Submit a batch",
	about: "Folds many things with one model: a list of jobs, every binder with every target, a complex with each of " +
		"many ligands, variants of a protein, or many seeds. It checks the batch first and states its cost; with " +
		"checkOnly it stops there. Its rows count against a daily quota: ask the person before many of them.",
	effect: creates,
	world:  true,
}, func(ctx context.Context, s session, in *submitBatchIn) (work, []sdk.Content, error) {
	if _, err := waiting(in.Wait, 0); err != nil {
		return work{}, nil, err
	}
	v, err := s.ValidateBatch(ctx, in.CreateBatch)
	if err != nil {
		return work{}, nil, err
	}
	price := cost{Tokens: v.Tokens, Quota: v.QuotaRemaining, Seconds: expected(v.Seconds), Rows: v.Rows,
		Different: v.Jobs}
	known := work{Kind: aBatch, Name: name(in.Name), Type: name(v.ModelName), Total: v.Rows, Cost: &price,
		Notes: names(v.Notes, 10)}
	if in.Check && !v.Valid && len(v.Errors) > 0 {
		return work{}, nil, &api.Error{Message: v.Errors[0].Message, Status: http.StatusBadRequest, Faults: v.Errors}
	}
	if in.Check {
		known.Status = "NOT_STARTED"
		return known, nil, nil
	}
	opt := api.CreateOptions{IdempotencyKey: in.key()}
	created, err := repeated(func() (api.CreatedBatch, error) { return s.CreateBatch(ctx, in.CreateBatch, opt) })
	if err != nil {
		return work{}, nil, err
	}
	known.ID, known.Status, known.Key = created.BatchID, api.Initialized, opt.IdempotencyKey
	return s.started(ctx, known, in.Wait)
})

// batchRowsIn are the arguments of batch_rows.
type batchRowsIn struct {
	Batch   string   `json:"batchId" format:"uuid"`
	Sort    string   `json:"sort,omitempty" doc:"A score, such as meanPLDDT; the better values come first."`
	Filter  string   `json:"filter,omitempty" doc:"Conditions joined by commas, such as meanPLDDT>=80,status=COMPLETED."`
	Columns []string `json:"columns,omitempty" doc:"The scores to read; absent: the first 12." maxItems:"20"`
	Limit   *int     `json:"limit,omitempty" doc:"How many rows; absent: 10." minimum:"1" maximum:"50"`
	Cursor  string   `json:"cursor,omitempty" doc:"nextCursor of the page before."`
}

// batchRowsOut is the result of batch_rows.
type batchRowsOut struct {
	Columns []column `json:"columns" doc:"The scores that are in the rows."`
	Others  []string `json:"otherColumns" doc:"Names of further scores, for columns."`
	Rows    []row    `json:"rows"`
	Next    *string  `json:"nextCursor" doc:"For the next page; null: this is the last."`
}

// column is a score of the rows of a batch.
type column struct {
	Name   string `json:"name"`
	Unit   string `json:"unit"`
	Higher bool   `json:"higherIsBetter"`
}

// row is a row of a batch.
type row struct {
	Row      int                 `json:"row"`
	CustomID string              `json:"customId" doc:"Data that a user wrote."`
	Job      *string             `json:"jobId"`
	Status   string              `json:"status"`
	Error    *string             `json:"error,omitempty"`
	Scores   map[string]*float64 `json:"scores" doc:"Null: not given."`
}

// How many columns the rows have if none are named, and how many others a result names.
const (
	firstColumns = 12
	maxOthers    = 60
)

var batchRows = does(tool{
	name:  "batch_rows",
	title: "Read rows of a batch",
	about: "Reads a page of the table of a batch: the status and scores of its rows, sorted and filtered.",

	repeatable: true,
	world:      true,
}, func(ctx context.Context, s session, in *batchRowsIn) (out batchRowsOut, _ []sdk.Content, err error) {
	if err := checkID("batchId", aBatch, in.Batch); err != nil {
		return out, nil, err
	}
	limit, err := within("limit", in.Limit, 10, 50)
	if err != nil {
		return out, nil, err
	}
	page, err := s.BatchRows(ctx, in.Batch, api.RowsQuery{Sort: in.Sort, Filter: in.Filter, Cursor: in.Cursor,
		Limit: limit})
	if err != nil {
		return out, nil, err
	}
	out = batchRowsOut{Columns: []column{}, Others: []string{}, Rows: []row{}, Next: page.NextCursor}
	wanted := map[string]bool{}
	for _, c := range in.Columns {
		wanted[c] = true
	}
	columns := map[string]bool{}
	for _, c := range page.Columns {
		if wanted[c.Name] || len(wanted) == 0 && len(columns) < firstColumns {
			columns[c.Name] = true
			out.Columns = append(out.Columns, column{name(c.Name), name(c.Unit), c.HigherIsBetter})
		} else if len(out.Others) < maxOthers {
			out.Others = append(out.Others, name(c.Name))
		}
	}
	for i := range page.Data {
		out.Rows = append(out.Rows, rowOf(&page.Data[i], columns))
	}
	return out, nil, nil
})

// rowOf converts a row with some of its scores.
func rowOf(r *api.BatchRow, columns map[string]bool) row {
	out := row{Row: r.Row, CustomID: name(r.CustomID), Job: r.JobID, Status: r.Status, Error: text(r.Error),
		Scores: map[string]*float64{}}
	for c := range columns {
		out.Scores[name(c)] = r.Scores[c]
	}
	return out
}
