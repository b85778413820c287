package webhooks

import (
	"context"
	"time"

	"pleat"
	"pleat/internal/store/db"
	"pleat/internal/store/people"
	"pleat/internal/store/tasks"
)

// Endpoint receives a project's deliveries: its default one, a named one, or one that a single run brought. It receives
// deliveries while it is active and not paused, and once ResumeAt has passed; until then they wait. Token and secrets
// are sealed by package seal for their columns: this package cannot read them.
type Endpoint struct {
	ID               pleat.EndpointID
	Owner            pleat.ProjectID
	Name             string         // of a named one; empty: it is another one
	Events           pleat.EventSet // that a named one gets
	SingleRun        bool           // one run brought it for its own events
	URL              string
	Token            string // sealed for the column «token»
	Secret           string // sealed for the column «secret»; empty: none
	OldSecret        string // sealed for the column «secret»; signs besides Secret until OldSecretUntil
	OldSecretUntil   time.Time
	Format           string // of the bodies; empty: the service's own
	Active           bool
	Paused           bool      // its owner lets deliveries wait
	EnabledByDefault bool      // runs without webhook settings use it
	DisabledReason   string    // why it is not active
	Health           string    // the circuit breaker's state, as internal/deliver writes it
	ResumeAt         time.Time // when it may receive again; zero: now
	RotatedAt        time.Time // when Secret was stored
	CreatedAt        time.Time
	UpdatedAt        time.Time
}

// DeactivatedByOwner is the DisabledReason of an endpoint that its owner has deactivated.
const DeactivatedByOwner = "deactivated by its owner"

// Deactivated reports whether the owner has deactivated the endpoint, as opposed to the service.
func (e *Endpoint) Deactivated() bool { return !e.Active && e.DisabledReason == DeactivatedByOwner }

// endpointColumns are the columns that endpointRow scans, of the row e of endpoint.
const endpointColumns = `e.id, e.project_id, e.run_source, e.url, e.token, e.secret, e.old_secret, e.old_secret_until,
	e.format, e.active, e.paused, e.enabled_by_default, e.disabled_reason, e.health, e.resume_at, e.rotated_at,
	e.created_at, e.updated_at, e.name, e.events`

// endpointRow holds the columns of an endpoint whose types differ from those of Endpoint; see runs.jobRow.
type endpointRow struct {
	// the id of the job or workflow that brought it; empty: none did
	source                                                              string
	until, active, paused, byDefault, resume, rotated, created, updated int64
}

// into returns where to scan endpointColumns; fill then completes the endpoint.
func (r *endpointRow) into(e *Endpoint) []any {
	return []any{
		&e.ID, &e.Owner, &r.source, &e.URL, &e.Token, &e.Secret, &e.OldSecret, &r.until, &e.Format, &r.active,
		&r.paused,
		&r.byDefault, &e.DisabledReason, &e.Health, &r.resume, &r.rotated, &r.created, &r.updated, &e.Name, &e.Events,
	}
}

func (r *endpointRow) fill(e *Endpoint) {
	e.SingleRun = r.source != ""
	e.Active, e.Paused, e.EnabledByDefault = r.active == 1, r.paused == 1, r.byDefault == 1
	e.OldSecretUntil, e.ResumeAt = db.FromMicros(r.until), db.FromMicros(r.resume)
	e.RotatedAt, e.CreatedAt, e.UpdatedAt = db.FromMicros(r.rotated), db.FromMicros(r.created), db.FromMicros(r.updated)
}

// scanEndpoint reads endpointColumns, and more columns after them.
func scanEndpoint(scan func(...any) error, more ...any) (Endpoint, error) {
	var e Endpoint
	var r endpointRow
	err := scan(append(r.into(&e), more...)...)
	r.fill(&e)
	return e, err
}

// readEndpoint reads one endpoint, and more columns after endpointColumns; sql.ErrNoRows where there is none.
func readEndpoint(t *db.Tx, q string, args []any, more ...any) (Endpoint, error) {
	return scanEndpoint(func(dst ...any) error { return t.Row(q, args, dst...) }, more...)
}

