package batches

import (
	"context"
	"errors"
	"time"

	"pleat"
	"pleat/api"
	"pleat/internal/fair"
	"pleat/internal/server/openapi"
	"pleat/internal/server/route"
	"pleat/internal/server/wire"
	"pleat/internal/store/batches"
	"pleat/internal/store/people"
	"pleat/internal/store/runs"
	"pleat/internal/submit"
)

const (
	// maxBatchBody bounds the body of a batch, in bytes.
	maxBatchBody = submit.MaxBatchText
	// maxRerunBody bounds what is to differ in a batch that is run again, in bytes.
	maxRerunBody = 64 << 10
	// batchTime bounds the creation and the check of a batch.
	batchTime = 5 * time.Minute
)

// bodyReader reads the body of a request.
type bodyReader func(c *route.Call) (body []byte, done func(), err error)

// newBody reads the description of a batch.
func (h *Handlers) newBody(c *route.Call) (body []byte, done func(), err error) {
	return c.RequiredBodyOf(maxBatchBody, &h.bodies)
}

// rerunBody reads what is to differ in a batch that is run again.
func (h *Handlers) rerunBody(c *route.Call) (body []byte, done func(), err error) {
	return c.RequiredBody(maxRerunBody)
}

// batchHandler handles a request about a new batch. decodeErr is why the body is not one; only a body that is not JSON
// is refused before.
type batchHandler[In, Out any] func(ctx context.Context, c *route.Call, in *In, decodeErr error) (Out, error)

// batchBody is route.JSONBody for the creation and the check of a batch, whose body may be larger and whose work may
// take longer than those of other requests.
func batchBody[In, Out any](turns *fair.Turns[pleat.UserID], read bodyReader, fn batchHandler[In, Out]) route.Endpoint {
	serve := inTurn(turns, read, fn)
	return route.Reads(openapi.JSONRequest[In](), openapi.JSON[Out](), serve).WithOwnDeadline()
}

// inTurn reads a body and calls fn when it is the turn of the caller. A node checks one batch at a time, since a large
// one needs much memory, and users take turns.
func inTurn[In, Out any](turns *fair.Turns[pleat.UserID], read bodyReader, fn batchHandler[In, Out]) route.Handler {
	return func(ctx context.Context, c *route.Call) error {
		body, done, err := read(c)
		defer done()
		if err != nil {
			return err
		}
		c.Deadline(batchTime + time.Minute)
		ctx, cancel := context.WithTimeout(ctx, batchTime)
		defer cancel()
		if err := turns.Acquire(ctx, c.Who.User); err != nil {
			return err
		}
		defer turns.Release(c.Who.User)
		in := new(In)
		decodeErr := api.Decode(body, in)
		var all api.DecodeErrors
		if errors.As(decodeErr, &all) && all[0].Unreadable {
			return decodeErr
		}
		out, err := fn(ctx, c, in, decodeErr)
		if err != nil {
			return err
		}
		return c.JSON(out)
	}
}

// createBatch is POST /v1/batches, for any user: it validates all rows of a batch and stores it, whole or not at all.
// Its jobs are queued after that, in their order. The rows count against a quota of their own. An Idempotency-Key works
// as for a job. 400: a field is wrong, whose name says in which row; 409: the key came with another body; 429: the
// quota of the day is used up.
func (h *Handlers) createBatch(
	ctx context.Context, c *route.Call, in *api.CreateBatch, decodeErr error,
) (api.CreatedBatch, error) {
	if decodeErr != nil {
		return api.CreatedBatch{}, decodeErr
	}
	once, err := c.Once(in, "")
	if err != nil {
		return api.CreatedBatch{}, err
	}
	if err := c.EnterNamed(ctx, in.ProjectID); err != nil {
		return api.CreatedBatch{}, err
	}
	by := h.Computations.Caller(ctx, c)
	by.Once = once
	b, err := h.Submit.Batch(ctx, by, batchRequest(c, in))
	if err != nil {
		return api.CreatedBatch{}, err
	}
	created, err := h.Batches.CreateBatch(ctx, b.NewBatch)
	out := wire.CreatedBatch(created)
	out.Notes = append(out.Notes, b.Notes...)
	return out, c.WithRetryAfter(ctx, err, rowQuota)
}

