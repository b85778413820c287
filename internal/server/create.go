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
	"pleat/internal/tracing"
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
	p, err := s.prepare(ctx, c.in, in)
	if err != nil {
		return api.CreatedJob{}, err
	}
	p.job.LibraryItem = pleat.ItemID(from)
	if err := s.checkReferenced(ctx, c, &p.job, p.model); err != nil {
		return api.CreatedJob{}, err
	}
	spec := submit.JobRun(&p.job, p.model)
	spec.Fresh, spec.Request, spec.Trace = bypassesCache(c.r), c.id, tracing.Text(ctx)
	made, err := s.store.Runs.CreateJob(ctx, runs.NewJob{
		By: c.cred.Credential, Job: p.job, Run: spec, Key: key, Digest: digest, Subs: p.subs,
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
		s.meters.created.WithLabelValues(p.model.Name).Inc()
	}
	quotaHeaders(c.w.Header(), made.Usage)
	return wire.CreatedJob(made), nil
}

// checkReferenced checks the library item, the alignments, the components and the templates that a job names. The key
// must be able to read them.
func (s *Server) checkReferenced(ctx context.Context, c *call, job *pleat.Job, m pleat.Model) error {
	if job.LibraryItem != "" {
		if err := c.checkReads("create a job from a library item"); err != nil {
			return err
		}
		if _, err := s.store.Runs.Item(ctx, people.InProject(job.Owner), job.LibraryItem); err != nil {
			return err
		}
	} else if pleat.NamesAlignments(job.Params, job.Sequences) {
		if err := c.checkReads("use an alignment"); err != nil {
			return err
		}
	}
	if err := s.resolver.CheckAlignments(ctx, job, m); err != nil {
		return err
	}
	err := checkComponents(ctx, c, s.resolver.ComponentCheck(), job)
	if err != nil || len(job.Constraints.Templates) == 0 {
		return err
	}
	if err := c.checkReads("use a template"); err != nil {
		return err
	}
	check := s.resolver.TemplateCheck()
	for i := range job.Constraints.Templates {
		err := s.checkTemplate(ctx, c, check, job, i, pleat.TemplatePath(i))
		if err != nil {
			return err
		}
	}
	return nil
}

// checkComponents checks the components that a job names as files.
func checkComponents(ctx context.Context, c *call, check *submit.ComponentCheck, job *pleat.Job) error {
	for i := range job.Constraints.Components {
		if job.Constraints.Components[i].Item == "" {
			continue
		}
		if err := c.checkReads("use a component of a file"); err != nil {
			return err
		}
		if err := check.Check(ctx, job, i); err != nil {
			return err
		}
	}
	return nil
}

// checkTemplate checks template i of a job, which a field names, when it is the caller's turn to compute.
func (s *Server) checkTemplate(
	ctx context.Context, c *call, check *submit.TemplateCheck, job *pleat.Job, i int, field string,
) error {
	release, err := s.beginComputation(ctx, c, c.who.User)
	if err != nil {
		return err
	}
	defer release()
	return check.Check(ctx, job, &job.Constraints.Templates[i], field)
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

// prepared is a creation request after all checks except the quota.
type prepared struct {
	job   pleat.Job
	model pleat.Model // zero if the request names no model of this service
	subs  []pleat.Subscription
}

// prepare converts a request to a validated job in the project of a reach. If the request is invalid, the error is
// pleat.Errors with every fault. If its model is not known here, only the checks that need no model are made.
func (s *Server) prepare(ctx context.Context, by people.Reach, in *api.CreateJob) (prepared, error) {
	var faults pleat.Errors
	var p prepared
	var err error
	p.job, err = wire.ToJob(in)
	p.job.Owner, p.job.Creator = by.Project, by.User
	if err := faults.Add(err); err != nil {
		return p, err
	}
	hooks, err := s.resolver.JobWebhooks(ctx, by.Project, p.job.Constraints.Webhooks)
	if err := faults.Add(err); err != nil {
		return p, err
	}
	p.job.Constraints.Webhooks, p.subs = hooks.Settings, hooks.Subscriptions
	if p.model, err = s.model(ctx, in.Params); err != nil {
		if err := faults.Add(err); err != nil {
			return p, err
		}
		err = p.job.ValidateEnvelope()
	} else {
		err = p.job.Validate(p.model)
	}
	if err := faults.Add(err); err != nil {
		return p, err
	}
	return p, faults.Err()
}

// model returns the model that a request names.
func (s *Server) model(ctx context.Context, in *api.Params) (pleat.Model, error) {
	if in == nil {
		return pleat.Model{}, pleat.InvalidField("params", " is required; it must hold modelName")
	}
	return s.resolver.FoldModel(ctx, in.ModelName)
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

// checkRowModel returns an error if a job is a row of a batch of another model: the scores of a batch are one table, in
// which those of two models cannot be compared.
func (s *Server) checkRowModel(ctx context.Context, id pleat.JobID, model string) error {
	of, err := s.store.Batches.BatchModel(ctx, id)
	if err == nil && of != "" && of != model {
		err = pleat.Errorf(pleat.CodeConflict,
			"the job is a row of a batch, whose rows have one model, %q; run the batch "+
				"again with other parameters, or create a new job", of)
	}
	return err
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
	m, err := s.model(ctx, &api.Params{ModelName: job.Params.Model})
	if err != nil {
		return api.CreatedJob{}, err
	}
	if err := s.checkRowModel(ctx, id, m.Name); err != nil {
		return api.CreatedJob{}, err
	}
	if err := job.Validate(m); err != nil {
		return api.CreatedJob{}, err
	}
	given := job
	given.LibraryItem = "" // if that is gone, the run goes without its alignments
	if err := s.checkReferenced(ctx, c, &given, m); err != nil {
		return api.CreatedJob{}, err
	}
	if job.Complex != v.Job.Complex {
		model, results := "each chain on its own", "all chains together"
		if job.Complex {
			model, results = results, model
		}
		return api.CreatedJob{}, pleat.InvalidField("params.modelName",
			": the model %q folds %s, but this job folds %s; create a new job", m.Name, model, results)
	}
	spec := submit.JobRun(&job, m)
	spec.Fresh, spec.Request, spec.Trace = bypassesCache(c.r), c.id, tracing.Text(ctx)
	made, err := s.store.Runs.Rerun(ctx, c.reach(), id, spec)
	if err != nil {
		return api.CreatedJob{}, s.withQuota(ctx, c, err)
	}
	c.made.run = made.Run
	s.meters.created.WithLabelValues(m.Name).Inc()
	quotaHeaders(c.w.Header(), made.Usage)
	return wire.CreatedJob(made), nil
}
