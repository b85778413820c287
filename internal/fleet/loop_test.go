package fleet

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"pleat"
	"pleat/internal/store"
	"pleat/internal/store/storetest"
	"pleat/internal/store/tasks"
)

// siteCluster is a cluster whose jobs start and end when the test says so.
type siteCluster struct {
	jobs      []Job
	submitted []WorkerSpec
	cancelled []Ref
	lists     int
	next      int

	refuses string // what it says to a submission; empty: it accepts
	silent  bool   // List fails
	lost    bool   // it accepts a submission, but its answer is lost
}

func (c *siteCluster) Submit(_ context.Context, w WorkerSpec) (Ref, error) {
	c.submitted = append(c.submitted, w)
	if c.refuses != "" {
		return "", &RefusedError{Message: c.refuses}
	}
	c.next++
	j := Job{
		Ref:       Ref(fmt.Sprint(c.next)),
		Class:     w.Class,
		State:     JobPending,
		Reason:    "Priority",
		Submitted: time.Unix(int64(c.next/3), 0), // several in a second
	}
	c.jobs = append(c.jobs, j)
	if c.lost {
		return "", errors.New("sbatch: no answer within 30s")
	}
	return j.Ref, nil
}

func (c *siteCluster) List(context.Context) ([]Job, error) {
	c.lists++
	if c.silent {
		return nil, errors.New("squeue: Unable to contact slurm controller")
	}
	return slices.Clone(c.jobs), nil
}

func (c *siteCluster) Cancel(_ context.Context, refs []Ref) error {
	c.cancelled = append(c.cancelled, refs...)
	c.jobs = slices.DeleteFunc(c.jobs, func(j Job) bool {
		return slices.Contains(refs, j.Ref) && j.State == JobPending
	})
	return nil
}

// site is a fleet with its store and a cluster.
type site struct {
	*testing.T
	store   *store.Store
	clock   *storetest.Clock
	cluster *siteCluster
	fleet   *Fleet
	log     *bytes.Buffer
	class   pleat.Class
}

// eachSite runs a test with a class gpu of Slurm, on every database.
func eachSite(t *testing.T, fn func(s *site)) {
	storetest.Each(t, func(t *testing.T, s *store.Store, clock *storetest.Clock) {
		clock.Stop()
		at := &site{T: t, store: s, clock: clock, cluster: &siteCluster{}, log: &bytes.Buffer{}}
		at.class = pleat.Class{
			Name:       "gpu",
			Engines:    []string{"null"},
			Models:     []pleat.Model{{Name: "null", Kind: pleat.TaskFold}},
			Alignments: pleat.AlignmentsAlso,
			Isolation:  pleat.IsolationShared,
			Walltime:   2 * time.Hour,
			TargetWait: 10 * time.Minute,
			Driver:     DriverSlurm,
		}
		at.fleet = at.start("a")
		at.want(0)
		fn(at)
	})
}

// start returns a fleet that knows nothing yet.
func (s *site) start(holder string) *Fleet { return New(s.config(holder)) }

func (s *site) config(holder string) Config {
	return Config{
		Store:    s.store.Workers,
		Clusters: map[string]Cluster{DriverSlurm: s.cluster},
		Holder:   holder,
		Worker:   Worker{Program: "/opt/pleat", Config: "/etc/pleat.yaml"},
		Interval: DefaultInterval,
		Limit:    DefaultLimit,
		Clock:    s.store.DB.Now,
		Log:      slog.New(slog.NewTextHandler(s.log, nil)),
	}
}

// want configures the class so that it needs n workers.
func (s *site) want(n int) {
	s.Helper()
	s.class.MinWorkers = n
	if err := s.store.Workers.SetClasses(s.Context(), []pleat.Class{s.class}); err != nil {
		s.Fatal(err)
	}
}

