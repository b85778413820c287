package store_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pleat"
	"pleat/internal/store"
	"pleat/internal/store/storetest"
)

// newBatch describes a batch whose rows have custom ids r1, r2 …; rows of one text are equal.
func newBatch(owner pleat.UserID, name string, texts ...string) store.NewBatch {
	rows := func(yield func(store.NewRow, error) bool) {
		for i, text := range texts {
			job := storetest.NewFold(owner, "")
			in := store.RowInput{
				Name:      fmt.Sprint(name, " r", i+1),
				Sequences: []pleat.Sequence{storetest.Protein(text, "A")},
				Run:       job.Run,
			}
			row := store.NewRow{CustomID: fmt.Sprint("r", i+1), Digest: sha256.Sum256([]byte(text)), Input: in}
			if !yield(row, nil) {
				return
			}
		}
	}
	b := pleat.Batch{Owner: owner, Name: name, Kind: pleat.BatchList, Model: "null"}
	return store.NewBatch{Batch: b, Rows: rows}
}

// texts returns n different sequences.
func texts(n int) []string {
	var out []string
	for i := range n {
		text := "G"
		for k := i; k > 0; k /= 20 {
			text += string("ACDEFGHIKLMNPQRSTVWY"[k%20])
		}
		out = append(out, text)
	}
	return out
}

