package webhooks

import (
	"context"
	"fmt"
	"time"

	"pleat"
	"pleat/internal/store/db"
	"pleat/internal/store/people"
	"pleat/internal/store/tasks"
)

// deliveryQueue names the queue of an endpoint's deliveries. The endpoint is also the tenant of its tasks.
func deliveryQueue(id pleat.EndpointID) string { return tasks.DeliveryQueuePrefix + string(id) }

// DeliveryTries is how many attempts a delivery has before it fails for good, and again after each redelivery.
const DeliveryTries = 10

// keptSends is how many sends of one delivery have attempts that are kept. With Options.Tests it bounds what a user
// can make of deliveries without a new run.
const keptSends = 10

// Delivery is an event on its way to one destination. Its ID is the webhook-id that receivers get, the same in every
// attempt. RUNNING is not stored: it is the status of a pending delivery whose task a worker holds.
type Delivery struct {
	ID           pleat.DeliveryID
	Event        pleat.EventID
	Subscription pleat.SubscriptionID
	// Endpoint and its name are read for lists; a claimed delivery has its endpoint. Empty: a follow-up has none, and
	// only a named endpoint has a name.
	Endpoint     pleat.EndpointID
	EndpointName string
	Destination  pleat.Destination
	Source       pleat.Source
	Run          pleat.RunID
	EventName    pleat.EventName
	// EventStatus is the state of the run when it ended; empty in a claimed delivery, which has its event.
	EventStatus    pleat.State
	Status         pleat.DeliveryStatus
	Triggered      pleat.WorkflowID // that a follow-up started
	Attempts       int
	NextAt         time.Time // of the next attempt; zero: none is due
	ResponseStatus int       // 0: no response yet
	Reason         string    // why it failed for good
	CreatedAt      time.Time
}

// DeliveryAttempt is one try at a delivery. Numbers count from 1 over all redeliveries whose attempts are kept.
type DeliveryAttempt struct {
	Number    int
	StartedAt time.Time
	EndedAt   time.Time
	Outcome   string // empty while it is in flight
	Detail    string // the attempt as internal/deliver stored it
}

// AskSubscriptions reads the subscriptions of the run of a source, and those of a draft, which has no run yet. It adds
// one for each named endpoint of a project, whose events SubscriptionsFor chooses; empty: for none. Source, run and
// project are SQL, with the parameters args.
func AskSubscriptions(t *db.Tx, source, run, project string, args []any, subs *[]pleat.Subscription) {
	t.Ask(subscriptionsSQL(source, run, project), args, func(scan func(...any) error) error {
		var s pleat.Subscription
		err := scan(&s.ID, &s.Destination, &s.Alias, &s.TargetType, &s.Endpoint, &s.Events)
		s.Named = s.ID == ""
		*subs = append(*subs, s)
		return err
	})
}

// subscriptionsSQL is the query of AskSubscriptions.
func subscriptionsSQL(source, run, project string) string {
	named := ""
	if project != "" {
		named = `
		UNION ALL
		SELECT '', 'custom_http', 'custom_http', 'custom_http', id, events
		FROM endpoint e
		WHERE e.project_id = ` + project + " AND " + isNamed
	}
	return `
		SELECT id, destination, alias, target_type, endpoint_id, CAST(0 AS bigint)
		FROM subscription
		WHERE source_id = ` + source + ` AND (run_id = ` + run + ` OR run_id = '')` + named + `
		ORDER BY 1, 5`
}

// InsertDeliveries writes the deliveries that an event triggers and their tasks, once for each destination.
func InsertDeliveries(t *db.Tx, e pleat.Event, subs []pleat.Subscription) {
	for _, sub := range pleat.SubscriptionsFor(e, subs) {
		insertDelivery(t, e, sub)
	}
}

