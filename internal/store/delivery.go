package store

import (
	"context"
	"fmt"
	"strings"
	"time"

	"pleat"
)

// A delivery to a custom endpoint is a task in the endpoint's own lane, so that endpoints never wait for each other; a
// follow-up is a task in the lane «follow».
const (
	deliveryQueuePrefix = "deliver/"
	deliveryTopic       = "deliver"
	followUpQueue       = string(pleat.TaskFollow)
)

// DeliverTopic has news when there is something to deliver.
func DeliveryTopic() string { return deliveryTopic }

// DeliveryTries is how many attempts a delivery has before it fails for good, and again after each redelivery.
const DeliveryTries = 10

// SourceTest is the source of a test delivery's event; it belongs to no run.
const SourceTest pleat.SourceKind = "test"

// Delivery is one destination's share of an event.
type Delivery struct {
	ID             string
	Event          pleat.EventID
	Subscription   pleat.SubscriptionID
	Destination    pleat.Destination
	Source         pleat.SourceKind
	SourceID       string
	Run            pleat.RunID
	EventName      pleat.EventName
	EventStatus    pleat.State // of the run when it ended; empty in a delivery that was claimed, which has its event beside it
	Status         string      // PENDING, RUNNING, SUCCEEDED, FAILED
	Triggered      string      // the workflow that a follow-up started
	Attempts       int
	NextAt         time.Time // zero where none is due
	ResponseStatus int       // 0: no answer yet
	Reason         string    // why it failed for good
	CreatedAt      time.Time
}

// DeliveryAttempt is one try at a delivery; Detail is what internal/webhook noted of it.
type DeliveryAttempt struct {
	Number    int
	StartedAt time.Time
	EndedAt   time.Time
	Outcome   string
	Detail    string
}

// setOff writes what an event leads to: a delivery row and a task per destination, once each.
func (t *tx) insertDeliveries(e pleat.Event) error {
	var subs []pleat.Subscription
	rows, err := t.query("SELECT id, destination, word, target_type, settings, endpoint_id FROM subscription WHERE source_id = $1 AND (run_id = $2 OR run_id = '') ORDER BY id", e.SourceID, e.Run)
	err = forEachRow(rows, err, func(scan func(...any) error) error {
		var s pleat.Subscription
		var settings string
		if err := scan(&s.ID, &s.Destination, &s.Alias, &s.TargetType, &settings, &s.Endpoint); err != nil {
			return err
		}
		subs = append(subs, s)
		return nil
	})
	if err != nil {
		return err
	}
	for _, sub := range pleat.SubscriptionsFor(e, subs) {
		if err := t.insertDelivery(e, sub); err != nil {
			return err
		}
	}
	return nil
}

func (t *tx) insertDelivery(e pleat.Event, sub pleat.Subscription) error {
	once := fmt.Sprintf("event:%s:%s", e.ID, sub.Destination)
	lane, share, kind := deliveryQueuePrefix+sub.Endpoint, sub.Endpoint, pleat.TaskDeliver
	if sub.Destination != pleat.DestCustom {
		once = fmt.Sprintf("run:%s:%s", e.Run, sub.Destination)
		lane, share, kind = followUpQueue, string(e.Owner), pleat.TaskFollow
	}
	id := newID()
	n, err := t.exec(`INSERT INTO delivery (id, account_id, event_id, subscription_id, endpoint_id, destination, source_kind, source_id, run_id, event_name, once, status, triggered, attempts, next_at, response_status, reason, created_at, updated_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, 'PENDING', '', 0, $12, 0, '', $12, $12) ON CONFLICT (once) DO NOTHING`,
		id, e.Owner, e.ID, sub.ID, sub.Endpoint, sub.Destination, e.Source, e.SourceID, e.Run, e.Name, once, t.now)
	if err != nil || n == 0 {
		return err
	}
	t.notify(deliveryTopic)
	return t.insertTask(kind, lane, e.Owner, share, id, 0, DeliveryTries)
}

// DeliveryFilter narrows a list of deliveries.
type DeliveryFilter struct {
	Limit    int
	Before   string
	Status   string
	SourceID string
	Since    time.Time
}

const deliveryColumns = `d.id, d.event_id, d.subscription_id, d.destination, d.source_kind, d.source_id, d.run_id, d.event_name,
	COALESCE((SELECT v.status FROM event v WHERE v.id = d.event_id), ''),
	CASE WHEN d.status = 'PENDING' AND EXISTS (SELECT 1 FROM task k WHERE k.subject = d.id AND k.state = 'running') THEN 'RUNNING' ELSE d.status END,
	d.triggered, d.attempts, d.next_at, d.response_status, d.reason, d.created_at`

func scanDelivery(scan func(...any) error) (Delivery, error) {
	var d Delivery
	var next, made int64
	err := scan(&d.ID, &d.Event, &d.Subscription, &d.Destination, &d.Source, &d.SourceID, &d.Run, &d.EventName, &d.EventStatus, &d.Status, &d.Triggered,
		&d.Attempts, &next, &d.ResponseStatus, &d.Reason, &made)
	d.NextAt, d.CreatedAt = fromMicros(next), fromMicros(made)
	return d, err
}

