package store_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pleat/internal/store"
	"pleat/internal/store/storetest"
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
				s, err := store.Open(ctx, fresh(b), store.Options{CommitGroup: map[bool]int{true: 1}[each]})
				if err != nil {
					b.Fatal(err)
				}
				defer s.Close()
				if _, _, err := s.Migrate(ctx); err != nil {
					b.Fatal(err)
				}
				users := make([]store.Reach, 64)
				for i := range users {
					u, err := s.EnsureUser(ctx, fmt.Sprint("u", i))
					if err != nil {
						b.Fatal(err)
					}
					users[i] = store.Own(u.ID)
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
							if _, err := s.CreateJob(ctx, n); err != nil {
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
