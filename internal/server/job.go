package server

import (
	"context"
	"encoding/base64"
	"net/http"
	"slices"
	"time"
	"unicode/utf8"

	"pleat"
	"pleat/api"
	"pleat/internal/store"
)

// listJobs is GET /v1/jobs.
func (s *Server) listJobs(ctx context.Context, c *call) (api.List[api.JobRow], error) {
	out := api.List[api.JobRow]{Data: []api.JobRow{}}
	f, err := jobsFilter(c.r)
	if err != nil {
		return out, err
	}
	limit := f.Limit
	f.Limit++ // one more tells whether there is a next page
	rows, err := s.store.ListJobs(ctx, c.who.User, f)
	if err != nil {
		return out, err
	}
	if len(rows) > limit {
		rows = rows[:limit]
		next := cursorOf(rows[limit-1].ID)
		out.NextCursor = &next
	}
	for i := range rows {
		out.Data = append(out.Data, jobRow(&rows[i]))
	}
	return out, nil
}

func jobsFilter(r *http.Request) (store.Filter, error) {
	var f store.Filter
	var err error
	if f.Limit, err = intQuery(r, "limit", 1, 200, 50); err != nil {
		return f, err
	}
	q := r.URL.Query()
	if cur := q.Get("cursor"); cur != "" {
		b, err := base64.RawURLEncoding.DecodeString(cur)
		if err != nil || !pleat.IsUUID(string(b)) {
			return f, pleat.InvalidField("cursor", " is %q; it must be a next_cursor of this list", pleat.Clip(cur))
		}
		f.Before = string(b)
	}
	f.State = pleat.State(q.Get("status"))
	if f.State != "" && !slices.Contains(pleat.JobStates(), f.State) {
		return f, pleat.InvalidField("status", " is %q; it may be PENDING, INITIALIZED, RUNNING, COMPLETED, FAILED "+
			"or STOPPED",
			pleat.Clip(string(f.State)))
	}
	f.Query = q.Get("q")
	if !utf8.ValidString(f.Query) || len(f.Query) > 4*pleat.MaxName {
		return f, pleat.InvalidField("q", " must be text of at most %d characters", pleat.MaxName)
	}
	return f, nil
}

func cursorOf(id pleat.JobID) string { return base64.RawURLEncoding.EncodeToString([]byte(id)) }

func jobRow(r *store.JobRow) api.JobRow {
	return api.JobRow{
		ID:         string(r.ID),
		JobRunID:   string(r.Run),
		Name:       r.Name,
		Status:     string(r.State),
		IsPublic:   r.Public,
		ModelName:  r.Model,
		Stage:      stage(r.State, r.Stage),
		Done:       r.Done,
		Total:      r.Total,
		MeanPLLDT:  r.MeanPLDDT,
		Error:      failureText(r.Failure),
		Date:       api.At(r.CreatedAt),
		UpdatedAt:  api.At(r.UpdatedAt),
		StartedAt:  maybe(r.Started),
		FinishedAt: maybe(r.Finished),
	}
}

// stage is what a run is doing now, in a word.
func stage(state pleat.State, stage string) string {
	if stage == "" && (state == pleat.StateInitialized || state == pleat.StateQueued) {
		return "queued"
	}
	return stage
}

func failureText(f *pleat.Failure) *string {
	if f == nil {
		return nil
	}
	return &f.Message
}

// maybe is nil for the zero time.
func maybe(t time.Time) *api.Time {
	if t.IsZero() {
		return nil
	}
	at := api.At(t)
	return &at
}

