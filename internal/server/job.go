package server

import (
	"context"
	"encoding/base64"
	"net/http"
	"slices"
	"unicode/utf8"

	"pleat"
	"pleat/api"
	"pleat/internal/server/wire"
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
		out.Data = append(out.Data, wire.JobRow(&rows[i]))
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
		Job:         api.JobDetail{Job: wire.Job(&v.Job), IsOwner: head.to == wire.ForOwner},
		Run:         wire.Run(&v.Run),
		Runs:        []api.Run{},
		Progress:    api.RunProgress{Stage: wire.Stage(v.Run.State, v.Run.Stage), Done: v.Run.Done, Total: v.Run.Total},
		Sequences:   []api.ViewSequence{},
		Constraints: wire.Constraints(&v.Job.Constraints, head.to),
		Predictions: []api.ScoredChains{},
		Workflows:   []api.LinkedItem{},
		Deliveries:  []api.LinkedItem{},
		Params:      map[string]any{"modelName": v.Run.Params.Model},
		Links:       api.JobLinks{Results: base + "/results", Events: base + "/events", Archive: base + "/archive.zip"},
	}
	for name, value := range v.Run.Params.Values {
		out.Params[name] = value
	}
	if head.to == wire.ForOwner {
		out.Job.ChatID, out.Job.LibraryItemID = wire.OptionalString(v.Job.ChatID),
			wire.OptionalString(v.Job.LibraryItem)
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
		out.Runs = append(out.Runs, wire.Run(&runs[i]))
	}
	for i := range v.Job.Sequences {
		q := &v.Job.Sequences[i]
		out.Sequences = append(out.Sequences, api.ViewSequence{
			ID:       string(q.ID),
			Type:     string(q.Kind),
			Name:     wire.OptionalString(q.Label),
			Sequence: q.Text,
			Chains:   q.Chains,
			Count:    q.Count,
			Item:     wire.SequenceItem(q, head.to),
		})
	}
	if v.Run.Result != nil {
		for i := range v.Run.Result.Predictions {
			out.Predictions = append(out.Predictions, wire.ScoredChains(&v.Run.Result.Predictions[i]))
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
	if head.to == wire.ForOthers && !v.Job.Public {
		if head.Caller == "" {
			return v, pleat.ErrUnauthorized
		}
		return v, pleat.ErrJobNotFound
	}
	return v, nil
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