// ErrNoEndpoint refuses a call on the webhook of a project that has none.
var ErrNoEndpoint = pleat.Errorf(pleat.CodeNotFound,
	"No webhook is configured; PUT /v1/webhooks/custom-http-config does that")

// defaultEndpointQuery finds the default endpoint of a project, of which a unique index allows one.
const defaultEndpointQuery = "SELECT " + endpointColumns +
	" FROM endpoint e WHERE e.project_id = $1 AND e.run_source = '' AND e.name = ''"

// isDefault is the condition that a row of endpoint is the default one of its project.
const isDefault = "run_source = '' AND name = ''"

// DefaultEndpoint reads a project's default endpoint; ErrNoEndpoint if nobody has configured one.
func (s *Store) DefaultEndpoint(ctx context.Context, by people.Reach) (Endpoint, error) {
	e, err := scanEndpoint(func(dst ...any) error {
		return s.db.ReadRow(ctx, defaultEndpointQuery+" AND "+people.RoleSQL("e.project_id", "$2", "$1")+" > 0",
			[]any{by.Project, by.User}, dst...)
	})
	return e, db.Unavailable("read endpoint", db.MapNoRows(err, ErrNoEndpoint))
}

// EnabledEndpoint is the row e of the endpoint that gets the events of the runs of the project $2 unless their settings
// say otherwise; none, if there is none. It may be one that the service has disabled: its deliveries wait.
const EnabledEndpoint = "endpoint e " +
	"WHERE e.project_id = $2 AND e.run_source = '' AND e.name = '' AND e.enabled_by_default = 1"

// EndpointConfig is what a manager configures of the default endpoint. Token and Secret are sealed already.
type EndpointConfig struct {
	URL    string
	Token  string // sealed; empty: the stored one stays
	Secret string // sealed; used if none is stored
	Format string
	// EnabledByDefault sets whether runs without webhook settings use the endpoint; nil: as it was, at first false.
	EnabledByDefault *bool
}

// PutEndpoint stores the default endpoint of by.Project, makes it active, resets its circuit breaker and records it; a
// paused one stays paused. A first call must bring a token and a secret. A later one keeps the secret, which
// RotateSecret changes, and keeps the token if it brings none and its URL has the same origin. Deliveries that wait are
// sent to the new URL with the token that is stored with it. CodeInvalid: the token is missing.
func (s *Store) PutEndpoint(ctx context.Context, by people.Actor, c EndpointConfig) (Endpoint, error) {
	var e Endpoint
	err := s.db.Write(ctx, "put endpoint", func(t *db.Tx) error {
		if err := people.NeedRole(t, by.Reach, pleat.Manager); err != nil {
			return err
		}
		if err := checkToken(t, by.Project, &c); err != nil {
			return err
		}
		var id pleat.EndpointID
		if err := t.Row(`
			INSERT INTO endpoint (
				id, project_id, run_source, url, token, secret, old_secret, old_secret_until, format, active, paused,
				enabled_by_default, disabled_reason, health, resume_at, rotated_at, created_at, updated_at)
			VALUES ($1, $2, '', $3, $4, $5, '', 0, $6, 1, 0, 0, '', '', 0, $7, $7, $7)
			ON CONFLICT (project_id) WHERE `+isDefault+` DO UPDATE SET
				url = excluded.url, format = excluded.format, active = 1, disabled_reason = '', health = '',
				resume_at = 0,
				updated_at = excluded.updated_at,
				token = CASE WHEN excluded.token = '' THEN endpoint.token ELSE excluded.token END,
				secret = CASE WHEN endpoint.secret = '' THEN excluded.secret ELSE endpoint.secret END
			RETURNING id`,
			[]any{db.NewID(), by.Project, c.URL, c.Token, c.Secret, c.Format, t.Now}, &id); err != nil {
			return err
		}
		if c.EnabledByDefault != nil {
			t.Send("UPDATE endpoint SET enabled_by_default = $1 WHERE id = $2", db.BoolToInt(*c.EnabledByDefault), id)
		}
		var err error
		e, err = s.changedEndpoint(t, by, people.AuditWebhookSet, id, "")
		return err
	})
	return e, err
}

