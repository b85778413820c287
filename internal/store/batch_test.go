package store_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pleat"
	"pleat/internal/store"
	"pleat/internal/store/batches"
	"pleat/internal/store/people"
	"pleat/internal/store/runs"
	"pleat/internal/store/storetest"
	"pleat/internal/store/tasks"
	"pleat/internal/store/webhooks"
)

// newBatch describes a batch whose rows have custom ids r1, r2 …; rows of one text are equal.
func newBatch(owner people.Reach, name string, texts ...string) batches.NewBatch {
	rows := func(yield func(batches.NewRow, error) bool) {
		for i, text := range texts {
			job := storetest.NewFold(owner, "")
			in := batches.RowInput{
				Name:      fmt.Sprint(name, " r", i+1),
				Sequences: []pleat.Sequence{storetest.Protein(text, "A")},
				Run:       job.Run,
			}
			row := batches.NewRow{CustomID: fmt.Sprint("r", i+1), Digest: sha256.Sum256([]byte(text)), Input: in}
			if !yield(row, nil) {
				return
			}
		}
	}
	b := pleat.Batch{Owner: owner.Project, Creator: owner.User, Name: name, Kind: pleat.BatchList, Model: "null"}
	return batches.NewBatch{Batch: b, Rows: rows}
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

func createBatch(t *testing.T, s *store.Store, n batches.NewBatch) batches.CreatedBatch {
	t.Helper()
	c, err := s.Batches.CreateBatch(context.Background(), n)
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
		if more, err = s.Batches.AdvanceBatches(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
}

// readBatch reads a batch with its table.
func readBatch(t *testing.T, s *store.Store, id pleat.BatchID) (pleat.Batch, []batches.TableRow) {
	t.Helper()
	b, err := s.Batches.Batch(context.Background(), id)
	if err != nil {
		t.Fatal(err)
	}
	rows, next, err := s.Batches.BatchTable(context.Background(), &b, batches.TableQuery{Limit: pleat.MaxBatchRows})
	if err != nil || next != nil {
		t.Fatal(next, err)
	}
	return b, rows
}

// finishScored completes a run with a pLDDT.
func finishScored(t *testing.T, s *store.Store, c runs.ClaimedTask, plddt float64) {
	t.Helper()
	end := storetest.Completed()
	end.Result.Predictions[0].MeanPLDDT = &plddt
	if err := s.Runs.FinishRun(context.Background(), tasks.LeaseOf(&c.Task), end); err != nil {
		t.Fatal(err)
	}
}

// A batch becomes jobs, ends with its last row, and says by counts what became of each; its event is delivered once.
func TestBatch(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store, _ *storetest.Clock) {
		ctx := context.Background()
		u := storetest.User(t, s, "ada")
		e := defaultEndpoint(t, s, u, false)
		n := newBatch(u, "screen", "GSGS", "GAGA", "GSGS")
		n.Subs = []pleat.Subscription{toEndpoint(e)}
		created := createBatch(t, s, n)
		if created.Rows != 3 || created.Jobs != 2 || created.Usage.Used != 3 {
			t.Fatalf("%+v", created)
		}
		b, rows := readBatch(t, s, created.Batch)
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
		b, _ = readBatch(t, s, created.Batch)
		if b.State() != pleat.StateRunning || b.Counts[pleat.StateCompleted] != 2 {
			t.Errorf("%s %v", b.State(), b.Counts)
		}
		if err := finish(s, tasks[1], pleat.StateFailed); err != nil {
			t.Fatal(err)
		}
		advance(t, s)
		advance(t, s)
		b, rows = readBatch(t, s, created.Batch)
		want := map[pleat.State]int{pleat.StateCompleted: 2, pleat.StateFailed: 1}
		if diff := cmp.Diff(want, b.Counts); diff != "" || b.State() != pleat.StateCompleted || b.EndedAt.IsZero() {
			t.Error(b.State(), diff)
		}
		if rows[0].Job != rows[2].Job || rows[0].Scores[0] != (pleat.Score{Name: "meanPLDDT", Value: 71}) ||
			rows[1].Failure == nil || rows[1].Scores != nil {
			t.Errorf("%+v", rows)
		}
		list := claimDeliveries(t, s, "d", 9)
		if len(list) != 1 || list[0].Delivery.Source.Batch != created.Batch ||
			list[0].Delivery.EventName != pleat.OnComplete {
			t.Errorf("%+v", list)
		}
		jobs, err := s.Runs.ListJobs(ctx, u, runs.Filter{Limit: 9})
		if err != nil || len(jobs) != 0 {
			t.Errorf("the list of jobs has rows of a batch: %v %v", jobs, err)
		}
		if err := s.Ops.DeleteJob(ctx, u, rows[0].Job); pleat.CodeOf(err) != pleat.CodeConflict {
			t.Errorf("one job of a batch deleted: %v", err)
		}
	})
}

