package runs

import (
	"pleat"
	"pleat/internal/store/db"
)

// BatchesTopic has news when a batch is opened or changed, or one of its jobs ends: AdvanceBatches has work.
const BatchesTopic = "batches"

// BatchTopic has news when a row of the batch changes its state.
func BatchTopic(id pleat.BatchID) string { return "batch:" + string(id) }

// maxRowScores is how many scores of a row its table has. A complex of many chains has more, three for each pair.
const maxRowScores = 64

// RowScores are the scores of a result that a table has.
func RowScores(r *pleat.Result) []pleat.Score {
	all := r.Scores()
	return all[:min(len(all), maxRowScores)]
}

// scoreJob stores the scores of a run that ends under the row of its job, and none under the rows that share it.
func scoreJob(t *db.Tx, job pleat.JobID, run pleat.RunID, result *pleat.Result) {
	var args []any
	for _, s := range RowScores(result) {
		args = append(args, s.Name, s.Value)
	}
	for part := range db.RowParts(args, 2) {
		t.Send(`
			INSERT INTO batch_score (batch_id, number, name, value)
			SELECT j.batch_id, j.batch_row, v.column1, v.column2
			FROM job j
			CROSS JOIN (`+db.Values(3, len(part)/2, "text", "double precision")+`) AS v
			WHERE j.id = $1 AND j.run_id = $2 AND j.deleted_at = 0
			ON CONFLICT DO NOTHING`,
			append([]any{job, run}, part...)...)
	}
}

// forgetScores deletes the scores of a job, which is run again.
func forgetScores(t *db.Tx, job pleat.JobID) {
	t.Send(`
		DELETE FROM batch_score
		WHERE (batch_id, number) = (SELECT j.batch_id, j.batch_row FROM job j WHERE j.id = $1)`,
		job)
}

// ReopenBatch lets a batch end once more, when its jobs have ended.
func ReopenBatch(t *db.Tx, id pleat.BatchID) {
	t.Send("UPDATE batch SET ended_at = 0, counts = '' WHERE id = $1", id)
	t.Notify(BatchesTopic, BatchTopic(id))
}