func createBatch(t *testing.T, s *store.Store, n store.NewBatch) store.CreatedBatch {
	t.Helper()
	c, err := s.CreateBatch(context.Background(), n)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// advance takes the steps of all batches that can be taken now.
func advance(t *testing.T, s *store.Store) {
	t.Helper()
	for more := true; more; {
		var err error
		if more, err = s.AdvanceBatches(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
}

// readBatch reads a batch with its table.
func readBatch(t *testing.T, s *store.Store, id pleat.BatchID) (pleat.Batch, []store.TableRow) {
	t.Helper()
	b, err := s.Batch(context.Background(), id)
	if err != nil {
		t.Fatal(err)
	}
	rows, next, err := s.BatchTable(context.Background(), &b, store.TableQuery{Limit: pleat.MaxBatchRows})
	if err != nil || next != nil {
		t.Fatal(next, err)
	}
	return b, rows
}

// finishScored completes a run with a pLDDT.
func finishScored(t *testing.T, s *store.Store, c store.ClaimedTask, plddt float64) {
	t.Helper()
	end := storetest.Completed()
	end.Result.Predictions[0].MeanPLDDT = &plddt
	if err := s.FinishRun(context.Background(), store.LeaseOf(&c.Task), end); err != nil {
		t.Fatal(err)
	}
}

// A batch becomes jobs, ends with its last row, and says by counts what became of each; its event is delivered once.
func TestBatch(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store, _ *storetest.Clock) {
		ctx := context.Background()
		u := storetest.User(t, s, "ada")
		e := global(t, s, u, false)
		n := newBatch(u, "screen", "GSGS", "GAGA", "GSGS")
		n.Subs = []pleat.Subscription{toEndpoint(e)}
		made := createBatch(t, s, n)
		if made.Rows != 3 || made.Jobs != 2 || made.Usage.Used != 3 {
			t.Fatalf("%+v", made)
		}
		b, rows := readBatch(t, s, made.Batch)
		if b.State() != pleat.StateInitialized || b.Counts[pleat.StateInitialized] != 3 || rows[2].CustomID != "r3" {
			t.Errorf("%s %v %+v", b.State(), b.Counts, rows)
		}
		advance(t, s)
		tasks := claim(t, s, "w", 9)
		if len(tasks) != 2 || tasks[0].Fold.Sequences[0].Text != "GSGS" {
			t.Fatalf("%d tasks", len(tasks))
		}
		finishScored(t, s, tasks[0], 71)
		advance(t, s)
		if b, _ = readBatch(t, s, made.Batch); b.State() != pleat.StateRunning || b.Counts[pleat.StateCompleted] != 2 {
			t.Errorf("%s %v", b.State(), b.Counts)
		}
		if err := finish(s, tasks[1], pleat.StateFailed); err != nil {
			t.Fatal(err)
		}
		advance(t, s)
		advance(t, s)
		b, rows = readBatch(t, s, made.Batch)
		want := map[pleat.State]int{pleat.StateCompleted: 2, pleat.StateFailed: 1}
		if diff := cmp.Diff(want, b.Counts); diff != "" || b.State() != pleat.StateCompleted || b.EndedAt.IsZero() {
			t.Error(b.State(), diff)
		}
		if rows[0].Job != rows[2].Job || rows[0].Scores[0] != (pleat.Score{Name: "meanPLDDT", Value: 71}) ||
			rows[1].Failure == nil || rows[1].Scores != nil {
			t.Errorf("%+v", rows)
		}
		list := claimDeliveries(t, s, "d", 9)
		if len(list) != 1 || list[0].Delivery.Source.Batch != made.Batch ||
			list[0].Delivery.EventName != pleat.OnComplete {
			t.Errorf("%+v", list)
		}
		jobs, err := s.ListJobs(ctx, u, store.Filter{Limit: 9})
		if err != nil || len(jobs) != 0 {
			t.Errorf("the list of jobs has rows of a batch: %v %v", jobs, err)
		}
		if err := s.DeleteJob(ctx, u, rows[0].Job); pleat.CodeOf(err) != pleat.CodeConflict {
			t.Errorf("one job of a batch deleted: %v", err)
		}
	})
}

// Nodes that advance the same batches at the same time end none of them before its job has run.
func TestBatchOnSeveralNodes(t *testing.T) {
	for name, open := range storetest.Databases() {
		t.Run(name, func(t *testing.T) {
			var clock storetest.Clock
			address := open(t)
			a, b := storetest.OpenAt(t, address, &clock), storetest.OpenAt(t, address, &clock)
			u := storetest.User(t, a, "ada")
			for range 8 {
				var made []pleat.BatchID
				for range 40 {
					made = append(made, createBatch(t, a, newBatch(u, "small", texts(1)...)).Batch)
				}
				var nodes sync.WaitGroup
				for _, s := range []*store.Store{a, b, a, b, a, b} {
					nodes.Go(func() {
						for range 3 {
							if _, err := s.AdvanceBatches(context.Background()); err != nil {
								t.Error(err)
							}
						}
					})
				}
				nodes.Wait()
				for _, id := range made {
					if b, rows := readBatch(t, a, id); !b.EndedAt.IsZero() || rows[0].Job == "" {
						t.Fatalf("a batch is %s before its job %q ran", b.State(), rows[0].Job)
					}
				}
			}
		})
	}
}

// Every state of rows gives the batch the state that the interface says.
func TestBatchStates(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store, _ *storetest.Clock) {
		ctx := context.Background()
		u := storetest.User(t, s, "ada")
		end := func(name string, ends ...pleat.State) pleat.Batch {
			t.Helper()
			made := createBatch(t, s, newBatch(u, name, texts(len(ends))...))
			advance(t, s)
			for i, c := range claim(t, s, "w", len(ends)) {
				if err := finish(s, c, ends[i]); err != nil {
					t.Fatal(err)
				}
			}
			advance(t, s)
			b, _ := readBatch(t, s, made.Batch)
			return b
		}
		if b := end("all fail", pleat.StateFailed, pleat.StateFailed); b.State() != pleat.StateFailed {
			t.Errorf("all failed: %s", b.State())
		}
		b := end("one", pleat.StateFailed, pleat.StateCompleted)
		if b.State() != pleat.StateCompleted {
			t.Errorf("one completed: %s", b.State())
		}
		n, err := s.RetryBatch(ctx, u, b.ID)
		if err != nil || n != 1 {
			t.Fatal(n, err)
		}
		if _, err := s.RetryBatch(ctx, u, b.ID); pleat.CodeOf(err) != pleat.CodeConflict {
			t.Errorf("retried while it runs: %v", err)
		}
		advance(t, s)
		again := claim(t, s, "w", 9)
		if len(again) != 1 {
			t.Fatalf("%d tasks", len(again))
		}
		finishScored(t, s, again[0], 50)
		advance(t, s)
		if b, _ = readBatch(t, s, b.ID); b.Counts[pleat.StateCompleted] != 2 || b.EndedAt.IsZero() {
			t.Errorf("after the retry: %v", b.Counts)
		}
		if _, err := s.RetryBatch(ctx, u, b.ID); pleat.CodeOf(err) != pleat.CodeConflict {
			t.Errorf("retried without a failed row: %v", err)
		}
	})
}

