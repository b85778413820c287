package fleet

import (
	"context"
	"time"

	"pleat"
	"pleat/internal/store/workers"
)

// reportAge is how old a report may be that still says what is the case.
const reportAge = time.Minute

// nameOf returns the name of a driver's cluster in sentences.
func nameOf(driver string) string {
	if driver == DriverSlurm {
		return "Slurm"
	}
	return "this machine"
}

// silence is the report of a class whose cluster does not answer: nothing new is known.
func (c *class) silence(d *workers.Demand, known bool) pleat.FleetReport {
	r := d.Fleet
	r.Reason, r.Permanent = nameOf(d.Class.Driver)+" does not answer", false
	if !known {
		r.Reason, r.Permanent = "the fleet has no driver "+d.Class.Driver, true
	}
	return r
}

// findings is the report of a class after a look.
func (c *class) findings(d *workers.Demand, jobs []Job, missing bool, now time.Time) pleat.FleetReport {
	var r pleat.FleetReport
	pending := pendingOf(jobs)
	for _, j := range jobs {
		if j.State == JobRunning {
			r.Running++
		}
	}
	r.Pending = len(pending) + c.submitted
	for _, j := range pending {
		if !j.ExpectedStart.IsZero() && (r.ExpectedStart.IsZero() || j.ExpectedStart.Before(r.ExpectedStart)) {
			r.ExpectedStart = j.ExpectedStart
		}
	}
	r.Reason, r.Permanent = c.reason(d, pending, missing, now)
	return r
}

// reason says why the workers of a class do not start, or why none is submitted; empty: nothing keeps them. The
// sentence holds nothing that changes from one look to the next.
func (c *class) reason(
	d *workers.Demand,
	pending []Job,
	missing bool,
	now time.Time,
) (sentence string, permanent bool) {
	for _, j := range pending {
		if why := Explain(j.Reason); why.Permanent {
			return why.Sentence, true
		}
	}
	switch {
	case c.failures >= maxFailures:
		where := "set the option output of the class to keep what they print"
		if d.Class.Options["output"] != "" { // users see the sentence, and need not know the path
			where = "what they print is in the file of its option output"
		}
		return "the workers of this class end before they register, so the next one is started after a pause; " +
			where, false
	case missing && c.refusal.sentence != "":
		return nameOf(d.Class.Driver) + " refuses to start a worker: " + c.refusal.sentence, false
	case missing && c.problem != "":
		return c.problem, false
	case len(pending) > 0: // the oldest is the next to start
		return Explain(pending[len(pending)-1].Reason).Sentence, false
	case c.submitted > 0:
		return nameOf(d.Class.Driver) + " has just been asked to start a worker", false
	}
	return "", false
}

// report stores the report of a class if it says something new or the last one is old, and shows it in the metrics.
func (f *Fleet) report(ctx context.Context, d *workers.Demand, r pleat.FleetReport) error {
	f.metrics.show(d, &r)
	last := d.Fleet
	r.At, r.Since = f.cfg.Clock(), last.Since
	if r.Reason != last.Reason {
		r.Since = r.At
	}
	if r.Reason == "" {
		r.Since = time.Time{}
	}
	same := r.Running == last.Running && r.Pending == last.Pending && r.Reason == last.Reason &&
		r.Permanent == last.Permanent && r.ExpectedStart.Equal(last.ExpectedStart)
	if same && r.At.Sub(last.At) < reportAge {
		return nil
	}
	if r.Permanent && !last.Permanent {
		f.cfg.Log.Error("no worker of the class will start", "class", d.Class.Name, "reason", r.Reason)
	}
	return f.cfg.Store.ReportFleet(ctx, d.Class.Name, r)
}
