package server

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

// checkAlignments refuses a job whose library item holds an alignment of none of its proteins, where the model would
// use it. The files were read when they were uploaded; only their first rows are looked at here.
func (s *Server) checkAlignments(ctx context.Context, item *store.LibraryItem, p *prepared) error {
	if !p.model.Has(pleat.FeatureMSA) || p.job.Params.Values["msaAlgorithm"] == pleat.MSANone {
		return nil
	}
	taken := map[string]string{}
	for _, f := range item.Files {
		if strings.ToLower(path.Ext(f.Name)) != ".a3m" {
			continue
		}
		name := pleat.Clip(f.Name)
		query, err := s.queryOf(ctx, name, f.Key)
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(p.job.Sequences, func(q pleat.Sequence) bool {
			return q.Kind == pleat.Protein && q.Text == query
		}) {
			return pleat.InvalidField("from", ": the alignment %s of the library item begins with none of the job's "+
				"proteins; its first row must be the sequence itself, or params.msaAlgorithm %q", name, pleat.MSANone)
		}
		if other := taken[query]; other != "" {
			return pleat.Invalidf(
				"from: the alignments %s and %s of the library item are of one sequence; one can be used", other, name)
		}
		taken[query] = name
	}
	return nil
}

func (s *Server) queryOf(ctx context.Context, name, key string) (string, error) {
	in, _, err := s.blobs.Open(ctx, key)
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
