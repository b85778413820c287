package webhooks

import (
	"context"
	"slices"
	"time"

	"pleat"
	"pleat/internal/store/db"
	"pleat/internal/store/people"
)

// endedAtOnce is how many waiting deliveries of a deleted endpoint one transaction ends.
const endedAtOnce = 1000

// DeleteEndpoint deletes a named endpoint with its address, token and secrets, and records it. Its name can be used
// again. The transaction ends the first deliveries that wait for it; EndDeliveries ends the others, since there may be
// so many that one transaction would hold up all others. An attempt in flight ends as it does.
func (s *Store) DeleteEndpoint(ctx context.Context, by people.Actor, id pleat.EndpointID) error {
	return s.db.Write(ctx, "delete endpoint", func(t *db.Tx) error {
		_, by, err := lockEndpoint(t, by, id)
		if err != nil {
			return err
		}
		if _, err := s.recordEndpoint(t, by, people.AuditWebhookDeleted, id, ""); err != nil {
			return err
		}
		DeleteEndpoints(t, "e.id = $2", id)
		_, err = endDeliveriesTo(t, id)
		return err
	})
}

// DeleteEndpoints deletes the named endpoints e that a condition with the parameter $2 selects. Their rows stay while
// they have deliveries, which show the name.
func DeleteEndpoints(t *db.Tx, where string, arg any) {
	t.Send(`
		UPDATE endpoint AS e
		SET deleted_at = $1, active = 0, origin = '', address = '', token = '', secret = '', old_secret = '',
			updated_at = $1
		WHERE `+isNamed+" AND "+where,
		t.Now, arg)
}

// endDeliveriesTo ends up to endedAtOnce deliveries that wait for a deleted endpoint, and returns how many it found.
func endDeliveriesTo(t *db.Tx, id pleat.EndpointID) (int, error) {
	ids, err := db.IDsOf(t.Query(waitingFor+" LIMIT $2", id, endedAtOnce))
	if err != nil {
		return 0, err
	}
	for part := range slices.Chunk(ids, db.MaxStatementRows) {
		n := db.Padded(len(part))
		// A claim may have taken one since: its attempt ends it.
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
	found, err := s.doForOne(ctx, deletedWithDeliveries, nil, func(t *db.Tx, id pleat.EndpointID) error {
		_, err := endDeliveriesTo(t, id)
		return err
	})
	if found || err != nil {
		return found, err
	}
	anHourAgo := s.db.Micros() - time.Hour.Microseconds()
	return s.doForOne(ctx, forgottenEndpoint, []any{anHourAgo}, func(t *db.Tx, id pleat.EndpointID) error {
		t.Send("DELETE FROM endpoint WHERE id = $1 AND deleted_at <> 0", id)
		return nil
	})
}

// doForOne passes the deleted endpoint that a query finds to fn, in a transaction, and returns whether there was one.
func (s *Store) doForOne(
	ctx context.Context, query string, args []any, fn func(t *db.Tx, id pleat.EndpointID) error,
) (bool, error) {
	var id pleat.EndpointID
	err := db.MapNoRows(s.db.ReadRow(ctx, query, args, &id), nil)
	if err != nil || id == "" {
		return false, db.Unavailable("find deleted endpoints", err)
	}
	err = s.db.Write(ctx, "end deliveries", func(t *db.Tx) error { return fn(t, id) })
	return err == nil, err
}
