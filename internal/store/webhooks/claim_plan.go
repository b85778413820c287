package webhooks

import (
	"slices"

	"pleat/internal/store/db"
)

// planSQL returns the common table expressions of the plan of a claim. The last two matter to the caller: waiting has
// the endpoints for which deliveries wait, and plan says how many to claim for those of them that may receive some. An
// undecided endpoint keeps one place, which the next transaction of the claim may use.
func planSQL(t *db.Tx, c *deliveryClaim) (sql string, args []any) {
	args = []any{t.Now, c.limits.Window, c.limits.Owner, c.n}
	from := len(args) + 1
	for id, a := range c.limit {
		args = append(args, string(id), a.Health, a.Window, a.N)
	}
	rows := db.Padded(max(1, len(c.limit)))
	args = append(args, slices.Repeat([]any{"", "", 0, 0}, rows-len(c.limit))...)
	waiting := "waiting (id) AS (SELECT id FROM limits WHERE id <> '')"
	if !c.decided {
		waiting = waitingSQL(len(args) + 1)
		args = append(args, c.after, c.most)
	}
	const receives = "e.id = w.id AND e.active = 1 AND e.paused = 0 AND e.resume_at <= CAST($1 AS bigint)"
	endpoint := "JOIN endpoint e ON " + receives
	if t.Postgres() { // which may keep a plan that reads all endpoints, see decision 020
		endpoint = "CROSS JOIN LATERAL (SELECT * FROM endpoint e WHERE " + receives + " LIMIT 1) AS e"
	}
	return `
		limits (id, health, size, most) AS (` + db.Values(from, rows, "text", "text", "bigint", "bigint") + `),
		` + waiting + `,
		running (id, owner, n) AS (
			SELECT tenant, max(project_id), count(*) FROM task
			WHERE state = 'running' AND kind = 'deliver'
			GROUP BY tenant
		),
		seen AS (
			SELECT e.id, e.project_id AS owner, e.health, e.resume_at,
				COALESCE(k.n, 0) AS of_endpoint, COALESCE(o.n, 0) AS of_owner,
				COALESCE(a.size, CAST($2 AS bigint)) AS size, COALESCE(a.most, CAST($4 AS bigint)) AS most,
				e.health = COALESCE(a.health, '') AND COALESCE(a.size, CAST($2 AS bigint)) > 0 AS known
			FROM waiting w
			` + endpoint + `
			LEFT JOIN limits a ON a.id = e.id
			LEFT JOIN running k ON k.id = e.id
			LEFT JOIN (SELECT owner, CAST(sum(n) AS bigint) AS n FROM running GROUP BY owner) AS o
				ON o.owner = e.project_id
		),
		wanted AS (
			SELECT seen.*, CASE WHEN known THEN ` + clipSQL("size - of_endpoint", "most") + ` ELSE 1 END AS want,
				CASE WHEN size > CAST($3 AS bigint) THEN size ELSE CAST($3 AS bigint) END - of_owner AS room
			FROM seen
		),
		allowed AS (
			SELECT wanted.*, ` + clipSQL("room - "+sumBefore("want", "PARTITION BY owner"), "want") + ` AS allow
			FROM wanted
		),
		ordered AS (SELECT allowed.*, ` + sumBefore("allow", "") + ` AS ahead FROM allowed),
		plan AS (
			SELECT id, known, health, resume_at, of_endpoint, of_endpoint >= size AS is_full, ahead,
				CASE WHEN known THEN ` + clipSQL("CAST($4 AS bigint) - ahead", "allow") + ` ELSE 0 END AS take
			FROM ordered
		)`, args
}

// waitingSQL is the common table expression of the endpoints behind a cursor that have deliveries queued. Its
// parameters are the cursor, $n, and how many endpoints to return. It steps from endpoint to endpoint through the
// index, so that a long queue costs no more than a short one.
func waitingSQL(n int) string {
	const next = "SELECT min(k.tenant) FROM task k WHERE k.state = 'queued' AND k.kind = 'deliver' AND k.tenant > "
	return `
		step (id, n) AS (
			SELECT (` + next + db.Params(n, 1) + `), 1
			UNION ALL
			SELECT (` + next + `step.id), step.n + 1
			FROM step
			WHERE step.id IS NOT NULL AND step.n < ` + db.Params(n+1, 1) + `
		),
		waiting (id) AS (SELECT id FROM step WHERE id IS NOT NULL)`
}

// clipSQL is a value, or 0 if it is negative, or a bound if it is larger than that.
func clipSQL(value, bound string) string {
	return "CASE WHEN " + value + " <= 0 THEN 0 WHEN " + value + " < " + bound + " THEN " + value + " ELSE " + bound +
		" END"
}

// sumBefore is the sum of a column over the endpoints before this one.
func sumBefore(column, partition string) string {
	return "COALESCE(CAST(sum(" + column + ") OVER (" + partition +
		" ORDER BY id ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS bigint), 0)"
}

// planColumns are the columns that plannedEndpoint.scanTargets scans, of waiting w and plan p.
const planColumns = `w.id, p.id IS NOT NULL, COALESCE(p.known, 1 = 0), COALESCE(p.is_full, 1 = 0),
	COALESCE(p.health, ''), COALESCE(p.resume_at, 0), COALESCE(p.of_endpoint, 0), COALESCE(p.ahead, 0),
	COALESCE(p.take, 0)`

// plannedEndpoint is an endpoint of a plan.
type plannedEndpoint struct {
	WaitingEndpoint
	receives bool // it is active, not paused, and need not rest
	known    bool // it has no health, or the one that was decided about
	full     bool // as many are in flight as its window allows
	ahead    int  // deliveries that are claimed for the endpoints before it
	take     int  // deliveries to claim
	resumeAt int64
}

// scanTargets returns where to scan planColumns.
func (e *plannedEndpoint) scanTargets() []any {
	return []any{&e.ID, &e.receives, &e.known, &e.full, &e.Health, &e.resumeAt, &e.InFlight, &e.ahead, &e.take}
}

// visit notes what the plan says about the next endpoint, in the order of their ids.
func (c *deliveryClaim) visit(e *plannedEndpoint) {
	if c.stopped = c.stopped || e.receives && e.ahead >= c.n; c.stopped {
		return
	}
	c.Next = string(e.ID)
	switch {
	case !e.receives:
	case !e.known && !c.decided:
		e.ResumeAt = db.FromMicros(e.resumeAt)
		c.undecided = append(c.undecided, e.WaitingEndpoint)
	case e.known && e.full:
		c.Full = append(c.Full, e.ID)
	}
	c.visited++
	c.stopped = c.visited == c.most
}
