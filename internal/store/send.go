package store

import (
	"context"
	"database/sql"
	"slices"
	"strconv"
	"strings"
	"time"

	"pleat"
)

// ClaimedDelivery is a delivery to make, with all it takes but the source's own rows.
type ClaimedDelivery struct {
	Task     pleat.Task
	Delivery Delivery
	Event    pleat.Event
	Endpoint Endpoint
	Settings string // the subscription's
	Probe    bool   // the one delivery that finds out whether an endpoint is well again
}

// Load is how many deliveries are under way already, on all nodes: to one endpoint, and to all of its owner's.
type InFlight struct{ Endpoint, Owner int }

// Admit asks how many deliveries may go to an endpoint; 0 with a moment not to ask again before (zero: none). It gives the
// breaker back as it is to be stored.
type Admit func(e Endpoint, now time.Time, out InFlight) (health string, n int, probe bool, resume time.Time)

// scanEndpoints bounds how many endpoints' queues one claim looks at.
const maxEndpointsScanned = 256

// ClaimDeliveries takes up to most deliveries, round the endpoints from a cursor on, so that none waits for another's
// queue. The attempt is noted before anything goes out. It returns the cursor for the next call; empty means that all
// endpoints behind the cursor were seen.
func (s *Store) ClaimDeliveries(ctx context.Context, worker pleat.WorkerID, cursor string, most int, admit Admit) ([]ClaimedDelivery, string, error) {
	var out []ClaimedDelivery
	next := ""
	err := s.writeAsync(ctx, "claim deliveries", func(t *tx) error {
		out, next = nil, ""
		ends, last, err := t.endpointsWaiting(cursor)
		if err != nil || len(ends) == 0 {
			next = last
			return err
		}
		busy, err := t.inFlight()
		if err != nil {
			return err
		}
		var wants []want
		for i, left := 0, most; i < len(ends); i++ {
			if left <= 0 {
				last = ends[i-1].ID
				break
			}
			e := &ends[i]
			w, err := t.admit(e, InFlight{busy[e.ID], busy[string(e.Owner)]}, left, admit)
			if err != nil {
				return err
			}
			if w.n > 0 {
				busy[string(e.Owner)] += w.n
				left -= w.n
				wants = append(wants, w)
			}
		}
		next = last
		if out, err = t.claimFrom(worker, wants); err != nil {
			return err
		}
		return t.startDeliveries(out)
	})
	if err != nil {
		return nil, cursor, err
	}
	return out, next, nil
}

// want is how many deliveries to claim for an endpoint.
type want struct {
	end   *Endpoint
	n     int
	probe bool
}

