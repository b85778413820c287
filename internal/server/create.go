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
	"pleat/internal/store"
	"pleat/internal/submit"
)

// createJob is POST /v1/jobs. Whatever is refused before the store is asked costs no quota.
func (s *Server) createJob(ctx context.Context, c *call, in *api.CreateJob) (api.CreatedJob, error) {
	from, err := uuidQuery(c.r, "from")
	if err != nil {
		return api.CreatedJob{}, err
	}
	key, err := idempotencyKey(c.r)
	if err != nil {
		return api.CreatedJob{}, err
	}
	digest, err := digestOf(in, from) // before anything is normalised
	if err != nil {
		return api.CreatedJob{}, err
	}
	p, err := s.prepare(ctx, c.who.User, in)
	if err != nil {
		return api.CreatedJob{}, err
	}
	if from != "" {
		item, err := s.store.Item(ctx, c.who.User, from)
		if err != nil {
			return api.CreatedJob{}, err
		}
		if err := s.checkAlignments(ctx, &item, &p); err != nil {
			return api.CreatedJob{}, err
		}
	}
	p.job.Owner, p.job.LibraryItem = c.who.User, from
	spec := submit.JobRun(&p.job, p.model)
	spec.Fresh = fresh(c.r)
	made, err := s.store.CreateJob(ctx, store.NewJob{
		Job: p.job, Run: spec, Quota: s.cfg.Quota, Key: key, Digest: digest, Subs: p.subs,
	})
	if err != nil {
		return api.CreatedJob{}, s.spent(ctx, c, err)
	}
	if made.Replayed {
		if made.Usage, err = s.store.Usage(ctx, c.who.User, s.cfg.Quota); err != nil {
			return api.CreatedJob{}, err
		}
	} else {
		s.meters.created.WithLabelValues(p.model.Name).Inc()
	}
	quotaHeaders(c.w.Header(), made.Usage)
	return createdJob(made), nil
}

func createdJob(m store.Created) api.CreatedJob {
	out := api.CreatedJob{JobID: string(m.Job), JobRunID: string(m.Run), JobName: m.Name, JobStatus: string(m.State), SequencesIDs: []string{}}
	for _, id := range m.Sequences {
		out.SequencesIDs = append(out.SequencesIDs, string(id))
	}
	return out
}

// spent adds the quota's headers to its refusal.
func (s *Server) spent(ctx context.Context, c *call, err error) error {
	if pleat.CodeOf(err) != pleat.CodeLimited {
		return err
	}
	u, uerr := s.store.Usage(ctx, c.who.User, s.cfg.Quota)
	if uerr != nil {
		return uerr
	}
	quotaHeaders(c.w.Header(), u)
	retryAfter(c.w.Header(), u.Reset.Sub(s.clock()))
	return err
}

func quotaHeaders(h http.Header, u store.Usage) {
	h.Set("X-RateLimit-Limit", strconv.Itoa(u.Limit))
	h.Set("X-RateLimit-Remaining", strconv.Itoa(max(0, u.Limit-u.Used)))
	h.Set("X-RateLimit-Reset", strconv.FormatInt(u.Reset.Unix(), 10))
}

// uuidQuery reads a query parameter that is a UUID; empty where it is absent.
func uuidQuery(r *http.Request, name string) (string, error) {
	v := r.URL.Query().Get(name)
	if v != "" && !pleat.IsUUID(v) {
		return "", pleat.Invalidf("%s is %q; it must be a UUID", name, pleat.Clip(v))
	}
	return v, nil
}

func idempotencyKey(r *http.Request) (string, error) {
	k := r.Header.Get("Idempotency-Key")
	if len(k) > 255 {
		return "", pleat.Invalidf("the Idempotency-Key has %d letters; at most 255 are taken", len(k))
	}
	for i := range len(k) {
		if k[i] < ' ' || k[i] > '~' {
			return "", pleat.Invalidf("the Idempotency-Key must hold printable ASCII only")
		}
	}
	return k, nil
}

