package store

import (
	"context"
	"time"

	"pleat"
)

// Endpoint is where a user's deliveries go: the global one, or one that a single run brought. Token and secrets are sealed.
type Endpoint struct {
	ID               string
	Owner            pleat.UserID
	Source           string // the job or workflow that brought it; empty: global
	URL              string
	Token            string // sealed for the column «token»
	Secret           string // sealed for the column «secret»; empty: none
	OldSecret        string // sealed for the column «secret»
	OldSecretUntil   time.Time
	Format           string
	Active           bool
	Paused           bool
	EnabledByDefault bool
	DisabledReason   string
	Health           string // the breaker, as internal/webhook keeps it
	ResumeAt         time.Time
	RotatedAt        time.Time
	UpdatedAt        time.Time
}

// ownersWish is the reason of an endpoint that its owner has deactivated.
const deactivatedByOwner = "deactivated by its owner"

// Deactivated reports whether the owner has taken the endpoint out of use. One that the service has disabled is not.
func (e *Endpoint) Deactivated() bool { return !e.Active && e.DisabledReason == deactivatedByOwner }

const endpointColumns = `e.id, e.account_id, e.run_source, e.url, e.token, e.secret, e.old_secret, e.old_secret_until, e.format, e.active, e.paused,
	e.enabled_by_default, e.disabled_reason, e.health, e.resume_at, e.rotated_at, e.updated_at`

type endpointRow struct {
	until, active, paused, byDefault, resume, rotated, updated int64
}

func (r *endpointRow) into(e *Endpoint) []any {
	return []any{&e.ID, &e.Owner, &e.Source, &e.URL, &e.Token, &e.Secret, &e.OldSecret, &r.until, &e.Format, &r.active, &r.paused,
		&r.byDefault, &e.DisabledReason, &e.Health, &r.resume, &r.rotated, &r.updated}
}

func (r *endpointRow) fill(e *Endpoint) {
	e.Active, e.Paused, e.EnabledByDefault = r.active == 1, r.paused == 1, r.byDefault == 1
	e.OldSecretUntil, e.ResumeAt, e.RotatedAt, e.UpdatedAt = fromMicros(r.until), fromMicros(r.resume), fromMicros(r.rotated), fromMicros(r.updated)
}

// ErrNoEndpoint says that a user has never configured a webhook.
var ErrNoEndpoint = pleat.Errorf(pleat.CodeNotFound, "No webhook is configured; PUT /v1/webhooks/custom-http-config does that")

// GlobalEndpoint reads a user's global endpoint; ErrNoEndpoint where there was never one.
func (s *Store) GlobalEndpoint(ctx context.Context, user pleat.UserID) (Endpoint, error) {
	var e Endpoint
	var r endpointRow
	err := s.readRow(ctx, "SELECT "+endpointColumns+" FROM endpoint e WHERE e.account_id = $1 AND e.run_source = ''", []any{user}, r.into(&e)...)
	r.fill(&e)
	return e, unavailable("read endpoint", mapNoRows(err, ErrNoEndpoint))
}

// DefaultEndpoint is the endpoint that a user's runs tell where they say nothing of it; empty: none. One that the service has
// disabled still counts, since its events are kept.
func (s *Store) DefaultEndpoint(ctx context.Context, user pleat.UserID) (string, error) {
	var id string
	err := s.readRow(ctx, "SELECT id FROM endpoint WHERE account_id = $1 AND run_source = '' AND enabled_by_default = 1", []any{user}, &id)
	return id, unavailable("read endpoint", mapNoRows(err, nil))
}

// PutEndpoint stores a user's global endpoint and makes it active and healthy. An empty Token or Secret leaves what is
// stored; the first call must bring both. EnabledByDefault nil leaves it too.
func (s *Store) PutEndpoint(ctx context.Context, user pleat.UserID, url, token, secret, format string, byDefault *bool) (Endpoint, error) {
	var e Endpoint
	err := s.write(ctx, "put endpoint", func(t *tx) error {
		if _, err := t.exec(`INSERT INTO endpoint (id, account_id, run_source, url, token, secret, old_secret, old_secret_until, format, active, paused, enabled_by_default, disabled_reason, health, resume_at, rotated_at, created_at, updated_at)
			VALUES ($1, $2, '', $3, $4, $5, '', 0, $6, 1, 0, 0, '', '', 0, $7, $7, $7)
			ON CONFLICT (account_id) WHERE run_source = '' DO UPDATE SET url = excluded.url, format = excluded.format, active = 1, disabled_reason = '', health = '', resume_at = 0, updated_at = excluded.updated_at,
				token = CASE WHEN excluded.token = '' THEN endpoint.token ELSE excluded.token END,
				secret = CASE WHEN endpoint.secret = '' THEN excluded.secret ELSE endpoint.secret END`,
			newID(), user, url, token, secret, format, t.now); err != nil {
			return err
		}
		if byDefault != nil {
			if _, err := t.exec("UPDATE endpoint SET enabled_by_default = $1 WHERE account_id = $2 AND run_source = ''", boolToInt(*byDefault), user); err != nil {
				return err
			}
		}
		return t.globalEndpoint(user, &e)
	})
	return e, err
}

