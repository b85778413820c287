package workerapi

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"strconv"
	"sync"
	"time"

	"pleat"
	"pleat/internal/blob"
	"pleat/internal/clock"
	"pleat/internal/queue"
	"pleat/internal/store/runs"
	"pleat/internal/tracing"
	"pleat/internal/words"
)

// Options of a Client. Server, Token and Log must be set.
type Options struct {
	// Server is the URL of the server, without a slash at its end; a path in it begins the paths of the calls.
	Server string
	Token  string // of the worker's class
	// Roots are the authorities whose certificates the server may have; nil: those of the system.
	Roots *x509.CertPool
	// Timeout bounds a call, besides the time for which the server holds it; 0: 30 s.
	Timeout time.Duration
	Clock   func() time.Time // nil: the machine's
	Log     *slog.Logger
}

// Client is the service as one worker sees it through a server. It implements the interfaces of package work that
// work.Direct and work.DirectFiles implement for a worker with a database. Register the worker before other calls, and
// close the client after the worker has ended.
//
// An error that may pass, such as a server that does not answer, has pleat.CodeUnavailable. All calls may be repeated:
// the server answers a repetition as it did the first time.
type Client struct {
	base  string // URL of the server
	token string
	http  *http.Client
	clock func() time.Time
	log   *slog.Logger

	timeout time.Duration // of a call that the server does not hold

	// life ends with Close, and awaited are the goroutines that it ends.
	life    context.Context //nolint:containedctx // goroutines that no caller waits for end with it
	end     context.CancelFunc
	awaited sync.WaitGroup
	polling sync.Once
	// over ends when the server has ended the session.
	over    context.Context //nolint:containedctx // it tells the calls under way
	setOver context.CancelFunc

	mu       sync.Mutex
	worker   pleat.WorkerID
	session  string
	wait     time.Duration // that calls ask to be held
	refused  error         // why the server does not know the session any more
	attempts map[pleat.TaskID]*attempt
	known    Orders // that WatchWorker has returned
	claims   claims
	failing  bool // the last transfer of a file failed
}

// NewClient returns a client of a server.
func NewClient(o Options) *Client {
	c := &Client{
		base:     o.Server,
		token:    o.Token,
		http:     &http.Client{Transport: newTransport(o.Roots), CheckRedirect: refuseRedirect},
		clock:    clock.Or(o.Clock),
		log:      o.Log,
		timeout:  cmp.Or(o.Timeout, callTimeout),
		attempts: map[pleat.TaskID]*attempt{},
	}
	c.claims.init()
	c.life, c.end = context.WithCancel(context.Background())
	c.over, c.setOver = context.WithCancel(c.life)
	return c
}

// newTransport returns what sends the requests. It obeys HTTPS_PROXY.
func newTransport(roots *x509.CertPool) *http.Transport {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.MaxIdleConnsPerHost = 16 // a held claim, a held watch, heartbeats, and files
	// With HTTP/2 all calls would share a connection, and wait for one that is dead.
	t.Protocols = &http.Protocols{}
	t.Protocols.SetHTTP1(true)
	t.TLSClientConfig = &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
	return t
}

// refuseRedirect ends a request that is redirected: the token is for this server alone.
func refuseRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// Close ends what the client does by itself. It tells the server, if ctx allows, that the worker holds nothing any
// more, so that a task whose claim was lost on the way need not wait for its lease to end.
func (c *Client) Close(ctx context.Context) {
	c.end()
	c.awaited.Wait()
	if c.sessionToken() != "" && c.Refused() == nil {
		if err := c.call(ctx, request{path: "deregister", in: struct{}{}}); err != nil {
			c.log.Warn("the server was not told that the worker ends", "error", err)
		}
	}
	c.http.CloseIdleConnections()
}

// Refused returns why the server has ended the worker's session; nil: it has not.
func (c *Client) Refused() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.refused
}

// Class reads the class of the token. A worker needs it before it registers.
func (c *Client) Class(ctx context.Context) (Class, error) {
	var out Class
	err := c.call(ctx, request{method: http.MethodGet, path: "class", token: c.token, out: &out})
	return out, err
}

// RegisterWorker makes the worker known to the server. An error other than pleat.CodeUnavailable will not pass.
func (c *Client) RegisterWorker(ctx context.Context, w pleat.Worker) (pleat.WorkerTerms, error) {
	in := Registration{
		Protocol:   Version,
		Oldest:     Oldest,
		Worker:     w.ID,
		Version:    pleat.Version,
		Host:       w.Host,
		ClusterJob: w.ClusterJob,
		Queues:     w.Queues,
		Models:     w.Models,
		Devices:    w.Devices,
		Memory:     w.Memory,
	}
	if !w.Ends.IsZero() {
		in.Left = SecondsOf(max(w.Ends.Sub(c.clock()), time.Second))
	}
	var out Registered
	if err := c.call(ctx, request{path: "register", token: c.token, in: in, out: &out}); err != nil {
		return pleat.WorkerTerms{}, err
	}
	c.mu.Lock()
	c.worker, c.session, c.wait = w.ID, out.Session, min(out.Wait.Duration(), MaxWait)
	c.mu.Unlock()
	c.polling.Do(func() { c.awaited.Go(c.poll) })
	return pleat.WorkerTerms{
		Lease:     out.Lease.Duration(),
		Heartbeat: out.Heartbeat.Duration(),
		Progress:  out.Progress.Duration(),
	}, nil
}

