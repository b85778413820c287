package store

import (
	"context"
	"sync"
	"time"

	"pleat"
)

// headColumns are the columns of a Head, of the row j of job and the row c of the caller's key, if there is one.
var headColumns = "j.project_id, j.public, j.version, j.epoch, j.run_id, j.state, " +
	"COALESCE(c.account_id, ''), COALESCE(c.scopes, ''), " +
	"CASE WHEN COALESCE(c.project_id, '') NOT IN ('', j.project_id) THEN 0 ELSE " +
	memberRoleOf + " END"

// memberRoleOf is the role of the caller c in the project of the job j.
var memberRoleOf = memberRole("j.project_id", "c.account_id")

// Head reads what every request on a job checks first, and which user a credential authenticates, in one query, so that
// ownership and credential are those of one moment. One that is not valid leaves Caller empty: the job may be public.
// ErrJobNotFound: the job does not exist or was deleted.
func (s *Store) Head(ctx context.Context, job pleat.JobID, by Credential) (Head, error) {
	ctx, err := s.withoutCancel(ctx)
	if err != nil {
		return Head{}, unavailable("read job", err)
	}
	var h *Head
	if s.heads != nil {
		h, err = s.heads.wait(ctx, job, by)
	} else {
		var rows rows
		rows, err = s.read(ctx, headQuery(by), s.now(), by.Hash, job)
		err = forEachRow(rows, err, func(scan func(...any) error) (err error) {
			h, err = scanHead(job, scan)
			return err
		})
	}
	switch {
	case err != nil:
		return Head{}, unavailable("read job", err)
	case h == nil:
		return Head{}, pleat.ErrJobNotFound
	}
	return *h, nil
}

// scanHead reads headColumns of a job after some other columns.
func scanHead(job pleat.JobID, scan func(...any) error, before ...any) (*Head, error) {
	h, public, scopes := &Head{Source: pleat.Source{Job: job}}, int64(0), ""
	err := scan(append(before, &h.Owner, &public, &h.Version, &h.Epoch, &h.Run, &h.State, &h.Caller, &scopes,
		&h.Role)...)
	h.Public, h.Scopes = public == 1, scopesOf(scopes)
	return h, err
}

// headQuery reads the Head of the job $3 at the moment $1 for the hash $2 of a credential.
func headQuery(by Credential) string {
	return "SELECT " + headColumns + `
		FROM job j
		LEFT JOIN (SELECT k.account_id, k.scopes, k.project_id FROM ` + by.keys("$2") + `) c ON 1 = 1
		WHERE j.id = $3 AND j.deleted_at = 0`
}

const (
	// headGroups is how many queries of Heads may be under way at once.
	headGroups = 4
	// headSlow is how long a call waits for the query before it. One that takes longer may be on a connection that
	// hangs, so another query begins if headGroups allow it.
	headSlow = 20 * time.Millisecond
	// headTimeout is how long a query may take. Its callers may give up earlier.
	headTimeout = 10 * time.Second
)

// heads reads the Heads of many calls together, on PostgreSQL, where a query costs the processor more than its row: the
// calls that come while a query is under way share the next one. A query begins after its calls, so that each sees what
// was committed before it. Close it before the database.
type heads struct {
	s      *Store
	ctx    context.Context // of the queries
	cancel context.CancelFunc
	wg     sync.WaitGroup

	mu      sync.Mutex
	running int       // groups
	began   time.Time // the query that began last
	waiting []*headRead
}

// headRead is a call of Head that waits for its group.
type headRead struct {
	ctx  context.Context // of the call
	job  pleat.JobID
	by   Credential
	done chan struct{} // closed when head and err are set
	head *Head         // nil: there is no such job
	err  error
}

func newHeads(s *Store) *heads {
	g := &heads{s: s}
	g.ctx, g.cancel = context.WithCancel(context.Background())
	return g
}

// close ends the queries that are under way.
func (g *heads) close() {
	g.cancel()
	g.wg.Wait()
}

// wait reads a Head with the calls that wait at the same time; nil: there is no such job.
func (g *heads) wait(ctx context.Context, job pleat.JobID, by Credential) (*Head, error) {
	r := &headRead{ctx: ctx, job: job, by: by, done: make(chan struct{})}
	g.mu.Lock()
	g.waiting = append(g.waiting, r)
	g.begin()
	g.mu.Unlock()
	slow := time.NewTimer(headSlow)
	defer slow.Stop()
	for {
		select {
		case <-r.done:
			return r.head, r.err
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-slow.C:
			g.mu.Lock()
			g.begin()
			g.mu.Unlock()
		}
	}
}

// begin starts a group if none runs, or if the last query is slow. The caller holds mu.
func (g *heads) begin() {
	if len(g.waiting) > 0 && (g.running == 0 || g.running < headGroups && time.Since(g.began) >= headSlow) {
		g.running++
		g.began = time.Now()
		g.wg.Go(g.run)
	}
}

// run reads groups until nobody waits.
func (g *heads) run() {
	for {
		group := g.next()
		if len(group) == 0 {
			return
		}
		err := g.query(group)
		for _, r := range group {
			r.err = err
			close(r.done)
		}
	}
}

// next takes the calls of the next query; none: nobody waits. Calls whose callers have given up are left out.
func (g *heads) next() (group []*headRead) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for len(g.waiting) > 0 && len(group) < maxStatementRows {
		if r := g.waiting[0]; r.ctx.Err() == nil {
			group = append(group, r)
		}
		g.waiting = g.waiting[1:]
	}
	if g.began = time.Now(); len(group) == 0 {
		g.running--
	}
	return group
}

// query reads the Heads of a group.
func (g *heads) query(group []*headRead) error {
	ctx, cancel := context.WithTimeout(g.ctx, headTimeout)
	defer cancel()
	jobs, hashes := make([]string, len(group)), make([]string, len(group))
	sessions, logins := make([]bool, len(group)), make([]bool, len(group))
	for i, r := range group {
		jobs[i], hashes[i], sessions[i], logins[i] = string(r.job), r.by.Hash, r.by.Session, r.by.Login
	}
	rows, err := g.s.read(ctx, headsQuery, g.s.now(), jobs, hashes, sessions, logins)
	return forEachRow(rows, err, func(scan func(...any) error) error {
		var n int
		h, err := scanHead("", scan, &n)
		if err == nil {
			r := group[n-1]
			h.Source.Job = r.job
			r.head = h
		}
		return err
	})
}

// headsQuery is headQuery for arrays of jobs, hashes and whether those are of sessions or logins. The first column
// counts them from 1. The limits keep PostgreSQL from a plan that reads a whole table, see decision 020.
var headsQuery = `
	SELECT q.n, ` + headColumns + `
	FROM unnest(CAST($2 AS text[]), CAST($3 AS text[]), CAST($4 AS boolean[]), CAST($5 AS boolean[]))
		WITH ORDINALITY AS q (job, hash, session, login, n)
	CROSS JOIN LATERAL (SELECT * FROM job WHERE id = q.job AND deleted_at = 0 LIMIT 1) AS j
	LEFT JOIN LATERAL (
		SELECT k.account_id, k.scopes, k.project_id FROM ` + Credential{}.keys("q.hash") +
	` AND NOT q.session AND NOT q.login
		UNION ALL
		SELECT k.account_id, k.scopes, k.project_id FROM ` + Credential{Session: true}.keys("q.hash") + ` AND q.session
		UNION ALL
		SELECT k.account_id, k.scopes, k.project_id FROM ` + Credential{Login: true}.keys("q.hash") + ` AND q.login
		LIMIT 1
	) AS c ON true`