// A batch that is cancelled while some of its jobs are not made yet ends STOPPED, and a retry makes and runs them.
func TestBatchCancel(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store, _ *storetest.Clock) {
		ctx := context.Background()
		u := storetest.User(t, s, "ada")
		const rows = 250
		made := createBatch(t, s, newBatch(u, "large", texts(rows)...))
		if _, err := s.AdvanceBatches(ctx); err != nil {
			t.Fatal(err)
		}
		running := claim(t, s, "w", 1)
		if err := s.CancelBatch(ctx, u, made.Batch); err != nil {
			t.Fatal(err)
		}
		advance(t, s)
		b, _ := readBatch(t, s, made.Batch)
		if b.State() != pleat.StateRunning || b.Counts[pleat.StateStopped] != rows-1 {
			t.Errorf("%s %v", b.State(), b.Counts)
		}
		if err := finish(s, running[0], pleat.StateStopped); err != nil {
			t.Fatal(err)
		}
		advance(t, s)
		if b, _ = readBatch(t, s, made.Batch); b.State() != pleat.StateStopped || b.Counts[pleat.StateStopped] != rows {
			t.Errorf("%s %v", b.State(), b.Counts)
		}
		if err := s.CancelBatch(ctx, u, made.Batch); pleat.CodeOf(err) != pleat.CodeConflict {
			t.Errorf("cancelled twice: %v", err)
		}
		if n, err := s.RetryBatch(ctx, u, made.Batch); n != rows || err != nil {
			t.Fatal(n, err)
		}
		advance(t, s)
		if n := len(claim(t, s, "w", 1000)); n != rows {
			t.Errorf("%d rows run again", n)
		}
	})
}

// A retry runs rows again that failed on a node whose clock was ahead, and each once: those that fail again meanwhile
// stay failed.
func TestBatchRetryNeedsNoClock(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store, clock *storetest.Clock) {
		ctx := context.Background()
		clock.Stop()
		u := storetest.User(t, s, "ada")
		const rows = 150
		made := createBatch(t, s, newBatch(u, "failed", texts(rows)...))
		advance(t, s)
		failAll := func() int {
			list := claim(t, s, "w", rows)
			for i, c := range list {
				if err := finish(s, c, []pleat.State{pleat.StateFailed, pleat.StateStopped}[i%2]); err != nil {
					t.Fatal(err)
				}
			}
			return len(list)
		}
		failAll()
		advance(t, s)
		clock.Advance(-5 * time.Millisecond)
		if n, err := s.RetryBatch(ctx, u, made.Batch); err != nil || n != rows {
			t.Fatal(n, err)
		}
		again := 0
		for more := true; more; {
			var err error
			if more, err = s.AdvanceBatches(ctx); err != nil {
				t.Fatal(err)
			}
			again += failAll()
		}
		if b, _ := readBatch(t, s, made.Batch); again != rows || b.State() != pleat.StateFailed {
			t.Errorf("%d rows ran again; the batch is %s", again, b.State())
		}
	})
}

