package store_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pleat"
	"pleat/internal/store"
	"pleat/internal/store/batches"
	"pleat/internal/store/people"
	"pleat/internal/store/runs"
	"pleat/internal/store/storetest"
	"pleat/internal/store/tasks"
)

// Nodes that advance the same batches at the same time end none of them before its job has run.
func TestBatchOnSeveralNodes(t *testing.T) {
	t.Parallel()
	for name, open := range storetest.Migrated() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var clock storetest.Clock
			address := open(t)
			a, b := storetest.OpenAt(t, address, &clock), storetest.OpenAt(t, address, &clock)
			u := storetest.User(t, a, "ada")
			for range 8 {
				var created []pleat.BatchID
				for range 40 {
					created = append(created, createBatch(t, a, newBatch(u, "small", texts(1)...)).Batch)
				}
				var nodes sync.WaitGroup
				for _, s := range []*store.Store{a, b, a, b, a, b} {
					nodes.Go(func() {
						for range 3 {
							if _, err := s.Batches.AdvanceBatches(context.Background()); err != nil {
								t.Error(err)
							}
						}
					})
				}
				nodes.Wait()
				for _, id := range created {
					if b, rows := readBatch(t, a, id); !b.EndedAt.IsZero() || rows[0].Job == "" {
						t.Fatalf("a batch is %s before its job %q ran", b.State(), rows[0].Job)
					}
				}
			}
		})
	}
}

// stay failed.
func TestBatchRetryNeedsNoClock(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store, clock *storetest.Clock) {
		ctx := context.Background()
		clock.Stop()
		u := storetest.User(t, s, "ada")
		const rows = 150
		created := createBatch(t, s, newBatch(u, "failed", texts(rows)...))
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
		if n, err := s.Batches.RetryBatch(ctx, u, created.Batch); err != nil || n != rows {
			t.Fatal(n, err)
		}
		again := 0
		for more := true; more; {
			var err error
			if more, err = s.Batches.AdvanceBatches(ctx); err != nil {
				t.Fatal(err)
			}
			again += failAll()
		}
		if b, _ := readBatch(t, s, created.Batch); again != rows || b.State() != pleat.StateFailed {
			t.Errorf("%d rows ran again; the batch is %s", again, b.State())
		}
	})
}

// Batches that wait for jobs that run have no step, and hold up no other; nor do those that cannot be advanced.
func TestBatchesThatWait(t *testing.T) {
	t.Parallel()
	for name, open := range storetest.Migrated() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := context.Background()
			address := open(t)
			opt := store.Options{Batches: batches.Options{Open: 10}}
			s := storetest.OpenWith(t, address, &storetest.Clock{}, opt)
			u, eve := storetest.User(t, s, "ada"), storetest.User(t, s, "eve")
			const waiting, broken = 11, 11
			var created []pleat.BatchID
			for range waiting {
				created = append(created, createBatch(t, s, newBatch(eve, "cancelled", texts(1)...)).Batch)
			}
			advance(t, s)
			if n := len(claim(t, s, "w", waiting)); n != waiting {
				t.Fatalf("%d tasks", n)
			}
			for _, id := range created {
				if err := s.Batches.CancelBatch(ctx, eve, id); err != nil {
					t.Fatal(err)
				}
			}
			advance(t, s)
			for range broken {
				id := createBatch(t, s, newBatch(eve, "broken", texts(1)...)).Batch
				storetest.Exec(t, address, "UPDATE batch_row SET input = '{' WHERE batch_id = '"+string(id)+"'")
			}
			late := createBatch(t, s, newBatch(u, "late", texts(150)...))
			more, err := s.Batches.AdvanceBatches(ctx)
			if !more || err == nil {
				t.Errorf("first steps: %v %v", more, err)
			}
			if n := storetest.Count(t, s, "job"); n != waiting+100 {
				t.Errorf("%d jobs after the first steps", n-waiting)
			}
			if more, _ = s.Batches.AdvanceBatches(ctx); more {
				if more, _ = s.Batches.AdvanceBatches(ctx); more {
					t.Error("there is always more to do at once")
				}
			}
			if _, rows := readBatch(t, s, late.Batch); rows[149].Job == "" {
				t.Error("the last row has no job")
			}
		})
	}
}

