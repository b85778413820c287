package server

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"pleat"
	"pleat/api"
	"pleat/internal/store"
)

// How streams keep time. Tests shorten them.
var (
	heartbeat = 15 * time.Second // between comments, with a new look at credential and visibility
	poll      = time.Second      // where no wake-up comes
)

const (
	streamBatch   = 500              // events read at once
	streamWrite   = 20 * time.Second // how long one write may take
	changeOverlap = 2 * time.Second  // commits become visible out of order by less than this
)

// streamCount bounds open streams per caller.
type streamCount struct {
	mu   sync.Mutex
	open map[string]int
}

func (n *streamCount) enter(who string, most int) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.open == nil {
		n.open = map[string]int{}
	}
	if n.open[who] >= most {
		return false
	}
	n.open[who]++
	return true
}

func (n *streamCount) leave(who string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.open[who]--; n.open[who] <= 0 {
		delete(n.open, who)
	}
}

// sse is an open stream of events.
type sse struct {
	c  *call
	rc *http.ResponseController
	b  bytes.Buffer
}

// openStream lifts the connection's deadlines and sends the header. The caller calls close when it ends.
func (s *Server) openStream(c *call) (stream *sse, closed func(), err error) {
	who := s.caller(c)
	if !s.streams.enter(who, s.cfg.Streams) {
		return nil, nil, pleat.Errorf(pleat.CodeLimited, "Too many event streams are open; at most %d may be",
			s.cfg.Streams)
	}
	s.meters.streams.Inc()
	closed = func() {
		s.streams.leave(who)
		s.meters.streams.Dec()
	}
	st := &sse{c: c, rc: http.NewResponseController(c.w)}
	_ = st.rc.SetReadDeadline(time.Time{})
	h := c.w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no")
	c.w.WriteHeader(http.StatusOK)
	st.comment("open")
	return st, closed, st.flush()
}

func (st *sse) comment(text string) { st.b.WriteString(": " + text + "\n\n") }

func (st *sse) event(name string, id int64, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	st.b.WriteString("event: " + name + "\nid: " + strconv.FormatInt(id, 10) + "\ndata: ")
	st.b.Write(data)
	st.b.WriteString("\n\n")
	return nil
}

// flush sends what was gathered.
func (st *sse) flush() error {
	_ = st.rc.SetWriteDeadline(time.Now().Add(streamWrite))
	if _, err := st.c.w.Write(st.b.Bytes()); err != nil {
		return err
	}
	st.b.Reset()
	return st.rc.Flush()
}

// after is the event that a reader has seen last.
func after(r *http.Request) (int64, error) {
	v := r.Header.Get("Last-Event-ID")
	if v == "" {
		return 0, nil
	}
	n, err := strconv.ParseInt(v, 10, 64)
	if err != nil || n < 0 {
		return 0, pleat.Invalidf("Last-Event-ID is %q; it must be the id of an event of this stream", pleat.Clip(v))
	}
	return n, nil
}

// told is a run that a stream tells of.
type told struct {
	run   pleat.RunID
	state pleat.State
	mine  bool
	ids   api.Event // whose run it is, as every event says
	// again looks whether the reader may still see this run, and whether it is still the one to tell of.
	again func(ctx context.Context) (told, error)
	// files are those that can be read now, by name.
	files func(ctx context.Context) (map[string]*api.Artifact, error)
}

// jobEvents is GET /v1/jobs/{id}/events: the latest run's progress, until its end has been told.
func (s *Server) jobEvents(ctx context.Context, c *call) error {
	head, err := s.see(ctx, c)
	if err != nil {
		return err
	}
	return s.follow(ctx, c, s.toldOf(c, head))
}

func (s *Server) toldOf(c *call, head seen) told {
	return told{
		run:   head.Run,
		state: head.State,
		mine:  head.Mine,
		ids:   api.Event{JobID: string(head.Job), JobRunID: string(head.Run)},
		again: func(ctx context.Context) (told, error) {
			now, err := s.seeJob(ctx, c, head.Job)
			return told{run: now.Run, mine: now.Mine}, err
		},
		files: func(ctx context.Context) (map[string]*api.Artifact, error) {
			v, err := s.viewFor(ctx, head)
			return s.byName(v.Artifacts, &v.Job), err
		},
	}
}

// byName is a job's files with their links.
func (s *Server) byName(files []pleat.Artifact, j *pleat.Job) map[string]*api.Artifact {
	out := map[string]*api.Artifact{}
	for i := range files {
		a := artifactOut(&files[i], s.link(&files[i], j, s.clock().Truncate(time.Hour)))
		out[a.Name] = &a
	}
	return out
}

// follow answers with a run's events as they come.
func (s *Server) follow(ctx context.Context, c *call, of told) error {
	last, err := after(c.r)
	if err != nil {
		return err
	}
	news, stop := s.store.Subscribe(store.RunTopic(of.run)) // before the first look, so that nothing is missed
	defer stop()
	first, err := s.store.Progress(ctx, of.run, last, streamBatch)
	if err != nil {
		return err
	}
	if len(first) == 0 && of.state.Terminal() {
		c.w.WriteHeader(http.StatusNoContent) // tells a browser not to come again
		return nil
	}
	st, closed, err := s.openStream(c)
	if closed != nil {
		defer closed()
	}
	if err != nil {
		return quiet(c, err)
	}
	return quiet(c, s.tellRun(ctx, st, of, first, last, news))
}