// checkToken refuses a configuration without a token where none is stored, or where the stored one was given for
// another origin: who may change the address must not be able to have the token sent there. It locks the
// project, so that a concurrent change of the address is seen.
func checkToken(t *db.Tx, owner pleat.ProjectID, c *EndpointConfig) error {
	if err := people.LockProject(t, owner); err != nil || c.Token != "" {
		return err
	}
	e, err := readEndpoint(t, defaultEndpointQuery, []any{owner})
	if err = db.MapNoRows(err, nil); err != nil {
		return err
	}
	switch {
	case e.Token == "":
		return pleat.InvalidField("token_value", " is required the first time; deliveries carry it in X-Webhook-Token")
	case pleat.Origin(e.URL) != pleat.Origin(c.URL):
		return pleat.InvalidField("token_value", " is required again, because target_url has another scheme, host or "+
			"port than before; deliveries carry it in X-Webhook-Token")
	}
	return nil
}

// Default stands for the default endpoint of the project of the caller's reach. The others have ids.
const Default pleat.EndpointID = ""

// lockEndpoint reads an endpoint whose project it locks, for an actor who manages the project. It returns the actor in
// that project. ErrNoEndpoint, ErrNoNamedEndpoint: there is none.
func lockEndpoint(t *db.Tx, by people.Actor, id pleat.EndpointID) (Endpoint, people.Actor, error) {
	if id == Default {
		if err := people.NeedRole(t, by.Reach, pleat.Manager); err != nil {
			return Endpoint{}, by, err
		}
		if err := people.LockProject(t, by.Project); err != nil {
			return Endpoint{}, by, err
		}
		e, err := readEndpoint(t, defaultEndpointQuery, []any{by.Project})
		return e, by, db.MapNoRows(err, ErrNoEndpoint)
	}
	e, err := managedEndpoint(t, by, id)
	if err == nil {
		err = people.LockProject(t, e.Owner)
	}
	if err == nil {
		e, err = managedEndpoint(t, by, id) // a concurrent change may have come before the lock
	}
	return e, by.In(e.Owner), err
}

// managedEndpoint reads a named endpoint for an actor who manages its project.
func managedEndpoint(t *db.Tx, by people.Actor, id pleat.EndpointID) (Endpoint, error) {
	var role pleat.Role
	e, err := readEndpoint(t, oneNamedEndpoint, []any{id, by.User, by.Project}, &role)
	if err = db.MapNoRows(err, ErrNoNamedEndpoint); err == nil {
		err = role.Allow(pleat.Manager, ErrNoNamedEndpoint)
	}
	return e, err
}

// changedEndpoint reads an endpoint after a change, records the change, and wakes those who deliver. Detail is what has
// changed of a named one.
func (s *Store) changedEndpoint(
	t *db.Tx, by people.Actor, action people.AuditAction, id pleat.EndpointID, detail string,
) (Endpoint, error) {
	e, err := readEndpoint(t, "SELECT "+endpointColumns+" FROM endpoint e WHERE e.id = $1", []any{id})
	if err != nil {
		return e, err
	}
	tasks.NotifyDeliveries(t)
	if e.Name != "" {
		detail = "endpoint " + e.Name + detail
	}
	return e, s.people.RecordAudit(t, by, action, pleat.Origin(e.URL), detail)
}

// EndpointChange is a change of the state of an endpoint.
type EndpointChange string

// The changes of an endpoint's state.
const (
	EndpointPause  EndpointChange = "pause"  // deliveries wait
	EndpointResume EndpointChange = "resume" // deliveries start again at once; the circuit breaker is reset
	EndpointDelete EndpointChange = "delete" // of the default one: its deliveries wait for another configuration
)

