package webhooks

import (
	"context"
	"errors"
	"strings"
	"time"

	"pleat"
	"pleat/internal/store/db"
	"pleat/internal/store/people"
	"pleat/internal/store/tasks"
)

// MaxEndpoints is how many named endpoints a project may have.
const MaxEndpoints = 10

// maxDeletedEndpoints bounds the deleted endpoints of a project whose rows are kept for their deliveries.
const maxDeletedEndpoints = 100

// EndpointSettings are what a manager sets of an endpoint. Fields that are nil stay, and are empty for a new endpoint.
// Token and Secret are sealed already.
type EndpointSettings struct {
	Name             *string
	Address          *pleat.Address
	Token            *string // empty: none
	Format           *string
	Events           *pleat.EventSet // of a named endpoint
	EnabledByDefault *bool           // of the default endpoint
	Secret           string          // for an endpoint that has none
}

// PutEndpoint stores the default endpoint of by.Project, makes it active, resets its circuit breaker and records it; a
// paused one stays paused. A first call must bring a token and a secret. A later one keeps the secret, which
// RotateSecret changes, and keeps the token if it brings none and its address has the same origin. Deliveries that wait
// are sent to the new address with the token that is stored with it. Address must be set. CodeInvalid: the token is
// missing.
func (s *Store) PutEndpoint(ctx context.Context, by people.Actor, set EndpointSettings) (Endpoint, error) {
	if set.Token != nil && *set.Token == "" {
		set.Token = nil
	}
	var e Endpoint
	err := s.db.Write(ctx, "put endpoint", func(t *db.Tx) error {
		before, by, err := lockEndpoint(t, by, Default)
		if err != nil && !errors.Is(err, ErrNoEndpoint) {
			return err
		}
		switch {
		case set.Token == nil && before.Token == "":
			return pleat.InvalidField("token_value",
				" is required the first time; deliveries carry it in X-Webhook-Token")
		case set.Token == nil && before.sendsTokenElsewhere(set.Address):
			return errTokenRequired("deliveries carry it in X-Webhook-Token")
		}
		if before.ID == "" {
			before = insertEndpoint(t, by.Project, "")
		}
		updateSettings(t, &before, &set)
		e, err = s.recordEndpoint(t, by, people.AuditWebhookSet, before.ID, "")
		return err
	})
	return e, err
}

// AddEndpoint adds a named endpoint, whose Name is set, to by.Project and records it. CodeConflict: the project has one
// of that name, or MaxEndpoints of them.
func (s *Store) AddEndpoint(ctx context.Context, by people.Actor, set EndpointSettings) (Endpoint, error) {
	var e Endpoint
	err := s.db.Write(ctx, "add endpoint", func(t *db.Tx) error {
		if err := lockProject(t, by.Reach); err != nil {
			return err
		}
		if err := checkEndpointCount(t, by.Project); err != nil {
			return err
		}
		if err := checkNameIsFree(t, by.Project, "", *set.Name); err != nil {
			return err
		}
		added := insertEndpoint(t, by.Project, *set.Name)
		updateSettings(t, &added, &set)
		var err error
		e, err = s.recordEndpoint(t, by, people.AuditWebhookAdded, added.ID, "")
		return err
	})
	return e, err
}

// insertEndpoint adds an active endpoint without settings to a locked project.
func insertEndpoint(t *db.Tx, project pleat.ProjectID, name string) Endpoint {
	e := Endpoint{ID: pleat.EndpointID(db.NewID()), Owner: project, Name: name}
	t.Send(`
		INSERT INTO endpoint (
			id, project_id, run_source, origin, token, secret, old_secret, old_secret_until, format, active, paused,
			enabled_by_default, disabled_reason, health, resume_at, rotated_at, created_at, updated_at, name, events)
		VALUES ($1, $2, '', '', '', '', '', 0, '', 1, 0, 0, '', '', 0, $3, $3, $3, $4, 0)`,
		e.ID, project, t.Now, name)
	return e
}

