package runs

import (
	"context"
	"errors"
	"slices"
	"strings"

	"pleat"
	"pleat/internal/store/db"
	"pleat/internal/store/people"
)

// jobColumns are the columns that jobRow scans, of the row j of job.
var jobColumns = `j.id, j.project_id, j.created_by, ` + people.CreatorName("j") + `, j.name, j.public, j.chat_id,
	j.library_item, j.sequences, j.constraints, j.complex, j.state, j.version, j.epoch, j.run_id, j.created_at,
	j.updated_at`

// runColumns are the columns that runRow scans, of the row r of run.
const runColumns = `r.id, COALESCE(r.job_id, ''), r.number, r.state, r.msa, r.model, r.weight_set, r.method, r.engine,
	r.seed, r.params, r.result, r.failure, r.created_at, r.started_at, r.finished_at, r.stage, r.done, r.total`

// viewColumns are the columns that scanView reads, of the rows j of job and r of run.
var viewColumns = jobColumns + ", " + runColumns + ", " + people.RetentionSQL("j")

// View reads a job with its latest run and that run's artifacts, in one snapshot: it never shows a completed run
// without its files. It does not check who asks; see [Store.Head]. ErrJobNotFound: the job does not exist or was
// deleted.
func (s *Store) View(ctx context.Context, job pleat.JobID) (View, error) {
	if s.db.Postgres() {
		v := View{Artifacts: []pleat.Artifact{}}
		err := s.db.ReadTogether(ctx, s.viewStatements(&v, job)...)
		return v.found(err)
	}
	ctx, err := s.db.WithoutCancel(ctx)
	if err != nil {
		return View{}, db.Unavailable("read job", err)
	}
	snapshot, err := s.db.BeginRead(ctx)
	if err != nil {
		return View{}, db.Unavailable("read job", err)
	}
	defer snapshot.End(ctx)
	return s.viewBy(job, func(q string, args ...any) (db.Rows, error) { return snapshot.Query(ctx, q, args...) })
}

// EndedView is [Store.View] without a transaction on SQLite if the latest run has ended, and View itself if it has not.
// An ended run keeps its artifacts until its job is deleted, which deletes them all at once: two reads that find both
// agree. The goroutines that database/sql starts for a transaction cost more than the reads.
func (s *Store) EndedView(ctx context.Context, job pleat.JobID) (View, error) {
	if s.db.Postgres() {
		return s.View(ctx, job)
	}
	reading, err := s.db.WithoutCancel(ctx)
	if err != nil {
		return View{}, db.Unavailable("read job", err)
	}
	v, err := s.viewBy(job, func(q string, args ...any) (db.Rows, error) { return s.db.Read(reading, q, args...) })
	if err != nil || v.Run.State.Terminal() && len(v.Artifacts) > 0 {
		return v, err
	}
	return s.View(ctx, job)
}

// viewStatements are the queries that read a View.
func (s *Store) viewStatements(v *View, job pleat.JobID) []db.Statement {
	return []db.Statement{
		{
			SQL: "SELECT " + viewColumns + `
				FROM job j
				JOIN run r ON r.id = j.run_id
				WHERE j.id = $1 AND j.deleted_at = 0`,
			Args: []any{job},
			Each: func(scan func(...any) error) error { return s.scanView(scan, v) },
		},
		{
			SQL: "SELECT " + artifactColumns + `
				FROM artifact a
				WHERE a.run_id = (SELECT j.run_id FROM job j WHERE j.id = $1)
				ORDER BY a.id`,
			Args: []any{job},
			Each: func(scan func(...any) error) error {
				a, err := scanArtifact(scan)
				v.Artifacts = append(v.Artifacts, a)
				return err
			},
		},
	}
}

// found returns the view that its statements have read, unless they failed; ErrJobNotFound: there is no such job.
func (v *View) found(err error) (View, error) {
	if err == nil && v.Job.ID == "" {
		err = pleat.ErrJobNotFound
	}
	if err != nil {
		return View{}, db.Unavailable("read job", err)
	}
	return *v, nil
}

