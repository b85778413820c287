package jobs

import (
	"context"
	"slices"

	"pleat"
	"pleat/api"
	"pleat/internal/server/route"
	"pleat/internal/server/wire"
	"pleat/internal/store/workers"
)

// listModels is GET /v1/models, for everyone: the models that workers can execute, with their limits, parameters and
// expected cost, and how many live workers each has. A model whose workers are all away is listed, since jobs for it
// are accepted, and so is one that operators have paused; one that no worker ran within the last week is not, even if
// its engine is installed.
func (h *Handlers) listModels(ctx context.Context, _ *route.Call) (api.List[api.Model], error) {
	out := api.List[api.Model]{Data: []api.Model{}}
	list, err := h.Submit.Models(ctx)
	if err != nil {
		return out, err
	}
	paused, err := h.Workers.PausedModels(ctx)
	for i := range list {
		if list[i].Kind == pleat.TaskAlign {
			continue // what a search is, the models say that take alignments
		}
		m := wire.Model(&list[i])
		m.Paused, m.PausedReason = pauseOf(paused, m.Name)
		out.Data = append(out.Data, m)
	}
	return out, err
}

// listClasses is GET /v1/classes, for any user: the classes of workers in the order in which they are asked to run a
// job, with how many workers each has and needs.
func (h *Handlers) listClasses(ctx context.Context, _ *route.Call) (api.List[api.Class], error) {
	out := api.List[api.Class]{Data: []api.Class{}}
	list, err := h.Progress.Demand.Get(ctx)
	now := h.Progress.DB.Now()
	for i := range list {
		out.Data = append(out.Data, wire.Class(&list[i], now))
	}
	return out, err
}

// pausedModel reports whether a model is paused, and why.
func (h *Handlers) pausedModel(ctx context.Context, model string) (bool, *string, error) {
	list, err := h.Workers.PausedModels(ctx)
	paused, reason := pauseOf(list, model)
	return paused, reason, err
}

// pauseOf reports whether a model is among those that are paused, and why; nil: no reason was given.
func pauseOf(list []workers.ModelPause, model string) (bool, *string) {
	i := slices.IndexFunc(list, func(p workers.ModelPause) bool { return p.Model == model })
	if i < 0 {
		return false, nil
	}
	return true, wire.OptionalString(list[i].Reason)
}