// insertDelivery writes one delivery and its task, unless there is one already: the column once holds what makes it
// unique. That is the event for a custom endpoint, with the endpoint if it is a named one, but the run for a follow-up,
// since an ingested event about a run must not start the run's workflows a second time.
func insertDelivery(t *db.Tx, e pleat.Event, sub pleat.Subscription) pleat.DeliveryID {
	id := pleat.DeliveryID(db.NewID())
	once := fmt.Sprintf("event:%s:%s", e.ID, sub.Destination)
	if sub.Named {
		once += ":" + string(sub.Endpoint)
	}
	task := deliveryTask(e.Owner, id, sub.Endpoint)
	if sub.Destination != pleat.DestCustom {
		once = fmt.Sprintf("run:%s:%s", e.Run, sub.Destination)
		task.Kind, task.Queue, task.Tenant = pleat.TaskFollow, tasks.FollowUpQueue, string(e.Owner)
	}
	t.Send(`
		INSERT INTO delivery (
			id, project_id, event_id, subscription_id, endpoint_id, destination, source_kind, source_id, run_id,
			event_name, once, status, triggered, attempts, next_at, response_status, reason, created_at, updated_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, 'PENDING', '', 0, $12, 0, '', $12, $12)
		ON CONFLICT (once) DO NOTHING`,
		id, e.Owner, e.ID, sub.ID, sub.Endpoint, sub.Destination, e.Source.Kind(), e.Source.ID(), e.Run, e.Name, once,
		t.Now)
	tasks.Insert(t, task)
	return id
}

// deliveryTask is the task of a delivery to an endpoint.
func deliveryTask(owner pleat.ProjectID, id pleat.DeliveryID, endpoint pleat.EndpointID) pleat.Task {
	return pleat.Task{
		Kind:     pleat.TaskDeliver,
		Queue:    deliveryQueue(endpoint),
		Owner:    owner,
		Tenant:   string(endpoint),
		Delivery: id,
		MaxTries: DeliveryTries,
	}
}

// DeliveryFilter narrows a list of deliveries. Empty fields do not narrow it; Limit must be set.
type DeliveryFilter struct {
	Limit    int
	Before   string // an ID: the list starts with the next older one; empty: with the newest
	Status   pleat.DeliveryStatus
	SourceID string // of a job or a workflow; empty: of any
	Endpoint pleat.EndpointID
	Since    time.Time
}

// deliveryColumns are the columns that scanDelivery reads, of the row d of delivery.
const deliveryColumns = `d.id, d.event_id, d.subscription_id, d.endpoint_id,
	COALESCE((SELECT e.name FROM endpoint e WHERE e.id = d.endpoint_id), ''), d.destination, d.source_kind,
	d.source_id, d.run_id, d.event_name, COALESCE((SELECT v.status FROM event v WHERE v.id = d.event_id), ''),
	CASE WHEN d.status = 'PENDING' AND ` + inFlightSQL + ` THEN 'RUNNING' ELSE d.status END,
	d.triggered, d.attempts, d.next_at, d.response_status, d.reason, d.created_at`

// inFlightSQL is a condition: an attempt at the delivery d is in flight.
const inFlightSQL = "EXISTS (SELECT 1 FROM task k WHERE k.delivery_id = d.id AND k.state = 'running')"

// scanDelivery reads a delivery from deliveryColumns.
func scanDelivery(scan func(...any) error) (Delivery, error) {
	var d Delivery
	var source people.SourceRow
	err := scan(&d.ID, &d.Event, &d.Subscription, &d.Endpoint, &d.EndpointName, &d.Destination, &source.Kind,
		&source.ID, &d.Run, &d.EventName, &d.EventStatus, &d.Status, &d.Triggered, &d.Attempts, db.ScanTime(&d.NextAt),
		&d.ResponseStatus, &d.Reason, db.ScanTime(&d.CreatedAt))
	d.Source = source.Value()
	return d, err
}