// where writes the filter's conditions behind those on the owner.
func (f DeliveryFilter) where(owner pleat.UserID) (string, []any) {
	args := []any{owner}
	var b strings.Builder
	b.WriteString("d.account_id = $1")
	add := func(clause string, v any) {
		args = append(args, v)
		fmt.Fprintf(&b, clause, len(args))
	}
	if f.Before != "" {
		add(" AND d.id < $%d", f.Before)
	}
	switch f.Status {
	case "":
	case "RUNNING", "PENDING":
		b.WriteString(" AND d.status = 'PENDING'")
		not := map[bool]string{true: "", false: "NOT "}[f.Status == "RUNNING"]
		b.WriteString(" AND " + not + "EXISTS (SELECT 1 FROM task k WHERE k.subject = d.id AND k.state = 'running')")
	default:
		add(" AND d.status = $%d", f.Status)
	}
	if f.SourceID != "" {
		add(" AND d.source_id = $%d", f.SourceID)
	}
	if !f.Since.IsZero() {
		add(" AND d.created_at >= $%d", toMicros(f.Since))
	}
	return b.String(), args
}

// Deliveries reads a page of a user's deliveries, newest first.
func (s *Store) Deliveries(ctx context.Context, owner pleat.UserID, f DeliveryFilter) ([]Delivery, error) {
	where, args := f.where(owner)
	out := []Delivery{}
	rows, err := s.read(ctx, "SELECT "+deliveryColumns+" FROM delivery d WHERE "+where+fmt.Sprintf(" ORDER BY d.id DESC LIMIT %d", f.Limit), args...)
	err = forEachRow(rows, err, func(scan func(...any) error) error {
		d, err := scanDelivery(scan)
		out = append(out, d)
		return err
	})
	return out, unavailable("list deliveries", err)
}

// ErrNoDelivery says that there is no such delivery of the caller's.
var ErrNoDelivery = pleat.Errorf(pleat.CodeNotFound, "Delivery not found")

// Delivery reads one delivery of a user's with its attempts, oldest first.
func (s *Store) Delivery(ctx context.Context, owner pleat.UserID, id string) (Delivery, []DeliveryAttempt, error) {
	rows, err := s.read(ctx, "SELECT "+deliveryColumns+" FROM delivery d WHERE d.account_id = $1 AND d.id = $2", owner, id)
	var d Delivery
	n := 0
	err = forEachRow(rows, err, func(scan func(...any) error) (err error) {
		n++
		d, err = scanDelivery(scan)
		return err
	})
	if err == nil && n == 0 {
		err = ErrNoDelivery
	}
	if err != nil {
		return d, nil, unavailable("read delivery", err)
	}
	tries := []DeliveryAttempt{}
	rows, err = s.read(ctx, `SELECT a.number, a.started_at, a.ended_at, a.outcome, a.detail FROM attempt a JOIN task k ON k.id = a.task_id
		WHERE k.subject = $1 ORDER BY k.id, a.number LIMIT 500`, id)
	err = forEachRow(rows, err, func(scan func(...any) error) error {
		var a DeliveryAttempt
		var began, ended int64
		if err := scan(&a.Number, &began, &ended, &a.Outcome, &a.Detail); err != nil {
			return err
		}
		a.Number = len(tries) + 1
		a.StartedAt, a.EndedAt = fromMicros(began), fromMicros(ended)
		tries = append(tries, a)
		return nil
	})
	return d, tries, unavailable("read delivery", err)
}

// Redeliver sends ended deliveries to custom endpoints again: the same rows, under the same webhook-id, with all their tries.
// Those that are still to be tried are left alone, unless one is named: that is refused. It says how many go out, at most
// f.Limit, the oldest first. One that is named wakes an endpoint of a run's own that had been disabled.
func (s *Store) Redeliver(ctx context.Context, owner pleat.UserID, id string, f DeliveryFilter) (int, error) {
	n := 0
	err := s.write(ctx, "redeliver", func(t *tx) error {
		n = 0
		where, args := f.where(owner)
		if id != "" {
			where, args = "d.account_id = $1 AND d.id = $2", []any{owner, id}
		} else {
			where += " AND d.status <> 'PENDING' AND d.destination = 'custom_http'"
		}
		list, err := t.ended(where+fmt.Sprintf(" ORDER BY d.id LIMIT %d", max(f.Limit, 1)), args)
		if err != nil {
			return err
		}
		if id != "" {
			if err := mayRedeliver(list); err != nil {
				return err
			}
			if _, err := t.exec("UPDATE endpoint SET active = 1, disabled_reason = '', health = '', resume_at = 0 WHERE id = $1 AND run_source <> '' AND active = 0", list[0].endpoint); err != nil {
				return err
			}
		}
		for _, r := range list {
			k, err := t.exec("UPDATE delivery SET status = 'PENDING', next_at = $1, reason = '', updated_at = $1 WHERE id = $2 AND status <> 'PENDING'", t.now, r.id)
			if err != nil {
				return err
			}
			if k == 0 { // another call was faster
				continue
			}
			if err := t.insertTask(pleat.TaskDeliver, deliveryQueuePrefix+r.endpoint, owner, r.endpoint, r.id, 0, DeliveryTries); err != nil {
				return err
			}
			n++
		}
		return nil
	})
	return n, err
}

