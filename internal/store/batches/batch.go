package batches

import (
	"context"
	"errors"
	"iter"
	"strconv"
	"time"

	"pleat"
	"pleat/internal/store/db"
	"pleat/internal/store/people"
	"pleat/internal/store/runs"
)

// NewBatch is a validated batch to create. The store does not check it again.
type NewBatch struct {
	By      people.Credential        // of the creator, which must be valid in the end; zero: it is not checked
	Batch   pleat.Batch              // its Rows are how many are expected; the store sets them, Jobs, the ID and times
	Rows    iter.Seq2[NewRow, error] // an error ends the creation
	EachRow bool                     // Subs are for the event of each row, too
	Key     string                   // Idempotency-Key; empty: none
	Digest  string                   // of the request, to distinguish a repetition from another request
	Subs    []pleat.Subscription
	Request string             // id of the request; empty: none
	Trace   string             // in which it is created; empty: none
	planned people.PlannedWork // what its jobs are expected to take; storeRows adds it up
}

// NewRow is one row of a batch to create. Rows with the same Digest share one job, that of the first.
type NewRow struct {
	CustomID string
	Digest   [32]byte // of what is computed
	Input    RowInput
}

// RowInput is the job of a row, as it is stored until the job is made.
type RowInput struct {
	Name        string
	Sequences   []pleat.Sequence
	Constraints pleat.Constraints
	Complex     bool
	Run         runs.RunSpec
}

// CreatedBatch is the result of [Store.CreateBatch].
type CreatedBatch struct {
	Batch    pleat.BatchID
	Rows     int
	Jobs     int // different rows
	Usage    people.Usage
	Replayed bool // an earlier call with the same Idempotency-Key made it
}

const (
	// rowsAtOnce is how many rows of a batch are stored in one transaction, and bytesAtOnce how many bytes of their
	// inputs, but for the last row.
	rowsAtOnce, bytesAtOnce = 2000, 8 << 20
	// abandonedAfter is how long a batch whose rows are being stored may take until it is deleted.
	abandonedAfter = time.Hour
)

// CreateBatch stores a batch with its rows and the subscriptions of its event, and counts the rows against the
// project's quota. It stores the rows in several transactions, so that no other verb waits long; the last of them,
// which is durable, shows the batch. If the process ends before, nobody sees the batch, and [Store.AdvanceBatches] and
// ops.Store.PurgeDeleted delete its rows. The jobs of the rows are made by AdvanceBatches.
//
// An idempotency key works as in [runs.Store.CreateJob]. ErrUnauthorized: the credential is not the creator's or not
// valid. CodeConflict: the key came with another request, or the project's results hold as much as they may.
// CodeLimited: the quota is spent, also by the rows that are expected, of which then none is stored. CodeInvalid: there
// is no row.
func (s *Store) CreateBatch(ctx context.Context, n NewBatch) (CreatedBatch, error) {
	n.Batch.ID = pleat.BatchID(db.NewID())
	c, err := s.beginBatch(ctx, &n)
	if err != nil || c.Replayed {
		return c, err
	}
	n.Batch.Rows, n.Batch.Jobs = 0, 0 // storeRows counts them
	err = s.storeRows(ctx, &n)
	if err == nil && n.Batch.Rows == 0 {
		err = pleat.Invalidf("the batch has no rows; it must have at least one")
	}
	if err != nil {
		return c, errors.Join(err, s.abandonBatch(ctx, n.Batch.ID))
	}
	c, err = s.openBatch(ctx, &n)
	if err != nil || c.Replayed {
		err = errors.Join(err, s.abandonBatch(ctx, n.Batch.ID))
	}
	return c, err
}

