package server

import (
	"cmp"
	"context"
	"iter"
	"maps"
	"strings"

	"pleat"
	"pleat/api"
	"pleat/internal/batch"
	"pleat/internal/server/wire"
	"pleat/internal/store/batches"
	"pleat/internal/store/runs"
	"pleat/internal/submit"
	"pleat/internal/tracing"
)

// rerunBody reads what is to differ in a batch that is run again.
func rerunBody(s *Server, c *call) (body []byte, done func(), err error) {
	return s.readBody(c, small(s))
}

// rerunBatch is POST /v1/batches/{id}/rerun, for the owner: a new batch of the same rows with other parameters. An
// Idempotency-Key works as in createBatch.
func (s *Server) rerunBatch(
	ctx context.Context, c *call, in *api.RerunBatch, unfit error,
) (api.CreatedBatch, error) {
	if unfit != nil {
		return api.CreatedBatch{}, unfit
	}
	id, err := ownedBatch(c)
	if err != nil {
		return api.CreatedBatch{}, err
	}
	key, err := idempotencyKey(c.r)
	if err != nil {
		return api.CreatedBatch{}, err
	}
	digest, err := digestOf(in, "rerun "+string(id))
	if err != nil {
		return api.CreatedBatch{}, err
	}
	b, err := s.store.Batches.Batch(ctx, id)
	if err == nil {
		err = s.enterOwner(ctx, c, b.Owner, pleat.ErrBatchNotFound)
	}
	if err != nil {
		return api.CreatedBatch{}, err
	}
	if in.Params == nil {
		return api.CreatedBatch{}, pleat.InvalidField("params", " is required; it holds what is to differ")
	}
	params := wire.ToParams(in.Params)
	if params.Model == "" {
		params.Model = b.Model
	}
	m, err := s.model(ctx, &api.Params{ModelName: params.Model})
	if err != nil {
		return api.CreatedBatch{}, err
	}
	if in.IsPublic && !b.Public {
		if err := c.checkReads("publish the rows of a batch"); err != nil {
			return api.CreatedBatch{}, err
		}
	}
	var aligned []runs.ReferencedAlignment
	if a := params.Alignment(); a != "" {
		if err := c.checkReads("use an alignment"); err != nil {
			return api.CreatedBatch{}, err
		}
		if aligned, err = s.resolver.MadeAlignments(ctx, c.in.Project, a); err != nil {
			return api.CreatedBatch{}, err
		}
	}
	n := pleat.Batch{
		Owner:   b.Owner,
		Creator: c.who.User,
		Name:    cmp.Or(in.Name, b.Name),
		Kind:    b.Kind,
		Model:   m.Name,
		Public:  in.IsPublic,
		Source:  id,
		Rows:    b.Rows,
	}
	if err := pleat.CheckName("name", n.Name); err != nil {
		return api.CreatedBatch{}, err
	}
	again := &repeatedBatch{s: s, of: &b, name: n.Name, params: params, model: m, aligned: aligned}
	again.reads = c.checkReads("use a file of the library")
	if err := again.check(ctx); err != nil {
		return api.CreatedBatch{}, err
	}
	made, err := s.store.Batches.CreateBatch(ctx, batches.NewBatch{
		By:      c.cred.Credential,
		Batch:   n,
		Rows:    again.rows(ctx),
		Key:     key,
		Digest:  digest,
		Request: c.id,
		Trace:   tracing.Text(ctx),
	})
	return wire.CreatedBatch(made), s.withRowQuota(ctx, c, err)
}

// repeatedBatch are the rows of a batch with other parameters.
type repeatedBatch struct {
	s      *Server
	of     *pleat.Batch
	name   string // of the new batch
	params pleat.Params
	model  pleat.Model
	// aligned are the alignments that params name.
	aligned []runs.ReferencedAlignment
	// reads says why the key may not use files of the library; nil: it may.
	reads error
}

// each calls fn for every row with its new job until one fails.
func (r *repeatedBatch) each(ctx context.Context, fn func(customID string, job *pleat.Job) error) error {
	return r.s.store.Batches.BatchInputs(ctx, r.of.ID, func(customID string, in batches.RowInput) error {
		name := in.Name
		if name == batch.RowName(r.of.Name, customID) { // it has none of its own
			name = batch.RowName(r.name, customID)
		}
		job := pleat.Job{
			Name:        name,
			Sequences:   in.Sequences,
			Params:      pleat.Params{Model: r.params.Model, Values: maps.Clone(r.params.Values)},
			Constraints: in.Constraints,
		}
		if seed, given := in.Run.Params.Seed(); given {
			if _, other := r.params.Seed(); !other { // the seeds of the rows are not parameters of the batch
				job.Params.Values["seed"] = seed
			}
		}
		if err := job.Validate(r.model); err != nil {
			return unfitRow(customID, err)
		}
		return fn(customID, &job)
	})
}

// unfitRow returns why a row cannot be run again with other parameters.
func unfitRow(customID string, err error) error {
	fault := pleat.ErrorsOf(err)[0]
	if strings.HasPrefix(fault.Field, "params") {
		return err
	}
	return pleat.InvalidField("params", ": the row %q cannot be folded with them: %s", customID, fault.Message)
}

// check validates the rows with the new parameters, and that the key may use the files that they name.
func (r *repeatedBatch) check(ctx context.Context) error {
	return r.each(ctx, func(customID string, job *pleat.Job) error {
		if r.reads != nil && job.NamesFiles() {
			return r.reads
		}
		id := r.params.Alignment()
		if id == "" || r.model.AlignmentUse(job.Params, job.Sequences) == pleat.NoAlignments {
			return nil
		}
		if err := submit.CheckUsed(id, r.aligned, pleat.Proteins(job.Sequences)); err != nil {
			return unfitRow(customID, err)
		}
		return nil
	})
}

// rows yields the rows for the store, after check has accepted them.
func (r *repeatedBatch) rows(ctx context.Context) iter.Seq2[batches.NewRow, error] {
	return func(yield func(batches.NewRow, error) bool) {
		stopped := false
		err := r.each(ctx, func(customID string, job *pleat.Job) error {
			digest, _ := rowDigest(job)
			if stopped = !yield(newRow(customID, job, r.model, false, digest), nil); stopped {
				return context.Canceled
			}
			return nil
		})
		if err != nil && !stopped {
			yield(batches.NewRow{}, err)
		}
	}
}
