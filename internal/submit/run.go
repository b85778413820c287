package submit

import (
	"context"
	"math/rand/v2"
	"strconv"

	"pleat"
	"pleat/internal/flow"
	"pleat/internal/store/runs"
)

// JobRun returns what a run of a validated job needs: model, seed, queue, and the memory and time that it expects. If
// the job names no seed, a random one is chosen and recorded with the run; a remote model that takes no seed gets none.
func JobRun(j *pleat.Job, m pleat.Model) runs.RunSpec {
	seed, ok := j.Params.Seed()
	if !ok && m.Seeded() {
		seed = randomSeed()
	}
	return runs.RunSpec{
		Model:     m.Name,
		WeightSet: m.WeightSet,
		Method:    m.Method,
		Seed:      seed,
		Params:    j.Params,
		Queue:     j.FirstQueue(m),
		Memory:    m.Memory.Bytes(j.Largest(m)),
		Expected:  pleat.Seconds(j.Seconds(m)),
	}
}

// WorkflowRun returns what a run of a workflow of a project needs: the engine is the best that runs here and that the
// project may use, or one of fallback if there is none. If the plan names no seed, a random one is chosen and recorded
// with the run. An error with CodeInvalid says that no engine can execute the plan, or none within MaxTime.
func (r *Resolver) WorkflowRun(
	ctx context.Context, project pleat.ProjectID, p *flow.Plan, fallback ...pleat.Model,
) (runs.RunSpec, error) {
	models, err := r.Models(ctx)
	if err != nil {
		return runs.RunSpec{}, err
	}
	t, err := r.choose(ctx, project, p, models)
	if err != nil {
		if models, err = r.recentModels(ctx); err != nil {
			return runs.RunSpec{}, err
		}
		t, err = r.choose(ctx, project, p, models)
	}
	if err != nil && len(fallback) > 0 {
		t, err = r.choose(ctx, project, p, append(models[:len(models):len(models)], fallback...))
	}
	if err != nil {
		return runs.RunSpec{}, err
	}
	if err := p.CheckCost(&t.Model, r.MaxTime); err != nil {
		return runs.RunSpec{}, err
	}
	if t.Seed == "" {
		t.Seed = randomSeed()
	}
	return runs.RunSpec{
		Model:     t.Model.Name,
		WeightSet: t.Model.WeightSet,
		Method:    t.Model.Method,
		Seed:      t.Seed,
		Queue:     t.Queue,
		Memory:    t.Memory,
		Expected:  t.Expected,
		Kind:      p.Kind,
		Params:    pleat.Params{Model: t.Model.Name},
	}, nil
}

// randomSeed returns a random 32-bit number in decimal digits, as every engine accepts it.
func randomSeed() string { return strconv.FormatUint(uint64(rand.Uint32()), 10) }
