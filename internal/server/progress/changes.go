package progress

import (
	"context"
	"strconv"
	"time"

	"pleat"
	"pleat/api"
	"pleat/internal/clock"
	"pleat/internal/server/route"
	"pleat/internal/server/wire"
	"pleat/internal/store/runs"
)

// changeOverlap is how late a commit may become visible after the time that its changes have.
const changeOverlap = 2 * time.Second

// FollowAll sends the changes of all of the caller's jobs and workflows from now on, or from the cursor in
// Last-Event-ID on. An event has the present state, not the steps between; the stream ends when the credential is
// revoked.
func (p *Progress) FollowAll(ctx context.Context, c *route.Call) error {
	_, last, err := c.LastEventID()
	if err != nil {
		return err
	}
	if now := p.DB.Now().UnixMicro(); last == 0 || last > now { // a later one is of a clock that was ahead
		last = now
	}
	news, stop := p.DB.Subscribe(runs.OwnerTopic(c.In.Project))
	defer stop()
	credential, forget := c.CredentialEnds() // before the client hears of the stream, and may revoke its key
	defer forget()
	st, closed, err := c.OpenStream(credential, 0)
	if closed != nil {
		defer closed()
	}
	if err != nil {
		return c.Quiet(err)
	}
	return c.Quiet(p.sendChanges(ctx, c, st, last, news))
}

// sendChanges sends the changes after last, a cursor in µs, until the client leaves, its credential is revoked or its
// role in the project ends. news receives after a change.
func (p *Progress) sendChanges(
	ctx context.Context, c *route.Call, st *route.Events, last int64, news <-chan struct{},
) error {
	sent := sentChanges{from: last, last: last}
	for read := (clock.Stopwatch{}); ; {
		if !st.MaySkip(read) {
			if err := p.writeChanges(ctx, c, st, &sent); err != nil {
				return err
			}
			read = clock.Start()
		}
		wake, err := st.Next(ctx, news)
		if err != nil || wake == route.WakeEnd {
			return err
		}
		switch wake {
		case route.WakeCheck:
			if err := c.StillEntered(ctx); err != nil {
				return err
			}
		case route.WakeNews:
			read = clock.Stopwatch{}
		}
	}
}

// sentChanges remembers the changes that a stream has sent within changeOverlap. Changes are numbered by their time,
// and a transaction becomes visible only when it commits; a reader that only asked for later times would miss one that
// committed late. It reads the overlap again instead and drops what it has sent.
type sentChanges struct {
	from int64                      // nothing before it was asked for, in µs
	last int64                      // cursor of the newest change sent, in µs
	seen map[pleat.RunID]changeMark // the latest change sent of each run
}

// changeMark identifies one change of a run.
type changeMark struct{ at, seq, version int64 }

// writeChanges sends what is new since the last call, and forgets what is older than changeOverlap.
func (p *Progress) writeChanges(
	ctx context.Context, c *route.Call, st *route.Events, t *sentChanges,
) error {
	since := max(t.from, t.last-changeOverlap.Microseconds())
	for {
		list, err := p.Runs.Changes(ctx, c.In, since, EventPage)
		if err != nil {
			return err
		}
		if t.seen == nil {
			t.seen = map[pleat.RunID]changeMark{}
		}
		for i := range list {
			if err := t.send(st, &list[i]); err != nil {
				return err
			}
		}
		if !st.Empty() {
			if err := st.Flush(); err != nil {
				return err
			}
		}
		if len(list) < EventPage || list[len(list)-1].At == since {
			break
		}
		since = list[len(list)-1].At
	}
	for run, mark := range t.seen {
		if mark.at < t.last-changeOverlap.Microseconds() {
			delete(t.seen, run)
		}
	}
	return nil
}

// send writes a change to the stream unless it was sent before.
func (t *sentChanges) send(st *route.Events, n *runs.Change) error {
	mark := changeMark{n.At, n.Seq, n.Version}
	if t.seen[n.Run] == mark {
		return nil
	}
	t.seen[n.Run] = mark
	t.last = max(t.last, n.At)
	e := api.Change{
		Cursor:  t.last,
		Status:  string(n.State),
		Stage:   wire.Stage(n.State, n.Stage),
		Done:    n.Done,
		Total:   n.Total,
		Version: n.Version,
	}
	name := "job"
	if n.Kind == pleat.TaskFold {
		e.JobID, e.JobRunID, e.JobName = string(n.Source.Job), string(n.Run), n.Name
	} else {
		name, e.Workflow, e.Task, e.Name = "workflow", string(n.Source.Workflow), string(n.Run), n.Name
	}
	return st.Add(name, strconv.FormatInt(t.last, 10), e)
}