// viewBy reads a View by its statements, one after the other.
func (s *Store) viewBy(job pleat.JobID, read func(q string, args ...any) (db.Rows, error)) (View, error) {
	v := View{Artifacts: []pleat.Artifact{}}
	for _, st := range s.viewStatements(&v, job) {
		rows, err := read(st.SQL, st.Args...)
		if err := db.ForEachRow(rows, err, st.Each); err != nil {
			return v.found(err)
		}
	}
	return v.found(nil)
}

// RunView is [Store.View] for any run of a job. ErrRunNotFound: the job has no such run, or was deleted.
func (s *Store) RunView(ctx context.Context, job pleat.JobID, run pleat.RunID) (View, error) {
	views, err := s.RunViews(ctx, []pleat.RunID{run})
	if err != nil {
		return View{}, err
	}
	if v := views[run]; v != nil && v.Job.ID == job {
		return *v, nil
	}
	return View{}, pleat.ErrRunNotFound
}

// scanView reads a job and one of its runs, from viewColumns.
func (s *Store) scanView(scan func(...any) error, v *View) error {
	var jr jobRow
	var rr runRow
	var keep int64
	if err := scan(append(append(jr.scanTargets(&v.Job), rr.scanTargets(&v.Run)...), &keep)...); err != nil {
		return err
	}
	if err := errors.Join(jr.fill(&v.Job), rr.fill(&v.Run)); err != nil {
		return err
	}
	v.Job.Params = v.Run.Params
	v.Expires = people.Expiry(v.Run.FinishedAt, s.people.RetentionOrDefault(keep))
	return nil
}

// jobRow holds the columns of a job whose types differ from those of pleat.Job. Into returns where to scan jobColumns,
// fill converts what was scanned.
type jobRow struct {
	sequences, constraints string
}

func (r *jobRow) scanTargets(j *pleat.Job) []any {
	return []any{
		&j.ID, &j.Owner, &j.Creator, &j.CreatorName, &j.Name, db.ScanBool(&j.Public), &j.ChatID, &j.LibraryItem,
		&r.sequences, &r.constraints, db.ScanBool(&j.Complex), &j.State, &j.Version, &j.Epoch, &j.Run,
		db.ScanTime(&j.CreatedAt), db.ScanTime(&j.UpdatedAt),
	}
}

// fill completes the job from what into's pointers have received.
func (r *jobRow) fill(j *pleat.Job) error {
	j.CreatorName = people.DisplayName(j.CreatedBy(), j.CreatorName)
	if err := db.DecodeJSON(r.sequences, &j.Sequences); err != nil {
		return err
	}
	for i := range j.Sequences {
		j.Sequences[i].CreatedAt = j.CreatedAt
	}
	return db.DecodeJSON(r.constraints, &j.Constraints)
}

// runRow is what jobRow is to a job, for a run and runColumns.
type runRow struct {
	params, result, failure string
}

func (r *runRow) scanTargets(u *pleat.Run) []any {
	return []any{
		&u.ID, &u.Job, &u.Number, &u.State, &u.MSA, &u.Model, &u.WeightSet, &u.Method, &u.Engine, &u.Seed, &r.params,
		&r.result, &r.failure, db.ScanTime(&u.CreatedAt), db.ScanTime(&u.StartedAt), db.ScanTime(&u.FinishedAt),
		&u.Stage, &u.Done, &u.Total,
	}
}

func (r *runRow) fill(u *pleat.Run) error {
	return errors.Join(db.DecodeJSON(r.params, &u.Params), db.DecodeJSON(r.result, &u.Result),
		db.DecodeJSON(r.failure, &u.Failure))
}

// Runs lists a job's runs, newest first, at most 200. It is empty for a job that does not exist.
func (s *Store) Runs(ctx context.Context, job pleat.JobID) ([]pleat.Run, error) {
	ctx, err := s.db.WithoutCancel(ctx)
	if err != nil {
		return nil, db.Unavailable("list runs", err)
	}
	rows, err := s.db.Read(ctx,
		"SELECT "+runColumns+" FROM run r WHERE r.job_id = $1 ORDER BY r.number DESC LIMIT 200", job)
	out, err := db.ListOf(rows, err, func(scan func(...any) error) (u pleat.Run, err error) {
		var rr runRow
		if err := scan(rr.scanTargets(&u)...); err != nil {
			return u, err
		}
		err = rr.fill(&u)
		return u, err
	})
	return out, db.Unavailable("list runs", err)
}