func (t *tx) globalEndpoint(user pleat.UserID, e *Endpoint) error {
	var r endpointRow
	err := t.row("SELECT "+endpointColumns+" FROM endpoint e WHERE e.account_id = $1 AND e.run_source = ''", []any{user}, r.into(e)...)
	r.fill(e)
	t.notify(deliveryTopic)
	return mapNoRows(err, ErrNoEndpoint)
}

// EndpointChange is one thing done to a user's global endpoint.
type EndpointChange string

const (
	EndpointPause  EndpointChange = "pause"  // deliveries wait
	EndpointResume EndpointChange = "resume" // and go again, at once, whatever the breaker thought
	EndpointDelete EndpointChange = "delete" // deactivated; its deliveries wait for another configuration
)

// ChangeEndpoint pauses, resumes or deactivates a user's global endpoint. Events of the time between are kept.
func (s *Store) ChangeEndpoint(ctx context.Context, user pleat.UserID, change EndpointChange) (Endpoint, error) {
	set := map[EndpointChange]string{
		EndpointPause:  "paused = 1",
		EndpointResume: "paused = 0, active = 1, disabled_reason = '', health = '', resume_at = 0",
		EndpointDelete: "active = 0, enabled_by_default = 0, disabled_reason = '" + deactivatedByOwner + "'",
	}[change]
	var e Endpoint
	err := s.write(ctx, string(change)+" endpoint", func(t *tx) error {
		if _, err := t.exec("UPDATE endpoint SET "+set+", updated_at = $1 WHERE account_id = $2 AND run_source = ''", t.now, user); err != nil {
			return err
		}
		return t.globalEndpoint(user, &e)
	})
	return e, err
}

// RotateSecret gives a user's global endpoint a new signing secret; the old one signs beside it until a moment.
func (s *Store) RotateSecret(ctx context.Context, user pleat.UserID, secret string, until time.Time) (Endpoint, error) {
	var e Endpoint
	err := s.write(ctx, "rotate secret", func(t *tx) error {
		if _, err := t.exec("UPDATE endpoint SET old_secret = secret, old_secret_until = $1, secret = $2, rotated_at = $3, updated_at = $3 WHERE account_id = $4 AND run_source = ''",
			toMicros(until), secret, t.now, user); err != nil {
			return err
		}
		return t.globalEndpoint(user, &e)
	})
	return e, err
}

// Reseal passes every sealed value through fn, which gives it back under the current key, and says of how many endpoints it
// changed some. An old secret is sealed as the secret that it was.
func (s *Store) Reseal(ctx context.Context, fn func(user pleat.UserID, column, sealed string) (string, bool, error)) (int, error) {
	changed := 0
	err := s.write(ctx, "reseal", func(t *tx) error {
		changed = 0
		var all []Endpoint
		rows, err := t.query("SELECT " + endpointColumns + " FROM endpoint e ORDER BY e.id")
		err = forEachRow(rows, err, func(scan func(...any) error) error {
			var e Endpoint
			var r endpointRow
			defer func() { all = append(all, e) }()
			return scan(r.into(&e)...)
		})
		if err != nil {
			return err
		}
		for _, e := range all {
			touched := false
			for _, c := range []struct {
				column string
				value  *string
			}{{"token", &e.Token}, {"secret", &e.Secret}, {"secret", &e.OldSecret}} {
				if *c.value == "" {
					continue
				}
				sealed, again, err := fn(e.Owner, c.column, *c.value)
				if err != nil {
					return err
				}
				*c.value, touched = sealed, touched || again
			}
			if !touched {
				continue
			}
			changed++
			if _, err := t.exec("UPDATE endpoint SET token = $1, secret = $2, old_secret = $3 WHERE id = $4", e.Token, e.Secret, e.OldSecret, e.ID); err != nil {
				return err
			}
		}
		return nil
	})
	return changed, err
}
