package batches

import (
	"context"
	"errors"
	"maps"
	"slices"

	"pleat"
	"pleat/internal/store/db"
	"pleat/internal/store/runs"
)

// tableRows reads rows of a batch by their numbers, in the same order, with their jobs and the results of these. It
// reads each table by its keys alone: a join of them may be planned while a table is small, and be slow when it has
// grown.
func (s *Store) tableRows(ctx context.Context, b *pleat.Batch, numbers []int) ([]TableRow, error) {
	out := make([]TableRow, 0, len(numbers))
	for part := range slices.Chunk(numbers, db.MaxStatementRows) {
		r := tablePart{
			batch: b.ID,
			rows:  make([]TableRow, len(part)),
			jobs:  map[int][]int{},
			runs:  map[pleat.RunID][]int{},
		}
		for i, n := range part {
			r.rows[i] = TableRow{Number: n, State: unmadeState(b)}
			if b.Cancelled {
				r.rows[i].Failure = runs.StoppedEarly
			}
		}
		for _, read := range []func(context.Context, *Store) error{r.readRows, r.readJobs, r.readRuns} {
			if err := read(ctx, s); err != nil {
				return nil, err
			}
		}
		out = append(out, r.rows...)
	}
	return out, nil
}

// tablePart are rows of a table that are being read, at most db.MaxStatementRows.
type tablePart struct {
	batch pleat.BatchID
	rows  []TableRow
	jobs  map[int][]int         // places of the rows that have the job of a row
	runs  map[pleat.RunID][]int // places of the rows whose job has a run
}

// readRows reads what the rows were given.
func (r *tablePart) readRows(ctx context.Context, s *Store) error {
	place := map[int]int{}
	var ids []any
	for i := range r.rows {
		place[r.rows[i].Number] = i
		ids = append(ids, r.rows[i].Number)
	}
	return s.eachOf(ctx, "SELECT number, custom_id, same_as FROM batch_row WHERE batch_id = $1 AND number",
		[]any{r.batch}, ids, func(scan func(...any) error) error {
			var number, same int
			var id string
			err := scan(&number, &id, &same)
			to := &r.rows[place[number]]
			to.CustomID, to.First = id, same
			r.jobs[same] = append(r.jobs[same], place[number])
			return err
		})
}

// readJobs reads the jobs of the rows that have one.
func (r *tablePart) readJobs(ctx context.Context, s *Store) error {
	return s.eachOf(ctx, `
		SELECT batch_row, id, name, state, run_id FROM job WHERE batch_id = $1 AND batch_id <> '' AND batch_row`,
		[]any{r.batch}, db.Args(slices.Collect(maps.Keys(r.jobs))), func(scan func(...any) error) error {
			var number int
			var row TableRow
			var run pleat.RunID
			err := scan(&number, &row.Job, &row.Name, &row.State, &run)
			for _, i := range r.jobs[number] {
				to := &r.rows[i]
				to.Job, to.Name, to.State, to.Failure = row.Job, row.Name, row.State, nil
			}
			r.runs[run] = r.jobs[number]
			return err
		})
}

// readRuns reads the results of the jobs' latest runs.
func (r *tablePart) readRuns(ctx context.Context, s *Store) error {
	return s.eachOf(ctx, "SELECT id, result, failure FROM run WHERE id",
		nil, db.Args(slices.Collect(maps.Keys(r.runs))), func(scan func(...any) error) error {
			var run pleat.RunID
			var result, failure string
			if err := scan(&run, &result, &failure); err != nil {
				return err
			}
			var res *pleat.Result
			var why *pleat.Failure
			if err := errors.Join(db.DecodeJSON(result, &res), db.DecodeJSON(failure, &why)); err != nil {
				return err
			}
			for _, i := range r.runs[run] {
				r.rows[i].Scores, r.rows[i].Failure = runs.RowScores(res), why
			}
			return nil
		})
}

// eachOf calls fn for every row of a query that ends with a column, which must be one of ids.
func (s *Store) eachOf(
	ctx context.Context, query string, args, ids []any, fn func(scan func(...any) error) error,
) error {
	if len(ids) == 0 {
		return nil
	}
	rows, err := s.db.Read(ctx, query+" IN ("+db.Params(len(args)+1, db.Padded(len(ids)))+")",
		append(args, db.Pad(ids)...)...)
	return db.ForEachRow(rows, err, fn)
}
