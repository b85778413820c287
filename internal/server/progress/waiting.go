package progress

import (
	"context"
	"fmt"
	"strings"
	"time"

	"pleat"
	"pleat/api"
	"pleat/internal/server/route"
	"pleat/internal/server/wire"
	"pleat/internal/store/runs"
	"pleat/internal/store/workers"
)

// Demand is how many workers the classes need. It counts the tasks that wait, and any user may ask for it.
type Demand struct {
	Workers *workers.Store
	cached  route.Cached[[]workers.Demand]
}

// Get returns the demand for each class. It may be a second old.
func (d *Demand) Get(ctx context.Context) ([]workers.Demand, error) {
	return d.cached.Get(ctx, d.Workers.Demand)
}

// Waiting returns why a run waits, and its position in the queue, 1 for the one that is claimed next; nil if it does
// not wait. Only the owner is told of the owner's other tasks, and what the cluster of the workers says, which may name
// accounts and machines.
func (p *Progress) Waiting(ctx context.Context, r *pleat.Run, to wire.Audience) (*api.Waiting, *int, error) {
	if r.State.Terminal() {
		return nil, nil, nil
	}
	w, err := p.Runs.WaitingTask(ctx, r.ID)
	if w == nil || err != nil {
		return nil, nil, err
	}
	working, err := p.Demand.Workers.Working(ctx, w.Queue)
	if err != nil {
		return nil, nil, err
	}
	demand, err := p.Demand.Get(ctx)
	if err != nil {
		return nil, nil, err
	}
	if to != wire.ForOwner {
		w.Own = 0
	}
	if w.Paused != nil {
		return &api.Waiting{Reason: pausedText(r.Model, *w.Paused), Since: api.At(w.Since)}, nil, nil
	}
	out := &api.Waiting{
		Reason:        waitingReason(w, working, r.Model),
		Since:         api.At(w.Since),
		ExpectedStart: wire.OptionalTime(w.Until),
	}
	d, ok := workers.DemandOf(demand, w.Queue, w.Memory, w.Expected)
	if ok {
		out.Class = &d.Class.Name
	}
	if !w.Until.IsZero() {
		return out, nil, nil
	}
	now := p.DB.Now()
	if to == wire.ForOwner && ok && d.Live(now) < d.Wanted && d.Fleet.Reason != "" {
		out.Reason = fleetReason(d, now)
		out.ExpectedStart = wire.OptionalTime(d.Fleet.ExpectedStart)
	}
	position := w.Before + 1
	return out, &position, nil
}

// pausedText says that operators have paused a model.
func pausedText(model, reason string) string {
	text := "the operators of this service have paused " + model + "; it starts after they resume it"
	if reason != "" {
		text += ": " + reason
	}
	return text
}

// fleetReason says in one sentence why the fleet does not start the workers that a class needs, and how old that is.
func fleetReason(d *workers.Demand, now time.Time) string {
	f := &d.Fleet
	reported := "the fleet has reported for " + sinceText(now.Sub(f.Since))
	if silent := now.Sub(f.At); silent > pleat.FleetSilence {
		reported = fmt.Sprintf("the fleet last reported %s ago", sinceText(silent))
	}
	return fmt.Sprintf("it waits for a worker of the class %s (%d of %d run); %s: %s", d.Class.Name, d.Live(now),
		d.Wanted, reported, f.Reason)
}

// sinceText returns a duration in the largest unit that it fills.
func sinceText(d time.Duration) string {
	switch {
	case d < time.Minute:
		return "less than a minute"
	case d < 2*time.Hour:
		return fmt.Sprintf("%d min", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h", int(d.Hours()))
	}
	return fmt.Sprintf("%d days", int(d.Hours()/24))
}

// waitingReason says in one sentence why a task waits.
func waitingReason(w *runs.WaitingTask, working workers.Working, model string) string {
	work := "runs " + model
	if strings.HasPrefix(w.Queue, pleat.SearchQueue("")) {
		work = "searches alignments for " + model
	}
	switch {
	case !w.Until.IsZero():
		return "its last attempt failed; it is tried again after a pause"
	case working.Live == 0 && working.Since.IsZero():
		return "no worker that " + work + " has been seen in the last week"
	case working.Live == 0:
		return fmt.Sprintf("no worker that %s is alive; the last one was seen at %s UTC", work,
			working.Since.UTC().Format(time.DateTime))
	case w.Before == 0:
		return "it is the next in its queue: it starts when a worker that " + work + " has a free slot"
	case w.Before >= 1000:
		return "at least 1000 tasks are before it in its queue"
	}
	project := ""
	if w.Own > 0 {
		project = fmt.Sprintf(", %d of them yours", w.Own)
	}
	if w.Before == 1 {
		return "1 task is before it in its queue" + project
	}
	return fmt.Sprintf("%d tasks are before it in its queue%s", w.Before, project)
}
