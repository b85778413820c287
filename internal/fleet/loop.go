package fleet

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"pleat"
	"pleat/internal/store/workers"
)

// Store is what the fleet needs of the database. *workers.Store is one.
type Store interface {
	Demand(ctx context.Context) ([]workers.Demand, error)
	ReportFleet(ctx context.Context, class string, r pleat.FleetReport) error
	TryLead(ctx context.Context, role, holder string, d time.Duration) (bool, error)
	StopLeading(ctx context.Context, role, holder string) error
}

// Config is what a Fleet is made of.
type Config struct {
	Store    Store
	Clusters map[string]Cluster // by driver
	Holder   string             // names this process among those that could lead
	Worker   Worker
	Interval time.Duration // between two looks at the demand
	Limit    int           // of unfinished jobs of all classes together
	Clock    func() time.Time
	Log      *slog.Logger
	// Ticks, if set, says when to look, instead of Interval.
	Ticks <-chan time.Time
}

const (
	// DefaultInterval is the usual Interval, and DefaultLimit the usual Limit.
	DefaultInterval = 15 * time.Second
	DefaultLimit    = 1000

	// burst is the most workers of a class that one look submits, so that a mistake shows before it is repeated often.
	burst = 4
	// role is what the leader among several fleets leads.
	role = "fleet"
	// maxSilence is the longest time between two calls of a cluster that does not answer.
	maxSilence = time.Minute
)

// Fleet keeps as many workers on their clusters as the queue wants. One goroutine calls its methods.
type Fleet struct {
	cfg     Config
	metrics *metrics
	drivers map[string]*driver
	classes map[string]*class
	// once: there will be no later look that could see whether a surplus stays.
	once bool
}

// driver is what the fleet remembers of a cluster that does not answer.
type driver struct {
	silent bool
	delay  time.Duration // to the next call
	next   time.Time
}

// New returns a fleet that has not started.
func New(cfg Config) *Fleet {
	f := &Fleet{cfg: cfg, metrics: newMetrics()}
	f.forget()
	return f
}

// forget drops what the fleet remembers. The cluster and the database know what matters.
func (f *Fleet) forget() {
	f.drivers, f.classes = map[string]*driver{}, map[string]*class{}
	f.metrics.clear()
}

// Run looks at the demand until ctx ends, while this process leads, and then resigns.
func (f *Fleet) Run(ctx context.Context) error {
	ticks := f.cfg.Ticks
	if ticks == nil {
		ticker := time.NewTicker(f.cfg.Interval)
		defer ticker.Stop()
		ticks = ticker.C
	}
	defer f.resign(ctx)
	said := ""
	for {
		leads, err := f.look(ctx)
		state := "the fleet leads: it starts the workers that are wanted"
		if !leads {
			state = "the fleet waits: another process leads"
		}
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			f.cfg.Log.Warn("the fleet cannot see how many workers are wanted", "error", err)
		case state != said:
			f.cfg.Log.Info(state)
			said = state
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticks:
		}
	}
}

// Once looks at the demand a single time. It returns false if another process leads, and has then done nothing. A
// single look does not show what only several can: that workers end before they register.
func (f *Fleet) Once(ctx context.Context) (bool, error) {
	f.once = true
	defer f.resign(ctx)
	return f.look(ctx)
}

// resign lets another process lead at once.
func (f *Fleet) resign(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if err := f.cfg.Store.StopLeading(ctx, role, f.cfg.Holder); err != nil {
		f.cfg.Log.Warn("the fleet cannot resign; another process leads later", "error", err)
	}
}

// lead makes this process the leader or keeps it the leader.
func (f *Fleet) lead(ctx context.Context) (bool, error) {
	// A call of the cluster may take longer than the interval.
	return f.cfg.Store.TryLead(ctx, role, f.cfg.Holder, max(3*f.cfg.Interval, 2*callTime))
}

