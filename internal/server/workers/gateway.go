// Package workers answers the calls of workers that reach the service through a server, under /worker/v1. Package
// workerapi has the documents and the client, docs/worker-protocol.md the description.
//
// It speaks to the store for many workers with few connections: one transaction claims for all that wait, and one
// renews the leases of all whose heartbeats have come together. It must not decide what a task does, nor keep anything
// that another server would need: a worker may send each call to another server of the service.
package workers

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"pleat"
	"pleat/internal/blob"
	"pleat/internal/clock"
	"pleat/internal/fair"
	"pleat/internal/seal"
	"pleat/internal/store"
	"pleat/internal/store/runs"
	"pleat/internal/submit"
	"pleat/internal/tracing"
	"pleat/internal/workerapi"
)

// Config of a Gateway. Store, Blobs, Ring and Log must be set.
type Config struct {
	Store *store.Store
	Blobs *blob.Monitor
	Ring  *seal.Ring
	Log   *slog.Logger
	// Tracer begins the spans of calls about tasks; nil: there are none.
	Tracer *tracing.Tracer
	// Terms of the workers; zero: those of docs/worker-protocol.md.
	Terms pleat.WorkerTerms
	// Wait is how long calls that wait are held; 0: 25 s.
	Wait time.Duration
}

// Gateway is the handler of /worker/v1. Make one with New, and run it. It is safe for many goroutines.
type Gateway struct {
	cfg    Config
	store  *store.Store
	blobs  *blob.Monitor
	inputs *submit.References
	mux    *http.ServeMux

	tokens  snapshot[map[string]string]
	classes snapshot[[]pleat.Class]
	claims  dispatcher
	beats   chan heartbeat

	subscriptions subscriptions

	writing chan struct{}       // has a value for each call that writes to the database now
	waiting atomic.Int64        // calls that wait for that
	large   *fair.Turns[string] // of classes, whose large bodies are in memory
	probing sync.Mutex

	stop     chan struct{} // closed when calls that wait must end
	stopOnce sync.Once
}

const (
	// progressInterval is the time between reports of a run.
	progressInterval = 10 * time.Second
	// watchedInterval is the time between reports of a run that somebody watches.
	watchedInterval = time.Second
	waitDefault     = 25 * time.Second
	// maxWriting bounds the calls that write to the database at once, and maxWaiting those that wait for that: others
	// are refused for the moment.
	maxWriting = 12
	maxWaiting = 2000
	// maxLargeBodies bounds the bodies of over workerapi.MaxSmall in memory, and maxOfClass those of one class.
	maxLargeBodies = 4
	maxOfClass     = 2
	// A body arrives within bodyTime, and at slowestBody bytes per second beyond: who sends more slowly must not keep
	// the place of a large one.
	bodyTime    = 10 * time.Second
	slowestBody = 1 << 20
)

// New makes a Gateway.
func New(cfg Config) *Gateway {
	cfg.Terms.Lease = cmp.Or(cfg.Terms.Lease, pleat.RemoteLeaseDuration)
	cfg.Terms.Heartbeat = cmp.Or(cfg.Terms.Heartbeat, pleat.RemoteHeartbeatInterval)
	cfg.Terms.Progress = cmp.Or(cfg.Terms.Progress, progressInterval)
	cfg.Wait = cmp.Or(cfg.Wait, waitDefault)
	g := &Gateway{
		cfg:     cfg,
		store:   cfg.Store,
		blobs:   cfg.Blobs,
		inputs:  &submit.References{People: cfg.Store.People, Runs: cfg.Store.Runs, FetchPDB: true},
		mux:     http.NewServeMux(),
		beats:   make(chan heartbeat, 1024),
		writing: make(chan struct{}, maxWriting),
		large:   fair.NewTurns[string](maxLargeBodies, maxOfClass),
		stop:    make(chan struct{}),
	}
	g.claims.init(g)
	g.subscriptions.byWorker = map[pleat.WorkerID]*subscription{}
	g.routes()
	return g
}

// ServeHTTP implements http.Handler.
func (g *Gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) { g.mux.ServeHTTP(w, r) }

// EndWaits ends the calls that wait: their workers call another server, or this one after its restart.
func (g *Gateway) EndWaits() { g.stopOnce.Do(func() { close(g.stop) }) }

// Run does what the calls wait for, until ctx ends.
func (g *Gateway) Run(ctx context.Context) {
	var duties sync.WaitGroup
	duties.Go(func() { g.claims.run(ctx) })
	duties.Go(func() { g.sendHeartbeats(ctx) })
	duties.Go(func() { g.endSubscriptions(ctx) })
	duties.Wait()
}

