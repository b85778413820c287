package submit

import (
	"context"
	"encoding/json"
	"errors"

	"pleat"
	"pleat/internal/flow"
	"pleat/internal/store/people"
	"pleat/internal/store/webhooks"
	"pleat/internal/webhook"
)

// maxWebhooks bounds the webhook settings that are stored with a run, in bytes.
const maxWebhooks = 64 << 10

// Webhooks is what the webhook settings of a run lead to.
type Webhooks struct {
	Settings      json.RawMessage      // to store with the run: as given, without addresses and tokens
	Subscriptions []pleat.Subscription // to create with the run
}

// jobWebhooks reads constraints.webhooks of a job: the settings to store, and whom to notify. The faults of all
// destinations are in the error, a pleat.Errors with CodeInvalid and the path of each field, unless it is the store's.
func (r *Resolver) jobWebhooks(ctx context.Context, owner pleat.ProjectID, raw json.RawMessage) (Webhooks, error) {
	const path = "constraints.webhooks"
	if err := checkLength(raw, path); err != nil {
		return Webhooks{}, err
	}
	settings, err := pleat.ParseWebhooks(raw, path)
	if err != nil {
		return Webhooks{}, err
	}
	return r.webhooks(ctx, owner, webhookInput{raw, settings, path})
}

// workflowWebhooks resolves the webhook settings of a plan, which Parse has read. An error is like that of jobWebhooks.
func (r *Resolver) workflowWebhooks(ctx context.Context, owner pleat.ProjectID, p *flow.Plan) (Webhooks, error) {
	const path = "workflow_input.webhooks"
	if err := checkLength(p.Webhooks, path); err != nil {
		return Webhooks{}, err
	}
	return r.webhooks(ctx, owner, webhookInput{p.Webhooks, p.Destinations, path})
}

// batchWebhooks is what the webhook settings of a batch lead to.
type batchWebhooks struct {
	Subscriptions []pleat.Subscription // to the event of the batch
	EachRow       bool                 // and to that of each row
}

// batchWebhooks reads the webhooks of a batch. An error is like that of jobWebhooks.
func (r *Resolver) batchWebhooks(
	ctx context.Context, owner pleat.ProjectID, raw json.RawMessage,
) (batchWebhooks, error) {
	const path = "webhooks"
	var out batchWebhooks
	if err := checkLength(raw, path); err != nil {
		return out, err
	}
	if len(raw) > 0 {
		var all map[string]json.RawMessage
		if err := json.Unmarshal(raw, &all); err != nil {
			return out, pleat.InvalidField(path, " must be an object")
		}
		if rows, ok := all["rows"]; ok {
			if err := json.Unmarshal(rows, &out.EachRow); err != nil {
				return out, pleat.InvalidField(path+".rows", " must be true or false")
			}
			delete(all, "rows")
		}
		var err error
		if raw, err = json.Marshal(all); err != nil {
			return out, err
		}
	}
	settings, err := pleat.ParseWorkflowWebhooks(raw, path)
	if err != nil {
		return out, err
	}
	hooks, err := r.webhooks(ctx, owner, webhookInput{raw, settings, path})
	out.Subscriptions = hooks.Subscriptions
	return out, err
}

// checkLength refuses settings of more than maxWebhooks bytes.
func checkLength(raw json.RawMessage, path string) error {
	if len(raw) > maxWebhooks {
		return pleat.InvalidField(path, " has %d bytes; at most %d are allowed", len(raw), maxWebhooks)
	}
	return nil
}

// webhookInput is the settings of a run, raw and parsed. Path names them in messages.
type webhookInput struct {
	raw      json.RawMessage
	settings []pleat.DestinationSetting
	path     string
}

// webhooks resolves each destination of the settings, and custom_http even if they do not name it.
func (r *Resolver) webhooks(ctx context.Context, owner pleat.ProjectID, in webhookInput) (Webhooks, error) {
	out := Webhooks{Settings: in.raw}
	custom := pleat.DestinationSetting{Destination: pleat.DestCustom, Alias: "custom_http", TargetType: "custom_http"}
	var faults pleat.Errors
	var err error
	for _, set := range in.settings {
		if set.Destination == pleat.DestCustom {
			custom = set
			if out.Settings, err = withoutSecrets(in.raw, set); err != nil {
				return Webhooks{}, err
			}
			continue
		}
		if !set.Enabled {
			continue
		}
		if err := faults.Add(flow.CheckSettings(set.Alias, set.Raw, in.path+"."+set.Alias)); err != nil {
			return Webhooks{}, err
		}
		out.Subscriptions = append(out.Subscriptions, pleat.Subscription{
			Destination: set.Destination,
			Alias:       set.Alias,
			TargetType:  set.TargetType,
			Settings:    set.Raw,
		})
	}
	sub, err := r.subscriber(ctx, owner, custom, in.path+"."+custom.Alias)
	if sub != nil {
		out.Subscriptions = append(out.Subscriptions, *sub)
	}
	if err := faults.Add(err); err != nil {
		return Webhooks{}, err
	}
	return out, faults.Err()
}

