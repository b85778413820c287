package work

import (
	"context"
	"errors"

	"pleat"
	"pleat/internal/flow"
	"pleat/internal/queue"
	"pleat/internal/store/runs"
	"pleat/internal/store/tasks"
	"pleat/internal/submit"
	"pleat/internal/tracing"
)

// maxFollowUps is how many follow-ups are claimed at once.
const maxFollowUps = 16

// startFollowUps starts the workflows that completed folds have triggered, until ctx ends. A claim leases a follow-up,
// and one transaction starts its workflow and ends it, so that each starts once, however many workers do this.
func (u *Upkeep) startFollowUps(ctx context.Context) {
	queue.ClaimLoop{
		News:   u.Store.DB,
		Topics: []string{tasks.QueueTopic(string(pleat.TaskFollow))},
		Wake:   make(chan struct{}, 1),
		Log:    u.Log,
		Claim: func(ctx context.Context) error {
			// While the disk is almost full, follow-ups wait as other new work is refused.
			for ctx.Err() == nil && u.Disk.Check() == nil {
				got, err := u.Store.Runs.ClaimFollowUps(ctx, u.Worker, maxFollowUps)
				for _, f := range got {
					u.startFollowUp(ctx, f)
				}
				if err != nil || len(got) < maxFollowUps {
					return err
				}
			}
			return nil
		},
	}.Run(ctx)
}

// startFollowUp starts one workflow, or records why it cannot start. If the database is away, the follow-up's lease
// expires and another worker claims it.
func (u *Upkeep) startFollowUp(ctx context.Context, f runs.FollowUp) {
	ctx, span := u.Tracer.Process(ctx, tracedFollowUp(&f))
	n, reason, err := u.followUp(ctx, f)
	defer func() { tracing.EndWith(span, err) }()
	if err == nil {
		if n != nil {
			n.Run.Trace = tracing.Text(ctx)
		}
		_, err = u.Store.Runs.StartFollowUp(ctx, f, n, reason)
	}
	log := tracing.LogWith(ctx, u.Log).With("delivery", f.Delivery.ID, "run", f.Delivery.Run)
	switch {
	case err == nil && reason != "":
		log.Info("a follow-up did not start", "reason", reason)
	case err != nil && !errors.Is(err, pleat.ErrLost) && ctx.Err() == nil:
		log.Warn("a follow-up could not be started; its lease will expire", "error", err)
	}
}

// followUp returns the workflow to start, or the reason why there is none, which the owner reads as that of a failed
// delivery. An error means that another attempt may succeed.
func (u *Upkeep) followUp(ctx context.Context, f runs.FollowUp) (*runs.NewWorkflow, string, error) {
	views, err := u.Store.Runs.RunViews(ctx, []pleat.RunID{f.Delivery.Run})
	if err != nil {
		return nil, "", err
	}
	v := views[f.Delivery.Run]
	if v == nil {
		return nil, "the job was deleted", nil
	}
	seq, ok := flow.FirstProtein(v.Job.Sequences)
	if !ok {
		return nil, "the job has no protein sequence", nil
	}
	ref := pleat.FoldRef{Job: v.Job.ID, Run: v.Run.ID, Sequence: seq.ID}
	fold := submit.SourceFold{View: v, Sequence: seq}
	follow, err := flow.FromFold(f.Alias, f.Settings, flow.Fold{
		Ref: ref, Name: fold.Name(false), User: v.Job.CreatedBy(),
	})
	if err != nil {
		return nil, err.Error(), nil
	}
	plan := &follow.Plan
	plan.Size = fold.Size()
	n := &runs.NewWorkflow{Draft: plan.Draft, Workflow: pleat.Workflow{
		Owner:   v.Job.Owner,
		Creator: v.Job.Creator,
		Kind:    plan.Kind,
		Alias:   f.Alias,
		Type:    pleat.WorkflowType(f.Alias),
		Name:    follow.Name,
		Public:  plan.Public,
		Input:   follow.Input,
		Source:  ref,
	}}
	if !plan.Draft { // if no engine is known now, the task waits for the built-in one
		if n.Run, err = u.resolver().WorkflowRun(ctx, v.Job.Owner, plan, flow.Builtin()...); err != nil {
			return nil, err.Error(), ifUnavailable(err)
		}
	}
	n.Subs, err = u.resolver().FollowUpSubscriptions(ctx, v.Job.Owner, plan)
	return n, "", err
}

// ifUnavailable returns an error that may pass; nil for any other, which is the reason why a workflow cannot start.
func ifUnavailable(err error) error {
	if pleat.CodeOf(err) == pleat.CodeUnavailable {
		return err
	}
	return nil
}