// Many batches of a user get no more turns than one.
func TestBatchesAreFair(t *testing.T) {
	t.Parallel()
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
		turns := map[people.Reach]int{}
		for _, c := range claim(t, s, "w", 10) {
			turns[people.Own(pleat.UserID(c.Task.Owner))]++
		}
		if turns[u] != 6 {
			t.Errorf("ada, who has 6 jobs, got %d of 10 turns, and eve %d", turns[u], turns[eve])
		}
	})
}

// and another visibility than the batch has.
func TestBatchRowAlone(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store, _ *storetest.Clock) {
		ctx := context.Background()
		u := storetest.User(t, s, "ada")
		created := createBatch(t, s, newBatch(u, "cancelled", texts(2)...))
		advance(t, s)
		if err := s.Batches.CancelBatch(ctx, u, created.Batch); err != nil {
			t.Fatal(err)
		}
		advance(t, s)
		advance(t, s)
		_, rows := readBatch(t, s, created.Batch)
		spec := storetest.NewFold(u, "").Run
		if _, err := s.Runs.Rerun(ctx, u, rows[0].Job, spec); pleat.CodeOf(err) != pleat.CodeConflict {
			t.Errorf("a row of a cancelled batch was run again: %v", err)
		}
		if used, err := s.People.Usage(ctx, u); err != nil || used.Jobs.Used != 0 {
			t.Errorf("%+v %v", used.Jobs, err)
		}
		if err := s.Runs.SetPublic(ctx, u, rows[0].Job, true); pleat.CodeOf(err) != pleat.CodeConflict {
			t.Errorf("a row of a private batch was made public: %v", err)
		}
		if err := s.Batches.SetBatchPublic(ctx, u, created.Batch, true); err != nil {
			t.Fatal(err)
		}
		if err := s.Runs.SetPublic(ctx, u, rows[0].Job, true); err != nil {
			t.Errorf("it is public already: %v", err)
		}
		if err := s.Runs.SetPublic(ctx, u, rows[0].Job, false); pleat.CodeOf(err) != pleat.CodeConflict {
			t.Errorf("a row of a public batch was made private: %v", err)
		}
		if _, err := s.Batches.RetryBatch(ctx, u, created.Batch); err != nil {
			t.Fatal(err)
		}
		advance(t, s)
		for _, c := range claim(t, s, "w", 2) {
			finishScored(t, s, c, 50)
		}
		if _, err := s.Runs.Rerun(ctx, u, rows[0].Job, spec); err != nil {
			t.Errorf("a row of a retried batch could not be run again: %v", err)
		}
	})
}

// The inputs of a batch that is deleted while they are read are not taken for all of them, and no batch has no rows.
func TestBatchInputs(t *testing.T) {
	t.Parallel()
	storetest.EachWith(
		t,
		store.Options{Batches: batches.Options{InputRows: 20}},
		func(t *testing.T, s *store.Store, _ *storetest.Clock) {
			ctx := context.Background()
			u := storetest.User(t, s, "ada")
			created := createBatch(t, s, newBatch(u, "read", texts(41)...))
			advance(t, s)
			read := func(each func(n int)) (n int, err error) {
				err = s.Batches.BatchInputs(ctx, created.Batch, func(string, batches.RowInput) error {
					n++
					each(n)
					return nil
				})
				return n, err
			}
			if n, err := read(func(int) {}); n != 41 || err != nil {
				t.Errorf("%d rows, %v", n, err)
			}
			if err := s.Batches.CancelBatch(ctx, u, created.Batch); err != nil {
				t.Fatal(err)
			}
			advance(t, s)
			n, err := read(func(n int) {
				if n == 1 {
					if err := s.Batches.DeleteBatch(ctx, u, created.Batch); err != nil {
						t.Fatal(err)
					}
					purge(t, s)
				}
			})
			if err != pleat.ErrBatchNotFound {
				t.Errorf("%d rows, %v", n, err)
			}
			if c, err := s.Batches.CreateBatch(ctx, newBatch(u, "empty")); pleat.CodeOf(err) != pleat.CodeInvalid {
				t.Errorf("%+v %v", c, err)
			}
			purge(t, s)
			if n := storetest.Count(t, s, "batch"); n != 0 {
				t.Errorf("%d batches are left", n)
			}
		},
	)
}

