package wire

import (
	"slices"
	"strings"
	"time"

	"pleat"
	"pleat/api"
	"pleat/internal/store/mails"
	"pleat/internal/store/people"
	"pleat/internal/store/workers"
)

// Class returns what GET /v1/classes says about a class at a time.
func Class(d *workers.Demand, now time.Time) api.Class {
	c := &d.Class
	out := api.Class{
		Name:    c.Name,
		Models:  []string{},
		Workers: api.ClassWorkers{Running: d.Live(now), Wanted: d.Wanted, Min: c.MinWorkers},
	}
	for i := range c.Models {
		if name := c.Models[i].Name; !slices.Contains(out.Models, name) {
			out.Models = append(out.Models, name)
		}
	}
	if c.MaxWorkers > 0 {
		out.Workers.Max = &c.MaxWorkers
	}
	return out
}

// ClassDemand returns what GET /fleet/v1/classes/{class} says about a class at a time.
func ClassDemand(d *workers.Demand, now time.Time) api.ClassDemand {
	out := api.ClassDemand{
		Class:     d.Class.Name,
		Wanted:    d.Wanted,
		Queued:    d.Queued,
		Running:   d.Busy,
		ExpectedS: d.Backlog.Seconds(),
	}
	if !d.Oldest.IsZero() {
		out.OldestS = pleat.Elapsed(d.Oldest, now).Seconds()
	}
	return out
}

// Model returns what GET /v1/models says about a model. Lists are never nil, so that clients need not expect null.
func Model(m *pleat.Model) api.Model {
	out := api.Model{
		Name:       m.Name,
		Kind:       string(m.Kind),
		Title:      m.Title,
		Engine:     m.Engine,
		Version:    m.Version,
		WeightSet:  m.WeightSet,
		Method:     m.Method,
		Licence:    m.Licence,
		WeightUse:  string(m.WeightUse.Known()),
		Device:     m.Device,
		Entities:   []string{},
		Features:   []string{},
		Params:     []api.ParamSpec{},
		Citations:  []api.Citation{},
		MinTokens:  m.MinTokens,
		MaxTokens:  m.MaxTokens,
		Limits:     m.Limits.Words(),
		Memory:     api.Cost(m.Memory),
		Speed:      api.Cost(m.Speed),
		Room:       m.Room,
		Workers:    m.Workers,
		Confidence: m.Confidence,
		Notice:     m.Notice,
	}
	for _, e := range m.Entities {
		out.Entities = append(out.Entities, string(e))
	}
	for _, f := range m.Features {
		out.Features = append(out.Features, string(f))
	}
	for _, p := range m.Params {
		out.Params = append(out.Params, api.ParamSpec{
			Name:    p.Name,
			Type:    string(p.Type),
			Default: p.Default,
			Min:     p.Min,
			Max:     p.Max,
			Values:  append([]string{}, p.Values...),
			Doc:     p.Doc,
		})
	}
	for _, c := range m.Citations {
		out.Citations = append(out.Citations, api.Citation{Key: c.Key, BibTeX: c.BibTeX})
	}
	return out
}

// Key returns an API key without its secret, of which the service has only a hash. current is the key of the caller's
// request, or the one with which its session was opened.
func Key(k *people.Key, current pleat.KeyID) api.Key {
	return api.Key{
		ID:         string(k.ID),
		Prefix:     k.Prefix,
		Label:      k.Label,
		Scopes:     strings.Fields(k.Scopes.String()),
		ProjectID:  OptionalString(k.Project),
		CreatedAt:  api.At(k.CreatedAt),
		LastUsedAt: OptionalTime(k.LastUsedAt),
		ExpiresAt:  OptionalTime(k.ExpiresAt),
		RevokedAt:  OptionalTime(k.RevokedAt),
		Current:    k.ID == current,
	}
}

// Quota returns the use of a quota.
func Quota(u people.Usage) api.Quota {
	return api.Quota{Limit: u.Limit, Used: u.Used, Remaining: max(0, u.Limit-u.Used), ResetAt: api.At(u.Reset)}
}

// AuditEntry returns an entry of the audit log.
func AuditEntry(e *people.AuditEntry) api.AuditEntry {
	return api.AuditEntry{
		ID:        string(e.ID),
		At:        api.At(e.At),
		Action:    string(e.Action),
		Subject:   e.Subject,
		Detail:    e.Detail,
		UserID:    string(e.Actor.User),
		UserName:  e.UserName,
		ProjectID: OptionalString(e.Actor.Project),
		KeyID:     OptionalString(e.Actor.Key),
		KeyPrefix: e.KeyPrefix,
		Address:   e.Actor.Address,
	}
}

// Notifications converts the mails that a user gets. Whether the service sends any is for the caller to say.
func Notifications(m *mails.Setting) api.Notifications {
	out := api.Notifications{
		Mail:      OptionalString(m.Address),
		Confirmed: m.Confirmed,
		LinkUntil: OptionalTime(m.AskedUntil),
		Events:    []string{},
		OffReason: OptionalString(m.OffReason),
		Recent:    []api.NotificationMail{},
	}
	for _, k := range m.Events {
		out.Events = append(out.Events, string(k))
	}
	for i := range m.Last {
		l := &m.Last[i]
		one := api.NotificationMail{
			ID:        string(l.ID),
			Event:     string(l.Kind),
			SourceID:  OptionalString(l.Source.ID()),
			Status:    string(l.Status),
			Attempts:  l.Attempts,
			NextAt:    OptionalTime(l.NextAt),
			Reason:    OptionalString(l.Reason),
			CreatedAt: api.At(l.CreatedAt),
		}
		if one.SourceID != nil {
			one.SourceKind = OptionalString(l.Source.Kind())
		}
		out.Recent = append(out.Recent, one)
	}
	return out
}
