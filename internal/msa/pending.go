package msa

import (
	"context"
	"errors"
	"sync"
)

// fetchFunc searches for a batch of requests. The result has one list of alignments for each request.
type fetchFunc func(ctx context.Context, requests []request, report func(string)) ([][]*Alignment, error)

// pendingSearches runs at most one search for each key at a time and shares its result among the callers. The zero
// value is ready to use.
type pendingSearches struct {
	mu      sync.Mutex
	pending map[string]*pendingSearch // by key
	slot    chan struct{}             // holds one token while a search runs
	running sync.WaitGroup
}

// batch is the part of one caller's requests that no other caller has started. It runs while at least one caller waits
// for one of its searches.
type batch struct {
	cancel  context.CancelCauseFunc
	waiting int // callers, counted once for each search that they wait for
	// listeners are the report functions of the callers that wait, by a number that is not used again.
	listeners    map[int]func(string)
	lastListener int
}

// pendingSearch is the search for one key.
type pendingSearch struct {
	batch  *batch
	done   chan struct{}
	result []*Alignment // set before done is closed
	err    error        // set before done is closed
}

// do returns the result of every request. It joins the searches that are running and starts one batch for the rest.
// report is not called after do returns. If ctx ends, do returns at once and cancels the batches that no caller waits
// for.
func (p *pendingSearches) do(ctx context.Context, requests []request, fetch fetchFunc,
	report func(string)) ([][]*Alignment, error) {
	joined, leave := p.join(ctx, requests, fetch, report)
	defer leave()
	out := make([][]*Alignment, len(requests))
	for i, s := range joined {
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-s.done:
		}
		if s.err != nil {
			return nil, s.err
		}
		out[i] = s.result
	}
	return out, nil
}

// join returns the search of each request, and a function that the caller must call when it stops waiting.
func (p *pendingSearches) join(ctx context.Context, requests []request, fetch fetchFunc,
	report func(string)) ([]*pendingSearch, func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.pending == nil {
		p.pending = map[string]*pendingSearch{}
	}
	joined := make([]*pendingSearch, len(requests))
	var claimed []request
	var newBatch *batch
	var started []*pendingSearch
	work := context.WithoutCancel(ctx) // other callers may wait for the batch after this one has left
	for i, r := range requests {
		s := p.pending[r.Key]
		if s == nil {
			if newBatch == nil {
				newBatch = &batch{listeners: map[int]func(string){}}
				work, newBatch.cancel = context.WithCancelCause(work)
			}
			s = &pendingSearch{batch: newBatch, done: make(chan struct{})}
			p.pending[r.Key] = s
			claimed, started = append(claimed, r), append(started, s)
		}
		s.batch.waiting++
		joined[i] = s
	}
	leave := p.subscribe(joined, report)
	if newBatch != nil {
		p.running.Go(func() { p.run(work, newBatch, claimed, started, fetch) })
	}
	return joined, leave
}

// run fetches a batch and publishes its results.
func (p *pendingSearches) run(ctx context.Context, b *batch, claimed []request, started []*pendingSearch,
	fetch fetchFunc) {
	results, err := fetch(ctx, claimed, func(line string) { p.broadcast(b, line) })
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, s := range started {
		if s.err = err; err == nil {
			s.result = results[i]
		}
		if p.pending[claimed[i].Key] == s {
			delete(p.pending, claimed[i].Key)
		}
		close(s.done)
	}
	b.cancel(nil)
}

// broadcast sends a line of progress to every listener of a batch. Callers that join later do not get it.
func (p *pendingSearches) broadcast(b *batch, line string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, report := range b.listeners {
		report(line)
	}
}

// subscribe adds a listener to the batches of the searches. The function that it returns removes the listener and
// cancels each batch that no caller waits for any more. The caller holds the mutex.
func (p *pendingSearches) subscribe(joined []*pendingSearch, report func(string)) func() {
	ids := map[*batch]int{}
	for _, s := range joined {
		if _, done := ids[s.batch]; !done {
			s.batch.lastListener++
			s.batch.listeners[s.batch.lastListener] = report
			ids[s.batch] = s.batch.lastListener
		}
	}
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		for b, id := range ids {
			delete(b.listeners, id)
		}
		for _, s := range joined {
			if s.batch.waiting--; s.batch.waiting == 0 {
				p.abandon(s.batch)
			}
		}
	}
}

// abandon cancels a batch. A later request for one of its keys starts a new search. The caller holds the mutex.
func (p *pendingSearches) abandon(b *batch) {
	b.cancel(errAbandoned)
	for key, other := range p.pending {
		if other.batch == b {
			delete(p.pending, key)
		}
	}
}

// errAbandoned is the cause with which a batch is cancelled. No caller sees it.
var errAbandoned = errors.New("no caller waits for the alignment any more")

// acquire waits until no other search runs. The caller must call release after its own search.
func (p *pendingSearches) acquire(ctx context.Context, report func(string)) (release func(), err error) {
	p.mu.Lock()
	if p.slot == nil {
		p.slot = make(chan struct{}, 1)
	}
	slot := p.slot
	p.mu.Unlock()
	select {
	case slot <- struct{}{}:
		return func() { <-slot }, nil
	default:
		report("waiting for another search to end")
	}
	select {
	case slot <- struct{}{}:
		return func() { <-slot }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}