// beginBatch stores the batch, which nobody sees yet, unless an earlier call has its idempotency key or the quota is
// spent.
func (s *Store) beginBatch(ctx context.Context, n *NewBatch) (CreatedBatch, error) {
	var c CreatedBatch
	err := s.db.WriteAsync(ctx, "create batch", func(t *db.Tx) error {
		c = CreatedBatch{}
		var access people.Access
		people.AskAccess(t, n.By, n.Batch.Creator, n.Batch.Owner, &access)
		var spent people.Charge
		s.people.AskSpentRows(t, n.Batch.Owner, &spent)
		var earlier runs.EarlierCall
		call := runs.NewKeyedCall(n.Batch.Creator, n.Batch.Owner, n.Key, n.Digest)
		if n.Key != "" {
			t.Ask(runs.AnsweredCall, []any{call.Creator, call.Key, runs.KeysSince(t.Now)}, earlier.Scan)
		}
		if err := t.Wait(); err != nil {
			return err
		}
		if err := access.Err(); err != nil {
			return err
		}
		if earlier.Answer != "" {
			return earlier.Replay(call, &c)
		}
		b := &n.Batch
		spent.Used += b.Rows
		if _, err := s.people.RowUsage(t, &spent, b.Rows); err != nil {
			return err
		}
		queue := pleat.Queue(pleat.TaskFold, b.Model)
		if err := people.CheckBudget(t, b.Owner, spent.Budget, people.PlannedWork{Queue: queue}); err != nil {
			return err
		}
		t.Send(`
			INSERT INTO batch (
				id, project_id, name, kind, model, public, source, row_count, job_count, jobs_made, next_row, each_row,
				cancelled, retry_row, request, trace, created_at, opened_at, ended_at, deleted_at, counts,
				created_by)
			VALUES ($1, $2, $3, $4, $5, $6, $7, 0, 0, 0, 1, $8, 0, 0, $9, $10, $11, 0, 0, 0, '', $12)`,
			b.ID, b.Owner, b.Name, b.Kind, b.Model, db.BoolToInt(b.Public), b.Source, db.BoolToInt(n.EachRow),
			n.Request, n.Trace, t.Now, b.Creator)
		return nil
	})
	c.Replayed, err = runs.Replayed(err)
	return c, err
}