// finishPairs completes a run with the scores of 20 pairs of chains, whose names begin with a letter.
func finishPairs(t *testing.T, s *store.Store, c runs.ClaimedTask, letter rune) {
	t.Helper()
	end, v := storetest.Completed(), 0.5
	for i := range 20 {
		end.Result.Predictions[0].Pairs = append(end.Result.Predictions[0].Pairs,
			pleat.PairScore{A: "A", B: fmt.Sprint(string(letter), i), IPTM: &v, IPSAE: &v, PDockQ2: &v})
	}
	if err := s.Runs.FinishRun(context.Background(), tasks.LeaseOf(&c.Task), end); err != nil {
		t.Fatal(err)
	}
}

// Rows that share a job cost its end no more than one row does, and all have its scores.
func TestBatchSharedScores(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store, _ *storetest.Clock) {
		ctx := context.Background()
		u := storetest.User(t, s, "ada")
		const rows = 2500
		created := createBatch(t, s, newBatch(u, "equal", append(slices.Repeat([]string{"GSGS"}, rows), "GAGA")...))
		advance(t, s)
		for i, c := range claim(t, s, "w", 2) {
			finishScored(t, s, c, float64(i))
		}
		if n := storetest.Count(t, s, "batch_score"); n != 2 {
			t.Errorf("%d scores are stored", n)
		}
		b, all := readBatch(t, s, created.Batch)
		if s := all[rows-1].Scores; len(s) != 1 || s[0].Value != 0 {
			t.Errorf("the last row has %v", s)
		}
		q := batches.TableQuery{Sort: "meanPLDDT", Descending: true, Limit: 1000}
		for want := rows + 1; want > 0; {
			page, next, err := s.Batches.BatchTable(ctx, &b, q)
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
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store, _ *storetest.Clock) {
		u := storetest.User(t, s, "ada")
		created := createBatch(t, s, newBatch(u, "pairs", texts(8)...))
		advance(t, s)
		for i, c := range claim(t, s, "w", 8) {
			finishPairs(t, s, c, 'b'+rune(i))
		}
		got, err := s.Batches.BatchColumns(context.Background(), created.Batch)
		if err != nil || len(got) != 200 || got[0] != "meanPLDDT" || !slices.Contains(got, "ipsae.A-b0") {
			t.Errorf("%d columns, %v", len(got), err)
		}
	})
}

// The input of a deleted batch is deleted at once, or for a job when it has stopped, whatever is still delivered.
func TestBatchInputsAreDeleted(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store, _ *storetest.Clock) {
		u := storetest.User(t, s, "ada")
		n := newBatch(u, "screen", "GSGSGS", "GAGAGA", "GTGTGT")
		n.Subs, n.EachRow = []pleat.Subscription{toEndpoint(defaultEndpoint(t, s, u, false))}, true
		created := createBatch(t, s, n)
		advance(t, s)
		tasks := claim(t, s, "w", 2)
		finishScored(t, s, tasks[0], 50)
		if err := s.Batches.DeleteBatch(context.Background(), u, created.Batch); err != nil {
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
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store, _ *storetest.Clock) {
		u := storetest.User(t, s, "ada")
		created := createBatch(t, s, newBatch(u, "deleted", texts(3)...))
		advance(t, s)
		running := claim(t, s, "w", 1)
		if err := s.Batches.DeleteBatch(context.Background(), u, created.Batch); err != nil {
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