type endedDelivery struct{ id, endpoint, status, destination string }

func (t *tx) ended(where string, args []any) ([]endedDelivery, error) {
	var list []endedDelivery
	rows, err := t.query("SELECT d.id, d.endpoint_id, d.status, d.destination FROM delivery d WHERE "+where, args...)
	err = forEachRow(rows, err, func(scan func(...any) error) error {
		var r endedDelivery
		err := scan(&r.id, &r.endpoint, &r.status, &r.destination)
		list = append(list, r)
		return err
	})
	return list, err
}

// mayRedeliver says why the one delivery named cannot be sent again.
func mayRedeliver(list []endedDelivery) error {
	switch {
	case len(list) == 0:
		return ErrNoDelivery
	case list[0].destination != string(pleat.DestCustom):
		return pleat.Errorf(pleat.CodeConflict, "the delivery starts a %s run, and such a run starts once; create a workflow for another", list[0].destination)
	case list[0].status == "PENDING":
		return pleat.Errorf(pleat.CodeConflict, "the delivery is still being tried; its next attempt will come by itself")
	}
	return nil
}

// SubscriptionRow is one destination that a run resolved.
type SubscriptionRow struct {
	pleat.Subscription
	Source    pleat.SourceKind
	SourceID  string
	Run       pleat.RunID
	CreatedAt time.Time
}

// Subscriptions reads a page of a user's subscriptions, newest first.
func (s *Store) Subscriptions(ctx context.Context, owner pleat.UserID, before string, limit int) ([]SubscriptionRow, error) {
	out := []SubscriptionRow{}
	rows, err := s.read(ctx, `SELECT id, source_kind, source_id, run_id, destination, word, target_type, created_at FROM subscription
		WHERE account_id = $1 AND ($2 = '' OR id < $2) ORDER BY id DESC LIMIT $3`, owner, before, limit)
	err = forEachRow(rows, err, func(scan func(...any) error) error {
		var r SubscriptionRow
		var at int64
		if err := scan(&r.ID, &r.Source, &r.SourceID, &r.Run, &r.Destination, &r.Alias, &r.TargetType, &at); err != nil {
			return err
		}
		r.CreatedAt = fromMicros(at)
		out = append(out, r)
		return nil
	})
	return out, unavailable("list subscriptions", err)
}

// Ingest writes an event that an operator's system tells of, once per id, and what it sets off. An id that came before is
// answered with the event of then.
func (s *Store) Ingest(ctx context.Context, ingestID string, e pleat.Event) (pleat.EventID, bool, error) {
	var id pleat.EventID
	repeated := false
	err := s.write(ctx, "ingest event", func(t *tx) error {
		ev := e
		id, repeated = "", false
		if err := t.owner(&ev); err != nil {
			return err
		}
		var err error
		if id, err = t.emit(ev, ingestID); err != nil || id != "" {
			return err
		}
		repeated = true
		return t.row("SELECT id FROM event WHERE ingest_id = $1", []any{ingestID}, &id)
	})
	return id, repeated, err
}

// owner fills in whose source an event tells of, and the source's latest run.
func (t *tx) owner(e *pleat.Event) error {
	none := pleat.Invalidf("source_id %q is no %s of this service", pleat.Clip(e.SourceID), e.Source)
	table, ok := map[pleat.SourceKind]string{pleat.SourceFold: "job", pleat.SourceWorkflow: "workflow"}[e.Source]
	if !ok {
		return none
	}
	return mapNoRows(t.row("SELECT account_id, run_id FROM "+table+" WHERE id = $1 AND deleted_at = 0", []any{e.SourceID}, &e.Owner, &e.Run), none)
}

// PingEndpoint queues a test delivery to a user's global endpoint, under an event of its own.
func (s *Store) PingEndpoint(ctx context.Context, owner pleat.UserID) (string, error) {
	var id string
	err := s.write(ctx, "ping", func(t *tx) error {
		var e Endpoint
		if err := t.globalEndpoint(owner, &e); err != nil {
			return err
		}
		if !e.Active {
			return pleat.Errorf(pleat.CodeConflict, "the webhook is not active: %s; PUT /v1/webhooks/custom-http-config or POST /v1/webhooks/custom-http-config/resume activates it", e.DisabledReason)
		}
		ev := pleat.Event{Owner: owner, Source: SourceTest, Name: pleat.OnComplete, Status: pleat.StateCompleted}
		var err error
		if ev.ID, err = t.emit(ev, ""); err != nil {
			return err
		}
		if err := t.insertDelivery(ev, pleat.Subscription{Destination: pleat.DestCustom, Endpoint: e.ID}); err != nil {
			return err
		}
		return t.row("SELECT id FROM delivery WHERE event_id = $1", []any{ev.ID}, &id)
	})
	return id, err
}
