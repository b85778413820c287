package submit

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"pleat"
	"pleat/internal/blob"
	"pleat/internal/flow"
	"pleat/internal/msa"
	"pleat/internal/store/people"
	"pleat/internal/store/runs"
)

// ReferencedAlignments lists the alignments that a job names: those of its sequences first, then those of its parameter
// alignmentId, then those of its library item. Where several are of one sequence, the first is used. A file that an
// earlier check has found may be gone. An error has CodeInvalid and names the field, unless it is the store's;
// ErrNoItem: the library item of the job is gone, and what is returned are the others.
func (r *References) ReferencedAlignments(ctx context.Context, f *pleat.FoldInput) ([]runs.ReferencedAlignment, error) {
	var out []runs.ReferencedAlignment
	for i := range f.Sequences {
		s := &f.Sequences[i]
		if s.MSA == (pleat.FileRef{}) {
			continue
		}
		file, err := r.ownAlignment(ctx, f.Owner, s, s.Path(i)+".msa")
		if err != nil {
			return nil, err
		}
		out = append(out, file)
	}
	if id := f.Params.Alignment(); id != "" {
		searched, err := r.searchedAlignments(ctx, f.Owner, id)
		if err != nil {
			return nil, err
		}
		out = append(out, searched...)
	}
	if f.LibraryItem == "" {
		return out, nil
	}
	library, err := r.libraryAlignments(ctx, f.Owner, f.LibraryItem)
	return append(out, library...), err
}

// libraryAlignments lists the alignments of a library item of the owner's.
func (r *References) libraryAlignments(
	ctx context.Context, owner pleat.ProjectID, id pleat.ItemID,
) ([]runs.ReferencedAlignment, error) {
	var out []runs.ReferencedAlignment
	item, err := r.Runs.Item(ctx, people.InProject(owner), id)
	for _, file := range item.Files {
		if pleat.IsA3M(file.Name) {
			out = append(out, runs.ReferencedAlignment{Name: file.Name, Key: file.Key})
		}
	}
	return out, err
}

// ownAlignment finds the file of the owner's library that a field names for a sequence.
func (r *References) ownAlignment(
	ctx context.Context, owner pleat.ProjectID, s *pleat.Sequence, field string,
) (runs.ReferencedAlignment, error) {
	role := fileRole{Name: "A3M", Endings: []string{".a3m"}, Field: field}
	file, err := r.ownFile(ctx, owner, s.MSA, role)
	return runs.ReferencedAlignment{Name: file.Name, Key: file.Key, Sequence: s.Text}, err
}

// alignmentField names the alignment that a job uses of those that POST /v1/alignments has made.
const alignmentField = "params.alignmentId"

// checkUsed checks that an alignment has one of a job's proteins.
func checkUsed(id pleat.WorkflowID, files []runs.ReferencedAlignment, proteins []string) error {
	used := func(a runs.ReferencedAlignment) bool { return slices.Contains(proteins, a.Sequence) }
	if !slices.ContainsFunc(files, used) {
		return pleat.InvalidField(alignmentField, ": the alignment %s has none of the job's proteins", id)
	}
	return nil
}

// searchedAlignments lists the files of an alignment that POST /v1/alignments has made, which the user must be able to
// read. An error has CodeInvalid and names params.alignmentId, unless it is the store's.
func (r *References) searchedAlignments(
	ctx context.Context, owner pleat.ProjectID, id pleat.WorkflowID,
) ([]runs.ReferencedAlignment, error) {
	v, err := r.Runs.WorkflowView(ctx, id)
	if err == nil && (v.Workflow.Owner != owner && !v.Workflow.Public || v.Workflow.Kind != pleat.TaskAlign) {
		err = pleat.ErrWorkflowNotFound
	}
	if errors.Is(err, pleat.ErrWorkflowNotFound) {
		return nil, pleat.InvalidField(alignmentField, " is %s, which is none of your alignments", id)
	}
	if err != nil {
		return nil, err
	}
	if v.Run == nil || v.Run.State != pleat.StateCompleted || v.Run.Result == nil {
		return nil, pleat.InvalidField(alignmentField,
			": the alignment %s is %s; a job can use it once it is COMPLETED", id, v.Workflow.State)
	}
	plan, err := flow.Parse(v.Workflow.Alias, v.Workflow.Input)
	if err != nil {
		return nil, fmt.Errorf("read the input of alignment %s: %w", id, err)
	}
	proteins, err := flow.AlignedProteins(v.Run.Result.Row)
	if err != nil {
		return nil, fmt.Errorf("read alignment %s: %w", id, err)
	}
	var out []runs.ReferencedAlignment
	for i, p := range proteins {
		for _, name := range []string{p.File, p.PairFile} {
			if a := pleat.ArtifactNamed(v.Artifacts, name); a != nil && i < len(plan.Align.Sequences) {
				out = append(out, runs.ReferencedAlignment{
					Name:     name,
					Key:      a.Key,
					Sequence: plan.Align.Sequences[i].Text,
					Paired:   name == p.PairFile,
				})
			}
		}
	}
	return out, nil
}