// Batches that wait for jobs that run have no step, and hold up no other; nor do those that cannot be advanced.
func TestBatchesThatWait(t *testing.T) {
	for name, open := range storetest.Databases() {
		t.Run(name, func(t *testing.T) {
			ctx := context.Background()
			address := open(t)
			s := storetest.OpenAt(t, address, &storetest.Clock{})
			u, eve := storetest.User(t, s, "ada"), storetest.User(t, s, "eve")
			const waiting, broken = 101, 101
			var made []pleat.BatchID
			for range waiting {
				made = append(made, createBatch(t, s, newBatch(eve, "cancelled", texts(1)...)).Batch)
			}
			advance(t, s)
			if n := len(claim(t, s, "w", waiting)); n != waiting {
				t.Fatalf("%d tasks", n)
			}
			for _, id := range made {
				if err := s.CancelBatch(ctx, eve, id); err != nil {
					t.Fatal(err)
				}
			}
			advance(t, s)
			for range broken {
				id := createBatch(t, s, newBatch(eve, "broken", texts(1)...)).Batch
				storetest.Exec(t, address, "UPDATE batch_row SET input = '{' WHERE batch_id = '"+string(id)+"'")
			}
			late := createBatch(t, s, newBatch(u, "late", texts(150)...))
			more, err := s.AdvanceBatches(ctx)
			if !more || err == nil {
				t.Errorf("first steps: %v %v", more, err)
			}
			if n := storetest.Count(t, s, "job"); n != waiting+100 {
				t.Errorf("%d jobs after the first steps", n-waiting)
			}
			if more, _ = s.AdvanceBatches(ctx); more {
				if more, _ = s.AdvanceBatches(ctx); more {
					t.Error("there is always more to do at once")
				}
			}
			if _, rows := readBatch(t, s, late.Batch); rows[149].Job == "" {
				t.Error("the last row has no job")
			}
		})
	}
}

// Another user's job, and another job of the batch's owner, start as the next.
func TestBatchIsFair(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store, _ *storetest.Clock) {
		u, eve := storetest.User(t, s, "ada"), storetest.User(t, s, "eve")
		createBatch(t, s, newBatch(u, "large", texts(300)...))
		advance(t, s)
		claim(t, s, "w", 5)
		own, other := create(t, s, u, "own"), create(t, s, eve, "other")
		var next []pleat.JobID
		for _, c := range claim(t, s, "w", 3) {
			next = append(next, c.Fold.Job)
		}
		if !slices.Contains(next, own.Job) || !slices.Contains(next, other.Job) {
			t.Errorf("the next three tasks are %v; want %s and %s among them", next, own.Job, other.Job)
		}
	})
}

// Many batches of a user get no more turns than one.
func TestBatchesAreFair(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store, _ *storetest.Clock) {
		u, eve := storetest.User(t, s, "ada"), storetest.User(t, s, "eve")
		for range 50 {
			createBatch(t, s, newBatch(eve, "small", texts(1)...))
		}
		createBatch(t, s, newBatch(u, "screen", texts(3)...))
		advance(t, s)
		for range 3 {
			create(t, s, u, "own")
		}
		turns := map[pleat.UserID]int{}
		for _, c := range claim(t, s, "w", 10) {
			turns[c.Task.Owner]++
		}
		if turns[u] != 6 {
			t.Errorf("ada, who has 6 jobs, got %d of 10 turns, and eve %d", turns[u], turns[eve])
		}
	})
}

