package store_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pleat"
	"pleat/internal/store"
	"pleat/internal/store/people"
	"pleat/internal/store/runs"
	"pleat/internal/store/storetest"
	"pleat/internal/store/tasks"
)

const searchQueue = "search/null"

// toSearch creates a job whose fold begins with a search, and claims that.
func toSearch(t *testing.T, s *store.Store, owner people.Reach) (runs.Created, runs.ClaimedTask) {
	t.Helper()
	n := newJob(owner, "searched")
	n.Run.Queue = searchQueue
	c, err := s.Runs.CreateJob(context.Background(), n)
	if err != nil {
		t.Fatal(err)
	}
	return c, claimSearch(t, s, "w1")
}

func claimSearch(t *testing.T, s *store.Store, w pleat.WorkerID) runs.ClaimedTask {
	t.Helper()
	got, err := s.Runs.Claim(context.Background(), w, tasks.ClaimFilter{Queues: []string{searchQueue}, N: 1})
	if err != nil || len(got) != 1 {
		t.Fatalf("claimed %+v, %v", got, err)
	}
	return got[0]
}

// endSearch sends a search on to its fold.
func endSearch(s *store.Store, c runs.ClaimedTask, p ...pleat.Progress) error {
	end := runs.SearchCompleted{FoldQueue: "fold/null", Progress: p}
	return s.Runs.FinishSearch(context.Background(), tasks.LeaseOf(&c.Task), end)
}

func publish(t *testing.T, s *store.Store, c runs.ClaimedTask, name, key string) {
	t.Helper()
	a := pleat.Artifact{
		Name:        name,
		Kind:        pleat.ArtifactMSA,
		ContentType: "text/x-a3m",
		Bytes:       3,
		SHA256:      "00",
		Key:         key,
	}
	if err := s.Runs.AddArtifact(context.Background(), tasks.LeaseOf(&c.Task), a); err != nil {
		t.Fatal(err)
	}
}

// A search sends its task on; what it published stays with the run, under the same ids, through a lost attempt at the
// fold.
func TestSearchThenFold(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store, clock *storetest.Clock) {
		ctx := context.Background()
		u := storetest.User(t, s, "ada")
		c, search := toSearch(t, s, u)
		if search.Task.Attempt != 1 || search.Alignments != nil || !search.Task.NeedsSearch() ||
			len(claim(t, s, "w2", 1)) != 0 {
			t.Fatalf("claimed %+v", search)
		}
		clock.Advance(3 * time.Second)
		publish(t, s, search, "msa.a3m", "runs/x/1/msa.a3m")
		found := pleat.Progress{Kind: pleat.ProgressLog, Line: "found"}
		if err := endSearch(s, search, found); err != nil {
			t.Fatal(err)
		}
		if err := endSearch(s, search); !errors.Is(err, pleat.ErrLost) {
			t.Errorf("ending twice: %v", err)
		}
		shown, err := s.Runs.View(ctx, c.Job)
		if err != nil || shown.Run.State != pleat.StateRunning || len(shown.Artifacts) != 1 {
			t.Fatalf("between the steps %+v, %v", shown, err)
		}
		lost := claim(t, s, "w1", 1)[0]
		publish(t, s, lost, "early.txt", "runs/x/2/early.txt")
		clock.Advance(pleat.LeaseDuration + time.Second)
		if r, err := s.Runs.Reap(ctx, s.DB.Now()); err != nil || r.Requeued != 1 {
			t.Fatalf("reaped %+v %v", r, err)
		}
		fold := claim(t, s, "w2", 1)[0]
		type claimed struct {
			Attempt, Tries int
			NeedsSearch    bool
			Alignments     []string
		}
		is := claimed{Attempt: fold.Task.Attempt, Tries: fold.Task.Tries, NeedsSearch: fold.Task.NeedsSearch()}
		for _, a := range fold.Alignments {
			is.Alignments = append(is.Alignments, a.Key)
		}
		want := claimed{Attempt: 3, Tries: 1, Alignments: []string{"runs/x/1/msa.a3m"}}
		if diff := cmp.Diff(want, is); diff != "" {
			t.Fatal("the fold: ", diff)
		}
		if d := fold.SearchDuration; d < 3*time.Second || d > time.Minute {
			t.Errorf("the search took %s", d)
		}
		if err := finish(s, fold, pleat.StateCompleted); err != nil {
			t.Fatal(err)
		}
		v, err := s.Runs.View(ctx, c.Job)
		if err != nil || len(v.Artifacts) != 2 || v.Artifacts[0].ID != shown.Artifacts[0].ID ||
			v.Artifacts[0].Name != "msa.a3m" || v.Artifacts[1].Name != "model.cif" {
			t.Errorf("the files are %+v, %v", v.Artifacts, err)
		}
		news, err := s.Runs.Progress(ctx, c.Run, 0, 100)
		if err != nil || news[2].Line != "found" {
			t.Errorf("the progress is %+v, %v", news, err)
		}
	})
}