// jobRowColumns are the columns that scanJobRow scans, of the row j of job and its latest run r. Me is the parameter of
// the caller, whose own name the caller knows: who works alone does not wait for a user to be read for each row.
func jobRowColumns(me string) string {
	return `j.id, j.created_by, CASE WHEN j.created_by IN ('', ` + me + `) THEN '' ELSE ` + people.CreatorName(
		"j",
	) + ` END,
	j.run_id, j.name, j.public, r.model, j.state, r.stage, r.done, r.total, r.result, r.failure, j.created_at,
	j.updated_at, r.started_at, r.finished_at`
}

// ListJobs reads a page of a project's jobs, newest first. Those of the caller have no CreatorName. The next page
// begins before the last job of this one.
func (s *Store) ListJobs(ctx context.Context, by people.Reach, f Filter) ([]JobRow, error) {
	if f.Query != "" && s.db.Postgres() {
		return s.searchJobs(ctx, by, f)
	}
	p := f.page(by)
	if f.Query != "" {
		p.Contains("j.name", strings.ToLower(f.Query))
	}
	return s.listJobs(ctx, p, "job", f.Limit)
}

// page returns the page of the project's jobs j that the filter selects, without its condition on the name.
func (f *Filter) page(in people.Reach) *people.Page {
	var p *people.Page
	switch {
	case f.State == "" || people.IndexesCreator(in, f.Creator):
		// The jobs of one person are fewer than those in one state.
		p = people.CreatorPage("j", in, f.Before, f.Creator)
		p.Equal("j.state", string(f.State))
	default:
		p = people.ProjectPage("j", in, f.Before, people.Column{Name: "state", Value: f.State})
		p.CreatedBy("j", in, f.Creator)
	}
	p.And("j.deleted_at = 0 AND j.batch_id = ''")
	return p
}

// listJobs reads a page of the jobs j that SQL selects.
func (s *Store) listJobs(ctx context.Context, p *people.Page, jobs string, limit int) ([]JobRow, error) {
	columns := jobRowColumns(p.Param(p.Reach.User))
	rows, err := s.db.Read(ctx, p.SQL(columns, jobs+" AS j JOIN run r ON r.id = j.run_id", limit), p.Args...)
	out, err := db.ListOf(rows, err, func(scan func(...any) error) (JobRow, error) {
		r := JobRow{Owner: p.Reach.Project}
		err := scanJobRow(scan, &r)
		return r, err
	})
	return out, db.Unavailable("list jobs", err)
}

// scanJobRow reads jobRowColumns of a job of r.Owner.
func scanJobRow(scan func(...any) error, r *JobRow) error {
	var result, failure string
	if err := scan(&r.ID, &r.Creator, &r.CreatorName, &r.Run, &r.Name, db.ScanBool(&r.Public), &r.Model, &r.State,
		&r.Stage, &r.Done, &r.Total, &result, &failure, db.ScanTime(&r.CreatedAt), db.ScanTime(&r.UpdatedAt),
		db.ScanTime(&r.Started), db.ScanTime(&r.Finished)); err != nil {
		return err
	}
	if r.Creator == "" {
		r.Creator = pleat.UserID(r.Owner)
	}
	r.CreatorName = people.DisplayName(r.Creator, r.CreatorName)
	var res *pleat.Result
	if err := db.DecodeJSON(result, &res); err != nil {
		return err
	}
	if res != nil && len(res.Predictions) > 0 {
		r.MeanPLDDT, r.PredictedRMSD = res.Predictions[0].MeanPLDDT, res.Predictions[0].PredictedRMSD
	}
	return db.DecodeJSON(failure, &r.Failure)
}