// endpointsWaiting lists the endpoints behind a cursor that have deliveries queued and may get some now. Last is where to
// go on; empty at the end. It steps from endpoint to endpoint through the index, so that a long queue costs no more than a
// short one.
func (t *tx) endpointsWaiting(after string) (ends []Endpoint, last string, err error) {
	var ids []any
	const queued = "state = 'queued' AND kind = 'deliver'"
	rows, err := t.query(`WITH RECURSIVE ends (id, n) AS (
			SELECT (SELECT min(share) FROM task WHERE `+queued+` AND share > $1), 1
			UNION ALL
			SELECT (SELECT min(k.share) FROM task k WHERE k.state = 'queued' AND k.kind = 'deliver' AND k.share > ends.id), ends.n + 1
			FROM ends WHERE ends.id IS NOT NULL AND ends.n < $2)
		SELECT ends.id, EXISTS (SELECT 1 FROM endpoint e WHERE e.id = ends.id AND e.active = 1 AND e.paused = 0 AND e.resume_at <= $3) FROM ends WHERE ends.id IS NOT NULL`,
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
	ends, err = t.endpoints(ids, "")
	return ends, last, err
}

// endpoints reads endpoints by their ids, in the order of the ids.
func (t *tx) endpoints(ids []any, lock string) ([]Endpoint, error) {
	var out []Endpoint
	for part := range slices.Chunk(ids, maxStatementRows) {
		rows, err := t.query("SELECT "+endpointColumns+" FROM endpoint e WHERE e.id IN ("+params(1, padded(len(part)))+") ORDER BY e.id"+lock, pad(part)...)
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

// busy counts the deliveries under way by endpoint and by owner.
func (t *tx) inFlight() (map[string]int, error) {
	out := map[string]int{}
	rows, err := t.query("SELECT share, account_id, count(*) FROM task WHERE state = 'running' AND kind = 'deliver' GROUP BY share, account_id")
	err = forEachRow(rows, err, func(scan func(...any) error) error {
		var end, owner string
		var n int
		if err := scan(&end, &owner, &n); err != nil {
			return err
		}
		out[end] += n
		out[owner] += n
		return nil
	})
	return out, err
}

// admit asks the breaker of an endpoint and stores what it says.
func (t *tx) admit(e *Endpoint, out InFlight, most int, admit Admit) (want, error) {
	health, n, probe, resume := admit(*e, fromMicros(t.now), out)
	if health != e.Health || !resume.IsZero() {
		// What an attempt that ended meanwhile has stored wins.
		k, err := t.exec("UPDATE endpoint SET health = $1, resume_at = $2 WHERE id = $3 AND health = $4", health, toMicros(resume), e.ID, e.Health)
		if err != nil || k == 0 {
			return want{}, err
		}
		e.Health = health
	}
	return want{e, min(n, most), probe}, nil
}

// claimFrom claims what is wanted: on PostgreSQL in one statement, since each costs a round trip; on SQLite, which cannot
// bound a claim per endpoint, in one for each.
func (t *tx) claimFrom(worker pleat.WorkerID, wants []want) ([]ClaimedDelivery, error) {
	var out []ClaimedDelivery
	if t.pg == nil {
		for _, w := range wants {
			tasks, err := t.claim(worker, deliveryQueuePrefix+w.end.ID, w.n, 0)
			if err != nil {
				return nil, err
			}
			for _, c := range tasks {
				out = append(out, ClaimedDelivery{Task: c.Task, Endpoint: *w.end, Probe: w.probe})
			}
		}
		return out, nil
	}
	at := map[string]want{}
	var args []any
	for _, w := range wants {
		at[w.end.ID] = w
		args = append(args, deliveryQueuePrefix+w.end.ID, w.n)
	}
	for part := range inRows(args, 2, false) {
		tasks, err := t.claimWhere(`SELECT k.id FROM (`+values(3, len(part)/2, "text", "bigint")+`) AS v CROSS JOIN LATERAL
			(SELECT id FROM task WHERE state = 'queued' AND lane = v.column1 ORDER BY turn, id LIMIT v.column2 FOR UPDATE SKIP LOCKED) AS k`, worker, part...)
		if err != nil {
			return nil, err
		}
		for _, c := range tasks {
			w := at[c.Task.Tenant]
			out = append(out, ClaimedDelivery{Task: c.Task, Endpoint: *w.end, Probe: w.probe})
		}
	}
	return out, nil
}

// startDeliveries notes the attempts and reads what is to be delivered.
func (t *tx) startDeliveries(list []ClaimedDelivery) error {
	at := map[string]*ClaimedDelivery{}
	var attempts, ids []any
	for i := range list {
		k := &list[i].Task
		at[k.Subject] = &list[i]
		attempts = append(attempts, string(k.ID), k.Attempt, string(k.Worker), t.now)
		ids = append(ids, k.Subject)
	}
	for part := range inRows(attempts, 4, t.pg != nil) {
		if _, err := t.exec("INSERT INTO attempt (task_id, number, worker_id, started_at, ended_at, outcome, detail) SELECT v.column1, v.column2, v.column3, v.column4, 0, '', '' FROM ("+
			values(1, len(part)/4, "text", "bigint", "text", "bigint")+") AS v WHERE true ON CONFLICT DO NOTHING", part...); err != nil {
			return err
		}
	}
	for part := range slices.Chunk(ids, maxStatementRows) {
		rows, err := t.query(`SELECT d.id, d.event_id, d.subscription_id, d.destination, d.source_kind, d.source_id, d.run_id, d.event_name, d.attempts, d.created_at,
				v.account_id, v.status, v.payload, v.occurred_at, COALESCE(u.settings, '')
			FROM delivery d JOIN event v ON v.id = d.event_id LEFT JOIN subscription u ON u.id = d.subscription_id WHERE d.id IN (`+params(1, padded(len(part)))+")", pad(part)...)
		if err := forEachRow(rows, err, func(scan func(...any) error) error { return scanClaimed(scan, at) }); err != nil {
			return err
		}
	}
	return nil
}

func scanClaimed(scan func(...any) error, at map[string]*ClaimedDelivery) error {
	var d Delivery
	var v pleat.Event
	var occurred, made int64
	var payload, settings string
	if err := scan(&d.ID, &d.Event, &d.Subscription, &d.Destination, &d.Source, &d.SourceID, &d.Run, &d.EventName, &d.Attempts, &made,
		&v.Owner, &v.Status, &payload, &occurred, &settings); err != nil {
		return err
	}
	d.CreatedAt, d.Status = fromMicros(made), "RUNNING"
	v.ID, v.Source, v.SourceID, v.Run, v.Name = d.Event, d.Source, d.SourceID, d.Run, d.EventName
	v.At, v.Payload = fromMicros(occurred), []byte(payload)
	c := at[d.ID]
	c.Delivery, c.Event, c.Settings = d, v, settings
	return nil
}

// Delivered is how one attempt at a delivery ended.
type Delivered struct {
	Claimed ClaimedDelivery
	OK      bool
	Status  int       // of the answer; 0: none
	Detail  string    // what is kept of the attempt
	NextAt  time.Time // of the next attempt; zero: none
	Reason  string    // why there is none
	// Aborted gives the task back without counting an attempt: the sender stopped, nothing is known.
	Aborted bool
}

// Judge passes an attempt's outcome to the breaker of its endpoint: the breaker as it is to be stored, when the endpoint may
// be asked again (zero: now), and why it is to be disabled (empty: it is not).
type Judge func(e Endpoint, d Delivered, now time.Time) (health string, resume time.Time, disable string)

// FinishDeliveries ends attempts, all in one transaction. One that another worker has taken meanwhile is left out.
func (s *Store) FinishDeliveries(ctx context.Context, worker pleat.WorkerID, list []Delivered, judge Judge) error {
	return s.write(ctx, "finish deliveries", func(t *tx) error {
		held, err := t.endDeliveryTasks(worker, list)
		if err != nil {
			return err
		}
		var attempts, deliveries, ends []any
		var kept []Delivered
		for _, d := range list {
			task := d.Claimed.Task
			if !held[task.ID] {
				continue
			}
			outcome := "failed"
			switch {
			case d.Aborted:
				outcome = "released"
				t.notify(deliveryTopic)
			case d.OK:
				outcome = "done"
			}
			attempts = append(attempts, string(task.ID), task.Attempt, outcome, d.Detail)
			if d.Aborted {
				continue
			}
			status, _ := d.ending()
			deliveries = append(deliveries, d.Claimed.Delivery.ID, status, toMicros(d.NextAt), d.Status, d.Reason)
			kept = append(kept, d)
			if !slices.Contains(ends, any(d.Claimed.Endpoint.ID)) {
				ends = append(ends, d.Claimed.Endpoint.ID)
			}
		}
		for part := range inRows(attempts, 4, t.pg != nil) {
			if _, err := t.exec("UPDATE attempt SET ended_at = $1, outcome = v.column3, detail = v.column4 FROM ("+values(2, len(part)/4, "text", "bigint", "text", "text")+
				") AS v WHERE attempt.task_id = v.column1 AND attempt.number = v.column2 AND attempt.ended_at = 0", append([]any{t.now}, part...)...); err != nil {
				return err
			}
		}
		for part := range inRows(deliveries, 5, t.pg != nil) {
			if _, err := t.exec("UPDATE delivery SET status = v.column2, attempts = attempts + 1, next_at = v.column3, response_status = v.column4, reason = v.column5, updated_at = $1 FROM ("+
				values(2, len(part)/5, "text", "text", "bigint", "bigint", "text")+") AS v WHERE delivery.id = v.column1", append([]any{t.now}, part...)...); err != nil {
				return err
			}
		}
		return t.judge(ends, kept, judge)
	})
}

// ending is what becomes of a delivery and its task.
func (d *Delivered) ending() (status string, state pleat.TaskState) {
	switch {
	case d.Aborted:
		return "PENDING", pleat.TaskQueued
	case d.OK:
		return "SUCCEEDED", pleat.TaskDone
	case !d.NextAt.IsZero():
		return "PENDING", pleat.TaskWaiting
	}
	return "FAILED", pleat.TaskFailed
}

// endDeliveryTasks ends the tasks that the worker still holds and says which those are.
func (t *tx) endDeliveryTasks(worker pleat.WorkerID, list []Delivered) (map[pleat.TaskID]bool, error) {
	var args []any
	for _, d := range list {
		_, state := d.ending()
		spent, ended := 1, t.now
		if d.Aborted {
			spent = 0
		}
		if state == pleat.TaskQueued || state == pleat.TaskWaiting {
			ended = 0
		}
		args = append(args, string(d.Claimed.Task.ID), d.Claimed.Task.Attempt, string(state), toMicros(d.NextAt), spent, ended)
	}
	held := map[pleat.TaskID]bool{}
	for part := range inRows(args, 6, t.pg != nil) {
		rows, err := t.query("UPDATE task SET state = v.column3, run_at = v.column4, tries = tries + v.column5, ended_at = v.column6, lease_until = 0, worker_id = '' FROM ("+
			values(2, len(part)/6, "text", "bigint", "text", "bigint", "bigint", "bigint")+
			") AS v WHERE task.id = v.column1 AND task.attempt = v.column2 AND task.worker_id = $1 AND task.state = 'running' RETURNING id", append([]any{worker}, part...)...)
		err = forEachRow(rows, err, func(scan func(...any) error) error {
			var id pleat.TaskID
			defer func() { held[id] = true }()
			return scan(&id)
		})
		if err != nil {
			return nil, err
		}
	}
	return held, nil
}

// judge updates the breakers of endpoints, reading them anew: other deliveries may have ended since these began.
func (t *tx) judge(ids []any, list []Delivered, judge Judge) error {
	lock := ""
	if t.pg != nil {
		lock = " FOR UPDATE"
	}
	ends, err := t.endpoints(ids, lock)
	if err != nil {
		return err
	}
	for _, e := range ends {
		was, disabled := e, ""
		for _, d := range list {
			if d.Claimed.Endpoint.ID != e.ID {
				continue
			}
			var why string
			if e.Health, e.ResumeAt, why = judge(e, d, fromMicros(t.now)); why != "" {
				disabled = why
			}
		}
		if e.Health == was.Health && e.ResumeAt.Equal(was.ResumeAt) && disabled == "" {
			continue
		}
		if _, err := t.exec("UPDATE endpoint SET health = $1, resume_at = $2 WHERE id = $3", e.Health, toMicros(e.ResumeAt), e.ID); err != nil {
			return err
		}
		if disabled != "" && e.Active {
			if err := t.disable(e, disabled); err != nil {
				return err
			}
		}
	}
	return nil
}

// disable takes an endpoint out of use. What waits for a global one is kept until its owner activates it again; what waits
// for one of a run's own fails, and can be redelivered.
func (t *tx) disable(e Endpoint, why string) error {
	if _, err := t.exec("UPDATE endpoint SET active = 0, disabled_reason = $1, updated_at = $2 WHERE id = $3", why, t.now, e.ID); err != nil || e.Source == "" {
		return err
	}
	if _, err := t.exec("UPDATE task SET state = 'failed', ended_at = $1 WHERE share = $2 AND lane = $3 AND state IN ('queued', 'waiting')", t.now, e.ID, deliveryQueuePrefix+e.ID); err != nil {
		return err
	}
	_, err := t.exec(`UPDATE delivery SET status = 'FAILED', reason = $1, next_at = 0, updated_at = $2 WHERE endpoint_id = $3 AND status = 'PENDING'
		AND NOT EXISTS (SELECT 1 FROM task k WHERE k.subject = delivery.id AND k.state = 'running')`, why, t.now, e.ID)
	return err
}

// loseDelivery counts an attempt whose process died, and ends the delivery where it has no tries left.
func (t *tx) onDeliveryLeaseExpired(id string, again bool) error {
	if again {
		_, err := t.exec("UPDATE delivery SET attempts = attempts + 1, next_at = $1, updated_at = $1 WHERE id = $2", t.now, id)
		return err
	}
	_, err := t.exec("UPDATE delivery SET attempts = attempts + 1, status = 'FAILED', next_at = 0, reason = 'the process that delivered it ended each time', updated_at = $1 WHERE id = $2", t.now, id)
	return err
}

// FreeTasks gives back at once what an earlier life of a worker held.
func (s *Store) FreeTasks(ctx context.Context, worker pleat.WorkerID) (Reaped, error) {
	var r Reaped
	err := s.write(ctx, "free tasks", func(t *tx) error {
		r = Reaped{}
		lost, err := t.selectExpired("worker_id = $1", worker)
		if err != nil {
			return err
		}
		for _, l := range lost {
			if err := t.onLeaseExpired(l, &r); err != nil {
				return err
			}
		}
		return nil
	})
	return r, err
}

// ForgetDeliveries deletes up to most deliveries to custom endpoints that ended before a moment, with their attempts, and
// says how many. Follow-ups are kept: their rows say that a run's have started.
func (s *Store) ForgetDeliveries(ctx context.Context, before time.Time, most int) (int, error) {
	n := 0
	err := s.write(ctx, "forget deliveries", func(t *tx) error {
		var ids []any
		rows, err := t.query("SELECT id FROM delivery WHERE status <> 'PENDING' AND updated_at < $1 AND destination = 'custom_http' ORDER BY updated_at LIMIT $2", toMicros(before), most)
		err = forEachRow(rows, err, func(scan func(...any) error) error {
			var id string
			defer func() { ids = append(ids, id) }()
			return scan(&id)
		})
		if err != nil {
			return err
		}
		n = len(ids)
		for part := range slices.Chunk(ids, maxStatementRows) {
			in := "(" + params(1, padded(len(part))) + ")"
			for _, q := range []string{
				"DELETE FROM attempt WHERE task_id IN (SELECT id FROM task WHERE subject IN " + in + ")",
				"DELETE FROM task WHERE subject IN " + in,
				"DELETE FROM delivery WHERE id IN " + in,
			} {
				if _, err := t.exec(q, pad(part)...); err != nil {
					return err
				}
			}
		}
		return nil
	})
	return n, err
}

// maxRows is how many rows one statement handles at most. Lists are cut into few different lengths, so that few statements
// are prepared.
const maxStatementRows = 128

// padded is the next power of two.
func padded(n int) int {
	p := 1
	for p < n {
		p *= 2
	}
	return p
}

// pad repeats the last of some ids up to the next power of two: inside IN that changes nothing.
func pad(ids []any) []any {
	out := slices.Clone(ids)
	for n := padded(len(ids)); len(out) < n; {
		out = append(out, ids[len(ids)-1])
	}
	return out
}

// inRows cuts the values of many rows into parts whose numbers of rows are powers of two. With again, rows are repeated where
// they are too few, so that there are fewer parts: an update may be told of a row twice.
func inRows(args []any, columns int, again bool) func(yield func([]any) bool) {
	return func(yield func([]any) bool) {
		if again {
			for part := range slices.Chunk(args, maxStatementRows*columns) {
				row := part[len(part)-columns:]
				part = slices.Clip(part)
				for n := padded(len(part)/columns) * columns; len(part) < n; {
					part = append(part, row...)
				}
				if !yield(part) {
					return
				}
			}
			return
		}
		for size := maxStatementRows; size > 0; size /= 2 {
			for len(args) >= size*columns {
				if !yield(args[: size*columns : size*columns]) {
					return
				}
				args = args[size*columns:]
			}
		}
	}
}

// params is «$from, $from+1, …», n of them.
func params(from, n int) string {
	var b strings.Builder
	for i := range n {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteByte('$')
		b.WriteString(strconv.Itoa(from + i))
	}
	return b.String()
}

// values is a VALUES list of rows with parameters from a number on. Both databases name its columns column1, column2 ….
func values(from, rows int, types ...string) string {
	var b strings.Builder
	b.WriteString("VALUES ")
	for i := range rows {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteByte('(')
		for k, typ := range types {
			if k > 0 {
				b.WriteString(", ")
			}
			b.WriteString("CAST($" + strconv.Itoa(from+i*len(types)+k) + " AS " + typ + ")")
		}
		b.WriteByte(')')
	}
	return b.String()
}

// RunViews reads jobs as the runs named stand, in one snapshot. A run whose job was deleted is left out.
func (s *Store) RunViews(ctx context.Context, runs []pleat.RunID) (map[pleat.RunID]*View, error) {
	out := map[pleat.RunID]*View{}
	rtx, err := s.db.BeginTx(ctx, &sql.TxOptions{Isolation: s.snapshot(), ReadOnly: true})
	if err != nil {
		return nil, unavailable("read runs", err)
	}
	defer func() { _ = rtx.Rollback() }()
	var ids []any
	for _, r := range runs {
		if !slices.Contains(ids, any(string(r))) {
			ids = append(ids, string(r))
		}
	}
	for part := range slices.Chunk(ids, maxStatementRows) {
		in := " IN (" + params(1, padded(len(part))) + ")"
		rows, err := s.readIn(ctx, rtx, "SELECT "+jobColumns+", "+runColumns+" FROM run r JOIN job j ON j.id = r.job_id WHERE j.deleted_at = 0 AND r.id"+in, pad(part)...)
		err = forEachRow(rows, err, func(scan func(...any) error) error {
			v := &View{}
			if err := scanView(scan, v); err != nil {
				return err
			}
			out[v.Run.ID] = v
			return nil
		})
		if err != nil {
			return nil, unavailable("read runs", err)
		}
		rows, err = s.readIn(ctx, rtx, "SELECT "+artifactColumns+" FROM artifact a WHERE a.run_id"+in+" ORDER BY a.id", pad(part)...)
		arts, err := scanArtifacts(rows, err)
		if err != nil {
			return nil, unavailable("read runs", err)
		}
		for _, a := range arts {
			if v := out[a.Run]; v != nil {
				v.Artifacts = append(v.Artifacts, a)
			}
		}
	}
	return out, nil
}