// look lets the fleet look, an interval after the last look.
func (s *site) look() {
	s.Helper()
	s.clock.Advance(DefaultInterval)
	if leads, err := s.fleet.look(s.Context()); err != nil || !leads {
		s.Fatalf("look: leads %v, %v\n%s", leads, err, s.log)
	}
}

// wantJobs checks how many unfinished jobs the cluster has.
func (s *site) wantJobs(n int) {
	s.Helper()
	if len(s.cluster.jobs) != n {
		s.Fatalf("the cluster has %d jobs, want %d\n%s", len(s.cluster.jobs), n, s.log)
	}
}

// run starts the first pending jobs; their workers register.
func (s *site) run(n int) {
	s.Helper()
	for i := range s.cluster.jobs {
		j := &s.cluster.jobs[i]
		if n == 0 {
			return
		}
		if j.State != JobPending {
			continue
		}
		n--
		j.State, j.Reason = JobRunning, "None"
		s.register(string(j.Ref), "slurm/"+string(j.Ref)+"/0")
	}
}

func (s *site) register(id, clusterJob string) {
	s.Helper()
	w := pleat.Worker{ID: pleat.WorkerID(id), Class: "gpu", ClusterJob: clusterJob}
	if err := s.store.Workers.RegisterWorker(s.Context(), w); err != nil {
		s.Fatal(err)
	}
}

// end ends all jobs, and in order those workers that have registered.
func (s *site) end() {
	s.Helper()
	for _, j := range s.cluster.jobs {
		if err := s.store.Workers.StopWorker(s.Context(), pleat.WorkerID(j.Ref)); err != nil {
			s.Fatal(err)
		}
	}
	s.cluster.jobs = nil
}

// report is what the fleet has reported of the class.
func (s *site) report() pleat.FleetReport {
	s.Helper()
	all, err := s.store.Workers.Demand(s.Context())
	if err != nil {
		s.Fatal(err)
	}
	return all[0].Fleet
}

func (s *site) wantReason(want string, permanent bool) {
	s.Helper()
	if r := s.report(); r.Reason != want || r.Permanent != permanent {
		s.Fatalf("reported %q, permanent %v; want %q, %v", r.Reason, r.Permanent, want, permanent)
	}
}

// The fleet follows the queue from no workers to several and back.
func TestFleet(t *testing.T) {
	t.Parallel()
	eachSite(t, func(s *site) {
		s.look()
		s.wantJobs(0)
		s.class.MaxWorkers = 6
		s.want(0)
		ada := storetest.User(s, s.store, "ada")
		for range 10 {
			f := storetest.NewFold(ada, "j")
			f.Run.Expected = 10 * time.Minute
			storetest.CreateJob(s, s.store, f)
		}
		s.look()
		s.wantJobs(4) // a burst
		const asked = "Slurm has just been asked to start a worker"
		if r := s.report(); r.Pending != 4 || r.Running != 0 || r.Reason != asked {
			s.Errorf("reported %+v", r)
		}
		s.look()
		s.wantJobs(6) // the class's maximum
		s.look()
		s.wantJobs(6)
		s.run(2)
		s.look()
		s.wantJobs(6)
		r := s.report()
		if r.Pending != 4 || r.Running != 2 || r.Reason != "Slurm says Priority: jobs of higher priority are first" {
			s.Errorf("reported %+v", r)
		}
		if want := s.store.DB.Now().Add(-2 * DefaultInterval); !r.Since.Equal(want) {
			s.Errorf("the reason began at %v; want %v", r.Since, want)
		}
		for range 10 { // the two workers do all the work
			task := storetest.Claim(s, s.store, "1", storetest.FoldQueue).Task
			if err := s.store.Runs.FinishRun(s.Context(), tasks.LeaseOf(&task), storetest.Completed()); err != nil {
				s.Fatal(err)
			}
		}
		s.look()
		s.wantJobs(6) // it may rise again
		s.look()
		s.wantJobs(2) // those that run are not ended
		if want := []Ref{"6", "5", "4", "3"}; !slices.Equal(s.cluster.cancelled, want) {
			s.Errorf("cancelled %v; want the newest first, %v", s.cluster.cancelled, want)
		}
		s.end()
		s.look()
		s.wantJobs(0)
		s.look()
		if r := s.report(); r.Pending != 0 || r.Running != 0 || r.Reason != "" || !r.Since.IsZero() {
			s.Errorf("reported %+v", r)
		}
		if got, _ := metric(s, s.fleet, "pleat_fleet_submitted_total"); got != 6 {
			s.Errorf("%v workers were submitted, want 6", got)
		}
	})
}

