package server

import (
	"context"
	"path"
	"slices"
	"strings"

	"pleat"
	"pleat/internal/flow"
	"pleat/internal/store"
)

// resolve checks that what a workflow looks at is there and that its owner may see it, and completes the ids of a fold.
func (s *Server) resolve(ctx context.Context, owner pleat.UserID, p *flow.Plan, draft bool) error {
	switch src := &p.Source; src.Kind {
	case flow.SourceFold:
		return s.resolveFold(ctx, owner, p, draft)
	case flow.SourceLibrary, flow.SourceUpload:
		if err := s.resolveFile(ctx, owner, src.Structure, "structure", ".pdb", ".ent", ".cif", ".mmcif"); err != nil || src.PAE.Item == "" {
			return err
		}
		return s.resolveFile(ctx, owner, src.PAE, "PAE", ".json")
	case flow.SourcePDB:
		if !s.cfg.FetchPDB {
			return pleat.Invalidf("workflow_input.targetSource is pdb, but the operator does not allow this service to fetch from the Protein Data Bank; upload the file to the library and use targetSource library")
		}
	case flow.SourceUniProt:
		if !s.cfg.FetchUniProt {
			return pleat.Invalidf("workflow_input.targetSource is uniprot, but the operator does not allow this service to fetch predicted structures by UniProt accession; upload the file to the library and use targetSource library")
		}
	}
	return nil
}

// resolveFold finds the run and the sequence of a fold that the owner may read.
func (s *Server) resolveFold(ctx context.Context, owner pleat.UserID, p *flow.Plan, draft bool) error {
	ref := &p.Source.Fold
	v, err := s.store.View(ctx, ref.Job)
	if err != nil {
		return err
	}
	if v.Job.Owner != owner && !v.Job.Public {
		return pleat.ErrJobNotFound
	}
	run := v.Run
	if ref.Run == "" {
		ref.Run = run.ID
	}
	if ref.Run != run.ID {
		runs, err := s.store.Runs(ctx, ref.Job)
		if err != nil {
			return err
		}
		i := slices.IndexFunc(runs, func(r pleat.Run) bool { return r.ID == ref.Run })
		if i < 0 {
			return pleat.Invalidf("workflow_input.source_job_run_id is %s, which is not a run of the job %s; its latest is %s", ref.Run, ref.Job, v.Run.ID)
		}
		run = runs[i]
	}
	if err := sequenceOfFold(ref, v.Job.Sequences); err != nil {
		return err
	}
	if p.QnA != nil {
		p.QnA.Reference = p.Source.Reference()
	}
	if run.State != pleat.StateCompleted && !draft {
		return pleat.Errorf(pleat.CodeConflict, "the fold is %s; a workflow can use it once it is COMPLETED", run.State)
	}
	return nil
}

// sequenceOfFold checks the sequence named, or picks the first protein.
func sequenceOfFold(ref *pleat.FoldRef, all []pleat.Sequence) error {
	if ref.Sequence == "" {
		first, ok := flow.FirstProtein(all)
		if !ok {
			return pleat.Invalidf("workflow_input.source_job_id: the job %s has no protein sequence", ref.Job)
		}
		ref.Sequence = first.ID
		return nil
	}
	i := slices.IndexFunc(all, func(q pleat.Sequence) bool { return q.ID == ref.Sequence })
	switch {
	case i < 0:
		return pleat.Invalidf("workflow_input.source_sequence_id is %s, which is not a sequence of the job %s", ref.Sequence, ref.Job)
	case all[i].Kind != pleat.Protein:
		return pleat.Invalidf("workflow_input.source_sequence_id names a %s; it must be a protein of the job", all[i].Kind)
	}
	return nil
}

// resolveFile checks that a library item of the owner's holds a file of a kind.
func (s *Server) resolveFile(ctx context.Context, owner pleat.UserID, ref flow.FileRef, what string, endings ...string) error {
	i, err := s.store.Item(ctx, owner, ref.Item)
	if err != nil {
		return err
	}
	fits := func(f store.LibraryFile) bool {
		return (ref.Name == "" || f.Name == ref.Name) && slices.Contains(endings, strings.ToLower(path.Ext(f.Name)))
	}
	switch {
	case slices.ContainsFunc(i.Files, fits):
		return nil
	case ref.Name != "":
		return pleat.Invalidf("workflow_input: the library item %s has no %s file named %q; names end in %s", i.ID, what, pleat.Clip(ref.Name), strings.Join(endings, ", "))
	}
	return pleat.Invalidf("workflow_input: the library item %s has no %s file; POST /v1/library/%s/upload-files adds one, ending in %s", i.ID, what, i.ID, strings.Join(endings, ", "))
}