// What a row of a batch refuses alone: a run of its own after the batch was cancelled, which would be stopped at once,
// and another visibility than the batch has.
func TestBatchRowAlone(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store, _ *storetest.Clock) {
		ctx := context.Background()
		u := storetest.User(t, s, "ada")
		made := createBatch(t, s, newBatch(u, "cancelled", texts(2)...))
		advance(t, s)
		if err := s.CancelBatch(ctx, u, made.Batch); err != nil {
			t.Fatal(err)
		}
		advance(t, s)
		advance(t, s)
		_, rows := readBatch(t, s, made.Batch)
		spec := storetest.NewFold(u, "").Run
		if _, err := s.Rerun(ctx, u, rows[0].Job, spec); pleat.CodeOf(err) != pleat.CodeConflict {
			t.Errorf("a row of a cancelled batch was run again: %v", err)
		}
		if used, err := s.Usage(ctx, u); err != nil || used.Jobs.Used != 0 {
			t.Errorf("%+v %v", used.Jobs, err)
		}
		if err := s.SetPublic(ctx, u, rows[0].Job, true); pleat.CodeOf(err) != pleat.CodeConflict {
			t.Errorf("a row of a private batch was made public: %v", err)
		}
		if err := s.SetBatchPublic(ctx, u, made.Batch, true); err != nil {
			t.Fatal(err)
		}
		if err := s.SetPublic(ctx, u, rows[0].Job, true); err != nil {
			t.Errorf("it is public already: %v", err)
		}
		if err := s.SetPublic(ctx, u, rows[0].Job, false); pleat.CodeOf(err) != pleat.CodeConflict {
			t.Errorf("a row of a public batch was made private: %v", err)
		}
		if _, err := s.RetryBatch(ctx, u, made.Batch); err != nil {
			t.Fatal(err)
		}
		advance(t, s)
		for _, c := range claim(t, s, "w", 2) {
			finishScored(t, s, c, 50)
		}
		if _, err := s.Rerun(ctx, u, rows[0].Job, spec); err != nil {
			t.Errorf("a row of a retried batch could not be run again: %v", err)
		}
	})
}

// The rows of a batch count against a quota of their own, once for a repeated request.
func TestBatchQuota(t *testing.T) {
	limits := store.Limits{BatchRows: 5}
	storetest.EachLimited(t, limits, func(t *testing.T, s *store.Store, _ *storetest.Clock) {
		ctx := context.Background()
		u := storetest.User(t, s, "ada")
		n := newBatch(u, "first", texts(3)...)
		n.Key, n.Digest = "key", "digest"
		first := createBatch(t, s, n)
		again := createBatch(t, s, n)
		if !again.Replayed || again.Batch != first.Batch || again.Rows != 3 {
			t.Errorf("%+v", again)
		}
		n.Digest = "other"
		if _, err := s.CreateBatch(ctx, n); pleat.CodeOf(err) != pleat.CodeConflict {
			t.Errorf("another request with the key: %v", err)
		}
		second := newBatch(u, "second", texts(3)...)
		second.Batch.Rows = 3
		second.Rows = func(func(store.NewRow, error) bool) { t.Error("rows over the quota were read") }
		_, err := s.CreateBatch(ctx, second)
		const want = "Daily batch quota exceeded. Limit: 5 rows per day. Current: 3 rows. This batch: 3 rows."
		if pleat.CodeOf(err) != pleat.CodeLimited || err.Error() != want {
			t.Errorf("over the quota: %v", err)
		}
		if used, err := s.Usage(ctx, u); err != nil || used.BatchRows.Used != 3 || used.Jobs.Used != 0 {
			t.Errorf("%+v %v", used, err)
		}
		list, err := s.ListBatches(ctx, u, "", 9)
		if err != nil || len(list) != 1 || list[0].ID != first.Batch {
			t.Errorf("%+v %v", list, err)
		}
		if _, err := s.CreateBatch(ctx, newBatch(u, "unexpected", texts(3)...)); pleat.CodeOf(err) != pleat.CodeLimited {
			t.Errorf("over the quota: %v", err)
		}
		purge(t, s)
		if n := storetest.Count(t, s, "batch_row"); n != 3 {
			t.Errorf("%d rows are left of a refused batch", n-3)
		}
	})
}