// routes lists the calls.
func (g *Gateway) routes() {
	handle := func(pattern string, h http.HandlerFunc) {
		method, path, _ := strings.Cut(pattern, " ")
		g.mux.HandleFunc(method+" "+workerapi.Path+path, h)
	}
	const small, large = workerapi.MaxSmall, workerapi.MaxLarge
	handle("GET class", answered(g, g.callerOfClass, 0, g.class))
	handle("POST register", answered(g, g.callerOfClass, large, g.register))
	handle("POST claim", answered(g, g.callerOfSession, 16*small, g.claim)) // held may have MaxHeld leases
	handle("POST heartbeat", answered(g, g.callerOfSession, large, g.heartbeat))
	handle("POST watch", answered(g, g.callerOfSession, small, g.watch))
	handle("POST fresh", answered(g, g.callerOfSession, 4*small, g.fresh))
	handle("POST drain", answered(g, g.callerOfSession, small, g.drain))
	handle("POST stop", answered(g, g.callerOfSession, small, g.stopped))
	handle("POST deregister", answered(g, g.callerOfSession, small, g.deregister))
	handle("GET files", answered(g, g.callerOfSession, 0, g.probe))
	handle("GET blobs/{ref}", g.withErrors(g.download))
	handle("GET alignments/{group}/{name}", g.withErrors(g.readAlignment))
	handle("PUT alignments/{group}/{name}", g.withErrors(g.writeAlignment))
	handle("POST searches", answered(g, g.callerOfSession, large, g.claimSearches))
	handle("POST searches/end", answered(g, g.callerOfSession, large, g.endSearches))
	handle("POST searches/pause", answered(g, g.callerOfSession, small, g.pauseSearches))
	handle("POST tasks/{id}/files", answered(g, g.callerOfHeld, small, g.announce))
	handle("PUT tasks/{id}/files/{name}", g.withErrors(g.upload))
	handle("POST tasks/{id}/publish", answered(g, g.callerOfTask, small, g.publish))
	handle("POST tasks/{id}/checkpoint", answered(g, g.callerOfTask, small, g.checkpoint))
	handle("POST tasks/{id}/msa", answered(g, g.callerOfTask, small, g.setMSA))
	handle("POST tasks/{id}/finish", answered(g, g.callerOfTask, large, g.finish))
	handle("POST tasks/{id}/searched", answered(g, g.callerOfTask, large, g.searched))
	handle("POST tasks/{id}/release", answered(g, g.callerOfTask, large, g.release))
	handle("POST tasks/{id}/yield", answered(g, g.callerOfTask, large, g.yield))
	handle("POST tasks/{id}/others-wait", answered(g, g.callerOfHeld, small, g.othersWait))
	handle("POST tasks/{id}/cached-result", answered(g, g.callerOfHeld, small, g.cachedResult))
	handle("GET tasks/{id}/alignments", answered(g, g.callerOfHeld, 0, g.alignments))
	handle("GET tasks/{id}/templates", answered(g, g.callerOfHeld, 0, g.templates))
	handle("GET tasks/{id}/design", answered(g, g.callerOfHeld, 0, g.design))
	handle("GET tasks/{id}/components", answered(g, g.callerOfHeld, 0, g.components))
	handle("GET tasks/{id}/source", answered(g, g.callerOfHeld, 0, g.source))
	g.mux.HandleFunc(workerapi.Path, func(w http.ResponseWriter, r *http.Request) {
		g.fail(w, r, pleat.Errorf(pleat.CodeNotFound, "the worker protocol has no call %s %s", pleat.Clip(r.Method),
			pleat.Clip(r.URL.Path)))
	})
}

// none is the body of a call or of an answer that has nothing to say.
type none struct{}

// withErrors makes a handler of one that has not answered yet if it returns an error.
func (g *Gateway) withErrors(fn func(w http.ResponseWriter, r *http.Request) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if err := fn(w, r); err != nil {
			g.fail(w, r, err)
		}
	}
}

