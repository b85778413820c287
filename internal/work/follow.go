package work

import (
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"strconv"
	"time"

	"pleat"
	"pleat/internal/flow"
	"pleat/internal/store"
)

// followMost is how many follow-ups are claimed at once.
const followMost = 16

// follow starts the workflows that completed folds have set off, until ctx ends. The claim leases a follow-up and the start
// is one transaction with its end, so that however many workers do this, each starts once.
func (p *Pool) follow(ctx context.Context) {
	kick, end := p.store.Subscribe(store.LaneTopic(string(pleat.TaskFollow)))
	defer end()
	poll := time.NewTicker(pollEvery)
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
	made, err := flow.FromFold(f.Word, f.Settings, flow.Fold{Ref: ref, Name: v.Job.Name, Owner: v.Job.Owner})
	if err != nil {
		return nil, err.Error(), nil
	}
	plan, err := flow.Parse(f.Word, made.Input, made.Draft)
	if err != nil {
		return nil, err.Error(), nil
	}
	n := &store.NewWorkflow{Draft: made.Draft, Workflow: pleat.Workflow{Owner: v.Job.Owner, Kind: plan.Kind, Word: f.Word, Type: pleat.WorkflowType(f.Word),
		Name: made.Name, Public: plan.Public, Input: made.Input, Source: ref}}
	if !made.Draft {
		if n.Run, err = p.spec(ctx, &plan); err != nil {
			return nil, err.Error(), ifUnavailable(err)
		}
	}
	sub, err := p.tells(ctx, v.Job.Owner, plan.Webhooks)
	if sub != nil {
		n.Subs = []pleat.Subscription{*sub}
	}
	return n, "", err
}

// spec is what the queue needs to know. Where no engine is heard of now, the work waits for the built-in one.
func (p *Pool) spec(ctx context.Context, plan *flow.Plan) (store.RunSpec, error) {
	models, err := p.store.Models(ctx)
	if err != nil {
		return store.RunSpec{}, err
	}
	t, err := flow.Choose(plan, models)
	if err != nil {
		if t, err = flow.Choose(plan, append(models, flow.Builtin()...)); err != nil {
			return store.RunSpec{}, err
		}
	}
	if t.Seed == "" {
		t.Seed = strconv.FormatUint(uint64(rand.Uint32()), 10)
	}
	return store.RunSpec{Model: t.Model, WeightSet: t.WeightSet, Method: t.Method, Seed: t.Seed, Lane: t.Lane, Memory: t.Memory, Kind: plan.Kind, Params: pleat.Params{Model: t.Model}}, nil
}

// ifUnavailable keeps an error that will pass; a refusal is a reason and no error.
func ifUnavailable(err error) error {
	if pleat.CodeOf(err) == pleat.CodeUnavailable {
		return err
	}
	return nil
}

// tells is whom the follow-up's own end is to tell: its settings' word wins, and without one the owner's default holds.
func (p *Pool) tells(ctx context.Context, owner pleat.UserID, webhooks json.RawMessage) (*pleat.Subscription, error) {
	sub := &pleat.Subscription{Destination: pleat.DestCustom, Word: string(pleat.DestCustom), TargetType: string(pleat.DestCustom)}
	settings, err := pleat.ParseWebhooks(webhooks, "webhooks", true)
	if err != nil {
		return nil, err // parsed before
	}
	if len(settings) > 0 { // one destination is all that a workflow has
		if !settings[0].Enabled {
			return nil, nil
		}
		e, err := p.store.GlobalEndpoint(ctx, owner)
		if pleat.CodeOf(err) == pleat.CodeNotFound && err != nil || err == nil && e.Deactivated() {
			return nil, nil
		}
		sub.Endpoint = e.ID
		return sub, err
	}
	sub.Endpoint, err = p.store.DefaultEndpoint(ctx, owner)
	if err != nil || sub.Endpoint == "" {
		return nil, err
	}
	return sub, nil
}