// quiet drops errors of a connection whose answer is under way: the reader went away.
func quiet(c *call, err error) error {
	if c.w.wrote {
		return nil
	}
	return err
}

// tellRun writes a run's events as they come.
func (s *Server) tellRun(ctx context.Context, st *sse, of told, batch []pleat.Progress, last int64,
	news <-chan struct{}) error {
	beat, tick := time.NewTicker(heartbeat), time.NewTicker(poll)
	defer beat.Stop()
	defer tick.Stop()
	for {
		ended, err := writeProgress(ctx, st, of, batch)
		if err != nil || ended {
			return err
		}
		if n := len(batch); n > 0 {
			last = batch[n-1].Seq
		}
		if len(batch) < streamBatch {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-s.stop:
				return nil
			case <-beat.C:
				st.comment("here")
				if err := st.flush(); err != nil {
					return err
				}
				if now, err := of.again(ctx); err != nil || now.run != of.run || now.mine != of.mine {
					return err // deleted, hidden, run anew, or the credential is gone
				}
			case <-news:
				if now, err := of.again(ctx); err != nil || now.run != of.run {
					return err
				}
			case <-tick.C:
			}
		}
		if batch, err = s.store.Progress(ctx, of.run, last, streamBatch); err != nil {
			return err
		}
	}
}

// writeProgress sends a batch and reports whether the run's end was in it.
func writeProgress(ctx context.Context, st *sse, of told, batch []pleat.Progress) (ended bool, err error) {
	if len(batch) == 0 {
		return false, nil
	}
	var files map[string]*api.Artifact
	if slices.ContainsFunc(batch, func(p pleat.Progress) bool { return p.Kind == pleat.ProgressArtifact }) {
		if files, err = of.files(ctx); err != nil {
			return false, err
		}
	}
	for i := range batch {
		p := &batch[i]
		if p.Kind == pleat.ProgressLog && !of.mine {
			continue
		}
		e := of.ids
		e.Seq, e.At, e.Kind, e.State, e.Stage, e.Done, e.Total = p.Seq, api.At(p.At), string(p.Kind), string(p.State),
			p.Stage, p.Done, p.Total
		switch p.Kind {
		case pleat.ProgressState:
			e.Error = p.Line
		case pleat.ProgressArtifact:
			e.Artifact = files[p.Line]
		default:
			e.Line = p.Line
		}
		if err := st.event(string(p.Kind), p.Seq, e); err != nil {
			return false, err
		}
		ended = ended || p.Kind == pleat.ProgressState && p.State.Terminal()
	}
	return ended, st.flush()
}

// allEvents is GET /v1/events: news of all of the caller's jobs and workflows.
func (s *Server) allEvents(ctx context.Context, c *call) error {
	last, err := after(c.r)
	if err != nil {
		return err
	}
	if last == 0 {
		last = s.store.Now().UnixMicro()
	}
	news, stop := s.store.Subscribe(store.OwnerTopic(c.who.User))
	defer stop()
	st, closed, err := s.openStream(c)
	if closed != nil {
		defer closed()
	}
	if err != nil {
		return quiet(c, err)
	}
	return quiet(c, s.tellAll(ctx, c, st, last, news))
}

func (s *Server) tellAll(ctx context.Context, c *call, st *sse, last int64, news <-chan struct{}) error {
	beat, tick := time.NewTicker(heartbeat), time.NewTicker(poll)
	defer beat.Stop()
	defer tick.Stop()
	told := toldChanges{from: last, last: last}
	for {
		if err := s.writeChanges(ctx, c, st, &told); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-s.stop:
			return nil
		case <-beat.C:
			st.comment("here")
			if err := st.flush(); err != nil {
				return err
			}
			if _, err := s.identify(ctx, c.cred); err != nil {
				return err
			}
		case <-news:
		case <-tick.C:
		}
	}
}

// toldChanges remembers what a stream has told within the overlap.
type toldChanges struct {
	from, last int64 // nothing before from was asked for; last is the cursor of the newest told
	seen       map[pleat.RunID]changeMark
}

type changeMark struct{ at, seq, version int64 }

// writeChanges tells what is new. It asks from a little before the last cursor, since commits become visible out of
// order.
func (s *Server) writeChanges(ctx context.Context, c *call, st *sse, t *toldChanges) error {
	since := max(t.from, t.last-changeOverlap.Microseconds())
	for {
		list, err := s.store.Changes(ctx, c.who.User, since, streamBatch)
		if err != nil {
			return err
		}
		if t.seen == nil {
			t.seen = map[pleat.RunID]changeMark{}
		}
		for i := range list {
			n := &list[i]
			mark := changeMark{n.At, n.Seq, n.Version}
			if t.seen[n.Run] == mark {
				continue
			}
			t.seen[n.Run] = mark
			t.last = max(t.last, n.At)
			e := api.Change{
				Cursor:  t.last,
				Status:  string(n.State),
				Stage:   stage(n.State, n.Stage),
				Done:    n.Done,
				Total:   n.Total,
				Version: n.Version,
			}
			name := "job"
			if n.Kind == pleat.TaskFold {
				e.JobID, e.JobRunID, e.JobName = string(n.Job), string(n.Run), n.Name
			} else {
				name, e.Workflow, e.Task, e.Name = "workflow", string(n.Job), string(n.Run), n.Name
			}
			if err := st.event(name, t.last, e); err != nil {
				return err
			}
		}
		if st.b.Len() > 0 {
			if err := st.flush(); err != nil {
				return err
			}
		}
		if len(list) < streamBatch || list[len(list)-1].At == since {
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