// A search that is lost begins anew, and the worker that lost it can no longer end it.
func TestLostSearch(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store, clock *storetest.Clock) {
		ctx := context.Background()
		_, first := toSearch(t, s, people.Own(storetest.User(t, s, "ada").User))
		publish(t, s, first, "msa.a3m", "runs/x/1/msa.a3m")
		clock.Advance(pleat.LeaseDuration + time.Second)
		if r, err := s.Runs.Reap(ctx, s.DB.Now()); err != nil || r.Requeued != 1 {
			t.Fatalf("reaped %+v %v", r, err)
		}
		if err := endSearch(s, first); !errors.Is(err, pleat.ErrLost) {
			t.Errorf("a stale worker ended a search: %v", err)
		}
		second := claimSearch(t, s, "w2")
		if second.Task.Attempt != 2 || second.Task.Tries != 1 || second.Alignments != nil {
			t.Fatalf("the second attempt is %+v", second)
		}
		if err := endSearch(s, second); err != nil { // it found that there is nothing to search for
			t.Fatal(err)
		}
		if fold := claim(t, s, "w2", 1)[0]; len(fold.Alignments) != 0 || fold.Task.Tries != 0 {
			t.Errorf("the fold is %+v", fold)
		}
	})
}

// A cancel ends a job in its search, as the search ends, and between the search and the fold.
func TestCancelAroundASearch(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store, _ *storetest.Clock) {
		ctx := context.Background()
		u := storetest.User(t, s, "ada")
		c, search := toSearch(t, s, u)
		if _, err := s.Runs.Cancel(ctx, u, c.Job); err != nil {
			t.Fatal(err)
		}
		if err := endSearch(s, search); err != nil {
			t.Fatal(err)
		}
		between, search := toSearch(t, s, u)
		if err := s.Runs.SetMSA(ctx, tasks.LeaseOf(&search.Task), pleat.StateCompleted); err != nil {
			t.Fatal(err)
		}
		if err := endSearch(s, search); err != nil {
			t.Fatal(err)
		}
		if state, err := s.Runs.Cancel(ctx, u, between.Job); err != nil || state != pleat.StateStopped {
			t.Errorf("cancelled to %s, %v", state, err)
		}
		for job, msa := range map[pleat.JobID]pleat.State{
			c.Job: pleat.StatePending, between.Job: pleat.StateCompleted,
		} {
			v, err := s.Runs.View(ctx, job)
			if err != nil || v.Job.State != pleat.StateStopped || v.Run.Failure.Kind != pleat.FailCancelled ||
				v.Run.MSA != msa {
				t.Errorf("%s %s %v, %v", v.Job.State, v.Run.MSA, v.Run.Failure, err)
			}
		}
		if len(claim(t, s, "w1", 9)) != 0 || storetest.Count(t, s, "event") != 2 {
			t.Error("a task is left, or an event is missing")
		}
	})
}

// The fold after a search takes its turn behind its owner's, and not behind everybody's.
func TestTurnAfterASearch(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store, _ *storetest.Clock) {
		ada, bob := storetest.User(t, s, "ada"), storetest.User(t, s, "bob")
		for range 3 {
			create(t, s, ada, "hers")
		}
		his, search := toSearch(t, s, bob)
		if err := endSearch(s, search); err != nil {
			t.Fatal(err)
		}
		hers, search := toSearch(t, s, ada)
		if err := endSearch(s, search); err != nil {
			t.Fatal(err)
		}
		var order []pleat.JobID
		for range 5 {
			order = append(order, claim(t, s, "w1", 1)[0].Fold.Job)
		}
		if order[0] != his.Job && order[1] != his.Job || order[4] != hers.Job {
			t.Errorf("the order is %v; his is %s, her last %s", order, his.Job, hers.Job)
		}
	})
}

