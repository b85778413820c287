package store

import (
	"context"
	"slices"
	"time"

	"pleat"
)

// ClaimedDelivery is a delivery to make, with everything it needs but the rows of its source.
type ClaimedDelivery struct {
	Task     pleat.Task
	Delivery Delivery
	Event    pleat.Event
	Endpoint Endpoint
	Settings string // of the subscription
	Trace    string // of the run that the event is about; empty: none
	Claimed  time.Time
	Probe    bool // the one delivery that tests whether an endpoint works again
}

// InFlight is how many deliveries are in flight on all nodes.
type InFlight struct {
	Endpoint int // to one endpoint
	Owner    int // to all endpoints of its owner
}

// ClaimLimit is a decision about how many deliveries to claim for an endpoint: the rate limit and the circuit breaker
// of package webhook, as package deliver applies them.
type ClaimLimit struct {
	N       int
	Probe   bool      // the endpoint is being tested: N is 1
	RetryAt time.Time // when to ask again if N is 0; zero: at once
	Health  string    // the circuit breaker's state to store
}

// LimitClaims decides how many deliveries to claim for an endpoint. It runs inside the claim's transaction, so it must
// be quick and must not call the store. It may run several times for one claim.
type LimitClaims func(e Endpoint, now time.Time, n InFlight) ClaimLimit

// maxEndpointsScanned bounds how many endpoints' queues one claim looks at, and so how long its transaction is.
const maxEndpointsScanned = 256

// ClaimDeliveries leases up to n deliveries to a worker. It visits the endpoints in turn, starting behind a cursor, so
// that none waits for another's queue, and records each attempt before anything is sent. It returns the cursor for the
// next call; empty means that all endpoints behind the cursor were visited. After an error the cursor is the one given.
//
// A claim may be lost in a crash of the machine; the delivery is then made again, under the same webhook-id. The limits
// are stored in the same transaction, so that all nodes see one breaker.
func (s *Store) ClaimDeliveries(
	ctx context.Context, worker pleat.WorkerID, cursor string, n int, limit LimitClaims,
) ([]ClaimedDelivery, string, error) {
	var out []ClaimedDelivery
	next := ""
	err := s.writeAsync(ctx, "claim deliveries", func(t *tx) error {
		out, next = nil, ""
		endpoints, last, err := t.endpointsWaiting(cursor)
		if err != nil || len(endpoints) == 0 {
			next = last
			return err
		}
		wanted, stopped, err := t.limitDeliveries(endpoints, n, limit)
		if err != nil {
			return err
		}
		if stopped != "" {
			last = stopped
		}
		next = last
		if out, err = t.claimFrom(worker, wanted); err != nil {
			return err
		}
		return t.startDeliveries(out)
	})
	if err != nil {
		return nil, cursor, err
	}
	return out, next, nil
}

// endpointClaim is how many deliveries to claim for an endpoint.
type endpointClaim struct {
	endpoint *Endpoint
	n        int
	probe    bool
}

// claimed returns the delivery of a task that was claimed for the endpoint.
func (w endpointClaim) claimed(c *ClaimedTask) ClaimedDelivery {
	return ClaimedDelivery{
		Task:     c.Task,
		Endpoint: *w.endpoint,
		Probe:    w.probe,
		Claimed:  c.Claimed,
	}
}

