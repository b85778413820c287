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

// EndpointConfig is a new endpoint, or the default one as a manager configures it again. Token and Secret are sealed
// already.
type EndpointConfig struct {
	Name   string // empty: the default one
	URL    string
	Token  string // empty: none, or the stored one of the default endpoint stays
	Secret string // the default endpoint keeps a stored one
	Format string
	Events pleat.EventSet // that a named one gets
	// EnabledByDefault sets whether runs without webhook settings use the default endpoint; nil: as it was, at first
	// false.
	EnabledByDefault *bool
}

// PutEndpoint stores the default endpoint of by.Project, makes it active, resets its circuit breaker and records it; a
// paused one stays paused. A first call must bring a token and a secret. A later one keeps the secret, which
// RotateSecret changes, and keeps the token if it brings none and its URL has the same origin. Deliveries that wait are
// sent to the new URL with the token that is stored with it. CodeInvalid: the token is missing.
func (s *Store) PutEndpoint(ctx context.Context, by people.Actor, c EndpointConfig) (Endpoint, error) {
	var e Endpoint
	err := s.db.Write(ctx, "put endpoint", func(t *db.Tx) error {
		before, by, err := lockEndpoint(t, by, Default)
		if err != nil && !errors.Is(err, ErrNoEndpoint) {
			return err
		}
		switch {
		case c.Token == "" && before.Token == "":
			return pleat.InvalidField("token_value",
				" is required the first time; deliveries carry it in X-Webhook-Token")
		case c.Token == "" && before.sendsTokenElsewhere(c.URL):
			return errTokenRequired("deliveries carry it in X-Webhook-Token")
		}
		id := before.ID
		if id == "" {
			id = insertEndpoint(t, by.Project, &c)
		} else {
			updateSettings(t, &before, c.asChange())
		}
		e, err = s.recordEndpoint(t, by, people.AuditWebhookSet, id, "")
		return err
	})
	return e, err
}

// asChange returns what a configuration changes of the default endpoint.
func (c *EndpointConfig) asChange() EndpointChange {
	change := EndpointChange{URL: &c.URL, Format: &c.Format, EnabledByDefault: c.EnabledByDefault, secret: c.Secret}
	if c.Token != "" {
		change.Token = &c.Token
	}
	return change
}

// AddEndpoint adds a named endpoint to by.Project and records it. CodeConflict: the project has one of that name, or
// MaxEndpoints of them.
func (s *Store) AddEndpoint(ctx context.Context, by people.Actor, c EndpointConfig) (Endpoint, error) {
	var e Endpoint
	err := s.db.Write(ctx, "add endpoint", func(t *db.Tx) error {
		if err := lockProject(t, by.Reach); err != nil {
			return err
		}
		if err := checkEndpointCount(t, by.Project); err != nil {
			return err
		}
		if err := checkNameIsFree(t, by.Project, "", c.Name); err != nil {
			return err
		}
		var err error
		e, err = s.recordEndpoint(t, by, people.AuditWebhookAdded, insertEndpoint(t, by.Project, &c), "")
		return err
	})
	return e, err
}

// insertEndpoint adds an endpoint to a locked project.
func insertEndpoint(t *db.Tx, project pleat.ProjectID, c *EndpointConfig) pleat.EndpointID {
	id := pleat.EndpointID(db.NewID())
	enabled := c.EnabledByDefault != nil && *c.EnabledByDefault
	t.Send(`
		INSERT INTO endpoint (
			id, project_id, run_source, url, token, secret, old_secret, old_secret_until, format, active, paused,
			enabled_by_default, disabled_reason, health, resume_at, rotated_at, created_at, updated_at, name, events)
		VALUES ($1, $2, '', $3, $4, $5, '', 0, $6, 1, 0, $7, '', '', 0, $8, $8, $8, $9, $10)`,
		id, project, c.URL, c.Token, c.Secret, c.Format, db.BoolToInt(enabled), t.Now, c.Name, int64(c.Events))
	return id
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

// sendsTokenElsewhere reports whether another URL has another origin than the one that the stored token was meant for.
// A manager who changes the address must not be able to have the token sent there.
func (e *Endpoint) sendsTokenElsewhere(url string) bool {
	return e.Token != "" && pleat.Origin(url) != pleat.Origin(e.URL)
}

// errTokenRequired refuses a URL to which the stored token must not be sent.
func errTokenRequired(why string) error {
	return pleat.InvalidField("token_value",
		" is required again, because target_url has another scheme, host or port than before; %s", why)
}

// EndpointChange is a change of an endpoint's settings. Fields that are nil stay. A token is sealed already.
type EndpointChange struct {
	Name             *string
	URL              *string
	Token            *string // empty: none from now on
	Format           *string
	Events           *pleat.EventSet
	EnabledByDefault *bool

	secret string // for an endpoint without one
}

// ChangeEndpoint changes the settings of a named endpoint and records it. A new URL or token makes it active and resets
// its circuit breaker, as PutEndpoint does; deliveries that wait are sent to the new URL. CodeInvalid: the URL has
// another origin, for which the stored token was not meant. CodeConflict: another one has the name.
func (s *Store) ChangeEndpoint(
	ctx context.Context, by people.Actor, id pleat.EndpointID, c EndpointChange,
) (Endpoint, error) {
	return s.changeEndpoint(ctx, "change endpoint", by, id, people.AuditWebhookChanged,
		func(t *db.Tx, before *Endpoint) (string, error) {
			if c.Name != nil {
				if err := checkNameIsFree(t, before.Owner, id, *c.Name); err != nil {
					return "", err
				}
			}
			if c.URL != nil && c.Token == nil && before.sendsTokenElsewhere(*c.URL) {
				return "", errTokenRequired("give the token, or an empty one to send none")
			}
			return ": " + strings.Join(updateSettings(t, before, c), ", "), nil
		})
}

// updateSettings stores a change of a locked endpoint, and returns the fields of requests that it is made of.
func updateSettings(t *db.Tx, e *Endpoint, c EndpointChange) (fields []string) {
	set, args := "updated_at = $2", []any{e.ID, t.Now}
	change := func(column, field string, value any) {
		args = append(args, value)
		set += ", " + column + " = " + db.Params(len(args), 1)
		fields = append(fields, field)
	}
	if c.Name != nil {
		change("name", "name", *c.Name)
	}
	if c.URL != nil {
		change("url", "target_url", *c.URL)
	}
	if c.Token != nil {
		change("token", "token", *c.Token)
	}
	if c.Format != nil {
		change("format", "format", *c.Format)
	}
	if c.Events != nil {
		change("events", "events", int64(*c.Events))
	}
	if c.EnabledByDefault != nil {
		change("enabled_by_default", "enabled_by_default", db.BoolToInt(*c.EnabledByDefault))
	}
	if e.Secret == "" && c.secret != "" {
		change("secret", "secret", c.secret)
	}
	if c.URL != nil || c.Token != nil {
		set += ", " + activated
	}
	t.Send("UPDATE endpoint SET "+set+" WHERE id = $1", args...)
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
// what the audit log says of a named one in addition to its name.
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

// recordEndpoint reads an endpoint after a change, records the change, and wakes those who deliver. Detail is what has
// changed of a named one.
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
	return e, s.people.RecordAudit(t, by, action, pleat.Origin(e.URL), detail)
}
