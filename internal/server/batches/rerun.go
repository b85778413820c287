package batches

import (
	"context"

	"pleat"
	"pleat/api"
	"pleat/internal/server/route"
	"pleat/internal/server/wire"
	"pleat/internal/submit"
)

// rerunBatch is POST /v1/batches/{id}/rerun, for the owner: a new batch of the same rows with other parameters. An
// Idempotency-Key works as in createBatch.
func (h *Handlers) rerunBatch(
	ctx context.Context, c *route.Call, in *api.RerunBatch, decodeErr error,
) (api.CreatedBatch, error) {
	if decodeErr != nil {
		return api.CreatedBatch{}, decodeErr
	}
	id, err := ownedBatch(c)
	if err != nil {
		return api.CreatedBatch{}, err
	}
	once, err := c.Once(in, "rerun "+string(id))
	if err != nil {
		return api.CreatedBatch{}, err
	}
	b, err := h.Batches.Batch(ctx, id)
	if err == nil {
		err = c.EnterOwner(ctx, b.Owner, pleat.ErrBatchNotFound)
	}
	if err != nil {
		return api.CreatedBatch{}, err
	}
	q := submit.BatchRerun{Batch: &b, Name: in.Name, Public: in.IsPublic}
	if in.Params != nil {
		q.Params = wire.ToParams(in.Params)
	}
	by := h.Computations.Caller(ctx, c)
	by.Once = once
	n, err := h.Submit.RerunBatch(ctx, by, q)
	if err != nil {
		return api.CreatedBatch{}, err
	}
	created, err := h.Batches.CreateBatch(ctx, n)
	return wire.CreatedBatch(created), c.WithRetryAfter(ctx, err, rowQuota)
}
