package deliver

import (
	"context"
	"errors"
	"time"

	"pleat"
	"pleat/api"
	"pleat/internal/flow"
	"pleat/internal/seal"
	"pleat/internal/store/people"
	"pleat/internal/store/runs"
	"pleat/internal/store/webhooks"
	"pleat/internal/tracing"
	"pleat/internal/webhook"
)

// errNoSecret is the error for an address, a token or a secret that was sealed with another key, or is damaged. It
// quotes nothing of them.
var errNoSecret = errors.New("a stored secret cannot be opened with this PLEAT_SECRET_KEY")

// request builds what one attempt sends. Its links are signed now, since those of the attempt before may have expired.
// v is the job of a fold's event; nil if it was deleted or could not be read, which the body then says, also of what
// was moved to another project.
func (p *Pool) request(ctx context.Context, d webhooks.ClaimedDelivery, v *runs.View) (webhook.Request, error) {
	now := p.cfg.DB.Now()
	if v != nil && v.Job.Owner != d.Event.Owner {
		v = nil
	}
	what := webhook.Delivery{Event: d.Event, Format: webhook.Format(d.Endpoint.Format), Base: p.cfg.Base}
	switch {
	case d.Event.Source.Workflow != "":
		var err error
		if what.Workflow, err = p.workflow(ctx, d.Event, now); err != nil {
			what.Problem = "the workflow was deleted, or could not be read now"
		}
	case d.Event.Source.Batch != "":
		b, err := p.cfg.Batches.Batch(ctx, d.Event.Source.Batch)
		if what.Batch = &b; err != nil {
			what.Batch, what.Problem = nil, "the batch was deleted, or could not be read now"
		}
	case v == nil && d.Event.Source.Job != "":
		what.Problem = "the job was deleted, or could not be read now"
	case v != nil:
		what.Fold = &webhook.FoldSource{Job: v.Job, Run: v.Run, Artifacts: v.Artifacts}
		if p.cfg.Link != nil {
			what.Fold.URL = func(a pleat.Artifact) string { return p.cfg.Link(&a, seal.JobScope(&v.Job), now) }
		}
	}
	body, kind, err := webhook.Build(what)
	if err != nil {
		return webhook.Request{}, err
	}
	r := webhook.Request{
		ID:          string(d.Delivery.ID),
		Body:        body,
		ContentType: kind,
		Trace:       tracing.Text(ctx),
	}
	if r.URL, err = p.open(d.Endpoint.Owner, webhooks.AddressColumn, d.Endpoint.Address.Sealed); err != nil {
		return r, err
	}
	if r.Token, err = p.open(d.Endpoint.Owner, webhooks.TokenColumn, d.Endpoint.Token); err != nil {
		return r, err
	}
	r.Keys, err = p.keys(ctx, d.Endpoint, now)
	return r, err
}

// workflow reads the workflow of an event, as a body shows it: input, tasks, metrics and links to the plots.
func (p *Pool) workflow(ctx context.Context, e pleat.Event, now time.Time) (*webhook.WorkflowSource, error) {
	v, err := p.cfg.Runs.WorkflowView(ctx, e.Source.Workflow)
	if err != nil {
		return nil, err
	}
	w := &v.Workflow
	if w.Owner != e.Owner {
		return nil, pleat.ErrWorkflowNotFound
	}
	out := &webhook.WorkflowSource{
		ID:     w.ID,
		Type:   w.Type,
		Status: w.State,
		Input:  w.Input,
	}
	if v.Run == nil {
		return out, nil
	}
	out.Tasks = []api.NotifiedTask{
		{ID: string(v.Run.ID), Type: w.TaskType(), Status: string(v.Run.State)},
	}
	if v.Run.Result != nil {
		out.Metrics = flow.EventMetrics(v.Run.Result.Row)
	}
	for i := range v.Artifacts {
		a := &v.Artifacts[i]
		if p.cfg.Link != nil && (a.Kind == pleat.ArtifactDynamics || a.Kind == pleat.ArtifactDesignPlot) {
			url := p.cfg.Link(a, seal.WorkflowScope(w), now)
			out.Plots = append(out.Plots, api.NotifiedPlot{Name: a.Name, URL: url})
		}
	}
	return out, nil
}

// keys returns the keys that sign a delivery: the endpoint's secret, and during a rotation the one before. The
// endpoint of a single run has none; its deliveries are signed with the secret of its owner's default endpoint.
func (p *Pool) keys(ctx context.Context, e webhooks.Endpoint, now time.Time) ([]webhook.Key, error) {
	if e.Secret == "" && e.SingleRun {
		signer, _, err := p.cfg.Webhooks.Endpoint(ctx, people.InProject(e.Owner), webhooks.Default)
		if pleat.CodeOf(err) == pleat.CodeNotFound {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		e = signer
	}
	sealed := []string{e.Secret}
	if e.OldSecret != "" && now.Before(e.OldSecretUntil) {
		sealed = append(sealed, e.OldSecret)
	}
	var out []webhook.Key
	for _, s := range sealed {
		text, err := p.open(e.Owner, webhooks.SecretColumn, s)
		if err != nil {
			return nil, err
		}
		if text == "" {
			continue
		}
		k, err := webhook.ParseKey(text)
		if err != nil {
			return nil, errNoSecret // the message could quote it
		}
		out = append(out, k)
	}
	return out, nil
}

// open decrypts a sealed column; the empty text stays empty.
func (p *Pool) open(owner pleat.ProjectID, column, sealed string) (string, error) {
	if sealed == "" {
		return "", nil
	}
	plain, err := p.ring.Open(string(owner), column, sealed)
	if err != nil {
		return "", errNoSecret
	}
	return string(plain), nil
}

// traced describes an attempt at a delivery for its spans.
func traced(d *webhooks.ClaimedDelivery) *tracing.Task {
	return &tracing.Task{
		Trace:    d.Trace,
		Task:     &d.Task,
		Queue:    string(pleat.TaskDeliver), // that of an endpoint would name it
		Run:      d.Delivery.Run,
		Job:      d.Event.Source.Job,
		Workflow: d.Event.Source.Workflow,
		Claimed:  d.Claimed,
	}
}
