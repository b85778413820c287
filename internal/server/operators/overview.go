package operators

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"time"

	"pleat"
	"pleat/api"
	"pleat/internal/server/route"
	"pleat/internal/server/wire"
	"pleat/internal/store/ops"
	"pleat/internal/store/people"
)

// snapshot is what the operators see.
type snapshot struct {
	ops.Overview
	schema int64 // version of the database's
}

// readSnapshot reads what the operators see.
func (h *Handlers) readSnapshot(ctx context.Context) (s snapshot, err error) {
	if s.Overview, err = h.Ops.Overview(ctx); err == nil {
		s.schema, err = h.DB.Version(ctx)
	}
	return s, err
}

// overview is GET /v1/operator/overview, for operators. The paused models are as they are now; the counts may be a
// second old.
func (h *Handlers) overview(ctx context.Context, _ *route.Call) (api.Overview, error) {
	seen, err := h.snapshots.Get(ctx, h.readSnapshot)
	if err != nil {
		return api.Overview{}, err
	}
	models, err := h.Submit.Models(ctx)
	if err != nil {
		return api.Overview{}, err
	}
	paused, err := h.Workers.PausedModels(ctx)
	out := api.Overview{
		Version:       pleat.Version,
		StartedAt:     api.At(h.Began),
		Database:      h.DB.Dialect(),
		SchemaVersion: seen.schema,
		At:            api.At(seen.At),
		Users:         seen.Users,
		Projects:      seen.Projects,
		Models:        wire.ModelQueues(seen.Models, models, paused),
		SlowRuns:      []api.SlowRun{},
		Disks:         wire.Disks(h.Disk.Spaces()),
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
func (h *Handlers) operatorWorkers(ctx context.Context, _ *route.Call) (api.List[api.OperatorWorker], error) {
	out := api.List[api.OperatorWorker]{Data: []api.OperatorWorker{}}
	list, err := h.Workers.Workers(ctx)
	if err != nil {
		return out, err
	}
	held, err := h.Workers.TasksHeld(ctx)
	now := h.DB.Now()
	for i := range list {
		out.Data = append(out.Data, wire.OperatorWorker(&list[i], held[list[i].ID], now))
	}
	return out, err
}

// drainWorker is POST /v1/operator/workers/{id}/drain, for operators: the worker claims nothing more, and ends when its
// tasks have ended; that of a server ends, and the server goes on. 404: there is no such worker; 409: it has ended.
func (h *Handlers) drainWorker(ctx context.Context, c *route.Call) (api.DrainedWorker, error) {
	id := c.R.PathValue("worker")
	err := h.Workers.OrderDrain(ctx, c.Actor(), pleat.WorkerID(id))
	return api.DrainedWorker{ID: id, Draining: true}, err
}

// pauseModel is POST /v1/operator/models/{model}/pause, for operators: nobody claims its tasks any more, and its jobs
// are accepted and wait. Another call replaces the reason. 404: there is no such model.
func (h *Handlers) pauseModel(ctx context.Context, c *route.Call, in *api.PauseModel) (api.PausedModel, error) {
	p, err := h.Workers.PauseModel(ctx, c.Actor(), c.R.PathValue("model"), in.Reason)
	return api.PausedModel{Model: p.Model, Paused: wire.ModelPause(&p)}, err
}

// resumeModel is POST /v1/operator/models/{model}/resume, for operators. A model that is not paused stays as it is.
// 404: there is no such model.
func (h *Handlers) resumeModel(ctx context.Context, c *route.Call) (api.PausedModel, error) {
	model := c.R.PathValue("model")
	return api.PausedModel{Model: model}, h.Workers.ResumeModel(ctx, c.Actor(), model)
}

// operatorUsers is GET /v1/operator/users, for operators: all users, the newest first.
func (h *Handlers) operatorUsers(ctx context.Context, c *route.Call) (api.List[api.OperatorUser], error) {
	p, err := c.PageQuery(100)
	if err != nil {
		return api.List[api.OperatorUser]{}, err
	}
	c.FlushKeyUsage(ctx)
	list, err := h.Ops.UsersPage(ctx, pleat.UserID(p.Before), p.Limit+1)
	return route.List(p, list, func(u *ops.SeenUser) string { return string(u.ID) }, wire.OperatorUser), err
}

// disableUser returns the handler of POST /v1/operator/users/{user}/disable or of …/enable, for operators. 404: there
// is no such user; 409: operators would disable themselves.
func (h *Handlers) disableUser(disable bool) route.Getter[api.DisabledUser] {
	return func(ctx context.Context, c *route.Call) (api.DisabledUser, error) {
		id, err := c.UUID("user", pleat.Errorf(pleat.CodeNotFound, "User not found"))
		if err != nil {
			return api.DisabledUser{}, err
		}
		u, err := h.People.SetDisabled(ctx, c.Actor(), id, disable)
		return api.DisabledUser{ID: id, Name: u.Name, DisabledAt: wire.OptionalTime(u.DisabledAt)}, err
	}
}

// auditRange reads from and to of the audit log: days, both of them included; all of it if the request names none.
func (h *Handlers) auditRange(c *route.Call) (from, to time.Time, err error) {
	today := h.DB.Now().UTC().Truncate(24 * time.Hour)
	if from, err = c.DayQuery("from", time.Unix(0, 0).UTC()); err != nil {
		return from, to, err
	}
	if to, err = c.DayQuery("to", today.AddDate(0, 0, 1)); err != nil {
		return from, to, err
	}
	if from.After(to) {
		err = pleat.InvalidField("from", " is %s, after to, which is %s", from.Format(time.DateOnly),
			to.Format(time.DateOnly))
	}
	return from, to.AddDate(0, 0, 1), err
}

const (
	// auditPage is how many entries an export of the audit log reads at once.
	auditPage = 1000
	// auditWrite is how long the sending of a page of an export may take.
	auditWrite = time.Minute
)

// operatorAudit is GET /v1/operator/audit, for operators: the audit log of all users, newest first, as pages of JSON,
// or whole as CSV or lines of JSON. 429: the caller has too many files sent at the same time.
func (h *Handlers) operatorAudit(ctx context.Context, c *route.Call) error {
	from, to, err := h.auditRange(c)
	if err != nil {
		return err
	}
	format := c.R.URL.Query().Get("format")
	switch format {
	case "csv", "jsonl":
		return h.exportAudit(ctx, c, format, from, to)
	case "", "json":
	default:
		return pleat.InvalidField("format", " is %q; it may be json, csv or jsonl", pleat.Clip(format))
	}
	p, err := c.PageQuery(50)
	if err != nil {
		return err
	}
	list, err := h.People.AuditBetween(ctx, from, to, pleat.AuditID(p.Before), p.Limit+1)
	if err != nil {
		return err
	}
	return c.JSON(route.List(p, list, func(e *people.AuditEntry) string { return string(e.ID) }, wire.AuditEntry))
}

// exportAudit sends the audit log of a time as a file. It refuses one that would be cut.
func (h *Handlers) exportAudit(ctx context.Context, c *route.Call, format string, from, to time.Time) error {
	fits, err := h.People.AuditFits(ctx, from, to)
	if err != nil {
		return err
	}
	if !fits {
		return pleat.InvalidField("from", " would export more than %d entries; choose fewer days with from and to",
			people.MaxAuditExport)
	}
	release, err := c.Acquire(h.Exports)
	if err != nil {
		return err
	}
	defer release()
	write, media := auditLines(c), "application/jsonl"
	if format == "csv" {
		write, media = auditTable(c), "text/csv; charset=utf-8"
	}
	c.Attach(media, "audit."+format)
	if c.R.Method == "HEAD" {
		return nil
	}
	for before := pleat.AuditID(""); ; {
		page, err := h.People.AuditBetween(ctx, from, to, before, auditPage)
		if err != nil {
			return err
		}
		c.Deadline(auditWrite)
		if err := write(page); err != nil || len(page) < auditPage {
			return err
		}
		before = page[len(page)-1].ID
	}
}

// auditTable returns what writes entries as CSV; first the names of the columns.
func auditTable(c *route.Call) func([]people.AuditEntry) error {
	w := csv.NewWriter(c.W)
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
func auditLines(c *route.Call) func([]people.AuditEntry) error {
	w := json.NewEncoder(c.W)
	return func(list []people.AuditEntry) error {
		for i := range list {
			if err := w.Encode(wire.AuditEntry(&list[i])); err != nil {
				return err
			}
		}
		return nil
	}
}
