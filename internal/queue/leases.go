package queue

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"pleat"
	"pleat/internal/store/runs"
	"pleat/internal/store/tasks"
)

// ErrStopped is the cause with which a Held task is cancelled because its owner stopped it. One that another worker has
// claimed is cancelled with pleat.ErrLost.
var ErrStopped = errors.New("stopped by its owner")

// MaxPending bounds the progress of one task that waits for a heartbeat.
const MaxPending = 500

// heartbeatCheck is how often Leases looks for progress to send and leases to renew.
const heartbeatCheck = 500 * time.Millisecond

// Held is a task that this process has claimed and not ended yet.
type Held struct {
	tasks.Lease
	Run pleat.RunID // whose progress it reports; empty: none

	ctx    context.Context //nolint:containedctx // it is the life of the lease
	cancel context.CancelCauseFunc

	// sending holds a value while a heartbeat for the task is under way.
	sending chan struct{}

	mu       sync.Mutex
	pending  []pleat.Progress // not sent yet
	renewed  time.Time
	reported time.Time     // when progress was sent last
	interval time.Duration // between two reports of progress
}

// Context lives as long as the task is held. It ends early with ErrStopped, pleat.ErrLost or the cause of an
// interruption.
func (h *Held) Context() context.Context { return h.ctx }

// Report keeps progress for the next heartbeat, at most MaxPending entries. A stage replaces the last report of the
// same stage.
func (h *Held) Report(p pleat.Progress) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if p.Kind == pleat.ProgressStage {
		for i := len(h.pending) - 1; i >= 0; i-- {
			if h.pending[i].Kind != pleat.ProgressStage {
				continue
			}
			if h.pending[i].Stage == p.Stage {
				h.pending[i] = p
				return
			}
			break
		}
	}
	if len(h.pending) < MaxPending {
		h.pending = append(h.pending, p)
	}
}

// DrainProgress takes the progress that was not stored yet. It waits for a heartbeat under way: if the task ended first
// the store would drop that progress. If ctx ends first, it takes nothing.
func (h *Held) DrainProgress(ctx context.Context) []pleat.Progress {
	select {
	case h.sending <- struct{}{}:
	case <-ctx.Done():
		return nil
	}
	defer h.sent()
	h.mu.Lock()
	defer h.mu.Unlock()
	out := h.pending
	h.pending = nil
	return out
}

// heartbeat returns what to send for the task now, if anything is due: progress, or a renewal, which is due every
// interval. The caller ends it with sent.
func (h *Held) heartbeat(now time.Time, interval time.Duration) (pleat.Heartbeat, bool) {
	h.sending <- struct{}{}
	h.mu.Lock()
	defer h.mu.Unlock()
	report := len(h.pending) > 0 && now.Sub(h.reported) >= h.interval
	if !report && now.Sub(h.renewed) < interval {
		h.sent()
		return pleat.Heartbeat{}, false
	}
	if len(h.pending) > 0 {
		h.reported = now
	}
	b := pleat.Heartbeat{Task: h.Task, Attempt: h.Attempt, Run: h.Run, Progress: h.pending}
	h.pending = nil
	return b, true
}

// sent ends a heartbeat.
func (h *Held) sent() { <-h.sending }

// restore puts progress back that could not be stored.
func (h *Held) restore(list []pleat.Progress) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.pending = append(list, h.pending...)
	if excess := len(h.pending) - MaxPending; excess > 0 {
		h.pending = h.pending[excess:]
	}
}

func (h *Held) setRenewed(at time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.renewed = at
}

func (h *Held) setInterval(d time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.interval = d
}

// Renewer renews leases. The store is one, and so is a client of a server.
type Renewer interface {
	Heartbeat(ctx context.Context, worker pleat.WorkerID, beats []pleat.Heartbeat) ([]pleat.HeartbeatReply, error)
}

// Leases are the tasks that one worker holds. Make them with NewLeases; Run keeps them.
type Leases struct {
	store  Renewer
	worker pleat.WorkerID
	clock  func() time.Time
	log    *slog.Logger
	fault  Fault // of Run

	mu    sync.Mutex
	terms pleat.WorkerTerms
	held  map[pleat.TaskID]*Held
	wake  chan struct{} // sends the next heartbeat at once
}

// NewLeases makes the Leases of a worker, which holds nothing yet.
func NewLeases(s Renewer, worker pleat.WorkerID, clock func() time.Time, log *slog.Logger) *Leases {
	return &Leases{
		store:  s,
		worker: worker,
		clock:  clock,
		log:    log,
		fault:  Fault{What: "cannot renew leases"},
		terms:  DirectTerms,
		held:   map[pleat.TaskID]*Held{},
		wake:   make(chan struct{}, 1),
	}
}

