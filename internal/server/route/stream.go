package route

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"pleat"
	"pleat/internal/clock"
	"pleat/internal/fair"
	"pleat/internal/store/people"
)

const (
	// StrangerStreams is how many streams all callers without a valid credential may have open on a node.
	StrangerStreams = 1024
	// streamWrite is how long one write to a client may take.
	streamWrite = 20 * time.Second
)

// openStreams are the event streams that a node has open.
type openStreams struct {
	count       fair.Streams
	credentials openCredentials
	ending      chan struct{} // closed when they must end
	once        sync.Once
}

// newOpenStreams returns none.
func newOpenStreams(cfg Config) openStreams {
	return openStreams{
		count:       fair.Streams{Each: cfg.Streams, Strangers: StrangerStreams},
		credentials: openCredentials{checkEvery: cfg.CredentialCheck},
		ending:      make(chan struct{}),
	}
}

// end ends all event streams.
func (o *openStreams) end() { o.once.Do(func() { close(o.ending) }) }

// Events is an open stream of server-sent events, in the format of the HTML standard (section «Server-sent events»).
// Events are buffered until Flush, so that a batch of them is one write.
type Events struct {
	c               *Call
	rc              *http.ResponseController
	b               bytes.Buffer
	heartbeat, tick *time.Ticker
	credential      <-chan struct{} // receives when the caller's credential may have ended
}

// OpenStream lifts the connection's read deadline and sends the header, which tells proxies not to buffer. If closed is
// not nil, the caller calls it when the stream ends, whatever err is. poll is the shortest time between two wakes that
// are a WakePoll; 0: that of the configuration. credential is what CredentialEnds returned, which must be called before
// a client hears of the stream and may revoke its key. 429: the caller, or all callers without a valid credential
// together, have too many open streams.
func (c *Call) OpenStream(
	credential <-chan struct{}, poll time.Duration,
) (stream *Events, closed func(), err error) {
	k := c.core
	release, err := c.Acquire(&k.streams.count)
	if err != nil {
		return nil, nil, err
	}
	k.meters.streams.Inc()
	k.streams.credentials.add(c.Cred)
	st := &Events{
		c:          c,
		rc:         http.NewResponseController(c.W),
		heartbeat:  time.NewTicker(k.cfg.StreamHeartbeat),
		tick:       time.NewTicker(max(k.cfg.StreamPoll, poll)),
		credential: credential,
	}
	closed = func() {
		st.heartbeat.Stop()
		st.tick.Stop()
		k.streams.credentials.remove(c.Cred)
		release()
		k.meters.streams.Dec()
	}
	_ = st.rc.SetReadDeadline(time.Time{})
	h := c.W.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no")
	c.W.WriteHeader(http.StatusOK)
	st.comment("open")
	return st, closed, st.Flush()
}

// comment adds a comment to the stream, which clients ignore; it keeps proxies from closing the connection.
func (st *Events) comment(text string) { st.b.WriteString(": " + text + "\n\n") }

// Add adds an event with v as its JSON data.
func (st *Events) Add(name, id string, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	st.b.WriteString("event: " + name + "\nid: " + id + "\ndata: ")
	st.b.Write(data)
	st.b.WriteString("\n\n")
	return nil
}

// Empty reports whether nothing is buffered.
func (st *Events) Empty() bool { return st.b.Len() == 0 }

// Flush sends what is buffered. A client that does not read for streamWrite is disconnected, so that it cannot hold the
// stream's goroutine.
func (st *Events) Flush() error {
	_ = st.rc.SetWriteDeadline(clock.Deadline(streamWrite))
	if _, err := st.c.W.Write(st.b.Bytes()); err != nil {
		return err
	}
	st.b.Reset()
	return st.rc.Flush()
}

// Wake is why an event stream goes on.
type Wake int

const (
	// WakeEnd says that the stream must end: the client or the credential has gone, or the server ends.
	WakeEnd Wake = iota
	// WakeCheck asks whether the caller may still read: a heartbeat was sent, or the credential may have ended.
	WakeCheck
	// WakeNews says that what the stream tells of may have changed.
	WakeNews
	// WakePoll says that it is time to look, since news can be lost.
	WakePoll
)