// page returns the page of a project's deliveries d that the filter selects.
func (f DeliveryFilter) page(in people.Reach) *people.Page {
	stored := f.Status
	if stored == pleat.DeliveryRunning {
		stored = pleat.DeliveryPending
	}
	var by []people.Column
	switch {
	case f.Endpoint != "":
		by = append(by, people.Column{Name: "endpoint_id", Value: f.Endpoint})
	case stored != "":
		by = append(by, people.Column{Name: "status", Value: stored})
	}
	p := people.ProjectPage("d", in, f.Before, by...)
	if f.Endpoint != "" { // the index of an endpoint's deliveries has their states, too
		p.Equal("d.status", string(stored))
	}
	switch f.Status {
	case pleat.DeliveryRunning:
		p.And(inFlightSQL)
	case pleat.DeliveryPending:
		p.And("NOT " + inFlightSQL)
	}
	p.Equal("d.source_id", f.SourceID)
	if !f.Since.IsZero() {
		p.And("d.created_at >= " + p.Param(db.ToMicros(f.Since)))
	}
	return p
}

// Deliveries reads a page of a project's deliveries, newest first. The next page begins before the last delivery of
// this one.
func (s *Store) Deliveries(ctx context.Context, by people.Reach, f DeliveryFilter) ([]Delivery, error) {
	p := f.page(by)
	rows, err := s.db.Read(ctx, p.SQL(deliveryColumns, "delivery d", f.Limit), p.Args...)
	list, err := db.ListOf(rows, err, scanDelivery)
	return list, db.Unavailable("list deliveries", err)
}

// ErrNoDelivery refuses a call on a delivery that does not exist or is out of reach.
var ErrNoDelivery = pleat.Errorf(pleat.CodeNotFound, "Delivery not found")

// Delivery reads one delivery with its attempts, oldest first, at most 500. ErrNoDelivery: it does not exist or is out
// of reach.
func (s *Store) Delivery(
	ctx context.Context, by people.Reach, id pleat.DeliveryID,
) (Delivery, []DeliveryAttempt, error) {
	d, err := scanDelivery(func(dst ...any) error {
		return s.db.ReadRow(ctx, "SELECT "+deliveryColumns+" FROM delivery d WHERE d.id = $1 AND "+
			people.RoleSQL("d.project_id", "$2", "$3")+" > 0", []any{id, by.User, by.Project}, dst...)
	})
	if err != nil {
		return d, nil, db.Unavailable("read delivery", db.MapNoRows(err, ErrNoDelivery))
	}
	rows, err := s.db.Read(ctx, `
		SELECT a.started_at, a.ended_at, a.outcome, a.detail
		FROM attempt a
		WHERE a.delivery_id = $1
		ORDER BY a.task_id, a.number
		LIMIT 500`,
		id)
	number := 0
	attempts, err := db.ListOf(rows, err, func(scan func(...any) error) (a DeliveryAttempt, err error) {
		err = scan(db.ScanTime(&a.StartedAt), db.ScanTime(&a.EndedAt), &a.Outcome, &a.Detail)
		number++
		a.Number = number
		return a, err
	})
	return d, attempts, db.Unavailable("read delivery", err)
}

// Redeliver sends an ended delivery to a custom endpoint again: the same row, under the same webhook-id, with all its
// tries. It activates the endpoint of a single run that had been disabled, since nothing else can. ErrNoDelivery: it
// does not exist or is out of reach. CodeConflict: the delivery is still being tried, or it is a follow-up.
func (s *Store) Redeliver(ctx context.Context, by people.Reach, id pleat.DeliveryID) error {
	return s.db.Write(ctx, "redeliver", func(t *db.Tx) error {
		var owner pleat.ProjectID
		var role pleat.Role
		q := "SELECT d.project_id, " + people.RoleSQL("d.project_id", "$2", "$3") + " FROM delivery d WHERE d.id = $1"
		if err := t.Row(q, []any{id, by.User, by.Project}, &owner, &role); err != nil {
			return db.MapNoRows(err, ErrNoDelivery)
		}
		if err := role.Allow(pleat.Member, ErrNoDelivery); err != nil {
			return err
		}
		list, err := selectDeliveries(t, "d.id = $1", []any{id})
		if err != nil {
			return err
		}
		if err := mayRedeliver(list); err != nil {
			return err
		}
		if _, err := t.Exec(`
			UPDATE endpoint SET `+activated+`
			WHERE id = $1 AND run_source <> '' AND active = 0`,
			list[0].endpoint); err != nil {
			return err
		}
		_, err = sendAgain(t, owner, list)
		return err
	})
}

