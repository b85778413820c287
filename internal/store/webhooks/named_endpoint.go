package webhooks

import (
	"context"
	"slices"
	"strings"
	"time"

	"pleat"
	"pleat/internal/store/db"
	"pleat/internal/store/people"
)

// A named endpoint is a further one of a project. It gets the project's events of its set, from the transaction that
// writes an event on, whatever the settings of the run say.

// MaxEndpoints is how many named endpoints a project may have.
const MaxEndpoints = 10

// maxDeletedEndpoints bounds the deleted endpoints of a project whose rows are kept for their deliveries.
const maxDeletedEndpoints = 100

// ErrNoNamedEndpoint refuses a call on a named endpoint that does not exist or is out of reach.
var ErrNoNamedEndpoint = pleat.Errorf(pleat.CodeNotFound, "Endpoint not found")

// isNamed is the condition that a row e of endpoint is a named one.
const isNamed = "e.name <> '' AND e.deleted_at = 0"

// namedEndpointsQuery lists the named endpoints of a project.
const namedEndpointsQuery = "SELECT " + endpointColumns + " FROM endpoint e WHERE e.project_id = $1 AND " + isNamed

// NamedEndpoints lists the named endpoints of a project by name; none for who has no role in it.
func (s *Store) NamedEndpoints(ctx context.Context, by people.Reach) ([]Endpoint, error) {
	out := []Endpoint{}
	inReach := people.RoleSQL("e.project_id", "$2", "$1") + " > 0"
	rows, err := s.db.Read(ctx, namedEndpointsQuery+" AND "+inReach+" ORDER BY e.name", by.Project, by.User)
	err = db.ForEachRow(rows, err, func(scan func(...any) error) error {
		e, err := scanEndpoint(scan)
		out = append(out, e)
		return err
	})
	return out, db.Unavailable("list endpoints", err)
}

// oneNamedEndpoint reads a named endpoint by its id, with the role of a Reach in its project.
var oneNamedEndpoint = "SELECT " + endpointColumns + ", " + people.RoleSQL("e.project_id", "$2", "$3") +
	" FROM endpoint e WHERE e.id = $1 AND " + isNamed

// NamedEndpoint reads a named endpoint, and the role of the caller in its project. ErrNoNamedEndpoint: there is none,
// or it is out of reach.
func (s *Store) NamedEndpoint(ctx context.Context, by people.Reach, id pleat.EndpointID) (Endpoint, pleat.Role, error) {
	var role pleat.Role
	e, err := scanEndpoint(func(dst ...any) error {
		return s.db.ReadRow(ctx, oneNamedEndpoint, []any{id, by.User, by.Project}, dst...)
	}, &role)
	if err = db.MapNoRows(err, ErrNoNamedEndpoint); err == nil {
		err = role.Allow(pleat.Viewer, ErrNoNamedEndpoint)
	}
	return e, role, db.Unavailable("read endpoint", err)
}

// NewEndpoint is a named endpoint to add. Token and Secret are sealed already.
type NewEndpoint struct {
	Name   string
	URL    string
	Token  string // empty: none
	Secret string
	Format string
	Events pleat.EventSet
}

// AddEndpoint adds a named endpoint to by.Project and records it. CodeConflict: the project has one of that name, or
// MaxEndpoints of them.
func (s *Store) AddEndpoint(ctx context.Context, by people.Actor, n NewEndpoint) (Endpoint, error) {
	var e Endpoint
	err := s.db.Write(ctx, "add endpoint", func(t *db.Tx) error {
		if err := people.NeedRole(t, by.Reach, pleat.Manager); err != nil {
			return err
		}
		if err := people.LockProject(t, by.Project); err != nil {
			return err
		}
		if err := roomForEndpoint(t, by.Project); err != nil {
			return err
		}
		if err := freeEndpointName(t, by.Project, "", n.Name); err != nil {
			return err
		}
		id := pleat.EndpointID(db.NewID())
		t.Send(`
			INSERT INTO endpoint (
				id, project_id, run_source, url, token, secret, old_secret, old_secret_until, format, active, paused,
				enabled_by_default, disabled_reason, health, resume_at, rotated_at, created_at, updated_at, name,
				events)
			VALUES ($1, $2, '', $3, $4, $5, '', 0, $6, 1, 0, 0, '', '', 0, $7, $7, $7, $8, $9)`,
			id, by.Project, n.URL, n.Token, n.Secret, n.Format, t.Now, n.Name, int64(n.Events))
		var err error
		e, err = s.changedEndpoint(t, by, people.AuditWebhookAdded, id, "")
		return err
	})
	return e, err
}

