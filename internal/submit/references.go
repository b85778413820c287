package submit

import (
	"context"

	"pleat"
	"pleat/internal/store/people"
	"pleat/internal/store/runs"
)

// References finds what a job or a workflow names, as its owner may read it. A request checks it, and the worker that
// runs it looks again.
type References struct {
	People *people.Store
	Runs   *runs.Store
	// FetchPDB is whether an entry of the Protein Data Bank may be named. For workers it is set: the code that fetches
	// knows whether it may.
	FetchPDB bool
}

// checkReferenced checks the library item, the alignments, the components and the templates that a job names. The key
// must be able to read them.
func (r *Resolver) checkReferenced(ctx context.Context, by Caller, job *pleat.Job, m pleat.Model) error {
	if job.LibraryItem != "" {
		if err := by.CheckReads("create a job from a library item"); err != nil {
			return err
		}
		if _, err := r.Runs.Item(ctx, people.InProject(job.Owner), job.LibraryItem); err != nil {
			return err
		}
	} else if pleat.NamesAlignments(job.Params, job.Sequences) {
		if err := by.CheckReads("use an alignment"); err != nil {
			return err
		}
	}
	if err := r.checkAlignments(ctx, job, m); err != nil {
		return err
	}
	if err := checkComponents(ctx, by, r.componentCheck(), job); err != nil {
		return err
	}
	return r.checkTemplates(ctx, by, job)
}

// checkComponents checks the components that a job names as files.
func checkComponents(ctx context.Context, by Caller, check *componentCheck, job *pleat.Job) error {
	for i := range job.Constraints.Components {
		if job.Constraints.Components[i].Item == "" {
			continue
		}
		if err := by.CheckReads("use a component of a file"); err != nil {
			return err
		}
		if err := check.Check(ctx, job, i); err != nil {
			return err
		}
	}
	return nil
}

// checkTemplates checks the templates that a job names.
func (r *Resolver) checkTemplates(ctx context.Context, by Caller, job *pleat.Job) error {
	if len(job.Constraints.Templates) == 0 {
		return nil
	}
	if err := by.CheckReads("use a template"); err != nil {
		return err
	}
	check := r.templateCheck()
	for i := range job.Constraints.Templates {
		if err := checkTemplate(ctx, by, check, job, i); err != nil {
			return err
		}
	}
	return nil
}

// checkTemplate checks template i of a job when it is the caller's turn to compute.
func checkTemplate(ctx context.Context, by Caller, check *templateCheck, job *pleat.Job, i int) error {
	release, err := by.Turn(ctx)
	if err != nil {
		return err
	}
	defer release()
	return check.Check(ctx, job, &job.Constraints.Templates[i], pleat.TemplatePath(i))
}