// endpointChanges are the changes as SQL, with what the audit log records.
var endpointChanges = map[EndpointChange]struct {
	set    string
	action people.AuditAction
}{
	EndpointPause: {"paused = 1", people.AuditWebhookPaused},
	EndpointResume: {"paused = 0, active = 1, disabled_reason = '', health = '', resume_at = 0",
		people.AuditWebhookResumed},
	EndpointDelete: {"active = 0, enabled_by_default = 0, disabled_reason = '" + DeactivatedByOwner + "'",
		people.AuditWebhookDeactivated},
}

// SwitchEndpoint pauses, resumes or deactivates an endpoint, and records it. Events of the time between become
// deliveries that wait. Repeating a change is no error. ErrNoEndpoint, ErrNoNamedEndpoint: there is none.
func (s *Store) SwitchEndpoint(
	ctx context.Context, by people.Actor, id pleat.EndpointID, change EndpointChange,
) (Endpoint, error) {
	c := endpointChanges[change]
	var e Endpoint
	err := s.db.Write(ctx, string(change)+" endpoint", func(t *db.Tx) error {
		before, by, err := lockEndpoint(t, by, id)
		if err != nil {
			return err
		}
		t.Send("UPDATE endpoint SET "+c.set+", updated_at = $1 WHERE id = $2", t.Now, before.ID)
		e, err = s.changedEndpoint(t, by, c.action, before.ID, "")
		return err
	})
	return e, err
}

// RotateSecret stores a new signing secret of an endpoint, and records it. Seal returns the secret, sealed for the
// project of the endpoint. Deliveries are signed with the old one too until a moment, so that a receiver can change
// over without a gap. A second rotation in that time drops the oldest of the three. ErrNoEndpoint, ErrNoNamedEndpoint:
// there is none.
func (s *Store) RotateSecret(
	ctx context.Context, by people.Actor, id pleat.EndpointID, seal func(pleat.ProjectID) string, until time.Time,
) (Endpoint, error) {
	var e Endpoint
	err := s.db.Write(ctx, "rotate secret", func(t *db.Tx) error {
		before, by, err := lockEndpoint(t, by, id)
		if err != nil {
			return err
		}
		t.Send(`
			UPDATE endpoint
			SET old_secret = secret, old_secret_until = $1, secret = $2, rotated_at = $3, updated_at = $3
			WHERE id = $4`,
			db.ToMicros(until), seal(before.Owner), t.Now, before.ID)
		e, err = s.changedEndpoint(t, by, people.AuditWebhookRotated, before.ID, "")
		return err
	})
	return e, err
}

// Reseal passes every sealed value through fn, which returns it sealed with the current key and whether that changed
// it. Reseal returns the number of endpoints and logins that changed. An old secret is sealed for the column «secret»,
// since a rotation moves it as it is. One transaction changes all endpoints or, after an error of fn, none: no key is
// half replaced. The command pleat secrets calls it.
func (s *Store) Reseal(
	ctx context.Context, fn func(owner pleat.ProjectID, column, sealed string) (string, bool, error),
) (int, error) {
	changed := 0
	err := s.db.Write(ctx, "reseal", func(t *db.Tx) error {
		changed = 0
		var all []Endpoint
		rows, err := t.Query("SELECT " + endpointColumns + " FROM endpoint e ORDER BY e.id")
		err = db.ForEachRow(rows, err, func(scan func(...any) error) error {
			e, err := scanEndpoint(scan)
			all = append(all, e)
			return err
		})
		if err != nil {
			return err
		}
		for _, e := range all {
			resealed := false
			for _, c := range []struct {
				column string
				value  *string
			}{{"token", &e.Token}, {"secret", &e.Secret}, {"secret", &e.OldSecret}} {
				if *c.value == "" {
					continue
				}
				sealed, differs, err := fn(e.Owner, c.column, *c.value)
				if err != nil {
					return err
				}
				*c.value, resealed = sealed, resealed || differs
			}
			if !resealed {
				continue
			}
			changed++
			if _, err := t.Exec("UPDATE endpoint SET token = $1, secret = $2, old_secret = $3 WHERE id = $4",
				e.Token, e.Secret, e.OldSecret, e.ID); err != nil {
				return err
			}
		}
		n, err := people.ResealLogins(t, fn)
		changed += n
		return err
	})
	return changed, err
}