// Next waits for the next wake. news receives when what the stream tells of may have changed. The error is that of a
// write to the client.
func (st *Events) Next(ctx context.Context, news <-chan struct{}) (Wake, error) {
	k := st.c.core
	select {
	case <-ctx.Done():
		return WakeEnd, nil
	case <-k.streams.ending:
		return WakeEnd, nil
	case <-st.heartbeat.C:
		st.comment("here")
		return WakeCheck, st.Flush()
	case <-st.credential:
		return WakeCheck, nil
	case <-news:
		return WakeNews, nil
	case <-st.tick.C:
		if k.streams.credentials.hasEnded(ctx, k.stores.people, st.c.Cred) {
			return WakeEnd, nil
		}
		return WakePoll, nil
	}
}

// MaySkip reports whether a stream that read the database at a time, and that no news woke, may skip a poll: where
// NOTIFY brings the news of other processes, every fifth suffices.
func (st *Events) MaySkip(read clock.Stopwatch) bool {
	k := st.c.core
	return k.stores.db.Notified() && read.Elapsed() < 5*k.cfg.StreamPoll
}

// CredentialEnds returns a channel that gets news when the credential of a call may have ended, and a function that
// ends the subscription. Without a credential there is never news.
func (c *Call) CredentialEnds() (news <-chan struct{}, forget func()) {
	recent, ok := c.core.callers.known.Get(c.Cred.Hash)
	if !ok {
		return nil, func() {}
	}
	return c.core.stores.db.Subscribe(recent.who.Topic())
}

// EventID is the id of an event of a run: a client that reconnects may find that the stream is that of a later run.
func EventID(run pleat.RunID, seq int64) string {
	return string(run) + ":" + strconv.FormatInt(seq, 10)
}

// LastEventID returns what the id of the last event says that the client has received: the run, which is empty if the
// id names none, and the number; 0: the client has received none. Browsers and the Client send it when they reconnect.
func (c *Call) LastEventID() (run pleat.RunID, n int64, err error) {
	v := c.R.Header.Get("Last-Event-ID")
	if v == "" {
		return "", 0, nil
	}
	id, number, named := strings.Cut(v, ":")
	if !named {
		id, number = "", v
	}
	n, err = strconv.ParseInt(number, 10, 64)
	if err != nil || n < 0 || named && !pleat.IsUUID(id) {
		return "", 0, pleat.InvalidField("Last-Event-ID", " is %q; it must be the id of an event of this stream",
			pleat.Clip(v))
	}
	return pleat.RunID(id), n, nil
}

// openCredentials are the credentials of the open event streams. One query for all of them finds out, every checkEvery,
// which have ended: news of that from another process can be lost, and between processes on SQLite there is none.
type openCredentials struct {
	checkEvery time.Duration

	mu       sync.Mutex
	streams  map[Credential]int // open ones
	invalid  map[Credential]bool
	checked  clock.Stopwatch
	checking bool
}

// add counts a stream of a credential.
func (o *openCredentials) add(cred Credential) {
	if cred.Hash == "" {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.streams == nil {
		o.streams, o.invalid = map[Credential]int{}, map[Credential]bool{}
	}
	o.streams[cred]++
}

// remove ends what add began.
func (o *openCredentials) remove(cred Credential) {
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

// hasEnded reports whether the credential of a stream has ended. The first stream that asks after checkEvery checks all
// credentials; the others do not wait for it. If the database does not answer, no stream ends.
func (o *openCredentials) hasEnded(ctx context.Context, from *people.Store, cred Credential) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.checking && o.checked.Elapsed() >= o.checkEvery && len(o.streams) > 0 {
		o.checking = true
		all := slices.Collect(maps.Keys(o.streams))
		o.mu.Unlock()
		valid, err := validCredentials(ctx, from, all)
		o.mu.Lock()
		o.checking, o.checked = false, clock.Start()
		for _, c := range all {
			if err == nil && !valid[c.Hash] && o.streams[c] > 0 {
				o.invalid[c] = true
			}
		}
	}
	return o.invalid[cred]
}

// validCredentials returns the hashes of the credentials that are valid now.
func validCredentials(ctx context.Context, from *people.Store, all []Credential) (map[string]bool, error) {
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
	return from.ValidCredentials(ctx, keys, sessions, logins)
}
