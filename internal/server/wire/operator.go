package wire

import (
	"cmp"
	"slices"
	"time"

	"pleat"
	"pleat/api"
	"pleat/internal/blob"
	"pleat/internal/store/ops"
	"pleat/internal/store/workers"
	"pleat/internal/words"
)

// ModelQueues returns the queues of models: of those that have tasks, of the others that are known, and of those that
// are paused. Counts are of the first list.
func ModelQueues(busy []ops.ModelQueue, known []pleat.Model, paused []workers.ModelPause) []api.ModelQueue {
	out := []api.ModelQueue{}
	queueOf := func(name string) *api.ModelQueue {
		i := slices.IndexFunc(out, func(q api.ModelQueue) bool { return q.Model == name })
		if i < 0 {
			i = len(out)
			out = append(out, api.ModelQueue{Model: name})
		}
		return &out[i]
	}
	for i := range busy {
		q := queueOf(busy[i].Model)
		q.Waiting, q.Running, q.WaitingSince = busy[i].Waiting, busy[i].Running, OptionalTime(busy[i].Oldest)
	}
	for i := range known {
		q := queueOf(known[i].Name)
		q.Workers = max(q.Workers, known[i].Workers)
	}
	for i := range paused {
		queueOf(paused[i].Model).Paused = ModelPause(&paused[i])
	}
	slices.SortFunc(out, func(a, b api.ModelQueue) int { return cmp.Compare(a.Model, b.Model) })
	return out
}

// ModelPause returns why a model is paused. A reason without an author was given on the database.
func ModelPause(p *workers.ModelPause) *api.ModelPause {
	return &api.ModelPause{Reason: p.Reason, By: p.ByName, Since: api.At(p.Since)}
}

// SlowRun returns a run that has taken long.
func SlowRun(r *ops.SlowRun) api.SlowRun {
	out := api.SlowRun{
		RunID:       string(r.Run),
		JobID:       OptionalString(r.Source.Job),
		WorkflowID:  OptionalString(r.Source.Workflow),
		ProjectID:   string(r.Project),
		ProjectName: r.Owner,
		Model:       r.Model,
		WorkerID:    string(r.Worker),
		StartedAt:   api.At(r.Began),
	}
	if r.Expected > 0 {
		seconds := r.Expected.Seconds()
		out.Expected = &seconds
	}
	return out
}

// Disks returns the space of folders.
func Disks(list []blob.Space) []api.DiskSpace {
	out := []api.DiskSpace{}
	for _, d := range list {
		out = append(out, api.DiskSpace{Folder: d.Folder, Free: d.Free, Total: d.Total})
	}
	return out
}

// OperatorWorker returns a worker at a time, with the tasks that it holds.
func OperatorWorker(w *pleat.Worker, tasks int, now time.Time) api.OperatorWorker {
	out := api.OperatorWorker{
		ID:         string(w.ID),
		Host:       w.Host,
		Class:      cmp.Or(w.Class, pleat.DefaultClass),
		State:      string(w.State(now)),
		Models:     []string{},
		Devices:    []api.WorkerDevice{},
		Memory:     w.Memory,
		Tasks:      tasks,
		ClusterJob: OptionalString(w.ClusterJob),
		StartedAt:  api.At(w.Started),
		SeenAt:     api.At(w.SeenAt),
		EndsAt:     OptionalTime(w.Ends),
	}
	for i := range w.Models {
		if name := w.Models[i].Name; !slices.Contains(out.Models, name) {
			out.Models = append(out.Models, name)
		}
	}
	for _, d := range w.Devices {
		out.Devices = append(out.Devices, api.WorkerDevice{ID: d.ID, Name: d.Name, Memory: d.Memory})
	}
	return out
}

// OperatorUser returns a user as an operator sees it.
func OperatorUser(u *ops.SeenUser) api.OperatorUser {
	return api.OperatorUser{
		ID:         string(u.ID),
		Name:       u.Name,
		IsService:  u.Service,
		ProjectID:  OptionalString(u.Project),
		IsOperator: u.Operator,
		DisabledAt: OptionalTime(u.DisabledAt),
		CreatedAt:  api.At(u.CreatedAt),
		SeenAt:     OptionalTime(u.SeenAt),
	}
}

// AuditHeader names the columns of an export of the audit log, which are the fields of an entry.
func AuditHeader() []string {
	return []string{"id", "at", "action", "subject", "detail", "userId", "userName", "projectId", "keyId", "keyPrefix",
		"address"}
}

// AuditCells returns the cells of an entry. Text that people have written is no formula to a spreadsheet.
func AuditCells(e *api.AuditEntry) []string {
	text := func(s *string) string {
		if s == nil {
			return ""
		}
		return *s
	}
	at := e.At.UTC().Format("2006-01-02T15:04:05.000000Z")
	out := []string{e.ID, at, e.Action, e.Subject, e.Detail, e.UserID, e.UserName, text(e.ProjectID), text(e.KeyID),
		e.KeyPrefix, e.Address}
	for i := range out {
		out[i] = words.Cell(out[i])
	}
	return out
}