// text is nil for the empty string.
func text(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// viewJob is GET /v1/jobs/{id}.
func (s *Server) viewJob(ctx context.Context, c *call) (api.JobView, error) {
	head, err := s.readableJob(ctx, c)
	if err != nil {
		return api.JobView{}, err
	}
	v, err := s.viewFor(ctx, head)
	if err != nil {
		return api.JobView{}, err
	}
	runs, err := s.store.Runs(ctx, head.Job)
	if err != nil {
		return api.JobView{}, err
	}
	base := s.cfg.PublicURL + "/v1/jobs/" + string(head.Job)
	out := api.JobView{
		Job: api.JobDetail{Job: jobOut(&v.Job), IsOwner: head.to == forOwner}, Run: runOut(&v.Run), Runs: []api.Run{},
		Progress:    api.RunProgress{Stage: stage(v.Run.State, v.Run.Stage), Done: v.Run.Done, Total: v.Run.Total},
		Sequences:   []api.ViewSequence{},
		Constraints: constraintsOut(&v.Job.Constraints, head.to),
		Predictions: []api.ScoredChains{}, Workflows: []api.LinkedItem{}, Deliveries: []api.LinkedItem{},
		Params: map[string]any{"modelName": v.Run.Params.Model},
		Links:  api.JobLinks{Results: base + "/results", Events: base + "/events", Archive: base + "/archive.zip"},
	}
	for name, value := range v.Run.Params.Values {
		out.Params[name] = value
	}
	if head.to == forOwner {
		out.Job.ChatID, out.Job.LibraryItemID = text(v.Job.ChatID), text(v.Job.LibraryItem)
		list, err := s.store.Deliveries(ctx, v.Job.Owner, store.DeliveryFilter{SourceID: string(v.Job.ID), Limit: 200})
		if err != nil {
			return out, err
		}
		for i := range list {
			out.Deliveries = append(out.Deliveries, api.LinkedItem{
				ID:     list[i].ID,
				Type:   string(list[i].Destination),
				Status: list[i].Status,
				Name:   string(list[i].EventName),
			})
		}
	}
	if out.Workflows, err = s.linkedTo(ctx, &v.Job, head.to); err != nil {
		return out, err
	}
	for i := range runs {
		out.Runs = append(out.Runs, runOut(&runs[i]))
	}
	for i := range v.Job.Sequences {
		q := &v.Job.Sequences[i]
		out.Sequences = append(out.Sequences, api.ViewSequence{
			ID:       string(q.ID),
			Type:     string(q.Kind),
			Name:     text(q.Label),
			Sequence: q.Text,
			Chains:   q.Chains,
			Count:    q.Count,
			Item:     itemOut(q, head.to),
		})
	}
	if v.Run.Result != nil {
		for i := range v.Run.Result.Predictions {
			out.Predictions = append(out.Predictions, scored(&v.Run.Result.Predictions[i]))
		}
	}
	if v.Run.State == pleat.StateInitialized {
		n, err := s.store.QueuePosition(ctx, v.Run.ID)
		if err != nil {
			return out, err
		}
		if n++; n > 0 {
			out.Progress.QueuePosition = &n
		}
	}
	return out, nil
}

// itemOut is a sequence as it was asked for, in canonical form. Where it came from is its owner's to know.
func itemOut(q *pleat.Sequence, to audience) api.SequenceItem {
	item := api.SequenceItem{}
	if to == forOwner {
		item.SourceSequenceID = q.Source
	}
	var count *int
	if q.Count > 1 {
		count = &q.Count
	}
	if q.Kind == pleat.Ligand {
		item.LigandSequence = &api.LigandSequence{
			Sequence:     q.Text,
			IsCCD:        q.CCD,
			ChainID:      q.ChainID,
			Label:        q.Label,
			Count:        count,
			PropertyType: q.PropertyType,
		}
		return item
	}
	chain := &api.Polymer{
		Sequence:     q.Text,
		ChainID:      q.ChainID,
		Label:        q.Label,
		Count:        count,
		PropertyType: q.PropertyType,
		Cyclic:       q.Cyclic,
	}
	for _, m := range q.Modifications {
		chain.Modifications = append(chain.Modifications, api.Modification{ResIdx: m.Residue, CCD: m.CCD})
	}
	switch q.Kind {
	case pleat.RNA:
		item.RNASequence = chain
	case pleat.DNA:
		item.DNASequence = chain
	default:
		item.ProteinChain = chain
	}
	return item
}

// viewFor reads a job for somebody who may see it, and looks again whether they still may: it could have been hidden
// between the two reads.
func (s *Server) viewFor(ctx context.Context, head visibleJob) (store.View, error) {
	read := s.store.View
	if head.State.Terminal() {
		read = s.store.EndedView
	}
	v, err := read(ctx, head.Job)
	if err != nil {
		return v, err
	}
	if head.to == forOthers && !v.Job.Public {
		if head.Caller == "" {
			return v, pleat.ErrUnauthorized
		}
		return v, pleat.ErrJobNotFound
	}
	return v, nil
}

func jobOut(j *pleat.Job) api.Job {
	return api.Job{
		ID:        string(j.ID),
		Status:    string(j.State),
		Name:      j.Name,
		Date:      api.At(j.CreatedAt),
		UpdatedAt: api.At(j.UpdatedAt),
		IsComplex: j.Complex,
		IsPublic:  j.Public,
		JobRunID:  string(j.Run),
	}
}

func runOut(r *pleat.Run) api.Run {
	out := api.Run{
		ID:         string(r.ID),
		Number:     r.Number,
		Status:     string(r.State),
		MSAStatus:  string(r.MSA),
		ModelName:  r.Model,
		WeightSet:  r.WeightSet,
		Method:     r.Method,
		Engine:     r.Engine,
		Seed:       r.Seed,
		CreatedAt:  api.At(r.CreatedAt),
		StartedAt:  maybe(r.StartedAt),
		FinishedAt: maybe(r.FinishedAt),
		Seconds:    r.Seconds(),
		Timings:    map[string]float64{},
		Notes:      []string{},
	}
	if r.Result != nil {
		if r.Result.Timings != nil {
			out.Timings = r.Result.Timings
		}
		out.Notes = append(out.Notes, r.Result.Notes...)
	}
	if r.Failure != nil {
		out.Failure = &api.Failure{Kind: string(r.Failure.Kind), Message: r.Failure.Message}
	}
	return out
}

func scored(p *pleat.Prediction) api.ScoredChains {
	out := api.ScoredChains{
		SequenceID: string(p.Sequence),
		Chains:     append([]string{}, p.Chains...),
		MeanPLLDT:  p.MeanPLDDT,
		PTM:        p.PTM,
		IPTM:       p.IPTM,
		MaxPAE:     p.MaxPAE,
		Confidence: p.Confidence,
		Pairs:      []api.PairScore{},
		Affinity:   affinity(p.Affinity),
	}
	for _, q := range p.Pairs {
		out.Pairs = append(out.Pairs, api.PairScore{A: q.A, B: q.B, IPTM: q.IPTM, IPSAE: q.IPSAE, PDockQ2: q.PDockQ2})
	}
	return out
}

func affinity(a *pleat.Affinity) *api.Affinity {
	if a == nil {
		return nil
	}
	return &api.Affinity{Value: a.Value, Probability: a.Probability}
}

// constraintsOut is the constraints as given, nil where none were; only the owner sees the webhooks.
func constraintsOut(c *pleat.Constraints, to audience) *api.Constraints {
	var out api.Constraints
	for _, p := range c.Pocket {
		q := api.Pocket{Binder: api.ChainRef{ChainID: p.Binder.Chain}, Contacts: []api.ResidueRef{}}
		for _, r := range p.Contacts {
			q.Contacts = append(q.Contacts, api.ResidueRef{ChainID: r.Chain, ResIdx: r.Residue})
		}
		out.Pocket = append(out.Pocket, q)
	}
	atom := func(a pleat.AtomRef) api.AtomRef {
		return api.AtomRef{ChainID: a.Chain, ResIdx: a.Residue, AtomName: a.Atom}
	}
	for _, b := range c.Bond {
		out.Bond = append(out.Bond, api.Bond{Atom1: atom(b.Atom1), Atom2: atom(b.Atom2)})
	}
	for _, t := range c.Contact {
		k := api.Contact{ChainA: t.ChainA, ResIdxA: t.ResidueA, ChainB: t.ChainB, ResIdxB: t.ResidueB}
		if t.Distance != 0 {
			d := t.Distance
			k.Distance = &d
		}
		out.Contact = append(out.Contact, k)
	}
	if to == forOwner && len(c.Webhooks) > 0 && string(c.Webhooks) != "null" {
		out.Webhooks = c.Webhooks
	}
	if c.Empty() && out.Webhooks == nil {
		return nil
	}
	return &out
}

// setPublic is PATCH /v1/jobs/{id}/public.
func (s *Server) setPublic(ctx context.Context, c *call, in *api.SetPublic) (api.Visibility, error) {
	id, err := ownedJob(c)
	if err != nil {
		return api.Visibility{}, err
	}
	if in.IsPublic == nil {
		return api.Visibility{}, pleat.InvalidField("isPublic", " is required; it must be true or false")
	}
	if err := s.store.SetPublic(ctx, c.who.User, id, *in.IsPublic); err != nil {
		return api.Visibility{}, err
	}
	return api.Visibility{JobID: string(id), IsPublic: *in.IsPublic}, nil
}

// cancelJob is POST /v1/jobs/{id}/cancel.
func (s *Server) cancelJob(ctx context.Context, c *call) (api.CancelledJob, error) {
	id, err := ownedJob(c)
	if err != nil {
		return api.CancelledJob{}, err
	}
	state, err := s.store.Cancel(ctx, c.who.User, id)
	return api.CancelledJob{JobID: string(id), JobStatus: string(state)}, err
}

// deleteJob is DELETE /v1/jobs/{id}.
func (s *Server) deleteJob(ctx context.Context, c *call) (api.DeletedJob, error) {
	id, err := ownedJob(c)
	if err != nil {
		return api.DeletedJob{}, err
	}
	return api.DeletedJob{JobID: string(id), Deleted: true}, s.store.DeleteJob(ctx, c.who.User, id)
}
