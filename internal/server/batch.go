package server

import (
	"context"
	"errors"
	"time"

	"pleat"
	"pleat/api"
	"pleat/internal/server/openapi"
	"pleat/internal/server/wire"
	"pleat/internal/store/batches"
	"pleat/internal/store/people"
	"pleat/internal/store/runs"
	"pleat/internal/submit"
)

const (
	// maxBatchBody bounds the body of a batch, in bytes.
	maxBatchBody = submit.MaxBatchText
	// batchTime bounds the creation and the check of a batch.
	batchTime = 5 * time.Minute
)

// batchBody is jsonBody for the creation and the check of a batch, whose body may be larger and whose work may take
// longer than those of other requests. Unfit is why the body is not one; only a body that is not JSON is refused
// before. A node checks one batch at a time, since a large one needs much memory, and users take turns.
func batchBody[In, Out any](
	read func(s *Server, c *call) (body []byte, done func(), err error),
	fn func(s *Server, ctx context.Context, c *call, in *In, unfit error) (Out, error),
) endpoint {
	return endpoint{
		request:     openapi.JSONRequest[In](),
		response:    openapi.JSON[Out](),
		ownDeadline: true,
		serve: func(s *Server, ctx context.Context, c *call) error {
			if c.r.ContentLength == 0 {
				return pleat.Invalidf("the request body is empty; it must be a JSON object")
			}
			body, done, err := read(s, c)
			defer done()
			if err != nil {
				return err
			}
			c.deadline(batchTime + time.Minute)
			ctx, cancel := context.WithTimeout(ctx, batchTime)
			defer cancel()
			if err := s.batches.Acquire(ctx, c.who.User); err != nil {
				return err
			}
			defer s.batches.Release(c.who.User)
			in := new(In)
			unfit := api.Decode(body, in)
			var all api.DecodeErrors
			if errors.As(unfit, &all) && all[0].Unreadable {
				return unfit
			}
			out, err := fn(s, ctx, c, in, unfit)
			if err != nil {
				return err
			}
			return c.json(out)
		},
	}
}

// newBatchBody reads the description of a batch.
func newBatchBody(s *Server, c *call) (body []byte, done func(), err error) {
	return readBodyOf(c, maxBatchBody, &s.batchBodies)
}

// createBatch is POST /v1/batches, for any user: it validates all rows of a batch and stores it, whole or not at all.
// Its jobs are queued after that, in their order. The rows count against a quota of their own. An Idempotency-Key works
// as in createJob. 400: a field is wrong, whose name says in which row; 409: the key came with another body; 429: the
// quota of the day is used up.
func (s *Server) createBatch(
	ctx context.Context, c *call, in *api.CreateBatch, unfit error,
) (api.CreatedBatch, error) {
	if unfit != nil {
		return api.CreatedBatch{}, unfit
	}
	key, err := idempotencyKey(c.r)
	if err != nil {
		return api.CreatedBatch{}, err
	}
	if err := s.enterNamed(ctx, c, in.ProjectID); err != nil {
		return api.CreatedBatch{}, err
	}
	digest, err := digestOf(in, "")
	if err != nil {
		return api.CreatedBatch{}, err
	}
	b, err := s.resolver.Batch(ctx, s.submitter(ctx, c), batchRequest(c, in))
	if err != nil {
		return api.CreatedBatch{}, err
	}
	b.By, b.Key, b.Digest = c.cred.Credential, key, digest
	made, err := s.store.Batches.CreateBatch(ctx, b.NewBatch)
	out := wire.CreatedBatch(made)
	out.Notes = append(out.Notes, b.Notes...)
	return out, s.withRowQuota(ctx, c, err)
}

// batchRequest decodes a request for a batch.
func batchRequest(c *call, in *api.CreateBatch) submit.BatchRequest {
	spec, err := wire.ToBatch(in)
	return submit.BatchRequest{
		Spec:      spec,
		DecodeErr: err,
		Content:   wire.ToContent(in.Content, in.Format, in.Files),
		HasJobs:   in.Jobs != nil,
		Webhooks:  in.Webhooks,
		Public:    in.IsPublic,
		Fresh:     bypassesCache(c.r),
	}
}