// RedeliverAll sends the deliveries to custom endpoints that a filter selects again, the oldest first, at most f.Limit.
// It returns how many it queued; if that is f.Limit, another call may find more. It selects ended deliveries, or with
// the status PENDING those that wait for their next attempt, see sendNow.
func (s *Store) RedeliverAll(ctx context.Context, by people.Reach, f DeliveryFilter) (int, error) {
	n := 0
	err := s.db.Write(ctx, "redeliver", func(t *db.Tx) error {
		if err := people.NeedRole(t, by, pleat.Member); err != nil {
			return err
		}
		p := f.page(by)
		p.And("d.destination = 'custom_http'")
		p.And("NOT EXISTS (SELECT 1 FROM endpoint e WHERE e.id = d.endpoint_id AND e.deleted_at <> 0)")
		if f.Status == pleat.DeliveryPending {
			var err error
			n, err = sendNow(t, p.Where, p.Args, f.Limit)
			return err
		}
		p.And("d.status <> 'PENDING'")
		list, err := selectDeliveries(t, p.Where+fmt.Sprintf(" ORDER BY d.id LIMIT %d", max(f.Limit, 1)), p.Args)
		if err != nil {
			return err
		}
		n, err = sendAgain(t, by.Project, list)
		return err
	})
	return n, err
}

// sendNow queues deliveries that wait for their next attempt and returns how many it queued, at most limit. An endpoint
// of theirs that rests is probed at once: its circuit breaker stays open until one delivery has succeeded, and a
// failure makes it rest again. A delivery keeps its attempts, so that repeated calls cannot send without end.
func sendNow(t *db.Tx, where string, args []any, limit int) (int, error) {
	if _, err := t.Exec(fmt.Sprintf(`
		UPDATE endpoint SET resume_at = 0
		WHERE resume_at > $%d AND id IN (SELECT d.endpoint_id FROM delivery d WHERE %s)`, len(args)+1, where),
		append(args[:len(args):len(args)], t.Now)...); err != nil {
		return 0, err
	}
	list, err := selectDeliveries(t, where+fmt.Sprintf(`
			AND EXISTS (SELECT 1 FROM task k WHERE k.delivery_id = d.id AND k.state = 'waiting')
		ORDER BY d.id
		LIMIT %d`, max(limit, 1)), args)
	if err != nil {
		return 0, err
	}
	n := 0
	for _, d := range list {
		k, err := t.Exec("UPDATE task SET state = 'queued', run_at = $1 WHERE delivery_id = $2 AND state = 'waiting'",
			t.Now, d.id)
		if err != nil {
			return n, err
		}
		if k == 0 {
			continue
		}
		if _, err := t.Exec("UPDATE delivery SET next_at = $1, updated_at = $1 WHERE id = $2",
			t.Now, d.id); err != nil {
			return n, err
		}
		n++
	}
	tasks.NotifyDeliveries(t)
	return n, nil
}

// sendAgain queues ended deliveries and returns how many it queued. It skips those that another call has queued. The
// attempts of the latest keptSends sends of each stay.
func sendAgain(t *db.Tx, owner pleat.ProjectID, list []endedDelivery) (int, error) {
	n := 0
	var queued []any
	for _, d := range list {
		k, err := t.Exec(`
			UPDATE delivery SET status = 'PENDING', next_at = $1, reason = '', updated_at = $1
			WHERE id = $2 AND status <> 'PENDING'`,
			t.Now, d.id)
		if err != nil {
			return n, err
		}
		if k == 0 {
			continue
		}
		tasks.Insert(t, deliveryTask(owner, d.id, d.endpoint))
		n++
		queued = append(queued, string(d.id))
	}
	return n, forgetSends(t, queued)
}

// endedDelivery is the part of a delivery that decides whether it can be sent again.
type endedDelivery struct {
	id          pleat.DeliveryID
	endpoint    pleat.EndpointID
	status      pleat.DeliveryStatus
	destination pleat.Destination
	deleted     string // the name of its endpoint, if that was deleted
}

