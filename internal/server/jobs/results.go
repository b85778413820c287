package jobs

import (
	"cmp"
	"container/list"
	"context"
	"sync"
	"time"

	"pleat"
	"pleat/api"
	"pleat/internal/seal"
	"pleat/internal/server/route"
	"pleat/internal/server/wire"
	"pleat/internal/store/runs"
)

// results is GET /v1/jobs/{id}/results, for readers of the job, in any state of it: scores and files are null or absent
// until the run has them. Every request asks the database who may read the job and which version it has; the bytes of a
// finished run are cached, because only a new version, or the hour in the signed links, changes them.
func (h *Handlers) results(ctx context.Context, c *route.Call) error {
	head, err := c.ReadableRun(ctx)
	if err != nil {
		return err
	}
	hour := c.Now().Truncate(time.Hour)
	key := cacheKey{head.Source.Job, cmp.Or(head.Earlier, head.Run), head.Version, head.To, hour.Unix()}
	if head.Ended() {
		if b := h.Cache.get(key); b != nil {
			c.CountCached()
			c.Raw(b)
			return nil
		}
	}
	v, err := h.viewFor(ctx, head)
	if err != nil {
		return err
	}
	out := h.resultsOf(&v, head.To, hour)
	b, err := api.Encode(out)
	if err != nil {
		return err
	}
	if v.Run.State.Terminal() {
		key.run, key.version = v.Run.ID, v.Job.Version
		h.Cache.put(key, b)
	}
	c.Raw(b)
	return nil
}

// resultsOf converts a job with one of its runs to the response for one audience. If the job is a complex, the
// prediction is on the response and the sequences have none; otherwise each sequence has its own, and the first one's
// is repeated on the response for clients that read only that.
func (h *Handlers) resultsOf(v *runs.View, to wire.Audience, hour time.Time) *api.Results {
	j, r := &v.Job, &v.Run
	out := &api.Results{
		Job:      wire.Job(j),
		JobRunID: string(r.ID),
		Parameters: api.Parameters{Count: len(j.Sequences), CreatedAt: api.At(r.CreatedAt), ModelName: r.Model,
			WeightSet: r.WeightSet, Method: r.Method,
			RelaxPrediction: r.Params.Values["relaxPrediction"] == true},
		Constraints:  wire.Constraints(&j.Constraints, to),
		SequencesIDs: []string{},
		Sequences:    []api.ResultSequence{},
		Artifacts:    []api.Artifact{},
	}
	links := make([]string, len(v.Artifacts))
	for i := range v.Artifacts {
		links[i] = h.Files.Links.URL(&v.Artifacts[i], seal.JobScope(j), hour)
		out.Artifacts = append(out.Artifacts, wire.Artifact(&v.Artifacts[i], links[i]))
	}
	for i := range j.Sequences {
		q := &j.Sequences[i]
		item := api.ResultSequence{
			ID:           string(q.ID),
			CreatedAt:    api.At(q.CreatedAt),
			UpdatedAt:    api.At(j.UpdatedAt),
			Name:         wire.OptionalString(q.Label),
			Sequence:     q.Text,
			Type:         string(q.Kind),
			SequenceType: string(q.Kind),
			JobRunID:     string(r.ID),
		}
		if !j.Complex {
			p := wire.Prediction(v, q.ID, links, to)
			item.Prediction = &p
		}
		out.Sequences = append(out.Sequences, item)
		out.SequencesIDs = append(out.SequencesIDs, string(q.ID))
	}
	if !j.Complex && len(out.Sequences) > 0 {
		out.Prediction = *out.Sequences[0].Prediction
	} else {
		out.Prediction = wire.Prediction(v, "", links, to)
	}
	return out
}

// cacheKey identifies the bytes of a result. Its content changes with version and to, the links in it with hour. The
// job is part of it because a request may name a run of another job, which nothing has checked yet.
type cacheKey struct {
	job     pleat.JobID
	run     pleat.RunID
	version int64
	to      wire.Audience
	hour    int64 // Unix time, in seconds
}

// Cache is an LRU cache of encoded results, bounded in bytes. Nothing has to invalidate it: the version in the key
// rises with every change of the job, and entries of earlier versions and hours are no longer asked for and drop out.
// A nil cache holds nothing.
type Cache struct {
	mu         sync.Mutex
	most, size int64
	order      *list.List // of *cached, the most recently used first
	at         map[cacheKey]*list.Element
}

// cached is one entry: the encoded result and its key, by which it is removed.
type cached struct {
	key  cacheKey
	body []byte
}

// cachedOverhead is roughly what an entry costs besides its body, in bytes: key, list element and map entry.
const cachedOverhead = 256

// NewCache returns a cache of at most that many bytes; nil if it is not positive.
func NewCache(most int64) *Cache {
	if most <= 0 {
		return nil
	}
	return &Cache{most: most, order: list.New(), at: map[cacheKey]*list.Element{}}
}

// get returns the bytes of a result, nil if the cache does not hold them, and marks them as used.
func (c *Cache) get(k cacheKey) []byte {
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.at[k]
	if e == nil {
		return nil
	}
	c.order.MoveToFront(e)
	return e.Value.(*cached).body
}

// put adds the bytes of a result and drops those that were not used for longest. A result larger than an eighth of the
// cache is not added.
func (c *Cache) put(k cacheKey, body []byte) {
	if c == nil || int64(len(body)) > c.most/8 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.at[k] != nil {
		return
	}
	c.at[k] = c.order.PushFront(&cached{k, body})
	for c.size += int64(len(body)) + cachedOverhead; c.size > c.most; {
		last := c.order.Back()
		old := c.order.Remove(last).(*cached)
		delete(c.at, old.key)
		c.size -= int64(len(old.body)) + cachedOverhead
	}
}