// Start frees the tasks that an earlier process with the worker's id has left, then renews leases until stop is called.
// While it cannot free them it logs what and tries again; started is false if ctx ended first. The context run is for
// the work of the process: stop ends it, and ctx does not. stop waits for the end of the renewals and may be called
// again.
func (l *Leases) Start(
	ctx context.Context, r *runs.Store, what string,
) (run context.Context, stop func(), started bool) {
	started = Retry(ctx, l.log, what, func() error {
		_, err := r.FreeTasks(ctx, l.worker)
		return err
	})
	if !started {
		return nil, nil, false
	}
	run, cancel := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan struct{})
	go func() { defer close(ended); l.Run(run) }()
	return run, func() { cancel(); <-ended }, true
}

// DirectTerms are those of a worker that reaches the database itself.
var DirectTerms = pleat.WorkerTerms{Lease: pleat.LeaseDuration, Heartbeat: pleat.HeartbeatInterval}

// SetTerms sets how often leases are renewed and progress is sent; until then they are DirectTerms.
func (l *Leases) SetTerms(t pleat.WorkerTerms) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.terms = t
}

// Add holds a task that was just claimed. Its context derives from ctx. The caller ends it with Remove.
func (l *Leases) Add(ctx context.Context, t *pleat.Task) *Held {
	h := &Held{Lease: tasks.LeaseOf(t), Run: t.Run, sending: make(chan struct{}, 1), renewed: l.clock()}
	h.ctx, h.cancel = context.WithCancelCause(ctx)
	l.mu.Lock()
	defer l.mu.Unlock()
	h.interval = l.terms.Progress
	l.held[t.ID] = h
	return h
}

// Remove stops renewing a task.
func (l *Leases) Remove(h *Held) {
	h.cancel(nil)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held[h.Task] == h { // else this worker has claimed a later attempt at it
		delete(l.held, h.Task)
	}
}

// Len returns how many tasks are held.
func (l *Leases) Len() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.held)
}

// Cancel cancels the context of a task, if it is held.
func (l *Leases) Cancel(id pleat.TaskID, cause error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if h := l.held[id]; h != nil {
		h.cancel(cause)
	}
}

// CancelAll cancels the contexts of all tasks that are held now.
func (l *Leases) CancelAll(cause error) {
	for _, h := range l.list() {
		h.cancel(cause)
	}
}

// RenewNow makes the next heartbeat renew every lease, and sends it at once.
func (l *Leases) RenewNow() {
	for _, h := range l.list() {
		h.setRenewed(time.Time{})
	}
	Wake(l.wake)
}

func (l *Leases) list() []*Held {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := make([]*Held, 0, len(l.held))
	for _, h := range l.held {
		out = append(out, h)
	}
	return out
}

// Run sends heartbeats until ctx ends: progress at most twice a second, and as often as the terms say, and leases every
// WorkerTerms.Heartbeat. It cancels tasks that their owner stopped or another worker has.
func (l *Leases) Run(ctx context.Context) {
	tick := time.NewTicker(heartbeatCheck)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-l.wake:
		}
		l.sendHeartbeats(ctx)
	}
}

func (l *Leases) sendHeartbeats(ctx context.Context) {
	now := l.clock()
	l.mu.Lock()
	interval := l.terms.Heartbeat
	l.mu.Unlock()
	var beats []pleat.Heartbeat
	var due []*Held
	for _, h := range l.list() {
		if b, ok := h.heartbeat(now, interval); ok {
			beats, due = append(beats, b), append(due, h)
		}
	}
	if len(beats) == 0 {
		return
	}
	defer func() {
		for _, h := range due {
			h.sent()
		}
	}()
	replies, err := l.store.Heartbeat(ctx, l.worker, beats)
	if err != nil {
		for i, h := range due {
			h.restore(beats[i].Progress)
		}
		if ctx.Err() == nil {
			l.fault.Warn(l.log, err, "worker", l.worker)
		}
		return
	}
	l.fault.Over(l.log)
	for i, h := range due {
		h.setRenewed(now)
		h.setInterval(replies[i].ProgressAfter)
		switch {
		case replies[i].Lost:
			h.cancel(pleat.ErrLost)
		case replies[i].Cancel:
			h.cancel(ErrStopped)
		}
	}
}