// selectDeliveries reads the deliveries that a condition on the row d selects.
func selectDeliveries(t *db.Tx, where string, args []any) ([]endedDelivery, error) {
	rows, err := t.Query(
		"SELECT d.id, d.endpoint_id, d.status, d.destination, COALESCE(("+
			"SELECT e.name FROM endpoint e WHERE e.id = d.endpoint_id AND e.deleted_at <> 0), '') "+
			"FROM delivery d WHERE "+where, args...)
	return db.ListOf(rows, err, func(scan func(...any) error) (d endedDelivery, err error) {
		err = scan(&d.id, &d.endpoint, &d.status, &d.destination, &d.deleted)
		return d, err
	})
}

// mayRedeliver returns why the one delivery selected cannot be sent again.
func mayRedeliver(list []endedDelivery) error {
	switch {
	case len(list) == 0:
		return ErrNoDelivery
	case list[0].destination != pleat.DestCustom:
		return pleat.Errorf(pleat.CodeConflict,
			"the delivery starts a %s run, and such a run starts once; create a workflow for another",
			list[0].destination)
	case list[0].deleted != "":
		return pleat.Errorf(pleat.CodeConflict,
			"the endpoint %q of the delivery was deleted; nothing can be sent to it any more", list[0].deleted)
	case list[0].status == pleat.DeliveryPending:
		return pleat.Errorf(pleat.CodeConflict,
			"the delivery is still being tried; its next attempt will come by itself")
	}
	return nil
}

// SubscriptionRow is one destination that a run resolved when it was created. Settings and endpoint are not read.
type SubscriptionRow struct {
	pleat.Subscription
	Source    pleat.Source
	Run       pleat.RunID
	CreatedAt time.Time
}

// Subscriptions reads a page of a project's subscriptions, newest first.
func (s *Store) Subscriptions(
	ctx context.Context, by people.Reach, before string, limit int,
) ([]SubscriptionRow, error) {
	p := people.ProjectPage("u", by, before)
	rows, err := s.db.Read(ctx, p.SQL(`
		u.id, u.source_kind, u.source_id, u.run_id, u.destination, u.alias, u.target_type, u.created_at`,
		"subscription u", limit), p.Args...)
	list, err := db.ListOf(rows, err, func(scan func(...any) error) (r SubscriptionRow, err error) {
		var source people.SourceRow
		err = scan(&r.ID, &source.Kind, &source.ID, &r.Run, &r.Destination, &r.Alias, &r.TargetType,
			db.ScanTime(&r.CreatedAt))
		r.Source = source.Value()
		return r, err
	})
	return list, db.Unavailable("list subscriptions", err)
}

// Ingest writes an event that an operator's system reports about a job or workflow, once per id, and what it triggers:
// deliveries to custom endpoints, and follow-ups that the run itself has not started. Without an id each call is
// another event. If the id came before, it returns the ID of that event and true. CodeInvalid: the source does not
// exist.
func (s *Store) Ingest(ctx context.Context, ingestID string, e pleat.Event) (pleat.EventID, bool, error) {
	var id pleat.EventID
	repeated := false
	err := s.db.Write(ctx, "ingest event", func(t *db.Tx) error {
		ev := e
		id, repeated = "", false
		if err := setSource(t, &ev); err != nil {
			return err
		}
		ev.ID = pleat.EventID(db.NewID())
		InsertEvent(t, ev, ingestID)
		var subs []pleat.Subscription
		AskSubscriptions(t, "$1", "$2", "$3", []any{ev.Source.ID(), ev.Run, ev.Owner}, &subs)
		if err := t.Row("SELECT id FROM event WHERE id = $1 OR ingest_id = $2 AND ingest_id <> ''",
			[]any{ev.ID, ingestID}, &id); err != nil {
			return err
		}
		if repeated = id != ev.ID; !repeated {
			InsertDeliveries(t, ev, subs)
		}
		return nil
	})
	return id, repeated, err
}