// The rows of a batch that wait to be stored are few if they are long.
func TestLongRowsAreStoredSoon(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store, _ *storetest.Clock) {
		u := storetest.User(t, s, "ada")
		n := newBatch(u, "b")
		const rows, most = 24, 8
		long := strings.Repeat("G", 1<<20)
		n.Rows = func(yield func(batches.NewRow, error) bool) {
			for i := range rows {
				if held := i - storetest.Count(t, s, "batch_row"); held > most {
					t.Fatalf("%d rows of 1 MiB wait to be stored", held)
				}
				in := batches.RowInput{Sequences: []pleat.Sequence{storetest.Protein(long, "A")}}
				if !yield(batches.NewRow{CustomID: fmt.Sprint(i), Digest: [32]byte{byte(i)}, Input: in}, nil) {
					return
				}
			}
		}
		if created := createBatch(t, s, n); created.Rows != rows || created.Jobs != rows {
			t.Errorf("%+v", created)
		}
	})
}

// Every state of rows gives the batch the state that the interface says.
func TestBatchStates(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store, _ *storetest.Clock) {
		ctx := context.Background()
		u := storetest.User(t, s, "ada")
		end := func(name string, ends ...pleat.State) pleat.Batch {
			t.Helper()
			created := createBatch(t, s, newBatch(u, name, texts(len(ends))...))
			advance(t, s)
			for i, c := range claim(t, s, "w", len(ends)) {
				if err := finish(s, c, ends[i]); err != nil {
					t.Fatal(err)
				}
			}
			advance(t, s)
			b, _ := readBatch(t, s, created.Batch)
			return b
		}
		if b := end("all fail", pleat.StateFailed, pleat.StateFailed); b.State() != pleat.StateFailed {
			t.Errorf("all failed: %s", b.State())
		}
		b := end("one", pleat.StateFailed, pleat.StateCompleted)
		if b.State() != pleat.StateCompleted {
			t.Errorf("one completed: %s", b.State())
		}
		n, err := s.Batches.RetryBatch(ctx, u, b.ID)
		if err != nil || n != 1 {
			t.Fatal(n, err)
		}
		if _, err := s.Batches.RetryBatch(ctx, u, b.ID); pleat.CodeOf(err) != pleat.CodeConflict {
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
		if _, err := s.Batches.RetryBatch(ctx, u, b.ID); pleat.CodeOf(err) != pleat.CodeConflict {
			t.Errorf("retried without a failed row: %v", err)
		}
	})
}

// A batch that is cancelled while some of its jobs are not made yet ends STOPPED, and a retry makes and runs them.
func TestBatchCancel(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store, _ *storetest.Clock) {
		ctx := context.Background()
		u := storetest.User(t, s, "ada")
		const rows = 250
		created := createBatch(t, s, newBatch(u, "large", texts(rows)...))
		if _, err := s.Batches.AdvanceBatches(ctx); err != nil {
			t.Fatal(err)
		}
		running := claim(t, s, "w", 1)
		if err := s.Batches.CancelBatch(ctx, u, created.Batch); err != nil {
			t.Fatal(err)
		}
		advance(t, s)
		b, _ := readBatch(t, s, created.Batch)
		if b.State() != pleat.StateRunning || b.Counts[pleat.StateStopped] != rows-1 {
			t.Errorf("%s %v", b.State(), b.Counts)
		}
		if err := finish(s, running[0], pleat.StateStopped); err != nil {
			t.Fatal(err)
		}
		advance(t, s)
		b, _ = readBatch(t, s, created.Batch)
		if b.State() != pleat.StateStopped || b.Counts[pleat.StateStopped] != rows {
			t.Errorf("%s %v", b.State(), b.Counts)
		}
		if err := s.Batches.CancelBatch(ctx, u, created.Batch); pleat.CodeOf(err) != pleat.CodeConflict {
			t.Errorf("cancelled twice: %v", err)
		}
		if n, err := s.Batches.RetryBatch(ctx, u, created.Batch); n != rows || err != nil {
			t.Fatal(n, err)
		}
		advance(t, s)
		if n := len(claim(t, s, "w", 1000)); n != rows {
			t.Errorf("%d rows run again", n)
		}
	})
}

