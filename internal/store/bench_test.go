package store_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pleat/internal/store"
	"pleat/internal/store/db"
	"pleat/internal/store/people"
	"pleat/internal/store/runs"
	"pleat/internal/store/storetest"
	"pleat/internal/store/tasks"
)

// BenchmarkCreateJob creates jobs from 64 goroutines of 64 users: in groups, and one transaction each.
func BenchmarkCreateJob(b *testing.B) {
	for name, fresh := range storetest.Databases() {
		for _, each := range []bool{false, true} {
			if name == "postgres" && each {
				continue
			}
			b.Run(fmt.Sprintf("%s/alone=%v", name, each), func(b *testing.B) {
				ctx := context.Background()
				s, err := store.Open(
					ctx,
					fresh(b),
					store.Options{DB: db.Options{CommitGroup: map[bool]int{true: 1}[each]}},
				)
				if err != nil {
					b.Fatal(err)
				}
				defer s.DB.Close()
				if _, _, err := s.DB.Migrate(ctx); err != nil {
					b.Fatal(err)
				}
				users := make([]people.Reach, 64)
				for i := range users {
					u, err := s.People.EnsureUser(ctx, fmt.Sprint("u", i))
					if err != nil {
						b.Fatal(err)
					}
					users[i] = people.Own(u.ID)
				}
				var left atomic.Int64
				left.Store(int64(b.N))
				var wg sync.WaitGroup
				b.ResetTimer()
				began := time.Now()
				for _, u := range users {
					wg.Go(func() {
						n := newJob(u, "bench")
						for left.Add(-1) >= 0 {
							if _, err := s.Runs.CreateJob(ctx, n); err != nil {
								b.Error(err)
								return
							}
						}
					})
				}
				wg.Wait()
				b.ReportMetric(float64(b.N)/time.Since(began).Seconds(), "jobs/s")
			})
		}
	}
}

// BenchmarkFinish ends runs of one project from 16 goroutines, as many workers do: they count in the same rows.
func BenchmarkFinish(b *testing.B) {
	for name, fresh := range storetest.Databases() {
		b.Run(name, func(b *testing.B) {
			ctx := context.Background()
			s := storetest.OpenAt(b, fresh(b), nil)
			u := storetest.User(b, s, "ada")
			taskList := make([]runs.ClaimedTask, 0, b.N)
			for range b.N {
				storetest.CreateJob(b, s, storetest.NewFold(u, "bench"))
			}
			for len(taskList) < b.N {
				got, err := s.Runs.Claim(ctx, "w", tasks.ClaimFilter{Queues: []string{storetest.FoldQueue}, N: 1000})
				if err != nil {
					b.Fatal(err)
				}
				taskList = append(taskList, got...)
			}
			var next atomic.Int64
			var wg sync.WaitGroup
			b.ResetTimer()
			began := time.Now()
			for range 16 {
				wg.Go(func() {
					for i := next.Add(1) - 1; i < int64(b.N); i = next.Add(1) - 1 {
						if err := s.Runs.FinishRun(
							ctx, tasks.LeaseOf(&taskList[i].Task), storetest.Completed(),
						); err != nil {
							b.Error(err)
							return
						}
					}
				})
			}
			wg.Wait()
			b.ReportMetric(float64(b.N)/time.Since(began).Seconds(), "runs/s")
		})
	}
}

// BenchmarkClaim claims single tasks as a worker of three queues does, of which one has tasks.
func BenchmarkClaim(b *testing.B) {
	for name, fresh := range storetest.Databases() {
		b.Run(name, func(b *testing.B) {
			ctx := context.Background()
			s := storetest.OpenAt(b, fresh(b), nil)
			u := storetest.User(b, s, "ada")
			for range b.N {
				storetest.CreateJob(b, s, storetest.NewFold(u, "bench"))
			}
			filter := tasks.ClaimFilter{Queues: []string{"search/null", "md/null", storetest.FoldQueue}, N: 1}
			b.ResetTimer()
			for range b.N {
				got, err := s.Runs.Claim(ctx, "w", filter)
				if err != nil || len(got) != 1 {
					b.Fatalf("%d tasks, %v", len(got), err)
				}
			}
		})
	}
}