// look compares, for each class, the workers that there are with those that are wanted, and submits or cancels the
// difference. It returns whether this process leads.
func (f *Fleet) look(ctx context.Context) (bool, error) {
	leads, err := f.lead(ctx)
	if err == nil && !leads {
		f.forget()
	}
	if err != nil || !leads {
		return false, err
	}
	demand, err := f.cfg.Store.Demand(ctx)
	if err != nil {
		return true, err
	}
	listed := f.list(ctx, demand)
	demand = append(demand, leftOver(demand, listed)...)
	f.prune(demand)
	free := f.cfg.Limit
	for i := range demand {
		free -= unfinished(&demand[i], listed)
	}
	for i := range demand {
		d := &demand[i]
		if d.Class.Driver == "" || ctx.Err() != nil {
			continue
		}
		if err := f.reconcile(ctx, d, listed, &free); err != nil {
			return !errors.Is(err, errDeposed), err
		}
	}
	return true, ctx.Err()
}

// prune forgets the classes that are gone.
func (f *Fleet) prune(demand []workers.Demand) {
	for key, c := range f.classes {
		if !slices.ContainsFunc(demand, func(d workers.Demand) bool { return keyOf(&d) == key }) {
			delete(f.classes, key)
			f.metrics.drop(c.spec.Name)
		}
	}
}

// keyOf names a class on its cluster.
func keyOf(d *workers.Demand) string { return d.Class.Driver + "/" + d.Class.Name }

// list asks each cluster that a class uses for its jobs. A driver whose cluster gives no answer is missing in the
// result.
func (f *Fleet) list(ctx context.Context, demand []workers.Demand) map[string][]Job {
	out := map[string][]Job{}
	queried := map[string]bool{"": true}
	for i := range demand {
		name := demand[i].Class.Driver
		if queried[name] || f.cfg.Clusters[name] == nil {
			continue
		}
		queried[name] = true
		if jobs, ok := f.listJobs(ctx, name); ok {
			out[name] = jobs
		}
	}
	return out
}

// listJobs asks a cluster for its jobs, unless it did not answer shortly before.
func (f *Fleet) listJobs(ctx context.Context, name string) ([]Job, bool) {
	d := f.drivers[name]
	if d == nil {
		d = &driver{}
		f.drivers[name] = d
	}
	now := f.cfg.Clock()
	if d.silent && now.Before(d.next) {
		return nil, false
	}
	jobs, err := f.cfg.Clusters[name].List(ctx)
	if err != nil {
		if ctx.Err() == nil {
			f.cfg.Log.Warn(nameOf(name)+" does not answer; nothing changes until it does", "error", err)
		}
		d.delay = min(max(2*d.delay, f.cfg.Interval), maxSilence)
		d.silent, d.next = true, now.Add(d.delay)
		return nil, false
	}
	if d.silent {
		f.cfg.Log.Info(nameOf(name) + " answers again")
	}
	*d = driver{}
	return jobs, true
}

// leftOver returns, as classes that want nothing, those that have jobs but are not configured any more.
func leftOver(demand []workers.Demand, listed map[string][]Job) []workers.Demand {
	var out []workers.Demand
	for _, name := range slices.Sorted(maps.Keys(listed)) {
		for _, j := range listed[name] {
			same := func(d workers.Demand) bool { return d.Class.Name == j.Class && d.Class.Driver == name }
			if !slices.ContainsFunc(demand, same) && !slices.ContainsFunc(out, same) {
				out = append(out, workers.Demand{Class: pleat.Class{Name: j.Class, Driver: name}})
			}
		}
	}
	return out
}

// unfinished counts the jobs of a class; where its cluster does not answer, those of the last report.
func unfinished(d *workers.Demand, listed map[string][]Job) int {
	jobs, ok := listed[d.Class.Driver]
	if !ok {
		return d.Fleet.Running + d.Fleet.Pending
	}
	n := 0
	for i := range jobs {
		if jobs[i].Class == d.Class.Name {
			n++
		}
	}
	return n
}

// errDeposed: another process leads in the meantime.
var errDeposed = errors.New("another process leads the fleet now")

