package work

import (
	"context"
	"errors"
	"time"

	"pleat"
	"pleat/internal/flow"
	"pleat/internal/store"
)

// followMost is how many follow-ups are claimed at once.
const followMost = 16

// follow starts the workflows that completed folds have set off, until ctx ends. The claim leases a follow-up and the start
// is one transaction with its end, so that however many workers do this, each starts once.
func (p *Pool) startFollowUps(ctx context.Context) {
	kick, end := p.store.Subscribe(store.QueueTopic(string(pleat.TaskFollow)))
	defer end()
	poll := time.NewTicker(pollInterval)
	defer poll.Stop()
	for {
		got, err := p.store.ClaimFollowUps(ctx, p.cfg.ID, followMost)
		if err != nil && ctx.Err() == nil {
			p.cfg.Log.Warn("worker cannot claim follow-ups; trying again", "error", err)
		}
		for _, f := range got {
			p.startFollowUp(ctx, f)
		}
		if len(got) == followMost {
			continue
		}
		select {
		case <-ctx.Done():
			return
		case <-kick:
		case <-poll.C:
		}
	}
}

func (p *Pool) startFollowUp(ctx context.Context, f store.FollowUp) {
	n, reason, err := p.followUp(ctx, f)
	if err == nil {
		_, err = p.store.StartFollowUp(ctx, f, n, reason)
	}
	switch {
	case err == nil && reason != "":
		p.cfg.Log.Info("a follow-up did not start", "delivery", f.Delivery.ID, "reason", reason)
	case err != nil && !errors.Is(err, pleat.ErrLost) && ctx.Err() == nil:
		p.cfg.Log.Warn("a follow-up could not be started; its lease will run out", "delivery", f.Delivery.ID, "error", err)
	}
}

// followUp is the workflow to start, or the reason why there is none.
func (p *Pool) followUp(ctx context.Context, f store.FollowUp) (*store.NewWorkflow, string, error) {
	views, err := p.store.RunViews(ctx, []pleat.RunID{f.Delivery.Run})
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
	made, err := flow.FromFold(f.Alias, f.Settings, flow.Fold{Ref: ref, Name: v.Job.Name, Owner: v.Job.Owner})
	if err != nil {
		return nil, err.Error(), nil
	}
	plan := &made.Plan
	n := &store.NewWorkflow{Draft: made.Draft, Workflow: pleat.Workflow{
		Owner:  v.Job.Owner,
		Kind:   plan.Kind,
		Alias:  f.Alias,
		Type:   pleat.WorkflowType(f.Alias),
		Name:   made.Name,
		Public: plan.Public,
		Input:  made.Input,
		Source: ref,
	}}
	if !made.Draft { // if no engine is known now, the task waits for the built-in one
		if n.Run, err = p.resolver.WorkflowRun(ctx, plan, flow.Builtin()...); err != nil {
			return nil, err.Error(), ifUnavailable(err)
		}
	}
	hooks, err := p.resolver.FollowUpWebhooks(ctx, v.Job.Owner, plan)
	n.Subs = hooks.Subscriptions
	return n, "", err
}

// ifUnavailable keeps an error that will pass; a refusal is a reason and no error.
func ifUnavailable(err error) error {
	if pleat.CodeOf(err) == pleat.CodeUnavailable {
		return err
	}
	return nil
}