// metric returns the sum of a metric of a fleet over its n series.
func metric(t testing.TB, f *Fleet, name string) (sum float64, n int) {
	t.Helper()
	r := prometheus.NewRegistry()
	r.MustRegister(f.Collectors()...)
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		if family.GetName() != name {
			continue
		}
		for _, m := range family.Metric {
			sum += m.GetCounter().GetValue() + m.GetGauge().GetValue()
			n++
		}
	}
	return sum, n
}

// The submitted job is a worker of the class, which ends by itself before its walltime.
func TestFleetSubmits(t *testing.T) {
	t.Parallel()
	eachSite(t, func(s *site) {
		s.class.Cores, s.class.Memory, s.class.Devices = 4, 8<<30, 2
		s.class.Options = map[string]string{"partition": "long"}
		s.want(1)
		f := storetest.NewFold(storetest.User(s, s.store, "ada"), "j")
		f.Run.Expected = 20 * time.Minute
		storetest.CreateJob(s, s.store, f)
		storetest.CreateJob(s, s.store, f)
		s.look()
		s.wantJobs(2)
		if args := strings.Join(s.cluster.submitted[0].Args, " "); !strings.Contains(args, "--idle-exit 8760h0m0s") {
			s.Errorf("the worker that is always kept has the arguments %q", args)
		}
		w := s.cluster.submitted[1]
		if w.Cores != 4 || w.Memory != 8<<30 || w.Devices != 2 || w.Options["partition"] != "long" ||
			w.Walltime != 2*time.Hour || w.Program != "/opt/pleat" {
			s.Errorf("submitted %+v", w)
		}
		args := strings.Join(w.Args[:len(w.Args)-1], " ")
		until, err := time.ParseDuration(w.Args[len(w.Args)-1])
		if args != "worker --config /etc/pleat.yaml --class gpu --until" || err != nil ||
			until < 100*time.Minute || until > 114*time.Minute {
			s.Errorf("the arguments are %q", w.Args)
		}
	})
}

// A demand that falls and rises again cancels nothing.
func TestFleetDoesNotFlap(t *testing.T) {
	t.Parallel()
	eachSite(t, func(s *site) {
		s.want(3)
		s.look()
		s.wantJobs(3)
		for range 3 {
			s.want(0)
			s.look()
			s.want(3)
			s.look()
		}
		if len(s.cluster.cancelled) > 0 || len(s.cluster.submitted) != 3 {
			s.Errorf("cancelled %v, submitted %d", s.cluster.cancelled, len(s.cluster.submitted))
		}
		s.want(2)
		s.look()
		s.want(0)
		s.look()
		s.wantJobs(2) // one was too many at both looks
	})
}

// Workers that somebody else has started count, those of other classes and dead ones do not.
func TestFleetCountsOutsiders(t *testing.T) {
	t.Parallel()
	eachSite(t, func(s *site) {
		s.want(4)
		s.register("x", "")
		s.register("y", "slurm/4711/0") // submitted by hand
		if err := s.store.Workers.RegisterWorker(s.Context(), pleat.Worker{ID: "z", Class: "cpu"}); err != nil {
			s.Fatal(err)
		}
		s.look()
		s.wantJobs(2)
		s.run(2)
		s.look()
		s.wantJobs(2)
		s.clock.Advance(pleat.WorkerSilence) // of all
		s.look()
		s.wantJobs(4)
	})
}