// checkEndpointCount refuses one more named endpoint for a locked project that has as many as it may.
func checkEndpointCount(t *db.Tx, project pleat.ProjectID) error {
	var live, deleted int
	if err := t.Row(`
		SELECT (SELECT count(*) FROM endpoint e WHERE e.project_id = $1 AND `+isNamed+`),
			(SELECT count(*) FROM endpoint e WHERE e.project_id = $1 AND e.deleted_at <> 0)`,
		[]any{project}, &live, &deleted); err != nil {
		return err
	}
	switch {
	case live >= MaxEndpoints:
		return pleat.Errorf(pleat.CodeConflict,
			"the project has %d endpoints, the maximum; change or delete one of them", live)
	case deleted >= maxDeletedEndpoints:
		return pleat.Errorf(pleat.CodeConflict,
			"%d endpoints of the project were deleted and are kept for the log of their deliveries, the maximum; "+
				"change one that it has instead", deleted)
	}
	return nil
}

// checkNameIsFree refuses a name that an endpoint of a locked project other than id has.
func checkNameIsFree(t *db.Tx, project pleat.ProjectID, id pleat.EndpointID, name string) error {
	var taken int
	if err := t.Row("SELECT count(*) FROM endpoint e WHERE e.project_id = $1 AND e.name = $2 AND e.id <> $3 AND "+
		isNamed, []any{project, name, id}, &taken); err != nil {
		return err
	}
	if taken > 0 {
		return pleat.Errorf(pleat.CodeConflict, "name: the project has an endpoint %q; choose another name",
			pleat.Clip(name)).At("name")
	}
	return nil
}

// sendsTokenElsewhere reports whether another address has another origin than the one that the stored token was meant
// for. A manager who changes the address must not be able to have the token sent there.
func (e *Endpoint) sendsTokenElsewhere(to *pleat.Address) bool {
	return e.Token != "" && to != nil && pleat.Origin(to.Origin) != pleat.Origin(e.Address.Origin)
}

// errTokenRequired refuses a URL to which the stored token must not be sent.
func errTokenRequired(why string) error {
	return pleat.InvalidField("token_value",
		" is required again, because target_url has another scheme, host or port than before; %s", why)
}

// ChangeEndpoint changes the settings of a named endpoint and records it. A new URL or token makes it active and resets
// its circuit breaker, as PutEndpoint does; deliveries that wait are sent to the new URL. CodeInvalid: the URL has
// another origin, for which the stored token was not meant. CodeConflict: another one has the name.
func (s *Store) ChangeEndpoint(
	ctx context.Context, by people.Actor, id pleat.EndpointID, set EndpointSettings,
) (Endpoint, error) {
	return s.changeEndpoint(ctx, "change endpoint", by, id, people.AuditWebhookChanged,
		func(t *db.Tx, before *Endpoint) (string, error) {
			if set.Name != nil {
				if err := checkNameIsFree(t, before.Owner, id, *set.Name); err != nil {
					return "", err
				}
			}
			if set.Token == nil && before.sendsTokenElsewhere(set.Address) {
				return "", errTokenRequired("give the token, or an empty one to send none")
			}
			return ": " + strings.Join(updateSettings(t, before, &set), ", "), nil
		})
}

// updateSettings stores the settings of a locked endpoint, and returns the fields of requests that they come from.
func updateSettings(t *db.Tx, e *Endpoint, set *EndpointSettings) (fields []string) {
	columns, args := "updated_at = $2", []any{e.ID, t.Now}
	change := func(column, field string, value any) {
		args = append(args, value)
		columns += ", " + column + " = " + db.Params(len(args), 1)
		fields = append(fields, field)
	}
	if set.Name != nil {
		change("name", "name", *set.Name)
	}
	if set.Address != nil {
		change("origin", "target_url", set.Address.Origin)
		args = append(args, set.Address.Sealed)
		columns += ", address = " + db.Params(len(args), 1)
	}
	if set.Token != nil {
		change("token", "token", *set.Token)
	}
	if set.Format != nil {
		change("format", "format", *set.Format)
	}
	if set.Events != nil {
		change("events", "events", int64(*set.Events))
	}
	if set.EnabledByDefault != nil {
		change("enabled_by_default", "enabled_by_default", db.BoolToInt(*set.EnabledByDefault))
	}
	if e.Secret == "" && set.Secret != "" {
		change("secret", "secret", set.Secret)
	}
	if set.Address != nil || set.Token != nil {
		columns += ", " + activated
	}
	t.Send("UPDATE endpoint SET "+columns+" WHERE id = $1", args...)
	return fields
}