// digestOf tells one request from another, whatever the order of its keys.
func digestOf(in *api.CreateJob, from string) (string, error) {
	b, err := json.Marshal(in)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(append(b, from...))
	return hex.EncodeToString(sum[:]), nil
}

// prepared is a request that has passed every check but the quota.
type prepared struct {
	job   pleat.Job
	model pleat.Model
	subs  []pleat.Subscription
}

// prepare turns a request into a validated job.
func (s *Server) prepare(ctx context.Context, owner pleat.UserID, in *api.CreateJob) (prepared, error) {
	p, err := s.draft(ctx, owner, in)
	if err != nil {
		return p, err
	}
	return p, p.job.Validate(p.model)
}

// draft is prepare without the domain's own checks.
func (s *Server) draft(ctx context.Context, owner pleat.UserID, in *api.CreateJob) (prepared, error) {
	job, err := jobOf(in)
	if err != nil {
		return prepared{}, err
	}
	p := prepared{job: job}
	hooks, err := s.resolver.JobWebhooks(ctx, owner, job.Constraints.Webhooks)
	if err != nil {
		return p, err
	}
	p.job.Constraints.Webhooks, p.subs = hooks.Settings, hooks.Subscriptions
	p.model, err = s.model(ctx, in.Params)
	return p, err
}

// model finds the model that a request names.
func (s *Server) model(ctx context.Context, in *api.Params) (pleat.Model, error) {
	if in == nil {
		return pleat.Model{}, pleat.Invalidf("params is required; it must hold modelName")
	}
	if in.ModelName == "" {
		return pleat.Model{}, pleat.Invalidf("params.modelName is required; GET /v1/models lists what there is")
	}
	all, err := s.resolver.Models(ctx)
	if err != nil {
		return pleat.Model{}, err
	}
	if m, err := pleat.FindModel(all, in.ModelName); err == nil {
		return m, nil
	}
	if all, err = s.resolver.RecentModels(ctx); err != nil { // a worker may have come since
		return pleat.Model{}, err
	}
	return pleat.FindModel(all, in.ModelName)
}

// fresh reports whether a request wants its run computed, whatever earlier runs gave: RFC 9111, section 5.2.1.
func fresh(r *http.Request) bool {
	for _, line := range r.Header.Values("Cache-Control") {
		for d := range strings.SplitSeq(line, ",") {
			if d = strings.ToLower(strings.TrimSpace(d)); d == "no-cache" || d == "no-store" {
				return true
			}
		}
	}
	return false
}

// jobOf turns the wire's spelling into the domain's.
func jobOf(in *api.CreateJob) (pleat.Job, error) {
	j := pleat.Job{Name: in.Name, Public: in.IsPublic, ChatID: in.ChatID}
	for i := range in.Sequences {
		q, err := sequenceOf(i, &in.Sequences[i])
		if err != nil {
			return j, err
		}
		j.Sequences = append(j.Sequences, q)
	}
	if in.Params != nil {
		j.Params = paramsOf(in.Params)
	}
	if in.Constraints != nil {
		j.Constraints = constraintsOf(in.Constraints)
	}
	return j, nil
}

func paramsOf(in *api.Params) pleat.Params {
	return pleat.Params{Model: in.ModelName, Values: in.Values()}
}

func sequenceOf(i int, in *api.SequenceItem) (pleat.Sequence, error) {
	q := pleat.Sequence{Source: in.SourceSequenceID}
	var count *int
	polymer := func(kind pleat.EntityKind, p *api.Polymer) {
		q.Kind, q.Text, q.ChainID, q.Label, q.PropertyType, q.Cyclic, count = kind, p.Sequence, p.ChainID, p.Label, p.PropertyType, p.Cyclic, p.Count
		for _, m := range p.Modifications {
			q.Modifications = append(q.Modifications, pleat.Modification{Residue: m.ResIdx, CCD: m.CCD})
		}
	}
	key := "proteinChain"
	switch {
	case in.ProteinChain != nil:
		polymer(pleat.Protein, in.ProteinChain)
	case in.RNASequence != nil:
		key = "rnaSequence"
		polymer(pleat.RNA, in.RNASequence)
	case in.DNASequence != nil:
		key = "dnaSequence"
		polymer(pleat.DNA, in.DNASequence)
	default:
		l := in.LigandSequence
		key = "ligandSequence"
		q.Kind, q.Text, q.CCD, q.ChainID, q.Label, q.PropertyType, count = pleat.Ligand, l.Sequence, l.IsCCD, l.ChainID, l.Label, l.PropertyType, l.Count
	}
	if count != nil {
		if q.Count = *count; q.Count == 0 { // to the domain 0 means absent
			return q, pleat.Invalidf("sequences[%d].%s.count is 0; it must be 1 to %d", i, key, pleat.MaxChains)
		}
	}
	return q, nil
}

