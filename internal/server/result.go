package server

import (
	"container/list"
	"context"
	"sync"
	"time"

	"pleat"
	"pleat/api"
	"pleat/internal/store"
)

// results is GET /v1/jobs/{id}/results. Every request asks the database who may read the job and which version it has;
// the bytes of a finished run are cached, because only a new version or the hour changes them.
func (s *Server) results(ctx context.Context, c *call) error {
	head, err := s.readableJob(ctx, c)
	if err != nil {
		return err
	}
	hour := s.clock().Truncate(time.Hour)
	key := cacheKey{head.Run, head.Version, head.to, hour.Unix()}
	if head.State.Terminal() {
		if b := s.cache.get(key); b != nil {
			s.meters.cached.Inc()
			c.raw(b)
			return nil
		}
	}
	v, err := s.viewFor(ctx, head)
	if err != nil {
		return err
	}
	out := s.resultsOf(&v, head.to, hour)
	b, err := encode(out)
	if err != nil {
		return err
	}
	if v.Run.State.Terminal() {
		key.run, key.version = v.Run.ID, v.Job.Version
		s.cache.put(key, b)
	}
	c.raw(b)
	return nil
}

// resultsOf converts a job with its run to the response for one audience.
func (s *Server) resultsOf(v *store.View, to audience, hour time.Time) *api.Results {
	j, r := &v.Job, &v.Run
	out := &api.Results{
		Job:      jobOut(j),
		JobRunID: string(r.ID),
		Parameters: api.Parameters{Count: len(j.Sequences), CreatedAt: api.At(r.CreatedAt), ModelName: r.Model,
			WeightSet: r.WeightSet, Method: r.Method,
			RelaxPrediction: r.Params.Values["relaxPrediction"] == true},
		Constraints:  constraintsOut(&j.Constraints, to),
		SequencesIDs: []string{},
		Sequences:    []api.ResultSequence{},
		Artifacts:    []api.Artifact{},
	}
	links := make([]string, len(v.Artifacts))
	for i := range v.Artifacts {
		links[i] = s.link(&v.Artifacts[i], j, hour)
		out.Artifacts = append(out.Artifacts, artifactOut(&v.Artifacts[i], links[i]))
	}
	for i := range j.Sequences {
		q := &j.Sequences[i]
		item := api.ResultSequence{
			ID:           string(q.ID),
			CreatedAt:    api.At(q.CreatedAt),
			UpdatedAt:    api.At(j.UpdatedAt),
			Name:         text(q.Label),
			Sequence:     q.Text,
			Type:         string(q.Kind),
			SequenceType: string(q.Kind),
			JobRunID:     string(r.ID),
		}
		if !j.Complex {
			p := predictionOut(v, q.ID, links)
			item.Prediction = &p
		}
		out.Sequences = append(out.Sequences, item)
		out.SequencesIDs = append(out.SequencesIDs, string(q.ID))
	}
	if !j.Complex && len(out.Sequences) > 0 {
		out.Prediction = *out.Sequences[0].Prediction
	} else {
		out.Prediction = predictionOut(v, "", links)
	}
	return out
}

func artifactOut(a *pleat.Artifact, link string) api.Artifact {
	return api.Artifact{
		Name:        a.Name,
		Kind:        string(a.Kind),
		URL:         link,
		ContentType: a.ContentType,
		Bytes:       a.Bytes,
		SHA256:      a.SHA256,
		SequenceID:  string(a.Sequence),
	}
}

// predictionOut returns the prediction of one sequence; of the complex if id is empty.
func predictionOut(v *store.View, id pleat.SequenceID, links []string) api.Prediction {
	r := &v.Run
	minutes := r.Seconds() / 60
	out := api.Prediction{
		PredictionStatus: string(r.State),
		JobRunStatus:     string(r.State),
		MSAStatus:        string(r.MSA),
		Error:            failureText(r.Failure),
		ExecutionMinutes: minutes,
		ExecutionSnake:   minutes,
		Seed:             r.Seed,
	}
	url := func(kind pleat.ArtifactKind) *string { return artifactLink(v.Artifacts, links, kind, id) }
	out.PDB, out.CIF, out.Coverage = url(pleat.ArtifactPDB), url(pleat.ArtifactCIF), url(pleat.ArtifactCoverage)
	out.PAEPlot, out.PLDDTPlot, out.Metrics = url(pleat.ArtifactPAEPlot), url(pleat.ArtifactPLDDTPlot),
		url(pleat.ArtifactMetrics)
	out.Config, out.Citations, out.Plots = url(pleat.ArtifactConfig), url(pleat.ArtifactCitations),
		url(pleat.ArtifactPlots)
	if r.State != pleat.StateCompleted || r.Result == nil {
		return out
	}
	for i := range r.Result.Predictions {
		p := &r.Result.Predictions[i]
		if p.Sequence == id || p.Sequence == "" && len(r.Result.Predictions) == 1 && len(v.Job.Sequences) == 1 {
			out.Prediction, out.MeanPLLDT, out.PTM, out.IPTM, out.MaxPAE, out.Affinity = true, p.MeanPLDDT, p.PTM,
				p.IPTM, p.MaxPAE, affinity(p.Affinity)
			break
		}
	}
	return out
}

// artifactLink returns the link to an artifact of a kind, nil if there is none: the sequence's own rather than the
// whole run's, a PNG rather than another format, because every client can show it.
func artifactLink(all []pleat.Artifact, links []string, kind pleat.ArtifactKind, id pleat.SequenceID) *string {
	best, score := -1, 0
	for i := range all {
		a := &all[i]
		if a.Kind != kind || a.Sequence != "" && a.Sequence != id {
			continue
		}
		n := 1
		if a.Sequence == id {
			n += 2
		}
		if a.ContentType == "image/png" {
			n++
		}
		if n > score {
			best, score = i, n
		}
	}
	if best < 0 {
		return nil
	}
	return &links[best]
}

// cacheKey identifies the bytes of a result. Its content changes with version and to, the links in it with hour.
type cacheKey struct {
	run     pleat.RunID
	version int64
	to      audience
	hour    int64 // Unix time, in seconds
}

// cache is an LRU cache of encoded results, bounded in bytes. A nil cache holds nothing.
type cache struct {
	mu         sync.Mutex
	most, size int64
	order      *list.List // of *cached, the most recently used first
	at         map[cacheKey]*list.Element
}

type cached struct {
	key  cacheKey
	body []byte
}

// cachedOverhead is what an entry costs besides its body, in bytes.
const cachedOverhead = 256

func newCache(most int64) *cache {
	if most <= 0 {
		return nil
	}
	return &cache{most: most, order: list.New(), at: map[cacheKey]*list.Element{}}
}

func (c *cache) get(k cacheKey) []byte {
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

func (c *cache) put(k cacheKey, body []byte) {
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