// answered makes a handler that finds out who calls, reads a body of at most limit bytes, and sends what fn returns.
func answered[In, Out any](
	g *Gateway, who func(r *http.Request) (*caller, error), limit int64,
	fn func(ctx context.Context, c *caller, in *In) (Out, error),
) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		c, err := who(r)
		ctx := r.Context()
		status := http.StatusOK
		if err == nil {
			traced, span := g.cfg.Tracer.ServeWorker(ctx, r, routeOf(r))
			ctx = traced
			defer func() { tracing.Answered(span, status) }()
		}
		in := new(In)
		if err == nil && limit > 0 {
			var done func()
			done, err = g.takeTurn(r, c.Class, limit)
			defer done()
			if err == nil {
				err = read(w, r, limit, in)
			}
		}
		var out Out
		if err == nil {
			out, err = fn(ctx, c, in)
		}
		if err != nil {
			status = g.fail(w, r, err)
			return
		}
		if _, nothing := any(out).(none); nothing {
			status = http.StatusNoContent
			w.WriteHeader(status)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(out) // an error means that the worker is gone
	}
}

// takeTurn bounds how many large bodies are in memory: a call that takes large ones waits for the turn of its class if
// its body is large, or a proxy has hidden the length. The turn lasts until done is called, when the call has ended.
func (g *Gateway) takeTurn(r *http.Request, class string, limit int64) (done func(), err error) {
	if limit < workerapi.MaxLarge || r.ContentLength >= 0 && r.ContentLength <= workerapi.MaxSmall {
		return func() {}, nil
	}
	if err := g.large.Acquire(r.Context(), class); err != nil {
		return func() {}, err
	}
	return func() { g.large.Release(class) }, nil
}

// read reads a JSON body. Unknown fields are ignored, so that a newer worker can call an older server.
func read(w http.ResponseWriter, r *http.Request, limit int64, in any) error {
	size := limit
	if r.ContentLength >= 0 {
		size = min(r.ContentLength, limit)
	}
	rc := http.NewResponseController(w)
	_ = rc.SetReadDeadline(clock.Deadline(bodyTime + time.Duration(size)*time.Second/slowestBody))
	raw, err := io.ReadAll(io.LimitReader(r.Body, limit+1))
	if err == nil {
		_ = rc.SetReadDeadline(time.Time{}) // the call may wait
	}
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return pleat.Errorf(pleat.CodeUnavailable,
			"the request body came more slowly than %d bytes in a second; try again", slowestBody)
	case err != nil:
		return pleat.Invalidf("the request body cannot be read to its end")
	case int64(len(raw)) > limit:
		return pleat.Errorf(pleat.CodeTooLarge, "the request body has more than %d bytes", limit)
	}
	if err := json.Unmarshal(raw, in); err != nil {
		return notOfCall(raw, err)
	}
	return nil
}

// notOfCall is the error for a body that is not the JSON of its call. It names the field at fault.
func notOfCall(raw []byte, err error) error {
	var wrong *json.UnmarshalTypeError
	switch {
	case len(raw) == 0:
		return pleat.Invalidf("the request body is empty; it must be a JSON object")
	case !errors.As(err, &wrong):
		return pleat.Invalidf("the request body is not the JSON of this call: %s", pleat.Clip(err.Error()))
	case wrong.Field == "":
		return pleat.Invalidf("the request body is a JSON %s; it must be an object", wrong.Value)
	}
	path := strings.Split(wrong.Field, ".")
	path = slices.DeleteFunc(path, func(s string) bool { // the name of an embedded type, which is not in the JSON
		return s != "" && s[0] >= 'A' && s[0] <= 'Z'
	})
	return pleat.InvalidField(strings.Join(path, "."), " is a JSON %s; it must be %s", pleat.Clip(wrong.Value),
		kindOf(wrong.Type))
}

// kindOf describes the JSON of a Go type.
func kindOf(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Bool:
		return "true or false"
	case reflect.Int, reflect.Int64:
		return "a whole number"
	case reflect.Float64:
		return "a number"
	case reflect.Slice, reflect.Array:
		return "a list"
	case reflect.Struct, reflect.Map:
		return "an object"
	}
	return "a text"
}

// writes runs fn when there is room for another transaction. Many workers may end tasks at once, and the database is
// for the users of the service too.
func (g *Gateway) writes(ctx context.Context, fn func() error) error {
	if g.waiting.Add(1) > maxWaiting {
		g.waiting.Add(-1)
		return pleat.Errorf(pleat.CodeLimited, "the server has too many calls of workers to answer; try again")
	}
	select {
	case g.writing <- struct{}{}:
		g.waiting.Add(-1)
	case <-ctx.Done():
		g.waiting.Add(-1)
		return ctx.Err()
	}
	defer func() { <-g.writing }()
	return fn()
}

// statusOf is the HTTP status of a code: one of the worker protocol, or one of the service.
func statusOf(code pleat.Code) int {
	switch code {
	case workerapi.CodeLost, workerapi.CodeSourceGone, workerapi.CodeDamaged:
		return http.StatusConflict
	case workerapi.CodeVersion:
		return http.StatusUpgradeRequired
	}
	return code.Status()
}