// activated sets the columns of an endpoint that is active, with its circuit breaker reset.
const activated = "active = 1, disabled_reason = '', health = '', resume_at = 0"

// EndpointAction is a change of whether an endpoint gets deliveries.
type EndpointAction string

// The actions on an endpoint.
const (
	EndpointPause      EndpointAction = "pause"      // deliveries wait
	EndpointResume     EndpointAction = "resume"     // deliveries start again at once; the circuit breaker is reset
	EndpointDeactivate EndpointAction = "deactivate" // the default one, whose deliveries wait for a configuration
)

// endpointActions are the actions as SQL, with what the audit log records.
var endpointActions = map[EndpointAction]struct {
	set   string
	audit people.AuditAction
}{
	EndpointPause:  {"paused = 1", people.AuditWebhookPaused},
	EndpointResume: {"paused = 0, " + activated, people.AuditWebhookResumed},
	EndpointDeactivate: {"active = 0, enabled_by_default = 0, disabled_reason = '" + DeactivatedByOwner + "'",
		people.AuditWebhookDeactivated},
}

// SwitchEndpoint pauses, resumes or deactivates an endpoint, and records it. Events of the time between become
// deliveries that wait. Repeating an action is no error. ErrNoEndpoint, ErrNoNamedEndpoint: there is none.
func (s *Store) SwitchEndpoint(
	ctx context.Context, by people.Actor, id pleat.EndpointID, action EndpointAction,
) (Endpoint, error) {
	a := endpointActions[action]
	return s.changeEndpoint(ctx, string(action)+" endpoint", by, id, a.audit,
		func(t *db.Tx, before *Endpoint) (string, error) {
			t.Send("UPDATE endpoint SET "+a.set+", updated_at = $1 WHERE id = $2", t.Now, before.ID)
			return "", nil
		})
}

// RotateSecret stores a new signing secret of an endpoint, and records it. Seal returns the secret, sealed for the
// project of the endpoint. Deliveries are signed with the old one too until a moment, so that a receiver can change
// over without a gap. A second rotation in that time drops the oldest of the three. ErrNoEndpoint, ErrNoNamedEndpoint:
// there is none.
func (s *Store) RotateSecret(
	ctx context.Context, by people.Actor, id pleat.EndpointID, seal func(pleat.ProjectID) string, until time.Time,
) (Endpoint, error) {
	return s.changeEndpoint(ctx, "rotate secret", by, id, people.AuditWebhookRotated,
		func(t *db.Tx, before *Endpoint) (string, error) {
			t.Send(`
				UPDATE endpoint
				SET old_secret = secret, old_secret_until = $1, secret = $2, rotated_at = $3, updated_at = $3
				WHERE id = $4`,
				db.ToMicros(until), seal(before.Owner), t.Now, before.ID)
			return "", nil
		})
}

// changeEndpoint locks an endpoint for an actor who manages its project, changes it and records that. Change returns
// the detail for recordEndpoint.
func (s *Store) changeEndpoint(
	ctx context.Context, verb string, by people.Actor, id pleat.EndpointID, action people.AuditAction,
	change func(t *db.Tx, before *Endpoint) (detail string, err error),
) (Endpoint, error) {
	var e Endpoint
	err := s.db.Write(ctx, verb, func(t *db.Tx) error {
		before, by, err := lockEndpoint(t, by, id)
		if err != nil {
			return err
		}
		detail, err := change(t, &before)
		if err != nil {
			return err
		}
		e, err = s.recordEndpoint(t, by, action, before.ID, detail)
		return err
	})
	return e, err
}

// recordEndpoint reads an endpoint after a change, records the change, and wakes the delivery workers. For a named one
// the audit log has its name, followed by detail.
func (s *Store) recordEndpoint(
	t *db.Tx, by people.Actor, action people.AuditAction, id pleat.EndpointID, detail string,
) (Endpoint, error) {
	e, err := scanEndpoint(func(dst ...any) error {
		return t.Row("SELECT "+endpointColumns+" FROM endpoint e WHERE e.id = $1", []any{id}, dst...)
	})
	if err != nil {
		return e, err
	}
	tasks.NotifyDeliveries(t)
	if e.Name != "" {
		detail = "endpoint " + e.Name + detail
	}
	return e, s.people.RecordAudit(t, by, action, pleat.Origin(e.Address.Origin), detail)
}
