package server

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"

	"pleat"
	"pleat/api"
	"pleat/internal/server/wire"
	"pleat/internal/store/people"
	"pleat/internal/store/runs"
	"pleat/internal/submit"
)

// createJob is POST /v1/jobs, for any user: it validates a job and queues its first run. Only a request that passes
// every check counts against the quota. With an Idempotency-Key, a repeated request gets the first response for 24
// hours and counts nothing. 400: a field is wrong; 403: the query has from, and the key may not read; 404: the caller
// has no library item of the query from; 409: the key came with another body; 429: the quota of the day is used up.
func (s *Server) createJob(ctx context.Context, c *call, in *api.CreateJob) (api.CreatedJob, error) {
	from, err := uuidQuery(c.r, "from")
	if err != nil {
		return api.CreatedJob{}, err
	}
	key, err := idempotencyKey(c.r)
	if err != nil {
		return api.CreatedJob{}, err
	}
	if err := s.enterNamed(ctx, c, in.ProjectID); err != nil {
		return api.CreatedJob{}, err
	}
	digest, err := digestOf(in, from) // before the request is normalised
	if err != nil {
		return api.CreatedJob{}, err
	}
	q := submit.FoldRequest{Fresh: bypassesCache(c.r)}
	q.Job, q.DecodeErr = wire.ToJob(in)
	q.Job.LibraryItem = pleat.ItemID(from)
	f, err := s.resolver.Fold(ctx, s.submitter(ctx, c), q)
	if err != nil {
		return api.CreatedJob{}, err
	}
	made, err := s.store.Runs.CreateJob(ctx, runs.NewJob{
		By: c.cred.Credential, Job: f.Job, Run: f.Run, Key: key, Digest: digest, Subs: f.Subs,
	})
	if err != nil {
		return api.CreatedJob{}, s.withQuota(ctx, c, err)
	}
	c.made = logged{job: made.Job, run: made.Run}
	if made.Replayed {
		u, err := s.store.People.Usage(ctx, c.in)
		if err != nil {
			return api.CreatedJob{}, err
		}
		made.Usage = u.Jobs
	} else {
		s.meters.created.WithLabelValues(f.Model.Name).Inc()
	}
	quotaHeaders(c.w.Header(), made.Usage)
	return wire.CreatedJob(made), nil
}

// withQuota sets the quota's headers and Retry-After if err says that the quota is used up. It returns err, or the
// error of reading the quota.
func (s *Server) withQuota(ctx context.Context, c *call, err error) error {
	if pleat.CodeOf(err) != pleat.CodeLimited {
		return err
	}
	u, uerr := s.store.People.Usage(ctx, c.in)
	if uerr != nil {
		return uerr
	}
	quotaHeaders(c.w.Header(), u.Jobs)
	retryAfter(c.w.Header(), u.Jobs.Reset.Sub(s.clock()))
	return err
}

// quotaHeaders sets the headers that show a caller today's quota. X-RateLimit-Reset is in seconds since 1970.
func quotaHeaders(h http.Header, u people.Usage) {
	h.Set("X-RateLimit-Limit", strconv.Itoa(u.Limit))
	h.Set("X-RateLimit-Remaining", strconv.Itoa(max(0, u.Limit-u.Used)))
	h.Set("X-RateLimit-Reset", strconv.FormatInt(u.Reset.Unix(), 10))
}

// idempotencyKey reads the Idempotency-Key of a request; empty if it has none. Its characters and length are those that
// every proxy passes on and the database stores.
func idempotencyKey(r *http.Request) (string, error) {
	k := r.Header.Get("Idempotency-Key")
	if len(k) > 255 {
		return "", pleat.Invalidf("the Idempotency-Key has %d characters; at most 255 are allowed", len(k)).
			At("Idempotency-Key")
	}
	for i := range len(k) {
		if k[i] < ' ' || k[i] > '~' {
			return "", pleat.Invalidf("the Idempotency-Key must hold printable ASCII only").At("Idempotency-Key")
		}
	}
	return k, nil
}

// digestOf returns a digest of a request in hexadecimal, that does not depend on the order of its fields and on white
// space. from is what the request has outside its body. The store compares it to detect an Idempotency-Key that comes
// again with another body.
func digestOf(in any, from string) (string, error) {
	b, err := json.Marshal(in)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(append(b, from...))
	return hex.EncodeToString(sum[:]), nil
}

// bypassesCache reports whether a request wants its run computed even if an earlier run has the result: RFC 9111,
// section 5.2.1.
func bypassesCache(r *http.Request) bool {
	for _, line := range r.Header.Values("Cache-Control") {
		for d := range strings.SplitSeq(line, ",") {
			if d = strings.ToLower(strings.TrimSpace(d)); d == "no-cache" || d == "no-store" {
				return true
			}
		}
	}
	return false
}

// rerun is POST /v1/jobs/{id}/runs, for the owner: a new run of the same input, with the parameters of the request or
// else those of the job. It counts against the quota like a new job. 400: the parameters are wrong, or the model folds
// the chains together where the job's model folds each on its own, or the reverse, since a job's results have one
// form; 409: the latest run has not ended, or the job is a row of a batch that has another model or was cancelled; 429:
// the quota of the day is used up.
func (s *Server) rerun(ctx context.Context, c *call, in *api.Rerun) (api.CreatedJob, error) {
	id, err := ownedJob(c)
	if err != nil {
		return api.CreatedJob{}, err
	}
	v, err := s.store.Runs.View(ctx, id)
	if err != nil {
		return api.CreatedJob{}, err
	}
	if err := s.enterOwner(ctx, c, v.Job.Owner, pleat.ErrJobNotFound); err != nil {
		return api.CreatedJob{}, err
	}
	job := v.Job
	if in.Params != nil {
		job.Params = wire.ToParams(in.Params)
		if in.Params.ModelName == "" {
			job.Params.Model = v.Job.Params.Model
		}
	}
	f, err := s.resolver.Fold(ctx, s.submitter(ctx, c), submit.FoldRequest{
		Job: job, Rerun: &v.Job, Fresh: bypassesCache(c.r),
	})
	if err != nil {
		return api.CreatedJob{}, err
	}
	made, err := s.store.Runs.Rerun(ctx, c.reach(), id, f.Run)
	if err != nil {
		return api.CreatedJob{}, s.withQuota(ctx, c, err)
	}
	c.made.run = made.Run
	s.meters.created.WithLabelValues(f.Model.Name).Inc()
	quotaHeaders(c.w.Header(), made.Usage)
	return wire.CreatedJob(made), nil
}
