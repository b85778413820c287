package work_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"pleat"
	"pleat/internal/blob"
	"pleat/internal/engine"
	"pleat/internal/engine/builtin"
	"pleat/internal/store"
	"pleat/internal/store/storetest"
	"pleat/internal/work"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// scripted is an engine whose behaviour a test gives; it is a real engine to everything that calls it.
type scripted struct {
	run func(ctx context.Context, w pleat.Work, sink pleat.Sink) pleat.Output
}

func (scripted) Models() []pleat.Model { return builtin.Null{}.Models() }

func (s scripted) Run(ctx context.Context, w pleat.Work, sink pleat.Sink) pleat.Output {
	return s.run(ctx, w, sink)
}

type bench struct {
	t     *testing.T
	s     *store.Store
	blobs blob.Store
	dir   string
	owner pleat.UserID
	clock *storetest.Clock
}

func newBench(t *testing.T, s *store.Store, clock *storetest.Clock) *bench {
	t.Helper()
	b := &bench{t: t, s: s, dir: t.TempDir(), clock: clock}
	u, err := s.EnsureUser(context.Background(), "ada")
	if err != nil {
		t.Fatal(err)
	}
	b.owner = u.ID
	if b.blobs, err = blob.Open(context.Background(), "dir:"+filepath.Join(b.dir, "blobs")); err != nil {
		t.Fatal(err)
	}
	return b
}

// start runs a pool until the test, or the function returned, ends it.
func (b *bench) start(id string, e engine.Engine) (stop func()) {
	b.t.Helper()
	return b.startWith(work.Config{}, id, e)
}

func (b *bench) startWith(cfg work.Config, id string, e engine.Engine) (stop func()) {
	b.t.Helper()
	reg, err := engine.New(slog.New(slog.DiscardHandler), e)
	if err != nil {
		b.t.Fatal(err)
	}
	cfg.ID, cfg.Host, cfg.Clock, cfg.Dir, cfg.Slots, cfg.Log = pleat.WorkerID(id), "test", b.clock.Now,
		filepath.Join(b.dir, "scratch-"+id), 2, slog.New(slog.DiscardHandler)
	p := work.New(cfg, b.s, b.blobs, reg)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := p.Run(ctx); err != nil {
			b.t.Error(err)
		}
	}()
	var once sync.Once
	stop = func() { once.Do(func() { cancel(); <-done }) }
	b.t.Cleanup(stop)
	return stop
}

func (b *bench) create(params map[string]any) store.Created {
	b.t.Helper()
	c, err := b.s.CreateJob(context.Background(), store.NewJob{
		Job: pleat.Job{Owner: b.owner, Name: "j", Sequences: []pleat.Sequence{{
			Kind:   pleat.Protein,
			Text:   "GSGS",
			Chains: []string{"A"},
			Count:  1,
		}}},
		Run: store.RunSpec{
			Model:  "null",
			Seed:   "1",
			Queue:  "fold/null",
			Params: pleat.Params{Model: "null", Values: params},
		}, Quota: 1000,
	})
	if err != nil {
		b.t.Fatal(err)
	}
	return c
}

func (b *bench) await(job pleat.JobID, want pleat.State) store.View {
	b.t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		v, err := b.s.View(context.Background(), job)
		if err != nil {
			b.t.Fatal(err)
		}
		if v.Job.State == want {
			return v
		}
		if v.Job.State.Terminal() || time.Now().After(end) {
			b.t.Fatalf("the job is %s (%s), not %s", v.Job.State, v.Run.Failure, want)
		}
	}
}

