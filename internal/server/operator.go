package server

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"slices"
	"sync"
	"time"

	"pleat"
	"pleat/api"
	"pleat/internal/server/wire"
	"pleat/internal/store"
	"pleat/internal/store/ops"
	"pleat/internal/store/people"
	"pleat/internal/store/workers"
)

// overviewCache holds what the operators see: the open pages of several of them ask for it every few seconds.
type overviewCache struct {
	mu     sync.Mutex
	at     time.Time // when it was read; zero: never
	seen   ops.Overview
	schema int64
}

// overviewMaxAge is the age up to which an overview may be used.
const overviewMaxAge = time.Second

func (o *overviewCache) get(ctx context.Context, s *store.Store) (ops.Overview, int64, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.at.IsZero() && time.Since(o.at) < overviewMaxAge {
		return o.seen, o.schema, nil
	}
	// Others wait for the answer, even if this caller leaves.
	ctx, done := context.WithTimeout(context.WithoutCancel(ctx), responseTimeout)
	defer done()
	seen, err := s.Ops.Overview(ctx)
	if err != nil {
		return seen, 0, err
	}
	schema, err := s.DB.Version(ctx)
	if err == nil {
		o.seen, o.schema, o.at = seen, schema, time.Now()
	}
	return seen, schema, err
}

// overview is GET /v1/operator/overview, for operators. What is paused is as it is now; the counts may be a second old.
func (s *Server) overview(ctx context.Context, _ *call) (api.Overview, error) {
	seen, schema, err := s.overviews.get(ctx, s.store)
	if err != nil {
		return api.Overview{}, err
	}
	models, err := s.resolver.Models(ctx)
	if err != nil {
		return api.Overview{}, err
	}
	paused, err := s.store.Workers.PausedModels(ctx)
	out := api.Overview{
		Version:       pleat.Version,
		StartedAt:     api.At(s.began),
		Database:      s.store.DB.Dialect(),
		SchemaVersion: schema,
		At:            api.At(seen.At),
		Users:         seen.Users,
		Projects:      seen.Projects,
		Models:        wire.ModelQueues(seen.Models, models, paused),
		SlowRuns:      []api.SlowRun{},
		Disks:         wire.Disks(s.disk.Spaces()),
	}
	for i := range seen.Slowest {
		out.SlowRuns = append(out.SlowRuns, wire.SlowRun(&seen.Slowest[i]))
	}
	for i := range seen.Models {
		out.Waiting += seen.Models[i].Waiting
	}
	return out, err
}

// operatorWorkers is GET /v1/operator/workers, for operators: the workers that are alive or may come back, the one seen
// last first.
func (s *Server) operatorWorkers(ctx context.Context, _ *call) (api.List[api.OperatorWorker], error) {
	out := api.List[api.OperatorWorker]{Data: []api.OperatorWorker{}}
	list, err := s.store.Workers.Workers(ctx)
	if err != nil {
		return out, err
	}
	held, err := s.store.Workers.TasksHeld(ctx)
	now := s.store.DB.Now()
	for i := range list {
		out.Data = append(out.Data, wire.OperatorWorker(&list[i], held[list[i].ID], now))
	}
	return out, err
}

// drainWorker is POST /v1/operator/workers/{id}/drain, for operators: the worker claims nothing more, and ends when its
// tasks have ended; that of a server ends, and the server goes on. 404: there is no such worker; 409: it has ended.
func (s *Server) drainWorker(ctx context.Context, c *call) (api.DrainedWorker, error) {
	id := c.r.PathValue("worker")
	err := s.store.Workers.OrderDrain(ctx, c.actor(), pleat.WorkerID(id))
	return api.DrainedWorker{ID: id, Draining: true}, err
}

// pauseModel is POST /v1/operator/models/{model}/pause, for operators: nobody claims its tasks any more, and its jobs
// are accepted and wait. Another call replaces the reason. 404: there is no such model.
func (s *Server) pauseModel(ctx context.Context, c *call, in *api.PauseModel) (api.PausedModel, error) {
	p, err := s.store.Workers.PauseModel(ctx, c.actor(), c.r.PathValue("model"), in.Reason)
	return api.PausedModel{Model: p.Model, Paused: wire.ModelPause(&p)}, err
}

// resumeModel is POST /v1/operator/models/{model}/resume, for operators. A model that is not paused stays as it is.
// 404: there is no such model.
func (s *Server) resumeModel(ctx context.Context, c *call) (api.PausedModel, error) {
	model := c.r.PathValue("model")
	return api.PausedModel{Model: model}, s.store.Workers.ResumeModel(ctx, c.actor(), model)
}

// pausedModel reports whether a model is paused, and why.
func (s *Server) pausedModel(ctx context.Context, model string) (bool, *string, error) {
	list, err := s.store.Workers.PausedModels(ctx)
	paused, reason := pauseOf(list, model)
	return paused, reason, err
}

// pauseOf reports whether a model is among those that are paused, and why; nil: no reason was given.
func pauseOf(list []workers.ModelPause, model string) (bool, *string) {
	i := slices.IndexFunc(list, func(p workers.ModelPause) bool { return p.Model == model })
	if i < 0 {
		return false, nil
	}
	return true, wire.OptionalString(list[i].Reason)
}

