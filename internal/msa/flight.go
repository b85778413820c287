package msa

import (
	"context"
	"errors"
	"sync"
)

// flights has each key searched for once at a time. The zero value is ready.
type flights struct {
	mu     sync.Mutex
	flying map[string]*flight
	seat   chan struct{} // one search at a time
	flown  sync.WaitGroup
}

// batch is what one caller set going. It goes on while anybody waits for any part of it.
type batch struct {
	cancel  context.CancelCauseFunc
	waiting int // callers, counted once per flight
	hear    map[int]func(string)
	next    int
}

// flight is one key on its way.
type flight struct {
	batch *batch
	done  chan struct{}
	found []*Alignment // once done
	err   error
}

// do answers for all that is asked: it joins what is on its way and fetches the rest, in one batch. The calls to say
// end before it returns. Where ctx ends, it returns at once, and what nobody waits for any more is given up.
func (f *flights) do(ctx context.Context, asked []ask, fetch func(context.Context, []ask, func(string)) ([][]*Alignment,
	error), say func(string)) ([][]*Alignment, error) {
	joined, leave := f.join(ctx, asked, fetch, say)
	defer leave()
	out := make([][]*Alignment, len(asked))
	for i, fl := range joined {
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-fl.done:
		}
		if fl.err != nil {
			return nil, fl.err
		}
		out[i] = fl.found
	}
	return out, nil
}

func (f *flights) join(ctx context.Context, asked []ask,
	fetch func(context.Context, []ask, func(string)) ([][]*Alignment, error), say func(string)) ([]*flight, func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.flying == nil {
		f.flying = map[string]*flight{}
	}
	joined := make([]*flight, len(asked))
	var own []ask
	var mine *batch
	var parts []*flight
	work := context.WithoutCancel(ctx) // others may wait for it when this caller has left
	for i, a := range asked {
		fl := f.flying[a.key]
		if fl == nil {
			if mine == nil {
				mine = &batch{hear: map[int]func(string){}}
				work, mine.cancel = context.WithCancelCause(work)
			}
			fl = &flight{batch: mine, done: make(chan struct{})}
			f.flying[a.key] = fl
			own, parts = append(own, a), append(parts, fl)
		}
		fl.batch.waiting++
		joined[i] = fl
	}
	leave := f.listen(joined, say)
	if mine != nil {
		f.flown.Go(func() { f.fly(work, mine, own, parts, fetch) })
	}
	return joined, leave
}

// fly fetches a batch and lands it.
func (f *flights) fly(ctx context.Context, b *batch, own []ask, parts []*flight,
	fetch func(context.Context, []ask, func(string)) ([][]*Alignment, error)) {
	found, err := fetch(ctx, own, func(line string) { f.tell(b, line) })
	f.mu.Lock()
	defer f.mu.Unlock()
	for i, fl := range parts {
		if fl.err = err; err == nil {
			fl.found = found[i]
		}
		if f.flying[own[i].key] == fl {
			delete(f.flying, own[i].key)
		}
		close(fl.done)
	}
	b.cancel(nil)
}

// tell says a line to whoever waits for a batch.
func (f *flights) tell(b *batch, line string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, say := range b.hear {
		say(line)
	}
}

// listen subscribes to the batches of the flights; the function it returns ends that, and gives up what nobody waits
// for.
func (f *flights) listen(joined []*flight, say func(string)) func() {
	type ear struct {
		b  *batch
		id int
	}
	var ears []ear
	heard := map[*batch]bool{}
	for _, fl := range joined {
		if !heard[fl.batch] {
			heard[fl.batch] = true
			fl.batch.next++
			fl.batch.hear[fl.batch.next] = say
			ears = append(ears, ear{fl.batch, fl.batch.next})
		}
	}
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		for _, e := range ears {
			delete(e.b.hear, e.id)
		}
		for _, fl := range joined {
			if fl.batch.waiting--; fl.batch.waiting == 0 {
				fl.batch.cancel(errLeft)
				for key, other := range f.flying { // who comes now begins anew
					if other.batch == fl.batch {
						delete(f.flying, key)
					}
				}
			}
		}
	}
}

var errLeft = errors.New("nobody waits for the alignment any more")

// turn waits until no other search is under way; release ends one's own.
func (f *flights) turn(ctx context.Context, say func(string)) (release func(), err error) {
	f.mu.Lock()
	if f.seat == nil {
		f.seat = make(chan struct{}, 1)
	}
	seat := f.seat
	f.mu.Unlock()
	select {
	case seat <- struct{}{}:
		return func() { <-seat }, nil
	default:
		say("waiting for another search to end")
	}
	select {
	case seat <- struct{}{}:
		return func() { <-seat }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}