// WatchWorker waits until the server has orders for the worker that it does not know, or for a while.
func (c *Client) WatchWorker(ctx context.Context, _ pleat.WorkerID) (runs.WorkerOrders, error) {
	c.mu.Lock()
	in := Watch{Wait: SecondsOf(c.wait), Cancelled: c.known.Cancel, Draining: c.known.Drain}
	c.mu.Unlock()
	var out Orders
	held, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(c.over, cancel)()
	err := c.call(held, request{path: "watch", in: in, out: &out, held: in.Wait.Duration()})
	if c.Refused() != nil && ctx.Err() == nil {
		if in.Draining { // nothing more comes
			<-ctx.Done()
		}
		err, out.Drain = nil, true
	}
	if err != nil {
		return runs.WorkerOrders{}, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if out.Session != "" {
		c.session = out.Session
	}
	c.known = Orders{Cancel: out.Cancel, Drain: out.Drain}
	return runs.WorkerOrders{Cancel: out.Cancel, Drain: out.Drain}, nil
}

// DrainWorker tells the server that the worker claims nothing more.
func (c *Client) DrainWorker(ctx context.Context, _ pleat.WorkerID) error {
	return c.call(ctx, request{path: "drain", in: struct{}{}})
}

// StopWorker tells the server that the worker ends.
func (c *Client) StopWorker(ctx context.Context, _ pleat.WorkerID) error {
	return c.call(ctx, request{path: "stop", in: struct{}{}})
}

// Heartbeat renews the leases of tasks.
func (c *Client) Heartbeat(
	ctx context.Context, _ pleat.WorkerID, beats []pleat.Heartbeat,
) ([]pleat.HeartbeatReply, error) {
	if len(beats) > MaxTasks {
		first, err := c.Heartbeat(ctx, "", beats[:MaxTasks])
		if err != nil {
			return nil, err
		}
		rest, err := c.Heartbeat(ctx, "", beats[MaxTasks:])
		return append(first, rest...), err
	}
	in := Heartbeat{}
	for _, b := range beats {
		in.Tasks = append(in.Tasks, TaskHeartbeat{Lease{b.Task, b.Attempt}, c.report(b.Progress)})
	}
	var reply HeartbeatReply
	soon, cancel := context.WithTimeout(ctx, heartbeatTimeout)
	defer cancel()
	err := c.call(soon, request{path: "heartbeat", in: in, out: &reply})
	out := make([]pleat.HeartbeatReply, len(beats))
	if pleat.CodeOf(err) == pleat.CodeUnauthorized { // the service has given the tasks to others
		for i, b := range beats {
			out[i] = pleat.HeartbeatReply{Task: b.Task, Lost: true}
		}
		return out, nil
	}
	if err == nil && len(reply.Tasks) != len(beats) {
		err = pleat.Errorf(pleat.CodeUnavailable, "the server answered %d of %d heartbeats", len(reply.Tasks),
			len(beats))
	}
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, r := range reply.Tasks {
		if r.Lost {
			c.forget(beats[i].Task, beats[i].Attempt)
		}
		out[i] = pleat.HeartbeatReply{
			Task:          r.Task,
			Cancel:        r.Cancel,
			Lost:          r.Lost,
			ProgressAfter: r.Progress.Duration(),
		}
	}
	return out, nil
}

// request is one call of the server.
type request struct {
	method string        // empty: POST
	path   string        // below Path
	route  string        // the path with placeholders, in the name of its span; empty: it has none
	token  string        // empty: the session's
	in     any           // sent as JSON; nil: no body
	out    any           // read from JSON; nil: the body is dropped
	held   time.Duration // how long the server may hold it
}

const (
	// heartbeatTimeout bounds a heartbeat, so that two more fit into the lease.
	heartbeatTimeout = (pleat.RemoteLeaseDuration - pleat.RemoteHeartbeatInterval) / 3
	// callTimeout is Options.Timeout where none is set.
	callTimeout = 30 * time.Second
	// maxAnswer bounds the JSON of an answer, in bytes.
	maxAnswer = 256 << 20
	// maxError bounds the body of an error, in bytes, and maxMessage its message.
	maxError   = 64 << 10
	maxMessage = 2000
)

// call sends a request and reads its answer. The error of a server that does not answer has pleat.CodeUnavailable.
func (c *Client) call(ctx context.Context, r request) error {
	ctx, cancel := context.WithTimeout(ctx, r.held+c.timeout)
	defer cancel()
	var body io.Reader
	if r.in != nil {
		raw, err := json.Marshal(r.in)
		if err != nil {
			return fmt.Errorf("encode %s: %w", r.path, err)
		}
		body = bytes.NewReader(raw)
	}
	resp, err := c.send(ctx, r, body)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if r.out == nil || resp.StatusCode == http.StatusNoContent {
		_, err = io.Copy(io.Discard, io.LimitReader(resp.Body, maxError)) // so that the connection is used again
	} else {
		err = json.NewDecoder(io.LimitReader(resp.Body, maxAnswer)).Decode(r.out)
	}
	if err != nil {
		return unavailable(ctx, err)
	}
	return nil
}

// send sends a request, and turns an error response into an error. The caller closes the body.
func (c *Client) send(ctx context.Context, r request, body io.Reader) (*http.Response, error) {
	if r.method == "" {
		r.method = http.MethodPost
	}
	status := 0
	if r.route != "" {
		traced, span := tracing.Call(ctx, r.method, Path+r.route, c.base)
		ctx = traced
		defer func() { tracing.EndCall(span, status) }()
	}
	req, err := http.NewRequestWithContext(ctx, r.method, c.base+Path+r.path, body)
	if err != nil {
		return nil, fmt.Errorf("make the request %s: %w", r.path, err)
	}
	tracing.Carry(ctx, req.Header)
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	session := r.token == ""
	if session {
		r.token = c.sessionToken()
	}
	req.Header.Set("Authorization", "Bearer "+r.token)
	req.Header.Set("User-Agent", "pleat-worker/"+pleat.Version)
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, unavailable(ctx, err)
	}
	if status = resp.StatusCode; status < 300 {
		return resp, nil
	}
	defer resp.Body.Close()
	err = c.refusal(ctx, resp)
	if session && pleat.CodeOf(err) == pleat.CodeUnauthorized {
		why := errors.New("the server has ended the worker's session: its class token was revoked")
		if err.Error() != pleat.ErrUnauthorized.Message {
			why = fmt.Errorf("the server has ended the worker's session: %w", err)
		}
		c.mu.Lock()
		c.refused = why
		c.mu.Unlock()
		c.setOver()
	}
	return nil, err
}

