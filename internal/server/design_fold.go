package server

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"pleat"
	"pleat/api"
	"pleat/internal/blob"
	"pleat/internal/flow"
	"pleat/internal/server/wire"
	"pleat/internal/store/runs"
	"pleat/internal/structure"
	"pleat/internal/submit"
	"pleat/internal/words"
)

// maxFolded is how many designs one call may fold.
const maxFolded = 20

// foldDesigns is POST /v1/workflows/design/{id}/fold, for the owner of a design: it creates a fold job for each of some
// designs of the final set, or none. 400: the model folds no complexes, or a field is wrong; 409: the design is not
// COMPLETED; 429: the quota is used up.
func (s *Server) foldDesigns(ctx context.Context, c *call, in *api.FoldDesigns) (api.FoldedDesigns, error) {
	out := api.FoldedDesigns{Data: []api.FoldedDesign{}}
	q, err := s.readFoldRequest(ctx, c, in)
	if err != nil {
		return out, err
	}
	made, err := s.foldedBefore(ctx, c, q.key, q.digest)
	if err == nil && made == nil {
		made, err = s.foldChosen(ctx, c, q)
	}
	if err != nil {
		return out, err
	}
	for i, m := range made {
		out.Data = append(out.Data, api.FoldedDesign{
			DesignID:  q.chosen[i].Text("id"),
			FinalRank: q.chosen[i].Rank(),
			JobID:     string(m.Job),
			JobRunID:  string(m.Run),
			JobName:   m.Name,
		})
	}
	u, err := s.store.People.Usage(ctx, c.in)
	if err != nil {
		return out, err
	}
	quotaHeaders(c.w.Header(), u.Jobs)
	out.Notes = q.notes()
	return out, nil
}

// foldRequest is a request to fold designs, read as far as it does not depend on the models that run.
type foldRequest struct {
	*api.FoldDesigns
	workflow    runs.WorkflowView
	result      *flow.DesignResult
	chosen      []flow.DesignRow
	params      *api.Params
	key, digest string // of idempotency
}

// readFoldRequest reads a request to fold designs.
func (s *Server) readFoldRequest(ctx context.Context, c *call, in *api.FoldDesigns) (*foldRequest, error) {
	q := &foldRequest{FoldDesigns: in, params: new(api.Params)}
	var err error
	q.workflow, err = s.ownWorkflow(ctx, c, c.r.PathValue("id"))
	w := &q.workflow.Workflow
	if err == nil && w.Kind != pleat.TaskDesign {
		err = pleat.ErrWorkflowNotFound
	}
	if err != nil {
		return nil, err
	}
	if q.key, err = idempotencyKey(c.r); err != nil {
		return nil, err
	}
	if q.digest, err = digestOf(in, string(w.ID)); err != nil {
		return nil, err
	}
	if w.State != pleat.StateCompleted || q.workflow.Run.Result == nil {
		return nil, pleat.Errorf(pleat.CodeConflict, "the design is %s; its designs can be folded once it is COMPLETED",
			w.State)
	}
	if q.result, err = flow.ReadDesignResult(q.workflow.Run.Result.Row); err != nil {
		return nil, err
	}
	if q.chosen, err = chooseDesigns(in, q.result.Designs); err != nil {
		return nil, err
	}
	if len(in.Params) == 0 {
		return nil, pleat.InvalidField("params", " is required; it must hold modelName")
	}
	return q, api.DecodeAs("params", in.Params, q.params)
}

// notes are sentences about the request.
func (q *foldRequest) notes() []string {
	out := []string{}
	if q.Top != nil && *q.Top > len(q.chosen) {
		out = append(out, fmt.Sprintf("The final set has fewer designs than top: %d of %d are folded.",
			len(q.chosen), *q.Top))
	}
	if q.workflow.Run.Model == "boltzgen" && strings.HasPrefix(q.params.ModelName, "boltz") {
		out = append(out, "Boltz-2 is kin of the network that ranked the designs, so that it is less of a second "+
			"opinion than another model.")
	}
	return out
}

// foldedBefore returns what an earlier call with an idempotency key has made; nil: there was none. It comes before what
// depends on the model, which may have stopped running since then.
func (s *Server) foldedBefore(ctx context.Context, c *call, key, digest string) ([]runs.Created, error) {
	if key == "" {
		return nil, nil
	}
	return s.store.Runs.ReplayedFolds(ctx, c.in, key, digest)
}

// foldChosen creates the jobs.
func (s *Server) foldChosen(ctx context.Context, c *call, q *foldRequest) ([]runs.Created, error) {
	n := runs.DesignFolds{
		By: c.cred.Credential, Creator: c.in.User, Owner: c.in.Project, Workflow: q.workflow.Workflow.ID,
		Key: q.key, Digest: q.digest,
	}
	for _, d := range q.chosen {
		job, err := s.designJob(ctx, c, q, d)
		if err != nil {
			return nil, err
		}
		n.Jobs = append(n.Jobs, *job)
	}
	made, replayed, err := s.store.Runs.FoldDesigns(ctx, n)
	if err != nil {
		return nil, s.withQuota(ctx, c, err)
	}
	if !replayed {
		s.meters.created.WithLabelValues(n.Jobs[0].Job.Run.Model).Add(float64(len(made)))
	}
	return made, nil
}