func TestRunsAndStoresFiles(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store, clock *storetest.Clock) {
		b := newBench(t, s, clock)
		b.start("w", scripted{func(_ context.Context, w pleat.Work, sink pleat.Sink) pleat.Output {
			sink.Progress("fold", 1, 2)
			sink.Log("hello\x1b world")
			path := filepath.Join(w.Dir, "out.txt")
			if err := os.WriteFile(path, []byte("result"), 0o600); err != nil {
				t.Error(err)
			}
			return pleat.Output{Result: &pleat.Result{Timings: map[string]float64{}}, Engine: "scripted",
				Files: []pleat.File{{
					Name:        "out.txt",
					Path:        path,
					Kind:        pleat.ArtifactOther,
					ContentType: "text/plain",
				}}}
		}})
		c := b.create(nil)
		v := b.await(c.Job, pleat.StateCompleted)
		if len(v.Artifacts) != 1 || v.Artifacts[0].Bytes != 6 || v.Run.Engine != "scripted" {
			t.Fatalf("%+v", v)
		}
		if _, ok := v.Run.Result.Timings["queue"]; !ok {
			t.Error("no time in the queue")
		}
		r, _, err := b.blobs.Open(context.Background(), v.Artifacts[0].Key)
		if err != nil {
			t.Fatal(err)
		}
		_ = r.Close()
		news, err := s.Progress(context.Background(), c.Run, 0, 50)
		if err != nil {
			t.Fatal(err)
		}
		if text := fmt.Sprint(news); !strings.Contains(text, "hello  world") || !strings.Contains(text, "fold 1 2") {
			t.Error(text)
		}
	})
}

func TestCancelReachesTheEngine(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store, clock *storetest.Clock) {
		b := newBench(t, s, clock)
		began, ended := make(chan struct{}), make(chan time.Time, 1)
		b.start("w", scripted{func(ctx context.Context, _ pleat.Work, _ pleat.Sink) pleat.Output {
			began <- struct{}{}
			<-ctx.Done()
			ended <- time.Now()
			return pleat.Output{Failure: engine.Interrupted(ctx)}
		}})
		best := time.Hour
		for range 5 { // a busy machine may be late; one that waits for the next beat is late each time
			c := b.create(nil)
			<-began
			asked := time.Now()
			if _, err := s.Cancel(context.Background(), b.owner, c.Job); err != nil {
				t.Fatal(err)
			}
			best = min(best, (<-ended).Sub(asked))
			v := b.await(c.Job, pleat.StateStopped)
			if v.Run.Failure.Kind != pleat.FailCancelled {
				t.Errorf("%+v", v.Run.Failure)
			}
		}
		if best > 200*time.Millisecond {
			t.Errorf("at best, the engine heard of the cancel after %v", best)
		}
	})
}

func TestShutdownGivesBack(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store, clock *storetest.Clock) {
		b := newBench(t, s, clock)
		began := make(chan struct{})
		stop := b.start("w1", scripted{func(ctx context.Context, _ pleat.Work, _ pleat.Sink) pleat.Output {
			close(began)
			<-ctx.Done()
			return pleat.Output{Failure: engine.Interrupted(ctx)}
		}})
		c := b.create(nil)
		<-began
		stop()
		b.start("w2", builtin.Null{})
		b.await(c.Job, pleat.StateCompleted)
		if n := storetest.Count(t, s, "attempt"); n != 2 {
			t.Errorf("%d attempts", n)
		}
	})
}

func TestFailuresAreData(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store, clock *storetest.Clock) {
		b := newBench(t, s, clock)
		b.start("w", scripted{func(_ context.Context, w pleat.Work, _ pleat.Sink) pleat.Output {
			switch w.Fold.Params.Values["case"] {
			case "panic":
				panic("boom")
			case "refuse":
				return pleat.Output{Failure: pleat.Failed(pleat.FailUnsupported, "cannot")}
			case "escape":
				return pleat.Output{
					Result: &pleat.Result{}, Files: []pleat.File{{Name: "passwd", Path: "/etc/hostname"}},
				}
			}
			return pleat.Output{}
		}})
		for name, want := range map[string]pleat.FailureKind{
			"panic": pleat.FailInternal, "refuse": pleat.FailUnsupported, "nothing": pleat.FailOutputInvalid,
		} {
			v := b.await(b.create(map[string]any{"case": name}).Job, pleat.StateFailed)
			if v.Run.Failure.Kind != want {
				t.Errorf("%s: %+v", name, v.Run.Failure)
			}
		}
		// A file from elsewhere counts as a failure to store, which is tried again; it must never become an artifact.
		c := b.create(map[string]any{"case": "escape"})
		time.Sleep(300 * time.Millisecond)
		if v, err := s.View(context.Background(), c.Job); err != nil || v.Job.State == pleat.StateCompleted ||
			len(v.Artifacts) != 0 {
			t.Errorf("%+v %v", v, err)
		}
	})
}

