package submit

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"pleat"
	"pleat/internal/blob"
	"pleat/internal/flow"
	"pleat/internal/store/runs"
	"pleat/internal/structure"
	"pleat/internal/words"
)

// MaxDirectBytes bounds a structure that is read at once, while a request waits or a run ends, and DirectLimits are all
// bounds of it.
const MaxDirectBytes = 16 << 20

var DirectLimits = structure.Limits{Bytes: MaxDirectBytes, Atoms: 200_000, Residues: 100_000, Chains: 1000}

// DesignStructure finds the structure of the design that a job folds, as the job's owner may read it. An error has
// CodeNotFound if the job folds none, or the design is gone or of another project, or CodeConflict if its run has no
// such file, unless it is the store's.
func (r *References) DesignStructure(ctx context.Context, f *pleat.FoldInput) (runs.DesignStructure, error) {
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

// ChosenDesigns are designs of the final set of a workflow that are to be folded.
type ChosenDesigns struct {
	Rows     []flow.DesignRow
	workflow *runs.WorkflowView
	result   *flow.DesignResult
	top      *int // how many were asked for; nil: they were named
}

// ChooseDesigns finds the designs that a request names: the first ones of the final set, or those of some ids. A nil
// top or nil ids are absent from the request. An error has CodeConflict if the design has not completed, or else
// CodeInvalid.
func ChooseDesigns(v *runs.WorkflowView, top *int, ids []string) (*ChosenDesigns, error) {
	result, err := designResult(v)
	if err != nil {
		return nil, err
	}
	rows, err := chooseRows(result.Designs, top, ids)
	return &ChosenDesigns{
		Rows:     rows,
		workflow: v,
		result:   result,
		top:      top,
	}, err
}

// designResult returns the result of a design. An error has CodeConflict if there is none yet.
func designResult(v *runs.WorkflowView) (*flow.DesignResult, error) {
	if v.Workflow.State != pleat.StateCompleted || v.Run.Result == nil {
		return nil, pleat.Errorf(pleat.CodeConflict, "the design is %s; its designs can be folded once it is COMPLETED",
			v.Workflow.State)
	}
	return flow.ReadDesignResult(v.Run.Result.Row)
}

// maxFolded is how many designs one call may fold.
const maxFolded = 20

// chooseRows returns the rows of the designs that a request names.
func chooseRows(set []flow.DesignRow, top *int, ids []string) ([]flow.DesignRow, error) {
	switch {
	case top != nil && ids != nil:
		return nil, pleat.InvalidField("top", " is not taken beside designs; one of them says which designs are folded")
	case top == nil && ids == nil:
		return nil, pleat.InvalidField("top", " or designs is required; it says which designs are folded")
	case top != nil:
		if *top < 1 || *top > maxFolded {
			return nil, pleat.InvalidField("top", " is %d; it must be from 1 to %d", *top, maxFolded)
		}
		return set[:min(*top, len(set))], nil
	case len(ids) < 1 || len(ids) > maxFolded:
		return nil, pleat.InvalidField("designs", " has %d ids; it must have 1 to %d", len(ids), maxFolded)
	}
	var out []flow.DesignRow
	for i, id := range ids {
		field := fmt.Sprintf("designs[%d]", i)
		at := slices.IndexFunc(set, func(d flow.DesignRow) bool { return d.Text("id") == id })
		if at < 0 {
			var names []string
			for _, d := range set {
				names = append(names, d.Text("id"))
			}
			return nil, pleat.InvalidField(field, " is %q; the final set has %s", pleat.Clip(id),
				pleat.ListNames(names, 20))
		}
		if slices.Contains(ids[:i], id) {
			return nil, pleat.InvalidField(field, " is %q, which is named before", pleat.Clip(id))
		}
		out = append(out, set[at])
	}
	return out, nil
}

// Notes are sentences about folding the designs with a model.
func (c *ChosenDesigns) Notes(model string) []string {
	out := []string{}
	if c.top != nil && *c.top > len(c.Rows) {
		out = append(out, fmt.Sprintf("The final set has fewer designs than top: %d of %d are folded.",
			len(c.Rows), *c.top))
	}
	if c.workflow.Run.Model == "boltzgen" && strings.HasPrefix(model, "boltz") {
		out = append(out, "Boltz-2 is kin of the network that ranked the designs, so that it is less of a second "+
			"opinion than another model.")
	}
	return out
}

// FoldDesigns returns the jobs that fold designs, which are named after the workflow if name is empty. An
// error is like that of Fold, or has CodeConflict if the file of a design is missing.
func (r *Resolver) FoldDesigns(
	ctx context.Context, by Caller, c *ChosenDesigns, name string, p pleat.Params,
) (runs.DesignFolds, error) {
	w := &c.workflow.Workflow
	out := runs.DesignFolds{
		By:       by.Credential,
		Key:      by.Once.Key,
		Digest:   by.Once.Digest,
		Creator:  by.In.User,
		Owner:    by.In.Project,
		Workflow: w.ID,
	}
	for _, d := range c.Rows {
		id := d.Text("id")
		st, err := r.readDesign(ctx, c.workflow.Artifacts, pleat.DesignFileName(d.Rank(), id))
		if err != nil {
			return out, err
		}
		q := FoldRequest{Job: pleat.Job{
			Name:      words.Shorten(cmp.Or(name, w.Name)+", "+id, pleat.MaxName),
			Sequences: designSequences(st, c.result.Chains),
			Params:    pleat.Params{Model: p.Model, Values: maps.Clone(p.Values)},
		}}
		q.Complex = len(q.Job.Sequences) > 1
		f, err := r.Fold(ctx, by, q)
		if err != nil {
			return out, err
		}
		job := runs.NewJob{Job: f.Job, Run: f.Run, Subs: f.Subs}
		out.Jobs = append(out.Jobs, runs.DesignJob{Design: id, Rank: d.Rank(), Job: job})
	}
	return out, nil
}

// readDesign reads the structure of a design among the files of its run.
func (r *Resolver) readDesign(
	ctx context.Context, files []pleat.Artifact, name string,
) (*structure.Structure, error) {
	a, err := artifactNamed(files, name)
	if err != nil {
		return nil, err
	}
	in, _, err := r.Blobs.Open(ctx, a.Key)
	if err != nil {
		return nil, ReadError(err)
	}
	defer in.Close()
	return structure.ReadWhole(blob.ContextReader(ctx, in), DirectLimits)
}

// designSequences returns the chains of a design as sequences of a job, the designed ones first.
func designSequences(st *structure.Structure, chains []pleat.DesignChain) []pleat.Sequence {
	order := slices.Clone(st.Chains)
	slices.SortStableFunc(order, func(a, b structure.Chain) int {
		switch x, y := isDesigned(chains, a.ID), isDesigned(chains, b.ID); {
		case x == y:
			return 0
		case x:
			return -1
		}
		return 1
	})
	kinds := map[structure.Kind]pleat.EntityKind{
		structure.Protein: pleat.Protein, structure.RNA: pleat.RNA, structure.DNA: pleat.DNA,
	}
	var out []pleat.Sequence
	for i := range order {
		c := &order[i]
		switch {
		case c.Kind.Polymer():
			out = append(out, pleat.Sequence{Kind: kinds[c.Kind], Text: structure.Letters(c), ChainID: c.ID})
		case c.Kind != structure.Water && len(c.Residues) == 1:
			ligand := pleat.Sequence{
				Kind:    pleat.Ligand,
				Text:    c.Residues[0].Comp,
				CCD:     true,
				ChainID: c.ID,
			}
			k := slices.IndexFunc(chains, func(d pleat.DesignChain) bool { return d.Name == c.ID })
			if k >= 0 && chains[k].SMILES != "" {
				ligand.Text, ligand.CCD = chains[k].SMILES, false
			}
			out = append(out, ligand)
		}
	}
	return out
}

// isDesigned reports whether some residues of a chain are designed.
func isDesigned(chains []pleat.DesignChain, name string) bool {
	return slices.ContainsFunc(chains, func(c pleat.DesignChain) bool { return c.Name == name && c.Designed })
}

// artifactNamed is pleat.ArtifactNamed for a file that the run must have.
func artifactNamed(files []pleat.Artifact, name string) (*pleat.Artifact, error) {
	if a := pleat.ArtifactNamed(files, name); a != nil {
		return a, nil
	}
	return nil, pleat.Errorf(pleat.CodeConflict, "the run has no file %s", name)
}