// retryAfter is how many seconds a worker that is refused for the moment waits at least.
const retryAfter = 1

// routeOf returns the path of the pattern that a call matched.
func routeOf(r *http.Request) string {
	_, path, _ := strings.Cut(r.Pattern, " ")
	return path
}

// statusGone stands for a worker that left before it was answered.
const statusGone = 499

// fail answers with an error, and returns the status. The cause of a fault of the service is logged, not sent.
func (g *Gateway) fail(w http.ResponseWriter, r *http.Request, err error) int {
	if errors.Is(err, context.Canceled) && r.Context().Err() != nil {
		return statusGone
	}
	code, message := pleat.CodeInternal, "internal error"
	var e *pleat.Error
	switch {
	case errors.Is(err, pleat.ErrLost):
		code, message = workerapi.CodeLost, pleat.ErrLost.Message
	case errors.Is(err, runs.ErrSourceGone):
		code, message = workerapi.CodeSourceGone, runs.ErrSourceGone.Message
	case errors.Is(err, blob.ErrDamaged) && errors.As(err, &e):
		code, message = workerapi.CodeDamaged, e.Message
	case errors.As(err, &e) && e.Code != pleat.CodeInternal:
		code, message = e.Code, e.Message
	}
	status := statusOf(code)
	if status >= 500 && !errors.Is(err, errStopping) { // that is the end of each call that waits
		g.cfg.Log.Error("a call of a worker failed", "route", r.Pattern, "error", err)
	}
	h := w.Header()
	h.Set(workerapi.CodeHeader, string(code))
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "no-store")
	switch status {
	case http.StatusUnauthorized:
		h.Set("WWW-Authenticate", "Bearer")
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		h.Set("Retry-After", strconv.Itoa(retryAfter))
	}
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(workerapi.Error{Message: message})
	return status
}

// until waits for ch until the wait that a worker asks for is over. It returns false if nothing came.
func until[T any](ctx context.Context, g *Gateway, seconds workerapi.Seconds, ch <-chan T) (got T, ok bool) {
	wait := time.NewTimer(min(max(seconds.Duration(), 0), workerapi.MaxWait))
	defer wait.Stop()
	select {
	case got = <-ch:
		return got, true
	case <-wait.C:
	case <-ctx.Done():
	case <-g.stop:
	}
	return got, false
}

// stopping reports whether calls that wait must end.
func (g *Gateway) stopping() bool {
	select {
	case <-g.stop:
		return true
	default:
		return false
	}
}

// errStopping is the error of a call that would wait while the server ends.
var errStopping = pleat.Errorf(pleat.CodeUnavailable, "this server is about to end; call again")

// errUnknownWorker is the error for a worker that the database does not know: it has been away for a week.
var errUnknownWorker = pleat.Errorf(pleat.CodeUnauthorized, "the service does not know this worker; register again")

// checkName refuses a name that does not fit a column or a log line.
func checkName(field, name string, most int) error {
	if len(name) > most {
		return pleat.InvalidField(field, " has %d characters; at most %d are allowed", len(name), most)
	}
	for i := range len(name) {
		if name[i] < ' ' || name[i] == 0x7f {
			return pleat.InvalidField(field, " has a control character at position %d", i+1)
		}
	}
	return nil
}

// storable returns a text of an engine as PostgreSQL takes it, without NUL, and at most maxLine bytes of it. A worker
// whose engine says something odd shall not lose its task for that.
func storable(text string) string {
	if len(text) > maxLine {
		text = strings.ToValidUTF8(text[:maxLine], "")
	}
	return strings.ReplaceAll(text, "\x00", "\ufffd")
}

// checkCount refuses a list that is too long.
func checkCount(field string, n, most int) error {
	if n > most {
		return pleat.InvalidField(field, " has %d entries; at most %d are allowed", n, most)
	}
	return nil
}

// checkID refuses an id that is none.
func checkID(field, id string) error {
	if !pleat.IsUUID(id) {
		return pleat.InvalidField(field, " is %q; it must be a UUID", pleat.Clip(id))
	}
	return nil
}

// checkNotNegative refuses a number below 0.
func checkNotNegative(field string, n int64) error {
	if n < 0 {
		return pleat.InvalidField(field, " is %d; it must not be negative", n)
	}
	return nil
}

// indexed is the path of element i of a list.
func indexed(field string, i int) string { return fmt.Sprintf("%s[%d]", field, i) }