// checkAlignments checks the alignments that a job names, if the model uses alignments. Each of the library item must
// begin with a protein of the job, and no two with the same; those of a protein must begin with it; the parameter
// alignmentId must name one of a protein of the job. It reads only their first rows: the files were checked when they
// were uploaded.
func (r *Resolver) checkAlignments(ctx context.Context, job *pleat.Job, m pleat.Model) error {
	if m.AlignmentUse(job.Params, job.Sequences) == pleat.NoAlignments {
		return nil
	}
	for i := range job.Sequences {
		s := &job.Sequences[i]
		if s.MSA == (pleat.FileRef{}) {
			continue
		}
		if err := r.checkAlignment(ctx, job.Owner, s, s.Path(i)+".msa"); err != nil {
			return err
		}
	}
	proteins := pleat.Proteins(job.Sequences)
	if id := job.Params.Alignment(); id != "" {
		searched, err := r.searchedAlignments(ctx, job.Owner, id)
		if err == nil {
			err = checkUsed(id, searched, proteins)
		}
		if err != nil {
			return err
		}
	}
	if job.LibraryItem == "" {
		return nil
	}
	library, err := r.libraryAlignments(ctx, job.Owner, job.LibraryItem)
	if err != nil {
		return err
	}
	return r.checkLibrary(ctx, library, proteins)
}

// checkAlignment checks the alignment that a field names for a protein: it must be in the owner's library and begin
// with the protein.
func (r *Resolver) checkAlignment(ctx context.Context, owner pleat.ProjectID, s *pleat.Sequence, field string) error {
	file, err := r.ownAlignment(ctx, owner, s, field)
	if err != nil {
		return err
	}
	begins, err := r.alignedSequences(ctx, file, field)
	if err != nil {
		return err
	}
	if !slices.Contains(begins, s.Text) {
		return pleat.InvalidField(field, ": the alignment %s %s", pleat.Clip(file.Name), msa.Mismatch(begins, s.Text))
	}
	return nil
}

// checkLibrary checks the alignments of the library item of a job.
func (r *Resolver) checkLibrary(ctx context.Context, files []runs.ReferencedAlignment, proteins []string) error {
	names := make([]string, len(files))
	for i := range files {
		names[i] = files[i].Name
	}
	err := msa.Match(names, proteins, func(i int) (string, error) {
		begins, err := r.alignedSequences(ctx, files[i], "from")
		if err == nil && len(begins) > 1 {
			err = pleat.InvalidField("from", ": the alignment %s of the library item is ColabFold's of a complex; "+
				"name it as the msa of each of its chains", pleat.Clip(files[i].Name))
		}
		if err != nil {
			return "", err
		}
		return begins[0], nil
	})
	var unfit *msa.UnfitError
	switch {
	case !errors.As(err, &unfit):
		return err
	case unfit.Same != "":
		return pleat.InvalidField("from", ": the alignments %s and %s of the library item are of one sequence; "+
			"one can be used", pleat.Clip(unfit.Same), pleat.Clip(unfit.File))
	}
	return pleat.InvalidField("from", ": the alignment %s of the library item begins with none of the job's "+
		"proteins; its first row must be the sequence itself, or params.msaAlgorithm %q", pleat.Clip(unfit.File),
		pleat.MSANone)
}

// alignedSequences returns the sequences that the alignment which a field names aligns: one, or the chains of a
// complex.
func (r *Resolver) alignedSequences(
	ctx context.Context, file runs.ReferencedAlignment, field string,
) ([]string, error) {
	in, _, err := r.Blobs.Open(ctx, file.Key)
	if errors.Is(err, blob.ErrNotFound) { // deleted a moment ago
		return nil, runs.ErrNoItem
	}
	if err != nil {
		return nil, err
	}
	defer in.Close()
	begins, err := msa.ReadQueries(in)
	if err != nil {
		return nil, pleat.InvalidField(field, ": the alignment %s of the library item cannot be used: %s",
			pleat.Clip(file.Name), err)
	}
	return begins, nil
}
