package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"pleat"
)

// Answer is a completed run whose results serve another of the same input.
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

// ErrSourceGone is what FinishRun answers where the run whose files are to be shared can no longer be read by the owner.
var ErrSourceGone = &pleat.Error{Code: pleat.CodeConflict, Message: "the run that the answer came from is gone"}

// mayAnswer is the condition under which the run s of the job j may answer a run of an account: any of the account's own, or the
// one that a public job shows. Nothing else of another's is ever looked at, so that not even the time of an answer tells of it.
const mayShareResults = "s.state = 'COMPLETED' AND j.deleted_at = 0 AND (j.account_id = %[1]s OR j.public = 1 AND j.run_id = s.id)"

// Answer finds a run whose results an owner may have for an input, their own first, then the newest; nil where there is none.
func (s *Store) CachedResult(ctx context.Context, owner pleat.UserID, input string) (*CachedResult, error) {
	var a CachedResult
	var seqs, result string
	var finished int64
	err := s.readRow(ctx, `SELECT s.id, s.job_id, j.sequences, s.result, s.engine, s.msa, s.finished_at FROM run s JOIN job j ON j.id = s.job_id
		WHERE s.input = $1 AND s.input <> '' AND `+fmt.Sprintf(mayShareResults, "$2")+" ORDER BY CASE WHEN j.account_id = $2 THEN 0 ELSE 1 END, s.id DESC LIMIT 1",
		[]any{input, owner}, &a.Run, &a.Job, &seqs, &result, &a.Engine, &a.MSA, &finished)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, unavailable("read answer", err)
	}
	var list []pleat.Sequence
	if err := errors.Join(decodeJSON(seqs, &list), decodeJSON(result, &a.Result)); err != nil {
		return nil, err
	}
	for _, q := range list {
		a.Sequences = append(a.Sequences, q.ID)
	}
	a.Finished = fromMicros(finished)
	rows, err := s.read(ctx, "SELECT "+artifactColumns+" FROM artifact a WHERE a.run_id = $1 ORDER BY a.id", a.Run)
	a.Artifacts, err = scanArtifacts(rows, err)
	return &a, unavailable("read answer", err)
}

// holdSource makes sure, to the end of the transaction, that a run's files are named: a sweep that comes after finds them named by
// the run that shares them, one that comes before by the source.
func (t *tx) lockSource(source, run pleat.RunID) error {
	q := "SELECT s.id FROM run s JOIN job j ON j.id = s.job_id WHERE s.id = $1 AND " + fmt.Sprintf(mayShareResults, "(SELECT account_id FROM run WHERE id = $2)")
	if t.pg != nil {
		q += " FOR SHARE OF j" // whoever deletes or hides the job locks it first
	}
	var id pleat.RunID
	return mapNoRows(t.row(q, []any{source, run}, &id), ErrSourceGone)
}