// batchRequest decodes a request for a batch.
func batchRequest(c *route.Call, in *api.CreateBatch) submit.BatchRequest {
	spec, err := wire.ToBatch(in)
	return submit.BatchRequest{
		Spec:      spec,
		DecodeErr: err,
		Content:   wire.ToContent(in.Content, in.Format, in.Files),
		HasJobs:   in.Jobs != nil,
		Webhooks:  in.Webhooks,
		Public:    in.IsPublic,
		Fresh:     c.BypassesCache(),
	}
}

// validateBatch is POST /v1/batches/validate, for any user: it makes all checks of createBatch, creates nothing, and
// says what the batch comes to. A batch with faults is a success here, whose response lists the first 100; an exhausted
// quota is one of them.
func (h *Handlers) validateBatch(
	ctx context.Context, c *route.Call, in *api.CreateBatch, decodeErr error,
) (api.BatchValidation, error) {
	out := api.BatchValidation{Errors: []api.FieldError{}, Notes: []string{}}
	if err := c.EnterNamed(ctx, in.ProjectID); err != nil {
		return out, err
	}
	usage, err := c.Usage(ctx)
	if err != nil {
		return out, err
	}
	used := usage.BatchRows
	out.QuotaRemaining = max(0, used.Limit-used.Used)
	if err = decodeErr; err == nil {
		var b *submit.NewBatch
		if b, err = h.Submit.Batch(ctx, h.Computations.Caller(ctx, c), batchRequest(c, in)); b != nil {
			out.Notes = append(out.Notes, b.Notes...)
			out.ModelName, out.Rows, out.Jobs = b.Batch.Model, b.Sum.Rows, b.Sum.Jobs
			out.Tokens, out.LargestTokens, out.Seconds = b.Sum.Tokens, b.Sum.Largest, b.Sum.Seconds
			proteins := b.Sum.Proteins()
			out.Alignments = len(proteins)
			if err == nil {
				out.AlignmentsAtHand, err = h.Runs.CountAlignments(ctx, c.In.Project, proteins)
			}
		}
		if err != nil && pleat.CodeOf(err) != pleat.CodeInvalid {
			return out, err
		}
	}
	if err == nil {
		err = h.Runs.CheckBudget(ctx, c.In, runs.RunSpec{
			Model: out.ModelName, Expected: time.Duration(out.Seconds * float64(time.Second)),
		})
		if err != nil && pleat.CodeOf(err) != pleat.CodeLimited {
			return out, err
		}
	}
	out.Errors = append(out.Errors, route.FieldErrors(err)...)
	if out.Rows > out.QuotaRemaining {
		out.Errors = append(out.Errors, route.FieldErrors(pleat.ErrBatchQuota(used.Limit, used.Used, out.Rows))...)
	}
	out.Valid = len(out.Errors) == 0
	return out, nil
}

// listBatches is GET /v1/batches, for any user: the caller's own batches, newest first, in pages.
func (h *Handlers) listBatches(ctx context.Context, c *route.Call) (api.List[api.Batch], error) {
	p, err := c.PageQuery(50)
	if err != nil {
		return api.List[api.Batch]{}, err
	}
	f := batches.Filter{Limit: p.Limit + 1, Before: p.Before}
	if f.Creator, err = c.CreatorQuery(); err != nil {
		return api.List[api.Batch]{}, err
	}
	list, err := h.Batches.ListBatches(ctx, c.In, f)
	if err != nil {
		return api.List[api.Batch]{}, err
	}
	keep, err := h.People.Retention(ctx, c.In.Project)
	if err != nil {
		return api.List[api.Batch]{}, err
	}
	return route.List(p, list, func(b *pleat.Batch) string { return string(b.ID) }, func(b *pleat.Batch) api.Batch {
		out := wire.Batch(b, wire.ForOwner)
		out.ExpiresAt = wire.OptionalTime(people.Expiry(b.EndedAt, keep))
		return out
	}), nil
}

// batchFor is a batch as its readers see it.
func (h *Handlers) batchFor(ctx context.Context, b *pleat.Batch, to wire.Audience) (api.Batch, error) {
	out := wire.Batch(b, to)
	if b.EndedAt.IsZero() {
		return out, nil
	}
	keep, err := h.People.Retention(ctx, b.Owner)
	out.ExpiresAt = wire.OptionalTime(people.Expiry(b.EndedAt, keep))
	return out, err
}

