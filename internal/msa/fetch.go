package msa

import (
	"context"
	"slices"
	"time"

	"pleat"
)

// lookInterval is the pause between two looks at a search of another process.
const lookInterval = time.Second

// fetch returns the alignments of requests: cached ones, those that another process is searching for as soon as it has
// found them, and the others by a search.
func (f *Finder) fetch(ctx context.Context, requests []request, report func(string)) ([][]*Alignment, error) {
	v := fetching{Finder: f, requests: requests, report: report, out: make([][]*Alignment, len(requests))}
	for waited := false; ; waited = true {
		missing := v.load(ctx, v.all())
		if len(missing) == 0 {
			return v.out, nil
		}
		claimed, release := v.claim(ctx, missing)
		if len(claimed) > 0 {
			// Another process may have found some between the look and the claim.
			err := v.search(ctx, v.load(ctx, claimed))
			release(err == nil)
			if err != nil {
				return nil, err
			}
			continue
		}
		if !waited {
			report("another worker is searching for the same")
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(lookInterval):
		}
	}
}

// fetching is one call of fetch. Lists of requests are their indices.
type fetching struct {
	*Finder
	requests []request
	report   func(string)
	out      [][]*Alignment // nil: not found yet
}

// all returns the indices of all requests.
func (v *fetching) all() []int {
	out := make([]int, len(v.requests))
	for i := range out {
		out[i] = i
	}
	return out
}

// load reads those of some requests that are cached and returns the others.
func (v *fetching) load(ctx context.Context, indices []int) []int {
	return slices.DeleteFunc(slices.Clone(indices), func(i int) bool {
		if v.out[i] == nil {
			v.out[i] = v.Finder.load(ctx, v.requests[i])
		}
		return v.out[i] != nil
	})
}

// claim claims the searches of some requests and returns those that it got. They stay claimed until release is called.
// Without Claims, and if they fail, it returns all: a search too many is better than none.
func (v *fetching) claim(ctx context.Context, missing []int) (claimed []int, release func(found bool)) {
	if v.Claims == nil {
		return missing, func(bool) {}
	}
	searches := make([]Search, len(missing))
	for k, i := range missing {
		searches[k] = v.requests[i].Search
	}
	granted, err := v.Claims.ClaimSearches(ctx, searches)
	if err != nil || len(granted) != len(missing) {
		v.Log.Warn("searches cannot be claimed; another worker may make the same ones", "error", err)
		return missing, func(bool) {}
	}
	var held []Search
	var keys []string
	for k, ok := range granted {
		if ok {
			claimed, held, keys = append(claimed, missing[k]), append(held, searches[k]), append(keys, searches[k].Key)
		}
	}
	if len(claimed) == 0 {
		return nil, nil
	}
	renewing, stop := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		v.renewClaims(renewing, held)
	}()
	return claimed, func(found bool) {
		stop()
		<-ended
		if err := v.Claims.EndSearches(context.WithoutCancel(ctx), keys, found); err != nil {
			v.Log.Warn("claims of searches cannot be ended; they expire", "error", err)
		}
	}
}

// renewClaims claims searches again until ctx ends.
func (v *fetching) renewClaims(ctx context.Context, held []Search) {
	tick := time.NewTicker(pleat.SearchLease / 3)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if _, err := v.Claims.ClaimSearches(ctx, held); err != nil && ctx.Err() == nil {
				v.Log.Warn("claims of searches cannot be renewed", "error", err)
			}
		}
	}
}

// search searches for requests and caches what it finds: all single sequences in one search, and each paired request in
// a search of its own.
func (v *fetching) search(ctx context.Context, missing []int) error {
	var single []int
	var sequences []string
	for _, i := range missing {
		if v.requests[i].pairing == PairNone {
			single, sequences = append(single, i), append(sequences, v.requests[i].sequences[0])
		}
	}
	if len(single) > 0 {
		all, err := v.Finder.search(ctx, sequences, PairNone, v.report)
		if err != nil {
			return err
		}
		for k, i := range single {
			v.keep(ctx, i, numbered(all[k:k+1]))
		}
	}
	for _, i := range missing {
		if v.out[i] != nil {
			continue
		}
		all, err := v.Finder.search(ctx, v.requests[i].sequences, v.requests[i].pairing, v.report)
		if err != nil {
			return err
		}
		v.keep(ctx, i, all)
	}
	return nil
}

// keep stores what was found for a request, also in the cache.
func (v *fetching) keep(ctx context.Context, i int, all []*Alignment) {
	v.out[i] = all
	v.save(ctx, v.requests[i], all)
}