// Progress reads a run's progress after a sequence number, oldest first, at most limit events. Numbers begin at 1 and
// have gaps where log lines were dropped. The event stream reads on from the last number that its client has seen.
func (s *Store) Progress(ctx context.Context, run pleat.RunID, after int64, limit int) ([]pleat.Progress, error) {
	rows, err := s.db.Read(ctx, "SELECT seq, body FROM run_event WHERE run_id = $1 AND seq > $2 ORDER BY seq LIMIT $3",
		run, after, limit)
	out, err := db.ListOf(rows, err, func(scan func(...any) error) (p pleat.Progress, err error) {
		var seq int64
		var body string
		if err := scan(&seq, &body); err != nil {
			return p, err
		}
		err = db.DecodeJSON(body, &p)
		p.Seq = seq
		return p, err
	})
	return out, db.Unavailable("read progress", err)
}

// Changes reads which of a project's runs have changed at or after a moment (microseconds since 1970 UTC), oldest
// first. A reader continues from a little before the last moment that it saw, since commits become visible out of
// order, and drops what it has seen.
func (s *Store) Changes(ctx context.Context, by people.Reach, since int64, limit int) ([]Change, error) {
	rows, err := s.db.Read(ctx, `
		SELECT r.changed_at, r.kind, COALESCE(r.job_id, ''), COALESCE(r.workflow_id, ''), r.id,
			COALESCE(j.version, w.version), COALESCE(j.name, w.name), r.state, r.stage, r.done, r.total, r.event_seq
		FROM run r
		LEFT JOIN job j ON j.id = r.job_id
		LEFT JOIN workflow w ON w.id = r.workflow_id
		WHERE r.project_id = $1 AND r.changed_at >= $2 AND COALESCE(j.deleted_at, w.deleted_at) = 0
			AND COALESCE(j.batch_id, '') = '' AND `+people.MemberRole("$1", "$4")+` > 0
		ORDER BY r.changed_at
		LIMIT $3`,
		by.Project, since, limit, by.User)
	out, err := db.ListOf(rows, err, func(scan func(...any) error) (c Change, err error) {
		err = scan(&c.At, &c.Kind, &c.Source.Job, &c.Source.Workflow, &c.Run, &c.Version, &c.Name, &c.State, &c.Stage,
			&c.Done, &c.Total, &c.Seq)
		return c, err
	})
	return out, db.Unavailable("read changes", err)
}

// RunViews reads runs with their jobs and artifacts in one snapshot, for the bodies of deliveries. It leaves out runs
// that do not exist, runs of workflows, and runs whose job was deleted. Unlike [Store.View] it reads any run of a job,
// not only the latest.
func (s *Store) RunViews(ctx context.Context, runs []pleat.RunID) (map[pleat.RunID]*View, error) {
	out := map[pleat.RunID]*View{}
	snapshot, err := s.db.BeginRead(ctx)
	if err != nil {
		return nil, db.Unavailable("read runs", err)
	}
	defer snapshot.End(ctx)
	var ids []any
	for _, r := range runs {
		if !slices.Contains(ids, any(string(r))) {
			ids = append(ids, string(r))
		}
	}
	for part := range slices.Chunk(ids, db.MaxStatementRows) {
		in := " IN (" + db.Params(1, db.Padded(len(part))) + ")"
		rows, err := snapshot.Query(ctx, `
			SELECT `+viewColumns+`
			FROM run r
			JOIN job j ON j.id = r.job_id
			WHERE j.deleted_at = 0 AND r.id`+in,
			db.Pad(part)...)
		err = db.ForEachRow(rows, err, func(scan func(...any) error) error {
			v := &View{}
			if err := s.scanView(scan, v); err != nil {
				return err
			}
			out[v.Run.ID] = v
			return nil
		})
		if err != nil {
			return nil, db.Unavailable("read runs", err)
		}
		rows, err = snapshot.Query(ctx,
			"SELECT "+artifactColumns+" FROM artifact a WHERE a.run_id"+in+" ORDER BY a.id", db.Pad(part)...)
		arts, err := db.ListOf(rows, err, scanArtifact)
		if err != nil {
			return nil, db.Unavailable("read runs", err)
		}
		for _, a := range arts {
			if v := out[a.Run]; v != nil {
				v.Artifacts = append(v.Artifacts, a)
			}
		}
	}
	return out, nil
}