// customSettings is what custom_http may hold; nil: the setting does not name it.
type customSettings struct {
	Enabled *bool   `json:"enabled"`
	URL     *string `json:"target_url"`
	Token   *string `json:"token_value"`
}

// subscriber returns the endpoint to notify when a run ends: the one in the run's own custom_http, else the owner's
// default, which the store looks up when it stores the run; nil: none. An error with CodeInvalid names what is wrong
// with the setting.
func (r *Resolver) subscriber(
	ctx context.Context, owner pleat.ProjectID, set pleat.DestinationSetting, path string,
) (*pleat.Subscription, error) {
	var custom customSettings
	if len(set.Raw) > 0 && json.Unmarshal(set.Raw, &custom) != nil {
		return nil, pleat.InvalidField(path, " must be an object; target_url and token_value are strings")
	}
	sub := &pleat.Subscription{Destination: set.Destination, Alias: set.Alias, TargetType: set.TargetType}
	switch {
	case custom.Enabled != nil && !*custom.Enabled:
		return nil, nil
	case custom.URL != nil || custom.Token != nil:
		target, err := r.ownTarget(ctx, owner, custom, path)
		sub.Custom = target
		return sub, err
	case custom.Enabled == nil:
		sub.Default = true
		return sub, nil
	}
	e, _, err := r.Webhooks.Endpoint(ctx, people.InProject(owner), webhooks.Default)
	switch {
	case err != nil && pleat.CodeOf(err) == pleat.CodeNotFound:
		return nil, pleat.InvalidField(path, " is enabled but no endpoint is set up; "+
			"PUT /v1/webhooks/custom-http-config sets one")
	case err != nil:
		return nil, err
	case e.Deactivated(): // an endpoint that the service itself disabled still collects events
		return nil, pleat.InvalidField(path, " is enabled but the endpoint is not active: %s; "+
			"PUT /v1/webhooks/custom-http-config or POST /v1/webhooks/custom-http-config/resume activates it",
			e.DisabledReason)
	}
	sub.Endpoint = e.ID
	return sub, nil
}

// ownTarget checks the address that a run brings, like that of the owner's endpoint, and seals it and its token.
func (r *Resolver) ownTarget(
	ctx context.Context, owner pleat.ProjectID, custom customSettings, path string,
) (*pleat.CustomTarget, error) {
	switch {
	case custom.URL == nil || custom.Token == nil:
		present, missing := "target_url", "token_value"
		if custom.URL == nil {
			present, missing = missing, present
		}
		return nil, pleat.InvalidField(path+"."+present, " is given without %s; "+
			"give both, or neither for the endpoint of PUT /v1/webhooks/custom-http-config", missing)
	case custom.Enabled == nil:
		return nil, pleat.InvalidField(path+".enabled", " is required with target_url; it must be true or false")
	case r.Guard == nil:
		return nil, pleat.InvalidField(path+".target_url", " is not allowed here")
	}
	if err := webhook.CheckToken(path+".token_value", *custom.Token); err != nil {
		return nil, err
	}
	to, err := r.Guard.CheckURL(ctx, path+".target_url", *custom.URL)
	if err != nil {
		return nil, err
	}
	sealed := r.Ring.Seal(string(owner), webhooks.TokenColumn, []byte(*custom.Token))
	return &pleat.CustomTarget{
		Address: r.Ring.SealAddress(owner, webhooks.AddressColumn, to.String()),
		Token:   sealed,
	}, nil
}

// withoutSecrets removes the address and the token of one destination from webhook settings.
func withoutSecrets(raw json.RawMessage, set pleat.DestinationSetting) (json.RawMessage, error) {
	var all, custom map[string]json.RawMessage
	if err := errors.Join(json.Unmarshal(raw, &all), json.Unmarshal(set.Raw, &custom)); err != nil {
		return nil, err
	}
	before := len(custom)
	for _, secret := range []string{"target_url", "token_value"} {
		delete(custom, secret)
	}
	if len(custom) == before {
		return raw, nil
	}
	var err error
	if all[set.Alias], err = json.Marshal(custom); err != nil {
		return nil, err
	}
	return json.Marshal(all)
}

// FollowUpSubscriptions returns the subscriptions of a workflow that a fold started. The setting was checked when the
// fold was created; if its endpoint is no longer there, nobody is notified.
func (r *Resolver) FollowUpSubscriptions(
	ctx context.Context, owner pleat.ProjectID, p *flow.Plan,
) ([]pleat.Subscription, error) {
	w, err := r.workflowWebhooks(ctx, owner, p)
	if pleat.CodeOf(err) == pleat.CodeInvalid {
		return nil, nil
	}
	return w.Subscriptions, err
}