// reconcile submits or cancels jobs of a class, and reports what it found. Free is how many jobs more there may be of
// all classes; what is submitted is taken from it.
func (f *Fleet) reconcile(ctx context.Context, d *workers.Demand, listed map[string][]Job, free *int) error {
	c := f.class(d)
	c.problem, c.submitted = "", 0
	all, answers := listed[d.Class.Driver]
	if !answers {
		return f.report(ctx, d, c.silence(d, f.cfg.Clusters[d.Class.Driver] != nil))
	}
	var jobs []Job
	for _, j := range all {
		if j.Class == d.Class.Name {
			jobs = append(jobs, j)
		}
	}
	now := f.cfg.Clock()
	c.observe(d, jobs, now)
	c.have = len(jobs) - c.countStuck(now) + c.outsiders(d, now)
	missing := d.Wanted - c.have
	pending := pendingOf(jobs)
	surplus := min(max(0, -missing), len(pending))
	var err error
	switch cancelled := c.superfluous(pending, surplus, f.once); {
	case len(cancelled) > 0:
		err = f.cancel(ctx, d, cancelled)
	case missing > 0:
		n := min(missing, c.submitLimit(pending, now))
		if err = f.submit(ctx, d, max(0, min(n, *free))); err == nil && n > *free {
			c.problem = fmt.Sprintf("the fleet has as many workers as it may have of all classes, %d", f.cfg.Limit)
		}
		*free -= c.submitted
	}
	if err != nil {
		return err
	}
	return f.report(ctx, d, c.findings(d, jobs, missing > 0, now))
}

// class returns what the fleet remembers of a class.
func (f *Fleet) class(d *workers.Demand) *class {
	c := f.classes[keyOf(d)]
	if c == nil {
		c = &class{known: map[Ref]*sighting{}}
		f.classes[keyOf(d)] = c
	}
	return c
}

// submit submits jobs of a class, until the cluster says no or gives no clear answer. It returns an error only where
// nothing may be done any more.
func (f *Fleet) submit(ctx context.Context, d *workers.Demand, n int) error {
	c := f.class(d)
	for range n {
		if err := f.confirm(ctx); err != nil {
			return err
		}
		standing := c.have+c.submitted < d.Class.MinWorkers
		ref, err := f.cfg.Clusters[d.Class.Driver].Submit(ctx, f.cfg.Worker.spec(&d.Class, standing))
		var refused *RefusedError
		switch {
		case errors.As(err, &refused):
			c.refuse(refused.Message, f.cfg.Clock())
			f.metrics.refused.WithLabelValues(d.Class.Name).Inc()
			f.cfg.Log.Warn("the cluster refuses a worker", "class", d.Class.Name, "error", err)
			return nil
		case err != nil:
			// The job may have been submitted all the same. The next look tells.
			c.problem = nameOf(d.Class.Driver) + " gave no clear answer when a worker was submitted"
			f.cfg.Log.Warn("it is not clear whether a worker was submitted", "class", d.Class.Name, "error", err)
			return nil
		}
		c.refusal = refusal{}
		c.known[ref] = &sighting{}
		c.submitted++
		f.metrics.submitted.WithLabelValues(d.Class.Name).Inc()
	}
	if n > 0 {
		f.cfg.Log.Info("the fleet has submitted workers", "class", d.Class.Name, "number", n)
	}
	return nil
}

// cancel takes back jobs that have not started.
func (f *Fleet) cancel(ctx context.Context, d *workers.Demand, jobs []Job) error {
	if err := f.confirm(ctx); err != nil {
		return err
	}
	var refs []Ref
	for _, j := range jobs {
		refs = append(refs, j.Ref)
		f.class(d).known[j.Ref].cancelled = true
	}
	if err := f.cfg.Clusters[d.Class.Driver].Cancel(ctx, refs); err != nil {
		f.cfg.Log.Warn("workers that nothing waits for could not be cancelled", "class", d.Class.Name, "error", err)
		return nil
	}
	f.cfg.Log.Info("the fleet has cancelled workers that had not started and that nothing waits for",
		"class", d.Class.Name, "number", len(refs))
	return nil
}

// confirm renews the leadership, before a change: calls of a cluster may take long.
func (f *Fleet) confirm(ctx context.Context) error {
	leads, err := f.lead(ctx)
	if err == nil && !leads {
		f.forget()
		return errDeposed
	}
	return err
}