// The inputs of a batch that is deleted while they are read are not taken for all of them, and no batch has no rows.
func TestBatchInputs(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store, _ *storetest.Clock) {
		ctx := context.Background()
		u := storetest.User(t, s, "ada")
		made := createBatch(t, s, newBatch(u, "read", texts(501)...))
		advance(t, s)
		read := func(each func(n int)) (n int, err error) {
			err = s.BatchInputs(ctx, made.Batch, func(string, store.RowInput) error {
				n++
				each(n)
				return nil
			})
			return n, err
		}
		if n, err := read(func(int) {}); n != 501 || err != nil {
			t.Errorf("%d rows, %v", n, err)
		}
		if err := s.CancelBatch(ctx, u, made.Batch); err != nil {
			t.Fatal(err)
		}
		advance(t, s)
		n, err := read(func(n int) {
			if n == 1 {
				if err := s.DeleteBatch(ctx, u, made.Batch); err != nil {
					t.Fatal(err)
				}
				purge(t, s)
			}
		})
		if err != pleat.ErrBatchNotFound {
			t.Errorf("%d rows, %v", n, err)
		}
		if c, err := s.CreateBatch(ctx, newBatch(u, "empty")); pleat.CodeOf(err) != pleat.CodeInvalid {
			t.Errorf("%+v %v", c, err)
		}
		purge(t, s)
		if n := storetest.Count(t, s, "batch"); n != 0 {
			t.Errorf("%d batches are left", n)
		}
	})
}

// The table is sorted and filtered in the same way whether an index of a condition drives the query or the order of the
// table, and its pages are disjoint and complete.
func TestBatchTable(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store, _ *storetest.Clock) {
		ctx := context.Background()
		u := storetest.User(t, s, "ada")
		const rows = 60
		all := texts(rows)
		for i, same := range map[int]int{7: 1, 8: 1, 30: 1, 31: 12, 32: 12, 33: 0, 57: 12, 58: 53, 59: 3} {
			all[i] = all[same]
		}
		made := createBatch(t, s, newBatch(u, "screen", all...))
		advance(t, s)
		for i, c := range claim(t, s, "w", rows) {
			switch {
			case i%10 == 3:
				if err := finish(s, c, pleat.StateFailed); err != nil {
					t.Fatal(err)
				}
			case i < 50:
				finishScored(t, s, c, float64(i%7*10)) // with equal scores
			}
		}
		b, table := readBatch(t, s, made.Batch)
		if got, err := s.BatchColumns(ctx, b.ID); err != nil || !slices.Equal(got, []string{"meanPLDDT"}) {
			t.Errorf("%v %v", got, err)
		}
		type reader func(context.Context, *pleat.Batch, store.TableQuery) ([]store.TableRow, *store.RowPosition, error)
		read := func(read reader, q store.TableQuery) []int {
			t.Helper()
			var out []int
			for q.Limit = 7; ; {
				part, next, err := read(ctx, &b, q)
				if err != nil {
					t.Fatal(err)
				}
				for _, r := range part {
					out = append(out, r.Number)
				}
				if q.After = next; next == nil {
					return out
				}
			}
		}
		for _, sort := range []string{"", "meanPLDDT", "ptm_score"} {
			for _, descending := range []bool{false, true} {
				for _, state := range []pleat.State{"", pleat.StateCompleted, pleat.StateFailed, pleat.StateRunning} {
					for _, conditions := range [][]store.ScoreCondition{nil, {{"meanPLDDT", ">=", 40}},
						{{"meanPLDDT", "<", 40}, {"meanPLDDT", "<>", 10}}, {{"ptm_score", ">", 0}}} {
						q := store.TableQuery{Sort: sort, Descending: descending, State: state, Conditions: conditions}
						want := q.Rows(table)
						for way, by := range map[string]reader{"driven": s.BatchTable, "walked": s.WalkedTable} {
							if diff := cmp.Diff(want, read(by, q)); diff != "" {
								t.Errorf("%s %+v: %s", way, q, diff)
							}
						}
					}
				}
			}
		}
	})
}

// finishPairs completes a run with the scores of 20 pairs of chains, whose names begin with a letter.
func finishPairs(t *testing.T, s *store.Store, c store.ClaimedTask, letter rune) {
	t.Helper()
	end, v := storetest.Completed(), 0.5
	for i := range 20 {
		end.Result.Predictions[0].Pairs = append(end.Result.Predictions[0].Pairs,
			pleat.PairScore{A: "A", B: fmt.Sprint(string(letter), i), IPTM: &v, IPSAE: &v, PDockQ2: &v})
	}
	if err := s.FinishRun(context.Background(), store.LeaseOf(&c.Task), end); err != nil {
		t.Fatal(err)
	}
}