// A worker that its cluster has killed is replaced at once, though the database takes it for live a while longer.
func TestFleetReplacesKilledWorkers(t *testing.T) {
	t.Parallel()
	eachSite(t, func(s *site) {
		s.want(2)
		s.look()
		s.run(2)
		s.look()
		s.cluster.jobs = s.cluster.jobs[:1]
		s.fleet.cfg.Interval = 0
		for range 3 {
			if _, err := s.fleet.look(s.Context()); err != nil {
				s.Fatal(err)
			}
			s.wantJobs(2)
		}
	})
}

// A fleet that was killed finds its jobs again, and one that follows it does not double them.
func TestFleetAdopts(t *testing.T) {
	t.Parallel()
	eachSite(t, func(s *site) {
		s.want(3)
		s.look()
		s.run(1)
		killed := s.fleet
		s.fleet = s.start("b")
		if leads, err := s.fleet.look(s.Context()); err != nil || leads {
			s.Fatalf("b leads beside a: %v, %v", leads, err)
		}
		s.clock.Advance(5 * DefaultInterval) // longer than a leads
		s.look()
		s.wantJobs(3)
		if leads, err := killed.look(s.Context()); err != nil || leads {
			s.Errorf("a leads again: %v, %v", leads, err)
		}
		s.want(0)
		s.look()
		s.look()
		s.wantJobs(1)
	})
}

// A fleet that was held up for long and is no leader any more submits nothing.
func TestFleetDeposed(t *testing.T) {
	t.Parallel()
	eachSite(t, func(s *site) {
		s.want(3)
		cfg := s.config("a")
		cfg.Clusters = map[string]Cluster{DriverSlurm: heldUp{s.cluster, func() {
			s.clock.Advance(5 * DefaultInterval)
			if leads, err := s.start("b").lead(s.Context()); err != nil || !leads {
				s.Errorf("b leads: %v, %v", leads, err)
			}
		}}}
		leads, err := New(cfg).look(s.Context())
		if leads || !errors.Is(err, errDeposed) || len(s.cluster.submitted) > 0 {
			s.Errorf("leads %v, %v; submitted %d", leads, err, len(s.cluster.submitted))
		}
	})
}

// heldUp is a cluster during whose List something happens.
type heldUp struct {
	*siteCluster
	happens func()
}

func (c heldUp) List(ctx context.Context) ([]Job, error) {
	c.happens()
	return c.siteCluster.List(ctx)
}

// A submission whose answer is lost is not repeated: the cluster lists the job.
func TestFleetLostAnswer(t *testing.T) {
	t.Parallel()
	eachSite(t, func(s *site) {
		s.want(3)
		s.cluster.lost = true
		s.look()
		s.wantJobs(1) // no further one at this look
		s.wantReason("Slurm gave no clear answer when a worker was submitted", false)
		s.cluster.lost = false
		s.look()
		s.wantJobs(3)
		s.look()
		s.wantJobs(3)
	})
}

// A cluster that does not answer is no evidence: nothing changes, and it is asked less and less often.
func TestFleetSilentCluster(t *testing.T) {
	t.Parallel()
	eachSite(t, func(s *site) {
		s.want(2)
		s.look()
		s.run(1)
		s.look()
		before := s.report()
		s.cluster.silent = true
		lists := s.cluster.lists
		s.want(20)
		began := s.store.DB.Now()
		for range 40 {
			s.look()
		}
		r := s.report()
		if r.Running != before.Running || r.Pending != before.Pending || r.Reason != "Slurm does not answer" {
			s.Errorf("reported %+v", r)
		}
		if !r.Since.Equal(began.Add(DefaultInterval)) || s.store.DB.Now().Sub(r.At) > reportAge {
			s.Errorf("reported at %v since %v; the silence began at %v", r.At, r.Since, began)
		}
		if n := s.cluster.lists - lists; n < 8 || n > 14 {
			s.Errorf("asked %d times in ten minutes", n)
		}
		s.wantJobs(2)
		s.cluster.silent = false
		s.clock.Advance(maxSilence)
		s.look()
		s.wantJobs(6)
	})
}