// viewBatch is GET /v1/batches/{id}, for readers of the batch.
func (h *Handlers) viewBatch(ctx context.Context, c *route.Call) (api.Batch, error) {
	b, to, err := h.readableBatch(ctx, c)
	if err != nil {
		return api.Batch{}, err
	}
	return h.batchFor(ctx, &b, to)
}

// readableBatch reads the batch in the path and checks that the caller may read it, as route.Call.ReadableJob does.
func (h *Handlers) readableBatch(ctx context.Context, c *route.Call) (pleat.Batch, wire.Audience, error) {
	id, err := c.UUID("id", pleat.ErrBatchNotFound)
	if err != nil {
		return pleat.Batch{}, 0, c.PreferUnauthorized(ctx, err)
	}
	b, err := h.Batches.BatchHead(ctx, pleat.BatchID(id))
	if pleat.CodeOf(err) == pleat.CodeNotFound {
		err = c.PreferUnauthorized(ctx, err)
	}
	if err != nil {
		return pleat.Batch{}, 0, err
	}
	to, err := c.Audience(ctx, route.Readable{
		Source:   pleat.Source{Batch: b.ID},
		Owner:    b.Owner,
		Public:   b.Public,
		NotFound: pleat.ErrBatchNotFound,
	})
	if err != nil {
		return pleat.Batch{}, 0, err
	}
	err = h.countRows(ctx, &b)
	return b, to, err
}

// ownedBatch returns the batch id of a path on which only the owner may act; the store checks the owner.
func ownedBatch(c *route.Call) (pleat.BatchID, error) {
	id, err := c.UUID("id", pleat.ErrBatchNotFound)
	return pleat.BatchID(id), err
}

// cancelBatch is POST /v1/batches/{id}/cancel, for the owner: rows that have not ended are stopped. 409: it has ended.
func (h *Handlers) cancelBatch(ctx context.Context, c *route.Call) (api.Batch, error) {
	id, err := ownedBatch(c)
	if err != nil {
		return api.Batch{}, err
	}
	if err := h.Batches.CancelBatch(ctx, c.Reach(), id); err != nil {
		return api.Batch{}, err
	}
	b, err := h.Batches.Batch(ctx, id)
	if err != nil {
		return api.Batch{}, err
	}
	return h.batchFor(ctx, &b, wire.ForOwner)
}

// retryBatch is POST /v1/batches/{id}/retry-failed, for the owner: rows that failed or were stopped run again, with the
// same parameters and seeds, and count against the quota. 409: it has not ended, or no row is to be run again.
func (h *Handlers) retryBatch(ctx context.Context, c *route.Call) (api.RetriedBatch, error) {
	id, err := ownedBatch(c)
	if err != nil {
		return api.RetriedBatch{}, err
	}
	n, err := h.Batches.RetryBatch(ctx, c.Reach(), id)
	return api.RetriedBatch{BatchID: string(id), Rows: n}, c.WithRetryAfter(ctx, err, rowQuota)
}

// setBatchPublic is PATCH /v1/batches/{id}/public, for the owner, as for a job.
func (h *Handlers) setBatchPublic(ctx context.Context, c *route.Call, in *api.SetPublic) (api.BatchVisibility, error) {
	id, err := ownedBatch(c)
	if err != nil {
		return api.BatchVisibility{}, err
	}
	if in.IsPublic == nil {
		return api.BatchVisibility{}, pleat.InvalidField("isPublic", " is required; it must be true or false")
	}
	err = h.Batches.SetBatchPublic(ctx, c.Reach(), id, *in.IsPublic)
	return api.BatchVisibility{BatchID: string(id), IsPublic: *in.IsPublic}, err
}

// deleteBatch is DELETE /v1/batches/{id}, for the owner, in any state of the batch; rows in progress are stopped.
func (h *Handlers) deleteBatch(ctx context.Context, c *route.Call) (api.DeletedBatch, error) {
	id, err := ownedBatch(c)
	if err != nil {
		return api.DeletedBatch{}, err
	}
	if err := h.Batches.DeleteBatch(ctx, c.Reach(), id); err != nil {
		return api.DeletedBatch{}, err
	}
	h.Cleaner.Deleted(ctx)
	return api.DeletedBatch{BatchID: string(id), Deleted: true}, nil
}
