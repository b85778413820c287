package fleet

import (
	"cmp"
	"reflect"
	"slices"
	"strings"
	"time"

	"pleat"
	"pleat/internal/store/workers"
)

const (
	// A refusal delays the next submission of its class by minDelay, each further one by twice as long.
	minDelay = 2 * time.Second
	maxDelay = 5 * time.Minute
	// After maxFailures jobs in succession whose workers never registered, none is submitted for minPause, then one;
	// each time that one fails too, the pause is twice as long.
	maxFailures = 3
	minPause    = 5 * time.Minute
	maxPause    = time.Hour
	// A job that is ending counts as a worker for so long: it may be one that was requeued.
	maxEnding = time.Minute
)

// class is what the fleet remembers of a class from one look to the next. A fleet that starts knows nothing of it, and
// finds the jobs on the cluster.
type class struct {
	spec    pleat.Class // at the last look
	changed bool        // since the look before
	known   map[Ref]*sighting
	surplus int // of pending jobs, at the last look

	refusal refusal

	// The circuit breaker.
	failures int // jobs in succession whose workers never registered
	pause    time.Duration
	resumes  time.Time // when one may be submitted again

	// As of this look.
	have      int // workers
	problem   string
	submitted int
}

// sighting is a job that this fleet has submitted or seen on the cluster.
type sighting struct {
	registered bool      // its worker has registered
	cancelled  bool      // by this fleet
	missed     int       // looks at which the cluster did not list it
	ending     time.Time // since when it is seen to end; zero: it is not
}

// refusal is the last answer of a cluster that did not accept a job.
type refusal struct {
	sentence string
	delay    time.Duration
	until    time.Time // when the next job may be submitted
}

// observe notes which jobs have ended, and whether their workers had registered.
func (c *class) observe(d *workers.Demand, jobs []Job, now time.Time) {
	if c.changed = !reflect.DeepEqual(settings(&c.spec), settings(&d.Class)); c.changed {
		// The cluster's answers to the old settings say nothing about the new ones.
		c.refusal, c.failures, c.pause, c.resumes = refusal{}, 0, 0, time.Time{}
		c.changed = c.spec.Name != ""
	}
	c.spec = d.Class
	for _, s := range c.known {
		s.missed++
	}
	for _, j := range jobs {
		s := c.known[j.Ref]
		if s == nil {
			s = &sighting{}
			c.known[j.Ref] = s
		}
		if s.missed = 0; j.State != JobEnding {
			s.ending = time.Time{}
		} else if s.ending.IsZero() {
			s.ending = now
		}
	}
	registered := false
	live := map[Ref]bool{}
	for i := range d.Workers {
		w := &d.Workers[i]
		ref := refOf(d.Class.Driver, w.ClusterJob)
		live[ref] = live[ref] || w.IsAlive(now)
		if s := c.known[ref]; s != nil && !s.registered {
			s.registered, registered = true, true
		}
	}
	for _, s := range c.known {
		// A worker that registers removes those that have stopped: they cannot be seen any more.
		s.registered = s.registered || registered && s.missed > 0
	}
	failed := c.evaluate(live)
	switch {
	case registered:
		c.failures, c.pause, c.resumes = 0, 0, time.Time{}
	case failed > 0:
		c.failures += failed
		if c.failures >= maxFailures && !now.Before(c.resumes) {
			c.pause = min(max(2*c.pause, minPause), maxPause)
			c.resumes = now.Add(c.pause)
		}
	}
}

// evaluate counts the jobs that have ended without a worker, and forgets jobs that have ended. The verdict comes one
// look after the job is missed: the demand, which has the workers, was read before the jobs.
func (c *class) evaluate(live map[Ref]bool) (failed int) {
	for ref, s := range c.known {
		if s.missed == 2 && !s.registered && !s.cancelled {
			failed++
		}
		// A worker that was killed counts as live for a while.
		if s.missed >= 2 && !live[ref] {
			delete(c.known, ref)
		}
	}
	return failed
}

// settings are what a job of a class asks of its cluster.
func settings(c *pleat.Class) pleat.Class {
	return pleat.Class{
		Name:     c.Name,
		Memory:   c.Memory,
		Cores:    c.Cores,
		Devices:  c.Devices,
		Walltime: c.Walltime,
		Driver:   c.Driver,
		Options:  c.Options,
	}
}

// countStuck counts the jobs that still end though their workers are long gone.
func (c *class) countStuck(now time.Time) int {
	n := 0
	for _, s := range c.known {
		if s.missed == 0 && !s.ending.IsZero() && now.Sub(s.ending) >= maxEnding {
			n++
		}
	}
	return n
}

// outsiders counts the workers of a class that live but are no jobs of the fleet: those that were started by hand.
func (c *class) outsiders(d *workers.Demand, now time.Time) int {
	n := 0
	for i := range d.Workers {
		w := &d.Workers[i]
		if w.IsAlive(now) && c.known[refOf(d.Class.Driver, w.ClusterJob)] == nil {
			n++
		}
	}
	return n
}

// refOf returns the job of a driver's cluster that a worker is, from its pleat.Worker.ClusterJob; empty: it is none.
func refOf(driver, clusterJob string) Ref {
	rest, ok := strings.CutPrefix(clusterJob, driver+"/")
	if !ok {
		return ""
	}
	ref, _, _ := strings.Cut(rest, "/")
	return Ref(ref)
}

// pendingOf returns the jobs that have not started, newest first.
func pendingOf(jobs []Job) []Job {
	var out []Job
	for _, j := range jobs {
		if j.State == JobPending {
			out = append(out, j)
		}
	}
	slices.SortStableFunc(out, func(a, b Job) int {
		return cmp.Or(b.Submitted.Compare(a.Submitted), cmp.Compare(len(b.Ref), len(a.Ref)), cmp.Compare(b.Ref, a.Ref))
	})
	return out
}

// superfluous returns those pending jobs that are to be cancelled: as many of the newest as were too many at this look
// and at the last one, so that a demand that falls and rises again cancels nothing; and those that will never start and
// were submitted with other settings than the class has now.
func (c *class) superfluous(pending []Job, surplus int, once bool) []Job {
	last := c.surplus
	if c.surplus = surplus; !once {
		surplus = min(surplus, last)
	}
	if surplus == 0 && c.changed {
		return slices.DeleteFunc(slices.Clone(pending), func(j Job) bool { return !Explain(j.Reason).Permanent })
	}
	return pending[:surplus]
}

// submitLimit returns how many jobs of a class may be submitted now.
func (c *class) submitLimit(pending []Job, now time.Time) int {
	switch {
	case slices.ContainsFunc(pending, func(j Job) bool { return Explain(j.Reason).Permanent }):
		return 0
	case now.Before(c.refusal.until), now.Before(c.resumes):
		return 0
	case c.failures < maxFailures:
		return burst
	}
	for _, s := range c.known { // one whose worker has not registered yet is being tried
		if !s.registered && s.missed == 0 {
			return 0
		}
	}
	return 1
}

// refuse records that the cluster did not accept a job.
func (c *class) refuse(sentence string, now time.Time) {
	delay := min(max(2*c.refusal.delay, minDelay), maxDelay)
	c.refusal = refusal{sentence: oneLine(sentence), delay: delay, until: now.Add(delay)}
}