// A cluster that refuses is asked again after longer and longer pauses.
func TestFleetRefused(t *testing.T) {
	t.Parallel()
	eachSite(t, func(s *site) {
		s.cluster.refuses = "Requested node configuration is not available"
		s.want(3)
		for range 80 { // 20 minutes
			s.look()
		}
		s.wantReason("Slurm refuses to start a worker: Requested node configuration is not available", false)
		if n := len(s.cluster.submitted); n < 5 || n > 12 {
			s.Errorf("submitted %d times in 20 minutes", n)
		}
		if got, _ := metric(s, s.fleet, "pleat_fleet_refused_total"); got != float64(len(s.cluster.submitted)) {
			s.Errorf("%v refusals counted of %d", got, len(s.cluster.submitted))
		}
		for before := len(s.cluster.submitted); len(s.cluster.submitted) == before; {
			s.look()
		}
		s.cluster.refuses = ""
		s.look()
		s.wantJobs(0)
		s.class.Cores = 2 // what was refused is another request now
		s.want(3)
		s.look()
		s.wantJobs(3)
	})
}

// While a job waits for a reason that waiting does not end, no other is submitted. A change of the class replaces it.
func TestFleetPermanentReason(t *testing.T) {
	t.Parallel()
	eachSite(t, func(s *site) {
		s.want(6)
		s.look()
		s.wantJobs(4)
		s.cluster.jobs[0].Reason = "PartitionTimeLimit"
		const sentence = "Slurm says PartitionTimeLimit: the class's walltime is longer than the partition allows; " +
			"no worker of this class starts until that changes"
		for range 3 {
			s.look()
			s.wantJobs(4)
			s.wantReason(sentence, true)
		}
		s.class.Walltime = time.Hour
		s.want(6)
		s.look()
		s.look()
		s.wantJobs(6)
		if want := []Ref{"1"}; !slices.Equal(s.cluster.cancelled, want) {
			s.Errorf("cancelled %v; want %v", s.cluster.cancelled, want)
		}
		s.look()
		s.wantReason("Slurm says Priority: jobs of higher priority are first", false)
	})
}

// Workers that end before they register are not started again and again.
func TestFleetBreaker(t *testing.T) {
	t.Parallel()
	eachSite(t, func(s *site) {
		s.class.Options = map[string]string{"output": "/var/log/pleat/%j.log"}
		s.want(2)
		for range 40 { // ten minutes
			s.look()
			s.cluster.jobs = nil
		}
		s.wantReason("the workers of this class end before they register, so the next one is started after a pause; "+
			"what they print is in the file of its option output", false)
		if n := len(s.cluster.submitted); n < 4 || n > 10 {
			s.Errorf("submitted %d times in ten minutes", n)
		}
		before := len(s.cluster.submitted)
		for range 4 * 60 { // an hour
			s.look()
			s.cluster.jobs = nil
		}
		if n := len(s.cluster.submitted) - before; n < 2 || n > 5 {
			s.Errorf("submitted %d times in a further hour", n)
		}
		for len(s.cluster.jobs) == 0 { // the next trial
			s.look()
		}
		s.look()
		s.wantJobs(1) // one, until its worker registers
		s.run(1)
		s.look()
		s.wantJobs(2)
		s.run(2)
		s.look()
		s.wantReason("", false)
	})
}

// The workers of a class end one after the other in order: that is no failure.
func TestFleetBreakerKnowsWorkers(t *testing.T) {
	t.Parallel()
	eachSite(t, func(s *site) {
		s.want(4)
		for range 5 {
			s.look()
			s.run(4)
			s.end()
		}
		if n := len(s.cluster.submitted); n != 20 {
			s.Errorf("submitted %d workers, want 20", n)
		}
		s.wantReason("Slurm has just been asked to start a worker", false)
	})
}