// sessionToken returns the bearer token of the session; empty: the worker has not registered.
func (c *Client) sessionToken() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.session
}

// refusal reads the error of a response. After 429 and 503 it waits as long as the server asks for, so that the next
// try of the caller comes in time.
func (c *Client) refusal(ctx context.Context, resp *http.Response) error {
	var e Error
	_ = json.NewDecoder(io.LimitReader(resp.Body, maxError)).Decode(&e)
	code := pleat.Code(resp.Header.Get(CodeHeader))
	message := words.Shorten(e.Message, maxMessage)
	if message == "" {
		message = fmt.Sprintf("the server answered %d", resp.StatusCode)
	}
	switch {
	case code == CodeLost:
		return pleat.ErrLost
	case code == CodeSourceGone:
		return runs.ErrSourceGone
	case code == CodeDamaged:
		return &pleat.Error{Code: pleat.CodeConflict, Message: message, Err: blob.ErrDamaged}
	case resp.StatusCode == http.StatusTooManyRequests || resp.StatusCode >= 500:
		retryAfter(ctx, resp.Header.Get("Retry-After"))
		return pleat.Errorf(pleat.CodeUnavailable, "%s", message)
	case code == "": // no Pleat answered, but something between
		return pleat.Errorf(pleat.CodeUnavailable, "the server's address answered %d, not as Pleat does",
			resp.StatusCode)
	case code == CodeVersion:
		return pleat.Errorf(pleat.CodeConflict, "%s", message)
	}
	return pleat.Errorf(code, "%s", message)
}

// maxRetryAfter bounds how long refusal waits.
const maxRetryAfter = 30 * time.Second

// retryAfter waits as long as a Retry-After header says, and up to as long again, so that clients that were refused
// together do not come back together.
func retryAfter(ctx context.Context, header string) {
	n, err := strconv.Atoi(header)
	if err != nil || n <= 0 {
		return
	}
	wait := min(time.Duration(n)*time.Second, maxRetryAfter)
	queue.Sleep(ctx, wait+rand.N(wait))
}

// unavailable returns the error for a request that got no answer. One that its caller ended keeps that cause.
func unavailable(ctx context.Context, err error) error {
	if errors.Is(ctx.Err(), context.Canceled) && !errors.Is(context.Cause(ctx), errStalled) {
		return context.Canceled
	}
	return &pleat.Error{
		Code:    pleat.CodeUnavailable,
		Message: "the server does not answer",
		Err:     words.WithoutAddress(err),
	}
}