// operatorUsers is GET /v1/operator/users, for operators: all users, the newest first.
func (s *Server) operatorUsers(ctx context.Context, c *call) (api.List[api.OperatorUser], error) {
	p, err := pageQuery(c.r, 100)
	if err != nil {
		return api.List[api.OperatorUser]{}, err
	}
	s.flushKeyUsage(ctx)
	list, err := s.store.Ops.UsersPage(ctx, pleat.UserID(p.before), p.limit+1)
	return listOf(p, list, func(u *ops.SeenUser) string { return string(u.ID) }, wire.OperatorUser), err
}

// disableUser returns the handler of POST /v1/operator/users/{user}/disable or of …/enable, for operators. 404: there
// is no such user; 409: operators would disable themselves.
func disableUser(disable bool) handlerFunc[api.DisabledUser] {
	return func(s *Server, ctx context.Context, c *call) (api.DisabledUser, error) {
		id, err := c.uuid("user", pleat.Errorf(pleat.CodeNotFound, "User not found"))
		if err != nil {
			return api.DisabledUser{}, err
		}
		u, err := s.store.People.SetDisabled(ctx, c.actor(), id, disable)
		return api.DisabledUser{ID: id, Name: u.Name, DisabledAt: wire.OptionalTime(u.DisabledAt)}, err
	}
}

// auditRange reads from and to of the audit log: days, both of them included; all of it if the request names none.
func (s *Server) auditRange(c *call) (from, to time.Time, err error) {
	today := s.store.DB.Now().UTC().Truncate(24 * time.Hour)
	if from, err = dayQuery(c.r, "from", time.Unix(0, 0).UTC()); err != nil {
		return from, to, err
	}
	if to, err = dayQuery(c.r, "to", today.AddDate(0, 0, 1)); err != nil {
		return from, to, err
	}
	if from.After(to) {
		err = pleat.InvalidField("from", " is %s, after to, which is %s", from.Format(time.DateOnly),
			to.Format(time.DateOnly))
	}
	return from, to.AddDate(0, 0, 1), err
}

// auditPage is how many entries an export of the audit log reads at once.
const auditPage = 1000

// operatorAudit is GET /v1/operator/audit, for operators: the audit log of all users, newest first, as pages of JSON,
// or whole as CSV or lines of JSON. 429: the caller has too many files sent at the same time.
func (s *Server) operatorAudit(ctx context.Context, c *call) error {
	from, to, err := s.auditRange(c)
	if err != nil {
		return err
	}
	format := c.r.URL.Query().Get("format")
	switch format {
	case "csv", "jsonl":
		return s.exportAudit(ctx, c, format, from, to)
	case "", "json":
	default:
		return pleat.InvalidField("format", " is %q; it may be json, csv or jsonl", pleat.Clip(format))
	}
	p, err := pageQuery(c.r, 50)
	if err != nil {
		return err
	}
	list, err := s.store.People.AuditBetween(ctx, from, to, pleat.AuditID(p.before), p.limit+1)
	if err != nil {
		return err
	}
	return c.json(listOf(p, list, func(e *people.AuditEntry) string { return string(e.ID) }, wire.AuditEntry))
}

// exportAudit sends the audit log of a time as a file. It refuses one that would be cut.
func (s *Server) exportAudit(ctx context.Context, c *call, format string, from, to time.Time) error {
	fits, err := s.store.People.AuditFits(ctx, from, to)
	if err != nil {
		return err
	}
	if !fits {
		return pleat.InvalidField("from", " would export more than %d entries; choose fewer days with from and to",
			people.MaxAuditExport)
	}
	release, err := s.beginExport(c)
	if err != nil {
		return err
	}
	defer release()
	write, media := c.auditLines(), "application/jsonl"
	if format == "csv" {
		write, media = c.auditTable(), "text/csv; charset=utf-8"
	}
	attach(c, media, "audit."+format)
	if c.r.Method == "HEAD" {
		return nil
	}
	for before := pleat.AuditID(""); ; {
		page, err := s.store.People.AuditBetween(ctx, from, to, before, auditPage)
		if err != nil {
			return err
		}
		c.deadline(tableWrite)
		if err := write(page); err != nil || len(page) < auditPage {
			return err
		}
		before = page[len(page)-1].ID
	}
}

// auditTable returns what writes entries as CSV; first the names of the columns.
func (c *call) auditTable() func([]people.AuditEntry) error {
	w := csv.NewWriter(c.w)
	begun := false
	return func(list []people.AuditEntry) error {
		if !begun {
			begun = true
			_ = w.Write(wire.AuditHeader()) // Error returns what could not be written
		}
		for i := range list {
			e := wire.AuditEntry(&list[i])
			_ = w.Write(wire.AuditCells(&e))
		}
		w.Flush()
		return w.Error()
	}
}

// auditLines returns what writes each entry as a line of JSON.
func (c *call) auditLines() func([]people.AuditEntry) error {
	w := json.NewEncoder(c.w)
	return func(list []people.AuditEntry) error {
		for i := range list {
			if err := w.Encode(wire.AuditEntry(&list[i])); err != nil {
				return err
			}
		}
		return nil
	}
}