// A retry runs rows again that failed on a node whose clock was ahead, and each once: those that fail again meanwhile
// Another user's job, and another job of the batch's owner, start as the next.
func TestBatchIsFair(t *testing.T) {
	t.Parallel()
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

// The requests that a row of a batch refuses alone: a run of its own after the batch was cancelled, which would be
// stopped at once, The rows of a batch count against a quota of their own, once for a repeated request.
func TestBatchQuota(t *testing.T) {
	t.Parallel()
	limits := people.Limits{BatchRows: 5}
	storetest.EachLimited(t, limits, func(t *testing.T, s *store.Store, _ *storetest.Clock) {
		ctx := context.Background()
		u := storetest.User(t, s, "ada")
		n := newBatch(u, "first", texts(3)...)
		n.Key, n.Digest = "key", "digest"
		n.Batch.Rows, n.Batch.Jobs = 3, 3 // of a batch that is repeated
		first := createBatch(t, s, n)
		again := createBatch(t, s, n)
		if !again.Replayed || again.Batch != first.Batch || again.Rows != 3 || again.Jobs != 3 {
			t.Errorf("%+v", again)
		}
		n.Digest = "other"
		if _, err := s.Batches.CreateBatch(ctx, n); pleat.CodeOf(err) != pleat.CodeConflict {
			t.Errorf("another request with the key: %v", err)
		}
		second := newBatch(u, "second", texts(3)...)
		second.Batch.Rows = 3
		second.Rows = func(func(batches.NewRow, error) bool) { t.Error("rows over the quota were read") }
		_, err := s.Batches.CreateBatch(ctx, second)
		const want = "Daily batch quota exceeded. Limit: 5 rows per day. Current: 3 rows. This batch: 3 rows."
		if pleat.CodeOf(err) != pleat.CodeLimited || err.Error() != want {
			t.Errorf("over the quota: %v", err)
		}
		if used, err := s.People.Usage(ctx, u); err != nil || used.BatchRows.Used != 3 || used.Jobs.Used != 0 {
			t.Errorf("%+v %v", used, err)
		}
		list, err := s.Batches.ListBatches(ctx, u, batches.Filter{Limit: 9})
		if err != nil || len(list) != 1 || list[0].ID != first.Batch {
			t.Errorf("%+v %v", list, err)
		}
		_, err = s.Batches.CreateBatch(ctx, newBatch(u, "unexpected", texts(3)...))
		if pleat.CodeOf(err) != pleat.CodeLimited {
			t.Errorf("over the quota: %v", err)
		}
		purge(t, s)
		if n := storetest.Count(t, s, "batch_row"); n != 3 {
			t.Errorf("%d rows are left of a refused batch", n-3)
		}
	})
}

// The table is sorted and filtered in the same way whether an index of a condition drives the query or the order of the
// table, and its pages are disjoint and complete.
func TestBatchTable(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store, _ *storetest.Clock) {
		ctx := context.Background()
		u := storetest.User(t, s, "ada")
		const rows = 60
		all := texts(rows)
		for i, same := range map[int]int{7: 1, 8: 1, 30: 1, 31: 12, 32: 12, 33: 0, 57: 12, 58: 53, 59: 3} {
			all[i] = all[same]
		}
		created := createBatch(t, s, newBatch(u, "screen", all...))
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
		b, table := readBatch(t, s, created.Batch)
		if got, err := s.Batches.BatchColumns(ctx, b.ID); err != nil || !slices.Equal(got, []string{"meanPLDDT"}) {
			t.Errorf("%v %v", got, err)
		}
		walking := batches.New(s.DB, s.People, s.Runs, batches.Options{Driving: -1})
		numbers := make([]int, len(table))
		for i := range numbers {
			numbers[i] = i + 1
		}
		type reader func(
			context.Context, *pleat.Batch, batches.TableQuery,
		) ([]batches.TableRow, *batches.RowPosition, error)
		read := func(read reader, q batches.TableQuery) []int {
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
					for _, conditions := range [][]pleat.ScoreCondition{nil, {{Name: "meanPLDDT", Op: ">=", Value: 40}},
						{{Name: "meanPLDDT", Op: "<", Value: 40}, {Name: "meanPLDDT", Op: "!=", Value: 10}}, {{Name: "ptm_score", Op: ">", Value: 0}}} {
						q := batches.TableQuery{
							Sort:       sort,
							Descending: descending,
							State:      state,
							Conditions: conditions,
						}
						chosen := q
						chosen.Numbers = numbers
						want := read(s.Batches.BatchTable, chosen)
						for _, id := range []pleat.TextCondition{
							{}, {Text: "R5", IsPart: true}, {Text: "r34"}, {Text: "_", IsPart: true},
						} {
							q, want := q, slices.DeleteFunc(slices.Clone(want), func(n int) bool {
								return id.Text != "" && id.Text != table[n-1].CustomID &&
									(!id.IsPart || !strings.Contains(table[n-1].CustomID, strings.ToLower(id.Text)))
							})
							q.CustomID = id
							ways := map[string]reader{"driven": s.Batches.BatchTable, "walked": walking.BatchTable}
							for way, by := range ways {
								if got := read(by, q); !slices.Equal(want, got) {
									t.Errorf("%s %+v: %v; want %v", way, q, got, want)
								}
							}
						}
						q.Numbers = []int{60, 4, 3, 2, 1, 11, 12, 13, 14, 15}
						want = slices.DeleteFunc(want, func(n int) bool { return !slices.Contains(q.Numbers, n) })
						if got := read(s.Batches.BatchTable, q); !slices.Equal(want, got) {
							t.Errorf("%+v: %v; want %v", q, got, want)
						}
					}
				}
			}
		}
	})
}

