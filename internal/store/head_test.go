package store_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"pleat"
	"pleat/internal/store"
	"pleat/internal/store/storetest"
)

// Calls that read Heads at the same time share queries on PostgreSQL, and each gets its own.
func TestHeadsOfManyCalls(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store, _ *storetest.Clock) {
		type request struct {
			job    pleat.JobID
			by     store.Credential
			owner  pleat.ProjectID // empty: there is no such job
			caller pleat.UserID
		}
		var list []request
		for i := range 20 {
			u := storetest.User(t, s, fmt.Sprint("user ", i))
			by := newKey(t, s, u, fmt.Sprint("k", i))
			if _, err := s.CreateSession(t.Context(), by, fmt.Sprint("s", i), s.Now().Add(time.Hour)); err != nil {
				t.Fatal(err)
			}
			job := create(t, s, u, "one").Job
			list = append(list,
				request{job, key(fmt.Sprint("k", i)), u.Project, u.User},
				request{job, session(fmt.Sprint("s", i)), u.Project, u.User},
				request{job, session(fmt.Sprint("k", i)), u.Project, ""},
				request{job, store.Credential{}, u.Project, ""},
				request{pleat.JobID(by.Key), key(fmt.Sprint("k", i)), "", ""})
		}
		var wg sync.WaitGroup
		begin := make(chan struct{})
		before := s.Transactions()
		for i := range list {
			r := &list[i]
			wg.Go(func() {
				<-begin
				h, err := s.Head(t.Context(), r.job, r.by)
				if r.owner == "" {
					if !errors.Is(err, pleat.ErrJobNotFound) {
						t.Errorf("%+v: %+v %v", r, h, err)
					}
				} else if err != nil || h.Owner != r.owner || h.Caller != r.caller || h.Source.Job != r.job {
					t.Errorf("%+v: %+v %v", r, h, err)
				}
			})
		}
		close(begin)
		wg.Wait()
		if n := s.Transactions() - before; s.Dialect() == "postgres" && n > int64(len(list))/2 {
			t.Errorf("%d queries for %d calls at the same time", n, len(list))
		}
	})
}

// Queries of Heads that hang are bounded and hold up no caller: one that gives up leaves at once, the others get their
// answers when the database goes on.
func TestHeadsBehindHangingQueries(t *testing.T) {
	t.Parallel()
	address := storetest.MigratedPostgres(t)
	s, db := storetest.OpenAt(t, address, nil), openRaw(t, address)
	job := create(t, s, store.Own(storetest.User(t, s, "ada").User), "one").Job
	lock, err := db.Begin()
	if err == nil {
		_, err = lock.Exec("LOCK TABLE job IN ACCESS EXCLUSIVE MODE")
	}
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Rollback()
	const calls = 20
	results := make(chan error, calls)
	left, leave := context.WithCancel(t.Context())
	read := func(ctx context.Context) {
		go func() {
			_, err := s.Head(ctx, job, store.Credential{})
			results <- err
		}()
	}
	hanging := func() (n int) {
		t.Helper()
		err := db.QueryRow("SELECT count(*) FROM pg_locks WHERE relation = 'job'::regclass AND NOT granted").Scan(&n)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	read(left)
	for n := 1; n < calls; n++ {
		want := min(n, store.HeadGroups)
		storetest.Eventually(t, fmt.Sprint(want, " queries hang"), func() bool { return hanging() >= want })
		if n%2 == 0 {
			read(left)
		} else {
			read(t.Context())
		}
	}
	leave()
	for range calls / 2 {
		if err := <-results; !errors.Is(err, context.Canceled) {
			t.Errorf("a caller that has left: %v", err)
		}
	}
	if n := hanging(); n > store.HeadGroups {
		t.Errorf("%d queries hang", n)
	}
	if err := lock.Rollback(); err != nil {
		t.Fatal(err)
	}
	for range calls - calls/2 {
		if err := <-results; err != nil {
			t.Error(err)
		}
	}
}
