package workers

import (
	"context"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"pleat"
	"pleat/internal/store/db"
	"pleat/internal/store/people"
	"pleat/internal/store/tasks"
)

// MaxPauseReason is how many characters the reason of a pause may have.
const MaxPauseReason = 200

// ModelPause is a model whose tasks operators have paused: nobody claims them.
type ModelPause struct {
	Model  string
	Reason string       // empty: none was given
	By     pleat.UserID // who gave the reason last; empty: somebody on the database
	ByName string
	Since  time.Time
}

// errNoModel refuses the name of a model that does not run here.
func errNoModel(name string) error {
	return pleat.Errorf(pleat.CodeNotFound, "there is no model %q; GET /v1/models lists the models", pleat.Clip(name))
}

// PauseModel lets nobody claim a model's tasks from the next claim on, of whatever kind they are, and records it.
// Running tasks go on. A second call replaces the reason. It is for operators. CodeNotFound: there is no such model.
func (s *Store) PauseModel(ctx context.Context, by people.Actor, model, reason string) (ModelPause, error) {
	reason = strings.TrimSpace(reason)
	if n := utf8.RuneCountInString(reason); n > MaxPauseReason {
		return ModelPause{}, pleat.InvalidField("reason", " has %d characters; at most %d are allowed", n,
			MaxPauseReason)
	}
	if err := pleat.CheckPrintable("reason", reason); err != nil {
		return ModelPause{}, err
	}
	known, err := s.knowsModel(ctx, model)
	if err != nil {
		return ModelPause{}, err
	}
	var p ModelPause
	err = s.db.Write(ctx, "pause model", func(t *db.Tx) error {
		if err := people.NeedOperator(t, by, "pause a model"); err != nil {
			return err
		}
		paused, err := readPausedModels(t)
		if err != nil {
			return err
		}
		i := slices.IndexFunc(paused, func(p ModelPause) bool { return p.Model == model })
		switch {
		case i < 0 && !known:
			return errNoModel(model)
		case i >= 0 && paused[i].Reason == reason:
			p = paused[i]
			return nil
		}
		t.Send(`
			INSERT INTO paused_model (model, reason, paused_by, paused_at) VALUES ($1, $2, $3, $4)
			ON CONFLICT (model) DO UPDATE SET reason = excluded.reason, paused_by = excluded.paused_by`,
			model, reason, by.User, t.Now)
		for _, q := range pleat.ModelQueues(model) {
			t.Send("INSERT INTO paused_queue (queue, model) VALUES ($1, $2) ON CONFLICT (queue) DO NOTHING", q, model)
		}
		if err := s.people.RecordAudit(t, by, people.AuditModelPaused, model, reason); err != nil {
			return err
		}
		if paused, err = readPausedModels(t); err != nil {
			return err
		}
		p = paused[slices.IndexFunc(paused, func(p ModelPause) bool { return p.Model == model })]
		return nil
	})
	return p, err
}

// ResumeModel ends the pause of a model, and records it. It changes nothing if the model is not paused. It is for
// operators. CodeNotFound: there is no such model.
func (s *Store) ResumeModel(ctx context.Context, by people.Actor, model string) error {
	known, err := s.knowsModel(ctx, model)
	if err != nil {
		return err
	}
	return s.db.Write(ctx, "resume model", func(t *db.Tx) error {
		if err := people.NeedOperator(t, by, "resume a model"); err != nil {
			return err
		}
		n, err := t.Exec("DELETE FROM paused_model WHERE model = $1", model)
		switch {
		case err != nil:
			return err
		case n == 0 && !known:
			return errNoModel(model)
		case n == 0:
			return nil
		}
		if _, err := t.Exec("DELETE FROM paused_queue WHERE model = $1", model); err != nil {
			return err
		}
		for _, q := range pleat.ModelQueues(model) {
			tasks.NotifyQueue(t, q)
		}
		return s.people.RecordAudit(t, by, people.AuditModelResumed, model, "")
	})
}

// knowsModel reports whether a worker or a class has a model of this name.
func (s *Store) knowsModel(ctx context.Context, name string) (bool, error) {
	models, err := s.Models(ctx)
	return slices.ContainsFunc(models, func(m pleat.Model) bool { return m.Name == name }), err
}

const pausedModels = `
	SELECT p.model, p.reason, p.paused_by, COALESCE(a.name, ''), p.paused_at
	FROM paused_model p
	LEFT JOIN account a ON a.id = p.paused_by
	ORDER BY p.model`

// PausedModels lists the models that are paused, by name.
func (s *Store) PausedModels(ctx context.Context) ([]ModelPause, error) {
	rows, err := s.db.Read(ctx, pausedModels)
	out, err := scanPauses(rows, err)
	return out, db.Unavailable("list paused models", err)
}

func readPausedModels(t *db.Tx) ([]ModelPause, error) {
	rows, err := t.Query(pausedModels)
	return scanPauses(rows, err)
}

// scanPauses reads the rows of readPausedModels.
func scanPauses(rows db.Rows, err error) ([]ModelPause, error) {
	return db.ListOf(rows, err, func(scan func(...any) error) (p ModelPause, err error) {
		err = scan(&p.Model, &p.Reason, &p.By, &p.ByName, db.ScanTime(&p.Since))
		return p, err
	})
}

// pausedQueues returns the queues of the models that are paused.
func (s *Store) pausedQueues(ctx context.Context) (map[string]bool, error) {
	out := map[string]bool{}
	list, err := db.ColumnOf[string](s.db.Read(ctx, "SELECT queue FROM paused_queue"))
	for _, q := range list {
		out[q] = true
	}
	return out, db.Unavailable("list paused queues", err)
}