// setSource fills in the owner of an event's source, the source's latest run, and whether it is a row of a batch.
func setSource(t *db.Tx, e *pleat.Event) error {
	q := "SELECT project_id, run_id, batch_id FROM job WHERE id = $1 AND deleted_at = 0"
	if e.Source.Workflow != "" {
		q = "SELECT project_id, run_id, '' FROM workflow WHERE id = $1 AND deleted_at = 0"
	}
	var batch pleat.BatchID
	err := t.Row(q, []any{e.Source.ID()}, &e.Owner, &e.Run, &batch)
	e.Row = batch != ""
	return db.MapNoRows(err,
		pleat.InvalidField("source_id", " %q is no %s of this service", pleat.Clip(e.Source.ID()), e.Source.Kind()))
}

// PingEndpoint queues a test delivery to an endpoint, under an event that belongs to no run. The project keeps its
// latest Options.Tests test deliveries. ErrNoEndpoint, ErrNoNamedEndpoint: there is none. CodeConflict: it is not
// active, or Options.Tests test deliveries wait.
func (s *Store) PingEndpoint(ctx context.Context, by people.Actor, id pleat.EndpointID) (pleat.DeliveryID, error) {
	var delivery pleat.DeliveryID
	err := s.db.Write(ctx, "ping", func(t *db.Tx) error {
		e, _, err := lockEndpoint(t, by, id)
		switch {
		case err != nil:
			return err
		case !e.Active && id == Default:
			return pleat.Errorf(pleat.CodeConflict,
				"the webhook is not active: %s; PUT /v1/webhooks/custom-http-config or "+
					"POST /v1/webhooks/custom-http-config/resume activates it", e.DisabledReason)
		case !e.Active:
			return pleat.Errorf(pleat.CodeConflict,
				"the endpoint is not active: %s; POST /v1/webhooks/endpoints/%s/resume activates it",
				e.DisabledReason, id)
		}
		if err := s.boundTests(t, e.Owner); err != nil {
			return err
		}
		ev := pleat.Event{
			ID:     pleat.EventID(db.NewID()),
			Owner:  e.Owner,
			Name:   pleat.OnComplete,
			Status: pleat.StateCompleted,
		}
		InsertEvent(t, ev, "")
		delivery = insertDelivery(t, ev, pleat.Subscription{Destination: pleat.DestCustom, Endpoint: e.ID})
		return nil
	})
	return delivery, err
}

// boundTests makes room for one more test delivery of a locked project: it deletes the oldest that have ended.
// CodeConflict: Options.Tests wait.
func (s *Store) boundTests(t *db.Tx, owner pleat.ProjectID) error {
	most, n := s.tests, 0
	var ended []any // the oldest first
	rows, err := t.Query("SELECT id, status FROM delivery WHERE project_id = $1 AND source_id = '' ORDER BY id", owner)
	err = db.ForEachRow(rows, err, func(scan func(...any) error) error {
		var id string
		var status pleat.DeliveryStatus
		if err := scan(&id, &status); err != nil {
			return err
		}
		if n++; status != pleat.DeliveryPending {
			ended = append(ended, id)
		}
		return nil
	})
	if err != nil || n < most {
		return err
	}
	if n-len(ended) >= most {
		return pleat.Errorf(pleat.CodeConflict, "%d test deliveries wait to be sent, the maximum; send another when "+
			"some have ended", n-len(ended))
	}
	return DeleteDeliveries(t, ended[:min(n-most+1, len(ended))])
}

// InsertEvent writes an event, unless an ingested one came before with the same id.
func InsertEvent(t *db.Tx, e pleat.Event, ingestID string) {
	t.Send(`
		INSERT INTO event (
			id, project_id, source_kind, source_id, run_id, name, status, payload, occurred_at, ingest_id)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
		ON CONFLICT (ingest_id) WHERE ingest_id <> '' DO NOTHING`,
		e.ID, e.Owner, e.Source.Kind(), e.Source.ID(), e.Run, e.Name, e.Status, string(e.Payload), t.Now, ingestID)
}