// Rows that share a job cost its end no more than one row does, and all have its scores.
func TestBatchSharedScores(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store, _ *storetest.Clock) {
		ctx := context.Background()
		u := storetest.User(t, s, "ada")
		const rows = 2500
		made := createBatch(t, s, newBatch(u, "equal", append(slices.Repeat([]string{"GSGS"}, rows), "GAGA")...))
		advance(t, s)
		for i, c := range claim(t, s, "w", 2) {
			finishScored(t, s, c, float64(i))
		}
		if n := storetest.Count(t, s, "batch_score"); n != 2 {
			t.Errorf("%d scores are stored", n)
		}
		b, all := readBatch(t, s, made.Batch)
		if s := all[rows-1].Scores; len(s) != 1 || s[0].Value != 0 {
			t.Errorf("the last row has %v", s)
		}
		q := store.TableQuery{Sort: "meanPLDDT", Descending: true, Limit: 1000}
		for want := rows + 1; want > 0; {
			page, next, err := s.BatchTable(ctx, &b, q)
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range page {
				if r.Number != want {
					t.Fatalf("row %d; want %d", r.Number, want)
				}
				want--
			}
			if q.After = next; (next == nil) != (want == 0) {
				t.Fatalf("the next page after row %d is %v", want+1, next)
			}
		}
	})
}

// A table has a bounded number of columns, however many chains its rows name, and those without chains among them.
func TestBatchColumns(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store, _ *storetest.Clock) {
		u := storetest.User(t, s, "ada")
		made := createBatch(t, s, newBatch(u, "pairs", texts(8)...))
		advance(t, s)
		for i, c := range claim(t, s, "w", 8) {
			finishPairs(t, s, c, 'b'+rune(i))
		}
		got, err := s.BatchColumns(context.Background(), made.Batch)
		if err != nil || len(got) != 200 || got[0] != "meanPLDDT" || !slices.Contains(got, "ipsae.A-b0") {
			t.Errorf("%d %q %v", len(got), got, err)
		}
	})
}

// A deleted batch is seen by nobody, and nothing of it stays.
func TestBatchDeletion(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store, _ *storetest.Clock) {
		ctx := context.Background()
		u := storetest.User(t, s, "ada")
		before := storetest.Tables(t, s)
		n := newBatch(u, "deleted", texts(120)...)
		n.Key, n.Digest = "key", "digest"
		n.Subs = []pleat.Subscription{{Destination: pleat.DestCustom, Alias: "custom_http", TargetType: "custom_http",
			Custom: &pleat.CustomTarget{URL: "https://secret.example/x", Token: "s1.sealed"}}}
		n.EachRow = true
		made := createBatch(t, s, n)
		advance(t, s)
		tasks := claim(t, s, "w", 2)
		finishScored(t, s, tasks[0], 50)
		if err := s.DeleteBatch(ctx, u, made.Batch); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Batch(ctx, made.Batch); err != pleat.ErrBatchNotFound {
			t.Errorf("read a deleted batch: %v", err)
		}
		if _, err := s.View(ctx, tasks[0].Fold.Job); err != pleat.ErrJobNotFound {
			t.Errorf("read a job of a deleted batch: %v", err)
		}
		if err := s.DeleteBatch(ctx, u, made.Batch); err != pleat.ErrBatchNotFound {
			t.Errorf("deleted twice: %v", err)
		}
		advance(t, s)
		if err := finish(s, tasks[1], pleat.StateStopped); err != nil {
			t.Fatal(err)
		}
		for list := claimDeliveries(t, s, "d", 500); len(list) > 0; list = claimDeliveries(t, s, "d", 500) {
			for _, d := range list {
				finishDelivery(t, s, "d", store.DeliveryOutcome{Claimed: d, OK: true, Status: 200})
			}
		}
		purge(t, s)
		for table, rows := range storetest.Tables(t, s) {
			if table != "quota_day" && table != "result_use" && len(rows) != len(before[table]) {
				t.Errorf("%s has %d rows more: %q", table, len(rows)-len(before[table]), rows[0])
			}
		}
	})
}