// Workers that lived between two looks are known by the one that registered last: it removes the rows of the others.
func TestFleetBreakerKnowsShortLives(t *testing.T) {
	t.Parallel()
	eachSite(t, func(s *site) {
		s.want(4)
		for range 5 {
			s.look()
			for len(s.cluster.jobs) > 0 {
				s.run(1)
				if err := s.store.Workers.StopWorker(s.Context(), pleat.WorkerID(s.cluster.jobs[0].Ref)); err != nil {
					s.Fatal(err)
				}
				s.cluster.jobs = s.cluster.jobs[1:]
			}
		}
		if n := len(s.cluster.submitted); n != 20 {
			s.Errorf("submitted %d workers, want 20", n)
		}
		s.want(0)
		s.look()
		s.look()
		s.wantReason("", false)
	})
}

// A job that ends for long, since its node does not answer, does not stand for a worker for ever.
func TestFleetEndingJobs(t *testing.T) {
	t.Parallel()
	eachSite(t, func(s *site) {
		s.want(2)
		s.look()
		s.run(2)
		s.look()
		s.cluster.jobs[0].State = JobEnding
		for range 3 {
			s.look()
			s.wantJobs(2)
		}
		for range 5 {
			s.look()
		}
		s.wantJobs(3)
		s.cluster.jobs[0].State, s.cluster.jobs[0].Reason = JobPending, "BeginTime" // it was requeued after all
		s.look()
		s.look()
		if want := []Ref{"3"}; !slices.Equal(s.cluster.cancelled, want) {
			s.Errorf("cancelled %v; want the newest, %v", s.cluster.cancelled, want)
		}
	})
}

// All classes together have a bound.
func TestFleetLimit(t *testing.T) {
	t.Parallel()
	eachSite(t, func(s *site) {
		cfg := s.config("a")
		cfg.Limit = 5
		s.fleet = New(cfg)
		s.want(4)
		other := s.class
		other.Name = "cpu"
		if err := s.store.Workers.SetClasses(s.Context(), []pleat.Class{s.class, other}); err != nil {
			s.Fatal(err)
		}
		for range 3 {
			s.look()
			s.wantJobs(5)
		}
		all, err := s.store.Workers.Demand(s.Context())
		if err != nil {
			s.Fatal(err)
		}
		if r := all[1].Fleet; r.Pending != 1 ||
			r.Reason != "the fleet has as many workers as it may have of all classes, 5" {
			s.Errorf("reported %+v", r)
		}
	})
}

// The jobs of a class that is gone are cancelled if they have not started.
func TestFleetLeftOver(t *testing.T) {
	t.Parallel()
	eachSite(t, func(s *site) {
		s.want(3)
		s.look()
		s.run(1)
		s.class.Name = "other"
		s.want(0)
		s.look()
		s.look()
		s.wantJobs(1)
		s.end()
		s.look()
		if _, n := metric(s, s.fleet, "pleat_fleet_workers"); n != 2 {
			s.Errorf("%d figures are left; want two of the class other", n)
		}
	})
}

// A single look leads, cancels what is too much at once, and lets others lead.
func TestFleetOnce(t *testing.T) {
	t.Parallel()
	eachSite(t, func(s *site) {
		s.want(3)
		if leads, err := s.start("a").Once(s.Context()); err != nil || !leads {
			s.Fatal(leads, err)
		}
		s.wantJobs(3)
		s.want(1)
		if leads, err := s.start("b").Once(s.Context()); err != nil || !leads {
			s.Fatal(leads, err)
		}
		s.wantJobs(1)
		s.look()
		if leads, err := s.start("b").Once(s.Context()); err != nil || leads {
			s.Error("b leads beside a", err)
		}
	})
}

