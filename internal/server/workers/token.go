package workers

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"pleat"
	"pleat/internal/clock"
	"pleat/internal/queue"
	"pleat/internal/seal"
	"pleat/internal/store/runs"
	"pleat/internal/store/tasks"
	"pleat/internal/store/workers"
	"pleat/internal/workerapi"
)

// caller is who makes a call: what the tokens of sessions and tasks say. The tokens are signed and not stored. They end
// with the class token by which the worker has registered.
type caller struct {
	Worker  pleat.WorkerID `json:"w"`
	Class   string         `json:"c"`
	Token   string         `json:"t"`           // hash of the class token
	Expires int64          `json:"e,omitempty"` // seconds since 1970 UTC; 0: with the lease
	Renewed bool           `json:"l,omitempty"` // the session gets a new token before it expires
	Task    *tokenTask     `json:"k,omitempty"` // that the call is about; nil: a session
}

// tokenTask is the task of a token, and what the server needs to know of it.
type tokenTask struct {
	ID       pleat.TaskID     `json:"id"`
	Attempt  int              `json:"n"`
	Run      pleat.RunID      `json:"r"`
	Owner    pleat.ProjectID  `json:"o"`
	Tenant   string           `json:"tn,omitempty"`
	Queue    string           `json:"q"`
	Workflow pleat.WorkflowID `json:"f,omitempty"` // empty: a fold
}

// lease is the lease under which the worker holds the task.
func (c *caller) lease() tasks.Lease {
	return tasks.Lease{Task: c.Task.ID, Attempt: c.Task.Attempt, Worker: c.Worker}
}

// task is the task as far as the token knows it.
func (c *caller) task() *pleat.Task {
	return &pleat.Task{
		ID:      c.Task.ID,
		Attempt: c.Task.Attempt,
		Worker:  c.Worker,
		Run:     c.Task.Run,
		Owner:   c.Task.Owner,
		Tenant:  cmp.Or(c.Task.Tenant, string(c.Task.Owner)), // of a token of an earlier version
		Queue:   c.Task.Queue,
	}
}

// Tokens begin with words by which scanners of code and logs find a leaked one.
const (
	sessionPrefix = "pleatsession_"
	taskPrefix    = "pleattask_"
	tokenLabel    = "worker token" // of the signing key
	// sessionLife is how long a session lasts that nothing bounds; a worker gets a new token before.
	sessionLife = 24 * time.Hour
	// sessionSlack is how long a session outlives the time at which its worker must end.
	sessionSlack = time.Hour
)

// sign returns a token.
func (g *Gateway) sign(prefix string, c *caller) string {
	raw, _ := json.Marshal(c) // of its fields none can fail
	text := base64.RawURLEncoding.EncodeToString(raw)
	return prefix + text + "." + g.cfg.Ring.Sign(tokenLabel, prefix, text)
}

// verify reads a token; nil if it is none of ours, or has expired.
func (g *Gateway) verify(prefix, token string) *caller {
	rest, ok := strings.CutPrefix(token, prefix)
	text, signature, dot := strings.Cut(rest, ".")
	if !ok || !dot || !g.cfg.Ring.Verify(tokenLabel, signature, prefix, text) {
		return nil
	}
	raw, err := base64.RawURLEncoding.DecodeString(text)
	c := &caller{}
	if err != nil || json.Unmarshal(raw, c) != nil || c.Expires != 0 && c.Expires < g.store.DB.Now().Unix() {
		return nil
	}
	return c
}

// sessionToken returns a token for a session that ends after some time.
func (g *Gateway) sessionToken(c caller, life time.Duration) string {
	c.Expires, c.Task = g.store.DB.Now().Add(life).Unix(), nil
	return g.sign(sessionPrefix, &c)
}

// taskToken returns the token of a task that a worker has claimed.
func (g *Gateway) taskToken(c caller, t *runs.ClaimedTask) string {
	c.Expires = 0
	c.Task = &tokenTask{
		ID:      t.Task.ID,
		Attempt: t.Task.Attempt,
		Run:     t.Task.Run,
		Owner:   t.Task.Owner,
		Tenant:  t.Task.Tenant,
		Queue:   t.Task.Queue,
	}
	if t.Workflow != nil {
		c.Task.Workflow = t.Workflow.ID
	}
	return g.sign(taskPrefix, &c)
}

func bearer(r *http.Request) string {
	token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	return token
}

// callerOfClass finds the class whose token a call carries.
func (g *Gateway) callerOfClass(r *http.Request) (*caller, error) {
	hash := seal.HashKey(bearer(r))
	class, ok, err := g.classOfToken(r.Context(), hash, tokensAge)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, pleat.ErrUnauthorized
	}
	return &caller{Class: class, Token: hash}, nil
}

// callerOfSession finds the worker whose session a call carries.
func (g *Gateway) callerOfSession(r *http.Request) (*caller, error) {
	return g.authenticate(r.Context(), g.verify(sessionPrefix, bearer(r)), tokensAge)
}

// callerOfTask finds the worker and the task that a call is about, which its path names too.
func (g *Gateway) callerOfTask(r *http.Request) (*caller, error) {
	c, err := g.authenticate(r.Context(), g.verify(taskPrefix, bearer(r)), tokensAge)
	if err == nil && (c.Task == nil || string(c.Task.ID) != r.PathValue("id")) {
		return nil, pleat.ErrUnauthorized
	}
	return c, err
}