// If several workers claim a search, one makes it, until it ends or the worker is silent.
func TestClaimSearches(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store, clock *storetest.Clock) {
		ctx := context.Background()
		ann, ada := storetest.User(t, s, "ann"), storetest.User(t, s, "ada")
		claim := func(worker pleat.WorkerID, want ...bool) {
			t.Helper()
			got, err := s.Runs.ClaimSearches(ctx, worker, []runs.Search{
				{Key: "msa/b", Owner: ann.Project, Protein: "pb"}, {Key: "msa/a", Owner: ann.Project, Protein: "pa"},
			})
			if err != nil || !slices.Equal(got, want) {
				t.Errorf("%s was granted %v, %v; want %v", worker, got, err, want)
			}
		}
		end := func(worker pleat.WorkerID, found bool, keys ...string) {
			t.Helper()
			if err := s.Runs.EndSearches(ctx, worker, keys, found); err != nil {
				t.Fatal(err)
			}
		}
		known := func(user people.Reach, want int) {
			t.Helper()
			if n, err := s.Runs.CountAlignments(ctx, user.Project, []string{"pa", "pb", "pc"}); err != nil ||
				n != want {
				t.Errorf("%d alignments at hand, %v; want %d", n, err, want)
			}
		}
		claim("one", true, true)
		claim("two", false, false)
		claim("one", true, true) // renewed
		clock.Advance(pleat.SearchLease - time.Second)
		claim("two", false, false)
		known(ann, 0)
		end("two", true, "msa/a", "msa/b") // which does not hold them
		known(ann, 0)
		end("one", true, "msa/a")
		end("one", false, "msa/b")
		known(ann, 1)
		known(ada, 0)
		claim("two", true, true)
		end("one", false, "msa/a", "msa/b")
		claim("one", false, false)
		clock.Advance(pleat.SearchLease + time.Second)
		claim("one", true, true)
		clock.Advance(pleat.SearchLease + time.Second)
		if err := s.Runs.ForgetSearches(ctx, clock.Now()); err != nil {
			t.Fatal(err)
		}
		known(ann, 0)
		if _, err := s.Runs.ClaimSearches(ctx, "one", []runs.Search{{Key: "msa/s", Protein: "pc"}}); err != nil {
			t.Fatal(err)
		}
		end("one", true, "msa/s")
		known(ada, 1) // all users share it
	})
}

// A server that asked for a pause is left alone by every worker, as long as any was asked to, and a day at most.
func TestPauseSearches(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store, clock *storetest.Clock) {
		const server, other = "msa.example.org", "other.example.org:8080"
		pause := func(server string, d, want time.Duration) {
			t.Helper()
			left, err := s.Runs.PauseSearches(context.Background(), server, d)
			if err != nil || (left-want).Abs() > time.Second {
				t.Errorf("%s is left alone for %s, %v; want %s", server, left, err, want)
			}
		}
		pause(server, 0, 0)
		pause(server, time.Hour, time.Hour)
		pause(server, time.Minute, time.Hour)
		pause(server, -time.Minute, time.Hour)
		pause(other, 0, 0)
		clock.Advance(30 * time.Minute)
		pause(server, 0, 30*time.Minute)
		pause(server, 1000*time.Hour, pleat.MaxSearchPause)
		clock.Advance(-48 * time.Hour) // to what is right: the clock was ahead when the pause was recorded
		pause(server, 0, 0)
		pause(server, time.Hour, time.Hour)
		clock.Advance(time.Hour + time.Second)
		pause(server, 0, 0)
		pause(other, time.Minute, time.Minute)
		if n := storetest.Count(t, s, "msa_pause"); n != 1 {
			t.Errorf("%d pauses are stored; want that which is not over", n)
		}
		for i := range 102 {
			if _, err := s.Runs.PauseSearches(context.Background(), fmt.Sprint(i), time.Minute); err != nil {
				t.Fatal(err)
			}
		}
		if n := storetest.Count(t, s, "msa_pause"); n != 100 {
			t.Errorf("%d servers are paused; want 100 at most", n)
		}
		pause(other, time.Hour, time.Hour)
	})
}