// withRowQuota sets Retry-After if err says that the quota of rows is used up, and returns err.
func (s *Server) withRowQuota(ctx context.Context, c *call, err error) error {
	if pleat.CodeOf(err) != pleat.CodeLimited {
		return err
	}
	u, uerr := s.store.People.Usage(ctx, c.in)
	if uerr != nil {
		return uerr
	}
	retryAfter(c.w.Header(), u.BatchRows.Reset.Sub(s.clock()))
	return err
}

// validateBatch is POST /v1/batches/validate, for any user: it makes all checks of createBatch, creates nothing, and
// says what the batch comes to. A batch with faults is a success here, whose response lists the first 100; an exhausted
// quota is one of them.
func (s *Server) validateBatch(
	ctx context.Context, c *call, in *api.CreateBatch, unfit error,
) (api.BatchValidation, error) {
	out := api.BatchValidation{Errors: []api.FieldError{}, Notes: []string{}}
	if err := s.enterNamed(ctx, c, in.ProjectID); err != nil {
		return out, err
	}
	usage, err := s.store.People.Usage(ctx, c.in)
	if err != nil {
		return out, err
	}
	used := usage.BatchRows
	out.QuotaRemaining = max(0, used.Limit-used.Used)
	if err = unfit; err == nil {
		var b *submit.NewBatch
		if b, err = s.resolver.Batch(ctx, s.submitter(ctx, c), batchRequest(c, in)); b != nil {
			out.Notes = append(out.Notes, b.Notes...)
			out.ModelName, out.Rows, out.Jobs = b.Batch.Model, b.Sum.Rows, b.Sum.Jobs
			out.Tokens, out.LargestTokens, out.Seconds = b.Sum.Tokens, b.Sum.Largest, b.Sum.Seconds
			proteins := b.Sum.Proteins()
			out.Alignments = len(proteins)
			if err == nil {
				out.AlignmentsAtHand, err = s.store.Runs.CountAlignments(ctx, c.in.Project, proteins)
			}
		}
		if err != nil && pleat.CodeOf(err) != pleat.CodeInvalid {
			return out, err
		}
	}
	if err == nil {
		err = s.store.Runs.CheckBudget(ctx, c.in, runs.RunSpec{
			Model: out.ModelName, Expected: time.Duration(out.Seconds * float64(time.Second)),
		})
		if err != nil && pleat.CodeOf(err) != pleat.CodeLimited {
			return out, err
		}
	}
	out.Errors = append(out.Errors, fieldErrors(err)...)
	if out.Rows > out.QuotaRemaining {
		out.Errors = append(out.Errors, fieldErrors(pleat.ErrBatchQuota(used.Limit, used.Used, out.Rows))...)
	}
	out.Valid = len(out.Errors) == 0
	return out, nil
}

// listBatches is GET /v1/batches, for any user: the caller's own batches, newest first, in pages.
func (s *Server) listBatches(ctx context.Context, c *call) (api.List[api.Batch], error) {
	p, err := pageQuery(c.r, 50)
	if err != nil {
		return api.List[api.Batch]{}, err
	}
	f := batches.BatchFilter{Limit: p.limit + 1, Before: p.before}
	if f.Creator, err = creatorQuery(c); err != nil {
		return api.List[api.Batch]{}, err
	}
	list, err := s.store.Batches.ListBatches(ctx, c.in, f)
	if err != nil {
		return api.List[api.Batch]{}, err
	}
	keep, err := s.store.People.Retention(ctx, c.in.Project)
	if err != nil {
		return api.List[api.Batch]{}, err
	}
	return listOf(p, list, func(b *pleat.Batch) string { return string(b.ID) }, func(b *pleat.Batch) api.Batch {
		out := wire.Batch(b, wire.ForOwner)
		out.ExpiresAt = wire.OptionalTime(people.Expiry(b.EndedAt, keep))
		return out
	}), nil
}

// batchFor is a batch as its readers see it.
func (s *Server) batchFor(ctx context.Context, b *pleat.Batch, to wire.Audience) (api.Batch, error) {
	out := wire.Batch(b, to)
	if b.EndedAt.IsZero() {
		return out, nil
	}
	keep, err := s.store.People.Retention(ctx, b.Owner)
	out.ExpiresAt = wire.OptionalTime(people.Expiry(b.EndedAt, keep))
	return out, err
}