// Run looks at every tick, and resigns when it ends.
func TestFleetRun(t *testing.T) {
	t.Parallel()
	eachSite(t, func(s *site) {
		s.want(2)
		ticks := make(chan time.Time)
		ctx, cancel := context.WithCancel(s.Context())
		cfg := s.config("b")
		cfg.Ticks = ticks
		done := make(chan error)
		f := New(cfg)
		go func() { done <- f.Run(ctx) }()
		ticks <- time.Time{} // the first look has ended
		ticks <- time.Time{}
		cancel()
		if err := <-done; err != nil {
			s.Fatal(err)
		}
		s.wantJobs(2)
		if leads, err := s.fleet.look(s.Context()); err != nil || !leads {
			s.Errorf("after b has ended, a leads: %v, %v", leads, err)
		}
	})
}

// A look whose demand cannot be read changes nothing on the cluster.
func TestFleetWithoutDemand(t *testing.T) {
	t.Parallel()
	eachSite(t, func(s *site) {
		s.want(2)
		s.look()
		s.want(0)
		ctx, cancel := context.WithCancel(s.Context())
		cancel()
		for range 3 {
			if _, err := s.fleet.look(ctx); err == nil {
				s.Error("no error")
			}
		}
		s.wantJobs(2)
	})
}

// The metrics appear for every class, with zeros, and the gauges only where the fleet leads.
func TestFleetMetrics(t *testing.T) {
	t.Parallel()
	eachSite(t, func(s *site) {
		s.look()
		for name, want := range map[string]int{
			"pleat_fleet_workers":         2,
			"pleat_fleet_submitted_total": 1,
			"pleat_fleet_refused_total":   1,
		} {
			if sum, n := metric(s, s.fleet, name); sum != 0 || n != want {
				s.Errorf("%s has %d series and the sum %v; want %d with 0", name, n, sum, want)
			}
		}
		s.want(2)
		s.look()
		s.run(1)
		s.look()
		if sum, _ := metric(s, s.fleet, "pleat_fleet_workers"); sum != 2 {
			s.Errorf("%v workers, want 2", sum)
		}
		s.clock.Advance(time.Hour)
		if leads, err := s.start("b").lead(s.Context()); err != nil || !leads {
			s.Fatal(leads, err)
		}
		if _, err := s.fleet.look(s.Context()); err != nil {
			s.Fatal(err)
		}
		if _, n := metric(s, s.fleet, "pleat_fleet_workers"); n != 0 {
			s.Errorf("a fleet that does not lead shows %d figures", n)
		}
	})
}

// Workers of a class end by themselves, before Slurm asks them to, and not all at once.
func TestLifetime(t *testing.T) {
	t.Parallel()
	for _, walltime := range []time.Duration{pleat.MinWalltime, 20 * time.Minute, 4 * time.Hour, 7 * 24 * time.Hour} {
		c := pleat.Class{Name: "gpu", Driver: DriverSlurm, Walltime: walltime}
		least, most := c.Lifetime()
		if most > walltime-pleat.EndNotice(walltime)-time.Minute || least < walltime/2 || least > most*91/100 {
			t.Errorf("of %v: from %v to %v", walltime, least, most)
		}
		var seen []time.Duration
		for range 50 {
			args := Worker{}.spec(&c, false).Args
			d, err := time.ParseDuration(args[len(args)-1])
			if err != nil || d < least || d > most {
				t.Errorf("of %v: until %v, %v", walltime, d, err)
			}
			seen = append(seen, d)
		}
		slices.SortFunc(seen, cmp.Compare)
		if seen[0] == seen[len(seen)-1] {
			t.Errorf("of %v: all end after %v", walltime, seen[0])
		}
		if c.Fits("fold/x", 0, most) || !c.Fits("fold/x", 0, least) {
			t.Errorf("of %v: what fits is not what every worker has time for", walltime)
		}
	}
}
