package store

import (
	"context"
	"sync"
	"time"

	"pleat"
)

// headColumns are the columns of a Head, of the row j of job.
const headColumns = "j.account_id, j.public, j.version, j.epoch, j.run_id, j.state"

// Head reads what every request on a job checks first, and which user a credential authenticates, in one query, so that
// ownership and credential are those of one moment. One that is not valid leaves Caller empty: the job may be public.
// ErrJobNotFound: the job does not exist or was deleted.
func (s *Store) Head(ctx context.Context, job pleat.JobID, by Credential) (Head, error) {
	ctx, err := s.withoutCancel(ctx)
	if err != nil {
		return Head{}, unavailable("read job", err)
	}
	r := headRead{job: job, by: by}
	if s.heads != nil {
		err = s.heads.wait(ctx, &r)
	} else {
		var rows rows
		rows, err = s.read(ctx, headQueries[by.Session], s.now(), by.Hash, job)
		err = forEachRow(rows, err, func(scan func(...any) error) error { return r.scan(scan) })
	}
	if err == nil && !r.found {
		err = pleat.ErrJobNotFound
	}
	return r.head, unavailable("read job", err)
}

// headRead is a call of Head.
type headRead struct {
	job   pleat.JobID
	by    Credential
	head  Head
	found bool
	err   error
	done  chan struct{} // closed when a group has read it
}

// scan reads a row of headColumns and the caller. More are the columns before them.
func (r *headRead) scan(scan func(...any) error, more ...any) error {
	h, public, scopes := Head{Source: pleat.Source{Job: r.job}}, int64(0), ""
	err := scan(append(more, &h.Owner, &public, &h.Version, &h.Epoch, &h.Run, &h.State, &h.Caller, &scopes)...)
	h.Public, h.Scopes = public == 1, scopesOf(scopes)
	r.head, r.found = h, true
	return err
}

// headQueries read the Head of the job $3 at the moment $1, by whether the hash $2 is that of a session.
var headQueries = map[bool]string{false: headQuery(Credential{}), true: headQuery(Credential{Session: true})}

func headQuery(by Credential) string {
	return "SELECT " + headColumns + `, COALESCE(c.account_id, ''), COALESCE(c.scopes, '')
		FROM job j
		LEFT JOIN (SELECT k.account_id, k.scopes FROM ` + by.keys("$2") + `) c ON 1 = 1
		WHERE j.id = $3 AND j.deleted_at = 0`
}

const (
	// headGroups is how many queries of Heads may be under way at once.
	headGroups = 4
	// headSlow is how long calls wait for the query before them. One that takes longer may be on a connection that
	// hangs.
	headSlow = 20 * time.Millisecond
	// headTimeout is how long a query may take. Its callers may give up earlier.
	headTimeout = 10 * time.Second
)

// heads reads the Heads of many calls together, on PostgreSQL, where a query costs the processor more than its row: the
// calls that come while a query is under way share the next one. A query begins after its calls, so that each sees what
// was committed before it.
type heads struct {
	s       *Store
	mu      sync.Mutex
	running int       // goroutines that run
	began   time.Time // the query that began last
	waiting []*headRead
}

// wait reads a Head with the calls that wait at the same time.
func (g *heads) wait(ctx context.Context, r *headRead) error {
	r.done = make(chan struct{})
	g.mu.Lock()
	g.waiting = append(g.waiting, r)
	if g.running == 0 || g.running < headGroups && time.Since(g.began) > headSlow {
		g.running++
		g.began = time.Now()
		go g.run()
	}
	g.mu.Unlock()
	select {
	case <-r.done:
		return r.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// run reads groups until nobody waits.
func (g *heads) run() {
	for {
		g.mu.Lock()
		group := g.waiting[:min(len(g.waiting), maxStatementRows)]
		if g.waiting = g.waiting[len(group):]; len(group) == 0 {
			g.running--
			g.mu.Unlock()
			return
		}
		g.began = time.Now()
		g.mu.Unlock()
		err := g.query(group)
		for _, r := range group {
			r.err = err
			close(r.done)
		}
	}
}

// query reads the Heads of a group.
func (g *heads) query(group []*headRead) error {
	ctx, cancel := context.WithTimeout(context.Background(), headTimeout)
	defer cancel()
	jobs, hashes, sessions := make([]string, len(group)), make([]string, len(group)), make([]bool, len(group))
	for i, r := range group {
		jobs[i], hashes[i], sessions[i] = string(r.job), r.by.Hash, r.by.Session
	}
	rows, err := g.s.read(ctx, headsQuery, g.s.now(), jobs, hashes, sessions)
	return forEachRow(rows, err, func(scan func(...any) error) error {
		var n int
		var r headRead
		if err := r.scan(scan, &n); err != nil {
			return err
		}
		at := group[n-1]
		r.head.Source.Job = at.job
		at.head, at.found = r.head, true
		return nil
	})
}

// headsQuery is headQueries for arrays of jobs, hashes and whether those are of sessions. The first column counts them
// from 1. The limits keep PostgreSQL from a plan that reads a whole table, see decision 020.
var headsQuery = `
	SELECT q.n, ` + headColumns + `, COALESCE(c.account_id, ''), COALESCE(c.scopes, '')
	FROM unnest(CAST($2 AS text[]), CAST($3 AS text[]), CAST($4 AS boolean[]))
		WITH ORDINALITY AS q (job, hash, session, n)
	CROSS JOIN LATERAL (SELECT * FROM job WHERE id = q.job AND deleted_at = 0 LIMIT 1) AS j
	LEFT JOIN LATERAL (
		SELECT k.account_id, k.scopes FROM ` + Credential{}.keys("q.hash") + ` AND NOT q.session
		UNION ALL
		SELECT k.account_id, k.scopes FROM ` + Credential{Session: true}.keys("q.hash") + ` AND q.session
		LIMIT 1
	) AS c ON true`