// callerOfHeld is callerOfTask for calls that no verb of the store fences: pleat.ErrLost if the attempt has ended, so
// that a token gives access to nothing any more then.
func (g *Gateway) callerOfHeld(r *http.Request) (*caller, error) {
	c, err := g.callerOfTask(r)
	if err != nil {
		return nil, err
	}
	if err := g.checkHeld(r.Context(), c); err != nil {
		return nil, err
	}
	return c, nil
}

// checkHeld returns pleat.ErrLost if the attempt of a task's caller has ended.
func (g *Gateway) checkHeld(ctx context.Context, c *caller) error {
	outcome, err := g.store.Runs.AttemptOutcome(ctx, c.lease())
	if err == nil && outcome != "" {
		err = pleat.ErrLost
	}
	return err
}

// authenticate refuses a caller whose class token is not valid any more, by what the database said at most age ago.
func (g *Gateway) authenticate(ctx context.Context, c *caller, age time.Duration) (*caller, error) {
	if c == nil {
		return nil, pleat.ErrUnauthorized
	}
	class, ok, err := g.classOfToken(ctx, c.Token, age)
	if err != nil {
		return nil, err
	}
	if !ok || class != c.Class {
		return nil, pleat.ErrUnauthorized
	}
	return c, nil
}

// tokensAge is how old what the server knows of class tokens may be: a revoked one is refused within this time.
// classesAge is the same for the classes.
const (
	tokensAge  = time.Second
	classesAge = 5 * time.Second
)

// classOfToken returns the class of a class token, by its hash and by what the database said at most age ago; false if
// the token is not valid. One that was made since is valid too.
func (g *Gateway) classOfToken(ctx context.Context, hash string, age time.Duration) (string, bool, error) {
	return latest(ctx, &g.tokens, age,
		func(ctx context.Context) (map[string]string, error) {
			return g.store.Workers.FleetTokens(ctx, workers.TokenWorker)
		},
		func(valid map[string]string) (string, bool) {
			class, ok := valid[hash]
			return class, ok
		})
}

// snapshot is what a query has returned, for many calls.
type snapshot[T any] struct {
	mu      sync.Mutex
	value   T
	queried clock.Stopwatch // since the query began

	reading sync.Mutex // held while the query runs
}

// readPause is the least time between two queries of a snapshot, whatever strangers ask for.
const readPause = 20 * time.Millisecond

// latest finds something in a snapshot that is at most age old. A token that it lacks may be newer: then it is looked
// for again in a snapshot that is younger than the call.
func latest[T, V any](
	ctx context.Context, s *snapshot[T], age time.Duration, read func(context.Context) (T, error),
	find func(T) (V, bool),
) (V, bool, error) {
	call := clock.Start()
	value, err := s.since(ctx, call, age, read)
	if err == nil {
		if v, ok := find(value); ok {
			return v, true, nil
		}
		value, err = s.since(ctx, call, 0, read)
	}
	if err != nil {
		var no V
		return no, false, err
	}
	v, ok := find(value)
	return v, ok, nil
}

// since returns a value that was read since the start of a call, or is at most age old.
func (s *snapshot[T]) since(
	ctx context.Context, call clock.Stopwatch, age time.Duration, read func(context.Context) (T, error),
) (T, error) {
	if value, ok := s.get(call, age); ok {
		return value, nil
	}
	s.reading.Lock()
	defer s.reading.Unlock()
	if value, ok := s.get(call, age); ok { // read while this call waited
		return value, nil
	}
	var none T
	if !queue.Sleep(ctx, readPause-s.queried.Elapsed()) {
		return none, ctx.Err()
	}
	queried := clock.Start()
	value, err := read(ctx)
	if err != nil {
		return none, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.value, s.queried = value, queried
	return value, nil
}

// get returns the value if it was read since the start of a call, or is at most age old.
func (s *snapshot[T]) get(call clock.Stopwatch, age time.Duration) (T, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.value, s.queried.Compare(call) >= 0 || s.queried.Elapsed() <= age
}

// findClass returns a class; false if the service has none of this name.
func (g *Gateway) findClass(ctx context.Context, name string) (pleat.Class, bool, error) {
	return latest(ctx, &g.classes, classesAge, g.store.Workers.Classes, func(list []pleat.Class) (pleat.Class, bool) {
		i := slices.IndexFunc(list, func(k pleat.Class) bool { return k.Name == name })
		if i < 0 {
			return pleat.Class{}, false
		}
		return list[i], true
	})
}

// classOf returns the class of a token; an error of code forbidden if the service has it no more.
func (g *Gateway) classOf(ctx context.Context, name string) (pleat.Class, error) {
	k, ok, err := g.findClass(ctx, name)
	if err == nil && !ok {
		err = pleat.Errorf(pleat.CodeForbidden, "the service has no class %s any more", name)
	}
	return k, err
}

// checkQueues refuses queues that the workers of a class do not serve. Those of the default class may have engines of
// their own, so they may serve any model.
func (g *Gateway) checkQueues(ctx context.Context, class, field string, queues []string) error {
	if len(queues) > workerapi.MaxQueues {
		return pleat.InvalidField(field, " has %d names; at most %d are allowed", len(queues), workerapi.MaxQueues)
	}
	k, err := g.classOf(ctx, class)
	if err != nil {
		return err
	}
	for i, q := range queues {
		if err := checkName(indexed(field, i), q, 256); err != nil {
			return err
		}
		if class == pleat.DefaultClass && !pleat.IsWorkerQueue(q) || class != pleat.DefaultClass && !k.Serves(q) {
			return pleat.InvalidField(indexed(field, i), " is %q, which workers of the class %s do not serve",
				pleat.Clip(q), class)
		}
	}
	return nil
}