// storeRows stores the rows and counts them in n, with what their jobs are expected to take.
func (s *Store) storeRows(ctx context.Context, n *NewBatch) error {
	first := map[[32]byte]int{} // row by digest
	var args []any
	size := 0 // of the inputs in args
	flush := func() error {
		list := args
		args, size = nil, 0
		return s.db.WriteAsync(ctx, "store rows", func(t *db.Tx) error {
			for part := range db.RowParts(list, 5) {
				t.Send(`INSERT INTO batch_row (batch_id, number, custom_id, same_as, input) `+
					db.Values(1, len(part)/5, "text", "bigint", "text", "bigint", "text"), part...)
			}
			return nil
		})
	}
	for row, err := range n.Rows {
		if err != nil {
			return err
		}
		n.Batch.Rows++
		number, input := n.Batch.Rows, ""
		same, shared := first[row.Digest]
		if !shared {
			n.Batch.Jobs++
			first[row.Digest], same = number, number
			input = db.EncodeJSON(row.Input)
			run := runs.PlannedRun(row.Input.Run)
			n.planned = people.PlannedWork{Queue: run.Queue, Expected: n.planned.Expected + run.Expected}
		}
		size += len(input)
		args = append(args, n.Batch.ID, number, row.CustomID, same, input)
		if len(args) >= rowsAtOnce*5 || size >= bytesAtOnce {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	return flush()
}

// openBatch shows the batch, whose rows are stored, and charges them.
func (s *Store) openBatch(ctx context.Context, n *NewBatch) (CreatedBatch, error) {
	var c CreatedBatch
	b := &n.Batch
	err := s.db.Write(ctx, "create batch", func(t *db.Tx) error {
		c = CreatedBatch{}
		call := runs.NewKeyedCall(b.Creator, b.Owner, n.Key, n.Digest)
		var spent people.Charge
		if err := call.Admit(t, n.By, &c, func() { s.people.AskChargeRows(t, b.Owner, b.Rows, &spent) }); err != nil {
			return err
		}
		usage, err := s.people.RowUsage(t, &spent, b.Rows)
		if err != nil {
			return err
		}
		if err := people.CheckBudget(t, b.Owner, spent.Budget, n.planned); err != nil {
			return err
		}
		c = CreatedBatch{Batch: b.ID, Rows: b.Rows, Jobs: b.Jobs, Usage: usage}
		t.Send(`
			UPDATE batch
			SET row_count = $1, job_count = $2, opened_at = $3, created_at = $3, expected = $5, queue = $6
			WHERE id = $4`,
			b.Rows, b.Jobs, t.Now, b.ID, n.planned.Expected.Microseconds(), n.planned.Queue)
		runs.InsertSubscriptions(t, runs.Ref{Source: pleat.Source{Batch: b.ID}, Owner: b.Owner}, n.Subs)
		runs.KeepAnswer(t, call, c)
		t.Notify(runs.BatchesTopic, runs.OwnerTopic(b.Owner))
		return nil
	})
	c.Replayed, err = runs.Replayed(err)
	return c, err
}

// abandonBatch marks a batch that was never opened for deletion. If that fails, it is deleted after abandonedAfter.
func (s *Store) abandonBatch(ctx context.Context, id pleat.BatchID) error {
	return s.db.WriteAsync(context.WithoutCancel(ctx), "abandon batch", func(t *db.Tx) error {
		_, err := t.Exec("UPDATE batch SET deleted_at = $1 WHERE id = $2 AND opened_at = 0 AND deleted_at = 0", t.Now,
			id)
		return err
	})
}

// batchColumns are the columns that batchRow scans, of the row b of batch.
var batchColumns = `b.id, b.project_id, b.created_by, ` + people.CreatorName(
	"b",
) + `, b.name, b.kind, b.model, b.public,
	b.cancelled, b.source, b.row_count, b.job_count, b.opened_at, b.ended_at, b.counts`

// batchRow holds the columns of a batch whose types differ from those of pleat.Batch; see runs.jobRow.
type batchRow struct {
	counts string
}

func (r *batchRow) scanTargets(b *pleat.Batch) []any {
	return []any{
		&b.ID, &b.Owner, &b.Creator, &b.CreatorName, &b.Name, &b.Kind, &b.Model, db.ScanBool(&b.Public),
		db.ScanBool(&b.Cancelled), &b.Source, &b.Rows, &b.Jobs, db.ScanTime(&b.CreatedAt), db.ScanTime(&b.EndedAt),
		&r.counts,
	}
}

func (r *batchRow) fill(b *pleat.Batch) error {
	b.CreatorName = people.DisplayName(b.CreatedBy(), b.CreatorName)
	return db.DecodeJSON(r.counts, &b.Counts)
}

// Batch reads a batch with the states of its rows. It does not check who asks. ErrBatchNotFound: there is none, or it
// was deleted.
func (s *Store) Batch(ctx context.Context, id pleat.BatchID) (pleat.Batch, error) {
	b, err := s.BatchHead(ctx, id)
	if err == nil {
		err = s.CountRows(ctx, &b)
	}
	return b, err
}

// CountRows reads the states of the rows of a batch that [Store.BatchHead] has read without them. It takes about 10 ms
// for 100,000 rows.
func (s *Store) CountRows(ctx context.Context, b *pleat.Batch) (err error) {
	if b.Counts == nil {
		b.Counts, err = countRows(b, s.reading(ctx))
	}
	return db.Unavailable("count rows", err)
}

// scanBatch reads a batch from batchColumns.
func scanBatch(scan func(...any) error) (b pleat.Batch, err error) {
	var r batchRow
	if err := scan(r.scanTargets(&b)...); err != nil {
		return b, err
	}
	err = r.fill(&b)
	return b, err
}

// BatchHead is Batch without the states of the rows of a batch that has not ended.
func (s *Store) BatchHead(ctx context.Context, id pleat.BatchID) (pleat.Batch, error) {
	b, err := scanBatch(func(dst ...any) error {
		return s.db.ReadRow(ctx, "SELECT "+batchColumns+`
			FROM batch b WHERE b.id = $1 AND b.opened_at <> 0 AND b.deleted_at = 0`, []any{id}, dst...)
	})
	return b, db.Unavailable("read batch", db.MapNoRows(err, pleat.ErrBatchNotFound))
}

// BatchModel returns the model of the batch of which a job is a row; empty: it is none, or was deleted.
func (s *Store) BatchModel(ctx context.Context, job pleat.JobID) (string, error) {
	var model string
	err := s.db.ReadRow(ctx, "SELECT b.model FROM job j JOIN batch b ON b.id = j.batch_id WHERE j.id = $1", []any{job},
		&model)
	return model, db.Unavailable("read batch of job", db.MapNoRows(err, nil))
}

// reading returns read with a context.
func (s *Store) reading(ctx context.Context) func(string, ...any) (db.Rows, error) {
	return func(q string, args ...any) (db.Rows, error) { return s.db.Read(ctx, q, args...) }
}

// countRows counts the rows of a batch by the states of their jobs, in an index. Rows whose job has not been made are
// INITIALIZED, or STOPPED once the batch was cancelled.
func countRows(b *pleat.Batch, read func(string, ...any) (db.Rows, error)) (map[pleat.State]int, error) {
	counts, err := db.MapOf[pleat.State, int](read(`
		SELECT state, CAST(sum(batch_rows) AS bigint) FROM job
		WHERE state IN ('INITIALIZED', 'RUNNING', 'COMPLETED', 'FAILED', 'STOPPED') AND batch_id = $1 AND batch_id <> ''
		GROUP BY state`,
		b.ID))
	left := b.Rows
	for _, n := range counts {
		left -= n
	}
	if left > 0 {
		counts[unmadeState(b)] += left
	}
	return counts, err
}

// unmadeState is the state of the rows of a batch that have no job.
func unmadeState(b *pleat.Batch) pleat.State {
	if b.Cancelled {
		return pleat.StateStopped
	}
	return pleat.StateInitialized
}

// Filter narrows a list of batches. Empty fields do not narrow it; Limit must be set.
type Filter struct {
	Limit   int
	Before  string // an ID: the list starts with the next older one; empty: with the newest
	Creator pleat.UserID
}

// ListBatches reads a page of a project's batches, newest first. The next page begins before the last batch of this
// one. A project has few batches, so that no index has their creators.
func (s *Store) ListBatches(ctx context.Context, by people.Reach, f Filter) ([]pleat.Batch, error) {
	p := people.ProjectPage("b", by, f.Before)
	p.And("b.deleted_at = 0 AND b.opened_at <> 0")
	p.CreatedBy("b", by, f.Creator)
	rows, err := s.db.Read(ctx, p.SQL(batchColumns, "batch b", f.Limit), p.Args...)
	out, err := db.ListOf(rows, err, scanBatch)
	for i := 0; i < len(out) && err == nil; i++ {
		if b := &out[i]; b.Counts == nil {
			b.Counts, err = countRows(b, s.reading(ctx))
		}
	}
	return out, db.Unavailable("list batches", err)
}

// BatchInputs reads the inputs of the rows of a batch in their order, those of rows that share a job as often as they
// were given, and calls fn for each until it fails. It reads them in parts, so that it holds no connection meanwhile.
// ErrBatchNotFound: the batch was deleted, perhaps meanwhile, and rows may be missing.
func (s *Store) BatchInputs(ctx context.Context, id pleat.BatchID, fn func(customID string, in RowInput) error) error {
	for after := 0; ; {
		type inputRow struct {
			customID, input string
		}
		rows, err := s.db.Read(ctx, `
			SELECT r.number, r.custom_id, CASE WHEN r.input <> '' THEN r.input ELSE (
				SELECT f.input FROM batch_row f WHERE f.batch_id = r.batch_id AND f.number = r.same_as) END
			FROM batch_row r
			WHERE r.batch_id = $1 AND r.number > $2
			ORDER BY r.number
			LIMIT `+strconv.Itoa(s.inputRows),
			id, after)
		part, err := db.ListOf(rows, err, func(scan func(...any) error) (in inputRow, err error) {
			err = scan(&after, &in.customID, &in.input)
			return in, err
		})
		if err != nil {
			return db.Unavailable("read rows", err)
		}
		if len(part) == 0 {
			_, err := s.BatchHead(ctx, id)
			return err
		}
		for _, p := range part {
			var in RowInput
			if err := db.DecodeJSON(p.input, &in); err != nil {
				return err
			}
			if err := fn(p.customID, in); err != nil {
				return err
			}
		}
	}
}
