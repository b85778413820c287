package server

import (
	"context"

	"pleat"
	"pleat/api"
	"pleat/internal/server/wire"
	"pleat/internal/submit"
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
	q := submit.BatchRerun{Batch: &b, Name: in.Name, Public: in.IsPublic}
	if in.Params != nil {
		q.Params = wire.ToParams(in.Params)
	}
	n, err := s.resolver.RerunBatch(ctx, s.submitter(ctx, c), q)
	if err != nil {
		return api.CreatedBatch{}, err
	}
	n.By, n.Key, n.Digest = c.cred.Credential, key, digest
	made, err := s.store.Batches.CreateBatch(ctx, n)
	return wire.CreatedBatch(made), s.withRowQuota(ctx, c, err)
}