func TestTwoPoolsShare(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store, clock *storetest.Clock) {
		b := newBench(t, s, clock)
		var mu sync.Mutex
		ran := map[pleat.RunID]int{}
		e := scripted{func(_ context.Context, w pleat.Work, _ pleat.Sink) pleat.Output {
			mu.Lock()
			ran[w.Fold.Run]++
			mu.Unlock()
			return pleat.Output{Result: &pleat.Result{}}
		}}
		b.start("w1", e)
		b.start("w2", e)
		var jobs []pleat.JobID
		for range 40 {
			jobs = append(jobs, b.create(nil).Job)
		}
		for _, j := range jobs {
			b.await(j, pleat.StateCompleted)
		}
		mu.Lock()
		defer mu.Unlock()
		for run, n := range ran {
			if n != 1 {
				t.Errorf("%s ran %d times", run, n)
			}
		}
		if len(ran) != 40 {
			t.Errorf("%d runs", len(ran))
		}
	})
}

func TestSweepLeavesWhatIsNamed(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store, clock *storetest.Clock) {
		ctx := context.Background()
		b := newBench(t, s, clock)
		b.start("w", scripted{func(_ context.Context, w pleat.Work, _ pleat.Sink) pleat.Output {
			path := filepath.Join(w.Dir, "out.txt")
			_ = os.WriteFile(path, []byte("result"), 0o600)
			return pleat.Output{Result: &pleat.Result{}, Files: []pleat.File{{Name: "out.txt", Path: path}}}
		}})
		v := b.await(b.create(nil).Job, pleat.StateCompleted)
		if _, err := b.blobs.Put(ctx, "runs/orphan/1/x", strings.NewReader("x")); err != nil {
			t.Fatal(err)
		}
		n, err := work.CollectGarbage(ctx, s, b.blobs, time.Now().Add(time.Minute))
		if err != nil || n != 1 {
			t.Fatalf("swept %d, %v", n, err)
		}
		r, _, err := b.blobs.Open(ctx, v.Artifacts[0].Key)
		if err != nil {
			t.Fatal("the sweep took a file that is named: ", err)
		}
		_ = r.Close()
		if err := s.DeleteJob(ctx, b.owner, v.Job.ID); err != nil {
			t.Fatal(err)
		}
		if n, err := work.CollectGarbage(ctx, s, b.blobs, time.Now().Add(time.Minute)); err != nil || n != 1 {
			t.Errorf("after the delete %d, %v", n, err)
		}
	})
}

func TestClockJumpLosesNoLease(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store, clock *storetest.Clock) {
		b := newBench(t, s, clock)
		began := make(chan struct{}, 9)
		b.start("w", scripted{func(ctx context.Context, _ pleat.Work, _ pleat.Sink) pleat.Output {
			began <- struct{}{}
			select {
			case <-ctx.Done():
				return pleat.Output{Failure: engine.Interrupted(ctx)}
			case <-time.After(3 * time.Second):
				return pleat.Output{Result: &pleat.Result{}}
			}
		}})
		c := b.create(nil)
		<-began
		clock.Advance(2 * time.Hour)
		b.await(c.Job, pleat.StateCompleted)
		if n := storetest.Count(t, s, "attempt"); n != 1 {
			t.Errorf("%d attempts: the jump cost a lease", n)
		}
	})
}
