package submit

import (
	"context"
	"errors"
	"path"
	"slices"
	"strings"

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
	if !m.Has(pleat.FeatureMSA) || job.Params.Values["msaAlgorithm"] == pleat.MSANone {
		return nil
	}
	used := map[string]string{} // file by the sequence that it aligns
	for _, f := range item.Files {
		if strings.ToLower(path.Ext(f.Name)) != ".a3m" {
			continue
		}
		name := pleat.Clip(f.Name)
		query, err := r.alignedSequence(ctx, name, f.Key)
		if err != nil {
			return err
		}
		isQuery := func(q pleat.Sequence) bool { return q.Kind == pleat.Protein && q.Text == query }
		if !slices.ContainsFunc(job.Sequences, isQuery) {
			return pleat.InvalidField("from", ": the alignment %s of the library item begins with none of the job's "+
				"proteins; its first row must be the sequence itself, or params.msaAlgorithm %q", name, pleat.MSANone)
		}
		if other := used[query]; other != "" {
			return pleat.InvalidField("from", ": the alignments %s and %s of the library item are of one sequence; "+
				"one can be used", other, name)
		}
		used[query] = name
	}
	return nil
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