// endpointsWaiting lists the endpoints behind a cursor that have deliveries queued and may receive some now. Last is
// the next cursor, empty at the end. It steps from endpoint to endpoint through the index, so that a long queue costs
// no more than a short one.
func (t *tx) endpointsWaiting(after string) (endpoints []Endpoint, last string, err error) {
	var ids []any
	rows, err := t.query(`
		WITH RECURSIVE waiting (id, n) AS (
			SELECT (
				SELECT min(tenant) FROM task WHERE state = 'queued' AND kind = 'deliver' AND tenant > $1
			), 1
			UNION ALL
			SELECT (
				SELECT min(k.tenant) FROM task k
				WHERE k.state = 'queued' AND k.kind = 'deliver' AND k.tenant > waiting.id
			), waiting.n + 1
			FROM waiting
			WHERE waiting.id IS NOT NULL AND waiting.n < $2
		)
		SELECT waiting.id, EXISTS (
			SELECT 1 FROM endpoint e
			WHERE e.id = waiting.id AND e.active = 1 AND e.paused = 0 AND e.resume_at <= $3
		)
		FROM waiting
		WHERE waiting.id IS NOT NULL`,
		after, maxEndpointsScanned, t.now)
	n := 0
	err = forEachRow(rows, err, func(scan func(...any) error) error {
		n++
		var may bool
		if err := scan(&last, &may); err != nil {
			return err
		}
		if may {
			ids = append(ids, last)
		}
		return nil
	})
	if n < maxEndpointsScanned {
		last = ""
	}
	if err != nil {
		return nil, "", err
	}
	endpoints, err = t.endpoints(ids, "")
	return endpoints, last, err
}