// chooseDesigns returns the rows of the designs that a request names.
func chooseDesigns(in *api.FoldDesigns, set []flow.DesignRow) ([]flow.DesignRow, error) {
	switch {
	case in.Top != nil && in.Designs != nil:
		return nil, pleat.InvalidField("top", " is not taken beside designs; one of them says which designs are folded")
	case in.Top == nil && in.Designs == nil:
		return nil, pleat.InvalidField("top", " or designs is required; it says which designs are folded")
	case in.Top != nil:
		if *in.Top < 1 || *in.Top > maxFolded {
			return nil, pleat.InvalidField("top", " is %d; it must be from 1 to %d", *in.Top, maxFolded)
		}
		return set[:min(*in.Top, len(set))], nil
	case len(in.Designs) < 1 || len(in.Designs) > maxFolded:
		return nil, pleat.InvalidField("designs", " has %d ids; it must have 1 to %d", len(in.Designs), maxFolded)
	}
	var out []flow.DesignRow
	for i, id := range in.Designs {
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
		if slices.Contains(in.Designs[:i], id) {
			return nil, pleat.InvalidField(field, " is %q, which is named before", pleat.Clip(id))
		}
		out = append(out, set[at])
	}
	return out, nil
}

// designJob returns the job that folds a design: the chains of the binder first, then those of the target.
func (s *Server) designJob(
	ctx context.Context, c *call, q *foldRequest, d flow.DesignRow,
) (*runs.DesignJob, error) {
	id := d.Text("id")
	st, err := s.readArtifact(ctx, q.workflow.Artifacts, pleat.DesignFileName(d.Rank(), id))
	if err != nil {
		return nil, err
	}
	job := api.CreateJob{
		Name:   words.Shorten(cmp.Or(q.Name, q.workflow.Workflow.Name)+", "+id, pleat.MaxName),
		Params: q.params,
	}
	if job.Sequences, err = designSequences(st, q.result.Chains); err != nil {
		return nil, err
	}
	r := submit.FoldRequest{Complex: len(job.Sequences) > 1}
	r.Job, r.DecodeErr = wire.ToJob(&job)
	f, err := s.resolver.Fold(ctx, s.submitter(ctx, c), r)
	if err != nil {
		return nil, err
	}
	return &runs.DesignJob{Design: id, Rank: d.Rank(), Job: runs.NewJob{Job: f.Job, Run: f.Run, Subs: f.Subs}}, nil
}

// readArtifact reads a structure among the files of a run.
func (s *Server) readArtifact(ctx context.Context, files []pleat.Artifact, name string) (*structure.Structure, error) {
	i := slices.IndexFunc(files, func(a pleat.Artifact) bool { return a.Name == name })
	if i < 0 {
		return nil, pleat.Errorf(pleat.CodeConflict, "the run has no file %s", name)
	}
	in, _, err := s.blobs.Open(ctx, files[i].Key)
	if err != nil {
		return nil, storageError(err)
	}
	defer in.Close()
	return structure.ReadWhole(blob.ContextReader(ctx, in), directLimits)
}

// designSequences returns the chains of a design as sequences of a job, the designed ones first. An error has
// CodeInvalid: a chain is none that a job can have.
func designSequences(st *structure.Structure, chains []pleat.DesignChain) ([]api.SequenceItem, error) {
	var out []api.SequenceItem
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
	for i := range order {
		c := &order[i]
		switch {
		case c.Kind == structure.Protein:
			in := &api.Polymer{Sequence: structure.Letters(c), ChainID: c.ID}
			out = append(out, api.SequenceItem{ProteinChain: in})
		case c.Kind.Polymer():
			out = append(out, nucleic(c))
		case c.Kind != structure.Water && len(c.Residues) == 1:
			ligand := &api.LigandSequence{Sequence: c.Residues[0].Comp, IsCCD: true, ChainID: c.ID}
			k := slices.IndexFunc(chains, func(d pleat.DesignChain) bool { return d.Name == c.ID })
			if k >= 0 && chains[k].SMILES != "" {
				ligand.Sequence, ligand.IsCCD = chains[k].SMILES, false
			}
			out = append(out, api.SequenceItem{LigandSequence: ligand})
		}
	}
	return out, nil
}

// isDesigned reports whether some residues of a chain are designed.
func isDesigned(chains []pleat.DesignChain, name string) bool {
	return slices.ContainsFunc(chains, func(c pleat.DesignChain) bool { return c.Name == name && c.Designed })
}

// nucleic returns a chain of RNA or DNA as an item of a job.
func nucleic(c *structure.Chain) api.SequenceItem {
	in := &api.Polymer{Sequence: structure.Letters(c), ChainID: c.ID}
	if c.Kind == structure.RNA {
		return api.SequenceItem{RNASequence: in}
	}
	return api.SequenceItem{DNASequence: in}
}

// designFolds returns the folds of the designs of a workflow, for its owner.
func (s *Server) designFolds(ctx context.Context, id pleat.WorkflowID) ([]api.DesignFold, error) {
	list, err := s.store.Runs.DesignFolds(ctx, id)
	if err != nil {
		return nil, err
	}
	var out []api.DesignFold
	for i := range list {
		f := &list[i]
		row := api.DesignFold{
			DesignID:  f.Design,
			JobID:     string(f.Job),
			JobRunID:  string(f.Run),
			ModelName: f.Model,
			Status:    string(f.State),
		}
		if f.Result != nil && len(f.Result.Predictions) == 1 {
			p := &f.Result.Predictions[0]
			row.MeanPLDDT, row.PTM, row.IPTM, row.BinderRMSD = p.MeanPLDDT, p.PTM, p.IPTM, f.BinderRMSD
		}
		out = append(out, row)
	}
	return out, nil
}
