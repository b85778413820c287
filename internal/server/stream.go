package server

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"pleat"
	"pleat/api"
	"pleat/internal/seal"
	"pleat/internal/server/wire"
	"pleat/internal/store/runs"
)

const (
	// streamBatch is how many events are read at once; a longer history is sent in several batches.
	streamBatch = 500
	// strangerStreams is how many streams all callers without a valid credential may have open on a node.
	strangerStreams = 1024
	// streamWrite is how long one write to a client may take.
	streamWrite = 20 * time.Second
	// changeOverlap is how late a commit may become visible after the time that its changes have.
	changeOverlap = 2 * time.Second
)

// sse is an open stream of server-sent events, in the format of the HTML standard (section «Server-sent events»). What
// is written is buffered until flush, so that a batch of events is one write.
type sse struct {
	c  *call
	rc *http.ResponseController
	b  bytes.Buffer
}

// openStream lifts the connection's read deadline and sends the header, which tells proxies not to buffer. If closed is
// not nil, the caller calls it when the stream ends, whatever err is. 429: the caller, or all callers without a valid
// credential together, have too many open streams.
func (s *Server) openStream(c *call) (stream *sse, closed func(), err error) {
	who, stranger := c.caller, c.cred.Hash == ""
	if err := s.streams.Acquire(who, stranger); err != nil {
		return nil, nil, err
	}
	s.meters.streams.Inc()
	s.open.add(c.cred)
	closed = func() {
		s.open.remove(c.cred)
		s.streams.Release(who, stranger)
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

// comment adds a comment to the stream, which clients ignore; it keeps proxies from closing the connection.
func (st *sse) comment(text string) { st.b.WriteString(": " + text + "\n\n") }

// event adds an event with v as its JSON data.
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

// flush sends what is buffered. A client that does not read for streamWrite is disconnected, so that it cannot hold the
// stream's goroutine.
func (st *sse) flush() error {
	_ = st.rc.SetWriteDeadline(time.Now().Add(streamWrite))
	if _, err := st.c.w.Write(st.b.Bytes()); err != nil {
		return err
	}
	st.b.Reset()
	return st.rc.Flush()
}

// openCredentials are the credentials of the open event streams. One query for all of them finds out, every checkEvery,
// which have ended: news of that from another process can be lost, and between processes on SQLite there is none.
type openCredentials struct {
	checkEvery time.Duration

	mu       sync.Mutex
	streams  map[credential]int // open ones
	invalid  map[credential]bool
	checked  time.Time
	checking bool
}

// add counts a stream of a credential.
func (o *openCredentials) add(cred credential) {
	if cred.Hash == "" {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.streams == nil {
		o.streams, o.invalid = map[credential]int{}, map[credential]bool{}
	}
	o.streams[cred]++
}

// remove ends what add began.
func (o *openCredentials) remove(cred credential) {
	if cred.Hash == "" {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.streams[cred]--; o.streams[cred] == 0 {
		delete(o.streams, cred)
		delete(o.invalid, cred)
	}
}

// ended reports whether the credential of a stream has ended. The first stream that asks after checkEvery checks all
// credentials; the others do not wait for it. If the database does not answer, no stream ends.
func (o *openCredentials) ended(ctx context.Context, s *Server, cred credential) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.checking && time.Since(o.checked) >= o.checkEvery && len(o.streams) > 0 {
		o.checking = true
		all := slices.Collect(maps.Keys(o.streams))
		o.mu.Unlock()
		valid, err := s.validCredentials(ctx, all)
		o.mu.Lock()
		o.checking, o.checked = false, time.Now()
		for _, c := range all {
			if err == nil && !valid[c.Hash] && o.streams[c] > 0 {
				o.invalid[c] = true
			}
		}
	}
	return o.invalid[cred]
}

// validCredentials returns the hashes of the credentials that are valid now.
func (s *Server) validCredentials(ctx context.Context, all []credential) (map[string]bool, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	var keys, sessions, logins []string
	for _, c := range all {
		switch {
		case c.Session:
			sessions = append(sessions, c.Hash)
		case c.Login:
			logins = append(logins, c.Hash)
		default:
			keys = append(keys, c.Hash)
		}
	}
	return s.store.People.ValidCredentials(ctx, keys, sessions, logins)
}

// lastEventID returns the id of the last event that the client has received; 0: none. Browsers and the Client send it
// when they reconnect.
func lastEventID(r *http.Request) (int64, error) {
	v := r.Header.Get("Last-Event-ID")
	if v == "" {
		return 0, nil
	}
	n, err := strconv.ParseInt(v, 10, 64)
	if err != nil || n < 0 {
		return 0, pleat.InvalidField("Last-Event-ID", " is %q; it must be the id of an event of this stream",
			pleat.Clip(v))
	}
	return n, nil
}

// maySkip reports whether a stream that read the database at a time, and that no news woke, may skip a poll: where
// NOTIFY brings the news of other processes, every fifth suffices.
func (s *Server) maySkip(read time.Time) bool {
	return s.store.DB.Notified() && time.Since(read) < 5*s.cfg.StreamPoll
}

// streamedRun is the run whose events an SSE connection sends.
type streamedRun struct {
	run   pleat.RunID
	state pleat.State // when the connection was opened
	to    wire.Audience
	// ids is an event with the ids that every event of the run has: those of the job or of the workflow.
	ids api.Event

	// recheck reads the run again for the caller: it fails if the caller may no longer read it, and returns another run
	// if this one is no longer the latest.
	recheck func(ctx context.Context) (streamedRun, error)
	// files returns the run's artifacts that can be read now, by name.
	files func(ctx context.Context) (map[string]*api.Artifact, error)
}

// jobEvents is GET /v1/jobs/{id}/events, for readers of the job: the progress of its latest run, from the event after
// Last-Event-ID to the end of the run. Only the owner gets log lines. The stream also ends when the job is run again,
// deleted or made private, or the credential is revoked. 204: the run has ended and the client has all its events.
func (s *Server) jobEvents(ctx context.Context, c *call) error {
	head, err := s.readableJob(ctx, c)
	if err != nil {
		return err
	}
	return s.follow(ctx, c, s.streamedJob(c, head))
}

// streamedJob returns the latest run of a job for a stream.
func (s *Server) streamedJob(c *call, head visibleJob) streamedRun {
	return streamedRun{
		run:   head.Run,
		state: head.State,
		to:    head.to,
		ids:   api.Event{JobID: string(head.Source.Job), JobRunID: string(head.Run)},
		recheck: func(ctx context.Context) (streamedRun, error) {
			now, err := s.readableJobByID(ctx, c, head.Source.Job)
			return streamedRun{run: now.Run, to: now.to}, err
		},
		files: func(ctx context.Context) (map[string]*api.Artifact, error) {
			v, err := s.viewFor(ctx, head)
			return s.artifactsByName(v.Artifacts, seal.JobScope(&v.Job)), err
		},
	}
}

// artifactsByName returns artifacts of a job or a workflow with their links.
func (s *Server) artifactsByName(files []pleat.Artifact, scope seal.LinkScope) map[string]*api.Artifact {
	out := map[string]*api.Artifact{}
	for i := range files {
		a := wire.Artifact(&files[i], s.links.URL(&files[i], scope, s.clock().Truncate(time.Hour)))
		out[a.Name] = &a
	}
	return out
}

// follow sends the events of a run after the one that the client has received last. A run that has no more gets 204. It
// subscribes before it reads for the first time, so that no event is lost between the two.
func (s *Server) follow(ctx context.Context, c *call, of streamedRun) error {
	last, err := lastEventID(c.r)
	if err != nil {
		return err
	}
	news, stop := s.store.DB.Subscribe(runs.Topic(of.run))
	defer stop()
	ended, forget := s.credentialEnds(c)
	defer forget()
	first, err := s.store.Runs.Progress(ctx, of.run, last, streamBatch)
	if err != nil {
		return err
	}
	if len(first) == 0 && of.state.Terminal() {
		c.w.WriteHeader(http.StatusNoContent) // a browser does not reconnect then
		return nil
	}
	st, closed, err := s.openStream(c)
	if closed != nil {
		defer closed()
	}
	if err != nil {
		return quiet(c, err)
	}
	return quiet(c, s.sendRun(ctx, &runStream{
		sse:         st,
		streamedRun: of,
		last:        last,
		news:        news,
		credential:  ended,
	}, first))
}

// credentialEnds returns a channel that gets news when the credential of a call may have ended, and a function that
// ends the subscription. Without a credential there is never news.
func (s *Server) credentialEnds(c *call) (news <-chan struct{}, forget func()) {
	k, ok := s.known.get(c.cred.Hash)
	if !ok {
		return nil, func() {}
	}
	return s.store.DB.Subscribe(k.who.Topic())
}

// quiet drops an error if the response has begun: the client has gone away.
func quiet(c *call, err error) error {
	if c.w.wrote {
		return nil
	}
	return err
}

// runStream is an open stream that sends the events of one run.
type runStream struct {
	*sse
	streamedRun
	last int64           // sequence number of the last event that was sent
	news <-chan struct{} // receives after the run has got new events
	// credential receives when the caller's credential may have ended.
	credential <-chan struct{}
}

// sendRun sends a run's events as they are recorded, first those in batch, until the run ends or the caller may no
// longer read it. It checks that at every heartbeat and whenever the run or its job has changed.
func (s *Server) sendRun(ctx context.Context, st *runStream, batch []pleat.Progress) error {
	c, read := st.c, time.Now()
	beat, tick := time.NewTicker(s.cfg.StreamHeartbeat), time.NewTicker(s.cfg.StreamPoll)
	defer beat.Stop()
	defer tick.Stop()
	for {
		ended, err := st.send(ctx, batch)
		if err != nil || ended {
			return err
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
				if ended, err := st.check(ctx); ended {
					return err
				}
			case <-st.credential:
				if ended, err := st.check(ctx); ended {
					return err
				}
			case <-st.news:
				if ended, err := st.check(ctx); ended {
					return err
				}
			case <-tick.C:
				if s.open.ended(ctx, s, c.cred) {
					return nil
				}
				if s.maySkip(read) {
					batch = nil
					continue
				}
			}
		}
		read = time.Now()
		if batch, err = s.store.Runs.Progress(ctx, st.run, st.last, streamBatch); err != nil {
			return err
		}
	}
}

// check reports whether the stream must end: the run was deleted, made private or run again, or the credential has
// ended.
func (st *runStream) check(ctx context.Context) (ended bool, err error) {
	now, err := st.recheck(ctx)
	return err != nil || now.run != st.run || now.to != st.to, err
}

// send sends a batch of events and reports whether it holds the end of the run. Log lines are for the owner alone, and
// so is the reason of a state, which is that of a failure.
func (st *runStream) send(ctx context.Context, batch []pleat.Progress) (ended bool, err error) {
	if len(batch) == 0 {
		return false, nil
	}
	var files map[string]*api.Artifact
	if slices.ContainsFunc(batch, func(p pleat.Progress) bool { return p.Kind == pleat.ProgressArtifact }) {
		if files, err = st.files(ctx); err != nil {
			return false, err
		}
	}
	for i := range batch {
		p := &batch[i]
		st.last = p.Seq
		if p.Kind == pleat.ProgressLog && st.to == wire.ForOthers {
			continue
		}
		e := st.ids
		e.Seq, e.At, e.Kind, e.State, e.Stage, e.Done, e.Total = p.Seq, api.At(p.At), string(p.Kind), string(p.State),
			p.Stage, p.Done, p.Total
		switch p.Kind {
		case pleat.ProgressState:
			e.Error = p.Line
			if e.Error != "" && st.to == wire.ForOthers {
				e.Error = wire.HiddenFailure
			}
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

// allEvents is GET /v1/events, for any user: the changes of all of the caller's jobs and workflows from now on, or from
// the cursor in Last-Event-ID on. An event has the present state, not the steps between; the stream ends when the
// credential is revoked.
func (s *Server) allEvents(ctx context.Context, c *call) error {
	last, err := lastEventID(c.r)
	if err != nil {
		return err
	}
	if last == 0 {
		last = s.store.DB.Now().UnixMicro()
	}
	news, stop := s.store.DB.Subscribe(runs.OwnerTopic(c.in.Project))
	defer stop()
	ended, forget := s.credentialEnds(c) // before the client hears of the stream, and may revoke its key
	defer forget()
	st, closed, err := s.openStream(c)
	if closed != nil {
		defer closed()
	}
	if err != nil {
		return quiet(c, err)
	}
	return quiet(c, s.sendChanges(ctx, c, st, last, news, ended))
}

// sendChanges sends the changes after last, a cursor in µs, until the client leaves or its credential is revoked. news
// receives after a change, ended when the credential may have ended.
func (s *Server) sendChanges(
	ctx context.Context, c *call, st *sse, last int64, news, ended <-chan struct{},
) error {
	beat, tick := time.NewTicker(s.cfg.StreamHeartbeat), time.NewTicker(s.cfg.StreamPoll)
	defer beat.Stop()
	defer tick.Stop()
	sent := sentChanges{from: last, last: last}
	for read := (time.Time{}); ; {
		if !s.maySkip(read) {
			if err := s.writeChanges(ctx, c, st, &sent); err != nil {
				return err
			}
			read = time.Now()
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
		case <-ended:
			if _, err := s.identify(ctx, c.cred); err != nil {
				return err
			}
		case <-news:
			read = time.Time{}
		case <-tick.C:
			if s.open.ended(ctx, s, c.cred) {
				return nil
			}
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
func (s *Server) writeChanges(ctx context.Context, c *call, st *sse, t *sentChanges) error {
	since := max(t.from, t.last-changeOverlap.Microseconds())
	for {
		list, err := s.store.Runs.Changes(ctx, c.in, since, streamBatch)
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

// send writes a change to the stream unless it was sent before.
func (t *sentChanges) send(st *sse, n *runs.Change) error {
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
	return st.event(name, t.last, e)
}