// endpoints reads endpoints by their ids, in the order of the ids. Lock is empty or a locking clause.
func (t *tx) endpoints(ids []any, lock string) ([]Endpoint, error) {
	var out []Endpoint
	for part := range slices.Chunk(ids, maxStatementRows) {
		in := params(1, padded(len(part)))
		rows, err := t.query(
			"SELECT "+endpointColumns+" FROM endpoint e WHERE e.id IN ("+in+") ORDER BY e.id"+lock, pad(part)...)
		err = forEachRow(rows, err, func(scan func(...any) error) error {
			var e Endpoint
			var r endpointRow
			if err := scan(r.into(&e)...); err != nil {
				return err
			}
			r.fill(&e)
			out = append(out, e)
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// inFlight counts the deliveries in flight by endpoint and by owner.
func (t *tx) inFlight() (endpoints map[pleat.EndpointID]int, owners map[pleat.UserID]int, err error) {
	endpoints, owners = map[pleat.EndpointID]int{}, map[pleat.UserID]int{}
	rows, err := t.query(`
		SELECT tenant, account_id, count(*) FROM task
		WHERE state = 'running' AND kind = 'deliver'
		GROUP BY tenant, account_id`)
	err = forEachRow(rows, err, func(scan func(...any) error) error {
		var endpoint pleat.EndpointID
		var owner pleat.UserID
		var n int
		if err := scan(&endpoint, &owner, &n); err != nil {
			return err
		}
		endpoints[endpoint] += n
		owners[owner] += n
		return nil
	})
	return endpoints, owners, err
}

// limitDeliveries decides how many deliveries to claim for each endpoint, at most n together. Stopped is the last
// endpoint that was asked if n did not suffice for all.
func (t *tx) limitDeliveries(
	endpoints []Endpoint, n int, limit LimitClaims,
) (wanted []endpointClaim, stopped string, err error) {
	perEndpoint, perOwner, err := t.inFlight()
	if err != nil {
		return nil, "", err
	}
	for i := range endpoints {
		if n <= 0 {
			return wanted, string(endpoints[i-1].ID), nil
		}
		e := &endpoints[i]
		a := limit(*e, fromMicros(t.now), InFlight{perEndpoint[e.ID], perOwner[e.Owner]})
		stored, err := t.storeLimit(e, a)
		if err != nil {
			return nil, "", err
		}
		if claim := min(a.N, n); stored && claim > 0 {
			perOwner[e.Owner] += claim
			n -= claim
			wanted = append(wanted, endpointClaim{e, claim, a.Probe})
		}
	}
	return wanted, "", nil
}

// storeLimit stores an endpoint's breaker. It returns false if an attempt that ended meanwhile has changed the
// breaker: the decision is then void.
func (t *tx) storeLimit(e *Endpoint, a ClaimLimit) (bool, error) {
	if a.Health == e.Health && a.RetryAt.IsZero() {
		return true, nil
	}
	n, err := t.exec("UPDATE endpoint SET health = $1, resume_at = $2 WHERE id = $3 AND health = $4",
		a.Health, toMicros(a.RetryAt), e.ID, e.Health)
	e.Health = a.Health
	return n > 0, err
}

// claimFrom claims what is wanted: on PostgreSQL in one statement, since each costs a round trip; on SQLite, which
// cannot bound a claim per endpoint, in one for each.
func (t *tx) claimFrom(worker pleat.WorkerID, wanted []endpointClaim) ([]ClaimedDelivery, error) {
	var out []ClaimedDelivery
	if t.pg == nil {
		for _, w := range wanted {
			tasks, err := t.claimWhere(
				"SELECT id FROM task WHERE state = 'queued' AND queue = $3 ORDER BY position, id LIMIT $4",
				worker, 0, deliveryQueue(w.endpoint.ID), w.n)
			if err != nil {
				return nil, err
			}
			for _, c := range tasks {
				out = append(out, w.claimed(&c))
			}
		}
		return out, nil
	}
	claims := map[string]endpointClaim{}
	var args []any
	for _, w := range wanted {
		claims[string(w.endpoint.ID)] = w
		args = append(args, deliveryQueue(w.endpoint.ID), w.n)
	}
	for part := range rowParts(args, 2) {
		tasks, err := t.claimWhere(`
			SELECT k.id
			FROM (`+values(3, len(part)/2, "text", "bigint")+`) AS v
			CROSS JOIN LATERAL (
				SELECT id FROM task
				WHERE state = 'queued' AND queue = v.column1
				ORDER BY position, id
				LIMIT v.column2
				FOR UPDATE SKIP LOCKED
			) AS k`,
			worker, 0, part...)
		if err != nil {
			return nil, err
		}
		for _, c := range tasks {
			w := claims[c.Task.Tenant]
			out = append(out, w.claimed(&c))
		}
	}
	return out, nil
}

// startDeliveries records the attempts and reads what is to be delivered.
func (t *tx) startDeliveries(list []ClaimedDelivery) error {
	claimed := map[pleat.DeliveryID]*ClaimedDelivery{}
	var tasks []*pleat.Task
	var ids []any
	for i := range list {
		k := &list[i].Task
		claimed[k.Delivery] = &list[i]
		tasks = append(tasks, k)
		ids = append(ids, string(k.Delivery))
	}
	if err := t.insertAttempts(tasks); err != nil {
		return err
	}
	for part := range slices.Chunk(ids, maxStatementRows) {
		rows, err := t.query(`
			SELECT d.id, d.event_id, d.subscription_id, d.destination, d.source_kind, d.source_id, d.run_id,
				d.event_name, d.attempts, d.created_at,
				v.account_id, v.status, v.payload, v.occurred_at, COALESCE(u.settings, ''),
				COALESCE(r.trace, '')
			FROM delivery d
			JOIN event v ON v.id = d.event_id
			LEFT JOIN subscription u ON u.id = d.subscription_id
			LEFT JOIN run r ON r.id = d.run_id
			WHERE d.id IN (`+params(1, padded(len(part)))+")",
			pad(part)...)
		if err := forEachRow(rows, err, func(scan func(...any) error) error {
			return scanClaimed(scan, claimed)
		}); err != nil {
			return err
		}
	}
	return nil
}

// scanClaimed reads a delivery with its event and settings into the claim that it belongs to.
func scanClaimed(scan func(...any) error, claimed map[pleat.DeliveryID]*ClaimedDelivery) error {
	var d Delivery
	var v pleat.Event
	var source sourceRow
	var occurred, created int64
	var payload, settings, trace string
	if err := scan(&d.ID, &d.Event, &d.Subscription, &d.Destination, &source.kind, &source.id, &d.Run, &d.EventName,
		&d.Attempts, &created, &v.Owner, &v.Status, &payload, &occurred, &settings, &trace); err != nil {
		return err
	}
	d.Source, d.CreatedAt, d.Status = source.value(), fromMicros(created), pleat.DeliveryRunning
	v.ID, v.Source, v.Run, v.Name = d.Event, d.Source, d.Run, d.EventName
	v.At, v.Payload = fromMicros(occurred), []byte(payload)
	c := claimed[d.ID]
	c.Delivery, c.Event, c.Settings, c.Trace = d, v, settings, trace
	return nil
}
