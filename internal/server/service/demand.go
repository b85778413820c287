package service

import (
	"context"

	"pleat/api"
	"pleat/internal/server/route"
	"pleat/internal/server/wire"
	"pleat/internal/store/workers"
)

// classDemand is GET /fleet/v1/classes/{class}, for who sends a token of pleat fleet token --demand as a bearer token:
// how many workers of a class there should be, for programs that scale them, such as KEDA. 401: the token is missing or
// wrong; 404: there is no such class; 429: too many wrong tokens came from the address.
func (h *Handlers) classDemand(ctx context.Context, c *route.Call) (api.ClassDemand, error) {
	err := c.CheckGuess(func() (bool, error) {
		cred := route.KeyCredential(c.Bearer())
		if cred.Hash == "" {
			return false, nil
		}
		return h.Workers.HasFleetToken(ctx, workers.TokenDemand, cred.Hash)
	})
	if err != nil {
		return api.ClassDemand{}, err
	}
	list, err := h.Demand.Get(ctx)
	if err != nil {
		return api.ClassDemand{}, err
	}
	for i := range list {
		if list[i].Class.Name == c.R.PathValue("class") {
			return wire.ClassDemand(&list[i], h.DB.Now()), nil
		}
	}
	return api.ClassDemand{}, workers.ErrClassNotFound
}
