package submit

import (
	"cmp"
	"context"
	"slices"

	"pleat"
	"pleat/internal/store/people"
	"pleat/internal/store/runs"
)

// FoldRequest is a request for a run of a fold job.
type FoldRequest struct {
	// Job is the job as it was decoded; its Params.Values are nil if the request has no parameters. For a rerun it is
	// the stored job with the parameters of the new run, without a model that of the stored job.
	Job       pleat.Job
	DecodeErr error // the faults that decoding has found; nil: none
	Fresh     bool  // the run is computed even if an earlier one has the result

	Rerun   *pleat.Job // the stored job that runs again; nil: a new job
	Complex bool       // the model must fold the chains together
}

// NewFold is a job that has passed every check but those of quotas, and its run.
type NewFold struct {
	Job   pleat.Job
	Model pleat.Model
	Run   runs.RunSpec
	Subs  []pleat.Subscription // to the events of a new job
}

// Fold decides on a run of a fold job: it checks the job and the files that it names, and chooses what the run needs.
// An error with CodeInvalid is [pleat.Errors] with every fault of the job, or the first fault of the files; the job and
// the model, if it is known, are returned then, too. Without a known model, only the checks that need none are made.
func (r *Resolver) Fold(ctx context.Context, by Caller, q FoldRequest) (NewFold, error) {
	f := NewFold{Job: q.Job}
	check := r.checkNew
	if q.Rerun != nil {
		check = r.checkRerun
	}
	if err := check(ctx, by, &q, &f); err != nil {
		return f, err
	}
	f.Run = foldRun(&f.Job, f.Model, q.Fresh)
	by.mark(&f.Run)
	return f, nil
}

// foldRun is JobRun for a run that must not use an earlier result if it is fresh.
func foldRun(j *pleat.Job, m pleat.Model, fresh bool) runs.RunSpec {
	spec := JobRun(j, m)
	spec.Fresh = fresh
	return spec
}

// checkNew checks a new job, which it completes.
func (r *Resolver) checkNew(ctx context.Context, by Caller, q *FoldRequest, f *NewFold) error {
	f.Job.Owner, f.Job.Creator = by.In.Project, by.In.User
	if err := r.checkJob(ctx, q, f); err != nil {
		return err
	}
	if q.Complex && !f.Model.Has(pleat.FeatureComplex) {
		return r.needsComplexes(ctx, f.Model.Name)
	}
	return r.checkReferenced(ctx, by, &f.Job, f.Model)
}

// checkJob checks all of a new job but the files that it names. An error of the request is pleat.Errors.
func (r *Resolver) checkJob(ctx context.Context, q *FoldRequest, f *NewFold) error {
	var faults pleat.Errors
	if err := faults.Add(q.DecodeErr); err != nil {
		return err
	}
	hooks, err := r.jobWebhooks(ctx, f.Job.Owner, f.Job.Constraints.Webhooks)
	if err := faults.Add(err); err != nil {
		return err
	}
	f.Job.Constraints.Webhooks, f.Subs = hooks.Settings, hooks.Subscriptions
	if f.Model, err = r.requestedModel(ctx, f.Job.Owner, f.Job.Params); err != nil {
		if err := faults.Add(err); err != nil {
			return err
		}
		err = f.Job.ValidateEnvelope()
	} else {
		err = f.Job.Validate(f.Model)
	}
	if err := faults.Add(err); err != nil {
		return err
	}
	return faults.Err()
}

// requestedModel returns the model that parameters name, for a run in a project.
func (r *Resolver) requestedModel(
	ctx context.Context, project pleat.ProjectID, p pleat.Params,
) (pleat.Model, error) {
	if p.Values == nil {
		return pleat.Model{}, pleat.InvalidField("params", " is required; it must hold modelName")
	}
	return r.foldModel(ctx, project, p.Model)
}

// needsComplexes is the error for a model that folds chains separately; it names those that fold complexes.
func (r *Resolver) needsComplexes(ctx context.Context, name string) error {
	models, err := r.Models(ctx)
	if err != nil {
		return err
	}
	can := []string{}
	for i := range models {
		if models[i].Kind == pleat.TaskFold && models[i].Has(pleat.FeatureComplex) {
			can = append(can, models[i].Name)
		}
	}
	have := "none that folds complexes is running here"
	if len(can) > 0 {
		have = "these fold complexes: " + pleat.ListNames(can, 20)
	}
	return pleat.InvalidField("params.modelName", " is %s, which folds chains apart; %s", name, have)
}

// checkRerun checks the next run of a job. The model must fold the chains as that of the job does, together or each on
// its own, since a job's results have one form.
func (r *Resolver) checkRerun(ctx context.Context, by Caller, q *FoldRequest, f *NewFold) error {
	var err error
	f.Job.Params.Model = cmp.Or(f.Job.Params.Model, q.Rerun.Params.Model)
	if f.Model, err = r.foldModel(ctx, q.Rerun.Owner, f.Job.Params.Model); err != nil {
		return err
	}
	if err := r.checkRowModel(ctx, f.Job.ID, f.Model.Name); err != nil {
		return err
	}
	if err := f.Job.Validate(f.Model); err != nil {
		return err
	}
	checked := f.Job
	checked.LibraryItem = "" // if that is gone, the run goes without its alignments
	if err := r.checkReferenced(ctx, by, &checked, f.Model); err != nil {
		return err
	}
	if f.Job.Complex == q.Rerun.Complex {
		return nil
	}
	model, results := "each chain on its own", "all chains together"
	if f.Job.Complex {
		model, results = results, model
	}
	return pleat.InvalidField("params.modelName", ": the model %q folds %s, but this job folds %s; create a new job",
		f.Model.Name, model, results)
}

// checkRowModel returns an error if a job is a row of a batch of another model: the scores of a batch are one table, in
// which those of two models cannot be compared.
func (r *Resolver) checkRowModel(ctx context.Context, id pleat.JobID, model string) error {
	batchModel, err := r.Batches.BatchModel(ctx, id)
	if err == nil && batchModel != "" && batchModel != model {
		err = pleat.Errorf(pleat.CodeConflict,
			"the job is a row of a batch, whose rows have one model, %q; run the batch "+
				"again with other parameters, or create a new job", batchModel)
	}
	return err
}

// EarlierRun returns an earlier run of the project that answered the same request as a new job; nil if there is none,
// or if the request leaves the seed to the service, or names the result of a job as a template: that job may have run
// again.
func (r *Resolver) EarlierRun(ctx context.Context, by people.Reach, f *NewFold) (*runs.EarlierRun, error) {
	seed, ok := f.Job.Params.Seed()
	ofJob := func(t pleat.Template) bool { return t.Job != "" }
	if !ok || slices.ContainsFunc(f.Job.Constraints.Templates, ofJob) {
		return nil, nil
	}
	request, err := (&pleat.FoldInput{
		Sequences:   f.Job.Sequences,
		Params:      f.Job.Params,
		Seed:        seed,
		Constraints: f.Job.Constraints,
		Complex:     f.Job.Complex,
	}).RequestHash(&f.Model)
	if err != nil {
		return nil, err
	}
	return r.Runs.EarlierRun(ctx, by, request)
}