// A deleted batch is seen by nobody, and nothing of it stays.
func TestBatchDeletion(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store, _ *storetest.Clock) {
		ctx := context.Background()
		u := storetest.User(t, s, "ada")
		before := storetest.Tables(t, s)
		n := newBatch(u, "deleted", texts(120)...)
		n.Key, n.Digest = "key", "digest"
		n.Subs = []pleat.Subscription{{Destination: pleat.DestCustom, Alias: "custom_http", TargetType: "custom_http",
			Custom: &pleat.CustomTarget{Address: storetest.Receiver("https://secret.example/x"), Token: "s1.sealed"}}}
		n.EachRow = true
		created := createBatch(t, s, n)
		advance(t, s)
		tasks := claim(t, s, "w", 2)
		finishScored(t, s, tasks[0], 50)
		if err := s.Batches.DeleteBatch(ctx, u, created.Batch); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Batches.Batch(ctx, created.Batch); err != pleat.ErrBatchNotFound {
			t.Errorf("read a deleted batch: %v", err)
		}
		if _, err := s.Runs.View(ctx, tasks[0].Fold.Job); err != pleat.ErrJobNotFound {
			t.Errorf("read a job of a deleted batch: %v", err)
		}
		if err := s.Batches.DeleteBatch(ctx, u, created.Batch); err != pleat.ErrBatchNotFound {
			t.Errorf("deleted twice: %v", err)
		}
		advance(t, s)
		if err := finish(s, tasks[1], pleat.StateStopped); err != nil {
			t.Fatal(err)
		}
		for list := claimDeliveries(t, s, "d", 500); len(list) > 0; list = claimDeliveries(t, s, "d", 500) {
			for _, d := range list {
				finishDelivery(t, s, "d", webhooks.DeliveryOutcome{Claimed: d, OK: true, Status: 200})
			}
		}
		purge(t, s)
		for table, rows := range storetest.Tables(t, s) {
			kept := table == "quota_day" || table == "result_use" || table == "usage_day"
			if !kept && len(rows) != len(before[table]) {
				t.Errorf("%s has %d rows more: %q", table, len(rows)-len(before[table]), rows[0])
			}
		}
	})
}

// A batch whose process ended while it stored the rows is never seen, and goes.
func TestAbandonedBatch(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store, clock *storetest.Clock) {
		ctx := context.Background()
		u := storetest.User(t, s, "ada")
		createBatch(t, s, newBatch(u, "abandoned", texts(5)...))
		storetest.Exec(t, storetest.Address(t, s), "UPDATE batch SET opened_at = 0")
		advance(t, s)
		purge(t, s)
		list, err := s.Batches.ListBatches(ctx, u, batches.Filter{Limit: 9})
		if err != nil || len(list) != 0 || storetest.Count(t, s, "job") != 0 {
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
