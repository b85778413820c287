package webhooks

import (
	"context"
	"time"

	"pleat"
	"pleat/internal/store/db"
	"pleat/internal/store/people"
	"pleat/internal/store/tasks"
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

// DeliveryLimits bounds the deliveries in flight. All bounds hold over all nodes.
type DeliveryLimits struct {
	// Window is how many deliveries may be in flight to an endpoint without a Health that Windows does not name; 0:
	// Decide decides about each.
	Window int
	// Windows has the other windows of endpoints without a Health, at most MaxWindows. A claim ignores the rest.
	Windows map[pleat.EndpointID]int
	// Owner is how many deliveries may be in flight to all endpoints of an owner. For an endpoint with a larger window
	// that window is the bound.
	Owner int
	// Decide decides about an endpoint with a Health. It runs outside the transactions.
	Decide func(e WaitingEndpoint, now time.Time) ClaimLimit
}

// WaitingEndpoint is an endpoint for which deliveries wait.
type WaitingEndpoint struct {
	ID       pleat.EndpointID
	Health   string    // see Endpoint
	ResumeAt time.Time // see Endpoint
	InFlight int       // deliveries in flight to it
}

// ClaimLimit is a decision about how many deliveries to claim for an endpoint: the rate limit and the circuit breaker
// of package webhook, as package deliver applies them.
type ClaimLimit struct {
	N       int       // to claim, at most
	Window  int       // to be in flight then, at most
	Probe   bool      // the endpoint is being tested: N is 1
	RetryAt time.Time // when to ask again if N is 0; zero: at once
	Health  string    // the circuit breaker's state to store
}

// DeliveryClaims is what a claim of deliveries has found.
type DeliveryClaims struct {
	List []ClaimedDelivery
	// Next is the cursor for the next claim; empty: all endpoints behind the cursor were visited.
	Next string
	// Full are endpoints for which deliveries wait while as many are in flight as DeliveryLimits allow.
	Full []pleat.EndpointID
}

// MaxWindows bounds DeliveryLimits.Windows.
const MaxWindows = 256

// ClaimDeliveries leases up to n deliveries to a worker. It visits the endpoints in turn, starting behind a cursor, so
// that none waits for another's queue, and records each attempt before anything is sent. After an error the list has
// what was claimed before it, and the cursor has not moved.
//
// One transaction claims for the endpoints without a Health, which are nearly all. A second one follows if there are
// others: it stores what Decide says about them and claims for those whose Health has not changed since, so that
// all nodes see one breaker. Claims take turns, on PostgreSQL by a lock, so that no two fill the same window.
//
// A claim may be lost in a crash of the machine; the delivery is then sent again, under the same webhook-id.
func (s *Store) ClaimDeliveries(
	ctx context.Context, worker pleat.WorkerID, cursor string, n int, limits DeliveryLimits,
) (DeliveryClaims, error) {
	if n <= 0 {
		return DeliveryClaims{Next: cursor}, nil
	}
	first := newDeliveryClaim(worker, cursor, n, &limits)
	if err := s.claimDeliveries(ctx, first); err != nil {
		return DeliveryClaims{Next: cursor}, err
	}
	second := first.decide()
	if second == nil {
		return first.DeliveryClaims, nil
	}
	out := first.DeliveryClaims
	if err := s.claimDeliveries(ctx, second); err != nil {
		out.Next = cursor
		return out, err
	}
	out.List, out.Full = append(out.List, second.List...), append(out.Full, second.Full...)
	return out, nil
}

// deliveryClaim is one transaction of a claim of deliveries: what it is to do, and then what it has done.
type deliveryClaim struct {
	worker pleat.WorkerID
	n      int
	limits *DeliveryLimits
	after  string // the cursor
	// decided says that the claim is only for endpoints in limit.
	decided bool
	limit   map[pleat.EndpointID]ClaimLimit // of the endpoints that differ from the usual
	health  []any                           // rows of an endpoint, its health, and the health and pause to store

	DeliveryClaims
	at        time.Time
	undecided []WaitingEndpoint
	most      int // Options.Endpoints
	visited   int
	stopped   bool             // n does not suffice for the endpoints behind Next
	last      pleat.EndpointID // that was visited, of rows that name each endpoint several times
}

// newDeliveryClaim returns the claim for the endpoints without a health.
func newDeliveryClaim(worker pleat.WorkerID, cursor string, n int, limits *DeliveryLimits) *deliveryClaim {
	c := &deliveryClaim{
		worker: worker,
		n:      n,
		limits: limits,
		after:  cursor,
		limit:  map[pleat.EndpointID]ClaimLimit{},
	}
	for id, window := range limits.Windows {
		if len(c.limit) < MaxWindows {
			c.limit[id] = ClaimLimit{N: n, Window: window}
		}
	}
	return c
}

// decide returns the claim for the endpoints that this one left undecided; nil: there is nothing to do for them.
func (c *deliveryClaim) decide() *deliveryClaim {
	d := &deliveryClaim{
		worker:  c.worker,
		n:       c.n - len(c.List),
		limits:  c.limits,
		decided: true,
		limit:   map[pleat.EndpointID]ClaimLimit{},
	}
	for _, e := range c.undecided {
		a := c.limits.Decide(e, c.at)
		if a.Health != e.Health || !a.RetryAt.IsZero() {
			d.health = append(d.health, string(e.ID), e.Health, a.Health, db.ToMicros(a.RetryAt))
		}
		if a.N > 0 {
			d.limit[e.ID] = a
		}
	}
	if len(d.limit) == 0 && len(d.health) == 0 {
		return nil
	}
	return d
}

// claimDeliveries runs the transaction of a claim.
func (s *Store) claimDeliveries(ctx context.Context, c *deliveryClaim) error {
	err := s.db.WriteAsync(ctx, "claim deliveries", func(t *db.Tx) error {
		c.at, c.DeliveryClaims = db.FromMicros(t.Now), DeliveryClaims{}
		c.undecided, c.visited, c.stopped, c.last = nil, 0, false, ""
		c.most = s.endpoints
		if t.Postgres() {
			t.Send("SELECT pg_advisory_xact_lock($1)", claimLock)
		}
		for part := range t.IdempotentRowParts(c.health, 4) {
			t.Send(`
				UPDATE endpoint SET health = v.column3, resume_at = v.column4
				FROM (`+db.Values(1, len(part)/4, "text", "text", "text", "bigint")+`) AS v
				WHERE endpoint.id = v.column1 AND endpoint.health = v.column2`,
				part...)
		}
		if c.decided && len(c.limit) == 0 {
			return nil
		}
		if t.Postgres() {
			claimInOneStatement(t, c)
			return nil
		}
		return claimInSteps(t, c)
	})
	if !c.stopped {
		c.Next = ""
	}
	return err
}

// claimLock is the advisory lock of PostgreSQL under which claims of deliveries take turns. A statement after it sees
// what the claims before have committed. It is held for no round trip, since the COMMIT is sent with the claim.
const claimLock = 0x706c656174 // «pleat»

// claimInOneStatement claims on PostgreSQL, where each statement whose result decides about the next one would cost a
// round trip: it plans, claims, records the attempts and reads the deliveries. The rows are those of the plan, each as
// often as deliveries were claimed for it, and once if none was.
func claimInOneStatement(t *db.Tx, c *deliveryClaim) {
	plan, args := planSQL(t, c)
	worker := db.Params(len(args)+1, 1)
	until := db.Params(len(args)+2, 1)
	t.Ask(`
		WITH RECURSIVE `+plan+`,
		picked AS MATERIALIZED (
			SELECT k.id
			FROM plan
			CROSS JOIN LATERAL (
				SELECT id FROM task
				WHERE state = 'queued' AND queue = '`+deliveryQueue("")+`' || plan.id
				ORDER BY position, id
				LIMIT plan.take
				FOR UPDATE SKIP LOCKED
			) AS k
			WHERE plan.take > 0
		),
		claimed AS (
			UPDATE task
			SET state = 'running', attempt = attempt + 1, worker_id = `+worker+`, lease_until = `+until+`
			WHERE id = ANY (ARRAY(SELECT id FROM picked))
			RETURNING task.*
		),
		started AS (
			INSERT INTO attempt (task_id, number, worker_id, started_at, run_id, delivery_id, ended_at, outcome, detail)
			SELECT id, attempt, worker_id, CAST($1 AS bigint), run_id, delivery_id, 0, '', '' FROM claimed
			ON CONFLICT DO NOTHING
		)
		SELECT `+planColumns+`, delivery.event_id IS NOT NULL, task.*, delivery.*
		FROM waiting w
		LEFT JOIN plan p ON p.id = w.id
		LEFT JOIN claimed c ON c.tenant = w.id
		LEFT JOIN LATERAL (SELECT `+tasks.ClaimedColumns+` FROM (SELECT c.*) AS one) AS task ON true
		LEFT JOIN LATERAL (
			SELECT `+claimedDeliveryColumns+claimedDeliveryFrom+`
			WHERE d.id = c.delivery_id
			LIMIT 1 -- so that nothing but these rows is read
		) AS delivery ON true
		ORDER BY w.id, c.position, c.id`,
		append(args, c.worker, tasks.LeaseEnd(t, 0)), c.scanPlanned)
}

// scanPlanned reads a row of claimInOneStatement: an endpoint of the plan, and a delivery that was claimed for it.
func (c *deliveryClaim) scanPlanned(scan func(...any) error) error {
	var e plannedEndpoint
	var claimed bool
	d := ClaimedDelivery{Claimed: c.at}
	var r deliveryRow
	planned, delivery := append(e.scanTargets(), &claimed), append(tasks.ClaimedInto(&d.Task), r.scanTargets(&d)...)
	if err := scan(append(planned, make([]any, len(delivery))...)...); err != nil {
		return err // nil skips a column, which is NULL if nothing was claimed
	}
	if e.ID != c.last {
		c.last = e.ID
		c.visit(&e)
	}
	if !claimed {
		return nil
	}
	if err := scan(append(make([]any, len(planned)), delivery...)...); err != nil {
		return err
	}
	r.fill(&d)
	c.add(d)
	return nil
}

// claimInSteps claims on SQLite, which cannot bound a claim for each endpoint in one statement.
func claimInSteps(t *db.Tx, c *deliveryClaim) error {
	plan, args := planSQL(t, c)
	var wanted []plannedEndpoint
	rows, err := t.Query("WITH RECURSIVE "+plan+" SELECT "+planColumns+`
		FROM waiting w
		LEFT JOIN plan p ON p.id = w.id
		ORDER BY w.id`, args...)
	err = db.ForEachRow(rows, err, func(scan func(...any) error) error {
		var e plannedEndpoint
		if err := scan(e.scanTargets()...); err != nil {
			return err
		}
		c.visit(&e)
		if e.take > 0 {
			wanted = append(wanted, e)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if len(wanted) == 0 {
		return nil
	}
	k := tasks.NewClaim(t, 0)
	var queues []string
	for _, e := range wanted {
		queue := deliveryQueue(e.ID)
		queues = append(queues, queue)
		k.FromQueue(c.worker, queue, e.take, "0", tasks.ClaimFilter{})
	}
	k.RecordAttempts()
	read := map[pleat.DeliveryID]ClaimedDelivery{}
	t.Ask("SELECT "+claimedDeliveryColumns+claimedDeliveryFrom+`
		WHERE d.id IN (SELECT k.delivery_id FROM `+tasks.ClaimedTasks+")",
		[]any{k.ID},
		func(scan func(...any) error) error {
			var d ClaimedDelivery
			var r deliveryRow
			if err := scan(r.scanTargets(&d)...); err != nil {
				return err
			}
			r.fill(&d)
			read[d.Delivery.ID] = d
			return nil
		})
	if err := t.Wait(); err != nil {
		return err
	}
	k.Sort(queues)
	for _, task := range k.Tasks {
		if d, ok := read[task.Task.Delivery]; ok {
			d.Task, d.Claimed = task.Task, task.Claimed
			c.add(d)
		}
	}
	return nil
}

// add adds a delivery that was claimed.
func (c *deliveryClaim) add(d ClaimedDelivery) {
	d.Probe = c.limit[d.Endpoint.ID].Probe
	c.List = append(c.List, d)
}

// claimedDeliveryColumns are the columns that deliveryRow.scanTargets scans, and claimedDeliveryFrom is where they come
// from.
const (
	claimedDeliveryColumns = `d.id, d.event_id, d.subscription_id, d.destination, d.source_kind, d.source_id, d.run_id,
		d.event_name, d.attempts, d.created_at, v.project_id, v.status, v.payload, v.occurred_at,
		COALESCE(u.settings, ''), COALESCE(r.trace, ''), ` + endpointColumns
	claimedDeliveryFrom = `
		FROM delivery d
		JOIN event v ON v.id = d.event_id
		JOIN endpoint e ON e.id = d.endpoint_id
		LEFT JOIN subscription u ON u.id = d.subscription_id
		LEFT JOIN run r ON r.id = d.run_id`
)

// deliveryRow holds the columns of claimedDeliveryColumns whose types differ from those of ClaimedDelivery; see
// runs.jobRow.
type deliveryRow struct {
	source    people.SourceRow
	singleRun string // whose endpoint it is
	payload   string
}

// scanTargets returns where to scan claimedDeliveryColumns; fill then completes the delivery.
func (r *deliveryRow) scanTargets(c *ClaimedDelivery) []any {
	d := &c.Delivery
	return append([]any{
		&d.ID, &d.Event, &d.Subscription, &d.Destination, &r.source.Kind, &r.source.ID, &d.Run, &d.EventName,
		&d.Attempts, db.ScanTime(&d.CreatedAt), &c.Event.Owner, &c.Event.Status, &r.payload, db.ScanTime(&c.Event.At),
		&c.Settings, &c.Trace,
	}, c.Endpoint.scanTargets(&r.singleRun)...)
}

func (r *deliveryRow) fill(c *ClaimedDelivery) {
	d, v := &c.Delivery, &c.Event
	c.Endpoint.SingleRun = r.singleRun != ""
	d.Source, d.Status = r.source.Value(), pleat.DeliveryRunning
	v.ID, v.Source, v.Run, v.Name = d.Event, d.Source, d.Run, d.EventName
	v.Payload = []byte(r.payload)
}
