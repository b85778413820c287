package submit

import (
	"context"
	"slices"

	"pleat"
	"pleat/internal/flow"
)

// permitted returns the models that a project may use: all, or for one that is marked commercial those whose weights
// allow commercial use. Every request for work is decided by it. It asks the store only if it matters.
func (r *Resolver) permitted(
	ctx context.Context, project pleat.ProjectID, models []pleat.Model,
) ([]pleat.Model, error) {
	some := slices.DeleteFunc(slices.Clone(models), func(m pleat.Model) bool { return !m.Commercial() })
	if len(some) == len(models) {
		return models, nil
	}
	commercial, err := r.People.IsCommercial(ctx, project)
	if err != nil || commercial {
		return some, err
	}
	return models, nil
}

// checkPermitted refuses a model that a project may not use. Field is that of the request which names the model.
func (r *Resolver) checkPermitted(
	ctx context.Context, project pleat.ProjectID, m *pleat.Model, field string,
) error {
	if some, err := r.permitted(ctx, project, []pleat.Model{*m}); err != nil || len(some) == 1 {
		return err
	}
	return m.RefuseCommercial(field)
}

// choose returns the task of a plan for the best of the models that the project may use. If only others can execute the
// plan, the error is about the best of these.
func (r *Resolver) choose(
	ctx context.Context, project pleat.ProjectID, p *flow.Plan, models []pleat.Model,
) (flow.Task, error) {
	some, err := r.permitted(ctx, project, models)
	if err != nil {
		return flow.Task{}, err
	}
	t, err := flow.Choose(p, some)
	if err == nil || len(some) == len(models) {
		return t, err
	}
	if other, wrong := flow.Choose(p, models); wrong == nil {
		return flow.Task{}, other.Model.RefuseCommercial(p.ModelField())
	}
	return t, err
}
