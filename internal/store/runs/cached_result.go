package runs

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"pleat"
	"pleat/internal/store/db"
	"pleat/internal/store/people"
)

// CachedResult is a completed run whose result another run of the same input can reuse. Its artifacts are those of the
// run; the new run refers to the same blobs.
type CachedResult struct {
	Job       pleat.JobID
	Run       pleat.RunID
	Sequences []pleat.SequenceID // in the job's order
	Result    *pleat.Result
	Engine    string
	MSA       pleat.State
	Finished  time.Time
	Artifacts []pleat.Artifact
}

// ErrSourceGone is returned by [Store.FinishRun] if the owner can no longer read the run whose files are to be shared.
var ErrSourceGone = &pleat.Error{Code: pleat.CodeConflict, Message: "the run that the answer came from is gone"}

// mayShareResults is the condition under which an account may reuse the result of the run s of the job j: any run of
// its own, or the latest run of a public job. No private run of another project is read, so that not even the response
// time reveals one.
const mayShareResults = `s.state = 'COMPLETED' AND j.deleted_at = 0
	AND (j.project_id = %[1]s OR j.public = 1 AND j.run_id = s.id)`

// CachedResult finds a run whose result a project may reuse for an input hash, as [pleat.Work.InputHash] makes it: its
// own first, then the newest; nil if there is none. The run may be gone a moment later, so [Store.FinishRun] checks
// again, under a lock, if [RunFinished] names it as the source.
func (s *Store) CachedResult(
	ctx context.Context, owner pleat.ProjectID, inputHash string,
) (*CachedResult, error) {
	var a CachedResult
	var seqs, result string
	err := s.db.ReadRow(ctx, `
		SELECT s.id, s.job_id, j.sequences, s.result, s.engine, s.msa, s.finished_at
		FROM run s
		JOIN job j ON j.id = s.job_id
		WHERE s.input_hash = $1 AND s.input_hash <> '' AND `+fmt.Sprintf(mayShareResults, "$2")+`
		ORDER BY CASE WHEN j.project_id = $2 THEN 0 ELSE 1 END, s.id DESC
		LIMIT 1`,
		[]any{inputHash, owner}, &a.Run, &a.Job, &seqs, &result, &a.Engine, &a.MSA, db.ScanTime(&a.Finished))
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, db.Unavailable("read cached result", err)
	}
	var list []pleat.Sequence
	if err := errors.Join(db.DecodeJSON(seqs, &list), db.DecodeJSON(result, &a.Result)); err != nil {
		return nil, err
	}
	for _, q := range list {
		a.Sequences = append(a.Sequences, q.ID)
	}
	a.Artifacts, err = s.artifacts(ctx, a.Run)
	return &a, db.Unavailable("read cached result", err)
}

// EarlierRun names a completed run.
type EarlierRun struct {
	Job      pleat.JobID
	Run      pleat.RunID
	Finished time.Time
}

// EarlierRun finds the newest completed run of a project that answered the same request, by
// [pleat.FoldInput.RequestHash]; nil if there is none. Runs of others are not read, even public ones, which are not
// listed anywhere.
func (s *Store) EarlierRun(ctx context.Context, by people.Reach, requestHash string) (*EarlierRun, error) {
	var e EarlierRun
	err := s.db.ReadRow(ctx, `
		SELECT r.job_id, r.id, r.finished_at
		FROM run r
		JOIN job j ON j.id = r.job_id
		WHERE r.project_id = $1 AND r.request_hash = $2 AND r.request_hash <> '' AND r.state = 'COMPLETED'
			AND j.deleted_at = 0 AND `+people.MemberRole("$1", "$3")+` > 0
		ORDER BY r.id DESC
		LIMIT 1`,
		[]any{by.Project, requestHash, by.User}, &e.Job, &e.Run, db.ScanTime(&e.Finished))
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	return &e, db.Unavailable("read earlier run", err)
}

// askSource keeps the source run of a task's run referenced until the transaction ends, so that garbage collection
// cannot delete the blobs that the new run is about to reference. Found is set if the owner may still read it.
func askSource(t *db.Tx, source pleat.RunID, task pleat.TaskID, found *bool) {
	owner := "(SELECT r.project_id FROM run r JOIN task k ON k.run_id = r.id WHERE k.id = $2)"
	// The verbs that delete the job or make it private lock it first.
	t.Ask(`
		SELECT s.id
		FROM run s
		JOIN job j ON j.id = s.job_id
		WHERE s.id = $1 AND `+fmt.Sprintf(mayShareResults, owner)+`
		FOR SHARE OF j`,
		[]any{source, task},
		func(scan func(...any) error) error {
			*found = true
			return scan(new(string))
		})
}
