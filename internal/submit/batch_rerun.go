package submit

import (
	"cmp"
	"context"
	"iter"
	"maps"
	"strings"

	"pleat"
	"pleat/internal/batch"
	"pleat/internal/store/batches"
	"pleat/internal/store/runs"
)

// BatchRerun is a request to run the rows of a batch again with other parameters, as a new batch.
type BatchRerun struct {
	Batch  *pleat.Batch
	Params pleat.Params // Values are nil if the request has none; an empty Model is that of the batch
	Name   string       // empty: that of the batch
	Public bool
}

// RerunBatch checks the rows of a batch with other parameters, and returns them as a new batch. An
// error has CodeInvalid or CodeForbidden, unless it is the store's.
func (r *Resolver) RerunBatch(ctx context.Context, by Caller, q BatchRerun) (batches.NewBatch, error) {
	if q.Params.Values == nil {
		return batches.NewBatch{}, pleat.InvalidField("params", " is required; it holds what is to differ")
	}
	params := q.Params
	params.Model = cmp.Or(params.Model, q.Batch.Model)
	m, err := r.foldModel(ctx, q.Batch.Owner, params.Model)
	if err != nil {
		return batches.NewBatch{}, err
	}
	if q.Public && !q.Batch.Public {
		if err := by.CheckReads("publish the rows of a batch"); err != nil {
			return batches.NewBatch{}, err
		}
	}
	again := &repeatedBatch{
		store:  r.Batches,
		source: q.Batch,
		name:   cmp.Or(q.Name, q.Batch.Name),
		params: params,
		model:  m,
	}
	if a := params.Alignment(); a != "" {
		if err := by.CheckReads("use an alignment"); err != nil {
			return batches.NewBatch{}, err
		}
		if again.aligned, err = r.searchedAlignments(ctx, by.In.Project, a); err != nil {
			return batches.NewBatch{}, err
		}
	}
	if err := pleat.CheckName("name", again.name); err != nil {
		return batches.NewBatch{}, err
	}
	again.readErr = by.CheckReads("use a file of the library")
	if err := again.check(ctx); err != nil {
		return batches.NewBatch{}, err
	}
	return by.newBatch(pleat.Batch{
		Owner:   q.Batch.Owner,
		Creator: by.In.User,
		Name:    again.name,
		Kind:    q.Batch.Kind,
		Model:   m.Name,
		Public:  q.Public,
		Source:  q.Batch.ID,
		Rows:    q.Batch.Rows,
	}, again.rows(ctx)), nil
}

// repeatedBatch is the rows of a batch with other parameters.
type repeatedBatch struct {
	store   *batches.Store
	source  *pleat.Batch
	name    string // of the new batch
	params  pleat.Params
	model   pleat.Model
	aligned []runs.ReferencedAlignment // the alignments that params name
	readErr error                      // why the key may not use files of the library; nil: it may
}

// each calls fn for every row with its new job until one fails.
func (b *repeatedBatch) each(ctx context.Context, fn func(customID string, job *pleat.Job) error) error {
	return b.store.BatchInputs(ctx, b.source.ID, func(customID string, in batches.RowInput) error {
		name := in.Name
		if name == batch.RowName(b.source.Name, customID) { // it has none of its own
			name = batch.RowName(b.name, customID)
		}
		job := pleat.Job{
			Name:        name,
			Sequences:   in.Sequences,
			Params:      pleat.Params{Model: b.params.Model, Values: maps.Clone(b.params.Values)},
			Constraints: in.Constraints,
		}
		if seed, ok := in.Run.Params.Seed(); ok {
			if _, overridden := b.params.Seed(); !overridden { // the seeds of the rows are not parameters of the batch
				job.Params.Values["seed"] = seed
			}
		}
		if err := job.Validate(b.model); err != nil {
			return rowError(customID, err)
		}
		return fn(customID, &job)
	})
}

// rowError returns why a row cannot be run again with other parameters.
func rowError(customID string, err error) error {
	fault := pleat.ErrorsOf(err)[0]
	if strings.HasPrefix(fault.Field, "params") {
		return err
	}
	return pleat.InvalidField("params", ": the row %q cannot be folded with them: %s", customID, fault.Message)
}

// check validates the rows with the new parameters, and that the key may use the files that they name.
func (b *repeatedBatch) check(ctx context.Context) error {
	return b.each(ctx, func(customID string, job *pleat.Job) error {
		if b.readErr != nil && job.NamesFiles() {
			return b.readErr
		}
		id := b.params.Alignment()
		if id == "" || b.model.AlignmentUse(job.Params, job.Sequences) == pleat.NoAlignments {
			return nil
		}
		if err := checkUsed(id, b.aligned, pleat.Proteins(job.Sequences)); err != nil {
			return rowError(customID, err)
		}
		return nil
	})
}

// rows yields the rows for the store, after check has accepted them.
func (b *repeatedBatch) rows(ctx context.Context) iter.Seq2[batches.NewRow, error] {
	return func(yield func(batches.NewRow, error) bool) {
		stopped := false
		err := b.each(ctx, func(customID string, job *pleat.Job) error {
			digest, _ := rowDigest(job)
			if stopped = !yield(newRow(customID, job, b.model, false, digest), nil); stopped {
				return context.Canceled
			}
			return nil
		})
		if err != nil && !stopped {
			yield(batches.NewRow{}, err)
		}
	}
}