// roomForEndpoint refuses one more named endpoint for a locked project that has as many as it may.
func roomForEndpoint(t *db.Tx, project pleat.ProjectID) error {
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

// freeEndpointName refuses a name that another endpoint of a locked project has than id.
func freeEndpointName(t *db.Tx, project pleat.ProjectID, id pleat.EndpointID, name string) error {
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

// NamedEndpointChange is a change of a named endpoint. Fields that are nil stay. A token is sealed already.
type NamedEndpointChange struct {
	Name   *string
	URL    *string
	Token  *string // empty: none from now on
	Format *string
	Events *pleat.EventSet
}

// ChangeNamedEndpoint changes a named endpoint and records it. A new URL or token makes it active and resets its
// circuit breaker, as PutEndpoint does; deliveries that wait are sent to the new URL. CodeInvalid: the URL has another
// origin, for which the stored token was not given. CodeConflict: another one has the name.
func (s *Store) ChangeNamedEndpoint(
	ctx context.Context, by people.Actor, id pleat.EndpointID, c NamedEndpointChange,
) (Endpoint, error) {
	var e Endpoint
	err := s.db.Write(ctx, "change endpoint", func(t *db.Tx) error {
		before, by, err := lockEndpoint(t, by, id)
		if err != nil {
			return err
		}
		if c.Name != nil {
			if err := freeEndpointName(t, before.Owner, id, *c.Name); err != nil {
				return err
			}
		}
		if c.URL != nil && c.Token == nil && before.Token != "" && pleat.Origin(*c.URL) != pleat.Origin(before.URL) {
			return pleat.InvalidField("token_value", " is required again, because target_url has another scheme, host "+
				"or port than before; give the token, or an empty one to send none")
		}
		var set, what []string
		args := []any{id, t.Now}
		change := func(column, field string, value any) {
			args = append(args, value)
			set, what = append(set, column+" = "+db.Params(len(args), 1)), append(what, field)
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
		if c.URL != nil || c.Token != nil {
			set = append(set, "active = 1, disabled_reason = '', health = '', resume_at = 0")
		}
		t.Send("UPDATE endpoint SET "+strings.Join(append(set, "updated_at = $2"), ", ")+" WHERE id = $1", args...)
		e, err = s.changedEndpoint(t, by, people.AuditWebhookChanged, id, ": "+strings.Join(what, ", "))
		return err
	})
	return e, err
}

// endedAtOnce is how many waiting deliveries of a deleted endpoint one transaction ends.
const endedAtOnce = 1000

// DeleteEndpoint deletes a named endpoint with its address, token and secrets, and records it. Its name can be used
// again. The transaction ends the first deliveries that wait for it; EndDeliveries ends the others, since there may be
// so many that one transaction would hold up all others. An attempt in flight ends as it does.
func (s *Store) DeleteEndpoint(ctx context.Context, by people.Actor, id pleat.EndpointID) (Endpoint, error) {
	var e Endpoint
	err := s.db.Write(ctx, "delete endpoint", func(t *db.Tx) error {
		_, by, err := lockEndpoint(t, by, id)
		if err != nil {
			return err
		}
		if e, err = s.changedEndpoint(t, by, people.AuditWebhookDeleted, id, ""); err != nil {
			return err
		}
		DeleteEndpoints(t, "id = $2", id)
		_, err = endDeliveriesTo(t, id)
		return err
	})
	return e, err
}

// DeleteEndpoints deletes the named endpoints that a condition with the parameter $2 selects. Their rows stay while
// they have deliveries, which show the name.
func DeleteEndpoints(t *db.Tx, where string, arg any) {
	t.Send(`
		UPDATE endpoint
		SET deleted_at = $1, active = 0, url = '', token = '', secret = '', old_secret = '', updated_at = $1
		WHERE name <> '' AND deleted_at = 0 AND `+where,
		t.Now, arg)
}

// endDeliveriesTo ends up to endedAtOnce deliveries that wait for a deleted endpoint, and returns how many it found.
func endDeliveriesTo(t *db.Tx, id pleat.EndpointID) (int, error) {
	var ids []any
	rows, err := t.Query(waitingFor+" LIMIT $2", id, endedAtOnce)
	err = db.ForEachRow(rows, err, func(scan func(...any) error) error {
		var id string
		err := scan(&id)
		ids = append(ids, id)
		return err
	})
	if err != nil {
		return 0, err
	}
	for part := range slices.Chunk(ids, db.MaxStatementRows) {
		n := db.Padded(len(part))
		// A claim may have taken one meanwhile: its attempt ends it.
		t.Send("DELETE FROM task WHERE delivery_id IN ("+db.Params(1, n)+") AND state <> 'running'", db.Pad(part)...)
		t.Send(`
			UPDATE delivery AS d
			SET status = 'FAILED', reason = 'the endpoint was deleted', next_at = 0, updated_at = $1
			WHERE d.id IN (`+db.Params(2, n)+") AND d.status = 'PENDING' AND NOT "+inFlightSQL,
			append([]any{t.Now}, db.Pad(part)...)...)
	}
	return len(ids), t.Wait()
}

// waitingFor selects the deliveries that wait for an endpoint.
const waitingFor = "SELECT d.id FROM delivery d WHERE d.endpoint_id = $1 AND d.status = 'PENDING' AND NOT " +
	inFlightSQL

// deletedWithDeliveries finds a deleted endpoint for which deliveries wait.
const deletedWithDeliveries = `
	SELECT e.id FROM endpoint e
	WHERE e.deleted_at <> 0 AND EXISTS (
		SELECT 1 FROM delivery d WHERE d.endpoint_id = e.id AND d.status = 'PENDING' AND NOT ` + inFlightSQL + `)
	LIMIT 1`

// forgottenEndpoint finds a deleted endpoint without deliveries. In the first hour there may be a run whose end has
// read the endpoint and is not committed yet.
const forgottenEndpoint = `
	SELECT e.id FROM endpoint e
	WHERE e.deleted_at <> 0 AND e.deleted_at < $1 AND NOT EXISTS (
		SELECT 1 FROM delivery d WHERE d.project_id = e.project_id AND d.endpoint_id = e.id)
	LIMIT 1`

// EndDeliveries ends deliveries that wait for one deleted endpoint, up to a thousand, or else deletes the row of one
// that has no deliveries any more. A caller repeats it until it returns false: there was nothing to do. It also finds
// those whose attempt was in flight, or whose run was ending, when the endpoint was deleted.
func (s *Store) EndDeliveries(ctx context.Context) (bool, error) {
	for _, step := range []struct {
		find string
		args []any
		do   func(t *db.Tx, id pleat.EndpointID) error
	}{
		{deletedWithDeliveries, nil, func(t *db.Tx, id pleat.EndpointID) error {
			_, err := endDeliveriesTo(t, id)
			return err
		}},
		{forgottenEndpoint, []any{s.db.Micros() - time.Hour.Microseconds()}, func(t *db.Tx, id pleat.EndpointID) error {
			t.Send("DELETE FROM endpoint WHERE id = $1 AND deleted_at <> 0", id)
			return nil
		}},
	} {
		id, found, err := s.oneEndpoint(ctx, step.find, step.args)
		if err != nil {
			return false, err
		}
		if found {
			err = s.db.Write(ctx, "end deliveries", func(t *db.Tx) error { return step.do(t, id) })
			return err == nil, err
		}
	}
	return false, nil
}

// oneEndpoint reads the id that a query finds.
func (s *Store) oneEndpoint(
	ctx context.Context, query string, args []any,
) (id pleat.EndpointID, found bool, err error) {
	err = db.MapNoRows(s.db.ReadRow(ctx, query, args, &id), nil)
	return id, id != "", db.Unavailable("find deleted endpoints", err)
}