func constraintsOf(in *api.Constraints) pleat.Constraints {
	var c pleat.Constraints
	for _, p := range in.Pocket {
		q := pleat.Pocket{Binder: pleat.ChainRef{Chain: p.Binder.ChainID}}
		for _, r := range p.Contacts {
			q.Contacts = append(q.Contacts, pleat.ResidueRef{Chain: r.ChainID, Residue: r.ResIdx})
		}
		c.Pocket = append(c.Pocket, q)
	}
	for _, b := range in.Bond {
		c.Bond = append(c.Bond, pleat.Bond{Atom1: pleat.AtomRef{Chain: b.Atom1.ChainID, Residue: b.Atom1.ResIdx, Atom: b.Atom1.AtomName},
			Atom2: pleat.AtomRef{Chain: b.Atom2.ChainID, Residue: b.Atom2.ResIdx, Atom: b.Atom2.AtomName}})
	}
	for _, t := range in.Contact {
		k := pleat.Contact{ChainA: t.ChainA, ResidueA: t.ResIdxA, ChainB: t.ChainB, ResidueB: t.ResIdxB}
		if t.Distance != nil {
			k.Distance = *t.Distance
		}
		c.Contact = append(c.Contact, k)
	}
	c.Webhooks = in.Webhooks
	return c
}

// rerun is POST /v1/jobs/{id}/runs.
func (s *Server) rerun(ctx context.Context, c *call, in *api.Rerun) (api.CreatedJob, error) {
	id, err := owned(c)
	if err != nil {
		return api.CreatedJob{}, err
	}
	v, err := s.store.View(ctx, id)
	if err != nil {
		return api.CreatedJob{}, err
	}
	if v.Job.Owner != c.who.User {
		return api.CreatedJob{}, pleat.ErrJobNotFound
	}
	job := v.Job
	if in.Params != nil {
		job.Params = paramsOf(in.Params)
		if in.Params.ModelName == "" {
			job.Params.Model = v.Job.Params.Model
		}
	}
	m, err := s.model(ctx, &api.Params{ModelName: job.Params.Model})
	if err != nil {
		return api.CreatedJob{}, err
	}
	if err := job.Validate(m); err != nil {
		return api.CreatedJob{}, err
	}
	if job.Complex != v.Job.Complex {
		return api.CreatedJob{}, pleat.Invalidf("params.modelName: the model %q would fold the chains %s and the job's results are of the other form; create a new job for it", m.Name, map[bool]string{true: "together", false: "each on its own"}[job.Complex])
	}
	spec := submit.JobRun(&job, m)
	spec.Fresh = fresh(c.r)
	made, err := s.store.Rerun(ctx, c.who.User, id, spec, s.cfg.Quota)
	if err != nil {
		return api.CreatedJob{}, s.spent(ctx, c, err)
	}
	s.meters.created.WithLabelValues(m.Name).Inc()
	quotaHeaders(c.w.Header(), made.Usage)
	return createdJob(made), nil
}

// intQuery reads a whole number between bounds; def where it is absent.
func intQuery(r *http.Request, name string, lo, hi, def int) (int, error) {
	v := r.URL.Query().Get(name)
	if v == "" {
		return def, nil
	}
	n, err := strconv.Atoi(v)
	if err != nil || n < lo || n > hi {
		return 0, pleat.Invalidf("%s is %q; it must be a whole number from %d to %d", name, pleat.Clip(v), lo, hi)
	}
	return n, nil
}
