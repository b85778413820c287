package progress

import (
	"context"
	"net/http"
	"slices"

	"pleat"
	"pleat/api"
	"pleat/internal/clock"
	"pleat/internal/server/route"
	"pleat/internal/server/wire"
	"pleat/internal/store/runs"
)

// EventPage is how many events are read at once; a longer history is sent in several batches.
const EventPage = 500

// Run is the run whose events a stream sends.
type Run struct {
	ID    pleat.RunID
	State pleat.State // when the connection was opened
	To    wire.Audience
	// Template is an event with the ids that every event of the run has: those of the job or of the workflow.
	Template api.Event

	// Recheck reads the run again for the caller: it fails if the caller may no longer read it, and returns another run
	// if this one is no longer the latest.
	Recheck func(ctx context.Context) (Run, error)
	// Files returns the run's artifacts that can be read now, by name.
	Files func(ctx context.Context) (map[string]*api.Artifact, error)
}

// Follow sends the events of a run after the one that the client has received last; all, if that is one of another run.
// A run that has no more gets 204. It subscribes before it reads for the first time, so that no event is lost between
// the two.
func (p *Progress) Follow(ctx context.Context, c *route.Call, run Run) error {
	news, stop := p.DB.Subscribe(runs.Topic(run.ID))
	defer stop()
	credential, forget := c.CredentialEnds()
	defer forget()
	last, first, err := p.resume(ctx, c, run.ID)
	if err != nil {
		return err
	}
	if len(first) == 0 && run.State.Terminal() {
		c.W.WriteHeader(http.StatusNoContent) // a browser does not reconnect then
		return nil
	}
	st, closed, err := c.OpenStream(credential, 0)
	if closed != nil {
		defer closed()
	}
	if err != nil {
		return c.Quiet(err)
	}
	return c.Quiet(p.sendRun(ctx, &runStream{Events: st, Run: run, last: last, news: news}, first))
}

// resume reads the events of a run after the last one that the client has received, whose number it returns; 0: none of
// this run. A number without a run is of this one, if that has got so far.
func (p *Progress) resume(ctx context.Context, c *route.Call, run pleat.RunID) (int64, []pleat.Progress, error) {
	of, last, err := c.LastEventID()
	if err != nil {
		return 0, nil, err
	}
	if last > 0 && (of == "" || of == run) {
		list, err := p.Runs.Progress(ctx, run, last-1, EventPage+1)
		if err != nil || len(list) > 0 {
			if len(list) > 0 && list[0].Seq == last {
				list = list[1:]
			}
			return last, list, err
		}
	}
	list, err := p.Runs.Progress(ctx, run, 0, EventPage)
	return 0, list, err
}

// runStream is an open stream that sends the events of one run.
type runStream struct {
	*route.Events
	Run
	last int64           // sequence number of the last event that was sent
	news <-chan struct{} // receives after the run has got new events
}

// sendRun sends a run's events as they are recorded, first those in batch, until the run ends or the caller may no
// longer read it. It checks that at every heartbeat and whenever the run or its job has changed.
func (p *Progress) sendRun(ctx context.Context, st *runStream, batch []pleat.Progress) error {
	read := clock.Start()
	for {
		ended, err := st.send(ctx, batch)
		if err != nil || ended {
			return err
		}
		if len(batch) < EventPage {
			wake, err := st.Next(ctx, st.news)
			if err != nil || wake == route.WakeEnd {
				return err
			}
			if wake == route.WakePoll {
				if st.MaySkip(read) {
					batch = nil
					continue
				}
			} else if ended, err := st.check(ctx); ended {
				return err
			}
		}
		read = clock.Start()
		if batch, err = p.Runs.Progress(ctx, st.ID, st.last, EventPage); err != nil {
			return err
		}
	}
}

// check reports whether the stream must end: the run was deleted, made private or run again, or the credential has
// ended.
func (st *runStream) check(ctx context.Context) (ended bool, err error) {
	now, err := st.Recheck(ctx)
	return err != nil || now.ID != st.ID || now.To != st.To, err
}

// send sends a batch of events and reports whether it holds the end of the run. Log lines are for the owner alone, and
// so is the reason of a state, which is that of a failure.
func (st *runStream) send(ctx context.Context, batch []pleat.Progress) (ended bool, err error) {
	if len(batch) == 0 {
		return false, nil
	}
	var files map[string]*api.Artifact
	if slices.ContainsFunc(batch, func(p pleat.Progress) bool { return p.Kind == pleat.ProgressArtifact }) {
		if files, err = st.Files(ctx); err != nil {
			return false, err
		}
	}
	for i := range batch {
		p := &batch[i]
		st.last = p.Seq
		if p.Kind == pleat.ProgressLog && st.To == wire.ForOthers {
			continue
		}
		e := st.Template
		e.Seq, e.At, e.Kind, e.State, e.Stage, e.Done, e.Total = p.Seq, api.At(p.At), string(p.Kind), string(p.State),
			p.Stage, p.Done, p.Total
		switch p.Kind {
		case pleat.ProgressState:
			e.Error = p.Line
			if e.Error != "" && st.To == wire.ForOthers {
				e.Error = wire.HiddenFailure
			}
		case pleat.ProgressArtifact:
			e.Artifact = files[p.Line]
		default:
			e.Line = p.Line
		}
		if err := st.Add(string(p.Kind), route.EventID(st.ID, p.Seq), e); err != nil {
			return false, err
		}
		ended = ended || p.Kind == pleat.ProgressState && p.State.Terminal()
	}
	return ended, st.Flush()
}
