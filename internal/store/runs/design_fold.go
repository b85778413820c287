package runs

import (
	"context"
	"database/sql"
	"errors"
	"slices"

	"pleat"
	"pleat/internal/store/db"
	"pleat/internal/store/people"
)

// DesignFolds are the jobs that fold designs of a workflow, all of its project.
type DesignFolds struct {
	By       people.Credential
	Creator  pleat.UserID
	Owner    pleat.ProjectID
	Workflow pleat.WorkflowID
	Key      string // Idempotency-Key; empty: none
	Digest   string // of the request
	Jobs     []DesignJob
}

// DesignJob is a job that folds a design.
type DesignJob struct {
	Design string // its id
	Rank   int    // its final rank
	Job    NewJob // without By, Key and Digest
}

// planned is the work of the jobs, which are all of one model.
func (d *DesignFolds) planned() people.PlannedWork {
	var all people.PlannedWork
	for i := range d.Jobs {
		run := PlannedRun(d.Jobs[i].Job.Run)
		all = people.PlannedWork{Queue: run.Queue, Expected: all.Expected + run.Expected}
	}
	return all
}

// FoldDesigns stores the jobs, or none of them, each of which counts against the project's quota. An idempotency key
// works as in [Store.CreateJob]. Its errors are those of CreateJob, and [pleat.ErrWorkflowNotFound].
func (s *Store) FoldDesigns(ctx context.Context, d DesignFolds) (created []Created, replayed bool, err error) {
	err = s.db.Write(ctx, "fold designs", func(t *db.Tx) error {
		created = nil
		call := NewKeyedCall(d.Creator, d.Owner, d.Key, d.Digest)
		spent := make([]people.Charge, len(d.Jobs))
		if err := call.Admit(t, d.By, &created, func() {
			for i := range d.Jobs {
				s.people.AskCharge(t, d.Owner, &spent[i])
			}
		}); err != nil {
			return err
		}
		var w pleat.Workflow
		if err := LockWorkflow(t, people.InProject(d.Owner), pleat.Member, d.Workflow, &w); err != nil {
			return err
		}
		for i := range d.Jobs {
			if i == 0 {
				if err := people.CheckBudget(t, d.Owner, spent[i].Budget, d.planned()); err != nil {
					return err
				}
			}
			usage, err := s.people.JobUsage(t, &spent[i])
			if err != nil {
				return err
			}
			var c Created
			InsertJob(t, &d.Jobs[i].Job, &c)
			c.Usage = usage
			created = append(created, c)
			t.Send(`
				INSERT INTO design_fold (job_id, workflow_id, design_id, final_rank, of_run, binder_rmsd)
				VALUES ($1, $2, $3, $4, '', 0)`,
				c.Job, d.Workflow, d.Jobs[i].Design, d.Jobs[i].Rank)
		}
		KeepAnswer(t, call, created)
		return nil
	})
	replayed, err = Replayed(err)
	return created, replayed, err
}

// ReplayedFolds reads what [Store.FoldDesigns] has made for the idempotency key; nil: no call of the last day has it.
// It is for answering a repeated call whose model is gone. CodeConflict: the key came with another request.
func (s *Store) ReplayedFolds(
	ctx context.Context, by people.Reach, key, digest string,
) ([]Created, error) {
	call := NewKeyedCall(by.User, by.Project, key, digest)
	var earlier EarlierCall
	err := s.db.ReadRow(ctx, AnsweredCall, []any{call.Creator, call.Key, KeysSince(s.db.Micros())},
		&earlier.digest, &earlier.Answer)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, db.Unavailable("read folds of designs", err)
	}
	var created []Created
	if err := earlier.Replay(call, &created); !errors.Is(err, ErrReplayed) {
		return nil, err
	}
	return created, nil
}

// DesignFold is a fold of a design, as its job's latest run is.
type DesignFold struct {
	Workflow pleat.WorkflowID
	Design   string
	Rank     int
	Job      pleat.JobID
	Run      pleat.RunID
	Model    string
	State    pleat.State
	Result   *pleat.Result // nil unless the run completed
	// BinderRMSD is how far the binder of Run is from that of the design, in Å over the backbone, with the targets
	// superposed, or the binders if there is no target; nil: it was not measured.
	BinderRMSD *float64
}

// maxDesignFolds is how many folds of a workflow are read.
const maxDesignFolds = 200

// DesignFolds reads the folds of a workflow's designs whose jobs exist and were not moved to another project, in the
// order in which they were made: the newest maxDesignFolds.
func (s *Store) DesignFolds(ctx context.Context, w pleat.WorkflowID) ([]DesignFold, error) {
	return s.designFolds(ctx, `f.workflow_id = $1
		AND j.project_id = (SELECT w.project_id FROM workflow w WHERE w.id = f.workflow_id)`, w)
}

// FoldedDesign reads the design that a job folds; false if it folds none.
func (s *Store) FoldedDesign(ctx context.Context, job pleat.JobID) (DesignFold, bool, error) {
	list, err := s.designFolds(ctx, "f.job_id = $1", job)
	if len(list) == 0 {
		return DesignFold{}, false, err
	}
	return list[0], true, nil
}

// designFolds reads the folds that a condition on $1 selects.
func (s *Store) designFolds(ctx context.Context, where string, arg any) ([]DesignFold, error) {
	rows, err := s.db.Read(ctx, `
		SELECT f.workflow_id, f.design_id, f.final_rank, f.job_id, r.id, r.model, j.state, COALESCE(r.result, ''),
			f.binder_rmsd, f.of_run
		FROM design_fold f
		JOIN job j ON j.id = f.job_id AND j.deleted_at = 0
		JOIN run r ON r.id = j.run_id
		WHERE `+where+`
		ORDER BY f.job_id DESC
		LIMIT $2`, arg, maxDesignFolds)
	out, err := db.ListOf(rows, err, func(scan func(...any) error) (f DesignFold, err error) {
		var result, comparedRun string
		var rmsd float64
		err = scan(&f.Workflow, &f.Design, &f.Rank, &f.Job, &f.Run, &f.Model, &f.State, &result, &rmsd, &comparedRun)
		if comparedRun == string(f.Run) && rmsd >= 0 {
			f.BinderRMSD = &rmsd
		}
		if err == nil && f.State == pleat.StateCompleted {
			err = db.DecodeJSON(result, &f.Result)
		}
		return f, err
	})
	slices.Reverse(out)
	return out, db.Unavailable("read folds of designs", err)
}

// recordBinder records the RMSD of the binder in a run of a fold of a design.
func recordBinder(t *db.Tx, run pleat.RunID, rmsd float64) {
	t.Send(`
		UPDATE design_fold SET of_run = $1, binder_rmsd = $2
		WHERE job_id = (SELECT r.job_id FROM run r WHERE r.id = $1)`, run, rmsd)
}
