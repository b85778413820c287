package submit

import (
	"context"
	"errors"

	"pleat"
	"pleat/internal/blob"
	"pleat/internal/msa"
	"pleat/internal/store"
)

// CheckAlignments checks the alignments (.a3m) of a library item that a job is created from. If the model uses
// alignments, each must begin with a protein of the job, and no two with the same. It reads only their first rows: the
// files were checked when they were uploaded.
func (r *Resolver) CheckAlignments(
	ctx context.Context, item *store.LibraryItem, job *pleat.Job, m pleat.Model,
) error {
	if m.AlignmentUse(job.Params, job.Sequences) == pleat.NoAlignments {
		return nil
	}
	names := make([]string, len(item.Files))
	for i, f := range item.Files {
		names[i] = f.Name
	}
	err := msa.Match(names, pleat.Proteins(job.Sequences), func(i int) (string, error) {
		return r.alignedSequence(ctx, pleat.Clip(names[i]), item.Files[i].Key)
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

// alignedSequence returns the sequence that an alignment begins with.
func (r *Resolver) alignedSequence(ctx context.Context, name, key string) (string, error) {
	in, _, err := r.Blobs.Open(ctx, key)
	if errors.Is(err, blob.ErrNotFound) { // deleted a moment ago
		return "", store.ErrNoItem
	}
	if err != nil {
		return "", err
	}
	defer in.Close()
	query, err := msa.ReadQuery(in)
	if err != nil {
		return "", pleat.InvalidField("from", ": the alignment %s of the library item cannot be used: %s", name, err)
	}
	return query, nil
}
