package server

import (
	"context"
	"encoding/json"
	"errors"

	"pleat"
	"pleat/internal/flow"
	"pleat/internal/webhook"
)

// maxWebhooks bounds what is kept of a run's webhook settings.
const maxWebhooks = 64 << 10

// webhooks reads the webhook settings of a run: what is kept of them, and whom the run's end is to tell. Path names them
// for messages; workflows take custom_http alone. A run's own address is guarded like the global one, its token sealed, and
// neither is kept in the settings.
func (s *Server) webhooks(ctx context.Context, owner pleat.UserID, raw json.RawMessage, path string, workflow bool) (json.RawMessage, []pleat.Subscription, error) {
	if len(raw) > maxWebhooks {
		return nil, nil, pleat.Invalidf("%s has %d bytes; at most %d are taken", path, len(raw), maxWebhooks)
	}
	settings, err := pleat.ParseWebhooks(raw, path, workflow)
	if err != nil {
		return nil, nil, err
	}
	var subs []pleat.Subscription
	custom := pleat.Setting{Destination: pleat.DestCustom, Word: "custom_http", TargetType: "custom_http"}
	for _, set := range settings {
		if set.Destination == pleat.DestCustom {
			custom = set
			if raw, err = withoutSecrets(raw, set); err != nil {
				return nil, nil, err
			}
			continue
		}
		if set.Enabled {
			if err := flow.CheckSettings(set.Word, set.Raw, path+"."+set.Word); err != nil {
				return nil, nil, err
			}
			subs = append(subs, pleat.Subscription{Destination: set.Destination, Word: set.Word, TargetType: set.TargetType, Settings: set.Raw})
		}
	}
	sub, err := s.custom(ctx, owner, custom, path+"."+custom.Word)
	if sub != nil {
		subs = append(subs, *sub)
	}
	return raw, subs, err
}

// custom resolves custom_http: the run's own word wins, and without one the global default holds.
func (s *Server) custom(ctx context.Context, owner pleat.UserID, set pleat.Setting, path string) (*pleat.Subscription, error) {
	var own struct {
		Enabled *bool   `json:"enabled"`
		URL     *string `json:"target_url"`
		Token   *string `json:"token_value"`
	}
	if len(set.Raw) > 0 && json.Unmarshal(set.Raw, &own) != nil {
		return nil, pleat.Invalidf("%s must be an object; target_url and token_value are strings", path)
	}
	sub := &pleat.Subscription{Destination: set.Destination, Word: set.Word, TargetType: set.TargetType}
	switch {
	case own.Enabled != nil && !*own.Enabled:
		return nil, nil
	case (own.URL == nil) != (own.Token == nil):
		given, missing := "target_url", "token_value"
		if own.URL == nil {
			given, missing = missing, given
		}
		return nil, pleat.Invalidf("%s.%s is given without %s; give both, or neither for the endpoint of PUT /v1/webhooks/custom-http-config", path, given, missing)
	case own.URL != nil && own.Enabled == nil:
		return nil, pleat.Invalidf("%s.enabled is required beside target_url; it must be true or false", path)
	case own.URL != nil:
		if err := webhook.CheckToken(path+".token_value", *own.Token); err != nil {
			return nil, err
		}
		to, err := s.guard.CheckURL(ctx, path+".target_url", *own.URL)
		if err != nil {
			return nil, err
		}
		sub.Own = &pleat.Target{URL: to.String(), Token: s.ring.Seal(string(owner), "token", []byte(*own.Token))}
		return sub, nil
	case own.Enabled == nil:
		id, err := s.store.DefaultEndpoint(ctx, owner)
		if id == "" || err != nil {
			return nil, err
		}
		sub.Endpoint = id
		return sub, nil
	}
	e, err := s.store.GlobalEndpoint(ctx, owner)
	switch {
	case pleat.CodeOf(err) == pleat.CodeNotFound && err != nil:
		return nil, pleat.Invalidf("%s is enabled but no endpoint is set up; PUT /v1/webhooks/custom-http-config sets one", path)
	case err != nil:
		return nil, err
	case e.Deactivated(): // one that the service disabled keeps its events
		return nil, pleat.Invalidf("%s is enabled but the endpoint is not active: %s; PUT /v1/webhooks/custom-http-config or POST /v1/webhooks/custom-http-config/resume activates it", path, e.DisabledReason)
	}
	sub.Endpoint = e.ID
	return sub, nil
}

// withoutSecrets drops the address and token from a destination.
func withoutSecrets(raw json.RawMessage, set pleat.Setting) (json.RawMessage, error) {
	var all, one map[string]json.RawMessage
	if err := errors.Join(json.Unmarshal(raw, &all), json.Unmarshal(set.Raw, &one)); err != nil {
		return nil, err
	}
	before := len(one)
	for _, secret := range []string{"target_url", "token_value"} {
		delete(one, secret)
	}
	if len(one) == before {
		return raw, nil
	}
	var err error
	if all[set.Word], err = json.Marshal(one); err != nil {
		return nil, err
	}
	return json.Marshal(all)
}
