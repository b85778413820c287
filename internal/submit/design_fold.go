package submit

import (
	"context"
	"slices"

	"pleat"
	"pleat/internal/flow"
	"pleat/internal/store/runs"
	"pleat/internal/structure"
)

// MaxDirectBytes bounds a structure that is read at once, while a request waits or a run ends, and DirectLimits are all
// bounds of it.
const MaxDirectBytes = 16 << 20

var DirectLimits = structure.Limits{Bytes: MaxDirectBytes, Atoms: 200_000, Residues: 100_000, Chains: 1000}

// DesignStructure finds the structure of the design that a job folds, as the job's owner may read it. An error has
// CodeNotFound if the job folds none, or the design is gone or of another project, or CodeConflict if its run has no
// such file, unless it is the store's.
func (r *Resolver) DesignStructure(ctx context.Context, f *pleat.FoldInput) (runs.DesignStructure, error) {
	d, ok, err := r.Runs.FoldedDesign(ctx, f.Job)
	if err == nil && !ok {
		err = pleat.ErrWorkflowNotFound
	}
	if err != nil {
		return runs.DesignStructure{}, err
	}
	v, err := r.Runs.WorkflowView(ctx, d.Workflow)
	if err == nil && v.Workflow.Owner != f.Owner {
		err = pleat.ErrWorkflowNotFound
	}
	if err != nil {
		return runs.DesignStructure{}, err
	}
	result, err := designResult(&v)
	if err != nil {
		return runs.DesignStructure{}, err
	}
	a, err := artifactNamed(v.Artifacts, pleat.DesignFileName(d.Rank, d.Design))
	if err != nil {
		return runs.DesignStructure{}, err
	}
	out := runs.DesignStructure{ReferencedFile: runs.ReferencedFile{Name: a.Name, Key: a.Key, Bytes: a.Bytes}}
	for _, c := range result.Chains {
		if c.Designed {
			out.Designed = append(out.Designed, c.Name)
		}
	}
	return out, nil
}

// designResult reads the result of a design. An error has CodeConflict if there is none yet.
func designResult(v *runs.WorkflowView) (*flow.DesignResult, error) {
	if v.Workflow.State != pleat.StateCompleted || v.Run.Result == nil {
		return nil, pleat.Errorf(pleat.CodeConflict, "the design is %s; its designs can be folded once it is COMPLETED",
			v.Workflow.State)
	}
	return flow.ReadDesignResult(v.Run.Result.Row)
}

// artifactNamed returns the file of a run that has a name.
func artifactNamed(files []pleat.Artifact, name string) (*pleat.Artifact, error) {
	i := slices.IndexFunc(files, func(a pleat.Artifact) bool { return a.Name == name })
	if i < 0 {
		return nil, pleat.Errorf(pleat.CodeConflict, "the run has no file %s", name)
	}
	return &files[i], nil
}