// viewBatch is GET /v1/batches/{id}, for readers of the batch.
func (s *Server) viewBatch(ctx context.Context, c *call) (api.Batch, error) {
	b, to, err := s.readableBatch(ctx, c)
	if err != nil {
		return api.Batch{}, err
	}
	return s.batchFor(ctx, &b, to)
}

// readableBatch reads the batch in the path and checks that the caller may read it, as readableJob does.
func (s *Server) readableBatch(ctx context.Context, c *call) (pleat.Batch, wire.Audience, error) {
	id, err := c.uuid("id", pleat.ErrBatchNotFound)
	if err != nil {
		return pleat.Batch{}, 0, s.preferUnauthorized(ctx, c, err)
	}
	b, err := s.store.Batches.BatchHead(ctx, pleat.BatchID(id))
	if pleat.CodeOf(err) == pleat.CodeNotFound {
		err = s.preferUnauthorized(ctx, c, err)
	}
	if err != nil {
		return pleat.Batch{}, 0, err
	}
	to, err := s.audienceOf(ctx, c, owned{pleat.Source{Batch: b.ID}, b.Owner, b.Public, pleat.ErrBatchNotFound})
	if err != nil {
		return pleat.Batch{}, 0, err
	}
	return b, to, s.rowCounts.read(ctx, s.store, &b)
}

// ownedBatch returns the batch id of a path on which only the owner may act; the store checks the owner.
func ownedBatch(c *call) (pleat.BatchID, error) {
	id, err := c.uuid("id", pleat.ErrBatchNotFound)
	return pleat.BatchID(id), err
}

// cancelBatch is POST /v1/batches/{id}/cancel, for the owner: rows that have not ended are stopped. 409: it has ended.
func (s *Server) cancelBatch(ctx context.Context, c *call) (api.Batch, error) {
	id, err := ownedBatch(c)
	if err != nil {
		return api.Batch{}, err
	}
	if err := s.store.Batches.CancelBatch(ctx, c.reach(), id); err != nil {
		return api.Batch{}, err
	}
	b, err := s.store.Batches.Batch(ctx, id)
	if err != nil {
		return api.Batch{}, err
	}
	return s.batchFor(ctx, &b, wire.ForOwner)
}

// retryBatch is POST /v1/batches/{id}/retry-failed, for the owner: rows that failed or were stopped run again, with the
// same parameters and seeds, and count against the quota. 409: it has not ended, or no row is to be run again.
func (s *Server) retryBatch(ctx context.Context, c *call) (api.RetriedBatch, error) {
	id, err := ownedBatch(c)
	if err != nil {
		return api.RetriedBatch{}, err
	}
	n, err := s.store.Batches.RetryBatch(ctx, c.reach(), id)
	return api.RetriedBatch{BatchID: string(id), Rows: n}, s.withRowQuota(ctx, c, err)
}

// setBatchPublic is PATCH /v1/batches/{id}/public, for the owner, as setPublic is for a job.
func (s *Server) setBatchPublic(ctx context.Context, c *call, in *api.SetPublic) (api.BatchVisibility, error) {
	id, err := ownedBatch(c)
	if err != nil {
		return api.BatchVisibility{}, err
	}
	if in.IsPublic == nil {
		return api.BatchVisibility{}, pleat.InvalidField("isPublic", " is required; it must be true or false")
	}
	err = s.store.Batches.SetBatchPublic(ctx, c.reach(), id, *in.IsPublic)
	return api.BatchVisibility{BatchID: string(id), IsPublic: *in.IsPublic}, err
}

// deleteBatch is DELETE /v1/batches/{id}, for the owner, in any state of the batch; rows in progress are stopped.
func (s *Server) deleteBatch(ctx context.Context, c *call) (api.DeletedBatch, error) {
	id, err := ownedBatch(c)
	if err != nil {
		return api.DeletedBatch{}, err
	}
	if err := s.store.Batches.DeleteBatch(ctx, c.reach(), id); err != nil {
		return api.DeletedBatch{}, err
	}
	s.removeDeleted(ctx)
	return api.DeletedBatch{BatchID: string(id), Deleted: true}, nil
}