// What the user of a deleted batch gave goes at once, or for a job when it has stopped, whatever is still delivered.
func TestBatchInputsAreDeleted(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store, _ *storetest.Clock) {
		u := storetest.User(t, s, "ada")
		n := newBatch(u, "screen", "GSGSGS", "GAGAGA", "GTGTGT")
		n.Subs, n.EachRow = []pleat.Subscription{toEndpoint(global(t, s, u, false))}, true
		made := createBatch(t, s, n)
		advance(t, s)
		tasks := claim(t, s, "w", 2)
		finishScored(t, s, tasks[0], 50)
		if err := s.DeleteBatch(context.Background(), u, made.Batch); err != nil {
			t.Fatal(err)
		}
		purge(t, s)
		if n := storetest.Count(t, s, "batch_row") + storetest.Count(t, s, "batch_score"); n != 0 {
			t.Errorf("%d rows and scores are left", n)
		}
		advance(t, s)
		if err := finish(s, tasks[1], pleat.StateStopped); err != nil {
			t.Fatal(err)
		}
		purge(t, s)
		if storetest.Count(t, s, "job") != 3 {
			t.Error("a job went before the delivery of its event")
		}
		for table, rows := range storetest.Tables(t, s) {
			for _, row := range rows {
				if strings.Contains(row, "GSGS") || strings.Contains(row, "GAGA") || strings.Contains(row, "GTGT") {
					t.Errorf("%s: %s", table, row)
				}
			}
		}
	})
}

// The jobs of a deleted batch are stopped before the first of them is purged.
func TestBatchPurgeWaits(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store, _ *storetest.Clock) {
		u := storetest.User(t, s, "ada")
		made := createBatch(t, s, newBatch(u, "deleted", texts(3)...))
		advance(t, s)
		running := claim(t, s, "w", 1)
		if err := s.DeleteBatch(context.Background(), u, made.Batch); err != nil {
			t.Fatal(err)
		}
		advance(t, s)
		purge(t, s)
		if n := storetest.Count(t, s, "job"); n != 3 {
			t.Errorf("%d jobs while one runs", n)
		}
		if err := finish(s, running[0], pleat.StateStopped); err != nil {
			t.Fatal(err)
		}
		purge(t, s)
		if n := storetest.Count(t, s, "job") + storetest.Count(t, s, "batch"); n != 0 {
			t.Errorf("%d jobs and batches are left", n)
		}
	})
}

// A batch whose process ended while it stored the rows is never seen, and goes.
func TestAbandonedBatch(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store, clock *storetest.Clock) {
		ctx := context.Background()
		u := storetest.User(t, s, "ada")
		n := newBatch(u, "abandoned", texts(5)...)
		if err := s.BeginBatch(ctx, &n); err != nil {
			t.Fatal(err)
		}
		if storetest.Count(t, s, "batch_row") != 5 {
			t.Fatal("no rows")
		}
		advance(t, s)
		purge(t, s)
		if list, err := s.ListBatches(ctx, u, "", 9); err != nil || len(list) != 0 || storetest.Count(t, s, "job") != 0 {
			t.Errorf("%v %v", list, err)
		}
		if storetest.Count(t, s, "batch_row") != 5 {
			t.Error("a batch that is being stored was deleted")
		}
		clock.Advance(61 * time.Minute)
		advance(t, s)
		purge(t, s)
		if storetest.Count(t, s, "batch_row") != 0 || storetest.Count(t, s, "batch") != 0 {
			t.Error("rows are left")
		}
	})
}
